//! The list as a table.

use super::{Listing, Row, User};
use crate::failure::Failure;
use crate::text;
use executorch_format::TensorShape;
use executorch_format::inspect::{BlobUser, DelegateConstantUser};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Prints one line for each user of a blob, in columns; the file's name before them where there are several.
pub fn table(path: Option<&Path>, listing: &Listing<'_>) -> Result<(), Failure> {
    let rows: Vec<[String; 6]> = listing.blobs.iter().map(row).collect();
    let head = ["KIND", "OFFSET", "SIZE", "WHERE", "WHAT", "SHA-256"].map(str::to_owned);
    let width = |at: usize| text::column(rows.iter().chain([&head]).filter_map(|row| row.get(at)));
    let [kind_width, offset_width, size_width, location_width, what_width] = [0, 1, 2, 3, 4].map(width);
    let hashed = listing.blobs.iter().any(|blob| blob.sha256.is_some());
    let mut out = BufWriter::new(io::stdout().lock());
    if let Some(path) = path {
        writeln!(out, "{}:", text::path(path))?;
    }
    for row in std::iter::once(&head).chain(&rows) {
        let [kind, offset, size, location, what, hash] = row;
        let cells = [
            text::left(kind, kind_width),
            text::right(offset, offset_width),
            text::right(size, size_width),
            text::left(location, location_width),
            text::left(what, what_width),
        ];
        let mut line = cells.join("  ");
        if hashed {
            line.push_str("  ");
            line.push_str(hash);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    let (blobs, users) = (text::count(listing.count, "blob"), text::count(rows.len(), "user"));
    let size = text::size(listing.file_size);
    writeln!(out, "{blobs} with {users} in a file of {size} ({} bytes)", listing.file_size)?;
    Ok(out.flush()?)
}

fn row(row: &Row<'_>) -> [String; 6] {
    let user = match &row.user {
        User::Blob(user) => user,
        User::Inside(user) => return cells(row, inside_payload(user)),
    };
    let location_and_what = match user {
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
        BlobUser::Bundle { version } => ("bundle".to_owned(), format!("version {version}")),
        BlobUser::TestCase { method, test_case, index, shape } => {
            (inside(method, "test case", *test_case), format!("value {index} {shape}"))
        }
        _ => Default::default(),
    };
    cells(row, location_and_what)
}

fn cells(row: &Row<'_>, (location, what): (String, String)) -> [String; 6] {
    let offset = row.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
    let hash = row.sha256.clone().unwrap_or_else(|| "-".to_owned());
    [row.kind.to_string(), offset, text::size(row.size), location, what, hash]
}

/// A constant of a payload: whose delegate it is, and what it is there.
fn inside_payload(user: &DelegateConstantUser<'_>) -> (String, String) {
    let location = user.method.zip(user.delegate).map(|(method, delegate)| inside(method, "delegate", delegate));
    let value = user.value.map_or_else(|| "unused".to_owned(), |value| format!("value {value}"));
    let dims: Vec<String> = user.dims.iter().take(TensorShape::MOST_SHOWN).map(u32::to_string).collect();
    let more = if user.dims.len() > dims.len() { ", …" } else { "" };
    let datatype = user.datatype.to_string();
    let scales = if user.scales { "scales " } else { "" };
    let shape = match user.value {
        Some(_) => format!(" {scales}{}[{}{more}]", datatype.trim_start_matches("xnn_datatype_"), dims.join(", ")),
        None => String::new(),
    };
    let key = user.key.as_ref().map(|key| format!(" {}", text::name(key, 20))).unwrap_or_default();
    (location.unwrap_or_default(), format!("constant {}, {value}{shape}{key}", user.constant))
}

fn inside(method: &str, what: &str, index: usize) -> String {
    format!("{} {what} {index}", text::name(method, 30))
}
