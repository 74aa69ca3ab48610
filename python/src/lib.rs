//! The native half of the Python package `executorch_format`: files as trees, answers about them as plain Python data,
//! and edits. The public interface is written in Python, in `executorch_format/`.

#![deny(unsafe_code)]

mod catalog;
mod edit;
mod error;
mod file;
mod held;
mod make;
mod names;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;

/// Runs the command `pte` with the arguments of a process, and returns its exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = pte::run(arguments);
        // A Rust program does this when it exits. The command has already reported its own write errors.
        let _ = std::io::stdout().flush();
        code
    })
}

#[pymodule]
mod _native {
    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::catalog::{catalog_batch, catalog_files};
    #[pymodule_export]
    use super::file::File;
    #[pymodule_export]
    use super::held::PySource;
    #[pymodule_export]
    use super::run;
}
