//! The contents of delegates: their settings and nodes.

use super::{CompileSetting, Fault};
use crate::delegate::{DelegateGraph, InsideNode, OpenPayload, payload_path};
use crate::error::Result;
use crate::file::pte::Pte;
use alloc::vec::Vec;

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
    /// The nodes inside, in execution order; empty if the payload is not read.
    pub nodes: Vec<InsideNode>,
    /// The method and index of an earlier delegate with the same payload, where the nodes are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<(usize, usize)>,
}

/// Lists the contents of the delegates of each method, and the errors of `graphs`, which are those of `payloads`. The nodes of a shared payload are
/// listed once.
#[expect(clippy::indexing_slicing, reason = "payloads have the indices of this program's methods and delegates")]
pub(super) fn contents<'t>(
    pte: &'t Pte<'_>,
    payloads: &[OpenPayload<'_>],
    graphs: Vec<Result<Option<DelegateGraph>>>,
) -> (Vec<Vec<DelegateCode<'t>>>, Vec<Fault>) {
    let (mut methods, mut errors) = (Vec::new(), Vec::new());
    for plan in pte.methods() {
        let code = |delegate| {
            let compile_specs = CompileSetting::all(delegate);
            DelegateCode { id: delegate.id(), compile_specs, nodes: Vec::new(), same_as: None }
        };
        methods.push(plan.delegates().iter().map(code).collect::<Vec<_>>());
    }
    for (opened, graph) in payloads.iter().zip(graphs) {
        let first = opened.delegates.first().copied();
        for place in opened.delegates.iter().skip(1).filter(|_| matches!(graph, Ok(Some(_)))) {
            methods[place.0][place.1].same_as = first;
        }
        match (first, graph) {
            (Some((method, delegate)), Ok(Some(graph))) => methods[method][delegate].nodes = graph.nodes,
            (Some((method, delegate)), Err(error)) => {
                errors.push(Fault { path: payload_path(method, delegate), error })
            }
            _ => {}
        }
    }
    (methods, errors)
}
