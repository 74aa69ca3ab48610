//! `.pte` files: header, program, segments, and the places of data.

use super::header::{self, FileKind, Header, PteHeader};
use super::key_index::KeyIndex;
use super::options::ParseOptions;
use super::references::{self, DataUser};
use super::segment::{self, DataRef, Segment, Segments};
use super::source::Source;
use super::style::WriteStyle;
use crate::error::{Error, Result, counted};
use crate::flatbuffer::read::{self, Record, TableParser};
use crate::schema::program::{
    AllocationDetails, BackendDelegate, DataLocation, DelegateCall, EValue, ExecutionPlan, KernelCall, KernelTypes,
    NamedData, Operator, SubsegmentOffsets, Tensor, TensorDataLocation,
};
use crate::schema::{DataSegment, Program};
use crate::tensor::TensorView;
#[cfg(feature = "inspect")]
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, vec::Vec};
use core::ops::Range;

/// A `.pte` file: a compiled program with its data.
///
/// ```
/// use executorch_format::Pte;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pte = Pte::parse(&file)?;
/// let forward = pte.method("forward").expect("the usual method");
/// for (value, tensor) in forward.tensors() {
///     println!("value {value}: {}", tensor.shape());
/// }
/// assert_eq!(pte.image()?.to_vec()?, file);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pte<'a> {
    /// The extended header, if the file has one.
    pub header: Option<PteHeader>,
    /// The tree: the program.
    pub program: Program<'a>,
    /// The bytes of each of `program.segments`, in the same order; absent if the segment is outside the file or was not given.
    /// [`add_segment`](Self::add_segment) adds to both lists.
    pub segments: Vec<Segment<'a>>,
    /// The style in which it is written. `None` stands for the style of its source, or the default style.
    pub style: Option<WriteStyle>,
    /// The bytes that it was read from, or `None` if it was built in memory.
    pub source: Option<Source<'a>>,
}

/// Compares the trees, headers and data, but not `style` and `source`.
impl PartialEq for Pte<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header && self.program == other.program && self.segments == other.segments
    }
}

/// The start of the names of constant methods by which `TrainingModule` finds gradients and parameters among the outputs of a method.
pub(crate) const TRAINING_PREFIX: &str = "__et_training_";

/// The place of a tensor's data: see [`Pte::tensor_data`].
///
/// ```
/// use executorch_format::{Pte, TensorData};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul_external/add_mul_external.pte")?;
/// let pte = Pte::parse(&file)?;
/// for (value, tensor) in pte.methods()[0].tensors() {
///     match pte.tensor_data(tensor)? {
///         TensorData::External(key) => println!("value {value}: {key:?} in a .ptd"),
///         TensorData::Constant(data) => println!("value {value}: {:?} of the file", pte.range(&data)),
///         other => println!("value {value}: {other:?}"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorData<'t> {
    /// Not in the file: the caller provides the data at run time.
    None,
    /// In planned memory, without an initial state.
    Planned(AllocationDetails),
    /// A constant.
    Constant(DataRef),
    /// The initial state of a mutable tensor.
    InitialState(DataRef),
    /// In a `.ptd` file, under this key.
    External(&'t str),
}

impl<'a> Pte<'a> {
    /// Reads a file: checks its structure and decodes its program. The bytes of weights are borrowed, not copied.
    ///
    /// Fails if the bytes are another kind of file, are truncated, or break a rule of structure. The meaning of the program is not
    /// checked: see [`verify`](crate::verify).
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &ParseOptions::default())
    }

    /// Reads a file with options: custom limits, or the program's bytes alone.
    pub fn parse_with(bytes: &'a [u8], options: &ParseOptions) -> Result<Self> {
        let whole = !options.metadata_only;
        let probe = header::probe_as(bytes, Some(FileKind::Pte))?;
        let metadata = header::metadata(bytes, &probe, options)?;
        let (program, seen) = read::read_at::<Program<'_>>(0, metadata, &options.limits)?;
        let header = match probe.header {
            Some(Header::Pte(header)) => Some(header),
            _ => None,
        };
        let base = header.map_or(0, |header| header.segment_base_offset);
        let seen = seen.and(program.segments().len(), size_of::<Segment<'_>>(), &options.limits)?;
        let segments = segment::cut(if whole { bytes } else { &[] }, base, program.segments());
        let source = Source::new(bytes, metadata, options, seen);
        Ok(Self { header, program, segments, style: None, source: Some(source) })
    }

    /// Checks only a file's structure: the same rules as [`parse`](Self::parse), with the same first error, but without building or
    /// allocating anything.
    pub fn verify_structure(bytes: &[u8]) -> Result<()> {
        Self::verify_structure_with(bytes, &ParseOptions::default())
    }

    /// Checks only a file's structure, with options.
    pub fn verify_structure_with(bytes: &[u8], options: &ParseOptions) -> Result<()> {
        let probe = header::probe_as(bytes, Some(FileKind::Pte))?;
        let metadata = header::metadata(bytes, &probe, options)?;
        read::check_at(0, TableParser::<Program>::default(), metadata, &options.limits)
    }

    /// Converts it into an owned copy, which outlives the bytes that it was read from.
    pub fn into_owned(self) -> Pte<'static> {
        Pte {
            header: self.header,
            program: self.program.into_owned(),
            segments: segment::into_owned(self.segments),
            style: self.style,
            source: self.source.map(Source::into_owned),
        }
    }

    /// Adds a segment to the program's list and to `segments`, and returns its index. [`lay_out`](Self::lay_out) assigns its offset.
    pub fn add_segment(&mut self, bytes: impl Into<Cow<'a, [u8]>>) -> u32 {
        self.push_segment(Segment::Whole(bytes.into()))
    }

    pub(crate) fn push_segment(&mut self, segment: Segment<'a>) -> u32 {
        let table = self.program.segments.get_or_insert_default();
        table.push(DataSegment { offset: 0, size: segment.len() });
        self.segments.push(segment);
        table.len() as u32 - 1
    }

    /// Returns the start of the segments, in bytes from the start of the file.
    pub fn segment_base_offset(&self) -> u64 {
        self.header.map_or(0, |header| header.segment_base_offset)
    }

    /// Returns the methods.
    pub fn methods(&self) -> &[ExecutionPlan<'a>] {
        self.program.execution_plan()
    }

    /// Returns the method with that name.
    pub fn method(&self, name: &str) -> Option<&ExecutionPlan<'a>> {
        self.methods().iter().find(|plan| plan.name.as_ref().is_some_and(|other| *other == *name))
    }

    /// Sorts the methods by name, for many lookups. Among several of one name, the first counts.
    #[cfg(feature = "inspect")]
    pub(crate) fn methods_by_name(&self) -> BTreeMap<&str, &ExecutionPlan<'a>> {
        self.methods().iter().rev().map(|plan| (plan.name(), plan)).collect()
    }

    pub(crate) fn segment_data(&self) -> Segments<'_, 'a> {
        Segments {
            bytes: &self.segments,
            table: self.program.segments(),
            base: self.segment_base_offset(),
            has_header: self.header.is_some(),
            // Headers up to ExecuTorch 0.7 do not have this field, and in some later ones it is 0.
            data_size: self.header.and_then(|header| header.segment_data_size).filter(|size| *size > 0),
            source: self.source.as_ref(),
        }
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

    /// Returns the bytes that a reference points to, without padding.
    ///
    /// Fails as [`segment`](Self::segment) does, and with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if they are
    /// out of range.
    pub fn bytes(&self, data: &DataRef) -> Result<&[u8]> {
        let (storage, size) = match *data {
            DataRef::Segment { index, offset, size } => return self.segment_data().bytes(index, offset, size),
            DataRef::ConstantBuffer { index, size } => {
                let buffer = self.program.constant_buffer().get(index as usize);
                (buffer.map(|buffer| buffer.storage()), size)
            }
            DataRef::DelegateData { index, size } => {
                let list = self.program.backend_delegate_data();
                (list.get(index as usize).map(|data| data.data()), size)
            }
        };
        let storage = storage.unwrap_or_default();
        let bytes = usize::try_from(size).ok().and_then(|size| storage.get(..size));
        bytes.ok_or_else(|| {
            let size = counted(size, "byte");
            Error::reference(format!(
                "the inline data has {}, expected at least {size}",
                counted(storage.len(), "byte")
            ))
        })
    }

    /// Returns the range in the file that a reference points to, or `None` if it is out of range or the data is not in the file. For
    /// segments, the range follows from the header; for inline data, from the bytes that the tree borrows from its source. If only the
    /// metadata was given, it is checked against the file's size only with [`ParseOptions::file_size`].
    pub fn range(&self, data: &DataRef) -> Option<Range<u64>> {
        if let DataRef::Segment { index, offset, size } = *data {
            return self.segment_data().range(index, offset, size);
        }
        let bytes = self.bytes(data).ok()?;
        let start = segment::offset_in(&self.source.as_ref()?.bytes, bytes)?;
        Some(start..start + bytes.len() as u64)
    }

    /// Finds a tensor's data. This works without the bytes of the segments.
    ///
    /// If the tensor's location is external, its other fields are ignored. Otherwise `data_buffer_idx` (0 if absent) and
    /// `allocation_info` decide: a tensor with only an index is a constant, one with only planned memory has no data in the file, and
    /// one with both is mutable and the index is that of its initial state.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if an index is out of range or the name is missing, and
    /// with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the size in bytes is unknown.
    pub fn tensor_data<'t>(&'t self, tensor: &'t Tensor<'_>) -> Result<TensorData<'t>> {
        let extra = tensor.extra_tensor_info.as_deref();
        if let Some(extra) = extra.filter(|extra| extra.location == TensorDataLocation::EXTERNAL) {
            let name = extra.fully_qualified_name.as_deref();
            return name.map(TensorData::External).ok_or_else(|| Error::reference("an external tensor without a name"));
        }
        match (tensor.data_buffer_idx, tensor.allocation_info) {
            (0, None) => Ok(TensorData::None),
            (0, Some(allocation)) => Ok(TensorData::Planned(allocation)),
            (index, None) => self.constant(index, tensor.byte_size()?).map(TensorData::Constant),
            (index, Some(_)) => {
                let list = extra.map_or(0, |extra| extra.mutable_data_segments_idx);
                self.initial_state(list, index, tensor.byte_size()?).map(TensorData::InitialState)
            }
        }
    }

    fn constant(&self, index: u32, size: u64) -> Result<DataRef> {
        // As in the runtime, a constant segment with more than its placeholder takes precedence over `constant_buffer`.
        if let Some(offsets) = self.program.constant_segment.as_ref().filter(|list| list.offsets().len() > 1) {
            return subsegment(offsets, index, size);
        }
        let buffers = self.program.constant_buffer();
        match buffers.get(index as usize) {
            Some(_) => Ok(DataRef::ConstantBuffer { index, size }),
            None => {
                let found = counted(buffers.len(), "item");
                Err(Error::reference(format!("constant {index} does not exist: constant_buffer has {found}")))
            }
        }
    }

    fn initial_state(&self, list: u64, index: u32, size: u64) -> Result<DataRef> {
        let lists = self.program.mutable_data_segments();
        match usize::try_from(list).ok().and_then(|list| lists.get(list)) {
            Some(offsets) => subsegment(offsets, index, size),
            None => {
                let found = counted(lists.len(), "item");
                Err(Error::reference(format!("item {list} of mutable_data_segments does not exist: it has {found}")))
            }
        }
    }

    /// Returns a tensor with its bytes, if the file holds them: a constant or an initial state.
    ///
    /// Fails as [`tensor_data`](Self::tensor_data) and [`bytes`](Self::bytes) do.
    pub fn tensor_view<'t>(&'t self, tensor: &'t Tensor<'_>) -> Result<Option<TensorView<'t>>> {
        let data = match self.tensor_data(tensor)? {
            TensorData::Constant(data) | TensorData::InitialState(data) => data,
            _ => return Ok(None),
        };
        TensorView::new(tensor.shape(), self.bytes(&data)?).map(Some)
    }

    /// Returns the place of a delegate's payload.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if its index is out of range.
    pub fn delegate_data(&self, delegate: &BackendDelegate<'_>) -> Result<DataRef> {
        let Some(processed) = delegate.processed else {
            return Err(Error::reference("a delegate without `processed`"));
        };
        let index = processed.index;
        match processed.location {
            DataLocation::INLINE => {
                let list = self.program.backend_delegate_data();
                let data = list.get(index as usize).ok_or_else(|| {
                    let found = counted(list.len(), "item");
                    Error::reference(format!("item {index} of backend_delegate_data does not exist: it has {found}"))
                })?;
                Ok(DataRef::DelegateData { index, size: data.data().len() as u64 })
            }
            DataLocation::SEGMENT => self.whole_segment(index),
            other => Err(Error::reference(format!("a delegate payload at the unknown location {}", other.0))),
        }
    }

    pub(crate) fn whole_segment(&self, index: u32) -> Result<DataRef> {
        let segments = self.program.segments();
        match segments.get(index as usize) {
            Some(segment) => Ok(DataRef::Segment { index, offset: 0, size: segment.size }),
            None => {
                let found = counted(segments.len(), "segment");
                Err(Error::reference(format!("segment {index} does not exist: the file has {found}")))
            }
        }
    }

    /// Returns the named data: blobs with keys.
    pub fn named_data(&self) -> &[NamedData<'a>] {
        self.program.named_data()
    }

    /// Returns the place of a named blob.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if its index is out of range.
    pub fn named_data_ref(&self, named: &NamedData<'_>) -> Result<DataRef> {
        self.whole_segment(named.segment_index)
    }

    /// Finds the bytes of the blob with that key by linear search. For many lookups, use
    /// [`named_data_index`](Self::named_data_index).
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if no blob has that key, and as [`bytes`](Self::bytes) does.
    pub fn named_data_bytes(&self, key: &str) -> Result<&[u8]> {
        let named = self.named_data().iter().find(|named| named.key.as_ref().is_some_and(|other| *other == *key));
        let named = named.ok_or_else(|| Error::reference(format!("no named data has the key {key:?}")))?;
        self.bytes(&self.named_data_ref(named)?)
    }

    /// Sorts the keys for lookups, with indices into [`named_data`](Self::named_data).
    pub fn named_data_index(&self) -> KeyIndex<'_> {
        let mut keys = Vec::new();
        for (index, named) in self.named_data().iter().enumerate() {
            if let Some(key) = &named.key {
                keys.push((key, index as u32));
            }
        }
        KeyIndex::new(keys)
    }

    /// Returns the range of bytes at the end of the file that it does not refer to: those after the last segment, or, in a file without
    /// segments, at the end of the FlatBuffer. [`image`](Self::image) keeps them if the file is unchanged, [`lay_out`](Self::lay_out) drops
    /// them. Padding is not included. The range is empty if the end is not known: if the whole file was not given, if a file without a
    /// header has segments, and if the FlatBuffer has fields of a newer schema.
    pub fn trailing_bytes(&self) -> Range<u64> {
        let trailing = self.segment_data().trailing();
        let is_known = self.header.is_some() || self.program.segments().iter().all(|segment| segment.size == 0);
        match self.source.as_ref().filter(|_| trailing.is_empty() && is_known) {
            Some(source) if source.metadata_size == source.bytes.len() as u64 => {
                source.trailing(0, Program::DESCRIPTION)
            }
            _ => trailing,
        }
    }

    /// Returns all references to data in the program, each with the place of the data: tensors with data and delegates, method by
    /// method, then named data.
    ///
    /// An item is an error if an index is out of range, a key is missing, or a size is unknown.
    pub fn data_users(&self) -> impl Iterator<Item = (DataUser<'_>, Result<TensorData<'_>>)> {
        references::data_users(self)
    }
}

impl<'a> ExecutionPlan<'a> {
    /// Returns the value at an index, which may have any of the integer types of the schema, or `None` if it is out of range.
    pub fn value(&self, index: impl TryInto<usize>) -> Option<&EValue<'a>> {
        self.values().get(index.try_into().ok()?)
    }

    /// Returns the tensors among the values, each with its index.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, &Tensor<'a>)> {
        self.values().iter().enumerate().filter_map(|(index, value)| match &value.val {
            KernelTypes::Tensor(tensor) => Some((index, tensor)),
            _ => None,
        })
    }

    /// Returns the value at an index, if it is a tensor.
    pub fn tensor(&self, index: impl TryInto<usize>) -> Option<&Tensor<'a>> {
        match &self.value(index)?.val {
            KernelTypes::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Returns the operator that a call runs, or `None` if its index is out of range.
    pub fn operator(&self, call: &KernelCall<'_>) -> Option<&Operator<'a>> {
        self.operators().get(usize::try_from(call.op_index).ok()?)
    }

    /// Returns the delegate that a call runs, or `None` if its index is out of range.
    pub fn delegate(&self, call: &DelegateCall<'_>) -> Option<&BackendDelegate<'a>> {
        self.delegates().get(usize::try_from(call.delegate_index).ok()?)
    }

    /// Returns the instructions of all chains, in order, each with the index of its chain and its index in that chain.
    pub fn instructions(
        &self,
    ) -> impl Iterator<Item = ((usize, usize), &crate::schema::program::InstructionArguments<'a>)> {
        self.chains().iter().enumerate().flat_map(|(chain, instructions)| {
            let instructions = instructions.instructions().iter().enumerate();
            instructions.map(move |(index, instruction)| ((chain, index), &instruction.instr_args))
        })
    }
}

impl KernelTypes<'_> {
    /// Returns the items of a list of tensors, with or without missing ones: indices into the method's values.
    pub fn tensors(&self) -> Option<&[i32]> {
        match self {
            Self::TensorList(list) => list.items.as_deref(),
            Self::OptionalTensorList(list) => list.items.as_deref(),
            _ => None,
        }
    }
}

impl Operator<'_> {
    /// Returns name and overload as PyTorch writes them, such as `aten::add.out`, or the name alone if the overload is empty.
    pub fn full_name(&self) -> alloc::string::String {
        match self.overload() {
            "" => self.name().into(),
            overload => format!("{}.{overload}", self.name()),
        }
    }
}

fn subsegment(list: &SubsegmentOffsets<'_>, index: u32, size: u64) -> Result<DataRef> {
    let offsets = list.offsets();
    match offsets.get(index as usize) {
        Some(offset) => Ok(DataRef::Segment { index: list.segment_index, offset: *offset, size }),
        None => {
            let (segment, found) = (list.segment_index, counted(offsets.len(), "offset"));
            Err(Error::reference(format!("offset {index} in segment {segment} does not exist: the list has {found}")))
        }
    }
}
