//! Collects findings, and formats values from the file for their messages.

use super::{Finding, Level, Outcome, Rule, Severity};
use crate::error::{Error, counted};
use crate::path::{FieldPath, Path};
use alloc::{format, string::ToString, vec::Vec};
use core::fmt;

/// The most findings of a rule that are listed. A last finding counts the rest, so that the report on a malicious file is
/// not many times larger than the file.
pub(super) const MAX_OF_ONE_RULE: usize = 100;

/// The effect of a fault that may do harm, depending on something unknown.
pub(super) const POSSIBLE: (Severity, Outcome) = (Severity::Warning, Outcome::Unknown);

/// A name from the file, formatted for a message: quoted, and truncated if it is long.
pub(super) struct Name<'t>(pub(super) &'t str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = 60;
        match self.0.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => write!(f, "{:?}… ({} bytes)", self.0.split_at(end).0, self.0.len()),
            None => write!(f, "{:?}", self.0),
        }
    }
}

/// A list from the file, formatted for a message: truncated if it is long.
pub(super) struct Few<'t, T>(pub(super) &'t [T]);

impl<T: fmt::Display> fmt::Display for Few<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = 18;
        f.write_str("[")?;
        for (index, item) in self.0.iter().take(MAX_SHOWN).enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{item}")?;
        }
        f.write_str(if self.0.len() > MAX_SHOWN { ", …]" } else { "]" })
    }
}

/// The findings so far.
pub(super) struct Report<'f> {
    file: Option<&'f [u8]>,
    level: Level,
    findings: Vec<Finding>,
    /// The number of findings for each rule, in the order of the first findings.
    counts: Vec<(&'static Rule, usize)>,
}

impl<'f> Report<'f> {
    pub(super) fn new(file: Option<&'f [u8]>, level: Level) -> Self {
        Self { file, level, findings: Vec::new(), counts: Vec::new() }
    }

    /// Returns `true` if the tree was read from a file.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the bytes that the tree was read from.
    pub(super) fn file(&self) -> &'f [u8] {
        self.file.unwrap_or_default()
    }

    pub(super) fn file_size(&self) -> u64 {
        self.file().len() as u64
    }

    pub(super) fn is_strict(&self) -> bool {
        self.level >= Level::Strict
    }

    /// Returns whether to report a fault that the runtime refuses only if `runtime` is `true`. At the strict level, always returns `true`.
    pub(super) fn concerns(&self, runtime: bool) -> bool {
        runtime || self.is_strict()
    }

    /// Returns the offset in the file of a list or string of the tree, if the tree borrows it from there.
    pub(super) fn offset<T: bytemuck::NoUninit>(&self, part: Option<&[T]>) -> Option<u64> {
        crate::offset_in(self.file?, bytemuck::cast_slice(part?))
    }

    /// Returns the offset in the file of item `index` of a list of the tree.
    pub(super) fn offset_of<T: bytemuck::NoUninit>(&self, list: &[T], index: usize) -> Option<u64> {
        self.offset(list.get(index..)).filter(|_| index < list.len())
    }

    pub(super) fn add(&mut self, rule: &'static Rule, path: &Path<'_>, message: impl fmt::Display) {
        self.add_at(rule, path, None, message);
    }

    #[cold]
    pub(super) fn add_at(
        &mut self,
        rule: &'static Rule,
        path: &Path<'_>,
        offset: Option<u64>,
        message: impl fmt::Display,
    ) {
        self.put(rule, rule.effect(), path, offset, &message);
    }

    /// Adds a finding that is less severe than the rule's other findings, or has another outcome.
    #[cold]
    pub(super) fn add_as(
        &mut self,
        effect: (Severity, Outcome),
        rule: &'static Rule,
        path: &Path<'_>,
        offset: Option<u64>,
        message: impl fmt::Display,
    ) {
        self.put(rule, effect, path, offset, &message);
    }

    fn put(
        &mut self,
        rule: &'static Rule,
        (severity, outcome): (Severity, Outcome),
        path: &Path<'_>,
        offset: Option<u64>,
        message: &dyn fmt::Display,
    ) {
        if rule.level > self.level || !self.counts_one_more(rule) {
            return;
        }
        let message = match (rule.cve, rule.refused_since()) {
            (Some(cve), Some(since)) => format!("{message} ({cve}: ExecuTorch refuses this since {since})"),
            (Some(cve), None) => format!("{message} ({cve})"),
            (None, _) => message.to_string(),
        };
        self.findings.push(Finding { severity, outcome, ..Finding::new(rule, path.to_field_path(), offset, message) });
    }

    /// Returns the number of findings, including those that are not listed.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// Counts a finding of the rule, and returns `true` if it is to be listed.
    fn counts_one_more(&mut self, rule: &'static Rule) -> bool {
        let at = self.counts.iter().position(|(known, _)| known.name == rule.name).unwrap_or_else(|| {
            self.counts.push((rule, 0));
            self.counts.len() - 1
        });
        let Some((_, count)) = self.counts.get_mut(at) else { return false };
        *count += 1;
        *count <= MAX_OF_ONE_RULE
    }

    /// Adds a fault of structure under its own rule, or under `rule`.
    #[cold]
    pub(super) fn add_error(&mut self, rule: Option<&'static Rule>, error: &Error) {
        let Some(rule) = rule.or_else(|| super::RULES.iter().copied().find(|rule| rule.name == error.kind().rule()))
        else {
            return;
        };
        if self.counts_one_more(rule) {
            self.findings.push(Finding::new(rule, error.path(), error.offset(), error.kind().to_string()));
        }
    }

    pub(super) fn finish(mut self) -> Vec<Finding> {
        self.counts.sort_by_key(|(rule, _)| rule.name);
        for (rule, count) in self.counts {
            if let Some(more @ 1..) = count.checked_sub(MAX_OF_ONE_RULE) {
                let message = format!("{} of this rule not listed", counted(more, "more finding"));
                self.findings.push(Finding::new(rule, FieldPath::default(), None, message));
            }
        }
        self.findings
    }
}
