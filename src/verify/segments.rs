//! Rules about the segments of a `.pte` or `.ptd`: they are inside the file, in order, and do not overlap.

use super::report::Report;
use super::rule;
use crate::error::counted;
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::references::DataUser;
use crate::file::segment::{DataRef, Segment, Segments, marked};
use crate::file::source::Source;
use crate::flatbuffer::write::HEAD_SIZE;
use crate::path::Path;
use crate::schema::DataSegment;
use alloc::{format, vec, vec::Vec};

/// The segments of a file, to be checked.
struct Checked<'t, 'a> {
    segments: Segments<'t, 'a>,
    /// `true` if the file is a `.ptd`: another rule reports a missing header.
    is_ptd: bool,
    /// The length of the header, and the number of bytes that the metadata leaves for it.
    header: Option<(u32, u64)>,
    /// The part of each segment in the table that the runtime reads; `None` if the runtime does not read it.
    read: Vec<Option<Read>>,
}

pub(super) fn check_pte(pte: &Pte<'_>, looked_up: &dyn Fn() -> Vec<bool>, report: &mut Report<'_>) {
    let header = pte.header.zip(pte.source.as_ref());
    let header = header.map(|(header, source)| (header.length, source.metadata_size.saturating_sub(HEAD_SIZE as u64)));
    Checked { segments: pte.segment_data(), is_ptd: false, header, read: read_of_pte(pte, looked_up) }.check(report);
}

pub(super) fn check_ptd(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    let header = ptd.header.filter(|_| ptd.source.is_some());
    let header = header.map(|header| (header.length, header.flatbuffer_offset));
    Checked { segments: ptd.segment_data(), is_ptd: true, header, read: read_of_ptd(ptd) }.check(report);
}

/// Reports segments with bytes to which nothing in the program refers.
pub(super) fn unreferenced_in_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    let referenced = pte.segment_users().into_iter().map(|users| users > 0).collect();
    unreferenced(pte.program.segments(), referenced, report);
}

/// Reports segments with bytes to which no key refers.
pub(super) fn unreferenced_in_ptd(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    let table = ptd.flat_tensor.segments();
    unreferenced(table, marked(table.len(), ptd.entries().map(|entry| entry.segment_index)), report);
}

fn unreferenced(table: &[DataSegment], referenced: Vec<bool>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    for (index, (segment, referenced)) in table.iter().zip(referenced).enumerate() {
        if !referenced && segment.size > 0 {
            let found = format!("nothing refers to the segment, which has {}", counted(segment.size, "byte"));
            report.add(rule::SEGMENT_UNREFERENCED, &root.item("segments", index), found);
        }
    }
}

/// The part of a segment that ExecuTorch 1.5 reads.
#[derive(Clone, Copy)]
struct Read {
    /// The number of bytes from the start of the segment.
    size: u64,
    /// `true` if the runtime refuses to read without a header that states where the segments start. It reads constants regardless, with base 0.
    needs_base: bool,
}

/// Returns the part of each segment that ExecuTorch 1.5 reads: whole segments of constants, of payloads, and of named data that a
/// payload looks up; of initial states, only those that a tensor uses.
fn read_of_pte(pte: &Pte<'_>, looked_up: &dyn Fn() -> Vec<bool>) -> Vec<Option<Read>> {
    let segments = pte.program.segments();
    let mut read: Vec<Option<Read>> = vec![None; segments.len()];
    let mut reads = |index: u32, size: u64, needs_base: bool| {
        if let Some(read) = read.get_mut(index as usize) {
            let before = read.unwrap_or(Read { size, needs_base });
            *read = Some(Read { size: before.size.max(size), needs_base: before.needs_base || needs_base });
        }
    };
    let whole = |index: u32| segments.get(index as usize).map_or(0, |segment| segment.size);
    if let Some(list) = pte.program.constant_segment.as_ref().filter(|list| list.offsets().len() > 1) {
        reads(list.segment_index, whole(list.segment_index), false);
    }
    // Look-ups are found only if it matters which data is read.
    let is_sound =
        pte.segment_base_offset() > 0 && !pte.segments.iter().any(|segment| matches!(segment, Segment::Absent));
    let looked_up = (!is_sound).then(looked_up);
    let is_read = |entry: usize| looked_up.as_ref().is_none_or(|looked_up| looked_up.get(entry) == Some(&true));
    for (user, data) in pte.data_users() {
        match data {
            Ok(_) if matches!(user, DataUser::NamedData { index, .. } if !is_read(index)) => (),
            Ok(TensorData::Constant(DataRef::Segment { index, .. })) => {
                reads(index, whole(index), matches!(user, DataUser::Delegate { .. }));
            }
            Ok(TensorData::InitialState(DataRef::Segment { index, offset, size })) => {
                reads(index, offset.saturating_add(size), true)
            }
            _ => (),
        }
    }
    read
}

/// Returns the part of each segment that ExecuTorch 1.5 reads: the segments that a key refers to.
fn read_of_ptd(ptd: &Ptd<'_>) -> Vec<Option<Read>> {
    let segments = ptd.flat_tensor.segments();
    let named = marked(segments.len(), ptd.entries().map(|entry| entry.segment_index));
    segments
        .iter()
        .zip(named)
        .map(|(segment, named)| named.then_some(Read { size: segment.size, needs_base: false }))
        .collect()
}

/// Checks that segments start after the metadata. Official readers accept others, but a writer would overwrite part of the metadata.
fn in_metadata(source: Option<&Source<'_>>, base: u64, report: &mut Report<'_>) {
    let Some(source) = source.filter(|source| base > 0 && base < source.metadata_size) else {
        return;
    };
    let found = format!(
        "the segments start at byte {base}, expected {} or more, where the metadata ends",
        source.metadata_size
    );
    report.add_at(rule::SEGMENTS_IN_METADATA, &Path::ROOT, Some(HEAD_SIZE as u64), found);
}

/// Checks the length of the header. Official readers read the fields that they support and ignore the rest. `room` is the number of
/// bytes between the FlatBuffer's first 8 bytes and its rest.
fn header_length(length: u32, room: u64, report: &mut Report<'_>) {
    if u64::from(length) > room {
        let found =
            format!("the length of the header is {length}, expected at most {room}: the metadata leaves no more room");
        report.add_at(rule::HEADER_LENGTH, &Path::ROOT, Some(HEAD_SIZE as u64 + 4), found);
    }
}

/// Calls `found` for each range that starts inside another one, unless both start together: with its start and index,
/// and the start, end and index of the other. Ranges are given as start, size and index. Empty ranges are ignored.
pub(super) fn each_overlap(
    ranges: impl Iterator<Item = (u64, u64, usize)>,
    mut found: impl FnMut(u64, usize, (u64, u64, usize)),
) {
    let mut ranges: Vec<_> = ranges.filter(|(_, size, _)| *size > 0).collect();
    ranges.sort();
    let mut before: Option<(u64, u64, usize)> = None;
    for (start, size, index) in ranges {
        let end = start.saturating_add(size);
        match before {
            Some(other @ (first, last, _)) if start < last && start != first => found(start, index, other),
            _ => (),
        }
        if before.is_none_or(|(_, last, _)| end > last) {
            before = Some((start, end, index));
        }
    }
}

impl Checked<'_, '_> {
    fn check(&self, report: &mut Report<'_>) {
        in_metadata(self.segments.source, self.segments.base, report);
        if let Some((length, room)) = self.header {
            header_length(length, room, report);
        }
        self.base(report);
        self.bounds(report);
        self.data_size(report);
        self.order(report);
        self.overlap(report);
    }

    /// Returns `true` if a segment is known to end outside the file. Without a header, the part that the runtime reads, from base 0, is
    /// checked.
    fn leaves_file(&self, index: usize, segment: &DataSegment, read: Option<Read>, report: &Report<'_>) -> bool {
        let outside = |read: Read| !read.needs_base && self.end(segment, read) > report.file_size();
        let read_outside = || !self.is_ptd && read.is_some_and(outside);
        match self.segments.base {
            0 => self.segments.is_whole() && report.has_file() && read_outside(),
            _ => self.segments.is_whole() && matches!(self.segments.bytes.get(index), Some(Segment::Absent)),
        }
    }

    /// Returns the end, in the file, of the part of a segment that ExecuTorch reads.
    fn end(&self, segment: &DataSegment, read: Read) -> u64 {
        self.segments.base.saturating_add(segment.offset).saturating_add(read.size)
    }

    /// Returns the segments, with their indices and the parts that ExecuTorch reads.
    fn each(&self) -> impl Iterator<Item = (usize, &DataSegment, Option<Read>)> {
        let segments = self.segments.table.iter().zip(&self.read).enumerate();
        segments.map(|(index, (segment, read))| (index, segment, *read))
    }

    /// Checks that the base is known. Files without segment data have no header but may list an empty segment. `delegates` reports an
    /// empty segment of a payload.
    fn base(&self, report: &mut Report<'_>) {
        let root = Path::ROOT;
        if self.segments.base > 0 || self.is_ptd || !report.has_file() {
            return;
        }
        for (index, segment, read) in self.each().filter(|(_, segment, _)| segment.size > 0) {
            if !report.concerns(read.is_some_and(|read| read.needs_base)) {
                continue;
            }
            let found = format!(
                "the segment has {}, but no header says where the segments start",
                counted(segment.size, "byte")
            );
            report.add(rule::SEGMENT_BASE, &root.item("segments", index), found);
        }
    }

    fn bounds(&self, report: &mut Report<'_>) {
        let root = Path::ROOT;
        for (index, segment, read) in self.each() {
            if !self.leaves_file(index, segment, read, report) {
                continue;
            }
            let path = root.item("segments", index);
            let DataSegment { offset, size } = segment;
            if !report.concerns(read.is_some_and(|read| self.end(segment, read) > report.file_size())) {
                continue;
            }
            match self.segments.base.checked_add(*offset).and_then(|start| Some((start, start.checked_add(*size)?))) {
                None => {
                    let found = format!(
                        "a range of {} from offset {offset} ends past 2^64, expected an end inside the file",
                        counted(*size, "byte")
                    );
                    report.add(rule::SEGMENT_BOUNDS, &path, found);
                }
                Some((start, end)) => {
                    let length = report.file_size();
                    let missing = end.saturating_sub(length);
                    let found = format!(
                        "bytes {start} to {end} of the file, but the file is {} too short",
                        counted(missing, "byte")
                    );
                    report.add_at(rule::SEGMENT_BOUNDS, &path, Some(start).filter(|start| *start <= length), found);
                }
            }
        }
    }

    /// Compares segments with the data size. The runtime checks the segments that the keys of a `.ptd` file refer to, but compares the
    /// offset, which counts from the base, with base plus data size.
    fn data_size(&self, report: &mut Report<'_>) {
        let root = Path::ROOT;
        let Some(data_size) = self.segments.data_size else {
            return;
        };
        for (index, segment, read) in self.each() {
            if self.leaves_file(index, segment, read, report) {
                continue;
            }
            let DataSegment { offset, size } = *segment;
            let ends_after = |limit| offset.checked_add(size).is_none_or(|end| end > limit);
            let refused = self.is_ptd && read.is_some() && ends_after(self.segments.base.saturating_add(data_size));
            if ends_after(data_size) && report.concerns(refused) {
                let found = format!(
                    "a range of {} from offset {offset} ends outside the data, whose size in the header is {data_size}",
                    counted(size, "byte")
                );
                report.add(rule::SEGMENT_DATA_SIZE, &root.item("segments", index), found);
            }
        }
    }

    fn order(&self, report: &mut Report<'_>) {
        let root = Path::ROOT;
        let pairs = self.segments.table.iter().zip(self.segments.table.iter().skip(1)).enumerate();
        for (index, (before, segment)) in pairs.filter(|(_, (before, segment))| before.offset > segment.offset) {
            let found =
                format!("{}, expected {} or more, where the previous segment starts", segment.offset, before.offset);
            report.add(rule::SEGMENT_ORDER, &root.item("segments", index + 1).field("offset"), found);
        }
    }

    /// Reports overlapping segments. Two segments may start together: equal blobs, or an empty one.
    fn overlap(&self, report: &mut Report<'_>) {
        let root = Path::ROOT;
        let ranges = self.segments.table.iter().zip(0..).map(|(segment, index)| (segment.offset, segment.size, index));
        each_overlap(ranges, |start, index, (first, last, other)| {
            let found =
                format!("starts at {start}, expected {last} or more: segment {other} has bytes {first} to {last}");
            report.add(rule::SEGMENT_OVERLAP, &root.item("segments", index), found);
        });
    }
}
