//! Reorders and removes segments and payloads, and updates every reference to them.

use crate::file::pte::Pte;
use crate::file::references::{payloads_mut, renumber_segments};
use crate::schema::program::DataLocation;
use alloc::{vec, vec::Vec};

/// Reorders the segments by `order`, a list of their old indices, and updates every reference to them.
pub(crate) fn reorder(pte: &mut Pte<'_>, order: &[usize], alignments: &mut Vec<u64>) {
    let mut new_index = vec![0u32; pte.segments.len()];
    for (new, old) in order.iter().enumerate() {
        if let Some(place) = new_index.get_mut(*old) {
            *place = new as u32;
        }
    }
    pick(alignments, order);
    pick(&mut pte.segments, order);
    if let Some(table) = pte.program.segments.as_mut() {
        pick(table, order);
    }
    renumber_segments(&mut pte.program, &|index| new_index.get(index as usize).copied().unwrap_or(index));
}

/// Keeps only the items at these indices, in that order. Without requested alignments, or in a tree that was built by hand, there may be
/// fewer items.
fn pick<T: Clone>(items: &mut Vec<T>, order: &[usize]) {
    let all = core::mem::take(items);
    for index in order {
        if let Some(item) = all.get(*index) {
            items.push(item.clone());
        }
    }
}

/// Removes segments, and renumbers the references to the remaining ones.
pub(crate) fn remove(pte: &mut Pte<'_>, gone: &dyn Fn(usize) -> bool) {
    let mut kept = Vec::new();
    for index in 0..pte.segments.len() {
        if !gone(index) {
            kept.push(index);
        }
    }
    reorder(pte, &kept, &mut Vec::new());
}

/// Removes delegate payloads from the FlatBuffer, and renumbers the references to the remaining ones.
pub(crate) fn remove_inline_payloads(pte: &mut Pte<'_>, gone: &dyn Fn(u32) -> bool) {
    let inline = pte.program.backend_delegate_data.get_or_insert_default();
    let mut kept = Vec::new();
    let mut index = 0;
    inline.retain(|_| {
        let stays = !gone(index);
        if stays {
            kept.push(index);
        }
        index += 1;
        stays
    });
    for payload in payloads_mut(&mut pte.program) {
        if payload.location == DataLocation::INLINE {
            // Removed payloads have no references. An index that is out of range stays out of range, because the number of payloads does
            // not grow.
            if let Ok(new) = kept.binary_search(&payload.index) {
                payload.index = new as u32;
            }
        }
    }
}
