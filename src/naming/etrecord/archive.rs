//! The ZIP file of a record.

use super::bad;
use crate::error::{Error, Result};
use alloc::{format, vec};
use std::io::Cursor;
use zip::ZipArchive;

/// Checks that no entries of a ZIP file overlap, and that none has the name of another.
pub(super) fn check_entries(bytes: &[u8], archive: &mut ZipArchive<Cursor<&[u8]>>) -> Result<()> {
    let directory = archive.central_directory_start();
    // The directory is after all entries.
    let mut ranges = vec![(directory, directory)];
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| bad(format!("entry {index}: {error}")))?;
        ranges.push((entry.header_start(), entry.data_start().saturating_add(entry.compressed_size())));
    }
    ranges.sort();
    let overlap = |pair: &&[(u64, u64)]| matches!(pair, [(_, end), (next, _)] if end > next);
    if let Some([_, (start, _)]) = ranges.windows(2).find(overlap) {
        return Err(Error::other("ETRecord", to_usize(*start), "an entry of the ZIP file overlaps the one before it"));
    }
    let mut rest = bytes.get(to_usize(directory)..).unwrap_or_default();
    for _ in 0..archive.len() {
        rest = after_entry(rest).unwrap_or_default();
    }
    if rest.starts_with(ENTRY) {
        return Err(bad("two entries of the ZIP file have the same name".into()));
    }
    Ok(())
}

/// The start of an entry in the directory of a ZIP file.
const ENTRY: &[u8] = b"PK\x01\x02";

/// Returns the bytes after an entry of the directory of a ZIP file.
fn after_entry(directory: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(usize::from(u16::from_le_bytes(directory.get(at..at + 2)?.try_into().ok()?)));
    // After 46 bytes: the name, extra fields, and a comment.
    directory.get(46 + number(28)? + number(30)? + number(32)?..)
}

fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
