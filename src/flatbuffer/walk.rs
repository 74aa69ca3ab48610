//! The tables, vectors and strings of a FlatBuffer as bytes, found with a schema's description.
//!
//! They show what a decoded tree does not: which bytes a table takes, what its vtable says, how a vector is aligned. The
//! FlatBuffer has been read before, so faults are not reported again: parts that cannot be followed are skipped.

use super::description::{FieldKind, NumberKind, TableDescription};
use super::number::Number;
use super::read::{Buffer, Limits, MAX_FIELDS, Place};
use crate::error::Result;
use crate::path::Path;

/// A part of a FlatBuffer.
#[derive(Debug)]
pub(crate) struct Part<'p> {
    /// The field that points to it.
    pub(crate) path: &'p Path<'p>,
    /// The table that holds that field; for a table, the table itself.
    pub(crate) owner: &'static TableDescription,
    pub(crate) kind: PartKind<'p>,
    /// Where it starts, in bytes from the start of the FlatBuffer.
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
    /// Where the vtable is, in bytes from the start of the FlatBuffer.
    pub(crate) vtable: u32,
    /// Its size, in bytes.
    pub(crate) vtable_size: u16,
    /// The inline size that it states; `None` if it is too short to state one.
    pub(crate) inline_size: Option<u16>,
    /// Where each field that the schema knows is, by id, in bytes from the table's start; 0 for an absent one.
    pub(crate) slots: &'p [u16],
}

/// Calls `found` for every part, a table before what it points to.
pub(crate) fn walk(bytes: &[u8], root: &'static TableDescription, limits: &Limits, found: &mut dyn FnMut(&Part<'_>)) {
    walk_at(0, bytes, root, limits, found);
}

/// [`walk`] for a FlatBuffer that starts at byte `position`, as for [`read_at`](super::read::read_at).
pub(crate) fn walk_at(
    position: u32,
    bytes: &[u8],
    root: &'static TableDescription,
    limits: &Limits,
    found: &mut dyn FnMut(&Part<'_>),
) {
    if let Ok(buffer) = Buffer::new(bytes, limits) {
        // An error here is a limit, or a fault that reading reports.
        let _ = buffer.root(position).and_then(|place| table(place, root, &Path::ROOT, found));
    }
}

fn word(place: Place<'_, '_>, position: u32) -> Option<u16> {
    place.get(position, 2).and_then(u16::read)
}

fn table(
    place: Place<'_, '_>,
    description: &'static TableDescription,
    path: &Path<'_>,
    found: &mut dyn FnMut(&Part<'_>),
) -> Result<()> {
    // The FlatBuffer has been read before, so these bytes, and those below, are there. In place of missing ones, a 0 would be skipped or refused.
    let vtable = place.position.wrapping_sub(place.u32(place.position).unwrap_or_default());
    let Some(vtable_size) = word(place, vtable) else {
        return Ok(());
    };
    let inline_size = if vtable_size >= 4 { word(place, vtable.wrapping_add(2)) } else { None };
    let mut slots = [0; MAX_FIELDS];
    let slots = slots.get_mut(..description.forms.len()).unwrap_or_default();
    let mut extent = 4;
    for ((slot, form), entry) in slots.iter_mut().zip(description.forms).zip((4..vtable_size).step_by(2)) {
        *slot = word(place, vtable.wrapping_add(entry.into())).unwrap_or_default();
        if *slot > 0 {
            extent = extent.max(u32::from(*slot) + form.size() as u32);
        }
    }
    place.spend(extent as usize)?;
    let part = TablePart { vtable, vtable_size, inline_size, slots };
    let position = place.position;
    found(&Part { path, owner: description, kind: PartKind::Table(part), position, size: extent });
    for (id, field) in description.fields_by_id() {
        let path = &path.field(field.name);
        // The offset of a union is its second field.
        let (tag, at) = match field.kind {
            FieldKind::Number(_) => continue,
            FieldKind::Union(_) => (slots.get(id).copied().filter(|slot| *slot > 0), slots.get(id + 1)),
            _ => (None, slots.get(id)),
        };
        let Some(at) = at.copied().filter(|slot| *slot > 0) else {
            continue;
        };
        let at = place.at(position.wrapping_add(at.into()));
        let target = at.follow(at.u32(at.position).unwrap_or_default())?;
        match field.kind {
            FieldKind::Table(inner) => table(target, inner, path, found)?,
            FieldKind::Union(union) => {
                let tag = tag.and_then(|slot| place.get(position.wrapping_add(slot.into()), 1)?.first().copied());
                if let Some(member) = union.member(tag.unwrap_or_default()) {
                    table(target, member.table, &path.field(member.name), found)?;
                }
            }
            FieldKind::Tables(inner) => {
                let (count, first) = target.count()?;
                if !vector(target, description, path, PartKind::Tables, u64::from(count) * 4 + 4, found)? {
                    continue;
                }
                for index in 0..count {
                    let element = target.at(first.wrapping_add(index.wrapping_mul(4)));
                    let item = element.follow_item(element.u32(element.position).unwrap_or_default())?;
                    table(item, inner, &path.index(index as usize), found)?;
                }
            }
            FieldKind::Text => {
                let (count, _) = target.count()?;
                vector(target, description, path, PartKind::Text, u64::from(count) + 5, found)?;
            }
            FieldKind::Numbers { number, alignment } => {
                let (count, _) = target.count()?;
                let size = u64::from(count) * number.size() as u64 + 4;
                vector(target, description, path, PartKind::Numbers { number, alignment }, size, found)?;
            }
            FieldKind::Number(_) => {}
        }
    }
    Ok(())
}

/// Reports a vector or string of `size` bytes. Returns `false` if they are not all inside the FlatBuffer.
fn vector(
    place: Place<'_, '_>,
    owner: &'static TableDescription,
    path: &Path<'_>,
    kind: PartKind<'_>,
    size: u64,
    found: &mut dyn FnMut(&Part<'_>),
) -> Result<bool> {
    let Some(bytes) = usize::try_from(size).ok().and_then(|size| place.get(place.position, size)) else {
        return Ok(false);
    };
    place.spend(bytes.len())?;
    found(&Part { path, owner, kind, position: place.position, size: bytes.len() as u32 });
    Ok(true)
}
