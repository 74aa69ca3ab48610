//! Reading: nom parsers for what a FlatBuffer is made of. Everything is checked on the way; nothing is read from bytes
//! that were not.
//!
//! A FlatBuffer is not a stream, so nom's input is not the rest of a slice but a [`Place`] in the whole buffer (for
//! what stands there: [`TableParser`], [`Numbers`], [`Text`], [`List`]) or a [`Table`] with its next field (for what a
//! table holds: [`Scalar`], [`Optional`]; a union's parser comes with the schema). The rest that a parser hands
//! back is the same place, or the same table at the field behind.
//!
//! All parsers keep nom's output modes: under `Check` they build and allocate nothing. (nom's own tuples do
//! build under `Check`, so a table's fields are put in sequence by the `table!` macro of `schema`.)

mod buffer;
mod table;
mod vector;

pub use buffer::Limits;
pub(crate) use buffer::{MAX_SIZE, Place};
pub(crate) use table::{Boxed, MAX_FIELDS, Optional, Record, Scalar, Sizes, Table, TableParser, UnknownTable, union};
pub(crate) use vector::{AlignedBytes, List, Numbers, Text};

use crate::error::{Error, ErrorKind, Result};
use alloc::format;
use buffer::Buffer;
use nom::{Check, Complete, Emit, OutputM, OutputMode, PResult, Parser};

/// The root table of a FlatBuffer, from its start.
struct Root<P>(P);

impl<'s, 'a, P: Parser<Place<'s, 'a>, Error = Error>> Parser<Place<'s, 'a>> for Root<P> {
    type Output = P::Output;
    type Error = Error;

    fn process<OM: OutputMode>(&mut self, start: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        self.0.process::<OM>(start.follow(start.u32(0).unwrap_or_default())?)
    }
}

/// Reads a whole FlatBuffer. Says also how many tables have fields that the schema does not know.
pub(crate) fn decode<'a, P, T>(root: P, bytes: &'a [u8], limits: &Limits) -> Result<(T, u32)>
where
    P: for<'s> Parser<Place<'s, 'a>, Output = T, Error = Error>,
{
    let buffer = Buffer::new(bytes, limits)?;
    match Root(root).process::<OutputM<Emit, Emit, Complete>>(Place { buffer: &buffer, position: 0 }) {
        Ok((_, value)) => Ok((value, buffer.newer_tables.get())),
        Err(error) => Err(fault(error)),
    }
}

/// Checks a whole FlatBuffer: the same grammar, with nothing built.
pub(crate) fn check<'a, P, T>(root: P, bytes: &'a [u8], limits: &Limits) -> Result<()>
where
    P: for<'s> Parser<Place<'s, 'a>, Output = T, Error = Error>,
{
    let buffer = Buffer::new(bytes, limits)?;
    match Root(root).process::<OutputM<Check, Emit, Complete>>(Place { buffer: &buffer, position: 0 }) {
        Ok(_) => Ok(()),
        Err(error) => Err(fault(error)),
    }
}

#[cold]
fn fault(error: nom::Err<Error>) -> Error {
    match error {
        nom::Err::Error(error) | nom::Err::Failure(error) => error,
        // No parser here streams.
        nom::Err::Incomplete(needed) => Error::new(ErrorKind::Table(format!("{needed:?}").into())),
    }
}

/// Faults are final: no parser here tries another way.
impl<E> From<Error> for nom::Err<Error, E> {
    #[cold]
    fn from(error: Error) -> Self {
        nom::Err::Failure(error)
    }
}

#[cold]
fn in_item<E>(error: nom::Err<Error, E>, index: usize) -> nom::Err<Error, E> {
    match error {
        nom::Err::Failure(error) => nom::Err::Failure(error.in_item(index)),
        other => other,
    }
}

/// Adds a field's name to the path of an error that comes from it.
#[cold]
pub(crate) fn in_field<E>(error: nom::Err<Error, E>, name: &'static str) -> nom::Err<Error, E> {
    match error {
        nom::Err::Failure(error) => nom::Err::Failure(error.in_field(name)),
        other => other,
    }
}
