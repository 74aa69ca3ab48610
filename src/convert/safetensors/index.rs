//! The index of a model that is split into several safetensors files, called shards.

use super::read::{Texts, from_json};
use crate::error::{Error, Result};
use alloc::collections::BTreeMap;
use alloc::{format, string::String, string::ToString, vec::Vec};
use serde::{Deserialize, Serialize};

/// The shard of each tensor: `model.safetensors.index.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ShardIndex {
    /// Metadata about the model.
    pub metadata: IndexMetadata,
    /// The file of each tensor, by the tensor's name. All files are in the folder of the index.
    pub weight_map: BTreeMap<String, String>,
}

/// Metadata about the model in an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexMetadata {
    /// The total size of all tensors, in bytes.
    pub total_size: u64,
}

#[derive(Deserialize)]
struct Read {
    weight_map: Texts,
}

impl ShardIndex {
    /// Reads an index. The total size in it is ignored: it follows from the shards.
    ///
    /// Fails with [`ErrorKind::Other`](crate::ErrorKind::Other), with the offset, if the bytes are not JSON of that form, a name
    /// occurs twice, or a file is in another folder.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let text = core::str::from_utf8(bytes)
            .map_err(|error| Error::other("index", error.valid_up_to(), "it is not UTF-8"))?;
        let Read { weight_map: Texts(files) } = from_json(text, 0)?;
        let elsewhere = |file: &str| matches!(file, "" | "." | "..") || file.contains(['/', '\\', ':', '\0']);
        if let Some((name, file)) = files.iter().find(|(_, file)| elsewhere(file)) {
            // If the name is escaped differently in the text, the error points to the start of the index.
            let at = text.find(&format!("{file:?}")).unwrap_or_default();
            let fault =
                format!("tensor {name:?}: expected the name of a file in the index's own folder, found {file:?}");
            return Err(Error::other("index", at, fault));
        }
        let mut index = Self::default();
        for (name, file) in files {
            index.weight_map.insert(name, file);
        }
        Ok(index)
    }

    /// Returns the files of the shards, sorted, without duplicates.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.weight_map.values().map(String::as_str).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Returns the index as JSON.
    pub fn to_json(&self) -> Result<String> {
        let json = serde_json::to_string_pretty(self).map_err(|error| Error::unwritable(error.to_string()))?;
        Ok(json + "\n")
    }
}
