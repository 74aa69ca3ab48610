//! `pte verify`: checks files and reports what is wrong and where.

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use crate::text;
use executorch_format::validate::{self, Finding, RULES, Rule, Severity};
use executorch_format::{Model, Ptd};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Check files: their structure, what the official runtime refuses, and what it should check but does not
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 no errors (there may be warnings), 1 an error was found, 2 wrong usage, or a file cannot be read."
)]
pub struct Arguments {
    /// .pte and .ptd files
    #[arg(required_unless_present = "rules")]
    files: Vec<PathBuf>,
    /// A .ptd file with external data of the .pte files; it is checked too
    #[arg(long, value_name = "X.ptd")]
    data: Vec<PathBuf>,
    /// How much to check; each level includes the levels before it
    #[arg(long, value_enum, default_value_t = Level::Strict)]
    level: Level,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// List every rule, with its level and what it protects from
    #[arg(long, conflicts_with_all = ["files", "data", "level"])]
    rules: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Level {
    /// Offsets, vtables, vectors, strings, unions and headers
    Structure,
    /// What ExecuTorch 1.5 refuses when it loads the file and its methods
    Runtime,
    /// What ExecuTorch should check but does not
    Strict,
}

impl From<Level> for validate::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Structure => Self::Structure,
            Level::Runtime => Self::Runtime,
            Level::Strict => Self::Strict,
        }
    }
}

/// The findings of a file, as JSON.
#[derive(Serialize)]
struct Verdict {
    file: String,
    level: String,
    /// Whether there are no errors.
    ok: bool,
    findings: Vec<FindingEntry>,
}

#[derive(Serialize)]
struct FindingEntry {
    rule: &'static str,
    severity: String,
    path: String,
    offset: Option<u64>,
    message: String,
    cve: Option<&'static str>,
}

#[derive(Serialize)]
struct RuleEntry {
    rule: &'static str,
    level: String,
    severity: String,
    protects_from: &'static str,
    cve: Option<&'static str>,
    /// The first release of ExecuTorch that refuses such a file.
    refused_since: Option<&'static str>,
}

/// Checks files. Reports each as soon as it is checked.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.rules {
        return rules(arguments.json);
    }
    let level = arguments.level.into();
    let mut output = Output::start(arguments.json, level)?;
    let mut unreadable = None;
    let mut open = |path: &PathBuf| match Input::open(path) {
        Ok(input) => Some(input),
        Err(failure) => {
            failure.report();
            unreadable = Some(failure.code());
            None
        }
    };
    let data: Vec<Input> = arguments.data.iter().filter_map(&mut open).collect();
    let mut ptds = Vec::new();
    for input in &data {
        let (findings, ptd) = verify_data(input, level);
        output.file(input.path(), &findings)?;
        ptds.extend(ptd);
    }
    for path in &arguments.files {
        if let Some(input) = open(path) {
            output.file(path, &verify(&input, &ptds, level))?;
        }
    }
    let errors = output.end()?;
    match unreadable.or((errors > 0).then_some(1)) {
        Some(code) => Err(Failure::Reported(code)),
        None => Ok(()),
    }
}

/// The findings of a file, alone and together with the `.ptd` files.
fn verify(input: &Input, ptds: &[Ptd<'_>], level: validate::Level) -> Vec<Finding> {
    match Model::parse(input.bytes()) {
        Ok(Model::Pte(pte)) => {
            let mut findings = pte.validate(level);
            findings.extend(pte.validate_with(ptds, level));
            findings
        }
        Ok(model) => model.validate(level),
        Err(error) => vec![Finding::from(&error)],
    }
}

/// The findings of a `.ptd` file with external data, and the file if it can be parsed.
fn verify_data(input: &Input, level: validate::Level) -> (Vec<Finding>, Option<Ptd<'_>>) {
    match Ptd::parse(input.bytes()) {
        Ok(ptd) => (ptd.validate(level), Some(ptd)),
        Err(error) => (vec![Finding::from(&error)], None),
    }
}

/// The report, as text or as JSON: written file by file.
struct Output {
    out: BufWriter<io::Stdout>,
    json: bool,
    level: validate::Level,
    files: usize,
    bad: usize,
    errors: usize,
    warnings: usize,
}

impl Output {
    fn start(json: bool, level: validate::Level) -> Result<Self, Failure> {
        let mut out = BufWriter::new(io::stdout());
        if json {
            out.write_all(b"{\"files\": [")?;
        }
        Ok(Self { out, json, level, files: 0, bad: 0, errors: 0, warnings: 0 })
    }

    fn file(&mut self, path: &Path, findings: &[Finding]) -> Result<(), Failure> {
        let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        if self.json {
            let comma: &[u8] = if self.files > 0 { b",\n" } else { b"\n" };
            self.out.write_all(comma)?;
            serde_json::to_writer(&mut self.out, &verdict(path, self.level, errors == 0, findings))?;
        } else {
            let verdict = if errors + warnings == 0 { "ok".to_owned() } else { counts(errors, warnings) };
            writeln!(self.out, "{}: {verdict}", path.display())?;
            for finding in findings {
                writeln!(self.out, "  {finding}")?;
            }
        }
        self.files += 1;
        self.bad += usize::from(errors > 0);
        self.errors += errors;
        self.warnings += warnings;
        Ok(self.out.flush()?)
    }

    /// Ends the report and returns the number of errors.
    fn end(mut self) -> Result<usize, Failure> {
        if self.json {
            self.out.write_all(b"\n]}\n")?;
        } else {
            let counts = counts(self.errors, self.warnings);
            let files = text::count(self.files, "file");
            writeln!(self.out, "{files} checked ({}), {} with errors: {counts}", self.level, self.bad)?;
        }
        self.out.flush()?;
        Ok(self.errors)
    }
}

fn verdict(path: &Path, level: validate::Level, ok: bool, findings: &[Finding]) -> Verdict {
    let entry = |finding: &Finding| FindingEntry {
        rule: finding.rule,
        severity: finding.severity.to_string(),
        path: finding.path.to_string(),
        offset: finding.offset,
        message: finding.message.clone(),
        cve: finding.cve,
    };
    Verdict {
        file: path.display().to_string(),
        level: level.to_string(),
        ok,
        findings: findings.iter().map(entry).collect(),
    }
}

fn counts(errors: usize, warnings: usize) -> String {
    format!("{}, {}", text::count(errors, "error"), text::count(warnings, "warning"))
}

fn rules(as_json: bool) -> Result<(), Failure> {
    if as_json {
        let entry = |rule: &&Rule| RuleEntry {
            rule: rule.name,
            level: rule.level.to_string(),
            severity: rule.severity.to_string(),
            protects_from: rule.protects,
            cve: rule.cve.map(|cve| cve.id),
            refused_since: rule.cve.map(|cve| cve.refused_since),
        };
        return json::print(&RULES.iter().map(entry).collect::<Vec<_>>());
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let width = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    for rule in RULES {
        write!(out, "{:9}  {:7}  {:width$}  {}", rule.level, rule.severity, rule.name, rule.protects)?;
        match rule.cve {
            Some(cve) => writeln!(out, " ({}, refused since ExecuTorch {})", cve.id, cve.refused_since)?,
            None => writeln!(out)?,
        }
    }
    Ok(out.flush()?)
}
