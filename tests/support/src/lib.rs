//! The common parts of tests, benchmarks and fuzz targets: the fixtures, a visitor of whole files, the malformed corpus, and ExecuTorch's
//! own readers.

pub mod browser;
pub mod corpus;
pub mod edits;
pub mod fixtures;
pub mod flatc_json;
pub mod hostile_server;
pub mod networks;
pub mod official;
pub mod random;
pub mod server;
pub mod sharing;
pub mod training;
pub mod verdict;
pub mod visit;
pub mod written;
pub mod xnnpack_programs;

use std::path::{Path, PathBuf};

/// Returns the folder of the tested crate.
pub fn crate_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folder of its test files.
pub fn data() -> PathBuf {
    crate_root().join("tests/data")
}
