//! The bytes before the FlatBuffer's tables: the identifier of every kind of file, and the extended header of `.pte` and `.ptd` files.
//!
//! | bytes | `.pte` | `.ptd` |
//! |---|---|---|
//! | 0..4 | u32 offset of the root table | the same |
//! | 4..8 | `ET12` | `FT01` |
//! | 8..12 | `eh00`, or no header | `FH01`, or no header |
//! | 12..16 | u32 length of the header, from byte 8 on: 24, or 32 since ExecuTorch 1.0 | u32 length: 40 |
//! | 16..24 | u64 program size, from byte 0 | u64 flatbuffer offset |
//! | 24..32 | u64 segment base offset | u64 flatbuffer size |
//! | 32..40 | u64 segment data size, where the length is at least 32 | u64 segment base offset |
//! | 40..48 | | u64 segment data size |

use super::foreign;
use super::options::ParseOptions;
use crate::error::{Error, ErrorKind, Result, counted};
use crate::flatbuffer::write::HEAD_SIZE;
use alloc::{format, vec, vec::Vec};
use core::ops::Range;

/// The kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum FileKind {
    /// A program: a `.pte` file.
    Pte,
    /// Named tensors and blobs: a `.ptd` file.
    Ptd,
    /// A bundled program, a `.pte` with test cases: a `.bpte` file.
    Bpte,
    /// An ETDump, a profile of runs: an `.etdp` file.
    Etdp,
    /// An XNNPACK payload in a file of its own.
    Xnnpack,
}

impl FileKind {
    /// Returns the four identifier bytes that official writers use today, such as `ET12`.
    pub fn identifier(self) -> &'static str {
        match self {
            Self::Pte => "ET12",
            Self::Ptd => "FT01",
            Self::Bpte => "BP08",
            Self::Etdp => "ED00",
            Self::Xnnpack => "XH00",
        }
    }

    /// Returns the usual extension of file names, with its dot. For a payload, it is the extension that `pte extract` uses.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pte => ".pte",
            Self::Ptd => ".ptd",
            Self::Bpte => ".bpte",
            Self::Etdp => ".etdp",
            Self::Xnnpack => ".payload",
        }
    }

    /// Describes the file, for an error about a file of another kind.
    pub(crate) fn as_found(self) -> &'static str {
        match self {
            Self::Pte => "a .pte file",
            Self::Ptd => "a .ptd file",
            Self::Bpte => "a bundled program (.bpte): a .pte with test inputs around it",
            Self::Etdp => "an ETDump (.etdp), a profile of a run",
            Self::Xnnpack => "an XNNPACK payload, extracted from a .pte",
        }
    }
}

impl core::fmt::Display for FileKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.extension())
    }
}

/// The identifier of a program.
pub(crate) const PTE_IDENTIFIER: &[u8; 4] = b"ET12";
/// The identifier of named tensors.
pub(crate) const PTD_IDENTIFIER: &[u8; 4] = b"FT01";
/// The identifier of a bundled program.
pub(crate) const BPTE_IDENTIFIER: &[u8; 4] = b"BP08";
/// The identifiers of an XNNPACK payload: that of its header, and those of a FlatBuffer without a header.
pub(crate) const XNNPACK_IDENTIFIERS: [&[u8; 4]; 3] = [b"XH00", b"XN01", b"XN00"];
/// The identifier of an ETDump, which follows a size prefix: at byte 8.
const ETDP_IDENTIFIER: &[u8; 4] = b"ED00";
const PTE_MAGIC: &[u8; 4] = b"eh00";
const PTD_MAGIC: &[u8; 4] = b"FH01";

/// The extended header of a `.pte` file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PteHeader {
    /// The length of the header in bytes, including its magic and this field: 24 up to ExecuTorch 0.7, 32 since then. The contents of a
    /// longer header are unknown.
    pub length: u32,
    /// The size of the program in bytes, from the start of the file.
    pub program_size: u64,
    /// The start of the segments, in bytes from the start of the file, or 0 without segments.
    pub segment_base_offset: u64,
    /// The size of all segments with their padding, in bytes, or `None` if the header is too short to contain it.
    pub segment_data_size: Option<u64>,
}

impl PteHeader {
    /// The length up to ExecuTorch 0.7.
    pub const SHORT: u32 = 24;
    /// The length since ExecuTorch 1.0.
    pub const LONG: u32 = 32;
}

/// The header of a `.ptd` file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PtdHeader {
    /// The length of the header in bytes, including its magic and this field: 40.
    pub length: u32,
    /// The length with its padding, in bytes: the number of bytes between the FlatBuffer's first 8 bytes and the rest.
    pub flatbuffer_offset: u64,
    /// The size of the FlatBuffer before the header was inserted, in bytes.
    pub flatbuffer_size: u64,
    /// The start of the segments, in bytes from the start of the file.
    pub segment_base_offset: u64,
    /// The size of all segments with their padding, in bytes.
    pub segment_data_size: u64,
}

impl PtdHeader {
    /// The length that official writers write.
    pub const LENGTH: u32 = 40;
}

/// The header of a `.pte` or `.ptd` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Header {
    /// The header of a `.pte` file.
    Pte(PteHeader),
    /// The header of a `.ptd` file.
    Ptd(PtdHeader),
}

/// The kind of a file and the places of its parts, according to its first bytes: see [`probe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Probe {
    /// The kind of file.
    pub kind: FileKind,
    /// The four identifier bytes, such as `ET12`.
    pub identifier: [u8; 4],
    /// The header, if the file has one.
    pub header: Option<Header>,
}

impl Probe {
    /// Returns the range of bytes that [`Pte::parse_with`](crate::Pte::parse_with) or [`Ptd::parse_with`](crate::Ptd::parse_with) need
    /// to read the metadata alone. Without a header, it is the whole file, of `file_size` bytes.
    ///
    /// Fails with [`ErrorKind::Header`] if the file is smaller than its header states, because it is damaged or cut off.
    pub fn metadata(&self, file_size: u64) -> Result<Range<u64>> {
        let fields = match self.header {
            None => return Ok(0..file_size),
            Some(Header::Pte(header)) => [(16, "program_size", header.program_size); 2],
            Some(Header::Ptd(header)) => {
                [(16, "flatbuffer_offset", header.flatbuffer_offset), (24, "flatbuffer_size", header.flatbuffer_size)]
            }
        };
        let end = self.metadata_end().unwrap_or(file_size);
        for (at, field, size) in fields {
            if size > file_size || at == 24 && end > file_size {
                return bad(at, outside(field, size, "the FlatBuffer", end, file_size));
            }
        }
        Ok(0..end)
    }

    /// Returns the range of bytes that holds the segments, if the file has any. An old header does not state their end: they extend to
    /// the end of the file.
    ///
    /// Fails with [`ErrorKind::Header`] if the file, of `file_size` bytes, is smaller than its header states.
    pub fn data(&self, file_size: u64) -> Result<Option<Range<u64>>> {
        let Some((base, size)) = self.segments() else {
            return Ok(None);
        };
        // The place of the segment base offset in the header, which the segment data size follows.
        let at = if matches!(self.header, Some(Header::Ptd(_))) { 32 } else { 24 };
        let end = base.saturating_add(size.unwrap_or_default());
        if base > file_size {
            return bad(at, outside("segment_base_offset", base, "the segment data", end, file_size));
        }
        if end > file_size {
            // Without a size, the end is the base, which was checked above.
            let size = size.unwrap_or_default();
            return bad(at + 8, outside("segment_data_size", size, "the segment data", end, file_size));
        }
        Ok(Some(base..size.map_or(file_size, |_| end)))
    }

    /// Returns the end of the metadata, if the header states it.
    pub(crate) fn metadata_end(&self) -> Option<u64> {
        Some(match self.header? {
            Header::Pte(header) => header.program_size,
            Header::Ptd(header) => header.flatbuffer_offset.saturating_add(header.flatbuffer_size),
        })
    }

    /// Returns the segment base offset, and the segment data size if the header states it.
    fn segments(&self) -> Option<(u64, Option<u64>)> {
        match self.header? {
            Header::Pte(PteHeader { segment_base_offset: 0, .. }) => None,
            Header::Pte(header) => {
                Some((header.segment_base_offset, header.segment_data_size.filter(|size| *size > 0)))
            }
            Header::Ptd(PtdHeader { segment_base_offset: 0, segment_data_size: 0, .. }) => None,
            Header::Ptd(header) => Some((header.segment_base_offset, Some(header.segment_data_size))),
        }
    }
}

/// The largest number of bytes that [`probe`] reads.
pub const PROBE_SIZE: usize = 64;

/// Identifies a file and finds its metadata and its data. It needs only the first [`PROBE_SIZE`] bytes, or all bytes of a smaller
/// file.
///
/// A reader of remote storage can therefore fetch only these bytes and then, with a second request, the metadata. If the first
/// request is large enough to include the metadata, the second is not needed: a program without large inline constants has a few
/// hundred KiB of metadata.
///
/// ```
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
/// let probe = executorch_format::probe(&file[..executorch_format::PROBE_SIZE])?;
/// assert_eq!(probe.metadata(file.len() as u64)?, 0..1464);
/// // A header that states more bytes than the file has is an error, so these bytes are never requested.
/// assert!(probe.metadata(1000).is_err());
/// # Ok(())
/// # }
/// ```
///
/// Fails with [`ErrorKind::Foreign`] if the bytes are another kind of file, which the error names if possible, and with
/// [`ErrorKind::Header`] if the header contradicts itself.
pub fn probe(first_bytes: &[u8]) -> Result<Probe> {
    probe_as(first_bytes, None)
}

/// Probes a file of the `expected` kind.
pub(crate) fn probe_as(bytes: &[u8], expected: Option<FileKind>) -> Result<Probe> {
    let name = expected.map_or(".pte, .ptd, .bpte or .etdp", FileKind::extension);
    let Some(identifier) = chunk::<4>(bytes, 4) else {
        return Err(foreign::error(bytes, name));
    };
    let probe = match &identifier {
        PTE_IDENTIFIER => probe_pte(bytes, identifier)?,
        PTD_IDENTIFIER => probe_ptd(bytes, identifier)?,
        BPTE_IDENTIFIER => Probe { kind: FileKind::Bpte, identifier, header: None },
        found if XNNPACK_IDENTIFIERS.contains(&found) => Probe { kind: FileKind::Xnnpack, identifier, header: None },
        _ if chunk(bytes, 8) == Some(*ETDP_IDENTIFIER) => {
            Probe { kind: FileKind::Etdp, identifier: *ETDP_IDENTIFIER, header: None }
        }
        _ => return Err(foreign::error(bytes, name)),
    };
    match expected {
        Some(kind) if kind != probe.kind => {
            let found = probe.kind.as_found();
            Err(Error::at(4, ErrorKind::foreign(name, found)))
        }
        _ => Ok(probe),
    }
}

fn probe_pte(bytes: &[u8], identifier: [u8; 4]) -> Result<Probe> {
    let mut probe = Probe { kind: FileKind::Pte, identifier, header: None };
    if chunk(bytes, 8) != Some(*PTE_MAGIC) {
        return Ok(probe);
    }
    let length = length(bytes, PteHeader::SHORT)?;
    let header = PteHeader {
        length,
        program_size: number(bytes, 16)?,
        segment_base_offset: number(bytes, 24)?,
        segment_data_size: if length >= PteHeader::LONG { Some(number(bytes, 32)?) } else { None },
    };
    if header.program_size < HEAD_SIZE as u64 {
        return bad(16, format!("the program size is {}, expected at least {HEAD_SIZE}", header.program_size));
    }
    probe.header = Some(Header::Pte(header));
    check_segments(&probe, 24)?;
    Ok(probe)
}

fn probe_ptd(bytes: &[u8], identifier: [u8; 4]) -> Result<Probe> {
    let mut probe = Probe { kind: FileKind::Ptd, identifier, header: None };
    if chunk(bytes, 8) != Some(*PTD_MAGIC) {
        return Ok(probe);
    }
    let header = PtdHeader {
        length: length(bytes, PtdHeader::LENGTH)?,
        flatbuffer_offset: number(bytes, 16)?,
        flatbuffer_size: number(bytes, 24)?,
        segment_base_offset: number(bytes, 32)?,
        segment_data_size: number(bytes, 40)?,
    };
    if header.flatbuffer_offset.checked_add(header.flatbuffer_size).is_none() {
        return bad(24, "the sum of the flatbuffer offset and size overflows 64 bits".into());
    }
    probe.header = Some(Header::Ptd(header));
    check_segments(&probe, 32)?;
    Ok(probe)
}

/// Checks that the end of the segments does not overflow. `at` is the offset of the segment base offset in the file.
fn check_segments(probe: &Probe, at: usize) -> Result<()> {
    match probe.segments() {
        Some((base, Some(size))) if base.checked_add(size).is_none() => {
            bad(at, "the sum of the segment base offset and data size overflows 64 bits".into())
        }
        _ => Ok(()),
    }
}

/// Returns the length that the header states for itself.
fn length(bytes: &[u8], least: u32) -> Result<u32> {
    let length = chunk(bytes, 12).map(u32::from_le_bytes);
    match length {
        Some(length) if length >= least => Ok(length),
        Some(length) => bad(12, format!("its length is {length}, expected at least {least}")),
        None => short(bytes, 16),
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u64> {
    chunk(bytes, at).map(u64::from_le_bytes).map_or_else(|| short(bytes, at + 8), Ok)
}

pub(crate) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cold]
fn outside(field: &str, value: u64, what: &str, end: u64, file_size: u64) -> alloc::string::String {
    let size = counted(file_size, "byte");
    format!("{field} is {value}, so that {what} would end at byte {end}, but the file has {size}")
}

#[cold]
fn bad<T>(at: usize, found: alloc::string::String) -> Result<T> {
    Err(Error::at(at, ErrorKind::Header(found.into())))
}

#[cold]
fn short<T>(bytes: &[u8], end: usize) -> Result<T> {
    let available = bytes.len() as u64;
    Err(Error::at(8, ErrorKind::Truncated { what: "the extended header", end: end as u64, available }))
}

/// Returns the bytes of the FlatBuffer. Fails if some are missing, if the whole file is given and some of the data is missing, and
/// if the file's size is given and the header states a larger size.
pub(crate) fn metadata<'a>(bytes: &'a [u8], probe: &Probe, options: &ParseOptions) -> Result<&'a [u8]> {
    let whole = !options.metadata_only;
    if let Some(file_size) = options.file_size.filter(|_| !whole) {
        probe.metadata(file_size)?;
        probe.data(file_size)?;
    }
    let truncated = |what, end| {
        let available = bytes.len() as u64;
        Err(Error::at(bytes.len(), ErrorKind::Truncated { what, end, available }))
    };
    let end = probe.metadata_end().unwrap_or(bytes.len() as u64);
    let Some(metadata) = usize::try_from(end).ok().and_then(|end| bytes.get(..end)) else {
        return truncated("the FlatBuffer", end);
    };
    if let Some((base, size)) = probe.segments().filter(|_| whole) {
        let end = base.saturating_add(size.unwrap_or_default());
        if end > bytes.len() as u64 {
            return truncated("the segment data", end);
        }
    }
    Ok(metadata)
}

impl PteHeader {
    /// Writes the header into `room`, which follows the FlatBuffer's first 8 bytes.
    pub(crate) fn put(&self, room: &mut [u8], program_size: u64) -> Result<()> {
        let mut numbers = vec![program_size, self.segment_base_offset];
        numbers.extend(self.segment_data_size);
        put(room, PTE_MAGIC, self.length, &numbers)
    }
}

impl PtdHeader {
    /// Writes the header into `room`, which follows the FlatBuffer's first 8 bytes.
    pub(crate) fn put(&self, room: &mut [u8], flatbuffer_size: u64) -> Result<()> {
        let offset = room.len() as u64;
        let numbers = [offset, flatbuffer_size, self.segment_base_offset, self.segment_data_size];
        put(room, PTD_MAGIC, self.length, &numbers)
    }
}

fn put(room: &mut [u8], magic: &[u8; 4], length: u32, numbers: &[u64]) -> Result<()> {
    let mut fields = Vec::from(*magic);
    fields.extend_from_slice(&length.to_le_bytes());
    for number in numbers {
        fields.extend_from_slice(&number.to_le_bytes());
    }
    match room.get_mut(..fields.len()) {
        Some(place) if fields.len() <= length as usize => {
            place.copy_from_slice(&fields);
            Ok(())
        }
        _ => Err(Error::unwritable(format!(
            "the header's fields take {} bytes, but its length is {length}",
            fields.len()
        ))),
    }
}
