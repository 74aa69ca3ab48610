//! Links events inside delegates to the nodes of their graphs: those of XNNPACK by kind and order, if a kind has as many events as nodes, and those
//! of Vulkan by the node's number in the event's name.

use crate::analysis::Analysis;
use crate::delegate::{DelegateGraph, Payload};
use crate::inspect::{EventKind, EventProfile, EventTarget, RunProfile};
use crate::sorted::equal_range;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{borrow::Cow, string::String, vec::Vec};

/// A node inside a delegate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProfiledNode {
    /// The index of the node in the payload.
    pub index: usize,
    /// The schema's name of the node, such as `XNNFullyConnected`.
    pub operator: Cow<'static, str>,
}

/// XNNPACK's names of operators that differ from the name of the node, both in lower case and without spaces. A depthwise convolution
/// has no separate name.
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

/// Nodes that may have no events: XNNPACK fuses them with another node or omits them (`subgraph.c`).
const MAY_BE_FUSED: &[&str] = &["clamp", "constantpad", "convert", "copy", "staticreshape"];

/// The numbers of nodes or events by kind. Sorted.
pub(super) type KindCounts = Vec<(String, usize)>;

/// Counts sorted kinds.
pub(super) fn count_kinds<'k>(kinds: impl Iterator<Item = &'k String>) -> KindCounts {
    let mut counts = KindCounts::new();
    for kind in kinds {
        match counts.last_mut() {
            Some((last, count)) if last == kind => *count += 1,
            _ => counts.push((kind.clone(), 1)),
        }
    }
    counts
}

/// The nodes of a payload, as its backend's events refer to them.
enum Nodes {
    /// The nodes of XNNPACK.
    Kinds {
        /// The kind, index and name of each node. Sorted.
        nodes: Vec<(String, usize, &'static str)>,
        kinds: KindCounts,
    },
    /// The nodes of Vulkan by their numbers.
    Numbers(BTreeMap<u32, ProfiledNode>),
}

/// The nodes inside the delegates of a program.
pub(super) struct DelegateNodes<'t> {
    payloads: Vec<Nodes>,
    /// The index of the payload, by method and delegate.
    places: BTreeMap<(usize, usize), usize>,
    /// The index of each method, by its name.
    methods: BTreeMap<&'t str, usize>,
}

impl<'t> DelegateNodes<'t> {
    pub(super) fn of<'p: 't>(analysis: &Analysis<'p>) -> Self {
        let pte = analysis.pte();
        let (mut payloads, mut places) = (Vec::new(), BTreeMap::new());
        for (opened, graph) in analysis.payloads_with_graphs() {
            let nodes = match (&opened.payload, graph) {
                (Ok(Payload::Xnnpack(xnnpack)), _) => {
                    let names = xnnpack.graph.xnodes().iter().map(|node| node.name()).enumerate();
                    let mut nodes: Vec<_> = names.map(|(index, name)| (kind_of_node(name), index, name)).collect();
                    nodes.sort();
                    Nodes::Kinds { kinds: count_kinds(nodes.iter().map(|(kind, ..)| kind)), nodes }
                }
                (Ok(Payload::Vulkan(_)), Some(graph)) => Nodes::Numbers(by_number(graph)),
                _ => continue,
            };
            for place in &opened.delegates {
                places.insert(*place, payloads.len());
            }
            payloads.push(nodes);
        }
        let mut methods = BTreeMap::new();
        for (index, plan) in pte.methods().iter().enumerate() {
            methods.entry(plan.name()).or_insert(index);
        }
        Self { payloads, places, methods }
    }

    #[expect(clippy::indexing_slicing, reason = "`places` has the indices of `payloads`")]
    fn get(&self, method: usize, delegate: i32) -> Option<&Nodes> {
        let payload = self.places.get(&(method, usize::try_from(delegate).ok()?))?;
        Some(&self.payloads[*payload])
    }

    /// Returns `true` if a delegate can have caused events of these kinds, sorted and counted. Also `true` if its nodes are not known.
    pub(super) fn may_have(&self, method: usize, delegate: i32, events: &[(String, usize)]) -> bool {
        let Some(Nodes::Kinds { kinds, .. }) = self.get(method, delegate) else { return true };
        let count = |list: &[(String, usize)], kind: &String| {
            equal_range(list, |(other, _)| other.cmp(kind)).first().map(|(_, count)| *count)
        };
        kinds.iter().all(|(kind, nodes)| match count(events, kind) {
            Some(events) => events == *nodes,
            None => MAY_BE_FUSED.contains(&kind.as_str()),
        }) && events.iter().all(|(kind, _)| count(kinds, kind).is_some())
    }

    /// Returns `true` if a delegate has nodes of one of these kinds, or if its nodes are not known. XNNPACK adds and fuses nodes, so that the
    /// numbers, and single kinds, can differ.
    pub(super) fn have_any(&self, method: usize, delegate: i32, events: &[(String, usize)]) -> bool {
        let Some(Nodes::Kinds { kinds, .. }) = self.get(method, delegate) else { return true };
        events.iter().any(|(kind, _)| kinds.binary_search_by(|(other, _)| other.cmp(kind)).is_ok())
    }

    /// Links the events of each delegate call to the nodes of the delegate's payload.
    pub(super) fn link(&self, runs: &mut [RunProfile<'_>]) {
        for run in runs {
            let Some(method) = run.method.and_then(|name| self.methods.get(name)).copied() else { continue };
            let place = |event: &EventProfile<'_>| (event.chain, event.instruction);
            for call in run.events.chunk_by_mut(|left, right| place(left) == place(right)) {
                let delegate = call.iter().find_map(|event| match event.runs {
                    Some(EventTarget::Delegate { delegate, .. }) => Some(delegate),
                    _ => None,
                });
                match delegate.and_then(|delegate| self.get(method, delegate)) {
                    Some(Nodes::Kinds { nodes, .. }) => link_call(call, nodes),
                    Some(Nodes::Numbers(nodes)) => {
                        for event in call {
                            let number = event.shader.as_ref().and_then(|shader| shader.node_id);
                            event.node = number.and_then(|number| nodes.get(&number)).cloned();
                        }
                    }
                    None => {}
                }
            }
        }
    }
}

/// Returns the nodes of a graph by the numbers that profiles use, without numbers of several nodes: an exporter may give all the number 0.
fn by_number(graph: &DelegateGraph) -> BTreeMap<u32, ProfiledNode> {
    let (mut found, mut several) = (BTreeMap::new(), BTreeSet::new());
    for (index, node) in graph.nodes.iter().enumerate() {
        let Some(number) = node.profile_id else { continue };
        if found.insert(number, ProfiledNode { index, operator: node.operator.clone() }).is_some() {
            several.insert(number);
        }
    }
    found.retain(|number, _| !several.contains(number));
    found
}

#[expect(clippy::indexing_slicing, reason = "`events` has indices of the call's events")]
fn link_call(call: &mut [EventProfile<'_>], nodes: &[(String, usize, &'static str)]) {
    let of_event = |(index, event): (usize, &EventProfile<'_>)| {
        (event.kind == EventKind::Delegate).then(|| (kind_of_event(event.name), index))
    };
    let mut events: Vec<(String, usize)> = call.iter().enumerate().filter_map(of_event).collect();
    events.sort();
    for events in events.chunk_by(|(left, _), (right, _)| left == right) {
        let [(kind, _), ..] = events else { continue };
        let of_kind = equal_range(nodes, |(other, _, _)| other.cmp(kind));
        // If the numbers differ, some nodes were fused or omitted, and it is not known which.
        if of_kind.len() == events.len() {
            for ((_, event), (_, index, operator)) in events.iter().zip(of_kind) {
                call[*event].node = Some(ProfiledNode { index: *index, operator: Cow::Borrowed(operator) });
            }
        }
    }
}

/// Normalizes an event name: `Fully Connected (NC, F32) GEMM #1` becomes `fullyconnected`.
pub(super) fn kind_of_event(name: &str) -> String {
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    let name = name.split_once(" #").map_or(name, |(name, _)| name);
    name.chars().filter(|c| *c != ' ').flat_map(char::to_lowercase).collect()
}

fn kind_of_node(name: &str) -> String {
    let kind = name.trim_start_matches("XNN").to_lowercase();
    NAMES.iter().find(|(node, _)| *node == kind).map_or(kind, |(_, event)| (*event).into())
}
