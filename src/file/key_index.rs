//! Look-up by key.

use crate::error::{Error, Result};
use crate::flatbuffer::text::Text;
use alloc::{format, vec::Vec};

/// Keys sorted once, so that each look-up is a binary search.
#[derive(Clone, Debug)]
pub struct KeyIndex<'t> {
    keys: Vec<(&'t Text<'t>, u32)>,
}

impl<'t> KeyIndex<'t> {
    pub(crate) fn new<'a: 't>(keys: impl Iterator<Item = Option<&'t Text<'a>>>) -> Self {
        let mut keys: Vec<(&Text<'t>, u32)> = keys.zip(0..).filter_map(|(key, index)| Some((key?, index))).collect();
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        Self { keys }
    }

    /// The index of the first entry with that key.
    pub fn get(&self, key: &str) -> Option<usize> {
        let key = key.as_bytes();
        let at = self.keys.partition_point(|(other, _)| other.as_bytes() < key);
        self.keys.get(at).filter(|(other, _)| other.as_bytes() == key).map(|(_, index)| *index as usize)
    }

    /// Fails with `Unwritable` if two keys are equal.
    pub(crate) fn check_unique(&self) -> Result<()> {
        match self.keys.windows(2).find_map(|pair| match pair {
            [(first, _), (second, index)] if first == second => Some((first, *index)),
            _ => None,
        }) {
            None => Ok(()),
            Some((key, index)) => {
                Err(Error::unwritable(format!("the key {key:?} occurs twice")).in_item(index as usize))
            }
        }
    }

    /// The keys sorted by their bytes, each with the index of its entry.
    pub fn iter(&self) -> impl Iterator<Item = (&'t Text<'t>, usize)> + '_ {
        self.keys.iter().map(|(key, index)| (*key, *index as usize))
    }
}
