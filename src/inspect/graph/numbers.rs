//! Numbers of the nodes of a graph: times, multiply-accumulates, sizes and errors.

use super::{Graph, GraphArgument, Node, NodeKind};
use crate::analysis::Analysis;
use crate::inspect::{Macs, RunGaps};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{vec, vec::Vec};

/// An amount that nodes of a graph have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeMeasure {
    /// The time in one run, in ticks: see [`Profile::add_times`](crate::inspect::Profile::add_times).
    Time,
    /// The multiply-accumulates.
    Macs,
    /// The size of the weights that the node takes, in bytes. Weights of several nodes count for each.
    Size,
    /// The signal-to-noise ratio of what the node wrote in decibels, compared with a reference: see [`Graph::errors`].
    Error,
}

impl Analysis<'_> {
    /// Returns an amount of each node of graphs of this program; `None` if a node has none, or if it is not known. Errors are not known to the
    /// program.
    ///
    /// ```
    /// use executorch_format::inspect::NodeMeasure;
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear_xnnpack/linear_xnnpack.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let analysis = Analysis::new(&pte);
    /// let graphs = analysis.graphs();
    /// let macs = analysis.node_numbers(&graphs, NodeMeasure::Macs);
    /// // The input, a row of 8 elements by 5 columns, and the output.
    /// assert_eq!(macs, [[None, Some(40.0), None]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn node_numbers(&self, graphs: &[Graph<'_>], measure: NodeMeasure) -> Vec<Vec<Option<f64>>> {
        let of_nodes = |number: &dyn Fn(&Node<'_>) -> Option<f64>| {
            graphs.iter().map(|graph| graph.nodes.iter().map(number).collect()).collect()
        };
        match measure {
            NodeMeasure::Time => of_nodes(&|node| node.time),
            NodeMeasure::Macs => {
                let macs = self.macs();
                graphs.iter().map(|graph| node_macs(graph, &macs)).collect()
            }
            NodeMeasure::Size => of_nodes(&|node| node.weight_bytes()),
            NodeMeasure::Error => of_nodes(&|_| None),
        }
    }
}

fn node_macs(graph: &Graph<'_>, macs: &Macs<'_>) -> Vec<Option<f64>> {
    let calls = macs.methods.iter().find(|method| method.name == graph.method).map(|method| &method.calls);
    let mut found = BTreeMap::new();
    for call in calls.into_iter().flatten() {
        found.insert((call.chain, call.instruction, call.node), call.macs);
    }
    let number = |(node, inside): (&Node<'_>, Option<usize>)| {
        let place = node.instruction?;
        found.get(&(place.chain, place.instruction, inside)).copied()?.map(|macs| macs as f64)
    };
    graph.nodes.iter().zip(graph.payload_indices()).map(number).collect()
}

impl Node<'_> {
    /// Returns the size of the weights that the node takes, in bytes; `None` if it takes none, or if a size is not known.
    fn weight_bytes(&self) -> Option<f64> {
        let mut seen = BTreeSet::new();
        let weights = self.weights().filter(|weight| seen.insert(weight.value));
        weights
            .map(GraphArgument::byte_size)
            .try_fold(None, |sum: Option<u64>, size| Some(Some(sum.unwrap_or_default().saturating_add(size?))))?
            .map(|bytes| bytes as f64)
    }
}

impl Graph<'_> {
    /// Returns the signal-to-noise ratio of what each node wrote in decibels, from the differences of two runs of this graph's program; the lowest if a
    /// node wrote several values. `None` for nodes without a difference. What a delegate writes counts for its last node.
    pub fn errors(&self, runs: &[RunGaps]) -> Vec<Option<f64>> {
        let mut errors: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let is_its = |run: &&RunGaps| run.method.as_deref().is_none_or(|method| method == self.method);
        for gap in runs.iter().filter(is_its).flat_map(|run| &run.values) {
            let snr = gap.distance.filter(|distance| distance.changed > 0).and_then(|distance| distance.snr);
            if let Some((place, snr)) = gap.instruction.zip(snr) {
                let lowest = errors.entry(place).or_insert(snr);
                *lowest = lowest.min(snr);
            }
        }
        let mut numbers = vec![None; self.nodes.len()];
        for (node, number) in self.nodes.iter().zip(&mut numbers).rev() {
            if !matches!(node.kind, NodeKind::Input | NodeKind::Output | NodeKind::State) {
                *number = node.instruction.and_then(|place| errors.remove(&(place.chain, place.instruction)));
            }
        }
        numbers
    }
}
