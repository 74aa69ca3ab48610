//! A file's bytes, mapped into memory, and the tree in them.

use crate::failure::Failure;
use executorch_format::Model;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// A file, or what stands for one.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// A file that was opened.
pub struct Input {
    path: PathBuf,
    bytes: Bytes,
}

enum Bytes {
    Mapped(Mmap),
    /// What cannot be mapped: an empty file, a pipe.
    Read(Vec<u8>),
}

impl Input {
    /// Opens a file. Nothing is read yet but what a pipe holds.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let bytes = open(path).map_err(|error| Failure::Unreadable { file: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Where it was found.
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

    /// The whole file again, to be read piece by piece: what is read this way does not stay in memory.
    pub fn reader(&self) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(match &self.bytes {
            Bytes::Mapped(_) => Box::new(File::open(&self.path)?),
            Bytes::Read(bytes) => Box::new(Cursor::new(bytes)),
        })
    }

    /// The tree in it.
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
    // SAFETY: the map is only read. That no other process changes or cuts the file meanwhile cannot be had from the
    // system; who does that to a model while it is being read gets what they would get from the official runtime.
    unsafe { Mmap::map(file) }
}
