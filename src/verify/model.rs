//! Checks of a file of any kind.

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
}
