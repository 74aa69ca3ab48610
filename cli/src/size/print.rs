//! Sizes as text.

use super::{Arguments, By, FileSize, Offer};
use crate::context::{Context, MaxRows, NAME, Out};
use crate::failure::Failure;
use crate::table::{Column, Table, bar, percent};
use crate::text;
use crate::{modules, names};
use executorch_format::inspect::{BlobUser, Growth, MethodSize, SizeGroup, SizeKey, SizeKind, SizePart, SizeReport};
use std::io::{self, Write};
use std::path::Path;

/// At most this many lines are shown on a terminal, so that possible savings below them are on the same screen.
const MAX_SHOWN: usize = 20;

/// Prints the parts of a file with their sizes, after an empty line if `apart`.
pub(super) fn one(
    context: &Context,
    path: &Path,
    file: &FileSize<'_>,
    arguments: &Arguments,
    apart: bool,
) -> Result<(), Failure> {
    let size = file.size;
    if arguments.by == Some(By::Module) {
        modules::check(path, &file.modules)?;
    }
    let mut out = context.out();
    if apart {
        writeln!(out)?;
    }
    writeln!(out, "{}", title(path, file))?;
    match arguments.by.unwrap_or(By::Kind) {
        By::Kind => kinds(&mut out, size, arguments)?,
        By::Blob => blobs(&mut out, size, arguments)?,
        By::Method => methods(&mut out, size, arguments)?,
        By::Type => {
            let rows = size.scalar_types.iter().map(|of_type| (of_type.size, of_type.name.clone(), of_type.blobs));
            uses(&mut out, "TYPE", rows, size, arguments)?;
        }
        By::Operator => {
            let name = |name: &str| context.name(name, NAME);
            let rows = size.operators.iter().map(|operator| (operator.size, name(&operator.name), operator.blobs));
            uses(&mut out, "OPERATOR OR BACKEND", rows, size, arguments)?;
        }
        By::Module => modules::write(&mut out, &file.modules, "BYTES", shown(context, arguments), text::size)?,
    }
    offered(&mut out, file.savings.as_deref())?;
    Ok(out.flush()?)
}

/// Returns the first line: `model.pte: 1.7 KiB (1716 bytes)`.
fn title(path: &Path, file: &FileSize<'_>) -> String {
    let (path, bytes) = (text::path(path), file.size.file_size);
    let inside = if file.program_offset.is_some() { ", the program inside" } else { "" };
    format!("{path}{inside}: {} ({bytes} bytes)", text::size(bytes))
}

fn shown(context: &Context, arguments: &Arguments) -> MaxRows {
    context.rows(arguments.top, MAX_SHOWN)
}

/// Returns the name of a kind of parts.
fn kind(kind: SizeKind) -> String {
    match kind {
        SizeKind::Constant => "constants".to_owned(),
        SizeKind::InitialState => "initial states".to_owned(),
        SizeKind::Named => "named data".to_owned(),
        other => other.to_string(),
    }
}

fn key(context: &Context, key: &SizeKey<'_>) -> String {
    let mut name = kind(key.kind);
    if let Some(backend) = key.backend {
        name += &format!(" {}", context.name(backend, NAME));
    }
    match key.detail {
        Some(detail) => format!("{name}: {detail}"),
        None => name,
    }
}

fn kinds(out: &mut Out, size: &SizeReport<'_>, arguments: &Arguments) -> io::Result<()> {
    let context = out.context;
    let head = [("BYTES", Column::Right), ("SHARE", Column::Right), ("", Column::Bar)];
    let [bytes, share, bars] = head;
    let mut table = Table::new([bytes, share, bars, ("PIECES", Column::Right), ("WHAT", Column::Left)]);
    let row = |group: &SizeGroup<'_>| {
        let (part, whole) = (group.size, size.file_size);
        let pieces = group.pieces.to_string();
        [text::size(part), percent(part, whole), bar(part, whole), pieces, key(context, &group.key)]
    };
    table.sized_rows(&size.groups(), shown(context, arguments), |group| group.size, row);
    table.write(out)
}

fn blobs(out: &mut Out, size: &SizeReport<'_>, arguments: &Arguments) -> io::Result<()> {
    let context = out.context;
    let mut table = Table::new([
        ("BYTES", Column::Right),
        ("SHARE", Column::Right),
        ("OFFSET", Column::Right),
        ("KIND", Column::Left),
        ("WHAT", Column::Left),
    ]);
    let blobs = size.parts.iter().filter(|part| !part.users.is_empty());
    let row = |part: &SizePart<'_>| {
        let offset = part.offset.map(|offset| offset.to_string()).unwrap_or_default();
        let share = percent(part.size, size.file_size);
        [text::size(part.size), share, offset, part.kind.to_string(), user(context, part, size.methods.len() > 1)]
    };
    table.sized_rows(blobs, shown(context, arguments), |part| part.size, row);
    table.write_or(out, "no blobs")
}

/// Describes the first user of a blob, and counts the others.
fn user(context: &Context, part: &SizePart<'_>, several: bool) -> String {
    let mut text = match part.users.first() {
        Some(BlobUser::Tensor { method, value, shape, name, .. }) => {
            let name = name.as_ref().map(|name| format!(" {}", context.name(name, NAME))).unwrap_or_default();
            format!("{}{name} {shape}", text::value(&context.name(method, 20), *value, several))
        }
        Some(BlobUser::Delegate { method, index, id, .. }) => {
            let method = if several { format!("{} ", context.name(method, 20)) } else { String::new() };
            format!("{method}delegate {index} {}", context.name(id, 20))
        }
        Some(BlobUser::Key { key, shape, name, .. }) => {
            let shape = shape.map(|shape| format!(" {shape}")).unwrap_or_default();
            names::of_key(context, name.as_deref(), key, NAME) + &shape
        }
        _ => String::new(),
    };
    if part.users.len() > 1 {
        text += &format!(" and {} more", part.users.len() - 1);
    }
    text
}

fn methods(out: &mut Out, size: &SizeReport<'_>, arguments: &Arguments) -> io::Result<()> {
    let context = out.context;
    let mut table = Table::new([
        ("PROGRAM", Column::Right),
        ("DATA", Column::Right),
        ("SHARED", Column::Right),
        ("METHOD", Column::Left),
    ]);
    let bytes = |method: &MethodSize<'_>| method.program.saturating_add(method.data);
    table.sized_rows(&size.methods, shown(context, arguments), bytes, |method| {
        let name = context.name(method.name, NAME);
        [text::size(method.program), text::size(method.data), text::size(method.shared), name]
    });
    table.write_or(out, "no methods")
}

fn uses(
    out: &mut Out,
    name: &str,
    rows: impl Iterator<Item = (u64, String, usize)>,
    size: &SizeReport<'_>,
    arguments: &Arguments,
) -> io::Result<()> {
    let mut table = Table::new([
        ("BYTES", Column::Right),
        ("SHARE", Column::Right),
        ("", Column::Bar),
        ("BLOBS", Column::Right),
        (name, Column::Left),
    ]);
    let row = |(bytes, name, blobs): (u64, String, usize)| {
        let (share, bar) = (percent(bytes, size.file_size), bar(bytes, size.file_size));
        [text::size(bytes), share, bar, blobs.to_string(), name]
    };
    table.sized_rows(rows, shown(out.context, arguments), |(bytes, ..)| bytes, row);
    table.write_or(out, "no weights")
}

/// Prints possible savings, with a command for each.
fn offered(out: &mut Out, savings: Option<&[Offer]>) -> io::Result<()> {
    let Some(savings) = savings else {
        return writeln!(out, "\nSavings were not computed: they need the whole file. Download it first.");
    };
    if savings.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Table::new([("SAVES", Column::Right), ("WITHOUT", Column::Left), ("BY", Column::Left)]);
    for Offer { kind, size: bytes, command } in savings {
        table.row([text::size(*bytes), kind.to_string(), text::message(command)]);
    }
    table.write(out)
}

/// Prints the parts in which the second file is larger or smaller than the first.
pub(super) fn two(
    context: &Context,
    paths: [&Path; 2],
    files: &[FileSize<'_>; 2],
    growth: &[Growth<'_>],
    arguments: &Arguments,
) -> Result<(), Failure> {
    let mut out = context.out();
    for (name, (path, file)) in ["before", "after"].into_iter().zip(paths.into_iter().zip(files)) {
        writeln!(out, "{name:6}  {}", title(path, file))?;
    }
    let [before, after] = files.each_ref().map(|file| i128::from(file.size.file_size));
    writeln!(out, "growth  {} bytes", signed(after - before, |bytes| bytes.to_string()))?;
    let mut table = Table::new([
        ("GROWTH", Column::Right),
        ("BEFORE", Column::Right),
        ("AFTER", Column::Right),
        ("WHAT", Column::Left),
    ]);
    let changed = growth.iter().filter(|growth| growth.bytes() != 0);
    table.rows(changed, shown(context, arguments), |growth| {
        let bytes = signed(growth.bytes(), text::size);
        [bytes, text::size(growth.before), text::size(growth.after), key(context, &growth.key)]
    });
    table.write(&mut out)?;
    Ok(out.flush()?)
}

fn signed(bytes: i128, show: impl Fn(u64) -> String) -> String {
    let size = show(u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX));
    match bytes {
        ..0 => format!("-{size}"),
        0 => size,
        _ => format!("+{size}"),
    }
}
