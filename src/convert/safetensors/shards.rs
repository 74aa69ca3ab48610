//! A model in several files.

use super::{Safetensors, ShardIndex, Skipped, Unsupported};
use crate::error::{Error, Result};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::{format, vec::Vec};

impl<'a> Safetensors<'a> {
    /// Joins the shards of a model, each given with its file name. Equal entries of the metadata are kept once. If entries
    /// differ, [`Unsupported::Skip`] keeps the first.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if a tensor is not in the shard that `index` names, and with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if two shards have a tensor of the same name, or, with
    /// [`Unsupported::Refuse`], if their metadata differs.
    pub fn join(
        shards: Vec<(&str, Self)>,
        index: &ShardIndex,
        unsupported: Unsupported,
    ) -> Result<(Self, Vec<Skipped>)> {
        let (mut joined, mut skipped) = (Self::default(), Vec::new());
        let mut places = BTreeMap::<String, &str>::new();
        for (file, shard) in shards {
            for (key, value) in shard.metadata {
                match joined.metadata.iter().find(|(other, _)| *other == key) {
                    None => joined.metadata.push((key, value)),
                    Some((_, other)) if *other == value => {}
                    Some((_, other)) => {
                        let reason = format!("it is {other:?} in one shard and {value:?} in {file:?}");
                        unsupported.add(&mut skipped, "metadata", &key, reason)?;
                    }
                }
            }
            for tensor in &shard.tensors {
                if let Some(other) = places.insert(tensor.name.to_string(), file) {
                    let name = &tensor.name;
                    return Err(Error::unwritable(format!("tensor {name:?} is in two shards, {other:?} and {file:?}")));
                }
            }
            joined.tensors.extend(shard.tensors);
        }
        for (name, file) in &index.weight_map {
            if places.get(name) != Some(&file.as_str()) {
                return Err(Error::reference(format!("tensor {name:?} is not in {file:?}, where the index has it")));
            }
        }
        Ok((joined, skipped))
    }

    /// Splits the tensors, in order, into files with at most `most` bytes of tensors each; a larger tensor gets a file
    /// of its own. Each file has all the metadata.
    pub fn split(self, most: u64) -> Vec<Self> {
        let Self { metadata, tensors } = self;
        let (mut shards, mut filled) = (Vec::<Self>::new(), 0u64);
        for tensor in tensors {
            let size = tensor.bytes.len() as u64;
            filled = filled.saturating_add(size);
            match shards.last_mut().filter(|_| filled <= most) {
                Some(shard) => shard.tensors.push(tensor),
                None => {
                    filled = size;
                    shards.push(Self { metadata: metadata.clone(), tensors: Vec::from([tensor]) });
                }
            }
        }
        if shards.is_empty() {
            shards.push(Self { metadata, tensors: Vec::new() });
        }
        shards
    }

    /// Returns the index of shards with these file names.
    pub fn index(shards: &[Self], files: &[String]) -> ShardIndex {
        let mut index = ShardIndex::default();
        for shard in shards {
            index.metadata.total_size += shard.tensors.iter().map(|tensor| tensor.bytes.len() as u64).sum::<u64>();
        }
        for (shard, file) in shards.iter().zip(files) {
            for tensor in &shard.tensors {
                index.weight_map.insert(tensor.name.to_string(), file.clone());
            }
        }
        index
    }
}
