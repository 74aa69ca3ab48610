//! The tables of operators: ids of values, and settings.

use crate::flatbuffer::macros::table;
use alloc::borrow::Cow;

table! {
    /// A node with two inputs: `_XNNNode2x1` in the schema.
    #[derive(Copy, Eq)]
    pub struct XNNNode2x1 {
        /// The id of the first input.
        pub input1_id: u32,
        /// The id of the second input.
        pub input2_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A node with one input: `_XNNNode1x1` in the schema.
    #[derive(Copy, Eq)]
    pub struct XNNNode1x1 {
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A node with up to five inputs: `_XNNCat` in the schema.
    #[derive(Copy, Eq)]
    pub struct XNNCat {
        /// The dimension along which they are concatenated.
        pub axis: u32,
        /// The id of the first input.
        pub input1_id: u32,
        /// The id of the second input.
        pub input2_id: u32,
        /// The id of the third input, if the node has one.
        pub input3_id: u32,
        /// The id of the fourth input, if the node has one.
        pub input4_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
        /// The id of the fifth input, if the node has one.
        pub input5_id: u32,
    }
}

table! {
    /// A multiplication by a matrix of weights.
    #[derive(Copy, Eq)]
    pub struct XNNFullyConnected {
        /// The id of the input.
        pub input1_id: u32,
        /// The id of the weights, `[out, in]`, or `[in, out]` with flag 1.
        pub filter_id: u32,
        /// The id of the bias, or [`NO_ID`](super::NO_ID) for none.
        pub bias_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A convolution: `_XNNNodeConv` in the schema.
    #[derive(Copy, Eq)]
    pub struct XNNNodeConv {
        /// The number of rows added above.
        pub padding_top: u32,
        /// The number of columns added on the right.
        pub padding_right: u32,
        /// The number of rows added below.
        pub padding_bottom: u32,
        /// The number of columns added on the left.
        pub padding_left: u32,
        /// The number of rows of the kernel.
        pub kernel_height: u32,
        /// The number of columns of the kernel.
        pub kernel_width: u32,
        /// The stride over rows.
        pub subsampling_height: u32,
        /// The stride over columns.
        pub subsampling_width: u32,
        /// The distance between the kernel's rows.
        pub dilation_height: u32,
        /// The distance between the kernel's columns.
        pub dilation_width: u32,
        /// The number of input channels in each group.
        pub group_input_channels: u32,
        /// The number of output channels in each group.
        pub group_output_channels: u32,
        /// The number of groups.
        pub groups: u32,
        /// The number of rows added to the output of a transposed convolution.
        pub adjustment_height: u32,
        /// The number of columns added to the output of a transposed convolution.
        pub adjustment_width: u32,
        /// The id of the input.
        pub input1_id: u32,
        /// The id of the weights, `[out, height, width, in / groups]`; `[1, height, width, out]` for a depthwise convolution.
        pub filter_id: u32,
        /// The id of the bias, or [`NO_ID`](super::NO_ID) for none.
        pub bias_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A pool: `_XNNPooling2D` in the schema.
    #[derive(Copy, Eq)]
    pub struct XNNPooling2D {
        /// The number of rows added above.
        pub padding_top: u32,
        /// The number of columns added on the right.
        pub padding_right: u32,
        /// The number of rows added below.
        pub padding_bottom: u32,
        /// The number of columns added on the left.
        pub padding_left: u32,
        /// The number of rows of the window.
        pub pooling_height: u32,
        /// The number of columns of the window.
        pub pooling_width: u32,
        /// The stride over rows.
        pub stride_height: u32,
        /// The stride over columns.
        pub stride_width: u32,
        /// The distance between the window's rows.
        pub dilation_height: u32,
        /// The distance between the window's columns.
        pub dilation_width: u32,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// The largest element of each window, and its index.
    #[derive(Copy, Eq)]
    pub struct XNNArgMaxPooling2d {
        /// The number of rows added above.
        pub padding_top: u32,
        /// The number of columns added on the right.
        pub padding_right: u32,
        /// The number of rows added below.
        pub padding_bottom: u32,
        /// The number of columns added on the left.
        pub padding_left: u32,
        /// The number of rows of the window.
        pub pooling_height: u32,
        /// The number of columns of the window.
        pub pooling_width: u32,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the largest elements.
        pub output_value_id: u32,
        /// The id of their indices.
        pub output_index_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A permutation of dimensions.
    #[derive(Eq)]
    pub struct XNNStaticTranspose<'a> {
        /// The length of `perm`.
        pub num_dims: u32,
        /// The input's dimension for each dimension of the output.
        pub perm: Option<Cow<'a, [u32]>>,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A resizing of images.
    #[derive(Copy, Eq)]
    pub struct XNNStaticResizeBilinear2D {
        /// The number of rows of the output.
        pub new_height: u32,
        /// The number of columns of the output.
        pub new_width: u32,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A padding with a constant.
    pub struct XNNStaticConstantPad<'a> {
        /// The number of elements added before, for each dimension.
        pub pre_paddings: Option<Cow<'a, [u32]>>,
        /// The number of elements added after, for each dimension.
        pub post_paddings: Option<Cow<'a, [u32]>>,
        /// The value of the added elements.
        pub padding_value: f32,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A change of shape.
    #[derive(Eq)]
    pub struct XNNStaticReshape<'a> {
        /// The length of `new_shape`.
        pub num_dims: u32,
        /// The size of each dimension. A 0 is computed from the number of elements.
        pub new_shape: Option<Cow<'a, [u32]>>,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// A slice of a tensor.
    #[derive(Eq)]
    pub struct XNNStaticSlice<'a> {
        /// The length of `offsets` and `sizes`.
        pub num_dims: u32,
        /// The start of the slice in each dimension.
        pub offsets: Option<Cow<'a, [u32]>>,
        /// The length of the slice in each dimension.
        pub sizes: Option<Cow<'a, [u32]>>,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// Scaled dot-product attention.
    #[derive(Copy, Eq)]
    pub struct XNNScaledDotProductAttention {
        /// The id of the queries.
        pub query_id: u32,
        /// The id of the keys.
        pub key_id: u32,
        /// The id of the values.
        pub value_id: u32,
        /// The id of the scale.
        pub scale_id: u32,
        /// The id of the mask.
        pub mask_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// The exponential linear unit.
    #[derive(Copy)]
    pub struct XNNELU {
        /// The negated limit for large negative inputs.
        pub alpha: f32,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}

table! {
    /// ReLU with a slope below 0.
    #[derive(Copy)]
    pub struct XNNLeakyReLU {
        /// The slope below 0.
        pub negative_slope: f32,
        /// The id of the input.
        pub input_id: u32,
        /// The id of the output.
        pub output_id: u32,
        /// XNNPACK's flags.
        pub flags: u32,
    }
}
