//! Reads files written by this crate with ExecuTorch's own readers.
//!
//! The environment variable `EXECUTORCH_OFFICIAL` is the folder in which `.ci/official/get.sh` installed the readers.
//! Without it, these tests are skipped, with a line on stderr.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod edited;
mod from_nothing;
mod memory;
mod old_constants;
mod programs;
mod relayout;
