//! Follows every path through a method, until nothing new is found.

use super::blocks::Block;
use super::events::{Event, Events, Kind};
use super::held::{BEFORE, Held, Place, VALUES, VIEWS};
use crate::keyed::sort;
use crate::schema::program::{ExecutionPlan, Tensor};
use alloc::{vec, vec::Vec};

/// Where the content of a read may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The reading event.
    pub(crate) read: u32,
    /// The event that wrote it; [`BEFORE`](super::BEFORE) if none did.
    pub(crate) write: u32,
    /// The value whose memory is read: if the event's value is a view, its base.
    pub(crate) base: u32,
    /// Whether the write made the value a view instead of writing its bytes.
    pub(crate) view: bool,
}

/// What the walk found for a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Passed {
    /// In order of the reads.
    pub(super) sources: Vec<Source>,
    /// Each write through a view, and the values whose memory it writes.
    pub(super) through: Vec<(u32, u32)>,
    /// The writes of which some content is left at its start and its end, in order.
    pub(super) reach_in: Vec<u32>,
    pub(super) reach_out: Vec<u32>,
    /// Whether any path leads to it.
    pub(super) reached: bool,
}

/// The error of a walk that takes too long.
pub(super) struct TooMuch;

/// A view of more values than this is not followed.
const MOST_BASES: usize = 16;

pub(super) struct Walk<'e> {
    events: &'e Events,
    /// The place of each value.
    places: &'e [Place],
    /// Whether an instruction makes the value a view.
    is_view: Vec<bool>,
    /// Whether the value is in planned memory, or anything changes it.
    changes: Vec<bool>,
    /// The values whose memory each view may have.
    bases: Vec<Vec<u32>>,
    passed: Vec<Passed>,
    /// How many more steps it may take.
    budget: usize,
    /// How many pieces and sources may be kept at one time.
    room: usize,
    /// How many sources are kept.
    sources: usize,
    /// Whether to find what reaches each block.
    reach: bool,
    /// What a read finds.
    found: Vec<u32>,
}

/// The place of each value's content.
pub(super) fn places(plan: &ExecutionPlan<'_>) -> Vec<Place> {
    let mut places = Vec::with_capacity(plan.values().len());
    for index in 0..plan.values().len() {
        let planned = plan.tensor(index).and_then(planned);
        places.push(planned.unwrap_or_else(|| Place::of_value(VALUES, index as u32)));
    }
    places
}

/// A tensor's bytes in planned memory, if it has any.
pub(super) fn planned(tensor: &Tensor<'_>) -> Option<Place> {
    let allocation = tensor.allocation_info?;
    let start = allocation.memory_offset();
    let end = start.checked_add(tensor.shape().count_bytes().ok()?).filter(|end| *end > start)?;
    Some(Place { buffer: allocation.memory_id, start, end })
        .filter(|place| place.buffer != VALUES && place.buffer != VIEWS)
}

impl<'e> Walk<'e> {
    pub(super) fn new(events: &'e Events, places: &'e [Place], budget: usize, room: usize, reach: bool) -> Self {
        let mut is_view = vec![false; places.len()];
        let mut changes: Vec<bool> = places.iter().map(|place| place.buffer != VALUES).collect();
        let mark = |marks: &mut [bool], value: u32| {
            if let Some(mark) = marks.get_mut(value as usize) {
                *mark = true;
            }
        };
        for event in events.list.iter().filter(|event| event.kind.writes()) {
            mark(&mut changes, event.value);
            if matches!(event.kind, Kind::View(_)) {
                mark(&mut is_view, event.value);
            }
        }
        // A view's base may be written through it.
        events.views.iter().for_each(|base| mark(&mut changes, *base));
        let bases = vec![Vec::new(); events.views.len()];
        let (passed, found) = (Vec::new(), Vec::new());
        Self { events, places, is_view, changes, bases, passed, budget, room, sources: 0, reach, found }
    }

    fn is_view(&self, value: u32) -> bool {
        self.is_view.get(value as usize) == Some(&true)
    }

    fn take(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.budget = self.budget.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    /// Walks until the content at the start of each block is complete.
    pub(super) fn run(mut self, blocks: &[Block]) -> Result<(Vec<Passed>, usize), TooMuch> {
        self.passed.resize(blocks.len(), Passed::default());
        loop {
            let before = self.bases.iter().map(Vec::len).sum::<usize>();
            self.all(blocks)?;
            // In a loop, the base of a view may be found only after a use of the view.
            if blocks.len() <= 3 || before == self.bases.iter().map(Vec::len).sum::<usize>() {
                return Ok((self.passed, self.budget));
            }
        }
    }

    fn all(&mut self, blocks: &[Block]) -> Result<(), TooMuch> {
        let mut starts: Vec<Option<Held>> = vec![None; blocks.len()];
        let mut waiting = vec![false; blocks.len()];
        if let (Some(start), Some(waiting)) = (starts.first_mut(), waiting.first_mut()) {
            (*start, *waiting) = (Some(Held::default()), true);
        }
        // The number of pieces in `starts`.
        let mut pieces = 0usize;
        let mut again = true;
        while again {
            again = false;
            self.take(blocks.len())?;
            for (index, block) in blocks.iter().enumerate() {
                let Some(true) = waiting.get_mut(index).map(core::mem::take) else { continue };
                let start = starts.get_mut(index);
                // The start of a block with several predecessors is kept, to be joined with more.
                let start =
                    if block.before > 1 { start.and_then(|held| held.clone()) } else { start.and_then(Option::take) };
                let Some(held) = start else { continue };
                if block.before <= 1 {
                    pieces = pieces.saturating_sub(held.len());
                }
                self.take(2 * held.len())?;
                let mut held = Some(self.block(index, block, held)?);
                let [one, other] = block.next;
                for (next, is_last) in [(one, other.is_none()), (other, true)] {
                    let Some(next) = next else { continue };
                    let held = if is_last { held.take() } else { held.clone() };
                    let Some(held) = held else { continue };
                    let (Some(start), Some(waits)) = (starts.get_mut(next), waiting.get_mut(next)) else { continue };
                    let joins = blocks.get(next).is_some_and(|block| block.before > 1);
                    let mut steps = 2 * held.len() + 1;
                    let new = match start {
                        Some(start) if joins => {
                            steps += 4 * start.len();
                            let before = start.len();
                            let new = start.join(&held);
                            pieces = (pieces + start.len()).saturating_sub(before);
                            new
                        }
                        start => {
                            pieces = (pieces + held.len()).saturating_sub(start.as_ref().map_or(0, Held::len));
                            *start = Some(held);
                            true
                        }
                    };
                    *waits |= new;
                    again |= new && next <= index;
                    self.take(steps)?;
                    if pieces > self.room {
                        return Err(TooMuch);
                    }
                }
            }
        }
        Ok(())
    }

    /// The writes of which some content is left, if that was asked for.
    fn left(&self, held: &Held) -> Vec<u32> {
        if self.reach { held.all() } else { Vec::new() }
    }

    /// Walks a block, and records the sources of its reads.
    fn block(&mut self, index: usize, block: &Block, mut held: Held) -> Result<Held, TooMuch> {
        let mut passed = Passed { reached: true, reach_in: self.left(&held), ..Passed::default() };
        for time in block.first..=block.last {
            self.step(time, &mut held, &mut passed)?;
        }
        passed.reach_out = self.left(&held);
        self.take(2 * passed.reach_out.len())?;
        if let Some(place) = self.passed.get_mut(index) {
            self.sources = (self.sources + passed.sources.len()).saturating_sub(place.sources.len());
            *place = passed;
        }
        if self.sources > self.room {
            return Err(TooMuch);
        }
        Ok(held)
    }

    /// Handles reads first, because a call may write what it reads.
    fn step(&mut self, time: usize, held: &mut Held, passed: &mut Passed) -> Result<(), TooMuch> {
        let events = self.events;
        let range = events.at(time);
        // The range is one of this list.
        let of_time = events.list.get(range.clone()).unwrap_or_default();
        let numbered = || range.clone().zip(of_time);
        for (index, event) in numbered().filter(|(_, event)| event.kind.reads()) {
            self.read(index as u32, event, held, &mut passed.sources)?;
        }
        for (index, event) in numbered().filter(|(_, event)| event.kind.writes()) {
            let write = index as u32;
            if let Kind::View(view) = event.kind {
                let of = events.views.get(view as usize).copied().unwrap_or(event.value);
                let bases = self.bases_of(of, held)?;
                let place = Place::of_value(VIEWS, event.value);
                let steps = held.write(place, write);
                self.take(steps + bases.len())?;
                let known = self.bases.get_mut(view as usize);
                if let Some(known) = known {
                    known.extend(bases);
                    sort(known);
                    known.dedup();
                    if known.len() > MOST_BASES {
                        return Err(TooMuch);
                    }
                }
                continue;
            }
            if !self.is_view(event.value) {
                let Some(place) = self.places.get(event.value as usize) else { continue };
                let steps = held.write(*place, write);
                self.take(steps)?;
                continue;
            }
            let bases = self.bases_of(event.value, held)?;
            for base in &bases {
                passed.through.push((write, *base));
                let Some(place) = self.places.get(*base as usize) else { continue };
                let steps = if bases.len() == 1 { held.write(*place, write) } else { held.may_write(*place, write) };
                self.take(steps)?;
            }
        }
        Ok(())
    }

    /// The values whose memory a value may use: itself, or the bases that it is a view of.
    fn bases_of(&mut self, value: u32, held: &Held) -> Result<Vec<u32>, TooMuch> {
        if !self.is_view(value) {
            return Ok(vec![value]);
        }
        let (mut made, mut bases) = (Vec::new(), Vec::new());
        let steps = held.read(Place::of_value(VIEWS, value), &mut made);
        self.take(steps)?;
        for write in made {
            match self.events.list.get(write as usize).map(|event| event.kind) {
                Some(Kind::View(view)) => bases.extend(self.bases.get(view as usize).into_iter().flatten()),
                _ => bases.push(value),
            }
        }
        self.take(bases.len())?;
        sort(&mut bases);
        bases.dedup();
        Ok(bases)
    }

    fn read(&mut self, read: u32, event: &Event, held: &Held, sources: &mut Vec<Source>) -> Result<(), TooMuch> {
        if !self.is_view(event.value) {
            return self.read_base(read, event, event.value, held, sources);
        }
        let mut found = core::mem::take(&mut self.found);
        found.clear();
        held.read(Place::of_value(VIEWS, event.value), &mut found);
        for write in found.iter().filter(|write| **write != BEFORE) {
            sources.push(Source { read, write: *write, base: event.value, view: true });
        }
        self.found = found;
        for base in self.bases_of(event.value, held)? {
            self.read_base(read, event, base, held, sources)?;
        }
        Ok(())
    }

    /// Reads the memory of a value.
    fn read_base(
        &mut self,
        read: u32,
        event: &Event,
        base: u32,
        held: &Held,
        sources: &mut Vec<Source>,
    ) -> Result<(), TooMuch> {
        let Some(place) = self.places.get(base as usize) else { return Ok(()) };
        self.found.clear();
        let steps = if self.changes.get(base as usize) == Some(&true) {
            held.read(*place, &mut self.found)
        } else {
            self.found.push(BEFORE);
            1
        };
        self.take(steps + self.found.len())?;
        if sources.len() > self.room {
            return Err(TooMuch);
        }
        for write in &self.found {
            let unread = match event.kind {
                // The first piece that is filled replaces the content before.
                Kind::Fill => *write == BEFORE,
                Kind::Replace => *write != BEFORE,
                _ => false,
            };
            if !unread {
                sources.push(Source { read, write: *write, base, view: false });
            }
        }
        Ok(())
    }
}
