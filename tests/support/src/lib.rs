//! What the tests, benchmarks and fuzz targets share: the fixtures, a visitor of everything, trees of any kind, the malformed
//! corpus, the peer that reading is measured against, and ExecuTorch's own readers.

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

/// The folder of the crate that is tested.
pub fn crate_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Its real files.
pub fn data() -> PathBuf {
    crate_root().join("tests/data")
}
