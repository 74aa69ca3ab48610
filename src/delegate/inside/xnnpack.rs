//! The nodes of a payload for XNNPACK.

use super::budget::GraphBudget;
use super::{InsideArgument, InsideData, InsideNode, InsideTensorType, attention_macs};
use crate::delegate::Xnnpack;
use crate::delegate::xnnpack::ConstantPlace;
use crate::error::Result;
use crate::schema::xnnpack::{NO_ID, XNNTensorValue};
use alloc::collections::BTreeMap;
use alloc::{sync::Arc, vec::Vec};

pub(super) fn nodes(payload: &Xnnpack<'_>, budget: &mut GraphBudget) -> Result<Vec<InsideNode>> {
    let tensors = payload.graph.tensors_by_id();
    let mut types: BTreeMap<u32, Arc<InsideTensorType>> = BTreeMap::new();
    let mut argument = |(name, id): (&'static str, u32), output: bool| {
        let tensor = tensors.get(&id).copied();
        let constant = tensor.map(|tensor| tensor.constant_buffer_idx).filter(|index| *index != 0);
        InsideArgument {
            name: name.trim_end_matches("_id").into(),
            id,
            value_name: None,
            output,
            tensor: types.entry(id).or_insert_with(|| Arc::new(tensor.map(of_tensor).unwrap_or_default())).clone(),
            argument: tensor.filter(|tensor| tensor.is_external()).map(|tensor| tensor.external_id),
            constant: constant.is_some(),
            data: constant.map(|index| match payload.constant(index) {
                Some(ConstantPlace::Named { key, .. }) => InsideData::Key(key.into()),
                _ => InsideData::Index(index.into()),
            }),
        }
    };
    let mut nodes = Vec::new();
    for node in payload.graph.xnodes() {
        let ids = node.xnode_union.ids();
        let present = |list: Vec<(&'static str, u32)>| list.into_iter().filter(|(_, id)| *id != NO_ID);
        let mut found = InsideNode::new(node.name());
        found.arguments.extend(present(ids.inputs).map(|input| argument(input, false)));
        found.arguments.extend(present(ids.outputs).map(|output| argument(output, true)));
        found.macs = macs(&found);
        budget.push(&mut nodes, found)?;
    }
    Ok(nodes)
}

fn of_tensor(tensor: &XNNTensorValue<'_>) -> InsideTensorType {
    let dims = tensor.dims().iter().map(|size| Some(u64::from(*size)));
    InsideTensorType::new(tensor.datatype.short_name(), dims)
}

/// Returns the multiply-accumulates of a node. XNNPACK has channels last.
fn macs(node: &InsideNode) -> Option<u64> {
    let per_channel = |tensor: &InsideTensorType| {
        let filter = node.input("filter")?.elements()?;
        Some((tensor.elements()? / tensor.dim(-1)?.max(1)).saturating_mul(filter))
    };
    match &*node.operator {
        "XNNConv2d" | "XNNDepthwiseConv2d" | "XNNFullyConnected" => per_channel(node.output()?),
        "XNNConvTranspose2d" => per_channel(node.input("input1")?),
        "XNNBatchMatrixMultiply" => Some(node.output()?.elements()?.saturating_mul(node.input("input1")?.dim(-1)?)),
        "XNNScaledDotProductAttention" => attention_macs(node),
        "" | "unknown" | "NONE" => None,
        _ => Some(0),
    }
}
