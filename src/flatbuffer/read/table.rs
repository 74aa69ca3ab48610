//! Tables: vtables, inline fields, and what offsets point to.

use super::buffer::{BufferPlace, MAX_REGULAR, fault};
use super::fatal;
use crate::error::{Error, ErrorKind, Result, counted};
use crate::flatbuffer::description::TableDescription;
use crate::flatbuffer::form::FieldForm;
use crate::flatbuffer::number::Number;
use crate::flatbuffer::unknown::{Unknown, UnknownValue};
use crate::flatbuffer::write::Encode;
use alloc::{borrow::Cow, boxed::Box, format};
use core::marker::PhantomData;
use nom::{Mode, OutputMode, PResult, Parser};

/// The most field ids that a table of a schema may have.
pub(crate) const MAX_FIELDS: usize = 32;

/// The most fields of a vtable that are read; a vtable with more has fields of a newer schema. Vtables are not subject
/// to the limits, since many tables share one. If all of a vtable's 64 KB were read, a small file could cause that for
/// every table.
const MAX_READ_FIELDS: usize = 64;

impl nom::error::ParseError<Table<'_, '_>> for Error {
    fn from_error_kind(table: Table<'_, '_>, kind: nom::error::ErrorKind) -> Self {
        Error::from_error_kind(table.place, kind)
    }

    fn append(_: Table<'_, '_>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

/// For each field id of a table in the schema, where the field is stored, in bytes from the table's start; 0 for an
/// absent field.
pub(crate) trait Slots: Copy + core::fmt::Debug {
    /// All absent.
    const ABSENT: Self;

    fn as_slice(&self) -> &[u16];
    fn as_mut_slice(&mut self) -> &mut [u16];
}

impl<const N: usize> Slots for [u16; N] {
    const ABSENT: Self = [0; N];

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn as_slice(&self) -> &[u16] {
        self
    }

    fn as_mut_slice(&mut self) -> &mut [u16] {
        self
    }
}

/// A vtable, as needed for the tables that use it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vtable<S> {
    position: u32,
    opened: Opened,
    slots: S,
}

/// The part of a vtable that is needed to open a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    /// The end of the field that is farthest from the table's start, in bytes from there: the table must be inside the
    /// buffer up to here. The inline size in the vtable is not a bound: Python's `flatbuffers` before 25.12 shares one
    /// vtable between tables of different sizes, and the official readers ignore it.
    pub(super) extent: u32,
    /// `true` if it has fields that the schema does not have.
    pub(super) newer: bool,
}

/// The end of the offset to the vtable, which every table starts with.
const LEAST_EXTENT: u32 = 4;

impl<S: Slots> Vtable<S> {
    /// An empty entry: no vtable is at byte 0.
    const NONE: Self = Self { position: 0, opened: Opened { extent: 0, newer: false }, slots: S::ABSENT };
}

/// Reads and checks the vtable at `position`, for a table at `place` with fields of these forms, and fills in their slots.
#[inline(never)]
pub(super) fn read_vtable(
    place: BufferPlace<'_, '_>,
    position: u32,
    forms: &[FieldForm],
    slots: &mut [u16],
) -> Result<Opened> {
    let bad = |found: Cow<'static, str>| Err(fault(place.position, ErrorKind::Vtable(found)));
    if position % 2 != 0 {
        return bad(format!("its position {position} is odd").into());
    }
    let Some(size) = place.get(position, 2).map(|size| word(size, 0)) else {
        let size = counted(place.buffer.bytes.len(), "byte");
        return bad(format!("its position, byte {position}, is outside the FlatBuffer of {size}").into());
    };
    if size % 2 != 0 {
        return bad(format!("its size is {size}, expected an even number").into());
    }
    let Some(vtable) = place.get(position, size.into()) else {
        return bad(format!("its {size} bytes from byte {position} extend past the end of the FlatBuffer").into());
    };
    let mut extent = LEAST_EXTENT;
    let mut newer = vtable.len() > 4 + 2 * MAX_READ_FIELDS;
    for (id, field) in vtable.chunks_exact(2).skip(2).take(MAX_READ_FIELDS).enumerate() {
        let offset = word(field, 0);
        let (Some(slot), Some(form)) = (slots.get_mut(id), forms.get(id)) else {
            newer |= offset != 0;
            continue;
        };
        if offset == 0 {
            continue;
        }
        let size = form.size() as u16;
        // The alignment of an 8-byte field also depends on the table's position: see `Table::number`.
        place.note(offset < LEAST_EXTENT as u16);
        if offset % size.min(4) != 0 {
            let (size, multiple) = (counted(size, "byte"), size.min(4));
            let found = format!("field {id} of {size} is at offset {offset} in it, expected a multiple of {multiple}");
            return Err(fault(place.position, ErrorKind::Table(found.into())));
        }
        extent = extent.max(u32::from(offset) + u32::from(size));
        *slot = offset;
    }
    let said = u32::from(word(vtable, 2));
    place.note(said > MAX_REGULAR || !(extent..extent + 8).contains(&said));
    Ok(Opened { extent, newer })
}

fn word(bytes: &[u8], at: usize) -> u16 {
    // There are two bytes from `at`, but for the inline size of a vtable without one.
    bytes.get(at..).and_then(u16::read).unwrap_or_default()
}

/// A table and its next field: nom's input for a table's fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'s, 'a> {
    place: BufferPlace<'s, 'a>,
    /// From the table's start to the end of the farthest field.
    fields: &'a [u8],
    slots: &'s [u16],
    next: usize,
}

impl<'s, 'a> Table<'s, 'a> {
    /// Returns the table at the field after the next one, and the place of the next field (`None` if it is absent).
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn field(mut self) -> (Self, Option<u16>) {
        let slot = self.slots.get(self.next).copied().filter(|slot| *slot != 0);
        self.next += 1;
        (self, slot)
    }

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn number<T: Number>(&self, slot: u16) -> Result<T> {
        let position = self.place.position.wrapping_add(slot.into());
        if T::SIZE > 4 && !self.place.is_aligned(position, T::SIZE as u32) {
            return Err(misaligned(position));
        }
        // There are `SIZE` bytes, see `bytes`.
        Ok(T::read(self.bytes(slot, T::SIZE)).unwrap_or_default())
    }

    /// Does the same as [`number`](Self::number); where a tree is built, also notes a bool other than 0 and 1.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn noted_number<OM: OutputMode, T: Number>(&self, slot: u16) -> Result<T> {
        if T::IS_BOOL {
            OM::Output::bind(|| self.place.note_numbers(self.bytes(slot, T::SIZE), true, 1));
        }
        self.number(slot)
    }

    /// Returns the bytes of a slot. They are inside `fields`, which ends with the farthest field of the vtable.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn bytes(&self, slot: u16, size: usize) -> &'a [u8] {
        let start = usize::from(slot);
        self.fields.get(start..start + size).unwrap_or_default()
    }

    /// Returns the table at the field after the next one, and the target of the next field's offset (`None` if it is absent).
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn target(self) -> Result<(Self, Option<BufferPlace<'s, 'a>>)> {
        let (table, slot) = self.field();
        let target = match slot {
            Some(slot) => Some(table.follow(slot)?),
            None => None,
        };
        Ok((table, target))
    }

    /// Returns the position that the offset in `slot` points to.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn follow(&self, slot: u16) -> Result<BufferPlace<'s, 'a>> {
        // There are 4 bytes, see `bytes`.
        let offset = u32::read(self.bytes(slot, 4)).unwrap_or_default();
        self.place.at(self.place.position.wrapping_add(slot.into())).follow(offset)
    }
}

#[cold]
pub(super) fn misaligned(position: u32) -> Error {
    fault(position, ErrorKind::Table("an 8-byte field is not at a multiple of 8".into()))
}

/// A table of a schema, as a struct with the table's fields.
pub(crate) trait Record<'a>: Encode + Default {
    /// The inline form of each field, by id.
    const FORMS: &'static [FieldForm];

    /// The names and types of its fields.
    const DESCRIPTION: &'static TableDescription;

    /// A slot for each field id.
    type Slots: Slots;

    /// The parsers of its fields, in order of their ids.
    type Fields: for<'s> Parser<Table<'s, 'a>, Output = Self, Error = Error> + Default;
}

/// A table. Caches the vtables that it read last: tables of one type share a few.
pub(crate) struct TableParser<'a, T: Record<'a>> {
    fields: T::Fields,
    vtables: Vtables<T::Slots>,
}

impl<'a, T: Record<'a>> Default for TableParser<'a, T> {
    fn default() -> Self {
        Self { fields: T::Fields::default(), vtables: Vtables::default() }
    }
}

/// The vtables read last. Each is kept in the entry given by its position, so that a look-up needs no search.
#[derive(Clone, Copy, Debug)]
struct Vtables<S>([Vtable<S>; 4]);

impl<S: Slots> Default for Vtables<S> {
    fn default() -> Self {
        Self([Vtable::NONE; 4])
    }
}

impl<S> Vtables<S> {
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    #[allow(clippy::indexing_slicing)]
    fn entry(&mut self, position: u32) -> &mut Vtable<S> {
        // The index is a remainder modulo 4.
        &mut self.0[(position / 2 % 4) as usize]
    }
}

impl<'s, 'a, T: Record<'a>> Parser<BufferPlace<'s, 'a>> for TableParser<'a, T> {
    type Output = T;
    type Error = Error;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn process<OM: OutputMode>(&mut self, place: BufferPlace<'s, 'a>) -> PResult<OM, BufferPlace<'s, 'a>, T, Error> {
        match enter(place, &mut self.vtables, T::FORMS) {
            Ok(table) => match self.fields.process::<OM>(table) {
                Ok((_, value)) => Ok((place, value)),
                Err(error) => Err(error),
            },
            Err(error) => Err(fatal(error)),
        }
    }
}

/// Returns the table at that position, subtracted from the limits.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
fn enter<'s, 'a, S: Slots>(
    place: BufferPlace<'s, 'a>,
    vtables: &'s mut Vtables<S>,
    forms: &[FieldForm],
) -> Result<Table<'s, 'a>> {
    let (opened, table) = open(place, vtables, forms)?;
    place.spend(opened.extent as usize)?;
    count_newer(place, opened.newer);
    Ok(table)
}

/// Returns the table at that position, and its vtable.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
fn open<'s, 'a, S: Slots>(
    place: BufferPlace<'s, 'a>,
    vtables: &'s mut Vtables<S>,
    forms: &[FieldForm],
) -> Result<(Opened, Table<'s, 'a>)> {
    let position = place.position;
    let distance = match place.u32(position) {
        Some(distance) if position % 4 == 0 => distance,
        found => return Err(bad_table(place, found)),
    };
    // The distance is signed. A difference that wraps is outside the FlatBuffer, which `read_vtable` reports.
    let vtable_position = position.wrapping_sub(distance);
    let vtable = vtables.entry(vtable_position);
    if vtable_position != vtable.position || vtable_position == 0 {
        // A vtable that cannot be read is not kept.
        *vtable = Vtable::NONE;
        vtable.opened = read_vtable(place, vtable_position, forms, vtable.slots.as_mut_slice())?;
        vtable.position = vtable_position;
    }
    let opened = vtable.opened;
    let Some(fields) = place.get(position, opened.extent as usize) else {
        return Err(bad_table(place, None));
    };
    Ok((opened, Table { place, fields, slots: vtable.slots.as_slice(), next: 0 }))
}

/// Counts a table with fields that the schema does not know.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
pub(super) fn count_newer(place: BufferPlace<'_, '_>, newer: bool) {
    if newer {
        let newer_tables = &place.buffer.newer_tables;
        newer_tables.set(newer_tables.get().saturating_add(1));
    }
}

#[cold]
pub(super) fn bad_table(place: BufferPlace<'_, '_>, found: Option<u32>) -> Error {
    let found = match found {
        Some(_) => "its position is not a multiple of 4".into(),
        None => {
            let size = counted(place.buffer.bytes.len(), "byte");
            format!("its fields extend past the end of the FlatBuffer of {size}").into()
        }
    };
    fault(place.position, ErrorKind::Table(found))
}

/// Returns `true` if the table at that position, whose schema is not known, has the field with that id.
#[cold]
pub(crate) fn has_field(place: BufferPlace<'_, '_>, id: usize) -> Result<bool> {
    let mut vtables = Vtables::default();
    let (_, table) = open_unknown(place, &mut vtables)?;
    Ok(table.slots.get(id).is_some_and(|slot| *slot != 0))
}

/// Returns a table whose schema is not known: only which of its fields are present.
fn open_unknown<'s, 'a>(
    place: BufferPlace<'s, 'a>,
    vtables: &'s mut Vtables<[u16; MAX_READ_FIELDS]>,
) -> Result<(Opened, Table<'s, 'a>)> {
    open(place, vtables, &[FieldForm::Number1; MAX_READ_FIELDS])
}

/// Checks whether a table whose schema is not known has any fields. Returns [`UnknownValue::Filled`] if that is not known.
#[cold]
pub(super) fn unknown_value(place: BufferPlace<'_, '_>) -> UnknownValue {
    match open_unknown(place, &mut Vtables::default()) {
        Ok((opened, table)) if !opened.newer && table.slots.iter().all(|slot| *slot == 0) => UnknownValue::Empty,
        _ => UnknownValue::Filled,
    }
}

/// A number inside a table, and its default in the schema.
pub(crate) struct Scalar<T, const DEFAULT: i64 = 0>(PhantomData<T>);

impl<T, const DEFAULT: i64> Default for Scalar<T, DEFAULT> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'s, 'a, T: Number, const DEFAULT: i64> Parser<Table<'s, 'a>> for Scalar<T, DEFAULT> {
    type Output = T;
    type Error = Error;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn process<OM: OutputMode>(&mut self, table: Table<'s, 'a>) -> PResult<OM, Table<'s, 'a>, T, Error> {
        let (table, slot) = table.field();
        let number = match slot {
            Some(slot) => table.noted_number::<OM, T>(slot).map_err(fatal)?,
            None => T::from_bits(DEFAULT as u64),
        };
        Ok((table, OM::Output::bind(|| number)))
    }
}

/// A number inside a table; `None` if it is absent.
pub(crate) struct OptionalScalar<T>(PhantomData<T>);

impl<T> Default for OptionalScalar<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'s, 'a, T: Number> Parser<Table<'s, 'a>> for OptionalScalar<T> {
    type Output = Option<T>;
    type Error = Error;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn process<OM: OutputMode>(&mut self, table: Table<'s, 'a>) -> PResult<OM, Table<'s, 'a>, Option<T>, Error> {
        let (table, slot) = table.field();
        let number = match slot {
            Some(slot) => Some(table.noted_number::<OM, T>(slot).map_err(fatal)?),
            None => None,
        };
        Ok((table, OM::Output::bind(|| number)))
    }
}

/// The target of an offset inside a table; `None` if the field is absent.
#[derive(Default)]
pub(crate) struct Optional<P>(P);

impl<'s, 'a, P: Parser<BufferPlace<'s, 'a>, Error = Error>> Parser<Table<'s, 'a>> for Optional<P> {
    type Output = Option<P::Output>;
    type Error = Error;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn process<OM: OutputMode>(&mut self, table: Table<'s, 'a>) -> PResult<OM, Table<'s, 'a>, Self::Output, Error> {
        match table.target() {
            Ok((table, Some(target))) => match self.0.process::<OM>(target) {
                Ok((_, value)) => Ok((table, OM::Output::map(value, Some))),
                Err(error) => Err(error),
            },
            Ok((table, None)) => Ok((table, OM::Output::bind(|| None))),
            Err(error) => Err(fatal(error)),
        }
    }
}

/// Added to the tag of a union that has no value. No member has such a tag.
const WITHOUT_VALUE: u16 = 1 << 8;

/// Returns the two fields of a union: its tag, and the position of its value. The position is `None` if both are absent, and that of the
/// table itself if only the value is absent.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
pub(crate) fn union<'s, 'a>(table: Table<'s, 'a>) -> Result<(Table<'s, 'a>, u16, Option<BufferPlace<'s, 'a>>)> {
    let (table, tag) = table.field();
    let (table, value) = table.field();
    // An absent tag is 0. A present one is inside `fields`, see `Table::bytes`.
    let tag = tag.and_then(|slot| table.fields.get(usize::from(slot))).copied().unwrap_or_default();
    Ok(match (tag, value) {
        (_, Some(slot)) => (table, tag.into(), Some(table.follow(slot)?)),
        (0, None) => (table, 0, None),
        (_, None) => (table, u16::from(tag) | WITHOUT_VALUE, Some(table.place)),
    })
}

/// Returns the value of a union that no member's tag selects, from what [`union`] found.
#[cold]
pub(crate) fn unknown(tag: u16, place: BufferPlace<'_, '_>) -> Unknown {
    let value = if tag >= WITHOUT_VALUE { UnknownValue::Absent } else { unknown_value(place) };
    Unknown { tag: tag as u8, value }
}

/// A value in a `Box`, for one that is large and rare.
#[derive(Default)]
pub(crate) struct Boxed<P>(P);

impl<'s, 'a, P: Parser<BufferPlace<'s, 'a>, Error = Error>> Parser<BufferPlace<'s, 'a>> for Boxed<P> {
    type Output = Box<P::Output>;
    type Error = Error;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn process<OM: OutputMode>(
        &mut self,
        place: BufferPlace<'s, 'a>,
    ) -> PResult<OM, BufferPlace<'s, 'a>, Self::Output, Error> {
        place.hold(1, size_of::<P::Output>()).map_err(fatal)?;
        let (place, value) = self.0.process::<OM>(place)?;
        Ok((place, OM::Output::map(value, Box::new)))
    }
}
