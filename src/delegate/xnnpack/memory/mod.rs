//! The memory that XNNPACK allocates for a graph, computed as XNNPACK's `memory-planner.c`, `runtime.c` and operators do.

mod packed;
mod tables;
mod workspace;

use super::Xnnpack;
use crate::schema::xnnpack::{XNNNodeConv, XNNTensorValue, XValue};
use alloc::collections::BTreeMap;

/// The memory that XNNPACK allocates for a graph in bytes, for the sizes in the graph: the largest ones if shapes are dynamic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct XnnpackMemory {
    /// The values inside the graph, at the time when they take most; `None` for an unknown type and for more values than are planned.
    pub workspace: Option<u64>,
    /// Addresses of inputs, which convolutions, poolings and resizing keep for each output pixel.
    pub tables: Option<u64>,
    /// The weights in the order of the kernels.
    pub packed: Option<u64>,
    /// The constants that operators read in place.
    pub in_place: u64,
    /// The constants that are packed: they are in memory only while the delegate is loaded.
    pub unpacked: u64,
}

impl Xnnpack<'_> {
    /// Returns the memory that XNNPACK allocates to load and run the graph.
    pub(crate) fn memory(&self) -> XnnpackMemory {
        let tensors = Tensors { values: self.graph.xvalues(), by_id: self.graph.values_by_id() };
        let (nodes, packed) = (self.graph.xnodes(), self.graph.packed_ids());
        let (mut in_place, mut unpacked) = (0u64, 0u64);
        for constant in self.constants() {
            let is_packed = constant.uses.iter().any(|used| {
                let tensor = self.graph.xvalues().get(used.value()).and_then(|value| value.tensor());
                tensor.is_some_and(|tensor| packed.binary_search(&tensor.id_out).is_ok())
            });
            let sum = if is_packed { &mut unpacked } else { &mut in_place };
            *sum = sum.saturating_add(constant.place.size());
        }
        XnnpackMemory {
            workspace: workspace::of(nodes, &tensors),
            tables: sum(nodes.iter().map(|node| tables::of(&node.xnode_union, &tensors))),
            packed: sum(nodes.iter().map(|node| packed::of(&node.xnode_union, &tensors))),
            in_place,
            unpacked,
        }
    }
}

fn sum(mut sizes: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    sizes.try_fold(0u64, |sum, size| sum.checked_add(size?))
}

/// The tensors of a graph by id.
struct Tensors<'t, 'a> {
    values: &'t [XValue<'a>],
    by_id: BTreeMap<u32, usize>,
}

impl<'t, 'a> Tensors<'t, 'a> {
    fn value(&self, id: u32) -> Option<&'t XValue<'a>> {
        self.values.get(*self.by_id.get(&id)?)
    }

    fn get(&self, id: u32) -> Option<&'t XNNTensorValue<'a>> {
        self.value(id)?.tensor()
    }

    /// Returns the sizes of a tensor with batch, height, width and channels.
    fn image(&self, id: u32) -> Option<[u64; 4]> {
        let [batch, height, width, channels] = *self.get(id)?.dims() else { return None };
        Some([batch.into(), height.into(), width.into(), channels.into()])
    }
}

fn product<const N: usize>(factors: [u64; N]) -> Option<u64> {
    factors.into_iter().try_fold(1u64, u64::checked_mul)
}

fn round_up(size: u64, unit: u64) -> Option<u64> {
    size.checked_next_multiple_of(unit)
}

/// The number of groups of a convolution, and the number of output channels of each.
#[derive(Clone, Copy)]
struct Groups {
    count: u64,
    output: u64,
    /// `true` for a kernel that computes each channel by itself: groups of one input and one output channel.
    is_depthwise: bool,
}

impl Groups {
    fn of(conv: &XNNNodeConv) -> Self {
        let output = conv.group_output_channels.into();
        let is_depthwise = conv.group_input_channels == 1 && output == 1;
        Self { count: conv.groups.into(), output, is_depthwise }
    }

    /// Returns the groups of a depthwise convolution, whose node has the number of output channels for each input channel as a quotient. Only
    /// with one of them, XNNPACK computes each channel by itself.
    fn of_depthwise(conv: &XNNNodeConv) -> Option<Self> {
        let output = conv.group_output_channels.checked_div(conv.group_input_channels)?;
        Some(Self { count: conv.groups.into(), output: output.into(), is_depthwise: output == 1 })
    }
}
