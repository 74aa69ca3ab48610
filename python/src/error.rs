//! Conversion of errors to Python's exceptions.

use executorch_format::verify::Finding;
use executorch_format::{Error, ErrorKind};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::io;

static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn new(py: Python<'_>, message: String, path: String, offset: Option<u64>, rule: &str) -> PyErr {
    let class = CLASS.import(py, "executorch_format._error", "Error");
    match class.and_then(|class| class.call1((message, path, offset, rule))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Returns `executorch_format.Error`, or `OSError` for an error of the operating system.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let ErrorKind::Io { kind, message, code, file } = error.kind() else {
        return new(py, error.to_string(), error.path().to_string(), error.offset(), error.kind().rule());
    };
    let file = file.as_ref().map(|file| file.as_os_str());
    match *code {
        // On Windows, Rust's code is the `winerror` that Python takes as its fourth argument.
        Some(code) if cfg!(windows) => PyOSError::new_err((0, message.clone(), file.map(ToOwned::to_owned), code)),
        Some(code) => match strerror(py, code) {
            Ok(text) => PyOSError::new_err((code, text, file.map(ToOwned::to_owned))),
            Err(error) => error,
        },
        None => {
            let code = match kind {
                io::ErrorKind::InvalidInput => INVALID_ARGUMENT,
                io::ErrorKind::AlreadyExists => FILE_EXISTS,
                _ => INPUT_OUTPUT,
            };
            PyOSError::new_err((code, message.clone(), file.map(ToOwned::to_owned)))
        }
    }
}

/// Codes of `errno` for errors found by Rust's library or this package. They are the same on all systems.
const INPUT_OUTPUT: i32 = 5;
const FILE_EXISTS: i32 = 17;
const INVALID_ARGUMENT: i32 = 22;

/// Returns the system's text for a code, as in Python's own errors.
fn strerror(py: Python<'_>, code: i32) -> PyResult<String> {
    py.import("os")?.call_method1("strerror", (code,))?.extract()
}

/// Returns the error for an edit that would break a rule.
pub fn raise_finding(py: Python<'_>, finding: &Finding) -> PyErr {
    let message = format!("the changed file would break a rule: {finding}");
    new(py, message, finding.path.to_string(), finding.offset, finding.rule)
}

/// Returns the error for a question that does not apply to the kind of file.
pub fn unfit(py: Python<'_>, message: String) -> PyErr {
    new(py, message, String::new(), None, "foreign")
}
