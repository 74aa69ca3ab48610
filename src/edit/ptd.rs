//! All that can be done to a `.ptd` file.

use super::{EditReport, NewData, dedup, keys, replace};
use crate::error::Result;
use crate::file::ptd::{Entry, Ptd};
#[cfg(doc)]
use crate::file::pte::Pte;
use crate::write::options::PtdOptions;
use alloc::{string::String, vec::Vec};

impl<'a> Ptd<'a> {
    /// Gives a key other bytes. Keys that share the old ones keep them, and the report names them, unless [`NewData::shared`] asks for
    /// all. A tensor's new data has its scalar type and sizes; a blob may change its size.
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
        replace::replace_ptd(self, key, new)
    }

    /// Stores equal blobs once, whatever their keys.
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn dedup(&mut self) -> Result<EditReport> {
        dedup::dedup_ptd(self)
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
        keys::merge(files, options)
    }

    /// Several files with a part of the keys each: `part` gives each key's, from 0. Keys that share bytes are to be in one part, or
    /// each part stores them.
    ///
    /// Fails as [`build`](Self::build) does.
    pub fn split(&self, options: &PtdOptions, part: impl FnMut(&Entry<'_>) -> usize) -> Result<Vec<Self>> {
        keys::split(self, options, part)
    }

    /// The part of each entry, in the order of [`entries`](Self::entries), so that none has more than `most` bytes of data: a
    /// larger blob has a part to itself. Keys that share bytes are in one part.
    ///
    /// Fails as [`entry_data`](Self::entry_data) does.
    pub fn parts_by_size(&self, most: u64) -> Result<Vec<usize>> {
        keys::parts_by_size(self, most)
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
    pub fn rename(&mut self, name: impl FnMut(&str) -> Option<String>) -> Result<EditReport> {
        keys::rename(self, name)
    }

    /// Keeps the keys for which `keep` returns true; bytes that no key then names are removed.
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn filter(&mut self, keep: impl FnMut(&Entry<'_>) -> bool) -> Result<EditReport> {
        keys::filter(self, keep)
    }
}
