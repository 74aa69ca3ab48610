//! flatc and the C++ runtime, as processes.

use crate::flatc_json::quoted;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The folder of the official readers, and a working folder.
pub struct Official {
    folder: PathBuf,
    /// The working folder, which is removed on drop.
    work: PathBuf,
}

impl Official {
    /// Returns `None`, with a message on stderr, if `EXECUTORCH_OFFICIAL` is not set.
    pub fn find(test: &str) -> Option<Self> {
        let Some(folder) = std::env::var_os("EXECUTORCH_OFFICIAL") else {
            // `eprintln` would be captured by the test harness.
            let skipped = format!("{test}: skipped, EXECUTORCH_OFFICIAL is not set\n");
            std::io::stderr().write_all(skipped.as_bytes()).unwrap();
            return None;
        };
        let folder = PathBuf::from(folder);
        for file in ["etcheck", "flatc", "schema/program.fbs", "schema/flat_tensor.fbs"] {
            assert!(folder.join(file).is_file(), "no {file} in {}", folder.display());
        }
        let work = std::env::temp_dir().join(format!("executorch-format-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&work).unwrap();
        Some(Self { folder, work })
    }

    /// Writes a file to be read, and returns its path.
    pub fn put(&self, name: &Path, bytes: &[u8]) -> PathBuf {
        let path = self.work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the runtime's output about a `.pte` with the given `.ptd` files, or about a `.ptd`: it verifies the program, loads and runs
    /// each method twice, and prints the SHA-256 of all outputs. The last line is its verdict.
    pub fn run(&self, file: &Path, data: &[PathBuf], options: &[&str]) -> String {
        let mut command = Command::new(self.folder.join("etcheck"));
        let output = command.args(options).arg(file).args(data).stderr(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the tree that flatc reads with the official schema.
    pub fn json(&self, file: &Path) -> Result<Value, String> {
        let schema = if is_pte(file) { "program.fbs" } else { "flat_tensor.fbs" };
        let mut flatc = Command::new(self.folder.join("flatc"));
        flatc.args(["--json", "--strict-json", "--defaults-json", "-o"]).arg(file.parent().unwrap());
        let output = flatc.arg(self.folder.join("schema").join(schema)).arg("--").arg(file).output().unwrap();
        let told = || String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned();
        if !output.status.success() {
            return Err(format!("  flatc: {}: {}", output.status, told()));
        }
        let text = std::fs::read_to_string(file.with_extension("json")).map_err(|error| format!("  flatc: {error}"))?;
        serde_json::from_str(&quoted(&text)).map_err(|error| format!("  flatc: {error}"))
    }
}

/// The runtime as a process that reads many files.
pub struct Server {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// Starts `etcheck`, the program that `.ci/official/get.sh` builds.
    pub fn start(etcheck: &Path) -> Self {
        let mut command = Command::new(etcheck);
        let command = command.arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", etcheck.display()));
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    /// Returns the runtime's output and log about the files: it loads them and, if `run`, runs each method.
    pub fn judge(&mut self, files: &[PathBuf], run: bool) -> String {
        self.judge_with(files, if run { "" } else { "--no-exec" })
    }

    /// Returns the runtime's output and log about the files, with an option of `etcheck --serve`.
    pub fn judge_with(&mut self, files: &[PathBuf], option: &str) -> String {
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        writeln!(self.child.stdin.as_mut().unwrap(), "{option}\t{}", names.join("\t")).unwrap();
        let mut text = Vec::new();
        while !text.ends_with(b"\nend\n") {
            assert!(self.answers.read_until(b'\n', &mut text).unwrap() > 0, "the runtime's process ended");
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Drop for Official {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.work);
    }
}

pub fn is_pte(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "pte")
}

/// Returns `true` if the runtime loaded and ran everything.
pub fn accepted(told: &str) -> bool {
    told.lines().last() == Some("result: ok")
}

/// Returns an error with the first lines that differ, if the runtime's output differs.
pub fn same(found: &str, expected: &str) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let mut lines = found.lines().zip(expected.lines());
    let different = lines.find(|(found, expected)| found != expected);
    let (found, expected) = different.unwrap_or((found, expected));
    Err(format!("  the runtime says {found:?}, expected {expected:?}"))
}

/// Checks all items on all cores, and reports every failure.
pub fn for_all<T: Sync>(items: &[T], judge: impl Fn(&T) -> Result<(), String> + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failed = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            failed.extend(judge(item).err());
        }
        failed
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let failed: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), items.len(), failed.join("\n"));
}
