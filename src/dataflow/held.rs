//! For each piece of memory, the writes that its content may come from.

use crate::keyed::sort;
use alloc::{collections::BTreeMap, vec::Vec};

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

#[derive(Clone, Debug, PartialEq)]
struct Piece {
    end: u64,
    writes: Writes,
}

/// The content of all memory at one time. Memory without a piece is unchanged since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Held {
    /// By buffer and start. Pieces do not overlap.
    pieces: BTreeMap<(u32, u64), Piece>,
}

impl Held {
    /// How many pieces there are, which is the cost of a copy.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Adds the writes that a place's content comes from; returns the cost.
    pub(super) fn read(&self, place: Place, found: &mut Vec<u32>) -> usize {
        let Place { buffer, start, end } = place;
        let before = self.pieces.range(..(buffer, start)).next_back();
        let before = before.filter(|((other, _), piece)| *other == buffer && piece.end > start);
        let (mut at, mut steps, from) = (start, 1, found.len());
        let add = |found: &mut Vec<u32>, write: u32| {
            if found.get(from..).is_none_or(|new| !new.contains(&write)) {
                found.push(write);
            }
        };
        for ((_, piece_start), piece) in before.into_iter().chain(self.pieces.range((buffer, start)..(buffer, end))) {
            if *piece_start > at {
                add(found, BEFORE);
            }
            for write in piece.writes.all() {
                steps += 1 + found.len() - from;
                add(found, write);
            }
            at = piece.end;
        }
        if at < end {
            add(found, BEFORE);
        }
        steps
    }

    /// The first pieces that overlap a place: start, end and the first write that the content may come from.
    pub(crate) fn pieces(&self, place: Place, most: usize) -> Vec<(u64, u64, u32)> {
        let Place { buffer, start, end } = place;
        let before = self.pieces.range(..(buffer, start)).next_back();
        let before = before.filter(|((other, _), piece)| *other == buffer && piece.end > start);
        let mut pieces = Vec::new();
        for ((_, at), piece) in before.into_iter().chain(self.pieces.range((buffer, start)..(buffer, end))).take(most) {
            pieces.push((*at, piece.end, piece.writes.first));
        }
        pieces
    }

    /// Sets the content of a place to that of a write; returns the cost.
    pub(crate) fn write(&mut self, place: Place, write: u32) -> usize {
        let Place { buffer, start, end } = place;
        self.split(buffer, start);
        self.split(buffer, end);
        let inside: Vec<(u32, u64)> = self.pieces.range((buffer, start)..(buffer, end)).map(|(key, _)| *key).collect();
        for key in &inside {
            self.pieces.remove(key);
        }
        self.pieces.insert((buffer, start), Piece { end, writes: Writes::one(write) });
        inside.len() + 1
    }

    /// Adds a write that the content of a place may come from; returns the cost.
    pub(super) fn may_write(&mut self, place: Place, write: u32) -> usize {
        let mut other = self.clone();
        let steps = other.write(place, write) + 2 * self.len();
        self.join(&other);
        steps
    }

    /// Splits the piece that has `at` inside.
    fn split(&mut self, buffer: u32, at: u64) {
        let Some(((_, _), piece)) = self.pieces.range_mut((buffer, 0)..(buffer, at)).next_back() else { return };
        if piece.end > at {
            let rest = piece.clone();
            piece.end = at;
            self.pieces.insert((buffer, at), rest);
        }
    }

    /// Adds the content of another path; returns whether anything was added.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut bounds: Vec<(u32, u64)> = Vec::with_capacity(2 * (self.len() + other.len()));
        for ((buffer, start), piece) in self.pieces.iter().chain(&other.pieces) {
            bounds.extend([(*buffer, *start), (*buffer, piece.end)]);
        }
        sort(&mut bounds);
        bounds.dedup();
        let mut joined = Self::default();
        let (mut left, mut right) = (self.pieces.iter().peekable(), other.pieces.iter().peekable());
        for pair in bounds.windows(2) {
            let [(buffer, start), (next, end)] = pair else { continue };
            if buffer != next {
                continue;
            }
            let mut writes: Option<Writes> = None;
            for side in [&mut left, &mut right] {
                while side.next_if(|((other, _), piece)| (*other, piece.end) <= (*buffer, *start)).is_some() {}
                let here = side.peek().filter(|((other, from), _)| (other, from) <= (buffer, start));
                let mut add = |write: u32| match &mut writes {
                    Some(writes) => writes.add(write),
                    None => writes = Some(Writes::one(write)),
                };
                match here {
                    Some((_, piece)) => piece.writes.all().for_each(add),
                    None => add(BEFORE),
                }
            }
            if let Some(writes) = writes.filter(|writes| *writes != Writes::one(BEFORE)) {
                joined.append(*buffer, *start, *end, writes);
            }
        }
        let more = joined != *self;
        *self = joined;
        more
    }

    /// Adds a piece after all others, and joins it with the last if that has the same content.
    fn append(&mut self, buffer: u32, start: u64, end: u64, writes: Writes) {
        if let Some(((last, _), piece)) = self.pieces.iter_mut().next_back() {
            if *last == buffer && piece.end == start && piece.writes == writes {
                piece.end = end;
                return;
            }
        }
        self.pieces.insert((buffer, start), Piece { end, writes });
    }

    /// All writes of which some content is left, in order.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces.values() {
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
