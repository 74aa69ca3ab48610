//! Compares verdicts with the official runtime's: several thousand damaged variants of good files, each judged by this crate at the
//! runtime level and by ExecuTorch's own loader.
//!
//! `cargo run --release --example against_official ETCHECK [COUNT [SEED]]`, where `ETCHECK` is the program that
//! `.ci/official/get.sh` builds. Fails where the runtime refuses or crashes on what this crate accepts, missing kernels
//! and backends aside, and keeps those files in a temporary folder.

#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod damage;
mod random;

use executorch_format::validate::{Finding, Level, Severity, validate_pair, validate_ptd, validate_pte};
use executorch_format::{FileKind, Ptd, Pte, probe};
use random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Small files of every kind, without backends that look into their payloads. The `.ptd` of a pair comes second.
const BASES: &[&[&str]] = &[
    &["1.5.1/add/add.pte"],
    &["1.5.1/add_mul/add_mul.pte"],
    &["1.5.1/cond/cond.pte"],
    &["1.5.1/channels_last/channels_last.pte"],
    &["1.5.1/blob_inline/blob_inline.pte"],
    &["1.5.1/blob_segments/blob_segments.pte"],
    &["1.5.1/dynamic_bounded/dynamic_bounded.pte"],
    &["1.5.1/evalue_custom/evalue_custom.pte"],
    &["1.5.1/mutable_init/mutable_init.pte"],
    &["1.5.1/multi_method/multi_method.pte"],
    &["1.5.1/optional_tensor_list/optional_tensor_list.pte"],
    &["1.5.1/stacktrace/stacktrace.pte"],
    &["1.5.1/tensor_lists/tensor_lists.pte"],
    &["0.4.0/add_mul/add_mul.pte"],
    &["0.6.0/kinds/kinds.pte"],
    &["1.0.1/mutable/mutable.pte"],
    &["1.5.1/add_mul_external/add_mul_external.pte", "1.5.1/add_mul_external/_default_external_constant.ptd"],
    &["1.5.1/add_mul_external/_default_external_constant.ptd"],
    &["1.5.1/ptd_shared/ptd_shared.ptd"],
    &["1.5.1/ptd_save_cpp/save_ptd_16.ptd"],
    &["1.5.1/ptd_blobs/ptd_blobs_4.ptd"],
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let etcheck = arguments.get(1).expect("usage: against_official ETCHECK [COUNT [SEED]]");
    let count = arguments.get(2).map_or(4000, |count| count.parse().expect("COUNT"));
    let seed = arguments.get(3).map_or(1, |seed| seed.parse().expect("SEED"));
    let folder = std::env::temp_dir().join(format!("executorch-format-against-official-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let bases: Vec<Vec<Vec<u8>>> = BASES.iter().map(|names| names.iter().map(|name| read(name)).collect()).collect();

    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return;
        }
        let base = number % bases.len();
        let mut random = Random::new(seed * 1_000_003 + number as u64);
        // Not every damage fits every file.
        if let Some((how, file)) = (0..20).find_map(|_| damage::variant(&bases[base][0], &mut random)) {
            let case = Case { etcheck, folder: &folder, base, number, how };
            let files: Vec<&[u8]> =
                std::iter::once(file.as_slice()).chain(bases[base].iter().skip(1).map(Vec::as_slice)).collect();
            case.judge(&files, &tally);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let tally = tally.into_inner().unwrap();
    tally.print();
    if tally.alone.is_empty() {
        std::fs::remove_dir_all(&folder).unwrap();
    } else {
        eprintln!("the files are in {}", folder.display());
        std::process::exit(1);
    }
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).expect(name)
}

/// What the runtime does with a file.
enum Official {
    Accepts,
    Refuses(String),
    /// A kernel or backend is missing or does not like its payload.
    Aside,
}

#[derive(Default)]
struct Tally {
    both_accept: usize,
    both_refuse: usize,
    aside: usize,
    too_large: usize,
    /// What only this crate refuses, by the first rule that says so.
    ours: BTreeMap<&'static str, usize>,
    /// What only the runtime refuses or crashes on.
    alone: Vec<String>,
}

impl Tally {
    fn print(&self) {
        let ours: usize = self.ours.values().sum();
        let all = self.both_accept + self.both_refuse + self.aside + self.too_large + ours + self.alone.len();
        println!("{all} damaged variants of {} files", BASES.len());
        println!("{:6} accepted by both", self.both_accept);
        println!("{:6} refused by both", self.both_refuse);
        println!("{:6} accepted here, and stopped there by a missing kernel or a backend", self.aside);
        println!(
            "{:6} accepted here, and not tried there: over {} MB of planned memory",
            self.too_large,
            MOST_PLANNED >> 20
        );
        println!("{ours:6} refused here alone, by rule:");
        for (rule, count) in &self.ours {
            println!("       {count:6} {rule}");
        }
        println!("{:6} refused there alone", self.alone.len());
        for line in &self.alone {
            println!("       {line}");
        }
    }
}

/// More planned memory than is worth allocating.
const MOST_PLANNED: i64 = 64 << 20;

struct Case<'t> {
    etcheck: &'t str,
    folder: &'t Path,
    base: usize,
    number: usize,
    how: String,
}

impl Case<'_> {
    fn judge(&self, files: &[&[u8]], tally: &Mutex<Tally>) {
        let ours = errors(files);
        if planned(files[0]) > MOST_PLANNED {
            tally.lock().unwrap().too_large += usize::from(ours.is_empty());
            tally.lock().unwrap().both_refuse += usize::from(!ours.is_empty());
            return;
        }
        let paths: Vec<PathBuf> = files.iter().enumerate().map(|(index, bytes)| self.write(index, bytes)).collect();
        let theirs = self.ask(&paths, has_opaque_blob(files[0]));
        let mut tally = tally.lock().unwrap();
        match (ours.iter().next(), &theirs) {
            (None, Official::Accepts) => tally.both_accept += 1,
            (None, Official::Aside) => tally.aside += 1,
            (None, Official::Refuses(why)) => {
                tally.alone.push(format!("{}: {} ({}): {why}", paths[0].display(), BASES[self.base][0], self.how));
                return;
            }
            (Some(_), Official::Refuses(_)) => tally.both_refuse += 1,
            (Some(rule), _) => *tally.ours.entry(rule).or_default() += 1,
        }
        drop(tally);
        paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    fn write(&self, index: usize, bytes: &[u8]) -> PathBuf {
        let extension = if index == 0 { BASES[self.base][0].rsplit('.').next().unwrap() } else { "ptd" };
        let path = self.folder.join(format!("{}-{index}.{extension}", self.number));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn ask(&self, paths: &[PathBuf], opaque: bool) -> Official {
        let output = Command::new(self.etcheck).arg("--no-exec").args(paths).output().expect(self.etcheck);
        let (text, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code().is_none() {
            return Official::Refuses(output.status.to_string());
        }
        // To ask for the layout of what has none crashes the runtime, also in good files.
        let killed = |line: &&str| line.contains("KILLED") && !(opaque && line.starts_with("  layout:"));
        if let Some(line) = text.lines().find(killed) {
            return Official::Refuses(line.trim().to_owned());
        }
        let refused = |line: &&str| line.contains("error 0x") && !line.starts_with("named data in program: none");
        let Some(line) = text.lines().find(refused) else {
            return Official::Accepts;
        };
        let aside = ["Missing operator", "is not registered", "is not available", "Init failed for backend"];
        if aside.iter().any(|reason| log.contains(reason)) {
            return Official::Aside;
        }
        let why = log.lines().find(|line| line.starts_with('E')).unwrap_or_default();
        Official::Refuses(format!("{}: {why}", line.trim()))
    }
}

fn has_opaque_blob(file: &[u8]) -> bool {
    Ptd::parse(file).is_ok_and(|ptd| ptd.entries().any(|entry| entry.layout.is_none()))
}

/// The rules that a file breaks at the runtime level.
fn errors(files: &[&[u8]]) -> BTreeSet<&'static str> {
    let file = files[0];
    let level = Level::Runtime;
    let found = probe(file).and_then(|probe| match probe.kind {
        FileKind::Pte => Pte::parse(file).map(|pte| {
            let ptds: Vec<Ptd<'_>> = files.iter().skip(1).map(|data| Ptd::parse(data).unwrap()).collect();
            let mut found = validate_pte(&pte, Some(file), level);
            found.extend(validate_pair(&pte, &ptds, level));
            found
        }),
        FileKind::Ptd => Ptd::parse(file).map(|ptd| validate_ptd(&ptd, Some(file), level)),
    });
    let found = found.unwrap_or_else(|error| vec![Finding::from(&error)]);
    found.iter().filter(|finding| finding.severity == Severity::Error).map(|finding| finding.rule).collect()
}

/// The bytes of planned memory that the largest method asks for.
fn planned(file: &[u8]) -> i64 {
    let Ok(pte) = Pte::parse(file) else {
        return 0;
    };
    let sizes = |plan: &executorch_format::schema::program::ExecutionPlan<'_>| {
        plan.non_const_buffer_sizes
            .iter()
            .flat_map(|sizes| sizes.iter())
            .fold(0i64, |sum, size| sum.saturating_add(*size))
    };
    pte.methods().iter().map(sizes).max().unwrap_or(0)
}
