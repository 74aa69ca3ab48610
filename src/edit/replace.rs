//! Replaces the bytes of a blob.

use super::change::change;
use super::constants;
use super::new_data::{NewData, NewKey, Selector};
use super::payload_keys;
use super::report::{EditReport, Subject, User};
use super::segments;
use crate::analysis::ModelPlace;
use crate::error::{Error, Result};
use crate::file::pte::{Pte, TensorData};
use crate::file::references::{DataList, DataUser, tensor_mut};
use crate::file::segment::DataRef;
use crate::sorted::set;
use crate::write::alignment;
use crate::write::entries::{self, Entries};
use alloc::collections::BTreeSet;
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::ops::Range;

/// The note about named data that keeps its key.
pub(super) const SAME_KEY: &str = "a delegate may cache what it made of named data by its key: a process or cache that has seen the old content may \
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
    /// A sentence about the permutation that was made.
    done: Option<String>,
}

pub(super) fn replace<'a>(pte: &mut Pte<'a>, target: &Selector<'_>, new: &NewData<'a>) -> Result<EditReport> {
    let Selector::Tensor(tensor) = target else { return replace_blobs(pte, target, new) };
    tensor.check()?;
    let mut changed = pte.clone();
    let mut report = EditReport::default();
    if tensor.places.iter().any(|place| matches!(place, ModelPlace::Value { .. })) {
        report = replace_blobs(&mut changed, target, new)?;
    }
    let inside = constants::replace_tensor(&mut changed, tensor, new)?;
    report.changes.extend(inside.changes);
    report.notes.extend(inside.notes);
    *pte = changed;
    Ok(report)
}

fn replace_blobs<'a>(pte: &mut Pte<'a>, target: &Selector<'_>, new: &NewData<'a>) -> Result<EditReport> {
    let mut report = EditReport::default();
    let mut blobs: Vec<Blob<'a>> = Vec::new();
    let mut keys = Vec::new();
    let mut seen = BTreeSet::new();
    for data in data_of(pte, target)? {
        if !seen.insert(data) {
            continue;
        }
        let mut blob = checked(pte, data, target, new)?;
        let size = blob.bytes.len() as u64;
        report.notes.extend(blob.done.take());
        if let Some((old, key)) = new_key(pte, &blob, new)? {
            report
                .notes
                .push(format!("the key is now {key}, in the payloads of XNNPACK too; it was {}", old.join(", ")));
            let replaced = set(old.iter().collect());
            blob.users.retain(|user| !matches!(user, User::Key { key } if replaced.binary_search(&key).is_ok()));
            blob.users.insert(0, User::Key { key: key.clone() });
            blob.name.clone_from(&key);
            keys.push((old, key));
        } else if blob.subject == Subject::NamedData {
            report.notes.push(SAME_KEY.into());
        }
        // The same bytes again need no entry of their own.
        let is_same = keys.is_empty() && pte.bytes(&data)? == &*blob.bytes;
        let others = if is_same { Vec::new() } else { blob.others.clone() };
        report.add_replaced(blob.subject, &blob.name, [blob.users.clone(), others], [data.size(), size]);
        if !is_same {
            blobs.push(blob);
        }
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
    let kept = alignment::kept(pte.program.segments());
    for index in &blob.named {
        let alignment = kept[pte.named_data()[*index].segment_index as usize];
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
    let own = set(tensors.to_vec());
    for (method, plan) in pte.methods().iter().enumerate() {
        for (value, tensor) in plan.tensors() {
            if DataList::of(tensor) == Some(list) && own.binary_search(&(method, value)).is_err() {
                others.push(tensor.data_buffer_idx);
            }
        }
    }
    let others = set(others);
    let mut added = None;
    for (method, value) in tensors {
        let Some(tensor) = tensor_mut(&mut pte.program, *method, *value) else { continue };
        if others.binary_search(&tensor.data_buffer_idx).is_ok() {
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
    // A text that is both is a name.
    let is_name = |user: &DataUser<'_>| matches!(user, DataUser::Tensor { .. }) && target.is(user);
    let has_name = pte.data_users().any(|(user, _)| is_name(&user));
    for (user, data) in pte.data_users() {
        if target.is(&user) && (!has_name || is_name(&user)) {
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
        Selector::Tensor(tensor) => format!("the tensor {:?}", tensor.name),
    };
    Err(Error::reference(match external {
        Some(key) => {
            format!("{what} is in a .ptd, under the key {key:?}: internalize it, or replace it there with this program")
        }
        None => format!("{what} has no data in the file"),
    }))
}

/// Returns the users of the bytes at `data` that get the new bytes, after checking that these fit, and the users that keep the
/// old bytes.
fn checked<'a>(pte: &Pte<'a>, data: DataRef, target: &Selector<'_>, new: &NewData<'a>) -> Result<Blob<'a>> {
    let bytes = new.bytes.clone();
    let (users, tensors, named, others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let subject = Subject::NamedData;
    let mut blob = Blob { data, subject, name: String::new(), users, tensors, named, others, bytes, done: None };
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
                let transposed = match target {
                    Selector::Tensor(model) => model.at(method, value),
                    _ => None,
                };
                let is_named = matches!(target, Selector::Name(_)) && target.is(&user);
                if is_named || transposed.is_some() {
                    new.expect_type(&who, &tensor.shape())?;
                }
                let own = match (target, transposed) {
                    (Selector::Tensor(model), Some(transposed)) => {
                        let (own, done) = new.bytes_for_model(model, &who, &tensor.shape(), transposed)?;
                        blob.done = done;
                        own
                    }
                    _ => new.bytes_for(&who, &tensor.shape())?,
                };
                if blob.tensors.is_empty() {
                    blob.bytes = own;
                }
                blob.done = blob.done.or_else(|| new.permutation(&who, &tensor.shape()));
                blob.tensors.push((method, value));
            }
            DataUser::NamedData { index, named } => {
                blob.name = named.key().into();
                constants::check_key(pte, named.key(), new)?;
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
    let key = new.key.of(first, bytes)?;
    if new.key == NewKey::Same || old == [key.as_str()] {
        return Ok(None);
    }
    let is_old = old.contains(&key);
    for named in pte.named_data().iter().filter(|named| named.key() == key && !is_old) {
        if pte.bytes(&pte.named_data_ref(named)?)? != bytes {
            return Err(payload_keys::used_for_other_data(&key));
        }
    }
    Ok(Some((old, key)))
}

pub(super) fn partly_shared(user: &User) -> Error {
    Error::tensor(format!("{user} shares only a part of the bytes, expected all or none"))
}

/// Returns `true` if two references have bytes in common.
pub(super) fn overlap(left: &DataRef, right: &DataRef) -> bool {
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
