//! Counts the instructions of commands on files in which many references share one target, at two sizes. `growth [KIND]...` fails if a
//! command takes more than [`MAX_RATIO`] times as many for a file four times as large. Needs valgrind. Linux only.
//!
//! The program runs itself under callgrind, once for each kind of file, and calls the command in that process: starting a process for each
//! run would take longer than the measured code.

use executorch_format_support::sharing::{self, Scale, Shared};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// The maximum ratio of instructions for a file of four times the size.
const MAX_RATIO: f64 = 5.0;

/// Instructions that a command may take beyond that, since counts vary from run to run.
const SLACK: f64 = 500_000.0;

/// Long names and large data with few references, so that reading them again for each reference shows.
const NAMES: Scale = Scale { length: 5_000, count: 25 };

/// Lists and graphs. Their items take more instructions than the bytes of a name.
const LISTS: Scale = Scale { length: 1_000, count: 25 };

/// Small instructions and tensors: a command takes some thousand instructions for each.
const CODE: Scale = Scale { length: 64, count: 1 };

/// The size of the files that each command reads first, so that it has read the tables that it caches.
const SMALL: Scale = Scale { length: 64, count: 4 };

/// The kinds of files with long names or large data.
const NAMED: &[&str] =
    &["method", "operator", "backend", "string", "key", "found", "bytes", "ranges", "ptd", "segment"];

/// Makes the files of a size.
type Files = fn(Scale) -> Vec<Shared>;

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, folder, kind, ending] if first == "--run" => run(Path::new(folder), kind, ending),
        kinds => compare(kinds),
    }
}

fn path(folder: &Path, kind: &str, size: &str, ending: &str) -> PathBuf {
    folder.join(format!("{kind}-{size}.{ending}"))
}

/// The runs of a command on files of these sizes. The first is not compared.
const RUNS: [&str; 3] = ["small", "1", "4"];

/// Runs a command on a file that does not exist, which has the costs of any command, and then each command on each file of a kind.
fn run(folder: &Path, kind: &str, ending: &str) -> Result<(), Failed> {
    let out = folder.join(format!("{kind}-out"));
    for _ in RUNS {
        measured(&["hash".to_owned(), folder.join("absent").display().to_string()]);
    }
    for command in sharing::different_commands(ending) {
        for size in RUNS {
            fs::create_dir_all(&out)?;
            let files = [path(folder, kind, size, ending), path(folder, kind, &format!("{size}-other"), ending)];
            fs::write(out.join(sharing::TARGET.0), sharing::TARGET.1)?;
            let arguments = sharing::arguments(command, [&files[0], &files[1]], &out);
            // Codes 0 to 2: the command succeeded, found faults, or refused the file.
            let code = measured(&arguments);
            if code > 2 {
                return Err(format!("{arguments:?}: exit code {code}").into());
            }
            fs::remove_dir_all(&out)?;
        }
    }
    Ok(())
}

/// Runs a command. Callgrind writes a count after each call of this function.
#[inline(never)]
fn measured(arguments: &[String]) -> u8 {
    pte::run(["pte".to_owned()].iter().chain(arguments).map(Into::into))
}

/// Compares the counts of all kinds of files, as many at a time as there are cores.
fn compare(kinds: &[String]) -> Result<(), Failed> {
    let folder = std::env::temp_dir().join(format!("executorch-format-growth-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let mut jobs = Vec::new();
    let groups: [(_, Files); 3] = [
        (NAMES, |scale| sharing::files(scale).into_iter().filter(|file| NAMED.contains(&file.kind)).collect()),
        (LISTS, |scale| sharing::files(scale).into_iter().filter(|file| !NAMED.contains(&file.kind)).collect()),
        (CODE, sharing::code_files),
    ];
    for (scale, files) in groups {
        let is_wanted = |kind: &str| kinds.is_empty() || kinds.iter().any(|wanted| wanted == kind);
        let four = Scale { length: 4 * scale.length, count: 4 * scale.count };
        for (size, scale) in [("small", SMALL), ("1", scale), ("4", four)] {
            for (name, scale) in [(size.to_owned(), scale), (format!("{size}-other"), scale.smaller())] {
                for file in files(scale).into_iter().filter(|file| is_wanted(file.kind)) {
                    fs::write(path(&folder, file.kind, &name, file.ending), &file.bytes)?;
                    if name == "1" {
                        jobs.push((file.kind, file.ending));
                    }
                }
            }
        }
    }
    if jobs.is_empty() {
        return Err(format!("no kind of file: {kinds:?}").into());
    }
    println!("kind      command                     instructions   four times the file   ratio");
    let (next, over) = (Mutex::new(jobs.iter()), Mutex::new(0));
    let work = || -> Result<(), Failed> {
        loop {
            let Some((kind, ending)) = next.lock().map_err(|_| "a thread failed")?.next() else { return Ok(()) };
            let counts = counts(&folder, kind, ending)?;
            let mut counts = counts.chunks(RUNS.len());
            let start = counts.next().and_then(|counts| counts.last()).ok_or("no counts")?;
            for (command, counts) in sharing::different_commands(ending).iter().zip(counts) {
                let &[_, one, four] = counts else { return Err(format!("{kind}: too few counts").into()) };
                let [one, four] = [one, four].map(|count| count - start);
                let ratio = four / one;
                let is_over = four > MAX_RATIO * one + SLACK;
                let verdict = if is_over { "  too many" } else { "" };
                let name = command.iter().filter(|word| !word.contains('{')).copied().collect::<Vec<_>>().join(" ");
                println!("{kind:8}  {name:25}  {one:13}  {four:20}  {ratio:6.1}{verdict}");
                *over.lock().map_err(|_| "a thread failed")? += usize::from(is_over);
            }
        }
    };
    let threads = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread failed")?)
    })?;
    fs::remove_dir_all(&folder)?;
    match over.into_inner().map_err(|_| "a thread failed")? {
        0 => Ok(()),
        over => Err(format!("{over} commands take more than {MAX_RATIO} times as many instructions").into()),
    }
}

/// Returns the instructions of all runs of a kind of file, in their order.
fn counts(folder: &Path, kind: &str, ending: &str) -> Result<Vec<f64>, Failed> {
    let out = folder.join(format!("{kind}.callgrind"));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-after=growth::measured*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["--run", &folder.display().to_string(), kind, ending])
        .stdout(Stdio::null())
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("Usage: pte") || !output.status.success() {
        return Err(format!("{kind}: {}: {error}", output.status).into());
    }
    // One file for each call: `totals: ` counts from the previous file.
    let runs = (sharing::different_commands(ending).len() + 1) * RUNS.len();
    let total = |number: usize| -> Result<f64, Failed> {
        let text = fs::read_to_string(format!("{}.{number}", out.display()))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        Ok(total.ok_or("a profile without totals")?.trim().parse()?)
    };
    (1..=runs).map(total).collect()
}
