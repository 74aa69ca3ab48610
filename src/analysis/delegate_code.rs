//! The contents of delegates: their settings, and the nodes of XNNPACK's graphs.

use super::CompileSetting;
use crate::delegate::{OpenPayload, Payload, Xnnpack};
use crate::file::pte::Pte;
use crate::schema::xnnpack::NO_ID;
use alloc::{string::String, string::ToString, vec::Vec};

/// The contents of a delegate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateCode<'t> {
    /// The backend's name.
    #[serde(serialize_with = "crate::names::serialize_shortened")]
    pub id: &'t str,
    /// The settings that the delegate was compiled with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compile_specs: Vec<CompileSetting<'t>>,
    /// The nodes inside, in execution order; empty if the payload cannot be read.
    pub nodes: Vec<InsideNode>,
    /// The method and index of an earlier delegate with the same payload, where the nodes are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<(usize, usize)>,
}

/// A node inside a delegate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InsideNode {
    /// The schema's name of the node, such as `XNNFullyConnected`.
    pub operator: &'static str,
    /// The values that the node reads and writes.
    pub arguments: Vec<InsideArgument>,
}

/// A value that a node inside a delegate reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InsideArgument {
    /// The schema's name of the argument, such as `filter`.
    pub name: &'static str,
    /// The id of the value in the payload.
    pub id: u32,
    /// `true` if the node writes the value.
    pub output: bool,
    /// The datatype and dimensions.
    pub tensor: String,
    /// The index of the value among the delegate's arguments, from 0; `None` for a value that exists only inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<u32>,
    /// `true` if the value is a constant.
    pub constant: bool,
}

/// Lists the contents of the delegates of each method. The nodes of a shared payload are listed once.
#[expect(clippy::indexing_slicing, reason = "payloads have the indices of this program's methods and delegates")]
pub(super) fn contents<'t>(pte: &'t Pte<'_>, payloads: &[OpenPayload<'_>]) -> Vec<Vec<DelegateCode<'t>>> {
    let mut methods = Vec::new();
    for plan in pte.methods() {
        let code = |delegate| {
            let compile_specs = CompileSetting::all(delegate);
            DelegateCode { id: delegate.id(), compile_specs, nodes: Vec::new(), same_as: None }
        };
        methods.push(plan.delegates().iter().map(code).collect::<Vec<_>>());
    }
    for opened in payloads {
        let Ok(Payload::Xnnpack(payload)) = &opened.payload else { continue };
        let first = opened.delegates.first().copied();
        for (method, index) in &opened.delegates {
            let code = &mut methods[*method][*index];
            if first == Some((*method, *index)) {
                code.nodes = nodes(payload);
            } else {
                code.same_as = first;
            }
        }
    }
    methods
}

fn nodes(payload: &Xnnpack<'_>) -> Vec<InsideNode> {
    let tensors = payload.graph.tensors_by_id();
    let argument = |(name, id): (&'static str, u32), output: bool| {
        let tensor = tensors.get(&id);
        InsideArgument {
            name: name.trim_end_matches("_id"),
            id,
            output,
            tensor: tensor.map_or_else(String::new, ToString::to_string),
            argument: tensor.filter(|tensor| tensor.is_external()).map(|tensor| tensor.external_id),
            constant: tensor.is_some_and(|tensor| tensor.constant_buffer_idx != 0),
        }
    };
    let mut nodes = Vec::new();
    for node in payload.graph.xnodes() {
        let ids = node.xnode_union.ids();
        let present = |list: Vec<(&'static str, u32)>| list.into_iter().filter(|(_, id)| *id != NO_ID);
        let inputs = present(ids.inputs).map(|input| argument(input, false));
        let outputs = present(ids.outputs).map(|output| argument(output, true));
        nodes.push(InsideNode { operator: node.name(), arguments: inputs.chain(outputs).collect() });
    }
    nodes
}
