//! Questions about a `.ptd` file.

use super::{Blobs, SizeReport, Summary, blobs, size, summary};
use crate::error::Result;
use crate::file::ptd::Ptd;
#[cfg(doc)]
use crate::file::pte::Pte;

impl Ptd<'_> {
    /// Returns a summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        summary::of_ptd(self)
    }

    /// Returns every blob of the file, with its keys.
    pub fn blobs(&self) -> Blobs<'_> {
        blobs::of_ptd(self)
    }

    /// Reports how the bytes of the file are used, like [`Analysis::size_report`](crate::Analysis::size_report).
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        size::of_ptd(self)
    }
}
