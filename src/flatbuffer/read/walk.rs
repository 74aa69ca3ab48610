//! The walk over a FlatBuffer by descriptions: one function for the tables of all schemas. It checks; with a visitor,
//! it also reads ([`super::described`]).
//!
//! It makes the checks of the nom parsers, in their order, so that both find the same first fault.

use super::buffer::BufferPlace;
use super::table::{Opened, bad_table, count_newer, misaligned, read_vtable, unknown_value};
use super::vector::{Items, held_bytes, text_bytes};
use crate::error::Result;
use crate::flatbuffer::description::{FieldDescription, FieldKind, NumberKind, TableDescription};
use crate::flatbuffer::read::MAX_FIELDS;
use crate::flatbuffer::unknown::{Unknown, UnknownValue};

/// Receives the fields of a table during a walk.
pub(super) trait Visit<'a> {
    /// The visitor of a table inside of this one.
    type Inside<'v>: Visit<'a>
    where
        Self: 'v;

    /// Whether it receives numbers, and unions without a value. A check does not need them.
    const VALUES: bool;

    /// A field that is present, by its index in the description.
    fn found(&mut self, field: usize, found: FoundField<'a>);

    /// The table in a field, or item `item` of the list of tables in it, which was found before.
    fn inside(&mut self, field: usize, item: usize) -> Self::Inside<'_>;
}

/// A field that is present.
pub(crate) enum FoundField<'a> {
    /// A number's bits; those above its size are 0.
    Number(u64),
    /// A string's bytes.
    Text(&'a [u8]),
    /// The bytes of a vector of numbers.
    Numbers(&'a [u8]),
    /// A table.
    Table,
    /// That many tables.
    Tables(usize),
    /// The member of a union with that tag, which the schema knows.
    Member(u8),
    /// Another value of a union.
    Unknown(Unknown),
}

/// The visitor of a check.
pub(super) struct Checked;

impl Visit<'_> for Checked {
    type Inside<'v> = Self;
    const VALUES: bool = false;

    #[inline(always)]
    fn found(&mut self, _: usize, _: FoundField<'_>) {}

    #[inline(always)]
    fn inside(&mut self, _: usize, _: usize) -> Self {
        Self
    }
}

/// A field that is present and that the walk visits.
#[derive(Clone, Copy, Default)]
struct Step {
    /// Its index in the description.
    field: u8,
    /// Where it is, in bytes from the table's start: a union's value, 0 if there is none.
    slot: u16,
    /// Where a union's tag is; 0 if there is none.
    tag: u16,
}

/// What a vtable says about the tables of a type that use it.
#[derive(Clone, Copy)]
struct Vtable {
    position: u32,
    /// The tables' type. Tables of different types can share a vtable.
    owner: Option<&'static TableDescription>,
    opened: Opened,
    len: u8,
    steps: [Step; MAX_FIELDS],
}

impl Vtable {
    const NONE: Self = Self {
        position: 0,
        owner: None,
        opened: Opened { extent: 0, newer: false },
        len: 0,
        steps: [Step { field: 0, slot: 0, tag: 0 }; MAX_FIELDS],
    };

    #[cold]
    #[inline(never)]
    fn read(place: BufferPlace<'_, '_>, position: u32, owner: &'static TableDescription, values: bool) -> Result<Self> {
        let mut slots = [0; MAX_FIELDS];
        // No table of a schema has more than `MAX_FIELDS` ids, here and below.
        let known = slots.get_mut(..owner.forms.len()).unwrap_or_default();
        let opened = read_vtable(place, position, owner.forms, known)?;
        let mut vtable = Self { position, owner: Some(owner), opened, ..Self::NONE };
        for (field, (id, description)) in owner.fields_by_id().enumerate() {
            let slot = |id: usize| slots.get(id).copied().unwrap_or_default();
            let (slot, tag, wanted) = match description.kind {
                FieldKind::Union(_) => (slot(id + 1), slot(id), slot(id + 1) != 0 || values && slot(id) != 0),
                FieldKind::Number(number) => (slot(id), 0, slot(id) != 0 && (values || number.size() > 4)),
                _ => (slot(id), 0, slot(id) != 0),
            };
            if let Some(step) = vtable.steps.get_mut(usize::from(vtable.len)).filter(|_| wanted) {
                *step = Step { field: field as u8, slot, tag };
                vtable.len += 1;
            }
        }
        Ok(vtable)
    }
}

/// A walk. It caches the vtables that it read last, each in the entry given by its position and type.
pub(super) struct Walk([Vtable; Self::KEPT]);

impl Walk {
    const KEPT: usize = 32;

    pub(super) fn new() -> Self {
        Self([Vtable::NONE; Self::KEPT])
    }

    /// A table inside another one can use the same entry, so this is called again for each field.
    #[inline(always)]
    #[allow(clippy::indexing_slicing)]
    fn vtable(
        &mut self,
        place: BufferPlace<'_, '_>,
        position: u32,
        owner: &'static TableDescription,
        values: bool,
    ) -> Result<&Vtable> {
        let spread = (position as usize / 2) ^ (core::ptr::from_ref(owner) as usize / size_of::<TableDescription>());
        // The index is a remainder modulo `KEPT`.
        let vtable = &mut self.0[spread % Self::KEPT];
        if vtable.position != position || !vtable.owner.is_some_and(|kept| core::ptr::eq(kept, owner)) {
            *vtable = Vtable::read(place, position, owner, values)?;
        }
        Ok(vtable)
    }

    /// A table, and everything that it points to.
    pub(super) fn table<'s, 'a, V: Visit<'a>>(
        &mut self,
        place: BufferPlace<'s, 'a>,
        owner: &'static TableDescription,
        mut visit: V,
    ) -> Result<()> {
        let position = place.position;
        let distance = match place.u32(position) {
            Some(distance) if position % 4 == 0 => distance,
            found => return Err(bad_table(place, found)),
        };
        // The distance is signed. A difference that wraps is outside the FlatBuffer, which reading the vtable reports.
        let vtable = position.wrapping_sub(distance);
        let found = self.vtable(place, vtable, owner, V::VALUES)?;
        let (len, opened) = (found.len, found.opened);
        let Some(fields) = place.get(position, opened.extent as usize) else {
            return Err(bad_table(place, None));
        };
        place.spend(opened.extent as usize)?;
        count_newer(place, opened.newer);
        for step in 0..len {
            let steps = &self.vtable(place, vtable, owner, V::VALUES)?.steps;
            // The vtable may have been read again, with the same `len` steps.
            let step = steps.get(usize::from(step)).copied().unwrap_or_default();
            let Some(field) = owner.fields.get(usize::from(step.field)) else { break };
            if let Err(error) = self.field(place, fields, step, field, &mut visit) {
                return Err(error.in_field(field.name));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn field<'s, 'a, V: Visit<'a>>(
        &mut self,
        table: BufferPlace<'s, 'a>,
        fields: &'a [u8],
        step: Step,
        field: &FieldDescription,
        visit: &mut V,
    ) -> Result<()> {
        let (index, slot) = (usize::from(step.field), usize::from(step.slot));
        let position = table.position.wrapping_add(step.slot.into());
        if let FieldKind::Number(number) = field.kind {
            if number.size() > 4 && !table.is_aligned(position, number.size() as u32) {
                return Err(misaligned(position));
            }
            if V::VALUES {
                // `fields` ends with the farthest field of the vtable, here and below.
                let bytes = fields.get(slot..slot + number.size()).unwrap_or_default();
                table.note_numbers(bytes, number == NumberKind::Bool, 1);
                visit.found(index, FoundField::Number(bits(bytes)));
            }
            return Ok(());
        }
        let tag = if step.tag == 0 { 0 } else { fields.get(usize::from(step.tag)).copied().unwrap_or_default() };
        if step.slot == 0 {
            if tag != 0 {
                visit.found(index, FoundField::Unknown(Unknown { tag, value: UnknownValue::Absent }));
            }
            return Ok(());
        }
        // `place.get` found the whole table, so the offset is there.
        let target = table.at(position).follow(table.u32(position).unwrap_or_default())?;
        match field.kind {
            FieldKind::Number(_) => {}
            FieldKind::Text => visit.found(index, FoundField::Text(text_bytes(target)?)),
            FieldKind::Numbers { number, alignment } => {
                let bytes = held_bytes(target, number.size())?;
                if V::VALUES {
                    target.note_numbers(bytes, number == NumberKind::Bool, alignment as usize);
                }
                visit.found(index, FoundField::Numbers(bytes));
            }
            FieldKind::Table(inner) => {
                // The table may be in a box, which takes memory.
                target.hold(1, inner.memory)?;
                visit.found(index, FoundField::Table);
                self.table(target, inner, visit.inside(index, 0))?;
            }
            FieldKind::Tables(inner) => {
                let items = Items::of(target, inner.memory)?;
                visit.found(index, FoundField::Tables(items.len()));
                for (item, place) in items.enumerate() {
                    let done = match place {
                        Ok(place) => self.table(place, inner, visit.inside(index, item)),
                        Err(error) => Err(error),
                    };
                    if let Err(error) = done {
                        return Err(error.in_item(item));
                    }
                }
            }
            FieldKind::Union(union) => match union.member(tag) {
                Some(member) => {
                    visit.found(index, FoundField::Member(tag));
                    if let Err(error) = self.table(target, member.table, visit.inside(index, 0)) {
                        return Err(error.in_field(member.name));
                    }
                }
                None if V::VALUES => {
                    visit.found(index, FoundField::Unknown(Unknown { tag, value: unknown_value(target) }))
                }
                None => {}
            },
        }
        Ok(())
    }
}

/// A number of up to 8 bytes.
fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}
