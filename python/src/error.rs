//! Errors as Python's exceptions.

use executorch_format::Error;
use executorch_format::validate::Finding;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::error::Error as _;
use std::io;

static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn new(py: Python<'_>, message: String, path: String, offset: Option<u64>, rule: &str) -> PyErr {
    let class = CLASS.import(py, "executorch_format._error", "Error");
    match class.and_then(|class| class.call1((message, path, offset, rule))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// `executorch_format.Error`, or `OSError` for an error of the operating system.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    match source {
        Some(source) => match source.raw_os_error() {
            Some(code) => PyErr::from(io::Error::from_raw_os_error(code)),
            None => PyErr::from(io::Error::new(source.kind(), error.to_string())),
        },
        None => new(py, error.to_string(), error.path().to_string(), error.offset(), error.kind().rule()),
    }
}

/// The error for an edit that would break a rule.
pub fn raise_finding(py: Python<'_>, finding: &Finding) -> PyErr {
    let message = format!("the changed file would break a rule: {finding}");
    new(py, message, finding.path.to_string(), finding.offset, finding.rule)
}

/// The error for a question that does not apply to the kind of file.
pub fn unfit(py: Python<'_>, message: String) -> PyErr {
    new(py, message, String::new(), None, "foreign")
}
