//! `pte select`: keeps or removes methods of a program.

use super::pattern::{self, Patterns};
use super::{Destination, program};
use crate::context::Context;
use crate::failure::Failure;
use crate::save::Pending;
use crate::text;
use glob::Pattern;
use std::path::PathBuf;

/// Keep or remove methods, with the data that only they use
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte select model.pte --keep forward --keep 'get_*' -o forward.pte
  pte select model.pte --remove encode -i")]
pub struct Arguments {
    /// A .pte file
    file: PathBuf,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    destination: Destination,
}

#[derive(clap::Args)]
#[group(required = true, multiple = true)]
struct Which {
    /// Keep methods whose name matches, and remove all others
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    keep: Vec<Pattern>,
    /// Remove methods whose name matches
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    remove: Vec<Pattern>,
}

/// Keeps or removes methods.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let before = program(&input)?;
    let mut after = before.clone();
    let Which { keep, remove } = &arguments.which;
    for patterns in [keep, remove] {
        let methods = before.methods().iter().map(|plan| plan.name());
        Patterns(patterns).check(input.path(), "method like", methods)?;
    }
    let report = after.select(|name| Patterns(keep).allow(name) && !Patterns(remove).any(name));
    let report = report.map_err(|error| Failure::Usage(format!("{}: {error}", text::path(input.path()))))?;
    arguments.destination.finish(context, &input, before, after, report)
}
