//! `pte list`: every blob in a file, and its offset and size.

mod hash;
mod print;

use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use executorch_format::Model;
use executorch_format::inspect::{
    Blob, BlobKind, BlobUser, Blobs, DelegateConstant, DelegateConstantUser, DelegateConstants, Fault,
};
use serde::Serialize;

/// List every blob with offset and size: segments, constants, initial states, delegate payloads, named data, test tensors
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte list model.pte
  pte list --hash --json model.pte | jq '.files[0].blobs[] | select(.kind == \"delegate\")'")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    form: JsonArguments,
    /// Add the SHA-256 of each blob's bytes
    #[arg(long)]
    hash: bool,
}

/// Every blob of a file.
#[derive(Serialize)]
struct Listing<'t> {
    file: String,
    /// Bytes.
    file_size: u64,
    /// One for each user: a blob that several use is there several times.
    blobs: Vec<Row<'t>>,
    /// References to data that is not there, and payloads that cannot be read.
    faults: Vec<Fault>,
    /// How many blobs that are.
    #[serde(skip)]
    count: usize,
}

/// A blob and one of its users.
#[derive(Serialize)]
struct Row<'t> {
    kind: BlobKind,
    #[serde(flatten)]
    user: User<'t>,
    /// In bytes from the start of the file; `None` if the blob is not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// In bytes.
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// What uses a blob.
#[derive(Serialize)]
#[serde(untagged)]
enum User<'t> {
    Blob(BlobUser<'t>),
    Inside(DelegateConstantUser<'t>),
}

/// Lists the blobs of each file, then fails if some could not be found. Goes on after a file that fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut documents = arguments.form.any().then(|| json::Files::start(&arguments.form));
    let several = arguments.files.recursive || arguments.files.files.len() > 1;
    let outcome = each(&arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(path)?;
        let print = |found: Blobs<'_>, inside: DelegateConstants<'_>| {
            let mut blobs: Vec<Row> = found.blobs.iter().flat_map(rows).collect();
            let count = found.blobs.len() + inside.constants.len();
            blobs.extend(inside.constants.into_iter().map(inside_row));
            if arguments.hash {
                hash::fill(&input, &mut blobs)?;
            }
            let (file, file_size) = (path.display().to_string(), input.bytes().len() as u64);
            let faults = [found.faults, inside.faults].concat();
            let listing = Listing { file, file_size, blobs, faults, count };
            match documents {
                Some(documents) => documents.add(&listing)?,
                None => print::table(several.then_some(path), &listing)?,
            }
            Failure::unless_sound(path, &listing.faults)
        };
        if let Some(payload) = input.payload()? {
            return print(Blobs::default(), payload.delegate_constants());
        }
        let model = input.parse()?;
        match &model {
            Model::Pte(pte) => print(pte.blobs(), pte.delegate_constants()),
            Model::Bpte(bpte) => {
                let program = bpte.program().map_err(|error| Failure::bad(path, &error))?;
                print(bpte.blobs_with(&program), bpte.delegate_constants_with(&program))
            }
            _ => print(model.blobs(), DelegateConstants::default()),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

fn inside_row(constant: DelegateConstant<'_>) -> Row<'_> {
    let DelegateConstant { offset, size, user } = constant;
    Row { kind: BlobKind::DelegateConstant, user: User::Inside(user), offset, size, sha256: None }
}

fn rows<'t>(blob: &Blob<'t>) -> impl Iterator<Item = Row<'t>> {
    let Blob { kind, offset, size, .. } = *blob;
    blob.users.iter().map(move |user| Row { kind, user: User::Blob(*user), offset, size, sha256: None })
}
