//! What happens to the values of a method, in the order of its instructions.

use super::Unknown;
use super::access::{Accesses, Calls, Role, UNKNOWN_DELEGATE, arguments, size};
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes};
use alloc::borrow::Cow;
use alloc::{vec, vec::Vec};

/// A value that an instruction reads or writes. A list has an event for each item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// 0 for inputs and states, from 1 on the instructions over all chains, and after the last one the time at which
    /// outputs are read.
    pub(crate) time: u32,
    /// Index into the method's values.
    pub(crate) value: u32,
    /// The argument as the instruction names it: the value, or the list that it is in.
    pub(crate) argument: i32,
    pub(crate) kind: Kind,
    /// Whether the instruction is known to do this.
    pub(crate) certain: bool,
}

/// What happens to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    /// Becomes the base of a view: its bytes are not read.
    Base,
    Write,
    /// Read and written.
    InPlace,
    /// Overwritten in place.
    Replace,
    /// Written piece by piece in a loop.
    Fill,
    /// Becomes a view of another value: an index into the views.
    View(u32),
    /// A state that is read by the next run.
    Keep,
}

impl Kind {
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Base | Self::Keep)
    }

    pub(crate) fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::View(_))
    }
}

pub(super) struct Events {
    /// In order of time.
    pub(super) list: Vec<Event>,
    /// For each time the index of its first event, and the end.
    pub(super) starts: Vec<u32>,
    /// The base of each view.
    pub(super) views: Vec<u32>,
    pub(super) unknown: Vec<Unknown>,
    plan_values: usize,
    /// The size of the method.
    pub(super) size: usize,
    /// The number of values that keep their content from run to run.
    kept: usize,
    /// How many more items of lists may be visited, because many instructions may name one long list.
    budget: usize,
    incomplete: bool,
}

impl Events {
    pub(super) fn new(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        let size = size(plan);
        let mut events = Self {
            list: Vec::new(),
            starts: vec![0],
            views: Vec::new(),
            unknown: Vec::new(),
            plan_values: plan.values().len(),
            kept: 0,
            size,
            budget: 4 * size,
            incomplete: false,
        };
        for input in plan.inputs() {
            events.add(plan, *input, Kind::Write, true);
        }
        let (mut guess, mut accesses) = (Guess::new(plan), Accesses::default());
        for (_, instruction) in plan.instructions() {
            events.next();
            calls.find(instruction, &mut accesses);
            if let (InstructionArguments::DelegateCall(_), Some(_)) = (instruction, accesses.unknown) {
                guess.delegate(plan, &mut accesses, events.starts.len());
            }
            guess.note(plan, &accesses);
            events.instruction(plan, &accesses);
        }
        events.next();
        for output in plan.outputs() {
            events.add(plan, *output, Kind::Read, true);
        }
        events.starts.push(events.list.len() as u32);
        if events.incomplete {
            events.unknown.push(Unknown { time: None, why: super::LONG_LISTS });
        }
        events
    }

    /// Sets the values that keep their content from run to run: they are written at the start and read at the end.
    pub(super) fn keep(&mut self, kept: &[u32]) {
        let end = self.end() as u32;
        let rest = self.list.get(self.kept..self.list.len() - self.kept).unwrap_or_default();
        let mut list = Vec::with_capacity(rest.len() + 2 * kept.len());
        let add = |list: &mut Vec<Event>, time: u32, kind: Kind| {
            for value in kept {
                list.push(Event { time, value: *value, argument: *value as i32, kind, certain: true });
            }
        };
        add(&mut list, 0, Kind::Write);
        list.extend_from_slice(rest);
        add(&mut list, end, Kind::Keep);
        for start in self.starts.iter_mut().skip(1) {
            *start = *start + kept.len() as u32 - self.kept as u32;
        }
        if let Some(end) = self.starts.last_mut() {
            *end = list.len() as u32;
        }
        (self.list, self.kept) = (list, kept.len());
    }

    /// The last time, at which outputs are read.
    pub(super) fn end(&self) -> usize {
        self.starts.len().saturating_sub(2)
    }

    /// The indices of the events of a time.
    pub(super) fn at(&self, time: usize) -> core::ops::Range<usize> {
        let bound = |time: usize| self.starts.get(time).map_or(self.list.len(), |start| *start as usize);
        bound(time)..bound(time + 1)
    }

    fn next(&mut self) {
        self.starts.push(self.list.len() as u32);
    }

    fn instruction(&mut self, plan: &ExecutionPlan<'_>, accesses: &Accesses) {
        let certain = accesses.unknown.is_none();
        if let Some(why) = accesses.unknown {
            let time = self.starts.len() - 1;
            self.unknown.push(Unknown { time: Some(time), why });
        }
        let base = accesses.list.iter().find_map(|access| match access.role {
            Role::View(of) => Some(of),
            _ => None,
        });
        for access in &accesses.list {
            let kind = match access.role {
                Role::Read if base == Some(access.value) => Kind::Base,
                Role::Read => Kind::Read,
                Role::Write | Role::Scratch => Kind::Write,
                Role::InPlace => Kind::InPlace,
                Role::Replace => Kind::Replace,
                Role::Fill => Kind::Fill,
                Role::View(of) => match u32::try_from(of) {
                    Ok(of) if plan.tensor(of).is_some() && access.value != of as i32 => {
                        self.views.push(of);
                        Kind::View(self.views.len() as u32 - 1)
                    }
                    // Known roles are not changed.
                    _ => continue,
                },
                Role::Again => continue,
            };
            self.add(plan, access.value, kind, certain);
        }
    }

    /// Adds an event for a value, or for each value in a list.
    fn add(&mut self, plan: &ExecutionPlan<'_>, argument: i32, kind: Kind, certain: bool) {
        let items: Cow<'_, [i32]> = match plan.value(argument).map(|value| &value.val) {
            Some(KernelTypes::TensorList(list)) => list.items().into(),
            Some(KernelTypes::OptionalTensorList(list)) => list.items().into(),
            Some(KernelTypes::IntList(list)) if list.items().len() <= self.budget => {
                list.items().iter().filter_map(|item| i32::try_from(*item).ok()).collect()
            }
            Some(KernelTypes::IntList(_)) => {
                self.incomplete = true;
                return;
            }
            _ => return self.push_checked(argument, argument, kind, certain),
        };
        match self.budget.checked_sub(items.len()) {
            Some(left) => self.budget = left,
            None => {
                self.incomplete = true;
                return;
            }
        }
        for item in items.iter() {
            self.push_checked(*item, argument, kind, certain);
        }
    }

    fn push_checked(&mut self, value: i32, argument: i32, kind: Kind, certain: bool) {
        if let Ok(value) = u32::try_from(value) {
            if (value as usize) < self.plan_values {
                self.push(value, argument, kind, certain);
            }
        }
    }

    fn push(&mut self, value: u32, argument: i32, kind: Kind, certain: bool) {
        let time = self.starts.len() as u32 - 1;
        self.list.push(Event { time, value, argument, kind, certain });
    }
}

/// Guesses which arguments of a delegate are outputs if the payload does not state it: among values that were not
/// written before, the last one is an output, and others are if they are read later. (The others may be views of values
/// that were written.)
struct Guess {
    written: Vec<bool>,
    last_mention: Vec<usize>,
}

impl Guess {
    fn new(plan: &ExecutionPlan<'_>) -> Self {
        let mut guess = Self { written: vec![false; plan.values().len()], last_mention: Vec::new() };
        if plan.delegates().is_empty() {
            return guess;
        }
        let mut last = vec![0; plan.values().len()];
        let mut mention = |value: i32, time: usize| {
            if let Some(last) = usize::try_from(value).ok().and_then(|value| last.get_mut(value)) {
                *last = time.max(*last);
            }
        };
        for ((_, instruction), time) in plan.instructions().zip(1..) {
            arguments(instruction).iter().for_each(|value| mention(*value, time));
            match instruction {
                InstructionArguments::MoveCall(call) => mention(call.move_from, time),
                InstructionArguments::JumpFalseCall(call) => mention(call.cond_value_index, time),
                _ => {}
            }
        }
        plan.outputs().iter().for_each(|value| mention(*value, usize::MAX));
        for (list, value) in plan.values().iter().enumerate() {
            // `last` has a time for each value.
            let time = last.get(list).copied().unwrap_or_default();
            for item in value.val.tensors().unwrap_or_default() {
                if let Some(last) = usize::try_from(*item).ok().and_then(|item| last.get_mut(item)) {
                    *last = time.max(*last);
                }
            }
        }
        guess.last_mention = last;
        for (value, tensor) in plan.tensors() {
            let has_data = tensor.is_external() || tensor.data_buffer_idx > 0;
            guess.mark(value, has_data);
        }
        for input in plan.inputs() {
            guess.mark(usize::try_from(*input).unwrap_or(usize::MAX), true);
        }
        guess
    }

    fn mark(&mut self, value: usize, written: bool) {
        if let Some(known) = self.written.get_mut(value) {
            *known |= written;
        }
    }

    fn note(&mut self, plan: &ExecutionPlan<'_>, accesses: &Accesses) {
        for access in accesses.list.iter().filter(|access| access.role.writes()) {
            self.mark(usize::try_from(access.value).unwrap_or(usize::MAX), true);
            let items = plan.value(access.value).and_then(|value| value.val.tensors()).unwrap_or_default();
            for item in items.iter().take(64) {
                self.mark(usize::try_from(*item).unwrap_or(usize::MAX), true);
            }
        }
    }

    /// Sets the outputs of the delegate's call.
    fn delegate(&self, plan: &ExecutionPlan<'_>, accesses: &mut Accesses, starts: usize) {
        let time = starts - 1;
        let count = accesses.list.len();
        for (position, access) in accesses.list.iter_mut().enumerate().rev() {
            let at = usize::try_from(access.value).unwrap_or(usize::MAX);
            let written = self.written.get(at).copied().unwrap_or(true);
            let later = self.last_mention.get(at).is_some_and(|last| *last > time);
            if written || !(position + 1 == count || later) || plan.tensor(at).is_none() {
                break;
            }
            access.role = Role::Write;
        }
        accesses.unknown = Some(UNKNOWN_DELEGATE);
    }
}
