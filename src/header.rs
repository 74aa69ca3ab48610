//! What stands before the FlatBuffer: the identifier and the extended header, for both kinds of file.

use crate::error::{Error, ErrorKind, Result};
use alloc::{borrow::Cow, format};

/// The two kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A program.
    Pte,
    /// Named tensors and blobs.
    Ptd,
}

impl FileKind {
    /// The file name's usual ending, with its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pte => ".pte",
            Self::Ptd => ".ptd",
        }
    }
}

/// The extended header of a `.pte` file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PteHeader {
    /// Bytes of the header, its magic and this field included: 24 up to ExecuTorch 0.7, 32 since; what a longer one
    /// holds behind is not known.
    pub length: u32,
    /// Bytes of the program, from the start of the file.
    pub program_size: u64,
    /// Where the segments start, in bytes from the start of the file; 0 where there are none.
    pub segment_base_offset: u64,
    /// Bytes of all segments with their padding; `None` in a header too short to say.
    pub segment_data_size: Option<u64>,
}

/// The header of a `.ptd` file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PtdHeader {
    /// Bytes of the header, its magic and this field included: 40.
    pub length: u32,
    /// The length with its padding, in bytes: as many stand between the FlatBuffer's first 8 bytes and the rest.
    pub flatbuffer_offset: u64,
    /// Bytes of the FlatBuffer before the header was put in.
    pub flatbuffer_size: u64,
    /// Where the segments start, in bytes from the start of the file.
    pub segment_base_offset: u64,
    /// Bytes of all segments with their padding.
    pub segment_data_size: u64,
}

/// The header of either kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Of a `.pte`.
    Pte(PteHeader),
    /// Of a `.ptd`.
    Ptd(PtdHeader),
}

/// A run of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its first byte.
    pub start: u64,
    /// The byte behind its last one; `None` where it goes on to the end of the file.
    pub end: Option<u64>,
}

/// What a file is and where its parts are, as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The kind of file.
    pub kind: FileKind,
    /// The four identifier bytes, such as `ET12`.
    pub identifier: [u8; 4],
    /// The header, if there is one.
    pub header: Option<Header>,
    /// The bytes that [`crate::Pte::parse_metadata`] or [`crate::Ptd::parse_metadata`] need.
    pub metadata: Extent,
    /// The bytes that hold the segments, if there are any.
    pub data: Option<Extent>,
}

/// As many bytes as [`probe`] ever looks at.
pub const PROBE_SIZE: usize = 64;

const PTE_MAGIC: &[u8; 4] = b"eh00";
const PTD_MAGIC: &[u8; 4] = b"FH01";
/// The root offset and the identifier, before the header.
pub(crate) const FLATBUFFER_HEAD: usize = 8;
const PTE_SHORT: u32 = 24;
const PTE_LONG: u32 = 32;
const PTD_LENGTH: u32 = 40;

/// Says what a file is and which bytes hold its metadata and its data, from its first [`PROBE_SIZE`] bytes alone (or all
/// of them, if it is smaller): enough to fetch just those from a slow or distant store.
///
/// Fails with [`ErrorKind::Foreign`] on any other kind of file, named if it is a known neighbour, and with
/// [`ErrorKind::Header`] on a header that contradicts itself.
pub fn probe(first_bytes: &[u8]) -> Result<Probe> {
    probe_as(first_bytes, None)
}

/// The same, for one kind of file.
pub(crate) fn probe_as(bytes: &[u8], expected: Option<FileKind>) -> Result<Probe> {
    let foreign = |found| {
        let expected = expected.map_or(".pte or .ptd", FileKind::extension);
        Err(Error::at(4, ErrorKind::Foreign { expected, found }))
    };
    if let Some(found) = neighbour(bytes) {
        return foreign(found.into());
    }
    let Some(identifier) = chunk::<4>(bytes, 4) else {
        let available = bytes.len() as u64;
        return Err(Error::at(0, ErrorKind::Truncated { what: "the root offset and identifier", end: 8, available }));
    };
    let probe = match &identifier {
        b"ET12" => probe_pte(bytes, identifier)?,
        b"FT01" => probe_ptd(bytes, identifier)?,
        [b'E', b'T', ..] => return foreign(version(&identifier, "ET12")),
        [b'F', b'T', ..] => return foreign(version(&identifier, "FT01")),
        _ => return foreign(format!("unknown identifier '{}'", identifier.escape_ascii()).into()),
    };
    match expected {
        Some(kind) if kind != probe.kind => foreign(format!("a {} file", probe.kind.extension()).into()),
        _ => Ok(probe),
    }
}

fn version(identifier: &[u8; 4], known: &str) -> Cow<'static, str> {
    format!("version {} of the format, expected {known}", identifier.escape_ascii()).into()
}

/// The known formats that are neither of ours.
fn neighbour(bytes: &[u8]) -> Option<&'static str> {
    if chunk(bytes, 4) == Some(*b"BP08") {
        return Some("a bundled program (.bpte): the .pte lies inside it, with test inputs around");
    }
    if chunk(bytes, 8) == Some(*b"ED00") {
        return Some("an ETDump (.etdp), a profile of a run");
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Some("a zip archive, such as a PyTorch checkpoint or a .ptn package");
    }
    if bytes.starts_with(b"GGUF") {
        return Some("a GGUF file");
    }
    if bytes.get(8) == Some(&b'{') && chunk(bytes, 4) == Some([0; 4]) {
        return Some("a safetensors file");
    }
    None
}

fn probe_pte(bytes: &[u8], identifier: [u8; 4]) -> Result<Probe> {
    let whole = Extent { start: 0, end: None };
    let mut probe = Probe { kind: FileKind::Pte, identifier, header: None, metadata: whole, data: None };
    if chunk(bytes, 8) != Some(*PTE_MAGIC) {
        return Ok(probe);
    }
    let length = length(bytes, PTE_SHORT)?;
    let header = PteHeader {
        length,
        program_size: number(bytes, 16)?,
        segment_base_offset: number(bytes, 24)?,
        segment_data_size: if length >= PTE_LONG { Some(number(bytes, 32)?) } else { None },
    };
    if header.program_size < FLATBUFFER_HEAD as u64 {
        return bad(16, format!("the program size is {}, expected at least 8", header.program_size));
    }
    probe.header = Some(Header::Pte(header));
    probe.metadata.end = Some(header.program_size);
    if header.segment_base_offset != 0 {
        let size = header.segment_data_size.filter(|size| *size > 0);
        probe.data = Some(data(header.segment_base_offset, size, header.program_size, 24)?);
    }
    Ok(probe)
}

fn probe_ptd(bytes: &[u8], identifier: [u8; 4]) -> Result<Probe> {
    let whole = Extent { start: 0, end: None };
    let mut probe = Probe { kind: FileKind::Ptd, identifier, header: None, metadata: whole, data: None };
    if chunk(bytes, 8) != Some(*PTD_MAGIC) {
        return Ok(probe);
    }
    let header = PtdHeader {
        length: length(bytes, PTD_LENGTH)?,
        flatbuffer_offset: number(bytes, 16)?,
        flatbuffer_size: number(bytes, 24)?,
        segment_base_offset: number(bytes, 32)?,
        segment_data_size: number(bytes, 40)?,
    };
    if header.flatbuffer_offset < u64::from(header.length) {
        let offset = header.flatbuffer_offset;
        return bad(
            16,
            format!("the flatbuffer offset is {offset}, expected at least the header's {} bytes", header.length),
        );
    }
    let Some(end) = header.flatbuffer_offset.checked_add(header.flatbuffer_size) else {
        return bad(24, "flatbuffer offset and size overflow 64 bits".into());
    };
    probe.header = Some(Header::Ptd(header));
    probe.metadata.end = Some(end);
    if header.segment_base_offset != 0 || header.segment_data_size > 0 {
        probe.data = Some(data(header.segment_base_offset, Some(header.segment_data_size), end, 32)?);
    }
    Ok(probe)
}

/// The header's own length.
fn length(bytes: &[u8], least: u32) -> Result<u32> {
    let length = chunk(bytes, 12).map(u32::from_le_bytes);
    match length {
        Some(length) if length >= least => Ok(length),
        Some(length) => bad(12, format!("its length is {length}, expected at least {least}")),
        None => short(bytes, 16),
    }
}

fn data(base: u64, size: Option<u64>, metadata_end: u64, at: usize) -> Result<Extent> {
    if base < metadata_end {
        return bad(at, format!("the segments start at {base}, inside the metadata that ends at {metadata_end}"));
    }
    match size.map(|size| base.checked_add(size)) {
        Some(None) => bad(at, "segment base offset and data size overflow 64 bits".into()),
        end => Ok(Extent { start: base, end: end.flatten() }),
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u64> {
    chunk(bytes, at).map(u64::from_le_bytes).map_or_else(|| short(bytes, at + 8), Ok)
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
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

/// The FlatBuffer's bytes, which are all there, and `whole` files hold all their data too.
pub(crate) fn metadata<'a>(bytes: &'a [u8], probe: &Probe, whole: bool) -> Result<&'a [u8]> {
    let truncated = |what, end| {
        let available = bytes.len() as u64;
        Err(Error::at(bytes.len(), ErrorKind::Truncated { what, end, available }))
    };
    let header_end = match probe.header {
        Some(Header::Pte(header)) => FLATBUFFER_HEAD as u64 + u64::from(header.length),
        Some(Header::Ptd(header)) => header.flatbuffer_offset.saturating_add(FLATBUFFER_HEAD as u64),
        None => 0,
    };
    let end = probe.metadata.end.unwrap_or(bytes.len() as u64);
    if header_end > end {
        return bad(12, format!("it ends at byte {header_end}, behind the metadata that ends at {end}"));
    }
    let Some(metadata) = usize::try_from(end).ok().and_then(|end| bytes.get(..end)) else {
        return truncated("the FlatBuffer", end);
    };
    if let Some(end) = probe.data.and_then(|data| data.end.or(Some(data.start))).filter(|_| whole) {
        if end > bytes.len() as u64 {
            return truncated("the segment data", end);
        }
    }
    Ok(metadata)
}
