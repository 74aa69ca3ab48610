//! Instructions as text, without file offsets, so that the texts of two files can be compared line by line.

use super::{Arguments, Filter, oneline};
use crate::context::{Context, Out};
use crate::failure::Failure;
use crate::text;
use executorch_format::Pte;
use executorch_format::inspect::{
    Argument, Code, CodeValue, DelegateCode, Disassembly, InsideArgument, InsideNode, MethodCode, NamedBy, Operation,
    Returned, TensorPlace,
};
use executorch_format::text::shortened;
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::Path;

/// The characters of a name shown on a terminal: fewer than elsewhere, since an instruction has several names.
pub(super) const NAME: usize = 24;

/// At most this many items of a list are shown, since many instructions may refer to one long list.
const MAX_ITEMS: usize = 16;

/// The widest argument name that counts for the alignment.
const WIDEST: usize = 16;

/// Prints every method, after the file's name if there are several files, and after an empty line if `apart`.
pub(super) fn text(
    context: &Context,
    path: Option<&Path>,
    (pte, disassembly): (&Pte<'_>, &Disassembly<'_>),
    arguments: &Arguments,
    apart: bool,
) -> Result<(), Failure> {
    let mut out = context.plain_out();
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
        match arguments.oneline {
            true => oneline::method(&mut out, method, &arguments.filter)?,
            false => print_method(&mut out, method, &arguments.filter)?,
        }
        // The first delegate may be in a method that `--method` leaves out.
        let first = |(method, delegate): (usize, usize)| {
            format!("{} delegate {delegate}", context.name(crate::value::method(pte, method), NAME))
        };
        for (index, delegate) in method.delegates.iter().enumerate() {
            print_delegate(&mut out, index, delegate, first, &arguments.filter)?;
        }
    }
    Ok(out.flush()?)
}

/// Returns `true` if the filter takes any instruction or node.
pub(super) fn any(disassembly: &Disassembly<'_>, filter: &Filter) -> bool {
    disassembly.methods.iter().any(|method| {
        let mut chains = method.chains.iter().flat_map(|chain| chain.instructions.iter().enumerate());
        chains.any(|(at, code)| filter.takes(at, || name(&code.operation)))
            || method.delegates.iter().any(|delegate| !taken(delegate, filter).is_empty())
    })
}

/// Returns the nodes of a delegate that the filter selects. A range selects instructions, not nodes.
fn taken<'t>(delegate: &'t DelegateCode<'_>, filter: &Filter) -> Vec<(usize, &'t InsideNode)> {
    let nodes = delegate.nodes.iter().enumerate().filter(|_| filter.range.is_none());
    nodes.filter(|(at, node)| filter.takes(*at, || node.operator.to_string())).collect()
}

/// Returns the names of all operators, backends and nodes, for patterns.
pub(super) fn names(disassembly: &Disassembly<'_>) -> Vec<String> {
    let methods = disassembly.methods.iter();
    let mut names: Vec<String> = Vec::new();
    for method in methods {
        let code = method.chains.iter().flat_map(|chain| &chain.instructions);
        names.extend(code.map(|code| name(&code.operation)));
        names
            .extend(method.delegates.iter().flat_map(|delegate| &delegate.nodes).map(|node| node.operator.to_string()));
        names.sort_unstable();
        names.dedup();
    }
    names
}

/// Returns the name of the operator or backend that an instruction runs. Long names are cut, since many instructions may share one.
pub(super) fn name(operation: &Operation<'_>) -> String {
    match operation {
        Operation::Kernel { operator, overload: "", .. } => shortened(operator).into_owned(),
        Operation::Kernel { operator, overload, .. } => format!("{}.{}", shortened(operator), shortened(overload)),
        Operation::Delegate { backend, .. } => shortened(backend).into_owned(),
        Operation::Move { .. } => "move".to_owned(),
        Operation::JumpFalse { .. } => "jump".to_owned(),
        Operation::Free { .. } => "free".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// Prints a delegate's compile specs, and the nodes inside it.
fn print_delegate(
    out: &mut Out,
    index: usize,
    delegate: &DelegateCode<'_>,
    first: impl Fn((usize, usize)) -> String,
    filter: &Filter,
) -> io::Result<()> {
    let context = out.context;
    let nodes = taken(delegate, filter);
    if filter.is_given() && nodes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  delegate {index}: {}", context.name(delegate.id, NAME))?;
    for setting in delegate.compile_specs.iter().filter(|_| !filter.is_given()) {
        writeln!(out, "    {}", context.cut(&text::message(&setting.to_string()), 4))?;
    }
    if let Some(place) = delegate.same_as {
        writeln!(out, "    the nodes of {}", first(place))?;
    }
    for (at, node) in nodes {
        let number = if filter.is_given() { format!("{at:6}  ") } else { "    ".to_owned() };
        let (head, arguments) = inside(context, node);
        // On a terminal, arguments that do not fit follow below.
        let mut lines = context.wrap(&arguments, number.len() + 2).into_iter();
        let first = lines.next().unwrap_or_default();
        if text::width(&head) + text::width(&first) + number.len() < context.most(context.columns) {
            write!(out, "{number}{head}{first}")?;
        } else {
            write!(out, "{number}{head}\n{number}  {first}")?;
        }
        for line in lines {
            write!(out, "\n{number}  {line}")?;
        }
        writeln!(out, ")")?;
    }
    Ok(())
}

/// Splits `#3 f32[1, 5] = XNNFullyConnected(#0 f32[1, 8], filter #1 f32[5, 8] constant)` into the text up to the parenthesis and the
/// arguments inside it.
fn inside(context: &Context, node: &InsideNode) -> (String, Vec<String>) {
    let shown = |argument: &InsideArgument| {
        let name = argument.value_name.as_deref();
        let name = name.map(|name| format!("{} ", context.name(name, NAME))).unwrap_or_default();
        let place = match (argument.argument, argument.constant) {
            (Some(argument), _) => format!(" argument {argument}"),
            (None, true) => " constant".to_owned(),
            (None, false) => String::new(),
        };
        format!("#{} {name}{}{place}", argument.id, text::message(&argument.tensor.to_string()))
    };
    let (outputs, inputs): (Vec<_>, Vec<_>) = node.arguments.iter().partition(|argument| argument.output);
    let outputs: Vec<String> = outputs.into_iter().map(shown).collect();
    let several = inputs.len() + node.settings.len() > 1;
    let inputs = inputs.into_iter().map(|argument| match several {
        true => format!("{} {}", context.name(&argument.name, NAME), shown(argument)),
        false => shown(argument),
    });
    let settings = node.settings.iter();
    let settings =
        settings.map(|setting| format!("{} {}", context.name(&setting.name, NAME), text::message(&setting.value)));
    let operator = context.name(&node.operator, 2 * NAME);
    (format!("{} = {operator}(", outputs.join(", ")), inputs.chain(settings).collect())
}

fn print_method(out: &mut Out, method: &MethodCode<'_>, filter: &Filter) -> io::Result<()> {
    let context = out.context;
    let count = method.chains.iter().map(|chain| chain.instructions.len()).sum();
    let (values, instructions) = (text::count(method.values.len(), "value"), text::count(count, "instruction"));
    writeln!(out, "method {}: {values}, {instructions}", context.name(method.name, NAME))?;
    let ends = [("input", method.inputs, &method.input_names), ("output", method.outputs, &method.output_names)];
    for (what, values, names) in ends {
        if filter.is_given() {
            break;
        }
        for (index, value) in values.iter().enumerate() {
            let name = names.get(index).and_then(Option::as_ref);
            let name = name.map(|name| format!(" {}", context.name(name, NAME))).unwrap_or_default();
            writeln!(out, "  {what} {index}{name}: {}", operand(context, method, *value))?;
        }
    }
    for (index, chain) in method.chains.iter().enumerate() {
        if method.chains.len() > 1 {
            writeln!(out, "\n  chain {index}")?;
        }
        let taken = |(index, code): &(usize, &Code<'_>)| filter.takes(*index, || name(&code.operation));
        for (index, code) in chain.instructions.iter().enumerate().filter(taken) {
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
    let context = out.context;
    writeln!(out)?;
    if code.jumped_to {
        writeln!(out, "L{index}:")?;
    }
    match &code.operation {
        Operation::Kernel { operator, overload, arguments } => {
            let dot = if overload.is_empty() { "" } else { "." };
            let overload = if overload.is_empty() { String::new() } else { context.name(overload, NAME) };
            writeln!(out, "{index:6}  {}{dot}{overload}{}", context.name(operator, 2 * NAME), module(context, code))?;
            print_assumed(out, code)?;
            // The last argument of a call repeats its result.
            let arguments = match arguments.as_slice() {
                [rest @ .., Argument { name: None, output: true, .. }] if rest.iter().any(|other| other.output) => rest,
                all => all,
            };
            print_arguments(out, method, arguments)?;
        }
        Operation::Delegate { backend, delegate, arguments } => {
            writeln!(out, "{index:6}  delegate {delegate}: {}{}", context.name(backend, NAME), module(context, code))?;
            print_assumed(out, code)?;
            print_arguments(out, method, arguments)?;
        }
        Operation::Move { from, to } => {
            writeln!(out, "{index:6}  move")?;
            line(out, b' ', "from", 4, &operand(context, method, *from))?;
            line(out, b'*', "to", 4, &operand(context, method, *to))?;
        }
        Operation::JumpFalse { condition, destination } => {
            writeln!(out, "{index:6}  jump to L{destination} if false")?;
            line(out, b' ', "condition", 9, &operand(context, method, *condition))?;
        }
        Operation::Free { value } => {
            writeln!(out, "{index:6}  free")?;
            line(out, b' ', "value", 5, &operand(context, method, *value))?;
        }
        _ => writeln!(out, "{index:6}  unknown instruction")?,
    }
    if let Some(line) = code.name.as_ref().and_then(|name| name.source).filter(|_| code.stack.is_empty()) {
        let [file, function, source] = [&line.file, &line.function, &line.text].map(|part| context.name(part, NAME));
        writeln!(out, "        from {file}:{} in {function}: {source}", line.line)?;
    }
    // The innermost frame first: the instruction comes from there.
    for frame in code.stack.iter().rev() {
        let (file, function) = (context.name(frame.filename(), NAME), context.name(frame.name(), NAME));
        writeln!(
            out,
            "        from {file}:{} in {function}: {}",
            frame.lineno,
            context.name(frame.context().trim(), NAME)
        )?;
    }
    Ok(())
}

/// Returns the module that an instruction comes from, to be printed after its operator.
fn module(context: &Context, code: &Code<'_>) -> String {
    let module = code.name.as_ref().and_then(|name| name.module).filter(|module| !module.is_empty());
    module.map(|module| format!("  {}", context.name(module, 2 * NAME))).unwrap_or_default()
}

/// Returns the name that the model's author gave to a tensor.
pub(super) fn given_name<'t>(value: &'t CodeValue<'_>) -> Option<&'t str> {
    value.tensor.as_ref()?.name.as_deref().filter(|_| value.named_by.is_some_and(NamedBy::is_given))
}

/// Prints why the marks of an instruction's outputs may be wrong.
fn print_assumed(out: &mut Out, code: &Code<'_>) -> io::Result<()> {
    code.assumed.map_or(Ok(()), |assumed| writeln!(out, "        ({assumed})"))
}

fn print_arguments(out: &mut Out, method: &MethodCode<'_>, arguments: &[Argument]) -> io::Result<()> {
    let name = |(index, argument): (usize, &Argument)| {
        argument.name.map_or_else(|| Cow::Owned(index.to_string()), Cow::Borrowed)
    };
    let names: Vec<Cow<'_, str>> = arguments.iter().enumerate().map(name).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default().min(WIDEST);
    let mut operand = String::with_capacity(64);
    for (argument, name) in arguments.iter().zip(&names) {
        let mark = match argument {
            Argument { in_place: true, .. } => b'!',
            Argument { output: true, .. } => b'*',
            _ => b' ',
        };
        operand.clear();
        // Writing to a `String` does not fail.
        let _ = write_operand(&mut operand, out.context, method, argument.value);
        if let Some(of) = argument.view_of {
            operand += &format!("  is %{of}");
        }
        line(out, mark, name, width, &operand)?;
    }
    Ok(())
}

/// Prints an argument: its mark, its ASCII name and its value.
fn line(out: &mut Out, mark: u8, name: &str, width: usize, operand: &str) -> io::Result<()> {
    // Written piece by piece, since most lines of the output are these, and formatting takes longer.
    const SPACES: [u8; WIDEST] = [b' '; WIDEST];
    out.write_all(b"      ")?;
    out.write_all(&[mark, b' '])?;
    out.write_all(name.as_bytes())?;
    out.write_all(SPACES.get(..width.saturating_sub(name.len())).unwrap_or_default())?;
    out.write_all(b"  ")?;
    let operand = out.context.cut(operand, 10 + width);
    out.write_all(operand.as_bytes())?;
    out.write_all(b"\n")
}

/// Formats a value as its index and its content.
fn operand(context: &Context, method: &MethodCode<'_>, index: i32) -> String {
    let mut text = String::with_capacity(64);
    // Writing to a `String` does not fail.
    let _ = write_operand(&mut text, context, method, index);
    text
}

fn write_operand(text: &mut String, context: &Context, method: &MethodCode<'_>, index: i32) -> fmt::Result {
    write!(text, "%{index}  ")?;
    let Some(value) = value(method, index.into()) else {
        return text.write_str("out of range");
    };
    let Some(tensor) = &value.tensor else {
        return write_scalar(text, context, method, value);
    };
    tensor.shape().push_to(text, tensor.shape_dynamism);
    if let Some(name) = given_name(value) {
        write!(text, " {}", context.quoted(name, NAME))?;
    }
    text.write_str("  ")?;
    match &value.place {
        Some(TensorPlace::Runtime) => text.write_str("given at run time"),
        Some(TensorPlace::Planned { buffer, offset }) => write!(text, "memory {buffer} at {offset}"),
        Some(TensorPlace::Constant { index, .. }) => write!(text, "constant {index}"),
        Some(TensorPlace::InitialState { index, buffer, offset, .. }) => {
            write!(text, "memory {buffer} at {offset}, initial state {index}")
        }
        Some(TensorPlace::External { key }) => write!(text, "external {}", context.quoted(key, NAME)),
        Some(_) => text.write_str("elsewhere"),
        None => text.write_str("unknown place"),
    }
}

pub(super) fn value<'m, 't>(method: &'m MethodCode<'t>, index: i64) -> Option<&'m CodeValue<'t>> {
    method.values.get(usize::try_from(index).ok()?)
}

/// Adds a value that is not a tensor to a text.
pub(super) fn write_scalar(
    text: &mut String,
    context: &Context,
    method: &MethodCode<'_>,
    value: &CodeValue<'_>,
) -> fmt::Result {
    let kind = value.kind.unwrap_or("unknown");
    match (&value.constant, &value.items) {
        _ if value.written => write!(text, "{kind}, computed"),
        (Some(constant), _) => write_returned(text, context, constant),
        (None, Some(items)) => write_list(text, items, |text, item| write_item(text, context, method, *item)),
        (None, None) if kind == "Null" => text.write_str("none"),
        (None, None) => text.write_str(kind),
    }
}

/// Adds an item of a list of values: its number if that is known, else the value's index.
fn write_item(text: &mut String, context: &Context, method: &MethodCode<'_>, index: i64) -> fmt::Result {
    match value(method, index) {
        Some(CodeValue { constant: Some(constant @ Returned::Int(_)), written: false, .. }) => {
            write_returned(text, context, constant)
        }
        None if index == -1 => text.write_str("none"),
        _ => write!(text, "%{index}"),
    }
}

fn write_returned(text: &mut String, context: &Context, value: &Returned<'_>) -> fmt::Result {
    match value {
        Returned::Null => text.write_str("none"),
        Returned::Int(number) => write!(text, "{number}"),
        Returned::Bool(bit) => write!(text, "{bit}"),
        Returned::Double(number) => write!(text, "{number:?}"),
        Returned::NotFinite(name) => text.write_str(name),
        Returned::String(string) => text.write_str(&context.quoted(string, 4 * NAME)),
        Returned::List(items) => write_list(text, items, |text, item| write_returned(text, context, item)),
        _ => text.write_str("?"),
    }
}

fn write_list<T>(text: &mut String, items: &[T], write_item: impl Fn(&mut String, &T) -> fmt::Result) -> fmt::Result {
    text.push('[');
    for (index, item) in items.iter().take(MAX_ITEMS).enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        write_item(text, item)?;
    }
    if items.len() > MAX_ITEMS {
        write!(text, ", … {} more", items.len() - MAX_ITEMS)?;
    }
    text.write_char(']')
}
