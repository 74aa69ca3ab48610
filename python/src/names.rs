//! Names from other files, and the numbers of constants.

use crate::error::raise;
use crate::file::File;
use crate::held::{PySource, Source, borrowed};
use executorch_format::Analysis;
use executorch_format::Pte;
use executorch_format::inspect::ConstantNumbers;
use executorch_format::naming::NameSource;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
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

/// A constant with known numbers: its key, the author's name of it if known, and its dimensions.
type Numbers = (String, Option<String>, Vec<u32>);

/// Returns the key of a constant: the key of a value's data or of named data, or the place in a payload.
fn key(pte: &Pte<'_>, keys: &HashMap<(String, usize), String>, constant: &ConstantNumbers<'_>) -> String {
    let method = pte.methods().get(constant.method).map_or("", |plan| plan.name());
    match (constant.delegate, constant.key) {
        (None, _) => {
            let value = (method.to_owned(), constant.value);
            keys.get(&value).cloned().unwrap_or_else(|| format!("{method}:%{}", constant.value))
        }
        (Some(_), Some(key)) => key.to_owned(),
        (Some(delegate), None) => format!("{method}.delegate{delegate}.{}", constant.value),
    }
}

/// Returns the author's name of a constant.
fn name(analysis: &Analysis<'_>, constant: &ConstantNumbers<'_>) -> Option<String> {
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
            analysis.visit_numbers(&mut |constant| {
                if let Ok(numbers) = &constant.numbers {
                    let dims = numbers.dims().to_vec();
                    found.push((key(pte, &keys, constant), name(&analysis, constant), dims));
                }
            });
        });
        Ok(found)
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
