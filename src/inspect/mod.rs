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
mod compile_specs;
mod constant_methods;
mod debug_values;
mod delegate_code;
mod delegates;
mod dequantized;
mod diff;
mod disassembly;
mod etdp;
mod events;
mod graph;
mod linked;
mod macs;
mod memory;
mod model;
pub(crate) mod modules;
mod names;
mod numbers;
mod numeric_gaps;
mod operators;
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
mod training;
mod weights;
mod xnnpack;

pub use crate::dataflow::Period;
pub use blobs::{Blob, BlobKind, BlobUser, Blobs};
pub use branch::{Branch, BranchEntry};
pub use bundle::{BundleSummary, TestCase, TestSuite, TestValue};
pub use compile_specs::CompileSetting;
pub use constant_methods::{ConstantMethod, Returned};
pub use debug_values::{DebugRun, DebugTensor, DebugValue, DebugValues};
pub use delegate_code::{DelegateCode, InsideArgument, InsideNode};
pub use delegates::{DelegateConstant, DelegateConstantUser, DelegateConstants};
pub use dequantized::{ConstantNumbers, QuantizedTensor};
pub use diff::{
    Diff, DiffLimits, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Excess, GrowthLimit, Side, diff,
};
pub use disassembly::{
    Argument, ChainCode, Code, CodeValue, Disassembly, MethodCode, NamedBy, Operation, SourceLine, TensorPlace,
};
pub use etdp::{TraceRun, TraceSummary};
pub use graph::{Edge, Graph, GraphArgument, InstructionPlace, Node, NodeKind};
pub use graph::{EdgeRoute, GraphLayout, GroupKind, NodeBox, NodeGroup, Outline};
pub use linked::ProfiledNode;
pub use macs::{CallMacs, Macs, MacsSummary, MethodMacs, OperatorMacs};
pub use memory::{Assumption, BufferMemory, Memory, MethodMemory, Moment, PlannedTensor};
pub use modules::ModuleTotal;
pub use names::{DelegateNames, InstructionName, MethodNames, Name, Names};
pub use numbers::{Distance, Histogram, HistogramCounter};
pub use numeric_gaps::{ComparedValue, GapOutcome, NumericGap, RunGaps};
pub use operators::{BackendUse, KernelUse, OperatorUse, Operators, TensorUse, kernel_key};
pub use payloads::PayloadFacts;
pub use planned_memory::{PlannedBuffer, PlannedMemory};
pub use profile::{EventKind, EventProfile, EventTarget, Mismatch, Profile, RunProfile};
pub use report::{Drawing, Report};
pub use runtime_memory::{MethodAllocator, PointerSize, TempAllocator};
pub use salvage::{Salvage, SalvagedTables, SalvagedText, salvage};
pub use size::{Growth, MethodSize, OperatorSize, SizeGroup, SizeKey, SizeKind, SizePart, SizeReport, TypeSize};
pub use summary::{
    Backend, BlobCount, Content, FlatTensorSummary, HeaderSummary, Instructions, Key, Method, OperatorCalls,
    ProgramSummary, SegmentCount, Summary, Value, ValueShape,
};
pub use timeline::TimelineEvent;
pub use training::{TrainingOutput, TrainingRole};
pub use weights::{Weight, WeightUse};
pub use xnnpack::{XnnpackArgument, XnnpackSummary};

pub(crate) use compile_specs::accelerator;
pub(crate) use delegates::takers;
pub(crate) use graph::short;
pub(crate) use graph::{CHARACTERS, LINE, MAX_WEIGHTS};
#[cfg(feature = "convert")]
pub(crate) use modules::common_module;
pub use times::{OperatorTime, RunChange, TimeChange};
#[cfg(feature = "convert")]
pub(crate) use training::training_outputs;

use crate::error::Error;
use crate::path::FieldPath;
use core::fmt;

/// A dangling reference in the tree: the field that refers to data, and the reason why the data cannot be found.
/// Serialized as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The field that refers to the data.
    pub path: FieldPath,
    /// The reason why the data cannot be found.
    pub error: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.error)
    }
}

impl serde::Serialize for Fault {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

crate::json_schema::json_schema_of_text!(Fault);
