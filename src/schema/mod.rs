//! The tree: a struct for every table and an enum for every union of the two schemas, with the schema's own names.
//!
//! A table is stated once, as a struct inside `table!`: its fields in the order of their ids. From that come the
//! decoder, the encoder, and what else works field by field, so a new field is one line. Everything is public and
//! plain: build it, change it, compare it.
//!
//! What is absent in a file is `None`; a vector that is present and empty is `Some` of an empty one. Lists of numbers
//! and strings borrow from the input where they can.

mod build;
pub mod flat_tensor;
mod macros;
pub mod program;
mod scalar_type;
#[cfg(feature = "serde")]
mod serialize;

pub use flat_tensor::FlatTensor;
pub use program::Program;
pub use scalar_type::ScalarType;

use crate::error::{Error, Result};
use crate::flatbuffer::field::IntoOwned;
use crate::flatbuffer::read::{Place, UnknownTable};
use crate::flatbuffer::write::{Builder, Encode, Position, Row};
use alloc::format;
use macros::table;
use nom::{Mode, OutputMode, PResult, Parser};

table! {
    /// One data segment: where it lies, relative to the segment base offset. Both schemas have this table.
    #[derive(Copy, Eq)]
    pub struct DataSegment {
        /// Bytes from the segment base offset.
        pub offset: u64,
        /// Bytes.
        pub size: u64,
    }
}

/// A member of a union that this crate does not know, from a later version of the schema.
///
/// Its tag is kept. What its table holds is not, since nothing says which of its fields are offsets: such a value can
/// only be written back where it holds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// The union's tag.
    pub tag: u8,
    /// Whether its table holds anything.
    pub has_fields: bool,
}

impl IntoOwned for Unknown {
    type Owned = Self;

    fn into_owned(self) -> Self {
        self
    }
}

impl Encode for Unknown {
    fn encode(&self, builder: &mut Builder) -> Result<Position> {
        if self.has_fields {
            let reason = format!("member {} of a union, of a newer schema, with fields that would be lost", self.tag);
            return Err(Error::new(crate::ErrorKind::Unwritable(reason.into())));
        }
        builder.table(&Row::<0>::new())
    }
}

#[derive(Default)]
struct UnknownParser {
    tag: u8,
    table: UnknownTable,
}

impl<'s, 'a> Parser<Place<'s, 'a>> for UnknownParser {
    type Output = Unknown;
    type Error = Error;

    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Unknown, Error> {
        let (place, has_fields) = self.table.process::<OM>(place)?;
        Ok((place, OM::Output::map(has_fields, |has_fields| Unknown { tag: self.tag, has_fields })))
    }
}
