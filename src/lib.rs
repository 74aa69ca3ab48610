//! A library to read, verify, edit and write ExecuTorch's model files: `.pte`, a compiled PyTorch program, and `.ptd`, named
//! tensors and blobs. It needs neither C++ nor Python, and no generated code.
//!
//! Parsing a file returns a tree of plain structs with the schema's own names ([`schema::program::Program`],
//! [`schema::flat_tensor::FlatTensor`]), which borrows from the file's bytes. [`Pte`] and [`Ptd`] hold the tree and its data;
//! [`Model`] is a file of any kind, recognized by its bytes.
//!
//! # Inspect a file
//!
//! The fields of the tree are public, and accessors such as [`methods`](Pte::methods) resolve its indices.
//! [`Analysis`] (feature `inspect`) opens a program once and answers questions about it: [`summary`](Analysis::summary),
//! [`memory`](Analysis::memory), [`operators`](Analysis::operators), [`size_report`](Analysis::size_report) and more.
//! [`Model::summary`] and [`Model::blobs`] take files of any kind.
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
//! # Verify an untrusted file
//!
//! [`Model::verify`] applies all [`verify::RULES`]: those that the C++ runtime enforces, and those that it relies on but does not
//! check. [`Pte::verify_structure`] and [`Ptd::verify_structure`] check the structure alone, without allocating.
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
//! [`Pte::tensor_view`] and [`Ptd::tensor_view`] return a tensor's shape with its bytes, which can be read as a slice of Rust
//! numbers. To read one tensor of a remote file, fetch only the ranges that [`probe`] and [`Pte::range`] return
//! (`examples/fetch_tensor.rs`).
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
//! Assign to the fields of the tree, then write its [`image`](Pte::image). An unchanged file is written back byte for byte; a
//! changed file is written in the [style](Pte::write_style) of its source. The module [`edit`] has changes that affect many fields,
//! such as replacing a weight.
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
//! # Build a new file
//!
//! [`Ptd::build`] creates a `.ptd` from tensors. For a program, build the tree and collect its constants in a [`DataCollector`]
//! (`examples/build.rs`).
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
//! # Features
//!
//! The defaults are `std` and `write`. Without `std`, the crate is `no_std` and needs `alloc`.
//!
//! | feature | adds |
//! |---|---|
//! | `write` | writing files: [`Pte::image`], [`Ptd::build`]; [`schema::any::visit_mut`]: changes to any field of any table |
//! | `verify` | [`verify`]: rules beyond structure; [`delegate`]: the contents of XNNPACK, Vulkan, Ethos-U and Core ML payloads |
//! | `inspect` | [`inspect`]: answers about files, and differences between them; [`pictures`]: drawn graphs and memory |
//! | `edit` | [`edit`]: changes to finished files; payloads as files for their backends' own tools |
//! | `convert` | [`convert`]: safetensors, `.npy`, C arrays; [`naming`]: sources of the model's own names |
//! | `etrecord` | reading ETRecords as sources of names |
//! | `serde`, `schemars` | `Serialize` for the tree (answers always implement it) and `JsonSchema` |
//! | `json` | [`json`]: a file's tree as JSON with its blobs in files, and back |
//! | `half` | `f16` and `bf16` as elements of tensors |
//! | `system` | [`FileLock`]: programs that change the same file wait for each other; saving keeps extended attributes and, on Linux, access control lists, and needs no temporary names there |
//! | `testing`, `proptest`, `arbitrary` | [`testing`]: generated and damaged files for tests and fuzzers |
//!
//! Features add functions. None changes an answer, so that it does not matter which features other crates turn on.
//!
//! # Stability
//!
//! The structs of a schema get new fields as the schema grows, so build them with `..Default::default()`. Options start from their
//! default and have setters `with_…`. Answers and enums of kinds are `#[non_exhaustive]`. Texts are for people and may change.
//! `docs/stability.md` has the details.
//!
//! # Names
//!
//! Some types of the schema shadow those of Rust: `Int`, `Bool`, `String`, `Double`. Import their modules, not their contents:
//! `use executorch_format::schema::program;`, then `program::String`. `docs/vocabulary.md` defines the words in names.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Some items of a module are used only by modules of other features.
#![cfg_attr(not(all(feature = "convert", feature = "system")), allow(dead_code, unused_imports, unused_macros))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "inspect")]
mod analysis;
#[cfg(feature = "convert")]
pub mod convert;
#[cfg(feature = "verify")]
mod dataflow;
#[cfg(feature = "verify")]
pub mod delegate;
#[cfg(feature = "edit")]
pub mod edit;
mod error;
mod file;
mod flatbuffer;
#[cfg(feature = "inspect")]
pub mod inspect;
#[cfg(feature = "json")]
pub mod json;
mod json_schema;
mod model;
mod names;
#[cfg(feature = "convert")]
pub mod naming;
#[cfg(feature = "inspect")]
mod numbers;
#[cfg(feature = "verify")]
mod operators;
mod sorted;
// For the command, which reads several files at once.
#[cfg(feature = "inspect")]
#[doc(hidden)]
pub mod parallel;
mod path;
#[cfg(feature = "inspect")]
pub mod pictures;
#[cfg(feature = "verify")]
mod quantized;
pub mod schema;
mod setters;
#[cfg(feature = "verify")]
mod sha256;
mod sizes;
mod tensor;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "verify")]
pub mod verify;
#[cfg(feature = "write")]
mod write;

#[cfg(feature = "inspect")]
pub use analysis::Analysis;
#[cfg(feature = "std")]
pub use error::TransferDamage;
pub use error::{Error, ErrorKind, ForeignFormat, Result};
pub use file::bpte::Bpte;
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
pub use names::Escaped;
pub use path::{FieldPath, Path, Step};
#[cfg(feature = "verify")]
pub use quantized::Dequantized;
pub use tensor::{Element, TensorShape, TensorView};
#[cfg(feature = "write")]
pub use write::collect::{DataCollector, NewEntry};
#[cfg(feature = "write")]
pub use write::detect::Detected;
#[cfg(feature = "write")]
pub use write::image::Image;
#[cfg(feature = "system")]
pub use write::lock::FileLock;
#[cfg(feature = "write")]
pub use write::options::{PtdOptions, PteOptions};
#[cfg(all(feature = "std", feature = "write"))]
pub use write::save::{Prepared, Progress};

// For the command, which shows names and sizes as the library's messages do.
#[doc(hidden)]
pub mod text {
    pub use crate::names::{is_deceptive, shortened};
    pub use crate::sizes::format_size;
    #[cfg(feature = "verify")]
    pub use crate::sizes::parse_size;
}

/// The examples in the Markdown pages, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/library.md")]
struct Pages;
