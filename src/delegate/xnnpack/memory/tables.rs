//! Tables of addresses: operators that read windows of an image keep the address of each input pixel of each window.

use super::{Groups, Tensors, product};
use crate::schema::xnnpack::{XNNNodeConv, XNodeUnion};

/// The size of an address, in bytes.
const ADDRESS: u64 = 8;

/// The number of addresses for an output pixel of a resized image, and the size of its two weights.
const RESIZE: u64 = 4 * ADDRESS + 2 * 4;

/// Returns the size of a node's table in bytes; 0 for nodes without one.
pub(super) fn of(node: &XNodeUnion<'_>, tensors: &Tensors<'_, '_>) -> Option<u64> {
    match node {
        XNodeUnion::XNNConv2d(conv) if is_matrix_product(conv) => Some(0),
        XNodeUnion::XNNConv2d(conv) => convolution(conv, Groups::of(conv), tensors),
        XNodeUnion::XNNDepthwiseConv2d(conv) => convolution(conv, Groups::of_depthwise(conv)?, tensors),
        XNodeUnion::XNNConvTranspose2d(conv) => {
            convolution(conv, Groups { is_depthwise: false, ..Groups::of(conv) }, tensors)
        }
        XNodeUnion::XNNMaxPooling2d(pool) | XNodeUnion::XNNAvgPooling2d(pool) => {
            let kernel = [pool.pooling_height, pool.pooling_width];
            rows(kernel, step(pool.pooling_width, pool.stride_width, pool.dilation_width), pool.output_id, tensors)
        }
        XNodeUnion::XNNArgMaxPooling2d(pool) => {
            rows([pool.pooling_height, pool.pooling_width], pool.pooling_width, pool.output_value_id, tensors)
        }
        XNodeUnion::XNNStaticResizeBilinear2D(resize) => {
            product([resize.new_height.into(), resize.new_width.into(), RESIZE])
        }
        _ => Some(0),
    }
}

fn convolution(conv: &XNNNodeConv, groups: Groups, tensors: &Tensors<'_, '_>) -> Option<u64> {
    let kernel = [conv.kernel_height, conv.kernel_width];
    if groups.is_depthwise {
        let step = step(conv.kernel_width, conv.subsampling_width, conv.dilation_width);
        return rows(kernel, step, conv.output_id, tensors);
    }
    let [_, height, width, _] = tensors.image(conv.output_id)?;
    product([kernel[0].into(), kernel[1].into(), height, width, ADDRESS])
}

/// Returns `true` for a convolution that multiplies each pixel by a matrix, which needs no table.
fn is_matrix_product(conv: &XNNNodeConv) -> bool {
    let ones = [conv.kernel_height, conv.kernel_width, conv.subsampling_height, conv.subsampling_width];
    let zeros = [conv.padding_top, conv.padding_right, conv.padding_bottom, conv.padding_left];
    ones.iter().all(|size| *size == 1) && zeros.iter().all(|size| *size == 0)
}

/// Returns the number of columns that a window has and the window before it does not: windows of a row share the other addresses.
fn step(width: u32, stride: u32, dilation: u32) -> u32 {
    if dilation > 1 { width } else { width.min(stride) }
}

/// Returns the size of a table in which the windows of a row share addresses.
fn rows(kernel: [u32; 2], step: u32, output: u32, tensors: &Tensors<'_, '_>) -> Option<u64> {
    let [_, height, width, _] = tensors.image(output)?;
    let [rows, columns] = kernel.map(u64::from);
    let later = product([width.saturating_sub(1), step.into(), rows])?;
    product([height, product([rows, columns])?.checked_add(later)?, ADDRESS])
}
