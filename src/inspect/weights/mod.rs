//! The tensors of a file, and their uses inside delegates.

pub(super) mod dequantized;
pub(super) mod numbers;

use super::{Blob, BlobKind, BlobUser, Blobs, Histogram, NameText, NamedBy, QuantizedTensor};
use crate::analysis::Analysis;
use crate::delegate::xnnpack::{Constant, ConstantPlace, ConstantUse, Takers};
use crate::delegate::{AotTensor, NamedBlobs, Payload, Xnnpack, delegate_at};
use crate::file::key_index::KeyIndex;
use crate::file::ptd::{Entry, Ptd};
use crate::file::segment::DataRef;
use crate::model::Model;
use crate::numbers::Numbers;
use crate::parallel::Jobs;
use crate::schema::ScalarType;
use crate::tensor::TensorView;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{borrow::Cow, boxed::Box, format, string::String, vec, vec::Vec};
use core::fmt;
use numbers::histogram_of;

/// The data of a tensor, or of several tensors that share it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Weight<'t> {
    /// The kind of blob.
    pub kind: BlobKind,
    /// The model's name of it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<NameText<'t>>,
    /// The origin of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// The path of its module.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub module: Option<&'t str>,
    /// The key of an external weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Cow<'t, str>>,
    /// The index of the `.ptd` file that contains an external weight; `None` if it is in none of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<usize>,
    /// The offset in bytes from the start of the file, or of its `.ptd` file.
    pub offset: Option<u64>,
    /// The size, in bytes.
    pub size: u64,
    /// The users of the data.
    pub users: Vec<BlobUser<'t>>,
    /// The uses by nodes inside delegates; empty if no known delegate uses it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<WeightUse<'t>>,
    /// The operator that dequantizes it, without its overload; `None` if it is not dequantized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dequantized_by: Option<&'t str>,
    /// The distribution of its values, as read by the first user, or as dequantized; `None` for a type without numbers, and for data over the
    /// limits of [`Model::report`].
    pub histogram: Option<Histogram>,
}

/// The use of a weight by a node inside a delegate. Displayed as `XNNConv2d 3: weight f32[32, 3, 4, 4]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WeightUse<'t> {
    /// The method's name; `None` for a payload in a file of its own.
    pub method: Option<&'t str>,
    /// Index into the method's delegates.
    pub delegate: Option<usize>,
    /// The kind of the node, such as `XNNConv2d`; `None` if no node takes the value, and in payloads of other backends.
    pub operator: Option<&'static str>,
    /// Index of the node in the payload.
    pub node: Option<usize>,
    /// Index of the value or tensor in the payload.
    pub value: usize,
    /// The role for the node: `weight`, `bias`, `weight scales`, `bias scales`, or the schema's name of the argument.
    pub role: &'static str,
    /// The type of the elements, such as `f32` or XNNPACK's `qcint8`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The size of each dimension, in elements.
    pub sizes: Vec<u32>,
}

impl fmt::Display for WeightUse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(operator), Some(node)) = (self.operator, self.node) {
            write!(f, "{operator} {node}: ")?;
        }
        write!(f, "{} {}{:?}", self.role, self.type_name, self.sizes)
    }
}

/// Returns the uses of a constant by the nodes of a payload.
#[expect(clippy::indexing_slicing, reason = "`takers` has the indices of the payload's nodes")]
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
                (*value, false, tensor.datatype.short_name(), tensor.dims().to_vec())
            }
            ConstantUse::Scales { value, element_size, .. } => {
                let number = (constant.place.size() / (*element_size).max(1) as u64).try_into().unwrap_or(u32::MAX);
                (*value, true, if *element_size == 2 { "bf16".into() } else { "f32".into() }, vec![number])
            }
        };
        let taken = takers.get(&value).map(Vec::as_slice).unwrap_or_default();
        let (method, delegate) = (of.map(|of| of.0), of.map(|of| of.1));
        for (node, argument) in taken {
            let role = match *argument {
                "weight" if scales => "weight scales",
                "bias" if scales => "bias scales",
                _ if scales => "scales",
                argument => argument,
            };
            let (type_name, dims) = (type_name.clone(), dims.clone());
            uses.push(WeightUse {
                method,
                delegate,
                operator: Some(xnnpack.graph.xnodes()[*node].name()),
                node: Some(*node),
                value,
                role,
                type_name,
                sizes: dims,
            });
        }
        if taken.is_empty() {
            let role = if scales { "scales" } else { "value" };
            uses.push(WeightUse { method, delegate, operator: None, node: None, value, role, type_name, sizes: dims });
        }
    }
    uses
}

/// Returns the use of a tensor for CUDA.
fn use_of_tensor<'t>(tensor: &AotTensor<'_>, value: usize, (method, delegate): (&'t str, usize)) -> WeightUse<'t> {
    WeightUse {
        method: Some(method),
        delegate: Some(delegate),
        operator: None,
        node: None,
        value,
        role: "tensor",
        type_name: tensor.scalar_type.short_name().map_or_else(|| format!("{}", tensor.scalar_type), String::from),
        sizes: tensor.sizes.iter().map(|size| size.unsigned_abs()).collect(),
    }
}

/// The maximum size of a tensor that gets a histogram, in bytes.
const LARGEST: u64 = 16 << 20;

/// The maximum total size of the tensors that get histograms, in bytes.
const MAX_HISTOGRAM_BYTES: u64 = 128 << 20;

/// The files with external weights.
struct Files<'t>(Vec<(&'t Ptd<'t>, Vec<Entry<'t>>, KeyIndex<'t>)>);

impl<'t> Files<'t> {
    /// Finds the first file with a key: returns its index, the file, its entry, and the reference to the bytes.
    #[expect(clippy::indexing_slicing, reason = "the index has the indices of the file's entries")]
    fn find(&self, key: &str) -> Option<(usize, &'t Ptd<'t>, Entry<'t>, DataRef)> {
        let mut files = self.0.iter().enumerate();
        let found = files.find_map(|(file, (ptd, entries, index))| Some((file, *ptd, entries[index.get(key)?])));
        let (file, ptd, entry) = found?;
        Some((file, ptd, entry, ptd.entry_data(&entry).ok()?))
    }
}

/// Histograms that are yet to be computed.
#[derive(Default)]
struct Counts<'c> {
    /// The jobs, each with the index of its weight.
    list: Vec<(usize, Count<'c>)>,
    /// The set of these indices.
    of: BTreeSet<usize>,
}

type Count<'c> = Box<dyn FnOnce() -> Option<Histogram> + Send + 'c>;

/// A collector of weights, with histograms as long as the budget lasts.
struct Collector<'t> {
    weights: Vec<Weight<'t>>,
    /// The remaining size of tensors that may get histograms, in bytes.
    budget: u64,
}

#[expect(
    clippy::indexing_slicing,
    reason = "indices of weights are those that `add` returns, those of methods are the program's"
)]
impl<'t> Collector<'t> {
    fn new() -> Self {
        Self { weights: Vec::new(), budget: MAX_HISTOGRAM_BYTES }
    }

    /// Returns the weights, the largest first.
    fn finish(self) -> Vec<Weight<'t>> {
        let mut weights = self.weights;
        weights.sort_by_key(|item| core::cmp::Reverse(item.size));
        weights
    }

    fn add(&mut self, kind: BlobKind, offset: Option<u64>, bytes: u64, users: Vec<BlobUser<'t>>) -> usize {
        let weight = Weight {
            kind,
            name: None,
            named_by: None,
            module: None,
            key: None,
            data: None,
            offset,
            size: bytes,
            users,
            inside: Vec::new(),
            dequantized_by: None,
            histogram: None,
        };
        self.weights.push(weight);
        self.weights.len() - 1
    }

    /// Adds an external weight.
    fn add_external(&mut self, key: Cow<'t, str>, size: u64, users: Vec<BlobUser<'t>>, files: &Files<'t>) -> usize {
        let found = files.find(&key);
        let place = found.as_ref().and_then(|(_, ptd, _, data)| ptd.range(data)).map(|range| range.start);
        let at = self.add(BlobKind::External, place, found.as_ref().map_or(size, |(.., data)| data.size()), users);
        (self.weights[at].key, self.weights[at].data) = (Some(key), found.map(|(file, ..)| file));
        at
    }

    /// Queues the histogram of a weight, unless it has one or is over the limits.
    fn count<'c>(&mut self, counts: &mut Counts<'c>, at: usize, histogram: Count<'c>) {
        // Another user may read it as a type with numbers.
        if counts.of.contains(&at) {
            self.make(core::mem::take(counts));
        }
        let weight = &self.weights[at];
        if weight.histogram.is_none() && weight.size <= LARGEST.min(self.budget) {
            self.budget -= weight.size;
            counts.of.insert(at);
            counts.list.push((at, histogram));
        }
    }

    /// Computes the queued histograms.
    fn make(&mut self, counts: Counts<'_>) {
        let mut made = Vec::new();
        for (at, _) in &counts.list {
            made.push((*at, None));
        }
        let mut jobs = Jobs::default();
        for ((at, histogram), (_, made)) in counts.list.into_iter().zip(&mut made) {
            jobs.add(self.weights[at].size, move || *made = histogram());
        }
        jobs.run();
        for (at, histogram) in made {
            self.weights[at].histogram = histogram;
        }
    }

    /// Adds the tensors of a file, the largest first, and external ones if `files` are given.
    /// `numbers` are the tensors that operators dequantize, each with the name of its method; `bytes` returns those of a blob.
    fn tensors<'b>(
        &mut self,
        blobs: Blobs<'t>,
        numbers: &[(&'t str, QuantizedTensor<'t>)],
        bytes: impl Fn(&Blob<'_>) -> Option<Cow<'b, [u8]>> + Copy + Send,
        files: Option<&Files<'t>>,
    ) {
        let mut blobs = blobs.blobs;
        blobs.sort_by_key(|item| core::cmp::Reverse(item.size));
        let is_tensor = |kind| {
            matches!(kind, BlobKind::Constant | BlobKind::InitialState | BlobKind::Named | BlobKind::DelegateConstant)
        };
        let (mut names, mut quantized) = (Numbers::default(), BTreeMap::new());
        for (method, tensor) in numbers {
            quantized.insert((names.of_text(method), tensor.value), tensor);
        }
        let mut counts = Counts::default();
        for blob in &blobs {
            let key = blob.users.iter().find_map(|user| match user {
                BlobUser::External { key, .. } => Some(*key),
                _ => None,
            });
            if let (Some(key), Some(files)) = (key, files) {
                let at = self.add_external(Cow::Borrowed(key), blob.size, blob.users.clone(), files);
                let view = move || {
                    let (_, ptd, entry, data) = files.find(key)?;
                    TensorView::new(entry.shape?, ptd.bytes(&data).ok()?).ok()
                };
                self.count(&mut counts, at, Box::new(move || view()?.histogram(Histogram::BINS)));
                continue;
            }
            if !is_tensor(blob.kind) {
                continue;
            }
            let at = self.add(blob.kind, blob.offset, blob.size, blob.users.clone());
            let operator = blob.users.iter().find_map(|user| match user {
                BlobUser::Tensor { method, value, .. } => quantized.get(&(names.of_text(method), *value)),
                _ => None,
            });
            self.weights[at].dequantized_by = operator.map(|tensor| tensor.operator);
            if let Some(Ok(numbers)) = operator.map(|tensor| &tensor.numbers) {
                self.count(&mut counts, at, Box::new(|| numbers.histogram(Histogram::BINS)));
            } else if let Some(shape) = blob.users.iter().find_map(BlobUser::shape) {
                let made = move || TensorView::new(shape, &bytes(blob)?).ok()?.histogram(Histogram::BINS);
                self.count(&mut counts, at, Box::new(made));
            }
        }
        self.make(counts);
    }

    /// Adds the uses of weights in payloads of XNNPACK and CUDA. Weights in named data are in the list already; weights in payloads and, if
    /// given, in `files` become new entries.
    fn inside(&mut self, analysis: &Analysis<'t>, files: Option<&Files<'t>>) {
        let pte = analysis.pte();
        let mut named: BTreeMap<Cow<'t, str>, usize> = BTreeMap::new();
        for (index, weight) in self.weights.iter().enumerate() {
            for user in &weight.users {
                if let BlobUser::Key { key, .. } = user {
                    named.insert(Cow::Borrowed(*key), index);
                }
            }
        }
        let blobs = analysis.named_blobs();
        // Keys are listed once, in named data or in a file.
        let mut with_key = |this: &mut Self, key: &str, size: u64| match (named.get(key), files) {
            (Some(index), _) => Some(*index),
            (None, Some(files)) => {
                let key: Cow<'t, str> = Cow::Owned(key.into());
                let at = this.add_external(key.clone(), size, Vec::new(), files);
                named.insert(key, at);
                Some(at)
            }
            (None, None) => None,
        };
        for opened in analysis.payloads() {
            let payload = match &opened.payload {
                Ok(Payload::Xnnpack(payload)) => payload,
                Ok(Payload::AotInductor(aot)) => {
                    let mut counts = Counts::default();
                    for (index, tensor) in aot.tensors.iter().enumerate() {
                        let Some(at) = with_key(self, tensor.key, tensor.storage_size) else { continue };
                        for place in &opened.delegates {
                            let of = (delegate_at(pte, *place).0.name(), place.1);
                            self.weights[at].inside.push(use_of_tensor(tensor, index, of));
                        }
                        self.weights[at].name.get_or_insert(tensor.name.into());
                        self.weights[at].named_by.get_or_insert(NamedBy::File);
                        let bytes = || tensor.elements(blobs.get(tensor.key).ok()??.bytes).ok();
                        let counted = move || histogram_of(tensor.scalar_type, &bytes()?, Histogram::BINS);
                        self.count(&mut counts, at, Box::new(counted));
                    }
                    self.make(counts);
                    continue;
                }
                _ => continue,
            };
            let start = pte.range(&opened.data).map(|range| range.start);
            let takers = payload.graph.takers();
            let constants = payload.constants();
            let mut counts = Counts::default();
            for constant in &constants {
                let size = constant.place.size();
                let at = match &constant.place {
                    ConstantPlace::Named { key, .. } => match with_key(self, key, size) {
                        Some(at) => at,
                        None => continue,
                    },
                    _ => {
                        let range = payload.constant_range(constant.index);
                        let offset = start.zip(range).map(|(start, range)| start + range.start);
                        self.add(BlobKind::DelegateConstant, offset, size, Vec::new())
                    }
                };
                for place in &opened.delegates {
                    let of = Some((delegate_at(pte, *place).0.name(), place.1));
                    self.weights[at].inside.extend(uses(payload, constant, of, &takers));
                }
                self.count(&mut counts, at, Box::new(|| histogram(payload, constant, &blobs, Histogram::BINS)));
            }
            self.make(counts);
        }
    }

    /// Adds the uses of constants in a payload in a file of its own.
    fn payload(&mut self, payload: &'t Xnnpack<'_>) {
        let takers = payload.graph.takers();
        let places: BTreeMap<Option<u64>, usize> = self.weights.iter().map(|weight| weight.offset).zip(0..).collect();
        let constants = payload.constants();
        let mut counts = Counts::default();
        for constant in &constants {
            let Some(range) = payload.constant_range(constant.index) else { continue };
            let Some(at) = places.get(&Some(range.start)).copied() else { continue };
            self.weights[at].inside = uses(payload, constant, None, &takers);
            self.count(&mut counts, at, Box::new(|| histogram(payload, constant, &NamedBlobs::NONE, Histogram::BINS)));
        }
        self.make(counts);
    }
}

impl Xnnpack<'_> {
    /// Returns the distribution of a constant's values, as read by its first user, with this many bins; `None` without a user, for a type
    /// without numbers, or if its bytes are missing.
    pub fn histogram(&self, constant: u32, blobs: &NamedBlobs<'_>, bins: usize) -> Option<Histogram> {
        let constants = self.constants();
        histogram(self, constants.iter().find(|other| other.index == constant)?, blobs, bins)
    }
}

fn histogram(payload: &Xnnpack<'_>, constant: &Constant<'_>, blobs: &NamedBlobs<'_>, bins: usize) -> Option<Histogram> {
    match constant.uses.first()? {
        ConstantUse::Tensor { value, .. } => payload.dequantized(*value, blobs).ok().flatten()?.histogram(bins),
        ConstantUse::Scales { element_size, .. } => {
            let bytes = payload.constant_bytes(constant.index, blobs).ok()?;
            let scalar_type = if *element_size == 2 { ScalarType::BFLOAT16 } else { ScalarType::FLOAT };
            histogram_of(scalar_type, bytes, bins)
        }
    }
}

impl Model<'_> {
    /// Returns the tensors in the file, the largest first. Reads the values of tensors of up to 16 MiB, 128 MiB in all.
    pub fn weights(&self) -> Vec<Weight<'_>> {
        if let Self::Pte(pte) = self {
            return Analysis::new(pte).weights();
        }
        let mut collector = Collector::new();
        collector.tensors(self.blobs(), &[], |blob| self.blob_bytes(blob).ok().flatten(), None);
        if let Self::Xnnpack(payload) = self {
            collector.payload(payload);
        }
        collector.finish()
    }
}

pub(super) fn of_pte<'t>(analysis: &Analysis<'t>) -> Vec<Weight<'t>> {
    let pte = analysis.pte();
    let files = |data: &[&'t Ptd<'t>]| data.iter().map(|ptd| (*ptd, ptd.entries().collect(), ptd.index())).collect();
    let files = analysis.data().map(|data| Files(files(data)));
    let named = |tensor: QuantizedTensor<'t>| Some((pte.methods().get(tensor.method)?.name(), tensor));
    let quantized: Vec<_> = analysis.dequantized().into_iter().filter_map(named).collect();
    let bytes = |blob: &Blob<'_>| blob.data.as_ref().and_then(|data| pte.bytes(data).ok()).map(Cow::Borrowed);
    let mut collector = Collector::new();
    collector.tensors(analysis.blobs(), &quantized, bytes, files.as_ref());
    collector.inside(analysis, files.as_ref());
    let mut weights = collector.finish();
    let Some(names) = analysis.answer_names() else { return weights };
    let methods = names.by_method(pte);
    for weight in &mut weights {
        let name = weight.users.iter().find_map(|user| match user {
            BlobUser::Tensor { method, value, .. } => methods.get(*method)?.value(*value),
            BlobUser::Key { key, .. } => names.key(key),
            _ => None,
        });
        let mut inside = weight.inside.iter().filter(|used| !used.role.ends_with("scales"));
        let inside =
            || inside.find_map(|used| methods.get(used.method?)?.delegates.get(used.delegate?)?.constant(used.value));
        if let Some(name) = name.or_else(inside) {
            (weight.name, weight.named_by, weight.module) = (Some(name.name.clone()), Some(name.named_by), name.module);
        }
    }
    weights
}
