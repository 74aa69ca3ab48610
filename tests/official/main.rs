//! What ExecuTorch's own readers say to what this crate writes.
//!
//! They are asked where the environment variable `EXECUTORCH_OFFICIAL` names the folder that `.ci/official/get.sh` put them
//! into. Without it these tests say on stderr that they are skipped.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod from_nothing;
mod laid_out_anew;
mod programs;
