//! Graphs in the format of Google's Model Explorer, as defined by `graph_builder.py` of `ai-edge-model-explorer` 0.1.

use crate::inspect::GroupKind;
use crate::inspect::{Edge, Ends, Graph, GraphArgument, InsideSetting, Node};
use crate::names::{short, shortened};
use alloc::{borrow::Cow, format, string::String, string::ToString, vec, vec::Vec};
use serde::{Serialize, Serializer};

/// The graphs of a file.
#[derive(Serialize)]
struct ExplorerGraphs<'t> {
    /// The label in the list of graphs.
    label: String,
    /// A graph for each method.
    graphs: Vec<ExplorerGraph<'t>>,
}

/// A graph.
#[derive(Serialize)]
struct ExplorerGraph<'t> {
    /// The method's name.
    id: &'t str,
    /// The nodes, each written as an [`ExplorerNode`].
    #[serde(serialize_with = "nodes")]
    nodes: &'t Graph<'t>,
}

/// A node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplorerNode<'t> {
    /// The index of the node.
    id: String,
    /// The label of the node.
    label: &'t str,
    /// The enclosing layers, separated by slashes: the modules, or the repeated block if modules are not known, and the delegate for a node
    /// inside one.
    namespace: String,
    /// Further attributes.
    attrs: Vec<ExplorerPair<'t>>,
    /// The edges from the nodes that its inputs come from.
    incoming_edges: Vec<ExplorerEdge>,
    /// The attributes of its inputs.
    inputs_metadata: Vec<ExplorerMetadata<'t>>,
    /// The attributes of its outputs.
    outputs_metadata: Vec<ExplorerMetadata<'t>>,
}

/// The source of an input.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplorerEdge {
    /// The id of the source node.
    source_node_id: String,
    /// The id of the source node's output.
    source_node_output_id: String,
    /// The id of the input.
    target_node_input_id: String,
}

/// The attributes of an input or output.
#[derive(Serialize)]
struct ExplorerMetadata<'t> {
    /// The id of the input or output.
    id: String,
    /// The attributes.
    attrs: Vec<ExplorerPair<'t>>,
}

/// An attribute.
#[derive(Serialize)]
struct ExplorerPair<'t> {
    /// The name.
    key: Cow<'t, str>,
    /// The value.
    value: Cow<'t, str>,
}

/// Returns graphs in the format of Model Explorer, to be written as JSON. `label` is shown in its list of graphs: the file's name.
pub fn model_explorer<'g>(label: &str, graphs: &'g [Graph<'_>]) -> impl Serialize + use<'g> {
    ExplorerGraphs { label: label.into(), graphs: graphs.iter().map(explorer_graph).collect() }
}

fn explorer_graph<'g>(graph: &'g Graph<'_>) -> ExplorerGraph<'g> {
    ExplorerGraph { id: graph.method, nodes: graph }
}

/// Serializes the nodes one after another: all at once would take several times the memory of the graph.
fn nodes<S: Serializer>(graph: &&Graph<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut edges: Vec<&Edge> = graph.edges.iter().collect();
    edges.sort_by_key(|edge| edge.to);
    let mut rest = edges.as_slice();
    let (blocks, ends) = (blocks(graph), Ends::of(graph));
    serializer.collect_seq(graph.nodes.iter().zip(&blocks).enumerate().map(|(index, (node, block))| {
        let (own, after) = rest.split_at(rest.partition_point(|edge| edge.to <= index));
        rest = after;
        let mut node = explorer_node(index, node, block);
        node.incoming_edges = own.iter().filter_map(|edge| explorer_edge(&ends, edge)).collect();
        node
    }))
}

/// Returns the repeated block that contains each node. Empty texts if modules are known, which are better layers.
fn blocks(graph: &Graph<'_>) -> Vec<String> {
    let mut blocks = vec![String::new(); graph.nodes.len()];
    if graph.nodes.iter().all(|node| node.module.is_none()) {
        for group in graph.groups().into_iter().filter(|group| group.kind == GroupKind::Block) {
            blocks.iter_mut().skip(group.first).take(group.count).for_each(|block| block.clone_from(&group.label));
        }
    }
    blocks
}

fn explorer_edge(ends: &Ends<'_>, edge: &Edge) -> Option<ExplorerEdge> {
    Some(ExplorerEdge {
        source_node_id: edge.from.to_string(),
        source_node_output_id: ends.output(edge)?.to_string(),
        target_node_input_id: ends.input(edge).unwrap_or_default().to_string(),
    })
}

fn explorer_node<'g>(index: usize, node: &'g Node<'_>, block: &str) -> ExplorerNode<'g> {
    let mut attrs = vec![pair("kind", node.kind.name())];
    if let Some(place) = node.instruction {
        attrs.push(pair("instruction", format!("{} of chain {}", place.instruction, place.chain)));
    }
    attrs.extend(node.name.as_deref().map(|name| pair("name", shortened(name))));
    attrs.extend(node.module.map(|module| pair("module", shortened(module))));
    attrs.extend(node.settings.iter().map(setting_pair));
    attrs.extend(node.source.as_deref().map(|source| pair("source", source)));
    let side = |output: bool| {
        let arguments = node.arguments.iter().enumerate().filter(move |(_, argument)| argument.output == output);
        let numbered = arguments.enumerate();
        numbered
            .map(move |(number, (position, argument))| metadata(if output { number } else { position }, argument))
            .collect()
    };
    ExplorerNode {
        id: index.to_string(),
        label: &node.label,
        namespace: namespace(node, block),
        attrs,
        incoming_edges: Vec::new(),
        inputs_metadata: side(false),
        outputs_metadata: side(true),
    }
}

/// Returns the layers that contain a node, the outermost first.
fn namespace(node: &Node<'_>, block: &str) -> String {
    /// A longer path is cut, because many nodes can have it.
    const MAX_LAYERS: usize = 16;
    let modules = node.module.filter(|module| !module.is_empty()).map(short).unwrap_or_else(|| block.into());
    // A slash would start a nested layer.
    let mut layers: Vec<String> = modules.replace('/', "_").splitn(MAX_LAYERS, '.').map(String::from).collect();
    if let Some((delegate, place)) = node.delegate.zip(node.instruction) {
        layers.push(format!("{} {}.{}", short(delegate).replace('/', "_"), place.chain, place.instruction));
    }
    layers.retain(|layer| !layer.is_empty());
    layers.join("/")
}

fn metadata<'g>(id: usize, argument: &'g GraphArgument<'_>) -> ExplorerMetadata<'g> {
    let mut attrs = vec![pair("value", argument.value_name()), pair("tensor_shape", &*argument.text)];
    attrs.extend(argument.name.as_deref().map(|name| pair("name", name)));
    attrs.extend(argument.tensor_name.as_deref().map(|name| pair("tensor", shortened(name))));
    attrs.extend(argument.place.map(|place| pair("place", place.to_string())));
    ExplorerMetadata { id: id.to_string(), attrs }
}

fn pair<'g>(key: &'static str, value: impl Into<Cow<'g, str>>) -> ExplorerPair<'g> {
    ExplorerPair { key: key.into(), value: value.into() }
}

fn setting_pair(setting: &InsideSetting) -> ExplorerPair<'_> {
    ExplorerPair { key: (&*setting.name).into(), value: (&*setting.value).into() }
}
