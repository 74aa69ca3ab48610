//! Removes some of a program's methods.

use super::change::change;
use super::metadata::METADATA_PREFIX;
use super::payload_keys;
use super::payload_keys::PayloadKeys;
use super::report::{Action, EditReport, Subject};
use super::segments;
use super::strip;
use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::file::references::DataList;
use crate::schema::program::DataLocation;
use crate::sorted::set;
use crate::write::entries::Entries;
use alloc::{format, string::String, vec::Vec};

#[expect(clippy::indexing_slicing, reason = "the indices of named data were counted in this program")]
pub(super) fn select(pte: &mut Pte<'_>, kept: &[bool]) -> Result<EditReport> {
    let mut report = EditReport::default();
    if !kept.contains(&true) {
        return Err(Error::unwritable("no method would be left"));
    }
    if !kept.contains(&false) {
        return Ok(report);
    }
    let stays = |method: usize| kept.get(method) == Some(&true);
    let named = only_named_by(pte, &|method| !stays(method), &stays, &mut report.notes);
    change(pte, |pte| {
        let before = DataList::ALL.map(|list| strip::used_entries(pte, list));
        let sizes = DataList::ALL.map(|list| Entries::of(pte, list));
        let segments = pte.segment_users();
        let inline = pte.payloads().into_iter().filter(|payload| payload.location == DataLocation::INLINE);
        let inline = set(inline.map(|payload| payload.index).collect());
        // Payloads that were already unused stay.
        let payloads = 0..pte.program.backend_delegate_data().len() as u32;
        let unused = payloads.filter(|index| inline.binary_search(index).is_err());
        let unused: Vec<u32> = unused.collect();

        for (plan, kept) in pte.methods().iter().zip(kept) {
            if !kept {
                report.add(Action::Removed, Subject::Method, plan.name(), Vec::new(), [0, 0]);
            }
        }
        let mut kept = kept.iter();
        pte.program.execution_plan.get_or_insert_default().retain(|_| kept.next() == Some(&true));

        for ((list, before), entries) in DataList::ALL.into_iter().zip(before).zip(sizes) {
            let after = strip::used_entries(pte, list);
            let gone: Vec<u32> = before.into_iter().filter(|index| after.binary_search(index).is_err()).collect();
            strip::remove_entries(pte, list, entries?, &gone, &mut report)?;
        }
        strip::remove_payloads(pte, &unused, &mut report);
        let after = pte.segment_users();
        for ((before, after), segment) in segments.iter().zip(&after).zip(pte.program.segments()) {
            if *before > 0 && *after == 0 {
                report.add(Action::Removed, Subject::Payload, "", Vec::new(), [segment.size, 0]);
            }
        }
        for index in &named {
            let named = &pte.named_data()[*index];
            let size = pte.named_data_ref(named)?.size();
            report.add(Action::Removed, Subject::NamedData, named.key(), Vec::new(), [size, 0]);
        }
        segments::remove_unused(pte, &segments);
        segments::remove_named_data(pte, &named);
        Ok(())
    })?;
    Ok(report)
}

/// Returns the indices of named data that only payloads of removed methods refer to.
fn only_named_by(
    pte: &Pte<'_>,
    goes: &dyn Fn(usize) -> bool,
    stays: &dyn Fn(usize) -> bool,
    notes: &mut Vec<String>,
) -> Vec<usize> {
    let mut named = Vec::new();
    for (index, entry) in pte.named_data().iter().enumerate() {
        if !entry.key().starts_with(METADATA_PREFIX) {
            named.push((index, entry.key()));
        }
    }
    if named.is_empty() {
        return Vec::new();
    }
    let payloads = pte.open_payloads();
    let (gone, kept) =
        (payload_keys::of_methods(pte, &payloads, goes), payload_keys::of_methods(pte, &payloads, stays));
    let unknown = |keys: &PayloadKeys| keys.unknown.iter().cloned().collect::<Vec<_>>().join(", ");
    if !kept.unknown.is_empty() {
        let ids = unknown(&kept);
        notes.push(format!("all named data stays: payloads of {ids} do not say which keys they look up"));
        return Vec::new();
    }
    if !gone.unknown.is_empty() {
        let ids = unknown(&gone);
        notes.push(format!("named data that only payloads of {ids} look up stays: they do not say which keys"));
    }
    let mut only = Vec::new();
    for (index, key) in named {
        if gone.named.contains(key) && !kept.named.contains(key) {
            only.push(index);
        }
    }
    only
}
