//! Signals that end the command: Ctrl-C, SIGTERM.

use crate::failure::Failure;
use crate::lock;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code that a shell reports for a command ended by a signal.
const INTERRUPTED: u8 = 130;

/// `true` after a signal. A static, since signals are sent to the whole process and their handler gets no arguments.
static CANCELLED: AtomicBool = AtomicBool::new(false);

/// `true` while the command itself checks [`CANCELLED`], and removes incomplete files.
static DEFERRED: AtomicBool = AtomicBool::new(false);

/// Returns `true` after a signal.
pub fn is_cancelled() -> bool {
    CANCELLED.load(Ordering::SeqCst)
}

/// Fails after a signal.
pub fn check() -> Result<(), Failure> {
    if is_cancelled() { Err(Failure::Reported(INTERRUPTED)) } else { Ok(()) }
}

/// Returns a failure, or the exit code after a signal, which may have caused it.
pub fn or_interrupted(failure: Failure) -> Failure {
    if !is_cancelled() {
        return failure;
    }
    failure.report();
    Failure::Reported(INTERRUPTED)
}

/// Lets the command end itself after a signal from here on, since it is writing files.
pub fn defer() {
    catch();
    DEFERRED.store(true, Ordering::SeqCst);
}

/// Calls a function that must not be interrupted, unless it returns early because [`is_cancelled`] is `true`. Then fails after a signal.
pub fn deferring<T>(call: impl FnOnce() -> T) -> Result<T, Failure> {
    catch();
    let before = DEFERRED.swap(true, Ordering::SeqCst);
    let result = call();
    DEFERRED.store(before, Ordering::SeqCst);
    if !before {
        check()?;
    }
    Ok(result)
}

/// Ends the command on a signal or, if it is writing a file, lets it clean up first. A second signal always ends it.
fn catch() {
    static ONCE: Once = Once::new();
    let handle = || {
        if CANCELLED.swap(true, Ordering::SeqCst) || !DEFERRED.load(Ordering::SeqCst) {
            lock::release_all();
            std::process::exit(INTERRUPTED.into());
        }
    };
    // Without a handler, a signal ends the command immediately.
    ONCE.call_once(|| drop(ctrlc::set_handler(handle)));
}
