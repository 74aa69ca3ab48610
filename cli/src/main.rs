//! The command `pte`.

#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    keep_freed_memory();
    ExitCode::from(pte::run(std::env::args_os()))
}

/// Lets glibc use freed memory again instead of returning it to the system, which has to clear each page that it gives anew: of a
/// program with a gigabyte of metadata, that took most of the time of `pte size`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn keep_freed_memory() {
    // SAFETY: these set two numbers of the allocator, before there is another thread.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
    }
}
