//! The memory that values have before the first run: by the file alone, without its instructions' moves and views.

use super::blocks::Blocks;
use super::bytes::Place;
use super::events::{Events, Kind};
use crate::keyed::sort;
use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor, TensorShapeDynamism};
use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

/// In the place of a value whose memory a pointer has: none.
pub(super) const NOWHERE: u32 = u32::MAX;

pub(super) struct Values {
    /// Each value's own memory: in a planned buffer, or a buffer of its own.
    pub(super) places: Vec<Place>,
    is_planned: Vec<bool>,
    /// The values whose pointer is null when the method is loaded.
    pub(super) nowhere: Vec<u32>,
    /// The exporter leaves out instructions that make a view: such a value has the place of another one, which was
    /// written before. This is the base of each.
    pub(super) bases: Vec<Option<u32>>,
    /// The same number for values that are meant to have memory in common: views and their bases.
    groups: Vec<u32>,
    /// The values that keep their content from run to run, in order, and whether that is read by the next run or a caller.
    pub(super) kept: Vec<(u32, bool)>,
}

/// Times at which something happens to a value for the first time.
#[derive(Clone, Copy)]
struct First {
    /// It is used in any way.
    used: u32,
    /// It is certainly read.
    read: u32,
    /// It is written.
    written: u32,
    /// It gets a pointer.
    pointed: u32,
}

const NEVER: u32 = u32::MAX;

impl Values {
    pub(super) fn new(plan: &ExecutionPlan<'_>) -> Self {
        let count = plan.values().len();
        let mut values = Self {
            places: (0..count as u32).map(|value| Place { buffer: own_buffer(value), start: 0, end: 1 }).collect(),
            is_planned: vec![false; count],
            nowhere: Vec::new(),
            bases: vec![None; count],
            groups: (0..count as u32).collect(),
            kept: Vec::new(),
        };
        // A caller sets the pointers of inputs and outputs.
        let mut is_given = vec![false; count];
        for value in plan.inputs().iter().chain(plan.outputs()) {
            if let Some(is_given) = usize::try_from(*value).ok().and_then(|value| is_given.get_mut(value)) {
                *is_given = true;
            }
        }
        let facts = values.places.iter_mut().zip(&mut values.is_planned).zip(is_given);
        for ((value, tensor), ((place, is_planned), is_given)) in plan.values().iter().enumerate().zip(facts) {
            let KernelTypes::Tensor(tensor) = &tensor.val else { continue };
            let bytes = tensor.shape().count_bytes().ok();
            place.end = bytes.unwrap_or(1);
            if let Some(planned) = bytes.and_then(|bytes| planned(tensor, bytes)) {
                (*place, *is_planned) = (planned, true);
            }
            // It also sets that of a tensor with a name, and no release supports tensors without bounds.
            let is_given = is_given
                || tensor.allocation_info.is_some()
                || tensor.data_buffer_idx != 0
                || tensor.extra_tensor_info.is_some()
                || tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND;
            if !is_given && bytes > Some(0) {
                values.nowhere.push(value as u32);
            }
        }
        values
    }

    /// Whether two values are meant to have memory in common.
    pub(super) fn is_same_memory(&self, one: u32, other: u32) -> bool {
        one == other || self.groups.get(one as usize) == self.groups.get(other as usize)
    }

    /// Whether a value's own memory is planned.
    pub(super) fn is_planned(&self, value: u32) -> bool {
        self.is_planned.get(value as usize) == Some(&true)
    }

    /// The value whose memory a value has by its place alone.
    pub(super) fn base(&self, value: u32) -> u32 {
        self.bases.get(value as usize).copied().flatten().unwrap_or(value)
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
    /// one with the next lower index, because the exporter numbers values in the order of instructions.
    pub(super) fn find_views(&mut self, plan: &ExecutionPlan<'_>, events: &Events, blocks: &Blocks) -> bool {
        let never = First { used: NEVER, read: NEVER, written: NEVER, pointed: NEVER };
        let mut first = vec![never; self.places.len()];
        for event in &events.list {
            let Some(first) = first.get_mut(event.value as usize) else { continue };
            let time = match event.kind {
                kind if kind.points() => &mut first.pointed,
                kind if kind.writes() && kind != Kind::Change => &mut first.written,
                _ => &mut first.used,
            };
            *time = event.time.min(*time);
            if event.kind == Kind::Change {
                first.written = event.time.min(first.written);
            }
            if event.certain && matches!(event.kind, Kind::Read | Kind::Change) {
                first.read = event.time.min(first.read);
            }
        }
        // The values with content at each place, in order, and since when they have it.
        let mut owners: BTreeMap<Place, Vec<(u32, u32)>> = BTreeMap::new();
        let mut planned: Vec<(u32, Place, First, bool)> = Vec::with_capacity(self.places.len());
        for (value, (place, first)) in self.places.iter().zip(first).enumerate() {
            if place.buffer >= OWN_BUFFERS {
                continue;
            }
            let is_state = is_state(plan, value);
            let from = if is_state { 0 } else { first.written.min(first.pointed) };
            if from != NEVER {
                owners.entry(*place).or_default().push((value as u32, from));
            }
            planned.push((value as u32, *place, first, is_state));
        }
        let count: usize = owners.values().map(Vec::len).sum();
        let mut budget = 16 * events.size;
        for (value, place, first, is_state) in planned.iter().copied() {
            let is_read_first = first.read != NEVER && first.read <= first.written;
            if is_state {
                let named = plan.tensor(value).is_some_and(|tensor| tensor.fully_qualified_name().is_some());
                self.kept.push((value, named || is_read_first));
                continue;
            }
            if first.written != NEVER || first.pointed != NEVER || first.used == NEVER {
                // What an instruction writes is no view.
                self.kept.extend(Some((value, true)).filter(|_| is_read_first && first.pointed == NEVER));
                continue;
            }
            let is_before = |(other, from): &&(u32, u32)| {
                *from < first.used && *other != value && blocks.is_always_before(*from, first.used)
            };
            let same = owners.get(&place).map(Vec::as_slice).unwrap_or_default();
            let (lower, higher) = same.split_at(same.partition_point(|(other, _)| *other < value));
            let mut steps = 0;
            let mut base = lower.iter().rev().chain(higher).inspect(|_| steps += 1).find(is_before);
            if base.is_none() {
                steps += count;
                let covering = owners.iter().filter(|(other, _)| other.covers(&place)).flat_map(|(_, owners)| owners);
                base = covering.filter(is_before).max_by_key(|(other, _)| (*other < value, *other));
            }
            let Some(left) = budget.checked_sub(steps) else { return false };
            budget = left;
            if base.is_none() {
                // Its parts may be written one by one.
                let parts = owners.iter().filter(|(other, _)| place.covers(other)).flat_map(|(_, owners)| owners);
                let mut parts = parts.filter(is_before).peekable();
                let is_whole = parts.peek().is_none();
                parts.for_each(|(part, _)| unite(&mut self.groups, *part, value));
                if !is_whole {
                    continue;
                }
            }
            match base {
                Some((base, _)) => {
                    unite(&mut self.groups, value, *base);
                    if let Some(place) = self.bases.get_mut(value as usize) {
                        *place = Some(*base);
                    }
                }
                None if is_read_first => self.kept.push((value, true)),
                None => {}
            }
        }
        for (value, ..) in planned {
            let group = find(&mut self.groups, value);
            if let Some(place) = self.groups.get_mut(value as usize) {
                *place = group;
            }
        }
        sort(&mut self.kept);
        true
    }
}

/// The first value that one was united with.
fn find(groups: &mut [u32], mut value: u32) -> u32 {
    loop {
        let Some(next) = groups.get(value as usize).copied().filter(|next| *next != value) else { return value };
        // Half of the way is left for the next search.
        let after = groups.get(next as usize).copied().unwrap_or(next);
        if let Some(place) = groups.get_mut(value as usize) {
            *place = after;
        }
        value = after;
    }
}

fn unite(groups: &mut [u32], one: u32, other: u32) {
    let (one, other) = (find(groups, one), find(groups, other));
    if let Some(place) = groups.get_mut(one as usize) {
        *place = other;
    }
}

/// Buffers from this number on are those of one value.
const OWN_BUFFERS: u64 = 1 << 32;

fn own_buffer(value: u32) -> u64 {
    OWN_BUFFERS + u64::from(value)
}

/// A tensor's bytes in planned memory, if it has any.
fn planned(tensor: &Tensor<'_>, bytes: u64) -> Option<Place> {
    let allocation = tensor.allocation_info?;
    let start = allocation.memory_offset();
    let end = start.checked_add(bytes).filter(|end| *end > start)?;
    Some(Place { buffer: allocation.memory_id.into(), start, end })
}

/// Whether a value in planned memory has an initial state or a name.
fn is_state(plan: &ExecutionPlan<'_>, value: usize) -> bool {
    plan.tensor(value).is_some_and(|tensor| tensor.has_data() || tensor.fully_qualified_name().is_some())
}
