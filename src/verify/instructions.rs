//! Rules about instructions. They follow the runtime's `method.cpp` (`Method::init`, `execute_instruction`) and
//! `register_prim_ops.cpp`.

use super::release::Release;
use super::report::{Few, Name, POSSIBLE, Report};
use super::rule::{self, Rule};
use super::values::value;
use crate::error::counted;
use crate::flatbuffer::text::Text;
use crate::operators::{self, KnownOperator, Library};
use crate::path::Path;
use crate::schema::program::{
    Chain, DelegateCall, EValue, ExecutionPlan, FreeCall, InstructionArguments, JumpFalseCall, KernelCall, KernelTypes,
    MoveCall, Operator, TensorShapeDynamism,
};
use crate::schema::{ScalarType, Unknown};
use alloc::{format, string::ToString, vec, vec::Vec};

pub(super) fn check(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let operators = plan.operators();
    let called = called_operators(plan);
    for (index, (operator, called)) in operators.iter().zip(called).enumerate() {
        if report.concerns(called) {
            operator_name(operator, &path.item("operators", index), report);
        }
    }
    let prims = operators.iter().map(prim).collect();
    let method = Method { values: plan.values(), prims, delegates: plan.delegates().len() };
    for (index, chain) in plan.chains().iter().enumerate() {
        let path = &path.item("chains", index);
        method.chain(chain, path, report);
        stack_trace(chain, path, report);
    }
}

/// Returns the length as a C string: up to the first NUL.
fn c_length(text: &Text<'_>) -> usize {
    text.as_bytes().iter().take_while(|byte| **byte != 0).count()
}

/// Returns, for each operator, whether kernel calls use it. The runtime does not resolve unused operators.
pub(super) fn called_operators(plan: &ExecutionPlan<'_>) -> Vec<bool> {
    let mut called = vec![false; plan.operators().len()];
    for instruction in plan.chains().iter().flat_map(|chain| chain.instructions()) {
        if let InstructionArguments::KernelCall(call) = &instruction.instr_args {
            // An operator that does not exist breaks another rule.
            if let Some(called) = usize::try_from(call.op_index).ok().and_then(|index| called.get_mut(index)) {
                *called = true;
            }
        }
    }
    called
}

/// The largest size of a full name: the runtime joins name and overload with a dot in a buffer of 100 bytes, which ends with a NUL.
const MAX_NAME: usize = 99;

/// Returns the size of the full name, and the name; `None` if it is absent.
fn full_name<'t, 'a>(operator: &'t Operator<'a>) -> Option<(usize, &'t Text<'a>)> {
    let name = operator.name.as_ref()?;
    let overload = operator.overload.as_ref().map_or(0, c_length);
    Some((c_length(name) + overload + usize::from(overload > 0), name))
}

fn operator_name(operator: &Operator<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some((length, name)) = full_name(operator) else {
        let found = format_args!("absent, expected an operator's name");
        return report.add(rule::OPERATOR_NAME, &path.field("name"), found);
    };
    if length > MAX_NAME {
        let offset = report.offset(Some(name.as_bytes()));
        let found = format!("{} and its overload need {length} bytes, expected at most {MAX_NAME}", Name(name));
        report.add_at(rule::OPERATOR_NAME, &path.field("name"), offset, found);
    }
}

/// Reports the called operators without a kernel. This is a rule of the strict level, for which firmware does not link the table of operators.
pub(super) fn check_kernels(plan: &ExecutionPlan<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (index, (operator, called)) in plan.operators().iter().zip(called_operators(plan)).enumerate() {
        if called && full_name(operator).is_some_and(|(length, _)| length <= MAX_NAME) {
            without_kernel(operator, &path.item("operators", index), report);
        }
    }
}

/// Reports an operator that no library of the newest release has, although it is in one of ExecuTorch's own namespaces, or that only a
/// backend computes.
fn without_kernel(operator: &Operator<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let row = operators::find(operator);
    let has = |row: &KnownOperator| {
        Library::ALL.iter().any(|library| Release::LATEST.is_in(library.releases(&row.libraries)))
    };
    let backend = row.and_then(|row| row.backend);
    if row.is_some_and(has) || backend.is_none() && !operators::is_official(operator) {
        return;
    }
    let name = Name(&operator.full_name()).to_string();
    let (latest, advice) = (Release::LATEST, "export with a decomposition of it, delegate it, or register a kernel");
    let found = match backend {
        Some(backend) => format!("{name}, which only {backend} computes: delegate it"),
        None => format!("{name}, which no kernel library of ExecuTorch {latest} has: {advice}"),
    };
    report.add(rule::OPERATOR_WITHOUT_KERNEL, path, found);
}

/// Reports stack traces without an instruction. The exporter writes none for calls of delegates, and none from the first branch on.
fn stack_trace(chain: &Chain<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (traces, instructions) = (chain.stacktrace().len(), chain.instructions().len());
    if traces > instructions {
        let found =
            format!("{}, expected at most {instructions}: one for each instruction", counted(traces, "stack trace"));
        report.add(rule::STACK_TRACE, &path.field("stacktrace"), found);
    }
}

/// The lists of a method that instructions refer to.
struct Method<'t, 'a> {
    values: &'t [EValue<'a>],
    /// For each operator, the built-in operator that it is, if any.
    prims: Vec<Option<&'static Prim>>,
    delegates: usize,
}

impl<'t, 'a> Method<'t, 'a> {
    fn chain(&self, chain: &Chain<'_>, path: &Path<'_>, report: &mut Report<'_>) {
        let instructions = chain.instructions();
        for (index, instruction) in instructions.iter().enumerate() {
            let path = &path.item("instructions", index);
            match &instruction.instr_args {
                InstructionArguments::KernelCall(call) => {
                    self.kernel_call(call, &path.field("instr_args.KernelCall"), report)
                }
                InstructionArguments::DelegateCall(call) => {
                    self.delegate_call(call, &path.field("instr_args.DelegateCall"), report);
                }
                InstructionArguments::MoveCall(call) => {
                    self.move_call(*call, &path.field("instr_args.MoveCall"), report)
                }
                InstructionArguments::JumpFalseCall(call) => {
                    let path = path.field("instr_args.JumpFalseCall");
                    self.jump_condition(*call, &path, report);
                    jump_destination(*call, index, instructions.len(), &path, report);
                }
                InstructionArguments::FreeCall(call) => {
                    self.free_call(*call, &path.field("instr_args.FreeCall"), report)
                }
                InstructionArguments::None => {
                    report.add(
                        rule::INSTRUCTION_KIND,
                        &path.field("instr_args"),
                        format_args!("absent, expected a call"),
                    );
                }
                InstructionArguments::Unknown(Unknown { tag: tag @ 1..=5, .. }) => {
                    let found = format!("absent, expected the arguments of an instruction of kind {tag}");
                    report.add(rule::INSTRUCTION_KIND, &path.field("instr_args"), found);
                }
                InstructionArguments::Unknown(Unknown { tag, .. }) => {
                    let found = format!("{tag}, expected an instruction kind from 1 to 5");
                    report.add(rule::INSTRUCTION_KIND, &path.field("instr_args_type"), found);
                }
            }
        }
    }

    /// Returns the value that an instruction refers to; reports an index out of range.
    fn value(
        &self,
        index: i32,
        rule: &'static Rule,
        path: &Path<'_>,
        offset: Option<u64>,
        report: &mut Report<'_>,
    ) -> Option<&'t KernelTypes<'a>> {
        let found = value(self.values, index);
        if found.is_none() {
            let found = format!("value {index} does not exist: the method has {}", counted(self.values.len(), "value"));
            report.add_at(rule, path, offset, found);
        }
        found
    }

    fn arguments(&self, args: Option<&[i32]>, path: &Path<'_>, report: &mut Report<'_>) {
        let Some(args) = args else {
            return report.add(rule::ARGUMENTS, &path.field("args"), format_args!("absent, expected a list"));
        };
        for (at, arg) in args.iter().enumerate() {
            if value(self.values, *arg).is_some() {
                continue;
            }
            let offset = report.offset_of(args, at);
            self.value(*arg, rule::ARGUMENT_INDEX, &path.item("args", at), offset, report);
        }
    }

    fn kernel_call(&self, call: &KernelCall<'_>, path: &Path<'_>, report: &mut Report<'_>) {
        self.arguments(call.args.as_deref(), path, report);
        let operator = usize::try_from(call.op_index).ok().and_then(|index| self.prims.get(index));
        let Some(prim) = operator else {
            let operators = counted(self.prims.len(), "operator");
            let found = format!("operator {} does not exist: the method has {operators}", call.op_index);
            return report.add(rule::OPERATOR_INDEX, &path.field("op_index"), found);
        };
        if let (Some((name, overload, expected)), Some(args)) = (prim, call.args.as_deref()) {
            if *expected != args.len() {
                let found = format!("{} for {name}.{overload}, expected {expected}", counted(args.len(), "argument"));
                report.add_at(rule::PRIM_ARGUMENTS, &path.field("args"), report.offset(Some(args)), found);
            }
            if *name == "executorch_prim::et_copy_index" {
                self.copy_index(args, path, report);
            }
        }
    }

    /// Checks a call of `et_copy_index`, which copies a tensor into a larger one, at an index of the larger one's first dimension.
    fn copy_index(&self, args: &[i32], path: &Path<'_>, report: &mut Report<'_>) {
        let [to, from, index] = args else {
            return;
        };
        let (Some(KernelTypes::Tensor(to)), Some(KernelTypes::Tensor(from)), Some(index)) =
            (value(self.values, *to), value(self.values, *from), value(self.values, *index))
        else {
            return;
        };
        let at = match index {
            KernelTypes::Int(index) => index.int_val,
            _ => 0,
        };
        let sizes = (to.byte_size(), from.byte_size());
        let (Ok(room), Ok(size)) = sizes else {
            return;
        };
        let end = u64::try_from(at).ok().and_then(|at| at.checked_add(1)?.checked_mul(size));
        if end.is_none_or(|end| end > room) {
            // A dynamic tensor may be smaller.
            let is_bound = from.shape_dynamism != TensorShapeDynamism::STATIC;
            let (effect, bound) = match is_bound {
                true => (POSSIBLE, " at the upper bounds of the sizes"),
                false => (rule::COPY_INDEX.effect(), ""),
            };
            let found = format!(
                "copies {} {} to index {at} of {} {}, past its end{bound}: it has {}",
                from.scalar_type,
                Few(from.sizes()),
                to.scalar_type,
                Few(to.sizes()),
                counted(room, "byte"),
            );
            report.add_as(effect, rule::COPY_INDEX, &path.field("args"), None, found);
        }
    }

    fn delegate_call(&self, call: &DelegateCall<'_>, path: &Path<'_>, report: &mut Report<'_>) {
        self.arguments(call.args.as_deref(), path, report);
        if usize::try_from(call.delegate_index).ok().is_none_or(|index| index >= self.delegates) {
            let delegates = counted(self.delegates, "delegate");
            let found = format!("delegate {} does not exist: the method has {delegates}", call.delegate_index);
            report.add(rule::DELEGATE_CALL_INDEX, &path.field("delegate_index"), found);
        }
    }

    fn move_call(&self, call: MoveCall, path: &Path<'_>, report: &mut Report<'_>) {
        let from = self.value(call.move_from, rule::MOVE_INDEX, &path.field("move_from"), None, report);
        let to = self.value(call.move_to, rule::MOVE_INDEX, &path.field("move_to"), None, report);
        if let (Some(from), Some(to)) = (from, to) {
            if from.tag() != to.tag() {
                let (from, to) = (from.name().unwrap_or("unknown"), to.name().unwrap_or("unknown"));
                let found = format!("moves a value of kind {from} to one of kind {to}, expected the same kind");
                report.add(rule::MOVE_KIND, path, found);
            }
        }
    }

    fn free_call(&self, call: FreeCall, path: &Path<'_>, report: &mut Report<'_>) {
        match self.value(call.value_index, rule::FREE_INDEX, &path.field("value_index"), None, report) {
            None | Some(KernelTypes::Tensor(_)) => (),
            Some(other) => {
                let kind = other.name().unwrap_or("unknown");
                let found = format!("value {} is of kind {kind}, expected Tensor", call.value_index);
                report.add(rule::FREE_KIND, &path.field("value_index"), found);
            }
        }
    }

    fn jump_condition(&self, call: JumpFalseCall, path: &Path<'_>, report: &mut Report<'_>) {
        let index = call.cond_value_index;
        let path = &path.field("cond_value_index");
        match self.value(index, rule::JUMP_CONDITION_INDEX, path, None, report) {
            None | Some(KernelTypes::Bool(_)) => (),
            Some(KernelTypes::Tensor(tensor)) if tensor.scalar_type == ScalarType::BOOL => (),
            Some(KernelTypes::Tensor(tensor)) => {
                let found = format!("value {index} is a tensor of {}, expected a tensor of BOOL", tensor.scalar_type);
                report.add(rule::JUMP_CONDITION_KIND, path, found);
            }
            Some(other) => {
                let kind = other.name().unwrap_or("unknown");
                let found = format!("value {index} is of kind {kind}, expected Bool or a tensor of BOOL");
                report.add(rule::JUMP_CONDITION_KIND, path, found);
            }
        }
    }
}

/// Checks the destination of a jump. A jump to the index after the last instruction ends the chain.
fn jump_destination(call: JumpFalseCall, index: usize, instructions: usize, path: &Path<'_>, report: &mut Report<'_>) {
    let destination = call.destination_instruction;
    let path = &path.field("destination_instruction");
    match usize::try_from(destination) {
        Ok(destination) if destination == index => {
            let found = format!("instruction {destination} is the jump itself, which can loop forever");
            report.add(rule::JUMP_DESTINATION, path, found);
        }
        Ok(destination) if destination <= instructions => (),
        _ => {
            let found = format!("instruction {destination}, expected 0 to {instructions}");
            report.add(rule::JUMP_DESTINATION, path, found);
        }
    }
}

/// A built-in operator of the runtime: name, overload, number of arguments.
pub(super) type Prim = (&'static str, &'static str, usize);

/// Returns the built-in operator whose number of arguments `prim-arguments` checks.
pub(super) fn prim(operator: &Operator<'_>) -> Option<&'static Prim> {
    PRIMS.iter().find(|prim| prim.0 == operator.name() && prim.1 == operator.overload())
}

const PRIMS: &[Prim] = &[
    ("aten::_local_scalar_dense", "", 2),
    ("aten::sym_numel", "", 2),
    ("aten::sym_size", "int", 3),
    ("executorch_prim::add", "Scalar", 3),
    ("executorch_prim::eq", "Scalar", 3),
    ("executorch_prim::et_copy_index", "tensor", 3),
    ("executorch_prim::et_view", "default", 3),
    ("executorch_prim::floordiv", "Scalar", 3),
    ("executorch_prim::floordiv", "int", 3),
    ("executorch_prim::ge", "Scalar", 3),
    ("executorch_prim::gt", "Scalar", 3),
    ("executorch_prim::le", "Scalar", 3),
    ("executorch_prim::lt", "Scalar", 3),
    ("executorch_prim::mod", "Scalar", 3),
    ("executorch_prim::mod", "int", 3),
    ("executorch_prim::mul", "Scalar", 3),
    ("executorch_prim::sub", "Scalar", 3),
    ("executorch_prim::truediv", "Scalar", 3),
];
