//! Rules about calls of kernels: what the official ones refuse, end the process on, or compute other numbers for.
//!
//! The kernels are those of ExecuTorch 1.5.1. Each was called alone in the official runtime with every dim order, rank, type
//! and kind of its arguments, 185,013 calls in all: with the kernels of the Python wheel (`kernels.tsv`), and with those
//! portable kernels that optimized ones replace there (`portable.tsv`). Nothing is reported about other operators, which
//! may have kernels of any kind.

mod call;
mod operator;
mod table;
mod tensors;

use super::Severity;
use super::report::Report;
use super::rule::Rule;
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelCall};
use alloc::{string::String, vec::Vec};
use call::Call;
use operator::Called;
use tensors::Tensors;

/// The kernels that a runtime has where an optimized kernel can replace a portable one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernels {
    /// Either of them.
    Any,
    /// The portable ones.
    #[cfg(feature = "inspect")]
    Portable,
    /// The optimized ones.
    #[cfg(feature = "inspect")]
    Optimized,
}

/// Something that is wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) rule: &'static Rule,
    /// The rule's, or a warning if some kernel of the release takes the call.
    pub(super) severity: Severity,
    /// Whether it is certain that the kernel does this.
    pub(super) is_certain: bool,
    /// Index of the argument in the call.
    pub(super) argument: Option<usize>,
    pub(super) message: String,
}

/// Reports what is wrong with the calls of a method.
pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let calls = Calls::new(plan, Kernels::Any);
    for ((chain, index), instruction) in plan.instructions() {
        let InstructionArguments::KernelCall(call) = instruction else { continue };
        for found in calls.judge(call) {
            let path = path.item("chains", chain);
            let path = path.item("instructions", index);
            let path = path.field("instr_args.KernelCall");
            let args = call.args();
            match found.argument {
                Some(at) => {
                    let offset = report.offset_of(args, at);
                    report.add_as(found.severity, found.rule, &path.item("args", at), offset, &found.message);
                }
                None => {
                    let offset = report.offset(Some(args));
                    report.add_as(found.severity, found.rule, &path.field("args"), offset, &found.message);
                }
            }
        }
    }
}

/// The operators of a method that are in the tables, and what its values have.
pub(super) struct Calls<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    operators: Vec<Option<Called>>,
    /// For each value, what the tensors have that it stands for.
    tensors: Vec<Tensors>,
    /// Whether any of them is not contiguous.
    has_orders: bool,
}

impl<'t, 'a> Calls<'t, 'a> {
    pub(super) fn new(plan: &'t ExecutionPlan<'a>, kernels: Kernels) -> Self {
        let operators: Vec<_> = plan.operators().iter().map(|operator| Called::find(operator, kernels)).collect();
        let is_known = operators.iter().any(Option::is_some);
        let tensors = if is_known { tensors::of_values(plan) } else { Vec::new() };
        let has_orders = tensors.iter().any(Tensors::has_orders);
        Self { plan, operators, tensors, has_orders }
    }

    /// What is wrong with a call; nothing for an operator that is not in the tables.
    pub(super) fn judge(&self, call: &KernelCall<'_>) -> Vec<Violation> {
        let index = usize::try_from(call.op_index).unwrap_or(usize::MAX);
        let operator = (self.operators.get(index).and_then(Option::as_ref), self.plan.operators().get(index));
        let ((Some(called), Some(operator)), Some(args)) = (operator, call.args.as_deref()) else {
            return Vec::new();
        };
        Call { operator, called, plan: self.plan, args, tensors: &self.tensors }.judge(self.has_orders)
    }
}
