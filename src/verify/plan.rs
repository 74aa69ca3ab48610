//! Rules about a method as a whole: required fields, inputs and outputs, planned buffers and their devices. They follow the
//! runtime's `program.cpp` and `method_meta.cpp`.

use super::report::Report;
use super::rule;
use super::values::value;
use crate::error::counted;
use crate::path::Path;
use crate::schema::program::{DeviceType, ExecutionPlan, KernelTypes};
use alloc::collections::BTreeSet;
use alloc::{format, vec::Vec};

pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    name(plan, path, report);
    fields(plan, path, report);
    encoded_output(plan, path, report);
    chains(plan, path, report);
    inputs_outputs(plan, "inputs", plan.inputs.as_deref(), path, report);
    inputs_outputs(plan, "outputs", plan.outputs.as_deref(), path, report);
    planned_buffer_sizes(plan, path, report);
    planned_buffer_zero(plan, path, report);
    buffer_devices(plan, path, report);
}

fn name(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if plan.name.is_none() {
        report.add(rule::PLAN_NAME, &path.field("name"), format_args!("absent, expected the method's name"));
    }
}

fn fields(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let fields = [
        ("values", plan.values.is_some()),
        ("inputs", plan.inputs.is_some()),
        ("outputs", plan.outputs.is_some()),
        ("delegates", plan.delegates.is_some()),
        ("non_const_buffer_sizes", plan.non_const_buffer_sizes.is_some()),
    ];
    for (field, _) in fields.iter().filter(|(_, present)| !present) {
        report.add(rule::PLAN_FIELD, &path.field(field), format_args!("absent, expected a list"));
    }
}

fn encoded_output(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let metadata = plan.container_meta_type.as_ref();
    if metadata.is_none_or(|metadata| metadata.encoded_out_str.is_none()) {
        // `Program::get_output_flattening_encoding` reads it without a check up to 1.1 (#16704).
        let found = "absent, so the runtime does not know how the outputs are nested: asking for that crashes it before 1.2, and is an error since";
        report.add(rule::ENCODED_OUTPUT, &path.field("container_meta_type").field("encoded_out_str"), found);
    }
}

fn chains(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let chains = plan.chains();
    if chains.is_empty() {
        report.add(rule::CHAINS, &path.field("chains"), format_args!("absent or empty, expected at least one chain"));
    }
    for (index, chain) in chains.iter().enumerate() {
        if chain.instructions.is_none() {
            let path = path.item("chains", index);
            report.add(rule::INSTRUCTIONS, &path.field("instructions"), format_args!("absent, expected a list"));
        }
    }
}

fn inputs_outputs(
    plan: &ExecutionPlan<'_>,
    field: &'static str,
    list: Option<&[i32]>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let list = list.unwrap_or_default();
    let Some(values) = plan.values.as_deref() else {
        return;
    };
    for (index, item) in list.iter().enumerate() {
        let path = path.item(field, index);
        let Some(found) = value(values, *item) else {
            let found = format!("value {item} does not exist: the method has {}", counted(values.len(), "value"));
            report.add_at(rule::INPUT_OUTPUT_INDEX, &path, report.offset_of(list, index), found);
            continue;
        };
        match found {
            KernelTypes::Null(_) | KernelTypes::Int(_) | KernelTypes::Double(_) | KernelTypes::Bool(_) => (),
            KernelTypes::String(_) | KernelTypes::Tensor(_) => (),
            // These break another rule.
            KernelTypes::None | KernelTypes::Unknown(_) => (),
            other => {
                // Kinds without a name are matched above.
                let kind = other.name().unwrap_or_default();
                let found =
                    format!("value {item} is of kind {kind}, expected Tensor, Int, Double, Bool, String or Null");
                report.add_at(rule::INPUT_OUTPUT_KIND, &path, report.offset_of(list, index), found);
            }
        }
    }
}

fn planned_buffer_sizes(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let sizes = plan.non_const_buffer_sizes();
    // Buffer 0 is reserved, and the runtime skips it.
    let negative = |(index, size): &(usize, &i64)| **size < 0 && report.concerns(*index > 0);
    let negative: Vec<_> = sizes.iter().enumerate().filter(negative).collect();
    for (index, size) in negative {
        let offset = report.offset_of(sizes, index);
        let found = format!("{size}, expected a size of 0 or more bytes");
        report.add_at(rule::PLANNED_BUFFER_SIZE, &path.item("non_const_buffer_sizes", index), offset, found);
    }
}

fn planned_buffer_zero(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let sizes = plan.non_const_buffer_sizes();
    if let Some(size @ 1..) = sizes.first() {
        let found = format!("{size}, expected 0: planned buffer 0 is reserved");
        report.add_at(
            rule::PLANNED_BUFFER_ZERO,
            &path.item("non_const_buffer_sizes", 0),
            report.offset(Some(sizes)),
            found,
        );
    }
}

fn buffer_devices(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let buffers = plan.non_const_buffer_sizes().len();
    let mut seen = BTreeSet::new();
    for (index, device) in plan.non_const_buffer_device().iter().enumerate() {
        let path = path.item("non_const_buffer_device", index);
        let buffer = device.buffer_idx;
        if usize::try_from(buffer).ok().is_none_or(|buffer| buffer >= buffers) {
            let found = format!(
                "planned buffer {buffer} does not exist: the method has {}",
                counted(buffers, "planned buffer")
            );
            report.add(rule::BUFFER_DEVICE_INDEX, &path.field("buffer_idx"), found);
        } else if !seen.insert(buffer) {
            let found = format!("planned buffer {buffer} has a device already, expected one device for each");
            report.add(rule::BUFFER_DEVICE_UNIQUE, &path.field("buffer_idx"), found);
        }
        self::device(device.device_type, device.device_index, &path, report);
    }
}

/// Checks the device of a tensor or a planned buffer.
pub(super) fn device(kind: DeviceType, index: i8, path: &Path<'_>, report: &mut Report<'_>) {
    if kind.name().is_none() {
        let found = format!("{}, expected 0 (CPU) or 1 (CUDA)", kind.0);
        report.add(rule::DEVICE_TYPE, &path.field("device_type"), found);
    }
    if index < -1 {
        let found = format!("{index}, expected a device index, or −1 for the current device");
        report.add(rule::DEVICE_INDEX, &path.field("device_index"), found);
    }
}
