//! Questions about a file, answered as plain data: what `pte info` and `pte list` print.
//!
//! ```
//! use executorch_format::Model;
//!
//! # fn main() -> executorch_format::Result<()> {
//! let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
//! let model = Model::parse(&file)?;
//! for blob in &model.blobs().blobs {
//!     println!("{} at {:?}: {} bytes, {} users", blob.kind, blob.offset, blob.size, blob.users.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Everything is `Serialize` with the feature `serde`.

mod blobs;
mod constant_methods;
mod summary;

pub use blobs::{Blob, BlobKind, BlobUser, Blobs};
pub use constant_methods::{ConstantMethod, Returned};
pub use summary::{
    Backend, BlobCount, Content, FlatTensorSummary, HeaderSummary, Instructions, Key, Method, OperatorCalls,
    PlannedBuffer, PlannedMemory, ProgramSummary, SegmentCount, Summary, Value, ValueShape,
};

use crate::error::Error;
use crate::path::FieldPath;
use core::fmt;

/// A dangling reference in the tree: what refers to data, and why the data cannot be found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Fault {
    /// What refers to the data.
    pub path: FieldPath,
    /// What is wrong.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub error: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.error)
    }
}

#[cfg(feature = "serde")]
fn as_text<S: serde::Serializer>(error: &Error, serializer: S) -> core::result::Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}
