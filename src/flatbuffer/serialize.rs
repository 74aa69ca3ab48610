//! Serializes any table in the form that flatc prints: a table is a map, an absent field is left out, a value of an enumeration is
//! its name, a union is its member's name under `x_type` and the member under `x`. Floats that JSON cannot express are the
//! strings `"nan"`, `"inf"` and `"-inf"`; a NaN with other bits than the usual ones is `"nan(0x7fc00001)"`.

use super::any::{AnyField, AnyNumber, AnyNumbers, AnyTable, AnyTables, Value};
use super::description::FieldKind;
use crate::path::Path;
use alloc::string::String;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// The bits of the usual NaN.
pub(crate) const NAN_32: u32 = 0x7fc0_0000;
pub(crate) const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// The key under which the name of a file is, in place of the bytes in it.
pub(crate) const FILE: &str = "file";

/// The file for the list at a path, with the kind of its field, or for the table there.
pub(crate) type FileOf<'p> = &'p dyn Fn(&Path<'_>, Option<&FieldKind>) -> Option<String>;

/// The place of a table, and the bytes that are in files instead of the JSON.
#[derive(Clone, Copy)]
pub(crate) struct At<'p> {
    pub(crate) path: &'p Path<'p>,
    pub(crate) file_of: Option<FileOf<'p>>,
}

impl At<'_> {
    /// All bytes are in the JSON.
    pub(crate) const INLINE: At<'static> = At { path: &Path::ROOT, file_of: None };
}

/// Serializes a table.
pub(crate) fn table<S: Serializer>(table: &dyn AnyTable, at: At<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (index, field) in table.description().fields.iter().enumerate() {
        let Some(value) = table.field(index).map(AnyField::value) else { continue };
        let path = at.path.field(field.name);
        let file_of = at.file_of.filter(|_| matches!(&value, Value::Numbers(numbers) if !numbers.is_empty()));
        match file_of.and_then(|file_of| file_of(&path, Some(&field.kind))) {
            Some(file) => map.serialize_entry(field.name, &InFile(&file))?,
            None => entry(&mut map, field.name, value, at)?,
        }
    }
    if let Some(file) = at.file_of.and_then(|file_of| file_of(at.path, None)) {
        map.serialize_entry(FILE, &file)?;
    }
    map.end()
}

/// Returns the JSON Schema of any table: its fields are those of ExecuTorch's schema.
#[cfg(feature = "schemars")]
pub(crate) fn schema_of_table(name: &str) -> schemars::Schema {
    let description = alloc::format!("The table `{name}` of ExecuTorch's schema, as flatc prints it.");
    schemars::json_schema!({"type": "object", "description": description, "additionalProperties": true})
}

/// Adds a field to its table's map.
pub(crate) fn entry<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: Value<'_>,
    at: At<'_>,
) -> Result<(), M::Error> {
    let path = &at.path.field(name);
    let at = At { path, ..at };
    match value {
        Value::Absent => Ok(()),
        Value::Number(number) => map.serialize_entry(name, &number),
        Value::Enum { name: Some(value), .. } => map.serialize_entry(name, value),
        Value::Enum { number, .. } => map.serialize_entry(name, &number),
        Value::Text(text) => map.serialize_entry(name, text.as_str()),
        Value::Numbers(numbers) => map.serialize_entry(name, &Numbers(numbers)),
        Value::Table(table) => map.serialize_entry(name, &Table(table, at)),
        Value::Tables(tables) => map.serialize_entry(name, &Tables(tables, at)),
        Value::Union { name: member_name, tag, member } => {
            let key = [name, "_type"].concat();
            match member_name {
                Some(member_name) => map.serialize_entry(&key, member_name)?,
                None => map.serialize_entry(&key, &tag)?,
            }
            let path = &path.field(member_name.unwrap_or_default());
            match member {
                Some(member) => map.serialize_entry(name, &Table(member, At { path, ..at })),
                None if tag > 0 => map.serialize_entry(name, &Empty),
                None => Ok(()),
            }
        }
    }
}

impl Serialize for dyn AnyTable + '_ {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        table(self, At::INLINE, serializer)
    }
}

impl Serialize for AnyNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Bool(number) => serializer.serialize_bool(number),
            Self::Signed(number) => serializer.serialize_i64(number),
            Self::Unsigned(number) => serializer.serialize_u64(number),
            Self::Float(number) if number.is_finite() => serializer.serialize_f32(number),
            Self::Double(number) if number.is_finite() => serializer.serialize_f64(number),
            Self::Float(number) if number.is_nan() && number.to_bits() != NAN_32 => {
                serializer.collect_str(&format_args!("nan({:#x})", number.to_bits()))
            }
            Self::Double(number) if number.is_nan() && number.to_bits() != NAN_64 => {
                serializer.collect_str(&format_args!("nan({:#x})", number.to_bits()))
            }
            Self::Float(number) => serializer.serialize_str(not_finite(number.into())),
            Self::Double(number) => serializer.serialize_str(not_finite(number)),
        }
    }
}

fn not_finite(number: f64) -> &'static str {
    match number {
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => "nan",
    }
}

struct Numbers<'t>(AnyNumbers<'t>);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for number in self.0.iter() {
            list.serialize_element(&number)?;
        }
        list.end()
    }
}

struct Table<'t>(&'t dyn AnyTable, At<'t>);

impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        table(self.0, self.1, serializer)
    }
}

struct Tables<'t>(&'t dyn AnyTables, At<'t>);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (index, table) in (0..self.0.len()).filter_map(|index| Some((index, self.0.get(index)?))) {
            list.serialize_element(&Table(table, At { path: &self.1.path.index(index), ..self.1 }))?;
        }
        list.end()
    }
}

/// The name of a file, in place of the bytes in it.
struct InFile<'t>(&'t str);

impl Serialize for InFile<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(FILE, self.0)?;
        map.end()
    }
}

/// A union member that the schema does not know: an empty map.
struct Empty;

impl Serialize for Empty {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_map(Some(0))?.end()
    }
}
