//! `pte info`: a summary of a file.

mod companions;
mod print;
mod table;

pub use companions::test_value;

use crate::context::Context;
use crate::contract;
use crate::data::{DataArguments, serving, with_data};
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::names::{NameFiles, NamesArguments};
use crate::open::Input;
use crate::remote::Need;
use executorch_format::inspect::{MacsSummary, Summary};
use executorch_format::schema::program::ExecutionPlan;
use executorch_format::verify::{MissingData, Releases, Target, Verdict};
use executorch_format::{Analysis, Model, ParseOptions, Ptd};
use serde::Serialize;
use std::path::Path;

/// Summarize each file: methods, shapes, operators, delegates, memory, weights, metadata
///
/// The .pte files take external data from the .ptd files that are named with them, or, with --recursive, from those in the same folder.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte info model.pte
  pte info --json model.pte | jq '.files[0].methods[].name'
  pte info model.pte weights.ptd
  pte info --recursive --table models/
  pte info --contract model.pte > model-card.md
  pte info s3://bucket/model.pte
  pte info --recursive --jsonl models/ | jq -r '[.file, .file_size] | @tsv'
  curl -s https://example.com/model.pte | pte info -")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    data: DataArguments,
    /// Print a table: one line for each file
    #[arg(long, group = "form")]
    table: bool,
    /// Print the contract with callers and runtimes, as Markdown for a model card or with --json: inputs and outputs with types, sizes and
    /// names, metadata, backends, operators' libraries, releases, memory and hash
    #[arg(long, conflicts_with = "table")]
    contract: bool,
    #[command(flatten)]
    names: NamesArguments,
    #[command(flatten)]
    form: JsonArguments,
}

/// The summary of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Info<'t> {
    file: String,
    /// In bytes.
    file_size: u64,
    #[serde(flatten)]
    summary: &'t Summary<'t>,
    /// The verdict of the newest release, with everything in its own libraries.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// The releases that load the file, and the behaviour of each, with the file's `.ptd` files.
    #[serde(flatten)]
    releases: Releases,
    /// The keys that the program looks up in `.ptd` files.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_data: Option<MissingData>,
    /// The program inside a bundle; `None` for any other file, and for a program that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'t Summary<'t>>,
    /// The multiply-accumulates and parameters of each method that runs something, by operator; of a bundle, of the program inside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    macs: Vec<MacsSummary<'t>>,
    /// The mutable buffers without initial values. `pte memory --json` lists them too.
    #[serde(skip)]
    mutable: Vec<MutableBuffers>,
    /// `true` if the end of the file is missing. The summary then covers its first part.
    #[serde(skip)]
    is_cut: bool,
}

/// Tensors of a method that keep their content between runs and have no initial values in the file.
struct MutableBuffers {
    method: String,
    /// Indices of values.
    values: Vec<usize>,
    bytes: u64,
}

impl MutableBuffers {
    /// Returns those of each method that has any.
    fn of(analysis: &Analysis<'_>) -> Vec<Self> {
        let of_method = |(plan, kept): (&ExecutionPlan<'_>, Vec<usize>)| {
            let mut found = Self { method: plan.name().to_owned(), values: Vec::new(), bytes: 0 };
            for value in kept {
                let Some(tensor) = plan.tensor(value) else { continue };
                // The index means nothing for a tensor whose values are in a `.ptd` file.
                if tensor.data_buffer_idx == 0 && !tensor.is_external() {
                    found.values.push(value);
                    found.bytes += tensor.byte_size().unwrap_or_default();
                }
            }
            (!found.values.is_empty()).then_some(found)
        };
        analysis.pte().methods().iter().zip(analysis.kept_values()).filter_map(of_method).collect()
    }
}

/// Returns the summary of a file as `pte info --json` prints it.
pub fn document(
    context: &Context,
    path: &Path,
    names: &NamesArguments,
    data: &[&Ptd<'_>],
) -> Result<serde_json::Value, Failure> {
    let input = Input::open_for(context, path, Need::Graphs)?;
    let model = input.parse()?;
    let names = names.open(context, path)?;
    with_info(path, input.bytes().len() as u64, &model, &names, data, Shown::Json, |info| {
        serde_json::to_value(info).map_err(|error| Failure::usage_of(path, &error))
    })
}

/// The form in which a summary is shown.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Text { is_cut: bool },
    Table,
    Json,
}

/// Collects the summary of a file, and calls a function with it. Fails if references in the file are out of range.
fn with_info<R>(
    path: &Path,
    file_size: u64,
    model: &Model<'_>,
    names: &NameFiles<'_>,
    data: &[&Ptd<'_>],
    shown: Shown,
    call: impl FnOnce(&Info<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let program = match model {
        Model::Bpte(bpte) => Some(bpte.program()),
        _ => None,
    };
    let sources = names.sources()?;
    let analysis = match (model, &program) {
        (Model::Pte(pte), _) | (_, Some(Ok(pte))) if sources.is_empty() => Some(Analysis::new(pte)),
        (Model::Pte(pte), _) | (_, Some(Ok(pte))) => Some(names.analysis(pte, &sources)?),
        _ => None,
    };
    let analysis = analysis.map(|analysis| with_data(analysis, data));
    let of_program = analysis.as_ref().map(Analysis::summary);
    let (summary, inside) = match model {
        Model::Pte(_) => (of_program.unwrap_or_else(|| model.summary()), None),
        _ => (model.summary(), of_program),
    };
    let releases = match &analysis {
        Some(analysis) => analysis.releases(&Target::default()),
        None => model.releases(&Target::default(), None),
    };
    let is_text = matches!(shown, Shown::Text { .. });
    let macs = analysis.as_ref().filter(|_| shown != Shown::Table);
    let info = Info {
        file: path.display().to_string(),
        file_size,
        summary: &summary,
        verdict: releases.newest().cloned(),
        releases,
        external_data: match model {
            Model::Pte(pte) => pte.missing_data(data),
            _ => None,
        },
        program: inside.as_ref(),
        macs: macs.map_or_else(Vec::new, |analysis| analysis.macs().summary()),
        mutable: analysis.as_ref().filter(|_| is_text).map_or_else(Vec::new, MutableBuffers::of),
        is_cut: matches!(shown, Shown::Text { is_cut: true }),
    };
    let done = call(&info)?;
    if let Some(Err(error)) = &program {
        return Err(Failure::bad(path, error));
    }
    Failure::unless_sound(path, inside.as_ref().map_or(&summary.errors, |inside| &inside.errors))?;
    Ok(done)
}

/// Prints a summary of each file. Fails at the end if references in a file are out of range. Continues after a file that fails.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.contract {
        let data = arguments.data.open(context, &arguments.files)?;
        return contract::info(context, &arguments.files, &data.parse(), &arguments.names, &arguments.form);
    }
    let mut documents = json::Files::start(context, &arguments.form);
    let (mut apart, mut rows) = (false, table::Rows::default());
    let opened = arguments.data.open(context, &arguments.files)?;
    let data = opened.parse();
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open_for(context, path, Need::Graphs)?;
        // The metadata of a truncated file may be complete.
        let (model, cut) = match input.parse() {
            Ok(model) => (model, None),
            Err(failure) => match Model::parse_with(input.bytes(), &ParseOptions::METADATA) {
                Ok(model) if documents.is_none() => (model, Some(failure)),
                _ => return Err(failure),
            },
        };
        let names = arguments.names.open(context, path)?;
        let shown = match documents {
            Some(_) => Shown::Json,
            None if arguments.table => Shown::Table,
            None => Shown::Text { is_cut: cut.is_some() },
        };
        let file_size = input.bytes().len() as u64;
        with_info(path, file_size, &model, &names, &serving(&data, path), shown, |info| {
            match documents {
                Some(documents) => documents.add(info)?,
                None if arguments.table => rows.add(context, path, info),
                None => print::text(context, path, info, std::mem::replace(&mut apart, true))?,
            }
            cut.map_or(Ok(()), Err)
        })
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    if arguments.table {
        rows.print(context)?;
    }
    outcome
}
