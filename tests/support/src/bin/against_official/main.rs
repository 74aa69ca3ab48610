//! Compares this crate's verdicts with the official runtime's. Small valid files are damaged in every field and every word, and the graphs
//! of XNNPACK payloads get meaningful changes. Each damaged file is judged by this crate at the runtime level, and by ExecuTorch's own
//! loader.
//!
//! `.ci/official/compare` runs it. It fails if the runtime refuses or crashes on a file that this crate accepts, unless kernels or
//! backends are missing, and keeps such files. A file that loads but ends the process when it is run must break a rule of the strict
//! level. Files that this crate refuses are also run by the runtime, and counted by rule and by the runtime's behaviour. A payload that
//! this crate refuses must not load and run there, unless `tally.rs` excuses the rule.
//!
//! First it runs the valid programs. It fails if a call that runs correctly breaks a rule about calls of kernels, or a refused call does
//! not break such a rule.

#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod cases;
mod kernels;
mod structured;
mod tally;

use cases::{Base, Cases, Wanted};
use executorch_format_support::fixtures::{self, Fixture};
use executorch_format_support::xnnpack_programs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tally::{Judge, Tally};

const USAGE: &str = "usage: against_official ETCHECK [--seconds N] [--cases N] [--seed N] [--state FILE] [--only PART] [--case N] [--kinds LIST]

Judges cases until the seconds or cases are used up, in an order given by the seed: any part of it is a sample of all damage.
With a state file, it continues where it stopped. PART is a part of a base file's name. With --case, it only writes that case's
file to the current folder; a case number is valid for one seed and part only.
LIST names the kinds of cases, with commas: files (fields, words and bytes of programs and .ptd files), payloads (the same of XNNPACK
payloads), and structured changes of XNNPACK graphs: dims, ids, flags, settings, nodes, types, quantization, constants, counts,
order, or structured for all ten. Without it, all kinds take part, a third of the cases for each of the three.";

struct Options {
    etcheck: PathBuf,
    seconds: u64,
    cases: u64,
    seed: u64,
    state: Option<PathBuf>,
    only: String,
    case: Option<u64>,
    wanted: Wanted,
}

/// Returns the kinds of cases with the names in a list.
fn wanted(list: &str) -> Option<Wanted> {
    let mut wanted = Wanted { files: false, payloads: false, structured: Vec::new() };
    for name in list.split(',') {
        match name {
            "files" => wanted.files = true,
            "payloads" => wanted.payloads = true,
            "structured" => wanted.structured.extend(structured::KINDS.map(|(_, kind)| kind)),
            name => wanted.structured.push(structured::KINDS.iter().find(|(other, _)| *other == name)?.1),
        }
    }
    Some(wanted)
}

fn options() -> Option<Options> {
    let mut arguments = std::env::args().skip(1);
    let etcheck = arguments.next()?.into();
    let mut options = Options {
        etcheck,
        seconds: u64::MAX,
        cases: u64::MAX,
        seed: 1,
        state: None,
        only: String::new(),
        case: None,
        wanted: wanted("files,payloads,structured")?,
    };
    while let (Some(option), value) = (arguments.next(), arguments.next()) {
        let value = value?;
        match option.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--cases" => options.cases = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--state" => options.state = Some(value.into()),
            "--only" => options.only = value,
            "--case" => options.case = Some(value.parse().ok()?),
            "--kinds" => options.wanted = wanted(&value)?,
            _ => return None,
        }
    }
    Some(options)
}

fn main() {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let folder = std::env::temp_dir().join(format!("executorch-format-against-official-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut fixtures = fixtures::fixtures();
    let kernels_are_right = options.case.is_some() || kernels::compare(&options.etcheck, &fixtures);
    let made = xnnpack_programs::all();
    fixtures.extend(made.iter().map(|(name, bytes)| Fixture::made(&format!("made/{name}.pte"), bytes)));
    let mut bases = bases(&fixtures, &options);
    let mut judge = Judge::new(&options.etcheck, &folder, 0);
    bases.retain(|base| {
        let accepted = judge.accepts(base);
        if !accepted && base.fixture.name().starts_with("made/") {
            std::fs::write(folder.join(base.fixture.path.file_name().unwrap()), base.fixture.bytes()).unwrap();
            eprintln!("{} is not accepted: see {}", base.fixture.name(), folder.display());
        }
        accepted
    });
    let cases = Cases::new(&bases, options.seed);
    if let Some(number) = options.case {
        let case = cases.get(number).expect("a case that can be written");
        println!("{}: {}", case.base.fixture.name(), case.how);
        let extension = case.base.fixture.extension();
        return std::fs::write(format!("case-{number}.{extension}"), case.file).unwrap();
    }
    let first = options.state.as_ref().and_then(|state| std::fs::read_to_string(state).ok()?.trim().parse().ok());
    let first: u64 = first.unwrap_or(0);
    let end = cases.total().min(first.saturating_add(options.cases));
    println!("{} cases of {} files, from case {first}", cases.total(), bases.len());

    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    let stop = Instant::now() + Duration::from_secs(options.seconds.min(1 << 30));
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (cases, next, tally, folder) = (&cases, &next, &tally, &folder);
            let mut judge = Judge::new(&options.etcheck, folder, worker);
            scope.spawn(move || {
                while Instant::now() < stop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    match cases.get(number) {
                        Some(case) => judge.judge(number, &case, tally),
                        None => tally.lock().unwrap().nothing += 1,
                    }
                }
            });
        }
    });
    let reached = next.into_inner().min(end);
    if let Some(state) = &options.state {
        std::fs::write(state, reached.to_string()).unwrap();
    }
    println!(
        "cases {first} to {reached}, which is {:.1} % of all",
        (reached - first) as f64 * 100.0 / cases.total() as f64
    );
    let tally = tally.into_inner().unwrap();
    tally.print();
    if tally.is_good() && kernels_are_right {
        std::fs::remove_dir_all(&folder).unwrap();
    } else {
        eprintln!("the files are in {}", folder.display());
        std::process::exit(1);
    }
}

/// Returns the small valid files, each program with the `.ptd` files in its folder.
fn bases<'f>(fixtures: &'f [Fixture], options: &Options) -> Vec<Base<'f>> {
    const MAX_SIZE: usize = 16 << 10;
    let beside = |fixture: &Fixture| -> Vec<&'f Fixture> {
        let same = fixtures.iter().filter(|other| other.path.parent() == fixture.path.parent());
        same.filter(|other| fixture.is_pte() && !other.is_pte()).collect()
    };
    let small =
        fixtures.iter().filter(|fixture| fixture.bytes().len() <= MAX_SIZE && fixture.name().contains(&options.only));
    small.filter_map(|fixture| Base::new(fixture, beside(fixture), &options.wanted)).collect()
}
