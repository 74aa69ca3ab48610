//! Packed weights: XNNPACK copies weights into blocks of output channels, in the order in which its kernels read them.

use super::super::tensor_bytes;
use super::{Groups, Tensors, product, round_up};
use crate::schema::xnnpack::{NO_ID, XNNDatatype, XNNNodeConv, XNNQuantParams, XNNTensorValue, XNodeUnion};

/// The number of output channels in a block: that of most kernels for 64-bit Arm and x86. Kernels with larger blocks pad the last one more.
const BLOCK: u64 = 16;

/// The bytes of a channel's bias.
const BIAS: u64 = 4;

/// Returns the size of a node's packed weights in bytes; 0 for nodes without weights.
pub(super) fn of(node: &XNodeUnion<'_>, tensors: &Tensors<'_, '_>) -> Option<u64> {
    let constant = |id: u32| tensors.get(id).filter(|tensor| tensor.constant_buffer_idx != 0);
    match node {
        XNodeUnion::XNNFullyConnected(linear) => {
            let Some(weights) = constant(linear.filter_id) else { return Some(0) };
            let [rows, columns] = *weights.dims() else { return None };
            let [output, input] = if linear.flags & 1 == 0 { [rows, columns] } else { [columns, rows] };
            let scales = scales_of_groups(tensors, linear.filter_id, input)?;
            matrices(1, output.into(), input.into(), weights.datatype)?
                .checked_add(product([round_up(output.into(), BLOCK)?, scales])?)
        }
        XNodeUnion::XNNConv2d(conv) | XNodeUnion::XNNConvTranspose2d(conv) => {
            let Some(weights) = constant(conv.filter_id) else { return Some(0) };
            convolution(conv, Groups::of(conv), conv.group_input_channels.into(), weights.datatype)
        }
        XNodeUnion::XNNDepthwiseConv2d(conv) => {
            let Some(weights) = constant(conv.filter_id) else { return Some(0) };
            convolution(conv, Groups::of_depthwise(conv)?, 1, weights.datatype)
        }
        XNodeUnion::XNNBatchMatrixMultiply(product) if product.input2_id != NO_ID => {
            constant(product.input2_id).map_or(Some(0), second_matrices)
        }
        _ => Some(0),
    }
}

fn convolution(conv: &XNNNodeConv, groups: Groups, input: u64, datatype: XNNDatatype) -> Option<u64> {
    let size = product([conv.kernel_height.into(), conv.kernel_width.into(), input])?;
    match groups.is_depthwise {
        true => matrices(1, groups.count, size, datatype),
        false => matrices(groups.count, groups.output, size, datatype),
    }
}

/// Returns the size of the second input of a product of matrices after it is packed: for each of them, blocks of its columns.
pub(super) fn second_matrices(tensor: &XNNTensorValue<'_>) -> Option<u64> {
    let [batch @ .., rows, columns] = tensor.dims() else { return None };
    let batch = batch.iter().try_fold(1u64, |count, size| count.checked_mul((*size).into()))?;
    matrices(batch, (*columns).into(), (*rows).into(), tensor.datatype)
}

/// Returns the size of packed matrices: for each output channel its weights, its bias and, for quantized weights, its scale and the sum of its
/// weights.
fn matrices(count: u64, output: u64, input: u64, datatype: XNNDatatype) -> Option<u64> {
    let quantized = datatype.element_bits()? < 16;
    let row = tensor_bytes(datatype, &[u32::try_from(input).ok()?])?;
    let row = if quantized { round_up(row, 8)?.checked_add(3 * BIAS)? } else { row.checked_add(BIAS)? };
    product([count, round_up(output, BLOCK)?, row])
}

/// Returns the bytes of a row's scales, for weights with a scale for each group.
fn scales_of_groups(tensors: &Tensors<'_, '_>, weights: u32, input: u32) -> Option<u64> {
    match tensors.value(weights).and_then(|value| value.quant_params()) {
        Some(XNNQuantParams::PerChannelGroupQuant(groups)) => {
            let size = u64::try_from(groups.group_size).ok().filter(|size| *size > 0)?;
            Some(u64::from(input).div_ceil(size) * 2)
        }
        _ => Some(0),
    }
}
