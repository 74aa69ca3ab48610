//! Other names for tensors: one by one, from a table, or by a pattern.

use crate::failure::Failure;
use crate::open::Input;
use crate::text;
use regex_lite::Regex;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The names that tensors are to have.
#[derive(clap::Args)]
pub struct Renames {
    /// Give a tensor another name
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<String>,
    /// Give tensors other names by a JSON object: the new name of each old one
    #[arg(long, value_name = "FILE.json")]
    rename_table: Option<PathBuf>,
    /// Replace what a regular expression matches in names; $1 is its first group. All are applied, in order
    #[arg(long, value_name = "REGEX=NEW")]
    rename_pattern: Vec<String>,
}

/// The same, ready to be applied.
pub struct Table {
    names: BTreeMap<String, String>,
    patterns: Vec<(Regex, String)>,
    /// The names that no tensor had so far.
    unused: RefCell<BTreeSet<String>>,
}

impl Renames {
    /// Reads tables and patterns.
    pub fn read(&self) -> Result<Table, Failure> {
        let mut names = match &self.rename_table {
            None => BTreeMap::new(),
            Some(path) => {
                let table = serde_json::from_slice(Input::open(path)?.bytes());
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
        let patterns = self.rename_pattern.iter().map(pattern).collect::<Result<_, Failure>>()?;
        let unused = RefCell::new(names.keys().cloned().collect());
        Ok(Table { names, patterns, unused })
    }
}

/// What is before the last `=`, and what is after it.
fn pair(text: &str) -> Result<(&str, &str), Failure> {
    text.rsplit_once('=').ok_or_else(|| Failure::Usage(format!("{text}: expected OLD=NEW")))
}

impl Table {
    /// The new name, if it has one.
    pub fn apply(&self, name: &str) -> Option<String> {
        if let Some(new) = self.names.get(name) {
            self.unused.borrow_mut().remove(name);
            return Some(new.clone());
        }
        let replace = |name: String, (regex, new): &(Regex, String)| regex.replace_all(&name, new).into_owned();
        let new = self.patterns.iter().fold(name.to_owned(), replace);
        (new != name).then_some(new)
    }

    /// Fails if a name that was to be replaced is not in the file.
    pub fn check(&self, file: &Path) -> Result<(), Failure> {
        match self.unused.borrow().first() {
            Some(name) => {
                Err(Failure::Usage(format!("{}: no tensor {} to rename", text::path(file), text::quoted(name, 80))))
            }
            None => Ok(()),
        }
    }
}
