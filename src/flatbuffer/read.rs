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

use super::number::Number;
use crate::error::{Error, ErrorKind, Result};
use alloc::{borrow::Cow, boxed::Box, format, vec::Vec};
use core::cell::Cell;
use core::marker::PhantomData;
use nom::{Check, Complete, Emit, Mode, OutputM, OutputMode, PResult, Parser};

/// Official readers and writers go no further than this: offsets are signed 32-bit numbers in places.
pub(crate) const MAX_SIZE: usize = i32::MAX as usize;

/// More field ids than any table of the schemas has.
pub(crate) const MAX_FIELDS: usize = 12;

/// As many fields of a vtable are looked at; one with more has some that are newer. A vtable costs none of the budget,
/// since many tables share it: were all of its 64 KB read, a small file could ask for that again with every table.
const MOST_FIELDS: usize = 64;

/// Bounds on the work that a FlatBuffer may cause.
///
/// Nothing in the format forbids two offsets from leading to one table, so a file of a few kilobytes can describe a
/// tree of exponential size. Without such sharing, which no official writer uses, the tables, vectors and strings
/// of a file cover no more bytes than it has, and each table takes at least 4: those are the default limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most tables visited. `None`: a quarter of the FlatBuffer's size.
    pub tables: Option<u32>,
    /// Most bytes covered by the tables, vectors and strings visited, each counted as often as it is visited.
    /// `None`: the FlatBuffer's size.
    pub bytes: Option<u32>,
}

/// The FlatBuffer, what is left of the limits, and what was passed over.
#[derive(Debug)]
struct Buffer<'a> {
    bytes: &'a [u8],
    budget: Cell<Budget>,
    /// The whole budget.
    most: Budget,
    newer_tables: Cell<u32>,
}

/// What is left of the limits: tables in the high half, bytes in the low one, each below 2^31, so that the top bit of a
/// half tells that it went below 0.
#[derive(Clone, Copy, Debug)]
struct Budget(u64);

impl Budget {
    const TABLE: u64 = 1 << 32;
    const SPENT: u64 = 1 << 63 | 1 << 31;
    const MOST: u32 = i32::MAX as u32;

    fn new(tables: u32, bytes: u32) -> Self {
        Self(u64::from(tables.min(Self::MOST)) << 32 | u64::from(bytes.min(Self::MOST)))
    }

    fn bytes(self) -> u32 {
        self.0 as u32
    }

    /// Less so many bytes (below 2^31), and a table if `table`. `None` where either is used up.
    #[inline(always)]
    fn less(self, bytes: usize, table: bool) -> Option<Self> {
        let cost = bytes as u64 + if table { Self::TABLE } else { 0 };
        let left = self.0.wrapping_sub(cost);
        (left & Self::SPENT == 0).then_some(Self(left))
    }
}

/// A place in a FlatBuffer: nom's input for what stands there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'s, 'a> {
    buffer: &'s Buffer<'a>,
    position: u32,
}

impl nom::error::ParseError<Place<'_, '_>> for Error {
    fn from_error_kind(place: Place<'_, '_>, kind: nom::error::ErrorKind) -> Self {
        Error::at(place.position as usize, ErrorKind::Table(format!("{kind:?}").into()))
    }

    fn append(_: Place<'_, '_>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

impl nom::error::ParseError<Table<'_, '_>> for Error {
    fn from_error_kind(table: Table<'_, '_>, kind: nom::error::ErrorKind) -> Self {
        Error::from_error_kind(table.place, kind)
    }

    fn append(_: Table<'_, '_>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
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
fn fail<T>(position: u32, kind: ErrorKind) -> Result<T> {
    Err(Error::at(position as usize, kind))
}

impl<'a> Buffer<'a> {
    /// A FlatBuffer of 2 GiB at the most: a larger one is refused.
    fn new(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        if bytes.len() > MAX_SIZE {
            let found = format!("the FlatBuffer has {} bytes, expected at most {MAX_SIZE}", bytes.len());
            return Err(Error::at(0, ErrorKind::Header(found.into())));
        }
        let size = bytes.len() as u32;
        let most = Budget::new(limits.tables.unwrap_or(size / 4), limits.bytes.unwrap_or(size));
        Ok(Self { bytes, budget: Cell::new(most), most, newer_tables: Cell::new(0) })
    }
}

impl<'s, 'a> Place<'s, 'a> {
    #[inline(always)]
    fn at(self, position: u32) -> Self {
        Self { position, ..self }
    }

    /// `len` bytes from `position`, if they are all there.
    #[inline(always)]
    fn get(&self, position: u32, len: usize) -> Option<&'a [u8]> {
        let start = position as usize;
        self.buffer.bytes.get(start..start.checked_add(len)?)
    }

    #[inline(always)]
    fn u32(&self, position: u32) -> Option<u32> {
        u32::read(self.get(position, 4)?)
    }

    /// Takes bytes of this buffer from the budget, and a table if `table`.
    #[inline(always)]
    fn spend(&self, bytes: usize, table: bool) -> Result<()> {
        match self.buffer.budget.get().less(bytes, table) {
            Some(left) => {
                self.buffer.budget.set(left);
                Ok(())
            }
            None => self.exhausted(),
        }
    }

    #[cold]
    fn exhausted<T>(&self) -> Result<T> {
        let most = self.buffer.most;
        let (what, limit) = match self.buffer.budget.get().0 < Budget::TABLE {
            true => ("tables", most.0 >> 32),
            false => ("bytes of tables, vectors and strings", most.bytes().into()),
        };
        fail(self.position, ErrorKind::Limit { what, limit })
    }

    /// The place that `offset`, which stands at this place, leads to.
    #[inline(always)]
    fn follow(self, offset: u32) -> Result<Self> {
        let target = self.position.saturating_add(offset);
        if offset == 0 || target as usize >= self.buffer.bytes.len() {
            return self.bad_offset(offset);
        }
        Ok(self.at(target))
    }

    #[cold]
    fn bad_offset<T>(&self, offset: u32) -> Result<T> {
        let found = match offset {
            0 => "found 0, expected a place behind this one".into(),
            _ => format!("{offset} bytes on lies outside the FlatBuffer of {}", self.buffer.bytes.len()).into(),
        };
        fail(self.position, ErrorKind::Offset(found))
    }

    /// The count of a vector or string here, and its first byte's position.
    #[inline(always)]
    fn count(&self) -> Result<(u32, u32)> {
        match self.u32(self.position) {
            Some(count) if self.position % 4 == 0 => Ok((count, self.position.wrapping_add(4))),
            found => self.bad_count(found),
        }
    }

    #[cold]
    fn bad_count<T>(&self, found: Option<u32>) -> Result<T> {
        let found = match found {
            Some(_) => "its place is not a multiple of 4",
            None => "its count lies outside the FlatBuffer",
        };
        fail(self.position, ErrorKind::Vector(found.into()))
    }

    #[cold]
    fn short<T>(&self, count: u32, size: usize) -> Result<T> {
        let left = self.buffer.bytes.len().saturating_sub(self.position as usize).saturating_sub(4);
        let found = format!("found {count} elements of {size} bytes, but {left} bytes are left in the FlatBuffer");
        fail(self.position, ErrorKind::Vector(found.into()))
    }
}

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
    fn read(place: &Place<'_, '_>, position: u32, sizes: &[u8]) -> Result<Self> {
        let bad = |found: Cow<'static, str>| fail(place.position, ErrorKind::Vtable(found));
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
                return fail(place.position, ErrorKind::Table(found.into()));
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
            return self.bad_field(position);
        }
        let bytes = self.inline.get(usize::from(slot)..).unwrap_or_default();
        if let Err((_, kind)) = T::check(bytes.get(..T::SIZE).unwrap_or_default()) {
            return fail(position, kind);
        }
        // The vtable was checked: the number lies inside.
        Ok(T::read(bytes).unwrap_or_default())
    }

    /// Where the field with that id lies, in bytes from the table's start; 0 if it is absent.
    pub(crate) fn slot(&self, id: usize) -> u16 {
        self.shape.slots.get(id).copied().unwrap_or_default()
    }

    /// The place that the offset in `slot` leads to.
    #[inline(always)]
    fn follow(&self, slot: u16) -> Result<Place<'s, 'a>> {
        // The vtable was checked: the offset lies inside.
        let offset = self.inline.get(usize::from(slot)..).and_then(u32::read).unwrap_or_default();
        self.place.at(self.place.position.wrapping_add(slot.into())).follow(offset)
    }

    #[cold]
    fn bad_field<T>(&self, position: u32) -> Result<T> {
        fail(position, ErrorKind::Table("an 8-byte field is not aligned to 8".into()))
    }
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
        let (_, value) = self.fields.process::<OM>(table)?;
        Ok((place, value))
    }
}

#[inline(always)]
fn open<'s, 'a>(place: Place<'s, 'a>, shapes: &'s mut Shapes, sizes: &[u8]) -> Result<Table<'s, 'a>> {
    let position = place.position;
    let distance = match place.u32(position) {
        Some(distance) if position % 4 == 0 => distance,
        found => return bad_table(&place, found),
    };
    // A signed distance; a sum that wraps leads outside, and so is refused.
    let vtable = position.wrapping_sub(distance);
    let shape = shapes.at(vtable);
    if vtable != shape.vtable || vtable == 0 {
        *shape = Shape::read(&place, vtable, sizes)?;
    }
    let Some(inline) = place.get(position, shape.inline.into()) else {
        return bad_table(&place, None);
    };
    place.spend(shape.inline.into(), true)?;
    if shape.newer {
        place.buffer.newer_tables.set(place.buffer.newer_tables.get().saturating_add(1));
    }
    Ok(Table { place, inline, shape, next: 0 })
}

#[cold]
fn bad_table<T>(place: &Place<'_, '_>, found: Option<u32>) -> Result<T> {
    let found = match found {
        Some(_) => "its place is not a multiple of 4".into(),
        None => format!("it leaves the FlatBuffer of {} bytes", place.buffer.bytes.len()).into(),
    };
    fail(place.position, ErrorKind::Table(found))
}

/// A table of which nothing is known: whether it has any fields.
#[derive(Default)]
pub(crate) struct UnknownTable(Shapes);

impl UnknownTable {
    /// Whether the table at that place has the field with that id, which costs none of the budget.
    pub(crate) fn has_field(&mut self, place: Place<'_, '_>, id: usize) -> Result<bool> {
        let buffer = place.buffer;
        let (budget, newer_tables) = (buffer.budget.get(), buffer.newer_tables.get());
        let has = open(place, &mut self.0, &[1; MAX_FIELDS])?.slot(id) != 0;
        buffer.budget.set(budget);
        buffer.newer_tables.set(newer_tables);
        Ok(has)
    }
}

impl<'s, 'a> Parser<Place<'s, 'a>> for UnknownTable {
    type Output = bool;
    type Error = Error;

    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, bool, Error> {
        let newer_tables = place.buffer.newer_tables.get();
        let shape = open(place, &mut self.0, &[1; MAX_FIELDS])?.shape;
        // All its fields are unknown: it does not count as a known table with newer ones.
        place.buffer.newer_tables.set(newer_tables);
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
        _ => return Err(half_union(&table, tag)),
    };
    Ok((table, tag, place))
}

#[cold]
fn half_union(table: &Table<'_, '_>, tag: u8) -> Error {
    let found = match tag {
        0 => "found a value without a tag".into(),
        tag => format!("found tag {tag} without a value"),
    };
    Error::at(table.place.position as usize, ErrorKind::Union(found.into()))
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
            return Ok(place.short(count, 1)?);
        };
        place.spend(count as usize + 5, false)?;
        match core::str::from_utf8(bytes) {
            Ok(text) if nul == 0 => Ok((place, OM::Output::bind(|| Cow::Borrowed(text)))),
            Ok(_) => Ok(fail(first.wrapping_add(count), ErrorKind::Text("no NUL behind it".into()))?),
            Err(error) => Ok(bad_text(first, &error)?),
        }
    }
}

#[cold]
fn bad_text<T>(first: u32, error: &core::str::Utf8Error) -> Result<T> {
    fail(first.saturating_add(error.valid_up_to() as u32), ErrorKind::Text("not UTF-8 from here on".into()))
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
        return place.short(count, T::SIZE);
    };
    // flatc leaves an empty vector where it comes to lie.
    if alignment > 4 && !bytes.is_empty() && (first as usize) % alignment != 0 {
        return misaligned(first, alignment);
    }
    place.spend(bytes.len() + 4, false)?;
    match T::check(bytes) {
        Ok(()) => Ok(bytes),
        Err((at, kind)) => fail(first.saturating_add(at as u32), kind),
    }
}

#[cold]
fn misaligned<T>(first: u32, alignment: usize) -> Result<T> {
    let found = format!("its first element lies at {first}, expected a multiple of {alignment}");
    fail(first, ErrorKind::Vector(found.into()))
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
            return Ok(place.short(count, 4)?);
        };
        place.spend(offsets.len() + 4, false)?;
        // Each element takes at least 4 bytes more: a count that cannot be honest reserves nothing.
        if offsets.len() > place.buffer.budget.get().bytes() as usize {
            return Ok(place.exhausted()?);
        }
        let mut values = OM::Output::bind(|| Vec::with_capacity(count as usize));
        for (index, offset) in offsets.chunks_exact(4).enumerate() {
            let offset = u32::read(offset).unwrap_or_default();
            let element = place.at(first.wrapping_add(index as u32 * 4));
            let target = element.follow(offset).map_err(|error| error.in_item(index))?;
            let (_, value) = match self.0.process::<OM>(target) {
                Ok(done) => done,
                Err(error) => return Err(in_item(error, index)),
            };
            values = OM::Output::combine(values, value, |mut values, value| {
                values.push(value);
                values
            });
        }
        Ok((place, values))
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
