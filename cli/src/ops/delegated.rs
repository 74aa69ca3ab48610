//! `pte ops --delegated`: the share that delegates compute, and what is left.

use super::Arguments;
use super::macs::grouped;
use super::print::{NAME, tensor};
use crate::context::{Context, Out};
use crate::failure::Failure;
use crate::open::Input;
use crate::profile::{TIMES, etdp};
use crate::table::{Column, MAX_SHOWN, Table, percent};
use crate::{json, text};
use executorch_format::Analysis;
use executorch_format::inspect::{Delegation, Fault, LeftOperator, MethodDelegation, TakenOperator};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// The share of a file that delegates compute.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileDelegation<'t> {
    pub file: String,
    #[serde(flatten)]
    pub delegation: &'t Delegation<'t>,
    /// The times of a trace, if it was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<RunShare>,
    /// References that are out of range. Calls with such arguments are counted, without these arguments.
    pub errors: &'t [Fault],
}

/// The share of time that delegates took in runs of a method.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunShare {
    method: String,
    /// The number of runs.
    count: usize,
    /// The time in delegates, in ticks.
    in_delegates: u64,
    /// The time in other instructions, in ticks.
    in_other_instructions: u64,
}

/// Prints the share of a file that delegates compute; as text, after an empty line if `apart`.
pub fn file(
    context: &Context,
    arguments: &Arguments,
    path: &Path,
    analysis: &Analysis<'_>,
    errors: &[Fault],
    documents: Option<&mut json::Files>,
    apart: &mut bool,
) -> Result<(), Failure> {
    let delegation = &analysis.delegation();
    let times = times(context, arguments.trace.as_deref(), analysis)?;
    match documents {
        Some(documents) => {
            documents.add(&FileDelegation { file: path.display().to_string(), delegation, times, errors })
        }
        None => text(context, path, delegation, &times, std::mem::replace(apart, true)),
    }
}

/// Returns the shares of time in a trace of the program.
fn times(context: &Context, trace: Option<&Path>, program: &Analysis<'_>) -> Result<Vec<RunShare>, Failure> {
    let Some(path) = trace else { return Ok(Vec::new()) };
    let input = Input::open(context, path)?;
    let etdp = etdp(path, input.parse()?, TIMES)?;
    let profile = etdp.profile(Some(program), None);
    Failure::unless_sound(path, &profile.errors)?;
    let share = |run: &executorch_format::inspect::RunProfile<'_>| {
        Some(RunShare {
            method: run.method?.to_owned(),
            count: run.count,
            in_delegates: run.in_delegates,
            in_other_instructions: run.in_other_instructions,
        })
    };
    Ok(profile.runs.iter().filter_map(share).collect())
}

/// Prints the shares of each method, after an empty line if `apart`.
fn text(
    context: &Context,
    path: &Path,
    delegation: &Delegation<'_>,
    times: &[RunShare],
    apart: bool,
) -> Result<(), Failure> {
    let mut out = context.out();
    if apart {
        writeln!(out)?;
    }
    writeln!(out, "{}:", text::path(path))?;
    if delegation.methods.is_empty() {
        writeln!(out, "  no method calls a kernel or a delegate")?;
    }
    for method in &delegation.methods {
        print(&mut out, method)?;
        for run in times.iter().filter(|run| run.method == method.name) {
            let all = run.in_delegates.saturating_add(run.in_other_instructions);
            let share = if all == 0 { "no time was measured".to_owned() } else { percent(run.in_delegates, all) };
            writeln!(out, "  time   {share:>8}  of instructions, in {}", text::count(run.count, "run"))?;
        }
        left(&mut out, &method.left)?;
    }
    Ok(out.flush()?)
}

fn print(out: &mut Out, method: &MethodDelegation<'_>) -> Result<(), Failure> {
    let context = out.context;
    writeln!(out, "\nmethod {}, delegated:", context.name(method.name, NAME))?;
    let about = if method.is_complete { "" } else { ", calls of payloads that are not read count as one" };
    let all = method.delegated_calls.saturating_add(method.other_calls);
    let (delegated, other) = (method.delegated_calls, method.other_calls);
    writeln!(out, "  calls  {:>8}  {delegated} of {all} operators, {other} left{about}", percent(delegated, all))?;
    writeln!(out, "  MACs   {}", macs(method))?;
    for backend in &method.backends {
        let operators = match backend.operators {
            Some(count) => text::count(usize::try_from(count).unwrap_or(usize::MAX), "operator"),
            None => "operators not known".to_owned(),
        };
        let calls = text::count(usize::try_from(backend.calls).unwrap_or(usize::MAX), "call");
        writeln!(out, "  {}: {calls}, {operators}", context.name(backend.id, NAME))?;
    }
    Ok(())
}

/// Formats the share of multiply-accumulates: `  75.0 %  300 of 400`. What is not known is not counted as 0: the share is then a bound.
fn macs(method: &MethodDelegation<'_>) -> String {
    let (inside, other) = (method.delegated_macs.unwrap_or_default(), method.other_macs.unwrap_or_default());
    let all = inside.saturating_add(other);
    let unknown = |count: u64| text::count(usize::try_from(count).unwrap_or(usize::MAX), "operator");
    let (in_delegates, left) = (unknown(method.delegated_unknown), unknown(method.other_unknown));
    let (known, all_known) = (grouped(inside), grouped(all));
    match (method.delegated_unknown, method.other_unknown) {
        (0, 0) if all == 0 => format!("{:>8}  none", "-"),
        (0, 0) => format!("{:>8}  {known} of {all_known}", percent(inside, all)),
        (0, _) if method.delegated_calls == 0 => format!("{:>8}  none is delegated", percent(0, 1)),
        (0, _) if all == 0 => format!("not known: those of {left} left are not known"),
        (0, _) if inside == 0 => {
            format!("{:>8}  none of at least {all_known}: those of {left} left are not known", percent(0, 1))
        }
        (0, _) => {
            format!(
                "at most {}  {known} of at least {all_known}: those of {left} left are not known",
                percent(inside, all)
            )
        }
        (_, 0) if inside > 0 => format!(
            "at least {}  at least {known} of at least {all_known}: those of {in_delegates} in delegates are not known",
            percent(inside, all)
        ),
        (_, 0) => format!("not known in delegates; {} left", grouped(other)),
        _ => format!(
            "not known: at least {known} in delegates without {in_delegates}, at least {} left without {left}",
            grouped(other)
        ),
    }
}

fn left(out: &mut Out, left: &[LeftOperator]) -> Result<(), Failure> {
    if left.is_empty() {
        return Ok(());
    }
    let context = out.context;
    writeln!(out, "  left")?;
    let mut table = Table::new([
        ("CALLS", Column::Right),
        ("MACS", Column::Right),
        ("OPERATOR", Column::Name),
        ("FIRST", Column::Right),
        ("TENSORS", Column::Left),
    ]);
    let most = context.rows(None, MAX_SHOWN);
    for row in left.iter().take(most.count) {
        let tensors: Vec<String> = text::runs(&row.tensors)
            .map(|(item, count)| {
                let dynamic = if item.is_dynamic { " dynamic" } else { "" };
                let times = if count > 1 { format!("{count} × ") } else { String::new() };
                format!("{times}{}{dynamic}", tensor(&item.tensor))
            })
            .collect();
        let macs = row.macs.map_or_else(|| "not known".to_owned(), grouped);
        let name = context.name(&row.operator, NAME);
        table.row([row.calls.to_string(), macs, name, crate::profile::place(row.first), tensors.join(", ")]);
        for taken in &row.taken {
            table.row([String::new(), String::new(), String::new(), String::new(), took(context, taken)]);
        }
    }
    table.leave_out(left.len().saturating_sub(most.count), most, "");
    Ok(table.write(out)?)
}

/// Describes an operator that a backend took: `taken elsewhere: 3 × XNNAdd(f32 4-D, f32 4-D)`.
fn took(context: &Context, taken: &TakenOperator) -> String {
    let TakenOperator { operator, inputs, nodes, .. } = taken;
    let inputs = if inputs.is_empty() { String::new() } else { format!("({})", inputs.join(", ")) };
    format!("taken elsewhere: {nodes} × {}{inputs}", context.name(operator, NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_macs_that_are_not_known_is_a_bound() {
        let text = |inside: (Option<u64>, u64), other: (Option<u64>, u64)| {
            let mut method = MethodDelegation::default();
            (method.delegated_macs, method.delegated_unknown) = inside;
            (method.other_macs, method.other_unknown) = other;
            method.delegated_calls = 1;
            macs(&method)
        };
        assert_eq!(text((Some(300), 0), (Some(100), 0)), "  75.0 %  300 of 400");
        assert_eq!(text((Some(0), 0), (None, 0)), "       -  none");
        let left = text((Some(300), 0), (Some(100), 2));
        assert_eq!(left, "at most 75.0 %  300 of at least 400: those of 2 operators left are not known");
        let left = text((Some(300), 0), (None, 1));
        assert_eq!(left, "at most 100.0 %  300 of at least 300: those of 1 operator left are not known");
        assert_eq!(text((Some(0), 0), (None, 1)), "not known: those of 1 operator left are not known");
        let inside = text((Some(300), 1), (Some(100), 0));
        assert_eq!(
            inside,
            "at least 75.0 %  at least 300 of at least 400: those of 1 operator in delegates are not known"
        );
        assert_eq!(text((None, 1), (Some(100), 0)), "not known in delegates; 100 left");
        let both = text((Some(3), 1), (Some(100), 2));
        assert_eq!(
            both,
            "not known: at least 3 in delegates without 1 operator, at least 100 left without 2 operators"
        );
    }
}
