//! `pte dedup`: stores equal blobs once; for several files, lists the blobs that they share.

use super::{Destination, open, share};
use crate::context::{Context, NAME};
use crate::failure::Failure;
use crate::open::Input;
use crate::save::Pending;
use crate::{files, json, text};
use executorch_format::edit::{Copies, CopyUser, copies};
use executorch_format::inspect::BlobUser;
use executorch_format::{Error, Model};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Store equal blobs once: in a file, or those that several files share in one .ptd
///
/// For several files, --data moves the constants, initial states and named data that programs share with others into a .ptd, to which the
/// programs then refer, with everything in the .ptd files that were given: this one file serves all of them. All files are written, or none.
/// Without --data, --dry-run lists what they share.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte dedup model.pte -i
  pte dedup base.pte french.pte german.pte --data shared.ptd -o shared
  pte dedup a.pte b.pte weights.ptd --data all.ptd --min-size 1KiB -i
  pte dedup -r models --dry-run")]
pub struct Arguments {
    /// .pte and .ptd files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Compare every .pte and .ptd in folders and the folders in them
    #[arg(short, long)]
    recursive: bool,
    /// Move what several files share into this .ptd; --output is then a folder for the programs
    #[arg(long, value_name = "SHARED.ptd")]
    data: Option<PathBuf>,
    /// Move only data of at least this many bytes
    #[arg(long, value_name = "SIZE", value_parser = text::parse_size, requires = "data")]
    pub(super) min_size: Option<u64>,
    #[command(flatten)]
    pub(super) destination: Destination,
}

/// The blobs that several files share.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Common<'t> {
    files: Vec<json::Named>,
    copies: Vec<Copies<'t>>,
}

/// Removes copies.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let file = match &arguments.files[..] {
        [file] if !arguments.recursive && arguments.data.is_none() => file,
        several => {
            let found = files::iter(context, several, arguments.recursive);
            let found = found.map(|file| Ok(file?.path)).collect::<Result<Vec<PathBuf>, Failure>>()?;
            if let Some(data) = &arguments.data {
                return share::run(context, arguments, &found, data);
            }
            common(context, arguments, &found)?;
            return Ok(Pending::default());
        }
    };
    let input = arguments.destination.open(context, file)?;
    let bad = |error: Error| Failure::bad(input.path(), &error);
    match input.parse()? {
        Model::Pte(before) => {
            let mut after = before.clone();
            let report = after.dedup().map_err(bad)?;
            arguments.destination.finish(context, &input, before, after, report)
        }
        Model::Ptd(before) => {
            let mut after = before.clone();
            let report = after.dedup().map_err(bad)?;
            arguments.destination.finish(context, &input, before, after, report)
        }
        _ => Err(Failure::Usage(format!("{}: expected a .pte or .ptd", text::path(input.path())))),
    }
}

fn common(context: &Context, arguments: &Arguments, files: &[PathBuf]) -> Result<(), Failure> {
    if !arguments.destination.how().dry_run {
        return Err(Failure::Usage("give --data SHARED.ptd for what the files share, or --dry-run to list it".into()));
    }
    let inputs = open(context, files)?;
    let models = inputs.iter().map(Input::parse).collect::<Result<Vec<_>, _>>()?;
    let found = copies(&models).map_err(|error| Failure::Usage(error.to_string()))?;
    let form = &arguments.destination.how().form;
    if form.any() {
        let files = json::Named::all(files.iter().map(PathBuf::as_path));
        return json::print(context, &Common { files, copies: found }, form);
    }
    let mut out = context.plain_out();
    for copies in &found {
        let users: Vec<String> = copies.users.iter().map(|user| place(context, user, files)).collect();
        let start = format!("{} bytes in {}: ", copies.size, text::count(copies.places, "place"));
        writeln!(out, "{start}{}", context.cut(&users.join(", "), start.len()))?;
    }
    let saved: u64 = found.iter().map(|copies| copies.size * (copies.places as u64 - 1)).sum();
    writeln!(out, "{} stored more than once: {saved} bytes too many", text::count(found.len(), "blob"))?;
    Ok(out.flush()?)
}

/// Describes a user of a blob: its file, and its value, delegate or key.
#[expect(clippy::indexing_slicing, reason = "the models were opened from these files, in this order")]
fn place(context: &Context, user: &CopyUser<'_>, files: &[PathBuf]) -> String {
    let name = match &user.user {
        BlobUser::Tensor { method, value, .. } => text::value(&context.name(method, 20), *value, true),
        BlobUser::Delegate { method, index, .. } => format!("{} delegate {index}", context.name(method, 20)),
        BlobUser::Key { key, .. } => context.quoted(key, NAME),
        _ => user.kind.to_string(),
    };
    format!("{} {name}", text::path(&files[user.file]))
}
