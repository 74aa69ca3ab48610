//! The calls of a delegate: that they give the graph the arguments that it reads.

use super::super::report::{Few, Report};
use super::super::rule;
use crate::delegate::Xnnpack;
use crate::error::counted;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::program::{DelegateCall, ExecutionPlan, InstructionArguments, Tensor, TensorShapeDynamism};
use crate::schema::xnnpack::{EXTERNAL_INPUT, EXTERNAL_OUTPUT, XNNTensorValue};
use alloc::{collections::BTreeSet, format, vec::Vec};

/// `delegates` are those that have the payload.
pub(super) fn check(pte: &Pte<'_>, payload: &Xnnpack<'_>, delegates: &[(usize, usize)], report: &mut Report<'_>) {
    let externals = payload.graph.externals();
    let methods: BTreeSet<usize> = delegates.iter().map(|(method, _)| *method).collect();
    for method in methods {
        let Some(plan) = pte.methods().get(method) else {
            continue;
        };
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
                arguments(plan, call, payload.graph.num_externs, &externals, path, report);
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
        // What is neither input nor output is inside the graph.
        if external.flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT) == 0 {
            continue;
        }
        let Some(index) = args.get(at) else {
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
            // Which is a finding of its own.
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
    if external.datatype.scalar_type().is_some_and(|expected| expected != tensor.scalar_type) {
        let found = format!("{}, expected {external}", tensor.shape());
        return report.add_at(rule::XNNPACK_ARGUMENT_TYPE, path, offset, found);
    }
    // XNNPACK has no tensors of rank 0: the exporter makes them [1].
    let in_order = |dim: &u8| tensor.sizes().get(usize::from(*dim)).copied().unwrap_or_default() as u32;
    let mut sizes: Vec<u32> = tensor.dim_order().iter().map(in_order).collect();
    if sizes.is_empty() {
        sizes.push(1);
    }
    let dynamic = tensor.shape_dynamism != TensorShapeDynamism::STATIC;
    let fits = sizes.len() == external.dims().len()
        && sizes.iter().zip(external.dims()).all(|(size, dim)| size == dim || (dynamic && size <= dim));
    if !fits && !dynamic {
        let found = format!("{}, expected {external}, as stored: {}", tensor.shape(), Few(&sizes));
        report.add_at(rule::XNNPACK_ARGUMENT_SHAPE, path, offset, found);
    }
}
