//! The layout of a file that is ready to be written: its size, and the origin of every byte.

use super::detect;
use crate::error::{Error, ErrorKind, Result, counted};
use crate::file::header::{PTD_IDENTIFIER, PTE_IDENTIFIER};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::{self, Segment, Segments};
use crate::file::source::Source;
use crate::file::style::WriteStyle;
use crate::flatbuffer::write::{Finished, HEAD_SIZE};
use crate::model::{Model, each_file};
use alloc::{format, vec, vec::Vec};
use core::fmt;

/// A file that is ready to be written: encoded metadata, borrowed blobs, and zeros between them.
///
/// Created by [`Pte::image`] and [`Ptd::image`], which report everything that is wrong with a tree before anything is written. Cloning
/// copies only the metadata.
#[derive(Clone)]
pub struct Image<'t> {
    metadata: Metadata<'t>,
    /// The bytes between and after blobs, at the same offsets as in the file. Past its end, the file has zeros.
    background: &'t [u8],
    /// The blobs in order, without overlap, each with its offset from the start of the file.
    blobs: Blobs<'t>,
    size: u64,
    /// Files from which borrowed bytes can be copied, and their memory maps: see [`Image::copy_from`].
    #[cfg(feature = "std")]
    pub(super) files: Vec<(&'t std::fs::File, &'t [u8])>,
}

/// The FlatBuffer and the header.
#[derive(Clone)]
pub(super) enum Metadata<'t> {
    /// The bytes that the tree was read from.
    Source(&'t [u8]),
    /// The first 8 bytes with the header and its padding, and the rest.
    Encoded(Vec<u8>, Finished),
    /// The start of a payload, or of a file of another format.
    Payload(Vec<u8>),
}

impl Metadata<'_> {
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Source(bytes) => bytes.len() as u64,
            Self::Encoded(head, body) => (head.len() + body.size()) as u64,
            Self::Payload(bytes) => bytes.len() as u64,
        }
    }
}

impl fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("size", &self.size)
            .field("metadata_size", &self.metadata_size())
            .field("blobs", &self.blobs.len())
            .field("from_source", &self.is_from_source())
            .finish()
    }
}

impl<'t> Image<'t> {
    pub(super) fn new(metadata: Metadata<'t>, background: &'t [u8], blobs: Blobs<'t>, size: u64) -> Self {
        Self {
            metadata,
            background,
            blobs,
            size,
            #[cfg(feature = "std")]
            files: Vec::new(),
        }
    }

    /// Returns the size of the file, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the most bytes that are expected of files that are made from `read` bytes: 64 MiB plus 32 times as many.
    pub fn max_size(read: u64) -> u64 {
        const BASE: u64 = 64 << 20;
        const PER_BYTE: u64 = 32;
        PER_BYTE.saturating_mul(read).saturating_add(BASE)
    }

    /// Checks the size of a file that was made from files of `read` bytes in all, which are those of strangers.
    ///
    /// In a small hostile file, many parts can share bytes that an edit, a split or a conversion stores once for each of them. Nothing is
    /// copied for that in memory, but writing it can fill a disk. The command `pte` makes this check before they write.
    ///
    /// Fails with [`ErrorKind::Unwritable`] if the file has more bytes than [`max_size`](Self::max_size).
    ///
    /// ```
    /// use executorch_format::{PtdOptions, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let mut pte = Pte::parse(&file)?;
    /// let (weights, _) = pte.externalize(&PtdOptions::default(), |candidate| Some(candidate.key.to_owned()))?;
    /// let image = weights.image()?;
    /// image.check_size(file.len() as u64)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn check_size(&self, read: u64) -> Result<()> {
        let most = Self::max_size(read);
        if self.size <= most {
            return Ok(());
        }
        Err(Error::unwritable(format!(
            "the file would have {}, made from {read}, since parts that share bytes are written separately: the limit is {most} (64 MiB plus 32 times what was read)",
            counted(self.size, "byte")
        )))
    }

    /// Returns the size of the metadata, in bytes. Writing uses at most this much memory in addition to the tree.
    pub fn metadata_size(&self) -> u64 {
        self.metadata.size()
    }

    /// Returns `true` if the metadata is unchanged, so that it is written with the bytes that it was read from.
    pub fn is_from_source(&self) -> bool {
        matches!(self.metadata, Metadata::Source(_))
    }

    /// Creates an image of exactly these bytes.
    pub(super) fn unchanged(bytes: &'t [u8]) -> Self {
        Self::new(Metadata::Source(bytes), &[], Vec::new(), bytes.len() as u64)
    }

    /// Returns an image of metadata that is written as it was read, and of parts at their offsets, with zeros between them. Parts that overlap must
    /// have the same bytes.
    #[cfg(feature = "json")]
    pub(crate) fn of_parts(metadata: &'t [u8], parts: Vec<(u64, &'t [u8])>, size: u64) -> Result<Self> {
        let mut all = vec![(0, metadata)];
        all.extend(parts);
        all.sort_by_key(|left| left.0);
        let end = |(offset, bytes): &(u64, &[u8])| offset.saturating_add(bytes.len() as u64);
        if let Some(part) = all.iter().find(|part| end(part) > size) {
            let fault = format!("a part ends at byte {}, but the file has {}", end(part), counted(size, "byte"));
            return Err(Error::unwritable(fault));
        }
        let mut apart = without_overlap(all)?;
        // It is first, and nothing is before it.
        apart.remove(0);
        Ok(Self::new(Metadata::Source(metadata), &[], apart, size))
    }

    /// Creates an image of a FlatBuffer and the bytes before it.
    pub(super) fn of_flatbuffer(head: Vec<u8>, body: Finished) -> Self {
        let metadata = Metadata::Encoded(head, body);
        let size = metadata.size();
        Self::new(metadata, &[], Vec::new(), size)
    }

    /// Returns the metadata as it will be written.
    pub(crate) fn metadata_bytes(&self) -> Vec<u8> {
        self.metadata_parts().concat()
    }

    fn metadata_parts(&self) -> Vec<&[u8]> {
        match &self.metadata {
            Metadata::Source(bytes) => vec![bytes],
            Metadata::Encoded(head, body) => {
                let mut parts = vec![head.as_slice()];
                parts.extend(body.parts());
                parts
            }
            Metadata::Payload(bytes) => vec![bytes],
        }
    }

    /// Returns the pieces to write, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let metadata = self.metadata_parts().into_iter().map(Piece::Bytes);
        let mut end = self.metadata_size();
        let blobs = self.blobs.iter().copied().chain([(self.size, &[][..])]).flat_map(move |(offset, bytes)| {
            let [same, zeros] = self.between(end, offset);
            end = offset + bytes.len() as u64;
            [same, zeros, Piece::Bytes(bytes)]
        });
        metadata.chain(blobs)
    }

    /// Returns the bytes between two blobs.
    #[expect(clippy::indexing_slicing, reason = "both ends are at most the length of the background")]
    fn between(&self, start: u64, end: u64) -> [Piece<'_>; 2] {
        let length = self.background.len() as u64;
        let (from, to) = (start.min(length), end.min(length));
        let same = &self.background[from as usize..to.max(from) as usize];
        [Piece::Bytes(same), Piece::Zeros(end.saturating_sub(start.max(length)))]
    }

    /// Returns the bytes of the whole file.
    ///
    /// Fails with [`ErrorKind::Unwritable`] if there is not enough memory.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut file = Vec::new();
        let too_large = || Error::unwritable(format!("there is not enough memory for {}", counted(self.size, "byte")));
        let size = usize::try_from(self.size).map_err(|_| too_large())?;
        file.try_reserve_exact(size).map_err(|_| too_large())?;
        for piece in self.pieces() {
            match piece {
                Piece::Bytes(bytes) => file.extend_from_slice(bytes),
                Piece::Zeros(count) => {
                    let end = usize::try_from(file.len() as u64 + count).map_err(|_| too_large())?;
                    file.resize(end, 0);
                }
            }
        }
        Ok(file)
    }
}

#[cfg(feature = "convert")]
impl<'t> Image<'t> {
    /// Creates an image of a file of another format: a header, followed by data in pieces without gaps.
    pub(crate) fn of_pieces(header: Vec<u8>, data: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut size = header.len() as u64;
        let place = |bytes: &'t [u8]| {
            let offset = size;
            size += bytes.len() as u64;
            (offset, bytes)
        };
        let blobs = data.map(place).collect();
        Self::new(Metadata::Payload(header), &[], blobs, size)
    }
}

/// Creates an image of these bytes, for a file of any format.
///
/// ```
/// # fn main() -> executorch_format::Result<()> {
/// let page = executorch_format::Image::from(b"<!doctype html>".to_vec());
/// assert_eq!(page.to_vec()?, b"<!doctype html>");
/// # Ok(())
/// # }
/// ```
impl From<Vec<u8>> for Image<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Self::new(Metadata::Payload(bytes), &[], Vec::new(), size)
    }
}

/// Bytes to write.
pub(crate) enum Piece<'p> {
    Bytes(&'p [u8]),
    Zeros(u64),
}

/// Creates the image of a program; `is_strict` if dangling references are errors.
pub(super) fn pte_image<'t>(pte: &'t Pte<'_>, is_strict: bool) -> Result<Image<'t>> {
    if let Some(metadata) = detect::unchanged_pte(pte) {
        return of(&pte.segment_data(), Metadata::Source(metadata), 0);
    }
    if is_strict {
        pte.check_references()?;
    }
    no_newer_tables(pte.source.as_ref())?;
    let style = pte.write_style()?.style;
    let body = style.encode(&pte.program, expected_size(pte))?;
    of(&pte.segment_data(), pte_metadata(pte, &style, body)?, 0)
}

/// Returns an estimate of the size of the encoded program: the size of the program that was read.
pub(super) fn expected_size(pte: &Pte<'_>) -> u64 {
    pte.header.map_or(0, |header| header.program_size)
}

fn pte_metadata(pte: &Pte<'_>, style: &WriteStyle, body: Finished) -> Result<Metadata<'static>> {
    let Some(header) = pte.header else {
        return Ok(Metadata::Encoded(body.head(PTE_IDENTIFIER, 0)?, body));
    };
    let mut head = body.head(PTE_IDENTIFIER, style.gap(header.length)?)?;
    let program_size = (head.len() + body.size()) as u64;
    header.put(head.split_at_mut(HEAD_SIZE).1, program_size)?;
    Ok(Metadata::Encoded(head, body))
}

/// Creates the image of a `.ptd`, like [`pte_image`].
pub(super) fn ptd_image<'t>(ptd: &'t Ptd<'_>, is_strict: bool) -> Result<Image<'t>> {
    if let Some(metadata) = detect::unchanged_ptd(ptd) {
        return of(&ptd.segment_data(), Metadata::Source(metadata), 0);
    }
    if is_strict {
        ptd.check_references()?;
    }
    no_newer_tables(ptd.source.as_ref())?;
    let style = ptd.write_style()?.style;
    let body = detect::encode_ptd(ptd, &style)?;
    let (metadata, metadata_end) = ptd_metadata(ptd, &style, body)?;
    of(&ptd.segment_data(), metadata, metadata_end)
}

/// Returns the metadata and the offset of its end, including the zeros with which C++ pads it.
fn ptd_metadata(ptd: &Ptd<'_>, style: &WriteStyle, body: Finished) -> Result<(Metadata<'static>, u64)> {
    let Some(header) = ptd.header else {
        return Ok((Metadata::Encoded(body.head(PTD_IDENTIFIER, 0)?, body), 0));
    };
    let header_gap = u32::try_from(header.flatbuffer_offset).ok();
    let mut head = body.head(PTD_IDENTIFIER, WriteStyle { header_gap, ..*style }.gap(header.length)?)?;
    let flatbuffer_size = header.flatbuffer_size.max(body.size() as u64 + HEAD_SIZE as u64);
    let Some(metadata_end) = flatbuffer_size.checked_add((head.len() - HEAD_SIZE) as u64) else {
        return Err(Error::unwritable(format!("the FlatBuffer, of {flatbuffer_size} bytes, ends past 2^64 bytes")));
    };
    header.put(head.split_at_mut(HEAD_SIZE).1, flatbuffer_size)?;
    Ok((Metadata::Encoded(head, body), metadata_end))
}

pub(super) fn no_newer_tables(source: Option<&Source<'_>>) -> Result<()> {
    match source.map_or(0, |source| source.newer_tables) {
        0 => Ok(()),
        tables => {
            let tables = counted(tables, "table");
            Err(Error::unwritable(format!(
                "fields of a newer schema, in {tables}, would be lost (forget_source allows that)"
            )))
        }
    }
}

/// Bytes with their offsets in the file.
type Blobs<'t> = Vec<(u64, &'t [u8])>;

/// Returns the parts of all segments with their offsets in the file, in order and without overlap: bytes that segments share are
/// written once. Parts that the background contains are left out. Also returns the offset at which the last segment with bytes
/// ends, because its last part may be an empty constant after padding.
///
/// Without a header, segments have no bytes, even if the table gives them a size.
fn blobs<'t>(segments: &Segments<'t, '_>, background: &[u8]) -> Result<(Blobs<'t>, u64)> {
    let Segments { bytes: segments, table, base, has_header, .. } = *segments;
    if table.len() != segments.len() {
        let (listed, given) = (counted(table.len(), "segment"), segments.len());
        let reason =
            format!("the tree lists {listed}, but the file has the bytes of {given} (add_segment adds to both)");
        return Err(Error::unwritable(reason));
    }
    let source = segment::cut(background, base, table);
    let mut source = source.iter().chain(core::iter::repeat(&Segment::Absent));
    let mut blobs = Vec::new();
    let mut data_end = 0;
    for (index, (entry, segment)) in table.iter().zip(segments).enumerate() {
        let as_it_was = source.next().is_some_and(|source| source.is_the_same(segment)) && !background.is_empty();
        match segment {
            Segment::Absent if as_it_was || entry.size == 0 || !has_header => continue,
            Segment::Absent => return Err(Error::new(ErrorKind::Absent(index as u32))),
            _ if entry.size > 0 && !has_header => {
                let reason =
                    format!("segment {index} has bytes, but without a header it is not known where they start");
                return Err(Error::unwritable(reason));
            }
            _ => {}
        }
        let start = base.checked_add(entry.offset);
        let end = start.and_then(|start| start.checked_add(entry.size));
        let (Some(start), Some(_)) = (start, end) else {
            return Err(Error::unwritable(format!("segment {index} ends past 2^64 bytes")));
        };
        for (offset, bytes) in segment.parts() {
            if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > entry.size) {
                let (len, size) = (counted(bytes.len(), "byte"), counted(entry.size, "byte"));
                let reason =
                    format!("a part of {len} at offset {offset} of segment {index} exceeds the segment's {size}");
                return Err(Error::unwritable(reason));
            }
            blobs.push((start + offset, bytes));
        }
        // An empty segment takes no space.
        if entry.size > 0 && !as_it_was {
            data_end = data_end.max(start + segment.len());
        }
    }
    if !blobs.is_sorted_by_key(|(offset, _)| *offset) {
        blobs.sort_by_key(|left| left.0);
    }
    let mut blobs = without_overlap(blobs)?;
    let is_there = |(offset, bytes): &(u64, &[u8])| {
        let there = usize::try_from(*offset).ok().and_then(|offset| background.get(offset..)?.get(..bytes.len()));
        there.is_some_and(|there| core::ptr::eq(there, *bytes))
    };
    blobs.retain(|blob| !is_there(blob));
    Ok((blobs, data_end))
}

fn without_overlap(blobs: Blobs<'_>) -> Result<Blobs<'_>> {
    let end = |(offset, bytes): &(u64, &[u8])| offset + bytes.len() as u64;
    let mut apart: Blobs<'_> = Vec::with_capacity(blobs.len());
    for (offset, bytes) in blobs {
        let (mut offset, mut rest) = (offset, bytes);
        let (_, shared) = apart.split_at(apart.partition_point(|piece| end(piece) <= offset));
        for (start, piece) in shared {
            if rest.is_empty() {
                break;
            }
            // Blobs are in order of their offsets, and pieces have no gaps after the start of this piece.
            let (_, before) = piece.split_at((offset - start) as usize);
            let len = before.len().min(rest.len());
            let ((before, _), (again, after)) = (before.split_at(len), rest.split_at(len));
            if !core::ptr::eq(before, again) && before != again {
                return Err(Error::unwritable(format!("two segments hold different bytes at byte {offset}")));
            }
            (offset, rest) = (offset + len as u64, after);
        }
        if !rest.is_empty() {
            apart.push((offset, rest));
        }
    }
    Ok(apart)
}

/// Creates the image. The metadata ends at `metadata_end` or at the end of its bytes, whichever is later.
fn of<'t>(segments: &Segments<'t, '_>, metadata: Metadata<'t>, metadata_end: u64) -> Result<Image<'t>> {
    // The bytes beneath all blobs: the source file, if its metadata is written unchanged.
    let background: &[u8] = match (&metadata, segments.source) {
        (Metadata::Source(_), Some(source)) if source.whole => &source.bytes,
        _ => &[],
    };
    let (blobs, data_end) = blobs(segments, background)?;
    let base = segments.base;
    let metadata_end = metadata_end.max(metadata.size());
    // Segments inside the metadata of the source stay there.
    let inside = base > 0 && base < metadata_end && background.is_empty();
    if inside || blobs.first().is_some_and(|(offset, _)| *offset < metadata_end) {
        let reason = format!(
            "the metadata takes {metadata_end} bytes, but the segments start at byte {base}: recompute the layout (lay_out)"
        );
        return Err(Error::unwritable(reason));
    }
    let announced = segments.data_size.and_then(|size| base.checked_add(size)).unwrap_or(data_end.max(base));
    if announced < data_end {
        let reason =
            format!("the data ends at byte {announced} according to the header, but a segment ends at byte {data_end}");
        return Err(Error::unwritable(reason));
    }
    let has_data = background.len() as u64 > metadata.size();
    let size = if has_data { (background.len() as u64).max(data_end) } else { announced.max(metadata_end) };
    Ok(Image::new(metadata, background, blobs, size))
}

#[cfg(all(test, target_pointer_width = "64"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::file::pte::Pte;
    use crate::schema::program::{BackendDelegateInlineData, Program};
    use alloc::{string::ToString, vec};

    /// The zeros are never touched, so they take no memory. The test is not in `tests`, where a counting allocator would touch them.
    #[test]
    fn a_program_over_2_gib_is_rejected_before_it_is_built() {
        let data = Some(vec![0; 1 << 31].into());
        let program =
            Program { backend_delegate_data: Some(vec![BackendDelegateInlineData { data }]), ..Program::default() };
        let error = Pte { program, ..Pte::default() }.image().err().unwrap();
        assert_eq!(error.path(), "backend_delegate_data[0].data");
        assert!(error.to_string().contains("more than 2147483647 bytes"), "{error}");
    }
}

impl Model<'_> {
    /// Returns the file, ready to be written: see [`Pte::image`]. A trace can only be written unchanged.
    ///
    /// Fails as the `image` of the file's kind does, and with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) for a trace that was
    /// changed or not read from a file.
    pub fn image(&self) -> Result<Image<'_>> {
        each_file!(self, file => file.image())
    }
}
