//! The facts about a program from which the verdicts of all releases follow.

use super::super::{Cause, Finding, Level, Outcome, Release};
use super::backends::{self, KnownBackend};
use super::contents::{self, Use};
use super::external::{self, MissingData};
use super::faults::{self, KnownFault};
use super::features::{self, Feature};
use super::judgement::{Judgement, is_of_runtime_level};
use super::operators::Missing;
use super::{NeededKernels, Reason, ReleaseVerdict, loads_in, reasons};
use crate::analysis::Analysis;
use crate::file::pte::Pte;
use crate::path::FieldPath;
use crate::verify::kernels::depends_on_release;
use crate::verify::target::{self, CallFault, Target};
use alloc::{format, string::String, vec::Vec};

/// The facts from which the verdicts on a program follow, for a target.
pub(in crate::verify) struct Facts<'t> {
    /// The findings of the strict level, except those about calls of kernels.
    strict: Vec<Finding>,
    /// The findings of the runtime level.
    runtime: Vec<Finding>,
    pte: &'t Pte<'t>,
    target: &'t Target,
    /// The calls that the newest release's kernels refuse, die on, or compute other numbers for.
    calls: Vec<CallFault>,
    /// `true` if the kernels of other releases may do so with other calls.
    depends_on_release: bool,
    features: Vec<(&'static Feature, FieldPath)>,
    operators: Missing,
    faults: Vec<(&'static KnownFault, FieldPath)>,
    backends: Vec<(&'static KnownBackend, FieldPath)>,
    uses: Vec<Use>,
    /// The external data that the program needs.
    needs: Option<MissingData>,
    /// `true` if `.ptd` files were given; `None` if all external data is assumed to be present.
    has_data: Option<bool>,
    /// `true` if the program has named data itself.
    named: bool,
    /// The subjects that are checked.
    pub(super) checked: Vec<String>,
}

impl<'t> Facts<'t> {
    /// Finds the facts. `strict` are the findings of the program alone.
    pub(in crate::verify) fn new<'a: 't>(
        analysis: &Analysis<'a>,
        mut strict: Vec<Finding>,
        target: &'t Target,
    ) -> Self {
        let (pte, payloads, data) = (analysis.pte(), analysis.payloads(), analysis.data());
        // A file that breaks no rule of the strict level breaks no rule of the levels included in it.
        let mut runtime = match strict.iter().any(is_of_runtime_level) {
            true => pte.verify_opened(payloads, Level::Runtime),
            false => Vec::new(),
        };
        // Calls without a finding break no rule of the newest release, whatever the kernels.
        let count = strict.len();
        strict.retain(|finding| !finding.rule.starts_with("kernel-"));
        let calls = if strict.len() < count { target::faults(pte, target, Release::LATEST) } else { Vec::new() };
        if let Some(data @ [_, ..]) = data {
            let pairing = pte.verify_opened_with(payloads, data, Level::Runtime);
            strict.extend_from_slice(&pairing);
            runtime.extend(pairing);
        }
        Self {
            strict,
            pte,
            target,
            runtime,
            calls,
            depends_on_release: depends_on_release(pte),
            features: features::features(pte),
            operators: Missing::of(pte, target),
            faults: faults::met(pte, target),
            backends: backends::used(pte),
            uses: contents::uses(pte, payloads),
            needs: external::missing(pte, payloads, &[]),
            has_data: data.map(|data| !data.is_empty()),
            named: !pte.named_data().is_empty(),
            checked: loads_in::checked(pte, target),
        }
    }

    /// Returns the calls that a release's kernels refuse, die on, or compute other numbers for.
    pub(in crate::verify) fn calls(&self, release: Release) -> Vec<CallFault> {
        let is_known = release.has_tested_kernels();
        if release != Release::LATEST && is_known && (self.depends_on_release || !self.calls.is_empty()) {
            return target::faults(self.pte, self.target, release);
        }
        let mut calls = self.calls.clone();
        if !is_known {
            calls.iter_mut().for_each(|call| call.outcome = Outcome::Unknown);
        }
        calls
    }

    /// Returns the verdict of a release.
    pub(in crate::verify) fn verdict(&self, release: Release) -> ReleaseVerdict {
        let mut judged = Judgement::new(release);
        if !release.was_seen() {
            return judged.finish(Vec::new());
        }
        if release == Release::LATEST {
            self.runtime.iter().for_each(|finding| judged.finding(finding));
            // The runtime accepts a fault that only the strict level reports, if its rule is of the runtime level.
            let others = self.strict.iter().filter(|finding| !is_of_runtime_level(finding));
            others.for_each(|finding| judged.finding(finding));
        } else {
            self.strict.iter().for_each(|finding| judged.finding(finding));
        }
        self.features.iter().for_each(|(feature, path)| judged.feature(feature, path));
        if let Some((behaviour, reason)) = self.operators.find(release) {
            judged.operators(behaviour, reason);
        }
        self.faults.iter().for_each(|(fault, path)| judged.fault(fault, path));
        self.backends.iter().for_each(|(backend, path)| judged.backend(backend, path));
        for (behaviour, reason) in self.uses.iter().filter_map(|used| used.find(release)) {
            judged.delegates(behaviour, reason);
        }
        if let Some(needs) = &self.needs {
            let cause = needs.cause(release).filter(|_| self.has_data != Some(true));
            judged.data(cause, needs.find(release, self.has_data.is_none_or(|given| given), self.named));
        }
        self.calls(release).iter().for_each(|call| judged.add(Cause::from(call)));
        if let Some(custom) = self.operators.kernels.iter().find(|kernels| kernels.library == NeededKernels::CUSTOM) {
            let message = format!("kernels of the application's own: {custom}");
            judged.add(Cause::new(
                Outcome::Unknown,
                Reason::new(&reasons::CUSTOM_OPERATORS, FieldPath::default(), message),
            ));
        }
        judged.finish(self.operators.kernels.clone())
    }
}
