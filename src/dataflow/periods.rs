//! When each value's bytes are needed: from a write to its last read, on every path.

use super::blocks::Block;
use super::events::{Events, Kind};
use super::walk::{Passed, TooMuch};
use super::{BEFORE, Period};
use crate::keyed::{sort, sort_by_key};
use alloc::{vec, vec::Vec};

/// A set of numbers below a limit, as bits.
#[derive(Clone, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    fn has(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// The numbers, in order.
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(index, word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit))
    }
}

/// Of the writes that are read in another block, or earlier in a loop: which of them a block needs.
#[derive(Clone, Default)]
struct Needs {
    /// Needed at the start, for a read in the block.
    read: Bits,
    /// Needed at the start.
    start: Bits,
    /// Needed at the end.
    end: Bits,
    /// Of which some content is left at the end.
    reach: Bits,
}

/// Periods in which the content of each write is needed, by write and time.
pub(super) fn of_writes(
    events: &Events,
    blocks: &[Block],
    passed: &[Passed],
    budget: &mut usize,
) -> Result<Vec<(u32, Period)>, TooMuch> {
    let time_of = |event: u32| events.list.get(event as usize).map_or(0, |event| event.time as usize);
    let block_of = |time: usize| blocks.partition_point(|block| block.last < time);
    // By write: the last read after it in its own block; and all reads elsewhere.
    let mut last_here = vec![0u32; events.list.len()];
    // (write, block, last time of a read there)
    let mut elsewhere: Vec<(u32, u32, u32)> = Vec::new();
    for (block, passed) in passed.iter().enumerate() {
        for source in passed.sources.iter().filter(|source| source.write != BEFORE && !source.view) {
            if events.list.get(source.read as usize).is_some_and(|event| event.kind == Kind::Base) {
                continue;
            }
            let (read, write) = (time_of(source.read), time_of(source.write));
            if block_of(write) == block && read > write {
                if let Some(last) = last_here.get_mut(source.write as usize) {
                    *last = (*last).max(read as u32);
                }
            } else {
                elsewhere.push((source.write, block as u32, read as u32));
            }
        }
    }
    sort(&mut elsewhere);
    let mut crossing: Vec<u32> = elsewhere.iter().map(|(write, _, _)| *write).collect();
    crossing.dedup();
    let words = crossing.len().div_ceil(64);
    *budget = budget.checked_sub(32 * words * blocks.len()).ok_or(TooMuch)?;
    let empty = Bits(vec![0; words]);
    let needs = Needs { read: empty.clone(), start: empty.clone(), end: empty.clone(), reach: empty };
    let mut needs = vec![needs; blocks.len()];
    for (write, block, _) in &elsewhere {
        if let (Some(needs), Ok(at)) = (needs.get_mut(*block as usize), crossing.binary_search(write)) {
            needs.read.set(at);
        }
    }
    for (needs, passed) in needs.iter_mut().zip(passed) {
        for write in &passed.reach_out {
            if let Ok(at) = crossing.binary_search(write) {
                needs.reach.set(at);
            }
        }
    }
    // The writes that reach the start of each block and are not overwritten in it.
    let mut arrives: Vec<Bits> = Vec::with_capacity(blocks.len());
    for (index, passed) in passed.iter().enumerate() {
        let mut bits = Bits(vec![0; words]);
        for write in &passed.reach_in {
            // A write that goes to one of several places leaves the others unchanged.
            let first = passed.through.partition_point(|(other, _)| other < write);
            let is_sure = passed.through.get(first + 1).is_none_or(|(other, _)| other != write);
            if let (Ok(at), false) = (crossing.binary_search(write), is_sure && block_of(time_of(*write)) == index) {
                bits.set(at);
            }
        }
        arrives.push(bits);
    }
    propagate(blocks, &arrives, words, &mut needs, budget)?;
    let mut periods: Vec<(u32, Period)> = Vec::new();
    // Writes that are only read in their own block.
    for (index, last) in last_here.iter().enumerate() {
        let write = index as u32;
        let event = events.list.get(index);
        if event.is_some_and(|event| event.kind.writes() && !matches!(event.kind, Kind::View(_))) {
            let first = time_of(write);
            let block = block_of(first);
            let Some(needs) = needs.get(block) else { continue };
            if !passed.get(block).is_some_and(|passed| passed.reached) {
                continue;
            }
            let leaves = crossing.binary_search(&write).is_ok_and(|at| needs.end.has(at) && needs.reach.has(at));
            let end = blocks.get(block).map_or(first, |block| block.last);
            let last = if leaves { end } else { (*last as usize).max(first) };
            periods.push((write, Period { first, last }));
        }
    }
    for (index, (block, needs)) in blocks.iter().zip(&needs).enumerate() {
        for at in needs.start.all() {
            let Some(write) = crossing.get(at) else { continue };
            *budget = budget.checked_sub(1).ok_or(TooMuch)?;
            let last = if needs.end.has(at) && needs.reach.has(at) {
                block.last
            } else {
                let key = (*write, index as u32, u32::MAX);
                let before = elsewhere.partition_point(|entry| *entry <= key).checked_sub(1);
                before.and_then(|before| elsewhere.get(before)).map_or(block.first, |(_, _, read)| *read as usize)
            };
            periods.push((*write, Period { first: block.first, last }));
        }
    }
    Ok(merged(periods))
}

/// Repeats until nothing changes: a block needs at its end what a next block needs at its start and this block
/// provides.
fn propagate(
    blocks: &[Block],
    arrives: &[Bits],
    words: usize,
    needs: &mut [Needs],
    budget: &mut usize,
) -> Result<(), TooMuch> {
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            *budget = budget.checked_sub(1 + 4 * words).ok_or(TooMuch)?;
            let (Some(mut own), Some(arrives)) = (needs.get_mut(index).map(core::mem::take), arrives.get(index)) else {
                continue;
            };
            for next in block.next.into_iter().flatten() {
                // The block is its own successor.
                let of_next = if next == index {
                    own.start.clone()
                } else {
                    needs.get(next).map_or_else(Bits::default, |needs| needs.start.clone())
                };
                for (end, start) in own.end.0.iter_mut().zip(&of_next.0) {
                    *end |= start;
                }
            }
            let through = own.end.0.iter().zip(&own.reach.0).zip(&arrives.0).zip(&own.read.0);
            for (start, (((end, reach), arrives), read)) in own.start.0.iter_mut().zip(through) {
                let new = *start | read | (end & reach & arrives);
                changed |= new != *start;
                *start = new;
            }
            if let Some(place) = needs.get_mut(index) {
                *place = own;
            }
        }
    }
    Ok(())
}

/// Sorts periods by key and time, and merges those that overlap or touch.
pub(super) fn merged(mut periods: Vec<(u32, Period)>) -> Vec<(u32, Period)> {
    sort_by_key(&mut periods, |(key, period)| (*key, period.first, period.last));
    let mut merged: Vec<(u32, Period)> = Vec::with_capacity(periods.len());
    for (key, period) in periods {
        match merged.last_mut() {
            Some((last_key, last)) if *last_key == key && period.first <= last.last + 1 => {
                last.last = last.last.max(period.last);
            }
            _ => merged.push((key, period)),
        }
    }
    merged
}
