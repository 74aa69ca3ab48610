//! Events: the effects on the values of a method, in the order of its instructions.

use super::access::{Accesses, Calls, Role, UNKNOWN_DELEGATE, arguments, size};
use super::{LONG_LISTS, MOVED_LISTS, Unknown};
use crate::schema::program::{EValue, ExecutionPlan, InstructionArguments, KernelTypes, Tensor};
use alloc::{vec, vec::Vec};

/// An effect of an instruction on a value. A list gets an event for each item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// 0 for inputs and states, then the instructions over all chains from 1, and after the last one the time at which
    /// outputs are read.
    pub(crate) time: u32,
    /// The index into the method's values.
    pub(crate) value: u32,
    /// The argument as the instruction refers to it: the value, or the list that contains it.
    pub(crate) argument: i32,
    pub(crate) kind: Kind,
    /// `true` if the effect is certain, `false` if it is a guess.
    pub(crate) certain: bool,
}

/// The effect on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    /// Its type and sizes, or its address, are used; its bytes are not read.
    Refer,
    Write,
    /// Written by an elementwise kernel, which may run in place.
    Elementwise,
    /// Written by a kernel that may run in place of this value, but of no other.
    Over(u32),
    /// Read and written.
    Change,
    /// Written row by row in a loop.
    Fill,
    /// Gets the pointer of another value.
    View(u32),
    /// Becomes another value: the same tensor.
    Move(u32),
    /// Loses its pointer.
    Free,
    /// State that is read by the next run.
    Keep,
}

impl Kind {
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Elementwise | Self::Over(_) | Self::Change | Self::Fill)
    }

    /// Returns `true` if the event sets the pointer of a value.
    pub(crate) fn points(self) -> bool {
        matches!(self, Self::View(_) | Self::Move(_))
    }

    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Refer | Self::Change | Self::Keep)
    }
}

pub(super) struct Events {
    /// The events in order of time.
    pub(super) list: Vec<Event>,
    /// The index of the first event of each time, followed by the number of events.
    starts: Vec<u32>,
    pub(super) unknown: Vec<Unknown>,
    /// For each value, `true` if an instruction or a caller changes it.
    pub(super) changed: Vec<bool>,
    /// For each value, `true` if its events are in the list.
    followed: Vec<bool>,
    /// The size of the method.
    pub(super) size: usize,
    /// The number of values that keep their content from run to run.
    pub(super) kept: usize,
    /// The number of further list items that may be visited: many instructions may refer to the same long list.
    budget: usize,
}

impl Events {
    /// Collects the events of the values that are `followed`, of those that a move changes, and of conditions.
    pub(super) fn new(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>, mut followed: Vec<bool>) -> Self {
        for (_, instruction) in plan.instructions() {
            match instruction {
                InstructionArguments::MoveCall(call) => mark(&mut followed, call.move_to),
                InstructionArguments::JumpFalseCall(call) => mark(&mut followed, call.cond_value_index),
                _ => {}
            }
        }
        let size = size(plan);
        let changed = vec![false; plan.values().len()];
        let (list, starts, unknown) = (Vec::with_capacity(size), vec![0], Vec::new());
        let mut events = Self { list, starts, unknown, changed, followed, size, kept: 0, budget: 2 * size };
        for input in plan.inputs() {
            events.add(plan.values(), *input, Kind::Write, true);
        }
        let (guess, mut accesses) = (Guess::new(plan), Accesses::default());
        for (_, instruction) in plan.instructions() {
            events.next();
            calls.find(instruction, &mut accesses);
            if let (InstructionArguments::DelegateCall(_), Some(_)) = (instruction, accesses.unknown) {
                guess.delegate(plan, &events.changed, &mut accesses, events.starts.len() - 1);
            }
            events.instruction(plan, &accesses);
        }
        events.next();
        for output in plan.outputs() {
            events.add(plan.values(), *output, Kind::Read, true);
        }
        events.starts.push(events.list.len() as u32);
        events
    }

    /// Sets the values that keep their content from run to run. They are written at the start, and read at the end if
    /// `observed`.
    pub(super) fn keep(&mut self, kept: &[(u32, bool)]) {
        let end = self.end() as u32;
        let event =
            |value: u32, time: u32, kind: Kind| Event { time, value, argument: value as i32, kind, certain: true };
        self.list.truncate(self.list.iter().rposition(|event| event.kind != Kind::Keep).map_or(0, |last| last + 1));
        self.list.splice(..self.kept, kept.iter().map(|(value, _)| event(*value, 0, Kind::Write)));
        for start in self.starts.iter_mut().skip(1) {
            *start = *start + kept.len() as u32 - self.kept as u32;
        }
        let observed = kept.iter().filter(|(_, observed)| *observed);
        self.list.extend(observed.map(|(value, _)| event(*value, end, Kind::Keep)));
        self.kept = kept.len();
        if let Some(end) = self.starts.last_mut() {
            *end = self.list.len() as u32;
        }
    }

    /// Returns the last time, at which outputs are read.
    pub(super) fn end(&self) -> usize {
        self.starts.len().saturating_sub(2)
    }

    /// Returns the event with this index.
    #[expect(clippy::indexing_slicing, reason = "indices of events are counted from this list")]
    pub(super) fn event(&self, index: u32) -> &Event {
        &self.list[index as usize]
    }

    /// Returns the event of a write, and the value whose memory it changes. Writes to the memory of another value are numbered after the
    /// events: `through` has their events and memory.
    #[expect(clippy::indexing_slicing, reason = "writes are counted from both lists")]
    pub(super) fn event_and_memory(&self, write: u32, through: &[(u32, u32)]) -> (u32, u32) {
        match (write as usize).checked_sub(self.list.len()) {
            None => (write, self.event(write).value),
            Some(at) => through[at],
        }
    }

    /// Returns the events of a time, none after the end, and the index of the first of them.
    #[expect(clippy::indexing_slicing, reason = "`starts` has indices of this list, in order")]
    pub(super) fn at(&self, time: usize) -> (usize, &[Event]) {
        let bound = |time: usize| self.starts.get(time).map_or(self.list.len(), |start| *start as usize);
        (bound(time), &self.list[bound(time)..bound(time + 1)])
    }

    fn next(&mut self) {
        self.starts.push(self.list.len() as u32);
    }

    fn instruction(&mut self, plan: &ExecutionPlan<'_>, accesses: &Accesses) {
        let certain = accesses.unknown.is_none();
        if let Some(why) = accesses.unknown {
            self.unknown.push(Unknown { time: Some(self.starts.len() - 1), why });
        }
        let values = plan.values();
        for access in &accesses.list {
            let tensor = |of: i32| u32::try_from(of).ok().filter(|_| plan.tensor(of).is_some() && of != access.value);
            let kind = match access.role {
                Role::Read => Kind::Read,
                Role::Refer => Kind::Refer,
                Role::Write | Role::Scratch => Kind::Write,
                Role::Elementwise | Role::Replace => Kind::Elementwise,
                Role::Over(of) => u32::try_from(of).map_or(Kind::Write, Kind::Over),
                Role::InPlace => Kind::Change,
                Role::Fill => Kind::Fill,
                Role::Free => Kind::Free,
                // The roles are known and are therefore not changed.
                Role::View(of) => match tensor(of) {
                    Some(of) => Kind::View(of),
                    None => continue,
                },
                Role::Move(of) => match tensor(of) {
                    Some(of) => Kind::Move(of),
                    None if plan.value(of).is_some_and(|value| value.val.tensors().is_some()) => {
                        self.unknown.push(Unknown { time: None, why: MOVED_LISTS });
                        Kind::Write
                    }
                    None => Kind::Write,
                },
                Role::Again => continue,
            };
            self.add(values, access.value, kind, certain);
        }
    }

    /// Adds an event for a value, or for each value in a list.
    fn add(&mut self, values: &[EValue<'_>], argument: i32, kind: Kind, certain: bool) {
        let value = usize::try_from(argument).ok().and_then(|index| values.get(index));
        match value.map(|value| &value.val) {
            Some(KernelTypes::IntList(list)) => self.add_items(list.items(), argument, kind, certain),
            Some(KernelTypes::TensorList(list)) => self.add_items(list.items(), argument, kind, certain),
            Some(KernelTypes::OptionalTensorList(list)) => self.add_items(list.items(), argument, kind, certain),
            _ => self.push(argument, argument, kind, certain),
        }
    }

    fn add_items<I: TryInto<u32> + Copy>(&mut self, items: &[I], argument: i32, kind: Kind, certain: bool) {
        match self.budget.checked_sub(items.len()) {
            Some(left) => self.budget = left,
            None => {
                let unknown = Unknown { time: None, why: LONG_LISTS };
                if self.unknown.last() != Some(&unknown) {
                    self.unknown.push(unknown);
                }
                return;
            }
        }
        for item in items {
            self.push(*item, argument, kind, certain);
        }
    }

    fn push(&mut self, value: impl TryInto<u32>, argument: i32, kind: Kind, certain: bool) {
        let Ok(value) = value.try_into() else { return };
        if kind.writes() || kind.points() {
            mark(&mut self.changed, value);
        }
        if self.followed.get(value as usize) == Some(&true) {
            let time = self.starts.len() as u32 - 1;
            self.list.push(Event { time, value, argument, kind, certain });
        }
    }
}

fn mark(marks: &mut [bool], value: impl TryInto<usize>) {
    if let Some(mark) = value.try_into().ok().and_then(|value: usize| marks.get_mut(value)) {
        *mark = true;
    }
}

/// A guess at the outputs of a delegate whose payload does not state them. Among the trailing values that were not written
/// before, the last is an output, and so are those that are used later. (Others may be views of values that were
/// written.)
struct Guess {
    has_data: Vec<bool>,
    last_use: Vec<usize>,
}

impl Guess {
    #[expect(clippy::indexing_slicing, reason = "`last_use` has an item for each value")]
    fn new(plan: &ExecutionPlan<'_>) -> Self {
        if plan.delegates().is_empty() {
            return Self { has_data: Vec::new(), last_use: Vec::new() };
        }
        let has_data = |value| plan.tensor(value).is_none_or(Tensor::has_data);
        let has_data: Vec<bool> = (0..plan.values().len()).map(has_data).collect();
        let mut last_use = vec![0; has_data.len()];
        let mut mention = |value: &i32, time: usize| {
            if let Some(last) = usize::try_from(*value).ok().and_then(|value| last_use.get_mut(value)) {
                *last = time.max(*last);
            }
        };
        for ((_, instruction), time) in plan.instructions().zip(1..) {
            arguments(instruction).iter().for_each(|value| mention(value, time));
            if let InstructionArguments::MoveCall(call) = instruction {
                mention(&call.move_from, time);
            }
        }
        plan.outputs().iter().for_each(|value| mention(value, usize::MAX));
        for (list, value) in plan.values().iter().enumerate() {
            let time = last_use[list];
            for item in value.val.tensors().unwrap_or_default() {
                if let Some(last) = usize::try_from(*item).ok().and_then(|item| last_use.get_mut(item)) {
                    *last = time.max(*last);
                }
            }
        }
        Self { has_data, last_use }
    }

    /// Sets the outputs of the delegate's call.
    fn delegate(&self, plan: &ExecutionPlan<'_>, changed: &[bool], accesses: &mut Accesses, time: usize) {
        let count = accesses.list.len();
        for (position, access) in accesses.list.iter_mut().enumerate().rev() {
            let Ok(at) = usize::try_from(access.value) else { break };
            let given = changed.get(at) != Some(&false) || self.has_data.get(at) != Some(&false);
            let later = self.last_use.get(at).is_some_and(|last| *last > time);
            if given || !(position + 1 == count || later) || plan.tensor(at).is_none() {
                break;
            }
            access.role = Role::Write;
        }
        accesses.unknown = Some(UNKNOWN_DELEGATE);
    }
}
