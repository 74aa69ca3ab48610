//! `pte externalize`: moves data from a program into a `.ptd`.

use super::pattern::{self, Patterns};
use super::scalar_type;
use super::{Destination, Output, checked, findings_with, finish, program, refuse};
use crate::context::Context;
use crate::failure::Failure;
use crate::names::{self, GivenNames, NameFiles};
use crate::near::Names;
use crate::open::read_settings;
use crate::save::Pending;
use crate::{text, value};
use clap::ValueEnum;
use executorch_format::edit::{Candidate, METADATA_PREFIX, Subject};
use executorch_format::schema::ScalarType;
use executorch_format::{Model, PtdOptions, Pte};
use glob::Pattern;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Move data from a program into a .ptd: an app can fetch it separately, and several programs can share it
///
/// A key is the name in the file, else that of --names, else METHOD.VALUE, with values padded to the same number of digits. Data that
/// several methods share has one key.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte externalize model.pte --all -o program.pte --data weights.ptd
  pte externalize model.pte --min-size 64KiB --type f32 -i --data weights.ptd
  pte externalize model.pte --name 'layers.*.weight' -o program.pte --data weights.ptd")]
pub struct Arguments {
    /// A .pte file
    file: PathBuf,
    /// The .ptd to write
    #[arg(long, value_name = "OUT.ptd")]
    data: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// The names that become keys: an ETRecord, the state dict as safetensors, or a JSON object from names to keys, {"%12": "linear.weight"}
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    #[command(flatten)]
    destination: Destination,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Data to move")]
#[group(required = true, multiple = true)]
struct Choice {
    /// All constants, initial states, and named data except under `metadata.`
    #[arg(long, conflicts_with_all = ["kind", "min_size", "name", "method", "scalar_type"])]
    all: bool,
    /// The kinds of data to move [default: constant]
    #[arg(long, value_enum)]
    kind: Vec<Kind>,
    /// Only data of at least this many bytes, such as 64KiB
    #[arg(long, value_name = "SIZE", value_parser = text::parse_size)]
    min_size: Option<u64>,
    /// Only data whose key matches, or its name in --names, or the data of a value (%12, METHOD:%12)
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    name: Vec<Pattern>,
    /// Only data that methods with a matching name use
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    method: Vec<Pattern>,
    /// Only data of this scalar type, such as f32, float32 or FLOAT
    #[arg(long = "type", value_name = "TYPE", value_parser = scalar_type::parse)]
    scalar_type: Vec<ScalarType>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Constants
    Constant,
    /// Initial states of mutable tensors
    State,
    /// Named data, which delegates look for
    Named,
}

/// Moves data out.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let before = program(&input)?;
    let (names, given) = match &arguments.names {
        None => (BTreeMap::new(), GivenNames::default()),
        Some(path) if names::has_names(path)? => {
            (BTreeMap::new(), NameFiles::open(context, std::slice::from_ref(path))?.given(&before)?)
        }
        Some(path) => (table(path)?, GivenNames::default()),
    };
    let faulty = |error| Failure::Usage(format!("{}: {error}", text::path(input.path())));
    let keys = keys(&before, &names, &given).map_err(faulty)?;
    if let Some(path) = arguments.names.as_deref().filter(|_| names.is_empty() && keys.is_empty()) {
        return Err(Failure::usage_of(path, &format!("it names no data of {}", text::path(input.path()))));
    }
    let choice = &arguments.choice;
    let there = choice.check(&before, input.path(), &keys).map_err(faulty)??;
    if let Some(name) = names.keys().find(|name| !keys.values().any(|(own, _)| own == *name)) {
        return Err(Failure::no_match(input.path(), "data", name, there));
    }
    let (mut after, several) = (before.clone(), before.methods().len() > 1);
    let outcome = after.externalize(&PtdOptions::default(), |candidate| {
        let key = keys.get(candidate.key).map_or(candidate.key, |(_, key)| key);
        choice.takes(candidate, several, &keys).then(|| key.to_owned())
    });
    let (data, report) = outcome.map_err(faulty)?;
    if report.changes.is_empty() {
        return Err(nothing_chosen(&before, input.path()).unwrap_or_else(faulty));
    }
    let data = [data];
    let found = findings_with(&before, &[]);
    let trailing = before.trailing_bytes();
    // Frees the memory before the result is read again.
    drop(before);
    refuse(input.path(), &after.new_errors_with(&data, &found))?;
    let after = Model::Pte(after);
    let image = checked(input.path(), &found, &after)?;
    let [data] = &data;
    // Both files appear only when both are written. The data comes first, because the program is useless without it.
    let outputs = vec![
        Output::new(Some(&arguments.data), data.image(), &arguments.data)?,
        Output { path: arguments.destination.path(input.path())?, image },
    ];
    for output in outputs.iter().skip(1) {
        output.keeps(&trailing, input.path())?;
    }
    finish(context, &[&input], outputs, report, arguments.destination.how())
}

/// Maps the key that data would get to its name in the table and its new key.
type Keys = BTreeMap<String, (String, String)>;

/// Maps the key that data would get to its name in the table and the key that the table gives it. Data that several tensors
/// share can be named by any of them.
fn keys(pte: &Pte<'_>, names: &BTreeMap<String, String>, given: &GivenNames) -> executorch_format::Result<Keys> {
    let (mut keys, several) = (BTreeMap::new(), pte.methods().len() > 1);
    pte.candidates(|candidate| {
        for name in std::iter::once(candidate.key.to_owned()).chain(called(candidate, several)) {
            if let Some(key) = names.get(&name) {
                keys.insert(candidate.key.to_owned(), (name, key.clone()));
            }
        }
    })?;
    for (key, name) in given.of_data(pte)? {
        keys.entry(key).or_insert_with(|| (name.clone(), name));
    }
    Ok(keys)
}

/// Returns the names of data besides its key, which are those of its value.
fn called(candidate: &Candidate<'_>, several: bool) -> Vec<String> {
    match candidate.subject {
        Subject::NamedData => Vec::new(),
        _ => value::names(candidate.method, candidate.index, several),
    }
}

/// Returns the key that data gets, and its other names: the key that it would get otherwise, and those of its value.
fn called_with<'k>(candidate: &Candidate<'k>, several: bool, keys: &'k Keys) -> (&'k str, Vec<String>) {
    let mut others = called(candidate, several);
    others.push(candidate.key.to_owned());
    (keys.get(candidate.key).map_or(candidate.key, |(_, key)| key), others)
}

/// Returns the error if no data was chosen; it lists the candidates.
fn nothing_chosen(pte: &Pte<'_>, file: &Path) -> executorch_format::Result<Failure> {
    let (mut count, mut largest) = (0, 0);
    pte.candidates(|candidate| {
        count += 1;
        largest = candidate.size.max(largest);
    })?;
    Ok(Failure::usage_of(
        file,
        &match count {
            0 => "there is no data to move: no constant, no initial state, no named data".to_owned(),
            _ => {
                let there = text::count(count, "blob");
                format!(
                    "nothing to move: these options select none of {there}, the largest of which has {largest} bytes"
                )
            }
        },
    ))
}

impl Choice {
    /// Checks that each pattern and type matches some data, and returns the names of all data.
    fn check(&self, pte: &Pte<'_>, file: &Path, keys: &Keys) -> executorch_format::Result<Result<Names, Failure>> {
        let (mut names, mut types) = (Patterns(&self.name).matches(), Vec::new());
        let (mut there, several) = (Names::default(), pte.methods().len() > 1);
        pte.candidates(|candidate| {
            // Usually there are no patterns.
            if !self.name.is_empty() {
                let (key, others) = called_with(candidate, several, keys);
                names.see(key, &others);
            }
            there.add(candidate.key);
            if let Some(shape) = candidate.shape.filter(|shape| !types.contains(&shape.scalar_type)) {
                types.push(shape.scalar_type);
            }
        })?;
        let methods = pte.methods().iter().map(|plan| plan.name());
        let missing = self.scalar_type.iter().find(|scalar_type| !types.contains(scalar_type));
        let typed = missing.map_or(Ok(()), |missing| {
            let mut there = Names::default();
            types.iter().for_each(|scalar_type| there.add(&text::scalar_type(*scalar_type)));
            Err(Failure::no_match(file, "data of the type", &text::scalar_type(*missing), there))
        });
        let checked = names.check(file, "data with a key like");
        Ok(checked.and(Patterns(&self.method).check(file, "method like", methods)).and(typed).map(|()| there))
    }

    /// Returns `true` if a pattern matches a name of the data.
    fn is_called(&self, candidate: &Candidate<'_>, several: bool, keys: &Keys) -> bool {
        let patterns = Patterns(&self.name);
        let (key, others) = called_with(candidate, several, keys);
        patterns.any(key) || others.iter().any(|name| patterns.any(name))
    }

    fn takes(&self, candidate: &Candidate<'_>, several: bool, keys: &Keys) -> bool {
        let Candidate { subject, method, key, shape, size, .. } = candidate;
        if *subject == Subject::NamedData && key.starts_with(METADATA_PREFIX) {
            return false;
        }
        let kind = match subject {
            Subject::InitialState => Kind::State,
            Subject::NamedData => Kind::Named,
            _ => Kind::Constant,
        };
        let kinds = if self.kind.is_empty() { &[Kind::Constant][..] } else { &self.kind };
        let typed =
            self.scalar_type.is_empty() || shape.is_some_and(|shape| self.scalar_type.contains(&shape.scalar_type));
        self.all
            || (kinds.contains(&kind)
                && *size >= self.min_size.unwrap_or(0)
                && (self.name.is_empty() || self.is_called(candidate, several, keys))
                && (self.method.is_empty() || Patterns(&self.method).any(method))
                && typed)
    }
}

fn table(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    serde_json::from_str(&read_settings(path)?)
        .map_err(|error| Failure::Usage(format!("{}: {error}, expected an object of strings", text::path(path))))
}
