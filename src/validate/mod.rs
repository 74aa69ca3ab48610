//! Checks beyond structure: what the official runtime refuses, and what it should check but does not.
//!
//! [`Pte::parse`](crate::Pte::parse) checks structure and stops at the first error. The checks here work on the tree and
//! report everything they find, in time linear in the file's size (`n log n` for planned memory and names).
//!
//! ```no_run
//! use executorch_format::{Pte, validate::Level};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("model.pte")?;
//! let pte = Pte::parse(&file)?;
//! for finding in pte.validate(Level::Strict) {
//!     println!("{finding}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A finding of the strict level prints like this:
//!
//! ```text
//! error: planned-memory-overlap: execution_plan[0].values[4].val.Tensor.allocation_info: bytes 240 to 496 of planned buffer 1 overlap …
//! ```

#[cfg(feature = "devtools")]
mod bundle;
mod constants;
mod delegates;
#[cfg(feature = "devtools")]
mod etdump;
#[cfg(feature = "payloads")]
mod foreign;
#[cfg(feature = "payloads")]
mod formats;
mod history;
mod instructions;
mod memory;
mod names;
mod pairing;
#[cfg(feature = "payloads")]
mod payload;
mod plan;
mod policy;
mod program;
mod ptd;
mod release;
#[cfg(feature = "payloads")]
mod releases;
mod report;
pub(crate) mod rule;
mod segments;
#[cfg(feature = "inspect")]
mod target;
mod tensors;
mod values;
mod wire;
#[cfg(feature = "payloads")]
mod xnnpack;

pub use history::{HISTORIES, History};
pub use policy::Policy;
pub use release::{Behaviour, Release};
#[cfg(feature = "payloads")]
pub use releases::{
    Answer, Deployment, FEATURES, Feature, Library, MissingData, Reason, ReleaseVerdict, loads_in, releases_of_error,
    rows,
};
pub use rule::{RULES, Rule};
#[cfg(feature = "inspect")]
pub use target::{Lack, Target, TargetCheck, Unknown};

use crate::dataflow::DelegateOutputs;
#[cfg(feature = "payloads")]
use crate::delegate::Xnnpack;
use crate::error::Error;
#[cfg(feature = "devtools")]
use crate::file::bpte::Bpte;
#[cfg(feature = "devtools")]
use crate::file::etdp::{Etdp, PREFIX};
use crate::file::model::{Model, each_file};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::flatbuffer::read::Record;
#[cfg(feature = "devtools")]
use crate::path::Step;
use crate::path::{FieldPath, Path};
use crate::schema::Program;
#[cfg(feature = "devtools")]
use crate::schema::{BundledProgram, ETDump};
use alloc::{string::String, vec::Vec};
use core::fmt;
use report::Report;

/// How much is checked. Each level includes the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Level {
    /// Offsets, vtables, vectors, strings, unions and headers: what parsing a file always checks.
    Structure,
    /// What ExecuTorch 1.5 refuses when it loads the file and its methods, apart from missing kernels and backends.
    Runtime,
    /// What ExecuTorch does not check although it can crash or mislead a reader.
    #[default]
    Strict,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Harmless, but worth knowing.
    Note,
    /// Suspicious, or not possible to check. The file can be used.
    Warning,
    /// A reader may refuse the file, misread it or crash on it.
    Error,
}

impl Level {
    /// Every level, from the one that checks least.
    pub const ALL: &'static [Self] = &[Self::Structure, Self::Runtime, Self::Strict];

    /// Its name: `structure`, `runtime` or `strict`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Runtime => "runtime",
            Self::Strict => "strict",
        }
    }
}

/// From its name.
impl core::str::FromStr for Level {
    type Err = Error;

    fn from_str(text: &str) -> crate::Result<Self> {
        let named = Self::ALL.iter().copied().find(|level| level.name() == text);
        named.ok_or_else(|| Error::not_a("level", text, "structure, runtime or strict"))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One broken rule. An [`Error`] becomes one with [`from_error`](Self::from_error) or `From<&Error>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// The rule's name, one of [`RULES`].
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The field, in the schema's names; empty if the finding concerns the whole file.
    pub path: FieldPath,
    /// Where the field's bytes are, from the start of the file; `None` if that is unknown.
    pub offset: Option<u64>,
    /// What was found, and what was expected.
    pub message: String,
    /// The published vulnerability of the official runtime that it corresponds to.
    pub cve: Option<&'static str>,
}

impl Finding {
    /// An error of structure as a finding: its rule is [`ErrorKind::rule`](crate::ErrorKind::rule).
    ///
    /// ```
    /// use executorch_format::{Model, validate::{Finding, Level}};
    ///
    /// let findings = match Model::parse(b"no model") {
    ///     Ok(model) => model.validate(Level::Strict),
    ///     Err(error) => vec![Finding::from_error(&error)],
    /// };
    /// assert_eq!(findings[0].rule, "identifier");
    /// ```
    pub fn from_error(error: &Error) -> Self {
        Self {
            rule: error.kind().rule(),
            severity: Severity::Error,
            path: error.path(),
            offset: error.offset(),
            message: error.kind().detail(),
            cve: None,
        }
    }

    fn new(rule: &'static Rule, path: FieldPath, offset: Option<u64>, message: String) -> Self {
        Self { rule: rule.name, severity: rule.severity, path, offset, message, cve: rule.cve }
    }
}

/// As [`Finding::from_error`].
impl From<&Error> for Finding {
    fn from(error: &Error) -> Self {
        Self::from_error(error)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.severity, self.rule)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match self.offset {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}

impl Pte<'_> {
    /// Checks the file at `level` and returns everything that is wrong.
    ///
    /// If the tree was read from a file, findings about data that it borrows from the file have that data's offset. Bytes
    /// that were not given (see [`Source::whole`](crate::Source::whole)) are not checked.
    ///
    /// Without the feature `payloads`, neither what is inside delegates' payloads nor data of other formats is looked at.
    ///
    /// At most 100 findings of a rule are listed; one more finding counts the rest.
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            self.check_for_runtime(&mut report);
        }
        if level >= Level::Strict {
            self.check_strictly(&mut report);
        }
        report.finish()
    }

    /// [`validate`](Self::validate) at [`Level::Runtime`], for programs that should not have the rules of the strict level in them.
    pub fn validate_for_runtime(&self) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), Level::Runtime);
        self.check_for_runtime(&mut report);
        report.finish()
    }

    /// Rules of the runtime level, and those of the strict level that are found on the way.
    fn check_for_runtime(&self, report: &mut Report<'_>) {
        program::check(self, report);
        segments::check_pte(self, report);
        for (index, plan) in self.methods().iter().enumerate() {
            let path = &Path::ROOT.item("execution_plan", index);
            plan::check(plan, path, report);
            values::check(plan, path, report);
            tensors::check(self, plan, path, report);
            delegates::check(self, plan, path, report);
            instructions::check(plan, path, report);
        }
        #[cfg(feature = "payloads")]
        xnnpack::check(self, report);
    }

    /// Rules of the strict level alone.
    fn check_strictly(&self, report: &mut Report<'_>) {
        segments::unreferenced_in_pte(self, report);
        names::check_pte(self, report);
        let outputs = DelegateOutputs::of_program(self);
        for (index, plan) in self.methods().iter().enumerate() {
            memory::check((index, plan), &outputs, &Path::ROOT.item("execution_plan", index), report);
        }
        constants::check(self, report);
        #[cfg(feature = "payloads")]
        payload::check(self, report);
        #[cfg(feature = "payloads")]
        foreign::check_pte(self, report);
        wire::check(&self.program, Program::DESCRIPTION, self.source.as_ref(), report);
    }

    /// Checks the file together with its `.ptd` files and returns what is wrong with the combination; what is wrong with
    /// one file alone is not repeated. Paths are those of the `.pte`. If `data` is empty, a warning says how many
    /// tensors need a `.ptd` file.
    pub fn validate_with<'p>(&self, data: impl IntoIterator<Item = &'p Ptd<'p>>, level: Level) -> Vec<Finding> {
        let mut report = Report::new(None, level);
        if level >= Level::Runtime {
            let data: Vec<&Ptd<'_>> = data.into_iter().collect();
            pairing::check(self, data.iter().copied(), &mut report);
            #[cfg(feature = "payloads")]
            xnnpack::check_pairing(self, &data, &mut report);
        }
        report.finish()
    }
}

impl Ptd<'_> {
    /// Checks the file at `level` and returns everything that is wrong, like [`Pte::validate`].
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            self.check_for_runtime(&mut report);
        }
        if level >= Level::Strict {
            self.check_strictly(&mut report);
        }
        report.finish()
    }

    /// [`validate`](Self::validate) at [`Level::Runtime`], for programs that should not have the rules of the strict level in them.
    pub fn validate_for_runtime(&self) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), Level::Runtime);
        self.check_for_runtime(&mut report);
        report.finish()
    }

    fn check_for_runtime(&self, report: &mut Report<'_>) {
        ptd::check(self, report);
        segments::check_ptd(self, report);
    }

    fn check_strictly(&self, report: &mut Report<'_>) {
        segments::unreferenced_in_ptd(self, report);
        #[cfg(feature = "payloads")]
        foreign::check_ptd(self, report);
        names::check_ptd(self, report);
        wire::check(&self.flat_tensor, self.flat_tensor.root(), self.source.as_ref(), report);
    }
}

#[cfg(feature = "devtools")]
impl Bpte<'_> {
    /// Everything that is wrong with the bundle and the program inside, up to `level`, as for [`Pte::validate`]. The
    /// program's paths start with `program`, and its offsets count from the start of the bundle.
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        let program = self.program();
        if level >= Level::Runtime {
            bundle::check(self, program.as_ref().ok(), &mut report);
            #[cfg(feature = "payloads")]
            foreign::check_bpte(self, &mut report);
            wire::check(&self.bundled_program, BundledProgram::DESCRIPTION, self.source.as_ref(), &mut report);
        }
        let mut findings = report.finish();
        match &program {
            Ok(pte) => findings.extend(self.in_program(pte.validate(level))),
            Err(error) if self.bundled_program.program.is_some() => findings.push(error.into()),
            Err(_) => (),
        }
        findings
    }

    /// Everything that is wrong with the program inside and its `.ptd` files together, as for [`Pte::validate_with`].
    pub fn validate_with<'p>(&self, data: impl IntoIterator<Item = &'p Ptd<'p>>, level: Level) -> Vec<Finding> {
        // A program that cannot be read is a finding of the bundle alone.
        let findings = self.program().map(|pte| pte.validate_with(data, level)).unwrap_or_default();
        self.in_program(findings).collect()
    }

    fn in_program(&self, findings: Vec<Finding>) -> impl Iterator<Item = Finding> {
        let start = self.program_offset();
        findings.into_iter().map(move |finding| {
            let path = [Step::Field("program")].into_iter().chain(finding.path.steps().iter().copied()).collect();
            let offset = finding.offset.zip(start).map(|(offset, start)| offset.saturating_add(start));
            Finding { path, offset, ..finding }
        })
    }
}

#[cfg(feature = "devtools")]
impl Etdp<'_> {
    /// Everything that is wrong with the file, up to `level`, as for [`Pte::validate`].
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            etdump::check(self, &mut report);
            wire::check_at(PREFIX as u32, &self.etdump, ETDump::DESCRIPTION, self.source.as_ref(), &mut report);
        }
        report.finish()
    }
}

#[cfg(feature = "payloads")]
impl Xnnpack<'_> {
    /// Everything that is wrong with a payload that was cut out of its file, up to `level`: without what only the program or its
    /// `.ptd` files show. Offsets count from the payload's start.
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            xnnpack::check_payload(self, &mut report);
        }
        report.finish()
    }
}

impl Model<'_> {
    /// Checks the file at `level` and returns everything that is wrong, like [`Pte::validate`].
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        each_file!(self, file => file.validate(level))
    }
}
