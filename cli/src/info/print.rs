//! The summary as text.

use super::{Info, MutableBuffers, companions};
use crate::context::{Context, LINE_NAME as NAME, Out, more};
use crate::failure::Failure;
use crate::memory::run;
use crate::ops::macs::total;
use crate::text;
use anstyle::Style;
use executorch_format::FileKind;
use executorch_format::inspect::{
    BlobCount, ConstantMethod, Content, FlatTensorSummary, MacsSummary, Method, OperatorCalls, PlannedMemory,
    PointerSize, ProgramSummary, Returned, SegmentCount, Summary, TempAllocator, TrainingRole, Value, ValueShape,
};
use executorch_format::schema::program::DeviceType;
use executorch_format::verify::{Behaviour, LoadsIn, LoadsOutcome, Outcome, Release, ReleaseVerdict, Releases};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The maximum number of keys and operators shown on a terminal: fewer than in tables, since a summary has several lists.
pub(super) const MAX_SHOWN: usize = 20;

/// The style of the names of files and methods.
const HEAD: Style = Style::new().bold();

/// Prints the summary, after an empty line if `apart`.
pub(super) fn text(context: &Context, path: &Path, info: &Info<'_>, apart: bool) -> Result<(), Failure> {
    let mut out = context.out();
    if apart {
        writeln!(out)?;
    }
    let summary = info.summary;
    let what = match summary.kind {
        FileKind::Pte => "ExecuTorch program (.pte)",
        FileKind::Ptd => "ExecuTorch tensor data (.ptd)",
        FileKind::Bpte => "ExecuTorch bundled program (.bpte)",
        FileKind::Etdp => "ExecuTorch profile, an ETDump (.etdp)",
        FileKind::Xnnpack => "XNNPACK payload of an ExecuTorch program",
        _ => "ExecuTorch file",
    };
    writeln!(out, "{HEAD}{}{HEAD:#}: {what}", text::path(path))?;
    let mut size = format!("{} ({} bytes)", text::size(info.file_size), info.file_size);
    if let Some(header) = &summary.header {
        size += &format!(": metadata {}", text::size(header.metadata_size));
        if let Some(data) = header.segment_data_size {
            size += &format!(", segments {}", text::size(data));
        }
    }
    row(&mut out, "file size", &size)?;
    let header = match (&summary.header, summary.kind) {
        (Some(header), _) => format!(", extended header of {} bytes", header.length),
        (None, FileKind::Pte | FileKind::Ptd) => ", no extended header".to_owned(),
        (None, _) => String::new(),
    };
    row(&mut out, "format", &format!("{}{header}", summary.identifier))?;
    match &summary.content {
        Content::Program(program) => {
            match info.is_cut {
                true => row(
                    &mut out,
                    "loads in",
                    "no release: the file is truncated; the rest of this summary comes from its program",
                )?,
                false => loads_in(&mut out, info)?,
            }
            print_program(&mut out, program, info)?;
        }
        Content::FlatTensor(flat_tensor) => print_flat_tensor(&mut out, flat_tensor)?,
        Content::Bundle(bundle) => companions::print_bundle(&mut out, bundle)?,
        Content::Trace(trace) => companions::print_trace(&mut out, trace)?,
        Content::Xnnpack(xnnpack) => companions::print_xnnpack(&mut out, xnnpack)?,
        _ => {}
    }
    if let Some(Summary { content: Content::Program(program), .. }) = info.program {
        writeln!(out, "  the program inside")?;
        loads_in(&mut out, info)?;
        print_program(&mut out, program, info)?;
    }
    Ok(out.flush()?)
}

pub(super) fn row(out: &mut Out, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:16}{value}")
}

/// Prints the releases that load the program, and why the adjacent releases do not: `0.7 to 1.5 (0.6 refuses: missing-operators)`. The
/// following lines list its requirements and the scope of this answer.
fn loads_in(out: &mut Out, info: &Info<'_>) -> io::Result<()> {
    let Releases { loads_in, releases: verdicts, .. } = &info.releases;
    row(out, "loads in", &releases(loads_in, verdicts))?;
    let line = |out: &mut Out, text: &str| row(out, "", &out.context.cut(&text::message(text), 18));
    let reason = verdicts.last().and_then(|latest| latest.because.as_ref());
    if let Some(reason) = reason.filter(|_| loads_in.ranges.is_empty()) {
        line(out, &reason.to_string())?;
    }
    if let Some(needs) = loads_in.needs_kernels() {
        line(out, &needs)?;
    }
    line(out, &format!("checked: {}", loads_in.checked.join(", ")))?;
    if let Some(not_checked) = &loads_in.not_checked {
        line(out, &format!("not checked: {not_checked}"))?;
    }
    if let Some(data) = &info.external_data {
        row(out, "external data", &text::message(&data.to_string()))?;
    }
    match info.verdict.as_ref().filter(|verdict| verdict.outcome != Outcome::Runs) {
        Some(verdict) => {
            row(out, &format!("in {}", Release::LATEST), &out.context.cut(&text::message(&verdict.to_string()), 18))
        }
        None => Ok(()),
    }
}

fn releases(loads_in: &LoadsIn, verdicts: &[ReleaseVerdict]) -> String {
    let reason = |verdict: &ReleaseVerdict| {
        let reason = verdict.because.as_ref()?;
        Some(format!("{}: {}", verdict.behaviour, reason.name))
    };
    match loads_in.outcome {
        LoadsOutcome::Loads => {}
        LoadsOutcome::None => {
            let latest = verdicts.last().and_then(reason);
            return format!("no release of ExecuTorch ({})", latest.as_deref().unwrap_or("unknown"));
        }
        _ => return loads_in.to_string(),
    }
    let loads = |verdict: &ReleaseVerdict| verdict.behaviour == Behaviour::Loads;
    let seen: Vec<&ReleaseVerdict> = verdicts.iter().filter(|verdict| verdict.release.was_seen()).collect();
    let mut bounds: Vec<String> = Vec::new();
    for pair in seen.windows(2) {
        let [before, after] = pair else { continue };
        let outside = match (loads(before), loads(after)) {
            (false, true) => before,
            (true, false) => after,
            _ => continue,
        };
        bounds.extend(reason(outside).map(|reason| format!("{} {reason}", outside.release)));
    }
    let bounds = if bounds.is_empty() { String::new() } else { format!(" ({})", bounds.join(", ")) };
    format!("{loads_in}{bounds}")
}

fn segments(out: &mut Out, segments: SegmentCount) -> io::Result<()> {
    if segments.count == 0 {
        return Ok(());
    }
    row(out, "segments", &format!("{}, {}", segments.count, text::size(segments.size)))
}

/// Prints the number of blobs, their size, and the number of their users.
pub(super) fn blobs(out: &mut Out, name: &str, count: BlobCount, user: &str) -> io::Result<()> {
    if count.count == 0 {
        return Ok(());
    }
    let size = count.size.map_or_else(|| "size not known".to_owned(), text::size);
    row(out, name, &format!("{}, {size}, for {}", count.count, text::count(count.users, user)))
}

/// Prints the device requirements: first backends and methods, then the data.
fn print_program(out: &mut Out, facts: &ProgramSummary<'_>, info: &Info<'_>) -> io::Result<()> {
    let context = out.context;
    let mut backends: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for backend in facts.methods.iter().flat_map(|method| &method.delegates) {
        let (delegates, bytes) = backends.entry(backend.id).or_default();
        *delegates += backend.delegates;
        *bytes = bytes.saturating_add(backend.payload_size);
    }
    for (at, (id, (delegates, _))) in backends.iter().enumerate() {
        let name = if at == 0 { "backends" } else { "" };
        row(out, name, &format!("{}: {}", context.name(id, NAME), text::count(*delegates, "delegate")))?;
    }
    let macs: BTreeMap<&str, &MacsSummary<'_>> = info.macs.iter().rev().map(|macs| (macs.name, macs)).collect();
    let mutable: BTreeMap<&str, _> = info.mutable.iter().rev().map(|mutable| (&*mutable.method, mutable)).collect();
    for method in &facts.methods {
        print_method(out, method, macs.get(method.name).copied(), mutable.get(method.name).copied())?;
    }
    companions::print_payloads(out, &facts.payloads)?;
    if !facts.metadata.is_empty() {
        writeln!(out, "  {HEAD}metadata{HEAD:#} (methods that return constants)")?;
        for ConstantMethod { name, value, .. } in &facts.metadata {
            let name = context.name(name, NAME);
            writeln!(out, "    {name} = {}", context.cut(&constant(context, value), 7 + text::width(&name)))?;
        }
    }
    let blobs_there = [facts.constants, facts.initial_states, facts.external, facts.named_data, facts.delegates];
    if facts.segments.count > 0 || blobs_there.iter().any(|blobs| blobs.count > 0) {
        writeln!(out, "  {HEAD}data{HEAD:#}")?;
    }
    segments(out, facts.segments)?;
    blobs(out, "constants", facts.constants, "tensor")?;
    blobs(out, "initial states", facts.initial_states, "mutable tensor")?;
    blobs(out, "in .ptd files", facts.external, "tensor")?;
    blobs(out, "named data", facts.named_data, "name")?;
    blobs(out, "payloads", facts.delegates, "delegate")?;
    blobs(out, "payloads use", facts.delegate_constants, "value")?;
    match facts.external_delegate_constants {
        BlobCount { count: 0, .. } => Ok(()),
        elsewhere => blobs(out, " in .ptd files", elsewhere, "value"),
    }
}

/// The column at which the facts of a method start.
const METHOD: usize = 20;

fn line(out: &mut Out, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "    {name:16}{}", out.context.cut(value, METHOD))
}

/// Prints a list, on as many lines as it needs.
fn lines(out: &mut Out, name: &str, head: &str, parts: &[String]) -> io::Result<()> {
    let wrapped = out.context.wrap(parts, METHOD + head.len());
    for (at, parts) in wrapped.iter().enumerate() {
        let (name, head) = if at == 0 { (name, head.to_owned()) } else { ("", " ".repeat(head.len())) };
        line(out, name, &format!("{head}{parts}"))?;
    }
    Ok(())
}

fn print_method(
    out: &mut Out,
    method: &Method<'_>,
    macs: Option<&MacsSummary<'_>>,
    mutable: Option<&MutableBuffers>,
) -> io::Result<()> {
    let context = out.context;
    writeln!(out, "  {HEAD}method {}{HEAD:#}", context.name(method.name, NAME))?;
    for (name, values) in [("inputs", &method.inputs), ("outputs", &method.outputs)] {
        // Neighbours with the same text share a line.
        let is_alike = |left: &Value<'_>, right: &Value<'_>| {
            is_same(left, right) || value_text(context, left) == value_text(context, right)
        };
        let mut at = 0;
        for run in values.chunk_by(is_alike).take(context.most(2 * MAX_SHOWN)) {
            let (Some(first), count) = (run.first(), run.len()) else { continue };
            let text = value_text(context, first);
            let value = match count {
                1 => format!("{at}: {text}"),
                _ => format!("{at}–{}: {text} ×{count}", at + count - 1),
            };
            line(out, if at == 0 { name } else { "" }, &value)?;
            at += count;
        }
        if at < values.len() {
            line(out, "", &more(values.len() - at))?;
        }
        if values.is_empty() {
            line(out, name, "none")?;
        }
    }
    for backend in &method.delegates {
        let (id, payload) = (context.name(backend.id, NAME), text::size(backend.payload_size));
        line(out, "delegates", &format!("{id}: {}, payload {payload}", backend.delegates))?;
        operators(out, "", &format!("{} of node", text::count(backend.operators.len(), "kind")), &backend.operators)?;
    }
    operators(out, "operators", &method.operators.len().to_string(), &method.operators)?;
    let kinds: Vec<String> =
        method.instructions.by_kind.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let instructions = format!("{}: {}", method.instructions.total, kinds.join(", "));
    line(out, "instructions", &format!("{instructions}; {}", text::count(method.values, "value")))?;
    if let Some(macs) = macs {
        line(out, "compute", &total(macs))?;
    }
    line(out, "planned memory", &planned(&method.planned_memory))?;
    if let Some(MutableBuffers { values, bytes, .. }) = mutable {
        let values: Vec<String> = values.iter().map(|value| format!("%{value}")).collect();
        let head = format!("{}, without initial values: ", text::size(*bytes));
        lines(out, "mutable buffers", &head, &values)?;
    }
    let memory = &method.method_allocator;
    let sizes =
        |pointers| (memory.known(pointers, TempAllocator::Given), memory.known(pointers, TempAllocator::Missing));
    let ((with, without), (narrow_with, narrow_without)) = (sizes(PointerSize::Bits64), sizes(PointerSize::Bits32));
    line(out, "method memory", &format!("{with} B, {narrow_with} B on 32-bit targets"))?;
    line(out, "", &format!("without a temporary allocator {without} B, {narrow_without} B"))?;
    if memory.other_delegates > 0 {
        let others = text::count(memory.other_delegates, "delegate");
        line(out, "", &format!("plus the memory of {others} of backends other than XNNPACK"))?;
    }
    let (head, parts) = run::line(&method.run_memory);
    lines(out, "memory of a run", &head, &parts)?;
    for unknown in &method.run_memory.not_known {
        line(out, "", &format!("not known, not counted: {}", text::message(unknown)))?;
    }
    Ok(())
}

/// Prints the number of kinds of operators, and the numbers of calls of the first ones.
fn operators(out: &mut Out, name: &str, count: &str, operators: &[OperatorCalls]) -> io::Result<()> {
    let context = out.context;
    if operators.is_empty() {
        return Ok(());
    }
    let most = context.most(MAX_SHOWN);
    let shown = operators.iter().take(most);
    let mut shown: Vec<String> =
        shown.map(|operator| format!("{} {}", context.name(&operator.name, NAME), operator.calls)).collect();
    if operators.len() > most {
        shown.push(more(operators.len() - most));
    }
    lines(out, name, &format!("{count}: "), &shown)
}

fn planned(memory: &PlannedMemory) -> String {
    let mut text = format!("{} in {}", text::size(memory.size), text::count(memory.buffers.len(), "buffer"));
    for buffer in memory.buffers.iter().filter(|buffer| buffer.device_type != DeviceType::CPU) {
        let size = text::size(buffer.size);
        text += &format!("; {size} on {}:{}", buffer.device_type, buffer.device_index);
    }
    text
}

/// Returns the type of an input or output, and its meaning in a method for training.
/// Returns `true` if two inputs or outputs are the same value with the same name.
fn is_same(left: &Value<'_>, right: &Value<'_>) -> bool {
    left.value == right.value && left.name == right.name && left.training == right.training
}

fn value_text(context: &Context, value: &Value<'_>) -> String {
    let name = value.name.as_ref().map(|name| format!(" {}", context.name(name, NAME))).unwrap_or_default();
    let shape = format!("{}{name}", type_text(context, value));
    let Some(training) = &value.training else { return shape };
    let role = match training.role {
        TrainingRole::Loss => "loss",
        TrainingRole::Gradient => "gradient",
        TrainingRole::Parameter => "parameter",
        _ => return shape,
    };
    match training.parameter {
        Some(name) if training.role == TrainingRole::Gradient => {
            format!("{shape}, {role} of {}", context.name(name, NAME))
        }
        Some(name) => format!("{shape}, {role} {}", context.name(name, NAME)),
        None => format!("{shape}, {role}"),
    }
}

fn type_text(context: &Context, value: &Value<'_>) -> String {
    match (&value.tensor, value.kind) {
        (Some(tensor), _) if value.caller_memory => format!("{}, in the caller's memory", tensor_text(context, tensor)),
        (Some(tensor), _) => tensor_text(context, tensor),
        (None, Some(name)) => name.to_owned(),
        (None, None) => format!("unknown (value {})", value.value),
    }
}

fn tensor_text(context: &Context, tensor: &ValueShape<'_>) -> String {
    let shape = tensor.shape().to_string_with(tensor.shape_dynamism);
    tensor.name.as_ref().map_or(shape.clone(), |name| format!("{shape} {}", context.name(name, NAME)))
}

fn constant(context: &Context, value: &Returned<'_>) -> String {
    match value {
        Returned::Null => "null".to_owned(),
        Returned::Int(number) => number.to_string(),
        Returned::Bool(bit) => bit.to_string(),
        Returned::Double(number) => format!("{number:?}"),
        Returned::NotFinite(name) => (*name).to_owned(),
        Returned::String(string) => context.quoted(string, 4 * NAME),
        Returned::Tensor(tensor) => tensor_text(context, tensor),
        Returned::List(items) => {
            format!("[{}]", items.iter().map(|item| constant(context, item)).collect::<Vec<_>>().join(", "))
        }
        _ => "?".to_owned(),
    }
}

fn print_flat_tensor(out: &mut Out, facts: &FlatTensorSummary<'_>) -> io::Result<()> {
    let context = out.context;
    row(out, "schema", &format!("of ExecuTorch {}", facts.schema))?;
    segments(out, facts.segments)?;
    row(out, "keys", &facts.keys.len().to_string())?;
    let most = context.most(MAX_SHOWN);
    let shown = facts.keys.iter().take(most).map(|key| {
        let shape = key.shape.map(|shape| shape.to_string());
        (context.name(key.key, NAME), shape.unwrap_or_else(|| "blob".to_owned()), text::size(key.size))
    });
    let shown: Vec<_> = shown.collect();
    let shape_width = text::column(shown.iter().map(|(_, shape, _)| shape));
    let size_width = text::column(shown.iter().map(|(_, _, size)| size));
    let keys: Vec<String> =
        shown.iter().map(|(key, _, _)| context.cut(key, 8 + shape_width + size_width).into_owned()).collect();
    let key_width = text::column(keys.iter());
    for (key, (_, shape, size)) in keys.iter().zip(&shown) {
        writeln!(out, "    {}  {}  {size}", text::left(key, key_width), text::left(shape, shape_width))?;
    }
    if facts.keys.len() > most {
        writeln!(out, "    {}", more(facts.keys.len() - most))?;
    }
    Ok(())
}
