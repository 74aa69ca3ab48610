//! Files for tests of programs that read, write or run them: files of any content, valid files, and damaged files.
//!
//! All files are made from bytes that are taken as choices ([`Choices`]), such as a fuzzer's input. Few bytes make a small file.
//!
//! With the feature `proptest`, [`AnyFile`], [`ValidProgram`], [`ValidTensors`] and [`ValidPair`] implement its `Arbitrary`, and
//! [`strategies`] has strategies for files of a size that you choose, and for damage to any tree. With the feature `arbitrary`, they
//! implement its `Arbitrary`, for fuzzers.
//!
//! ```
//! use executorch_format::testing::{Choices, Damage, valid_program};
//! use executorch_format::Pte;
//! use executorch_format::verify::{Level, Severity};
//!
//! # fn main() -> executorch_format::Result<()> {
//! let pte = valid_program(&mut Choices::new(b"any bytes will do"))?;
//! let file = pte.image()?.to_vec()?;
//! let findings = Pte::parse(&file)?.verify(Level::Strict);
//! assert!(findings.iter().all(|finding| finding.severity == Severity::Note));
//!
//! // Every damage is refused, found, or harmless; none may crash a reader.
//! for damage in Damage::all(&pte.program) {
//!     let mut damaged = pte.clone();
//!     if damage.apply(&mut damaged.program) {
//!         let file = damaged.image_as_is().and_then(|image| image.to_vec());
//!         let _verdict = file.and_then(|file| Pte::verify_structure(&file));
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod any_tree;
#[cfg(feature = "arbitrary")]
mod arbitrary;
mod choices;
mod damage;
mod files;
#[cfg(feature = "proptest")]
pub mod strategies;
mod valid;

pub use any_tree::{any_flat_tensor, any_program};
pub use choices::Choices;
pub use damage::{Damage, WORD_DAMAGES, damage_word};
pub use files::{AnyFile, ValidPair, ValidProgram, ValidTensors, any_style};
pub use valid::{valid_pair, valid_program, valid_tensors};
