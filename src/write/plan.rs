//! A file that is ready to be written: every byte has its place, and the size is known.

use super::layout::FileLayout;
use crate::error::{Error, Result};
use crate::flatbuffer::write::Finished;
use crate::header::{FLATBUFFER_HEAD, PtdHeader, PteHeader};
use crate::schema::DataSegment;
use crate::segment::Segment;
use crate::{ErrorKind, Ptd, Pte};
use alloc::{format, vec::Vec};

/// A file that is ready to be written: metadata in memory, blobs where they are, zeros between.
///
/// Made by [`Pte::plan`] and [`Ptd::plan`]. Whatever can be wrong was found before the first byte is written.
pub struct Plan<'t> {
    /// The FlatBuffer's first 8 bytes and the header.
    head: Vec<u8>,
    body: Finished,
    /// Blobs in order, each at its offset from the start of the file; they do not overlap.
    blobs: Vec<(u64, &'t [u8])>,
    size: u64,
}

impl<'t> Plan<'t> {
    /// The size of the file, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of the metadata: all that is held in memory besides what the tree holds.
    pub fn metadata_size(&self) -> u64 {
        (self.head.len() + self.body.size()) as u64
    }

    /// What is written, in order: bytes, or a number of zeros.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let metadata = core::iter::once(self.head.as_slice()).chain(self.body.parts()).map(Piece::Bytes);
        let mut end = self.metadata_size();
        let blobs = self.blobs.iter().flat_map(move |(offset, bytes)| {
            let zeros = offset.saturating_sub(end);
            end = offset + bytes.len() as u64;
            [Piece::Zeros(zeros), Piece::Bytes(bytes)]
        });
        let blobs_end = self.blobs.last().map_or(self.metadata_size(), |(offset, bytes)| offset + bytes.len() as u64);
        metadata.chain(blobs).chain(core::iter::once(Piece::Zeros(self.size.saturating_sub(blobs_end))))
    }

    /// The whole file in memory.
    ///
    /// Fails with [`ErrorKind::Unwritable`] where this machine cannot address as much.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut file = Vec::new();
        let size =
            usize::try_from(self.size).map_err(|_| Error::unwritable(format!("{} bytes in memory", self.size)))?;
        file.try_reserve_exact(size).map_err(|_| Error::unwritable(format!("{size} bytes in memory")))?;
        for piece in self.pieces() {
            match piece {
                Piece::Bytes(bytes) => file.extend_from_slice(bytes),
                Piece::Zeros(count) => file.resize(file.len().saturating_add(count as usize), 0),
            }
        }
        Ok(file)
    }

    /// Whether the file is this, byte for byte.
    pub(crate) fn is(&self, file: &[u8]) -> bool {
        let mut rest = file;
        let same = self.pieces().all(|piece| {
            let len = match piece {
                Piece::Bytes(bytes) => bytes.len(),
                Piece::Zeros(count) => usize::try_from(count).unwrap_or(usize::MAX),
            };
            let Some((start, behind)) = rest.split_at_checked(len) else {
                return false;
            };
            rest = behind;
            match piece {
                Piece::Bytes(bytes) => core::ptr::eq(bytes, start) || bytes == start,
                Piece::Zeros(_) => start.iter().all(|byte| *byte == 0),
            }
        });
        same && rest.is_empty()
    }
}

/// One run of what is written.
pub(crate) enum Piece<'p> {
    Bytes(&'p [u8]),
    Zeros(u64),
}

impl Pte<'_> {
    /// Puts every byte in its place: header, program, segments, as the tree, the header and `layout` say.
    ///
    /// Fails, before anything is written, with [`ErrorKind::Absent`] where a segment's bytes are not there, and with
    /// [`ErrorKind::Unwritable`] or [`ErrorKind::Reference`] where the parts do not fit: an index leads nowhere, two
    /// keys are alike, the program is longer than the room before the segments (then lay the file out anew, see
    /// [`Pte::lay_out`]), it has tables of a newer schema (set `newer_tables` to 0 to leave their unknown fields out).
    pub fn plan(&self) -> Result<Plan<'_>> {
        self.check_references()?;
        self.plan_as_is()
    }

    /// The same, whatever the tree refers to: for those who need a damaged file, to test a reader.
    pub fn plan_as_is(&self) -> Result<Plan<'_>> {
        self.plan_program(self.layout.encode(&self.program, self.expected_size())?)
    }

    /// What the program takes if it is much as it was.
    pub(crate) fn expected_size(&self) -> u64 {
        self.header.map_or(0, |header| header.program_size)
    }

    pub(crate) fn plan_program(&self, body: Finished) -> Result<Plan<'_>> {
        known(self.newer_tables)?;
        let table = self.program.segments.as_deref().unwrap_or_default();
        let base = self.segment_base_offset();
        let blobs = blobs(base, table, &self.segments, self.header.is_some())?;
        let Some(header) = self.header else {
            let head = body.head(b"ET12", 0)?;
            return finish(head, body, blobs, 0, 0, None);
        };
        let mut head = body.head(b"ET12", self.layout.gap(header.length)?)?;
        let program_size = (head.len() + body.size()) as u64;
        if let Some(room) = head.get_mut(FLATBUFFER_HEAD..) {
            header.put(room, program_size)?;
        }
        finish(head, body, blobs, 0, base, header.segment_data_size.filter(|size| *size > 0))
    }
}

impl Ptd<'_> {
    /// Puts every byte in its place: header, metadata, segments, as the tree, the header and `layout` say.
    ///
    /// Fails as [`Pte::plan`] does.
    pub fn plan(&self) -> Result<Plan<'_>> {
        self.check_references()?;
        self.plan_as_is()
    }

    /// The same, whatever the tree refers to: for those who need a damaged file, to test a reader.
    pub fn plan_as_is(&self) -> Result<Plan<'_>> {
        known(self.newer_tables)?;
        let body = self.layout.encode(&self.flat_tensor, self.header.map_or(0, |header| header.flatbuffer_size))?;
        let table = self.flat_tensor.segments.as_deref().unwrap_or_default();
        let base = self.segment_base_offset();
        let blobs = blobs(base, table, &self.segments, self.header.is_some())?;
        let Some(header) = self.header else {
            let head = body.head(b"FT01", 0)?;
            return finish(head, body, blobs, 0, 0, None);
        };
        let gap = FileLayout { header_gap: u32::try_from(header.flatbuffer_offset).ok(), ..self.layout };
        let mut head = body.head(b"FT01", gap.gap(header.length)?)?;
        let size = body.size() as u64 + FLATBUFFER_HEAD as u64;
        // A longer one, with zeros at its end, is what C++ pads it to.
        let flatbuffer_size = header.flatbuffer_size.max(size);
        let Some(metadata_end) = flatbuffer_size.checked_add((head.len() - FLATBUFFER_HEAD) as u64) else {
            return Err(Error::unwritable(format!("a FlatBuffer of {flatbuffer_size} bytes")));
        };
        if let Some(room) = head.get_mut(FLATBUFFER_HEAD..) {
            header.put(room, flatbuffer_size)?;
        }
        finish(head, body, blobs, metadata_end, base, Some(header.segment_data_size))
    }
}

fn known(newer_tables: u32) -> Result<()> {
    match newer_tables {
        0 => Ok(()),
        tables => Err(Error::unwritable(format!("{tables} tables have fields of a newer schema, which would be lost"))),
    }
}

/// Each segment's parts at their offsets in the file, in order and without overlap: where segments share bytes, these
/// are written once.
///
/// Without a `header` there are no bytes of segments, whatever the table says.
fn blobs<'t>(
    base: u64,
    table: &[DataSegment],
    segments: &'t [Segment<'_>],
    header: bool,
) -> Result<Vec<(u64, &'t [u8])>> {
    if table.len() != segments.len() {
        return Err(Error::unwritable(format!(
            "{} segments are listed, but there are {}",
            table.len(),
            segments.len()
        )));
    }
    let mut blobs = Vec::new();
    for (index, (entry, segment)) in table.iter().zip(segments).enumerate() {
        match segment {
            Segment::Absent if entry.size > 0 && header => return Err(Error::new(ErrorKind::Absent(index as u32))),
            Segment::Absent => continue,
            _ if entry.size > 0 && !header => {
                return Err(Error::unwritable(format!(
                    "segment {index} has bytes, but there is no header to say where"
                )));
            }
            _ => {}
        }
        let start = base.checked_add(entry.offset);
        let end = start.and_then(|start| start.checked_add(entry.size));
        let (Some(start), Some(_)) = (start, end) else {
            return Err(Error::unwritable(format!("segment {index} ends behind 2^64 bytes")));
        };
        for (offset, bytes) in segment.parts() {
            if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > entry.size) {
                let (len, size) = (bytes.len(), entry.size);
                return Err(Error::unwritable(format!("{len} bytes at {offset} of segment {index}, which has {size}")));
            }
            blobs.push((start + offset, bytes));
        }
    }
    if !blobs.is_sorted_by_key(|(offset, _)| *offset) {
        blobs.sort_by_key(|(offset, _)| *offset);
    }
    without_overlap(blobs)
}

fn without_overlap(blobs: Vec<(u64, &[u8])>) -> Result<Vec<(u64, &[u8])>> {
    let end = |(offset, bytes): &(u64, &[u8])| offset + bytes.len() as u64;
    let mut apart: Vec<(u64, &[u8])> = Vec::with_capacity(blobs.len());
    for (offset, bytes) in blobs {
        let (mut offset, mut rest) = (offset, bytes);
        let shared = apart.partition_point(|piece| end(piece) <= offset);
        for (start, piece) in apart.get(shared..).unwrap_or_default() {
            if rest.is_empty() {
                break;
            }
            // Blobs come in order of their offsets and pieces leave no gap behind this one's start.
            let before = usize::try_from(offset - start).ok().and_then(|from| piece.get(from..)).unwrap_or_default();
            let len = before.len().min(rest.len());
            let (again, behind) = rest.split_at_checked(len).unwrap_or_default();
            let before = before.get(..len).unwrap_or_default();
            if !core::ptr::eq(before, again) && before != again {
                return Err(Error::unwritable(format!("two segments hold different bytes at byte {offset}")));
            }
            (offset, rest) = (offset + len as u64, behind);
        }
        // An empty segment takes no place.
        if !rest.is_empty() {
            apart.push((offset, rest));
        }
    }
    Ok(apart)
}

/// The metadata ends at `metadata_end` or behind what it takes, whichever comes last.
fn finish<'t>(
    head: Vec<u8>,
    body: Finished,
    blobs: Vec<(u64, &'t [u8])>,
    metadata_end: u64,
    base: u64,
    data_size: Option<u64>,
) -> Result<Plan<'t>> {
    let metadata_end = metadata_end.max((head.len() + body.size()) as u64);
    let blobs_end = blobs.last().map_or(0, |(offset, bytes)| offset + bytes.len() as u64);
    if blobs.first().is_some_and(|(offset, _)| *offset < metadata_end) || (base > 0 && base < metadata_end) {
        let reason = format!("the metadata takes {metadata_end} bytes, but the segments start at {base}: lay out anew");
        return Err(Error::unwritable(reason));
    }
    let announced = data_size.and_then(|size| base.checked_add(size)).unwrap_or(blobs_end.max(base));
    if announced < blobs_end {
        return Err(Error::unwritable(format!("the header ends the data at {announced}, a segment at {blobs_end}")));
    }
    Ok(Plan { head, body, blobs, size: announced.max(metadata_end) })
}

impl PteHeader {
    /// Fills the room behind the FlatBuffer's first 8 bytes.
    fn put(&self, room: &mut [u8], program_size: u64) -> Result<()> {
        let mut fields = Vec::new();
        fields.extend_from_slice(b"eh00");
        fields.extend_from_slice(&self.length.to_le_bytes());
        fields.extend_from_slice(&program_size.to_le_bytes());
        fields.extend_from_slice(&self.segment_base_offset.to_le_bytes());
        if let Some(size) = self.segment_data_size {
            fields.extend_from_slice(&size.to_le_bytes());
        }
        fill(room, &fields, self.length)
    }
}

impl PtdHeader {
    /// Fills the room behind the FlatBuffer's first 8 bytes.
    fn put(&self, room: &mut [u8], flatbuffer_size: u64) -> Result<()> {
        let mut fields = Vec::new();
        fields.extend_from_slice(b"FH01");
        fields.extend_from_slice(&self.length.to_le_bytes());
        fields.extend_from_slice(&(room.len() as u64).to_le_bytes());
        fields.extend_from_slice(&flatbuffer_size.to_le_bytes());
        fields.extend_from_slice(&self.segment_base_offset.to_le_bytes());
        fields.extend_from_slice(&self.segment_data_size.to_le_bytes());
        fill(room, &fields, self.length)
    }
}

fn fill(room: &mut [u8], fields: &[u8], length: u32) -> Result<()> {
    match room.get_mut(..fields.len()) {
        Some(place) if fields.len() <= length as usize => {
            place.copy_from_slice(fields);
            Ok(())
        }
        _ => Err(Error::unwritable(format!("{} bytes of header in a header of {length}", fields.len()))),
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Pte;
    use crate::schema::program::{BackendDelegateInlineData, Program};
    use alloc::{string::ToString, vec};

    /// The zeros are never touched, so they take no memory: not in `tests`, where an allocator that counts touches them.
    #[test]
    fn a_program_over_2_gib_is_refused_before_it_is_built() {
        let data = Some(vec![0; 1 << 31].into());
        let program =
            Program { backend_delegate_data: Some(vec![BackendDelegateInlineData { data }]), ..Program::default() };
        let error = Pte { program, ..Pte::default() }.plan().err().unwrap();
        assert_eq!(error.path(), "backend_delegate_data[0].data");
        assert!(error.to_string().contains("more than 2147483647 bytes"), "{error}");
    }
}
