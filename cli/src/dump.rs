//! `pte dump`: the tree as JSON.

use crate::context::Context;
use crate::existing::refuse_existing;
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::save::{make_output_folder, put, save_with};
use crate::{text, value};
use executorch_format::delegate::{Payload, Xnnpack};
use executorch_format::json::JsonDump;
use executorch_format::schema::{BundledProgram, ETDump, FlatTensor, Program};
use executorch_format::text::shortened;
use executorch_format::{Model, Pte};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Print the whole metadata as JSON, as flatc does
///
/// The names are the schema's. Each file is a separate document in flatc's form. With --json and --jsonl the trees are inside documents of
/// this command. With --blobs, `pte build` makes the file again from the JSON, also after it was edited.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte dump model.pte | jq '.execution_plan[].name'
  pte dump model.pte --blobs blobs -o tree.json   # `pte build tree.json --blobs blobs -o new.pte` makes a file from it
  pte dump --jsonl models/*.pte | jq -r '[.file, .tree.execution_plan[].name] | @tsv'")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    form: JsonArguments,
    /// Add `payloads`: the contents of each delegate's payload
    #[arg(long, conflicts_with = "blobs")]
    payloads: bool,
    /// Write segments and blobs into files in this folder, which the JSON names instead, so that `pte build` can make the file again
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["json", "jsonl"])]
    blobs: Option<PathBuf>,
    /// The file for the JSON [default: standard output]
    #[arg(short, long, value_name = "OUT.json", conflicts_with_all = ["json", "jsonl"])]
    output: Option<PathBuf>,
    /// Replace files in the folder of --blobs
    #[arg(long, requires = "blobs")]
    overwrite: bool,
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
    if let Some(folder) = &arguments.blobs {
        return with_data(context, arguments, arguments.files.single("--blobs")?, folder);
    }
    if arguments.output.is_some() {
        arguments.files.single("--output")?;
    }
    let mut documents = json::Files::start(context, &arguments.form).map(json::Files::uncut);
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(context, path)?;
        let print = |tree| match documents {
            Some(documents) => documents.add(&Dump { file: path.display().to_string(), tree, errors: [] }),
            None => print_tree(context, arguments, &tree),
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

/// Prints a tree, or writes it to the file of --output.
fn print_tree(context: &Context, arguments: &Arguments, tree: &impl Serialize) -> Result<(), Failure> {
    match &arguments.output {
        Some(output) => save_with(context, output, |out| {
            let mut out = BufWriter::new(out);
            json::Form::INDENTED.uncut().write_line(&mut out, tree)?;
            out.flush()
        }),
        None => json::print_tree(context, tree),
    }
}

/// Prints the tree of a file, and writes the rest of the file into a folder.
fn with_data(context: &Context, arguments: &Arguments, path: &Path, folder: &Path) -> Result<(), Failure> {
    let input = Input::open(context, path)?;
    let model = input.parse()?;
    let dump = JsonDump::new(&model).map_err(|error| Failure::bad(path, &error))?;
    context.volume.write(folder, dump.files().iter().map(|file| file.bytes.len() as u64).sum())?;
    make_output_folder(folder)?;
    let files: Vec<_> = dump.files().iter().map(|file| (folder.join(&file.name), file.bytes)).collect();
    for (path, bytes) in &files {
        refuse_existing(arguments.overwrite, path, &|out| out.write_all(bytes))?;
    }
    for (path, bytes) in &files {
        put(path, &|out| out.write_all(bytes))?;
    }
    print_tree(context, arguments, &dump)?;
    context.say(format_args!("{}: {}", text::path(folder), text::count(files.len(), "file")));
    Ok(())
}

fn no_tree(path: &Path) -> Failure {
    Failure::Bad { file: path.to_owned(), findings: vec!["a kind of file that has no tree".to_owned()] }
}

fn with_payloads<'t>(pte: &'t Pte<'_>) -> WithPayloads<'t> {
    let name = |(method, index): &(usize, usize)| (shortened(value::method(pte, *method)), *index);
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
