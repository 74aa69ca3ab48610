//! Names by glob patterns: `layers.*.weight`.

use crate::failure::Failure;
use crate::near::Names;
use glob::Pattern;
use std::path::Path;

/// Glob patterns; a name is selected if it matches any of them.
#[derive(Clone, Copy)]
pub struct Patterns<'t>(pub &'t [Pattern]);

impl<'t> Patterns<'t> {
    /// Returns `true` if a pattern matches, or if there are no patterns.
    pub fn allow(&self, name: &str) -> bool {
        self.0.is_empty() || self.any(name)
    }

    /// Returns `true` if a pattern matches.
    pub fn any(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns a record of the patterns that match names.
    pub fn matches(self) -> Matches<'t> {
        Matches { patterns: self.0, matched: vec![false; self.0.len()], names: Names::default() }
    }

    /// Fails if a pattern matches none of these names.
    pub fn check<'n>(self, file: &Path, what: &str, names: impl Iterator<Item = &'n str>) -> Result<(), Failure> {
        let mut matches = self.matches();
        names.for_each(|name| matches.see(name, &[]));
        matches.check(file, what)
    }
}

/// A record of the patterns that have matched a name so far.
pub struct Matches<'t> {
    patterns: &'t [Pattern],
    matched: Vec<bool>,
    names: Names,
}

impl Matches<'_> {
    /// Adds a name, with other names for the same thing.
    pub fn see(&mut self, name: &str, others: &[String]) {
        if self.patterns.is_empty() {
            return;
        }
        for (pattern, matched) in self.patterns.iter().zip(&mut self.matched) {
            *matched |= pattern.matches(name) || others.iter().any(|name| pattern.matches(name));
        }
        self.names.add(name);
    }

    /// Fails if a pattern matched no name. `what` describes the names.
    pub fn check(self, file: &Path, what: &str) -> Result<(), Failure> {
        match self.patterns.iter().zip(&self.matched).find(|(_, matched)| !**matched) {
            Some((pattern, _)) => Err(Failure::no_match(file, what, pattern.as_str(), self.names)),
            None => Ok(()),
        }
    }
}

/// Parses a pattern given as an argument.
pub fn parse(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| error.to_string())
}
