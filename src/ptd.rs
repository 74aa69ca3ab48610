//! A `.ptd` file: its header, its keys, its segments.

use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::{self, Limits};
use crate::header::{self, Extent, FileKind, Header, PtdHeader};
use crate::key_index::KeyIndex;
use crate::schema::flat_tensor::{FlatTensor, FlatTensorParser, TensorMetadata};
use crate::schema::{DataSegment, ScalarType};
use crate::segment::{self, DataRef, Segment};
use crate::tensor::{self, TensorView};
use crate::write::layout::FileLayout;
use alloc::{format, vec::Vec};

/// A `.ptd` file, under any of its schemas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ptd<'a> {
    /// The header: official writers always put one.
    pub header: Option<PtdHeader>,
    /// The keys.
    pub flat_tensor: FlatTensor<'a>,
    /// The bytes of each of `flat_tensor.segments`; absent for one that leaves the file or was not given.
    pub segments: Vec<Segment<'a>>,
    /// How it is written, apart from what the header says: reading leaves the default, see `detect_layout`.
    pub layout: FileLayout,
    /// Whether the segments' bytes were given too, or just the metadata.
    pub whole: bool,
    /// How many tables have fields that this crate's schema does not know, and so were not read.
    pub newer_tables: u32,
}

/// One key of a `.ptd` file, under any of its schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The key; `None` in a damaged file.
    pub key: Option<&'t str>,
    /// What the bytes are, if they are a tensor.
    pub layout: Option<Layout<'t>>,
    /// Index into `segments`.
    pub segment_index: u32,
    /// Bytes from the segment's start: 0 but in files of ExecuTorch 0.5 and 0.6.
    pub offset: u64,
}

/// The type and shape of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<'t> {
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The size of each dimension, in elements.
    pub sizes: &'t [i32],
    /// The dimensions, outermost first.
    pub dim_order: &'t [u8],
}

impl<'a> Ptd<'a> {
    /// Reads a file: checks its structure and decodes its keys. The bytes of weights stay where they are.
    ///
    /// Fails where the bytes are another kind of file, are cut off, or break a rule of structure.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &Limits::default())
    }

    /// The same, within limits of your own.
    pub fn parse_with(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        Self::decode(bytes, limits, true)
    }

    /// Reads the keys from the bytes that [`probe`](crate::probe) calls metadata. The segments are absent then.
    pub fn parse_metadata(bytes: &'a [u8]) -> Result<Self> {
        Self::decode(bytes, &Limits::default(), false)
    }

    /// Checks a file's structure and nothing else: the same rules as [`parse`](Self::parse), and the same first error,
    /// without building or allocating anything.
    pub fn check(bytes: &[u8]) -> Result<()> {
        Self::check_with(bytes, &Limits::default())
    }

    /// The same, within limits of your own.
    pub fn check_with(bytes: &[u8], limits: &Limits) -> Result<()> {
        let probe = header::probe_as(bytes, Some(FileKind::Ptd))?;
        read::check(FlatTensorParser::default(), header::metadata(bytes, &probe, true)?, limits)
    }

    fn decode(bytes: &'a [u8], limits: &Limits, whole: bool) -> Result<Self> {
        let probe = header::probe_as(bytes, Some(FileKind::Ptd))?;
        let metadata = header::metadata(bytes, &probe, whole)?;
        let (flat_tensor, newer_tables) = read::decode(FlatTensorParser::default(), metadata, limits)?;
        let header = match probe.header {
            Some(Header::Ptd(header)) => Some(header),
            _ => None,
        };
        let file = if whole { bytes } else { &[] };
        let base = header.map_or(0, |header| header.segment_base_offset);
        let segments = segment::cut(file, base, flat_tensor.segments.as_deref());
        Ok(Self { header, flat_tensor, segments, layout: FileLayout::default(), whole, newer_tables })
    }

    /// The same, independent of the input.
    pub fn into_owned(self) -> Ptd<'static> {
        Ptd {
            header: self.header,
            flat_tensor: self.flat_tensor.into_owned(),
            segments: self.segments.into_iter().map(Segment::into_owned).collect(),
            layout: self.layout,
            whole: self.whole,
            newer_tables: self.newer_tables,
        }
    }

    fn table(&self) -> Option<&[DataSegment]> {
        self.flat_tensor.segments.as_deref()
    }

    /// Where the segments start in the file.
    pub fn segment_base_offset(&self) -> u64 {
        self.header.map_or(0, |header| header.segment_base_offset)
    }

    /// All keys, in the file's order: in files of ExecuTorch 0.5 and 0.6 the tensors, then the blobs.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let legacy = self.flat_tensor.legacy.as_ref().and_then(|legacy| legacy.tensors.as_deref());
        let tensors = legacy.unwrap_or_default().iter().map(Entry::from_legacy);
        let named = self.flat_tensor.named_data.as_deref().unwrap_or_default().iter().map(|named| Entry {
            key: named.key.as_deref(),
            layout: named.tensor_layout.as_ref().map(|layout| Layout {
                scalar_type: layout.scalar_type,
                sizes: layout.sizes(),
                dim_order: layout.dim_order(),
            }),
            segment_index: named.segment_index,
            offset: 0,
        });
        tensors.chain(named)
    }

    /// The entry with that index in [`entries`](Self::entries).
    pub fn entry(&self, index: usize) -> Option<Entry<'_>> {
        self.entries().nth(index)
    }

    /// The entry with that key, by a look at each: for many look-ups, take [`index`](Self::index).
    pub fn get(&self, key: &str) -> Option<Entry<'_>> {
        self.entries().find(|entry| entry.key == Some(key))
    }

    /// The keys in order, for look-ups: indices for [`entry`](Self::entry).
    pub fn index(&self) -> KeyIndex<'_> {
        KeyIndex::new(self.entries().map(|entry| entry.key))
    }

    /// Every index of a segment leads to one, and every key is there once.
    pub(crate) fn check_references(&self) -> Result<()> {
        for (index, entry) in self.entries().enumerate() {
            self.place(&entry).map_err(|error| error.in_item(index).in_field("named_data"))?;
        }
        self.index().check_unique().map_err(|error| error.in_field("named_data"))
    }

    /// The bytes of segment `index`.
    ///
    /// Fails with [`ErrorKind::Reference`] where there is no such segment or it leaves the file, and with
    /// [`ErrorKind::Absent`] where only the metadata was given.
    pub fn segment(&self, index: u32) -> Result<&[u8]> {
        let size = self.table().and_then(|table| table.get(index as usize)).map_or(0, |segment| segment.size);
        segment::bytes(&self.segments, self.table(), (index, 0, size), self.whole)
    }

    /// Where an entry's bytes are: the whole segment, or a tensor of an early file inside its own.
    ///
    /// Fails with [`ErrorKind::Reference`] where it leads nowhere, and with [`ErrorKind::Tensor`] where the size of an
    /// early file's tensor cannot be told.
    pub fn data(&self, entry: &Entry<'_>) -> Result<DataRef> {
        let (index, offset, size) = self.place(entry)?;
        Ok(DataRef::Segment { index, offset, size })
    }

    fn place(&self, entry: &Entry<'_>) -> Result<(u32, u64, u64)> {
        let index = entry.segment_index;
        let table = self.table().unwrap_or_default();
        let Some(segment) = table.get(index as usize) else {
            let found = format!("segment {index}, but there are {}", table.len());
            return Err(Error::new(ErrorKind::Reference(found.into())));
        };
        let size = match &entry.layout {
            Some(layout) if self.flat_tensor.legacy.is_some() => layout.byte_size()?,
            _ => segment.size,
        };
        Ok((index, entry.offset, size))
    }

    /// An entry's bytes, exactly: no padding.
    ///
    /// Fails as [`data`](Self::data) and [`segment`](Self::segment) do.
    pub fn bytes(&self, entry: &Entry<'_>) -> Result<&[u8]> {
        segment::bytes(&self.segments, self.table(), self.place(entry)?, self.whole)
    }

    /// Where an entry's bytes lie in the file; `None` where it leads nowhere.
    pub fn extent(&self, entry: &Entry<'_>) -> Option<Extent> {
        let (index, offset, size) = self.place(entry).ok()?;
        segment::extent(self.segment_base_offset(), self.table(), index, offset, size)
    }

    /// An entry as a tensor, if it has a layout.
    ///
    /// Fails as [`bytes`](Self::bytes) does, and with [`ErrorKind::Tensor`] where layout and bytes differ in size.
    pub fn tensor_view<'t>(&'t self, entry: &Entry<'t>) -> Result<Option<TensorView<'t>>> {
        let Some(layout) = entry.layout else {
            return Ok(None);
        };
        let bytes = self.bytes(entry)?;
        let size = layout.byte_size()?;
        if bytes.len() as u64 != size {
            let found = format!("its layout takes {size} bytes, but there are {}", bytes.len());
            return Err(Error::new(ErrorKind::Tensor(found.into())));
        }
        let Layout { scalar_type, sizes, dim_order } = layout;
        Ok(Some(TensorView { scalar_type, sizes, dim_order, bytes }))
    }
}

impl Layout<'_> {
    /// The bytes that its elements take; see [`byte_size`](crate::byte_size).
    pub fn byte_size(&self) -> Result<u64> {
        tensor::byte_size(self.scalar_type, self.sizes)
    }
}

impl<'t> Entry<'t> {
    fn from_legacy(tensor: &'t TensorMetadata<'_>) -> Self {
        Self {
            key: tensor.fully_qualified_name.as_deref(),
            layout: Some(Layout {
                scalar_type: tensor.scalar_type,
                sizes: tensor.sizes.as_deref().unwrap_or_default(),
                dim_order: tensor.dim_order.as_deref().unwrap_or_default(),
            }),
            segment_index: tensor.segment_index,
            offset: tensor.offset,
        }
    }
}
