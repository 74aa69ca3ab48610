//! Rules about weights and biases: they have data, and the shape that their node needs.

use super::super::report::{Few, Report};
use super::super::rule;
use super::Graph;
use super::constants::{Keys, numbers};
use super::quantization::GROUP;
use crate::delegate::NamedBlobs;
use crate::delegate::xnnpack::{ConstantPlace, scales_constant};
use crate::path::Path;
use crate::schema::xnnpack::{
    EXTERNAL_INPUT, NO_ID, XNNDatatype, XNNNodeConv, XNNQuantParams, XNNTensorValue, XNode, XNodeUnion, XValue,
};
use alloc::collections::BTreeMap;
use alloc::{format, vec::Vec};

/// [`XNNFullyConnected`](crate::schema::xnnpack::XNNFullyConnected) with weights `[in, out]`.
const TRANSPOSE_WEIGHTS: u32 = 1;

/// The weights of a node, and the requirements for them.
struct Weights {
    filter: u32,
    bias: u32,
    /// The sizes that the filter must have; `None` if the node does not determine them.
    dims: Option<[u64; 4]>,
    /// The dimension of the output channels.
    channel_dim: usize,
}

fn weights(node: &XNodeUnion<'_>) -> Option<Weights> {
    let conv = |conv: &XNNNodeConv, dims: [u64; 4], channel_dim| {
        Some(Weights { filter: conv.filter_id, bias: conv.bias_id, dims: Some(dims), channel_dim })
    };
    match node {
        XNodeUnion::XNNFullyConnected(node) => {
            let channel_dim = (node.flags & TRANSPOSE_WEIGHTS) as usize;
            Some(Weights { filter: node.filter_id, bias: node.bias_id, dims: None, channel_dim })
        }
        XNodeUnion::XNNConv2d(node) | XNodeUnion::XNNConvTranspose2d(node) => {
            let out = u64::from(node.groups) * u64::from(node.group_output_channels);
            let (height, width) = (node.kernel_height.into(), node.kernel_width.into());
            conv(node, [out, height, width, node.group_input_channels.into()], 0)
        }
        XNodeUnion::XNNDepthwiseConv2d(node) => {
            let multiplier = node.group_output_channels.checked_div(node.group_input_channels)?;
            let out = u64::from(node.groups) * u64::from(multiplier);
            conv(node, [1, node.kernel_height.into(), node.kernel_width.into(), out], 3)
        }
        _ => None,
    }
}

/// Adds the number of bytes that a node reads from each of its constants, with the constant's id.
#[expect(clippy::indexing_slicing, reason = "if `Weights::dims` is known, `channel_dim` is one of them")]
pub(super) fn reads(graph: &Graph<'_>, node: &XNodeUnion<'_>, reads: &mut Vec<(u32, u64)>) {
    let weights = weights(node);
    for (field, id) in node.ids().inputs {
        let Some(tensor) = graph.tensor(id).filter(|tensor| tensor.constant_buffer_idx != 0) else {
            continue;
        };
        let all = tensor.byte_size().unwrap_or(u64::MAX);
        let bytes = match (&weights, field) {
            (Some(Weights { dims: Some(dims), .. }), "filter_id") => bytes(tensor, dims),
            (Some(Weights { dims: Some(dims), channel_dim, .. }), "bias_id") => bytes(tensor, &[dims[*channel_dim]]),
            (Some(Weights { dims: None, filter, channel_dim, .. }), "bias_id") => {
                let filter = graph.tensor(*filter).and_then(|filter| filter.dims().get(*channel_dim).copied());
                filter.map_or(all, |channels| bytes(tensor, &[channels.into()]))
            }
            _ => all,
        };
        reads.push((id, bytes));
    }
}

/// Returns the number of bytes in this many elements of a tensor.
fn bytes(tensor: &XNNTensorValue<'_>, dims: &[u64]) -> u64 {
    // An unknown type breaks another rule.
    let bits = tensor.datatype.element_bits().unwrap_or(0);
    dims.iter().fold(u64::from(bits), |all, size| all.saturating_mul(*size)).div_ceil(8)
}

/// Checks the weights of a node, whose member is at `path`. `packed` is `true` if XNNPACK packs the weights.
pub(super) fn check(graph: &Graph<'_>, node: &XNode<'_>, packed: bool, path: &Path<'_>, report: &mut Report<'_>) {
    if let (XNodeUnion::XNNBatchMatrixMultiply(multiply), true) = (&node.xnode_union, report.concerns(packed)) {
        second_factor(graph, multiply.input2_id, &path.field("input2_id"), report);
    }
    let Some(weights) = weights(&node.xnode_union) else {
        return;
    };
    let Some((value, filter)) = graph.value(weights.filter) else {
        return;
    };
    if let XNodeUnion::XNNFullyConnected(dense) = &node.xnode_union {
        let types = (graph.datatype(dense.input1_id), filter.datatype);
        let transposed = dense.flags & TRANSPOSE_WEIGHTS != 0;
        if types == (Some(XNNDatatype::FP32), XNNDatatype::QCINT4) && transposed && report.concerns(packed) {
            let found = "weights [in, out] of 4 bits for float values: packing them crashes the runtime";
            report.add(rule::XNNPACK_NODE, &path.field("flags"), found);
        }
    }
    let dims = filter.dims();
    let filter_path = &path.field("filter_id");
    let offset = report.offset(Some(dims));
    let refused = match &node.xnode_union {
        XNodeUnion::XNNConv2d(conv) => {
            let out = u64::from(conv.groups) * u64::from(conv.group_output_channels);
            dims.first().is_none_or(|first| u64::from(*first) != out)
        }
        XNodeUnion::XNNFullyConnected(_) if filter.constant_buffer_idx != 0 => {
            dims.first() == Some(&0) || dims.last() == Some(&0) || dims.len() <= weights.channel_dim
        }
        XNodeUnion::XNNDepthwiseConv2d(_) => {
            matches!(value.quant_params(), Some(XNNQuantParams::PerChannelQuant(_))) && dims.len() != 4
        }
        _ => false,
    };
    let shape = if refused { rule::XNNPACK_WEIGHTS } else { rule::XNNPACK_WEIGHTS_SHAPE };
    match weights.dims {
        Some(expected) if !dims.iter().map(|size| u64::from(*size)).eq(expected) => {
            let found = format!("a filter of {}, expected {}", Few(dims), Few(&expected));
            report.add_at(shape, filter_path, offset, found);
        }
        None if dims.len() != 2 => {
            let found = format!("a filter of {} dimensions, expected 2", dims.len());
            report.add_at(shape, filter_path, offset, found);
        }
        _ if dims.contains(&0) => {
            let found = format!("a filter of {}, expected no size of 0", Few(dims));
            report.add_at(shape, filter_path, offset, found);
        }
        _ => (),
    }
    let channels = dims.get(weights.channel_dim).copied();
    let dim = match value.quant_params() {
        Some(XNNQuantParams::PerChannelQuant(quantization)) => Some(quantization.channel_dim),
        Some(XNNQuantParams::PerChannelGroupQuant(quantization)) => Some(quantization.channel_dim),
        _ => None,
    };
    if let Some(dim) = dim.filter(|dim| usize::try_from(*dim) != Ok(weights.channel_dim)) {
        let found = format!("a filter with scales along dimension {dim}, expected {}", weights.channel_dim);
        report.add(rule::XNNPACK_WEIGHTS, filter_path, found);
    }
    if let Some(XNNQuantParams::PerChannelGroupQuant(quantization)) = value.quant_params() {
        let (size, columns) = (quantization.group_size, dims.last().copied().unwrap_or(0));
        // A group size that is not positive is reported at the value.
        if size > 0 && size % GROUP != 0 && report.concerns(packed) {
            let found = format!("a filter with scales for groups of {size}, expected a multiple of {GROUP}");
            report.add(rule::XNNPACK_QUANTIZATION, filter_path, found);
        }
        if size > 0 && i64::from(columns) % i64::from(size) != 0 && report.concerns(packed) {
            let found =
                format!("a filter with scales for groups of {size}, which does not divide the {columns} columns");
            report.add(rule::XNNPACK_QUANTIZATION, filter_path, found);
        }
    }
    if let Some(XNNQuantParams::PerTensorQuant(quantization)) = value.quant_params() {
        if filter.datatype == XNNDatatype::QINT8 && quantization.zero_point != 0 {
            let found = format!("a filter of qint8 with zero point {}, expected 0", quantization.zero_point);
            let transposed = matches!(node.xnode_union, XNodeUnion::XNNConvTranspose2d(_));
            let rule = if transposed { rule::XNNPACK_WEIGHTS_SHAPE } else { rule::XNNPACK_WEIGHTS };
            report.add(rule, filter_path, found);
        }
    }
    if let (Some(bias), Some(channels)) = (graph.tensor(weights.bias), channels) {
        if bias.dims() != [channels] {
            let found = format!("a bias of {}, expected [{channels}]", Few(bias.dims()));
            report.add_at(rule::XNNPACK_WEIGHTS_SHAPE, &path.field("bias_id"), report.offset(Some(bias.dims())), found);
        }
    }
    let input = node.xnode_union.ids().inputs.first().and_then(|(_, id)| graph.datatype(*id));
    let computed = matches!(node.xnode_union, XNodeUnion::XNNFullyConnected(_))
        && [XNNDatatype::FP32, XNNDatatype::FP16].contains(&filter.datatype);
    let same = input == Some(filter.datatype);
    // With weights in groups, if the runtime packs them at all, it ignores a bias that is an input or that is never
    // written, and crashes on a bias that is an output.
    let is_none = graph.tensor(weights.bias).is_some_and(|bias| {
        bias.flags == EXTERNAL_INPUT || (!bias.is_external() && graph.produced.binary_search(&bias.id_out).is_err())
    });
    let bias = computed || (filter.datatype == XNNDatatype::QBINT4 && (is_none || !packed));
    for (id, field, computed) in [(weights.filter, "filter_id", computed && same), (weights.bias, "bias_id", bias)] {
        match graph.tensor(id) {
            Some(tensor) if id != NO_ID && tensor.constant_buffer_idx == 0 => {
                no_data(graph, tensor, computed, &path.field(field), report);
            }
            _ => (),
        }
    }
}

/// Checks the second factor of a batched multiplication of matrices, constant or not.
fn second_factor(graph: &Graph<'_>, id: u32, path: &Path<'_>, report: &mut Report<'_>) {
    let Some((value, tensor)) = graph.value(id) else {
        return;
    };
    if tensor.constant_buffer_idx != 0 && (tensor.dims().len() < 2 || tensor.dims().contains(&0)) {
        let found = format!("{tensor}, expected a constant of at least 2 dimensions, none of which is 0");
        report.add(rule::XNNPACK_WEIGHTS, path, found);
    }
    match value.quant_params() {
        Some(XNNQuantParams::PerTensorQuant(quantization)) if quantization.zero_point != 0 => {
            let found = format!("{tensor} with zero point {}, expected 0", quantization.zero_point);
            report.add(rule::XNNPACK_WEIGHTS, path, found);
        }
        _ => (),
    }
}

/// Reports weights without data. A multiplication accepts computed float weights; nearly every other node needs constants.
fn no_data(graph: &Graph<'_>, tensor: &XNNTensorValue<'_>, computed: bool, path: &Path<'_>, report: &mut Report<'_>) {
    if computed && !tensor.is_external() && graph.produced.binary_search(&tensor.id_out).is_err() {
        let found = format!("{tensor}, which is no constant, no input, and written by no node");
        report.add(rule::XNNPACK_DATAFLOW, path, found);
    } else if computed {
        let found = format!("{tensor}, which is computed, expected a constant");
        report.add(rule::XNNPACK_COMPUTED_WEIGHTS, path, found);
    } else {
        let found = format!("{tensor}, which has no data, expected a constant");
        report.add(rule::XNNPACK_WEIGHTS, path, found);
    }
}

/// Checks the scales of 8-bit multiplications: XNNPACK refuses one if the product of its scales is 256 times that of the output or more.
pub(super) fn requantization(
    graph: &Graph<'_>,
    blobs: &NamedBlobs<'_>,
    keys: Keys,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    const MAX_RATIO: f32 = 256.0;
    // Many nodes can share a filter with many scales.
    let mut largest: BTreeMap<u32, Option<f32>> = BTreeMap::new();
    for (index, node) in graph.payload.graph.xnodes().iter().enumerate() {
        let Some(weights) = weights(&node.xnode_union) else {
            continue;
        };
        let ids = node.xnode_union.ids();
        let scale = |ids: &[(&str, u32)]| match graph.value(ids.first()?.1)?.0.quant_params()? {
            XNNQuantParams::PerTensorQuant(quantization) => Some(quantization.scale),
            _ => None,
        };
        let (Some(input), Some(output)) = (scale(&ids.inputs), scale(&ids.outputs)) else {
            continue;
        };
        let Some((value, _)) = graph.value(weights.filter) else {
            continue;
        };
        let largest = *largest
            .entry(weights.filter)
            .or_insert_with(|| filter_scales(graph, value, blobs, keys).into_iter().reduce(f32::max));
        if let Some(product) = largest.map(|scale| input * scale / output).filter(|product| *product >= MAX_RATIO) {
            let found = format!("scales whose product is {product} times that of the output, expected less than 256");
            let path = path.item("xnodes", index);
            report.add(rule::XNNPACK_SCALES, &path.field("xnode_union").field(node.name()), found);
        }
    }
}

fn filter_scales(graph: &Graph<'_>, value: &XValue<'_>, blobs: &NamedBlobs<'_>, keys: Keys) -> Vec<f32> {
    let Some(params) = value.quant_params() else {
        return Vec::new();
    };
    let payload = graph.payload;
    match (params, scales_constant(params)) {
        (XNNQuantParams::PerTensorQuant(quantization), _) if keys == Keys::Own => [quantization.scale].into(),
        (XNNQuantParams::PerChannelQuant(quantization), None) if keys == Keys::Own => quantization.scale().into(),
        (_, Some((index, _, element))) => {
            let own = match payload.constant(index) {
                Some(ConstantPlace::Named { key, .. }) => blobs.get(key).ok().flatten().map(|blob| blob.file == 0),
                _ => Some(true),
            };
            if own != Some(keys == Keys::Own) {
                return Vec::new();
            }
            // Missing constants break another rule.
            numbers(payload.constant_bytes(index, blobs).unwrap_or_default(), element).collect()
        }
        _ => Vec::new(),
    }
}
