//! Data from `.ptd` files into a program.

use super::externalize::{default_key, key_of_method};
use super::report::{Action, EditReport, Subject, User};
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::references::{DataList, tensor_mut};
use crate::keyed::Keyed;
use crate::names::shortened;
use crate::schema::program::{ExecutionPlan, ExtraTensorInfo, NamedData, Tensor, TensorDataLocation};
use crate::validate::{Level, Severity};
use alloc::{borrow::Cow, format, vec::Vec};

/// Where a key is: which file, and which of its entries.
type Place = (usize, usize);

/// The tensors that take one key, as constants or as initial states.
type Groups = Keyed<(DataList, Place), Vec<(usize, usize)>>;

/// Which bytes of which file: what shares them shares them still.
type Origin = (usize, u32, u64, usize);

impl<'a> Pte<'a> {
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
    pub fn internalize(&mut self, data: &[Ptd<'a>], mut choose: impl FnMut(&str) -> bool) -> Result<EditReport> {
        self.check_pair(data)?;
        let mut report = EditReport::default();
        let mut keys = Keyed::new();
        let mut rest = Vec::new();
        for (file, ptd) in data.iter().enumerate() {
            for (index, entry) in ptd.entries().enumerate() {
                keys.insert(entry.key(), (file, index));
                rest.push((entry.key(), (file, index)));
            }
        }
        let mut groups = Groups::new();
        let (mut named, mut made_up) = (Keyed::new(), Keyed::new());
        for (method, plan) in self.methods().iter().enumerate() {
            for (value, tensor) in plan.tensors().filter(|(_, tensor)| tensor.is_external()) {
                let name = tensor.fully_qualified_name().unwrap_or_default();
                let Some(place) = keys.get(name).filter(|_| choose(name)) else {
                    named.insert(name, false);
                    continue;
                };
                named.insert(name, true);
                if is_made_up(name, plan, value) {
                    made_up.add(*place);
                }
                let list = if tensor.allocation_info.is_some() { DataList::States } else { DataList::Constants };
                groups.entry((list, *place)).push((method, value));
            }
        }
        rest.retain(|(key, _)| !named.contains(key));
        let delegates = self.methods().iter().any(|plan| !plan.delegates().is_empty());
        let left = rest.len();
        rest.retain(|(key, _)| delegates && choose(key));
        if let Some(left @ 1..) = left.checked_sub(rest.len()) {
            let keys = if left == 1 { "key is" } else { "keys are" };
            report
                .notes
                .push(format!("{left} {keys} not taken: nothing in the program names them, or they were not chosen"));
        }
        let rest: Vec<Place> = rest.into_iter().map(|(_, place)| place).collect();
        let sources = data.iter().map(Ptd::take_entries).collect::<Result<Vec<_>>>()?;
        self.change(|pte| {
            pte.take_tensors(data, &sources, &groups, &made_up, &mut report)?;
            pte.take_named(&sources, &rest, &mut report);
            Ok(())
        })?;
        Ok(report)
    }

    fn check_pair(&self, data: &[Ptd<'a>]) -> Result<()> {
        let findings = self.validate_with(data, Level::Strict);
        let external = self.methods().iter().any(|plan| plan.tensors().any(|(_, tensor)| tensor.is_external()));
        match findings.iter().find(|finding| finding.severity == Severity::Error || (data.is_empty() && external)) {
            Some(finding) => Err(Error::reference(format!("{}: {}", finding.path, finding.message))),
            None => Ok(()),
        }
    }

    fn take_tensors(
        &mut self,
        data: &[Ptd<'a>],
        sources: &[Vec<super::ptd::Source<'a>>],
        groups: &Groups,
        made_up: &Keyed<Place, ()>,
        report: &mut EditReport,
    ) -> Result<()> {
        for list in DataList::ALL {
            let alignment = self.entry_alignment(list);
            let mut entries = self.entries(list)?;
            let mut stored = Keyed::<Origin, u32>::new();
            let mut indices = Vec::new();
            for ((of, (file, index)), tensors) in groups.sorted() {
                if *of != list {
                    continue;
                }
                let ptd = data.get(*file);
                let entry = ptd.and_then(|ptd| ptd.entry(*index));
                let source = sources.get(*file).and_then(|entries| entries.get(*index));
                let (Some(ptd), Some(entry), Some(source)) = (ptd, entry, source) else { continue };
                // The shape is the tensors', as the pair check found; the bytes are as many.
                ptd.tensor_view(&entry)?;
                let origin = (*file, entry.segment_index, entry.offset, source.entry.bytes.len());
                let data_buffer_idx = *stored.or_insert_with(origin, || entries.add(source.entry.bytes.clone()));
                indices.push((data_buffer_idx, tensors, made_up.contains(&(*file, *index))));
                let users = tensors.iter().map(|(method, value)| self.user(*method, *value)).collect();
                let size = source.entry.bytes.len() as u64;
                report.add(Action::Internalized, list.into(), source.entry.key.as_str(), users, [0, size]);
            }
            if indices.is_empty() {
                continue;
            }
            for (data_buffer_idx, tensors, made_up) in indices {
                for (method, value) in tensors {
                    if let Some(tensor) = tensor_mut(&mut self.program, *method, *value) {
                        make_internal(tensor, data_buffer_idx, made_up);
                    }
                }
            }
            self.put_entries(list, entries, alignment.into())?;
        }
        Ok(())
    }

    fn user(&self, method: usize, value: usize) -> User {
        User::Value { method: shortened(self.methods().get(method).map_or("", |plan| plan.name())).into(), value }
    }

    fn take_named(&mut self, sources: &[Vec<super::ptd::Source<'a>>], rest: &[Place], report: &mut EditReport) {
        let mut stored = Keyed::new();
        for (file, index) in rest {
            let Some(source) = sources.get(*file).and_then(|entries| entries.get(*index)) else { continue };
            let (key, bytes) = (source.entry.key.clone(), Cow::clone(&source.entry.bytes));
            let size = bytes.len() as u64;
            let segment_index = *stored.or_insert_with((*file, source.segment_index, source.offset), || {
                let index = self.add_segment(bytes);
                self.set_segment_alignment(index, source.entry.alignment.into());
                index
            });
            report.add(Action::Internalized, Subject::NamedData, key.as_str(), Vec::new(), [0, size]);
            self.program.named_data.get_or_insert_default().push(NamedData { key: Some(key), segment_index });
        }
    }
}

/// Whether [`Pte::externalize`] made that key: now, or without zeros before the number, as it did once.
fn is_made_up(key: &str, plan: &ExecutionPlan<'_>, value: usize) -> bool {
    *key == default_key(plan, value) || *key == format!("{}.{value}", key_of_method(plan.name()))
}

fn make_internal(tensor: &mut Tensor<'_>, data_buffer_idx: u32, made_up: bool) {
    tensor.data_buffer_idx = data_buffer_idx;
    let Some(extra) = tensor.extra_tensor_info.as_deref_mut() else { return };
    extra.location = TensorDataLocation::SEGMENT;
    // List 0 is the one that initial states come from.
    extra.mutable_data_segments_idx = 0;
    if made_up {
        extra.fully_qualified_name = None;
    }
    if *extra == ExtraTensorInfo::default() {
        tensor.extra_tensor_info = None;
    }
}
