//! The same walk over this crate's tree, with the same checksum. It reads the fields of the structs directly, as users do. The compiler
//! checks that it covers all fields.

use crate::{Walk, walk_list};
use executorch_format::Text;
use executorch_format::schema::program::{self, *};
use executorch_format::schema::{DataSegment, FlatTensor, Program, ScalarType, flat_tensor};
use std::borrow::Cow;

impl<T: Walk> Walk for &T {
    #[inline]
    fn walk(&self) -> u64 {
        (**self).walk()
    }
}

impl<T: Walk> Walk for Box<T> {
    #[inline]
    fn walk(&self) -> u64 {
        (**self).walk()
    }
}

impl<T: Walk> Walk for Vec<T> {
    #[inline]
    fn walk(&self) -> u64 {
        walk_list(self.len(), self.iter())
    }
}

impl<T: Walk + Clone> Walk for Cow<'_, [T]> {
    #[inline]
    fn walk(&self) -> u64 {
        walk_list(self.len(), self.iter())
    }
}

impl Walk for Text<'_> {
    #[inline]
    fn walk(&self) -> u64 {
        self.len() as u64
    }
}

macro_rules! structs {
    ($( $name:path { $($field:ident),* } )*) => {$(
        impl Walk for $name {
            #[inline]
            fn walk(&self) -> u64 {
                let Self { $($field),* } = self;
                0u64 $( .wrapping_add($field.walk()) )*
            }
        }
    )*};
}

structs! {
    DataSegment { offset, size }
    Program<'_> {
        version, execution_plan, constant_buffer, backend_delegate_data, segments, constant_segment,
        mutable_data_segments, named_data
    }
    ExecutionPlan<'_> {
        name, container_meta_type, values, inputs, outputs, chains, operators, delegates, non_const_buffer_sizes,
        non_const_buffer_device
    }
    ContainerMetadata<'_> { encoded_inp_str, encoded_out_str }
    EValue<'_> { val }
    Null {}
    Int { int_val }
    Bool { bool_val }
    Double { double_val }
    program::String<'_> { string_val }
    IntList<'_> { items }
    DoubleList<'_> { items }
    BoolList<'_> { items }
    TensorList<'_> { items }
    OptionalTensorList<'_> { items }
    Tensor<'_> {
        scalar_type, storage_offset, sizes, dim_order, requires_grad, data_buffer_idx, allocation_info, layout,
        shape_dynamism, extra_tensor_info
    }
    AllocationDetails { memory_id, memory_offset_low, memory_offset_high }
    ExtraTensorInfo<'_> { mutable_data_segments_idx, fully_qualified_name, location, device_type, device_index }
    Operator<'_> { name, overload }
    Chain<'_> { inputs, outputs, instructions, stacktrace }
    Instruction<'_> { instr_args }
    KernelCall<'_> { op_index, args }
    DelegateCall<'_> { delegate_index, args }
    MoveCall { move_from, move_to }
    JumpFalseCall { cond_value_index, destination_instruction }
    FreeCall { value_index }
    FrameList<'_> { items }
    Frame<'_> { filename, lineno, name, context }
    BackendDelegate<'_> { id, processed, compile_specs }
    BackendDelegateDataReference { location, index }
    CompileSpec<'_> { key, value }
    NonConstBufferDevice { buffer_idx, device_type, device_index }
    Buffer<'_> { storage }
    BackendDelegateInlineData<'_> { data }
    SubsegmentOffsets<'_> { segment_index, offsets }
    program::NamedData<'_> { key, segment_index }
    flat_tensor::NamedData<'_> { key, segment_index, tensor_layout }
    flat_tensor::TensorLayout<'_> { scalar_type, sizes, dim_order }
}

/// Leaves out the fields of the early schemas, which the peer does not support.
impl Walk for FlatTensor<'_> {
    #[inline]
    fn walk(&self) -> u64 {
        let Self { version, segments, named_data, legacy: _ } = self;
        version.walk().wrapping_add(segments.walk()).wrapping_add(named_data.walk())
    }
}

macro_rules! enums {
    ($($name:ident)*) => {$(
        impl Walk for $name {
            #[inline]
            fn walk(&self) -> u64 {
                self.0.walk()
            }
        }
    )*};
}

enums! { ScalarType TensorShapeDynamism TensorDataLocation DeviceType DataLocation }

macro_rules! unions {
    ($( $name:ident { $( $tag:literal $member:ident )* } )*) => {$(
        impl Walk for $name<'_> {
            #[inline]
            fn walk(&self) -> u64 {
                match self {
                    $( Self::$member(member) => member.walk().wrapping_add($tag), )*
                    other => other.tag().into(),
                }
            }
        }
    )*};
}

unions! {
    KernelTypes {
        1 Null 2 Int 3 Bool 4 Double 5 Tensor 6 String 7 IntList 8 DoubleList 9 BoolList 10 TensorList
        11 OptionalTensorList
    }
    InstructionArguments { 1 KernelCall 2 DelegateCall 3 MoveCall 4 JumpFalseCall 5 FreeCall }
}
