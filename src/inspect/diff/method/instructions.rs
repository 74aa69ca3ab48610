//! The instructions of two methods, matched like lines of a text.

use super::text::{arguments, exact, label, number, shown};
use super::{InstructionOf, Pair};
use crate::inspect::NamedBy;
use crate::inspect::diff::{Difference, DifferenceKind, DifferenceSubject, Which};
use crate::names::shortened;
use crate::schema::program::{ExecutionPlan, Frame, InstructionArguments};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, string::ToString, vec, vec::Vec};
use imara_diff::{Algorithm, Token};

#[expect(
    clippy::indexing_slicing,
    reason = "indices are those of the two lists of instructions, which have a token for each"
)]
impl<'s> Pair<'_, 's> {
    /// Matches the instructions, then the values in their arguments.
    pub(super) fn instructions(&mut self) {
        let plans = self.plans;
        let lists: [Vec<((usize, usize), InstructionOf<'s>)>; 2] = plans.map(|plan| plan.instructions().collect());
        let [before, after] = &lists;
        let chains = plans.map(|plan| plan.chains().len().to_string());
        self.changed(DifferenceSubject::Instruction, "chains", &chains[0], &chains[1]);
        let mut numbers = Numbers::default();
        // Values that are already matched by their names count as the same argument.
        let tokens = numbers.tokens(plans[0], &|value| self.values.get(&value).map(|_| value));
        let other_tokens = numbers.tokens(plans[1], &|value| self.taken.get(&value).copied());
        let mut matched = imara_diff::Diff::default();
        matched.compute_with(Algorithm::Histogram, &tokens, &other_tokens, numbers.0.len() as u32);
        let mut partner: Vec<Option<usize>> = vec![None; before.len()];
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let (mut first, mut second) = (0, 0);
        for hunk in matched.hunks() {
            while first < hunk.before.start as usize {
                partner[first] = Some(second);
                (first, second) = (first + 1, second + 1);
            }
            // Calls of the same operator with a different number among their arguments are matched.
            let mut others: Vec<usize> = hunk.after.clone().map(|index| index as usize).collect();
            for index in hunk.before.clone().map(|index| index as usize) {
                let operator = label(plans[0], before[index].1);
                let same = others.iter().take(64).position(|other| operator == label(plans[1], after[*other].1));
                match same {
                    Some(at) => {
                        partner[index] = Some(others[at]);
                        others.drain(..=at).take(at).for_each(|other| added.push(other));
                    }
                    None => removed.push(index),
                }
            }
            added.append(&mut others);
            (first, second) = (hunk.before.end as usize, hunk.after.end as usize);
        }
        while first < before.len() && second < after.len() {
            partner[first] = Some(second);
            (first, second) = (first + 1, second + 1);
        }
        self.match_arguments(&lists, [&tokens, &other_tokens], &partner);
        self.unmatched(&lists, [&tokens, &other_tokens], &removed, &added);
        self.jumps(&lists, &partner);
        self.stack_traces(&lists, &partner);
    }

    /// Compares matched instructions, and matches the values in their arguments.
    fn match_arguments(
        &mut self,
        lists: &[Vec<((usize, usize), InstructionOf<'s>)>; 2],
        tokens: [&[Token]; 2],
        partner: &[Option<usize>],
    ) {
        let [before, after] = lists;
        let [plan, other_plan] = self.plans;
        for ((place, instruction), (token, second)) in before.iter().zip(tokens[0].iter().zip(partner)) {
            let Some(second) = *second else { continue };
            let (_, other) = &after[second];
            let (args, other_args) = (arguments(instruction), arguments(other));
            let same = *token == tokens[1][second];
            if !same {
                self.instruction_changed(*place, shown(plan, instruction), shown(other_plan, other));
            }
            let mut fits = args.len() == other_args.len();
            for (value, other_value) in args.iter().zip(&other_args) {
                fits &= self.match_values(*value, *other_value, false);
            }
            if !fits && same {
                self.instruction_changed(*place, shown(plan, instruction), shown(other_plan, other));
            }
            if let (InstructionArguments::DelegateCall(call), InstructionArguments::DelegateCall(other)) =
                (instruction, other)
            {
                let indices = (usize::try_from(call.delegate_index), usize::try_from(other.delegate_index));
                if let (Ok(index), Ok(other_index)) = indices {
                    self.delegates.entry(index).or_insert(other_index);
                }
            }
        }
    }

    fn instruction_changed(&mut self, place: (usize, usize), before: String, after: String) {
        // The texts do not show which tensors they take, nor the end of a long list.
        let after = if before == after { "the same with other values".into() } else { after };
        self.instruction(Which::Before, DifferenceKind::Changed, place, Some(before), Some(after));
    }

    /// Adds a difference of an instruction of one side.
    fn instruction(
        &mut self,
        side: Which,
        kind: DifferenceKind,
        place: (usize, usize),
        before: Option<String>,
        after: Option<String>,
    ) {
        let name = side.of(&self.names).and_then(|names| names.instruction(place.0, place.1));
        let mut change = Difference::new(DifferenceSubject::Instruction, kind, Some(self.name), number(place));
        if let Some(name) = name {
            change.tensor_name = Some(name.label.to_string());
            change.named_by = Some(NamedBy::Operator);
            change.module = name.module.map(|module| shortened(module).into_owned());
        }
        self.comparer.difference(Difference { before, after, ..change });
    }

    /// Reports instructions without a counterpart. Those that are equal on both sides were moved.
    fn unmatched(
        &mut self,
        lists: &[Vec<((usize, usize), InstructionOf<'s>)>; 2],
        tokens: [&[Token]; 2],
        removed: &[usize],
        added: &[usize],
    ) {
        let mut waiting: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for index in added.iter().rev() {
            waiting.entry(tokens[1][*index].0).or_default().push(*index);
        }
        let [before, after] = lists;
        let [plan, other_plan] = self.plans;
        let mut moved = BTreeSet::new();
        for index in removed {
            let (place, instruction) = &before[*index];
            let text = Some(shown(plan, instruction));
            match waiting.get_mut(&tokens[0][*index].0).and_then(Vec::pop) {
                Some(other) => {
                    moved.insert(other);
                    let (other_place, other) = &after[other];
                    let name = format!("{} -> {}", number(*place), number(*other_place));
                    self.change(DifferenceSubject::Instruction, DifferenceKind::Moved, name, text, None);
                    for (value, other_value) in arguments(instruction).iter().zip(&arguments(other)) {
                        self.match_values(*value, *other_value, false);
                    }
                }
                None => self.instruction(Which::Before, DifferenceKind::Removed, *place, text, None),
            }
        }
        for index in added.iter().filter(|index| !moved.contains(*index)) {
            let (place, instruction) = &after[*index];
            self.instruction(Which::After, DifferenceKind::Added, *place, None, Some(shown(other_plan, instruction)));
        }
    }

    /// Compares the destinations of matched jumps, which have to be matched with each other.
    fn jumps(&mut self, lists: &[Vec<((usize, usize), InstructionOf<'s>)>; 2], partner: &[Option<usize>]) {
        let [before, after] = lists;
        let end = |list: &[((usize, usize), InstructionOf<'s>)], chain: usize, index: i32| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            list.partition_point(|(place, _)| *place < (chain, index))
        };
        for (((chain, index), instruction), partner_index) in before.iter().zip(partner) {
            let other = partner_index.map(|second| &after[second]);
            if let (
                InstructionArguments::JumpFalseCall(jump),
                Some(((other_chain, _), InstructionArguments::JumpFalseCall(other))),
            ) = (instruction, other)
            {
                let target = end(before, *chain, jump.destination_instruction);
                let other_target = end(after, *other_chain, other.destination_instruction);
                let (earlier, later) = partner.split_at(target);
                // No instruction follows a target at the end of the list.
                let expected = later.iter().flatten().next().copied().unwrap_or(after.len());
                // An instruction that was inserted there may be the new destination or come before it.
                if other_target != expected
                    && other_target != earlier.last().copied().flatten().map_or(0, |last| last + 1)
                {
                    let text = |destination: i32| format!("jumps to {destination}");
                    let (before, after) = (text(jump.destination_instruction), text(other.destination_instruction));
                    self.changed(DifferenceSubject::Instruction, &number((*chain, *index)), &before, &after);
                }
            }
        }
    }

    fn stack_traces(&mut self, lists: &[Vec<((usize, usize), InstructionOf<'s>)>; 2], partner: &[Option<usize>]) {
        let frames = |side: Which, index: usize| {
            let ((chain, index), _) = side.of(lists)[index];
            side.of(&self.plans).chains()[chain].stacktrace().get(index)?.items.as_deref()
        };
        let (mut lost, mut new, mut other) = (0, 0, 0);
        for (index, second) in partner.iter().enumerate() {
            let Some(second) = second else { continue };
            let traces: (Option<&[Frame<'_>]>, Option<&[Frame<'_>]>) =
                (frames(Which::Before, index), frames(Which::After, *second));
            match traces {
                (Some(before), Some(after)) if before != after => other += 1,
                (Some(_), None) => lost += 1,
                (None, Some(_)) => new += 1,
                _ => {}
            }
        }
        for (count, kind) in
            [(lost, DifferenceKind::Removed), (new, DifferenceKind::Added), (other, DifferenceKind::Changed)]
        {
            if count > 0 {
                self.change(DifferenceSubject::StackTrace, kind, format!("of {count} instructions"), None, None);
            }
        }
    }
}

/// A number for each text. Equal texts have equal numbers.
#[derive(Default)]
struct Numbers(BTreeMap<String, u32>);

impl Numbers {
    fn number(&mut self, text: String) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(text).or_insert(next)
    }

    /// Returns a token for each instruction. Instructions are the same if they have the same operator or kind, kinds of arguments, and
    /// numbers and strings among the arguments. Other tensors that they take are compared separately. `known` returns the number of a
    /// matched value.
    fn tokens(&mut self, plan: &ExecutionPlan<'_>, known: &dyn Fn(usize) -> Option<usize>) -> Vec<Token> {
        let mut values: Vec<u32> = Vec::with_capacity(plan.values().len());
        for (index, value) in plan.values().iter().enumerate() {
            let text = known(index).map_or_else(|| exact(plan, &value.val), |known| format!("matched {known}"));
            values.push(self.number(text));
        }
        let operators: Vec<u32> =
            plan.operators().iter().map(|operator| self.number(format!("operator {}", operator.full_name()))).collect();
        let mut token = |instruction: &InstructionArguments<'_>| {
            let operator = match instruction {
                InstructionArguments::KernelCall(call) => {
                    operators.get(usize::try_from(call.op_index).unwrap_or(usize::MAX))
                }
                _ => None,
            };
            let mut text = operator.map_or_else(|| label(plan, instruction), |operator| format!("operator {operator}"));
            for value in arguments(instruction) {
                let number = usize::try_from(value).ok().and_then(|value| values.get(value));
                text += &number.map_or_else(|| format!(" {value}?"), |number| format!(" {number}"));
            }
            Token(self.number(text))
        };
        plan.instructions().map(|(_, instruction)| token(instruction)).collect()
    }
}
