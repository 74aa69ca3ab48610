//! Reads, verifies and writes ExecuTorch's model files: `.pte`, a compiled PyTorch program, and `.ptd`, named tensors and
//! blobs.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
//! let pte = executorch_format::Pte::parse(&file)?;
//! for method in pte.methods() {
//!     println!("{}: {} values", method.name(), method.values().len());
//! }
//! # Ok(())
//! # }
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod error;
mod file;
mod flatbuffer;
pub mod inspect;
mod path;
pub mod schema;
mod tensor;
pub mod validate;
mod write;

pub use error::{Error, ErrorKind, Result};
pub use file::header::{FileKind, Header, PROBE_SIZE, Probe, PtdHeader, PteHeader, probe};
pub use file::key_index::KeyIndex;
pub use file::model::Model;
pub use file::options::ParseOptions;
pub use file::ptd::{Entry, Ptd};
pub use file::pte::{Pte, TensorData};
pub use file::references::DataUser;
pub use file::segment::{DataRef, Segment, offset_in};
pub use file::source::Source;
pub use file::style::{ALIGNMENT, SEGMENT_ALIGNMENT, WriteStyle};
pub use flatbuffer::read::Limits;
pub use flatbuffer::text::Text;
pub use flatbuffer::write::{FieldOrder, VtableSharing};
pub use path::{FieldPath, Path, Step};
pub use tensor::{Element, TensorShape, TensorView};
pub use write::collect::{DataCollector, NewEntry};
pub use write::image::Image;
pub use write::relayout::{PtdOptions, PteOptions};
#[cfg(feature = "std")]
pub use write::save::Progress;

/// The README's example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
