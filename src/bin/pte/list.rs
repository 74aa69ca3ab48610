//! `pte list`: every blob in a file, and its offset and size.

mod hash;
mod print;

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use executorch_format::inspect::{Blob, BlobKind, BlobUser};
use serde::Serialize;
use std::path::PathBuf;

/// List every blob with offset and size: segments, constants, initial states, delegate payloads, named data
#[derive(clap::Args)]
pub struct Arguments {
    /// A .pte or .ptd file
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Add the SHA-256 of each blob's bytes
    #[arg(long)]
    hash: bool,
}

/// Every blob of a file.
#[derive(Serialize)]
struct Listing<'t> {
    /// In bytes.
    file_size: u64,
    blobs: Vec<Row<'t>>,
}

/// A blob and one of its users.
#[derive(Serialize)]
struct Row<'t> {
    kind: BlobKind,
    #[serde(flatten)]
    user: BlobUser<'t>,
    /// In bytes from the start of the file; `None` if the blob is not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// In bytes.
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// Lists the blobs of a file.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let model = input.parse()?;
    let found = model.blobs();
    Failure::unless_sound(input.path(), &found.faults)?;
    let mut blobs: Vec<Row> = found.blobs.iter().flat_map(rows).collect();
    if arguments.hash {
        hash::fill(&input, &mut blobs)?;
    }
    let listing = Listing { file_size: input.bytes().len() as u64, blobs };
    if arguments.json { json::print(&listing) } else { print::table(&listing) }
}

fn rows<'t>(blob: &Blob<'t>) -> impl Iterator<Item = Row<'t>> {
    let Blob { kind, offset, size, .. } = *blob;
    blob.users.iter().map(move |user| Row { kind, user: *user, offset, size, sha256: None })
}
