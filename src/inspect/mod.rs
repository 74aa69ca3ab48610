//! Questions about a file, answered as plain data: the output of `pte info`, `list`, `size`, `memory`, `ops` and `disasm`.
//!
//! ```
//! use executorch_format::Model;
//!
//! # fn main() -> executorch_format::Result<()> {
//! let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
//! let model = Model::parse(&file)?;
//! for blob in &model.blobs().blobs {
//!     println!("{} at {:?}: {} bytes, {} users", blob.kind, blob.offset, blob.size, blob.users.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! All answers implement `serde::Serialize`.

mod blobs;
mod branch;
mod bundle;
mod by_module;
mod debug_values;
mod delegate_events;
mod delegates;
mod delegation;
mod dequantized;
mod diff;
mod etdp;
mod events;
mod graph;
mod linked;
mod macs;
mod memory;
mod model;
mod module_gaps;
mod numbers;
mod numeric_gaps;
mod operators;
mod parameters;
mod payloads;
mod planned_memory;
mod profile;
mod ptd;
mod pte;
mod report;
mod run_pairs;
mod runtime_memory;
mod salvage;
mod size;
mod summary;
mod timeline;
mod times;
mod weights;
mod xnnpack;

pub use crate::analysis::QuantizedTensor;
pub use crate::analysis::{
    Argument, ChainCode, Code, CodeValue, CompileSetting, ConstantMethod, DelegateCode, DelegateNames, Device,
    Disassembly, Fault, InsideArgument, InsideNode, InsideSetting, InstructionName, MethodCode, MethodNames, Name,
    NameText, NamedBy, Names, Operation, Returned, SourceLine, TensorPlace, TrainingOutput, TrainingRole, ValueShape,
};
pub use crate::dataflow::Period;
pub use crate::operators::KernelPlace;
pub use blobs::{Blob, BlobKind, BlobUser, Blobs};
pub use branch::{Branch, BranchEntry};
pub use bundle::{BundleSummary, TestCase, TestSuite, TestValue};
pub use by_module::ModuleTotal;
pub use debug_values::{DebugRun, DebugTensor, DebugValue, DebugValues};
pub use delegate_events::{NeuralStatistics, StatisticsData, StatisticsSegment, VulkanShader};
pub use delegates::{DelegateConstant, DelegateConstantUser, DelegateConstants};
pub use delegation::{BackendShare, Delegation, LeftOperator, LeftTensor, MethodDelegation, TakenOperator};
pub use dequantized::ConstantNumbers;
pub use diff::{
    Diff, DiffLimits, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Excess, GrowthLimit, Side, diff,
};
pub use etdp::{TraceRun, TraceSummary};
pub use graph::{Edge, Graph, GraphArgument, InstructionPlace, Node, NodeKind, NodeMeasure};
pub use graph::{EdgeRoute, GraphLayout, GroupKind, NodeBox, NodeGroup, Outline};
pub use linked::ProfiledNode;
pub use macs::{CallMacs, Macs, MacsSummary, MethodMacs, OperatorMacs};
pub use memory::{Assumption, BufferMemory, Memory, MethodMemory, Moment, PlannedTensor, RunMemory, XnnpackRunMemory};
pub use module_gaps::ModuleGap;
pub use numbers::{Distance, Histogram, HistogramCounter};
pub use numeric_gaps::{ComparedValue, GapOutcome, NumericGap, RunGaps};
pub use operators::{BackendUse, KernelUse, OperatorUse, Operators, TensorUse, kernel_key};
pub use parameters::ParameterPrecision;
pub use payloads::PayloadFacts;
pub use planned_memory::{PlannedBuffer, PlannedMemory};
pub use profile::{EventKind, EventProfile, EventTarget, Mismatch, Profile, RunProfile};
pub use report::{Drawing, Report};
pub use runtime_memory::{MethodAllocator, PointerSize, TempAllocator};
pub use salvage::{Salvage, SalvagedTables, SalvagedText, salvage};
pub use size::{Growth, MethodSize, OperatorSize, SizeGroup, SizeKey, SizeKind, SizePart, SizeReport, TypeSize};
pub use summary::{
    Backend, BlobCount, Content, FlatTensorSummary, HeaderSummary, Instructions, Key, Method, OperatorCalls,
    ProgramSummary, SegmentCount, Summary, Value,
};
pub use timeline::TimelineEvent;
pub use weights::{Weight, WeightUse};
pub use xnnpack::{XnnpackArgument, XnnpackSummary};

pub(crate) use graph::{CHARACTERS, Ends, LINE, MAX_WEIGHTS};
pub use times::{OperatorTime, RunChange, TimeChange, TimesBy};
