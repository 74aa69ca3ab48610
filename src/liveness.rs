//! When a method's values are needed: from the first instruction that uses them to the last.
//!
//! Where the analysis is unsure, it assumes that a value is not needed, so that findings based on it are not false
//! positives. In a chain with jumps, each block between two jumps is analysed separately.

use crate::schema::program::{Chain, EValue, ExecutionPlan, InstructionArguments, Tensor};
use alloc::{collections::BTreeMap, vec, vec::Vec};

/// A period in which a value is needed. Times count the instructions of all chains from 1; at 0 the inputs are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// Index into the method's `values`.
    pub(crate) value: usize,
    /// The first instruction that uses it.
    pub(crate) first: usize,
    /// The last instruction that uses it.
    pub(crate) last: usize,
    /// Whether the first use overwrites the value's memory.
    pub(crate) overwrites: Overwrites,
}

/// Whether a use overwrites a value's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overwrites {
    No,
    /// The value is a delegate's argument that nothing wrote before: an output, or a view of another value.
    Maybe,
    Yes,
}

/// What is known about when values are needed.
pub(crate) struct Liveness {
    pub(crate) lives: Vec<Life>,
    /// The first and the last use of each value, by its own index: also of one that is a view of another value's memory.
    pub(crate) uses: Vec<Option<(usize, usize)>>,
    /// The time when the outputs are read.
    pub(crate) end: usize,
    /// Why some lives may be longer than stated; `None` if none can be.
    pub(crate) unknown: Option<&'static str>,
}

/// How an instruction uses a value.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// Reads it, or may read it.
    Read,
    /// Overwrites it without reading it.
    Write,
    /// A delegate's argument: a write if no earlier instruction uses the value, otherwise unknown.
    Either,
}

struct Walk<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    operators: Vec<&'t str>,
    /// The life of each value in the current block.
    open: Vec<Option<Life>>,
    seen: Vec<bool>,
    uses: Vec<Option<(usize, usize)>>,
    lives: Vec<Life>,
    /// Values that share another value's memory after a move, in the current block.
    moved: BTreeMap<usize, usize>,
    /// The values used in the current block.
    touched: Vec<usize>,
    /// How many more list items to visit: many instructions may use the same long list.
    budget: usize,
    unknown: Option<&'static str>,
}

pub(crate) fn liveness(plan: &ExecutionPlan<'_>) -> Liveness {
    let values = plan.values();
    let chains = plan.chains();
    let operators = plan.operators().iter().map(|operator| operator.name());
    let mut walk = Walk {
        plan,
        operators: operators.collect(),
        open: vec![None; values.len()],
        seen: vec![false; values.len()],
        uses: vec![None; values.len()],
        lives: Vec::new(),
        moved: BTreeMap::new(),
        touched: Vec::new(),
        budget: 16 * size(plan),
        unknown: None,
    };
    for input in plan.inputs() {
        walk.use_value(*input, 0, Use::Write);
    }
    let mut time = 1;
    for chain in chains {
        walk.chain(chain, &mut time);
    }
    for output in plan.outputs() {
        walk.use_value(*output, time, Use::Read);
    }
    walk.end_block();
    // An initial state is loaded once and kept between runs.
    let state = |(index, _): (usize, _)| Life { value: index, first: 0, last: time, overwrites: Overwrites::Yes };
    let kept = plan.tensors().filter(|(_, tensor)| has_state(tensor));
    walk.lives.retain(|life| !plan.tensor(life.value).is_some_and(has_state));
    walk.lives.extend(kept.map(state));
    Liveness { lives: walk.lives, uses: walk.uses, end: time, unknown: walk.unknown }
}

/// Whether a tensor is mutable and has an initial state.
fn has_state(tensor: &Tensor<'_>) -> bool {
    tensor.data_buffer_idx > 0 && tensor.allocation_info.is_some()
}

/// The number of values, list items, instructions and arguments of a method.
fn size(plan: &ExecutionPlan<'_>) -> usize {
    let items = |value: &EValue<'_>| value.val.tensors().map_or(1, |items| items.len() + 1);
    let args =
        |chain: &Chain<'_>| chain.instructions().iter().map(|one| args(&one.instr_args).len() + 1).sum::<usize>();
    let values = plan.values().iter().map(items).sum::<usize>();
    values + plan.chains().iter().map(args).sum::<usize>()
}

/// Whether an instruction uses a value. Also true if the lists are too long to search.
pub(crate) fn uses(plan: &ExecutionPlan<'_>, instruction: &InstructionArguments<'_>, index: usize) -> bool {
    const MOST: usize = 32;
    let args = args(instruction);
    let is_it = |one: &i32| usize::try_from(*one) == Ok(index);
    let in_list = |one: &i32| match plan.value(*one).and_then(|one| one.val.tensors()) {
        Some(items) => items.len() > MOST || items.iter().any(is_it),
        None => false,
    };
    args.len() > MOST || args.iter().any(is_it) || args.iter().any(in_list)
}

fn args<'t>(instruction: &'t InstructionArguments<'_>) -> &'t [i32] {
    match instruction {
        InstructionArguments::KernelCall(call) => call.args.as_deref().unwrap_or_default(),
        InstructionArguments::DelegateCall(call) => call.args.as_deref().unwrap_or_default(),
        _ => &[],
    }
}

impl<'t, 'a> Walk<'t, 'a> {
    fn chain(&mut self, chain: &Chain<'_>, time: &mut usize) {
        let instructions = chain.instructions();
        let mut starts = vec![false; instructions.len() + 1];
        for (index, instruction) in instructions.iter().enumerate() {
            if let InstructionArguments::JumpFalseCall(jump) = &instruction.instr_args {
                self.unknown = Some("the method jumps, so overlaps were checked only within the blocks between jumps");
                let destination = usize::try_from(jump.destination_instruction).unwrap_or(0);
                for start in [index + 1, destination] {
                    if let Some(start) = starts.get_mut(start) {
                        *start = true;
                    }
                }
            }
        }
        for (instruction, starts) in instructions.iter().zip(&starts) {
            if *starts {
                self.end_block();
            }
            self.instruction(&instruction.instr_args, *time);
            *time += 1;
        }
        if starts.last() == Some(&true) {
            self.end_block();
        }
    }

    fn instruction(&mut self, instruction: &InstructionArguments<'_>, time: usize) {
        match instruction {
            InstructionArguments::KernelCall(call) => {
                let args = call.args.as_deref().unwrap_or_default();
                let operator = usize::try_from(call.op_index).ok().and_then(|index| self.operators.get(index));
                match (operator, args) {
                    // Makes the last argument a view of the first.
                    (Some(&"executorch_prim::et_view"), [from, _, to]) => self.alias(*from, *to, time),
                    _ => self.kernel(args, time),
                }
            }
            InstructionArguments::DelegateCall(call) => {
                for arg in call.args.as_deref().unwrap_or_default() {
                    self.use_value(*arg, time, Use::Either);
                }
            }
            InstructionArguments::MoveCall(call) => self.alias(call.move_from, call.move_to, time),
            InstructionArguments::JumpFalseCall(call) => self.use_value(call.cond_value_index, time, Use::Read),
            _ => (),
        }
    }

    /// From here to the end of the block, `to` has the memory of `from`.
    fn alias(&mut self, from: i32, to: i32, time: usize) {
        self.use_value(from, time, Use::Read);
        usize::try_from(to).into_iter().for_each(|to| self.note(to, time));
        if let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to)) {
            let from = self.moved.get(&from).copied().unwrap_or(from);
            let values = self.plan.values().len();
            if from != to && from < values && to < values {
                self.moved.insert(to, from);
            }
        }
    }

    /// The exporter writes a kernel's inputs, then its outputs, then all outputs again.
    fn kernel(&mut self, args: &[i32], time: usize) {
        let repeats = |count: &usize| {
            let (rest, last) = args.split_at(args.len() - count);
            rest.len()
                .checked_sub(*count)
                .and_then(|start| rest.get(start..))
                .is_some_and(|before| self.same(before, last))
        };
        let outputs = (1..=args.len() / 2).take(8).filter(repeats).last();
        let (inputs, outputs) = match outputs {
            Some(count) => args.split_at(args.len() - 2 * count),
            None => args.split_at(args.len().saturating_sub(1)),
        };
        // Inputs first: a value that is both read and written must not count as overwritten.
        for arg in inputs {
            self.use_value(*arg, time, Use::Read);
        }
        for arg in outputs {
            self.use_value(*arg, time, Use::Write);
        }
    }

    /// Whether both are the same values or lists of the same values.
    fn same(&self, left: &[i32], right: &[i32]) -> bool {
        let plan = self.plan;
        let list = |index: i32| plan.value(index)?.val.tensors().filter(|items| items.len() <= 64);
        left.iter().zip(right).all(|(left, right)| {
            left == right || list(*left).is_some_and(|left| list(*right).is_some_and(|right| left == right))
        })
    }

    fn use_value(&mut self, index: i32, time: usize, how: Use) {
        let Some(found) = self.plan.value(index) else {
            return;
        };
        let Some(items) = found.val.tensors() else {
            return self.use_one(index as usize, time, how);
        };
        match self.budget.checked_sub(items.len()) {
            Some(left) => {
                self.budget = left;
                for item in items {
                    if self.plan.value(*item).is_some_and(|item| item.val.tensors().is_none()) {
                        self.use_one(*item as usize, time, how);
                    }
                }
            }
            None => self.unknown = Some("the instructions use long lists so often that not all uses were checked"),
        }
    }

    fn note(&mut self, index: usize, time: usize) {
        if let Some(found) = self.uses.get_mut(index) {
            found.get_or_insert((time, time)).1 = time;
        }
    }

    fn use_one(&mut self, index: usize, time: usize, how: Use) {
        self.note(index, time);
        let index = self.moved.get(&index).copied().unwrap_or(index);
        let first_ever = self.seen.get_mut(index).is_some_and(|seen| !core::mem::replace(seen, true));
        let Some(open) = self.open.get_mut(index) else {
            return;
        };
        match open {
            Some(life) => life.last = time,
            None => {
                let overwrites = match how {
                    Use::Write => Overwrites::Yes,
                    Use::Either if first_ever => Overwrites::Maybe,
                    Use::Either | Use::Read => Overwrites::No,
                };
                *open = Some(Life { value: index, first: time, last: time, overwrites });
                self.touched.push(index);
            }
        }
    }

    fn end_block(&mut self) {
        for index in self.touched.drain(..) {
            self.lives.extend(self.open.get_mut(index).and_then(Option::take));
        }
        self.moved.clear();
    }
}
