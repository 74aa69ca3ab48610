//! The bytes of a FlatBuffer being written, which grow towards its start.

use super::inline_fields::Position;
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::MAX_SIZE;
use alloc::{format, vec, vec::Vec};

/// Bytes filled from their end, in parts: bytes already written are never moved.
pub(super) struct Space {
    /// The part that is being filled.
    part: Vec<u8>,
    /// The full parts, in reverse order.
    full: Vec<Part>,
    /// The number of bytes written.
    used: usize,
    /// The number of free bytes of the part, from its start.
    head: usize,
}

/// A part: its bytes from `head` on are written.
#[derive(Clone)]
pub(super) struct Part {
    bytes: Vec<u8>,
    head: usize,
}

impl Part {
    pub(super) fn filled(&self) -> &[u8] {
        // The head is at most the size.
        self.bytes.split_at(self.head).1
    }
}

/// The most bytes reserved for the expected size, since the estimate may be wrong.
const MAX_EXPECTED: usize = 1 << 26;

impl Space {
    /// Creates an empty one. `expected` is an estimate of the size, in bytes. A good one saves memory and allocations.
    pub(super) fn new(expected: usize) -> Self {
        let room = expected.min(MAX_EXPECTED);
        Self { part: vec![0; room], full: Vec::new(), used: 0, head: room }
    }

    /// Returns the number of bytes written.
    #[inline(always)]
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Makes room for `len` more bytes before all others, and returns where it starts.
    #[inline(always)]
    pub(super) fn grow(&mut self, len: usize) -> Result<(Position, &mut [u8])> {
        self.grow_aligned(len, 1, 0)
    }

    /// Makes room for `len` more bytes before all others, and returns where it starts. Zeros after it align the last `aligned` of these bytes to
    /// `alignment`.
    #[inline(always)]
    pub(super) fn grow_aligned(
        &mut self,
        len: usize,
        alignment: usize,
        aligned: usize,
    ) -> Result<(Position, &mut [u8])> {
        let padding = self.used.wrapping_add(aligned).wrapping_neg() & (alignment - 1);
        if self.head < padding + len {
            self.add_part(padding + len)?;
        }
        self.used += padding + len;
        self.head -= padding + len;
        match self.part.get_mut(self.head..self.head + len) {
            Some(room) => Ok((self.used as Position, room)),
            // There is room: a part was added where there was too little.
            None => Err(too_large()),
        }
    }

    /// Adds a part with room for `len` bytes, and for as many as are written already, up to the size limit of a FlatBuffer.
    #[cold]
    fn add_part(&mut self, len: usize) -> Result<()> {
        const FIRST: usize = 1 << 12;
        let most = MAX_SIZE.saturating_sub(self.used);
        if len > most {
            return Err(too_large());
        }
        let size = len.max(self.used).max(FIRST).min(most);
        self.end_part(vec![0; size]);
        self.head = size;
        Ok(())
    }

    /// Goes on with another part.
    fn end_part(&mut self, next: Vec<u8>) {
        let bytes = core::mem::replace(&mut self.part, next);
        self.full.push(Part { bytes, head: self.head });
    }

    /// Returns all parts, in reverse order.
    pub(super) fn into_parts(mut self) -> Vec<Part> {
        self.end_part(Vec::new());
        self.full
    }
}

#[cold]
pub(super) fn too_large() -> Error {
    let reason = format!("the FlatBuffer has more than {MAX_SIZE} bytes, the most that readers accept");
    Error::new(ErrorKind::Unwritable(reason.into()))
}
