//! Rules about states of programs with several methods, which run one after the other. Each method has planned memory of its own, or all have the
//! same: Python gives them the same (`pybindings.cpp`), `Module` only with `share_memory_arenas` (`module.h`).

use super::report::{Name, Report};
use super::rule;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes, Tensor};
use crate::sorted::set;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, vec, vec::Vec};

/// The most states whose bytes may be those of a tensor: others that overlap them break another rule.
const MAX_OVERLAPS: usize = 64;

/// A range of bytes of a planned buffer: the buffer, the first byte, and the byte after the last.
type Place = (u32, u64, u64);

/// A tensor that keeps its content between the runs of a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State<'t> {
    place: Place,
    method: usize,
    value: u32,
    name: Option<&'t str>,
}

/// Checks the states of all methods: for each, the values that keep their content.
#[expect(clippy::indexing_slicing, reason = "states have indices of methods, and `first` one of the states")]
pub(super) fn check(pte: &Pte<'_>, kept: &[Vec<u32>], report: &mut Report<'_>) {
    let plans = pte.methods();
    let mut states: Vec<State<'_>> = Vec::new();
    for ((method, plan), kept) in plans.iter().enumerate().zip(kept) {
        let state = |value: &u32| {
            let tensor = plan.tensor(*value)?;
            let name = tensor.fully_qualified_name().filter(|name| !name.is_empty());
            Some(State { place: place(tensor)?, method, value: *value, name })
        };
        states.extend(kept.iter().filter_map(state));
    }
    if states.is_empty() || plans.len() < 2 {
        return;
    }
    states.sort_unstable();
    let mut overwritten = vec![false; states.len()];
    for (method, plan) in plans.iter().enumerate() {
        for value in named_values(plan) {
            let Some((buffer, start, end)) = plan.tensor(value).and_then(place) else { continue };
            let before = states.partition_point(|state| (state.place.0, state.place.1) < (buffer, end));
            let near = (0..before).rev().take(MAX_OVERLAPS);
            let near = near.filter(|index| states[*index].place.0 == buffer && states[*index].place.2 > start);
            let near: Vec<usize> = near.collect();
            // Views of a state of the method itself.
            let own = near.iter().map(|index| &states[*index]).find(|state| state.method == method);
            for index in near {
                let state = &states[index];
                let is_shared = own.is_some_and(|own| (own.place, own.name) == (state.place, state.name));
                if state.method == method || is_shared || core::mem::replace(&mut overwritten[index], true) {
                    continue;
                }
                let found = format!(
                    "bytes {} to {} of planned buffer {buffer} hold a state of method {}, and value {value} of method {} is there: \
                     a run of one destroys it for the other where all methods have the same planned memory, as in Python; export with \
                     `MemoryPlanningPass(share_mutable_buffers=True)`",
                    state.place.1,
                    state.place.2,
                    Name(plans[state.method].name()),
                    Name(plan.name()),
                );
                add(rule::STATE_OVERWRITTEN, state, &found, report);
            }
        }
    }
    shared(plans, &states, report);
}

/// Reports states that are meant to be the same in two methods: those with the same name, or without one, in the same place.
#[expect(clippy::indexing_slicing, reason = "states have indices of methods")]
fn shared(plans: &[ExecutionPlan<'_>], states: &[State<'_>], report: &mut Report<'_>) {
    let mut firsts: BTreeMap<(Option<&str>, Place), State<'_>> = BTreeMap::new();
    let mut reported: BTreeSet<(Option<&str>, Place)> = BTreeSet::new();
    for state in states {
        // A name is enough; without one, the place decides.
        let key = match state.name {
            Some(_) => (state.name, (0, 0, 0)),
            None => (None, state.place),
        };
        let first = *firsts.entry(key).or_insert(*state);
        if first.method == state.method || !reported.insert(key) {
            continue;
        }
        let name = state.name.map_or_else(|| "without a name".into(), |name| format!("{}", Name(name)));
        let (method, other) = (Name(plans[first.method].name()), Name(plans[state.method].name()));
        let found = match first.place == state.place {
            true => format!(
                "the state {name} of methods {method} and {other}: they share it only where all methods have the same planned memory, as in \
                 Python; create a `Module` with `share_memory_arenas`"
            ),
            false => format!(
                "the state {name} is at different places of planned memory in methods {method} and {other}: none sees what the other \
                 changed; export with `MemoryPlanningPass(share_mutable_buffers=True)`"
            ),
        };
        add(rule::SHARED_STATE, &first, &found, report);
    }
}

fn add(rule: &'static super::Rule, state: &State<'_>, found: &str, report: &mut Report<'_>) {
    let path = Path::ROOT.item("execution_plan", state.method);
    let path = path.item("values", state.value as usize);
    report.add(rule, &path.field("val.Tensor.allocation_info"), found);
}

/// Returns the place of a tensor with elements in planned memory.
fn place(tensor: &Tensor<'_>) -> Option<Place> {
    let (place, size) = (tensor.allocation_info?, tensor.byte_size().ok().filter(|size| *size > 0)?);
    Some((place.memory_id, place.memory_offset(), place.memory_offset().checked_add(size)?))
}

/// Returns the values that inputs, outputs and instructions name, in order, with the tensors in their lists.
fn named_values(plan: &ExecutionPlan<'_>) -> Vec<i32> {
    let mut named: Vec<i32> = [plan.inputs(), plan.outputs()].concat();
    for (_, instruction) in plan.instructions() {
        match instruction {
            InstructionArguments::KernelCall(call) => named.extend(call.args()),
            InstructionArguments::DelegateCall(call) => named.extend(call.args()),
            InstructionArguments::MoveCall(call) => named.extend([call.move_from, call.move_to]),
            _ => {}
        }
    }
    let mut named = set(named);
    let lists = named.iter().filter_map(|value| plan.value(*value)).map(|value: &_| &value.val);
    let inside: Vec<i32> = lists.filter_map(KernelTypes::tensors).flatten().copied().collect();
    named.extend(inside);
    set(named)
}
