//! `pte size`: where the bytes of a file go.

mod print;
pub mod shared;

use crate::context::Context;
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::modules;
use crate::names::NamesArguments;
use crate::open::{Input, Unbundled};
use crate::remote::Need;
use crate::text;
use clap::ValueEnum;
use executorch_format::edit::{Saving, SavingEdit, SavingKind, Strip};
use executorch_format::inspect::{Growth, ModuleTotal, SizeReport};
use executorch_format::{Model, PtdOptions, PteOptions};
use serde::Serialize;
use std::path::Path;

/// Show where every byte of a file goes, and what can be removed
///
/// The largest part comes first. For two files: where the second is larger than the first. For a .bpte, only the program inside counts:
/// offsets count from its first byte, and test cases are left out.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte size model.pte
  pte size model.pte --by operator --top 5
  pte size model.pte --by module --names model.etrecord
  pte size old.pte new.pte
  pte size --shared base.pte french.pte german.pte
  pte size --json model.pte | jq '.files[0].parts | map(.size) | add'")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    form: JsonArguments,
    /// Group the bytes of a file by this [default: kind]
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Show the data that several files have in common, instead of the parts of each
    #[arg(long, conflicts_with_all = ["by", "names", "top"])]
    shared: bool,
    #[command(flatten)]
    names: NamesArguments,
    /// Maximum lines [default: all; on a terminal 20]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

impl Arguments {
    /// Returns `true` if the answer has names, which need a second look at the program.
    fn need_names(&self) -> bool {
        matches!(self.by, Some(By::Blob | By::Module)) || self.form.any() || self.names.are_given()
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum By {
    /// By purpose: headers, tables, constants, payloads, padding
    Kind,
    /// Each blob by itself
    Blob,
    /// The methods, with the data that they use
    Method,
    /// The weights by the type of their elements
    Type,
    /// The weights by the operators that use them, and payloads by backend
    Operator,
    /// The modules of the model, with their weights
    Module,
}

/// The sizes of the parts of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileSize<'t> {
    file: String,
    /// The start of the program in a bundle; all other fields are then about the program alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    program_offset: Option<u64>,
    #[serde(flatten)]
    size: &'t SizeReport<'t>,
    /// The bytes of the file by module, if modules are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ModuleTotal<'t>>,
    /// `None` if not all of the file was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    savings: Option<Vec<Offer>>,
}

/// Something that can be removed from a file, and the command that removes it.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Offer {
    kind: SavingKind,
    /// The number of bytes saved.
    size: u64,
    command: String,
}

/// Returns everything that is worth removing, with the bytes that this saves.
pub fn offers(path: &Path, model: &Model<'_>) -> Vec<Offer> {
    let file_size = model.source().map_or(0, |source| source.bytes.len() as u64);
    let savings = model.savings().into_iter().filter(|saving| saving.is_worth_it(file_size));
    let offer = |saving: Saving| Some(Offer { kind: saving.kind, size: saving.size, command: command(&saving, path)? });
    savings.filter_map(offer).collect()
}

/// Returns the whole command, for a shell.
fn command(saving: &Saving, path: &Path) -> Option<String> {
    let ending = path.extension().and_then(|ending| ending.to_str()).filter(|ending| *ending == "ptd").unwrap_or("pte");
    let (input, output) = (quoted(&path.to_string_lossy()), format!("smaller.{ending}"));
    let (command, flags) = saving_command(saving)?;
    let words = match command {
        "rewrite" => ["pte", command, &flags, &input, "", &output],
        _ => ["pte", command, &input, &flags, "-o", &output],
    };
    Some(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
}

/// Returns the subcommand of `pte` that makes the edit of a possible saving, and its flags; `None` if there is none.
pub fn saving_command(saving: &Saving) -> Option<(&'static str, String)> {
    let default = PteOptions::default();
    let flag = |name: &str, is_given: bool| is_given.then(|| name.to_owned());
    let number = |name: &str, number: u32, default: u32| (number != default).then(|| format!("{name} {number}"));
    let trailing = flag("--drop-trailing", saving.kind == SavingKind::Trailing);
    let segments = |alignment: u32| number("--segment-alignment", alignment, default.segment_alignment);
    let (command, flags) = match saving.edit {
        SavingEdit::Dedup => ("dedup", vec![]),
        SavingEdit::Strip(Strip { stack_traces, names, unreferenced, padding, .. }) => {
            let flags = [
                flag("--stack-traces", stack_traces),
                flag("--names", names),
                flag("--unreferenced", unreferenced),
                flag("--padding", padding),
            ];
            ("strip", flags.into())
        }
        SavingEdit::LayOutPte(PteOptions { segment_alignment, constant_alignment, header_length, .. }) => {
            let constants = constant_alignment.map(|alignment| format!("--constant-alignment {alignment}"));
            let header = number("--header-length", header_length, default.header_length);
            ("rewrite", vec![trailing, segments(segment_alignment), constants, header])
        }
        SavingEdit::LayOutPtd(PtdOptions { segment_alignment, .. }) => {
            ("rewrite", vec![trailing, segments(segment_alignment)])
        }
        _ => return None,
    };
    Some((command, flags.into_iter().flatten().collect::<Vec<_>>().join(" ")))
}

/// Quotes a path as one word of a shell; on Windows, of cmd and PowerShell, where paths cannot have quotation marks.
fn quoted(path: &str) -> String {
    let others = if cfg!(windows) { r"._/:\+=-" } else { "._/:@%+=,-" };
    let plain = |c: char| c.is_alphanumeric() || others.contains(c);
    let path = if path.starts_with('-') && path != text::STANDARD { format!("./{path}") } else { path.to_owned() };
    if path.chars().all(plain) {
        path
    } else if cfg!(windows) {
        format!("\"{path}\"")
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// The sizes of two files: the first is before, the second after.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TwoSizes<'t> {
    files: [FileSize<'t>; 2],
    growth: &'t [Growth<'t>],
}

/// Prints the sizes of each file, or compares two.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.shared {
        return shared::run(context, &arguments.files, &arguments.form);
    }
    if let ([before, after], false) = (&arguments.files.files[..], arguments.files.recursive) {
        if arguments.by.is_some() {
            let fault = "--by groups the bytes of one file: two files are compared part by part";
            return Err(Failure::Usage(fault.to_owned()));
        }
        return compare(context, before, after, arguments);
    }
    let mut documents = json::Files::start(context, &arguments.form);
    let mut apart = false;
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open_for(context, path, Need::Graphs)?;
        let file = input.unbundled()?;
        // Found before the names, because both take memory for each instruction while they are found.
        let savings = savings(path, &input, &file);
        let print = |size: &SizeReport<'_>, modules: Vec<ModuleTotal<'_>>| {
            let size = FileSize { modules, ..FileSize::new(path, &file, size, savings) };
            match documents {
                Some(documents) => documents.add(&size)?,
                None => print::one(context, path, &size, arguments, std::mem::replace(&mut apart, true))?,
            }
            Failure::unless_sound(path, &size.size.errors)
        };
        match &file.model {
            Model::Pte(pte) if arguments.need_names() => arguments.names.with(context, path, pte, |analysis| {
                let size = analysis.size_report().map_err(|error| Failure::bad(path, &error))?;
                print(&size, modules::known(analysis.size_by_module(&size)))
            }),
            _ => print(&size(path, &file)?, Vec::new()),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

fn compare(context: &Context, before: &Path, after: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let inputs = [Input::open_for(context, before, Need::Graphs)?, Input::open_for(context, after, Need::Graphs)?];
    let files = [inputs[0].unbundled()?, inputs[1].unbundled()?];
    let reports = [size(before, &files[0])?, size(after, &files[1])?];
    let growth = reports[0].growth(&reports[1]);
    let sizes = [
        FileSize::new(before, &files[0], &reports[0], savings(before, &inputs[0], &files[0])),
        FileSize::new(after, &files[1], &reports[1], savings(after, &inputs[1], &files[1])),
    ];
    if arguments.form.any() {
        json::print(context, &TwoSizes { files: sizes, growth: &growth }, &arguments.form)?;
    } else {
        print::two(context, [before, after], &sizes, &growth, arguments)?;
    }
    Failure::unless_sound(before, &reports[0].errors)?;
    Failure::unless_sound(after, &reports[1].errors)
}

impl<'t> FileSize<'t> {
    fn new(path: &Path, file: &Unbundled<'_>, size: &'t SizeReport<'t>, savings: Option<Vec<Offer>>) -> Self {
        let (file, program_offset) = (path.display().to_string(), file.program_offset);
        Self { file, program_offset, size, modules: Vec::new(), savings }
    }
}

/// Returns what can be removed; `None` if the file was not read whole.
fn savings(path: &Path, input: &Input, file: &Unbundled<'_>) -> Option<Vec<Offer>> {
    // The commands that make a program smaller do not work on a program in a bundle.
    let offers = || if file.program_offset.is_none() { offers(path, &file.model) } else { Vec::new() };
    input.is_whole().then(offers)
}

fn size<'t>(path: &Path, file: &'t Unbundled<'_>) -> Result<SizeReport<'t>, Failure> {
    file.model.size_report().map_err(|error| Failure::bad(path, &error))
}
