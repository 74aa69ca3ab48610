//! Which tensors have bytes of others.

use super::PlannedTensor;
use alloc::{collections::BTreeMap, vec::Vec};

/// No more neighbours of one tensor are looked at: a file may have as many for each.
const MOST: usize = 64;

/// Fills in what shares with what. The tensors are in order of their first times.
pub(super) fn find(tensors: &mut [PlannedTensor<'_>]) {
    /// Bytes whose last owner is known.
    #[derive(Clone, Copy)]
    struct Owned {
        end: u64,
        last: usize,
        value: usize,
    }
    let mut owned: BTreeMap<u64, Owned> = BTreeMap::new();
    for tensor in tensors.iter_mut().filter(|tensor| tensor.bytes > 0) {
        let (start, end) = (tensor.offset, tensor.end());
        let before = owned.range(..start).next_back().filter(|(_, old)| old.end > start);
        let found: Vec<(u64, Owned)> =
            before.into_iter().chain(owned.range(start..end)).take(MOST).map(|(start, old)| (*start, *old)).collect();
        let new = Owned { end, last: tensor.last, value: tensor.value };
        let mut free = start;
        for (at, old) in found {
            let list = if old.last >= tensor.first { &mut tensor.shares_with } else { &mut tensor.replaces };
            if !list.contains(&old.value) {
                list.push(old.value);
            }
            // One that is needed longer stays: others may share with it.
            if old.last > tensor.last {
                if free < at {
                    owned.insert(free, Owned { end: at, ..new });
                }
                free = free.max(old.end);
                continue;
            }
            owned.remove(&at);
            if at < start {
                owned.insert(at, Owned { end: start, ..old });
            }
            if old.end > end {
                owned.insert(end, old);
            }
        }
        if free < end {
            owned.insert(free, new);
        }
    }
}
