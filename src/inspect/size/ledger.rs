//! Assigns every byte of a file to a part: claims are collected, and unclaimed bytes are listed as padding or as unreferenced.

use super::{SizeKind, SizePart, payload};
use crate::delegate::xnnpack::XnnpackHeader;
use crate::file::segment::slice;
use crate::file::source::Source;
use crate::flatbuffer::description::TableDescription;
use crate::flatbuffer::read::Limits;
use crate::flatbuffer::walk::{Part, PartKind, Wanted, walk_at};
use crate::flatbuffer::write::HEAD_SIZE;
use crate::inspect::{Blob, BlobKind, BlobUser};
use crate::schema::DataSegment;
use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};
use core::cmp::Reverse;
use core::ops::Range;

/// The part of all vtables.
const VTABLES: &str = "vtables";

/// The part for bytes of the FlatBuffer that only a newer schema explains.
const NEWER: &str = "fields of a newer schema";

/// The longest padding: no writer aligns to more.
const LONGEST_PADDING: u64 = 16 << 20;

/// A claim of bytes for a part, valid unless an earlier claim has them.
#[derive(Clone, Copy)]
struct Claim {
    start: u64,
    end: u64,
    /// The index of the part. A FlatBuffer has fewer parts and methods than bytes.
    part: u32,
    /// The method that the bytes belong to, or [`NO_METHOD`].
    method: u32,
}

const NO_METHOD: u32 = u32::MAX;

/// The claims to the bytes of a file.
pub(super) struct Ledger<'t> {
    /// The given bytes: the whole file, or the metadata.
    file: &'t [u8],
    /// The size of the file.
    file_size: u64,
    /// The offset of the end of the identifier and the extended header.
    header_end: u64,
    metadata_size: u64,
    /// `true` if the FlatBuffer has fields of a newer schema.
    newer: bool,
    parts: Vec<SizePart<'t>>,
    /// Parts that consist of many pieces.
    groups: BTreeMap<(SizeKind, &'static str), usize>,
    claims: Vec<Claim>,
    /// The starts of listed items and the ends of segments, where unclaimed bytes are cut. `true` if an item starts there, which is unused
    /// if its bytes are not claimed.
    cuts: BTreeMap<u64, bool>,
    /// The start and end of each segment, in order.
    segments: Vec<(u64, u64)>,
    /// The offset of the bytes after the last segment that no field describes.
    trailing: u64,
    /// The number of bytes of each method's tables, vectors and strings.
    methods: Vec<u64>,
}

/// The parts of a file, with every byte in one of them.
pub(super) struct Settled<'t> {
    pub(super) parts: Vec<SizePart<'t>>,
    /// The number of bytes of each method's tables, vectors and strings.
    pub(super) methods: Vec<u64>,
}

impl<'t> Ledger<'t> {
    pub(super) fn new(source: &'t Source<'_>, methods: usize) -> Self {
        Self {
            file: &source.bytes,
            file_size: source.size(),
            header_end: HEAD_SIZE as u64,
            metadata_size: source.metadata_size,
            newer: source.newer_tables > 0,
            parts: Vec::new(),
            groups: BTreeMap::new(),
            claims: Vec::new(),
            cuts: BTreeMap::new(),
            segments: Vec::new(),
            trailing: u64::MAX,
            methods: vec![0; methods],
        }
    }

    fn claim(&mut self, start: u64, size: u64, part: usize, method: Option<usize>) {
        let (start, end) = (start.min(self.file_size), start.saturating_add(size).min(self.file_size));
        let method = method.map_or(NO_METHOD, |method| method as u32);
        self.claims.push(Claim { start, end, part: part as u32, method });
    }

    /// Returns the index of the part that all pieces of a kind belong to.
    fn group(&mut self, kind: SizeKind, detail: &'static str) -> usize {
        let next = self.parts.len();
        let group = *self.groups.entry((kind, detail)).or_insert(next);
        if group == next {
            self.parts.push(SizePart::new(kind, Some(detail)));
        }
        group
    }

    /// Claims the root offset, the identifier, and an extended header of `length` bytes.
    pub(super) fn header(&mut self, length: u32) {
        self.header_end = HEAD_SIZE as u64 + u64::from(length);
        self.parts.push(SizePart::new(SizeKind::Header, None));
        self.claim(0, self.header_end, self.parts.len() - 1, None);
    }

    /// Claims the header of an XNNPACK payload, and the first bytes of the FlatBuffer after it.
    pub(super) fn payload_header(&mut self, header: &XnnpackHeader) {
        let (flatbuffer, constants) = (header.flatbuffer(), header.constant_data());
        self.header(u32::from(XnnpackHeader::LENGTH) - HEAD_SIZE as u32);
        self.claim(flatbuffer.start, HEAD_SIZE as u64, self.parts.len() - 1, None);
        self.metadata_size = flatbuffer.end;
        self.segments(0, &[DataSegment { offset: constants.start, size: constants.end - constants.start }], &[true]);
    }

    /// Claims every table, vector and string of the metadata, apart from the blobs in it.
    pub(super) fn program(&mut self, root: &'static TableDescription) {
        self.tables(0, 0, root);
    }

    /// Claims the tables of a FlatBuffer that starts at byte `start` of the file. Its root offset is at byte `position` of the FlatBuffer.
    #[expect(clippy::indexing_slicing, reason = "indices are remainders by the lengths of the arrays")]
    pub(super) fn tables(&mut self, start: u64, position: u32, root: &'static TableDescription) {
        let file = self.file;
        let metadata = slice(file, start..self.metadata_size).unwrap_or_default();
        // Most tables share a vtable with a table shortly before them.
        let mut claimed = [None; 64];
        let mut vtables = None;
        // Most parts belong to a group that was used shortly before.
        let mut groups: [Option<(&TableDescription, usize)>; 64] = [None; 64];
        walk_at(position, metadata, root, &Limits::default(), Wanted::ALL, &mut |part| {
            let method = part.path.item_of_root("execution_plan");
            let known = &mut groups[core::ptr::from_ref(part.owner) as usize / size_of::<TableDescription>() % 64];
            let group = match known {
                Some((owner, group)) if core::ptr::eq(*owner, part.owner) => *group,
                _ => {
                    let group = self.group(SizeKind::Program, part.owner.name);
                    *known = Some((part.owner, group));
                    group
                }
            };
            let size = match &part.kind {
                PartKind::Table(table) => {
                    let known = &mut claimed[table.vtable as usize / 2 % 64];
                    if known.replace(table.vtable) != Some(table.vtable) {
                        let vtables = *vtables.get_or_insert_with(|| self.group(SizeKind::Program, VTABLES));
                        self.claim(start + u64::from(table.vtable), table.vtable_size.into(), vtables, None);
                    }
                    // A vtable that is too short for the size of its table states no size.
                    part.size.max(table.inline_size.unwrap_or_default().into())
                }
                // Only the length: the elements are a blob.
                PartKind::Numbers { .. } if holds_blob(part) => 4,
                _ => part.size,
            };
            self.claim(start + u64::from(part.position), size.into(), group, method);
        });
    }

    /// Records the places of segments, and which of them are referenced.
    pub(super) fn segments(&mut self, base: u64, table: &[DataSegment], referenced: &[bool]) {
        for (DataSegment { offset, size }, referenced) in table.iter().zip(referenced) {
            let start = base.saturating_add(*offset);
            let end = start.saturating_add(*size);
            if start < end {
                self.segments.push((start, end));
                *self.cuts.entry(start).or_default() |= !referenced;
                self.cuts.entry(end).or_default();
            }
        }
        self.segments.sort();
    }

    /// Records the bytes after the last segment.
    pub(super) fn trailing(&mut self, bytes: Range<u64>) {
        if !bytes.is_empty() {
            self.trailing = bytes.start;
            self.cuts.insert(bytes.start, true);
        }
    }

    /// Records the starts of listed constants.
    pub(super) fn starts(&mut self, starts: &[u64]) {
        for start in starts {
            self.cuts.insert(*start, true);
        }
    }

    /// Claims a blob. A segment is not a part, but its content is.
    pub(super) fn blob(&mut self, blob: Blob<'t>) {
        let (kind, name) = match (blob.kind, blob.users.first()) {
            (BlobKind::Constant, _) => (SizeKind::Constant, None),
            (BlobKind::InitialState, _) => (SizeKind::InitialState, None),
            (BlobKind::Delegate, Some(BlobUser::Delegate { id, .. })) => (SizeKind::Delegate, Some(*id)),
            (BlobKind::Named, Some(BlobUser::Key { key, .. })) => (SizeKind::Named, Some(*key)),
            (BlobKind::DelegateConstant, _) => (SizeKind::Constant, None),
            (BlobKind::Program, _) => (SizeKind::Bundled, None),
            (BlobKind::Input | BlobKind::Expected, _) => (SizeKind::Test, None),
            _ => return,
        };
        let Some(offset) = blob.offset else {
            return;
        };
        if kind == SizeKind::Delegate {
            self.payload(offset, blob.size, name, &blob.users);
        } else {
            self.parts.push(SizePart { name, users: blob.users, ..SizePart::new(kind, None) });
            self.claim(offset, blob.size, self.parts.len() - 1, None);
        }
        // A blob starts here, even if it is empty.
        self.cuts.insert(offset, false);
    }

    /// Claims a delegate's payload, in the parts stated in its own header.
    fn payload(&mut self, offset: u64, size: u64, name: Option<&'t str>, users: &[BlobUser<'t>]) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.file.get(start..).and_then(|rest| rest.get(..usize::try_from(size).ok()?));
        for (detail, range) in bytes.map_or_else(|| vec![("payload", 0..size)], payload::parts) {
            let users = users.to_vec();
            self.parts.push(SizePart { name, users, ..SizePart::new(SizeKind::Delegate, Some(detail)) });
            self.claim(offset.saturating_add(range.start), range.end - range.start, self.parts.len() - 1, None);
        }
    }

    /// Assigns every byte to a part.
    #[expect(clippy::indexing_slicing, reason = "claims have the indices of parts")]
    pub(super) fn settle(mut self) -> Settled<'t> {
        // The largest of the claims that start together comes first.
        let mut claims = core::mem::take(&mut self.claims);
        claims.sort_unstable_by_key(|claim| claim.start);
        for together in claims.chunk_by_mut(|left, right| left.start == right.start) {
            together.sort_unstable_by_key(|claim| (Reverse(claim.end), claim.part));
        }
        let cuts = core::mem::take(&mut self.cuts).into_iter().collect::<Vec<_>>();
        let (mut settled, mut last) = (0, None);
        for claim in claims {
            // Several tables may claim a vtable.
            if last.replace((claim.start, claim.end, claim.part)) == Some((claim.start, claim.end, claim.part)) {
                continue;
            }
            if claim.start > settled {
                self.unclaimed(&cuts, settled, claim.start);
            }
            let start = claim.start.max(settled);
            let bytes = claim.end.saturating_sub(start);
            self.parts[claim.part as usize].add(start, bytes);
            // `NO_METHOD` has no entry.
            if let Some(method) = self.methods.get_mut(claim.method as usize) {
                *method += bytes;
            }
            settled = settled.max(claim.end);
        }
        self.unclaimed(&cuts, settled, self.file_size);
        Settled { parts: self.parts, methods: self.methods }
    }

    /// Lists unclaimed bytes, cut at the starts of listed items.
    #[expect(clippy::indexing_slicing, reason = "`part_of_unclaimed` returns the index of a part")]
    fn unclaimed(&mut self, cuts: &[(u64, bool)], mut start: u64, end: u64) {
        let mut next = cuts.partition_point(|(cut, _)| *cut < start);
        while start < end {
            // `true` if a listed item starts here.
            let mut listed = false;
            if let Some((_, here)) = cuts.get(next).filter(|(cut, _)| *cut == start) {
                (listed, next) = (*here, next + 1);
            }
            let stop = cuts.get(next).map_or(end, |(cut, _)| end.min(*cut));
            let part = self.part_of_unclaimed(start, stop, listed);
            self.parts[part].add(start, stop - start);
            start = stop;
        }
    }

    fn part_of_unclaimed(&mut self, start: u64, end: u64, listed: bool) -> usize {
        let place = if start >= self.trailing {
            "after the last segment"
        } else if start < self.metadata_size {
            if start == self.header_end { "header" } else { "program" }
        } else {
            let (before, _) = self.segments.split_at(self.segments.partition_point(|(segment, _)| *segment <= start));
            let inside = before.last().is_some_and(|last| start < last.1);
            if inside { "segment" } else { "between segments" }
        };
        // Bytes that were not read are taken for zeros.
        let is_zero = slice(self.file, start..end).is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0));
        if !listed && end - start <= LONGEST_PADDING && is_zero {
            return self.group(SizeKind::Padding, place);
        }
        match place {
            "program" if self.newer => self.group(SizeKind::Program, NEWER),
            "program" => self.group(SizeKind::Unreferenced, place),
            _ => {
                self.parts.push(SizePart::new(SizeKind::Unreferenced, Some(place)));
                self.parts.len() - 1
            }
        }
    }
}

/// Returns `true` if the elements of a vector of numbers are a blob.
fn holds_blob(part: &Part<'_>) -> bool {
    let blob = match part.owner.name {
        "Buffer" => "storage",
        "BackendDelegateInlineData" => "data",
        "BundledProgram" => "program",
        "Tensor" => "data",
        _ => return false,
    };
    part.path.is_field(blob)
}

impl SizePart<'_> {
    fn new(kind: SizeKind, detail: Option<&'static str>) -> Self {
        Self { kind, detail, name: None, offset: None, size: 0, pieces: 0, users: Vec::new() }
    }

    /// Adds a run of bytes.
    fn add(&mut self, start: u64, bytes: u64) {
        self.offset = if self.pieces == 0 { Some(start) } else { None };
        self.size += bytes;
        self.pieces += 1;
    }
}
