//! `pte diff`: what differs between two files.

mod print;

use crate::failure::Failure;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::{status, text};
use executorch_format::inspect::{Diff, DiffOptions, Side};
use executorch_format::{Model, Ptd};
use serde::Serialize;
use std::path::PathBuf;

/// What differs between two files: methods, instructions, values, plans, delegates, weights, names, metadata
#[derive(clap::Args)]
#[command(
    after_help = "Where the same is only stored differently (alignment, segments, order, weights in a .ptd file), that is listed, and is no \
    difference. With --quiet, nothing is printed, and the exit code says it.\nExit codes: 0 the same model, 1 different, 2 wrong usage or a file cannot be read."
)]
pub struct Arguments {
    /// A .pte, .ptd, .bpte or .etdp file
    before: PathBuf,
    /// The file to compare it with
    after: PathBuf,
    /// The .ptd files that hold the first program's external tensors
    #[arg(long, value_name = "PTD")]
    before_data: Vec<PathBuf>,
    /// The .ptd files that hold the second program's external tensors
    #[arg(long, value_name = "PTD")]
    after_data: Vec<PathBuf>,
    /// Count the differences of each kind, and list none
    #[arg(long)]
    stat: bool,
    /// Tell how far the values of changed weights are apart
    #[arg(long)]
    tensors: bool,
    #[command(flatten)]
    form: JsonArguments,
}

/// What differs, and between what.
#[derive(Serialize)]
struct Comparison<'d> {
    files: [json::Named; 2],
    same: bool,
    #[serde(flatten)]
    diff: &'d Diff,
}

/// The exit code for two different files.
const DIFFERENT: u8 = 1;

/// The exit code where nothing could be compared.
const UNREADABLE: u8 = 2;

/// Compares two files.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    // A bad file is not a different one.
    let diff = compare(arguments).map_err(|failure| match failure {
        bad @ Failure::Bad { .. } => {
            if arguments.form.any() {
                // That standard output is closed is no news about the file.
                let _ = json::print_failure(&bad);
            }
            bad.report();
            Failure::Reported(UNREADABLE)
        }
        other => other,
    })?;
    let (before, after) = (&arguments.before, &arguments.after);
    let files = [before, after].map(|path| json::Named::new(path));
    let comparison = Comparison { files, same: diff.is_same(), diff: &diff };
    if arguments.form.any() {
        json::print(&comparison, &arguments.form)?;
    } else if !status::is_quiet() {
        print::text(before, after, &diff, arguments.stat)?;
    }
    if comparison.same { Ok(()) } else { Err(Failure::Reported(DIFFERENT)) }
}

fn compare(arguments: &Arguments) -> Result<Diff, Failure> {
    let open = |paths: &[PathBuf]| paths.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>, _>>();
    let (before, after) = (Input::open(&arguments.before)?, Input::open(&arguments.after)?);
    let (before_data, after_data) = (open(&arguments.before_data)?, open(&arguments.after_data)?);
    let (before, after) = (before.parse()?, after.parse()?);
    let (before_data, after_data) = (keys(&before_data)?, keys(&after_data)?);
    for (path, model) in [(&arguments.before, &before), (&arguments.after, &after)] {
        // Without its program, what a bundle does cannot be compared.
        if let Model::Bpte(bpte) = model {
            bpte.program().map_err(|error| Failure::bad(path, &error))?;
        }
    }
    let sides = (Side::new(&before, &before_data), Side::new(&after, &after_data));
    let options = DiffOptions::default().with_tensors(arguments.tensors);
    Ok(executorch_format::inspect::diff(&sides.0, &sides.1, &options))
}

/// The keys of `.ptd` files.
fn keys(inputs: &[Input]) -> Result<Vec<Ptd<'_>>, Failure> {
    let mut files = Vec::new();
    for input in inputs {
        match input.parse()? {
            Model::Ptd(ptd) => files.push(ptd),
            _ => return Err(Failure::Usage(format!("{}: not a .ptd file", text::path(input.path())))),
        }
    }
    Ok(files)
}
