//! Writing: the builder, which mirrors `read`.
//!
//! A FlatBuffer is built from its end to its start, so that an offset always leads to what stands already. A
//! [`Position`] counts bytes from the end. Where the official writers agree on an order or a padding, so does this one
//! (`TableOrder` tells them apart), and the result is theirs byte for byte.

use super::{number::Number, read::MAX_FIELDS, read::MAX_SIZE};
use crate::error::{Error, ErrorKind, Result};
use crate::header::FLATBUFFER_HEAD;
use alloc::{boxed::Box, collections::BTreeMap, format, vec, vec::Vec};

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
    forms: Box<[Form; FORMS]>,
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

/// What stands inline in a table of `N` fields, by id.
pub(crate) struct Row<const N: usize> {
    kinds: Kinds,
    /// A number's bits, or the position that an offset leads to.
    bits: [u64; N],
    len: usize,
}

/// What each field is: bytes of a number, [`OFFSET`] or [`ABSENT`], four bits each, the first field lowest. One number,
/// since it is what a table's form is looked up by.
type Kinds = u64;

const ABSENT: u8 = 0;
/// Four bytes that lead somewhere.
const OFFSET: u8 = 12;

const _: () = assert!(MAX_FIELDS * 4 + 4 <= Kinds::BITS as usize);

#[inline(always)]
fn kind(kinds: Kinds, id: usize) -> u8 {
    (kinds >> (4 * id)) as u8 & 15
}

/// Bytes inline.
fn size(kind: u8) -> usize {
    if kind == OFFSET { 4 } else { kind.into() }
}

impl<const N: usize> Row<N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        const { assert!(N <= MAX_FIELDS) };
        Self { kinds: 0, bits: [0; N], len: 0 }
    }

    #[inline(always)]
    fn push(&mut self, kind: u8, bits: u64) {
        debug_assert!(self.len < N, "a row of {N} fields has more");
        if let Some(place) = self.bits.get_mut(self.len) {
            *place = bits;
            self.kinds |= Kinds::from(kind) << (4 * self.len);
        }
        self.len += 1;
    }

    /// The fields of another row behind these.
    pub(crate) fn append<const M: usize>(&mut self, more: &Row<M>) {
        for (id, bits) in more.bits.iter().enumerate().take(more.len) {
            self.push(kind(more.kinds, id), *bits);
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
    size: u16,
    /// Where each field lies, in bytes from the table's start; 0 for an absent one.
    places: [u16; MAX_FIELDS],
    vtable: Position,
}

/// The kinds of a table's fields, and in the highest bits how many bytes stand behind it modulo 8.
type FormKey = Kinds;

/// No field is of the kind 15.
const NO_FORM: Form = Form { key: FormKey::MAX, size: 0, places: [0; MAX_FIELDS], vtable: 0 };

/// How many forms are remembered; most programs have fewer.
const FORMS: usize = 256;

#[inline(always)]
fn form_index(key: FormKey) -> usize {
    let mixed = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize % FORMS
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
            forms: Box::new([NO_FORM; FORMS]),
            elements: Vec::new(),
        }
    }

    /// Bytes from the end.
    #[inline(always)]
    fn used(&self) -> usize {
        self.done_size + self.chunk.bytes.len() - self.chunk.head
    }

    /// Room for `len` more bytes in front of all others, and where it starts.
    #[inline(always)]
    fn grow(&mut self, len: usize) -> Result<(Position, &mut [u8])> {
        self.grow_aligned(len, 1, 0)
    }

    /// Room for `len` more bytes in front of all others, and where it starts. Zeros behind it make the last `aligned` of
    /// these bytes start at a multiple of `alignment`.
    #[inline(always)]
    fn grow_aligned(&mut self, len: usize, alignment: usize, aligned: usize) -> Result<(Position, &mut [u8])> {
        let used = self.used();
        let padding = used.wrapping_add(aligned).wrapping_neg() & (alignment - 1);
        if self.chunk.head < padding + len {
            self.add_chunk(padding + len)?;
        }
        let end = self.chunk.head.saturating_sub(padding);
        self.chunk.head = end.saturating_sub(len);
        let room = self.chunk.bytes.get_mut(self.chunk.head..end).unwrap_or_default();
        Ok(((used + padding + len) as Position, room))
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

    /// A string and its NUL.
    pub(crate) fn text(&mut self, text: &str) -> Result<Position> {
        let len = text.len();
        let (position, room) = self.grow_aligned(len + 5, 4, len + 1)?;
        if let Some((count, bytes)) = room.split_first_chunk_mut() {
            *count = (len as u32).to_le_bytes();
            if let Some(bytes) = bytes.get_mut(..len) {
                bytes.copy_from_slice(text.as_bytes());
            }
        }
        Ok(position)
    }

    /// A vector of numbers, the first of them aligned to `alignment`. Where there is none, Python's builder aligns it
    /// nevertheless; the C++ one does not.
    pub(crate) fn numbers<T: Number>(&mut self, numbers: &[T], alignment: usize) -> Result<Position> {
        let size = size_of_val(numbers);
        let alignment = if size > 0 || self.style.order == TableOrder::ById { alignment.max(4) } else { 4 };
        self.alignment = self.alignment.max(alignment);
        let (position, room) = self.grow_aligned(size + 4, alignment, size)?;
        if let Some((count, bytes)) = room.split_first_chunk_mut() {
            *count = (numbers.len() as u32).to_le_bytes();
            T::put(numbers, bytes);
        }
        Ok(position)
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
        let (position, room) = self.grow_aligned(size + 4, 4, size)?;
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

    /// A table, and its vtable unless an equal one stands already.
    #[allow(clippy::indexing_slicing)]
    #[inline(always)]
    pub(crate) fn table<const N: usize>(&mut self, row: &Row<N>) -> Result<Position> {
        let key = row.kinds | (self.used() as FormKey % 8) << (FormKey::BITS - 4);
        let index = form_index(key);
        // A remainder of `FORMS` is below it: nothing is left to check.
        if self.forms[index].key != key {
            return self.first_table(row, key, index);
        }
        let form = self.forms[index];
        self.put_table(row, &form)
    }

    /// A table of a form that is not remembered.
    #[cold]
    #[allow(clippy::indexing_slicing)]
    fn first_table<const N: usize>(&mut self, row: &Row<N>, key: FormKey, index: usize) -> Result<Position> {
        let mut form = self.form(key);
        let vtable = Self::vtable(&form);
        let len = usize::from(vtable.first().copied().unwrap_or_default());
        let known = self.vtables.get(&vtable).copied();
        // A new vtable stands right before its table.
        form.vtable = known.unwrap_or((self.used() + usize::from(form.size) + len) as Position);
        let position = self.put_table(row, &form)?;
        if known.is_none() {
            for (room, word) in self.grow(len)?.1.chunks_exact_mut(2).zip(vtable) {
                room.copy_from_slice(&word.to_le_bytes());
            }
            self.vtables.insert(vtable, form.vtable);
        }
        self.forms[index] = form;
        Ok(position)
    }

    /// Where each field of such a table lies.
    fn form(&mut self, key: FormKey) -> Form {
        let sizes = (0..MAX_FIELDS).map(|id| (id, size(kind(key, id))));
        let (start, mut used) = (self.used(), self.used());
        let mut ends = [0; MAX_FIELDS];
        let mut put = |id: usize, size: usize| {
            used = used.next_multiple_of(size) + size;
            self.alignment = self.alignment.max(size);
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
        Form { key, size: (used - start) as u16, places, vtable: 0 }
    }

    /// Its size, the table's inline size, and the places up to the last field that is there.
    fn vtable(form: &Form) -> Vtable {
        let fields = form.places.iter().rposition(|place| *place > 0).map_or(0, |last| last + 1);
        let mut vtable = [0; MAX_FIELDS + 2];
        let words = [4 + 2 * fields as u16, form.size].into_iter().chain(form.places);
        vtable.iter_mut().zip(words).for_each(|(place, word)| *place = word);
        vtable
    }

    /// What stands inline, with the way to the vtable.
    #[inline(always)]
    fn put_table<const N: usize>(&mut self, row: &Row<N>, form: &Form) -> Result<Position> {
        let (start, room) = self.grow(form.size.into())?;
        // The table's start minus this is the vtable's.
        set(room, 0, form.vtable.wrapping_sub(start).to_le_bytes());
        for (id, (place, bits)) in form.places.iter().zip(&row.bits).enumerate() {
            match kind(row.kinds, id) {
                ABSENT => {}
                OFFSET => set(room, *place, (start - u32::from(*place)).wrapping_sub(*bits as u32).to_le_bytes()),
                8 => set(room, *place, bits.to_le_bytes()),
                4 => set(room, *place, (*bits as u32).to_le_bytes()),
                _ => set(room, *place, (*bits as u8).to_le_bytes()),
            }
        }
        Ok(start)
    }

    /// Ends the FlatBuffer: behind its root offset and identifier, all is done.
    pub(crate) fn finish(mut self, root: Position) -> Result<Finished> {
        self.grow_aligned(0, self.alignment.max(4), 8)?;
        let size = self.used();
        self.done.push(self.chunk);
        Ok(Finished { root: size - root as usize, size, alignment: self.alignment, chunks: self.done })
    }
}

#[inline(always)]
fn set<const N: usize>(room: &mut [u8], place: u16, bytes: [u8; N]) {
    if let Some(place) = room.get_mut(place.into()..).and_then(<[u8]>::first_chunk_mut) {
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
