//! The verdict on a model: what ExecuTorch does with it, and why.

use super::outcome::Outcome;
use super::releases::Reason;
use crate::path::FieldPath;
use alloc::{string::String, vec::Vec};
use core::fmt;

/// A reason for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Cause {
    /// The outcome that follows from it.
    pub outcome: Outcome,
    /// The name of the broken rule, or of one of [`FEATURES`](super::FEATURES) or [`REASONS`](super::REASONS).
    pub name: &'static str,
    /// The place in the file; empty if the cause concerns the whole file.
    pub path: FieldPath,
    /// The explanation.
    pub message: String,
}

impl Cause {
    pub(super) fn new(outcome: Outcome, Reason { name, path, message }: Reason) -> Self {
        Self { outcome, name, path, message }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// The behaviour of ExecuTorch of a release, with a set of kernels and backends and within limits of memory, with a model.
///
/// Every answer about this is a view of the verdict: the findings of a check, the behaviour of releases, and what a device lacks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verdict {
    /// The outcome: the first one of those of the causes.
    pub outcome: Outcome,
    /// All causes, the worst outcome first. Empty if the model runs.
    pub because: Vec<Cause>,
}

impl Verdict {
    pub(super) fn new(mut because: Vec<Cause>) -> Self {
        because.sort_by_key(|cause| cause.outcome);
        Self { outcome: because.first().map_or(Outcome::Runs, |cause| cause.outcome), because }
    }
}

/// Formats the outcome, and the first cause.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.outcome)?;
        match self.because.first() {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}
