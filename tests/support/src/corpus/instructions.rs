//! Damage to instructions and operators.

use super::values::unknown;
use super::{ADD, ADD_MUL, Case, DELEGATE, DYNAMIC, STACK_TRACE, chain, instructions, list, plan, pte, push, tensor};
use executorch_format::Pte;
use executorch_format::schema::program::{
    Bool, FreeCall, Instruction, InstructionArguments, Int, JumpFalseCall, KernelCall, MoveCall,
};

fn add<'a>(pte: &mut Pte<'a>, instruction: impl Into<InstructionArguments<'a>>) {
    instructions(pte).push(Instruction { instr_args: instruction.into() });
    chain(pte).stacktrace = None;
}

pub fn kernel<'p, 'a>(pte: &'p mut Pte<'a>, index: usize) -> &'p mut KernelCall<'a> {
    match &mut instructions(pte)[index].instr_args {
        InstructionArguments::KernelCall(call) => call,
        other => panic!("instruction {index} is {other:?}"),
    }
}

fn jump(cond_value_index: i32, destination_instruction: i32) -> JumpFalseCall {
    JumpFalseCall { cond_value_index, destination_instruction }
}

/// Makes a jump the only instruction. The tensors lose their planned memory, since a jump makes their lifetimes unknown.
fn only_jump(pte: &mut Pte<'_>, jump: JumpFalseCall) {
    instructions(pte).clear();
    for index in 0..3 {
        tensor(pte, index).allocation_info = None;
    }
    add(pte, jump);
}

fn only_condition(pte: &mut Pte<'_>, destination: i32) {
    let condition = push(pte, executorch_format::schema::program::Bool { bool_val: false });
    only_jump(pte, jump(condition, destination));
}

/// Replaces the only operator by the one with this name.
pub fn built_in(pte: &mut Pte<'_>, name: &'static str, overload: &'static str) {
    let operator = &mut plan(pte).operators.as_mut().unwrap()[0];
    operator.name = Some(name.into());
    operator.overload = Some(overload.into());
}

pub fn cases() -> Vec<Case> {
    [calls(), rest()].into_iter().flatten().collect()
}

fn calls() -> Vec<Case> {
    vec![
        pte(
            "instruction-none",
            "instruction-kind",
            ADD,
            "one more instruction, with neither kind nor content",
            |pte| {
                add(pte, InstructionArguments::None);
            },
        ),
        pte("instruction-unknown", "instruction-kind", ADD, "one more instruction, of kind 99", |pte| {
            add(pte, InstructionArguments::Unknown(unknown(99)));
        }),
        pte("arguments", "arguments", ADD, "the call's arguments are absent", |pte| kernel(pte, 0).args = None),
        pte("argument-index", "argument-index", ADD, "the call's second argument is value 99", |pte| {
            kernel(pte, 0).args = list(&[0, 99, 3, 2, 2]);
        }),
        pte("argument-negative", "argument-index", DELEGATE, "the delegate's second argument is value −1", |pte| {
            match &mut instructions(pte)[0].instr_args {
                InstructionArguments::DelegateCall(call) => call.args = list(&[0, -1]),
                other => panic!("{other:?}"),
            }
        }),
        pte("operator-index", "operator-index", ADD, "operator 99 is called", |pte| kernel(pte, 0).op_index = 99),
        pte("operators-absent", "operator-index", ADD, "operators is absent, but one is called", |pte| {
            plan(pte).operators = None
        }),
        pte("operator-name-absent", "operator-name", ADD, "the operator has no name", |pte| {
            plan(pte).operators.as_mut().unwrap()[0].name = None;
        }),
        pte("operator-name-long", "operator-name", ADD, "the operator's name and overload take 100 bytes", |pte| {
            plan(pte).operators.as_mut().unwrap()[0].name = Some(format!("aten::{}", "a".repeat(90)).into());
        }),
        pte("delegate-call-index", "delegate-call-index", DELEGATE, "delegate 99 is called", |pte| {
            match &mut instructions(pte)[0].instr_args {
                InstructionArguments::DelegateCall(call) => call.delegate_index = 99,
                other => panic!("{other:?}"),
            }
        }),
        pte(
            "CVE-2025-54950",
            "prim-arguments",
            DYNAMIC,
            "executorch_prim::mul takes three arguments, but is given two",
            |pte| {
                kernel(pte, 4).args = list(&[3, 15]);
            },
        )
        .history("CVE-2025-54950"),
        pte(
            "CVE-2025-54949",
            "copy-index",
            ADD,
            "executorch_prim::et_copy_index copies 1024 bytes to a tensor of 16",
            |pte| {
                built_in(pte, "executorch_prim::et_copy_index", "tensor");
                let from = tensor(pte, 1);
                from.sizes = list(&[256]);
                from.dim_order = list(&[0]);
                from.allocation_info = None;
                let index = push(pte, Int { int_val: 0 });
                kernel(pte, 0).args = list(&[2, 1, index]);
            },
        )
        .history("CVE-2025-54949"),
    ]
}

fn rest() -> Vec<Case> {
    vec![
        pte("move-from", "move-index", ADD, "one more instruction moves from value 99", |pte| {
            add(pte, MoveCall { move_from: 99, move_to: 2 });
        })
        .history("audit: move indices"),
        pte("move-to", "move-index", ADD, "one more instruction moves to value −1", |pte| {
            add(pte, MoveCall { move_from: 2, move_to: -1 });
        })
        .history("audit: move indices"),
        pte("move-kind", "move-kind", ADD, "one more instruction moves a tensor to an integer", |pte| {
            add(pte, MoveCall { move_from: 2, move_to: 3 });
        }),
        pte("free-index", "free-index", ADD, "one more instruction frees value 99", |pte| {
            add(pte, FreeCall { value_index: 99 });
        })
        .history("audit: free indices"),
        pte("free-kind", "free-kind", ADD, "one more instruction frees an integer", |pte| {
            add(pte, FreeCall { value_index: 3 });
        }),
        pte("use-after-free", "use-after-free", ADD_MUL, "an intermediate result is freed before it is read", |pte| {
            let (inputs, outputs) = (plan(pte).inputs().to_vec(), plan(pte).outputs().to_vec());
            let inside = plan(pte).tensors().map(|(value, tensor)| (value as i32, tensor.allocation_info));
            let inside = inside.filter(|(value, place)| place.is_some() && !inputs.contains(value));
            let value_index = inside.map(|(value, _)| value).find(|value| !outputs.contains(value)).unwrap();
            instructions(pte).insert(1, Instruction { instr_args: FreeCall { value_index }.into() });
        })
        .history("SIGSEGV when run in ExecuTorch 1.5.1"),
        pte("free-used", "free-used", ADD_MUL, "one more instruction frees a constant", |pte| {
            let constant = plan(pte).tensors().find(|(_, tensor)| tensor.data_buffer_idx > 0);
            let value_index = constant.unwrap().0 as i32;
            add(pte, FreeCall { value_index });
        })
        .history("SIGSEGV in the second run in ExecuTorch 1.5.1"),
        pte(
            "endless-loop",
            "endless-loop",
            ADD,
            "a jump back to the start whose condition is the constant false",
            |pte| {
                let condition = push(pte, Bool { bool_val: false });
                add(pte, jump(condition, 0));
            },
        )
        .history("runs forever in ExecuTorch 1.5.1"),
        pte("jump-condition-index", "jump-condition-index", ADD, "a jump whose condition is value 99", |pte| {
            only_jump(pte, jump(99, 1));
        })
        .history("audit: jump indices"),
        pte("jump-condition-kind", "jump-condition-kind", ADD, "a jump whose condition is an integer", |pte| {
            only_jump(pte, jump(3, 1));
        }),
        pte(
            "jump-condition-tensor",
            "jump-condition-kind",
            ADD,
            "a jump whose condition is a tensor of floats",
            |pte| {
                only_jump(pte, jump(0, 1));
            },
        ),
        pte("jump-destination", "jump-destination", ADD, "a jump to instruction 99 of 1", |pte| {
            only_condition(pte, 99)
        }),
        pte("jump-negative", "jump-destination", ADD, "a jump to instruction −1", |pte| only_condition(pte, -1)),
        pte("jump-itself", "jump-destination", ADD, "a jump to itself", |pte| only_condition(pte, 0))
            .history("audit: self-jumps"),
        pte("stack-trace", "stack-trace", STACK_TRACE, "a list of frames more than instructions", |pte| {
            let traces = chain(pte).stacktrace.as_mut().unwrap();
            traces.push(traces[0].clone());
        }),
        pte(
            "argument-largest",
            "argument-index",
            ADD_MUL,
            "the second call's last argument is value 2^31 − 1",
            |pte| {
                kernel(pte, 1).args = list(&[3, 1, 5, 4, i32::MAX]);
            },
        ),
    ]
}
