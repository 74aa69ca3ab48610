//! Rules about the calls of a delegate: they pass the arguments that the graph reads.

use super::super::report::{Few, Report};
use super::super::rule;
use super::dataflow::NodeUses;
use super::{Graph, nodes, shapes};
use crate::error::counted;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::program::{DelegateCall, ExecutionPlan, InstructionArguments, Tensor, TensorShapeDynamism};
use crate::schema::xnnpack::{EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID, XNNTensorValue, XNode, XNodeUnion};
use alloc::{format, vec::Vec};

/// Checks the calls of `delegates`, which are the delegates with this payload.
#[expect(clippy::indexing_slicing, reason = "`Pte::open_payloads` counted the methods")]
pub(super) fn check(pte: &Pte<'_>, graph: &Graph<'_>, delegates: &[(usize, usize)], report: &mut Report<'_>) {
    let tree = &graph.payload.graph;
    let externals = tree.externals();
    let mut methods: Vec<usize> = delegates.iter().map(|(method, _)| *method).collect();
    methods.dedup();
    for method in methods {
        let plan = &pte.methods()[method];
        let path = Path::ROOT.item("execution_plan", method);
        for ((chain, index), instruction) in plan.instructions() {
            let InstructionArguments::DelegateCall(call) = instruction else {
                continue;
            };
            let delegate = usize::try_from(call.delegate_index).unwrap_or(usize::MAX);
            if delegates.binary_search(&(method, delegate)).is_ok() {
                let path = path.item("chains", chain);
                let path = path.item("instructions", index);
                let path = &path.field("instr_args.DelegateCall.args");
                arguments(plan, call, tree.num_externs, &externals, path, report);
                run(graph, plan, call, path, report);
            }
        }
    }
}

fn arguments(
    plan: &ExecutionPlan<'_>,
    call: &DelegateCall<'_>,
    num_externs: u32,
    externals: &[(usize, &XNNTensorValue<'_>)],
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let args = call.args();
    if args.len() != num_externs as usize {
        let found = counted(args.len(), "argument");
        let found = format!("{found}, expected {num_externs}, as many as the graph's externals");
        report.add_at(rule::XNNPACK_EXTERNALS, path, report.offset(Some(args)), found);
    }
    for (_, external) in externals {
        let at = external.external_id as usize;
        // A value that is neither input nor output is internal to the graph.
        if external.flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT) == 0 {
            continue;
        }
        let Some(index) = args.get(at) else {
            // Another rule reports this.
            if external.external_id >= num_externs {
                continue;
            }
            let found = format!("{}, but {external} is argument {at}", counted(args.len(), "argument"));
            report.add_at(rule::XNNPACK_ARGUMENTS, path, report.offset(Some(args)), found);
            continue;
        };
        let path = &path.index(at);
        let offset = report.offset_of(args, at);
        match plan.tensor(*index) {
            Some(tensor) => argument(tensor, external, path, offset, report),
            None if plan.value(*index).is_some() => {
                let found = format!("value {index}, which is no tensor, expected {external}");
                report.add_at(rule::XNNPACK_ARGUMENTS, path, offset, found);
            }
            // Another rule reports this.
            None => (),
        }
    }
}

fn argument(
    tensor: &Tensor<'_>,
    external: &XNNTensorValue<'_>,
    path: &Path<'_>,
    offset: Option<u64>,
    report: &mut Report<'_>,
) {
    if let Some(expected) = external.datatype.scalar_type().filter(|expected| *expected != tensor.scalar_type) {
        let found = format!("{}, expected {external}", tensor.shape());
        // A type of unknown size breaks another rule.
        if tensor.scalar_type.element_size().is_some_and(|size| Some(size) < expected.element_size()) {
            return report.add_at(rule::XNNPACK_ARGUMENT_SIZE, path, offset, found);
        }
        return report.add_at(rule::XNNPACK_ARGUMENT_TYPE, path, offset, found);
    }
    let sizes = as_stored(tensor);
    let dynamic = tensor.shape_dynamism != TensorShapeDynamism::STATIC;
    let fits = sizes.len() == external.dims().len()
        && sizes.iter().zip(external.dims()).all(|(size, dim)| size == dim || (dynamic && size <= dim));
    if !fits && !dynamic {
        let found = format!("{}, expected {external}, as stored: {}", tensor.shape(), Few(&sizes));
        report.add_at(rule::XNNPACK_ARGUMENT_SHAPE, path, offset, found);
    }
}

/// Returns the sizes of an argument in stored order, which is XNNPACK's.
fn as_stored(tensor: &Tensor<'_>) -> Vec<u32> {
    // A dim order that is not a permutation breaks another rule.
    let in_order = |dim: &u8| tensor.sizes().get(usize::from(*dim)).copied().unwrap_or_default() as u32;
    let mut sizes: Vec<u32> = tensor.dim_order().iter().map(in_order).collect();
    // XNNPACK has no tensors of rank 0: the exporter turns them into [1].
    if sizes.is_empty() {
        sizes.push(1);
    }
    sizes
}

/// Finds faults that crash the runtime when it recomputes shapes from those of the arguments.
#[expect(clippy::indexing_slicing, reason = "`dims` has an item for each value, and `is_kept` one for each node")]
fn run(graph: &Graph<'_>, plan: &ExecutionPlan<'_>, call: &DelegateCall<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let tree = &graph.payload.graph;
    let is_transposed = |node: &XNode<'_>| matches!(node.xnode_union, XNodeUnion::XNNConvTranspose2d(_));
    if !tree.xnodes().iter().any(is_transposed) {
        return;
    }
    // The dimensions of each value, by index; `None` if they are unknown.
    let mut dims: Vec<Option<Vec<u64>>> = Vec::new();
    for value in tree.xvalues() {
        let known = value.tensor().and_then(|tensor| match tensor.flags & EXTERNAL_INPUT {
            0 if tensor.constant_buffer_idx == 0 => None,
            0 => Some(tensor.dims().iter().map(|size| u64::from(*size)).collect()),
            _ => {
                let argument = plan.tensor(*call.args().get(tensor.external_id as usize)?)?;
                Some(as_stored(argument).into_iter().map(u64::from).collect())
            }
        });
        dims.push(known);
    }
    // XNNPACK sorts the nodes: a node is tried again when the shape of an input becomes known.
    let mut readers: Vec<(usize, usize)> = Vec::new();
    for (index, node) in tree.xnodes().iter().enumerate() {
        readers.extend(node.xnode_union.ids().inputs.iter().filter_map(|(_, id)| Some((graph.index(*id)?, index))));
    }
    readers.sort();
    let mut kept: Option<Vec<bool>> = None;
    let mut waiting: Vec<usize> = (0..tree.xnodes().len()).rev().collect();
    while let Some(index) = waiting.pop() {
        let node = graph.node(index);
        let ids = node.xnode_union.ids();
        let known = |id: u32| dims[graph.index(id)?].clone();
        let given = ids.inputs.iter().filter(|(_, id)| *id != NO_ID).map(|(_, id)| known(*id));
        let Some(inputs) = given.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let output = match inputs.first().map(|input| shapes::inferred(&node.xnode_union, input, &inputs)) {
            Some(Ok(Some(output))) => output,
            Some(Err(fault)) if fault == shapes::EMPTY_OUTPUT => {
                let is_kept = kept.get_or_insert_with(|| {
                    let uses = NodeUses::new(graph);
                    nodes::kept(graph, &uses, &graph.needed(&uses))
                });
                if !is_kept[index] {
                    continue;
                }
                let found = format!("xnodes[{index}] is {fault}");
                return report.add(rule::XNNPACK_EMPTY_OUTPUT, path, found);
            }
            // The shape is unknown, or the runtime refuses to run the node.
            _ => continue,
        };
        for (_, id) in &ids.outputs {
            let Some(value) = graph.index(*id) else { continue };
            let place @ None = &mut dims[value] else { continue };
            *place = Some(output.clone());
            let first = readers.partition_point(|(other, _)| *other < value);
            waiting.extend(readers.iter().skip(first).take_while(|(other, _)| *other == value).map(|(_, node)| *node));
        }
    }
}
