//! A summary of a file.

mod flat_tensor;
mod program;

pub use flat_tensor::{FlatTensorSummary, Key};
pub use program::{Backend, Instructions, Method, OperatorCalls, ProgramSummary, Value, ValueShape};

pub(super) use flat_tensor::of_ptd;
pub(super) use program::of_pte;

#[cfg(feature = "devtools")]
use super::bundle::BundleSummary;
#[cfg(feature = "devtools")]
use super::etdp::TraceSummary;
use super::xnnpack::XnnpackSummary;
use super::{Blob, Fault};
use crate::file::header::{FileKind, Header, PtdHeader, PteHeader};
use crate::schema::DataSegment;
use alloc::vec::Vec;

/// A summary of a file.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Summary<'t> {
    /// The kind of file.
    pub kind: FileKind,
    /// The four identifier bytes, such as `ET12`.
    pub identifier: &'static str,
    /// The extended header, if there is one.
    pub header: Option<HeaderSummary>,
    /// What is inside.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub content: Content<'t>,
    /// Dangling references.
    pub errors: Vec<Fault>,
}

/// What is inside a file of any kind.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)]
pub enum Content<'t> {
    /// A `.pte` file's.
    Program(ProgramSummary<'t>),
    /// A `.ptd` file's.
    FlatTensor(FlatTensorSummary<'t>),
    /// A `.bpte` file's, without the program.
    #[cfg(feature = "devtools")]
    Bundle(BundleSummary<'t>),
    /// A `.etdp` file's.
    #[cfg(feature = "devtools")]
    Trace(TraceSummary<'t>),
    /// An XNNPACK payload's.
    Xnnpack(XnnpackSummary<'t>),
}

/// The extended header of a `.pte` or `.ptd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeaderSummary {
    /// The length, in bytes.
    pub length: u32,
    /// Bytes from the start of the file to the end of the FlatBuffer.
    pub metadata_size: u64,
    /// Where the segments start, in bytes from the start of the file.
    pub segment_base_offset: u64,
    /// The size of all segments with their padding, in bytes; `None` in an old header.
    pub segment_data_size: Option<u64>,
}

/// How many segments there are, and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SegmentCount {
    /// How many segments.
    pub count: usize,
    /// Their total size, in bytes.
    pub size: u64,
}

/// How many blobs there are of a kind, their total size, and how many users they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BlobCount {
    /// How many blobs. A shared one is counted once.
    pub count: usize,
    /// Their total size, in bytes.
    pub size: u64,
    /// How many tensors, delegates or names use them.
    pub users: usize,
}

impl BlobCount {
    fn of<'b, 't: 'b>(blobs: impl Iterator<Item = &'b Blob<'t>>) -> Self {
        let mut count = Self::default();
        for blob in blobs {
            count.add(blob.size, blob.users.len());
        }
        count
    }

    pub(super) fn add(&mut self, size: u64, users: usize) {
        self.count += 1;
        self.size = self.size.saturating_add(size);
        self.users += users;
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
