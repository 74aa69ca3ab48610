//! Rules about the root table: its lists, and the items that they refer to. They follow the runtime's `program.cpp` and
//! `pte_data_map.cpp`.

use super::report::{Name, Report};
use super::rule::{self, Rule};
use crate::error::counted;
use crate::file::pte::Pte;
use crate::flatbuffer::any;
use crate::path::Path;
use crate::schema::Program;
use alloc::{format, vec::Vec};

/// The default limit of FlatBuffers' verifier, which the runtime uses. The verifier's other limit, a depth of 64, cannot be
/// reached in this schema.
const MAX_TABLES: usize = 1_000_000;

pub(super) fn check(pte: &Pte<'_>, looked_up: &dyn Fn() -> Vec<bool>, report: &mut Report<'_>) {
    let program = &pte.program;
    version(program.version, rule::PROGRAM_VERSION, report);
    execution_plan(program, report);
    table_limit(program, report);
    constant_buffer(program, report);
    constants_twice(program, report);
    constant_segment(program, report);
    named_data(pte, looked_up, report);
}

pub(super) fn constant_offsets<'t>(program: &'t Program<'_>) -> &'t [u64] {
    program.constant_segment.as_ref().and_then(|segment| segment.offsets.as_deref()).unwrap_or_default()
}

pub(super) fn segment_count(program: &Program<'_>) -> usize {
    program.segments().len()
}

/// Checks the schema version of a `.pte` or `.ptd`.
pub(super) fn version(version: u32, rule: &'static Rule, report: &mut Report<'_>) {
    if version != 0 {
        let found = format!("{version}, expected 0: the runtime refuses other versions");
        report.add(rule, &Path::ROOT.field("version"), found);
    }
}

fn execution_plan(program: &Program<'_>, report: &mut Report<'_>) {
    if program.execution_plan.is_none() {
        let path = Path::ROOT;
        report.add(
            rule::EXECUTION_PLAN,
            &path.field("execution_plan"),
            format_args!("absent, expected a list of methods"),
        );
    }
}

fn table_limit(program: &Program<'_>, report: &mut Report<'_>) {
    if any::most_tables(program) <= MAX_TABLES {
        return;
    }
    let tables = any::tables(program);
    if tables > MAX_TABLES {
        let found = format!("{tables} tables, expected at most {MAX_TABLES}: the runtime's verifier refuses more");
        report.add(rule::TABLE_LIMIT, &Path::ROOT, found);
    }
}

/// Checks constants in the FlatBuffer. The released runtime is built without support for constants as they were before ExecuTorch
/// 0.4 (`ET_ENABLE_DEPRECATED_CONSTANT_BUFFER=0`), and assumes that a program without constant offsets has such constants.
fn constant_buffer(program: &Program<'_>, report: &mut Report<'_>) {
    let path = Path::ROOT;
    let buffers = program.constant_buffer().len();
    match constant_offsets(program).len() {
        0 => {
            let found = format!(
                "no offsets, expected at least entry 0: the constants are in constant_buffer ({}), as before ExecuTorch 0.4: move them into a segment",
                counted(buffers, "item")
            );
            report.add(rule::CONSTANT_BUFFER, &path.field("constant_segment").field("offsets"), found);
        }
        // The runtime assumes that such a program has no constants.
        1 if buffers > 1 && report.is_strict() => {
            let found = format!("{}, expected none in a program with a constant segment", counted(buffers, "item"));
            report.add(rule::CONSTANT_BUFFER, &path.field("constant_buffer"), found);
        }
        _ => (),
    }
}

fn constants_twice(program: &Program<'_>, report: &mut Report<'_>) {
    let (buffers, offsets) = (program.constant_buffer().len(), constant_offsets(program).len());
    if offsets > 1 && buffers > 0 {
        let path = Path::ROOT;
        let found =
            format!("{}, expected none: constant_segment has {}", counted(buffers, "item"), counted(offsets, "offset"));
        report.add(rule::CONSTANTS_TWICE, &path.field("constant_buffer"), found);
    }
}

fn constant_segment(program: &Program<'_>, report: &mut Report<'_>) {
    let (Some(constants), segments) = (&program.constant_segment, segment_count(program)) else {
        return;
    };
    if constant_offsets(program).len() > 1 && constants.segment_index as usize >= segments {
        let path = Path::ROOT;
        let segments = counted(segments, "segment");
        let found = format!("segment {} does not exist: the program has {segments}", constants.segment_index);
        report.add(rule::CONSTANT_SEGMENT, &path.field("constant_segment").field("segment_index"), found);
    }
}

fn named_data(pte: &Pte<'_>, looked_up: &dyn Fn() -> Vec<bool>, report: &mut Report<'_>) {
    let program = &pte.program;
    let root = Path::ROOT;
    if program.named_data.is_some() && program.segments.is_none() {
        let found = "absent, expected a list, because named_data refers to it";
        return report.add(rule::NAMED_DATA_SEGMENT, &root.field("segments"), found);
    }
    let segments = segment_count(program);
    let mut kept = None;
    for (index, named) in program.named_data().iter().enumerate() {
        let (key, path) = (named.key.as_deref(), root.item("named_data", index));
        named_data_key(key, &path, report);
        let is_inside = (named.segment_index as usize) < segments;
        let mut is_looked_up = || kept.get_or_insert_with(looked_up).get(index) == Some(&true);
        // The runtime detects this only when a delegate requests the data.
        if is_inside || report.concerns(is_looked_up()) {
            named_data_segment(key, named.segment_index, segments, &path, report);
        }
    }
}

/// Checks the key of an entry of `named_data`, of a `.pte` or `.ptd`.
pub(super) fn named_data_key(key: Option<&str>, path: &Path<'_>, report: &mut Report<'_>) {
    if key.is_none() {
        report.add(rule::NAMED_DATA_KEY, &path.field("key"), format_args!("absent, expected a name"));
    }
}

/// Checks the segment of an entry of `named_data`, of a `.pte` or `.ptd`.
pub(super) fn named_data_segment(
    key: Option<&str>,
    segment: u32,
    segments: usize,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    if segment as usize >= segments {
        let offset = report.offset(key.map(str::as_bytes));
        let name = Name(key.unwrap_or_default());
        let found =
            format!("segment {segment} of {name} does not exist: the file has {}", counted(segments, "segment"));
        report.add_at(rule::NAMED_DATA_SEGMENT, &path.field("segment_index"), offset, found);
    }
}
