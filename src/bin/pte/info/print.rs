//! The summary as text.

use super::Info;
use crate::failure::Failure;
use crate::text;
use executorch_format::FileKind;
use executorch_format::inspect::{
    BlobCount, ConstantMethod, Content, FlatTensorSummary, Method, PlannedMemory, ProgramSummary, Returned,
    SegmentCount, Value, ValueShape,
};
use executorch_format::schema::program::DeviceType;
use std::io::{self, BufWriter, StdoutLock, Write};

/// The most keys and operators that are shown. JSON has all.
const MOST: usize = 20;

/// The most characters of a name that are shown.
const NAME: usize = 80;

type Out = BufWriter<StdoutLock<'static>>;

/// Prints the summary, after an empty line if `apart`.
pub(super) fn text(info: &Info<'_>, apart: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    if apart {
        writeln!(out)?;
    }
    let summary = info.summary;
    let what = match summary.kind {
        FileKind::Pte => "ExecuTorch program (.pte)",
        FileKind::Ptd => "ExecuTorch tensor data (.ptd)",
        _ => "ExecuTorch file",
    };
    writeln!(out, "{}: {what}", info.file)?;
    let header = match &summary.header {
        Some(header) => format!("extended header of {} bytes", header.length),
        None => "no extended header".to_owned(),
    };
    row(&mut out, "format", &format!("{}, {header}", summary.identifier))?;
    let mut size = format!("{} ({} bytes)", text::size(info.file_size), info.file_size);
    if let Some(header) = &summary.header {
        size += &format!(": metadata {}", text::size(header.metadata_size));
        if let Some(data) = header.segment_data_size {
            size += &format!(", segments {}", text::size(data));
        }
    }
    row(&mut out, "file size", &size)?;
    match &summary.content {
        Content::Program(program) => print_program(&mut out, program)?,
        Content::FlatTensor(flat_tensor) => print_flat_tensor(&mut out, flat_tensor)?,
        _ => {}
    }
    Ok(out.flush()?)
}

fn row(out: &mut Out, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:16}{value}")
}

fn segments(out: &mut Out, segments: SegmentCount) -> io::Result<()> {
    if segments.count == 0 {
        return Ok(());
    }
    row(out, "segments", &format!("{}, {}", segments.count, text::size(segments.bytes)))
}

/// Prints the number of blobs, their size, and the number of their users.
fn blobs(out: &mut Out, name: &str, count: BlobCount, user: &str) -> io::Result<()> {
    if count.count == 0 {
        return Ok(());
    }
    row(out, name, &format!("{}, {}, for {}", count.count, text::size(count.bytes), text::count(count.users, user)))
}

fn print_program(out: &mut Out, facts: &ProgramSummary<'_>) -> io::Result<()> {
    segments(out, facts.segments)?;
    blobs(out, "constants", facts.constants, "tensor")?;
    blobs(out, "initial states", facts.mutable, "mutable tensor")?;
    blobs(out, "external", facts.external, "tensor whose data is in a .ptd file")?;
    blobs(out, "named data", facts.named_data, "name")?;
    blobs(out, "payloads", facts.delegates, "delegate")?;
    for method in &facts.methods {
        print_method(out, method)?;
    }
    if !facts.metadata.is_empty() {
        writeln!(out, "  metadata (methods that return constants)")?;
        for ConstantMethod { name, value } in &facts.metadata {
            writeln!(out, "    {} = {}", text::name(name, NAME), constant(value))?;
        }
    }
    Ok(())
}

fn print_method(out: &mut Out, method: &Method<'_>) -> io::Result<()> {
    writeln!(out, "  method {}", text::name(method.name, NAME))?;
    let mut line = |name: &str, value: String| writeln!(out, "    {name:16}{value}");
    for (name, values) in [("inputs", &method.inputs), ("outputs", &method.outputs)] {
        for (at, value) in values.iter().enumerate() {
            line(if at == 0 { name } else { "" }, format!("{at}: {}", value_text(value)))?;
        }
        if values.is_empty() {
            line(name, "none".to_owned())?;
        }
    }
    line("values", method.values.to_string())?;
    let kinds: Vec<String> =
        method.instructions.by_kind.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    line("instructions", format!("{}: {}", method.instructions.total, kinds.join(", ")))?;
    let mut operators: Vec<String> = method
        .operators
        .iter()
        .take(MOST)
        .map(|operator| format!("{} {}", text::name(&operator.name, NAME), operator.calls))
        .collect();
    if method.operators.len() > MOST {
        operators.push(format!("… {} more", method.operators.len() - MOST));
    }
    if !operators.is_empty() {
        line("operators", format!("{}: {}", method.operators.len(), operators.join(", ")))?;
    }
    for backend in &method.delegates {
        let (id, payload) = (text::name(backend.id, NAME), text::size(backend.payload_bytes));
        line("delegates", format!("{id}: {}, payload {payload}", backend.delegates))?;
    }
    line("planned memory", planned(&method.planned_memory))
}

fn planned(memory: &PlannedMemory) -> String {
    let mut text = format!("{} in {}", text::size(memory.bytes), text::count(memory.buffers.len(), "buffer"));
    for buffer in memory.buffers.iter().filter(|buffer| buffer.device_type != DeviceType::CPU) {
        let size = text::size(u64::try_from(buffer.size).unwrap_or_default());
        text += &format!("; {size} on {}:{}", buffer.device_type, buffer.device_index);
    }
    text
}

fn value_text(value: &Value<'_>) -> String {
    match (&value.tensor, value.kind) {
        (Some(tensor), _) => tensor_text(tensor),
        (None, Some(name)) => name.to_owned(),
        (None, None) => format!("unknown (value {})", value.value),
    }
}

fn tensor_text(tensor: &ValueShape<'_>) -> String {
    let shape = tensor.shape().to_string_with(tensor.shape_dynamism);
    tensor.name.map_or(shape.clone(), |name| format!("{shape} {}", text::name(name, NAME)))
}

fn constant(value: &Returned<'_>) -> String {
    match value {
        Returned::Null => "null".to_owned(),
        Returned::Int(number) => number.to_string(),
        Returned::Bool(bit) => bit.to_string(),
        Returned::Double(number) => format!("{number:?}"),
        Returned::NotFinite(name) => (*name).to_owned(),
        Returned::String(string) => text::name(&format!("{string:?}"), 4 * NAME),
        Returned::Tensor(tensor) => tensor_text(tensor),
        Returned::List(items) => format!("[{}]", items.iter().map(constant).collect::<Vec<_>>().join(", ")),
        _ => "?".to_owned(),
    }
}

fn print_flat_tensor(out: &mut Out, facts: &FlatTensorSummary<'_>) -> io::Result<()> {
    row(out, "schema", &format!("of ExecuTorch {}", facts.schema))?;
    segments(out, facts.segments)?;
    row(out, "keys", &facts.keys.len().to_string())?;
    let shown = facts.keys.iter().take(MOST).map(|key| {
        let shape = key.shape.map(|shape| shape.to_string());
        (text::name(key.key, NAME), shape.unwrap_or_else(|| "blob".to_owned()), text::size(key.size))
    });
    let shown: Vec<_> = shown.collect();
    let width = |cell: fn(&(String, String, String)) -> &String| {
        shown.iter().map(|row| cell(row).chars().count()).max().unwrap_or_default()
    };
    let (key_width, shape_width) = (width(|row| &row.0), width(|row| &row.1));
    for (key, shape, size) in &shown {
        writeln!(out, "    {key:key_width$}  {shape:shape_width$}  {size}")?;
    }
    if facts.keys.len() > MOST {
        writeln!(out, "    … {} more", facts.keys.len() - MOST)?;
    }
    Ok(())
}
