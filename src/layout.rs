//! How a file is laid out, apart from what its tree says.

use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::write::{Builder, Encode, Finished, Style, TableOrder};
use crate::plan::Plan;
use crate::schema::Program;
use crate::{Ptd, Pte};
use alloc::format;

/// How a file is laid out, apart from what its tree and header say. With it, an official file is written back byte
/// for byte: see [`Pte::detect_layout`] and [`Ptd::detect_layout`].
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
            gap => Err(unwritable(format!("a header of {length} bytes in a gap of {gap:?}"))),
        }
    }
}

/// The largest alignment taken: what the format's offsets and the memory of any machine can make use of.
pub(crate) const MAX_ALIGNMENT: u32 = 1 << 30;

pub(crate) fn alignment(alignment: u32, name: &'static str) -> Result<usize> {
    if alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT {
        return Ok(alignment as usize);
    }
    Err(unwritable(format!("{name} is {alignment}, expected a power of two up to {MAX_ALIGNMENT}")))
}

#[cold]
pub(crate) fn unwritable(reason: impl Into<alloc::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unwritable(reason.into()))
}

impl Pte<'_> {
    /// Finds the layout of the `file` that this was read from, so that writing gives the same bytes.
    ///
    /// Fails with [`ErrorKind::Unwritable`] where no layout does: the file was written by no official writer, or has
    /// bytes that its tree does not say (padding that is not zero, bytes behind the last segment).
    pub fn detect_layout(&mut self, file: &[u8]) -> Result<()> {
        let (constants, delegates) = inline_alignments(&self.program);
        let header = self.header.is_some();
        for order in [TableOrder::ById, TableOrder::BySize] {
            for constant_alignment in candidates(constants) {
                for delegate_alignment in candidates(delegates) {
                    let mut layout = FileLayout { order, constant_alignment, delegate_alignment, header_gap: None };
                    let program = layout.encode(&self.program, self.expected_size())?;
                    if header {
                        let size = self.header.map_or(0, |header| header.program_size);
                        let gap = size.checked_sub(program.size() as u64 + 8).and_then(|gap| u32::try_from(gap).ok());
                        let Some(gap) = gap else { continue };
                        layout.header_gap = Some(gap);
                    }
                    self.layout = layout;
                    if self.plan_program(program).is_ok_and(|plan| plan.is(file)) {
                        return Ok(());
                    }
                }
            }
        }
        self.layout = FileLayout::default();
        Err(no_layout())
    }
}

impl Ptd<'_> {
    /// Finds the layout of the `file` that this was read from, so that writing gives the same bytes.
    ///
    /// Fails with [`ErrorKind::Unwritable`] where no layout does, as for [`Pte::detect_layout`].
    pub fn detect_layout(&mut self, file: &[u8]) -> Result<()> {
        let header_gap = self.header.and_then(|header| u32::try_from(header.flatbuffer_offset).ok());
        for order in [TableOrder::BySize, TableOrder::Interleaved, TableOrder::ById] {
            self.layout = FileLayout { order, header_gap, ..FileLayout::default() };
            if self.plan_as_is().is_ok_and(|plan: Plan<'_>| plan.is(file)) {
                return Ok(());
            }
        }
        self.layout = FileLayout::default();
        Err(no_layout())
    }
}

#[cold]
fn no_layout() -> Error {
    unwritable("no layout of an official writer gives this file's bytes")
}

/// Whether there is anything inside the FlatBuffer for which each of the two alignments matters.
fn inline_alignments(program: &Program<'_>) -> (bool, bool) {
    let filled = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| !bytes.is_empty());
    let constants = program.constant_buffer.as_deref().unwrap_or_default();
    let delegates = program.backend_delegate_data.as_deref().unwrap_or_default();
    (
        constants.iter().any(|buffer| filled(buffer.storage.as_deref())),
        delegates.iter().any(|data| filled(data.data.as_deref())),
    )
}

/// The alignments to try, the usual one first.
fn candidates(matters: bool) -> impl Iterator<Item = u32> {
    let others = (0..=16).map(|power| 1 << power).filter(|alignment| *alignment != 16);
    core::iter::once(16).chain(others.filter(move |_| matters))
}
