//! Vectors of numbers, vectors of offsets, and strings.

use super::buffer::{BufferPlace, fault};
use super::{fatal, in_item};
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::number::Number;
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};
use core::marker::PhantomData;
use nom::{Mode, OutputMode, PResult, Parser};

/// Returns the bytes of the string at that position. A NUL, which is not counted, must follow.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
pub(super) fn text_bytes<'a>(place: BufferPlace<'_, 'a>) -> Result<&'a [u8]> {
    let (count, first) = place.count()?;
    let rest = place.buffer.bytes.get(first as usize..);
    // If the sum wraps, there is no last byte.
    let end = (count as usize).wrapping_add(1);
    let Some((nul, bytes)) = rest.and_then(|rest| rest.get(..end)?.split_last()) else {
        return Err(place.short(count, 1));
    };
    place.spend(count as usize + 5)?;
    if *nul != 0 {
        return Err(without_nul(first.wrapping_add(count)));
    }
    Ok(bytes)
}

#[cold]
fn without_nul(position: u32) -> Error {
    fault(position, ErrorKind::Text("expected a NUL after it".into()))
}

/// Returns the bytes of the vector of numbers at that position.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
pub(super) fn number_bytes<'a>(place: BufferPlace<'_, 'a>, size: usize) -> Result<&'a [u8]> {
    let (count, first) = place.count()?;
    let Some(bytes) = (count as usize).checked_mul(size).and_then(|size| place.get(first, size)) else {
        return Err(place.short(count, size));
    };
    place.spend(bytes.len() + 4)?;
    Ok(bytes)
}

/// Does the same as [`number_bytes`], with the memory for a copy, since numbers wider than a byte may have to be copied.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
pub(super) fn held_bytes<'a>(place: BufferPlace<'_, 'a>, size: usize) -> Result<&'a [u8]> {
    let bytes = number_bytes(place, size)?;
    if size > 1 {
        place.hold(bytes.len(), 1)?;
    }
    Ok(bytes)
}

/// The places of the items of a vector of offsets.
pub(super) struct Items<'s, 'a> {
    /// The next item's offset.
    place: BufferPlace<'s, 'a>,
    /// The offsets that are left.
    offsets: &'a [u8],
}

impl<'s, 'a> Items<'s, 'a> {
    /// Returns the items of the vector at that position, each of which takes this many bytes of memory.
    #[inline(never)]
    pub(super) fn of(place: BufferPlace<'s, 'a>, memory: usize) -> Result<Self> {
        let offsets = number_bytes(place, 4)?;
        // Each item takes at least 4 bytes more, so a count that exceeds the limit is rejected before memory is reserved for it.
        if !place.can_spend(offsets.len()) {
            return Err(place.exhausted_bytes());
        }
        place.hold(offsets.len() / 4, memory)?;
        Ok(Self { place: place.at(place.position.wrapping_add(4)), offsets })
    }

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(super) fn len(&self) -> usize {
        self.offsets.len() / 4
    }
}

impl<'s, 'a> Iterator for Items<'s, 'a> {
    type Item = Result<BufferPlace<'s, 'a>>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn next(&mut self) -> Option<Self::Item> {
        let (offset, rest) = self.offsets.split_first_chunk()?;
        let item = self.place.follow_item(u32::from_le_bytes(*offset));
        self.offsets = rest;
        self.place = self.place.at(self.place.position.wrapping_add(4));
        Some(item)
    }
}

/// A string: bytes followed by a NUL, which its count leaves out. They do not have to be UTF-8.
#[derive(Default)]
pub(crate) struct TextParser;

impl<'s, 'a> Parser<BufferPlace<'s, 'a>> for TextParser {
    type Output = Text<'a>;
    type Error = Error;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn process<OM: OutputMode>(
        &mut self,
        place: BufferPlace<'s, 'a>,
    ) -> PResult<OM, BufferPlace<'s, 'a>, Self::Output, Error> {
        let bytes = text_bytes(place).map_err(fatal)?;
        Ok((place, OM::Output::bind(|| Text::borrowed(bytes))))
    }
}

/// A vector of numbers. Misaligned elements, which the official readers accept, are copied. `ALIGNMENT` is the schema's `force_align` in
/// bytes, if it has one.
pub(crate) struct Numbers<T, const ALIGNMENT: usize = 1>(PhantomData<T>);

impl<T, const ALIGNMENT: usize> Default for Numbers<T, ALIGNMENT> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'s, 'a, T: Number, const ALIGNMENT: usize> Parser<BufferPlace<'s, 'a>> for Numbers<T, ALIGNMENT>
where
    [T]: alloc::borrow::ToOwned<Owned = Vec<T>>,
{
    type Output = Cow<'a, [T]>;
    type Error = Error;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn process<OM: OutputMode>(
        &mut self,
        place: BufferPlace<'s, 'a>,
    ) -> PResult<OM, BufferPlace<'s, 'a>, Self::Output, Error> {
        let bytes = held_bytes(place, T::SIZE).map_err(fatal)?;
        if T::IS_BOOL || T::SIZE > 4 || ALIGNMENT > 4 {
            OM::Output::bind(|| place.note_numbers(bytes, T::IS_BOOL, ALIGNMENT.max(T::SIZE)));
        }
        Ok((place, OM::Output::bind(|| T::slice(bytes))))
    }
}

/// A vector of offsets to tables or strings. It is compiled as a function of its own, with the tables in it inlined: so
/// there are no calls for each item, and no single function for the whole tree.
#[derive(Default)]
pub(crate) struct List<P>(P);

impl<'s, 'a, P: Parser<BufferPlace<'s, 'a>, Error = Error>> Parser<BufferPlace<'s, 'a>> for List<P> {
    type Output = Vec<P::Output>;
    type Error = Error;

    #[inline(never)]
    fn process<OM: OutputMode>(
        &mut self,
        place: BufferPlace<'s, 'a>,
    ) -> PResult<OM, BufferPlace<'s, 'a>, Self::Output, Error> {
        let items = Items::of(place, size_of::<P::Output>()).map_err(fatal)?;
        // In nom's `Check` mode nothing is collected, and nothing allocated.
        let mut values = Vec::new();
        OM::Output::bind(|| values.reserve_exact(items.len()));
        for (index, item) in items.enumerate() {
            let done = match item {
                Ok(item) => self.0.process::<OM>(item),
                Err(error) => Err(fatal(error)),
            };
            match done {
                Ok((_, value)) => OM::Output::map(value, |value| {
                    // There is room for all. A plain `push`, which may grow the vector, takes 10 % more instructions of parsing: the
                    // compiler then builds each value on the stack and copies it.
                    if values.len() < values.capacity() {
                        values.push(value);
                    } else {
                        core::mem::forget(value);
                    }
                }),
                Err(error) => return Err(in_item(error, index)),
            };
        }
        Ok((place, OM::Output::bind(|| values)))
    }
}
