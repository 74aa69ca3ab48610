//! For each piece of memory, the writes that its content may come from.

use crate::keyed::sort;
use alloc::{vec, vec::Vec};

/// Bytes of a planned buffer, or the place of a value that is in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The planned buffer; [`VALUES`] for values that are in none, [`VIEWS`] for the bases of views.
    pub(crate) buffer: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Values that are not in planned memory, by index.
pub(super) const VALUES: u32 = 0;
/// The bases of views, by the view's index.
pub(super) const VIEWS: u32 = u32::MAX;

/// In the place of a write: the content was there before the first instruction, or is undefined.
pub(super) const BEFORE: u32 = u32::MAX;

impl Place {
    pub(super) fn of_value(buffer: u32, value: u32) -> Self {
        Self { buffer, start: value.into(), end: u64::from(value) + 1 }
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.start < other.end && other.start < self.end
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.start <= other.start && other.end <= self.end
    }
}

/// The writes that a piece's content may come from: one, or several after branches join.
#[derive(Clone, Debug, Default, PartialEq)]
struct Writes {
    first: u32,
    /// In order.
    others: Vec<u32>,
}

impl Writes {
    fn one(write: u32) -> Self {
        Self { first: write, others: Vec::new() }
    }

    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        core::iter::once(self.first).chain(self.others.iter().copied())
    }

    fn add(&mut self, write: u32) {
        if write < self.first {
            self.others.insert(0, core::mem::replace(&mut self.first, write));
        } else if write > self.first {
            if let Err(at) = self.others.binary_search(&write) {
                self.others.insert(at, write);
            }
        }
    }
}

/// Bytes whose content has one origin.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    buffer: u32,
    start: u64,
    end: u64,
    writes: Writes,
}

/// The content of all memory at one time. Memory without a piece is unchanged since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// Pieces by buffer and start, which do not overlap, in parts of up to [`PART`], none of them empty: so that adding one moves few
    /// others.
    parts: Vec<Vec<Piece>>,
    len: usize,
}

/// The most pieces in a part.
const PART: usize = 32;

impl Held {
    /// How many pieces there are, which is the cost of a copy.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn all_pieces(&self) -> core::iter::Flatten<core::slice::Iter<'_, Vec<Piece>>> {
        self.parts.iter().flatten()
    }

    /// The part, and the position in it, of the first piece that ends after byte `start` of a buffer, or of the first piece of a later
    /// buffer.
    fn find(&self, buffer: u32, start: u64) -> (usize, usize) {
        let before = |piece: &Piece| (piece.buffer, piece.end) <= (buffer, start);
        let part = self.parts.partition_point(|part| part.last().is_some_and(before));
        (part, self.parts.get(part).map_or(0, |part| part.partition_point(before)))
    }

    /// The pieces that overlap a place.
    fn overlapping(&self, place: Place) -> impl Iterator<Item = &Piece> {
        let (part, at) = self.find(place.buffer, place.start);
        let pieces = self.parts.iter().skip(part).flatten().skip(at);
        pieces.take_while(move |piece| piece.buffer == place.buffer && piece.start < place.end)
    }

    /// Adds the writes that a place's content comes from; returns the cost.
    pub(super) fn read(&self, place: Place, found: &mut Vec<u32>) -> usize {
        let (part, first) = self.find(place.buffer, place.start);
        // Most places are read as they were written.
        if let Some(piece) = self.parts.get(part).and_then(|part| part.get(first)) {
            if piece.buffer == place.buffer
                && piece.start <= place.start
                && place.end <= piece.end
                && piece.writes.others.is_empty()
            {
                found.push(piece.writes.first);
                return 2;
            }
        }
        let (mut at, mut steps, from) = (place.start, 1, found.len());
        let add = |found: &mut Vec<u32>, write: u32| {
            if found.get(from..).is_none_or(|new| !new.contains(&write)) {
                found.push(write);
            }
        };
        for piece in self.overlapping(place) {
            if piece.start > at {
                add(found, BEFORE);
            }
            for write in piece.writes.all() {
                steps += 1 + found.len() - from;
                add(found, write);
            }
            at = piece.end;
        }
        if at < place.end {
            add(found, BEFORE);
        }
        steps
    }

    /// The first pieces that overlap a place: start, end and the first write that the content may come from.
    pub(crate) fn pieces(&self, place: Place, most: usize) -> Vec<(u64, u64, u32)> {
        let mut pieces = Vec::new();
        for piece in self.overlapping(place).take(most) {
            pieces.push((piece.start, piece.end, piece.writes.first));
        }
        pieces
    }

    /// Sets the content of a place to that of a write; returns the cost.
    pub(crate) fn write(&mut self, place: Place, write: u32) -> usize {
        let Place { buffer, start, end } = place;
        let (part, at) = self.find(buffer, start);
        let mut new = Piece { buffer, start, end, writes: Writes::one(write) };
        let Some(pieces) = self.parts.get_mut(part) else {
            self.append(new);
            return 1;
        };
        let is_inside = |piece: &Piece| piece.buffer == buffer && piece.start < end;
        match pieces.get_mut(at).filter(|piece| is_inside(piece)) {
            None => {
                pieces.insert(at, new);
                self.len += 1;
                self.divide(part);
                return 1;
            }
            // Most places are written with the size that they had.
            Some(piece) if piece.start == start && piece.end == end => {
                core::mem::swap(piece, &mut new);
                return 2;
            }
            Some(_) => {}
        }
        // The pieces inside are replaced; what is left of the first and the last of them stays.
        let (mut inside, mut left, mut right, mut next, mut here) = (0, None, None, part, 0);
        while let Some(pieces) = self.parts.get_mut(next) {
            let from = if next == part { at } else { 0 };
            let rest = pieces.get(from..).unwrap_or_default();
            let count = rest.partition_point(is_inside);
            if let Some(first) = rest.first().filter(|first| count > 0 && first.start < start) {
                left = Some(Piece { end: start, ..first.clone() });
            }
            if let Some(last) = rest.get(..count).and_then(<[_]>::last).filter(|last| last.end > end) {
                right = Some(Piece { start: end, ..last.clone() });
            }
            let is_whole = count == rest.len();
            if next == part {
                here = count;
            } else {
                pieces.drain(..count);
            }
            inside += count;
            next += 1;
            if !is_whole {
                break;
            }
        }
        self.len = self.len + 1 + usize::from(left.is_some()) + usize::from(right.is_some()) - inside;
        if let Some(pieces) = self.parts.get_mut(part) {
            let (mut to, end) = (at, at + here);
            for piece in left.into_iter().chain([new]).chain(right) {
                match pieces.get_mut(to).filter(|_| to < end) {
                    Some(old) => *old = piece,
                    None => pieces.insert(to, piece),
                }
                to += 1;
            }
            pieces.drain(to.min(end)..end);
        }
        // Those after the first may be empty now.
        if next > part + 1 {
            self.parts.retain(|pieces| !pieces.is_empty());
        }
        self.divide(part);
        inside + 1
    }

    /// Divides a part that is too long.
    fn divide(&mut self, part: usize) {
        if let Some(pieces) = self.parts.get_mut(part).filter(|pieces| pieces.len() > PART) {
            let rest = pieces.split_off(PART / 2);
            self.parts.insert(part + 1, rest);
        }
    }

    /// Adds a piece after all others.
    fn append(&mut self, piece: Piece) {
        self.len += 1;
        match self.parts.last_mut().filter(|pieces| pieces.len() < PART) {
            Some(pieces) => pieces.push(piece),
            None => self.parts.push(vec![piece]),
        }
    }

    /// Adds a write that the content of a place may come from; returns the cost.
    pub(super) fn may_write(&mut self, place: Place, write: u32) -> usize {
        let mut other = self.clone();
        let steps = other.write(place, write) + 2 * self.len();
        self.join(&other);
        steps
    }

    /// Adds the content of another path; returns whether anything was added.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut bounds: Vec<(u32, u64)> = Vec::with_capacity(2 * (self.len() + other.len()));
        for piece in self.all_pieces().chain(other.all_pieces()) {
            bounds.extend([(piece.buffer, piece.start), (piece.buffer, piece.end)]);
        }
        sort(&mut bounds);
        bounds.dedup();
        let mut joined = Self::default();
        let (mut left, mut right) = (self.all_pieces().peekable(), other.all_pieces().peekable());
        for pair in bounds.windows(2) {
            let [(buffer, start), (next, end)] = pair else { continue };
            if buffer != next {
                continue;
            }
            let mut writes: Option<Writes> = None;
            for side in [&mut left, &mut right] {
                while side.next_if(|piece| (piece.buffer, piece.end) <= (*buffer, *start)).is_some() {}
                let here = side.peek().filter(|piece| (piece.buffer, piece.start) <= (*buffer, *start));
                let mut add = |write: u32| match &mut writes {
                    Some(writes) => writes.add(write),
                    None => writes = Some(Writes::one(write)),
                };
                match here {
                    Some(piece) => piece.writes.all().for_each(add),
                    None => add(BEFORE),
                }
            }
            if let Some(writes) = writes.filter(|writes| *writes != Writes::one(BEFORE)) {
                joined.extend(Piece { buffer: *buffer, start: *start, end: *end, writes });
            }
        }
        let more = !joined.all_pieces().eq(self.all_pieces());
        *self = joined;
        more
    }

    /// Adds a piece after all others, and joins it with the last if that has the same content.
    fn extend(&mut self, piece: Piece) {
        match self.parts.last_mut().and_then(|pieces| pieces.last_mut()) {
            Some(last) if last.buffer == piece.buffer && last.end == piece.start && last.writes == piece.writes => {
                last.end = piece.end;
            }
            _ => self.append(piece),
        }
    }

    /// All writes of which some content is left, in order.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.len);
        for piece in self.all_pieces() {
            all.extend(piece.writes.all());
        }
        sort(&mut all);
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(start: u64, end: u64) -> Place {
        Place { buffer: 1, start, end }
    }

    fn read(held: &Held, start: u64, end: u64) -> Vec<u32> {
        let mut found = Vec::new();
        held.read(place(start, end), &mut found);
        found.sort_unstable();
        found
    }

    #[test]
    fn a_write_takes_only_its_own_bytes_from_those_before() {
        let mut held = Held::default();
        held.write(place(0, 64), 1);
        held.write(place(16, 32), 2);
        assert_eq!(read(&held, 0, 16), [1]);
        assert_eq!(read(&held, 16, 32), [2]);
        assert_eq!(read(&held, 40, 80), [1, BEFORE]);
        assert_eq!(read(&held, 0, 64), [1, 2]);
        held.write(place(8, 64), 3);
        assert_eq!(held.all(), [1, 3]);
    }

    #[test]
    fn many_writes_leave_what_they_leave_in_a_list_of_bytes() {
        let (mut held, mut bytes) = (Held::default(), vec![BEFORE; 4096]);
        let mut random = 1u64;
        let mut next = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        for write in 0..4000 {
            let start = next(4000);
            let end = start + 1 + if write % 100 == 0 { next(4096 - start) } else { next(8).min(4095 - start) };
            held.write(place(start, end), write);
            bytes.get_mut(start as usize..end as usize).unwrap_or_default().fill(write);
            let (from, to) = (next(4000), next(90));
            let mut expected = bytes.get(from as usize..(from + 1 + to) as usize).unwrap_or_default().to_vec();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(read(&held, from, from + 1 + to), expected);
            assert_eq!(held.len(), held.all_pieces().count());
        }
        assert!(held.parts.len() > 10 && held.parts.iter().all(|part| !part.is_empty()));
    }

    #[test]
    fn after_a_join_both_ways_may_have_written() {
        let (mut one, mut other) = (Held::default(), Held::default());
        one.write(place(0, 32), 1);
        other.write(place(16, 48), 2);
        assert!(one.join(&other));
        assert_eq!(read(&one, 0, 16), [1, BEFORE]);
        assert_eq!(read(&one, 16, 32), [1, 2]);
        assert_eq!(read(&one, 32, 48), [2, BEFORE]);
        assert!(!one.join(&other));
    }

    #[test]
    fn a_write_that_may_be_adds_to_what_is_there() {
        let mut held = Held::default();
        held.write(place(0, 16), 1);
        held.may_write(place(8, 24), 2);
        assert_eq!(read(&held, 0, 8), [1]);
        assert_eq!(read(&held, 8, 16), [1, 2]);
        assert_eq!(read(&held, 16, 24), [2, BEFORE]);
    }
}
