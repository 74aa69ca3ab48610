//! Tests the crate's public interface, mostly on files that ExecuTorch wrote.
//!
//! The files are in `tests/data`, or in the folder that the environment variable `EXECUTORCH_FIXTURES` names, which has the
//! same structure.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod allocation;
mod bundles;
#[cfg(feature = "convert")]
mod c_array;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod cli_companions;
#[cfg(feature = "convert")]
mod convert;
#[cfg(feature = "cli")]
mod convert_command;
mod damage;
mod data;
#[cfg(feature = "cli")]
mod diff;
#[cfg(feature = "serde")]
mod dump;
mod edit;
#[cfg(feature = "cli")]
mod edit_command;
mod edits;
mod files;
#[cfg(feature = "cli")]
mod graph;
mod malformed;
#[cfg(feature = "cli")]
mod manners;
mod memory;
mod operators;
mod payloads;
mod profiles;
#[cfg(feature = "serde")]
mod releases;
#[cfg(feature = "cli")]
mod report;
#[cfg(feature = "cli")]
mod rewrite;
mod round_trip;
mod saving;
#[cfg(feature = "cli")]
mod see;
mod size;
mod tensors;
mod traits;
mod validate;
mod writing;
mod xnnpack;
