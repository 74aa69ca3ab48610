//! The report, in any format: written file by file if the format allows it.

use super::sarif::Sarif;
use crate::context::Context;
use crate::failure::Failure;
use crate::save::OutputArguments;
use crate::{json, text};
use executorch_format::verify::{Check, Finding, Level, NeededKernels, Outcome, Release, Severity, Verdict};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// The format of the report.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Plain text
    Text,
    /// One document
    Json,
    /// One document for each file, on a line of its own
    Jsonl,
    /// SARIF 2.1.0
    Sarif,
}

/// The findings in a file, as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CheckedFile<'f> {
    file: String,
    level: Level,
    /// `true` if no finding is an error.
    ok: bool,
    findings: &'f [Finding],
    /// The verdict of the newest release, with everything in its own libraries.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'f Verdict>,
    /// The kernels that the program needs from libraries other than the portable one, and the places of these libraries.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    kernels: &'f [NeededKernels],
    errors: json::None,
}

enum Writer {
    Text,
    Json(json::Files),
    Sarif(Sarif),
}

/// The report.
pub struct Output {
    writer: Writer,
    level: Level,
    files: usize,
    bad: usize,
    errors: usize,
    warnings: usize,
}

impl Output {
    /// Begins a report.
    pub fn start(context: &Context, form: Form, level: Level) -> Self {
        let writer = match form {
            Form::Text => Writer::Text,
            Form::Json => Writer::Json(json::Files::new(context, false)),
            Form::Jsonl => Writer::Json(json::Files::new(context, true)),
            Form::Sarif => Writer::Sarif(Sarif::default()),
        };
        Self { writer, level, files: 0, bad: 0, errors: 0, warnings: 0 }
    }

    /// Adds the findings in a file.
    pub fn file(&mut self, context: &Context, path: &Path, check: &Check) -> Result<(), Failure> {
        let Check { findings, verdict, kernels, .. } = check;
        let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        self.files += 1;
        self.bad += usize::from(errors > 0);
        self.errors += errors;
        self.warnings += warnings;
        match &mut self.writer {
            Writer::Text => lines(context, path, check, errors, warnings),
            Writer::Json(documents) => {
                let file = path.display().to_string();
                let (ok, verdict) = (errors == 0, verdict.as_ref());
                documents.add(&CheckedFile { file, level: self.level, ok, findings, verdict, kernels, errors: [] })
            }
            Writer::Sarif(sarif) => {
                sarif.add(path, check);
                Ok(())
            }
        }
    }

    /// Adds a file that cannot be read.
    pub fn failed(&mut self, path: &Path, failure: &Failure) -> Result<(), Failure> {
        match &mut self.writer {
            Writer::Text => Ok(()),
            Writer::Json(documents) => documents.add_failed(path, failure),
            Writer::Sarif(sarif) => {
                sarif.add_failed(path, failure);
                Ok(())
            }
        }
    }

    /// Returns the number of errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Ends the report, and returns the number of errors.
    pub fn end(self, context: &Context, output: &OutputArguments) -> Result<usize, Failure> {
        match self.writer {
            Writer::Text if !context.quiet => {
                let (files, counts) = (text::count(self.files, "file"), counts(self.errors, self.warnings));
                writeln!(io::stdout(), "{files} checked ({}), {} with errors: {counts}", self.level, self.bad)?;
            }
            Writer::Text => {}
            Writer::Json(documents) => documents.end()?,
            Writer::Sarif(sarif) => output.write(context, sarif.document()?)?,
        }
        Ok(self.errors)
    }
}

/// Prints a file's findings, one on each line. With `--quiet`, nothing is printed for a file without findings.
fn lines(context: &Context, path: &Path, check: &Check, errors: usize, warnings: usize) -> Result<(), Failure> {
    if errors + warnings == 0 && context.quiet {
        return Ok(());
    }
    let mut out = context.plain_out();
    let verdict = if errors + warnings == 0 { "ok".to_owned() } else { counts(errors, warnings) };
    writeln!(out, "{}: {verdict}", text::path(path))?;
    for finding in &check.findings {
        let hint = if finding.rule == "external-unchecked" { " (give one too, or use --data X.ptd)" } else { "" };
        writeln!(out, "  {}{hint}", text::message(&finding.to_string()))?;
    }
    if let Some(verdict) = check.verdict.as_ref().filter(|verdict| verdict.outcome != Outcome::Runs) {
        // The findings above have the other causes.
        let cause = verdict.because.first().filter(|_| !verdict.outcome.is_bad());
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        writeln!(out, "  in {}: {}{}", Release::LATEST, verdict.outcome, text::message(&cause))?;
    }
    for kernels in check.kernels.iter().filter(|kernels| kernels.library != NeededKernels::CUSTOM) {
        writeln!(out, "  needs kernels of {}", text::message(&kernels.to_string()))?;
    }
    Ok(out.flush()?)
}

fn counts(errors: usize, warnings: usize) -> String {
    format!("{}, {}", text::count(errors, "error"), text::count(warnings, "warning"))
}
