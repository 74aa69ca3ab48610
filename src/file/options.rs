//! Options for reading files.

use crate::flatbuffer::read::Limits;
use crate::setters::setters;

/// Options for reading a file of any kind.
///
/// ```
/// use executorch_format::{ParseOptions, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
/// // The first 1,552 bytes contain the whole program: see `probe`.
/// let pte = Pte::parse_with(&file[..1552], &ParseOptions::METADATA)?;
/// assert_eq!(pte.methods()[0].name(), "forward");
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ParseOptions {
    /// The limits on memory and work that the file may cause.
    pub limits: Limits,
    /// `true` if only the metadata is given, without the bytes of segments. [`probe`](crate::probe) finds the metadata.
    pub metadata_only: bool,
    /// The size of the whole file in bytes, for `metadata_only`, if it is known. A header that states a larger file is then an
    /// error, and ranges of data are inside the file. Without the size, ranges are not checked against it: in a damaged or hostile
    /// file they may be anywhere.
    pub file_size: Option<u64>,
}

setters! {
    ParseOptions {
        limits = with_limits: Limits,
        file_size = with_file_size: Option<u64>,
        ;
        metadata_only = with_metadata_only,
    }
}

impl ParseOptions {
    /// The options to read the metadata alone, of a file of unknown size. The bytes must include the range of
    /// [`Probe::metadata`](crate::Probe::metadata). A file without a header, such as a bundle, does not separate metadata from data:
    /// all its bytes are needed.
    pub const METADATA: Self = Self { limits: Limits::DEFAULT, metadata_only: true, file_size: None };

    /// Returns the options to read the metadata alone, of a file with the given size in bytes.
    pub const fn metadata_of(file_size: u64) -> Self {
        Self { file_size: Some(file_size), ..Self::METADATA }
    }
}

/// Returns the options for a kind of file that does not separate metadata from data.
pub(crate) fn whole(options: &ParseOptions) -> ParseOptions {
    ParseOptions { metadata_only: false, ..*options }
}
