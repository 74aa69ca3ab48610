//! Edits: each returns a new file and a report. Trees share unchanged bytes.

use crate::error::{raise, raise_finding, unfit};
use crate::file::File;
use crate::held::{OwnedModel, PySource, Source, borrowed};
use executorch_format::edit::{Digest, EditReport, MetadataValue, NewData, NewKey, Selector, Strip, share};
use executorch_format::schema::ScalarType;
use executorch_format::schema::flat_tensor::TensorLayout;
use executorch_format::verify::Level;
use executorch_format::{Analysis, Error, Model, Ptd, PtdOptions, Pte};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList};
use pythonize::pythonize;
use sha2::Sha256;
use std::collections::HashMap;
use std::sync::Arc;

/// A new file, and a report of the changes.
type Changed<'py> = (File, Bound<'py, PyAny>);

/// A candidate of `externalize`: subject, method, index, name, default key, size in bytes.
type Candidate = (String, String, usize, Option<String>, String, u64);

/// A replacement: the name, or the method and the value's index; the layout and the bytes; and whether all users that share the old bytes
/// get the new ones.
type Replacement = (String, Option<usize>, Option<Layout>, Py<PySource>, bool);

/// The schema's name of a type, sizes and dim order, as Python passes them.
pub type Layout = (String, Vec<i32>, Vec<u8>);

pub fn layout(py: Python<'_>, (dtype, sizes, dim_order): Layout) -> PyResult<TensorLayout<'static>> {
    let scalar_type: ScalarType = dtype.parse().map_err(|error| raise(py, &error))?;
    Ok(TensorLayout { scalar_type, sizes: Some(sizes.into()), dim_order: Some(dim_order.into()) })
}

impl File {
    /// Changes a copy of the tree, and fails if the result breaks a rule that was not broken before.
    fn change<'py>(
        &self,
        py: Python<'py>,
        sources: &[Arc<Source>],
        change: impl FnOnce(&mut Model<'static>) -> Result<EditReport, Error> + Send,
    ) -> PyResult<Changed<'py>> {
        let mut model = self.0.to_change().clone();
        if !matches!(model, Model::Pte(_) | Model::Ptd(_)) {
            return Err(unfit(py, format!("a {} cannot be edited: edit its program", model.kind())));
        }
        let changed = py.detach(|| {
            let report = change(&mut model)?;
            let before = self.0.model().verify(Level::Strict);
            Ok((report, model.new_errors(&before, &model.image()?)?))
        });
        let (report, errors) = changed.map_err(|error: Error| raise(py, &error))?;
        if let Some(finding) = errors.first() {
            return Err(raise_finding(py, finding));
        }
        let sources = self.0.sources().iter().chain(sources).cloned().collect();
        Ok((Self::held(OwnedModel::new(model, sources)), pythonize(py, &report)?))
    }

    fn change_program<'py>(
        &self,
        py: Python<'py>,
        sources: &[Arc<Source>],
        change: impl FnOnce(&mut Pte<'static>) -> Result<EditReport, Error> + Send,
    ) -> PyResult<Changed<'py>> {
        self.pte(py)?;
        self.change(py, sources, |model| match model {
            Model::Pte(pte) => change(pte),
            _ => Ok(EditReport::default()),
        })
    }

    fn change_data<'py>(
        &self,
        py: Python<'py>,
        change: impl FnOnce(&mut Ptd<'static>) -> Result<EditReport, Error> + Send,
    ) -> PyResult<Changed<'py>> {
        self.ptd(py)?;
        self.change(py, &[], |model| match model {
            Model::Ptd(ptd) => change(ptd),
            _ => Ok(EditReport::default()),
        })
    }
}

#[pymethods]
impl File {
    /// Replaces the bytes of named data, or of a method's value.
    fn replace<'py>(&self, py: Python<'py>, list: Vec<Replacement>, key: Option<String>) -> PyResult<Changed<'py>> {
        let mut sources = Vec::with_capacity(list.len());
        let mut news = Vec::with_capacity(list.len());
        let analysis = self.analysis_of(self.0.model());
        let names = py.detach(|| analysis.as_ref().map(Analysis::names));
        for (name, value, tensor, source, shared) in list {
            let source = Arc::clone(&source.get().0);
            let layout = tensor.map(|tensor| layout(py, tensor)).transpose()?;
            let new = NewData::bytes("the new data", borrowed(&source)).with_tensor_layout(layout);
            let mut new = if shared { new.with_shared() } else { new }.with_permute();
            new.key = key.clone().map_or(NewKey::Digest(Digest(sha256)), NewKey::Exact);
            // A text that is both is a name.
            let tensor = names.as_ref().filter(|_| value.is_none()).and_then(|names| names.tensor(&name));
            news.push((name, value, tensor, new));
            sources.push(source);
        }
        self.change(py, &sources, |model| {
            let mut all = EditReport::default();
            for (name, value, tensor, new) in &news {
                let target = match (value, tensor) {
                    (Some(value), _) => Selector::Value { method: name, value: *value },
                    (None, Some(tensor)) => Selector::Tensor(tensor),
                    (None, None) => Selector::Name(name),
                };
                let report = match &mut *model {
                    Model::Pte(pte) => pte.replace(&target, new),
                    Model::Ptd(ptd) => ptd.replace(name, new),
                    _ => Ok(EditReport::default()),
                }?;
                all.changes.extend(report.changes);
                all.notes.extend(report.notes);
            }
            Ok(all)
        })
    }

    /// Returns the candidates of `externalize`.
    fn candidates(&self, py: Python<'_>) -> PyResult<Vec<Candidate>> {
        let pte = self.pte(py)?;
        let mut list = Vec::new();
        let visited = pte.candidates(|candidate| {
            list.push((
                candidate.subject.to_string(),
                candidate.method.to_owned(),
                candidate.index,
                candidate.name.map(str::to_owned),
                candidate.key.to_owned(),
                candidate.size,
            ));
        });
        visited.map_err(|error| raise(py, &error))?;
        Ok(list)
    }

    /// Moves candidates into a `.ptd`. `keys` maps the index of each candidate to move, in `candidates`, to its key.
    fn externalize<'py>(
        &self,
        py: Python<'py>,
        keys: HashMap<usize, String>,
        alignment: Option<u32>,
    ) -> PyResult<(Self, Self, Bound<'py, PyAny>)> {
        let mut data = None;
        let mut index = 0;
        let options = options(alignment);
        let (program, report) = self.change_program(py, &[], |pte| {
            let (ptd, report) = pte.externalize(&options, |_| {
                index += 1;
                keys.get(&(index - 1)).cloned()
            })?;
            data = Some(ptd);
            Ok(report)
        })?;
        let data = data.ok_or_else(|| unfit(py, "nothing was moved".to_owned()))?;
        let sources = program.0.sources().to_vec();
        Ok((program, Self::held(OwnedModel::new(data, sources)), report))
    }

    /// Moves data that several programs have into one `.ptd`, with everything in `data`.
    #[staticmethod]
    fn share<'py>(
        py: Python<'py>,
        programs: Vec<Py<Self>>,
        data: Vec<Py<Self>>,
        min_size: u64,
        alignment: Option<u32>,
    ) -> PyResult<(Vec<Changed<'py>>, Self)> {
        let files = programs.iter().chain(&data);
        let sources: Vec<Arc<Source>> = files.flat_map(|file| file.get().0.sources().to_vec()).collect();
        let data = Self::data(py, &data)?;
        let programs = programs.iter().map(|program| {
            program.get().pte(py)?;
            match program.get().0.to_change() {
                Model::Pte(pte) => Ok(pte.clone()),
                other => Err(unfit(py, format!("a {} is not a program (.pte)", other.kind()))),
            }
        });
        let programs = programs.collect::<PyResult<Vec<Pte<'static>>>>()?;
        let shared = py.detach(|| {
            let shared = share(&programs, &data, min_size, &options(alignment))?;
            let ptd = [shared.data];
            let pairs = programs.iter().zip(&shared.programs);
            let broken = pairs.flat_map(|(before, after)| {
                let mut found = before.verify(Level::Strict);
                found.extend(before.verify_with(&data, Level::Strict));
                after.new_errors_with(&ptd, &found)
            });
            let broken = broken.take(1).next();
            let [ptd] = ptd;
            Ok((shared.programs, shared.reports, ptd, broken))
        });
        let (programs, reports, ptd, broken) = shared.map_err(|error: Error| raise(py, &error))?;
        if let Some(finding) = &broken {
            return Err(raise_finding(py, finding));
        }
        let changed = programs.into_iter().zip(&reports).map(|(program, report)| {
            Ok((Self::held(OwnedModel::new(program, sources.clone())), pythonize(py, report)?))
        });
        Ok((changed.collect::<PyResult<_>>()?, Self::held(OwnedModel::new(ptd, sources.clone()))))
    }

    /// Moves external data into the program: the data of `keys`, or all.
    fn internalize<'py>(
        &self,
        py: Python<'py>,
        data: Vec<Py<Self>>,
        keys: Option<Vec<String>>,
    ) -> PyResult<Changed<'py>> {
        let sources: Vec<Arc<Source>> = data.iter().flat_map(|file| file.get().0.sources().to_vec()).collect();
        let data = Self::data(py, &data)?;
        self.change_program(py, &sources, |pte| {
            pte.internalize(&data, |key| keys.as_ref().is_none_or(|keys| keys.iter().any(|other| other == key)))
        })
    }

    fn dedup<'py>(&self, py: Python<'py>) -> PyResult<Changed<'py>> {
        self.change(py, &[], |model| match model {
            Model::Pte(pte) => pte.dedup(),
            Model::Ptd(ptd) => ptd.dedup(),
            _ => Ok(EditReport::default()),
        })
    }

    fn strip<'py>(
        &self,
        py: Python<'py>,
        stack_traces: bool,
        names: bool,
        unreferenced: bool,
        padding: bool,
    ) -> PyResult<Changed<'py>> {
        let mut what = Strip::default();
        what.stack_traces = stack_traces;
        what.names = names;
        what.unreferenced = unreferenced;
        what.padding = padding;
        self.change_program(py, &[], |pte| pte.strip(&what))
    }

    /// Keeps these methods.
    fn select<'py>(&self, py: Python<'py>, methods: Vec<String>) -> PyResult<Changed<'py>> {
        self.change_program(py, &[], |pte| pte.select(|name| methods.iter().any(|method| method == name)))
    }

    fn set_metadata<'py>(&self, py: Python<'py>, name: &str, value: &Bound<'py, PyAny>) -> PyResult<Changed<'py>> {
        let value = metadata_value(value)?;
        self.change_program(py, &[], |pte| pte.set_metadata(name, value))
    }

    fn remove_metadata<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Changed<'py>> {
        self.change_program(py, &[], |pte| pte.remove_metadata(name))
    }

    /// Renames keys of a `.ptd`.
    fn rename<'py>(&self, py: Python<'py>, names: HashMap<String, String>) -> PyResult<Changed<'py>> {
        self.change_data(py, |ptd| ptd.rename(|name| names.get(name).cloned()))
    }

    /// Keeps these keys of a `.ptd`.
    fn filter<'py>(&self, py: Python<'py>, keys: Vec<String>) -> PyResult<Changed<'py>> {
        self.change_data(py, |ptd| ptd.filter(|entry| keys.iter().any(|key| key == entry.key())))
    }

    /// Merges several `.ptd` files into one.
    #[staticmethod]
    fn merge<'py>(py: Python<'py>, files: Vec<Py<Self>>, alignment: Option<u32>) -> PyResult<Changed<'py>> {
        let sources = files.iter().flat_map(|file| file.get().0.sources().to_vec()).collect();
        let data = Self::data(py, &files)?;
        let merged = py.detach(|| Ptd::merge(&data, &options(alignment)));
        let (ptd, report) = merged.map_err(|error| raise(py, &error))?;
        Ok((Self::held(OwnedModel::new(ptd, sources)), pythonize(py, &report)?))
    }

    /// Splits a `.ptd` into several: with at most that many bytes of data each, or by the given part of each key.
    fn split(
        &self,
        py: Python<'_>,
        largest: Option<u64>,
        parts: Option<HashMap<String, usize>>,
    ) -> PyResult<Vec<Self>> {
        self.ptd(py)?;
        let Model::Ptd(ptd) = self.0.to_change() else { return Ok(Vec::new()) };
        let split = py.detach(|| {
            let options = PtdOptions::of(ptd)?;
            if let Some(largest) = largest {
                let mut parts = ptd.parts_by_size(largest)?.into_iter();
                return ptd.split(&options, |_| parts.next().unwrap_or_default());
            }
            ptd.split(&options, |entry| parts.as_ref().and_then(|parts| parts.get(entry.key())).copied().unwrap_or(0))
        });
        let split = split.map_err(|error| raise(py, &error))?;
        Ok(split.into_iter().map(|part| Self::held(OwnedModel::new(part, self.0.sources().to_vec()))).collect())
    }
}

pub fn options(alignment: Option<u32>) -> PtdOptions {
    alignment.map_or_else(PtdOptions::default, |alignment| PtdOptions::default().with_segment_alignment(alignment))
}

/// Returns the SHA-256 of bytes as the exporter writes it in keys.
fn sha256(bytes: &[u8]) -> String {
    <Sha256 as sha2::Digest>::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Converts a value of Python, or a list of such values.
fn metadata_value(value: &Bound<'_, PyAny>) -> PyResult<MetadataValue> {
    match value.cast::<PyList>() {
        Ok(items) => items.iter().map(|item| metadata_item(&item)).collect::<PyResult<_>>().map(MetadataValue::List),
        Err(_) => metadata_item(value),
    }
}

fn metadata_item(value: &Bound<'_, PyAny>) -> PyResult<MetadataValue> {
    // A bool is an int in Python, so it is checked first.
    Ok(if value.is_instance_of::<PyBool>() {
        MetadataValue::Bool(value.extract()?)
    } else if value.is_instance_of::<PyInt>() {
        MetadataValue::Int(value.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        MetadataValue::Float(value.extract()?)
    } else {
        MetadataValue::String(value.extract()?)
    })
}
