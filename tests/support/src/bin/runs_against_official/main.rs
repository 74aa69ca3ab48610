//! Compares this crate's verdicts about planned memory with the results of the official runtime.
//!
//! Each case is a program with branches, loops, views, moves, lists, in-place operators and state, and a plan of its memory: a right plan,
//! a plan of a planner with a fault, or a damaged plan. If every tensor has memory of its own (views with their bases, states in one
//! place), the program computes the right results. The runtime runs both, several times with several inputs; plans with different results
//! are wrong. `planned-memory-overlap` must be reported for these and only these. Programs that use memory after `FreeCall` or never end
//! must be reported too.
//!
//! `.ci/official/compare-runs` runs it.

#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod faults;
mod generate;
mod judge;
mod minimize;
mod plan;
mod program;
mod shadow;

use executorch_format_support::random::Random;
use faults::{Fault, Found};
use judge::{Server, Truth, Verdict, runs, truth, verdict};
use plan::{KINDS, Kind};
use program::{Plan, Program};
use shadow::{Decisions, Seen};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const USAGE: &str = "usage: runs_against_official ETRUN [--seed N] [--programs N] [--report] [--keep FOLDER] [--case SEED/PLAN]

Makes N programs (default 500) from seed N (default 1) on, each with 11 plans. Fails if a wrong plan is not reported or a right one is,
except with --report. With --keep, files of disagreement are written to FOLDER, minimized, with the reference beside each. With --case,
only that case is judged.";

/// The number of cases of each disagreement that are listed and kept.
const LISTED: usize = 40;

#[derive(Default)]
struct Options {
    etrun: PathBuf,
    seed: u64,
    programs: u64,
    report: bool,
    keep: Option<PathBuf>,
    case: Option<(u64, usize)>,
}

fn options() -> Option<Options> {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options { etrun: arguments.next()?.into(), seed: 1, programs: 500, ..Options::default() };
    while let Some(option) = arguments.next() {
        match option.as_str() {
            "--seed" => options.seed = arguments.next()?.parse().ok()?,
            "--programs" => options.programs = arguments.next()?.parse().ok()?,
            "--report" => options.report = true,
            "--keep" => options.keep = Some(arguments.next()?.into()),
            "--case" => {
                let case = arguments.next()?;
                let (seed, plan) = case.split_once('/')?;
                options.case = Some((seed.parse().ok()?, plan.parse().ok()?));
            }
            _ => return None,
        }
    }
    Some(options)
}

/// A plan of a program, and the verdicts about it.
pub struct Case {
    pub seed: u64,
    pub kind: Kind,
    pub program: Program,
    pub plan: Plan,
    pub truth: Truth,
    pub seen: Seen,
    pub verdict: Verdict,
    /// The other rules that it breaks.
    pub others: Vec<&'static str>,
}

impl Case {
    fn name(&self) -> String {
        format!("{}/{}", self.seed, KINDS.iter().position(|kind| *kind == self.kind).unwrap())
    }

    fn disagrees(&self) -> bool {
        disagree(self.truth, self.verdict)
    }
}

/// Returns `true` if a verdict, or this tool, is wrong. An unknown verdict is not wrong.
pub fn disagree(truth: Truth, verdict: Verdict) -> bool {
    match truth {
        Truth::Contradiction => true,
        Truth::Right => verdict == Verdict::Overlap,
        Truth::Wrong | Truth::NoEffect => verdict == Verdict::Clean,
        Truth::ByOrder | Truth::OtherPath | Truth::Ambiguous(_) => false,
    }
}

/// Returns the program for a seed, if it has a meaning.
fn program(seed: u64) -> Option<Program> {
    Some(generate::generate(seed)).filter(|program| has_meaning(program, seed))
}

/// Returns whether a program computes something with all blocks apart. Otherwise there is no result to compare with.
pub fn has_meaning(program: &Program, seed: u64) -> bool {
    program.is_complete() && shadow::judge(program, &program.apart(), seed, 40, Decisions::ByContent) == Seen::Right
}

/// Judges all plans of a program.
fn cases(seed: u64, only: Option<usize>, server: &mut Server) -> Vec<Case> {
    let Some(program) = program(seed) else { return Vec::new() };
    let plans = KINDS.iter().enumerate().filter_map(|(index, kind)| {
        let mut random = Random::new(seed << 8 | index as u64);
        let is_wanted = only.is_none_or(|only| only == index);
        Some((*kind, is_wanted.then(|| plan::plan(&program, *kind, &mut random))??))
    });
    let plans: Vec<(Kind, Plan)> = plans.collect();
    let mut files = vec![program.file(&program.apart())];
    files.extend(plans.iter().map(|(_, plan)| program.file(plan)));
    let results = server.run(seed, runs(&program), &files);
    let expected = &results[0];
    let right = expected.split(' ').filter(|result| result.len() == 16).count();
    assert_eq!(right, runs(&program), "program {seed} does not run: {expected}");
    let judged = plans.into_iter().zip(&results[1..]).zip(&files[1..]).map(|(((kind, plan), found), file)| {
        let (verdict, others) = verdict(file);
        let (truth, seen) = truth(&program, &plan, [expected, found], verdict, seed, 60);
        Case { seed, kind, program: program.clone(), plan, truth, seen, verdict, others }
    });
    judged.collect()
}

type FaultKey = (Fault, Truth, Vec<&'static str>);

#[derive(Default)]
struct Tally {
    programs: usize,
    rejected: usize,
    kinds: BTreeMap<Kind, [usize; 2]>,
    counts: BTreeMap<(Truth, Verdict), (usize, Vec<String>)>,
    others: BTreeMap<&'static str, (usize, String)>,
    /// By fault, truth and broken rules: the number of programs, and those about which this crate is wrong.
    faults: BTreeMap<FaultKey, (usize, Vec<u64>)>,
    wrong_about_faults: usize,
}

impl Tally {
    fn add(&mut self, case: &Case) -> bool {
        self.kinds.entry(case.kind).or_default()[usize::from(case.truth != Truth::Right)] += 1;
        let mut is_first = false;
        for rule in &case.others {
            let (count, _) = self.others.entry(rule).or_insert_with(|| (0, case.name()));
            *count += 1;
            is_first |= *count <= 8;
        }
        let (count, examples) = self.counts.entry((case.truth, case.verdict)).or_default();
        *count += 1;
        let is_listed = case.disagrees()
            || case.verdict == Verdict::Unknown
            || (case.truth, case.verdict) == (Truth::ByOrder, Verdict::Clean);
        if is_listed && examples.len() < LISTED {
            examples.push(case.name());
            return true;
        }
        is_first
    }

    fn add_fault(&mut self, seed: u64, found: &Found) -> bool {
        let key = (found.fault, found.truth, found.rules.clone());
        let (count, examples) = self.faults.entry(key).or_default();
        *count += 1;
        self.wrong_about_faults += usize::from(found.disagrees());
        if !found.disagrees() || examples.len() == LISTED {
            return false;
        }
        examples.push(seed);
        true
    }

    fn print(&self) {
        println!("{} programs; {} more had no meaning of their own and were left out", self.programs, self.rejected);
        println!("\nplans            right  others");
        for (kind, [right, other]) in &self.kinds {
            println!("  {:12} {right:7} {other:7}", format!("{kind:?}"));
        }
        println!("\ntruth              verdict                    plans");
        for ((truth, verdict), (count, examples)) in &self.counts {
            let (truth_text, verdict_text) = (format!("{truth:?}"), format!("{verdict:?}"));
            let mark = if disagree(*truth, *verdict) { "  DISAGREE" } else { "" };
            println!("  {truth_text:16} {verdict_text:22} {count:9}{mark}");
            for line in examples.chunks(8) {
                println!("      {}", line.join(" "));
            }
        }
        println!("\nfault            truth              rules");
        for ((fault, truth, rules), (count, examples)) in &self.faults {
            let mark = if examples.is_empty() { String::new() } else { format!("  DISAGREE {examples:?}") };
            println!("  {:14} {:16} {count:7} {}{mark}", format!("{fault:?}"), format!("{truth:?}"), rules.join(" "));
        }
        for (rule, (count, example)) in &self.others {
            println!("  {rule} in {count} plans, such as {example}  DISAGREE");
        }
    }

    fn is_good(&self) -> bool {
        self.others.is_empty()
            && self.wrong_about_faults == 0
            && !self.counts.keys().any(|(truth, verdict)| disagree(*truth, *verdict))
    }
}

fn main() {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let folder = std::env::temp_dir().join(format!("executorch-format-runs-{}", std::process::id()));
    if let Some(keep) = &options.keep {
        std::fs::create_dir_all(keep).unwrap();
    }
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let programs = if options.case.is_some() { 1 } else { options.programs };
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (next, tally, options) = (&next, &tally, &options);
            let mut server = Server::start(&options.etrun, folder.join(worker.to_string()));
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= programs {
                        return;
                    }
                    let (seed, only) = match options.case {
                        Some((seed, plan)) => (seed, Some(plan)),
                        None => (options.seed + number, None),
                    };
                    let cases = cases(seed, only, &mut server);
                    if options.case.is_some() {
                        for case in &cases {
                            println!("{:?}: {:?}, {:?}: {:?}", case.kind, case.truth, case.seen, case.verdict);
                        }
                    }
                    let mut listed = Vec::new();
                    {
                        let mut tally = tally.lock().unwrap();
                        tally.programs += usize::from(!cases.is_empty());
                        tally.rejected += usize::from(cases.is_empty());
                        listed.extend(cases.iter().filter(|case| tally.add(case)));
                    }
                    if let (Some(case), None) = (cases.first(), options.case) {
                        for found in faults::faults(&case.program, seed, &mut server) {
                            let is_listed = tally.lock().unwrap().add_fault(seed, &found);
                            if let (Some(keep), true) = (&options.keep, is_listed) {
                                let name = format!("{:?}-{:?}-{seed}.pte", found.fault, found.truth).to_lowercase();
                                std::fs::write(keep.join(name), &found.file).unwrap();
                            }
                        }
                    }
                    for case in listed {
                        if let Some(keep) = &options.keep {
                            minimize::keep(case, &mut server, keep);
                        }
                    }
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    tally.print();
    std::fs::remove_dir_all(&folder).unwrap();
    if !options.report && !tally.is_good() {
        eprintln!("verdicts about planned memory differ from what the official runtime computes");
        std::process::exit(1);
    }
}
