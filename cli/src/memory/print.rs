//! Planned memory as text.

use super::{Arguments, By};
use crate::context::{Context, NAME, Out};
use crate::failure::Failure;
use crate::modules;
use crate::table::{Column, Table, percent};
use crate::text;
use executorch_format::inspect::{BufferMemory, Memory, MethodMemory, NamedBy, PlannedBuffer, PlannedTensor};
use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;

/// At most this many tensors of a buffer are shown on a terminal, or twice as many modules: there is a table for each buffer of each method.
const MAX_SHOWN: usize = 10;

/// At most this many of the values that share memory are named.
const MAX_SHARED: usize = 4;

/// Prints the plan of each method, after an empty line if `apart`.
pub(super) fn text(
    context: &Context,
    path: &Path,
    memory: &Memory<'_>,
    arguments: &Arguments,
    apart: bool,
) -> Result<(), Failure> {
    let has_memory = |method: &&MethodMemory<'_>| !method.buffers.is_empty() || method.run_memory.xnnpack.is_some();
    let (planned, none): (Vec<_>, Vec<_>) = memory.methods.iter().partition(has_memory);
    if arguments.by == Some(By::Module) {
        let all: Vec<_> = planned.iter().flat_map(|method| &method.buffers).flat_map(BufferMemory::by_module).collect();
        modules::check(path, &all)?;
    }
    let mut out = context.out();
    if apart {
        writeln!(out)?;
    }
    writeln!(out, "{}:", text::path(path))?;
    for method in &planned {
        print_method(&mut out, method, arguments)?;
    }
    if !none.is_empty() {
        let names: Vec<String> = none.iter().map(|method| context.name(method.name, NAME)).collect();
        let start = format!("without planned memory: {}", text::count(names.len(), "method"));
        writeln!(out, "\n{start}: {}", context.cut(&names.join(", "), start.len() + 2))?;
    }
    if planned.len() > 1 {
        writeln!(out, "\nfor all methods, one at a time")?;
        let mut table = Table::new([
            ("MEMORY ID", Column::Right),
            ("SPAN", Column::Right),
            ("BYTES", Column::Right),
            ("SIZE", Column::Right),
        ]);
        for arena in &memory.arenas {
            table.row([arena.to_string(), arena.span.to_string(), arena.size.to_string(), text::size(arena.size)]);
        }
        table.write(&mut out)?;
    }
    Ok(out.flush()?)
}

/// Returns a line for each buffer: its memory id, span, bytes, device and, if given, the file, separated by tabs.
pub(super) fn arenas(memory: &Memory<'_>, path: Option<&Path>) -> String {
    let path = path.map(|path| format!("\t{}", text::path(path))).unwrap_or_default();
    let mut lines = String::new();
    for PlannedBuffer { memory_id, span, size, device_type, device_index, .. } in &memory.arenas {
        lines += &format!("{memory_id}\t{span}\t{size}\t{device_type}:{device_index}{path}\n");
    }
    lines
}

fn print_method(out: &mut Out, method: &MethodMemory<'_>, arguments: &Arguments) -> io::Result<()> {
    let context = out.context;
    let instructions = text::count(method.instructions, "instruction");
    let bytes = text::size(method.size);
    writeln!(out, "\nmethod {}: {bytes} planned, {instructions}", context.name(method.name, NAME))?;
    let mut table = Table::new([
        ("MEMORY ID", Column::Right),
        ("SPAN", Column::Right),
        ("SIZE", Column::Right),
        ("NEEDED AT ONCE", Column::Right),
        ("AT", Column::Right),
        ("LOST", Column::Right),
        ("", Column::Right),
        ("TENSORS", Column::Right),
    ]);
    for buffer in &method.buffers {
        let (tensors, whole) = (buffer.tensors.len().to_string(), buffer.buffer.size);
        // Figures that rest on an assumption are marked.
        let about = if method.assumed.is_empty() { "" } else { "about " };
        let (needed, at) =
            (format!("{about}{}", text::size(buffer.needed)), method.moment(buffer.needed_at).to_string());
        let lost = if buffer.lost == 0 { text::size(0) } else { format!("{about}{}", text::size(buffer.lost)) };
        table.row([
            buffer.buffer.to_string(),
            buffer.buffer.span.to_string(),
            text::size(buffer.buffer.size),
            needed,
            at,
            lost,
            percent(buffer.lost, whole),
            tensors,
        ]);
    }
    table.write(out)?;
    match method.unused {
        0 => {}
        1 => writeln!(out, "  1 planned tensor is used by no instruction")?,
        unused => writeln!(out, "  {unused} planned tensors are used by no instruction")?,
    }
    for assumed in &method.assumed {
        let calls = text::count(assumed.calls, "call");
        let what = assumed.name.as_ref().map(|name| format!("{} ({calls}): ", context.name(name, NAME)));
        let assumed = what.unwrap_or_default() + assumed.why;
        writeln!(out, "  not known, assumed: {}", context.cut(&assumed, 21))?;
    }
    super::run::print(out, &method.run_memory)?;
    for buffer in &method.buffers {
        match arguments.by {
            Some(By::Module) => print_modules(out, method, buffer, arguments.top)?,
            _ => print_tensors(out, method, buffer, arguments.top)?,
        }
    }
    Ok(())
}

/// Prints the bytes of a buffer by module at the peak.
fn print_modules(
    out: &mut Out,
    method: &MethodMemory<'_>,
    buffer: &BufferMemory<'_>,
    top: Option<usize>,
) -> io::Result<()> {
    writeln!(out, "\n  memory id {}, needed at {:#}", buffer.buffer, method.moment(buffer.needed_at))?;
    let most = out.context.rows(top, 2 * MAX_SHOWN);
    modules::write(out, &buffer.by_module(), "BYTES", most, text::size)
}

/// Prints the tensors that are live at the peak, the largest first.
fn print_tensors(
    out: &mut Out,
    method: &MethodMemory<'_>,
    buffer: &BufferMemory<'_>,
    top: Option<usize>,
) -> io::Result<()> {
    let context = out.context;
    let at = buffer.needed_at;
    let mut tensors: Vec<&PlannedTensor<'_>> = buffer.tensors.iter().filter(|tensor| tensor.is_needed_at(at)).collect();
    tensors.sort_by_key(|tensor| Reverse(tensor.size));
    let most = context.rows(top, MAX_SHOWN);
    if tensors.is_empty() || most.count == 0 {
        return Ok(());
    }
    writeln!(out, "\n  memory id {}, needed at {:#}", buffer.buffer, method.moment(at))?;
    let mut table = Table::new([
        ("VALUE", Column::Right),
        ("SIZE", Column::Right),
        ("OFFSET", Column::Right),
        ("INSTRUCTIONS", Column::Left),
        ("SHARES WITH", Column::Left),
        ("LAST USED BY", Column::Left),
        ("WHAT", Column::Left),
    ]);
    table.rows(tensors, most, |tensor| {
        let time = if tensor.kept { "always".to_owned() } else { times(method, tensor) };
        let shape = tensor.shape.shape().to_string_with(tensor.shape.shape_dynamism);
        // A name derived from an instruction is that of the instruction that writes the tensor.
        let is_given = tensor.named_by.is_some_and(NamedBy::is_given);
        let kept = if tensor.kept { " mutable buffer" } else { "" };
        let maker = tensor.made_by.as_ref().filter(|_| is_given);
        let maker = maker.map(|maker| format!(", from {}", context.name(maker, NAME))).unwrap_or_default();
        let name = tensor
            .shape
            .name
            .as_ref()
            .filter(|_| is_given || !tensor.kept)
            .map(|name| format!(" {}{maker}", context.name(name, NAME)))
            .unwrap_or_default();
        let user = match (&tensor.last_used_by, method.moment(tensor.last)) {
            (Some(user), _) => context.name(user, NAME),
            (None, moment) => moment.to_string(),
        };
        let (bytes, offset) = (text::size(tensor.size), tensor.offset.to_string());
        [
            format!("%{}", tensor.value),
            bytes,
            offset,
            time,
            values(&tensor.shares_with),
            user,
            format!("{shape}{kept}{name}"),
        ]
    });
    table.write(out)
}

/// Formats the times when a tensor is live: with branches or loops there may be several.
fn times(method: &MethodMemory<'_>, tensor: &PlannedTensor<'_>) -> String {
    let mut text = method.moment(tensor.first).to_string();
    if let Some(idle) = tensor.idle.first() {
        text += &format!(" to {}, …", method.moment(idle.first - 1));
        if let Some(idle) = tensor.idle.last() {
            text += &format!(" {}", method.moment(idle.last + 1));
        }
    }
    format!("{text} to {}", method.moment(tensor.last))
}

fn values(values: &[usize]) -> String {
    let mut text: Vec<String> = values.iter().take(MAX_SHARED).map(|value| format!("%{value}")).collect();
    if values.len() > MAX_SHARED {
        text.push("…".to_owned());
    }
    text.join(", ")
}
