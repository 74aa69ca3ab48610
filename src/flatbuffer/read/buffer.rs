//! The FlatBuffer being read: its bytes, a position in them, and what is left of the limits.

use crate::error::{Error, ErrorKind, Result, counted};
use crate::flatbuffer::number::Number;
use crate::setters::setters;
use alloc::format;
use core::cell::Cell;

/// The largest FlatBuffer, in bytes: some of its offsets are signed 32-bit numbers.
pub(crate) const MAX_SIZE: usize = i32::MAX as usize;

/// The largest inline size of a regular table, in bytes: see [`ReadStats::irregular`]. No table of a schema needs more.
pub(super) const MAX_REGULAR: u32 = 128;

/// Limits on the work that reading a FlatBuffer may cause.
///
/// Nothing in the format forbids two offsets to point at one table, so a file of a few kilobytes can describe a
/// tree of exponential size. Without such sharing, which no official writer uses, the tables, vectors and strings
/// of a file cover no more bytes than it has, and each table covers at least 4. The default limit is the size plus 64 KiB,
/// because the official runtime still loads damaged files that share a little.
///
/// # Memory
///
/// A tree of an official file takes about 1.5 bytes for each byte of its metadata. A hostile file, made so that each table is small, makes
/// that more: one of 120 MB took 433 MB within the default limit. `memory` bounds it: reading stops with
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) before more is allocated.
///
/// Delegates' payloads are decoded on request, within the limits that the file was read with: by
/// [`Pte::delegate`](crate::Pte::delegate) for each payload, by [`Pte::open_payloads`](crate::Pte::open_payloads) for
/// the file and all payloads together.
///
/// ```
/// use executorch_format::{ErrorKind, Limits, ParseOptions, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let taken = Pte::parse(&file)?.source.map_or(0, |source| source.memory());
/// let options = ParseOptions::default().with_limits(Limits::default().with_memory(Some(taken)));
/// assert!(Pte::parse_with(&file, &options).is_ok());
///
/// let options = ParseOptions::default().with_limits(Limits::default().with_memory(Some(taken - 1)));
/// let error = Pte::parse_with(&file, &options).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Limit { what: "bytes of memory", .. }));
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Limits {
    /// The most bytes covered by the tables, vectors and strings visited, each counted as often as it is visited.
    /// `None`: the FlatBuffer's size plus 64 KiB.
    pub bytes: Option<u32>,
    /// The most bytes of memory that the tree may take, besides the file's own bytes. Lists of tables count, and lists of numbers wider
    /// than a byte, which are copied where they are misaligned in memory. `None`: as many as the limit on `bytes` lets happen.
    pub memory: Option<u64>,
}

setters! {
    Limits {
        bytes = with_bytes: Option<u32>,
        memory = with_memory: Option<u64>,
    }
}

impl Limits {
    /// The default limits.
    pub(crate) const DEFAULT: Self = Self { bytes: None, memory: None };

    /// The bytes that any file may share.
    const SLACK: u32 = 1 << 16;

    fn most(&self, size: u32) -> u32 {
        self.bytes.unwrap_or(size.saturating_add(Self::SLACK))
    }
}

/// The FlatBuffer, what is left of the limits, and what was skipped.
#[derive(Debug)]
pub(in crate::flatbuffer) struct Buffer<'a> {
    pub(super) bytes: &'a [u8],
    /// The position of the root's offset: 0, or the size of a prefix.
    root: Cell<u32>,
    /// The rest of the limits.
    bytes_left: Cell<u32>,
    memory_left: Cell<u64>,
    limits: Limits,
    /// Known tables with fields that the schema does not know.
    pub(super) newer_tables: Cell<u32>,
    /// See [`ReadStats::irregular`].
    irregular: Cell<bool>,
}

/// The findings of a reader besides the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadStats {
    /// The number of tables with fields that the schema does not have.
    pub(crate) newer_tables: u32,
    /// The bytes of memory that the tree takes.
    pub(crate) memory: u64,
    /// `true` if there may be something that the tree does not show and a strict rule reports: a vtable that does not state the size of its
    /// tables or states more than [`MAX_REGULAR`], fields in the offset to it, a bool other than 0 and 1, or a vector that is not
    /// aligned. If not, nobody has to look.
    pub(crate) irregular: bool,
}

impl ReadStats {
    /// Adds the memory of `count` more items of that size.
    ///
    /// Fails with [`ErrorKind::Limit`] if that is more than the limits allow.
    pub(crate) fn and(self, count: usize, size: usize, limits: &Limits) -> Result<Self> {
        let memory = self.memory.saturating_add((count as u64).saturating_mul(size as u64));
        match limits.memory {
            Some(limit) if memory > limit => Err(Error::new(ErrorKind::Limit { what: MEMORY, limit })),
            _ => Ok(Self { memory, ..self }),
        }
    }
}

/// The quantity that [`Limits::memory`] bounds.
const MEMORY: &str = "bytes of memory";

/// A position in a FlatBuffer: nom's input for what is stored there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferPlace<'s, 'a> {
    pub(in crate::flatbuffer) buffer: &'s Buffer<'a>,
    pub(in crate::flatbuffer) position: u32,
}

impl nom::error::ParseError<BufferPlace<'_, '_>> for Error {
    fn from_error_kind(place: BufferPlace<'_, '_>, kind: nom::error::ErrorKind) -> Self {
        Error::at(place.position as usize, ErrorKind::Table(format!("{kind:?}").into()))
    }

    fn append(_: BufferPlace<'_, '_>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

#[cold]
pub(super) fn fault(position: u32, kind: ErrorKind) -> Error {
    Error::at(position as usize, kind)
}

impl<'a> Buffer<'a> {
    /// Fails if the FlatBuffer is larger than [`MAX_SIZE`].
    pub(in crate::flatbuffer) fn new(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        if bytes.len() > MAX_SIZE {
            let found = format!("the FlatBuffer has {} bytes, expected at most {MAX_SIZE}", bytes.len());
            return Err(Error::at(0, ErrorKind::Header(found.into())));
        }
        let (bytes_left, newer_tables) = (Cell::new(limits.most(bytes.len() as u32)), Cell::new(0));
        let memory_left = Cell::new(limits.memory.unwrap_or(u64::MAX));
        let root = Cell::new(0);
        Ok(Self { bytes, root, bytes_left, memory_left, limits: *limits, newer_tables, irregular: Cell::new(false) })
    }

    /// Returns the findings of the reader.
    pub(super) fn seen(&self) -> ReadStats {
        let memory = self.limits.memory.unwrap_or(u64::MAX).saturating_sub(self.memory_left.get());
        let irregular = self.irregular.get() || self.ends_in_a_table();
        ReadStats { newer_tables: self.newer_tables.get(), memory, irregular }
    }

    /// Returns `true` if a table at the end may be cut off by its inline size. Its fields are all there.
    fn ends_in_a_table(&self) -> bool {
        let end = self.bytes.len() as u32;
        let first = end.saturating_sub(MAX_REGULAR).next_multiple_of(4);
        (first..end).step_by(4).any(|position| {
            let place = BufferPlace { buffer: self, position };
            let vtable = position.wrapping_sub(place.u32(position).unwrap_or_default());
            let word = |position: u32| place.get(position, 2).and_then(u16::read).unwrap_or_default();
            let is_vtable = vtable % 2 == 0 && word(vtable) % 2 == 0 && word(vtable) >= 4;
            let size = u32::from(word(vtable.wrapping_add(2)));
            is_vtable && size <= MAX_REGULAR && size > end - position
        })
    }
}

impl<'a> Buffer<'a> {
    /// Returns the root table, whose offset is at that position.
    pub(in crate::flatbuffer) fn root(&self, position: u32) -> Result<BufferPlace<'_, 'a>> {
        self.root.set(position);
        let start = BufferPlace { buffer: self, position };
        start.follow(start.u32(position).unwrap_or_default())
    }
}

impl<'s, 'a> BufferPlace<'s, 'a> {
    /// Returns `true` for a multiple of `size` from the start of the buffer. After a size prefix, it may also be one from the end of the prefix:
    /// flatcc aligns from before it, and flatc, where the prefix is added later, from after it.
    #[inline(always)]
    pub(super) fn is_aligned(self, position: u32, size: u32) -> bool {
        position % size == 0 || position.wrapping_sub(self.buffer.root.get()) % size == 0
    }

    #[inline(always)]
    pub(in crate::flatbuffer) fn at(self, position: u32) -> Self {
        Self { position, ..self }
    }

    /// Returns `len` bytes from `position`, if they are all there.
    #[inline(always)]
    pub(in crate::flatbuffer) fn get(self, position: u32, len: usize) -> Option<&'a [u8]> {
        let start = position as usize;
        self.buffer.bytes.get(start..start.checked_add(len)?)
    }

    #[inline(always)]
    pub(in crate::flatbuffer) fn u32(self, position: u32) -> Option<u32> {
        u32::read(self.get(position, 4)?)
    }

    /// Notes a fault that only a strict rule reports.
    #[inline(always)]
    pub(super) fn note(self, is_irregular: bool) {
        if is_irregular {
            self.buffer.irregular.set(true);
        }
    }

    /// Notes numbers, or a vector of them whose count is at this position, if there are bools other than 0 and 1, or if they are not
    /// aligned.
    #[inline(always)]
    pub(super) fn note_numbers(self, bytes: &[u8], is_bool: bool, alignment: usize) {
        self.note(is_bool && bytes.iter().any(|byte| *byte > 1));
        // Offsets are aligned to 4 bytes, and flatc does not align an empty vector.
        self.note(alignment > 4 && !bytes.is_empty() && (self.position as usize + 4) % alignment != 0);
    }

    /// Subtracts bytes of this buffer from the limit.
    #[inline(always)]
    pub(in crate::flatbuffer) fn spend(self, bytes: usize) -> Result<()> {
        // The bytes are in the buffer, which is smaller than 2 GiB.
        match self.buffer.bytes_left.get().checked_sub(bytes as u32) {
            Some(left) => {
                self.buffer.bytes_left.set(left);
                Ok(())
            }
            None => Err(self.exhausted_bytes()),
        }
    }

    /// Subtracts memory that the tree takes for `count` items from the limit.
    #[inline(always)]
    pub(in crate::flatbuffer) fn hold(self, count: usize, size: usize) -> Result<()> {
        // A count is a 32-bit number.
        match self.buffer.memory_left.get().checked_sub((count as u64).saturating_mul(size as u64)) {
            Some(left) => {
                self.buffer.memory_left.set(left);
                Ok(())
            }
            None => Err(self.exhausted_memory()),
        }
    }

    #[cold]
    fn exhausted_memory(self) -> Error {
        let limit = self.buffer.limits.memory.unwrap_or(u64::MAX);
        fault(self.position, ErrorKind::Limit { what: MEMORY, limit })
    }

    /// Returns `true` if that many bytes are left of the limit.
    pub(super) fn can_spend(self, bytes: usize) -> bool {
        bytes <= self.buffer.bytes_left.get() as usize
    }

    #[cold]
    pub(super) fn exhausted_bytes(self) -> Error {
        let limit = self.buffer.limits.most(self.buffer.bytes.len() as u32).into();
        fault(self.position, ErrorKind::Limit { what: "bytes of tables, vectors and strings", limit })
    }

    /// Returns the position that `offset`, stored in a field at this position, points to.
    #[inline(always)]
    pub(in crate::flatbuffer) fn follow(self, offset: u32) -> Result<Self> {
        if offset == 0 {
            return Err(self.bad_offset(offset));
        }
        self.follow_item(offset)
    }

    /// Returns the position that `offset`, an item of a vector at this position, points to. No writer writes an item of 0, which points to
    /// itself; the official readers accept one if a table can be read there, and so does this reader.
    #[inline(always)]
    pub(in crate::flatbuffer) fn follow_item(self, offset: u32) -> Result<Self> {
        let target = u64::from(self.position) + u64::from(offset);
        if target >= self.buffer.bytes.len() as u64 {
            return Err(self.bad_offset(offset));
        }
        Ok(self.at(target as u32))
    }

    #[cold]
    fn bad_offset(self, offset: u32) -> Error {
        let found = match offset {
            0 => "found 0, expected the distance to a later position".into(),
            _ => format!(
                "it points {} ahead, past the end of the FlatBuffer of {}",
                counted(offset, "byte"),
                counted(self.buffer.bytes.len(), "byte")
            )
            .into(),
        };
        fault(self.position, ErrorKind::Offset(found))
    }

    /// Returns the count of the vector or string at this position, and the position of its first byte.
    #[inline(always)]
    pub(in crate::flatbuffer) fn count(self) -> Result<(u32, u32)> {
        match self.u32(self.position) {
            Some(count) if self.position % 4 == 0 => Ok((count, self.position.wrapping_add(4))),
            found => Err(self.bad_count(found)),
        }
    }

    #[cold]
    fn bad_count(self, found: Option<u32>) -> Error {
        let found = match found {
            Some(_) => "its position is not a multiple of 4",
            None => "its count is outside the FlatBuffer",
        };
        fault(self.position, ErrorKind::Vector(found.into()))
    }

    #[cold]
    pub(super) fn short(self, count: u32, size: usize) -> Error {
        let left = self.buffer.bytes.len().saturating_sub(self.position as usize).saturating_sub(4);
        let found = format!(
            "{} of {} each, but {} left in the FlatBuffer",
            counted(count, "element"),
            counted(size, "byte"),
            counted(left, "byte")
        );
        fault(self.position, ErrorKind::Vector(found.into()))
    }
}
