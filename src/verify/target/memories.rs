//! The sizes of memories by memory id in a target file.

use crate::sizes::Size;
use alloc::collections::BTreeMap;
use alloc::{format, string::String};
use serde::{Deserialize, Deserializer, de::Error};

/// Deserializes memory ids with sizes. The keys of TOML are texts.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<u32, u64>>, D::Error> {
    let Some(sizes) = Option::<BTreeMap<String, Size>>::deserialize(deserializer)? else { return Ok(None) };
    let memory = |(id, Size(size)): (String, Size)| match id.parse::<u32>() {
        Ok(id) if id > 0 => Ok((id, size)),
        _ => Err(D::Error::custom(format!("{id:?} is not a memory id: expected a number from 1"))),
    };
    sizes.into_iter().map(memory).collect::<Result<_, _>>().map(Some)
}
