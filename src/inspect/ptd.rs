//! Questions about a `.ptd` file.

use super::{Blobs, SizeReport, Summary, blobs, size, summary};
use crate::error::Result;
use crate::file::ptd::Ptd;
#[cfg(doc)]
use crate::file::pte::Pte;

impl Ptd<'_> {
    /// A summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        summary::of_ptd(self)
    }

    /// Every blob of the file, with the keys that name it.
    pub fn blobs(&self) -> Blobs<'_> {
        blobs::of_ptd(self)
    }

    /// Where the bytes of the file go, as for [`Pte::size_report`].
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        size::of_ptd(self)
    }
}
