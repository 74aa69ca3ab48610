//! The parts of earlier runs, from which the rows of unchanged files are taken.

use super::part::{FIRST, LAST, VERSION, failed, metadata, version};
use super::rows::History;
use super::tables::{TABLES, Table};
use crate::error::Result;
use crate::stores::ListedFile;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The earlier parts of a catalogue.
pub struct Parts {
    /// The parts, newest run first.
    parts: Vec<Arc<Earlier>>,
    /// The parts whose lists of files are in memory, the most recently used one last.
    loaded: Vec<Arc<Earlier>>,
}

/// The maximum number of parts whose lists of files are in memory.
const LOADED: usize = 16;

/// A part.
pub struct Earlier {
    name: String,
    /// The folders that may contain its tables.
    roots: Arc<Vec<PathBuf>>,
    first: String,
    last: String,
    files: Mutex<Option<HashMap<String, Identity>>>,
}

/// The state of a file in the parts of earlier runs.
pub enum Known {
    /// The file has not changed since this part was written.
    Unchanged(Arc<Earlier>),
    /// The file is new or has changed, or its rows lack hashes.
    Changed(History),
}

/// The state of a file when its rows were written.
#[derive(Clone)]
struct Identity {
    size: Option<i64>,
    history: History,
    etag: Option<String>,
    modified: Option<i64>,
    hashed: bool,
    unreadable: bool,
}

impl Parts {
    /// Finds the complete parts in some folders. Files that cannot be read, or that have another version, are left out.
    pub fn find(roots: Vec<PathBuf>) -> Self {
        let roots = Arc::new(roots);
        let mut parts = Vec::new();
        for root in roots.iter() {
            let Ok(entries) = fs::read_dir(root.join("files")) else { continue };
            for entry in entries.flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                if name.starts_with('.') {
                    continue;
                }
                parts.extend(Earlier::open(&entry.path(), name, &roots).map(Arc::new));
            }
        }
        // Names begin with the number of the run.
        parts.sort_by(|left, right| right.name.cmp(&left.name));
        Self { parts, loaded: Vec::new() }
    }

    /// Looks up a file in the parts, newest run first.
    pub fn same(&mut self, found: &ListedFile, hash: bool, run: u64) -> Known {
        let name = &*found.place.name;
        let mut history = None;
        let may_have = |part: &&Arc<Earlier>| *part.first <= *name && name <= &*part.last;
        for part in self.parts.iter().filter(may_have) {
            let identity = part.identity(name);
            // The part's list of files is in memory now, whether it contains the file or not.
            self.loaded.retain(|loaded| !Arc::ptr_eq(loaded, part));
            self.loaded.push(Arc::clone(part));
            if self.loaded.len() > LOADED {
                self.loaded.remove(0).forget();
            }
            let Some(identity) = identity else { continue };
            if identity.is(found) && (identity.hashed || !hash) {
                return Known::Unchanged(Arc::clone(part));
            }
            // The last run that saw the file has the most recent history.
            history.get_or_insert(match identity.is(found) {
                true => identity.history,
                false => History { run: Some(run), size_before: identity.size },
            });
        }
        Known::Changed(history.unwrap_or(History { run: Some(run), size_before: None }))
    }
}

impl Earlier {
    fn open(path: &Path, name: String, roots: &Arc<Vec<PathBuf>>) -> Option<Self> {
        let pairs = metadata(path)?;
        let value = |key: &str| pairs.iter().find(|pair| pair.key == key)?.value.clone();
        if value(VERSION)? != version() {
            return None;
        }
        let (first, last) = (value(FIRST)?, value(LAST)?);
        Some(Self { name, roots: Arc::clone(roots), first, last, files: Mutex::new(None) })
    }

    /// Returns the rows of a table, with the range of each file's rows.
    pub fn rows(&self, table: &Table) -> Result<(RecordBatch, HashMap<String, Range<usize>>)> {
        let paths = self.roots.iter().map(|root| root.join(table.name).join(&self.name));
        let path = paths.into_iter().find(|path| path.exists());
        let path = path.ok_or_else(|| failed(format!("{} has no {}", table.name, self.name)))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).map_err(failed)?;
        let reader = reader.build().map_err(failed)?;
        let batches = reader.collect::<std::result::Result<Vec<_>, _>>().map_err(failed)?;
        let batch = concat_batches(&table.schema(), &batches).map_err(failed)?;
        let mut ranges: HashMap<String, Range<usize>> = HashMap::new();
        for (row, name) in batch.column(0).as_string::<i32>().iter().enumerate() {
            let range = ranges.entry(name.unwrap_or_default().to_owned()).or_insert(row..row);
            range.end = row + 1;
        }
        Ok((batch, ranges))
    }

    fn identity(&self, name: &str) -> Option<Identity> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.get_or_insert_with(|| self.load().unwrap_or_default());
        files.get(name).cloned()
    }

    fn forget(&self) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn load(&self) -> Option<HashMap<String, Identity>> {
        let (batch, ranges) = self.rows(TABLES.first()?).ok()?;
        let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
        let (etags, kinds) = (text("etag")?, text("error_kind")?);
        let sizes = batch.column_by_name("size")?.as_primitive_opt::<Int64Type>()?;
        let numbers = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
        let (sizes_before, runs) = (numbers("size_before")?, numbers("run")?);
        let times = batch.column_by_name("modified")?.as_primitive_opt::<TimestampMicrosecondType>()?;
        let hashed = batch.column_by_name("hashed")?.as_boolean_opt()?;
        let identity = |row: usize| Identity {
            size: sizes.is_valid(row).then(|| sizes.value(row)),
            history: History {
                run: runs.is_valid(row).then(|| runs.value(row)).and_then(|run| u64::try_from(run).ok()),
                size_before: sizes_before.is_valid(row).then(|| sizes_before.value(row)),
            },
            etag: etags.is_valid(row).then(|| etags.value(row).to_owned()),
            modified: times.is_valid(row).then(|| times.value(row)),
            hashed: hashed.value(row),
            unreadable: kinds.is_valid(row) && kinds.value(row) == "unreadable",
        };
        Some(ranges.into_iter().map(|(name, range)| (name, identity(range.start))).collect())
    }
}

impl Identity {
    /// Returns `true` if a file is unchanged: by its ETag and size, or without an ETag, by size and time.
    fn is(&self, found: &ListedFile) -> bool {
        let etag = found.etag.as_deref().map(|etag| etag.trim_matches('"'));
        let same = match (&self.etag, etag) {
            (Some(before), Some(now)) => before == now,
            (None, None) => self.modified.is_some() && self.modified == found.modified,
            _ => false,
        };
        same && self.size == i64::try_from(found.size).ok() && !self.unreadable
    }
}
