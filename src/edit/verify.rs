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

impl Model<'_> {
    /// Returns the strict errors that an edit added: those of rules that the original did not break, whose strict findings are `before`.
    ///
    /// The edited file is checked as if it were read from its `image`, without writing it.
    ///
    /// ```
    /// use executorch_format::{Model, edit::Strip, verify::Level};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/stacktrace/stacktrace.pte")?;
    /// let mut model = Model::parse(&file)?;
    /// let before = model.verify(Level::Strict);
    /// if let Model::Pte(pte) = &mut model {
    ///     pte.strip(&Strip::ALL)?;
    /// }
    /// let image = model.image()?;
    /// assert!(model.new_errors(&before, &image)?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails if the image cannot be read as a file of this kind.
    pub fn new_errors(&self, before: &[Finding], image: &Image<'_>) -> Result<Vec<Finding>> {
        let found = match self {
            // Unchanged metadata needs no second parse.
            _ if image.is_from_source() => self.verify(Level::Strict),
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
            _ => self.verify(Level::Strict),
        };
        Ok(of_new_rules(before, found))
    }
}

impl Pte<'_> {
    /// Returns the same as [`Model::new_errors`] for this program together with its `.ptd` files. `before` has the strict findings of the
    /// original from [`verify`](Self::verify) and [`verify_with`](Self::verify_with). Data that was not looked up then, because no file was
    /// given, may be missing.
    pub fn new_errors_with(&self, data: &[Ptd<'_>], before: &[Finding]) -> Vec<Finding> {
        of_new_rules(before, self.verify_with(data, Level::Strict))
    }
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
