//! The list as a table.

use super::{Blob, Listing, What};
use crate::failure::Failure;
use crate::shape::Shape;
use crate::text;
use executorch_format::schema::program::TensorShapeDynamism;
use std::io::{self, BufWriter, Write};

/// Prints one line for each blob, in columns.
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
        let [kind, offset, size, place, what, hash] = row;
        let [kind_width, offset_width, size_width, place_width, what_width, _] = widths;
        let mut line = format!(
            "{kind:kind_width$}  {offset:>offset_width$}  {size:>size_width$}  {place:place_width$}  {what:what_width$}"
        );
        if hashed {
            line.push_str("  ");
            line.push_str(hash);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    let (count, size) = (rows.len(), text::size(listing.file_size));
    writeln!(out, "{count} blobs in a file of {size} ({} bytes)", listing.file_size)?;
    Ok(out.flush()?)
}

fn row(blob: &Blob<'_>) -> [String; 6] {
    let (kind, place, what) = match &blob.what {
        What::Segment { index } => ("segment", format!("segment {index}"), String::new()),
        What::Constant { method, value, shape, .. } => ("constant", inside(method, "value", *value), tensor(shape)),
        What::Mutable { method, value, shape, .. } => ("mutable", inside(method, "value", *value), tensor(shape)),
        What::Delegate { method, index, id, location } => {
            let what = format!("{} ({location})", text::name(id, 40));
            ("delegate", inside(method, "delegate", *index), what)
        }
        What::Named { key, segment_index, shape } => {
            let shape = shape.as_ref().map(tensor).unwrap_or_default();
            ("named", format!("segment {segment_index}"), format!("{} {shape}", text::name(key, 60)))
        }
        What::External { method, value, key, shape } => {
            let what = format!("{} {}", text::name(key, 60), tensor(shape));
            ("external", inside(method, "value", *value), what)
        }
    };
    let offset = blob.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
    let hash = blob.sha256.clone().unwrap_or_else(|| "-".to_owned());
    [kind.to_owned(), offset, text::size(blob.size), place, what, hash]
}

fn inside(method: &str, what: &str, index: usize) -> String {
    format!("{} {what} {index}", text::name(method, 30))
}

fn tensor(shape: &Shape<'_>) -> String {
    text::tensor(shape.scalar_type, shape.sizes, TensorShapeDynamism::STATIC)
}
