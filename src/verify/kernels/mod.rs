//! Rules about calls of kernels: calls that official kernels refuse, end the process on, or compute other numbers for.
//!
//! The kernels are those of ExecuTorch 1.5.1. Each was called by itself in the official runtime with every dim order, rank, type
//! and kind of its arguments, 185,013 calls in all: with the kernels of the Python wheel (`kernels.tsv`), and with those
//! portable kernels that optimized ones replace there (`portable.tsv`). Other operators, which may have kernels of any kind, are
//! not checked.

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
    /// `true` if the behaviour of the kernel is certain.
    pub(super) is_certain: bool,
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

/// The operators of a method that are in the tables, and the properties of its values.
pub(super) struct Calls<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    operators: Vec<Option<Called>>,
    /// The properties of the tensors that each value stands for.
    tensors: Vec<Tensors>,
    /// `true` if any of these tensors is not contiguous.
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

    /// Returns the violations of a call; none for an operator that is not in the tables.
    pub(super) fn judge(&self, call: &KernelCall<'_>) -> Vec<Violation> {
        let index = usize::try_from(call.op_index).unwrap_or(usize::MAX);
        let operator = (self.operators.get(index).and_then(Option::as_ref), self.plan.operators().get(index));
        let ((Some(called), Some(operator)), Some(args)) = (operator, call.args.as_deref()) else {
            return Vec::new();
        };
        Call { operator, called, plan: self.plan, args, tensors: &self.tensors }.judge(self.has_orders)
    }
}
