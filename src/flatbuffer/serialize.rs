//! Serializes any table in the form that flatc prints: a table is a map, an absent field is left out, a value of an enumeration is
//! its name, a union is its member's name under `x_type` and the member under `x`. Floats that JSON cannot express are the
//! strings `"nan"`, `"inf"` and `"-inf"`.

use super::any::{AnyNumber, AnyNumbers, AnyTable, AnyTables, Value};
use alloc::format;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// Serializes a table.
pub(crate) fn table<S: Serializer>(table: &dyn AnyTable, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    let mut done = Ok(());
    table.for_each_field(&mut |name, value| {
        if done.is_ok() {
            done = entry(&mut map, name, value);
        }
    });
    done?;
    map.end()
}

/// The JSON Schema of any table: its fields are those of ExecuTorch's schema.
#[cfg(feature = "schemars")]
pub(crate) fn schema_of_table(name: &str) -> schemars::Schema {
    let description = format!("The table `{name}` of ExecuTorch's schema, as flatc prints it.");
    schemars::json_schema!({"type": "object", "description": description, "additionalProperties": true})
}

/// Adds a field to its table's map.
pub(crate) fn entry<M: SerializeMap>(map: &mut M, name: &'static str, value: Value<'_>) -> Result<(), M::Error> {
    match value {
        Value::Absent => Ok(()),
        Value::Number(number) => map.serialize_entry(name, &number),
        Value::Enum { name: Some(value), .. } => map.serialize_entry(name, value),
        Value::Enum { number, .. } => map.serialize_entry(name, &number),
        Value::Text(text) => map.serialize_entry(name, text.as_str()),
        Value::Numbers(numbers) => map.serialize_entry(name, &Numbers(numbers)),
        Value::Table(table) => map.serialize_entry(name, table),
        Value::Tables(tables) => map.serialize_entry(name, &Tables(tables)),
        Value::Union { name: member_name, tag, member } => {
            let key = format!("{name}_type");
            match member_name {
                Some(member_name) => map.serialize_entry(&key, member_name)?,
                None => map.serialize_entry(&key, &tag)?,
            }
            match member {
                Some(member) => map.serialize_entry(name, member),
                None if tag > 0 => map.serialize_entry(name, &Empty),
                None => Ok(()),
            }
        }
    }
}

impl Serialize for dyn AnyTable + '_ {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        table(self, serializer)
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

struct Tables<'t>(&'t dyn AnyTables);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for table in (0..self.0.len()).filter_map(|index| self.0.get(index)) {
            list.serialize_element(table)?;
        }
        list.end()
    }
}

/// A union member that the schema does not know: an empty map.
struct Empty;

impl Serialize for Empty {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_map(Some(0))?.end()
    }
}
