//! Waits for what is asynchronous.

use crate::error::{Error, Result};
use std::future::Future;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();

/// Does something and waits for it. Not from inside of what is asynchronous itself.
pub fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match RUNTIME.get_or_init(|| Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())) {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Err(Error::Failed(error.clone())),
    }
}
