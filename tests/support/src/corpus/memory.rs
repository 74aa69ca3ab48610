//! Damage to planned memory.

use super::instructions::kernel;
use super::{ADD, ADD_MUL, Case, DYNAMIC, MUTABLE, TWO_METHODS, instructions, plan, pte, push, tensor};
use executorch_format::Pte;
use executorch_format::schema::program::{
    AllocationDetails, ExtraTensorInfo, Instruction, InstructionArguments, KernelTypes, MoveCall, TensorDataLocation,
    TensorList,
};

fn place<'p>(pte: &'p mut Pte<'_>, value: usize) -> &'p mut AllocationDetails {
    tensor(pte, value).allocation_info.as_mut().unwrap()
}

/// Returns the name of the only state of the second method.
fn second_state<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut Option<executorch_format::Text<'a>> {
    let second = &mut pte.program.execution_plan.as_mut().unwrap()[1];
    let names = second.values.as_mut().unwrap().iter_mut().filter_map(|value| match &mut value.val {
        KernelTypes::Tensor(tensor) => Some(&mut tensor.extra_tensor_info.as_mut()?.fully_qualified_name),
        _ => None,
    });
    names.last().unwrap()
}

pub fn cases() -> Vec<Case> {
    vec![
        pte(
            "shared-state",
            "shared-state",
            TWO_METHODS,
            "the state of the second method has the name of the first's",
            |pte| {
                *second_state(pte) = Some("m.b1".into());
            },
        ),
        pte(
            "state-overwritten",
            "state-overwritten",
            TWO_METHODS,
            "another name of a state at the place of another method's",
            |pte| {
                *second_state(pte) = Some("m.b3".into());
            },
        ),
        pte("tensor-memory", "tensor-memory", ADD_MUL, "an intermediate result without planned memory", |pte| {
            let (inputs, outputs) = (plan(pte).inputs().to_vec(), plan(pte).outputs().to_vec());
            let values = plan(pte).values.as_mut().unwrap();
            let inside = values.iter_mut().enumerate().find_map(|(index, value)| match &mut value.val {
                KernelTypes::Tensor(tensor) if tensor.allocation_info.is_some() => {
                    (!inputs.contains(&(index as i32)) && !outputs.contains(&(index as i32))).then_some(tensor)
                }
                _ => None,
            });
            inside.unwrap().allocation_info = None;
        })
        .history("SIGSEGV when run in ExecuTorch 1.5.1"),
        pte("planned-memory-zero", "planned-memory-index", ADD, "the first tensor is in planned buffer 0", |pte| {
            place(pte, 0).memory_id = 0;
        }),
        pte(
            "planned-memory-index",
            "planned-memory-index",
            ADD,
            "the first tensor is in planned buffer 9 of 1",
            |pte| {
                place(pte, 0).memory_id = 9;
            },
        ),
        pte(
            "CVE-2025-30404",
            "planned-memory-overflow",
            ADD,
            "an input's offset is 2^64 − 8: its end wraps to 8, inside the buffer and over another tensor",
            |pte| {
                let place = place(pte, 0);
                (place.memory_offset_low, place.memory_offset_high) = (u32::MAX - 7, u32::MAX);
            },
        )
        .history("CVE-2025-30404"),
        pte(
            "CVE-2025-30405",
            "planned-memory-overflow",
            ADD,
            "the result's offset is 2^64 − 16: its end wraps to 0, and it is before the buffer",
            |pte| {
                let place = place(pte, 2);
                (place.memory_offset_low, place.memory_offset_high) = (u32::MAX - 15, u32::MAX);
            },
        )
        .history("CVE-2025-30405"),
        pte(
            "planned-memory-bounds",
            "planned-memory-bounds",
            ADD,
            "the first tensor ends 16 bytes after the end of the planned buffer",
            |pte| {
                place(pte, 0).memory_offset_low = 48;
            },
        ),
        pte("planned-memory-high", "planned-memory-bounds", ADD, "the first tensor's offset is 2^32 larger", |pte| {
            place(pte, 0).memory_offset_high = 1;
        }),
        pte(
            "planned-memory-alignment",
            "planned-memory-alignment",
            ADD,
            "the planned buffer is larger, and the first tensor is at offset 36",
            |pte| {
                plan(pte).non_const_buffer_sizes = super::list(&[0, 64]);
                place(pte, 0).memory_offset_low = 36;
            },
        ),
        pte("planned-memory-inputs", "planned-memory-overlap", ADD, "both inputs are at the same offset", |pte| {
            place(pte, 0).memory_offset_low = 16;
        }),
        pte(
            "planned-memory-partly",
            "planned-memory-overlap",
            DYNAMIC,
            "the result of cat starts inside the second input",
            |pte| {
                place(pte, 4).memory_offset_low = 240;
            },
        ),
        pte(
            "planned-memory-inside",
            "planned-memory-overlap",
            DYNAMIC,
            "the result of sum is inside that of view_copy, which is an output",
            |pte| {
                place(pte, 10).memory_offset_low = 16;
            },
        ),
        pte(
            "planned-memory-state",
            "planned-memory-overlap",
            MUTABLE,
            "an intermediate result is at the offset of a mutable state",
            |pte| {
                place(pte, 14).memory_offset_low = 96;
            },
        ),
        pte("view-layout", "view-layout", ADD, "a view of the first input, which is stored by columns", |pte| {
            let view = tensor(pte, 0).clone();
            let view = push(pte, view);
            tensor(pte, 0).dim_order = super::list(&[1, 0]);
            kernel(pte, 0).args = super::list(&[view, 1, 3, 2, 2]);
        }),
        pte(
            "stale-view",
            "stale-view",
            ADD,
            "a view at the place of a value into which the second input is moved",
            |pte| {
                plan(pte).non_const_buffer_sizes = super::list(&[0, 64]);
                let mut moved = tensor(pte, 1).clone();
                moved.allocation_info =
                    Some(AllocationDetails { memory_id: 1, memory_offset_low: 48, memory_offset_high: 0 });
                let (base, view) = (push(pte, moved.clone()), push(pte, moved));
                kernel(pte, 0).args = super::list(&[0, view, 3, 2, 2]);
                let moves = MoveCall { move_from: 1, move_to: base };
                instructions(pte).insert(0, Instruction { instr_args: moves.into() });
            },
        ),
        pte(
            "output-rebound",
            "output-rebound",
            ADD_MUL,
            "a constant is moved into an output in the caller's memory",
            |pte| {
                tensor(pte, 4).allocation_info = None;
                let moves = MoveCall { move_from: 1, move_to: 4 };
                instructions(pte).push(Instruction { instr_args: moves.into() });
            },
        ),
        pte("state-unplanned", "state-unplanned", ADD, "the second term is a mutable buffer without memory", |pte| {
            let mut state = tensor(pte, 1).clone();
            let name = ExtraTensorInfo { fully_qualified_name: Some("state".into()), ..Default::default() };
            (state.allocation_info, state.extra_tensor_info) = (None, Some(name.into()));
            let state = push(pte, state);
            kernel(pte, 0).args.as_mut().unwrap().to_mut()[1] = state;
        }),
        pte("external-output", "external-output", ADD, "the output is a constant of a .ptd file", |pte| {
            let mut constant = tensor(pte, 1).clone();
            let name = ExtraTensorInfo {
                fully_qualified_name: Some("constant".into()),
                location: TensorDataLocation::EXTERNAL,
                ..Default::default()
            };
            (constant.allocation_info, constant.extra_tensor_info) = (None, Some(name.into()));
            let constant = push(pte, constant);
            plan(pte).outputs = super::list(&[constant]);
        })
        .also("external-unchecked"),
        pte(
            "planned-memory-unknown",
            "planned-memory-unknown",
            ADD_MUL,
            "an instruction that names a list of 64 values 64 times",
            |pte| {
                let list = push(pte, TensorList { items: super::list(&[0; 64]) });
                let InstructionArguments::KernelCall(call) = &mut instructions(pte)[0].instr_args else {
                    unreachable!()
                };
                call.args.as_mut().unwrap().to_mut().extend([list; 64]);
            },
        )
        .also("kernel-argument-count"),
    ]
}
