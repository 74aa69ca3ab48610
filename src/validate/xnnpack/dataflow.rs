//! The order of nodes: each value is written once, before it is read; and what XNNPACK's own passes over the graph crash on.

use super::super::report::Report;
use super::super::rule;
use super::Graph;
use crate::path::Path;
use crate::schema::xnnpack::{EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID, XNNDatatype, XNodeUnion};
use alloc::{collections::BTreeMap, format};

/// XNNPACK computes a table for nodes in a row, and has a list of so many.
const MOST_IN_A_ROW: usize = 9;

pub(super) fn check(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
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
            // Weights without data are a finding of their own.
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
                // XNNPACK keeps several writes of an output apart.
                let apart = tensor.flags & EXTERNAL_OUTPUT != 0;
                report.add(if apart { rule::XNNPACK_DATAFLOW } else { rule::XNNPACK_OUTPUT }, path, found);
            }
            if tensor.constant_buffer_idx != 0 {
                report.add(rule::XNNPACK_OUTPUT, path, format!("value {id}, which is a constant"));
            } else if tensor.flags & EXTERNAL_INPUT != 0 {
                report.add(rule::XNNPACK_DATAFLOW, path, format!("value {id}, which is an input"));
            }
        }
    }
    for (index, tensor) in graph.payload.graph.externals() {
        if tensor.flags == EXTERNAL_OUTPUT && !written.contains_key(&tensor.id_out) {
            let found = format!("output {}, which no node writes", tensor.external_id);
            report.add(rule::XNNPACK_DATAFLOW, &path.item("xvalues", index), found);
        }
    }
    passes(graph, path, report);
}

/// As in `xnn_subgraph_optimize` of XNNPACK's `subgraph.c`.
fn passes(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let uses = Uses::new(graph);
    for (index, node) in graph.payload.graph.xnodes().iter().enumerate() {
        let path = path.item("xnodes", index);
        let path = &path.field("xnode_union");
        let path = &path.field(node.name());
        let ids = node.xnode_union.ids();
        match (&node.xnode_union, ids.inputs.first()) {
            (XNodeUnion::XNNArgMaxPooling2d(_), _) => {
                for (field, id) in &ids.outputs {
                    if !graph.is_used(*id) {
                        let found = format!("value {id}, which is no output of the graph and which no node reads");
                        report.add(rule::XNNPACK_OUTPUT, &path.field(field), found);
                    }
                }
            }
            (XNodeUnion::XNNFullyConnected(_) | XNodeUnion::XNNBatchMatrixMultiply(_), Some((field, id))) => {
                let dynamic = graph.tensor(*id).is_some_and(|tensor| tensor.datatype == XNNDatatype::QDINT8);
                if dynamic && !matches!(uses.writer(graph, *id), Some(XNodeUnion::XNNConvert(_))) {
                    let found = format!("value {id}, which is quantized at run time, and which no XNNConvert writes");
                    report.add(rule::XNNPACK_DYNAMIC, &path.field(field), found);
                }
            }
            (union, Some((field, id))) if in_a_row(union) && is_8_bit(graph, *id) => {
                let length = uses.row(graph, index);
                if length > MOST_IN_A_ROW {
                    let found = format!("{length} nodes in a row, expected at most {MOST_IN_A_ROW}");
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

/// Whether XNNPACK takes it for a function of each number alone.
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

/// Which nodes read and write each value.
struct Uses {
    /// Value and node, sorted.
    readers: alloc::vec::Vec<(u32, usize)>,
    writers: alloc::vec::Vec<(u32, usize)>,
}

impl Uses {
    fn new(graph: &Graph<'_>) -> Self {
        let (mut readers, mut writers) = (alloc::vec::Vec::new(), alloc::vec::Vec::new());
        for (index, node) in graph.payload.graph.xnodes().iter().enumerate() {
            let ids = node.xnode_union.ids();
            readers.extend(ids.inputs.iter().map(|(_, id)| (*id, index)));
            writers.extend(ids.outputs.iter().map(|(_, id)| (*id, index)));
        }
        readers.sort_unstable();
        writers.sort_unstable();
        Self { readers, writers }
    }

    fn of(list: &[(u32, usize)], id: u32) -> &[(u32, usize)] {
        let start = list.partition_point(|(other, _)| *other < id);
        let end = list.partition_point(|(other, _)| *other <= id);
        list.get(start..end).unwrap_or_default()
    }

    fn writer<'t>(&self, graph: &Graph<'t>, id: u32) -> Option<&'t XNodeUnion<'t>> {
        let (_, node) = Self::of(&self.writers, id).last()?;
        Some(&graph.payload.graph.xnodes().get(*node)?.xnode_union)
    }

    /// How many nodes follow each other from that one on, each the only reader of what the one before writes.
    fn row(&self, graph: &Graph<'_>, first: usize) -> usize {
        let (mut node, mut length) = (first, 0);
        while let Some(union) = graph.payload.graph.xnodes().get(node).map(|node| &node.xnode_union) {
            if length > MOST_IN_A_ROW || !in_a_row(union) {
                break;
            }
            length += 1;
            let Some((_, output)) = union.ids().outputs.first().copied() else {
                break;
            };
            let external = graph.tensor(output).is_some_and(|tensor| tensor.flags & EXTERNAL_OUTPUT != 0);
            match Self::of(&self.readers, output) {
                [(_, reader)] if !external => node = *reader,
                _ => break,
            }
        }
        length
    }
}
