//! The releases of ExecuTorch that load a file, and the reasons why others do not.
//!
//! There are three answers for each release about loading, and a verdict that also covers runs. The format: the behaviour of the release's runtime with real and damaged files in
//! tests ([`HISTORIES`](super::HISTORIES) for broken rules, [`FEATURES`] for features of valid programs). The
//! operators: whether the release's kernel libraries contain them. The payloads of delegates: whether the schema of the
//! release's XNNPACK backend supports their contents.

mod backends;
mod contents;
mod external;
mod facts;
mod faults;
mod features;
mod half;
mod judgement;
mod loads_in;
mod operators;
pub(super) mod reasons;
mod xnnpack;

pub use crate::operators::Library;
pub use backends::{BACKENDS, KnownBackend};
pub use external::MissingData;
pub(super) use external::missing;
pub(super) use facts::Facts;
pub use faults::{KnownFault, known_faults};
pub use features::{FEATURES, Feature};
pub use loads_in::{LoadsIn, LoadsOutcome};
pub use operators::NeededKernels;
pub use reasons::{REASONS, ReasonKind};

use super::target::Target;
use super::{Behaviour, Cause, Finding, Level, Outcome, Release, Verdict};
use crate::error::Error;
use crate::file::ptd::Ptd;
use crate::path::FieldPath;
use alloc::{string::String, vec::Vec};
use core::fmt;
use judgement::Judgement;

/// The behaviour of all releases with a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Releases {
    /// The releases that load the file.
    pub loads_in: LoadsIn,
    /// The verdict for each release, oldest first. Empty for an ETDump and for a payload in a file of its own.
    pub releases: Vec<ReleaseVerdict>,
}

/// The behaviour of a release with a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReleaseVerdict {
    /// The release.
    pub release: Release,
    /// The behaviour of its runtime when it loads the program and its methods: the worst of the three answers, except that
    /// payloads that were not checked do not count.
    pub behaviour: Behaviour,
    /// The reason, unless the release loads the file.
    pub because: Option<Reason>,
    /// The answer about the format: the tables of the program, its constants and instructions.
    pub format: Answer,
    /// The answer about the operators: whether the release's kernel libraries contain them.
    pub operators: Answer,
    /// The answer about the contents of delegates' payloads. Only XNNPACK's are read.
    pub delegates: Answer,
    /// The kernels that the file needs from libraries other than the portable one, except those that the target lists.
    pub kernels: Vec<NeededKernels>,
    /// The verdict of the release, including what happens when the file's methods run.
    pub verdict: Verdict,
}

/// An answer about a release.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Answer {
    /// The behaviour of the runtime, considering only the subject of this answer.
    pub behaviour: Behaviour,
    /// The reason, unless the release loads the file.
    pub because: Option<Reason>,
}

/// The behaviour of a release, and the reason for it.
type KnownBehaviour = (Behaviour, Reason);

impl Answer {
    /// The answer if nothing is known to be wrong.
    const LOADS: Self = Self { behaviour: Behaviour::Loads, because: None };

    /// Returns the reason if the behaviour is unknown only because the payloads belong to backends other than XNNPACK.
    fn not_checked(&self) -> Option<&Reason> {
        let reason = self.because.as_ref().filter(|_| self.behaviour == Behaviour::Unknown);
        reason.filter(|reason| reason.name == reasons::PAYLOAD_NOT_CHECKED.name)
    }

    fn add(&mut self, found: KnownBehaviour) {
        // Known contents decide even if others were not tested.
        let decided = self.not_checked().is_some() && found.0 > Behaviour::Loads;
        if found.0 > self.behaviour || decided {
            (self.behaviour, self.because) = (found.0, Some(found.1));
        }
    }
}

impl Releases {
    /// The answer for an ETDump, or for a payload in a file of its own: unknown.
    pub(super) const NONE: Self = Self { loads_in: LoadsIn::NOTHING, releases: Vec::new() };

    fn new(verdicts: Vec<ReleaseVerdict>, checked: Vec<String>) -> Self {
        Self { loads_in: LoadsIn::of(&verdicts, checked), releases: verdicts }
    }

    /// Returns the verdict for the newest release. An ETDump, or a payload in a file of its own, has none.
    pub fn newest(&self) -> Option<&Verdict> {
        self.releases.last().map(|newest| &newest.verdict)
    }
}

impl ReleaseVerdict {
    /// Returns `true` if a cause of the verdict is among the reasons of the answers, or is a need for kernels.
    pub(super) fn is_answered(&self, cause: &Cause) -> bool {
        let mut reasons =
            [&self.format, &self.operators, &self.delegates].into_iter().filter_map(|answer| answer.because.as_ref());
        reasons.any(|reason| (reason.name, &reason.path, &reason.message) == (cause.name, &cause.path, &cause.message))
    }

    /// Returns the payloads that were not checked, as a reason that names their backends, if the release loads the others.
    pub fn not_checked(&self) -> Option<&Reason> {
        self.delegates.not_checked()
    }
}

/// The part of a release's verdict that concerns loading.
pub(super) struct Loading<'t>(pub(super) &'t ReleaseVerdict);

impl fmt::Display for Loading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = self.0;
        write!(f, "{} {}", verdict.release, verdict.behaviour)?;
        let mut before = ": ";
        // The deciding reason comes first.
        let others = [&verdict.format, &verdict.operators, &verdict.delegates].into_iter().filter_map(|answer| {
            let reason = answer.because.as_ref().filter(|reason| Some(*reason) != verdict.because.as_ref())?;
            answer.not_checked().is_none().then_some((answer.behaviour, reason))
        });
        if let Some(because) = &verdict.because {
            write!(f, "{before}{because}")?;
            before = "; ";
        }
        for (behaviour, reason) in others {
            write!(f, "{before}{behaviour}: {reason}")?;
            before = "; ";
        }
        if !verdict.kernels.is_empty() {
            write!(f, "{before}{}", operators::Outside(&verdict.kernels))?;
            before = "; ";
        }
        match verdict.not_checked() {
            Some(reason) => write!(f, "{before}not checked: {}", reason.message),
            None => Ok(()),
        }
    }
}

/// Formats the behaviour on loading, and the first cause that concerns a run.
impl fmt::Display for ReleaseVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Loading(self))?;
        let is_run = |cause: &&Cause| {
            cause.outcome > Outcome::Missing && cause.name != reasons::CUSTOM_OPERATORS.name && !self.is_answered(cause)
        };
        let mut causes = self.verdict.because.iter().filter(is_run);
        let Some(first) = causes.next() else { return Ok(()) };
        write!(f, "; {}: {first}", first.outcome)?;
        match causes.count() {
            0 => Ok(()),
            more => write!(f, " (and {more} more)"),
        }
    }
}

/// The reason why a release does not load a file, or why that is unknown.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Reason {
    /// The name of the broken rule, or of one of [`FEATURES`] or [`REASONS`].
    pub name: &'static str,
    /// The place in the file.
    pub path: FieldPath,
    /// The explanation.
    pub message: String,
}

impl Reason {
    pub(super) fn new(kind: &'static ReasonKind, path: FieldPath, message: String) -> Self {
        Self { name: kind.name, path, message }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => write!(f, "{}: {}", self.name, self.message),
            false => write!(f, "{}: {}: {}", self.name, self.path, self.message),
        }
    }
}

/// Returns the behaviour of each release with a program.
pub(super) fn of_facts(facts: &Facts<'_>) -> Releases {
    Releases::new(Release::ALL.into_iter().map(|release| facts.verdict(release)).collect(), facts.checked.clone())
}

pub(super) fn of_ptd(ptd: &Ptd<'_>) -> Releases {
    let runtime = ptd.verify(Level::Runtime);
    of_the_format(|release, judged| {
        if release == Release::LATEST {
            runtime.iter().for_each(|finding| judged.finding(finding));
        } else {
            let message = "only the latest release was tested with .ptd files".into();
            judged.format(Behaviour::Unknown, Reason::new(&reasons::PTD, FieldPath::default(), message));
        }
    })
}

/// Returns the behaviour of each release with a file that cannot be read.
pub fn releases_of_error(error: &Error) -> Releases {
    let finding = Finding::from(error);
    of_the_format(|_, judged| judged.finding(&finding))
}

/// Returns the verdicts on files without operators and payloads.
fn of_the_format(judge: impl Fn(Release, &mut Judgement)) -> Releases {
    let verdict = |release| {
        let mut judged = Judgement::new(release);
        if release.was_seen() {
            judge(release, &mut judged);
        }
        judged.finish(Vec::new())
    };
    Releases::new(Release::ALL.into_iter().map(verdict).collect(), alloc::vec!["format".into()])
}
