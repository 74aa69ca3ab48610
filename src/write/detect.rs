//! Finding the layout that a file has.

use super::layout::FileLayout;
use crate::error::{Error, Result};
use crate::flatbuffer::write::TableOrder;
use crate::header::FLATBUFFER_HEAD;
use crate::schema::Program;
use crate::{Ptd, Pte};

impl Pte<'_> {
    /// Finds the layout of the `file` that this was read from, so that writing gives the same bytes.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where no layout does: the file was written by no official writer, or has
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
                        let gap = size
                            .checked_sub((FLATBUFFER_HEAD + program.size()) as u64)
                            .and_then(|gap| u32::try_from(gap).ok());
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
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where no layout does, as for [`Pte::detect_layout`].
    pub fn detect_layout(&mut self, file: &[u8]) -> Result<()> {
        let header_gap = self.header.and_then(|header| u32::try_from(header.flatbuffer_offset).ok());
        for order in [TableOrder::BySize, TableOrder::Interleaved, TableOrder::ById] {
            self.layout = FileLayout { order, header_gap, ..FileLayout::default() };
            if self.plan_as_is().is_ok_and(|plan| plan.is(file)) {
                return Ok(());
            }
        }
        self.layout = FileLayout::default();
        Err(no_layout())
    }
}

#[cold]
fn no_layout() -> Error {
    Error::unwritable("no layout of an official writer gives this file's bytes")
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
