//! Writing a `.ptd` file.

use super::collect::{self, NewEntry};
use super::detect::{self, Detected};
use super::image::{self, Image};
use super::options::PtdOptions;
use super::relayout;
use crate::error::Result;
use crate::file::ptd::Ptd;
#[cfg(doc)]
use crate::file::pte::Pte;

impl<'a> Ptd<'a> {
    /// Creates a file with a segment for each entry, in order. Entries with equal bytes share a segment, aligned to the least common
    /// multiple of their alignments.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if two keys are equal or an alignment is 0 or above 2^30,
    /// and with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if a tensor's bytes and shape differ in size.
    pub fn build(entries: impl IntoIterator<Item = NewEntry<'a>>, options: &PtdOptions) -> Result<Self> {
        collect::build_ptd(entries, options)
    }

    /// Computes the file's layout: header, metadata and segments, from the tree, the header and the style.
    ///
    /// The treatment of unchanged files, and the errors, are those of [`Pte::image`].
    pub fn image(&self) -> Result<Image<'_>> {
        image::ptd_image(self, true)
    }

    /// Computes the layout like [`image`](Self::image), but without checking references: for writing damaged files that test readers.
    pub fn image_as_is(&self) -> Result<Image<'_>> {
        image::ptd_image(self, false)
    }

    /// Returns the style in which a changed tree is written, as for [`Pte::write_style`].
    pub fn write_style(&self) -> Result<Detected> {
        detect::ptd_style(self)
    }

    /// Removes [`source`](Self::source), but keeps its style: see [`Pte::forget_source`].
    ///
    /// Fails as [`write_style`](Self::write_style) does.
    pub fn forget_source(mut self) -> Result<Self> {
        self.style = Some(self.write_style()?.style);
        self.source = None;
        Ok(self)
    }

    /// Recomputes the layout: assigns each segment a new offset, in the same order.
    ///
    /// Fails as [`image`](Self::image) does.
    pub fn lay_out(self, options: &PtdOptions) -> Result<Self> {
        relayout::lay_out_ptd(self, options)
    }
}
