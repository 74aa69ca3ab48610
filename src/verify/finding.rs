//! Findings, and the level of a check.

use super::outcome::Outcome;
use super::rule::Rule;
use crate::error::Error;
use crate::path::FieldPath;
use alloc::string::String;
use core::fmt;

/// The extent of a check. Each level includes the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Level {
    /// Offsets, vtables, vectors, strings, unions and headers, which parsing always checks.
    Structure,
    /// Faults that make ExecuTorch 1.5 refuse the file when it loads the file and its methods, apart from missing kernels and backends.
    Runtime,
    /// Faults that ExecuTorch does not check when it loads the file, although a run may fail, crash or compute wrong values, or
    /// readers may be misled.
    #[default]
    Strict,
}

impl Level {
    /// All levels, in ascending order.
    pub const ALL: &'static [Self] = &[Self::Structure, Self::Runtime, Self::Strict];

    /// Returns the name: `structure`, `runtime` or `strict`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Runtime => "runtime",
            Self::Strict => "strict",
        }
    }
}

/// Parses a name.
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

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Severity {
    /// Harmless, but worth mentioning.
    Note,
    /// Suspicious, or impossible to check. The file can be used.
    Warning,
    /// A reader may refuse the file, misread it or crash on it.
    Error,
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

/// A broken rule. Errors are converted with [`from_error`](Self::from_error) or `From<&Error>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// The name of the rule, one of [`RULES`](super::RULES).
    pub rule: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The field, in the schema's names; empty if the finding concerns the whole file.
    pub path: FieldPath,
    /// The offset of the field's bytes from the start of the file; `None` if it is unknown.
    pub offset: Option<u64>,
    /// The value that was found, and the value that was expected.
    pub message: String,
    /// The corresponding published vulnerability of the official runtime.
    pub cve: Option<&'static str>,
    /// The behaviour of the newest release because of this.
    #[serde(skip)]
    pub(crate) outcome: Outcome,
}

impl Finding {
    /// Converts an error of reading to a finding. Its rule is [`ErrorKind::rule`](crate::ErrorKind::rule).
    ///
    /// ```
    /// use executorch_format::{Model, verify::{Finding, Level}};
    ///
    /// let findings = match Model::parse(b"no model") {
    ///     Ok(model) => model.verify(Level::Strict),
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
            message: error.message(),
            cve: None,
            outcome: Outcome::DoesNotLoad,
        }
    }

    pub(super) fn new(rule: &'static Rule, path: FieldPath, offset: Option<u64>, message: String) -> Self {
        let Rule { name, severity, cve, outcome, .. } = *rule;
        Self { rule: name, severity, path, offset, message, cve, outcome }
    }
}

/// Converts like [`Finding::from_error`].
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
