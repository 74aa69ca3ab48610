//! Rules about a method's values, except tensors. They follow the runtime's `program_validation.cpp` and `method.cpp`.

use super::report::Report;
use super::rule;
use crate::error::counted;
use crate::path::Path;
use crate::schema::Unknown;
use crate::schema::program::{EValue, ExecutionPlan, KernelTypes};
use alloc::format;

pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let values = plan.values();
    for (index, value) in values.iter().enumerate() {
        let path = &path.item("values", index);
        match &value.val {
            KernelTypes::None => {
                report.add(rule::VALUE_KIND, &path.field("val"), format_args!("absent, expected a value"));
            }
            KernelTypes::Unknown(Unknown { tag: 0, .. }) => {
                let found = "0 (NONE), expected the kind of the value that is present";
                report.add(rule::VALUE_KIND, &path.field("val_type"), found);
            }
            // The runtime does not read the content of a value of kind Null.
            KernelTypes::Unknown(Unknown { tag: tag @ ..=11, .. }) if report.concerns(*tag > 1) => {
                let found = format!("absent, expected the content of a value of kind {tag}");
                report.add(rule::VALUE_KIND, &path.field("val"), found);
            }
            KernelTypes::Unknown(Unknown { tag: tag @ 12.., .. }) => {
                let found = format!("{tag}, expected a value kind from 1 to 11");
                report.add(rule::VALUE_KIND, &path.field("val_type"), found);
            }
            KernelTypes::String(text) => {
                present(text.string_val.is_some(), &path.field("val.String.string_val"), report)
            }
            KernelTypes::DoubleList(list) => present(list.items.is_some(), &path.field("val.DoubleList.items"), report),
            KernelTypes::BoolList(list) => present(list.items.is_some(), &path.field("val.BoolList.items"), report),
            KernelTypes::IntList(list) => {
                let path = path.field("val.IntList");
                present(list.items.is_some(), &path.field("items"), report);
                int_list(values, list.items(), &path, report);
            }
            KernelTypes::TensorList(list) => {
                let path = path.field("val.TensorList");
                present(list.items.is_some(), &path.field("items"), report);
                tensor_list(values, index, list.items(), false, &path, report);
            }
            KernelTypes::OptionalTensorList(list) => {
                let path = path.field("val.OptionalTensorList");
                present(list.items.is_some(), &path.field("items"), report);
                tensor_list(values, index, list.items(), true, &path, report);
            }
            _ => (),
        }
    }
}

/// Returns the value with this index, which the file stores as a signed number.
pub(super) fn value<'t, 'a>(values: &'t [EValue<'a>], index: impl TryInto<usize>) -> Option<&'t KernelTypes<'a>> {
    index.try_into().ok().and_then(|index| values.get(index)).map(|value| &value.val)
}

fn present(present: bool, path: &Path<'_>, report: &mut Report<'_>) {
    if !present {
        report.add(rule::VALUE_CONTENT, path, format_args!("absent, expected the value's content"));
    }
}

fn int_list(values: &[EValue<'_>], items: &[i64], path: &Path<'_>, report: &mut Report<'_>) {
    for (at, item) in items.iter().enumerate() {
        match value(values, *item) {
            None => {
                let found = format!("value {item} does not exist: the method has {}", counted(values.len(), "value"));
                report.add_at(rule::LIST_ITEM_INDEX, &path.item("items", at), report.offset_of(items, at), found);
            }
            Some(KernelTypes::Int(_)) => (),
            Some(other) => {
                let kind = other.name().unwrap_or("unknown");
                let found = format!("value {item} is of kind {kind}, expected Int");
                report.add_at(rule::INT_LIST_ITEM_KIND, &path.item("items", at), report.offset_of(items, at), found);
            }
        }
    }
}

/// Checks a list of tensors. The runtime creates values in order, and a list copies its tensors when it is created.
fn tensor_list(
    values: &[EValue<'_>],
    list: usize,
    items: &[i32],
    optional: bool,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let is_later = |item: i32| usize::try_from(item).is_ok_and(|item| item >= list);
    for (at, item) in items.iter().enumerate() {
        match value(values, *item) {
            None if optional && *item == -1 => (),
            None => {
                let found = format!("value {item} does not exist: the method has {}", counted(values.len(), "value"));
                report.add_at(rule::LIST_ITEM_INDEX, &path.item("items", at), report.offset_of(items, at), found);
            }
            Some(KernelTypes::Null(_)) if optional => order(list, items, (at, *item), path, report),
            Some(KernelTypes::Tensor(_)) => order(list, items, (at, *item), path, report),
            // The runtime treats memory that it has not written yet as None, which a list of optional tensors may contain.
            Some(other) if report.concerns(!(optional && is_later(*item))) => {
                let kind = other.name().unwrap_or("unknown");
                let found = format!("value {item} is of kind {kind}, expected Tensor");
                report.add_at(rule::LIST_ITEM_KIND, &path.item("items", at), report.offset_of(items, at), found);
            }
            Some(_) => (),
        }
    }
}

fn order(list: usize, items: &[i32], (at, item): (usize, i32), path: &Path<'_>, report: &mut Report<'_>) {
    if usize::try_from(item).is_ok_and(|item| item > list) {
        let found =
            format!("value {item} comes after the list, which is value {list}: the runtime creates values in order");
        report.add_at(rule::LIST_ITEM_ORDER, &path.item("items", at), report.offset_of(items, at), found);
    }
}
