//! The verdicts about one plan of a program: this crate's, the official runtime's, and the shadow's.

use crate::program::{Plan, Program};
use crate::shadow::{self, Decisions, Seen};
use executorch_format::verify::{Level, Severity};
use executorch_format_support::verdict::findings;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// `etrun` as a process that runs many programs.
pub struct Server {
    child: Child,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
}

/// The numbers that the runtime computed in each run, or its error.
pub type Results = String;

impl Server {
    pub fn start(etrun: &Path, folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(etrun);
        let mut child = command.arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers, folder }
    }

    /// Runs each file with the same inputs.
    pub fn run(&mut self, seed: u64, runs: usize, files: &[Vec<u8>]) -> Vec<Results> {
        let mut line = format!("{seed} {runs}");
        for (index, file) in files.iter().enumerate() {
            let path = self.folder.join(format!("{index}.pte"));
            std::fs::write(&path, file).unwrap();
            line += &format!("\t{}", path.display());
        }
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut results = vec![String::new(); files.len()];
        loop {
            let mut answer = String::new();
            assert!(self.answers.read_line(&mut answer).unwrap() > 0, "the runtime's process ended");
            if answer == "end\n" {
                return results;
            }
            let parts = answer.trim_end().strip_prefix("file ").and_then(|rest| rest.split_once(':'));
            let (index, result) = parts.unwrap_or_else(|| panic!("{answer:?}"));
            results[index.parse::<usize>().unwrap()] = result.to_owned();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Returns the number of runs that covers all combinations of boolean inputs, and effects of state.
pub fn runs(program: &Program) -> usize {
    let flags = program
        .inputs
        .iter()
        .filter(|input| program.tensor(**input).scalar_type == executorch_format::schema::ScalarType::BOOL)
        .count();
    6.max(2 << flags)
}

/// The result of strict verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Clean,
    Unknown,
    /// Bytes of another value are read.
    Overlap,
}

/// Returns the verdict, and the other broken rules. The generated programs should not break any other rule.
pub fn verdict(file: &[u8]) -> (Verdict, Vec<&'static str>) {
    let (mut verdict, mut others) = (Verdict::Clean, Vec::new());
    for finding in findings(&[file], Level::Strict) {
        match finding.rule {
            "planned-memory-overlap" => verdict = Verdict::Overlap,
            // With a warning, it may be a view of another value.
            "stale-view" if finding.severity == Severity::Warning => verdict = verdict.max(Verdict::Unknown),
            "stale-view" => verdict = Verdict::Overlap,
            "planned-memory-unknown" => verdict = verdict.max(Verdict::Unknown),
            rule => others.push(rule),
        }
    }
    others.sort_unstable();
    others.dedup();
    (verdict, others)
}

/// The truth about a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// All reads get the bytes of the right writes, and all results are right.
    Right,
    /// Results differ from those with all blocks apart.
    Wrong,
    /// Bytes of another value are read without an effect on results, for example because a maximum ignores them.
    NoEffect,
    /// A kernel overwrites its own input or another output, and the results are right because of the order in which it works.
    ByOrder,
    /// The verdict is not clean, and bytes of another value are read only on paths that no input takes, for example because one condition
    /// decides twice, or because a loop would run more or less often or write other rows. Detecting this requires computing conditions and
    /// numbers.
    OtherPath,
    /// The file is ambiguous, with right or wrong results: whose view a tensor is, or whether two states are one.
    Ambiguous(bool),
    /// The two judges contradict each other: a fault of this tool.
    Contradiction,
}

/// The number of walks that finds rare paths, such as one that takes the same branch in several runs.
pub const MANY_WALKS: usize = 4_000;

/// Determines the truth from the results with all blocks apart and with the plan. For a verdict that is not clean, it also considers
/// paths that no input takes.
pub fn truth(
    program: &Program,
    plan: &Plan,
    [expected, found]: [&str; 2],
    verdict: Verdict,
    seed: u64,
    walks: usize,
) -> (Truth, Seen) {
    let same = expected == found;
    let seen = shadow::judge(program, plan, seed, walks, Decisions::ByContent);
    let truth = match (same, seen) {
        _ if program.is_ambiguous(plan) => Truth::Ambiguous(same),
        (false, Seen::Right) if walks < MANY_WALKS => {
            return truth(program, plan, [expected, found], verdict, seed ^ 1, MANY_WALKS);
        }
        (_, Seen::Invalid(_) | Seen::NoMemory(_)) | (false, Seen::Right) => Truth::Contradiction,
        (_, Seen::Foreign((_, value))) if program.may_be_view_of_another(value, plan) => Truth::Ambiguous(same),
        (false, _) => Truth::Wrong,
        (true, Seen::Right) if verdict == Verdict::Clean => Truth::Right,
        (true, Seen::Right) => match shadow::judge(program, plan, seed, MANY_WALKS, Decisions::Free) {
            Seen::Right => Truth::Right,
            _ => Truth::OtherPath,
        },
        (true, Seen::InCall(_)) => Truth::ByOrder,
        (true, Seen::Foreign(_)) => Truth::NoEffect,
    };
    (truth, seen)
}
