//! Some of a program's methods.

use super::metadata::METADATA_PREFIX;
use super::payload_keys::PayloadKeys;
use super::report::{Action, EditReport, Subject};
use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::file::references::DataList;
use crate::schema::program::DataLocation;
use alloc::{format, string::String, vec::Vec};

impl Pte<'_> {
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
        self.select_methods(&kept)
    }

    fn select_methods(&mut self, kept: &[bool]) -> Result<EditReport> {
        let mut report = EditReport::default();
        if !kept.contains(&true) {
            return Err(Error::unwritable("no method would be left"));
        }
        if !kept.contains(&false) {
            return Ok(report);
        }
        let stays = |method: usize| kept.get(method) == Some(&true);
        let named = self.only_named_by(&|method| !stays(method), &stays, &mut report.notes);
        self.change(|pte| {
            let before = DataList::ALL.map(|list| pte.used_entries(list));
            let sizes = DataList::ALL.map(|list| pte.entries(list));
            let segments = pte.segment_users();
            let inline = pte.payloads().into_iter().filter(|payload| payload.location == DataLocation::INLINE);
            let inline: Vec<u32> = inline.map(|payload| payload.index).collect();
            // What nothing used before is not this operation's.
            let unused = (0..pte.program.backend_delegate_data().len() as u32).filter(|index| !inline.contains(index));
            let unused: Vec<u32> = unused.collect();

            for (plan, kept) in pte.methods().iter().zip(kept) {
                if !kept {
                    report.add(Action::Removed, Subject::Method, plan.name(), Vec::new(), [0, 0]);
                }
            }
            let mut kept = kept.iter();
            pte.program.execution_plan.get_or_insert_default().retain(|_| kept.next() == Some(&true));

            for ((list, before), entries) in DataList::ALL.into_iter().zip(before).zip(sizes) {
                let after = pte.used_entries(list);
                let gone: Vec<u32> = before.into_iter().filter(|index| after.binary_search(index).is_err()).collect();
                pte.remove_entries(list, entries?, &gone, &mut report)?;
            }
            pte.remove_payloads(&unused, &mut report);
            let after = pte.segment_users();
            for ((before, after), segment) in segments.iter().zip(&after).zip(pte.program.segments()) {
                if *before > 0 && *after == 0 {
                    report.add(Action::Removed, Subject::Payload, "", Vec::new(), [segment.size, 0]);
                }
            }
            for index in &named {
                if let Some(named) = pte.named_data().get(*index) {
                    let size = pte.named_data_ref(named)?.size();
                    report.add(Action::Removed, Subject::NamedData, named.key(), Vec::new(), [size, 0]);
                }
            }
            pte.remove_unused_segments(&segments);
            pte.remove_named_data(&named);
            Ok(())
        })?;
        Ok(report)
    }

    /// The indices of named data that payloads of methods that go name, and none of those that stay.
    fn only_named_by(
        &self,
        goes: &dyn Fn(usize) -> bool,
        stays: &dyn Fn(usize) -> bool,
        notes: &mut Vec<String>,
    ) -> Vec<usize> {
        let named = self.named_data().iter().enumerate();
        let named = named.filter(|(_, named)| !named.key().starts_with(METADATA_PREFIX));
        if named.clone().next().is_none() {
            return Vec::new();
        }
        let payloads = self.open_payloads();
        let (gone, kept) = (self.payload_keys(&payloads, goes), self.payload_keys(&payloads, stays));
        let unknown = |keys: &PayloadKeys| keys.unknown.iter().cloned().collect::<Vec<_>>().join(", ");
        if !kept.unknown.is_empty() {
            let ids = unknown(&kept);
            notes.push(format!("all named data stays: payloads of {ids} do not say which keys they look up"));
            return Vec::new();
        }
        if !gone.unknown.is_empty() {
            let ids = unknown(&gone);
            notes.push(format!("named data that only payloads of {ids} look up stays: they do not say which keys"));
        }
        named
            .filter(|(_, named)| gone.named.contains(named.key()) && !kept.named.contains(named.key()))
            .map(|(index, _)| index)
            .collect()
    }
}
