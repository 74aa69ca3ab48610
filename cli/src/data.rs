//! The programs among a command's files, and the `.ptd` files that serve them.

use crate::failure::Failure;
use crate::files::{FileArguments, FilePath};
use crate::open::Input;
use executorch_format::{FileKind, Model, Ptd, Pte, probe};
use std::path::{Path, PathBuf};

/// The `.ptd` files, open.
pub struct DataFiles(Vec<(FilePath, Input)>);

/// A `.ptd` file that was read.
pub struct Data<'i> {
    /// The folder whose programs it serves: that in which it was found. `None`: all.
    pub folder: Option<PathBuf>,
    pub ptd: Ptd<'i>,
}

impl<'i> Data<'i> {
    /// What is wrong with a file, or with what is in it, is told when its turn comes.
    pub fn of(file: &FilePath, input: &'i Input) -> Option<Self> {
        probe(input.bytes()).ok().filter(|probe| probe.kind == FileKind::Ptd)?;
        Some(Self { folder: file.found.then(|| folder(&file.path)), ptd: Ptd::parse(input.bytes()).ok()? })
    }
}

impl DataFiles {
    /// Opens those that can be opened: what is wrong with others is told when its turn comes. A pipe is left alone, since it can be read
    /// only once.
    pub fn open(files: &[FilePath]) -> Self {
        let mut data = Vec::new();
        for file in files.iter().filter(|file| file.path.is_file()) {
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

/// Those that serve a program.
pub fn serving<'t, 'i>(data: &'t [Data<'i>], program: &Path) -> Vec<&'t Ptd<'i>> {
    let serves = |data: &&Data<'_>| data.folder.as_ref().is_none_or(|served| *served == folder(program));
    data.iter().filter(serves).map(|data| &data.ptd).collect()
}

/// The folder of a file.
pub fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

/// Does something with a file's program, or with the one inside a bundle; `None` for what only serves others: a `.ptd` file, or any file that was
/// found in a folder.
pub fn of_program<R>(
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
