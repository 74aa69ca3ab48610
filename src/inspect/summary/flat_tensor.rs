//! The summary of a `.ptd` file.

use super::{Content, SegmentCount, Summary, segment_count};
use crate::file::header::{FileKind, Header};
use crate::file::ptd::Ptd;
use crate::file::segment::DataRef;
use crate::schema::flat_tensor::LegacySchema;
use crate::tensor::TensorShape;
use alloc::vec::Vec;

/// The contents of a `.ptd` file.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FlatTensorSummary<'t> {
    /// The releases of ExecuTorch that write this schema.
    pub schema: &'static str,
    /// The alignment of tensors, in bytes, which is only in the early schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor_alignment: Option<u32>,
    /// The data segments.
    pub segments: SegmentCount,
    /// The keys, in order.
    pub keys: Vec<Key<'t>>,
}

/// A key of a `.ptd` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Key<'t> {
    /// The key.
    pub key: &'t str,
    /// The shape; `None` for a blob that is not a tensor.
    #[serde(flatten)]
    pub shape: Option<TensorShape<'t>>,
    /// Index into the list of segments.
    pub segment_index: u32,
    /// The offset in bytes from the start of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The size, in bytes.
    pub size: u64,
}

pub(in crate::inspect) fn of_ptd<'t>(ptd: &'t Ptd<'_>) -> Summary<'t> {
    let legacy = ptd.flat_tensor.legacy.as_ref();
    let key = |entry: crate::Entry<'_>| {
        let data = ptd.entry_data(&entry).ok();
        (data.as_ref().and_then(|data| ptd.range(data)), data.as_ref().map_or(0, DataRef::size))
    };
    let keys = ptd.entries().map(|entry| {
        let (range, size) = key(entry);
        let offset = range.map(|range| range.start);
        Key { key: entry.key(), shape: entry.shape, segment_index: entry.segment_index, offset, size }
    });
    let content = FlatTensorSummary {
        schema: match legacy.map(|legacy| legacy.schema) {
            Some(LegacySchema::V0_5) => "0.5",
            Some(LegacySchema::V0_6) => "0.6",
            None => "0.7 and later",
        },
        tensor_alignment: legacy.map(|legacy| legacy.tensor_alignment),
        segments: segment_count(ptd.flat_tensor.segments()),
        keys: keys.collect(),
    };
    Summary {
        kind: FileKind::Ptd,
        identifier: FileKind::Ptd.identifier(),
        header: ptd.header.map(|header| Header::Ptd(header).into()),
        content: Content::FlatTensor(content),
        errors: ptd.blobs().errors,
    }
}
