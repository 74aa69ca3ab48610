//! Names from other files: ETRecords and state dicts.

use crate::context::Context;
use crate::failure::Failure;
use crate::open::Input;
use crate::remote;
use crate::text;
use executorch_format::edit::Subject;
use executorch_format::inspect::NamedBy;
use executorch_format::naming::NameSource;
use executorch_format::{Analysis, Error, Pte};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct NamesArguments {
    /// Take the model's own names from an ETRecord, or from its state dict as safetensors. By default, an ETRecord beside MODEL.pte is
    /// used: MODEL.etrecord
    #[arg(long, value_name = "FILE")]
    names: Vec<PathBuf>,
}

impl NamesArguments {
    /// Opens the files with names, or the ETRecord beside a program.
    pub fn open<'c>(&self, context: &'c Context, program: &Path) -> Result<NameFiles<'c>, Failure> {
        NameFiles::of(context, program, &self.names)
    }

    /// Returns `true` if files with names were given.
    pub fn are_given(&self) -> bool {
        !self.names.is_empty()
    }

    /// Calls a function with the analysis of a program, whose answers have names.
    pub fn with<R>(
        &self,
        context: &Context,
        path: &Path,
        pte: &Pte<'_>,
        call: impl FnOnce(&Analysis<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let files = self.open(context, path)?;
        let sources = files.sources()?;
        call(&files.analysis(pte, &sources)?)
    }
}

/// Open files with names.
pub struct NameFiles<'c> {
    context: &'c Context,
    inputs: Vec<Input>,
    /// `true` if the files were found beside the program, rather than given.
    were_found: bool,
}

impl<'c> NameFiles<'c> {
    /// Opens the given files, or the ETRecord beside a program.
    pub fn of(context: &'c Context, program: &Path, paths: &[PathBuf]) -> Result<Self, Failure> {
        let beside = program.with_extension("etrecord");
        if !paths.is_empty() {
            return Self::open(context, paths);
        }
        // A record that was found, rather than given, never causes a failure.
        let found = (remote::url(program).is_none() && beside.is_file()).then(|| Input::open(context, &beside));
        Ok(Self { context, inputs: found.into_iter().flatten().collect(), were_found: true })
    }

    /// Opens the given files.
    pub fn open(context: &'c Context, paths: &[PathBuf]) -> Result<Self, Failure> {
        let inputs = paths.iter().map(|path| Input::open_data(context, path)).collect::<Result<_, _>>()?;
        Ok(Self { context, inputs, were_found: false })
    }

    /// Reads the files.
    pub fn sources(&self) -> Result<Vec<NameSource<'_>>, Failure> {
        let mut sources = Vec::new();
        for input in &self.inputs {
            match NameSource::parse(input.bytes()) {
                Ok(source) => sources.push(source),
                Err(error) => self.unless_found(input.path(), &error)?,
            }
        }
        Ok(sources)
    }

    /// Creates the analysis of a program, whose answers have names from these [`sources`](Self::sources).
    pub fn analysis<'t>(&self, pte: &'t Pte<'_>, sources: &'t [NameSource<'_>]) -> Result<Analysis<'t>, Failure> {
        let analysis = Analysis::new(pte).with_names(sources);
        if !sources.is_empty() {
            for (index, error) in &analysis.names().rejected {
                let input = self.inputs.get(*index);
                self.unless_found(input.map_or(Path::new(""), Input::path), error)?;
            }
        }
        Ok(analysis)
    }

    /// Finds the names that the model's author gave.
    pub fn given(&self, pte: &Pte<'_>) -> Result<GivenNames, Failure> {
        let sources = self.sources()?;
        Ok(GivenNames::new(&self.analysis(pte, &sources)?))
    }

    /// Fails for a given file. For a file that was found, only prints that it is not used.
    fn unless_found(&self, file: &Path, error: &Error) -> Result<(), Failure> {
        if !self.were_found {
            return Err(Failure::usage_of(file, error));
        }
        let error = text::message(&error.to_string());
        self.context.say(format_args!("{} is not used for names: {error}", text::path(file)));
        Ok(())
    }
}

/// Returns `true` for a file that [`NameSource::parse`] reads, rather than JSON: both of its formats have a zero byte near the start.
pub fn has_names(path: &Path) -> Result<bool, Failure> {
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| {
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("a pipe cannot be read twice: write it to a file first"));
        }
        file.take(8).read_to_end(&mut start)
    });
    read.map_err(|error| Failure::Unreadable { file: path.to_owned(), error })?;
    Ok(start.contains(&0))
}

/// Formats a key of named data for a table, after the name of the constant if that is known.
pub fn of_key(context: &Context, name: Option<&str>, key: &str, width: usize) -> String {
    let name = name.map(|name| format!("{}, key ", context.name(name, width))).unwrap_or_default();
    name + &context.name(key, width)
}

/// Names that the model's author gave.
#[derive(Default)]
pub struct GivenNames {
    /// Methods, values and their names, sorted in this order.
    values: Vec<(String, usize, String)>,
    /// The names of constants inside delegates, by the keys of their named data.
    keys: BTreeMap<String, String>,
}

impl GivenNames {
    /// Selects the names that the author gave to values, and to the constants of delegates that are stored as named data.
    pub fn new(analysis: &Analysis<'_>) -> Self {
        let mut given = Vec::new();
        for (plan, names) in analysis.pte().methods().iter().zip(&analysis.names().methods) {
            for (value, name) in names.values.iter().enumerate() {
                if let Some(name) = name.as_ref().filter(|name| name.named_by.is_given()) {
                    given.push((plan.name().to_owned(), value, name.name.to_string()));
                }
            }
        }
        given.sort_unstable();
        let inside = analysis.delegate_constants();
        let mut keys = BTreeMap::new();
        for user in inside.constants.into_iter().map(|constant| constant.user).filter(|user| !user.scales) {
            let name = user.name.filter(|_| user.named_by.is_some_and(NamedBy::is_given));
            if let (Some(key), Some(name)) = (user.key, name) {
                keys.entry(key).or_insert_with(|| name.to_string());
            }
        }
        Self { values: given, keys }
    }

    /// Returns the name of a value.
    pub fn of(&self, method: &str, value: usize) -> Option<&str> {
        let at = self.values.binary_search_by(|(own, index, _)| (own.as_str(), *index).cmp(&(method, value))).ok()?;
        self.values.get(at).map(|(_, _, name)| name.as_str())
    }

    /// Returns the name of the constant that is stored under a key of named data.
    pub fn of_key(&self, key: &str) -> Option<&str> {
        self.keys.get(key).map(String::as_str)
    }

    /// Returns the names of constants and initial states by the key that each would get in a `.ptd`. Names that several of them share are left out.
    pub fn of_data(&self, pte: &Pte<'_>) -> Result<BTreeMap<String, String>, Error> {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        pte.candidates(|data| {
            let name = self.of(data.method, data.index).filter(|_| data.subject != Subject::NamedData);
            if let Some(name) = name {
                keys.entry(data.key.to_owned()).or_insert_with(|| name.to_owned());
            }
        })?;
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        keys.values().for_each(|name| *counts.entry(name).or_default() += 1);
        let several: BTreeSet<String> =
            counts.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name.to_owned()).collect();
        keys.retain(|_, name| !several.contains(name));
        Ok(keys)
    }
}
