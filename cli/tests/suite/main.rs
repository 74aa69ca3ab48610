//! Tests the command, run as a user runs it, mostly on files that ExecuTorch wrote.
//!
//! The files are in `tests/data` of the repository, or in the folder given by the environment variable `EXECUTORCH_FIXTURES`, which has
//! the same structure.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod build;
mod bundle_command;
#[cfg(feature = "remote")]
mod catalog;
mod cli;
mod cli_companions;
mod contract;
mod convert_command;
mod debug;
mod diff;
mod diff_limits;
mod diff_names;
mod documents;
mod edit_command;
mod fit;
#[cfg(feature = "remote")]
mod flags;
mod graph;
mod hash;
mod hostile;
#[cfg(feature = "remote")]
mod hostile_store;
mod jobs;
mod kinds;
mod manners;
mod matches;
mod names;
mod outputs;
mod payloads;
mod published;
mod readme;
mod refusals;
mod releases;
#[cfg(feature = "remote")]
mod remote;
mod report;
mod reports;
mod rewrite;
mod runs;
mod saving;
mod savings;
#[cfg(feature = "schemars")]
mod schemas;
mod see;
mod shape;
mod share;
mod shares;
mod verdicts;
mod weights;
