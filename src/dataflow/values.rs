//! The memory that values have before the first run: by the file alone, without its instructions' moves and views.

use super::blocks::Blocks;
use super::bytes::Place;
use super::events::{Events, Kind};
use crate::keyed::sort;
use crate::schema::program::{ExecutionPlan, Tensor, TensorShapeDynamism};
use alloc::{vec, vec::Vec};

/// In the place of a value whose memory a pointer has: none.
pub(super) const NOWHERE: u32 = u32::MAX;

pub(super) struct Values {
    /// Each value's own memory: in a planned buffer, or a buffer of its own.
    pub(super) places: Vec<Place>,
    is_planned: Vec<bool>,
    /// Whether a value's pointer is null when the method is loaded.
    pub(super) is_nowhere: Vec<bool>,
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
        let (mut places, mut is_planned) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut is_nowhere = vec![false; count];
        for value in 0..count {
            let tensor = plan.tensor(value);
            let planned = tensor.and_then(planned);
            is_planned.push(planned.is_some());
            places.push(planned.unwrap_or_else(|| {
                let end = tensor.map_or(1, |tensor| tensor.shape().count_bytes().unwrap_or(1));
                Place { buffer: own_buffer(value as u32), start: 0, end }
            }));
        }
        let mut values = Self {
            places,
            is_planned,
            is_nowhere: Vec::new(),
            bases: vec![None; count],
            groups: Vec::new(),
            kept: Vec::new(),
        };
        values.groups.extend(0..count as u32);
        for (value, tensor) in plan.tensors() {
            // A caller sets the pointer of a tensor with a name, and no release supports tensors without bounds.
            let is_given = tensor.allocation_info.is_some()
                || tensor.data_buffer_idx != 0
                || tensor.extra_tensor_info.is_some()
                || tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND;
            if let Some(place) = is_nowhere.get_mut(value) {
                *place = !is_given && tensor.byte_size().is_ok_and(|bytes| bytes > 0);
            }
        }
        for value in plan.inputs().iter().chain(plan.outputs()) {
            if let Some(place) = usize::try_from(*value).ok().and_then(|value| is_nowhere.get_mut(value)) {
                *place = false;
            }
        }
        values.is_nowhere = is_nowhere;
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
        // Values with content, by place and index.
        let mut owners: Vec<(Place, u32, u32)> = Vec::new();
        for (((value, first), place), state) in (0u32..).zip(&first).zip(&self.places).zip(states(plan)) {
            let from = if state { 0 } else { first.written.min(first.pointed) };
            if place.buffer < OWN_BUFFERS && from != NEVER {
                owners.push((*place, value, from));
            }
        }
        sort(&mut owners);
        let mut budget = 16 * events.size;
        for ((value, first), state) in (0u32..).zip(first).zip(states(plan)) {
            let Some(place) = self.places.get(value as usize).copied().filter(|_| self.is_planned(value)) else {
                continue;
            };
            let is_read_first = first.read != NEVER && first.read <= first.written;
            if state {
                let named = plan.tensor(value).is_some_and(|tensor| tensor.fully_qualified_name().is_some());
                self.kept.push((value, named || is_read_first));
                continue;
            }
            if first.written != NEVER || first.pointed != NEVER || first.used == NEVER {
                // What an instruction writes is no view.
                self.kept.extend(Some((value, true)).filter(|_| is_read_first && first.pointed == NEVER));
                continue;
            }
            let is_before = |(_, other, from): &&(Place, u32, u32)| {
                *from < first.used && *other != value && blocks.is_always_before(*from, first.used)
            };
            let same = owners.get(owners.partition_point(|owner| owner.0 < place)..).unwrap_or_default();
            let same = same.get(..same.partition_point(|owner| owner.0 == place)).unwrap_or_default();
            let (lower, higher) = same.split_at(same.partition_point(|owner| owner.1 < value));
            let mut steps = 0;
            let mut base = lower.iter().rev().chain(higher).inspect(|_| steps += 1).find(is_before);
            if base.is_none() {
                steps += owners.len();
                let covering = owners.iter().filter(is_before).filter(|owner| owner.0.covers(&place));
                base = covering.max_by_key(|owner| (owner.1 < value, owner.1));
            }
            let Some(left) = budget.checked_sub(steps) else { return false };
            budget = left;
            if base.is_none() {
                // Its parts may be written one by one.
                let mut parts = owners.iter().filter(is_before).filter(|owner| place.covers(&owner.0)).peekable();
                let is_whole = parts.peek().is_none();
                parts.for_each(|owner| unite(&mut self.groups, owner.1, value));
                if !is_whole {
                    continue;
                }
            }
            match base {
                Some((_, base, _)) => {
                    let base = *base;
                    unite(&mut self.groups, value, base);
                    if let Some(place) = self.bases.get_mut(value as usize) {
                        *place = Some(base);
                    }
                }
                None if is_read_first => self.kept.push((value, true)),
                None => {}
            }
        }
        for value in 0..self.groups.len() {
            let group = find(&mut self.groups, value as u32);
            if let Some(place) = self.groups.get_mut(value) {
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
fn planned(tensor: &Tensor<'_>) -> Option<Place> {
    let allocation = tensor.allocation_info?;
    let start = allocation.memory_offset();
    let end = start.checked_add(tensor.shape().count_bytes().ok()?).filter(|end| *end > start)?;
    Some(Place { buffer: allocation.memory_id.into(), start, end })
}

/// Of each value, whether it is a mutable tensor with an initial state or a name.
fn states<'t>(plan: &'t ExecutionPlan<'_>) -> impl Iterator<Item = bool> + 't {
    let is_state = |tensor: &Tensor<'_>| {
        let has_state = tensor.data_buffer_idx > 0 || tensor.is_external();
        tensor.allocation_info.is_some() && (has_state || tensor.fully_qualified_name().is_some())
    };
    (0..plan.values().len()).map(move |value| plan.tensor(value).is_some_and(is_state))
}
