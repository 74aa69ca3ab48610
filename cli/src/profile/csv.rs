//! Profiles for spreadsheets: comma-separated values.

use crate::context::Context;
use crate::failure::Failure;
use executorch_format::inspect::{EventProfile, OperatorTime, Profile, RunProfile};
use std::io::Write;
use std::path::Path;

/// The columns of every line.
const RUN: &str = "file,run,method,test_case,runs,run_total";
const EVENT: &str = "kind,chain,instruction,name,operator,count,total,median,mean,min,max,share,macs";
const OPERATOR: &str = "name,inside,count,total,share,macs";

/// Writes the events of a trace, or its times by operator, after a line with the names of the columns if it is the first file.
pub fn write(
    context: &Context,
    path: &Path,
    profile: &Profile<'_>,
    by_operator: bool,
    has_header: &mut bool,
) -> Result<(), Failure> {
    let mut out = context.plain_out();
    if !std::mem::replace(has_header, true) {
        write!(out, "{RUN},{}\r\n", if by_operator { OPERATOR } else { EVENT })?;
    }
    for run in &profile.runs {
        let start = start(path, run);
        if by_operator {
            for OperatorTime { name, inside, count, total, share, macs, .. } in &run.by_operator() {
                let macs = macs.map(|macs| macs.to_string()).unwrap_or_default();
                write!(out, "{start},{},{inside},{count},{total},{share},{macs}\r\n", field(name))?;
            }
            continue;
        }
        for event in &run.events {
            let EventProfile {
                name, chain, instruction, runs, count, total, median, mean, min, max, share, macs, ..
            } = event;
            let number = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
            let operator = runs.as_ref().map(|target| field(&target.to_string())).unwrap_or_default();
            let (chain, instruction, name) = (number(*chain), number(*instruction), field(name));
            let macs = macs.map(|macs| macs.to_string()).unwrap_or_default();
            let kind = format!("{:?}", event.kind).to_lowercase();
            write!(
                out,
                "{start},{kind},{chain},{instruction},{name},{operator},{count},{total},{median},{mean},{min},{max},{share},{macs}\r\n"
            )?;
        }
    }
    Ok(out.flush()?)
}

fn start(path: &Path, run: &RunProfile<'_>) -> String {
    let case = run.test_case.map(|case| case.to_string()).unwrap_or_default();
    let [file, name, method] = [&path.display().to_string(), run.name, run.method.unwrap_or_default()].map(field);
    format!("{file},{name},{method},{case},{},{}", run.count, run.total)
}

/// Formats a field, in quotes if it has a comma, a quote or a line break. A name that a spreadsheet would take for a formula starts with `'`.
fn field(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}
