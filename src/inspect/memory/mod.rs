//! The planned memory of methods: the place and lifetime of tensors, and the cost of the plan.

mod cover;
pub(super) mod planned;
mod run;
pub(super) mod runtime;
mod sharing;

pub(super) use run::run_memories;
pub use run::{RunMemory, XnnpackRunMemory};

use super::{Fault, MethodAllocator, MethodNames, NameText, NamedBy, PlannedBuffer, ValueShape, blobs};
use crate::analysis::Analysis;
use crate::dataflow::{Calls, Dataflow, DelegateOutputs, Needs, Period, Unknown, arguments};
use crate::error::Error;
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, Tensor};
use alloc::{format, string::String, vec, vec::Vec};
use core::fmt;
use core::ops::Range;
use cover::Cover;

/// The planned memory of all methods.
///
/// ```
/// use executorch_format::{Analysis, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
/// let pte = Pte::parse(&file)?;
/// for method in Analysis::new(&pte).memory().methods {
///     for buffer in method.buffers {
///         println!("{}: {} bytes, {} needed at once", method.name, buffer.buffer.size, buffer.needed);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Memory<'t> {
    /// All methods, in the file's order, including those that need no memory.
    pub methods: Vec<MethodMemory<'t>>,
    /// The largest buffer of any method for each buffer index: enough to run all methods, one at a time.
    pub arenas: Vec<PlannedBuffer>,
    /// Tensors in a buffer that does not exist, or of unknown size. They are in no other list.
    pub errors: Vec<Fault>,
}

/// The planned memory of a method.
///
/// Times count the method's instructions from 1, over all its chains. Inputs are given at time 0; outputs are read after the last
/// instruction. In JSON, times are indices of instructions, which count from 0, so that inputs are given at -1.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodMemory<'t> {
    /// The method's name.
    pub name: &'t str,
    /// The number of instructions.
    pub instructions: usize,
    /// The total size of the buffers, in bytes.
    pub size: u64,
    /// The buffers, from index 1.
    pub buffers: Vec<BufferMemory<'t>>,
    /// The number of tensors that have a place in planned memory, although no instruction, input or output names them. They are in no list,
    /// and neither are tensors without elements and those whose bytes are not used.
    pub unused: usize,
    /// `true` if an instruction jumps. Times are still positions in the list of instructions: values that a loop carries from one iteration
    /// to the next are needed in the whole loop, and values that one branch needs are not needed in the other.
    pub jumps: bool,
    /// The memory of a run: the planned buffers, and everything besides.
    pub run_memory: RunMemory,
    /// The assumptions that had to be made: `needed` and `lost` are then estimates. Empty if everything is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<Assumption>,
}

impl MethodMemory<'_> {
    /// Returns the instruction at a time, or the inputs or outputs.
    pub fn moment(&self, time: usize) -> Moment {
        match time.checked_sub(1) {
            None => Moment::Inputs,
            Some(index) if index >= self.instructions => Moment::Outputs,
            Some(index) => Moment::Instruction(index),
        }
    }
}

/// A time of a method's run. Displayed as `inputs`, `12` or `outputs` with `{}`, and with `{:#}`, for a sentence, as `the inputs`,
/// `instruction 12` or `the outputs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Moment {
    /// Before the first instruction, when inputs are given.
    Inputs,
    /// An instruction: its index over all chains, from 0.
    Instruction(usize),
    /// After the last instruction, when outputs are read.
    Outputs,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (article, noun) = if f.alternate() { ("the ", "instruction ") } else { ("", "") };
        match self {
            Self::Inputs => write!(f, "{article}inputs"),
            Self::Instruction(index) => write!(f, "{noun}{index}"),
            Self::Outputs => write!(f, "{article}outputs"),
        }
    }
}

/// An assumption in place of an unknown fact about a method.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Assumption {
    /// The operator or the backend concerned; `None` if it concerns the whole method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of instructions that call it.
    pub calls: usize,
    /// The unknown fact.
    pub why: &'static str,
}

/// A planned buffer and its tensors.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BufferMemory<'t> {
    /// The index, size and device.
    #[serde(flatten)]
    pub buffer: PlannedBuffer,
    /// The maximum number of bytes that are needed at the same time: no plan for these tensors can be smaller. Bytes that tensors share at
    /// that time are counted once. An estimate if the method's `assumed` is not empty.
    pub needed: u64,
    /// The first time of this maximum.
    #[serde(serialize_with = "crate::dataflow::as_instruction")]
    #[cfg_attr(feature = "schemars", schemars(with = "i64"))]
    pub needed_at: usize,
    /// The buffer's size minus `needed`: gaps that no tensor could use, and alignment.
    pub lost: u64,
    /// The tensors in the buffer, sorted by the time when they are first needed.
    pub tensors: Vec<PlannedTensor<'t>>,
}

/// A tensor in planned memory.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlannedTensor<'t> {
    /// Index into the method's values.
    pub value: usize,
    /// The offset in bytes from the start of the buffer.
    pub offset: u64,
    /// The size, in bytes.
    pub size: u64,
    /// The first time at which its bytes are needed.
    #[serde(serialize_with = "crate::dataflow::as_instruction")]
    #[cfg_attr(feature = "schemars", schemars(with = "i64"))]
    pub first: usize,
    /// The last time at which its bytes are needed, also through a view.
    #[serde(serialize_with = "crate::dataflow::as_instruction")]
    #[cfg_attr(feature = "schemars", schemars(with = "i64"))]
    pub last: usize,
    /// The periods between `first` and `last` in which its bytes are not needed: before they are overwritten, or in another branch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idle: Vec<Period>,
    /// `true` if it keeps its content from run to run: it has an initial state, or is read before it is written.
    pub kept: bool,
    /// The values that the tensor is a view of and whose bytes it reads. At most 64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<usize>,
    /// The type and shape.
    #[serde(flatten)]
    pub shape: ValueShape<'t>,
    /// The origin of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// The instruction that first writes it, such as `convolution.3`; `None` for an input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<NameText<'t>>,
    /// The instruction that needs it last; `None` for an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_by: Option<NameText<'t>>,
    /// The path of the module of the instruction that first writes it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub module: Option<&'t str>,
    /// Values that are needed at the same time and share some bytes: the tensor is a view of them, or is computed in their place. At most 64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares_with: Vec<usize>,
    /// Values that used some of its bytes before and are no longer needed. At most 64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<usize>,
}

impl PlannedTensor<'_> {
    /// Returns the offset of its end, in bytes from the start of the buffer.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// Returns `true` if its bytes are needed at a time.
    pub fn is_needed_at(&self, time: usize) -> bool {
        let is_in = |period: &Period| (period.first..=period.last).contains(&time);
        (self.first..=self.last).contains(&time) && !self.idle.iter().any(is_in)
    }
}

pub(super) fn memory<'t>(analysis: &Analysis<'t>) -> Memory<'t> {
    with_runs(analysis, run_memories(analysis, &blobs::of_pte(analysis.pte(), None).blobs))
}

/// Does the same with what loading and running each method takes.
pub(super) fn with_runs<'t>(analysis: &Analysis<'t>, runs: Vec<(MethodAllocator, RunMemory)>) -> Memory<'t> {
    let mut memory = Memory { methods: Vec::new(), arenas: Vec::new(), errors: Vec::new() };
    for ((index, plan), (_, run)) in analysis.pte().methods().iter().enumerate().zip(runs) {
        let names = analysis.answer_names().and_then(|names| names.methods.get(index));
        let (method, errors) = method(index, plan, analysis.outputs(), names, run);
        memory.arenas.extend(method.buffers.iter().map(|buffer| buffer.buffer));
        memory.methods.push(method);
        memory.errors.extend(errors);
    }
    let device = |arena: &PlannedBuffer| (arena.memory_id, arena.device_type, arena.device_index);
    memory.arenas.sort_by_key(|arena| (device(arena), core::cmp::Reverse(arena.size)));
    memory.arenas.dedup_by_key(|arena| device(arena));
    memory
}

/// Returns the values of each method that are in planned memory and keep their content from run to run.
pub(super) fn kept_values(analysis: &Analysis<'_>) -> Vec<Vec<usize>> {
    let of_method = |(index, plan): (usize, &ExecutionPlan<'_>)| {
        let kept = match analysis.kept(index) {
            Some(kept) => kept.to_vec(),
            None => Dataflow::of_reads(plan, &Calls::new(plan, index, analysis.outputs())).kept().collect(),
        };
        let buffers = plan.planned_memory().buffers.len();
        let is_planned = |value: &usize| {
            let place =
                plan.tensor(*value).and_then(|tensor| tensor.byte_size().ok().and(tensor.allocation_info.as_ref()));
            place.is_some_and(|place| (1..=buffers).contains(&(place.memory_id as usize)))
        };
        kept.into_iter().map(|value| value as usize).filter(is_planned).collect()
    };
    analysis.pte().methods().iter().enumerate().map(of_method).collect()
}

/// The maximum number of listed values that a tensor is a view of.
const MAX_VIEWS: usize = 64;

/// The parts of a method's dataflow that its planned memory depends on.
struct Flow {
    needs: Needs,
    /// The values that keep their content from run to run, in order.
    kept: Vec<u32>,
    unknown: Vec<Unknown>,
    instructions: usize,
    /// `true` for each value that an event is about.
    is_named: Vec<bool>,
}

impl Flow {
    #[expect(clippy::indexing_slicing, reason = "`is_named` has an item for each value, and events are of values")]
    fn of(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Self {
        let flow = Dataflow::of(plan, calls);
        let mut is_named = vec![false; plan.values().len()];
        for event in flow.events() {
            is_named[event.value as usize] = true;
        }
        let (needs, kept, instructions) = (flow.needs(), flow.kept().collect(), flow.end().saturating_sub(1));
        Self { needs, kept, unknown: flow.unknown, instructions, is_named }
    }

    fn keeps(&self, value: usize) -> bool {
        self.kept.binary_search(&(value as u32)).is_ok()
    }
}

fn method<'t>(
    index: usize,
    plan: &'t ExecutionPlan<'_>,
    delegates: &DelegateOutputs,
    names: Option<&MethodNames<'t>>,
    run_memory: RunMemory,
) -> (MethodMemory<'t>, Vec<Fault>) {
    let planned = plan.planned_memory();
    let mut placed: Vec<Vec<Placed<'_, 't>>> = planned.buffers.iter().map(|_| Vec::new()).collect();
    let (mut errors, mut unused) = (plan.negative_buffers(index), 0);
    // The rest of the dataflow, which takes as much memory as everything that is found with it, is dropped.
    let flow = Flow::of(plan, &Calls::new(plan, index, delegates));
    let (mut periods, mut views) = (flow.needs.periods.as_slice(), flow.needs.views.as_slice());
    for (value, tensor) in plan.tensors() {
        let needed = part(&mut periods, value);
        let bases = part(&mut views, value);
        let Some(place) = tensor.allocation_info else {
            continue;
        };
        let buffer = (place.memory_id as usize).checked_sub(1).and_then(|buffer| placed.get_mut(buffer));
        let sized = match buffer {
            Some(buffer) => tensor.byte_size().map(|size| (buffer, size)),
            None => {
                let (wanted, there) = (place.memory_id, planned.buffers.len());
                Err(Error::reference(format!("planned buffer {wanted}, but there are {there}, counted from 1")))
            }
        };
        let ends = needed.first().zip(needed.last());
        match (sized, ends) {
            (Ok((buffer, size)), Some(((_, start), (_, end)))) => {
                let (offset, first, last) = (place.memory_offset(), start.first, end.last);
                buffer.push(Placed { first, offset, value, last, size, tensor, needed, bases });
            }
            (Ok(_), None) => unused += usize::from(!flow.is_named.get(value).is_some_and(|named| *named)),
            (Err(error), _) => {
                let path = Path::ROOT
                    .item("execution_plan", index)
                    .item("values", value)
                    .field("val.Tensor.allocation_info")
                    .to_field_path();
                errors.push(Fault { path, error });
            }
        }
    }
    // Times are counted from 1 over the instructions of all chains.
    let labels: Vec<Option<&NameText<'t>>> = {
        let chains = names.map(|names| names.chains.as_slice()).unwrap_or_default();
        chains.iter().flatten().map(|name| Some(&name.as_ref()?.label)).collect()
    };
    let label = |time: usize| labels.get(time.checked_sub(1)?).copied().flatten().cloned();
    let tensor = |placed: Placed<'_, 't>| {
        let Placed { first, offset, value, last, size, tensor, needed, bases } = placed;
        let name = names.and_then(|names| names.value(value));
        let mut shape = ValueShape::of(tensor);
        let mut named_by = shape.name.as_ref().map(|_| NamedBy::File);
        if let Some(name) = name {
            (shape.name, named_by) = (Some(name.name.clone()), Some(name.named_by));
        }
        PlannedTensor {
            value,
            offset,
            size,
            first,
            last,
            idle: idle(needed),
            kept: flow.keeps(value),
            views: bases.iter().take(MAX_VIEWS).map(|(_, base)| *base as usize).collect(),
            shape,
            named_by,
            made_by: label(first),
            last_used_by: label(last),
            module: name.and_then(|name| name.module),
            // Found when all tensors of the buffer are known.
            shares_with: Vec::new(),
            replaces: Vec::new(),
        }
    };
    let buffer = |(buffer, mut placed): (&PlannedBuffer, Vec<Placed<'_, 't>>)| {
        placed.sort_unstable_by_key(|placed| (placed.first, placed.offset, placed.value));
        buffer_memory(*buffer, placed.into_iter().map(tensor).collect())
    };
    let buffers = planned.buffers.iter().zip(placed).map(buffer).collect();
    let jumps =
        plan.instructions().any(|(_, instruction)| matches!(instruction, InstructionArguments::JumpFalseCall(_)));
    let method = MethodMemory {
        name: plan.name(),
        instructions: flow.instructions,
        size: planned.size,
        buffers,
        unused,
        jumps,
        run_memory,
        assumed: assumed(plan, &flow.unknown),
    };
    (method, errors)
}

/// A tensor in planned memory, with what the dataflow knows of it.
struct Placed<'f, 't> {
    first: usize,
    offset: u64,
    value: usize,
    last: usize,
    size: u64,
    tensor: &'t Tensor<'t>,
    needed: &'f [(u32, Period)],
    bases: &'f [(u32, u32)],
}

/// Returns the times between the periods in which the bytes of a tensor are needed.
fn idle(needed: &[(u32, Period)]) -> Vec<Period> {
    let gap = |pair: &[(u32, Period)]| match pair {
        [(_, before), (_, after)] => Some(Period { first: before.last + 1, last: after.first.saturating_sub(1) }),
        _ => None,
    };
    needed.windows(2).filter_map(gap).collect()
}

/// Removes the entries of a key, and of the keys before it, from the start of a list that is sorted by key. Returns the entries of the key.
fn part<'l, T>(list: &mut &'l [(u32, T)], key: usize) -> &'l [(u32, T)] {
    let before = list.iter().take_while(|(other, _)| (*other as usize) < key).count();
    let (_, rest) = list.split_at(before);
    let count = rest.iter().take_while(|(other, _)| *other as usize == key).count();
    let (part, rest) = rest.split_at(count);
    *list = rest;
    part
}

/// Lists the assumptions about a method: each reason once for each operator or delegate, with the number of its calls that touch planned
/// memory.
fn assumed(plan: &ExecutionPlan<'_>, unknown: &[Unknown]) -> Vec<Assumption> {
    const MAX_SHOWN: usize = 8;
    let mut assumed = Vec::new();
    // The calls, by reason and by index of the operator or delegate.
    let mut calls: Vec<(&'static str, bool, i32)> = Vec::new();
    let mut reasons = unknown.iter().peekable();
    while let Some(reason) = reasons.next_if(|reason| reason.time.is_none()) {
        assumed.push(Assumption { name: None, calls: 0, why: reason.why });
    }
    for ((_, instruction), time) in plan.instructions().zip(1..) {
        while let Some(reason) = reasons.next_if(|reason| reason.time == Some(time)) {
            let plans = |value: &i32| plan.tensor(*value).is_some_and(|tensor| tensor.allocation_info.is_some());
            if !arguments(instruction).iter().any(plans) {
                continue;
            }
            match instruction {
                InstructionArguments::KernelCall(call) => calls.push((reason.why, false, call.op_index)),
                InstructionArguments::DelegateCall(call) => calls.push((reason.why, true, call.delegate_index)),
                _ => {}
            }
        }
    }
    calls.sort();
    for same in calls.chunk_by(|left, right| left == right).take(MAX_SHOWN) {
        let Some((why, is_delegate, number)) = same.first() else { continue };
        let index = usize::try_from(*number).ok();
        let name = if *is_delegate {
            index.and_then(|index| Some(String::from(plan.delegates().get(index)?.id())))
        } else {
            index.and_then(|index| Some(plan.operators().get(index)?.full_name()))
        };
        let name = crate::names::short(&name.unwrap_or_else(|| format!("number {number}")));
        assumed.push(Assumption { name: Some(name), calls: same.len(), why });
    }
    assumed
}

fn buffer_memory(buffer: PlannedBuffer, mut tensors: Vec<PlannedTensor<'_>>) -> BufferMemory<'_> {
    sharing::find(&mut tensors);
    let (needed, needed_at) = most_needed(&tensors);
    let lost = buffer.size.saturating_sub(needed);
    BufferMemory { buffer, needed, needed_at, lost, tensors }
}

/// Returns the maximum number of bytes that are needed at the same time, and the first such time.
fn most_needed(tensors: &[PlannedTensor<'_>]) -> (u64, usize) {
    let mut bounds = Vec::with_capacity(2 * tensors.len());
    for tensor in tensors {
        bounds.extend([tensor.offset, tensor.end()]);
    }
    let mut cover = Cover::new(bounds);
    // The times at which bytes start (`true`) and stop being needed. Starts are in order already, and ends nearly so.
    let mut changes: Vec<(usize, bool, Range<usize>)> = Vec::with_capacity(2 * tensors.len());
    let places: Vec<Range<usize>> = tensors.iter().map(|tensor| cover.find(tensor.offset, tensor.end())).collect();
    for (tensor, place) in tensors.iter().zip(&places) {
        changes.push((tensor.first, true, place.clone()));
    }
    for (tensor, place) in tensors.iter().zip(&places) {
        for pause in &tensor.idle {
            changes.extend([(pause.first, false, place.clone()), (pause.last + 1, true, place.clone())]);
        }
        changes.push((tensor.last + 1, false, place.clone()));
    }
    changes.sort_by_key(|(time, ..)| *time);
    let mut most = (0, 0);
    for together in changes.chunk_by(|left, right| left.0 == right.0) {
        for (_, add, place) in together {
            cover.change(place, *add);
        }
        let now = together.first().map_or(0, |change| change.0);
        if cover.covered() > most.0 {
            most = (cover.covered(), now);
        }
    }
    most
}
