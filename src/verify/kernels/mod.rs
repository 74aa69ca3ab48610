//! Rules about calls of kernels: calls that official kernels refuse, end the process on, or compute other numbers for.
//!
//! The kernels are those of ExecuTorch 1.5.1, as in the table of operators. Each was called by itself in the official runtime with
//! every dim order, rank, type and kind of its arguments, 185,013 calls in all: with the kernels of the Python wheel, and with those
//! portable kernels that optimized ones replace there. Other operators, which may have kernels of any kind, are not checked.

mod arguments;
mod call;
mod checks;
mod describe;
mod families;
mod fault;
mod ints;
mod operator;
mod sizes;
mod tensors;
mod types;

use super::report::Report;
use super::rule::Rule;
use super::{Outcome, Severity};
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelCall, Operator};
use alloc::{string::String, vec::Vec};
use call::Call;
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
    /// What the kernels do; unknown if they may do it, or only some of them.
    pub(super) outcome: Outcome,
    /// The index of the argument in the call.
    pub(super) argument: Option<usize>,
    pub(super) message: String,
}

/// Reports violations in the calls of a method.
pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let calls = Calls::new(plan, Kernels::Any);
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

/// The operators of a method that are in the tables, and the properties of its values.
pub(super) struct Calls<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    /// By the operators' index; `None` for one that is not in the tables.
    operators: Vec<Option<(&'t Operator<'a>, Called)>>,
    /// The properties of the tensors that each value stands for.
    tensors: Vec<Tensors<'t>>,
    ints: Ints,
    /// `true` if any of these tensors is not contiguous.
    has_orders: bool,
}

impl<'t, 'a> Calls<'t, 'a> {
    pub(super) fn new(plan: &'t ExecutionPlan<'a>, kernels: Kernels) -> Self {
        let find = |operator| Some((operator, Called::find(operator, kernels)?));
        let operators: Vec<_> = plan.operators().iter().map(find).collect();
        let is_known = operators.iter().any(Option::is_some);
        let tensors = if is_known { tensors::of_values(plan) } else { Vec::new() };
        let has_orders = tensors.iter().any(Tensors::has_orders);
        Self { plan, operators, tensors, ints: Ints::new(plan), has_orders }
    }

    /// Returns the violations of a call; none for an operator that is not in the tables.
    pub(super) fn judge(&self, call: &KernelCall<'_>) -> Vec<Violation> {
        let operator = usize::try_from(call.op_index).ok().and_then(|index| self.operators.get(index));
        let (Some(Some((operator, called))), Some(args)) = (operator, call.args.as_deref()) else {
            return Vec::new();
        };
        Call { operator, called, plan: self.plan, args, tensors: &self.tensors, ints: &self.ints }
            .judge(self.has_orders)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::file::pte::Pte;
    use crate::schema::program::KernelTypes;

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
        let call = KernelCall { op_index: 0, args: Some([0, 1, 2, 3][..].into()) };
        let found = Calls::new(plan, Kernels::Any).judge(&call);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|violation| violation.message.starts_with("self of aten::bmm.out is ")), "{found:?}");
    }
}
