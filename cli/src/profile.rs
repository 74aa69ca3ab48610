//! `pte profile`: how long things took, by an ETDump.

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use crate::text;
use clap::ValueEnum;
use executorch_format::inspect::{EventKind, EventProfile, Profile, RunProfile};
use executorch_format::{Etdp, Pte};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// How long each instruction and delegate call took, by an ETDump: count, total, median, share
///
/// Runs in which the same things happened are counted together. What is indented happened inside the instruction that is listed
/// with it, and its time is part of that one's.
#[derive(clap::Args)]
pub struct Arguments {
    /// A .etdp file
    trace: PathBuf,
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
    /// Print JSON; times are in ticks
    #[arg(long)]
    json: bool,
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

/// Prints the profile, then what does not fit on standard error.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.trace)?;
    let etdp = Etdp::parse(input.bytes()).map_err(|error| Failure::bad(input.path(), &error))?;
    let program = arguments.program.as_deref().map(Input::open).transpose()?;
    let pte =
        program.as_ref().map(|input| Pte::parse(input.bytes()).map_err(|error| Failure::bad(input.path(), &error)));
    let pte = pte.transpose()?;
    let mut profile = etdp.profile(pte.as_ref(), arguments.method.as_deref());
    if arguments.longest {
        profile.sort_by_total();
    }
    if arguments.json {
        json::print(&profile)?;
    } else {
        table(&profile, arguments.tick)?;
    }
    Failure::unless_sound(input.path(), &profile.mismatches)
}

const HEAD: [&str; 7] = ["INSTRUCTION", "WHAT", "COUNT", "TOTAL", "MEDIAN", "MAX", "SHARE"];

fn table(profile: &Profile<'_>, tick: Tick) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, run) in profile.runs.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", title(run, tick))?;
        let rows: Vec<[String; 7]> = run.events.iter().map(|event| row(event, tick)).collect();
        let head = HEAD.map(str::to_owned);
        let width = |column: usize| text::column(rows.iter().chain([&head]).filter_map(|row| row.get(column)));
        let widths = [0, 1, 2, 3, 4, 5, 6].map(width);
        for row in std::iter::once(&head).chain(&rows) {
            // Texts, then numbers.
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                let cell = if column < 2 { text::left(cell, width) } else { text::right(cell, width) };
                write!(out, "  {cell}")?;
            }
            writeln!(out)?;
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
    [instruction, what, event.count.to_string(), total, median, max, share]
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
