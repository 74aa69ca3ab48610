//! Instructions, one on each line: `%7 f32[2, 2] = aten::mm.out(%3 f32[2, 2], %4 f32[2, 2] constant 1)`.

use super::Filter;
use super::print::{NAME, given_name, name, value, write_scalar};
use crate::context::{Context, Out};
use executorch_format::inspect::{Argument, Code, MethodCode, Operation, TensorPlace};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Prints a method. Each instruction has the number that `--range` takes, in the first 8 columns.
pub(super) fn method(out: &mut Out, method: &MethodCode<'_>, filter: &Filter) -> io::Result<()> {
    let context = out.context;
    writeln!(out, "method {}", context.name(method.name, NAME))?;
    for (index, chain) in method.chains.iter().enumerate() {
        if method.chains.len() > 1 {
            writeln!(out, "  chain {index}")?;
        }
        for (index, code) in chain.instructions.iter().enumerate() {
            if !filter.takes(index, || name(&code.operation)) {
                continue;
            }
            if code.jumped_to && !filter.is_given() {
                writeln!(out, "L{index}:")?;
            }
            let number = format!("{index:6}  ");
            writeln!(out, "{number}{}", context.cut(&line(context, method, code), number.len()))?;
        }
    }
    Ok(())
}

fn line(context: &Context, method: &MethodCode<'_>, code: &Code<'_>) -> String {
    let called = context.name(&name(&code.operation), 3 * NAME);
    let line = match &code.operation {
        Operation::Kernel { arguments, .. } => call(context, method, &called, arguments),
        Operation::Delegate { delegate, arguments, .. } => {
            call(context, method, &format!("{called}[{delegate}]"), arguments)
        }
        Operation::Move { from, to } => format!("%{to} = {}", operand(context, method, *from)),
        Operation::JumpFalse { condition, destination } => format!("jump to L{destination} if not %{condition}"),
        Operation::Free { value } => format!("free %{value}"),
        _ => "unknown instruction".to_owned(),
    };
    code.assumed.map_or(line.clone(), |assumed| format!("{line}  ({assumed})"))
}

fn call(context: &Context, method: &MethodCode<'_>, called: &str, arguments: &[Argument]) -> String {
    let mut results: Vec<String> = Vec::new();
    let mut written = HashSet::new();
    // The last arguments of a call repeat its results.
    for argument in arguments.iter().filter(|argument| argument.output) {
        if !written.insert(argument.value) {
            continue;
        }
        let mark = if argument.in_place { "!" } else { "" };
        let view = argument.view_of.map(|of| format!(" is %{of}")).unwrap_or_default();
        results.push(format!("{}{mark}{view}", operand(context, method, argument.value)));
    }
    let taken = arguments.iter().filter(|argument| !argument.output || argument.in_place);
    let taken = taken.map(|argument| {
        let is_tensor = value(method, argument.value.into()).is_some_and(|value| value.tensor.is_some());
        match argument.name.filter(|_| !is_tensor) {
            Some(name) => format!("{name}={}", operand(context, method, argument.value)),
            None => {
                let view =
                    argument.view_of.filter(|_| !argument.output).map(|of| format!(" is %{of}")).unwrap_or_default();
                operand(context, method, argument.value) + &view
            }
        }
    });
    let taken = taken.collect::<Vec<_>>().join(", ");
    if results.is_empty() {
        format!("{called}({taken})")
    } else {
        format!("{} = {called}({taken})", results.join(", "))
    }
}

/// Formats a tensor as its shape and, unless an instruction writes it, its role; any other value as its content.
fn operand(context: &Context, method: &MethodCode<'_>, index: i32) -> String {
    let Some(value) = value(method, index.into()) else {
        return format!("%{index} out of range");
    };
    let Some(tensor) = &value.tensor else {
        let mut text = String::new();
        // Writing to a `String` does not fail.
        let _ = if value.written { write!(text, "%{index}") } else { write_scalar(&mut text, context, method, value) };
        return text;
    };
    let shape = tensor.shape().to_string_with(tensor.shape_dynamism);
    let place = match (given_name(value), &value.place) {
        (Some(name), _) => format!(" {}", context.quoted(name, NAME)),
        (None, Some(TensorPlace::Constant { index, .. })) => format!(" constant {index}"),
        (None, Some(TensorPlace::InitialState { index, .. })) => format!(" state {index}"),
        (None, Some(TensorPlace::External { key })) => format!(" external {}", context.quoted(key, NAME)),
        _ => String::new(),
    };
    format!("%{index} {shape}{place}")
}
