//! The FlatBuffer that is read: its bytes, a place in them, and what is left of the budget.

use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::number::Number;
use alloc::format;
use core::cell::Cell;

/// Official readers and writers go no further than this: offsets are signed 32-bit numbers in places.
pub(crate) const MAX_SIZE: usize = i32::MAX as usize;

/// Bounds on the work that a FlatBuffer may cause.
///
/// Nothing in the format forbids two offsets from leading to one table, so a file of a few kilobytes can describe a
/// tree of exponential size. Without such sharing, which no official writer uses, the tables, vectors and strings
/// of a file cover no more bytes than it has, and each table takes at least 4: those are the default limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most tables visited. `None`: a quarter of the FlatBuffer's size.
    pub tables: Option<u32>,
    /// Most bytes covered by the tables, vectors and strings visited, each counted as often as it is visited.
    /// `None`: the FlatBuffer's size.
    pub bytes: Option<u32>,
}

/// The FlatBuffer, what is left of the limits, and what was passed over.
#[derive(Debug)]
pub(super) struct Buffer<'a> {
    pub(super) bytes: &'a [u8],
    /// What is left of the limits.
    tables_left: Cell<u32>,
    bytes_left: Cell<u32>,
    /// The limits.
    most_tables: u32,
    most_bytes: u32,
    /// Known tables with fields that the schema does not know.
    pub(super) newer_tables: Cell<u32>,
}

/// A place in a FlatBuffer: nom's input for what stands there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'s, 'a> {
    pub(super) buffer: &'s Buffer<'a>,
    pub(super) position: u32,
}

impl nom::error::ParseError<Place<'_, '_>> for Error {
    fn from_error_kind(place: Place<'_, '_>, kind: nom::error::ErrorKind) -> Self {
        Error::at(place.position as usize, ErrorKind::Table(format!("{kind:?}").into()))
    }

    fn append(_: Place<'_, '_>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

#[cold]
pub(super) fn fault(position: u32, kind: ErrorKind) -> Error {
    Error::at(position as usize, kind)
}

impl<'a> Buffer<'a> {
    /// A FlatBuffer of 2 GiB at the most: a larger one is refused.
    pub(super) fn new(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        if bytes.len() > MAX_SIZE {
            let found = format!("the FlatBuffer has {} bytes, expected at most {MAX_SIZE}", bytes.len());
            return Err(Error::at(0, ErrorKind::Header(found.into())));
        }
        let size = bytes.len() as u32;
        let (most_tables, most_bytes) = (limits.tables.unwrap_or(size / 4), limits.bytes.unwrap_or(size));
        let (tables_left, bytes_left) = (Cell::new(most_tables), Cell::new(most_bytes));
        Ok(Self { bytes, tables_left, bytes_left, most_tables, most_bytes, newer_tables: Cell::new(0) })
    }
}

impl<'s, 'a> Place<'s, 'a> {
    #[inline(always)]
    pub(super) fn at(self, position: u32) -> Self {
        Self { position, ..self }
    }

    /// `len` bytes from `position`, if they are all there.
    #[inline(always)]
    pub(super) fn get(self, position: u32, len: usize) -> Option<&'a [u8]> {
        let start = position as usize;
        self.buffer.bytes.get(start..start.checked_add(len)?)
    }

    #[inline(always)]
    pub(super) fn u32(self, position: u32) -> Option<u32> {
        u32::read(self.get(position, 4)?)
    }

    /// Takes bytes of this buffer from the budget.
    #[inline(always)]
    pub(super) fn spend(self, bytes: usize) -> Result<()> {
        // No more than the buffer has, which is less than 2 GiB.
        match self.buffer.bytes_left.get().checked_sub(bytes as u32) {
            Some(left) => {
                self.buffer.bytes_left.set(left);
                Ok(())
            }
            None => Err(self.exhausted_bytes()),
        }
    }

    /// Takes a table of so many bytes inline from the budget.
    #[inline(always)]
    pub(super) fn spend_table(self, inline: u16) -> Result<()> {
        match self.buffer.tables_left.get().checked_sub(1) {
            Some(left) => self.buffer.tables_left.set(left),
            None => return Err(self.exhausted_tables()),
        }
        self.spend(inline.into())
    }

    /// Whether so many bytes are left of the budget.
    pub(super) fn can_spend(self, bytes: usize) -> bool {
        bytes <= self.buffer.bytes_left.get() as usize
    }

    #[cold]
    pub(super) fn exhausted_bytes(self) -> Error {
        let limit = self.buffer.most_bytes.into();
        fault(self.position, ErrorKind::Limit { what: "bytes of tables, vectors and strings", limit })
    }

    #[cold]
    fn exhausted_tables(self) -> Error {
        fault(self.position, ErrorKind::Limit { what: "tables", limit: self.buffer.most_tables.into() })
    }

    /// The place that `offset`, which stands at this place, leads to.
    #[inline(always)]
    pub(super) fn follow(self, offset: u32) -> Result<Self> {
        let target = u64::from(self.position) + u64::from(offset);
        if offset == 0 || target >= self.buffer.bytes.len() as u64 {
            return Err(self.bad_offset(offset));
        }
        Ok(self.at(target as u32))
    }

    #[cold]
    fn bad_offset(self, offset: u32) -> Error {
        let found = match offset {
            0 => "found 0, expected a place behind this one".into(),
            _ => format!("{offset} bytes on lies outside the FlatBuffer of {}", self.buffer.bytes.len()).into(),
        };
        fault(self.position, ErrorKind::Offset(found))
    }

    /// The count of a vector or string here, and its first byte's position.
    #[inline(always)]
    pub(super) fn count(self) -> Result<(u32, u32)> {
        match self.u32(self.position) {
            Some(count) if self.position % 4 == 0 => Ok((count, self.position.wrapping_add(4))),
            found => Err(self.bad_count(found)),
        }
    }

    #[cold]
    fn bad_count(self, found: Option<u32>) -> Error {
        let found = match found {
            Some(_) => "its place is not a multiple of 4",
            None => "its count lies outside the FlatBuffer",
        };
        fault(self.position, ErrorKind::Vector(found.into()))
    }

    #[cold]
    pub(super) fn short(self, count: u32, size: usize) -> Error {
        let left = self.buffer.bytes.len().saturating_sub(self.position as usize).saturating_sub(4);
        let found = format!("found {count} elements of {size} bytes, but {left} bytes are left in the FlatBuffer");
        fault(self.position, ErrorKind::Vector(found.into()))
    }
}
