//! Names by glob patterns: `layers.*.weight`.

use glob::Pattern;

/// Patterns of which one is to match.
#[derive(Clone, Copy)]
pub struct Patterns<'t>(pub &'t [Pattern]);

impl Patterns<'_> {
    /// Whether one matches, or there are none.
    pub fn allow(&self, name: &str) -> bool {
        self.0.is_empty() || self.any(name)
    }

    /// Whether one matches.
    pub fn any(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }
}

/// A pattern, as an argument.
pub fn parse(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| error.to_string())
}
