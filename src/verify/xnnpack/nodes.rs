//! Rules about nodes: they are known, refer to values that exist, and have settings that XNNPACK accepts.

use super::super::report::{Few, Report};
use super::super::rule::{self, Rule};
use super::dataflow::NodeUses;
use super::{Graph, MAX_RANK, datatypes, no_member, shapes, weights};
use crate::path::Path;
use crate::schema::xnnpack::{NO_ID, XNNDatatype, XNNNodeConv, XNNPooling2D, XNNQuantParams, XNode, XNodeUnion};
use alloc::{format, vec::Vec};

/// A flag: TensorFlow's `SAME` padding, which excludes explicit padding.
const SAME_PADDING: u32 = 4;

/// A flag of a resize: align corners.
const ALIGN_CORNERS: u32 = 8;

/// A flag of a resize: as in TensorFlow 1.
const LEGACY_MODE: u32 = 4;

/// A flag of a convolution or a resize: the indirection buffer is built for each run. Exporters do not set it.
const TRANSIENT_INDIRECTION: u32 = 0x20;

/// A flag of a multiplication or a transposed convolution: the input is packed, for kernels that few machines have.
const PACKED_INPUT: u32 = 0x200;

/// The number of rows and columns that a resize in XNNPACK must stay below.
const MAX_RESIZED: u32 = 1 << 24;

/// Returns, for each node, whether XNNPACK creates an operator from it: an output depends on it (`needed`), and it does not depend
/// on a cycle.
pub(super) fn kept(graph: &Graph<'_>, uses: &NodeUses, needed: &[bool]) -> Vec<bool> {
    let (waits, _) = uses.waits(graph);
    needed.iter().zip(waits).map(|(needed, wait)| *needed && wait == 0).collect()
}

pub(super) fn check(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let uses = NodeUses::new(graph);
    let needed = graph.needed(&uses);
    let mut kept = kept(graph, &uses, &needed);
    // The weights of a node in a cycle are packed, too.
    let packed: Vec<bool> = needed.iter().zip(uses.stuck(graph)).map(|(needed, stuck)| *needed && !stuck).collect();
    let taken_in = uses.taken_in(graph);
    for (node, kept) in graph.payload.graph.xnodes().iter().zip(&mut kept) {
        if let XNodeUnion::XNNConvert(convert) = &node.xnode_union {
            let dynamic = graph.datatype(convert.output_id) == Some(XNNDatatype::QDINT8);
            *kept &= !(dynamic && taken_in.binary_search(&uses.the_one(convert.output_id)).is_ok());
        }
    }
    for ((index, node), (kept, packed)) in
        graph.payload.graph.xnodes().iter().enumerate().zip(kept.into_iter().zip(packed))
    {
        let path = path.item("xnodes", index);
        clamp(graph, node, &path, report);
        let path = &path.field("xnode_union");
        match &node.xnode_union {
            XNodeUnion::None | XNodeUnion::Unknown(_) => {
                let found = no_member(node.xnode_union.tag(), node.xnode_union.name().is_some());
                report.add(rule::XNNPACK_UNION, path, found);
                continue;
            }
            XNodeUnion::XNNScaledDotProductAttention(_) => {
                let found = "XNNScaledDotProductAttention, which no runtime since ExecuTorch 0.7 supports";
                report.add(rule::XNNPACK_NODE, path, found);
            }
            _ => (),
        }
        let path = &path.field(node.name());
        if ids(graph, node, path, report) {
            datatypes::check(graph, node, kept, path, report);
            dynamic_dims(graph, node, path, report);
            shapes::check(graph, node, path, report);
        }
        weights::check(graph, node, packed, path, report);
        settings(graph, node, kept, path, report);
    }
}

/// Checks the dimensions of a convolution: if its values are quantized at run time, it needs a dimension for the scales.
fn dynamic_dims(graph: &Graph<'_>, node: &XNode<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (XNodeUnion::XNNConv2d(conv) | XNodeUnion::XNNConvTranspose2d(conv)) = &node.xnode_union else {
        return;
    };
    let Some((value, tensor)) = graph.value(conv.input1_id) else {
        return;
    };
    if let Some(XNNQuantParams::PerTokenDynamicQuant(quantization)) = value.quant_params() {
        let rank = tensor.dims().len();
        if usize::try_from(quantization.num_nonbatch_dims).is_ok_and(|dims| dims >= rank) {
            let found = format!(
                "an input of {rank} dimensions that all share a scale, expected at most {}",
                rank.saturating_sub(1)
            );
            report.add(rule::XNNPACK_NODE, &path.field("input1_id"), found);
        }
    }
}

/// Returns `true` if all values that the node needs exist.
fn ids(graph: &Graph<'_>, node: &XNode<'_>, path: &Path<'_>, report: &mut Report<'_>) -> bool {
    let ids = node.xnode_union.ids();
    let mut all = true;
    for (field, id) in ids.inputs.iter().chain(&ids.outputs) {
        let found = match (*id, *field) {
            (NO_ID, "bias_id") => continue,
            (NO_ID, _) => "none, expected a value".into(),
            (id, _) if graph.tensor(id).is_none() => format!("{id}, which no value has"),
            _ => continue,
        };
        all = false;
        report.add(rule::XNNPACK_VALUE_ID, &path.field(field), found);
    }
    all
}

/// Checks the limits of a node. XNNPACK refuses an empty range in nodes with weights and in pools, and accepts it elsewhere.
fn clamp(graph: &Graph<'_>, node: &XNode<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(range) = node.output_min_max else {
        return;
    };
    let (min, max) = (range.output_min, range.output_max);
    // For half precision, it also refuses a range of a single number. Limits that are too large become infinite.
    let output = node.xnode_union.ids().outputs.first().and_then(|(_, id)| graph.datatype(*id));
    let half = |number: f32| match number.abs() > 65504.0 {
        true => f32::INFINITY.copysign(number),
        false => number,
    };
    let either = matches!(node.xnode_union, XNodeUnion::XNNFullyConnected(_) | XNodeUnion::XNNMaxPooling2d(_));
    let fits = if !either && output == Some(XNNDatatype::FP16) { half(min) < half(max) } else { min <= max };
    if fits {
        return;
    }
    let found = format!("from {min} to {max}, expected a range");
    let path = &path.field("output_min_max");
    match &node.xnode_union {
        XNodeUnion::XNNFullyConnected(_)
        | XNodeUnion::XNNConv2d(_)
        | XNodeUnion::XNNConvTranspose2d(_)
        | XNodeUnion::XNNDepthwiseConv2d(_)
        | XNodeUnion::XNNAvgPooling2d(_)
        | XNodeUnion::XNNMaxPooling2d(_) => report.add(rule::XNNPACK_NODE, path, found),
        _ => report.add(rule::XNNPACK_CLAMP, path, found),
    }
}

/// Checks the settings of a node. `kept` is `true` if XNNPACK creates an operator from the node.
fn settings(graph: &Graph<'_>, node: &XNode<'_>, kept: bool, path: &Path<'_>, report: &mut Report<'_>) {
    match &node.xnode_union {
        XNodeUnion::XNNConv2d(conv) => convolution(conv, rule::XNNPACK_NODE, path, report),
        XNodeUnion::XNNConvTranspose2d(conv) => {
            let types = (graph.datatype(conv.input1_id), graph.datatype(conv.filter_id));
            let packed = matches!(
                types,
                (Some(XNNDatatype::QINT8 | XNNDatatype::QDINT8), Some(XNNDatatype::QINT8 | XNNDatatype::QCINT8))
            );
            let refused = kept && packed && conv.flags & PACKED_INPUT != 0;
            let unknown = if refused { rule::XNNPACK_NODE } else { rule::XNNPACK_NODE_FLAGS };
            convolution(conv, unknown, path, report);
        }
        XNodeUnion::XNNDepthwiseConv2d(conv) => {
            convolution(conv, rule::XNNPACK_NODE, path, report);
            let (input, output) = (conv.group_input_channels, conv.group_output_channels);
            // 0 is reported there. The runtime divides, and refuses only a result of 0.
            if input > 0 && output % input != 0 {
                let found = format!("{output}, expected a multiple of group_input_channels, which is {input}");
                let rule = if output < input { rule::XNNPACK_NODE } else { rule::XNNPACK_NODE_SHAPE };
                report.add(rule, &path.field("group_output_channels"), found);
            }
        }
        XNodeUnion::XNNAvgPooling2d(pool) => pooling(pool, false, path, report),
        XNodeUnion::XNNMaxPooling2d(pool) => pooling(pool, true, path, report),
        XNodeUnion::XNNArgMaxPooling2d(pool) => {
            let paddings = [pool.padding_top, pool.padding_right, pool.padding_bottom, pool.padding_left];
            padding(pool.flags, paddings, rule::XNNPACK_NODE, path, report);
            if window_size(pool.pooling_height, pool.pooling_width) <= 1 {
                let found = format!(
                    "a window of {}x{}, which XNNPACK does not support",
                    pool.pooling_height, pool.pooling_width
                );
                report.add(rule::XNNPACK_NODE, &path.field("pooling_height"), found);
            }
            let sizes = [("pooling_height", pool.pooling_height), ("pooling_width", pool.pooling_width)];
            positive(&sizes, path, report);
        }
        XNodeUnion::XNNStaticResizeBilinear2D(resize) => {
            let sizes = [("new_height", resize.new_height), ("new_width", resize.new_width)];
            positive(&sizes, path, report);
            for (field, size) in sizes.iter().filter(|(_, size)| *size >= MAX_RESIZED) {
                let found = format!("{size}, expected less than {MAX_RESIZED}");
                report.add(rule::XNNPACK_NODE, &path.field(field), found);
            }
            if ![0, ALIGN_CORNERS, LEGACY_MODE].contains(&resize.flags) {
                let found = format!("{:#x}, expected 0, 4 (legacy mode) or 8 (align corners)", resize.flags);
                let known = [0, ALIGN_CORNERS, LEGACY_MODE].contains(&(resize.flags & !TRANSIENT_INDIRECTION));
                let rule = if known { rule::XNNPACK_NODE_FLAGS } else { rule::XNNPACK_NODE };
                report.add(rule, &path.field("flags"), found);
            }
        }
        XNodeUnion::XNNFullyConnected(dense) if dense.flags > 1 => {
            let found = format!("{:#x}, expected 0 or 1 (weights [in, out])", dense.flags);
            let types = (graph.datatype(dense.input1_id), graph.datatype(dense.filter_id));
            let packed = matches!(
                types,
                (Some(XNNDatatype::FP32), Some(XNNDatatype::FP32 | XNNDatatype::FP16))
                    | (Some(XNNDatatype::FP16), Some(XNNDatatype::FP16 | XNNDatatype::FP32))
                    | (Some(XNNDatatype::QINT8), Some(XNNDatatype::QCINT8))
            );
            let refused = kept && packed && dense.flags & PACKED_INPUT != 0;
            let rule = if refused { rule::XNNPACK_NODE } else { rule::XNNPACK_NODE_FLAGS };
            report.add(rule, &path.field("flags"), found);
        }
        XNodeUnion::XNNStaticTranspose(transpose) => {
            let perm = transpose.perm.as_deref();
            let mut sorted: Vec<u32> = perm.unwrap_or_default().to_vec();
            sorted.sort();
            let is_permutation = sorted.iter().zip(0..).all(|(dim, index)| *dim == index);
            if list(perm, "perm", path, report) && (!is_permutation || sorted.is_empty()) {
                let perm = transpose.perm();
                let found = format!("{}, expected a permutation of 0 to {}", Few(perm), perm.len());
                report.add_at(rule::XNNPACK_NODE, &path.field("perm"), report.offset(Some(perm)), found);
            }
            counted(transpose.num_dims, perm, path, report);
        }
        XNodeUnion::XNNStaticReshape(reshape) => {
            let shape = reshape.new_shape.as_deref();
            list(shape, "new_shape", path, report);
            let zeros = reshape.new_shape().iter().filter(|size| **size == 0).count();
            if zeros > 1 {
                let found = format!("{}, expected at most one size of 0", Few(reshape.new_shape()));
                report.add_at(rule::XNNPACK_NODE, &path.field("new_shape"), report.offset(shape), found);
            }
            counted(reshape.num_dims, shape, path, report);
        }
        XNodeUnion::XNNStaticSlice(slice) => {
            let (offsets, sizes) = (slice.offsets.as_deref(), slice.sizes.as_deref());
            let there = [list(offsets, "offsets", path, report), list(sizes, "sizes", path, report)];
            if there == [true, true] && slice.offsets().len() != slice.sizes().len() {
                let found = format!("{} sizes, but {} offsets", slice.sizes().len(), slice.offsets().len());
                report.add_at(rule::XNNPACK_NODE, &path.field("sizes"), report.offset(sizes), found);
            }
            counted(slice.num_dims, offsets, path, report);
        }
        XNodeUnion::XNNStaticConstantPad(pad) => {
            list(pad.pre_paddings.as_deref(), "pre_paddings", path, report);
            list(pad.post_paddings.as_deref(), "post_paddings", path, report);
        }
        _ => (),
    }
}

/// Returns `true` if a list that the node needs is present, and not longer than XNNPACK's number of dimensions.
fn list(list: Option<&[u32]>, name: &'static str, path: &Path<'_>, report: &mut Report<'_>) -> bool {
    match list {
        None => {
            report.add(rule::XNNPACK_NODE, &path.field(name), "absent, expected a list");
            false
        }
        Some(list) if list.len() > MAX_RANK => {
            let found = format!("{} dimensions, expected at most {MAX_RANK}", list.len());
            report.add_at(rule::XNNPACK_NODE, &path.field(name), report.offset(Some(list)), found);
            false
        }
        Some(_) => true,
    }
}

/// Checks the stated length of a list, which readers ignore.
fn counted(num_dims: u32, list: Option<&[u32]>, path: &Path<'_>, report: &mut Report<'_>) {
    let len = list.unwrap_or_default().len();
    if num_dims as usize != len {
        let found = format!("{num_dims}, but there are {len} dimensions");
        report.add(rule::XNNPACK_LISTS, &path.field("num_dims"), found);
    }
}

fn positive(numbers: &[(&'static str, u32)], path: &Path<'_>, report: &mut Report<'_>) {
    for (field, _) in numbers.iter().filter(|(_, number)| *number == 0) {
        report.add(rule::XNNPACK_NODE, &path.field(field), "0, expected a positive number");
    }
}

fn padding(flags: u32, padding: [u32; 4], rule: &'static Rule, path: &Path<'_>, report: &mut Report<'_>) {
    if flags & SAME_PADDING != 0 && padding != [0; 4] {
        let found = format!("{flags:#x}, which is TensorFlow's SAME padding, but the paddings are {}", Few(&padding));
        report.add(rule, &path.field("flags"), found);
    }
}

/// Checks a convolution. `unknown` is the rule for unknown flags: a transposed convolution ignores most of them.
fn convolution(conv: &XNNNodeConv, unknown: &'static Rule, path: &Path<'_>, report: &mut Report<'_>) {
    let paddings = [conv.padding_top, conv.padding_right, conv.padding_bottom, conv.padding_left];
    padding(conv.flags, paddings, unknown, path, report);
    if conv.flags & !SAME_PADDING != 0 {
        let found = format!("{:#x}, expected 0 or 4 (TensorFlow's SAME padding)", conv.flags);
        let known = conv.flags & !(SAME_PADDING | TRANSIENT_INDIRECTION) == 0;
        report.add(if known { rule::XNNPACK_NODE_FLAGS } else { unknown }, &path.field("flags"), found);
    }
    let numbers = [
        ("kernel_height", conv.kernel_height),
        ("kernel_width", conv.kernel_width),
        ("subsampling_height", conv.subsampling_height),
        ("subsampling_width", conv.subsampling_width),
        ("dilation_height", conv.dilation_height),
        ("dilation_width", conv.dilation_width),
        ("groups", conv.groups),
        ("group_input_channels", conv.group_input_channels),
        ("group_output_channels", conv.group_output_channels),
    ];
    positive(&numbers, path, report);
}

/// Returns the product, in 32 bits as in XNNPACK.
fn window_size(height: u32, width: u32) -> u32 {
    height.wrapping_mul(width)
}

fn pooling(pool: &XNNPooling2D, dilated: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let paddings = [pool.padding_top, pool.padding_right, pool.padding_bottom, pool.padding_left];
    padding(pool.flags, paddings, rule::XNNPACK_NODE, path, report);
    let numbers = [
        ("pooling_height", pool.pooling_height),
        ("pooling_width", pool.pooling_width),
        ("stride_height", pool.stride_height),
        ("stride_width", pool.stride_width),
    ];
    positive(&numbers, path, report);
    // The runtime does not read the dilation of an average.
    if dilated {
        let numbers = [("dilation_height", pool.dilation_height), ("dilation_width", pool.dilation_width)];
        positive(&numbers, path, report);
    }
    if window_size(pool.pooling_height, pool.pooling_width) <= 1 {
        let found =
            format!("a window of {}x{}, which XNNPACK does not support", pool.pooling_height, pool.pooling_width);
        report.add(rule::XNNPACK_NODE, &path.field("pooling_height"), found);
    }
}
