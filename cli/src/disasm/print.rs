//! Instructions as text. Nothing in it depends on where things are in the file, so that two files can be compared line by line.

use crate::failure::Failure;
use crate::text;
use executorch_format::inspect::{
    Argument, Code, CodeValue, Disassembly, MethodCode, Operation, Returned, TensorPlace,
};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

/// The characters of a name that are shown on a terminal.
const NAME: usize = 24;

/// So many items of a list are shown: many instructions may name one long list.
const MOST_ITEMS: usize = 16;

/// The widest name of an argument that others are aligned to.
const WIDEST: usize = 16;

type Out = BufWriter<StdoutLock<'static>>;

/// Prints every method, after the file's name where there are several, and after an empty line if `apart`.
pub(super) fn text(path: Option<&Path>, disassembly: &Disassembly<'_>, apart: bool) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    if apart {
        writeln!(out)?;
    }
    if let Some(path) = path {
        writeln!(out, "{}:", text::path(path))?;
    }
    for (index, method) in disassembly.methods.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        print_method(&mut out, method)?;
    }
    Ok(out.flush()?)
}

fn print_method(out: &mut Out, method: &MethodCode<'_>) -> io::Result<()> {
    let count = method.chains.iter().map(|chain| chain.instructions.len()).sum();
    let (values, instructions) = (text::count(method.values.len(), "value"), text::count(count, "instruction"));
    writeln!(out, "method {}: {values}, {instructions}", text::name(method.name, NAME))?;
    for (what, values) in [("input", method.inputs), ("output", method.outputs)] {
        for (index, value) in values.iter().enumerate() {
            writeln!(out, "  {what} {index}: {}", operand(method, *value))?;
        }
    }
    for (index, chain) in method.chains.iter().enumerate() {
        if method.chains.len() > 1 {
            writeln!(out, "\n  chain {index}")?;
        }
        for (index, code) in chain.instructions.iter().enumerate() {
            print_code(out, method, index, code)?;
        }
        let end = chain.instructions.len();
        let to_end = |code: &Code<'_>| matches!(code.operation, Operation::JumpFalse { destination, .. } if usize::try_from(destination) == Ok(end));
        if chain.instructions.iter().any(to_end) {
            writeln!(out, "\nL{end}:")?;
        }
    }
    Ok(())
}

fn print_code(out: &mut Out, method: &MethodCode<'_>, index: usize, code: &Code<'_>) -> io::Result<()> {
    writeln!(out)?;
    if code.jumped_to {
        writeln!(out, "L{index}:")?;
    }
    match &code.operation {
        Operation::Kernel { operator, overload, arguments } => {
            let dot = if overload.is_empty() { "" } else { "." };
            let overload = if overload.is_empty() { String::new() } else { text::name(overload, NAME) };
            writeln!(out, "{index:6}  {}{dot}{overload}", text::name(operator, 2 * NAME))?;
            print_assumed(out, code)?;
            // A call repeats its result at its end.
            let arguments = match arguments.as_slice() {
                [rest @ .., Argument { name: None, output: true, .. }] if rest.iter().any(|other| other.output) => rest,
                all => all,
            };
            print_arguments(out, method, arguments)?;
        }
        Operation::Delegate { backend, delegate, arguments } => {
            writeln!(out, "{index:6}  delegate {delegate}: {}", text::name(backend, NAME))?;
            print_assumed(out, code)?;
            print_arguments(out, method, arguments)?;
        }
        Operation::Move { from, to } => {
            writeln!(out, "{index:6}  move")?;
            line(out, ' ', "from", 4, &operand(method, *from))?;
            line(out, '*', "to", 4, &operand(method, *to))?;
        }
        Operation::JumpFalse { condition, destination } => {
            writeln!(out, "{index:6}  jump to L{destination} if false")?;
            line(out, ' ', "condition", 9, &operand(method, *condition))?;
        }
        Operation::Free { value } => {
            writeln!(out, "{index:6}  free")?;
            line(out, ' ', "value", 5, &operand(method, *value))?;
        }
        _ => writeln!(out, "{index:6}  unknown instruction")?,
    }
    // Innermost first: that is where the instruction comes from.
    for frame in code.stack.iter().rev() {
        let (file, function) = (text::name(frame.filename(), NAME), text::name(frame.name(), NAME));
        writeln!(
            out,
            "        from {file}:{} in {function}: {}",
            frame.lineno,
            text::name(frame.context().trim(), NAME)
        )?;
    }
    Ok(())
}

/// Why the marks of an instruction's outputs may be wrong.
fn print_assumed(out: &mut Out, code: &Code<'_>) -> io::Result<()> {
    code.assumed.map_or(Ok(()), |assumed| writeln!(out, "        ({assumed})"))
}

fn print_arguments(out: &mut Out, method: &MethodCode<'_>, arguments: &[Argument]) -> io::Result<()> {
    let names: Vec<String> = arguments
        .iter()
        .enumerate()
        .map(|(index, argument)| argument.name.map_or_else(|| index.to_string(), str::to_owned))
        .collect();
    let width = names.iter().map(String::len).max().unwrap_or_default().min(WIDEST);
    for (argument, name) in arguments.iter().zip(&names) {
        let mark = match argument {
            Argument { in_place: true, .. } => '!',
            Argument { output: true, .. } => '*',
            _ => ' ',
        };
        line(out, mark, name, width, &operand(method, argument.value))?;
    }
    Ok(())
}

fn line(out: &mut Out, mark: char, name: &str, width: usize, operand: &str) -> io::Result<()> {
    writeln!(out, "      {mark} {name:width$}  {}", text::cut(operand, 10 + width))
}

/// A value: its index, and what it is.
fn operand(method: &MethodCode<'_>, index: i32) -> String {
    let Some(value) = value(method, index.into()) else {
        return format!("%{index}  out of range");
    };
    let what = match (&value.tensor, &value.place) {
        (Some(tensor), place) => {
            let shape = tensor.shape().to_string_with(tensor.shape_dynamism);
            let name = tensor.name.map(|name| format!(" {}", text::quoted(name, NAME))).unwrap_or_default();
            format!("{shape}{name}  {}", place.as_ref().map_or_else(|| "unknown place".to_owned(), place_text))
        }
        (None, _) => scalar(method, value),
    };
    format!("%{index}  {what}")
}

fn value<'m, 't>(method: &'m MethodCode<'t>, index: i64) -> Option<&'m CodeValue<'t>> {
    method.values.get(usize::try_from(index).ok()?)
}

fn place_text(place: &TensorPlace<'_>) -> String {
    match place {
        TensorPlace::Runtime => "given at run time".to_owned(),
        TensorPlace::Planned { buffer, offset } => format!("memory {buffer} at {offset}"),
        TensorPlace::Constant { index, .. } => format!("constant {index}"),
        TensorPlace::Mutable { index, buffer, offset, .. } => {
            format!("memory {buffer} at {offset}, initial state {index}")
        }
        TensorPlace::External { key } => format!("external {}", text::quoted(key, NAME)),
        _ => "elsewhere".to_owned(),
    }
}

/// What is no tensor.
fn scalar(method: &MethodCode<'_>, value: &CodeValue<'_>) -> String {
    let kind = value.kind.unwrap_or("unknown");
    if value.written {
        return format!("{kind}, computed");
    }
    match (&value.constant, &value.items) {
        (Some(constant), _) => returned(constant),
        (None, Some(items)) => list(items.len(), items.iter().map(|item| self::item(method, *item))),
        (None, None) if kind == "Null" => "none".to_owned(),
        (None, None) => kind.to_owned(),
    }
}

/// An item of a list of values: a number that is known, or which value it is.
fn item(method: &MethodCode<'_>, index: i64) -> String {
    match value(method, index) {
        Some(CodeValue { constant: Some(constant @ Returned::Int(_)), written: false, .. }) => returned(constant),
        None if index == -1 => "none".to_owned(),
        _ => format!("%{index}"),
    }
}

fn returned(value: &Returned<'_>) -> String {
    match value {
        Returned::Null => "none".to_owned(),
        Returned::Int(number) => number.to_string(),
        Returned::Bool(bit) => bit.to_string(),
        Returned::Double(number) => format!("{number:?}"),
        Returned::NotFinite(name) => (*name).to_owned(),
        Returned::String(string) => text::quoted(string, 4 * NAME),
        Returned::List(items) => list(items.len(), items.iter().map(returned)),
        _ => "?".to_owned(),
    }
}

fn list(count: usize, items: impl Iterator<Item = String>) -> String {
    let mut shown: Vec<String> = items.take(MOST_ITEMS).collect();
    if count > shown.len() {
        shown.push(format!("… {} more", count - shown.len()));
    }
    format!("[{}]", shown.join(", "))
}
