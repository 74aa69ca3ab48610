//! Checks of a `.ptd` file.

use super::foreign;
use super::report::Report;
use super::{Finding, Level, flat_tensor, names, segments, trailing, wire};
use crate::file::ptd::Ptd;
#[cfg(doc)]
use crate::file::pte::Pte;
use alloc::vec::Vec;

impl Ptd<'_> {
    /// Checks the file at `level` and returns all findings, like [`Pte::verify`].
    pub fn verify(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            runtime_rules(self, &mut report);
        }
        if level >= Level::Strict {
            strict_rules(self, &mut report);
        }
        report.finish()
    }

    /// Checks the file at [`Level::Runtime`], like [`verify`](Self::verify), for binaries that should not contain the code of the
    /// strict level.
    pub fn verify_for_runtime(&self) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), Level::Runtime);
        runtime_rules(self, &mut report);
        report.finish()
    }
}

fn runtime_rules(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    flat_tensor::check(ptd, report);
    segments::check_ptd(ptd, report);
}

fn strict_rules(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    segments::unreferenced_in_ptd(ptd, report);
    foreign::check_ptd(ptd, report);
    names::check_ptd(ptd, report);
    trailing::check_ptd(ptd, report);
    wire::check(&ptd.flat_tensor, ptd.flat_tensor.root(), ptd.source.as_ref(), report);
}
