//! Plans of memory: right plans, plans of planners with a fault, and damaged plans.

use crate::program::{At, Effect, Plan, Program, Role, Step};
use crate::shadow::{Decisions, Seen, judge};
use executorch_format_support::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// The kind of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// All blocks that may be needed at the same time are apart.
    Right,
    /// Blocks overlap, but only where this affects no read.
    Tight,
    /// The planner ignores that a moved tensor is still used under its new name.
    NoMoves,
    /// The planner ignores that a view uses the memory of its base.
    NoViews,
    /// The planner ignores that a loop jumps back.
    NoLoops,
    /// The planner takes a state for a temporary tensor.
    NoStates,
    /// The planner lets a kernel overwrite its input.
    OverInput,
    /// A block has the place of another block.
    Same,
    /// Two blocks have the places of others.
    Twice,
    /// A block overlaps a part of another block.
    Partly,
    /// A view was moved away from its block.
    ViewAlone,
}

pub const KINDS: [Kind; 11] = [
    Kind::Right,
    Kind::Tight,
    Kind::NoMoves,
    Kind::NoViews,
    Kind::NoLoops,
    Kind::NoStates,
    Kind::OverInput,
    Kind::Same,
    Kind::Twice,
    Kind::Partly,
    Kind::ViewAlone,
];

/// Creates a plan of that kind, if the program has one.
pub fn plan(program: &Program, kind: Kind, random: &mut Random) -> Option<Plan> {
    let mut plan = allocate(program, kind, random);
    match kind {
        Kind::Same | Kind::Twice | Kind::Partly => {
            for _ in 0..1 + usize::from(kind == Kind::Twice) {
                overlay(program, &mut plan, kind == Kind::Partly, random)?;
            }
        }
        Kind::Tight => {
            for _ in 0..8 {
                let mut other = plan.clone();
                let partly = random.below(4) == 0;
                overlay(program, &mut other, partly, random)?;
                if judge(program, &other, random.number(), 24, Decisions::Free) == Seen::Right {
                    plan = other;
                }
            }
        }
        Kind::ViewAlone => {
            let first = |block: usize| {
                program.tensors().find(|(_, tensor)| matches!(tensor.at, At::Block(other, _) if other == block))
            };
            let views = program.tensors().filter(|(value, tensor)| match tensor.at {
                At::Block(block, _) => first(block).is_some_and(|(first, _)| first != *value),
                _ => false,
            });
            let views: Vec<usize> = views.map(|(value, _)| value).collect();
            let view = *views.get(random.below(views.len()))?;
            let block = random.below(program.blocks.len());
            plan.alone.insert(view, plan.offsets[block]);
        }
        _ => (),
    }
    Some(plan)
}

/// Puts a block over another block.
fn overlay(program: &Program, plan: &mut Plan, partly: bool, random: &mut Random) -> Option<()> {
    if program.blocks.len() < 2 {
        return None;
    }
    let block = random.below(program.blocks.len());
    let mut other = random.below(program.blocks.len() - 1);
    other += usize::from(other >= block);
    let within = program.blocks[other].size.div_ceil(16) as usize;
    let shift = if partly { 16 * random.below(within) as u64 } else { 0 };
    plan.offsets[block] = plan.offsets[other] + shift;
    Some(())
}

/// The period in which a block is needed, in steps from 1. Inputs are set at 0.
type Period = (usize, usize);

fn periods(program: &Program, kind: Kind) -> Vec<Period> {
    let end = program.steps.len() + 1;
    // The blocks that a value may use.
    let mut blocks: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (value, tensor) in program.tensors() {
        if let At::Block(block, _) = tensor.at {
            blocks.entry(value).or_default().insert(block);
        }
    }
    loop {
        let mut changed = false;
        for step in &program.steps {
            let (from, to) = match step {
                Step::Move { from, to } if kind != Kind::NoMoves => (from, to),
                Step::Call { effect: Effect::View { of, out }, .. } if kind != Kind::NoViews => (of, out),
                _ => continue,
            };
            let more = blocks.get(from).cloned().unwrap_or_default();
            let known = blocks.entry(*to).or_default();
            let before = known.len();
            known.extend(more);
            changed |= known.len() > before;
        }
        if !changed {
            break;
        }
    }
    let mut periods: Vec<Option<Period>> = vec![None; program.blocks.len()];
    let mut use_at = |value: usize, time: usize| {
        for block in blocks.get(&value).into_iter().flatten() {
            let (first, last) = periods[*block].unwrap_or((time, time));
            periods[*block] = Some((first.min(time), last.max(time)));
        }
    };
    program.inputs.iter().for_each(|input| use_at(*input, 0));
    for (step, time) in program.steps.iter().zip(1..) {
        program.mentions(step).into_iter().for_each(|value| use_at(value, time));
    }
    program.outputs.iter().for_each(|output| use_at(*output, end));
    let mut periods: Vec<Period> = periods.into_iter().map(|period| period.unwrap_or((0, end))).collect();
    let steps = program.steps.iter().zip(1..);
    let loops: Vec<Period> = steps
        .filter_map(|(step, time)| match step {
            Step::Jump { to, .. } if *to < time => Some((to + 1, time)),
            _ => None,
        })
        .collect();
    let mut changed = kind != Kind::NoLoops;
    while changed {
        changed = false;
        for (start, last) in &loops {
            for period in &mut periods {
                let before = *period;
                if period.0 < *start && (*start..*last).contains(&period.1) {
                    period.1 = *last;
                }
                if period.1 > *last && (*start + 1..=*last).contains(&period.0) {
                    period.0 = *start;
                }
                changed |= *period != before;
            }
        }
    }
    for (period, block) in periods.iter_mut().zip(&program.blocks) {
        if block.role == Role::State && kind != Kind::NoStates {
            *period = (0, end);
        }
    }
    periods
}

/// Puts each block at the first place that is free while it is needed.
fn allocate(program: &Program, kind: Kind, random: &mut Random) -> Plan {
    let periods = periods(program, kind);
    let mut order: Vec<usize> = (0..program.blocks.len()).collect();
    match random.below(3) {
        0 => order.sort_by_key(|block| std::cmp::Reverse(program.blocks[*block].size)),
        1 => order.sort_by_key(|block| periods[*block]),
        _ => order.sort_by_cached_key(|_| random.number()),
    }
    let mut offsets: Vec<Option<u64>> = vec![None; program.blocks.len()];
    for block in order {
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for (other, offset) in offsets.iter().enumerate() {
            let Some(offset) = offset else { continue };
            let (one, two) = (periods[block], periods[other]);
            let meets =
                if kind == Kind::OverInput { one.0 < two.1 && two.0 < one.1 } else { one.0 <= two.1 && two.0 <= one.1 };
            if meets {
                taken.push((*offset, (offset + program.blocks[other].size).next_multiple_of(16)));
            }
        }
        taken.sort_unstable();
        let mut place = 0;
        for (start, end) in taken {
            if start >= place + program.blocks[block].size {
                break;
            }
            place = place.max(end);
        }
        offsets[block] = Some(place);
    }
    Plan { offsets: offsets.into_iter().map(|offset| offset.expect("a place")).collect(), alone: BTreeMap::new() }
}
