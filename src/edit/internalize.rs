//! Moves data from `.ptd` files into a program.

use super::change::change;
use super::constants;
use super::externalize::{default_key, key_of_method};
use super::keys;
use super::new_data::NewData;
use super::payload_keys;
use super::report::{Action, EditReport, Subject, User};
use super::segments;
use crate::delegate::NamedBlobs;
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::references::{DataList, tensor_mut};
use crate::names::shortened;
use crate::schema::flat_tensor::TensorLayout;
use crate::schema::program::{ExecutionPlan, ExtraTensorInfo, NamedData, Tensor, TensorDataLocation};
use crate::verify::{Level, Severity};
use crate::write::entries::{self, Entries};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{borrow::Cow, format, vec::Vec};

/// The location of a key: the indices of the file and of its entry.
type EntryPlace = (usize, usize);

/// The tensors that use each key, as constants or as initial states.
type Groups = BTreeMap<(DataList, EntryPlace), Vec<(usize, usize)>>;

/// The file and location of bytes: tensors that share bytes still share them afterwards.
type Origin = (usize, u32, u64, usize);

pub(super) fn internalize<'a>(
    pte: &mut Pte<'a>,
    data: &[Ptd<'a>],
    mut choose: impl FnMut(&str) -> bool,
) -> Result<EditReport> {
    check_pair(pte, data)?;
    let mut report = EditReport::default();
    let mut keys = BTreeMap::new();
    let mut rest = Vec::new();
    for (file, ptd) in data.iter().enumerate() {
        for (index, entry) in ptd.entries().enumerate() {
            keys.insert(entry.key(), (file, index));
            rest.push((entry.key(), (file, index)));
        }
    }
    let mut groups = Groups::new();
    let (mut named, mut made_up) = (BTreeMap::new(), BTreeSet::new());
    for (method, plan) in pte.methods().iter().enumerate() {
        for (value, tensor) in plan.tensors().filter(|(_, tensor)| tensor.is_external()) {
            let name = tensor.fully_qualified_name().unwrap_or_default();
            let Some(place) = keys.get(name).filter(|_| choose(name)) else {
                named.insert(name, false);
                continue;
            };
            named.insert(name, true);
            if is_made_up(name, plan, value) {
                made_up.insert(*place);
            }
            let list = if tensor.allocation_info.is_some() { DataList::InitialStates } else { DataList::Constants };
            groups.entry((list, *place)).or_default().push((method, value));
        }
    }
    rest.retain(|(key, _)| !named.contains_key(key));
    let delegates = pte.methods().iter().any(|plan| !plan.delegates().is_empty());
    let left = rest.len();
    rest.retain(|(key, _)| delegates && choose(key));
    if let Some(left @ 1..) = left.checked_sub(rest.len()) {
        let keys = if left == 1 { "key is" } else { "keys are" };
        report
            .notes
            .push(format!("{left} {keys} not moved: nothing in the program names them, or they were not chosen"));
    }
    let rest: Vec<EntryPlace> = rest.into_iter().map(|(_, place)| place).collect();
    let sources = data.iter().map(keys::take_entries).collect::<Result<Vec<_>>>()?;
    change(pte, |pte| {
        take_tensors(pte, data, &sources, &groups, &made_up, &mut report)?;
        take_named(pte, &sources, &rest, &mut report);
        Ok(())
    })?;
    Ok(report)
}

fn check_pair<'a>(pte: &Pte<'a>, data: &[Ptd<'a>]) -> Result<()> {
    check_constants(pte, data)?;
    let findings = pte.verify_with(data, Level::Strict);
    let external = pte.methods().iter().any(|plan| plan.tensors().any(|(_, tensor)| tensor.is_external()));
    match findings.iter().find(|finding| finding.severity == Severity::Error || (data.is_empty() && external)) {
        Some(finding) => Err(Error::reference(format!("{}: {}", finding.path, finding.message))),
        None => Ok(()),
    }
}

/// Fails if a tensor has the key of a constant of XNNPACK with another type or other sizes.
fn check_constants(pte: &Pte<'_>, data: &[Ptd<'_>]) -> Result<()> {
    let keys = payload_keys::of_xnnpack(pte);
    if keys.is_empty() {
        return Ok(());
    }
    let (payloads, blobs) = (pte.open_payloads(), NamedBlobs::new(pte, data));
    for ptd in data {
        for entry in ptd.entries().filter(|entry| keys.contains(entry.key())) {
            let layout = entry.shape.map(TensorLayout::from);
            let new = NewData::bytes("the .ptd", &[][..]).with_tensor_layout(layout);
            constants::check_in(&payloads, &blobs, entry.key(), &new)?;
        }
    }
    Ok(())
}

#[expect(clippy::indexing_slicing, reason = "a place has the index of a file, and of an entry in it")]
fn take_tensors<'a>(
    pte: &mut Pte<'a>,
    data: &[Ptd<'a>],
    sources: &[Vec<keys::Source<'a>>],
    groups: &Groups,
    made_up: &BTreeSet<EntryPlace>,
    report: &mut EditReport,
) -> Result<()> {
    for list in DataList::ALL {
        let alignment = entries::alignment(pte, list);
        let mut entries = Entries::of(pte, list)?;
        let mut stored = BTreeMap::<Origin, u32>::new();
        let mut indices = Vec::new();
        for ((of, (file, index)), tensors) in groups.iter() {
            if *of != list {
                continue;
            }
            let (ptd, source) = (&data[*file], &sources[*file][*index]);
            // The check of the pair has compared the shapes; this checks the number of bytes.
            ptd.entry(*index).map(|entry| ptd.tensor_view(&entry)).transpose()?;
            let origin = (*file, source.segment_index, source.offset, source.entry.bytes.len());
            let data_buffer_idx = *stored.entry(origin).or_insert_with(|| entries.add(source.entry.bytes.clone()));
            indices.push((data_buffer_idx, tensors, made_up.contains(&(*file, *index))));
            let users = tensors.iter().map(|(method, value)| user(pte, *method, *value)).collect();
            let size = source.entry.bytes.len() as u64;
            report.add(Action::Internalized, list.into(), source.entry.key.as_str(), users, [0, size]);
        }
        if indices.is_empty() {
            continue;
        }
        for (data_buffer_idx, tensors, made_up) in indices {
            for (method, value) in tensors {
                if let Some(tensor) = tensor_mut(&mut pte.program, *method, *value) {
                    make_internal(tensor, data_buffer_idx, made_up);
                }
            }
        }
        entries.put(pte, list, alignment.into())?;
    }
    Ok(())
}

#[expect(clippy::indexing_slicing, reason = "the methods were counted in this program")]
fn user(pte: &Pte<'_>, method: usize, value: usize) -> User {
    User::Value { method: shortened(pte.methods()[method].name()).into(), value }
}

#[expect(clippy::indexing_slicing, reason = "a place has the index of a file, and of an entry in it")]
fn take_named<'a>(pte: &mut Pte<'a>, sources: &[Vec<keys::Source<'a>>], rest: &[EntryPlace], report: &mut EditReport) {
    let mut stored = BTreeMap::new();
    for (file, index) in rest {
        let source = &sources[*file][*index];
        let (key, bytes) = (source.entry.key.clone(), Cow::clone(&source.entry.bytes));
        let size = bytes.len() as u64;
        let segment_index = *stored.entry((*file, source.segment_index, source.offset)).or_insert_with(|| {
            let index = pte.add_segment(bytes);
            segments::set_alignment(pte, index, source.entry.alignment.into());
            index
        });
        report.add(Action::Internalized, Subject::NamedData, key.as_str(), Vec::new(), [0, size]);
        pte.program.named_data.get_or_insert_default().push(NamedData { key: Some(key), segment_index });
    }
}

/// Returns `true` if [`Pte::externalize`] generated the key, in the current form or in the earlier form without leading zeros.
fn is_made_up(key: &str, plan: &ExecutionPlan<'_>, value: usize) -> bool {
    *key == default_key(plan, value) || *key == format!("{}.{value}", key_of_method(plan.name()))
}

fn make_internal(tensor: &mut Tensor<'_>, data_buffer_idx: u32, made_up: bool) {
    tensor.data_buffer_idx = data_buffer_idx;
    let Some(extra) = tensor.extra_tensor_info.as_deref_mut() else { return };
    extra.location = TensorDataLocation::SEGMENT;
    // Initial states come from list 0.
    extra.mutable_data_segments_idx = 0;
    if made_up {
        extra.fully_qualified_name = None;
    }
    if *extra == ExtraTensorInfo::default() {
        tensor.extra_tensor_info = None;
    }
}
