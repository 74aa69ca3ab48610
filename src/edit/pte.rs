//! Edits of a program.

use super::externalize::Candidate;
use super::{
    EditReport, Metadata, MetadataValue, NewData, Selector, Strip, dedup, externalize, internalize, metadata,
    payload_keys, replace, select, strip,
};
use crate::error::Result;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::write::options::PtdOptions;
use alloc::{collections::BTreeSet, string::String, vec::Vec};

impl<'a> Pte<'a> {
    /// Replaces the bytes of a constant, an initial state or named data. Other users of the old bytes keep them, and
    /// the report lists these users, unless [`NewData::shared`] is set.
    ///
    /// The new data of a tensor must have the same scalar type and sizes. The rest of the file then stays the same,
    /// byte for byte, unless other users keep the old bytes. Named data may change its size.
    ///
    /// ```
    /// use executorch_format::Pte;
    /// use executorch_format::edit::{NewData, Selector};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let mut pte = Pte::parse(&file)?;
    /// let target = Selector::Value { method: "forward", value: 0 };
    /// let zeros = vec![0; pte.methods()[0].tensor(0).unwrap().byte_size()? as usize];
    /// let report = pte.replace(&target, &NewData::bytes("zeros", zeros))?;
    /// println!("{}", report.changes[0]);
    /// assert_eq!(pte.image()?.size(), file.len() as u64);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if a tensor that gets the data has another type,
    /// other sizes or another dim order, with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the target is
    /// not in the file, and with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if XNNPACK looks up the data
    /// by key and [`NewData::key`] is `None` or used for other data.
    pub fn replace(&mut self, target: &Selector<'_>, new: &NewData<'a>) -> Result<EditReport> {
        replace::replace(self, target, new)
    }

    /// Stores equal blobs once: among constants, among initial states, and among delegate payloads and named data. The
    /// report lists each removed copy.
    ///
    /// ```
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/const_dtypes/const_dtypes.pte")?;
    /// let mut pte = executorch_format::Pte::parse(&file)?;
    /// println!("{} bytes are copies of others", pte.dedup()?.bytes_saved());
    /// assert_eq!(pte.dedup()?.changes, []);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn dedup(&mut self) -> Result<EditReport> {
        dedup::dedup(self)
    }

    /// Moves constants, initial states and named data into a `.ptd`, which is returned. `choose` gets each candidate
    /// and returns its key, usually [`Candidate::key`], or `None` to leave it in the program. All tensors that share a
    /// constant move with it. Named data keeps its key, by which delegates look it up.
    ///
    /// ```
    /// use executorch_format::edit::Subject;
    /// use executorch_format::{PtdOptions, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let mut pte = Pte::parse(&file)?;
    /// let (weights, report) = pte.externalize(&PtdOptions::default(), |candidate| {
    ///     (candidate.subject == Subject::Constant && candidate.size > 16).then(|| candidate.key.to_owned())
    /// })?;
    /// assert_eq!(weights.entries().next().unwrap().key(), report.changes[0].name);
    /// assert_eq!(pte.verify_with(&[weights], Default::default()), []);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if a key would refer to two different blobs,
    /// in the `.ptd` or together with the program, and as [`lay_out`](Self::lay_out) does.
    pub fn externalize(
        &mut self,
        options: &PtdOptions,
        mut choose: impl FnMut(&Candidate<'_>) -> Option<String>,
    ) -> Result<(Ptd<'a>, EditReport)> {
        externalize::externalize(self, options, &mut choose)
    }

    /// Calls `visit` with each candidate of [`externalize`](Self::externalize).
    ///
    /// Fails if the size of a tensor with data is unknown.
    pub fn candidates(&self, visit: impl FnMut(&Candidate<'_>)) -> Result<()> {
        externalize::candidates(self, visit)
    }

    /// Moves data from `.ptd` files into the program: the data of its external tensors and, if it has delegates, every
    /// other key, because delegates may look up any key. `choose` selects the keys.
    ///
    /// A tensor keeps its name, unless [`externalize`](Self::externalize) generated it.
    ///
    /// ```
    /// use executorch_format::{Ptd, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let program = std::fs::read("tests/data/1.5.1/add_mul_external/add_mul_external.pte")?;
    /// let data = std::fs::read("tests/data/1.5.1/add_mul_external/_default_external_constant.ptd")?;
    /// let mut pte = Pte::parse(&program)?;
    /// pte.internalize(&[Ptd::parse(&data)?], |_| true)?;
    /// assert!(pte.methods()[0].tensors().all(|(_, tensor)| !tensor.is_external()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if [`verify_with`](Self::verify_with) finds
    /// an error in the program with these files.
    pub fn internalize(&mut self, data: &[Ptd<'a>], choose: impl FnMut(&str) -> bool) -> Result<EditReport> {
        internalize::internalize(self, data, choose)
    }

    /// Removes the parts that the program does not need to run.
    ///
    /// ```
    /// use executorch_format::Pte;
    /// use executorch_format::edit::Strip;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/stacktrace/stacktrace.pte")?;
    /// let mut pte = Pte::parse(&file)?;
    /// pte.strip(&Strip::default().with_stack_traces())?;
    /// assert!(pte.image()?.size() < file.len() as u64);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Unreferenced data stays if the file would be larger without it, for example because constants that share a
    /// segment with other data would need a segment of their own. A note then reports that.
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn strip(&mut self, what: &Strip) -> Result<EditReport> {
        strip::strip(self, what)
    }

    /// Keeps the methods whose names `keep` accepts, and removes the data that only other methods used: constants,
    /// initial states, payloads, and named data that only their payloads refer to. Only the payloads of XNNPACK and Vulkan
    /// show the keys that they refer to: if a remaining method has a payload of another backend, all named data stays, and
    /// a note reports that.
    ///
    /// ```
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
    /// let mut pte = executorch_format::Pte::parse(&file)?;
    /// pte.select(|name| name == "encode")?;
    /// assert_eq!(pte.methods().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if no method would be left.
    pub fn select(&mut self, mut keep: impl FnMut(&str) -> bool) -> Result<EditReport> {
        let kept: Vec<bool> = self.methods().iter().map(|plan| keep(plan.name())).collect();
        select::select(self, &kept)
    }

    /// Returns the methods that return a constant, and the named data under `metadata.`.
    ///
    /// ```
    /// # fn main() -> executorch_format::Result<()> {
    /// use executorch_format::Pte;
    /// use executorch_format::edit::MetadataValue;
    ///
    /// let file = std::fs::read("tests/data/1.5.1/add/add.pte")?;
    /// let mut pte = Pte::parse(&file)?;
    /// pte.set_metadata("get_vocab_size", MetadataValue::Int(32_000))?;
    /// pte.set_metadata("metadata.author", MetadataValue::String("someone".into()))?;
    /// let names: Vec<_> = pte.metadata().iter().map(|entry| entry.name).collect();
    /// assert_eq!(names, ["get_vocab_size", "metadata.author"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn metadata(&self) -> Vec<Metadata<'_>> {
        metadata::entries(self)
    }

    /// Sets or adds an entry: named data if the name starts with `metadata.`, otherwise a method that returns the
    /// value. A new method is added after all others, as the exporter does.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if a method with this name computes something,
    /// or if named data cannot store the value.
    pub fn set_metadata(&mut self, name: &str, value: MetadataValue) -> Result<EditReport> {
        metadata::set(self, name, value)
    }

    /// Removes an entry.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the entry does not exist.
    pub fn remove_metadata(&mut self, name: &str) -> Result<EditReport> {
        metadata::remove(self, name)
    }

    /// Returns the keys by which payloads of XNNPACK look up constants. XNNPACK caches packed weights by key: changed content
    /// needs a new key.
    ///
    /// ```
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear_xnnpack/linear_xnnpack.pte")?;
    /// let pte = executorch_format::Pte::parse(&file)?;
    /// // The exporter's keys are the SHA-256 of what they name.
    /// assert!(pte.xnnpack_keys().iter().all(|key| key.len() == 64));
    /// # Ok(())
    /// # }
    /// ```
    pub fn xnnpack_keys(&self) -> BTreeSet<String> {
        payload_keys::of_xnnpack(self)
    }
}
