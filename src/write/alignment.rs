//! Arithmetic with alignments: the alignments that the offsets of a file imply.

use crate::error::{Error, Result};
use crate::file::style::SEGMENT_ALIGNMENT;
use crate::schema::DataSegment;
use alloc::{format, vec::Vec};

/// Returns the alignment that the offset of each segment implies; for the first segment, that implied by all offsets.
pub(crate) fn kept(table: &[DataSegment]) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(table.len());
    for segment in table {
        offsets.push(segment.offset);
    }
    let common = common(&offsets, SEGMENT_ALIGNMENT);
    for offset in &mut offsets {
        *offset = if *offset == 0 { common.into() } else { kept_by_offset(*offset) };
    }
    offsets
}

/// Returns the largest alignment that may have been requested for a named blob at `offset`, since the request itself is not
/// stored: a power of two up to 4096, or three times a power of two, that divides the offset.
fn kept_by_offset(offset: u64) -> u64 {
    greatest_common_divisor(offset, 3 << 12)
}

/// Returns the alignment of a file's parts, given as pairs of their start and the end of the part before: the usual one if each part starts
/// at that end, rounded up to it, else the smallest for which this is so; if there is none, the largest that divides all starts.
///
/// A start is often a multiple of more than its alignment, and an edit must not add that much padding.
pub(crate) fn of_parts(parts: &[(u64, u64)], usual: u32) -> u32 {
    let explains = |alignment: &u32| {
        parts.iter().all(|(start, before)| before.checked_next_multiple_of((*alignment).into()) == Some(*start))
    };
    let smallest = (0..=12).map(|power| 1 << power);
    let starts: Vec<u64> = parts.iter().map(|(start, _)| *start).collect();
    core::iter::once(usual).chain(smallest).find(explains).unwrap_or_else(|| common(&starts, usual))
}

/// Returns the largest power of two, up to 4096, that divides all offsets; `usual` if all are 0.
pub(crate) fn common(offsets: &[u64], usual: u32) -> u32 {
    let mut common = 0;
    for offset in offsets {
        common = greatest_common_divisor(common, *offset);
    }
    if common == 0 { usual } else { 1 << common.trailing_zeros().min(12) }
}

pub(crate) fn least_common_multiple(a: u64, b: u64) -> Result<u64> {
    match (a / greatest_common_divisor(a, b).max(1)).checked_mul(b) {
        Some(multiple) if multiple > 0 => Ok(multiple),
        _ => Err(Error::unwritable(format!("alignments {a} and {b} have no common multiple below 2^64"))),
    }
}

pub(super) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_is_no_larger_than_the_parts_need() {
        assert_eq!(of_parts(&[(4096, 4000), (8192, 8100)], 128), 128);
        assert_eq!(of_parts(&[(4096, 1000), (8192, 4200)], 128), 4096);
        assert_eq!(of_parts(&[(1008, 1000), (1200, 1190)], 128), 16);
        assert_eq!(of_parts(&[(1000, 1000)], 128), 1);
        // A part with an alignment of its own.
        assert_eq!(of_parts(&[(1024, 1000), (4096, 1100)], 128), 1024);
        assert_eq!(of_parts(&[], 128), 128);
    }
}
