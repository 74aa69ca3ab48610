//! Writes malformed files: valid files, each damaged in one way, with a manifest.
//!
//! `cargo run -p executorch-format-support --bin malformed` rewrites `tests/data/malformed`; the test `malformed` compares its content.
//! With `-- DIR`, the files are written to a new folder, for tests of other readers.

use executorch_format_support::corpus;
use std::path::PathBuf;

fn main() {
    let new = std::env::args_os().nth(1).map(PathBuf::from);
    // Files outside the corpus are removed from its own folder, so any other folder must be new.
    if let Some(folder) = new.as_ref().filter(|folder| folder.exists()) {
        eprintln!("error: {}: is there already, expected a new folder", folder.display());
        std::process::exit(2);
    }
    let folder = new.unwrap_or_else(corpus::folder);
    let files = corpus::files();
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    corpus::write(&folder, &files);
    println!("{} files, {bytes} bytes, in {}", files.len(), folder.display());
}
