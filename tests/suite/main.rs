//! Tests the crate's public interface, mostly on files that ExecuTorch wrote.
//!
//! The files are in `tests/data`, or in the folder that the environment variable `EXECUTORCH_FIXTURES` names, which has the
//! same structure.

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
