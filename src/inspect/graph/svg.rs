//! A graph as a picture.

use super::dot::color;
use super::layout::{CHARACTERS, Layout, Placed};
use super::{Edge, Graph, Node};
use crate::inspect::markup::Xml;
use alloc::{collections::BTreeMap, format, string::String, string::ToString, vec::Vec};
use core::fmt;

/// A graph as a picture, SVG, as its `Display` writes it.
///
/// Each node shows its operator and what it gives; a pointer on it shows all arguments. An edge that would cross many layers is
/// named in the node that takes it.
#[derive(Clone, Debug)]
pub struct Svg<'g> {
    graph: &'g Graph<'g>,
    layout: Layout,
}

impl<'t> Graph<'t> {
    /// The graph as a picture.
    pub fn svg(&self) -> Svg<'_> {
        Svg { graph: self, layout: self.layout() }
    }
}

/// Around the picture.
const MARGIN: f64 = 24.0;

/// Above the picture, for its title.
const TITLE: f64 = 28.0;

impl fmt::Display for Svg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { graph, layout } = self;
        let (width, height) = (layout.width.max(360.0) + 2.0 * MARGIN, layout.height + 2.0 * MARGIN + TITLE);
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="sans-serif" font-size="12">"#
        )?;
        writeln!(f, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
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
        writeln!(f, r##"<g transform="translate({MARGIN} {})">"##, MARGIN + TITLE)?;
        let is_far = |index: &usize| layout.far.binary_search(index).is_ok();
        for (_, edge) in graph.edges.iter().enumerate().filter(|(index, _)| !is_far(index)) {
            self.edge(f, edge)?;
        }
        let mut from: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for edge in layout.far.iter().filter_map(|index| graph.edges.get(*index)) {
            let labels = graph.nodes.get(edge.from).map(|node| node.label.as_str());
            from.entry(edge.to).or_default().extend(labels);
        }
        for (index, (node, place)) in graph.nodes.iter().zip(&layout.nodes).enumerate() {
            self.node(f, node, place, from.get(&index).map(Vec::as_slice).unwrap_or_default())?;
        }
        writeln!(f, "</g>\n</svg>")
    }
}

impl Svg<'_> {
    fn edge(&self, f: &mut fmt::Formatter<'_>, edge: &Edge) -> fmt::Result {
        let (Some(from), Some(to)) = (self.layout.nodes.get(edge.from), self.layout.nodes.get(edge.to)) else {
            return Ok(());
        };
        let (x0, y0) = (from.x + from.width / 2.0, from.y + from.height);
        let (x1, y1) = (to.x + to.width / 2.0, to.y);
        let bend = ((y1 - y0) / 2.0).max(12.0);
        let dashes = if edge.value.is_none() { r#" stroke-dasharray="4 3""# } else { "" };
        write!(
            f,
            r##"<path d="M{x0:.0} {y0:.0}C{x0:.0} {:.0} {x1:.0} {:.0} {x1:.0} {y1:.0}" fill="none" stroke="#667788" marker-end="url(#to)"{dashes}>"##,
            y0 + bend,
            y1 - bend
        )?;
        writeln!(f, "<title>{}</title></path>", Xml(self.graph.edge_text(edge)))
    }

    fn node(&self, f: &mut fmt::Formatter<'_>, node: &Node<'_>, place: &Placed, from: &[&str]) -> fmt::Result {
        let Placed { x, y, width, height } = place;
        writeln!(
            f,
            r##"<g><rect x="{x:.0}" y="{y:.0}" width="{width:.0}" height="{height:.0}" rx="5" fill="{}" stroke="#667788"/>"##,
            color(node.kind)
        )?;
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
        if !from.is_empty() {
            let text = cut(&format!("also from {}", from.join(", ")));
            writeln!(
                f,
                r##"<text x="{middle:.0}" y="{:.0}" text-anchor="middle" fill="#8a5a00" font-size="10">{}</text>"##,
                y + 46.0,
                Xml(&text)
            )?;
        }
        write!(f, "<title>{}", Xml(&node.label))?;
        if let Some(delegate) = node.delegate {
            write!(f, ", inside {}", Xml(delegate))?;
        }
        for argument in &node.arguments {
            let arrow = if argument.output { "→" } else { "←" };
            let name = argument.name.map(|name| format!("{name} ")).unwrap_or_default();
            write!(f, "\n{arrow} {name}{} {}", argument.value_name(), Xml(&argument.text))?;
            if let Some(place) = &argument.place {
                write!(f, ", {}", Xml(&place.to_string()))?;
            }
        }
        writeln!(f, "</title></g>")
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => text.get(..end).unwrap_or_default().chars().chain(['…']).collect(),
        None => text.into(),
    }
}
