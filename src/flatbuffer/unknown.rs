//! Members of unions that a schema does not know.

use super::field::IntoOwned;
use super::form::TableLayout;
use super::write::{Builder, InlineFields, Position};
use crate::error::{Error, Result};
use alloc::format;

/// A member of a union that this crate does not know, a tag without a value, or a value without a tag.
///
/// The tag is kept. The contents of the value's table are not, since it is not known which of its fields are offsets.
/// Such a value can be written back only if its table has no fields, or if the whole program is unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unknown {
    /// The union's tag.
    pub tag: u8,
    /// The known part of the value.
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
    #[cfg(any(test, feature = "write"))]
    pub(crate) fn empty(tag: u8) -> Self {
        Self { tag, value: UnknownValue::Empty }
    }

    /// Writes its table, if it has one.
    pub(crate) fn encode(&self, builder: &mut Builder) -> Result<Option<Position>> {
        match self.value {
            UnknownValue::Absent => Ok(None),
            UnknownValue::Empty => builder.table(const { TableLayout::of(&[]) }, &InlineFields::new(&mut [])).map(Some),
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
