//! The releases that load a file: the answer about all releases together.

use super::contents::BACKEND;
use super::{Behaviour, NeededKernels, Release, ReleaseVerdict, Target, operators};
use crate::file::pte::Pte;
use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};
use core::fmt;

/// The releases that load a file: those that support its format, its operators, and the payloads that were checked. The file may need
/// more kernels than the portable ones.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LoadsIn {
    /// The combined outcome for all releases.
    pub outcome: LoadsOutcome,
    /// The releases that load the file: the first and the last of each range without a gap. An untested release does not split a
    /// range.
    pub ranges: Vec<(Release, Release)>,
    /// The tested releases with an unknown behaviour, as ranges.
    pub unknown: Vec<(Release, Release)>,
    /// The subjects that were checked, such as `format` and `portable operators`.
    pub checked: Vec<String>,
    /// The payloads that were not checked, such as `payloads of CoreMLBackend`.
    pub not_checked: Option<String>,
    /// The kernels that the file needs from libraries other than the portable one, except those that the deployment has.
    pub kernels: Vec<NeededKernels>,
}

/// The combined outcome of loading a file in all releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum LoadsOutcome {
    /// At least one release loads it.
    Loads,
    /// No release loads it.
    None,
    /// No release is known to load it.
    Unknown,
}

impl LoadsIn {
    /// The answer for files that runtimes do not load as a program or data.
    pub(super) const NOTHING: Self = Self {
        outcome: LoadsOutcome::Unknown,
        ranges: Vec::new(),
        unknown: Vec::new(),
        checked: Vec::new(),
        not_checked: None,
        kernels: Vec::new(),
    };

    pub(super) fn of(verdicts: &[ReleaseVerdict], checked: Vec<String>) -> Self {
        let ranges = ranges_of(verdicts, Behaviour::Loads);
        let unknown = ranges_of(verdicts, Behaviour::Unknown);
        let outcome = match (ranges.is_empty(), unknown.is_empty()) {
            (false, _) => LoadsOutcome::Loads,
            (true, true) => LoadsOutcome::None,
            (true, false) => LoadsOutcome::Unknown,
        };
        let latest = verdicts.last();
        let not_checked = latest.and_then(|latest| latest.not_checked()).map(|reason| reason.message.clone());
        let kernels = latest.map(|latest| latest.kernels.clone()).unwrap_or_default();
        Self { outcome, ranges, unknown, checked, not_checked, kernels }
    }

    /// Returns the kernels as a sentence, as in `needs kernels outside the portable library: cortex_m: pad, softmax`; `None` if
    /// the portable kernels are enough.
    pub fn needs_kernels(&self) -> Option<String> {
        (!self.kernels.is_empty()).then(|| format!("{}", operators::Outside(&self.kernels)))
    }
}

/// Formats the ranges, as in `0.7 to 1.5`; `none` or `not known` if they are empty.
impl fmt::Display for LoadsIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome {
            LoadsOutcome::None => return f.write_str("none"),
            LoadsOutcome::Unknown => return f.write_str("not known"),
            LoadsOutcome::Loads => {}
        }
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            match first == last {
                true => write!(f, "{first}")?,
                false => write!(f, "{first} to {last}")?,
            }
        }
        Ok(())
    }
}

/// Returns the subjects that are checked in a program.
pub(super) fn checked(pte: &Pte<'_>, target: &Target) -> Vec<String> {
    let operators = match &target.libraries {
        None => "portable operators".to_owned(),
        Some(libraries) => {
            let names: Vec<&str> = libraries.iter().map(|library| library.name()).collect();
            format!("{} operators", names.join(" + "))
        }
    };
    let mut checked = vec!["format".to_owned(), operators];
    let mut delegates = pte.methods().iter().flat_map(|plan| plan.delegates());
    if delegates.any(|delegate| delegate.backend() == BACKEND) {
        checked.push("XNNPACK payloads".to_owned());
    }
    checked
}

/// Returns the tested releases with this behaviour, as ranges.
fn ranges_of(verdicts: &[ReleaseVerdict], behaviour: Behaviour) -> Vec<(Release, Release)> {
    let mut ranges: Vec<(Release, Release)> = Vec::new();
    let mut unbroken = false;
    for verdict in verdicts.iter().filter(|verdict| verdict.release.was_seen()) {
        let holds = verdict.behaviour == behaviour;
        match ranges.last_mut() {
            Some(range) if holds && unbroken => range.1 = verdict.release,
            _ if holds => ranges.push((verdict.release, verdict.release)),
            _ => {}
        }
        unbroken = holds;
    }
    ranges
}
