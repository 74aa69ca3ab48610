//! The periods in which values need their bytes.

use super::{Dataflow, Period, periods};
use crate::sorted::set;
use alloc::vec::Vec;

/// The periods in which values need their bytes.
pub(crate) struct Needs {
    /// The periods, sorted by value and time. A view needs the bytes that it shares as long as it is used; the value that wrote
    /// them needs them at least as long.
    pub(crate) periods: Vec<(u32, Period)>,
    /// Pairs of a value and another value whose bytes it reads.
    pub(crate) views: Vec<(u32, u32)>,
}

impl Dataflow {
    /// Returns the periods in which each value's bytes are needed, and the values that it is a view of.
    pub(crate) fn needs(&self) -> Needs {
        let mut periods = Vec::with_capacity(self.periods.len());
        for (write, period) in &self.periods {
            periods.extend(self.event_and_memory(*write).map(|(_, memory)| (memory, *period)));
        }
        periods.extend(self.kept().map(|value| (value, Period { first: 0, last: self.end() })));
        // Uses of bytes in another value's memory: the value, the other value, the time, and whether its own place is used.
        let mut uses: Vec<(u32, u32, usize, bool)> = Vec::new();
        for source in self.sources.iter().filter(|source| !source.view) {
            let read = self.events.event(source.read);
            let time = read.time as usize;
            match self.event_and_memory(source.write) {
                Some((_, memory)) if memory != read.value => {
                    uses.push((read.value, memory, time, source.memory == read.value))
                }
                Some(_) => {}
                None => periods.push((source.memory, Period { first: time, last: time })),
            }
        }
        for (event, memory) in &self.through {
            let event = self.events.event(*event);
            uses.push((event.value, *memory, event.time as usize, false));
        }
        let periods = periods::merged(periods);
        let uses = set(uses);
        let (mut views, mut of_views) = (Vec::new(), Vec::new());
        // Many views may share the bytes of a value that is needed in many periods.
        let mut budget = 16 * self.events.list.len();
        for of_view in uses.chunk_by(|left, right| (left.0, left.1) == (right.0, right.1)) {
            let Some((value, memory, ..)) = of_view.first().copied() else { continue };
            views.push((value, memory));
            let times = || of_view.iter().filter(|(_, _, _, own)| *own).map(|(_, _, time, _)| *time);
            let (Some(first), Some(last)) = (times().min(), times().max()) else { continue };
            let start = periods.partition_point(|(other, period)| (*other, period.last) < (memory, first));
            let needed =
                periods.iter().skip(start).take_while(|(other, period)| *other == memory && period.first <= last);
            let mut parts = 0;
            for (_, period) in needed.take(budget) {
                parts += 1;
                of_views.push((value, Period { first: period.first.max(first), last: period.last.min(last) }));
            }
            budget -= parts;
            if budget == 0 {
                of_views.push((value, Period { first, last }));
            }
        }
        let mut all = periods;
        all.append(&mut of_views);
        Needs { periods: periods::merged(all), views }
    }
}
