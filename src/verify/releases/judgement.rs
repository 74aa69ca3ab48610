//! The verdict of one release, put together from what was found.

use super::super::history::{History, behaviour};
use super::super::{Behaviour, Cause, Finding, Level, Outcome, RULES, Release, Severity, Verdict, rule};
use super::backends::KnownBackend;
use super::faults::KnownFault;
use super::features::Feature;
use super::{Answer, NeededKernels, Reason, ReleaseVerdict, reasons};
use crate::path::FieldPath;
use alloc::{format, vec::Vec};

/// The facts known so far of a release and a file.
pub(super) struct Judgement {
    release: Release,
    format: Answer,
    operators: Answer,
    delegates: Answer,
    causes: Vec<Cause>,
}

impl Judgement {
    /// Starts a judgement. Nothing is known of a release that was not tested.
    pub(super) fn new(release: Release) -> Self {
        let [format, operators, delegates] = [Answer::LOADS; 3];
        let mut new = Self { release, format, operators, delegates, causes: Vec::new() };
        if !release.was_seen() {
            let message = "this release was not tested".into();
            let reason = Reason::new(&reasons::RELEASE, FieldPath::default(), message);
            for answer in [&mut new.format, &mut new.operators, &mut new.delegates] {
                answer.add((Behaviour::Unknown, reason.clone()));
            }
            new.causes.push(Cause::new(Outcome::Unknown, reason));
        }
        new
    }

    /// Adds a broken rule.
    pub(super) fn finding(&mut self, finding: &Finding) {
        let behaviour = on_loading(finding, self.release);
        let outcome = outcome(finding, behaviour, self.release);
        let Finding { rule: name, path, message, .. } = finding;
        let reason = Reason { name, path: path.clone(), message: message.clone() };
        let answer = if name.starts_with("xnnpack-") { &mut self.delegates } else { &mut self.format };
        if outcome != Outcome::Runs {
            self.causes.push(Cause::new(outcome, reason.clone()));
        }
        answer.add((behaviour, reason));
    }

    /// Adds a feature that the program uses.
    pub(super) fn feature(&mut self, feature: &Feature, path: &FieldPath) {
        let reason = Reason { name: feature.name, path: path.clone(), message: feature.what.into() };
        self.format(behaviour(feature.since, self.release), reason);
    }

    /// Adds a backend that the program delegates to.
    pub(super) fn backend(&mut self, backend: &KnownBackend, path: &FieldPath) {
        let behaviour = behaviour(backend.since, self.release);
        let mut others = backend.since.iter().filter(|(_, behaviour)| *behaviour == Behaviour::Loads);
        let message = match others.next() {
            Some((since, _)) if *since > self.release => format!("{}, which ExecuTorch has since {since}", backend.id),
            _ => format!("{}, which ExecuTorch no longer has", backend.id),
        };
        let reason = Reason::new(&reasons::MISSING_BACKEND, path.clone(), message);
        self.cause(behaviour, Outcome::Missing, &reason);
        self.delegates.add((behaviour, reason));
    }

    /// Adds a fault of kernels that a call of the program meets.
    pub(super) fn fault(&mut self, fault: &KnownFault, path: &FieldPath) {
        let last = fault.since.iter().take_while(|(first, _)| *first <= self.release).last();
        let Some((_, outcome)) = last.filter(|(_, outcome)| *outcome != Outcome::Runs) else { return };
        let message = format!("{} ({})", fault.what, fault.source);
        let reason = Reason::new(&reasons::KNOWN_FAULT, path.clone(), message);
        match outcome {
            Outcome::Miscomputes => self.operators(Behaviour::Miscomputes, reason),
            _ => self.add(Cause::new(*outcome, reason)),
        }
    }

    /// Adds a behaviour because of the format.
    pub(super) fn format(&mut self, behaviour: Behaviour, reason: Reason) {
        self.cause(behaviour, Outcome::DoesNotLoad, &reason);
        self.format.add((behaviour, reason));
    }

    /// Adds a behaviour because of the operators.
    pub(super) fn operators(&mut self, behaviour: Behaviour, reason: Reason) {
        self.cause(behaviour, Outcome::Missing, &reason);
        self.operators.add((behaviour, reason));
    }

    /// Adds a behaviour because of the payloads of delegates.
    pub(super) fn delegates(&mut self, behaviour: Behaviour, reason: Reason) {
        self.cause(behaviour, Outcome::DoesNotLoad, &reason);
        self.delegates.add((behaviour, reason));
    }

    /// Adds missing external data, with the answers about the format and about payloads that follow from it.
    pub(super) fn data(&mut self, cause: Option<Cause>, [tensors, constants]: [Option<(Behaviour, Reason)>; 2]) {
        // If a program is refused for its format, its delegates are not loaded.
        let found = cause.is_some();
        self.causes.extend(cause);
        if let Some((behaviour, reason)) = tensors {
            if !found {
                self.cause(behaviour, Outcome::Missing, &reason);
            }
            self.format.add((behaviour, reason));
        }
        let reached = self.format.behaviour < Behaviour::Refuses;
        if let Some((behaviour, reason)) = constants.filter(|_| reached) {
            if !found {
                self.cause(behaviour, Outcome::Missing, &reason);
            }
            self.delegates.add((behaviour, reason));
        }
    }

    /// Adds a cause that does not concern loading.
    pub(super) fn add(&mut self, cause: Cause) {
        self.causes.push(cause);
    }

    fn cause(&mut self, behaviour: Behaviour, refused: Outcome, reason: &Reason) {
        let outcome = match behaviour {
            Behaviour::Loads => return,
            Behaviour::Unknown => Outcome::Unknown,
            Behaviour::Miscomputes => Outcome::Miscomputes,
            Behaviour::Refuses | Behaviour::Dies => refused,
        };
        self.causes.push(Cause::new(outcome, reason.clone()));
    }

    pub(super) fn finish(self, kernels: Vec<NeededKernels>) -> ReleaseVerdict {
        let Self { release, format, operators, delegates, causes } = self;
        let mut worst = &format;
        for answer in [&operators, &delegates] {
            if answer.behaviour > worst.behaviour && answer.not_checked().is_none() {
                worst = answer;
            }
        }
        let (behaviour, because) = (worst.behaviour, worst.because.clone());
        let verdict = Verdict::new(causes);
        ReleaseVerdict { release, behaviour, because, format, operators, delegates, kernels, verdict }
    }
}

/// Returns the behaviour of a release when it loads a file that breaks a rule.
fn on_loading(finding: &Finding, release: Release) -> Behaviour {
    let history = History::find(finding.rule, &finding.path);
    let is_error = finding.severity >= Severity::Error;
    // No release looks for faults that show when a method runs.
    let when_run = finding.outcome > Outcome::Missing && finding.outcome < Outcome::Unknown;
    let unknown = if is_error && !when_run { Behaviour::Unknown } else { Behaviour::Loads };
    let seen = history.map_or(unknown, |history| history.behaviour(release));
    match seen {
        _ if release != Release::LATEST => seen,
        _ if !is_error || finding.outcome > Outcome::Missing => Behaviour::Loads,
        Behaviour::Dies => seen,
        _ => Behaviour::Refuses,
    }
}

/// Returns the outcome of a broken rule, with the behaviour that it has on loading.
fn outcome(finding: &Finding, behaviour: Behaviour, release: Release) -> Outcome {
    match behaviour {
        Behaviour::Refuses | Behaviour::Dies if finding.outcome == Outcome::Missing => Outcome::Missing,
        Behaviour::Refuses | Behaviour::Dies => Outcome::DoesNotLoad,
        Behaviour::Miscomputes => Outcome::Miscomputes,
        Behaviour::Unknown => Outcome::Unknown,
        Behaviour::Loads if release == Release::LATEST || finding.outcome == Outcome::Runs => finding.outcome,
        // Programs with such constants are those of these releases.
        Behaviour::Loads if finding.rule == rule::CONSTANT_BUFFER.name => Outcome::Runs,
        Behaviour::Loads => match History::find(finding.rule, &finding.path) {
            Some(history) if finding.outcome > Outcome::Missing => match history.refused_when_run_since {
                Some(since) if release < since => Outcome::Dies,
                _ => finding.outcome,
            },
            // Loading was tested, or nothing was.
            _ => Outcome::Unknown,
        },
    }
}

/// Returns `true` if the rule is checked at the runtime level too.
pub(super) fn is_of_runtime_level(finding: &Finding) -> bool {
    RULES.iter().find(|rule| rule.name == finding.rule).is_some_and(|rule| rule.level <= Level::Runtime)
}
