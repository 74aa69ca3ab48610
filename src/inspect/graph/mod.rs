//! A method as a graph: edges from the instruction that writes a value to the instructions that read it.

mod ends;
mod flow;
mod groups;
mod inside;
mod layers;
mod layout;
mod numbers;

pub(crate) use ends::Ends;
pub use groups::{GroupKind, NodeGroup, Outline};
pub(crate) use layout::{CHARACTERS, LINE, MAX_WEIGHTS};
pub use layout::{EdgeRoute, GraphLayout, NodeBox};
pub use numbers::NodeMeasure;

use super::{InsideSetting, MethodNames, NameText, NamedBy, TensorPlace};
use crate::analysis::Analysis;
use crate::names::short;
use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor};
use alloc::{borrow::Cow, format, string::String, sync::Arc, vec::Vec};

/// A method as a graph.
///
/// Every path through the instructions is considered: an edge comes from each instruction that may have been the last to write the
/// value's bytes, also through a view. A view has another edge from the instruction that made it.
///
/// ```
/// use executorch_format::{Analysis, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pte = Pte::parse(&file)?;
/// for graph in Analysis::new(&pte).graphs() {
///     for edge in &graph.edges {
///         println!("{} -> {}", graph.nodes[edge.from].label, graph.nodes[edge.to].label);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Graph<'t> {
    /// The method's name.
    pub method: &'t str,
    /// The nodes: inputs and states first, then instructions in order, then outputs.
    pub nodes: Vec<Node<'t>>,
    /// The edges. An edge with a value goes from an earlier node to a later one, except from one iteration of a loop to the next.
    pub edges: Vec<Edge>,
    /// The reason why some edges may be missing or wrong, or why there are no nodes: see [`Graph::MAX_NODES`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<&'static str>,
}

/// A node: an instruction, or an origin or destination of values.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Node<'t> {
    /// The kind of node.
    pub kind: NodeKind,
    /// The operator with its overload, the backend, or the kind and index of an input or output.
    pub label: String,
    /// The label of the instruction or of the node inside a delegate, such as `convolution.3`; for an input, a state or an output, the
    /// name of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<NameText<'t>>,
    /// The path of its module, such as `layers.0.conv`; empty for the model itself.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub module: Option<&'t str>,
    /// The backend of a node inside a delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<&'t str>,
    /// The instruction.
    #[serde(flatten)]
    pub instruction: Option<InstructionPlace>,
    /// The line of Python that it comes from, if the file or a record has it: `model.py:12 forward`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The values that it reads and writes, in the file's order.
    pub arguments: Vec<GraphArgument<'t>>,
    /// The other arguments of a node inside a delegate: numbers, lists and texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<InsideSetting>,
    /// The time that it took in one run, in ticks of a trace's clock: see [`Profile::add_times`](crate::inspect::Profile::add_times).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
}

/// The place of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InstructionPlace {
    /// Index into the method's chains.
    pub chain: usize,
    /// Index into the chain's instructions.
    pub instruction: usize,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum NodeKind {
    /// An input of the method.
    Input,
    /// A mutable tensor in its state before the first instruction.
    State,
    /// The call of a kernel.
    Kernel,
    /// The call of a delegate that is shown as one node.
    Delegate,
    /// A node inside a delegate. The nodes of a call have the same instruction.
    Inside,
    /// A copy of a value.
    Move,
    /// A jump if a value is false.
    Jump,
    /// An instruction of a newer schema.
    Unknown,
    /// An output of the method.
    Output,
    /// A group of nodes, in an outline of a graph.
    Block,
}

impl NodeKind {
    /// Returns the name of the kind, as serialized.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::State => "state",
            Self::Kernel => "kernel",
            Self::Delegate => "delegate",
            Self::Inside => "inside",
            Self::Move => "move",
            Self::Jump => "jump",
            Self::Unknown => "unknown",
            Self::Output => "output",
            Self::Block => "block",
        }
    }
}

/// A value that a node reads or writes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GraphArgument<'t> {
    /// Index into the method's values; for a value inside a delegate, -1 minus its id there.
    pub value: i32,
    /// The name, if the operator is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'static, str>>,
    /// The name of a tensor, such as `layers.0.conv.weight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor_name: Option<NameText<'t>>,
    /// The origin of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// A tensor's type and shape, or the value itself: `f32[1, 3]`, `2`, `[0, 1]`, `"gelu"`.
    ///
    /// Arguments with the same value share the text, because lists can be long and be arguments of many instructions.
    #[serde(serialize_with = "serialize_text")]
    #[cfg_attr(feature = "schemars", schemars(with = "String"))]
    pub text: Arc<str>,
    /// `true` if the instruction writes the value.
    pub output: bool,
    /// `true` for a weight: data in the file or in a `.ptd`, also inside a delegate.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub weight: bool,
    /// The place of a tensor's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<TensorPlace<'t>>,
    /// The size of a tensor's elements, in bytes.
    #[serde(skip)]
    byte_size: Option<u64>,
}

/// An edge from a node to another: a value, or a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Edge {
    /// Index of the source node.
    pub from: usize,
    /// Index of the destination node.
    pub to: usize,
    /// Index into the method's values, as in the arguments of the destination node; `None` for a jump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i32>,
    /// `true` if the edge comes from the instruction that made the value a view, whose bytes come from other nodes.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub view: bool,
}

/// The reason why a method has a graph without nodes.
const TOO_LARGE: &str = "the graphs of the program would have more than 100000 nodes";

pub(super) fn of_pte<'t>(analysis: &Analysis<'t>) -> Vec<Graph<'t>> {
    let pte = analysis.pte();
    let mut left = Graph::MAX_NODES;
    let mut graphs = Vec::new();
    let (opened, inside) = inside::opened(analysis);
    let nameless = MethodNames::default();
    for ((method, opened), inside) in pte.methods().iter().enumerate().zip(opened).zip(inside) {
        let (index, plan) = method;
        let names = analysis.answer_names().and_then(|names| names.methods.get(index)).unwrap_or(&nameless);
        if plan.is_constant() {
            continue;
        }
        let nodes = plan.inputs().len() + plan.instructions().count() + inside + plan.outputs().len();
        graphs.push(match left.checked_sub(nodes) {
            Some(rest) => {
                left = rest;
                flow::graph(pte, method, names, analysis.outputs(), opened)
            }
            None => Graph { method: plan.name(), incomplete: Some(TOO_LARGE), ..Graph::default() },
        });
    }
    graphs
}

fn serialize_text<S: serde::Serializer>(text: &Arc<str>, serializer: S) -> core::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

impl Node<'_> {
    /// Iterates over the weights that it takes.
    pub fn weights(&self) -> impl Iterator<Item = &GraphArgument<'_>> {
        self.arguments.iter().filter(|argument| argument.weight && !argument.output)
    }
}

impl GraphArgument<'_> {
    /// Formats a weight for pictures: `layers.0.conv.weight f32[8, 3, 3, 3]`, or with the name of the argument if its own is not known.
    pub fn weight_text(&self) -> String {
        let name = self.tensor_name.as_deref().filter(|_| self.named_by.is_some_and(NamedBy::is_given));
        match name.or(self.name.as_deref()) {
            Some(name) => format!("{} {}", short(name), self.text),
            None => String::from(&*self.text),
        }
    }

    /// Returns the size of a tensor's elements in bytes, or `None` if it is not a tensor or its size is not known.
    pub fn byte_size(&self) -> Option<u64> {
        self.byte_size
    }

    /// Formats the value's number for pictures: `%7`, or `%id 7` for a value inside a delegate.
    pub fn value_name(&self) -> String {
        if self.value < 0 { format!("%id {}", -1 - self.value) } else { format!("%{}", self.value) }
    }
}

impl Graph<'_> {
    /// The maximum number of nodes of all graphs of a program: instructions, nodes inside delegates, inputs and outputs. A method that
    /// would exceed it has a graph without nodes, with the reason in `incomplete`.
    pub const MAX_NODES: usize = 100_000;

    /// Returns the index in the payload of each node inside a delegate: the nodes of a call are consecutive, in the payload's order.
    pub(crate) fn payload_indices(&self) -> Vec<Option<usize>> {
        let (mut indices, mut next) = (Vec::with_capacity(self.nodes.len()), (None, 0));
        for node in &self.nodes {
            indices.push((node.kind == NodeKind::Inside).then(|| {
                let index = if next.0 == node.instruction { next.1 } else { 0 };
                next = (node.instruction, index + 1);
                index
            }));
        }
        indices
    }

    /// Returns the type and shape, or the value, that an edge carries; empty for a jump.
    pub fn edge_text(&self, edge: &Edge) -> &str {
        let taker = self.nodes.get(edge.to);
        let argument = taker.and_then(|node| node.arguments.iter().find(|argument| Some(argument.value) == edge.value));
        argument.map_or("", |argument| &argument.text)
    }
}

/// The maximum number of items of a list that a text shows.
const MAX_SHOWN: usize = 16;

/// Formats a value: a tensor's type and shape, or the value itself, cut if it is long.
pub(super) fn value_text(plan: &ExecutionPlan<'_>, index: i32) -> String {
    match plan.value(index).map(|value| &value.val) {
        Some(KernelTypes::Null(_)) => "None".into(),
        Some(KernelTypes::Int(value)) => format!("{}", value.int_val),
        Some(KernelTypes::Bool(value)) => format!("{}", value.bool_val),
        Some(KernelTypes::Double(value)) => format!("{:?}", value.double_val),
        Some(KernelTypes::Tensor(tensor)) => tensor_text(tensor),
        Some(KernelTypes::String(value)) => {
            let text: String = value.string_val().chars().take(80).collect();
            format!("{text:?}")
        }
        Some(KernelTypes::DoubleList(list)) => listed(list.items(), &|item| format!("{item:?}")),
        Some(KernelTypes::BoolList(list)) => listed(list.items(), &|item| format!("{item}")),
        Some(KernelTypes::IntList(list)) => {
            listed(list.items(), &|item| i32::try_from(*item).map_or("?".into(), |item| item_text(plan, item)))
        }
        Some(KernelTypes::TensorList(list)) => listed(list.items(), &|item| item_text(plan, *item)),
        Some(KernelTypes::OptionalTensorList(list)) => listed(list.items(), &|item| item_text(plan, *item)),
        _ => "?".into(),
    }
}

/// Formats an item of a list. A list inside a list, which no writer makes, becomes `?`.
fn item_text(plan: &ExecutionPlan<'_>, index: i32) -> String {
    match plan.value(index).map(|value| &value.val) {
        Some(KernelTypes::Int(_) | KernelTypes::Tensor(_) | KernelTypes::Null(_)) => value_text(plan, index),
        None if index == -1 => "None".into(),
        _ => "?".into(),
    }
}

fn tensor_text(tensor: &Tensor<'_>) -> String {
    if tensor.sizes().len() > MAX_SHOWN {
        return format!("a tensor of {} dimensions", tensor.sizes().len());
    }
    tensor.shape().to_string_with(tensor.shape_dynamism)
}

fn listed<T>(items: &[T], text: &dyn Fn(&T) -> String) -> String {
    let mut shown: Vec<String> = items.iter().take(MAX_SHOWN).map(text).collect();
    if items.len() > MAX_SHOWN {
        shown.push(format!("… {} more", items.len() - MAX_SHOWN));
    }
    format!("[{}]", shown.join(", "))
}
