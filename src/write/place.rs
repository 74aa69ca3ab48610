//! Assigns the offsets of segments.

use super::alignment::least_common_multiple;
use super::detect;
use super::image::expected_size;
use super::options::{PtdOptions, PteOptions};
use crate::error::{Error, Result, counted};
use crate::file::header::{PtdHeader, PteHeader};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::{Segment, Segments};
use crate::file::style::{ALIGNMENT, WriteStyle, alignment};
use crate::flatbuffer::write::HEAD_SIZE;
use crate::schema::DataSegment;
use alloc::{format, vec::Vec};

/// Segments with their offsets.
struct PlacedSegments {
    table: Vec<DataSegment>,
    /// The size of all segments, with the padding between them, in bytes.
    size: u64,
}

impl PlacedSegments {
    /// Moves empty segments after the last byte of data to its end. A short header does not state where the data ends, so the file
    /// ends with the last byte, and readers refuse a segment that starts after that.
    fn end_with_data(&mut self) {
        self.size = 0;
        for segment in &self.table {
            if segment.size > 0 {
                self.size = self.size.max(segment.offset + segment.size);
            }
        }
        for segment in &mut self.table {
            if segment.size == 0 {
                segment.offset = segment.offset.min(self.size);
            }
        }
    }
}

/// Computes the offsets of segments, given as pairs of alignment and size, in order. Alignments are relative to the start of
/// the first segment, as in the official writers.
fn place(segments: Vec<(u64, u64)>) -> Result<PlacedSegments> {
    let (mut table, mut end) = (Vec::new(), 0u64);
    for (alignment, size) in segments {
        let offset = end.checked_next_multiple_of(alignment);
        let next = offset.and_then(|offset| offset.checked_add(size));
        let (Some(offset), Some(next)) = (offset, next) else {
            return Err(Error::unwritable("the segments take more than 2^64 bytes"));
        };
        table.push(DataSegment { offset, size });
        end = next;
    }
    Ok(PlacedSegments { table, size: end })
}

/// Computes the offsets of segments, each a multiple of the segment's own alignment and of `of_all`.
fn place_aligned(table: &[DataSegment], alignments: &[u64], of_all: u64) -> Result<PlacedSegments> {
    let mut aligned = Vec::with_capacity(table.len());
    for (segment, own) in table.iter().zip(alignments) {
        aligned.push((least_common_multiple(of_all, *own)?, segment.size));
    }
    place(aligned)
}

/// Assigns each segment its offset, with these alignments in addition to those in the options.
pub(super) fn place_pte<'a>(mut pte: Pte<'a>, alignments: &[u64], options: &PteOptions) -> Result<Pte<'a>> {
    check_overlap(&pte.segment_data())?;
    let segment_alignment = alignment(options.segment_alignment, "segment_alignment")? as u64;
    let constant_alignment = options.constant_alignment.unwrap_or(ALIGNMENT);
    let delegate_alignment = options.delegate_alignment;
    let style = match options.style {
        Some(style) => style,
        None => pte.write_style()?.style,
    };
    let segments = options.segment_alignment;
    let aligned = WriteStyle { constant_alignment, delegate_alignment, segment_alignment: segments, ..style };
    let style = WriteStyle { header_gap: None, ..aligned };
    pte.style = Some(style);
    let expected = expected_size(&pte);
    pte.header = None;
    // A runtime looks up even an empty payload from the start of the segments.
    let needs_base = !pte.payload_segments().is_empty();
    let Some(table) = pte.program.segments.as_mut() else {
        return Ok(pte);
    };
    let mut placed = place_aligned(table, alignments, segment_alignment)?;
    if options.header_length < PteHeader::LONG {
        placed.end_with_data();
    }
    *table = placed.table;
    if placed.size == 0 && !needs_base {
        return Ok(pte);
    }
    let length = options.header_length;
    let program = style.encode(&pte.program, expected)?;
    let program_size = (HEAD_SIZE + style.gap(length)? + program.size()) as u64;
    // Without data, the file ends with the program, and readers refuse segments that start after that.
    let data_alignment = if placed.size == 0 { 1 } else { segment_alignment };
    pte.header = Some(PteHeader {
        length,
        program_size,
        segment_base_offset: program_size.next_multiple_of(data_alignment),
        segment_data_size: (length >= PteHeader::LONG).then_some(placed.size),
    });
    Ok(pte)
}

/// Assigns each segment its offset, with these alignments in addition to those in the options.
pub(super) fn place_ptd<'a>(mut ptd: Ptd<'a>, alignments: &[u64], options: &PtdOptions) -> Result<Ptd<'a>> {
    check_overlap(&ptd.segment_data())?;
    let segment_alignment = alignment(options.segment_alignment, "segment_alignment")? as u64;
    let placed = place_aligned(ptd.flat_tensor.segments(), alignments, segment_alignment)?;
    let style = match options.style {
        Some(style) => style,
        None => ptd.write_style()?.style,
    };
    let style = WriteStyle { segment_alignment: options.segment_alignment, ..style };
    ptd.style = Some(style);
    if let Some(table) = ptd.flat_tensor.segments.as_mut() {
        *table = placed.table;
    }
    let metadata = detect::encode_ptd(&ptd, &style)?;
    let length = PtdHeader::LENGTH;
    let flatbuffer_offset = u64::from(length.next_multiple_of(ALIGNMENT));
    let flatbuffer_size = (HEAD_SIZE + metadata.size()) as u64;
    ptd.header = Some(PtdHeader {
        length,
        flatbuffer_offset,
        flatbuffer_size,
        segment_base_offset: (flatbuffer_offset + flatbuffer_size).next_multiple_of(segment_alignment),
        segment_data_size: placed.size,
    });
    Ok(ptd)
}

/// Rejects segments that overlap much in the source: segments can repeat the same bytes thousands of times.
fn check_overlap(segments: &Segments<'_, '_>) -> Result<()> {
    let file: &[u8] = segments.source.map_or(&[], |source| &source.bytes);
    let inside = file.as_ptr_range();
    let parts = segments.bytes.iter().flat_map(Segment::parts).filter(|(_, bytes)| inside.contains(&bytes.as_ptr()));
    let size = parts.map(|(_, bytes)| bytes.len() as u64).fold(0, u64::saturating_add);
    if size / 2 <= file.len() as u64 {
        return Ok(());
    }
    let (size, file) = (counted(size, "byte"), counted(file.len(), "byte"));
    Err(Error::unwritable(format!("the segments overlap: separately they would take {size}, but the file has {file}")))
}
