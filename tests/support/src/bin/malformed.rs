//! Writes the malformed files of `tests/data/malformed`: valid files, each damaged in one way.
//!
//! `cargo run -p executorch-format-support --bin malformed` rewrites the folder; the test `malformed` checks that nothing else is in it.

use executorch_format_support::corpus;

fn main() {
    let folder = corpus::folder();
    let files = corpus::files();
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    corpus::write(&folder, &files);
    println!("{} files, {bytes} bytes, in {}", files.len(), folder.display());
}
