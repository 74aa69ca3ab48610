//! The segments behind the metadata, and references into them.

use crate::error::{Error, ErrorKind, Result};
use crate::header::Extent;
use crate::schema::DataSegment;
use alloc::{borrow::Cow, format, vec::Vec};

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

/// The bytes of each segment that lies in `file`; none of one that does not.
pub(crate) fn cut<'a>(file: &'a [u8], base: u64, segments: Option<&[DataSegment]>) -> Vec<Option<Cow<'a, [u8]>>> {
    let cut = |segment: &DataSegment| {
        let start = usize::try_from(base.checked_add(segment.offset)?).ok()?;
        let size = usize::try_from(segment.size).ok()?;
        file.get(start..)?.get(..size).map(Cow::Borrowed)
    };
    segments.unwrap_or_default().iter().map(cut).collect()
}

/// The bytes of segment `index`.
pub(crate) fn bytes<'t>(
    segments: &'t [Option<Cow<'_, [u8]>>],
    table: Option<&[DataSegment]>,
    index: u32,
    whole: bool,
) -> Result<&'t [u8]> {
    let at = index as usize;
    match (segments.get(at), table.and_then(|table| table.get(at))) {
        (Some(Some(bytes)), _) => Ok(bytes),
        (Some(None), Some(segment)) if whole => {
            let found = format!("segment {index} (offset {}, {} bytes) leaves the file", segment.offset, segment.size);
            Err(Error::new(ErrorKind::Reference(found.into())))
        }
        (Some(None), _) => Err(Error::new(ErrorKind::Absent(index))),
        (None, _) => {
            let found = format!("segment {index}, but there are {}", segments.len());
            Err(Error::new(ErrorKind::Reference(found.into())))
        }
    }
}

/// `size` bytes from `offset` of a part of the file that is called `what`.
pub(crate) fn part<'t>(bytes: &'t [u8], offset: u64, size: u64, what: &str) -> Result<&'t [u8]> {
    let part = || bytes.get(usize::try_from(offset).ok()?..)?.get(..usize::try_from(size).ok()?);
    part().ok_or_else(|| {
        let found = format!("{size} bytes from {offset} leave {what} of {} bytes", bytes.len());
        Error::new(ErrorKind::Reference(found.into()))
    })
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
