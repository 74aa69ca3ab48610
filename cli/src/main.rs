//! The command `pte`.

#![deny(unsafe_code)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    heap::set_up();
    ExitCode::from(pte::run(std::env::args_os()))
}
