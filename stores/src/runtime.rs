//! Waits for asynchronous work.

use crate::error::{Error, Result};
use std::future::Future;
use std::process;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: PerProcess<std::result::Result<Runtime, String>> = PerProcess::new();

/// Runs a future and waits for it. Must not be called from asynchronous code.
pub fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match RUNTIME.get_or_init(|| Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())) {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Err(Error::Failed(error.clone())),
    }
}

/// A value for a static, created once in each process: a child created by `fork` has none of its parent's threads, and must not use its
/// connections.
pub struct PerProcess<T>(OnceLock<Made<T>>);

/// The value of one process and its children.
struct Made<T> {
    process: u32,
    value: T,
    child: Box<PerProcess<T>>,
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    /// Creates an empty cell.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the value of this process, which the first call creates. The values of its ancestors are kept: dropping a runtime would wait for
    /// its threads.
    pub fn get_or_init(&self, make: impl Fn() -> T) -> &T {
        let process = process::id();
        let mut values = self;
        loop {
            let made = values.0.get_or_init(|| Made { process, value: make(), child: Box::default() });
            if made.process == process {
                return &made.value;
            }
            values = &made.child;
        }
    }
}
