//! `pte disasm`: every instruction of a program, readable.

mod print;

use crate::data::each_program;
use crate::failure::Failure;
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use executorch_format::inspect::Disassembly;
use serde::Serialize;

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
    #[command(flatten)]
    files: FileArguments,
    /// Only this method
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    #[command(flatten)]
    form: JsonArguments,
}

/// What a file does.
#[derive(Serialize)]
struct FileDisassembly<'t> {
    file: String,
    #[serde(flatten)]
    disassembly: &'t Disassembly<'t>,
}

/// Prints what the methods of each file do.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut documents = arguments.form.any().then(|| json::Files::start(&arguments.form));
    let mut apart = false;
    let outcome = each_program(&arguments.files, documents.as_mut(), |path, pte, documents| {
        let mut disassembly = pte.disassembly();
        if let Some(name) = &arguments.method {
            disassembly.methods.retain(|method| method.name == name);
            if disassembly.methods.is_empty() {
                return Err(Failure::no_method(path, name, pte));
            }
        }
        match documents {
            Some(documents) => {
                documents.add(&FileDisassembly { file: path.display().to_string(), disassembly: &disassembly })?
            }
            None => {
                let path = arguments.files.are_several().then_some(path);
                print::text(path, &disassembly, std::mem::replace(&mut apart, true))?
            }
        }
        Failure::unless_sound(path, &disassembly.faults)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}
