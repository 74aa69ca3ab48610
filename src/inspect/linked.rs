//! Links events inside XNNPACK delegates to the nodes of their graphs: by kind and order, if there are as many events
//! as nodes of a kind.

use super::{EventKind, EventProfile, EventTarget, RunProfile};
use crate::delegate::Payload;
use crate::file::pte::Pte;
use crate::keyed::Keyed;
use alloc::{string::String, vec::Vec};

/// A node inside a delegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProfiledNode {
    /// Its index among the nodes of the payload.
    pub index: usize,
    /// What it does, by the schema's name, such as `XNNFullyConnected`.
    pub operator: &'static str,
}

/// XNNPACK's names of operators that differ from the name of the node: both in lower case and without spaces. A
/// depthwise convolution has no name of its own.
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

/// The nodes of a payload: kind, index and name of each. Sorted.
type Nodes = Vec<(String, usize, &'static str)>;

/// Links the events of each delegate call to the nodes of the delegate's payload.
pub(super) fn link(pte: &Pte<'_>, runs: &mut [RunProfile<'_>]) {
    let mut payloads: Vec<Nodes> = Vec::new();
    // By method and delegate.
    let mut places: Vec<Vec<Option<usize>>> =
        pte.methods().iter().map(|plan| alloc::vec![None; plan.delegates().len()]).collect();
    for opened in pte.open_payloads() {
        let Ok(Payload::Xnnpack(xnnpack)) = &opened.payload else { continue };
        for (method, delegate) in &opened.delegates {
            if let Some(place) = places.get_mut(*method).and_then(|method| method.get_mut(*delegate)) {
                *place = Some(payloads.len());
            }
        }
        let names = xnnpack.graph.xnodes().iter().map(|node| node.name()).enumerate();
        let mut nodes: Nodes = names.map(|(index, name)| (kind_of_node(name), index, name)).collect();
        nodes.sort_unstable();
        payloads.push(nodes);
    }
    let mut methods: Keyed<&str, usize> = Keyed::new();
    for (index, plan) in pte.methods().iter().enumerate() {
        methods.or_insert(plan.name(), index);
    }
    for run in runs {
        let Some(method) = run.method.and_then(|name| methods.get(name)).copied() else { continue };
        let place = |event: &EventProfile<'_>| (event.chain, event.instruction);
        for call in run.events.chunk_by_mut(|one, other| place(one) == place(other)) {
            let delegate = call.iter().find_map(|event| match event.runs {
                Some(EventTarget::Delegate { delegate, .. }) => usize::try_from(delegate).ok(),
                _ => None,
            });
            let payload = delegate.and_then(|delegate| *places.get(method)?.get(delegate)?);
            if let Some(nodes) = payload.and_then(|payload| payloads.get(payload)) {
                link_call(call, nodes);
            }
        }
    }
}

fn link_call(call: &mut [EventProfile<'_>], nodes: &Nodes) {
    let of_event = |(index, event): (usize, &EventProfile<'_>)| Some((kind_of_event(event)?, index));
    let mut events: Vec<(String, usize)> = call.iter().enumerate().filter_map(of_event).collect();
    events.sort_unstable();
    for events in events.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((kind, _)) = events.first() else { continue };
        let start = nodes.partition_point(|(other, _, _)| other < kind);
        let end = nodes.partition_point(|(other, _, _)| other <= kind);
        // If there are not as many, some nodes were fused or left out, and it is not known which.
        let of_kind = nodes.get(start..end).filter(|of_kind| of_kind.len() == events.len()).unwrap_or_default();
        for ((_, event), (_, index, operator)) in events.iter().zip(of_kind) {
            if let Some(event) = call.get_mut(*event) {
                event.node = Some(ProfiledNode { index: *index, operator });
            }
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
