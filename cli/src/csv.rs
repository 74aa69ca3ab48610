//! Tables for spreadsheets: comma-separated values, as in RFC 4180.

use std::fmt::Display;
use std::io::{self, Write};

/// A line of a table.
#[derive(Clone, Default)]
pub struct Line {
    text: String,
    cells: usize,
}

impl Line {
    /// Adds a text that is not from the user or a file: the name of a column, or of one of the kinds of something.
    #[must_use]
    pub fn word(self, word: &str) -> Self {
        self.cell(word)
    }

    /// Adds a name. Characters that could act on a terminal are escaped. Text that a spreadsheet would take for a formula is put
    /// after a `'`.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        // Escaping would put an empty name into quotes.
        let shown = if name.is_empty() { String::new() } else { crate::text::escaped(name) };
        match name.starts_with(['=', '+', '-', '@', '\t', '\r']) {
            true => self.cell(&format!("'{shown}")),
            false => self.cell(&shown),
        }
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, number: impl Display) -> Self {
        self.cell(&number.to_string())
    }

    /// Adds a number, or an empty cell.
    #[must_use]
    pub fn optional(self, number: Option<impl Display>) -> Self {
        self.cell(&number.map(|number| number.to_string()).unwrap_or_default())
    }

    /// Writes the line.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{}\r\n", self.text)
    }

    /// Adds a cell, in quotes if it has a comma, a quote or a line break.
    fn cell(mut self, cell: &str) -> Self {
        if self.cells > 0 {
            self.text.push(',');
        }
        self.cells += 1;
        match cell.contains([',', '"', '\n', '\r']) {
            true => self.text += &format!("\"{}\"", cell.replace('"', "\"\"")),
            false => self.text += cell,
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: Line) -> String {
        let mut out = Vec::new();
        line.write(&mut out).unwrap_or_default();
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn names_are_not_formulas_and_do_not_act_on_a_terminal() {
        for (name, cell) in [
            ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\\t=1"),
            ("\r=1", "'\\r=1"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b\nc", "a\\u{202e}b\\nc"),
            ("a,b", "\"a,b\""),
            ("=\"a\"", "\"'=\\\"\"a\\\"\"\""),
            ("aten::add.out", "aten::add.out"),
            ("", ""),
        ] {
            assert_eq!(line(Line::default().name(name)), format!("{cell}\r\n"), "{name:?}");
        }
    }

    #[test]
    fn numbers_stay_numbers() {
        let numbers = Line::default().number(-1.5).optional(None::<u64>).optional(Some(-7)).word("method");
        assert_eq!(line(numbers), "-1.5,,-7,method\r\n");
    }
}
