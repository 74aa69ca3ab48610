//! The programs among a command's files, and the `.ptd` files with their external data.

use crate::context::Context;
use crate::failure::{Failure, each, each_at_once};
use crate::files::{FileArguments, FilePath};
use crate::open::Input;
use crate::remote::{self, Need};
use crate::{edit, json};
use executorch_format::{Analysis, FileKind, Model, PROBE_SIZE, Ptd, Pte, probe};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The `.ptd` files, open.
pub struct DataFiles(Vec<(FilePath, Input)>);

/// `.ptd` files with external data, as an option.
#[derive(clap::Args)]
pub struct DataArguments {
    /// A .ptd file with external data of the programs, of which nothing else is printed
    #[arg(long, value_name = "X.ptd")]
    data: Vec<PathBuf>,
}

impl DataArguments {
    /// Opens these files, and the `.ptd` files among `files`. Fails if one of these cannot be read or is no `.ptd`; errors of the others are
    /// reported when they are processed themselves.
    pub fn open(&self, context: &Context, files: &FileArguments) -> Result<DataFiles, Failure> {
        let mut opened = DataFiles::open(context, files.iter(context).flatten());
        for path in &self.data {
            let input = Input::open(context, path)?;
            edit::data(&input)?;
            opened.0.push((FilePath { path: path.clone(), found: false }, input));
        }
        Ok(opened)
    }
}

/// A `.ptd` file that was read.
pub struct Data<'i> {
    /// The folder of a file that was found there: only programs in this folder use it. `None`: all programs use it.
    pub folder: Option<PathBuf>,
    pub ptd: Ptd<'i>,
}

impl<'i> Data<'i> {
    /// Returns the data of a file. Files that cannot be parsed are left out: their errors are reported when they are processed themselves.
    pub fn of(file: &FilePath, input: &'i Input) -> Option<Self> {
        probe(input.bytes()).ok().filter(|probe| probe.kind == FileKind::Ptd)?;
        Some(Self { folder: file.found.then(|| folder(&file.path)), ptd: Ptd::parse(input.bytes()).ok()? })
    }
}

impl DataFiles {
    /// Opens the `.ptd` files. Errors are reported when a file is processed itself. Pipes are left out, since they can be read
    /// only once.
    pub fn open(context: &Context, files: impl Iterator<Item = FilePath>) -> Self {
        let are_data = files.filter(|file| is_data(&file.path));
        let open = |file: FilePath| Input::open(context, &file.path).ok().map(|input| (file, input));
        Self(are_data.filter_map(open).collect())
    }

    /// Parses the files.
    pub fn parse(&self) -> Vec<Data<'_>> {
        self.0.iter().filter_map(|(file, input)| Data::of(file, input)).collect()
    }
}

/// Returns `true` if a file has data for programs, judged by its first bytes, or by its name if it is in a store, to avoid a second request.
pub fn is_data(path: &Path) -> bool {
    if remote::url(path).is_some() && !path.exists() {
        return path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ptd"));
    }
    let mut start = Vec::new();
    let read = |file: File| file.take(PROBE_SIZE as u64).read_to_end(&mut start);
    path.is_file()
        && File::open(path).and_then(read).is_ok()
        && probe(&start).is_ok_and(|probe| probe.kind == FileKind::Ptd)
}

/// Returns the files that a program uses.
pub fn serving<'t, 'i>(data: &'t [Data<'i>], program: &Path) -> Vec<&'t Ptd<'i>> {
    let serves = |data: &&Data<'_>| data.folder.as_ref().is_none_or(|served| *served == folder(program));
    data.iter().filter(serves).map(|data| &data.ptd).collect()
}

/// Adds the `.ptd` files that a program uses to its analysis. If there are none, its external data is not said to be missing.
pub fn with_data<'t>(analysis: Analysis<'t>, data: &[&'t Ptd<'t>]) -> Analysis<'t> {
    if data.is_empty() { analysis } else { analysis.with_data(data.iter().copied()) }
}

/// Calls a function for the program of each file, or for the one inside a bundle. A `.ptd` file is only used by programs, so it is skipped.
/// Any other file without a program is skipped if it was found in a folder. If there is no program at all, the first such file fails.
pub fn each_program(
    context: &Context,
    files: &FileArguments,
    need: Need,
    mut documents: Option<&mut json::Files>,
    mut work: impl FnMut(&Path, &Pte<'_>, Option<&mut json::Files>) -> Result<(), Failure>,
) -> Result<Result<(), Failure>, Failure> {
    let mut found = FileKinds::default();
    let outcome = each(context, files, documents.as_deref_mut(), |path, documents| {
        let input = Input::open_for(context, path, need)?;
        let model = input.parse()?;
        let outcome = of_program(path, &model, files, |pte| work(path, pte, documents))?;
        found.add(outcome, path, model.kind()).unwrap_or(Ok(()))
    })?;
    found.end(outcome, documents)
}

/// Does the same in two steps: calls `work` for several programs at once, and `done` with its results, in the order of the files.
pub fn each_program_at_once<R: Send>(
    context: &Context,
    files: &FileArguments,
    need: Need,
    mut documents: Option<&mut json::Files>,
    work: impl Fn(&Path, &Pte<'_>) -> R + Sync,
    mut done: impl FnMut(&Path, R, Option<&mut json::Files>) -> Result<(), Failure>,
) -> Result<Result<(), Failure>, Failure> {
    let mut found = FileKinds::default();
    let of_file = |path: &Path| {
        let input = Input::open_for(context, path, need)?;
        let model = input.parse()?;
        Ok((of_program(path, &model, files, |pte| work(path, pte))?, model.kind()))
    };
    let outcome =
        each_at_once(context, files, documents.as_deref_mut(), of_file, |path, (result, kind), documents| {
            found.add(result, path, kind).map_or(Ok(()), |result| done(path, result, documents))
        })?;
    found.end(outcome, documents)
}

/// The kinds of files so far.
#[derive(Default)]
struct FileKinds {
    programs: usize,
    /// The first file without a program.
    other: Option<(PathBuf, FileKind)>,
}

impl FileKinds {
    /// Adds a file. Only a file with a program has a result.
    fn add<R>(&mut self, result: Option<R>, path: &Path, kind: FileKind) -> Option<R> {
        match result {
            Some(_) => self.programs += 1,
            None => {
                self.other.get_or_insert_with(|| (path.to_owned(), kind));
            }
        }
        result
    }

    /// Fails if there was no program.
    fn end(
        self,
        outcome: Result<(), Failure>,
        documents: Option<&mut json::Files>,
    ) -> Result<Result<(), Failure>, Failure> {
        match self.other {
            Some((path, kind)) if self.programs == 0 && outcome.is_ok() => {
                let failure = Failure::no_program(&path, kind);
                failure.report();
                documents.map_or(Ok(()), |documents| documents.add_failed(&path, &failure))?;
                Ok(Err(Failure::Reported(failure.code())))
            }
            _ => Ok(outcome),
        }
    }
}

/// Returns the folder of a file.
pub fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

/// Calls a function for a file's program, or for the one inside a bundle. Returns `None` for a `.ptd` file, and for any file without a program
/// that was found in a folder.
fn of_program<R>(
    path: &Path,
    model: &Model<'_>,
    files: &FileArguments,
    work: impl FnOnce(&Pte<'_>) -> R,
) -> Result<Option<R>, Failure> {
    match model {
        Model::Pte(pte) => Ok(Some(work(pte))),
        Model::Bpte(bpte) => Ok(Some(work(&bpte.program().map_err(|error| Failure::bad(path, &error))?))),
        Model::Ptd(_) => Ok(None),
        _ if files.recursive => Ok(None),
        other => Err(Failure::no_program(path, other.kind())),
    }
}
