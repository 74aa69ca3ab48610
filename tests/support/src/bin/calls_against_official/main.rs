//! Compares this crate's findings about calls of kernels with the behaviour of the official runtime, on random calls.
//!
//! Each case is a program of one call: one of the calls in `calls.txt`, which the runtime runs, with one to three random changes of types, sizes,
//! ranks, dim orders, numbers, lists, kinds, dynamic shapes or constant indices. The runtime runs it with several inputs and, if shapes are
//! dynamic, with several sizes. A call that it refuses or that ends the process must break a rule of kernels, and a call that it runs must not,
//! except for warnings.
//!
//! `.ci/official/compare-calls` runs it.

#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod call;
mod change;

use call::{Call, examples};
use executorch_format::Pte;
use executorch_format::verify::{Finding, Level, Severity};
use executorch_format_support::official::Server;
use executorch_format_support::random::Random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const USAGE: &str = "usage: calls_against_official ETCHECK [--cases N] [--seed N] [--only OPERATOR] [--operators]

Judges N random calls (default 600), those of the seed (default 1). --only selects operators whose names contain a text. With --operators,
it prints a table of operators in Markdown: the calls tried, those refused or dying and those of them with a finding, and those that ran with
an error.";

/// The share of refused calls that may be unreported: those that depend on the values of inputs in a way that these inputs do not show.
const MAX_UNREPORTED: f64 = 0.03;

struct Options {
    etcheck: PathBuf,
    cases: u64,
    seed: u64,
    only: String,
    operators: bool,
}

fn options() -> Option<Options> {
    let mut arguments = std::env::args().skip(1);
    let etcheck = arguments.next()?.into();
    let mut options = Options { etcheck, cases: 600, seed: 1, only: String::new(), operators: false };
    while let Some(option) = arguments.next() {
        match option.as_str() {
            "--cases" => options.cases = arguments.next()?.parse().ok()?,
            "--seed" => options.seed = arguments.next()?.parse().ok()?,
            "--only" => options.only = arguments.next()?,
            "--operators" => options.operators = true,
            _ => return None,
        }
    }
    Some(options)
}

/// The runtime's behaviour in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    Right,
    Refused,
    Dies,
    /// The program does not load.
    NotLoaded,
}

impl Run {
    fn of(told: &str) -> Self {
        if !told.contains("  load_method: ok") {
            Self::NotLoaded
        } else if told.contains("KILLED") {
            Self::Dies
        } else if told.contains("  execute: ok") {
            Self::Right
        } else {
            Self::Refused
        }
    }
}

/// The runtime's behaviour in all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Right,
    Refused,
    Dies,
    /// It fails at the upper bounds of dynamic sizes, and runs with others.
    FailsAtBounds,
    /// It runs at the upper bounds of dynamic sizes, and fails with others.
    FailsBelowBounds,
    /// It differs with the values of inputs.
    Depends,
    NotLoaded,
}

/// Inputs of ones, of zeros, of small integers, of larger ones, and of the largest that every type has.
const FILLS: [&str; 6] = ["--fill=1", "--fill=0", "--fill=2", "--fill=20", "--fill=-20", "--fill=127"];
/// Smaller sizes of dynamic inputs.
const SIZES: [&str; 6] = ["--sizes=1", "--sizes=2", "--sizes=3", "--sizes=4", "--sizes=5", "--sizes=6"];

impl Outcome {
    fn of(server: &mut Server, file: &Path, is_dynamic: bool) -> Self {
        let mut run = |option: &str| {
            let first = Run::of(&server.judge_with(&[file.to_owned()], option));
            // A call that dies by undefined behaviour may run the next time.
            if first == Run::Dies { Run::of(&server.judge_with(&[file.to_owned()], option)) } else { first }
        };
        let at_bounds = run(FILLS[0]);
        if at_bounds == Run::NotLoaded {
            return Self::NotLoaded;
        }
        if FILLS.iter().skip(1).any(|fill| run(fill) != at_bounds) {
            return Self::Depends;
        }
        let below = if is_dynamic { SIZES.iter().map(|sizes| run(sizes)).collect() } else { Vec::new() };
        let (runs, fails) = (below.contains(&Run::Right), below.iter().any(|run| *run != Run::Right));
        match at_bounds {
            Run::Right if fails => Self::FailsBelowBounds,
            Run::Right => Self::Right,
            _ if runs => Self::FailsAtBounds,
            Run::Dies => Self::Dies,
            _ => Self::Refused,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Refused => "refused",
            Self::Dies => "dies",
            Self::FailsAtBounds => "fails only at the upper bounds",
            Self::FailsBelowBounds => "fails only below the upper bounds",
            Self::Depends => "depends on values of inputs",
            Self::NotLoaded => "not loaded",
        }
    }
}

/// The most severe finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Nothing,
    Warning,
    Error,
}

impl Said {
    fn of(findings: &[Finding]) -> Self {
        match findings {
            [] => Self::Nothing,
            findings if findings.iter().any(|finding| finding.severity == Severity::Error) => Self::Error,
            _ => Self::Warning,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Warning => "a warning",
            Self::Error => "an error",
        }
    }
}

#[derive(Default)]
struct Tally {
    table: BTreeMap<(Outcome, Said), u64>,
    operators: BTreeMap<String, BTreeMap<(Outcome, Said), u64>>,
    /// By operator, the calls that ran with an error that they do not deserve.
    false_errors: BTreeMap<String, u64>,
    /// Refused calls without a finding.
    unreported: Vec<String>,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, number: u64, call: &Call, outcome: Outcome, findings: &[Finding]) {
        let said = Said::of(findings);
        *self.table.entry((outcome, said)).or_default() += 1;
        *self.operators.entry(call.operator.clone()).or_default().entry((outcome, said)).or_default() += 1;
        let text = || format!("case {number}: {}: {}, but {}: {findings:#?}", call, outcome.name(), said.name());
        // The runtime has the other kernels.
        let is_at_bounds = |finding: &Finding| {
            let message = &finding.message;
            message.contains(" at the upper bounds of the sizes") && !message.contains(" with portable kernels")
        };
        // The runtime does not know that the numbers are others.
        let is_of_numbers = |finding: &Finding| finding.message.contains("computes other numbers");
        match (outcome, said) {
            (Outcome::Refused, Said::Nothing) => self.unreported.push(text()),
            (Outcome::Dies | Outcome::FailsAtBounds, Said::Nothing) => self.wrong.push(text()),
            (Outcome::Right | Outcome::FailsAtBounds | Outcome::FailsBelowBounds, Said::Error)
                if !findings.iter().any(is_of_numbers) =>
            {
                *self.false_errors.entry(call.operator.clone()).or_default() += 1;
                self.wrong.push(text());
            }
            (Outcome::Right | Outcome::FailsBelowBounds, _)
                if findings.iter().any(|finding| is_at_bounds(finding) && !is_of_numbers(finding)) =>
            {
                self.wrong.push(text());
            }
            _ => {}
        }
    }

    fn of(&self, outcome: Outcome) -> u64 {
        self.table.iter().filter(|((other, _), _)| *other == outcome).map(|(_, count)| count).sum()
    }
}

const HEAD: &str = "| operator | tried | refused | said | dead | said | false |\n|---|---|---|---|---|---|---|";

/// Formats the counts of an operator as a row of the table.
fn row(operator: &str, table: &BTreeMap<(Outcome, Said), u64>, false_errors: u64) -> String {
    let count = |wanted: &dyn Fn(Outcome, Said) -> bool| -> u64 {
        table.iter().filter(|((outcome, said), _)| wanted(*outcome, *said)).map(|(_, count)| count).sum()
    };
    let of = |wanted: Outcome| {
        (count(&|outcome, _| outcome == wanted), count(&|outcome, said| outcome == wanted && said > Said::Nothing))
    };
    let (tried, (refused, refused_said), (dead, dead_said)) =
        (count(&|_, _| true), of(Outcome::Refused), of(Outcome::Dies));
    format!("| `{operator}` | {tried} | {refused} | {refused_said} | {dead} | {dead_said} | {false_errors} |")
}

fn judge(number: u64, call: &Call, file: &Path, server: &mut Server, tally: &Mutex<Tally>) {
    let bytes = call.program().unwrap_or_else(|error| panic!("case {number}: {call}: {error}"));
    std::fs::write(file, &bytes).unwrap();
    let findings = Pte::parse(&bytes).map(|pte| pte.verify(Level::Strict)).unwrap_or_default();
    let is_of_call = |finding: &Finding| finding.rule.starts_with("kernel-") || finding.rule == "copy-index";
    let findings: Vec<Finding> = findings.into_iter().filter(is_of_call).collect();
    let mut dynamic = call.clone();
    let inputs = dynamic.inputs.iter_mut().chain(&mut dynamic.outputs);
    let is_dynamic = inputs.flat_map(call::Value::tensors_mut).any(|shape| shape.is_dynamic);
    let outcome = Outcome::of(server, file, is_dynamic);
    tally.lock().unwrap().add(number, call, outcome, &findings);
}

fn main() {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let folder = std::env::temp_dir().join(format!("executorch-format-calls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut examples = examples();
    examples.retain(|calls| calls.iter().any(|call| call.operator.contains(&options.only)));
    assert!(!examples.is_empty(), "no operator contains {:?}", options.only);
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (next, tally, examples, options) = (&next, &tally, &examples, &options);
            let file = folder.join(format!("{worker}.pte"));
            scope.spawn(move || {
                let mut server = Server::start(&options.etcheck);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.cases {
                        return;
                    }
                    let mut random = Random::new(options.seed.wrapping_mul(1 << 32).wrapping_add(number));
                    // Each operator in turn.
                    let calls = &examples[number as usize % examples.len()];
                    let mut call = calls[random.below(calls.len())].clone();
                    change::change(&mut call, &mut random);
                    judge(number, &call, &file, &mut server, tally);
                }
            });
        }
    });
    let _ = std::fs::remove_dir_all(&folder);
    let tally = tally.into_inner().unwrap();
    let print = |table: &BTreeMap<(Outcome, Said), u64>| {
        for ((outcome, said), count) in table {
            println!("{count:7} {}: {}", outcome.name(), said.name());
        }
    };
    if options.operators {
        println!("{HEAD}");
        for (operator, table) in &tally.operators {
            println!("{}", row(operator, table, tally.false_errors.get(operator).copied().unwrap_or_default()));
        }
        println!("{}\n", row("all", &tally.table, tally.false_errors.values().sum()));
    }
    print(&tally.table);
    tally.unreported.iter().for_each(|text| eprintln!("unreported: {text}"));
    tally.wrong.iter().for_each(|text| eprintln!("wrong: {text}"));
    let (refused, right) = (tally.of(Outcome::Refused), tally.of(Outcome::Right));
    let unreported = tally.unreported.len() as f64;
    println!("{} of {refused} refused calls are not reported, {} verdicts are wrong", unreported, tally.wrong.len());
    // If a kind is missing, the runtime's answers were not understood.
    if refused == 0 || right == 0 || unreported > MAX_UNREPORTED * refused as f64 || !tally.wrong.is_empty() {
        std::process::exit(1);
    }
}
