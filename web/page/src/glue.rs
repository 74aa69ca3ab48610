//! The functions that the worker's JavaScript calls. Each file is read through its own `read(start, size)`, which returns bytes
//! synchronously.

use crate::{Export, Form, Hash, Session, Spread, Storage};
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// A file in the worker.
    pub type Reader;

    #[wasm_bindgen(method, catch)]
    fn read(this: &Reader, start: f64, size: f64) -> Result<Vec<u8>, wasm_bindgen::JsValue>;
}

#[wasm_bindgen]
extern "C" {
    /// An entry of a ZIP file.
    type Entry;

    #[wasm_bindgen(method, getter)]
    fn name(this: &Entry) -> String;

    #[wasm_bindgen(method, getter)]
    fn content(this: &Entry) -> Vec<u8>;

    /// Returns the entries of a ZIP file for which [`takes_entry`] returns `true`. An error is a string.
    #[wasm_bindgen(method, catch)]
    fn entries(this: &Reader) -> Result<Vec<Entry>, wasm_bindgen::JsValue>;
}

/// Returns `true` for the entries of a ZIP file that a page reads. `size` is the size of the entry and of those that were taken before it.
/// Fails if that is too large for the file.
#[wasm_bindgen]
pub fn takes_entry(name: &str, size: f64, file_size: f64) -> Result<bool, String> {
    executorch_format::naming::EtRecord::takes_entry(name, size as u64, file_size as u64)
        .map_err(|error| error.to_string())
}

impl Storage for Reader {
    fn read(&self, start: u64, size: u64) -> Result<Vec<u8>, String> {
        let bytes =
            Reader::read(self, start as f64, size as f64).map_err(|_| "the file cannot be read any more".to_owned())?;
        if bytes.len() as u64 == size { Ok(bytes) } else { Err("the file has become shorter".to_owned()) }
    }

    fn entries(&self) -> Result<Vec<(String, Vec<u8>)>, String> {
        let entries = Reader::entries(self)
            .map_err(|error| format!("not a ZIP file that can be read: {}", error.as_string().unwrap_or_default()))?;
        Ok(entries.iter().map(|entry| (entry.name(), entry.content())).collect())
    }
}

/// The files on the page. Answers are JSON, and errors are strings.
#[wasm_bindgen]
#[derive(Default)]
pub struct Page(Session);

#[wasm_bindgen]
impl Page {
    /// Creates a page without files.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, and returns its kind, or why it cannot be read.
    pub fn add(&mut self, name: String, size: f64, reader: &Reader) -> Result<String, String> {
        self.0.add(name, size as u64, reader)
    }

    /// Returns the list of files, with their kinds.
    pub fn roles(&self) -> Result<String, String> {
        crate::session::json(&self.0.roles())
    }

    /// Returns a part of a file's report.
    pub fn part(&self, name: &str) -> Result<String, String> {
        self.0.part(name)
    }

    /// Returns what the main program needs and a device lacks. `target` is the device as JSON. Only in the npm package: reading a target
    /// is 16 KB of the module.
    #[cfg(feature = "fit")]
    pub fn fit(&self, target: &str) -> Result<String, String> {
        self.0.fit(target)
    }

    /// Returns the differences between two files.
    pub fn compare(&self) -> Result<String, String> {
        self.0.compare()
    }

    /// Returns a node of a file's tree.
    pub fn branch(&self, index: usize, path: &str, first: usize, of_bundle: bool) -> Result<String, String> {
        self.0.branch(index, path, first, of_bundle)
    }

    /// Starts to save a tensor.
    pub fn export(&self, index: usize, offset: f64, size: f64, safetensors: bool) -> Result<Saving, String> {
        let form = if safetensors { Form::Safetensors } else { Form::Npy };
        self.0.export(index, offset as u64, size as u64, form).map(Saving)
    }

    /// Starts to count the values of a tensor.
    pub fn spread(&self, index: usize, offset: f64) -> Result<Counting, String> {
        self.0.spread(index, offset as u64).map(Counting)
    }

    /// Returns the histogram, after all bytes were added.
    pub fn spread_out(&mut self, counting: Counting) -> Result<String, String> {
        self.0.spread_out(counting.0)
    }
}

/// A tensor that is being saved.
#[wasm_bindgen]
pub struct Saving(Export);

#[wasm_bindgen]
impl Saving {
    /// Returns the bytes to write before the tensor's unchanged bytes, or `undefined` if the tensor's bytes must be passed to `finish` instead.
    pub fn header(&self) -> Option<Vec<u8>> {
        self.0.header.clone()
    }

    /// Returns the whole file, given the tensor's bytes.
    pub fn finish(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        self.0.finish(&bytes)
    }
}

/// A histogram that is being counted.
#[wasm_bindgen]
pub struct Counting(Spread);

#[wasm_bindgen]
impl Counting {
    /// Returns the ranges of files whose bytes must be added, in this order: the index of the file, start and size of each.
    pub fn parts(&self) -> Vec<f64> {
        self.0.parts().into_iter().flat_map(|(index, start, size)| [index as f64, start as f64, size as f64]).collect()
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.add(bytes);
    }
}

/// A hash that is being computed.
#[wasm_bindgen]
#[derive(Default)]
pub struct Hashing(Hash);

#[wasm_bindgen]
impl Hashing {
    /// Starts a hash.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.add(bytes);
    }

    /// Returns the SHA-256 in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finish()
    }
}
