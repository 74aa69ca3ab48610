//! The arguments at the ends of edges.

use super::{Edge, Graph, Node};
use alloc::collections::BTreeMap;

/// A node with more arguments than this has them looked up in an index: many edges may lead to it, each with another of its values.
const FEW: usize = 8;

/// The arguments of a graph's nodes by value, for finding those of many edges.
pub(crate) struct Ends<'g> {
    graph: &'g Graph<'g>,
    /// For each node with many arguments and each of their values, the position of the first such argument.
    first: BTreeMap<(usize, i32), usize>,
    /// The same for outputs, counted among the outputs.
    outputs: BTreeMap<(usize, i32), usize>,
    /// The number of outputs of each node with many arguments.
    counts: BTreeMap<usize, usize>,
}

impl<'g> Ends<'g> {
    pub(crate) fn of(graph: &'g Graph<'_>) -> Self {
        let (mut first, mut outputs, mut counts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.arguments.len() > FEW) {
            let mut count = 0;
            for (position, argument) in node.arguments.iter().enumerate() {
                first.entry((index, argument.value)).or_insert(position);
                if argument.output {
                    outputs.entry((index, argument.value)).or_insert(count);
                    count += 1;
                }
            }
            counts.insert(index, count);
        }
        Self { graph, first, outputs, counts }
    }

    /// Returns the position of the argument that an edge leads to.
    pub(crate) fn input(&self, edge: &Edge) -> Option<usize> {
        let (node, value) = (self.graph.nodes.get(edge.to)?, edge.value?);
        match node.arguments.len() > FEW {
            true => self.first.get(&(edge.to, value)).copied(),
            false => node.arguments.iter().position(|argument| argument.value == value),
        }
    }

    /// Returns the output that an edge comes from, counted among the outputs of its node. A view has a different value from the instruction
    /// that wrote its memory: the last output is used.
    pub(crate) fn output(&self, edge: &Edge) -> Option<usize> {
        let node = self.graph.nodes.get(edge.from)?;
        let outputs = |node: &'g Node<'g>| node.arguments.iter().filter(|argument| argument.output);
        let (found, count) = match node.arguments.len() > FEW {
            true => (
                edge.value.and_then(|value| self.outputs.get(&(edge.from, value)).copied()),
                self.counts.get(&edge.from).copied().unwrap_or_default(),
            ),
            false => (outputs(node).position(|argument| Some(argument.value) == edge.value), outputs(node).count()),
        };
        Some(found.unwrap_or(count.saturating_sub(1)))
    }

    /// Returns the type and shape, or the value, that an edge carries; empty for a jump.
    pub(crate) fn text(&self, edge: &Edge) -> &'g str {
        let argument = self.graph.nodes.get(edge.to).zip(self.input(edge));
        argument.and_then(|(node, at)| node.arguments.get(at)).map_or("", |argument| &argument.text)
    }
}
