//! `pte ops`: the operators and backends that models need.

pub mod delegated;
pub mod macs;
mod print;
mod yaml;

use crate::context::Context;
use crate::convert::refused;
use crate::data::each_program;
use crate::failure::Failure;
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::modules;
use crate::names::{NameFiles, NamesArguments};
use crate::remote::Need;
use crate::save::OutputArguments;
use clap::ValueEnum;
use executorch_format::Analysis;
use executorch_format::inspect::{Macs, ModuleTotal, Operators};
use serde::Serialize;
use std::path::PathBuf;

/// List the operators and backends that a model needs
///
/// Operators are listed with the types and dim orders of their tensors.
#[derive(clap::Args)]
#[command(after_help = "`pte fit --target` compares these needs with what a device has.

Examples:
  pte ops model.pte
  pte ops model.pte --by module --names model.etrecord
  pte ops model.pte --macs
  pte ops model.pte --delegated --trace trace.etdp
  pte ops --yaml --merge a.pte b.pte > selected_operators.yaml")]
#[command(mut_arg("files", |argument| argument.help(files::PROGRAMS)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// Merge the files: what a runtime for all of them needs
    #[arg(long)]
    merge: bool,
    /// Count multiply-accumulates and parameters instead: of convolutions, matrix products and attention, also inside delegates whose graph is read
    #[arg(long, conflicts_with_all = ["merge", "yaml"])]
    macs: bool,
    /// Count the instructions of each module instead, with the nodes inside delegates; with --macs, their multiply-accumulates
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["merge", "yaml"])]
    by: Option<By>,
    /// Show instead the share that delegates compute, of calls and multiply-accumulates, and which operators are left, beside what delegates took of
    /// the same operator
    #[arg(long, conflicts_with_all = ["merge", "yaml", "macs", "by"])]
    delegated: bool,
    /// A trace of the program: adds the share of time
    #[arg(long, value_name = "FILE.etdp", requires = "delegated")]
    trace: Option<PathBuf>,
    /// Maximum modules [default: all; on a terminal 30]
    #[arg(long, value_name = "N", requires = "by")]
    top: Option<usize>,
    #[command(flatten)]
    names: NamesArguments,
    #[command(flatten)]
    form: JsonArguments,
    /// Print YAML that ExecuTorch's selective build reads, for all files together
    #[arg(long, group = "form")]
    yaml: bool,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The modules of the model
    Module,
}

/// The operators and backends that a file needs.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileOperators<'t> {
    file: String,
    #[serde(flatten)]
    operators: &'t Operators,
    /// The number of instructions and of nodes inside delegates by module, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ModuleTotal<'t>>,
    /// The multiply-accumulates of each method, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    macs: Option<Macs<'t>>,
}

/// The combined needs of several files.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MergedOperators<'t> {
    files: Vec<json::Named>,
    #[serde(flatten)]
    operators: &'t Operators,
}

/// Prints the needs of each file, or of all together.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    arguments.output.only_with(arguments.yaml, "--yaml")?;
    if arguments.trace.is_some() {
        arguments.files.single("--trace")?;
    }
    let together = arguments.merge || arguments.yaml;
    let mut documents = if together { None } else { json::Files::start(context, &arguments.form) };
    let (mut all, mut files, mut apart) = (Operators::default(), Vec::new(), false);
    let outcome = each_program(context, &arguments.files, Need::Graphs, documents.as_mut(), |path, pte, documents| {
        let uses_names = arguments.macs || arguments.by.is_some();
        let names = uses_names.then(|| arguments.names.open(context, path)).transpose()?;
        let sources = names.as_ref().map(NameFiles::sources).transpose()?.unwrap_or_default();
        let analysis = match &names {
            Some(names) => names.analysis(pte, &sources)?,
            None => Analysis::new(pte),
        };
        let operators = analysis.operators();
        let errors = operators.errors.clone();
        if arguments.delegated {
            let (found, path_of) = (analysis.delegation(), arguments.trace.as_deref());
            let times = delegated::times(context, path_of, &analysis)?;
            match documents {
                Some(documents) => {
                    let file = path.display().to_string();
                    documents.add(&delegated::FileDelegation { file, delegation: &found, times, errors: &errors })?
                }
                None => delegated::text(context, path, &found, &times, std::mem::replace(&mut apart, true))?,
            }
            return Failure::unless_sound(path, &errors);
        }
        if arguments.yaml {
            operators.check_names().map_err(|error| refused(path, &error))?;
        }
        match documents {
            _ if together => {
                files.push(path.to_owned());
                all.merge(operators);
            }
            Some(documents) if arguments.by.is_none() => {
                let (file, modules) = (path.display().to_string(), Vec::new());
                let macs = arguments.macs.then(|| analysis.macs());
                documents.add(&FileOperators { file, operators: &operators, modules, macs })?
            }
            documents if arguments.by.is_some() => {
                let macs = arguments.macs.then(|| analysis.macs());
                let modules = match &macs {
                    Some(macs) => analysis.macs_by_module(macs),
                    None => analysis.calls_by_module(),
                };
                modules::check(path, &modules)?;
                match documents {
                    Some(documents) => {
                        let file = path.display().to_string();
                        documents.add(&FileOperators { file, operators: &operators, modules, macs })?
                    }
                    None => {
                        let (what, number): (_, fn(u64) -> String) = match arguments.macs {
                            true => (("multiply-accumulates", "MACS"), macs::grouped),
                            false => (("instructions, and nodes inside delegates", "CALLS"), |calls| calls.to_string()),
                        };
                        print::modules(
                            context,
                            path,
                            what,
                            &modules,
                            arguments.top,
                            std::mem::replace(&mut apart, true),
                            number,
                        )?
                    }
                }
            }
            _ if arguments.macs => macs::text(context, path, &analysis.macs(), std::mem::replace(&mut apart, true))?,
            _ => print::text(context, path, &operators, std::mem::replace(&mut apart, true))?,
        }
        if arguments.yaml {
            context.incomplete(path, "YAML", errors.len());
        }
        Failure::unless_sound(path, &errors)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    match together {
        _ if files.is_empty() => {}
        _ if arguments.yaml => arguments.output.write(context, yaml::text(&all, &files).into_bytes())?,
        true if arguments.form.any() => {
            let files = json::Named::all(files.iter().map(PathBuf::as_path));
            json::print(context, &MergedOperators { files, operators: &all }, &arguments.form)?
        }
        true => print::merged(context, files.len(), &all)?,
        false => {}
    }
    outcome
}
