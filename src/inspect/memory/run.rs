//! The memory of a run: everything that takes memory while a method is loaded and runs.

use crate::analysis::Analysis;
use crate::delegate::xnnpack::XnnpackMemory;
use crate::delegate::{EthosU, NamedBlobs, Payload, PayloadKind, delegate_at};
use crate::file::header::Header;
use crate::file::segment::DataRef;
use crate::inspect::{Blob, BlobKind, HeaderSummary, MethodAllocator, PointerSize, TempAllocator};
use crate::names::short;
use crate::numbers::Numbers;
use crate::schema::program::{ExecutionPlan, InstructionArguments, TensorShapeDynamism};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};
use core::cell::LazyCell;

/// Metadata of programs whose key-value caches are inputs and outputs, or a backend's own: the runner allocates them.
const CACHES: [&str; 2] = ["get_n_caches", "get_kv_io_bit_width"];

/// The memory that a method takes until it has run, in bytes: of the program, of the method itself and of its delegates. The caller's own
/// tensors are not counted, nor the memory that kernels take for the time of a call.
///
/// The sizes are those of a process with 64-bit pointers that has only this method loaded, without a cache of XNNPACK's weights.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunMemory {
    /// The FlatBuffer of the program.
    pub program: u64,
    /// The constants that are read in place: those in segments and `.ptd` files, and those that XNNPACK does not pack.
    pub weights_in_place: u64,
    /// The planned buffers.
    pub planned: u64,
    /// The memory of the method itself ([`MethodAllocator`](crate::inspect::MethodAllocator)), with a temporary allocator.
    pub method: u64,
    /// The memory of XNNPACK's delegates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xnnpack: Option<XnnpackRunMemory>,
    /// The scratch memory of the largest delegate, if payloads state it (Ethos-U): each call takes it from the runtime's temporary allocator,
    /// and gives it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch: Option<u64>,
    /// The sum while the method runs. At least that, if something is not known.
    pub running: u64,
    /// The maximum during the first run, in which XNNPACK's workspace grows.
    pub first_run: u64,
    /// The maximum while delegates are loaded: the weights of one are in memory both as stored and packed.
    pub loading: u64,
    /// The largest one of `running`, `first_run` and `loading`.
    pub total: u64,
    /// `true` if shapes inside delegates are dynamic: the sizes are those for the largest shapes.
    pub at_most: bool,
    /// The memory that is not known and not counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_known: Vec<Cow<'static, str>>,
}

/// The memory of XNNPACK's delegates, in bytes. `null` for what is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct XnnpackRunMemory {
    /// The number of delegates.
    pub delegates: usize,
    /// The largest workspace of a delegate: delegates share one. A workspace has the values inside the graph that are needed at the same time,
    /// each rounded up to 64 bytes, at the offsets that XNNPACK's planner gives them.
    pub workspace: Option<u64>,
    /// The workspace that the largest one replaces: delegates run for the first time in order, and both are in memory while the workspace grows.
    /// 0 if the first delegate has the largest one.
    pub replaced_workspace: Option<u64>,
    /// The addresses of pixels: 8 bytes for each input pixel of each window of convolutions and poolings, and 40 bytes for each pixel of a
    /// resized image.
    pub tables: Option<u64>,
    /// The packed weights: for each output channel, rounded up to 16, its weights and bias, and if they are quantized, scales and their sum.
    pub packed: Option<u64>,
}

/// Returns what loading each method takes, and the memory of its run.
pub(in crate::inspect) fn run_memories(
    analysis: &Analysis<'_>,
    blobs: &[Blob<'_>],
) -> Vec<(MethodAllocator, RunMemory)> {
    let runs = RunMemories::new(analysis, blobs);
    let of = |(index, plan): (usize, &ExecutionPlan<'_>)| {
        let allocator = analysis.pte().method_allocator(plan);
        let run = runs.of(index, plan, &allocator);
        (allocator, run)
    };
    analysis.pte().methods().iter().enumerate().map(of).collect()
}

/// The memory of runs of a program's methods.
struct RunMemories {
    program: u64,
    constants: u64,
    /// The delegates whose payload is of XNNPACK, by method and index.
    xnnpack: BTreeMap<(usize, usize), Delegate>,
    /// The scratch memory of each method that delegates to an Ethos-U; `None` if one of its payloads does not state it.
    scratch: BTreeMap<usize, Option<u64>>,
    /// The data that payloads of an Ethos-U look up by key, by method, in bytes; `None` if one was not given.
    looked_up: BTreeMap<usize, Option<u64>>,
    caches: Option<&'static str>,
}

/// The memory of an XNNPACK delegate.
#[derive(Clone, Copy)]
struct Delegate {
    memory: XnnpackMemory,
    /// The size of the payload, which is in memory while the delegate is loaded.
    payload: u64,
}

impl RunMemories {
    fn new(analysis: &Analysis<'_>, blobs: &[Blob<'_>]) -> Self {
        let pte = analysis.pte();
        let program = match pte.header {
            Some(header) => HeaderSummary::from(Header::Pte(header)).metadata_size,
            None => pte.source.as_ref().map_or(0, |source| source.bytes.len() as u64),
        };
        let is_loaded = |blob: &&Blob<'_>| match blob.kind {
            BlobKind::Constant => matches!(blob.data, Some(DataRef::Segment { .. })),
            kind => kind == BlobKind::External,
        };
        let constants = blobs.iter().filter(is_loaded).map(|blob| blob.size).sum();
        let (mut xnnpack, mut scratch, mut looked_up) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let blobs = LazyCell::new(|| analysis.named_blobs());
        for opened in analysis.payloads() {
            match &opened.payload {
                Ok(Payload::Xnnpack(payload)) => {
                    let delegate = Delegate { memory: payload.memory(), payload: opened.data.size() };
                    xnnpack.extend(opened.delegates.iter().map(|place| (*place, delegate)));
                }
                payload => {
                    let (stated, external) = match payload {
                        Ok(Payload::EthosU(ethos_u)) => (ethos_u.scratch_size(), external_size(ethos_u, &blobs)),
                        _ => (None, Some(0)),
                    };
                    let is_ethos_u = |place: &&_| delegate_at(pte, **place).1.id() == PayloadKind::EthosU.id();
                    for (method, _) in opened.delegates.iter().filter(is_ethos_u) {
                        let largest = scratch.entry(*method).or_insert(Some(0));
                        *largest = largest.zip(stated).map(|(largest, stated): (u64, u64)| largest.max(stated));
                        let sum = looked_up.entry(*method).or_insert(Some(0));
                        *sum = sum.zip(external).map(|(sum, size): (u64, u64)| sum.saturating_add(size));
                    }
                }
            }
        }
        let names = || pte.methods().iter().filter(|plan| plan.is_constant()).map(ExecutionPlan::name);
        let caches = CACHES.into_iter().find(|name| names().any(|other| other == *name));
        Self { program, constants, xnnpack, scratch, looked_up, caches }
    }

    /// Returns the memory of a run of the method with that index. `allocator` is what loading it takes.
    fn of(&self, index: usize, plan: &ExecutionPlan<'_>, allocator: &MethodAllocator) -> RunMemory {
        let mut run = RunMemory {
            program: self.program,
            planned: plan.planned_memory().size,
            method: allocator.known(PointerSize::Bits64, TempAllocator::Given),
            weights_in_place: self.constants.saturating_add(self.looked_up(index).unwrap_or_default()),
            scratch: self.scratch.get(&index).copied().flatten(),
            ..RunMemory::default()
        };
        let sum = |sizes: &[u64]| sizes.iter().copied().fold(0, u64::saturating_add);
        let delegates =
            || self.xnnpack.range((index, 0)..=(index, usize::MAX)).map(|(place, delegate)| (place.1, delegate));
        let mut packed = 0u64;
        for (_, Delegate { memory, payload }) in delegates() {
            run.weights_in_place = run.weights_in_place.saturating_add(memory.in_place);
            packed = packed.saturating_add(memory.packed.unwrap_or_default());
            let now = [run.program, run.planned, run.method, run.weights_in_place, packed, memory.unpacked, *payload];
            run.loading = run.loading.max(sum(&now));
        }
        run.xnnpack = delegates().map(|(_, delegate)| delegate.memory).fold(None, |all, memory| {
            let none = Some(0);
            let empty = XnnpackRunMemory {
                delegates: 0,
                workspace: none,
                replaced_workspace: none,
                tables: none,
                packed: none,
            };
            let all: XnnpackRunMemory = all.unwrap_or(empty);
            let grows = all.workspace < memory.workspace;
            let add = |sum: Option<u64>, size: Option<u64>| sum.zip(size).map(|(sum, size)| sum.saturating_add(size));
            Some(XnnpackRunMemory {
                delegates: all.delegates + 1,
                workspace: all.workspace.zip(memory.workspace).map(|(all, size)| all.max(size)),
                replaced_workspace: if grows { all.workspace } else { all.replaced_workspace },
                tables: add(all.tables, memory.tables),
                packed: add(all.packed, memory.packed),
            })
        });
        let known =
            |size: fn(&XnnpackRunMemory) -> Option<u64>| run.xnnpack.as_ref().and_then(size).unwrap_or_default();
        let delegated = [known(|all| all.workspace), known(|all| all.tables), known(|all| all.packed)];
        let own = [run.program, run.weights_in_place, run.planned, run.method, run.scratch.unwrap_or_default()];
        run.running = sum(&own).saturating_add(sum(&delegated));
        run.first_run = run.running.saturating_add(known(|all| all.replaced_workspace));
        run.total = run.first_run.max(run.loading);
        run.at_most = self.takes_dynamic_shapes(index, plan);
        run.not_known = self.not_known(index, plan, &run);
        run
    }

    /// Returns the size of the data that payloads of an Ethos-U look up by key; `None` if one was not given.
    fn looked_up(&self, method: usize) -> Option<u64> {
        self.looked_up.get(&method).copied().unwrap_or(Some(0))
    }

    /// Returns `true` if a delegate of XNNPACK takes or gives a tensor with a dynamic shape.
    fn takes_dynamic_shapes(&self, method: usize, plan: &ExecutionPlan<'_>) -> bool {
        let is_dynamic = |value: &i32| {
            plan.tensor(*value).is_some_and(|tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC)
        };
        plan.instructions().any(|(_, instruction)| match instruction {
            InstructionArguments::DelegateCall(call) => {
                let delegate = usize::try_from(call.delegate_index).unwrap_or(usize::MAX);
                self.xnnpack.contains_key(&(method, delegate)) && call.args().iter().any(is_dynamic)
            }
            _ => false,
        })
    }

    fn not_known(&self, method: usize, plan: &ExecutionPlan<'_>, run: &RunMemory) -> Vec<Cow<'static, str>> {
        let mut not_known: Vec<Cow<'static, str>> = Vec::new();
        let (mut numbers, mut seen) = (Numbers::default(), 0);
        for (index, delegate) in plan.delegates().iter().enumerate() {
            let is_known = match delegate.id() {
                id if id == PayloadKind::EthosU.id() => run.scratch.is_some(),
                _ => self.xnnpack.contains_key(&(method, index)),
            };
            if !is_known && numbers.of_text(delegate.id()) == seen {
                seen += 1;
                not_known.push(format!("memory that {} allocates itself", short(delegate.id())).into());
            }
        }
        if let Some(xnnpack) = &run.xnnpack {
            let unknown = |size: Option<u64>, name| size.is_none().then_some(name);
            not_known.extend(
                unknown(
                    xnnpack.workspace,
                    "XNNPACK's workspace: a value has an unknown size, or there are more than 4,096",
                )
                .map(Cow::from),
            );
            not_known.extend(
                unknown(xnnpack.tables, "XNNPACK's tables of addresses: a node has an unknown output").map(Cow::from),
            );
            not_known
                .extend(unknown(xnnpack.packed, "XNNPACK's packed weights: a node has unknown weights").map(Cow::from));
        }
        if self.looked_up(method).is_none() {
            not_known.push("data of an Ethos-U in .ptd files that were not given".into());
        }
        if let Some(name) = self.caches {
            not_known.push(format!("key-value caches that the runner allocates (metadata {name})").into());
        }
        not_known
    }
}

/// Returns the size of the blocks that a payload looks up by key; `None` if one is not at hand.
fn external_size(ethos_u: &EthosU<'_>, blobs: &NamedBlobs<'_>) -> Option<u64> {
    ethos_u
        .blocks
        .iter()
        .filter(|block| block.external)
        .try_fold(0u64, |sum, block| Some(sum.saturating_add(blobs.size(&String::from_utf8_lossy(block.data))?)))
}
