//! `pte profile`: how long things took, by an ETDump.

use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::table::{Column, Table};
use crate::text;
use clap::ValueEnum;
use executorch_format::Model;
use executorch_format::inspect::{EventKind, EventProfile, Profile, RunProfile};
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// How long each instruction and delegate call took, by an ETDump: count, total, median, share
///
/// Runs in which the same things happened are counted together. What is indented happened inside the instruction that is listed
/// with it, and its time is part of that one's.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte profile trace.etdp --program model.pte --longest
  pte profile --json trace.etdp | jq '.files[].runs[].events[] | [.name, .total]'")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// The program that was run: instructions get the names of what they run
    #[arg(long, value_name = "FILE.pte")]
    program: Option<PathBuf>,
    /// The method that was run, where the instructions of several fit
    #[arg(long, requires = "program")]
    method: Option<String>,
    /// What one tick of the platform's clock is; the file does not say
    #[arg(long, value_enum, default_value_t = Tick::Ns)]
    tick: Tick,
    /// List what took longest first
    #[arg(long)]
    longest: bool,
    /// Maximum lines of each group of runs
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    #[command(flatten)]
    form: JsonArguments,
}

/// The times of a trace, in ticks.
#[derive(Serialize)]
struct FileProfile<'t> {
    file: String,
    #[serde(flatten)]
    profile: &'t Profile<'t>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Tick {
    /// A nanosecond: Linux, macOS, Windows
    Ns,
    /// A microsecond
    Us,
    /// A millisecond
    Ms,
    /// A cycle: times are shown as cycles
    Cycle,
}

/// Prints the profile of each trace, then what does not fit on standard error.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let program = arguments.program.as_deref().map(Input::open).transpose()?;
    let pte = program.as_ref().map(Input::program).transpose()?;
    if let (Some(name), Some(input), Some(pte)) = (&arguments.method, &program, &pte) {
        if pte.method(name).is_none() {
            return Err(Failure::no_method(input.path(), name, pte));
        }
    }
    let mut documents = arguments.form.any().then(|| json::Files::start(&arguments.form));
    let mut apart = false;
    let outcome = each(&arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(path)?;
        let etdp = match input.parse()? {
            Model::Etdp(etdp) => etdp,
            _ if arguments.files.recursive => return Ok(()),
            other => {
                let fault = format!("a {} file, which has no times: expected a .etdp", other.kind());
                return Err(Failure::usage_of(path, &fault));
            }
        };
        let mut profile = etdp.profile(pte.as_ref(), arguments.method.as_deref());
        if arguments.longest {
            profile.sort_by_total();
        }
        match documents {
            Some(documents) => documents.add(&FileProfile { file: path.display().to_string(), profile: &profile })?,
            None => {
                let path = arguments.files.are_several().then_some(path);
                table(path, &profile, arguments, std::mem::replace(&mut apart, true))?
            }
        }
        Failure::unless_sound(path, &profile.mismatches)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

fn table(path: Option<&Path>, profile: &Profile<'_>, arguments: &Arguments, apart: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(anstream::stdout().lock());
    if let Some(path) = path {
        writeln!(out, "{}{}:", if apart { "\n" } else { "" }, text::path(path))?;
    }
    for (index, run) in profile.runs.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", title(run, arguments.tick))?;
        let mut table = Table::new([
            ("INSTRUCTION", Column::Left),
            ("COUNT", Column::Right),
            ("TOTAL", Column::Right),
            ("MEDIAN", Column::Right),
            ("MAX", Column::Right),
            ("SHARE", Column::Right),
            ("WHAT", Column::Left),
        ]);
        let most = arguments.top.unwrap_or(usize::MAX);
        for event in run.events.iter().take(most) {
            table.row(row(event, arguments.tick));
        }
        table.write(&mut out)?;
        if let Some(more @ 1..) = run.events.len().checked_sub(most) {
            writeln!(out, "  … {more} more")?;
        }
    }
    Ok(out.flush()?)
}

fn title(run: &RunProfile<'_>, tick: Tick) -> String {
    let method = run.method.map(|method| format!(" of method {}", text::name(method, 80))).unwrap_or_default();
    let case = run.test_case.map(|case| format!(", test case {case}")).unwrap_or_default();
    let (count, total) = (text::count(run.count, "time"), time(run.total as f64, tick));
    format!("{}{method}{case}: {count}, {total}", text::name(run.name, 80))
}

fn row(event: &EventProfile<'_>, tick: Tick) -> [String; 7] {
    let instruction = match (event.chain, event.instruction) {
        (_, _) if event.kind == EventKind::Method => "-".to_owned(),
        (Some(0), Some(instruction)) => instruction.to_string(),
        (Some(chain), Some(instruction)) => format!("{chain}:{instruction}"),
        _ => "-".to_owned(),
    };
    let own = match (event.name, event.delegate_debug_id) {
        ("", Some(id)) => format!("event {id}"),
        (name, _) => text::name(name, 60),
    };
    let what = match (event.kind, &event.runs) {
        (EventKind::Part | EventKind::Delegate, _) => format!("  {own}"),
        (EventKind::Instruction, Some(target)) => text::name(&target.to_string(), 60),
        _ => own,
    };
    let share = format!("{:.1} %", event.share * 100.0);
    let [total, median, max] = [event.total as f64, event.median, event.max as f64].map(|ticks| time(ticks, tick));
    [instruction, event.count.to_string(), total, median, max, share, what]
}

/// `12.3 µs`, `1.50 ms`; `120 cycles`.
fn time(ticks: f64, tick: Tick) -> String {
    let nanoseconds = match tick {
        Tick::Ns => ticks,
        Tick::Us => ticks * 1e3,
        Tick::Ms => ticks * 1e6,
        Tick::Cycle => return format!("{ticks} cycles"),
    };
    match nanoseconds {
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999_995.0 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 999_995_000.0 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_their_unit_where_the_number_would_grow_a_fourth_digit() {
        assert_eq!(time(999.0, Tick::Ns), "999 ns");
        assert_eq!(time(999.5, Tick::Ns), "1.00 µs");
        assert_eq!(time(1500.0, Tick::Us), "1.50 ms");
        assert_eq!(time(2500.0, Tick::Ms), "2.50 s");
        assert_eq!(time(12.5, Tick::Cycle), "12.5 cycles");
    }
}
