//! Reading: nom parsers for the parts of a FlatBuffer. All bytes are checked before they are used.
//!
//! A FlatBuffer is not a stream, so nom's input is not the rest of a slice. For [`TableParser`], [`Numbers`], [`TextParser`] and
//! [`List`] it is a [`BufferPlace`], a position in the whole buffer. For the fields of a table ([`Scalar`], [`Optional`], and the parser
//! that `union!` generates) it is a [`Table`] and its next field. The rest that a parser returns is the same `BufferPlace`, or the same
//! table at the field after.
//!
//! All parsers respect nom's output modes: under `Check` they build and allocate nothing. (nom's own tuples build even
//! under `Check`, so `table!` runs the parsers of a table's fields in sequence itself.)
//!
//! The checks are those of ExecuTorch's own reader, which is the C++ verifier of FlatBuffers: offsets, vtables, vectors and
//! strings are inside the buffer, fields are aligned. Other faults, which that verifier accepts, are reported by the strict rules
//! of `verify`.

mod buffer;
mod table;
mod vector;

pub(super) use buffer::Buffer;
pub use buffer::Limits;
pub(crate) use buffer::{BufferPlace, MAX_SIZE, ReadStats};
pub(crate) use table::{
    Boxed, MAX_FIELDS, Optional, OptionalScalar, Record, Scalar, Table, TableParser, has_field, union, unknown,
};
pub(crate) use vector::{List, Numbers, TextParser};

use crate::error::{Error, ErrorKind, Result};
use alloc::format;
use nom::{Check, Complete, Emit, OutputM, Parser};

/// Reads a whole FlatBuffer with the parser of its root table. It starts at byte `position`, after a size prefix if it has one; its
/// alignment counts from byte 0.
pub(crate) fn decode_at<'a, P, T>(
    position: u32,
    mut root: P,
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<(T, ReadStats)>
where
    P: for<'s> Parser<BufferPlace<'s, 'a>, Output = T, Error = Error>,
{
    let buffer = Buffer::new(bytes, limits)?;
    match root.process::<OutputM<Emit, Emit, Complete>>(buffer.root(position)?) {
        Ok((_, value)) => Ok((value, buffer.seen())),
        Err(error) => Err(fault(error)),
    }
}

/// Checks a whole FlatBuffer with the same parsers, without building anything. See [`decode_at`].
pub(crate) fn check_at<'a, P, T>(position: u32, mut root: P, bytes: &'a [u8], limits: &Limits) -> Result<()>
where
    P: for<'s> Parser<BufferPlace<'s, 'a>, Output = T, Error = Error>,
{
    let buffer = Buffer::new(bytes, limits)?;
    match root.process::<OutputM<Check, Emit, Complete>>(buffer.root(position)?) {
        Ok(_) => Ok(()),
        Err(error) => Err(fault(error)),
    }
}

/// Does the same as [`decode_at`] for the table of a type.
pub(crate) fn read_at<'a, T: Record<'a>>(position: u32, bytes: &'a [u8], limits: &Limits) -> Result<(T, ReadStats)> {
    decode_at(position, TableParser::<T>::default(), bytes, limits)
}

#[cold]
fn fault(error: nom::Err<Error>) -> Error {
    match error {
        nom::Err::Error(error) | nom::Err::Failure(error) => error,
        // No parser here streams.
        nom::Err::Incomplete(needed) => Error::new(ErrorKind::Table(format!("{needed:?}").into())),
    }
}

/// Makes a final error, since no parser here tries an alternative. It is a function because `From` would make nom part
/// of the public API.
#[cold]
pub(crate) fn fatal<E>(error: Error) -> nom::Err<Error, E> {
    nom::Err::Failure(error)
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
