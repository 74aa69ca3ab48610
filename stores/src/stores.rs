//! Stores, addressed by URLs, and their files.

use crate::access::{Access, Connection};
use crate::error::{Error, Result};
use crate::file::{Extent, File};
use crate::folder;
use crate::listing::{self, Entry};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::{ObjectStore, path::Path};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use url::{Position, Url};

/// The extensions of model files.
const ENDINGS: [&str; 6] = ["pte", "ptd", "bpte", "bp", "etdp", "etdump"];

/// Returns `true` if a name is a URL rather than a path.
pub fn is_url(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// The stores in use, with their connections.
#[derive(Default)]
pub struct Stores {
    access: Access,
    open: Mutex<HashMap<String, Connection>>,
}

/// The location of a file.
#[derive(Clone, Debug)]
pub struct Location {
    pub(crate) spot: Spot,
    /// The URL or path.
    pub name: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Spot {
    Store {
        store: Arc<dyn ObjectStore>,
        path: Path,
    },
    Folder(PathBuf),
    /// A file that was listed, but cannot be opened by its name.
    Unnamed(Error),
}

/// A file in a listing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedFile {
    /// The location.
    pub place: Location,
    /// The size in bytes.
    pub size: u64,
    /// The store's identifier of this content.
    pub etag: Option<String>,
    /// The time of the last change, in microseconds since 1970.
    pub modified: Option<i64>,
}

impl Stores {
    /// Creates a set of stores with these options for connections.
    pub fn new(access: Access) -> Self {
        Self { access, open: Mutex::default() }
    }

    /// Returns the size of the first request for a file, in bytes.
    pub(crate) fn first_read(&self) -> u64 {
        self.access.first_read
    }

    /// Returns the location of a URL or a path. Sends no request.
    pub fn place(&self, name: &str) -> Result<Location> {
        if !is_url(name) {
            return Ok(Location { spot: Spot::Folder(name.into()), name: name.to_owned() });
        }
        let url = parse(name)?;
        if let ("file", Ok(path)) = (url.scheme(), url.to_file_path()) {
            return Ok(Location { spot: Spot::Folder(path), name: name.to_owned() });
        }
        let path = Path::from_url_path(url.path()).map_err(|error| match error {
            object_store::path::Error::NonUnicode { .. } => Error::Url(error.to_string()),
            _ => Error::Url(BAD_KEY.into()),
        })?;
        Ok(Location { spot: Spot::Store { store: self.connection(&url)?.store, path }, name: name.to_owned() })
    }

    fn connection(&self, url: &Url) -> Result<Connection> {
        let key = format!("{}?{}", &url[..Position::BeforePath], url.query().unwrap_or_default());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.get(&key) {
            return Ok(store.clone());
        }
        let store = self.access.store(url)?;
        open.insert(key, store.clone());
        Ok(store)
    }

    /// Opens a file, and reads the requested extent of it.
    pub async fn open(&self, name: &str, extent: Extent) -> Result<File> {
        File::open(self.place(name)?, extent, self.access.first_read).await
    }

    /// Lists the model files below a prefix, or in a folder and its subfolders. They are sorted by name if the store lists them so, as S3,
    /// Google and Azure do; files in folders are sorted. A file whose name or key is invalid is listed, and fails when it is opened.
    ///
    /// Fails if the listing exceeds [`Access::max_keys`] or [`Access::list_timeout`], or repeats a continuation token.
    pub fn list(&self, prefix: &str) -> Result<BoxStream<'static, Result<ListedFile>>> {
        let place = self.place(prefix)?;
        let path = match place.spot {
            Spot::Folder(root) => {
                let found = folder::FolderWalk::new(&root)?.map(|path| {
                    // An error is reported when the file is opened.
                    let (size, modified) = std::fs::metadata(&path).map_or((0, None), |facts| folder::facts(&facts));
                    let place = match path.to_str() {
                        Some(name) => Location { name: name.to_owned(), spot: Spot::Folder(path) },
                        None => {
                            let error = Error::Url("its path is not UTF-8: rename it".into());
                            Location { name: escaped(path.as_os_str()), spot: Spot::Unnamed(error) }
                        }
                    };
                    Ok(ListedFile { place, size, etag: None, modified })
                });
                return Ok(stream::iter(found).boxed());
            }
            Spot::Store { path, .. } => path,
            Spot::Unnamed(error) => return Err(error),
        };
        let url = parse(prefix)?;
        let base = format!("{}/", &url[..Position::BeforePath]);
        let Connection { store, pages } = self.connection(&url)?;
        let entries = match pages {
            Some(pages) => listing::pages(pages, &path, &self.access),
            None => listing::at_once(Arc::clone(&store), path, &self.access),
        };
        let listed = entries.try_filter_map(move |entry| {
            let found = match entry {
                Entry::Object(meta) => meta.location.extension().is_some_and(is_ending).then(|| ListedFile {
                    place: Location {
                        name: format!("{base}{}", encoded(meta.location.as_ref())),
                        spot: Spot::Store { store: Arc::clone(&store), path: meta.location },
                    },
                    size: meta.size,
                    etag: meta.e_tag,
                    modified: Some(meta.last_modified.timestamp_micros()),
                }),
                Entry::BadKey(key) => {
                    let is_model = key.rsplit_once('.').is_some_and(|(_, ending)| is_ending(ending));
                    let spot = Spot::Unnamed(Error::Url(BAD_KEY.into()));
                    let place = Location { name: format!("{base}{}", encoded(&key)), spot };
                    is_model.then_some(ListedFile { place, size: 0, etag: None, modified: None })
                }
            };
            std::future::ready(Ok(found))
        });
        Ok(listed.boxed())
    }
}

/// Returns `true` if a file with this extension is a model. Case does not matter.
pub(crate) fn is_ending(ending: &str) -> bool {
    ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// The reason why a key is not the path of a file.
const BAD_KEY: &str = "a key must not have empty parts, the parts . and .., or control characters";

fn parse(name: &str) -> Result<Url> {
    // URLs leave out or resolve these parts, and would then name another file.
    let path = name.split_once("://").map_or("", |(_, path)| path).to_ascii_lowercase().replace("%2e", ".");
    let is_http = name.starts_with("http://") || name.starts_with("https://");
    let has_dots = !is_http && path.split('/').any(|part| matches!(part, "." | ".."));
    if has_dots || name.contains(|c: char| c.is_ascii_control()) {
        return Err(Error::Url(BAD_KEY.into()));
    }
    let url = Url::parse(name).map_err(|error| Error::Url(format!("it is not a valid URL: {error}")))?;
    match url.scheme() {
        _ if url.fragment().is_some() => Err(Error::Url("the URL of a file must not have a fragment (#)".into())),
        "http" | "https" => Ok(url),
        _ if url.query().is_some() => Err(Error::Url("a URL of this kind must not have a query (?)".into())),
        _ => Ok(url),
    }
}

/// Returns a path with `\xFF` for each byte that is not valid UTF-8.
fn escaped(path: &OsStr) -> String {
    let mut text = String::new();
    for part in path.as_encoded_bytes().utf8_chunks() {
        text.push_str(part.valid());
        part.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02X}")));
    }
    text
}

/// Encodes a key as a part of a URL: escapes only the characters that would end the path.
fn encoded(key: &str) -> String {
    let mut text = String::with_capacity(key.len());
    for c in key.chars() {
        match c {
            '%' | '?' | '#' => text.push_str(&format!("%{:02X}", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}
