//! Follows every path through a method, until there is nothing new to find.
//!
//! A value is a tensor, and a tensor has a pointer, as in the runtime: `MoveCall` turns a value into the tensor that another value
//! is, `et_view` sets a tensor's pointer, `FreeCall` takes it away.

use super::blocks::Blocks;
use super::bytes::{BEFORE, MemoryRange};
use super::events::{Events, Kind};
use super::state::{Pointer, State};
use super::values::{NOWHERE, Values};
use crate::schema::program::{ExecutionPlan, TensorShapeDynamism};
use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

/// A possible origin of the content of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The reading event.
    pub(crate) read: u32,
    /// The write; [`BEFORE`] if there was none.
    pub(crate) write: u32,
    /// The value whose memory is read.
    pub(crate) memory: u32,
    /// `true` if the write set the value's pointer instead of writing its bytes.
    pub(crate) view: bool,
}

/// Bytes that a value needs and that another value overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Conflict {
    /// The value that overwrites the bytes, and the value that needs them.
    pub(crate) new: u32,
    pub(crate) old: u32,
    /// The event that writes, and the event that reads or is another output of the same call.
    pub(crate) write: u32,
    pub(crate) read: u32,
    /// The value whose memory is read.
    pub(crate) memory: u32,
    /// The places of both values.
    pub(crate) places: [MemoryRange; 2],
}

/// A use of a null pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Null {
    /// The tensor.
    pub(crate) tensor: u32,
    /// The event that freed it, if there is one.
    pub(crate) freed_by: Option<u32>,
    /// The event that uses it.
    pub(crate) used_by: u32,
}

/// A view by its place alone whose base is rebound, so that its bytes are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StaleView {
    /// The view.
    pub(crate) view: u32,
    /// The value at its place.
    pub(crate) base: u32,
    /// The event that moves another tensor into the base.
    pub(crate) moved_by: u32,
    /// The event that reads the view.
    pub(crate) read: u32,
    /// Another value at the same place whose bytes are read. It may be the base as well.
    pub(crate) other: Option<u32>,
}

/// A view whose elements have another order than in the tensor that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reordered {
    /// The view.
    pub(crate) view: u32,
    /// The tensor whose bytes it reads.
    pub(crate) base: u32,
    /// The event that reads the view.
    pub(crate) read: u32,
}

/// A tensor that an output in the caller's memory is after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rebound {
    /// The output's value.
    pub(crate) output: u32,
    /// The tensor.
    pub(crate) tensor: u32,
    /// The event that moves the tensor into the output.
    pub(crate) moved_by: u32,
}

/// Planned memory that a call writes.
pub(super) struct Output {
    pub(super) place: MemoryRange,
    /// The event.
    pub(super) write: u32,
    /// The tensor, and the value whose memory it has.
    pub(super) tensor: u32,
    pub(super) memory: u32,
}

/// The findings of the walk in a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Passed {
    /// The sources in order of the reads.
    pub(super) sources: Vec<Source>,
    pub(super) conflicts: Vec<Conflict>,
    /// Values whose memory is read as the previous run left it.
    pub(super) unwritten: Vec<u32>,
    pub(super) nulls: Vec<Null>,
    pub(super) stale: Vec<StaleView>,
    /// The writes of which some content remains at the end of the block, in order.
    pub(super) left: Vec<u32>,
    /// `true` if any path leads to the block.
    pub(super) reached: bool,
}

/// The error of a walk that takes too long.
pub(super) struct TooMuch;

pub(super) struct MethodWalk<'e> {
    pub(super) plan: &'e ExecutionPlan<'e>,
    pub(super) events: &'e Events,
    pub(super) values: &'e Values,
    pub(super) blocks: &'e Blocks,
    /// The events that fill a tensor in a loop, preceded by the first and the last time of the loop, in order.
    fills: Vec<(usize, usize, u32)>,
    /// For each event, `true` if it is one of `fills`.
    pub(super) is_fill: Vec<bool>,
    /// For each value, `true` if its tensor may also be another value's.
    pub(super) is_moved: Vec<bool>,
    /// Writes to the memory of another value, by event and memory. They are numbered after the events.
    pub(super) through: Vec<(u32, u32)>,
    pub(super) numbers: BTreeMap<(u32, u32), u32>,
    /// The pointers at the start of a run, for values whose pointer is null or left by the previous run.
    entry: BTreeMap<u32, Vec<Pointer>>,
    /// For each value, `true` if it is used with the pointer that it had when the run started.
    pub(super) is_exposed: Vec<bool>,
    pub(super) passed: Vec<Passed>,
    /// The views that were read with elements in another order, and their bases, with the reading event.
    pub(super) reordered: BTreeMap<(u32, u32), u32>,
    /// The tensors that outputs in the caller's memory are at the end of a run.
    pub(super) rebound: Vec<Rebound>,
    /// The number of recorded findings.
    found_count: usize,
    /// The number of remaining steps.
    pub(super) budget: usize,
    /// `true` to record the sources of reads and the remaining writes at the end of each block, `false` for conflicts only.
    pub(super) records: bool,
    /// For each event, `true` if it writes the value's own memory.
    pub(super) is_written: Vec<bool>,
    /// The writes that the current read gets its bytes from.
    pub(super) found: Vec<u32>,
    /// The outputs of the current call, in order.
    pub(super) outputs: Vec<Output>,
}

impl<'e> MethodWalk<'e> {
    #[expect(clippy::indexing_slicing, reason = "`is_moved` has an item for each value")]
    pub(super) fn new(
        plan: &'e ExecutionPlan<'e>,
        events: &'e Events,
        values: &'e Values,
        blocks: &'e Blocks,
        records: bool,
    ) -> Self {
        let mut is_moved = vec![false; values.places.len()];
        let (mut fills, mut is_fill) = (Vec::new(), vec![false; events.list.len()]);
        let (mut loops, mut open) = (blocks.loops.iter().peekable(), Vec::<(usize, usize)>::new());
        for ((index, event), is_fill) in events.list.iter().enumerate().zip(&mut is_fill) {
            if let Kind::Move(of) = event.kind {
                is_moved[of as usize] = true;
            }
            if event.kind != Kind::Fill {
                continue;
            }
            let time = event.time as usize;
            while let Some(next) = loops.next_if(|(first, _)| *first <= time) {
                open.push(*next);
            }
            while open.last().is_some_and(|(_, last)| *last < time) {
                open.pop();
            }
            if let Some((first, last)) = open.last() {
                fills.push((*first, *last, index as u32));
                *is_fill = true;
            }
        }
        fills.sort();
        let mut entry = BTreeMap::new();
        for value in &values.nowhere {
            entry.insert(*value, vec![Pointer { memory: NOWHERE, ..Pointer::of(*value) }]);
        }
        Self {
            plan,
            events,
            values,
            blocks,
            fills,
            is_fill,
            is_moved,
            through: Vec::new(),
            numbers: BTreeMap::new(),
            entry,
            is_written: vec![false; events.list.len()],
            is_exposed: vec![false; values.places.len()],
            passed: vec![Passed::default(); blocks.list.len()],
            reordered: BTreeMap::new(),
            rebound: Vec::new(),
            found_count: 0,
            budget: (1 << 19) + 64 * events.size,
            records,
            found: Vec::new(),
            outputs: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.budget = self.budget.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    /// Walks until the state at the start of each block is complete, and that of the first block includes the state at the end.
    #[expect(clippy::indexing_slicing, reason = "`is_exposed` has an item for each value")]
    pub(super) fn run(&mut self) -> Result<(), TooMuch> {
        loop {
            let end = self.run_once()?;
            if !self.records {
                self.rebound = end.as_ref().map(|end| self.rebound_outputs(end)).unwrap_or_default();
            }
            let mut more = false;
            for (value, pointers) in end.map(|state| state.pointers).unwrap_or_default() {
                if !self.is_exposed[value as usize] {
                    continue;
                }
                let entry = self.entry.entry(value).or_insert_with(|| vec![Pointer::of(value)]);
                for pointer in pointers {
                    let is_unbound = |value: u32| {
                        let tensor = self.plan.tensor(value as usize);
                        tensor.is_some_and(|tensor| tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND)
                    };
                    if entry.iter().all(|other| !other.is_same(&pointer)) && !is_unbound(pointer.tensor) {
                        entry.push(Pointer { strange: Vec::new(), ..pointer });
                        more = true;
                    }
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Returns the tensors that outputs in the caller's memory are at the end of a run, other than their own.
    fn rebound_outputs(&self, end: &State) -> Vec<Rebound> {
        let mut rebound = Vec::new();
        for output in &self.values.given_outputs {
            let pointers = end.pointers.get(output).map(Vec::as_slice).unwrap_or_default();
            for pointer in pointers.iter().filter(|pointer| pointer.set_by != BEFORE && pointer.tensor != *output) {
                rebound.push(Rebound { output: *output, tensor: pointer.tensor, moved_by: pointer.set_by });
            }
        }
        rebound.sort();
        rebound.dedup_by_key(|found| (found.output, found.tensor));
        rebound
    }

    /// Walks until the state at the start of each block is complete; returns the state at the end.
    #[expect(clippy::indexing_slicing, reason = "`starts`, `waiting` and `before` have an item for each block")]
    fn run_once(&mut self) -> Result<Option<State>, TooMuch> {
        let blocks = self.blocks;
        let mut starts: Vec<Option<State>> = vec![None; blocks.list.len()];
        let mut waiting = vec![false; blocks.list.len()];
        let before = blocks.before();
        // The number of pieces and sources that may be kept at one time.
        let room = (1 << 16) + 4 * self.events.size;
        let has_several = self.entry.values().any(|pointers| pointers.len() > 1);
        let entry = State { pointers: self.entry.clone(), has_several, ..State::default() };
        let mut end = None;
        (starts[0], waiting[0]) = (Some(entry), true);
        // The number of pieces in `starts`.
        let mut pieces = 0usize;
        let mut again = true;
        while again {
            again = false;
            self.take(blocks.list.len())?;
            for (index, block) in blocks.list.iter().enumerate() {
                if !core::mem::take(&mut waiting[index]) {
                    continue;
                }
                let is_joined = before[index].len() > 1;
                // The start of a block with several predecessors is kept, so that further states can be joined.
                let start = if is_joined { starts[index].clone() } else { starts[index].take() };
                let Some(mut state) = start else { continue };
                if !is_joined {
                    pieces = pieces.saturating_sub(state.len());
                }
                self.take(2 * state.len())?;
                self.block(index, &mut state)?;
                if index + 1 == blocks.list.len() {
                    end = Some(state);
                    continue;
                }
                let condition = state.conditions.get(&block.condition).copied();
                for (next, holds) in block.next.into_iter().zip([true, false]) {
                    let Some(next) = next else { continue };
                    let mut state = state.clone();
                    if block.next().count() > 1 {
                        if condition.is_some_and(|known| known != holds) {
                            continue;
                        }
                        state.conditions.insert(block.condition, holds);
                    }
                    self.enter(block.last, next, &mut state)?;
                    self.take(4 * state.len() + 1)?;
                    let start = &mut starts[next];
                    let new = match start {
                        Some(start) => {
                            let before = start.len();
                            self.take(4 * before)?;
                            let new = self.join(start, &state)?;
                            pieces += start.len() - before;
                            new
                        }
                        None => {
                            pieces += state.len();
                            *start = Some(state);
                            true
                        }
                    };
                    waiting[next] |= new;
                    again |= new && next <= index;
                }
                if pieces + self.found_count > room {
                    return Err(TooMuch);
                }
            }
        }
        Ok(end)
    }

    /// Starts the loops that a path enters: a tensor that is filled row by row is undefined before the first row, so all
    /// of its bytes count as those of the fill.
    #[expect(clippy::indexing_slicing, reason = "`index` counts `fills`")]
    fn enter(&mut self, from: usize, next: usize, state: &mut State) -> Result<(), TooMuch> {
        let to = self.blocks.block(next).first;
        let start = self.fills.partition_point(|(first, ..)| *first < to);
        for index in start..self.fills.len() {
            let (first, last, write) = self.fills[index];
            if first != to {
                break;
            }
            if !(to..=last).contains(&from) {
                self.write(write, self.events.event(write).value, state, true)?;
            }
            self.take(1)?;
        }
        Ok(())
    }

    /// Walks a block, and records the findings.
    #[expect(clippy::indexing_slicing, reason = "`passed` has an item for each block")]
    fn block(&mut self, index: usize, state: &mut State) -> Result<(), TooMuch> {
        let block = self.blocks.block(index);
        let mut passed = Passed { reached: true, ..Passed::default() };
        for time in block.first..=block.last {
            self.step(time, state, &mut passed)?;
        }
        if self.records && self.blocks.list.len() > 1 {
            passed.left = state.bytes.all();
            self.take(2 * passed.left.len())?;
        }
        let count =
            |passed: &Passed| passed.sources.len() + passed.left.len() + passed.conflicts.len() + passed.stale.len();
        self.found_count = self.found_count + count(&passed) - count(&self.passed[index]);
        self.passed[index] = passed;
        Ok(())
    }

    /// Joins the state of another path; returns `true` if that added anything.
    fn join(&mut self, state: &mut State, other: &State) -> Result<bool, TooMuch> {
        let mut more = false;
        let values: Vec<u32> =
            crate::sorted::set(state.pointers.keys().chain(other.pointers.keys()).copied().collect());
        for value in values {
            let (left_own, right_own) = (Pointer::of(value), Pointer::of(value));
            let (left, right) = (state.pointers_of(value, &left_own), other.pointers_of(value, &right_own));
            if let ([left], [right]) = (left, right) {
                if left.is_same(right) {
                    continue;
                }
            }
            let mut joined = self.apart(left, state)?;
            for pointer in self.apart(right, other)? {
                match joined.iter_mut().find(|other| other.is_same(&pointer)) {
                    Some(other) => pointer.strange.into_iter().for_each(|write| add(&mut other.strange, write)),
                    None => joined.push(pointer),
                }
            }
            if joined.len() > MAX_POINTERS {
                return Err(TooMuch);
            }
            self.take(joined.iter().map(|pointer| 1 + pointer.strange.len()).sum())?;
            if joined != left {
                more = true;
                state.set(value, joined);
            }
        }
        let conditions = state.conditions.len();
        state.conditions.retain(|condition, holds| other.conditions.get(condition) == Some(holds));
        more |= state.conditions.len() < conditions;
        Ok(state.bytes.join(&other.bytes) | more)
    }

    /// Returns the pointers of a value that becomes several tensors, each with its faults on this path.
    fn apart(&mut self, pointers: &[Pointer], state: &State) -> Result<Vec<Pointer>, TooMuch> {
        let mut pointers = pointers.to_vec();
        if let [pointer] = pointers.as_mut_slice() {
            if let Some(place) = self.place(pointer) {
                let steps = state.bytes.read(place, &mut pointer.strange);
                self.take(steps)?;
                let memory = pointer.memory;
                pointer.strange.retain(|write| *write == BEFORE || !self.is_own(*write, memory));
            }
        }
        Ok(pointers)
    }

    /// Returns the bytes that a pointer leads to; `None` if it is null, or if there are none.
    pub(super) fn place(&self, pointer: &Pointer) -> Option<MemoryRange> {
        if pointer.memory == NOWHERE {
            return None;
        }
        let (memory, tensor) = (self.values.place(pointer.memory), self.values.place(pointer.tensor));
        let size = tensor.end - tensor.start;
        (size > 0).then_some(MemoryRange { end: memory.start.saturating_add(size), ..memory })
    }

    /// Returns the event of a write.
    pub(super) fn event_of(&self, write: u32) -> u32 {
        self.events.event_and_memory(write, &self.through).0
    }

    /// Returns the value whose memory a write changes.
    pub(super) fn memory_of(&self, write: u32) -> u32 {
        self.events.event_and_memory(write, &self.through).1
    }
}

/// The most tensors that a value may be. Beyond that, it is not followed.
pub(super) const MAX_POINTERS: usize = 64;

/// Adds a write to a list, unless it is already there.
pub(super) fn add(writes: &mut Vec<u32>, write: u32) {
    if !writes.contains(&write) {
        writes.push(write);
    }
}
