//! The planned memory of methods.

use executorch_format::inspect::{BufferMemory, PlannedTensor};
use executorch_format::schema::program::{AllocationDetails, KernelTypes};
use executorch_format::{Model, Pte};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each};
use std::collections::BTreeSet;

/// The most bytes that are needed at one time, by counting each byte at each time.
fn counted(buffer: &BufferMemory<'_>) -> u64 {
    let needed = |time: usize| {
        let tensors = buffer.tensors.iter().filter(|tensor| tensor.is_needed_at(time));
        tensors.flat_map(|tensor| tensor.offset..tensor.end()).collect::<BTreeSet<u64>>().len() as u64
    };
    let times: BTreeSet<usize> = buffer.tensors.iter().map(|tensor| tensor.first).collect();
    times.into_iter().map(needed).max().unwrap_or(0)
}

fn planned(fixture: &Fixture) -> Result<(), String> {
    let Ok(Model::Pte(pte)) = Model::parse(fixture.bytes()) else {
        return Ok(());
    };
    let memory = pte.memory();
    equal("faults", memory.faults.len(), 0)?;
    for (method, plan) in memory.methods.iter().zip(pte.methods()) {
        let expected = plan.tensors().filter(|(_, tensor)| tensor.allocation_info.is_some()).count();
        let found: usize = method.buffers.iter().map(|buffer| buffer.tensors.len()).sum();
        equal("tensors", found + method.unused, expected)?;
        equal("bytes", method.bytes, plan.planned_memory().bytes)?;
        for buffer in &method.buffers {
            let size = buffer.buffer.size as u64;
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
fn every_planned_tensor_is_in_its_buffer_and_what_is_needed_at_once_is_counted() {
    for_each(&fixtures(), planned);
}

fn tensor<'b, 't>(buffer: &'b BufferMemory<'t>, value: usize) -> &'b PlannedTensor<'t> {
    buffer.tensors.iter().find(|tensor| tensor.value == value).unwrap()
}

#[test]
fn a_tensor_has_its_place_and_the_time_in_which_it_is_needed() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = pte.memory();
    let forward = memory.methods.iter().find(|method| method.name == "forward").unwrap();
    assert_eq!((forward.instructions, forward.bytes, forward.jumps), (4, 64, false));
    let buffer = &forward.buffers[0];
    assert_eq!((buffer.needed, buffer.needed_at, buffer.lost), (56, 2, 8));
    let places: Vec<_> = buffer.tensors.iter().map(|tensor| (tensor.value, tensor.offset, tensor.bytes)).collect();
    assert_eq!(places, [(4, 32, 16), (5, 0, 32), (9, 48, 8), (12, 0, 32), (16, 32, 16)]);
    let times: Vec<_> = buffer.tensors.iter().map(|tensor| (tensor.first, tensor.last)).collect();
    assert_eq!(times, [(0, 2), (1, 2), (2, 4), (3, 4), (4, 5)]);
    // The result of the second layer takes the place of what the first one had.
    assert_eq!(tensor(buffer, 12).replaces, [5]);
    assert_eq!(tensor(buffer, 16).replaces, [4]);
    assert!(buffer.tensors.iter().all(|tensor| tensor.shares_with.is_empty() && !tensor.kept));
    assert_eq!(memory.arenas.len(), 1);
    assert_eq!(memory.arenas[0].size, 64);
}

#[test]
fn what_is_computed_in_place_shares_its_bytes() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let plan = pte.program.execution_plan.as_mut().unwrap().iter_mut().find(|plan| plan.name() == "forward").unwrap();
    // Value 9 moves into the bytes of value 5, which the same instruction reads.
    let KernelTypes::Tensor(moved) = &mut plan.values.as_mut().unwrap()[9].val else { unreachable!() };
    moved.allocation_info = Some(AllocationDetails { memory_id: 1, memory_offset_low: 8, memory_offset_high: 0 });
    let memory = pte.memory();
    let forward = memory.methods.iter().find(|method| method.name == "forward").unwrap();
    let buffer = &forward.buffers[0];
    assert_eq!(tensor(buffer, 9).shares_with, [5]);
    assert_eq!(buffer.needed, counted(buffer));
    assert_eq!(buffer.needed, 48);
}

#[test]
fn a_state_is_kept_from_run_to_run() {
    let fixture = fixture("1.5.1/mutable_init/mutable_init.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = pte.memory();
    let kept: Vec<_> =
        memory.methods.iter().flat_map(|method| &method.buffers).flat_map(|buffer| &buffer.tensors).collect();
    let kept: Vec<_> = kept.into_iter().filter(|tensor| tensor.kept).collect();
    assert!(!kept.is_empty());
    assert!(kept.iter().all(|tensor| tensor.first == 0 && tensor.last > memory.methods[0].instructions));
}

#[test]
fn a_tensor_in_memory_that_is_not_there_is_a_fault() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    let tensors = plan.values.as_mut().unwrap().iter_mut().filter_map(|value| match &mut value.val {
        KernelTypes::Tensor(tensor) => tensor.allocation_info.as_mut(),
        _ => None,
    });
    tensors.take(1).for_each(|place| place.memory_id = 7);
    let faults = pte.memory().faults;
    assert_eq!(faults.len(), 1);
    let told = faults[0].to_string();
    assert!(told.starts_with("execution_plan[0].values[2].val.Tensor.allocation_info: "), "{told}");
    assert!(told.contains("planned buffer 7, but there are 1"), "{told}");
}
