//! Programs that use memory after `FreeCall`, or never end.

use crate::judge::{MANY_WALKS, Server, Truth, Verdict, runs, verdict};
use crate::plan::{self, Kind};
use crate::program::{At, Plan, Program, Role, Step, TensorValue, Value};
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
}

const FAULTS: [Fault; 6] = [
    Fault::FreeBetween,
    Fault::FreeAtEnd,
    Fault::FreeInput,
    Fault::FreeOutput,
    Fault::FreeConstant,
    Fault::EndlessLoop,
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
    if found == Verdict::Overlap {
        rules.push("planned-memory-overlap");
    }
    let walks = if rules.is_empty() { 60 } else { MANY_WALKS };
    let truth = if results[0] != results[1] {
        Truth::Wrong
    } else if fault != Fault::EndlessLoop && shadow::judge(&faulty, plan, seed, walks, Decisions::Free) == Seen::Right {
        Truth::Right
    } else {
        Truth::OtherPath
    };
    Some(Found { fault, truth, rules, file })
}

/// Returns the program with a step that has no effect, and with the fault in its place.
fn damage(fault: Fault, program: &Program, random: &mut Random) -> Option<(Program, Program)> {
    if fault == Fault::EndlessLoop {
        return Some((program.clone(), endless(program)?));
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
        Fault::EndlessLoop => return None,
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
