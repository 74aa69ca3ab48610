//! Rules about tensors for which the application gives memory: outputs, and mutable buffers that are not planned.

use super::report::{Name, Report};
use super::rule;
use crate::error::counted;
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, Tensor, TensorShapeDynamism};
use alloc::collections::BTreeMap;
use alloc::{format, string::String};

pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    external_outputs(plan, path, report);
    unplanned_states(plan, path, report);
}

/// Reports outputs that are external constants. The runtime's `method_meta.cpp` takes an output for one that needs memory if it has neither a
/// place in planned memory nor a number of a constant, which an external one lacks.
fn external_outputs(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (index, item) in plan.outputs().iter().enumerate() {
        let Some(tensor) = plan.tensor(*item) else { continue };
        if tensor.is_external() && tensor.allocation_info.is_none() && tensor.data_buffer_idx == 0 {
            let found = format!(
                "value {item} is a constant of a .ptd file, which runners that give outputs memory, as Python's does, replace with that \
                 memory: the method then computes with other numbers; expected a copy of it (`.clone()`), or a constant in the program"
            );
            report.add_at(
                rule::EXTERNAL_OUTPUT,
                &path.item("outputs", index),
                report.offset_of(plan.outputs(), index),
                found,
            );
        }
    }
}

/// Reports mutable buffers without memory. The application finds them by name, with `Method::get_attribute`.
fn unplanned_states<'t>(plan: &'t ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let name = |tensor: &'t Tensor<'_>| {
        let has_memory = tensor.allocation_info.is_some()
            || tensor.has_data()
            || tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND;
        tensor.fully_qualified_name().filter(|_| !has_memory)
    };
    let mut states: BTreeMap<usize, &str> =
        plan.tensors().filter_map(|(value, tensor)| Some((value, name(tensor)?))).collect();
    // The caller gives memory to inputs and outputs.
    for item in plan.inputs().iter().chain(plan.outputs()) {
        states.remove(&(*item as usize));
    }
    let Some((value, name)) = states.pop_first() else { return };
    let name = Name(name);
    let others = match states.len() {
        0 => String::new(),
        more => format!(" (and {} more)", counted(more, "mutable buffer")),
    };
    let found = format!(
        "mutable buffer {name}{others} has no planned memory: without memory that the application gives it before the method runs \
         (`Method::get_attribute`), the runtime follows a null pointer; expected a place in planned memory (`alloc_mutable_buffers`)"
    );
    report.add(rule::STATE_UNPLANNED, &path.item("values", value).field("val.Tensor"), found);
}
