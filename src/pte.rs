//! A `.pte` file: its header, its program, its segments, and where everything's bytes are.

use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::{self, Limits, TableParser};
use crate::header::{self, Extent, FileKind, Header, PteHeader};
use crate::key_index::KeyIndex;
use crate::schema::Program;
use crate::schema::program::{
    AllocationDetails, BackendDelegate, BackendDelegateDataReference, DataLocation, ExecutionPlan, KernelTypes,
    NamedData, SubsegmentOffsets, Tensor, TensorDataLocation,
};
use crate::segment::{self, DataRef, Segment};
use crate::tensor::TensorView;
use crate::write::layout::FileLayout;
use alloc::{borrow::Cow, format, vec::Vec};

/// A `.pte` file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pte<'a> {
    /// The extended header, if there is one.
    pub header: Option<PteHeader>,
    /// The program.
    pub program: Program<'a>,
    /// The bytes of each of `program.segments`; absent for one that leaves the file or was not given.
    pub segments: Vec<Segment<'a>>,
    /// How it is written, apart from what the header says: reading leaves the default, see `detect_layout`.
    pub layout: FileLayout,
    /// Whether the segments' bytes were given too, or just the program's.
    pub whole: bool,
    /// How many tables have fields that this crate's schema does not know, and so were not read.
    pub newer_tables: u32,
}

/// Where a tensor's data is, with the rule of [`Pte::tensor_data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorData<'t> {
    /// Given at run time.
    None,
    /// In planned memory.
    Planned(AllocationDetails),
    /// A constant.
    Constant(DataRef),
    /// The initial state of a mutable tensor.
    Mutable(DataRef),
    /// In a `.ptd` file, under this key.
    External(&'t str),
}

impl<'a> Pte<'a> {
    /// Reads a file: checks its structure and decodes its program. The bytes of weights stay where they are.
    ///
    /// Fails where the bytes are another kind of file, are cut off, or break a rule of structure. Whether the program
    /// makes sense is another question: see [`validate`](crate::validate).
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &Limits::default())
    }

    /// The same, within limits of your own.
    pub fn parse_with(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        Self::decode(bytes, limits, true)
    }

    /// Reads the program from the bytes that [`probe`](crate::probe) calls metadata. The segments are absent then.
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
        let probe = header::probe_as(bytes, Some(FileKind::Pte))?;
        read::check(TableParser::<Program>::default(), header::metadata(bytes, &probe, true)?, limits)
    }

    fn decode(bytes: &'a [u8], limits: &Limits, whole: bool) -> Result<Self> {
        let probe = header::probe_as(bytes, Some(FileKind::Pte))?;
        let metadata = header::metadata(bytes, &probe, whole)?;
        let (program, newer_tables) = read::decode(TableParser::<Program>::default(), metadata, limits)?;
        let header = match probe.header {
            Some(Header::Pte(header)) => Some(header),
            _ => None,
        };
        let file = if whole { bytes } else { &[] };
        let base = header.map_or(0, |header| header.segment_base_offset);
        let segments = segment::cut(file, base, program.segments.as_deref());
        Ok(Self { header, program, segments, layout: FileLayout::default(), whole, newer_tables })
    }

    /// The same, independent of the input.
    pub fn into_owned(self) -> Pte<'static> {
        Pte {
            header: self.header,
            program: self.program.into_owned(),
            segments: self.segments.into_iter().map(Segment::into_owned).collect(),
            layout: self.layout,
            whole: self.whole,
            newer_tables: self.newer_tables,
        }
    }

    /// Where the segments start in the file.
    pub fn segment_base_offset(&self) -> u64 {
        self.header.map_or(0, |header| header.segment_base_offset)
    }

    /// The methods.
    pub fn methods(&self) -> &[ExecutionPlan<'a>] {
        self.program.execution_plan.as_deref().unwrap_or_default()
    }

    /// The method with that name.
    pub fn method(&self, name: &str) -> Option<&ExecutionPlan<'a>> {
        self.methods().iter().find(|plan| plan.name.as_deref() == Some(name))
    }

    /// The bytes of segment `index`.
    ///
    /// Fails with [`ErrorKind::Reference`] where there is no such segment or it leaves the file, and with
    /// [`ErrorKind::Absent`] where only the metadata was given.
    pub fn segment(&self, index: u32) -> Result<&[u8]> {
        let segments = self.program.segments.as_deref();
        let size = segments.and_then(|segments| segments.get(index as usize)).map_or(0, |segment| segment.size);
        segment::bytes(&self.segments, segments, (index, 0, size), self.whole)
    }

    /// The bytes that a reference means, exactly: no padding.
    ///
    /// Fails as [`segment`](Self::segment) does, and with [`ErrorKind::Reference`] where they leave their container.
    pub fn bytes(&self, data: &DataRef) -> Result<&[u8]> {
        let (storage, size) = match *data {
            DataRef::Segment { index, offset, size } => {
                let place = (index, offset, size);
                return segment::bytes(&self.segments, self.program.segments.as_deref(), place, self.whole);
            }
            DataRef::ConstantBuffer { index, size } => {
                let buffer = self.program.constant_buffer.as_deref().and_then(|list| list.get(index as usize));
                (buffer.and_then(|buffer| buffer.storage.as_deref()), size)
            }
            DataRef::DelegateData { index, size } => {
                let list = self.program.backend_delegate_data.as_deref();
                (list.and_then(|list| list.get(index as usize)?.data.as_deref()), size)
            }
        };
        let storage = storage.unwrap_or_default();
        usize::try_from(size)
            .ok()
            .and_then(|size| storage.get(..size))
            .ok_or_else(|| dangling(format!("{size} bytes of inline data, but there are {}", storage.len())))
    }

    /// Where the bytes that a reference means lie in the file; `None` for those inside the FlatBuffer (see
    /// [`offset_in`](crate::offset_in)) and where the reference leads nowhere.
    pub fn extent(&self, data: &DataRef) -> Option<Extent> {
        match *data {
            DataRef::Segment { index, offset, size } => {
                segment::extent(self.segment_base_offset(), self.program.segments.as_deref(), index, offset, size)
            }
            _ => None,
        }
    }

    /// Where a tensor's data is. It needs no segment's bytes.
    ///
    /// External tensors are known by their location, whatever else they say; others by whether they have an index of a
    /// constant (`data_buffer_idx`) and a place in planned memory (`allocation_info`): with both, the tensor is
    /// mutable and the index is its initial state's.
    ///
    /// Fails with [`ErrorKind::Reference`] where an index or the name leads nowhere, and with [`ErrorKind::Tensor`]
    /// where the size in bytes cannot be told.
    pub fn tensor_data<'t>(&'t self, tensor: &'t Tensor<'_>) -> Result<TensorData<'t>> {
        let extra = tensor.extra_tensor_info.as_deref();
        if let Some(extra) = extra.filter(|extra| extra.location == TensorDataLocation::EXTERNAL) {
            let name = extra.fully_qualified_name.as_deref();
            return name.map(TensorData::External).ok_or_else(|| dangling("an external tensor without a name"));
        }
        match (tensor.data_buffer_idx, tensor.allocation_info) {
            (0, None) => Ok(TensorData::None),
            (0, Some(place)) => Ok(TensorData::Planned(place)),
            (index, None) => self.constant(index, tensor.byte_size()?).map(TensorData::Constant),
            (index, Some(_)) => {
                let list = extra.map_or(0, |extra| extra.mutable_data_segments_idx);
                self.mutable(list, index, tensor.byte_size()?).map(TensorData::Mutable)
            }
        }
    }

    fn constant(&self, index: u32, size: u64) -> Result<DataRef> {
        // As the runtime does: a segment with more than its placeholder comes first.
        if let Some(offsets) = self.program.constant_segment.as_ref().filter(|segment| count(segment) > 1) {
            return subsegment(offsets, index, size);
        }
        let buffers = self.program.constant_buffer.as_deref().unwrap_or_default();
        match buffers.get(index as usize) {
            Some(_) => Ok(DataRef::ConstantBuffer { index, size }),
            None => Err(dangling(format!("constant {index}, but there are {}", buffers.len()))),
        }
    }

    fn mutable(&self, list: u64, index: u32, size: u64) -> Result<DataRef> {
        let lists = self.program.mutable_data_segments.as_deref().unwrap_or_default();
        match usize::try_from(list).ok().and_then(|list| lists.get(list)) {
            Some(offsets) => subsegment(offsets, index, size),
            None => Err(dangling(format!("mutable data segment {list}, but there are {}", lists.len()))),
        }
    }

    /// A tensor with its bytes, if the file holds them: a constant or an initial state.
    ///
    /// Fails as [`tensor_data`](Self::tensor_data) and [`bytes`](Self::bytes) do.
    pub fn tensor_view<'t>(&'t self, tensor: &'t Tensor<'_>) -> Result<Option<TensorView<'t>>> {
        let data = match self.tensor_data(tensor)? {
            TensorData::Constant(data) | TensorData::Mutable(data) => data,
            _ => return Ok(None),
        };
        let (scalar_type, sizes, dim_order) = (tensor.scalar_type, tensor.sizes(), tensor.dim_order());
        Ok(Some(TensorView { scalar_type, sizes, dim_order, bytes: self.bytes(&data)? }))
    }

    /// Where a delegate's payload is.
    ///
    /// Fails with [`ErrorKind::Reference`] where it leads nowhere.
    pub fn delegate_data(&self, delegate: &BackendDelegate<'_>) -> Result<DataRef> {
        let Some(processed) = delegate.processed else {
            return Err(dangling("a delegate without `processed`"));
        };
        let index = processed.index;
        match processed.location {
            DataLocation::INLINE => {
                let list = self.program.backend_delegate_data.as_deref().unwrap_or_default();
                let data = list.get(index as usize).ok_or_else(|| {
                    dangling(format!("inline delegate payload {index}, but there are {}", list.len()))
                })?;
                Ok(DataRef::DelegateData { index, size: data.data.as_deref().unwrap_or_default().len() as u64 })
            }
            DataLocation::SEGMENT => self.whole_segment(index),
            other => Err(dangling(format!("delegate payload at location {}", other.0))),
        }
    }

    /// Where each delegate says that its payload is.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = BackendDelegateDataReference> {
        let delegates = self.methods().iter().flat_map(|plan| plan.delegates.iter().flatten());
        delegates.filter_map(|delegate| delegate.processed)
    }

    /// Which segments anything names.
    pub(crate) fn referenced_segments(&self) -> Vec<bool> {
        let program = &self.program;
        let lists = program.constant_segment.iter().chain(program.mutable_data_segments.iter().flatten());
        let named = self.named_data().iter().map(|named| named.segment_index);
        let payloads = self.payloads().filter(|payload| payload.location == DataLocation::SEGMENT);
        let indices = lists.map(|list| list.segment_index).chain(named).chain(payloads.map(|payload| payload.index));
        segment::marked(program.segments.as_deref().unwrap_or_default().len(), indices)
    }

    /// Every index of a segment leads to one, and every key is there once.
    pub(crate) fn check_references(&self) -> Result<()> {
        let program = &self.program;
        if let Some(list) = program.constant_segment.as_ref().filter(|list| count(list) > 1) {
            self.whole_segment(list.segment_index).map_err(|error| error.in_field("constant_segment"))?;
        }
        for (index, list) in program.mutable_data_segments.iter().flatten().enumerate() {
            self.whole_segment(list.segment_index)
                .map_err(|error| error.in_item(index).in_field("mutable_data_segments"))?;
        }
        for (index, named) in self.named_data().iter().enumerate() {
            self.named_data_ref(named).map_err(|error| error.in_item(index).in_field("named_data"))?;
        }
        self.named_data_index().check_unique().map_err(|error| error.in_field("named_data"))?;
        for (plan, method) in self.methods().iter().enumerate() {
            for (index, delegate) in method.delegates.iter().flatten().enumerate() {
                self.delegate_data(delegate).map_err(|error| {
                    error.in_item(index).in_field("delegates").in_item(plan).in_field("execution_plan")
                })?;
            }
        }
        Ok(())
    }

    fn whole_segment(&self, index: u32) -> Result<DataRef> {
        let segments = self.program.segments.as_deref().unwrap_or_default();
        match segments.get(index as usize) {
            Some(segment) => Ok(DataRef::Segment { index, offset: 0, size: segment.size }),
            None => Err(dangling(format!("segment {index}, but there are {}", segments.len()))),
        }
    }

    /// The blobs with names.
    pub fn named_data(&self) -> &[NamedData<'a>] {
        self.program.named_data.as_deref().unwrap_or_default()
    }

    /// Where a named blob is.
    ///
    /// Fails with [`ErrorKind::Reference`] where it leads nowhere.
    pub fn named_data_ref(&self, named: &NamedData<'_>) -> Result<DataRef> {
        self.whole_segment(named.segment_index)
    }

    /// The bytes of the blob with that name, by a look at each name: for many look-ups, take
    /// [`named_data_index`](Self::named_data_index).
    ///
    /// Fails with [`ErrorKind::Reference`] where there is none or it leads nowhere, and as [`bytes`](Self::bytes).
    pub fn named_data_bytes(&self, key: &str) -> Result<&[u8]> {
        let named = self.named_data().iter().find(|named| named.key.as_deref() == Some(key));
        let named = named.ok_or_else(|| dangling(format!("no named data has the key {key:?}")))?;
        self.bytes(&self.named_data_ref(named)?)
    }

    /// The names in order, for look-ups: indices into [`named_data`](Self::named_data).
    pub fn named_data_index(&self) -> KeyIndex<'_> {
        KeyIndex::new(self.named_data().iter().map(|named| named.key.as_deref()))
    }
}

impl<'a> ExecutionPlan<'a> {
    /// The tensors among the values, each with its index.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, &Tensor<'a>)> {
        self.values.as_deref().unwrap_or_default().iter().enumerate().filter_map(|(index, value)| match &value.val {
            KernelTypes::Tensor(tensor) => Some((index, tensor)),
            _ => None,
        })
    }

    /// The value with that index, if it is a tensor.
    pub fn tensor(&self, value: usize) -> Option<&Tensor<'a>> {
        match &self.values.as_deref()?.get(value)?.val {
            KernelTypes::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

fn count(offsets: &SubsegmentOffsets<'_>) -> usize {
    offsets.offsets.as_deref().unwrap_or_default().len()
}

fn subsegment(list: &SubsegmentOffsets<'_>, index: u32, size: u64) -> Result<DataRef> {
    let offsets = list.offsets.as_deref().unwrap_or_default();
    match offsets.get(index as usize) {
        Some(offset) => Ok(DataRef::Segment { index: list.segment_index, offset: *offset, size }),
        None => {
            Err(dangling(format!("offset {index} of segment {}, which lists {}", list.segment_index, offsets.len())))
        }
    }
}

#[cold]
fn dangling(found: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Reference(found.into()))
}
