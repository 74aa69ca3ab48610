//! Vulkan payloads: a header, a graph in a FlatBuffer, and raw bytes. They can be read but not written.

use super::xnnpack::XnnpackHeader;
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::{self, Limits};
use crate::schema::vulkan::{VkBytes, VkGraph};
use alloc::format;
use core::ops::Range;

const MAGIC: &[u8; 4] = b"VH00";
const IDENTIFIER: &[u8; 4] = b"VK00";

/// A payload for Vulkan.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Vulkan<'a> {
    /// The header, which has the same fields as that of XNNPACK.
    pub header: XnnpackHeader,
    /// The graph.
    pub graph: VkGraph<'a>,
    /// The bytes to which the graph's constants and shaders refer by offset: empty if they have keys.
    #[serde(skip)]
    pub raw_bytes: &'a [u8],
    /// The memory that the graph takes, in bytes.
    #[serde(skip)]
    pub(super) memory: u64,
}

/// The place of the bytes of a constant or shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VulkanPlace<'t> {
    /// In the payload, in bytes from its start.
    Payload(Range<u64>),
    /// In named data, under this key.
    Named(&'t str),
}

impl<'a> Vulkan<'a> {
    /// Returns `true` if the bytes start like a Vulkan payload.
    pub fn is_one(payload: &[u8]) -> bool {
        payload.get(4..).is_some_and(|bytes| bytes.starts_with(MAGIC))
    }

    /// Reads a payload, in time proportional to the graph, not to the weights.
    ///
    /// Fails with [`ErrorKind::Header`] if the header or its ranges are not inside the payload, and if the FlatBuffer breaks a rule of
    /// structure. Offsets count from the payload's start.
    pub fn parse(payload: &'a [u8]) -> Result<Self> {
        Self::parse_with(payload, &Limits::default())
    }

    /// Reads a payload with custom limits.
    pub fn parse_with(payload: &'a [u8], limits: &Limits) -> Result<Self> {
        if !Self::is_one(payload) {
            let found = "another payload";
            return Err(Error::at(4, ErrorKind::foreign("Vulkan payload", found)));
        }
        let header = XnnpackHeader::parse(payload, "a Vulkan")?;
        let [graph, raw] = header.cut(payload);
        let inside = |error: Error| error.inside(header.flatbuffer_offset.into());
        if graph.get(4..8) != Some(IDENTIFIER) {
            let identifier = graph.get(4..8).unwrap_or_default().escape_ascii();
            let found = format!("the identifier of its FlatBuffer is '{identifier}', expected 'VK00'");
            return Err(inside(Error::at(4, ErrorKind::Header(found.into()))));
        }
        let (graph, seen) = read::read_at(0, graph, limits).map_err(inside)?;
        Ok(Self { header, graph, raw_bytes: raw, memory: seen.memory })
    }

    /// Returns the place of a constant's or shader's bytes, or `None` if they are not inside the raw bytes.
    pub fn place<'t>(&self, bytes: &'t VkBytes<'_>) -> Option<VulkanPlace<'t>> {
        if let Some(key) = &bytes.named_key {
            return Some(VulkanPlace::Named(key));
        }
        let end = bytes.offset.checked_add(bytes.length).filter(|end| *end <= self.raw_bytes.len() as u64)?;
        let start = u64::from(self.header.constant_data_offset);
        Some(VulkanPlace::Payload(start + bytes.offset..start + end))
    }
}
