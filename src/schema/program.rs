//! The `.pte` schema (`program.fbs` of ExecuTorch 1.5), file identifier `ET12`.

use super::{DataSegment, ScalarType};
use crate::flatbuffer::field::{AlignmentClass, InBox};
use crate::flatbuffer::macros::{named, table, union};
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, boxed::Box, vec::Vec};

/// The alignment class of constants inside the FlatBuffer: `constant_tensor_alignment` of the exporter.
pub(crate) const CONSTANTS: usize = 0;

/// The alignment class of delegate payloads inside the FlatBuffer: `delegate_alignment` of the exporter.
pub(crate) const DELEGATES: usize = 1;

pub use super::scalars::{Bool, BoolList, Double, DoubleList, Int, IntList, Null, String};

table! {
    /// The root: a compiled PyTorch program.
    pub struct Program<'a> {
        /// Always 0; the runtime rejects other versions.
        pub version: u32,
        /// The methods.
        pub execution_plan: Option<Vec<ExecutionPlan<'a>>>,
        /// Constants inside the FlatBuffer, in files before ExecuTorch 0.4. Entry 0 is a placeholder.
        pub constant_buffer: Option<Vec<Buffer<'a>>>,
        /// Delegate payloads inside the FlatBuffer.
        pub backend_delegate_data: Option<Vec<BackendDelegateInlineData<'a>>>,
        /// The data segments after the program.
        pub segments: Option<Vec<DataSegment>>,
        /// The constants: the index of their segment, and their offsets in it. Entry 0 is a placeholder.
        pub constant_segment: Option<SubsegmentOffsets<'a>>,
        /// The initial states of mutable tensors, in the same form.
        pub mutable_data_segments: Option<Vec<SubsegmentOffsets<'a>>>,
        /// Blobs with keys, for delegates.
        pub named_data: Option<Vec<NamedData<'a>>>,
    }
}

table! {
    /// A method.
    pub struct ExecutionPlan<'a> {
        /// The name, unique in its program. Most programs have only `forward`.
        pub name: Option<Text<'a>>,
        /// The containers in which the flat inputs and outputs are nested in Python.
        pub container_meta_type: Option<ContainerMetadata<'a>>,
        /// The values that the method works on. Instructions refer to them by index.
        pub values: Option<Vec<EValue<'a>>>,
        /// The inputs: indices into `values`.
        pub inputs: Option<Cow<'a, [i32]>>,
        /// The outputs: indices into `values`.
        pub outputs: Option<Cow<'a, [i32]>>,
        /// The chains of instructions, exactly one in every file seen.
        pub chains: Option<Vec<Chain<'a>>>,
        /// The kernels, to which each `KernelCall` refers by index.
        pub operators: Option<Vec<Operator<'a>>>,
        /// The delegates, to which each `DelegateCall` refers by index.
        pub delegates: Option<Vec<BackendDelegate<'a>>>,
        /// The sizes of the planned buffers, in bytes. Entry 0 is reserved.
        pub non_const_buffer_sizes: Option<Cow<'a, [i64]>>,
        /// The planned buffers outside the CPU's memory.
        pub non_const_buffer_device: Option<Vec<NonConstBufferDevice>>,
    }
}

table! {
    /// PyTorch's description of the containers around inputs and outputs, as JSON.
    pub struct ContainerMetadata<'a> {
        /// The containers of the inputs.
        pub encoded_inp_str: Option<Text<'a>>,
        /// The containers of the outputs.
        pub encoded_out_str: Option<Text<'a>>,
    }
}

table! {
    /// A value of a method.
    pub struct EValue<'a> {
        /// The value's kind and content.
        pub val: KernelTypes<'a>,
    }
}

union! {
    /// The kinds of values of a method.
    pub enum KernelTypes<'a>: From {
        /// Python's `None`.
        Null(Null) = 1,
        /// An integer.
        Int(Int) = 2,
        /// A boolean.
        Bool(Bool) = 3,
        /// A float.
        Double(Double) = 4,
        /// A tensor.
        Tensor(Tensor<'a>) = 5,
        /// A string.
        String(String<'a>) = 6,
        /// Integers, each a separate value.
        IntList(IntList<'a>) = 7,
        /// Floats.
        DoubleList(DoubleList<'a>) = 8,
        /// Booleans.
        BoolList(BoolList<'a>) = 9,
        /// Tensors, each a separate value.
        TensorList(TensorList<'a>) = 10,
        /// Tensors, each a separate value, some of them missing.
        OptionalTensorList(OptionalTensorList<'a>) = 11,
    }
}

table! {
    /// A list of tensors.
    pub struct TensorList<'a> {
        /// Indices into the method's `values`, each a `Tensor`.
        pub items: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// A list of tensors, some of them missing.
    pub struct OptionalTensorList<'a> {
        /// Indices into the method's `values`, each a `Tensor` or a `Null`, or −1 for a missing tensor.
        pub items: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// A tensor: its shape and the place of its data (see [`crate::Pte::tensor_data`]).
    pub struct Tensor<'a> {
        /// The type of the elements.
        pub scalar_type: ScalarType,
        /// The offset into the storage, in elements; 0 in every valid file.
        pub storage_offset: i32,
        /// The size of each dimension, in elements: an upper bound if the shape is dynamic.
        pub sizes: Option<Cow<'a, [i32]>>,
        /// The dimensions, outermost first: a permutation of 0..rank.
        pub dim_order: Option<Cow<'a, [u8]>>,
        /// Ignored at run time.
        pub requires_grad: bool,
        /// The index of the constant or initial state, or 0 for a tensor without either.
        pub data_buffer_idx: u32,
        /// The place in planned memory, if the tensor has one.
        pub allocation_info: Option<AllocationDetails>,
        /// Ignored at run time.
        pub layout: i8,
        /// Specifies whether the sizes may change at run time.
        pub shape_dynamism: TensorShapeDynamism,
        /// Properties that few tensors have: a name, data outside the file, a device.
        pub extra_tensor_info: Option<Box<ExtraTensorInfo<'a>>> as InBox,
    }
}

table! {
    /// The place of a tensor in planned memory.
    #[derive(Copy, Eq)]
    pub struct AllocationDetails {
        /// Index into `non_const_buffer_sizes`, at least 1.
        pub memory_id: u32,
        /// The low 32 bits of the offset, in bytes.
        pub memory_offset_low: u32,
        /// The high 32 bits of the offset.
        pub memory_offset_high: u32,
    }
}

impl AllocationDetails {
    /// Returns the offset in the planned buffer, in bytes.
    pub fn memory_offset(&self) -> u64 {
        u64::from(self.memory_offset_high) << 32 | u64::from(self.memory_offset_low)
    }
}

named! {
    /// The ways in which a tensor's sizes may change at run time.
    pub struct TensorShapeDynamism(i8) {
        /// The sizes are exact.
        STATIC = 0,
        /// The sizes are upper bounds.
        DYNAMIC_BOUND = 1,
        /// The sizes have no upper bound.
        DYNAMIC_UNBOUND = 2,
    }
}

named! {
    /// The place of a tensor's data.
    pub struct TensorDataLocation(i8) {
        /// In a segment of this file.
        SEGMENT = 0,
        /// In a `.ptd` file, under the tensor's name.
        EXTERNAL = 1,
    }
}

named! {
    /// A kind of device.
    pub struct DeviceType(i8) {
        /// The host.
        CPU = 0,
        /// An NVIDIA GPU.
        CUDA = 1,
    }
}

table! {
    /// Properties that few tensors have.
    pub struct ExtraTensorInfo<'a> {
        /// Index into `mutable_data_segments`.
        pub mutable_data_segments_idx: u64,
        /// The name of the parameter or buffer. If the location is external, it is the key in a `.ptd`.
        pub fully_qualified_name: Option<Text<'a>>,
        /// The place of the data.
        pub location: TensorDataLocation,
        /// The kind of device that holds the tensor.
        pub device_type: DeviceType,
        /// The index of the device among those of its kind.
        pub device_index: i8,
    }
}

table! {
    /// The name of a kernel.
    #[derive(Eq)]
    pub struct Operator<'a> {
        /// The operator, such as `aten::add`.
        pub name: Option<Text<'a>>,
        /// The overload, such as `out`.
        pub overload: Option<Text<'a>>,
    }
}

table! {
    /// A list of instructions.
    pub struct Chain<'a> {
        /// Unused.
        pub inputs: Option<Cow<'a, [i32]>>,
        /// Unused.
        pub outputs: Option<Cow<'a, [i32]>>,
        /// The instructions, run in order.
        pub instructions: Option<Vec<Instruction<'a>>>,
        /// The Python source lines that led to the first instructions: fewer than there are if the method has delegates or branches.
        pub stacktrace: Option<Vec<FrameList<'a>>>,
    }
}

table! {
    /// One instruction.
    pub struct Instruction<'a> {
        /// The instruction's kind and arguments.
        pub instr_args: InstructionArguments<'a>,
    }
}

union! {
    /// The kinds of instructions.
    pub enum InstructionArguments<'a>: From {
        /// Runs a kernel.
        KernelCall(KernelCall<'a>) = 1,
        /// Runs a delegate.
        DelegateCall(DelegateCall<'a>) = 2,
        /// Copies a value.
        MoveCall(MoveCall) = 3,
        /// Jumps if a value is false.
        JumpFalseCall(JumpFalseCall) = 4,
        /// Frees a dynamic tensor's memory.
        FreeCall(FreeCall) = 5,
    }
}

table! {
    /// An instruction that runs a kernel.
    #[derive(Eq)]
    pub struct KernelCall<'a> {
        /// Index into the method's `operators`.
        pub op_index: i32,
        /// Indices into the method's `values`, outputs last.
        pub args: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// An instruction that runs a delegate.
    #[derive(Eq)]
    pub struct DelegateCall<'a> {
        /// Index into the method's `delegates`.
        pub delegate_index: i32,
        /// Indices into the method's `values`, outputs last.
        pub args: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// An instruction that copies a value.
    #[derive(Copy, Eq)]
    pub struct MoveCall {
        /// The source: an index into the method's `values`.
        pub move_from: i32,
        /// The destination: an index into the method's `values`.
        pub move_to: i32,
    }
}

table! {
    /// An instruction that jumps if a value is false.
    #[derive(Copy, Eq)]
    pub struct JumpFalseCall {
        /// The condition: an index into the method's `values`, of a `Bool`.
        pub cond_value_index: i32,
        /// The target of the jump: an index into the chain's `instructions`.
        pub destination_instruction: i32,
    }
}

table! {
    /// An instruction that frees a dynamic tensor's memory.
    #[derive(Copy, Eq)]
    pub struct FreeCall {
        /// Index into the method's `values`, of a `Tensor`.
        pub value_index: i32,
    }
}

table! {
    /// The Python calls that led to an instruction, outermost first.
    #[derive(Eq)]
    pub struct FrameList<'a> {
        /// The calls.
        pub items: Option<Vec<Frame<'a>>>,
    }
}

table! {
    /// A Python call.
    #[derive(Eq)]
    pub struct Frame<'a> {
        /// The source file.
        pub filename: Option<Text<'a>>,
        /// The line number, starting at 1.
        pub lineno: i32,
        /// The function.
        pub name: Option<Text<'a>>,
        /// The text of the line.
        pub context: Option<Text<'a>>,
    }
}

table! {
    /// A part of the method that a backend runs.
    #[derive(Eq)]
    pub struct BackendDelegate<'a> {
        /// The backend's name, such as `XnnpackBackend`.
        pub id: Option<Text<'a>>,
        /// The place of the payload.
        pub processed: Option<BackendDelegateDataReference>,
        /// Settings for the backend.
        pub compile_specs: Option<Vec<CompileSpec<'a>>>,
    }
}

named! {
    /// The list that holds a delegate's payload.
    pub struct DataLocation(i8) {
        /// In `Program.backend_delegate_data`.
        INLINE = 0,
        /// In `Program.segments`.
        SEGMENT = 1,
    }
}

table! {
    /// A reference to a delegate's payload.
    #[derive(Copy, Eq)]
    pub struct BackendDelegateDataReference {
        /// The list that holds the payload.
        pub location: DataLocation,
        /// Index into that list.
        pub index: u32,
    }
}

table! {
    /// A setting for a backend.
    #[derive(Eq)]
    pub struct CompileSpec<'a> {
        /// The name of the setting.
        pub key: Option<Text<'a>>,
        /// The value, as bytes in the backend's own format.
        pub value: Option<Cow<'a, [u8]>>,
    }
}

table! {
    /// A planned buffer outside the CPU's memory.
    #[derive(Copy, Eq)]
    pub struct NonConstBufferDevice {
        /// Index into `non_const_buffer_sizes`.
        pub buffer_idx: i32,
        /// The kind of device.
        pub device_type: DeviceType,
        /// The index of the device among those of its kind.
        pub device_index: i8,
    }
}

table! {
    /// A constant inside the FlatBuffer, aligned to 16 bytes.
    #[derive(Eq)]
    pub struct Buffer<'a> {
        /// The bytes of the constant.
        pub storage: Option<Cow<'a, [u8]>> as AlignmentClass<CONSTANTS, 16>,
    }
}

table! {
    /// A delegate's payload inside the FlatBuffer, aligned to 16 bytes.
    #[derive(Eq)]
    pub struct BackendDelegateInlineData<'a> {
        /// The bytes of the payload.
        pub data: Option<Cow<'a, [u8]>> as AlignmentClass<DELEGATES, 16>,
    }
}

table! {
    /// The offsets of the tensors in a segment.
    #[derive(Eq)]
    pub struct SubsegmentOffsets<'a> {
        /// Index into `segments`.
        pub segment_index: u32,
        /// The offset of each tensor from the segment's start, in bytes. The tensors themselves give the sizes.
        pub offsets: Option<Cow<'a, [u64]>>,
    }
}

table! {
    /// A blob with a key.
    #[derive(Eq)]
    pub struct NamedData<'a> {
        /// The key.
        pub key: Option<Text<'a>>,
        /// Index into `segments`.
        pub segment_index: u32,
    }
}
