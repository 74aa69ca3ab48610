//! Questions about a `.ptd` file.

use super::{Blobs, Summary, blobs, summary};
use crate::file::ptd::Ptd;

impl Ptd<'_> {
    /// A summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        summary::of_ptd(self)
    }

    /// Every blob of the file, with the keys that name it.
    pub fn blobs(&self) -> Blobs<'_> {
        blobs::of_ptd(self)
    }
}
