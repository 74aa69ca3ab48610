//! `pte`: inspects, verifies and rewrites ExecuTorch model files.

#![deny(unsafe_code)]

mod dump;
mod failure;
mod info;
mod json;
mod list;
mod open;
mod progress;
mod rewrite;
mod text;
mod verify;

use clap::{Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

/// Inspects, verifies and rewrites ExecuTorch model files: .pte (programs) and .ptd (named tensors and blobs)
#[derive(Parser)]
#[command(name = "pte", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 success, 1 a file is invalid, 2 wrong usage, or a file cannot be read or written."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Info(info::Arguments),
    Dump(dump::Arguments),
    List(list::Arguments),
    Rewrite(rewrite::Arguments),
    Verify(verify::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Info(arguments) => info::run(&arguments),
        Command::Dump(arguments) => dump::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Rewrite(arguments) => rewrite::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
    };
    outcome.map_or_else(|failure: Failure| failure.report(), |()| ExitCode::SUCCESS)
}
