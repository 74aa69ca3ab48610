//! `pte ops`: the operators and backends that models need.

mod print;
mod yaml;

use crate::convert::refused;
use crate::data::{DataFiles, of_program, serving};
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json;
use crate::open::Input;
use crate::target;
use executorch_format::Pte;
use executorch_format::inspect::Operators;
use executorch_format::validate::TargetCheck;
use serde::Serialize;
use std::path::PathBuf;

/// The operators that a model calls, with the types and dim orders of their tensors, and its backends
#[derive(clap::Args)]
#[command(
    after_help = "TARGET is what `pte check --target` takes: TOML, or YAML as ExecuTorch's selective build reads it (operators, \
et_kernel_metadata, include_all_operators), with two more keys if you like: scalar_types and backends, lists of names.
Exit code 1: a target lacks something.

Examples:
  pte ops model.pte
  pte ops --yaml --merge a.pte b.pte > selected_operators.yaml
  pte ops --check firmware.yaml model.pte"
)]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// Take all files as one: what a runtime for all of them needs
    #[arg(long)]
    merge: bool,
    /// Print JSON: one document, with all files in it
    #[arg(long, group = "form")]
    json: bool,
    /// Print YAML that ExecuTorch's selective build reads, for all files together
    #[arg(long, group = "form")]
    yaml: bool,
    /// List what a target lacks of what each file needs
    #[arg(long, group = "form", value_name = "TARGET")]
    check: Option<PathBuf>,
}

/// What a file needs.
#[derive(Serialize)]
struct FileOperators<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The files, where they are taken as one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    #[serde(flatten)]
    operators: &'t Operators,
}

/// What is asked about a program.
enum Found {
    Check(TargetCheck),
    Operators(Operators),
}

/// Prints what each file needs, or all together.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let together = arguments.merge || arguments.yaml;
    let target = arguments.check.as_deref().map(target::read).transpose()?;
    let mut documents = (arguments.json && !together).then(|| json::Files::new(false));
    let (mut all, mut files) = (Operators::default(), Vec::new());
    let (mut apart, mut lacking, mut programs, mut other) = (false, false, 0, None);
    let opened = DataFiles::open(&arguments.files.expand());
    let data = opened.parse();
    let outcome = each(&arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(path)?;
        let ptds = serving(&data, path);
        let model = input.parse()?;
        let found = of_program(path, &model, &arguments.files, |pte: &Pte<'_>| match &target {
            Some(target) => Found::Check(pte.check_target_with(target, Some(&ptds))),
            None => Found::Operators(pte.operators()),
        })?;
        programs += usize::from(found.is_some());
        let operators = match found {
            None => {
                other.get_or_insert_with(|| (path.to_owned(), model.kind()));
                return Ok(());
            }
            Some(Found::Check(check)) => {
                lacking |= !check.lacks.is_empty();
                return target::print(path, &check);
            }
            Some(Found::Operators(operators)) => operators,
        };
        let faults = operators.faults.clone();
        if arguments.yaml {
            operators.check_names().map_err(|error| refused(path, &error))?;
        }
        match documents {
            _ if together => {
                files.push(path.display().to_string());
                all.merge(operators);
            }
            Some(documents) => {
                let file = Some(path.display().to_string());
                documents.add(&FileOperators { file, files: Vec::new(), operators: &operators })?;
            }
            None => print::text(path, &operators, std::mem::replace(&mut apart, true))?,
        }
        Failure::unless_sound(path, &faults)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    if let (Some((path, kind)), 0, Ok(())) = (&other, programs, &outcome) {
        return Err(Failure::no_program(path, *kind));
    }
    if lacking {
        return outcome.and(Err(Failure::Reported(1)));
    }
    match together {
        _ if arguments.yaml => yaml::print(&all, &files)?,
        true if arguments.json => json::print(&FileOperators { file: None, files, operators: &all })?,
        true => print::merged(&files, &all)?,
        false => {}
    }
    outcome
}
