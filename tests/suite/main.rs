//! What the crate promises, on files that ExecuTorch wrote.
//!
//! The files are those of `tests/data`, or of the folder that the environment variable `EXECUTORCH_FIXTURES` names: it
//! has the same layout, and holds whatever its owner put there.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod allocation;
#[cfg(feature = "cli")]
mod cli;
mod damage;
mod data;
#[cfg(feature = "serde")]
mod dump;
mod files;
mod malformed;
#[cfg(feature = "cli")]
mod rewrite;
mod round_trip;
mod saving;
mod tensors;
mod traits;
mod validate;
mod writing;
