//! Replaces the bytes of a blob.

use super::change::{change, change_ptd};
use super::new_data::{NewData, Selector};
use super::payload_keys;
use super::report::{EditReport, Subject, User};
use super::segments;
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::references::{DataList, DataUser, tensor_mut};
use crate::file::segment::{DataRef, Segment};
use crate::schema::DataSegment;
use crate::write::alignment;
use crate::write::entries::{self, Entries};
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::ops::Range;

/// The note about named data that keeps its key.
const SAME_KEY: &str = "a delegate may cache what it made of named data by its key: a process or cache that has seen the old content may \
                        go on with that";

/// A blob that gets new bytes.
struct Blob<'a> {
    /// A reference to the old bytes.
    data: DataRef,
    subject: Subject,
    name: String,
    /// The users that get the new bytes.
    users: Vec<User>,
    /// The tensors among the users, as indices of the method and the value.
    tensors: Vec<(usize, usize)>,
    /// The indices of the named data among the users.
    named: Vec<usize>,
    /// The users that share the old bytes and keep them.
    others: Vec<User>,
    bytes: Cow<'a, [u8]>,
}

pub(super) fn replace<'a>(pte: &mut Pte<'a>, target: &Selector<'_>, new: &NewData<'a>) -> Result<EditReport> {
    let mut report = EditReport::default();
    let mut blobs: Vec<Blob<'a>> = Vec::new();
    let mut keys = Vec::new();
    for data in data_of(pte, target)? {
        if blobs.iter().any(|other| other.data == data) {
            continue;
        }
        let mut blob = checked(pte, data, target, new)?;
        let size = blob.bytes.len() as u64;
        if let Some((old, key)) = new_key(pte, &blob, new)? {
            report
                .notes
                .push(format!("the key is now {key}, in the payloads of XNNPACK too; it was {}", old.join(", ")));
            blob.users.retain(|user| !matches!(user, User::Key { key } if old.contains(key)));
            blob.users.insert(0, User::Key { key: key.clone() });
            blob.name.clone_from(&key);
            keys.push((old, key));
        } else if blob.subject == Subject::NamedData {
            report.notes.push(SAME_KEY.into());
        }
        let users = [blob.users.clone(), blob.others.clone()];
        report.add_replaced(blob.subject, &blob.name, users, [data.size(), size]);
        blobs.push(blob);
    }
    let fits = |blob: &Blob<'a>| blob.others.is_empty() && blob.data.size() == blob.bytes.len() as u64;
    if keys.is_empty() && blobs.iter().all(fits) {
        for blob in blobs {
            segments::overwrite(pte, &blob.data, blob.bytes);
        }
        return Ok(report);
    }
    change(pte, |pte| {
        // Blobs that stay in place come first, because the others move segments.
        let (apart, whole): (Vec<_>, Vec<_>) = blobs.into_iter().partition(|blob| !blob.others.is_empty());
        for blob in whole {
            segments::overwrite(pte, &blob.data, blob.bytes);
        }
        apart.iter().try_for_each(|blob| separate(pte, blob))?;
        keys.iter().try_for_each(|(old, key)| payload_keys::change(pte, old, key))
    })?;
    Ok(report)
}

/// Gives the selected users separate new bytes.
#[expect(clippy::indexing_slicing, reason = "the named data has this blob, in a segment of the table")]
fn separate<'a>(pte: &mut Pte<'a>, blob: &Blob<'a>) -> Result<()> {
    for list in DataList::ALL {
        let tensor = |(method, value): &(usize, usize)| pte.methods().get(*method)?.tensor(*value);
        let of_list = |place: &&(usize, usize)| tensor(place).and_then(DataList::of) == Some(list);
        let tensors: Vec<(usize, usize)> = blob.tensors.iter().filter(of_list).copied().collect();
        if !tensors.is_empty() {
            separate_entry(pte, list, &tensors, blob.bytes.clone())?;
        }
    }
    let before = pte.segment_users();
    for index in &blob.named {
        let old = pte.named_data()[*index].segment_index;
        let alignment = alignment::kept(pte.program.segments())[old as usize];
        let segment_index = pte.add_segment(blob.bytes.clone());
        segments::set_alignment(pte, segment_index, alignment);
        pte.program.named_data.get_or_insert_default()[*index].segment_index = segment_index;
    }
    segments::remove_unused(pte, &before);
    Ok(())
}

/// Gives tensors a separate entry in their list.
fn separate_entry<'a>(
    pte: &mut Pte<'a>,
    list: DataList,
    tensors: &[(usize, usize)],
    bytes: Cow<'a, [u8]>,
) -> Result<()> {
    let mut entries = Entries::of(pte, list)?;
    entries.blobs.push(bytes);
    let blob = entries.blobs.len() - 1;
    let mut others = Vec::new();
    for (method, plan) in pte.methods().iter().enumerate() {
        for (value, tensor) in plan.tensors() {
            if DataList::of(tensor) == Some(list) && !tensors.contains(&(method, value)) {
                others.push(tensor.data_buffer_idx);
            }
        }
    }
    let mut added = None;
    for (method, value) in tensors {
        let Some(tensor) = tensor_mut(&mut pte.program, *method, *value) else { continue };
        if others.contains(&tensor.data_buffer_idx) {
            tensor.data_buffer_idx = *added.get_or_insert_with(|| {
                entries.at.push(Some(blob));
                entries.at.len() as u32
            });
        } else {
            entries.set(tensor.data_buffer_idx, Some(blob));
        }
    }
    let alignment = entries::alignment(pte, list);
    entries.put(pte, list, alignment.into())
}

/// Returns the data that a target selects.
fn data_of(pte: &Pte<'_>, target: &Selector<'_>) -> Result<Vec<DataRef>> {
    let (mut found, mut external) = (Vec::new(), None);
    for (user, data) in pte.data_users() {
        if target.is(&user) {
            match data? {
                TensorData::External(key) => external = Some(key),
                data => found.extend(data.data_ref()),
            }
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let what = match target {
        Selector::Value { method, value } => format!("{method}:%{value}"),
        Selector::Name(name) => format!("the name {name:?}"),
    };
    Err(Error::reference(match external {
        Some(key) => format!("{what} is in a .ptd, under the key {key:?}: replace it there"),
        None => format!("{what} has no data in the file"),
    }))
}

/// Returns the users of the bytes at `data` that get the new bytes, after checking that these fit, and the users that keep the
/// old bytes.
fn checked<'a>(pte: &Pte<'a>, data: DataRef, target: &Selector<'_>, new: &NewData<'a>) -> Result<Blob<'a>> {
    let bytes = new.bytes.clone();
    let (users, tensors, named, others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let subject = Subject::NamedData;
    let mut blob = Blob { data, subject, name: String::new(), users, tensors, named, others, bytes };
    for (user, other) in pte.data_users() {
        let Some(other) = other.ok().filter(|other| other.data_ref().is_some_and(|other| overlap(&data, &other)))
        else {
            continue;
        };
        let who = User::of(&user);
        let same = other.data_ref() == Some(data);
        let asked = new.shared || (same && target.is(&user));
        if !asked {
            blob.others.push(who);
            continue;
        }
        match user {
            DataUser::Tensor { method, value, tensor, .. } => {
                if !same {
                    return Err(partly_shared(&who));
                }
                blob.subject = match other {
                    TensorData::InitialState(_) => Subject::InitialState,
                    _ => Subject::Constant,
                };
                if let Some(name) = tensor.fully_qualified_name() {
                    blob.name = name.into();
                }
                let own = new.bytes_for(&who, &tensor.shape())?;
                if blob.tensors.is_empty() {
                    blob.bytes = own;
                }
                blob.tensors.push((method, value));
            }
            DataUser::NamedData { index, named } => {
                blob.name = named.key().into();
                blob.named.push(index);
            }
            DataUser::Delegate { .. } => {}
        }
        blob.users.push(who);
    }
    let in_no_list = |(method, value): &(usize, usize)| {
        let tensor = pte.methods().get(*method).and_then(|plan| plan.tensor(*value));
        tensor.is_some_and(|tensor| DataList::of(tensor).is_none())
    };
    if !blob.others.is_empty() && blob.tensors.iter().any(in_no_list) {
        let reason = "is in a list that the runtime does not use, and shared: it can only be replaced for all";
        return Err(Error::unwritable(format!("the data {reason}")));
    }
    Ok(blob)
}

/// Returns the keys that must change together with the data, and the new key.
fn new_key(pte: &Pte<'_>, blob: &Blob<'_>, new: &NewData<'_>) -> Result<Option<(Vec<String>, String)>> {
    let (data, bytes) = (&blob.data, &*blob.bytes);
    let keys = blob.users.iter().filter_map(|user| match user {
        User::Key { key } => Some(key),
        _ => None,
    });
    let mut old: Vec<String> = keys.cloned().collect();
    if old.is_empty() || pte.bytes(data)? == bytes {
        return Ok(None);
    }
    let looked_up = payload_keys::of_xnnpack(pte);
    old.retain(|key| looked_up.contains(key));
    let Some(first) = old.first() else { return Ok(None) };
    let (size, found) = (data.size(), bytes.len() as u64);
    if size != found {
        let reason = format!("{first:?} is a constant of XNNPACK, {size} bytes; {} holds {found} bytes", new.source);
        return Err(Error::tensor(reason));
    }
    let Some(key) = new.key.clone() else {
        return Err(Error::unwritable(format!(
            "XNNPACK looks {first:?} up and may have cached the packed old bytes under that key: other bytes need a new key"
        )));
    };
    if old == [key.as_str()] {
        return Ok(None);
    }
    for named in pte.named_data().iter().filter(|named| named.key() == key && !old.contains(&key)) {
        if pte.bytes(&pte.named_data_ref(named)?)? != bytes {
            return Err(Error::unwritable(format!("the key {key:?} is used for other data: choose another key")));
        }
    }
    Ok(Some((old, key)))
}

fn partly_shared(user: &User) -> Error {
    Error::tensor(format!("{user} shares only a part of the bytes, expected all or none"))
}

/// Returns `true` if two references have bytes in common.
fn overlap(left: &DataRef, right: &DataRef) -> bool {
    match (range(left), range(right)) {
        (Some((segment, range)), Some((other_segment, other_range))) => {
            let shared = range.start < other_range.end && other_range.start < range.end;
            segment == other_segment && (shared || range == other_range)
        }
        _ => left == right,
    }
}

fn range(data: &DataRef) -> Option<(u32, Range<u64>)> {
    match *data {
        DataRef::Segment { index, offset, size } => Some((index, offset..offset.saturating_add(size))),
        _ => None,
    }
}

pub(super) fn replace_ptd<'a>(ptd: &mut Ptd<'a>, key: &str, new: &NewData<'a>) -> Result<EditReport> {
    let Some(entry) = ptd.get(key) else {
        return Err(Error::reference(format!("no key {key:?}")));
    };
    let data = ptd.entry_data(&entry)?;
    let (mut users, mut others, mut bytes) = (Vec::new(), Vec::new(), None);
    for other in ptd.entries() {
        let there = ptd.entry_data(&other)?;
        if !overlap(&data, &there) {
            continue;
        }
        let user = User::Key { key: other.key().into() };
        if !new.shared && other.key() != key {
            others.push(user);
            continue;
        }
        if there != data {
            return Err(partly_shared(&user));
        }
        if let Some(shape) = &other.shape {
            bytes.get_or_insert(new.bytes_for(&user, shape)?);
        }
        users.push(user);
    }
    let bytes = bytes.unwrap_or_else(|| new.bytes.clone());
    let mut report = EditReport::default();
    if entry.shape.is_none() && *ptd.entry_bytes(&entry)? != *bytes {
        report.notes.push(SAME_KEY.into());
    }
    let is_alone = others.is_empty();
    report.add_replaced(Subject::Key, key, [users, others], [data.size(), bytes.len() as u64]);
    let old = entry.segment_index as usize;
    match (is_alone, data.size() == bytes.len() as u64) {
        (true, true) => segments::overwrite_ptd(ptd, &data, bytes),
        (true, false) => change_ptd(ptd, |ptd| {
            segments::overwrite_ptd(ptd, &data, bytes);
            Ok(())
        })?,
        (false, _) => change_ptd(ptd, |ptd| {
            separate_key(ptd, key, old, bytes);
            Ok(())
        })?,
    }
    Ok(report)
}

/// Gives a key a separate segment, with the alignment of the old one.
#[expect(clippy::indexing_slicing, reason = "the key's bytes are in a segment of the table")]
fn separate_key<'a>(ptd: &mut Ptd<'a>, key: &str, old: usize, bytes: Cow<'a, [u8]>) {
    let table = ptd.flat_tensor.segments.get_or_insert_default();
    let offset = alignment::kept(table)[old];
    table.push(DataSegment { offset, size: bytes.len() as u64 });
    ptd.segments.push(Segment::Whole(bytes));
    let index = ptd.segments.len() as u32 - 1;
    let legacy = ptd.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut());
    for tensor in legacy.map(Vec::as_mut_slice).unwrap_or_default() {
        if tensor.fully_qualified_name.as_deref() == Some(key) {
            (tensor.segment_index, tensor.offset) = (index, 0);
        }
    }
    for named in ptd.flat_tensor.named_data.as_deref_mut().unwrap_or_default() {
        if named.key.as_deref() == Some(key) {
            named.segment_index = index;
        }
    }
}
