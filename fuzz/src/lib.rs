//! What each fuzz target does with its bytes. The targets themselves are one line each, so that `cargo test` runs all
//! of this on the seeds and on every input that once failed, with a stable compiler.

mod build_tree;
mod differential;
mod prefix;
mod read;
mod round_trip;
#[cfg(test)]
mod smoke;
mod verify_agrees;

pub use build_tree::build_tree;
pub use differential::differential;
pub use prefix::prefix;
pub use read::{read_ptd, read_pte};
pub use round_trip::round_trip;
pub use verify_agrees::verify_agrees;
