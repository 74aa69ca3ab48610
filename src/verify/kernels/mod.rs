//! Rules about calls of kernels: calls that official kernels refuse, end the process on, or compute other numbers for.
//!
//! The kernels are those of ExecuTorch 1.5.1, as in the table of operators, which also states how those of 1.0 to 1.4 differ. Each was called by itself in the official runtime with
//! every dim order, rank, type and kind of its arguments, 185,013 calls in all: with the kernels of the Python wheel, and with those
//! portable kernels that optimized ones replace there. Other operators, which may have kernels of any kind, are not checked.

mod alike;
mod arguments;
mod call;
mod checks;
mod constants;
mod describe;
mod families;
mod fault;
mod ints;
mod operator;
#[cfg(all(test, feature = "inspect"))]
mod published;
mod sizes;
mod tensors;
mod types;

use super::report::Report;
use super::rule::Rule;
use super::{Outcome, Release, Severity};
use crate::file::pte::Pte;
#[cfg(feature = "inspect")]
use crate::operators::KnownOperator;
use crate::path::Path;
use crate::schema::program::{
    EValue, ExecutionPlan, InstructionArguments, KernelCall, KernelTypes, Operator, TensorShapeDynamism,
};
use alike::Alike;
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use call::Call;
use constants::Constants;
pub use describe::{checked_operators, explain_operator};
use ints::Ints;
use operator::Called;
use tensors::Tensors;

/// The kernels of a runtime, for operators whose portable kernel can be replaced with an optimized one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernels {
    /// Either kernel.
    Any,
    /// The portable kernels.
    #[cfg(feature = "inspect")]
    Portable,
    /// The optimized kernels.
    #[cfg(feature = "inspect")]
    Optimized,
}

/// A rule that a call breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) rule: &'static Rule,
    /// The rule's severity, or a warning if some kernel of the release accepts the call.
    pub(super) severity: Severity,
    /// The outcome of the call; unknown if it is only possible, or only with some of the kernels.
    pub(super) outcome: Outcome,
    /// The index of the argument in the call.
    pub(super) argument: Option<usize>,
    pub(super) message: String,
}

/// Returns `true` if the demands of an operator's kernels differ between releases.
#[cfg(feature = "inspect")]
pub(super) fn depends_on_release(operator: &Operator<'_>) -> bool {
    crate::operators::find(operator).is_some_and(KnownOperator::depends_on_release)
}

/// Reports violations in the calls of a method.
pub(super) fn check(pte: &Pte<'_>, plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let mut calls = Calls::new(pte, plan, Kernels::Any, Release::LATEST);
    for ((chain, index), instruction) in plan.instructions() {
        let InstructionArguments::KernelCall(call) = instruction else { continue };
        for found in calls.judge(call) {
            let path = path.item("chains", chain);
            let path = path.item("instructions", index);
            let path = path.field("instr_args.KernelCall");
            let (args, effect) = (call.args(), (found.severity, found.outcome));
            match found.argument {
                Some(at) => {
                    let offset = report.offset_of(args, at);
                    report.add_as(effect, found.rule, &path.item("args", at), offset, &found.message);
                }
                None => {
                    let offset = report.offset(Some(args));
                    report.add_as(effect, found.rule, &path.field("args"), offset, &found.message);
                }
            }
        }
    }
}

/// Calls that no kernel can tell apart.
#[cfg(feature = "inspect")]
pub(super) struct DistinctCall<'t, 'a> {
    /// The first.
    pub(super) call: &'t KernelCall<'a>,
    /// Its chain, and its index there.
    pub(super) place: (usize, usize),
    /// Their number.
    pub(super) count: usize,
}

/// The operators of a method that are in the tables, and the properties of its values.
pub(super) struct Calls<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    /// By the operators' index; `None` for one that is not in the tables.
    operators: Vec<Option<(&'t Operator<'a>, Called)>>,
    /// The properties of the tensors that each value stands for.
    tensors: Vec<Tensors<'t>>,
    ints: Ints,
    constants: Constants<'t, 'a>,
    release: Release,
    /// `true` if any of these tensors is not contiguous.
    has_orders: bool,
    /// `true` if any tensor has a dynamic shape.
    is_dynamic: bool,
    alike: Alike<'t>,
    /// The violations of judged calls, by operator and arguments.
    judged: BTreeMap<Vec<u32>, Vec<Violation>>,
}

impl<'t, 'a> Calls<'t, 'a> {
    pub(super) fn new(pte: &'t Pte<'a>, plan: &'t ExecutionPlan<'a>, kernels: Kernels, release: Release) -> Self {
        Self::of_operators(pte, plan, kernels, release, |_, _| true)
    }

    /// Does the same as [`new`](Self::new) for the calls of those operators for which `is_checked` returns `true`, given their indices.
    pub(super) fn of_operators(
        pte: &'t Pte<'a>,
        plan: &'t ExecutionPlan<'a>,
        kernels: Kernels,
        release: Release,
        is_checked: impl Fn(usize, &Operator<'_>) -> bool,
    ) -> Self {
        let find = |(index, operator)| match is_checked(index, operator) {
            true => Some((operator, Called::find(operator, kernels)?)),
            false => None,
        };
        let operators: Vec<_> = plan.operators().iter().enumerate().map(find).collect();
        let is_known = operators.iter().any(Option::is_some);
        let tensors = if is_known { tensors::of_values(plan) } else { Vec::new() };
        let has_orders = tensors.iter().any(Tensors::has_orders);
        let is_resized = |value: &EValue<'_>| matches!(&value.val, KernelTypes::Tensor(tensor) if tensor.shape_dynamism != TensorShapeDynamism::STATIC);
        let is_dynamic = plan.values().iter().any(is_resized);
        let (ints, constants) = (Ints::new(plan), Constants::new(pte));
        Self {
            plan,
            operators,
            tensors,
            ints,
            constants,
            release,
            has_orders,
            is_dynamic,
            alike: Alike::new(plan),
            judged: BTreeMap::new(),
        }
    }

    /// Returns the calls; of those that no kernel can tell apart, the first.
    #[cfg(feature = "inspect")]
    pub(super) fn distinct(&mut self) -> Vec<DistinctCall<'t, 'a>> {
        let (mut found, mut firsts) = (Vec::<DistinctCall<'t, 'a>>::new(), BTreeMap::new());
        for (place, arguments) in self.plan.instructions() {
            let InstructionArguments::KernelCall(call) = arguments else { continue };
            let index = usize::try_from(call.op_index).ok();
            let Some(Some((_, called))) = index.and_then(|index| self.operators.get(index)) else { continue };
            if let Some(key) = key(&mut self.alike, &self.ints, (call.op_index, called), call.args()) {
                let first = *firsts.entry(key).or_insert(found.len());
                if let Some(first) = found.get_mut(first) {
                    first.count += 1;
                    continue;
                }
            }
            found.push(DistinctCall { call, place, count: 1 });
        }
        found
    }

    /// Judges further calls with the kernels of a release.
    #[cfg(feature = "inspect")]
    pub(super) fn set_release(&mut self, release: Release) {
        self.release = release;
        self.judged.clear();
    }

    /// Returns the violations of a call; none for an operator that is not in the tables. Of calls that no kernel can tell apart, only the
    /// first is judged.
    pub(super) fn judge(&mut self, call: &KernelCall<'_>) -> Vec<Violation> {
        let operator = usize::try_from(call.op_index).ok().and_then(|index| self.operators.get(index));
        let (Some(Some((operator, called))), Some(args)) = (operator, call.args.as_deref()) else {
            return Vec::new();
        };
        let key = key(&mut self.alike, &self.ints, (call.op_index, called), args);
        if let Some(found) = key.as_ref().and_then(|key| self.judged.get(key)) {
            return found.clone();
        }
        let (plan, tensors, ints, constants) = (self.plan, &self.tensors, &self.ints, &self.constants);
        let release = self.release;
        let found = Call { operator, called, plan, args, tensors, ints, constants, release, at_bound: false }
            .judge(self.has_orders, self.is_dynamic);
        if let Some(key) = key {
            self.judged.insert(key, found.clone());
        }
        found
    }
}

/// Returns the key of a call in [`Calls::judged`]: the operator, and for each argument, the value that it is like and the first argument that
/// is the same value. `None` for a call with another number of arguments, which may be long, or with values that do not exist.
fn key(alike: &mut Alike<'_>, ints: &Ints, (operator, called): (i32, &Called), args: &[i32]) -> Option<Vec<u32>> {
    if args.len() != called.argument_count() {
        return None;
    }
    let mut key = Vec::with_capacity(2 * args.len() + 1);
    key.push(operator as u32);
    for arg in args {
        key.push(alike.first(usize::try_from(*arg).ok()?, ints)?);
        key.extend(args.iter().position(|other| other == arg).map(|at| at as u32));
    }
    Some(key)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::schema::ScalarType;
    use crate::schema::program::{AllocationDetails, Buffer, Instruction, OptionalTensorList, Tensor};
    use alloc::{format, vec};

    #[test]
    fn a_result_that_is_given_again_as_another_tensor_does_not_name_the_violation() {
        let mut pte = Pte::parse(include_bytes!("../../../tests/data/1.5.1/add/add.pte")).unwrap();
        let plan = pte.program.execution_plan.as_mut().and_then(|plans| plans.first_mut()).unwrap();
        for (value, channels_last) in plan.values.iter_mut().flatten().zip([false, false, false, true]) {
            let mut tensor = crate::schema::program::Tensor::default();
            let (sizes, order): (Vec<i32>, Vec<u8>) = if channels_last {
                ([2, 3, 3, 5].into(), [0, 2, 3, 1].into())
            } else {
                ([2, 3, 3].into(), [0, 2, 1].into())
            };
            (tensor.sizes, tensor.dim_order) = (Some(sizes.into()), Some(order.into()));
            value.val = KernelTypes::Tensor(tensor);
        }
        plan.operators = Some([Operator::new("aten::bmm", "out")].into());
        let plan = pte.methods().first().unwrap();
        let call = KernelCall { op_index: 0, args: Some([0, 1, 2, 3][..].into()) };
        let found = Calls::new(&pte, plan, Kernels::Any, Release::LATEST).judge(&call);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|violation| violation.message.starts_with("self of aten::bmm.out is ")), "{found:?}");
    }

    #[test]
    fn a_call_that_only_the_bounds_do_not_fit_is_a_warning() {
        for (dynamism, severity) in
            [(TensorShapeDynamism::DYNAMIC_BOUND, Severity::Warning), (TensorShapeDynamism::STATIC, Severity::Error)]
        {
            let mut pte = Pte::parse(include_bytes!("../../../tests/data/1.5.1/add/add.pte")).unwrap();
            let plan = pte.program.execution_plan.as_mut().and_then(|plans| plans.first_mut()).unwrap();
            for (value, size) in plan.values.iter_mut().flatten().zip([5, 4, 4]) {
                let KernelTypes::Tensor(tensor) = &mut value.val else { continue };
                (tensor.sizes, tensor.dim_order) = (Some(vec![size].into()), Some(vec![0].into()));
                tensor.shape_dynamism = if size == 5 { dynamism } else { TensorShapeDynamism::STATIC };
            }
            let plan = pte.methods().first().unwrap();
            let (_, instruction) = plan.instructions().next().unwrap();
            let InstructionArguments::KernelCall(call) = instruction else { unreachable!() };
            let found = Calls::new(&pte, plan, Kernels::Any, Release::LATEST).judge(call);
            let [violation] = found.as_slice() else { unreachable!("{found:?}") };
            assert_eq!((violation.rule, violation.severity), (super::super::rule::KERNEL_SHAPE, severity));
            let is_at_bounds = violation.message.contains("at the upper bounds of the sizes");
            assert_eq!(is_at_bounds, severity == Severity::Warning, "{}", violation.message);
        }
    }

    /// Judges a call of optimized kernels.
    fn judged(
        pte: &Pte<'_>,
        values: &[EValue<'_>],
        (name, overload): (&'static str, &'static str),
        args: &[i32],
        release: Release,
    ) -> Vec<Violation> {
        let call = vec![Instruction::kernel_call(0, args.to_vec())];
        let plan = ExecutionPlan::new("m", values.to_vec(), vec![Operator::new(name, overload)], call.clone(), 0);
        let Some(InstructionArguments::KernelCall(call)) = call.first().map(|call| &call.instr_args) else {
            unreachable!()
        };
        Calls::new(pte, &plan, Kernels::Optimized, release).judge(call)
    }

    /// Numbers and sizes with which the official runtime was asked.
    #[test]
    fn constants_casts_and_tensors_that_may_be_empty_are_judged_as_the_kernels_read_them() {
        let mut pte = Pte::parse(include_bytes!("../../../tests/data/1.5.1/add/add.pte")).unwrap();
        let buffer = |numbers: [i64; 2]| Buffer { storage: Some(numbers.map(i64::to_le_bytes).concat().into()) };
        pte.program.constant_buffer = Some([Buffer::default(), buffer([3, 0]), buffer([-1, 4])].into());
        let tensor = |scalar_type: ScalarType, sizes: &[i32]| Tensor::new(scalar_type, sizes.to_vec());
        let bounded = |sizes: &[i32]| {
            let mut tensor = tensor(ScalarType::FLOAT, sizes);
            tensor.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
            tensor
        };
        let in_constant = |sizes: &[i32]| {
            let mut tensor = tensor(ScalarType::LONG, sizes);
            tensor.data_buffer_idx = 1;
            tensor
        };
        let placed = |mut tensor: Tensor<'static>| {
            tensor.allocation_info = Some(AllocationDetails::default());
            tensor
        };
        let values: Vec<EValue<'_>> = [
            placed(tensor(ScalarType::HALF, &[2])),
            placed(tensor(ScalarType::LONG, &[2])),
            in_constant(&[2]),
            placed(tensor(ScalarType::FLOAT, &[2])),
            in_constant(&[1, 2]),
            placed(tensor(ScalarType::FLOAT, &[3, 2])),
            placed(tensor(ScalarType::FLOAT, &[4, 2])),
            bounded(&[2, 3]),
            bounded(&[2, 3, 2]),
            placed(tensor(ScalarType::FLOAT, &[1, 2, 2])),
        ]
        .map(EValue::from)
        .into_iter()
        .chain([0, 1, 1 << 40, i64::from(i32::MIN), 17].map(EValue::from))
        .chain([EValue::null(), false.into(), "floor".into()])
        .chain([EValue::tensor_list(vec![7, 8]), EValue::int_list(vec![11]), EValue::int_list(vec![14])])
        .chain([KernelTypes::from(OptionalTensorList { items: Some(vec![4].into()) }).into()])
        .chain(
            [Tensor { data_buffer_idx: 2, ..in_constant(&[2]) }, placed(tensor(ScalarType::LONG, &[3]))]
                .map(EValue::from),
        )
        .chain([EValue::tensor_list(vec![7, 25])])
        .chain([placed(tensor(ScalarType::FLOAT, &[5, 3])), bounded(&[5, 6])].map(EValue::from))
        .collect();
        let (one, large, low) = (11, 12, 13);
        let (null, no, floor, joined, ones, dims, indices) = (15, 16, 17, 18, 19, 20, 21);
        let (refuses, runs) = (Some(Outcome::RefusesCall), None);
        // The tensors may be empty when the call runs.
        let at_bounds = Some(Outcome::Unknown);
        let divides = |[left, out]: [i32; 2]| [left, 2, out, out];
        let calls: &[(_, &[i32], _)] = &[
            (("aten::add", "Scalar_out"), &[0, one, large, 0, 0], runs),
            (("aten::_to_copy", "out"), &[3, no, low, 3, 3], runs),
            (("aten::_to_copy", "out"), &[3, no, one, 3, 3], refuses),
            (("aten::roll", "out"), &[7, ones, dims, 7, 7], at_bounds),
            (("aten::roll", "out"), &[5, ones, dims, 5, 5], refuses),
            (("aten::cat", "out"), &[joined, one, 8, 8], at_bounds),
            (("aten::cat", "out"), &[24, one, 26, 26], at_bounds),
            (("aten::div", "out_mode"), &[1, 2, floor, 1, 1], refuses),
            (("aten::div", "out_mode"), &[3, 2, floor, 3, 3], runs),
            (("aten::fmod", "Tensor_out"), &divides([1, 1]), refuses),
            (("aten::remainder", "Tensor_out"), &divides([1, 1]), refuses),
            (("aten::floor_divide", "out"), &divides([1, 1]), refuses),
            (("aten::floor_divide", "out"), &divides([3, 3]), runs),
            (("aten::index_put", "out"), &[5, indices, 9, no, 5, 5], refuses),
            (("aten::index_put", "out"), &[6, indices, 9, no, 6, 6], runs),
            (("aten::index", "Tensor_out"), &[5, indices, 9, 9], refuses),
            (("aten::index", "Tensor_out"), &[6, indices, 9, 9], runs),
            // Both sums are 3.
            (("aten::repeat_interleave", "Tensor_out"), &[2, null, 23, 23], runs),
            (("aten::repeat_interleave", "Tensor_out"), &[22, null, 23, 23], refuses),
        ];
        for (name, args, expected) in calls {
            let found = judged(&pte, &values, *name, args, Release::LATEST);
            assert_eq!(found.first().map(|violation| violation.outcome), *expected, "{name:?} {args:?}: {found:?}");
        }
    }

    #[test]
    fn a_tensor_in_any_order_is_cloned_and_a_kernel_of_dynamic_sizes_may_shrink() {
        let pte = Pte::parse(include_bytes!("../../../tests/data/1.5.1/add/add.pte")).unwrap();
        let ordered = |scalar_type: ScalarType, sizes: &[i32], order: &[u8]| {
            let mut tensor = Tensor::new(scalar_type, sizes.to_vec());
            tensor.dim_order = Some(order.to_vec().into());
            tensor
        };
        let uint64 = ScalarType(28);
        let mut kernel = ordered(ScalarType::FLOAT, &[6, 4, 3, 3], &[0, 1, 2, 3]);
        kernel.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
        let values: Vec<EValue<'_>> = [
            ordered(uint64, &[3, 4], &[1, 0]),
            ordered(uint64, &[3, 4], &[0, 1]),
            ordered(ScalarType::FLOAT, &[3, 4], &[1, 0]),
            ordered(ScalarType::FLOAT, &[2, 4, 0, 5], &[0, 1, 2, 3]),
            kernel.clone(),
            Tensor { shape_dynamism: TensorShapeDynamism::STATIC, ..kernel },
            ordered(ScalarType::FLOAT, &[2, 6, 3, 3], &[0, 1, 2, 3]),
        ]
        .map(EValue::from)
        .into_iter()
        .chain([false.into(), EValue::null(), 0.into(), 1.into()])
        .chain([vec![9, 10], vec![10, 10], vec![9, 9]].map(EValue::int_list))
        .collect();
        let (no, null, natural, ones, zeros) = (7, 8, 11, 12, 13);
        let (refuses, runs) = (Some(Outcome::RefusesCall), None);
        let (clone, convert, convolution) =
            ("dim_order_ops::_clone_dim_order", "dim_order_ops::_to_dim_order_copy", "aten::convolution");
        let convolve = |kernel| [3, kernel, null, ones, zeros, ones, no, zeros, 10, 6, 6];
        let calls: &[(_, &[i32], _)] = &[
            (clone, &[0, no, null, 0, 0], runs),
            (clone, &[1, no, natural, 1, 1], runs),
            (clone, &[0, no, natural, 1, 1], refuses),
            (convert, &[2, no, null, 2, 2], runs),
            // It is refused with the largest kernel.
            (convolution, &convolve(4), Some(Outcome::Unknown)),
            (convolution, &convolve(5), refuses),
        ];
        for (name, args, expected) in calls {
            let found = judged(&pte, &values, (name, "out"), args, Release::LATEST);
            assert_eq!(found.first().map(|violation| violation.outcome), *expected, "{name} {args:?}: {found:?}");
        }
    }

    #[test]
    fn divisors_that_wrap_sums_of_nothing_and_dropouts_of_integers_are_judged() {
        let pte = Pte::parse(include_bytes!("../../../tests/data/1.5.1/add/add.pte")).unwrap();
        let tensor = |scalar_type: ScalarType, sizes: &[i32]| Tensor::new(scalar_type, sizes.to_vec());
        let uint16 = ScalarType(27);
        let values: Vec<EValue<'_>> = [
            tensor(ScalarType::CHAR, &[4]),
            tensor(ScalarType::INT, &[4]),
            tensor(ScalarType::CHAR, &[0]),
            tensor(uint16, &[0]),
            tensor(uint16, &[1]),
            tensor(ScalarType::FLOAT, &[]),
            tensor(ScalarType::DOUBLE, &[]),
        ]
        .map(EValue::from)
        .into_iter()
        .chain([
            "floor".into(),
            256.into(),
            257.into(),
            true.into(),
            EValue::null(),
            0.into(),
            EValue::int_list(vec![12]),
            0.5.into(),
            tensor(ScalarType::BOOL, &[4]).into(),
            false.into(),
        ])
        .collect();
        let (scalar, wider, floor, wraps, stays, yes, null, first) = (5, 6, 7, 8, 9, 10, 11, 13);
        let (half, flags, no) = (14, 15, 16);
        let (divide, rest, sum) = ("aten::div.Scalar_mode_out", "aten::remainder.Scalar_out", "aten::sum.IntList_out");
        let drop = "aten::native_dropout.out";
        let calls: &[(_, &[i32], _)] = &[
            (divide, &[0, wraps, floor, 0, 0], Some(Outcome::Dies)),
            (divide, &[0, stays, floor, 0, 0], None),
            (divide, &[1, wraps, floor, 1, 1], None),
            (divide, &[2, wraps, floor, 2, 2], None),
            (rest, &[0, wraps, 0, 0], Some(Outcome::Dies)),
            (sum, &[3, first, yes, null, 4, 4], None),
            (sum, &[4, first, yes, null, 4, 4], Some(Outcome::RefusesCall)),
            (sum, &[scalar, first, yes, null, scalar, scalar], Some(Outcome::Dies)),
            (sum, &[scalar, null, yes, null, scalar, scalar], None),
            (sum, &[scalar, first, yes, null, wider, wider], None),
            (drop, &[flags, half, yes, flags, flags, flags], Some(Outcome::RefusesCall)),
            (drop, &[flags, half, no, flags, flags, flags], None),
        ];
        for (name, args, expected) in calls {
            let (name, overload) = name.rsplit_once('.').unwrap();
            let found = judged(&pte, &values, (name, overload), args, Release::LATEST);
            assert_eq!(found.first().map(|violation| violation.outcome), *expected, "{name} {args:?}: {found:?}");
        }
    }

    #[test]
    fn calls_are_judged_with_the_kernels_of_a_release() {
        let tensor = |scalar_type: ScalarType, sizes: &[i32]| Tensor::new(scalar_type, sizes.to_vec());
        let complex = ScalarType(9);
        let mut transposed = tensor(ScalarType::FLOAT, &[4, 4]);
        transposed.dim_order = Some(vec![1, 0].into());
        let tensors = [
            tensor(ScalarType::HALF, &[2, 4]),
            tensor(ScalarType::FLOAT, &[4, 4]),
            transposed,
            tensor(complex, &[4, 4]),
            tensor(ScalarType::FLOAT, &[4, 3, 2]),
            tensor(ScalarType::FLOAT, &[2, 0]),
            tensor(ScalarType::FLOAT, &[2]),
            tensor(ScalarType::DOUBLE, &[4, 4]),
        ];
        let mut values: Vec<EValue<'_>> = tensors.into_iter().map(EValue::from).collect();
        values.extend([1.into(), false.into(), EValue::null(), 2.into(), 0.into()]);
        values.extend([tensor(ScalarType::FLOAT, &[1, 4]).into(), (-1).into()]);
        let (one, no, null, two, zero, minus_one) = (8, 9, 10, 11, 12, 14);
        let (short, long, statistics) = (15, 16, 17);
        values.extend([20, 256, 1].map(|size| tensor(ScalarType::HALF, &[2, size]).into()));
        values.extend([20.into(), 256.into(), EValue::int_list(vec![18]), EValue::int_list(vec![19]), 1e-5.into()]);
        let (of_short, of_long, eps) = (20, 21, 22);
        values.extend([short, long].map(|out| EValue::tensor_list(vec![out, statistics, statistics])));
        let (refuses, dies, runs) = (Some(Outcome::RefusesCall), Some(Outcome::Dies), None);
        let miscomputes = Some(Outcome::Miscomputes);
        let norm = |input, of, list| [input, of, null, null, eps, input, statistics, statistics, list];
        let (norm_short, norm_long) = (norm(short, of_short, 23), norm(long, of_long, 24));
        // Each with the last release of one behaviour, and the first of the other.
        type Judged = (Release, Option<Outcome>);
        let calls: &[(&'static str, &'static str, &[i32], Judged, Judged)] = &[
            ("aten::_log_softmax", "out", &[0, one, no, 0, 0], (Release::V1_3, refuses), (Release::V1_4, runs)),
            ("aten::unfold_copy", "out", &[2, one, two, one, 4, 4], (Release::V1_4, runs), (Release::LATEST, refuses)),
            ("aten::prod", "int_out", &[5, one, no, null, 6, 6], (Release::V1_0, dies), (Release::V1_1, runs)),
            ("aten::copy", "out", &[1, 7, no, 1, 1], (Release::V1_0, dies), (Release::V1_1, runs)),
            ("aten::div", "out", &[3, 3, 3, 3], (Release::V1_1, refuses), (Release::V1_2, runs)),
            ("aten::div", "out", &[3, 1, 3, 3], (Release::V1_1, dies), (Release::V1_2, dies)),
            (
                "dim_order_ops::_to_dim_order_copy",
                "out",
                &[3, no, null, 3, 3],
                (Release::V1_1, refuses),
                (Release::V1_2, runs),
            ),
            (
                "dim_order_ops::_clone_dim_order",
                "out",
                &[3, no, null, 3, 3],
                (Release::V1_0, refuses),
                (Release::V1_1, runs),
            ),
            (
                "aten::narrow_copy",
                "out",
                &[1, zero, minus_one, one, 13, 13],
                (Release::V1_0, dies),
                (Release::V1_1, refuses),
            ),
            (
                "aten::slice_scatter",
                "out",
                &[1, 4, one, zero, two, one, 1, 1],
                (Release::V1_0, refuses),
                (Release::V1_1, refuses),
            ),
            (
                "aten::slice_scatter",
                "out",
                &[1, 1, one, zero, two, one, 1, 1],
                (Release::V1_0, dies),
                (Release::V1_1, refuses),
            ),
            ("aten::native_layer_norm", "out", &norm_short, (Release::V1_1, runs), (Release::V1_2, miscomputes)),
            ("aten::native_layer_norm", "out", &norm_short, (Release::V1_2, miscomputes), (Release::V1_3, runs)),
            ("aten::native_layer_norm", "out", &norm_long, (Release::V1_1, runs), (Release::LATEST, miscomputes)),
        ];
        let pte = Pte::parse(include_bytes!("../../../tests/data/1.5.1/add/add.pte")).unwrap();
        for (name, overload, args, before, since) in calls {
            for (release, expected) in [before, since] {
                let found = judged(&pte, &values, (name, overload), args, *release);
                let outcome = found.first().map(|violation| violation.outcome);
                assert_eq!(outcome, *expected, "{name} {args:?} in {release}: {found:?}");
                let tested = if *release == Release::LATEST { "1.5.1".into() } else { format!("{release}") };
                assert!(found.iter().all(|violation| violation.message.contains(&format!("ExecuTorch {tested} "))));
            }
        }
    }

    #[test]
    fn calls_with_the_same_key_have_the_same_violations() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut folders = vec![folder];
        let (mut calls, mut keys, mut violations) = (0, 0, 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                    continue;
                }
                let file = std::fs::read(&entry).unwrap();
                let Ok(pte) = Pte::parse(&file) else { continue };
                for plan in pte.methods() {
                    let mut kept = Calls::new(&pte, plan, Kernels::Any, Release::LATEST);
                    for (_, instruction) in plan.instructions() {
                        let InstructionArguments::KernelCall(call) = instruction else { continue };
                        let first = kept.judge(call);
                        let judged = core::mem::take(&mut kept.judged);
                        assert_eq!(kept.judge(call), first, "{}", entry.display());
                        kept.judged = judged;
                        calls += 1;
                        violations += first.len();
                    }
                    keys += kept.judged.len();
                }
            }
        }
        assert!(keys < calls && violations > 0, "{keys} keys, {calls} calls, {violations} violations");
    }
}
