//! Writing: the builder, which mirrors `read`.
//!
//! A FlatBuffer is built from its end to its start, so that an offset always leads to what stands already. A
//! [`Position`] counts bytes from the end. Where the official writers agree on an order or a padding, so does this one
//! (`TableOrder` tells them apart), and the result is theirs byte for byte.

use super::{number::Number, read::MAX_FIELDS, read::MAX_SIZE};
use crate::error::{Error, ErrorKind, Result};
use crate::header::FLATBUFFER_HEAD;
use alloc::{collections::BTreeMap, format, vec, vec::Vec};

/// Where something starts, in bytes from the end of the FlatBuffer.
pub(crate) type Position = u32;

/// The order in which tables and their fields are put down: the one thing, apart from alignments, in which the official
/// writers differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TableOrder {
    /// Fields by id, ascending: ExecuTorch's Python writer of `.pte` files since 1.0.
    #[default]
    ById,
    /// Fields by size, 8 to 1, and within a size by id, descending: flatc (every `.ptd` from Python, `.pte` files before).
    BySize,
    /// Fields by size; in a `.ptd`, each key is followed by its segment, and a dim order comes before the sizes: C++
    /// `save_ptd`.
    Interleaved,
}

/// What can be written as a table.
pub(crate) trait Encode {
    /// Writes it and all that it leads to, and says where it starts.
    fn encode(&self, builder: &mut Builder) -> Result<Position>;
}

/// How a FlatBuffer is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) order: TableOrder,
    /// The alignment of inline constants (`Buffer.storage`), in bytes, a power of two.
    pub(crate) constant_alignment: usize,
    /// The alignment of inline delegate payloads (`BackendDelegateInlineData.data`), in bytes, a power of two.
    pub(crate) delegate_alignment: usize,
}

/// A FlatBuffer under construction.
pub(crate) struct Builder {
    pub(crate) style: Style,
    /// The part that is being filled, from its end.
    chunk: Chunk,
    /// The parts behind, last one first.
    done: Vec<Chunk>,
    /// Their bytes.
    done_size: usize,
    /// The largest alignment that anything asked for.
    alignment: usize,
    vtables: BTreeMap<Vtable, Position>,
    /// The forms of tables put down before, each at the place that `form_index` says.
    forms: Vec<Option<Form>>,
    /// Where the elements of the lists being written start.
    elements: Vec<Position>,
}

/// A guess may be wrong: no more is set aside for it.
const MOST_EXPECTED: usize = 1 << 26;

/// A part that is filled from its end: only what stands from `head` on counts.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    head: usize,
}

impl Chunk {
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], head: size }
    }

    fn filled(&self) -> &[u8] {
        self.bytes.get(self.head..).unwrap_or_default()
    }
}

/// A vtable as words: its size, the table's inline size, and where each field lies.
type Vtable = [u16; MAX_FIELDS + 2];

/// What stands inline in a table, by field id.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// Bytes of a number, [`OFFSET`] or [`ABSENT`]: a byte for each field, the first one lowest. One number, since it is
    /// what a table's form is looked up by.
    kinds: u128,
    /// A number's bits, or the position that an offset leads to.
    bits: [u64; MAX_FIELDS],
    len: usize,
}

const ABSENT: u8 = 0;
/// Four bytes that lead somewhere.
const OFFSET: u8 = 0x80 | 4;
const SIZE: u8 = 0x7f;

impl Row {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { kinds: 0, bits: [0; MAX_FIELDS], len: 0 }
    }

    #[inline(always)]
    fn push(&mut self, kind: u8, bits: u64) {
        if let Some(place) = self.bits.get_mut(self.len) {
            *place = bits;
            self.kinds |= u128::from(kind) << (8 * self.len);
        }
        self.len += 1;
    }

    /// The fields of another row behind these.
    pub(crate) fn append(&mut self, more: &Self) {
        for (kind, bits) in more.kinds.to_le_bytes().into_iter().zip(more.bits).take(more.len) {
            self.push(kind, bits);
        }
    }

    /// A number, absent where all its bits are zero: so −0.0 is kept.
    #[inline(always)]
    pub(crate) fn number<T: Number>(&mut self, number: T) {
        let bits = number.bits();
        self.push(if bits == 0 { ABSENT } else { T::SIZE as u8 }, bits);
    }

    #[inline(always)]
    pub(crate) fn offset(&mut self, target: Option<Position>) {
        match target {
            Some(target) => self.push(OFFSET, target.into()),
            None => self.push(ABSENT, 0),
        }
    }
}

/// How a table with fields of certain kinds lies: the same for all such tables that start at the same place modulo 8.
#[derive(Clone, Copy)]
struct Form {
    key: FormKey,
    /// Bytes inline.
    size: usize,
    /// Where each field lies, in bytes from the table's start; 0 for an absent one.
    places: [u16; MAX_FIELDS],
    vtable: Position,
}

/// The kinds of a table's fields, and in the highest byte how many bytes stand behind it modulo 8.
type FormKey = u128;

/// How many forms are remembered; most programs have fewer.
const FORMS: usize = 128;

#[inline(always)]
fn form_index(key: FormKey) -> usize {
    let hash = (key as u64 ^ ((key >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 57) as usize % FORMS
}

impl Builder {
    /// `expected` bytes are a guess at the size: a good one saves room and copies nothing.
    pub(crate) fn new(style: Style, expected: usize) -> Self {
        Self {
            style,
            chunk: Chunk::new(expected.min(MOST_EXPECTED)),
            done: Vec::new(),
            done_size: 0,
            alignment: 1,
            vtables: BTreeMap::new(),
            forms: vec![None; FORMS],
            elements: Vec::new(),
        }
    }

    /// Bytes from the end.
    #[inline(always)]
    fn used(&self) -> usize {
        self.done_size + self.chunk.bytes.len() - self.chunk.head
    }

    /// Room for `len` more bytes in front of all others.
    #[inline(always)]
    fn grow(&mut self, len: usize) -> Result<&mut [u8]> {
        if self.chunk.head < len {
            self.add_chunk(len)?;
        }
        let end = self.chunk.head;
        self.chunk.head = end.saturating_sub(len);
        Ok(self.chunk.bytes.get_mut(self.chunk.head..end).unwrap_or_default())
    }

    /// A part with room for `len` bytes and as much again as there is, up to the most that a FlatBuffer may have.
    #[cold]
    fn add_chunk(&mut self, len: usize) -> Result<()> {
        const FIRST: usize = 1 << 12;
        let used = self.used();
        let most = MAX_SIZE.saturating_sub(used);
        if len > most {
            return Err(too_large());
        }
        let size = len.max(used).max(FIRST).min(most);
        let last = core::mem::replace(&mut self.chunk, Chunk::new(size));
        self.done.push(last);
        self.done_size = used;
        Ok(())
    }

    /// Zeros, until `coming` more bytes would end at a multiple of `alignment`.
    #[inline(always)]
    fn align(&mut self, alignment: usize, coming: usize) -> Result<()> {
        self.alignment = self.alignment.max(alignment);
        let padding = self.used().wrapping_add(coming).wrapping_neg() & (alignment - 1);
        if padding > 0 {
            self.grow(padding)?;
        }
        Ok(())
    }

    fn position(&self) -> Position {
        self.used() as Position
    }

    /// A string and its NUL.
    pub(crate) fn text(&mut self, text: &str) -> Result<Position> {
        self.align(4, text.len() + 1)?;
        let len = text.len();
        let room = self.grow(len + 5)?;
        if let Some((count, bytes)) = room.split_first_chunk_mut() {
            *count = (len as u32).to_le_bytes();
            if let Some(bytes) = bytes.get_mut(..len) {
                bytes.copy_from_slice(text.as_bytes());
            }
        }
        Ok(self.position())
    }

    /// A vector of numbers, the first of them aligned to `alignment`. Where there is none, Python's builder aligns it
    /// nevertheless; the C++ one does not.
    pub(crate) fn numbers<T: Number>(&mut self, numbers: &[T], alignment: usize) -> Result<Position> {
        let size = size_of_val(numbers);
        let alignment = if size > 0 || self.style.order == TableOrder::ById { alignment } else { 1 };
        self.align(alignment.max(4), size)?;
        let room = self.grow(size + 4)?;
        if let Some((count, bytes)) = room.split_first_chunk_mut() {
            *count = (numbers.len() as u32).to_le_bytes();
            T::put(numbers, bytes);
        }
        Ok(self.position())
    }

    /// A vector of tables: the tables in order, then the vector.
    pub(crate) fn list<T: Encode>(&mut self, items: &[T]) -> Result<Position> {
        let base = self.elements.len();
        for (index, item) in items.iter().enumerate() {
            let position = item.encode(self).map_err(|error| error.in_item(index))?;
            self.elements.push(position);
        }
        let elements = self.elements.split_off(base);
        self.offsets(&elements)
    }

    /// A vector of offsets to what stands already.
    pub(crate) fn offsets(&mut self, elements: &[Position]) -> Result<Position> {
        let size = elements.len() * 4;
        self.align(4, size)?;
        let first = self.used() + size;
        let room = self.grow(size + 4)?;
        if let Some((count, bytes)) = room.split_first_chunk_mut() {
            *count = (elements.len() as u32).to_le_bytes();
            for (index, (bytes, position)) in bytes.chunks_exact_mut(4).zip(elements).enumerate() {
                bytes.copy_from_slice(&((first - index * 4) as u32 - position).to_le_bytes());
            }
        }
        Ok(self.position())
    }

    /// A table, and its vtable unless an equal one stands already.
    pub(crate) fn table(&mut self, row: &Row) -> Result<Position> {
        let key = row.kinds | (self.used() as u128 % 8) << 120;
        let index = form_index(key);
        if let Some(form) = self.forms.get(index).copied().flatten().filter(|form| form.key == key) {
            self.put_table(row, &form, form.vtable as i32)?;
            return Ok(self.position());
        }
        let mut form = self.form(key);
        let vtable = self.vtable(&form);
        let len = usize::from(vtable.first().copied().unwrap_or_default());
        let known = self.vtables.get(&vtable).copied();
        // A new vtable stands right before its table.
        let place = known.unwrap_or((self.used() + form.size + len) as Position);
        self.put_table(row, &form, place as i32)?;
        let position = self.position();
        if known.is_none() {
            for (room, word) in self.grow(len)?.chunks_exact_mut(2).zip(vtable) {
                room.copy_from_slice(&word.to_le_bytes());
            }
            self.vtables.insert(vtable, place);
        }
        form.vtable = place;
        if let Some(known) = self.forms.get_mut(index) {
            *known = Some(form);
        }
        Ok(position)
    }

    /// Where each field of such a table lies.
    fn form(&mut self, key: FormKey) -> Form {
        let kinds = key.to_le_bytes();
        let sizes = kinds.iter().take(MAX_FIELDS).map(|kind| kind & SIZE).enumerate();
        let (start, mut used) = (self.used(), self.used());
        let mut ends = [0; MAX_FIELDS];
        let mut put = |id: usize, size: u8| {
            let size = usize::from(size);
            used = used.next_multiple_of(size) + size;
            self.alignment = self.alignment.max(size).max(4);
            if let Some(end) = ends.get_mut(id) {
                *end = used;
            }
        };
        match self.style.order {
            TableOrder::ById => {
                sizes.filter(|(_, size)| *size > 0).for_each(|(id, size)| put(id, size));
            }
            TableOrder::BySize | TableOrder::Interleaved => {
                for largest in [8, 4, 2, 1] {
                    sizes.clone().rev().filter(|(_, size)| *size == largest).for_each(|(id, size)| put(id, size));
                }
            }
        }
        used = used.next_multiple_of(4) + 4;
        self.alignment = self.alignment.max(4);
        let places = ends.map(|end| if end > 0 { (used - end) as u16 } else { 0 });
        Form { key, size: used - start, places, vtable: 0 }
    }

    /// Its size, the table's inline size, and the places up to the last field that is there.
    fn vtable(&self, form: &Form) -> Vtable {
        let fields = form.places.iter().rposition(|place| *place > 0).map_or(0, |last| last + 1);
        let mut vtable = [0; MAX_FIELDS + 2];
        let words = [4 + 2 * fields as u16, form.size as u16].into_iter().chain(form.places);
        vtable.iter_mut().zip(words).for_each(|(place, word)| *place = word);
        vtable
    }

    /// What stands inline, with the way to the vtable at that position.
    #[inline(always)]
    fn put_table(&mut self, row: &Row, form: &Form, vtable: i32) -> Result<()> {
        let start = self.used() + form.size;
        let room = self.grow(form.size)?;
        // The table's start minus this is the vtable's.
        if let Some(place) = room.first_chunk_mut() {
            *place = (vtable - start as i32).to_le_bytes();
        }
        let mut kinds = row.kinds;
        for (place, bits) in form.places.iter().zip(&row.bits) {
            let kind = kinds as u8;
            kinds >>= 8;
            if kind == ABSENT {
                if kinds == 0 {
                    break;
                }
                continue;
            }
            let place = usize::from(*place);
            let room = room.get_mut(place..).unwrap_or_default();
            match kind {
                OFFSET => set(room, ((start - place) as u32).wrapping_sub(*bits as u32).to_le_bytes()),
                8 => set(room, bits.to_le_bytes()),
                4 => set(room, (*bits as u32).to_le_bytes()),
                _ => set(room, (*bits as u8).to_le_bytes()),
            }
        }
        Ok(())
    }

    /// Ends the FlatBuffer: behind its root offset and identifier, all is done.
    pub(crate) fn finish(mut self, root: Position) -> Result<Finished> {
        self.align(self.alignment.max(4), 8)?;
        let size = self.used();
        self.done.push(self.chunk);
        Ok(Finished { root: size - root as usize, size, alignment: self.alignment, chunks: self.done })
    }
}

#[inline(always)]
fn set<const N: usize>(room: &mut [u8], bytes: [u8; N]) {
    if let Some(place) = room.first_chunk_mut() {
        *place = bytes;
    }
}

/// A finished FlatBuffer but for its first 8 bytes, in parts.
pub(crate) struct Finished {
    /// Where the root table starts in this.
    root: usize,
    size: usize,
    /// What it was aligned to.
    alignment: usize,
    chunks: Vec<Chunk>,
}

impl Finished {
    /// What comes first: the root offset, the identifier, and a `gap` for an extended header.
    pub(crate) fn head(&self, identifier: &[u8; 4], gap: usize) -> Result<Vec<u8>> {
        let size = gap.saturating_add(self.size).saturating_add(FLATBUFFER_HEAD);
        if size > MAX_SIZE {
            return Err(too_large());
        }
        if gap % self.alignment != 0 {
            let reason = format!("a header of {gap} bytes with its padding, expected a multiple of {}", self.alignment);
            return Err(Error::new(ErrorKind::Unwritable(reason.into())));
        }
        let mut head = vec![0; FLATBUFFER_HEAD + gap];
        if let Some((offset, rest)) = head.split_first_chunk_mut() {
            *offset = ((FLATBUFFER_HEAD + gap + self.root) as u32).to_le_bytes();
            if let Some(place) = rest.first_chunk_mut() {
                *place = *identifier;
            }
        }
        Ok(head)
    }

    /// What comes behind, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().rev().map(Chunk::filled)
    }

    /// The bytes of what comes behind.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

#[cold]
fn too_large() -> Error {
    let reason = format!("a FlatBuffer of more than {MAX_SIZE} bytes, which no reader takes");
    Error::new(ErrorKind::Unwritable(reason.into()))
}
