//! What the tests, benchmarks and fuzz targets share: the fixtures, a visitor of whole files, arbitrary trees, the malformed
//! corpus, the reader with which benchmarks compare, and ExecuTorch's own readers.

pub mod any_tree;
pub mod corpus;
pub mod damage;
pub mod fixtures;
pub mod flatc_json;
pub mod official;
pub mod peer;
pub mod verdict;
pub mod visit;
pub mod walk;

use std::path::{Path, PathBuf};

/// The folder of the tested crate.
pub fn crate_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of its test files.
pub fn data() -> PathBuf {
    crate_root().join("tests/data")
}
