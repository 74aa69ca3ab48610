//! Programs that use memory after `FreeCall`, never end, view a value that a move rebinds, or move into the caller's memory.

use crate::judge::{MANY_WALKS, Server, Truth, Verdict, runs, verdict};
use crate::plan::{self, Kind};
use crate::program::{At, Effect, Plan, Program, Role, Step, TensorValue, Value};
use crate::shadow::{self, Decisions, Seen};
use executorch_format_support::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A tensor in planned memory is freed between two of its uses.
    FreeBetween,
    /// A tensor in planned memory is freed at the end: the next run writes to it.
    FreeAtEnd,
    FreeInput,
    FreeOutput,
    FreeConstant,
    /// A loop does not end, because its condition is constant.
    EndlessLoop,
    /// A result of branches or of a loop, into which a tensor is moved, is read through a view by its place.
    ViewOfMoved,
    /// An output into which a tensor is moved is in the caller's memory, which is new in each run.
    OutputRebound,
}

const FAULTS: [Fault; 8] = [
    Fault::FreeBetween,
    Fault::FreeAtEnd,
    Fault::FreeInput,
    Fault::FreeOutput,
    Fault::FreeConstant,
    Fault::EndlessLoop,
    Fault::ViewOfMoved,
    Fault::OutputRebound,
];

/// A fault, and the verdicts about it.
pub struct Found {
    pub fault: Fault,
    pub truth: Truth,
    /// The rules that the file breaks.
    pub rules: Vec<&'static str>,
    pub file: Vec<u8>,
}

impl Found {
    /// Returns `true` if this crate contradicts the truth.
    pub fn disagrees(&self) -> bool {
        match self.truth {
            Truth::Right => !self.rules.is_empty(),
            Truth::Wrong => self.rules.is_empty(),
            _ => false,
        }
    }
}

/// Tries all faults of a program. Endless loops take seconds, so they are tried only for some programs.
pub fn faults(program: &Program, seed: u64, server: &mut Server) -> Vec<Found> {
    let mut random = Random::new(seed ^ 0xfa);
    let plan = plan::plan(program, Kind::Right, &mut random).expect("a right plan");
    let wanted = FAULTS.into_iter().filter(|fault| *fault != Fault::EndlessLoop || seed % 16 == 0);
    wanted.filter_map(|fault| judge(fault, program, &plan, seed, server, &mut random)).collect()
}

fn judge(
    fault: Fault,
    program: &Program,
    plan: &Plan,
    seed: u64,
    server: &mut Server,
    random: &mut Random,
) -> Option<Found> {
    let (reference, faulty) = damage(fault, program, random)?;
    let file = faulty.file(plan);
    let results = server.run(seed, runs(program), &[reference.file(plan), file.clone()]);
    let (found, mut rules) = verdict(&file);
    match found {
        Verdict::Overlap => rules.push("planned-memory-overlap"),
        Verdict::Unknown => rules.push("planned-memory-unknown"),
        Verdict::Clean => (),
    }
    // The shadow has no view of a moved value and no tensor that a caller gives memory: without an effect, the truth is not known.
    let walks = if rules.is_empty() { 60 } else { MANY_WALKS };
    let truth = if results[0] != results[1] {
        Truth::Wrong
    } else if !matches!(fault, Fault::EndlessLoop | Fault::ViewOfMoved | Fault::OutputRebound)
        && shadow::judge(&faulty, plan, seed, walks, Decisions::Free) == Seen::Right
    {
        Truth::Right
    } else {
        Truth::OtherPath
    };
    Some(Found { fault, truth, rules, file })
}

/// Returns the program with a step that has no effect, and with the fault in its place.
fn damage(fault: Fault, program: &Program, random: &mut Random) -> Option<(Program, Program)> {
    match fault {
        Fault::EndlessLoop => return Some((program.clone(), endless(program)?)),
        Fault::ViewOfMoved => return Some((program.clone(), view_of_moved(program, random)?)),
        Fault::OutputRebound => return Some((program.clone(), output_rebound(program)?)),
        _ => (),
    }
    let (at, value) = match fault {
        Fault::FreeBetween | Fault::FreeAtEnd => {
            let is_temporary = |tensor: &TensorValue| matches!(tensor.at, At::Block(block, _) if program.blocks[block].role == Role::Temporary);
            let all: Vec<usize> =
                program.tensors().filter(|(_, tensor)| is_temporary(tensor)).map(|(value, _)| value).collect();
            let value = *all.get(random.below(all.len()))?;
            let uses: Vec<usize> = (0..program.steps.len())
                .filter(|step| program.mentions(&program.steps[*step]).contains(&value))
                .collect();
            let between = *uses.get(1 + random.below(uses.len().saturating_sub(1)))?;
            (if fault == Fault::FreeBetween { between } else { program.steps.len() }, value)
        }
        // A caller may set its own input anew after each run.
        Fault::FreeInput => {
            let mut planned = program.inputs.iter().filter(|input| program.tensor(**input).at != At::Caller);
            (random.below(program.steps.len() + 1), *planned.next()?)
        }
        Fault::FreeOutput => (program.steps.len(), *program.outputs.first()?),
        Fault::FreeConstant => {
            let reads: Vec<usize> = program.steps.iter().flat_map(|step| program.mentions(step)).collect();
            let is_constant = |value: &&usize| matches!(program.tensor(**value).at, At::Constant(_));
            let mut tensors = reads.iter().filter(|value| matches!(program.values[**value], Value::Tensor(_)));
            (random.below(program.steps.len() + 1), *tensors.find(is_constant)?)
        }
        Fault::EndlessLoop | Fault::ViewOfMoved | Fault::OutputRebound => return None,
    };
    let (mut reference, mut faulty) = (program.clone(), program.clone());
    for program in [&mut reference, &mut faulty] {
        for step in &mut program.steps {
            match step {
                Step::Jump { to, .. } if *to > at => *to += 1,
                _ => (),
            }
        }
        program.values.push(Value::Bool(true));
    }
    reference.steps.insert(at, Step::Jump { condition: program.values.len(), to: at + 1 });
    faulty.steps.insert(at, Step::Free(value));
    Some((reference, faulty))
}

/// Returns the values of planned memory into which a tensor is moved.
fn moved(program: &Program) -> Vec<usize> {
    let targets = program.steps.iter().filter_map(|step| match step {
        Step::Move { to, .. } => Some(*to),
        _ => None,
    });
    let is_planned =
        |value: &usize| matches!(&program.values[*value], Value::Tensor(TensorValue { at: At::Block(..), .. }));
    let mut moved: Vec<usize> = targets.filter(is_planned).collect();
    moved.sort_unstable();
    moved.dedup();
    moved
}

/// Returns the program with a read of a moved value replaced by a read of a view of it, as the exporter leaves out views.
fn view_of_moved(program: &Program, random: &mut Random) -> Option<Program> {
    let moved = moved(program);
    let mut reads: Vec<(usize, usize)> = Vec::new();
    for (at, step) in program.steps.iter().enumerate() {
        if let Step::Call { effect: Effect::Compute { reads: read, .. }, args, .. } = step {
            reads.extend(
                read.iter().filter(|value| moved.contains(value) && args.contains(value)).map(|value| (at, *value)),
            );
        }
    }
    let outputs = program.outputs.iter().enumerate().filter(|(_, value)| moved.contains(value));
    reads.extend(outputs.map(|(position, value)| (program.steps.len() + position, *value)));
    let (at, value) = *reads.get(random.below(reads.len()))?;
    let mut faulty = program.clone();
    faulty.values.push(program.values[value].clone());
    let view = program.values.len();
    let replace = |item: &mut usize| {
        if *item == value {
            *item = view;
        }
    };
    match faulty.steps.get_mut(at) {
        Some(Step::Call { effect: Effect::Compute { reads, .. }, args, .. }) => {
            args.iter_mut().chain(reads).for_each(replace);
        }
        _ => faulty.outputs[at - program.steps.len()] = view,
    }
    Some(faulty)
}

/// Returns the program with an output into which a tensor is moved in the caller's memory.
fn output_rebound(program: &Program) -> Option<Program> {
    let moved = moved(program);
    let is_alone = |value: usize| {
        let At::Block(block, _) = program.tensor(value).at else { return false };
        program.tensors().filter(|(_, tensor)| matches!(tensor.at, At::Block(other, _) if other == block)).count() == 1
    };
    let output = program.outputs.iter().copied().find(|output| moved.contains(output) && is_alone(*output))?;
    let mut faulty = program.clone();
    if let Value::Tensor(tensor) = &mut faulty.values[output] {
        tensor.at = At::Caller;
    }
    Some(faulty)
}

/// Returns the program with a loop that cannot end.
fn endless(program: &Program) -> Option<Program> {
    let mut endless = program.clone();
    let (back, start, condition) = program.steps.iter().enumerate().find_map(|(index, step)| match step {
        Step::Jump { to, condition } if *to < index => Some((index, *to, *condition)),
        _ => None,
    })?;
    endless.values.extend([Value::Bool(false), Value::Bool(true)]);
    let [never, always] = [program.values.len(), program.values.len() + 1];
    let is_constant = !program.steps.iter().any(|step| program.numbers(step).contains(&condition));
    if !is_constant {
        endless.steps[back] = Step::Jump { condition: never, to: start };
        return Some(endless);
    }
    // The loop ends by a jump out of it.
    let leaves = |step: &Step| matches!(step, Step::Jump { to, .. } if *to > back);
    let leave = (start..back).find(|step| leaves(&program.steps[*step]))?;
    if let Step::Jump { condition, .. } = &mut endless.steps[leave] {
        *condition = always;
    }
    Some(endless)
}
