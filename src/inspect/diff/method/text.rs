//! Instructions and values as texts, for comparing and for showing them.

use crate::dataflow;
use crate::inspect::Returned;
use crate::inspect::graph::value_text;
use crate::names::short;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes};
use alloc::{format, string::String, string::ToString, vec, vec::Vec};

/// Formats an instruction's index, with the chain's index unless that is 0.
pub(super) fn number((chain, index): (usize, usize)) -> String {
    if chain == 0 { index.to_string() } else { format!("{chain}.{index}") }
}

/// Returns the values that an instruction refers to.
pub(super) fn arguments(instruction: &InstructionArguments<'_>) -> Vec<i32> {
    match instruction {
        InstructionArguments::MoveCall(call) => vec![call.move_from, call.move_to],
        InstructionArguments::JumpFalseCall(call) => vec![call.cond_value_index],
        InstructionArguments::FreeCall(call) => vec![call.value_index],
        call => dataflow::arguments(call).into(),
    }
}

/// Returns the operator or delegate that an instruction runs, or else its kind.
pub(super) fn label(plan: &ExecutionPlan<'_>, instruction: &InstructionArguments<'_>) -> String {
    match instruction {
        InstructionArguments::KernelCall(call) => {
            let operator = plan.operator(call);
            operator.map_or_else(
                || format!("operator {}", call.op_index),
                |operator| match operator.overload() {
                    "" => short(operator.name()),
                    overload => format!("{}.{}", short(operator.name()), short(overload)),
                },
            )
        }
        InstructionArguments::DelegateCall(call) => plan.delegate(call).map_or_else(
            || format!("delegate {}", call.delegate_index),
            |delegate| format!("delegate {}", short(delegate.id())),
        ),
        other => other.name().unwrap_or("unknown").into(),
    }
}

/// Formats numbers and strings in full. A tensor is shown only as `tensor`.
pub(super) fn exact(plan: &ExecutionPlan<'_>, value: &KernelTypes<'_>) -> String {
    match value {
        KernelTypes::Tensor(_) => "tensor".into(),
        KernelTypes::TensorList(list) => format!("{} tensors", list.items().len()),
        KernelTypes::OptionalTensorList(list) => {
            format!("{:?} of tensors", list.items().iter().map(|item| plan.tensor(*item).is_some()).collect::<Vec<_>>())
        }
        KernelTypes::IntList(list) => {
            let item = |item: &i64| match plan.value(*item).map(|value| &value.val) {
                Some(KernelTypes::Int(value)) => Some(value.int_val),
                _ => None,
            };
            format!("{:?}", list.items().iter().map(item).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

/// Formats numbers and strings of a value in full; `None` if there is no such value.
pub(super) fn exact_value(plan: &ExecutionPlan<'_>, value: i32) -> Option<String> {
    plan.value(value).map(|value| exact(plan, &value.val))
}

/// Formats an instruction for people, without indices.
pub(super) fn shown(plan: &ExecutionPlan<'_>, instruction: &InstructionArguments<'_>) -> String {
    const MAX_SHOWN: usize = 64;
    let arguments = arguments(instruction);
    let mut texts: Vec<String> = arguments.iter().take(MAX_SHOWN).map(|index| value_text(plan, *index)).collect();
    if arguments.len() > MAX_SHOWN {
        texts.push(format!("… {} more", arguments.len() - MAX_SHOWN));
    }
    format!("{}({})", label(plan, instruction), texts.join(", "))
}

/// Formats the value that a constant method returns.
pub(in crate::inspect::diff) fn returned(value: &Returned<'_>) -> String {
    match value {
        Returned::Null => "None".into(),
        Returned::Int(number) => number.to_string(),
        Returned::Bool(bit) => bit.to_string(),
        Returned::Double(number) => format!("{number:?}"),
        Returned::NotFinite(name) => (*name).into(),
        Returned::String(string) => format!("{string:?}"),
        Returned::Tensor(tensor) => tensor.shape().to_string_with(tensor.shape_dynamism),
        Returned::List(items) => format!("[{}]", items.iter().map(returned).collect::<Vec<_>>().join(", ")),
    }
}
