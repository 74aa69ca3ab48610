//! Locks on the files that a command replaces, so that of two commands that change a file the second waits for the first.

use crate::context::Context;
use crate::failure::Failure;
use crate::save::real;
use crate::{progress, signals, text};
use executorch_format::{FileLock, Prepared, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// A lock, held by a run of the command. Each run has a thread.
struct Held {
    run: ThreadId,
    path: PathBuf,
    lock: FileLock,
}

/// The locks of all runs. A static, since the handler of signals removes their lock files.
static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// Locks the output of a command that exists already, before its inputs are read: the output may be one of them.
pub fn before_reading(context: &Context, output: &Path) -> std::result::Result<(), Failure> {
    if output.as_os_str() != text::STANDARD && output.is_file() { hold(context, output) } else { Ok(()) }
}

/// Locks a file until the end of the run, unless the run holds its lock already. Waits for other processes, with a message if that takes
/// longer.
pub fn hold(context: &Context, path: &Path) -> std::result::Result<(), Failure> {
    let (run, canonical) = (thread::current().id(), real(path));
    if held().iter().any(|held| (held.run, &held.path) == (run, &canonical)) {
        return Ok(());
    }
    let mut said = false;
    let locked = signals::deferring(|| {
        let lock = FileLock::acquire_with(path, |waited| {
            if waited >= progress::QUIET && !said {
                said = true;
                let file = text::path(path);
                context.say(format_args!("{file}: another process is changing it: waiting for up to 60 s"));
            }
            !signals::is_cancelled()
        });
        lock.map(|lock| {
            if !lock.is_exclusive() && path.is_file() {
                context.say(format_args!(
                    "{}: its file system has no locks: let no other process change it now",
                    text::path(path)
                ));
            }
            held().push(Held { run, path: canonical, lock });
        })
    })?;
    locked.map_err(|error| Failure::unwritable(path, error))
}

/// Gives a file its name, under the lock that [`hold`] acquired, and ends the lock.
pub fn commit(prepared: Prepared, path: &Path) -> Result<()> {
    let (run, canonical, mut held) = (thread::current().id(), real(path), held());
    match held.iter().position(|held| (held.run, &held.path) == (run, &canonical)) {
        Some(index) => prepared.commit_locked(&held.swap_remove(index).lock),
        None => prepared.commit(),
    }
}

/// Ends the locks of this run.
pub fn release() {
    let run = thread::current().id();
    held().retain(|held| held.run != run);
}

/// Ends all locks, before the process ends.
pub fn release_all() {
    held().clear();
}

fn held() -> MutexGuard<'static, Vec<Held>> {
    // A thread that panicked leaves no incomplete entry.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}
