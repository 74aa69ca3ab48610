//! Tables: vtables, fields inline, and what offsets lead to.

use super::buffer::{Place, fault};
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::number::Number;
use alloc::{borrow::Cow, boxed::Box, format};
use core::marker::PhantomData;
use nom::{Mode, OutputMode, PResult, Parser};

/// More field ids than any table of the schemas has.
pub(crate) const MAX_FIELDS: usize = 12;

/// As many fields of a vtable are looked at; one with more has some that are newer. A vtable costs none of the budget,
/// since many tables share it: were all of its 64 KB read, a small file could ask for that again with every table.
const MOST_FIELDS: usize = 64;

impl nom::error::ParseError<Table<'_, '_>> for Error {
    fn from_error_kind(table: Table<'_, '_>, kind: nom::error::ErrorKind) -> Self {
        Error::from_error_kind(table.place, kind)
    }

    fn append(_: Table<'_, '_>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

/// Where each field of a table lies, as its vtable says: bytes from the table's start, 0 for an absent field.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    vtable: u32,
    inline: u16,
    newer: bool,
    slots: [u16; MAX_FIELDS],
}

impl Shape {
    /// Reads and checks the vtable at `position`, for a table at `place` whose fields have the sizes given.
    #[inline(never)]
    fn read(place: Place<'_, '_>, position: u32, sizes: &[u8]) -> Result<Self> {
        let bad = |found: Cow<'static, str>| Err(fault(place.position, ErrorKind::Vtable(found)));
        if position % 2 != 0 {
            return bad(format!("its place {position} is odd").into());
        }
        let Some(head) = place.get(position, 4) else {
            return bad(format!("byte {position} lies outside the FlatBuffer of {}", place.buffer.bytes.len()).into());
        };
        let (size, inline) = (word(head, 0), word(head, 2));
        if size % 2 != 0 || size < 4 {
            return bad(format!("its size is {size}, expected an even number from 4 up").into());
        }
        let Some(vtable) = place.get(position, size.into()) else {
            return bad(format!("byte {position} and {size} bytes leave the FlatBuffer").into());
        };
        if inline < 4 {
            return bad(format!("the table's inline size is {inline}, expected at least 4").into());
        }
        let newer = vtable.len() > 4 + 2 * MOST_FIELDS;
        let mut shape = Self { vtable: position, inline, newer, ..Self::default() };
        for (id, field) in vtable.chunks_exact(2).skip(2).take(MOST_FIELDS).enumerate() {
            let offset = word(field, 0);
            let (Some(slot), Some(size)) = (shape.slots.get_mut(id), sizes.get(id)) else {
                shape.newer |= offset != 0;
                continue;
            };
            if offset == 0 {
                continue;
            }
            let size = u16::from(*size);
            // An 8-byte field's alignment depends on the table's place too: see `Scalar`.
            if offset < 4 || offset.checked_add(size).is_none_or(|end| end > inline) || offset % size.min(4) != 0 {
                let found = format!("field {id} of {size} bytes lies at {offset} of the table's {inline} bytes");
                return Err(fault(place.position, ErrorKind::Table(found.into())));
            }
            *slot = offset;
        }
        Ok(shape)
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// A table and its next field: nom's input for a table's fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'s, 'a> {
    place: Place<'s, 'a>,
    inline: &'a [u8],
    shape: &'s Shape,
    next: usize,
}

impl<'s, 'a> Table<'s, 'a> {
    /// The place of the next field (none if it is absent), and the table at the field behind.
    #[inline(always)]
    fn field(mut self) -> (Self, Option<u16>) {
        let slot = self.shape.slots.get(self.next).copied().filter(|slot| *slot != 0);
        self.next += 1;
        (self, slot)
    }

    #[inline(always)]
    fn number<T: Number>(&self, slot: u16) -> Result<T> {
        let position = self.place.position.wrapping_add(slot.into());
        if T::SIZE > 4 && position as usize % T::SIZE != 0 {
            return Err(misaligned(position));
        }
        let bytes = self.bytes(slot, T::SIZE);
        if let Err((_, kind)) = T::check(bytes) {
            return Err(fault(position, kind));
        }
        Ok(T::read(bytes).unwrap_or_default())
    }

    /// The vtable was checked: they lie inside.
    #[inline(always)]
    fn bytes(&self, slot: u16, size: usize) -> &'a [u8] {
        let start = usize::from(slot);
        self.inline.get(start..start + size).unwrap_or_default()
    }

    /// Where the field with that id lies, in bytes from the table's start; 0 if it is absent.
    pub(crate) fn slot(&self, id: usize) -> u16 {
        self.shape.slots.get(id).copied().unwrap_or_default()
    }

    /// The place that the offset in `slot` leads to.
    #[inline(always)]
    fn follow(&self, slot: u16) -> Result<Place<'s, 'a>> {
        let offset = u32::read(self.bytes(slot, 4)).unwrap_or_default();
        self.place.at(self.place.position.wrapping_add(slot.into())).follow(offset)
    }
}

#[cold]
fn misaligned(position: u32) -> Error {
    fault(position, ErrorKind::Table("an 8-byte field is not aligned to 8".into()))
}

/// A table of the schema: a struct whose fields are the table's.
pub(crate) trait Record<'a>: Sized {
    /// The inline size of each field, by id.
    const SIZES: Sizes;

    /// The fields, in order of their ids.
    type Fields: for<'s> Parser<Table<'s, 'a>, Output = Self, Error = Error> + Default;
}

/// The inline sizes of a table's fields, by id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    sizes: [u8; MAX_FIELDS],
    len: usize,
}

impl Sizes {
    pub(crate) const NONE: Self = Self { sizes: [0; MAX_FIELDS], len: 0 };

    /// These and then those. More than `MAX_FIELDS` do not compile.
    #[allow(clippy::indexing_slicing)]
    pub(crate) const fn and(mut self, more: &[u8]) -> Self {
        let mut index = 0;
        while index < more.len() {
            self.sizes[self.len] = more[index];
            self.len += 1;
            index += 1;
        }
        self
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.sizes.get(..self.len).unwrap_or_default()
    }
}

/// A table, which remembers the vtables of the last ones: tables of one kind share a few.
pub(crate) struct TableParser<'a, T: Record<'a>> {
    fields: T::Fields,
    shapes: Shapes,
}

impl<'a, T: Record<'a>> Default for TableParser<'a, T> {
    fn default() -> Self {
        Self { fields: T::Fields::default(), shapes: Shapes::default() }
    }
}

/// The vtables read last, each at the place that its position says.
#[derive(Clone, Copy, Debug, Default)]
struct Shapes([Shape; 4]);

impl Shapes {
    #[inline(always)]
    #[allow(clippy::indexing_slicing)]
    fn at(&mut self, vtable: u32) -> &mut Shape {
        // A remainder of 4 is below 4: nothing is left to check.
        &mut self.0[(vtable / 2 % 4) as usize]
    }
}

impl<'s, 'a, T: Record<'a>> Parser<Place<'s, 'a>> for TableParser<'a, T> {
    type Output = T;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, T, Error> {
        let table = open(place, &mut self.shapes, T::SIZES.as_slice())?;
        if table.shape.newer {
            let newer_tables = &place.buffer.newer_tables;
            newer_tables.set(newer_tables.get().saturating_add(1));
        }
        let (_, value) = self.fields.process::<OM>(table)?;
        Ok((place, value))
    }
}

/// The table at that place, which costs it of the budget.
#[inline(always)]
fn open<'s, 'a>(place: Place<'s, 'a>, shapes: &'s mut Shapes, sizes: &[u8]) -> Result<Table<'s, 'a>> {
    let table = peek(place, shapes, sizes)?;
    place.spend_table(table.shape.inline)?;
    Ok(table)
}

/// The table at that place, which costs nothing.
#[inline(always)]
fn peek<'s, 'a>(place: Place<'s, 'a>, shapes: &'s mut Shapes, sizes: &[u8]) -> Result<Table<'s, 'a>> {
    let position = place.position;
    let distance = match place.u32(position) {
        Some(distance) if position % 4 == 0 => distance,
        found => return Err(bad_table(place, found)),
    };
    // A signed distance; a sum that wraps leads outside, and so is refused.
    let vtable = position.wrapping_sub(distance);
    let shape = shapes.at(vtable);
    if vtable != shape.vtable || vtable == 0 {
        *shape = Shape::read(place, vtable, sizes)?;
    }
    let Some(inline) = place.get(position, shape.inline.into()) else {
        return Err(bad_table(place, None));
    };
    Ok(Table { place, inline, shape, next: 0 })
}

#[cold]
fn bad_table(place: Place<'_, '_>, found: Option<u32>) -> Error {
    let found = match found {
        Some(_) => "its place is not a multiple of 4".into(),
        None => format!("it leaves the FlatBuffer of {} bytes", place.buffer.bytes.len()).into(),
    };
    fault(place.position, ErrorKind::Table(found))
}

/// A table of which nothing is known: whether it has any fields.
#[derive(Default)]
pub(crate) struct UnknownTable(Shapes);

impl UnknownTable {
    /// Whether the table at that place has the field with that id, which costs none of the budget.
    pub(crate) fn has_field(&mut self, place: Place<'_, '_>, id: usize) -> Result<bool> {
        Ok(peek(place, &mut self.0, &[1; MAX_FIELDS])?.slot(id) != 0)
    }
}

impl<'s, 'a> Parser<Place<'s, 'a>> for UnknownTable {
    type Output = bool;
    type Error = Error;

    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, bool, Error> {
        let shape = open(place, &mut self.0, &[1; MAX_FIELDS])?.shape;
        let has_fields = shape.newer || shape.slots.iter().any(|slot| *slot != 0);
        Ok((place, OM::Output::bind(|| has_fields)))
    }
}

/// A number inside a table, zero where it is absent: the default of every field of the schemas.
pub(crate) struct Scalar<T>(PhantomData<T>);

impl<T> Default for Scalar<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'s, 'a, T: Number> Parser<Table<'s, 'a>> for Scalar<T> {
    type Output = T;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, table: Table<'s, 'a>) -> PResult<OM, Table<'s, 'a>, T, Error> {
        let (table, slot) = table.field();
        let value = match slot {
            None => T::default(),
            Some(slot) => table.number(slot)?,
        };
        Ok((table, OM::Output::bind(|| value)))
    }
}

/// What an offset inside a table leads to, or nothing where the field is absent.
#[derive(Default)]
pub(crate) struct Optional<P>(P);

impl<'s, 'a, P: Parser<Place<'s, 'a>, Error = Error>> Parser<Table<'s, 'a>> for Optional<P> {
    type Output = Option<P::Output>;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, table: Table<'s, 'a>) -> PResult<OM, Table<'s, 'a>, Self::Output, Error> {
        let (table, slot) = table.field();
        let Some(slot) = slot else {
            return Ok((table, OM::Output::bind(|| None)));
        };
        let (_, value) = self.0.process::<OM>(table.follow(slot)?)?;
        Ok((table, OM::Output::map(value, Some)))
    }
}

/// The two fields of a union: its tag, and the place of its value if it has one.
#[inline(always)]
pub(crate) fn union<'s, 'a>(table: Table<'s, 'a>) -> Result<(Table<'s, 'a>, u8, Option<Place<'s, 'a>>)> {
    let (table, tag) = table.field();
    let (table, value) = table.field();
    let tag = tag.and_then(|slot| table.inline.get(usize::from(slot))).copied().unwrap_or_default();
    let place = match (tag, value) {
        (0, None) => None,
        (1.., Some(slot)) => Some(table.follow(slot)?),
        _ => return Err(half_union(table.place, tag)),
    };
    Ok((table, tag, place))
}

#[cold]
fn half_union(place: Place<'_, '_>, tag: u8) -> Error {
    let found = match tag {
        0 => "found a value without a tag".into(),
        tag => format!("found tag {tag} without a value"),
    };
    fault(place.position, ErrorKind::Union(found.into()))
}

/// A value in a box of its own, for what is rare and large.
#[derive(Default)]
pub(crate) struct Boxed<P>(P);

impl<'s, 'a, P: Parser<Place<'s, 'a>, Error = Error>> Parser<Place<'s, 'a>> for Boxed<P> {
    type Output = Box<P::Output>;
    type Error = Error;

    #[inline(always)]
    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, Self::Output, Error> {
        let (place, value) = self.0.process::<OM>(place)?;
        Ok((place, OM::Output::map(value, Box::new)))
    }
}
