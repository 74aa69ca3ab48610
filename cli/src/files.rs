//! The files that a command works on.

use crate::context::Context;
use crate::failure::Failure;
use crate::{parallel, remote};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The extensions of files that are taken from folders, in upper or lower case.
const ENDINGS: [&str; 6] = ["pte", "ptd", "bpte", "bp", "etdp", "etdump"];

/// A help text about files, which mentions URLs if this build supports them.
macro_rules! files {
    ($before:literal $(, $after:literal)?) => {
        if cfg!(feature = "remote") {
            concat!($before, ", by path or URL; - is standard input" $(, $after)?)
        } else {
            concat!($before, "; - is standard input" $(, $after)?, " (URLs need a build with the feature `remote`)")
        }
    };
}

/// The help of FILE for commands that take files of any kind.
const ANY: &str = files!(".pte, .ptd, .bpte and .etdp (.etdump) files");

/// The help of FILE for commands that take programs.
pub const PROGRAMS: &str = files!(".pte and .bpte files", "; .ptd files named with them hold their external data");

/// The help of FILE for commands that take programs and data.
pub const WITH_BLOBS: &str = files!(".pte and .ptd files, and the programs inside .bpte files");

/// The help of FILE for commands that take bundles.
pub const BUNDLES: &str = files!(".bpte files");

/// The help of FILE for commands that take traces.
pub const TRACES: &str = files!(".etdp (.etdump) files");

/// The files of a command that takes several. They may be of any kind unless the command has its own help for `files`.
#[derive(clap::Args)]
pub struct FileArguments {
    #[arg(value_name = "FILE", required = true, help = ANY)]
    pub files: Vec<PathBuf>,
    /// Take every such file in folders and the folders in them, or below a URL
    #[arg(short, long)]
    pub recursive: bool,
}

/// A file to work on.
#[derive(Clone)]
pub struct FilePath {
    /// The path.
    pub path: PathBuf,
    /// `true` if the file was found in a folder, rather than named.
    pub found: bool,
}

impl FileArguments {
    /// Returns the files in the order given. Files in a folder are sorted by name; files below a URL are in the order of the listing.
    pub fn iter(&self, context: &Context) -> impl Iterator<Item = Result<FilePath, Failure>> {
        iter(context, &self.files, self.recursive)
    }

    /// Returns the only file, for an option that takes one. Fails if there are several.
    pub fn single(&self, what: &str) -> Result<&Path, Failure> {
        match &self.files[..] {
            [only] if !self.recursive => Ok(only),
            _ => Err(Failure::Usage(format!("{what} takes one file"))),
        }
    }

    /// Returns `true` if there may be more than one file.
    pub fn are_several(&self) -> bool {
        self.recursive || self.files.len() > 1
    }
}

/// Returns the files in the order given. With `recursive`, includes those in folders, sorted by name, and below URLs. A folder or URL without
/// any is an error; iteration continues after it.
pub fn iter(context: &Context, paths: &[PathBuf], recursive: bool) -> impl Iterator<Item = Result<FilePath, Failure>> {
    let found = |path: Result<PathBuf, Failure>| path.map(|path| FilePath { path, found: true });
    paths.iter().flat_map(move |path| -> Box<dyn Iterator<Item = Result<FilePath, Failure>>> {
        if recursive && path.is_dir() {
            let mut files = Vec::new();
            find(path, &mut files);
            if files.is_empty() {
                let error = io::Error::other(format!("no model files found: expected {}", ENDINGS.join(", ")));
                return Box::new([Err(Failure::Unreadable { file: path.clone(), error })].into_iter());
            }
            files.sort();
            Box::new(files.into_iter().map(Ok).map(found))
        } else if let Some(prefix) = remote::url(path).filter(|_| recursive && !is_model(path)) {
            match context.stores.list(prefix) {
                Ok(files) => Box::new(files.map(found)),
                Err(failure) => Box::new([Err(failure)].into_iter()),
            }
        } else {
            Box::new([Ok(FilePath { path: path.clone(), found: false })].into_iter())
        }
    })
}

/// Returns files in batches to be processed at once. A folder or URL that cannot be listed comes after the files before it.
pub fn batches(
    mut files: impl Iterator<Item = Result<FilePath, Failure>>,
) -> impl Iterator<Item = (Vec<FilePath>, Option<(PathBuf, Failure)>)> {
    std::iter::from_fn(move || {
        let mut batch = Vec::new();
        loop {
            match files.next() {
                Some(Ok(file)) => batch.push(file),
                Some(Err(failure)) => {
                    let path = failure.file().map(Path::to_owned).unwrap_or_default();
                    return Some((batch, Some((path, failure))));
                }
                None => break,
            }
            // A single file needs no other threads, which start when their number is queried.
            if batch.len() > 1 && batch.len() >= parallel::batch() {
                break;
            }
        }
        (!batch.is_empty()).then_some((batch, None))
    })
}

/// Returns `true` if a path has an extension of model files.
pub fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// Adds every model file in a folder and below. Links to folders are not followed, so that no file is listed twice. A folder that cannot be
/// read is added itself, and fails when it is opened. The crate `walkdir` would save few of these lines.
fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            found.push(folder);
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if is_model(&path) {
                found.push(path);
            }
        }
    }
}
