//! The memory of values before the first run: according to the file alone, without its instructions' moves and views.

use super::blocks::Blocks;
use super::bytes::MemoryRange;
use super::events::{Events, Kind};
use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor, TensorShapeDynamism};
use crate::sorted::set;
use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

/// The placeholder for the value whose memory a pointer leads to, if the pointer is null.
pub(super) const NOWHERE: u32 = u32::MAX;

pub(super) struct Values {
    /// The memory of each value: in a planned buffer, or in a buffer of its own.
    pub(super) places: Vec<MemoryRange>,
    is_planned: Vec<bool>,
    /// `true` for each value that has a place in planned memory or may get a pointer to it.
    pub(super) may_be_planned: Vec<bool>,
    /// `true` for each tensor with a dim order other than the natural one.
    has_order: Vec<bool>,
    /// The values whose pointer is null when the method is loaded.
    pub(super) nowhere: Vec<u32>,
    /// The outputs in the caller's memory that are not inputs, in order.
    pub(super) given_outputs: Vec<u32>,
    /// The base of each view that was made without an instruction: the exporter leaves out instructions that make a view, and
    /// such a value has the place of another one, which was written before.
    pub(super) bases: Vec<Option<u32>>,
    /// The values at the place of each such view that moves rebind and that are nearer than any other base, the nearest first. They have no
    /// bytes at their place, unless the moved value has the same place.
    moved_bases: Vec<Vec<u32>>,
    /// A number for each value, equal for values that are meant to share memory: views and their bases.
    groups: Vec<u32>,
    /// The values that keep their content from run to run, in order, and whether the next run or a caller reads it.
    pub(super) kept: Vec<(u32, bool)>,
    /// For each value, the times of its first uses.
    first: Vec<First>,
}

/// The first times of events of a value.
#[derive(Clone, Copy)]
struct First {
    /// The first use of any kind.
    used: u32,
    /// The first certain read.
    read: u32,
    /// The first write.
    written: u32,
    /// The first time that the value gets a pointer.
    pointed: u32,
}

/// The most values that moves rebind and that are considered as the base of a view.
const MAX_MOVED_BASES: usize = 8;

const NEVER: u32 = u32::MAX;

impl Values {
    #[expect(clippy::indexing_slicing, reason = "`has_order` has an item for each value")]
    pub(super) fn new(plan: &ExecutionPlan<'_>) -> Self {
        let count = plan.values().len();
        let mut values = Self {
            places: (0..count as u32)
                .map(|value| MemoryRange { buffer: own_buffer(value), start: 0, end: 1 })
                .collect(),
            is_planned: vec![false; count],
            may_be_planned: vec![false; count],
            has_order: vec![false; count],
            nowhere: Vec::new(),
            given_outputs: Vec::new(),
            bases: vec![None; count],
            moved_bases: vec![Vec::new(); count],
            groups: (0..count as u32).collect(),
            kept: Vec::new(),
            first: vec![First { used: NEVER, read: NEVER, written: NEVER, pointed: NEVER }; count],
        };
        let facts = values.places.iter_mut().zip(&mut values.is_planned).zip(&mut values.may_be_planned);
        for ((value, tensor), ((place, is_planned), may_be_planned)) in (0..).zip(plan.values()).zip(facts) {
            let KernelTypes::Tensor(tensor) = &tensor.val else { continue };
            values.has_order[value as usize] = !tensor.shape().is_natural();
            let bytes = tensor.shape().count_bytes().ok();
            place.end = bytes.unwrap_or(1);
            if let Some(planned) = bytes.and_then(|bytes| planned(tensor, bytes)) {
                (*place, *is_planned) = (planned, true);
            }
            *may_be_planned = tensor.allocation_info.is_some() || !tensor.has_data();
            // A caller sets the pointer of a tensor with a name, and no release supports tensors without bounds.
            let is_given = tensor.allocation_info.is_some()
                || tensor.data_buffer_idx != 0
                || tensor.extra_tensor_info.is_some()
                || tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND;
            if !is_given && bytes > Some(0) {
                values.nowhere.push(value);
            }
        }
        if !values.nowhere.is_empty() {
            // The caller also sets the pointers of inputs and outputs.
            let inputs: Vec<u32> = set(plan.inputs().iter().map(|value| *value as u32).collect());
            let outputs: Vec<u32> = set(plan.outputs().iter().map(|value| *value as u32).collect());
            let is_in = |list: &[u32], value: &u32| list.binary_search(value).is_ok();
            values.given_outputs = values.nowhere.clone();
            values.given_outputs.retain(|value| is_in(&outputs, value) && !is_in(&inputs, value));
            values.nowhere.retain(|value| !is_in(&inputs, value) && !is_in(&outputs, value));
        }
        values
    }

    /// Returns the memory of a value.
    #[expect(clippy::indexing_slicing, reason = "each value has a place")]
    pub(super) fn place(&self, value: u32) -> MemoryRange {
        self.places[value as usize]
    }

    /// Returns the times of the first uses of a value.
    #[expect(clippy::indexing_slicing, reason = "each value has an item")]
    fn first(&self, value: u32) -> &First {
        &self.first[value as usize]
    }

    /// Returns `true` if two values are meant to share memory.
    #[expect(clippy::indexing_slicing, reason = "each value has a group")]
    pub(super) fn is_same_memory(&self, left: u32, right: u32) -> bool {
        self.groups[left as usize] == self.groups[right as usize]
    }

    /// Returns `true` if a value's own memory is planned.
    #[expect(clippy::indexing_slicing, reason = "each value has an item")]
    pub(super) fn is_planned(&self, value: u32) -> bool {
        self.is_planned[value as usize]
    }

    /// Returns `true` if a value is a tensor with a dim order other than the natural one.
    #[expect(clippy::indexing_slicing, reason = "each value has an item")]
    pub(super) fn has_order(&self, value: u32) -> bool {
        self.has_order[value as usize]
    }

    /// Returns the base of a value, judging by its place alone.
    #[expect(clippy::indexing_slicing, reason = "each value has an item")]
    pub(super) fn base(&self, value: u32) -> u32 {
        self.bases[value as usize].unwrap_or(value)
    }

    /// Returns the values that a view by its place may have as its base and that moves rebind, the nearest first.
    #[expect(clippy::indexing_slicing, reason = "each value has an item")]
    pub(super) fn moved_bases(&self, value: u32) -> &[u32] {
        &self.moved_bases[value as usize]
    }

    /// Returns `true` if a value has content on every path to the first use of another one.
    fn is_before(&self, value: u32, other: &First, blocks: &Blocks) -> bool {
        let since = self.first(value).written;
        since < other.used && blocks.is_always_before(since, other.used)
    }

    /// Returns `true` if a value that no instruction writes may also be a view of `base`, judging by its place.
    pub(super) fn may_be_base(&self, base: u32, view: u32, blocks: &Blocks) -> bool {
        let covers = || self.place(base).covers(&self.place(view));
        self.base(view) != view && covers() && self.is_before(base, self.first(view), blocks)
    }

    /// Gives each group of values a buffer of its own, as if all tensors had memory of their own.
    pub(super) fn separate(&mut self) {
        for (place, group) in self.places.iter_mut().zip(&self.groups) {
            place.buffer = own_buffer(*group);
        }
    }

    /// Finds views that no instruction makes, and the values that are kept; returns `false` if that takes too long.
    ///
    /// The base of a view is the value at its place that was written before, on every path. If there are several, it is the
    /// one with the next lower index, because the exporter numbers values in the order of instructions. If only another of them keeps its
    /// bytes, the base is ambiguous: see `may_be_base`.
    #[expect(
        clippy::indexing_slicing,
        reason = "`first`, `bases` and `groups` have an item for each value, and events are of values"
    )]
    pub(super) fn find_views(&mut self, plan: &ExecutionPlan<'_>, events: &Events, blocks: &Blocks) -> bool {
        // The values that moves rebind, by place.
        let mut moved = BTreeMap::<MemoryRange, Vec<u32>>::new();
        for event in &events.list {
            if let Kind::Move(_) = event.kind {
                let targets = moved.entry(self.places[event.value as usize]).or_default();
                if targets.last() != Some(&event.value) {
                    targets.push(event.value);
                }
            }
            let first = &mut self.first[event.value as usize];
            let time = match event.kind {
                kind if kind.points() => &mut first.pointed,
                kind if kind.writes() => &mut first.written,
                _ => &mut first.used,
            };
            *time = event.time.min(*time);
            if event.certain && matches!(event.kind, Kind::Read | Kind::Change) {
                first.read = event.time.min(first.read);
            }
        }
        // The values with content, in order.
        let mut owners = Vec::new();
        // The values that no instruction writes, and the values with content at the place of each.
        let (mut views, mut at_place) = (Vec::new(), BTreeMap::<MemoryRange, Vec<u32>>::new());
        for ((value, first), place) in (0..).zip(&mut self.first).zip(&self.places) {
            if place.buffer >= OWN_BUFFERS {
                continue;
            }
            let is_read_first = first.read != NEVER && first.read <= first.written;
            if is_state(plan, value) {
                let named = plan.tensor(value as usize).is_some_and(|tensor| tensor.fully_qualified_name().is_some());
                self.kept.push((value, named || is_read_first));
                first.written = 0;
            } else if first.written == NEVER && first.pointed == NEVER {
                if first.used != NEVER {
                    views.push(value);
                    at_place.entry(*place).or_default();
                }
            } else if is_read_first && first.pointed == NEVER {
                self.kept.push((value, true));
            }
            if first.written != NEVER {
                owners.push((value, *place));
            }
        }
        for (value, place) in &owners {
            at_place.get_mut(place).into_iter().for_each(|values| values.push(*value));
        }
        let mut budget = 16 * events.size;
        for view in views.iter().copied() {
            let (place, first) = (self.place(view), *self.first(view));
            let is_before = |other: &&u32| self.is_before(**other, &first, blocks);
            let same = at_place.get(&place).map(Vec::as_slice).unwrap_or_default();
            let (lower, higher) = same.split_at(same.partition_point(|other| *other < view));
            let mut steps = 0;
            let mut base = lower.iter().rev().chain(higher).inspect(|_| steps += 1).find(is_before).copied();
            let mut parts = Vec::new();
            if base.is_none() {
                steps += owners.len();
                let covering = owners.iter().filter(|(_, other)| other.covers(&place)).map(|(value, _)| value);
                base = covering.filter(is_before).copied().max_by_key(|other| (*other < view, *other));
                if base.is_none() {
                    // The parts of the value may be written individually.
                    let covered = owners.iter().filter(|(_, other)| place.covers(other)).map(|(value, _)| value);
                    parts.extend(covered.filter(is_before));
                }
            }
            // The distance from the view, first among the values before it.
            let distance = |other: u32| (other > view, other.abs_diff(view));
            let targets = moved.get(&place).map(Vec::as_slice).unwrap_or_default();
            steps += targets.len();
            let is_nearer = |moved: &u32| {
                let other = base.filter(|base| self.place(*base) == place);
                self.first(*moved).pointed < first.used && other.is_none_or(|base| distance(*moved) < distance(base))
            };
            let mut nearer: Vec<u32> = targets.iter().copied().filter(is_nearer).collect();
            nearer.sort_by_key(|moved| distance(*moved));
            nearer.truncate(MAX_MOVED_BASES);
            let Some(left) = budget.checked_sub(steps) else { return false };
            budget = left;
            let is_left = base.is_none() && parts.is_empty() && nearer.is_empty();
            if is_left && first.read != NEVER {
                self.kept.push((view, true));
            }
            parts.into_iter().for_each(|part| unite(&mut self.groups, part, view));
            for base in [base, nearer.first().copied()].into_iter().flatten() {
                unite(&mut self.groups, view, base);
                self.bases[view as usize] = Some(base);
            }
            self.moved_bases[view as usize] = nearer;
        }
        if !views.is_empty() {
            for value in 0..self.groups.len() as u32 {
                self.groups[value as usize] = find(&mut self.groups, value);
            }
        }
        self.kept.sort();
        true
    }
}

/// Returns the representative of a value's group.
#[expect(clippy::indexing_slicing, reason = "each value has an item, which is a value")]
fn find(groups: &mut [u32], mut value: u32) -> u32 {
    while groups[value as usize] != value {
        // Path halving: shortens later searches.
        let after = groups[groups[value as usize] as usize];
        groups[value as usize] = after;
        value = after;
    }
    value
}

#[expect(clippy::indexing_slicing, reason = "each value has an item")]
fn unite(groups: &mut [u32], left: u32, right: u32) {
    let (left, right) = (find(groups, left), find(groups, right));
    groups[left as usize] = right;
}

/// Buffers with this number or above belong to a single value.
const OWN_BUFFERS: u64 = 1 << 32;

fn own_buffer(value: u32) -> u64 {
    OWN_BUFFERS + u64::from(value)
}

/// Returns the range of a tensor in planned memory, if it has bytes there.
fn planned(tensor: &Tensor<'_>, bytes: u64) -> Option<MemoryRange> {
    let allocation = tensor.allocation_info?;
    let start = allocation.memory_offset();
    let end = start.checked_add(bytes).filter(|end| *end > start)?;
    Some(MemoryRange { buffer: allocation.memory_id.into(), start, end })
}

/// Returns `true` if a value in planned memory has an initial state or a name.
fn is_state(plan: &ExecutionPlan<'_>, value: u32) -> bool {
    plan.tensor(value as usize).is_some_and(|tensor| tensor.has_data() || tensor.fully_qualified_name().is_some())
}
