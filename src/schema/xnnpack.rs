//! The schema of XNNPACK payloads (`runtime_schema.fbs` of ExecuTorch 1.5, a superset of `schema.fbs`). The file identifier is
//! `XN01`, before ExecuTorch 0.2 `XN00`.
//!
//! Nodes refer to values by id, [`XNNTensorValue::id_out`]; [`NO_ID`] stands for no value.
//! [`delegate::xnnpack`](crate::delegate::xnnpack) describes the layout of a payload and the places of its constants.

mod nodes;

pub use nodes::*;

use crate::flatbuffer::field::{ForceAlign, Present};
use crate::flatbuffer::macros::{named, table, union};
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};

/// The id for no value: an absent bias, or the `external_id` of a value that is not external.
pub const NO_ID: u32 = u32::MAX;

/// A flag in [`XNNTensorValue::flags`]: an input of the graph.
pub const EXTERNAL_INPUT: u32 = 1;

/// A flag in [`XNNTensorValue::flags`]: an output of the graph.
pub const EXTERNAL_OUTPUT: u32 = 2;

table! {
    /// The root: a graph of operators.
    pub struct XNNGraph<'a> {
        /// `"0"` in every file. Readers ignore it.
        pub version: Option<Text<'a>>,
        /// The operators, in the order of execution.
        pub xnodes: Option<Vec<XNode<'a>>>,
        /// The tensors that the operators work on.
        pub xvalues: Option<Vec<XValue<'a>>>,
        /// The number of inputs and outputs together, which is the number of arguments of the delegate's call.
        pub num_externs: u32,
        /// The ids of the inputs. The runtime ignores them.
        pub input_ids: Option<Cow<'a, [u32]>>,
        /// The ids of the outputs. The runtime ignores them.
        pub output_ids: Option<Cow<'a, [u32]>>,
        /// Constants inside the FlatBuffer, before ExecuTorch 0.2. Entry 0 is a placeholder.
        pub constant_buffer: Option<Vec<Buffer<'a>>>,
        /// Sizes of memory, before ExecuTorch 0.2.
        pub mem_buffer_sizes: Option<Cow<'a, [u32]>>,
        /// The places of the constants. Entry 0 is a placeholder.
        pub constant_data: Option<Vec<ConstantDataOffset<'a>>>,
    }
}

table! {
    /// A constant inside the FlatBuffer.
    #[derive(Eq)]
    pub struct Buffer<'a> {
        /// The bytes of the constant.
        pub storage: Option<Cow<'a, [u8]>> as ForceAlign<16>,
    }
}

table! {
    /// The place of a constant.
    #[derive(Eq)]
    pub struct ConstantDataOffset<'a> {
        /// The offset from the start of the constant data in bytes, or 2^64 - 1 if the constant has a key.
        pub offset: u64,
        /// The size, in bytes.
        pub size: u64,
        /// The key in the named data of the `.pte` or a `.ptd`. If it is present, even if empty, the offset is ignored.
        pub named_key: Option<Text<'a>>,
    }
}

table! {
    /// A tensor.
    pub struct XValue<'a> {
        /// The value's kind and content.
        pub xvalue_union: XValueUnion<'a>,
    }
}

union! {
    /// The kinds of values.
    pub enum XValueUnion<'a>: From {
        /// A tensor of plain numbers.
        XNNTensorValue(XNNTensorValue<'a>) = 1,
        /// A tensor of quantized numbers.
        XNNQuantizedTensorValue(XNNQuantizedTensorValue<'a>) = 2,
    }
}

table! {
    /// A tensor: its type, its shape, and its role in the graph.
    pub struct XNNTensorValue<'a> {
        /// The type of the elements.
        pub datatype: XNNDatatype,
        /// The length of `dims`. The runtime ignores it.
        pub num_dims: u32,
        /// The size of each dimension, in elements: the largest size if the shape is dynamic.
        pub dims: Option<Cow<'a, [u32]>>,
        /// The index of the constant, or 0 if the tensor is not constant.
        pub constant_buffer_idx: u32,
        /// The index among the arguments of the delegate's call, or [`NO_ID`] for a value inside the graph.
        pub external_id: u32,
        /// [`EXTERNAL_INPUT`], [`EXTERNAL_OUTPUT`] or 0.
        pub flags: u32,
        /// The id by which nodes refer to the value: its own index in every file.
        pub id_out: u32,
        /// The type to which it is quantized at run time, before ExecuTorch 0.2. Not in `schema.fbs`.
        pub dq_datatype: Option<XNNDatatype> as Present,
    }
}

table! {
    /// A tensor of quantized numbers.
    pub struct XNNQuantizedTensorValue<'a> {
        /// The type, shape and role of the tensor.
        pub tensor_value: Option<XNNTensorValue<'a>>,
        /// The parameters of quantization.
        pub quant_params: XNNQuantParams<'a>,
    }
}

union! {
    /// The kinds of quantization.
    pub enum XNNQuantParams<'a>: From {
        /// One scale for each channel.
        PerChannelQuant(PerChannelQuant<'a>) = 1,
        /// One scale and zero point.
        PerTensorQuant(PerTensorQuant) = 2,
        /// One scale for each row, computed at run time.
        PerTokenDynamicQuant(PerTokenDynamicQuant) = 3,
        /// One scale for each group of a channel.
        PerChannelGroupQuant(PerChannelGroupQuant<'a>) = 4,
    }
}

table! {
    /// One scale for each channel.
    pub struct PerChannelQuant<'a> {
        /// The scales, up to ExecuTorch 0.6; empty if `scale_buffer_idx` is not 0.
        pub scale: Option<Cow<'a, [f32]>>,
        /// The dimension of the channels.
        pub channel_dim: i32,
        /// The index of the constant that holds the scales, or 0 if they are in this table.
        pub scale_buffer_idx: u32,
        /// The number of scales in that constant, 4 bytes each (f32).
        pub num_scales: u32,
    }
}

table! {
    /// One scale and zero point.
    #[derive(Copy)]
    pub struct PerTensorQuant {
        /// The difference between the numbers of two neighbouring elements.
        pub scale: f32,
        /// The element that stands for 0.
        pub zero_point: i32,
    }
}

table! {
    /// One scale for each row, computed at run time.
    #[derive(Copy, Eq)]
    pub struct PerTokenDynamicQuant {
        /// The number of last dimensions that share a scale.
        pub num_nonbatch_dims: i32,
    }
}

table! {
    /// One scale for each group of a channel.
    pub struct PerChannelGroupQuant<'a> {
        /// The scales, up to ExecuTorch 0.6; empty if `scale_buffer_idx` is not 0.
        pub scale: Option<Cow<'a, [f32]>>,
        /// The dimension of the channels.
        pub channel_dim: i32,
        /// The number of elements that share a scale.
        pub group_size: i32,
        /// The scales as bfloat16, in ExecuTorch 0.4 to 0.6. Deprecated: the runtime ignores the field since 0.7.
        pub scale_bf16: Option<Cow<'a, [u16]>>,
        /// The index of the constant that holds the scales, or 0 if they are in this table.
        pub scale_buffer_idx: u32,
        /// The number of scales in that constant, 2 bytes each (bfloat16).
        pub num_scales: u32,
    }
}

named! {
    /// The type of a tensor's elements.
    pub struct XNNDatatype(i16) {
        /// Not valid
        INVALID("xnn_datatype_invalid") = 0,
        /// IEEE single precision, 4 bytes
        FP32("xnn_datatype_fp32") = 1,
        /// IEEE half precision, 2 bytes
        FP16("xnn_datatype_fp16") = 2,
        /// Signed 8-bit, one scale
        QINT8("xnn_datatype_qint8") = 3,
        /// Unsigned 8-bit, one scale
        QUINT8("xnn_datatype_quint8") = 4,
        /// Signed 32-bit, one scale
        QINT32("xnn_datatype_qint32") = 5,
        /// Signed 8-bit, a scale for each channel
        QCINT8("xnn_datatype_qcint8") = 6,
        /// Signed 32-bit, a scale for each channel
        QCINT32("xnn_datatype_qcint32") = 7,
        /// 4-bit, two to a byte, a scale for each channel
        QCINT4("xnn_datatype_qcint4") = 8,
        /// Signed 8-bit, quantized at run time
        QDINT8("xnn_datatype_qdint8") = 9,
        /// 4-bit, two to a byte, a scale for each group
        QBINT4("xnn_datatype_qbint4") = 10,
        /// Signed 8-bit, packed for a kernel
        QPINT8("xnn_datatype_qpint8") = 11,
        /// Signed 32-bit
        INT32("xnn_datatype_int32") = 12,
        /// IEEE single precision, packed for a kernel
        PFP32("xnn_datatype_pfp32") = 13,
        /// bfloat16, 2 bytes
        BF16("xnn_datatype_bf16") = 14,
    }
}

table! {
    /// An operator.
    pub struct XNode<'a> {
        /// The operator's kind and arguments.
        pub xnode_union: XNodeUnion<'a>,
        /// The handle of the exported graph's node from which it was made, or 65535 for a node that the exporter's passes added.
        pub debug_handle: u32,
        /// The range to which the output is clamped, if any.
        pub output_min_max: Option<OutputMinMax>,
    }
}

table! {
    /// The range to which an output is clamped.
    #[derive(Copy)]
    pub struct OutputMinMax {
        /// The smallest value.
        pub output_min: f32,
        /// The largest value.
        pub output_max: f32,
    }
}

union! {
    /// The kinds of nodes.
    pub enum XNodeUnion<'a> {
        /// Adds.
        XNNAdd(XNNNode2x1) = 1,
        /// Multiplies by a matrix of weights.
        XNNFullyConnected(XNNFullyConnected) = 2,
        /// Softmax over the last dimension.
        XNNSoftmax(XNNNode1x1) = 3,
        /// The logistic function.
        XNNSigmoid(XNNNode1x1) = 4,
        /// Permutes dimensions.
        XNNStaticTranspose(XNNStaticTranspose<'a>) = 5,
        /// Clamps to `output_min_max`.
        XNNClamp(XNNNode1x1) = 6,
        /// A two-dimensional convolution.
        XNNConv2d(XNNNodeConv) = 7,
        /// Divides.
        XNNDiv(XNNNode2x1) = 8,
        /// Resizes images.
        XNNStaticResizeBilinear2D(XNNStaticResizeBilinear2D) = 9,
        /// Pads with a constant.
        XNNStaticConstantPad(XNNStaticConstantPad<'a>) = 10,
        /// The mean of each window.
        XNNAvgPooling2d(XNNPooling2D) = 11,
        /// The elementwise minimum.
        XNNMinimum(XNNNode2x1) = 12,
        /// A depthwise convolution: each channel alone.
        XNNDepthwiseConv2d(XNNNodeConv) = 13,
        /// The largest element of each window.
        XNNMaxPooling2d(XNNPooling2D) = 14,
        /// Multiplies.
        XNNMultiply(XNNNode2x1) = 15,
        /// Subtracts.
        XNNSubtract(XNNNode2x1) = 16,
        /// Rounds down.
        XNNFloor(XNNNode1x1) = 17,
        /// Converts to the output's type.
        XNNConvert(XNNNode1x1) = 18,
        /// The mean of each channel.
        XNNGlobalAvgPooling2d(XNNNode1x1) = 19,
        /// Changes the shape.
        XNNStaticReshape(XNNStaticReshape<'a>) = 20,
        /// The largest element of each window, and its index.
        XNNArgMaxPooling2d(XNNArgMaxPooling2d) = 21,
        /// The square root.
        XNNSquareRoot(XNNNode1x1) = 22,
        /// Rounds up.
        XNNCeiling(XNNNode1x1) = 23,
        /// Hardswish.
        XNNHardswish(XNNNode1x1) = 24,
        /// ReLU with a slope below 0.
        XNNLeakyReLU(XNNLeakyReLU) = 25,
        /// The elementwise maximum.
        XNNMaximum(XNNNode2x1) = 26,
        /// Changes the sign.
        XNNNegate(XNNNode1x1) = 27,
        /// Squares.
        XNNSquare(XNNNode1x1) = 28,
        /// The exponential linear unit.
        XNNELU(XNNELU) = 29,
        /// The absolute value.
        XNNAbs(XNNNode1x1) = 30,
        /// ReLU with a slope for each channel.
        XNNPReLU(XNNNode2x1) = 31,
        /// Concatenates two tensors.
        XNNConcatenate2(XNNCat) = 32,
        /// Concatenates three tensors.
        XNNConcatenate3(XNNCat) = 33,
        /// Concatenates four tensors.
        XNNConcatenate4(XNNCat) = 34,
        /// Takes a slice.
        XNNStaticSlice(XNNStaticSlice<'a>) = 35,
        /// Attention. No runtime since ExecuTorch 0.7 supports it.
        XNNScaledDotProductAttention(XNNScaledDotProductAttention) = 36,
        /// Multiplies matrices.
        XNNBatchMatrixMultiply(XNNNode2x1) = 37,
        /// Concatenates five tensors.
        XNNConcatenate5(XNNCat) = 38,
        /// A transposed two-dimensional convolution.
        XNNConvTranspose2d(XNNNodeConv) = 39,
        /// 1 over the square root.
        XNNReciprocalSquareRoot(XNNNode1x1) = 40,
        /// The natural logarithm.
        XNNLog(XNNNode1x1) = 41,
        /// GELU.
        XNNGelu(XNNNode1x1) = 42,
        /// The hyperbolic tangent.
        XNNTanh(XNNNode1x1) = 43,
        /// The exponential function.
        XNNExp(XNNNode1x1) = 44,
        /// The sine.
        XNNSin(XNNNode1x1) = 45,
        /// Copies.
        XNNCopy(XNNNode1x1) = 46,
        /// The cosine.
        XNNCos(XNNNode1x1) = 47,
    }
}
