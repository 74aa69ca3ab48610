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
use crate::schema::program::Operator;
use crate::verify::kernels::depends_on_release;
use crate::verify::target::{self, CallFault, Target};
use alloc::collections::BTreeSet;
use alloc::{format, string::String, vec::Vec};
use core::cell::OnceCell;

/// The releases before the newest one whose kernels were tested.
const TESTED: [Release; 5] = [Release::V1_0, Release::V1_1, Release::V1_2, Release::V1_3, Release::V1_4];

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
    /// The same of each of [`TESTED`], for operators of which it may differ; found when first asked.
    earlier_calls: OnceCell<[Vec<CallFault>; TESTED.len()]>,
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
        let [calls] = match strict.len() < count {
            true => target::faults(pte, target, [Release::LATEST], |_, _| true),
            false => [Vec::new()],
        };
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
            earlier_calls: OnceCell::new(),
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
        if let Some(tested) = TESTED.iter().position(|tested| *tested == release) {
            let earlier = self.earlier_calls.get_or_init(|| self.find_earlier_calls());
            return earlier.get(tested).cloned().unwrap_or_default();
        }
        let mut calls = self.calls.clone();
        if !release.has_tested_kernels() {
            calls.iter_mut().for_each(|call| call.outcome = Outcome::Unknown);
        }
        calls
    }

    /// Judges the calls of operators whose kernels differ between releases, or that the newest release's kernels have a fault for.
    fn find_earlier_calls(&self) -> [Vec<CallFault>; TESTED.len()] {
        let faulty: BTreeSet<(usize, usize)> = self.calls.iter().map(|call| call.index).collect();
        let is_checked = |index, operator: &Operator<'_>| faulty.contains(&index) || depends_on_release(operator);
        target::faults(self.pte, self.target, TESTED, is_checked)
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
        let linked = self.faults.iter().filter(|(fault, _)| fault.is_linked(release, self.target));
        linked.for_each(|(fault, path)| judged.fault(fault, path));
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
