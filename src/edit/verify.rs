//! Checks that an edit does not add errors.

use crate::error::Result;
use crate::file::options::ParseOptions;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::model::Model;
use crate::verify::rule::{self, Rule};
use crate::verify::{Finding, Level, Severity};
use crate::write::image::Image;
use alloc::vec::Vec;

/// Pairs of rules: a finding of the first before the edit excuses a finding of the second after it. Data that was not looked
/// up because no `.ptd` file was given may be missing. A segment outside the file is also outside the data size once that
/// is written.
const EXCUSES: [(&Rule, &Rule); 5] = [
    (rule::EXTERNAL_UNCHECKED, rule::EXTERNAL_MISSING),
    (rule::XNNPACK_UNCHECKED, rule::XNNPACK_CONSTANT_KEY),
    (rule::PAYLOAD_UNCHECKED, rule::PAYLOAD_KEY),
    (rule::PAYLOAD_UNCHECKED, rule::PAYLOAD_DATA),
    (rule::SEGMENT_BOUNDS, rule::SEGMENT_DATA_SIZE),
];

/// Returns the strict errors in `after` from rules that `before` did not break. Empty if the edit adds no such errors.
///
/// `after` is checked as if it were read from its file, without writing the file.
///
/// Fails if `after` cannot be written.
pub fn new_errors(before: &Model<'_>, after: &Model<'_>) -> Result<Vec<Finding>> {
    let before = before.verify(Level::Strict);
    match after {
        Model::Pte(_) | Model::Ptd(_) => new_errors_of_image(&before, after, &after.image()?),
        _ => Ok(of_new_rules(&before, after.verify(Level::Strict))),
    }
}

/// Returns the same as [`new_errors`] for a file that will be written, without the file before the edit: `before` contains its
/// findings at the strict level, and `image` is that of `after`, which saves computing it again.
///
/// Fails if the image cannot be read as a file of that kind.
pub fn new_errors_of_image(before: &[Finding], after: &Model<'_>, image: &Image<'_>) -> Result<Vec<Finding>> {
    let found = match after {
        // Unchanged metadata needs no second parse.
        _ if image.is_from_source() => after.verify(Level::Strict),
        Model::Pte(pte) => {
            let metadata = image.metadata_bytes();
            let mut again = Pte::parse_with(&metadata, &ParseOptions::METADATA)?;
            again.segments.clone_from(&pte.segments);
            again.verify(Level::Strict)
        }
        Model::Ptd(ptd) => {
            let metadata = image.metadata_bytes();
            let mut again = Ptd::parse_with(&metadata, &ParseOptions::METADATA)?;
            again.segments.clone_from(&ptd.segments);
            again.verify(Level::Strict)
        }
        _ => after.verify(Level::Strict),
    };
    Ok(of_new_rules(before, found))
}

/// Returns the findings at the strict level in a program, and in its combination with its `.ptd` files.
pub fn findings_of_pair(pte: &Pte<'_>, data: &[Ptd<'_>]) -> Vec<Finding> {
    let mut found = pte.verify(Level::Strict);
    found.extend(pte.verify_with(data, Level::Strict));
    found
}

/// Returns the same as [`new_errors`] for a program together with its `.ptd` files. `before` contains the findings of
/// [`findings_of_pair`] before the edit. Data that was not looked up then, because no file was given, may be missing.
pub fn new_errors_of_pair(before: &[Finding], after: (&Pte<'_>, &[Ptd<'_>])) -> Vec<Finding> {
    of_new_rules(before, after.0.verify_with(after.1, Level::Strict))
}

fn of_new_rules(before: &[Finding], mut after: Vec<Finding>) -> Vec<Finding> {
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
