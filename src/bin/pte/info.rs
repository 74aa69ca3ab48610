//! `pte info`: what a person wants to know about a file first.

mod print;

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use executorch_format::inspect::Summary;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is in each file, in short: methods, shapes, operators, delegates, memory, weights, metadata
#[derive(clap::Args)]
pub struct Arguments {
    /// .pte and .ptd files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print JSON: one object for each file, on a line of its own
    #[arg(long)]
    json: bool,
}

/// The facts about a file.
#[derive(Serialize)]
struct Info<'t> {
    file: String,
    /// Bytes.
    file_size: u64,
    #[serde(flatten)]
    summary: &'t Summary<'t>,
}

/// Tells about each file, the good ones also where others are bad.
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

/// Tells about one file. What it refers to and does not hold comes after the facts, as a failure.
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
