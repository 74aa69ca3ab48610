//! Everything that a page about a file shows, as one value.

use super::{BlobKind, BlobUser, Graph, GraphLayout, Histogram, Memory, Operators, SizeReport, Summary};
use crate::delegate::xnnpack::{ConstantPlace, ConstantUse};
use crate::delegate::{NamedBlobs, Payload};
use crate::file::model::Model;
use crate::file::pte::Pte;
use crate::keyed::{Keyed, sort_by};
use crate::tensor::TensorView;
use alloc::vec::Vec;

/// What a page about a file shows: the answers to most questions, with the pictures' coordinates.
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
    /// The methods as graphs, with the places of their nodes.
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
    /// Who uses it.
    pub users: Vec<BlobUser<'t>>,
    /// How its values are spread, as the first user reads them; `None` for a type without numbers, and for data that was too
    /// large to be read for that.
    pub histogram: Option<Histogram>,
}

/// Of a tensor with more bytes no histogram is made.
const LARGEST: u64 = 16 << 20;

/// The bytes of all tensors that histograms are made of.
const MOST: u64 = 128 << 20;

/// Ranges of a histogram.
const BINS: usize = 40;

/// The histograms of XNNPACK's weights in named data, as its payloads read them.
fn dequantized(pte: &Pte<'_>, weights: &mut [Weight<'_>], mut budget: u64) {
    let mut named = Keyed::new();
    for (index, weight) in weights.iter().enumerate().filter(|(_, weight)| weight.histogram.is_none()) {
        for user in &weight.users {
            if let BlobUser::Key { key, .. } = user {
                named.insert(*key, index);
            }
        }
    }
    let blobs = NamedBlobs::new(pte, []);
    for opened in pte.open_payloads() {
        let Ok(Payload::Xnnpack(payload)) = opened.payload else { continue };
        for constant in payload.constants() {
            let (ConstantPlace::Named { key, .. }, Some(ConstantUse::Tensor { value, .. })) =
                (&constant.place, constant.uses.first())
            else {
                continue;
            };
            let weight = named.get(key).and_then(|index| weights.get_mut(*index));
            let weight = weight.filter(|weight| weight.histogram.is_none() && weight.bytes <= LARGEST.min(budget));
            if let Some(weight) = weight {
                budget -= weight.bytes;
                let numbers = payload.dequantized(*value, &blobs).ok().flatten();
                weight.histogram = numbers.and_then(|numbers| numbers.histogram(BINS));
            }
        }
    }
}

impl Model<'_> {
    /// Everything that a page about the file shows. It reads the values of weights of up to 16 MiB, 128 MiB in all.
    pub fn report<'t>(&'t self) -> Report<'t> {
        let (memory, operators, graphs) = match self {
            Self::Pte(pte) => {
                let drawing = |graph: Graph<'t>| Drawing { layout: graph.layout(), graph };
                (Some(pte.memory()), Some(pte.operators()), pte.graphs().into_iter().map(drawing).collect())
            }
            _ => (None, None, Vec::new()),
        };
        Report {
            summary: self.summary(),
            size: self.size_report().ok(),
            memory,
            operators,
            graphs,
            weights: self.weights(),
        }
    }

    fn weights(&self) -> Vec<Weight<'_>> {
        let mut budget = MOST;
        let mut blobs = self.blobs().blobs;
        sort_by(&mut blobs, &|one, other| other.size.cmp(&one.size));
        let is_tensor = |kind| matches!(kind, BlobKind::Constant | BlobKind::Mutable | BlobKind::Named);
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
                histogram,
            });
        }
        if let Self::Pte(pte) = self {
            dequantized(pte, &mut weights, budget);
        }
        weights
    }
}
