//! Which releases of ExecuTorch load a file, and why others do not.
//!
//! The verdicts come from what the runtimes of these releases did with real and damaged files: [`HISTORIES`](super::HISTORIES) has the
//! rules, [`FEATURES`] what good programs use.

mod features;

pub use features::{FEATURES, Feature};

use super::history::{History, behaviour};
use super::{Behaviour, Finding, Level, RULES, Release, Severity};
use crate::error::Error;
use crate::file::model::Model;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::path::FieldPath;
use alloc::{string::String, vec::Vec};
use core::fmt;

/// What one release does with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ReleaseVerdict {
    /// The release.
    pub release: Release,
    /// What its runtime does when it loads the program and its methods.
    pub behaviour: Behaviour,
    /// Why it does anything but load.
    pub because: Option<Reason>,
}

impl fmt::Display for ReleaseVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.release, self.behaviour)?;
        match &self.because {
            Some(Reason { name, path, message }) if path.is_empty() => write!(f, ": {name}: {message}"),
            Some(Reason { name, path, message }) => write!(f, ": {name}: {path}: {message}"),
            None => Ok(()),
        }
    }
}

/// Why a release does not load a file, or why that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Reason {
    /// The rule that is broken, or the feature that is used.
    pub name: &'static str,
    /// Where in the file.
    pub path: FieldPath,
    /// What was found there.
    pub message: String,
}

impl Pte<'_> {
    /// What each release does with this program, oldest first. Kernels and backends, which each application chooses, are not considered, and the
    /// `.ptd` files of external constants are taken as given.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Constants inside the FlatBuffer, as ExecuTorch 0.2 wrote them.
    /// let file = std::fs::read("tests/data/0.2.1/add_mul_constant_inline/add_mul_constant_inline.pte")?;
    /// for verdict in executorch_format::Pte::parse(&file)?.releases() {
    ///     if let Some(reason) = verdict.because {
    ///         println!("{} {} it: {}", verdict.release, verdict.behaviour, reason.message);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn releases(&self) -> Vec<ReleaseVerdict> {
        let (strict, runtime) = (self.validate(Level::Strict), self.validate(Level::Runtime));
        let features = features::features(self);
        let feature = |(feature, path): &(&'static Feature, FieldPath), release| {
            let behaviour = behaviour(feature.since, release);
            (behaviour, Reason { name: feature.name, path: path.clone(), message: feature.what.into() })
        };
        verdicts(|release| {
            let findings = if release == Release::LATEST { &runtime } else { &strict };
            let broken = findings.iter().map(|finding| broken(finding, release));
            worst(release, broken.chain(features.iter().map(|used| feature(used, release))))
        })
    }
}

impl Ptd<'_> {
    /// What each release does with these keys, oldest first. Only what the latest does is known.
    pub fn releases(&self) -> Vec<ReleaseVerdict> {
        let runtime = self.validate(Level::Runtime);
        verdicts(|release| {
            if release == Release::LATEST {
                return worst(release, runtime.iter().map(|finding| broken(finding, release)));
            }
            let message = "no release but the latest was tried with .ptd files".into();
            let reason = Reason { name: "ptd", path: FieldPath::default(), message };
            worst(release, [(Behaviour::Unknown, reason)].into_iter())
        })
    }
}

impl Model<'_> {
    /// What each release does with this file, or the program in this bundle, oldest first. Empty for an ETDump.
    pub fn releases(&self) -> Vec<ReleaseVerdict> {
        match self {
            Self::Pte(pte) => pte.releases(),
            Self::Ptd(ptd) => ptd.releases(),
            #[cfg(feature = "devtools")]
            Self::Bpte(bpte) => {
                bpte.program().map_or_else(|error| releases_of_error(&error), |program| program.releases())
            }
            #[cfg(feature = "devtools")]
            Self::Etdp(_) => Vec::new(),
        }
    }
}

/// What each release does with a file that cannot be read, oldest first.
pub fn releases_of_error(error: &Error) -> Vec<ReleaseVerdict> {
    let finding = Finding::from(error);
    verdicts(|release| worst(release, [broken(&finding, release)].into_iter()))
}

/// The releases that load the file, as the first and the last of each unbroken row. A release that nobody looked at breaks no row.
pub fn loads_in(verdicts: &[ReleaseVerdict]) -> Vec<(Release, Release)> {
    let mut rows: Vec<(Release, Release)> = Vec::new();
    let mut unbroken = false;
    for verdict in verdicts.iter().filter(|verdict| verdict.release.was_seen()) {
        let loads = verdict.behaviour == Behaviour::Loads;
        match rows.last_mut() {
            Some(row) if loads && unbroken => row.1 = verdict.release,
            _ if loads => rows.push((verdict.release, verdict.release)),
            _ => {}
        }
        unbroken = loads;
    }
    rows
}

fn verdicts(verdict: impl Fn(Release) -> ReleaseVerdict) -> Vec<ReleaseVerdict> {
    Release::ALL.into_iter().map(verdict).collect()
}

/// What a release does with a breach.
fn broken(finding: &Finding, release: Release) -> (Behaviour, Reason) {
    let history = History::find(finding.rule, &finding.path);
    let seen = history.map_or(Behaviour::Unknown, |history| history.behaviour(release));
    let level = RULES.iter().find(|rule| rule.name == finding.rule).map(|rule| rule.level);
    let behaviour = match seen {
        _ if finding.severity < Severity::Error => Behaviour::Loads,
        // The rules of the structure and runtime levels are those of the latest release.
        Behaviour::Dies => seen,
        _ if release == Release::LATEST && level <= Some(Level::Runtime) => Behaviour::Refuses,
        _ => seen,
    };
    let (name, path, message) = (finding.rule, finding.path.clone(), finding.message.clone());
    (behaviour, Reason { name, path, message })
}

/// The verdict by the worst of what was found.
fn worst(release: Release, found: impl Iterator<Item = (Behaviour, Reason)>) -> ReleaseVerdict {
    let mut verdict = match release.was_seen() {
        true => ReleaseVerdict { release, behaviour: Behaviour::Loads, because: None },
        false => {
            let message = "nobody looked at what this release does".into();
            let because = Some(Reason { name: "release", path: FieldPath::default(), message });
            return ReleaseVerdict { release, behaviour: Behaviour::Unknown, because };
        }
    };
    for (behaviour, reason) in found {
        if behaviour > verdict.behaviour {
            (verdict.behaviour, verdict.because) = (behaviour, Some(reason));
        }
    }
    verdict
}
