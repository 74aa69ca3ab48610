//! The programs among a command's files, and the `.ptd` files with their external data.

use crate::failure::{Failure, each};
use crate::files::{FileArguments, FilePath};
use crate::json;
use crate::open::Input;
use crate::remote::{self, Need};
use executorch_format::{FileKind, Model, Ptd, Pte, probe};
use std::path::{Path, PathBuf};

/// The `.ptd` files, open.
pub struct DataFiles(Vec<(FilePath, Input)>);

/// A `.ptd` file that was read.
pub struct Data<'i> {
    /// Only programs in this folder use the file, because it was found there. `None`: all programs use it.
    pub folder: Option<PathBuf>,
    pub ptd: Ptd<'i>,
}

impl<'i> Data<'i> {
    /// Files that cannot be parsed are left out: their errors are reported when they are processed themselves.
    pub fn of(file: &FilePath, input: &'i Input) -> Option<Self> {
        probe(input.bytes()).ok().filter(|probe| probe.kind == FileKind::Ptd)?;
        Some(Self { folder: file.found.then(|| folder(&file.path)), ptd: Ptd::parse(input.bytes()).ok()? })
    }
}

impl DataFiles {
    /// Opens the `.ptd` files. Errors are reported when a file is processed itself. Pipes are left out, since they can be read
    /// only once.
    pub fn open(files: &[FilePath]) -> Self {
        let mut data = Vec::new();
        // Only URLs that end in `.ptd`: otherwise each file would be requested twice.
        let is_distant =
            |path: &Path| path.extension().is_some_and(|ending| ending == "ptd") && remote::url(path).is_some();
        for file in files.iter().filter(|file| file.path.is_file() || is_distant(&file.path)) {
            let Ok(input) = Input::open(&file.path) else { continue };
            if probe(input.bytes()).is_ok_and(|probe| probe.kind == FileKind::Ptd) {
                data.push((file.clone(), input));
            }
        }
        Self(data)
    }

    /// Reads them.
    pub fn parse(&self) -> Vec<Data<'_>> {
        self.0.iter().filter_map(|(file, input)| Data::of(file, input)).collect()
    }
}

/// The files that a program uses.
pub fn serving<'t, 'i>(data: &'t [Data<'i>], program: &Path) -> Vec<&'t Ptd<'i>> {
    let serves = |data: &&Data<'_>| data.folder.as_ref().is_none_or(|served| *served == folder(program));
    data.iter().filter(serves).map(|data| &data.ptd).collect()
}

/// Calls a function for the program of each file, or for the one inside a bundle. A `.ptd` file is only used by programs. It is skipped, as
/// is any other file without a program that was found in a folder. If there is no program at all, the first such file fails.
pub fn each_program(
    files: &FileArguments,
    need: Need,
    mut documents: Option<&mut json::Files>,
    mut work: impl FnMut(&Path, &Pte<'_>, Option<&mut json::Files>) -> Result<(), Failure>,
) -> Result<Result<(), Failure>, Failure> {
    let (mut programs, mut other) = (0, None);
    let outcome = each(files, documents.as_deref_mut(), |path, documents| {
        let input = Input::open_for(path, need)?;
        let model = input.parse()?;
        match of_program(path, &model, files, |pte| work(path, pte, documents))? {
            Some(outcome) => {
                programs += 1;
                outcome
            }
            None => {
                other.get_or_insert_with(|| (path.to_owned(), model.kind()));
                Ok(())
            }
        }
    })?;
    match other {
        Some((path, kind)) if programs == 0 && outcome.is_ok() => {
            let failure = Failure::no_program(&path, kind);
            failure.report();
            documents.map_or(Ok(()), |documents| documents.add_failed(&path, &failure))?;
            Ok(Err(Failure::Reported(failure.code())))
        }
        _ => Ok(outcome),
    }
}

/// The folder of a file.
pub fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

/// Calls a function for a file's program, or for the one inside a bundle. `None` for a `.ptd` file, and for any file without a program that
/// was found in a folder.
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
