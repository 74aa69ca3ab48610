//! The wire format of Protocol Buffers: the fields of a message, without a schema.

use crate::error::{Error, ErrorKind, Result};
use alloc::{format, string::String};

/// A message, and its place in the file.
#[derive(Clone, Copy)]
pub(super) struct Message<'p> {
    bytes: &'p [u8],
    /// The start, in bytes from the start of the payload.
    offset: usize,
}

/// A field of a message.
#[derive(Clone, Copy)]
pub(super) struct Field<'p> {
    pub(super) number: u64,
    pub(super) value: FieldValue<'p>,
    /// The start of the value, in bytes from the start of the payload.
    pub(super) offset: usize,
}

/// The value of a field, by its type on the wire.
#[derive(Clone, Copy)]
pub(super) enum FieldValue<'p> {
    Varint(u64),
    Fixed64(u64),
    /// A text, bytes, a message or a packed list.
    Bytes(&'p [u8]),
    Fixed32(u32),
}

impl<'p> Message<'p> {
    /// Creates the message of some bytes, whose offset in the payload is given.
    pub(super) fn new(bytes: &'p [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// Iterates over the fields, in the order of the file. Fails with [`ErrorKind::Header`] at a field that is broken, and ends there.
    pub(super) fn fields(self) -> impl Iterator<Item = Result<Field<'p>>> {
        let mut rest = self.bytes;
        core::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let field = self.field(&mut rest);
            if field.is_err() {
                rest = &[];
            }
            Some(field)
        })
    }

    fn field(self, rest: &mut &'p [u8]) -> Result<Field<'p>> {
        let start = self.place(rest);
        let key = varint(rest).ok_or_else(|| bad(start, "a number that is cut off, or longer than 10 bytes"))?;
        let (number, kind) = (key >> 3, key & 7);
        let cut_off = || bad(start, format!("field {number} is longer than its message"));
        let mut offset = self.place(rest);
        let value = match kind {
            0 => FieldValue::Varint(varint(rest).ok_or_else(cut_off)?),
            1 => FieldValue::Fixed64(u64::from_le_bytes(
                *take(rest, 8).and_then(<[u8]>::first_chunk).ok_or_else(cut_off)?,
            )),
            2 => {
                let size = varint(rest).and_then(|size| usize::try_from(size).ok()).ok_or_else(cut_off)?;
                offset = self.place(rest);
                FieldValue::Bytes(take(rest, size).ok_or_else(cut_off)?)
            }
            5 => FieldValue::Fixed32(u32::from_le_bytes(
                *take(rest, 4).and_then(<[u8]>::first_chunk).ok_or_else(cut_off)?,
            )),
            kind => return Err(bad(start, format!("field {number} has the type {kind}, expected 0, 1, 2 or 5"))),
        };
        Ok(Field { number, value, offset })
    }

    /// Returns the offset in the payload of what is left of this message.
    fn place(self, rest: &[u8]) -> usize {
        self.offset.saturating_add(self.bytes.len().saturating_sub(rest.len()))
    }
}

impl<'p> Field<'p> {
    /// Returns the message in this field. Fails if the field has another type.
    pub(super) fn message(&self) -> Result<Message<'p>> {
        Ok(Message::new(self.bytes()?, self.offset))
    }

    /// Returns the text in this field. Fails if the field has another type, or is not UTF-8.
    pub(super) fn text(&self) -> Result<&'p str> {
        core::str::from_utf8(self.bytes()?)
            .map_err(|error| bad(self.offset, format!("a text that is not UTF-8: {error}")))
    }

    /// Returns the bytes of this field. Fails if the field has another type.
    pub(super) fn bytes(&self) -> Result<&'p [u8]> {
        match self.value {
            FieldValue::Bytes(bytes) => Ok(bytes),
            _ => Err(bad(self.offset, format!("field {} is a number, expected bytes", self.number))),
        }
    }

    /// Returns the number in this field, or 0 for bytes.
    pub(super) fn number(&self) -> u64 {
        match self.value {
            FieldValue::Varint(number) | FieldValue::Fixed64(number) => number,
            FieldValue::Fixed32(number) => number.into(),
            FieldValue::Bytes(_) => 0,
        }
    }
}

/// Takes a number of variable length from the start.
pub(super) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?.first().copied()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take<'p>(rest: &mut &'p [u8], size: usize) -> Option<&'p [u8]> {
    let (taken, after) = rest.split_at_checked(size)?;
    *rest = after;
    Some(taken)
}

#[cold]
fn bad(at: usize, found: impl Into<String>) -> Error {
    let found: String = found.into();
    Error::at(at, ErrorKind::Header(format!("a message of Protocol Buffers: {found}").into()))
}
