//! The nodes inside a delegate's payload, as nodes of the method's graph.

use super::flow::{Flow, Opened, line_text};
use super::{Edge, GraphArgument, InstructionPlace, Node, NodeKind};
use crate::delegate::OpenPayload;
use crate::delegate::{Payload, Xnnpack};
use crate::file::pte::Pte;
use crate::inspect::Name;
use crate::schema::xnnpack::NO_ID;
use alloc::collections::BTreeMap;
use alloc::{string::String, string::ToString, vec, vec::Vec};

/// Returns the payloads with known nodes, for each method by the delegate's index, and the number of their nodes.
#[expect(clippy::indexing_slicing, reason = "payloads have the indices of this program's methods")]
pub(super) fn opened<'o, 't>(pte: &Pte<'_>, payloads: &'o [OpenPayload<'t>]) -> (Vec<Opened<'o, 't>>, Vec<usize>) {
    let mut methods: Vec<Opened<'o, 't>> = pte.methods().iter().map(|_| BTreeMap::new()).collect();
    let mut nodes = vec![0; methods.len()];
    for opened in payloads {
        // The nodes of a shared payload are shown for its first delegate. The others are one node each.
        let (Some((method, delegate)), Ok(Payload::Xnnpack(payload))) = (opened.delegates.first(), &opened.payload)
        else {
            continue;
        };
        methods[*method].insert(*delegate, Some(payload));
        nodes[*method] += payload.graph.xnodes().len();
    }
    (methods, nodes)
}

impl<'t> Flow<'_, 't, '_> {
    /// Adds a node for each node of the payload of a delegate with that index. `args` are the values that the delegate is called with.
    pub(super) fn inside(
        &mut self,
        (index, payload): (usize, &Xnnpack<'_>),
        delegate: &'t str,
        (place, time): (InstructionPlace, usize),
        args: &[i32],
    ) {
        let tensors = payload.graph.tensors_by_id();
        let tensor = |id: u32| tensors.get(&id).copied();
        let (names, values) = (self.names.delegates.get(index), payload.graph.values_by_id());
        let of_call = self.name_of_instruction(place);
        let constant = |id: u32| names?.constant(*values.get(&id)?);
        let external = |id: u32| {
            let position = tensor(id).filter(|tensor| tensor.is_external())?.external_id;
            args.get(usize::try_from(position).ok()?).copied()
        };
        let argument = |name: &'static str, id: u32, output: bool| {
            let external = external(id);
            let (tensor_name, named_by) =
                external.map_or_else(|| Name::fields(constant(id)), |value| self.name_of(value));
            GraphArgument {
                value: external.unwrap_or_else(|| inner(id)),
                name: Some(name.trim_end_matches("_id")),
                tensor_name,
                named_by,
                text: tensor(id).map_or_else(String::new, ToString::to_string).into(),
                output,
                weight: tensor(id).is_some_and(|tensor| tensor.constant_buffer_idx > 0),
                place: external.and_then(|value| self.place_of(value)),
            }
        };
        let mut found: Vec<(Node<'t>, Vec<u32>, Vec<u32>)> = Vec::new();
        for (position, node) in payload.graph.xnodes().iter().enumerate() {
            let own = names.and_then(|names| names.nodes.get(position)).or(of_call);
            let ids = node.xnode_union.ids();
            let present = |list: Vec<(&'static str, u32)>| list.into_iter().filter(|(_, id)| *id != NO_ID);
            let inputs: Vec<_> = present(ids.inputs).collect();
            let outputs: Vec<_> = present(ids.outputs).collect();
            let taken = inputs.iter().map(|(name, id)| argument(name, *id, false));
            let given = outputs.iter().map(|(name, id)| argument(name, *id, true));
            let arguments = taken.chain(given).collect();
            let (kind, label) = (NodeKind::Inside, node.name().to_string());
            let node = Node {
                kind,
                label,
                name: own.map(|own| own.label.clone()),
                module: own.and_then(|own| own.module).or(of_call.and_then(|call| call.module)),
                delegate: Some(delegate),
                instruction: Some(place),
                source: own.and_then(|own| own.source).map(line_text),
                arguments,
                time: None,
            };
            let id = |(_, id): (&'static str, u32)| id;
            found.push((node, inputs.into_iter().map(id).collect(), outputs.into_iter().map(id).collect()));
        }
        let mut writers: BTreeMap<u32, usize> = BTreeMap::new();
        for (node, inputs, outputs) in found {
            self.graph.nodes.push(node);
            let to = self.graph.nodes.len() - 1;
            for id in inputs {
                match (writers.get(&id), external(id)) {
                    (Some(from), value) => {
                        let value = Some(value.unwrap_or_else(|| inner(id)));
                        self.graph.edges.push(Edge { from: *from, to, value, view: false });
                    }
                    (None, Some(value)) => self.read(time, value, to),
                    // A constant.
                    (None, None) => {}
                }
            }
            for id in outputs {
                writers.insert(id, to);
                if let Some(value) = external(id) {
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
