//! The differences as text.

use super::FileDiff;
use crate::context::{Context, NAME, Out};
use crate::failure::Failure;
use crate::table::{Column, Table};
use crate::text;
use anstyle::{AnsiColor, Style};
use executorch_format::inspect::{Difference, DifferenceKind, DifferenceSubject, Distance};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// At most this many of one kind are shown on a terminal; `--verbose` shows all.
const MAX_SHOWN: usize = 8;

/// If limits are given, more differences than this are only counted; `--verbose` lists them.
const MAX_BESIDE_LIMITS: usize = 64;

/// Prints the differences by method, then the differences in storage; with `stat`, only their counts.
pub(super) fn text(
    context: &Context,
    before: &Path,
    after: &Path,
    found: &FileDiff,
    stat: bool,
) -> Result<(), Failure> {
    let diff = &found.diff;
    // Colours are only for a terminal, and not if NO_COLOR is set.
    let mut out = Printer { out: context.out() };
    if !diff.differences.is_empty() {
        let [size, other_size] = found.sizes.map(text::size);
        out.line(RED, &format!("--- {}  {size}", text::path(before)))?;
        out.line(GREEN, &format!("+++ {}  {other_size}", text::path(after)))?;
    }
    // In a long log, failures are easier to find at the start.
    for excess in found.exceeded.iter().flatten() {
        out.line(RED, &format!("over a limit: {excess}"))?;
    }
    let is_long = found.exceeded.is_some() && diff.differences.len() > MAX_BESIDE_LIMITS && !context.verbose;
    if stat || is_long {
        out.counts(&diff.differences)?;
    } else {
        out.changes(&diff.differences)?;
    }
    if stat {
        return out.end(found, "");
    }
    if !diff.storage.is_empty() && !is_long {
        out.line(PLAIN, "stored differently, not counted as differences:")?;
        out.list("  ", diff.storage.iter())?;
    }
    for what in &diff.not_compared {
        out.line(YELLOW, &format!("not compared: {what}"))?;
    }
    out.end(found, if is_long { " (-v lists each)" } else { "" })
}

const PLAIN: Style = Style::new();
const RED: Style = AnsiColor::Red.on_default();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const BOLD: Style = Style::new().bold();

struct Printer<'c> {
    out: Out<'c>,
}

impl Printer<'_> {
    fn line(&mut self, style: Style, line: &str) -> io::Result<()> {
        writeln!(self.out, "{style}{}{style:#}", self.out.context.cut(&text::message(line), 0))
    }

    /// Prints the number of differences of each kind.
    fn counts(&mut self, changes: &[Difference]) -> io::Result<()> {
        let mut counts: BTreeMap<(&str, DifferenceSubject), [usize; 3]> = BTreeMap::new();
        for change in changes {
            let place = (change.method.as_deref().unwrap_or_default(), change.subject);
            let [added, removed, changed] = counts.entry(place).or_default();
            *match change.kind {
                DifferenceKind::Added => added,
                DifferenceKind::Removed => removed,
                _ => changed,
            } += 1;
        }
        let mut table = Table::new([
            ("ADDED", Column::Right),
            ("REMOVED", Column::Right),
            ("CHANGED", Column::Right),
            ("METHOD", Column::Left),
            ("WHAT", Column::Left),
        ]);
        for ((method, subject), counts) in counts {
            let [added, removed, changed] =
                counts.map(|count| if count == 0 { String::new() } else { count.to_string() });
            let method = if method.is_empty() { String::new() } else { self.out.context.name(method, NAME) };
            table.row([added, removed, changed, method, noun(subject).trim_end_matches(" of").to_owned()]);
        }
        table.write(&mut self.out)
    }

    /// Prints the last line.
    fn end(mut self, found: &FileDiff, hint: &str) -> Result<(), Failure> {
        let diff = &found.diff;
        let mut differences = match diff.differences.len() {
            0 if diff.storage.is_empty() => "the same".to_owned(),
            0 => "the same model, stored differently".to_owned(),
            count => text::count(count, "difference"),
        };
        if !diff.not_compared.is_empty() {
            differences += ", as far as it was compared";
        }
        self.line(PLAIN, &(differences + hint))?;
        Ok(self.out.flush()?)
    }

    /// Prints the differences of the whole file, of each method, and of keys that are hashes, which mean nothing to a reader.
    fn changes(&mut self, changes: &[Difference]) -> io::Result<()> {
        let (inside, whole): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.method.is_some());
        let (hashes, whole): (Vec<_>, Vec<_>) = whole.into_iter().partition(|change| is_hash(change));
        self.list("", whole.into_iter())?;
        let mut by_method: BTreeMap<&str, (usize, Vec<&Difference>)> = BTreeMap::new();
        for change in inside {
            let (method, next) = (change.method.as_deref().unwrap_or_default(), by_method.len());
            let (_, list) = by_method.entry(method).or_insert_with(|| (next, Vec::new()));
            list.push(change);
        }
        let mut methods: Vec<_> = by_method.into_iter().collect();
        // In the order of their first changes.
        methods.sort_by_key(|(_, (first, _))| *first);
        for (method, (_, changes)) in methods {
            self.line(BOLD, &format!("method {method}"))?;
            self.list("  ", changes.into_iter())?;
        }
        self.list("", hashes.into_iter())
    }

    /// Prints a list of changes: the first ones of each kind.
    fn list<'c>(&mut self, indent: &str, changes: impl Iterator<Item = &'c Difference>) -> io::Result<()> {
        let mut by_subject: BTreeMap<DifferenceSubject, Vec<&Difference>> = BTreeMap::new();
        for change in changes {
            by_subject.entry(change.subject).or_default().push(change);
        }
        for (subject, changes) in by_subject {
            if subject == DifferenceSubject::UnusedValue && !self.out.context.verbose {
                self.folded(indent, &changes)?;
                continue;
            }
            // Neighbours that read the same are one line with their number.
            let runs: Vec<&[&Difference]> = changes.chunk_by(|left, right| reads_same(left, right)).collect();
            let most = self.out.context.most(MAX_SHOWN);
            let shown = if runs.len() - 1 <= most { runs.len() } else { most };
            for run in runs.iter().take(shown) {
                if let Some(change) = run.first() {
                    self.change(indent, change, run.len())?;
                }
            }
            if shown < runs.len() {
                let (what, count) = (noun(subject), runs.iter().skip(shown).map(|run| run.len()).sum::<usize>());
                self.line(PLAIN, &format!("{indent}  … {count} more of {what} (-v)"))?;
            }
        }
        Ok(())
    }

    /// Prints the number of unused values.
    fn folded(&mut self, indent: &str, changes: &[&Difference]) -> io::Result<()> {
        let removed = changes.iter().filter(|change| change.kind == DifferenceKind::Removed).count();
        for (mark, paint, count) in [('-', RED, removed), ('+', GREEN, changes.len() - removed)] {
            if count > 0 {
                let values = text::count(count, "value");
                self.line(paint, &format!("{indent}{mark} {values} without users (-v)"))?;
            }
        }
        Ok(())
    }

    fn change(&mut self, indent: &str, change: &Difference, count: usize) -> io::Result<()> {
        let (mark, paint) = match change.kind {
            DifferenceKind::Added => ('+', GREEN),
            DifferenceKind::Removed => ('-', RED),
            DifferenceKind::Moved => ('>', YELLOW),
            _ => ('~', YELLOW),
        };
        let times = if count > 1 { format!("{count} × ") } else { String::new() };
        let mut head = format!("{indent}{mark} {times}{}", noun(change.subject));
        // The text of an instruction includes its operator.
        let is_instruction = change.subject == DifferenceSubject::Instruction;
        if let Some(name) = change.tensor_name.as_ref().filter(|_| !is_instruction) {
            head += &format!(" {}", self.out.context.name(name, NAME));
        }
        // Plurals of the subject are part of the name.
        if !change.name.is_empty() && !change.name.starts_with("s ") {
            head += " ";
        }
        head += &change.name;
        if let Some(module) = change.module.as_ref().filter(|module| is_instruction && !module.is_empty()) {
            head += &format!(" ({})", self.out.context.name(module, NAME));
        }
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => {
                let line = format!("{head}: {before} -> {after}");
                if self.out.context.fits(&line) {
                    self.line(paint, &line)?;
                } else {
                    self.line(paint, &head)?;
                    let [before, after] = self.out.context.cut_around(before, after, indent.len() + 6);
                    self.line(RED, &format!("{indent}    - {before}"))?;
                    self.line(GREEN, &format!("{indent}    + {after}"))?;
                }
            }
            (Some(text), None) | (None, Some(text)) => self.line(paint, &format!("{head}: {text}"))?,
            (None, None) if change.kind == DifferenceKind::Changed && is_data(change.subject) => {
                self.line(paint, &format!("{head}: other values"))?;
            }
            (None, None) => self.line(paint, &head)?,
        }
        change.distance.iter().try_for_each(|distance| self.distance(indent, distance))
    }

    fn distance(&mut self, indent: &str, distance: &Distance) -> io::Result<()> {
        let Distance { elements, changed, unbounded, absolute, relative, cosine, .. } = distance;
        let cosine = cosine.map_or_else(String::new, |cosine| format!(", cosine {cosine:.6}"));
        let unbounded = match unbounded {
            0 => String::new(),
            count => format!(", {count} of them infinite or NaN in one file only"),
        };
        let line = format!(
            "{indent}    {changed} of {elements} differ, by up to {absolute:.4e} (relative {relative:.4e}){cosine}{unbounded}"
        );
        self.line(PLAIN, &line)
    }
}

/// Returns `true` for a key that is a SHA-256 hash, perhaps with a prefix, as exporters name data.
fn is_hash(change: &Difference) -> bool {
    const DIGITS: usize = 64;
    let hash = change.name.rsplit('_').next().unwrap_or_default();
    let is_digits = hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    change.subject == DifferenceSubject::Key && is_digits
}

/// Returns `true` if two differences have the same text.
fn reads_same(left: &Difference, right: &Difference) -> bool {
    (left.kind, &left.name, &left.tensor_name, &left.module)
        == (right.kind, &right.name, &right.tensor_name, &right.module)
        && (&left.before, &left.after, &left.distance) == (&right.before, &right.after, &right.distance)
}

fn is_data(subject: DifferenceSubject) -> bool {
    matches!(subject, DifferenceSubject::Weight | DifferenceSubject::Key)
}

fn noun(subject: DifferenceSubject) -> &'static str {
    match subject {
        DifferenceSubject::StackTrace => "stack traces",
        DifferenceSubject::Plan => "planned memory of",
        DifferenceSubject::TestCase => "test case",
        DifferenceSubject::UnusedValue => "unused value",
        other => other.name(),
    }
}
