//! Edits of a `.ptd` file.

use super::{EditReport, NewData, Selector, dedup, keys, replace_ptd};
use crate::error::Result;
use crate::file::ptd::{Entry, Ptd};
use crate::file::pte::Pte;
use crate::write::options::PtdOptions;
use alloc::{string::String, vec::Vec};

impl<'a> Ptd<'a> {
    /// Replaces the bytes of a key. Other keys that share the old bytes keep them, and the report lists these keys, unless
    /// [`NewData::shared`] is set. The new data of a tensor must have the same scalar type and sizes. A blob, which has no type,
    /// takes raw bytes of any size.
    ///
    /// ```
    /// use executorch_format::Ptd;
    /// use executorch_format::edit::NewData;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/add_mul_external/_default_external_constant.ptd")?;
    /// let mut ptd = Ptd::parse(&file)?;
    /// assert_eq!(ptd.get("a").unwrap().shape.unwrap().to_string(), "f32[2, 2]");
    /// ptd.replace("a", &NewData::bytes("zeros", vec![0; 16]))?;
    /// let error = ptd.replace("a", &NewData::bytes("zeros", vec![0; 4])).unwrap_err();
    /// assert!(error.to_string().contains("key a is f32[2, 2], 16 bytes; zeros holds 4 bytes"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`Pte::replace`] does.
    pub fn replace(&mut self, key: &str, new: &NewData<'a>) -> Result<EditReport> {
        replace_ptd::replace(self, key, new)
    }

    /// Replaces data that a program uses: the data of a value, of a key, or of a tensor of the model. The program states the types and
    /// layouts of keys that its delegates look up; a file alone has no types for these, and takes only their raw bytes.
    ///
    /// Keys stay as they are, and so does the program. XNNPACK caches packed weights by key: to get new keys as well, move the data into
    /// the program ([`Pte::internalize`]), replace it there, and move it back.
    ///
    /// Fails as [`Pte::replace`] does, and with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the data is not in this file.
    pub fn replace_for(&mut self, program: &Pte<'_>, target: &Selector<'_>, new: &NewData<'a>) -> Result<EditReport> {
        replace_ptd::replace_for(self, program, target, new)
    }

    /// Stores equal blobs once, even if their keys differ.
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn dedup(&mut self) -> Result<EditReport> {
        dedup::dedup_ptd(self)
    }

    /// Merges files into one with the keys of all, in order. A key that several files have with the same type, shape and bytes is
    /// kept once; equal bytes under different keys are stored once.
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
    /// let bytes = |ptd: &Ptd<'_>| ptd.entry_bytes(&ptd.get("a").unwrap()).unwrap().to_vec();
    /// assert_eq!(bytes(&parts[0]), bytes(&one));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if files have different content for the same
    /// key; the error identifies both files by number.
    pub fn merge(files: &[Self], options: &PtdOptions) -> Result<(Self, EditReport)> {
        keys::merge(files, options)
    }

    /// Splits the keys into several files. `part` returns the index of the file for each key, from 0. If keys that share
    /// bytes are in different files, each of these files stores the bytes.
    ///
    /// Fails as [`build`](Self::build) does.
    pub fn split(&self, options: &PtdOptions, part: impl FnMut(&Entry<'_>) -> usize) -> Result<Vec<Self>> {
        keys::split(self, options, part)
    }

    /// Assigns each entry, in the order of [`entries`](Self::entries), to a part, so that no part has more than `most`
    /// bytes of data; a larger blob gets a part of its own. Keys that share bytes are in the same part.
    ///
    /// Fails as [`entry_data`](Self::entry_data) does.
    pub fn parts_by_size(&self, most: u64) -> Result<Vec<usize>> {
        keys::parts_by_size(self, most)
    }

    /// Renames keys: `name` maps each key to the new one, or to `None` to keep it.
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
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if two keys would be equal.
    pub fn rename(&mut self, name: impl FnMut(&str) -> Option<String>) -> Result<EditReport> {
        keys::rename(self, name)
    }

    /// Keeps the keys for which `keep` returns `true`, and removes bytes that are no longer used.
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn filter(&mut self, keep: impl FnMut(&Entry<'_>) -> bool) -> Result<EditReport> {
        keys::filter(self, keep)
    }
}
