//! Maps and sorts that compile once for all types.
//!
//! Each pair of key and value types of a `BTreeMap` compiles to about 5,000 lines of LLVM, each type in a sort to 3,000. Here the tree
//! and the sort work on positions and share their code; each type adds about 200 lines. Items are compared and swapped through traits
//! with one method, since a closure behind `dyn Fn` compiles to three functions for each type.
//!
//! Nearly all maps and sorts in the library use these, since the default features, firmware and the page are compiled with many of them:
//! with those of `std`, the feature `edit` and its dependencies compile to 971,000 lines instead of 793,000. A map is a `BTreeMap` only
//! if it is in a public type, is read by serde, or needs more than a [`Keyed`] can do: ranges, removal, changes to all values
//! (`dataflow`). Only the claims of a size report, of which there are most, are sorted by `std`.
// Some features use only a part of these.
#![allow(dead_code)]

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::cmp::Ordering;

/// A map with its entries in the order of their keys.
pub(crate) struct Keyed<K, V> {
    /// The entries, in insertion order.
    entries: Vec<(K, V)>,
    tree: Tree,
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new(), tree: Tree { root: NONE, nodes: Vec::new() } }
    }
}

impl<K: Ord, V> Keyed<K, V> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the position of a key among the entries.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        self.tree.find(&Sought { entries: &self.entries, key })
    }

    #[expect(clippy::indexing_slicing, reason = "the tree has positions of entries")]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).map(|at| &self.entries[at].1)
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).map(|at| self.at(at))
    }

    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_some()
    }

    /// Returns the value of a key. Inserts `value` if the key is new.
    pub fn or_insert(&mut self, key: K, value: V) -> &mut V {
        let at = match self.find(&key) {
            Some(at) => at,
            None => self.push(key, value),
        };
        self.at(at)
    }

    /// Returns the value of a key. Inserts the result of `value` if the key is new.
    pub fn or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let at = match self.find(&key) {
            Some(at) => at,
            None => self.push(key, value()),
        };
        self.at(at)
    }

    /// Returns the value at a position in the tree.
    #[expect(clippy::indexing_slicing, reason = "the tree has positions of entries")]
    fn at(&mut self, at: usize) -> &mut V {
        &mut self.entries[at].1
    }

    /// Adds a new key and returns its position.
    fn push(&mut self, key: K, value: V) -> usize {
        let Self { entries, tree } = self;
        tree.insert(&Sought { entries, key: &key });
        entries.push((key, value));
        entries.len() - 1
    }

    /// Returns the value of a key. Inserts the type's default if the key is new.
    pub fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert(key, V::default())
    }

    /// Sets the value of a key and returns the previous value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(old) = self.get_mut(&key) {
            return Some(core::mem::replace(old, value));
        }
        self.or_insert(key, value);
        None
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entries in the order of their keys.
    pub fn sorted(&self) -> Vec<&(K, V)> {
        let mut sorted: Vec<&(K, V)> = self.entries.iter().collect();
        rearrange(self.tree.in_order(), &mut sorted.as_mut_slice());
        sorted
    }

    /// Returns the entries in the order of their keys.
    pub fn into_sorted(mut self) -> Vec<(K, V)> {
        rearrange(self.tree.in_order(), &mut self.entries.as_mut_slice());
        self.entries
    }
}

/// Keeps the last value of a key.
impl<K: Ord, V> FromIterator<(K, V)> for Keyed<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut keyed = Self::new();
        for (key, value) in entries {
            keyed.insert(key, value);
        }
        keyed
    }
}

impl<K: Ord> Keyed<K, ()> {
    /// Adds a key and returns whether it is new.
    pub fn add(&mut self, key: K) -> bool {
        let before = self.len();
        self.or_insert(key, ());
        self.len() > before
    }
}

/// Numbers texts and other bytes; equal ones share a number. Bytes that many references share, such as the name of a method, are
/// compared once per address, not once per reference.
#[derive(Default)]
pub(crate) struct Numbers<'t> {
    /// Numbers by address and length.
    places: Keyed<(usize, usize), usize>,
    /// Numbers by length and content.
    numbers: Keyed<(usize, &'t [u8]), usize>,
}

impl<'t> Numbers<'t> {
    /// Returns the number of these bytes: the count of different ones before them.
    pub fn of(&mut self, bytes: &'t [u8]) -> usize {
        let place = (bytes.as_ptr() as usize, bytes.len());
        let Self { places, numbers } = self;
        let next = numbers.len();
        *places.or_insert_with(place, || *numbers.or_insert((bytes.len(), bytes), next))
    }

    /// Returns the number of a text.
    pub fn of_text(&mut self, text: &'t str) -> usize {
        self.of(text.as_bytes())
    }
}

/// Returns the item of a sorted list that compares as equal.
#[expect(clippy::indexing_slicing, reason = "the search returns the index of an item")]
pub(crate) fn find<T>(sorted: &[T], compare: impl Fn(&T) -> Ordering) -> Option<&T> {
    sorted.binary_search_by(compare).ok().map(|at| &sorted[at])
}

/// A key to be found among entries.
struct Sought<'e, K, V, Q: ?Sized> {
    entries: &'e [(K, V)],
    key: &'e Q,
}

/// A comparison of a sought key with the key of an entry.
trait Compare {
    fn compare(&self, at: usize) -> Ordering;
}

impl<K: Borrow<Q>, V, Q: Ord + ?Sized> Compare for Sought<'_, K, V, Q> {
    #[expect(clippy::indexing_slicing, reason = "the tree has positions of entries")]
    fn compare(&self, at: usize) -> Ordering {
        self.key.cmp(self.entries[at].0.borrow())
    }
}

/// Sorts the items; equal items keep their order.
pub(crate) fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts the items and removes duplicates.
pub(crate) fn set<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    sort(&mut items);
    items.dedup();
    items
}

/// Returns the items of a sorted list for which `compare` returns `Equal`; it returns `Less` for the items before them.
pub(crate) fn equal_range<T>(sorted: &[T], compare: impl Fn(&T) -> Ordering) -> &[T] {
    let (_, rest) = sorted.split_at(sorted.partition_point(|item| compare(item).is_lt()));
    rest.split_at(rest.partition_point(|item| compare(item).is_eq())).0
}

/// Sorts the items by a key; items with equal keys keep their order.
pub(crate) fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |left, right| key(left).cmp(&key(right)));
}

/// Sorts the items with a comparison function; items that compare equal keep their order.
pub(crate) fn sort_by<T>(mut items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let order = order(items.len(), &Items { items, compare });
    rearrange(order, &mut items);
}

/// Items to be sorted.
struct Items<'i, T, C> {
    items: &'i [T],
    compare: C,
}

/// A comparison of the items at two positions.
trait Order {
    fn order(&self, left: usize, right: usize) -> Ordering;
}

impl<T, C: Fn(&T, &T) -> Ordering> Order for Items<'_, T, C> {
    #[expect(clippy::indexing_slicing, reason = "`order` sorts the positions of these items")]
    fn order(&self, left: usize, right: usize) -> Ordering {
        (self.compare)(&self.items[left], &self.items[right])
    }
}

/// Returns the positions `0..count`, sorted by their items.
fn order(count: usize, items: &dyn Order) -> Vec<usize> {
    if count < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|left, right| items.order(*left, *right));
    order
}

trait Swap {
    fn swap(&mut self, left: usize, right: usize);
}

impl<T> Swap for &mut [T] {
    fn swap(&mut self, left: usize, right: usize) {
        <[T]>::swap(self, left, right);
    }
}

/// Swaps items until each is at the place that `order` gives it.
#[expect(clippy::indexing_slicing, reason = "`order` is a permutation of its positions")]
fn rearrange(mut order: Vec<usize>, items: &mut dyn Swap) {
    for start in 0..order.len() {
        let mut to = start;
        loop {
            let from = core::mem::replace(&mut order[to], to);
            if from == start || from == to {
                break;
            }
            items.swap(to, from);
            to = from;
        }
    }
}

/// The position of an absent child.
const NONE: usize = usize::MAX;

/// A balanced tree (an AA tree) of the positions `0..nodes.len()`. A node has the position of its entry.
struct Tree {
    root: usize,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy)]
struct Node {
    left: usize,
    right: usize,
    /// 1 for a leaf. A left child is one level below its parent; a right child may have its parent's level, but not its grandparent's.
    level: u8,
}

impl Tree {
    /// Returns the node at a position; one of level 0 for [`NONE`].
    fn node(&self, at: usize) -> Node {
        self.nodes.get(at).copied().unwrap_or(Node { left: NONE, right: NONE, level: 0 })
    }

    #[expect(clippy::indexing_slicing, reason = "only nodes of a level above 0 are changed")]
    fn change(&mut self, at: usize, change: impl Fn(&mut Node)) {
        change(&mut self.nodes[at]);
    }

    fn find(&self, sought: &dyn Compare) -> Option<usize> {
        let mut at = self.root;
        while let Some(node) = self.nodes.get(at) {
            at = match sought.compare(at) {
                Ordering::Less => node.left,
                Ordering::Greater => node.right,
                Ordering::Equal => return Some(at),
            };
        }
        None
    }

    /// Adds the next position. Its key must be new.
    fn insert(&mut self, sought: &dyn Compare) {
        self.root = self.insert_below(self.root, sought);
    }

    /// Adds the next position below a node and returns the node that replaces it. The recursion is as deep as the tree is high.
    fn insert_below(&mut self, at: usize, sought: &dyn Compare) -> usize {
        if at == NONE {
            self.nodes.push(Node { left: NONE, right: NONE, level: 1 });
            return self.nodes.len() - 1;
        }
        let Node { left, right, .. } = self.node(at);
        if sought.compare(at) == Ordering::Less {
            let left = self.insert_below(left, sought);
            self.change(at, |node| node.left = left);
        } else {
            let right = self.insert_below(right, sought);
            self.change(at, |node| node.right = right);
        }
        let at = self.skew(at);
        self.split(at)
    }

    /// Makes a left child with the same level the parent.
    fn skew(&mut self, at: usize) -> usize {
        let node = self.node(at);
        let left = self.node(node.left);
        if left.level != node.level {
            return at;
        }
        self.change(at, |node| node.left = left.right);
        self.change(node.left, |left| left.right = at);
        node.left
    }

    /// Makes the right child the parent, one level up, if its own right child has the same level as the node.
    fn split(&mut self, at: usize) -> usize {
        let node = self.node(at);
        let right = self.node(node.right);
        if self.node(right.right).level != node.level {
            return at;
        }
        self.change(at, |node| node.right = right.left);
        self.change(node.right, |right| (right.left, right.level) = (at, right.level + 1));
        node.right
    }

    fn in_order(&self) -> Vec<usize> {
        let (mut order, mut above, mut at) = (Vec::with_capacity(self.nodes.len()), Vec::new(), self.root);
        loop {
            while at != NONE {
                above.push(at);
                at = self.node(at).left;
            }
            let Some(next) = above.pop() else { return order };
            order.push(next);
            at = self.node(next).right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    /// Returns numbers in no order, with repetitions.
    fn numbers(count: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..count).map(|number| (number.wrapping_mul(2_654_435_761) >> 20, number))
    }

    #[test]
    fn a_map_has_the_entries_of_a_btree_map() {
        for count in [0, 1, 2, 3, 10, 5000] {
            let (mut map, mut tree) = (Keyed::new(), BTreeMap::new());
            for (key, value) in numbers(count) {
                assert_eq!(map.insert(key, value), tree.insert(key, value));
                *map.entry(key / 2) += 1;
                *tree.entry(key / 2).or_default() += 1;
            }
            assert!((0..4100).all(|key| map.get(&key) == tree.get(&key)));
            assert_eq!(map.len(), tree.len());
            assert!(map.sorted().into_iter().map(|(key, value)| (key, value)).eq(&tree));
            assert!(map.into_sorted().into_iter().eq(tree));
        }
    }

    #[test]
    fn equal_bytes_share_a_number_at_any_address() {
        let (texts, mut numbers) = (["ab", "a", "ab", "", "abc"].map(alloc::string::String::from), Numbers::default());
        let found = texts.each_ref().map(|text| numbers.of_text(text));
        assert_eq!(found, [0, 1, 0, 2, 3]);
        assert_eq!(texts.each_ref().map(|text| numbers.of_text(text)), found);
        assert_eq!(numbers.of(b"abc".get(..2).unwrap_or_default()), 0);
    }

    #[test]
    fn a_tree_stays_low_when_keys_come_in_order() {
        for backwards in [false, true] {
            let mut map = Keyed::new();
            for key in 0..1 << 12 {
                assert!(map.add(if backwards { -key } else { key }));
                assert!(!map.add(if backwards { -key } else { key }));
            }
            // In the longest path, half of the nodes increase the level.
            assert!(map.tree.nodes.iter().all(|node| node.level <= 13));
        }
    }

    #[test]
    fn a_sort_is_stable() {
        for count in [0, 1, 2, 3, 10, 5000] {
            let mut sorted: Vec<_> = numbers(count).map(|(key, value)| (key % 100, value)).collect();
            let mut expected = sorted.clone();
            sort_by(&mut sorted, |left, right| right.0.cmp(&left.0));
            expected.sort_by_key(|item| core::cmp::Reverse(item.0));
            assert_eq!(sorted, expected);
        }
    }
}
