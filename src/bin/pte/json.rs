//! JSON on stdout, streamed: one line for each field of a table, one line for a list of numbers.

use crate::failure::Failure;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};
use std::io::{self, BufWriter, Write};

/// Writes a value to stdout, indented.
pub fn print(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    value.serialize(&mut Serializer::with_formatter(&mut out, Indented::default()))?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Writes a value to stdout in one line.
pub fn print_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    value.serialize(&mut Serializer::with_formatter(&mut out, CompactFormatter))?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Indents maps and keeps lists on one line.
#[derive(Default)]
struct Indented {
    depth: usize,
    filled: bool,
}

impl Indented {
    fn new_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        write!(writer, "\n{:width$}", "", width = self.depth * 2)
    }
}

impl Formatter for Indented {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.filled {
            self.new_line(writer)?;
        }
        self.filled = true;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.filled = true;
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_indented_and_lists_stay_on_one_line() {
        let text = r#"{"a":[1,2],"b":{},"c":[{"d":null},{"e":[]}]}"#;
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let mut out = Vec::new();
        let written = value.serialize(&mut Serializer::with_formatter(&mut out, Indented::default()));
        assert!(written.is_ok());
        let expected =
            "{\n  \"a\": [1, 2],\n  \"b\": {},\n  \"c\": [{\n    \"d\": null\n  }, {\n    \"e\": []\n  }]\n}";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
