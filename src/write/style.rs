//! Encodes trees in a style.

use crate::error::{Error, Result, counted};
use crate::file::style::{WriteStyle, alignment};
use crate::flatbuffer::write::{Builder, Encode, Finished, Style};
use crate::schema::program::{CONSTANTS, DELEGATES};
use alloc::format;

/// The longest header that is written, in bytes. Official headers have 24 to 40.
const MAX_HEADER: u32 = 1 << 16;

impl WriteStyle {
    /// Encodes a tree. `expected` is an estimate of the encoded size in bytes, such as the previous size.
    pub(crate) fn encode(&self, root: &impl Encode, expected: u64) -> Result<Finished> {
        let mut alignments = [0; 2];
        alignments[CONSTANTS] = alignment(self.constant_alignment, "constant_alignment")?;
        alignments[DELEGATES] = alignment(self.delegate_alignment, "delegate_alignment")?;
        let Self { field_order, vtable_sharing, align_empty, .. } = *self;
        let style = Style { field_order, vtable_sharing, align_empty, alignments };
        // An estimate too large for this machine is ignored.
        let mut builder = Builder::new(style, usize::try_from(expected).unwrap_or_default());
        let root = root.encode(&mut builder)?;
        builder.finish(root)
    }

    /// Returns the size of the gap, in bytes, between the FlatBuffer's first 8 bytes and the rest, for a header of `length` bytes.
    pub(crate) fn gap(&self, length: u32) -> Result<usize> {
        if length > MAX_HEADER {
            return Err(Error::unwritable(format!(
                "the header's length is {length} bytes, expected at most {MAX_HEADER}"
            )));
        }
        let padded = length.checked_next_multiple_of(16.max(self.constant_alignment).max(self.delegate_alignment));
        match self.header_gap.or(padded) {
            Some(gap) if gap >= length => Ok(gap as usize),
            gap => {
                // `gap` is not `None`: the length, padded to an alignment of at most 2^30, is below 2^32.
                let gap = counted(gap.unwrap_or_default(), "byte");
                Err(Error::unwritable(format!(
                    "the header has a length of {}, but a gap of {gap}",
                    counted(length, "byte")
                )))
            }
        }
    }
}
