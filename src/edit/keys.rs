//! Merges and splits `.ptd` files, and renames and removes keys.

use super::change::change_ptd;
use super::report::{Action, EditReport, Subject};
use super::segments;
use crate::error::{Error, Result};
use crate::file::ptd::{Entry, Ptd};
use crate::file::segment::{DataRef, slice};
use crate::flatbuffer::text::Text;
use crate::numbers::Numbers;
use crate::schema::flat_tensor::{NamedData, TensorLayout, TensorMetadata};
use crate::write::alignment;
use crate::write::collect::NewEntry;
use crate::write::options::PtdOptions;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, string::String, vec::Vec};

/// An entry of a file, ready to be added to another.
pub(super) struct Source<'a> {
    pub(super) entry: NewEntry<'a>,
    /// The segment that contained its bytes.
    pub(super) segment_index: u32,
    pub(super) offset: u64,
}

/// Returns all entries in the order of [`entries`](Ptd::entries), with their bytes borrowed from the source if possible.
pub(super) fn take_entries<'a>(ptd: &Ptd<'a>) -> Result<Vec<Source<'a>>> {
    let legacy = ptd.flat_tensor.legacy.as_ref().and_then(|legacy| legacy.tensors.as_deref()).unwrap_or_default();
    let layout = |tensor: &TensorMetadata<'a>| TensorLayout {
        scalar_type: tensor.scalar_type,
        sizes: Some(tensor.sizes.clone().unwrap_or_default()),
        dim_order: Some(tensor.dim_order.clone().unwrap_or_default()),
    };
    let tensors = legacy.iter().map(|tensor| (tensor.fully_qualified_name.clone(), Some(layout(tensor))));
    let named =
        ptd.flat_tensor.named_data.iter().flatten().map(|named| (named.key.clone(), named.tensor_layout.clone()));
    let alignments = alignment::kept(ptd.flat_tensor.segments());
    let take = |(entry, (key, tensor_layout)): (Entry<'_>, (Option<Text<'a>>, Option<TensorLayout<'a>>))| {
        let data = ptd.entry_data(&entry)?;
        let segment = ptd.segments.get(entry.segment_index as usize);
        let bytes = match segment.and_then(|segment| segment.take(entry.offset, data.size())) {
            Some(bytes) => bytes,
            // The segment is in parts, absent, or too short, which is reported here.
            None => {
                let whole = ptd.segment(entry.segment_index)?;
                let part = slice(&whole, entry.offset..entry.offset.saturating_add(data.size()));
                Cow::Owned(part.map_or_else(|| ptd.bytes(&data), Ok)?.to_vec())
            }
        };
        let alignment = alignments.get(entry.segment_index as usize).map_or(1, |alignment| *alignment as u32);
        let entry = NewEntry { key: key.unwrap_or_default(), tensor_layout, bytes, alignment };
        Ok((entry, data))
    };
    ptd.entries()
        .zip(tensors.chain(named))
        .map(|(old, new)| {
            let (segment_index, offset) = (old.segment_index, old.offset);
            take((old, new)).map(|(entry, _)| Source { entry, segment_index, offset })
        })
        .collect()
}

#[expect(clippy::indexing_slicing, reason = "`seen` has indices of `merged`")]
pub(super) fn merge<'a>(files: &[Ptd<'a>], options: &PtdOptions) -> Result<(Ptd<'a>, EditReport)> {
    let mut report = EditReport::default();
    let mut merged: Vec<NewEntry<'a>> = Vec::new();
    let mut seen = BTreeMap::<Text<'a>, (usize, usize)>::new();
    let mut contents = Numbers::default();
    for (file, ptd) in files.iter().enumerate() {
        for Source { entry, .. } in take_entries(ptd)? {
            let size = entry.bytes.len() as u64;
            match seen.get(&entry.key) {
                None => {
                    seen.insert(entry.key.clone(), (file, merged.len()));
                    report.add(Action::Added, Subject::Key, entry.key.as_str(), Vec::new(), [0, size]);
                    merged.push(entry);
                }
                Some((first, at)) => {
                    let before = &mut merged[*at];
                    let bytes = [&before.bytes, &entry.bytes];
                    if before.tensor_layout != entry.tensor_layout || !same(&mut contents, bytes) {
                        let (key, first, second) = (&entry.key, first + 1, file + 1);
                        return Err(Error::unwritable(format!(
                            "the key {key:?} is in .ptd files {first} and {second}, with different content"
                        )));
                    }
                    before.alignment = before.alignment.max(entry.alignment);
                    report.add(Action::Shared, Subject::Key, entry.key.as_str(), Vec::new(), [size, 0]);
                }
            }
        }
    }
    Ok((Ptd::build(merged, options)?, report))
}

/// Returns `true` if the bytes are equal. Many keys can share a segment, whose bytes are compared only once.
fn same<'a>(contents: &mut Numbers<'a>, [left, right]: [&Cow<'a, [u8]>; 2]) -> bool {
    match (left, right) {
        (Cow::Borrowed(left), Cow::Borrowed(right)) => contents.of(left) == contents.of(right),
        _ => left == right,
    }
}

pub(super) fn split<'a>(
    ptd: &Ptd<'a>,
    options: &PtdOptions,
    mut part: impl FnMut(&Entry<'_>) -> usize,
) -> Result<Vec<Ptd<'a>>> {
    let mut parts = BTreeMap::<usize, Vec<NewEntry<'a>>>::new();
    for (entry, source) in ptd.entries().zip(take_entries(ptd)?) {
        parts.entry(part(&entry)).or_default().push(source.entry);
    }
    parts.into_values().map(|entries| Ptd::build(entries, options)).collect()
}

pub(super) fn parts_by_size(ptd: &Ptd<'_>, most: u64) -> Result<Vec<usize>> {
    let mut parts = BTreeMap::<DataRef, usize>::new();
    let (mut part, mut filled) = (0, 0u64);
    ptd.entries()
        .map(|entry| {
            let data = ptd.entry_data(&entry)?;
            Ok(*parts.entry(data).or_insert_with(|| {
                if filled > 0 && filled.saturating_add(data.size()) > most {
                    (part, filled) = (part + 1, 0);
                }
                filled = filled.saturating_add(data.size());
                part
            }))
        })
        .collect()
}

pub(super) fn rename(ptd: &mut Ptd<'_>, mut name: impl FnMut(&str) -> Option<String>) -> Result<EditReport> {
    let mut report = EditReport::default();
    change_ptd(ptd, |ptd| {
        let legacy = ptd.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut());
        let tensors = legacy.into_iter().flatten().map(|tensor| &mut tensor.fully_qualified_name);
        let named = ptd.flat_tensor.named_data.iter_mut().flatten().map(|named| &mut named.key);
        for key in tensors.chain(named) {
            let old = key.as_deref().unwrap_or_default();
            if let Some(new) = name(old).filter(|new| new != old) {
                report.notes.push(format!("{old} is now {new}"));
                report.add(Action::Renamed, Subject::Key, new.as_str(), Vec::new(), [0, 0]);
                *key = Some(new.into());
            }
        }
        Ok(())
    })?;
    Ok(report)
}

pub(super) fn filter(ptd: &mut Ptd<'_>, mut keep: impl FnMut(&Entry<'_>) -> bool) -> Result<EditReport> {
    let mut report = EditReport::default();
    let mut kept = Vec::new();
    for entry in ptd.entries() {
        kept.push(keep(&entry));
        if kept.last() == Some(&false) {
            let size = ptd.entry_data(&entry)?.size();
            report.add(Action::Removed, Subject::Key, entry.key(), Vec::new(), [size, 0]);
        }
    }
    change_ptd(ptd, |ptd| {
        let mut kept = kept.into_iter();
        let mut next = || kept.next().unwrap_or(true);
        if let Some(tensors) = ptd.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut()) {
            tensors.retain(|_: &TensorMetadata<'_>| next());
        }
        if let Some(named) = ptd.flat_tensor.named_data.as_mut() {
            named.retain(|_: &NamedData<'_>| next());
        }
        segments::remove_unused_ptd(ptd);
        Ok(())
    })?;
    Ok(report)
}
