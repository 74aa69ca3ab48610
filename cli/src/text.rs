//! Formats sizes, counts and names for people.

pub use executorch_format::text::format_size as size;
use executorch_format::text::{Escaped, is_deceptive};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// Formats a number of bytes: `1 byte`, `640 bytes`.
pub fn count_bytes(bytes: u64) -> String {
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}

/// `true` if names and lists are shown whole: `--verbose` was given, or standard output is not a terminal.
static WHOLE: AtomicBool = AtomicBool::new(true);

/// Sets whether names and lists are shown whole, or cut to fit a terminal.
pub fn show_whole(whole: bool) {
    WHOLE.store(whole, Ordering::Relaxed);
}

/// Returns how many items of a list are shown: on a terminal, at most `most`.
pub fn most(most: usize) -> usize {
    if WHOLE.load(Ordering::Relaxed) { usize::MAX } else { most }
}

/// Escapes a name from a file. On a terminal, cuts it to `width` characters for 80 columns, to more for a wider one.
pub fn name(name: &str, width: usize) -> String {
    let width = width * columns().max(80) / 80;
    let end = if WHOLE.load(Ordering::Relaxed) { None } else { name.char_indices().nth(width) };
    match end {
        Some((end, _)) => format!("{}…", Escaped(name.get(..end).unwrap_or_default())),
        None => Escaped(name).to_string(),
    }
}

/// Returns the columns of a text on a terminal, where a wide character takes two.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
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

/// The columns of the terminal at standard output; 0 before they are queried.
static COLUMNS: AtomicUsize = AtomicUsize::new(0);

/// Returns the columns to which lines are cut on a terminal.
pub fn columns() -> usize {
    const USUAL: usize = 80;
    const LEAST: usize = 40;
    match COLUMNS.load(Ordering::Relaxed) {
        0 => {
            let asked = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
            let columns = asked.filter(|width| *width > 0).unwrap_or(USUAL).max(LEAST);
            COLUMNS.store(columns, Ordering::Relaxed);
            columns
        }
        columns => columns,
    }
}

/// Returns `true` if a line fits the terminal, or 80 columns if the output is not a terminal.
pub fn fits(line: &str) -> bool {
    width(line) < columns()
}

/// Cuts two texts, each after `before` characters of a line, so that on a terminal both show their first difference.
pub fn cut_around(one: &str, other: &str, before: usize) -> [String; 2] {
    let room = most(columns().saturating_sub(before).max(8));
    if width(one) <= room && width(other) <= room {
        return [one.to_owned(), other.to_owned()];
    }
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let skipped = same.saturating_sub(room / 3);
    [one, other].map(|text| {
        let rest: String = text.chars().skip(skipped).collect();
        cut(&if skipped > 0 { format!("…{rest}") } else { rest }, before)
    })
}

/// Formats the items of a list, on a terminal wrapped to its width, else on one line. Each line starts after `before` characters.
pub fn wrap(parts: &[String], before: usize) -> Vec<String> {
    let room = most(columns().saturating_sub(before).max(20));
    let mut lines: Vec<String> = Vec::new();
    // The columns used on the last line.
    let mut taken = 0;
    for part in parts {
        let more = width(part);
        match lines.last_mut() {
            Some(line) if more.saturating_add(taken + 3) <= room => {
                line.push_str(", ");
                line.push_str(part);
                taken += 2 + more;
                continue;
            }
            Some(line) => line.push(','),
            None => (),
        }
        lines.push(part.clone());
        taken = more;
    }
    lines
}

/// Cuts a text after `before` characters of a line so that the line fits the terminal.
pub fn cut(text: &str, before: usize) -> String {
    let room = most(columns().saturating_sub(before).max(8));
    cut_to(text, room)
}

/// Cuts a path at its start to this many columns.
pub fn cut_start(path: &str, room: usize) -> String {
    if width(path) <= room {
        return path.to_owned();
    }
    let skipped = path.chars().count().saturating_sub(room - 1);
    format!("…{}", path.chars().skip(skipped).collect::<String>())
}

/// Cuts a text to this many columns.
pub fn cut_to(text: &str, room: usize) -> String {
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

/// Formats a string from a file, in quotes.
pub fn quoted(string: &str, width: usize) -> String {
    if string.is_empty() { "\"\"".to_owned() } else { format!("\"{}\"", name(string, width)) }
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
    fn names_are_cut_only_for_a_terminal_and_escaped_everywhere() {
        assert_eq!(name("a\u{1b}[2Jb\n", 80), "a\\u{1b}[2Jb\\n");
        show_whole(false);
        COLUMNS.store(80, Ordering::Relaxed);
        assert_eq!(name("日本語のなまえ", 3), "日本語…");
        let (one, other) =
            (format!("{}first{}", "a".repeat(100), "b".repeat(100)), format!("{}other", "a".repeat(100)));
        let [one, other] = cut_around(&one, &other, 4);
        assert!(one.starts_with("…aa") && one.contains("afirstb") && one.ends_with("b…"), "{one}");
        assert!(other.starts_with("…aa") && other.ends_with("aother") && width(&one) <= 76, "{other}");
        let parts = ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map(str::to_owned);
        assert_eq!(wrap(&parts, 60), ["aaaaaaaa, bbbbbbbb,", "cccccccc"]);
        COLUMNS.store(200, Ordering::Relaxed);
        assert_eq!(
            (name("日本語のなまえ", 2), wrap(&parts, 60)),
            ("日本語のな…".to_owned(), vec!["aaaaaaaa, bbbbbbbb, cccccccc".to_owned()])
        );
        COLUMNS.store(80, Ordering::Relaxed);
        assert_eq!((cut("0123456789", 70), cut("0123456789a", 70)), ("0123456789".to_owned(), "012345678…".to_owned()));
        show_whole(true);
        assert_eq!(cut("0123456789a", 70), "0123456789a");
        assert_eq!(name("日本語のなまえ", 3), "日本語のなまえ");
        assert_eq!(path(Path::new("a\nb.pte")), "a\\nb.pte");
        assert_eq!(message("bad \u{1b}[31m\\u{1b}"), "bad \\u{1b}[31m\\u{1b}");
    }
}
