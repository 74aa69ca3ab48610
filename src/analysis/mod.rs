//! A program that is opened once and asked often.
//!
//! [`Analysis`] finds the payloads and the names of a program when they are first asked for, and keeps them. The questions
//! themselves are in [`inspect`](crate::inspect) and [`verify`](crate::verify), as methods of it.

mod code;
mod compile_specs;
mod constant_methods;
mod containers;
mod delegate_code;
mod dequantized;
mod device;
mod fault;
pub(crate) mod modules;
mod names;
mod training;
mod value_shape;

pub use crate::delegate::{InsideArgument, InsideNode, InsideSetting};
pub use code::{
    Argument, ChainCode, Code, CodeValue, Disassembly, MethodCode, NamedBy, Operation, SourceLine, TensorPlace,
};
pub use compile_specs::CompileSetting;
pub use constant_methods::{ConstantMethod, Returned};
pub use delegate_code::DelegateCode;
pub use dequantized::QuantizedTensor;
pub use device::Device;
pub use fault::Fault;
pub use names::{
    DelegateNames, EtRecord, InstructionName, MethodNames, ModelPlace, ModelTensor, Name, NameSource, NameText, Names,
    Parameter, RecordedMethod, RecordedNode, StateTensor,
};
pub use training::{TrainingOutput, TrainingRole};
pub use value_shape::ValueShape;

use crate::dataflow::{DelegateOutputs, KeptApart};
use crate::delegate::{DelegateGraph, GraphBudget, NamedBlobs, OpenPayload};
use crate::error::Result;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use alloc::vec::Vec;
use names::Unnamed;
use std::sync::OnceLock;

pub(crate) use constant_methods::{LIST, double};
pub(crate) use dequantized::dequantized;
pub(crate) use training::training_outputs;

/// A program with everything that is known of it: costly to open, cheap to ask.
///
/// Each part is found when a question first needs it, and kept: the contents of payloads, the names. Answers borrow from the
/// program and its data, not from the analysis, so they outlive it.
///
/// ```
/// use executorch_format::{Analysis, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
/// let pte = Pte::parse(&file)?;
/// let analysis = Analysis::new(&pte);
/// for method in analysis.memory().methods {
///     println!("{}: {} bytes", method.name, method.size);
/// }
/// println!("{} operators", analysis.operators().operators.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Analysis<'t> {
    pte: &'t Pte<'t>,
    data: Option<Vec<&'t Ptd<'t>>>,
    sources: Option<Vec<&'t NameSource<'t>>>,
    payloads: OnceLock<Vec<OpenPayload<'t>>>,
    graphs: OnceLock<Vec<Result<Option<DelegateGraph>>>>,
    outputs: OnceLock<DelegateOutputs>,
    kept: OnceLock<KeptApart>,
    names: OnceLock<Names<'t>>,
}

impl<'t> Analysis<'t> {
    /// Creates the analysis of a program. Finds nothing yet.
    pub fn new(pte: &'t Pte<'_>) -> Self {
        Self {
            pte,
            data: None,
            sources: None,
            payloads: OnceLock::new(),
            graphs: OnceLock::new(),
            outputs: OnceLock::new(),
            kept: OnceLock::new(),
            names: OnceLock::new(),
        }
    }

    /// Sets the `.ptd` files that the program is loaded with; an empty list if it is loaded without any. By default, all data that it
    /// needs is assumed to be present.
    pub fn with_data(mut self, data: impl IntoIterator<Item = &'t Ptd<'t>>) -> Self {
        self.data = Some(data.into_iter().collect());
        self
    }

    /// Sets the sources of names besides the program, ETRecords and state dicts, in the order in which they are asked; an empty list for the
    /// names in the file alone. All answers then have [names](Self::names); by default, they have only names that need no search.
    ///
    /// A source that belongs to another program is not used: [`Names::rejected`] has the reason.
    pub fn with_names(mut self, sources: impl IntoIterator<Item = &'t NameSource<'t>>) -> Self {
        self.sources = Some(sources.into_iter().collect());
        self
    }

    /// Returns the program.
    pub fn pte(&self) -> &'t Pte<'t> {
        self.pte
    }

    /// Returns the `.ptd` files that the program is loaded with; `None` if all data is assumed to be present.
    pub fn data(&self) -> Option<&[&'t Ptd<'t>]> {
        self.data.as_deref()
    }

    /// Returns the program's payloads, as [`Pte::open_payloads`] does.
    pub fn payloads(&self) -> &[OpenPayload<'t>] {
        self.payloads.get_or_init(|| self.pte.open_payloads())
    }

    /// Returns the graphs inside [`payloads`](Self::payloads), in the same order, as [`Payload::graph`](crate::delegate::Payload::graph) does.
    /// `Ok(None)` for a payload that cannot be read, or has no graph that this crate reads.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/payloads/other/coreml.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let analysis = Analysis::new(&pte);
    /// let operators: Vec<_> = analysis.delegate_graphs()[0].as_ref().unwrap().as_ref().unwrap().count_nodes();
    /// assert_eq!(operators, [("cast", 2), ("linear", 1)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delegate_graphs(&self) -> &[Result<Option<DelegateGraph>>] {
        self.graphs.get_or_init(|| {
            let blobs = self.named_blobs();
            // Many payloads share one limit.
            let size = self.pte.source.as_ref().map_or(0, |source| source.bytes.len());
            let mut budget = GraphBudget::of(size);
            let payloads = self.payloads().iter();
            payloads.map(|opened| opened.graph(self.pte, &blobs, &mut budget)).collect()
        })
    }

    /// Returns the payloads, each with its graph if it has one that can be read.
    pub(crate) fn payloads_with_graphs(&self) -> impl Iterator<Item = (&OpenPayload<'t>, Option<&DelegateGraph>)> {
        let graphs = self.delegate_graphs().iter().map(|graph| graph.as_ref().ok().and_then(Option::as_ref));
        self.payloads().iter().zip(graphs)
    }

    /// Returns the blobs that payloads can look up by key: the program's named data, and the keys of its `.ptd` files, if they are set.
    pub(crate) fn named_blobs(&self) -> NamedBlobs<'t> {
        NamedBlobs::new(self.pte, self.data().unwrap_or_default().iter().copied())
    }

    /// Returns the outputs among the arguments of delegates' calls.
    pub(crate) fn outputs(&self) -> &DelegateOutputs {
        self.outputs.get_or_init(|| DelegateOutputs::of_program(self.pte, self.payloads()))
    }

    /// Sets the values that each method keeps from run to run, which verification finds.
    pub(crate) fn keep(&self, kept: KeptApart) {
        self.kept.get_or_init(|| kept);
    }

    /// Returns the values that a method keeps from run to run, as if all tensors had memory of their own; `None` if verification has not found
    /// them.
    pub(crate) fn kept(&self, method: usize) -> Option<&[u32]> {
        self.kept.get()?.get(method)?.as_deref()
    }

    /// Returns the names in the program: those in the file itself, and those from the [given sources](Self::with_names).
    ///
    /// Takes time in proportion to the size of the program, of its constants and of the state dicts.
    pub fn names(&self) -> &Names<'t> {
        let program = || Unnamed { pte: self.pte, outputs: self.outputs(), payloads: self.payloads() };
        self.names.get_or_init(|| program().names(self.sources.as_deref().unwrap_or_default()))
    }

    /// Returns the names that answers have; `None` if they were not asked for.
    pub(crate) fn answer_names(&self) -> Option<&Names<'t>> {
        self.sources.as_ref().map(|_| self.names())
    }

    /// Returns every instruction of every method. Arguments of known operators have names.
    pub fn disassembly(&self) -> Disassembly<'t> {
        self.disassembly_with(self.delegate_graphs().to_vec())
    }

    /// Returns every instruction of every method, as [`disassembly`](Self::disassembly) does, without the memory for a copy.
    pub fn into_disassembly(mut self) -> Disassembly<'t> {
        self.delegate_graphs();
        let graphs = self.graphs.take().unwrap_or_default();
        self.disassembly_with(graphs)
    }

    /// Returns the disassembly with these graphs inside its payloads.
    fn disassembly_with(&self, graphs: Vec<Result<Option<DelegateGraph>>>) -> Disassembly<'t> {
        let delegates = delegate_code::contents(self.pte, self.payloads(), graphs);
        let names = self.answer_names();
        code::code(self.pte, self.outputs()).with_names(names).with_delegates(delegates)
    }
}
