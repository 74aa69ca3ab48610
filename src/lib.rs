//! Reads, verifies, edits and writes ExecuTorch's model files: `.pte`, a compiled PyTorch program, and `.ptd`, named tensors and
//! blobs. No C++, no Python, no code generation.
//!
//! A file becomes one tree of plain structs with the schema's own names ([`schema::program::Program`],
//! [`schema::flat_tensor::FlatTensor`]), borrowed from the file's bytes. [`Pte`] and [`Ptd`] are the tree with its
//! data; [`Model`] is a file of any kind, recognized by its bytes. Five common tasks:
//!
//! # What is in this file?
//!
//! [`summary`](Model::summary) is what `pte info` prints, [`blobs`](Model::blobs) lists all weights and payloads with
//! their users; everything else is in the tree. See [`inspect`].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
//! let pte = executorch_format::Pte::parse(&file)?;
//! for method in pte.methods() {
//!     println!("{}: {} instructions", method.name(), method.instructions().count());
//!     for input in method.inputs() {
//!         if let Some(tensor) = method.tensor(*input) {
//!             println!("  takes {}", tensor.shape()); // f32[2, 2]
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Is it safe to hand to the C++ runtime?
//!
//! [`Pte::verify_structure`] and [`Ptd::verify_structure`] check the structure without allocating anything. [`verify`](Model::verify)
//! applies [`verify::RULES`]: what the runtime refuses, and what it does not check.
//!
//! ```
//! use executorch_format::{Model, verify::{Level, Severity}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
//! let findings = Model::parse(&file)?.verify(Level::Strict);
//! assert!(findings.iter().all(|finding| finding.severity != Severity::Error));
//! # Ok(())
//! # }
//! ```
//!
//! # Read the weights
//!
//! [`Pte::tensor_view`] and [`Ptd::tensor_view`] give a tensor's shape and bytes, and its elements by type. For a
//! remote file, [`probe`] and [`ParseOptions::metadata_of`] say which bytes to fetch (`examples/fetch_tensor.rs`).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
//! let pte = executorch_format::Pte::parse(&file)?;
//! let forward = pte.method("forward").ok_or("no method forward")?;
//! for (value, tensor) in forward.tensors() {
//!     if let Some(view) = pte.tensor_view(tensor)? {
//!         println!("value {value}: {} = {:?}", view.shape(), view.to_vec::<f32>()?);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Change a file
//!
//! The fields are public. An unchanged file is written back byte for byte; a changed one in the [style](Pte::write_style) of its source.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
//! let mut pte = executorch_format::Pte::parse(&file)?;
//! assert_eq!(pte.image()?.to_vec()?, file);
//!
//! if let Some(methods) = &mut pte.program.execution_plan {
//!     methods[0].name = Some("infer".into());
//! }
//! pte.image()?.save(std::env::temp_dir().join("renamed.pte"))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Build a file from nothing
//!
//! [`DataCollector`] gathers a program's constants (`examples/build.rs` builds a whole program), [`Ptd::build`] makes a `.ptd`:
//!
//! ```
//! use executorch_format::{NewEntry, Ptd, PtdOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let weight = NewEntry::from_slice("linear.weight", vec![2, 2], &[1f32, 2.0, 3.0, 4.0]);
//! let ptd = Ptd::build([weight], &PtdOptions::default())?;
//! println!("{} bytes", ptd.image()?.size());
//! # Ok(())
//! # }
//! ```
//!
//! # What may change
//!
//! `docs/stability.md` says what a release may change. In short: tables of a schema are plain structs that grow with the schema (write
//! `..Default::default()`), options start from their default and are set by `with_…`, answers and kinds are `#[non_exhaustive]`, and texts
//! are for people. `docs/vocabulary.md` has the words that names are made of.
//!
//! # Names that shadow Rust's
//!
//! The schema has types with the names of Rust's types: `Int`, `Bool`, `String`, `Double`. Import the module and not
//! everything in it: `use executorch_format::schema::program;` then `program::String`.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// A module may offer what only modules of other features use.
#![cfg_attr(
    not(all(feature = "convert", feature = "devtools", feature = "diff", feature = "std", feature = "tmpfile")),
    allow(dead_code, unused_imports, unused_macros)
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "convert")]
pub mod convert;
#[cfg(any(feature = "inspect", feature = "verify"))]
mod dataflow;
#[cfg(feature = "payloads")]
pub mod delegate;
#[cfg(feature = "edit")]
pub mod edit;
mod error;
mod file;
mod flatbuffer;
#[cfg(feature = "inspect")]
pub mod inspect;
mod json_schema;
mod keyed;
mod model;
mod names;
#[cfg(feature = "names")]
pub mod naming;
#[cfg(any(feature = "diff", feature = "layout"))]
mod parallel;
mod path;
#[cfg(feature = "inspect")]
pub mod pictures;
#[cfg(feature = "payloads")]
mod quantized;
pub mod schema;
mod setters;
mod sizes;
#[cfg(any(feature = "inspect", feature = "verify"))]
mod sorted_text;
mod tensor;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "verify")]
pub mod verify;
#[cfg(feature = "write")]
mod write;

pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "devtools")]
pub use file::bpte::Bpte;
#[cfg(feature = "devtools")]
pub use file::etdp::Etdp;
pub use file::header::{FileKind, Header, PROBE_SIZE, Probe, PtdHeader, PteHeader, probe};
pub use file::key_index::KeyIndex;
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
pub use model::Model;
pub use path::{FieldPath, Path, Step};
#[cfg(feature = "payloads")]
pub use quantized::Dequantized;
pub use tensor::{Element, TensorShape, TensorView};
#[cfg(feature = "write")]
pub use write::collect::{DataCollector, NewEntry};
#[cfg(feature = "write")]
pub use write::detect::Detected;
#[cfg(feature = "write")]
pub use write::image::Image;
#[cfg(feature = "write")]
pub use write::options::{PtdOptions, PteOptions};
#[cfg(all(feature = "std", feature = "write"))]
pub use write::save::{Prepared, Progress};

/// Names and sizes as text for people, and sizes that people write.
pub mod text {
    pub use crate::names::{Escaped, is_deceptive, shortened};
    pub use crate::sizes::format_size;
    #[cfg(feature = "verify")]
    pub use crate::sizes::parse_size;
}

/// The examples of the pages, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/library.md")]
struct Pages;
