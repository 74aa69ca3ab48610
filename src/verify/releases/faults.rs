//! Faults of kernels that a later release mends.

use super::super::instructions::called_operators;
use super::super::{Outcome, Release};
use super::half::HALF_FAULTS;
use super::{Library, Target};
use crate::file::pte::Pte;
use crate::operators::{self, KnownOperator};
use crate::path::{FieldPath, Path};
use crate::schema::ScalarType;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes, Tensor};
use crate::tensor::RUNTIME_RANK;
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
    pub(super) operators: &'static [&'static str],
    pub(super) concerns: fn(&FaultyCall<'_>) -> bool,
}

/// Returns the faults of kernels.
pub fn known_faults() -> impl Iterator<Item = &'static KnownFault> {
    FAULTS.iter().chain(HALF_FAULTS)
}

/// The faults other than those of types. Refused calls were seen in the wheels of 0.5 to 1.4.1, which can run programs beside a newer PyTorch, but return no outputs;
/// wrong results are taken from the changes in ExecuTorch's repository and their tests.
const FAULTS: &[KnownFault] = &[
    KnownFault {
        name: "log-softmax-inner",
        what: "log_softmax along a dimension of more than four elements other than the last, right since 0.6",
        since: &[(Release::V0_2, Outcome::Miscomputes), (Release::V0_6, Outcome::Runs)],
        source: "#8666",
        is_optimized: true,
        operators: &["aten::_log_softmax.out"],
        concerns: |call| {
            let from = call.dim("self", "dim").and_then(|(tensor, dim)| tensor.sizes().get(dim..));
            // A vector of the processor has four elements or more.
            matches!(from, Some([size, inner @ ..]) if *size > 4 && inner.iter().any(|size| *size > 1))
        },
    },
    KnownFault {
        name: "le-one-element",
        what: "a comparison `le` of which one tensor has one element: the kernel of 0.6 writes results of the input's type, and beyond the result",
        since: &[(Release::V0_6, Outcome::Miscomputes), (Release::V0_7, Outcome::Runs)],
        source: "#11922",
        is_optimized: true,
        operators: &["aten::le.Tensor_out"],
        concerns: |call| {
            // If both have one element, the first counts as the single one. A single integer is also right as its first byte.
            let written = if call.is_one("self") { "other" } else { "self" };
            let scalar_type = |name| call.tensor(name).map(|tensor| tensor.scalar_type);
            let size = |name| scalar_type(name).and_then(ScalarType::element_size);
            let is_right = call.is_one("out") && scalar_type(written).is_some_and(|found| !found.is_floating());
            (call.is_one("self") || call.is_one("other")) && size(written) != size("out") && !is_right
        },
    },
    KnownFault {
        name: "le-broadcast",
        what: "a comparison `le` that broadcasts a tensor of several elements, which runs since 0.7",
        since: &[(Release::V0_2, Outcome::RefusesCall), (Release::V0_7, Outcome::Runs)],
        source: "#11922",
        is_optimized: true,
        operators: &["aten::le.Tensor_out"],
        concerns: |call| !call.has_one_shape() && !call.is_one("self") && !call.is_one("other"),
    },
    KnownFault {
        name: "le-shapes",
        what: "a comparison `le` of one element with a tensor of another shape, which runs since 0.6",
        since: &[(Release::V0_2, Outcome::RefusesCall), (Release::V0_6, Outcome::Runs)],
        source: "#9507",
        is_optimized: true,
        operators: &["aten::le.Tensor_out"],
        concerns: |call| match (call.is_one("self"), call.is_one("other")) {
            // Tensors of one element have the same shape to it, but the result gets the sizes of the first.
            (true, true) => call.rank("self") < call.rank("other"),
            (false, false) => false,
            _ => true,
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
        name: "add-broadcast",
        what: "a sum, difference or quotient that broadcasts one dimension: the kernel of 0.5 takes it for a matrix and a row, or dies in a build with assertions",
        since: &[(Release::V0_5, Outcome::Dies), (Release::V0_6, Outcome::Runs)],
        source: "#8255",
        is_optimized: true,
        operators: &["aten::add.out", "aten::div.out", "aten::sub.out"],
        concerns: |call| call.broadcast().is_some_and(|broadcast| broadcast.is_in_one_dim),
    },
    KnownFault {
        name: "broadcast-ranks",
        what: "a sum, difference, product or quotient with a smaller tensor of higher rank, which runs since 1.5",
        since: &[(Release::V0_5, Outcome::RefusesCall), (Release::LATEST, Outcome::Runs)],
        source: "#21052",
        is_optimized: true,
        operators: &["aten::add.out", "aten::div.out", "aten::mul.out", "aten::sub.out"],
        concerns: |call| call.broadcast().is_some_and(|broadcast| broadcast.lacks_rank),
    },
    KnownFault {
        name: "reduction-order",
        what: "a variance over several dimensions of a tensor that is not contiguous: the kernel reads other elements, and beyond the tensor, before 1.5",
        since: &[(Release::V0_2, Outcome::Miscomputes), (Release::LATEST, Outcome::Runs)],
        source: "#21517",
        is_optimized: false,
        operators: &["aten::var.correction_out", "aten::var.out", "aten::var_mean.correction_out"],
        concerns: |call| {
            let (Some(tensor), Some(dims)) = (call.tensor("self"), call.ints("dim")) else { return false };
            let rank = tensor.sizes().len();
            let is = |dim: usize, given: i64| given == dim as i64 || given == dim as i64 - rank as i64;
            strays(tensor, |dim| dims.is_empty() || dims.iter().any(|given| is(dim, *given)))
        },
    },
    KnownFault {
        name: "dequantize-order",
        what: "a tensor with a scale for each channel that is not contiguous: the kernel writes other elements, and beyond the result, before 1.5",
        since: &[(Release::V0_2, Outcome::Dies), (Release::LATEST, Outcome::Runs)],
        source: "#21517",
        is_optimized: false,
        operators: &["quantized_decomposed::dequantize_per_channel.out"],
        concerns: |call| call.dim("input", "axis").is_some_and(|(tensor, axis)| strays(tensor, |dim| dim != axis)),
    },
    KnownFault {
        name: "upsample-antialias",
        what: "bilinear downsampling with antialiasing to less than half the size, right since 1.4",
        since: &[(Release::V1_0, Outcome::Miscomputes), (Release::V1_4, Outcome::Runs)],
        source: "#20733",
        is_optimized: false,
        operators: &["aten::_upsample_bilinear2d_aa.out"],
        concerns: |call| {
            let (Some(input), Some(out)) = (call.tensor("self"), call.tensor("out")) else { return false };
            // The kernel takes four elements of each dimension, of all within two steps.
            let is_cut = |(input, out): (&i32, &i32)| *input > 4 && i64::from(*input) > 2 * i64::from(*out);
            input.sizes().iter().zip(out.sizes()).skip(2).any(is_cut)
        },
    },
    KnownFault {
        name: "sigmoid-bool",
        what: "a sigmoid of booleans, which runs since 1.0",
        since: &[(Release::V0_2, Outcome::RefusesCall), (Release::V1_0, Outcome::Runs)],
        source: "#13515",
        is_optimized: false,
        operators: &["aten::sigmoid.out"],
        concerns: |call| call.tensor("self").is_some_and(|tensor| tensor.scalar_type == ScalarType::BOOL),
    },
    KnownFault {
        name: "elu-factors",
        what: "an `elu` with a boolean factor, or one that the type of the tensor cannot represent, which runs since 1.0",
        since: &[(Release::V0_6, Outcome::Dies), (Release::V1_0, Outcome::Runs)],
        source: "#13829",
        is_optimized: false,
        operators: &["aten::elu.out"],
        concerns: |call| {
            let is_double = call.tensor("self").is_some_and(|tensor| tensor.scalar_type == ScalarType::DOUBLE);
            ["alpha", "scale", "input_scale"].iter().any(|factor| match call.value(factor) {
                Some(KernelTypes::Bool(_)) => true,
                Some(KernelTypes::Double(double)) => {
                    !is_double && double.double_val.is_finite() && double.double_val.abs() > f64::from(f32::MAX)
                }
                _ => false,
            })
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
        name: "quantize-first-axis",
        what: "channels along the first dimension of a tensor to quantize whose rank is not 2, right since 1.0",
        since: &[(Release::V0_2, Outcome::Miscomputes), (Release::V1_0, Outcome::Runs)],
        source: "#12431",
        is_optimized: false,
        operators: &["quantized_decomposed::quantize_per_channel.out"],
        concerns: |call| {
            let is_wrong = |sizes: &[i32]| sizes.len() != 2 && sizes.first() != Some(&1);
            call.dim("input", "axis").is_some_and(|(tensor, axis)| axis == 0 && is_wrong(tensor.sizes()))
        },
    },
    KnownFault {
        name: "quantize-inner-axis",
        what: "channels along a dimension of a tensor to quantize that is neither the first nor the last, which runs since 1.0",
        since: &[(Release::V0_2, Outcome::Dies), (Release::V1_0, Outcome::Runs)],
        source: "#12431",
        is_optimized: false,
        operators: &["quantized_decomposed::quantize_per_channel.out"],
        concerns: |call| {
            call.dim("input", "axis").is_some_and(|(tensor, axis)| axis > 0 && axis + 1 < tensor.sizes().len())
        },
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

impl KnownFault {
    /// Returns `true` if a release has the faulty kernels in the libraries of a target. Wheels have optimized kernels since 0.5.
    pub(super) fn is_linked(&self, release: Release, target: &Target) -> bool {
        let has = |library| target.libraries.as_ref().is_none_or(|linked| linked.contains(&library));
        !self.is_optimized || has(Library::Optimized) || release >= Release::V0_5 && has(Library::PythonWheel)
    }
}

/// A call of an operator, with its arguments by name.
pub(super) struct FaultyCall<'t> {
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

    /// Returns an argument that is a list of integers; an absent one is empty.
    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match self.value(name)? {
            KernelTypes::IntList(list) => {
                let item = |index: &i64| match &self.plan.value(i32::try_from(*index).ok()?)?.val {
                    KernelTypes::Int(int) => Some(int.int_val),
                    _ => None,
                };
                list.items().iter().take(RUNTIME_RANK).map(item).collect()
            }
            KernelTypes::Null(_) => Some(Vec::new()),
            _ => None,
        }
    }

    /// Returns a tensor, and the dimension of it that another argument gives.
    fn dim(&self, tensor: &str, dim: &str) -> Option<(&'t Tensor<'t>, usize)> {
        let (tensor, dim) = (self.tensor(tensor)?, self.int(dim)?);
        let dim = if dim < 0 { dim.checked_add(tensor.sizes().len() as i64)? } else { dim };
        Some((tensor, usize::try_from(dim).ok()?))
    }

    /// Returns `true` if an argument is a tensor of one of these types.
    pub(super) fn has_type(&self, types: &[ScalarType]) -> bool {
        // Many calls can share a long list.
        let mut tensors = self.args.iter().take(self.row.arguments.len()).filter_map(|arg| self.plan.tensor(*arg));
        tensors.any(|tensor| types.contains(&tensor.scalar_type))
    }

    fn elements(&self, name: &str) -> Option<i64> {
        let sizes = self.tensor(name)?.sizes();
        sizes.iter().try_fold(1i64, |product, size| product.checked_mul(i64::from(*size)))
    }

    fn is_one(&self, name: &str) -> bool {
        self.elements(name) == Some(1)
    }

    fn rank(&self, name: &str) -> Option<usize> {
        Some(self.tensor(name)?.sizes().len())
    }

    fn has_one_shape(&self) -> bool {
        let sizes = |name| self.tensor(name).map(Tensor::sizes);
        sizes("self") == sizes("other")
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

    /// Returns the way in which an optimized kernel broadcasts one of two inputs; `None` if a portable kernel does it.
    fn broadcast(&self) -> Option<Broadcast> {
        let (first, other, out) = (self.tensor("self")?, self.tensor("other")?, self.tensor("out")?);
        let scalar_type = out.scalar_type;
        let is_same = |input: &&Tensor<'_>| input.scalar_type == scalar_type && input.sizes().len() <= RUNTIME_RANK;
        if ![first, other].iter().all(is_same) || [ScalarType::HALF, ScalarType::BFLOAT16].contains(&scalar_type) {
            return None;
        }
        let (left, right, all) = (inner(first), inner(other), inner(out));
        let is_row = |long: &[i32], short: &[i32]| matches!((long, short), ([_, last], [one]) if last == one);
        // The first size of each is not 1.
        let pairs = || left.iter().zip(right).skip(1);
        let ones = pairs().filter(|(left, right)| **left == 1 || **right == 1).count();
        let are_equal = pairs().all(|(left, right)| left == right || *left == 1 || *right == 1);
        let is_in_one_dim = left.len() == right.len() && left != right && ones == 1 && are_equal;
        let rank = out.sizes().len();
        let mut inputs = [(first, left), (other, right)].into_iter();
        let lacks_rank = inputs.any(|(input, inner)| inner == all && input.sizes().len() < rank);
        (is_in_one_dim || is_row(left, right) || is_row(right, left)).then_some(Broadcast { is_in_one_dim, lacks_rank })
    }
}

/// Returns the sizes of a tensor after leading ones: no more than are compared.
fn inner<'t>(tensor: &'t Tensor<'_>) -> &'t [i32] {
    let mut inner = tensor.sizes();
    while let [1, rest @ ..] = inner {
        inner = rest;
    }
    inner.get(..RUNTIME_RANK + 1).unwrap_or(inner)
}

/// A way to broadcast an input.
struct Broadcast {
    /// `true` if the inputs differ in one dimension, which one of them does not have; `false` if they are a matrix and a row.
    is_in_one_dim: bool,
    /// `true` if the larger input has a lower rank than the result.
    lacks_rank: bool,
}

/// Returns `true` if a walk over these dimensions of a tensor leaves its elements, since it takes a whole dimension for a step of the
/// dimension before.
fn strays(tensor: &Tensor<'_>, is_walked: impl Fn(usize) -> bool) -> bool {
    let sizes = tensor.sizes();
    let Some(Ok(strides)) = (sizes.len() <= RUNTIME_RANK).then(|| tensor.shape().strides()) else { return false };
    let mut has_steps = false;
    for (dim, (size, stride)) in sizes.iter().zip(&strides).enumerate() {
        if !is_walked(dim) {
            continue;
        }
        let before = dim.checked_sub(1).and_then(|before| strides.get(before));
        if has_steps && before.is_some_and(|before| i64::from(*size).checked_mul(*stride) != Some(*before)) {
            return true;
        }
        has_steps |= *size > 1;
    }
    false
}

/// Returns the faults that calls of a program meet in some release, each with its first call. None if the target has kernels of its own.
pub(super) fn met(pte: &Pte<'_>, target: &Target) -> Vec<(&'static KnownFault, FieldPath)> {
    let mut met: Vec<(&'static KnownFault, FieldPath)> = Vec::new();
    for (method, plan) in pte.methods().iter().enumerate() {
        let concerned: Vec<(Option<&'static KnownOperator>, Vec<&'static KnownFault>)> = plan
            .operators()
            .iter()
            .zip(called_operators(plan))
            .map(|(operator, called)| {
                let row = called.then(|| operators::find(operator)).flatten().filter(|_| !target.lists(operator));
                let has = |fault: &&KnownFault| row.is_some_and(|row| fault.operators.contains(&row.name));
                (row, known_faults().filter(has).collect())
            })
            .collect();
        for ((chain, index), instruction) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = instruction else { continue };
            let Ok(operator) = usize::try_from(call.op_index) else { continue };
            let Some((Some(row), faults)) = concerned.get(operator) else { continue };
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
