//! Compares trees with their sources, and detects the style in which a source was written.

use super::alignment;
use crate::error::{Error, Result};
use crate::file::header::{self, FileKind, Header};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::style::{ALIGNMENT, SEGMENT_ALIGNMENT, WriteStyle};
use crate::flatbuffer::any::same;
use crate::flatbuffer::description::{FieldKind, NumberKind, TableDescription};
use crate::flatbuffer::form::FieldForm;
use crate::flatbuffer::read::{self, Limits, Record};
use crate::flatbuffer::walk::{PartKind, Wanted, walk};
use crate::flatbuffer::write::{FieldOrder, Finished, HEAD_SIZE, VtableSharing};
use crate::schema::flat_tensor::{FlatTensor, FlatTensorParser, Interleaved};
use crate::schema::program::{CONSTANTS, DELEGATES};
use crate::schema::{DataSegment, Program, program};
use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

/// The largest alignment of blobs inside a FlatBuffer to try, as a power of two.
const LARGEST_INLINE: u32 = 16;

/// No limits: the source was within the limits when it was first read.
pub(super) const NO_LIMITS: Limits = Limits { bytes: Some(u32::MAX), memory: None };

/// Returns the source's metadata, if header and program still equal it.
pub(crate) fn unchanged_pte<'t>(pte: &'t Pte<'_>) -> Option<&'t [u8]> {
    let source = pte.source.as_ref().filter(|_| pte.style.is_none())?;
    let (header, program) = decoded_pte(pte)?;
    (header == pte.header && same(&program, &pte.program)).then(|| source.metadata())
}

fn decoded_pte<'t>(pte: &'t Pte<'_>) -> Option<(Option<header::PteHeader>, Program<'t>)> {
    let metadata = pte.source.as_ref()?.metadata();
    let header = match header::probe_as(metadata, Some(FileKind::Pte)).ok()?.header {
        Some(Header::Pte(header)) => Some(header),
        _ => None,
    };
    let (program, _) = read::read_at(0, metadata, &NO_LIMITS).ok()?;
    Some((header, program))
}

pub(super) fn pte_style(pte: &Pte<'_>) -> Result<Detected> {
    if let Some(style) = pte.style {
        return Ok(Detected::exact(style));
    }
    let (Some(source), Some((header, program))) = (&pte.source, decoded_pte(pte)) else {
        return Ok(Detected::exact(WriteStyle::PYTHON));
    };
    let metadata = source.metadata();
    let base = header.map(|header| (header.segment_base_offset, header.program_size));
    let segment_alignment = alignment::of_parts(&parts(base, program.segments()), SEGMENT_ALIGNMENT);
    let shown = WriteStyle { segment_alignment, ..shown_style(metadata, Program::DESCRIPTION) };
    let mut nearest = None;
    for (align_empty, vtable_sharing) in variants(&shown) {
        for [constant_alignment, delegate_alignment] in alignments(metadata, &program, align_empty) {
            let style = WriteStyle { align_empty, vtable_sharing, constant_alignment, delegate_alignment, ..shown };
            let body = style.encode(&program, metadata.len() as u64)?;
            let gap = metadata.len().checked_sub(HEAD_SIZE + body.size());
            // Without a header, the rest directly follows the first 8 bytes.
            if ends_with(metadata, &body) && (header.is_some() || gap == Some(0)) {
                let header_gap = gap.filter(|_| header.is_some()).and_then(|gap| u32::try_from(gap).ok());
                return Ok(Detected::exact(WriteStyle { header_gap, ..style }));
            }
            nearest.get_or_insert(style);
        }
    }
    Ok(Detected { style: nearest.unwrap_or(shown), exact: false })
}

/// Returns the starts of the segments with data, and of the first of them in the file, each with the end of the part before it. `base` is
/// the offset of the segments, and the end of the metadata.
fn parts(base: Option<(u64, u64)>, table: &[DataSegment]) -> Vec<(u64, u64)> {
    let mut parts: Vec<(u64, u64)> = base.into_iter().collect();
    let mut end = 0;
    for segment in table {
        if segment.size > 0 {
            parts.push((segment.offset, end));
            end = segment.offset.saturating_add(segment.size);
        }
    }
    parts
}

/// Returns the source's metadata, if header and keys still equal it.
pub(crate) fn unchanged_ptd<'t>(ptd: &'t Ptd<'_>) -> Option<&'t [u8]> {
    let source = ptd.source.as_ref().filter(|_| ptd.style.is_none())?;
    let (header, flat_tensor) = decoded_ptd(ptd)?;
    // There are no floats, so `==` is bitwise.
    (header == ptd.header && flat_tensor == ptd.flat_tensor).then(|| source.metadata())
}

fn decoded_ptd<'t>(ptd: &'t Ptd<'_>) -> Option<(Option<header::PtdHeader>, FlatTensor<'t>)> {
    let metadata = ptd.source.as_ref()?.metadata();
    let header = match header::probe_as(metadata, Some(FileKind::Ptd)).ok()?.header {
        Some(Header::Ptd(header)) => Some(header),
        _ => None,
    };
    let (flat_tensor, _) = read::decode_at(0, FlatTensorParser::default(), metadata, &NO_LIMITS).ok()?;
    Some((header, flat_tensor))
}

/// Encodes the keys in the given style.
pub(super) fn encode_ptd(ptd: &Ptd<'_>, style: &WriteStyle) -> Result<Finished> {
    encode(&ptd.flat_tensor, style, ptd.header.map_or(0, |header| header.flatbuffer_size))
}

pub(super) fn ptd_style(ptd: &Ptd<'_>) -> Result<Detected> {
    if let Some(style) = ptd.style {
        return Ok(Detected::exact(style));
    }
    let (Some(source), Some((header, flat_tensor))) = (&ptd.source, decoded_ptd(ptd)) else {
        return Ok(Detected::exact(WriteStyle::FLATC));
    };
    let metadata = source.metadata();
    let base = header.map(|header| (header.segment_base_offset, header.flatbuffer_offset + header.flatbuffer_size));
    let segment_alignment = alignment::of_parts(&parts(base, flat_tensor.segments()), SEGMENT_ALIGNMENT);
    let shown = WriteStyle { segment_alignment, ..shown_style(metadata, flat_tensor.root()) };
    for vtable_sharing in sharings(&shown) {
        for interleaved in [false, true] {
            let style = WriteStyle { interleaved, vtable_sharing, ..shown };
            if ends_with(metadata, &encode(&flat_tensor, &style, metadata.len() as u64)?) {
                return Ok(Detected::exact(style));
            }
        }
    }
    Ok(Detected { style: shown, exact: false })
}

fn encode(flat_tensor: &FlatTensor<'_>, style: &WriteStyle, expected: u64) -> Result<Finished> {
    match style.interleaved {
        true => style.encode(&Interleaved(flat_tensor), expected),
        false => style.encode(flat_tensor, expected),
    }
}

/// The style in which a file was written, as far as it can be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Detected {
    /// The style.
    pub style: WriteStyle,
    /// `true` if encoding the unchanged tree in this style reproduces the source byte for byte.
    pub exact: bool,
}

impl Detected {
    pub(super) fn exact(style: WriteStyle) -> Self {
        Self { style, exact: true }
    }

    /// Returns the style if it is exact.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if no official writer's style reproduces the
    /// source's bytes.
    pub fn proven(self) -> Result<WriteStyle> {
        match self.exact {
            true => Ok(self.style),
            false => Err(Error::unwritable("no official writer's style reproduces this file's metadata")),
        }
    }
}

/// Returns `true` if the metadata ends with this FlatBuffer. Zeros may follow it; the root offset and the header before it are ignored.
pub(super) fn ends_with(metadata: &[u8], body: &Finished) -> bool {
    let end = metadata.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let starts = metadata.len().checked_sub(body.size()).into_iter();
    // C++ `save_ptd` pads its FlatBuffer, whose start follows from the root offset.
    let root = metadata.first_chunk().map(|root| u32::from_le_bytes(*root) as usize);
    let by_root = root.and_then(|root| root.checked_sub(body.root()));
    starts.chain(by_root).any(|start| {
        // A start past the end leaves no bytes to compare.
        let mut rest = metadata.get(start..).unwrap_or_default();
        let same = body.parts().all(|part| match rest.split_at_checked(part.len()) {
            Some((same, after)) => {
                rest = after;
                same == part
            }
            None => false,
        });
        same && start >= HEAD_SIZE && start + body.size() >= end
    })
}

/// Returns the part of the style that is visible in a FlatBuffer: the order of the root's fields, and the sharing of vtables.
#[expect(clippy::indexing_slicing, reason = "the index is a remainder by the length of the array")]
pub(super) fn shown_style(metadata: &[u8], root: &'static TableDescription) -> WriteStyle {
    let mut field_order = FieldOrder::ById;
    let mut shared = false;
    let mut extents = BTreeMap::<u32, u32>::new();
    // Most tables share a vtable with a table shortly before them.
    let mut known = [None; 64];
    walk(metadata, root, &NO_LIMITS, Wanted::TABLES, &mut |part| {
        let PartKind::Table(table) = &part.kind else {
            return;
        };
        if part.path.is_root() {
            let fields = table.slots.iter().zip(root.forms).filter(|(slot, _)| **slot > 0);
            let mut offsets = fields.filter(|(_, form)| **form == FieldForm::Offset);
            // If fields are written in the order of their ids, the first field comes last in the table.
            if let (Some((first, _)), Some((second, _))) = (offsets.next(), offsets.next()) {
                field_order = if first < second { FieldOrder::BySize } else { FieldOrder::ById };
            }
        }
        let recent = &mut known[table.vtable as usize / 2 % 64];
        if recent.replace((table.vtable, part.size)) != Some((table.vtable, part.size)) {
            shared |= *extents.entry(table.vtable).or_insert(part.size) != part.size;
        }
        shared |= table.inline_size.is_some_and(|size| u32::from(size) < part.size);
    });
    let vtable_sharing = if shared { VtableSharing::ByEntries } else { VtableSharing::ByEntriesAndSize };
    match field_order {
        FieldOrder::ById => WriteStyle { vtable_sharing, ..WriteStyle::PYTHON },
        FieldOrder::BySize => WriteStyle { vtable_sharing, ..WriteStyle::FLATC },
    }
}

/// Returns the ways of sharing vtables to try, the visible way first.
fn sharings(shown: &WriteStyle) -> [VtableSharing; 2] {
    match shown.vtable_sharing {
        VtableSharing::ByEntries => [VtableSharing::ByEntries, VtableSharing::ByEntriesAndSize],
        VtableSharing::ByEntriesAndSize => [VtableSharing::ByEntriesAndSize, VtableSharing::ByEntries],
    }
}

pub(super) fn variants(shown: &WriteStyle) -> [(bool, VtableSharing); 4] {
    let [first, second] = sharings(shown);
    let align_empty = shown.align_empty;
    [(align_empty, first), (!align_empty, first), (align_empty, second), (!align_empty, second)]
}

/// Returns the possible alignments of constants and delegate payloads inside the FlatBuffer, given their positions, the usual
/// alignments first.
///
/// Every blob starts at a multiple of its alignment. Any alignment from the original one to the largest that divides
/// all positions gives the same positions. They differ only in the padding of the whole FlatBuffer, which follows from the
/// larger alignment. So one pair is tried for each power of two.
fn alignments(metadata: &[u8], program: &Program<'_>, align_empty: bool) -> Vec<[u32; 2]> {
    let mut largest = [None::<u32>; 2];
    if program.constant_buffer().is_empty() && program.backend_delegate_data().is_empty() {
        return vec![[ALIGNMENT; 2]];
    }
    let is_blob = |kind: &FieldKind| matches!(kind, FieldKind::Numbers { number: NumberKind::U8, .. });
    let blobs = Wanted { tables: false, fields: is_blob };
    walk(metadata, Program::DESCRIPTION, &NO_LIMITS, blobs, &mut |part| {
        let kind = match part.owner.name {
            name if name == program::Buffer::DESCRIPTION.name => &mut largest[CONSTANTS],
            name if name == program::BackendDelegateInlineData::DESCRIPTION.name => &mut largest[DELEGATES],
            _ => return,
        };
        // The elements come after their count.
        if matches!(part.kind, PartKind::Numbers { .. }) && (part.size > 4 || align_empty) {
            let divides = 1 << (part.position + 4).trailing_zeros().min(LARGEST_INLINE);
            *kind = Some(kind.map_or(divides, |other| other.min(divides)));
        }
    });
    let most = largest.into_iter().flatten().max().unwrap_or(ALIGNMENT);
    let mut pairs = Vec::new();
    for padded in [ALIGNMENT].into_iter().chain((0..=LARGEST_INLINE).map(|power| 1 << power)) {
        let pair = largest.map(|largest| largest.map_or(ALIGNMENT, |largest| largest.min(padded)));
        if padded <= most.max(ALIGNMENT) && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}
