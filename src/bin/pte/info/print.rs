//! The facts as text.

use super::program::{Constant, Method, PlannedMemory, Returned, Shape, Value};
use super::{Amount, Content, Info, flat_tensor, program};
use crate::failure::Failure;
use crate::text;
use executorch_format::schema::program::{DeviceType, TensorShapeDynamism};
use std::io::{self, BufWriter, StdoutLock, Write};

/// So many keys and operators are shown; JSON has all.
const MOST: usize = 20;

/// The characters of a name that are shown.
const NAME: usize = 80;

type Out = BufWriter<StdoutLock<'static>>;

/// Prints the facts, with an empty line before them if they stand `apart`.
pub(super) fn text(info: &Info<'_>, apart: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    if apart {
        writeln!(out)?;
    }
    let what = match &info.content {
        Content::Program(_) => "ExecuTorch program (.pte)",
        Content::FlatTensor(_) => "ExecuTorch tensor data (.ptd)",
    };
    writeln!(out, "{}: {what}", info.file)?;
    let header = match &info.header {
        Some(header) => format!("extended header of {} bytes", header.length),
        None => "no extended header".to_owned(),
    };
    row(&mut out, "format", &format!("{}, {header}", info.identifier))?;
    let mut size = format!("{} ({} bytes)", text::size(info.file_size), info.file_size);
    if let Some(header) = &info.header {
        size += &format!(": metadata {}", text::size(header.metadata_size));
        if let Some(data) = header.segment_data_size {
            size += &format!(", segments {}", text::size(data));
        }
    }
    row(&mut out, "file size", &size)?;
    match &info.content {
        Content::Program(facts) => print_program(&mut out, facts)?,
        Content::FlatTensor(facts) => print_flat_tensor(&mut out, facts)?,
    }
    Ok(out.flush()?)
}

fn row(out: &mut Out, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:16}{value}")
}

fn amount(out: &mut Out, name: &str, amount: Amount, note: &str) -> io::Result<()> {
    if amount.count == 0 {
        return Ok(());
    }
    row(out, name, &format!("{}, {}{note}", amount.count, text::size(amount.bytes)))
}

fn print_program(out: &mut Out, facts: &program::Facts<'_>) -> io::Result<()> {
    amount(out, "segments", facts.segments, "")?;
    amount(out, "constants", facts.constants, "")?;
    amount(out, "initial states", facts.mutable, " (of mutable tensors)")?;
    amount(out, "external", facts.external, " (tensors whose data is in a .ptd file)")?;
    amount(out, "named data", facts.named_data, "")?;
    amount(out, "delegates", facts.delegates, "")?;
    for method in &facts.methods {
        print_method(out, method)?;
    }
    if !facts.metadata.is_empty() {
        writeln!(out, "  metadata (methods that return constants)")?;
        for Constant { name, value } in &facts.metadata {
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
    match (&value.tensor, value.r#type) {
        (Some(tensor), _) => tensor_text(tensor),
        (None, Some(name)) => name.to_owned(),
        (None, None) => format!("unknown (value {})", value.value),
    }
}

fn tensor_text(tensor: &Shape<'_>) -> String {
    let shape = text::tensor(tensor.scalar_type, tensor.sizes, tensor.shape_dynamism);
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
    }
}

fn print_flat_tensor(out: &mut Out, facts: &flat_tensor::Facts<'_>) -> io::Result<()> {
    row(out, "schema", &format!("of ExecuTorch {}", facts.schema))?;
    amount(out, "segments", facts.segments, "")?;
    row(out, "keys", &facts.keys.len().to_string())?;
    let shown = facts.keys.iter().take(MOST).map(|key| {
        let shape =
            key.shape.as_ref().map(|shape| text::tensor(shape.scalar_type, shape.sizes, TensorShapeDynamism::STATIC));
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
