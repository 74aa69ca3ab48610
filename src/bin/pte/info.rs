//! `pte info`: a summary of a file.

mod print;

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use executorch_format::inspect::Summary;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Summarize each file: methods, shapes, operators, delegates, memory, weights, metadata
#[derive(clap::Args)]
pub struct Arguments {
    /// .pte and .ptd files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print JSON: one object per file, each on one line
    #[arg(long)]
    json: bool,
}

/// The summary of a file.
#[derive(Serialize)]
struct Info<'t> {
    file: String,
    /// In bytes.
    file_size: u64,
    #[serde(flatten)]
    summary: &'t Summary<'t>,
}

/// Prints a summary of each file. Goes on after a file that fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut code = 0;
    for (at, file) in arguments.files.iter().enumerate() {
        match show(file, arguments.json, at > 0) {
            Ok(()) => {}
            Err(output @ Failure::Output(_)) => return Err(output),
            Err(failure) => {
                failure.report();
                code = code.max(failure.code());
            }
        }
    }
    if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
}

/// Prints the summary of a file, then fails if references in it are out of range.
fn show(file: &Path, as_json: bool, apart: bool) -> Result<(), Failure> {
    let input = Input::open(file)?;
    let model = input.parse()?;
    let summary = model.summary();
    let info = Info { file: file.display().to_string(), file_size: input.bytes().len() as u64, summary: &summary };
    if as_json {
        json::print_line(&info)?;
    } else {
        print::text(&info, apart)?;
    }
    Failure::unless_sound(file, &summary.faults)
}
