//! Bytes at a file's end that no field describes. A new layout has no place for them.

use super::ptd::Ptd;
use super::pte::Pte;
use super::segment::slice;
use super::source::Source;
use crate::schema::DataSegment;
use core::ops::Range;

pub(super) fn of_pte(pte: &Pte<'_>) -> Range<u64> {
    // An old header does not state the end of the data.
    let header = pte.header.map(|header| (header.segment_base_offset, header.segment_data_size.unwrap_or_default()));
    trailing(pte.source.as_ref(), header, pte.program.segments())
}

pub(super) fn of_ptd(ptd: &Ptd<'_>) -> Range<u64> {
    let header = ptd.header.map(|header| (header.segment_base_offset, header.segment_data_size));
    trailing(ptd.source.as_ref(), header, ptd.flat_tensor.segments())
}

fn trailing(source: Option<&Source<'_>>, header: Option<(u64, u64)>, segments: &[DataSegment]) -> Range<u64> {
    let (Some(source), Some((base, announced))) = (source.filter(|source| source.whole), header) else {
        return 0..0;
    };
    let size = source.bytes.len() as u64;
    let last = segments.iter().map(|segment| segment.offset.saturating_add(segment.size)).max().unwrap_or_default();
    // Without segments, the header states no end of the data.
    let end = base.saturating_add(last).max(source.metadata_size);
    let announced = base.saturating_add(announced).clamp(end.min(size), size);
    // Both are at most the file's size.
    let padding = slice(&source.bytes, end.min(size)..announced).unwrap_or_default();
    let end = if padding.iter().all(|byte| *byte == 0) { announced } else { end };
    if end < size { end..size } else { 0..0 }
}
