//! Files in stores, by their URLs: with the feature `remote`.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// How much of a remote file a command needs. Local files are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The metadata, and payloads without their constants.
    Graphs,
    /// Also the scales of quantized constants, for rules.
    Scales,
    /// Everything.
    All,
}

/// The path as a URL, if it is one.
pub fn url(path: &Path) -> Option<&str> {
    let name = path.to_str()?;
    let (scheme, _) = name.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (scheme.len() > 1 && scheme.chars().all(is_scheme)).then_some(name)
}

#[cfg(feature = "remote")]
mod session {
    use super::{Failure, Need, Path, PathBuf};
    use executorch_format_stores::{Access, Error, Extent, File, Hashes, Stores, wait};
    use futures_util::TryStreamExt;
    use std::collections::HashMap;
    use std::ops::Range;
    use std::sync::{Mutex, OnceLock, PoisonError};

    /// A file in a store, with the parts that were read.
    pub type Distant = File;

    static STORES: OnceLock<Result<Stores, Error>> = OnceLock::new();

    /// The listed files of each prefix, since commands ask for them more than once.
    static LISTED: Mutex<Option<HashMap<String, Vec<PathBuf>>>> = Mutex::new(None);

    /// The stores of this process.
    pub fn stores() -> Result<&'static Stores, Error> {
        STORES.get_or_init(|| Access::from_env().map(Stores::new)).as_ref().map_err(Clone::clone)
    }

    /// Opens a file.
    pub fn open(url: &str, need: Need) -> Result<Distant, Failure> {
        let extent = match need {
            Need::Graphs => Extent::Graphs,
            Need::Scales => Extent::Scales,
            Need::All => Extent::All,
        };
        let opened = stores().and_then(|stores| wait(stores.open(url, extent)));
        opened.map_err(|error| failure(url, error))
    }

    /// The hashes of ranges of a file.
    pub fn hash(
        file: &Distant,
        path: &Path,
        ranges: &[Range<u64>],
        progress: impl FnMut(u64),
    ) -> Result<Hashes, Failure> {
        wait(file.hash(ranges, progress)).map_err(|error| failure(&path.to_string_lossy(), error))
    }

    /// The model files below a prefix, sorted by name. Fails if there are none.
    pub fn list(prefix: &str) -> Result<Vec<PathBuf>, Failure> {
        let mut listed = LISTED.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = listed.get_or_insert_default();
        if let Some(files) = listed.get(prefix) {
            return Ok(files.clone());
        }
        let found = stores().and_then(|stores| {
            let list = stores.list(prefix)?;
            wait(list.map_ok(|found| PathBuf::from(found.place.name)).try_collect::<Vec<_>>())
        });
        let mut files = found.map_err(|error| failure(prefix, error))?;
        if files.is_empty() {
            return Err(failure(prefix, Error::Missing));
        }
        files.sort();
        listed.insert(prefix.to_owned(), files.clone());
        Ok(files)
    }

    fn failure(url: &str, error: Error) -> Failure {
        Failure::Unreadable { file: url.into(), error: std::io::Error::other(error.to_string()) }
    }
}

#[cfg(not(feature = "remote"))]
mod session {
    use super::{Failure, Need, PathBuf};

    fn failure(url: &str) -> Failure {
        let error = std::io::Error::other("this pte reads no URLs: it was built without the feature `remote`");
        Failure::Unreadable { file: url.into(), error }
    }

    /// Nothing is opened.
    pub fn open(url: &str, _: Need) -> Result<std::convert::Infallible, Failure> {
        Err(failure(url))
    }

    /// Nothing is listed.
    pub fn list(prefix: &str) -> Result<Vec<PathBuf>, Failure> {
        Err(failure(prefix))
    }
}

pub use session::*;
