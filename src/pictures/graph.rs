//! A graph as SVG.

use super::xml::Xml;
use super::{DARK, color};
use crate::inspect::{CHARACTERS, Edge, Ends, Graph, GraphLayout, LINE, MAX_WEIGHTS, Node, NodeBox, NodeKind};
use crate::names::shortened;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, string::ToString, vec, vec::Vec};
use core::fmt;

/// A graph as an SVG picture, written by its `Display` implementation.
///
/// Each node shows its operator and its result, with all arguments in a tooltip. Kinds of nodes differ in shape and colour, as explained in
/// a legend. An edge that would pass through many layers is named in the node that takes it.
#[derive(Clone, Debug)]
pub struct GraphSvg<'g> {
    graph: &'g Graph<'g>,
    layout: GraphLayout,
}

impl<'t> Graph<'t> {
    /// Returns the graph as a picture.
    pub fn svg(&self) -> GraphSvg<'_> {
        GraphSvg { graph: self, layout: self.layout() }
    }
}

/// The margin around the picture.
const MARGIN: f64 = 24.0;

/// The height of the title above the picture.
const TITLE: f64 = 28.0;

/// The height of a line of the legend.
const ENTRY: f64 = 19.0;

/// The meanings of the kinds of nodes, in the order of the legend.
const MEANINGS: [(&[NodeKind], &str); 6] = [
    (&[NodeKind::Input, NodeKind::Output], "input or output of the method"),
    (&[NodeKind::Kernel], "operator of the runtime"),
    (&[NodeKind::Inside, NodeKind::Delegate], "runs in a backend"),
    (&[NodeKind::State], "tensor that keeps its content"),
    (&[NodeKind::Jump, NodeKind::Move], "jump (dashed: where to) or move (dotted: view)"),
    (&[NodeKind::Unknown], "unknown instruction"),
];

#[expect(clippy::indexing_slicing, reason = "the layout is the graph's own, with indices of edges between nodes")]
impl fmt::Display for GraphSvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { graph, layout } = self;
        let is_there = |kind: &NodeKind| graph.nodes.iter().any(|node| node.kind == *kind);
        let present: Vec<(NodeKind, &str)> = MEANINGS
            .iter()
            .filter_map(|(kinds, meaning)| Some((kinds.iter().copied().find(is_there)?, *meaning)))
            .collect();
        let top = MARGIN + TITLE + ENTRY * present.len() as f64;
        let (width, height) = (layout.width.max(360.0) + 2.0 * MARGIN, layout.height + top + MARGIN);
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="sans-serif" font-size="12">"#
        )?;
        writeln!(f, r##"<style>{DARK}</style><rect width="100%" height="100%" fill="#ffffff"/>"##)?;
        writeln!(
            f,
            r##"<marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" fill="#667788"/></marker>"##
        )?;
        writeln!(
            f,
            r##"<text x="{MARGIN}" y="{}" font-size="15" font-weight="bold" fill="#223344">method {}: {} nodes</text>"##,
            MARGIN + 6.0,
            Xml(graph.method),
            graph.nodes.len()
        )?;
        for (line, (kind, meaning)) in present.into_iter().enumerate() {
            let y = MARGIN + TITLE - 10.0 + ENTRY * line as f64;
            outline(f, kind, &NodeBox { x: MARGIN, y, width: 26.0, height: 14.0 })?;
            writeln!(
                f,
                r##"<text x="{}" y="{}" fill="#556677" font-size="11">{meaning}</text>"##,
                MARGIN + 34.0,
                y + 11.0
            )?;
        }
        writeln!(f, r##"<g transform="translate({MARGIN} {top})">"##)?;
        let is_far = |index: &usize| layout.far.binary_search(index).is_ok();
        let routes: BTreeMap<(usize, usize), &[Point]> =
            layout.routes.iter().map(|route| ((route.from, route.to), route.points.as_slice())).collect();
        let ends = Ends::of(graph);
        for (_, edge) in graph.edges.iter().enumerate().filter(|(index, _)| !is_far(index)) {
            self.edge(f, (edge, ends.text(edge)), routes.get(&(edge.from, edge.to)).copied().unwrap_or_default())?;
        }
        let mut from: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for edge in layout.far.iter().map(|index| &graph.edges[*index]) {
            from.entry(edge.to).or_default().push(&graph.nodes[edge.from].label);
        }
        for (index, (node, place)) in graph.nodes.iter().zip(&layout.nodes).enumerate() {
            self.node(f, node, place, from.get(&index).map(Vec::as_slice).unwrap_or_default())?;
        }
        writeln!(f, "</g>\n</svg>")
    }
}

impl GraphSvg<'_> {
    fn edge(&self, f: &mut fmt::Formatter<'_>, (edge, text): (&Edge, &str), route: &[Point]) -> fmt::Result {
        let (Some(from), Some(to)) = (self.layout.nodes.get(edge.from), self.layout.nodes.get(edge.to)) else {
            return Ok(());
        };
        let dashes = match edge {
            Edge { value: None, .. } => r#" stroke-dasharray="4 3""#,
            Edge { view: true, .. } => r#" stroke-dasharray="1 3""#,
            _ => "",
        };
        let ((x, y), curves) = path(from, route, to);
        write!(f, r##"<path d="M{x:.0} {y:.0}"##)?;
        for [first, second, end] in &curves {
            write!(f, "C{:.0} {:.0} {:.0} {:.0} {:.0} {:.0}", first.0, first.1, second.0, second.1, end.0, end.1)?;
        }
        write!(f, r##"" fill="none" stroke="#667788" marker-end="url(#to)"{dashes}>"##)?;
        writeln!(f, "<title>{}</title></path>", Xml(text))
    }

    fn node(&self, f: &mut fmt::Formatter<'_>, node: &Node<'_>, place: &NodeBox, from: &[&str]) -> fmt::Result {
        let NodeBox { x, y, width, .. } = place;
        write!(f, "<g>")?;
        outline(f, node.kind, place)?;
        let middle = x + width / 2.0;
        writeln!(
            f,
            r##"<text x="{middle:.0}" y="{:.0}" text-anchor="middle" fill="#223344">{}</text>"##,
            y + 17.0,
            Xml(&cut(&node.label))
        )?;
        writeln!(
            f,
            r##"<text x="{middle:.0}" y="{:.0}" text-anchor="middle" fill="#556677" font-size="11">{}</text>"##,
            y + 32.0,
            Xml(&cut(node.result()))
        )?;
        let mut line = y + 46.0;
        for weight in node.weights().take(MAX_WEIGHTS) {
            writeln!(
                f,
                r##"<text x="{middle:.0}" y="{line:.0}" text-anchor="middle" fill="#2f6d55" font-size="10">{}</text>"##,
                Xml(&cut(&weight.weight_text()))
            )?;
            line += LINE;
        }
        if !from.is_empty() {
            let text = cut(&format!("also from {}", from.join(", ")));
            writeln!(
                f,
                r##"<text x="{middle:.0}" y="{line:.0}" text-anchor="middle" fill="#8a5a00" font-size="10">{}</text>"##,
                Xml(&text)
            )?;
        }
        write!(f, "<title>{}", Xml(&node.label))?;
        if let Some(delegate) = node.delegate {
            write!(f, ", inside {}", Xml(delegate))?;
        }
        if let Some(name) = &node.name {
            write!(f, "\n{}", Xml(&shortened(name)))?;
        }
        if let Some(module) = node.module.filter(|module| !module.is_empty()) {
            write!(f, " in {}", Xml(&shortened(module)))?;
        }
        if let Some(source) = &node.source {
            write!(f, "\n{}", Xml(source))?;
        }
        for setting in &node.settings {
            write!(f, "\n{}: {}", Xml(&setting.name), Xml(&setting.value))?;
        }
        for argument in &node.arguments {
            let arrow = if argument.output { "→" } else { "←" };
            let name = argument.name.as_deref().map_or_else(String::new, |name| format!("{} ", Xml(name)));
            write!(f, "\n{arrow} {name}{} {}", argument.value_name(), Xml(&argument.text))?;
            if let Some(tensor) = &argument.tensor_name {
                write!(f, ", {}", Xml(&shortened(tensor)))?;
            }
            if let Some(place) = &argument.place {
                write!(f, ", {}", Xml(&place.to_string()))?;
            }
        }
        writeln!(f, "</title></g>")
    }
}

/// A point of the picture.
type Point = (f64, f64);

/// Returns curves from the lower side of a node past some points to the upper side of another node: the start, and two control points and
/// the end of each curve. A jump may go up or sideways: then its curve goes from side to side.
fn path(from: &NodeBox, route: &[Point], to: &NodeBox) -> (Point, Vec<[Point; 3]>) {
    let (x0, y0) = (from.x + from.width / 2.0, from.y + from.height);
    let (x1, y1) = (to.x + to.width / 2.0, to.y);
    if y1 > y0 {
        let mut last = (x0, y0);
        let curve = |to: Point| {
            let from = core::mem::replace(&mut last, to);
            // A straight part has no bend.
            let bend = if from.0 == to.0 { 0.0 } else { ((to.1 - from.1) / 2.0).max(12.0) };
            [(from.0, from.1 + bend), (to.0, to.1 - bend), to]
        };
        return ((x0, y0), route.iter().copied().chain([(x1, y1)]).map(curve).collect());
    }
    let (right0, right1) = (from.x + from.width, to.x + to.width);
    let (y0, y1) = (from.y + from.height / 2.0, to.y + to.height / 2.0);
    if right0 < to.x {
        ((right0, y0), vec![[(right0 + 20.0, y0), (to.x - 20.0, y1), (to.x, y1)]])
    } else if right1 < from.x {
        ((from.x, y0), vec![[(from.x - 20.0, y0), (right1 + 20.0, y1), (right1, y1)]])
    } else {
        let out = right0.max(right1) + 40.0;
        ((right0, y0), vec![[(out, y0), (out, y1), (right1, y1)]])
    }
}

/// Draws a node's shape.
fn outline(f: &mut fmt::Formatter<'_>, kind: NodeKind, place: &NodeBox) -> fmt::Result {
    let NodeBox { x, y, width, height } = *place;
    let (right, bottom, middle) = (x + width, y + height, y + height / 2.0);
    let style = format!(r##"fill="{}" stroke="#667788""##, color(kind));
    if matches!(kind, NodeKind::Move | NodeKind::Jump) {
        let tip = (height / 2.0).min(8.0);
        let (left, end) = (x + tip, right - tip);
        return writeln!(
            f,
            r#"<path d="M{left:.0} {y:.0}H{end:.0}L{right:.0} {middle:.0}L{end:.0} {bottom:.0}H{left:.0}L{x:.0} {middle:.0}z" {style}/>"#
        );
    }
    let (radius, dashes) = match kind {
        NodeKind::Input | NodeKind::Output => (height / 2.0, ""),
        NodeKind::State => (0.0, ""),
        NodeKind::Unknown => (5.0, r#" stroke-dasharray="3 2""#),
        _ => (5.0, ""),
    };
    writeln!(
        f,
        r#"<rect x="{x:.0}" y="{y:.0}" width="{width:.0}" height="{height:.0}" rx="{radius:.0}" {style}{dashes}/>"#
    )?;
    let inset = (height / 4.0).min(4.0);
    match kind {
        NodeKind::Delegate | NodeKind::Inside => writeln!(
            f,
            r##"<path d="M{:.0} {y:.0}V{bottom:.0}M{:.0} {y:.0}V{bottom:.0}" stroke="#667788"/>"##,
            x + inset,
            right - inset
        ),
        NodeKind::State => writeln!(
            f,
            r##"<path d="M{x:.0} {:.0}H{right:.0}M{x:.0} {:.0}H{right:.0}" stroke="#667788"/>"##,
            y + inset,
            bottom - inset
        ),
        _ => Ok(()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_begins_and_ends_at_the_sides_of_its_nodes() {
        let node = |x: f64, y: f64| NodeBox { x, y, width: 40.0, height: 20.0 };
        let ends = |from: NodeBox, to: NodeBox| match &path(&from, &[], &to) {
            (start, curves) if curves.len() == 1 => (*start, curves[0][2]),
            curves => panic!("{curves:?}"),
        };
        // Downwards, upwards to the right, to the left, and above each other.
        assert_eq!(ends(node(0.0, 0.0), node(100.0, 50.0)), ((20.0, 20.0), (120.0, 50.0)));
        assert_eq!(ends(node(0.0, 50.0), node(100.0, 0.0)), ((40.0, 60.0), (100.0, 10.0)));
        assert_eq!(ends(node(100.0, 50.0), node(0.0, 0.0)), ((100.0, 60.0), (40.0, 10.0)));
        assert_eq!(ends(node(10.0, 50.0), node(0.0, 0.0)), ((50.0, 60.0), (40.0, 10.0)));
        // A curve between nodes above each other leaves them beyond the wider one.
        let [out, back, _] = path(&node(10.0, 50.0), &[], &node(0.0, 0.0)).1[0];
        assert_eq!((out, back), ((90.0, 60.0), (90.0, 10.0)));
        // A curve with a route passes through its points, and is straight between points below each other.
        let route = [(90.0, 40.0), (90.0, 80.0)];
        let (start, curves) = path(&node(0.0, 0.0), &route, &node(0.0, 100.0));
        assert_eq!(start, (20.0, 20.0));
        assert_eq!(curves.iter().map(|[.., end]| *end).collect::<Vec<_>>(), [route[0], route[1], (20.0, 100.0)]);
        assert_eq!(curves[1], [route[0], route[1], route[1]]);
    }
}
