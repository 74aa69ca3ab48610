//! The bytes of a FlatBuffer being written, which grow towards its start.

use super::row::Position;
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::MAX_SIZE;
use alloc::{format, vec, vec::Vec};

/// Bytes filled from their end, in parts: bytes already written are never moved.
pub(super) struct Space {
    /// The part that is being filled.
    part: Part,
    /// The full parts, in reverse order.
    full: Vec<Part>,
    /// The size of the full parts, in bytes.
    full_size: usize,
}

/// A part: its bytes from `head` on are written.
#[derive(Default)]
pub(super) struct Part {
    bytes: Vec<u8>,
    head: usize,
}

impl Part {
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], head: size }
    }

    pub(super) fn filled(&self) -> &[u8] {
        // The head is at most the size.
        self.bytes.get(self.head..).unwrap_or_default()
    }
}

/// The most bytes reserved for the expected size, since the estimate may be wrong.
const MOST_EXPECTED: usize = 1 << 26;

impl Space {
    /// `expected` is an estimate of the size, in bytes. A good one saves memory and allocations.
    pub(super) fn new(expected: usize) -> Self {
        Self { part: Part::new(expected.min(MOST_EXPECTED)), full: Vec::new(), full_size: 0 }
    }

    /// The number of bytes written.
    #[inline(always)]
    pub(super) fn used(&self) -> usize {
        self.full_size + self.part.bytes.len() - self.part.head
    }

    /// Room for `len` more bytes before all others, and where it starts.
    #[inline(always)]
    pub(super) fn grow(&mut self, len: usize) -> Result<(Position, &mut [u8])> {
        self.grow_aligned(len, 1, 0)
    }

    /// Room for `len` more bytes before all others, and where it starts. Zeros after it align the last `aligned` of these bytes to
    /// `alignment`.
    #[inline(always)]
    pub(super) fn grow_aligned(
        &mut self,
        len: usize,
        alignment: usize,
        aligned: usize,
    ) -> Result<(Position, &mut [u8])> {
        let used = self.used();
        let padding = used.wrapping_add(aligned).wrapping_neg() & (alignment - 1);
        if self.part.head < padding + len {
            self.add_part(padding + len)?;
        }
        let end = self.part.head.saturating_sub(padding);
        self.part.head = end.saturating_sub(len);
        // There is room: a part was added if there was too little.
        let room = self.part.bytes.get_mut(self.part.head..end).unwrap_or_default();
        Ok(((used + padding + len) as Position, room))
    }

    /// Adds a part with room for `len` bytes, and for as many as are written already, up to the size limit of a FlatBuffer.
    #[cold]
    fn add_part(&mut self, len: usize) -> Result<()> {
        const FIRST: usize = 1 << 12;
        let used = self.used();
        let most = MAX_SIZE.saturating_sub(used);
        if len > most {
            return Err(too_large());
        }
        let size = len.max(used).max(FIRST).min(most);
        let last = core::mem::replace(&mut self.part, Part::new(size));
        self.full.push(last);
        self.full_size = used;
        Ok(())
    }

    /// All parts, in reverse order.
    pub(super) fn into_parts(mut self) -> Vec<Part> {
        self.full.push(self.part);
        self.full
    }
}

#[cold]
pub(super) fn too_large() -> Error {
    let reason = format!("the FlatBuffer has more than {MAX_SIZE} bytes, the most that readers accept");
    Error::new(ErrorKind::Unwritable(reason.into()))
}
