//! Rows in columns.

use crate::context::{MaxRows, Out};
use crate::text;
use anstyle::{AnsiColor, Style};
use std::borrow::Cow;
use std::io::{self, Write};
use std::iter;

/// The colour of bars on a terminal.
const BAR: Style = AnsiColor::Cyan.on_default();

/// The style of the head of a table.
const HEAD: Style = Style::new().bold();

/// The length of the longest bar, in characters.
const BAR_WIDTH: usize = 12;

/// The most operators or modules in a table on a terminal.
pub const MAX_SHOWN: usize = 30;

/// The minimum width of the last column.
const LEAST_OF_LAST: usize = 8;

/// The minimum width of a column of texts.
const NARROWEST: usize = 16;

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq)]
pub enum Column {
    /// Text.
    Left,
    /// Names that distinguish rows: they are cut only in the last column.
    Name,
    /// Paths, in the last column: they are cut at their start.
    Path,
    /// Numbers.
    Right,
    /// Numbers that are left out, from the last column on, if names would be cut otherwise.
    Detail,
    /// A share of a whole, as a bar from [`bar`].
    Bar,
}

/// Rows under a head.
pub struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[String; N]>,
    /// The number of rows that were left out, and what is printed after it.
    left_out: Option<(usize, String)>,
}

impl<const N: usize> Table<N> {
    /// Creates a table with these columns and their names.
    pub fn new(head: [(&str, Column); N]) -> Self {
        let rows = vec![head.map(|(name, _)| name.to_owned())];
        Self { columns: head.map(|(_, column)| column), rows, left_out: None }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// Adds a row for each of the first items, and counts the others.
    pub fn rows<T>(&mut self, items: impl IntoIterator<Item = T>, most: MaxRows, row: impl FnMut(T) -> [String; N]) {
        let mut items = items.into_iter();
        self.rows.extend(items.by_ref().take(most.count).map(row));
        self.leave_out(items.count(), most, "");
    }

    /// Adds a row for each of the first items. For the others, the sum of their sizes is printed with their number.
    pub fn sized_rows<T, S: Into<Option<u64>>>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        most: MaxRows,
        size: impl Fn(T) -> S,
        row: impl FnMut(T) -> [String; N],
    ) {
        let mut items = items.into_iter();
        self.rows.extend(items.by_ref().take(most.count).map(row));
        let (mut count, mut bytes, mut at_least) = (0, 0u64, "");
        for size in items.map(|item| size(item).into()) {
            count += 1;
            match size {
                Some(size) => bytes = bytes.saturating_add(size),
                None => at_least = "at least ",
            }
        }
        self.leave_out(count, most, &format!(", {at_least}{}", text::size(bytes)));
    }

    /// Notes that rows were left out. `note` is printed after their number.
    pub fn leave_out(&mut self, count: usize, most: MaxRows, note: &str) {
        self.left_out = (count > 0).then(|| (count, format!("{}{note}", most.hint)));
    }

    /// Writes the table, with two spaces between columns, and how many rows were left out. Writes nothing if there are no rows.
    pub fn write(&self, out: &mut Out<'_>) -> io::Result<()> {
        self.write_within(out, out.context.most(out.context.columns))?;
        match &self.left_out {
            Some((count, note)) => writeln!(out, "  … {count} more{note}"),
            None => Ok(()),
        }
    }

    /// Writes the table, or, if there is nothing to list, `empty`.
    pub fn write_or(&self, out: &mut Out<'_>, empty: &str) -> io::Result<()> {
        match self.rows.len() == 1 && self.left_out.is_none() {
            true => writeln!(out, "  {empty}"),
            false => self.write(out),
        }
    }

    /// Writes the table in lines of at most `room` columns, as far as cells can be cut.
    fn write_within(&self, out: &mut impl Write, room: usize) -> io::Result<()> {
        if self.rows.len() == 1 {
            return Ok(());
        }
        let mut columns = self.columns.map(|column| (column, 0));
        let widths: Vec<[usize; N]> =
            self.rows.iter().map(|row| row.each_ref().map(|cell| text::width(cell))).collect();
        for row in &widths {
            for ((_, width), cell) in columns.iter_mut().zip(row) {
                *width = (*width).max((*cell).min(text::WIDEST));
            }
        }
        let total = |columns: &[(Column, usize)]| {
            let shown = columns.iter().filter(|(_, width)| *width > 0);
            shown.map(|(_, width)| width + 2).sum::<usize>()
        };
        // Columns without a width are not shown.
        while room < total(&columns) {
            let detail = columns.iter_mut().rfind(|(column, width)| *column == Column::Detail && *width > 0);
            let Some((_, width)) = detail else { break };
            *width = 0;
        }
        // Names are worth more than bars.
        if room < total(&columns) && self.columns.last() == Some(&Column::Name) {
            columns.iter_mut().filter(|(column, _)| *column == Column::Bar).for_each(|(_, width)| *width = 0);
        }
        // If lines are still too long for the terminal, texts in the middle are cut, the widest first.
        while room < total(&columns) {
            let left = columns.iter().rev().skip(1).filter(|(column, _)| *column == Column::Left);
            let Some(widest) = left.map(|(_, width)| *width).max().filter(|width| *width > NARROWEST) else { break };
            let left = columns.iter_mut().filter(|(column, width)| *column == Column::Left && *width == widest);
            left.for_each(|(_, width)| *width -= 1);
        }
        let all_but_last = columns.split_last().map_or(0, |(_, others)| total(others));
        let room = room.saturating_sub(all_but_last + 2).max(LEAST_OF_LAST);
        let mut line = String::new();
        for (at, (row, widths)) in self.rows.iter().zip(&widths).enumerate() {
            line.clear();
            // Spaces are written only before a cell, so that no line ends with spaces.
            let mut spaces = 2;
            let cells = row.iter().zip(widths).zip(columns).enumerate();
            for (index, ((cell, own), (column, width))) in cells.filter(|(_, (_, (_, width)))| *width > 0) {
                let (mut cell, mut own) = (Cow::Borrowed(cell.as_str()), *own);
                let most = if column == Column::Path || index + 1 == N {
                    room
                } else if column == Column::Left && width < text::WIDEST {
                    width
                } else {
                    usize::MAX
                };
                if own > most {
                    let cut = if column == Column::Path { text::cut_start } else { text::cut_to };
                    cell = Cow::Owned(cut(&cell, most).into_owned());
                    own = text::width(&cell);
                }
                let missing = width.saturating_sub(own);
                let is_number = matches!(column, Column::Right | Column::Detail);
                let (before, after) = if is_number { (missing, 0) } else { (0, missing) };
                if !cell.is_empty() {
                    line.extend(iter::repeat_n(' ', spaces + before));
                    spaces = 0;
                    let style = match column {
                        _ if at == 0 => HEAD,
                        Column::Bar => BAR,
                        _ => Style::new(),
                    };
                    if style.is_plain() {
                        line += &cell;
                    } else {
                        line += &format!("{style}{cell}{style:#}");
                    }
                } else {
                    spaces += before;
                }
                spaces += after + 2;
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

/// Formats a part of a whole as a bar of up to 12 characters, in eighths of a character.
#[expect(clippy::indexing_slicing, reason = "there is a character for each number of eighths")]
pub fn bar(part: u64, whole: u64) -> String {
    // In a hostile file, parts that share bytes are larger than the whole.
    let eighths = (share(part, whole).min(1.0) * (8 * BAR_WIDTH) as f64).round() as usize;
    let last = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{last}", "█".repeat(eighths / 8))
}

/// Formats a part of a whole in percent: `12.5 %`.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", share(part, whole) * 100.0)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn written<const N: usize>(table: &Table<N>) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        let done = table.write_within(&mut out, usize::MAX);
        assert!(done.is_ok());
        String::from_utf8_lossy(&out.into_inner()).into_owned()
    }

    #[test]
    fn columns_are_aligned_and_no_line_ends_with_spaces() {
        let mut table = Table::new([("NAME", Column::Left), ("SIZE", Column::Right), ("", Column::Bar)]);
        assert_eq!(written(&table), "");
        table.row(["a".into(), "1 B".into(), bar(1, 2)]);
        table.row(["日本語のな".into(), "1000 B".into(), bar(0, 2)]);
        assert_eq!(written(&table), "  NAME          SIZE\n  a              1 B  ██████\n  日本語のな  1000 B\n");
    }

    #[test]
    fn names_take_precedence_over_details() {
        let head = [("NAME", Column::Name), ("ALL", Column::Right), ("MEAN", Column::Detail), ("WHAT", Column::Left)];
        let mut table = Table::new(head);
        table.row(["a name of a row".into(), "1".into(), "2".into(), "a long text at the end".into()]);
        let within = |room| {
            let mut out = anstream::StripStream::new(Vec::new());
            assert!(table.write_within(&mut out, room).is_ok());
            String::from_utf8_lossy(&out.into_inner()).lines().nth(1).unwrap_or_default().to_owned()
        };
        assert_eq!(within(54), "  a name of a row    1     2  a long text at the end");
        assert_eq!(within(51), "  a name of a row    1  a long text at the end");
        assert_eq!(within(36), "  a name of a row    1  a long text…");
    }

    #[test]
    fn names_take_precedence_over_bars() {
        let mut table = Table::new([("SHARE", Column::Right), ("", Column::Bar), ("OPERATOR", Column::Name)]);
        table.row(["50.0 %".into(), bar(1, 2), "quantized_decomposed::embedding_4bit".into()]);
        let within = |room| {
            let mut out = anstream::StripStream::new(Vec::new());
            assert!(table.write_within(&mut out, room).is_ok());
            String::from_utf8_lossy(&out.into_inner()).lines().nth(1).unwrap_or_default().to_owned()
        };
        assert_eq!(within(54), "  50.0 %  ██████  quantized_decomposed::embedding_4bit");
        assert_eq!(within(53), "  50.0 %  quantized_decomposed::embedding_4bit");
    }

    #[test]
    fn rows_that_were_left_out_are_counted() {
        let mut table = Table::new([("NAME", Column::Left)]);
        table.rows(["a", "b", "c"], MaxRows::of(Some(1)), |name| [name.to_owned()]);
        assert_eq!((written(&table), table.left_out), ("  NAME\n  a\n".to_owned(), Some((2, String::new()))));
        let mut table = Table::new([("NAME", Column::Left)]);
        let terminal = Context { whole: false, ..Context::default() };
        table.sized_rows([1, 2, 3], terminal.rows(None, 1), |size| size, |size| [text::size(size)]);
        assert_eq!(
            (written(&table), table.left_out),
            ("  NAME\n  1 B\n".to_owned(), Some((2, " (-v), 5 B".to_owned())))
        );
    }

    #[test]
    fn a_bar_has_the_length_of_its_share() {
        assert_eq!(bar(3, 3), "█".repeat(BAR_WIDTH));
        assert_eq!((bar(u64::MAX, 1), percent(3, 2)), (bar(3, 3), "150.0 %".to_owned()));
        assert_eq!((bar(0, 0), bar(1, 1 << 40)), (String::new(), String::new()));
        assert_eq!((bar(1, 64), bar(3, 24)), ("▎".to_owned(), "█▌".to_owned()));
        assert_eq!((percent(1, 8), percent(0, 0)), ("12.5 %".to_owned(), "0.0 %".to_owned()));
    }
}
