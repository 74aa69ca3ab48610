//! Reads any table from JSON, by its description. A table's entries are first cut out as text, so that their order does not matter and no
//! depth of nesting takes stack: only what the schema has is followed.

use super::number::{NumberOf, NumbersOf};
use super::{FORMAT, SEGMENT, SOURCE};
use crate::error::{Error, ErrorKind, Result, counted};
use crate::file::segment::offset_in;
use crate::flatbuffer::any::{AnyField, AnyTable, FieldChange};
use crate::flatbuffer::description::{FieldDescription, FieldKind, NumberKind, TableDescription, UnionDescription};
use crate::flatbuffer::serialize::FILE;
use crate::names::shortened;
use crate::schema::flat_tensor::DIM_SIZES;
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};
use core::fmt;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The bytes of a file of the data, by its name.
pub(super) type Files<'f, 'a> = &'f dyn Fn(&str) -> Option<&'a [u8]>;

/// Memory that any tree may take, in bytes, and how many more for each byte of JSON. No table that flatc prints takes more.
const MEMORY: u64 = 1 << 20;
const MEMORY_PER_BYTE: u64 = 16;

/// The bytes that any tree may have from files, and how many more for each byte of those files: one may be named several times.
const COPIES: u64 = 16 << 20;
const COPIES_PER_BYTE: u64 = 8;

/// Names of fields in the schemas of ExecuTorch up to 0.3 and of 0.5: the table, its field's old name, and today's.
const RENAMED: [(&str, &str, &str); 2] =
    [("Tensor", "constant_buffer_idx", "data_buffer_idx"), ("TensorMetadata", DIM_SIZES, "sizes")];

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// Reads tables from a text.
pub(super) struct Reader<'r, 'a> {
    text: &'r str,
    files: Files<'r, 'a>,
    /// The bytes of each segment, in order; `None` for one without a file.
    pub(super) segments: Vec<Option<&'a [u8]>>,
    memory_left: u64,
    /// The bytes that the tree may still have from files. Each is copied wherever it is named, and once more when the tree is encoded.
    copies_left: u64,
    max_copies: u64,
}

/// The text of the two entries of a field: its value, and, for a union, its type.
#[derive(Clone, Copy, Default)]
struct Entry<'r> {
    value: Option<&'r RawValue>,
    tag: Option<&'r RawValue>,
}

impl<'r, 'a> Reader<'r, 'a> {
    /// Creates a reader. `given` is the size of all files, in bytes.
    pub(super) fn new(text: &'r str, files: Files<'r, 'a>, given: u64) -> Self {
        let memory_left = MEMORY.saturating_add(MEMORY_PER_BYTE.saturating_mul(text.len() as u64));
        let max_copies = COPIES.saturating_add(COPIES_PER_BYTE.saturating_mul(given));
        Self { text, files, segments: Vec::new(), memory_left, copies_left: max_copies, max_copies }
    }

    /// Reads the root table.
    pub(super) fn root(&mut self, table: &mut dyn AnyTable) -> Result<()> {
        let all = serde_json::from_str(self.text).map_err(|error| Error::of_json(FORMAT, self.text, 0, &error))?;
        self.table(table, all, true)
    }

    fn table(&mut self, table: &mut dyn AnyTable, text: &'r RawValue, is_root: bool) -> Result<()> {
        let description = table.description();
        let mut entries = vec![Entry::default(); description.fields.len()];
        let mut file = None;
        for (name, value) in self.object(text)? {
            let place = match entry_of(description, &name) {
                Some((index, is_tag)) => {
                    entries.get_mut(index).map(|entry| if is_tag { &mut entry.tag } else { &mut entry.value })
                }
                None if is_root && name == SOURCE => continue,
                None if description.name == SEGMENT && name == FILE => Some(&mut file),
                None => return Err(self.bad(value, unknown(description, &name))),
            };
            if place.and_then(|place| place.replace(value)).is_some() {
                return Err(self.bad(value, format!("the key {:?} occurs twice", shortened(&name))));
            }
        }
        for (index, (field, entry)) in description.fields.iter().zip(entries).enumerate() {
            let Some(place) = table.field_mut(index) else { continue };
            self.field(place, field, entry).map_err(|error| error.in_field(field.name))?;
        }
        if description.name == SEGMENT {
            let bytes = file.map(|file| self.file(file)).transpose().map_err(|error| error.in_field(FILE))?;
            if let (Some(bytes), Some(size)) = (bytes, table.field_mut(1)) {
                size.change(FieldChange::Bits(bytes.len() as u64));
            }
            self.segments.push(bytes);
        }
        Ok(())
    }

    fn field(&mut self, place: &mut dyn AnyField, field: &FieldDescription, entry: Entry<'r>) -> Result<()> {
        let value = entry.value.filter(|value| value.get() != "null");
        if let FieldKind::Union(union) = field.kind {
            return self.union(place, union, field.name, Entry { value, ..entry });
        }
        // An absent field has its default already.
        let Some(value) = value else { return Ok(()) };
        let is_set = match field.kind {
            FieldKind::Number(kind) => self.number(place, kind, value)?,
            FieldKind::Text => place.change(FieldChange::Text(self.parse::<Text<'_>>(value)?.0.as_bytes())),
            FieldKind::Numbers { number, .. } => self.numbers(place, number, value)?,
            FieldKind::Table(_) => {
                let is_set = place.change(FieldChange::Insert);
                if let Some(table) = place.table_mut(0) {
                    self.take(value, 1, table)?;
                    self.table(table, value, false)?;
                }
                is_set
            }
            FieldKind::Tables(_) => {
                let items: Vec<&RawValue> = self.parse(value)?;
                place.change(FieldChange::Length(items.len().min(1)));
                if let Some(first) = place.table_mut(0) {
                    self.take(value, items.len(), first)?;
                }
                let is_set = place.change(FieldChange::Length(items.len()));
                for (index, item) in items.into_iter().enumerate() {
                    if let Some(table) = place.table_mut(index) {
                        self.table(table, item, false).map_err(|error| error.in_item(index))?;
                    }
                }
                is_set
            }
            FieldKind::Union(_) => true,
        };
        if is_set { Ok(()) } else { Err(self.bad(value, "it does not fit the field")) }
    }

    /// Sets a number, or a value of an enumeration by its name.
    fn number(&self, place: &mut dyn AnyField, kind: NumberKind, value: &'r RawValue) -> Result<bool> {
        let names = place.names();
        if names.is_empty() || !value.get().starts_with('"') {
            return Ok(place.change(FieldChange::Bits(self.seeded(value, NumberOf(kind))?)));
        }
        let Text(name) = self.parse(value)?;
        if place.change(FieldChange::Text(name.as_bytes())) {
            return Ok(true);
        }
        let expected = format!("expected a number or one of {}, found {:?}", names.join(", "), shortened(&name));
        Err(self.bad(value, expected))
    }

    /// Sets a list of numbers, which may be in a file.
    fn numbers(&mut self, place: &mut dyn AnyField, kind: NumberKind, value: &'r RawValue) -> Result<bool> {
        if !value.get().starts_with('{') {
            let mut at = None;
            let bytes = self.seeded(value, NumbersOf { kind, at: &mut at });
            let bytes = bytes.map_err(|error| at.into_iter().fold(error, Error::in_item))?;
            return Ok(place.change(FieldChange::Bytes(&bytes)));
        }
        let entries = self.object(value)?;
        let [(name, file)] = entries.as_slice() else {
            return Err(self.bad(value, "expected a list of numbers, or {\"file\": NAME} alone"));
        };
        if name != FILE {
            return Err(self.bad(file, format!("the key is {:?}, expected \"file\"", shortened(name))));
        }
        let bytes = self.file(file).map_err(|error| error.in_field(FILE))?;
        if bytes.len() % kind.size() != 0 {
            let (found, size) = (counted(bytes.len(), "byte"), kind.size());
            return Err(self.bad(file, format!("the file has {found}, expected a multiple of {size}")));
        }
        self.copies_left = self.copies_left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            let what = "bytes of files, which are copied wherever they are named";
            Error::at(self.offset(file), ErrorKind::Limit { what, limit: self.max_copies })
        })?;
        Ok(place.change(FieldChange::Bytes(bytes)))
    }

    fn union(
        &mut self,
        place: &mut dyn AnyField,
        union: &UnionDescription,
        name: &'static str,
        Entry { value, tag }: Entry<'r>,
    ) -> Result<()> {
        let number = match tag {
            Some(text) => self.tag(union, text).map_err(|error| with_type(error, name))?,
            None => 0,
        };
        let value = match (number, value, tag) {
            (0, None, _) => return Ok(()),
            (0, Some(value), None) => {
                return Err(self.bad(value, format!("{name}_type is missing, expected one of {}", members(union))));
            }
            (0, Some(value), Some(_)) => return Err(self.bad(value, "a union of type NONE has no value")),
            (_, Some(value), _) => value,
            (_, None, tag) => {
                let fault = "the type of a union without its value, expected a table";
                return Err(tag.map_or_else(|| Error::other(FORMAT, 0, fault), |tag| self.bad(tag, fault)));
            }
        };
        place.change(FieldChange::Tag(number));
        let Some(member) = union.member(number) else {
            // No more is known of it than that it is there.
            let is_empty = self.object(value)?.is_empty();
            return if is_empty {
                Ok(())
            } else {
                Err(self.bad(value, format!("union member {number} is of a newer schema: expected {{}}")))
            };
        };
        let Some(table) = place.table_mut(0) else { return Ok(()) };
        self.take(value, 1, table)?;
        self.table(table, value, false).map_err(|error| error.in_field(member.name))
    }

    /// Returns the tag of a union, by its number or by the name of the member.
    fn tag(&self, union: &UnionDescription, text: &'r RawValue) -> Result<u8> {
        if !text.get().starts_with('"') {
            return self.seeded(text, NumberOf(NumberKind::U8)).map(|tag| tag as u8);
        }
        let Text(name) = self.parse(text)?;
        match union.members.iter().find(|member| member.name == name) {
            Some(member) => Ok(member.tag),
            None if name == "NONE" => Ok(0),
            None => {
                let fault = format!("expected one of {}, found {:?}", members(union), shortened(&name));
                Err(self.bad(text, fault))
            }
        }
    }

    /// Returns the bytes of a file of the data. Its name cannot be a path to another folder.
    fn file(&self, text: &'r RawValue) -> Result<&'a [u8]> {
        let Text(name) = self.parse(text)?;
        if !is_name(&name) {
            let fault =
                format!("{:?} is not the name of a file: expected letters, digits, `_`, `-` and `.`", shortened(&name));
            return Err(self.bad(text, fault));
        }
        (self.files)(&name).ok_or_else(|| self.bad(text, format!("there is no file {name} in the folder of the data")))
    }

    /// Takes the memory of as many tables as large as this one.
    ///
    /// Fails with [`ErrorKind::Limit`] if they take more than JSON of this size can need.
    fn take(&mut self, text: &'r RawValue, count: usize, of: &dyn AnyTable) -> Result<()> {
        let memory = (count as u64).saturating_mul(size_of_val(of) as u64);
        match self.memory_left.checked_sub(memory) {
            Some(left) => self.memory_left = left,
            None => {
                let limit = MEMORY.saturating_add(MEMORY_PER_BYTE.saturating_mul(self.text.len() as u64));
                return Err(Error::at(self.offset(text), ErrorKind::Limit { what: "bytes of memory", limit }));
            }
        }
        Ok(())
    }

    /// Returns the entries of an object, in order.
    fn object(&self, text: &'r RawValue) -> Result<Vec<(Cow<'r, str>, &'r RawValue)>> {
        self.parse(text).map(|Entries(entries)| entries)
    }

    fn parse<T: Deserialize<'r>>(&self, text: &'r RawValue) -> Result<T> {
        self.seeded(text, core::marker::PhantomData)
    }

    fn seeded<S: DeserializeSeed<'r>>(&self, text: &'r RawValue, seed: S) -> Result<S::Value> {
        let value = seed.deserialize(&mut serde_json::Deserializer::from_str(text.get()));
        value.map_err(|error| self.located(Error::of_json(FORMAT, text.get(), self.offset(text), &error)))
    }

    fn offset(&self, text: &'r RawValue) -> usize {
        offset_in(self.text.as_bytes(), text.get().as_bytes()).unwrap_or_default() as usize
    }

    fn bad(&self, text: &'r RawValue, fault: impl Into<Cow<'static, str>>) -> Error {
        self.located(Error::other(FORMAT, self.offset(text), fault))
    }

    /// Adds the line, by which editors find the place.
    fn located(&self, error: Error) -> Error {
        let (ErrorKind::Other { fault, .. }, Some(offset)) = (error.kind(), error.offset()) else { return error };
        let before = self.text.as_bytes().get(..offset as usize).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Error::other(FORMAT, offset as usize, format!("line {line}: {fault}"))
    }
}

/// Returns the entry of a table with a name: the index of its field, and `true` for the type of a union.
fn entry_of(description: &TableDescription, name: &str) -> Option<(usize, bool)> {
    let renamed = RENAMED.into_iter().find(|(table, old, _)| *table == description.name && *old == name);
    let name = renamed.map_or(name, |(_, _, new)| new);
    let fields = || description.fields.iter().enumerate();
    if let Some((index, _)) = fields().find(|(_, field)| field.name == name) {
        return Some((index, false));
    }
    let of = name.strip_suffix("_type")?;
    fields()
        .find(|(_, field)| field.name == of && matches!(field.kind, FieldKind::Union(_)))
        .map(|(index, _)| (index, true))
}

fn unknown(description: &TableDescription, name: &str) -> String {
    let mut fields = String::new();
    for field in description.fields {
        if !fields.is_empty() {
            fields += ", ";
        }
        fields += field.name;
    }
    format!("{} has no field {:?}, expected one of {fields}", description.name, shortened(name))
}

fn members(union: &UnionDescription) -> String {
    let mut names = String::from("NONE");
    for member in union.members {
        names += ", ";
        names += member.name;
    }
    names
}

/// Names the entry of a union's type in an error.
fn with_type(error: Error, name: &str) -> Error {
    match (error.kind(), error.offset()) {
        (ErrorKind::Other { fault, .. }, Some(offset)) => {
            let (line, fault) = fault.split_once(": ").unwrap_or(("", fault));
            Error::other(FORMAT, offset as usize, format!("{line}: {name}_type: {fault}"))
        }
        _ => error,
    }
}

/// Returns `true` if a text is the name of a file, and not a path or the name of something else.
pub(super) fn is_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('.') && name.bytes().all(is_good)
}

/// A text, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
pub(super) struct Text<'r>(#[serde(borrow)] pub(super) Cow<'r, str>);

/// The entries of an object.
struct Entries<'r>(Vec<(Cow<'r, str>, &'r RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> core::result::Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object, for a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> core::result::Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
