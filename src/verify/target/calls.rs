//! Calls that the kernels of a device refuse, end the process on, or compute other numbers for.

use super::super::kernels::{Calls, Kernels, Violation};
use super::super::release::Release;
use super::super::releases::Library;
use super::Target;
use super::missing::{Missing, Unknown};
use crate::file::pte::Pte;
use crate::keyed::Keyed;
use crate::schema::program::{ExecutionPlan, InstructionArguments};
use alloc::{format, string::String, vec::Vec};

/// Checks each call of a method with the kernels of the latest release. Calls of the same operator that break the same rule are
/// reported together.
pub(super) fn check(
    pte: &Pte<'_>,
    plan: &ExecutionPlan<'_>,
    target: &Target,
    missing: &mut Vec<Missing>,
    unknown: &mut Vec<Unknown>,
) {
    let (Some(runtime), Some(kernels)) = (target.runtime, kernels(target)) else { return };
    let mut calls = Calls::new(pte, plan, kernels);
    let mut found = Keyed::new();
    for ((chain, instruction), arguments) in plan.instructions() {
        let InstructionArguments::KernelCall(call) = arguments else { continue };
        let index = usize::try_from(call.op_index).ok();
        let Some((index, operator)) = index.and_then(|index| Some((index, plan.operators().get(index)?))) else {
            continue;
        };
        for violation in calls.judge(call) {
            let place = || format!("chains[{chain}].instructions[{instruction}]");
            let of_rule = found.or_insert_with((index, violation.rule.name), || (operator, 0, place(), violation));
            of_rule.1 += 1;
        }
    }
    for ((_, rule), (operator, calls, place, Violation { is_certain, message, .. })) in found.into_sorted() {
        let operator = operator.full_name();
        // The device may have a kernel of its own.
        if target.operators.as_ref().is_some_and(|operators| operators.contains_key(&operator)) {
            continue;
        }
        let (method, message) = (String::from(plan.name()), format!("{place}: {message}"));
        if is_certain && runtime == Release::LATEST {
            missing.push(Missing::Call { method, operator, rule, calls, message });
        } else {
            unknown.push(Unknown::Call { method, operator, rule, calls, message, runtime });
        }
    }
}

/// Returns the official kernels that a device has; `None` if it has other kernels.
fn kernels(target: &Target) -> Option<Kernels> {
    let optimized = |library: &Library| matches!(library, Library::Optimized | Library::PythonWheel);
    match &target.libraries {
        Some(libraries) if libraries.iter().any(optimized) => Some(Kernels::Optimized),
        Some(_) => Some(Kernels::Portable),
        None if target.operators.is_none() => Some(Kernels::Portable),
        None => None,
    }
}
