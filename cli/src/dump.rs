//! `pte dump`: the tree as JSON.

use crate::context::Context;
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use executorch_format::delegate::{Payload, Xnnpack};
use executorch_format::schema::{BundledProgram, ETDump, FlatTensor, Program};
use executorch_format::text::shortened;
use executorch_format::{Model, Pte};
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;

/// Print the whole metadata as JSON, as flatc does
///
/// The names are the schema's. Each file is a separate document in flatc's form. With --json and --jsonl the trees are inside documents of
/// this command.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte dump model.pte | jq '.execution_plan[].name'
  pte dump --jsonl models/*.pte | jq -r '[.file, .tree.execution_plan[].name] | @tsv'")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    form: JsonArguments,
    /// Add `payloads`: the contents of each delegate's payload
    #[arg(long)]
    payloads: bool,
}

/// The tree of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Dump<'m, 'a> {
    file: String,
    tree: Tree<'m, 'a>,
    errors: json::None,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Tree<'m, 'a> {
    Pte(&'m Program<'a>),
    PteWithPayloads(WithPayloads<'m>),
    Ptd(&'m FlatTensor<'a>),
    Xnnpack(&'m Xnnpack<'a>),
    Bpte(&'m BundledProgram<'a>),
    Etdp(&'m ETDump<'a>),
}

/// A program with its payloads.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct WithPayloads<'t> {
    #[serde(flatten)]
    program: &'t Program<'t>,
    payloads: Vec<PayloadEntry<'t>>,
}

/// A payload, listed once for all delegates that share it.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct PayloadEntry<'t> {
    /// The method and the index of each delegate.
    delegates: Vec<(Cow<'t, str>, usize)>,
    /// Bytes from the start of the file.
    offset: Option<u64>,
    /// In bytes.
    size: u64,
    /// `null` if the payload cannot be parsed.
    payload: Option<Payload<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Prints the tree of each file. Continues after a file that fails.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, &arguments.form).map(json::Files::uncut);
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(context, path)?;
        let print = |tree| match documents {
            Some(documents) => documents.add(&Dump { file: path.display().to_string(), tree, errors: [] }),
            None => json::print_tree(context, &tree),
        };
        match &input.parse()? {
            Model::Pte(pte) if arguments.payloads => print(Tree::PteWithPayloads(with_payloads(pte))),
            Model::Pte(pte) => print(Tree::Pte(&pte.program)),
            Model::Ptd(ptd) => print(Tree::Ptd(&ptd.flat_tensor)),
            Model::Bpte(bpte) => print(Tree::Bpte(&bpte.bundled_program)),
            Model::Etdp(etdp) => print(Tree::Etdp(&etdp.etdump)),
            Model::Xnnpack(payload) => print(Tree::Xnnpack(payload)),
            _ => Err(no_tree(path)),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

fn no_tree(path: &Path) -> Failure {
    Failure::Bad { file: path.to_owned(), findings: vec!["a kind of file that has no tree".to_owned()] }
}

fn with_payloads<'t>(pte: &'t Pte<'_>) -> WithPayloads<'t> {
    let name = |(method, index): &(usize, usize)| {
        (shortened(pte.methods().get(*method).map_or("", |plan| plan.name())), *index)
    };
    let payloads = pte.open_payloads().into_iter().map(|opened| {
        let (payload, error) = match opened.payload {
            Ok(payload) => (Some(payload), None),
            Err(error) => (None, Some(error.to_string())),
        };
        PayloadEntry {
            delegates: opened.delegates.iter().map(name).collect(),
            offset: pte.range(&opened.data).map(|range| range.start),
            size: opened.data.size(),
            payload,
            error,
        }
    });
    WithPayloads { program: &pte.program, payloads: payloads.collect() }
}
