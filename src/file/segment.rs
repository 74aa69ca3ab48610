//! The segments after the metadata, and references into them.

use super::source::Source;
use crate::error::{Error, ErrorKind, Result, counted};
use crate::schema::DataSegment;
use crate::sorted::find;
use alloc::{borrow::Cow, format, vec, vec::Vec};
use core::{fmt, ops::Range};

/// The place of some bytes in a file. It does not hold the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum DataRef {
    /// In a data segment.
    Segment {
        /// Index into `segments`.
        index: u32,
        /// The offset from the segment's start, in bytes.
        offset: u64,
        /// The size, in bytes.
        size: u64,
    },
    /// In `Program.constant_buffer`: the whole buffer.
    ConstantBuffer {
        /// Index into `constant_buffer`.
        index: u32,
        /// The size, in bytes.
        size: u64,
    },
    /// In `Program.backend_delegate_data`.
    DelegateData {
        /// Index into `backend_delegate_data`.
        index: u32,
        /// The size, in bytes.
        size: u64,
    },
}

impl DataRef {
    /// Returns the size, in bytes.
    pub fn size(&self) -> u64 {
        match *self {
            Self::Segment { size, .. } | Self::ConstantBuffer { size, .. } | Self::DelegateData { size, .. } => size,
        }
    }
}

/// Displays it as `segments[2], 64 bytes at 128`, `constant_buffer[3]`, or `backend_delegate_data[0]`.
impl fmt::Display for DataRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment { index, offset, size } => write!(f, "segments[{index}], {size} bytes at {offset}"),
            Self::ConstantBuffer { index, .. } => write!(f, "constant_buffer[{index}]"),
            Self::DelegateData { index, .. } => write!(f, "backend_delegate_data[{index}]"),
        }
    }
}

/// The bytes of a segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Segment<'a> {
    /// The bytes were not given, or are outside the file.
    #[default]
    Absent,
    /// All bytes, in one piece.
    Whole(Cow<'a, [u8]>),
    /// Parts in order, each with its offset from the segment's start in bytes, and zeros between them. This is a segment of many
    /// tensors that are not copied.
    Parts(Vec<(u64, Cow<'a, [u8]>)>),
}

/// The largest number of zeros beside a part of a segment that are copied: more than any exporter needs for alignment.
const MAX_ZEROS: u64 = 1 << 20;

impl<'a> Segment<'a> {
    /// Returns the parts in order, each with its offset from the segment's start. An absent segment has no parts.
    pub fn parts(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let (whole, parts) = match self {
            Self::Absent => (None, Default::default()),
            Self::Whole(bytes) => (Some((0, bytes.as_ref())), Default::default()),
            Self::Parts(parts) => (None, parts.as_slice()),
        };
        whole.into_iter().chain(parts.iter().map(|(offset, bytes)| (*offset, bytes.as_ref())))
    }

    /// Returns the number of bytes up to the end of the last part. If the segment is longer, zeros follow.
    pub fn len(&self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Parts(parts) => match parts.last() {
                Some((offset, bytes)) => offset.saturating_add(bytes.len() as u64),
                None => 0,
            },
        }
    }

    /// Returns `true` if the segment has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `size` bytes from `offset`, without copying, or `None` if they are out of range or not all in one part.
    pub fn get(&self, offset: u64, size: u64) -> Option<&[u8]> {
        let cut = |start: u64, bytes: &'_ [u8]| -> Option<core::ops::Range<usize>> {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            let to = from.checked_add(usize::try_from(size).ok()?)?;
            (to <= bytes.len()).then_some(from..to)
        };
        match self {
            Self::Absent => None,
            Self::Whole(bytes) => bytes.get(cut(0, bytes)?),
            Self::Parts(parts) => {
                let (before, _) = parts.split_at(parts.partition_point(|(start, _)| *start <= offset));
                let (start, bytes) = before.last()?;
                bytes.get(cut(*start, bytes)?)
            }
        }
    }

    /// Replaces `size` bytes at `offset`. If they are the whole segment, the new bytes may have another length.
    pub(crate) fn overwrite(&mut self, entry: &mut DataSegment, offset: u64, size: u64, bytes: Cow<'a, [u8]>) {
        if offset == 0 && size == entry.size {
            entry.size = bytes.len() as u64;
            *self = Self::Whole(bytes);
            return;
        }
        let end = offset.saturating_add(size);
        let parts = match core::mem::take(self) {
            Self::Absent => Vec::new(),
            Self::Whole(whole) => vec![(0, whole)],
            Self::Parts(parts) => parts,
        };
        let mut kept = Vec::with_capacity(parts.len() + 2);
        let mut new = Some((offset, bytes));
        for (start, part) in parts {
            let part_end = start.saturating_add(part.len() as u64);
            // The old bytes before, the new bytes, the old bytes after.
            let cut = |from: u64, to: u64| {
                let range = from.checked_sub(start)? as usize..to.checked_sub(start)? as usize;
                let bytes = match &part {
                    Cow::Borrowed(bytes) => bytes.get(range).map(Cow::Borrowed),
                    Cow::Owned(bytes) => bytes.get(range).map(|bytes| Cow::Owned(bytes.to_vec())),
                };
                // A part that was empty before is the data of a tensor without elements, and stays.
                bytes.filter(|bytes| !bytes.is_empty() || part.is_empty()).map(|bytes| (from, bytes))
            };
            kept.extend(cut(start, part_end.min(offset)));
            if part_end >= end || start >= end {
                kept.extend(new.take());
            }
            kept.extend(cut(start.max(end), part_end));
        }
        kept.extend(new);
        *self = Self::Parts(kept);
    }

    /// Returns `true` if both are the same bytes at the same address, or both are absent.
    pub(crate) fn is_the_same(&self, other: &Segment<'_>) -> bool {
        match (self, other) {
            (Self::Absent, Segment::Absent) => true,
            (Self::Whole(left), Segment::Whole(right)) => core::ptr::eq::<[u8]>(&**left, &**right),
            _ => false,
        }
    }

    /// Returns `size` bytes from `offset`, borrowed from the input if the segment is.
    pub(crate) fn take(&self, offset: u64, size: u64) -> Option<Cow<'a, [u8]>> {
        let (start, part) = match self {
            Self::Absent => return None,
            Self::Whole(bytes) => (0, bytes),
            Self::Parts(parts) => {
                let (before, _) = parts.split_at(parts.partition_point(|(start, _)| *start <= offset));
                before.last().map(|(start, bytes)| (*start, bytes))?
            }
        };
        let from = usize::try_from(offset.checked_sub(start)?).ok()?;
        let range = from..from.checked_add(usize::try_from(size).ok()?)?;
        match part {
            Cow::Borrowed(bytes) => bytes.get(range).map(Cow::Borrowed),
            Cow::Owned(bytes) => bytes.get(range).map(|bytes| Cow::Owned(bytes.to_vec())),
        }
    }

    /// Returns the first `size` bytes in one piece, with zeros between the parts and after them. Returns `None` if the parts have more
    /// than `size` bytes, if the segment is whole and has fewer, or if there are more than [`MAX_ZEROS`] zeros for each part, as in a
    /// tree that was changed by hand.
    pub(crate) fn joined(&self, size: u64) -> Option<Cow<'a, [u8]>> {
        let Self::Parts(parts) = self else {
            return self.take(0, size);
        };
        let most = parts.iter().fold(MAX_ZEROS, |most, (_, part)| most.saturating_add(MAX_ZEROS + part.len() as u64));
        let size = usize::try_from(size).ok().filter(|_| self.len() <= size && size <= most)?;
        let mut bytes = vec![0; size];
        for (start, part) in parts {
            bytes.get_mut(usize::try_from(*start).ok()?..)?.get_mut(..part.len())?.copy_from_slice(part);
        }
        Some(Cow::Owned(bytes))
    }

    /// Returns the size of the part that starts at `offset`, in bytes, or 0 if none does.
    pub(crate) fn part_from(&self, offset: u64) -> u64 {
        match self {
            Self::Parts(parts) => {
                find(parts, |(start, _)| start.cmp(&offset)).map_or(0, |(_, bytes)| bytes.len() as u64)
            }
            Self::Whole(bytes) if offset == 0 => bytes.len() as u64,
            Self::Whole(_) | Self::Absent => 0,
        }
    }

    /// Converts it into an owned copy.
    pub fn into_owned(self) -> Segment<'static> {
        match self {
            Self::Absent => Segment::Absent,
            Self::Whole(bytes) => Segment::Whole(Cow::Owned(bytes.into_owned())),
            Self::Parts(parts) => {
                let mut owned = Vec::with_capacity(parts.len());
                for (offset, bytes) in parts {
                    owned.push((offset, Cow::Owned(bytes.into_owned())));
                }
                Segment::Parts(owned)
            }
        }
    }
}

impl<'a> From<Cow<'a, [u8]>> for Segment<'a> {
    fn from(bytes: Cow<'a, [u8]>) -> Self {
        Self::Whole(bytes)
    }
}

/// Returns the bytes of each segment, absent if it is outside `file`. With a base of 0 all are absent, since the file does not
/// state their start.
pub(crate) fn cut<'a>(file: &'a [u8], base: u64, segments: &[DataSegment]) -> Vec<Segment<'a>> {
    let file = if base > 0 { file } else { &[] };
    let Some(data) = usize::try_from(base).ok().and_then(|base| file.get(base..)) else {
        return segments.iter().map(|_| Segment::Absent).collect();
    };
    let cut = |segment: &DataSegment| {
        let end = segment.offset.checked_add(segment.size)?;
        let bytes = data.get(usize::try_from(segment.offset).ok()?..usize::try_from(end).ok()?)?;
        Some(Segment::Whole(Cow::Borrowed(bytes)))
    };
    // The default is `Absent`.
    segments.iter().map(|segment| cut(segment).unwrap_or_default()).collect()
}

/// Converts all segments into owned copies.
pub(crate) fn into_owned(segments: Vec<Segment<'_>>) -> Vec<Segment<'static>> {
    let mut owned = Vec::with_capacity(segments.len());
    for segment in segments {
        owned.push(segment.into_owned());
    }
    owned
}

/// Returns for each of `count` items whether its index is among `indices`.
pub(crate) fn marked(count: usize, indices: impl Iterator<Item = u32>) -> Vec<bool> {
    let mut marked = vec![false; count];
    for index in indices {
        if let Some(place) = marked.get_mut(index as usize) {
            *place = true;
        }
    }
    marked
}

/// The segments of a file: their bytes, and their entries in the file's list.
#[derive(Clone, Copy)]
pub(crate) struct Segments<'t, 'a> {
    pub(crate) bytes: &'t [Segment<'a>],
    pub(crate) table: &'t [DataSegment],
    /// The start of the first segment, in bytes from the start of the file.
    pub(crate) base: u64,
    /// `true` if the file has an extended header, which states the base.
    pub(crate) has_header: bool,
    /// The size of the data, if the header states it. For a program, 0 is not a statement.
    pub(crate) data_size: Option<u64>,
    pub(crate) source: Option<&'t Source<'a>>,
}

impl<'t, 'a> Segments<'t, 'a> {
    /// Returns `true` if the file was given with its segments, or built in memory.
    pub(crate) fn is_whole(&self) -> bool {
        self.source.is_none_or(|source| source.whole)
    }

    /// Returns `size` bytes from `offset` of segment `index`.
    pub(crate) fn bytes(&self, index: u32, offset: u64, size: u64) -> Result<&'t [u8]> {
        let (segment, entry) = self.segment(index)?;
        segment.get(offset, size).ok_or_else(|| {
            let parts = if matches!(segment, Segment::Parts(_)) { " in several parts" } else { "" };
            outside_segment(index, offset, size, entry.size, parts)
        })
    }

    /// Returns all bytes of segment `index`, copied if they are in several parts.
    pub(crate) fn whole_segment(&self, index: u32) -> Result<Cow<'t, [u8]>> {
        let (segment, entry) = self.segment(index)?;
        match segment.get(0, entry.size) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => match segment.joined(entry.size) {
                Some(bytes) => Ok(bytes),
                None => self.bytes(index, 0, entry.size).map(Cow::Borrowed),
            },
        }
    }

    /// Checks that all bytes of segment `index` were given.
    pub(crate) fn check(&self, index: u32) -> Result<()> {
        match (self.bytes.get(index as usize), self.table.get(index as usize)) {
            (Some(segment @ Segment::Parts(_)), Some(entry)) if segment.len() <= entry.size => Ok(()),
            (_, entry) => self.check_range(index, 0, entry.map_or(0, |entry| entry.size)),
        }
    }

    /// Checks that `size` bytes from `offset` of segment `index` were given, or would be if the file had been given whole.
    pub(crate) fn check_range(&self, index: u32, offset: u64, size: u64) -> Result<()> {
        match self.bytes(index, offset, size) {
            Err(error) if matches!(error.kind(), ErrorKind::Absent(_)) => {
                let all = self.table.get(index as usize).map_or(0, |segment| segment.size);
                if offset.checked_add(size).is_none_or(|end| end > all) {
                    return Err(outside_segment(index, offset, size, all, ""));
                }
                // If the file's size is not known, no segment is outside.
                match self.range(index, offset, size) {
                    Some(_) => Ok(()),
                    None => Err(Error::reference(format!("segment {index} is not inside the file"))),
                }
            }
            found => found.map(|_| ()),
        }
    }

    fn segment(&self, index: u32) -> Result<(&'t Segment<'a>, &'t DataSegment)> {
        let found = match (self.bytes.get(index as usize), self.table.get(index as usize)) {
            (Some(Segment::Absent), Some(_)) if !self.is_whole() => return Err(Error::new(ErrorKind::Absent(index))),
            (Some(Segment::Absent), Some(entry)) => {
                let size = counted(entry.size, "byte");
                format!("segment {index} (offset {}, {size}) is not inside the file", entry.offset)
            }
            (Some(segment), Some(entry)) => return Ok((segment, entry)),
            _ => format!("segment {index} does not exist: the file has {}", counted(self.table.len(), "segment")),
        };
        Err(Error::reference(found))
    }

    /// Returns the range of `size` bytes from `offset` of segment `index` in the file.
    pub(crate) fn range(&self, index: u32, offset: u64, size: u64) -> Option<Range<u64>> {
        let segment = self.table.get(index as usize)?;
        let start = self.base.checked_add(segment.offset)?.checked_add(offset)?;
        let end = start.checked_add(size)?;
        // Known if the file was not given whole.
        let file_size = self.source.and_then(|source| source.file_size);
        file_size.is_none_or(|file_size| end <= file_size).then_some(start..end)
    }

    /// Returns the range of bytes after the last segment, which no field describes. A new layout has no place for them.
    pub(crate) fn trailing(&self) -> Range<u64> {
        let (Some(source), true) = (self.source.filter(|source| source.whole), self.has_header) else { return 0..0 };
        let size = source.bytes.len() as u64;
        let last = self.table.iter().map(|segment| segment.offset.saturating_add(segment.size)).max().unwrap_or(0);
        // Without segments, the header states no end of the data.
        let end = self.base.saturating_add(last).max(source.metadata_size);
        let announced = self.base.saturating_add(self.data_size.unwrap_or(0)).clamp(end.min(size), size);
        // Both are at most the file's size.
        let padding = slice(&source.bytes, end.min(size)..announced).unwrap_or_default();
        let end = if padding.iter().all(|byte| *byte == 0) { announced } else { end };
        if end < size { end..size } else { 0..0 }
    }
}

/// Returns a part of `bytes`, or `None` if it is out of range, on 32-bit targets too.
pub(crate) fn slice(bytes: &[u8], range: Range<u64>) -> Option<&[u8]> {
    bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// Returns the start of `part`, a slice of `file`, in `file`, or `None` if it is not such a slice.
///
/// This finds the offset of anything that the tree borrows: strings, lists, inline data.
pub fn offset_in(file: &[u8], part: &[u8]) -> Option<u64> {
    let start = (part.as_ptr() as usize).checked_sub(file.as_ptr() as usize)?;
    (start.checked_add(part.len())? <= file.len()).then_some(start as u64)
}

#[cold]
fn outside_segment(index: u32, offset: u64, size: u64, all: u64, parts: &str) -> Error {
    let (size, all) = (counted(size, "byte"), counted(all, "byte"));
    Error::reference(format!("{size} at offset {offset} of segment {index}, which has {all}{parts}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_with_alignment_zeros_only() {
        let parts = |second| Segment::Parts(vec![(0, Cow::Borrowed(&[1][..])), (second, Cow::Borrowed(&[2][..]))]);
        assert_eq!(parts(3).joined(6).as_deref(), Some(&[1, 0, 0, 2, 0, 0][..]));
        assert_eq!(parts(3).joined(3), None, "more than these bytes");
        let most = 3 * MAX_ZEROS + 2;
        assert_eq!(parts(MAX_ZEROS).joined(most).map(|bytes| bytes.len() as u64), Some(most));
        for (second, size) in [(3, most + 1), (3, 1 << 60), (3, u64::MAX), (1 << 60, 1 << 61), (u64::MAX, u64::MAX)] {
            assert_eq!(parts(second).joined(size), None, "{second} {size}");
            let entry = DataSegment { offset: 0, size };
            let (bytes, table) = (&[parts(second)], &[entry]);
            let all = Segments { bytes, table, base: 0, has_header: false, data_size: None, source: None };
            assert!(all.whole_segment(0).is_err());
        }
    }
}
