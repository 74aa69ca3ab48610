//! The bytes at the end of a file that it does not refer to. Readers ignore them, so they can be anything, such as a program.

use super::source::Source;
use crate::flatbuffer::description::TableDescription;
use crate::flatbuffer::walk::end_at;
use core::ops::Range;

/// The most zeros at the end of a FlatBuffer that are taken for padding: writers align what they write first, which is at the end.
/// No writer aligns to more.
const MAX_PADDING: usize = 1 << 16;

/// Returns the place after the last byte that a FlatBuffer refers to, if there is more than padding after it. The FlatBuffer is given with
/// the place where it starts in its bytes, and with the source that it was read from. Returns `None` if it has fields of a newer schema:
/// the bytes can be theirs.
pub(crate) fn in_flatbuffer(
    (start, bytes): (u32, &[u8]),
    source: &Source<'_>,
    root: &'static TableDescription,
) -> Option<usize> {
    if source.newer_tables > 0 {
        return None;
    }
    // If something refers to a byte from here on, all others are padding.
    let padding = bytes.iter().rev().take(MAX_PADDING).take_while(|byte| **byte == 0).count();
    let enough = bytes.len() - padding;
    end_at(start, bytes, root, &source.limits, enough).filter(|end| *end < enough)
}

impl Source<'_> {
    /// Returns the range of bytes after the end of the metadata, which is that of the file. If there are none, returns those at the end of
    /// the FlatBuffer, which starts at byte `start`, that it does not refer to.
    pub(crate) fn trailing(&self, start: u32, root: &'static TableDescription) -> Range<u64> {
        let size = self.bytes.len() as u64;
        if !self.whole {
            return 0..0;
        }
        if self.metadata_size < size {
            return self.metadata_size..size;
        }
        in_flatbuffer((start, &self.bytes), self, root).map_or(0..0, |end| end as u64..size)
    }
}
