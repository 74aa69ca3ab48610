//! Reads, verifies and writes ExecuTorch's model files: `.pte`, a compiled PyTorch program, and `.ptd`, named tensors and
//! blobs.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
//! let pte = executorch_format::Pte::parse(&file)?;
//! for method in pte.methods() {
//!     println!("{:?}: {} values", method.name, method.values.iter().flatten().count());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Bytes come in through [`Pte::parse`] or [`Ptd::parse`] and become one tree of plain data that borrows from them. Bytes go
//! out through [`Pte::plan`] or [`Ptd::plan`]. Everything else works on the tree:
//!
//! | what | where |
//! |---|---|
//! | what a file is, and which bytes to fetch | [`probe`], [`Pte::parse_metadata`], [`Ptd::parse_metadata`] |
//! | checking structure without building anything | [`Pte::check`], [`Ptd::check`], [`Limits`] |
//! | the tree, with the schema's names | [`schema`] |
//! | where a tensor's, delegate's or key's bytes are | [`Pte::tensor_data`], [`DataRef`], [`Pte::bytes`], [`Ptd::entries`] |
//! | a tensor as numbers | [`TensorView`] |
//! | what the official runtime refuses, and what it forgets to check | [`validate`] |
//! | writing a file back byte for byte | [`FileLayout`], [`Pte::detect_layout`] |
//! | laying a file out anew | [`Pte::lay_out`], [`PteOptions`], [`PtdOptions`] |
//! | building files from nothing | [`DataCollector`], [`Ptd::build`], [`NewEntry`] |
//!
//! The crate is `no_std` with `alloc`; the feature `std`, on by default, adds writing to files ([`Plan`]'s `save`).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod error;
mod flatbuffer;
mod header;
mod key_index;
mod ptd;
mod pte;
pub mod schema;
mod segment;
mod tensor;
pub mod validate;
mod write;

pub use error::{Error, ErrorKind, Result};
pub use flatbuffer::read::Limits;
pub use flatbuffer::write::TableOrder;
pub use header::{Extent, FileKind, Header, PROBE_SIZE, Probe, PtdHeader, PteHeader, probe};
pub use key_index::KeyIndex;
pub use ptd::{Entry, Layout, Ptd};
pub use pte::{Pte, TensorData};
pub use segment::{DataRef, Segment, offset_in};
pub use tensor::{Element, TensorView, byte_size, strides};
pub use write::collect::{DataCollector, NewEntry};
pub use write::layout::FileLayout;
pub use write::plan::Plan;
pub use write::relayout::{PtdOptions, PteOptions};
#[cfg(feature = "std")]
pub use write::save::Progress;

/// The README's example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
