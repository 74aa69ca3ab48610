//! The effect of an instruction on each of its arguments.

use super::payloads::DelegateOutputs;
use crate::operators::{self, Argument, Effect};
use crate::schema::program::{DelegateCall, ExecutionPlan, InstructionArguments, KernelCall, KernelTypes};
use alloc::vec::Vec;

/// The effect of an instruction on an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads it.
    Read,
    /// Uses its type and sizes, or its address, but not its bytes.
    Refer,
    /// Overwrites it.
    Write,
    /// Overwrites it element by element, so that it may be in the place of an input.
    Elementwise,
    /// Overwrites it, but may be in the place of that value, the first argument.
    Over(i32),
    /// Reads it, and writes all or part of it.
    InPlace,
    /// Overwrites an argument that is both input and result, as `copy_` does.
    Replace,
    /// Writes it piece by piece, starting with the first, as `et_copy_index` does in a loop.
    Fill,
    /// Uses its memory during the call.
    Scratch,
    /// Makes it a view of that value: sets its pointer.
    View(i32),
    /// Makes it that value.
    Move(i32),
    /// Takes its memory away.
    Free,
    /// Repeats its result.
    Again,
}

/// The effect of an instruction on one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The index into the method's values.
    pub(crate) value: i32,
    /// The argument's name, if the operator is known.
    pub(crate) name: Option<&'static str>,
    pub(crate) role: Role,
}

impl Role {
    /// Returns the role of an argument of an operator whose first argument is `first`.
    fn of(effect: Effect, first: i32) -> Self {
        match effect {
            Effect::Read => Self::Read,
            Effect::Refer => Self::Refer,
            Effect::Write => Self::Write,
            Effect::Elementwise => Self::Elementwise,
            Effect::OverFirst => Self::Over(first),
            Effect::InPlace => Self::InPlace,
            Effect::Replace => Self::Replace,
            Effect::Fill => Self::Fill,
            Effect::Scratch => Self::Scratch,
            Effect::View => Self::View(first),
        }
    }

    /// Returns `true` if the argument's content changes.
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Refer | Self::Scratch | Self::Free)
    }

    /// Returns `true` if the argument is an output but not an input.
    pub(crate) fn is_output(self) -> bool {
        matches!(self, Self::Write | Self::Elementwise | Self::Over(_))
    }

    /// Returns `true` if the argument is both input and output.
    pub(crate) fn is_in_place(self) -> bool {
        matches!(self, Self::InPlace | Self::Replace | Self::Fill)
    }
}

impl Access {
    fn new(value: i32, role: Role) -> Self {
        Self { value, name: None, role }
    }
}

/// The effects of an instruction on its arguments, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Accesses {
    pub(crate) list: Vec<Access>,
    /// The reason why the written arguments are a guess, if they are.
    pub(crate) unknown: Option<&'static str>,
}

/// The reason for an operator that is not in the table, or is called differently, with outputs repeated at the end.
const UNKNOWN_OPERATOR: &str = "the operator's arguments are not known";
/// The reason for the same case without a repeated argument.
const UNKNOWN_RESULT: &str = "the operator's arguments are not known, nor which of them it writes";
/// The reason for a delegate whose payload does not state its number of inputs.
pub(crate) const UNKNOWN_DELEGATE: &str = "which of the delegate's arguments it writes is not known";
/// The reason for an instruction that is not in the schema.
const UNKNOWN_INSTRUCTION: &str = "the instruction is not known";

/// The operators of a method.
pub(crate) struct Calls<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    delegates: &'t DelegateOutputs,
    /// The index of the method.
    method: usize,
    /// The arguments of each operator, if it is in the table.
    operators: Vec<Option<&'static [Argument]>>,
}

impl<'t, 'a> Calls<'t, 'a> {
    pub(crate) fn new(plan: &'t ExecutionPlan<'a>, method: usize, delegates: &'t DelegateOutputs) -> Self {
        let mut operators = Vec::with_capacity(plan.operators().len());
        operators.extend(plan.operators().iter().map(|operator| {
            // The arguments of some operators are not known.
            Some(operators::find(operator)?.arguments).filter(|arguments| !arguments.is_empty())
        }));
        Self { plan, delegates, method, operators }
    }

    /// Returns the effects of an instruction on its arguments.
    pub(crate) fn accesses(&self, instruction: &InstructionArguments<'_>) -> Accesses {
        let mut accesses = Accesses::default();
        self.find(instruction, &mut accesses);
        accesses
    }

    /// Does the same as [`accesses`](Self::accesses), but replaces the content of `accesses`.
    pub(crate) fn find(&self, instruction: &InstructionArguments<'_>, accesses: &mut Accesses) {
        let Accesses { list, unknown } = accesses;
        list.clear();
        *unknown = match instruction {
            InstructionArguments::KernelCall(call) => self.kernel(call, list),
            InstructionArguments::DelegateCall(call) => self.delegate(call, list),
            InstructionArguments::MoveCall(call) => {
                // A tensor's value is a pointer.
                let from = if self.plan.tensor(call.move_from).is_some() { Role::Refer } else { Role::Read };
                list.extend([Access::new(call.move_from, from), Access::new(call.move_to, Role::Move(call.move_from))]);
                None
            }
            InstructionArguments::JumpFalseCall(call) => {
                list.push(Access::new(call.cond_value_index, Role::Read));
                None
            }
            InstructionArguments::FreeCall(call) => {
                list.push(Access::new(call.value_index, Role::Free));
                None
            }
            _ => Some(UNKNOWN_INSTRUCTION),
        };
    }

    fn kernel(&self, call: &KernelCall<'_>, list: &mut Vec<Access>) -> Option<&'static str> {
        let args = call.args();
        let arguments = usize::try_from(call.op_index).ok().and_then(|index| *self.operators.get(index)?);
        match arguments.and_then(|arguments| self.known(arguments, args, list)) {
            Some(()) => None,
            None => self.unknown(args, list),
        }
    }

    /// Adds the accesses of a call that matches the table, with or without its results repeated. Returns `None` if it does not match.
    fn known(&self, arguments: &[Argument], args: &[i32], list: &mut Vec<Access>) -> Option<()> {
        let results = args.get(arguments.len()..)?;
        let first = args.first().copied().unwrap_or_default();
        for (value, argument) in args.iter().zip(arguments) {
            list.push(Access { value: *value, name: Some(argument.name), role: Role::of(argument.effect, first) });
        }
        // A kernel returns its output; without one, the argument that it changes.
        let output = list.iter().find(|access| access.role.is_output());
        let returned = output.or_else(|| list.iter().find(|access| access.role.writes())).copied();
        match (results, returned) {
            ([], _) => {}
            ([result], None) => list.push(Access::new(*result, Role::Write)),
            ([result], Some(returned)) => {
                let other = *result != returned.value && self.plan.tensor(*result).is_some();
                let role = if other { Role::Move(returned.value) } else { Role::Again };
                list.push(Access::new(*result, role));
            }
            (several, _) if several.len() == list.iter().filter(|access| access.role.is_output()).count() => {
                list.extend(several.iter().map(|result| Access::new(*result, Role::Again)));
            }
            _ => return None,
        }
        Some(())
    }

    /// Guesses the accesses of a call: the exporter writes a kernel's inputs, then its outputs, then all outputs again, individually or as
    /// a list.
    fn unknown(&self, args: &[i32], list: &mut Vec<Access>) -> Option<&'static str> {
        list.clear();
        const MAX_OUTPUTS: usize = 8;
        let (mut outputs, mut again) = (0, 0);
        for count in (1..=(args.len() / 2).min(MAX_OUTPUTS)).rev() {
            let (rest, last) = args.split_at(args.len() - count);
            // `count` is at most half of the arguments, so at least as many precede.
            if rest.iter().rev().zip(last.iter().rev()).all(|(before, after)| self.is_same(*before, *after)) {
                (outputs, again) = (count, count);
                break;
            }
        }
        if let (0, [rest @ .., last]) = (again, args) {
            let items = self.plan.value(*last).and_then(|value| value.val.tensors()).unwrap_or_default();
            if !items.is_empty() && items.len() <= MAX_OUTPUTS && rest.ends_with(items) {
                (outputs, again) = (items.len(), 1);
            }
        }
        if args.is_empty() {
            return None;
        }
        let unknown = if again == 0 { UNKNOWN_RESULT } else { UNKNOWN_OPERATOR };
        // A call without repetition still has at least one output.
        let (outputs, first) =
            if again == 0 { (1, args.len().saturating_sub(1)) } else { (outputs, args.len() - outputs - again) };
        let role = |at: usize| match at.checked_sub(first) {
            None => Role::Read,
            Some(at) if at < outputs => Role::Write,
            Some(_) => Role::Again,
        };
        list.extend(args.iter().enumerate().map(|(at, value)| Access::new(*value, role(at))));
        Some(unknown)
    }

    /// Returns `true` if both are the same value, or lists of the same values.
    fn is_same(&self, left: i32, right: i32) -> bool {
        let list = |index: i32| self.plan.value(index)?.val.tensors().filter(|items| items.len() <= 64);
        left == right || list(left).is_some_and(|items| list(right) == Some(items))
    }

    /// Adds the accesses of a delegate's call. Without a payload that states the outputs, all arguments are inputs.
    fn delegate(&self, call: &DelegateCall<'_>, list: &mut Vec<Access>) -> Option<&'static str> {
        let outputs = self.delegates.of(self.method, call.delegate_index);
        let role = |at: usize| if outputs.is_some_and(|outputs| outputs.has(at)) { Role::Write } else { Role::Read };
        list.extend(call.args().iter().enumerate().map(|(at, value)| Access::new(*value, role(at))));
        if outputs.is_none() { Some(UNKNOWN_DELEGATE) } else { None }
    }
}

/// Returns the arguments of a call of a kernel or a delegate.
pub(crate) fn arguments<'t>(instruction: &'t InstructionArguments<'_>) -> &'t [i32] {
    match instruction {
        InstructionArguments::KernelCall(call) => call.args(),
        InstructionArguments::DelegateCall(call) => call.args(),
        _ => &[],
    }
}

/// Returns the number of values, list items, instructions and arguments of a method: the measure for the work allowed on it.
pub(crate) fn size(plan: &ExecutionPlan<'_>) -> usize {
    let items = |value: &KernelTypes<'_>| match value {
        KernelTypes::IntList(list) => list.items().len(),
        other => other.tensors().map_or(0, <[i32]>::len),
    };
    let mut size = 0;
    for value in plan.values() {
        size += items(&value.val) + 1;
    }
    for (_, instruction) in plan.instructions() {
        size += arguments(instruction).len() + 1;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::program::{EValue, Instruction, Operator};
    use alloc::vec;

    /// Returns the names and roles of the arguments in a call of a single operator; value 9 is a list of the values 4 and 5.
    fn call(name: &'static str, overload: &'static str, args: &[i32]) -> (Vec<(Option<&'static str>, Role)>, bool) {
        let mut values = vec![EValue::null(); 9];
        values.push(EValue::tensor_list(vec![4, 5]));
        let instruction = Instruction::kernel_call(0, args.to_vec());
        let plan = ExecutionPlan::new("m", values, vec![Operator::new(name, overload)], Vec::new(), 0);
        let delegates = DelegateOutputs::default();
        let found = Calls::new(&plan, 0, &delegates).accesses(&instruction.instr_args);
        (found.list.iter().map(|access| (access.name, access.role)).collect(), found.unknown.is_some())
    }

    #[test]
    fn a_call_repeats_its_result() {
        let inputs = [(Some("self"), Role::Read), (Some("other"), Role::Read), (Some("alpha"), Role::Read)];
        let expected = [&inputs[..], &[(Some("out"), Role::Elementwise), (None, Role::Again)]].concat();
        assert_eq!(call("aten::add", "out", &[0, 1, 2, 3, 3]), (expected.clone(), false));
        assert_eq!(call("aten::add", "out", &[0, 1, 2, 3]).0, expected.get(..4).unwrap_or_default());
    }

    #[test]
    fn an_operator_without_outputs_writes_its_last_argument() {
        let expected = vec![(Some("a"), Role::Read), (Some("b"), Role::Read), (None, Role::Write)];
        assert_eq!(call("executorch_prim::add", "Scalar", &[0, 1, 0]), (expected, false));
    }

    #[test]
    fn arguments_changed_in_place_are_read_replaced_or_filled() {
        let first = |name, overload, args: &[i32]| call(name, overload, args).0.first().map(|found| found.1);
        assert_eq!(first("aten::index_put_", "", &[0, 1, 2, 3, 0]), Some(Role::InPlace));
        assert_eq!(first("aten::copy_", "", &[0, 1, 2, 0]), Some(Role::Replace));
        assert_eq!(first("executorch_prim::et_copy_index", "tensor", &[0, 1, 2]), Some(Role::Fill));
        let view = call("executorch_prim::et_view", "default", &[7, 1, 2]).0;
        assert_eq!(view.last(), Some(&(Some("out"), Role::View(7))));
    }

    #[test]
    fn a_repeated_result_is_the_output_and_not_the_argument_that_is_changed() {
        let roles = |args: &[i32]| {
            let found = call("llama::update_cache", "out", args).0;
            found.into_iter().map(|(_, role)| role).collect::<Vec<_>>()
        };
        assert_eq!(roles(&[0, 1, 2, 3, 3]), [Role::Read, Role::InPlace, Role::Read, Role::Write, Role::Again]);
    }

    #[test]
    fn an_unknown_operator_has_outputs_where_its_last_arguments_repeat() {
        let roles = |args: &[i32]| {
            let (found, unknown) = call("my::op", "", args);
            assert_eq!(unknown, !args.is_empty());
            found.into_iter().map(|(_, role)| role).collect::<Vec<_>>()
        };
        assert_eq!(roles(&[0, 1, 1]), [Role::Read, Role::Write, Role::Again]);
        assert_eq!(roles(&[0, 1, 2, 1, 2]), [Role::Read, Role::Write, Role::Write, Role::Again, Role::Again]);
        assert_eq!(roles(&[0, 4, 5, 9]), [Role::Read, Role::Write, Role::Write, Role::Again]);
        assert_eq!(roles(&[0, 1]), [Role::Read, Role::Write]);
        assert_eq!(roles(&[]), []);
        assert!(call("aten::add", "out", &[0]).1);
    }
}
