//! Checks beyond structure: what the official runtime refuses, and what it forgets to check.
//!
//! [`Pte::parse`](crate::Pte::parse) checks structure and stops at the first fault. What is here works on the tree, and
//! reports all that it finds. It takes time in proportion to the file's size (for planned memory and for names: `n log n`).
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
//! error: planned-memory-overlap: execution_plan[0].values[4].val.Tensor.allocation_info: bytes 240 to 496 of planned buffer 1: …
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

/// How much is checked. Each level holds what the ones before it hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Offsets, vtables, vectors, strings, unions and the headers: what reading a file checks anyway.
    Structure,
    /// What ExecuTorch 1.5 refuses when it loads the file and its methods, kernels and backends aside.
    Runtime,
    /// What it forgets to check, each of which has crashed or misled a reader, or would.
    #[default]
    Strict,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing, and harmless.
    Note,
    /// Suspicious, or not to be told: the file can be used.
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
    /// The field, in the schema's names; empty where it is a matter of the whole file.
    pub path: FieldPath,
    /// Where the field's bytes are, from the start of the file. Not every field has bytes of its own.
    pub offset: Option<u64>,
    /// What was found, and what was expected.
    pub message: String,
    /// The published fault of the official runtime that it corresponds to.
    pub cve: Option<&'static str>,
}

impl Finding {
    fn new(rule: &'static Rule, path: FieldPath, offset: Option<u64>, message: String) -> Self {
        let cve = rule.cve.map(|cve| cve.id);
        Self { rule: rule.name, severity: rule.severity, path, offset, message, cve }
    }
}

/// A fault of structure as a finding.
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
    /// Everything that is wrong with the file, up to `level`.
    ///
    /// Where it was read from a file, findings have the offsets of what the tree borrows from it. Bytes that were not given
    /// (see [`Source::whole`](crate::Source::whole)) are not checked.
    ///
    /// At most 100 findings of one rule are listed; one more counts the rest.
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

    /// Everything that is wrong with the file and its `.ptd` files together, and with neither alone. Paths are those of
    /// the `.pte`. Without `.ptd` files, a warning says how many tensors are to be found in one.
    pub fn validate_with(&self, data: &[Ptd<'_>], level: Level) -> Vec<Finding> {
        let mut report = Report::new(None, level);
        if level >= Level::Runtime {
            pairing::check(self, data, &mut report);
        }
        report.finish()
    }
}

impl Ptd<'_> {
    /// Everything that is wrong with the file, up to `level`, as for [`Pte::validate`].
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
    /// Everything that is wrong with the file, up to `level`, as for [`Pte::validate`].
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        match self {
            Self::Pte(pte) => pte.validate(level),
            Self::Ptd(ptd) => ptd.validate(level),
        }
    }
}
