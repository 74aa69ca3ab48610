//! Summaries of payloads.

use super::{KeyReference, NamedBlobs, Payload, PayloadKind};
use crate::error::{Error, Result};
use crate::names::shortened;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::{format, vec, vec::Vec};
use core::ops::Range;

/// A summary of a payload.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PayloadSummary {
    /// The kind, identified by the bytes or, if these are not distinctive, by the delegate's id.
    pub kind: Option<PayloadKind>,
    /// The known parts.
    pub parts: Vec<PayloadPart>,
    /// The data that the payload looks up by key, except constants of XNNPACK and Vulkan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keyed: Vec<KeyedPart>,
    /// The number of uses of each operator in a Vulkan graph. [`Backend`](crate::inspect::Backend) counts the operators in XNNPACK
    /// graphs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operators: BTreeMap<String, usize>,
    /// The scratch memory that a run takes, in bytes, if the payload states it (Ethos-U).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch_size: Option<u64>,
    /// `true` if machine code runs on the CPU when the payload is loaded.
    pub native_code: bool,
    /// The error, if the payload could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A part of a payload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PayloadPart {
    /// The name: a name from the payload, or `graph`, `constants` and the like.
    pub name: String,
    /// The offset from the payload's start, in bytes.
    pub offset: u64,
    /// The size, in bytes.
    pub size: u64,
}

/// Data that a payload looks up by key, in the program's named data or in a `.ptd` file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeyedPart {
    /// The name: a weight's, a block's, or a general one such as `library`.
    pub name: String,
    /// The key, [`shortened`](crate::text::shortened).
    pub key: String,
    /// The size of the data in bytes; if it is not at hand, the size that the payload states. `None` if that is not known either.
    pub size: Option<u64>,
    /// `true` if the program itself has the data.
    pub inside: bool,
}

impl PayloadPart {
    fn new(name: impl Into<String>, range: Range<u64>) -> Self {
        Self { name: name.into(), offset: range.start, size: range.end.saturating_sub(range.start) }
    }
}

impl PayloadSummary {
    /// Summarizes the payload of a delegate with the given id, or the error from reading it. `blobs` has the data that it looks up by key.
    pub fn of(id: &str, payload: &Result<Payload<'_>>, blobs: &NamedBlobs<'_>) -> Self {
        let by_id = PayloadKind::of_id(id);
        let payload = match payload {
            Ok(payload) => payload,
            Err(error) => return Self { kind: by_id, error: Some(Error::to_string(error)), ..Self::default() },
        };
        let kind = payload.kind().or(by_id);
        let scratch_size = match payload {
            Payload::EthosU(ethos_u) => ethos_u.scratch_size(),
            _ => None,
        };
        let native_code = kind.is_some_and(PayloadKind::is_native_code);
        let parts = match payload {
            // If one part is out of range, the others cannot be trusted.
            Payload::Opaque(bytes) => {
                let parts = kind.map_or(Vec::new(), |kind| opaque_parts(kind, bytes));
                parts.into_iter().map(|(_, part)| part).collect::<Option<_>>().unwrap_or_default()
            }
            _ => payload.parts(),
        };
        let mut operators = BTreeMap::new();
        if let Payload::Vulkan(vulkan) = payload {
            vulkan.graph.chain().iter().for_each(|call| *operators.entry(call.name().into()).or_default() += 1);
        }
        let keyed = keyed(payload, blobs);
        Self { kind, parts, keyed, operators, scratch_size, native_code, error: None }
    }
}

/// Returns the data that a payload looks up by key, unless it has a graph with constants.
fn keyed(payload: &Payload<'_>, blobs: &NamedBlobs<'_>) -> Vec<KeyedPart> {
    if matches!(payload, Payload::Xnnpack(_) | Payload::Vulkan(_)) {
        return Vec::new();
    }
    let part = |reference: KeyReference<'_>| {
        let blob = blobs.get(&reference.key).ok().flatten();
        KeyedPart {
            size: blob.map(|blob| blob.bytes.len() as u64).or(reference.size),
            inside: blob.is_some_and(|blob| blob.file == 0),
            name: shortened(&reference.name).into_owned(),
            key: shortened(&reference.key).into_owned(),
        }
    };
    payload.key_references().unwrap_or_default().into_iter().map(part).collect()
}

impl Payload<'_> {
    /// Returns the kind, identified by the bytes.
    pub fn kind(&self) -> Option<PayloadKind> {
        match self {
            Self::Xnnpack(_) => Some(PayloadKind::Xnnpack),
            Self::Vulkan(_) => Some(PayloadKind::Vulkan),
            Self::EthosU(_) => Some(PayloadKind::EthosU),
            Self::CoreMl(_) => Some(PayloadKind::CoreMl),
            // The lines of other releases are the same for CUDA and Metal.
            Self::AotInductor(aot) => aot.lists_tensors.then_some(PayloadKind::Cuda),
            Self::Opaque(bytes) => PayloadKind::of_bytes(bytes),
        }
    }

    /// Returns the parts, in order: a graph and constants, named blocks, files. Empty if only the backend can read the payload.
    pub fn parts(&self) -> Vec<PayloadPart> {
        let graph_and = |header: &super::xnnpack::XnnpackHeader, name: &str| {
            vec![PayloadPart::new("graph", header.flatbuffer()), PayloadPart::new(name, header.constant_data())]
        };
        match self {
            Self::Xnnpack(xnnpack) => {
                xnnpack.header.as_ref().map_or(Vec::new(), |header| graph_and(header, "constants"))
            }
            Self::Vulkan(vulkan) => graph_and(&vulkan.header, "raw bytes"),
            Self::EthosU(ethos_u) => {
                let part = |block: &super::ethos_u::VelaBlock<'_>| {
                    let name = String::from_utf8_lossy(block.name);
                    let name = if block.external { format!("key of {name}").into() } else { name };
                    PayloadPart::new(name, block.offset..block.offset.saturating_add(block.data.len() as u64))
                };
                // The first and the last block are empty markers.
                ethos_u.blocks.iter().filter(|block| !block.data.is_empty()).map(part).collect()
            }
            Self::CoreMl(core_ml) => core_ml.files().map(|(path, range)| PayloadPart::new(path, range)).collect(),
            Self::AotInductor(_) | Self::Opaque(_) => Vec::new(),
        }
    }
}

/// Returns the parts that headers of other backends describe, each with the offset of the field that states its size. A part is
/// `None` if it is not inside the payload.
pub(super) fn opaque_parts(kind: PayloadKind, payload: &[u8]) -> Vec<(usize, Option<PayloadPart>)> {
    let number = |at: usize| payload.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let part = |name: &str, start: Option<u64>, size: Option<u64>| {
        let start = start?;
        let end = start.checked_add(size?)?;
        (end <= payload.len() as u64).then(|| PayloadPart::new(name, start..end))
    };
    /// The start of the FlatBuffer. The start of its data is in the header.
    const FLATBUFFER: u64 = 24;
    /// The start of the context binary: after the header's 20 bytes, or after the header padded to 256 bytes. Both occur.
    const CONTEXT: [u64; 2] = [20, 256];
    match kind {
        PayloadKind::Mlx | PayloadKind::Mps => {
            let (start, size) = (number(8), number(16));
            let graph = start.and_then(|start| start.checked_sub(FLATBUFFER));
            vec![(8, part("graph", Some(FLATBUFFER), graph)), (16, part("data", start, size))]
        }
        PayloadKind::Qnn => {
            let start = number(12).and_then(|size| (payload.len() as u64).checked_sub(size));
            vec![(12, part("context binary", start.filter(|start| CONTEXT.contains(start)), number(12)))]
        }
        PayloadKind::OpenVino => {
            let names = [("settings", 0), ("constants", 16), ("model", 32)];
            names.into_iter().map(|(name, at)| (at, part(name, number(at), number(at + 8)))).collect()
        }
        _ => Vec::new(),
    }
}
