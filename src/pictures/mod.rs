//! Pictures of the answers of [`inspect`](crate::inspect): a graph, planned memory or a trace as SVG, and graphs for Graphviz (DOT) and for Google's
//! Model Explorer (JSON).
//!
//! A picture is text, written by its `Display` implementation:
//!
//! ```
//! # fn main() -> executorch_format::Result<()> {
//! let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
//! let pte = executorch_format::Pte::parse(&file)?;
//! let memory = executorch_format::Analysis::new(&pte).memory();
//! let picture = memory.svg("multi_method.pte").to_string();
//! assert!(picture.starts_with("<svg "));
//! # Ok(())
//! # }
//! ```

mod dot;
mod explorer;
mod graph;
mod memory;
mod node_data;
mod timeline;
mod xml;

pub use dot::Dot;
pub use explorer::model_explorer;
pub use graph::GraphSvg;
pub use memory::MemorySvg;
pub use node_data::node_data;
pub use timeline::TimelineSvg;

use crate::inspect::NodeKind;

/// A style of an SVG: inverts light and dark but keeps hues, if the reader prefers dark colours.
const DARK: &str = "@media (prefers-color-scheme:dark){svg{filter:invert(.9) hue-rotate(180deg)}}";

/// Returns the fill colour of a kind of node in every picture.
fn color(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Input | NodeKind::Output => "#d8ead2",
        NodeKind::State => "#fbe5cc",
        NodeKind::Delegate | NodeKind::Inside => "#d9d3ec",
        NodeKind::Move | NodeKind::Jump => "#f6d3d3",
        NodeKind::Kernel => "#dce9f7",
        NodeKind::Unknown => "#dddddd",
        NodeKind::Block => "#e2e6f6",
    }
}
