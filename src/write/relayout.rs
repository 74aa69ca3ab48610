//! Recomputes a file's layout: where each segment starts, and what it contains.

use crate::error::{Error, Result, counted};
use crate::file::header::{PtdHeader, PteHeader};
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::references::{payloads_mut, renumber_segments};
use crate::file::segment::{self, Segment};
use crate::file::style::{ALIGNMENT, SEGMENT_ALIGNMENT, WriteStyle, alignment};
use crate::flatbuffer::write::HEAD_SIZE;
use crate::schema::DataSegment;
use crate::schema::program::{BackendDelegateInlineData, DataLocation};
use alloc::{borrow::Cow, collections::BTreeMap, format, vec, vec::Vec};

/// The layout of a `.pte`. The default is that of today's ExecuTorch exporter, in the file's own style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PteOptions {
    /// The alignment of segments, in bytes, a power of two.
    pub segment_alignment: u32,
    /// The alignment of constants in their segment, in bytes, a power of two. `None`: they are not moved.
    pub constant_alignment: Option<u32>,
    /// The alignment of delegate payloads, in the FlatBuffer or as segments, in bytes, a power of two.
    pub delegate_alignment: u32,
    /// Where delegate payloads are stored. `None`: they are not moved. Empty ones are never moved out of the FlatBuffer.
    pub delegates: Option<DataLocation>,
    /// The style in which the FlatBuffer is written. `None`: that of the file that was read, see [`Pte::write_style`].
    pub style: Option<WriteStyle>,
    /// The length of the extended header, in bytes: 24, as up to ExecuTorch 0.7, or 32.
    pub header_length: u32,
}

impl Default for PteOptions {
    fn default() -> Self {
        Self {
            segment_alignment: SEGMENT_ALIGNMENT,
            constant_alignment: None,
            delegate_alignment: ALIGNMENT,
            delegates: None,
            style: None,
            header_length: PteHeader::LONG,
        }
    }
}

/// The layout of a `.ptd`. The default is that of today's Python writer of ExecuTorch, in the file's own style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PtdOptions {
    /// The alignment of segments, in bytes, a power of two.
    pub segment_alignment: u32,
    /// The style in which the FlatBuffer is written. `None`: that of the file that was read, see [`Ptd::write_style`].
    pub style: Option<WriteStyle>,
}

impl Default for PtdOptions {
    fn default() -> Self {
        Self { segment_alignment: SEGMENT_ALIGNMENT, style: None }
    }
}

/// The offsets of a list of segments.
pub(crate) struct Placed {
    pub(crate) table: Vec<DataSegment>,
    /// The size of all, with the padding between them, in bytes.
    pub(crate) size: u64,
}

/// Gives segments their offsets, in order. Each is given by its alignment and size. Alignments are relative to the start of the
/// first segment, as in the official writers.
pub(crate) fn place(segments: impl Iterator<Item = (u64, u64)>) -> Result<Placed> {
    let (mut table, mut end) = (Vec::new(), 0u64);
    for (alignment, size) in segments {
        let offset = end.checked_next_multiple_of(alignment);
        let next = offset.and_then(|offset| offset.checked_add(size));
        let (Some(offset), Some(next)) = (offset, next) else {
            return Err(Error::unwritable("the segments take more than 2^64 bytes"));
        };
        table.push(DataSegment { offset, size });
        end = next;
    }
    Ok(Placed { table, size: end })
}

pub(crate) fn least_common_multiple(a: u64, b: u64) -> Result<u64> {
    match (a / greatest_common_divisor(a, b).max(1)).checked_mul(b) {
        Some(multiple) if multiple > 0 => Ok(multiple),
        _ => Err(Error::unwritable(format!("alignments {a} and {b} have no common multiple below 2^64"))),
    }
}

/// The largest alignment that may have been requested for a named blob at `offset`, since the request itself is not stored: a
/// power of two up to 4096, or three times that, which divides the offset.
fn kept_alignment(offset: u64) -> u64 {
    greatest_common_divisor(offset, 3 << 12)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl<'a> Pte<'a> {
    /// Recomputes the layout: moves delegate payloads and constants as `options` say, gives each segment a new offset in the
    /// present order, and makes a header that fits, or no header if there is no data.
    ///
    /// The alignment that was requested for a named blob is not stored, so its new offset is aligned as its old one was, up to 4096.
    ///
    /// Fails as [`image`](Self::image) does, and with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if a constant to
    /// be moved extends into the next one or past its segment.
    pub fn lay_out(mut self, options: &PteOptions) -> Result<Self> {
        self.check_references()?;
        alignment(options.delegate_alignment, "delegate_alignment")?;
        let mut alignments = self.segment_alignments(options);
        if let Some(constant_alignment) = options.constant_alignment {
            self.pack_constants(alignment(constant_alignment, "constant_alignment")? as u64)?;
        }
        match options.delegates {
            Some(DataLocation::INLINE) => self.delegates_inline(&mut alignments)?,
            Some(DataLocation::SEGMENT) => self.delegates_to_segments(&mut alignments, options.delegate_alignment)?,
            Some(other) => {
                return Err(Error::unwritable(format!(
                    "delegate payloads cannot be stored at the unknown location {}",
                    other.0
                )));
            }
            None => {}
        }
        self.place_segments(&alignments, options)
    }

    /// The alignment of each segment, in addition to the options' alignment of all segments.
    fn segment_alignments(&self, options: &PteOptions) -> Vec<u64> {
        let program = &self.program;
        let segments = program.segments();
        let mut alignments: Vec<u64> = segments.iter().map(|segment| kept_alignment(segment.offset)).collect();
        // Constants, initial states and delegate payloads need at most the alignment that the options give.
        let named = self.named_segments();
        let mut at_most = |index: u32, alignment: u32| {
            if let (Some(place), Some(false)) = (alignments.get_mut(index as usize), named.get(index as usize)) {
                *place = greatest_common_divisor(*place, alignment.into());
            }
        };
        let constants = options.constant_alignment.unwrap_or(ALIGNMENT);
        program.constant_segment.iter().for_each(|list| at_most(list.segment_index, constants));
        program.mutable_data_segments().iter().for_each(|list| at_most(list.segment_index, ALIGNMENT));
        for payload in self.payloads().filter(|payload| payload.location == DataLocation::SEGMENT) {
            at_most(payload.index, options.delegate_alignment);
        }
        alignments
    }

    /// Gives each segment its offset, with these alignments in addition to the options' own.
    pub(crate) fn place_segments(mut self, alignments: &[u64], options: &PteOptions) -> Result<Self> {
        let segment_alignment = alignment(options.segment_alignment, "segment_alignment")? as u64;
        let constant_alignment = options.constant_alignment.unwrap_or(ALIGNMENT);
        let delegate_alignment = options.delegate_alignment;
        let style = match options.style {
            Some(style) => style,
            None => self.write_style()?.0,
        };
        let style = WriteStyle { constant_alignment, delegate_alignment, header_gap: None, ..style };
        self.style = Some(style);
        let expected = self.expected_size();
        self.header = None;
        let Some(table) = self.program.segments.as_mut() else {
            return Ok(self);
        };
        let aligned = table.iter().zip(alignments).map(|(segment, own)| {
            least_common_multiple(segment_alignment, *own).map(|alignment| (alignment, segment.size))
        });
        let placed = place(aligned.collect::<Result<Vec<_>>>()?.into_iter())?;
        *table = placed.table;
        if placed.size == 0 {
            return Ok(self);
        }
        let length = options.header_length;
        let program = style.encode(&self.program, expected)?;
        let program_size = (HEAD_SIZE + style.gap(length)? + program.size()) as u64;
        self.header = Some(PteHeader {
            length,
            program_size,
            segment_base_offset: program_size.next_multiple_of(segment_alignment),
            segment_data_size: (length >= PteHeader::LONG).then_some(placed.size),
        });
        Ok(self)
    }

    /// Aligns each constant in the constant segment; constants at equal offsets stay shared.
    fn pack_constants(&mut self, alignment: u64) -> Result<()> {
        let sizes = self.constant_sizes()?;
        let Some(list) = self.program.constant_segment.as_mut() else {
            return Ok(());
        };
        let index = list.segment_index as usize;
        let (Some(offsets), Some(segment), Some(entry)) = (
            list.offsets.as_mut(),
            self.segments.get_mut(index),
            self.program.segments.as_mut().and_then(|segments| segments.get_mut(index)),
        ) else {
            return Ok(());
        };
        // The size of the constant at each offset: that of the largest tensor there.
        let mut constants = BTreeMap::<u64, u64>::new();
        for (index, offset) in offsets.iter().enumerate().skip(1) {
            let size = constants.entry(*offset).or_default();
            *size = (*size).max(sizes.get(&(index as u32)).copied().unwrap_or_default());
        }
        let starts: Vec<u64> = constants.keys().copied().collect();
        let ends = starts.iter().skip(1).copied().chain([entry.size]);
        for ((index, (offset, size)), end) in constants.iter_mut().enumerate().zip(ends) {
            let room = end.checked_sub(*offset).filter(|room| room >= size);
            let Some(room) = room else {
                return Err(Error::unwritable(format!(
                    "constant {index} of {} at offset {offset} extends past offset {end}, where the next one or the end of the segment is",
                    counted(*size, "byte")
                )));
            };
            let after = segment.get(*offset + *size, room - *size).unwrap_or_default();
            // A constant that no tensor uses, or bytes after it that are not padding.
            if *size == 0 || after.iter().any(|byte| *byte != 0) {
                *size = room;
            }
        }
        let (mut parts, mut end, mut moved) = (Vec::new(), 0u64, BTreeMap::new());
        for (offset, size) in constants {
            let start = end.checked_next_multiple_of(alignment).unwrap_or(end);
            let bytes = segment
                .take(offset, size)
                .ok_or_else(|| Error::unwritable(format!("the constant at offset {offset} is outside its segment")))?;
            moved.insert(offset, start);
            if size > 0 {
                parts.push((start, bytes));
                end = start.saturating_add(size);
            }
        }
        for offset in offsets.to_mut().iter_mut().skip(1) {
            *offset = moved.get(offset).copied().unwrap_or_default();
        }
        entry.size = end;
        *segment = Segment::Parts(parts);
        Ok(())
    }

    /// The size of each constant in the constant segment, by its index: that of its largest tensor.
    fn constant_sizes(&self) -> Result<BTreeMap<u32, u64>> {
        let mut sizes = BTreeMap::new();
        for (_, tensor) in self.methods().iter().flat_map(|method| method.tensors()) {
            if let TensorData::Constant(crate::DataRef::Segment { size, .. }) = self.tensor_data(tensor)? {
                let most = sizes.entry(tensor.data_buffer_idx).or_default();
                *most = size.max(*most);
            }
        }
        Ok(sizes)
    }

    /// Moves delegate payloads from segments into the FlatBuffer, and removes the segments that nothing else refers to.
    fn delegates_inline(&mut self, alignments: &mut Vec<u64>) -> Result<()> {
        let mut inline = self.program.backend_delegate_data.take().unwrap_or_default();
        let mut moved = BTreeMap::new();
        for payload in payloads_mut(&mut self.program) {
            if payload.location != DataLocation::SEGMENT {
                continue;
            }
            let place = match moved.get(&payload.index) {
                Some(place) => *place,
                None => {
                    let segment = self.segments.get(payload.index as usize);
                    let bytes = segment.and_then(Segment::contiguous).ok_or_else(|| {
                        Error::unwritable(format!(
                            "the bytes of segment {}, a delegate payload, are absent",
                            payload.index
                        ))
                    })?;
                    inline.push(BackendDelegateInlineData { data: Some(bytes) });
                    moved.insert(payload.index, inline.len() as u32 - 1);
                    inline.len() as u32 - 1
                }
            };
            (payload.location, payload.index) = (DataLocation::INLINE, place);
        }
        self.program.backend_delegate_data = Some(inline);
        let used = self.referenced_segments();
        let kept = |index: &usize| used.get(*index) == Some(&true) || !moved.contains_key(&(*index as u32));
        let kept: Vec<usize> = (0..self.segments.len()).filter(kept).collect();
        self.reorder_segments(&kept, alignments);
        Ok(())
    }

    /// Moves delegate payloads from the FlatBuffer into segments, which come before those of named data.
    fn delegates_to_segments(&mut self, alignments: &mut Vec<u64>, delegate_alignment: u32) -> Result<()> {
        let inline = self.program.backend_delegate_data.take().unwrap_or_default();
        let filled = |index: u32| inline.get(index as usize)?.data.clone().filter(|data| !data.is_empty());
        let (mut moved, mut added) = (BTreeMap::new(), Vec::new());
        let first_new = self.segments.len();
        for payload in payloads_mut(&mut self.program) {
            let Some(data) = filled(payload.index).filter(|_| payload.location == DataLocation::INLINE) else {
                continue;
            };
            let place = *moved.entry(payload.index).or_insert_with(|| {
                added.push(data);
                (first_new + added.len() - 1) as u32
            });
            (payload.location, payload.index) = (DataLocation::SEGMENT, place);
        }
        let kept: Vec<u32> = (0..inline.len() as u32).filter(|index| !moved.contains_key(index)).collect();
        for payload in payloads_mut(&mut self.program).filter(|payload| payload.location == DataLocation::INLINE) {
            payload.index = kept.binary_search(&payload.index).unwrap_or_default() as u32;
        }
        let stays = |(index, data): (usize, _)| (!moved.contains_key(&(index as u32))).then_some(data);
        self.program.backend_delegate_data = Some(inline.into_iter().enumerate().filter_map(stays).collect());

        let named = self.named_segments();
        for data in added {
            self.add_segment(data);
            alignments.push(delegate_alignment.into());
        }
        let first_named = named.iter().position(|named| *named).unwrap_or(first_new);
        let order: Vec<usize> =
            (0..first_named).chain(first_new..self.segments.len()).chain(first_named..first_new).collect();
        self.reorder_segments(&order, alignments);
        Ok(())
    }

    /// For each segment, whether named data refers to it.
    fn named_segments(&self) -> Vec<bool> {
        segment::marked(self.segments.len(), self.named_data().iter().map(|named| named.segment_index))
    }

    /// Reorders the segments as `order`, a list of their old indices, says, and updates every reference to them.
    fn reorder_segments(&mut self, order: &[usize], alignments: &mut Vec<u64>) {
        let mut new_index = vec![0u32; self.segments.len()];
        for (new, old) in order.iter().enumerate() {
            if let Some(place) = new_index.get_mut(*old) {
                *place = new as u32;
            }
        }
        *alignments = order.iter().filter_map(|old| alignments.get(*old).copied()).collect();
        let segments = core::mem::take(&mut self.segments);
        self.segments = order.iter().filter_map(|old| segments.get(*old).cloned()).collect();
        if let Some(table) = self.program.segments.as_mut() {
            *table = order.iter().filter_map(|old| table.get(*old).copied()).collect();
        }
        renumber_segments(&mut self.program, |index| new_index.get(index as usize).copied().unwrap_or(index));
    }
}

impl<'a> Segment<'a> {
    /// `size` bytes from `offset`, borrowed from the input if the segment is.
    fn take(&self, offset: u64, size: u64) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::Whole(Cow::Borrowed(bytes)) => {
                bytes.get(usize::try_from(offset).ok()?..)?.get(..usize::try_from(size).ok()?).map(Cow::Borrowed)
            }
            _ => self.get(offset, size).map(|bytes| Cow::Owned(bytes.to_vec())),
        }
    }

    /// All its bytes in one piece.
    fn contiguous(&self) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::Absent => None,
            Self::Whole(bytes) => Some(bytes.clone()),
            Self::Parts(parts) => {
                let mut bytes = Vec::new();
                for (offset, part) in parts {
                    bytes.resize(usize::try_from(*offset).ok()?, 0);
                    bytes.extend_from_slice(part);
                }
                Some(Cow::Owned(bytes))
            }
        }
    }
}

impl<'a> Ptd<'a> {
    /// Recomputes the layout: gives each segment a new offset, in the present order.
    ///
    /// Fails as [`image`](Self::image) does.
    pub fn lay_out(self, options: &PtdOptions) -> Result<Self> {
        self.check_references()?;
        let segments = self.flat_tensor.segments().iter();
        let alignments: Vec<u64> = segments.map(|segment| kept_alignment(segment.offset)).collect();
        self.place_segments(&alignments, options)
    }

    /// Gives each segment its offset, with these alignments in addition to the options' own.
    pub(crate) fn place_segments(mut self, alignments: &[u64], options: &PtdOptions) -> Result<Self> {
        let segment_alignment = alignment(options.segment_alignment, "segment_alignment")? as u64;
        let aligned = self.flat_tensor.segments().iter().zip(alignments).map(|(segment, own)| {
            least_common_multiple(segment_alignment, *own).map(|alignment| (alignment, segment.size))
        });
        let placed = place(aligned.collect::<Result<Vec<_>>>()?.into_iter())?;
        let style = match options.style {
            Some(style) => style,
            None => self.write_style()?.0,
        };
        self.style = Some(style);
        if let Some(table) = self.flat_tensor.segments.as_mut() {
            *table = placed.table;
        }
        let metadata = self.encode(&style)?;
        let length = PtdHeader::LENGTH;
        let flatbuffer_offset = u64::from(length.next_multiple_of(ALIGNMENT));
        let flatbuffer_size = (HEAD_SIZE + metadata.size()) as u64;
        self.header = Some(PtdHeader {
            length,
            flatbuffer_offset,
            flatbuffer_size,
            segment_base_offset: (flatbuffer_offset + flatbuffer_size).next_multiple_of(segment_alignment),
            segment_data_size: placed.size,
        });
        Ok(self)
    }
}
