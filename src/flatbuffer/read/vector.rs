//! Vectors of numbers, vectors of offsets, and strings.

use super::buffer::{Place, fault};
use super::in_item;
use crate::error::{Error, ErrorKind};
use crate::flatbuffer::number::Number;
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};
use core::marker::PhantomData;
use nom::{Mode, OutputMode, PResult, Parser};

/// A string: bytes followed by a NUL, which its count leaves out. They do not have to be UTF-8.
#[derive(Default)]
pub(crate) struct TextParser;

impl<'s, 'a> Parser<Place<'s, 'a>> for TextParser {
    type Output = Text<'a>;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        let (count, first) = place.count()?;
        let Some((bytes, nul)) = place.buffer.bytes.get(first as usize..).and_then(|bytes| {
            let (bytes, after) = bytes.split_at_checked(count as usize)?;
            Some((bytes, *after.first()?))
        }) else {
            return Err(place.short(count, 1).into());
        };
        place.spend(count as usize + 5)?;
        if nul != 0 {
            return Err(fault(first.wrapping_add(count), ErrorKind::Text("expected a NUL after it".into())).into());
        }
        Ok((place, OM::Output::bind(|| Text::borrowed(bytes))))
    }
}

/// A vector of numbers. Misaligned elements, which the official readers accept, are copied.
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
        let (count, first) = place.count()?;
        let Some(bytes) = (count as usize).checked_mul(T::SIZE).and_then(|size| place.get(first, size)) else {
            return Err(place.short(count, T::SIZE).into());
        };
        place.spend(bytes.len() + 4)?;
        Ok((place, OM::Output::bind(|| T::slice(bytes))))
    }
}

/// A vector of offsets to tables or strings.
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
        // Each element takes at least 4 bytes more, so a count that exceeds the limit is rejected before memory is reserved for it.
        if !place.can_spend(offsets.len()) {
            return Err(place.exhausted_bytes().into());
        }
        let mut values = Vec::new();
        when_built::<OM>(|| values.reserve_exact(count as usize));
        for (index, offset) in offsets.chunks_exact(4).enumerate() {
            let offset = u32::read(offset).unwrap_or_default();
            let element = place.at(first.wrapping_add(index as u32 * 4));
            let target = element.follow_item(offset).map_err(|error| error.in_item(index))?;
            let (_, value) = match self.0.process::<OM>(target) {
                Ok(done) => done,
                Err(error) => return Err(in_item(error, index)),
            };
            OM::Output::map(value, |value| values.push(value));
        }
        Ok((place, OM::Output::bind(|| values)))
    }
}

/// Calls `run` only if values are built: nom's `Check` mode runs no closure, its `Emit` mode runs each.
#[inline(always)]
fn when_built<OM: OutputMode>(run: impl FnOnce()) {
    OM::Output::bind(run);
}
