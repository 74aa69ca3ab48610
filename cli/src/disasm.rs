//! `pte disasm`: every instruction of a program, readable.

mod print;

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use executorch_format::inspect::Disassembly;
use serde::Serialize;
use std::path::PathBuf;

/// Every instruction: what it calls, its arguments by name, and where their values live
#[derive(clap::Args)]
#[command(
    after_help = "%12 is value 12 of the method. A * marks what a kernel or a delegate writes, a ! what it changes in place.

Examples:
  pte disasm model.pte | less
  pte disasm model.pte --method forward > forward.txt
  diff <(pte disasm old.pte) <(pte disasm new.pte)"
)]
pub struct Arguments {
    /// A .pte file, or a .bpte: the program inside it; - is standard input
    file: PathBuf,
    /// Only this method
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a file does.
#[derive(Serialize)]
struct FileDisassembly<'t> {
    file: String,
    #[serde(flatten)]
    disassembly: &'t Disassembly<'t>,
}

/// Prints what the methods of a file do.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let pte = input.program()?;
    let mut disassembly = pte.disassembly();
    if let Some(name) = &arguments.method {
        disassembly.methods.retain(|method| method.name == name);
        if disassembly.methods.is_empty() {
            return Err(Failure::no_method(input.path(), name, pte.methods().iter().map(|plan| plan.name())));
        }
    }
    if arguments.json {
        json::print(&FileDisassembly { file: input.path().display().to_string(), disassembly: &disassembly })?;
    } else {
        print::text(&disassembly)?;
    }
    Failure::unless_sound(input.path(), &disassembly.faults)
}
