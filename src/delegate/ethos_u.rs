//! Ethos-U payloads: named blocks, one after the other, as Vela writes them. The format follows the runtime's
//! `VelaBinStream.cpp`.
//!
//! | bytes of a block | content |
//! |---|---|
//! | 0..16 | name, with zeros after it |
//! | 16..20 | u32 size of the data |
//! | 20 | 1: the data is a key into named data; 0 in every payload seen |
//! | 32.. | the data, with zeros up to a multiple of 16 |

use crate::error::{Error, ErrorKind, Result};
use alloc::{format, vec::Vec};
use serde::ser::SerializeMap;

const FIRST: &[u8; 16] = b"vela_bin_stream\0";
const LAST: &str = "vela_end_stream";
/// The size of a block's header, which is also the alignment of blocks.
const HEAD: usize = 32;
const ALIGNMENT: usize = 16;

/// A payload for an Ethos-U.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EthosU<'a> {
    /// The blocks, including the first and the last block, which are empty.
    pub blocks: Vec<VelaBlock<'a>>,
}

/// A named block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VelaBlock<'a> {
    /// The name, such as `cmd_data`, without the zeros after it.
    pub name: &'a [u8],
    /// `true` if the data is a key into named data instead of the data itself.
    pub external: bool,
    /// The start of the data, in bytes from the payload's start.
    pub offset: u64,
    /// The data.
    pub data: &'a [u8],
}

/// An input or output in the memory of an Ethos-U.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VelaIo {
    /// The size of each dimension, in elements: 1 for missing dimensions.
    pub shape: [i32; 6],
    /// The size of an element, in bytes.
    pub element_size: i32,
    /// The offset from the start of the region, in bytes.
    pub offset: i32,
    /// The memory region: 1 is the scratch memory.
    pub region: i32,
}

impl<'a> EthosU<'a> {
    /// Returns `true` if the bytes start like an Ethos-U payload.
    pub fn is_one(payload: &[u8]) -> bool {
        payload.starts_with(FIRST)
    }

    /// Reads a payload.
    ///
    /// Fails with [`ErrorKind::Truncated`] if a block is not inside the payload, and with [`ErrorKind::Header`] if the last block is
    /// missing. Offsets count from the payload's start.
    pub fn parse(payload: &'a [u8]) -> Result<Self> {
        if !Self::is_one(payload) {
            let found = "another payload";
            return Err(Error::at(0, ErrorKind::foreign("Ethos-U payload", found)));
        }
        let (mut blocks, mut at) = (Vec::new(), 0);
        while let Some(rest) = payload.get(at..).filter(|rest| !rest.is_empty()) {
            let (block, end) = VelaBlock::parse(rest, at, payload.len())?;
            blocks.push(block);
            if block.name == LAST.as_bytes() {
                return Ok(Self { blocks });
            }
            at = end;
        }
        let found = format!("the blocks end at {at}, expected '{LAST}' as the last one");
        Err(Error::at(payload.len(), ErrorKind::Header(found.into())))
    }

    /// Returns the data of the block with that name, if the payload has such a block and contains its data.
    pub fn block(&self, name: &str) -> Option<&'a [u8]> {
        let block = self.blocks.iter().find(|block| block.name == name.as_bytes());
        block.filter(|block| !block.external).map(|block| block.data)
    }

    /// Returns the command stream, which the Ethos-U runs.
    pub fn command_stream(&self) -> Option<&'a [u8]> {
        self.block("cmd_data")
    }

    /// Returns the compressed weights.
    pub fn weights(&self) -> Option<&'a [u8]> {
        self.block("weight_data")
    }

    /// Returns the scratch memory that a run takes, in bytes.
    pub fn scratch_size(&self) -> Option<u64> {
        self.block("scratch_size")?.first_chunk().map(|size| u32::from_le_bytes(*size).into())
    }

    /// Returns the inputs, in order, or `None` if the payload does not list them or has fewer than it states.
    pub fn inputs(&self) -> Option<Vec<VelaIo>> {
        ios(self.block("inputs")?)
    }

    /// Returns the outputs, as [`inputs`](Self::inputs) does for inputs.
    pub fn outputs(&self) -> Option<Vec<VelaIo>> {
        ios(self.block("outputs")?)
    }
}

impl<'a> VelaBlock<'a> {
    /// Reads the block at the start of `rest`, which starts at byte `at` of a payload of `available` bytes. Returns the block and its end.
    fn parse(rest: &'a [u8], at: usize, available: usize) -> Result<(Self, usize)> {
        let truncated = |what, end: usize| {
            Error::at(at, ErrorKind::Truncated { what, end: end as u64, available: available as u64 })
        };
        let (head, data) =
            rest.split_first_chunk::<HEAD>().ok_or_else(|| truncated("a block's header", at.saturating_add(HEAD)))?;
        let (name, _) = head.split_at(head.iter().take(ALIGNMENT).take_while(|byte| **byte != 0).count());
        let [.., l0, l1, l2, l3, external, _, _, _, _, _, _, _, _, _, _, _] = *head;
        let size = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let start = at.saturating_add(HEAD);
        let end = start.saturating_add(size);
        let data = data.get(..size).ok_or_else(|| truncated("a block's data", end))?;
        let block = Self { name, external: external == 1, offset: start as u64, data };
        Ok((block, end.checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX)))
    }
}

fn ios(data: &[u8]) -> Option<Vec<VelaIo>> {
    let (count, rest) = data.split_first_chunk()?;
    let count = usize::try_from(i32::from_le_bytes(*count)).ok()?;
    let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
    let io = |bytes: &[u8]| {
        let mut numbers = [0; 9];
        numbers.iter_mut().zip(bytes.chunks_exact(4).map(number)).for_each(|(place, number)| *place = number);
        let [shape @ .., element_size, offset, region] = numbers;
        VelaIo { shape, element_size, offset, region }
    };
    let ios: Vec<VelaIo> = rest.chunks_exact(9 * 4).take(count).map(io).collect();
    (ios.len() == count).then_some(ios)
}

/// Serializes the blocks without their bytes, and the content of known blocks.
impl serde::Serialize for EthosU<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("blocks", &self.blocks)?;
        map.serialize_entry("scratch_size", &self.scratch_size())?;
        map.serialize_entry("inputs", &self.inputs())?;
        map.serialize_entry("outputs", &self.outputs())?;
        map.end()
    }
}

crate::json_schema::json_schema!(EthosU<'a>, |generator| schemars::json_schema!({
    "type": "object",
    "required": ["blocks", "scratch_size", "inputs", "outputs"],
    "properties": {
        "blocks": generator.subschema_for::<Vec<VelaBlock<'_>>>(),
        "scratch_size": generator.subschema_for::<Option<u64>>(),
        "inputs": generator.subschema_for::<Option<Vec<VelaIo>>>(),
        "outputs": generator.subschema_for::<Option<Vec<VelaIo>>>(),
    },
}));

impl serde::Serialize for VelaBlock<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &*alloc::string::String::from_utf8_lossy(self.name))?;
        map.serialize_entry("external", &self.external)?;
        map.serialize_entry("offset", &self.offset)?;
        map.serialize_entry("size", &self.data.len())?;
        map.end()
    }
}

crate::json_schema::json_schema!(VelaBlock<'a>, |generator| schemars::json_schema!({
    "type": "object",
    "required": ["name", "external", "offset", "size"],
    "properties": {
        "name": {"type": "string"},
        "external": generator.subschema_for::<bool>(),
        "offset": generator.subschema_for::<usize>(),
        "size": generator.subschema_for::<usize>(),
    },
}));
