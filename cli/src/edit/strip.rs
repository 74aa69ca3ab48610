//! `pte strip`: removes what a program does not need to run.

use super::{Destination, program};
use crate::context::Context;
use crate::failure::Failure;
use crate::save::Pending;
use executorch_format::edit::Strip;
use std::path::PathBuf;

/// Remove what a program does not need to run
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte strip model.pte --all -o release.pte
  pte strip model.pte --stack-traces -i")]
pub struct Arguments {
    /// A .pte file
    file: PathBuf,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    destination: Destination,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Data to remove")]
#[group(required = true, multiple = true)]
struct What {
    /// Everything that does not affect what the model computes
    #[arg(long)]
    all: bool,
    /// The Python source lines that instructions came from
    #[arg(long)]
    stack_traces: bool,
    /// The names of constants that are in the file. Names of mutable tensors stay, since an app can look them up
    #[arg(long)]
    names: bool,
    /// Constants, initial states, payloads and segments that nothing refers to
    #[arg(long)]
    unreferenced: bool,
    /// Bytes between blobs beyond what their alignment needs, and bytes after the last one
    #[arg(long)]
    padding: bool,
}

/// Strips a program.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let before = program(&input)?;
    let mut after = before.clone();
    let What { all, stack_traces, names, unreferenced, padding } = arguments.what;
    let mut what = Strip::ALL;
    if !all {
        what.stack_traces = stack_traces;
        what.names = names;
        what.unreferenced = unreferenced;
        what.padding = padding;
    }
    let report = after.strip(&what).map_err(|error| Failure::bad(input.path(), &error))?;
    arguments.destination.finish(context, &input, before, after, report)
}
