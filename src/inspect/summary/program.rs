//! The summary of a program.

use super::{BlobCount, Content, SegmentCount, Summary, segment_count};
use crate::analysis::Analysis;
use crate::analysis::{ConstantMethod, TrainingOutput, ValueShape, training_outputs};
use crate::file::header::{FileKind, Header};
use crate::file::pte::Pte;
use crate::inspect::delegates::payloads::{self, PayloadFacts};
use crate::inspect::delegates::{self, Operators};
use crate::inspect::memory::run_memories;
use crate::inspect::{BlobKind, Blobs, MethodAllocator, NameText, PlannedMemory, RunMemory};
use crate::schema::program::{BackendDelegate, ExecutionPlan, InstructionArguments, KernelTypes, Tensor};
use alloc::collections::BTreeSet;
use alloc::{collections::BTreeMap, string::String, vec, vec::Vec};

/// The contents of a `.pte` file.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProgramSummary<'t> {
    /// The methods that compute something.
    pub methods: Vec<Method<'t>>,
    /// The methods that return constants: metadata.
    pub metadata: Vec<ConstantMethod<'t>>,
    /// The data segments.
    pub segments: SegmentCount,
    /// Constants.
    pub constants: BlobCount,
    /// The initial states of mutable tensors.
    pub initial_states: BlobCount,
    /// The tensors with data in a `.ptd` file.
    pub external: BlobCount,
    /// The blobs with names.
    pub named_data: BlobCount,
    /// The payloads of delegates.
    pub delegates: BlobCount,
    /// The summaries of the payloads.
    pub payloads: Vec<PayloadFacts<'t>>,
    /// The constants that payloads of a known kind use, and other data that they look up by key, in the payload, in named data or in a `.ptd`
    /// file. Data with the same key is counted once.
    pub delegate_constants: BlobCount,
    /// Those of them under keys that this file does not have: they have to be in a `.ptd` file. Data whose size the payload does not state is
    /// counted with 0 bytes if its `.ptd` file is not at hand.
    pub external_delegate_constants: BlobCount,
}

/// The contents of a method.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Method<'t> {
    /// The method's name.
    pub name: &'t str,
    /// The inputs, in order.
    pub inputs: Vec<Value<'t>>,
    /// The outputs, in order.
    pub outputs: Vec<Value<'t>>,
    /// The number of values.
    pub values: usize,
    /// The kernels that it calls, the most called first.
    pub operators: Vec<OperatorCalls>,
    /// The instructions.
    pub instructions: Instructions,
    /// The backends that it delegates to.
    pub delegates: Vec<Backend<'t>>,
    /// The memory planned for the method.
    pub planned_memory: PlannedMemory,
    /// The additional memory that the runtime allocates to load the method.
    pub method_allocator: MethodAllocator,
    /// The memory of a run: the planned buffers, and everything besides.
    pub run_memory: RunMemory,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Value<'t> {
    /// The name: a keyword argument or the keys that lead to it in the containers that callers use, such as `mask` or `[1].input_pos`; for an
    /// input, else the argument's name in an ETRecord; else the tensor's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<NameText<'t>>,
    /// Index into the method's values.
    pub value: i32,
    /// The schema's name of its kind; `None` if the index is out of range or the kind is of a newer schema.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The shape, without a name, if it is a tensor.
    #[serde(flatten)]
    pub tensor: Option<ValueShape<'t>>,
    /// `true` if it is a tensor without planned memory, which the caller has to provide before a run.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub caller_memory: bool,
    /// The meaning of an output of a method for training; `None` for other values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingOutput<'t>>,
}

/// A kernel and the number of its calls.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorCalls {
    /// The name and overload, such as `aten::add.out`.
    pub name: String,
    /// The number of instructions that call it.
    pub calls: usize,
}

/// The instructions of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Instructions {
    /// The total number of instructions.
    pub total: usize,
    /// The number of instructions of each kind, by the schema's names.
    pub by_kind: BTreeMap<String, usize>,
}

/// The delegates of a backend.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Backend<'t> {
    /// The backend's name.
    pub id: &'t str,
    /// The number of delegates.
    pub delegates: usize,
    /// The total size of the payloads, in bytes: a shared payload is counted once.
    pub payload_size: u64,
    /// The operators inside the payloads that this crate can parse, the most frequent first.
    pub operators: Vec<OperatorCalls>,
}

pub(in crate::inspect) fn of_pte<'t>(analysis: &Analysis<'t>) -> Summary<'t> {
    let found = crate::inspect::blobs::of_pte(analysis.pte(), None);
    let runs = run_memories(analysis, &found.blobs);
    with_runs(analysis, found, runs)
}

/// Does the same with the blobs, and with what loading and running each method takes.
pub(in crate::inspect) fn with_runs<'t>(
    analysis: &Analysis<'t>,
    Blobs { blobs, mut errors }: Blobs<'t>,
    runs: Vec<(MethodAllocator, RunMemory)>,
) -> Summary<'t> {
    let pte = analysis.pte();
    let count = |kind| BlobCount::of(blobs.iter().filter(|blob| blob.kind == kind));
    let opened = analysis.payloads();
    let operators = delegates::operators(analysis);
    let looked_up = analysis.named_blobs();
    let (mut methods, mut metadata) = (Vec::new(), Vec::new());
    let runs = runs.into_iter().zip(training_outputs(pte));
    for ((index, plan), (run, training)) in pte.methods().iter().enumerate().zip(runs) {
        errors.extend(plan.negative_buffers(index));
        if !plan.is_constant() {
            let mut method = method(pte, index, plan, &operators, run);
            let recorded = analysis.answer_names().and_then(|names| names.methods.get(index));
            let inputs = recorded.map_or_else(|| plan.input_names(), |names| names.inputs.clone());
            name(&mut method.inputs, inputs);
            name(&mut method.outputs, plan.output_names());
            for (output, training) in method.outputs.iter_mut().zip(training) {
                output.training = training;
            }
            methods.push(method);
        } else if let Some(value) = plan.constant() {
            metadata.push(ConstantMethod { name: plan.name(), value });
        }
    }
    let content = ProgramSummary {
        methods,
        metadata,
        segments: segment_count(pte.program.segments()),
        constants: count(BlobKind::Constant),
        initial_states: count(BlobKind::InitialState),
        external: count(BlobKind::External),
        named_data: count(BlobKind::Named),
        delegates: count(BlobKind::Delegate),
        payloads: payloads::facts(pte, opened, &looked_up),
        delegate_constants: delegates::count_constants(opened, &looked_up, None),
        external_delegate_constants: delegates::count_constants(opened, &looked_up, Some(&pte.named_data_index())),
    };
    Summary {
        kind: FileKind::Pte,
        identifier: FileKind::Pte.identifier(),
        header: pte.header.map(|header| Header::Pte(header).into()),
        content: Content::Program(content),
        errors,
    }
}

fn method<'t>(
    pte: &Pte<'_>,
    index: usize,
    plan: &'t ExecutionPlan<'_>,
    inside: &Operators<'_>,
    (method_allocator, run_memory): (MethodAllocator, RunMemory),
) -> Method<'t> {
    let mut instructions = Instructions::default();
    let mut calls = vec![0; plan.operators().len()];
    for (_, instruction) in plan.instructions() {
        instructions.total += 1;
        let kind = instruction.name().unwrap_or("unknown");
        match instructions.by_kind.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                instructions.by_kind.insert(kind.into(), 1);
            }
        }
        if let InstructionArguments::KernelCall(call) = instruction {
            if let Some(count) = usize::try_from(call.op_index).ok().and_then(|index| calls.get_mut(index)) {
                *count += 1;
            }
        }
    }
    let operators = plan.operators().iter().zip(calls);
    let mut operators: Vec<OperatorCalls> =
        operators.map(|(operator, calls)| OperatorCalls { name: operator.full_name(), calls }).collect();
    delegates::most_first(&mut operators);
    Method {
        name: plan.name(),
        inputs: values(plan, plan.inputs()),
        outputs: values(plan, plan.outputs()),
        values: plan.values().len(),
        operators,
        instructions,
        delegates: backends(pte, index, plan, inside),
        planned_memory: plan.planned_memory(),
        run_memory,
        method_allocator,
    }
}

/// Names inputs or outputs by position.
fn name<'t>(values: &mut [Value<'t>], names: Vec<Option<NameText<'t>>>) {
    for (value, name) in values.iter_mut().zip(names) {
        value.name = name.or(value.name.take());
    }
}

fn values<'t>(plan: &'t ExecutionPlan<'_>, indices: &[i32]) -> Vec<Value<'t>> {
    let describe = |index: &i32| {
        let found = plan.value(*index).map(|value| &value.val);
        let mut tensor = match found {
            Some(KernelTypes::Tensor(tensor)) => Some(ValueShape::of(tensor)),
            _ => None,
        };
        let name = tensor.as_mut().and_then(|tensor| tensor.name.take());
        let has_no_memory = |tensor: &Tensor<'_>| {
            tensor.allocation_info.is_none() && tensor.data_buffer_idx == 0 && !tensor.is_external()
        };
        let caller_memory = matches!(found, Some(KernelTypes::Tensor(tensor)) if has_no_memory(tensor));
        Value { name, value: *index, kind: found.and_then(KernelTypes::name), tensor, caller_memory, training: None }
    };
    indices.iter().map(describe).collect()
}

fn backends<'t>(pte: &Pte<'_>, method: usize, plan: &'t ExecutionPlan<'_>, inside: &Operators<'_>) -> Vec<Backend<'t>> {
    let mut by_id: BTreeMap<&str, Vec<&BackendDelegate<'_>>> = BTreeMap::new();
    for delegate in plan.delegates() {
        by_id.entry(delegate.id()).or_default().push(delegate);
    }
    let backend = |(id, list): (&'t str, Vec<&BackendDelegate<'_>>)| {
        let count = list.len();
        let (mut payloads, mut payload_bytes) = (BTreeSet::new(), 0u64);
        for data in list.iter().filter_map(|delegate| pte.delegate_data(delegate).ok()) {
            if payloads.insert(data) {
                payload_bytes = payload_bytes.saturating_add(data.size());
            }
        }
        let operators = inside.get(&(method, id)).map_or_else(Vec::new, delegates::sorted);
        Backend { id, delegates: count, payload_size: payload_bytes, operators }
    };
    by_id.into_iter().map(backend).collect()
}
