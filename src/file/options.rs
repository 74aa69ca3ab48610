//! How a file is read.

use crate::flatbuffer::read::Limits;

/// How a file is read: the same options for every kind.
///
/// ```
/// use executorch_format::{ParseOptions, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
/// // The first 1,552 bytes contain the whole program: see `probe`.
/// let pte = Pte::parse_with(&file[..1552], &ParseOptions { metadata_only: true, ..ParseOptions::default() })?;
/// assert_eq!(pte.methods()[0].name(), "forward");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ParseOptions {
    /// Limits on the work that the file may cause.
    pub limits: Limits,
    /// Whether only the metadata is given, without the bytes of segments. [`probe`](crate::probe) says where the metadata is.
    pub metadata_only: bool,
}

impl ParseOptions {
    /// The options for metadata alone.
    pub const METADATA: Self = Self { limits: Limits { tables: None, bytes: None }, metadata_only: true };
}
