//! Numbers for the nodes of graphs in the format of Google's Model Explorer, as defined by `node_data_builder.py` of `ai-edge-model-explorer` 0.1.

use crate::inspect::{Graph, NodeMeasure};
use alloc::{string::String, string::ToString, vec::Vec};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The numbers of the graphs of a file.
struct NodeData<'g> {
    measure: NodeMeasure,
    graphs: Vec<(&'g str, Vec<Option<f64>>)>,
}

/// The numbers of a graph.
#[derive(Serialize)]
struct GraphData<'g> {
    /// The number of each node, by the node's id.
    #[serde(serialize_with = "results")]
    results: &'g [Option<f64>],
    /// The name that Model Explorer shows.
    name: &'static str,
    /// The colours of the lowest and the highest number.
    gradient: [GradientItem; 2],
}

/// The colours at a place of a gradient.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GradientItem {
    /// 0 for the lowest number, 1 for the highest.
    stop: u8,
    bg_color: &'static str,
    text_color: &'static str,
}

/// A number.
#[derive(Serialize)]
struct NodeResult {
    value: f64,
}

/// Returns numbers of graphs as node data for Model Explorer, to be written as JSON: it colours the nodes of the graphs that
/// [`model_explorer`](super::model_explorer) returns. `numbers` has a number for each node of each graph, such as those of
/// [`Analysis::node_numbers`](crate::Analysis::node_numbers).
///
/// ```
/// use executorch_format::inspect::NodeMeasure;
/// use executorch_format::{Analysis, Pte, pictures};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = std::fs::read("tests/data/1.5.1/linear_xnnpack/linear_xnnpack.pte")?;
/// let pte = Pte::parse(&file)?;
/// let analysis = Analysis::new(&pte);
/// let graphs = analysis.graphs();
/// let numbers = analysis.node_numbers(&graphs, NodeMeasure::Macs);
/// let json = serde_json::to_value(pictures::node_data(NodeMeasure::Macs, &graphs, numbers))?;
/// assert_eq!(json["forward"]["results"]["1"]["value"], 40.0);
/// # Ok(())
/// # }
/// ```
pub fn node_data<'g>(
    measure: NodeMeasure,
    graphs: &'g [Graph<'_>],
    numbers: Vec<Vec<Option<f64>>>,
) -> impl Serialize + use<'g> {
    NodeData { measure, graphs: graphs.iter().map(|graph| graph.method).zip(numbers).collect() }
}

impl Serialize for NodeData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, low_is_bad) = match self.measure {
            NodeMeasure::Time => ("time in a run (ns)", false),
            NodeMeasure::Macs => ("multiply-accumulates", false),
            NodeMeasure::Size => ("weights (bytes)", false),
            NodeMeasure::Error => ("signal-to-noise ratio (dB)", true),
        };
        let colors = if low_is_bad { [STRONG, WEAK] } else { [WEAK, STRONG] };
        let mut map = serializer.serialize_map(Some(self.graphs.len()))?;
        for (method, results) in &self.graphs {
            let gradient = [0, 1].map(|stop| {
                let (bg_color, text_color) = if stop == 0 { colors[0] } else { colors[1] };
                GradientItem { stop, bg_color, text_color }
            });
            map.serialize_entry(method, &GraphData { results, name, gradient })?;
        }
        map.end()
    }
}

/// The background and text of the best number, and of the worst.
const WEAK: (&str, &str) = ("#fff5eb", "#22272e");
const STRONG: (&str, &str) = ("#b30000", "#ffffff");

fn results<S: Serializer>(results: &&[Option<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    let numbers = results.iter().enumerate().filter_map(|(index, number)| {
        // JSON has no infinite numbers.
        let value = number.filter(|number| number.is_finite())?;
        Some((index.to_string(), NodeResult { value }))
    });
    serializer.collect_map::<String, NodeResult, _>(numbers)
}
