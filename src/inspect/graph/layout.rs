//! Graph layout for pictures, in layers from top to bottom.
//!
//! Layout time grows faster than the graph, so a large graph is cut into bands of some hundred nodes, one below the other. An edge that
//! passes through many layers is not drawn; instead, the node that it goes to names its source. A picture of a transformer would otherwise be
//! black with the edges from its inputs to each of its blocks.

#![expect(
    clippy::indexing_slicing,
    reason = "nodes, their places and bands are numbered here; edges are those of `edges_between_nodes`"
)]

use super::{
    Edge, Graph, Node,
    layers::{Part, Pass, place},
};
use alloc::{vec, vec::Vec};
use core::ops::Range;

/// A graph layout. Lengths are pixels of the unscaled picture.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GraphLayout {
    /// The width of the whole picture.
    pub width: f64,
    /// The height of the whole picture.
    pub height: f64,
    /// The box of each node.
    pub nodes: Vec<NodeBox>,
    /// Indices of the edges that pass through too many layers to be drawn, in order. The nodes that they go to have room for a third line, which
    /// names the nodes that they come from. A node also has room for a line for each of its first four weights.
    pub far: Vec<usize>,
    /// The routes of edges that pass through layers. An edge that is not in this list goes straight to its node.
    pub routes: Vec<EdgeRoute>,
}

/// The route of all edges from one node to another, past the nodes between them.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EdgeRoute {
    /// Index of the node that the edges come from.
    pub from: usize,
    /// Index of the node that the edges go to.
    pub to: usize,
    /// The points from top to bottom, as distances from the left and from the top.
    pub points: Vec<(f64, f64)>,
}

/// The box of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NodeBox {
    /// The left side.
    pub x: f64,
    /// The upper side.
    pub y: f64,
    /// The size from left to right.
    pub width: f64,
    /// The size from top to bottom.
    pub height: f64,
}

/// A picture that is higher than `HIGH` and higher than `SLIM` times its width is cut into columns.
const HIGH: f64 = 2400.0;
const SLIM: f64 = 2.5;

/// The width of a picture in columns relative to its height, close to that of a window.
const WIDE: f64 = 1.6;

/// The space between columns.
const COLUMN_GAP: f64 = 90.0;

impl GraphLayout {
    /// Returns the route of an edge through its places in layers; `None` if it goes from one column to another.
    fn route(&self, (from, to): (usize, usize), passed: Range<usize>) -> Option<EdgeRoute> {
        let (start, end) = (self.nodes[from], self.nodes[to]);
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut bottom = start.y + start.height;
        for place in &self.nodes[passed] {
            if place.y < bottom {
                return None;
            }
            bottom = place.y + place.height;
            // A straight line keeps only its ends.
            if points.last().is_some_and(|last| last.0 == place.x) {
                points.pop();
            } else {
                points.push((place.x, place.y));
            }
            points.push((place.x, bottom));
        }
        (end.y >= bottom).then_some(EdgeRoute { from, to, points })
    }

    /// Cuts a high picture between layers into columns, from left to right.
    fn fold(&mut self) {
        if self.height <= HIGH.max(SLIM * self.width) {
            return;
        }
        let columns = (WIDE * self.height / (self.width + COLUMN_GAP)).sqrt().ceil().max(2.0);
        let most = (self.height / columns).max(HIGH / 2.0);
        let mut order: Vec<&mut NodeBox> = self.nodes.iter_mut().collect();
        order.sort_by(|left, right| left.y.total_cmp(&right.y));
        // The nodes of each column, and the top of the column.
        let mut parts: Vec<(f64, Vec<&mut NodeBox>)> = Vec::new();
        let mut bottom = f64::NEG_INFINITY;
        for place in order {
            let end = place.y + place.height;
            match parts.last_mut() {
                // A node that starts below all others starts a new layer.
                Some((start, places)) if place.y < bottom || end - *start <= most => places.push(place),
                _ => parts.push((place.y, vec![place])),
            }
            bottom = bottom.max(end);
        }
        let (mut left, mut height) = (0.0, 0.0f64);
        for (start, places) in parts {
            let from = places.iter().map(|place| place.x).fold(f64::INFINITY, f64::min);
            let to = places.iter().map(|place| place.x + place.width).fold(f64::NEG_INFINITY, f64::max);
            for place in places {
                (place.x, place.y) = (place.x - from + left, place.y - start);
                height = height.max(place.y + place.height);
            }
            left += to - from + COLUMN_GAP;
        }
        (self.width, self.height) = (left - COLUMN_GAP, height);
    }
}

/// An edge over more layers than this is not drawn.
const FAR: usize = 16;

/// The edges of a node with more than `MANY` takers are drawn over at most `NEAR` layers: for example, edges from a position to all blocks
/// of a transformer.
const MANY: usize = 8;
const NEAR: usize = 3;

/// A band ends before the layer that would take it over this number of nodes.
const BAND: usize = 300;

/// The maximum number of edges of a band that are used. A usual method has about one edge for each node.
const BAND_EDGES: usize = 4 * BAND;

/// The space between nodes.
const GAP: f64 = 28.0;

/// The height of a node with two lines.
const HEIGHT: f64 = 40.0;

/// The maximum number of weights that have a line in their node.
pub(crate) const MAX_WEIGHTS: usize = 4;

/// The height of a third line, which names the nodes whose edges are not drawn.
pub(crate) const LINE: f64 = 15.0;

/// The maximum width of a node, in characters.
pub(crate) const CHARACTERS: usize = 44;

impl Graph<'_> {
    /// Computes the positions of the nodes in a picture, from top to bottom.
    pub fn layout(&self) -> GraphLayout {
        let ranks = ranks(self);
        // Edges are sorted.
        let mut takers = vec![0; self.nodes.len()];
        let mut last = None;
        for (_, Edge { from, to, .. }) in self.edges_between_nodes() {
            if last.replace((from, to)) != Some((from, to)) {
                takers[*from] += 1;
            }
        }
        let is_far = |edge: &Edge| {
            let layers = ranks[edge.to].saturating_sub(ranks[edge.from]);
            edge.value.is_some() && layers > if takers[edge.from] > MANY { NEAR } else { FAR }
        };
        // In a graph with edges in another order, a node may have a rank before those that it takes values from.
        let is_downward = |edge: &Edge| is_forward(edge) && ranks[edge.from] < ranks[edge.to];
        let far = self.edges_between_nodes().filter(|(_, edge)| is_far(edge)).map(|(index, _)| index).collect();
        let mut layout =
            GraphLayout { nodes: vec![NodeBox::default(); self.nodes.len()], far, ..GraphLayout::default() };
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|node| ranks[*node]);
        let mut bands: Vec<Vec<usize>> = Vec::new();
        for layer in order.chunk_by(|left, right| ranks[*left] == ranks[*right]) {
            match bands.last_mut() {
                Some(band) if band.len() + layer.len() <= BAND => band.extend(layer),
                _ => bands.push(layer.to_vec()),
            }
        }
        // The band of each node, and its position there.
        let mut band_of = vec![(0, 0); self.nodes.len()];
        for (number, band) in bands.iter().enumerate() {
            for (position, node) in band.iter().enumerate() {
                band_of[*node] = (number, position);
            }
        }
        let mut heights = vec![HEIGHT; self.nodes.len()];
        for edge in &layout.far {
            heights[self.edges[*edge].to] = HEIGHT + LINE;
        }
        for (height, node) in heights.iter_mut().zip(&self.nodes) {
            *height += LINE * node.weights().take(MAX_WEIGHTS).count() as f64;
        }
        let mut edges: Vec<Vec<(usize, usize)>> = vec![Vec::new(); bands.len()];
        for (_, edge) in self.edges_between_nodes().filter(|(_, edge)| is_downward(edge) && !is_far(edge)) {
            let ((band, from), (other, to)) = (band_of[edge.from], band_of[edge.to]);
            if band == other && edges[band].len() < BAND_EDGES {
                edges[band].push((from, to));
            }
        }
        // After the nodes, `layout.nodes` has the places where edges pass through layers, until all of them have their final position.
        let mut passes = Vec::new();
        let mut placed = Vec::new();
        for (band, mut edges) in bands.iter().zip(edges) {
            edges.dedup();
            placed.push(self.place_band(band, &ranks, &edges, &heights, &mut layout, &mut passes));
        }
        layout.width = placed.iter().map(|(width, _)| *width).fold(0.0, f64::max);
        for (width, numbers) in placed {
            for number in numbers {
                layout.nodes[number].x += (layout.width - width) / 2.0;
            }
        }
        layout.fold();
        for place in &mut layout.nodes {
            (place.x, place.y) = (place.x.round(), place.y.round());
        }
        layout.routes = passes.into_iter().filter_map(|(edge, passed)| layout.route(edge, passed)).collect();
        layout.nodes.truncate(self.nodes.len());
        layout.routes.sort_by_key(|route| (route.from, route.to));
        layout
    }

    /// Iterates over the edges with their indices. Omits edges without a node at one of their ends, which only a caller can have added.
    fn edges_between_nodes(&self) -> impl DoubleEndedIterator<Item = (usize, &Edge)> {
        let count = self.nodes.len();
        self.edges.iter().enumerate().filter(move |(_, edge)| edge.from.max(edge.to) < count)
    }

    /// Places the nodes of a band, and the points where its edges pass through layers, below everything placed before. Edges are given by
    /// positions in the band. Returns the band's width and the numbers of its places.
    fn place_band(
        &self,
        band: &[usize],
        ranks: &[usize],
        edges: &[(usize, usize)],
        heights: &[f64],
        layout: &mut GraphLayout,
        passes: &mut Vec<Pass>,
    ) -> (f64, Vec<usize>) {
        let size = |node: usize| (width(&self.nodes[node]), heights[node]);
        let first = layout.nodes.len();
        let mut parts: Vec<Part> = if band.len() > BAND || edges.is_empty() {
            // A single layer: side by side.
            let place = |node: usize| NodeBox { width: size(node).0, height: size(node).1, ..NodeBox::default() };
            band.iter().map(|node| vec![(*node, place(*node))]).collect()
        } else {
            let layers: Vec<usize> = band.iter().map(|node| ranks[*node]).collect();
            let sizes: Vec<(f64, f64)> = band.iter().map(|node| size(*node)).collect();
            let (mut parts, passed) = place(&layers, &sizes, edges, GAP);
            let number = |at: usize| at.checked_sub(band.len()).map_or_else(|| band[at], |passed| first + passed);
            for (at, _) in parts.iter_mut().flatten() {
                *at = number(*at);
            }
            for ((from, to), range) in passed {
                passes.push(((number(from), number(to)), number(range.start)..number(range.end)));
            }
            parts
        };
        // Sorted in the order of the method.
        parts.sort_by_key(|part| part.iter().map(|(number, _)| *number).min());
        let top = layout.height;
        let (mut left, mut shelf_top, mut shelf_height, mut width) = (0.0, top, 0.0f64, 0.0f64);
        let mut numbers = Vec::new();
        for part in parts {
            let (mut x0, mut y0) = (f64::INFINITY, f64::INFINITY);
            let (mut x1, mut y1) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            for (_, place) in &part {
                (x0, y0) = (x0.min(place.x), y0.min(place.y));
                (x1, y1) = (x1.max(place.x + place.width), y1.max(place.y + place.height));
            }
            if left > 0.0 && left + x1 - x0 > SHELF {
                (left, shelf_top, shelf_height) = (0.0, shelf_top + shelf_height + GAP, 0.0);
            }
            for (number, place) in part {
                if number >= layout.nodes.len() {
                    layout.nodes.resize(number + 1, NodeBox::default());
                }
                layout.nodes[number] = NodeBox { x: place.x - x0 + left, y: place.y - y0 + shelf_top, ..place };
                numbers.push(number);
            }
            left += x1 - x0 + GAP;
            width = width.max(left - GAP);
            shelf_height = shelf_height.max(y1 - y0);
        }
        layout.height = shelf_top + shelf_height + GAP;
        (width, numbers)
    }
}

/// Returns the width of a node's box.
fn width(node: &Node<'_>) -> f64 {
    // The line of a weight has smaller letters.
    let weights = node.weights().take(MAX_WEIGHTS).map(|weight| weight.weight_text().chars().count() * 5 / 6);
    let lines = [node.label.chars().count(), node.result().chars().count()].into_iter().chain(weights);
    let longest = lines.fold(8, usize::max).min(CHARACTERS);
    longest as f64 * 7.0 + 18.0
}

/// The maximum width of parts that are side by side without edges between them.
const SHELF: f64 = 1600.0;

impl Node<'_> {
    /// Returns the second line of a node: its first output, or its value if the node is an output of the method.
    pub fn result(&self) -> &str {
        let given = self.arguments.iter().find(|argument| argument.output).or(self.arguments.first());
        given.map_or("", |argument| &argument.text)
    }
}

/// Returns `true` for a value that an earlier node gives to a later one.
fn is_forward(edge: &Edge) -> bool {
    edge.value.is_some() && edge.from < edge.to
}

/// Returns the layer of each node: just above the first node that takes its result.
fn ranks(graph: &Graph<'_>) -> Vec<usize> {
    let count = graph.nodes.len();
    let mut earliest = vec![0usize; count];
    let mut latest = vec![usize::MAX; count];
    let data = || graph.edges_between_nodes().map(|(_, edge)| edge).filter(|edge| is_forward(edge));
    // Edges are sorted by `from`, and `from` is always before `to`.
    for edge in data() {
        earliest[edge.to] = earliest[edge.to].max(earliest[edge.from] + 1);
    }
    for edge in data().rev() {
        let taker = match latest[edge.to] {
            usize::MAX => earliest[edge.to],
            rank => rank,
        };
        latest[edge.from] = latest[edge.from].min(taker.saturating_sub(1));
    }
    earliest
        .iter()
        .zip(latest)
        .map(|(earliest, latest)| if latest == usize::MAX { *earliest } else { latest })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::NodeKind;

    #[test]
    fn edges_that_a_caller_has_added_may_have_any_order_and_any_ends() {
        let node = Node {
            kind: NodeKind::Kernel,
            label: "aten::add".into(),
            name: None,
            module: None,
            delegate: None,
            instruction: None,
            source: None,
            arguments: Vec::new(),
            settings: Vec::new(),
            time: None,
        };
        let edge = |(from, to)| Edge { from, to, value: Some(0), view: false };
        let edges = [(1, 2), (0, 1), (2, 0), (0, 9), (9, 0), (usize::MAX, usize::MAX)].map(edge).to_vec();
        let graph = Graph { nodes: vec![node; 3], edges, ..Graph::default() };
        assert_eq!(graph.layout().nodes.len(), 3);
    }
}
