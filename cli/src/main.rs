//! The command `pte`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pte::run(std::env::args_os()))
}
