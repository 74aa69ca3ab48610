//! Features of valid programs that some releases do not support.

use crate::file::pte::{Pte, TensorData};
use crate::path::{FieldPath, Path};
use crate::schema::ScalarType;
use crate::schema::program::{DeviceType, ExecutionPlan, Tensor};
use crate::verify::release::{Behaviour, Release};
use Behaviour::{Dies, Loads, Refuses, Unknown};
use alloc::vec::Vec;

/// A feature of the format, and the behaviour of the releases with a program that uses it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Feature {
    /// The name.
    pub name: &'static str,
    /// The description: the releases that support the feature, and, if possible, a way to avoid it.
    pub what: &'static str,
    /// The behaviour of runtimes: each entry holds from its release until the next entry.
    pub since: &'static [(Release, Behaviour)],
    /// The files of `tests/data` that were tested.
    pub seen: &'static [&'static str],
    used: Used,
}

/// The kind of item that uses the feature: a tensor, or a method.
#[derive(Clone, Copy, Debug)]
enum Used {
    Tensor(fn(&Pte<'_>, &Tensor<'_>) -> bool),
    Method(fn(&ExecutionPlan<'_>) -> bool),
}

/// The features that some releases do not support. In the tests, all releases since 0.2 accepted the other features: headers of
/// 24 and 32 bytes, named data, every kind of value and instruction, the other scalar types that have names.
pub const FEATURES: &[Feature] = &[
    Feature {
        name: "external-tensors",
        what: "constants in a .ptd file, supported since 0.7 (0.6 dies if the .ptd is missing); internalizing moves them into the program",
        since: &[(Release::V0_2, Refuses), (Release::V0_6, Unknown), (Release::V0_7, Loads)],
        seen: &["1.5.1/add_mul_external/add_mul_external.pte"],
        used: Used::Tensor(|pte, tensor| matches!(pte.tensor_data(tensor), Ok(TensorData::External(_)))),
    },
    Feature {
        name: "initial-states",
        what: "initial states of mutable tensors, which 0.2 looks up among the constants",
        since: &[(Release::V0_2, Refuses), (Release::V0_4, Loads)],
        seen: &["1.5.1/mutable_init/mutable_init.pte"],
        used: Used::Tensor(|pte, tensor| matches!(pte.tensor_data(tensor), Ok(TensorData::InitialState(_)))),
    },
    Feature {
        name: "bfloat16",
        what: "tensors of bfloat16, unknown to 0.2",
        since: &[(Release::V0_2, Refuses), (Release::V0_4, Loads)],
        seen: &["1.5.1/const_dtypes/const_dtypes.pte"],
        used: Used::Tensor(|_, tensor| tensor.scalar_type == ScalarType::BFLOAT16),
    },
    Feature {
        name: "complex",
        what: "tensors of complex numbers, supported since 0.6",
        since: &[(Release::V0_2, Refuses), (Release::V0_6, Loads)],
        seen: &["1.5.1/const_complex/const_complex.pte"],
        used: Used::Tensor(|_, tensor| (8..=10).contains(&tensor.scalar_type.0)),
    },
    Feature {
        name: "other-scalar-types",
        what: "tensors of a scalar type that was not tested",
        since: &[(Release::V0_2, Unknown), (Release::LATEST, Loads)],
        seen: &[],
        used: Used::Tensor(|_, tensor| !matches!(tensor.scalar_type.0, 0..=11 | 15)),
    },
    Feature {
        name: "devices",
        what: "planned memory on a device other than the CPU, on which 1.4 dies (as built for Python)",
        since: &[(Release::V0_2, Loads), (Release::V1_4, Dies), (Release::LATEST, Loads)],
        seen: &["1.5.1/device_cuda/device_cuda_1.pte"],
        used: Used::Method(|plan| {
            plan.non_const_buffer_device().iter().any(|buffer| buffer.device_type != DeviceType::CPU)
        }),
    },
];

/// Returns the features that a program uses, each with the first method or tensor that uses it.
pub(super) fn features(pte: &Pte<'_>) -> Vec<(&'static Feature, FieldPath)> {
    let first = |feature: &'static Feature| {
        let path = pte.methods().iter().enumerate().find_map(|(method, plan)| {
            let path = Path::ROOT;
            let path = path.item("execution_plan", method);
            match feature.used {
                Used::Method(used) => used(plan).then(|| path.to_field_path()),
                Used::Tensor(used) => {
                    let (value, _) = plan.tensors().find(|(_, tensor)| used(pte, tensor))?;
                    Some(path.item("values", value).to_field_path())
                }
            }
        })?;
        Some((feature, path))
    };
    FEATURES.iter().filter_map(first).collect()
}
