//! Writing a program.

use super::detect::{self, Detected};
use super::image::{self, Image};
use super::options::PteOptions;
use super::relayout;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::file::pte::Pte;

impl Pte<'_> {
    /// Computes the file's layout: header, program and segments, from the tree, the header and the style.
    ///
    /// If [`style`](Self::style) is `None` and the tree equals what its [`source`](Self::source) decodes to, the source's bytes are
    /// written, even if they do not come from an official writer. If data was replaced by as many bytes, only these bytes change.
    /// Otherwise the tree is encoded in `style` or, if that is `None`, in the style of its source.
    ///
    /// Fails with [`ErrorKind::Absent`] if a segment's bytes are absent, and with [`ErrorKind::Unwritable`] or
    /// [`ErrorKind::Reference`] if the file would be inconsistent: an index is out of range, two keys are equal, the
    /// program does not fit before the segments (recompute the layout, see [`Pte::lay_out`]), or a changed program has
    /// fields of a newer schema (see [`forget_source`](Self::forget_source)).
    pub fn image(&self) -> Result<Image<'_>> {
        image::pte_image(self, true)
    }

    /// Computes the layout like [`image`](Self::image), but without checking references: for writing damaged files that test readers.
    pub fn image_as_is(&self) -> Result<Image<'_>> {
        image::pte_image(self, false)
    }

    /// Returns the style in which a changed tree is written: that of its source, or the nearest one if no official writer's
    /// style reproduces the source's bytes, see [`Detected::exact`](field@Detected::exact).
    ///
    /// ```
    /// use executorch_format::{FieldOrder, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/0.4.0/add_mul/add_mul.pte")?;
    /// let detected = Pte::parse(&file)?.write_style()?;
    /// // Up to ExecuTorch 1.1, flatc wrote the metadata.
    /// assert!(detected.exact && detected.style.field_order == FieldOrder::BySize);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the source has union members of a newer schema with
    /// fields, which cannot be encoded.
    pub fn write_style(&self) -> Result<Detected> {
        detect::pte_style(self)
    }

    /// Removes [`source`](Self::source), but keeps its style. Anything that is not in the tree (fields of a newer schema,
    /// padding that is not zero) is then no longer written.
    ///
    /// Fails as [`write_style`](Self::write_style) does.
    pub fn forget_source(mut self) -> Result<Self> {
        self.style = Some(self.write_style()?.style);
        self.source = None;
        Ok(self)
    }

    /// Recomputes the layout: moves delegate payloads and constants according to `options`, assigns each segment a new
    /// offset in the same order, and creates a new header, or none if there is no data.
    ///
    /// The alignment that was requested for a named blob is not stored, so its new offset gets the alignment of the old
    /// one, up to 4096.
    ///
    /// Fails as [`image`](Self::image) does, and with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if a constant to
    /// be moved extends into the next constant or past its segment.
    pub fn lay_out(self, options: &PteOptions) -> Result<Self> {
        relayout::lay_out_pte(self, options)
    }
}
