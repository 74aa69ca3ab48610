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

/// Returns `true` if `--verbose` was given.
pub fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// Returns `true` if `--quiet` was given.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a message about finished work, unless `--quiet` was given.
pub fn say(line: Arguments<'_>) {
    if !is_quiet() {
        eprintln!("{line}");
    }
}

/// Prints why a command fails although it wrote its output: the output lacks the parts that the following errors, if any, are about.
pub fn incomplete(file: &Path, output: &str, errors: usize) {
    if errors > 0 {
        let errors = text::count(errors, "error");
        say(format_args!("{}: the {output} is incomplete because of {errors} in the file:", text::path(file)));
    }
}
