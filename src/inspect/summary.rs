//! A summary of a file.

#[cfg(feature = "devtools")]
use super::bundle::BundleSummary;
use super::constant_methods::ConstantMethod;
use super::delegates::{self, Operators};
use super::payloads::{self, PayloadFacts};
#[cfg(feature = "devtools")]
use super::profile::TraceSummary;
use super::xnnpack::XnnpackSummary;
use super::{Blob, BlobKind, Blobs, Fault, MethodAllocator};
use crate::error::Error;
use crate::file::header::{FileKind, Header, PtdHeader, PteHeader};
use crate::file::model::{Model, each_file};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::DataRef;
use crate::keyed::Keyed;
use crate::path::Path;
use crate::schema::flat_tensor::LegacySchema;
use crate::schema::program::{
    BackendDelegate, DeviceType, ExecutionPlan, InstructionArguments, KernelTypes, Tensor, TensorShapeDynamism,
};
use crate::schema::{DataSegment, ScalarType};
use crate::tensor::TensorShape;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec, vec::Vec};

/// A summary of a file.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Summary<'t> {
    /// The kind of file.
    pub kind: FileKind,
    /// The four identifier bytes, such as `ET12`.
    pub identifier: &'static str,
    /// The extended header, if there is one.
    pub header: Option<HeaderSummary>,
    /// What is inside.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub content: Content<'t>,
    /// Dangling references.
    #[cfg_attr(feature = "serde", serde(rename = "errors"))]
    pub faults: Vec<Fault>,
}

/// What is inside a file of any kind.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)]
pub enum Content<'t> {
    /// Of a `.pte`.
    Program(ProgramSummary<'t>),
    /// Of a `.ptd`.
    FlatTensor(FlatTensorSummary<'t>),
    /// Of a `.bpte`, besides the program.
    #[cfg(feature = "devtools")]
    Bundle(BundleSummary<'t>),
    /// Of a `.etdp`.
    #[cfg(feature = "devtools")]
    Trace(TraceSummary<'t>),
    /// Of an XNNPACK payload.
    Xnnpack(XnnpackSummary<'t>),
}

/// The extended header of a `.pte` or `.ptd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HeaderSummary {
    /// The length, in bytes.
    pub length: u32,
    /// Bytes from the start of the file to the end of the FlatBuffer.
    pub metadata_size: u64,
    /// Where the segments start, in bytes from the start of the file.
    pub segment_base_offset: u64,
    /// The size of all segments with their padding, in bytes; `None` in an old header.
    pub segment_data_size: Option<u64>,
}

/// How many segments there are, and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SegmentCount {
    /// How many segments.
    pub count: usize,
    /// Their total size, in bytes.
    #[cfg_attr(feature = "serde", serde(rename = "size"))]
    pub bytes: u64,
}

/// How many blobs there are of a kind, their total size, and how many users they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BlobCount {
    /// How many blobs: a shared one counts once.
    pub count: usize,
    /// Their total size, in bytes.
    #[cfg_attr(feature = "serde", serde(rename = "size"))]
    pub bytes: u64,
    /// How many tensors, delegates or names use them.
    pub users: usize,
}

impl BlobCount {
    fn of<'b, 't: 'b>(blobs: impl Iterator<Item = &'b Blob<'t>>) -> Self {
        let mut count = Self::default();
        blobs.for_each(|blob| count.add(blob.size, blob.users.len()));
        count
    }

    pub(super) fn add(&mut self, size: u64, users: usize) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.users += users;
    }
}

/// What is in a `.pte` file.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProgramSummary<'t> {
    /// The methods that compute something.
    pub methods: Vec<Method<'t>>,
    /// The methods that return constants: metadata.
    pub metadata: Vec<ConstantMethod<'t>>,
    /// The data segments.
    pub segments: SegmentCount,
    /// Constants.
    pub constants: BlobCount,
    /// The initial states of mutable tensors.
    pub mutable: BlobCount,
    /// Tensors whose data is in a `.ptd` file.
    pub external: BlobCount,
    /// Blobs with names.
    pub named_data: BlobCount,
    /// The payloads of delegates.
    pub delegates: BlobCount,
    /// What is in each of them.
    pub payloads: Vec<PayloadFacts<'t>>,
    /// The constants that payloads of a known kind use, in the payload, in named data or in a `.ptd` file: one with a key counts
    /// once.
    pub delegate_constants: BlobCount,
}

/// What is in a method.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Method<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its inputs, in order.
    pub inputs: Vec<Value<'t>>,
    /// Its outputs, in order.
    pub outputs: Vec<Value<'t>>,
    /// How many values it has.
    pub values: usize,
    /// The kernels that it calls, the most called first.
    pub operators: Vec<OperatorCalls>,
    /// Its instructions.
    pub instructions: Instructions,
    /// The backends that it delegates to.
    pub delegates: Vec<Backend<'t>>,
    /// The memory that was planned for it.
    pub planned_memory: PlannedMemory,
    /// What the runtime allocates besides, to load it.
    pub method_allocator: MethodAllocator,
}

/// An input or output.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Value<'t> {
    /// Index into the method's values.
    pub value: i32,
    /// The schema's name of its kind; `None` if the index is out of range or the kind is of a newer schema.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub kind: Option<&'static str>,
    /// The shape, if it is a tensor.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub tensor: Option<ValueShape<'t>>,
}

/// The shape of a tensor of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ValueShape<'t> {
    /// Its name, if it has one.
    #[cfg_attr(
        feature = "serde",
        serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")
    )]
    pub name: Option<&'t str>,
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The size of each dimension: an upper bound if the shape is dynamic.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::tensor::first_items"))]
    pub sizes: &'t [i32],
    /// The dimensions as they are stored, outermost first.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::tensor::first_items"))]
    pub dim_order: &'t [u8],
    /// Whether the sizes may change at run time.
    pub shape_dynamism: TensorShapeDynamism,
}

impl<'t> ValueShape<'t> {
    pub(crate) fn of(tensor: &'t Tensor<'_>) -> Self {
        let TensorShape { scalar_type, sizes, dim_order } = tensor.shape();
        let name = tensor.fully_qualified_name();
        Self { name, scalar_type, sizes, dim_order, shape_dynamism: tensor.shape_dynamism }
    }

    /// The shape, without name and dynamism.
    pub fn shape(&self) -> TensorShape<'t> {
        TensorShape { scalar_type: self.scalar_type, sizes: self.sizes, dim_order: self.dim_order }
    }
}

/// A kernel, and how often it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OperatorCalls {
    /// Name and overload, such as `aten::add.out`.
    pub name: String,
    /// How many instructions call it.
    pub calls: usize,
}

/// The instructions of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Instructions {
    /// How many instructions.
    pub total: usize,
    /// How many instructions of each kind, by the schema's names.
    pub by_kind: BTreeMap<String, usize>,
}

/// All delegates of one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Backend<'t> {
    /// The backend's name.
    pub id: &'t str,
    /// How many delegates.
    pub delegates: usize,
    /// The total size of the payloads, in bytes: a shared payload counts once.
    #[cfg_attr(feature = "serde", serde(rename = "payload_size"))]
    pub payload_bytes: u64,
    /// The operators inside the payloads that this crate can parse, the most frequent first.
    pub operators: Vec<OperatorCalls>,
}

/// The planned memory of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PlannedMemory {
    /// The size of all buffers, in bytes.
    #[cfg_attr(feature = "serde", serde(rename = "size"))]
    pub bytes: u64,
    /// The buffers.
    pub buffers: Vec<PlannedBuffer>,
}

/// A planned buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PlannedBuffer {
    /// Its index, from 1.
    pub memory_id: u32,
    /// The size, in bytes. 0 where the program says a negative one, which is among the faults of [`Summary`] and
    /// [`Memory`](super::Memory).
    pub size: u64,
    /// The kind of device whose memory it is.
    pub device_type: DeviceType,
    /// Which device of that kind.
    pub device_index: i8,
}

/// What is in a `.ptd` file.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FlatTensorSummary<'t> {
    /// The releases of ExecuTorch that write this schema.
    pub schema: &'static str,
    /// The alignment of tensors, in bytes, which only the early schemas contain.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub tensor_alignment: Option<u32>,
    /// The data segments.
    pub segments: SegmentCount,
    /// The keys, in order.
    pub keys: Vec<Key<'t>>,
}

/// A key of a `.ptd` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Key<'t> {
    /// The key.
    pub key: &'t str,
    /// The shape; `None` for a blob that is not a tensor.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub shape: Option<TensorShape<'t>>,
    /// Index into the list of segments.
    pub segment_index: u32,
    /// Bytes from the start of the file.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// The size, in bytes.
    pub size: u64,
}

impl Model<'_> {
    /// A summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        each_file!(self, file => file.summary())
    }
}

impl Pte<'_> {
    /// A summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        let Blobs { blobs, mut faults } = self.blobs();
        let count = |kind| BlobCount::of(blobs.iter().filter(|blob| blob.kind == kind));
        let opened = self.open_payloads();
        let operators = delegates::operators(self, &opened);
        let (mut methods, mut metadata) = (Vec::new(), Vec::new());
        for (index, plan) in self.methods().iter().enumerate() {
            faults.extend(plan.negative_buffers(index));
            if !plan.is_constant() {
                methods.push(method(self, index, plan, &operators));
            } else if let Some(value) = plan.constant() {
                metadata.push(ConstantMethod { name: plan.name(), value });
            }
        }
        let content = ProgramSummary {
            methods,
            metadata,
            segments: segment_count(self.program.segments()),
            constants: count(BlobKind::Constant),
            mutable: count(BlobKind::Mutable),
            external: count(BlobKind::External),
            named_data: count(BlobKind::Named),
            delegates: count(BlobKind::Delegate),
            payloads: payloads::facts(self, &opened),
            delegate_constants: delegates::count_constants(&opened),
        };
        Summary {
            kind: FileKind::Pte,
            identifier: FileKind::Pte.identifier(),
            header: self.header.map(|header| Header::Pte(header).into()),
            content: Content::Program(content),
            faults,
        }
    }
}

impl Ptd<'_> {
    /// A summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        let legacy = self.flat_tensor.legacy.as_ref();
        let key = |entry: crate::Entry<'_>| {
            let data = self.entry_data(&entry).ok();
            (data.as_ref().and_then(|data| self.range(data)), data.as_ref().map_or(0, DataRef::size))
        };
        let keys = self.entries().map(|entry| {
            let (range, size) = key(entry);
            let offset = range.map(|range| range.start);
            Key { key: entry.key(), shape: entry.shape, segment_index: entry.segment_index, offset, size }
        });
        let content = FlatTensorSummary {
            schema: match legacy.map(|legacy| legacy.schema) {
                Some(LegacySchema::V0_5) => "0.5",
                Some(LegacySchema::V0_6) => "0.6",
                None => "0.7 and later",
            },
            tensor_alignment: legacy.map(|legacy| legacy.tensor_alignment),
            segments: segment_count(self.flat_tensor.segments()),
            keys: keys.collect(),
        };
        Summary {
            kind: FileKind::Ptd,
            identifier: FileKind::Ptd.identifier(),
            header: self.header.map(|header| Header::Ptd(header).into()),
            content: Content::FlatTensor(content),
            faults: self.blobs().faults,
        }
    }
}

fn segment_count(segments: &[DataSegment]) -> SegmentCount {
    let bytes = segments.iter().map(|segment| segment.size).fold(0, u64::saturating_add);
    SegmentCount { count: segments.len(), bytes }
}

impl From<Header> for HeaderSummary {
    fn from(header: Header) -> Self {
        match header {
            Header::Pte(PteHeader { length, program_size, segment_base_offset, segment_data_size }) => {
                Self { length, metadata_size: program_size, segment_base_offset, segment_data_size }
            }
            Header::Ptd(PtdHeader {
                length,
                flatbuffer_offset,
                flatbuffer_size,
                segment_base_offset,
                segment_data_size,
            }) => Self {
                length,
                metadata_size: flatbuffer_offset.saturating_add(flatbuffer_size),
                segment_base_offset,
                segment_data_size: Some(segment_data_size),
            },
        }
    }
}

fn method<'t>(pte: &Pte<'_>, index: usize, plan: &'t ExecutionPlan<'_>, inside: &Operators<'_>) -> Method<'t> {
    let mut instructions = Instructions::default();
    let mut calls = vec![0; plan.operators().len()];
    for (_, instruction) in plan.instructions() {
        instructions.total += 1;
        let kind = instruction.name().unwrap_or("unknown");
        match instructions.by_kind.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                instructions.by_kind.insert(kind.into(), 1);
            }
        }
        if let InstructionArguments::KernelCall(call) = instruction {
            if let Some(count) = usize::try_from(call.op_index).ok().and_then(|index| calls.get_mut(index)) {
                *count += 1;
            }
        }
    }
    let operators = plan.operators().iter().zip(calls);
    let mut operators: Vec<OperatorCalls> =
        operators.map(|(operator, calls)| OperatorCalls { name: operator.full_name(), calls }).collect();
    delegates::most_first(&mut operators);
    Method {
        name: plan.name(),
        inputs: values(plan, plan.inputs()),
        outputs: values(plan, plan.outputs()),
        values: plan.values().len(),
        operators,
        instructions,
        delegates: backends(pte, index, plan, inside),
        planned_memory: plan.planned_memory(),
        method_allocator: pte.method_allocator(plan),
    }
}

fn values<'t>(plan: &'t ExecutionPlan<'_>, indices: &[i32]) -> Vec<Value<'t>> {
    let describe = |index: &i32| {
        let found = plan.value(*index).map(|value| &value.val);
        let tensor = match found {
            Some(KernelTypes::Tensor(tensor)) => Some(ValueShape::of(tensor)),
            _ => None,
        };
        Value { value: *index, kind: found.and_then(KernelTypes::name), tensor }
    };
    indices.iter().map(describe).collect()
}

fn backends<'t>(pte: &Pte<'_>, method: usize, plan: &'t ExecutionPlan<'_>, inside: &Operators<'_>) -> Vec<Backend<'t>> {
    let mut by_id: Keyed<&str, Vec<&BackendDelegate<'_>>> = Keyed::new();
    for delegate in plan.delegates() {
        by_id.entry(delegate.id()).push(delegate);
    }
    let backend = |(id, list): (&'t str, Vec<&BackendDelegate<'_>>)| {
        let count = list.len();
        let (mut payloads, mut payload_bytes) = (Keyed::new(), 0u64);
        for data in list.iter().filter_map(|delegate| pte.delegate_data(delegate).ok()) {
            if payloads.add(data) {
                payload_bytes = payload_bytes.saturating_add(data.size());
            }
        }
        let operators = inside.get(&(method, id)).map_or_else(Vec::new, delegates::sorted);
        Backend { id, delegates: count, payload_bytes, operators }
    };
    by_id.into_sorted().into_iter().map(backend).collect()
}

impl ExecutionPlan<'_> {
    /// The planned memory of the method: its buffers from 1 on, since entry 0 is reserved.
    pub fn planned_memory(&self) -> PlannedMemory {
        let buffer = |(memory_id, size): (u32, &i64)| {
            let mut devices = self.non_const_buffer_device().iter();
            let device = devices.find(|device| u32::try_from(device.buffer_idx) == Ok(memory_id));
            PlannedBuffer {
                memory_id,
                size: u64::try_from(*size).unwrap_or_default(),
                device_type: device.map_or(DeviceType::CPU, |device| device.device_type),
                device_index: device.map_or(0, |device| device.device_index),
            }
        };
        let buffers: Vec<_> = (0..).zip(self.non_const_buffer_sizes()).skip(1).map(buffer).collect();
        let bytes = buffers.iter().map(|buffer| buffer.size).fold(0, u64::saturating_add);
        PlannedMemory { bytes, buffers }
    }

    /// The planned buffers whose size is negative, which no answer has. `index` is that of the method.
    pub(super) fn negative_buffers(&self, index: usize) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (buffer, size) in self.non_const_buffer_sizes().iter().enumerate().skip(1).filter(|(_, size)| **size < 0) {
            let path = Path::ROOT.item("execution_plan", index).item("non_const_buffer_sizes", buffer).to_field_path();
            let error = Error::reference(format!("a planned buffer of {size} bytes, expected no negative size"));
            faults.push(Fault { path, error });
        }
        faults
    }
}
