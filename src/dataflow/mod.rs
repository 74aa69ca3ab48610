//! What each instruction of a method reads and writes, which write each read gets its bytes from, and when bytes are needed.
//!
//! Disassembly, graph, memory, diff and the rule about overlapping planned tensors use it. Memory is tracked byte by
//! byte: a tensor that no instruction writes, at the place of one that an instruction wrote, is a view of that one.
//! After a jump, both the destination and the next instruction may follow, unless its condition is a constant; where
//! paths join, a read may get the result of either.
//!
//! The work is in proportion to the method's size. Beyond that, dataflow is not tracked, and [`Dataflow::unknown`] says
//! so.

mod access;
mod apart;
mod blocks;
mod events;
mod held;
mod payloads;
mod periods;
mod walk;

pub(crate) use access::{Accesses, Calls, Role, UNKNOWN_DELEGATE, arguments, signature, size};
pub(crate) use apart::are_apart;
pub(crate) use events::{Event, Kind};
pub(crate) use payloads::DelegateOutputs;
pub(crate) use walk::Source;

use crate::keyed::sort;
use crate::schema::program::{ExecutionPlan, Tensor};
use alloc::{vec, vec::Vec};
use blocks::blocks;
use events::Events;
pub(crate) use held::{Held, Place};
use walk::{Passed, TooMuch, Walk, places};

/// In the place of a write: the content was there before the first instruction, or is undefined.
pub(crate) const BEFORE: u32 = held::BEFORE;

/// Why dataflow is unknown: lists are too long.
const LONG_LISTS: &str = "the instructions name long lists so often that not all of them were followed";
/// Why dataflow is unknown: too many jumps, or too many pieces of memory.
const TOO_MANY_WAYS: &str = "the method jumps so often that only the order of its instructions was followed";
const TOO_MANY_PIECES: &str = "its tensors overlap so often that they were not followed";

/// A period of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Period {
    /// The first time.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_instruction"))]
    #[cfg_attr(feature = "schemars", schemars(with = "i64"))]
    pub first: usize,
    /// The last time.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_instruction"))]
    #[cfg_attr(feature = "schemars", schemars(with = "i64"))]
    pub last: usize,
}

/// Serializes a time as the index of its instruction, from 0: -1 stands for the inputs.
#[cfg(feature = "serde")]
pub(crate) fn as_instruction<S: serde::Serializer>(time: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(i64::try_from(*time).unwrap_or(i64::MAX) - 1)
}

/// Something that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unknown {
    /// The instruction, counted from 1; `None` if it concerns the whole method.
    pub(crate) time: Option<usize>,
    pub(crate) why: &'static str,
}

/// The dataflow of a method. Times count its instructions from 1, over all chains; 0 is that of inputs and states, and
/// outputs are read after the last instruction.
pub(crate) struct Dataflow {
    events: Events,
    places: Vec<Place>,
    /// Where the content of each read comes from, in order of the reads.
    pub(crate) sources: Vec<Source>,
    /// Each write through a view, and the values whose memory it writes, in order.
    through: Vec<(u32, u32)>,
    /// When the content of each write is needed, in order of the writes; empty if that was not asked for.
    periods: Vec<(u32, Period)>,
    /// The values that keep their content from run to run, in order.
    pub(crate) kept: Vec<u32>,
    /// What is not known, in order of time.
    pub(crate) unknown: Vec<Unknown>,
}

impl Dataflow {
    /// The dataflow of a method.
    pub(crate) fn of(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        Self::find(plan, calls, true)
    }

    /// The dataflow of a method, without when bytes are needed.
    pub(crate) fn of_reads(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        Self::find(plan, calls, false)
    }

    fn find(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>, needs: bool) -> Self {
        let mut kept: Vec<u32> = Vec::new();
        for (value, tensor) in plan.tensors() {
            if has_state(tensor) {
                kept.push(value as u32);
            }
        }
        // First with the states that have initial values; then also with tensors that are read before they are written;
        // then also with tensors that are only read.
        let mut found = Self {
            events: Events::new(plan, calls),
            places: places(plan),
            sources: Vec::new(),
            through: Vec::new(),
            periods: Vec::new(),
            kept,
            unknown: Vec::new(),
        };
        // Usually the first of these are those of a guess, and one step is enough for them.
        found.events.keep(&found.kept);
        let guess = found.guess();
        found.keep(&guess);
        found.follow(plan, needs);
        let mut steps: &[bool] = &[true, false];
        if !guess.is_empty() {
            if found.read_before(plan, true, &guess) == guess {
                steps = &[false];
            } else {
                found.kept.retain(|value| guess.binary_search(value).is_err());
                found.follow(plan, needs);
            }
        }
        for written in steps {
            let new = found.read_before(plan, *written, &[]);
            if new.is_empty() {
                continue;
            }
            found.keep(&new);
            found.follow(plan, needs);
        }
        found
    }

    fn follow(&mut self, plan: &ExecutionPlan<'_>, needs: bool) {
        self.events.keep(&self.kept);
        let (events, places) = (&self.events, &self.places);
        self.unknown = events.unknown.clone();
        let mut followed = follow(plan, events, places, true, needs);
        if followed.is_err() {
            followed = follow(plan, events, places, false, needs);
            let why = if followed.is_ok() { TOO_MANY_WAYS } else { TOO_MANY_PIECES };
            self.unknown.push(Unknown { time: None, why });
        }
        sort(&mut self.unknown);
        let passed;
        (passed, self.periods) = followed.unwrap_or_else(|TooMuch| (Vec::new(), mentions(events)));
        self.sources.clear();
        self.through.clear();
        for mut passed in passed {
            self.sources.append(&mut passed.sources);
            self.through.append(&mut passed.through);
        }
    }

    /// Adds values that keep their content from run to run.
    fn keep(&mut self, new: &[u32]) {
        self.kept.extend_from_slice(new);
        sort(&mut self.kept);
    }

    /// Tensors in planned memory that seem to be read before they are written, in order: the first event of each is a read, a later
    /// one a write. None if some of these, of the kept ones, and of those that are replaced, overlap: then
    /// [`read_before`](Self::read_before) could not tell whether the guess is right.
    fn guess(&self) -> Vec<u32> {
        /// What is known of a value.
        #[derive(Clone, Copy, Default)]
        struct Known {
            is_read_first: bool,
            is_seen: bool,
            is_written: bool,
            is_view: bool,
            is_replaced: bool,
        }
        let mut known = vec![Known::default(); self.places.len()];
        for event in self.events.list.iter().filter(|event| !matches!(event.kind, Kind::Base | Kind::Keep)) {
            let Some(known) = known.get_mut(event.value as usize) else { continue };
            known.is_read_first |= !known.is_seen && event.certain && matches!(event.kind, Kind::Read | Kind::InPlace);
            known.is_seen = true;
            known.is_written |= event.kind.writes();
            known.is_view |= matches!(event.kind, Kind::View(_));
            known.is_replaced |= event.kind == Kind::Replace;
        }
        let (mut guess, mut places) = (Vec::new(), Vec::new());
        for (value, (known, place)) in (0..).zip(known.iter().zip(&self.places)) {
            let is_planned = place.buffer != held::VALUES;
            let is_guess = is_planned && known.is_read_first && known.is_written && !known.is_view;
            if is_guess {
                guess.push(value);
            }
            if is_planned && (is_guess || known.is_replaced || self.kept.binary_search(&value).is_ok()) {
                places.push((place.buffer, place.start, place.end));
            }
        }
        sort(&mut places);
        let overlaps = |pair: &[(u32, u64, u64)]| matches!(pair, [one, other] if one.0 == other.0 && one.2 > other.1);
        if places.windows(2).any(overlaps) {
            guess.clear();
        }
        guess
    }

    /// The tensors in planned memory that are read before they are written, in order: those that some instruction
    /// writes (`written`), or all. Of the kept ones, only those of a `guess`, as if they were not kept.
    fn read_before(&self, plan: &ExecutionPlan<'_>, written: bool, guess: &[u32]) -> Vec<u32> {
        let mut writes = vec![!written; self.places.len()];
        for event in self.events.list.iter().filter(|event| event.kind.writes()) {
            if let Some(writes) = writes.get_mut(event.value as usize) {
                *writes = true;
            }
        }
        let mut found = Vec::new();
        for (_, base) in &self.through {
            if let Some(writes) = writes.get_mut(*base as usize) {
                *writes = true;
            }
        }
        let is_guess = |value: &u32| guess.binary_search(value).is_ok();
        // The first events are the writes of what is kept.
        let before = |source: &Source| {
            source.write == BEFORE
                || self.kept.get(source.write as usize).is_some_and(is_guess)
                    && self.event(source.read).is_some_and(|event| event.kind != Kind::Fill)
        };
        for source in self.sources.iter().filter(|source| before(source)) {
            let certain = self.event(source.read).is_some_and(|event| event.certain && event.kind != Kind::Base);
            let planned = plan.tensor(source.base).is_some_and(|tensor| tensor.allocation_info.is_some());
            if certain && planned && writes.get(source.base as usize) == Some(&true) {
                found.push(source.base);
            }
        }
        sort(&mut found);
        found.dedup();
        found.retain(|value| is_guess(value) || self.kept.binary_search(value).is_err());
        found
    }

    /// The time at which outputs are read.
    pub(crate) fn end(&self) -> usize {
        self.events.end()
    }

    /// The events, in order of time.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events.list
    }

    /// The events at a time, and the index of the first.
    pub(crate) fn at(&self, time: usize) -> (usize, &[Event]) {
        let range = self.events.at(time);
        // The range is one of this list.
        (range.start, self.events.list.get(range).unwrap_or_default())
    }

    pub(crate) fn event(&self, index: u32) -> Option<&Event> {
        self.events.list.get(index as usize)
    }

    /// Where the content of a read comes from.
    pub(crate) fn sources_of(&self, read: u32) -> &[Source] {
        let start = self.sources.partition_point(|source| source.read < read);
        let end = self.sources.partition_point(|source| source.read <= read);
        // Both are positions in this list, and `start` is not after `end`.
        self.sources.get(start..end).unwrap_or_default()
    }

    /// Whether two tensors have bytes in common, and whether one of them has all bytes of the other.
    pub(crate) fn overlap(&self, one: u32, other: u32) -> Option<Overlap> {
        let (one, other) = (self.places.get(one as usize)?, self.places.get(other as usize)?);
        if !one.overlaps(other) || one.buffer == held::VALUES {
            return None;
        }
        let inside = one.covers(other) || other.covers(one);
        let bytes = |place: &Place| (place.start, place.end);
        Some(Overlap { buffer: one.buffer, bytes: [bytes(one), bytes(other)], inside })
    }

    /// Sets `owners` to the values whose memory a write is in.
    fn owners(&self, write: u32, owners: &mut Vec<u32>) {
        owners.clear();
        let start = self.through.partition_point(|(other, _)| *other < write);
        for (other, base) in self.through.get(start..).unwrap_or_default() {
            if *other != write {
                break;
            }
            owners.push(*base);
        }
        if let (true, Some(event)) = (owners.is_empty(), self.event(write)) {
            owners.push(event.value);
        }
    }

    /// For each value in order, when its bytes are needed, and the values that it is a view of.
    pub(crate) fn needs(&self) -> Needs {
        let mut needs = Needs { periods: Vec::new(), views: Vec::new() };
        let mut owners = Vec::new();
        for (write, period) in &self.periods {
            self.owners(*write, &mut owners);
            for owner in &owners {
                needs.periods.push((*owner, *period));
            }
        }
        for value in &self.kept {
            needs.periods.push((*value, Period { first: 0, last: self.end() }));
        }
        // The first and the last use of each view, and the writes whose bytes it has.
        let mut uses: Vec<(u32, u32, usize)> = Vec::new();
        for source in &self.sources {
            let Some(read) = self.event(source.read) else { continue };
            let time = read.time as usize;
            if read.kind == Kind::Base {
                continue;
            }
            if source.view {
                let made = self.event(source.write).map_or(time, |event| event.time as usize);
                uses.push((read.value, BEFORE, made.min(time)));
            } else if source.write == BEFORE {
                needs.periods.push((source.base, Period { first: time, last: time }));
            } else {
                self.owners(source.write, &mut owners);
                if !owners.contains(&read.value) {
                    uses.push((read.value, source.write, time));
                }
            }
        }
        for (write, _) in &self.through {
            if let Some(event) = self.event(*write) {
                uses.push((event.value, *write, event.time as usize));
            }
        }
        sort(&mut uses);
        // Many views may have the bytes of one write that is needed in many periods.
        let mut budget = 16 * self.events.list.len();
        for of_value in uses.chunk_by(|one, other| one.0 == other.0) {
            let Some((value, _, time)) = of_value.first() else { continue };
            let (mut first, mut last) = (*time, *time);
            for (_, _, time) in of_value {
                (first, last) = (first.min(*time), last.max(*time));
            }
            for of_write in of_value.chunk_by(|one, other| one.1 == other.1) {
                let Some((_, write, _)) = of_write.first().filter(|(_, write, _)| *write != BEFORE) else { continue };
                // After a move, the value's bytes are elsewhere, and its own place is not used.
                let mut here = false;
                self.owners(*write, &mut owners);
                for owner in &owners {
                    if owner != value {
                        needs.views.push((*value, *owner));
                        here |= self.overlap(*owner, *value).is_some();
                    }
                }
                if !here {
                    continue;
                }
                let start = self.periods.partition_point(|(other, _)| other < write);
                let end = self.periods.partition_point(|(other, _)| other <= write);
                // Both are positions in this list, and `start` is not after `end`.
                let of_write = self.periods.get(start..end).unwrap_or_default();
                let mut part = |from: Period, to: Period| {
                    let part = Period { first: from.first.max(first), last: to.last.min(last) };
                    if part.first <= part.last {
                        needs.periods.push((*value, part));
                    }
                };
                match (budget.checked_sub(of_write.len()), of_write) {
                    (Some(left), _) => {
                        budget = left;
                        of_write.iter().for_each(|(_, period)| part(*period, *period));
                    }
                    (None, [(_, from), .., (_, to)]) => part(*from, *to),
                    (None, _) => {}
                }
            }
        }
        needs.periods = periods::merged(core::mem::take(&mut needs.periods));
        sort(&mut needs.views);
        needs.views.dedup();
        needs
    }
}

/// When values' bytes are needed.
pub(crate) struct Needs {
    /// Sorted by value and time. A view needs the bytes that it shares as long as it is used; the value that wrote them
    /// needs them at least as long.
    pub(crate) periods: Vec<(u32, Period)>,
    /// A value, and a value whose bytes it reads.
    pub(crate) views: Vec<(u32, u32)>,
}

/// Two tensors that have bytes in common.
pub(crate) struct Overlap {
    pub(crate) buffer: u32,
    /// The start and the end of each.
    pub(crate) bytes: [(u64, u64); 2],
    /// Whether one of them has all bytes of the other.
    pub(crate) inside: bool,
}

type Followed = (Vec<Passed>, Vec<(u32, Period)>);

fn follow(
    plan: &ExecutionPlan<'_>,
    events: &Events,
    places: &[Place],
    jumps: bool,
    needs: bool,
) -> Result<Followed, TooMuch> {
    let blocks = blocks(plan, events, jumps);
    let (budget, room) = ((1 << 16) + 64 * events.size, (1 << 16) + 4 * events.size);
    let (passed, mut budget) = Walk::new(events, places, budget, room, needs).run(&blocks)?;
    let periods = if needs { periods::of_writes(events, &blocks, &passed, &mut budget)? } else { Vec::new() };
    Ok((passed, periods))
}

/// Without dataflow: each value is needed from its first mention to its last.
fn mentions(events: &Events) -> Vec<(u32, Period)> {
    let mut of_value: Vec<(u32, u32, usize)> = Vec::with_capacity(events.list.len());
    for (index, event) in events.list.iter().enumerate() {
        of_value.push((event.value, index as u32, event.time as usize));
    }
    sort(&mut of_value);
    let mut periods = Vec::new();
    for uses in of_value.chunk_by(|one, other| one.0 == other.0) {
        if let (Some((_, event, first)), Some((_, _, last))) = (uses.first(), uses.last()) {
            periods.push((*event, Period { first: *first, last: *last }));
        }
    }
    sort(&mut periods);
    periods
}

/// Whether a tensor is mutable and has an initial state.
pub(crate) fn has_state(tensor: &Tensor<'_>) -> bool {
    tensor.allocation_info.is_some() && (tensor.data_buffer_idx > 0 || tensor.is_external())
}
