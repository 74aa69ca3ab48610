//! Basic blocks of a method: instructions between jumps.

use super::events::Events;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::{vec, vec::Vec};
use core::cmp::Reverse;

/// Consecutive times without a jump between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The blocks that may come next. If there are two, the second is the destination of the jump.
    pub(super) next: [Option<usize>; 2],
    /// The value that decides between two next blocks.
    pub(super) condition: u32,
}

impl Block {
    pub(super) fn next(&self) -> impl Iterator<Item = usize> {
        self.next.into_iter().flatten()
    }
}

/// A jump on a path, taken or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The index of the instruction over all chains.
    pub(crate) instruction: usize,
    pub(crate) jumps: bool,
}

pub(crate) struct Blocks {
    /// The blocks in order of time: the first starts before the first instruction, the last ends after the last.
    pub(super) list: Vec<Block>,
    /// The first and the last time of each loop, from the destination of a backward jump to the jump: in order, outer loops first.
    pub(super) loops: Vec<(usize, usize)>,
    /// For each time, the first later time that a jump over it can reach; empty without jumps.
    skipped_to: Vec<usize>,
}

impl Blocks {
    #[expect(
        clippy::indexing_slicing,
        reason = "a jump leads at most to the time after its chain, and `starts` ends after the last time"
    )]
    pub(super) fn new(plan: &ExecutionPlan<'_>, events: &Events) -> Self {
        let end = events.end();
        let mut starts = vec![false; end + 2];
        // The time of each jump, and the times that may come next.
        let mut jumps: Vec<(usize, u32, [Option<usize>; 2])> = Vec::new();
        let mut loops = Vec::new();
        let mut time = 0;
        for chain in plan.chains() {
            let first = time + 1;
            let count = chain.instructions().len();
            for instruction in chain.instructions() {
                time += 1;
                let InstructionArguments::JumpFalseCall(jump) = &instruction.instr_args else { continue };
                let destination = usize::try_from(jump.destination_instruction).ok().filter(|index| *index <= count);
                // The exporter writes an unconditional jump as a jump with a constant condition.
                let known = constant(plan, events, jump.cond_value_index);
                let next = (known != Some(false)).then_some(time + 1);
                let destination = destination.filter(|_| known != Some(true)).map(|index| first + index);
                loops.extend(destination.filter(|first| *first <= time).map(|first| (first, time)));
                for start in [Some(time + 1), destination].into_iter().flatten() {
                    starts[start] = true;
                }
                jumps.push((time, jump.cond_value_index as u32, [next, destination]));
            }
        }
        loops.sort_by_key(|(first, last)| (*first, Reverse(*last)));
        let skipped_to = skipped_to(&jumps, end);
        let mut list: Vec<Block> = Vec::new();
        let mut index = vec![0; end + 1];
        for (time, (start, index)) in starts.iter().zip(&mut index).enumerate() {
            match list.last_mut().filter(|_| !start) {
                Some(block) => block.last = time,
                None => list.push(Block { first: time, last: time, next: [None, None], condition: 0 }),
            }
            *index = list.len() - 1;
        }
        let mut jumps = jumps.into_iter().peekable();
        for block in &mut list {
            let next;
            (block.condition, next) = match jumps.next_if(|(time, ..)| *time == block.last) {
                Some((_, condition, next)) => (condition, next),
                None => (0, [Some(block.last + 1), None]),
            };
            // No block follows the last one.
            block.next = next.map(|time| index.get(time?).copied());
            if block.next[0] == block.next[1] {
                block.next[1] = None;
            }
        }
        Self { list, loops, skipped_to }
    }

    /// Returns `true` if every path to the `later` time passes `time`, judging by forward jumps.
    pub(super) fn is_always_before(&self, time: u32, later: u32) -> bool {
        self.skipped_to.get(time as usize).is_none_or(|to| *to > later as usize)
    }

    /// Returns the index of the block that contains a time of the method.
    pub(super) fn at(&self, time: usize) -> usize {
        self.list.partition_point(|block| block.last < time)
    }

    /// Returns the block with this index.
    #[expect(clippy::indexing_slicing, reason = "indices of blocks are counted from this list")]
    pub(super) fn block(&self, index: usize) -> &Block {
        &self.list[index]
    }

    /// Returns the predecessors of each block.
    #[expect(clippy::indexing_slicing, reason = "`before` has an item for each block")]
    pub(super) fn before(&self) -> Vec<Vec<usize>> {
        let mut before = vec![Vec::new(); self.list.len()];
        for (index, block) in self.list.iter().enumerate() {
            for next in block.next() {
                before[next].push(index);
            }
        }
        before
    }

    /// Returns the branches on a shortest path from one time to a later one, or from the start of the method if there is no such path.
    #[expect(clippy::indexing_slicing, reason = "`came_from` has an item for each block")]
    pub(crate) fn path(&self, from: usize, to: usize) -> Vec<Branch> {
        let (first, last) = (self.at(from), self.at(to));
        if first == last && from < to {
            return Vec::new();
        }
        let mut came_from: Vec<Option<usize>> = vec![None; self.list.len()];
        let mut waiting = VecDeque::from([first]);
        while let Some(index) = waiting.pop_front() {
            for next in self.block(index).next() {
                if came_from[next].is_none() {
                    came_from[next] = Some(index);
                    waiting.push_back(next);
                }
            }
        }
        let (mut branches, mut at) = (Vec::new(), last);
        while let Some(before) = came_from[at].take() {
            if let Block { last, next: [Some(_), Some(jump)], .. } = self.block(before) {
                branches.push(Branch { instruction: last.saturating_sub(1), jumps: *jump == at });
            }
            at = before;
            if at == first {
                break;
            }
        }
        branches.reverse();
        branches
    }

    /// Returns the jumps at the ends of loops that a run reaches but never leaves.
    #[expect(clippy::indexing_slicing, reason = "`before` has an item for each block")]
    pub(crate) fn endless(&self) -> Vec<usize> {
        let before = self.before();
        let reached = reach(0, self.list.len(), |index, next: &mut dyn FnMut(usize)| {
            self.block(index).next().for_each(next);
        });
        let leaves = reach(self.list.len() - 1, self.list.len(), |index, next: &mut dyn FnMut(usize)| {
            before[index].iter().copied().for_each(next);
        });
        let mut found = Vec::new();
        for ((block, reached), leaves) in self.list.iter().zip(reached).zip(leaves) {
            let is_back = |next: usize| self.block(next).first <= block.last;
            if reached && !leaves && block.next().next().is_some() && block.next().all(is_back) {
                found.push(block.last - 1);
            }
        }
        found
    }
}

/// Returns, for each time, the first later time that a jump from before it can reach; empty without jumps.
fn skipped_to(jumps: &[(usize, u32, [Option<usize>; 2])], end: usize) -> Vec<usize> {
    if jumps.is_empty() {
        return Vec::new();
    }
    let (mut jumps, mut open) = (jumps.iter().peekable(), BTreeSet::new());
    let mut skipped = Vec::with_capacity(end + 1);
    for time in 0..=end {
        while let Some((_, _, [_, to])) = jumps.next_if(|(from, ..)| *from < time) {
            open.extend(*to);
        }
        while open.first().is_some_and(|to| *to <= time) {
            open.pop_first();
        }
        skipped.push(open.first().copied().unwrap_or(usize::MAX));
    }
    skipped
}

/// Returns, for each of `count` blocks, whether it can be reached from the block `from`.
#[expect(clippy::indexing_slicing, reason = "`from` and what `next` finds are blocks")]
fn reach(from: usize, count: usize, next: impl Fn(usize, &mut dyn FnMut(usize))) -> Vec<bool> {
    let (mut reached, mut waiting) = (vec![false; count], vec![from]);
    while let Some(index) = waiting.pop() {
        if !core::mem::replace(&mut reached[index], true) {
            next(index, &mut |next| waiting.push(next));
        }
    }
    reached
}

/// Returns the value of a condition that no instruction or input changes.
fn constant(plan: &ExecutionPlan<'_>, events: &Events, condition: i32) -> Option<bool> {
    let changed = *events.changed.get(usize::try_from(condition).ok()?)?;
    match &plan.value(condition)?.val {
        KernelTypes::Bool(value) if !changed => Some(value.bool_val),
        _ => None,
    }
}
