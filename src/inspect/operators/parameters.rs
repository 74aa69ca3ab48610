//! The parameters of a model, as PyTorch counts them, among the constants of a program.

use crate::schema::program::Tensor;

/// The precision of a number of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum ParameterPrecision {
    /// The model's own number, or that of a program whose constants are as in the model.
    #[default]
    Exact,
    /// The number in the program. The model may have others: exporters fold normalizations into convolutions and drop biases, and a constant that
    /// is sliced may be a buffer. Or that of a state dict, whose tensors may be buffers.
    About,
    /// The number of those that are found: delegates have others inside.
    AtLeast,
    /// No parameter is found, and delegates may have some inside.
    Unknown,
}

/// Operators whose constants may be tables of the model, such as those of rotary embeddings or the mean and deviation of images, rather than
/// parameters, or several of them, as in instance norms.
const MAY_TAKE_TABLES: [&str; 12] = [
    "aten::slice_copy",
    "aten::select_copy",
    "aten::index",
    "aten::index_select",
    "aten::add",
    "aten::sub",
    "aten::mul",
    "aten::div",
    "aten::where",
    "aten::bmm",
    "aten::repeat",
    "aten::expand_copy",
];

/// Returns the number of parameters in a constant that a kernel takes: 0 for running statistics, for scales and the like of quantized
/// tensors, for masks and for indices.
pub(super) fn of_constant(operator: &str, argument: Option<&str>, tensor: &Tensor<'_>, elements: u64) -> u64 {
    // The arguments of a custom operator are not known.
    let Some(argument) = argument else { return elements };
    const OTHERS: [&str; 7] = ["scale", "zero_point", "multiplier", "shift", "running_", "kernel_sum", "lut"];
    if OTHERS.iter().any(|part| argument.contains(part)) {
        return 0;
    }
    let is_weight = argument.starts_with("weight") || argument == "bias" || operator.contains("dequantize");
    if !is_weight && !tensor.scalar_type.is_floating() {
        return 0;
    }
    // Packed embeddings have several elements in each byte.
    match (argument, operator) {
        ("weight", "quantized_decomposed::embedding_4bit") => elements.saturating_mul(2),
        ("weight", "quantized_decomposed::embedding_2bit") => elements.saturating_mul(4),
        _ => elements,
    }
}

/// Returns `true` if the model may have another number of parameters in place of a constant of a kernel.
pub(super) fn is_about(operator: &str, argument: Option<&str>) -> bool {
    // A bias of a quantized convolution may be made of a normalization.
    let folds = operator.contains("::quantized_") && operator.contains("conv");
    argument.is_none() || folds && argument == Some("bias") || MAY_TAKE_TABLES.contains(&operator)
}

/// Returns `true` if the bias of a node may be made of a normalization.
pub(super) fn may_be_folded(node: &str) -> bool {
    ["XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d", "XNNFullyConnected"].contains(&node)
}
