//! Which node of an XNNPACK graph an event inside a delegate is of: by kind and order, where there are as many of both.

use super::{EventKind, EventProfile, EventTarget, RunProfile};
use crate::delegate::Payload;
use crate::file::pte::Pte;
use alloc::{string::String, vec::Vec};

/// A node inside a delegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProfiledNode {
    /// Its index among the nodes of the payload.
    pub index: usize,
    /// What it does, by the schema's name, such as `XNNFullyConnected`.
    pub operator: &'static str,
}

/// What XNNPACK calls the operators that it makes of nodes, where that is not the node's name: both without spaces, and in small letters. It has no other
/// name for a convolution by depth.
const NAMES: &[(&str, &str)] = &[
    ("conv2d", "convolution"),
    ("depthwiseconv2d", "convolution"),
    ("convtranspose2d", "deconvolution"),
    ("maxpooling2d", "maxpooling"),
    ("avgpooling2d", "averagepooling"),
    ("globalavgpooling2d", "globalaveragepooling"),
    ("statictranspose", "transpose"),
    ("staticconstantpad", "constantpad"),
    ("staticresizebilinear2d", "resizebilinear"),
];

/// Links the events of each delegate call to the nodes of the delegate's payload.
pub(super) fn link(pte: &Pte<'_>, runs: &mut [RunProfile<'_>]) {
    let mut payloads: Vec<Vec<Vec<&'static str>>> =
        pte.methods().iter().map(|plan| alloc::vec![Vec::new(); plan.delegates().len()]).collect();
    for opened in pte.open_payloads() {
        let Ok(Payload::Xnnpack(xnnpack)) = &opened.payload else { continue };
        // A payload that thousands share is no reason for as many lists.
        for (method, delegate) in opened.delegates.iter().take(64) {
            if let Some(nodes) = payloads.get_mut(*method).and_then(|method| method.get_mut(*delegate)) {
                *nodes = xnnpack.graph.xnodes().iter().map(|node| node.name()).collect();
            }
        }
    }
    for run in runs {
        let Some(method) = pte.methods().iter().position(|plan| Some(plan.name()) == run.method) else { continue };
        let place = |event: &EventProfile<'_>| (event.chain, event.instruction);
        for call in run.events.chunk_by_mut(|one, other| place(one) == place(other)) {
            let delegate = call.iter().find_map(|event| match event.runs {
                Some(EventTarget::Delegate { delegate, .. }) => usize::try_from(delegate).ok(),
                _ => None,
            });
            if let Some(nodes) = delegate.and_then(|delegate| payloads.get(method)?.get(delegate)) {
                link_call(call, nodes);
            }
        }
    }
}

fn link_call(call: &mut [EventProfile<'_>], nodes: &[&'static str]) {
    let nodes: Vec<(usize, &'static str, String)> =
        nodes.iter().enumerate().map(|(index, name)| (index, *name, kind_of_node(name))).collect();
    let mut kinds: Vec<String> = call.iter().filter_map(kind_of_event).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let of_kind = nodes.iter().filter(|(_, _, own)| *own == kind);
        let count = call.iter().filter(|event| kind_of_event(event).as_ref() == Some(&kind)).count();
        if of_kind.clone().count() != count {
            // Some were joined or left out: nothing says which.
            continue;
        }
        let events = call.iter_mut().filter(|event| kind_of_event(event).as_ref() == Some(&kind));
        for (event, (index, operator, _)) in events.zip(of_kind) {
            event.node = Some(ProfiledNode { index: *index, operator });
        }
    }
}

/// `Fully Connected (NC, F32) GEMM #1` as `fullyconnected`.
fn kind_of_event(event: &EventProfile<'_>) -> Option<String> {
    if event.kind != EventKind::Delegate {
        return None;
    }
    let name = event.name.split(" (").next().unwrap_or_default();
    let name = name.split(" #").next().unwrap_or_default();
    Some(name.chars().filter(|c| *c != ' ').flat_map(char::to_lowercase).collect())
}

fn kind_of_node(name: &str) -> String {
    let kind = name.trim_start_matches("XNN").to_lowercase();
    NAMES.iter().find(|(node, _)| *node == kind).map_or(kind, |(_, event)| (*event).into())
}
