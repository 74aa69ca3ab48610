//! A graph in Graphviz's language.

use super::color;
use crate::inspect::{Ends, Graph, InstructionPlace, Node, NodeKind};
use crate::names::{is_deceptive, shortened};
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// A graph in Graphviz's language, DOT, written by its `Display` implementation.
///
/// ```
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pte = executorch_format::Pte::parse(&file)?;
/// for graph in executorch_format::Analysis::new(&pte).graphs() {
///     print!("{}", graph.dot());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dot<'g>(&'g Graph<'g>);

impl<'t> Graph<'t> {
    /// Returns the graph in Graphviz's language.
    pub fn dot(&self) -> Dot<'_> {
        Dot(self)
    }
}

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(graph) = self;
        writeln!(f, "digraph {} {{", Quoted(graph.method))?;
        writeln!(
            f,
            "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\", fontsize=11];"
        )?;
        writeln!(f, "  edge [fontname=\"sans-serif\", fontsize=9, color=\"#667788\"];")?;
        for (index, node) in graph.nodes.iter().enumerate() {
            let (label, color, shape) = (Quoted(&node.label), color(node.kind), shape(node.kind));
            writeln!(f, "  n{index} [label={label}, fillcolor=\"{color}\"{shape}];")?;
        }
        // Neighbours of the same call are in a separate box.
        let numbered: Vec<_> = graph.nodes.iter().enumerate().collect();
        for (number, run) in
            numbered.chunk_by(|(_, left), (_, right)| call(left).is_some() && call(left) == call(right)).enumerate()
        {
            let Some((_, (delegate, _))) = run.first().and_then(|(at, node)| Some((at, call(node)?))) else { continue };
            write!(
                f,
                "  subgraph cluster{number} {{ label={}; style=rounded; color=\"#8c7fc0\"; fontsize=10;",
                Quoted(delegate)
            )?;
            run.iter().try_for_each(|(at, _)| write!(f, " n{at};"))?;
            writeln!(f, " }}")?;
        }
        let ends = Ends::of(graph);
        for edge in &graph.edges {
            write!(f, "  n{} -> n{}", edge.from, edge.to)?;
            match edge.value {
                Some(_) if edge.view => {
                    writeln!(f, " [style=dotted, label={}];", Quoted(ends.text(edge)))?;
                }
                Some(_) => writeln!(f, " [label={}];", Quoted(ends.text(edge)))?,
                None => writeln!(f, " [style=dashed, constraint=false];")?,
            }
        }
        f.write_str("}\n")
    }
}

/// Returns the backend and the instruction of a node inside a delegate.
fn call<'t>(node: &Node<'t>) -> Option<(&'t str, Option<InstructionPlace>)> {
    node.delegate.map(|delegate| (delegate, node.instruction))
}

/// Returns the shape of a kind of node, so that kinds differ not only in colour. Nodes inside delegates are in a separate box.
fn shape(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Input | NodeKind::Output => ", shape=ellipse",
        NodeKind::State => ", shape=cylinder",
        NodeKind::Delegate => ", peripheries=2",
        NodeKind::Move | NodeKind::Jump => ", shape=hexagon, style=filled",
        NodeKind::Unknown => ", style=\"filled,dashed\"",
        NodeKind::Kernel | NodeKind::Inside | NodeKind::Block => "",
    }
}

/// A quoted string in which backslashes are literal. A long string is cut, because Graphviz accepts at most 16,384 bytes.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in shortened(self.0).chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                _ if is_deceptive(character) => write!(f, "\\{}", character.escape_unicode())?,
                _ => f.write_char(character)?,
            }
        }
        f.write_char('"')
    }
}
