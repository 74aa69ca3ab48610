//! The files that the tests read.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// A `.pte` or `.ptd` file.
pub struct Fixture {
    pub path: PathBuf,
    /// The bytes, aligned like a memory-mapped file.
    words: Vec<u128>,
    size: usize,
}

impl Fixture {
    fn read(path: PathBuf) -> Self {
        let bytes = std::fs::read(&path).unwrap();
        Self::new(path, &bytes)
    }

    fn new(path: PathBuf, bytes: &[u8]) -> Self {
        let mut words = vec![0u128; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { path, words, size: bytes.len() }
    }

    /// Creates a file that exists only in memory.
    pub fn made(name: &str, bytes: &[u8]) -> Self {
        Self::new(root().join(name), bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.size]
    }

    /// Returns `true` if it has the extension of programs.
    pub fn is_pte(&self) -> bool {
        has_extension(&self.path, &["pte"])
    }

    /// Returns its extension.
    pub fn extension(&self) -> &'static str {
        if self.is_pte() { "pte" } else { "ptd" }
    }

    /// Returns its path under the root, with slashes.
    pub fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap().display().to_string().replace(MAIN_SEPARATOR, "/")
    }

    /// Returns the version of ExecuTorch whose exporter wrote it, or `bench` for files of the benchmarks.
    pub fn version(&self) -> String {
        let folder = self.path.strip_prefix(root()).unwrap().components().next().unwrap();
        folder.as_os_str().to_string_lossy().into_owned()
    }

    /// Returns the content that the official Python package reads from it, or `None` if that failed or was not run.
    pub fn oracle(&self) -> Option<Value> {
        let oracle = self.beside("oracle.json").map(|text| serde_json::from_str::<Value>(&text).unwrap())?;
        oracle.get("kind").is_some().then_some(oracle)
    }

    /// Returns `true` if the official Python package does not recognize it as a model.
    fn is_damaged(&self) -> bool {
        self.beside("oracle.json").is_some_and(|oracle| oracle.contains("ValueError: unknown identifier"))
    }

    /// Returns the `.ptd` files in its folder.
    pub fn data_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path.parent().unwrap()).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| has_extension(path, &["ptd"]));
        files.sort();
        files
    }

    /// Returns the text of the file next to it with the same name, followed by a dot and `ending`.
    pub fn beside(&self, ending: &str) -> Option<String> {
        let path = format!("{}.{ending}", self.path.display());
        Path::new(&path).exists().then(|| std::fs::read_to_string(&path).unwrap())
    }
}

/// Returns the folder of the fixtures.
pub fn root() -> PathBuf {
    match std::env::var_os("EXECUTORCH_FIXTURES") {
        Some(root) => root.into(),
        None => crate::data(),
    }
}

/// Returns all fixtures except damaged ones, sorted by name.
pub fn fixtures() -> Vec<Fixture> {
    let fixtures = read_all(&["pte", "ptd"]);
    assert!(!fixtures.is_empty(), "no .pte or .ptd file under {}", root().display());
    fixtures.into_iter().filter(|fixture| !fixture.is_damaged()).collect()
}

/// Returns all files with that extension, sorted by name.
pub fn with_extension(extension: &str) -> Vec<Fixture> {
    read_all(&[extension])
}

/// Reads the files with these extensions, except those in folders that have tests of their own.
fn read_all(extensions: &[&str]) -> Vec<Fixture> {
    let is_fixture = |path: &PathBuf| {
        let is_skipped = |folder: &Path| {
            ["attacks", "malformed", "damaged", "flow", "names", "zoo"].iter().any(|skipped| folder.ends_with(skipped))
        };
        let below_root = path.strip_prefix(root()).unwrap();
        has_extension(path, extensions) && !below_root.ancestors().skip(1).any(is_skipped)
    };
    files_below(&root()).into_iter().filter(is_fixture).map(Fixture::read).collect()
}

/// Returns all files in a folder and in the folders in it, sorted by path.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Returns whether a file has one of these extensions.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|extension| extensions.contains(&extension))
}

/// Returns a file of `tests/data`, even if `EXECUTORCH_FIXTURES` names another folder.
pub fn fixture(name: &str) -> Fixture {
    Fixture::read(crate::data().join(name))
}

/// Returns the hash in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs `compare` on each fixture and reports every failure, not just the first.
pub fn for_each(fixtures: &[Fixture], compare: impl Fn(&Fixture) -> Result<(), String>) {
    let failed: Vec<String> = fixtures
        .iter()
        .filter_map(|fixture| compare(fixture).err().map(|found| format!("{}:\n{found}", fixture.name())))
        .collect();
    assert!(failed.is_empty(), "{} of {} files:\n{}", failed.len(), fixtures.len(), failed.join("\n"));
}

/// Returns the stride at which tests try bytes, words and lengths of each file: the value of the environment variable `SUITE_STRIDE`, or 307. With
/// 29, as in `.ci/run`, over many files with the same tables, each byte of each field has its turn; with 1, in each file.
pub fn stride() -> usize {
    std::env::var("SUITE_STRIDE").map_or(307, |stride| stride.parse().unwrap())
}

/// Returns a count of things to try, or that were tried, reduced like the number of files: see [`step`].
pub fn scaled(count: usize) -> usize {
    count / step()
}

/// Returns all files of `tests/data`, or only some of them: see [`step`].
pub fn some_fixtures() -> Vec<Fixture> {
    fixtures().into_iter().step_by(step()).collect()
}

/// Returns the step at which tests with many answers for each file take files: 1 for a [`stride`] of at most 29, 8 otherwise.
pub fn step() -> usize {
    if stride() > 29 { 8 } else { 1 }
}

/// Returns an error if the two differ.
pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("  {what}: found {found:?}, expected {expected:?}")) }
}

/// Returns the items of a list in an oracle.
pub fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the number in a field of an oracle.
pub fn number(value: &Value, field: &str) -> Result<u64, String> {
    value[field].as_u64().ok_or_else(|| format!("  no number {field} in {value}"))
}
