//! Rules about the shapes of a node's values. XNNPACK checks shapes only when it runs the node, and may crash then,
//! because it plans memory for the shapes that the payload states.

use super::super::report::{Few, Report};
use super::super::rule;
use super::Graph;
use crate::delegate::xnnpack::NodeIds;
use crate::path::Path;
use crate::schema::xnnpack::{EXTERNAL_OUTPUT, NO_ID, XNNDatatype, XNNNodeConv, XNNPooling2D, XNode, XNodeUnion};
use crate::sorted::set;
use alloc::collections::BTreeMap;
use alloc::{format, vec, vec::Vec};

pub(super) fn check(graph: &Graph<'_>, node: &XNode<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let ids = node.xnode_union.ids();
    let inputs = inputs(&ids, |id| graph.dims(id));
    let written = ids.outputs.iter().find(|(_, id)| *id != NO_ID);
    let (Some(input), Some((_, output_id))) = (inputs.first(), written) else {
        return;
    };
    let Some(output) = &graph.dims(*output_id) else {
        return;
    };
    // The runtime reads as many paddings as the input has dimensions, regardless of the lengths of the lists.
    if let XNodeUnion::XNNStaticConstantPad(pad) = &node.xnode_union {
        for (list, field) in [(pad.pre_paddings(), "pre_paddings"), (pad.post_paddings(), "post_paddings")] {
            if list.len() != input.len() {
                let found = format!("{}, expected one for each of the {} dimensions", Few(list), input.len());
                let rule = if list.len() < input.len() { rule::XNNPACK_PADDING } else { rule::XNNPACK_NODE_SHAPE };
                // An absent list ends the process. If a list is too short, the runtime reads other bytes of the payload.
                if rule == rule::XNNPACK_NODE_SHAPE || report.concerns(list.is_empty()) {
                    report.add_at(rule, &path.field(field), report.offset(Some(list)), found);
                }
                return;
            }
        }
    }
    match inferred(&node.xnode_union, input, &inputs) {
        Ok(Some(expected)) if expected != *output => {
            let found = format!("an output of {}, expected {}", Few(output), Few(&expected));
            report.add(rule::XNNPACK_NODE_SHAPE, path, found);
        }
        Ok(_) => (),
        Err(fault) => report.add(rule::XNNPACK_NODE_SHAPE, path, format!("{fault}, with an input of {}", Few(input))),
    }
}

/// Returns the dimensions of a node's inputs.
fn inputs(ids: &NodeIds, dims: impl Fn(u32) -> Option<Vec<u64>>) -> Vec<Vec<u64>> {
    ids.inputs.iter().filter(|(_, id)| *id != NO_ID).filter_map(|(_, id)| dims(*id)).collect()
}

/// Returns the dimensions of the values that are stored with the channels first although they are last when the graph runs, by id.
///
/// For a convolution whose input is quantized at run time, the exporter transposes the value from which it is computed, and leaves the
/// stored dimensions of all values in between as they were. XNNPACK computes them again.
pub(super) fn relaid(graph: &Graph<'_>) -> Vec<(u32, Vec<u64>)> {
    let nodes = graph.payload.graph.xnodes();
    let is_dynamic = |node: &XNode<'_>| match &node.xnode_union {
        XNodeUnion::XNNConvert(convert) => graph.datatype(convert.output_id) == Some(XNNDatatype::QDINT8),
        _ => false,
    };
    if !nodes.iter().any(is_dynamic) {
        return Vec::new();
    }
    let mut found = BTreeMap::<u32, Vec<u64>>::new();
    for node in nodes {
        let ids = node.xnode_union.ids();
        let inputs = inputs(&ids, |id| found.get(&id).cloned().or_else(|| graph.dims(id)));
        let Some(Ok(Some(expected))) = inputs.first().map(|input| inferred(&node.xnode_union, input, &inputs)) else {
            continue;
        };
        let [batch, height, width, channels] = *expected else { continue };
        for (_, id) in &ids.outputs {
            let Some(tensor) = graph.tensor(*id).filter(|tensor| tensor.flags & EXTERNAL_OUTPUT == 0) else { continue };
            let stored = tensor.dims().iter().map(|size| u64::from(*size));
            let is_same = stored.clone().eq(expected.iter().copied());
            if !is_same && stored.eq([batch, channels, height, width]) {
                found.insert(*id, expected.clone());
            }
        }
    }
    found.into_iter().collect()
}

/// Returns the shape of the output; `None` if it does not follow from the inputs alone.
pub(super) fn inferred(
    node: &XNodeUnion<'_>,
    input: &[u64],
    inputs: &[Vec<u64>],
) -> Result<Option<Vec<u64>>, &'static str> {
    let wide = |list: &[u32]| -> Vec<u64> { list.iter().map(|size| (*size).into()).collect() };
    Ok(match node {
        XNodeUnion::XNNStaticTranspose(transpose) => {
            let perm = transpose.perm();
            // Another rule reports lists that are not permutations, lists of different lengths, and zeros, here and below.
            if set(perm.to_vec()).len() < perm.len() {
                return Ok(None);
            }
            let sizes: Option<Vec<u64>> = perm.iter().map(|dim| input.get(*dim as usize).copied()).collect();
            match sizes {
                Some(sizes) if perm.len() == input.len() => Some(sizes),
                _ => return Err("a permutation of another number of dimensions"),
            }
        }
        XNodeUnion::XNNStaticSlice(slice) => {
            let (offsets, sizes) = (wide(slice.offsets()), wide(slice.sizes()));
            if offsets.len() != sizes.len() {
                return Ok(None);
            }
            let inside = |((offset, size), dim): ((&u64, &u64), &u64)| offset + size <= *dim;
            if offsets.len() != input.len() || !offsets.iter().zip(&sizes).zip(input).all(inside) {
                return Err("a slice that is not inside its input");
            }
            // A size of 0 means up to the end.
            (!sizes.contains(&0)).then_some(sizes)
        }
        XNodeUnion::XNNStaticReshape(reshape) => {
            let shape = wide(reshape.new_shape());
            if shape.contains(&0) {
                return Ok(None);
            }
            let product = |dims: &[u64]| dims.iter().fold(1u64, |all, size| all.saturating_mul(*size));
            if product(&shape) != product(input) {
                return Err("a reshape to another number of elements");
            }
            Some(shape)
        }
        XNodeUnion::XNNStaticConstantPad(pad) => {
            let paddings = wide(pad.pre_paddings()).into_iter().zip(wide(pad.post_paddings()));
            Some(input.iter().zip(paddings).map(|(size, (pre, post))| size + pre + post).collect())
        }
        XNodeUnion::XNNConcatenate2(cat)
        | XNodeUnion::XNNConcatenate3(cat)
        | XNodeUnion::XNNConcatenate4(cat)
        | XNodeUnion::XNNConcatenate5(cat) => {
            // A negative axis counts from the end.
            let axis = cat.axis as i32;
            let axis = if axis < 0 { i64::from(axis) + input.len() as i64 } else { axis.into() };
            let mut shape = input.to_vec();
            let axis = usize::try_from(axis).unwrap_or(usize::MAX);
            let sizes: Option<Vec<u64>> = inputs.iter().map(|dims| dims.get(axis).copied()).collect();
            match (shape.get_mut(axis), sizes) {
                (Some(place), Some(sizes)) => *place = sizes.iter().sum(),
                _ => return Err("an axis that is not one of the dimensions"),
            }
            Some(shape)
        }
        XNodeUnion::XNNConv2d(conv) => convolution(conv, u64::from(conv.group_output_channels), input)?,
        XNodeUnion::XNNDepthwiseConv2d(conv) => {
            match conv.group_output_channels.checked_div(conv.group_input_channels) {
                Some(channels) => convolution(conv, channels.into(), input)?,
                None => None,
            }
        }
        XNodeUnion::XNNConvTranspose2d(conv) => transposed(conv, input)?,
        XNodeUnion::XNNAvgPooling2d(pool) => pooling(pool, [1, 1], input)?,
        XNodeUnion::XNNMaxPooling2d(pool) => pooling(pool, [pool.dilation_height, pool.dilation_width], input)?,
        XNodeUnion::XNNStaticResizeBilinear2D(resize) => match *input {
            [batch, _, _, channels] => Some(vec![batch, resize.new_height.into(), resize.new_width.into(), channels]),
            _ => return Err("a resize of other than 4 dimensions"),
        },
        XNodeUnion::XNNAdd(_)
        | XNodeUnion::XNNSubtract(_)
        | XNodeUnion::XNNMultiply(_)
        | XNodeUnion::XNNDiv(_)
        | XNodeUnion::XNNMinimum(_)
        | XNodeUnion::XNNMaximum(_)
        | XNodeUnion::XNNPReLU(_) => broadcast(inputs)?,
        XNodeUnion::XNNFullyConnected(_)
        | XNodeUnion::XNNBatchMatrixMultiply(_)
        | XNodeUnion::XNNGlobalAvgPooling2d(_)
        | XNodeUnion::XNNArgMaxPooling2d(_)
        | XNodeUnion::XNNScaledDotProductAttention(_)
        | XNodeUnion::None
        | XNodeUnion::Unknown(_) => None,
        // The others are elementwise.
        _ => Some(input.to_vec()),
    })
}

/// Broadcasts two shapes, aligned at their ends: sizes are equal, or one of them is 1.
fn broadcast(inputs: &[Vec<u64>]) -> Result<Option<Vec<u64>>, &'static str> {
    let [left, right] = inputs else {
        return Ok(None);
    };
    let (long, short) = if left.len() >= right.len() { (left, right) } else { (right, left) };
    let mut shape = long.clone();
    for (place, size) in shape.iter_mut().rev().zip(short.iter().rev()) {
        match (*place, *size) {
            (_, 1) => (),
            (1, size) => *place = size,
            (place, size) if place == size => (),
            _ => return Err("inputs whose shapes do not broadcast"),
        }
    }
    Ok(Some(shape))
}

/// A dimension of a window that slides over an input.
struct Window {
    input: u64,
    kernel: u32,
    dilation: u32,
    stride: u32,
    padding: [u32; 2],
}

impl Window {
    /// Returns `true` if the size, stride or dilation is 0.
    fn is_empty(&self) -> bool {
        [self.kernel, self.dilation, self.stride].contains(&0)
    }

    /// Returns the number of elements of the input that the window spans.
    fn span(&self) -> i128 {
        (i128::from(self.kernel) - 1) * i128::from(self.dilation) + 1
    }

    fn padding(&self) -> i128 {
        self.padding.iter().map(|padding| i128::from(*padding)).sum()
    }

    /// Returns the number of positions at which the window fits into the input.
    fn count(&self) -> Result<u64, &'static str> {
        let room = i128::from(self.input) + self.padding() - self.span();
        positive(room.div_euclid(i128::from(self.stride).max(1)) + 1)
    }
}

/// The message about a transposed convolution that makes XNNPACK divide by zero.
pub(super) const EMPTY_OUTPUT: &str = "a transposed convolution whose padding leaves no output";

fn positive(size: i128) -> Result<u64, &'static str> {
    u64::try_from(size).ok().filter(|size| *size > 0).ok_or("a window that does not fit into its input")
}

/// TensorFlow's `SAME` padding.
const SAME_PADDING: u32 = 4;

fn convolution(conv: &XNNNodeConv, channels: u64, input: &[u64]) -> Result<Option<Vec<u64>>, &'static str> {
    let &[batch, height, width, _] = input else {
        return Err("a convolution of other than 4 dimensions");
    };
    if conv.flags & SAME_PADDING != 0 {
        return Ok(None);
    }
    let [rows, columns] = windows(conv, height, width);
    if rows.is_empty() || columns.is_empty() {
        return Ok(None);
    }
    Ok(Some(vec![batch, rows.count()?, columns.count()?, u64::from(conv.groups) * channels]))
}

fn windows(conv: &XNNNodeConv, height: u64, width: u64) -> [Window; 2] {
    let rows = Window {
        input: height,
        kernel: conv.kernel_height,
        dilation: conv.dilation_height,
        stride: conv.subsampling_height,
        padding: [conv.padding_top, conv.padding_bottom],
    };
    let columns = Window {
        input: width,
        kernel: conv.kernel_width,
        dilation: conv.dilation_width,
        stride: conv.subsampling_width,
        padding: [conv.padding_left, conv.padding_right],
    };
    [rows, columns]
}

fn transposed(conv: &XNNNodeConv, input: &[u64]) -> Result<Option<Vec<u64>>, &'static str> {
    let &[batch, height, width, _] = input else {
        return Err("a convolution of other than 4 dimensions");
    };
    let [rows, columns] = windows(conv, height, width);
    if rows.is_empty() || columns.is_empty() {
        return Ok(None);
    }
    let size = |window: &Window, adjustment: u32| {
        let before = (i128::from(window.input) - 1) * i128::from(window.stride);
        positive(before + window.span() + i128::from(adjustment) - window.padding())
    };
    let channels = u64::from(conv.groups) * u64::from(conv.group_output_channels);
    let (rows, columns) = (size(&rows, conv.adjustment_height), size(&columns, conv.adjustment_width));
    let (Ok(rows), Ok(columns)) = (rows, columns) else {
        return Err(EMPTY_OUTPUT);
    };
    Ok(Some(vec![batch, rows, columns, channels]))
}

fn pooling(pool: &XNNPooling2D, dilation: [u32; 2], input: &[u64]) -> Result<Option<Vec<u64>>, &'static str> {
    let &[batch, height, width, channels] = input else {
        return Err("a pool of other than 4 dimensions");
    };
    if pool.flags & SAME_PADDING != 0 {
        return Ok(None);
    }
    let [dilation_height, dilation_width] = dilation;
    let rows = Window {
        input: height,
        kernel: pool.pooling_height,
        dilation: dilation_height,
        stride: pool.stride_height,
        padding: [pool.padding_top, pool.padding_bottom],
    };
    let columns = Window {
        input: width,
        kernel: pool.pooling_width,
        dilation: dilation_width,
        stride: pool.stride_width,
        padding: [pool.padding_left, pool.padding_right],
    };
    if rows.is_empty() || columns.is_empty() {
        return Ok(None);
    }
    Ok(Some(vec![batch, rows.count()?, columns.count()?, channels]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::xnnpack::XNNStaticTranspose;

    /// Comparing each dimension with all others would take minutes.
    #[test]
    fn a_permutation_of_many_dimensions_takes_no_longer_than_its_list() {
        let perm: Vec<u32> = (0..1 << 20).collect();
        let node = XNNStaticTranspose { perm: Some(perm.into()), ..XNNStaticTranspose::default() };
        let found = inferred(&XNodeUnion::XNNStaticTranspose(node), &[1, 2], &[]);
        assert_eq!(found, Err("a permutation of another number of dimensions"));
    }
}
