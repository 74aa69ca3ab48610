//! Formats sizes, counts and names for people.

use executorch_format::{Escaped, is_deceptive};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `640 B`, `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    let mut rest = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if rest < 1023.95 {
            break;
        }
        rest /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{rest:.1} {unit}") }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `1 file`, `2 files`.
pub fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Whether names and lists are shown whole: `--all` was given, or standard output is no terminal.
static WHOLE: AtomicBool = AtomicBool::new(true);

/// Shows names and lists whole, or cut so that they fit a terminal.
pub fn show_whole(whole: bool) {
    WHOLE.store(whole, Ordering::Relaxed);
}

/// How many items of a list are shown, where a terminal has room for `most`.
pub fn most(most: usize) -> usize {
    if WHOLE.load(Ordering::Relaxed) { usize::MAX } else { most }
}

/// A name from a file, escaped, and cut to `width` characters for a terminal.
pub fn name(name: &str, width: usize) -> String {
    let end = if WHOLE.load(Ordering::Relaxed) { None } else { name.char_indices().nth(width) };
    match end {
        Some((end, _)) => format!("{}…", Escaped(name.get(..end).unwrap_or_default())),
        None => Escaped(name).to_string(),
    }
}

/// The columns that a text takes on a terminal: two for a wide character.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The widest column that cells are aligned in: a longer cell, whose length is a file's choice, stands out and moves no other row.
pub const WIDEST: usize = 200;

/// The width of a column of cells, in characters.
pub fn column<'c>(cells: impl Iterator<Item = &'c String>) -> usize {
    cells.map(|cell| cell.chars().count()).filter(|count| *count <= WIDEST).max().unwrap_or_default()
}

/// A cell with spaces after it, for a column. Rust's own widths end in a panic where a name is longer than they can be.
pub fn left(cell: &str, column: usize) -> String {
    format!("{cell}{}", " ".repeat(column.saturating_sub(cell.chars().count())))
}

/// A cell with spaces before it, for a column.
pub fn right(cell: &str, column: usize) -> String {
    format!("{}{cell}", " ".repeat(column.saturating_sub(cell.chars().count())))
}

/// A text that stands after `before` characters of a line, cut so that the line fits a terminal.
pub fn cut(text: &str, before: usize) -> String {
    const WIDTH: usize = 80;
    let room = most(WIDTH.saturating_sub(before).max(8));
    if width(text) <= room {
        return text.to_owned();
    }
    let mut columns = 0;
    let fits = |character: &char| {
        columns += character.width().unwrap_or_default();
        columns < room
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// A string from a file, in quotes.
pub fn quoted(string: &str, width: usize) -> String {
    if string.is_empty() { "\"\"".to_owned() } else { format!("\"{}\"", name(string, width)) }
}

/// What standard input and output are called on the command line.
pub const STANDARD: &str = "-";

/// Where a file is: its name can hold anything too.
pub fn path(path: &Path) -> String {
    if path.as_os_str() == STANDARD {
        return "standard input".to_owned();
    }
    Escaped(&path.to_string_lossy()).to_string()
}

/// A message that may hold names, which are escaped already or not: what could act on a terminal is.
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
    fn sizes_use_the_largest_unit_that_keeps_the_number_below_1024() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(size(5 * 1024 * 1024 * 1024), "5.0 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn a_cell_of_any_length_stands_in_a_column() {
        let (short, long) = ("a".to_owned(), "é".repeat(70_000));
        let width = column([&short, &long, &"abc".to_owned()].into_iter());
        assert_eq!((width, left(&short, width), right(&short, width)), (3, "a  ".to_owned(), "  a".to_owned()));
        assert_eq!(left(&long, width), long);
    }

    #[test]
    fn names_are_cut_for_a_terminal_only_and_escaped_everywhere() {
        assert_eq!(name("a\u{1b}[2Jb\n", 80), "a\\u{1b}[2Jb\\n");
        show_whole(false);
        assert_eq!(name("日本語のなまえ", 3), "日本語…");
        assert_eq!((cut("0123456789", 70), cut("0123456789a", 70)), ("0123456789".to_owned(), "012345678…".to_owned()));
        show_whole(true);
        assert_eq!(cut("0123456789a", 70), "0123456789a");
        assert_eq!(name("日本語のなまえ", 3), "日本語のなまえ");
        assert_eq!(path(Path::new("a\nb.pte")), "a\\nb.pte");
        assert_eq!(message("bad \u{1b}[31m\\u{1b}"), "bad \\u{1b}[31m\\u{1b}");
    }
}
