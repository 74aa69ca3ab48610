//! The content of memory: for each byte, the writes that it may come from.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Bytes of a piece of memory: of a planned buffer, or of a value's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MemoryRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) buffer: u64,
}

impl MemoryRange {
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.start < other.end && other.start < self.end
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.start <= other.start && other.end <= self.end
    }
}

/// The placeholder for a write if the content existed before the first instruction, or is undefined.
pub(crate) const BEFORE: u32 = u32::MAX;

/// The writes that bytes may come from: more than one where paths join.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Writes {
    first: u32,
    /// Further writes, without duplicates.
    others: Vec<u32>,
}

impl Writes {
    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        core::iter::once(self.first).chain(self.others.iter().copied())
    }

    fn add(&mut self, write: u32) -> bool {
        let new = self.all().all(|other| other != write);
        if new {
            self.others.push(write);
        }
        new
    }
}

#[derive(Clone, Debug)]
struct Piece {
    end: u64,
    writes: Writes,
}

/// The content of all memory at one time. Bytes outside of all pieces have not changed since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    /// The pieces by buffer and start. They do not overlap.
    pieces: BTreeMap<(u64, u64), Piece>,
}

impl Bytes {
    /// Returns the number of pieces, which is the cost of a copy.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the pieces that overlap a place, with their starts and ends.
    fn overlapping(&self, place: MemoryRange) -> impl Iterator<Item = (u64, u64, &Writes)> {
        let MemoryRange { buffer, start, end } = place;
        let before = self.pieces.range(..(buffer, start)).next_back();
        let before = before.filter(|((other, _), piece)| *other == buffer && piece.end > start);
        let inside = self.pieces.range((buffer, start)..);
        let inside = inside.take_while(move |((other, start), _)| *other == buffer && *start < end);
        before.into_iter().chain(inside).map(|((_, start), piece)| (*start, piece.end, &piece.writes))
    }

    /// Adds the writes that a place's content may come from to a list, without duplicates; returns the cost.
    pub(super) fn read(&self, place: MemoryRange, found: &mut Vec<u32>) -> usize {
        // Most bytes are read in the ranges in which they were written.
        let piece = self.pieces.get(&(place.buffer, place.start)).filter(|piece| piece.end >= place.end);
        if let Some(Piece { writes, .. }) = piece {
            found.push(writes.first);
            found.extend_from_slice(&writes.others);
            return 1 + writes.others.len();
        }
        // Weights are read, but not written.
        let last = self.pieces.range(..(place.buffer, place.end)).next_back();
        let is_written = last.is_some_and(|((buffer, _), piece)| *buffer == place.buffer && piece.end > place.start);
        if !is_written && place.start < place.end {
            found.push(BEFORE);
            return 2;
        }
        let (from, mut at, mut steps) = (found.len(), place.start, 1);
        let mut add = |write: u32| {
            steps += 1 + found.len() - from;
            if !found.iter().skip(from).any(|other| *other == write) {
                found.push(write);
            }
        };
        for (start, end, writes) in self.overlapping(place) {
            if start > at {
                add(BEFORE);
            }
            writes.all().for_each(&mut add);
            at = end;
        }
        if at < place.end {
            add(BEFORE);
        }
        steps
    }

    /// Returns the pieces that overlap a place, with start, end and the first write that the content may come from.
    pub(crate) fn pieces(&self, place: MemoryRange) -> impl Iterator<Item = (u64, u64, u32)> {
        self.overlapping(place).map(|(start, end, writes)| (start, end, writes.first))
    }

    /// Sets the content of a place to that of a write; returns the cost.
    pub(crate) fn write(&mut self, place: MemoryRange, write: u32) -> usize {
        let MemoryRange { buffer, start, end } = place;
        let mut steps = 1;
        let new = || Piece { end, writes: Writes { first: write, others: Vec::new() } };
        // Most values are numbered in the order in which they are written, so that those with memory of their own come last.
        if self.pieces.last_key_value().is_none_or(|((last, _), _)| *last < buffer) {
            self.pieces.insert((buffer, start), new());
            return steps;
        }
        // The remainders of the first and the last piece are kept.
        while let Some((key, piece)) = self.pieces.range_mut(..(buffer, end)).next_back() {
            let (of, old_start) = *key;
            if of != buffer || piece.end <= start {
                break;
            }
            steps += 1;
            let right = (piece.end > end).then(|| piece.clone());
            if old_start > start {
                self.pieces.remove(&(of, old_start));
            } else if old_start < start {
                piece.end = start;
            } else {
                *piece = new();
            }
            if let Some(right) = right {
                self.pieces.insert((buffer, end), right);
            }
            // Most places are written from the same start again.
            match old_start.cmp(&start) {
                Ordering::Greater => {}
                Ordering::Equal => return steps,
                Ordering::Less => break,
            }
        }
        self.pieces.insert((buffer, start), new());
        steps
    }

    /// Adds a write that the content of a place may come from; returns the cost.
    pub(super) fn may_write(&mut self, place: MemoryRange, write: u32) -> usize {
        self.cut(place.buffer, place.start);
        self.cut(place.buffer, place.end);
        let (mut at, mut gaps, mut steps) = (place.start, Vec::new(), 1);
        for ((buffer, start), piece) in self.pieces.range_mut((place.buffer, place.start)..) {
            if *buffer != place.buffer || *start >= place.end {
                break;
            }
            steps += 1 + piece.writes.others.len();
            piece.writes.add(write);
            if *start > at {
                gaps.push((at, *start));
            }
            at = piece.end;
        }
        if at < place.end {
            gaps.push((at, place.end));
        }
        for (start, end) in gaps {
            let writes = Writes { first: BEFORE, others: [write].into() };
            self.pieces.insert((place.buffer, start), Piece { end, writes });
        }
        steps
    }

    /// Splits the piece that has bytes on both sides of a position.
    fn cut(&mut self, buffer: u64, at: u64) {
        let Some((key, piece)) = self.pieces.range_mut(..(buffer, at)).next_back() else { return };
        if key.0 == buffer && piece.end > at {
            let right = piece.clone();
            piece.end = at;
            self.pieces.insert((buffer, at), right);
        }
    }

    /// Merges the content of another path; returns `true` if that added anything.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut other = other.clone();
        let bounds = |bytes: &Self| -> Vec<(u64, u64)> {
            bytes.pieces.iter().flat_map(|((buffer, start), piece)| [(*buffer, *start), (*buffer, piece.end)]).collect()
        };
        bounds(&other).into_iter().for_each(|(buffer, at)| self.cut(buffer, at));
        bounds(self).into_iter().for_each(|(buffer, at)| other.cut(buffer, at));
        // From here on, two pieces are either equal or disjoint.
        let mut more = false;
        for (key, piece) in &mut self.pieces {
            match other.pieces.remove(key) {
                Some(new) => new.writes.all().for_each(|write| more |= piece.writes.add(write)),
                None => more |= piece.writes.add(BEFORE),
            }
        }
        for (key, mut piece) in other.pieces {
            more |= piece.writes.first != BEFORE || !piece.writes.others.is_empty();
            piece.writes.add(BEFORE);
            self.pieces.insert(key, piece);
        }
        more
    }

    /// Returns all writes of which some content remains, in order.
    pub(super) fn all(&self) -> Vec<u32> {
        crate::sorted::set(self.pieces.values().flat_map(|piece| piece.writes.all()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn place(start: u64, end: u64) -> MemoryRange {
        MemoryRange { buffer: 1, start, end }
    }

    fn read(bytes: &Bytes, start: u64, end: u64) -> Vec<u32> {
        let mut found = Vec::new();
        bytes.read(place(start, end), &mut found);
        found.sort_unstable();
        found
    }

    #[test]
    fn a_write_replaces_only_its_own_bytes() {
        let mut bytes = Bytes::default();
        bytes.write(place(0, 64), 1);
        bytes.write(place(16, 32), 2);
        assert_eq!(read(&bytes, 0, 16), [1]);
        assert_eq!(read(&bytes, 16, 32), [2]);
        assert_eq!(read(&bytes, 40, 80), [1, BEFORE]);
        assert_eq!(read(&bytes, 0, 64), [1, 2]);
        bytes.write(place(8, 64), 3);
        assert_eq!(bytes.all(), [1, 3]);
    }

    #[test]
    fn writes_and_joins_match_a_list_of_bytes() {
        let (mut bytes, mut expected) = (Bytes::default(), vec![vec![BEFORE]; 1024]);
        let mut random = 1u64;
        let mut next = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        for write in 0..4000 {
            let start = next(1000);
            let end = start + 1 + if write % 100 == 0 { next(1024 - start) } else { next(8).min(1023 - start) };
            let range = expected.get_mut(start as usize..end as usize).unwrap_or_default();
            match next(9) {
                0 => {
                    bytes.may_write(place(start, end), write);
                    range.iter_mut().for_each(|byte| byte.push(write));
                }
                1 => {
                    let mut other = bytes.clone();
                    other.write(place(start, end), write);
                    assert!(bytes.join(&other) && !bytes.join(&other));
                    range.iter_mut().for_each(|byte| byte.push(write));
                }
                _ => {
                    bytes.write(place(start, end), write);
                    range.fill(vec![write]);
                }
            }
            let (from, to) = (next(1000), next(24));
            let range = expected.get(from as usize..(from + 1 + to) as usize).unwrap_or_default();
            assert_eq!(
                read(&bytes, from, from + 1 + to),
                crate::sorted::set(range.concat()).into_iter().fold(Vec::new(), |mut all, write| {
                    if all.last() != Some(&write) {
                        all.push(write);
                    }
                    all
                })
            );
        }
        assert!(bytes.len() > 100);
    }

    #[test]
    fn after_a_join_bytes_may_come_from_both_paths() {
        let (mut left, mut right) = (Bytes::default(), Bytes::default());
        left.write(place(0, 32), 1);
        right.write(place(16, 48), 2);
        assert!(left.join(&right));
        assert_eq!(read(&left, 0, 16), [1, BEFORE]);
        assert_eq!(read(&left, 16, 32), [1, 2]);
        assert_eq!(read(&left, 32, 48), [2, BEFORE]);
        assert!(!left.join(&right));
    }
}
