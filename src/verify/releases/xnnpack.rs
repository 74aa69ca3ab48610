//! The releases whose runtime schema for XNNPACK has a node, a datatype or a field.

use crate::operators::{
    Spans,
    versions::{V0_2, V0_4, V0_6, V0_7, V1_1},
};

/// A table or enumeration of `runtime_schema.fbs`, a member, and the releases whose runtime has it, taken from the release tags 0.2.0 to
/// 1.4.0 and the source of 1.5; sorted.
const MEMBERS: &[(&str, &str, Spans)] = &[
    ("ConstantDataOffset", "named_key", V0_6),
    ("PerChannelGroupQuant", "scale_bf16", V0_4),
    ("PerChannelGroupQuant", "scale_buffer_idx", V0_7),
    ("PerChannelQuant", "scale_buffer_idx", V0_7),
    ("XNNDatatype", "xnn_datatype_bf16", V0_7),
    ("XNNDatatype", "xnn_datatype_fp16", V0_2),
    ("XNNDatatype", "xnn_datatype_fp32", V0_2),
    ("XNNDatatype", "xnn_datatype_int32", V0_7),
    ("XNNDatatype", "xnn_datatype_invalid", V0_2),
    ("XNNDatatype", "xnn_datatype_pfp32", V0_7),
    ("XNNDatatype", "xnn_datatype_qbint4", V0_2),
    ("XNNDatatype", "xnn_datatype_qcint32", V0_2),
    ("XNNDatatype", "xnn_datatype_qcint4", V0_2),
    ("XNNDatatype", "xnn_datatype_qcint8", V0_2),
    ("XNNDatatype", "xnn_datatype_qdint8", V0_2),
    ("XNNDatatype", "xnn_datatype_qint32", V0_2),
    ("XNNDatatype", "xnn_datatype_qint8", V0_2),
    ("XNNDatatype", "xnn_datatype_qpint8", V0_7),
    ("XNNDatatype", "xnn_datatype_quint8", V0_2),
    ("XNodeUnion", "XNNAbs", V0_2),
    ("XNodeUnion", "XNNAdd", V0_2),
    ("XNodeUnion", "XNNArgMaxPooling2d", V0_2),
    ("XNodeUnion", "XNNAvgPooling2d", V0_2),
    ("XNodeUnion", "XNNBatchMatrixMultiply", V0_4),
    ("XNodeUnion", "XNNCeiling", V0_2),
    ("XNodeUnion", "XNNClamp", V0_2),
    ("XNodeUnion", "XNNConcatenate2", V0_2),
    ("XNodeUnion", "XNNConcatenate3", V0_2),
    ("XNodeUnion", "XNNConcatenate4", V0_2),
    ("XNodeUnion", "XNNConcatenate5", V0_6),
    ("XNodeUnion", "XNNConv2d", V0_2),
    ("XNodeUnion", "XNNConvTranspose2d", V0_6),
    ("XNodeUnion", "XNNConvert", V0_2),
    ("XNodeUnion", "XNNCopy", V1_1),
    ("XNodeUnion", "XNNCos", V1_1),
    ("XNodeUnion", "XNNDepthwiseConv2d", V0_2),
    ("XNodeUnion", "XNNDiv", V0_2),
    ("XNodeUnion", "XNNELU", V0_2),
    ("XNodeUnion", "XNNExp", V0_7),
    ("XNodeUnion", "XNNFloor", V0_2),
    ("XNodeUnion", "XNNFullyConnected", V0_2),
    ("XNodeUnion", "XNNGelu", V0_7),
    ("XNodeUnion", "XNNGlobalAvgPooling2d", V0_2),
    ("XNodeUnion", "XNNHardswish", V0_2),
    ("XNodeUnion", "XNNLeakyReLU", V0_2),
    ("XNodeUnion", "XNNLog", V0_7),
    ("XNodeUnion", "XNNMaxPooling2d", V0_2),
    ("XNodeUnion", "XNNMaximum", V0_2),
    ("XNodeUnion", "XNNMinimum", V0_2),
    ("XNodeUnion", "XNNMultiply", V0_2),
    ("XNodeUnion", "XNNNegate", V0_2),
    ("XNodeUnion", "XNNPReLU", V0_2),
    ("XNodeUnion", "XNNReciprocalSquareRoot", V0_6),
    ("XNodeUnion", "XNNScaledDotProductAttention", V0_2),
    ("XNodeUnion", "XNNSigmoid", V0_2),
    ("XNodeUnion", "XNNSin", V1_1),
    ("XNodeUnion", "XNNSoftmax", V0_2),
    ("XNodeUnion", "XNNSquare", V0_2),
    ("XNodeUnion", "XNNSquareRoot", V0_2),
    ("XNodeUnion", "XNNStaticConstantPad", V0_2),
    ("XNodeUnion", "XNNStaticReshape", V0_2),
    ("XNodeUnion", "XNNStaticResizeBilinear2D", V0_2),
    ("XNodeUnion", "XNNStaticSlice", V0_2),
    ("XNodeUnion", "XNNStaticTranspose", V0_2),
    ("XNodeUnion", "XNNSubtract", V0_2),
    ("XNodeUnion", "XNNTanh", V0_7),
];

/// Returns the releases whose runtime has a member of a table or enumeration.
pub(super) fn releases((parent, member): (&str, &str)) -> Option<Spans> {
    let index = MEMBERS.binary_search_by(|(table, name, _)| (*table, *name).cmp(&(parent, member))).ok()?;
    MEMBERS.get(index).map(|(_, _, releases)| *releases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_find_exactly_the_members() {
        for (table, member, known) in MEMBERS {
            assert_eq!(releases((table, member)), Some(*known), "{table}.{member}");
            assert_eq!(releases((table, "x")), None);
        }
    }
}
