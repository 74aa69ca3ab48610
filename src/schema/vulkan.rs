//! The schema of Vulkan payloads (`backends/vulkan/serialization/schema.fbs` of ExecuTorch 1.5), file identifier `VK00`.

use crate::flatbuffer::macros::{named, table, union};
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};

pub use super::scalars::{Bool, BoolList, Double, DoubleList, Int, IntList, Null, String};

table! {
    /// The root: a graph of operators.
    pub struct VkGraph<'a> {
        /// `"0"` in every file seen.
        pub version: Option<Text<'a>>,
        /// The operators, in the order of execution.
        pub chain: Option<Vec<OperatorCall<'a>>>,
        /// The values that the operators work on.
        pub values: Option<Vec<VkValue<'a>>>,
        /// The inputs: indices into `values`.
        pub input_ids: Option<Cow<'a, [u32]>>,
        /// The outputs: indices into `values`.
        pub output_ids: Option<Cow<'a, [u32]>>,
        /// The places of the weights.
        pub constants: Option<Vec<VkBytes<'a>>>,
        /// The places of the graph's own shaders.
        pub shaders: Option<Vec<VkBytes<'a>>>,
        /// The storage of tensors that do not set their own.
        pub storage_type_override: VkStorageType = 255,
        /// The memory layout of tensors that do not set their own.
        pub memory_layout_override: VkMemoryLayout = 255,
    }
}

table! {
    /// A call of an operator.
    pub struct OperatorCall<'a> {
        /// The number of the node in the exported graph.
        pub node_id: u32,
        /// The operator's name, such as `aten.linear.default`.
        pub name: Option<Text<'a>>,
        /// Indices into `values`, outputs last.
        pub args: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// A value of the graph.
    pub struct VkValue<'a> {
        /// The value's kind and content.
        pub value: GraphTypes<'a>,
    }
}

union! {
    /// The kinds of values of a graph.
    pub enum GraphTypes<'a>: From {
        /// Python's `None`.
        Null(Null) = 1,
        /// An integer.
        Int(Int) = 2,
        /// A float.
        Double(Double) = 3,
        /// A boolean.
        Bool(Bool) = 4,
        /// A tensor.
        VkTensor(VkTensor<'a>) = 5,
        /// A list of integers.
        IntList(IntList<'a>) = 6,
        /// A list of floats.
        DoubleList(DoubleList<'a>) = 7,
        /// A list of booleans.
        BoolList(BoolList<'a>) = 8,
        /// A list of values, by index.
        ValueList(ValueList<'a>) = 9,
        /// A string.
        String(String<'a>) = 10,
        /// An integer that becomes known at run time.
        SymInt(SymInt) = 11,
    }
}

named! {
    /// The type of a tensor's elements.
    pub struct VkDataType(i8) {
        /// One byte, 0 or 1
        BOOL = 0,
        /// `u8`
        UINT8 = 1,
        /// `i8`
        INT8 = 2,
        /// `i32`
        INT32 = 3,
        /// IEEE half precision
        FLOAT16 = 4,
        /// `f32`
        FLOAT32 = 5,
        /// `f64`
        FLOAT64 = 6,
        /// `i64`
        INT64 = 7,
        /// Not set
        UNSET = 127,
    }
}

named! {
    /// The storage of a tensor on the GPU.
    pub struct VkStorageType(u8) {
        /// A buffer
        BUFFER = 0,
        /// A texture with three dimensions
        TEXTURE_3D = 1,
        /// A texture with two dimensions
        TEXTURE_2D = 2,
        /// The graph's default
        DEFAULT_STORAGE = 255,
    }
}

named! {
    /// The layout of a tensor in memory: the dimension that is packed into the texels of a texture.
    pub struct VkMemoryLayout(u8) {
        /// Width
        TENSOR_WIDTH_PACKED = 0,
        /// Height
        TENSOR_HEIGHT_PACKED = 1,
        /// Channels
        TENSOR_CHANNELS_PACKED = 2,
        /// 8-bit integers: 4 of the width, 4 of the channels
        PACKED_INT8_4W4C = 3,
        /// 8-bit integers: 4 of the height, 4 of the width
        PACKED_INT8_4H4W = 4,
        /// 8-bit integers: 4 of the width
        PACKED_INT8_4W = 5,
        /// 8-bit integers: 4 of the channels
        PACKED_INT8_4C = 6,
        /// 8-bit integers: 4 of the channels, 1 of the width
        PACKED_INT8_4C1W = 8,
        /// 8-bit integers, for convolutions
        PACKED_INT8_CONV2D = 9,
        /// The graph's default
        DEFAULT_LAYOUT = 255,
    }
}

table! {
    /// A tensor.
    pub struct VkTensor<'a> {
        /// The type of the elements.
        pub datatype: VkDataType,
        /// The size of each dimension, in elements.
        pub dims: Option<Cow<'a, [u32]>>,
        /// Index into the graph's constants, or a negative number if the tensor is not constant.
        pub constant_id: i32,
        /// The index of a shared memory object, or a negative number if the tensor has its own memory.
        pub mem_obj_id: i32,
        /// The storage on the GPU.
        pub storage_type: VkStorageType = 255,
        /// The layout in memory.
        pub memory_layout: VkMemoryLayout = 255,
        /// The type of the elements outside the GPU, if it differs.
        pub staging_datatype: VkDataType = 127,
    }
}

table! {
    /// A list of values, by index.
    pub struct ValueList<'a> {
        /// Indices into the graph's `values`.
        pub items: Option<Cow<'a, [i32]>>,
    }
}

table! {
    /// An integer that becomes known at run time.
    #[derive(Copy, Eq)]
    pub struct SymInt {
        /// The number at the time of export.
        pub value: i32,
    }
}

table! {
    /// The place of some bytes.
    #[derive(Eq)]
    pub struct VkBytes<'a> {
        /// The offset from the start of the payload's raw bytes, in bytes, or 2^64 - 1 if the bytes are under `named_key`.
        pub offset: u64,
        /// The length, in bytes.
        pub length: u64,
        /// The key of a named blob.
        pub named_key: Option<Text<'a>>,
    }
}
