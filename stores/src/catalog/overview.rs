//! A summary of a catalogue, read from its tables: for a page, and for a gate.

use super::part::failed;
use super::tables::{FORMAT, TABLES};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::Path;
use std::str::FromStr;

/// The maximum number of rows in each list.
const MAX_LISTED: usize = 50;

/// The maximum number of files named for an exceeded limit.
const MAX_NAMED: usize = 3;

/// A summary of a catalogue. Its lists have at most 50 items, the most important first.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Overview {
    /// The number of the last run.
    pub run: u64,
    /// The number of files.
    pub files: u64,
    /// The total size of all files in bytes.
    pub bytes: u64,
    /// Files and bytes by kind: `pte`, `ptd`, `bpte`, `etdp`, or `unknown`.
    pub kinds: BTreeMap<String, Count>,
    /// The number of files that could not be read or are not valid models.
    pub errors: u64,
    /// Some of these files.
    pub failed: Vec<FileError>,
    /// The numbers of files by the release of ExecuTorch and its behaviour with them.
    pub releases: BTreeMap<String, ReleaseCount>,
    /// The number of files with machine code that runs when they are loaded.
    pub native_code: u64,
    /// The number of files that the last run saw for the first time.
    pub added: u64,
    /// Files that changed before the last run, those with the largest growth first.
    pub changed: Vec<Growth>,
    /// The bytes of redundant copies of files and blobs; `None` if the catalogue has no hashes.
    pub duplicate_bytes: Option<u64>,
    /// Blobs that are stored more than once, those that waste most first.
    pub duplicates: Vec<Duplicate>,
    /// Operators, the most widespread first.
    pub operators: Vec<Use>,
    /// Backends of delegates, the most widespread first.
    pub backends: Vec<Use>,
    /// Broken rules, those broken by most files first.
    pub findings: Vec<Use>,
    /// The number of files with a finding that is an error.
    pub files_with_errors: u64,
}

/// A number of files, and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of files.
    pub files: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// A file without rows in other tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The name of the file.
    pub file: String,
    /// The reason.
    pub error: String,
}

/// The numbers of files that a release loads, refuses, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseCount {
    /// The number of files that it loads.
    pub loads: u64,
    /// The number of files that it reports an error for.
    pub refuses: u64,
    /// The number of files that it crashes on.
    pub dies: u64,
    /// The number of files that it loads, but computes wrong results with.
    pub miscomputes: u64,
    /// Some of the files that it does not run correctly.
    pub examples: Vec<String>,
}

/// A file that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The name of the file.
    pub file: String,
    /// The old size in bytes.
    pub before: u64,
    /// The new size in bytes.
    pub after: u64,
}

impl Growth {
    /// Returns the growth as a share of the size before: 0.1 is 10 %.
    pub fn share(&self) -> f64 {
        (self.after as f64 - self.before as f64) / (self.before as f64).max(1.0)
    }
}

/// Bytes that are stored more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The SHA-256 of the bytes.
    pub sha256: String,
    /// The size of one copy in bytes.
    pub size: u64,
    /// The number of copies.
    pub copies: u64,
    /// The total size of all copies but one, in bytes.
    pub wasted: u64,
    /// One of the files that contain it.
    pub file: String,
}

/// A name that occurs in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The name.
    pub name: String,
    /// The number of files in which it occurs.
    pub files: u64,
    /// The number of occurrences.
    pub times: u64,
}

/// A limit that a catalogue must keep, for a gate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Limit {
    /// Every file is readable and valid.
    Errors,
    /// No file breaks a rule of the level `runtime` whose severity is error.
    Findings,
    /// The release runs every file.
    Release(String),
    /// No file grew by more than this share in the last run: 0.1 is 10 %.
    Growth(f64),
    /// Duplicates take at most this number of bytes.
    Duplicates(u64),
    /// No file has machine code that runs when it is loaded.
    NativeCode,
}

impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let expected = || {
            let known = "errors, findings, native-code, release=1.5, growth=10% or duplicates=BYTES";
            Error::Failed(format!("{text:?}: expected {known}"))
        };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        Ok(match (name, value) {
            ("errors", None) => Self::Errors,
            ("findings", None) => Self::Findings,
            ("native-code", None) => Self::NativeCode,
            ("release", Some(release)) if !release.is_empty() => Self::Release(release.to_owned()),
            ("growth", Some(share)) => {
                let share: f64 = share.strip_suffix('%').and_then(|share| share.parse().ok()).ok_or_else(expected)?;
                if !share.is_finite() || share < 0.0 {
                    return Err(expected());
                }
                Self::Growth(share / 100.0)
            }
            ("duplicates", Some(bytes)) => Self::Duplicates(bytes.parse().map_err(|_| expected())?),
            _ => return Err(expected()),
        })
    }
}

impl Overview {
    /// Reads the tables of a catalogue.
    ///
    /// Fails if the folder has no catalogue, or one of another format.
    pub fn read(folder: &Path) -> Result<Self> {
        let about = fs::read(folder.join("catalog.json"))
            .map_err(|error| Error::Failed(format!("{}: no catalogue found: {error}", folder.display())))?;
        let about: serde_json::Value = serde_json::from_slice(&about).map_err(failed)?;
        let format = about.get("format").and_then(serde_json::Value::as_u64);
        if format != Some(FORMAT.into()) {
            let fault = format!("{}: a catalogue of format {format:?}, expected {FORMAT}", folder.display());
            return Err(Error::Failed(fault));
        }
        let run = about.get("run").and_then(serde_json::Value::as_u64);
        let run = run.ok_or_else(|| Error::Failed(format!("{}: catalog.json has no run", folder.display())))?;
        let mut overview = Self { run, ..Self::default() };
        each(folder, "files", |rows| overview.add_files(rows))?;
        overview.changed.sort_by(|left, right| right.share().total_cmp(&left.share()).then(left.file.cmp(&right.file)));
        overview.add_duplicates(folder)?;
        overview.operators = uses(folder, "operators", "operator", Some("calls"))?;
        overview.backends = uses(folder, "delegates", "backend", None)?;
        overview.findings = uses(folder, "findings", "rule", None)?;
        let mut last = None;
        each(folder, "findings", |rows| {
            let (files, severities) = (texts(rows, "file")?, texts(rows, "severity")?);
            for (file, severity) in files.iter().zip(severities) {
                // The rows of a file are adjacent.
                if severity == Some("error") && last.as_deref() != file {
                    overview.files_with_errors += 1;
                    last = file.map(str::to_owned);
                }
            }
            Ok(())
        })?;
        Ok(overview)
    }

    fn add_files(&mut self, rows: &RecordBatch) -> Result<()> {
        let (names, kinds, errors) = (texts(rows, "file")?, texts(rows, "kind")?, texts(rows, "error")?);
        let (sizes, before, runs) = (numbers(rows, "size")?, numbers(rows, "size_before")?, numbers(rows, "run")?);
        let native = bits(rows, "native_code")?;
        let behaviours =
            [lists(rows, "loads")?, lists(rows, "refuses")?, lists(rows, "dies")?, lists(rows, "miscomputes")?];
        for row in 0..rows.num_rows() {
            let name = names.value(row);
            let size = number(sizes, row).unwrap_or_default();
            self.files += 1;
            self.bytes += size;
            let kind = if kinds.is_valid(row) { kinds.value(row) } else { "unknown" };
            let count = self.kinds.entry(kind.to_owned()).or_default();
            (count.files, count.bytes) = (count.files + 1, count.bytes + size);
            if errors.is_valid(row) {
                self.errors += 1;
                if self.failed.len() < MAX_LISTED {
                    self.failed.push(FileError { file: name.to_owned(), error: errors.value(row).to_owned() });
                }
            }
            self.native_code += u64::from(native.value(row));
            if number(runs, row) == Some(self.run) {
                match number(before, row) {
                    None => self.added += 1,
                    Some(before) if before != size => {
                        self.changed.push(Growth { file: name.to_owned(), before, after: size });
                        self.keep_most_grown();
                    }
                    Some(_) => {}
                }
            }
            for (behaviour, releases) in behaviours.iter().enumerate() {
                let releases = releases.value(row);
                for release in releases.as_string::<i32>().iter().flatten() {
                    let count = self.releases.entry(release.to_owned()).or_default();
                    match behaviour {
                        0 => count.loads += 1,
                        1 => count.refuses += 1,
                        2 => count.dies += 1,
                        _ => count.miscomputes += 1,
                    }
                    if behaviour != 0 && count.examples.len() < MAX_NAMED {
                        count.examples.push(name.to_owned());
                    }
                }
            }
        }
        Ok(())
    }

    /// Drops the changed files that grew least, so that memory use does not grow with the catalogue.
    fn keep_most_grown(&mut self) {
        if self.changed.len() >= 2 * MAX_LISTED {
            self.changed.sort_by(|left, right| right.share().total_cmp(&left.share()));
            self.changed.truncate(MAX_LISTED);
        }
    }

    fn add_duplicates(&mut self, folder: &Path) -> Result<()> {
        let mut copies: HashMap<String, Duplicate> = HashMap::new();
        let mut hashed = false;
        each(folder, "blobs", |rows| {
            let (files, kinds, hashes) = (texts(rows, "file")?, texts(rows, "kind")?, texts(rows, "sha256")?);
            let sizes = numbers(rows, "size")?;
            for row in 0..rows.num_rows() {
                // Segments and programs contain the other blobs.
                if !hashes.is_valid(row)
                    || !matches!(kinds.value(row), "constant" | "initial_state" | "named" | "delegate")
                {
                    continue;
                }
                hashed = true;
                let size = number(sizes, row).unwrap_or_default();
                if size == 0 {
                    continue;
                }
                let sha256 = hashes.value(row);
                match copies.get_mut(sha256) {
                    Some(known) => (known.copies, known.wasted) = (known.copies + 1, known.wasted + size),
                    None => {
                        let file = files.value(row).to_owned();
                        let sha256 = sha256.to_owned();
                        let first = Duplicate { sha256: sha256.clone(), size, copies: 1, wasted: 0, file };
                        copies.insert(sha256, first);
                    }
                }
            }
            Ok(())
        })?;
        let mut duplicates: Vec<_> = copies.into_values().filter(|known| known.copies > 1).collect();
        self.duplicate_bytes = hashed.then(|| duplicates.iter().map(|known| known.wasted).sum());
        duplicates
            .sort_by(|left, right| (Reverse(left.wasted), &left.sha256).cmp(&(Reverse(right.wasted), &right.sha256)));
        duplicates.truncate(MAX_LISTED);
        self.duplicates = duplicates;
        Ok(())
    }

    /// Returns the exceeded limits, each as a sentence. Fails if the catalogue cannot answer: duplicates need hashes, and a release must
    /// be one that the catalogue has verdicts about.
    pub fn exceeded(&self, limits: &[Limit]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for limit in limits {
            match limit {
                Limit::Errors if self.errors > 0 => {
                    let first =
                        self.failed.iter().take(MAX_NAMED).map(|failed| format!("{}: {}", failed.file, failed.error));
                    found.push(format!("errors: {} files: {}", self.errors, first.collect::<Vec<_>>().join("; ")));
                }
                Limit::Findings if self.files_with_errors > 0 => {
                    let rules: Vec<_> = self.findings.iter().take(MAX_NAMED).map(|rule| rule.name.as_str()).collect();
                    found.push(format!("findings: {} files break rules: {}", self.files_with_errors, rules.join(", ")));
                }
                Limit::NativeCode if self.native_code > 0 => {
                    found.push(format!("native-code: {} files have machine code", self.native_code));
                }
                Limit::Release(release) => {
                    let Some(count) = self.releases.get(release) else {
                        let known: Vec<_> = self.releases.keys().map(String::as_str).collect();
                        let fault = format!("release={release}: expected one of {}", known.join(", "));
                        return Err(Error::Failed(fault));
                    };
                    let bad = count.refuses + count.dies + count.miscomputes;
                    if bad > 0 {
                        let examples = count.examples.join(", ");
                        found.push(format!("release={release}: {bad} files do not run: {examples}"));
                    }
                }
                Limit::Growth(share) => {
                    let grown: Vec<_> = self.changed.iter().filter(|file| file.share() > *share).collect();
                    if !grown.is_empty() {
                        let first = grown
                            .iter()
                            .take(MAX_NAMED)
                            .map(|file| format!("{} {} to {} bytes", file.file, file.before, file.after));
                        let first = first.collect::<Vec<_>>().join(", ");
                        let count = grown.len();
                        found.push(format!("growth: {count} files grew by more than {} %: {first}", share * 100.0));
                    }
                }
                Limit::Duplicates(most) => {
                    let bytes = self.duplicate_bytes.ok_or_else(|| {
                        Error::Failed("duplicates: the catalogue has no hashes: write it with --hash".into())
                    })?;
                    if bytes > *most {
                        found.push(format!(
                            "duplicates: {bytes} bytes are stored more than once, expected at most {most}"
                        ));
                    }
                }
                Limit::Errors | Limit::Findings | Limit::NativeCode => {}
            }
        }
        Ok(found)
    }
}

/// Calls `take` with the rows of a table, part by part.
fn each(folder: &Path, table: &str, mut take: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
    debug_assert!(TABLES.iter().any(|known| known.name == table));
    let mut parts: Vec<_> = fs::read_dir(folder.join(table))?.collect::<std::io::Result<_>>()?;
    parts.retain(|part| part.path().extension().is_some_and(|ending| ending == "parquet"));
    parts.sort_by_key(fs::DirEntry::file_name);
    for part in parts {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(part.path())?).map_err(failed)?;
        for rows in reader.build().map_err(failed)? {
            take(&rows.map_err(failed)?)?;
        }
    }
    Ok(())
}

/// Returns the names in a column, each with the numbers of files and of occurrences: the sum of the column `times`, or the number of rows.
fn uses(folder: &Path, table: &str, column: &str, times: Option<&str>) -> Result<Vec<Use>> {
    let mut found: HashMap<String, (u64, u64, String)> = HashMap::new();
    each(folder, table, |rows| {
        let (files, names) = (texts(rows, "file")?, texts(rows, column)?);
        let times = times.map(|times| numbers(rows, times)).transpose()?;
        for row in 0..rows.num_rows() {
            let (file, name) = (files.value(row), names.value(row));
            let count = times.and_then(|times| number(times, row)).unwrap_or(1);
            match found.get_mut(name) {
                Some((files, all, last)) => {
                    *all += count;
                    // The rows of a file are next to each other.
                    if last != file {
                        *files += 1;
                        file.clone_into(last);
                    }
                }
                None => {
                    found.insert(name.to_owned(), (1, count, file.to_owned()));
                }
            }
        }
        Ok(())
    })?;
    let mut uses: Vec<_> = found.into_iter().map(|(name, (files, times, _))| Use { name, files, times }).collect();
    uses.sort_by(|left, right| {
        (Reverse(left.files), Reverse(left.times), &left.name).cmp(&(
            Reverse(right.files),
            Reverse(right.times),
            &right.name,
        ))
    });
    uses.truncate(MAX_LISTED);
    Ok(uses)
}

fn column<'r, T: 'static>(rows: &'r RecordBatch, name: &str) -> Result<&'r T> {
    let column = rows.column_by_name(name).and_then(|column| column.as_any().downcast_ref());
    column.ok_or_else(|| Error::Failed(format!("the tables have no column {name} of the expected type")))
}

fn texts<'r>(rows: &'r RecordBatch, name: &str) -> Result<&'r StringArray> {
    column(rows, name)
}

fn numbers<'r>(rows: &'r RecordBatch, name: &str) -> Result<&'r Int64Array> {
    column(rows, name)
}

fn bits<'r>(rows: &'r RecordBatch, name: &str) -> Result<&'r BooleanArray> {
    column(rows, name)
}

fn lists<'r>(rows: &'r RecordBatch, name: &str) -> Result<&'r ListArray> {
    column(rows, name)
}

fn number(column: &arrow_array::PrimitiveArray<Int64Type>, row: usize) -> Option<u64> {
    column.is_valid(row).then(|| column.value(row)).and_then(|number| u64::try_from(number).ok())
}
