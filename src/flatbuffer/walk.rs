//! The tables, vectors and strings of a FlatBuffer as bytes, found with a schema's description.
//!
//! They show what a decoded tree does not: which bytes a table takes, what its vtable says, how a vector is aligned. The
//! FlatBuffer has been read before, so faults are not reported again: parts that cannot be followed are skipped.

use super::description::{FieldDescription, FieldKind, NumberKind, TableDescription};
use super::number::Number;
use super::read::{Buffer, BufferPlace, Limits, MAX_FIELDS};
use crate::path::Path;

/// A part of a FlatBuffer.
#[derive(Debug)]
pub(crate) struct Part<'p> {
    /// The field that points to it.
    pub(crate) path: &'p Path<'p>,
    /// The table that holds that field; for a table, the table itself.
    pub(crate) owner: &'static TableDescription,
    pub(crate) kind: PartKind<'p>,
    /// Its start, in bytes from the start of the FlatBuffer.
    pub(crate) position: u32,
    /// Its size in bytes, including a vector's count and a string's NUL. A table ends with its farthest field.
    pub(crate) size: u32,
}

#[derive(Debug)]
pub(crate) enum PartKind<'p> {
    Table(TablePart<'p>),
    Text,
    Numbers {
        number: NumberKind,
        /// The alignment of the first element in the schema, in bytes.
        alignment: u32,
    },
    /// A vector of offsets to tables.
    Tables,
}

/// A table and its vtable.
#[derive(Debug)]
pub(crate) struct TablePart<'p> {
    /// The place of the vtable, in bytes from the start of the FlatBuffer.
    pub(crate) vtable: u32,
    /// Its size, in bytes.
    pub(crate) vtable_size: u16,
    /// The inline size that it states; `None` if it is too short to state one.
    pub(crate) inline_size: Option<u16>,
    /// The place of each field of the schema, by id, in bytes from the table's start; 0 for an absent one.
    pub(crate) slots: &'p [u16],
    /// `true` if a field overlaps the four bytes of the offset to the vtable.
    pub(crate) overlaps: bool,
}

impl TablePart<'_> {
    /// Returns `true` if a union of the table, which is at byte `position`, has a member that the schema does not have.
    fn has_unknown_member(&self, owner: &TableDescription, bytes: &[u8], position: u32) -> bool {
        owner.fields_by_id().any(|(id, field)| {
            let (FieldKind::Union(union), Some(slot @ 1..)) = (field.kind, self.slots.get(id)) else { return false };
            let tag = bytes.get(position as usize + usize::from(*slot)).copied().unwrap_or_default();
            tag > 0 && union.member(tag).is_none()
        })
    }
}

/// The requested parts.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// `true` for tables.
    pub(crate) tables: bool,
    /// Returns `true` for a field whose string or vector is requested.
    pub(crate) fields: fn(&FieldKind) -> bool,
}

impl Wanted {
    pub(crate) const ALL: Self = Self { tables: true, fields: |_| true };
    pub(crate) const TABLES: Self = Self { fields: |_| false, ..Self::ALL };
}

/// Calls `found` for what is `wanted`, a table before what it points to.
pub(crate) fn walk(
    bytes: &[u8],
    root: &'static TableDescription,
    limits: &Limits,
    wanted: Wanted,
    found: &mut dyn FnMut(&Part<'_>),
) {
    walk_at(0, bytes, root, limits, wanted, found);
}

/// Does the same as [`walk`] for a FlatBuffer that starts at byte `position`, as for [`read_at`](super::read::read_at).
pub(crate) fn walk_at(
    position: u32,
    bytes: &[u8],
    root: &'static TableDescription,
    limits: &Limits,
    wanted: Wanted,
    found: &mut dyn FnMut(&Part<'_>),
) {
    walk_while(position, bytes, root, limits, wanted, &mut |part| {
        found(part);
        Some(())
    });
}

/// Does the same as [`walk_at`] until `found` returns `None`. Returns `None` if the walk ends early: because of that, at a limit, or at a fault that
/// reading reports.
fn walk_while(
    position: u32,
    bytes: &[u8],
    root: &'static TableDescription,
    limits: &Limits,
    wanted: Wanted,
    found: &mut dyn FnMut(&Part<'_>) -> Option<()>,
) -> Option<()> {
    let buffer = Buffer::new(bytes, limits).ok()?;
    let mut walk = Walk { vtables: Vtables([(0, [Vtable::NONE; 2]); 32], wanted), found };
    walk.table(buffer.root(position).ok()?, root, &Path::ROOT)
}

/// Returns the end of the last byte that a FlatBuffer at byte `position` refers to, or any later byte that it refers to from `enough` on.
/// Returns `None` if the walk ends early, at a limit or because it does not know a member of a union.
pub(crate) fn end_at(
    position: u32,
    bytes: &[u8],
    root: &'static TableDescription,
    limits: &Limits,
    enough: usize,
) -> Option<usize> {
    let mut end = 0;
    let mut is_known = true;
    let walked = walk_while(position, bytes, root, limits, Wanted::ALL, &mut |part| {
        let mut size = part.size;
        if let PartKind::Table(table) = &part.kind {
            // A shared vtable may state a larger size than that of its table.
            size = size.max(table.inline_size.unwrap_or_default().into());
            end = end.max(table.vtable as usize + usize::from(table.vtable_size));
            is_known &= !table.has_unknown_member(part.owner, bytes, part.position);
        }
        end = end.max(part.position as usize + size as usize);
        (end < enough).then_some(())
    });
    (end >= enough || walked.is_some() && is_known).then_some(end.min(bytes.len()))
}

/// A vtable, as needed for tables of one description.
#[derive(Clone, Copy)]
struct Vtable {
    description: Option<&'static TableDescription>,
    position: u32,
    size: u16,
    inline_size: Option<u16>,
    extent: u32,
    overlaps: bool,
    slots: [u16; MAX_FIELDS],
    /// Its fields that point to tables, and those that point to what is wanted, in the first `count` items.
    pointers: [Option<Pointer>; MAX_FIELDS],
    count: usize,
}

/// A field that points to something.
#[derive(Clone, Copy)]
struct Pointer {
    field: &'static FieldDescription,
    slot: u16,
    /// The slot of a union's tag.
    tag: u16,
}

impl Vtable {
    const NONE: Self = Self {
        description: None,
        position: 0,
        size: 0,
        inline_size: None,
        extent: 4,
        overlaps: false,
        slots: [0; MAX_FIELDS],
        pointers: [None; MAX_FIELDS],
        count: 0,
    };
}

/// The vtables that were read last: two in each entry, which their position and their tables' type give, after the index of the one that was
/// used last.
struct Vtables([(usize, [Vtable; 2]); 32], Wanted);

struct Walk<'w> {
    vtables: Vtables,
    found: &'w mut dyn FnMut(&Part<'_>) -> Option<()>,
}

fn word(place: BufferPlace<'_, '_>, position: u32) -> Option<u16> {
    place.get(position, 2).and_then(u16::read)
}

impl Vtables {
    /// Returns the vtable at that position; `None` if it is not in the FlatBuffer.
    #[inline(always)]
    fn get(
        &mut self,
        place: BufferPlace<'_, '_>,
        position: u32,
        description: &'static TableDescription,
    ) -> Option<&Vtable> {
        let spread = (position as usize / 2) ^ (core::ptr::from_ref(description) as usize / 8);
        let (last, pair) = self.0.get_mut(spread % 32)?;
        let is_it = |vtable: &Vtable| {
            vtable.position == position && vtable.description.is_some_and(|known| core::ptr::eq(known, description))
        };
        if !pair.get(*last).is_some_and(is_it) {
            *last = 1 - *last;
            let other = pair.get_mut(*last)?;
            if !is_it(other) {
                *other = Vtable::read(place, position, description, self.1)?;
            }
        }
        pair.get(*last)
    }
}

impl Vtable {
    #[cold]
    #[inline(never)]
    fn read(
        place: BufferPlace<'_, '_>,
        position: u32,
        description: &'static TableDescription,
        wanted: Wanted,
    ) -> Option<Self> {
        let size = word(place, position)?;
        let inline_size = if size >= 4 { word(place, position.wrapping_add(2)) } else { None };
        let mut vtable = Self { description: Some(description), position, size, inline_size, ..Self::NONE };
        let fields = vtable.slots.iter_mut().zip(description.forms).zip((4..size).step_by(2));
        for ((slot, form), at) in fields {
            *slot = word(place, position.wrapping_add(at.into())).unwrap_or_default();
            if *slot > 0 {
                vtable.extent = vtable.extent.max(u32::from(*slot) + form.size() as u32);
                vtable.overlaps |= *slot < 4;
            }
        }
        for (id, field) in description.fields_by_id() {
            let slot = |id: usize| vtable.slots.get(id).copied().unwrap_or_default();
            // The offset of a union is its second field.
            let (tag, slot) = match field.kind {
                FieldKind::Number(_) => continue,
                FieldKind::Union(_) => (slot(id), slot(id + 1)),
                FieldKind::Table(_) | FieldKind::Tables(_) => (0, slot(id)),
                _ if (wanted.fields)(&field.kind) => (0, slot(id)),
                _ => continue,
            };
            if let Some(pointer) = vtable.pointers.get_mut(vtable.count).filter(|_| slot > 0) {
                *pointer = Some(Pointer { field, slot, tag });
                vtable.count += 1;
            }
        }
        Some(vtable)
    }
}

impl Walk<'_> {
    fn table(
        &mut self,
        place: BufferPlace<'_, '_>,
        description: &'static TableDescription,
        path: &Path<'_>,
    ) -> Option<()> {
        // The FlatBuffer has been read before, so these bytes, and those below, are there. In place of missing ones, a 0 would be skipped
        // or refused.
        let position = place.position;
        let vtable_at = position.wrapping_sub(place.u32(position).unwrap_or_default());
        let wanted = self.vtables.1;
        let Some(vtable) = self.vtables.get(place, vtable_at, description) else {
            return Some(());
        };
        place.spend(vtable.extent as usize).ok()?;
        let Vtable { extent, count, .. } = *vtable;
        if wanted.tables {
            let part = TablePart {
                vtable: vtable_at,
                vtable_size: vtable.size,
                inline_size: vtable.inline_size,
                slots: vtable.slots.split_at(description.forms.len()).0,
                overlaps: vtable.overlaps,
            };
            (self.found)(&Part { path, owner: description, kind: PartKind::Table(part), position, size: extent })?;
        }
        for index in 0..count {
            // The vtables of tables below may have taken its place.
            let vtable = self.vtables.get(place, vtable_at, description);
            let pointer = vtable.and_then(|vtable| vtable.pointers.get(index).copied().flatten());
            let Some(Pointer { field, slot, tag }) = pointer else { break };
            let path = &path.field(field.name);
            let at = place.at(position.wrapping_add(slot.into()));
            let target = at.follow(at.u32(at.position).unwrap_or_default()).ok()?;
            match field.kind {
                FieldKind::Table(inner) => self.table(target, inner, path)?,
                FieldKind::Union(union) => {
                    let tag = place.get(position.wrapping_add(tag.into()), 1).filter(|_| tag > 0);
                    if let Some(member) = union.member(tag.and_then(<[_]>::first).copied().unwrap_or_default()) {
                        self.table(target, member.table, &path.field(member.name))?;
                    }
                }
                FieldKind::Tables(inner) => {
                    let (count, first) = target.count().ok()?;
                    if !self.vector(target, description, path, PartKind::Tables, u64::from(count) * 4 + 4)? {
                        continue;
                    }
                    for index in 0..count {
                        let element = target.at(first.wrapping_add(index.wrapping_mul(4)));
                        let item = element.follow_item(element.u32(element.position).unwrap_or_default()).ok()?;
                        self.table(item, inner, &path.index(index as usize))?;
                    }
                }
                FieldKind::Text => {
                    let (count, _) = target.count().ok()?;
                    self.vector(target, description, path, PartKind::Text, u64::from(count) + 5)?;
                }
                FieldKind::Numbers { number, alignment } => {
                    let (count, _) = target.count().ok()?;
                    let size = u64::from(count) * number.size() as u64 + 4;
                    self.vector(target, description, path, PartKind::Numbers { number, alignment }, size)?;
                }
                FieldKind::Number(_) => {}
            }
        }
        Some(())
    }

    /// Reports a vector or string of `size` bytes. Returns `Some(false)` if they are not all inside the FlatBuffer.
    fn vector(
        &mut self,
        place: BufferPlace<'_, '_>,
        owner: &'static TableDescription,
        path: &Path<'_>,
        kind: PartKind<'_>,
        size: u64,
    ) -> Option<bool> {
        let Some(bytes) = usize::try_from(size).ok().and_then(|size| place.get(place.position, size)) else {
            return Some(false);
        };
        place.spend(bytes.len()).ok()?;
        (self.found)(&Part { path, owner, kind, position: place.position, size: bytes.len() as u32 })?;
        Some(true)
    }
}
