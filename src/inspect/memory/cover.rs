//! Counts the bytes covered by a set of ranges, while ranges are added and removed.

use crate::sorted::set;
use alloc::{vec, vec::Vec};
use core::ops::Range;

/// A segment tree over the bounds of all ranges that will be added. A change takes logarithmic time in their number.
pub(super) struct Cover {
    /// The bounds, sorted and without duplicates.
    bounds: Vec<u64>,
    /// The nodes. The node `n` has the children `2n` and `2n + 1`; the root is 1. The second half are the leaves: the bytes from one bound to
    /// the next.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// The number of bytes in it.
    size: u64,
    /// The number of ranges that cover all of this node, but not all of its parent.
    ranges: usize,
    /// The number of covered bytes in it.
    covered: u64,
}

#[expect(clippy::indexing_slicing, reason = "the tree has a leaf for each bound, and the children of each node")]
impl Cover {
    pub(super) fn new(bounds: Vec<u64>) -> Self {
        let bounds = set(bounds);
        let leaves = bounds.len().next_power_of_two();
        let mut nodes = vec![Node::default(); 2 * leaves];
        for (node, pair) in nodes[leaves..].iter_mut().zip(bounds.windows(2)) {
            node.size = pair[1] - pair[0];
        }
        for node in (1..leaves).rev() {
            nodes[node].size = nodes[2 * node].size + nodes[2 * node + 1].size;
        }
        Self { bounds, nodes }
    }

    /// Returns the number of bytes covered now.
    pub(super) fn covered(&self) -> u64 {
        self.nodes[1].covered
    }

    /// Returns the leaves between two bounds.
    pub(super) fn find(&self, start: u64, end: u64) -> Range<usize> {
        let leaves = self.nodes.len() / 2;
        let find = |bound: u64| leaves + self.bounds.partition_point(|other| *other < bound);
        find(start)..find(end)
    }

    /// Adds a range of leaves, or removes a range that was added.
    pub(super) fn change(&mut self, range: &Range<usize>, add: bool) {
        let Range { start: first, end: after } = *range;
        if first >= after {
            return;
        }
        // The largest nodes that the range covers: at most two of each size.
        let (mut left, mut right) = (first, after);
        while left < right {
            if left % 2 == 1 {
                self.change_node(left, add);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.change_node(right, add);
            }
            (left, right) = (left / 2, right / 2);
        }
        // The nodes that contain an end of the range.
        let (mut left, mut right) = (first / 2, (after - 1) / 2);
        while left > 0 {
            self.count(left);
            if right != left {
                self.count(right);
            }
            (left, right) = (left / 2, right / 2);
        }
    }

    fn change_node(&mut self, node: usize, add: bool) {
        let ranges = &mut self.nodes[node].ranges;
        *ranges = if add { *ranges + 1 } else { ranges.saturating_sub(1) };
        self.count(node);
    }

    /// Counts the covered bytes of a node from its children's.
    fn count(&mut self, node: usize) {
        let inside = |child: usize| self.nodes.get(child).map_or(0, |child| child.covered);
        let Node { size, ranges, .. } = self.nodes[node];
        self.nodes[node].covered = if ranges > 0 { size } else { inside(2 * node) + inside(2 * node + 1) };
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
                cover.change(&cover.find(start, end), add);
                let bytes = bytes.iter_mut().skip(start as usize).take((end - start) as usize);
                bytes.for_each(|count| *count += if add { 1 } else { -1 });
            }
            assert_eq!(cover.covered(), bytes.iter().filter(|count| **count > 0).count() as u64);
        }
    }

    #[test]
    fn an_empty_cover_covers_no_bytes() {
        let mut cover = Cover::new(Vec::new());
        cover.change(&cover.find(0, 0), true);
        assert_eq!(cover.covered(), 0);
    }
}
