//! The events of an ETDump: which of them time the same thing, and what in the program that is.

use super::profile::{EventKind, EventTarget, Mismatch};
use crate::file::pte::Pte;
use crate::keyed::Keyed;
use crate::path::{FieldPath, Path};
use crate::schema::etdump::{ProfileEvent, RunData};
use crate::schema::program::{ExecutionPlan, InstructionArguments};
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

    pub(super) fn kind(&self) -> EventKind {
        match self.name {
            _ if self.delegate_id.is_some() || self.delegate_number != -1 => EventKind::Delegate,
            _ if self.chain < 0 => EventKind::Method,
            Some(name) if CALLS.iter().any(|(call, _)| *call == name) => EventKind::Instruction,
            _ => EventKind::Part,
        }
    }

    /// The chain and the index in it, of an instruction and its parts.
    pub(super) fn place(&self) -> Option<(usize, usize)> {
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

/// The prefix of the kernel's name in the event of a kernel.
pub(super) const KERNEL: &str = "native_call_";

/// The events of one run: each key once, with all its times.
pub(super) struct Times<'t> {
    pub(super) keys: Vec<Key<'t>>,
    pub(super) ticks: Vec<Vec<u64>>,
}

impl<'t> Times<'t> {
    pub(super) fn of(run: &'t RunData<'_>, index: usize, mismatches: &mut Vec<Mismatch>) -> Self {
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

pub(super) fn instruction<'t, 'a>(
    plan: &'t ExecutionPlan<'a>,
    (chain, index): (usize, usize),
) -> Option<&'t InstructionArguments<'a>> {
    Some(&plan.chains().get(chain)?.instructions().get(index)?.instr_args)
}

pub(super) fn target<'t>(
    plan: &'t ExecutionPlan<'_>,
    instruction: &InstructionArguments<'_>,
) -> Option<EventTarget<'t>> {
    Some(match instruction {
        InstructionArguments::KernelCall(call) => EventTarget::Kernel { operator: plan.operator(call)?.full_name() },
        InstructionArguments::DelegateCall(call) => {
            let delegate = plan.delegates().get(usize::try_from(call.delegate_index).ok()?)?;
            EventTarget::Delegate { backend: delegate.id(), delegate: call.delegate_index }
        }
        other => EventTarget::Other { instruction_kind: other.name()? },
    })
}

/// The method that a group of runs ran: the one asked for if it fits, or the only one that fits. Reports if none does.
pub(super) fn plan_of<'t, 'a>(
    pte: &'t Pte<'a>,
    method: Option<&str>,
    (first, keys): (usize, &[Key<'_>]),
    mismatches: &mut Vec<Mismatch>,
) -> Option<&'t ExecutionPlan<'a>> {
    // Loading a method runs no instruction.
    if keys.iter().all(|key| key.place().is_none()) {
        return None;
    }
    let mut say = |message| {
        let path = Path::ROOT.item("run_data", first).to_field_path();
        mismatches.push(Mismatch { path, message });
    };
    let named = method.map(|name| pte.method(name));
    if let (Some(name), Some(None)) = (method, named) {
        say(format!("the program has no method {name:?}"));
        return None;
    }
    let named = named.flatten();
    let fits = |plan: &&ExecutionPlan<'_>| keys.iter().all(|key| misfit(key, plan).is_none());
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
            keys.iter().filter_map(|key| misfit(key, plan)).for_each(say);
            Some(plan)
        }
    }
}

/// Why an event cannot come from that method.
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

impl RunData<'_> {
    pub(super) fn test_case(&self) -> Option<i32> {
        Some(self.bundled_input_index).filter(|index| *index >= 0)
    }

    pub(super) fn profile_events(&self) -> impl Iterator<Item = (usize, &ProfileEvent<'_>)> {
        let events = self.events().iter().enumerate();
        events.filter_map(|(index, event)| Some((index, event.profile_event.as_ref()?)))
    }

    /// From the first start to the last end.
    pub(super) fn ticks(&self) -> u64 {
        let start = self.profile_events().map(|(_, event)| event.start_time).min();
        let end = self.profile_events().map(|(_, event)| event.end_time).max();
        end.zip(start).map_or(0, |(end, start)| end.saturating_sub(start))
    }
}
