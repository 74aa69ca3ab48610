//! `pte profile`: the times in an ETDump.

mod csv;

use crate::context::{Context, LINE_NAME, LONG_NAME, MaxRows, Out};
use crate::failure::{Failure, each};
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::modules;
use crate::names::{NameFiles, NamesArguments};
use crate::open::Input;
use crate::save::OutputArguments;
use crate::table::{Column, MAX_SHOWN, Table};
use crate::text;
use clap::ValueEnum;
use executorch_format::inspect::{
    EventKind, EventProfile, Mismatch, ModuleTotal, OperatorTime, Profile, ProfiledNode, RunChange, RunProfile,
    TimelineEvent, TimesBy,
};
use executorch_format::naming::NameSource;
use executorch_format::pictures::TimelineSvg;
use executorch_format::{Analysis, Etdp, Model, Pte};
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Show how long each instruction and delegate call took, from an ETDump: count, total, median, share
///
/// Runs with the same events are counted together. Indented events happened inside the instruction above them, and their time
/// is part of its time.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte profile trace.etdp --program model.pte --longest
  pte profile trace.etdp --program model.pte --by operator --top 10
  pte profile trace.etdp --program model.pte --names model.etrecord --by module
  pte profile new.etdp --before old.etdp --by operator
  pte profile new.etdp --program new.pte --before old.etdp --before-program old.pte --by module
  pte profile trace.etdp --program model.pte --warm-up 2
  pte profile trace.etdp --program model.pte --svg -o timeline.svg
  pte profile trace.etdp --program model.pte --timeline -o trace.json   (then open it in ui.perfetto.dev)
  pte profile trace.etdp --program model.pte --format csv > times.csv
  pte profile --json trace.etdp | jq '.files[].runs[].events[] | [.name, .total]'")]
#[command(mut_arg("files", |argument| argument.help(files::TRACES)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// The program that was run: adds the names of operators, backends and nodes
    #[arg(long, value_name = "FILE.pte")]
    program: Option<PathBuf>,
    /// The method that was run, needed if the trace fits several
    #[arg(long, requires = "program")]
    method: Option<String>,
    #[command(flatten)]
    names: NamesArguments,
    /// The length of one tick of the platform's clock, which the file does not state
    #[arg(long, value_enum, default_value_t = Tick::Ns)]
    tick: Tick,
    /// List each instruction with its events, or total times by operator
    #[arg(long, value_enum, default_value_t = By::Event)]
    by: By,
    /// Compare with this older trace: the times of one run, before and now
    #[arg(long, value_name = "OLD.etdp", conflicts_with_all = ["longest", "timeline", "svg"])]
    before: Option<PathBuf>,
    /// The program of the older trace [default: that of --program]
    #[arg(long, value_name = "OLD.pte", requires = "before")]
    before_program: Option<PathBuf>,
    /// Take the names in the older program from an ETRecord, or from its state dict as safetensors
    #[arg(long, value_name = "FILE", requires = "before_program")]
    before_names: Vec<PathBuf>,
    /// Leave out the first N runs of each group of similar runs, which warm up
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "timeline")]
    warm_up: usize,
    /// Print a table for spreadsheets, with times in ticks
    #[arg(long, value_enum, group = "form", value_name = "FORMAT", conflicts_with = "before")]
    format: Option<Format>,
    /// Print JSON that Perfetto, chrome://tracing and speedscope open: every event at its time
    #[arg(long, group = "form")]
    timeline: bool,
    /// Print a picture of every event at its time, as SVG
    #[arg(long, group = "form")]
    svg: bool,
    #[command(flatten)]
    output: OutputArguments,
    /// List the longest times first
    #[arg(long)]
    longest: bool,
    /// Maximum lines of each group of runs
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    #[command(flatten)]
    form: JsonArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Each instruction, and the events in it
    Event,
    /// The operator, the backend, and inside delegates the backend's names of its steps
    Operator,
    /// The modules of the model; needs --program
    Module,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values, as in RFC 4180
    Csv,
}

/// The times of a trace by operator, in ticks.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileTimes<'t> {
    file: String,
    runs: Vec<RunTimes<'t>>,
    errors: &'t [Mismatch],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct RunTimes<'t> {
    name: &'t str,
    test_case: Option<i32>,
    method: Option<&'t str>,
    count: usize,
    total: u64,
    operators: Vec<OperatorTime>,
    /// Ticks by module, if modules are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ModuleTotal<'t>>,
}

impl<'t> RunTimes<'t> {
    fn of(run: &RunProfile<'t>) -> Self {
        let RunProfile { name, test_case, method, count, total, .. } = *run;
        let modules = modules::known(run.by_module());
        Self { name, test_case, method, count, total, operators: run.by_operator(), modules }
    }
}

/// Two traces compared.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Comparison<'t> {
    files: [json::Named; 2],
    runs: &'t [RunChange<'t>],
}

/// The times of a trace, in ticks.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileProfile<'t> {
    file: String,
    #[serde(flatten)]
    profile: &'t Profile<'t>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Tick {
    /// A nanosecond: Linux, macOS, Windows
    Ns,
    /// A microsecond
    Us,
    /// A millisecond
    Ms,
    /// A cycle: times are shown as cycles
    Cycle,
}

/// Prints the profile of each trace, then, on standard error, the events that do not fit the program.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let program = arguments.program.as_deref().map(|path| Input::open(context, path)).transpose()?;
    let pte = program.as_ref().map(Input::program).transpose()?;
    if let (Some(name), Some(input), Some(pte)) = (&arguments.method, &program, &pte) {
        if pte.method(name).is_none() {
            return Err(Failure::no_method(input.path(), name, pte));
        }
    }
    arguments.output.only_with(arguments.timeline || arguments.svg, "--timeline or --svg")?;
    let analysis = pte.as_ref().map(Analysis::new);
    if let Some(before) = &arguments.before {
        let trace = arguments.files.single("--before")?;
        let old = arguments.before_program.as_deref().map(|path| Input::open(context, path)).transpose()?;
        let old_pte = old.as_ref().map(Input::program).transpose()?;
        let names = program.as_ref().map(|program| arguments.names.open(context, program.path())).transpose()?;
        let old_names = old.as_ref().map(|old| NameFiles::of(context, old.path(), &arguments.before_names));
        let old_names = old_names.transpose()?;
        let sources = names.as_ref().map(NameFiles::sources).transpose()?.unwrap_or_default();
        let old_sources = old_names.as_ref().map(NameFiles::sources).transpose()?.unwrap_or_default();
        let analysis = named(names.as_ref(), pte.as_ref(), &sources)?;
        let old_analysis = named(old_names.as_ref(), old_pte.as_ref(), &old_sources)?;
        return compare(
            context,
            [before, trace],
            [old_analysis.as_ref().or(analysis.as_ref()), analysis.as_ref()],
            arguments,
        );
    }
    if arguments.timeline || arguments.svg {
        let path = arguments.files.single("--timeline or --svg")?;
        let input = Input::open(context, path)?;
        let events = etdp(path, input.parse()?, TIMES)?.timeline(analysis.as_ref(), arguments.method.as_deref());
        if events.is_empty() {
            return Err(without_runs(path));
        }
        if arguments.svg {
            let (name, show) = (text::path(path).to_string(), |ticks| time(ticks, arguments.tick));
            let picture = TimelineSvg::new(&events, &name, &show);
            return arguments.output.write_with(context, |out| write!(out, "{picture}"));
        }
        let document = timeline(&events, arguments.tick);
        return arguments.output.write_with(context, |out| json::Form::INDENTED.write_line(out, &document));
    }
    match (&program, &pte) {
        (Some(program), Some(pte)) => {
            arguments.names.with(context, program.path(), pte, |analysis| profiles(context, arguments, Some(analysis)))
        }
        _ => profiles(context, arguments, None),
    }
}

/// Returns the analysis of a program with its names, if there is one.
fn named<'t>(
    files: Option<&NameFiles<'_>>,
    pte: Option<&'t Pte<'_>>,
    sources: &'t [NameSource<'_>],
) -> Result<Option<Analysis<'t>>, Failure> {
    files.zip(pte).map(|(files, pte)| files.analysis(pte, sources)).transpose()
}

/// Prints the profile of each trace, with a program and its names if they are given.
fn profiles(context: &Context, arguments: &Arguments, program: Option<&Analysis<'_>>) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, &arguments.form);
    let mut apart = false;
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(context, path)?;
        let etdp = match input.parse()? {
            Model::Etdp(etdp) => etdp,
            _ if arguments.files.recursive => return Ok(()),
            other => etdp(path, other, TIMES)?,
        };
        let mut profile = etdp.profile_after(arguments.warm_up, program, arguments.method.as_deref());
        check(path, &profile)?;
        warn(context, path, &profile);
        if arguments.by == By::Module && arguments.format.is_some() {
            return Err(Failure::Usage(
                "--format csv has events or operators: modules are a tree, see --json".to_owned(),
            ));
        }
        if arguments.by == By::Module {
            let modules: Vec<_> = profile.runs.iter().flat_map(RunProfile::by_module).collect();
            modules::check(path, &modules)?;
        }
        if arguments.longest {
            profile.sort_by_total();
        }
        match documents {
            Some(documents) if arguments.by != By::Event => {
                let runs = profile.runs.iter().map(RunTimes::of).collect();
                documents.add(&FileTimes { file: path.display().to_string(), runs, errors: &profile.errors })?
            }
            Some(documents) => documents.add(&FileProfile { file: path.display().to_string(), profile: &profile })?,
            None if arguments.format.is_some() => {
                csv::write(context, path, &profile, arguments.by == By::Operator, &mut apart)?
            }
            None => {
                let path = arguments.files.are_several().then_some(path);
                table(context, path, &profile, arguments, std::mem::replace(&mut apart, true))?
            }
        }
        Failure::unless_sound(path, &profile.errors)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

/// Fails if a trace has no run. Errors in it are reported after its content.
fn check(path: &Path, profile: &Profile<'_>) -> Result<(), Failure> {
    if profile.runs.is_empty() && profile.errors.is_empty() { Err(without_runs(path)) } else { Ok(()) }
}

/// Returns the failure for a trace without anything that was timed.
fn without_runs(path: &Path) -> Failure {
    let fault = "no run with an event that has a time: the runtime records runs while an ETDumpGen is attached (enable_etdump=True)";
    Failure::usage_of(path, &fault)
}

/// The inputs of a profile.
pub const TIMES: &str = "times";

/// Returns the trace in a file. `what` names what it is needed for.
pub fn etdp<'i>(path: &Path, model: Model<'i>, what: &str) -> Result<Etdp<'i>, Failure> {
    match model {
        Model::Etdp(etdp) => Ok(etdp),
        other => {
            let fault = format!("a {} file, which has no {what}: expected a .etdp", other.kind());
            Err(Failure::usage_of(path, &fault))
        }
    }
}

/// Says on standard error which runs are likely to be of another program.
fn warn(context: &Context, path: &Path, profile: &Profile<'_>) {
    for warning in &profile.warnings {
        context.say(format_args!("{}: warning: {}", text::path(path), text::message(&warning.to_string())));
    }
}

/// Prints the times of two traces side by side.
fn compare(
    context: &Context,
    [before, after]: [&Path; 2],
    [old_program, program]: [Option<&Analysis<'_>>; 2],
    arguments: &Arguments,
) -> Result<(), Failure> {
    let inputs = [Input::open(context, before)?, Input::open(context, after)?];
    let traces = [etdp(before, inputs[0].parse()?, TIMES)?, etdp(after, inputs[1].parse()?, TIMES)?];
    let profiles = [
        traces[0].profile_after(arguments.warm_up, old_program, arguments.method.as_deref()),
        traces[1].profile_after(arguments.warm_up, program, arguments.method.as_deref()),
    ];
    for (path, profile) in [before, after].into_iter().zip(&profiles) {
        check(path, profile)?;
        warn(context, path, profile);
        if arguments.by == By::Module {
            modules::check(path, &profile.runs.iter().flat_map(RunProfile::by_module).collect::<Vec<_>>())?;
        }
    }
    let by = match arguments.by {
        By::Event => TimesBy::Instruction,
        By::Operator => TimesBy::Operator,
        By::Module => TimesBy::Module,
    };
    let runs = profiles[0].compare(&profiles[1], by);
    if arguments.form.any() {
        let files = [before, after].map(json::Named::new);
        json::print(context, &Comparison { files, runs: &runs }, &arguments.form)?;
    } else {
        let mut out = context.out();
        for (index, run) in runs.iter().enumerate() {
            let case = run.test_case.map(|case| format!(", test case {case}")).unwrap_or_default();
            let [before, after] = [run.before, run.after]
                .map(|ticks| ticks.map_or_else(|| "-".to_owned(), |ticks| time(ticks, arguments.tick)));
            let space = if index > 0 { "\n" } else { "" };
            writeln!(
                out,
                "{space}{}{case}: {before} before, {after} after{}",
                context.name(run.name, LINE_NAME),
                percent(run.before, run.after)
            )?;
            let mut table = Table::new([
                ("INSTRUCTION", Column::Left),
                ("BEFORE", Column::Right),
                ("AFTER", Column::Right),
                ("CHANGE", Column::Right),
                ("WHAT", Column::Left),
            ]);
            table.rows(&run.changes, MaxRows::of(arguments.top), |change| {
                let place = change.chain.zip(change.instruction).map_or_else(|| "-".to_owned(), place);
                let [before, after] = [change.before, change.after]
                    .map(|ticks| ticks.map_or_else(|| "-".to_owned(), |ticks| time(ticks, arguments.tick)));
                // The largest change comes first, so a step need not follow its backend; its name includes the backend's.
                let what = match (arguments.by, &*change.name) {
                    (By::Module, "") => "(the model)".to_owned(),
                    (_, name) => context.name(name, LONG_NAME),
                };
                let percent = percent(change.before, change.after);
                [place, before, after, percent.trim_start_matches(", ").to_owned(), what]
            });
            table.write(&mut out)?;
        }
        out.flush()?;
    }
    Failure::unless_sound(before, &profiles[0].errors)?;
    Failure::unless_sound(after, &profiles[1].errors)
}

/// Formats the growth of a time: `, +12.5 %`.
fn percent(before: Option<f64>, after: Option<f64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before > 0.0 => format!(", {:+.1} %", (after / before - 1.0) * 100.0),
        _ => String::new(),
    }
}

/// Formats the index of an instruction, with its chain unless that is the first.
pub fn place((chain, instruction): (usize, usize)) -> String {
    if chain == 0 { instruction.to_string() } else { format!("{chain}:{instruction}") }
}

/// Converts events to the format of Chrome's tracing, which Perfetto and speedscope open too: in microseconds from the first event.
fn timeline(events: &[TimelineEvent], tick: Tick) -> serde_json::Value {
    let first = events.iter().map(|event| event.start).min().unwrap_or_default();
    // The length of a cycle is unknown: it is shown as a nanosecond.
    let unit = match tick {
        Tick::Ns | Tick::Cycle => 1e-3,
        Tick::Us => 1.0,
        Tick::Ms => 1e3,
    };
    let event = |event: &TimelineEvent| {
        json!({
            "name": text::message(&event.name),
            "cat": event.kind,
            "ph": "X",
            "ts": (event.start - first) as f64 * unit,
            "dur": event.ticks as f64 * unit,
            "pid": 1,
            "tid": 1,
            "args": {"run": event.run, "instruction": event.instruction},
        })
    };
    json!({"displayTimeUnit": "ns", "traceEvents": events.iter().map(event).collect::<Vec<_>>()})
}

fn table(
    context: &Context,
    path: Option<&Path>,
    profile: &Profile<'_>,
    arguments: &Arguments,
    apart: bool,
) -> Result<(), Failure> {
    let mut out = context.out();
    if let Some(path) = path {
        writeln!(out, "{}{}:", if apart { "\n" } else { "" }, text::path(path))?;
    }
    for (index, run) in profile.runs.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", title(context, run, arguments.tick))?;
        match arguments.by {
            By::Event => {}
            By::Operator => {
                operators(&mut out, run, arguments)?;
                continue;
            }
            By::Module => {
                let most = context.rows(arguments.top, MAX_SHOWN);
                let show = |ticks| time(ticks as f64, arguments.tick);
                modules::write(&mut out, &run.by_module(), "TOTAL", most, show)?;
                continue;
            }
        }
        let mut table = Table::new([
            ("INSTRUCTION", Column::Left),
            ("COUNT", Column::Detail),
            ("TOTAL", Column::Right),
            ("MEDIAN", Column::Detail),
            ("MAX", Column::Detail),
            ("SHARE", Column::Right),
            (if run.events.iter().any(|event| has_rate(event.macs)) { "MACS/S" } else { "" }, Column::Detail),
            ("WHAT", Column::Left),
        ]);
        table.rows(&run.events, MaxRows::of(arguments.top), |event| row(context, event, arguments.tick));
        table.write(&mut out)?;
        for (event, statistics) in run.events.iter().filter_map(|event| Some((event, event.statistics.as_ref()?))) {
            let name = context.name(event.name, LONG_NAME);
            writeln!(out, "{name}: {}", text::message(&statistics.to_string()))?;
        }
    }
    Ok(out.flush()?)
}

/// Prints times added up by operator.
fn operators(out: &mut Out<'_>, run: &RunProfile<'_>, arguments: &Arguments) -> io::Result<()> {
    let times = run.by_operator();
    let mut table = Table::new([
        ("COUNT", Column::Right),
        ("TOTAL", Column::Right),
        ("SHARE", Column::Right),
        (if times.iter().any(|time| has_rate(time.macs)) { "MACS/S" } else { "" }, Column::Detail),
        ("OPERATOR OR BACKEND", Column::Left),
    ]);
    table.rows(&times, MaxRows::of(arguments.top), |operator| {
        let OperatorTime { name, inside, count, total, share, macs, .. } = operator;
        let indent = if *inside { "  " } else { "" };
        let name = format!("{indent}{}", out.context.name(name, LONG_NAME));
        let (total, share) = (*total as f64, format!("{:.1} %", share * 100.0));
        let rate = rate(macs.map(|macs| macs as f64), total, arguments.tick);
        [count.to_string(), time(total, arguments.tick), share, rate, name]
    });
    table.write(out)
}

fn title(context: &Context, run: &RunProfile<'_>, tick: Tick) -> String {
    let method = run.method.map(|method| format!(" of method {}", context.name(method, LINE_NAME))).unwrap_or_default();
    let case = run.test_case.map(|case| format!(", test case {case}")).unwrap_or_default();
    let warm_up = if run.warm_up > 0 { format!(" after {} to warm up", run.warm_up) } else { String::new() };
    let (count, total) = (text::count(run.count, "time") + &warm_up, time(run.total as f64, tick));
    let shares = match run.in_delegates.saturating_add(run.in_other_instructions) {
        0 => String::new(),
        _ => {
            let share = |ticks| ticks as f64 / run.total.max(1) as f64 * 100.0;
            let [delegates, others] = [run.in_delegates, run.in_other_instructions].map(share);
            format!("; {delegates:.1} % in delegates, {others:.1} % in other instructions")
        }
    };
    format!("{}{method}{case}: {count}, {total}{shares}", context.name(run.name, LINE_NAME))
}

fn row(context: &Context, event: &EventProfile<'_>, tick: Tick) -> [String; 8] {
    let instruction = match (event.chain, event.instruction) {
        (_, _) if event.kind == EventKind::Method => "-".to_owned(),
        (Some(chain), Some(instruction)) => place((chain, instruction)),
        _ => "-".to_owned(),
    };
    let own = match (&event.shader, event.name, event.delegate_debug_id) {
        (Some(shader), ..) => format!("{} #{}", context.name(&shader.name, LONG_NAME), shader.dispatch),
        (None, "", Some(id)) => format!("event {id}"),
        (None, name, _) => context.name(name, LONG_NAME),
    };
    let module = event.module.filter(|module| !module.is_empty());
    let module = module.map(|module| format!("  {}", context.name(module, LONG_NAME))).unwrap_or_default();
    let what = match (event.kind, &event.runs) {
        (EventKind::Part | EventKind::Delegate, _) => {
            let operator = |node: &ProfiledNode| context.name(&node.operator, LONG_NAME);
            let node = event.node.as_ref().map(|node| format!(" = node {} {}", node.index, operator(node)));
            format!("  {own}{}{module}", node.unwrap_or_default())
        }
        (EventKind::Instruction, Some(target)) => format!("{}{module}", context.name(&target.to_string(), LONG_NAME)),
        _ => own,
    };
    let share = format!("{:.1} %", event.share * 100.0);
    let [total, median, max] = [event.total as f64, event.median, event.max as f64].map(|ticks| time(ticks, tick));
    let rate = rate(event.macs.map(|macs| macs as f64 * event.count as f64), event.total as f64, tick);
    [instruction, event.count.to_string(), total, median, max, share, rate, what]
}

/// Returns `true` if something has products to count.
fn has_rate(macs: Option<u64>) -> bool {
    macs.is_some_and(|macs| macs > 0)
}

/// Formats multiply-accumulates a second: `12.30 G`; for cycles, those of one: `0.51 per cycle`. Empty if there are none, or no time.
fn rate(macs: Option<f64>, ticks: f64, tick: Tick) -> String {
    let Some(macs) = macs.filter(|macs| *macs > 0.0 && ticks > 0.0) else { return String::new() };
    let ticks_per_second = match tick {
        Tick::Ns => 1e9,
        Tick::Us => 1e6,
        Tick::Ms => 1e3,
        Tick::Cycle => return format!("{:.2} per cycle", macs / ticks),
    };
    match macs / ticks * ticks_per_second {
        rate if rate < 999_995.0 => format!("{:.2} k", rate / 1e3),
        rate if rate < 999_995_000.0 => format!("{:.2} M", rate / 1e6),
        rate => format!("{:.2} G", rate / 1e9),
    }
}

/// Formats a time: `12.3 µs`, `1.50 ms`; `120 cycles`.
pub fn time(ticks: f64, tick: Tick) -> String {
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
    fn times_change_their_unit_before_a_fourth_digit() {
        assert_eq!(time(999.0, Tick::Ns), "999 ns");
        assert_eq!(time(999.5, Tick::Ns), "1.00 µs");
        assert_eq!(time(1500.0, Tick::Us), "1.50 ms");
        assert_eq!(time(2500.0, Tick::Ms), "2.50 s");
        assert_eq!(time(12.5, Tick::Cycle), "12.5 cycles");
        assert_eq!(rate(Some(5e3), 1e3, Tick::Ns), "5.00 G");
        assert_eq!(rate(Some(5e3), 1e3, Tick::Us), "5.00 M");
        assert_eq!(rate(Some(5e3), 1e3, Tick::Ms), "5.00 k");
        assert_eq!(rate(Some(500.0), 1e3, Tick::Cycle), "0.50 per cycle");
        assert_eq!(
            [rate(Some(0.0), 1.0, Tick::Ns), rate(None, 1.0, Tick::Ns), rate(Some(1.0), 0.0, Tick::Ns)],
            ["", "", ""]
        );
    }
}
