//! The rule about bytes after the last ones that a file refers to. Readers ignore them, so they can be anything, such as a program.

use super::formats::Format;
use super::report::Report;
use super::rule;
use crate::error::counted;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::Segments;
use crate::file::source::Source;
use crate::file::trailing;
use crate::flatbuffer::description::TableDescription;
use crate::flatbuffer::read::Record;
use crate::path::Path;
use crate::schema::Program;
use alloc::format;

/// Checks a program. Bytes after a FlatBuffer without a header may be those of segments, of which `segment-base` says that their
/// place is unknown.
pub(super) fn check_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    after_segments(&pte.segment_data(), report);
    if pte.header.is_some() || pte.program.segments().iter().all(|segment| segment.size == 0) {
        in_source(0, pte.source.as_ref(), Program::DESCRIPTION, report);
    }
}

/// Checks a `.ptd`. Without a header, which breaks another rule, the place of its segments is unknown.
pub(super) fn check_ptd(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    after_segments(&ptd.segment_data(), report);
    if ptd.header.is_some() {
        in_source(0, ptd.source.as_ref(), ptd.flat_tensor.root(), report);
    }
}

/// Checks the bytes after the segments, or after the FlatBuffer that a header describes if there are no segments.
fn after_segments(segments: &Segments<'_, '_>, report: &mut Report<'_>) {
    let Some(source) = segments.source.filter(|source| source.whole && segments.has_header) else { return };
    let last = segments.table.iter().map(|segment| segment.offset.saturating_add(segment.size)).max().unwrap_or(0);
    let end = segments.base.saturating_add(segments.data_size.unwrap_or(last).max(last));
    let (end, after) = match segments.base {
        0 => (source.metadata_size, "the FlatBuffer"),
        _ => (end.max(source.metadata_size), "the last segment"),
    };
    check(&source.bytes, end, after, &Path::ROOT, report);
}

/// Checks the bytes of `file` from `end`, where what a header describes ends. `after` names that.
pub(super) fn check(file: &[u8], end: u64, after: &str, path: &Path<'_>, report: &mut Report<'_>) {
    let rest = usize::try_from(end).ok().and_then(|end| file.get(end..)).unwrap_or_default();
    if !rest.is_empty() {
        add(file, rest, after, path, report);
    }
}

/// Checks the FlatBuffer at byte `start` of a source's metadata.
pub(super) fn in_source(
    start: u32,
    source: Option<&Source<'_>>,
    root: &'static TableDescription,
    report: &mut Report<'_>,
) {
    if let Some(source) = source {
        in_flatbuffer((start, source.metadata()), source, root, &Path::ROOT, report);
    }
}

/// Checks the bytes at the end of a FlatBuffer that it does not refer to. It is given with the place where it starts in its bytes, and
/// with the source that it was read from. If it has fields of a newer schema, the bytes can be theirs.
pub(super) fn in_flatbuffer(
    (start, bytes): (u32, &[u8]),
    source: &Source<'_>,
    root: &'static TableDescription,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    if !report.is_strict() {
        return;
    }
    if let Some(rest) = trailing::in_flatbuffer((start, bytes), source, root).and_then(|end| bytes.get(end..)) {
        add(bytes, rest, "the last that the FlatBuffer refers to", path, report);
    }
}

#[cold]
fn add(file: &[u8], rest: &[u8], after: &str, path: &Path<'_>, report: &mut Report<'_>) {
    // Zeros may be padding in front of what was appended.
    let first = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
    let mut budget = rest.len() as u64;
    let format = rest.get(first..).and_then(|content| Format::of(content, &mut budget));
    let format = format.map(|format| format!(", among them {}", format.name())).unwrap_or_default();
    let found = format!("{} after {after}{format}, expected none", counted(rest.len(), "byte"));
    let offset = report.offset(Some(file)).map(|start| start + (file.len() - rest.len()) as u64);
    report.add_at(rule::TRAILING_BYTES, path, offset, found);
}
