//! Rules about ETDumps. They follow Python's `Inspector`, which reads ETDumps.

use super::report::Report;
use super::{Finding, Level, rule, trailing, wire};
use crate::error::counted;
use crate::file::etdp::{Etdp, PREFIX};
#[cfg(doc)]
use crate::file::pte::Pte;
use crate::flatbuffer::read::Record;
use crate::path::Path;
use crate::schema::ETDump;
use crate::schema::etdump::{Event, ProfileEvent, Tensor, Value};
use alloc::{format, vec::Vec};

impl Etdp<'_> {
    /// Checks the file at `level` and returns everything that is wrong, like [`Pte::verify`].
    pub fn verify(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            check(self, &mut report);
            wire::check_at(PREFIX as u32, &self.etdump, ETDump::DESCRIPTION, self.source.as_ref(), &mut report);
        }
        report.finish()
    }
}

pub(super) fn check(etdp: &Etdp<'_>, report: &mut Report<'_>) {
    if let Some(source) = &etdp.source {
        trailing::check(
            &source.bytes,
            source.metadata_size,
            "the end that the size prefix states",
            &Path::ROOT,
            report,
        );
        trailing::in_source(PREFIX as u32, Some(source), ETDump::DESCRIPTION, report);
    }
    for (index, run) in etdp.etdump.run_data().iter().enumerate() {
        let path = &Path::ROOT.item("run_data", index);
        for (index, event) in run.events().iter().enumerate() {
            check_event(event, &path.item("events", index), report);
        }
    }
}

fn check_event(event: &Event<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Event { profile_event, allocation_event, debug_event } = event;
    let count = [profile_event.is_some(), allocation_event.is_some(), debug_event.is_some()];
    let count = count.into_iter().filter(|present| *present).count();
    if count != 1 {
        let found = format!("{count} of profile_event, allocation_event and debug_event, expected exactly one");
        report.add(rule::ETDUMP_EVENT, path, found);
    }
    if let Some(ProfileEvent { start_time, end_time, .. }) =
        profile_event.as_ref().filter(|event| event.end_time < event.start_time)
    {
        let found = format!("{end_time}, expected {start_time} or later, when the event starts");
        report.add(rule::ETDUMP_TIME, &path.field("profile_event.end_time"), found);
    }
    if let Some(value) = debug_event.as_ref().and_then(|event| event.debug_entry.as_ref()) {
        check_value(value, &path.field("debug_event.debug_entry"), report);
    }
}

fn check_value(value: &Value<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if value.val.name().is_none() {
        let found = format!("{}, expected 0 to 7", value.val.0);
        report.add(rule::UNKNOWN_ENUM, &path.field("val"), found);
    }
    if let Some(tensor) = &value.tensor {
        check_tensor(tensor, &path.field("tensor"), report);
    }
    let list = value.tensor_list.as_ref().map(|list| list.tensors()).unwrap_or_default();
    for (index, tensor) in list.iter().enumerate() {
        check_tensor(tensor, &path.item("tensor_list.tensors", index), report);
    }
}

/// Checks the offset, sizes and strides, which locate the bytes in the debug buffer.
fn check_tensor(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (sizes, strides) = (tensor.sizes(), tensor.strides());
    if sizes.len() != strides.len() {
        let found = format!("{}, expected {}, as many as sizes", counted(strides.len(), "stride"), sizes.len());
        report.add_at(rule::ETDUMP_TENSOR, &path.field("strides"), report.offset(Some(strides)), found);
    }
    // The writer gives an empty tensor the offset -1.
    if tensor.offset < 0 && !sizes.contains(&0) {
        let found = format!("{}, expected a place in the debug buffer", tensor.offset);
        report.add(rule::ETDUMP_TENSOR, &path.field("offset"), found);
    }
}
