//! The list as a table.

use super::{BlobRow, Listing, User};
use crate::context::{Context, LONG_NAME, NAME};
use crate::failure::Failure;
use crate::names;
use crate::table::{Column, Table};
use crate::text;
use executorch_format::TensorShape;
use executorch_format::inspect::{BlobUser, DelegateConstantUser};
use std::io::Write;
use std::path::Path;

/// At most this many blobs are shown on a terminal: more than of other tables, since they are in the order of the file.
const MAX_SHOWN: usize = 50;

/// Prints one line for each blob with all its users, values grouped by method, after the file's name if there are several files. `several`
/// is `true` if there are several methods.
pub fn table(
    context: &Context,
    path: Option<&Path>,
    listing: &Listing<'_>,
    several: bool,
    top: Option<usize>,
) -> Result<(), Failure> {
    let most = context.rows(top, MAX_SHOWN);
    let mut out = context.out();
    if let Some(path) = path {
        writeln!(out, "{}:", text::path(path))?;
    }
    let size = |blob: &BlobRow<'_>| blob.size;
    if listing.blobs.iter().take(most.count).any(|blob| blob.sha256.is_some()) {
        let mut table = Table::new([KIND, OFFSET, SIZE, ("SHA-256", Column::Left), USERS, WHAT]);
        table.sized_rows(&listing.blobs, most, size, |blob| {
            let [kind, offset, size, users, what] = cells(context, blob, several);
            [kind, offset, size, blob.sha256.clone().unwrap_or_else(|| "-".to_owned()), users, what]
        });
        table.write(&mut out)?;
    } else {
        let mut table = Table::new([KIND, OFFSET, SIZE, USERS, WHAT]);
        table.sized_rows(&listing.blobs, most, size, |blob| cells(context, blob, several));
        table.write(&mut out)?;
    }
    let users = listing.blobs.iter().map(|blob| blob.users.len()).sum();
    let (blobs, users) = (text::count(listing.blobs.len(), "blob"), text::count(users, "user"));
    let size = text::size(listing.file_size);
    writeln!(out, "{blobs} with {users} in a file of {size} ({} bytes)", listing.file_size)?;
    Ok(out.flush()?)
}

const KIND: (&str, Column) = ("KIND", Column::Left);
const OFFSET: (&str, Column) = ("OFFSET", Column::Right);
const SIZE: (&str, Column) = ("SIZE", Column::Right);
const USERS: (&str, Column) = ("USERS", Column::Left);
const WHAT: (&str, Column) = ("WHAT", Column::Left);

fn cells(context: &Context, blob: &BlobRow<'_>, several: bool) -> [String; 5] {
    let offset = blob.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
    let mut whats: Vec<String> = Vec::new();
    for what in blob.users.iter().map(|user| what(context, user)) {
        if !whats.contains(&what) {
            whats.push(what);
        }
        // Each of many users can have a different description.
        if whats.len() == MAX_KINDS {
            break;
        }
    }
    [
        blob.kind.to_string(),
        offset,
        blob.size.map_or_else(|| "not known".to_owned(), text::size),
        users(context, blob, several),
        whats.join(", "),
    ]
}

/// At most this many different descriptions of a blob are shown.
const MAX_KINDS: usize = 8;

/// Formats the users of a blob. Adjacent values of a method form a range: `%3–%12, %20`.
fn users(context: &Context, blob: &BlobRow<'_>, several: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut run: Option<(&str, usize, usize)> = None;
    let end = |run: &mut Option<(&str, usize, usize)>, parts: &mut Vec<String>| {
        if let Some((method, first, last)) = run.take() {
            let method = if several { context.name(method, 30) } else { String::new() };
            let first_name = text::value(&method, first, several);
            parts.push(if first == last { first_name } else { format!("{first_name}–%{last}") });
        }
    };
    for user in &blob.users {
        let (place, value) = place(context, user, several);
        match (value, &mut run) {
            (Some((method, value)), Some((same, _, last))) if *same == method && *last + 1 == value => *last = value,
            (Some((method, value)), _) => {
                end(&mut run, &mut parts);
                run = Some((method, value, value));
            }
            (None, _) => {
                end(&mut run, &mut parts);
                if parts.last() != Some(&place) {
                    parts.push(place);
                }
            }
        }
    }
    end(&mut run, &mut parts);
    parts.join(", ")
}

/// Returns the name of a user of a blob or, if it is a value, its method and index.
fn place<'t>(context: &Context, user: &User<'t>, several: bool) -> (String, Option<(&'t str, usize)>) {
    let name = match user {
        User::Blob(BlobUser::Tensor { method, value, .. } | BlobUser::External { method, value, .. }) => {
            return (String::new(), Some((method, *value)));
        }
        User::Blob(BlobUser::Segment { index }) => format!("segment {index}"),
        User::Blob(BlobUser::Delegate { method, index, .. }) => inside(context, method, "delegate", *index, several),
        User::Blob(BlobUser::Key { segment_index, .. }) => format!("segment {segment_index}"),
        User::Blob(BlobUser::Bundle { .. }) => "bundle".to_owned(),
        User::Blob(BlobUser::TestCase { method, test_case, .. }) => {
            inside(context, method, "test case", *test_case, several)
        }
        User::Inside(user) => match (user.method, user.delegate) {
            (Some(method), Some(delegate)) => inside(context, method, "delegate", delegate, several),
            _ => String::new(),
        },
        User::Blob(_) => String::new(),
    };
    (name, None)
}

/// Describes the role of a blob for a user.
fn what(context: &Context, user: &User<'_>) -> String {
    let user = match user {
        User::Blob(user) => user,
        User::Inside(user) => return inside_payload(context, user),
    };
    match user {
        BlobUser::Tensor { name: Some(name), shape, .. } => format!("{} {shape}", context.name(name, LONG_NAME)),
        BlobUser::Tensor { shape, .. } => shape.to_string(),
        BlobUser::Delegate { id, location, .. } => format!("{} ({location})", context.name(id, NAME)),
        BlobUser::Key { key, shape, name, .. } => {
            let shape = shape.map(|shape| format!(" {shape}")).unwrap_or_default();
            names::of_key(context, name.as_deref(), key, LONG_NAME) + &shape
        }
        BlobUser::External { key, shape, .. } => format!("{} {shape}", context.name(key, LONG_NAME)),
        BlobUser::Bundle { version } => format!("version {version}"),
        BlobUser::TestCase { index, shape, .. } => format!("value {index} {shape}"),
        _ => String::new(),
    }
}

/// Describes the role of a constant in its payload.
fn inside_payload(context: &Context, user: &DelegateConstantUser<'_>) -> String {
    let value = match (&user.name, user.value) {
        (Some(name), _) => context.name(name, LONG_NAME),
        (None, Some(value)) => format!("value {value}"),
        (None, None) => "unused".to_owned(),
    };
    let dims: Vec<String> = user.sizes.iter().take(TensorShape::MAX_SHOWN).map(u32::to_string).collect();
    let more = if user.sizes.len() > dims.len() { ", …" } else { "" };
    let scales = if user.scales { "scales " } else { "" };
    let type_name = match (user.scalar_type, user.datatype) {
        (Some(scalar_type), _) => Some(scalar_type.short_name().map_or_else(|| scalar_type.to_string(), str::to_owned)),
        (None, Some(datatype)) if user.value.is_some() => Some(datatype.short_name()),
        _ => None,
    };
    let shape = type_name.map(|name| format!(" {scales}{name}[{}{more}]", dims.join(", "))).unwrap_or_default();
    let list = |strides: &Vec<u64>| {
        let strides: Vec<String> = strides.iter().take(TensorShape::MAX_SHOWN).map(u64::to_string).collect();
        format!(" strides {}", strides.join(","))
    };
    let strides = user.strides.as_ref().map(list).unwrap_or_default();
    let key = user.key.as_ref().map(|key| format!(" {}", context.name(key, 20))).unwrap_or_default();
    let kind = match (user.scalar_type, user.datatype) {
        (Some(_), _) => "tensor",
        (None, Some(_)) => "constant",
        (None, None) => "block",
    };
    format!("{kind} {}, {value}{shape}{strides}{key}", user.constant)
}

fn inside(context: &Context, method: &str, what: &str, index: usize, several: bool) -> String {
    if several { format!("{} {what} {index}", context.name(method, 30)) } else { format!("{what} {index}") }
}
