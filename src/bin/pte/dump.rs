//! `pte dump`: the tree as JSON.

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use executorch_format::Model;
use std::path::PathBuf;

/// The whole metadata as JSON, with the schema's names, as flatc prints it
#[derive(clap::Args)]
pub struct Arguments {
    /// A .pte or .ptd file
    file: PathBuf,
}

/// Prints the tree of a file.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    match input.parse()? {
        Model::Pte(pte) => json::print(&pte.program),
        Model::Ptd(ptd) => json::print(&ptd.flat_tensor),
        _ => Err(Failure::Usage(format!("{}: a kind of file that has no tree", arguments.file.display()))),
    }
}
