//! The planned memory of methods.

use executorch_format::inspect::{BufferMemory, PlannedTensor, RunMemory};
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{
    AllocationDetails, Bool, EValue, ExecutionPlan, Instruction, InstructionArguments, JumpFalseCall, KernelTypes,
    MoveCall, Operator, Program, Tensor,
};
use executorch_format::verify::Level;
use executorch_format::{Analysis, Model, Pte};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each, scaled};
use std::collections::BTreeSet;

/// Returns the maximum number of bytes needed at one time, by counting each byte at each time.
fn counted(buffer: &BufferMemory<'_>) -> u64 {
    let needed = |time: usize| {
        let tensors = buffer.tensors.iter().filter(|tensor| tensor.is_needed_at(time));
        tensors.flat_map(|tensor| tensor.offset..tensor.end()).collect::<BTreeSet<u64>>().len() as u64
    };
    let end = buffer.tensors.iter().map(|tensor| tensor.last).max().unwrap_or(0);
    (0..=end).map(needed).max().unwrap_or(0)
}

/// Returns, for each value, whether an instruction, the inputs or the outputs name it, alone or in a list.
fn named(plan: &ExecutionPlan<'_>) -> Vec<bool> {
    let mut named: Vec<i32> = plan.inputs().iter().chain(plan.outputs()).copied().collect();
    for (_, instruction) in plan.instructions() {
        match instruction {
            InstructionArguments::KernelCall(call) => named.extend(call.args()),
            InstructionArguments::DelegateCall(call) => named.extend(call.args()),
            InstructionArguments::MoveCall(call) => named.extend([call.move_from, call.move_to]),
            InstructionArguments::JumpFalseCall(call) => named.push(call.cond_value_index),
            InstructionArguments::FreeCall(call) => named.push(call.value_index),
            _ => {}
        }
    }
    let lists: Vec<i32> = named.clone();
    for value in lists {
        match plan.value(value).map(|value| &value.val) {
            Some(KernelTypes::TensorList(list)) => named.extend(list.items()),
            Some(KernelTypes::OptionalTensorList(list)) => named.extend(list.items()),
            _ => {}
        }
    }
    (0..plan.values().len() as i32).map(|value| named.contains(&value)).collect()
}

fn planned(fixture: &Fixture) -> Result<(), String> {
    let Ok(Model::Pte(pte)) = Model::parse(fixture.bytes()) else {
        return Ok(());
    };
    let memory = Analysis::new(&pte).memory();
    equal("faults", memory.errors.len(), 0)?;
    for (method, plan) in memory.methods.iter().zip(pte.methods()) {
        let expected = plan.tensors().filter(|(_, tensor)| tensor.allocation_info.is_some()).count();
        let found: usize = method.buffers.iter().map(|buffer| buffer.tensors.len()).sum();
        let is_named = named(plan);
        let unnamed = |(value, tensor): &(usize, &Tensor<'_>)| tensor.allocation_info.is_some() && !is_named[*value];
        equal("unused", method.unused, plan.tensors().filter(unnamed).count())?;
        equal("too many tensors", found + method.unused > expected, false)?;
        equal("bytes", method.size, plan.planned_memory().size)?;
        for buffer in &method.buffers {
            let size = buffer.buffer.size;
            equal("size", buffer.needed + buffer.lost, size)?;
            equal("tensor past its buffer", buffer.tensors.iter().any(|tensor| tensor.end() > size), false)?;
            if size <= 4096 && buffer.tensors.len() < 100 {
                equal("needed at once", buffer.needed, counted(buffer))?;
            }
        }
    }
    Ok(())
}

#[test]
fn every_planned_tensor_is_in_its_buffer_and_the_peak_is_counted() {
    for_each(&fixtures(), planned);
}

fn tensor<'b, 't>(buffer: &'b BufferMemory<'t>, value: usize) -> &'b PlannedTensor<'t> {
    buffer.tensors.iter().find(|tensor| tensor.value == value).unwrap()
}

#[test]
fn a_tensor_has_its_place_and_lifetime() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = Analysis::new(&pte).memory();
    let forward = memory.methods.iter().find(|method| method.name == "forward").unwrap();
    assert_eq!((forward.instructions, forward.size, forward.jumps), (4, 64, false));
    let buffer = &forward.buffers[0];
    assert_eq!((buffer.needed, buffer.needed_at, buffer.lost), (56, 2, 8));
    let places: Vec<_> = buffer.tensors.iter().map(|tensor| (tensor.value, tensor.offset, tensor.size)).collect();
    assert_eq!(places, [(4, 32, 16), (5, 0, 32), (9, 48, 8), (12, 0, 32), (16, 32, 16)]);
    let times: Vec<_> = buffer.tensors.iter().map(|tensor| (tensor.first, tensor.last)).collect();
    assert_eq!(times, [(0, 2), (1, 2), (2, 4), (3, 4), (4, 5)]);
    // The result of the second layer takes the place of the first layer's data.
    assert_eq!(tensor(buffer, 12).replaces, [5]);
    assert_eq!(tensor(buffer, 16).replaces, [4]);
    assert!(buffer.tensors.iter().all(|tensor| tensor.shares_with.is_empty() && !tensor.kept));
    assert_eq!(memory.arenas.len(), 1);
    assert_eq!(memory.arenas[0].size, 64);
}

#[test]
fn in_place_results_share_bytes() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let plan = pte.program.execution_plan.as_mut().unwrap().iter_mut().find(|plan| plan.name() == "forward").unwrap();
    // Value 9 moves into the bytes of value 5, which the same instruction reads.
    let KernelTypes::Tensor(moved) = &mut plan.values.as_mut().unwrap()[9].val else { unreachable!() };
    moved.allocation_info = Some(AllocationDetails { memory_id: 1, memory_offset_low: 8, memory_offset_high: 0 });
    let memory = Analysis::new(&pte).memory();
    let forward = memory.methods.iter().find(|method| method.name == "forward").unwrap();
    let buffer = &forward.buffers[0];
    assert_eq!(tensor(buffer, 9).shares_with, [5]);
    assert_eq!(buffer.needed, counted(buffer));
    assert_eq!(buffer.needed, 48);
}

#[test]
fn a_state_is_kept_between_runs() {
    let fixture = fixture("1.5.1/mutable_init/mutable_init.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = Analysis::new(&pte).memory();
    let kept: Vec<_> =
        memory.methods.iter().flat_map(|method| &method.buffers).flat_map(|buffer| &buffer.tensors).collect();
    let kept: Vec<_> = kept.into_iter().filter(|tensor| tensor.kept).collect();
    assert!(!kept.is_empty());
    assert!(kept.iter().all(|tensor| tensor.first == 0 && tensor.last > memory.methods[0].instructions));
}

#[test]
fn a_tensor_in_missing_memory_is_a_fault() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    let tensors = plan.values.as_mut().unwrap().iter_mut().filter_map(|value| match &mut value.val {
        KernelTypes::Tensor(tensor) => tensor.allocation_info.as_mut(),
        _ => None,
    });
    tensors.take(1).for_each(|place| place.memory_id = 7);
    let faults = Analysis::new(&pte).memory().errors;
    assert_eq!(faults.len(), 1);
    let told = faults[0].to_string();
    assert!(told.starts_with("execution_plan[0].values[2].val.Tensor.allocation_info: "), "{told}");
    assert!(told.contains("planned buffer 7, but there are 1"), "{told}");
}

/// Returns a method of one chain. Operators are named with their overloads; tensors are `f32`.
fn method<'a>(
    values: Vec<EValue<'a>>,
    calls: &[(&'static str, &[i32])],
    others: &[(usize, InstructionArguments<'a>)],
    ends: (&[i32], &[i32]),
) -> Pte<'a> {
    let mut operators = Vec::new();
    let mut instructions = Vec::new();
    for (index, (name, args)) in calls.iter().enumerate() {
        let (name, overload) = name.split_once('.').unwrap_or((name, ""));
        operators.push(Operator::new(name, overload));
        instructions.push(Instruction::kernel_call(index as i32, args.to_vec()));
    }
    for (index, other) in others {
        instructions.insert(*index, Instruction { instr_args: other.clone() });
    }
    let plan = ExecutionPlan::new("forward", values, operators, instructions, 256);
    let plan = plan.with_inputs(ends.0.to_vec()).with_outputs(ends.1.to_vec());
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    Pte { program, ..Pte::default() }
}

fn floats<'a>(sizes: &[i32], offset: u64) -> EValue<'a> {
    Tensor::new(ScalarType::FLOAT, sizes.to_vec()).with_planned(1, offset).into()
}

fn jump<'a>(cond_value_index: i32, destination_instruction: i32) -> InstructionArguments<'a> {
    JumpFalseCall { cond_value_index, destination_instruction }.into()
}

/// Returns the program that the exporter writes for `torch.map` over eight numbers.
fn map_loop<'a>() -> Pte<'a> {
    let values = vec![
        floats(&[8], 0),
        0.into(),
        0.into(),
        0.into(),
        floats(&[], 32),
        floats(&[], 48),
        floats(&[8], 64),
        false.into(),
        1.into(),
    ];
    let calls: &[(&str, &[i32])] = &[
        ("aten::sym_size.int", &[0, 3, 2]),
        ("aten::select_copy.int_out", &[0, 3, 1, 4, 4]),
        ("aten::mul.out", &[4, 4, 5, 5]),
        ("executorch_prim::et_copy_index.tensor", &[6, 5, 1]),
        ("executorch_prim::add.Scalar", &[1, 8, 1]),
        ("executorch_prim::eq.Scalar", &[1, 2, 7]),
        ("executorch_prim::sub.Scalar", &[1, 2, 1]),
    ];
    method(values, calls, &[(6, jump(7, 1))], (&[0], &[6]))
}

#[test]
fn data_read_by_a_loop_is_needed_during_the_whole_loop() {
    let pte = map_loop();
    let memory = Analysis::new(&pte).memory();
    let method = &memory.methods[0];
    let buffer = &method.buffers[0];
    assert_eq!((buffer.needed, buffer.needed_at, method.jumps), (72, 3, true));
    assert!(method.assumed.is_empty());
    let times = |value| (tensor(buffer, value).first, tensor(buffer, value).last);
    // Each round reads the input, and the part of the result from one round must last through the others.
    assert_eq!(times(0), (0, 7));
    assert_eq!(times(6), (2, 9));
    assert_eq!((times(4), times(5)), ((2, 3), (3, 4)));
    assert!(buffer.tensors.iter().all(|tensor| !tensor.kept && tensor.idle.is_empty()));
}

#[test]
fn data_needed_by_one_branch_is_not_needed_in_the_other() {
    let fixture = fixture("1.5.1/cond/cond.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = Analysis::new(&pte).memory();
    let (method, buffer) = (&memory.methods[0], &memory.methods[0].buffers[0]);
    assert_eq!((buffer.needed, buffer.needed_at), (28, 4));
    // Read by the first instruction of each branch.
    let input = tensor(buffer, 1);
    assert_eq!((input.first, input.last), (0, 7));
    assert_eq!(input.idle.iter().map(|idle| (idle.first, idle.last)).collect::<Vec<_>>(), [(3, 6)]);
    assert!(!input.is_needed_at(5) && input.is_needed_at(7));
    // The output is one of the branches' results: its own memory has no bytes that are used, but it is an output.
    assert_eq!(method.unused, 0);
    assert_eq!((tensor(buffer, 8).last, tensor(buffer, 10).last), (9, 9));
}

#[test]
fn a_view_keeps_the_bytes_that_it_reads() {
    // Value 1 is computed; 2 has the same bytes by its place, 3 by an instruction; 4 takes the place after both.
    let values = vec![
        floats(&[4], 0),
        floats(&[4], 16),
        floats(&[2, 2], 16),
        Tensor::new(ScalarType::FLOAT, vec![1, 4]).into(),
        floats(&[4], 32),
        floats(&[4], 48),
        EValue::int_list(vec![]),
        floats(&[4], 16),
    ];
    let calls: &[(&str, &[i32])] = &[
        ("aten::abs.out", &[0, 1, 1]),
        ("executorch_prim::et_view.default", &[1, 6, 3]),
        ("aten::abs.out", &[0, 4, 4]),
        ("aten::abs.out", &[2, 5, 5]),
        ("aten::add.out", &[3, 5, 8, 4, 4]),
        ("aten::abs.out", &[4, 7, 7]),
    ];
    let mut values = values;
    values.push(1.into());
    let pte = method(values, calls, &[], (&[0], &[7]));
    let memory = Analysis::new(&pte).memory();
    let buffer = &memory.methods[0].buffers[0];
    let base = tensor(buffer, 1);
    assert_eq!((base.first, base.last), (1, 5));
    assert_eq!(tensor(buffer, 2).views, [1]);
    assert_eq!(tensor(buffer, 2).shares_with, [1]);
    assert_eq!(tensor(buffer, 7).replaces, [1]);
    assert_eq!(buffer.needed, counted(buffer));
    assert!(pte.verify(Level::Strict).iter().all(|finding| finding.rule != "planned-memory-overlap"));
}

#[test]
fn a_view_that_is_read_after_its_bytes_were_overwritten_is_an_error() {
    let values = vec![
        floats(&[4], 0),
        floats(&[4], 16),
        Tensor::new(ScalarType::FLOAT, vec![1, 4]).into(),
        EValue::int_list(vec![]),
        floats(&[4], 16),
        floats(&[4], 32),
    ];
    let calls: &[(&str, &[i32])] = &[
        ("aten::abs.out", &[0, 1, 1]),
        ("executorch_prim::et_view.default", &[1, 3, 2]),
        ("aten::abs.out", &[0, 4, 4]),
        ("aten::abs.out", &[2, 5, 5]),
    ];
    let found = method(values, calls, &[], (&[0], &[5])).verify(Level::Strict);
    let overlap: Vec<_> = found.iter().filter(|finding| finding.rule == "planned-memory-overlap").collect();
    assert_eq!(overlap.len(), 1, "{found:#?}");
    assert!(overlap[0].path.to_string().starts_with("execution_plan[0].values[4]"), "{}", overlap[0].path);
}

#[test]
fn a_state_without_an_initial_value_is_kept_too() {
    // A cache: each run changes some elements, and reads all.
    let values = vec![
        floats(&[4], 0),
        floats(&[4], 16),
        EValue::tensor_list(vec![4]),
        false.into(),
        Tensor::new(ScalarType::LONG, vec![1]).with_planned(1, 64).into(),
        floats(&[4], 32),
    ];
    let calls: &[(&str, &[i32])] = &[("aten::index_put_", &[1, 2, 0, 3, 1]), ("aten::abs.out", &[1, 5, 5])];
    let pte = method(values, calls, &[], (&[0, 4], &[5]));
    let memory = Analysis::new(&pte).memory();
    let kept = |value| tensor(&memory.methods[0].buffers[0], value).kept;
    assert_eq!([0, 1, 4, 5].map(kept), [false, true, false, false]);
    let fixture = fixture("1.5.1/mutable_plain/mutable_plain.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = Analysis::new(&pte).memory();
    let kept: Vec<_> = memory.methods[0].buffers[0].tensors.iter().filter(|tensor| tensor.kept).collect();
    assert_eq!(kept.iter().map(|tensor| tensor.value).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn outputs_of_an_unknown_operator_are_assumed() {
    let calls: &[(&str, &[i32])] = &[("my::op.out", &[0, 1, 1]), ("aten::abs.out", &[1, 2, 2])];
    let values = vec![floats(&[4], 0), floats(&[4], 16), floats(&[4], 32)];
    let pte = method(values, calls, &[], (&[0], &[2]));
    let memory = Analysis::new(&pte).memory();
    let [assumed] = memory.methods[0].assumed.as_slice() else { panic!("{:?}", memory.methods[0].assumed) };
    assert_eq!((assumed.name.as_deref(), assumed.calls), (Some("my::op.out"), 1));
    assert_eq!(assumed.why, "the operator's arguments are not known");
    assert_eq!(tensor(&memory.methods[0].buffers[0], 1).first, 1);
}

#[test]
fn an_operator_that_does_not_exist_is_named_by_its_number() {
    let instructions = vec![Instruction::kernel_call(-1, vec![0, 1, 1])];
    let plan = ExecutionPlan::new("forward", vec![floats(&[4], 0), floats(&[4], 16)], Vec::new(), instructions, 32);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = Pte { program, ..Pte::default() };
    let memory = Analysis::new(&pte).memory();
    let names: Vec<_> = memory.methods[0].assumed.iter().map(|assumed| assumed.name.as_deref()).collect();
    assert_eq!(names, [Some("number -1")]);
}

#[test]
fn a_method_that_jumps_everywhere_does_not_take_quadratic_time() {
    let count = scaled(20_000);
    let mut values: Vec<EValue> = (0..count as u64).map(|index| floats(&[1], 4 * index)).collect();
    values.push(EValue { val: Bool { bool_val: true }.into() });
    let condition = count as i32;
    let mut instructions = Vec::new();
    for index in 0..count as i32 - 1 {
        instructions.push(Instruction::kernel_call(0, vec![index, index + 1, index + 1]));
        let destination = (index * 7919) % (2 * count as i32);
        instructions.push(Instruction { instr_args: jump(condition, destination) });
    }
    let operators = vec![Operator::new("aten::abs", "out")];
    let plan = ExecutionPlan::new("forward", values, operators, instructions, 4 * count as i64);
    let plan = plan.with_inputs(vec![0, condition]).with_outputs(vec![count as i32 - 1]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = Pte { program, ..Pte::default() };
    // Following all paths would take the square of that many steps.
    let memory = Analysis::new(&pte).memory();
    assert!(memory.methods[0].assumed[0].why.contains("jumps so often"), "{:?}", memory.methods[0].assumed);
    assert!(pte.verify(Level::Strict).iter().any(|finding| finding.rule == "planned-memory-unknown"));
}

#[test]
fn data_rewritten_in_each_round_of_a_loop_is_not_needed_before_it() {
    let values = vec![floats(&[4], 0), floats(&[4], 16), floats(&[4], 32), floats(&[4], 48), false.into()];
    let calls: &[(&str, &[i32])] =
        &[("aten::abs.out", &[0, 3, 3]), ("aten::abs.out", &[3, 1, 1]), ("aten::abs.out", &[1, 2, 2])];
    let pte = method(values, calls, &[(2, jump(4, 0))], (&[0, 4], &[2]));
    let memory = Analysis::new(&pte).memory();
    let buffer = &memory.methods[0].buffers[0];
    let times = |value| (tensor(buffer, value).first, tensor(buffer, value).last);
    assert_eq!([0, 3, 1, 2].map(times), [(0, 3), (1, 2), (2, 4), (4, 5)]);
}

/// Value 4 overwrites value 3, which is written again unless the condition has become false.
#[test]
fn a_condition_that_is_computed_again_may_have_changed() {
    let tensors = [0, 16, 32, 48, 48, 64].map(|offset| floats(&[4], offset)).into_iter();
    let values = tensors.chain([0.into(), 1.into(), false.into()]).collect();
    let calls: &[(&str, &[i32])] = &[
        ("aten::abs.out", &[0, 3, 3]),
        ("executorch_prim::eq.Scalar", &[6, 7, 8]),
        ("aten::abs.out", &[0, 4, 4]),
        ("executorch_prim::eq.Scalar", &[7, 7, 8]),
        ("aten::abs.out", &[0, 3, 3]),
        ("aten::abs.out", &[3, 5, 5]),
    ];
    let found = method(values, calls, &[(2, jump(8, 7)), (5, jump(8, 7))], (&[0], &[5])).verify(Level::Strict);
    let overlaps: Vec<_> = found.iter().filter(|finding| finding.rule == "planned-memory-overlap").collect();
    assert_eq!(overlaps.len(), 1, "{found:#?}");
    assert!(overlaps[0].path.to_string().starts_with("execution_plan[0].values[4]"), "{}", overlaps[0].path);
}

#[test]
fn the_target_of_a_move_needs_no_memory_of_its_own() {
    let nowhere = || Tensor::new(ScalarType::FLOAT, vec![4]).into();
    let found = |moves: &[(usize, InstructionArguments<'static>)]| {
        let calls: &[(&str, &[i32])] = &[("aten::abs.out", &[1, 2, 2])];
        let pte = method(vec![floats(&[4], 0), nowhere(), floats(&[4], 16)], calls, moves, (&[0], &[2]));
        pte.verify(Level::Strict).into_iter().filter(|finding| finding.rule == "tensor-memory").count()
    };
    assert_eq!(found(&[]), 1);
    assert_eq!(found(&[(0, MoveCall { move_from: 0, move_to: 1 }.into())]), 0);
}

#[test]
fn a_time_is_that_of_the_inputs_of_an_instruction_or_of_the_outputs() {
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let method = Analysis::new(&pte).memory().methods.remove(0);
    let moments: Vec<_> = (0..=method.instructions + 1).map(|time| method.moment(time)).collect();
    assert_eq!((moments[0].to_string(), format!("{:#}", moments[0])), ("inputs".into(), "the inputs".into()));
    assert_eq!((moments[1].to_string(), format!("{:#}", moments[1])), ("0".into(), "instruction 0".into()));
    assert_eq!(format!("{:#}", moments.last().unwrap()), "the outputs");
    assert!(moments.is_sorted());
}

#[test]
fn results_in_the_place_of_an_input_are_errors_unless_the_kernel_may_run_in_place() {
    // (operator, arguments, `true` if the kernel may run in place): 0 and 1 are inputs, 2 is at the place of 0, 3 is part of 0.
    let calls: &[(&str, &[i32], bool)] = &[
        ("aten::abs.out", &[0, 2, 2], true),
        ("aten::_softmax.out", &[0, 5, 6, 2, 2], true),
        ("aten::_softmax.out", &[0, 5, 6, 0, 0], true),
        ("aten::_softmax.out", &[0, 5, 6, 3, 3], false),
        ("aten::cumsum.out", &[0, 5, 7, 2, 2], true),
        ("aten::flip.out", &[0, 8, 2, 2], false),
        // The kernel copies `self`, then reads `src`.
        ("aten::scatter.src_out", &[0, 5, 4, 1, 2, 2], true),
        ("aten::scatter.src_out", &[1, 5, 4, 0, 2, 2], false),
        // If sizes differ, the product is written before `self` is read.
        ("aten::addmm.out", &[0, 1, 1, 5, 5, 2, 2], true),
        ("aten::addmm.out", &[9, 1, 1, 5, 5, 2, 2], false),
        ("aten::addmm.out", &[1, 0, 1, 5, 5, 2, 2], false),
    ];
    for (operator, args, is_accepted) in calls {
        let square = |offset: u64| -> EValue<'static> {
            Tensor::new(ScalarType::FLOAT, vec![2, 2]).with_planned(1, offset).into()
        };
        let values = vec![
            square(0),
            square(64),
            square(0),
            square(4),
            Tensor::new(ScalarType::LONG, vec![2, 2]).with_planned(1, 128).into(),
            0.into(),
            false.into(),
            EValue::null(),
            EValue::int_list(vec![5]),
            floats(&[4], 0),
        ];
        let (output, inputs) = (args[args.len() - 1], &args[..args.len() - 2]);
        let inputs: Vec<i32> = [0, 1, 4, 9].into_iter().filter(|value| inputs.contains(value)).collect();
        let pte = method(values, &[(operator, args)], &[], (&inputs, &[output]));
        let found = pte.verify(Level::Strict);
        let is_reported = found.iter().any(|finding| finding.rule == "planned-memory-overlap");
        assert_eq!(is_reported, !is_accepted, "{operator} {args:?}: {found:#?}");
    }
}

#[test]
fn a_copy_past_the_end_is_only_possible_if_the_piece_may_be_smaller() {
    use executorch_format::schema::program::TensorShapeDynamism;
    use executorch_format::verify::Severity;
    for (dynamism, severity) in
        [(TensorShapeDynamism::STATIC, Severity::Error), (TensorShapeDynamism::DYNAMIC_BOUND, Severity::Warning)]
    {
        let mut piece = Tensor::new(ScalarType::FLOAT, vec![4]).with_planned(1, 64);
        piece.shape_dynamism = dynamism;
        let values = vec![floats(&[1, 2], 0), piece.into(), 0.into()];
        let pte = method(values, &[("executorch_prim::et_copy_index.tensor", &[0, 1, 2])], &[], (&[0, 1], &[0]));
        let found = pte.verify(Level::Strict);
        let copies: Vec<Severity> =
            found.iter().filter(|finding| finding.rule == "copy-index").map(|finding| finding.severity).collect();
        assert_eq!(copies, [severity], "{found:#?}");
    }
}

/// Returns the memory of a run of the first method.
fn run_memory(path: &str) -> RunMemory {
    let bytes = std::fs::read(path).unwrap();
    let pte = Pte::parse(&bytes).unwrap();
    let memory = Analysis::new(&pte).memory();
    memory.methods[0].run_memory.clone()
}

#[test]
fn a_run_takes_the_memory_that_xnnpack_allocates_at_the_bound() {
    let run = run_memory("tests/data/answers/kanji_xnn.pte");
    let xnnpack = run.xnnpack.unwrap();
    let pixels = 4096u64 * 4096;
    // The values of 8 and of 4 channels, and 64 bytes beyond: XNNPACK reads past the end.
    assert_eq!(xnnpack.workspace, Some(12 * 4 * pixels + 32));
    // Two kernels of 3 × 3 at each pixel.
    assert_eq!(xnnpack.tables, Some(2 * 9 * 8 * pixels));
    // Blocks of 16 channels with a bias: 3 × 3 weights of one input, and of 8 inputs.
    assert_eq!(xnnpack.packed, Some(16 * (9 + 1) * 4 + 16 * (72 + 1) * 4));
    assert!(run.at_most && run.not_known.is_empty());
    // ExecuTorch's runtime takes 3,136 MiB.
    assert_eq!(run.total >> 20, 3136);
}

#[test]
fn weights_are_in_memory_as_stored_and_packed_while_a_delegate_loads() {
    let run = run_memory("tests/data/1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let (xnnpack, stored) = (run.xnnpack.unwrap(), 4 * (8 * 4 + 4));
    assert_eq!((xnnpack.packed, xnnpack.workspace), (Some(16 * (8 + 1) * 4), Some(0)));
    assert!(run.loading >= run.program + run.planned + run.method + xnnpack.packed.unwrap() + stored, "{run:?}");
}

#[test]
fn memory_that_no_file_states_is_named() {
    let vulkan = run_memory("tests/data/payloads/other/vulkan.pte");
    assert_eq!(vulkan.not_known, ["memory that VulkanBackend allocates itself"]);
}
