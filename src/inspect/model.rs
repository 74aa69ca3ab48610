//! Questions about a file of any kind.

use super::{Blob, Blobs, SizeReport, Summary, blobs};
use crate::error::Result;
use crate::file::header::Header;
#[cfg(doc)]
use crate::file::pte::Pte;
use crate::model::{Model, each_file};
use alloc::borrow::Cow;

impl Model<'_> {
    /// Returns a summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        each_file!(self, file => file.summary())
    }

    /// Returns the extended header, if the file has one.
    pub fn header(&self) -> Option<Header> {
        match self {
            Self::Pte(pte) => pte.header.map(Header::Pte),
            Self::Ptd(ptd) => ptd.header.map(Header::Ptd),
            _ => None,
        }
    }

    /// Returns every blob of the file, with its users.
    pub fn blobs(&self) -> Blobs<'_> {
        each_file!(self, file => file.blobs())
    }

    /// Reports how the bytes of the file are used.
    ///
    /// Fails as [`Pte::size_report`] does.
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        each_file!(self, file => file.size_report())
    }

    /// Returns the bytes of a blob of this file; `None` for an external blob.
    ///
    /// Fails as [`Pte::bytes`] does.
    pub fn blob_bytes(&self, blob: &Blob<'_>) -> Result<Option<Cow<'_, [u8]>>> {
        blobs::bytes(self, blob)
    }
}
