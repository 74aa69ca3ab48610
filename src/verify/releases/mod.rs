//! The releases of ExecuTorch that load a file, and the reasons why others do not.
//!
//! There are three answers for each release. The format: the behaviour of the release's runtime with real and damaged files in
//! tests ([`HISTORIES`](super::HISTORIES) for broken rules, [`FEATURES`] for features of valid programs). The
//! operators: whether the release's kernel libraries contain them. The payloads of delegates: whether the schema of the
//! release's XNNPACK backend supports their contents.

mod contents;
mod external;
mod features;
mod loads_in;
mod operators;
mod reasons;
mod xnnpack;

pub use external::MissingData;
pub(super) use external::missing;
pub use features::{FEATURES, Feature};
pub use loads_in::{LoadsIn, Outcome};
pub use operators::{Library, NeededKernels};
pub use reasons::{REASONS, ReasonKind};

use super::history::{History, behaviour};
use super::{Behaviour, Finding, Level, RULES, Release, Severity};
use crate::error::Error;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::path::FieldPath;
use crate::setters::setters;
use alloc::{string::String, vec::Vec};
use core::fmt;

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
    /// The kernels that the file needs from libraries other than the portable one, except those that the deployment has.
    pub kernels: Vec<NeededKernels>,
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

/// The environment in which a program is loaded.
///
/// ```
/// use executorch_format::Pte;
/// use executorch_format::verify::{Deployment, Library};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
/// let deployment = Deployment::default().with_libraries(Some(&[Library::Portable, Library::Optimized]));
/// for verdict in Pte::parse(&file)?.releases_with(&deployment).releases {
///     println!("{verdict}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Deployment<'t> {
    /// The kernel libraries that are linked to the runtime, with the operators that each release has in them. `None`
    /// assumes the portable library and any others that the program needs: the answer lists their kernels.
    pub libraries: Option<&'t [Library]>,
    /// `true` to assume that operators that are in no library of ExecuTorch are linked: the answer lists them. Otherwise,
    /// releases refuse them.
    pub custom: bool,
    /// Additional kernels: names with overload, such as `aten::add.out`, sorted.
    pub kernels: &'t [&'t str],
    /// The `.ptd` files; `None` assumes that all external data is present.
    pub data: Option<&'t [&'t Ptd<'t>]>,
}

setters! {
    Deployment<'t> {
        libraries = with_libraries: Option<&'t [Library]>,
        custom = with_custom: bool,
        kernels = with_kernels: &'t [&'t str],
        data = with_data: Option<&'t [&'t Ptd<'t>]>,
    }
}

/// Assumes all kernels that the program needs, and all external data.
impl Default for Deployment<'_> {
    fn default() -> Self {
        Self { libraries: None, custom: true, kernels: &[], data: None }
    }
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
}

impl ReleaseVerdict {
    fn new(release: Release, format: Answer, operators: Answer, delegates: Answer) -> Self {
        let mut worst = &format;
        for answer in [&operators, &delegates] {
            if answer.behaviour > worst.behaviour && answer.not_checked().is_none() {
                worst = answer;
            }
        }
        let (behaviour, because) = (worst.behaviour, worst.because.clone());
        Self { release, behaviour, because, format, operators, delegates, kernels: Vec::new() }
    }

    /// Returns the verdict for a runtime that is known to have the operators.
    pub(super) fn with_operators(self) -> Self {
        Self::new(self.release, self.format, Answer::LOADS, self.delegates)
    }

    /// Returns the payloads that were not checked, as a reason that names their backends, if the release loads the others.
    pub fn not_checked(&self) -> Option<&Reason> {
        self.delegates.not_checked()
    }
}

impl fmt::Display for ReleaseVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.release, self.behaviour)?;
        let mut before = ": ";
        // The deciding reason comes first.
        let others = [&self.format, &self.operators, &self.delegates].into_iter().filter_map(|answer| {
            let reason = answer.because.as_ref().filter(|reason| Some(*reason) != self.because.as_ref())?;
            answer.not_checked().is_none().then_some((answer.behaviour, reason))
        });
        if let Some(because) = &self.because {
            write!(f, "{before}{because}")?;
            before = "; ";
        }
        for (behaviour, reason) in others {
            write!(f, "{before}{behaviour}: {reason}")?;
            before = "; ";
        }
        if !self.kernels.is_empty() {
            write!(f, "{before}{}", operators::Outside(&self.kernels))?;
            before = "; ";
        }
        match self.not_checked() {
            Some(reason) => write!(f, "{before}not checked: {}", reason.message),
            None => Ok(()),
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
    fn new(kind: &'static ReasonKind, path: FieldPath, message: String) -> Self {
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

pub(super) fn of_pte(pte: &Pte<'_>, deployment: &Deployment<'_>) -> Releases {
    let opened = pte.open_payloads();
    let mut strict = pte.verify_opened(&opened, Level::Strict);
    // Loading a program does not call kernels.
    strict.retain(|finding| !finding.rule.starts_with("kernel-"));
    // A file that breaks no rule of the strict level breaks no rule of the levels included in it.
    let mut runtime = if strict.is_empty() { Vec::new() } else { pte.verify_opened(&opened, Level::Runtime) };
    let needs = external::missing(pte, &opened, &[]);
    if let Some(data @ [_, ..]) = deployment.data {
        let pairing = pte.verify_with(data.iter().copied(), Level::Runtime);
        strict.extend_from_slice(&pairing);
        runtime.extend(pairing);
    }
    let features = features::features(pte);
    let operators = operators::Missing::of(pte, deployment);
    let uses = contents::uses(pte, &opened);
    let named = !pte.named_data().is_empty();
    let verdict = |release: Release| {
        if !release.was_seen() {
            return unseen(release);
        }
        let [mut format, mut lacking, mut delegates] = [Answer::LOADS; 3];
        for finding in if release == Release::LATEST { &runtime } else { &strict } {
            let answer = if finding.rule.starts_with("xnnpack-") { &mut delegates } else { &mut format };
            answer.add(broken(finding, release));
        }
        for (feature, path) in &features {
            let reason = Reason { name: feature.name, path: path.clone(), message: feature.what.into() };
            format.add((behaviour(feature.since, release), reason));
        }
        if let Some(found) = operators.find(release) {
            lacking.add(found);
        }
        uses.iter().filter_map(|used| used.find(release)).for_each(|found| delegates.add(found));
        if let Some(needs) = &needs {
            let [tensors, constants] = needs.find(release, deployment.data.is_none_or(|data| !data.is_empty()), named);
            if let Some(found) = tensors {
                format.add(found);
            }
            // If a program is refused for its format, its delegates are not loaded.
            let reached = format.behaviour < Behaviour::Refuses;
            if let Some(found) = constants.filter(|_| reached) {
                delegates.add(found);
            }
        }
        ReleaseVerdict {
            kernels: operators.kernels.clone(),
            ..ReleaseVerdict::new(release, format, lacking, delegates)
        }
    };
    let verdicts = Release::ALL.into_iter().map(verdict).collect();
    Releases::new(verdicts, loads_in::checked(pte, deployment))
}

pub(super) fn of_ptd(ptd: &Ptd<'_>) -> Releases {
    let runtime = ptd.verify(Level::Runtime);
    let of_format = |release| {
        let mut format = Answer::LOADS;
        if release == Release::LATEST {
            runtime.iter().for_each(|finding| format.add(broken(finding, release)));
        } else {
            let message = "only the latest release was tested with .ptd files".into();
            format.add((Behaviour::Unknown, Reason::new(&reasons::PTD, FieldPath::default(), message)));
        }
        format
    };
    of_the_format(of_format)
}

/// Returns the behaviour of each release with a file that cannot be read.
pub fn releases_of_error(error: &Error) -> Releases {
    let finding = Finding::from(error);
    of_the_format(|release| {
        let mut format = Answer::LOADS;
        format.add(broken(&finding, release));
        format
    })
}

/// Returns the verdicts on files without operators and payloads.
fn of_the_format(format: impl Fn(Release) -> Answer) -> Releases {
    let verdict = |release: Release| match release.was_seen() {
        true => ReleaseVerdict::new(release, format(release), Answer::LOADS, Answer::LOADS),
        false => unseen(release),
    };
    Releases::new(Release::ALL.into_iter().map(verdict).collect(), alloc::vec!["format".into()])
}

/// Returns the verdict on a release that was not tested.
fn unseen(release: Release) -> ReleaseVerdict {
    let message = "this release was not tested".into();
    let because = Some(Reason::new(&reasons::RELEASE, FieldPath::default(), message));
    let answer = Answer { behaviour: Behaviour::Unknown, because };
    ReleaseVerdict::new(release, answer.clone(), answer.clone(), answer)
}

/// Returns the behaviour of a release with a file that breaks a rule.
fn broken(finding: &Finding, release: Release) -> (Behaviour, Reason) {
    let history = History::find(finding.rule, &finding.path);
    let is_error = finding.severity >= Severity::Error;
    let unknown = if is_error { Behaviour::Unknown } else { Behaviour::Loads };
    let seen = history.map_or(unknown, |history| history.behaviour(release));
    let level = RULES.iter().find(|rule| rule.name == finding.rule).map(|rule| rule.level);
    let behaviour = match seen {
        _ if !is_error && release == Release::LATEST => Behaviour::Loads,
        // The rules of the structure and runtime levels are those of the latest release.
        Behaviour::Dies => seen,
        _ if release == Release::LATEST && level <= Some(Level::Runtime) => Behaviour::Refuses,
        _ => seen,
    };
    let (name, path, message) = (finding.rule, finding.path.clone(), finding.message.clone());
    (behaviour, Reason { name, path, message })
}
