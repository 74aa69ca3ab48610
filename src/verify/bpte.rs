//! Checks of a bundle.

use super::foreign;
use super::report::Report;
use super::{Finding, Level, bundle, trailing, wire};
use crate::file::bpte::Bpte;
use crate::file::ptd::Ptd;
#[cfg(doc)]
use crate::file::pte::Pte;
use crate::flatbuffer::read::Record;
use crate::path::Step;
use crate::schema::BundledProgram;
use alloc::vec::Vec;

impl Bpte<'_> {
    /// Checks the bundle and the program inside at `level`, like [`Pte::verify`]. The program's paths start with
    /// `program`, and its offsets count from the start of the bundle.
    pub fn verify(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        let program = self.program();
        if level >= Level::Runtime {
            bundle::check(self, program.as_ref().ok(), &mut report);
            foreign::check_bpte(self, &mut report);
            trailing::in_source(0, self.source.as_ref(), BundledProgram::DESCRIPTION, &mut report);
            wire::check(&self.bundled_program, BundledProgram::DESCRIPTION, self.source.as_ref(), &mut report);
        }
        let mut findings = report.finish();
        match &program {
            Ok(pte) => findings.extend(in_program(self, pte.verify(level))),
            Err(error) if self.bundled_program.program.is_some() => findings.push(error.into()),
            Err(_) => (),
        }
        findings
    }

    /// Checks the program inside together with its `.ptd` files, like [`Pte::verify_with`].
    pub fn verify_with<'p>(&self, data: impl IntoIterator<Item = &'p Ptd<'p>>, level: Level) -> Vec<Finding> {
        // `verify` already reports a program that cannot be read.
        let findings = self.program().map(|pte| pte.verify_with(data, level)).unwrap_or_default();
        in_program(self, findings).collect()
    }
}

fn in_program(bpte: &Bpte<'_>, findings: Vec<Finding>) -> impl Iterator<Item = Finding> {
    let start = bpte.program_offset();
    findings.into_iter().map(move |finding| {
        let path = [Step::Field("program")].into_iter().chain(finding.path.steps().iter().copied()).collect();
        let offset = finding.offset.zip(start).map(|(offset, start)| offset.saturating_add(start));
        Finding { path, offset, ..finding }
    })
}
