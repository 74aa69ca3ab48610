//! Groups of nodes in a graph: the nodes of a delegate, and repeated parts such as the blocks of a transformer.

use super::{Edge, Ends, Graph, GraphArgument, GraphLayout, InstructionPlace, Node, NodeKind};
use crate::analysis::modules::common_module;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, vec, vec::Vec};
use core::cmp::Reverse;
use core::ops::Range;

/// A group of nodes: a range of the graph's list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NodeGroup {
    /// The kind of group.
    pub kind: GroupKind,
    /// The name of the group: `block 3 of 48`, or the backend.
    pub label: String,
    /// Index of the first node.
    pub first: usize,
    /// The number of nodes.
    pub count: usize,
}

/// The kind of a group of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum GroupKind {
    /// The nodes inside a delegate.
    Delegate,
    /// A repeated part: the same operators with results of the same shapes.
    Block,
    /// Tensors that keep their content from run to run, if there are many of them.
    States,
}

/// A graph with one node for each group.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outline<'t> {
    /// The graph.
    #[serde(flatten)]
    pub graph: Graph<'t>,
    /// The positions of its nodes.
    pub layout: GraphLayout,
    /// The range of nodes of the whole graph that each node stands for: the index of the first, and their number.
    pub members: Vec<(usize, usize)>,
}

/// The maximum number of tensors with kept content that do not form a group.
const STATES: usize = 4;

/// The minimum number of nodes of a repeated part.
const LEAST: usize = 4;

/// The minimum number of repetitions.
const TIMES: usize = 3;

/// The number of periods that are tried in a list of nodes: those at which the most nodes recur.
const PERIODS: usize = 16;

/// The maximum number of comparisons for each node to find repetitions, so that the time is linear.
const COMPARISONS: usize = 256;

impl Graph<'_> {
    /// Returns the groups of nodes, by their first node. A block may contain delegates, and a delegate may contain blocks.
    pub fn groups(&self) -> Vec<NodeGroup> {
        let mut groups = self.delegates();
        let is_state = |node: &Node<'_>| node.kind == NodeKind::State;
        let count = self.nodes.iter().filter(|node| is_state(node)).count();
        if let Some(first) = self.nodes.iter().position(is_state).filter(|_| count > STATES) {
            groups.push(NodeGroup { kind: GroupKind::States, label: "states".into(), first, count });
        }
        let computes = |node: &Node<'_>| !matches!(node.kind, NodeKind::Input | NodeKind::State | NodeKind::Output);
        let start = self.nodes.iter().position(computes).unwrap_or(self.nodes.len());
        let end = self.nodes.iter().rposition(computes).map_or(start, |last| last + 1);
        let mut numbers: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        let mut tokens = Vec::new();
        for node in self.nodes.iter().take(end).skip(start) {
            let next = numbers.len() as u32;
            tokens.push(*numbers.entry((&node.label, node.result())).or_insert(next));
        }
        let mut budget = tokens.len().saturating_mul(COMPARISONS);
        let mut found = Vec::new();
        repeats(&tokens, 0..tokens.len(), &mut budget, &mut found);
        for Repeat { first, period, times } in found {
            for number in 0..times {
                groups.push(NodeGroup {
                    kind: GroupKind::Block,
                    label: format!("block {} of {times}", number + 1),
                    first: start + first + number * period,
                    count: period,
                });
            }
        }
        groups.sort_by_key(|group| (group.first, usize::MAX - group.count));
        groups
    }

    /// Returns a group for the nodes inside each delegate.
    fn delegates(&self) -> Vec<NodeGroup> {
        let mut groups: Vec<NodeGroup> = Vec::new();
        let mut last: Option<InstructionPlace> = None;
        for (index, node) in self.nodes.iter().enumerate() {
            let place = node.instruction.filter(|_| node.kind == NodeKind::Inside);
            match groups.last_mut().filter(|_| place.is_some() && place == last) {
                Some(group) => group.count += 1,
                None if place.is_some() => groups.push(NodeGroup {
                    kind: GroupKind::Delegate,
                    // Every node inside a delegate has the delegate's name.
                    label: node.delegate.unwrap_or_default().into(),
                    first: index,
                    count: 1,
                }),
                None => {}
            }
            last = place;
        }
        groups.retain(|group| group.count > 1);
        groups
    }
}

impl<'t> Graph<'t> {
    /// Returns the graph with one node for each block, for each delegate outside blocks, and for the states; `None` without groups.
    #[expect(
        clippy::indexing_slicing,
        reason = "`chosen` has an item for each node; `units` are indices of the outline's nodes"
    )]
    pub fn outline(&self, groups: &[NodeGroup]) -> Option<Outline<'t>> {
        let mut chosen: Vec<Option<&NodeGroup>> = vec![None; self.nodes.len()];
        for kind in [GroupKind::Block, GroupKind::Delegate, GroupKind::States] {
            for group in groups.iter().filter(|group| group.kind == kind) {
                let places = chosen.get_mut(group.first..group.first.saturating_add(group.count))?;
                // A delegate that is only partly in a block keeps its nodes.
                if places.iter().all(Option::is_none) {
                    places.fill(Some(group));
                }
            }
        }
        let mut members: Vec<(usize, usize)> = Vec::new();
        let mut units = Vec::with_capacity(self.nodes.len());
        for (index, group) in chosen.iter().enumerate() {
            match members.last_mut().filter(|(first, _)| group.is_some_and(|group| group.first <= *first)) {
                Some((_, count)) => *count += 1,
                None => members.push((index, 1)),
            }
            units.push(members.len() - 1);
        }
        if members.len() == self.nodes.len() {
            return None;
        }
        let mut graph = Graph { method: self.method, incomplete: self.incomplete, ..Graph::default() };
        for (first, count) in &members {
            let node = &self.nodes[*first];
            graph.nodes.push(match chosen[*first] {
                Some(group) if *count > 1 => self.unit(node, group),
                _ => node.clone(),
            });
        }
        // Each argument of a group is added once, although many edges may carry one value.
        let (mut seen, ends) = (BTreeSet::new(), Ends::of(self));
        for edge in &self.edges {
            // A caller may have added edges without nodes at their ends.
            let (Some(&from), Some(&to)) = (units.get(edge.from), units.get(edge.to)) else { continue };
            if from == to {
                continue;
            }
            graph.edges.push(Edge { from, to, ..*edge });
            let text = ends.text(edge);
            for (index, output) in [(from, true), (to, false)] {
                let node = &mut graph.nodes[index];
                let Some(value) = edge.value.filter(|_| node.kind == NodeKind::Block) else { continue };
                if seen.insert((index, value, output)) {
                    node.arguments.push(GraphArgument {
                        value,
                        name: None,
                        tensor_name: None,
                        named_by: None,
                        text: text.into(),
                        output,
                        weight: false,
                        place: None,
                        byte_size: None,
                    });
                }
            }
        }
        graph.edges.sort();
        graph.edges.dedup();
        Some(Outline { layout: graph.layout(), graph, members })
    }

    /// Returns the node that stands for a group.
    fn unit(&self, first: &Node<'t>, group: &NodeGroup) -> Node<'t> {
        let nodes = self.nodes.iter().skip(group.first).take(group.count);
        let module = nodes.clone().filter_map(|node| node.module).reduce(common_module);
        Node {
            kind: NodeKind::Block,
            label: format!("{}: {} nodes", group.label, group.count),
            name: None,
            module,
            delegate: first.delegate,
            instruction: first.instruction,
            source: None,
            arguments: Vec::new(),
            settings: Vec::new(),
            time: nodes.filter_map(|node| node.time).reduce(|sum, time| sum + time),
        }
    }
}

/// A repetition: the nodes `first..first + period` occur `times` times, one after another.
struct Repeat {
    first: usize,
    period: usize,
    times: usize,
}

/// Finds repetitions: first the repetition that covers the most nodes, then others before and after it.
#[expect(clippy::indexing_slicing, reason = "each range is a part of the first, which is that of all tokens")]
fn repeats(tokens: &[u32], range: Range<usize>, budget: &mut usize, found: &mut Vec<Repeat>) {
    let mut ranges = vec![range];
    while let Some(range) = ranges.pop() {
        let Some(best) = best(&tokens[range.clone()], budget) else { continue };
        let (start, end) = (range.start + best.first, range.start + best.first + best.period * best.times);
        ranges.push(range.start..start);
        ranges.push(end..range.end);
        found.push(Repeat { first: start, ..best });
    }
}

/// Returns the repetition that covers the most nodes, with the shortest period if there are several.
fn best(tokens: &[u32], budget: &mut usize) -> Option<Repeat> {
    let mut best: Option<Repeat> = None;
    for period in periods(tokens) {
        *budget = budget.checked_sub(tokens.len())?;
        let mut run = 0;
        let equal = tokens.iter().zip(tokens.iter().skip(period)).map(|(left, right)| left == right);
        for (index, equal) in equal.chain([false]).enumerate() {
            if equal {
                run += 1;
                continue;
            }
            let times = run / period + 1;
            let covered = best.as_ref().map_or(0, |best| best.period * best.times);
            // A longer period that covers about as much consists of several blocks.
            if times >= TIMES && period * times > covered + covered / 8 {
                best = Some(Repeat { first: index - run, period, times });
            }
            run = 0;
        }
    }
    best
}

/// Returns the periods that a repetition most likely has, the shortest first: the most frequent distances from [`LEAST`] nodes in a row to
/// the same ones before.
fn periods(tokens: &[u32]) -> Vec<usize> {
    let mut last: BTreeMap<&[u32], usize> = BTreeMap::new();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, window) in tokens.windows(LEAST).enumerate() {
        let Some(before) = last.insert(window, index) else { continue };
        // A shorter period is tried as the blocks that it forms.
        let distance = index - before;
        let period = distance * LEAST.div_ceil(distance);
        if period <= tokens.len() / TIMES {
            *counts.entry(period).or_insert(0) += 1;
        }
    }
    let mut periods: Vec<_> = counts.into_iter().map(|(period, count)| (Reverse(count), period)).collect();
    periods.sort_unstable();
    let mut periods: Vec<_> = periods.into_iter().take(PERIODS).map(|(_, period)| period).collect();
    periods.sort_unstable();
    periods
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_found_once_with_their_shortest_period() {
        let mut tokens = vec![1, 2];
        for _ in 0..6 {
            tokens.extend([10, 11, 12, 13, 14]);
        }
        tokens.extend([3, 10, 11]);
        for _ in 0..3 {
            tokens.extend([20, 21, 22, 23]);
        }
        let mut found = Vec::new();
        repeats(&tokens, 0..tokens.len(), &mut 10_000, &mut found);
        let mut found: Vec<_> = found.iter().map(|repeat| (repeat.first, repeat.period, repeat.times)).collect();
        found.sort();
        assert_eq!(found, [(2, 5, 6), (35, 4, 3)]);
    }

    #[test]
    fn blocks_whose_nodes_recur_inside_and_shorter_periods_are_found() {
        // Each node occurs twice in a block.
        let twice: Vec<u32> = [1, 1, 2, 2].repeat(5);
        let short: Vec<u32> = [1, 2, 3].repeat(8);
        for (tokens, period) in [(twice, 4), (short, 6), (vec![7; 100], 4)] {
            let best = best(&tokens, &mut 10_000).map(|best| (best.first, best.period));
            assert_eq!(best, Some((0, period)));
        }
    }

    #[test]
    fn parts_that_occur_twice_are_not_repetitions_and_the_search_has_a_budget() {
        for tokens in [vec![1, 2, 3, 4, 5, 1, 2, 3, 4, 5], (0..40).collect(), Vec::new()] {
            assert!(best(&tokens, &mut 10_000).is_none());
        }
        assert!(best(&[7; 100], &mut 10).is_none(), "the budget");
    }
}
