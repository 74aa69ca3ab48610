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
    /// The parts, last one first; each is filled from its end, so only its tail counts.
    chunks: Vec<Chunk>,
    used: usize,
    /// The largest alignment that anything asked for.
    alignment: usize,
    vtables: BTreeMap<Vtable, Position>,
    /// The vtable of the last table of each number of fields, which the next one mostly shares.
    recent: [Option<(Vtable, Position)>; MAX_FIELDS + 1],
    /// Where the elements of the lists being written start.
    elements: Vec<Position>,
}

struct Chunk {
    bytes: Vec<u8>,
    head: usize,
}

/// A vtable as words: its size, the table's inline size, and where each field lies.
type Vtable = [u16; MAX_FIELDS + 2];

/// What stands inline in a table, by field id.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    slots: [Slot; MAX_FIELDS],
    len: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Bytes; 0 for an absent field.
    size: u8,
    offset: bool,
    /// A number's bits, or the position that an offset leads to.
    bits: u64,
}

impl Row {
    pub(crate) fn new() -> Self {
        Self { slots: [Slot::default(); MAX_FIELDS], len: 0 }
    }

    fn push(&mut self, slot: Slot) {
        if let Some(place) = self.slots.get_mut(self.len) {
            *place = slot;
        }
        self.len += 1;
    }

    /// The fields of another row behind these.
    pub(crate) fn append(&mut self, more: &Self) {
        for slot in more.slots.iter().take(more.len) {
            self.push(*slot);
        }
    }

    /// A number, absent where all its bits are zero: so −0.0 is kept.
    #[inline(always)]
    pub(crate) fn number<T: Number>(&mut self, number: T) {
        let bits = number.bits();
        self.push(Slot { size: if bits == 0 { 0 } else { T::SIZE as u8 }, offset: false, bits });
    }

    #[inline(always)]
    pub(crate) fn offset(&mut self, target: Option<Position>) {
        self.push(match target {
            Some(target) => Slot { size: 4, offset: true, bits: target.into() },
            None => Slot::default(),
        });
    }
}

impl Builder {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            chunks: Vec::new(),
            used: 0,
            alignment: 1,
            vtables: BTreeMap::new(),
            recent: [None; MAX_FIELDS + 1],
            elements: Vec::new(),
        }
    }

    /// Room for `len` more bytes in front of all others.
    fn grow(&mut self, len: usize) -> Result<&mut [u8]> {
        const FIRST: usize = 1 << 12;
        let used = self.used.saturating_add(len);
        if used > MAX_SIZE {
            return Err(too_large());
        }
        if self.chunks.last().is_none_or(|chunk| chunk.head < len) {
            let size = len.max(self.used).max(FIRST);
            self.chunks.push(Chunk { bytes: vec![0; size], head: size });
        }
        self.used = used;
        let chunk = self.chunks.last_mut();
        let room = chunk.and_then(|chunk| {
            let end = chunk.head;
            chunk.head = end.checked_sub(len)?;
            chunk.bytes.get_mut(chunk.head..end)
        });
        room.ok_or_else(|| Error::new(ErrorKind::Unwritable("the builder has no room".into())))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.grow(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Zeros, until `coming` more bytes would end at a multiple of `alignment`.
    #[inline(always)]
    fn align(&mut self, alignment: usize, coming: usize) -> Result<()> {
        self.alignment = self.alignment.max(alignment);
        let padding = self.used.wrapping_add(coming).wrapping_neg() & (alignment - 1);
        if padding > 0 {
            self.grow(padding)?;
        }
        Ok(())
    }

    fn position(&self) -> Position {
        self.used as Position
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
        let first = self.used + size;
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
        const ROOM: usize = MAX_FIELDS * 8 + 16;
        let mut inline = [0; ROOM];
        let start = self.used;
        let mut used = start;
        let mut vtable: Vtable = [0; MAX_FIELDS + 2];
        let mut ends = [0; MAX_FIELDS];
        let mut put = |slot: &Slot, id: usize, alignment: &mut usize| {
            let size = usize::from(slot.size);
            used = used.next_multiple_of(size) + size;
            *alignment = (*alignment).max(size);
            let bits = if slot.offset { used as u64 - slot.bits } else { slot.bits };
            let at = ROOM - (used - start);
            if let Some(room) = inline.get_mut(at..at + size) {
                room.copy_from_slice(bits.to_le_bytes().get(..size).unwrap_or_default());
            }
            if let Some(end) = ends.get_mut(id) {
                *end = used;
            }
        };
        let slots = row.slots.get(..row.len).unwrap_or_default();
        match self.style.order {
            TableOrder::ById => {
                for (id, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.size > 0) {
                    put(slot, id, &mut self.alignment);
                }
            }
            TableOrder::BySize | TableOrder::Interleaved => {
                for size in [8, 4, 2, 1] {
                    for (id, slot) in slots.iter().enumerate().rev().filter(|(_, slot)| slot.size == size) {
                        put(slot, id, &mut self.alignment);
                    }
                }
            }
        }
        used = used.next_multiple_of(4) + 4;
        self.alignment = self.alignment.max(4);
        let mut fields = 0;
        for (id, (end, slot)) in ends.iter().zip(vtable.iter_mut().skip(2)).enumerate() {
            if *end > 0 {
                *slot = (used - end) as u16;
                fields = id + 1;
            }
        }
        let inline_size = used - start;
        let vtable_size = 4 + 2 * fields;
        let [size_word, inline_word, ..] = &mut vtable;
        (*size_word, *inline_word) = (vtable_size as u16, inline_size as u16);

        let recent = self.recent.get(fields).copied().flatten().filter(|(known, _)| *known == vtable);
        let known = recent.map(|(_, position)| position).or_else(|| self.vtables.get(&vtable).copied());
        // The table's start minus this is the vtable's: forwards to a shared one, backwards to a new one.
        let distance = match known {
            Some(position) => position as i32 - used as i32,
            None => vtable_size as i32,
        };
        let at = ROOM - inline_size;
        if let Some(room) = inline.get_mut(at..at + 4) {
            room.copy_from_slice(&distance.to_le_bytes());
        }
        self.put(inline.get(at..).unwrap_or_default())?;
        let position = self.position();
        let place = match known {
            Some(known) => known,
            None => {
                for (room, word) in self.grow(vtable_size)?.chunks_exact_mut(2).zip(vtable) {
                    room.copy_from_slice(&word.to_le_bytes());
                }
                self.vtables.insert(vtable, self.position());
                self.position()
            }
        };
        if let Some(recent) = self.recent.get_mut(fields) {
            *recent = Some((vtable, place));
        }
        Ok(position)
    }

    /// Ends the FlatBuffer: behind its root offset and identifier, all is done.
    pub(crate) fn finish(mut self, root: Position) -> Result<Finished> {
        self.align(self.alignment.max(4), 8)?;
        Ok(Finished { root: self.used - root as usize, size: self.used, chunks: self.chunks })
    }
}

/// A finished FlatBuffer but for its first 8 bytes, in parts.
pub(crate) struct Finished {
    /// Where the root table starts in this.
    root: usize,
    size: usize,
    chunks: Vec<Chunk>,
}

impl Finished {
    /// What comes first: the root offset, the identifier, and a `gap` for an extended header.
    pub(crate) fn head(&self, identifier: &[u8; 4], gap: usize) -> Result<Vec<u8>> {
        let size = gap.saturating_add(self.size).saturating_add(FLATBUFFER_HEAD);
        if size > MAX_SIZE {
            return Err(too_large());
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
        self.chunks.iter().rev().map(|chunk| chunk.bytes.get(chunk.head..).unwrap_or_default())
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
