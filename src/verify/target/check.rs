//! Checks whether a device meets the needs of a program.

use super::super::release::{Behaviour, Release};
use super::super::report::Name;
use super::super::{Cause, Outcome, Verdict};
use super::calls::CallFault;
use super::devices;
use super::missing::{Fit, Missing, Unknown};
use super::needs::Needs;
use super::{Target, scalar_type};
use crate::analysis::{Analysis, Device};
use crate::delegate::Payload;
use crate::file::pte::Pte;
use crate::inspect::{Operators, TempAllocator};
use crate::path::Path;
use crate::schema::ScalarType;
use crate::schema::program::{DeviceType, ExecutionPlan};
use crate::sorted::set;
use alloc::collections::BTreeMap;
use alloc::{boxed::Box, format, string::String, vec::Vec};

/// Returns the verdict with the needs that the target does not meet, and those that could not be checked.
pub(in crate::verify) fn check(analysis: &Analysis<'_>, target: &Target) -> Fit {
    let (pte, data) = (analysis.pte(), analysis.data().unwrap_or_default());
    let (mut missing, mut unknown) = (Vec::new(), Vec::new());
    let runtime = target.runtime.unwrap_or(Release::LATEST);
    if let (Some(source), Some(available)) = (&pte.source, target.largest_file) {
        let needed = source.bytes.len() as u64;
        missing.extend((needed > available).then_some(Missing::FileSize { needed, available }));
    }
    missing.extend(pte.missing_data(data).map(Missing::ExternalData));
    let facts = analysis.facts(target);
    let verdict = facts.verdict(runtime);
    let (mut causes, kernels) = (verdict.verdict.because.clone(), verdict.kernels.clone());
    // Missing data is reported above, and calls below.
    let is_other = |cause: &&Cause| cause.outcome > Outcome::Missing && !cause.name.starts_with("kernel-");
    let others: Vec<Cause> =
        causes.iter().filter(is_other).filter(|cause| !verdict.is_answered(cause)).cloned().collect();
    match verdict.behaviour {
        Behaviour::Loads if verdict.not_checked().is_none() => {}
        Behaviour::Loads | Behaviour::Unknown => unknown.push(Unknown::Runtime(Box::new(verdict))),
        _ => missing.push(Missing::Runtime(Box::new(verdict))),
    }
    for cause in others {
        match cause.outcome.is_bad() {
            true => missing.push(Missing::Run(cause)),
            false => unknown.push(Unknown::Run(cause)),
        }
    }
    for CallFault { method, operator, rule, outcome, calls, place, message, .. } in facts.calls(runtime) {
        let message = format!("{place}: {message}");
        if outcome.is_bad() {
            missing.push(Missing::Call { method, operator, rule, calls, message });
        } else {
            unknown.push(Unknown::Call { method, operator, rule, calls, message, runtime });
        }
    }
    let (found, gaps) = (missing.len(), unknown.len());
    for plan in pte.methods() {
        let mut needed = Operators::default();
        needed.add(plan, &Path::ROOT);
        check_operators(plan.name(), &needed, target, &mut missing);
        check_backends(plan.name(), &needed, target, &mut missing);
        let method = || String::from(plan.name());
        if let Some(available) = target.arena {
            let buffers = plan.planned_memory().buffers;
            let on_cpu = buffers.iter().filter(|buffer| buffer.device_type == DeviceType::CPU);
            let sizes = on_cpu.map(|buffer| buffer.size);
            let needed = sizes.fold(0, u64::saturating_add);
            missing.extend((needed > available).then(|| Missing::Arena { method: method(), needed, available }));
        }
        if let Some(memories) = &target.memories {
            for buffer in plan.planned_memory().buffers.into_iter().filter(|buffer| buffer.size > 0) {
                let (memory_id, span, needed) = (buffer.memory_id, buffer.span, buffer.size);
                let available = memories.get(&memory_id).copied();
                // The memory of other devices is only limited if it is listed.
                let is_limited = available.is_some() || buffer.device_type == DeviceType::CPU;
                let available = available.unwrap_or_default();
                missing.extend((is_limited && needed > available).then(|| Missing::Memory {
                    method: method(),
                    memory_id,
                    span,
                    needed,
                    available,
                }));
            }
        }
        if let Some(available) = target.method_allocator {
            check_allocator(pte, plan, target, available, &mut missing);
            let others = needed.backends.keys().filter(|id| *id != "XnnpackBackend");
            unknown.extend(
                others
                    .map(|backend| Unknown::BackendMemory { method: method(), backend: format!("{}", Name(backend)) }),
            );
        }
    }
    if target.accelerator.is_some() || target.scratch.is_some() {
        check_ethos_u(analysis, target, &mut missing, &mut unknown);
    }
    if target.soc.is_some() || target.ios.is_some() || target.macos.is_some() {
        devices::check(analysis, target, &mut missing, &mut unknown);
    }
    if target.method_allocator.is_some() {
        unknown.extend((runtime != Release::LATEST).then_some(Unknown::RuntimeMemory { runtime }));
    }
    causes.extend(missing.iter().skip(found).map(Missing::cause));
    causes.extend(unknown.iter().skip(gaps).map(Unknown::cause));
    Fit { verdict: Verdict::new(causes), missing, unknown, kernels, needs: Needs::default() }
}

fn check_operators(method: &str, needed: &Operators, target: &Target, missing: &mut Vec<Missing>) {
    let method = || String::from(method);
    let known = |types: &[&String], found: ScalarType| types.iter().any(|name| scalar_type(name) == Ok(found));
    let everywhere: Option<Vec<&String>> = target.scalar_types.as_ref().map(|types| types.iter().collect());
    for (name, needed) in needed.operators.iter().filter(|(_, needed)| needed.calls > 0) {
        let operator = || name.clone();
        let listed = target.operators.as_ref().map(|operators| operators.get(name));
        // With libraries, the verdict on the release reports missing operators.
        if listed == Some(None) && !target.all_operators && target.libraries.is_none() {
            missing.push(Missing::Operator {
                method: method(),
                operator: operator(),
                calls: needed.calls,
                place: needed.place,
            });
            continue;
        }
        let taken = listed.flatten().map(Vec::as_slice).unwrap_or_default();
        let (keys, types): (Vec<&String>, Vec<&String>) = taken.iter().partition(|name| is_key(name));
        let any = keys.is_empty() || keys.iter().any(|key| *key == "default");
        let mut missing_types: BTreeMap<ScalarType, usize> = BTreeMap::new();
        for (key, kernel) in &needed.kernels {
            let calls = kernel.calls;
            if !any && !keys.contains(&key) {
                missing.push(Missing::OperatorKernel {
                    method: method(),
                    operator: operator(),
                    key: key.clone(),
                    calls,
                });
            }
            for scalar_type in set(kernel.tensors.iter().map(|tensor| tensor.scalar_type).collect()) {
                let is_there = (types.is_empty() || known(&types, scalar_type))
                    && everywhere.as_ref().is_none_or(|types| known(types, scalar_type));
                if !is_there {
                    *missing_types.entry(scalar_type).or_default() += calls;
                }
            }
        }
        missing.extend(missing_types.into_iter().map(|(scalar_type, calls)| Missing::OperatorType {
            method: method(),
            operator: operator(),
            scalar_type,
            calls,
        }));
    }
}

/// Returns `true` if an item of an operator's list is a kernel key instead of a type.
pub(super) fn is_key(name: &str) -> bool {
    name == "default" || name.starts_with("v1")
}

fn check_backends(method: &str, needed: &Operators, target: &Target, missing: &mut Vec<Missing>) {
    let is_there = |id: &String| target.backends.as_ref().is_none_or(|backends| backends.contains(id));
    let missing_backends = needed.backends.iter().filter(|(id, _)| !is_there(id));
    missing.extend(missing_backends.map(|(id, found)| Missing::Backend {
        method: method.into(),
        backend: id.clone(),
        delegates: found.delegates,
    }));
}

fn check_allocator(
    pte: &Pte<'_>,
    plan: &ExecutionPlan<'_>,
    target: &Target,
    available: u64,
    missing: &mut Vec<Missing>,
) {
    let taken = pte.method_allocator(plan);
    let (pointers, temporary) = target.allocators();
    let needed = taken.known(pointers, temporary);
    if needed > available {
        missing.push(Missing::MethodAllocator {
            method: plan.name().into(),
            needed,
            available,
            xnnpack: taken.xnnpack,
            without_temporary: needed.saturating_sub(taken.known(pointers, TempAllocator::Given)),
            other_delegates: taken.other_delegates,
        });
    }
}

/// Returns `true` if a payload for `needed` runs on a device with `available`, which may leave out the number of MACs.
fn is_accelerator(needed: &str, available: &str) -> bool {
    let family = needed.rsplit_once('-').map_or(needed, |(family, _)| family);
    needed.eq_ignore_ascii_case(available) || family.eq_ignore_ascii_case(available)
}

/// Checks that payloads were compiled for the device's Ethos-U, and that it has enough scratch memory.
fn check_ethos_u(analysis: &Analysis<'_>, target: &Target, missing: &mut Vec<Missing>, unknown: &mut Vec<Unknown>) {
    let pte = analysis.pte();
    for opened in analysis.payloads() {
        for (method, delegate) in &opened.delegates {
            let Some(plan) = pte.methods().get(*method) else { continue };
            let Some(backend) = plan.delegates().get(*delegate).filter(|backend| backend.backend() == ETHOS_U) else {
                continue;
            };
            let (method, delegate) = (|| String::from(plan.name()), *delegate);
            if let Some(available) = &target.accelerator {
                match Device::of(backend, None).accelerator {
                    Some(needed) if is_accelerator(needed, available) => {}
                    Some(needed) => {
                        let (needed, available) = (needed.into(), available.clone());
                        missing.push(Missing::Accelerator { method: method(), delegate, needed, available });
                    }
                    None => unknown.push(Unknown::Accelerator { method: method(), delegate, what: "the accelerator" }),
                }
            }
            if let Some(available) = target.scratch {
                let scratch = match &opened.payload {
                    Ok(Payload::EthosU(payload)) => payload.scratch_size(),
                    _ => None,
                };
                match scratch {
                    Some(needed) if needed > available => {
                        missing.push(Missing::Scratch { method: method(), delegate, needed, available });
                    }
                    Some(_) => {}
                    None => {
                        unknown.push(Unknown::Accelerator { method: method(), delegate, what: "the scratch memory" })
                    }
                }
            }
        }
    }
}

/// The id of the delegates for Ethos-U.
const ETHOS_U: &str = "EthosUBackend";
