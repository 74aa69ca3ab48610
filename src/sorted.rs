//! Sorted lists, which are searched instead of maps where nothing is added later.
// Some features use only a part of these.
#![allow(dead_code)]

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Returns the item of a sorted list that compares as equal.
#[expect(clippy::indexing_slicing, reason = "the search returns the index of an item")]
pub(crate) fn find<T>(sorted: &[T], compare: impl Fn(&T) -> Ordering) -> Option<&T> {
    sorted.binary_search_by(compare).ok().map(|at| &sorted[at])
}

/// Sorts the items and removes duplicates.
pub(crate) fn set<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items.dedup();
    items
}

/// Returns the items of a sorted list for which `compare` returns `Equal`; it returns `Less` for the items before them.
pub(crate) fn equal_range<T>(sorted: &[T], compare: impl Fn(&T) -> Ordering) -> &[T] {
    let (_, rest) = sorted.split_at(sorted.partition_point(|item| compare(item).is_lt()));
    rest.split_at(rest.partition_point(|item| compare(item).is_eq())).0
}
