//! Planned memory as text.

use crate::failure::Failure;
use crate::table::{Column, Table, percent};
use crate::text;
use executorch_format::inspect::{BufferMemory, Memory, MethodMemory, PlannedBuffer, PlannedTensor};
use std::cmp::Reverse;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// At most this many tensors of a buffer are shown on a terminal.
const MOST: usize = 10;

/// The characters of a name that are shown on a terminal.
const NAME: usize = 40;

/// At most this many values that share memory are named.
const MOST_SHARED: usize = 4;

type Out = BufWriter<anstream::AutoStream<io::StdoutLock<'static>>>;

/// Prints the plan of each method, after an empty line if `apart`.
pub(super) fn text(path: &Path, memory: &Memory<'_>, top: Option<usize>, apart: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(anstream::stdout().lock());
    if apart {
        writeln!(out)?;
    }
    writeln!(out, "{}:", text::path(path))?;
    let (planned, none): (Vec<_>, Vec<_>) = memory.methods.iter().partition(|method| !method.buffers.is_empty());
    for method in &planned {
        print_method(&mut out, method, top)?;
    }
    if !none.is_empty() {
        let names: Vec<String> = none.iter().map(|method| text::name(method.name, NAME)).collect();
        let start = format!("without planned memory: {}", text::count(names.len(), "method"));
        writeln!(out, "\n{start}: {}", text::cut(&names.join(", "), start.len() + 2))?;
    }
    if planned.len() > 1 {
        writeln!(out, "\nfor all methods, one at a time")?;
        let mut table = Table::new([("BUFFER", Column::Right), ("BYTES", Column::Right), ("SIZE", Column::Right)]);
        for arena in &memory.arenas {
            table.row([arena.to_string(), arena.size.to_string(), text::size(arena.size)]);
        }
        table.write(&mut out)?;
    }
    Ok(out.flush()?)
}

/// A line for each buffer: index, bytes, device and, if there is one, the file, with a tab between them.
pub(super) fn arenas(memory: &Memory<'_>, path: Option<&Path>) -> String {
    let path = path.map(|path| format!("\t{}", text::path(path))).unwrap_or_default();
    let mut lines = String::new();
    for PlannedBuffer { memory_id, size, device_type, device_index, .. } in &memory.arenas {
        lines += &format!("{memory_id}\t{size}\t{device_type}:{device_index}{path}\n");
    }
    lines
}

fn print_method(out: &mut Out, method: &MethodMemory<'_>, top: Option<usize>) -> io::Result<()> {
    let instructions = text::count(method.instructions, "instruction");
    let bytes = text::size(method.bytes);
    writeln!(out, "\nmethod {}: {bytes} planned, {instructions}", text::name(method.name, NAME))?;
    let mut table = Table::new([
        ("BUFFER", Column::Right),
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
        1 => writeln!(out, "  1 tensor has a place that no instruction uses")?,
        unused => writeln!(out, "  {unused} tensors have a place that no instruction uses")?,
    }
    for assumed in &method.assumed {
        let calls = text::count(assumed.calls, "call");
        let what = assumed.name.as_ref().map(|name| format!("{} ({calls}): ", text::name(name, NAME)));
        let assumed = what.unwrap_or_default() + assumed.why;
        writeln!(out, "  not known, assumed: {}", text::cut(&assumed, 21))?;
    }
    method.buffers.iter().try_for_each(|buffer| print_tensors(out, method, buffer, top))
}

/// The tensors that are needed when the need for memory is highest, the largest first.
fn print_tensors(
    out: &mut Out,
    method: &MethodMemory<'_>,
    buffer: &BufferMemory<'_>,
    top: Option<usize>,
) -> io::Result<()> {
    let at = buffer.needed_at;
    let mut tensors: Vec<&PlannedTensor<'_>> = buffer.tensors.iter().filter(|tensor| tensor.is_needed_at(at)).collect();
    tensors.sort_by_key(|tensor| Reverse(tensor.bytes));
    let most = top.unwrap_or_else(|| text::most(MOST));
    if tensors.is_empty() || most == 0 {
        return Ok(());
    }
    writeln!(out, "\n  buffer {}, needed at {:#}", buffer.buffer, method.moment(at))?;
    let mut table = Table::new([
        ("VALUE", Column::Right),
        ("SIZE", Column::Right),
        ("OFFSET", Column::Right),
        ("INSTRUCTIONS", Column::Left),
        ("SHARES WITH", Column::Left),
        ("WHAT", Column::Left),
    ]);
    for tensor in tensors.iter().take(most) {
        let time = if tensor.kept { "always".to_owned() } else { times(method, tensor) };
        let shape = tensor.shape.shape().to_string_with(tensor.shape.shape_dynamism);
        let name = tensor.shape.name.map(|name| format!(" {}", text::name(name, NAME))).unwrap_or_default();
        let (bytes, offset) = (text::size(tensor.bytes), tensor.offset.to_string());
        table.row([
            format!("%{}", tensor.value),
            bytes,
            offset,
            time,
            values(&tensor.shares_with),
            format!("{shape}{name}"),
        ]);
    }
    table.write(out)?;
    if tensors.len() > most {
        writeln!(out, "  … {} more", tensors.len() - most)?;
    }
    Ok(())
}

/// When a tensor is needed: a branch or a loop may need it several times.
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
    let mut text: Vec<String> = values.iter().take(MOST_SHARED).map(|value| format!("%{value}")).collect();
    if values.len() > MOST_SHARED {
        text.push("…".to_owned());
    }
    text.join(", ")
}
