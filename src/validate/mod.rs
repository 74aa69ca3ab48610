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

mod constants;
mod delegates;
mod instructions;
mod liveness;
mod memory;
mod names;
mod pairing;
mod payload;
mod plan;
mod program;
mod ptd;
mod report;
mod rule;
mod segments;
mod tensors;
mod values;
mod wire;

pub use rule::{Cve, RULES, Rule};

use crate::error::Error;
use crate::file::model::Model;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::flatbuffer::read::Record;
use crate::path::{FieldPath, Path};
use crate::schema::Program;
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use report::Report;

/// How much is checked. Each level includes the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
pub enum Severity {
    /// Harmless, but worth knowing.
    Note,
    /// Suspicious, or not possible to check. The file can be used.
    Warning,
    /// A reader may refuse the file, misread it or crash on it.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Structure => "structure",
            Self::Runtime => "runtime",
            Self::Strict => "strict",
        })
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

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    fn new(rule: &'static Rule, path: FieldPath, offset: Option<u64>, message: String) -> Self {
        let cve = rule.cve.map(|cve| cve.id);
        Self { rule: rule.name, severity: rule.severity, path, offset, message, cve }
    }
}

/// An error of structure as a finding.
impl From<&Error> for Finding {
    fn from(error: &Error) -> Self {
        Self {
            rule: error.kind().rule(),
            severity: Severity::Error,
            path: error.path(),
            offset: error.offset(),
            message: error.kind().to_string(),
            cve: None,
        }
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
    /// At most 100 findings of a rule are listed; one more finding counts the rest.
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            program::check(self, &mut report);
            segments::check_pte(self, &mut report);
            names::check_pte(self, &mut report);
            for (index, plan) in self.methods().iter().enumerate() {
                let path = &Path::ROOT.item("execution_plan", index);
                plan::check(plan, path, &mut report);
                values::check(plan, path, &mut report);
                tensors::check(self, plan, path, &mut report);
                delegates::check(self, plan, path, &mut report);
                instructions::check(plan, path, &mut report);
                memory::check(plan, path, &mut report);
            }
            constants::check(self, &mut report);
            payload::check(self, &mut report);
            wire::check(&self.program, Program::DESCRIPTION, self.source.as_ref(), &mut report);
        }
        report.finish()
    }

    /// Checks the file together with its `.ptd` files and returns what is wrong with the combination; what is wrong with
    /// one file alone is not repeated. Paths are those of the `.pte`. If `data` is empty, a warning says how many
    /// tensors need a `.ptd` file.
    pub fn validate_with(&self, data: &[Ptd<'_>], level: Level) -> Vec<Finding> {
        let mut report = Report::new(None, level);
        if level >= Level::Runtime {
            pairing::check(self, data, &mut report);
        }
        report.finish()
    }
}

impl Ptd<'_> {
    /// Checks the file at `level` and returns everything that is wrong, like [`Pte::validate`].
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            ptd::check(self, &mut report);
            segments::check_ptd(self, &mut report);
            names::check_ptd(self, &mut report);
            wire::check(&self.flat_tensor, self.flat_tensor.root(), self.source.as_ref(), &mut report);
        }
        report.finish()
    }
}

impl Model<'_> {
    /// Checks the file at `level` and returns everything that is wrong, like [`Pte::validate`].
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        match self {
            Self::Pte(pte) => pte.validate(level),
            Self::Ptd(ptd) => ptd.validate(level),
        }
    }
}
