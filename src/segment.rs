//! The segments behind the metadata, and references into them.

use crate::error::{Error, ErrorKind, Result};
use crate::header::Extent;
use crate::schema::DataSegment;
use alloc::{borrow::Cow, format, vec, vec::Vec};

/// Where some bytes of a file are: known without having them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataRef {
    /// In a data segment.
    Segment {
        /// Index into `segments`.
        index: u32,
        /// Bytes from the segment's start.
        offset: u64,
        /// Bytes.
        size: u64,
    },
    /// In `Program.constant_buffer`, from the start of that buffer.
    ConstantBuffer {
        /// Index into `constant_buffer`.
        index: u32,
        /// Bytes.
        size: u64,
    },
    /// In `Program.backend_delegate_data`.
    DelegateData {
        /// Index into `backend_delegate_data`.
        index: u32,
        /// Bytes.
        size: u64,
    },
}

impl DataRef {
    /// Bytes.
    pub fn size(&self) -> u64 {
        match *self {
            Self::Segment { size, .. } | Self::ConstantBuffer { size, .. } | Self::DelegateData { size, .. } => size,
        }
    }
}

/// The bytes of a segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Segment<'a> {
    /// They were not given, or would lie outside the file.
    #[default]
    Absent,
    /// All of them.
    Whole(Cow<'a, [u8]>),
    /// Parts, each at its offset from the segment's start in bytes, in order; zeros lie between. This is how a segment
    /// is put together from many tensors without copying them.
    Parts(Vec<(u64, Cow<'a, [u8]>)>),
}

impl<'a> Segment<'a> {
    /// Its parts in order, each at its offset from the segment's start: none where it is absent.
    pub fn parts(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let (whole, parts) = match self {
            Self::Absent => (None, Default::default()),
            Self::Whole(bytes) => (Some((0, bytes.as_ref())), Default::default()),
            Self::Parts(parts) => (None, parts.as_slice()),
        };
        whole.into_iter().chain(parts.iter().map(|(offset, bytes)| (*offset, bytes.as_ref())))
    }

    /// `size` bytes from `offset`; `None` where they are not there, or not in one part.
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
                let at = parts.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
                let (start, bytes) = parts.get(at)?;
                bytes.get(cut(*start, bytes)?)
            }
        }
    }

    /// The same, independent of the input.
    pub fn into_owned(self) -> Segment<'static> {
        match self {
            Self::Absent => Segment::Absent,
            Self::Whole(bytes) => Segment::Whole(Cow::Owned(bytes.into_owned())),
            Self::Parts(parts) => {
                let owned = |(offset, bytes): (u64, Cow<'_, [u8]>)| (offset, Cow::Owned(bytes.into_owned()));
                Segment::Parts(parts.into_iter().map(owned).collect())
            }
        }
    }
}

/// The bytes of each segment that lies in `file`. With a base of 0 none does: nothing says where they start.
pub(crate) fn cut<'a>(file: &'a [u8], base: u64, segments: Option<&[DataSegment]>) -> Vec<Segment<'a>> {
    let file = if base > 0 { file } else { &[] };
    let cut = |segment: &DataSegment| {
        let start = usize::try_from(base.checked_add(segment.offset)?).ok()?;
        let size = usize::try_from(segment.size).ok()?;
        file.get(start..)?.get(..size).map(|bytes| Segment::Whole(Cow::Borrowed(bytes)))
    };
    segments.unwrap_or_default().iter().map(|segment| cut(segment).unwrap_or_default()).collect()
}

/// Which of `count` segments the indices name.
pub(crate) fn marked(count: usize, indices: impl Iterator<Item = u32>) -> Vec<bool> {
    let mut marked = vec![false; count];
    for index in indices {
        if let Some(place) = marked.get_mut(index as usize) {
            *place = true;
        }
    }
    marked
}

/// `size` bytes from `offset` of segment `index`, of a file that was given whole or not.
pub(crate) fn bytes<'t>(
    segments: &'t [Segment<'_>],
    table: Option<&[DataSegment]>,
    (index, offset, size): (u32, u64, u64),
    whole: bool,
) -> Result<&'t [u8]> {
    let (segment, entry) = (segments.get(index as usize), table.and_then(|table| table.get(index as usize)));
    let found = match (segment, entry) {
        (Some(Segment::Absent), Some(_)) if !whole => return Err(Error::new(ErrorKind::Absent(index))),
        (Some(Segment::Absent), Some(entry)) => {
            format!("segment {index} (offset {}, {} bytes) leaves the file", entry.offset, entry.size)
        }
        (Some(segment), Some(entry)) => match segment.get(offset, size) {
            Some(bytes) => return Ok(bytes),
            None => format!("{size} bytes from {offset} of segment {index}, which has {}", entry.size),
        },
        _ => format!("segment {index}, but there are {}", segments.len()),
    };
    Err(Error::new(ErrorKind::Reference(found.into())))
}

/// Where `size` bytes from `offset` of segment `index` lie in the file.
pub(crate) fn extent(base: u64, table: Option<&[DataSegment]>, index: u32, offset: u64, size: u64) -> Option<Extent> {
    let segment = table?.get(index as usize)?;
    let start = base.checked_add(segment.offset)?.checked_add(offset)?;
    Some(Extent { start, end: Some(start.checked_add(size)?) })
}

/// Where `part`, a slice of `file`, starts in it; `None` if it is a slice of something else.
///
/// For all that the tree borrows: strings, lists, inline data.
pub fn offset_in(file: &[u8], part: &[u8]) -> Option<u64> {
    let start = (part.as_ptr() as usize).checked_sub(file.as_ptr() as usize)?;
    (start.checked_add(part.len())? <= file.len()).then_some(start as u64)
}
