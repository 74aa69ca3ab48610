//! The memory of a run as text, for `pte memory` and `pte info`.

use crate::context::Out;
use crate::text;
use executorch_format::inspect::RunMemory;
use std::io::{self, Write};

/// A part of the memory of a run: its name, its size, and how it is computed.
struct Part {
    name: &'static str,
    size: Option<u64>,
    formula: &'static str,
}

/// Returns the parts that are not 0 or not known.
fn parts(run: &RunMemory) -> Vec<Part> {
    let mut parts = vec![
        Part { name: "planned", size: Some(run.planned), formula: "" },
        Part { name: "method", size: Some(run.method), formula: "with 64-bit pointers" },
    ];
    if let Some(xnnpack) = &run.xnnpack {
        parts.extend([
            Part {
                name: "XNNPACK workspace",
                size: xnnpack.workspace,
                formula: "values needed at once, of the largest delegate",
            },
            Part { name: "XNNPACK tables", size: xnnpack.tables, formula: "8 bytes for each input of each window" },
            Part { name: "packed weights", size: xnnpack.packed, formula: "blocks of 16 output channels" },
        ]);
    }
    parts.push(Part {
        name: "Ethos-U scratch",
        size: run.scratch.or(Some(0)),
        formula: "from the temporary allocator",
    });
    parts.push(Part { name: "weights in place", size: Some(run.weights_in_place), formula: "" });
    parts.push(Part { name: "program", size: Some(run.program), formula: "" });
    parts.retain(|part| part.size != Some(0));
    parts
}

/// Returns the bound of the sizes before a number.
fn bound(run: &RunMemory) -> &'static str {
    match (run.at_most, run.not_known.is_empty()) {
        (_, false) => "at least ",
        (true, true) => "at most ",
        (false, true) => "",
    }
}

/// Returns the total and its parts, without what is not known.
pub fn line(run: &RunMemory) -> (String, Vec<String>) {
    let part = |part: Part| format!("{} {}", part.name, part.size.map_or_else(|| "not known".to_owned(), text::size));
    let parts = parts(run).into_iter().map(part).collect();
    (format!("{}{}: ", bound(run), text::size(run.total)), parts)
}

/// Prints the parts as a table.
pub(super) fn print(out: &mut Out, run: &RunMemory) -> io::Result<()> {
    writeln!(out, "  memory of a run{}", if run.at_most { ", at most, for the largest shapes" } else { "" })?;
    let row = |out: &mut Out, name: &str, size: &str, note: &str| {
        let note = if note.is_empty() { String::new() } else { format!("  {note}") };
        writeln!(out, "    {name:18}{size:>10}{}", out.context.cut(&note, 32))
    };
    for Part { name, size, formula } in parts(run) {
        row(out, name, &size.map_or_else(|| "not known".to_owned(), text::size), formula)?;
    }
    let when = match () {
        () if run.loading > run.first_run => "while it loads: weights as stored and packed",
        () if run.first_run > run.running => "in the first run: XNNPACK's workspace grows",
        () => "",
    };
    row(out, "total", &text::size(run.total), when)?;
    for unknown in &run.not_known {
        writeln!(out, "    not known, not counted: {}", out.context.cut(&text::message(unknown), 28))?;
    }
    Ok(())
}
