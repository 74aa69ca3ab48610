//! New `.ptd` files, from tensors or from safetensors, and conversion to safetensors.

use crate::edit::{Layout, layout, options};
use crate::error::raise;
use crate::file::{File, save};
use crate::held::{OwnedModel, PySource, borrowed};
use executorch_format::convert::{Safetensors, Skipped, Unsupported};
use executorch_format::{Model, NewEntry, Ptd};
use pyo3::prelude::*;
use pythonize::pythonize;
use std::path::PathBuf;
use std::sync::Arc;

fn unsupported(skip: bool) -> Unsupported {
    if skip { Unsupported::Skip } else { Unsupported::Refuse }
}

#[pymethods]
impl File {
    /// Creates a `.ptd` from tensors and blobs.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        entries: Vec<(String, Option<Layout>, Py<PySource>)>,
        alignment: Option<u32>,
    ) -> PyResult<Self> {
        let mut sources = Vec::with_capacity(entries.len());
        let mut list = Vec::with_capacity(entries.len());
        for (key, tensor, source) in entries {
            let source = Arc::clone(&source.get().0);
            let layout = tensor.map(|tensor| layout(py, tensor)).transpose()?;
            list.push(NewEntry::blob(key, borrowed(&source)).with_tensor_layout(layout));
            sources.push(source);
        }
        let ptd = py.detach(|| Ptd::build(list, &options(alignment))).map_err(|error| raise(py, &error))?;
        Ok(Self::held(OwnedModel::new(ptd, sources)))
    }

    /// Creates a `.ptd` with the tensors of a safetensors file, and returns the entries that were left out.
    #[staticmethod]
    fn from_safetensors<'py>(py: Python<'py>, source: &PySource, skip: bool) -> PyResult<(Self, Bound<'py, PyAny>)> {
        let source = Arc::clone(&source.0);
        let made = py.detach(|| Safetensors::parse(borrowed(&source))?.into_ptd(&options(None), unsupported(skip)));
        let (ptd, skipped) = made.map_err(|error| raise(py, &error))?;
        Ok((Self::held(OwnedModel::new(ptd, vec![source])), pythonize(py, &skipped)?))
    }

    /// Writes the weights as a safetensors file, and returns the entries that were left out.
    fn to_safetensors<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        skip: bool,
        progress: Option<Py<PyAny>>,
        any_size: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut skipped: Vec<Skipped> = Vec::new();
        let weights;
        let ptd = match self.0.model() {
            Model::Pte(pte) => {
                let (found, left) = pte.weights().map_err(|error| raise(py, &error))?;
                weights = found;
                skipped.extend(left);
                &weights
            }
            _ => self.ptd(py)?,
        };
        let made = py.detach(|| Safetensors::of_ptd(ptd, unsupported(skip)));
        let (file, left) = made.map_err(|error| raise(py, &error))?;
        skipped.extend(left);
        let image = file.image().map_err(|error| raise(py, &error))?;
        self.0.check_size(&image, any_size).map_err(|error| raise(py, &error))?;
        save(py, &self.0, &image, &path, progress)?;
        Ok(pythonize(py, &skipped)?)
    }
}
