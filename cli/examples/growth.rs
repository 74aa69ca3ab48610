//! Counts the instructions of commands on files in which many references share one target, at two sizes. `growth [KIND]...` fails if a
//! command takes more than [`MAX_RATIO`] times as many for a file three times as large. Needs valgrind. Linux only.
//!
//! The program runs itself under callgrind, once for each core, and calls the commands in that process: starting a process for each run would
//! take longer than the measured code.

use executorch_format_support::sharing::{self, Scale, Shared};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The maximum ratio of instructions for a file of three times the size.
const MAX_RATIO: f64 = 3.6;

/// Instructions that a command may take beyond that, since counts vary from run to run.
const SLACK: f64 = 500_000.0;

/// Long names and large data with few references, so that reading them again for each reference shows.
const NAMES: Scale = Scale { length: 5_000, count: 25 };

/// Lists and graphs. Their items take more instructions than the bytes of a name.
const LISTS: Scale = Scale { length: 1_000, count: 25 };

/// Inputs, each of which is shown with its name, its sizes and its method's name by every kind of graph.
const INPUTS: Scale = Scale { length: 1_000, count: 6 };

/// Small instructions and tensors: a command takes some thousand instructions for each.
const CODE: Scale = Scale { length: 64, count: 1 };

/// The size of the files that each command reads first, so that it has read the tables that it caches.
const SMALL: Scale = Scale { length: 64, count: 4 };

/// The kinds of files with long names or large data.
const NAMED: &[&str] =
    &["method", "operator", "backend", "string", "key", "found", "bytes", "ranges", "ptd", "segment"];

/// Files of some kinds, whose smaller ones have this size.
struct Group {
    scale: Scale,
    files: fn(Scale) -> Vec<Shared>,
    has: fn(&str) -> bool,
}

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, folder, kinds @ ..] if first == "--run" => run(Path::new(folder), kinds),
        kinds => compare(kinds),
    }
}

/// Returns the path of a file from the name of its kind, which ends like a file: `nodes.pte`.
fn path(folder: &Path, size: &str, kind: &str) -> PathBuf {
    folder.join(format!("{size}-{kind}"))
}

/// Returns the commands for files of a kind.
fn commands(kind: &str) -> Vec<&'static [&'static str]> {
    sharing::different_commands(if kind.ends_with(".ptd") { "ptd" } else { "pte" })
}

/// The sizes of the files whose counts are compared.
const SIZES: [&str; 2] = ["1", "3"];

/// Runs all commands on small files, whose counts are not read; a command on a file that does not exist, which has the costs of any command;
/// and then each command on each file.
fn run(folder: &Path, kinds: &[String]) -> Result<(), Failed> {
    let each = |sizes: &[&str], run: fn(&[String]) -> u8| -> Result<(), Failed> {
        for kind in kinds {
            let out = folder.join(format!("{kind}-out"));
            for (command, size) in
                commands(kind).iter().flat_map(|command| sizes.iter().map(move |size| (command, size)))
            {
                fs::create_dir_all(&out)?;
                let files = [path(folder, size, kind), path(folder, &format!("{size}-other"), kind)];
                fs::write(out.join(sharing::TARGET.0), sharing::TARGET.1)?;
                let arguments = sharing::arguments(command, [&files[0], &files[1]], &out);
                // Codes 0 to 2: the command succeeded, found faults, or refused the file.
                let code = run(&arguments);
                if code > 2 {
                    return Err(format!("{arguments:?}: exit code {code}").into());
                }
                fs::remove_dir_all(&out)?;
            }
        }
        Ok(())
    };
    each(&["small"], command)?;
    // The first count has the small files, too.
    for _ in 0..2 {
        measured(&["hash".to_owned(), folder.join("absent").display().to_string()]);
    }
    each(&SIZES, measured)
}

/// Runs a command. Callgrind writes a count after each call of this function.
#[inline(never)]
fn measured(arguments: &[String]) -> u8 {
    command(arguments)
}

fn command(arguments: &[String]) -> u8 {
    pte::run(["pte".to_owned()].iter().chain(arguments).map(Into::into))
}

/// Compares the counts of all kinds of files, in as many processes as there are cores.
fn compare(kinds: &[String]) -> Result<(), Failed> {
    let folder = std::env::temp_dir().join(format!("executorch-format-growth-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let mut all = Vec::new();
    let groups = [
        Group { scale: NAMES, files: sharing::files, has: |kind| NAMED.contains(&kind) },
        Group { scale: LISTS, files: sharing::files, has: |kind| kind != "inputs" && !NAMED.contains(&kind) },
        Group { scale: INPUTS, files: sharing::files, has: |kind| kind == "inputs" },
        Group { scale: CODE, files: sharing::code_files, has: |_| true },
    ];
    for Group { scale, files, has } in groups {
        let is_wanted = |kind: &str| has(kind) && (kinds.is_empty() || kinds.iter().any(|wanted| wanted == kind));
        let three = Scale { length: 3 * scale.length, count: 3 * scale.count };
        for (size, scale) in [("small", SMALL), ("1", scale), ("3", three)] {
            for (name, scale) in [(size.to_owned(), scale), (format!("{size}-other"), scale.smaller())] {
                for file in files(scale).into_iter().filter(|file| is_wanted(file.kind)) {
                    let kind = format!("{}.{}", file.kind, file.ending);
                    fs::write(path(&folder, &name, &kind), &file.bytes)?;
                    if name == "1" {
                        all.push(kind);
                    }
                }
            }
        }
    }
    if all.is_empty() {
        return Err(format!("no kind of file: {kinds:?}").into());
    }
    println!("kind        command                     instructions   three times the file  ratio");
    let processes = thread::available_parallelism()?.get().min(all.len());
    let compare = |process: usize| -> Result<usize, Failed> {
        let kinds: Vec<&str> = all.iter().map(String::as_str).skip(process).step_by(processes).collect();
        let counts = counts(&folder, process, &kinds)?;
        let &[_, start, ref counts @ ..] = counts.as_slice() else { return Err("too few counts".into()) };
        let (mut counts, mut over) = (counts.chunks(SIZES.len()), 0);
        for kind in kinds {
            for (command, counts) in commands(kind).iter().zip(&mut counts) {
                let &[one, three] = counts else { return Err(format!("{kind}: too few counts").into()) };
                let [one, three] = [one, three].map(|count| count - start);
                let ratio = three / one;
                let is_over = three > MAX_RATIO * one + SLACK;
                let verdict = if is_over { "  too many" } else { "" };
                let name = command.iter().filter(|word| !word.contains('{')).copied().collect::<Vec<_>>().join(" ");
                println!("{kind:12}{name:25}  {one:13}  {three:20}  {ratio:6.1}{verdict}");
                over += usize::from(is_over);
            }
        }
        Ok(over)
    };
    let over = thread::scope(|scope| -> Result<usize, Failed> {
        let compare = &compare;
        let threads: Vec<_> = (0..processes).map(|process| scope.spawn(move || compare(process))).collect();
        threads.into_iter().try_fold(0, |over, thread| Ok(over + thread.join().map_err(|_| "a thread failed")??))
    })?;
    fs::remove_dir_all(&folder)?;
    match over {
        0 => Ok(()),
        over => Err(format!("{over} commands take more than {MAX_RATIO} times as many instructions").into()),
    }
}

/// Returns the instructions of all runs of these kinds of files, in their order.
fn counts(folder: &Path, process: usize, kinds: &[&str]) -> Result<Vec<f64>, Failed> {
    let out = folder.join(format!("{process}.callgrind"));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-after=growth::measured*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["--run", &folder.display().to_string()])
        .args(kinds)
        .stdout(Stdio::null())
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("Usage: pte") || !output.status.success() {
        return Err(format!("{kinds:?}: {}: {error}", output.status).into());
    }
    // One file for each call: `totals: ` counts from the previous file.
    let runs = 2 + kinds.iter().map(|kind| commands(kind).len() * SIZES.len()).sum::<usize>();
    let total = |number: usize| -> Result<f64, Failed> {
        let text = fs::read_to_string(format!("{}.{number}", out.display()))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        Ok(total.ok_or("a profile without totals")?.trim().parse()?)
    };
    (1..=runs).map(total).collect()
}
