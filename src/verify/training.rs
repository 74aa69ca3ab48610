//! A rule about programs for inference that were exported in training mode.

use super::report::Report;
use super::rule;
use super::values::value;
use crate::file::pte::{Pte, TRAINING_PREFIX};
use crate::operators;
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelCall, KernelTypes};
use alloc::collections::BTreeSet;
use alloc::format;

/// The operators that do something else in training, with the argument that decides it. `_native_batch_norm_legit.no_stats_out` is not one of
/// them: an instance norm calls it also for inference.
const OPERATORS: [(&str, &str, &str); 3] = [
    ("aten::native_dropout", "out", "train"),
    ("aten::_native_batch_norm_legit", "out", "training"),
    ("aten::native_batch_norm", "out", "training"),
];

/// Reports operators in training mode, once for each method and operator. In a program for training, they are meant.
pub(super) fn check(pte: &Pte<'_>, report: &mut Report<'_>) {
    if pte.methods().iter().any(|plan| plan.name().starts_with(TRAINING_PREFIX)) {
        return;
    }
    for (method, plan) in pte.methods().iter().enumerate() {
        let mut seen = BTreeSet::new();
        for ((chain, index), instruction) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = instruction else { continue };
            let Some(name) = training(plan, call).filter(|_| seen.insert(call.op_index)) else { continue };
            let path = Path::ROOT.item("execution_plan", method);
            let path = path.item("chains", chain);
            let path = path.item("instructions", index);
            let found = format!("{name} in training mode, expected inference: export after `.eval()`");
            report.add(rule::TRAINING_MODE, &path.field("instr_args.KernelCall"), found);
        }
    }
}

/// Returns the operator of a call in training mode.
fn training(plan: &ExecutionPlan<'_>, call: &KernelCall<'_>) -> Option<&'static str> {
    let operator = plan.operators().get(usize::try_from(call.op_index).ok()?)?;
    let is_it =
        |(name, overload, _): &&(&str, &str, &str)| (operator.name(), operator.overload()) == (*name, *overload);
    let (name, _, flag) = OPERATORS.iter().find(is_it)?;
    let argument = |wanted: &str| {
        let at = operators::find(operator)?.arguments.iter().position(|argument| argument.name == wanted)?;
        value(plan.values(), *call.args().get(at)?)
    };
    let is_on = match argument(flag)? {
        KernelTypes::Bool(flag) => flag.bool_val,
        // A dropout trains unless it is told not to.
        KernelTypes::Null(_) => true,
        _ => false,
    };
    let drops_nothing = matches!(argument("p"), Some(KernelTypes::Double(p)) if p.double_val == 0.0);
    (is_on && !drops_nothing).then_some(name)
}
