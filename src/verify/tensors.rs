//! Rules about a tensor's shape, and the place of its bytes. They follow the runtime's `program_validation.cpp`,
//! `tensor_parser_portable.cpp` and `tensor_parser_exec_aten.cpp`.

use super::constants;
use super::plan::device;
use super::report::{Few, Report};
use super::rule;
use crate::error::counted;
use crate::file::pte::Pte;
use crate::file::style::ALIGNMENT;
use crate::path::Path;
use crate::schema::program::{
    AllocationDetails, ExecutionPlan, ExtraTensorInfo, Tensor, TensorDataLocation, TensorShapeDynamism,
};
use crate::tensor::{RUNTIME_RANK, TensorShape, Uncountable};
use alloc::format;

pub(super) fn check(pte: &Pte<'_>, plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (index, tensor) in plan.tensors() {
        let path = path.item("values", index);
        let path = &path.field("val.Tensor");
        let bytes = type_and_shape(tensor, path, report);
        storage_offset(tensor, path, report);
        dynamism(tensor, path, report);
        if let Some(extra) = tensor.extra_tensor_info.as_deref() {
            extra_info(extra, &path.field("extra_tensor_info"), report);
        }
        let Some(bytes) = bytes else {
            continue;
        };
        if let Some(allocation) = tensor.allocation_info {
            planned_memory(plan, allocation, bytes, &path.field("allocation_info"), report);
        }
        if tensor.data_buffer_idx > 0 && !tensor.is_external() {
            constants::of_tensor(pte, tensor, bytes, path, report);
        }
    }
}

/// Checks a tensor's type and shape. Returns the size of its elements in bytes, if it is known.
pub(super) fn type_and_shape(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) -> Option<u64> {
    shape(tensor, path, report);
    rank(tensor, path, report);
    dim_order(tensor, path, report);
    scalar_type(tensor, path, report);
    bytes(tensor, path, report)
}

fn shape(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (field, present) in [("sizes", tensor.sizes.is_some()), ("dim_order", tensor.dim_order.is_some())] {
        if !present {
            report.add(rule::TENSOR_SHAPE, &path.field(field), format_args!("absent, expected a list"));
        }
    }
}

fn rank(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let sizes = tensor.sizes();
    if sizes.len() > RUNTIME_RANK {
        let found = format!("{} dimensions, expected at most {RUNTIME_RANK}", sizes.len());
        report.add_at(rule::TENSOR_RANK, &path.field("sizes"), report.offset(Some(sizes)), found);
    }
}

fn dim_order(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (Some(sizes), Some(order)) = (tensor.sizes.as_deref(), tensor.dim_order.as_deref()) else {
        return;
    };
    if sizes.len() == order.len() && (sizes.len() > RUNTIME_RANK || is_permutation(order)) {
        return;
    }
    let offset = report.offset(Some(order));
    if sizes.len() != order.len() {
        let found = format!("{}, expected {}: one for each size", counted(order.len(), "dimension"), sizes.len());
        report.add_at(rule::DIM_ORDER_LENGTH, &path.field("dim_order"), offset, found);
    } else {
        let found = format!("{}, expected a permutation of {}", Few(order), counted(order.len(), "dimension"));
        report.add_at(rule::DIM_ORDER, &path.field("dim_order"), offset, found);
    }
}

/// Returns `true` if each number below the length occurs exactly once.
pub(super) fn is_permutation(order: &[u8]) -> bool {
    // Almost all dim orders are natural.
    if (TensorShape { dim_order: order, ..TensorShape::default() }).is_natural() {
        return true;
    }
    // One bit for each dimension.
    let mut seen = [0u64; 4];
    let fresh = |dim: &u8| match seen.get_mut(usize::from(*dim / 64)) {
        Some(seen) if usize::from(*dim) < order.len() && *seen >> (dim % 64) & 1 == 0 => {
            *seen |= 1 << (dim % 64);
            true
        }
        _ => false,
    };
    order.len() <= 256 && order.iter().all(fresh)
}

fn scalar_type(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if tensor.scalar_type.element_size().is_none() {
        let found = format!("{}, expected 0 to 29", tensor.scalar_type);
        report.add(rule::TENSOR_SCALAR_TYPE, &path.field("scalar_type"), found);
    }
}

fn storage_offset(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if tensor.storage_offset != 0 {
        let found = format!("{}, expected 0", tensor.storage_offset);
        report.add(rule::TENSOR_STORAGE_OFFSET, &path.field("storage_offset"), found);
    }
}

fn dynamism(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let dynamism = tensor.shape_dynamism;
    if dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND {
        let found = "DYNAMIC_UNBOUND, expected a shape with upper bounds";
        report.add(rule::TENSOR_UNBOUNDED, &path.field("shape_dynamism"), found);
    } else if dynamism.name().is_none() {
        let found = format!("{}, expected 0 to 2", dynamism.0);
        report.add(rule::UNKNOWN_ENUM, &path.field("shape_dynamism"), found);
    }
}

fn extra_info(extra: &ExtraTensorInfo<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if extra.location.name().is_none() {
        let found = format!("{}, expected 0 (SEGMENT) or 1 (EXTERNAL)", extra.location.0);
        report.add(rule::UNKNOWN_ENUM, &path.field("location"), found);
    }
    if extra.location == TensorDataLocation::EXTERNAL && extra.fully_qualified_name.is_none() {
        let found = "absent, expected the name of the external tensor";
        report.add(rule::EXTERNAL_NAME, &path.field("fully_qualified_name"), found);
    }
    device(extra.device_type, extra.device_index, path, report);
}

fn bytes(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) -> Option<u64> {
    let sizes = tensor.sizes();
    match tensor.shape().count_bytes() {
        Ok(bytes) => return tensor.sizes.is_some().then_some(bytes),
        Err(Uncountable::Negative(index)) => {
            let found = format!("{}, expected no negative size", Few(sizes));
            report.add_at(rule::TENSOR_SIZE, &path.item("sizes", index), report.offset_of(sizes, index), found);
        }
        Err(Uncountable::Elements) => {
            let found = format!("{}, expected a number of elements that fits in 63 bits", Few(sizes));
            report.add_at(rule::TENSOR_ELEMENTS, &path.field("sizes"), report.offset(Some(sizes)), found);
        }
        Err(Uncountable::Bytes) => {
            let found = format!("{}, expected a size in bytes that fits in 64 bits", tensor.shape());
            report.add_at(rule::TENSOR_BYTES, &path.field("sizes"), report.offset(Some(sizes)), found);
        }
        // These break other rules.
        Err(Uncountable::Type | Uncountable::Rank) => (),
    }
    None
}

fn planned_memory(
    plan: &ExecutionPlan<'_>,
    allocation: AllocationDetails,
    bytes: u64,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let sizes = plan.non_const_buffer_sizes();
    let size = usize::try_from(allocation.memory_id).ok().filter(|id| *id > 0).and_then(|id| sizes.get(id));
    let Some(size) = size else {
        let (id, last) = (allocation.memory_id, sizes.len().saturating_sub(1));
        let found = match last {
            0 => format!("planned buffer {id} does not exist: the method has none"),
            _ => format!("planned buffer {id}, expected 1 to {last}"),
        };
        return report.add(rule::PLANNED_MEMORY_INDEX, &path.field("memory_id"), found);
    };
    let offset = allocation.memory_offset();
    match offset.checked_add(bytes) {
        None => {
            let found = format!(
                "a tensor of {} at offset {offset} ends past 2^64, expected an end inside the planned buffer",
                counted(bytes, "byte")
            );
            report.add(rule::PLANNED_MEMORY_OVERFLOW, &path.field("memory_offset_low"), found);
        }
        // A negative size breaks another rule.
        Some(end) if u64::try_from(*size).is_ok_and(|size| end > size) => {
            let found = format!(
                "a tensor of {} at offset {offset} ends at {end}, expected at most {size}, the size of planned buffer {}",
                counted(bytes, "byte"),
                allocation.memory_id
            );
            report.add(rule::PLANNED_MEMORY_BOUNDS, &path.field("memory_offset_low"), found);
        }
        Some(_) if offset % u64::from(ALIGNMENT) != 0 => {
            let found = format!("offset {offset}, expected a multiple of {ALIGNMENT}");
            report.add(rule::PLANNED_MEMORY_ALIGNMENT, &path.field("memory_offset_low"), found);
        }
        Some(_) => (),
    }
}
