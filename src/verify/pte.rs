//! Checks of a program.

use super::report::Report;
use super::{
    Finding, Level, constants, delegates, given_memory, instructions, kernels, look_ups, memory, names, pairing, plan,
    program, segments, shared_state, tensors, trailing, training, values, wire,
};
#[cfg(feature = "inspect")]
use super::{MissingData, releases};
use super::{delegate_calls, foreign, payload, payload_data, xnnpack};
use crate::dataflow::{DelegateOutputs, KeptApart};
use crate::delegate::OpenPayload;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::path::Path;
use alloc::vec::Vec;

impl Pte<'_> {
    /// Checks the file at `level` and returns all findings.
    ///
    /// If the tree was read from a file, findings about data that it borrows from the file have that data's offset. Bytes
    /// that are absent (see [`Source::whole`](crate::Source::whole)) are not checked.
    ///
    /// At most 100 findings of a rule are listed. One more finding states the number of the rest.
    pub fn verify(&self, level: Level) -> Vec<Finding> {
        if level < Level::Runtime {
            return Vec::new();
        }
        self.verify_opened(&self.open_payloads(), level)
    }

    /// Checks the file at `level`, which is not that of the structure. `payloads` are those that it has opened.
    pub(crate) fn verify_opened(&self, payloads: &[OpenPayload<'_>], level: Level) -> Vec<Finding> {
        self.verify_and_keep(payloads, level).0
    }

    /// Checks the file, and returns the values that each method keeps as well, which only the strict level finds.
    pub(super) fn verify_and_keep(&self, payloads: &[OpenPayload<'_>], level: Level) -> (Vec<Finding>, KeptApart) {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        runtime_rules(self, &|| look_ups::looked_up(self, payloads), &mut report);
        xnnpack::check(self, payloads, &mut report);
        let kept = if level >= Level::Strict { strict_rules(self, payloads, &mut report) } else { Vec::new() };
        (report.finish(), kept)
    }

    /// Checks the file at [`Level::Runtime`] without opening payloads of delegates, which their backends check when they load them: for
    /// firmware, since this links neither the code of the strict level nor that of payloads. [`verify`](Self::verify) checks them too.
    pub fn verify_for_runtime(&self) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), Level::Runtime);
        runtime_rules(self, &Vec::new, &mut report);
        report.finish()
    }

    /// Checks the file together with its `.ptd` files and returns findings about the combination, without findings about
    /// a single file. Paths are those of the `.pte`. If `data` is empty, a warning states how many tensors need a
    /// `.ptd` file.
    pub fn verify_with<'p>(&self, data: impl IntoIterator<Item = &'p Ptd<'p>>, level: Level) -> Vec<Finding> {
        if level < Level::Runtime {
            return Vec::new();
        }
        let data: Vec<&Ptd<'_>> = data.into_iter().collect();
        self.verify_opened_with(&self.open_payloads(), &data, level)
    }

    /// Does the same as [`verify_with`](Self::verify_with) for the payloads that the file has opened.
    pub(crate) fn verify_opened_with(
        &self,
        payloads: &[OpenPayload<'_>],
        data: &[&Ptd<'_>],
        level: Level,
    ) -> Vec<Finding> {
        let mut report = Report::new(None, level);
        pairing::check(self, data.iter().copied(), &mut report);
        xnnpack::check_pairing(self, payloads, data, &mut report);
        payload_data::check_pairing(self, payloads, data, &mut report);
        report.finish()
    }

    /// Returns the external data that this program needs and `data` does not contain; `None` if nothing is missing. With empty
    /// `data`, returns everything that it needs. Payloads whose keys only their backends know are left out.
    #[cfg(feature = "inspect")]
    pub fn missing_data(&self, data: &[&Ptd<'_>]) -> Option<MissingData> {
        releases::missing(self, &self.open_payloads(), data)
    }
}

/// Checks the rules of the runtime level, and rules of the strict level that share functions with them. `looked_up` returns, for each entry of
/// `named_data`, whether a payload looks it up; entries that it leaves out are not. It is a function, so that firmware links no payloads.
fn runtime_rules(pte: &Pte<'_>, looked_up: &dyn Fn() -> Vec<bool>, report: &mut Report<'_>) {
    program::check(pte, looked_up, report);
    segments::check_pte(pte, looked_up, report);
    for (index, plan) in pte.methods().iter().enumerate() {
        let path = &Path::ROOT.item("execution_plan", index);
        plan::check(plan, path, report);
        values::check(plan, path, report);
        tensors::check(pte, plan, path, report);
        delegates::check(pte, plan, path, report);
        instructions::check(plan, path, report);
    }
}

/// Checks the other rules of the strict level, and returns the values that each method keeps.
fn strict_rules(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], report: &mut Report<'_>) -> KeptApart {
    segments::unreferenced_in_pte(pte, report);
    names::check_pte(pte, report);
    let (outputs, mut known, mut apart) = (DelegateOutputs::of_program(pte, payloads), Vec::new(), Vec::new());
    for (index, plan) in pte.methods().iter().enumerate() {
        let path = &Path::ROOT.item("execution_plan", index);
        given_memory::check(plan, path, report);
        let kept = memory::check((index, plan), &outputs, path, report);
        known.push(kept.known);
        apart.push(kept.apart);
        instructions::check_kernels(plan, path, report);
        kernels::check(pte, plan, path, report);
    }
    shared_state::check(pte, &known, report);
    training::check(pte, report);
    constants::check(pte, report);
    payload::check(pte, report);
    payload_data::check(pte, payloads, report);
    delegate_calls::check(pte, payloads, report);
    foreign::check_pte(pte, report);
    trailing::check_pte(pte, report);
    wire::check_pte(pte, report);
    apart
}
