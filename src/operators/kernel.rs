//! What a kernel demands of a call.

use super::argument::Kind;
use super::releases::Spans;
use super::releases::versions::V0_1;
use super::types::Types;

/// A kernel, or several that make the same demands.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The source file below ExecuTorch's `kernels`.
    pub(crate) source: &'static str,
    /// The demands on dim orders.
    pub(crate) orders: &'static [OrderCheck],
    /// The demands on types, sizes and settings, in the order in which the kernel makes them.
    pub(crate) checks: &'static [Check],
    pub(crate) other_numbers: &'static [OtherNumbers],
}

/// Names of arguments.
pub(crate) type Names = &'static [&'static str];

/// A demand on the dim orders of tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderCheck {
    pub(crate) orders: Orders,
    pub(crate) arguments: Names,
    /// A Bool that lifts the demand.
    pub(crate) unless: Option<&'static str>,
    /// The releases whose kernels make the demand.
    pub(crate) releases: Spans,
}

/// A demand of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    /// Tensors have one type.
    SameType(Names),
    /// Tensors have types of a set.
    OfType(Names, Types),
    /// The first tensor of a list has a type of a set.
    FirstOfType(&'static str, Types),
    /// The type in a setting, if there is one, is that of a tensor.
    TypeSetting(&'static str, &'static str),
    /// Types of inputs, of numbers and of the result agree.
    Promotes(&'static Promotion),
    /// A number is in the range of a tensor's type.
    NumberFits(&'static str, &'static str),

    /// An integer or a list of integers, if there is one, is in a range.
    Range(&'static str, i64, i64),
    /// The low 32 bits of an integer are the number of one of this many modes.
    Mode(&'static str, i32),
    /// The low 8 bits of an integer, if there is one, are the number of one of this many memory formats.
    MemoryFormat(i8),
    /// A floating-point number, if there is one, is in a range.
    Between(&'static str, f64, f64),
    /// A Bool has this value.
    Is(&'static str, bool),
    /// A String, if there is one, is one of these.
    Word(&'static str, Names),
    /// A number, or each of a constant tensor, is not zero if the result is an integer.
    NotZero(&'static str, &'static str),
    /// An integer is not zero when converted to the integers of a tensor that it divides.
    NotZeroConverted(&'static str, &'static str),
    /// At least one is not Null.
    OneOf(Names),
    /// It is Null.
    Absent(&'static str),
    /// A list has this number of items.
    Count(&'static str, usize),
    /// The first integer is at most the second, or less if so demanded.
    Ordered(&'static str, &'static str, bool),
    /// Limits of a quantized type, which are in the range of a tensor's type.
    QuantRange(&'static str, &'static str, &'static str),

    /// Values are of one of these kinds.
    Kinds(Names, &'static [Kind]),
    /// A tensor has elements.
    NotEmpty(&'static str),

    /// Tensors have a rank in this set, a bit for each.
    Rank(Names, u32),
    /// Tensors have one rank, or the second has more by this number.
    MoreRank(&'static str, &'static str, usize),
    /// A setting is a dimension of a tensor.
    Dim(&'static str, &'static str),
    /// The same, but a tensor of rank 0 has none.
    StrictDim(&'static str, &'static str),
    /// A list consists of dimensions of a tensor, each once.
    Dims(&'static str, &'static str),
    /// A size of one tensor is that of another; negative dimensions count from the end.
    SameSize(&'static str, i32, &'static str, i32),
    /// A size of a tensor has this value.
    SizeIs(&'static str, i32, i64),
    /// A tensor has this number of elements.
    Elements(&'static str, i64),
    /// Results get the sizes of a tensor.
    Like(&'static str, Names),
    /// A tensor has the sizes of another.
    SameShape(&'static str, &'static str),
    /// Tensors have the same sizes, or a single element each.
    SameShapeOrSingle(Names),
    /// A result gets these sizes.
    Sizes(&'static str, &'static [Size]),
    /// Inputs are broadcast to the result.
    Broadcast(Names, &'static str),
    /// A tensor can be broadcast to another.
    BroadcastTo(&'static str, &'static str),
    /// A tensor can be broadcast to these sizes.
    BroadcastToSizes(&'static str, &'static [Size]),
    /// A rule of a few kernels, with its own arithmetic.
    By(Family),

    /// Violations end the process.
    Dies(&'static [Check]),
    /// Violations make the kernel access memory outside of the tensors, or compute other numbers.
    Strays(&'static [Check]),
    /// Violations are refused with another error than for an invalid argument.
    Fails(u8, &'static [Check]),
    /// Checks under a condition, and others otherwise.
    If(Condition, &'static [Check], &'static [Check]),
    /// Checks of the kernels of these releases, and of those of earlier ones.
    Since(Spans, &'static [Check], &'static [Check]),
}

/// A size in a result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// A size of a tensor; negative dimensions count from the end.
    Of(&'static str, i32),
    /// A setting.
    Setting(&'static str),
    Is(i64),
}

/// A condition on a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    /// A tensor has a type of the set.
    Type(&'static str, Types),
    /// One of several tensors has a type of the set.
    AnyType(Names, Types),
    /// An argument is Null.
    Null(&'static str),
    /// An argument is a Bool.
    Bool(&'static str),
    /// `dequantize` of contiguous bytes with a sign, which has code of its own for results of type f32.
    DequantizesBytes,
    /// A tensor has no element.
    Empty(&'static str),
    /// A sum over one dimension, with the type of `self` and not of complex numbers, which has code of its own.
    SumsOneDimension,
    /// A dropout that trains: `train` is true or Null, and `p` is not 0.
    DropsOut,
    /// `dim_order` is Null or that of `self`, whose bytes are copied.
    KeepsOrder,
    /// A list has no item.
    EmptyList(&'static str),
    /// Tensors have the same type.
    SameTypes(Names),
    /// Two tensors have the same sizes, apart from leading ones, and elements.
    SameEnd(&'static str, &'static str),
    /// Only one item of a list is a tensor: of rank 1, with integers.
    OneIndex(&'static str),
    /// An output is in use: the item of a list of Bools.
    Mask(&'static str, usize),
}

/// The arithmetic of types of an elementwise kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promotion {
    pub(crate) tensors: Names,
    pub(crate) numbers: Names,
    pub(crate) common: Common,
    pub(crate) out: &'static str,
    pub(crate) cast: Cast,
    /// The types that can be computed.
    pub(crate) computes: Types,
    /// The types of inputs.
    pub(crate) inputs: Types,
    /// The types of the result; none if it has the common type.
    pub(crate) outs: Types,
    pub(crate) alpha: Alpha,
    pub(crate) complex: Complex,
}

/// The type that the inputs of an elementwise kernel have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Common {
    /// By the rules of PyTorch.
    Promoted,
    /// A floating-point type.
    Float,
}

/// A demand on the type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    /// The common type can be cast to it.
    Can,
    /// It is the common type.
    Same,
    Any,
}

/// A demand on the factor `alpha`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alpha {
    None,
    /// It is a value of the common type.
    Add,
    /// It is a value of the common type, and is not a Bool.
    Subtract,
    /// It can be cast to the common type, and is not a Bool.
    SubtractFrom,
}

/// Complex numbers in an elementwise kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Complex {
    Refused,
    /// All tensors have one type.
    Same,
    /// The same, and all inputs have the same sizes.
    SameSizes,
    /// Inputs are promoted.
    Promoted,
}

/// The arithmetic of a few kernels. Arguments have the names of the operators' schemas.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// A reduction over a dimension or a list of dimensions: the input, the dimensions, `keepdim`, the results.
    Reduction(&'static str, Option<&'static str>, Option<&'static str>, Names),
    /// A dimension of an input is not empty.
    DimNotEmpty(&'static str, &'static str),
    /// A dimension of an input and those after it are not empty.
    EndNotEmpty(&'static str, &'static str),
    Convolution,
    ConvolutionBackward,
    /// Pooling: the input, the result.
    MaxPool(&'static str, Names),
    AveragePool,
    PooledIndices,
    AdaptivePool,
    Linear,
    LayerNorm,
    BatchNorm(&'static str, bool),
    GroupNorm,
    Cdist,
    Pdist,
    RealFft,
    ComplexFft,
    Upsample,
    UpsampleAntialias,
    Expand,
    Repeat,
    RepeatInterleave,
    Permute,
    Transpose(&'static str, &'static str),
    TransposeMatrix,
    View,
    EtView,
    CopyIndex,
    Divisor,
    /// `alpha` is 1 if the first tensor alone has one element.
    FirstOfOne,
    Choice,
    Unsqueeze,
    Squeeze,
    Cat,
    Stack,
    Split,
    SplitSizes,
    Unbind,
    Slice,
    SliceScatter,
    Narrow,
    Select,
    SelectScatter,
    Gather,
    Scatter(Option<&'static str>),
    Index,
    IndexPut,
    IndexPutInPlace,
    IndexSelect,
    Embedding,
    QuantizedEmbedding(i64),
    ConstantPad,
    Pad(i64, bool),
    PixelShuffle,
    PixelUnshuffle,
    Arange,
    AsStrided,
    Diagonal,
    Unfold,
    Glu,
    ViewAsReal,
    TopK,
    Nonzero,
    MaskedSelect,
    Roll,
    DimOrder,
    SizeList(&'static str),
    PerChannel(&'static str),
    PerToken,
    ZeroPoints,
    ChooseQparams,
    HalfMoments,
}

/// The dim orders that a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    Contiguous,
    /// Contiguous, or channels-last.
    Either,
    /// All contiguous, or all channels-last.
    Same,
}

/// Dim orders for which a kernel computes other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherNumbers {
    pub(crate) layouts: Layouts,
    pub(crate) often: Often,
    pub(crate) only: Only,
}

/// The dim orders of a call's tensors in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layouts {
    /// All channels-last.
    ChannelsLast,
    /// All in an order that is neither contiguous nor channels-last.
    Other,
    /// Different orders.
    Mixed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Often {
    Always,
    /// It depends on other arguments.
    Sometimes,
    /// It can also end the process.
    Crash,
}

/// A further condition for other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Only {
    Always,
    /// Tensors differ in their sizes.
    Sizes,
    /// Tensors differ in sizes of dimensions other than the first.
    Inner,
    /// Tensors with more than one element differ in their sizes.
    Broadcast,
    /// The dimension is not the first.
    Dim,
    /// The result is not stored as a contiguous one.
    Result,
}

#[cfg(feature = "inspect")]
impl Kernel {
    /// Returns `true` if its demands differ between releases.
    pub(super) fn depends_on_release(&self) -> bool {
        fn depends(check: &Check) -> bool {
            match check {
                Check::Since(..) => true,
                Check::Dies(checks) | Check::Strays(checks) | Check::Fails(_, checks) => checks.iter().any(depends),
                Check::If(_, then, otherwise) => then.iter().chain(*otherwise).any(depends),
                _ => false,
            }
        }
        self.checks.iter().any(depends) || self.orders.iter().any(|order| *order.releases != *V0_1)
    }
}

impl OrderCheck {
    pub(super) const fn new(orders: Orders, arguments: Names) -> Self {
        Self { orders, arguments, unless: None, releases: V0_1 }
    }

    pub(super) const fn unless(self, name: &'static str) -> Self {
        Self { unless: Some(name), ..self }
    }

    pub(super) const fn since(self, releases: Spans) -> Self {
        Self { releases, ..self }
    }
}

impl OtherNumbers {
    pub(super) const fn new(layouts: Layouts, often: Often, only: Only) -> Self {
        Self { layouts, often, only }
    }
}
