//! The facts about a `.ptd` file.

use super::Amount;
use crate::shape::Shape;
use executorch_format::schema::flat_tensor::LegacySchema;
use executorch_format::{DataRef, Entry, Ptd};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Facts<'t> {
    /// The versions of ExecuTorch that write this schema.
    pub schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor_alignment: Option<u32>,
    pub segments: Amount,
    pub keys: Vec<Key<'t>>,
}

#[derive(Serialize)]
pub(super) struct Key<'t> {
    pub key: &'t str,
    /// Absent for a blob that is no tensor.
    #[serde(flatten)]
    pub shape: Option<Shape<'t>>,
    pub segment_index: u32,
    /// Bytes from the start of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Bytes.
    pub size: u64,
}

pub(super) fn facts<'t>(ptd: &'t Ptd<'_>, findings: &mut Vec<String>) -> Facts<'t> {
    let legacy = ptd.flat_tensor.legacy.as_ref();
    Facts {
        schema: match legacy.map(|legacy| legacy.schema) {
            Some(LegacySchema::V0_5) => "0.5",
            Some(LegacySchema::V0_6) => "0.6",
            None => "0.7 and later",
        },
        tensor_alignment: legacy.map(|legacy| legacy.tensor_alignment),
        segments: ptd.flat_tensor.segments.iter().flatten().map(|segment| segment.size).collect(),
        keys: ptd.entries().enumerate().map(|(at, entry)| key(ptd, at, &entry, findings)).collect(),
    }
}

fn key<'t>(ptd: &Ptd<'_>, at: usize, entry: &Entry<'t>, findings: &mut Vec<String>) -> Key<'t> {
    let key = entry.key.unwrap_or_default();
    if let Err(error) = ptd.bytes(entry) {
        findings.push(format!("key {at} ({key:?}): {error}"));
    }
    Key {
        key,
        shape: entry.layout.map(Shape::from),
        segment_index: entry.segment_index,
        offset: ptd.extent(entry).map(|extent| extent.start),
        size: ptd.data(entry).as_ref().map_or(0, DataRef::size),
    }
}
