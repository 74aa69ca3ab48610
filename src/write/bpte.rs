//! Writing a bundled program.

use super::detect::{Detected, NO_LIMITS, ends_with, shown_style, variants};
use super::image::{Image, no_newer_tables};
use crate::error::Result;
use crate::file::bpte::Bpte;
use crate::file::header::BPTE_IDENTIFIER;
use crate::file::style::WriteStyle;
use crate::flatbuffer::any::same;
use crate::flatbuffer::read::{self, Record};
use crate::schema::BundledProgram;

impl Bpte<'_> {
    /// Computes the file's layout from the tree and the style.
    ///
    /// If the tree equals its [`source`](Self::source), the source's bytes are written. A changed tree is encoded in
    /// [`style`](Self::style) if it is set, otherwise in the style of its source; that takes as much memory as the file.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the file would be 2 GiB or larger, or if a
    /// changed tree has fields of a newer schema.
    pub fn image(&self) -> Result<Image<'_>> {
        if let Some(source) = self.source.as_ref().filter(|_| self.style.is_none()) {
            if self.decoded_source().is_some_and(|decoded| same(&decoded, &self.bundled_program)) {
                return Ok(Image::unchanged(&source.bytes));
            }
        }
        no_newer_tables(self.source.as_ref())?;
        let expected = self.bundled_program.program().len() as u64;
        let body = self.write_style()?.style.encode(&self.bundled_program, expected)?;
        Ok(Image::of_flatbuffer(body.head(BPTE_IDENTIFIER, 0)?, body))
    }

    fn decoded_source(&self) -> Option<BundledProgram<'_>> {
        let bytes = self.source.as_ref()?.metadata();
        read::read_at(0, bytes, &NO_LIMITS).ok().map(|(decoded, _)| decoded)
    }

    /// Returns the style in which a changed tree is written, as for [`Pte::write_style`](crate::Pte::write_style).
    pub fn write_style(&self) -> Result<Detected> {
        if let Some(style) = self.style {
            return Ok(Detected::exact(style));
        }
        let (Some(source), Some(decoded)) = (&self.source, self.decoded_source()) else {
            return Ok(Detected::exact(WriteStyle::PYTHON));
        };
        let bytes = source.metadata();
        let shown = shown_style(bytes, BundledProgram::DESCRIPTION);
        for (align_empty, vtable_sharing) in variants(&shown) {
            let style = WriteStyle { align_empty, vtable_sharing, ..shown };
            if ends_with(bytes, &style.encode(&decoded, bytes.len() as u64)?) {
                return Ok(Detected::exact(style));
            }
        }
        Ok(Detected { style: shown, exact: false })
    }
}
