//! Compares this crate's findings about calls of kernels with the behaviour of the official runtime, on the programs of `tests/data`.

use executorch_format::Pte;
use executorch_format::verify::{Finding, Level, Severity};
use executorch_format_support::fixtures::Fixture;
use executorch_format_support::official::Server;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Programs that compute different numbers than with contiguous tensors, or crash.
const OTHER_NUMBERS: [&str; 4] = [
    "kernels/mul_cl_broadcast.pte",
    "kernels/nonzero_dim_order_1_0.pte",
    "kernels/se2_dim.pte",
    "kernels/softmax_cl_last.pte",
];

/// The behaviour of the runtime.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Run {
    Right,
    OtherNumbers,
    KernelRefuses,
    /// The program does not load, or fails for a reason that is unrelated to the rules.
    NotJudged,
}

impl Run {
    fn of(fixture: &Fixture, told: &str) -> Self {
        // Log lines about a call that a check refuses. Sizes that do not match give the same error.
        let checks = ["dim_order", "dim order", "stack.size()", "rank"];
        let refused = |line: &str| {
            line.contains("KernelCall failed") && [": 0x12", ": 0x23"].iter().any(|code| line.ends_with(code))
        };
        let refuses = told.lines().any(refused) && checks.iter().any(|check| told.contains(check));
        // The server ends its answer with a line of its own.
        let runs = told.lines().any(|line| line == "result: ok");
        match told {
            _ if OTHER_NUMBERS.contains(&fixture.name().as_str()) => Self::OtherNumbers,
            _ if runs => Self::Right,
            _ if refuses || told.contains("EValue is not") => Self::KernelRefuses,
            _ => Self::NotJudged,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Right => "runs",
            Self::OtherNumbers => "other numbers",
            Self::KernelRefuses => "a kernel refuses",
            Self::NotJudged => "not judged",
        }
    }
}

/// Prints the number of programs of each kind, and returns whether all verdicts are right.
pub fn compare(etcheck: &Path, fixtures: &[Fixture]) -> bool {
    let mut server = Server::start(etcheck);
    let mut table: BTreeMap<(Run, String), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for fixture in fixtures.iter().filter(|fixture| fixture.is_pte()) {
        let beside = fixtures.iter().filter(|other| !other.is_pte() && other.path.parent() == fixture.path.parent());
        let files: Vec<PathBuf> = std::iter::once(fixture).chain(beside).map(|file| file.path.clone()).collect();
        let run = Run::of(fixture, &server.judge(&files, true));
        let found = Pte::parse(fixture.bytes()).map(|pte| pte.verify(Level::Strict)).unwrap_or_default();
        let found: Vec<Finding> = found.into_iter().filter(|finding| finding.rule.starts_with("kernel-")).collect();
        // A warning with "may" is right in both cases.
        let certain = |finding: &&Finding| !finding.message.contains("may compute");
        let errors = found.iter().filter(|finding| finding.severity == Severity::Error).count();
        let is_right = match run {
            Run::Right => found.iter().find(certain).is_none(),
            Run::OtherNumbers => errors == 0 && !found.is_empty(),
            Run::KernelRefuses => errors > 0,
            // The program may have other faults.
            Run::NotJudged => true,
        };
        if !is_right {
            wrong.push(format!("{}: {}, {found:#?}", fixture.name(), run.name()));
        }
        let mut rules: Vec<_> = found.iter().map(|finding| format!("{} {}", finding.severity, finding.rule)).collect();
        rules.sort();
        rules.dedup();
        *table.entry((run, rules.join(", "))).or_default() += 1;
    }
    println!("calls of kernels: what the runtime does, what is found, programs");
    for ((run, rules), count) in &table {
        println!("{count:7} {}: {}", run.name(), if rules.is_empty() { "nothing" } else { rules });
    }
    // If a kind is missing, the runtime's answers were not understood.
    let judged = |wanted: Run| table.keys().any(|(run, _)| *run == wanted);
    if ![Run::Right, Run::OtherNumbers, Run::KernelRefuses].into_iter().all(judged) {
        wrong.push("no program runs, computes other numbers, or is refused".into());
    }
    wrong.iter().for_each(|wrong| eprintln!("wrong: {wrong}"));
    wrong.is_empty()
}
