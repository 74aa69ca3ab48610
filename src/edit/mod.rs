//! Changes to a finished file. The rest of the file stays unchanged.
//!
//! Each operation is a method of [`Pte`](crate::Pte) or [`Ptd`](crate::Ptd). It changes the tree and recomputes
//! the layout of the file, in the file's own style; [`image`](crate::Pte::image) then writes it. If it fails, the tree is unchanged.
//! Unaffected bytes stay borrowed until they are written.
//!
//! ```
//! use executorch_format::edit::Strip;
//! use executorch_format::{PtdOptions, Pte};
//!
//! # fn main() -> executorch_format::Result<()> {
//! let file = std::fs::read("tests/data/1.5.1/stacktrace/stacktrace.pte")?;
//! let mut pte = Pte::parse(&file)?;
//! pte.strip(&Strip::ALL)?;
//! let (weights, report) = pte.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned()))?;
//! for change in &report.changes {
//!     println!("{change}");
//! }
//! assert_eq!(weights.entries().count(), 2);
//! assert!(pte.image()?.size() < file.len() as u64);
//! # Ok(())
//! # }
//! ```
//!
//! | on a `.pte` | on a `.ptd` |
//! |---|---|
//! | [`replace`](crate::Pte::replace), [`dedup`](crate::Pte::dedup) | [`replace`](crate::Ptd::replace), [`dedup`](crate::Ptd::dedup) |
//! | [`externalize`](crate::Pte::externalize), [`internalize`](crate::Pte::internalize) | [`merge`](crate::Ptd::merge), [`split`](crate::Ptd::split) |
//! | [`strip`](crate::Pte::strip), [`select`](crate::Pte::select) | [`rename`](crate::Ptd::rename), [`filter`](crate::Ptd::filter) |
//! | [`set_metadata`](crate::Pte::set_metadata), [`remove_metadata`](crate::Pte::remove_metadata) | |
//!
//! [`Model::savings`](crate::Model::savings) finds out which of them make a file smaller, and
//! [`Model::new_errors`](crate::Model::new_errors) which errors an edit added. In a bundle (`.bpte`),
//! [`replace_program`](crate::Bpte::replace_program) replaces the program.

mod bundle;
mod change;
mod constants;
mod content_hash;
mod dedup;
mod externalize;
mod extract;
mod internalize;
mod keys;
mod metadata;
mod new_data;
mod payload_keys;
mod ptd;
mod pte;
mod replace;
mod replace_ptd;
mod report;
mod savings;
mod segments;
mod select;
mod share;
mod strip;
mod unpack;
mod verify;

pub use crate::analysis::{ModelPlace, ModelTensor};
pub use content_hash::{ContentHash, PartHash};
pub use dedup::{Copies, CopyUser, copies};
pub use externalize::{Candidate, default_key};
pub use extract::{Extracted, Extraction};
pub use metadata::{METADATA_PREFIX, Metadata, MetadataContent, MetadataValue};
pub use new_data::{Digest, NewData, NewKey, Selector};
pub use report::{Action, Change, EditReport, Subject, User};
pub use savings::{Saving, SavingEdit, SavingKind};
pub use share::{Shared, share};
pub use strip::Strip;
pub use unpack::{Unpacked, UnpackedPart};
