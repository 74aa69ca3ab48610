//! Pairs of runs of two traces.

use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

/// A run of either trace, or of both.
pub(super) type RunPair<'r, R> = (Option<&'r R>, Option<&'r R>);

/// Pairs each run of a trace with the first one of another trace that has the same key and the same method and is not paired yet; an unknown
/// method is that of any run. Runs of the second trace alone come last. `label` returns the key and the method of a run.
#[expect(clippy::indexing_slicing, reason = "`left` has an item for each run of `after`, whose indices are waiting")]
pub(super) fn run_pairs<'r, R, K: Ord + Copy>(
    before: &'r [R],
    after: &'r [R],
    label: impl Fn(&'r R) -> (K, Option<&'r str>),
) -> Vec<RunPair<'r, R>> {
    // The runs that are not paired, the last first, and the methods of each key.
    let mut waiting: BTreeMap<(K, Option<&str>), Vec<usize>> = BTreeMap::new();
    let mut methods: BTreeMap<K, Vec<Option<&str>>> = BTreeMap::new();
    for (index, run) in after.iter().enumerate().rev() {
        let (key, method) = label(run);
        let runs = waiting.entry((key, method)).or_default();
        if runs.is_empty() {
            methods.entry(key).or_default().push(method);
        }
        runs.push(index);
    }
    let mut left: Vec<Option<&R>> = after.iter().map(Some).collect();
    let mut pairs = Vec::new();
    for run in before {
        let (key, method) = label(run);
        let alike = match method {
            Some(_) => vec![method, None],
            None => methods.get(&key).cloned().unwrap_or_default(),
        };
        let first = alike.into_iter().filter_map(|method| Some((*waiting.get(&(key, method))?.last()?, method))).min();
        let other = first.and_then(|(index, method)| {
            waiting.get_mut(&(key, method))?.pop();
            left[index].take()
        });
        pairs.push((Some(run), other));
    }
    pairs.extend(left.into_iter().flatten().map(|run| (None, Some(run))));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_paired_with_the_first_one_that_is_alike() {
        let (a, b) = (Some("a"), Some("b"));
        let before = [(1, a), (1, None), (1, a), (2, b), (1, b)];
        let after = [(1, b), (1, a), (3, None), (1, None), (1, b), (2, a)];
        let at = |list: &[(i32, Option<&str>)], run: Option<&(i32, Option<&str>)>| {
            run.and_then(|run| list.iter().position(|other| core::ptr::eq(other, run)))
        };
        let found: Vec<_> = run_pairs(&before, &after, |run| *run)
            .into_iter()
            .map(|(left, right)| (at(&before, left), at(&after, right)))
            .collect();
        let both = |left, right| (Some(left), Some(right));
        let paired = [both(0, 1), both(1, 0), both(2, 3), (Some(3), None), both(4, 4)];
        assert_eq!(found, [&paired[..], &[(None, Some(2)), (None, Some(5))]].concat());
    }
}
