//! Waits for asynchronous work.

use crate::error::{Error, Result};
use std::future::Future;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();

/// Runs a future and waits for it. Must not be called from asynchronous code.
pub fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match RUNTIME.get_or_init(|| Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())) {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Err(Error::Failed(error.clone())),
    }
}
