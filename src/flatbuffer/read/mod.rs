//! Reading: nom parsers for the parts of a FlatBuffer. All bytes are checked before they are used.
//!
//! A FlatBuffer is not a stream, so nom's input is not the rest of a slice. For [`TableParser`], [`Numbers`], [`TextParser`] and
//! [`List`] it is a [`Place`], a position in the whole buffer. For the fields of a table ([`Scalar`], [`Optional`], and the parser
//! that `union!` generates) it is a [`Table`] and its next field. The rest that a parser returns is the same `Place`, or the same
//! table at the field after.
//!
//! All parsers respect nom's output modes: under `Check` they build and allocate nothing. (nom's own tuples build even
//! under `Check`, so `table!` runs the parsers of a table's fields in sequence itself.)
//!
//! The checks are those of ExecuTorch's own reader, which is the C++ verifier of FlatBuffers: offsets, vtables, vectors and
//! strings are inside the buffer, fields are aligned. Other faults, which that verifier accepts, are reported by the strict rules
//! of `validate`.

mod buffer;
mod table;
mod vector;

pub(super) use buffer::Buffer;
pub use buffer::Limits;
pub(crate) use buffer::{MAX_SIZE, Place};
pub(crate) use table::{
    Boxed, Code, MAX_FIELDS, Optional, PresentScalar, Record, Scalar, Table, TableParser, UnknownTable, WITHOUT_VALUE,
    union,
};
pub(crate) use vector::{List, Numbers, TextParser};

use crate::error::{Error, ErrorKind, Result};
use alloc::format;
use nom::{Check, Complete, Emit, OutputM, OutputMode, PResult, Parser};

/// The root table of a FlatBuffer, whose offset is at the input position.
struct Root<P>(P);

impl<'s, 'a, P: Parser<Place<'s, 'a>, Error = Error>> Parser<Place<'s, 'a>> for Root<P> {
    type Output = P::Output;
    type Error = Error;

    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        self.0.process::<OM>(place.follow(place.u32(place.position).unwrap_or_default())?)
    }
}

/// Reads a whole FlatBuffer. Also returns how many tables have fields that the schema does not know.
pub(crate) fn decode<'a, P, T>(root: P, bytes: &'a [u8], limits: &Limits) -> Result<(T, u32)>
where
    P: for<'s> Parser<Place<'s, 'a>, Output = T, Error = Error>,
{
    decode_at(0, root, bytes, limits)
}

/// The same for a FlatBuffer that starts at byte `position`, after a size prefix, and is aligned from byte 0 on.
pub(crate) fn decode_at<'a, P, T>(position: u32, root: P, bytes: &'a [u8], limits: &Limits) -> Result<(T, u32)>
where
    P: for<'s> Parser<Place<'s, 'a>, Output = T, Error = Error>,
{
    let buffer = Buffer::new(bytes, limits)?;
    match Root(root).process::<OutputM<Emit, Emit, Complete>>(Place { buffer: &buffer, position }) {
        Ok((_, value)) => Ok((value, buffer.newer_tables.get())),
        Err(error) => Err(fault(error)),
    }
}

/// Checks a whole FlatBuffer with the same parsers, without building anything.
pub(crate) fn check<'a, P, T>(root: P, bytes: &'a [u8], limits: &Limits) -> Result<()>
where
    P: for<'s> Parser<Place<'s, 'a>, Output = T, Error = Error>,
{
    check_at(0, root, bytes, limits)
}

/// The same for a FlatBuffer that starts at byte `position`, as for [`decode_at`].
pub(crate) fn check_at<'a, P, T>(position: u32, root: P, bytes: &'a [u8], limits: &Limits) -> Result<()>
where
    P: for<'s> Parser<Place<'s, 'a>, Output = T, Error = Error>,
{
    let buffer = Buffer::new(bytes, limits)?;
    match Root(root).process::<OutputM<Check, Emit, Complete>>(Place { buffer: &buffer, position }) {
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

/// Errors are final: no parser here tries an alternative.
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
