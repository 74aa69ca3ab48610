//! All that can be done to a program.

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
    /// Gives a constant, an initial state or named data other bytes. What shares the old ones keeps them, and the report names
    /// it, unless [`NewData::shared`] asks for all.
    ///
    /// A tensor's new data has its scalar type and sizes; its file keeps its layout, byte for byte outside the data, unless the
    /// old bytes stay for others. Named data may change its size.
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
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) where type, sizes or dim order of any tensor that gets the data are
    /// others, with [`ErrorKind::Reference`](crate::ErrorKind::Reference) where the target is not in the file, and with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where XNNPACK looks the data up and [`NewData::key`] is missing or taken.
    pub fn replace(&mut self, target: &Selector<'_>, new: &NewData<'a>) -> Result<EditReport> {
        replace::replace(self, target, new)
    }

    /// Stores equal blobs once: among constants, among initial states, and among delegate payloads and named data. The report has each
    /// copy that is gone.
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

    /// Moves constants, initial states and named data into a `.ptd`, which is returned. `choose` gets each candidate and returns its
    /// key, usually [`Candidate::key`], or `None` to leave it where it is. All tensors that share a constant go with it. Named data keeps
    /// its key, by which delegates look for it.
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
    /// assert_eq!(pte.validate_with(&[weights], Default::default()), []);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where a key would name two different blobs, in the `.ptd` or together with
    /// what the program already has under that key, and as [`lay_out`](Self::lay_out).
    pub fn externalize(
        &mut self,
        options: &PtdOptions,
        mut choose: impl FnMut(&Candidate<'_>) -> Option<String>,
    ) -> Result<(Ptd<'a>, EditReport)> {
        externalize::externalize(self, options, &mut choose)
    }

    /// Calls `visit` with each candidate of [`externalize`](Self::externalize).
    ///
    /// Fails where the shape of a tensor with data has no size.
    pub fn candidates(&self, visit: impl FnMut(&Candidate<'_>)) -> Result<()> {
        externalize::candidates(self, visit)
    }

    /// Takes data from `.ptd` files into the program: what its external tensors name, and, where it has delegates, every other key,
    /// since those look keys up by names of their own. `choose` selects the keys.
    ///
    /// A tensor keeps its name, except one that [`externalize`](Self::externalize) made up.
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
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) where [`validate_with`](Self::validate_with) finds an error in
    /// the program with these files.
    pub fn internalize(&mut self, data: &[Ptd<'a>], choose: impl FnMut(&str) -> bool) -> Result<EditReport> {
        internalize::internalize(self, data, choose)
    }

    /// Removes what the program does not need to run.
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
    /// What nothing refers to stays where the file would be larger without it, as where constants share a segment with other data and
    /// would get one of their own: a note says so.
    ///
    /// Fails as [`lay_out`](Self::lay_out) does.
    pub fn strip(&mut self, what: &Strip) -> Result<EditReport> {
        strip::strip(self, what)
    }

    /// Keeps the methods whose names `keep` accepts, and removes the data that only others used: constants, initial states, payloads,
    /// and named data that only payloads of theirs name. Which keys a payload names can be read in those of XNNPACK and Vulkan only: where a
    /// method that stays has another one, all named data stays, and a note says so.
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
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where no method would be left.
    pub fn select(&mut self, mut keep: impl FnMut(&str) -> bool) -> Result<EditReport> {
        let kept: Vec<bool> = self.methods().iter().map(|plan| keep(plan.name())).collect();
        select::select(self, &kept)
    }

    /// The methods that return a constant, and the named data under `metadata.`.
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

    /// Sets an entry, or adds it: named data where the name starts with `metadata.`, else a method that returns the value,
    /// after all others, as the exporter has it.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where a method of that name computes something, or named data has no
    /// form for the value.
    pub fn set_metadata(&mut self, name: &str, value: MetadataValue) -> Result<EditReport> {
        metadata::set(self, name, value)
    }

    /// Removes an entry.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) where there is none of that name.
    pub fn remove_metadata(&mut self, name: &str) -> Result<EditReport> {
        metadata::remove(self, name)
    }

    /// The keys under which payloads of XNNPACK find their constants. Its cache of packed weights goes by them: content that changes
    /// needs another key.
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
