//! Calls that the kernels of a device refuse, end the process on, or compute other numbers for.

use super::super::kernels::{Calls, DistinctCall, Kernels, Violation};
use super::super::releases::Library;
use super::super::{Cause, Outcome, Release};
use super::Target;
use crate::error::counted;
use crate::file::pte::Pte;
use crate::path::{FieldPath, Path};
use crate::schema::program::{ExecutionPlan, Operator};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

/// Calls of an operator that break the same rule.
#[derive(Clone)]
pub(in crate::verify) struct CallFault {
    pub(super) method: String,
    pub(super) operator: String,
    /// The indices of the method, and of the operator in it.
    pub(in crate::verify) index: (usize, usize),
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

/// Checks calls with the kernels of releases: those of the operators with these indices of a method and of an operator in it. Calls of the
/// same operator that break the same rule are put together. Empty for each release if the device has kernels of its own.
pub(in crate::verify) fn faults<const N: usize>(
    pte: &Pte<'_>,
    target: &Target,
    releases: [Release; N],
    is_checked: impl Fn((usize, usize), &Operator<'_>) -> bool,
) -> [Vec<CallFault>; N] {
    let mut faults = [const { Vec::new() }; N];
    let Some(kernels) = kernels(target) else { return faults };
    for (method, plan) in pte.methods().iter().enumerate() {
        // The device may have kernels of its own.
        let is_checked =
            |index, operator: &Operator<'_>| is_checked((method, index), operator) && !target.lists(operator);
        if !plan.operators().iter().enumerate().any(|(index, operator)| is_checked(index, operator)) {
            continue;
        }
        let mut calls = Calls::of_operators(pte, plan, kernels, Release::LATEST, is_checked);
        let distinct = calls.distinct();
        for (release, faults) in releases.into_iter().zip(&mut faults) {
            calls.set_release(release);
            add_faults(method, plan, &mut calls, &distinct, faults);
        }
    }
    faults
}

/// Adds the faults of a method's distinct calls.
fn add_faults(
    method: usize,
    plan: &ExecutionPlan<'_>,
    calls: &mut Calls<'_, '_>,
    distinct: &[DistinctCall<'_, '_>],
    faults: &mut Vec<CallFault>,
) {
    let mut found = BTreeMap::new();
    for DistinctCall { call, place, count } in distinct {
        let Ok(index) = usize::try_from(call.op_index) else { continue };
        let Some(operator) = plan.operators().get(index) else { continue };
        for violation in calls.judge(call) {
            let key = (index, violation.rule.name, violation.outcome);
            found.entry(key).or_insert_with(|| (operator, 0, *place, violation)).1 += count;
        }
    }
    for ((index, rule, outcome), (operator, calls, (chain, instruction), Violation { message, .. })) in found {
        let path = Path::ROOT.item("execution_plan", method);
        let path = path.item("chains", chain);
        let path = path.item("instructions", instruction);
        faults.push(CallFault {
            method: plan.name().into(),
            operator: operator.full_name(),
            index: (method, index),
            rule,
            outcome,
            calls,
            place: format!("chains[{chain}].instructions[{instruction}]"),
            path: path.field("instr_args.KernelCall").to_field_path(),
            message,
        });
    }
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
