//! Writing: the builder, which mirrors `read`.
//!
//! A FlatBuffer is built from its end to its start, so that an offset always points to something already written. A
//! [`Position`] counts bytes from the end. Order and padding are those of the official writers, so the result is the same byte
//! for byte; [`style`] lists where these writers differ.
//!
//! A table is written in two steps: each field writes what it points to and adds its inline part to a [`InlineFields`]; then
//! [`Builder::table`] looks up the layout of a table with such a row, and writes it.

mod finished;
mod inline_fields;
mod space;
mod style;

pub(crate) use finished::{Finished, HEAD_SIZE};
pub(crate) use inline_fields::{InlineFields, Position};
pub(crate) use style::Style;
pub use style::{FieldOrder, VtableSharing};

use super::form::{FieldForm, TableLayout};
use super::number::Number;
use crate::error::{Error, Result};
use alloc::collections::BTreeMap;
use alloc::{boxed::Box, vec::Vec};
use inline_fields::{InlineLayout, InlineLayouts, LayoutKey, Vtable};
use space::Space;

/// A type that can be written as a table.
pub(crate) trait Encode {
    /// Writes it and everything that it points to. Returns where it starts.
    fn encode(&self, builder: &mut Builder) -> Result<Position>;
}

/// A FlatBuffer under construction.
pub(crate) struct Builder {
    pub(crate) style: Style,
    space: Space,
    /// The largest alignment that was requested.
    alignment: usize,
    vtables: BTreeMap<Vtable, Position>,
    layouts: Box<InlineLayouts>,
    /// The positions of the elements of the lists being written.
    elements: Vec<Position>,
}

impl Builder {
    /// Creates an empty one. `expected` is an estimate of the size, in bytes. A good one saves memory and allocations.
    pub(crate) fn new(style: Style, expected: usize) -> Self {
        Self {
            style,
            space: Space::new(expected),
            alignment: 1,
            vtables: BTreeMap::new(),
            layouts: Box::new(InlineLayouts::new()),
            elements: Vec::new(),
        }
    }

    /// Writes a string and its NUL.
    pub(crate) fn text(&mut self, text: &[u8]) -> Result<Position> {
        let len = text.len();
        let (position, room) = self.space.grow_aligned(len + 5, 4, len + 1)?;
        if let Some((count, bytes)) = room.split_first_chunk_mut() {
            *count = (len as u32).to_le_bytes();
            if let Some(bytes) = bytes.get_mut(..len) {
                bytes.copy_from_slice(text);
            }
        }
        Ok(position)
    }

    /// Writes a vector of numbers, the first of them aligned to `alignment`.
    pub(crate) fn numbers<T: Number>(&mut self, numbers: &[T], alignment: usize) -> Result<Position> {
        let (position, room) = self.vector(numbers.len(), size_of_val(numbers), alignment)?;
        T::put(numbers, room);
        Ok(position)
    }

    /// Writes the count of a vector of that many numbers, of `size` bytes together. Returns the room for them.
    fn vector(&mut self, count: usize, size: usize, alignment: usize) -> Result<(Position, &mut [u8])> {
        let alignment = if size > 0 || self.style.align_empty { alignment.max(4) } else { 4 };
        self.alignment = self.alignment.max(alignment);
        let (position, room) = self.space.grow_aligned(size + 4, alignment, size)?;
        match room.split_first_chunk_mut() {
            Some((start, numbers)) => {
                *start = (count as u32).to_le_bytes();
                Ok((position, numbers))
            }
            None => Ok((position, &mut [])),
        }
    }

    /// Writes a vector of tables: the tables in order, then the vector.
    pub(crate) fn list<T: Encode>(&mut self, items: &[T]) -> Result<Position> {
        let base = self.elements.len();
        self.elements.reserve(items.len());
        for (index, item) in items.iter().enumerate() {
            let position = item.encode(self).map_err(|error: Error| error.in_item(index))?;
            self.elements.push(position);
        }
        self.list_since(base)
    }

    /// Writes a vector of the tables written since there were `base` elements.
    fn list_since(&mut self, base: usize) -> Result<Position> {
        let position = put_offsets(&mut self.space, self.elements.split_at(base).1);
        self.elements.truncate(base);
        position
    }

    /// Writes a vector of offsets to tables already written.
    pub(crate) fn offsets(&mut self, elements: &[Position]) -> Result<Position> {
        put_offsets(&mut self.space, elements)
    }

    /// Writes a table with fields of these forms, and its vtable unless it shares one already written.
    ///
    /// Each kind of table has it in its own code, which saves a third of the instructions of encoding, but not where code is downloaded.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(crate) fn table<const N: usize>(&mut self, forms: TableLayout, row: &InlineFields<'_, N>) -> Result<Position> {
        let key = LayoutKey::new(&forms, row.present, self.space.used());
        match self.layouts.get(key) {
            Some(layout) => put_table(&mut self.space, forms.list, row.bits, layout),
            None => {
                // A copy: what a function borrows is in memory, and the row should be in registers.
                let bits = *row.bits;
                self.rare_table(forms.list, &bits, key)
            }
        }
    }

    /// Writes a table whose layout is not in the first of its entries, or not known yet.
    #[cold]
    #[inline(never)]
    fn rare_table(&mut self, forms: &'static [FieldForm], bits: &[u64], key: LayoutKey) -> Result<Position> {
        if let Some(layout) = self.layouts.get_other(key) {
            return put_table(&mut self.space, forms, bits, layout);
        }
        let used = self.space.used();
        let (mut layout, alignment) = InlineLayout::new(key, used, self.style.field_order);
        self.alignment = self.alignment.max(alignment);
        let vtable = layout.vtable();
        // A vtable starts with its length.
        let len = usize::from(vtable.first().copied().unwrap_or_default());
        let mut shared_as = vtable;
        if let (VtableSharing::ByEntries, Some(size)) = (self.style.vtable_sharing, shared_as.get_mut(1)) {
            *size = 0;
        }
        // A new vtable is written right before its table.
        let here = (used + usize::from(layout.size) + len) as Position;
        layout.vtable = *self.vtables.entry(shared_as).or_insert(here);
        let position = put_table(&mut self.space, forms, bits, &layout)?;
        if layout.vtable == here {
            for (room, word) in self.space.grow(len)?.1.chunks_exact_mut(2).zip(vtable) {
                room.copy_from_slice(&word.to_le_bytes());
            }
        }
        self.layouts.remember(layout);
        Ok(position)
    }

    /// Ends the FlatBuffer. Then only its root offset and identifier are missing.
    pub(crate) fn finish(mut self, root: Position) -> Result<Finished> {
        let alignment = self.alignment.max(4);
        self.space.grow_aligned(0, alignment, HEAD_SIZE)?;
        let size = self.space.used();
        Ok(Finished { root: size - root as usize, size, alignment, parts: self.space.into_parts() })
    }
}

fn put_offsets(space: &mut Space, elements: &[Position]) -> Result<Position> {
    let size = elements.len() * 4;
    let (position, room) = space.grow_aligned(size + 4, 4, size)?;
    if let Some((count, bytes)) = room.split_first_chunk_mut() {
        *count = (elements.len() as u32).to_le_bytes();
        let mut place = position;
        for (bytes, element) in bytes.chunks_exact_mut(4).zip(elements) {
            place -= 4;
            bytes.copy_from_slice(&(place - element).to_le_bytes());
        }
    }
    Ok(position)
}

/// Writes the inline part of a table, with the distance to the vtable.
#[inline(always)]
fn put_table(space: &mut Space, forms: &[FieldForm], bits: &[u64], layout: &InlineLayout) -> Result<Position> {
    let (start, room) = space.grow(layout.size.into())?;
    // The table's position minus this distance is the vtable's.
    set(room, 0, layout.vtable.wrapping_sub(start).to_le_bytes());
    for ((place, bits), form) in layout.places.iter().zip(bits).zip(forms) {
        if *place == 0 {
            continue;
        }
        match form {
            FieldForm::Offset => {
                set(room, *place, (start - u32::from(*place)).wrapping_sub(*bits as u32).to_le_bytes());
            }
            FieldForm::Number8 => set(room, *place, bits.to_le_bytes()),
            FieldForm::Number4 => set(room, *place, (*bits as u32).to_le_bytes()),
            FieldForm::Number2 => set(room, *place, (*bits as u16).to_le_bytes()),
            FieldForm::Number1 => set(room, *place, (*bits as u8).to_le_bytes()),
        }
    }
    Ok(start)
}

#[inline(always)]
fn set<const N: usize>(room: &mut [u8], place: u16, bytes: [u8; N]) {
    let place = usize::from(place);
    if let Some(place) = room.get_mut(place..place + N) {
        place.copy_from_slice(&bytes);
    }
}
