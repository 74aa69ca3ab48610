//! The graphs inside payloads, in one form for all backends.

mod budget;
mod core_ml;
mod ethos_u;
mod vulkan;
mod xnnpack;

pub(crate) use budget::GraphBudget;

use super::{NamedBlobs, OpenPayload, Payload};
use crate::error::Result;
use crate::file::pte::Pte;
use crate::tensor::RUNTIME_RANK;
use alloc::borrow::Cow;
use alloc::{string::String, sync::Arc, vec::Vec};
use core::fmt;

/// The graph inside a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DelegateGraph {
    /// The nodes, in execution order.
    pub nodes: Vec<InsideNode>,
}

/// A node inside a delegate.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InsideNode {
    /// The schema's name of the node, such as `XNNFullyConnected`, `aten.linear.default` of Vulkan or `linear` of Core ML; for an Ethos-U the kind
    /// of its command, such as `conv`.
    pub operator: Cow<'static, str>,
    /// The node's own name, if the payload has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The tensors that the node reads and writes.
    pub arguments: Vec<InsideArgument>,
    /// Its other arguments: numbers, lists and texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<InsideSetting>,
    /// The multiply-accumulates; `None` if they are not known.
    #[serde(skip)]
    pub macs: Option<u64>,
    /// The number by which the backend's profiles refer to the node, if it is not its index.
    #[serde(skip)]
    pub profile_id: Option<u32>,
}

/// A tensor that a node inside a delegate reads or writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InsideArgument {
    /// The name of the argument, such as `filter`, or its position if the name is not known.
    pub name: Cow<'static, str>,
    /// The id of the value in the payload; a number given by this crate if the payload has none, as those for an Ethos-U and Core ML.
    pub id: u32,
    /// The value's name, if the payload has one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<String>"))]
    pub value_name: Option<Arc<str>>,
    /// `true` if the node writes the value.
    pub output: bool,
    /// The datatype and dimensions.
    #[serde(serialize_with = "tensor_text")]
    #[cfg_attr(feature = "schemars", schemars(with = "String"))]
    pub tensor: Arc<InsideTensorType>,
    /// The index of the value among the delegate's arguments, from 0; `None` for a value that exists only inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<u32>,
    /// `true` if the value is a constant.
    pub constant: bool,
    /// The identity of a constant's data.
    #[serde(skip)]
    pub(crate) data: Option<InsideData>,
}

/// An argument of a node that is not a tensor.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InsideSetting {
    /// The name of the argument, or its position if the name is not known.
    pub name: Cow<'static, str>,
    /// The value. Long lists and texts are cut.
    pub value: String,
}

/// The type and shape of a tensor inside a delegate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InsideTensorType {
    /// The datatype, such as `f32` or `qcint8`; empty if the payload does not state it.
    pub datatype: Cow<'static, str>,
    /// The number of dimensions.
    pub rank: usize,
    /// The size of each of the first 16 dimensions, in elements; `None` if it is not known before the graph runs.
    pub dims: Vec<Option<u64>>,
    /// The storage, if the payload states one, such as `buffer`.
    pub storage: String,
}

/// The identity of a constant's data inside a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InsideData {
    /// The key in named data.
    Key(Arc<str>),
    /// The index in the payload, or the offset in its file of weights.
    Index(u64),
}

/// The number of items of a list that a setting shows, and of characters of a text.
const MAX_ITEMS: usize = 16;
const MAX_TEXT: usize = 80;

/// The number of arguments of a node that are shown: many nodes can share a long list.
const MAX_ARGUMENTS: usize = 1024;

impl Payload<'_> {
    /// Returns the graph of this payload, which was read from `payload`, or `None` if its backend has no graph that this crate reads. `blobs` has the
    /// data that it looks up by key.
    ///
    /// | backend | nodes |
    /// |---|---|
    /// | XNNPACK, Vulkan | those of the FlatBuffer |
    /// | Core ML | the operations of the ML Program in `model.mlmodel`, or in `model.mil` of a compiled model, without constants |
    /// | Ethos-U55, U65 and U85 | the operations of the command stream, with the registers as settings |
    ///
    /// Takes time and memory in proportion to the payload. Fails if the graph is damaged, with the offset in the payload, with
    /// [`ErrorKind::Reference`](crate::ErrorKind::Reference) if it is under a key that `blobs` does not have, and with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it would take more memory than the payload's size justifies.
    ///
    /// ```
    /// use executorch_format::Pte;
    /// use executorch_format::delegate::NamedBlobs;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/payloads/other/vulkan.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let delegate = &pte.methods()[0].delegates()[0];
    /// let bytes = pte.bytes(&pte.delegate_data(delegate)?)?;
    /// let graph = pte.delegate(delegate)?.graph(bytes, &NamedBlobs::new(&pte, []))?.unwrap();
    /// for node in &graph.nodes {
    ///     for argument in &node.arguments {
    ///         println!("{} {}: {}", node.operator, argument.name, argument.tensor);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn graph(&self, payload: &[u8], blobs: &NamedBlobs<'_>) -> Result<Option<DelegateGraph>> {
        self.graph_within(payload, blobs, &mut GraphBudget::of(payload.len()))
    }

    fn graph_within(
        &self,
        payload: &[u8],
        blobs: &NamedBlobs<'_>,
        budget: &mut GraphBudget,
    ) -> Result<Option<DelegateGraph>> {
        let nodes = match self {
            Self::Xnnpack(xnnpack) => Some(xnnpack::nodes(xnnpack, budget)?),
            Self::Vulkan(vulkan) => Some(vulkan::nodes(vulkan, budget)?),
            Self::EthosU(ethos_u) => ethos_u::nodes(ethos_u, blobs, budget)?,
            Self::CoreMl(core_ml) => core_ml::nodes(core_ml, payload, blobs, budget)?,
            Self::AotInductor(_) | Self::Opaque(_) => None,
        };
        Ok(nodes.map(|nodes| DelegateGraph { nodes }))
    }
}

impl OpenPayload<'_> {
    /// Returns the graph of the payload, as [`Payload::graph`] does. `pte` is the file that opened it. A payload that cannot be read has none.
    ///
    /// Offsets of errors count from the start of the file, if the payload is in the file.
    pub(crate) fn graph(
        &self,
        pte: &Pte<'_>,
        blobs: &NamedBlobs<'_>,
        budget: &mut GraphBudget,
    ) -> Result<Option<DelegateGraph>> {
        let Ok(payload) = &self.payload else { return Ok(None) };
        payload.graph_within(pte.bytes(&self.data)?, blobs, budget).map_err(|error| match pte.range(&self.data) {
            Some(range) => error.inside(range.start),
            None => error,
        })
    }
}

impl DelegateGraph {
    /// Counts the nodes of each kind, the most frequent kind first.
    pub fn count_nodes(&self) -> Vec<(&str, usize)> {
        let mut counts = alloc::collections::BTreeMap::<&str, usize>::new();
        for node in &self.nodes {
            *counts.entry(&node.operator).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
        counts
    }
}

impl InsideNode {
    fn new(operator: impl Into<Cow<'static, str>>) -> Self {
        Self { operator: operator.into(), ..Self::default() }
    }

    fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.settings.push(InsideSetting { name: name.into(), value: value.into() });
    }

    /// Returns the type of the first argument with that name that the node reads.
    fn input(&self, name: &str) -> Option<&InsideTensorType> {
        self.arguments.iter().find(|argument| !argument.output && argument.name == name).map(|found| &*found.tensor)
    }

    /// Returns the type of the first tensor that the node writes.
    fn output(&self) -> Option<&InsideTensorType> {
        self.arguments.iter().find(|argument| argument.output).map(|argument| &*argument.tensor)
    }

    /// Returns the number of elements that the node writes.
    pub(crate) fn elements(&self) -> u64 {
        let outputs = self.arguments.iter().filter(|argument| argument.output);
        outputs.filter_map(|argument| argument.tensor.elements()).fold(0, u64::saturating_add)
    }
}

/// Returns the multiply-accumulates of attention: queries by keys, and weights by values.
fn attention_macs(node: &InsideNode) -> Option<u64> {
    let keys = node.input("key")?.dim(-2)?;
    let values = node.output()?.elements()?.saturating_mul(keys);
    Some(node.input("query")?.elements()?.saturating_mul(keys).saturating_add(values))
}

/// Returns the multiply-accumulates of a convolution whose filters have the channels first. `positions` is the output, or the input of a transposed
/// convolution: each of its channels has a filter of its own.
fn convolution_macs(positions: &InsideTensorType, filters: &InsideTensorType) -> Option<u64> {
    Some((positions.elements()? / filters.dim(0)?.max(1)).saturating_mul(filters.elements()?))
}

impl InsideTensorType {
    fn new(datatype: impl Into<Cow<'static, str>>, dims: impl ExactSizeIterator<Item = Option<u64>>) -> Self {
        let (mut datatype, rank, dims) = (datatype.into(), dims.len(), dims.take(RUNTIME_RANK).collect());
        // One spelling for all payloads: `f32`, where Core ML has `fp32`.
        if datatype.starts_with("fp") {
            datatype = datatype.replacen("fp", "f", 1).into();
        }
        Self { datatype, rank, dims, storage: String::new() }
    }

    /// Returns the number of elements, or `None` if a size is not known. Sizes beyond the runtime's rank are ignored: many tensors of a hostile file
    /// may share a long list.
    pub fn elements(&self) -> Option<u64> {
        self.dims.iter().try_fold(1u64, |product, size| Some(product.saturating_mul((*size)?)))
    }

    /// Returns the size of the elements in bytes, or `None` if it is not known. Rows of 4-bit elements start at a new byte.
    pub fn byte_size(&self) -> Option<u64> {
        // The datatype ends with the number of bits: f32, qcint8, u8.
        let name = self.datatype.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let bits: u64 = match &*self.datatype {
            "bool" => 8,
            // A number that the schema does not name.
            datatype if datatype.starts_with("type ") => return None,
            datatype => datatype.get(name.len()..)?.parse().ok().filter(|bits| (1..=64).contains(bits))?,
        };
        let (last, outer) = match self.dims.split_last() {
            Some((last, outer)) => ((*last)?, outer),
            None => (1, &[][..]),
        };
        let row = last.saturating_mul(bits).div_ceil(8);
        outer.iter().try_fold(row, |bytes, size| Some(bytes.saturating_mul((*size)?)))
    }

    /// Returns the size of a dimension, counted from the end if `index` is negative.
    fn dim(&self, index: isize) -> Option<u64> {
        let index = if index < 0 { self.rank.checked_sub(index.unsigned_abs())? } else { index.unsigned_abs() };
        *self.dims.get(index)?
    }
}

/// Displays it as `qcint8[5, 3]`, with `?` for a size that is not known and `…` for dimensions beyond the 16th.
impl fmt::Display for InsideTensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.datatype.is_empty() {
            return Ok(());
        }
        write!(f, "{}[", self.datatype)?;
        for (index, size) in self.dims.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            match size {
                Some(size) => write!(f, "{size}")?,
                None => f.write_str("?")?,
            }
        }
        f.write_str(if self.rank > self.dims.len() { ", …]" } else { "]" })?;
        if self.storage.is_empty() { Ok(()) } else { write!(f, " {}", self.storage) }
    }
}

/// Formats a list: `[1, 2]`, cut after [`MAX_ITEMS`]. `count` is the number of all items.
fn list_text(count: usize, items: impl Iterator<Item = String>) -> String {
    let mut shown: Vec<String> = items.take(MAX_ITEMS).collect();
    if count > shown.len() {
        shown.push(alloc::format!("… {} more", count - shown.len()));
    }
    alloc::format!("[{}]", shown.join(", "))
}

/// Formats a text in quotes, cut after [`MAX_TEXT`] characters.
fn quoted(text: &str) -> String {
    alloc::format!("{:?}", text.chars().take(MAX_TEXT).collect::<String>())
}

fn tensor_text<S: serde::Serializer>(
    tensor: &Arc<InsideTensorType>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    serializer.collect_str(tensor)
}

fn optional_text<S: serde::Serializer>(
    text: &Option<Arc<str>>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&text.as_deref(), serializer)
}
