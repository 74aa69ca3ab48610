//! Everything that a page about a file shows, as one value.

use super::{
    BlobKind, BlobUser, Graph, GraphLayout, Histogram, HistogramCounter, Memory, NodeGroup, Operators, Outline,
    SizeReport, Summary,
};
use crate::delegate::xnnpack::{Constant, ConstantPlace, ConstantUse};
use crate::delegate::{NamedBlobs, Payload, Xnnpack};
use crate::file::model::Model;
use crate::file::pte::Pte;
use crate::keyed::{Keyed, sort_by};
use crate::schema::ScalarType;
use crate::schema::xnnpack::XNNDatatype;
use crate::tensor::TensorView;
use alloc::{format, string::String, vec, vec::Vec};
use core::fmt;

/// What a page about a file shows: the answers to most questions, and the layout of the graphs.
///
/// `web/viewer` draws it; `pte report` puts both into one page.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report<'t> {
    /// What is in the file, in short.
    pub summary: Summary<'t>,
    /// Where its bytes went; `None` for a tree that was not read from a file.
    pub size: Option<SizeReport<'t>>,
    /// The planned memory; `None` for a `.ptd`.
    pub memory: Option<Memory<'t>>,
    /// The operators and backends; `None` for a `.ptd`.
    pub operators: Option<Operators>,
    /// The methods as graphs, with their layout.
    pub graphs: Vec<Drawing<'t>>,
    /// The tensors in the file, the largest first.
    pub weights: Vec<Weight<'t>>,
}

/// A graph and where its nodes go.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Drawing<'t> {
    /// The graph.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub graph: Graph<'t>,
    /// Where its nodes go.
    pub layout: GraphLayout,
    /// The groups of nodes.
    pub groups: Vec<NodeGroup>,
    /// The graph with one node for each group, if there are groups.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub outline: Option<Outline<'t>>,
}

impl<'t> Drawing<'t> {
    /// Computes a graph's layout and groups.
    pub fn of(graph: Graph<'t>) -> Self {
        let groups = graph.groups();
        Self { layout: graph.layout(), outline: graph.outline(&groups), groups, graph }
    }
}

/// The data of a tensor, or of several that share it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Weight<'t> {
    /// What it is.
    pub kind: BlobKind,
    /// Bytes from the start of the file.
    pub offset: Option<u64>,
    /// Bytes.
    #[cfg_attr(feature = "serde", serde(rename = "size"))]
    pub bytes: u64,
    /// What uses it.
    pub users: Vec<BlobUser<'t>>,
    /// What nodes inside delegates use it for; empty if no known delegate uses it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub inside: Vec<WeightUse<'t>>,
    /// The distribution of its values, as the first user reads them; `None` for a type without numbers, and for data
    /// over the limits of [`Model::report`].
    pub histogram: Option<Histogram>,
}

/// What a node inside a delegate uses a weight for: shows as `XNNConv2d 3: weight f32[32, 3, 4, 4]`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WeightUse<'t> {
    /// The method's name; `None` for a payload in a file of its own.
    pub method: Option<&'t str>,
    /// Index into the method's delegates.
    pub delegate: Option<usize>,
    /// The kind of the node, such as `XNNConv2d`; `None` if no node takes the value.
    pub operator: Option<&'static str>,
    /// Index of the node in the payload.
    pub node: Option<usize>,
    /// Its role for the node: `weight`, `bias`, `weight scales`, `bias scales`, or the schema's name of the argument.
    pub role: &'static str,
    /// The type of its elements, such as `f32` or XNNPACK's `qcint8`.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub type_name: String,
    /// The size of each dimension, in elements.
    #[cfg_attr(feature = "serde", serde(rename = "sizes"))]
    pub dims: Vec<u32>,
}

impl fmt::Display for WeightUse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(operator), Some(node)) = (self.operator, self.node) {
            write!(f, "{operator} {node}: ")?;
        }
        write!(f, "{} {}{:?}", self.role, self.type_name, self.dims)
    }
}

/// What the nodes of a payload use a constant for.
fn uses<'t>(
    xnnpack: &Xnnpack<'_>,
    constant: &Constant<'_>,
    of: Option<(&'t str, usize)>,
    takers: &Takers,
) -> Vec<WeightUse<'t>> {
    let mut uses = Vec::new();
    for used in &constant.uses {
        let (value, scales, type_name, dims) = match used {
            ConstantUse::Tensor { value, tensor } => {
                (*value, false, type_name(tensor.datatype), tensor.dims().to_vec())
            }
            ConstantUse::Scales { value, element_size, .. } => {
                let number = (constant.place.size() / (*element_size).max(1) as u64).try_into().unwrap_or(u32::MAX);
                (*value, true, if *element_size == 2 { "bf16".into() } else { "f32".into() }, vec![number])
            }
        };
        let taken = takers.get(&value).map(Vec::as_slice).unwrap_or_default();
        let (method, delegate) = (of.map(|of| of.0), of.map(|of| of.1));
        let name = |node: usize| xnnpack.graph.xnodes().get(node).map(|node| node.name());
        for (node, argument) in taken {
            let role = match *argument {
                "weight" if scales => "weight scales",
                "bias" if scales => "bias scales",
                _ if scales => "scales",
                argument => argument,
            };
            let (type_name, dims) = (type_name.clone(), dims.clone());
            uses.push(WeightUse { method, delegate, operator: name(*node), node: Some(*node), role, type_name, dims });
        }
        if taken.is_empty() {
            let role = if scales { "scales" } else { "value" };
            uses.push(WeightUse { method, delegate, operator: None, node: None, role, type_name, dims });
        }
    }
    uses
}

/// For each value, the nodes that take it, and the argument's name.
type Takers = Keyed<usize, Vec<(usize, &'static str)>>;

fn takers(xnnpack: &Xnnpack<'_>) -> Takers {
    let ids = xnnpack.graph.values_by_id();
    let mut takers = Takers::new();
    for (index, node) in xnnpack.graph.xnodes().iter().enumerate() {
        for (name, id) in node.xnode_union.ids().inputs {
            let role = match name.trim_end_matches("_id") {
                "filter" => "weight",
                other => other,
            };
            if let Some(value) = ids.get(&id) {
                takers.entry(*value).push((index, role));
            }
        }
    }
    takers
}

/// A type's short name, if PyTorch has the type too, and otherwise XNNPACK's name.
fn type_name(datatype: XNNDatatype) -> String {
    let name = format!("{datatype}");
    match name.trim_start_matches("xnn_datatype_") {
        "fp32" => "f32".into(),
        "fp16" => "f16".into(),
        other => other.into(),
    }
}

/// The most bytes of a tensor that gets a histogram.
const LARGEST: u64 = 16 << 20;

/// The most bytes of all tensors that get histograms.
const MOST: u64 = 128 << 20;

/// The bins of a histogram.
const BINS: usize = 40;

/// Adds what XNNPACK's payloads say about weights: to those in named data, which are in the list already, and as new
/// entries those in payloads.
fn inside<'t>(pte: &'t Pte<'_>, weights: &mut Vec<Weight<'t>>, mut budget: u64) {
    let mut named = Keyed::new();
    for (index, weight) in weights.iter().enumerate() {
        for user in &weight.users {
            if let BlobUser::Key { key, .. } = user {
                named.insert(*key, index);
            }
        }
    }
    let blobs = NamedBlobs::new(pte, []);
    for opened in pte.open_payloads() {
        let Ok(Payload::Xnnpack(payload)) = &opened.payload else { continue };
        let start = pte.range(&opened.data).map(|range| range.start);
        let users = || {
            opened
                .delegates
                .iter()
                .filter_map(|(method, delegate)| Some((pte.methods().get(*method)?.name(), *delegate)))
        };
        let takers = takers(payload);
        for constant in payload.constants() {
            let at = match &constant.place {
                ConstantPlace::Named { key, .. } => named.get(key).copied(),
                place => {
                    let range = payload.constant_range(constant.index);
                    weights.push(Weight {
                        kind: BlobKind::DelegateConstant,
                        offset: start.zip(range).map(|(start, range)| start + range.start),
                        bytes: place.size(),
                        users: Vec::new(),
                        inside: Vec::new(),
                        histogram: None,
                    });
                    Some(weights.len() - 1)
                }
            };
            let Some(weight) = at.and_then(|index| weights.get_mut(index)) else { continue };
            for of in users() {
                weight.inside.extend(uses(payload, &constant, Some(of), &takers));
            }
            if weight.histogram.is_none() && weight.bytes <= LARGEST.min(budget) {
                budget -= weight.bytes;
                weight.histogram = numbers(payload, &constant, &blobs);
            }
        }
    }
}

/// The histogram of a constant, as the node reads it.
fn numbers(payload: &Xnnpack<'_>, constant: &Constant<'_>, blobs: &NamedBlobs<'_>) -> Option<Histogram> {
    match constant.uses.first()? {
        ConstantUse::Tensor { value, .. } => payload.dequantized(*value, blobs).ok().flatten()?.histogram(BINS),
        ConstantUse::Scales { element_size, .. } => {
            let bytes = payload.constant_bytes(constant.index, blobs).ok()?;
            let scalar_type = if *element_size == 2 { ScalarType::BFLOAT16 } else { ScalarType::FLOAT };
            let mut counter = HistogramCounter::new(scalar_type, BINS);
            counter.add(bytes);
            counter.again()?;
            counter.add(bytes);
            counter.finish()
        }
    }
}

impl Model<'_> {
    /// Everything that a page about the file shows. It reads the values of weights of up to 16 MiB, 128 MiB in all.
    pub fn report<'t>(&'t self) -> Report<'t> {
        let (memory, operators) = match self {
            Self::Pte(pte) => (Some(pte.memory()), Some(pte.operators())),
            _ => (None, None),
        };
        Report {
            summary: self.summary(),
            size: self.size_report().ok(),
            memory,
            operators,
            graphs: self.drawings(),
            weights: self.weights(),
        }
    }

    /// The methods of a program as graphs, with their layout.
    pub fn drawings(&self) -> Vec<Drawing<'_>> {
        let Self::Pte(pte) = self else { return Vec::new() };
        pte.graphs().into_iter().map(Drawing::of).collect()
    }

    /// The tensors in the file, the largest first. It reads the values of tensors of up to 16 MiB, 128 MiB in all.
    pub fn weights(&self) -> Vec<Weight<'_>> {
        let mut budget = MOST;
        let mut blobs = self.blobs().blobs;
        sort_by(&mut blobs, &|one, other| other.size.cmp(&one.size));
        let is_tensor = |kind| {
            matches!(kind, BlobKind::Constant | BlobKind::Mutable | BlobKind::Named | BlobKind::DelegateConstant)
        };
        let mut weights = Vec::new();
        for blob in blobs.into_iter().filter(|blob| is_tensor(blob.kind)) {
            let shape = blob.users.iter().find_map(BlobUser::shape);
            let mut histogram = None;
            if let Some(shape) = shape.filter(|_| blob.size <= LARGEST.min(budget)) {
                budget -= blob.size;
                let bytes = self.blob_bytes(&blob).ok().flatten();
                histogram = bytes.and_then(|bytes| TensorView::new(shape, &bytes).ok()?.histogram(BINS));
            }
            weights.push(Weight {
                kind: blob.kind,
                offset: blob.offset,
                bytes: blob.size,
                users: blob.users,
                inside: Vec::new(),
                histogram,
            });
        }
        match self {
            Self::Pte(pte) => {
                inside(pte, &mut weights, budget);
                sort_by(&mut weights, &|one, other| other.bytes.cmp(&one.bytes));
            }
            Self::Xnnpack(payload) => {
                let takers = takers(payload);
                for constant in payload.constants() {
                    let offset = payload.constant_range(constant.index).map(|range| range.start);
                    let at = weights.iter_mut().find(|weight| weight.offset.is_some() && weight.offset == offset);
                    if let Some(weight) = at {
                        weight.inside = uses(payload, &constant, None, &takers);
                    }
                }
            }
            _ => {}
        }
        weights
    }
}
