//! Graph layout for pictures, in layers from top to bottom.
//!
//! Layout time grows faster than the graph, so a large graph is cut into bands of some hundred nodes, one below the other. An edge that
//! passes through many layers is not drawn; instead, the node that it goes to names its source. A picture of a transformer would otherwise be
//! black with the edges from its inputs to each of its blocks.

use super::{
    Edge, Graph,
    layers::{Part, Pass, place},
};
use crate::keyed::{Keyed, sort_by, sort_by_key};
use alloc::{vec, vec::Vec};

/// A graph layout. Lengths are pixels of the unscaled picture.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    fn route(&self, from: usize, to: usize, passed: &[NodeBox]) -> Option<EdgeRoute> {
        let (start, end) = (self.nodes.get(from)?, self.nodes.get(to)?);
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut bottom = start.y + start.height;
        for place in passed {
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
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        let top = |node: usize| self.nodes.get(node).map_or(0.0, |place| place.y);
        sort_by(&mut order, |one, other| top(*one).total_cmp(&top(*other)));
        // The nodes of each column, and the top of the column.
        let mut parts: Vec<(f64, Vec<usize>)> = Vec::new();
        let mut bottom = f64::NEG_INFINITY;
        for node in order {
            let Some(place) = self.nodes.get(node) else { continue };
            let end = place.y + place.height;
            match parts.last_mut() {
                // A node that starts below all others starts a new layer.
                Some((start, nodes)) if place.y < bottom || end - *start <= most => nodes.push(node),
                _ => parts.push((place.y, vec![node])),
            }
            bottom = bottom.max(end);
        }
        let (mut left, mut height) = (0.0, 0.0f64);
        for (start, nodes) in parts {
            let places = || nodes.iter().filter_map(|node| self.nodes.get(*node));
            let from = places().map(|place| place.x).fold(f64::INFINITY, f64::min);
            let to = places().map(|place| place.x + place.width).fold(f64::NEG_INFINITY, f64::max);
            for node in nodes {
                if let Some(place) = self.nodes.get_mut(node) {
                    (place.x, place.y) = (place.x - from + left, place.y - start);
                    height = height.max(place.y + place.height);
                }
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
        // Each node has a rank.
        let rank = |node: usize| ranks.get(node).copied().unwrap_or_default();
        // Edges are sorted.
        let mut takers = vec![0; self.nodes.len()];
        for edges in self.edges.chunk_by(|one, other| (one.from, one.to) == (other.from, other.to)) {
            if let Some(count) = edges.first().and_then(|edge| takers.get_mut(edge.from)) {
                *count += 1;
            }
        }
        let has_many = |node: usize| takers.get(node).is_some_and(|count| *count > MANY);
        let is_far = |edge: &Edge| {
            let layers = rank(edge.to).saturating_sub(rank(edge.from));
            edge.value.is_some() && layers > if has_many(edge.from) { NEAR } else { FAR }
        };
        let forward = |edge: &&Edge| edge.value.is_some() && edge.from < edge.to;
        let far: Vec<usize> =
            self.edges.iter().enumerate().filter(|(_, edge)| is_far(edge)).map(|(index, _)| index).collect();
        let mut layout =
            GraphLayout { nodes: vec![NodeBox::default(); self.nodes.len()], far, ..GraphLayout::default() };
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        sort_by_key(&mut order, |node| rank(*node));
        let mut band_of = vec![0; self.nodes.len()];
        let mut bands: Vec<Vec<usize>> = Vec::new();
        for layer in order.chunk_by(|one, other| rank(*one) == rank(*other)) {
            match bands.last_mut() {
                Some(band) if band.len() + layer.len() <= BAND => band.extend(layer),
                _ => bands.push(layer.to_vec()),
            }
            for node in layer {
                if let Some(band) = band_of.get_mut(*node) {
                    *band = bands.len() - 1;
                }
            }
        }
        let mut heights = vec![HEIGHT; self.nodes.len()];
        for edge in layout.far.iter().filter_map(|edge| self.edges.get(*edge)) {
            if let Some(height) = heights.get_mut(edge.to) {
                *height = HEIGHT + LINE;
            }
        }
        for (height, node) in heights.iter_mut().zip(&self.nodes) {
            *height += LINE * node.weights().take(MAX_WEIGHTS).count() as f64;
        }
        let mut edges: Vec<Vec<(usize, usize)>> = vec![Vec::new(); bands.len()];
        for edge in self.edges.iter().filter(forward).filter(|edge| !is_far(edge)) {
            let (from, to) = (band_of.get(edge.from), band_of.get(edge.to));
            if let Some(list) = from.filter(|_| from == to).and_then(|band| edges.get_mut(*band)) {
                if list.len() < BAND_EDGES {
                    list.push((edge.from, edge.to));
                }
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
                if let Some(place) = layout.nodes.get_mut(number) {
                    place.x += (layout.width - width) / 2.0;
                }
            }
        }
        layout.fold();
        for place in &mut layout.nodes {
            (place.x, place.y) = (place.x.round(), place.y.round());
        }
        let places = layout.nodes.split_off(self.nodes.len());
        for ((from, to), passed) in passes {
            let passed = passed.start.saturating_sub(self.nodes.len())..passed.end.saturating_sub(self.nodes.len());
            layout.routes.extend(layout.route(from, to, places.get(passed).unwrap_or_default()));
        }
        sort_by_key(&mut layout.routes, |route| (route.from, route.to));
        layout
    }

    /// Places the nodes of a band, and the points where its edges pass through layers, below everything placed before. Returns the band's
    /// width and the numbers of its places.
    fn place_band(
        &self,
        band: &[usize],
        ranks: &[usize],
        edges: &[(usize, usize)],
        heights: &[f64],
        layout: &mut GraphLayout,
        passes: &mut Vec<Pass>,
    ) -> (f64, Vec<usize>) {
        let size = |node: usize| (self.node_width(node), heights.get(node).copied().unwrap_or(HEIGHT));
        let first = layout.nodes.len();
        let mut parts: Vec<Part> = if band.len() > BAND || edges.is_empty() {
            // A single layer: side by side.
            let place = |node: usize| NodeBox { width: size(node).0, height: size(node).1, ..NodeBox::default() };
            band.iter().map(|node| vec![(*node, place(*node))]).collect()
        } else {
            let layers: Vec<usize> = band.iter().map(|node| ranks.get(*node).copied().unwrap_or_default()).collect();
            let sizes: Vec<(f64, f64)> = band.iter().map(|node| size(*node)).collect();
            // The position of each node in the band.
            let positions: Keyed<usize, usize> = band.iter().copied().zip(0..).collect();
            let position = |node: &usize| positions.get(node).copied();
            let edges: Vec<(usize, usize)> =
                edges.iter().filter_map(|(from, to)| Some((position(from)?, position(to)?))).collect();
            let (mut parts, passed) = place(&layers, &sizes, &edges, GAP);
            let number = |at: usize| band.get(at).copied().unwrap_or(first + at - band.len().min(at));
            for (at, _) in parts.iter_mut().flatten() {
                *at = number(*at);
            }
            for ((from, to), range) in passed {
                passes.push(((number(from), number(to)), number(range.start)..number(range.end)));
            }
            parts
        };
        // Sorted in the order of the method.
        sort_by_key(&mut parts, |part| part.iter().map(|(number, _)| *number).min());
        let top = layout.height;
        let (mut left, mut shelf_top, mut shelf_height, mut width) = (0.0, top, 0.0f64, 0.0f64);
        let mut numbers = Vec::new();
        for part in parts {
            let extent = |place: &NodeBox| (place.x, place.y, place.x + place.width, place.y + place.height);
            let around = part
                .iter()
                .map(|(_, place)| extent(place))
                .reduce(|one, other| (one.0.min(other.0), one.1.min(other.1), one.2.max(other.2), one.3.max(other.3)));
            // Each part has a node.
            let (x0, y0, x1, y1) = around.unwrap_or_default();
            if left > 0.0 && left + x1 - x0 > SHELF {
                (left, shelf_top, shelf_height) = (0.0, shelf_top + shelf_height + GAP, 0.0);
            }
            for (number, place) in part {
                if number >= layout.nodes.len() {
                    layout.nodes.resize(number + 1, NodeBox::default());
                }
                if let Some(own) = layout.nodes.get_mut(number) {
                    *own = NodeBox { x: place.x - x0 + left, y: place.y - y0 + shelf_top, ..place };
                }
                numbers.push(number);
            }
            left += x1 - x0 + GAP;
            width = width.max(left - GAP);
            shelf_height = shelf_height.max(y1 - y0);
        }
        layout.height = shelf_top + shelf_height + GAP;
        (width, numbers)
    }

    fn node_width(&self, node: usize) -> f64 {
        let Some(node) = self.nodes.get(node) else { return 0.0 };
        // The line of a weight has smaller letters.
        let weights = node.weights().take(MAX_WEIGHTS).map(|weight| weight.weight_text().chars().count() * 5 / 6);
        let lines = [node.label.chars().count(), node.result().chars().count()].into_iter().chain(weights);
        let longest = lines.max().unwrap_or_default().clamp(8, CHARACTERS);
        longest as f64 * 7.0 + 18.0
    }
}

/// The maximum width of parts that are side by side without edges between them.
const SHELF: f64 = 1600.0;

impl super::Node<'_> {
    /// Returns the second line of a node: its first output, or its value if the node is an output of the method.
    pub fn result(&self) -> &str {
        let given = self.arguments.iter().find(|argument| argument.output).or(self.arguments.first());
        given.map_or("", |argument| &argument.text)
    }
}

/// Returns the layer of each node: just above the first node that takes its result.
fn ranks(graph: &Graph<'_>) -> Vec<usize> {
    let count = graph.nodes.len();
    let mut earliest = vec![0usize; count];
    let mut latest = vec![usize::MAX; count];
    let data = || graph.edges.iter().filter(|edge| edge.value.is_some() && edge.from < edge.to && edge.to < count);
    // Each node has a rank, and the edges in `data` are between nodes.
    let get = |ranks: &[usize], node: usize| ranks.get(node).copied().unwrap_or_default();
    // Edges are sorted by `from`, and `from` is always before `to`.
    for edge in data() {
        let rank = get(&earliest, edge.from) + 1;
        if let Some(place) = earliest.get_mut(edge.to) {
            *place = rank.max(*place);
        }
    }
    for edge in data().rev() {
        let taker = match get(&latest, edge.to) {
            usize::MAX => get(&earliest, edge.to),
            rank => rank,
        };
        if let Some(place) = latest.get_mut(edge.from) {
            *place = taker.saturating_sub(1).min(*place);
        }
    }
    earliest
        .iter()
        .zip(latest)
        .map(|(earliest, latest)| if latest == usize::MAX { *earliest } else { latest })
        .collect()
}
