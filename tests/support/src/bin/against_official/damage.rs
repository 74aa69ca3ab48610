//! Damage of every kind: to bytes, to lengths, and to fields through the tree.

use crate::random::Random;
use executorch_format::schema::ScalarType;
use executorch_format::schema::flat_tensor::NamedData;
use executorch_format::schema::program::{
    DataLocation, ExecutionPlan, InstructionArguments, KernelTypes, Tensor, TensorDataLocation, TensorShapeDynamism,
};
use executorch_format::{FileKind, Ptd, Pte, probe};
use std::borrow::Cow;

/// A damaged variant of a file and how it was made; `None` where this damage cannot be written.
pub fn variant(base: &[u8], random: &mut Random) -> Option<(String, Vec<u8>)> {
    match random.below(8) {
        0 => Some(bytes(base, random)),
        1 => Some(length(base, random)),
        2 => {
            let length = random.below(base.len());
            Some((format!("cut at {length}"), base[..length].to_vec()))
        }
        _ => tree(base, random),
    }
}

/// Where the metadata ends: what lies behind is weights, in which damage means nothing.
fn metadata(base: &[u8]) -> usize {
    probe(base).ok().and_then(|probe| probe.metadata.end).map_or(base.len(), |end| end as usize)
}

fn bytes(base: &[u8], random: &mut Random) -> (String, Vec<u8>) {
    let mut file = base.to_vec();
    let at = random.below(metadata(base));
    let byte = [file[at] ^ 1 << random.below(8), 0, 0xff, 0x7f, random.next() as u8][random.below(5)];
    file[at] = byte;
    (format!("byte {at} is {byte}"), file)
}

/// Most words of a FlatBuffer are offsets and counts.
fn length(base: &[u8], random: &mut Random) -> (String, Vec<u8>) {
    let mut file = base.to_vec();
    let at = random.below(metadata(base) / 4) * 4;
    let number = random.number() as u32;
    file[at..at + 4].copy_from_slice(&number.to_le_bytes());
    (format!("word {at} is {number}"), file)
}

fn tree(base: &[u8], random: &mut Random) -> Option<(String, Vec<u8>)> {
    let mut how = Vec::new();
    let file = match probe(base).ok()?.kind {
        FileKind::Pte => {
            let mut pte = Pte::parse(base).ok()?;
            pte.detect_layout(base).ok()?;
            for _ in 0..=random.below(2) {
                how.push(program(&mut pte, random)?);
            }
            pte.plan_as_is().ok()?.to_vec().ok()?
        }
        FileKind::Ptd => {
            let mut ptd = Ptd::parse(base).ok()?;
            ptd.detect_layout(base).ok()?;
            how.push(flat_tensor(&mut ptd, random)?);
            ptd.plan_as_is().ok()?.to_vec().ok()?
        }
    };
    Some((how.join(", "), file))
}

/// One entry of a list of numbers becomes another.
fn entry<T: Clone + TryFrom<i64>>(list: &mut Option<Cow<'_, [T]>>, random: &mut Random) -> Option<()>
where
    [T]: ToOwned<Owned = Vec<T>>,
{
    let number = T::try_from(random.number()).ok()?;
    *random.pick(list.as_mut()?.to_mut())? = number;
    Some(())
}

fn program(pte: &mut Pte<'_>, random: &mut Random) -> Option<String> {
    let program = &mut pte.program;
    let number = random.number();
    match random.below(12) {
        0 => {
            let constants = program.constant_segment.as_mut()?;
            if random.one_in(3) {
                constants.segment_index = number as u32;
            } else {
                entry(&mut constants.offsets, random)?;
            }
            Some("constant_segment".into())
        }
        1 => {
            let list = random.pick(program.mutable_data_segments.as_mut()?)?;
            if random.one_in(3) {
                list.segment_index = number as u32;
            } else {
                entry(&mut list.offsets, random)?;
            }
            Some("mutable_data_segments".into())
        }
        2 => {
            random.pick(program.named_data.as_mut()?)?.segment_index = number as u32;
            Some("named_data".into())
        }
        _ => plan(random.pick(program.execution_plan.as_mut()?)?, random),
    }
}

fn plan(plan: &mut ExecutionPlan<'_>, random: &mut Random) -> Option<String> {
    let number = random.number();
    let what = match random.below(16) {
        0 => {
            entry(&mut plan.inputs, random)?;
            "inputs"
        }
        1 => {
            entry(&mut plan.outputs, random)?;
            "outputs"
        }
        2 => {
            entry(&mut plan.non_const_buffer_sizes, random)?;
            "non_const_buffer_sizes"
        }
        3 => {
            match random.below(9) {
                0 => plan.name = None,
                1 => plan.values = None,
                2 => plan.inputs = None,
                3 => plan.outputs = None,
                4 => plan.chains = None,
                5 => plan.operators = None,
                6 => plan.delegates = None,
                7 => plan.non_const_buffer_sizes = None,
                _ => plan.container_meta_type = None,
            }
            "an absent field"
        }
        4 => {
            delegate(plan, number, random)?;
            "delegates"
        }
        5..=8 => {
            instruction(plan, number, random)?;
            "instructions"
        }
        _ => {
            value(&mut random.pick(plan.values.as_mut()?)?.val, number, random)?;
            "values"
        }
    };
    Some(format!("{what} ({number})"))
}

fn value(value: &mut KernelTypes<'_>, number: i64, random: &mut Random) -> Option<()> {
    if random.one_in(24) {
        *value = KernelTypes::None;
        return Some(());
    }
    let absent = random.one_in(6);
    match value {
        KernelTypes::Tensor(tensor) => return self::tensor(tensor, number, random),
        KernelTypes::Int(int) => int.int_val = number,
        KernelTypes::String(text) => text.string_val = None,
        KernelTypes::IntList(list) if absent => list.items = None,
        KernelTypes::BoolList(list) => list.items = None,
        KernelTypes::DoubleList(list) => list.items = None,
        KernelTypes::TensorList(list) if absent => list.items = None,
        KernelTypes::OptionalTensorList(list) if absent => list.items = None,
        KernelTypes::IntList(list) => entry(&mut list.items, random)?,
        KernelTypes::TensorList(list) => entry(&mut list.items, random)?,
        KernelTypes::OptionalTensorList(list) => entry(&mut list.items, random)?,
        _ => return None,
    }
    Some(())
}

fn tensor(tensor: &mut Tensor<'_>, number: i64, random: &mut Random) -> Option<()> {
    match random.below(12) {
        0 => tensor.scalar_type = ScalarType(number as i8),
        1 => tensor.storage_offset = number as i32,
        2 | 3 => entry(&mut tensor.sizes, random)?,
        4 => entry(&mut tensor.dim_order, random)?,
        5 => tensor.data_buffer_idx = number as u32,
        6 => tensor.shape_dynamism = TensorShapeDynamism(number as i8),
        7 => tensor.allocation_info.as_mut()?.memory_id = number as u32,
        8 => tensor.allocation_info.as_mut()?.memory_offset_low = number as u32,
        9 => tensor.allocation_info.as_mut()?.memory_offset_high = number as u32,
        10 => match random.below(3) {
            0 => tensor.sizes = None,
            1 => tensor.dim_order = None,
            _ => tensor.allocation_info = None,
        },
        _ => {
            let extra = tensor.extra_tensor_info.get_or_insert_default();
            match random.below(3) {
                0 => extra.location = TensorDataLocation(number as i8),
                1 => extra.fully_qualified_name = None,
                _ => extra.mutable_data_segments_idx = number as u64,
            }
        }
    }
    Some(())
}

fn delegate(plan: &mut ExecutionPlan<'_>, number: i64, random: &mut Random) -> Option<()> {
    let delegate = random.pick(plan.delegates.as_mut()?)?;
    match random.below(6) {
        0 => delegate.id = None,
        1 => delegate.processed = None,
        2 => delegate.processed.as_mut()?.index = number as u32,
        3 => delegate.processed.as_mut()?.location = DataLocation(number as i8),
        4 => delegate.compile_specs = None,
        _ => {
            let spec = random.pick(delegate.compile_specs.as_mut()?)?;
            if random.one_in(2) {
                spec.key = None;
            } else {
                spec.value = None;
            }
        }
    }
    Some(())
}

fn instruction(plan: &mut ExecutionPlan<'_>, number: i64, random: &mut Random) -> Option<()> {
    if random.one_in(10) {
        random.pick(plan.operators.as_mut()?)?.name =
            if random.one_in(2) { None } else { Some("x".repeat(120).into()) };
        return Some(());
    }
    let chain = random.pick(plan.chains.as_mut()?)?;
    if random.one_in(20) {
        chain.instructions = None;
        return Some(());
    }
    let instruction = random.pick(chain.instructions.as_mut()?)?;
    if random.one_in(12) {
        instruction.instr_args = InstructionArguments::None;
        return Some(());
    }
    let number = number as i32;
    match &mut instruction.instr_args {
        InstructionArguments::KernelCall(call) => match random.below(6) {
            0 => call.op_index = number,
            1 => call.args = None,
            _ => entry(&mut call.args, random)?,
        },
        InstructionArguments::DelegateCall(call) => match random.below(6) {
            0 => call.delegate_index = number,
            1 => call.args = None,
            _ => entry(&mut call.args, random)?,
        },
        InstructionArguments::MoveCall(call) if random.one_in(2) => call.move_from = number,
        InstructionArguments::MoveCall(call) => call.move_to = number,
        InstructionArguments::JumpFalseCall(call) if random.one_in(2) => call.cond_value_index = number,
        InstructionArguments::JumpFalseCall(call) => call.destination_instruction = number,
        InstructionArguments::FreeCall(call) => call.value_index = number,
        _ => return None,
    }
    Some(())
}

fn flat_tensor(ptd: &mut Ptd<'_>, random: &mut Random) -> Option<String> {
    let named = random.pick(ptd.flat_tensor.named_data.as_mut()?)?;
    named_data(named, random)?;
    Some("named_data".into())
}

fn named_data(named: &mut NamedData<'_>, random: &mut Random) -> Option<()> {
    let number = random.number();
    match random.below(7) {
        0 => named.key = None,
        1 => named.segment_index = number as u32,
        2 => named.tensor_layout.as_mut()?.sizes = None,
        3 => named.tensor_layout.as_mut()?.dim_order = None,
        4 => named.tensor_layout.as_mut()?.scalar_type = ScalarType(number as i8),
        5 => entry(&mut named.tensor_layout.as_mut()?.dim_order, random)?,
        _ => entry(&mut named.tensor_layout.as_mut()?.sizes, random)?,
    }
    Some(())
}
