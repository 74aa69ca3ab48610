//! The command `pte`.

#![deny(unsafe_code)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    HEAP.set_up();
    ExitCode::from(pte::run(std::env::args_os()))
}
