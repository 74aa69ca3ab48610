//! The schema of ETDumps (`etdump_schema_flatcc.fbs`, the same since ExecuTorch 0.4), file identifier `ED00`.

use super::ScalarType;
use crate::flatbuffer::macros::{named, table};
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};

pub use super::scalars::{Bool, Double, Int};

table! {
    /// The root: the events that the runtime recorded.
    pub struct ETDump<'a> {
        /// 0 in every file seen.
        pub version: u32,
        /// The blocks of events, in the order in which they began.
        pub run_data: Option<Vec<RunData<'a>>>,
    }
}

table! {
    /// A block of events: `Default` for the loading of a method, `Execute` for one run of it.
    pub struct RunData<'a> {
        /// The name of the block.
        pub name: Option<Text<'a>>,
        /// The index of the test case of a bundled program that was loaded before, or -1 for none.
        pub bundled_input_index: i32 = -1,
        /// The allocators that the application tracks.
        pub allocators: Option<Vec<Allocator<'a>>>,
        /// The events, in the order in which they ended.
        pub events: Option<Vec<Event<'a>>>,
    }
}

table! {
    /// An allocator that the application tracks.
    pub struct Allocator<'a> {
        /// The name of the allocator.
        pub name: Option<Text<'a>>,
    }
}

table! {
    /// One event: exactly one of its fields is present.
    pub struct Event<'a> {
        /// A measured duration.
        pub profile_event: Option<ProfileEvent<'a>>,
        /// An allocation of memory.
        pub allocation_event: Option<AllocationEvent>,
        /// A value of the run.
        pub debug_event: Option<DebugEvent<'a>>,
    }
}

table! {
    /// The duration of an instruction, a part of it, or a whole method.
    pub struct ProfileEvent<'a> {
        /// The name of the timed operation, such as `OPERATOR_CALL` or `Method::execute`; absent in an event of a delegate.
        pub name: Option<Text<'a>>,
        /// The chain of the instruction, or -1 if the event is not about an instruction.
        pub chain_index: i32,
        /// Index into the chain's instructions.
        pub instruction_id: i32 = -1,
        /// A delegate's own number for the event, or -1 for none.
        pub delegate_debug_id_int: i32 = -1,
        /// A delegate's own name for the event.
        pub delegate_debug_id_str: Option<Text<'a>>,
        /// Data that a delegate adds, in a format of its own.
        pub delegate_debug_metadata: Option<Cow<'a, [u8]>>,
        /// The start, in ticks of the platform's clock.
        pub start_time: u64,
        /// The end, in ticks of the platform's clock.
        pub end_time: u64,
    }
}

table! {
    /// An allocation.
    #[derive(Copy, Eq)]
    pub struct AllocationEvent {
        /// Index into the block's allocators.
        pub allocator_id: i32,
        /// The size, in bytes.
        pub allocation_size: u64,
    }
}

table! {
    /// A value that an instruction or a whole method wrote.
    pub struct DebugEvent<'a> {
        /// The chain of the instruction, or 2^64 - 1 if the event is not about an instruction.
        pub chain_index: u64,
        /// Index into the chain's instructions.
        pub instruction_id: i32 = -1,
        /// The value.
        pub debug_entry: Option<Value<'a>>,
        /// A delegate's own number for the event, or -1 for none.
        pub delegate_debug_id_int: i32 = -1,
        /// A delegate's own name for the event.
        pub delegate_debug_id_str: Option<Text<'a>>,
        /// The name of the operation that wrote the value.
        pub name: Option<Text<'a>>,
    }
}

named! {
    /// The kind of a [`Value`], which selects one of its fields.
    pub struct ValueType(i8) {
        /// Python's `None`.
        NULL("Null") = 0,
        /// `int_value`
        INT("Int") = 1,
        /// `bool_value`
        BOOL("Bool") = 2,
        /// `float_value`
        FLOAT("Float") = 3,
        /// `double_value`
        DOUBLE("Double") = 4,
        /// `tensor`
        TENSOR("Tensor") = 5,
        /// `tensor_list`
        TENSOR_LIST("TensorList") = 6,
        /// A string; the table has no field for it.
        STRING("String") = 7,
    }
}

table! {
    /// A value of a run.
    pub struct Value<'a> {
        /// The kind of the value, which selects one of the other fields.
        pub val: ValueType,
        /// A tensor.
        pub tensor: Option<Tensor<'a>>,
        /// Tensors.
        pub tensor_list: Option<TensorList<'a>>,
        /// An integer.
        pub int_value: Option<Int>,
        /// A 32-bit float.
        pub float_value: Option<Float>,
        /// A 64-bit float.
        pub double_value: Option<Double>,
        /// A boolean.
        pub bool_value: Option<Bool>,
        /// `true` if the value is an output of the method.
        pub output: Option<Bool>,
    }
}

table! {
    /// A tensor whose bytes are in the debug buffer, which is a separate file.
    pub struct Tensor<'a> {
        /// The type of the elements.
        pub scalar_type: ScalarType,
        /// The size of each dimension, in elements.
        pub sizes: Option<Cow<'a, [i64]>>,
        /// The distance between neighbours in each dimension, in elements.
        pub strides: Option<Cow<'a, [i64]>>,
        /// Bytes from the start of the debug buffer.
        pub offset: i64,
    }
}

table! {
    /// Tensors.
    pub struct TensorList<'a> {
        /// The tensors.
        pub tensors: Option<Vec<Tensor<'a>>>,
    }
}

table! {
    /// A 32-bit float.
    #[derive(Copy)]
    pub struct Float {
        /// The number.
        pub float_val: f32,
    }
}
