//! Basic blocks of a method: instructions between jumps.

use super::events::{Events, Kind};
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes};
use alloc::{vec, vec::Vec};

/// Consecutive times without a jump between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The blocks that may come next.
    pub(super) next: [Option<usize>; 2],
    /// The number of blocks that it may come after.
    pub(super) before: usize,
}

/// The blocks of a method, in order of time: the first one is before the first instruction, the last one after the
/// last. Without `jumps`, jumps are ignored.
pub(super) fn blocks(plan: &ExecutionPlan<'_>, events: &Events, jumps: bool) -> Vec<Block> {
    let end = events.end();
    let mut starts = vec![false; end + 1];
    // The time of each jump, and the times that may come next.
    let mut ways: Vec<(usize, [Option<usize>; 2])> = Vec::new();
    let mut constant = None;
    let mut time = 0;
    for chain in plan.chains() {
        let first = time + 1;
        let count = chain.instructions().len();
        for instruction in chain.instructions() {
            time += 1;
            let InstructionArguments::JumpFalseCall(jump) = &instruction.instr_args else { continue };
            if !jumps {
                continue;
            }
            let destination = usize::try_from(jump.destination_instruction).ok().filter(|index| *index <= count);
            let known = constant.get_or_insert_with(|| Conditions::new(plan, events)).get(jump.cond_value_index);
            let next = (known != Some(false)).then_some(time + 1);
            let destination = destination.filter(|_| known != Some(true)).map(|index| first + index);
            ways.push((time, [next, destination]));
        }
    }
    let mut start = |time: usize| {
        if let Some(start) = starts.get_mut(time) {
            *start = true;
        }
    };
    for time in [0, 1, end] {
        start(time);
    }
    for (time, [_, to]) in &ways {
        start(*time + 1);
        if let Some(to) = to {
            start(*to);
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut index = vec![0; end + 1];
    for (time, (starts, index)) in starts.iter().zip(&mut index).enumerate() {
        if *starts {
            blocks.push(Block { first: time, last: time, next: [None, None], before: 0 });
        }
        *index = blocks.len() - 1;
        if let Some(block) = blocks.last_mut() {
            block.last = time;
        }
    }
    let mut ways = ways.into_iter().peekable();
    let mut before = vec![0; blocks.len()];
    for block in &mut blocks {
        let [one, other] = match ways.next_if(|(time, _)| *time == block.last) {
            Some((_, next)) => next,
            None => [Some(block.last + 1).filter(|next| *next <= end), None],
        };
        let block_at = |time: Option<usize>| time.and_then(|time| index.get(time).copied());
        block.next = [block_at(one), block_at(other)];
        if block.next[0] == block.next[1] {
            block.next[1] = None;
        }
        for next in block.next.into_iter().flatten() {
            if let Some(count) = before.get_mut(next) {
                *count += 1;
            }
        }
    }
    for (block, before) in blocks.iter_mut().zip(before) {
        block.before = before;
    }
    blocks
}

/// The conditions that no instruction and no input changes: how the exporter writes a jump that is always taken.
struct Conditions(Vec<Option<bool>>);

impl Conditions {
    fn new(plan: &ExecutionPlan<'_>, events: &Events) -> Self {
        let mut known = Vec::with_capacity(plan.values().len());
        for value in plan.values() {
            known.push(match &value.val {
                KernelTypes::Bool(value) => Some(value.bool_val),
                _ => None,
            });
        }
        for event in events.list.iter().filter(|event| event.kind.writes() && event.kind != Kind::Keep) {
            if let Some(known) = known.get_mut(event.value as usize) {
                *known = None;
            }
        }
        Self(known)
    }

    fn get(&self, value: i32) -> Option<bool> {
        self.0.get(usize::try_from(value).ok()?).copied().flatten()
    }
}
