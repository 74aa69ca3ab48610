//! Rules about the root: its lists, and what they refer to. As in the runtime's `program.cpp` and `pte_data_map.cpp`.

use super::report::{Name, Report};
use super::rule::{self, Rule};
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::Program;
use crate::schema::any::{self, Value};
use alloc::format;

/// The runtime asks FlatBuffers' verifier for no other limit than its own. That of 64 levels is out of this schema's reach.
const MOST_TABLES: usize = 1_000_000;

pub(super) fn check(pte: &Pte<'_>, report: &mut Report<'_>) {
    let program = &pte.program;
    version(program.version, rule::PROGRAM_VERSION, report);
    execution_plan(program, report);
    table_limit(program, report);
    constant_buffer(program, report);
    constants_twice(program, report);
    constant_segment(program, report);
    named_data(program, report);
}

pub(super) fn constant_offsets<'t>(program: &'t Program<'_>) -> &'t [u64] {
    program.constant_segment.as_ref().and_then(|segment| segment.offsets.as_deref()).unwrap_or_default()
}

pub(super) fn segment_count(program: &Program<'_>) -> usize {
    program.segments().len()
}

/// The schema version of either kind of file.
pub(super) fn version(version: u32, rule: &'static Rule, report: &mut Report<'_>) {
    if version != 0 {
        let found = format!("{version}, expected 0: the runtime refuses any other");
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
    let tables = tables(program);
    if tables > MOST_TABLES {
        let found = format!("{tables} tables, expected at most {MOST_TABLES}: the runtime's verifier refuses more");
        report.add(rule::TABLE_LIMIT, &Path::ROOT, found);
    }
}

/// How many tables the program is made of.
fn tables(program: &Program<'_>) -> usize {
    let mut tables = 1;
    any::visit(program, &Path::ROOT, &mut |_, value| match value {
        Value::Table(_) => tables += 1,
        Value::Tables(list) => tables += list.len(),
        Value::Union { tag: 1.., .. } => tables += 1,
        _ => (),
    });
    tables
}

/// The released runtime is built without the way that files took before ExecuTorch 0.4
/// (`ET_ENABLE_DEPRECATED_CONSTANT_BUFFER=0`), and takes a program without constant offsets for one of those.
fn constant_buffer(program: &Program<'_>, report: &mut Report<'_>) {
    let path = Path::ROOT;
    let buffers = program.constant_buffer().len();
    match constant_offsets(program).len() {
        0 => {
            let found = format!(
                "no offsets, expected at least a placeholder: the constants lie in constant_buffer ({buffers} entries), as before ExecuTorch 0.4"
            );
            report.add(rule::CONSTANT_BUFFER, &path.field("constant_segment").field("offsets"), found);
        }
        // The runtime takes it for a program without constants.
        1 if buffers > 1 && report.is_strict() => {
            let found = format!("{buffers} entries, expected none beside a constant segment");
            report.add(rule::CONSTANT_BUFFER, &path.field("constant_buffer"), found);
        }
        _ => (),
    }
}

fn constants_twice(program: &Program<'_>, report: &mut Report<'_>) {
    let (buffers, offsets) = (program.constant_buffer().len(), constant_offsets(program).len());
    if offsets > 1 && buffers > 0 {
        let path = Path::ROOT;
        let found = format!("{buffers} entries, expected none: constant_segment has {offsets}");
        report.add(rule::CONSTANTS_TWICE, &path.field("constant_buffer"), found);
    }
}

fn constant_segment(program: &Program<'_>, report: &mut Report<'_>) {
    let (Some(constants), segments) = (&program.constant_segment, segment_count(program)) else {
        return;
    };
    if constant_offsets(program).len() > 1 && constants.segment_index as usize >= segments {
        let path = Path::ROOT;
        let found = format!("segment {}, expected less than the {segments} that there are", constants.segment_index);
        report.add(rule::CONSTANT_SEGMENT, &path.field("constant_segment").field("segment_index"), found);
    }
}

fn named_data(program: &Program<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    if program.named_data.is_some() && program.segments.is_none() {
        let found = "absent, expected a list: named_data refers to it";
        return report.add(rule::NAMED_DATA_SEGMENT, &root.field("segments"), found);
    }
    let segments = segment_count(program);
    for (index, named) in program.named_data().iter().enumerate() {
        let path = root.item("named_data", index);
        named_data_entry(named.key.as_deref(), named.segment_index, segments, &path, report);
    }
}

/// One entry of `named_data`, of either kind of file.
pub(super) fn named_data_entry(
    key: Option<&str>,
    segment: u32,
    segments: usize,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    if key.is_none() {
        report.add(rule::NAMED_DATA_KEY, &path.field("key"), format_args!("absent, expected a name"));
    }
    if segment as usize >= segments {
        let offset = report.offset(key.map(str::as_bytes));
        let name = Name(key.unwrap_or_default());
        let found = format!("segment {segment} for {name}, expected less than the {segments} that there are");
        report.add_at(rule::NAMED_DATA_SEGMENT, &path.field("segment_index"), offset, found);
    }
}
