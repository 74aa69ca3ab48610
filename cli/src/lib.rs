//! `pte`: inspects, verifies and rewrites ExecuTorch model files. The binary and Python's package call [`run`].

#![deny(unsafe_code)]

mod build;
#[cfg(feature = "remote")]
mod catalog;
#[cfg(not(feature = "remote"))]
#[path = "catalog/missing.rs"]
mod catalog;
mod completions;
mod context;
mod contract;
mod convert;
mod csv;
mod data;
mod debug;
mod diff;
mod disasm;
mod dump;
mod edit;
mod existing;
mod failure;
mod files;
mod fit;
mod graph;
mod hash;
mod help;
mod info;
mod json;
mod list;
mod lock;
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
mod signals;
mod size;
mod table;
mod target;
mod text;
mod to_c;
mod value;
mod verify;
mod volume;

pub use crate::report::page;
#[cfg(feature = "schemars")]
pub use crate::schemas::{Document, schemas};
pub use crate::size::saving_command;

use crate::context::Context;
use crate::failure::Failure;
use crate::save::Pending;
use crate::volume::Volume;
use clap::{FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;

/// Inspects, verifies and rewrites ExecuTorch model files: .pte (programs) and .ptd (named tensors and blobs)
#[derive(Parser)]
#[command(name = "pte", version, arg_required_else_help = true)]
#[command(
    after_help = "`pte FILE` is short for `pte info FILE`. The file name - is standard input, or standard output for a file to write.
`pte completions` and `pte man` print completions for a shell and manual pages.

Exit codes: 0 success, 1 a file is invalid, 2 wrong usage, a request that matches nothing, or a file that cannot be read or written; for several files, the highest."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

/// Options of all commands.
#[derive(clap::Args)]
struct Options {
    /// Do not shorten names and lists; list every change
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print only errors and requested output
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Write more than 64 MiB plus 32 times the files that are read, if many parts of them share bytes
    #[arg(long, global = true)]
    any_size: bool,
    #[cfg(feature = "remote")]
    #[command(flatten)]
    stores: remote::StoreArguments,
}

/// Declares the enum of the commands, their groups in the help, and the function that runs a command. Each command is a module with
/// `Arguments` and `run`.
macro_rules! subcommands {
    ($(
        $group:literal {
            $( $(#[$attribute:meta])* ($variant:ident, $name:literal, $($module:ident)::+), )+
        }
    )+) => {
        #[derive(Subcommand)]
        enum Command {
            $($( #[command(name = $name)] $(#[$attribute])* $variant($($module)::+::Arguments), )+)+
        }

        /// The groups of commands in the help, with the names of their commands. The help does not list a group without a title.
        const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$($name),+])),+];

        /// Returns the subcommand with this name.
        fn subcommand(name: &str) -> Option<clap::Command> {
            match name {
                $($( $name => Some(<$($module)::+::Arguments as clap::Args>::augment_args(clap::Command::new($name))), )+)+
                _ => None,
            }
        }

        /// Runs a command. Files written while inputs are open still have temporary names.
        fn prepare<'a>(context: &Context, command: &'a Command) -> Result<Pending<'a>, Failure> {
            match command {
                $($( Command::$variant(arguments) => $($module)::+::run(context, arguments).map(Pending::from), )+)+
            }
        }
    };
}

subcommands! {
    "Look" {
        #[command(aliases = ["inspect", "show"])]
        (Info, "info", info),
        (List, "list", list),
        (Size, "size", size),
        (Memory, "memory", memory),
        (Ops, "ops", ops),
        (Disasm, "disasm", disasm),
        (Graph, "graph", graph),
        (Report, "report", report),
        (Diff, "diff", diff),
        (Profile, "profile", profile),
        (Debug, "debug", debug),
        (Dump, "dump", dump),
        (Bundle, "bundle", edit::bundle),
        (Catalog, "catalog", catalog),
    }
    "Check" {
        #[command(alias = "validate")]
        (Verify, "verify", verify),
        #[command(alias = "check")]
        (Fit, "fit", fit),
        (Hash, "hash", hash),
    }
    "Change" {
        (Replace, "replace", edit::replace),
        (Externalize, "externalize", edit::externalize),
        (Internalize, "internalize", edit::internalize),
        (Strip, "strip", edit::strip),
        (Dedup, "dedup", edit::dedup),
        (Select, "select", edit::select),
        (Metadata, "metadata", edit::metadata),
        (Extract, "extract", edit::extract),
        (Ptd, "ptd", edit::ptd),
        (Rewrite, "rewrite", rewrite),
        (Build, "build", build),
    }
    "Convert" {
        (Convert, "convert", convert),
        (ToC, "to-c", to_c),
    }
    "" {
        (Completions, "completions", completions),
        (Man, "man", manual),
    }
}

/// Runs the command with the arguments of a process, the first of which is the program's name, and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let terminal = Context::of_terminal();
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let command = match arguments.get(1).and_then(|name| help::single(name)) {
        Some(command) => command,
        None => {
            let command = help::command(&terminal);
            arguments = with_command(&command, arguments);
            command
        }
    };
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
    let Arguments { command, options } = arguments;
    let context = Context {
        whole: options.verbose || terminal.whole,
        verbose: options.verbose,
        quiet: options.quiet,
        volume: Volume::new(options.any_size),
        #[cfg(feature = "remote")]
        stores: remote::Session::new(options.stores),
        ..terminal
    };
    let outcome = save::finish(&context, || prepare(&context, &command));
    let Err(failure) = outcome else { return 0 };
    if json::is_asked(&matches) {
        // If standard output is closed too, the failure on stderr is enough.
        let _ = json::print_failure(&context, &failure);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_command_is_summarized() {
        let of = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let words: Vec<_> = with_command(&help::command(&Context::default()), words)
                .into_iter()
                .map(|word| word.into_string())
                .collect();
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
