//! `pte memory`: the planned memory of methods.

mod print;
pub mod run;

use crate::context::Context;
use crate::data::each_program;
use crate::failure::Failure;
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::modules;
use crate::names::NamesArguments;
use crate::remote::Need;
use crate::save::OutputArguments;
use crate::text;
use clap::ValueEnum;
use executorch_format::inspect::{Memory, ModuleTotal};
use serde::Serialize;
use std::path::Path;

/// Show the planned memory of each method: its buffers, which tensors they hold when, how much the plan wastes, and the memory of a run with that of delegates
#[derive(clap::Args)]
#[command(
    after_help = "Instructions count from 0, as in pte disasm. In JSON, -1 stands for the time before the first instruction, when inputs are set, and the number after
the last instruction for the outputs.

Examples:
  pte memory model.pte
  pte memory model.pte --method forward --svg -o memory.svg
  pte memory model.pte --arenas
  pte memory model.pte --names model.etrecord --by module
  pte memory model.pte --json | jq '.files[].arenas'"
)]
#[command(mut_arg("files", |argument| argument.help(files::PROGRAMS)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// Only this method
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Maximum tensors of each buffer [default: all; on a terminal 10]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// List the tensors at the peak of memory use, or add them up by module [default: tensor]
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["svg", "arenas"])]
    by: Option<By>,
    #[command(flatten)]
    names: NamesArguments,
    #[command(flatten)]
    form: JsonArguments,
    /// Print a picture of addresses against time, as SVG
    #[arg(long, group = "form")]
    svg: bool,
    /// Print the buffers that a firmware needs for all methods, run one at a time: the memory id (from 1, as the exporter's memory planner
    /// counts), the span (from 0, as the runtime and `pte to-c` count), bytes and device of each; for several files, the file too
    #[arg(long, group = "form")]
    arenas: bool,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum By {
    /// Each tensor by itself
    Tensor,
    /// The modules of the model, by the instructions that write the tensors
    Module,
}

/// The planned memory of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileMemory<'t> {
    file: String,
    #[serde(flatten)]
    memory: &'t Memory<'t>,
    /// The bytes of each buffer by module at the peak, if modules are known.
    modules: Vec<BufferModules<'t>>,
}

/// The bytes of a buffer by module at the peak.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct BufferModules<'t> {
    method: &'t str,
    memory_id: u32,
    modules: Vec<ModuleTotal<'t>>,
}

/// Prints the planned memory of each file.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.svg {
        arguments.files.single("--svg")?;
    }
    arguments.output.only_with(arguments.svg || arguments.arenas, "--svg or --arenas")?;
    let mut documents = json::Files::start(context, &arguments.form);
    let (mut apart, mut arenas) = (false, String::new());
    let outcome = each_program(context, &arguments.files, Need::Graphs, documents.as_mut(), |path, pte, documents| {
        arguments.names.with(context, path, pte, |analysis| {
            let mut memory = analysis.memory();
            if let Some(name) = &arguments.method {
                memory.methods.retain(|method| method.name == name);
                if memory.methods.is_empty() {
                    return Err(Failure::no_method(path, name, pte));
                }
            }
            if let Some(documents) = documents {
                let modules = modules_of(&memory);
                documents.add(&FileMemory { file: path.display().to_string(), memory: &memory, modules })?;
            } else if arguments.svg {
                let file = path.file_name().map_or(path, Path::new).to_string_lossy();
                arguments.output.write_with(context, |out| write!(out, "{}", memory.svg(&file)))?;
            } else if arguments.arenas {
                if memory.arenas.is_empty() {
                    context.say(format_args!("{}: no method has planned memory", text::path(path)));
                }
                arenas += &print::arenas(&memory, arguments.files.are_several().then_some(path));
            } else {
                print::text(context, path, &memory, arguments, std::mem::replace(&mut apart, true))?;
            }
            if arguments.svg || arguments.arenas {
                context.incomplete(
                    path,
                    if arguments.svg { "picture" } else { "list of buffers" },
                    memory.errors.len(),
                );
            }
            Failure::unless_sound(path, &memory.errors)
        })
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    if !arenas.is_empty() {
        arguments.output.write(context, arenas.into_bytes())?;
    }
    outcome
}

/// Returns the buffers whose tensors belong to known modules.
fn modules_of<'t>(memory: &Memory<'t>) -> Vec<BufferModules<'t>> {
    let buffers = memory.methods.iter().flat_map(|method| method.buffers.iter().map(move |buffer| (method, buffer)));
    let modules = buffers.map(|(method, buffer)| BufferModules {
        method: method.name,
        memory_id: buffer.buffer.memory_id,
        modules: modules::known(buffer.by_module()),
    });
    modules.filter(|buffer| !buffer.modules.is_empty()).collect()
}
