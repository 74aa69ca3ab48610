//! The effects of a single instruction.

use super::bytes::{BEFORE, MemoryRange};
use super::events::{Event, Kind};
use super::state::{Pointer, State};
use super::values::NOWHERE;
use super::walk::{Conflict, MAX_POINTERS, MethodWalk, Null, Output, Passed, Source, StaleView, TooMuch, add};
use alloc::{vec, vec::Vec};

impl MethodWalk<'_> {
    /// Applies the events of an instruction. Reads come first, because a call may write what it reads.
    #[expect(clippy::indexing_slicing, reason = "`is_fill` has an item for each event")]
    pub(super) fn step(&mut self, time: usize, state: &mut State, passed: &mut Passed) -> Result<(), TooMuch> {
        let events = self.events;
        let (first, of_time) = events.at(time);
        let first = first as u32;
        let numbered = || (first..).zip(of_time);
        self.outputs.clear();
        if !self.records && time > 0 {
            self.find_outputs(first, of_time, state, passed)?;
        }
        for (index, event) in numbered().filter(|(_, event)| event.kind.reads()) {
            self.read(index, event, state, passed)?;
        }
        for (index, event) in numbered() {
            if event.kind.writes() || event.kind.points() {
                state.conditions.remove(&event.value);
            }
            match event.kind {
                kind if time == 0 && kind.writes() => {
                    if self.values.is_planned(event.value) {
                        self.note_null(index, event, state, passed);
                    } else {
                        // A caller sets the pointer.
                        state.pointers.remove(&event.value);
                    }
                    self.write(index, event.value, state, true)?;
                }
                Kind::View(of) | Kind::Move(of) => self.point(index, event, of, state)?,
                Kind::Free => self.set_memory(index, event.value, vec![(NOWHERE, Vec::new())], state)?,
                Kind::Fill => {
                    // In a loop, only a row is written.
                    let whole = !self.is_fill[index as usize];
                    self.note_null(index, event, state, passed);
                    self.write(index, event.value, state, whole)?;
                }
                kind if kind.writes() => {
                    self.note_null(index, event, state, passed);
                    self.write(index, event.value, state, true)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read(&mut self, read: u32, event: &Event, state: &State, passed: &mut Passed) -> Result<(), TooMuch> {
        self.note_null(read, event, state, passed);
        let own = Pointer::of(event.value);
        let bound = self.moved_pointers(event.value, state);
        let pointers = bound.as_deref().unwrap_or_else(|| state.pointers_of(event.value, &own));
        for pointer in pointers {
            if self.records && pointer.set_by != BEFORE && pointer.memory != NOWHERE {
                passed.sources.push(Source { read, write: pointer.set_by, memory: pointer.memory, view: true });
            }
            let Some(place) = self.place(pointer) else { continue };
            if self.is_stale(read, event, pointer, state, passed)? {
                continue;
            }
            let is_planned = self.values.is_planned(pointer.memory);
            if is_planned && matches!(event.kind, Kind::Read | Kind::Change) {
                self.find_overwritten(read, event, pointer.tensor, pointer.memory, place, passed);
            }
            self.found.clear();
            let steps = state.bytes.read(place, &mut self.found);
            self.take(steps + pointer.strange.len())?;
            // If the value may be several tensors, the others may be undefined here.
            if pointers.len() > 1 {
                let mut found = core::mem::take(&mut self.found);
                found.retain(|write| *write != BEFORE && self.is_own(*write, pointer.memory));
                found.extend_from_slice(&pointer.strange);
                self.found = found;
            }
            self.find_reordered(read, event, pointer);
            for write in &self.found {
                if self.records && (*write != BEFORE || is_planned) {
                    passed.sources.push(Source { read, write: *write, memory: pointer.memory, view: false });
                }
                if event.kind == Kind::Refer {
                    continue;
                }
                // Content left by the previous run: not written in this run, or kept.
                let left = match *write {
                    BEFORE => Some(pointer.memory),
                    write if (write as usize) < self.events.kept => Some(self.memory_of(write)),
                    _ => None,
                };
                passed.unwritten.extend(left.filter(|_| event.certain && is_planned));
                if *write != BEFORE && !self.records && !self.is_own(*write, pointer.memory) {
                    let (write, memory) = self.events.event_and_memory(*write, &self.through);
                    passed.conflicts.push(Conflict {
                        new: self.events.event(write).value,
                        old: event.value,
                        write,
                        read,
                        memory: pointer.memory,
                        places: [self.values.place(memory), place],
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if a pointer leads to the place of a view whose base is a tensor at another place, which is recorded.
    fn is_stale(
        &mut self,
        read: u32,
        event: &Event,
        pointer: &Pointer,
        state: &State,
        passed: &mut Passed,
    ) -> Result<bool, TooMuch> {
        if self.records || !matches!(event.kind, Kind::Read | Kind::Change) {
            return Ok(false);
        }
        let Some((base, bound)) = self.bound_base(pointer.memory, state) else { return Ok(false) };
        let own = self.values.place(pointer.memory);
        let is_elsewhere = |bound: &&Pointer| self.place(bound).is_some_and(|place| place != own);
        let Some(moved_by) = bound.iter().find(is_elsewhere).map(|pointer| pointer.set_by) else { return Ok(false) };
        self.found.clear();
        let steps = state.bytes.read(own, &mut self.found);
        self.take(steps)?;
        let other = match self.found.as_slice() {
            [write] if *write != BEFORE => {
                Some(self.memory_of(*write)).filter(|other| self.values.place(*other) == own)
            }
            _ => None,
        };
        passed.stale.push(StaleView { view: pointer.memory, base, moved_by, read, other });
        Ok(true)
    }

    /// Returns the pointers that a view by its place is meant to have if moves rebind its base: they lead to the memory of the moved tensors.
    fn moved_pointers(&self, value: u32, state: &State) -> Option<Vec<Pointer>> {
        if !self.records || state.pointers.contains_key(&value) {
            return None;
        }
        let (_, bound) = self.bound_base(value, state)?;
        Some(bound.iter().map(|pointer| Pointer { tensor: value, ..pointer.clone() }).collect())
    }

    /// Returns the nearest possible base of a view by its place that is certainly another tensor because of a move, with its pointers. On a
    /// path without a move, the value may be a view of another one.
    fn bound_base<'s>(&self, view: u32, state: &'s State) -> Option<(u32, &'s [Pointer])> {
        self.values.moved_bases(view).iter().find_map(|base| {
            let bound = state.pointers.get(base)?.as_slice();
            bound.iter().all(|pointer| pointer.set_by != BEFORE).then_some((*base, bound))
        })
    }

    /// Records the view that a pointer makes a tensor, if the bytes that it reads were written in another order of elements.
    fn find_reordered(&mut self, read: u32, event: &Event, pointer: &Pointer) {
        if self.records || !matches!(event.kind, Kind::Read | Kind::Change) {
            return;
        }
        for write in &self.found {
            let base = match *write {
                BEFORE => pointer.memory,
                write if !self.is_own(write, pointer.memory) => continue,
                write => self.events.event(self.event_of(write)).value,
            };
            if base != pointer.tensor && self.is_reordered(base, pointer.tensor) {
                self.reordered.entry((pointer.tensor, base)).or_insert(read);
            }
        }
    }

    /// Returns `true` if two tensors with the same elements have them in another order.
    fn is_reordered(&self, left: u32, right: u32) -> bool {
        if !self.values.has_order(left) && !self.values.has_order(right) {
            return false;
        }
        let tensor = |value: u32| self.plan.tensor(value as usize);
        let (Some(left), Some(right)) = (tensor(left), tensor(right)) else { return false };
        let is_same_size = left.scalar_type == right.scalar_type
            && left.shape().count_bytes().ok() == right.shape().count_bytes().ok();
        is_same_size && !left.shape().is_laid_out_like(&right.shape())
    }

    /// Returns `true` if a write belongs to the value whose memory is read, or to a value that is meant to share it.
    pub(super) fn is_own(&self, write: u32, memory: u32) -> bool {
        self.values.is_same_memory(self.memory_of(write), memory)
    }

    /// Records the use of a null pointer.
    fn note_null(&mut self, used_by: u32, event: &Event, state: &State, passed: &mut Passed) {
        let Some(pointers) = state.pointers.get(&event.value) else {
            // The pointer that the value was loaded with is not null.
            return self.note_exposed(event.value, &[Pointer::of(event.value)]);
        };
        self.note_exposed(event.value, pointers);
        for pointer in pointers.iter().filter(|pointer| pointer.memory == NOWHERE) {
            let place = self.values.place(pointer.tensor);
            if place.end > place.start && !matches!(event.kind, Kind::Refer | Kind::Keep) {
                let freed_by = Some(pointer.set_by).filter(|event| *event != BEFORE);
                let freed_by = freed_by.filter(|event| self.events.event(*event).kind == Kind::Free);
                passed.nulls.push(Null { tensor: pointer.tensor, freed_by, used_by });
            }
        }
    }

    /// Collects the outputs of a call in planned memory. Overlapping outputs are recorded as conflicts, and then none are kept.
    fn find_outputs(
        &mut self,
        first: u32,
        events: &[Event],
        state: &State,
        passed: &mut Passed,
    ) -> Result<(), TooMuch> {
        for (write, event) in (first..).zip(events).filter(|(_, event)| event.kind.writes()) {
            let own = Pointer::of(event.value);
            for pointer in state.pointers_of(event.value, &own) {
                if let Some(place) = self.place(pointer).filter(|_| self.values.is_planned(pointer.memory)) {
                    let Pointer { tensor, memory, .. } = *pointer;
                    self.outputs.push(Output { place, write, tensor, memory });
                }
            }
        }
        if self.outputs.len() > 1 {
            self.outputs.sort_by_key(|output| (output.place.buffer, output.place, output.write));
        }
        let mut is_apart = true;
        for pair in self.outputs.windows(2) {
            let [old, new] = pair else { continue };
            let found = self.conflict(new, old.write, old.place, old.memory);
            // A call may refer to the same value twice, as scratch memory and output.
            if old.place.overlaps(&new.place) && found.new != found.old {
                is_apart = false;
                passed.conflicts.push(found);
            }
        }
        self.take(events.len() + self.outputs.len())?;
        if !is_apart {
            self.outputs.clear();
        }
        Ok(())
    }

    /// Finds outputs of a call that share bytes with an input. Only elementwise kernels, and some others, may write over an input,
    /// and only at the same place.
    fn find_overwritten(
        &self,
        read: u32,
        event: &Event,
        tensor: u32,
        memory: u32,
        old: MemoryRange,
        passed: &mut Passed,
    ) {
        let is_before = |output: &Output| (output.place.buffer, output.place.end) <= (old.buffer, old.start);
        let (_, rest) = self.outputs.split_at(self.outputs.partition_point(is_before));
        for output in rest.iter().take_while(|output| output.place.overlaps(&old)) {
            let may_be_in_place = match self.events.event(output.write).kind {
                Kind::Elementwise => true,
                Kind::Over(value) => value == event.value && self.is_same_shape(tensor, output.tensor),
                _ => false,
            };
            let in_place = may_be_in_place && old == output.place;
            let in_place = in_place && self.is_same_order(tensor, output.tensor);
            let found = self.conflict(output, read, old, memory);
            // An unknown call may refer to the same value as input and output.
            let is_meant = found.new == found.old && !event.certain;
            if output.write != read && !in_place && !is_meant {
                passed.conflicts.push(found);
            }
        }
    }

    /// Returns the conflict of an output that overwrites bytes that another event of the same call reads or writes.
    fn conflict(&self, new: &Output, read: u32, old: MemoryRange, memory: u32) -> Conflict {
        let value = |event: u32| self.events.event(event).value;
        let (write, places) = (new.write, [new.place, old]);
        Conflict { new: value(write), old: value(read), write, read, memory, places }
    }

    /// Returns `true` if two tensors have the same sizes.
    fn is_same_shape(&self, left: u32, right: u32) -> bool {
        let sizes = |value: u32| self.plan.tensor(value as usize).map(|tensor| tensor.sizes());
        sizes(left) == sizes(right)
    }

    /// Returns `true` if the elements of two tensors with the same size in bytes are at the same places.
    fn is_same_order(&self, left: u32, right: u32) -> bool {
        let tensor = |value: u32| self.plan.tensor(value as usize);
        let (Some(left), Some(right)) = (tensor(left), tensor(right)) else { return false };
        let is_same_rank = left.sizes.as_deref().map(<[i32]>::len) == right.sizes.as_deref().map(<[i32]>::len);
        left.scalar_type.element_size() == right.scalar_type.element_size()
            && (!is_same_rank || left.dim_order == right.dim_order)
    }

    /// Writes a value's bytes: all of them if `whole`, otherwise some.
    pub(super) fn write(&mut self, write: u32, value: u32, state: &mut State, whole: bool) -> Result<(), TooMuch> {
        let Some(pointers) = state.pointers.get(&value) else {
            return self.write_to(write, &Pointer::of(value), state, whole, value);
        };
        let sure = whole && pointers.iter().filter(|pointer| pointer.memory != NOWHERE).count() == 1;
        for pointer in pointers.clone() {
            self.write_to(write, &pointer, state, sure, value)?;
        }
        Ok(())
    }

    /// Writes the bytes that a pointer leads to.
    #[expect(clippy::indexing_slicing, reason = "`is_written` has an item for each event")]
    fn write_to(
        &mut self,
        write: u32,
        pointer: &Pointer,
        state: &mut State,
        sure: bool,
        value: u32,
    ) -> Result<(), TooMuch> {
        if let (Some(place), memory) = (self.place(pointer), pointer.memory) {
            let number = if memory == value {
                self.is_written[write as usize] = true;
                write
            } else {
                self.number(write, memory)
            };
            let bytes = &mut state.bytes;
            let steps = if sure { bytes.write(place, number) } else { bytes.may_write(place, number) };
            self.take(steps)?;
            if state.has_several {
                self.spoil(number, place, sure, state)?;
            }
        }
        Ok(())
    }

    /// Returns the number of a write to the memory of another value.
    fn number(&mut self, write: u32, memory: u32) -> u32 {
        let new = (self.events.list.len() + self.through.len()) as u32;
        let number = *self.numbers.entry((write, memory)).or_insert(new);
        if number == new {
            self.through.push((write, memory));
        }
        number
    }

    /// Records a write in values that may be several tensors: it spoils those that it is not meant for.
    fn spoil(&mut self, write: u32, place: MemoryRange, sure: bool, state: &mut State) -> Result<(), TooMuch> {
        let mut steps = state.pointers.len();
        for pointer in state.pointers.values_mut().filter(|pointers| pointers.len() > 1).flatten() {
            let Some(old) = self.place(pointer).filter(|old| old.overlaps(&place)) else { continue };
            steps += 1 + pointer.strange.len();
            if !self.is_own(write, pointer.memory) {
                add(&mut pointer.strange, write);
            } else if sure && place.covers(&old) {
                pointer.strange.clear();
            }
        }
        self.take(steps)
    }

    /// Makes a value a view of another one, or makes it that value.
    fn point(&mut self, set_by: u32, event: &Event, of: u32, state: &mut State) -> Result<(), TooMuch> {
        let own = Pointer::of(of);
        let pointers = state.pointers_of(of, &own);
        self.note_exposed(of, pointers);
        if let Kind::Move(_) = event.kind {
            let moved = pointers.iter().map(|pointer| Pointer { set_by, ..pointer.clone() }).collect();
            state.set(event.value, moved);
            return self.take(1);
        }
        let memory = pointers.iter().map(|pointer| (pointer.memory, pointer.strange.clone())).collect();
        self.set_memory(set_by, event.value, memory, state)
    }

    /// Sets the pointer of the tensor that a value is, which other values may be as well. If the value may be several tensors,
    /// each of them may keep its pointer.
    #[expect(clippy::indexing_slicing, reason = "`is_moved` has an item for each value")]
    fn set_memory(
        &mut self,
        set_by: u32,
        value: u32,
        memory: Vec<(u32, Vec<u32>)>,
        state: &mut State,
    ) -> Result<(), TooMuch> {
        let own = Pointer::of(value);
        let pointers = state.pointers_of(value, &own);
        self.note_exposed(value, pointers);
        let tensors: Vec<u32> = crate::sorted::set(pointers.iter().map(|pointer| pointer.tensor).collect());
        for tensor in &tensors {
            let mut values = vec![value];
            if tensor != &value || self.is_moved[*tensor as usize] {
                self.take(state.pointers.len())?;
                let is_it = |pointers: &Vec<Pointer>| pointers.iter().any(|pointer| pointer.tensor == *tensor);
                let others = state.pointers.iter().filter(|(_, pointers)| is_it(pointers));
                values.extend(others.map(|(value, _)| *value));
                values.extend(Some(*tensor).filter(|tensor| !state.pointers.contains_key(tensor)));
            }
            for value in crate::sorted::set(values) {
                let own = Pointer::of(value);
                let before = state.pointers_of(value, &own).iter();
                let mut new: Vec<Pointer> =
                    before.filter(|pointer| tensors.len() > 1 || pointer.tensor != *tensor).cloned().collect();
                for (memory, strange) in &memory {
                    let pointer = Pointer { tensor: *tensor, memory: *memory, set_by, strange: strange.clone() };
                    if new.iter().all(|other| !other.is_same(&pointer)) {
                        new.push(pointer);
                    }
                }
                if new.len() > MAX_POINTERS {
                    return Err(TooMuch);
                }
                self.take(new.len())?;
                state.set(value, new);
            }
        }
        Ok(())
    }

    /// Records that a value is used with a pointer that it had when the run started.
    #[expect(clippy::indexing_slicing, reason = "`is_exposed` has an item for each value")]
    fn note_exposed(&mut self, value: u32, pointers: &[Pointer]) {
        self.is_exposed[value as usize] |= pointers.iter().any(|pointer| pointer.set_by == BEFORE);
    }
}
