//! The planned memory of methods: what is where, when, and what the plan costs.

mod cover;
mod sharing;

use super::{Fault, PlannedBuffer, ValueShape};
use crate::error::Error;
use crate::file::pte::Pte;
use crate::liveness::liveness;
use crate::path::Step;
use crate::schema::program::ExecutionPlan;
use alloc::{format, vec::Vec};
use cover::Cover;

/// The planned memory of all methods.
///
/// ```
/// use executorch_format::Pte;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
/// let pte = Pte::parse(&file)?;
/// for method in pte.memory().methods {
///     for buffer in method.buffers {
///         println!("{}: {} bytes, {} needed at once", method.name, buffer.buffer.size, buffer.needed);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Memory<'t> {
    /// The methods, in the file's order: also those that need no memory.
    pub methods: Vec<MethodMemory<'t>>,
    /// For each buffer index, the largest buffer that any method has there: enough for all methods, one at a time.
    pub arenas: Vec<PlannedBuffer>,
    /// Tensors in memory that is not there, or whose size is not known. They are in no list.
    pub faults: Vec<Fault>,
}

/// The planned memory of a method.
///
/// Times count the method's instructions from 1, over all its chains. Inputs are given at time 0; outputs are read after the
/// last instruction.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MethodMemory<'t> {
    /// The method's name.
    pub name: &'t str,
    /// How many instructions it has.
    pub instructions: usize,
    /// Bytes of all buffers.
    pub bytes: u64,
    /// The buffers, from 1 on.
    pub buffers: Vec<BufferMemory<'t>>,
    /// How many tensors have a place that no instruction uses. They are in no list.
    pub unused: usize,
    /// Whether an instruction jumps. Times are then those in the list of instructions, and what a loop needs from one round to
    /// the next counts only from its first mention to its last.
    pub jumps: bool,
}

/// A planned buffer and what is in it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BufferMemory<'t> {
    /// Its index, size and device.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub buffer: PlannedBuffer,
    /// The most bytes that are needed at one time: no plan for these tensors can be smaller. Bytes that several tensors share
    /// at that time count once.
    pub needed: u64,
    /// The first time at which so many are needed.
    pub needed_at: usize,
    /// Bytes that the plan takes beyond those: gaps that no tensor fits in when it is needed, and alignment.
    pub lost: u64,
    /// The tensors in it, in order of the time when they are first needed.
    pub tensors: Vec<PlannedTensor<'t>>,
}

/// A tensor in planned memory.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PlannedTensor<'t> {
    /// Index into the method's values.
    pub value: usize,
    /// Bytes from the start of its buffer.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// The time of its first mention.
    pub first: usize,
    /// The time of its last mention.
    pub last: usize,
    /// Whether it keeps its content from run to run: it has an initial state.
    pub kept: bool,
    /// Its type and shape.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub shape: ValueShape<'t>,
    /// Values that are needed at the same time and have some of the same bytes: what it views, or is computed in the place
    /// of. At most 64.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub shares_with: Vec<usize>,
    /// Values that had some of its bytes before, and are needed no longer. At most 64.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub replaces: Vec<usize>,
}

impl PlannedTensor<'_> {
    /// Where it ends, in bytes from the start of its buffer.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Whether it is needed at a time.
    pub fn is_needed_at(&self, time: usize) -> bool {
        (self.first..=self.last).contains(&time)
    }
}

impl Pte<'_> {
    /// The planned memory of all methods: each tensor's place and the time in which it is needed. Takes `n log n`.
    pub fn memory(&self) -> Memory<'_> {
        let mut memory = Memory { methods: Vec::new(), arenas: Vec::new(), faults: Vec::new() };
        for (index, plan) in self.methods().iter().enumerate() {
            let (method, faults) = method(index, plan);
            memory.arenas.extend(method.buffers.iter().map(|buffer| buffer.buffer));
            memory.methods.push(method);
            memory.faults.extend(faults);
        }
        let device = |arena: &PlannedBuffer| (arena.memory_id, arena.device_type, arena.device_index);
        memory.arenas.sort_by_key(|arena| (device(arena), core::cmp::Reverse(arena.size)));
        memory.arenas.dedup_by_key(|arena| device(arena));
        memory
    }
}

fn method<'t>(index: usize, plan: &'t ExecutionPlan<'_>) -> (MethodMemory<'t>, Vec<Fault>) {
    let planned = plan.planned_memory();
    let mut tensors: Vec<Vec<PlannedTensor<'t>>> = planned.buffers.iter().map(|_| Vec::new()).collect();
    let (mut faults, mut unused) = (Vec::new(), 0);
    let known = liveness(plan);
    // A value counts for itself and for its known views.
    let mut times = known.uses;
    for life in known.lives {
        if let Some(time) = times.get_mut(life.value) {
            let (first, last) = time.unwrap_or((life.first, life.last));
            *time = Some((first.min(life.first), last.max(life.last)));
        }
    }
    for (value, tensor) in plan.tensors() {
        let Some(place) = tensor.allocation_info else {
            continue;
        };
        let buffer = (place.memory_id as usize).checked_sub(1).and_then(|buffer| tensors.get_mut(buffer));
        let placed = match buffer {
            Some(buffer) => tensor.byte_size().map(|bytes| (buffer, bytes)),
            None => {
                let (wanted, there) = (place.memory_id, planned.buffers.len());
                Err(Error::reference(format!("planned buffer {wanted}, but there are {there}, counted from 1")))
            }
        };
        // An initial state is loaded once, and kept from run to run.
        let kept = tensor.data_buffer_idx > 0 || tensor.is_external();
        let time = if kept { Some((0, known.end)) } else { times.get(value).copied().flatten() };
        match (placed, time) {
            (Ok((buffer, bytes)), Some((first, last))) => {
                let (offset, shape) = (place.memory_offset(), ValueShape::of(tensor));
                let (shares_with, replaces) = Default::default();
                buffer.push(PlannedTensor { value, offset, bytes, first, last, kept, shape, shares_with, replaces });
            }
            (Ok(_), None) => unused += 1,
            (Err(error), _) => {
                let path =
                    [Step::Field("execution_plan"), Step::Index(index), Step::Field("values"), Step::Index(value)];
                let tensor = [Step::Field("val"), Step::Field("Tensor"), Step::Field("allocation_info")];
                faults.push(Fault { path: path.into_iter().chain(tensor).collect(), error });
            }
        }
    }
    let buffers =
        planned.buffers.iter().zip(tensors).map(|(buffer, tensors)| buffer_memory(*buffer, tensors)).collect();
    let instructions = known.end.saturating_sub(1);
    let jumps = plan.instructions().any(|(_, instruction)| instruction.name() == Some("JumpFalseCall"));
    (MethodMemory { name: plan.name(), instructions, bytes: planned.bytes, buffers, unused, jumps }, faults)
}

fn buffer_memory(buffer: PlannedBuffer, mut tensors: Vec<PlannedTensor<'_>>) -> BufferMemory<'_> {
    tensors.sort_by_key(|tensor| (tensor.first, tensor.offset, tensor.value));
    sharing::find(&mut tensors);
    let (needed, needed_at) = most_needed(&tensors);
    let lost = u64::try_from(buffer.size).unwrap_or_default().saturating_sub(needed);
    BufferMemory { buffer, needed, needed_at, lost, tensors }
}

/// The most bytes that are needed at one time, and when first. The tensors are in order of their first times.
fn most_needed(tensors: &[PlannedTensor<'_>]) -> (u64, usize) {
    let mut cover = Cover::new(tensors.iter().flat_map(|tensor| [tensor.offset, tensor.end()]));
    let mut ends: Vec<&PlannedTensor<'_>> = tensors.iter().collect();
    ends.sort_by_key(|tensor| tensor.last);
    let mut ends = ends.into_iter().peekable();
    let mut most = (0, 0);
    for together in tensors.chunk_by(|one, other| one.first == other.first) {
        let now = together.first().map_or(0, |tensor| tensor.first);
        while let Some(tensor) = ends.next_if(|tensor| tensor.last < now) {
            cover.change(tensor.offset, tensor.end(), false);
        }
        for tensor in together {
            cover.change(tensor.offset, tensor.end(), true);
        }
        if cover.covered() > most.0 {
            most = (cover.covered(), now);
        }
    }
    most
}
