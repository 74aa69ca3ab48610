//! Changes to the segments of a file: new bytes, new alignments, and removal of segments that have lost their last
//! reference.

use crate::error::Result;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::DataRef;
use crate::schema::DataSegment;
use crate::write::{alignment, segments};
use alloc::{borrow::Cow, vec, vec::Vec};

/// Replaces the bytes at `data`.
pub(super) fn overwrite<'a>(pte: &mut Pte<'a>, data: &DataRef, bytes: Cow<'a, [u8]>) {
    match *data {
        DataRef::Segment { index, offset, size } => {
            let table = pte.program.segments.as_mut().and_then(|table| table.get_mut(index as usize));
            if let (Some(segment), Some(entry)) = (pte.segments.get_mut(index as usize), table) {
                segment.overwrite(entry, offset, size, bytes);
            }
        }
        DataRef::ConstantBuffer { index, .. } => {
            let buffers = pte.program.constant_buffer.as_mut();
            if let Some(buffer) = buffers.and_then(|buffers| buffers.get_mut(index as usize)) {
                buffer.storage = Some(bytes);
            }
        }
        DataRef::DelegateData { index, .. } => {
            let payloads = pte.program.backend_delegate_data.as_mut();
            if let Some(payload) = payloads.and_then(|payloads| payloads.get_mut(index as usize)) {
                payload.data = Some(bytes);
            }
        }
    }
}

/// Replaces the bytes at `data` in a `.ptd`, like [`overwrite`].
pub(super) fn overwrite_ptd<'a>(ptd: &mut Ptd<'a>, data: &DataRef, bytes: Cow<'a, [u8]>) {
    if let DataRef::Segment { index, offset, size } = *data {
        let table = ptd.flat_tensor.segments.as_mut().and_then(|table| table.get_mut(index as usize));
        if let (Some(segment), Some(entry)) = (ptd.segments.get_mut(index as usize), table) {
            segment.overwrite(entry, offset, size, bytes);
        }
    }
}

/// Removes named data with these indices, in ascending order, and segments that are then no longer used.
pub(super) fn remove_named_data(pte: &mut Pte<'_>, gone: &[usize]) {
    let before = pte.segment_users();
    let mut index = 0;
    pte.program.named_data.get_or_insert_default().retain(|_| {
        index += 1;
        gone.binary_search(&(index - 1)).is_err()
    });
    pte.program.named_data = pte.program.named_data.take().filter(|named| !named.is_empty());
    remove_unused(pte, &before);
}

/// Removes segments that were used `before` and no longer are.
pub(super) fn remove_unused(pte: &mut Pte<'_>, before: &[u32]) {
    let after = pte.segment_users();
    let unused = |index: usize| after.get(index) == Some(&0) && before.get(index).is_some_and(|users| *users > 0);
    if (0..after.len()).any(unused) {
        segments::remove(pte, &unused);
    }
}

/// Sets the alignment that a segment gets in the next layout. Until then, it is stored as the segment's offset.
pub(super) fn set_alignment(pte: &mut Pte<'_>, index: u32, alignment: u64) {
    if let Some(segment) = pte.program.segments.as_mut().and_then(|table| table.get_mut(index as usize)) {
        segment.offset = alignment;
    }
}

/// Gives the second segment of each pair an alignment that also suits the first. Until the next layout, it is stored as the
/// segment's offset.
#[expect(clippy::indexing_slicing, reason = "both segments of a pair are in the table")]
pub(super) fn share_alignments(
    table: &mut [DataSegment],
    pairs: impl IntoIterator<Item = (usize, usize)>,
) -> Result<()> {
    let mut kept = alignment::kept(table);
    for (index, first) in pairs {
        kept[first] = alignment::least_common_multiple(kept[first], kept[index])?;
        table[first].offset = kept[first];
    }
    Ok(())
}

/// Removes segments that no key refers to, and renumbers the rest.
pub(super) fn remove_unused_ptd(ptd: &mut Ptd<'_>) {
    let mut used = vec![false; ptd.segments.len()];
    for entry in ptd.entries() {
        if let Some(used) = used.get_mut(entry.segment_index as usize) {
            *used = true;
        }
    }
    let mut next = 0;
    let new_index: Vec<u32> = used.iter().map(|used| (next, next += u32::from(*used)).0).collect();
    // An index that is out of range stays out of range, because the number of segments does not grow.
    let renumber = |index: &mut u32| {
        if let Some(new) = new_index.get(*index as usize) {
            *index = *new;
        }
    };
    let legacy = ptd.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut());
    for tensor in legacy.map(Vec::as_mut_slice).unwrap_or_default() {
        renumber(&mut tensor.segment_index);
    }
    for named in ptd.flat_tensor.named_data.as_deref_mut().unwrap_or_default() {
        renumber(&mut named.segment_index);
    }
    let mut stays = used.iter();
    ptd.segments.retain(|_| stays.next() == Some(&true));
    let mut stays = used.iter();
    ptd.flat_tensor.segments.get_or_insert_default().retain(|_| stays.next() == Some(&true));
}
