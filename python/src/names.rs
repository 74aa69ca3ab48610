//! Names from other files, and the numbers of constants.

use crate::error::raise;
use crate::file::File;
use crate::held::{PySource, Source, borrowed};
use executorch_format::Analysis;
use executorch_format::Pte;
use executorch_format::inspect::ConstantNumbers;
use executorch_format::naming::{NameSource, Strides};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use pythonize::pythonize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Files with names, and the bytes that they borrow from.
#[derive(Default)]
pub struct NameFiles {
    pub sources: Vec<NameSource<'static>>,
    _bytes: Vec<Arc<Source>>,
}

/// A name that the model's author gave: its method and value, and the key of its data.
type Given = (String, Option<(String, usize)>, String);

/// Sizes, and strides in elements.
type Layout = (Vec<u32>, Vec<u64>);

/// A constant with known numbers: its key, the author's name of it if known, its dimensions, and inside a payload those of the model's tensor.
type Numbers = (String, Option<String>, Vec<u32>, Option<Layout>);

/// A tensor inside a payload: its key, the author's name of it, `true` if the payload has that name, its scalar type as in JSON, its layout in the
/// payload and in the model, and its bytes.
type Inside<'py> = (String, Option<String>, bool, Bound<'py, PyAny>, Layout, Option<Layout>, Bound<'py, PyMemoryView>);

/// Returns the key of a constant: the key of a value's data or of named data, or the place in a payload.
fn key(pte: &Pte<'_>, keys: &HashMap<(String, usize), String>, constant: &ConstantNumbers<'_>) -> String {
    let Some(delegate) = constant.delegate else {
        let value = (method_name(pte, constant.method).to_owned(), constant.value);
        return keys.get(&value).cloned().unwrap_or_else(|| format!("{}:%{}", value.0, constant.value));
    };
    inside_key(pte, (constant.method, delegate, constant.value), constant.key)
}

fn method_name<'t>(pte: &'t Pte<'_>, method: usize) -> &'t str {
    pte.methods().get(method).map_or("", |plan| plan.name())
}

/// Returns the key of a constant inside a payload: that of its data, or its place.
fn inside_key(pte: &Pte<'_>, (method, delegate, value): (usize, usize, usize), key: Option<&str>) -> String {
    key.map_or_else(|| format!("{}.delegate{delegate}.{value}", method_name(pte, method)), str::to_owned)
}

fn layout(strides: &Strides) -> Layout {
    (strides.sizes.clone(), strides.strides.clone())
}

/// Returns the author's name of a constant.
fn name(analysis: &Analysis<'_>, constant: &ConstantNumbers<'_>) -> Option<String> {
    if let Some(name) = constant.name {
        return Some(name.to_owned());
    }
    let name = match constant.delegate {
        None => analysis.names().value(constant.method, constant.value)?,
        Some(delegate) => analysis.names().constant(constant.method, delegate, constant.value)?,
    };
    name.named_by.is_given().then(|| name.name.to_string())
}

/// Returns the keys of the data of values.
fn keys(py: Python<'_>, pte: &Pte<'_>) -> PyResult<HashMap<(String, usize), String>> {
    let mut keys = HashMap::new();
    let visited = py.detach(|| {
        pte.candidates(|data| {
            keys.insert((data.method.to_owned(), data.index), data.key.to_owned());
        })
    });
    visited.map_err(|error| raise(py, &error))?;
    Ok(keys)
}

#[pymethods]
impl File {
    /// Returns the same file with names from ETRecords and state dicts. Fails if a record belongs to another program.
    fn with_names(&self, py: Python<'_>, files: Vec<Py<PySource>>) -> PyResult<Self> {
        let bytes: Vec<Arc<Source>> = files.iter().map(|file| Arc::clone(&file.get().0)).collect();
        let parse = || bytes.iter().map(|source| NameSource::parse(borrowed(source))).collect::<Result<Vec<_>, _>>();
        let sources = py.detach(parse).map_err(|error| raise(py, &error))?;
        let file = Self(Arc::clone(&self.0), Arc::new(NameFiles { sources, _bytes: bytes }));
        let pte = file.pte(py)?;
        let misfit = py.detach(|| file.analysis(pte).names().rejected.first().map(|(_, error)| error.clone()));
        misfit.map_or(Ok(file), |error| Err(raise(py, &error)))
    }

    /// Returns the same file with the names of the one that it was made from.
    fn with_names_of(&self, other: &Self) -> Self {
        Self(Arc::clone(&self.0), Arc::clone(&other.1))
    }

    /// Returns the names that the model's author gave to data in the program.
    fn given(&self, py: Python<'_>) -> PyResult<Vec<Given>> {
        let pte = self.pte(py)?;
        let analysis = self.analysis(pte);
        let names = py.detach(|| analysis.names());
        let mut keys: Vec<_> = keys(py, pte)?.into_iter().collect();
        keys.sort_unstable();
        let methods: BTreeMap<&str, usize> =
            pte.methods().iter().enumerate().rev().map(|(index, plan)| (plan.name(), index)).collect();
        let mut given = Vec::new();
        for ((method, value), key) in keys {
            let own = methods.get(&*method).and_then(|index| names.value(*index, value));
            if let Some(name) = own.filter(|name| name.named_by.is_given()) {
                given.push((name.name.to_string(), Some((method, value)), key));
            }
        }
        for (key, name) in names.keys.iter().filter(|(_, name)| name.named_by.is_given()) {
            given.push((name.name.to_string(), None, key.clone()));
        }
        Ok(given)
    }

    /// Returns the names of tensors of the model, in the program or not.
    fn tensor_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let pte = self.pte(py)?;
        Ok(py.detach(|| self.analysis(pte).names().given(pte).into_iter().map(str::to_owned).collect()))
    }

    /// Returns the constants with known numbers.
    fn numbers(&self, py: Python<'_>) -> PyResult<Vec<Numbers>> {
        let pte = self.pte(py)?;
        let (analysis, keys) = (self.analysis(pte), keys(py, pte)?);
        let mut found = Vec::new();
        py.detach(|| {
            let mut models = HashMap::new();
            analysis.visit_inside(&mut |tensor| {
                if let Some(model) = &tensor.model {
                    models.insert((tensor.method, tensor.delegate, tensor.value), layout(model));
                }
            });
            analysis.visit_numbers(&mut |constant| {
                if let Ok(numbers) = &constant.numbers {
                    let dims = numbers.dims().to_vec();
                    let place = constant.delegate.map(|delegate| (constant.method, delegate, constant.value));
                    // The numbers of tensors for CUDA are in the natural order.
                    let model = place.and_then(|place| models.get(&place)).filter(|_| constant.name.is_none());
                    found.push((key(pte, &keys, constant), name(&analysis, constant), dims, model.cloned()));
                }
            });
        });
        Ok(found)
    }

    /// Returns the tensors inside payloads, except those of types that PyTorch does not have.
    fn inside<'py>(&self, py: Python<'py>) -> PyResult<Vec<Inside<'py>>> {
        let pte = self.pte(py)?;
        let analysis = self.analysis(pte);
        let mut found = Vec::new();
        analysis.visit_inside(&mut |tensor| {
            let Some(scalar_type) = tensor.scalar_type else { return };
            let place = (tensor.method, tensor.delegate, tensor.value);
            let made = || {
                let (key, name) = (inside_key(pte, place, tensor.key), tensor.name.map(str::to_owned));
                let model = tensor.model.as_ref().map(layout);
                let (scalar_type, bytes) = (pythonize(py, &scalar_type)?, self.0.view(py, tensor.bytes)?);
                Ok((key, name, tensor.is_named, scalar_type, layout(&tensor.stored), model, bytes))
            };
            found.push(made());
        });
        found.into_iter().collect()
    }

    /// Returns the numbers of a constant in that list, as f32; empty for an index outside the list.
    fn dequantized<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let pte = self.pte(py)?;
        let (mut bytes, mut at) = (Vec::new(), 0);
        py.detach(|| {
            Analysis::new(pte).visit_numbers(&mut |constant| {
                if let Ok(numbers) = &constant.numbers {
                    if at == index {
                        bytes = numbers.values().flat_map(f32::to_le_bytes).collect();
                    }
                    at += 1;
                }
            });
        });
        Ok(PyBytes::new(py, &bytes))
    }
}
