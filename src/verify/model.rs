//! Checks of a file of any kind.

use super::{Deployment, Releases, releases};
use super::{Finding, Level};
#[cfg(doc)]
use crate::file::pte::Pte;
use crate::model::{Model, each_file};
use alloc::vec::Vec;

impl Model<'_> {
    /// Checks the file at `level` and returns all findings, like [`Pte::verify`].
    pub fn verify(&self, level: Level) -> Vec<Finding> {
        each_file!(self, file => file.verify(level))
    }

    /// Returns the releases that load this file, or the program in this bundle, and the behaviour of each release. There are no
    /// verdicts for an ETDump, or for a payload in a file of its own.
    pub fn releases(&self) -> Releases {
        self.releases_with(&Deployment::default())
    }

    /// Returns the same as [`releases`](Self::releases) for a program that is loaded with `deployment`.
    pub fn releases_with(&self, deployment: &Deployment<'_>) -> Releases {
        match self {
            Self::Pte(pte) => pte.releases_with(deployment),
            Self::Ptd(ptd) => ptd.releases(),
            Self::Bpte(bpte) => match bpte.program() {
                Ok(program) => program.releases_with(deployment),
                Err(error) => releases::releases_of_error(&error),
            },
            Self::Etdp(_) => Releases::NONE,
            Self::Xnnpack(_) => Releases::NONE,
        }
    }
}
