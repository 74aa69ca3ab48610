//! `.etdp` files: ETDumps, which the runtime records while it loads and runs methods.

use super::header::{self, FileKind};
use super::options::{ParseOptions, whole};
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::{self, Record, TableParser};
use crate::schema::ETDump;
use alloc::format;
use core::ops::Range;

/// The size prefix, in bytes. Offsets start after it, alignment before it.
pub(crate) const PREFIX: usize = 4;

/// An `.etdp` file, an ETDump: a record of loading and running methods. The file does not identify the program.
///
/// ```
/// use executorch_format::Etdp;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/etdump/etdump.etdp")?;
/// let etdp = Etdp::parse(&file)?;
/// for run in etdp.etdump.run_data() {
///     println!("{}: {} events", run.name(), run.events().len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Etdp<'a> {
    /// The events.
    pub etdump: ETDump<'a>,
    /// The bytes that it was read from, or `None` if it was built in memory.
    pub source: Option<Source<'a>>,
}

/// Compares the trees, but not `source`.
impl PartialEq for Etdp<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.etdump == other.etdump
    }
}

impl<'a> Etdp<'a> {
    /// Reads a file: checks its structure and decodes its events.
    ///
    /// Fails if the bytes are another kind of file, are truncated, or break a rule of structure.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &ParseOptions::default())
    }

    /// Reads a file with custom limits. An ETDump is one FlatBuffer that includes its data, so `metadata_only` has no effect.
    pub fn parse_with(bytes: &'a [u8], options: &ParseOptions) -> Result<Self> {
        let dump = dump(bytes)?;
        let (etdump, seen) = read::read_at(PREFIX as u32, dump, &options.limits)?;
        let source = Source::new(bytes, dump, &whole(options), seen);
        Ok(Self { etdump, source: Some(source) })
    }

    /// Checks only a file's structure: the same rules as [`parse`](Self::parse), with the same first error, but without building or
    /// allocating anything.
    pub fn verify_structure(bytes: &[u8]) -> Result<()> {
        Self::verify_structure_with(bytes, &ParseOptions::default())
    }

    /// Checks only a file's structure, with custom limits.
    pub fn verify_structure_with(bytes: &[u8], options: &ParseOptions) -> Result<()> {
        read::check_at(PREFIX as u32, TableParser::<ETDump>::default(), dump(bytes)?, &options.limits)
    }

    /// Returns the range of bytes at the end of the file that it does not refer to: those after the end that the size prefix states, or
    /// at the end of the FlatBuffer. Padding is not included.
    pub fn trailing_bytes(&self) -> Range<u64> {
        self.source.as_ref().map_or(0..0, |source| source.trailing(PREFIX as u32, ETDump::DESCRIPTION))
    }

    /// Converts it into an owned copy, which outlives the bytes that it was read from.
    pub fn into_owned(self) -> Etdp<'static> {
        Etdp { etdump: self.etdump.into_owned(), source: self.source.map(Source::into_owned) }
    }
}

/// Returns the size prefix and the bytes that it counts.
fn dump(bytes: &[u8]) -> Result<&[u8]> {
    header::probe_as(bytes, Some(FileKind::Etdp))?;
    let size = header::chunk(bytes, 0).map_or(0, u32::from_le_bytes);
    let end = u64::from(size) + PREFIX as u64;
    if size < 8 {
        let found = format!("the size prefix is {size}, expected at least 8: a root offset and an identifier");
        return Err(Error::at(0, ErrorKind::Header(found.into())));
    }
    usize::try_from(end).ok().and_then(|end| bytes.get(..end)).ok_or_else(|| {
        let available = bytes.len() as u64;
        Error::at(bytes.len(), ErrorKind::Truncated { what: "the FlatBuffer", end, available })
    })
}
