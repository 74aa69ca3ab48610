//! `.ptd` files as a whole: merged, split, with other keys or fewer.

use super::report::{Action, EditReport, Subject};
use crate::error::{Error, Result};
use crate::file::ptd::{Entry, Ptd};
use crate::file::segment::DataRef;
use crate::flatbuffer::text::Text;
use crate::keyed::Keyed;
use crate::schema::flat_tensor::{NamedData, TensorLayout, TensorMetadata};
use crate::write::collect::NewEntry;
use crate::write::relayout::{PtdOptions, kept_alignments};
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};

/// An entry of a file, ready for another one.
pub(super) struct Source<'a> {
    pub(super) entry: NewEntry<'a>,
    /// Where its bytes were.
    pub(super) segment_index: u32,
    pub(super) offset: u64,
}

impl<'a> Ptd<'a> {
    /// All entries in the order of [`entries`](Self::entries), their bytes borrowed where they were.
    pub(super) fn take_entries(&self) -> Result<Vec<Source<'a>>> {
        let legacy = self.flat_tensor.legacy.as_ref().and_then(|legacy| legacy.tensors.as_deref()).unwrap_or_default();
        let layout = |tensor: &TensorMetadata<'a>| TensorLayout {
            scalar_type: tensor.scalar_type,
            sizes: Some(tensor.sizes.clone().unwrap_or_default()),
            dim_order: Some(tensor.dim_order.clone().unwrap_or_default()),
        };
        let tensors = legacy.iter().map(|tensor| (tensor.fully_qualified_name.clone(), Some(layout(tensor))));
        let named =
            self.flat_tensor.named_data.iter().flatten().map(|named| (named.key.clone(), named.tensor_layout.clone()));
        let alignments = kept_alignments(self.flat_tensor.segments());
        let take = |(entry, (key, tensor_layout)): (Entry<'_>, (Option<Text<'a>>, Option<TensorLayout<'a>>))| {
            let data = self.entry_data(&entry)?;
            let segment = self.segments.get(entry.segment_index as usize);
            let bytes = match segment.and_then(|segment| segment.take(entry.offset, data.size())) {
                Some(bytes) => bytes,
                // In parts, or not there, which this reports.
                None => Cow::Owned(self.segment(entry.segment_index)?.into_owned()),
            };
            let alignment = alignments.get(entry.segment_index as usize).map_or(1, |alignment| *alignment as u32);
            let entry = NewEntry { key: key.unwrap_or_default(), tensor_layout, bytes, alignment };
            Ok((entry, data))
        };
        self.entries()
            .zip(tensors.chain(named))
            .map(|(old, new)| {
                let (segment_index, offset) = (old.segment_index, old.offset);
                take((old, new)).map(|(entry, _)| Source { entry, segment_index, offset })
            })
            .collect()
    }

    /// One file with the keys of all, in order. A key that several have with the same type, shape and bytes is there once; equal
    /// bytes under different keys are stored once.
    ///
    /// ```
    /// use executorch_format::{NewEntry, Ptd, PtdOptions};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let options = PtdOptions::default();
    /// let one = Ptd::build([NewEntry::from_slice("a", vec![2], &[1f32, 2.0])], &options)?;
    /// let other = Ptd::build([NewEntry::from_slice("b", vec![1], &[3f32])], &options)?;
    /// let (both, _) = Ptd::merge(&[one.clone(), other], &options)?;
    /// assert_eq!(both.entries().map(|entry| entry.key().len()).sum::<usize>(), 2);
    /// let parts = both.split(&options, |entry| usize::from(entry.key() == "b"))?;
    /// assert_eq!(parts[0].get("a").map(|entry| parts[0].entry_bytes(&entry).unwrap()), one.get("a").map(|entry| one.entry_bytes(&entry).unwrap()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where a key has two contents, with both files' numbers.
    pub fn merge(files: &[Self], options: &PtdOptions) -> Result<(Self, EditReport)> {
        let mut report = EditReport::default();
        let mut merged: Vec<NewEntry<'a>> = Vec::new();
        let mut seen = Keyed::<Text<'a>, (usize, usize)>::new();
        for (file, ptd) in files.iter().enumerate() {
            for Source { entry, .. } in ptd.take_entries()? {
                let size = entry.bytes.len() as u64;
                match seen.get(&entry.key) {
                    None => {
                        seen.insert(entry.key.clone(), (file, merged.len()));
                        report.add(Action::Added, Subject::Key, entry.key.as_str(), Vec::new(), [0, size]);
                        merged.push(entry);
                    }
                    Some((first, at)) => {
                        let same = merged
                            .get_mut(*at)
                            .filter(|other| other.tensor_layout == entry.tensor_layout && other.bytes == entry.bytes);
                        let Some(same) = same else {
                            let (key, first, second) = (&entry.key, first + 1, file + 1);
                            return Err(Error::unwritable(format!(
                                "the key {key:?} is in .ptd files {first} and {second}, with different content"
                            )));
                        };
                        same.alignment = same.alignment.max(entry.alignment);
                        report.add(Action::Shared, Subject::Key, entry.key.as_str(), Vec::new(), [size, 0]);
                    }
                }
            }
        }
        Ok((Self::build(merged, options)?, report))
    }

    /// Several files with a part of the keys each: `part` gives each key's, from 0. Keys that share bytes are to be in one part, or
    /// each part stores them.
    ///
    /// Fails as [`build`](Self::build) does.
    pub fn split(&self, options: &PtdOptions, mut part: impl FnMut(&Entry<'_>) -> usize) -> Result<Vec<Self>> {
        let mut parts = Keyed::<usize, Vec<NewEntry<'a>>>::new();
        for (entry, source) in self.entries().zip(self.take_entries()?) {
            parts.entry(part(&entry)).push(source.entry);
        }
        parts.into_sorted().into_iter().map(|(_, entries)| Self::build(entries, options)).collect()
    }

    /// The part of each entry, in the order of [`entries`](Self::entries), so that none has more than `most` bytes of data: a
    /// larger blob has a part to itself. Keys that share bytes are in one part.
    ///
    /// Fails as [`entry_data`](Self::entry_data) does.
    pub fn parts_by_size(&self, most: u64) -> Result<Vec<usize>> {
        let mut parts = Keyed::<DataRef, usize>::new();
        let (mut part, mut filled) = (0, 0u64);
        self.entries()
            .map(|entry| {
                let data = self.entry_data(&entry)?;
                Ok(*parts.or_insert_with(data, || {
                    if filled > 0 && filled.saturating_add(data.size()) > most {
                        (part, filled) = (part + 1, 0);
                    }
                    filled = filled.saturating_add(data.size());
                    part
                }))
            })
            .collect()
    }

    /// Gives keys other names: `name` gets each key and returns the new one.
    ///
    /// ```
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/ptd_shared/ptd_shared.ptd")?;
    /// let mut ptd = executorch_format::Ptd::parse(&file)?;
    /// let report = ptd.rename(|key| Some(format!("model.{key}")))?;
    /// assert_eq!(report.changes.len(), ptd.entries().count());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where two keys would be equal.
    pub fn rename(&mut self, mut name: impl FnMut(&str) -> Option<String>) -> Result<EditReport> {
        let mut report = EditReport::default();
        self.change(|ptd| {
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

    /// Keeps the keys for which `keep` returns true; bytes that no key then names are removed.
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn filter(&mut self, mut keep: impl FnMut(&Entry<'_>) -> bool) -> Result<EditReport> {
        let mut report = EditReport::default();
        let mut kept = Vec::new();
        for entry in self.entries() {
            kept.push(keep(&entry));
            if kept.last() == Some(&false) {
                let size = self.entry_data(&entry)?.size();
                report.add(Action::Removed, Subject::Key, entry.key(), Vec::new(), [size, 0]);
            }
        }
        self.change(|ptd| {
            let mut kept = kept.into_iter();
            let mut next = || kept.next().unwrap_or(true);
            if let Some(tensors) = ptd.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut()) {
                tensors.retain(|_: &TensorMetadata<'_>| next());
            }
            if let Some(named) = ptd.flat_tensor.named_data.as_mut() {
                named.retain(|_: &NamedData<'_>| next());
            }
            ptd.remove_unused_segments();
            Ok(())
        })?;
        Ok(report)
    }

    /// Removes segments that no key names, and renumbers the rest.
    pub(super) fn remove_unused_segments(&mut self) {
        let mut used = vec![false; self.segments.len()];
        for entry in self.entries() {
            if let Some(used) = used.get_mut(entry.segment_index as usize) {
                *used = true;
            }
        }
        let mut next = 0;
        let new_index: Vec<u32> = used.iter().map(|used| (next, next += u32::from(*used)).0).collect();
        // An index that is out of range stays so: there are not more segments than before.
        let renumber = |index: &mut u32| {
            if let Some(new) = new_index.get(*index as usize) {
                *index = *new;
            }
        };
        let legacy = self.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut());
        for tensor in legacy.map(Vec::as_mut_slice).unwrap_or_default() {
            renumber(&mut tensor.segment_index);
        }
        for named in self.flat_tensor.named_data.as_deref_mut().unwrap_or_default() {
            renumber(&mut named.segment_index);
        }
        let mut stays = used.iter();
        self.segments.retain(|_| stays.next() == Some(&true));
        let mut stays = used.iter();
        self.flat_tensor.segments.get_or_insert_default().retain(|_| stays.next() == Some(&true));
    }
}
