//! Tensors that share bytes.

use super::PlannedTensor;
use crate::dataflow::{Bytes, MemoryRange};
use alloc::vec::Vec;

/// The maximum number of visited neighbours of a tensor: a file may have many for each.
const MAX_NEIGHBOURS: usize = 64;

/// Sets `shares_with` and `replaces`. The tensors are sorted by their first times.
#[expect(clippy::indexing_slicing, reason = "owners are indices of tensors")]
pub(super) fn find(tensors: &mut [PlannedTensor<'_>]) {
    // The index of the tensor that used each byte last.
    let mut owners = Bytes::default();
    for index in 0..tensors.len() {
        let tensor = &tensors[index];
        if tensor.size == 0 {
            continue;
        }
        let (first, last, end) = (tensor.first, tensor.last, tensor.end());
        let place = |start: u64, end: u64| MemoryRange { buffer: 0, start, end };
        let (mut free, mut gaps) = (tensor.offset, Vec::new());
        let (mut shares_with, mut replaces) = (Vec::new(), Vec::new());
        for (at, old_end, owner) in owners.pieces(place(tensor.offset, end)).take(MAX_NEIGHBOURS) {
            let old = &tensors[owner as usize];
            let list = if old.last >= first { &mut shares_with } else { &mut replaces };
            if !list.contains(&old.value) {
                list.push(old.value);
            }
            // A tensor that is needed for longer stays: later ones may share with it.
            if old.last > last {
                if free < at {
                    gaps.push(place(free, at));
                }
                free = free.max(old_end);
            }
        }
        for gap in gaps {
            owners.write(gap, index as u32);
        }
        if free < end {
            owners.write(place(free, end), index as u32);
        }
        (tensors[index].shares_with, tensors[index].replaces) = (shares_with, replaces);
    }
}
