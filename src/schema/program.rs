//! The `.pte` schema (`program.fbs` of ExecuTorch 1.5), file identifier `ET12`.

use super::{DataSegment, ScalarType};
use crate::flatbuffer::field::{AlignmentClass, InBox};
use crate::flatbuffer::macros::hot::{named, table, union};
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, boxed::Box, vec::Vec};

/// Constants inside the FlatBuffer: `constant_tensor_alignment` of the exporter.
pub(crate) const CONSTANTS: usize = 0;

/// Delegate payloads inside the FlatBuffer: `delegate_alignment` of the exporter.
pub(crate) const DELEGATES: usize = 1;

table! {
    /// The root: a compiled PyTorch program.
    pub struct Program<'a> {
        /// 0; the runtime rejects any other.
        pub version: u32,
        /// The methods.
        pub execution_plan: Option<Vec<ExecutionPlan<'a>>>,
        /// Constants inside the FlatBuffer (files before 0.4); entry 0 is a placeholder.
        pub constant_buffer: Option<Vec<Buffer<'a>>>,
        /// Delegate payloads inside the FlatBuffer.
        pub backend_delegate_data: Option<Vec<BackendDelegateInlineData<'a>>>,
        /// The data segments after the program.
        pub segments: Option<Vec<DataSegment>>,
        /// The constants: a segment and where in it each one starts; entry 0 is a placeholder.
        pub constant_segment: Option<SubsegmentOffsets<'a>>,
        /// The initial states of mutable tensors, in the same form.
        pub mutable_data_segments: Option<Vec<SubsegmentOffsets<'a>>>,
        /// Blobs with names.
        pub named_data: Option<Vec<NamedData<'a>>>,
    }
}

table! {
    /// One method.
    pub struct ExecutionPlan<'a> {
        /// Unique in its program; most have just `forward`.
        pub name: Option<Text<'a>>,
        /// How the flat inputs and outputs are nested in containers in Python.
        pub container_meta_type: Option<ContainerMetadata<'a>>,
        /// Everything that the method works on; instructions refer to these by index.
        pub values: Option<Vec<EValue<'a>>>,
        /// Indices into `values`.
        pub inputs: Option<Cow<'a, [i32]>>,
        /// Indices into `values`.
        pub outputs: Option<Cow<'a, [i32]>>,
        /// The instructions: one chain in every file seen.
        pub chains: Option<Vec<Chain<'a>>>,
        /// The kernels that `KernelCall` refers to.
        pub operators: Option<Vec<Operator<'a>>>,
        /// The delegates that `DelegateCall` refers to.
        pub delegates: Option<Vec<BackendDelegate<'a>>>,
        /// The sizes of the planned buffers, in bytes; entry 0 is reserved.
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
    /// One value of a method.
    pub struct EValue<'a> {
        /// What it is.
        pub val: KernelTypes<'a>,
    }
}

union! {
    /// What a value of a method can be.
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
    /// Python's `None`.
    #[derive(Copy, Eq)]
    pub struct Null {}
}

table! {
    /// An integer.
    #[derive(Copy, Eq)]
    pub struct Int {
        /// The number.
        pub int_val: i64,
    }
}

table! {
    /// A boolean.
    #[derive(Copy, Eq)]
    pub struct Bool {
        /// True or false.
        pub bool_val: bool,
    }
}

table! {
    /// A float.
    #[derive(Copy)]
    pub struct Double {
        /// The number.
        pub double_val: f64,
    }
}

table! {
    /// A string.
    pub struct String<'a> {
        /// The text.
        pub string_val: Option<Text<'a>>,
    }
}

table! {
    /// Integers.
    pub struct IntList<'a> {
        /// Indices into the method's `values`, each an `Int`.
        pub items: Option<Cow<'a, [i64]>>,
    }
}

table! {
    /// Floats.
    pub struct DoubleList<'a> {
        /// The numbers themselves.
        pub items: Option<Cow<'a, [f64]>>,
    }
}

table! {
    /// Booleans.
    pub struct BoolList<'a> {
        /// The booleans themselves.
        pub items: Option<Cow<'a, [bool]>>,
    }
}

table! {
    /// Tensors.
    pub struct TensorList<'a> {
        /// Indices into the method's `values`, each a `Tensor`.
        pub items: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// Tensors, some of them missing.
    pub struct OptionalTensorList<'a> {
        /// Indices into the method's `values`, each a `Tensor` or a `Null`; −1 for a missing one.
        pub items: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// A tensor: its shape, and where its data is (see [`crate::Pte::tensor_data`]).
    pub struct Tensor<'a> {
        /// The type of the elements.
        pub scalar_type: ScalarType,
        /// In elements; 0 in every valid file.
        pub storage_offset: i32,
        /// The size of each dimension, in elements: an upper bound if the shape is dynamic.
        pub sizes: Option<Cow<'a, [i32]>>,
        /// The dimensions, outermost first: a permutation of 0..rank.
        pub dim_order: Option<Cow<'a, [u8]>>,
        /// Ignored at run time.
        pub requires_grad: bool,
        /// The index of the constant or initial state; 0 if there is none.
        pub data_buffer_idx: u32,
        /// Where it is in planned memory; `None` if it is not there.
        pub allocation_info: Option<AllocationDetails>,
        /// Ignored at run time.
        pub layout: i8,
        /// Whether the sizes may change at run time.
        pub shape_dynamism: TensorShapeDynamism,
        /// Properties that few tensors have: a name, data outside the file, a device.
        pub extra_tensor_info: Option<Box<ExtraTensorInfo<'a>>> as InBox,
    }
}

table! {
    /// Where a tensor is in planned memory.
    #[derive(Copy, Eq)]
    pub struct AllocationDetails {
        /// Index into `non_const_buffer_sizes`, from 1.
        pub memory_id: u32,
        /// The low half of the offset, in bytes.
        pub memory_offset_low: u32,
        /// The high half of the offset.
        pub memory_offset_high: u32,
    }
}

impl AllocationDetails {
    /// The offset inside the planned buffer, in bytes.
    pub fn memory_offset(&self) -> u64 {
        u64::from(self.memory_offset_high) << 32 | u64::from(self.memory_offset_low)
    }
}

named! {
    /// Whether a tensor's sizes may change at run time.
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
    /// Where a tensor's data is.
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
        /// The name of the parameter or buffer: the key in a `.ptd` if the location is external.
        pub fully_qualified_name: Option<Text<'a>>,
        /// Where the data is.
        pub location: TensorDataLocation,
        /// The kind of device that holds the tensor.
        pub device_type: DeviceType,
        /// Which device of that kind.
        pub device_index: i8,
    }
}

table! {
    /// The name of a kernel.
    #[derive(Eq)]
    pub struct Operator<'a> {
        /// Such as `aten::add`.
        pub name: Option<Text<'a>>,
        /// Such as `out`.
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
        /// The Python source lines of each instruction.
        pub stacktrace: Option<Vec<FrameList<'a>>>,
    }
}

table! {
    /// One instruction.
    pub struct Instruction<'a> {
        /// What it does.
        pub instr_args: InstructionArguments<'a>,
    }
}

union! {
    /// What an instruction can be.
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
    /// Runs a kernel.
    #[derive(Eq)]
    pub struct KernelCall<'a> {
        /// Index into the method's `operators`.
        pub op_index: i32,
        /// Indices into the method's `values`, outputs last.
        pub args: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// Runs a delegate.
    #[derive(Eq)]
    pub struct DelegateCall<'a> {
        /// Index into the method's `delegates`.
        pub delegate_index: i32,
        /// Indices into the method's `values`, outputs last.
        pub args: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// Copies a value.
    #[derive(Copy, Eq)]
    pub struct MoveCall {
        /// Index into the method's `values`.
        pub move_from: i32,
        /// Index into the method's `values`.
        pub move_to: i32,
    }
}

table! {
    /// Jumps if a value is false.
    #[derive(Copy, Eq)]
    pub struct JumpFalseCall {
        /// Index into the method's `values`: a `Bool`.
        pub cond_value_index: i32,
        /// Index into the chain's `instructions`.
        pub destination_instruction: i32,
    }
}

table! {
    /// Frees a dynamic tensor's memory.
    #[derive(Copy, Eq)]
    pub struct FreeCall {
        /// Index into the method's `values`: a `Tensor`.
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
    /// One Python call.
    #[derive(Eq)]
    pub struct Frame<'a> {
        /// The source file.
        pub filename: Option<Text<'a>>,
        /// The line, from 1.
        pub lineno: i32,
        /// The function.
        pub name: Option<Text<'a>>,
        /// The line's text.
        pub context: Option<Text<'a>>,
    }
}

table! {
    /// A part of the method that a backend runs.
    #[derive(Eq)]
    pub struct BackendDelegate<'a> {
        /// The backend's name, such as `XnnpackBackend`.
        pub id: Option<Text<'a>>,
        /// Where its payload is.
        pub processed: Option<BackendDelegateDataReference>,
        /// Settings for the backend.
        pub compile_specs: Option<Vec<CompileSpec<'a>>>,
    }
}

named! {
    /// Where a delegate's payload is.
    pub struct DataLocation(i8) {
        /// In `Program.backend_delegate_data`.
        INLINE = 0,
        /// In `Program.segments`.
        SEGMENT = 1,
    }
}

table! {
    /// Where a delegate's payload is.
    #[derive(Copy, Eq)]
    pub struct BackendDelegateDataReference {
        /// The list that it is in.
        pub location: DataLocation,
        /// Index into that list.
        pub index: u32,
    }
}

table! {
    /// One setting for a backend.
    #[derive(Eq)]
    pub struct CompileSpec<'a> {
        /// Its name.
        pub key: Option<Text<'a>>,
        /// Its value: bytes that the backend understands.
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
        /// Which device of that kind.
        pub device_index: i8,
    }
}

table! {
    /// A constant inside the FlatBuffer, aligned to 16.
    #[derive(Eq)]
    pub struct Buffer<'a> {
        /// Its bytes.
        pub storage: Option<Cow<'a, [u8]>> as AlignmentClass<CONSTANTS, 16>,
    }
}

table! {
    /// A delegate's payload inside the FlatBuffer, aligned to 16.
    #[derive(Eq)]
    pub struct BackendDelegateInlineData<'a> {
        /// Its bytes.
        pub data: Option<Cow<'a, [u8]>> as AlignmentClass<DELEGATES, 16>,
    }
}

table! {
    /// Where the tensors inside a segment start.
    #[derive(Eq)]
    pub struct SubsegmentOffsets<'a> {
        /// Index into `segments`.
        pub segment_index: u32,
        /// Bytes from the segment's start, one for each tensor; the sizes are those of the tensors.
        pub offsets: Option<Cow<'a, [u64]>>,
    }
}

table! {
    /// A blob with a name.
    #[derive(Eq)]
    pub struct NamedData<'a> {
        /// Its name.
        pub key: Option<Text<'a>>,
        /// Index into `segments`.
        pub segment_index: u32,
    }
}
