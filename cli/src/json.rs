//! JSON on stdout, streamed: each field of a table is on one line, and so is a list of numbers.

use crate::context::{Context, Out};
use crate::failure::Failure;
use clap::ArgMatches;
use executorch_format::text::is_deceptive;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

/// The version of the format of all JSON documents. Within a version, fields may be added; none is removed, and none changes its
/// meaning.
pub const FORMAT: u32 = 1;

/// A part of a document. With the feature `schemars`, it has a schema.
#[cfg(not(feature = "schemars"))]
pub trait Answer: Serialize {}
#[cfg(not(feature = "schemars"))]
impl<T: Serialize> Answer for T {}
#[cfg(feature = "schemars")]
pub trait Answer: Serialize + schemars::JsonSchema {}
#[cfg(feature = "schemars")]
impl<T: Serialize + schemars::JsonSchema> Answer for T {}

/// Prints a document with the failure that ended the command, if JSON was requested and no document was begun.
pub fn print_failure(context: &Context, failure: &Failure) -> Result<(), Failure> {
    if context.has_begun_json.load(Ordering::Relaxed) {
        return Ok(());
    }
    let file = failure.file().map(|file| file.display().to_string());
    let files = [Failed { file, errors: failure.messages() }];
    print(context, &OnlyFailed { files }, &JsonArguments { json: true, jsonl: false })
}

#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OnlyFailed {
    files: [Failed; 1],
}

/// The `errors` of a file in documents of commands that stop at the first error.
pub type None = [(); 0];

/// The entry of a file that was read, with only its name.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Named {
    file: String,
    errors: None,
}

impl Named {
    /// Creates the entry of a file from its path.
    pub fn new(path: &Path) -> Self {
        Self { file: path.display().to_string(), errors: [] }
    }

    /// Creates the entries of the files that were read.
    pub fn all<'i>(inputs: impl IntoIterator<Item = &'i Path>) -> Vec<Self> {
        inputs.into_iter().map(Self::new).collect()
    }
}

/// Returns `true` if JSON output was requested.
pub fn is_asked(matches: &ArgMatches) -> bool {
    let flag = |name| matches.try_get_one::<bool>(name).is_ok_and(|flag| flag == Some(&true));
    flag("json") || flag("jsonl") || matches.subcommand().is_some_and(|(_, matches)| is_asked(matches))
}

/// Options that select JSON instead of text.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub struct JsonArguments {
    /// Print one JSON document for all files
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print a JSON document for each file, on a line of its own
    #[arg(long, group = "form")]
    pub jsonl: bool,
}

impl JsonArguments {
    /// Returns `true` if any JSON is printed.
    pub fn any(&self) -> bool {
        self.json || self.jsonl
    }
}

/// A whole document, or one of several.
#[derive(Serialize)]
pub struct Document<'v, T> {
    format: u32,
    #[serde(flatten)]
    value: &'v T,
}

impl<'v, T> Document<'v, T> {
    /// Creates a document, whose first field is the number of the format, from a struct.
    pub fn new(value: &'v T) -> Self {
        Self { format: FORMAT, value }
    }
}

/// Prints a struct as a document, indented or on one line.
pub fn print(context: &Context, value: &impl Answer, arguments: &JsonArguments) -> Result<(), Failure> {
    let form = if arguments.jsonl { Form::LINE } else { Form::INDENTED };
    print_in(form, context, &Document::new(value))
}

/// Prints a tree in flatc's form, with strings of any length. On a terminal, prints only the first lines.
pub fn print_tree(context: &Context, tree: &impl Serialize) -> Result<(), Failure> {
    const MAX_LINES: usize = 200;
    let most = context.most(MAX_LINES);
    if most == usize::MAX {
        return print_in(Form::INDENTED.uncut(), context, tree);
    }
    let mut whole = Vec::new();
    Form::INDENTED.uncut().write(&mut whole, tree)?;
    let mut out = context.plain_out();
    write_lines(&mut out, &whole, most)?;
    Ok(out.flush()?)
}

/// Writes the first lines of a text, cut to the terminal's width, and the number of lines left out.
fn write_lines(out: &mut Out<'_>, whole: &[u8], most: usize) -> io::Result<()> {
    let whole = String::from_utf8_lossy(whole);
    for line in whole.lines().take(most) {
        writeln!(out, "{}", out.context.cut(line, 0))?;
    }
    match whole.lines().count().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(out, "… {more} more lines (-v)"),
    }
}

fn print_in(form: Form, context: &Context, value: &impl Serialize) -> Result<(), Failure> {
    context.has_begun_json.store(true, Ordering::Relaxed);
    let mut out = context.plain_out();
    form.write_line(&mut out, value)?;
    Ok(out.flush()?)
}

/// Entries for several files, in one document or in one for each file. Each entry is written immediately.
pub struct Files {
    out: BufWriter<io::Stdout>,
    lines: bool,
    uncut: bool,
    count: usize,
}

/// The entry of a file that cannot be read or summarized.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Failed {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    errors: Vec<String>,
}

impl Files {
    /// Begins the document, or documents, if any JSON was requested.
    pub fn start(context: &Context, arguments: &JsonArguments) -> Option<Self> {
        arguments.any().then(|| Self::new(context, arguments.jsonl))
    }

    /// Begins the document, or, with `lines`, the documents.
    pub fn new(context: &Context, lines: bool) -> Self {
        context.has_begun_json.store(true, Ordering::Relaxed);
        Self { out: BufWriter::with_capacity(1 << 16, io::stdout()), lines, uncut: false, count: 0 }
    }

    /// Allows strings of any length.
    pub fn uncut(self) -> Self {
        Self { uncut: true, ..self }
    }

    /// Adds the entry of a file. The value must be a struct.
    pub fn add(&mut self, value: &impl Answer) -> Result<(), Failure> {
        let cut = |form: Form| if self.uncut { form.uncut() } else { form };
        if self.lines {
            cut(Form::LINE).write_line(&mut self.out, &Document::new(value))?;
        } else {
            let form = cut(Form { depth: Some(1), ..Form::INDENTED });
            if self.count == 0 {
                self.head()?
            } else {
                self.out.write_all(b", ")?
            }
            form.write(&mut self.out, value)?;
        }
        self.count += 1;
        Ok(self.out.flush()?)
    }

    /// Adds a file that has only errors.
    pub fn add_failed(&mut self, file: &Path, failure: &Failure) -> Result<(), Failure> {
        self.add(&Failed { file: Some(file.display().to_string()), errors: failure.messages() })
    }

    /// Ends the document.
    pub fn end(mut self) -> Result<(), Failure> {
        if !self.lines {
            if self.count == 0 {
                self.head()?;
            }
            self.out.write_all(b"]\n}\n")?;
        }
        Ok(self.out.flush()?)
    }

    fn head(&mut self) -> io::Result<()> {
        write!(self.out, "{{\n  \"format\": {FORMAT},\n  \"files\": [")
    }
}

/// Writes a part of a string that needs no escape in JSON, with escapes for characters that could act on a terminal.
fn write_text<W: ?Sized + Write>(writer: &mut W, text: &str) -> io::Result<()> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return writer.write_all(text.as_bytes());
    }
    for character in text.chars() {
        if is_deceptive(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
        } else {
            write!(writer, "{character}")?;
        }
    }
    Ok(())
}

/// The number of bytes of a string that are always written.
const ALWAYS: usize = 1000;

/// The bytes beyond [`ALWAYS`] that are written, for all strings of a document together.
const OVER: usize = 1 << 20;

/// Cuts strings if many are long. Many entries can share one name, so that a document could be many times larger than the file. Only `pte
/// dump` writes all strings whole, since a tree has each name only as often as the file does.
struct Strings {
    /// The bytes of the current string so far.
    count: usize,
    /// `true` if all of them were written.
    whole: bool,
    /// The rest of [`OVER`].
    left: usize,
}

impl Strings {
    const CUT: Self = Self { count: 0, whole: true, left: OVER };
    const UNCUT: Self = Self { count: 0, whole: true, left: usize::MAX };

    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        (self.count, self.whole) = (0, true);
        writer.write_all(b"\"")
    }

    /// Returns how many of the next `more` bytes are written.
    fn take(&mut self, more: usize) -> usize {
        if self.count + more <= ALWAYS {
            self.count += more;
            return more;
        }
        let within = ALWAYS.saturating_sub(self.count).min(more);
        let over = if self.whole { (more - within).min(self.left) } else { 0 };
        self.count += more;
        self.left -= over;
        self.whole &= within + over == more;
        within + over
    }

    fn fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut end = self.take(fragment.len());
        while !fragment.is_char_boundary(end) {
            end -= 1;
        }
        write_text(writer, fragment.split_at(end).0)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if !self.whole {
            write!(writer, "…({} bytes)", self.count)?;
        }
        writer.write_all(b"\"")
    }
}

/// A form of JSON: on one line, or with maps indented and lists on one line.
pub struct Form {
    /// The number of maps around the current value; `None` for a single line.
    depth: Option<usize>,
    /// `true` if the current map has a field.
    filled: bool,
    strings: Strings,
}

impl Form {
    pub const LINE: Self = Self { depth: None, filled: false, strings: Strings::CUT };
    pub const INDENTED: Self = Self { depth: Some(0), ..Self::LINE };

    /// Allows strings of any length.
    pub fn uncut(self) -> Self {
        Self { strings: Strings::UNCUT, ..self }
    }

    /// Writes a value.
    pub fn write(self, out: impl Write, value: &impl Serialize) -> io::Result<()> {
        Ok(value.serialize(&mut Serializer::with_formatter(out, self))?)
    }

    /// Writes a value and a line feed.
    pub fn write_line(self, mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
        self.write(&mut out, value)?;
        writeln!(out)
    }

    /// Begins a line, after a comma if there is one.
    fn new_line<W: ?Sized + Write>(&self, writer: &mut W, comma: bool) -> io::Result<()> {
        const SPACES: &[u8] = b",\n                                                              ";
        let Some(depth) = self.depth else {
            return if comma { writer.write_all(b",") } else { Ok(()) };
        };
        match SPACES.get(usize::from(!comma)..2 + depth * 2) {
            Some(start) => writer.write_all(start),
            None => write!(writer, "{}\n{:width$}", if comma { "," } else { "" }, "", width = depth * 2),
        }
    }
}

impl Formatter for Form {
    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.strings.begin(writer)
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.strings.end(writer)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.strings.fragment(writer, fragment)
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        if self.strings.take(1) == 0 { Ok(()) } else { CompactFormatter.write_char_escape(writer, escape) }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        match (first, self.depth) {
            (true, _) => Ok(()),
            (_, None) => writer.write_all(b","),
            _ => writer.write_all(b", "),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.map(|depth| depth + 1);
        self.filled = false;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.map(|depth| depth - 1);
        if self.filled {
            self.new_line(writer, false)?;
        }
        self.filled = true;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.new_line(writer, !first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.filled = true;
        writer.write_all(if self.depth.is_some() { b": " } else { b":" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_indented_unless_all_is_on_one_line() {
        let text = r#"{"a":[1,2],"b":{},"c":[{"d":null},{"e":[]}]}"#;
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let mut out = Vec::new();
        let written = Form::INDENTED.write(&mut out, &value);
        assert!(written.is_ok());
        let expected =
            "{\n  \"a\": [1, 2],\n  \"b\": {},\n  \"c\": [{\n    \"d\": null\n  }, {\n    \"e\": []\n  }]\n}";
        assert_eq!(String::from_utf8_lossy(&out), expected);
        out.clear();
        assert!(Form::LINE.write(&mut out, &value).is_ok());
        assert_eq!(String::from_utf8_lossy(&out), text);
    }

    #[test]
    fn many_long_strings_are_cut_with_their_length() {
        let long = "é\n".repeat(20_000);
        let mut out = Vec::new();
        let list = vec![long.as_str(); 100];
        assert!(Form::LINE.write(&mut out, &list).is_ok());
        assert!(out.len() < 6 << 20, "{}", out.len());
        let read: Vec<String> = serde_json::from_slice(&out).unwrap_or_default();
        assert_eq!(read.first(), Some(&long));
        assert_eq!(read.last(), Some(&("é\n".repeat(333) + "…(60000 bytes)")));
    }

    #[test]
    fn strings_are_exact_and_harmless() {
        let name = "a\u{202e}\u{1b}\u{e0041}\\é\u{7f}";
        let mut out = Vec::new();
        assert!(Form::LINE.write(&mut out, &name).is_ok());
        let text = String::from_utf8(out).unwrap_or_default();
        assert!(!text.chars().any(is_deceptive), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).ok().as_deref(), Some(name));
    }
}
