//! `.ptd` files: header, keys, segments.

use super::header::{self, FileKind, Header, PtdHeader};
use super::key_index::KeyIndex;
use super::options::ParseOptions;
use super::segment::{self, DataRef, Segment, Segments};
use super::source::Source;
use super::style::WriteStyle;
use crate::error::{Error, Result, counted};
use crate::flatbuffer::read;
use crate::flatbuffer::text::Text;
use crate::path::{FieldPath, Path};
use crate::schema::flat_tensor::{FlatTensor, FlatTensorParser, NamedData, TensorMetadata};
use crate::tensor::{TensorShape, TensorView};
use alloc::{borrow::Cow, format, vec::Vec};
use core::ops::Range;

/// A `.ptd` file, under any of its schemas: tensors and blobs by key.
///
/// ```
/// use executorch_format::Ptd;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul_external/_default_external_constant.ptd")?;
/// let ptd = Ptd::parse(&file)?;
/// let weight = ptd.get("a").expect("a key of this file");
/// let view = ptd.tensor_view(&weight)?.expect("a tensor");
/// println!("{}: {:?}", view.shape(), view.to_vec::<f32>()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ptd<'a> {
    /// The header. Official writers always write one.
    pub header: Option<PtdHeader>,
    /// The tree: the keys, and the list of segments.
    pub flat_tensor: FlatTensor<'a>,
    /// The bytes of each of `flat_tensor.segments`, in the same order; absent if the segment is outside the file or was not given.
    pub segments: Vec<Segment<'a>>,
    /// The style in which it is written. `None` stands for the style of its source, or that of flatc.
    pub style: Option<WriteStyle>,
    /// The bytes that it was read from, or `None` if it was built in memory.
    pub source: Option<Source<'a>>,
}

/// Compares the trees, headers and data, but not `style` and `source`.
impl PartialEq for Ptd<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header && self.flat_tensor == other.flat_tensor && self.segments == other.segments
    }
}

/// A key of a `.ptd` file with its shape and place, under any of the schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Entry<'t> {
    /// The key, or `None` in a damaged file.
    pub key: Option<&'t Text<'t>>,
    /// The shape, if the entry is a tensor.
    pub shape: Option<TensorShape<'t>>,
    /// Index into `segments`.
    pub segment_index: u32,
    /// The offset from the segment's start in bytes: 0 except in files of ExecuTorch 0.5 and 0.6.
    pub offset: u64,
}

impl<'t> Entry<'t> {
    /// Returns the key, or an empty string if it is absent.
    pub fn key(&self) -> &'t str {
        self.key.map_or("", Text::as_str)
    }

    fn from_named(named: &'t NamedData<'t>) -> Self {
        Self {
            key: named.key.as_ref(),
            shape: named.tensor_layout.as_ref().map(|layout| layout.shape()),
            segment_index: named.segment_index,
            offset: 0,
        }
    }

    fn from_legacy(tensor: &'t TensorMetadata<'t>) -> Self {
        let (scalar_type, sizes, dim_order) = (tensor.scalar_type, tensor.sizes(), tensor.dim_order());
        Self {
            key: tensor.fully_qualified_name.as_ref(),
            shape: Some(TensorShape { scalar_type, sizes, dim_order }),
            segment_index: tensor.segment_index,
            offset: tensor.offset,
        }
    }
}

impl<'a> Ptd<'a> {
    /// Reads a file: checks its structure and decodes its keys. The bytes of weights are borrowed, not copied.
    ///
    /// Fails if the bytes are another kind of file, are truncated, or break a rule of structure.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &ParseOptions::default())
    }

    /// Reads a file with options: custom limits, or the metadata's bytes alone.
    pub fn parse_with(bytes: &'a [u8], options: &ParseOptions) -> Result<Self> {
        let whole = !options.metadata_only;
        let probe = header::probe_as(bytes, Some(FileKind::Ptd))?;
        let metadata = header::metadata(bytes, &probe, options)?;
        let (flat_tensor, seen) = read::decode_at(0, FlatTensorParser::default(), metadata, &options.limits)?;
        let header = match probe.header {
            Some(Header::Ptd(header)) => Some(header),
            _ => None,
        };
        let base = header.map_or(0, |header| header.segment_base_offset);
        let seen = seen.and(flat_tensor.segments().len(), size_of::<Segment<'_>>(), &options.limits)?;
        let segments = segment::cut(if whole { bytes } else { &[] }, base, flat_tensor.segments());
        let source = Source::new(bytes, metadata, options, seen);
        Ok(Self { header, flat_tensor, segments, style: None, source: Some(source) })
    }

    /// Checks only a file's structure: the same rules as [`parse`](Self::parse), with the same first error, but without building or
    /// allocating anything.
    pub fn verify_structure(bytes: &[u8]) -> Result<()> {
        Self::verify_structure_with(bytes, &ParseOptions::default())
    }

    /// Checks only a file's structure, with options.
    pub fn verify_structure_with(bytes: &[u8], options: &ParseOptions) -> Result<()> {
        let probe = header::probe_as(bytes, Some(FileKind::Ptd))?;
        let metadata = header::metadata(bytes, &probe, options)?;
        read::check_at(0, FlatTensorParser::default(), metadata, &options.limits)
    }

    /// Converts it into an owned copy, which outlives the bytes that it was read from.
    pub fn into_owned(self) -> Ptd<'static> {
        Ptd {
            header: self.header,
            flat_tensor: self.flat_tensor.into_owned(),
            segments: segment::into_owned(self.segments),
            style: self.style,
            source: self.source.map(Source::into_owned),
        }
    }

    pub(crate) fn segment_data(&self) -> Segments<'_, 'a> {
        Segments {
            bytes: &self.segments,
            table: self.flat_tensor.segments(),
            base: self.segment_base_offset(),
            has_header: self.header.is_some(),
            data_size: self.header.map(|header| header.segment_data_size),
            source: self.source.as_ref(),
        }
    }

    /// Returns the start of the segments, in bytes from the start of the file.
    pub fn segment_base_offset(&self) -> u64 {
        self.header.map_or(0, |header| header.segment_base_offset)
    }

    /// Returns the tensors of a file of ExecuTorch 0.5 or 0.6.
    fn legacy_tensors(&self) -> &[TensorMetadata<'a>] {
        self.flat_tensor.legacy.as_ref().and_then(|legacy| legacy.tensors.as_deref()).unwrap_or_default()
    }

    /// Returns all keys, in the file's order: in files of ExecuTorch 0.5 and 0.6 the tensors, then the blobs.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let tensors = self.legacy_tensors().iter().map(Entry::from_legacy);
        tensors.chain(self.flat_tensor.named_data().iter().map(Entry::from_named))
    }

    /// Returns the entry with the given index in [`entries`](Self::entries).
    pub fn entry(&self, index: usize) -> Option<Entry<'_>> {
        let tensors = self.legacy_tensors();
        match index.checked_sub(tensors.len()) {
            Some(index) => self.flat_tensor.named_data().get(index).map(Entry::from_named),
            None => tensors.get(index).map(Entry::from_legacy),
        }
    }

    /// Finds the entry with that key by linear search. For many lookups, use [`index`](Self::index).
    pub fn get(&self, key: &str) -> Option<Entry<'_>> {
        let is = |other: &Option<Text<'_>>| other.as_ref().is_some_and(|other| *other == *key);
        match self.legacy_tensors().iter().find(|tensor| is(&tensor.fully_qualified_name)) {
            Some(tensor) => Some(Entry::from_legacy(tensor)),
            None => self.flat_tensor.named_data().iter().find(|named| is(&named.key)).map(Entry::from_named),
        }
    }

    /// Sorts the keys for lookups, with indices for [`entry`](Self::entry).
    pub fn index(&self) -> KeyIndex<'_> {
        let mut keys = Vec::new();
        for (index, entry) in self.entries().enumerate() {
            if let Some(key) = entry.key {
                keys.push((key, index as u32));
            }
        }
        KeyIndex::new(keys)
    }

    /// Checks that the indices of segments are in range and keys are unique.
    pub(crate) fn check_references(&self) -> Result<()> {
        for (index, entry) in self.entries().enumerate() {
            self.entry_data(&entry).map_err(|error| error.in_item(index).in_field("named_data"))?;
        }
        self.index().check_unique().map_err(|error| error.in_field("named_data"))
    }

    /// Returns the bytes of segment `index`. They are borrowed, unless the segment consists of several parts.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the segment does not exist or is not inside the file, and
    /// with [`ErrorKind::Absent`](crate::ErrorKind::Absent) if only the metadata was given.
    pub fn segment(&self, index: u32) -> Result<Cow<'_, [u8]>> {
        self.segment_data().whole_segment(index)
    }

    /// Checks that the segment exists and was given. Fails as [`segment`](Self::segment) does.
    pub(crate) fn check_segment(&self, index: u32) -> Result<()> {
        self.segment_data().check(index)
    }

    /// Returns the number of bytes that a reference points to. If only the metadata was given, it includes bytes that were not given.
    ///
    /// Fails as [`bytes`](Self::bytes) does.
    pub(crate) fn data_size(&self, data: &DataRef) -> Result<u64> {
        match *data {
            DataRef::Segment { index, offset, size } => self.segment_data().check_range(index, offset, size)?,
            _ => drop(self.bytes(data)?),
        }
        Ok(data.size())
    }

    /// Returns the place of an entry's bytes: the whole segment or, in files of ExecuTorch 0.5 and 0.6, a tensor inside its segment.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the segment is out of range, and with
    /// [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the size of such a tensor is unknown.
    pub fn entry_data(&self, entry: &Entry<'_>) -> Result<DataRef> {
        let index = entry.segment_index;
        let table = self.flat_tensor.segments();
        let Some(segment) = table.get(index as usize) else {
            let found = counted(table.len(), "segment");
            return Err(Error::reference(format!("segment {index} does not exist: the file has {found}")));
        };
        let size = match &entry.shape {
            Some(shape) if self.flat_tensor.legacy.is_some() => shape.byte_size()?,
            _ => segment.size,
        };
        Ok(DataRef::Segment { index, offset: entry.offset, size })
    }

    /// Returns an entry's bytes, without padding.
    ///
    /// Fails as [`entry_data`](Self::entry_data) and [`segment`](Self::segment) do.
    pub fn entry_bytes(&self, entry: &Entry<'_>) -> Result<&[u8]> {
        self.bytes(&self.entry_data(entry)?)
    }

    /// Returns the bytes that a reference points to, without padding.
    ///
    /// Fails as [`segment`](Self::segment) does, and with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if they are
    /// out of range.
    pub fn bytes(&self, data: &DataRef) -> Result<&[u8]> {
        match *data {
            DataRef::Segment { index, offset, size } => self.segment_data().bytes(index, offset, size),
            other => Err(Error::reference(format!("{other}, but a .ptd has only segments"))),
        }
    }

    /// Returns the path in the tree of the entry with the given index.
    pub(crate) fn entry_path(&self, index: usize) -> FieldPath {
        let (list, index) = match index.checked_sub(self.legacy_tensors().len()) {
            Some(index) => ("named_data", index),
            None => ("tensors", index),
        };
        Path::ROOT.item(list, index).to_field_path()
    }

    /// Returns the range in the file that a reference points to, or `None` if it is out of range. If only the metadata was given, it is
    /// checked against the file's size only with [`ParseOptions::file_size`].
    pub fn range(&self, data: &DataRef) -> Option<Range<u64>> {
        match *data {
            DataRef::Segment { index, offset, size } => self.segment_data().range(index, offset, size),
            _ => None,
        }
    }

    /// Returns an entry as a tensor, if it has a shape.
    ///
    /// Fails as [`entry_bytes`](Self::entry_bytes) does, and with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if shape and bytes
    /// differ in size.
    pub fn tensor_view<'t>(&'t self, entry: &Entry<'t>) -> Result<Option<TensorView<'t>>> {
        let Some(shape) = entry.shape else {
            return Ok(None);
        };
        TensorView::new(shape, self.entry_bytes(entry)?).map(Some)
    }

    /// Returns the range of bytes at the end of the file that it does not refer to, as [`Pte::trailing_bytes`](crate::Pte::trailing_bytes)
    /// does.
    pub fn trailing_bytes(&self) -> Range<u64> {
        let trailing = self.segment_data().trailing();
        match self.source.as_ref().filter(|_| trailing.is_empty() && self.header.is_some()) {
            Some(source) if source.metadata_size == source.bytes.len() as u64 => {
                source.trailing(0, self.flat_tensor.root())
            }
            _ => trailing,
        }
    }
}
