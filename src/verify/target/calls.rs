//! Calls that the kernels of a device refuse, end the process on, or compute other numbers for.

use super::super::kernels::{Calls, Kernels, Violation};
use super::super::releases::Library;
use super::super::{Cause, Outcome, Release};
use super::Target;
use crate::error::counted;
use crate::file::pte::Pte;
use crate::path::{FieldPath, Path};
use crate::schema::program::InstructionArguments;
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

/// Calls of an operator that break the same rule.
#[derive(Clone)]
pub(in crate::verify) struct CallFault {
    pub(super) method: String,
    pub(super) operator: String,
    pub(super) rule: &'static str,
    /// The behaviour of the release.
    pub(in crate::verify) outcome: Outcome,
    /// The number of calls.
    pub(super) calls: usize,
    /// The first call.
    pub(super) place: String,
    path: FieldPath,
    /// The behaviour of the kernel with the first call.
    pub(super) message: String,
}

impl From<&CallFault> for Cause {
    fn from(fault: &CallFault) -> Self {
        let CallFault { rule, outcome, calls, path, message, .. } = fault;
        let calls = counted(*calls, "call");
        Self { outcome: *outcome, name: rule, path: path.clone(), message: format!("{message} ({calls})") }
    }
}

/// Checks each call with the kernels of a release. Calls of the same operator that break the same rule are put together. Empty if
/// the device has kernels of its own.
pub(in crate::verify) fn faults(pte: &Pte<'_>, target: &Target, release: Release) -> Vec<CallFault> {
    let Some(kernels) = kernels(target) else { return Vec::new() };
    let mut faults = Vec::new();
    for (method, plan) in pte.methods().iter().enumerate() {
        let mut calls = Calls::new(pte, plan, kernels, release);
        let mut found = BTreeMap::new();
        for (place, arguments) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = arguments else { continue };
            let index = usize::try_from(call.op_index).ok();
            let Some((index, operator)) = index.and_then(|index| Some((index, plan.operators().get(index)?))) else {
                continue;
            };
            for violation in calls.judge(call) {
                let key = (index, violation.rule.name, violation.outcome);
                found.entry(key).or_insert_with(|| (operator, 0, place, violation)).1 += 1;
            }
        }
        for ((_, rule, outcome), (operator, calls, (chain, instruction), Violation { message, .. })) in found {
            // The device may have a kernel of its own.
            if target.lists(operator) {
                continue;
            }
            let path = Path::ROOT.item("execution_plan", method);
            let path = path.item("chains", chain);
            let path = path.item("instructions", instruction);
            faults.push(CallFault {
                method: plan.name().into(),
                operator: operator.full_name(),
                rule,
                outcome,
                calls,
                place: format!("chains[{chain}].instructions[{instruction}]"),
                path: path.field("instr_args.KernelCall").to_field_path(),
                message,
            });
        }
    }
    faults
}

/// Returns the official kernels that a device has; `None` if it has other kernels.
fn kernels(target: &Target) -> Option<Kernels> {
    let optimized = |library: &Library| matches!(library, Library::Optimized | Library::PythonWheel);
    match &target.libraries {
        Some(libraries) if libraries.iter().any(optimized) => Some(Kernels::Optimized),
        Some(_) => Some(Kernels::Portable),
        None if target.operators.is_none() => Some(Kernels::Any),
        None => None,
    }
}
