//! Checks that an edit adds no errors.

use crate::error::Result;
use crate::file::model::Model;
use crate::file::options::ParseOptions;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::validate::rule::{self, Rule};
use crate::validate::{Finding, Level, Severity};
use alloc::vec::Vec;

/// Pairs of rules: a finding of the first before the edit excuses one of the second after it. Data that was not looked
/// up because no `.ptd` file was given may be missing. A segment outside the file will be outside the data size, too,
/// when that is written.
const EXCUSES: [(&Rule, &Rule); 3] = [
    (rule::EXTERNAL_UNCHECKED, rule::EXTERNAL_MISSING),
    (rule::XNNPACK_UNCHECKED, rule::XNNPACK_CONSTANT_KEY),
    (rule::SEGMENT_BOUNDS, rule::SEGMENT_DATA_SIZE),
];

/// The errors at the strict level that `after` has, of rules of which `before` has no error. Empty if the edit adds
/// none.
///
/// `after` is checked as it would be read from its file, without writing the file.
///
/// Fails if `after` cannot be written.
pub fn new_errors(before: &Model<'_>, after: &Model<'_>) -> Result<Vec<Finding>> {
    let after = match after {
        Model::Pte(pte) => read_again_pte(pte, |pte| pte.validate(Level::Strict))?,
        Model::Ptd(ptd) => read_again_ptd(ptd, |ptd| ptd.validate(Level::Strict))?,
        _ => after.validate(Level::Strict),
    };
    Ok(of_new_rules(before.validate(Level::Strict), after))
}

/// [`new_errors`] for a program together with its `.ptd` files. Data that was not looked up before because no file was
/// given may be missing.
pub fn new_errors_of_pair(before: (&Pte<'_>, &[Ptd<'_>]), after: (&Pte<'_>, &[Ptd<'_>])) -> Vec<Finding> {
    let mut old = before.0.validate(Level::Strict);
    old.extend(before.0.validate_with(before.1, Level::Strict));
    of_new_rules(old, after.0.validate_with(after.1, Level::Strict))
}

fn of_new_rules(before: Vec<Finding>, mut after: Vec<Finding>) -> Vec<Finding> {
    let error = |finding: &Finding| finding.severity == Severity::Error;
    after.retain(|new| {
        let excused = |old: &Finding| {
            (error(old) && old.rule == new.rule)
                || EXCUSES.iter().any(|(first, second)| old.rule == first.name && new.rule == second.name)
        };
        error(new) && !before.iter().any(excused)
    });
    after
}

/// Calls `judge` with the tree as it will be read from its encoded metadata, with the same segments.
fn read_again_pte<R>(pte: &Pte<'_>, judge: impl FnOnce(&Pte<'_>) -> R) -> Result<R> {
    let metadata = pte.image()?.metadata_bytes();
    let mut again = Pte::parse_with(&metadata, &ParseOptions::METADATA)?;
    again.segments.clone_from(&pte.segments);
    Ok(judge(&again))
}

fn read_again_ptd<R>(ptd: &Ptd<'_>, judge: impl FnOnce(&Ptd<'_>) -> R) -> Result<R> {
    let metadata = ptd.image()?.metadata_bytes();
    let mut again = Ptd::parse_with(&metadata, &ParseOptions::METADATA)?;
    again.segments.clone_from(&ptd.segments);
    Ok(judge(&again))
}
