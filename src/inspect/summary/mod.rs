//! A summary of a file.

mod flat_tensor;
mod program;

pub use flat_tensor::{FlatTensorSummary, Key};
pub use program::{Backend, Instructions, Method, OperatorCalls, ProgramSummary, Value};

pub(super) use flat_tensor::of_ptd;
pub(super) use program::{of_pte, with_runs};

use super::bundle::BundleSummary;
use super::trace::TraceSummary;
use super::xnnpack::XnnpackSummary;
use super::{Blob, Fault};
use crate::file::header::{FileKind, Header, PtdHeader, PteHeader};
use crate::schema::DataSegment;
use alloc::vec::Vec;

/// A summary of a file.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Summary<'t> {
    /// The kind of file.
    pub kind: FileKind,
    /// The four identifier bytes, such as `ET12`.
    pub identifier: &'static str,
    /// The extended header, if the file has one.
    pub header: Option<HeaderSummary>,
    /// The contents.
    #[serde(flatten)]
    pub content: Content<'t>,
    /// Dangling references.
    pub errors: Vec<Fault>,
}

/// The contents of a file of any kind.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)]
pub enum Content<'t> {
    /// The contents of a `.pte` file.
    Program(ProgramSummary<'t>),
    /// The contents of a `.ptd` file.
    FlatTensor(FlatTensorSummary<'t>),
    /// The contents of a `.bpte` file, without the program.
    Bundle(BundleSummary<'t>),
    /// The contents of a `.etdp` file.
    Trace(TraceSummary<'t>),
    /// The contents of an XNNPACK payload.
    Xnnpack(XnnpackSummary<'t>),
}

/// The extended header of a `.pte` or `.ptd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeaderSummary {
    /// The length, in bytes.
    pub length: u32,
    /// The offset of the end of the FlatBuffer in bytes from the start of the file.
    pub metadata_size: u64,
    /// The start of the segments, in bytes from the start of the file.
    pub segment_base_offset: u64,
    /// The size of all segments with their padding, in bytes; `None` in an old header.
    pub segment_data_size: Option<u64>,
}

/// The number of segments and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SegmentCount {
    /// The number of segments.
    pub count: usize,
    /// The total size, in bytes.
    pub size: u64,
}

/// The number of blobs of a kind, their total size, and the number of their users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BlobCount {
    /// The number of blobs. A shared blob is counted once.
    pub count: usize,
    /// The total size, in bytes; `None` if the size of one is not known.
    pub size: Option<u64>,
    /// The number of tensors, delegates or names that use them.
    pub users: usize,
}

impl BlobCount {
    pub(super) const NONE: Self = Self { count: 0, size: Some(0), users: 0 };

    fn of<'b, 't: 'b>(blobs: impl Iterator<Item = &'b Blob<'t>>) -> Self {
        let mut count = Self::NONE;
        for blob in blobs {
            count.add(blob.size, blob.users.len());
        }
        count
    }

    pub(super) fn add(&mut self, size: u64, users: usize) {
        self.count += 1;
        self.add_size(Some(size));
        self.users += users;
    }

    pub(super) fn add_size(&mut self, size: Option<u64>) {
        self.size = self.size.zip(size).map(|(sum, size)| sum.saturating_add(size));
    }
}

fn segment_count(segments: &[DataSegment]) -> SegmentCount {
    let bytes = segments.iter().map(|segment| segment.size).fold(0, u64::saturating_add);
    SegmentCount { count: segments.len(), size: bytes }
}

impl From<Header> for HeaderSummary {
    fn from(header: Header) -> Self {
        match header {
            Header::Pte(PteHeader { length, program_size, segment_base_offset, segment_data_size }) => {
                Self { length, metadata_size: program_size, segment_base_offset, segment_data_size }
            }
            Header::Ptd(PtdHeader {
                length,
                flatbuffer_offset,
                flatbuffer_size,
                segment_base_offset,
                segment_data_size,
            }) => Self {
                length,
                metadata_size: flatbuffer_offset.saturating_add(flatbuffer_size),
                segment_base_offset,
                segment_data_size: Some(segment_data_size),
            },
        }
    }
}
