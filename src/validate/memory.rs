//! Rules about planned memory: tensors that are needed at the same time must not overlap.
//!
//! Memory planners let tensors share memory on purpose: one after the other, a result in its input's memory, a view in the
//! memory of its base. An overlap is an error only if writing one tensor overwrites another that is still to be read.

use super::report::Report;
use super::rule;
use crate::liveness::{Life, Overwrites, liveness, uses};
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, TensorShapeDynamism};
use alloc::{collections::BTreeMap, format, vec, vec::Vec};

/// The memory of a tensor while the tensor is needed.
#[derive(Clone, Copy)]
struct Region {
    buffer: u32,
    start: u64,
    end: u64,
    life: Life,
}

pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    no_memory(plan, path, report);
    let ranges = ranges(plan);
    if ranges.iter().all(Option::is_none) {
        return;
    }
    let known = liveness(plan);
    if let Some(why) = known.unknown {
        report.add(rule::PLANNED_MEMORY_UNKNOWN, path, format_args!("{why}"));
    }
    let region = |life: &Life| {
        let (buffer, start, end) = ranges.get(life.value).copied().flatten()?;
        Some(Region { buffer, start, end, life: *life })
    };
    let mut regions: Vec<_> = known.lives.iter().filter_map(region).collect();
    regions.sort_unstable_by_key(|region| (region.buffer, region.life.first, region.start, region.life.value));
    let chains = plan.chains().iter();
    let instructions = chains.flat_map(|chain| chain.instructions().iter()).map(|one| &one.instr_args);
    let method = Method { plan, instructions: instructions.collect() };
    for regions in regions.chunk_by(|left, right| left.buffer == right.buffer) {
        buffer(&method, regions, path, report);
    }
}

/// Tensors that calls use and that have neither planned memory nor data, and that nobody can give any: they are no inputs or outputs,
/// and have no name by which a runner could find them.
fn no_memory(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (mut used, mut given): (Vec<i32>, Vec<i32>) = Default::default();
    given.extend(plan.inputs().iter().chain(plan.outputs()));
    for instruction in plan.chains().iter().flat_map(|chain| chain.instructions()) {
        match &instruction.instr_args {
            InstructionArguments::KernelCall(call) => used.extend(call.args()),
            InstructionArguments::DelegateCall(call) => used.extend(call.args()),
            InstructionArguments::MoveCall(call) => given.push(call.move_to),
            _ => (),
        }
    }
    given.sort_unstable();
    used.sort_unstable();
    used.dedup();
    for (index, tensor) in plan.tensors() {
        // Which no release gives memory before it runs, and which is a finding of its own.
        if tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND {
            continue;
        }
        let has = tensor.allocation_info.is_some() || tensor.data_buffer_idx != 0 || tensor.extra_tensor_info.is_some();
        let is_in = |list: &[i32]| i32::try_from(index).is_ok_and(|index| list.binary_search(&index).is_ok());
        if !has && is_in(&used) && !is_in(&given) && tensor.byte_size().is_ok_and(|bytes| bytes > 0) {
            let found = format!("{} without planned memory or data, expected one of them", tensor.shape());
            report.add(rule::TENSOR_MEMORY, &path.item("values", index).field("val.Tensor"), found);
        }
    }
}

/// What is needed to find out whether a call works in place.
struct Method<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    /// Of all chains, in order.
    instructions: Vec<&'t InstructionArguments<'a>>,
}

/// For each value: its planned buffer, and its start and end there. `None` if it is not in planned memory or is empty.
fn ranges(plan: &ExecutionPlan<'_>) -> Vec<Option<(u32, u64, u64)>> {
    let mut ranges = vec![None; plan.values().len()];
    for (index, tensor) in plan.tensors() {
        let bytes = tensor.byte_size().unwrap_or(0);
        if let (Some(allocation), 1.., Some(range)) = (tensor.allocation_info, bytes, ranges.get_mut(index)) {
            let start = allocation.memory_offset();
            *range = start.checked_add(bytes).map(|end| (allocation.memory_id, start, end));
        }
    }
    ranges
}

/// One pass over the regions of a buffer, ordered by time. `active` holds the regions needed at the moment, by their start.
/// They do not overlap, so a new region only has to be compared with its neighbours.
fn buffer(method: &Method<'_, '_>, regions: &[Region], path: &Path<'_>, report: &mut Report<'_>) {
    /// The most regions covered by a new one that are compared with it, so that the time stays linear.
    const MOST: usize = 64;
    let mut active: BTreeMap<u64, Region> = BTreeMap::new();
    let mut ends: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for new in regions {
        // Remove regions that are not needed any more.
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
            if is_overwritten(method, new, old) {
                report_overlap(new, old, path, report);
                keep = false;
            }
            // Keep one of the two: the larger one, or of two equal ones the one that is needed longer.
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

impl Region {
    fn covers(&self, other: &Region) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Whether writing `new` overwrites `old`, which is still needed then. Their memory overlaps.
fn is_overwritten(method: &Method<'_, '_>, new: &Region, old: &Region) -> bool {
    if !new.covers(old) && !old.covers(new) {
        // Neither a view nor a call in place looks like this.
        let together = new.life.first == old.life.first && old.life.overwrites != Overwrites::No;
        return together || new.life.overwrites != Overwrites::No;
    }
    // The call may work in place, or its result may be a view.
    let call = new.life.first.checked_sub(1).and_then(|time| method.instructions.get(time));
    let one_call = call.is_some_and(|call| uses(method.plan, call, old.life.value));
    new.life.overwrites == Overwrites::Yes && new.life.first < old.life.last && !one_call
}

fn report_overlap(new: &Region, old: &Region, path: &Path<'_>, report: &mut Report<'_>) {
    let when = match new.life.first.checked_sub(1) {
        Some(instruction) => format!("instruction {instruction} writes to them"),
        None => "the inputs are set".into(),
    };
    let found = format!(
        "bytes {} to {} of planned buffer {} overlap bytes {} to {} of value {}, which is still needed when {when}",
        new.start, new.end, new.buffer, old.start, old.end, old.life.value
    );
    let path = path.item("values", new.life.value);
    let path = path.field("val.Tensor");
    report.add(rule::PLANNED_MEMORY_OVERLAP, &path.field("allocation_info"), found);
}
