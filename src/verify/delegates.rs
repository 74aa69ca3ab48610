//! Rules about delegates: the backend's name, the payload, the compile specs. They follow the runtime's `method.cpp`
//! (`BackendDelegate::Init`).

use super::program::segment_count;
use super::report::{Name, Report};
use super::rule;
use crate::error::counted;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::program::{BackendDelegate, BackendDelegateDataReference, DataLocation, ExecutionPlan};
use alloc::format;

pub(super) fn check(pte: &Pte<'_>, plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (index, delegate) in plan.delegates().iter().enumerate() {
        let path = &path.item("delegates", index);
        if delegate.id.is_none() {
            report.add(rule::DELEGATE_ID, &path.field("id"), format_args!("absent, expected a backend's name"));
        }
        match delegate.processed {
            Some(processed) => payload(pte, processed, &path.field("processed"), report),
            None => {
                let found = "absent, expected a reference to the payload";
                report.add(rule::DELEGATE_PROCESSED, &path.field("processed"), found);
            }
        }
        compile_specs(delegate, path, report);
    }
}

fn payload(pte: &Pte<'_>, processed: BackendDelegateDataReference, path: &Path<'_>, report: &mut Report<'_>) {
    let index = processed.index;
    let program = &pte.program;
    match processed.location {
        DataLocation::INLINE => {
            let Some(list) = program.backend_delegate_data.as_deref() else {
                let found = format!("inline payload {index} does not exist: backend_delegate_data is absent");
                return report.add(rule::DELEGATE_INLINE_DATA, &path.field("index"), found);
            };
            match list.get(index as usize) {
                None => {
                    let found = format!(
                        "inline payload {index} does not exist: backend_delegate_data has {}",
                        counted(list.len(), "item")
                    );
                    report.add(rule::DELEGATE_INDEX, &path.field("index"), found);
                }
                Some(data) if data.data.is_none() => {
                    let found = format!("the data of inline payload {index} is absent");
                    report.add(rule::DELEGATE_INLINE_DATA, &path.field("index"), found);
                }
                Some(_) => (),
            }
        }
        DataLocation::SEGMENT => {
            let segments = segment_count(program);
            let empty = program.segments().get(index as usize).is_some_and(|segment| segment.size == 0);
            if index as usize >= segments {
                let found = format!("segment {index} does not exist: the program has {}", counted(segments, "segment"));
                report.add(rule::DELEGATE_INDEX, &path.field("index"), found);
            } else if empty && report.has_file() && pte.segment_base_offset() == 0 {
                let found = format!("the payload is in segment {index}, but no header says where the segments start");
                report.add(rule::SEGMENT_BASE, &path.field("index"), found);
            }
        }
        other => {
            let found = format!("{}, expected 0 (INLINE) or 1 (SEGMENT)", other.0);
            report.add(rule::DELEGATE_LOCATION, &path.field("location"), found);
        }
    }
}

fn compile_specs(delegate: &BackendDelegate<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(specs) = delegate.compile_specs.as_deref() else {
        let found = "absent, expected a list (it may be empty): runtimes before 1.3 crash";
        return report.add(rule::COMPILE_SPECS, &path.field("compile_specs"), found);
    };
    for (index, spec) in specs.iter().enumerate() {
        let path = path.item("compile_specs", index);
        if spec.key.is_none() {
            report.add(rule::COMPILE_SPECS, &path.field("key"), format_args!("absent, expected a string"));
        }
        if spec.value.is_none() {
            let name = Name(spec.key());
            let found = format!("absent, expected the value of {name} (it may be empty)");
            report.add(rule::COMPILE_SPEC, &path.field("value"), found);
        }
    }
}
