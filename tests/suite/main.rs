//! Tests the crate's public interface, mostly on files that ExecuTorch wrote.
//!
//! The files are in `tests/data`, or in the folder given by the environment variable `EXECUTORCH_FIXTURES`, which has the
//! same structure.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod allocation;
mod backends;
mod before_edits;
mod bundles;
#[cfg(all(feature = "convert", feature = "etrecord"))]
mod c_array;
mod content_hash;
#[cfg(feature = "convert")]
mod convert;
mod damage;
mod data;
#[cfg(feature = "etrecord")]
mod debug_values;
mod delegate_graphs;
mod delegation;
mod dump;
mod edit;
mod edit_dedup;
mod edit_replace;
mod edits;
mod files;
mod flow;
mod foreign;
mod graphs;
#[cfg(all(feature = "json", feature = "proptest"))]
mod json;
#[cfg(feature = "etrecord")]
mod keyed_payloads;
mod known_faults;
#[cfg(feature = "etrecord")]
mod macs;
mod malformed;
mod memory;
#[cfg(feature = "etrecord")]
mod names;
#[cfg(feature = "etrecord")]
mod names_quantized;
mod operators;
mod pages;
mod payloads;
mod profiles;
mod ranges;
mod recipes;
mod releases;
#[cfg(feature = "etrecord")]
mod replace_official;
mod round_trip;
mod saving;
mod size;
mod tensors;
mod training;
mod traits;
mod transfer;
mod verdicts;
mod verify;
mod weights;
mod writing;
mod xnnpack;
mod xnnpack_numbers;
mod zoo;
