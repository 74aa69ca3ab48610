//! `pte list`: every blob in a file, with its offset and size.

mod hash;
mod print;

use crate::context::Context;
use crate::data::{DataArguments, serving};
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::names::NamesArguments;
use crate::open::Input;
use crate::remote::Need;
use clap::ValueEnum;
use executorch_format::Model;
use executorch_format::inspect::{
    Blob, BlobKind, BlobUser, Blobs, DelegateConstant, DelegateConstantUser, DelegateConstants, Fault,
};
use serde::Serialize;
use std::cmp::Reverse;

/// List every blob with offset and size: segments, constants, initial states, delegate payloads, named data, test tensors
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte list model.pte
  pte list --sort size --top 10 model.pte
  pte list --hash --json model.pte | jq '.files[0].blobs[] | select(.kind == \"delegate\")'")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    form: JsonArguments,
    /// Add the SHA-256 of each blob's bytes
    #[arg(long)]
    hash: bool,
    /// The order of the list
    #[arg(long, value_enum, default_value_t = Order::Kind)]
    sort: Order,
    /// Maximum blobs to show [default: all; on a terminal 50]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    #[command(flatten)]
    names: NamesArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Segments, then what is in them, by kind
    Kind,
    /// The first byte of the file
    Offset,
    /// The largest
    Size,
}

/// Every blob of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Listing<'t> {
    file: String,
    /// Bytes.
    file_size: u64,
    blobs: Vec<BlobRow<'t>>,
    /// References to missing data, and payloads that cannot be read.
    errors: Vec<Fault>,
}

/// A blob.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct BlobRow<'t> {
    kind: BlobKind,
    /// In bytes from the start of the file; `None` if the blob is not in the file.
    offset: Option<u64>,
    /// In bytes; `None` if it is not known: data under a key that a payload looks up in a `.ptd` file which was not given.
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    users: Vec<User<'t>>,
}

/// A user of a blob.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum User<'t> {
    Blob(BlobUser<'t>),
    Inside(DelegateConstantUser<'t>),
}

/// Lists the blobs of each file, then fails if some could not be found. Continues after a file that fails.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, &arguments.form);
    let named = arguments.files.are_several();
    let opened = arguments.data.open(context, &arguments.files)?;
    let data = opened.parse();
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open_for(context, path, Need::Graphs)?;
        let print = |found: Blobs<'_>, inside: DelegateConstants<'_>, methods: usize| {
            let mut blobs: Vec<BlobRow> = found.blobs.into_iter().map(row).collect();
            add_inside(&mut blobs, inside.constants);
            match arguments.sort {
                Order::Kind => {}
                Order::Offset => blobs.sort_by_key(|blob| (blob.offset.is_none(), blob.offset, Reverse(blob.size))),
                Order::Size => blobs.sort_by_key(|blob| Reverse(blob.size)),
            }
            if arguments.hash {
                hash::fill(&input, &mut blobs)?;
            }
            let (file, file_size) = (path.display().to_string(), input.bytes().len() as u64);
            let listing = Listing { file, file_size, blobs, errors: [found.errors, inside.errors].concat() };
            match documents {
                Some(documents) => documents.add(&listing)?,
                None => print::table(context, named.then_some(path), &listing, methods > 1, arguments.top)?,
            }
            Failure::unless_sound(path, &listing.errors)
        };
        let model = input.parse()?;
        match &model {
            Model::Pte(pte) => {
                let files = arguments.names.open(context, path)?;
                let sources = files.sources()?;
                let analysis = files.analysis(pte, &sources)?.with_data(serving(&data, path));
                print(analysis.blobs(), analysis.delegate_constants(), pte.methods().len())
            }
            Model::Bpte(bpte) => {
                let program = bpte.program().map_err(|error| Failure::bad(path, &error))?;
                arguments.names.with(context, path, &program, |analysis| {
                    let (blobs, inside) = (bpte.blobs_with(analysis), bpte.delegate_constants_with(analysis));
                    print(blobs, inside, program.methods().len())
                })
            }
            Model::Xnnpack(payload) => print(Blobs::default(), payload.delegate_constants(), 1),
            _ => print(model.blobs(), DelegateConstants::default(), 1),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

/// Adds the constants of payloads. A constant that several values refer to is listed once.
fn add_inside<'t>(blobs: &mut Vec<BlobRow<'t>>, constants: Vec<DelegateConstant<'t>>) {
    for DelegateConstant { offset, size, user, .. } in constants {
        let same = |other: &User<'t>| match other {
            User::Inside(other) => {
                (other.method, other.delegate, other.constant) == (user.method, user.delegate, user.constant)
            }
            User::Blob(_) => false,
        };
        match blobs.last_mut().filter(|last| last.users.first().is_some_and(same)) {
            Some(last) => last.users.push(User::Inside(user)),
            None => {
                let users = vec![User::Inside(user)];
                blobs.push(BlobRow { kind: BlobKind::DelegateConstant, offset, size, sha256: None, users });
            }
        }
    }
}

fn row(blob: Blob<'_>) -> BlobRow<'_> {
    let Blob { kind, offset, size, users, .. } = blob;
    BlobRow { kind, offset, size: Some(size), sha256: None, users: users.into_iter().map(User::Blob).collect() }
}
