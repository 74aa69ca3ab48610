//! Members of unions that a schema does not know.

use super::field::IntoOwned;
use super::read::{Place, UnknownTable, WITHOUT_VALUE};
use super::write::{Builder, Position, Row};
use crate::error::{Error, Result};
use alloc::format;
use nom::{Mode, OutputMode, PResult, Parser};

/// A member of a union that this crate does not know, a tag without a value, or a value without a tag.
///
/// The tag is kept. The contents of the value's table are not, since nothing says which of its fields are offsets. Such a value
/// can be written back only if its table has no fields, or if the whole program is unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unknown {
    /// The union's tag.
    pub tag: u8,
    /// What is known of the value.
    pub value: UnknownValue,
}

/// The value of a union whose table is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnknownValue {
    /// There is a tag, but no value.
    #[default]
    Absent,
    /// A table without fields.
    Empty,
    /// A table with fields.
    Filled,
}

impl Unknown {
    pub(crate) fn empty(tag: u8) -> Self {
        Self { tag, value: UnknownValue::Empty }
    }

    /// Writes its table, if it has one.
    pub(crate) fn encode(&self, builder: &mut Builder) -> Result<Option<Position>> {
        match self.value {
            UnknownValue::Absent => Ok(None),
            UnknownValue::Empty => builder.table(&[], &Row::new()).map(Some),
            UnknownValue::Filled => {
                let tag = self.tag;
                Err(Error::unwritable(format!(
                    "union member {tag} is of a newer schema and has fields that would be lost"
                )))
            }
        }
    }
}

impl IntoOwned for Unknown {
    type Owned = Self;

    fn into_owned(self) -> Self {
        self
    }
}

/// The table of a member that is not known.
#[derive(Default)]
pub(crate) struct UnknownParser {
    /// The union's tag, see `union`.
    pub(crate) tag: u16,
    table: UnknownTable,
}

impl<'s, 'a> Parser<Place<'s, 'a>> for UnknownParser {
    type Output = Unknown;
    type Error = Error;

    #[cold]
    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Unknown, Error> {
        let unknown = OM::Output::bind(|| {
            let value = match self.table.has_fields(place) {
                _ if self.tag >= WITHOUT_VALUE => UnknownValue::Absent,
                true => UnknownValue::Filled,
                false => UnknownValue::Empty,
            };
            Unknown { tag: self.tag as u8, value }
        });
        Ok((place, unknown))
    }
}
