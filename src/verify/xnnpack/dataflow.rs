//! Rules about the order of nodes: each value is written once, before it is read. Also rules about graphs on which XNNPACK's
//! passes crash.

use super::super::report::Report;
use super::super::rule;
use super::{Graph, datatypes, find};
use crate::path::Path;
use crate::schema::xnnpack::{EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID, XNNDatatype, XNode, XNodeUnion};
use alloc::collections::BTreeMap;
use alloc::{format, vec, vec::Vec};

/// XNNPACK replaces consecutive nodes with a lookup table, and its list of them has this many entries.
const MAX_IN_A_ROW: usize = 9;

pub(super) fn check(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let uses = NodeUses::new(graph);
    let checked_at_load = CheckedAtLoad::new(graph);
    let mut written: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, node) in graph.payload.graph.xnodes().iter().enumerate() {
        let path = path.item("xnodes", index);
        let path = &path.field("xnode_union");
        let path = &path.field(node.name());
        let ids = node.xnode_union.ids();
        for (field, id) in ids.inputs {
            let Some(tensor) = graph.tensor(id) else {
                continue;
            };
            let given = tensor.constant_buffer_idx != 0 || tensor.flags & EXTERNAL_INPUT != 0;
            // Weights without data break another rule.
            if !given && !written.contains_key(&id) && !["filter_id", "bias_id"].contains(&field) {
                let found = format!("value {id}, which is no input, no constant, and not written by an earlier node");
                report.add(rule::XNNPACK_DATAFLOW, &path.field(field), found);
            }
        }
        for (field, id) in ids.outputs {
            let (Some(tensor), true) = (graph.tensor(id), id != NO_ID) else {
                continue;
            };
            let path = &path.field(field);
            if let Some(first) = written.insert(id, index) {
                let found = format!("value {id}, which node {first} has written already");
                let copied = matches!(node.xnode_union, XNodeUnion::XNNCopy(_));
                let harmless = !copied && uses.are_writes_apart(graph, id, index, checked_at_load.quantized);
                report.add(if harmless { rule::XNNPACK_DATAFLOW } else { rule::XNNPACK_OUTPUT }, path, found);
            }
            if tensor.constant_buffer_idx != 0 {
                if report.concerns(checked_at_load.constant(id)) {
                    report.add(rule::XNNPACK_OUTPUT, path, format!("value {id}, which is a constant"));
                }
            } else if tensor.flags & EXTERNAL_INPUT != 0 && report.concerns(checked_at_load.quantized) {
                report.add(rule::XNNPACK_OUTPUT, path, format!("value {id}, which is an input"));
            }
        }
    }
    for (index, tensor) in graph.payload.graph.externals() {
        if tensor.flags == EXTERNAL_OUTPUT && !written.contains_key(&tensor.id_out) {
            let found = format!("output {}, which no node writes", tensor.external_id);
            report.add(rule::XNNPACK_DATAFLOW, &path.item("xvalues", index), found);
        }
    }
    passes(graph, &uses, path, report);
    cycle(graph, &uses, path, report);
}

/// The cases in which XNNPACK detects, while it loads a graph, that a node overwrites a value. The consequences follow from how it fuses
/// and rewrites nodes, and differ between graphs. In other graphs, the fault shows only in a run.
struct CheckedAtLoad {
    /// `true` if the graph has quantized values: XNNPACK fuses nodes on such values, and creates operators from the scales of whichever
    /// value is there.
    quantized: bool,
    /// The ids of filters and of second factors, which take the shape of the value that a node writes to them. Sorted.
    packed: Vec<u32>,
}

impl CheckedAtLoad {
    fn new(graph: &Graph<'_>) -> Self {
        let quantized = graph.payload.graph.xvalues().iter().any(|value| value.quant_params().is_some());
        let packed = |node: &XNode<'_>| match &node.xnode_union {
            XNodeUnion::XNNBatchMatrixMultiply(multiply) => Some(multiply.input2_id),
            union => union.ids().inputs.iter().find(|(field, _)| *field == "filter_id").map(|(_, id)| *id),
        };
        let mut packed: Vec<u32> = graph.payload.graph.xnodes().iter().filter_map(packed).collect();
        packed.sort();
        Self { quantized, packed }
    }

    /// Returns `true` if XNNPACK detects that a node overwrites this constant.
    fn constant(&self, id: u32) -> bool {
        self.quantized || self.packed.binary_search(&id).is_ok()
    }
}

/// Checks for cycles. XNNPACK removes nodes whose results are not needed, and sorts the rest so that each comes after those whose
/// results it reads. If there is a cycle and another node is moved, the positions of the nodes in the cycle are never set.
fn cycle(graph: &Graph<'_>, uses: &NodeUses, path: &Path<'_>, report: &mut Report<'_>) {
    let (waits, ready) = uses.waits(graph);
    if let Some(first) = waits.iter().position(|wait| *wait > 0) {
        let needed = graph.needed(uses);
        let gap = needed.iter().position(|needed| !needed).unwrap_or(first).min(first);
        // A reader of a value that two nodes write comes after both.
        let moved = ready.iter().any(|index| *index > gap) || uses.is_written_twice(graph);
        let path = &path.item("xnodes", first);
        let found = "a node that depends on its own result";
        report.add(if moved { rule::XNNPACK_CYCLE } else { rule::XNNPACK_DATAFLOW }, path, found);
    }
}

/// Follows `xnn_subgraph_optimize` of XNNPACK's `subgraph.c`.
#[expect(clippy::indexing_slicing, reason = "`stuck` has an item for each node")]
fn passes(graph: &Graph<'_>, uses: &NodeUses, path: &Path<'_>, report: &mut Report<'_>) {
    let stuck = uses.stuck(graph);
    for (index, node) in graph.payload.graph.xnodes().iter().enumerate() {
        let path = path.item("xnodes", index);
        let path = &path.field("xnode_union");
        let path = &path.field(node.name());
        let ids = node.xnode_union.ids();
        match (&node.xnode_union, ids.inputs.first()) {
            (XNodeUnion::XNNArgMaxPooling2d(_), _) => {
                for (field, id) in &ids.outputs {
                    // The runtime loads the graph, but has no memory for the output when it runs.
                    let is_lost = !graph.is_used(*id) || uses.last_writer(*id) != Some(index);
                    if is_lost && report.is_strict() {
                        let found = format!(
                            "value {id}, which is no output of the graph, or written again, and which no node reads"
                        );
                        report.add(rule::XNNPACK_OUTPUT, &path.field(field), found);
                    }
                }
            }
            (XNodeUnion::XNNFullyConnected(_) | XNodeUnion::XNNBatchMatrixMultiply(_), Some((field, id))) => {
                let dynamic = graph.tensor(*id).is_some_and(|tensor| tensor.datatype == XNNDatatype::QDINT8);
                // By then, a node whose result is not read has been removed, and a node that depends on a cycle does not become an operator.
                let is_used = ids.outputs.iter().any(|(_, id)| graph.is_used(*id)) && !stuck[index];
                if dynamic && report.concerns(is_used) && !uses.is_converted(graph, *id) {
                    let found = format!("value {id}, which is quantized at run time, and which no XNNConvert writes");
                    report.add(rule::XNNPACK_DYNAMIC, &path.field(field), found);
                }
            }
            (union, Some((field, id))) if in_a_row(union) && is_8_bit(graph, *id) => {
                let length = uses.row(graph, index);
                if length == usize::MAX {
                    let found = "nodes in a row of which one writes an input of the graph";
                    report.add(rule::XNNPACK_CHAIN, &path.field(field), found);
                } else if length > MAX_IN_A_ROW {
                    let found = format!("{length} nodes in a row, expected at most {MAX_IN_A_ROW}");
                    report.add(rule::XNNPACK_CHAIN, &path.field(field), found);
                }
            }
            _ => (),
        }
    }
}

fn is_8_bit(graph: &Graph<'_>, id: u32) -> bool {
    graph.tensor(id).is_some_and(|tensor| tensor.datatype.element_bits() == Some(8))
}

/// Returns `true` if XNNPACK treats the node as an elementwise function of one input.
pub(super) fn in_a_row(node: &XNodeUnion<'_>) -> bool {
    matches!(
        node,
        XNodeUnion::XNNSigmoid(_)
            | XNodeUnion::XNNClamp(_)
            | XNodeUnion::XNNFloor(_)
            | XNodeUnion::XNNConvert(_)
            | XNodeUnion::XNNSquareRoot(_)
            | XNodeUnion::XNNCeiling(_)
            | XNodeUnion::XNNHardswish(_)
            | XNodeUnion::XNNLeakyReLU(_)
            | XNodeUnion::XNNNegate(_)
            | XNodeUnion::XNNSquare(_)
            | XNodeUnion::XNNELU(_)
            | XNodeUnion::XNNAbs(_)
            | XNodeUnion::XNNReciprocalSquareRoot(_)
            | XNodeUnion::XNNLog(_)
            | XNodeUnion::XNNGelu(_)
            | XNodeUnion::XNNTanh(_)
            | XNodeUnion::XNNExp(_)
            | XNodeUnion::XNNSin(_)
            | XNodeUnion::XNNCos(_)
    )
}

/// Returns `true` if XNNPACK may fuse the node with the one that writes its input or reads its result, on values that are not quantized.
fn may_fuse(node: &XNodeUnion<'_>) -> bool {
    matches!(
        node,
        XNodeUnion::XNNClamp(_)
            | XNodeUnion::XNNCopy(_)
            | XNodeUnion::XNNStaticConstantPad(_)
            | XNodeUnion::XNNStaticReshape(_)
            | XNodeUnion::XNNMultiply(_)
            | XNodeUnion::XNNDiv(_)
            | XNodeUnion::XNNMaximum(_)
            | XNodeUnion::XNNMinimum(_)
            | XNodeUnion::XNNFullyConnected(_)
            | XNodeUnion::XNNBatchMatrixMultiply(_)
            | XNodeUnion::XNNGlobalAvgPooling2d(_)
    )
}

/// The nodes that read and write each value.
pub(super) struct NodeUses {
    /// Pairs of value and node, sorted.
    readers: Vec<(u32, usize)>,
    writers: Vec<(u32, usize)>,
    /// Pairs of an id and another id that stands for the same value, sorted.
    same: Vec<(u32, u32)>,
    /// `true` if XNNPACK removes a node, or clears a value, because it is unused.
    removes: bool,
}

fn the_one(same: &[(u32, u32)], id: u32) -> u32 {
    find(same, id).unwrap_or(id)
}

impl NodeUses {
    pub(super) fn new(graph: &Graph<'_>) -> Self {
        let (mut readers, mut writers) = (Vec::new(), Vec::new());
        for (index, node) in graph.payload.graph.xnodes().iter().enumerate() {
            let ids = node.xnode_union.ids();
            readers.extend(ids.inputs.iter().map(|(_, id)| (*id, index)));
            writers.extend(ids.outputs.iter().map(|(_, id)| (*id, index)));
        }
        // Two ids for the same argument are a single value.
        let mut same = Vec::new();
        for (id, index) in &graph.ids {
            match graph.indexed_value(*index).tensor() {
                Some(tensor) if tensor.id_out != *id => same.push((*id, tensor.id_out)),
                _ => (),
            }
        }
        for (id, _) in readers.iter_mut().chain(&mut writers) {
            *id = the_one(&same, *id);
        }
        readers.sort();
        writers.sort();
        let removes = graph.produced.iter().any(|id| !graph.is_used(*id));
        Self { readers, writers, same, removes }
    }

    /// Returns the id that represents a value.
    pub(super) fn the_one(&self, id: u32) -> u32 {
        the_one(&self.same, id)
    }

    fn of<'l>(&self, list: &'l [(u32, usize)], id: u32) -> &'l [(u32, usize)] {
        let id = self.the_one(id);
        let (_, rest) = list.split_at(list.partition_point(|(before, _)| *before < id));
        let (found, _) = rest.split_at(rest.partition_point(|(found, _)| *found == id));
        found
    }

    /// Returns the values that are read only by multiplications, as their input: XNNPACK lets these read the unconverted value
    /// instead. Sorted, by the ids that represent them.
    pub(super) fn taken_in(&self, graph: &Graph<'_>) -> Vec<u32> {
        let takes = |(id, reader): &(u32, usize)| match &graph.node(*reader).xnode_union {
            XNodeUnion::XNNFullyConnected(dense) => self.the_one(dense.input1_id) == *id,
            XNodeUnion::XNNBatchMatrixMultiply(multiply) => self.the_one(multiply.input1_id) == *id,
            _ => false,
        };
        let readers = self.readers.chunk_by(|(before, _), (after, _)| before == after);
        readers.filter(|readers| readers.iter().all(takes)).filter_map(|readers| Some(readers.first()?.0)).collect()
    }

    /// Returns `true` if a conversion writes the value; XNNPACK treats a clamp without limits as a conversion.
    fn is_converted(&self, graph: &Graph<'_>, id: u32) -> bool {
        let writer = self.last_writer(id).map(|index| graph.node(index));
        writer.is_some_and(|node| match node.xnode_union {
            XNodeUnion::XNNConvert(_) => true,
            XNodeUnion::XNNClamp(_) => datatypes::unclamped(node),
            _ => false,
        })
    }

    /// Sorts the nodes topologically. Returns, for each node, the number of inputs that it still waits for at the end, and the
    /// order of the nodes that wait for none.
    #[expect(
        clippy::indexing_slicing,
        reason = "`waits` has an item for each node, and `next` does not pass the end of `ready`"
    )]
    pub(super) fn waits(&self, graph: &Graph<'_>) -> (Vec<usize>, Vec<usize>) {
        // The number of inputs that each node waits for, and the waits: writer, value, reader.
        let mut waits = vec![0usize; graph.payload.graph.xnodes().len()];
        let mut awaited = Vec::new();
        for (id, reader) in &self.readers {
            if let Some(writer) = self.awaited(graph, *id, *reader) {
                waits[*reader] += 1;
                awaited.push((writer, *id, *reader));
            }
        }
        awaited.sort();
        let mut ready: Vec<usize> = (0..waits.len()).filter(|index| waits[*index] == 0).collect();
        let mut next = 0;
        while next < ready.len() {
            let index = ready[next];
            next += 1;
            for (_, id) in graph.node(index).xnode_union.ids().outputs {
                let id = self.the_one(id);
                let first = awaited.partition_point(|(writer, value, _)| (*writer, *value) < (index, id));
                let of_this =
                    awaited.iter().skip(first).take_while(|(writer, value, _)| (*writer, *value) == (index, id));
                for (_, _, reader) in of_this {
                    // Each node becomes ready only once.
                    let wait = &mut waits[*reader];
                    if *wait > 0 {
                        *wait -= 1;
                        if *wait == 0 {
                            ready.push(*reader);
                        }
                    }
                }
            }
        }
        (waits, ready)
    }

    /// Returns, for each node, whether it is in a cycle or depends on one.
    #[expect(clippy::indexing_slicing, reason = "`waits` has an item for each node")]
    pub(super) fn stuck(&self, graph: &Graph<'_>) -> Vec<bool> {
        let (mut waits, _) = self.waits(graph);
        for (id, reader) in &self.readers {
            if self.awaited(graph, *id, *reader) == Some(*reader) {
                waits[*reader] = waits[*reader].saturating_sub(1);
            }
        }
        waits.into_iter().map(|wait| wait > 0).collect()
    }

    /// Returns the node whose result a reader of a value waits for: the last one that writes it. XNNPACK keeps several writes
    /// of an output apart, so for an output it is the last one before the reader.
    fn awaited(&self, graph: &Graph<'_>, id: u32, reader: usize) -> Option<usize> {
        let flags = graph.tensor(id).map_or(0, |tensor| tensor.flags);
        if flags & EXTERNAL_INPUT != 0 {
            return None;
        }
        let writers = self.writers(id);
        let earlier = writers.partition_point(|(_, writer)| *writer < reader);
        let (before, _) = writers.split_at(earlier);
        let (_, writer) = before.last().filter(|_| flags & EXTERNAL_OUTPUT != 0).or(writers.last())?;
        Some(*writer)
    }

    /// Returns the nodes that write a value.
    pub(super) fn writers(&self, id: u32) -> &[(u32, usize)] {
        self.of(&self.writers, id)
    }

    pub(super) fn last_writer(&self, id: u32) -> Option<usize> {
        Some(self.of(&self.writers, id).last()?.1)
    }

    /// Returns `true` if XNNPACK loads a graph in which this node overwrites a value. It keeps several writes of an output apart. For other
    /// values, it only has the last writer: it reuses memory that was read, and when it removes or fuses nodes, it clears a value that
    /// the other writers still have.
    fn are_writes_apart(&self, graph: &Graph<'_>, id: u32, node: usize, quantized: bool) -> bool {
        let is_output = graph.tensor(id).is_some_and(|tensor| tensor.flags & EXTERNAL_OUTPUT != 0);
        if is_output || self.removes || self.is_read_before(id, node) {
            return is_output;
        }
        let readers = self.of(&self.readers, id);
        // XNNPACK fuses across values that a single node reads.
        let is_read_twice = readers.iter().any(|(_, reader)| readers.first().is_some_and(|(_, first)| first != reader));
        let mut nodes = readers.iter().chain(self.writers(id)).map(|(_, node)| graph.node(*node));
        is_read_twice || (!quantized && !nodes.any(|node| may_fuse(&node.xnode_union)))
    }

    /// Returns `true` if two nodes write the same value, and it is not an output.
    fn is_written_twice(&self, graph: &Graph<'_>) -> bool {
        let twice = self.writers.windows(2).filter(|pair| matches!(pair, [(before, _), (after, _)] if before == after));
        let is_output = |id: u32| graph.tensor(id).is_some_and(|tensor| tensor.flags & EXTERNAL_OUTPUT != 0);
        twice.flatten().any(|(id, _)| !is_output(*id))
    }

    /// Returns `true` if this node or an earlier one reads the value.
    fn is_read_before(&self, id: u32, node: usize) -> bool {
        self.of(&self.readers, id).first().is_some_and(|(_, reader)| *reader <= node)
    }

    /// Returns the number of consecutive nodes starting with this one, each the only reader of the previous result.
    /// [`usize::MAX`] if one of them writes an input of the graph.
    fn row(&self, graph: &Graph<'_>, first: usize) -> usize {
        let (mut node, mut length) = (first, 0);
        loop {
            let union = &graph.node(node).xnode_union;
            if length > MAX_IN_A_ROW || !in_a_row(union) {
                break;
            }
            let Some((_, output)) = union.ids().outputs.first().copied().filter(|(_, id)| graph.is_used(*id)) else {
                break;
            };
            length += 1;
            let external = graph.tensor(output).is_some_and(|tensor| tensor.flags & EXTERNAL_OUTPUT != 0);
            match self.of(&self.readers, output) {
                [(_, reader)] if !external => {
                    let input = graph.tensor(output).is_some_and(|tensor| tensor.flags & EXTERNAL_INPUT != 0);
                    if input && in_a_row(&graph.node(*reader).xnode_union) {
                        return usize::MAX;
                    }
                    node = *reader;
                }
                _ => break,
            }
        }
        length
    }
}
