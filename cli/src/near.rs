//! Suggestions for a name that a file does not have: similar names, or all names.

use crate::text;

/// At most this many characters of a name are shown and compared.
const WIDTH: usize = 80;

/// At most this many names are compared.
const MAX_COMPARED: usize = 10_000;

/// Names of a file, limited to the number and length that are compared.
#[derive(Default)]
pub struct Names(Vec<String>);

impl Names {
    /// Adds a name.
    pub fn add(&mut self, name: &str) {
        if self.0.len() < MAX_COMPARED && !name.is_empty() {
            self.0.push(name.chars().take(WIDTH).collect());
        }
    }

    /// Returns the names that are similar to `wanted`, the most similar first.
    pub fn near(&mut self, wanted: &str) -> Vec<String> {
        /// The threshold that clap uses for its options.
        const LEAST: f64 = 0.7;
        const NEAR: usize = 3;
        self.0.sort_unstable();
        self.0.dedup();
        // Only the part of a pattern without wildcards counts.
        let plain: String = wanted.chars().filter(|c| !"*?[]".contains(*c)).take(WIDTH).collect();
        let mut near = Vec::new();
        for name in &self.0 {
            let likeness = strsim::jaro(&plain, name);
            if likeness > LEAST {
                near.push((likeness, name));
            }
        }
        near.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        near.into_iter().take(NEAR).map(|(_, name)| name.clone()).collect()
    }

    /// Returns `did you mean "layers.0"?`, or, if no name is similar to `wanted`, `there are: …`.
    pub fn hint(mut self, wanted: &str) -> String {
        const SHOWN: usize = 10;
        let near = self.near(wanted);
        if !near.is_empty() {
            let near: Vec<String> = near.iter().map(|name| text::quoted(name)).collect();
            return format!("did you mean {}?", near.join(" or "));
        }
        if self.0.is_empty() {
            return "the file has none".to_owned();
        }
        let mut there: Vec<String> = self.0.iter().take(SHOWN).map(|name| text::escaped(name)).collect();
        if self.0.len() > SHOWN {
            there.push("…".to_owned());
        }
        format!("there are: {}", there.join(", "))
    }
}

impl<'t> FromIterator<&'t str> for Names {
    fn from_iter<I: IntoIterator<Item = &'t str>>(names: I) -> Self {
        let mut all = Self::default();
        names.into_iter().for_each(|name| all.add(name));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested_and_otherwise_all() {
        let names = || Names::from_iter(["layers.0.weight", "layers.0.bias", "head", "", "head"]);
        assert_eq!(names().hint("layres.0.weight"), "did you mean \"layers.0.weight\" or \"layers.0.bias\"?");
        assert_eq!(names().hint("layres.*"), "did you mean \"layers.0.bias\" or \"layers.0.weight\"?");
        assert_eq!(names().hint("xyz"), "there are: head, layers.0.bias, layers.0.weight");
        assert_eq!(Names::default().hint("x"), "the file has none");
    }

    #[test]
    fn long_or_many_names_are_compared_and_shown_partly() {
        let long = "n".repeat(60_000);
        let hint = Names::from_iter(std::iter::repeat_n(&*long, 20_000)).hint(&long);
        assert!(hint.len() < 120, "{hint}");
        let many: Vec<String> = (0..30).map(|index| format!("{index}")).collect();
        assert!(Names::from_iter(many.iter().map(String::as_str)).hint("x").ends_with("…"));
    }
}
