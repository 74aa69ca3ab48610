//! New names for tensors: one by one, from a table, or by a regular expression.

use crate::context::Context;
use crate::failure::Failure;
use crate::near::Names;
use crate::open::Input;
use crate::text;
use regex_lite::Regex;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The longest name that patterns may produce, in bytes. Each pattern may repeat the result of the one before it.
const LONGEST_NAME: usize = 64 << 10;

/// The new names of tensors.
#[derive(clap::Args)]
pub struct Renames {
    /// Rename a tensor
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<String>,
    /// Rename tensors by a JSON object from old names to new ones
    #[arg(long, value_name = "FILE.json")]
    rename_table: Option<PathBuf>,
    /// Replace the matches of a regular expression in names; $1 is its first group. If given several times, all are applied, in order
    #[arg(long, value_name = "REGEX=NEW")]
    rename_pattern: Vec<String>,
}

/// The new names, parsed.
pub struct Table {
    names: BTreeMap<String, String>,
    patterns: Vec<(Regex, String)>,
    seen: RefCell<MatchedNames>,
}

/// The names and patterns that have matched so far.
struct MatchedNames {
    /// Names to be replaced that no tensor had.
    unused: BTreeSet<String>,
    /// For each regular expression, `true` if it matched a name.
    matched: Vec<bool>,
    /// The names of the tensors.
    names: Names,
    /// A tensor whose new name would be too long.
    too_long: Option<String>,
}

impl Renames {
    /// Reads tables and patterns.
    pub fn read(&self, context: &Context) -> Result<Table, Failure> {
        let mut names = match &self.rename_table {
            None => BTreeMap::new(),
            Some(path) => {
                let table = serde_json::from_slice(Input::open_data(context, path)?.bytes());
                table.map_err(|error| Failure::usage_of(path, &error))?
            }
        };
        for rename in &self.rename {
            let (old, new) = pair(rename)?;
            names.insert(old.to_owned(), new.to_owned());
        }
        let pattern = |text: &String| {
            let (pattern, new) = pair(text)?;
            let regex = Regex::new(pattern).map_err(|error| Failure::Usage(format!("{pattern}: {error}")))?;
            Ok((regex, new.to_owned()))
        };
        let patterns = self.rename_pattern.iter().map(pattern).collect::<Result<Vec<_>, Failure>>()?;
        let (unused, matched) = (names.keys().cloned().collect(), vec![false; patterns.len()]);
        let seen = RefCell::new(MatchedNames { unused, matched, names: Names::default(), too_long: None });
        Ok(Table { names, patterns, seen })
    }
}

/// Replaces all matches. Returns `None` if the result would be too long.
fn replace_all(regex: &Regex, name: &str, new: &str) -> Option<String> {
    // A group is at most the whole name.
    let groups = new.matches('$').count();
    if new.len().saturating_add(groups.saturating_mul(name.len())) > 64 * LONGEST_NAME {
        return None;
    }
    let (mut result, mut end) = (String::new(), 0);
    for found in regex.captures_iter(name) {
        let whole = found.get(0)?;
        result.push_str(name.get(end..whole.start())?);
        found.expand(new, &mut result);
        end = whole.end();
        if result.len() > LONGEST_NAME {
            return None;
        }
    }
    result.push_str(name.get(end..)?);
    (result.len() <= LONGEST_NAME).then_some(result)
}

/// Splits a text at its last `=`.
fn pair(text: &str) -> Result<(&str, &str), Failure> {
    text.rsplit_once('=').ok_or_else(|| Failure::Usage(format!("{text}: expected OLD=NEW")))
}

impl Table {
    /// Returns the new name, if the tensor has one.
    pub fn apply(&self, name: &str) -> Option<String> {
        let mut seen = self.seen.borrow_mut();
        seen.names.add(name);
        if let Some(new) = self.names.get(name) {
            seen.unused.remove(name);
            return Some(new.clone());
        }
        let mut result = name.to_owned();
        for ((regex, new), matched) in self.patterns.iter().zip(&mut seen.matched) {
            if regex.is_match(&result) {
                *matched = true;
                let Some(replaced) = replace_all(regex, &result, new) else {
                    seen.too_long = Some(name.to_owned());
                    return None;
                };
                result = replaced;
            }
        }
        (result != name).then_some(result)
    }

    /// Fails if a name to be replaced is not in the file, or a regular expression matched no name.
    pub fn check(self, file: &Path) -> Result<(), Failure> {
        let MatchedNames { unused, matched, names, too_long } = self.seen.into_inner();
        if let Some(name) = too_long {
            let fault = format!("the new name of {} is longer than {LONGEST_NAME} bytes", text::quoted(&name));
            return Err(Failure::usage_of(file, &fault));
        }
        if let Some(name) = unused.first() {
            return Err(Failure::no_match(file, "tensor to rename is called", name, names));
        }
        match self.patterns.iter().zip(matched).find(|(_, matched)| !matched) {
            Some(((regex, _), _)) => {
                Err(Failure::no_match(file, "tensor to rename has a name like", regex.as_str(), names))
            }
            None => Ok(()),
        }
    }
}
