//! Extracts blobs into files of their own.

use super::report::{Subject, User};
use crate::error::{Error, Result};
use crate::file::segment::DataRef;
use crate::inspect::{Blob, BlobKind, BlobUser, Blobs, NameText, NamedBy};
use crate::model::Model;
use crate::names::{safe_file_name, shortened, unique_file_name};
use crate::tensor::TensorShape;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};

/// The manifest of a folder of extracted blobs.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Extraction<'t> {
    /// A file for each blob.
    pub files: Vec<Extracted<'t>>,
}

/// A blob, and the file to which it is written.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Extracted<'t> {
    /// The file's name, unique in its folder on every system: letters, digits, `.`, `_` and `-`.
    pub file: String,
    /// The kind of blob.
    pub subject: Subject,
    /// The key or name.
    pub name: Option<NameText<'t>>,
    /// All references to the blob.
    pub users: Vec<User>,
    /// The type and shape of a tensor.
    #[serde(flatten)]
    pub shape: Option<TensorShape<'t>>,
    /// The offset of the blob, in bytes from the start of the file that contains it.
    pub offset: Option<u64>,
    /// The size, in bytes.
    pub size: u64,
    /// The reference to pass to [`Model::bytes`].
    #[serde(skip)]
    pub data: DataRef,
    /// The files into which [`unpack`](Extraction::unpack) split a payload. Then [`file`](Self::file) is their folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpacked: Option<super::unpack::Unpacked<'t>>,
}

impl<'m> Model<'m> {
    /// Returns every blob of the file except whole segments, with a file name for each.
    ///
    /// ```
    /// use executorch_format::Model;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let model = Model::parse(&file)?;
    /// for blob in model.extraction()?.files {
    ///     println!("{}: {} bytes", blob.file, model.bytes(&blob.data)?.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with the first reference that is out of range, and with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) for other kinds of files, and if blobs overlap so much
    /// that their total size is more than twice the file's.
    pub fn extraction(&self) -> Result<Extraction<'_>> {
        self.extraction_of(self.blobs())
    }

    /// Returns the same as [`extraction`](Self::extraction) for blobs from an earlier call, such as blobs to which names were added.
    ///
    /// Fails as [`extraction`](Self::extraction) does.
    pub fn extraction_of<'t>(&'t self, found: Blobs<'t>) -> Result<Extraction<'t>> {
        if !matches!(self, Self::Pte(_) | Self::Ptd(_)) {
            let reason = format!("blobs of a {} file: expected a .pte or .ptd file", self.kind());
            return Err(Error::unwritable(reason));
        }
        if let Some(fault) = found.errors.into_iter().next() {
            return Err(fault.error);
        }
        let mut taken = BTreeMap::new();
        let files: Vec<Extracted<'_>> =
            found.blobs.into_iter().filter_map(|blob| extracted(&blob, self, &mut taken)).collect();
        // Segments can repeat the same bytes thousands of times.
        let size = files.iter().map(|file| file.size).fold(0, u64::saturating_add);
        let file = self.source().map_or(u64::MAX, |source| source.bytes.len() as u64);
        if size / 2 > file {
            return Err(Error::unwritable(format!(
                "the blobs overlap: separately they would take {size} bytes, but the file has {file}"
            )));
        }
        Ok(Extraction { files })
    }

    /// Returns the bytes that a reference points to.
    ///
    /// Fails as [`Pte::bytes`](crate::Pte::bytes) does.
    pub fn bytes(&self, data: &DataRef) -> Result<&[u8]> {
        match self {
            Self::Pte(pte) => pte.bytes(data),
            Self::Ptd(ptd) => ptd.bytes(data),
            _ => Err(Error::reference(format!("{data}, but this is a {} file", self.kind()))),
        }
    }
}

fn extracted<'t>(blob: &Blob<'t>, model: &'t Model<'_>, taken: &mut BTreeMap<String, u32>) -> Option<Extracted<'t>> {
    let (data, first) = (blob.data?, blob.users.first()?);
    let (subject, ending) = match (blob.kind, model) {
        (BlobKind::Constant, _) => (Subject::Constant, "bin"),
        (BlobKind::InitialState, _) => (Subject::InitialState, "bin"),
        (BlobKind::Delegate, _) => (Subject::Payload, "payload"),
        (BlobKind::Named, Model::Pte(_)) => (Subject::NamedData, "bin"),
        (BlobKind::Named, Model::Ptd(_)) => (Subject::Key, "bin"),
        // A delegate's constants are in its payload, or are named data.
        (BlobKind::Segment | BlobKind::External | BlobKind::DelegateConstant, _) => return None,
        // These occur only in other kinds of files.
        (BlobKind::Named, _) => return None,
        (BlobKind::Program | BlobKind::Input | BlobKind::Expected, _) => return None,
    };
    let name = blob.users.iter().find_map(name);
    let stem = match (&name, first) {
        (Some(name), _) => safe_file_name(name),
        (None, BlobUser::Delegate { method, index, .. }) => format!("{}.delegate{index}", safe_file_name(method)),
        (None, BlobUser::Tensor { method, value, .. }) => format!("{}.{value}", safe_file_name(method)),
        (None, _) => "blob".into(),
    };
    let file = unique_file_name(&stem, ending, taken);
    let users = blob.users.iter().filter_map(user).collect();
    let shape = first.shape();
    Some(Extracted { file, subject, name, users, shape, offset: blob.offset, size: blob.size, data, unpacked: None })
}

fn name<'t>(user: &BlobUser<'t>) -> Option<NameText<'t>> {
    let name = match user {
        BlobUser::Key { key, .. } => Some((*key).into()),
        BlobUser::Tensor { name, named_by, .. } => name.clone().filter(|_| named_by.is_some_and(NamedBy::is_given)),
        _ => None,
    };
    name.filter(|name| !name.is_empty())
}

fn user(user: &BlobUser<'_>) -> Option<User> {
    match *user {
        BlobUser::Tensor { method, value, .. } => Some(User::Value { method: shortened(method).into(), value }),
        BlobUser::Delegate { method, index, .. } => {
            Some(User::Delegate { method: shortened(method).into(), delegate: index })
        }
        BlobUser::Key { key, .. } => Some(User::Key { key: shortened(key).into() }),
        _ => None,
    }
}
