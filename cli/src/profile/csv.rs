//! Profiles for spreadsheets.

use crate::context::Context;
use crate::csv::Line;
use crate::failure::Failure;
use crate::text;
use executorch_format::inspect::{EventProfile, OperatorTime, Profile, RunProfile};
use std::io::Write;
use std::path::Path;

/// The columns of every line.
const RUN: &[&str] = &["file", "run", "method", "test_case", "runs", "run_total"];
const EVENT: &[&str] = &[
    "kind",
    "chain",
    "instruction",
    "name",
    "operator",
    "count",
    "total",
    "median",
    "mean",
    "min",
    "max",
    "share",
    "macs",
];
const OPERATOR: &[&str] = &["name", "inside", "count", "total", "share", "macs"];

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
        let columns = RUN.iter().chain(if by_operator { OPERATOR } else { EVENT });
        columns.fold(Line::default(), |line, column| line.word(column)).write(&mut out)?;
    }
    for run in &profile.runs {
        let start = start(path, run);
        if by_operator {
            for OperatorTime { name, inside, count, total, share, macs, .. } in &run.by_operator() {
                let line = start.clone().name(name).word(if *inside { "true" } else { "false" });
                line.number(*count).number(*total).number(*share).optional(*macs).write(&mut out)?;
            }
            continue;
        }
        for event in &run.events {
            let EventProfile {
                kind,
                name,
                chain,
                instruction,
                runs,
                count,
                total,
                median,
                mean,
                min,
                max,
                share,
                macs,
                ..
            } = event;
            let operator = runs.as_ref().map(ToString::to_string).unwrap_or_default();
            let line = start.clone().word(&format!("{kind:?}").to_lowercase()).optional(*chain).optional(*instruction);
            let line = line.name(name).name(&operator).number(*count).number(*total).number(*median).number(*mean);
            line.number(*min).number(*max).number(*share).optional(*macs).write(&mut out)?;
        }
    }
    Ok(out.flush()?)
}

fn start(path: &Path, run: &RunProfile<'_>) -> Line {
    let path = match path.as_os_str() == text::STANDARD {
        true => text::path(path),
        false => path.display().to_string(),
    };
    let line = Line::default().name(&path).name(run.name).name(run.method.unwrap_or_default());
    line.optional(run.test_case).number(run.count).number(run.total)
}
