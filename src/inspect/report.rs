//! The contents of a page about a file, as one value.

use super::memory::{self, run_memories};
use super::summary;
use super::{
    Graph, GraphLayout, MacsSummary, Memory, ModuleTotal, NodeGroup, Operators, Outline, SizeReport, Summary, Weight,
};
use crate::analysis::Analysis;
use crate::model::Model;
use alloc::vec::Vec;

/// The contents of a page about a file: the answers to most questions, and the layout of the graphs.
///
/// `web/viewer` draws it; `pte report` puts both into one page.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report<'t> {
    /// The summary of the file.
    pub summary: Summary<'t>,
    /// The size report; `None` for a tree that was not read from a file.
    pub size: Option<SizeReport<'t>>,
    /// The bytes of the file by module; empty if the modules are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<ModuleTotal<'t>>,
    /// The planned memory; `None` for a `.ptd`.
    pub memory: Option<Memory<'t>>,
    /// The operators and backends; `None` for a `.ptd`.
    pub operators: Option<Operators>,
    /// The multiply-accumulates and parameters of each method, by operator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub macs: Vec<MacsSummary<'t>>,
    /// The methods as graphs, with their layout.
    pub graphs: Vec<Drawing<'t>>,
    /// The tensors in the file, the largest first.
    pub weights: Vec<Weight<'t>>,
}

/// A graph with its layout.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Drawing<'t> {
    /// The graph.
    #[serde(flatten)]
    pub graph: Graph<'t>,
    /// The positions of the nodes.
    pub layout: GraphLayout,
    /// The groups of nodes.
    pub groups: Vec<NodeGroup>,
    /// The graph with one node for each group; `None` without groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outline: Option<Outline<'t>>,
}

impl<'t> Drawing<'t> {
    /// Computes a graph's layout and groups.
    pub fn of(graph: Graph<'t>) -> Self {
        let groups = graph.groups();
        Self { layout: graph.layout(), outline: graph.outline(&groups), groups, graph }
    }
}

impl<'t> Analysis<'t> {
    /// Returns the contents of a page about the program. Reads the values of weights of up to 16 MiB, 128 MiB in all.
    pub fn report(&self) -> Report<'t> {
        // First those that take the most memory while they are found.
        let (macs, weights) = (self.macs().summary(), self.weights());
        let size = self.size_report().ok();
        let named = size.as_ref().filter(|_| self.answer_names().is_some());
        let modules = named.map(|size| self.size_by_module(size)).unwrap_or_default();
        let are_known = modules.iter().any(|module| module.path.is_some());
        let blobs = super::blobs::of_pte(self.pte(), None);
        let runs = run_memories(self, &blobs.blobs);
        Report {
            summary: summary::with_runs(self, blobs, runs.clone()),
            size,
            modules: if are_known { modules } else { Vec::new() },
            memory: Some(memory::with_runs(self, runs)),
            operators: Some(self.operators()),
            macs,
            graphs: self.drawings(),
            weights,
        }
    }

    /// Returns the methods as graphs, with their layout.
    pub fn drawings(&self) -> Vec<Drawing<'t>> {
        self.graphs().into_iter().map(Drawing::of).collect()
    }
}

impl Model<'_> {
    /// Returns the contents of a page about the file. Reads the values of weights of up to 16 MiB, 128 MiB in all.
    pub fn report(&self) -> Report<'_> {
        if let Self::Pte(pte) = self {
            return Analysis::new(pte).report();
        }
        Report {
            summary: self.summary(),
            size: self.size_report().ok(),
            modules: Vec::new(),
            memory: None,
            operators: None,
            macs: Vec::new(),
            graphs: Vec::new(),
            weights: self.weights(),
        }
    }
}
