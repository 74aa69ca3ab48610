//! Recomputes a file's layout: the start and content of each segment.

use super::alignment::{self, greatest_common_divisor};
use super::collect::pack_all;
use super::entries::Entries;
use super::options::{PtdOptions, PteOptions};
use super::place::{place_ptd, place_pte};
use super::segments;
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::references::{DataList, payloads_mut};
use crate::file::segment;
use crate::file::style::{ALIGNMENT, alignment};
use crate::schema::program::{BackendDelegateInlineData, DataLocation, SubsegmentOffsets};
use alloc::{format, vec, vec::Vec};

pub(super) fn lay_out_pte<'a>(mut pte: Pte<'a>, options: &PteOptions) -> Result<Pte<'a>> {
    pte.check_references()?;
    alignment(options.delegate_alignment, "delegate_alignment")?;
    let mut alignments = segment_alignments(&pte, options);
    match options.constants {
        Some(DataLocation::SEGMENT) => constants_to_segment(&mut pte, &mut alignments, options)?,
        Some(other) => return Err(Error::unwritable(format!("constants at location {}, expected 1", other.0))),
        None => {}
    }
    if let Some(constant_alignment) = options.constant_alignment {
        pack_constants(&mut pte, alignment(constant_alignment, "constant_alignment")? as u64)?;
    }
    match options.delegates {
        Some(DataLocation::INLINE) => delegates_inline(&mut pte, &mut alignments)?,
        Some(DataLocation::SEGMENT) => delegates_to_segments(&mut pte, &mut alignments, options.delegate_alignment)?,
        Some(other) => {
            return Err(Error::unwritable(format!(
                "delegate payloads cannot be stored at the unknown location {}",
                other.0
            )));
        }
        None => {}
    }
    place_pte(pte, &alignments, options)
}

pub(super) fn lay_out_ptd<'a>(ptd: Ptd<'a>, options: &PtdOptions) -> Result<Ptd<'a>> {
    ptd.check_references()?;
    let alignments = alignment::kept(ptd.flat_tensor.segments());
    place_ptd(ptd, &alignments, options)
}

/// Returns the alignment of each segment, in addition to the alignment in the options.
fn segment_alignments(pte: &Pte<'_>, options: &PteOptions) -> Vec<u64> {
    let program = &pte.program;
    let segments = program.segments();
    let mut alignments: Vec<u64> = alignment::kept(segments);
    // Constants, initial states and delegate payloads need only the alignments in the options.
    let named = named_segments(pte);
    let mut at_most = |index: u32, alignment: u32| {
        if let (Some(place), Some(false)) = (alignments.get_mut(index as usize), named.get(index as usize)) {
            *place = greatest_common_divisor(*place, alignment.into());
        }
    };
    let constants = options.constant_alignment.unwrap_or(ALIGNMENT);
    if let Some(list) = &program.constant_segment {
        at_most(list.segment_index, constants);
    }
    for list in program.mutable_data_segments() {
        at_most(list.segment_index, ALIGNMENT);
    }
    for index in pte.payload_segments() {
        at_most(index, options.delegate_alignment);
    }
    alignments
}

/// Moves constants from the FlatBuffer into a new constant segment, which becomes the first segment.
fn constants_to_segment(pte: &mut Pte<'_>, alignments: &mut Vec<u64>, options: &PteOptions) -> Result<()> {
    if pte.program.constant_segment.as_ref().is_some_and(|list| !list.offsets().is_empty()) {
        return Ok(());
    }
    let constant_alignment = options.constant_alignment.unwrap_or(ALIGNMENT);
    let aligned = alignment(constant_alignment, "constant_alignment")? as u64;
    let mut buffers = pte.program.constant_buffer.take().unwrap_or_default().into_iter().map(|buffer| buffer.storage);
    if buffers.next().flatten().is_some_and(|placeholder| !placeholder.is_empty()) {
        return Err(Error::unwritable("constant_buffer[0], the placeholder, contains bytes"));
    }
    let (offsets, segment) = pack_all(buffers.map(Option::unwrap_or_default).collect(), aligned)?;
    let added = pte.push_segment(segment);
    alignments.push(aligned);
    let order: Vec<usize> = core::iter::once(added as usize).chain(0..added as usize).collect();
    segments::reorder(pte, &order, alignments);
    pte.program.constant_buffer = Some(Vec::new());
    pte.program.constant_segment = Some(SubsegmentOffsets { segment_index: 0, offsets: Some(offsets.into()) });
    Ok(())
}

/// Aligns each constant in the constant segment; constants at equal offsets stay shared.
fn pack_constants(pte: &mut Pte<'_>, alignment: u64) -> Result<()> {
    match &pte.program.constant_segment {
        Some(list) if list.offsets().len() > 1 => {
            Entries::of(pte, DataList::Constants)?.put(pte, DataList::Constants, alignment)
        }
        _ => Ok(()),
    }
}

/// Moves delegate payloads from segments into the FlatBuffer, and removes the segments without other references.
fn delegates_inline(pte: &mut Pte<'_>, alignments: &mut Vec<u64>) -> Result<()> {
    let mut inline = pte.program.backend_delegate_data.take().unwrap_or_default();
    // The new place of the payload in each segment.
    let mut moved = vec![None; pte.segments.len()];
    for payload in payloads_mut(&mut pte.program) {
        if payload.location != DataLocation::SEGMENT {
            continue;
        }
        let index = payload.index as usize;
        if let Some(place @ None) = moved.get_mut(index) {
            if let Some(bytes) = pte.segments.get(index).and_then(|segment| segment.joined(segment.len())) {
                inline.push(BackendDelegateInlineData { data: Some(bytes) });
                *place = Some(inline.len() as u32 - 1);
            }
        }
        let Some(Some(place)) = moved.get(index) else {
            return Err(Error::unwritable(format!("the bytes of segment {index}, a delegate payload, are absent")));
        };
        (payload.location, payload.index) = (DataLocation::INLINE, *place);
    }
    pte.program.backend_delegate_data = Some(inline);
    let users = pte.segment_users();
    let mut kept = Vec::new();
    for (index, moved) in moved.iter().enumerate() {
        if users.get(index) != Some(&0) || moved.is_none() {
            kept.push(index);
        }
    }
    segments::reorder(pte, &kept, alignments);
    Ok(())
}

/// Moves delegate payloads from the FlatBuffer into segments, which come before those of named data.
fn delegates_to_segments(pte: &mut Pte<'_>, alignments: &mut Vec<u64>, delegate_alignment: u32) -> Result<()> {
    let inline = pte.program.backend_delegate_data.take().unwrap_or_default();
    // The new segment of each payload.
    let (mut moved, mut added) = (vec![None; inline.len()], Vec::new());
    let first_new = pte.segments.len();
    for payload in payloads_mut(&mut pte.program) {
        let index = payload.index as usize;
        let (Some(place), Some(BackendDelegateInlineData { data: Some(data) })) =
            (moved.get_mut(index), inline.get(index))
        else {
            continue;
        };
        if payload.location != DataLocation::INLINE || data.is_empty() {
            continue;
        }
        let segment = match *place {
            Some(segment) => segment,
            None => {
                added.push(data.clone());
                (first_new + added.len() - 1) as u32
            }
        };
        *place = Some(segment);
        (payload.location, payload.index) = (DataLocation::SEGMENT, segment);
    }
    pte.program.backend_delegate_data = Some(inline);
    segments::remove_inline_payloads(pte, &|index| matches!(moved.get(index as usize), Some(Some(_))));

    let named = named_segments(pte);
    for data in added {
        pte.add_segment(data);
        alignments.push(delegate_alignment.into());
    }
    let first_named = named.iter().position(|named| *named).unwrap_or(first_new);
    let order: Vec<usize> =
        (0..first_named).chain(first_new..pte.segments.len()).chain(first_named..first_new).collect();
    segments::reorder(pte, &order, alignments);
    Ok(())
}

/// Returns, for each segment, whether named data refers to it.
fn named_segments(pte: &Pte<'_>) -> Vec<bool> {
    segment::marked(pte.segments.len(), pte.named_data().iter().map(|named| named.segment_index))
}
