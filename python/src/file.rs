//! A file of any kind, and the questions about it.

use crate::error::{raise, unfit};
use crate::held::{OwnedModel, PySource};
use crate::names::NameFiles;
use executorch_format::edit::MetadataContent;
use executorch_format::inspect::{self, DiffOptions, NodeMeasure, Returned, Side};
use executorch_format::schema::program::{BackendDelegate, ExecutionPlan};
use executorch_format::verify::{Level, Target};
use executorch_format::{Analysis, Error, Etdp, FileLock, Image, Model, Progress, Ptd, Pte, TensorShape, pictures};
use pyo3::exceptions::{PyIndexError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use pythonize::{depythonize, pythonize};
use serde::Serialize;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A tree with its bytes, and files with names for it. It is immutable.
#[pyclass(frozen, module = "executorch_format._native")]
pub struct File(pub Arc<OwnedModel>, pub Arc<NameFiles>);

/// Computes an answer without the interpreter's lock, and converts it to plain Python data.
fn ask<'py, T: Serialize + Send>(
    py: Python<'py>,
    question: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let answer = py.detach(question).map_err(|error| raise(py, &error))?;
    Ok(pythonize(py, &answer)?)
}

/// A tensor: its scalar type as in JSON, sizes, dim order, and strides in elements.
type Described<'py> = (Bound<'py, PyAny>, Vec<i32>, Vec<u8>, Vec<i64>);

/// A tensor or blob: its name, its type and shape if it is a tensor, and its bytes.
type Blob<'py> = (String, Option<Described<'py>>, Bound<'py, PyMemoryView>);

impl File {
    pub fn held(held: OwnedModel) -> Self {
        Self(Arc::new(held), Arc::default())
    }

    fn model(&self) -> &Model<'_> {
        self.0.model()
    }

    pub fn pte(&self, py: Python<'_>) -> PyResult<&Pte<'_>> {
        match self.model() {
            Model::Pte(pte) => Ok(pte),
            other => Err(unfit(py, format!("a {} is not a program (.pte)", other.kind()))),
        }
    }

    fn etdp(&self, py: Python<'_>) -> PyResult<&Etdp<'_>> {
        match self.model() {
            Model::Etdp(etdp) => Ok(etdp),
            other => Err(unfit(py, format!("a {} is not an ETDump (.etdp)", other.kind()))),
        }
    }

    /// Opens a program. Answers have names from the file itself and from the files with names, which belong to the program.
    pub fn analysis<'t>(&'t self, pte: &'t Pte<'_>) -> Analysis<'t> {
        Analysis::new(pte).with_names(&self.1.sources)
    }

    /// Opens a program in a file of any kind; `None` if it is not one.
    pub fn analysis_of<'t>(&'t self, model: &'t Model<'_>) -> Option<Analysis<'t>> {
        match model {
            Model::Pte(pte) => Some(self.analysis(pte)),
            _ => None,
        }
    }

    pub fn ptd(&self, py: Python<'_>) -> PyResult<&Ptd<'_>> {
        match self.model() {
            Model::Ptd(ptd) => Ok(ptd),
            other => Err(unfit(py, format!("a {} has no keys: expected a .ptd", other.kind()))),
        }
    }

    pub fn data(py: Python<'_>, files: &[Py<Self>]) -> PyResult<Vec<Ptd<'static>>> {
        files
            .iter()
            .map(|file| match file.get().0.to_change() {
                Model::Ptd(ptd) => Ok(ptd.clone()),
                other => Err(unfit(py, format!("a {} has no keys: expected a .ptd", other.kind()))),
            })
            .collect()
    }

    fn method(&self, py: Python<'_>, index: usize) -> PyResult<&ExecutionPlan<'_>> {
        let found = self.pte(py)?.methods().get(index);
        found.ok_or_else(|| PyIndexError::new_err(format!("there is no method {index}")))
    }

    fn delegate(&self, py: Python<'_>, method: usize, index: usize) -> PyResult<&BackendDelegate<'_>> {
        let found = self.method(py, method)?.delegates().get(index);
        found.ok_or_else(|| PyIndexError::new_err(format!("method {method} has no delegate {index}")))
    }

    fn blobs_of<'py>(&self, py: Python<'py>, ptd: &Ptd<'_>) -> PyResult<Vec<Blob<'py>>> {
        let mut blobs = Vec::new();
        for entry in ptd.entries() {
            let bytes = ptd.entry_bytes(&entry).map_err(|error| raise(py, &error))?;
            let shape = entry.shape.map(|shape| described(py, &shape)).transpose()?;
            blobs.push((entry.key().to_owned(), shape, self.0.view(py, bytes)?));
        }
        Ok(blobs)
    }
}

fn described<'py>(py: Python<'py>, shape: &TensorShape<'_>) -> PyResult<Described<'py>> {
    let strides = shape.strides().map_err(|error| raise(py, &error))?;
    Ok((pythonize(py, &shape.scalar_type)?, shape.sizes.to_vec(), shape.dim_order.to_vec(), strides))
}

/// Converts the result of a constant method, including floats that JSON cannot express.
fn plain<'py>(py: Python<'py>, value: &Returned<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        // Rust parses `inf` and `nan` too.
        Returned::NotFinite(text) => Ok(text.parse::<f64>()?.into_pyobject(py)?.into_any()),
        Returned::List(list) => {
            let list: Vec<_> = list.iter().map(|item| plain(py, item)).collect::<PyResult<_>>()?;
            Ok(list.into_pyobject(py)?)
        }
        value => Ok(pythonize(py, value)?),
    }
}

/// Cancels a write on Ctrl-C, or if Python's callback raises. The first exception is kept.
struct Watch {
    callback: Option<Py<PyAny>>,
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Watch {
    /// Lets Python handle signals, and then calls a function.
    fn attend(&self, call: impl FnOnce(Python<'_>) -> PyResult<()>) {
        let called = Python::attach(|py| {
            py.check_signals()?;
            call(py)
        });
        if let (Err(error), Ok(mut raised)) = (called, self.raised.lock()) {
            raised.get_or_insert(error);
        }
    }
}

impl Progress for Watch {
    fn progress(&mut self, done: u64, total: u64) {
        let call = |py: Python<'_>, callback: &Py<PyAny>| callback.call1(py, (done, total)).map(drop);
        self.attend(|py| self.callback.as_ref().map_or(Ok(()), |callback| call(py, callback)));
    }

    fn is_cancelled(&self) -> bool {
        self.raised.lock().is_ok_and(|raised| raised.is_some())
    }
}

/// Writes a whole file, or nothing. Fails if another program replaced the file since it was opened as a source of `model`, because that
/// change would be lost.
pub fn save(
    py: Python<'_>,
    model: &OwnedModel,
    image: &Image<'_>,
    path: &Path,
    callback: Option<Py<PyAny>>,
) -> PyResult<()> {
    let raised = Arc::new(Mutex::new(None));
    let watch = Watch { callback, raised: Arc::clone(&raised) };
    let saved = py.detach(|| {
        let lock = FileLock::acquire_with(path, |_| {
            watch.attend(|_| Ok(()));
            !watch.is_cancelled()
        })?;
        if !model.is_current(path) {
            let fault = "another program changed it after it was opened: open it again";
            return Err(std::io::Error::other(format!("{}: {fault}", path.display())).into());
        }
        let prepared = image.prepare(path, watch)?;
        let lost = prepared.lost().to_vec();
        prepared.commit_locked(&lock)?;
        model.saved(path);
        Ok(lost)
    });
    if let Some(error) = raised.lock().ok().and_then(|mut raised| raised.take()) {
        return Err(error);
    }
    for lost in saved.map_err(|error: Error| raise(py, &error))? {
        let warning = CString::new(format!("{}: the new file does not keep {lost}", path.display()))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 2)?;
    }
    Ok(())
}

#[pymethods]
impl File {
    /// Reads a file.
    #[staticmethod]
    fn parse(py: Python<'_>, source: &PySource) -> PyResult<Self> {
        let source = Arc::clone(&source.0);
        py.detach(|| OwnedModel::parse(source)).map(Self::held).map_err(|error| raise(py, &error))
    }

    /// Returns `pte`, `ptd`, `bpte`, `etdp` or `xnnpack`.
    fn kind(&self) -> String {
        self.model().kind().to_string().trim_start_matches('.').to_owned()
    }

    /// Returns the size of the file in bytes; for an unsaved file, its future size.
    fn size_in_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.0.size()).map_err(|error| raise(py, &error))
    }

    /// Returns the program in a bundle.
    fn program(&self, py: Python<'_>) -> PyResult<Self> {
        match self.0.to_change() {
            Model::Bpte(bundle) => {
                let program = bundle.clone().into_program().map_err(|error| raise(py, &error))?;
                Ok(Self::held(OwnedModel::new(program, self.0.sources().to_vec())))
            }
            other => Err(unfit(py, format!("a {} is not a bundle (.bpte)", other.kind()))),
        }
    }

    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ask(py, || Ok(self.0.file()?.summary()))
    }

    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let file = py.detach(|| self.0.file()).map_err(|error| raise(py, &error))?;
        Ok(pythonize(py, file.root())?)
    }

    fn blobs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let file = py.detach(|| self.0.file()).map_err(|error| raise(py, &error))?;
        ask(py, || Ok(self.analysis_of(file).map_or_else(|| file.blobs(), |analysis| analysis.blobs())))
    }

    /// Returns all tensors with a name, and the blobs of a `.ptd`: its keys, or the weights of a program.
    fn named<'py>(&self, py: Python<'py>) -> PyResult<Vec<Blob<'py>>> {
        match self.model() {
            Model::Ptd(ptd) => self.blobs_of(py, ptd),
            Model::Pte(pte) => {
                let (ptd, _) = py.detach(|| pte.weights()).map_err(|error| raise(py, &error))?;
                self.blobs_of(py, &ptd)
            }
            other => Err(unfit(py, format!("a {} has no weights: open its program", other.kind()))),
        }
    }

    /// Returns the keys of a program's named data, and their bytes.
    fn named_data<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyMemoryView>)>> {
        let pte = self.pte(py)?;
        let named = pte.named_data().iter().map(|named| {
            let bytes =
                pte.named_data_ref(named).and_then(|data| pte.bytes(&data)).map_err(|error| raise(py, &error))?;
            Ok((named.key().to_owned(), self.0.view(py, bytes)?))
        });
        named.collect()
    }

    /// Returns the data of a method's value, if it is a tensor with data in this file.
    fn value<'py>(&self, py: Python<'py>, method: usize, value: usize) -> PyResult<Option<Blob<'py>>> {
        let plan = self.method(py, method)?;
        let Some(tensor) = plan.tensor(value) else { return Ok(None) };
        let view = self.pte(py)?.tensor_view(tensor).map_err(|error| raise(py, &error))?;
        let Some(view) = view else { return Ok(None) };
        let shape = described(py, &view.shape())?;
        Ok(Some((format!("{}:%{value}", plan.name()), Some(shape), self.0.view(py, view.bytes())?)))
    }

    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let file = py.detach(|| self.0.file()).map_err(|error| raise(py, &error))?;
        ask(py, || self.analysis_of(file).map_or_else(|| file.size_report(), |analysis| analysis.size_report()))
    }

    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pte = self.pte(py)?;
        ask(py, || Ok(self.analysis(pte).memory()))
    }

    fn operators<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pte = self.pte(py)?;
        ask(py, || Ok(Analysis::new(pte).operators()))
    }

    fn disassembly<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pte = self.pte(py)?;
        ask(py, || Ok(self.analysis(pte).into_disassembly()))
    }

    /// Returns a method's graph in Graphviz's language or as SVG; `None` for a method that only returns constants.
    fn picture(&self, py: Python<'_>, method: &str, dot: bool) -> PyResult<Option<String>> {
        let pte = self.pte(py)?;
        Ok(py.detach(|| {
            let graph = self.analysis(pte).graphs().into_iter().find(|graph| graph.method == method)?;
            Some(if dot { graph.dot().to_string() } else { graph.svg().to_string() })
        }))
    }

    /// Returns every method that computes something, as a graph.
    fn graphs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pte = self.pte(py)?;
        ask(py, || Ok(self.analysis(pte).graphs()))
    }

    /// Returns the graphs in the format of Model Explorer, in a list with this label.
    fn model_explorer<'py>(&self, py: Python<'py>, label: &str) -> PyResult<Bound<'py, PyAny>> {
        let pte = self.pte(py)?;
        let graphs = py.detach(|| self.analysis(pte).graphs());
        Ok(pythonize(py, &pictures::model_explorer(label, &graphs))?)
    }

    /// Returns an amount of each node of the graphs, in the format of Model Explorer. Times are those of a trace.
    fn node_data<'py>(&self, py: Python<'py>, amount: &str, trace: Option<&Self>) -> PyResult<Bound<'py, PyAny>> {
        let measure = match amount {
            "times" if trace.is_none() => return Err(PyValueError::new_err("'times' requires a trace")),
            "times" => NodeMeasure::Time,
            "macs" => NodeMeasure::Macs,
            "sizes" => NodeMeasure::Size,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "no amount {amount:?}: expected 'times', 'macs' or 'sizes'"
                )));
            }
        };
        let (pte, trace) = (self.pte(py)?, trace.map(|trace| trace.etdp(py)).transpose()?);
        let (graphs, numbers) = py
            .detach(|| {
                let analysis = self.analysis(pte);
                let mut graphs = analysis.graphs();
                if let Some(trace) = trace {
                    let profile = trace.profile(Some(&analysis), None);
                    if let Some(error) = profile.errors.first() {
                        return Err(error.to_string());
                    }
                    profile.add_times(&mut graphs);
                }
                let numbers = analysis.node_numbers(&graphs, measure);
                Ok((graphs, numbers))
            })
            .map_err(|error| unfit(py, error))?;
        Ok(pythonize(py, &pictures::node_data(measure, &graphs, numbers))?)
    }

    /// Returns the names and values of a program's metadata.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let pte = self.pte(py)?;
        let entries = pte.metadata().into_iter().map(|entry| {
            let value = match entry.content {
                MetadataContent::Method(returned) => plain(py, &returned)?,
                _ => {
                    let bytes = pte.named_data_bytes(entry.name).map_err(|error| raise(py, &error))?;
                    PyBytes::new(py, bytes).into_any()
                }
            };
            Ok((entry.name.to_owned(), value))
        });
        entries.collect()
    }

    /// Returns the contents of a delegate's payload.
    fn payload<'py>(&self, py: Python<'py>, method: usize, delegate: usize) -> PyResult<Bound<'py, PyAny>> {
        let found = self.delegate(py, method, delegate)?;
        let pte = self.pte(py)?;
        ask(py, || pte.delegate(found))
    }

    /// Returns the bytes of a delegate's payload.
    fn payload_bytes<'py>(
        &self,
        py: Python<'py>,
        method: usize,
        delegate: usize,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let found = self.delegate(py, method, delegate)?;
        let pte = self.pte(py)?;
        let data = pte.delegate_data(found).map_err(|error| raise(py, &error))?;
        self.0.view(py, pte.bytes(&data).map_err(|error| raise(py, &error))?)
    }

    /// Returns the findings in a file, and in a program and its `.ptd` files together, at a level: `structure`, `runtime` or `strict`.
    fn verify<'py>(&self, py: Python<'py>, level: &str, data: Vec<Py<Self>>) -> PyResult<Bound<'py, PyAny>> {
        let level: Level = level.parse().map_err(|error: Error| raise(py, &error))?;
        let data = Self::data(py, &data)?;
        let model = self.model();
        if !data.is_empty() && !matches!(model, Model::Pte(_) | Model::Bpte(_)) {
            return Err(unfit(py, format!("a {} has no .ptd files", model.kind())));
        }
        let data: Vec<&Ptd<'_>> = data.iter().collect();
        ask(py, || Ok(self.0.file()?.check(level, &data).findings))
    }

    /// Returns the releases that load the file, and the behaviour of each, with the `.ptd` files if any are given.
    fn releases<'py>(&self, py: Python<'py>, data: Vec<Py<Self>>) -> PyResult<Bound<'py, PyAny>> {
        let data = Self::data(py, &data)?;
        let data: Vec<&Ptd<'_>> = data.iter().collect();
        let given = (!data.is_empty()).then_some(&*data);
        ask(py, || Ok(self.0.file()?.releases(&Target::default(), given)))
    }

    /// Returns what the newest release of ExecuTorch does with the file and its `.ptd` files.
    fn verdict<'py>(&self, py: Python<'py>, data: Vec<Py<Self>>) -> PyResult<Bound<'py, PyAny>> {
        let data = Self::data(py, &data)?;
        let data: Vec<&Ptd<'_>> = data.iter().collect();
        ask(py, || Ok(self.0.file()?.verdict(&Target::default(), &data)))
    }

    /// Returns what a program needs from a target, and what the target lacks.
    fn fit<'py>(
        &self,
        py: Python<'py>,
        data: Vec<Py<Self>>,
        target: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let target: Target = depythonize(target).map_err(|error| PyValueError::new_err(error.to_string()))?;
        target.check().map_err(|error| raise(py, &error))?;
        let data = Self::data(py, &data)?;
        let data: Vec<&Ptd<'_>> = data.iter().collect();
        let pte = self.pte(py)?;
        ask(py, || Ok(self.analysis(pte).with_data(data.iter().copied()).fit(&target)))
    }

    /// Returns the hash of the content of a program with its `.ptd` files, or of a `.ptd`.
    fn content_hash<'py>(&self, py: Python<'py>, data: Vec<Py<Self>>) -> PyResult<Bound<'py, PyAny>> {
        if let Model::Ptd(ptd) = self.model() {
            return ask(py, || ptd.content_hash());
        }
        let data = Self::data(py, &data)?;
        let pte = self.pte(py)?;
        ask(py, || Analysis::new(pte).with_data(data.iter()).content_hash())
    }

    fn savings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ask(py, || Ok(self.0.file()?.savings()))
    }

    /// Returns the differences between this file and `after`.
    fn diff<'py>(&self, py: Python<'py>, after: &Self, tensors: bool) -> PyResult<Bound<'py, PyAny>> {
        let file = |file: &'_ Arc<OwnedModel>| py.detach(|| file.file().map(|_| ())).map_err(|error| raise(py, &error));
        file(&self.0)?;
        file(&after.0)?;
        let models = (self.0.file(), after.0.file());
        let (Ok(before), Ok(other)) = models else { return Err(unfit(py, "a file cannot be written".into())) };
        let analyses = [self.analysis_of(before), after.analysis_of(other)];
        let mut options = DiffOptions::default();
        options.tensors = tensors;
        ask(py, || {
            let mut sides = [Side::new(before, &[]), Side::new(other, &[])];
            for (side, analysis) in sides.iter_mut().zip(&analyses) {
                side.names = analysis.as_ref().map(Analysis::names);
            }
            Ok(inspect::diff(&sides[0], &sides[1], &options))
        })
    }

    /// Returns the times of an ETDump, with the program that ran if it is given.
    fn profile<'py>(
        &self,
        py: Python<'py>,
        program: Option<&Self>,
        method: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let pte = program.map(|program| program.pte(py)).transpose()?;
        let trace = self.etdp(py)?;
        let analysis = program.zip(pte).map(|(program, pte)| program.analysis(pte));
        ask(py, || Ok(trace.profile(analysis.as_ref(), method)))
    }

    /// Returns the page of `pte report`.
    fn report(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let size = self.size_in_bytes(py)?;
        let file = py.detach(|| self.0.file()).map_err(|error| raise(py, &error))?;
        let html = py.detach(|| {
            let report = self.analysis_of(file).map_or_else(|| file.report(), |analysis| analysis.report());
            pte::page(name, size, file, &report)
        });
        let html = html.map_err(|error| unfit(py, error.to_string()))?;
        Ok(String::from_utf8(html)?)
    }

    /// Returns the bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>, any_size: bool) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.image(any_size)?.to_vec()).map_err(|error| raise(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the file. `progress` is called with the numbers of bytes written and of all bytes.
    fn save(&self, py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>, any_size: bool) -> PyResult<()> {
        let files = self.0.files();
        let image = py.detach(|| self.0.image(any_size)).map_err(|error| raise(py, &error))?;
        let image = files.iter().fold(image, |image, (file, bytes)| image.copy_from(file, bytes));
        save(py, &self.0, &image, &path, progress)
    }
}
