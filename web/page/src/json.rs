//! JSON for the page. It goes into memory, which does not fail, so that there is no error to pass on after each comma: `serde_json`, which
//! writes to anything, takes twice as much of the module, and 10 KB of tables for floats.

use serde::Serialize;
use serde::ser;
use std::fmt::{self, Display, Write};

/// As JSON.
pub fn json(value: &(impl Serialize + ?Sized)) -> Result<String, String> {
    let mut writer = Writer(String::new());
    match value.serialize(&mut writer) {
        Ok(()) => Ok(writer.0),
        Err(Refused) => Err(Refused.to_string()),
    }
}

/// A type said that it cannot be serialized; none of the library's does.
#[derive(Debug)]
struct Refused;

impl Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an answer has no form in JSON")
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

type Done = Result<(), Refused>;

struct Writer(String);

impl Writer {
    /// A comma, unless what comes is the first of a list or object.
    fn next(&mut self) {
        if !self.0.ends_with(['[', '{']) {
            self.0.push(',');
        }
    }

    fn display(&mut self, value: &dyn Display) -> Done {
        write!(self.0, "{value}").map_err(|_| Refused)
    }

    fn number(&mut self, finite: bool, value: &dyn fmt::Debug) -> Done {
        if !finite {
            return self.raw("null");
        }
        write!(self.0, "{value:?}").map_err(|_| Refused)
    }

    fn raw(&mut self, json: &str) -> Done {
        self.0.push_str(json);
        Ok(())
    }

    fn text(&mut self, text: &str) -> Done {
        self.0.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => self.0.extend(['\\', character]),
                '\0'..' ' => write!(self.0, "\\u{:04x}", character as u32).map_err(|_| Refused)?,
                other => self.0.push(other),
            }
        }
        self.raw("\"")
    }

    fn key(&mut self, key: &str) {
        self.next();
        let _ = self.text(key);
        self.0.push(':');
    }

    /// The start of `{"variant":`.
    fn variant(&mut self, variant: &str, open: &str) {
        self.0.push('{');
        self.key(variant);
        self.0.push_str(open);
    }
}

macro_rules! numbers {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, value: $type) -> Done {
            self.display(&value)
        })*
    };
}

impl<'w> ser::Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Inside<'w>;
    type SerializeTuple = Inside<'w>;
    type SerializeTupleStruct = Inside<'w>;
    type SerializeTupleVariant = Inside<'w>;
    type SerializeMap = Inside<'w>;
    type SerializeStruct = Inside<'w>;
    type SerializeStructVariant = Inside<'w>;

    numbers! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
    }

    fn serialize_f32(self, value: f32) -> Done {
        self.number(value.is_finite(), &value)
    }

    fn serialize_f64(self, value: f64) -> Done {
        self.number(value.is_finite(), &value)
    }

    fn serialize_char(self, value: char) -> Done {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Done {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Done {
        self.raw("null")
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        self.raw("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.raw("null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        self.variant(variant, "");
        value.serialize(&mut *self)?;
        self.raw("}")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'w>, Refused> {
        self.raw("[")?;
        Ok(Inside { writer: self, close: "]" })
    }

    fn serialize_tuple(self, length: usize) -> Result<Inside<'w>, Refused> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Inside<'w>, Refused> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'w>, Refused> {
        self.variant(variant, "[");
        Ok(Inside { writer: self, close: "]}" })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Inside<'w>, Refused> {
        self.raw("{")?;
        Ok(Inside { writer: self, close: "}" })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Inside<'w>, Refused> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'w>, Refused> {
        self.variant(variant, "{");
        Ok(Inside { writer: self, close: "}}" })
    }

    fn collect_str<T: ?Sized + Display>(self, value: &T) -> Done {
        self.text(&value.to_string())
    }
}

/// A list or object whose end is still to come.
struct Inside<'w> {
    writer: &'w mut Writer,
    close: &'static str,
}

impl Inside<'_> {
    fn item<T: ?Sized + Serialize>(&mut self, value: &T) -> Done {
        self.writer.next();
        value.serialize(&mut *self.writer)
    }

    fn field<T: ?Sized + Serialize>(&mut self, key: &str, value: &T) -> Done {
        self.writer.key(key);
        value.serialize(&mut *self.writer)
    }
}

macro_rules! lists {
    ($($trait:ident $method:ident,)*) => {
        $(impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = Refused;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Done {
                self.item(value)
            }

            fn end(self) -> Done {
                self.writer.raw(self.close)
            }
        })*
    };
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! structs {
    ($($trait:ident,)*) => {
        $(impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = Refused;

            fn serialize_field<T: ?Sized + Serialize>(&mut self, key: &'static str, value: &T) -> Done {
                self.field(key, value)
            }

            fn end(self) -> Done {
                self.writer.raw(self.close)
            }
        })*
    };
}

structs! {
    SerializeStruct,
    SerializeStructVariant,
}

impl ser::SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Done {
        let mut text = json(key).map_err(|_| Refused)?;
        // A number as a key is a text.
        if !text.starts_with('"') {
            text = format!("\"{text}\"");
        }
        self.writer.next();
        self.writer.raw(&text)?;
        self.writer.raw(":")
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Done {
        self.writer.raw(self.close)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::{Value, from_str, to_value};
    use std::collections::BTreeMap;

    #[test]
    fn numbers_are_read_as_what_they_were() {
        let numbers = [0.0, -0.0, 0.1, 1e300, -2.5e-310, f64::MAX, 4.0, 1e16];
        assert_eq!(from_str::<Vec<f64>>(&json(&numbers).unwrap()).unwrap(), numbers);
        assert_eq!(
            json(&(f64::NAN, f32::INFINITY, 0.1f32, u64::MAX, -1i8)).unwrap(),
            "[null,null,0.1,18446744073709551615,-1]"
        );
    }

    #[test]
    fn every_form_is_as_in_serde_json() {
        #[derive(Serialize)]
        enum Form {
            Unit,
            One(Option<u8>),
            Two(char, ()),
            Named { a: String, list: Vec<Form> },
        }
        #[derive(Serialize)]
        struct Whole {
            #[serde(flatten)]
            inner: BTreeMap<String, Form>,
            keys: BTreeMap<u32, [bool; 2]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            none: Option<u8>,
            empty: (Vec<u8>, BTreeMap<u8, u8>),
        }
        let text = "\"\\\u{0}\n\u{7f}\u{2028}é[{".to_owned();
        let list = vec![Form::Unit, Form::One(None), Form::One(Some(3)), Form::Two('"', ())];
        let whole = Whole {
            inner: BTreeMap::from([(text.clone(), Form::Named { a: text, list }), ("b".into(), Form::Unit)]),
            keys: BTreeMap::from([(1, [true, false]), (20, [false; 2])]),
            none: None,
            empty: (Vec::new(), BTreeMap::new()),
        };
        assert_eq!(from_str::<Value>(&json(&whole).unwrap()).unwrap(), to_value(&whole).unwrap());
    }
}
