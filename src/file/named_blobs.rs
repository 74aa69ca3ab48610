//! Blobs by key, in a program or in the `.ptd` files that belong to it.

use super::key_index::KeyIndex;
use super::ptd::{Entry, Ptd};
use super::pte::Pte;
use super::segment::DataRef;
use crate::error::{Error, Result};
use alloc::{format, vec::Vec};

/// The blobs that a program's delegates can request by key: the program's named data, followed by the keys of each `.ptd` file.
#[derive(Clone, Debug)]
pub struct NamedBlobs<'t> {
    pte: Option<(&'t Pte<'t>, KeyIndex<'t>)>,
    ptds: Vec<(&'t Ptd<'t>, Vec<Entry<'t>>, KeyIndex<'t>)>,
}

/// The place and bytes of a named blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedBlob<'t> {
    /// The index of the file: 0 for the `.pte`, 1 for the first `.ptd` file, and so on.
    pub file: usize,
    /// The place in that file.
    pub data: DataRef,
    /// The bytes of the blob.
    pub bytes: &'t [u8],
}

impl<'t> NamedBlobs<'t> {
    /// No blobs: for a payload without its file.
    pub const NONE: Self = Self { pte: None, ptds: Vec::new() };

    /// Indexes the keys of a program and of the `.ptd` files that belong to it.
    pub fn new(pte: &'t Pte<'_>, ptds: impl IntoIterator<Item = &'t Ptd<'t>>) -> Self {
        let ptds = ptds.into_iter().map(|ptd| (ptd, ptd.entries().collect(), ptd.index()));
        Self { pte: Some((pte, pte.named_data_index())), ptds: ptds.collect() }
    }

    #[expect(clippy::indexing_slicing, reason = "`new` made each index from its file")]
    /// Returns the blob with that key, or `None` if no file has it.
    ///
    /// Fails as [`Pte::bytes`] does.
    pub fn get(&self, key: &str) -> Result<Option<NamedBlob<'t>>> {
        if let Some((pte, index)) = &self.pte {
            if let Some(named) = index.get(key).map(|index| &pte.named_data()[index]) {
                let data = pte.named_data_ref(named)?;
                return Ok(Some(NamedBlob { file: 0, data, bytes: pte.bytes(&data)? }));
            }
        }
        for ((ptd, entries, index), file) in self.ptds.iter().zip(1..) {
            if let Some(entry) = index.get(key).map(|index| &entries[index]) {
                let data = ptd.entry_data(entry)?;
                return Ok(Some(NamedBlob { file, data, bytes: ptd.bytes(&data)? }));
            }
        }
        Ok(None)
    }

    /// Returns the size of the data with a key, in bytes; `None` if no file has it.
    pub(crate) fn size(&self, key: &str) -> Option<u64> {
        Some(self.get(key).ok()??.bytes.len() as u64)
    }

    /// Returns the bytes with a key that a payload has. Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if no file has it.
    pub(crate) fn of_payload(&self, key: &str) -> Result<&'t [u8]> {
        self.get(key)?.map(|blob| blob.bytes).ok_or_else(|| {
            Error::reference(format!(
                "neither the .pte nor a .ptd file that was given has the key {key:?}, to which the payload refers"
            ))
        })
    }
}
