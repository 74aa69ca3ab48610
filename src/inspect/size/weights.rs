//! The weights of XNNPACK and CUDA, in payloads or in named data, by method, type and operator.

use crate::delegate::AotTensor;
use crate::delegate::OpenPayload;
use crate::delegate::xnnpack::{ConstantPlace, ConstantUse};
use crate::delegate::{Payload, Xnnpack, delegate_at};
use crate::file::pte::Pte;
use crate::schema::ScalarType;
use crate::schema::xnnpack::XNNDatatype;
use alloc::{string::String, vec, vec::Vec};

/// The weights in a payload.
pub(super) struct PayloadWeights<'t> {
    /// The methods whose delegates have the payload, each once.
    pub(super) methods: Vec<&'t str>,
    pub(super) ids: Vec<&'t str>,
    pub(super) weights: Vec<Weight>,
}

/// A constant.
pub(super) struct Weight {
    /// The key, if the constant is not in the payload itself.
    pub(super) key: Option<String>,
    /// The size stated in the payload, in bytes.
    pub(super) bytes: u64,
    /// The type of the elements and its name; `None` for an unused constant.
    pub(super) of_type: Option<(Option<ScalarType>, String)>,
    /// The kinds of the nodes that use it, such as `XNNFullyConnected`, each once; an empty one for the backend as a whole.
    pub(super) nodes: Vec<&'static str>,
}

/// Returns the weights in all readable payloads of XNNPACK and CUDA.
pub(super) fn weights<'t>(pte: &'t Pte<'_>, payloads: &[OpenPayload<'_>]) -> Vec<PayloadWeights<'t>> {
    let mut all = Vec::new();
    for opened in payloads {
        let weights = match &opened.payload {
            Ok(Payload::Xnnpack(xnnpack)) => of_payload(xnnpack),
            Ok(Payload::AotInductor(aot)) => aot.tensors.iter().map(of_tensor).collect(),
            _ => continue,
        };
        let (mut methods, mut ids) = (Vec::new(), Vec::new());
        for place in &opened.delegates {
            let (plan, delegate) = delegate_at(pte, *place);
            methods.push(plan.name());
            ids.push(delegate.id());
        }
        for names in [&mut methods, &mut ids] {
            names.sort();
            names.dedup();
        }
        all.push(PayloadWeights { methods, ids, weights });
    }
    all
}

/// Describes a tensor for CUDA, which counts for its backend.
fn of_tensor(tensor: &AotTensor<'_>) -> Weight {
    let of_type = Some((Some(tensor.scalar_type), super::uses::type_name(tensor.scalar_type)));
    Weight { key: Some(tensor.key.into()), bytes: tensor.storage_size, of_type, nodes: vec![""] }
}

/// Returns the weights of an XNNPACK payload.
pub(super) fn of_payload(xnnpack: &Xnnpack<'_>) -> Vec<Weight> {
    let ids = xnnpack.graph.values_by_id();
    let mut users: Vec<(usize, &'static str)> = Vec::new();
    for node in xnnpack.graph.xnodes() {
        for (_, id) in node.xnode_union.ids().inputs {
            users.extend(ids.get(&id).map(|value| (*value, node.name())));
        }
    }
    users.sort();
    users.dedup();
    let mut weights = Vec::new();
    for constant in xnnpack.constants() {
        let key = match constant.place {
            ConstantPlace::Named { key, .. } => Some(String::from(key)),
            _ => None,
        };
        let of_type = constant.uses.first().map(|used| match used {
            ConstantUse::Tensor { tensor, .. } => type_of(tensor.datatype),
            ConstantUse::Scales { element_size: 2, .. } => type_of(XNNDatatype::BF16),
            ConstantUse::Scales { .. } => type_of(XNNDatatype::FP32),
        });
        let mut nodes = Vec::new();
        for used in &constant.uses {
            let (ConstantUse::Tensor { value, .. } | ConstantUse::Scales { value, .. }) = used;
            let first = users.partition_point(|(other, _)| other < value);
            nodes.extend(users.iter().skip(first).take_while(|(other, _)| other == value).map(|(_, node)| *node));
        }
        nodes.sort();
        nodes.dedup();
        weights.push(Weight { key, bytes: constant.place.size(), of_type, nodes });
    }
    weights
}

/// Returns the schema's type and its name if PyTorch has the type too; otherwise XNNPACK's name, such as `qcint8`.
fn type_of(datatype: XNNDatatype) -> (Option<ScalarType>, String) {
    let plain = [XNNDatatype::FP32, XNNDatatype::FP16, XNNDatatype::BF16, XNNDatatype::INT32];
    (datatype.scalar_type().filter(|_| plain.contains(&datatype)), datatype.short_name())
}
