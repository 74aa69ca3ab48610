//! Counts the bytes covered by a set of ranges, while ranges are added and removed.

use crate::sorted::set;
use alloc::{vec, vec::Vec};

/// A segment tree over the bounds of all ranges that will be added. A change takes logarithmic time in their number.
pub(super) struct Cover {
    /// The bounds, sorted and without duplicates.
    bounds: Vec<u64>,
    /// The nodes. The node `n` has the children `2n` and `2n + 1`; the root is 1.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// The number of ranges that cover all of this node, but not all of its parent.
    ranges: usize,
    /// The number of covered bytes in it.
    covered: u64,
}

#[expect(
    clippy::indexing_slicing,
    reason = "the tree has a node for each range of bounds, and only a tree with bounds is changed"
)]
impl Cover {
    pub(super) fn new(bounds: Vec<u64>) -> Self {
        let bounds = set(bounds);
        let nodes = vec![Node::default(); 2 * bounds.len().next_power_of_two()];
        Self { bounds, nodes }
    }

    /// Returns the number of bytes covered now.
    pub(super) fn covered(&self) -> u64 {
        self.nodes[1].covered
    }

    /// Adds a range, or removes a range that was added.
    pub(super) fn change(&mut self, start: u64, end: u64, add: bool) {
        let find = |bound: u64| self.bounds.partition_point(|other| *other < bound);
        let range = (find(start), find(end));
        if range.0 < range.1 {
            self.change_in(1, (0, self.bounds.len().next_power_of_two()), range, add);
        }
    }

    /// Changes the part of `range` that is in `node`, whose own range of bounds is `own`.
    fn change_in(&mut self, node: usize, own: (usize, usize), range: (usize, usize), add: bool) {
        if range.1 <= own.0 || own.1 <= range.0 {
            return;
        }
        let mut ranges = self.nodes[node].ranges;
        if range.0 <= own.0 && own.1 <= range.1 {
            ranges = if add { ranges + 1 } else { ranges.saturating_sub(1) };
        } else {
            let middle = own.0.midpoint(own.1);
            self.change_in(2 * node, (own.0, middle), range, add);
            self.change_in(2 * node + 1, (middle, own.1), range, add);
        }
        // An index after the last bound stands for that bound.
        let bound = |index: usize| self.bounds[index.min(self.bounds.len() - 1)];
        let covered = match ranges {
            0 if own.1 - own.0 == 1 => 0,
            0 => self.nodes[2 * node].covered + self.nodes[2 * node + 1].covered,
            _ => bound(own.1) - bound(own.0),
        };
        self.nodes[node] = Node { ranges, covered };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_covered_bytes_equal_a_count_of_every_byte() {
        let ranges: Vec<(u64, u64)> =
            (0..60u64).map(|seed| (seed * 37 % 101, seed * 37 % 101 + seed * 13 % 29)).collect();
        let mut cover = Cover::new(ranges.iter().flat_map(|range| [range.0, range.1]).collect());
        let mut bytes = [0; 160];
        // Each range is added, and every third time an earlier range is removed.
        for (index, range) in ranges.iter().enumerate() {
            let old = ranges.get(index / 3).filter(|_| index % 3 == 2);
            for (range, add) in [(Some(range), true), (old, false)] {
                let Some((start, end)) = range.copied() else {
                    continue;
                };
                cover.change(start, end, add);
                let bytes = bytes.iter_mut().skip(start as usize).take((end - start) as usize);
                bytes.for_each(|count| *count += if add { 1 } else { -1 });
            }
            assert_eq!(cover.covered(), bytes.iter().filter(|count| **count > 0).count() as u64);
        }
    }

    #[test]
    fn an_empty_cover_covers_no_bytes() {
        let mut cover = Cover::new(Vec::new());
        cover.change(0, 0, true);
        assert_eq!(cover.covered(), 0);
    }
}
