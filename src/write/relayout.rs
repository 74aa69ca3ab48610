//! Recomputes a file's layout: where each segment starts, and what it contains.

use super::collect::pack_all;
use crate::error::{Error, Result, counted};
use crate::file::header::{PtdHeader, PteHeader};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::references::{DataList, payloads_mut, renumber_segments};
use crate::file::segment::{self, Segment};
use crate::file::source::Source;
use crate::file::style::{ALIGNMENT, SEGMENT_ALIGNMENT, WriteStyle, alignment};
use crate::flatbuffer::write::HEAD_SIZE;
use crate::schema::DataSegment;
use crate::schema::program::{BackendDelegateInlineData, DataLocation, SubsegmentOffsets};
use crate::setters::setters;
use alloc::{borrow::Cow, format, vec, vec::Vec};

/// The layout of a `.pte`. The default is that of today's ExecuTorch exporter, in the file's own style.
///
/// ```
/// use executorch_format::{Pte, PteOptions};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pages = Pte::parse(&file)?.lay_out(&PteOptions::default().with_segment_alignment(4096))?;
/// let written = pages.image()?.to_vec()?;
/// assert_eq!(Pte::parse(&written)?.header.unwrap().segment_base_offset % 4096, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PteOptions {
    /// The alignment of segments, in bytes, a power of two.
    pub segment_alignment: u32,
    /// The alignment of constants in their segment, in bytes, a power of two. `None`: they are not moved.
    pub constant_alignment: Option<u32>,
    /// Where constants go. `None`: they are not moved. [`DataLocation::SEGMENT`]: constants inside the FlatBuffer, which
    /// runtimes since 1.3 refuse, move into a constant segment. Their indices do not change.
    pub constants: Option<DataLocation>,
    /// The alignment of delegate payloads, in the FlatBuffer or as segments, in bytes, a power of two.
    pub delegate_alignment: u32,
    /// Where delegate payloads are stored. `None`: they are not moved. Empty ones are never moved out of the FlatBuffer.
    pub delegates: Option<DataLocation>,
    /// The style in which the FlatBuffer is written. `None`: that of the file that was read, see [`Pte::write_style`].
    pub style: Option<WriteStyle>,
    /// The length of the extended header, in bytes: 24, as up to ExecuTorch 0.7, or 32.
    pub header_length: u32,
}

setters! {
    PteOptions {
        segment_alignment = with_segment_alignment: u32,
        constant_alignment = with_constant_alignment: Option<u32>,
        constants = with_constants: Option<DataLocation>,
        delegate_alignment = with_delegate_alignment: u32,
        delegates = with_delegates: Option<DataLocation>,
        style = with_style: Option<WriteStyle>,
        header_length = with_header_length: u32,
    }
}

impl PteOptions {
    /// How a file is laid out, as far as it shows: its style, the length of its header, and what its segments and payloads start
    /// at multiples of, up to 4096. Constants stay as they are.
    ///
    /// Fails where the style of its source is not known.
    pub fn of(pte: &Pte<'_>) -> Result<Self> {
        let default = Self::default();
        let style = pte.write_style()?.style;
        let segments = pte.program.segments();
        let starts = starts(segments, pte.segment_base_offset());
        let mut payloads = Vec::new();
        for index in pte.payload_segments() {
            if let Some(segment) = segments.get(index as usize) {
                payloads.push(segment.offset);
            }
        }
        let inline_constants = pte.program.constant_buffer().len() > 1;
        Ok(Self {
            segment_alignment: common_alignment(&starts, default.segment_alignment),
            constant_alignment: inline_constants.then_some(style.constant_alignment),
            delegate_alignment: common_alignment(&payloads, style.delegate_alignment),
            style: Some(style),
            header_length: pte.header.map_or(default.header_length, |header| header.length),
            ..default
        })
    }
}

/// What each segment starts at a multiple of, as far as its offset says so: for the first, as far as all offsets do.
pub(crate) fn kept_alignments(table: &[DataSegment]) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(table.len());
    for segment in table {
        offsets.push(segment.offset);
    }
    let common = common_alignment(&offsets, SEGMENT_ALIGNMENT);
    for offset in &mut offsets {
        *offset = if *offset == 0 { common.into() } else { kept_alignment(*offset) };
    }
    offsets
}

/// Where segments with data start, and where all of them do.
fn starts(table: &[DataSegment], base: u64) -> Vec<u64> {
    let mut starts = vec![base];
    for segment in table {
        if segment.size > 0 {
            starts.push(segment.offset);
        }
    }
    starts
}

/// The largest power of two, up to 4096, that divides all offsets; `usual` where all are 0.
pub(crate) fn common_alignment(offsets: &[u64], usual: u32) -> u32 {
    let mut common = 0;
    for offset in offsets {
        common = greatest_common_divisor(common, *offset);
    }
    if common == 0 { usual } else { 1 << common.trailing_zeros().min(12) }
}

impl Default for PteOptions {
    fn default() -> Self {
        Self {
            segment_alignment: SEGMENT_ALIGNMENT,
            constant_alignment: None,
            constants: None,
            delegate_alignment: ALIGNMENT,
            delegates: None,
            style: None,
            header_length: PteHeader::LONG,
        }
    }
}

/// The layout of a `.ptd`. The default is that of today's Python writer of ExecuTorch, in the file's own style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PtdOptions {
    /// The alignment of segments, in bytes, a power of two.
    pub segment_alignment: u32,
    /// The style in which the FlatBuffer is written. `None`: that of the file that was read, see [`Ptd::write_style`].
    pub style: Option<WriteStyle>,
}

setters! {
    PtdOptions {
        segment_alignment = with_segment_alignment: u32,
        style = with_style: Option<WriteStyle>,
    }
}

impl PtdOptions {
    /// How a file is laid out, as far as it shows, as for [`PteOptions::of`].
    ///
    /// Fails where the style of its source is not known.
    pub fn of(ptd: &Ptd<'_>) -> Result<Self> {
        let starts = starts(ptd.flat_tensor.segments(), ptd.segment_base_offset());
        Ok(Self {
            segment_alignment: common_alignment(&starts, SEGMENT_ALIGNMENT),
            style: Some(ptd.write_style()?.style),
        })
    }
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

impl Placed {
    /// Moves empty segments after the last byte of data to its end. A short header does not say where the data ends, so the file
    /// ends with the last byte, and readers refuse a segment that starts after that.
    fn end_with_data(&mut self) {
        self.size = 0;
        for segment in &self.table {
            if segment.size > 0 {
                self.size = self.size.max(segment.offset + segment.size);
            }
        }
        for segment in &mut self.table {
            if segment.size == 0 {
                segment.offset = segment.offset.min(self.size);
            }
        }
    }
}

/// Gives segments their offsets, in order. Each is given by its alignment and size. Alignments are relative to the start of the
/// first segment, as in the official writers.
pub(crate) fn place(segments: Vec<(u64, u64)>) -> Result<Placed> {
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

/// Gives segments their offsets: each starts at a multiple of its own alignment and of that of all.
fn place_aligned(table: &[DataSegment], alignments: &[u64], of_all: u64) -> Result<Placed> {
    let mut aligned = Vec::with_capacity(table.len());
    for (segment, own) in table.iter().zip(alignments) {
        aligned.push((least_common_multiple(of_all, *own)?, segment.size));
    }
    place(aligned)
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
        match options.constants {
            Some(DataLocation::SEGMENT) => self.constants_to_segment(&mut alignments, options)?,
            Some(other) => return Err(Error::unwritable(format!("constants at location {}, expected 1", other.0))),
            None => {}
        }
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
        let mut alignments: Vec<u64> = kept_alignments(segments);
        // Constants, initial states and delegate payloads need at most the alignment that the options give.
        let named = self.named_segments();
        let mut at_most = |index: u32, alignment: u32| {
            if let (Some(place), Some(false)) = (alignments.get_mut(index as usize), named.get(index as usize)) {
                *place = greatest_common_divisor(*place, alignment.into());
            }
        };
        let constants = options.constant_alignment.unwrap_or(ALIGNMENT);
        if let Some(list) = &program.constant_segment {
            at_most(list.segment_index, constants);
        }
        program.mutable_data_segments().iter().for_each(|list| at_most(list.segment_index, ALIGNMENT));
        for index in self.payload_segments() {
            at_most(index, options.delegate_alignment);
        }
        alignments
    }

    /// Gives each segment its offset, with these alignments in addition to the options' own.
    pub(crate) fn place_segments(mut self, alignments: &[u64], options: &PteOptions) -> Result<Self> {
        check_overlap(&self.segments, self.source.as_ref())?;
        let segment_alignment = alignment(options.segment_alignment, "segment_alignment")? as u64;
        let constant_alignment = options.constant_alignment.unwrap_or(ALIGNMENT);
        let delegate_alignment = options.delegate_alignment;
        let style = match options.style {
            Some(style) => style,
            None => self.write_style()?.style,
        };
        let style = WriteStyle { constant_alignment, delegate_alignment, header_gap: None, ..style };
        self.style = Some(style);
        let expected = self.expected_size();
        self.header = None;
        let Some(table) = self.program.segments.as_mut() else {
            return Ok(self);
        };
        let mut placed = place_aligned(table, alignments, segment_alignment)?;
        if options.header_length < PteHeader::LONG {
            placed.end_with_data();
        }
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

    /// Moves constants from the FlatBuffer into a constant segment, which becomes the first segment.
    fn constants_to_segment(&mut self, alignments: &mut Vec<u64>, options: &PteOptions) -> Result<()> {
        if self.program.constant_segment.as_ref().is_some_and(|list| !list.offsets().is_empty()) {
            return Ok(());
        }
        let constant_alignment = options.constant_alignment.unwrap_or(ALIGNMENT);
        let aligned = alignment(constant_alignment, "constant_alignment")? as u64;
        let mut buffers =
            self.program.constant_buffer.take().unwrap_or_default().into_iter().map(|buffer| buffer.storage);
        if buffers.next().flatten().is_some_and(|placeholder| !placeholder.is_empty()) {
            return Err(Error::unwritable("constant_buffer[0], the placeholder, contains bytes"));
        }
        let (offsets, segment) = pack_all(buffers.map(Option::unwrap_or_default).collect(), aligned)?;
        let added = self.push_segment(segment);
        alignments.push(aligned);
        let order: Vec<usize> = core::iter::once(added as usize).chain(0..added as usize).collect();
        self.reorder_segments(&order, alignments);
        self.program.constant_buffer = Some(Vec::new());
        self.program.constant_segment = Some(SubsegmentOffsets { segment_index: 0, offsets: Some(offsets.into()) });
        Ok(())
    }

    /// Aligns each constant in the constant segment; constants at equal offsets stay shared.
    fn pack_constants(&mut self, alignment: u64) -> Result<()> {
        match &self.program.constant_segment {
            Some(list) if list.offsets().len() > 1 => {
                self.put_entries(DataList::Constants, self.entries(DataList::Constants)?, alignment)
            }
            _ => Ok(()),
        }
    }

    /// Moves delegate payloads from segments into the FlatBuffer, and removes the segments that nothing else refers to.
    fn delegates_inline(&mut self, alignments: &mut Vec<u64>) -> Result<()> {
        let mut inline = self.program.backend_delegate_data.take().unwrap_or_default();
        // Where the payload of each segment is now.
        let mut moved = vec![None; self.segments.len()];
        for payload in payloads_mut(&mut self.program) {
            if payload.location != DataLocation::SEGMENT {
                continue;
            }
            let index = payload.index as usize;
            if let Some(place @ None) = moved.get_mut(index) {
                if let Some(bytes) = self.segments.get(index).and_then(Segment::contiguous) {
                    inline.push(BackendDelegateInlineData { data: Some(bytes) });
                    *place = Some(inline.len() as u32 - 1);
                }
            }
            let Some(Some(place)) = moved.get(index) else {
                return Err(Error::unwritable(format!("the bytes of segment {index}, a delegate payload, are absent")));
            };
            (payload.location, payload.index) = (DataLocation::INLINE, *place);
        }
        self.program.backend_delegate_data = Some(inline);
        let users = self.segment_users();
        let mut kept = Vec::new();
        for (index, moved) in moved.iter().enumerate() {
            if users.get(index) != Some(&0) || moved.is_none() {
                kept.push(index);
            }
        }
        self.reorder_segments(&kept, alignments);
        Ok(())
    }

    /// Moves delegate payloads from the FlatBuffer into segments, which come before those of named data.
    fn delegates_to_segments(&mut self, alignments: &mut Vec<u64>, delegate_alignment: u32) -> Result<()> {
        let inline = self.program.backend_delegate_data.take().unwrap_or_default();
        // In which segment each payload is now.
        let (mut moved, mut added) = (vec![None; inline.len()], Vec::new());
        let first_new = self.segments.len();
        for payload in payloads_mut(&mut self.program) {
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
        self.program.backend_delegate_data = Some(inline);
        self.remove_inline_payloads(&|index| matches!(moved.get(index as usize), Some(Some(_))));

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

    /// Removes delegate payloads from the FlatBuffer, and renumbers every reference to those that stay.
    pub(crate) fn remove_inline_payloads(&mut self, gone: &dyn Fn(u32) -> bool) {
        let inline = self.program.backend_delegate_data.get_or_insert_default();
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
        for payload in payloads_mut(&mut self.program) {
            if payload.location == DataLocation::INLINE {
                // What is removed has no user here. An index that is out of range stays so: there are not more payloads than before.
                if let Ok(new) = kept.binary_search(&payload.index) {
                    payload.index = new as u32;
                }
            }
        }
    }

    /// Removes segments, and renumbers every reference to those that stay.
    pub(crate) fn remove_segments(&mut self, gone: &dyn Fn(usize) -> bool) {
        let mut kept = Vec::new();
        for index in 0..self.segments.len() {
            if !gone(index) {
                kept.push(index);
            }
        }
        self.reorder_segments(&kept, &mut Vec::new());
    }

    /// Removes named data with these indices, in ascending order, and segments that then nothing refers to any more.
    pub(crate) fn remove_named_data(&mut self, gone: &[usize]) {
        let before = self.segment_users();
        let mut index = 0;
        self.program.named_data.get_or_insert_default().retain(|_| {
            index += 1;
            gone.binary_search(&(index - 1)).is_err()
        });
        self.program.named_data = self.program.named_data.take().filter(|named| !named.is_empty());
        self.remove_unused_segments(&before);
    }

    /// Removes segments that were referred to `before` and are no more.
    pub(crate) fn remove_unused_segments(&mut self, before: &[u32]) {
        let after = self.segment_users();
        let unused = |index: usize| after.get(index) == Some(&0) && before.get(index).is_some_and(|users| *users > 0);
        if (0..after.len()).any(unused) {
            self.remove_segments(&unused);
        }
    }

    /// What a segment is to start at a multiple of when the file is laid out: until then, its offset says so.
    pub(crate) fn set_segment_alignment(&mut self, index: u32, alignment: u64) {
        let table = self.program.segments.iter_mut().flatten();
        table.skip(index as usize).take(1).for_each(|segment| segment.offset = alignment);
    }

    /// For each segment, whether named data refers to it.
    fn named_segments(&self) -> Vec<bool> {
        segment::marked(self.segments.len(), self.named_data().iter().map(|named| named.segment_index))
    }

    /// Reorders the segments as `order`, a list of their old indices, says, and updates every reference to them.
    pub(crate) fn reorder_segments(&mut self, order: &[usize], alignments: &mut Vec<u64>) {
        let mut new_index = vec![0u32; self.segments.len()];
        for (new, old) in order.iter().enumerate() {
            if let Some(place) = new_index.get_mut(*old) {
                *place = new as u32;
            }
        }
        pick(alignments, order);
        pick(&mut self.segments, order);
        if let Some(table) = self.program.segments.as_mut() {
            pick(table, order);
        }
        renumber_segments(&mut self.program, &|index| new_index.get(index as usize).copied().unwrap_or(index));
    }
}

/// The items at these indices, in that order, in place of all.
fn pick<T: Clone>(items: &mut Vec<T>, order: &[usize]) {
    let all = core::mem::take(items);
    for index in order {
        if let Some(item) = all.get(*index) {
            items.push(item.clone());
        }
    }
}

impl<'a> Segment<'a> {
    /// `size` bytes from `offset`, borrowed from the input if the segment is.
    pub(crate) fn take(&self, offset: u64, size: u64) -> Option<Cow<'a, [u8]>> {
        let (start, part) = match self {
            Self::Absent => return None,
            Self::Whole(bytes) => (0, bytes),
            Self::Parts(parts) => {
                let at = parts.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
                parts.get(at).map(|(start, bytes)| (*start, bytes))?
            }
        };
        let from = usize::try_from(offset.checked_sub(start)?).ok()?;
        let range = from..from.checked_add(usize::try_from(size).ok()?)?;
        match part {
            Cow::Borrowed(bytes) => bytes.get(range).map(Cow::Borrowed),
            Cow::Owned(bytes) => bytes.get(range).map(|bytes| Cow::Owned(bytes.to_vec())),
        }
    }

    /// All its bytes in one piece.
    pub(crate) fn contiguous(&self) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::Absent => None,
            Self::Whole(bytes) => Some(bytes.clone()),
            Self::Parts(_) => self.joined(self.len()).map(Cow::Owned),
        }
    }
}

impl<'a> Ptd<'a> {
    /// Recomputes the layout: gives each segment a new offset, in the present order.
    ///
    /// Fails as [`image`](Self::image) does.
    pub fn lay_out(self, options: &PtdOptions) -> Result<Self> {
        self.check_references()?;
        let alignments = kept_alignments(self.flat_tensor.segments());
        self.place_segments(&alignments, options)
    }

    /// When the file is laid out, segment `first` is to start where segment `index` could, too: until then, its offset says so.
    pub(crate) fn share_alignment(&mut self, index: usize, first: usize) -> Result<()> {
        let kept = kept_alignments(self.flat_tensor.segments());
        let [own, other] = [first, index].map(|index| kept.get(index).copied().unwrap_or(1));
        let shared = least_common_multiple(own, other)?;
        let table = self.flat_tensor.segments.iter_mut().flatten();
        table.skip(first).take(1).for_each(|segment| segment.offset = shared);
        Ok(())
    }

    /// Gives each segment its offset, with these alignments in addition to the options' own.
    pub(crate) fn place_segments(mut self, alignments: &[u64], options: &PtdOptions) -> Result<Self> {
        check_overlap(&self.segments, self.source.as_ref())?;
        let segment_alignment = alignment(options.segment_alignment, "segment_alignment")? as u64;
        let placed = place_aligned(self.flat_tensor.segments(), alignments, segment_alignment)?;
        let style = match options.style {
            Some(style) => style,
            None => self.write_style()?.style,
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

/// Refuses to lay out apart what overlaps in the file that it was read from: segments can say the same bytes thousands of times.
fn check_overlap(segments: &[Segment<'_>], source: Option<&Source<'_>>) -> Result<()> {
    let file: &[u8] = source.map_or(&[], |source| &source.bytes);
    let inside = file.as_ptr_range();
    let parts = segments.iter().flat_map(Segment::parts).filter(|(_, bytes)| inside.contains(&bytes.as_ptr()));
    let size = parts.map(|(_, bytes)| bytes.len() as u64).fold(0, u64::saturating_add);
    if size / 2 <= file.len() as u64 {
        return Ok(());
    }
    let (size, file) = (counted(size, "byte"), counted(file.len(), "byte"));
    Err(Error::unwritable(format!("the segments overlap: apart they would take {size}, of a file of {file}")))
}
