//! The settings of one run of the command. They are not static, since Python calls the command as a function: several times in one process,
//! or on several threads.

use crate::remote::Session;
use crate::text::{self, Escaped};
use crate::volume::Volume;
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The settings of one run. Every command gets them.
pub struct Context {
    /// `true` if names and lists are shown whole: `--verbose` was given, or standard output is not a terminal.
    pub whole: bool,
    /// The columns of the terminal at standard output, to which lines are cut.
    pub columns: usize,
    /// `true` if `--verbose` was given.
    pub verbose: bool,
    /// `true` if `--quiet` was given.
    pub quiet: bool,
    /// `true` after a JSON document was begun. Jobs on several threads share the context, hence the atomic type.
    pub has_begun_json: AtomicBool,
    /// The stores of files with URLs.
    pub stores: Session,
    /// The limit on what is written.
    pub volume: Volume,
}

/// The settings without options, and without a terminal.
impl Default for Context {
    fn default() -> Self {
        Self {
            whole: true,
            columns: USUAL_COLUMNS,
            verbose: false,
            quiet: false,
            has_begun_json: AtomicBool::new(false),
            stores: Session::default(),
            volume: Volume::default(),
        }
    }
}

/// The characters of a name that are shown in a column or among other words, for [`Context::name`].
pub const NAME: usize = 40;

/// The characters that are shown of a name in the last column.
pub const LONG_NAME: usize = 60;

/// The characters that are shown of a name with few other words on its line.
pub const LINE_NAME: usize = 80;

/// The columns if standard output is not a terminal.
const USUAL_COLUMNS: usize = 80;

impl Context {
    /// Creates the settings without options, for the terminal at standard output if there is one.
    pub fn of_terminal() -> Self {
        const LEAST: usize = 40;
        let columns = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let columns = columns.filter(|columns| *columns > 0).unwrap_or(USUAL_COLUMNS).max(LEAST);
        Self { whole: !io::stdout().is_terminal(), columns, ..Self::default() }
    }

    /// Returns standard output, with colours if it is a terminal.
    pub fn out(&self) -> Out<'_> {
        self.out_to(anstream::stdout().lock())
    }

    /// Returns standard output for text without colours, which is passed on as it is.
    pub fn plain_out(&self) -> Out<'_> {
        self.out_to(io::stdout().lock())
    }

    fn out_to(&self, writer: impl Write + 'static) -> Out<'_> {
        Out { context: self, writer: BufWriter::with_capacity(1 << 16, Box::new(writer)) }
    }

    /// Prints a message about finished work on standard error, unless `--quiet` was given, so that standard output has only data.
    pub fn say(&self, line: Arguments<'_>) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    /// Prints why the command fails although it wrote its output: the output lacks the parts that the following errors, if any, are about.
    pub fn incomplete(&self, file: &Path, output: &str, errors: usize) {
        if errors > 0 {
            let errors = text::count(errors, "error");
            self.say(format_args!("{}: the {output} is incomplete because of {errors} in the file:", text::path(file)));
        }
    }

    /// Returns how many items of a list are shown: on a terminal, at most `most`.
    pub fn most(&self, most: usize) -> usize {
        if self.whole { usize::MAX } else { most }
    }

    /// Returns how many rows of a table are shown: `top` if it is given, else on a terminal at most `most`.
    pub fn rows(&self, top: Option<usize>, most: usize) -> MaxRows {
        match top {
            Some(top) => MaxRows { count: top, hint: "" },
            None => MaxRows { count: self.most(most), hint: VERBOSE },
        }
    }

    /// Escapes a name from a file. On a terminal, cuts it to `width` characters for 80 columns, to more for a wider one.
    pub fn name(&self, name: &str, width: usize) -> String {
        let width = width * self.columns.max(80) / 80;
        let end = if self.whole { None } else { name.char_indices().nth(width) };
        match end {
            Some((end, _)) => format!("{}…", Escaped(name.split_at(end).0)),
            None => Escaped(name).to_string(),
        }
    }

    /// Formats a string from a file, in quotes.
    pub fn quoted(&self, string: &str, width: usize) -> String {
        // An empty name is escaped as `""` already.
        if string.is_empty() { "\"\"".to_owned() } else { format!("\"{}\"", self.name(string, width)) }
    }

    /// Returns `true` if a line fits the terminal, or 80 columns if the output is not a terminal.
    pub fn fits(&self, line: &str) -> bool {
        text::width(line) < self.columns
    }

    /// Cuts a text after `before` characters of a line so that the line fits the terminal.
    pub fn cut<'t>(&self, text: &'t str, before: usize) -> Cow<'t, str> {
        text::cut_to(text, self.most(self.columns.saturating_sub(before).max(8)))
    }

    /// Cuts two texts, each after `before` characters of a line, so that on a terminal both show their first difference.
    pub fn cut_around(&self, left: &str, right: &str, before: usize) -> [String; 2] {
        let room = self.most(self.columns.saturating_sub(before).max(8));
        if text::width(left) <= room && text::width(right) <= room {
            return [left.to_owned(), right.to_owned()];
        }
        let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
        let skipped = same.saturating_sub(room / 3);
        [left, right].map(|text| {
            let rest: String = text.chars().skip(skipped).collect();
            self.cut(&if skipped > 0 { format!("…{rest}") } else { rest }, before).into_owned()
        })
    }

    /// Formats the items of a list, on a terminal wrapped to its width, else on one line. Each line starts after `before` characters.
    pub fn wrap(&self, parts: &[String], before: usize) -> Vec<String> {
        let room = self.most(self.columns.saturating_sub(before).max(20));
        let mut lines: Vec<String> = Vec::new();
        // The columns used on the last line.
        let mut taken = 0;
        for part in parts {
            let more = text::width(part);
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
}

/// The maximum number of rows of a table.
#[derive(Clone, Copy)]
pub struct MaxRows {
    pub count: usize,
    /// The option that shows more, to be printed after the number of rows that were left out.
    pub hint: &'static str,
}

impl MaxRows {
    /// Returns the number that was asked for. Without one, all rows are shown.
    pub fn of(top: Option<usize>) -> Self {
        Self { count: top.unwrap_or(usize::MAX), hint: "" }
    }
}

/// Returns a note about the items of a list that were left out on a terminal.
pub fn more(count: usize) -> String {
    format!("… {count} more{VERBOSE}")
}

/// The option that shows whole lists.
const VERBOSE: &str = " (-v)";

/// Standard output, with the settings for what is written to it.
pub struct Out<'c> {
    pub context: &'c Context,
    writer: BufWriter<Box<dyn Write>>,
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    // The default one is a loop around `write`, too slow for the many small pieces of JSON.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_only_for_a_terminal_and_escaped_everywhere() {
        let terminal = |columns| Context { whole: false, columns, ..Context::default() };
        let (narrow, wide, whole) = (terminal(80), terminal(200), Context::default());
        assert_eq!(whole.name("a\u{1b}[2Jb\n", 80), "a\\u{1b}[2Jb\\n");
        assert_eq!(narrow.name("日本語のなまえ", 3), "日本語…");
        let (left, right) =
            (format!("{}first{}", "a".repeat(100), "b".repeat(100)), format!("{}other", "a".repeat(100)));
        let [left, right] = narrow.cut_around(&left, &right, 4);
        assert!(left.starts_with("…aa") && left.contains("afirstb") && left.ends_with("b…"), "{left}");
        assert!(right.starts_with("…aa") && right.ends_with("aother") && text::width(&left) <= 76, "{right}");
        let parts = ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map(str::to_owned);
        assert_eq!(narrow.wrap(&parts, 60), ["aaaaaaaa, bbbbbbbb,", "cccccccc"]);
        assert_eq!(
            (wide.name("日本語のなまえ", 2), wide.wrap(&parts, 60)),
            ("日本語のな…".to_owned(), vec!["aaaaaaaa, bbbbbbbb, cccccccc".to_owned()])
        );
        assert_eq!(
            (narrow.cut("0123456789", 70), narrow.cut("0123456789a", 70)),
            ("0123456789".into(), "012345678…".into())
        );
        assert_eq!(whole.cut("0123456789a", 70), "0123456789a");
        assert_eq!(whole.name("日本語のなまえ", 3), "日本語のなまえ");
    }
}
