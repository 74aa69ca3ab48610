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
mod delegates;
mod diff;
mod graph;
mod memory;
mod model;
mod operators;
mod ptd;
mod pte;
mod report;
mod salvage;
mod size;
mod summary;
mod trace;
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
pub use by_module::gaps::ModuleGap;
pub use delegates::payloads::PayloadFacts;
pub use delegates::{DelegateConstant, DelegateConstantUser, DelegateConstants};
pub use diff::{
    Diff, DiffLimits, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Excess, GrowthLimit, Side, diff,
};
pub use graph::{Edge, Graph, GraphArgument, InstructionPlace, Node, NodeKind, NodeMeasure};
pub use graph::{EdgeRoute, GraphLayout, GroupKind, NodeBox, NodeGroup, Outline};
pub use memory::planned::{PlannedBuffer, PlannedMemory};
pub use memory::runtime::{MethodAllocator, PointerSize, TempAllocator};
pub use memory::{Assumption, BufferMemory, Memory, MethodMemory, Moment, PlannedTensor, RunMemory, XnnpackRunMemory};
pub use operators::delegation::{BackendShare, Delegation, LeftOperator, LeftTensor, MethodDelegation, TakenOperator};
pub use operators::macs::{CallMacs, Macs, MacsSummary, MethodMacs, OperatorMacs};
pub use operators::parameters::ParameterPrecision;
pub use operators::{BackendUse, KernelUse, OperatorUse, Operators, TensorUse};
pub use report::{Drawing, Report};
pub use salvage::{Salvage, SalvagedTables, SalvagedText, salvage};
pub use size::{Growth, MethodSize, OperatorSize, SizeGroup, SizeKey, SizeKind, SizePart, SizeReport, TypeSize};
pub use summary::{
    Backend, BlobCount, Content, FlatTensorSummary, HeaderSummary, Instructions, Key, Method, OperatorCalls,
    ProgramSummary, SegmentCount, Summary, Value,
};
pub use trace::debug_values::{DebugRun, DebugTensor, DebugValue, DebugValues};
pub use trace::delegate_events::{NeuralStatistics, StatisticsData, StatisticsSegment, VulkanShader};
pub use trace::linked::ProfiledNode;
pub use trace::numeric_gaps::{ComparedValue, GapOutcome, NumericGap, RunGaps};
pub use trace::profile::{EventKind, EventProfile, EventTarget, Mismatch, Profile, RunProfile};
pub use trace::timeline::TimelineEvent;
pub use trace::{TraceRun, TraceSummary};
pub use weights::dequantized::ConstantNumbers;
pub use weights::numbers::{Distance, Histogram, HistogramCounter};
pub use weights::{Weight, WeightUse};
pub use xnnpack::{XnnpackArgument, XnnpackSummary};

pub(crate) use graph::{CHARACTERS, Ends, LINE, MAX_WEIGHTS};
pub use trace::times::{OperatorTime, RunChange, TimeChange, TimesBy};
