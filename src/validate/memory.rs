//! Rules about planned memory: tensors that are needed at the same time do not overlap.
//!
//! Planners let tensors share memory on purpose: one after the other, a result in the place of its input, a view in the
//! place of what it views. So what is a fault is one tensor's memory being overwritten while another, whose memory it
//! is too, is still to be read.

use super::liveness::{Life, Overwrites, liveness, mentions};
use super::report::Report;
use super::rule;
use crate::path::Path;
use crate::schema::program::{EValue, ExecutionPlan, InstructionArguments};
use alloc::{collections::BTreeMap, format, vec, vec::Vec};

/// A tensor's memory while it is needed.
#[derive(Clone, Copy)]
struct Place {
    buffer: u32,
    start: u64,
    end: u64,
    life: Life,
}

pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if !report.is_strict() {
        return;
    }
    let ranges = ranges(plan);
    if ranges.iter().all(Option::is_none) {
        return;
    }
    let known = liveness(plan);
    if let Some(why) = known.unknown {
        report.add(rule::PLANNED_MEMORY_UNKNOWN, path, format_args!("{why}"));
    }
    let place = |life: &Life| {
        let (buffer, start, end) = ranges.get(life.value).copied().flatten()?;
        Some(Place { buffer, start, end, life: *life })
    };
    let mut places: Vec<_> = known.lives.iter().filter_map(place).collect();
    places.sort_unstable_by_key(|place| (place.buffer, place.life.first, place.start, place.life.value));
    let chains = plan.chains().iter();
    let instructions = chains.flat_map(|chain| chain.instructions().iter()).map(|one| &one.instr_args);
    let method = Method { values: plan.values(), instructions: instructions.collect() };
    for places in places.chunk_by(|left, right| left.buffer == right.buffer) {
        buffer(&method, places, path, report);
    }
}

/// What tells whether a call works in place.
struct Method<'t, 'a> {
    values: &'t [EValue<'a>],
    /// Of all chains, in order.
    instructions: Vec<&'t InstructionArguments<'a>>,
}

/// For each value, its buffer and its first byte and end there, if it is in planned memory and has bytes.
fn ranges(plan: &ExecutionPlan<'_>) -> Vec<Option<(u32, u64, u64)>> {
    let mut ranges = vec![None; plan.values().len()];
    for (index, tensor) in plan.tensors() {
        let bytes = tensor.byte_size().unwrap_or(0);
        if let (Some(place), 1.., Some(range)) = (tensor.allocation_info, bytes, ranges.get_mut(index)) {
            let start = place.memory_offset();
            *range = start.checked_add(bytes).map(|end| (place.memory_id, start, end));
        }
    }
    ranges
}

/// One pass over the places of a buffer by time. Those that are needed at the moment are kept by their first byte, and
/// do not overlap, so the neighbours of a new one tell.
fn buffer(method: &Method<'_, '_>, places: &[Place], path: &Path<'_>, report: &mut Report<'_>) {
    /// Of those that a new one covers, no more are looked at: there may be as many each time.
    const MOST: usize = 64;
    let mut active: BTreeMap<u64, Place> = BTreeMap::new();
    let mut ends: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for new in places {
        // What was last needed before now is needed no longer.
        while let Some(entry) = ends.first_entry().filter(|entry| *entry.key() < new.life.first) {
            for start in entry.remove() {
                if active.get(&start).is_some_and(|old| old.life.last < new.life.first) {
                    active.remove(&start);
                }
            }
        }
        let mut covered = Vec::new();
        let mut keep = true;
        let before = active.range(..new.start).next_back().filter(|(_, old)| old.end > new.start);
        for (start, old) in before.into_iter().chain(active.range(new.start..new.end)) {
            if is_fault(method, new, old) {
                accuse(new, old, path, report);
                keep = false;
            }
            // One stays for both: the larger one, and of two equal ones the one that is needed longer.
            let equal = (new.start, new.end) == (old.start, old.end);
            if !keep || covered.len() == MOST || !new.covers(old) || (equal && new.life.last < old.life.last) {
                keep = false;
                break;
            }
            covered.push(*start);
        }
        if keep {
            covered.iter().for_each(|start| {
                active.remove(start);
            });
            active.insert(new.start, *new);
            ends.entry(new.life.last).or_default().push(new.start);
        }
    }
}

impl Place {
    fn covers(&self, other: &Place) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Whether `new`, which starts to be needed while `old` is needed, spoils it. Their memory overlaps.
fn is_fault(method: &Method<'_, '_>, new: &Place, old: &Place) -> bool {
    if !new.covers(old) && !old.covers(new) {
        // No view and no work in place looks like this.
        let together = new.life.first == old.life.first && old.life.overwrites != Overwrites::No;
        return together || new.life.overwrites != Overwrites::No;
    }
    // The call may work in place, or its result be a view.
    let call = new.life.first.checked_sub(1).and_then(|time| method.instructions.get(time));
    let one_call = call.is_some_and(|call| mentions(method.values, call, old.life.value));
    new.life.overwrites == Overwrites::Yes && new.life.first < old.life.last && !one_call
}

fn accuse(new: &Place, old: &Place, path: &Path<'_>, report: &mut Report<'_>) {
    let when = match new.life.first.checked_sub(1) {
        Some(instruction) => format!("instruction {instruction} writes here"),
        None => "the inputs are given".into(),
    };
    let found = format!(
        "bytes {} to {} of planned buffer {}: value {} has {} to {} there, and is still needed when {when}",
        new.start, new.end, new.buffer, old.life.value, old.start, old.end
    );
    let path = path.item("values", new.life.value);
    let path = path.field("val.Tensor");
    report.add(rule::PLANNED_MEMORY_OVERLAP, &path.field("allocation_info"), found);
}
