//! `pte dump`: the tree as JSON.

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use executorch_format::Model;
use std::path::PathBuf;

/// Print the whole metadata as JSON, with the schema's names, as flatc does
#[derive(clap::Args)]
pub struct Arguments {
    /// A .pte or .ptd file
    file: PathBuf,
}

/// Prints a file's tree.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    match input.parse()? {
        Model::Pte(pte) => json::print(&pte.program),
        Model::Ptd(ptd) => json::print(&ptd.flat_tensor),
        _ => Err(Failure::Usage(format!("{}: files of this kind have no metadata to print", arguments.file.display()))),
    }
}
