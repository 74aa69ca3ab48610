//! Layered node placement from top to bottom, after Sugiyama. An edge that passes through layers has a place in each of them. Layers are sorted
//! until few edges cross; then all vertices move toward their neighbours, as far as the vertices beside them allow.

#![expect(
    clippy::indexing_slicing,
    reason = "nodes, vertices and layers are numbered in this module; edges are between nodes"
)]

use super::NodeBox;
use alloc::{vec, vec::Vec};
use core::ops::Range;

/// The number of rounds of sorting, and then of moving, downwards and upwards in turn.
const ROUNDS: usize = 24;

/// A connected part of a graph: its nodes and the points where edges pass through a layer, each with its place.
pub(super) type Part = Vec<(usize, NodeBox)>;

/// An edge, given by its nodes, with the numbers of its places in the layers that it passes through, from top to bottom.
pub(super) type Pass = ((usize, usize), Range<usize>);

/// Places nodes with these layers and sizes, each connected part with an origin of its own. Edges go to later nodes in later layers. Layers
/// are `gap` apart, and so are nodes. Numbers after those of the nodes stand for places where edges pass through layers, without width.
pub(super) fn place(
    layers: &[usize],
    sizes: &[(f64, f64)],
    edges: &[(usize, usize)],
    gap: f64,
) -> (Vec<Part>, Vec<Pass>) {
    let part_of = parts(layers.len(), edges);
    let (mut placed, mut passes) = (Vec::new(), Vec::new());
    let mut next = layers.len();
    for part in 0..layers.len() {
        let members: Vec<usize> = (0..layers.len()).filter(|node| part_of[*node] == part).collect();
        if !members.is_empty() {
            let mut drawing = Drawing { gap, ..Drawing::default() };
            drawing.add(&members, layers, sizes, edges.iter().filter(|(from, _)| part_of[*from] == part));
            drawing.sort();
            drawing.spread();
            let first = next;
            next += drawing.sizes.len() - members.len();
            let at = |vertex: usize| first + vertex - members.len();
            passes.extend(drawing.passes.iter().map(|(edge, passed)| (*edge, at(passed.start)..at(passed.end))));
            let numbers = members.iter().copied().chain(first..next);
            placed.push(numbers.zip(drawing.places()).collect());
        }
    }
    (placed, passes)
}

/// Returns the first node of each node's connected part.
fn parts(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut parts: Vec<usize> = (0..count).collect();
    fn first(parts: &mut [usize], mut node: usize) -> usize {
        while parts[node] != node {
            parts[node] = parts[parts[node]];
            node = parts[node];
        }
        node
    }
    for (from, to) in edges {
        let (from, to) = (first(&mut parts, *from), first(&mut parts, *to));
        parts[from.max(to)] = from.min(to);
    }
    (0..count).map(|node| first(&mut parts, node)).collect()
}

/// A connected part. Its nodes come first, then the places where edges pass through a layer.
#[derive(Default)]
struct Drawing {
    gap: f64,
    sizes: Vec<(f64, f64)>,
    /// The vertices of each layer, from left to right. Layers are listed from top to bottom.
    layers: Vec<Vec<usize>>,
    /// The neighbours of each vertex in the layer above and in the layer below.
    neighbours: Vec<[Vec<usize>; 2]>,
    /// The horizontal center of each vertex; while layers are sorted, its position in its layer.
    x: Vec<f64>,
    /// See [`chains`](Self::chains).
    chains: Vec<[usize; 2]>,
    /// The edges that pass through layers, with their vertices there.
    passes: Vec<Pass>,
}

impl Drawing {
    fn add<'e>(
        &mut self,
        members: &[usize],
        layers: &[usize],
        sizes: &[(f64, f64)],
        edges: impl Iterator<Item = &'e (usize, usize)>,
    ) {
        // Layers without any of these nodes are left out.
        let mut used: Vec<usize> = members.iter().map(|node| layers[*node]).collect();
        used.sort();
        used.dedup();
        let layer = |node: usize| used.partition_point(|layer| *layer < layers[node]);
        self.layers = vec![Vec::new(); used.len()];
        for node in members {
            self.vertex(layer(*node), sizes[*node]);
        }
        for (from, to) in edges {
            let index = |node: usize| members.partition_point(|member| *member < node);
            let (mut above, first) = (index(*from), self.sizes.len());
            for passed in layer(*from) + 1..layer(*to) {
                let vertex = self.vertex(passed, (0.0, 0.0));
                self.connect(above, vertex);
                above = vertex;
            }
            self.connect(above, index(*to));
            if above >= first {
                self.passes.push(((*from, *to), first..self.sizes.len()));
            }
        }
    }

    fn vertex(&mut self, layer: usize, size: (f64, f64)) -> usize {
        self.x.push(self.layers[layer].len() as f64);
        self.layers[layer].push(self.sizes.len());
        self.sizes.push(size);
        self.neighbours.push([Vec::new(), Vec::new()]);
        self.sizes.len() - 1
    }

    fn connect(&mut self, above: usize, below: usize) {
        self.neighbours[below][0].push(above);
        self.neighbours[above][1].push(below);
    }

    /// Returns `true` if the vertex is a place where an edge passes through a layer.
    fn is_passed(&self, vertex: usize) -> bool {
        self.sizes[vertex].0 == 0.0
    }

    /// Returns the mean place of the vertex's neighbours on one side, and the weight of that place; `None` without neighbours.
    /// An edge across several layers should be straight, and so should a long chain of nodes: short branches that join it are ignored.
    fn mean(&self, vertex: usize, side: usize) -> Option<(f64, f64)> {
        let neighbours = &self.neighbours[vertex][side];
        let is_among_nodes = neighbours.iter().any(|other| !self.is_passed(*other));
        let kept = || neighbours.iter().copied().filter(|other| self.is_passed(*other) != is_among_nodes);
        let longest = kept().map(|other| self.chains[other][side]).max()?;
        let (mut sum, mut count) = (0.0, 0.0);
        for other in kept().filter(|other| self.chains[*other][side] * 2 >= longest) {
            sum += self.x[other];
            count += 1.0;
        }
        let weight = match (self.is_passed(vertex), is_among_nodes) {
            (true, false) => 4.0,
            (false, true) => 32.0,
            _ => 0.25,
        };
        // The chain on the other side counts too.
        Some((sum / count, weight * self.chains[vertex][1 - side] as f64))
    }

    /// Returns the number of layers of the longest path through the neighbours above and below each vertex.
    fn chains(&mut self) -> Vec<[usize; 2]> {
        let mut chains = vec![[1; 2]; self.sizes.len()];
        for side in [0, 1] {
            self.each_layer(side, |drawing, layer, side| {
                for vertex in layer.iter() {
                    let longest = drawing.neighbours[*vertex][side].iter().map(|other| chains[*other][side]);
                    chains[*vertex][side] = longest.fold(0, usize::max) + 1;
                }
            });
        }
        chains
    }

    /// Returns the mean place of all its neighbours on one side; `None` without neighbours.
    fn barycenter(&self, vertex: usize, side: usize) -> Option<f64> {
        let neighbours = &self.neighbours[vertex][side];
        let sum: f64 = neighbours.iter().map(|other| self.x[*other]).sum();
        (!neighbours.is_empty()).then(|| sum / neighbours.len() as f64)
    }

    /// Sorts the layers so that few edges cross: by the means of the layer above and of the layer below, in turn.
    fn sort(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for round in 0..ROUNDS {
            if best.0 == 0 {
                break;
            }
            self.each_layer(round % 2, |drawing, layer, side| {
                let place = |vertex: usize| drawing.barycenter(vertex, side).unwrap_or(drawing.x[vertex]);
                let mut sorted: Vec<(f64, usize)> = layer.iter().map(|vertex| (place(*vertex), *vertex)).collect();
                sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
                for (at, (_, vertex)) in sorted.iter().enumerate() {
                    layer[at] = *vertex;
                    drawing.x[*vertex] = at as f64;
                }
            });
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    /// Calls `change` for each layer, from the top (0) or from the bottom (1), with the side that was handled before.
    fn each_layer(&mut self, side: usize, mut change: impl FnMut(&mut Self, &mut Vec<usize>, usize)) {
        for step in 0..self.layers.len() {
            let at = if side == 0 { step } else { self.layers.len() - 1 - step };
            let mut layer = core::mem::take(&mut self.layers[at]);
            change(self, &mut layer, side);
            self.layers[at] = layer;
        }
    }

    /// Counts the pairs of edges that cross.
    fn crossings(&self) -> usize {
        let mut crossings = 0;
        for pair in self.layers.windows(2) {
            // Taken from left to right by their upper ends, each edge crosses the earlier edges that end further right. A Fenwick tree counts the
            // ends.
            let mut ended = vec![0; pair[1].len() + 1];
            let mut before = 0;
            for vertex in &pair[0] {
                let below = &self.neighbours[*vertex][1];
                for end in below {
                    let (mut at, mut left) = (self.x[*end] as usize + 1, 0);
                    while at > 0 {
                        left += ended[at];
                        at &= at - 1;
                    }
                    crossings += before - left;
                }
                for end in below {
                    let mut at = self.x[*end] as usize + 1;
                    while at < ended.len() {
                        ended[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                }
                before += below.len();
            }
        }
        crossings
    }

    /// Moves the vertices of each layer close to their neighbours.
    fn spread(&mut self) {
        for layer in &self.layers {
            let mut right = 0.0;
            for vertex in layer {
                let (width, _) = self.sizes[*vertex];
                self.x[*vertex] = right + width / 2.0;
                right += width + self.gap;
            }
        }
        self.chains = self.chains();
        // The last round goes down from the top: a chain ends below its start.
        for round in 0..ROUNDS {
            self.each_layer((round + 1) % 2, |drawing, layer, side| drawing.move_layer(layer, side));
        }
        self.each_layer(1, |drawing, layer, _| drawing.move_starts(layer));
    }

    /// Moves the vertices without neighbours above close to those below, as far as the vertices beside them allow.
    fn move_starts(&mut self, layer: &[usize]) {
        for (at, vertex) in layer.iter().enumerate().filter(|(_, vertex)| self.neighbours[**vertex][0].is_empty()) {
            let Some((place, _)) = self.mean(*vertex, 1) else { continue };
            let width = |other: usize| (self.sizes[other].0 + self.sizes[*vertex].0) / 2.0 + self.gap;
            let least = at.checked_sub(1).map_or(f64::NEG_INFINITY, |at| self.x[layer[at]] + width(layer[at]));
            let most = layer.get(at + 1).map_or(f64::INFINITY, |other| self.x[*other] - width(*other));
            self.x[*vertex] = place.min(most).max(least);
        }
    }

    /// Moves the vertices of a layer as close as possible to the means of their neighbours on a side. Vertices that are in each other's way
    /// form a block, which goes to the best place for all of them.
    fn move_layer(&mut self, layer: &[usize], side: usize) {
        // Blocks: the first vertex's distance from its place without a left neighbour, the total weight, and the number of vertices.
        let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
        let mut distances = Vec::new();
        let mut distance = 0.0;
        for (at, vertex) in layer.iter().enumerate() {
            let width = |vertex: usize| self.sizes[vertex].0;
            if let Some(before) = at.checked_sub(1) {
                distance += (width(layer[before]) + width(*vertex)) / 2.0 + self.gap;
            }
            distances.push(distance);
            let (place, weight) = self.mean(*vertex, side).unwrap_or((self.x[*vertex], 0.1));
            let mut block = (place - distance, weight, 1);
            while let Some(last) = blocks.last().copied().filter(|last| last.0 >= block.0) {
                blocks.pop();
                let weight = last.1 + block.1;
                block = ((last.0 * last.1 + block.0 * block.1) / weight, weight, last.2 + block.2);
            }
            blocks.push(block);
        }
        let places = blocks.iter().flat_map(|(place, _, count)| core::iter::repeat_n(*place, *count));
        for ((vertex, place), distance) in layer.iter().zip(places).zip(distances) {
            self.x[*vertex] = place + distance;
        }
    }

    /// Returns the places of all vertices.
    fn places(&self) -> Vec<NodeBox> {
        let mut places = vec![NodeBox::default(); self.sizes.len()];
        let mut top = 0.0;
        for layer in &self.layers {
            let highest = layer.iter().map(|vertex| self.sizes[*vertex].1).fold(0.0, f64::max);
            for vertex in layer {
                let (width, own) = self.sizes[*vertex];
                let height = if self.is_passed(*vertex) { highest } else { own };
                let (x, y) = (self.x[*vertex] - width / 2.0, top + (highest - height) / 2.0);
                places[*vertex] = NodeBox { x, y, width, height };
            }
            top += highest + self.gap;
        }
        places
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns the horizontal center of a node.
    fn x_of((parts, _): &(Vec<Part>, Vec<Pass>), node: usize) -> f64 {
        let (_, place) = parts.iter().flatten().find(|(other, _)| *other == node).unwrap();
        place.x + place.width / 2.0
    }

    #[test]
    fn avoidable_crossings_are_removed_and_nodes_do_not_overlap() {
        // 0 and 1 above 2 and 3, with crosswise edges, and 4 at the bottom.
        let edges = [(0, 3), (1, 2), (2, 4), (3, 4)];
        let placed = place(&[3, 3, 5, 5, 9], &[(50.0, 40.0); 5], &edges, 10.0);
        assert_eq!(placed.0.len(), 1);
        assert_eq!(x_of(&placed, 0) < x_of(&placed, 1), x_of(&placed, 3) < x_of(&placed, 2));
        assert!((x_of(&placed, 0) - x_of(&placed, 1)).abs() > 59.9);
        assert!((x_of(&placed, 4) * 2.0 - x_of(&placed, 2) - x_of(&placed, 3)).abs() < 1.0);
        let tops: Vec<f64> = placed.0[0].iter().map(|(_, place)| place.y).collect();
        assert_eq!(tops, [0.0, 0.0, 50.0, 50.0, 100.0]);
    }

    #[test]
    fn a_long_edge_is_straight_and_passes_beside_the_nodes_between() {
        let placed = place(&[0, 1, 2, 3], &[(50.0, 40.0); 4], &[(0, 1), (1, 2), (2, 3), (0, 3)], 10.0);
        assert_eq!(placed.1, [((0, 3), 4..6)]);
        assert!((x_of(&placed, 4) - x_of(&placed, 5)).abs() < 0.1);
        for (node, passed) in [(1, 4), (2, 5)] {
            assert!((x_of(&placed, node) - x_of(&placed, passed)).abs() > 34.9, "{placed:?}");
        }
    }

    #[test]
    fn a_chain_is_straight_whatever_joins_it() {
        // Nodes 0 to 9 are the chain. Each except the first also takes from a separate node, and the last also takes from the first.
        let count = 10;
        let layers: Vec<usize> = (0..count).chain(0..count - 1).collect();
        let chain = (1..count).map(|node| (node - 1, node));
        let joins = (1..count).map(|node| (count + node - 1, node));
        let edges: Vec<(usize, usize)> = chain.chain(joins).chain([(0, count - 1)]).collect();
        let placed = place(&layers, &vec![(50.0, 40.0); layers.len()], &edges, 10.0);
        // Near its start, the joining branch is as long as the chain.
        for node in 3..count {
            assert!((x_of(&placed, node) - x_of(&placed, 2)).abs() < 5.0, "{node}: {placed:?}");
            // The joining node is beside the previous node of the chain.
            assert!((x_of(&placed, count + node - 1) - x_of(&placed, node)).abs() < 75.0, "{node}: {placed:?}");
        }
    }

    #[test]
    fn parts_without_edges_between_them_are_apart() {
        let placed = place(&[0, 0, 1, 1, 1], &[(50.0, 40.0); 5], &[(0, 3), (1, 2)], 10.0);
        let members: Vec<Vec<usize>> =
            placed.0.iter().map(|part| part.iter().map(|(node, _)| *node).collect()).collect();
        assert_eq!(members, [vec![0, 3], vec![1, 2], vec![4]]);
        assert!(place(&[], &[], &[], 10.0).0.is_empty());
    }
}
