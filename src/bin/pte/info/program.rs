//! The facts about a `.pte` file.

use super::Amount;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{
    BackendDelegate, DeviceType, ExecutionPlan, InstructionArguments, KernelTypes, Operator, Tensor,
    TensorShapeDynamism,
};
use executorch_format::{DataRef, Pte, TensorData};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Serialize)]
pub(super) struct Facts<'t> {
    pub methods: Vec<Method<'t>>,
    /// What the methods return that have no inputs and no instructions.
    pub metadata: Vec<Constant<'t>>,
    pub segments: Amount,
    pub constants: Amount,
    /// The initial states of mutable tensors.
    pub mutable: Amount,
    /// Tensors whose data is in a `.ptd` file.
    pub external: Amount,
    pub named_data: Amount,
    pub delegates: Amount,
}

#[derive(Serialize)]
pub(super) struct Method<'t> {
    pub name: &'t str,
    pub inputs: Vec<Value<'t>>,
    pub outputs: Vec<Value<'t>>,
    pub values: usize,
    /// The most called first.
    pub operators: Vec<Calls>,
    pub instructions: Instructions,
    pub delegates: Vec<Backend<'t>>,
    pub planned_memory: PlannedMemory,
}

/// An input or output.
#[derive(Serialize)]
pub(super) struct Value<'t> {
    /// Index into the method's values.
    pub value: i32,
    /// The schema's name of what it is; `None` where the index leads nowhere or the schema is newer.
    pub r#type: Option<&'static str>,
    #[serde(flatten)]
    pub tensor: Option<Shape<'t>>,
}

#[derive(Serialize)]
pub(super) struct Shape<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'t str>,
    pub scalar_type: ScalarType,
    pub sizes: &'t [i32],
    pub dim_order: &'t [u8],
    pub shape_dynamism: TensorShapeDynamism,
}

#[derive(Serialize)]
pub(super) struct Calls {
    pub name: String,
    pub calls: usize,
}

#[derive(Default, Serialize)]
pub(super) struct Instructions {
    pub total: usize,
    pub by_kind: BTreeMap<&'static str, usize>,
}

/// All delegates of one backend.
#[derive(Serialize)]
pub(super) struct Backend<'t> {
    pub id: &'t str,
    pub delegates: usize,
    /// Payloads that several delegates share count once.
    pub payload_bytes: u64,
}

#[derive(Serialize)]
pub(super) struct PlannedMemory {
    /// Bytes of all buffers.
    pub bytes: u64,
    pub buffers: Vec<PlannedBuffer>,
}

#[derive(Serialize)]
pub(super) struct PlannedBuffer {
    pub memory_id: usize,
    /// Bytes.
    pub size: i64,
    pub device_type: DeviceType,
    pub device_index: i8,
}

/// A method that returns the same each time, without computing.
#[derive(Serialize)]
pub(super) struct Constant<'t> {
    pub name: &'t str,
    /// A list where it returns several values.
    pub value: Returned<'t>,
}

/// What a constant method returns.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Returned<'t> {
    Null,
    Int(i64),
    Bool(bool),
    Double(f64),
    /// A double that JSON has no form for, as `pte dump` prints it.
    NotFinite(&'static str),
    String(&'t str),
    /// Its type and shape; the elements can be large.
    Tensor(Shape<'t>),
    List(Vec<Returned<'t>>),
}

pub(super) fn facts<'t>(pte: &'t Pte<'_>, findings: &mut Vec<String>) -> Facts<'t> {
    let (constant, computing): (Vec<_>, Vec<_>) = pte.methods().iter().partition(|plan| is_constant(plan));
    let (constants, mutable, external) = tensors(pte, findings);
    let all_delegates = pte.methods().iter().flat_map(|plan| plan.delegates.as_deref().unwrap_or_default());
    Facts {
        metadata: constant.into_iter().map(|plan| Constant { name: name(plan), value: returned(plan) }).collect(),
        segments: pte.program.segments.iter().flatten().map(|segment| segment.size).collect(),
        constants,
        mutable,
        external,
        named_data: named_data(pte, findings),
        delegates: payloads(pte, all_delegates),
        methods: computing.into_iter().map(|plan| method(pte, plan, findings)).collect(),
    }
}

fn name<'t>(plan: &'t ExecutionPlan<'_>) -> &'t str {
    plan.name.as_deref().unwrap_or_default()
}

fn instructions<'t, 'a>(plan: &'t ExecutionPlan<'a>) -> impl Iterator<Item = &'t InstructionArguments<'a>> {
    let chains = plan.chains.as_deref().unwrap_or_default();
    let lists = chains.iter().flat_map(|chain| chain.instructions.as_deref().unwrap_or_default());
    lists.map(|instruction| &instruction.instr_args)
}

fn is_constant(plan: &ExecutionPlan<'_>) -> bool {
    let no_inputs = plan.inputs.as_deref().unwrap_or_default().is_empty();
    let outputs = plan.outputs.as_deref().unwrap_or_default();
    no_inputs && !outputs.is_empty() && instructions(plan).next().is_none()
}

fn returned<'t>(plan: &'t ExecutionPlan<'_>) -> Returned<'t> {
    let outputs = wide(plan.outputs.as_deref());
    match outputs.as_slice() {
        [output] => constant(plan, *output, true),
        outputs => items(plan, outputs, true),
    }
}

fn items<'t>(plan: &'t ExecutionPlan<'_>, indices: &[i64], lists: bool) -> Returned<'t> {
    Returned::List(indices.iter().map(|index| constant(plan, *index, lists)).collect())
}

/// The value with that index. The items of a list are values of their own; a list inside a list, which no writer
/// makes, stays closed.
fn constant<'t>(plan: &'t ExecutionPlan<'_>, index: i64, lists: bool) -> Returned<'t> {
    match value(plan, index) {
        Some(KernelTypes::Int(value)) => Returned::Int(value.int_val),
        Some(KernelTypes::Bool(value)) => Returned::Bool(value.bool_val),
        Some(KernelTypes::Double(value)) => double(value.double_val),
        Some(KernelTypes::String(value)) => Returned::String(value.string_val.as_deref().unwrap_or_default()),
        Some(KernelTypes::Tensor(tensor)) => Returned::Tensor(shape(tensor)),
        Some(KernelTypes::DoubleList(list)) => {
            Returned::List(list.items.as_deref().unwrap_or_default().iter().map(|number| double(*number)).collect())
        }
        Some(KernelTypes::BoolList(list)) => {
            Returned::List(list.items.as_deref().unwrap_or_default().iter().map(|bit| Returned::Bool(*bit)).collect())
        }
        Some(KernelTypes::IntList(list)) if lists => items(plan, list.items.as_deref().unwrap_or_default(), false),
        Some(KernelTypes::TensorList(list)) if lists => items(plan, &wide(list.items.as_deref()), false),
        Some(KernelTypes::OptionalTensorList(list)) if lists => items(plan, &wide(list.items.as_deref()), false),
        _ => Returned::Null,
    }
}

/// The value with that index, as the file writes indices.
fn value<'t, 'a>(plan: &'t ExecutionPlan<'a>, index: i64) -> Option<&'t KernelTypes<'a>> {
    usize::try_from(index).ok().and_then(|index| plan.values.as_deref()?.get(index)).map(|value| &value.val)
}

fn wide(indices: Option<&[i32]>) -> Vec<i64> {
    indices.unwrap_or_default().iter().map(|index| i64::from(*index)).collect()
}

fn double<'t>(number: f64) -> Returned<'t> {
    match number {
        number if number.is_nan() => Returned::NotFinite("nan"),
        f64::INFINITY => Returned::NotFinite("inf"),
        f64::NEG_INFINITY => Returned::NotFinite("-inf"),
        number => Returned::Double(number),
    }
}

fn shape<'t>(tensor: &'t Tensor<'_>) -> Shape<'t> {
    Shape {
        name: tensor.extra_tensor_info.as_deref().and_then(|extra| extra.fully_qualified_name.as_deref()),
        scalar_type: tensor.scalar_type,
        sizes: tensor.sizes(),
        dim_order: tensor.dim_order(),
        shape_dynamism: tensor.shape_dynamism,
    }
}

/// Constants, initial states and external tensors of all methods together.
fn tensors(pte: &Pte<'_>, findings: &mut Vec<String>) -> (Amount, Amount, Amount) {
    let (mut constants, mut mutable, mut external) = (HashSet::new(), HashSet::new(), HashMap::new());
    for (at, plan) in pte.methods().iter().enumerate() {
        for (value, tensor) in plan.tensors() {
            let found = pte.tensor_data(tensor).and_then(|data| {
                match data {
                    TensorData::Constant(data) => {
                        pte.bytes(&data)?;
                        constants.insert(data);
                    }
                    TensorData::Mutable(data) => {
                        pte.bytes(&data)?;
                        mutable.insert(data);
                    }
                    TensorData::External(key) => {
                        external.insert(key, tensor.byte_size()?);
                    }
                    TensorData::None | TensorData::Planned(_) => {}
                }
                Ok(())
            });
            if let Err(error) = found {
                findings.push(format!("execution_plan[{at}].values[{value}].val.Tensor: {error}"));
            }
        }
    }
    (total(constants.iter()), total(mutable.iter()), external.into_values().collect())
}

fn total<'t>(data: impl Iterator<Item = &'t DataRef>) -> Amount {
    data.map(DataRef::size).collect()
}

/// The number of keys, and the bytes of the segments that they name.
fn named_data(pte: &Pte<'_>, findings: &mut Vec<String>) -> Amount {
    let mut blobs = HashSet::new();
    for (at, named) in pte.named_data().iter().enumerate() {
        match pte.named_data_ref(named).and_then(|data| pte.bytes(&data).map(|_| data)) {
            Ok(data) => {
                blobs.insert(data);
            }
            Err(error) => findings.push(format!("named_data[{at}]: {error}")),
        }
    }
    Amount { count: pte.named_data().len(), ..total(blobs.iter()) }
}

/// The number of delegates, and the bytes of their payloads. Those that cannot be found count nothing.
fn payloads<'t, 'a: 't>(pte: &Pte<'_>, delegates: impl Iterator<Item = &'t BackendDelegate<'a>>) -> Amount {
    let mut blobs = HashSet::new();
    let mut count = 0;
    for delegate in delegates {
        count += 1;
        blobs.extend(pte.delegate_data(delegate).ok());
    }
    Amount { count, ..total(blobs.iter()) }
}

fn method<'t>(pte: &Pte<'_>, plan: &'t ExecutionPlan<'_>, findings: &mut Vec<String>) -> Method<'t> {
    let mut kinds = Instructions::default();
    let operators = plan.operators.as_deref().unwrap_or_default();
    let mut calls = vec![0; operators.len()];
    for instruction in instructions(plan) {
        kinds.total += 1;
        *kinds.by_kind.entry(instruction.name().unwrap_or("unknown")).or_default() += 1;
        if let InstructionArguments::KernelCall(call) = instruction {
            if let Some(count) = usize::try_from(call.op_index).ok().and_then(|index| calls.get_mut(index)) {
                *count += 1;
            }
        }
    }
    let mut operators: Vec<Calls> =
        operators.iter().zip(calls).map(|(operator, calls)| Calls { name: full_name(operator), calls }).collect();
    operators.sort_by_key(|operator| std::cmp::Reverse(operator.calls));
    Method {
        name: name(plan),
        inputs: values(plan, plan.inputs.as_deref()),
        outputs: values(plan, plan.outputs.as_deref()),
        values: plan.values.as_deref().unwrap_or_default().len(),
        operators,
        instructions: kinds,
        delegates: backends(pte, plan, findings),
        planned_memory: planned_memory(plan),
    }
}

fn full_name(operator: &Operator<'_>) -> String {
    let name = operator.name.as_deref().unwrap_or_default();
    match operator.overload.as_deref() {
        Some(overload) if !overload.is_empty() => format!("{name}.{overload}"),
        _ => name.to_owned(),
    }
}

fn values<'t>(plan: &'t ExecutionPlan<'_>, indices: Option<&[i32]>) -> Vec<Value<'t>> {
    let describe = |index: &i32| {
        let found = value(plan, (*index).into());
        let tensor = match found {
            Some(KernelTypes::Tensor(tensor)) => Some(shape(tensor)),
            _ => None,
        };
        Value { value: *index, r#type: found.and_then(KernelTypes::name), tensor }
    };
    indices.unwrap_or_default().iter().map(describe).collect()
}

fn backends<'t>(pte: &Pte<'_>, plan: &'t ExecutionPlan<'_>, findings: &mut Vec<String>) -> Vec<Backend<'t>> {
    let delegates = plan.delegates.as_deref().unwrap_or_default();
    for (index, delegate) in delegates.iter().enumerate() {
        if let Err(error) = pte.delegate_data(delegate).and_then(|data| pte.bytes(&data).map(|_| ())) {
            findings.push(format!("method {:?}: delegates[{index}].processed: {error}", name(plan)));
        }
    }
    let mut by_id: BTreeMap<&str, Vec<&BackendDelegate<'_>>> = BTreeMap::new();
    for delegate in delegates {
        by_id.entry(delegate.id.as_deref().unwrap_or_default()).or_default().push(delegate);
    }
    let backend = |(id, delegates): (&'t str, Vec<_>)| {
        let Amount { count, bytes } = payloads(pte, delegates.into_iter());
        Backend { id, delegates: count, payload_bytes: bytes }
    };
    by_id.into_iter().map(backend).collect()
}

/// The buffers from 1 on: entry 0 is reserved.
fn planned_memory(plan: &ExecutionPlan<'_>) -> PlannedMemory {
    let devices = plan.non_const_buffer_device.as_deref().unwrap_or_default();
    let sizes = plan.non_const_buffer_sizes.as_deref().unwrap_or_default();
    let buffer = |(memory_id, size): (usize, &i64)| {
        let device = devices.iter().find(|device| usize::try_from(device.buffer_idx) == Ok(memory_id));
        PlannedBuffer {
            memory_id,
            size: *size,
            device_type: device.map_or(DeviceType::CPU, |device| device.device_type),
            device_index: device.map_or(0, |device| device.device_index),
        }
    };
    let buffers: Vec<_> = sizes.iter().enumerate().skip(1).map(buffer).collect();
    let bytes = buffers.iter().filter_map(|buffer| u64::try_from(buffer.size).ok()).fold(0, u64::saturating_add);
    PlannedMemory { bytes, buffers }
}
