//! Formats sizes, counts and names for people.

pub use executorch_format::Escaped;
use executorch_format::schema::ScalarType;
pub use executorch_format::text::format_size as size;
use executorch_format::text::is_deceptive;
use std::borrow::Cow;
use std::path::Path;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Formats bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses a size given as an argument, such as `64KiB`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    executorch_format::text::parse_size(text).map_err(|error| error.to_string())
}

/// Formats a value for all output: `%12`, or `forward:%12` in a program with several methods. `method` is already escaped.
pub fn value(method: &str, value: usize, several: bool) -> String {
    if several { format!("{method}:%{value}") } else { format!("%{value}") }
}

/// Formats a count: `1 file`, `2 files`.
pub fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Formats a scalar type: its short name, such as `f32`, or its number if it has none.
pub fn scalar_type(scalar_type: ScalarType) -> String {
    scalar_type.short_name().map_or_else(|| scalar_type.to_string(), str::to_owned)
}

/// Returns each item that differs from the one before it, with the number of equal neighbours from there on.
pub fn runs<T: PartialEq>(items: &[T]) -> impl Iterator<Item = (&T, usize)> {
    items.chunk_by(|left, right| left == right).filter_map(|run| Some((run.first()?, run.len())))
}

/// Formats a number of bytes: `1 byte`, `640 bytes`.
pub fn count_bytes(bytes: u64) -> String {
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}

/// Escapes a name from a file.
pub fn escaped(name: &str) -> String {
    Escaped(name).to_string()
}

/// Formats a string from a file, in quotes.
pub fn quoted(string: &str) -> String {
    // An empty name is escaped as `""` already.
    if string.is_empty() { "\"\"".to_owned() } else { format!("\"{}\"", Escaped(string)) }
}

/// Returns the columns of a text on a terminal, where a wide character takes two.
pub fn width(text: &str) -> usize {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { text.len() } else { UnicodeWidthStr::width(text) }
}

/// The maximum width of a column. Names in files can have any length: a longer cell is not aligned, so that it does not move other rows.
pub const WIDEST: usize = 200;

/// Returns the width of a column of cells.
pub fn column<'c>(cells: impl Iterator<Item = &'c String>) -> usize {
    cells.map(|cell| width(cell)).filter(|count| *count <= WIDEST).max().unwrap_or_default()
}

/// Pads a cell with spaces. Rust's own width parameter panics on widths over 65,535.
pub fn left(cell: &str, column: usize) -> String {
    format!("{cell}{}", " ".repeat(column.saturating_sub(width(cell))))
}

/// Returns `true` if a text takes at most this many columns. No character has more columns than bytes.
fn fits(text: &str, room: usize) -> bool {
    text.len() <= room || width(text) <= room
}

/// Cuts a path at its start to this many columns.
pub fn cut_start(path: &str, room: usize) -> Cow<'_, str> {
    if fits(path, room) {
        return path.into();
    }
    let skipped = path.chars().count().saturating_sub(room - 1);
    format!("…{}", path.chars().skip(skipped).collect::<String>()).into()
}

/// Cuts a text to this many columns.
pub fn cut_to(text: &str, room: usize) -> Cow<'_, str> {
    if fits(text, room) {
        return text.into();
    }
    let mut columns = 0;
    let fits = |character: &char| {
        columns += character.width().unwrap_or_default();
        columns < room
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The argument for standard input or output.
pub const STANDARD: &str = "-";

/// Escapes a path, since names of files can have any characters.
pub fn path(path: &Path) -> String {
    if path.as_os_str() == STANDARD {
        return "standard input".to_owned();
    }
    let escaped = Escaped(&path.to_string_lossy()).to_string();
    // On Windows, a backslash separates names and cannot be part of one.
    if cfg!(windows) { escaped.replace(r"\\", r"\") } else { escaped }
}

/// Escapes characters of a message that could act on a terminal. Names in it may be escaped already.
pub fn message(message: &str) -> String {
    let escape = |character: char| match character {
        character if is_deceptive(character) => character.escape_unicode().to_string(),
        character => character.to_string(),
    };
    message.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_any_length_fits_a_column() {
        let (short, long) = ("a".to_owned(), "é".repeat(70_000));
        let width = column([&short, &long, &"abc".to_owned()].into_iter());
        assert_eq!((width, left(&short, width)), (3, "a  ".to_owned()));
        assert_eq!(left(&long, width), long);
        assert_eq!(left("重み", 6), "重み  ", "each of them takes two columns");
    }

    #[test]
    fn paths_and_messages_are_escaped() {
        assert_eq!(path(Path::new("a\nb.pte")), "a\\nb.pte");
        assert_eq!(message("bad \u{1b}[31m\\u{1b}"), "bad \\u{1b}[31m\\u{1b}");
        assert_eq!((quoted("a\n"), quoted("")), ("\"a\\n\"".to_owned(), "\"\"".to_owned()));
    }
}
