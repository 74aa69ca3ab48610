//! Lookup by key.

use crate::error::{Error, Result};
use crate::flatbuffer::text::Text;
use alloc::{format, vec::Vec};

/// Sorted keys, for lookups by binary search.
#[derive(Clone, Debug)]
pub struct KeyIndex<'t> {
    keys: Vec<(&'t Text<'t>, u32)>,
}

impl<'t> KeyIndex<'t> {
    /// Sorts keys, each with the index of its entry.
    pub(crate) fn new(mut keys: Vec<(&'t Text<'t>, u32)>) -> Self {
        if !keys.is_sorted() {
            keys.sort();
        }
        Self { keys }
    }

    /// Returns the index of the first entry with that key.
    pub fn get(&self, key: &str) -> Option<usize> {
        let key = key.as_bytes();
        let at = self.keys.partition_point(|(other, _)| other.as_bytes() < key);
        self.keys.get(at).filter(|(other, _)| other.as_bytes() == key).map(|(_, index)| *index as usize)
    }

    /// Fails with `Unwritable` if two keys are equal.
    pub(crate) fn check_unique(&self) -> Result<()> {
        for pair in self.keys.windows(2) {
            if let [(key, _), (second, index)] = pair {
                if key == second {
                    return Err(Error::unwritable(format!("the key {key:?} occurs twice")).in_item(*index as usize));
                }
            }
        }
        Ok(())
    }

    /// Returns the keys sorted by their bytes, each with the index of its entry.
    pub fn iter(&self) -> impl Iterator<Item = (&'t Text<'t>, usize)> + '_ {
        self.keys.iter().map(|(key, index)| (*key, *index as usize))
    }
}
