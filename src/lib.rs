//! Reads ExecuTorch's model files: `.pte`, a compiled PyTorch program, and `.ptd`, named tensors and blobs.
//!
//! Bytes come in through [`Pte::parse`] or [`Ptd::parse`] and become one tree of plain data ([`schema`]) that borrows
//! from them. Everything else works on the tree.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod collect;
mod error;
mod flatbuffer;
mod header;
mod key_index;
mod lay_out;
mod layout;
mod plan;
mod ptd;
mod pte;
#[cfg(feature = "std")]
mod save;
pub mod schema;
mod segment;
mod tensor;
pub mod validate;

pub use collect::{DataCollector, NewEntry};
pub use error::{Error, ErrorKind, Result};
pub use flatbuffer::read::Limits;
pub use flatbuffer::write::TableOrder;
pub use header::{Extent, FileKind, Header, PROBE_SIZE, Probe, PtdHeader, PteHeader, probe};
pub use key_index::KeyIndex;
pub use lay_out::{PtdOptions, PteOptions};
pub use layout::FileLayout;
pub use plan::Plan;
pub use ptd::{Entry, Layout, Ptd};
pub use pte::{Pte, TensorData};
#[cfg(feature = "std")]
pub use save::Progress;
pub use segment::{DataRef, Segment, offset_in};
pub use tensor::{Element, TensorView, byte_size, strides};

/// The README's example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
