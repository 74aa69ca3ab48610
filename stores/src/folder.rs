//! Model files in folders.

use crate::error::Result;
use crate::stores::is_ending;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Returns the size of a file, and the time of its last change in microseconds since 1970.
pub fn facts(metadata: &Metadata) -> (u64, Option<i64>) {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    (metadata.len(), modified.and_then(|time| i64::try_from(time.as_micros()).ok()))
}

/// The model files in a folder and below, sorted by the bytes of their paths, as a store lists them. The names in each open folder are in
/// memory. Links to folders are not followed.
pub struct FolderWalk {
    /// The remaining entries of each open folder, the last one first.
    left: Vec<Vec<Entry>>,
}

struct Entry {
    path: PathBuf,
    is_folder: bool,
}

impl FolderWalk {
    /// Starts at a folder, or at a file.
    pub fn new(root: &Path) -> Result<Self> {
        let is_folder = std::fs::metadata(root)?.is_dir();
        Ok(Self { left: vec![vec![Entry { path: root.to_owned(), is_folder }]] })
    }
}

impl Iterator for FolderWalk {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        loop {
            let Some(entry) = self.left.last_mut()?.pop() else {
                self.left.pop();
                continue;
            };
            if !entry.is_folder {
                return Some(entry.path);
            }
            match entries(&entry.path) {
                Ok(entries) => self.left.push(entries),
                // A folder that cannot be read is listed itself, and fails when it is opened.
                Err(_) => return Some(entry.path),
            }
        }
    }
}

/// Returns the entries of a folder, sorted with the first path last, folders as if their names ended in a slash.
fn entries(folder: &Path) -> std::io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        let path = entry.path();
        if is_folder || path.extension().and_then(|ending| ending.to_str()).is_some_and(is_ending) {
            entries.push(Entry { path, is_folder });
        }
    }
    let key = |entry: &Entry| {
        let mut name = entry.path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        name.extend(entry.is_folder.then_some(b'/'));
        name
    };
    entries.sort_by_cached_key(key);
    entries.reverse();
    Ok(entries)
}
