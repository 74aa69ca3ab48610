//! Removes the parts that a program does not need to run.

use super::change::check_references;
use super::report::{Action, Change, EditReport, Subject};
use crate::error::Result;
use crate::file::pte::Pte;
use crate::file::references::{DataList, tensors_mut};
use crate::schema::program::{DataLocation, ExtraTensorInfo};
use crate::setters::setters;
use crate::sorted;
use crate::write;
use crate::write::entries::{self, Entries};
use crate::write::options::PteOptions;
use alloc::{format, vec::Vec};

/// The parts to remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[non_exhaustive]
pub struct Strip {
    /// The Python source line of each instruction.
    pub stack_traces: bool,
    /// The names of constants in the file. The names of external tensors, by which the runtime looks up data, and of
    /// mutable tensors, which apps look up (`Method::get_attribute`), stay.
    pub names: bool,
    /// Constants, initial states, payloads and segments that nothing refers to.
    pub unreferenced: bool,
    /// Bytes between blobs that their alignment does not need, and bytes after the last blob.
    pub padding: bool,
}

setters! {
    Strip {
        ;
        stack_traces = with_stack_traces,
        names = with_names,
        unreferenced = with_unreferenced,
        padding = with_padding,
    }
}

impl Strip {
    /// All of these parts. Removing them does not change what the model computes.
    pub const ALL: Self = Self { stack_traces: true, names: true, unreferenced: true, padding: true };
}

pub(super) fn strip(pte: &mut Pte<'_>, what: &Strip) -> Result<EditReport> {
    let (mut stripped, mut report) = laid_out(pte, what)?;
    if report.changes.is_empty() && !what.padding {
        return Ok(report);
    }
    let is_metadata = |change: &Change| matches!(change.subject, Subject::StackTraces | Subject::Names);
    if !report.changes.is_empty() && report.changes.iter().all(is_metadata) {
        // No unreferenced data was removed that could be kept instead.
        *pte = stripped;
        return Ok(report);
    }
    let before = pte.image()?.size();
    let mut after = stripped.image()?.size();
    if what.unreferenced && after > before && !report.changes.is_empty() {
        let grown = after - before;
        (stripped, report) = laid_out(pte, &Strip { unreferenced: false, ..*what })?;
        after = stripped.image()?.size();
        report.notes.push(format!(
            "unreferenced data stays: without it the file would be {grown} bytes larger, because of the new layout"
        ));
    }
    if report.changes.is_empty() {
        // There was nothing to remove, or all of it stays.
        if !what.padding || after >= before {
            return Ok(report);
        }
        // Nothing else was removed, so the difference is padding.
        report.add(Action::Removed, Subject::Padding, "", Vec::new(), [before - after, 0]);
    }
    *pte = stripped;
    Ok(report)
}

/// Returns a copy without the parts to remove, which is laid out again if there are any.
fn laid_out<'a>(pte: &Pte<'a>, what: &Strip) -> Result<(Pte<'a>, EditReport)> {
    let (stripped, report) = without(pte, what)?;
    if report.changes.is_empty() && !what.padding {
        return Ok((stripped, report));
    }
    Ok((stripped.lay_out(&layout(pte, what)?)?, report))
}

/// Returns the layout of the file, without padding if it is to be removed.
pub(super) fn layout(pte: &Pte<'_>, what: &Strip) -> Result<PteOptions> {
    let options = PteOptions::of(pte)?;
    let constant_alignment = what.padding.then(|| entries::alignment(pte, DataList::Constants));
    Ok(PteOptions { constant_alignment: constant_alignment.or(options.constant_alignment), ..options })
}

/// Returns a copy without the parts to remove, which is not laid out.
pub(super) fn without<'a>(pte: &Pte<'a>, what: &Strip) -> Result<(Pte<'a>, EditReport)> {
    check_references(pte)?;
    let mut report = EditReport::default();
    let mut stripped = pte.clone();
    if what.stack_traces {
        strip_stack_traces(&mut stripped, &mut report);
    }
    if what.names {
        strip_names(&mut stripped, &mut report);
    }
    if what.unreferenced {
        strip_unreferenced(&mut stripped, &mut report)?;
    }
    Ok((stripped, report))
}

fn strip_stack_traces(pte: &mut Pte<'_>, report: &mut EditReport) {
    for plan in pte.program.execution_plan.as_deref_mut().unwrap_or_default() {
        let mut frames = 0;
        for chain in plan.chains.as_deref_mut().unwrap_or_default() {
            let traces = chain.stacktrace.take().unwrap_or_default();
            frames += traces.iter().map(|trace| trace.items().len()).sum::<usize>();
        }
        if frames > 0 {
            report.add(Action::Removed, Subject::StackTraces, plan.name(), Vec::new(), [0, 0]);
            report.notes.push(format!("{} had stack traces of {frames} frames", plan.name()));
        }
    }
}

fn strip_names(pte: &mut Pte<'_>, report: &mut EditReport) {
    let (mut names, mut bytes) = (0, 0u64);
    for tensor in tensors_mut(&mut pte.program) {
        // Callers provide the memory of a tensor with neither data nor planned memory by its name.
        if DataList::of(tensor) != Some(DataList::Constants) {
            continue;
        }
        let Some(extra) = tensor.extra_tensor_info.as_deref_mut() else { continue };
        if let Some(name) = extra.fully_qualified_name.take() {
            names += 1;
            bytes = bytes.saturating_add(name.len() as u64);
        }
        if *extra == ExtraTensorInfo::default() {
            tensor.extra_tensor_info = None;
        }
    }
    if names > 0 {
        report.add(Action::Removed, Subject::Names, "", Vec::new(), [bytes, 0]);
    }
}

fn strip_unreferenced(pte: &mut Pte<'_>, report: &mut EditReport) -> Result<()> {
    for list in DataList::ALL {
        let (entries, used) = (Entries::of(pte, list)?, used_entries(pte, list));
        let unused =
            (1..=entries.at.len() as u32).filter(|index| used.binary_search(index).is_err()).collect::<Vec<_>>();
        remove_entries(pte, list, entries, &unused, report)?;
    }
    remove_payloads(pte, &[], report);
    let users = pte.segment_users();
    let unused = |index: usize| users.get(index) == Some(&0);
    let sizes: Vec<u64> = pte.program.segments().iter().map(|segment| segment.size).collect();
    for (_, size) in sizes.iter().enumerate().filter(|(index, _)| unused(*index)) {
        report.add(Action::Removed, Subject::Segment, "", Vec::new(), [*size, 0]);
    }
    if (0..users.len()).any(unused) {
        write::segments::remove(pte, &unused);
    }
    Ok(())
}

/// Returns the entries of a list that tensors refer to, sorted.
pub(super) fn used_entries(pte: &Pte<'_>, list: DataList) -> Vec<u32> {
    let mut used = Vec::new();
    for plan in pte.methods() {
        for (_, tensor) in plan.tensors() {
            if DataList::of(tensor) == Some(list) {
                used.push(tensor.data_buffer_idx);
            }
        }
    }
    sorted::set(used)
}

/// Removes entries of a list that no tensor refers to any longer. `entries` were used before.
pub(super) fn remove_entries<'a>(
    pte: &mut Pte<'a>,
    list: DataList,
    mut entries: Entries<'a>,
    gone: &[u32],
    report: &mut EditReport,
) -> Result<()> {
    for index in gone {
        let size = entries.bytes(*index).map_or(0, |bytes| bytes.len() as u64);
        report.add(Action::Removed, list.into(), "", Vec::new(), [size, 0]);
        entries.remove(*index);
    }
    match gone {
        [] => Ok(()),
        _ => entries.put(pte, list, entries::alignment(pte, list).into()),
    }
}

/// Removes inline payloads that no delegate refers to, except those at the indices in `stay`.
pub(super) fn remove_payloads(pte: &mut Pte<'_>, stay: &[u32], report: &mut EditReport) {
    let inline = pte.payloads().into_iter().filter(|payload| payload.location == DataLocation::INLINE);
    let used = sorted::set(inline.map(|payload| payload.index).chain(stay.iter().copied()).collect::<Vec<u32>>());
    let payloads = pte.program.backend_delegate_data();
    let gone: Vec<u64> = (0u32..)
        .zip(payloads)
        .filter(|(index, _)| used.binary_search(index).is_err())
        .map(|(_, payload)| payload.data().len() as u64)
        .collect();
    if gone.is_empty() {
        return;
    }
    for size in gone {
        report.add(Action::Removed, Subject::Payload, "", Vec::new(), [size, 0]);
    }
    write::segments::remove_inline_payloads(pte, &|index| used.binary_search(&index).is_err());
}
