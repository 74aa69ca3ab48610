//! The periods in which each write's bytes are needed: from the write to its last read, on every path.

use super::events::{Events, Kind};
use super::walk::{MethodWalk, TooMuch};
use super::{BEFORE, Period};
use crate::sorted::set;
use alloc::{vec, vec::Vec};

/// Returns the periods in which the content of each write is needed, by write and time.
#[expect(
    clippy::indexing_slicing,
    reason = "`passed`, `visited` and `before` have an item for each block, `is_written` for each event"
)]
pub(super) fn of_writes(walk: &mut MethodWalk<'_>) -> Result<Vec<(u32, Period)>, TooMuch> {
    let (events, blocks) = (walk.events, walk.blocks);
    let event = |write: u32| events.event(walk.event_of(write));
    let writes = events.list.len() + walk.through.len();
    let mut periods: Vec<(u32, Period)> = Vec::with_capacity(writes);
    for write in 0..writes as u32 {
        let event = event(write);
        if !event.kind.writes() {
            continue;
        }
        let time = event.time as usize;
        let is_own = (write as usize) < events.list.len();
        if walk.passed[blocks.at(time)].reached && (!is_own || walk.is_written[write as usize]) {
            periods.push((write, Period { first: time, last: time }));
        }
    }
    // The reads of each write.
    let mut reads: Vec<(u32, usize)> = Vec::new();
    for source in
        walk.passed.iter().flat_map(|passed| &passed.sources).filter(|source| source.write != BEFORE && !source.view)
    {
        let read = events.event(source.read);
        if read.kind != Kind::Refer {
            reads.push((source.write, read.time as usize));
        }
    }
    // Those of a write are in order of time already.
    reads.sort_by_key(|(write, _)| *write);
    reads.dedup();
    let before = blocks.before();
    // For each block, the last write that was followed into it.
    let mut visited = vec![BEFORE; blocks.list.len()];
    let mut steps = 0usize;
    for of_write in reads.chunk_by(|left, right| left.0 == right.0) {
        let Some((write, _)) = of_write.first().copied() else { continue };
        let written = event(write);
        let (time, own) = (written.time as usize, blocks.at(written.time as usize));
        // A fill starts with its loop, and a write to one of several places leaves the content of the others.
        let starts_here = written.kind != Kind::Fill && (write as usize) < events.list.len();
        let mut waiting: Vec<usize> = Vec::new();
        for (_, read) in of_write.iter().rev() {
            steps += 1;
            let block = blocks.at(*read);
            if starts_here && block == own && *read > time {
                periods.push((write, Period { first: time, last: *read }));
            } else if core::mem::replace(&mut visited[block], write) != write {
                periods.push((write, Period { first: blocks.block(block).first, last: *read }));
                waiting.push(block);
            }
        }
        while let Some(block) = waiting.pop() {
            for block in before[block].iter().copied() {
                steps += 1;
                let times = blocks.block(block);
                if walk.passed[block].left.binary_search(&write).is_err() {
                    continue;
                }
                if starts_here && block == own {
                    periods.push((write, Period { first: time, last: times.last }));
                } else {
                    periods.push((write, Period { first: times.first, last: times.last }));
                    if core::mem::replace(&mut visited[block], write) != write {
                        waiting.push(block);
                    }
                }
            }
            if steps > walk.budget {
                return Err(TooMuch);
            }
        }
    }
    Ok(merged(periods))
}

/// Returns the periods without dataflow: each value is needed from its first mention to its last.
pub(super) fn of_mentions(events: &Events) -> Vec<(u32, Period)> {
    let uses = (0u32..).zip(&events.list).map(|(index, event)| (event.value, index, event.time as usize));
    let mut periods = Vec::new();
    for uses in set(uses.collect::<Vec<_>>()).chunk_by(|left, right| left.0 == right.0) {
        if let (Some((_, event, first)), Some((_, _, last))) = (uses.first(), uses.last()) {
            periods.push((*event, Period { first: *first, last: *last }));
        }
    }
    merged(periods)
}

/// Sorts periods by key and time, and merges those that overlap or touch.
pub(super) fn merged(mut periods: Vec<(u32, Period)>) -> Vec<(u32, Period)> {
    periods.sort_by_key(|(key, period)| (*key, period.first, period.last));
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
