//! The effects of instructions on memory, following the runtime's semantics: which write each read gets its bytes from, when bytes are
//! needed, and where a value overwrites bytes that another needs. All answers about memory come from this model.
//!
//! It follows the runtime's `method.cpp` and its kernels. A value is a tensor with a pointer: to its planned place, to the file's data, or
//! to memory set by a caller. `MoveCall` copies the pointer, `et_view` sets it, `FreeCall` makes it null; where paths join, there are several
//! possible pointers. Memory consists of bytes, with the writes that they may come from. After a jump, both the destination and the next
//! instruction may follow, unless the condition is a constant. Values that a run reads before it writes them, and values that have a name
//! or an initial state, keep their content from run to run.
//!
//! [`Dataflow::check`] follows bytes in planned memory, and finds reads of another value's bytes. The other functions follow them as if all
//! tensors had memory of their own, which is the meaning of a program: so a view has its base's bytes, and a tensor is needed until its last
//! read, even if the file's plan allows another tensor to overwrite it.
//!
//! The work is proportional to the method's size. Beyond that, dataflow is not tracked, and [`Dataflow::unknown`] has the reason.

mod access;
mod blocks;
mod bytes;
mod events;
mod needs;
mod payloads;
mod periods;
mod state;
mod step;
mod values;
mod walk;

pub(crate) use access::{Access, Accesses, Calls, Role, UNKNOWN_DELEGATE, arguments, size};
pub(crate) use blocks::Branch;
pub(crate) use bytes::{BEFORE, Bytes, MemoryRange};
pub(crate) use events::{Event, Kind};
pub(crate) use needs::Needs;
pub(crate) use payloads::DelegateOutputs;
pub(crate) use walk::{Conflict, Null, Rebound, Reordered, Source, StaleView};

use crate::schema::program::ExecutionPlan;
use crate::sorted::set;
use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};
use blocks::Blocks;
use events::Events;
use values::Values;
use walk::MethodWalk;

/// The reason why dataflow is unknown if lists are too long.
const LONG_LISTS: &str = "the instructions name long lists so often that not all of them were followed";
const MOVED_LISTS: &str = "a list of tensors is moved, which is not followed";
/// The reason why dataflow is unknown if there are too many paths, or too many pieces of memory.
const TOO_MUCH: &str = "the method jumps so often, or its tensors overlap so often, that they were not followed";

/// For each method, the values that it keeps from run to run, as [`Dataflow::kept_apart`] returns them.
pub(crate) type KeptApart = Vec<Option<Vec<u32>>>;

/// A period of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Period {
    /// The first time.
    #[serde(serialize_with = "as_instruction")]
    #[cfg_attr(feature = "schemars", schemars(with = "i64"))]
    pub first: usize,
    /// The last time.
    #[serde(serialize_with = "as_instruction")]
    #[cfg_attr(feature = "schemars", schemars(with = "i64"))]
    pub last: usize,
}

/// Serializes a time as the index of its instruction, from 0; -1 stands for the inputs.
pub(crate) fn as_instruction<S: serde::Serializer>(time: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(i64::try_from(*time).unwrap_or(i64::MAX) - 1)
}

/// A gap in what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unknown {
    /// The time of the instruction, counted from 1; `None` if the gap concerns the whole method.
    pub(crate) time: Option<usize>,
    pub(crate) why: &'static str,
}

/// The dataflow of a method. Times count its instructions from 1, over all chains. Inputs and states are written at time 0, and
/// outputs are read after the last instruction.
pub(crate) struct Dataflow {
    events: Events,
    values: Values,
    blocks: Blocks,
    /// The origins of the content of each read, in order of the reads.
    pub(crate) sources: Vec<Source>,
    /// Writes to the memory of another value, as (event, memory). They are numbered after the events.
    through: Vec<(u32, u32)>,
    /// The periods in which the content of each write is needed, in order of the writes; empty unless requested.
    periods: Vec<(u32, Period)>,
    /// Bytes that a value needs and another one overwrites; empty unless requested.
    pub(crate) conflicts: Vec<Conflict>,
    /// Uses of null pointers.
    pub(crate) nulls: Vec<Null>,
    /// Reads of views whose bytes are elsewhere; empty unless conflicts are requested.
    pub(crate) stale_views: Vec<StaleView>,
    /// Views that read elements in another order than they were written, in order; empty unless conflicts are requested.
    pub(crate) reordered: Vec<Reordered>,
    /// The tensors that outputs in the caller's memory are after a run, in order; empty unless conflicts are requested.
    pub(crate) rebound: Vec<Rebound>,
    /// The gaps in what is known, in order of time.
    pub(crate) unknown: Vec<Unknown>,
}

/// The answer to find.
#[derive(Clone, Copy, PartialEq)]
enum Find {
    Sources,
    Periods,
    Conflicts,
}

impl Dataflow {
    /// Returns the dataflow of a method's tensors that may be in planned memory, with the periods in which their bytes are needed.
    pub(crate) fn of(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        Self::find(plan, calls, Find::Periods)
    }

    /// Returns the dataflow of a method, limited to the origins of the content of reads.
    pub(crate) fn of_reads(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        Self::find(plan, calls, Find::Sources)
    }

    /// Returns the conflicts in a method's planned memory, and its uses of null pointers.
    pub(crate) fn check(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        Self::find(plan, calls, Find::Conflicts)
    }

    fn find(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>, what: Find) -> Self {
        let mut values = Values::new(plan);
        let followed = match what {
            Find::Sources => vec![true; plan.values().len()],
            // Other values cannot be overwritten, and have no place that keeps them.
            Find::Periods | Find::Conflicts => core::mem::take(&mut values.may_be_planned),
        };
        let mut events = Events::new(plan, calls, followed);
        let blocks = Blocks::new(plan, &events);
        let mut is_known = values.find_views(plan, &events, &blocks);
        events.keep(&values.kept);
        if what != Find::Conflicts {
            values.separate();
        }
        let (mut passed, mut reordered, mut rebound) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (mut through, mut periods) = (Vec::new(), Vec::new());
        // A walk may find further values that are read before they are written; the next walk treats them as kept.
        for walks in 1.. {
            let mut walk = MethodWalk::new(plan, &events, &values, &blocks, what != Find::Conflicts);
            let mut result = walk.run();
            if let (Ok(()), Find::Periods) = (&result, what) {
                result = periods::of_writes(&mut walk).map(|found| periods = found);
            }
            is_known &= result.is_ok();
            (passed, through, reordered, rebound) = (walk.passed, walk.through, walk.reordered, walk.rebound);
            if !is_known {
                break;
            }
            let unwritten = passed.iter().flat_map(|passed| &passed.unwritten);
            let mut kept: Vec<u32> = set(unwritten.map(|value| values.base(*value)).collect());
            kept.retain(|value| values.kept.binary_search(&(*value, true)).is_err());
            if kept.is_empty() {
                break;
            }
            if walks == MAX_WALKS {
                is_known = false;
                break;
            }
            values.kept.retain(|(value, _)| kept.binary_search(value).is_err());
            values.kept.extend(kept.into_iter().map(|value| (value, true)));
            values.kept.sort();
            events.keep(&values.kept);
        }
        let mut unknown = core::mem::take(&mut events.unknown);
        if !is_known {
            unknown.push(Unknown { time: None, why: TOO_MUCH });
            (passed, through, reordered, rebound) = Default::default();
            periods = periods::of_mentions(&events);
        }
        unknown.sort();
        let mut found = Self {
            events,
            values,
            blocks,
            through,
            periods,
            unknown,
            sources: Vec::new(),
            conflicts: Vec::new(),
            nulls: Vec::new(),
            stale_views: Vec::new(),
            reordered: reordered.into_iter().map(|((view, base), read)| Reordered { view, base, read }).collect(),
            rebound,
        };
        for mut passed in passed {
            found.sources.append(&mut passed.sources);
            found.conflicts.append(&mut passed.conflicts);
            found.nulls.append(&mut passed.nulls);
            found.stale_views.append(&mut passed.stale);
        }
        found
    }

    /// Returns the time at which outputs are read.
    pub(crate) fn end(&self) -> usize {
        self.events.end()
    }

    /// Returns the events, in order of time.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events.list
    }

    /// Returns the events at a time, and the index of the first of them.
    pub(crate) fn at(&self, time: usize) -> (usize, &[Event]) {
        self.events.at(time)
    }

    /// Returns the event with this index; `None` for [`BEFORE`].
    pub(crate) fn event(&self, index: u32) -> Option<&Event> {
        (index != BEFORE).then(|| self.events.event(index))
    }

    /// Returns the values that keep their content from run to run, in order.
    pub(crate) fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        self.values.kept.iter().map(|(value, _)| *value)
    }

    /// Returns the values that keep their content as if all tensors had memory of their own: [`kept`](Self::kept) if they do not overwrite each
    /// other and the method was followed, otherwise `None`.
    pub(crate) fn kept_apart(&self) -> Option<Vec<u32>> {
        let is_followed = self.unknown.iter().all(|unknown| unknown.time.is_some());
        (is_followed && self.conflicts.is_empty()).then(|| self.kept().collect())
    }

    /// Returns the index of the event of a write; [`BEFORE`] remains.
    pub(crate) fn event_of(&self, write: u32) -> u32 {
        self.event_and_memory(write).map_or(BEFORE, |(event, _)| event)
    }

    /// Returns the event of a write, and the value whose memory it changes; `None` for [`BEFORE`].
    fn event_and_memory(&self, write: u32) -> Option<(u32, u32)> {
        (write != BEFORE).then(|| self.events.event_and_memory(write, &self.through))
    }

    /// Returns the origins of the content of a read.
    pub(crate) fn sources_of(&self, read: u32) -> &[Source] {
        let (_, rest) = self.sources.split_at(self.sources.partition_point(|source| source.read < read));
        let (of_read, _) = rest.split_at(rest.partition_point(|source| source.read == read));
        of_read
    }

    /// Returns `true` if a value that no instruction writes may also be a view of `base`, judging by its place.
    pub(crate) fn may_be_base(&self, base: u32, view: u32) -> bool {
        self.values.may_be_base(base, view, &self.blocks)
    }

    /// Returns the views by their place alone of a value.
    pub(crate) fn views_of(&self, base: u32) -> impl Iterator<Item = u32> + '_ {
        let of_base = move |(_, other): &(u32, &Option<u32>)| **other == Some(base);
        (0u32..).zip(&self.values.bases).filter(of_base).map(|(view, _)| view)
    }

    /// Returns the branches on a path from one time to another.
    pub(crate) fn path(&self, from: usize, to: usize) -> Vec<Branch> {
        self.blocks.path(from, to)
    }

    /// Returns the jumps at the ends of loops that a run never leaves.
    pub(crate) fn endless(&self) -> Vec<usize> {
        self.blocks.endless()
    }
}

/// The most walks to find the values that are kept from run to run.
const MAX_WALKS: usize = 4;

/// Facts about each value that do not need following paths.
pub(crate) struct ValueFacts {
    bases: Vec<Option<u32>>,
    /// For each value, `true` if an instruction certainly writes it.
    pub(crate) is_written: Vec<bool>,
}

impl ValueFacts {
    #[expect(clippy::indexing_slicing, reason = "`is_written` has an item for each value, and events are of values")]
    pub(crate) fn of(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        let mut values = Values::new(plan);
        let events = Events::new(plan, calls, vec![true; plan.values().len()]);
        values.find_views(plan, &events, &Blocks::new(plan, &events));
        let mut is_written = vec![false; plan.values().len()];
        for event in events.list.iter().filter(|event| event.certain && event.time > 0) {
            is_written[event.value as usize] |= event.kind.writes() || event.kind.points();
        }
        Self { bases: values.bases, is_written }
    }

    /// Returns the base of a value that is a view by its place alone, without an instruction that makes the view.
    pub(crate) fn base(&self, value: i32) -> Option<i32> {
        let base = *self.bases.get(usize::try_from(value).ok()?)?;
        i32::try_from(base?).ok()
    }
}
