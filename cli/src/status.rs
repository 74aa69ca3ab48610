//! Lines on standard error that say what was done, so that standard output holds nothing but data.

use std::fmt::Arguments;
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Says nothing from now on (`--quiet`), or everything (`--verbose`).
pub fn set(quiet: bool, verbose: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
    VERBOSE.store(verbose, Ordering::Relaxed);
}

/// Whether everything is to be said.
pub fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// Whether nothing is to be said.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Says what was done, unless the command is to be quiet.
pub fn say(line: Arguments<'_>) {
    if !is_quiet() {
        eprintln!("{line}");
    }
}
