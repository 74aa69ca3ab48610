//! `pte info --contract` and `pte diff --contract`: what callers of a program give and get, and what it needs.

use crate::context::Context;
use crate::data::{Data, each_program, serving, with_data};
use crate::failure::Failure;
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::names::{NameFiles, NamesArguments};
use crate::open::Input;
use crate::remote::Need;
use crate::text;
use executorch_format::verify::{Contract, ContractChange};
use executorch_format::{Model, Pte};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The contract of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileContract<'t> {
    file: String,
    #[serde(flatten)]
    contract: Contract<'t>,
    errors: json::None,
}

/// The changes between two contracts that break a caller.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ContractBreaks {
    files: [json::Named; 2],
    /// `true` if the second program can take the place of the first.
    ok: bool,
    breaks: Vec<ContractChange>,
}

/// Prints the contract of each program, as Markdown or JSON.
pub fn info(
    context: &Context,
    files: &FileArguments,
    data: &[Data<'_>],
    names: &NamesArguments,
    form: &JsonArguments,
) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, form);
    let mut apart = false;
    let outcome = each_program(context, files, Need::All, documents.as_mut(), |path, pte, documents| {
        let name_files = names.open(context, path)?;
        let sources = name_files.sources()?;
        let given = serving(data, path);
        let contract = with_data(name_files.analysis(pte, &sources)?, &given).contract();
        match documents {
            Some(documents) => documents.add(&FileContract { file: path.display().to_string(), contract, errors: [] }),
            None => {
                let mut out = context.plain_out();
                if std::mem::replace(&mut apart, true) {
                    writeln!(out)?;
                }
                write!(out, "{}", contract.markdown())?;
                Ok(out.flush()?)
            }
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

/// Prints what breaks callers of the first program if the second takes its place. The exit code is 1 if anything does.
pub fn compare(
    context: &Context,
    files: [&Path; 2],
    names: [&[PathBuf]; 2],
    form: &JsonArguments,
) -> Result<(), Failure> {
    let [before, after] = files;
    let inputs = [Input::open(context, before)?, Input::open(context, after)?];
    let models = [inputs[0].parse()?, inputs[1].parse()?];
    let programs = [program(&models[0], before)?, program(&models[1], after)?];
    let name_files = [NameFiles::of(context, before, names[0])?, NameFiles::of(context, after, names[1])?];
    let sources = [name_files[0].sources()?, name_files[1].sources()?];
    let before_contract = name_files[0].analysis(programs[0], &sources[0])?.contract();
    let after_contract = name_files[1].analysis(programs[1], &sources[1])?.contract();
    let breaks = before_contract.breaks(&after_contract);
    let code = u8::from(!breaks.is_empty());
    if form.any() {
        let files = files.map(json::Named::new);
        json::print(context, &ContractBreaks { files, ok: breaks.is_empty(), breaks }, form)?;
    } else if !context.quiet {
        let mut out = context.plain_out();
        let after = text::path(after);
        match breaks.len() {
            0 => writeln!(out, "{after} can take the place of {}", text::path(before))?,
            many => writeln!(out, "{after} breaks callers of {}: {}", text::path(before), text::count(many, "change"))?,
        }
        for change in &breaks {
            writeln!(out, "  {}", text::message(&change.to_string()))?;
        }
        out.flush()?;
    }
    if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
}

/// Returns the program of a file.
fn program<'m>(model: &'m Model<'m>, path: &Path) -> Result<&'m Pte<'m>, Failure> {
    match model {
        Model::Pte(pte) => Ok(pte),
        other => Err(Failure::no_program(path, other.kind())),
    }
}
