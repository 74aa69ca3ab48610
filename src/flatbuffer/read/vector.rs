//! Vectors: of numbers, of bytes, of offsets; and strings.

use super::buffer::{Place, fault};
use super::in_item;
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::number::Number;
use alloc::{borrow::Cow, format, vec::Vec};
use core::marker::PhantomData;
use nom::{Mode, OutputMode, PResult, Parser};

/// A string: UTF-8 with a NUL behind it that its count leaves out.
#[derive(Default)]
pub(crate) struct Text;

impl<'s, 'a> Parser<Place<'s, 'a>> for Text {
    type Output = Cow<'a, str>;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        let (count, first) = place.count()?;
        let Some((bytes, nul)) = place.buffer.bytes.get(first as usize..).and_then(|bytes| {
            let (bytes, behind) = bytes.split_at_checked(count as usize)?;
            Some((bytes, *behind.first()?))
        }) else {
            return Err(place.short(count, 1).into());
        };
        place.spend(count as usize + 5)?;
        match core::str::from_utf8(bytes) {
            Ok(text) if nul == 0 => Ok((place, OM::Output::bind(|| Cow::Borrowed(text)))),
            Ok(_) => Err(fault(first.wrapping_add(count), ErrorKind::Text("no NUL behind it".into())).into()),
            Err(error) => Err(bad_text(first, &error).into()),
        }
    }
}

#[cold]
fn bad_text(first: u32, error: &core::str::Utf8Error) -> Error {
    fault(first.saturating_add(error.valid_up_to() as u32), ErrorKind::Text("not UTF-8 from here on".into()))
}

/// A vector of numbers, side by side.
pub(crate) struct Numbers<T>(PhantomData<T>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'s, 'a, T: Number> Parser<Place<'s, 'a>> for Numbers<T>
where
    [T]: alloc::borrow::ToOwned<Owned = Vec<T>>,
{
    type Output = Cow<'a, [T]>;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        let bytes = numbers::<T>(place, T::SIZE)?;
        Ok((place, OM::Output::bind(|| T::slice(bytes))))
    }
}

/// The bytes of a vector of numbers whose first element is aligned to `alignment`.
#[inline(always)]
fn numbers<'a, T: Number>(place: Place<'_, 'a>, alignment: usize) -> Result<&'a [u8]> {
    let (count, first) = place.count()?;
    let Some(bytes) = (count as usize).checked_mul(T::SIZE).and_then(|size| place.get(first, size)) else {
        return Err(place.short(count, T::SIZE));
    };
    // flatc leaves an empty vector where it comes to lie.
    if alignment > 4 && !bytes.is_empty() && (first as usize) % alignment != 0 {
        return Err(misaligned(first, alignment));
    }
    place.spend(bytes.len() + 4)?;
    match T::check(bytes) {
        Ok(()) => Ok(bytes),
        Err((at, kind)) => Err(fault(first.saturating_add(at as u32), kind)),
    }
}

#[cold]
fn misaligned(first: u32, alignment: usize) -> Error {
    let found = format!("its first element lies at {first}, expected a multiple of {alignment}");
    fault(first, ErrorKind::Vector(found.into()))
}

/// A vector of bytes with the schema's `force_align`.
#[derive(Default)]
pub(crate) struct AlignedBytes<const ALIGNMENT: usize>;

impl<'s, 'a, const ALIGNMENT: usize> Parser<Place<'s, 'a>> for AlignedBytes<ALIGNMENT> {
    type Output = Cow<'a, [u8]>;
    type Error = Error;

    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        let bytes = numbers::<u8>(place, ALIGNMENT)?;
        Ok((place, OM::Output::bind(|| Cow::Borrowed(bytes))))
    }
}

/// A vector of offsets: tables or strings.
#[derive(Default)]
pub(crate) struct List<P>(P);

impl<'s, 'a, P: Parser<Place<'s, 'a>, Error = Error>> Parser<Place<'s, 'a>> for List<P> {
    type Output = Vec<P::Output>;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        let (count, first) = place.count()?;
        let Some(offsets) = (count as usize).checked_mul(4).and_then(|size| place.get(first, size)) else {
            return Err(place.short(count, 4).into());
        };
        place.spend(offsets.len() + 4)?;
        // Each element takes at least 4 bytes more: a count that cannot be honest reserves nothing.
        if !place.can_spend(offsets.len()) {
            return Err(place.exhausted_bytes().into());
        }
        let mut values = Vec::new();
        OM::Output::bind(|| values.reserve_exact(count as usize));
        for (index, offset) in offsets.chunks_exact(4).enumerate() {
            let offset = u32::read(offset).unwrap_or_default();
            let element = place.at(first.wrapping_add(index as u32 * 4));
            let target = element.follow(offset).map_err(|error| error.in_item(index))?;
            let (_, value) = match self.0.process::<OM>(target) {
                Ok(done) => done,
                Err(error) => return Err(in_item(error, index)),
            };
            OM::Output::map(value, |value| values.push(value));
        }
        Ok((place, OM::Output::bind(|| values)))
    }
}
