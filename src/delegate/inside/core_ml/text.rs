//! An ML Program as text: `model.mil` of a compiled model, as `coremlc` writes it.
//!
//! ```text
//! program(1.0)
//! [buildInfo = dict<string, string>({{"coremlc-version", "3404.23.1"}})]
//! {
//!     func main<ios17>(tensor<fp32, [1, 8]> x) {
//!             tensor<fp32, [5, 8]> w = const()[name = string("w"), val = tensor<fp32, [5, 8]>(BLOBFILE(path = string("weight.bin"), offset = uint64(64)))];
//!             tensor<fp32, [1, 5]> y = linear(weight = w, x = x)[name = string("y")];
//!         } -> (y);
//! }
//! ```

use super::super::{InsideTensorType, MAX_TEXT};
use super::{Bound, Builder, Immediate, Operation};
use crate::error::{Error, ErrorKind, Result};
use alloc::{format, string::String, vec::Vec};

/// Adds the operations of a program, which starts at byte `at` of the payload. Returns `false` if the text is not a program.
pub(super) fn read<'p>(bytes: &'p [u8], at: usize, builder: &mut Builder<'p, '_>) -> Result<bool> {
    let Ok(text) = core::str::from_utf8(bytes) else { return Ok(false) };
    let mut reader = Reader { text, rest: text, at };
    if !reader.takes("program") {
        return Ok(false);
    }
    reader.enclosed('(', ')')?;
    reader.skip_attributes()?;
    reader.expect("{")?;
    // The function that runs, or else the first.
    let mut chosen = None;
    while reader.takes("func") {
        let name = reader.name()?;
        if name == builder.function || chosen.is_none() {
            chosen = Some(Reader { ..reader });
        }
        if name == builder.function {
            break;
        }
        if reader.starts_with('<') {
            reader.enclosed('<', '>')?;
        }
        reader.enclosed('(', ')')?;
        reader.skip_attributes()?;
        reader.enclosed('{', '}')?;
        reader.expect("->")?;
        reader.enclosed('(', ')')?;
        reader.expect(";")?;
    }
    match chosen {
        Some(mut reader) => reader.function(builder).map(|()| true),
        None => Err(reader.bad("func")),
    }
}

/// The rest of a text.
#[derive(Clone, Copy)]
struct Reader<'p> {
    text: &'p str,
    rest: &'p str,
    /// The start of the text in the payload.
    at: usize,
}

impl<'p> Reader<'p> {
    /// Reads a function after its name.
    fn function(&mut self, builder: &mut Builder<'p, '_>) -> Result<()> {
        if self.starts_with('<') {
            self.enclosed('<', '>')?;
        }
        self.expect("(")?;
        let mut position = 0;
        while !self.takes(")") {
            let tensor = self.tensor_type()?;
            builder.input(self.name()?, tensor, position);
            position += 1;
            self.takes(",");
        }
        self.skip_attributes()?;
        self.expect("{")?;
        while !self.takes("}") {
            let operation = self.operation()?;
            builder.operation(operation, None)?;
        }
        Ok(())
    }

    /// Reads `tensor<fp32, [1, 5]> y = linear(weight = w, x = x)[name = string("y")];`.
    fn operation(&mut self) -> Result<Operation<'p>> {
        let mut operation = Operation::default();
        loop {
            let tensor = self.tensor_type()?;
            operation.outputs.push((self.name()?, tensor));
            if !self.takes(",") {
                break;
            }
        }
        self.expect("=")?;
        operation.kind = self.name()?;
        self.expect("(")?;
        while !self.takes(")") {
            let name = self.name()?;
            self.expect("=")?;
            if self.takes("(") {
                while !self.takes(")") {
                    operation.inputs.push((name, self.bound()?));
                    self.takes(",");
                }
            } else {
                operation.inputs.push((name, self.bound()?));
            }
            self.takes(",");
        }
        if self.takes("[") {
            while !self.takes("]") {
                let name = self.name()?;
                self.expect("=")?;
                if let Bound::Constant(value) = self.bound()? {
                    operation.attributes.push((name, value));
                }
                self.takes(",");
            }
        }
        // The blocks of a conditional or a loop are not followed.
        while self.starts_with('{') {
            self.enclosed('{', '}')?;
        }
        self.expect(";")?;
        Ok(operation)
    }

    /// Reads the name of a value, or a constant: `tensor<int32, [2]>([1, 1])`.
    fn bound(&mut self) -> Result<Bound<'p>> {
        let before = *self;
        let name = self.name()?;
        if !self.starts_with('<') && !self.starts_with('(') {
            return Ok(Bound::Name(name));
        }
        *self = before;
        let tensor = self.tensor_type()?;
        let value = self.enclosed('(', ')')?;
        let blob = value.strip_prefix("BLOBFILE").and_then(|place| {
            let (_, offset) = place.rsplit_once("offset")?;
            let (_, number) = offset.rsplit_once('(')?;
            number.trim_end_matches([')', ' ']).parse().ok()
        });
        let text = match value.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}…", value.split_at(end).0),
            None => String::from(value),
        };
        Ok(Bound::Constant(Immediate { tensor, text, blob }))
    }

    /// Reads `tensor<fp32, [1, ?]>`, `fp32`, or the type of a list, state, tuple or dictionary.
    fn tensor_type(&mut self) -> Result<InsideTensorType> {
        let name = self.name()?;
        if !self.starts_with('<') {
            return Ok(InsideTensorType::new(crate::names::short(name), [].into_iter()));
        }
        let inside = self.enclosed('<', '>')?;
        let (datatype, dims) = match name {
            "tensor" => inside.split_once(',').unwrap_or((inside, "")),
            // The tensor that a state keeps.
            "state" => match inside.trim().strip_prefix("tensor<").and_then(|inside| inside.strip_suffix('>')) {
                Some(inside) => inside.split_once(',').unwrap_or((inside, "")),
                None => (inside, ""),
            },
            name => (name, ""),
        };
        let dims = dims.trim().trim_start_matches('[').trim_end_matches(']');
        let dims: Vec<Option<u64>> = match dims.trim() {
            "" => Vec::new(),
            dims => dims.split(',').map(|size| size.trim().parse().ok()).collect(),
        };
        let mut found = InsideTensorType::new(crate::names::short(datatype.trim()), dims.into_iter());
        if name == "state" {
            found.storage = "state".into();
        }
        Ok(found)
    }

    /// Skips white space.
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn starts_with(&mut self, character: char) -> bool {
        self.skip_space();
        self.rest.starts_with(character)
    }

    /// Takes a word or mark if the text goes on with it.
    fn takes(&mut self, word: &str) -> bool {
        self.skip_space();
        self.rest.strip_prefix(word).map(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, mark: &str) -> Result<()> {
        if self.takes(mark) { Ok(()) } else { Err(self.bad(mark)) }
    }

    /// Takes a name: letters, digits and underscores.
    fn name(&mut self) -> Result<&'p str> {
        self.skip_space();
        let end = self.rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(self.bad("a name"));
        }
        self.rest = rest;
        Ok(name)
    }

    fn skip_attributes(&mut self) -> Result<()> {
        if self.starts_with('[') { self.enclosed('[', ']').map(|_| ()) } else { Ok(()) }
    }

    /// Takes a text in brackets, which may contain the same brackets and texts in quotes. Returns it without them.
    fn enclosed(&mut self, open: char, close: char) -> Result<&'p str> {
        self.skip_space();
        if !self.rest.starts_with(open) {
            let mut expected = [0; 4];
            return Err(self.bad(open.encode_utf8(&mut expected)));
        }
        let (mut depth, mut in_quotes, mut after_backslash) = (0usize, false, false);
        for (at, character) in self.rest.char_indices() {
            match character {
                _ if after_backslash => after_backslash = false,
                '\\' if in_quotes => after_backslash = true,
                '"' => in_quotes = !in_quotes,
                _ if in_quotes => {}
                _ if character == open => depth += 1,
                _ if character == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let (inside, rest) = self.rest.split_at(at);
                // Both brackets have one byte.
                (_, self.rest) = rest.split_at(1);
                return Ok(inside.split_at(1).1.trim());
            }
        }
        let mut expected = [0; 4];
        let end = Self { rest: "", ..*self };
        Err(end.bad(close.encode_utf8(&mut expected)))
    }

    #[cold]
    fn bad(&self, expected: &str) -> Error {
        let at = self.text.len().saturating_sub(self.rest.len());
        let found: String = self.rest.chars().take(20).collect();
        let found = format!("the text of an ML Program goes on with {found:?}, expected {expected:?}");
        Error::at(self.at.saturating_add(at), ErrorKind::Header(found.into()))
    }
}
