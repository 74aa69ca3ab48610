//! Questions about a file of any kind.

use super::{Blob, Blobs, SizeReport, Summary, blobs};
use crate::analysis::Analysis;
use crate::error::Result;
use crate::file::header::Header;
#[cfg(doc)]
use crate::file::pte::Pte;
use crate::model::Model;
use alloc::borrow::Cow;

impl Model<'_> {
    /// Returns a summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        match self {
            Self::Pte(pte) => Analysis::new(pte).summary(),
            Self::Ptd(ptd) => ptd.summary(),
            Self::Bpte(bpte) => bpte.summary(),
            Self::Etdp(etdp) => etdp.summary(),
            Self::Xnnpack(xnnpack) => xnnpack.summary(),
        }
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
        match self {
            Self::Pte(pte) => Analysis::new(pte).blobs(),
            Self::Ptd(ptd) => ptd.blobs(),
            Self::Bpte(bpte) => bpte.blobs(),
            Self::Etdp(etdp) => etdp.blobs(),
            Self::Xnnpack(xnnpack) => xnnpack.blobs(),
        }
    }

    /// Reports how the bytes of the file are used.
    ///
    /// Fails as [`Analysis::size_report`] does.
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        match self {
            Self::Pte(pte) => Analysis::new(pte).size_report(),
            Self::Ptd(ptd) => ptd.size_report(),
            Self::Bpte(bpte) => bpte.size_report(),
            Self::Etdp(etdp) => etdp.size_report(),
            Self::Xnnpack(xnnpack) => xnnpack.size_report(),
        }
    }

    /// Returns the bytes of a blob of this file; `None` for an external blob.
    ///
    /// Fails as [`Pte::bytes`] does.
    pub fn blob_bytes(&self, blob: &Blob<'_>) -> Result<Option<Cow<'_, [u8]>>> {
        blobs::bytes(self, blob)
    }
}
