//! `pte`: inspects, verifies and rewrites ExecuTorch model files. The binary and Python's package call [`run`].

#![deny(unsafe_code)]

#[cfg(feature = "remote")]
mod catalog;
#[cfg(not(feature = "remote"))]
#[path = "catalog/missing.rs"]
mod catalog;
mod completions;
mod convert;
mod data;
mod debug;
mod diff;
mod disasm;
mod dump;
mod edit;
mod failure;
mod files;
mod fit;
mod graph;
mod help;
mod info;
mod json;
mod list;
mod manual;
mod memory;
mod modules;
mod names;
mod near;
mod open;
mod ops;
mod parallel;
mod policy;
mod profile;
mod progress;
mod remote;
mod report;
mod rewrite;
mod save;
#[cfg(feature = "schemars")]
mod schemas;
mod size;
mod status;
mod table;
mod target;
mod text;
mod to_c;
mod value;
mod verify;

pub use crate::report::page;
#[cfg(feature = "schemars")]
pub use crate::schemas::{Document, schemas};

use crate::failure::Failure;
use crate::save::Pending;
use clap::{FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

/// Inspects, verifies and rewrites ExecuTorch model files: .pte (programs) and .ptd (named tensors and blobs)
#[derive(Parser)]
#[command(name = "pte", version, arg_required_else_help = true)]
#[command(
    after_help = "`pte FILE` is short for `pte info FILE`. The file name - is standard input, or standard output for a file to write.
`pte completions` and `pte man` print completions for a shell and manual pages.

Exit codes: 0 success, 1 a file is invalid, 2 wrong usage, a name that matches nothing, or a file that cannot be read or written; for several files, the highest."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Do not shorten names and lists; list every change
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print only errors and requested output
    #[arg(short, long, global = true)]
    quiet: bool,
    #[cfg(feature = "remote")]
    #[command(flatten)]
    stores: remote::StoreArguments,
}

/// The commands, in the order of their groups in [`help`].
#[derive(Subcommand)]
enum Command {
    #[command(aliases = ["inspect", "show"])]
    Info(info::Arguments),
    List(list::Arguments),
    Size(size::Arguments),
    Memory(memory::Arguments),
    Ops(ops::Arguments),
    Disasm(disasm::Arguments),
    Graph(graph::Arguments),
    Report(report::Arguments),
    Diff(diff::Arguments),
    Profile(profile::Arguments),
    Debug(debug::Arguments),
    Dump(dump::Arguments),
    Bundle(edit::bundle::Arguments),
    Catalog(catalog::Arguments),
    #[command(alias = "validate")]
    Verify(verify::Arguments),
    #[command(alias = "check")]
    Fit(fit::Arguments),
    Replace(edit::replace::Arguments),
    Externalize(edit::externalize::Arguments),
    Internalize(edit::internalize::Arguments),
    Strip(edit::strip::Arguments),
    Dedup(edit::dedup::Arguments),
    Select(edit::select::Arguments),
    Metadata(edit::metadata::Arguments),
    Extract(edit::extract::Arguments),
    Ptd(edit::ptd::Arguments),
    Rewrite(rewrite::Arguments),
    Convert(convert::Arguments),
    ToC(to_c::Arguments),
    Completions(completions::CompletionArguments),
    Man(manual::ManArguments),
}

/// Runs the command with the arguments of a process, the first of which is the program's name, and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    text::show_whole(!io::stdout().is_terminal());
    let command = help::command();
    let arguments = with_command(&command, arguments.into_iter().collect());
    let matches = command.try_get_matches_from(arguments);
    let parsed = matches.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    let (arguments, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(mut error) => {
            help::suggest(&mut error);
            // If this cannot be printed, there is no other place to report it.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    text::show_whole(arguments.verbose || !io::stdout().is_terminal());
    status::set(arguments.quiet, arguments.verbose);
    #[cfg(feature = "remote")]
    remote::set(arguments.stores);
    let outcome = save::finish(|| prepare(&arguments.command));
    let Err(failure) = outcome else { return 0 };
    if json::is_asked(&matches) {
        // If standard output is closed too, the failure on stderr is enough.
        let _ = json::print_failure(&failure);
    }
    failure.report()
}

/// Inserts the command `info` into the arguments of a process if the first one that is not an option is a file instead of a command.
fn with_command(command: &clap::Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_option = |argument: &OsString| argument.as_encoded_bytes().starts_with(b"-") && argument != text::STANDARD;
    let Some(first) = arguments.iter().skip(1).find(|argument| !is_option(argument)) else { return arguments };
    let path = Path::new(first);
    let is_file = first == text::STANDARD || path.exists() || files::is_model(path) || remote::url(path).is_some();
    if is_file && first != "help" && command.find_subcommand(first).is_none() {
        arguments.insert(1, "info".into());
    }
    arguments
}

/// Runs a command. Files written while inputs are open still have temporary names.
fn prepare(command: &Command) -> Result<Pending<'_>, Failure> {
    let read = match command {
        Command::Rewrite(arguments) => return rewrite::run(arguments),
        Command::Replace(arguments) => return edit::replace::run(arguments),
        Command::Externalize(arguments) => return edit::externalize::run(arguments),
        Command::Internalize(arguments) => return edit::internalize::run(arguments),
        Command::Dedup(arguments) => return edit::dedup::run(arguments),
        Command::Strip(arguments) => return edit::strip::run(arguments),
        Command::Select(arguments) => return edit::select::run(arguments),
        Command::Metadata(arguments) => return edit::metadata::run(arguments),
        Command::Bundle(arguments) => return edit::bundle::run(arguments),
        Command::Ptd(arguments) => return edit::ptd::run(arguments),
        Command::Convert(arguments) => return convert::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Info(arguments) => info::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Dump(arguments) => dump::run(arguments),
        Command::Graph(arguments) => graph::run(arguments),
        Command::List(arguments) => list::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Size(arguments) => size::run(arguments),
        Command::Memory(arguments) => memory::run(arguments),
        Command::Ops(arguments) => ops::run(arguments),
        Command::Disasm(arguments) => disasm::run(arguments),
        Command::Profile(arguments) => profile::run(arguments),
        Command::Debug(arguments) => debug::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Extract(arguments) => edit::extract::run(arguments),
        Command::Catalog(arguments) => catalog::run(arguments),
        Command::ToC(arguments) => to_c::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Man(arguments) => manual::print(arguments),
    };
    read.map(|()| Pending::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_command_is_summarized() {
        let of = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let words: Vec<_> =
                with_command(&help::command(), words).into_iter().map(|word| word.into_string()).collect();
            words.into_iter().collect::<Result<Vec<_>, _>>().map(|words| words.join(" ")).unwrap_or_default()
        };
        for (line, expected) in [
            ("pte model.pte", "pte info model.pte"),
            ("pte -v model.pte weights.ptd", "pte info -v model.pte weights.ptd"),
            ("pte --json -", "pte info --json -"),
            ("pte s3://bucket/model", "pte info s3://bucket/model"),
            ("pte verify model.pte", "pte verify model.pte"),
            ("pte check model.pte", "pte check model.pte"),
            ("pte help info", "pte help info"),
            ("pte verfy model.pte", "pte verfy model.pte"),
            ("pte --version", "pte --version"),
            ("pte", "pte"),
        ] {
            assert_eq!(of(line), expected);
        }
    }
}
