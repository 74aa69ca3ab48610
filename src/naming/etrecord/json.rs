//! The JSON of an entry, as Python writes it.

use super::{EntryContent, Memory, about};
use crate::error::{Error, Result};
use alloc::{borrow::Cow, string::String};
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Calls a function with the content of an entry. The content takes memory only during the call.
pub(super) fn with_json<T>(
    entry: &str,
    content: EntryContent<'_>,
    memory: &mut Memory,
    read: fn(Json<'_>, &mut Memory) -> Result<T>,
) -> Result<T> {
    let mut content = content.ok_or_else(|| about(entry, &"it is missing"))?;
    memory.take(content.len())?;
    replace_words(&mut content);
    let whole = core::str::from_utf8(&content).map_err(|error| about(entry, &error))?;
    let read = read(Json { entry, whole, part: whole }, memory);
    memory.give_back(content.len());
    read
}

/// The words that Python's `json` writes for floats that JSON has no form for, and other floats of the same length. Names depend on neither.
const WORDS: [(&[u8], &[u8]); 3] = [(b"NaN", b"0.0"), (b"Infinity", b"0.000000"), (b"-Infinity", b"-0.000000")];

/// Replaces each of these words outside texts.
fn replace_words(content: &mut Cow<'_, [u8]>) {
    let is_in_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    let (mut at, mut is_text) = (0, false);
    while let Some(byte) = content.get(at) {
        if is_text || !is_in_word(byte) {
            is_text ^= *byte == b'"';
            at += if is_text && *byte == b'\\' { 2 } else { 1 };
            continue;
        }
        let rest = content.get(at..).unwrap_or_default();
        let end = at + rest.iter().take_while(|byte| is_in_word(byte)).count();
        let word = content.get(at..end).unwrap_or_default();
        if let Some((_, number)) = WORDS.iter().find(|(known, _)| *known == word) {
            if let Some(place) = content.to_mut().get_mut(at..end) {
                place.copy_from_slice(number);
            }
        }
        at = end;
    }
}

/// A part of the JSON of an entry. Lists and objects are read one item at a time: held together, they could take many times the text.
#[derive(Clone, Copy)]
pub(super) struct Json<'j> {
    pub(super) entry: &'j str,
    whole: &'j str,
    pub(super) part: &'j str,
}

impl<'j> Json<'j> {
    pub(super) fn at(self, part: &'j RawValue) -> Self {
        Self { part: part.get(), ..self }
    }

    pub(super) fn parse<T: Deserialize<'j>>(self) -> Result<T> {
        serde_json::from_str(self.part).map_err(|error| self.fault(&error))
    }

    /// Calls a function with each item of an array.
    pub(super) fn items<T: Deserialize<'j>>(self, mut call: impl FnMut(T) -> Result<()>) -> Result<()> {
        let mut failed = None;
        let each = Each { expected: "an array", failed: &mut failed, call: &mut |_, item| call(item) };
        let done = serde_json::Deserializer::from_str(self.part).deserialize_seq(each);
        failed.map_or_else(|| done.map_err(|error| self.fault(&error)), Err)
    }

    /// Calls a function with each key of an object and its value.
    pub(super) fn entries<T: Deserialize<'j>>(self, mut call: impl FnMut(String, T) -> Result<()>) -> Result<()> {
        let mut failed = None;
        let each = Each { expected: "an object", failed: &mut failed, call: &mut call };
        let done = serde_json::Deserializer::from_str(self.part).deserialize_map(each);
        failed.map_or_else(|| done.map_err(|error| self.fault(&error)), Err)
    }

    fn fault(self, error: &serde_json::Error) -> Error {
        // The part is in the whole.
        let start = (self.part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize);
        about(self.entry, &Error::of_json("JSON", self.part, start, error))
    }
}

/// Calls a function for each item of an array, or each entry of an object.
struct Each<'c, T> {
    expected: &'static str,
    call: &'c mut dyn FnMut(String, T) -> Result<()>,
    /// The error of the function.
    failed: &'c mut Option<Error>,
}

impl<T> Each<'_, T> {
    fn call<E: serde::de::Error>(&mut self, key: String, item: T) -> core::result::Result<(), E> {
        (self.call)(key, item).map_err(|error| {
            *self.failed = Some(error);
            E::custom("a part cannot be read")
        })
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> core::result::Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            self.call(String::new(), item)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> core::result::Result<(), A::Error> {
        while let Some((key, item)) = map.next_entry()? {
            self.call(key, item)?;
        }
        Ok(())
    }
}
