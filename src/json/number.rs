//! Numbers in JSON, as the bits of a field.

use crate::flatbuffer::description::NumberKind;
use crate::flatbuffer::serialize::{NAN_32, NAN_64};
use alloc::{format, vec::Vec};
use core::fmt;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A number of a kind: its bits.
#[derive(Clone, Copy)]
pub(super) struct NumberOf(pub(super) NumberKind);

impl<'de> DeserializeSeed<'de> for NumberOf {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        match self.0 {
            // A number is rounded once, to the precision of its type; a text is not a number to this deserializer.
            NumberKind::F32 => {
                let text = <&RawValue>::deserialize(deserializer)?.get();
                let mut from = serde_json::Deserializer::from_str(text);
                let bits = if text.starts_with('"') { from.deserialize_any(self) } else { from.deserialize_f32(self) };
                bits.map_err(D::Error::custom)
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl Visitor<'_> for NumberOf {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            NumberKind::Bool => f.write_str("true or false"),
            NumberKind::F32 | NumberKind::F64 => f.write_str("a number, \"nan\", \"inf\" or \"-inf\""),
            kind => {
                let (least, most) = limits(kind);
                write!(f, "a whole number from {least} to {most}")
            }
        }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<u64, E> {
        match self.0 {
            NumberKind::Bool => Ok(value.into()),
            _ => Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self)),
        }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        self.whole(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        self.whole(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        match self.0 {
            NumberKind::F32 if value.is_finite() && (value as f32).is_finite() => Ok((value as f32).to_bits().into()),
            NumberKind::F64 if value.is_finite() => Ok(value.to_bits()),
            _ => Err(E::invalid_value(serde::de::Unexpected::Float(value), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let bits = match (self.0, unsigned) {
            (NumberKind::F32, "inf" | "infinity") => Some(f32::INFINITY.to_bits().into()),
            (NumberKind::F64, "inf" | "infinity") => Some(f64::INFINITY.to_bits()),
            (NumberKind::F32, "nan") => Some(NAN_32.into()),
            (NumberKind::F64, "nan") => Some(NAN_64),
            (kind @ (NumberKind::F32 | NumberKind::F64), _) => return nan(kind, text).ok_or_else(|| self.not(text)),
            _ => None,
        };
        let sign = if text.starts_with('-') { 1 << (8 * self.0.size() - 1) } else { 0 };
        bits.map(|bits: u64| bits | sign).ok_or_else(|| self.not(text))
    }
}

impl NumberOf {
    fn whole<E: Error>(self, value: i128) -> Result<u64, E> {
        let (least, most) = limits(self.0);
        match self.0 {
            NumberKind::F32 => Ok((value as f32).to_bits().into()),
            NumberKind::F64 => Ok((value as f64).to_bits()),
            _ if (least..=most).contains(&value) => Ok(value as u64),
            _ => Err(E::custom(format!("invalid value: integer `{value}`, expected {}", Expected(self)))),
        }
    }

    fn not<E: Error>(self, text: &str) -> E {
        E::invalid_value(serde::de::Unexpected::Str(&crate::names::shortened(text)), &self)
    }
}

struct Expected(NumberOf);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }
}

/// Returns a NaN by its bits: `nan(0x7fc00001)`.
fn nan(kind: NumberKind, text: &str) -> Option<u64> {
    let digits = text.strip_prefix("nan(0x")?.strip_suffix(')')?;
    let bits = u64::from_str_radix(digits, 16).ok()?;
    let is_nan = match kind {
        NumberKind::F32 => f32::from_bits(u32::try_from(bits).ok()?).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    };
    is_nan.then_some(bits)
}

/// Returns the least and the most that a whole number of a kind can be.
fn limits(kind: NumberKind) -> (i128, i128) {
    match kind {
        NumberKind::Bool => (0, 1),
        NumberKind::I8 => (i8::MIN.into(), i8::MAX.into()),
        NumberKind::U8 => (0, u8::MAX.into()),
        NumberKind::I16 => (i16::MIN.into(), i16::MAX.into()),
        NumberKind::U16 => (0, u16::MAX.into()),
        NumberKind::I32 => (i32::MIN.into(), i32::MAX.into()),
        NumberKind::U32 => (0, u32::MAX.into()),
        NumberKind::I64 | NumberKind::F32 | NumberKind::F64 => (i64::MIN.into(), i64::MAX.into()),
        NumberKind::U64 => (0, u64::MAX.into()),
    }
}

/// A list of numbers of a kind: their bytes, as a file stores them. `at` is the index of the item being read.
pub(super) struct NumbersOf<'i> {
    pub(super) kind: NumberKind,
    pub(super) at: &'i mut Option<usize>,
}

impl<'de> DeserializeSeed<'de> for NumbersOf<'_> {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NumbersOf<'_> {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, or {\"file\": NAME} in the folder of the data")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u8>, A::Error> {
        let (size, mut bytes) = (self.kind.size(), Vec::new());
        loop {
            *self.at = Some(bytes.len() / size);
            let Some(bits) = items.next_element_seed(NumberOf(self.kind))? else { break };
            bytes.extend(bits.to_le_bytes().into_iter().take(size));
        }
        *self.at = None;
        Ok(bytes)
    }
}
