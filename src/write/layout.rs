//! How a file is laid out, apart from what its tree says.

use crate::error::{Error, Result};
use crate::flatbuffer::write::{Builder, Encode, Finished, Style, TableOrder};
use alloc::format;

/// How a file is laid out, apart from what its tree and header say. With it, an official file is written back byte
/// for byte: see [`Pte::detect_layout`](crate::Pte::detect_layout) and
/// [`Ptd::detect_layout`](crate::Ptd::detect_layout).
///
/// The default is what ExecuTorch's writers do today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLayout {
    /// The order in which tables and their fields are put down.
    pub order: TableOrder,
    /// The alignment of constants inside the FlatBuffer, in bytes, a power of two.
    pub constant_alignment: u32,
    /// The alignment of delegate payloads inside the FlatBuffer, in bytes, a power of two.
    pub delegate_alignment: u32,
    /// How many bytes stand between the FlatBuffer's first 8 and the rest, where there is a header: its length and
    /// padding. `None`: its length, padded to the largest alignment above and at least 16.
    pub header_gap: Option<u32>,
}

impl Default for FileLayout {
    fn default() -> Self {
        Self { order: TableOrder::ById, constant_alignment: 16, delegate_alignment: 16, header_gap: None }
    }
}

impl FileLayout {
    /// Encodes the tree; `expected` is a guess at its size in bytes, such as what it had before.
    pub(crate) fn encode(&self, root: &impl Encode, expected: u64) -> Result<Finished> {
        let style = Style {
            order: self.order,
            constant_alignment: alignment(self.constant_alignment, "constant_alignment")?,
            delegate_alignment: alignment(self.delegate_alignment, "delegate_alignment")?,
        };
        let mut builder = Builder::new(style, usize::try_from(expected).unwrap_or_default());
        let root = root.encode(&mut builder)?;
        builder.finish(root)
    }

    /// The bytes between the FlatBuffer's first 8 and the rest, for a header of `length` bytes.
    pub(crate) fn gap(&self, length: u32) -> Result<usize> {
        let padded = length.checked_next_multiple_of(16.max(self.constant_alignment).max(self.delegate_alignment));
        match self.header_gap.or(padded) {
            Some(gap) if gap >= length => Ok(gap as usize),
            gap => Err(Error::unwritable(format!("a header of {length} bytes in a gap of {gap:?}"))),
        }
    }
}

/// The largest alignment taken: what the format's offsets and the memory of any machine can make use of.
pub(crate) const MAX_ALIGNMENT: u32 = 1 << 30;

pub(crate) fn alignment(alignment: u32, name: &'static str) -> Result<usize> {
    if alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT {
        return Ok(alignment as usize);
    }
    Err(Error::unwritable(format!("{name} is {alignment}, expected a power of two up to {MAX_ALIGNMENT}")))
}
