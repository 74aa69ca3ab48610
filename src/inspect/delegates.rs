//! The contents of delegates: the number of operators of each kind, and every constant.

use super::{BlobCount, Fault, Name, NameText, NamedBy, Names, OperatorCalls};
use crate::delegate::xnnpack::{Constant, ConstantPlace, ConstantUse};
use crate::delegate::{NamedBlobs, OpenPayload, Payload, Xnnpack, delegate_at};
use crate::file::key_index::KeyIndex;
use crate::file::pte::Pte;
use crate::names::shortened;
use crate::path::{FieldPath, Path};
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
    /// The size, in bytes.
    pub size: u64,
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
    /// Index of the constant in the payload.
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
    /// The type of the elements.
    pub datatype: XNNDatatype,
    /// The size of each dimension, in elements.
    pub sizes: Vec<u32>,
}

pub(crate) fn of_pte<'t>(
    pte: &'t Pte<'_>,
    payloads: &[OpenPayload<'_>],
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
            Ok(_) => continue,
            Err(error) => {
                found.errors.push(Fault { path: path(method, delegate), error: error.clone() });
                continue;
            }
        };
        let start = pte.range(&opened.data).map(|range| range.start);
        for constant in payload.constants() {
            let offset = match &constant.place {
                ConstantPlace::Named { key, .. } => match blobs.get(key) {
                    Ok(blob) => blob.and_then(|blob| Some(pte.range(&blob.data)?.start)),
                    Err(error) => {
                        found.errors.push(Fault { path: path(method, delegate), error });
                        None
                    }
                },
                _ => match payload.constant_bytes(constant.index, &blobs) {
                    Ok(_) => payload.constant_range(constant.index).and_then(|range| Some(start? + range.start)),
                    Err(error) => {
                        found.errors.push(Fault { path: path(method, delegate), error });
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

fn path(method: usize, delegate: usize) -> FieldPath {
    Path::ROOT.item("execution_plan", method).item("delegates", delegate).field("processed").to_field_path()
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
    let size = constant.place.size();
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
            datatype,
            sizes: dims,
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
pub(super) type Operators<'t> = BTreeMap<(usize, &'t str), BTreeMap<&'static str, usize>>;

/// Counts the operators inside all delegates.
pub(super) fn operators<'t>(pte: &'t Pte<'_>, opened: &[OpenPayload<'_>]) -> Operators<'t> {
    let mut all = Operators::new();
    for opened in opened {
        let Ok(Payload::Xnnpack(payload)) = &opened.payload else {
            continue;
        };
        let counts = payload.graph.count_nodes();
        for place in &opened.delegates {
            let (_, delegate) = delegate_at(pte, *place);
            let operators = all.entry((place.0, delegate.id())).or_default();
            for (name, count) in &counts {
                *operators.entry(*name).or_default() += count;
            }
        }
    }
    all
}

/// Counts the constants of all payloads, or only the constants under keys that are missing in this file. Several with the same key are
/// counted once.
pub(super) fn count_constants(opened: &[OpenPayload<'_>], not_in: Option<&KeyIndex<'_>>) -> BlobCount {
    let mut constants = BlobCount::default();
    let mut keys = BTreeSet::new();
    for opened in opened {
        let Ok(Payload::Xnnpack(payload)) = &opened.payload else {
            continue;
        };
        for constant in payload.constants() {
            let is_here = |keys: &KeyIndex<'_>| match &constant.place {
                ConstantPlace::Named { key, .. } => keys.get(key).is_some(),
                _ => true,
            };
            if not_in.is_some_and(is_here) {
                continue;
            }
            constants.users += constant.uses.len();
            let fresh = match &constant.place {
                ConstantPlace::Named { key, .. } => keys.insert(String::from(*key)),
                _ => true,
            };
            if fresh {
                constants.count += 1;
                constants.size = constants.size.saturating_add(constant.place.size());
            }
        }
    }
    constants
}

/// Returns the counts as a list, the most frequent first.
pub(super) fn sorted(operators: &BTreeMap<&'static str, usize>) -> Vec<OperatorCalls> {
    let mut sorted = Vec::with_capacity(operators.len());
    for (name, calls) in operators.iter() {
        sorted.push(OperatorCalls { name: (*name).into(), calls: *calls });
    }
    most_first(&mut sorted);
    sorted
}

/// Sorts the most frequent first.
pub(super) fn most_first(operators: &mut [OperatorCalls]) {
    operators.sort_by(|left, right| right.calls.cmp(&left.calls));
}
