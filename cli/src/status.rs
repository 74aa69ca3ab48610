//! Messages on standard error, so that standard output has only data.

use crate::text;
use std::fmt::Arguments;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Sets `--quiet` or `--verbose`.
pub fn set(quiet: bool, verbose: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
    VERBOSE.store(verbose, Ordering::Relaxed);
}

/// Whether `--verbose` was given.
pub fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// Whether `--quiet` was given.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints what was done, unless `--quiet` was given.
pub fn say(line: Arguments<'_>) {
    if !is_quiet() {
        eprintln!("{line}");
    }
}

/// Prints why a command that wrote its output fails: the output lacks what the next errors, if there are any, are about.
pub fn incomplete(file: &Path, output: &str, errors: usize) {
    if errors > 0 {
        let errors = text::count(errors, "error");
        say(format_args!("{}: the {output} is incomplete because of {errors} in the file:", text::path(file)));
    }
}
