//! `pte memory`: the planned memory of methods.

mod print;
mod svg;

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use executorch_format::inspect::Memory;
use serde::Serialize;
use std::path::PathBuf;

/// The planned memory of each method: its buffers, what is in them when, and what the plan costs beyond what is needed at once
#[derive(clap::Args)]
#[command(
    after_help = "Instructions have the numbers that pte disasm gives them. In JSON, times count them from 1, and inputs are given at 0.

Examples:
  pte memory model.pte
  pte memory model.pte --method forward --svg > memory.svg
  pte memory model.pte --arenas
  pte memory model.pte --json | jq '.arenas'"
)]
pub struct Arguments {
    /// A .pte file, or a .bpte: the program inside it; - is standard input
    file: PathBuf,
    /// Only this method
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Show so many tensors of each buffer [else: 10 on a terminal, all otherwise]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Print JSON
    #[arg(long, group = "form")]
    json: bool,
    /// Print a picture: addresses against time, as SVG
    #[arg(long, group = "form")]
    svg: bool,
    /// Print what a firmware has to set aside for all methods, run one at a time: for each buffer its index, its bytes and its device
    #[arg(long, group = "form")]
    arenas: bool,
}

/// The planned memory of a file.
#[derive(Serialize)]
struct FileMemory<'t> {
    file: String,
    #[serde(flatten)]
    memory: &'t Memory<'t>,
}

/// Tells about the methods of a file.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let pte = input.program()?;
    let mut memory = pte.memory();
    if let Some(name) = &arguments.method {
        memory.methods.retain(|method| method.name == name);
        if memory.methods.is_empty() {
            return Err(Failure::no_method(input.path(), name, pte.methods().iter().map(|plan| plan.name())));
        }
    }
    if arguments.json {
        json::print(&FileMemory { file: input.path().display().to_string(), memory: &memory })?;
    } else if arguments.svg {
        svg::print(input.path(), &memory)?;
    } else if arguments.arenas {
        print::arenas(&memory)?;
    } else {
        print::text(input.path(), &memory, arguments.top)?;
    }
    Failure::unless_sound(input.path(), &memory.faults)
}

/// What a time is called: an instruction by its number, as in the graph and in `pte disasm`. Times count from 1.
fn moment(time: usize, instructions: usize) -> String {
    match time.checked_sub(1) {
        None => "inputs".to_owned(),
        Some(index) if index >= instructions => "outputs".to_owned(),
        Some(index) => index.to_string(),
    }
}

/// The same inside a sentence.
fn moment_named(time: usize, instructions: usize) -> String {
    let moment = moment(time, instructions);
    let is_number = moment.starts_with(|digit: char| digit.is_ascii_digit());
    format!("{} {moment}", if is_number { "instruction" } else { "the" })
}
