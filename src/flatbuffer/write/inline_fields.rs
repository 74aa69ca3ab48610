//! The inline part of a table being written, and its layout.

use super::style::FieldOrder;
use crate::flatbuffer::form::TableLayout;
use crate::flatbuffer::number::Number;
use crate::flatbuffer::read::MAX_FIELDS;

/// The start of something, in bytes from the end of the FlatBuffer.
pub(crate) type Position = u32;

/// The inline part of a table of `N` fields, by id.
pub(crate) struct InlineFields<'r, const N: usize> {
    /// A bit for each present field: field 0 is the lowest one.
    pub(super) present: u32,
    /// A number's bits, or the position that an offset points to. Borrowed, so that the compiler keeps the rest in registers: it knows
    /// `len` then, and writes no row to memory at all.
    pub(super) bits: &'r mut [u64; N],
    len: usize,
}

const _: () = assert!(MAX_FIELDS <= u32::BITS as usize && 2 * MAX_FIELDS <= u64::BITS as usize);

impl<'r, const N: usize> InlineFields<'r, N> {
    /// Creates an empty one, of bits that are all 0.
    #[inline(always)]
    pub(crate) fn new(bits: &'r mut [u64; N]) -> Self {
        const { assert!(N <= MAX_FIELDS) };
        Self { present: 0, bits, len: 0 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, present: bool, bits: u64) {
        debug_assert!(self.len < N, "more than the {N} fields of the row");
        if let Some(place) = self.bits.get_mut(self.len) {
            *place = bits;
            self.present |= u32::from(present) << self.len;
        }
        self.len += 1;
    }

    /// Adds the fields of another row.
    pub(crate) fn append<const M: usize>(&mut self, more: &InlineFields<'_, M>) {
        for (id, bits) in more.bits.iter().enumerate().take(more.len) {
            self.push(more.present >> id & 1 == 1, *bits);
        }
    }

    /// Adds a number: absent if all its bits are zero, so that −0.0 is kept.
    #[inline(always)]
    pub(crate) fn number<T: Number>(&mut self, number: T) {
        let bits = number.bits();
        self.push(bits != 0, bits);
    }

    /// Adds a number that is stored whenever there is one.
    #[inline(always)]
    pub(crate) fn optional_number<T: Number>(&mut self, number: Option<T>) {
        self.push(number.is_some(), number.map_or(0, T::bits));
    }

    #[inline(always)]
    pub(crate) fn offset(&mut self, target: Option<Position>) {
        // An absent field has no bits.
        self.push(target.is_some(), target.unwrap_or_default().into());
    }
}

/// The layout of a table. Tables with fields of the same sizes have the same layout if the same fields are present and the same number of
/// bytes follows them, modulo 4, or modulo 8 if one of the fields has 8 bytes.
#[derive(Clone, Copy)]
pub(super) struct InlineLayout {
    key: LayoutKey,
    /// The inline size, in bytes.
    pub(super) size: u16,
    /// The place of each field, in bytes from the table's start; 0 for an absent one.
    pub(super) places: [u16; MAX_FIELDS],
    pub(super) vtable: Position,
}

/// The facts that determine a layout.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LayoutKey {
    /// The sizes of all fields, as in [`TableLayout`].
    pub(super) sizes: u64,
    /// A bit for each present field.
    pub(super) present: u32,
    /// The number of bytes after the table, modulo 4 or 8.
    pub(super) tail: u32,
}

impl LayoutKey {
    /// No table has such a key.
    const NONE: Self = Self { sizes: 0, present: 0, tail: u32::MAX };

    #[inline(always)]
    pub(super) fn new(forms: &TableLayout, present: u32, used: usize) -> Self {
        Self { sizes: forms.sizes, present, tail: used as u32 % if present & forms.wide > 0 { 8 } else { 4 } }
    }

    /// Returns the number of fields in the vtable: up to the last one that is present.
    fn fields(self) -> usize {
        (u32::BITS - self.present.leading_zeros()) as usize
    }

    /// Returns the index of the key. Multiplication spreads keys that differ in few bits. What follows the table is not multiplied: a
    /// processor knows it last.
    #[inline(always)]
    fn hash(self) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let all = (u64::from(self.present) ^ self.sizes.wrapping_mul(SPREAD)).wrapping_mul(SPREAD);
        ((all >> 56) as usize ^ (self.tail / 4) as usize) % InlineLayouts::LEN
    }
}

/// A cache of the layouts of tables already written, each in one of two entries given by its key's hash.
pub(super) struct InlineLayouts([InlineLayout; Self::LEN]);

impl InlineLayouts {
    /// Several times the number of layouts in a program, so that few keys collide.
    const LEN: usize = 256;

    /// The distance of the two entries of a key. Tables with another number of bytes after them have their first entry next to it.
    const OTHER: usize = Self::LEN / 2;

    pub(super) fn new() -> Self {
        Self([InlineLayout { key: LayoutKey::NONE, size: 0, places: [0; MAX_FIELDS], vtable: 0 }; Self::LEN])
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing)]
    pub(super) fn get(&self, key: LayoutKey) -> Option<&InlineLayout> {
        // A hash is below `LEN`.
        let layout = &self.0[key.hash()];
        (layout.key == key).then_some(layout)
    }

    /// Finds a layout whose first entry has the layout of another key, so that [`get`](Self::get) does not find it.
    #[allow(clippy::indexing_slicing)]
    pub(super) fn get_other(&self, key: LayoutKey) -> Option<&InlineLayout> {
        let layout = &self.0[key.hash() ^ Self::OTHER];
        (layout.key == key).then_some(layout)
    }

    /// Stores a layout in the first entry if that is free, else in the other, where the last one is kept.
    #[allow(clippy::indexing_slicing)]
    pub(super) fn remember(&mut self, layout: InlineLayout) {
        let hash = layout.key.hash();
        let free = self.0[hash].size == 0;
        self.0[if free { hash } else { hash ^ Self::OTHER }] = layout;
    }
}

/// A vtable as words: its size, the table's inline size, and where each field is.
pub(super) type Vtable = [u16; MAX_FIELDS + 2];

impl InlineLayout {
    /// Computes the layout of a table with that key, which `used` bytes follow. Also returns the largest alignment that it needs.
    pub(super) fn new(key: LayoutKey, used: usize, order: FieldOrder) -> (Self, usize) {
        let present = (0..key.fields()).filter(|id| key.present >> id & 1 == 1);
        let sizes = present.map(|id| (id, 1 << (key.sizes >> (2 * id) & 3)));
        let (start, mut used, mut alignment) = (used, used, 4);
        let mut ends = [0; MAX_FIELDS];
        let mut put = |id: usize, size: usize| {
            used = used.next_multiple_of(size) + size;
            alignment = alignment.max(size);
            if let Some(end) = ends.get_mut(id) {
                *end = used;
            }
        };
        match order {
            FieldOrder::ById => sizes.for_each(|(id, size)| put(id, size)),
            FieldOrder::BySize => {
                for largest in [8, 4, 2, 1] {
                    sizes.clone().rev().filter(|(_, size)| *size == largest).for_each(|(id, size)| put(id, size));
                }
            }
        }
        used = used.next_multiple_of(4) + 4;
        let mut places = [0; MAX_FIELDS];
        for (place, end) in places.iter_mut().zip(ends).take(key.fields()) {
            *place = if end > 0 { (used - end) as u16 } else { 0 };
        }
        (Self { key, size: (used - start) as u16, places, vtable: 0 }, alignment)
    }

    /// Returns its size, the table's inline size, and the offsets of the fields up to the last one present.
    pub(super) fn vtable(&self) -> Vtable {
        let fields = self.key.fields();
        let mut vtable = [0; MAX_FIELDS + 2];
        let [size, inline_size, places @ ..] = &mut vtable;
        (*size, *inline_size, *places) = (4 + 2 * fields as u16, self.size, self.places);
        vtable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flatbuffer::form::FieldForm;

    #[test]
    fn a_number_equal_to_its_default_is_absent() {
        let mut bits = [0; 5];
        let mut row = InlineFields::new(&mut bits);
        row.number(1u8);
        row.number(0i16);
        row.push(true, 0);
        row.number(-0.0f64);
        row.offset(None);
        assert_eq!(row.present, 0b01101);
    }

    #[test]
    fn a_layout_is_found_only_by_its_own_key() {
        let key = LayoutKey::new(&TableLayout::of(&[FieldForm::Number1, FieldForm::Offset]), 0b11, 8);
        let mut layouts = InlineLayouts::new();
        assert!(layouts.get(key).is_none());
        layouts.remember(InlineLayout::new(key, 8, FieldOrder::ById).0);
        assert_eq!(layouts.get(key).map(|layout| layout.size), Some(12));
        assert!(layouts.get(LayoutKey { tail: 2, ..key }).is_none());
        assert!(layouts.get(LayoutKey { present: 1, ..key }).is_none());
        assert!(layouts.get(LayoutKey { sizes: 0, ..key }).is_none());
    }

    #[test]
    fn two_layouts_whose_keys_have_the_same_hash_are_found() {
        let key = |present| LayoutKey { sizes: 0, present, tail: 0 };
        let first = key(0);
        let second = (1..).map(key).find(|second| second.hash() == first.hash()).unwrap_or(first);
        let mut layouts = InlineLayouts::new();
        layouts.remember(InlineLayout::new(first, 0, FieldOrder::ById).0);
        layouts.remember(InlineLayout::new(second, 8, FieldOrder::ById).0);
        assert!(layouts.get(first).is_some_and(|layout| layout.key == first));
        assert!(layouts.get(second).is_none());
        assert!(layouts.get_other(second).is_some_and(|layout| layout.key == second));
    }

    #[test]
    fn fields_are_ordered_by_id_or_by_size() {
        const FORMS: TableLayout =
            TableLayout::of(&[FieldForm::Number1, FieldForm::Number2, FieldForm::Number4, FieldForm::Number8]);
        let layout =
            |order| InlineLayout::new(LayoutKey::new(&FORMS, 0b1111, 0), 0, order).0.places.first_chunk().copied();
        // Tables are written from their end, so each field is before the one written last.
        assert_eq!(layout(FieldOrder::ById), Some([19, 16, 12, 4]));
        assert_eq!(layout(FieldOrder::BySize), Some([5, 6, 8, 12]));
    }
}
