//! `pte internalize`: copies data from `.ptd` files into a program.

use super::pattern::{self, Patterns};
use super::{Destination, data, open, program};
use crate::context::Context;
use crate::failure::Failure;
use crate::save::Pending;
use crate::text;
use executorch_format::Ptd;
use glob::Pattern;
use std::path::PathBuf;

/// Copy data from .ptd files into a program
///
/// It takes every key that a tensor of the program names. If the program has delegates, it takes all other keys too, because delegates look
/// up keys of their own.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte internalize program.pte --data weights.ptd -o model.pte
  pte internalize program.pte --data a.ptd --data b.ptd --name 'layers.0.*' -o model.pte")]
pub struct Arguments {
    /// A .pte file
    file: PathBuf,
    /// All .ptd files that the program takes data from
    #[arg(long, value_name = "X.ptd", required = true)]
    data: Vec<PathBuf>,
    /// Only keys that match
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    name: Vec<Pattern>,
    #[command(flatten)]
    destination: Destination,
}

/// Copies data into a program.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let files = open(context, &arguments.data)?;
    let ptds = files.iter().map(data).collect::<Result<Vec<Ptd<'_>>, _>>()?;
    let before = program(&input)?;
    let keys = ptds.iter().flat_map(|ptd| ptd.entries()).map(|entry| entry.key());
    Patterns(&arguments.name).check(input.path(), "key of these .ptd files like", keys)?;
    let mut after = before.clone();
    let report = after.internalize(&ptds, |key| Patterns(&arguments.name).allow(key));
    let report = report.map_err(|error| Failure::Usage(format!("{}: {error}", text::path(input.path()))))?;
    if report.changes.is_empty() {
        let mut fault = "nothing to copy from these .ptd files".to_owned();
        for note in &report.notes {
            fault += &format!("; {note}");
        }
        return Err(Failure::usage_of(input.path(), &fault));
    }
    arguments.destination.finish(context, &input, before, after, report)
}
