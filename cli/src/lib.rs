//! `pte`: inspects, verifies and rewrites ExecuTorch model files. The binary and Python's package call [`run`].

#![deny(unsafe_code)]

#[cfg(feature = "remote")]
mod catalog;
mod check;
mod convert;
mod data;
mod diff;
mod disasm;
mod dump;
mod edit;
mod failure;
mod files;
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

/// Inspects, verifies and rewrites ExecuTorch model files: .pte (programs) and .ptd (named tensors and blobs)
#[derive(Parser)]
#[command(name = "pte", version, arg_required_else_help = true)]
#[command(after_help = "The file name - is standard input, or standard output for a file to write.

Exit codes: 0 success, 1 a file is invalid, 2 wrong usage, a name that matches nothing, or a file that cannot be read or written; for several files, the highest.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Show whole names and lists on a terminal too, and each change of an edit
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print only errors and requested output
    #[arg(short, long, global = true)]
    quiet: bool,
    #[cfg(feature = "remote")]
    #[command(flatten)]
    stores: remote::StoreArguments,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Arguments),
    Info(info::Arguments),
    Diff(diff::Arguments),
    Dump(dump::Arguments),
    Graph(graph::Arguments),
    List(list::Arguments),
    Report(report::Arguments),
    Size(size::Arguments),
    Memory(memory::Arguments),
    Ops(ops::Arguments),
    Disasm(disasm::Arguments),
    Profile(profile::Arguments),
    Rewrite(rewrite::Arguments),
    Verify(verify::Arguments),
    Replace(edit::replace::Arguments),
    Externalize(edit::externalize::Arguments),
    Internalize(edit::internalize::Arguments),
    Dedup(edit::dedup::Arguments),
    Strip(edit::strip::Arguments),
    Select(edit::select::Arguments),
    Metadata(edit::metadata::Arguments),
    Extract(edit::extract::Arguments),
    Bundle(edit::bundle::Arguments),
    Ptd(edit::ptd::Arguments),
    Convert(convert::Arguments),
    #[cfg(feature = "remote")]
    Catalog(catalog::Arguments),
    ToC(to_c::Arguments),
    Completions(manual::CompletionArguments),
    Man(manual::ManArguments),
}

/// Runs the command with the arguments of a process, the first of which is its name, and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    text::show_whole(!io::stdout().is_terminal());
    let matches = help::command().try_get_matches_from(arguments);
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
        // The failure says so if standard output is closed too.
        let _ = json::print_failure(&failure);
    }
    failure.report()
}

/// Runs a command, except that the files which it writes with its inputs open are not named yet.
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
        Command::Check(arguments) => check::run(arguments),
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
        Command::Verify(arguments) => verify::run(arguments),
        Command::Extract(arguments) => edit::extract::run(arguments),
        #[cfg(feature = "remote")]
        Command::Catalog(arguments) => catalog::run(arguments),
        Command::ToC(arguments) => to_c::run(arguments),
        Command::Completions(arguments) => manual::complete(arguments),
        Command::Man(arguments) => manual::print(arguments),
    };
    read.map(|()| Pending::default())
}
