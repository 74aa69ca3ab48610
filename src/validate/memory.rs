//! Rules about planned memory: tensors that are needed at the same time must not overlap.
//!
//! Memory planners let tensors share memory on purpose: one after the other, a result in its input's memory, a view in the
//! memory of its base. An overlap is an error only if writing one tensor overwrites another that is still to be read.

use super::report::Report;
use super::rule;
use crate::dataflow::{BEFORE, Calls, Dataflow, DelegateOutputs, Event, Kind, Overlap, are_apart, arguments};
use crate::keyed::sort;
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, Tensor, TensorShapeDynamism};
use alloc::{format, vec, vec::Vec};

pub(super) fn check(
    (method, plan): (usize, &ExecutionPlan<'_>),
    delegates: &DelegateOutputs,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    no_memory(plan, path, report);
    if plan.tensors().all(|(_, tensor)| tensor.allocation_info.is_none()) {
        return;
    }
    let calls = Calls::new(plan, method, delegates);
    let are_apart = are_apart(plan, &calls);
    // Builds with checks, which are those of tests, look nevertheless.
    if are_apart && !cfg!(debug_assertions) {
        return;
    }
    let flow = Dataflow::of_reads(plan, &calls);
    if let Some(unknown) = flow.unknown.iter().find(|unknown| unknown.time.is_none()) {
        report.add(rule::PLANNED_MEMORY_UNKNOWN, path, format_args!("{}: not all overlaps were checked", unknown.why));
    }
    let mut found = overwritten(&flow, plan.values().len());
    found.extend(in_one_call(&flow));
    // Each pair of values is reported once, at its first overlap.
    sort(&mut found);
    found.dedup_by_key(|found| (found.new, found.old));
    debug_assert!(!are_apart || found.is_empty(), "tensors that are apart do not overlap");
    for found in found {
        if let Some(overlap) = flow.overlap(found.new, found.old) {
            report_overlap(&found, &overlap, path, report);
        }
    }
}

/// Reports tensors that calls use, that have neither planned memory nor data, and to which a caller cannot give memory:
/// they are no inputs or outputs, and have no name by which a runner could find them.
fn no_memory(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let has = |tensor: &Tensor<'_>| {
        // No release gives a tensor without bounds memory before it runs: another rule reports it.
        tensor.allocation_info.is_some()
            || tensor.data_buffer_idx != 0
            || tensor.extra_tensor_info.is_some()
            || tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND
    };
    let mut without = plan.tensors().filter(|(_, tensor)| !has(tensor)).peekable();
    // Most programs have none.
    if without.peek().is_none() {
        return;
    }
    // Of each value, whether a call uses it, and whether somebody gives it memory.
    let mut marks = vec![(false, false); plan.values().len()];
    let mut mark = |value: &i32, used: bool| {
        if let Some((is_used, is_given)) = usize::try_from(*value).ok().and_then(|value| marks.get_mut(value)) {
            *(if used { is_used } else { is_given }) = true;
        }
    };
    plan.inputs().iter().chain(plan.outputs()).for_each(|value| mark(value, false));
    for (_, instruction) in plan.instructions() {
        arguments(instruction).iter().for_each(|value| mark(value, true));
        if let InstructionArguments::MoveCall(call) = instruction {
            mark(&call.move_to, false);
        }
    }
    for (index, tensor) in without {
        let needed = marks.get(index) == Some(&(true, false));
        if needed && tensor.byte_size().is_ok_and(|bytes| bytes > 0) {
            let found = format!("{} without planned memory or data, expected one of them", tensor.shape());
            report.add(rule::TENSOR_MEMORY, &path.item("values", index).field("val.Tensor"), found);
        }
    }
}

/// A value whose write overwrites another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    new: u32,
    old: u32,
    /// The time of the write.
    time: u32,
}

/// Finds reads of a value whose bytes were overwritten by another value since it was written.
fn overwritten(flow: &Dataflow, values: usize) -> Vec<Found> {
    // The first write of each value.
    let mut written: Vec<Option<u32>> = vec![None; values];
    for event in flow.events().iter().filter(|event| event.kind.writes() && !matches!(event.kind, Kind::View(_))) {
        if let Some(first) = written.get_mut(event.value as usize) {
            first.get_or_insert(event.time);
        }
    }
    let first_write = |value: u32| written.get(value as usize).copied().flatten();
    let mut found = Vec::new();
    for of_read in flow.sources.chunk_by(|one, other| one.read == other.read) {
        // A value that is moved in one of two branches has other bytes after each branch.
        let one_base = of_read
            .windows(2)
            .all(|pair| matches!(pair, [one, other] if one.view || other.view || one.base == other.base));
        for source in of_read.iter().filter(|source| one_base && !source.view && source.write != BEFORE) {
            let (Some(read), Some(write)) = (flow.event(source.read), flow.event(source.write)) else { continue };
            let (old, new) = (source.base, write.value);
            let before = first_write(old).is_some_and(|time| time <= write.time && time < read.time);
            let before = before && read.kind != Kind::Base;
            let Some(overlap) = flow.overlap(new, old).filter(|_| new != old && before) else { continue };
            // A call may work in place, return a view, or change a view in place.
            let call = flow.at(write.time as usize).1;
            let in_place = write.kind != Kind::Write && first_write(new) == Some(write.time);
            let named = write.time > 0 && names(call, old);
            if !(overlap.inside && (in_place || named || !write.certain)) {
                found.push(Found { new, old, time: write.time });
            }
        }
    }
    found
}

/// Whether a call uses a value. Also true if there are too many to search.
fn names(call: &[Event], value: u32) -> bool {
    const MOST: usize = 64;
    call.len() > MOST || call.iter().any(|event| event.value == value)
}

/// Finds a call that writes a value and reads or writes another one in some of the same bytes. If each has bytes that
/// the other does not have, it is neither a view nor a call in place.
fn in_one_call(flow: &Dataflow) -> Vec<Found> {
    const MOST: usize = 64;
    let mut found = Vec::new();
    for time in 0..=flow.end() {
        let (_, events) = flow.at(time);
        let writes = |event: &&Event| matches!(event.kind, Kind::Write | Kind::InPlace | Kind::Replace | Kind::Fill);
        for new in events.iter().filter(writes).take(MOST) {
            for old in events.iter().filter(|old| old.value != new.value).take(MOST) {
                // If both are written, the first is taken as the old one.
                let twice = writes(&old) && old.value > new.value;
                if !twice && flow.overlap(new.value, old.value).is_some_and(|overlap| !overlap.inside) {
                    found.push(Found { new: new.value, old: old.value, time: new.time });
                }
            }
        }
    }
    found
}

fn report_overlap(found: &Found, overlap: &Overlap, path: &Path<'_>, report: &mut Report<'_>) {
    let when = match found.time.checked_sub(1) {
        Some(instruction) => format!("instruction {instruction} writes to them"),
        None => "the inputs are set".into(),
    };
    let [(start, end), (old_start, old_end)] = overlap.bytes;
    let text = format!(
        "bytes {start} to {end} of planned buffer {} overlap bytes {old_start} to {old_end} of value {}, which is still needed when {when}",
        overlap.buffer, found.old
    );
    let path = path.item("values", found.new as usize);
    let path = path.field("val.Tensor");
    report.add(rule::PLANNED_MEMORY_OVERLAP, &path.field("allocation_info"), text);
}
