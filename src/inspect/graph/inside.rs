//! The nodes inside a delegate's payload, as nodes of the method's graph.

use super::flow::{Flow, Opened, line_text};
use super::{Edge, GraphArgument, InstructionPlace, Node, NodeKind};
use crate::analysis::Analysis;
use crate::delegate::{DelegateGraph, InsideArgument, Payload};
use crate::inspect::{Name, NameText, NamedBy};
use alloc::collections::BTreeMap;
use alloc::{string::ToString, sync::Arc, vec, vec::Vec};

/// The graph of a delegate, and what names of its values need.
#[derive(Clone, Copy)]
pub(super) struct Inside<'o, 't> {
    graph: &'o DelegateGraph,
    payload: Option<&'o Payload<'t>>,
}

/// Returns the graphs of delegates, for each method by the delegate's index, and the number of their nodes.
#[expect(clippy::indexing_slicing, reason = "payloads have the indices of this program's methods")]
pub(super) fn opened<'o, 't>(analysis: &'o Analysis<'t>) -> (Vec<Opened<'o, 't>>, Vec<usize>) {
    let mut methods: Vec<Opened<'o, 't>> = analysis.pte().methods().iter().map(|_| BTreeMap::new()).collect();
    let mut nodes = vec![0; methods.len()];
    for (opened, graph) in analysis.payloads_with_graphs() {
        // The nodes of a shared payload are shown for its first delegate. The others are one node each.
        let (Some((method, delegate)), Some(graph)) = (opened.delegates.first(), graph) else { continue };
        // A graph without nodes is shown as the delegate.
        if !graph.nodes.is_empty() {
            methods[*method].insert(*delegate, Some(Inside { graph, payload: opened.payload.as_ref().ok() }));
            nodes[*method] += graph.nodes.len();
        }
    }
    (methods, nodes)
}

impl<'t> Flow<'_, 't, '_> {
    /// Adds a node for each node of the graph of a delegate with that index. `args` are the values that the delegate is called with.
    pub(super) fn inside(
        &mut self,
        (index, inside): (usize, Inside<'_, 't>),
        delegate: &'t str,
        (place, time): (InstructionPlace, usize),
        args: &[i32],
    ) {
        let names = self.names.delegates.get(index);
        let values = match inside.payload {
            Some(Payload::Xnnpack(xnnpack)) => xnnpack.graph.values_by_id(),
            _ => BTreeMap::new(),
        };
        let of_call = self.name_of_instruction(place);
        let external = |argument: &InsideArgument| args.get(usize::try_from(argument.argument?).ok()?).copied();
        let mut texts: BTreeMap<u32, Arc<str>> = BTreeMap::new();
        let mut convert = |argument: &InsideArgument| {
            let external = external(argument);
            let constant = || names?.constant(*values.get(&argument.id)?);
            let own = || {
                (argument.value_name.clone().map(NameText::Shared), argument.value_name.as_ref().map(|_| NamedBy::File))
            };
            let (tensor_name, named_by) = match external {
                Some(value) => self.name_of(value),
                None => constant().map_or_else(own, |name| Name::fields(Some(name))),
            };
            GraphArgument {
                value: external.unwrap_or_else(|| inner(argument.id)),
                name: Some(argument.name.clone()),
                tensor_name,
                named_by,
                text: texts.entry(argument.id).or_insert_with(|| argument.tensor.to_string().into()).clone(),
                output: argument.output,
                weight: argument.constant,
                place: external.and_then(|value| self.place_of(value)),
                byte_size: argument.tensor.byte_size(),
            }
        };
        let mut found: Vec<Node<'t>> = Vec::new();
        for (position, node) in inside.graph.nodes.iter().enumerate() {
            let own = names.and_then(|names| names.nodes.get(position));
            let given = || node.name.clone().map(NameText::from);
            found.push(Node {
                kind: NodeKind::Inside,
                label: node.operator.to_string(),
                name: own.map(|own| own.label.clone()).or_else(given).or(of_call.map(|call| call.label.clone())),
                module: own.and_then(|own| own.module).or(of_call.and_then(|call| call.module)),
                delegate: Some(delegate),
                instruction: Some(place),
                source: own.or(of_call).and_then(|own| own.source).map(line_text),
                arguments: node.arguments.iter().map(&mut convert).collect(),
                settings: node.settings.clone(),
                time: None,
            });
        }
        let mut writers: BTreeMap<u32, usize> = BTreeMap::new();
        for (node, inside) in found.into_iter().zip(&inside.graph.nodes) {
            self.graph.nodes.push(node);
            let to = self.graph.nodes.len() - 1;
            for argument in inside.arguments.iter().filter(|argument| !argument.output) {
                match (writers.get(&argument.id), external(argument)) {
                    (Some(from), value) => {
                        let value = Some(value.unwrap_or_else(|| inner(argument.id)));
                        self.graph.edges.push(Edge { from: *from, to, value, view: false });
                    }
                    (None, Some(value)) => self.read(time, value, to),
                    // A constant.
                    (None, None) => {}
                }
            }
            for argument in inside.arguments.iter().filter(|argument| argument.output) {
                writers.insert(argument.id, to);
                if let Some(value) = external(argument) {
                    self.write(time, value, to);
                }
            }
        }
    }
}

/// Returns the number of a value inside a payload: negative, so that it differs from the numbers of the method's values.
fn inner(id: u32) -> i32 {
    -1 - i32::try_from(id).unwrap_or(i32::MAX - 1)
}
