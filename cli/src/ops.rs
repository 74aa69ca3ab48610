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
use std::path::{Path, PathBuf};

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
    if arguments.merge || arguments.yaml { together(context, arguments) } else { each(context, arguments) }
}

/// Prints the needs of all files together: as YAML, JSON or text.
fn together(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let (mut all, mut files) = (Operators::default(), Vec::new());
    let outcome = each_program(context, &arguments.files, Need::Graphs, None, |path, pte, _| {
        let operators = Analysis::new(pte).operators();
        let errors = operators.errors.clone();
        if arguments.yaml {
            operators.check_names().map_err(|error| refused(path, &error))?;
            context.incomplete(path, "YAML", errors.len());
        }
        files.push(path.to_owned());
        all.merge(operators);
        Failure::unless_sound(path, &errors)
    })?;
    if files.is_empty() {
        return outcome;
    }
    if arguments.yaml {
        arguments.output.write(context, yaml::text(&all, &files).into_bytes())?;
    } else if arguments.form.any() {
        let files = json::Named::all(files.iter().map(PathBuf::as_path));
        json::print(context, &MergedOperators { files, operators: &all }, &arguments.form)?;
    } else {
        print::merged(context, files.len(), &all)?;
    }
    outcome
}

/// Prints an answer about each file.
fn each(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, &arguments.form);
    let mut apart = false;
    let outcome = each_program(context, &arguments.files, Need::Graphs, documents.as_mut(), |path, pte, documents| {
        let uses_names = arguments.macs || arguments.by.is_some();
        let names = uses_names.then(|| arguments.names.open(context, path)).transpose()?;
        let sources = names.as_ref().map(NameFiles::sources).transpose()?.unwrap_or_default();
        let analysis = match &names {
            Some(names) => names.analysis(pte, &sources)?,
            None => Analysis::new(pte),
        };
        let operators = analysis.operators();
        match arguments.delegated {
            true => delegated::file(context, arguments, path, &analysis, &operators.errors, documents, &mut apart)?,
            false => needs(context, arguments, path, &analysis, &operators, documents, &mut apart)?,
        }
        Failure::unless_sound(path, &operators.errors)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

/// Prints the needs of a file, with multiply-accumulates and modules if requested; as text, one of the three, after an empty line if `apart`.
fn needs(
    context: &Context,
    arguments: &Arguments,
    path: &Path,
    analysis: &Analysis<'_>,
    operators: &Operators,
    documents: Option<&mut json::Files>,
    apart: &mut bool,
) -> Result<(), Failure> {
    let macs = arguments.macs.then(|| analysis.macs());
    let modules = match (arguments.by, &macs) {
        (None, _) => Vec::new(),
        (Some(By::Module), Some(macs)) => analysis.macs_by_module(macs),
        (Some(By::Module), None) => analysis.calls_by_module(),
    };
    if arguments.by.is_some() {
        modules::check(path, &modules)?;
    }
    if let Some(documents) = documents {
        return documents.add(&FileOperators { file: path.display().to_string(), operators, modules, macs });
    }
    let apart = std::mem::replace(apart, true);
    let print = |amount, number| print::modules(context, path, amount, &modules, arguments.top, apart, number);
    match (arguments.by, &macs) {
        (Some(By::Module), Some(_)) => print(("multiply-accumulates", "MACS"), macs::grouped),
        (Some(By::Module), None) => {
            print(("instructions, and nodes inside delegates", "CALLS"), |calls| calls.to_string())
        }
        (None, Some(macs)) => macs::text(context, path, macs, apart),
        (None, None) => print::text(context, path, operators, apart),
    }
}
