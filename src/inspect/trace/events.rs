//! Groups the events of an ETDump that time the same thing, and matches them with the program.

use super::linked::{DelegateNodes, KindCounts, count_kinds, kind_of_event};
use super::profile::{EventKind, EventTarget, Mismatch};
use crate::analysis::Analysis;
use crate::file::pte::Pte;
use crate::names::shortened;
use crate::path::{FieldPath, Path};
use crate::schema::etdump::{DebugEvent, ProfileEvent, RunData};
use crate::schema::program::{ExecutionPlan, InstructionArguments, Operator};
use crate::sorted::equal_range;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};

/// Events with equal keys time the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<'t> {
    chain: i32,
    instruction: i32,
    pub(super) name: Option<&'t str>,
    pub(super) delegate_id: Option<&'t str>,
    pub(super) delegate_number: i32,
}

impl<'t> Key<'t> {
    pub(super) fn of(event: &'t ProfileEvent<'_>) -> Self {
        Self {
            chain: event.chain_index,
            instruction: event.instruction_id,
            name: event.name.as_deref(),
            delegate_id: event.delegate_debug_id_str.as_deref(),
            delegate_number: event.delegate_debug_id_int,
        }
    }

    /// Returns the key of a recorded value.
    pub(super) fn of_value(event: &'t DebugEvent<'_>) -> Self {
        Self {
            // The same type as above in the writer, but not in the schema.
            chain: i32::try_from(event.chain_index).unwrap_or(-1),
            instruction: event.instruction_id,
            name: event.name.as_deref(),
            delegate_id: event.delegate_debug_id_str.as_deref(),
            delegate_number: event.delegate_debug_id_int,
        }
    }

    pub(super) fn kind(&self) -> EventKind {
        match self.name {
            _ if self.delegate_id.is_some() || self.delegate_number != -1 => EventKind::Delegate,
            _ if self.chain < 0 => EventKind::Method,
            Some(name) if CALLS.iter().any(|(call, _)| *call == name) => EventKind::Instruction,
            _ => EventKind::Part,
        }
    }

    /// Returns the chain and index of the instruction that the event belongs to.
    pub(super) fn place(&self) -> Option<(usize, usize)> {
        usize::try_from(self.chain).ok().zip(usize::try_from(self.instruction).ok())
    }
}

/// The runtime's event name and the schema's name for each kind of instruction.
const CALLS: [(&str, &str); 5] = [
    ("OPERATOR_CALL", "KernelCall"),
    (DELEGATE_CALL, "DelegateCall"),
    ("MOVE_CALL", "MoveCall"),
    ("JF_CALL", "JumpFalseCall"),
    ("FREE_CALL", "FreeCall"),
];

/// The runtime's name of the call of a delegate.
pub(super) const DELEGATE_CALL: &str = "DELEGATE_CALL";

/// The prefix of the kernel's name in the event of a kernel.
pub(super) const KERNEL: &str = "native_call_";

/// The events of one run: each key once, with all its times.
pub(super) struct Times<'t> {
    pub(super) keys: Vec<Key<'t>>,
    pub(super) ticks: Vec<Vec<u64>>,
    /// The metadata of the first event of each key, if it is text.
    pub(super) metadata: Vec<Option<&'t str>>,
}

impl<'t> Times<'t> {
    #[expect(clippy::indexing_slicing, reason = "`known` has the indices of `keys` and `ticks`")]
    pub(super) fn of(run: &'t RunData<'_>, index: usize, mismatches: &mut Vec<Mismatch>) -> Self {
        let empty = Self { keys: Vec::new(), ticks: Vec::new(), metadata: Vec::new() };
        let (mut times, mut known) = (empty, BTreeMap::new());
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
            let place = *known.entry(key).or_insert(next);
            if place == next {
                times.keys.push(key);
                times.ticks.push(Vec::new());
                let metadata = profile.delegate_debug_metadata.as_deref().filter(|bytes| !bytes.is_empty());
                // C++ writes the text with or without the 0 at its end.
                let text =
                    metadata.and_then(|bytes| core::str::from_utf8(bytes.strip_suffix(&[0]).unwrap_or(bytes)).ok());
                times.metadata.push(text);
            }
            times.ticks[place].push(ticks);
        }
        times
    }
}

fn event_path(run: usize, event: usize) -> FieldPath {
    Path::ROOT.item("run_data", run).item("events", event).field("profile_event").to_field_path()
}

pub(super) fn instruction<'t>(
    plan: &'t ExecutionPlan<'t>,
    (chain, index): (usize, usize),
) -> Option<&'t InstructionArguments<'t>> {
    Some(&plan.chains().get(chain)?.instructions().get(index)?.instr_args)
}

/// Formats an operator's full name. Shortened, because many events can be of one operator.
fn shown(operator: &Operator<'_>) -> String {
    let (name, overload) = (shortened(operator.name()), shortened(operator.overload()));
    let dot = if overload.is_empty() { "" } else { "." };
    format!("{name}{dot}{overload}")
}

pub(super) fn target<'t>(
    plan: &'t ExecutionPlan<'_>,
    instruction: &InstructionArguments<'_>,
) -> Option<EventTarget<'t>> {
    Some(match instruction {
        InstructionArguments::KernelCall(call) => EventTarget::Kernel { operator: shown(plan.operator(call)?) },
        InstructionArguments::DelegateCall(call) => {
            EventTarget::Delegate { backend: plan.delegate(call)?.id(), delegate: call.delegate_index }
        }
        other => EventTarget::Other { instruction_kind: other.name()? },
    })
}

/// The requirement of an event on a method's instruction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Needed {
    /// An instruction of any kind.
    Any,
    /// This kind of instruction, by the schema's name.
    Kind(&'static str),
    /// A call of this operator, given by the number of its name without the namespace.
    Operator(usize),
}

/// The methods of a program, by their instructions.
pub(super) struct Methods<'t> {
    pte: &'t Pte<'t>,
    by_name: BTreeMap<&'t str, &'t ExecutionPlan<'t>>,
    /// The names of operators without the namespace, with the overload, in the runtime's form.
    names: BTreeMap<String, usize>,
    /// The chain, the instruction, a requirement that it meets, and the index of the method. Sorted.
    places: Vec<(usize, usize, Needed, usize)>,
    /// The nodes inside delegates.
    pub(super) nodes: DelegateNodes<'t>,
}

/// The methods that fit a run best.
#[derive(Default)]
struct Fitting<'t> {
    /// Up to two of them.
    plans: [Option<&'t ExecutionPlan<'t>>; 2],
    /// `true` if the requested method is one of them.
    named: bool,
}

impl<'t> Methods<'t> {
    pub(super) fn of<'p: 't>(analysis: &Analysis<'p>) -> Self {
        let pte = analysis.pte();
        let (mut names, mut places) = (BTreeMap::new(), Vec::new());
        for (method, plan) in pte.methods().iter().enumerate() {
            let mut numbers = Vec::with_capacity(plan.operators().len());
            for operator in plan.operators() {
                let name = operator.full_name();
                let short = name.split_once("::").map_or(&*name, |(_, name)| name);
                let next = names.len();
                numbers.push(*names.entry(short.into()).or_insert(next));
            }
            for ((chain, index), instruction) in plan.instructions() {
                let mut add = |needed| places.push((chain, index, needed, method));
                add(Needed::Any);
                add(Needed::Kind(instruction.name().unwrap_or(UNKNOWN)));
                if let InstructionArguments::KernelCall(call) = instruction {
                    let operator = usize::try_from(call.op_index).ok().and_then(|index| numbers.get(index));
                    operator.into_iter().for_each(|number| add(Needed::Operator(*number)));
                }
            }
        }
        places.sort();
        Self { pte, by_name: pte.methods_by_name(), names, places, nodes: DelegateNodes::of(analysis) }
    }

    /// Returns the methods that can have caused an event, by the requirement on its instruction; `None` if any method can.
    fn candidates(&self, key: &Key<'_>) -> Option<&[(usize, usize, Needed, usize)]> {
        let (chain, index) = key.place()?;
        let name = key.name.unwrap_or_default();
        let needed = match (key.kind(), name.strip_prefix(KERNEL)) {
            (EventKind::Delegate, _) => Needed::Kind("DelegateCall"),
            (EventKind::Instruction, _) => Needed::Kind(call_named(name)),
            // No method has the operator.
            (EventKind::Part, Some(called)) => {
                Needed::Operator(self.names.get(called).copied().unwrap_or(self.names.len()))
            }
            (EventKind::Part | EventKind::Method, _) => Needed::Any,
        };
        let place = (chain, index, &needed);
        Some(equal_range(&self.places, |(chain, index, needed, _)| (*chain, *index, needed).cmp(&place)))
    }

    /// Returns the methods that fit all events, and fit best; fails if too many would have to be tried.
    ///
    /// A method fits better if each of its instructions has an event, so that the run is not the start of a longer method, and if its
    /// delegates have as many nodes of each kind as there are events inside them.
    #[expect(clippy::indexing_slicing, reason = "`places` has the indices of this program's methods")]
    fn fitting(&self, keys: &[Key<'_>], named: Option<&ExecutionPlan<'_>>) -> Result<Fitting<'t>, TooMany> {
        let fewest = keys.iter().filter_map(|key| self.candidates(key)).min_by_key(|methods| methods.len());
        let events = RunEvents::of(keys);
        let (mut best, mut found) = (0, Fitting::default());
        for (tried, (.., method)) in fewest.unwrap_or_default().iter().enumerate() {
            if tried >= MAX_TRIED {
                return Err(TooMany);
            }
            let plan = &self.pte.methods()[*method];
            if keys.iter().any(|key| misfit(key, plan).is_some()) {
                continue;
            }
            let is_whole = plan.instructions().nth(events.instructions).is_none();
            let quality = 1 + usize::from(is_whole) + usize::from(events.may_be_of(&self.nodes, *method, plan));
            if quality > best {
                (best, found) = (quality, Fitting::default());
            }
            if quality == best {
                found.named |= named.is_some_and(|named| core::ptr::eq(named, plan));
                match &mut found.plans {
                    [first @ None, _] => *first = Some(plan),
                    [_, second] => *second = Some(plan),
                }
            }
        }
        Ok(found)
    }
}

impl Methods<'_> {
    /// Returns the reason why a run that fits a method is likely to be of another program; `None` if there is none.
    pub(super) fn doubt(&self, keys: &[Key<'_>], plan: &ExecutionPlan<'_>) -> Option<String> {
        let (events, method) = (RunEvents::of(keys), shortened(plan.name()));
        let jumps = plan.instructions().any(|(_, found)| matches!(found, InstructionArguments::JumpFalseCall(_)));
        let instructions = plan.instructions().count();
        if !jumps && events.instructions < instructions {
            let count = events.instructions;
            return Some(format!(
                "it has events of {count} instructions, but method {method:?} has {instructions}: it may be a run of another program, or one that \
                 failed"
            ));
        }
        let index = self.pte.methods().iter().position(|other| core::ptr::eq(other, plan))?;
        let place = events.has_other_nodes(&self.nodes, index, plan)?;
        Some(format!(
            "the events inside instruction {} are of none of the delegate's nodes: it may be a run of another program",
            place.1
        ))
    }
}

/// The features of a run's events that tell apart methods with the same instructions.
struct RunEvents {
    /// The number of instructions with events.
    instructions: usize,
    /// The instructions with events inside a delegate, and the number of events of each kind. Sorted.
    inside: Vec<((usize, usize), KindCounts)>,
}

impl RunEvents {
    fn of(keys: &[Key<'_>]) -> Self {
        let mut places: Vec<(usize, usize)> = keys.iter().filter_map(Key::place).collect();
        places.sort();
        places.dedup();
        let inside = |key: &Key<'_>| {
            let name = key.delegate_id.or(key.name).unwrap_or_default();
            Some((key.place().filter(|_| key.kind() == EventKind::Delegate)?, kind_of_event(name)))
        };
        let mut events: Vec<_> = keys.iter().filter_map(inside).collect();
        events.sort();
        let kinds =
            |call: &[((usize, usize), String)]| Some((call.first()?.0, count_kinds(call.iter().map(|(_, kind)| kind))));
        let inside = events.chunk_by(|(left, _), (right, _)| left == right).filter_map(kinds).collect();
        Self { instructions: places.len(), inside }
    }

    /// Returns the first instruction whose events are of no kind that its delegate has.
    fn has_other_nodes(
        &self,
        nodes: &DelegateNodes<'_>,
        method: usize,
        plan: &ExecutionPlan<'_>,
    ) -> Option<(usize, usize)> {
        let is_other = |(place, kinds): &&((usize, usize), KindCounts)| match instruction(plan, *place) {
            Some(InstructionArguments::DelegateCall(call)) => !nodes.have_any(method, call.delegate_index, kinds),
            _ => false,
        };
        self.inside.iter().find(is_other).map(|(place, _)| *place)
    }

    /// Returns `true` if the delegates that a method calls can have caused these events.
    fn may_be_of(&self, nodes: &DelegateNodes<'_>, method: usize, plan: &ExecutionPlan<'_>) -> bool {
        self.inside.iter().all(|(place, kinds)| match instruction(plan, *place) {
            Some(InstructionArguments::DelegateCall(call)) => nodes.may_have(method, call.delegate_index, kinds),
            _ => false,
        })
    }
}

/// The maximum number of methods that are tried for a run: a program may have thousands of methods, and a trace thousands of runs.
const MAX_TRIED: usize = 256;

/// An error: more than [`MAX_TRIED`] methods have the rarest instruction of a run.
struct TooMany;

/// A placeholder for the name of an instruction from a newer schema.
const UNKNOWN: &str = "unknown";

/// Returns the schema's name of the instruction that an event name stands for.
fn call_named(name: &str) -> &'static str {
    CALLS.iter().find(|(call, _)| *call == name).map_or("", |(_, kind)| kind)
}

/// Returns the method of a group of runs: of the methods that fit best, the requested one, or the only one. Reports a mismatch otherwise.
pub(super) fn plan_of<'t>(
    methods: &Methods<'t>,
    method: Option<&str>,
    (first, keys): (usize, &[Key<'_>]),
    mismatches: &mut Vec<Mismatch>,
) -> Option<&'t ExecutionPlan<'t>> {
    // Loading a method runs no instruction.
    if keys.iter().all(|key| key.place().is_none()) {
        return None;
    }
    let mut say = |message| {
        let path = Path::ROOT.item("run_data", first).to_field_path();
        mismatches.push(Mismatch { path, message });
    };
    let named = method.map(|name| methods.by_name.get(name).copied());
    if let (Some(name), Some(None)) = (method, named) {
        say(format!("the program has no method {:?}", shortened(name)));
        return None;
    }
    let named = named.flatten();
    let fits = |plan: &&ExecutionPlan<'_>| keys.iter().all(|key| misfit(key, plan).is_none());
    let found = methods.fitting(keys, named);
    match found.map(|found| if found.named { [named, None] } else { found.plans }) {
        Err(TooMany) if named.is_some_and(|plan| fits(&plan)) => named,
        Err(TooMany) => {
            say(format!("it may fit more than {MAX_TRIED} methods, too many to try: name the method"));
            None
        }
        Ok([Some(plan), None]) => Some(plan),
        Ok([Some(first), Some(second)]) => {
            let [first, second] = [first, second].map(|plan| shortened(plan.name()));
            say(format!("it fits the methods {first:?} and {second:?} equally well: name the method"));
            None
        }
        Ok([None, _]) => {
            let plans = methods.pte.methods();
            let Some(plan) = named.or(plans.first().filter(|_| plans.len() == 1)) else {
                say("it fits none of the program's methods".into());
                return None;
            };
            keys.iter().filter_map(|key| misfit(key, plan)).for_each(say);
            Some(plan)
        }
    }
}

/// Returns the reason why an event cannot come from that method; `None` if it can.
fn misfit(key: &Key<'_>, plan: &ExecutionPlan<'_>) -> Option<String> {
    let place = key.place()?;
    let Some(found) = instruction(plan, place) else {
        let (chain, index) = place;
        let method = shortened(plan.name());
        return Some(format!("instruction {index} of chain {chain}, which method {method:?} does not have"));
    };
    let found_name = found.name().unwrap_or(UNKNOWN);
    let name = key.name.unwrap_or_default();
    let expected = match key.kind() {
        EventKind::Delegate => "DelegateCall",
        EventKind::Instruction => call_named(name),
        EventKind::Part if name.starts_with(KERNEL) => "KernelCall",
        EventKind::Part | EventKind::Method => return None,
    };
    let (_, index) = place;
    if found_name != expected {
        let event = shortened(key.delegate_id.unwrap_or(name));
        return Some(format!("{event:?} at instruction {index}, which is a {found_name}, expected a {expected}"));
    }
    let Some((called, InstructionArguments::KernelCall(call))) = name.strip_prefix(KERNEL).zip(Some(found)) else {
        return None;
    };
    let operator = plan.operator(call);
    if operator.is_some_and(|operator| is_called(operator, called)) {
        return None;
    }
    let operator = operator.map_or_else(|| "a missing operator".into(), |operator| format!("{:?}", shown(operator)));
    Some(format!("{:?} at instruction {index}, which runs {operator}", shortened(name)))
}

/// Checks whether the runtime calls an operator by this name, which lacks the namespace. Does not read a long name again for each event.
fn is_called(operator: &Operator<'_>, called: &str) -> bool {
    let (name, overload) = (operator.name(), operator.overload());
    let rest = match (called.strip_suffix(overload), overload) {
        (Some(rest), "") => Some(rest),
        (Some(rest), _) => rest.strip_suffix('.'),
        (None, _) => None,
    };
    let namespace = rest.and_then(|rest| name.strip_suffix(rest));
    namespace.is_some_and(|namespace| namespace.ends_with("::") || namespace.is_empty() && !name.contains("::"))
}

impl RunData<'_> {
    pub(super) fn test_case(&self) -> Option<i32> {
        Some(self.bundled_input_index).filter(|index| *index >= 0)
    }

    pub(super) fn profile_events(&self) -> impl Iterator<Item = (usize, &ProfileEvent<'_>)> {
        let events = self.events().iter().enumerate();
        events.filter_map(|(index, event)| Some((index, event.profile_event.as_ref()?)))
    }

    /// Returns the time from the first start to the last end.
    pub(super) fn ticks(&self) -> u64 {
        let start = self.profile_events().map(|(_, event)| event.start_time).min();
        let end = self.profile_events().map(|(_, event)| event.end_time).max();
        end.zip(start).map_or(0, |(end, start)| end.saturating_sub(start))
    }
}
