//! The list as a table.

use super::{Listing, Row};
use crate::failure::Failure;
use crate::text;
use executorch_format::inspect::BlobUser;
use std::io::{self, BufWriter, Write};

/// Prints one line for each blob.
pub fn table(listing: &Listing<'_>) -> Result<(), Failure> {
    let rows: Vec<[String; 6]> = listing.blobs.iter().map(row).collect();
    let head = ["KIND", "OFFSET", "SIZE", "WHERE", "WHAT", "SHA-256"].map(str::to_owned);
    let mut widths = head.each_ref().map(|cell| cell.len());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let hashed = listing.blobs.iter().any(|blob| blob.sha256.is_some());
    let mut out = BufWriter::new(io::stdout().lock());
    for row in std::iter::once(&head).chain(&rows) {
        let [kind, offset, size, location, what, hash] = row;
        let [kind_width, offset_width, size_width, location_width, what_width, _] = widths;
        let mut line = format!(
            "{kind:kind_width$}  {offset:>offset_width$}  {size:>size_width$}  {location:location_width$}  {what:what_width$}"
        );
        if hashed {
            line.push_str("  ");
            line.push_str(hash);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    let (blobs, size) = (text::count(rows.len(), "blob"), text::size(listing.file_size));
    writeln!(out, "{blobs} in a file of {size} ({} bytes)", listing.file_size)?;
    Ok(out.flush()?)
}

fn row(row: &Row<'_>) -> [String; 6] {
    let (location, what) = match &row.user {
        BlobUser::Segment { index } => (format!("segment {index}"), String::new()),
        BlobUser::Tensor { method, value, shape, .. } => (inside(method, "value", *value), shape.to_string()),
        BlobUser::Delegate { method, index, id, location } => {
            (inside(method, "delegate", *index), format!("{} ({location})", text::name(id, 40)))
        }
        BlobUser::Key { key, segment_index, shape } => {
            let shape = shape.map(|shape| shape.to_string()).unwrap_or_default();
            (format!("segment {segment_index}"), format!("{} {shape}", text::name(key, 60)))
        }
        BlobUser::External { method, value, key, shape } => {
            (inside(method, "value", *value), format!("{} {shape}", text::name(key, 60)))
        }
        _ => Default::default(),
    };
    let offset = row.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
    let hash = row.sha256.clone().unwrap_or_else(|| "-".to_owned());
    [row.kind.to_string(), offset, text::size(row.size), location, what, hash]
}

fn inside(method: &str, what: &str, index: usize) -> String {
    format!("{} {what} {index}", text::name(method, 30))
}
