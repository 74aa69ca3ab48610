//! The bodies of the fuzz targets. They are in a library so that `cargo test` can run them with a stable compiler on the seeds
//! and on all inputs that once failed.

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
