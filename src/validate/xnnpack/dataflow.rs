//! The order of nodes: each value is written once, before it is read.

use super::super::report::Report;
use super::super::rule;
use super::Graph;
use crate::path::Path;
use crate::schema::xnnpack::{EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID};
use alloc::{collections::BTreeMap, format};

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
            if let (Some(first), true) = (written.insert(id, index), report.is_strict()) {
                let found = format!("value {id}, which node {first} has written already");
                report.add(rule::XNNPACK_DATAFLOW, path, found);
            }
            if tensor.constant_buffer_idx != 0 || tensor.flags & EXTERNAL_INPUT != 0 {
                let found = format!("value {id}, which is a constant or an input");
                report.add(rule::XNNPACK_DATAFLOW, path, found);
            }
        }
    }
    for (index, tensor) in graph.payload.graph.externals() {
        if tensor.flags == EXTERNAL_OUTPUT && !written.contains_key(&tensor.id_out) {
            let found = format!("output {}, which no node writes", tensor.external_id);
            report.add(rule::XNNPACK_DATAFLOW, &path.item("xvalues", index), found);
        }
    }
}
