//! The workspace: the values inside a graph, placed by XNNPACK's planner.

use super::packed::second_matrices;
use super::{Tensors, round_up};
use crate::schema::xnnpack::{NO_ID, XNNDatatype, XNNStaticConstantPad, XNNTensorValue, XNode, XNodeUnion};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The maximum number of values that are planned, since the planner takes quadratic time. Graphs of large models have about two thousand.
const MAX_VALUES: usize = 4096;

/// The unit of sizes in the workspace.
const UNIT: u64 = 64;

/// The bytes after the end of an array that kernels may read (`XNN_EXTRA_BYTES`).
const EXTRA: u64 = 16;

/// A step of the graph. Ids beyond 32 bits are of values that XNNPACK adds.
#[derive(Default)]
struct Step {
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    /// `true` if XNNPACK may write the output over an input.
    in_place: bool,
    /// The bytes that the step alone needs.
    scratch: u64,
}

/// The bit of the value before a clamp that XNNPACK adds after an operator; the other bits are the id of the value after it.
const UNCLAMPED: u64 = 1 << 32;

/// A value in the workspace.
#[derive(Clone, Copy)]
struct Planned {
    size: u64,
    first: usize,
    last: usize,
}

/// The uses of a value.
#[derive(Clone, Copy, Default)]
struct Use {
    producer: Option<usize>,
    last: usize,
    consumers: usize,
}

/// Returns the size of the workspace; `None` for a value of unknown size, and for more than [`MAX_VALUES`] values.
pub(super) fn of(nodes: &[XNode<'_>], tensors: &Tensors<'_, '_>) -> Option<u64> {
    let steps = steps(nodes, tensors)?;
    let uses = uses(&steps);
    let mut planned: Vec<Planned> = Vec::new();
    // The places of values in `planned`.
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        for id in &step.outputs {
            let Some(tensor) = inside(*id, tensors) else { continue };
            let Some(used) = uses.get(id).filter(|used| used.producer == Some(index)) else { continue };
            let is_reusable = |input: &&u64| {
                let same = inside(**input, tensors).is_some_and(|input| input.byte_size() == tensor.byte_size());
                same && uses.get(input).is_some_and(|used| used.consumers == 1)
            };
            let reused = step.inputs.iter().find(is_reusable).filter(|_| step.in_place && used.consumers == 1);
            let place = match reused.and_then(|input| places.get(input).copied()) {
                Some(place) => {
                    planned.get_mut(place)?.last = used.last;
                    place
                }
                None => {
                    planned.push(Planned { size: size(tensor)?, first: index, last: used.last });
                    planned.len() - 1
                }
            };
            places.insert(*id, place);
        }
        if step.scratch > 0 {
            planned.push(Planned { size: round_up(step.scratch, UNIT)?, first: index, last: index });
        }
    }
    if planned.len() > MAX_VALUES { None } else { plan(planned) }
}

fn uses(steps: &[Step]) -> BTreeMap<u64, Use> {
    let mut uses: BTreeMap<u64, Use> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        for (at, id) in step.inputs.iter().enumerate() {
            let found = uses.entry(*id).or_default();
            found.last = index;
            found.consumers += usize::from(!step.inputs.iter().take(at).any(|other| other == id));
        }
        for id in &step.outputs {
            let found = uses.entry(*id).or_default();
            found.producer.get_or_insert(index);
            found.last = found.last.max(index);
        }
    }
    uses
}

/// Returns the tensor of a value in the workspace; `None` for inputs, outputs and constants.
fn inside<'t, 'a>(id: u64, tensors: &Tensors<'t, 'a>) -> Option<&'t XNNTensorValue<'a>> {
    // The lower bits are the tensor's id.
    let tensor = tensors.get(id as u32)?;
    let is_inside = !tensor.is_external() && tensor.constant_buffer_idx == 0;
    (is_inside || id & UNCLAMPED != 0).then_some(tensor)
}

/// Returns the size of a value in the workspace. Values that are quantized at run time have a scale, a zero point and a sum for each row.
fn size(tensor: &XNNTensorValue<'_>) -> Option<u64> {
    let size = round_up(tensor.byte_size()?, UNIT)?;
    if tensor.datatype != XNNDatatype::QDINT8 {
        return Some(size);
    }
    let rows = tensor.dims().split_last().map_or(&[][..], |(_, rows)| rows);
    let rows = rows.iter().try_fold(1u64, |count, size| count.checked_mul((*size).into()))?;
    size.checked_add(round_up(rows.checked_mul(8)?, UNIT)?)?.checked_add(round_up(rows.checked_mul(4)?, UNIT)?)
}

/// Describes the nodes as XNNPACK runs them: zero padding is part of the convolution that follows, and a range of the output is a clamp.
fn steps(nodes: &[XNode<'_>], tensors: &Tensors<'_, '_>) -> Option<Vec<Step>> {
    let mut consumers: BTreeMap<u32, usize> = BTreeMap::new();
    for (_, id) in nodes.iter().flat_map(|node| node.xnode_union.ids().inputs) {
        *consumers.entry(id).or_default() += 1;
    }
    let mut steps: Vec<Step> = Vec::with_capacity(nodes.len());
    // The steps that pad with zeros for one consumer, by their outputs.
    let mut padding: BTreeMap<u64, usize> = BTreeMap::new();
    for node in nodes {
        let mut step = step(node, tensors)?;
        match &node.xnode_union {
            XNodeUnion::XNNStaticConstantPad(pad)
                if is_zero_padding(pad) && consumers.get(&pad.output_id) == Some(&1) =>
            {
                padding.insert(pad.output_id.into(), steps.len());
            }
            XNodeUnion::XNNConv2d(_) | XNodeUnion::XNNDepthwiseConv2d(_) => {
                let pad = step.inputs.first().and_then(|input| padding.remove(input));
                if let Some(pad) = pad.and_then(|pad| steps.get_mut(pad)) {
                    let input = core::mem::take(pad).inputs.first().copied();
                    step.inputs.iter_mut().zip(input).for_each(|(input, padded)| *input = padded);
                }
            }
            XNodeUnion::XNNAdd(_) | XNodeUnion::XNNSubtract(_) | XNodeUnion::XNNMultiply(_) | XNodeUnion::XNNDiv(_)
                if node
                    .output_min_max
                    .is_some_and(|range| range.output_min > f32::NEG_INFINITY || range.output_max < f32::INFINITY) =>
            {
                let unclamped: Vec<u64> = step.outputs.iter().map(|id| id | UNCLAMPED).collect();
                let clamp = core::mem::take(&mut step.outputs);
                step.outputs.clone_from(&unclamped);
                steps.push(step);
                step = Step { inputs: unclamped, outputs: clamp, in_place: true, scratch: 0 };
            }
            _ => {}
        }
        steps.push(step);
    }
    Some(steps)
}

/// Returns `true` for padding with zeros of an image's height and width alone.
fn is_zero_padding(pad: &XNNStaticConstantPad<'_>) -> bool {
    let is_spatial = |sizes: Option<&[u32]>| matches!(sizes, Some([0, _, _, 0]));
    pad.padding_value == 0.0 && is_spatial(pad.pre_paddings.as_deref()) && is_spatial(pad.post_paddings.as_deref())
}

fn step(node: &XNode<'_>, tensors: &Tensors<'_, '_>) -> Option<Step> {
    let ids = node.xnode_union.ids();
    let values = |ids: Vec<(&'static str, u32)>| {
        ids.into_iter().map(|(_, id)| id).filter(|id| *id != NO_ID).map(u64::from).collect()
    };
    // A matrix that is computed is packed for each run.
    let packed = |id: u32| match tensors.get(id) {
        Some(tensor) if tensor.constant_buffer_idx == 0 => second_matrices(tensor),
        _ => Some(0),
    };
    let (in_place, scratch) = match &node.xnode_union {
        XNodeUnion::XNNBatchMatrixMultiply(matrices) => (false, packed(matrices.input2_id)?),
        XNodeUnion::XNNFullyConnected(linear) => (false, packed(linear.filter_id)?),
        XNodeUnion::XNNConv2d(_)
        | XNodeUnion::XNNDepthwiseConv2d(_)
        | XNodeUnion::XNNConvTranspose2d(_)
        | XNodeUnion::XNNGlobalAvgPooling2d(_)
        | XNodeUnion::XNNAvgPooling2d(_)
        | XNodeUnion::XNNMaxPooling2d(_)
        | XNodeUnion::XNNArgMaxPooling2d(_)
        | XNodeUnion::XNNStaticTranspose(_)
        | XNodeUnion::XNNStaticSlice(_)
        | XNodeUnion::XNNStaticConstantPad(_)
        | XNodeUnion::XNNStaticResizeBilinear2D(_)
        | XNodeUnion::XNNConcatenate2(_)
        | XNodeUnion::XNNConcatenate3(_)
        | XNodeUnion::XNNConcatenate4(_)
        | XNodeUnion::XNNConcatenate5(_)
        | XNodeUnion::XNNScaledDotProductAttention(_)
        | XNodeUnion::None
        | XNodeUnion::Unknown(_) => (false, 0),
        // Elementwise operators, softmax, copies and reshapes.
        _ => (true, 0),
    };
    Some(Step { inputs: values(ids.inputs), outputs: values(ids.outputs), in_place, scratch })
}

/// Places values as XNNPACK's planner does: the largest first, each in the smallest gap between those that are needed at the same time.
/// Returns the end of the last one.
fn plan(mut values: Vec<Planned>) -> Option<u64> {
    values.sort_by_key(|value| Reverse(value.size));
    // Sorted by offset.
    let mut placed: Vec<(u64, Planned)> = Vec::with_capacity(values.len());
    let mut size = 0u64;
    for value in values {
        let (mut free, mut best): (u64, Option<(u64, u64)>) = (0, None);
        for (start, other) in &placed {
            if value.first > other.last || other.first > value.last {
                continue;
            }
            let gap = start.saturating_sub(free);
            if gap >= value.size && best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((gap, free));
            }
            free = free.max(start.saturating_add(other.size));
        }
        let offset = best.map_or(free, |(_, offset)| offset);
        size = size.max(offset.checked_add(value.size)?);
        placed.insert(placed.partition_point(|(start, _)| *start <= offset), (offset, value));
    }
    if size == 0 { Some(0) } else { size.checked_add(2 * EXTRA) }
}
