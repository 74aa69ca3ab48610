//! The checks of a file of any kind.

#[cfg(feature = "payloads")]
use super::{Deployment, ReleaseVerdict, releases};
use super::{Finding, Level};
use crate::file::model::{Model, each_file};
#[cfg(doc)]
use crate::file::pte::Pte;
use alloc::vec::Vec;

impl Model<'_> {
    /// Checks the file at `level` and returns everything that is wrong, like [`Pte::validate`].
    pub fn validate(&self, level: Level) -> Vec<Finding> {
        each_file!(self, file => file.validate(level))
    }

    /// What each release does with this file, or the program in this bundle, oldest first. Empty for an ETDump.
    #[cfg(feature = "payloads")]
    pub fn releases(&self) -> Vec<ReleaseVerdict> {
        self.releases_with(&Deployment::default())
    }

    /// [`releases`](Self::releases) for a program that is loaded with `deployment`.
    #[cfg(feature = "payloads")]
    pub fn releases_with(&self, deployment: &Deployment<'_>) -> Vec<ReleaseVerdict> {
        match self {
            Self::Pte(pte) => pte.releases_with(deployment),
            Self::Ptd(ptd) => ptd.releases(),
            #[cfg(feature = "devtools")]
            Self::Bpte(bpte) => match bpte.program() {
                Ok(program) => program.releases_with(deployment),
                Err(error) => releases::releases_of_error(&error),
            },
            #[cfg(feature = "devtools")]
            Self::Etdp(_) => Vec::new(),
            #[cfg(feature = "payloads")]
            Self::Xnnpack(_) => Vec::new(),
        }
    }
}
