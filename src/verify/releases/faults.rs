//! Faults of kernels that a later release mends.

use super::super::instructions::called_operators;
use super::super::{Outcome, Release};
use super::{Library, Target};
use crate::file::pte::Pte;
use crate::operators::{self, KnownOperator};
use crate::path::{FieldPath, Path};
use crate::schema::ScalarType;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes, Tensor};
use alloc::vec::Vec;

/// A fault of kernels of some releases: calls that a later release computes right.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KnownFault {
    /// The name.
    pub name: &'static str,
    /// The description: the calls that are concerned, and the first release without the fault.
    pub what: &'static str,
    /// The outcome of such a call: each entry holds from its release until the next entry.
    pub since: &'static [(Release, Outcome)],
    /// The change that mends it, in ExecuTorch's repository.
    pub source: &'static str,
    /// `true` if only the optimized kernels have it, which are also in the Python wheel.
    pub is_optimized: bool,
    operators: &'static [&'static str],
    concerns: fn(&FaultyCall<'_>) -> bool,
}

/// The faults. Refused calls were seen in the wheels of 0.5 to 1.4.1, which can run programs beside a newer PyTorch, but return no outputs;
/// wrong results are taken from the changes in ExecuTorch's repository and their tests.
pub const FAULTS: &[KnownFault] = &[
    KnownFault {
        name: "log-softmax-inner",
        what: "log_softmax along a dimension other than the last, right since 0.6",
        since: &[(Release::V0_2, Outcome::Miscomputes), (Release::V0_6, Outcome::Runs)],
        source: "#8666",
        is_optimized: true,
        operators: &["aten::_log_softmax.out"],
        concerns: |call| {
            let (Some(tensor), Some(dim)) = (call.tensor("self"), call.int("dim")) else { return false };
            let dim = if dim < 0 { dim.saturating_add(tensor.sizes().len() as i64) } else { dim };
            let inner = usize::try_from(dim).ok().and_then(|dim| tensor.sizes().get(dim.checked_add(1)?..));
            inner.is_some_and(|inner| inner.iter().any(|size| *size > 1))
        },
    },
    KnownFault {
        name: "le-one-element",
        what: "a comparison `le` of tensors of which one has one element, right since 0.7",
        since: &[
            (Release::V0_2, Outcome::RefusesCall),
            (Release::V0_6, Outcome::Miscomputes),
            (Release::V0_7, Outcome::Runs),
        ],
        source: "#11922",
        is_optimized: true,
        operators: &["aten::le.Tensor_out"],
        concerns: |call| {
            call.elements("self") != call.elements("other") && (call.is_one("self") || call.is_one("other"))
        },
    },
    KnownFault {
        name: "le-broadcast",
        what: "a comparison `le` that broadcasts tensors of several elements, which runs since 0.7",
        since: &[(Release::V0_2, Outcome::RefusesCall), (Release::V0_7, Outcome::Runs)],
        source: "#11922",
        is_optimized: true,
        operators: &["aten::le.Tensor_out"],
        concerns: |call| {
            let sizes = |name| call.tensor(name).map(Tensor::sizes);
            sizes("self") != sizes("other") && !call.is_one("self") && !call.is_one("other")
        },
    },
    KnownFault {
        name: "mul-ranks",
        what: "a product of tensors with the same elements and different ranks, which runs since 0.7",
        since: &[(Release::V0_2, Outcome::RefusesCall), (Release::V0_7, Outcome::Runs)],
        source: "#11590",
        is_optimized: true,
        operators: &["aten::mul.out"],
        concerns: |call| call.first_has_lower_rank(),
    },
    KnownFault {
        name: "add-ranks",
        what: "a sum, difference or quotient of tensors with the same elements and different ranks, which runs since 1.0",
        since: &[(Release::V0_2, Outcome::RefusesCall), (Release::V1_0, Outcome::Runs)],
        source: "#13633, #13740",
        is_optimized: true,
        operators: &["aten::add.out", "aten::div.out", "aten::sub.out"],
        concerns: |call| call.first_has_lower_rank(),
    },
    KnownFault {
        name: "upsample-antialias",
        what: "bilinear downsampling with antialiasing, right since 1.4",
        since: &[(Release::V1_0, Outcome::Miscomputes), (Release::V1_4, Outcome::Runs)],
        source: "#20733",
        is_optimized: false,
        operators: &["aten::_upsample_bilinear2d_aa.out"],
        concerns: |call| {
            let (Some(input), Some(out)) = (call.tensor("self"), call.tensor("out")) else { return false };
            input.sizes().iter().zip(out.sizes()).any(|(input, out)| input > out)
        },
    },
    KnownFault {
        name: "batch-norm-accumulators",
        what: "a batch norm without running statistics, such as an instance norm: until 1.2, the kernel adds to what the memory of its results contained",
        since: &[(Release::V0_4, Outcome::Miscomputes), (Release::V1_2, Outcome::Runs)],
        source: "9f2f005f6c",
        is_optimized: false,
        operators: &["aten::_native_batch_norm_legit.no_stats_out"],
        concerns: |_| true,
    },
    KnownFault {
        name: "dequantize-int-zero-points",
        what: "zero points of channels of type i32, which the kernel reads as i64 before 1.5",
        since: &[(Release::V0_2, Outcome::Miscomputes), (Release::LATEST, Outcome::Runs)],
        source: "#21773",
        is_optimized: false,
        operators: &["quantized_decomposed::dequantize_per_channel.out"],
        concerns: |call| call.tensor("zero_points").is_some_and(|tensor| tensor.scalar_type == ScalarType::INT),
    },
];

/// A call of an operator, with its arguments by name.
struct FaultyCall<'t> {
    row: &'static KnownOperator,
    plan: &'t ExecutionPlan<'t>,
    args: &'t [i32],
}

impl<'t> FaultyCall<'t> {
    fn value(&self, name: &str) -> Option<&'t KernelTypes<'t>> {
        let index = self.row.arguments.iter().position(|argument| argument.name == name)?;
        Some(&self.plan.value(*self.args.get(index)?)?.val)
    }

    fn tensor(&self, name: &str) -> Option<&'t Tensor<'t>> {
        match self.value(name)? {
            KernelTypes::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    fn int(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            KernelTypes::Int(int) => Some(int.int_val),
            _ => None,
        }
    }

    fn elements(&self, name: &str) -> Option<i64> {
        let sizes = self.tensor(name)?.sizes();
        sizes.iter().try_fold(1i64, |product, size| product.checked_mul(i64::from(*size)))
    }

    fn is_one(&self, name: &str) -> bool {
        self.elements(name) == Some(1)
    }

    /// Returns `true` if the result has a higher rank than the first input, although it has the same sizes apart from leading ones: the
    /// faulty kernels give it the sizes of the first.
    fn first_has_lower_rank(&self) -> bool {
        let (Some(first), Some(other)) = (self.tensor("self"), self.tensor("other")) else { return false };
        let is_one = |size: &&i32| **size == 1;
        let (first, other) = (first.sizes(), other.sizes());
        first.len() < other.len()
            && first.iter().skip_while(is_one).eq(other.iter().skip_while(is_one))
            && first.iter().any(|size| *size != 1)
    }
}

/// Returns the faults that calls of a program meet, each with its first call. None if the target has kernels of its own.
pub(super) fn met(pte: &Pte<'_>, target: &Target) -> Vec<(&'static KnownFault, FieldPath)> {
    let optimized = |library: &Library| matches!(library, Library::Optimized | Library::PythonWheel);
    let is_optimized = target.libraries.as_ref().is_none_or(|linked| linked.iter().any(optimized));
    let mut met: Vec<(&'static KnownFault, FieldPath)> = Vec::new();
    for (method, plan) in pte.methods().iter().enumerate() {
        let faults: Vec<Vec<&'static KnownFault>> = plan
            .operators()
            .iter()
            .zip(called_operators(plan))
            .map(|(operator, called)| {
                let name = called.then(|| operators::find(operator)).flatten().map(|row| row.name);
                let concerned = |fault: &&KnownFault| {
                    name.is_some_and(|name| fault.operators.contains(&name))
                        && (is_optimized || !fault.is_optimized)
                        && !target.lists(operator)
                };
                FAULTS.iter().filter(concerned).collect()
            })
            .collect();
        for ((chain, index), instruction) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = instruction else { continue };
            let Ok(operator) = usize::try_from(call.op_index) else { continue };
            let Some(faults) = faults.get(operator).filter(|faults| !faults.is_empty()) else { continue };
            let Some(row) = plan.operators().get(operator).and_then(operators::find) else { continue };
            let call = FaultyCall { row, plan, args: call.args() };
            for fault in faults {
                let is_new = met.iter().all(|(known, _)| known.name != fault.name);
                if is_new && (fault.concerns)(&call) {
                    let path = Path::ROOT.item("execution_plan", method);
                    let path = path.item("chains", chain);
                    met.push((fault, path.item("instructions", index).to_field_path()));
                }
            }
        }
    }
    met
}
