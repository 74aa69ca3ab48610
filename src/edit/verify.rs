//! Whether an edited file is as good as it was.

use crate::error::Result;
use crate::file::model::Model;
use crate::file::options::ParseOptions;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::validate::{Finding, Level, Severity};
use alloc::vec::Vec;

/// Rules of what was not looked up, since no `.ptd` file was given, and of what was not found in those given.
const LOOKED_UP: [(&str, &str); 2] =
    [("external-unchecked", "external-missing"), ("xnnpack-unchecked", "xnnpack-constant-key")];

/// The errors at the strict level that `after` has and of whose rules `before` has none. None: what was good stays good.
///
/// `after` is judged as it would be read from its file, without writing that.
///
/// Fails where it cannot be written.
pub fn new_errors(before: &Model<'_>, after: &Model<'_>) -> Result<Vec<Finding>> {
    let after = match after {
        Model::Pte(pte) => read_again_pte(pte, |pte| pte.validate(Level::Strict))?,
        Model::Ptd(ptd) => read_again_ptd(ptd, |ptd| ptd.validate(Level::Strict))?,
        Model::Bpte(_) | Model::Etdp(_) => after.validate(Level::Strict),
    };
    Ok(of_new_rules(before.validate(Level::Strict), after))
}

/// As [`new_errors`], for a program together with its `.ptd` files. What was not looked up before, since no file was given, need not
/// be there.
pub fn new_errors_of_pair(before: (&Pte<'_>, &[Ptd<'_>]), after: (&Pte<'_>, &[Ptd<'_>])) -> Vec<Finding> {
    let old = before.0.validate_with(before.1, Level::Strict);
    let mut new = after.0.validate_with(after.1, Level::Strict);
    for (unchecked, missing) in LOOKED_UP {
        if old.iter().any(|finding| finding.rule == unchecked) {
            new.retain(|finding| finding.rule != missing);
        }
    }
    of_new_rules(old, new)
}

/// A segment outside the file is outside the data size too, once that is written as it is.
const SAME_FAULT: (&str, &str) = ("segment-bounds", "segment-data-size");

fn of_new_rules(before: Vec<Finding>, after: Vec<Finding>) -> Vec<Finding> {
    let errors = |findings: Vec<Finding>| findings.into_iter().filter(|finding| finding.severity == Severity::Error);
    let mut old: Vec<&str> = errors(before).map(|finding| finding.rule).collect();
    if old.contains(&SAME_FAULT.0) {
        old.push(SAME_FAULT.1);
    }
    errors(after).filter(|finding| !old.contains(&finding.rule)).collect()
}

/// The tree as its metadata gives it when read, with the segments as they are.
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
