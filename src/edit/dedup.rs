//! Stores equal blobs once.

use super::change::{change_ptd, check_references};
use super::report::{Action, EditReport, Subject, User};
use super::segments;
use crate::error::{Result, counted};
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::references::{DataList, DataUser, payloads_mut, renumber_segments};
use crate::file::segment::DataRef;
use crate::inspect::{BlobKind, BlobUser};
use crate::model::Model;
use crate::schema::program::DataLocation;
use crate::sorted::set;
use crate::write;
use crate::write::entries::{self, Entries};
use crate::write::options::PteOptions;
use alloc::collections::BTreeMap;
use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::Vec,
};

/// Maps each blob that equals an earlier one to the first such blob.
fn firsts(blobs: &mut dyn Iterator<Item = (usize, &[u8])>) -> BTreeMap<usize, usize> {
    let (mut seen, mut firsts) = (BTreeMap::<(usize, &[u8]), usize>::new(), BTreeMap::new());
    for (index, bytes) in blobs {
        let first = *seen.entry((bytes.len(), bytes)).or_insert(index);
        if first != index {
            firsts.insert(index, first);
        }
    }
    firsts
}

pub(super) fn dedup(pte: &mut Pte<'_>) -> Result<EditReport> {
    let (changed, report) = shared(pte)?;
    if !report.changes.is_empty() {
        *pte = changed.lay_out(&PteOptions::of(pte)?)?;
    }
    Ok(report)
}

/// Returns a copy with equal blobs stored once, which is not laid out.
pub(super) fn shared<'a>(pte: &Pte<'a>) -> Result<(Pte<'a>, EditReport)> {
    let mut report = EditReport::default();
    check_references(pte)?;
    let users = users_by_place(pte)?;
    let mut changed = pte.clone();
    for list in DataList::ALL {
        dedup_list(&mut changed, list, &users, &mut report)?;
    }
    dedup_segments(&mut changed, &users, &mut report)?;
    for list in DataList::ALL {
        share_list(&mut changed, list, &mut report)?;
    }
    dedup_inline(&mut changed, &users, &mut report);
    Ok((changed, report))
}

fn users_by_place(pte: &Pte<'_>) -> Result<BTreeMap<BlobPlace, Vec<User>>> {
    let mut users = BTreeMap::<BlobPlace, Vec<User>>::new();
    for (user, data) in pte.data_users() {
        let place = match (user, data?) {
            (DataUser::Tensor { tensor, .. }, TensorData::Constant(_) | TensorData::InitialState(_)) => {
                DataList::of(tensor).map(|list| BlobPlace::Entry(list, tensor.data_buffer_idx))
            }
            (DataUser::Delegate { delegate, .. }, _) => delegate.processed.map(|payload| match payload.location {
                DataLocation::SEGMENT => BlobPlace::Segment(payload.index),
                _ => BlobPlace::Inline(payload.index),
            }),
            (DataUser::NamedData { named, .. }, _) => Some(BlobPlace::Segment(named.segment_index)),
            _ => None,
        };
        if let Some(place) = place {
            users.entry(place).or_default().push(User::of(&user));
        }
    }
    Ok(users)
}

#[expect(clippy::indexing_slicing, reason = "`Entries::at` has indices of its blobs")]
fn dedup_list(
    pte: &mut Pte<'_>,
    list: DataList,
    users: &BTreeMap<BlobPlace, Vec<User>>,
    report: &mut EditReport,
) -> Result<()> {
    let mut entries = Entries::of(pte, list)?;
    let firsts = firsts(&mut entries.blobs.iter().map(|blob| &**blob).enumerate());
    if firsts.is_empty() {
        return Ok(());
    }
    for (at, data_buffer_idx) in entries.at.iter_mut().zip(1..) {
        let Some((blob, first)) = at.and_then(|blob| Some((blob, firsts.get(&blob)?))) else { continue };
        let size = entries.blobs[blob].len() as u64;
        *at = Some(*first);
        // An entry that no tensor uses is listed without users.
        let users = users.get(&BlobPlace::Entry(list, data_buffer_idx)).cloned().unwrap_or_default();
        report.add(Action::Shared, list.into(), "", users, [size, 0]);
    }
    entries.put(pte, list, entries::alignment(pte, list).into())
}

fn dedup_segments(pte: &mut Pte<'_>, users: &BTreeMap<BlobPlace, Vec<User>>, report: &mut EditReport) -> Result<()> {
    let before = pte.segment_users();
    let whole = |index: &u32| {
        let data = pte.whole_segment(*index).ok()?;
        Some((*index as usize, pte.bytes(&data).ok().filter(|bytes| !bytes.is_empty())?))
    };
    let indices = users.keys().filter_map(|place| match place {
        BlobPlace::Segment(index) => Some(index),
        _ => None,
    });
    let firsts = firsts(&mut indices.filter_map(whole));
    let first = |index: u32| firsts.get(&(index as usize)).map_or(index, |first| *first as u32);
    let table = pte.program.segments.as_deref_mut().unwrap_or_default();
    segments::share_alignments(table, firsts.iter().map(|(index, first)| (*index, *first)))?;
    for index in firsts.keys() {
        let index = *index as u32;
        let size = pte.whole_segment(index)?.size();
        let users = users.get(&BlobPlace::Segment(index)).cloned().unwrap_or_default();
        let named = users.iter().any(|user| matches!(user, User::Key { .. }));
        let subject = if named { Subject::NamedData } else { Subject::Payload };
        report.add(Action::Shared, subject, "", users, [size, 0]);
    }
    for named in pte.program.named_data.as_deref_mut().unwrap_or_default() {
        named.segment_index = first(named.segment_index);
    }
    for payload in
        payloads_mut(&mut pte.program).into_iter().filter(|payload| payload.location == DataLocation::SEGMENT)
    {
        payload.index = first(payload.index);
    }
    segments::remove_unused(pte, &before);
    Ok(())
}

/// Makes named data and payloads share the segment of a list if that contains a single blob, which is equal. Otherwise a note explains
/// why both stay: named data and payloads are whole segments, and a list has one segment for all its entries.
fn share_list(pte: &mut Pte<'_>, list: DataList, report: &mut EditReport) -> Result<()> {
    let Some(own) = entries::offsets(&pte.program, list).map(|offsets| offsets.segment_index) else { return Ok(()) };
    let before = pte.segment_users();
    let is_alone = before.iter().zip(0..).all(|(users, segment)| *users == 0 || segment == own);
    if is_alone {
        return Ok(());
    }
    let users = users_by_place(pte)?;
    let entries = Entries::of(pte, list)?;
    let mut blobs = BTreeMap::<(usize, &[u8]), usize>::new();
    for (index, blob) in entries.blobs.iter().enumerate().filter(|(_, blob)| !blob.is_empty()) {
        blobs.insert((blob.len(), blob), index);
    }
    let is_all = entries.blobs.len() == 1
        && pte.whole_segment(own)?.size() == entries.blobs.first().map_or(0, |blob| blob.len() as u64);
    // The first entry with each blob.
    let mut firsts = BTreeMap::new();
    for (blob, entry) in entries.at.iter().zip(1..) {
        if let Some(blob) = blob {
            firsts.entry(*blob).or_insert(entry);
        }
    }
    let mut same = Vec::new();
    for (place, named) in users.iter() {
        let BlobPlace::Segment(index) = *place else { continue };
        let data = pte.whole_segment(index)?;
        let bytes = pte.bytes(&data)?;
        let Some(blob) = blobs.get(&(bytes.len(), bytes)).filter(|_| index != own) else { continue };
        if is_all {
            same.push((index, data.size(), named.clone()));
            continue;
        }
        let entry: u32 = firsts.get(blob).copied().unwrap_or_default();
        let of_list = users.get(&BlobPlace::Entry(list, entry)).and_then(|users| users.first());
        let first =
            of_list.map_or_else(|| format!("{} {entry}, which is not used,", Subject::from(list)), User::to_string);
        let second = named.first().map_or_else(String::new, User::to_string);
        let (size, count) = (counted(bytes.len(), "byte"), entries.blobs.len());
        report.notes.push(format!(
            "{} and {} have the same {size}, which stay in the file twice: the constants of a program are in one segment, which has {count} here, and a key or payload \
             is a whole segment",
            first, second
        ));
    }
    let table = pte.program.segments.as_deref_mut().unwrap_or_default();
    segments::share_alignments(table, same.iter().map(|(index, ..)| (*index as usize, own as usize)))?;
    let gone = set(same.iter().map(|(index, ..)| *index).collect());
    let new_index = |index: u32| if gone.binary_search(&index).is_ok() { own } else { index };
    renumber_segments(&mut pte.program, &new_index);
    for (_, size, users) in same {
        let named = users.iter().any(|user| matches!(user, User::Key { .. }));
        let subject = if named { Subject::NamedData } else { Subject::Payload };
        report.add(Action::Shared, subject, "", users, [size, 0]);
    }
    segments::remove_unused(pte, &before);
    Ok(())
}

#[expect(clippy::indexing_slicing, reason = "`firsts` has indices of these payloads")]
fn dedup_inline(pte: &mut Pte<'_>, users: &BTreeMap<BlobPlace, Vec<User>>, report: &mut EditReport) {
    let inline = pte.program.backend_delegate_data();
    let mut filled = inline.iter().map(|data| data.data()).enumerate().filter(|(_, data)| !data.is_empty());
    let firsts = firsts(&mut filled);
    let size = |index: usize| inline[index].data().len() as u64;
    for (index, _) in firsts.iter() {
        // A payload that no delegate refers to is listed without users.
        let users = users.get(&BlobPlace::Inline(*index as u32)).cloned().unwrap_or_default();
        report.add(Action::Shared, Subject::Payload, "", users, [size(*index), 0]);
    }
    for payload in payloads_mut(&mut pte.program).into_iter().filter(|payload| payload.location == DataLocation::INLINE)
    {
        payload.index = firsts.get(&(payload.index as usize)).map_or(payload.index, |first| *first as u32);
    }
    write::segments::remove_inline_payloads(pte, &|index| firsts.contains_key(&(index as usize)));
}

/// The location of a blob in a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BlobPlace {
    Entry(DataList, u32),
    Segment(u32),
    Inline(u32),
}

pub(super) fn dedup_ptd(ptd: &mut Ptd<'_>) -> Result<EditReport> {
    let mut report = EditReport::default();
    let mut blobs = BTreeMap::new();
    let mut keys = BTreeMap::<u32, Vec<User>>::new();
    for entry in ptd.entries() {
        // Early files have several tensors in a segment: only segments with one tensor are shared.
        if let Some(bytes) = ptd.segments.get(entry.segment_index as usize).and_then(|segment| {
            let size = ptd.flat_tensor.segments().get(entry.segment_index as usize)?.size;
            segment.get(0, size).filter(|bytes| !bytes.is_empty())
        }) {
            blobs.insert(entry.segment_index as usize, bytes);
        }
        keys.entry(entry.segment_index).or_default().push(User::Key { key: entry.key().into() });
    }
    let firsts = firsts(&mut blobs.iter().map(|(index, bytes)| (*index, *bytes)));
    if firsts.is_empty() {
        return Ok(report);
    }
    for (index, bytes) in blobs.iter().filter(|(index, _)| firsts.contains_key(index)) {
        let users = keys.get(&(*index as u32)).cloned().unwrap_or_default();
        report.add(Action::Shared, Subject::Key, "", users, [bytes.len() as u64, 0]);
    }
    change_ptd(ptd, |ptd| {
        let table = ptd.flat_tensor.segments.as_deref_mut().unwrap_or_default();
        segments::share_alignments(table, firsts.iter().map(|(index, first)| (*index, *first)))?;
        let first = |index: &mut u32| *index = firsts.get(&(*index as usize)).map_or(*index, |first| *first as u32);
        let legacy = ptd.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut());
        for tensor in legacy.map(Vec::as_mut_slice).unwrap_or_default() {
            first(&mut tensor.segment_index);
        }
        for named in ptd.flat_tensor.named_data.as_deref_mut().unwrap_or_default() {
            first(&mut named.segment_index);
        }
        segments::remove_unused_ptd(ptd);
        Ok(())
    })?;
    Ok(report)
}

/// Bytes that are stored in several places.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Copies<'t> {
    /// The size of one copy, in bytes.
    pub size: u64,
    /// The number of copies.
    pub places: usize,
    /// The users of the copies.
    pub users: Vec<CopyUser<'t>>,
}

/// A user of a copy.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CopyUser<'t> {
    /// The index of the file in the given list.
    pub file: usize,
    /// The kind of the blob in that file.
    pub kind: BlobKind,
    /// The user.
    #[serde(flatten)]
    pub user: BlobUser<'t>,
}

/// Returns the blobs that are stored several times, in one file or in several, the largest first. Constants are listed
/// individually, not by segment.
///
/// Fails if the bytes of a file are absent.
pub fn copies<'t>(files: &'t [Model<'_>]) -> Result<Vec<Copies<'t>>> {
    let mut found = BTreeMap::<(usize, Cow<'t, [u8]>), BTreeMap<(usize, DataRef), Vec<CopyUser<'t>>>>::new();
    for (file, model) in files.iter().enumerate() {
        for blob in model.blobs().blobs.into_iter().filter(|blob| blob.kind != BlobKind::Segment && blob.size > 0) {
            if let (Some(bytes), Some(data)) = (model.blob_bytes(&blob)?, blob.data) {
                let users = blob.users.iter().map(|user| CopyUser { file, kind: blob.kind, user: user.clone() });
                found.entry((bytes.len(), bytes)).or_default().entry((file, data)).or_default().extend(users);
            }
        }
    }
    let mut copies = Vec::new();
    for ((size, _), places) in found.into_iter().rev().filter(|(_, places)| places.len() > 1) {
        let (count, mut users) = (places.len(), Vec::new());
        for (_, of_place) in places {
            users.extend(of_place);
        }
        copies.push(Copies { size: size as u64, places: count, users });
    }
    Ok(copies)
}

impl core::fmt::Display for Copies<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let users: Vec<String> =
            self.users.iter().map(|user| alloc::format!("{} of file {}", user.kind, user.file + 1)).collect();
        write!(f, "{} bytes: {}", self.size, users.join(", "))
    }
}
