//! Delegates' payloads, a bundle's test cases and an ETDump's runs as text.

use super::print::{MAX_SHOWN, blobs, row};
use crate::context::{Context, LINE_NAME as NAME, Out, more};
use crate::text;
use executorch_format::TensorShape;
use executorch_format::delegate::{KeyedPart, PayloadKind};
use executorch_format::inspect::{
    BundleSummary, PayloadFacts, Returned, TestCase, TestValue, TraceSummary, XnnpackArgument, XnnpackSummary,
};
use std::io::{self, Write};

pub(super) fn print_bundle(out: &mut Out, facts: &BundleSummary<'_>) -> io::Result<()> {
    let context = out.context;
    let place = facts.program_offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
    row(out, "program", &format!("{}{place}", text::size(facts.program_size)))?;
    let cases: usize = facts.test_suites.iter().map(|suite| suite.test_cases.len()).sum();
    let suites = facts.test_suites.len();
    row(out, "test cases", &format!("{cases}, for {}", text::count(suites, "method")))?;
    for suite in &facts.test_suites {
        let count = text::count(suite.test_cases.len(), "test case");
        writeln!(out, "  method {}: {count}", context.name(suite.method, NAME))?;
        let cases = suite.test_cases.iter().enumerate();
        list(out, cases.map(|(index, case)| format!("{index:<4}{}", case_text(case))))?;
    }
    Ok(())
}

/// Prints the first lines of a list, and how many were left out on a terminal.
fn list(out: &mut Out, lines: impl ExactSizeIterator<Item = String>) -> io::Result<()> {
    let most = out.context.most(MAX_SHOWN);
    let left_out = lines.len().saturating_sub(most);
    for line in lines.take(most) {
        writeln!(out, "    {line}")?;
    }
    if left_out > 0 { writeln!(out, "    {}", more(left_out)) } else { Ok(()) }
}

fn case_text(case: &TestCase<'_>) -> String {
    let list = |values: &[TestValue<'_>]| values.iter().map(test_value).collect::<Vec<_>>().join(", ");
    let expected = match case.expected_outputs.as_slice() {
        [] => "not compared".to_owned(),
        values => list(values),
    };
    format!("{} -> {expected}", if case.inputs.is_empty() { "no inputs".to_owned() } else { list(&case.inputs) })
}

/// Formats an input or expected output, without its elements.
pub fn test_value(value: &TestValue<'_>) -> String {
    match (value.shape, &value.value) {
        (Some(shape), _) => shape.to_string(),
        (None, Some(Returned::Int(number))) => number.to_string(),
        (None, Some(Returned::Bool(bit))) => bit.to_string(),
        (None, Some(Returned::Double(number))) => format!("{number:?}"),
        (None, Some(Returned::NotFinite(name))) => (*name).to_owned(),
        _ => value.kind.unwrap_or("unknown").to_owned(),
    }
}

pub(super) fn print_xnnpack(out: &mut Out, facts: &XnnpackSummary<'_>) -> io::Result<()> {
    let context = out.context;
    for (name, arguments) in [("inputs", &facts.inputs), ("outputs", &facts.outputs)] {
        for (at, argument) in arguments.iter().take(context.most(MAX_SHOWN)).enumerate() {
            row(out, if at == 0 { name } else { "" }, &argument_text(argument))?;
        }
        if arguments.len() > context.most(MAX_SHOWN) {
            row(out, "", &more(arguments.len() - MAX_SHOWN))?;
        }
    }
    let most = context.most(MAX_SHOWN);
    let kinds = facts.operators.iter().take(most).map(|kind| format!("{} {}", kind.name, kind.calls));
    let left_out = facts.operators.len().saturating_sub(most);
    let kinds: Vec<String> = kinds.chain((left_out > 0).then(|| more(left_out))).collect();
    row(out, "nodes", &kinds.join(", "))?;
    blobs(out, "constants", facts.constants, "value")?;
    blobs(out, "in named data", facts.keyed, "value")
}

/// Formats an argument, as in `argument 0: f32[1, 3]`.
fn argument_text(argument: &XnnpackArgument<'_>) -> String {
    let dims: Vec<String> = argument.sizes.iter().take(TensorShape::MAX_SHOWN).map(u32::to_string).collect();
    let more = if argument.sizes.len() > dims.len() { ", …" } else { "" };
    let datatype = argument.datatype.short_name();
    format!("argument {}: {datatype}[{}{more}]", argument.argument, dims.join(", "))
}

pub(super) fn print_trace(out: &mut Out, facts: &TraceSummary<'_>) -> io::Result<()> {
    let context = out.context;
    // A block of events is a run of a method, or the loading of one.
    let runs = facts.runs.iter().filter(|run| run.name == "Execute").count();
    let others = match facts.runs.len() - runs {
        0 => String::new(),
        others => format!(", and {} of events outside runs", text::count(others, "block")),
    };
    row(out, "runs", &format!("{runs}{others}"))?;
    let lines = facts.runs.iter().enumerate().map(|(index, run)| {
        let case = run.test_case.map(|case| format!(", test case {case}")).unwrap_or_default();
        let events = [(run.profile_events, "time"), (run.allocation_events, "allocation"), (run.debug_events, "value")];
        let events: Vec<String> =
            events.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| text::count(count, what)).collect();
        let events = if events.is_empty() { "no events".to_owned() } else { events.join(", ") };
        let (name, ticks) = (context.name(run.name, NAME), run.ticks);
        format!("{index:<4}{name}{case}: {events}, {ticks} ticks")
    });
    list(out, lines)
}

/// Prints the contents of payloads, except those of XNNPACK, whose operators are listed with their method.
pub(super) fn print_payloads(out: &mut Out, payloads: &[PayloadFacts<'_>]) -> io::Result<()> {
    let context = out.context;
    let xnnpack = |facts: &&PayloadFacts<'_>| facts.summary.kind == Some(PayloadKind::Xnnpack);
    let facts: Vec<_> = payloads.iter().filter(|facts| !xnnpack(facts)).collect();
    for facts in facts.iter().take(context.most(MAX_SHOWN)) {
        let kind = facts.summary.kind.map_or_else(|| "opaque".to_owned(), |kind| kind.to_string());
        let (method, delegate, size) = (context.name(facts.method, NAME), facts.delegate, text::size(facts.size));
        writeln!(out, "  payload of {method}, delegate {delegate}: {kind}, {size}")?;
        let settings = facts.compile_specs.iter();
        list(out, settings.map(|setting| context.cut(&text::message(&setting.to_string()), 4).into_owned()))?;
        if !facts.device.is_empty() {
            writeln!(out, "    for {}", context.name(&facts.device.to_string(), 4 * NAME))?;
        }
        let line = |amount: String, name: &str| format!("{amount:>11}  {}", context.name(name, NAME));
        list(out, facts.summary.parts.iter().map(|part| line(text::size(part.size), &part.name)))?;
        list(out, facts.summary.keyed.iter().map(|part| keyed(context, part)))?;
        let operators = facts.summary.operators.iter();
        list(out, operators.map(|(operator, count)| line(text::count(*count, "time"), operator)))?;
        if let Some(size) = facts.summary.scratch_size {
            writeln!(out, "    {:>11}  scratch memory of a run", text::size(size))?;
        }
        if facts.summary.native_code {
            writeln!(out, "    machine code that runs when the program is loaded")?;
        }
        if let Some(error) = &facts.summary.error {
            writeln!(out, "    cannot be read: {}", context.name(error, 4 * NAME))?;
        }
    }
    if facts.len() > context.most(MAX_SHOWN) {
        writeln!(out, "  {}", more(facts.len() - MAX_SHOWN))?;
    }
    Ok(())
}

/// Formats data that a payload looks up by key, as in `144 B  weight_data, not in this file: key 42b0…`.
fn keyed(context: &Context, part: &KeyedPart) -> String {
    let size = part.size.map_or_else(|| "? B".to_owned(), text::size);
    let place = if part.inside { "named data" } else { "not in this file" };
    format!("{size:>11}  {}, {place}: key {}", context.name(&part.name, NAME), context.name(&part.key, NAME))
}
