//! What a release does not need.

use super::report::{Action, EditReport, Subject};
use crate::error::Result;
use crate::file::pte::Pte;
use crate::file::references::{DataList, tensors_mut};
use crate::keyed;
use crate::schema::program::{DataLocation, ExtraTensorInfo};
use crate::setters::setters;
use crate::write::entries::Entries;
use crate::write::relayout::PteOptions;
use alloc::{format, vec::Vec};

/// What is to be stripped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Strip {
    /// Where in the Python source each instruction came from.
    pub stack_traces: bool,
    /// The names of constants in the file. The runtime finds external tensors by theirs, apps mutable ones (`Method::get_attribute`):
    /// those stay.
    pub names: bool,
    /// Constants, initial states, payloads and segments that nothing refers to.
    pub unreferenced: bool,
    /// Bytes between blobs beyond what their alignment needs, and bytes after the last one.
    pub padding: bool,
}

setters! {
    Strip {
        ;
        stack_traces = with_stack_traces,
        names = with_names,
        unreferenced = with_unreferenced,
        padding = with_padding,
    }
}

impl Strip {
    /// All that cannot change what the model computes.
    pub const ALL: Self = Self { stack_traces: true, names: true, unreferenced: true, padding: true };
}

impl<'a> Pte<'a> {
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
        let before = self.image()?.size();
        let (mut stripped, mut report) = self.stripped(what)?;
        let mut after = stripped.image()?.size();
        if what.unreferenced && after > before && !report.changes.is_empty() {
            let grown = after - before;
            (stripped, report) = self.stripped(&Strip { unreferenced: false, ..*what })?;
            after = stripped.image()?.size();
            report.notes.push(format!(
                "what nothing refers to stays: without it the file would have to be laid out so that it is {grown} bytes larger"
            ));
        }
        if report.changes.is_empty() {
            if !what.padding || after >= before {
                return Ok(report);
            }
            // Nothing else was removed, so the difference is padding.
            report.add(Action::Removed, Subject::Padding, "", Vec::new(), [before - after, 0]);
        }
        *self = stripped;
        Ok(report)
    }

    /// A copy without what is to go, laid out again.
    fn stripped(&self, what: &Strip) -> Result<(Self, EditReport)> {
        let mut report = EditReport::default();
        let mut stripped = self.clone();
        let options = self.layout_to_keep()?;
        if what.stack_traces {
            stripped.strip_stack_traces(&mut report);
        }
        if what.names {
            stripped.strip_names(&mut report);
        }
        if what.unreferenced {
            stripped.strip_unreferenced(&mut report)?;
        }
        if report.changes.is_empty() && !what.padding {
            return Ok((stripped, report));
        }
        let constant_alignment = what.padding.then(|| self.entry_alignment(DataList::Constants));
        let constant_alignment = constant_alignment.or(options.constant_alignment);
        Ok((stripped.lay_out(&PteOptions { constant_alignment, ..options })?, report))
    }

    fn strip_stack_traces(&mut self, report: &mut EditReport) {
        for plan in self.program.execution_plan.as_deref_mut().unwrap_or_default() {
            let mut frames = 0;
            for chain in plan.chains.as_deref_mut().unwrap_or_default() {
                let traces = chain.stacktrace.take().unwrap_or_default();
                frames += traces.iter().map(|trace| trace.items().len()).sum::<usize>();
            }
            if frames > 0 {
                report.add(Action::Removed, Subject::StackTraces, plan.name(), Vec::new(), [0, 0]);
                report.notes.push(format!("{} had stack traces of {frames} frames", plan.name()));
            }
        }
    }

    fn strip_names(&mut self, report: &mut EditReport) {
        let (mut names, mut bytes) = (0, 0u64);
        for tensor in tensors_mut(&mut self.program) {
            // A tensor with neither data nor planned memory gets its memory by its name.
            if DataList::of(tensor) != Some(DataList::Constants) {
                continue;
            }
            let Some(extra) = tensor.extra_tensor_info.as_deref_mut() else { continue };
            if let Some(name) = extra.fully_qualified_name.take() {
                names += 1;
                bytes = bytes.saturating_add(name.len() as u64);
            }
            if *extra == ExtraTensorInfo::default() {
                tensor.extra_tensor_info = None;
            }
        }
        if names > 0 {
            report.add(Action::Removed, Subject::Names, "", Vec::new(), [bytes, 0]);
        }
    }

    fn strip_unreferenced(&mut self, report: &mut EditReport) -> Result<()> {
        for list in DataList::ALL {
            let (entries, used) = (self.entries(list)?, self.used_entries(list));
            let unused =
                (1..=entries.at.len() as u32).filter(|index| used.binary_search(index).is_err()).collect::<Vec<_>>();
            self.remove_entries(list, entries, &unused, report)?;
        }
        self.remove_payloads(&[], report);
        let users = self.segment_users();
        let unused = |index: usize| users.get(index) == Some(&0);
        let sizes: Vec<u64> = self.program.segments().iter().map(|segment| segment.size).collect();
        for (_, size) in sizes.iter().enumerate().filter(|(index, _)| unused(*index)) {
            report.add(Action::Removed, Subject::Segment, "", Vec::new(), [*size, 0]);
        }
        if (0..users.len()).any(unused) {
            self.remove_segments(&unused);
        }
        Ok(())
    }

    /// The entries of a list that tensors refer to, sorted.
    pub(super) fn used_entries(&self, list: DataList) -> Vec<u32> {
        let mut used = Vec::new();
        for plan in self.methods() {
            for (_, tensor) in plan.tensors() {
                if DataList::of(tensor) == Some(list) {
                    used.push(tensor.data_buffer_idx);
                }
            }
        }
        keyed::set(used)
    }

    /// Removes entries of a list that no tensor refers to any more. `entries` is what the list held while some did.
    pub(super) fn remove_entries(
        &mut self,
        list: DataList,
        mut entries: Entries<'a>,
        gone: &[u32],
        report: &mut EditReport,
    ) -> Result<()> {
        for index in gone {
            let size = entries.bytes(*index).map_or(0, |bytes| bytes.len() as u64);
            report.add(Action::Removed, list.into(), "", Vec::new(), [size, 0]);
            entries.remove(*index);
        }
        match gone {
            [] => Ok(()),
            _ => self.put_entries(list, entries, self.entry_alignment(list).into()),
        }
    }

    /// Removes inline payloads that no delegate refers to, except those at the indices given.
    pub(super) fn remove_payloads(&mut self, stay: &[u32], report: &mut EditReport) {
        let inline = self.payloads().into_iter().filter(|payload| payload.location == DataLocation::INLINE);
        let used = keyed::set(inline.map(|payload| payload.index).chain(stay.iter().copied()).collect::<Vec<u32>>());
        let payloads = self.program.backend_delegate_data();
        let gone: Vec<u64> = (0u32..)
            .zip(payloads)
            .filter(|(index, _)| used.binary_search(index).is_err())
            .map(|(_, payload)| payload.data().len() as u64)
            .collect();
        if gone.is_empty() {
            return;
        }
        for size in gone {
            report.add(Action::Removed, Subject::Payload, "", Vec::new(), [size, 0]);
        }
        self.remove_inline_payloads(&|index| used.binary_search(&index).is_err());
    }
}
