//! Opens files: their bytes, mapped into memory, and the tree parsed from them.

use crate::failure::Failure;
use executorch_format::Model;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// A file, or bytes in memory.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// An open file.
pub struct Input {
    path: PathBuf,
    bytes: Bytes,
}

enum Bytes {
    Mapped(Mmap),
    /// An empty file or a pipe, which cannot be mapped.
    Read(Vec<u8>),
}

impl Input {
    /// Opens a file. Nothing is read yet but what a pipe holds.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let bytes = open(path).map_err(|error| Failure::Unreadable { file: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }

    /// A reader over the whole file. What is read through it does not stay in memory, unlike mapped pages.
    pub fn reader(&self) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(match &self.bytes {
            Bytes::Mapped(_) => Box::new(File::open(&self.path)?),
            Bytes::Read(bytes) => Box::new(Cursor::new(bytes)),
        })
    }

    /// Parses the file.
    pub fn parse(&self) -> Result<Model<'_>, Failure> {
        Model::parse(self.bytes()).map_err(|error| Failure::bad(&self.path, &error))
    }
}

fn open(path: &Path) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() > 0 {
        return map(&file).map(Bytes::Mapped);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Bytes::Read(bytes))
}

#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read. The system cannot prevent another process from changing or truncating the file
    // at the same time; the official runtime, which also maps its files, has the same limitation.
    unsafe { Mmap::map(file) }
}
