//! Rules about constants and initial states: the lists of offsets, and the bytes that tensors read through them. They
//! follow the runtime's `program.cpp` (`get_constant_buffer_data`, `load_mutable_subsegment_into`).

use super::program::{constant_offsets, segment_count};
use super::report::Report;
use super::rule::{self, Rule};
use super::segments::each_overlap;
use crate::error::counted;
use crate::file::pte::Pte;
use crate::file::style::ALIGNMENT;
use crate::path::Path;
use crate::schema::program::{SubsegmentOffsets, Tensor};
use alloc::collections::BTreeSet;
use alloc::{format, vec, vec::Vec};

/// Checks each list as a whole. [`of_tensor`] checks the entry of a single tensor.
pub(super) fn check(pte: &Pte<'_>, report: &mut Report<'_>) {
    let root = &Path::ROOT;
    let program = &pte.program;
    if let Some(list) = &program.constant_segment {
        let path = root.field("constant_segment");
        placeholder(list, &path, report);
        alignment(list, &path, report);
        overlap(list, sizes(pte, false, list.offsets().len()), &path, report);
    }
    inline_placeholder(pte, root, report);
    let mut segments = BTreeSet::new();
    for (index, list) in program.mutable_data_segments().iter().enumerate() {
        let path = root.item("mutable_data_segments", index);
        placeholder(list, &path, report);
        if index == 0 {
            overlap(list, sizes(pte, true, list.offsets().len()), &path, report);
        }
        if !segments.insert(list.segment_index) {
            let found = format!(
                "segment {} has a list of initial states already, expected one list for each segment",
                list.segment_index
            );
            report.add(rule::INITIAL_STATE_LISTS_SHARED, &path.field("segment_index"), found);
        }
    }
}

/// Checks that the file contains all bytes of a tensor's constant or initial state, whose index is not 0.
pub(super) fn of_tensor(pte: &Pte<'_>, tensor: &Tensor<'_>, bytes: u64, path: &Path<'_>, report: &mut Report<'_>) {
    let index = tensor.data_buffer_idx;
    match tensor.allocation_info {
        None => constant(pte, index, bytes, path, report),
        Some(_) => mutable(pte, tensor, bytes, path, report),
    }
}

fn constant(pte: &Pte<'_>, index: u32, bytes: u64, path: &Path<'_>, report: &mut Report<'_>) {
    let path = &path.field("data_buffer_idx");
    match &pte.program.constant_segment {
        // If a list has only the placeholder, the segment contains no constants.
        Some(list) if constant_offsets(&pte.program).len() > 1 => {
            let rules = (rule::CONSTANT_INDEX, rule::CONSTANT_BOUNDS);
            subsegment(pte, list, index, bytes, rules, path, report);
        }
        _ => inline_constant(pte, index, bytes, path, report),
    }
}

fn inline_constant(pte: &Pte<'_>, index: u32, bytes: u64, path: &Path<'_>, report: &mut Report<'_>) {
    let buffers = pte.program.constant_buffer();
    let Some(buffer) = buffers.get(index as usize) else {
        let found = format!("constant {index} does not exist: constant_buffer has {}", counted(buffers.len(), "item"));
        return report.add(rule::CONSTANT_INDEX, path, found);
    };
    let storage = buffer.storage.as_deref();
    let size = storage.unwrap_or_default().len();
    if (size as u64) < bytes {
        let found = format!("constant {index} has {}, but the tensor needs {bytes}", counted(size, "byte"));
        report.add_at(rule::CONSTANT_BOUNDS, path, report.offset(storage), found);
    }
}

/// Checks an initial state. The runtime always uses list 0 and ignores the tensor's `mutable_data_segments_idx`.
fn mutable(pte: &Pte<'_>, tensor: &Tensor<'_>, bytes: u64, path: &Path<'_>, report: &mut Report<'_>) {
    let named = tensor.extra_tensor_info.as_deref().map_or(0, |extra| extra.mutable_data_segments_idx);
    let lists = pte.program.mutable_data_segments();
    if named != 0 {
        let path = path.field("extra_tensor_info");
        let found = format!("list {named} of {}, expected 0: the runtime always uses list 0", lists.len());
        report.add(rule::INITIAL_STATE_LISTS, &path.field("mutable_data_segments_idx"), found);
    }
    let path = &path.field("data_buffer_idx");
    let Some(list) = lists.first() else {
        let found = format!(
            "initial state {} does not exist: mutable_data_segments is absent or empty",
            tensor.data_buffer_idx
        );
        return report.add(rule::INITIAL_STATE_INDEX, path, found);
    };
    let rules = (rule::INITIAL_STATE_INDEX, rule::INITIAL_STATE_BOUNDS);
    if list.segment_index as usize >= segment_count(&pte.program) {
        let found = format!(
            "the initial states are in segment {}, which does not exist: the program has {}",
            list.segment_index,
            counted(segment_count(&pte.program), "segment")
        );
        return report.add(rule::INITIAL_STATE_INDEX, path, found);
    }
    subsegment(pte, list, tensor.data_buffer_idx, bytes, rules, path, report);
}

fn subsegment(
    pte: &Pte<'_>,
    list: &SubsegmentOffsets<'_>,
    index: u32,
    bytes: u64,
    (index_rule, bounds_rule): (&'static Rule, &'static Rule),
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let offsets = list.offsets();
    let Some(offset) = offsets.get(index as usize) else {
        let found = format!("entry {index} does not exist: the list has {}", counted(offsets.len(), "offset"));
        return report.add(index_rule, path, found);
    };
    // A segment that does not exist breaks another rule.
    let segments = pte.program.segments();
    let Some(segment) = segments.get(list.segment_index as usize) else {
        return;
    };
    if offset.checked_add(bytes).is_none_or(|end| end > segment.size) {
        let found = format!(
            "entry {index}: a range of {} from offset {offset} ends outside segment {}, which has {}",
            counted(bytes, "byte"),
            list.segment_index,
            counted(segment.size, "byte")
        );
        report.add_at(bounds_rule, path, report.offset_of(offsets, index as usize), found);
    }
}

fn placeholder(list: &SubsegmentOffsets<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if let Some(first @ 1..) = list.offsets().first() {
        let offset = report.offset(list.offsets.as_deref());
        let found = format!("{first}, expected 0: entry 0 means that a tensor has no data");
        report.add_at(rule::CONSTANT_PLACEHOLDER, &path.item("offsets", 0), offset, found);
    }
}

fn inline_placeholder(pte: &Pte<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let first = pte.program.constant_buffer.as_deref().and_then(|buffers| buffers.first()?.storage.as_deref());
    if let Some(storage) = first.filter(|storage| !storage.is_empty()) {
        let found =
            format!("{}, expected none: entry 0 means that a tensor has no data", counted(storage.len(), "byte"));
        report.add_at(
            rule::CONSTANT_PLACEHOLDER,
            &path.item("constant_buffer", 0),
            report.offset(Some(storage)),
            found,
        );
    }
}

/// Compares offsets with the official exporter's default alignment. Adds at most one finding for the whole list.
fn alignment(list: &SubsegmentOffsets<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let alignment = u64::from(ALIGNMENT);
    let offsets = list.offsets();
    let misaligned = offsets.iter().filter(|offset| **offset % alignment != 0).count();
    if let Some((index, offset)) = offsets.iter().enumerate().find(|(_, offset)| **offset % alignment != 0) {
        let found = format!(
            "{offset}, expected a multiple of {alignment} ({misaligned} of {} misaligned)",
            counted(offsets.len(), "offset")
        );
        report.add_at(rule::CONSTANT_ALIGNMENT, &path.item("offsets", index), report.offset_of(offsets, index), found);
    }
}

/// Returns, for each entry, the size of the largest tensor that uses it; 0 if it is unused.
fn sizes(pte: &Pte<'_>, mutable: bool, entries: usize) -> Vec<u64> {
    let mut sizes = vec![0; entries];
    for (_, tensor) in pte.methods().iter().flat_map(|plan| plan.tensors()) {
        if tensor.allocation_info.is_some() != mutable || tensor.is_external() {
            continue;
        }
        // A tensor without a size breaks another rule.
        let bytes = tensor.byte_size().unwrap_or(0);
        if let Some(size) = sizes.get_mut(tensor.data_buffer_idx as usize) {
            *size = bytes.max(*size);
        }
    }
    // Entry 0 stands for a tensor without data.
    if let Some(first) = sizes.first_mut() {
        *first = 0;
    }
    sizes
}

/// Reports overlapping entries. Two entries with the same offset do not overlap: they are a constant with two indices.
fn overlap(list: &SubsegmentOffsets<'_>, sizes: Vec<u64>, path: &Path<'_>, report: &mut Report<'_>) {
    let offsets = list.offsets();
    let ranges = offsets.iter().zip(sizes).zip(0..).map(|((offset, size), index)| (*offset, size, index));
    each_overlap(ranges, |start, index, (first, last, other)| {
        let found = format!("{start}, expected {last} or more: entry {other} has bytes {first} to {last}");
        let offset = report.offset_of(offsets, index);
        report.add_at(rule::CONSTANT_OVERLAP, &path.item("offsets", index), offset, found);
    });
}
