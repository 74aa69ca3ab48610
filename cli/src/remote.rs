//! Files in stores, addressed by URLs: with the feature `remote`.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// The parts of a remote file that a command needs. Local files are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The metadata, and payloads without their constants.
    Graphs,
    /// Also the scales of quantized constants, for rules.
    Scales,
    /// Everything.
    All,
}

/// Returns the path as a URL, if it is one.
pub fn url(path: &Path) -> Option<&str> {
    let name = path.to_str()?;
    let (scheme, _) = name.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (scheme.len() > 1 && scheme.chars().all(is_scheme)).then_some(name)
}

#[cfg(feature = "remote")]
mod session {
    use super::{Failure, Need, Path, PathBuf};
    use executorch_format_stores::{Access, Error, Extent, File, Hashes, ListedFile, Stores, wait};
    use futures_util::StreamExt;
    use futures_util::stream::BoxStream;
    use std::ops::Range;
    use std::sync::OnceLock;
    use std::time::Duration;

    /// Options for files with URLs, of all commands. docs/stores.md describes them.
    #[derive(clap::Args, Clone, Debug, Default)]
    #[command(next_help_heading = "Options for URLs")]
    pub struct StoreArguments {
        /// Send no credentials: for public data [env: PTE_ANONYMOUS=1]
        #[arg(long, global = true, hide_short_help = true)]
        anonymous: bool,
        /// Without other credentials, query the metadata service of a cloud machine [env: PTE_METADATA_SERVICE=1]
        #[arg(long, global = true, hide_short_help = true)]
        metadata_service: bool,
        /// Follow redirects to other servers [env: PTE_ALLOW_REDIRECTS=1]
        #[arg(long, global = true, hide_short_help = true)]
        allow_redirects: bool,
        /// Maximum number of keys listed below a URL [env: PTE_MAX_KEYS] [default: 10000000]
        #[arg(long, value_name = "N", global = true, hide_short_help = true)]
        max_keys: Option<u64>,
        /// Maximum seconds for the requests of a listing [env: PTE_LIST_TIMEOUT] [default: 600]
        #[arg(long, value_name = "SECONDS", global = true, hide_short_help = true)]
        list_timeout: Option<u64>,
    }

    impl StoreArguments {
        /// Combines the options of the environment with these.
        fn access(&self) -> Result<Access, Error> {
            let mut access = Access::from_env()?;
            access.anonymous |= self.anonymous;
            access.metadata_service |= self.metadata_service;
            access.allow_redirects |= self.allow_redirects;
            access.max_keys = self.max_keys.unwrap_or(access.max_keys);
            access.list_timeout = self.list_timeout.map_or(access.list_timeout, Duration::from_secs);
            Ok(access)
        }
    }

    /// A file in a store, with the parts that were read.
    pub type Distant = File;

    /// The stores that a run of the command uses.
    #[derive(Default)]
    pub struct Session {
        arguments: StoreArguments,
        stores: OnceLock<Result<Stores, Error>>,
    }

    impl Session {
        /// Creates the session with these options. Nothing is opened before it is needed.
        pub fn new(arguments: StoreArguments) -> Self {
            Self { arguments, stores: OnceLock::new() }
        }

        /// Returns the stores.
        pub fn stores(&self) -> Result<&Stores, Error> {
            self.stores.get_or_init(|| self.arguments.access().map(Stores::new)).as_ref().map_err(Clone::clone)
        }

        /// Opens a file.
        pub fn open(&self, url: &str, need: Need) -> Result<Distant, Failure> {
            let extent = match need {
                Need::Graphs => Extent::Graphs,
                Need::Scales => Extent::Scales,
                Need::All => Extent::All,
            };
            let opened = self.stores().and_then(|stores| wait(stores.open(url, extent)));
            opened.map_err(|error| failure(url, error))
        }

        /// Lists the model files below a prefix in the store's order, which in most stores is by name.
        pub fn list(&self, prefix: &str) -> Result<Listing, Failure> {
            let files = self.stores().and_then(|stores| stores.list(prefix)).map_err(|error| failure(prefix, error))?;
            Ok(Listing { prefix: prefix.to_owned(), files, is_empty: true, is_done: false })
        }
    }

    /// Returns the hashes of ranges of a file.
    pub fn hash(
        file: &Distant,
        path: &Path,
        ranges: &[Range<u64>],
        progress: impl FnMut(u64),
    ) -> Result<Hashes, Failure> {
        wait(file.hash(ranges, progress)).map_err(|error| failure(&path.to_string_lossy(), error))
    }

    /// The model files below a prefix, while they are being listed. An error is the last item; an empty listing is an error.
    pub struct Listing {
        prefix: String,
        files: BoxStream<'static, Result<ListedFile, Error>>,
        is_empty: bool,
        is_done: bool,
    }

    impl Iterator for Listing {
        type Item = Result<PathBuf, Failure>;

        fn next(&mut self) -> Option<Self::Item> {
            if self.is_done {
                return None;
            }
            let next = match wait(async { Ok(self.files.next().await) }) {
                Ok(Some(next)) => next,
                Ok(None) if self.is_empty => Err(Error::Failed("no model files found".into())),
                Ok(None) => return None,
                Err(error) => Err(error),
            };
            self.is_empty = false;
            self.is_done = next.is_err();
            Some(next.map(|found| found.place.name.into()).map_err(|error| failure(&self.prefix, error)))
        }
    }

    fn failure(url: &str, error: Error) -> Failure {
        Failure::Unreadable { file: url.into(), error: std::io::Error::other(error.to_string()) }
    }
}

#[cfg(not(feature = "remote"))]
mod session {
    use super::{Failure, Need, PathBuf};

    /// Advice to install a command with the feature.
    pub const INSTALL: &str = "in a clone, `cargo install --path cli --features remote` builds one with it";

    fn failure(url: &str) -> Failure {
        let fault = "this pte cannot read URLs: it was built without the feature `remote`";
        Failure::Unreadable { file: url.into(), error: std::io::Error::other(format!("{fault} ({INSTALL})")) }
    }

    /// The stores that a run of the command uses: none.
    #[derive(Default)]
    pub struct Session;

    impl Session {
        /// Fails: this build has no stores.
        pub fn open(&self, url: &str, _: Need) -> Result<std::convert::Infallible, Failure> {
            Err(failure(url))
        }

        /// Fails: this build has no stores.
        pub fn list(&self, prefix: &str) -> Result<std::iter::Empty<Result<PathBuf, Failure>>, Failure> {
            Err(failure(prefix))
        }
    }
}

pub use session::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_letter_is_not_a_scheme() {
        for path in [
            "C:\\models\\m.pte",
            "c:/models/m.pte",
            "c://models/m.pte",
            "\\\\server\\share\\m.pte",
            "m.pte",
            "://m.pte",
        ] {
            assert_eq!(url(Path::new(path)), None, "{path}");
        }
        assert_eq!(url(Path::new("s3://models/m.pte")), Some("s3://models/m.pte"));
    }
}
