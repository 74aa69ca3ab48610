//! `pte disasm`: every instruction of a program, readable.

mod oneline;
mod print;

use crate::context::Context;
use crate::data::each_program;
use crate::edit::pattern::{self, Patterns};
use crate::failure::Failure;
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::names::NamesArguments;
use crate::remote::Need;
use crate::text;
use executorch_format::inspect::Disassembly;
use glob::Pattern;
use serde::Serialize;
use std::ops::RangeInclusive;
use std::path::Path;

/// Show every instruction: the operator or backend, its arguments by name, and where their values live
#[derive(clap::Args)]
#[command(
    after_help = "%12 is value 12 of the method, #12 value 12 inside a delegate. A * marks a value that a kernel or a delegate writes, a ! one that it changes in place;
`is %7` says that a value shares the bytes of value 7.

Examples:
  pte disasm model.pte | less
  pte disasm model.pte --oneline | grep aten::mm
  pte disasm model.pte --operator 'aten::*mm*' --range 100..200
  pte disasm model.pte --method forward > forward.txt
  pte disasm model.pte --names model.etrecord
  diff <(pte disasm --oneline old.pte | cut -c9-) <(pte disasm --oneline new.pte | cut -c9-)"
)]
#[command(mut_arg("files", |argument| argument.help(files::PROGRAMS)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// Only this method
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Print each instruction on one line, with its number in 8 columns and without where values live: for grep and diff
    #[arg(long, group = "form")]
    oneline: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    names: NamesArguments,
    #[command(flatten)]
    form: JsonArguments,
}

/// The choice of instructions to print.
#[derive(clap::Args)]
pub struct Filter {
    /// Only calls of operators, backends and nodes whose name matches, such as 'aten::mm*'
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse, conflicts_with_all = ["json", "jsonl"])]
    operator: Vec<Pattern>,
    /// Only these instructions: 12, or 10..20 with both ends
    #[arg(long, value_name = "RANGE", value_parser = range, conflicts_with_all = ["json", "jsonl"])]
    range: Option<RangeInclusive<usize>>,
}

impl Filter {
    /// Returns `true` if the filter leaves anything out.
    fn is_given(&self) -> bool {
        self.range.is_some() || !self.operator.is_empty()
    }

    /// Fails if nothing would be printed.
    fn check(&self, path: &Path, disassembly: &Disassembly<'_>) -> Result<(), Failure> {
        let lengths =
            || disassembly.methods.iter().flat_map(|method| &method.chains).map(|chain| chain.instructions.len());
        if !self.is_given() || print::any(disassembly, self) {
            return Ok(());
        }
        let most = lengths().max().unwrap_or(0);
        let found = format!("the longest method has {}, from number 0", text::count(most, "instruction"));
        let wanted =
            self.range.as_ref().map_or(String::new(), |range| format!(" in {}..{}", range.start(), range.end()));
        let matching = if self.operator.is_empty() { "" } else { " that matches --operator" };
        Err(Failure::Usage(format!("{}: no instruction{matching}{wanted}: {found}", text::path(path))))
    }

    /// Returns `true` if an instruction that runs something with that name is printed.
    fn takes(&self, index: usize, name: impl FnOnce() -> String) -> bool {
        let in_range = self.range.as_ref().is_none_or(|range| range.contains(&index));
        in_range && (self.operator.is_empty() || Patterns(&self.operator).any(&name()))
    }
}

fn range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str| text.parse().map_err(|_| "expected a number, or two as in 10..20".to_owned());
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    Ok(number(first)?..=number(last)?)
}

/// The instructions of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileDisassembly<'t> {
    file: String,
    #[serde(flatten)]
    disassembly: &'t Disassembly<'t>,
}

/// Prints the instructions of each file.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, &arguments.form);
    let mut apart = false;
    let outcome = each_program(context, &arguments.files, Need::All, documents.as_mut(), |path, pte, documents| {
        let files = arguments.names.open(context, path)?;
        let sources = files.sources()?;
        let mut disassembly = files.analysis(pte, &sources)?.into_disassembly();
        if !arguments.filter.operator.is_empty() {
            let names = print::names(&disassembly);
            Patterns(&arguments.filter.operator).check(path, "operator like", names.iter().map(String::as_str))?;
        }
        if let Some(name) = &arguments.method {
            disassembly.methods.retain(|method| method.name == name);
            if disassembly.methods.is_empty() {
                return Err(Failure::no_method(path, name, pte));
            }
        }
        arguments.filter.check(path, &disassembly)?;
        match documents {
            Some(documents) => {
                documents.add(&FileDisassembly { file: path.display().to_string(), disassembly: &disassembly })?
            }
            None => {
                if !print::any(&disassembly, &arguments.filter) {
                    context.say(format_args!("{}: no instructions", text::path(path)));
                }
                let path = arguments.files.are_several().then_some(path);
                print::text(context, path, (pte, &disassembly), arguments, std::mem::replace(&mut apart, true))?
            }
        }
        Failure::unless_sound(path, &disassembly.errors)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}
