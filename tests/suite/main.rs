//! What the crate promises, on files that ExecuTorch wrote.
//!
//! The files are those of `tests/data`, or of the folder that the environment variable `EXECUTORCH_FIXTURES` names: it
//! has the same layout, and holds whatever its owner put there.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[macro_use]
mod every_type;

mod allocation;
#[cfg(feature = "cli")]
mod cli;
mod common;
mod damage;
mod data;
#[cfg(feature = "serde")]
mod dump;
mod files;
#[cfg(feature = "serde")]
mod flatc_json;
mod malformed;
#[cfg(feature = "cli")]
mod rewrite;
mod round_trip;
mod saving;
mod tensors;
mod tree;
mod validate;
mod visit;
mod writing;
