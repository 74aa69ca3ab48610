//! Counts the verdicts of this crate and of the runtime.

use crate::cases::{Base, Case};
use executorch_format::delegate::Payload;
use executorch_format::schema::xnnpack::XNodeUnion;
use executorch_format::verify::{Finding, Level};
use executorch_format::{Ptd, Pte};
use executorch_format_support::fixtures::Fixture;
use executorch_format_support::official::Server;
use executorch_format_support::verdict::{errors, findings};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The behaviour of the runtime with a file.
enum Official {
    Accepts,
    /// The file loads, and running it fails.
    RefusesToRun,
    /// The file loads, and running it ends the process.
    DiesWhenRun(String),
    Refuses(String),
    /// A kernel or backend is missing, or a backend refuses its payload.
    Aside,
}

#[derive(Default)]
pub struct Tally {
    /// The damage has no effect, or cannot be written.
    pub nothing: usize,
    accepted_by_both: usize,
    /// Accepted by this crate; loads, but fails to run.
    not_run: usize,
    refused_by_both: usize,
    aside: usize,
    too_large: usize,
    /// Accepted by this crate at the runtime level; loads, but ends the process when it is run, for which the strict level has a finding.
    dies_when_run: usize,
    /// Accepted by this crate at the strict level as well, without a warning; loads, but ends the process when it is run: the number of
    /// files, and examples.
    dies_unreported: (usize, String),
    /// Accepted by this crate; the runtime was stopped while it worked on a very large value.
    too_long: usize,
    /// Refused by this crate, by rule.
    refused_here: BTreeMap<String, RefusedHere>,
    /// Payloads that the runtime runs and only this crate refuses, not excused by [`BY_CHANCE`].
    wrongly_refused: Vec<u64>,
    /// Refused only by the runtime, by message: the number of files, and an example.
    refused_there_alone: BTreeMap<String, (usize, String)>,
}

/// Files that this crate refuses by the same rules.
#[derive(Default)]
struct RefusedHere {
    /// The number of files that the runtime runs. The fields below count those that it refuses to run, that it dies on when it runs them,
    /// and that it refuses or dies on when it loads them.
    runs: usize,
    refused_to_run: usize,
    dies_when_run: usize,
    refused: usize,
    /// Examples of files that the runtime runs.
    examples: String,
}

/// Rules for payloads whose violations the runtime may survive, with the reason why they are at the runtime level nevertheless.
const BY_CHANCE: [(&str, &str); 7] = [
    ("xnnpack-chain", "writes past its list of nodes"),
    ("xnnpack-clamp-datatypes", "converts with numbers that it never set"),
    ("xnnpack-cycle", "sorts nodes with numbers that it never set"),
    ("xnnpack-output", "fuses nodes on quantized values, and packs weights: which of them decides"),
    ("xnnpack-constant-bounds", "reads memory after the constant: what is there decides"),
    ("xnnpack-argument-size", "reads or writes past the end of the argument"),
    ("xnnpack-unchecked", "no constants were given"),
];

impl Tally {
    /// Returns `true` if the runtime refused only files that this crate refuses, and ran refused payloads only by chance.
    pub fn is_good(&self) -> bool {
        self.refused_there_alone.is_empty()
            && self.wrongly_refused.is_empty()
            && self.dies_unreported.0 <= MAX_UNREPORTED
    }

    pub fn print(&self) {
        println!("{:7} accepted by both", self.accepted_by_both);
        println!("{:7} accepted here; the runtime loads it and refuses to run it", self.not_run);
        println!(
            "{:7} accepted here but not at the strict level, or with a warning; the runtime loads it and dies when it runs it",
            self.dies_when_run
        );
        let (count, examples) = &self.dies_unreported;
        println!(
            "{count:7} accepted here at the strict level too; the runtime loads it and dies when it runs it: {examples}"
        );
        println!("{:7} refused by both", self.refused_by_both);
        println!(
            "{:7} accepted here; the runtime missing a kernel or a backend, or a backend refuses its payload",
            self.aside
        );
        println!(
            "{:7} accepted here; not tried with the runtime: over {} MB of planned memory",
            self.too_large,
            MAX_PLANNED >> 20
        );
        println!(
            "{:7} accepted here; the runtime was stopped at a value of over {MAX_ELEMENTS} elements",
            self.too_long
        );
        println!("{:7} not written, or no change", self.nothing);
        println!(
            "refused here, by rule: how many the runtime runs, refuses to run, dies on when it runs them, refuses or dies on when it loads them:"
        );
        for (rule, found) in &self.refused_here {
            let RefusedHere { runs, refused_to_run, dies_when_run, refused, examples } = found;
            if runs + refused_to_run + dies_when_run > 0 {
                println!("        {runs:7} {refused_to_run:7} {dies_when_run:7} {refused:7} {rule}: {examples}");
            }
        }
        println!("{:7} of these are payloads that run by no chance", self.wrongly_refused.len());
        for (rule, why) in BY_CHANCE {
            println!("        by chance: {rule}: {why}");
        }
        let alone: usize = self.refused_there_alone.values().map(|(count, _)| count).sum();
        println!("{alone:7} refused only by the runtime, by its message:");
        for (why, (count, example)) in &self.refused_there_alone {
            println!("        {count:7} {why}: {example}");
        }
    }
}

/// The number of files that may end the process when they are run, without a finding: they depend on values that the file does not state.
const MAX_UNREPORTED: usize = 2;

/// The number of examples that are kept for each message.
const KEPT: usize = 30;

/// The number of examples that are shown for each set of rules by which only this crate refuses files.
const EXAMPLES: usize = 6;

/// The largest planned memory that is allocated for a case, in bytes.
const MAX_PLANNED: i64 = 64 << 20;

/// The largest number of elements of a payload's value. Larger values may take longer than the time limit of a case.
const MAX_ELEMENTS: u64 = 64 << 20;

/// The runtime's message for a case that exceeds the time limit.
const TOO_LONG: &str = "KILLED by signal 9";

/// A worker's connection to the runtime.
pub struct Judge<'t> {
    server: Server,
    folder: &'t Path,
    worker: usize,
}

impl<'t> Judge<'t> {
    pub fn new(etcheck: &Path, folder: &'t Path, worker: usize) -> Self {
        Self { server: Server::start(etcheck), folder, worker }
    }

    /// Returns whether the runtime accepts the undamaged file.
    pub fn accepts(&mut self, base: &Base<'_>) -> bool {
        let paths = self.put(base.fixture, base.fixture.bytes(), &base.data);
        matches!(self.ask(&paths, base.fixture.name().starts_with("made/"), base.fixture.bytes()), Official::Accepts)
    }

    pub fn judge(&mut self, number: u64, case: &Case<'_>, tally: &Mutex<Tally>) {
        let files: Vec<&[u8]> = [case.file.as_slice()].into_iter().chain(case.base.data.iter().copied()).collect();
        let mut ours = errors(&files, Level::Runtime);
        // Without its .ptd files, a payload is not reported as bad; the runtime does not have them either.
        ours.extend(
            findings(&files, Level::Strict)
                .iter()
                .map(|finding| finding.rule)
                .filter(|rule| *rule == "xnnpack-unchecked"),
        );
        if planned(&case.file) > MAX_PLANNED {
            let mut tally = tally.lock().unwrap();
            tally.too_large += usize::from(ours.is_empty());
            tally.refused_by_both += usize::from(!ours.is_empty());
            return;
        }
        let paths = self.put(case.base.fixture, &case.file, &case.base.data);
        // Files that load are also run if they may be wrong: the strict level must find faults that end the process.
        let run = case.payload || !ours.is_empty();
        let mut theirs = self.ask(&paths, run, &case.file);
        if let Official::Refuses(why) = &theirs {
            if run && why.contains("KILLED") && matches!(self.ask(&paths, false, &case.file), Official::Accepts) {
                theirs = Official::DiesWhenRun(why.clone());
            }
        }
        // Undefined behaviour may end the process only sometimes.
        let mut dies_when_run = || match self.ask(&paths, true, &case.file) {
            Official::Refuses(why) => why.contains("KILLED") && !why.contains(TOO_LONG),
            _ => false,
        };
        let is_accepted = !run && matches!(theirs, Official::Accepts);
        let dies = is_accepted && dies_when_run() && dies_when_run();
        let what = || format!("{}, {} (case {number})", case.base.fixture.name(), case.how);
        let mut tally = tally.lock().unwrap();
        match (ours.iter().next(), theirs) {
            (None, Official::Accepts) if dies => {
                // Other warnings may be about the undamaged file.
                let is_of_call = |finding: &Finding| finding.rule.starts_with("kernel-");
                let is_reported =
                    !errors(&files, Level::Strict).is_empty() || findings(&files, Level::Strict).iter().any(is_of_call);
                if !is_reported {
                    let (count, examples) = &mut tally.dies_unreported;
                    *count += 1;
                    *examples += &format!("\n                {}", what());
                    let name = format!("dies-{number}.{}", case.base.fixture.extension());
                    std::fs::write(self.folder.join(name), &case.file).unwrap();
                } else {
                    tally.dies_when_run += 1;
                }
            }
            (None, Official::Accepts) => tally.accepted_by_both += 1,
            (None, Official::RefusesToRun) => tally.not_run += 1,
            (None, Official::Aside) => tally.aside += 1,
            (None, Official::Refuses(why) | Official::DiesWhenRun(why))
                if why.contains(TOO_LONG) && largest_value(&case.file) > MAX_ELEMENTS =>
            {
                tally.too_long += 1;
            }
            (None, Official::DiesWhenRun(_)) if !errors(&files, Level::Strict).is_empty() => tally.dies_when_run += 1,
            (None, Official::Refuses(why) | Official::DiesWhenRun(why)) => {
                let (count, example) = tally.refused_there_alone.entry(without_numbers(&why)).or_default();
                *count += 1;
                if *count <= KEPT {
                    *example += &format!("\n                {}", what());
                    std::fs::write(self.folder.join(format!("{number}.{}", case.base.fixture.extension())), &case.file)
                        .unwrap();
                }
            }
            (Some(_), theirs) => {
                let rules = ours.iter().copied().collect::<Vec<_>>().join(" ");
                let found = tally.refused_here.entry(rules).or_default();
                let runs = matches!(theirs, Official::Accepts);
                match theirs {
                    Official::Accepts => found.runs += 1,
                    Official::RefusesToRun => found.refused_to_run += 1,
                    Official::DiesWhenRun(_) => found.dies_when_run += 1,
                    Official::Refuses(_) | Official::Aside => found.refused += 1,
                }
                if runs && found.runs <= EXAMPLES {
                    found.examples += &format!("\n                {}", what());
                }
                tally.refused_by_both += usize::from(!runs);
                if case.payload && runs && !BY_CHANCE.iter().any(|(rule, _)| ours.contains(rule)) {
                    tally.wrongly_refused.push(number);
                    if tally.wrongly_refused.len() <= 4 * KEPT {
                        let name = format!("{number}.{}", case.base.fixture.extension());
                        std::fs::write(self.folder.join(name), &case.file).unwrap();
                    }
                }
            }
        }
    }

    /// Writes a file and the `.ptd` files that it uses.
    fn put(&self, fixture: &Fixture, file: &[u8], data: &[&[u8]]) -> Vec<PathBuf> {
        let extensions = [fixture.extension()].into_iter().chain(data.iter().map(|_| "ptd"));
        let files = [file].into_iter().chain(data.iter().copied());
        let path = |(index, (extension, bytes))| {
            let path = self.folder.join(format!("{}-{index}.{extension}", self.worker));
            std::fs::write(&path, bytes).unwrap();
            path
        };
        extensions.zip(files).enumerate().map(path).collect()
    }

    fn ask(&mut self, paths: &[PathBuf], run: bool, file: &[u8]) -> Official {
        let text = self.server.judge(paths, run);
        // Requesting the shape of a key without one crashes the runtime, even for valid files.
        let opaque = opaque_keys(file);
        let mut key = None;
        let killed = |line: &&str| {
            if let Some(rest) = line.strip_prefix("key ") {
                key = rest.split(':').next().and_then(|index| index.parse::<usize>().ok());
            }
            let excused = line.starts_with("  layout:") && key.is_some_and(|key| opaque.contains(&key));
            line.contains("KILLED") && !excused
        };
        if let Some(line) = text.lines().find(killed) {
            return Official::Refuses(line.trim().to_owned());
        }
        // A key with a NUL inside is not found: the runtime looks it up as a C string.
        let cut = has_cut_key(file);
        // Loading needs neither the named data nor the descriptions of inputs and outputs that etcheck prints.
        let is_listed = |line: &str| {
            ["      named data ", "  key ", "  in ", "  out "].iter().any(|listed| line.starts_with(listed))
        };
        let refused = |line: &&str| {
            let is_error = line.contains("error 0x") && !line.starts_with("named data in program: none");
            is_error && !is_listed(line) && !(cut && line.contains("Error::NotFound"))
        };
        let Some(line) = text.lines().find(refused) else {
            return Official::Accepts;
        };
        if line.starts_with("  execute") || line.starts_with("  set_") {
            return Official::RefusesToRun;
        }
        if text.contains("Init failed for backend XnnpackBackend") {
            let why = text.lines().find(|line| line.starts_with("E ")).unwrap_or_default();
            return Official::Refuses(why.split_once(']').map_or(why, |(_, why)| why).trim().to_owned());
        }
        let aside = ["Missing operator", "is not registered", "is not available", "Init failed for backend"];
        if aside.iter().any(|reason| text.contains(reason)) {
            return Official::Aside;
        }
        let why = text.lines().find(|line| line.starts_with("E ")).unwrap_or_default();
        Official::Refuses(format!("{}: {why}", line.trim()))
    }
}

/// Returns the number of elements in the largest value inside XNNPACK payloads, including values that a convolution pads with zeros.
fn largest_value(file: &[u8]) -> u64 {
    let Ok(pte) = Pte::parse(file) else { return 0 };
    let mut largest = 0;
    for delegate in pte.methods().iter().flat_map(|plan| plan.delegates()) {
        let Ok(Payload::Xnnpack(payload)) = pte.delegate(delegate) else { continue };
        let tensors = payload.graph.xvalues().iter().filter_map(|value| value.tensor());
        let elements =
            tensors.map(|tensor| tensor.dims().iter().fold(1u64, |all, size| all.saturating_mul((*size).into())));
        largest = elements.fold(largest, u64::max);
        let padded = payload.graph.xnodes().iter().filter_map(|node| match &node.xnode_union {
            XNodeUnion::XNNConv2d(conv) | XNodeUnion::XNNDepthwiseConv2d(conv) => {
                let mut tensors = payload.graph.xvalues().iter().filter_map(|value| value.tensor());
                let input = tensors.find(|tensor| tensor.id_out == conv.input1_id)?;
                let &[batch, height, width, channels] = input.dims() else { return None };
                let rows = u64::from(height) + u64::from(conv.padding_top) + u64::from(conv.padding_bottom);
                let columns = u64::from(width) + u64::from(conv.padding_left) + u64::from(conv.padding_right);
                Some(rows.saturating_mul(columns).saturating_mul(u64::from(batch) * u64::from(channels)))
            }
            _ => None,
        });
        largest = padded.fold(largest, u64::max);
    }
    largest
}

/// Returns the runtime's message with all numbers made equal, so that each cause has one entry. Signal numbers are kept.
fn without_numbers(why: &str) -> String {
    if why.contains("KILLED") {
        return why.to_owned();
    }
    let mut text: String = why.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    while text.contains("00") {
        text = text.replace("00", "0");
    }
    text
}

/// Returns the indices of the keys of a `.ptd` that are not tensors.
fn opaque_keys(file: &[u8]) -> BTreeSet<usize> {
    let ptd = Ptd::parse(file);
    let entries = ptd.iter().flat_map(|ptd| ptd.entries().enumerate());
    entries.filter(|(_, entry)| entry.shape.is_none()).map(|(index, _)| index).collect()
}

fn has_cut_key(file: &[u8]) -> bool {
    let mut keys: Vec<&[u8]> = Vec::new();
    let (pte, ptd) = (Pte::parse(file), Ptd::parse(file));
    if let Ok(pte) = &pte {
        keys.extend(pte.named_data().iter().filter_map(|named| Some(named.key.as_ref()?.as_bytes())));
    }
    if let Ok(ptd) = &ptd {
        keys.extend(ptd.entries().filter_map(|entry| Some(entry.key?.as_bytes())));
    }
    keys.iter().any(|key| key.contains(&0))
}

/// Returns the planned memory of the largest method, in bytes.
fn planned(file: &[u8]) -> i64 {
    let Ok(pte) = Pte::parse(file) else {
        return 0;
    };
    let sizes = pte
        .methods()
        .iter()
        .map(|plan| plan.non_const_buffer_sizes().iter().fold(0i64, |sum, size| sum.saturating_add(*size)));
    sizes.max().unwrap_or(0)
}
