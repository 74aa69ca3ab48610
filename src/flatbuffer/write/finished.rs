//! A finished FlatBuffer.

use super::space::{Part, too_large};
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::MAX_SIZE;
use alloc::{format, vec, vec::Vec};

/// The root offset and the identifier, which come first.
pub(crate) const HEAD_SIZE: usize = 8;

/// A finished FlatBuffer without its first 8 bytes, in parts.
#[derive(Clone)]
pub(crate) struct Finished {
    /// The start of the root table, in bytes from the start of the parts.
    pub(super) root: usize,
    pub(super) size: usize,
    /// The largest alignment in it, in bytes.
    pub(super) alignment: usize,
    /// In reverse order.
    pub(super) parts: Vec<Part>,
}

impl Finished {
    /// Returns the first bytes: the root offset, the identifier, and a `gap` for an extended header.
    pub(crate) fn head(&self, identifier: &[u8; 4], gap: usize) -> Result<Vec<u8>> {
        let size = gap.saturating_add(self.size).saturating_add(HEAD_SIZE);
        if size > MAX_SIZE {
            return Err(too_large());
        }
        if gap % self.alignment != 0 {
            let reason =
                format!("the header takes {gap} bytes with its padding, expected a multiple of {}", self.alignment);
            return Err(Error::new(ErrorKind::Unwritable(reason.into())));
        }
        let mut head = vec![0; HEAD_SIZE + gap];
        if let Some((offset, rest)) = head.split_first_chunk_mut() {
            *offset = ((HEAD_SIZE + gap + self.root) as u32).to_le_bytes();
            if let Some(place) = rest.first_chunk_mut() {
                *place = *identifier;
            }
        }
        Ok(head)
    }

    /// Returns the parts after the head, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().rev().map(Part::filled)
    }

    /// Returns the start of the root table, in bytes from the end of the head.
    pub(crate) fn root(&self) -> usize {
        self.root
    }

    /// Returns the size of what follows the head, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}
