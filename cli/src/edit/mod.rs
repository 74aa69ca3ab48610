//! Shared by the commands that change a file: the destination of the result, and the check that the edit introduced no new fault.

pub mod bundle;
pub mod dedup;
pub mod externalize;
pub mod extract;
pub mod internalize;
pub mod metadata;
pub mod pattern;
pub mod ptd;
pub mod replace;
mod scalar_type;
pub mod select;
mod share;
mod source;
pub mod strip;

use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonArguments;
use crate::open::Input;
use crate::save::{Pending, prepare_all, real};
use crate::{json, lock, text};
pub use executorch_format::edit::EditReport;
use executorch_format::edit::{Action, Subject};
use executorch_format::verify::{Finding, Level};
use executorch_format::{Image, Model, Ptd, Pte};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The destination of the result.
#[derive(clap::Args)]
pub struct Destination {
    /// The file to write; may be the same file
    #[arg(short, long, value_name = "OUT", conflicts_with = "in_place")]
    output: Option<PathBuf>,
    /// Replace the file itself; if that fails, it is unchanged
    #[arg(short, long)]
    in_place: bool,
    #[command(flatten)]
    how: How,
}

/// Options for showing an edit without writing it, and for its output format.
#[derive(clap::Args)]
pub struct How {
    /// Show what would change, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub form: JsonArguments,
}

/// The result of an edit, as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The files that were read.
    files: Vec<json::Named>,
    /// The files that were written, or would be.
    outputs: Vec<Written>,
    dry_run: bool,
    #[serde(flatten)]
    report: EditReport,
}

/// A file that was written, or would be.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct Written {
    /// `None` in a dry run without an output.
    file: Option<String>,
    /// Bytes.
    size: u64,
}

/// A result to be written, and its path.
pub struct Output<'t> {
    path: Option<&'t Path>,
    image: Image<'t>,
}

impl<'t> Output<'t> {
    /// Creates the entry of a file; `None` in a dry run without an output.
    pub fn new(
        path: Option<&'t Path>,
        image: executorch_format::Result<Image<'t>>,
        input: &Path,
    ) -> Result<Self, Failure> {
        Ok(Self::of_image(path, image.map_err(|error| Failure::bad(input, &error))?))
    }

    /// Does the same with an image.
    pub fn of_image(path: Option<&'t Path>, image: Image<'t>) -> Self {
        Self { path, image }
    }

    /// Fails if the old file has bytes at the end that it does not refer to, since the new one would lose them.
    pub fn keeps(&self, trailing: &Range<u64>, input: &Path) -> Result<(), Failure> {
        if trailing.is_empty() || self.image.is_from_source() {
            return Ok(());
        }
        Err(Failure::loses(input, trailing, "`pte rewrite --drop-trailing` drops them first"))
    }
}

/// Returns a note if a `.ptd` keeps a schema in which runtimes find no data.
pub fn old_schema(ptd: &Ptd<'_>) -> Option<String> {
    ptd.flat_tensor.legacy.as_ref()?;
    Some("the schema stays that of ExecuTorch 0.5 or 0.6, in which runtimes find no data: `pte ptd merge FILE -o NEW.ptd` writes the current one".to_owned())
}

/// Fails for a pipe, a device or standard input, which cannot be changed in place.
pub fn only_a_file(input: &Path) -> Result<(), Failure> {
    if input.as_os_str() != text::STANDARD && (!input.exists() || input.is_file()) {
        return Ok(());
    }
    Err(Failure::usage_of(input, &"only a file can be changed in place: give --output OUT"))
}

impl Destination {
    /// Returns `true` if an output was given.
    pub fn is_given(&self) -> bool {
        self.output.is_some() || self.in_place
    }

    /// Returns the output as it was given.
    pub fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Returns `true` if the input is replaced.
    pub fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// Returns the options for a dry run and the output format.
    pub fn how(&self) -> &How {
        &self.how
    }

    /// Returns the path of the result; `None` in a dry run without an output. Fails if there is neither an output nor a dry run.
    pub fn path<'t>(&'t self, input: &'t Path) -> Result<Option<&'t Path>, Failure> {
        if !self.is_given() && !self.how.dry_run {
            return Err(Failure::Usage("nothing to write to: give --output OUT or --in-place".into()));
        }
        if self.in_place {
            only_a_file(input)?;
        }
        Ok(if self.in_place { Some(input) } else { self.output.as_deref() })
    }

    /// Opens the file to change, after locking the file to write. Fails before reading it if there is no destination, since reading a pipe
    /// may block.
    pub fn open(&self, context: &Context, input: &Path) -> Result<Input, Failure> {
        if let Some(output) = self.path(input)?.filter(|_| !self.how.dry_run) {
            lock::before_reading(context, output)?;
        }
        Input::open(context, input)
    }

    /// Writes a changed file if it has no new fault. The file is named and reported later.
    pub fn finish<'a>(
        &self,
        context: &Context,
        input: &Input,
        before: impl Into<Model<'a>>,
        after: impl Into<Model<'a>>,
        report: EditReport,
    ) -> Result<Pending<'_>, Failure> {
        let path = self.path(input.path())?;
        let before = before.into();
        let trailing = before.trailing_bytes();
        let after = after.into();
        let mut report = report;
        if let Model::Ptd(ptd) = &after {
            report.notes.extend(old_schema(ptd));
        }
        let found = before.verify(Level::Strict);
        // Frees the memory before the result is read again.
        drop(before);
        let image = checked(input.path(), &found, &after)?;
        let output = Output { path, image };
        // `pte strip --padding` may drop them.
        if !report.changes.iter().any(|change| change.subject == Subject::Padding) {
            output.keeps(&trailing, input.path())?;
        }
        finish(context, &[input], vec![output], report, &self.how)
    }
}

/// Returns the strict findings in a program, and in its combination with its `.ptd` files.
pub fn findings_with(pte: &Pte<'_>, data: &[Ptd<'_>]) -> Vec<Finding> {
    let mut found = pte.verify(Level::Strict);
    found.extend(pte.verify_with(data, Level::Strict));
    found
}

/// Returns the image of the result if it breaks no rule that the original file, whose findings are `before`, did not break.
pub fn checked<'t>(file: &Path, before: &[Finding], after: &'t Model<'_>) -> Result<Image<'t>, Failure> {
    let bad = |error| Failure::bad(file, &error);
    let image = after.image().map_err(bad)?;
    refuse(file, &after.new_errors(before, &image).map_err(bad)?)?;
    Ok(image)
}

/// Fails if there are findings in a result.
pub fn refuse(file: &Path, found: &[Finding]) -> Result<(), Failure> {
    if found.is_empty() {
        return Ok(());
    }
    let findings =
        found.iter().map(|finding| format!("the result has a new fault and was not written: {finding}")).collect();
    Err(Failure::Bad { file: file.to_owned(), findings })
}

/// Writes results, unless it is a dry run. The files are named and reported when the inputs are closed.
pub fn finish<'t, 'a>(
    context: &Context,
    inputs: &[&'t Input],
    outputs: Vec<Output<'t>>,
    report: EditReport,
    how: &'a How,
) -> Result<Pending<'a>, Failure> {
    let copied = |image| inputs.iter().fold(image, |image, input| input.copied(image));
    let outputs = outputs.into_iter().map(|Output { path, image }| Output { path, image: copied(image) });
    let outputs: Vec<_> = outputs.collect();
    let files: Vec<_> = outputs.iter().filter_map(|output| Some((&output.image, output.path?))).collect();
    let mut written = BTreeSet::new();
    for (_, path) in &files {
        if !written.insert(real(path)) {
            return Err(Failure::Usage(format!("{}: two results cannot be the same file", text::path(path))));
        }
    }
    // An edit in place without changes writes nothing. A separate output is always written.
    let read: BTreeSet<PathBuf> = inputs.iter().map(|input| real(input.path())).collect();
    let is_piped = files.iter().any(|(_, path)| is_standard_output(path));
    let kept = report.changes.is_empty() && !is_piped && written.is_subset(&read);
    let pending = if how.dry_run || kept { Pending::default() } else { prepare_all(context, &files, inputs)? };
    // In this case, the result itself goes to standard output.
    if is_piped {
        return Ok(pending);
    }
    let written = |output: &Output<'_>| Written {
        file: output.path.map(|path| path.display().to_string()),
        size: output.image.size(),
    };
    let files = json::Named::all(inputs.iter().map(|input| input.path()));
    let before: u64 = inputs.iter().map(|input| input.bytes().len() as u64).sum();
    let after: u64 = outputs.iter().map(|output| output.image.size()).sum();
    let outputs = outputs.iter().filter(|_| how.dry_run || !kept).map(written).collect();
    Ok(pending.then(move |context| {
        if how.form.any() {
            return json::print(context, &Outcome { files, outputs, dry_run: how.dry_run, report }, &how.form);
        }
        if context.quiet {
            return Ok(());
        }
        print(context, &report, [before, after], how.dry_run)
    }))
}

/// Returns `true` for standard output, also under the names that Unix gives to it.
fn is_standard_output(path: &Path) -> bool {
    ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", text::STANDARD].iter().any(|name| path.as_os_str() == *name)
}

fn print(context: &Context, report: &EditReport, [before, after]: [u64; 2], dry_run: bool) -> Result<(), Failure> {
    /// At most this many changes are listed; more are counted.
    const MAX_SHOWN: usize = 8;
    let mut out = context.plain_out();
    if context.verbose || report.changes.len() <= MAX_SHOWN {
        for change in &report.changes {
            writeln!(out, "{}", context.cut(&text::message(&change.to_string()), 0))?;
        }
    } else {
        summary(&mut out, report)?;
    }
    for note in &report.notes {
        writeln!(out, "note: {}", text::message(note))?;
    }
    match report.changes.len() {
        0 => {
            let what = if dry_run { "would stay" } else { "is" };
            writeln!(out, "nothing to change: the file {what} the same, {before} bytes")?;
        }
        count => writeln!(out, "{}: {before} bytes before, {after} bytes after", text::count(count, "change"))?,
    }
    Ok(out.flush()?)
}

/// Writes one line for all changes of a kind, and a hint for listing them all.
fn summary(out: &mut impl Write, report: &EditReport) -> io::Result<()> {
    let mut kinds: BTreeMap<(Action, Subject), (usize, [u64; 2])> = BTreeMap::new();
    for change in &report.changes {
        let (count, [before, after]) = kinds.entry((change.action, change.subject)).or_default();
        *count += 1;
        *before = before.saturating_add(change.size_before);
        *after = after.saturating_add(change.size_after);
    }
    for ((action, subject), (count, [before, after])) in kinds {
        let bytes = match (before, after) {
            (size, 0) | (0, size) => text::count_bytes(size),
            (before, after) if before == after => text::count_bytes(before),
            (before, after) => format!("{before} bytes to {after}"),
        };
        let what = match subject {
            Subject::NamedData | Subject::StackTraces | Subject::Names | Subject::Padding | Subject::Layout => {
                format!("{subject} ({count})")
            }
            _ => text::count(count, &subject.to_string()),
        };
        writeln!(out, "{action} {what}: {bytes}")?;
    }
    writeln!(out, "  (-v lists each)")
}

/// Returns the program in a file.
pub fn program(input: &Input) -> Result<Pte<'_>, Failure> {
    match input.parse()? {
        Model::Pte(pte) => Ok(pte),
        _ => Err(Failure::Usage(format!("{}: expected a .pte", text::path(input.path())))),
    }
}

/// Returns the `.ptd` in a file.
pub fn data(input: &Input) -> Result<Ptd<'_>, Failure> {
    match input.parse()? {
        Model::Ptd(ptd) => Ok(ptd),
        _ => Err(Failure::Usage(format!("{}: expected a .ptd", text::path(input.path())))),
    }
}

/// Opens files.
pub fn open(context: &Context, paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    paths.iter().map(|path| Input::open(context, path)).collect()
}
