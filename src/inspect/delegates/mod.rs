//! The contents of delegates: the number of operators of each kind, and every constant.

pub(super) mod payloads;

use super::{BlobCount, Fault, Name, NameText, NamedBy, Names, OperatorCalls};
use crate::analysis::Analysis;
use crate::delegate::xnnpack::{Constant, ConstantPlace, ConstantUse};
use crate::delegate::{AotTensor, NamedBlobs, OpenPayload, Payload, Xnnpack, delegate_at, payload_path};
use crate::file::key_index::KeyIndex;
use crate::file::pte::Pte;
use crate::names::shortened;
use crate::path::Path;
use crate::schema::ScalarType;
use crate::schema::xnnpack::XNNDatatype;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{string::String, vec, vec::Vec};

/// The constants inside the payloads of a file.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateConstants<'t> {
    /// Each use of each constant, payload by payload.
    pub constants: Vec<DelegateConstant<'t>>,
    /// Payloads that cannot be parsed, and constants that are not in the file.
    pub errors: Vec<Fault>,
}

/// A constant inside a payload, with one of its users.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateConstant<'t> {
    /// The offset in bytes from the start of the file; `None` if the file does not contain the constant.
    pub offset: Option<u64>,
    /// The size, in bytes; `None` if the payload does not state it and the data is not at hand.
    pub size: Option<u64>,
    /// The user of the constant.
    pub user: DelegateConstantUser<'t>,
}

/// A user of a constant inside a payload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateConstantUser<'t> {
    /// The method's name; `None` for a payload in a file of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'t str>,
    /// Index into the method's delegates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<usize>,
    /// Index of the constant, tensor or block in the payload.
    pub constant: u32,
    /// The key in the named data of this file or of a `.ptd`, [`shortened`](crate::text::shortened).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Index of the value in the payload; `None` if no value uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<usize>,
    /// The value's name, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<NameText<'t>>,
    /// The origin of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// `true` if the constant holds the value's scales instead of its elements.
    pub scales: bool,
    /// The type of the elements of an XNNPACK constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype: Option<XNNDatatype>,
    /// The type of the elements of a tensor for CUDA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalar_type: Option<ScalarType>,
    /// The size of each dimension, in elements.
    pub sizes: Vec<u32>,
    /// The distance between neighbours in each dimension in elements, if it is not that of the natural order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strides: Option<Vec<u64>>,
}

pub(crate) fn of_pte<'t>(
    pte: &'t Pte<'_>,
    payloads: &[OpenPayload<'t>],
    looked_up: &NamedBlobs<'t>,
    names: Option<&Names<'t>>,
) -> DelegateConstants<'t> {
    let blobs = NamedBlobs::new(pte, []);
    let mut found = DelegateConstants::default();
    for opened in payloads {
        let Some((method, delegate)) = opened.delegates.first().copied() else {
            continue;
        };
        let (plan, _) = delegate_at(pte, (method, delegate));
        let payload = match &opened.payload {
            Ok(Payload::Xnnpack(payload)) => payload,
            Ok(Payload::AotInductor(aot)) => {
                let place = |key: &str| Some(pte.range(&blobs.get(key).ok()??.data)?.start);
                let tensors = aot.tensors.iter().zip(0..);
                found.constants.extend(tensors.map(|(tensor, index)| DelegateConstant {
                    offset: place(tensor.key),
                    size: Some(tensor.storage_size),
                    user: of_tensor(tensor, index, (plan.name(), delegate)),
                }));
                continue;
            }
            Ok(Payload::EthosU(ethos_u)) => {
                for (block, index) in ethos_u.blocks.iter().zip(0..).filter(|(block, _)| block.external) {
                    let key = String::from_utf8_lossy(block.data);
                    let blob = looked_up.get(&key).ok().flatten();
                    let own = blob.filter(|blob| blob.file == 0).and_then(|blob| pte.range(&blob.data));
                    let name = core::str::from_utf8(block.name).ok();
                    found.constants.push(DelegateConstant {
                        offset: own.map(|range| range.start),
                        size: blob.map(|blob| blob.bytes.len() as u64),
                        user: of_key(name, index, &key, (plan.name(), delegate)),
                    });
                }
                continue;
            }
            Ok(_) => continue,
            Err(error) => {
                found.errors.push(Fault { path: payload_path(method, delegate), error: error.clone() });
                continue;
            }
        };
        let start = pte.range(&opened.data).map(|range| range.start);
        for constant in payload.constants() {
            let offset = match &constant.place {
                ConstantPlace::Named { key, .. } => match blobs.get(key) {
                    Ok(blob) => blob.and_then(|blob| Some(pte.range(&blob.data)?.start)),
                    Err(error) => {
                        found.errors.push(Fault { path: payload_path(method, delegate), error });
                        None
                    }
                },
                _ => match payload.constant_bytes(constant.index, &blobs) {
                    Ok(_) => payload.constant_range(constant.index).and_then(|range| Some(start? + range.start)),
                    Err(error) => {
                        found.errors.push(Fault { path: payload_path(method, delegate), error });
                        None
                    }
                },
            };
            let uses = uses(&constant, offset, Some(plan.name()), Some(delegate));
            found.constants.extend(uses.into_iter().map(|mut used| {
                let name = used.user.value.and_then(|value| names?.constant(method, delegate, value));
                (used.user.name, used.user.named_by) = Name::fields(name);
                used
            }));
        }
    }
    found
}

/// Describes a tensor of a payload for CUDA.
fn of_tensor<'t>(tensor: &AotTensor<'t>, index: u32, place: (&'t str, usize)) -> DelegateConstantUser<'t> {
    DelegateConstantUser {
        scalar_type: Some(tensor.scalar_type),
        sizes: tensor.sizes.iter().map(|size| size.unsigned_abs()).collect(),
        strides: (!tensor.is_natural()).then(|| tensor.strides.clone()),
        ..of_key(Some(tensor.name), index, tensor.key, place)
    }
}

/// Describes data under a key, with the name that the payload gives it.
fn of_key<'t>(
    name: Option<&'t str>,
    index: u32,
    key: &str,
    (method, delegate): (&'t str, usize),
) -> DelegateConstantUser<'t> {
    DelegateConstantUser {
        method: Some(method),
        delegate: Some(delegate),
        constant: index,
        key: Some(shortened(key).into()),
        value: None,
        name: name.map(NameText::from),
        named_by: name.map(|_| NamedBy::File),
        scales: false,
        datatype: None,
        scalar_type: None,
        sizes: Vec::new(),
        strides: None,
    }
}

pub(super) fn of_payload<'t>(xnnpack: &'t Xnnpack<'_>) -> DelegateConstants<'t> {
    let mut found = DelegateConstants::default();
    for constant in xnnpack.constants() {
        if !matches!(constant.place, ConstantPlace::Named { .. }) {
            if let Err(error) = xnnpack.constant_bytes(constant.index, &NamedBlobs::NONE) {
                let path = Path::ROOT.item("constant_data", constant.index as usize).to_field_path();
                found.errors.push(Fault { path, error });
                continue;
            }
        }
        let offset = xnnpack.constant_range(constant.index).map(|range| range.start);
        found.constants.extend(uses(&constant, offset, None, None));
    }
    found
}

/// Returns an entry for each use of a constant, or an entry without a value for an unused constant.
fn uses<'m>(
    constant: &Constant<'_>,
    offset: Option<u64>,
    method: Option<&'m str>,
    delegate: Option<usize>,
) -> Vec<DelegateConstant<'m>> {
    let size = Some(constant.place.size());
    let key = match &constant.place {
        ConstantPlace::Named { key, .. } => Some(String::from(shortened(key))),
        _ => None,
    };
    let row = |value, scales, datatype, dims| {
        let key = key.clone();
        let (constant, name, named_by) = (constant.index, None, None);
        let user = DelegateConstantUser {
            method,
            delegate,
            constant,
            key,
            value,
            name,
            named_by,
            scales,
            datatype: Some(datatype),
            scalar_type: None,
            sizes: dims,
            strides: None,
        };
        DelegateConstant { offset, size, user }
    };
    if constant.uses.is_empty() {
        return vec![row(None, false, XNNDatatype::INVALID, Vec::new())];
    }
    let uses = constant.uses.iter().map(|used| match used {
        ConstantUse::Tensor { value, tensor } => row(Some(*value), false, tensor.datatype, tensor.dims().into()),
        ConstantUse::Scales { value, count, element_size } => {
            let datatype = if *element_size == 2 { XNNDatatype::BF16 } else { XNNDatatype::FP32 };
            row(Some(*value), true, datatype, vec![*count])
        }
    });
    uses.collect()
}

/// The number of operators of each kind inside the delegates, by method and backend.
pub(super) type Operators<'t> = BTreeMap<(usize, &'t str), BTreeMap<String, usize>>;

/// Counts the operators inside all delegates.
pub(super) fn operators<'t>(analysis: &Analysis<'t>) -> Operators<'t> {
    let mut all = Operators::new();
    for (opened, graph) in analysis.payloads_with_graphs() {
        let Some(graph) = graph else { continue };
        let counts = graph.count_nodes();
        for place in &opened.delegates {
            let (_, delegate) = delegate_at(analysis.pte(), *place);
            let operators = all.entry((place.0, delegate.id())).or_default();
            for (name, count) in &counts {
                *operators.entry((*name).into()).or_default() += count;
            }
        }
    }
    all
}

/// Counts the constants of all payloads and other data that they look up by key, or only the data under keys that are missing in this file.
/// Data with the same key is counted once.
pub(super) fn count_constants(
    opened: &[OpenPayload<'_>],
    blobs: &NamedBlobs<'_>,
    not_in: Option<&KeyIndex<'_>>,
) -> BlobCount {
    let mut constants = BlobCount::NONE;
    let mut keys = BTreeSet::new();
    let mut count = |key: Option<&str>, size: Option<u64>, users: usize| {
        if not_in.is_some_and(|index| key.is_none_or(|key| index.get(key).is_some())) {
            return;
        }
        constants.users += users;
        if key.is_none_or(|key| keys.insert(String::from(key))) {
            constants.count += 1;
            constants.add_size(size);
        }
    };
    for payload in opened.iter().filter_map(|opened| opened.payload.as_ref().ok()) {
        if let Payload::Xnnpack(payload) = payload {
            for constant in payload.constants() {
                let key = match &constant.place {
                    ConstantPlace::Named { key, .. } => Some(*key),
                    _ => None,
                };
                count(key, Some(constant.place.size()), constant.uses.len());
            }
            continue;
        }
        for reference in payload.key_references().unwrap_or_default() {
            count(Some(&reference.key), reference.size.or_else(|| blobs.size(&reference.key)), 1);
        }
    }
    constants
}

/// Returns the counts as a list, the most frequent first.
pub(super) fn sorted(operators: &BTreeMap<String, usize>) -> Vec<OperatorCalls> {
    let mut sorted = Vec::with_capacity(operators.len());
    for (name, calls) in operators.iter() {
        sorted.push(OperatorCalls { name: name.clone(), calls: *calls });
    }
    most_first(&mut sorted);
    sorted
}

/// Sorts the most frequent first.
pub(super) fn most_first(operators: &mut [OperatorCalls]) {
    operators.sort_by_key(|operator| core::cmp::Reverse(operator.calls));
}
