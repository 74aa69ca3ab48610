//! Trees with the bytes that they borrow.

use executorch_format::{Error, Image, Model, offset_in};
use memmap2::Mmap;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};
use std::ffi::{c_int, c_void};
use std::fs::{File, Metadata};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// Bytes that do not move or change.
enum Bytes {
    Map(Mmap, Origin),
    Python(PyBackedBytes),
    Rust(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map, _) => map,
            Self::Python(bytes) => bytes,
            Self::Rust(bytes) => bytes,
        }
    }
}

/// The path of a mapped file. The file is not kept open, because the number of open files is limited.
struct Origin {
    path: PathBuf,
    identity: Identity,
    /// The identity of the file that this process last saved under the path, or of the mapped file.
    last_seen: Mutex<Identity>,
}

/// The device and inode number of a file.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(found: &Metadata) -> Option<Identity> {
    Some((std::os::unix::fs::MetadataExt::dev(found), std::os::unix::fs::MetadataExt::ino(found)))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<Identity> {
    None
}

impl Origin {
    /// Opens the file again, if it still exists.
    fn open(&self) -> Option<File> {
        let file = File::open(&self.path).ok()?;
        (identity(&file.metadata().ok()?)? == self.identity).then_some(file)
    }

    /// Returns `true` if this is the path of another file, or if no other program replaced the file.
    fn is_current(&self, path: &Path) -> bool {
        let now = std::fs::metadata(path).ok().and_then(|found| identity(&found));
        !self.is_at(path) || now.is_none() || now == self.last_seen.lock().ok().map(|seen| *seen)
    }

    fn is_at(&self, path: &Path) -> bool {
        std::fs::canonicalize(path).is_ok_and(|path| std::fs::canonicalize(&self.path).is_ok_and(|own| own == path))
    }

    /// Notes that this process replaced the file, if this is its path.
    fn saved(&self, path: &Path) {
        let now = std::fs::metadata(path).ok().and_then(|found| identity(&found));
        if let (true, Some(now), Ok(mut seen)) = (self.is_at(path), now, self.last_seen.lock()) {
            *seen = now;
        }
    }
}

/// Bytes for trees. Python sees parts of them.
pub struct Source {
    bytes: Bytes,
}

/// The bytes of a file or of a tensor.
#[pyclass(frozen, name = "Source", module = "executorch_format._native")]
pub struct PySource(pub Arc<Source>);

#[pymethods]
impl PySource {
    /// Maps a file that Python opened from `path`. `identity` is its device and inode number. The file can be closed, since a map needs no
    /// descriptor.
    #[cfg(unix)]
    #[staticmethod]
    #[allow(unsafe_code)]
    fn mapped(descriptor: std::os::fd::RawFd, path: PathBuf, identity: Identity) -> PyResult<Self> {
        // SAFETY: the package documents that a file must not be truncated or written to while it is open here.
        let map = unsafe { Mmap::map(descriptor)? };
        Ok(Self(Arc::new(Source {
            bytes: Bytes::Map(map, Origin { path, identity, last_seen: Mutex::new(identity) }),
        })))
    }

    /// Takes bytes in memory.
    #[staticmethod]
    fn of_bytes(bytes: Bound<'_, PyBytes>) -> Self {
        Self(Arc::new(Source { bytes: Bytes::Python(bytes.into()) }))
    }
}

/// A part of a source's bytes, shown to Python as a `memoryview`.
#[pyclass(frozen, module = "executorch_format._native")]
struct Part {
    source: Arc<Source>,
    range: Range<usize>,
}

#[pymethods]
impl Part {
    #[allow(unsafe_code)]
    #[expect(clippy::indexing_slicing, reason = "a part of the source's bytes, which do not change")]
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let part = slf.get();
        let bytes = &part.source.bytes[part.range.clone()];
        let size = isize::try_from(bytes.len())?;
        // SAFETY: Python passes a valid `view`. The buffer is read-only, and holds a reference to this object, which keeps the bytes.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr() as *mut c_void, size, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// A tree, and the sources that it borrows from.
pub struct OwnedModel {
    model: Model<'static>,
    /// Sorted by address.
    sources: Vec<Arc<Source>>,
    /// The size of the file that the tree was read from; `None` for a tree that was created or changed here.
    file_size: Option<u64>,
    /// The tree of the written file, for a tree that was created or changed here.
    written: OnceLock<Box<OwnedModel>>,
}

/// Returns a source's bytes, for trees that are stored together with it.
#[allow(unsafe_code)]
pub fn borrowed(source: &Arc<Source>) -> &'static [u8] {
    let bytes: &[u8] = &source.bytes;
    // SAFETY: every tree made from these bytes is put into an `OwnedModel`, which keeps the source and lends the tree for no longer than
    // its own life. The bytes do not move: they belong to a memory map or to an immutable Python object.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

impl OwnedModel {
    pub fn parse(source: Arc<Source>) -> Result<Self, Error> {
        let model = Model::parse(borrowed(&source))?;
        let file_size = Some(source.bytes.len() as u64);
        Ok(Self { model, sources: vec![source], file_size, written: OnceLock::new() })
    }

    /// Stores a tree. `sources` must contain everything that the tree borrows from.
    pub fn new(model: impl Into<Model<'static>>, mut sources: Vec<Arc<Source>>) -> Self {
        sources.retain(|source| !source.bytes.is_empty());
        sources.sort_by_key(|source| source.bytes.as_ptr() as usize);
        sources.dedup_by(|left, right| Arc::ptr_eq(left, right));
        Self { model: model.into(), sources, file_size: None, written: OnceLock::new() }
    }

    pub fn model(&self) -> &Model<'_> {
        &self.model
    }

    /// Returns the tree, to be cloned, changed and stored with the same sources.
    pub fn to_change(&self) -> &Model<'static> {
        &self.model
    }

    pub fn sources(&self) -> &[Arc<Source>] {
        &self.sources
    }

    /// Returns the tree for questions about a file. A changed tree is first written in memory, because its offsets are known only then.
    pub fn file(&self) -> Result<&Model<'_>, Error> {
        if self.file_size.is_some() {
            return Ok(&self.model);
        }
        if let Some(written) = self.written.get() {
            return Ok(&written.model);
        }
        let bytes = Bytes::Rust(self.image(false)?.to_vec()?);
        let written = Self::parse(Arc::new(Source { bytes }))?;
        Ok(&self.written.get_or_init(|| Box::new(written)).model)
    }

    /// Returns the file to be written, checked by [`check_size`](Self::check_size).
    pub fn image(&self, any_size: bool) -> Result<Image<'_>, Error> {
        let image = self.model.image()?;
        self.check_size(&image, any_size)?;
        Ok(image)
    }

    /// Fails if a file is much larger than the sources that it is made from, unless `any_size` is set: in a small hostile file, many parts can
    /// share bytes that are written once for each of them.
    pub fn check_size(&self, image: &Image<'_>, any_size: bool) -> Result<(), Error> {
        if !any_size {
            image.check_size(self.sources.iter().map(|source| source.bytes.len() as u64).sum())?;
        }
        Ok(())
    }

    /// Returns the size of the file in bytes; for an unsaved file, its future size.
    pub fn size(&self) -> Result<u64, Error> {
        self.file_size.map_or_else(|| self.model.image().map(|image| image.size()), Ok)
    }

    /// Returns `false` if another program replaced the file at `path` since it was opened as one of the sources.
    pub fn is_current(&self, path: &Path) -> bool {
        self.origins().all(|origin| origin.is_current(path))
    }

    /// Notes that the file at `path` was replaced by this process.
    pub fn saved(&self, path: &Path) {
        self.origins().for_each(|origin| origin.saved(path));
    }

    fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.sources.iter().filter_map(|source| match &source.bytes {
            Bytes::Map(_, origin) => Some(origin),
            Bytes::Python(_) | Bytes::Rust(_) => None,
        })
    }

    /// Returns the mapped files with their bytes, so that the system can copy from them in a write.
    pub fn files(&self) -> Vec<(File, &[u8])> {
        let file = |source: &'_ Arc<Source>| match &source.bytes {
            Bytes::Map(_, origin) => origin.open(),
            Bytes::Python(_) | Bytes::Rust(_) => None,
        };
        self.sources.iter().filter_map(|source| Some((file(source)?, &*source.bytes))).collect()
    }

    /// Returns a part of the tree's bytes as a read-only `memoryview`, without a copy if it is a part of a source.
    pub fn view<'py>(&self, py: Python<'py>, part: &[u8]) -> PyResult<Bound<'py, PyMemoryView>> {
        let after = self.sources.partition_point(|source| source.bytes.as_ptr() <= part.as_ptr());
        let source = self.sources.split_at(after).0.last();
        let Some((source, start)) = source.and_then(|source| Some((source, offset_in(&source.bytes, part)?))) else {
            return PyMemoryView::from(&PyBytes::new(py, part));
        };
        let start = usize::try_from(start)?;
        let part = Part { source: Arc::clone(source), range: start..start + part.len() };
        PyMemoryView::from(Bound::new(py, part)?.as_any())
    }
}
