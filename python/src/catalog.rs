//! Many files as one Arrow batch.

use executorch_format_stores::catalog::{self, exported};
use executorch_format_stores::{Access, Error, PerProcess, Stores, wait};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

static STORES: PerProcess<Result<Stores, Error>> = PerProcess::new();

fn stores() -> Result<&'static Stores, Error> {
    STORES.get_or_init(|| Access::from_env().map(Stores::new)).as_ref().map_err(Clone::clone)
}

fn raised(error: Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Returns a row for each file, as capsules of Arrow's C data interface: one of the schema, and one of the rows.
#[pyfunction]
pub fn catalog_batch(
    py: Python<'_>,
    files: Vec<String>,
    hash: bool,
    jobs: usize,
) -> PyResult<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)> {
    let rows = py.detach(|| wait(catalog::batch(stores()?, &files, hash, jobs)).and_then(exported));
    let (schema, rows) = rows.map_err(raised)?;
    Ok((PyCapsule::new_with_value(py, schema, c"arrow_schema")?, PyCapsule::new_with_value(py, rows, c"arrow_array")?))
}

/// Returns the names of the files below prefixes.
#[pyfunction]
pub fn catalog_files(py: Python<'_>, prefixes: Vec<String>) -> PyResult<Vec<String>> {
    py.detach(|| wait(catalog::names(stores()?, &prefixes))).map_err(raised)
}
