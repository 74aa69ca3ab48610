//! How long things took, by an ETDump: each event of runs that are alike, with what the program says that it ran.

use super::Blobs;
use super::linked::{self, ProfiledNode};
use super::summary::{Content, Summary};
use crate::file::etdp::Etdp;
use crate::file::header::FileKind;
use crate::file::pte::Pte;
use crate::keyed::{Keyed, sort, sort_by};
use crate::names::shortened;
use crate::path::{FieldPath, Path};
use crate::schema::etdump::{Event, ProfileEvent, RunData};
use crate::schema::program::{ExecutionPlan, InstructionArguments};
use alloc::{format, string::String, vec::Vec};
use core::cmp::Reverse;
use core::fmt;

/// What is in a `.etdp` file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TraceSummary<'t> {
    /// The blocks of events, in order.
    pub runs: Vec<TraceRun<'t>>,
}

/// A block of events: the loading of a method, or a run of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TraceRun<'t> {
    /// Its name: `Default` or `Execute`.
    pub name: &'t str,
    /// The test case that was loaded before; `None` for none.
    pub test_case: Option<i32>,
    /// How many events are times.
    pub profile_events: usize,
    /// How many events are allocations.
    pub allocation_events: usize,
    /// How many events are values.
    pub debug_events: usize,
    /// From the first start to the last end, in ticks of the platform's clock.
    pub ticks: u64,
}

/// How long everything took in the runs of an ETDump.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Profile<'t> {
    /// Runs that are alike, together: those with the same name and test case in which the same things happened.
    pub runs: Vec<RunProfile<'t>>,
    /// What contradicts itself or the program.
    #[cfg_attr(feature = "serde", serde(rename = "errors"))]
    pub mismatches: Vec<Mismatch>,
}

impl Profile<'_> {
    /// Puts the instructions of each group of runs into the order of their total times, the longest first.
    pub fn sort_by_total(&mut self) {
        for run in &mut self.runs {
            let mut totals = Keyed::<_, u64>::new();
            for event in &run.events {
                let total = totals.entry(event.place());
                *total = event.total.max(*total);
            }
            // A stable sort: what is of one instruction stays together, and in its order.
            let key = |event: &EventProfile<'_>| {
                let total = totals.get(&event.place()).copied().unwrap_or_default();
                (event.kind != EventKind::Method, Reverse(total), event.place())
            };
            sort_by(&mut run.events, &|one, other| key(one).cmp(&key(other)));
        }
    }
}

/// Runs that are alike.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RunProfile<'t> {
    /// Their name: `Default` for the loading of a method, `Execute` for a run of it.
    pub name: &'t str,
    /// The test case that was loaded before; `None` for none.
    pub test_case: Option<i32>,
    /// The method that they ran, as far as the program says.
    pub method: Option<&'t str>,
    /// How many runs.
    pub count: usize,
    /// From first start to last end in each run, in all runs together, in ticks.
    pub total: u64,
    /// What happened: whole methods, then each instruction with its parts after it, in the order in which they were run first.
    pub events: Vec<EventProfile<'t>>,
}

/// One thing that happened, as often as it did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EventProfile<'t> {
    /// What was timed.
    pub kind: EventKind,
    /// Its name: the runtime's, or a delegate's own.
    pub name: &'t str,
    /// A delegate's own number for it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub delegate_debug_id: Option<i32>,
    /// The chain of its instruction.
    pub chain: Option<usize>,
    /// Index of its instruction in the chain.
    pub instruction: Option<usize>,
    /// What the program says that its instruction runs.
    pub runs: Option<EventTarget<'t>>,
    /// The node of an XNNPACK graph that it is the time of: where as many events as nodes are of its kind, by their order.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub node: Option<ProfiledNode>,
    /// How often it happened.
    pub count: usize,
    /// All times together, in ticks.
    pub total: u64,
    /// The shortest time.
    pub min: u64,
    /// The middle one of the times, or between the two middle ones.
    pub median: f64,
    /// The average time.
    pub mean: f64,
    /// The longest time.
    pub max: u64,
    /// Which part of the runs' time it took: 1 is all of it. What happens inside something else counts there too.
    pub share: f64,
}

impl EventProfile<'_> {
    /// Where its instruction is: the chain and the index there.
    fn place(&self) -> (Option<usize>, Option<usize>) {
        (self.chain, self.instruction)
    }
}

/// Something that was timed once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TimelineEvent {
    /// What ran.
    pub name: String,
    /// What was timed.
    pub kind: EventKind,
    /// The index of its run, in the file's order.
    pub run: usize,
    /// Index of its instruction in its chain.
    pub instruction: Option<usize>,
    /// When it started, in ticks.
    pub start: u64,
    /// How long it took, in ticks.
    pub ticks: u64,
}

/// What an event times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum EventKind {
    /// A whole method: loading it or running it.
    Method,
    /// One instruction.
    Instruction,
    /// A part of an instruction: its kernel without what is around it.
    Part,
    /// A part of a delegate's call, as the delegate names it.
    Delegate,
}

/// What an instruction runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
pub enum EventTarget<'t> {
    /// A kernel.
    Kernel {
        /// Name and overload, such as `aten::add.out`.
        operator: String,
    },
    /// A delegate.
    Delegate {
        /// The backend's name.
        backend: &'t str,
        /// Index into the method's delegates.
        delegate: i32,
    },
    /// Anything else.
    Other {
        /// The schema's name of the instruction.
        instruction_kind: &'static str,
    },
}

impl fmt::Display for EventTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel { operator } => f.write_str(operator),
            Self::Delegate { backend, delegate } => write!(f, "{backend} (delegate {delegate})"),
            Self::Other { instruction_kind } => f.write_str(instruction_kind),
        }
    }
}

/// Something that does not fit. Serialized as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The field of the ETDump.
    pub path: FieldPath,
    /// What was found, and what was expected.
    pub message: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Mismatch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Etdp<'_> {
    /// What is in the file, in short.
    pub fn summary(&self) -> Summary<'_> {
        Summary {
            kind: FileKind::Etdp,
            identifier: FileKind::Etdp.identifier(),
            header: None,
            content: Content::Trace(TraceSummary { runs: self.etdump.run_data().iter().map(TraceRun::of).collect() }),
            faults: Vec::new(),
        }
    }

    /// The blobs of the file: a trace has none.
    pub fn blobs(&self) -> Blobs<'_> {
        Blobs::default()
    }

    /// How long everything took. With the `program` that was run, instructions have the names of what they run; an ETDump does
    /// not say which method a run was of, so it is the one whose instructions fit: `method`, where several do.
    ///
    /// Times are in ticks of the platform's clock: nanoseconds where the clock is that of Linux, macOS or Windows.
    pub fn profile<'t>(&'t self, program: Option<&'t Pte<'_>>, method: Option<&str>) -> Profile<'t> {
        let mut mismatches = Vec::new();
        let mut groups: Vec<Group<'t>> = Vec::new();
        let mut known = Keyed::new();
        for (index, run) in self.etdump.run_data().iter().enumerate() {
            let found = Times::of(run, index, &mut mismatches);
            let key = (run.name(), run.bundled_input_index, found.keys);
            match known.get(&key).and_then(|group: &usize| groups.get_mut(*group)) {
                Some(group) => group.add(run, found.ticks),
                None => {
                    known.insert(key.clone(), groups.len());
                    groups.push(Group {
                        first: index,
                        run,
                        keys: key.2,
                        count: 1,
                        total: run.ticks(),
                        ticks: found.ticks,
                    });
                }
            }
        }
        let profile = |group: Group<'t>| {
            let plan = program.and_then(|pte| plan_of(pte, method, &group, &mut mismatches));
            group.profile(plan)
        };
        let mut runs: Vec<RunProfile<'_>> = groups.into_iter().map(profile).collect();
        if let Some(pte) = program {
            linked::link(pte, &mut runs);
        }
        Profile { runs, mismatches }
    }

    /// Everything that was timed, each time by itself, in the file's order, with names as in [`profile`](Self::profile). What is inside a delegate is laid
    /// end to end from the start of its call by the runtime: its times are durations.
    pub fn timeline<'t>(&'t self, program: Option<&'t Pte<'_>>, method: Option<&str>) -> Vec<TimelineEvent> {
        let mut all = Vec::new();
        for (index, run) in self.etdump.run_data().iter().enumerate() {
            // What does not fit, the profile tells.
            let mut mismatches = Vec::new();
            let keys = Times::of(run, index, &mut mismatches).keys;
            let group = Group { first: index, run, keys, count: 1, total: 0, ticks: Vec::new() };
            let plan = program.and_then(|pte| plan_of(pte, method, &group, &mut mismatches));
            for (_, event) in run.profile_events() {
                let key = Key::of(event);
                let place = key.place();
                let target = plan.and_then(|plan| target(plan, instruction(plan, place?)?));
                let own = key.delegate_id.or(key.name).unwrap_or_default();
                let name = match (key.kind(), target) {
                    (EventKind::Instruction, Some(target)) => format!("{target}"),
                    (EventKind::Delegate, _) if own.is_empty() => format!("event {}", key.delegate_number),
                    _ => String::from(shortened(own)),
                };
                let ticks = event.end_time.saturating_sub(event.start_time);
                let instruction = place.map(|(_, instruction)| instruction);
                all.push(TimelineEvent {
                    name,
                    kind: key.kind(),
                    run: index,
                    instruction,
                    start: event.start_time,
                    ticks,
                });
            }
        }
        all
    }
}

impl<'t> TraceRun<'t> {
    fn of(run: &'t RunData<'_>) -> Self {
        let count = |is: fn(&Event<'_>) -> bool| run.events().iter().filter(|event| is(event)).count();
        Self {
            name: run.name(),
            test_case: run.test_case(),
            profile_events: count(|event| event.profile_event.is_some()),
            allocation_events: count(|event| event.allocation_event.is_some()),
            debug_events: count(|event| event.debug_event.is_some()),
            ticks: run.ticks(),
        }
    }
}

impl RunData<'_> {
    fn test_case(&self) -> Option<i32> {
        Some(self.bundled_input_index).filter(|index| *index >= 0)
    }

    fn profile_events(&self) -> impl Iterator<Item = (usize, &ProfileEvent<'_>)> {
        let events = self.events().iter().enumerate();
        events.filter_map(|(index, event)| Some((index, event.profile_event.as_ref()?)))
    }

    /// From the first start to the last end.
    fn ticks(&self) -> u64 {
        let start = self.profile_events().map(|(_, event)| event.start_time).min();
        let end = self.profile_events().map(|(_, event)| event.end_time).max();
        end.zip(start).map_or(0, |(end, start)| end.saturating_sub(start))
    }
}

/// What makes two events the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'t> {
    chain: i32,
    instruction: i32,
    name: Option<&'t str>,
    delegate_id: Option<&'t str>,
    delegate_number: i32,
}

impl<'t> Key<'t> {
    fn of(event: &'t ProfileEvent<'_>) -> Self {
        Self {
            chain: event.chain_index,
            instruction: event.instruction_id,
            name: event.name.as_deref(),
            delegate_id: event.delegate_debug_id_str.as_deref(),
            delegate_number: event.delegate_debug_id_int,
        }
    }

    fn kind(&self) -> EventKind {
        match self.name {
            _ if self.delegate_id.is_some() || self.delegate_number != -1 => EventKind::Delegate,
            _ if self.chain < 0 => EventKind::Method,
            Some(name) if CALLS.iter().any(|(call, _)| *call == name) => EventKind::Instruction,
            _ => EventKind::Part,
        }
    }

    /// The chain and the index in it, of an instruction and its parts.
    fn place(&self) -> Option<(usize, usize)> {
        usize::try_from(self.chain).ok().zip(usize::try_from(self.instruction).ok())
    }
}

/// The runtime's name of an event for each kind of instruction, by the schema's name.
const CALLS: [(&str, &str); 5] = [
    ("OPERATOR_CALL", "KernelCall"),
    ("DELEGATE_CALL", "DelegateCall"),
    ("MOVE_CALL", "MoveCall"),
    ("JF_CALL", "JumpFalseCall"),
    ("FREE_CALL", "FreeCall"),
];

/// What comes before the kernel's name in the event of a kernel.
pub(super) const KERNEL: &str = "native_call_";

/// The events of one run: each thing that happened once, and all its times.
struct Times<'t> {
    keys: Vec<Key<'t>>,
    ticks: Vec<Vec<u64>>,
}

impl<'t> Times<'t> {
    fn of(run: &'t RunData<'_>, index: usize, mismatches: &mut Vec<Mismatch>) -> Self {
        let (mut times, mut known) = (Self { keys: Vec::new(), ticks: Vec::new() }, Keyed::new());
        for (event, profile) in run.profile_events() {
            let Some(ticks) = profile.end_time.checked_sub(profile.start_time) else {
                let message = format!(
                    "it ends at {}, expected an end at {} or later, when it starts",
                    profile.end_time, profile.start_time
                );
                mismatches.push(Mismatch { path: event_path(index, event), message });
                continue;
            };
            let key = Key::of(profile);
            let next = times.keys.len();
            let place = *known.or_insert(key, next);
            if place == next {
                times.keys.push(key);
                times.ticks.push(Vec::new());
            }
            if let Some(all) = times.ticks.get_mut(place) {
                all.push(ticks);
            }
        }
        times
    }
}

fn event_path(run: usize, event: usize) -> FieldPath {
    Path::ROOT.item("run_data", run).item("events", event).field("profile_event").to_field_path()
}

/// Runs that are alike.
struct Group<'t> {
    /// The index of the first of them.
    first: usize,
    /// The first of them.
    run: &'t RunData<'t>,
    keys: Vec<Key<'t>>,
    count: usize,
    total: u64,
    ticks: Vec<Vec<u64>>,
}

impl<'t> Group<'t> {
    fn add(&mut self, run: &RunData<'_>, ticks: Vec<Vec<u64>>) {
        self.count += 1;
        self.total = self.total.saturating_add(run.ticks());
        self.ticks.iter_mut().zip(ticks).for_each(|(all, more)| all.extend(more));
    }

    fn profile(self, plan: Option<&'t ExecutionPlan<'_>>) -> RunProfile<'t> {
        let total = self.total;
        let events = self.keys.into_iter().zip(self.ticks).map(|(key, ticks)| event(key, ticks, total, plan));
        let mut events: Vec<_> = events.collect();
        let mut first = Keyed::new();
        for (index, event) in events.iter().enumerate() {
            first.or_insert(event.place(), index);
        }
        // In the file an event comes where it ended, after its parts.
        let key = |event: &EventProfile<'_>| {
            let is_part = matches!(event.kind, EventKind::Part | EventKind::Delegate);
            (event.kind != EventKind::Method, first.get(&event.place()).copied(), is_part)
        };
        sort_by(&mut events, &|one, other| key(one).cmp(&key(other)));
        RunProfile {
            name: self.run.name(),
            test_case: self.run.test_case(),
            method: plan.map(|plan| plan.name()),
            count: self.count,
            total,
            events,
        }
    }
}

fn event<'t>(key: Key<'t>, mut ticks: Vec<u64>, all: u64, plan: Option<&'t ExecutionPlan<'_>>) -> EventProfile<'t> {
    sort(&mut ticks);
    let count = ticks.len();
    let total = ticks.iter().copied().fold(0, u64::saturating_add);
    let at = |index: usize| ticks.get(index).copied().unwrap_or_default();
    let middle = [at(count.saturating_sub(1) / 2), at(count / 2)].map(|time| time as f64);
    let place = key.place();
    EventProfile {
        kind: key.kind(),
        name: key.delegate_id.or(key.name).unwrap_or_default(),
        delegate_debug_id: Some(key.delegate_number).filter(|number| *number != -1),
        chain: place.map(|(chain, _)| chain),
        instruction: place.map(|(_, instruction)| instruction),
        runs: plan.and_then(|plan| target(plan, instruction(plan, place?)?)),
        node: None,
        count,
        total,
        min: at(0),
        median: middle.iter().sum::<f64>() / 2.0,
        mean: total as f64 / count.max(1) as f64,
        max: at(count.saturating_sub(1)),
        share: if all > 0 { total as f64 / all as f64 } else { 0.0 },
    }
}

fn instruction<'t, 'a>(
    plan: &'t ExecutionPlan<'a>,
    (chain, index): (usize, usize),
) -> Option<&'t InstructionArguments<'a>> {
    Some(&plan.chains().get(chain)?.instructions().get(index)?.instr_args)
}

fn target<'t>(plan: &'t ExecutionPlan<'_>, instruction: &InstructionArguments<'_>) -> Option<EventTarget<'t>> {
    Some(match instruction {
        InstructionArguments::KernelCall(call) => EventTarget::Kernel { operator: plan.operator(call)?.full_name() },
        InstructionArguments::DelegateCall(call) => {
            let delegate = plan.delegates().get(usize::try_from(call.delegate_index).ok()?)?;
            EventTarget::Delegate { backend: delegate.id(), delegate: call.delegate_index }
        }
        other => EventTarget::Other { instruction_kind: other.name()? },
    })
}

/// The method that a group of runs is of: the one asked for where it fits, or the only one that does. Says where none fits.
fn plan_of<'t, 'a>(
    pte: &'t Pte<'a>,
    method: Option<&str>,
    group: &Group<'_>,
    mismatches: &mut Vec<Mismatch>,
) -> Option<&'t ExecutionPlan<'a>> {
    // Loading a method runs no instruction.
    if group.keys.iter().all(|key| key.place().is_none()) {
        return None;
    }
    let mut say = |message| {
        let path = Path::ROOT.item("run_data", group.first).to_field_path();
        mismatches.push(Mismatch { path, message });
    };
    let named = method.map(|name| pte.method(name));
    if let (Some(name), Some(None)) = (method, named) {
        say(format!("the program has no method {name:?}"));
        return None;
    }
    let named = named.flatten();
    let fits = |plan: &&ExecutionPlan<'_>| group.keys.iter().all(|key| misfit(key, plan).is_none());
    if let Some(plan) = named.filter(fits) {
        return Some(plan);
    }
    let mut fitting = pte.methods().iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(plan), None) => Some(plan),
        (Some(one), Some(other)) => {
            say(format!("it fits the methods {:?} and {:?} alike: say which it was", one.name(), other.name()));
            None
        }
        (None, _) => {
            let Some(plan) = named.or(pte.methods().first().filter(|_| pte.methods().len() == 1)) else {
                say("it fits none of the program's methods".into());
                return None;
            };
            group.keys.iter().filter_map(|key| misfit(key, plan)).for_each(say);
            Some(plan)
        }
    }
}

/// Why an event cannot be of that method.
fn misfit(key: &Key<'_>, plan: &ExecutionPlan<'_>) -> Option<String> {
    let place = key.place()?;
    let Some(found) = instruction(plan, place) else {
        let (chain, index) = place;
        return Some(format!("instruction {index} of chain {chain}, which method {:?} does not have", plan.name()));
    };
    let found_name = found.name().unwrap_or("unknown");
    let name = key.name.unwrap_or_default();
    let expected = match key.kind() {
        EventKind::Delegate => "DelegateCall",
        EventKind::Instruction => CALLS.iter().find(|(call, _)| *call == name).map_or("", |(_, kind)| kind),
        EventKind::Part if name.starts_with(KERNEL) => "KernelCall",
        EventKind::Part | EventKind::Method => return None,
    };
    let (_, index) = place;
    if found_name != expected {
        let event = key.delegate_id.unwrap_or(name);
        return Some(format!("{event:?} at instruction {index}, which is a {found_name}, expected a {expected}"));
    }
    let Some((called, InstructionArguments::KernelCall(call))) = name.strip_prefix(KERNEL).zip(Some(found)) else {
        return None;
    };
    let operator = plan.operator(call).map(|operator| operator.full_name()).unwrap_or_default();
    // The runtime leaves out the namespace.
    let short = operator.split_once("::").map_or(&*operator, |(_, name)| name);
    (short != called).then(|| format!("{name:?} at instruction {index}, which runs {operator:?}"))
}
