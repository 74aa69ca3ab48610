//! The source of a tree: the bytes that it was read from.

use super::options::ParseOptions;
use super::segment::slice;
use crate::flatbuffer::read::{Limits, ReadStats};
use alloc::borrow::Cow;
use core::fmt;

/// The bytes that a file was read from. An unchanged tree is written back with these bytes.
///
/// A source takes no extra memory: the tree borrows from the same bytes. A tree that was built in memory has no source.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub struct Source<'a> {
    /// The file, or at least its metadata.
    pub bytes: Cow<'a, [u8]>,
    /// The end of the metadata, in bytes from the start.
    pub metadata_size: u64,
    /// `true` if the segments' bytes were given too.
    pub whole: bool,
    /// The size of the file in bytes, if these bytes are not the whole file and
    /// [`ParseOptions::file_size`](crate::ParseOptions) was set.
    pub file_size: Option<u64>,
    /// The number of tables with fields that are unknown to this crate's schema. The tree does not contain these fields.
    pub newer_tables: u32,
    /// Copied from [`ReadStats::irregular`].
    pub(crate) irregular: bool,
    /// The limits that it was read with.
    pub(crate) limits: Limits,
    /// The memory that the tree takes, in bytes.
    pub(crate) memory: u64,
}

impl<'a> Source<'a> {
    pub(crate) fn new(bytes: &'a [u8], metadata: &[u8], options: &ParseOptions, seen: ReadStats) -> Self {
        Self {
            bytes: Cow::Borrowed(bytes),
            metadata_size: metadata.len() as u64,
            whole: !options.metadata_only,
            file_size: options.file_size.filter(|_| options.metadata_only),
            newer_tables: seen.newer_tables,
            irregular: seen.irregular,
            limits: options.limits,
            memory: seen.memory,
        }
    }

    /// Returns the memory that the tree took when it was read, in bytes, without the file's own bytes. [`Limits::memory`] bounds it.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the size of the file in bytes. If only the metadata was given and the size is unknown, returns the number of bytes that
    /// were given.
    pub fn size(&self) -> u64 {
        self.file_size.unwrap_or(self.bytes.len() as u64)
    }

    /// Returns the bytes of the metadata.
    pub fn metadata(&self) -> &[u8] {
        slice(&self.bytes, 0..self.metadata_size).unwrap_or_default()
    }

    /// Converts it into an owned copy of the metadata. The bytes of the segments are in the tree.
    pub(crate) fn into_owned(self) -> Source<'static> {
        Source { bytes: Cow::Owned(self.metadata().to_vec()), ..Source { bytes: Cow::Borrowed(&[]), ..self } }
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("bytes", &format_args!("{} bytes", self.bytes.len()))
            .field("metadata_size", &self.metadata_size)
            .field("whole", &self.whole)
            .field("file_size", &self.file_size)
            .field("newer_tables", &self.newer_tables)
            .finish()
    }
}
