//! The datatypes for which XNNPACK has an operator. They follow `validate_datatypes` of XNNPACK's `subgraph/*.c`.

use super::super::report::Report;
use super::super::rule;
use super::{Graph, dataflow};
use crate::path::Path;
use crate::schema::xnnpack::{NO_ID, XNNDatatype as Type, XNNQuantParams, XNode, XNodeUnion};
use alloc::{format, string::String, vec::Vec};

/// Checks the datatypes of a node. `kept` is `true` if XNNPACK creates an operator from the node.
pub(super) fn check(graph: &Graph<'_>, node: &XNode<'_>, kept: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let ids = node.xnode_union.ids();
    let types = |list: &[(&str, u32)]| -> Vec<Type> {
        list.iter().filter(|(_, id)| *id != NO_ID).filter_map(|(_, id)| graph.datatype(*id)).collect()
    };
    let (inputs, outputs) = (types(&ids.inputs), types(&ids.outputs));
    let converts = matches!(node.xnode_union, XNodeUnion::XNNClamp(_)) && unclamped(node);
    if (converts && inputs != outputs) || !fits(&node.xnode_union, &inputs, &outputs) {
        // XNNPACK checks nodes with one input last, after removing unneeded nodes; likewise the output of an average.
        let is_average = matches!(node.xnode_union, XNodeUnion::XNNGlobalAvgPooling2d(_));
        let is_last = dataflow::in_a_row(&node.xnode_union)
            || (is_average && inputs.iter().all(|input| QUANTIZED_OR_PLAIN.contains(input)));
        if !report.concerns(kept || !is_last) {
            return;
        }
        let list = |types: &[Type]| -> String {
            let names: Vec<String> = types.iter().map(|datatype| datatype.short_name()).collect();
            names.join(", ")
        };
        let found = format!("{} to {}, for which XNNPACK has no operator", list(&inputs), list(&outputs));
        let rule = if converts { rule::XNNPACK_CLAMP_DATATYPES } else { rule::XNNPACK_NODE_DATATYPES };
        return report.add(rule, path, found);
    }
    if report.is_strict() && reinterprets(&node.xnode_union, &inputs, &outputs) {
        let found = "a resize from one 8-bit type to the other, which does not convert the values: their signs change";
        report.add(rule::XNNPACK_NODE_DATATYPES, path, found);
    }
    if keeps_scale(&node.xnode_union) {
        same_scale(graph, &ids.inputs, &ids.outputs, path, report);
    }
}

/// Returns `true` if the node has no limits.
pub(super) fn unclamped(node: &XNode<'_>) -> bool {
    node.output_min_max.is_none_or(|range| range.output_min == f32::NEG_INFINITY && range.output_max == f32::INFINITY)
}

fn fits(node: &XNodeUnion<'_>, inputs: &[Type], outputs: &[Type]) -> bool {
    let [output, ..] = outputs else {
        return true;
    };
    let all = |types: &[Type]| types.contains(output) && inputs.iter().all(|input| input == output);
    let same = |more: &[Type]| all(QUANTIZED_OR_PLAIN) || all(more);
    match node {
        XNodeUnion::XNNFullyConnected(_) => multiplies(inputs, *output, true),
        XNodeUnion::XNNConv2d(_) => multiplies(inputs, *output, false),
        XNodeUnion::XNNDepthwiseConv2d(_) => {
            inputs.first() != Some(&Type::QDINT8) && multiplies(inputs, *output, false)
        }
        XNodeUnion::XNNConvTranspose2d(_) => match inputs {
            [Type::FP16, Type::FP16, ..] => false,
            [Type::QDINT8, ..] if *output == Type::FP16 => false,
            _ => multiplies(inputs, *output, false),
        },
        XNodeUnion::XNNBatchMatrixMultiply(_) => {
            let widened = matches!(inputs, [Type::QDINT8 | Type::FP32, Type::QCINT8] | [Type::BF16, Type::BF16]);
            all(&[Type::FP32, Type::FP16, Type::QINT8]) || (*output == Type::FP32 && widened)
        }
        XNodeUnion::XNNConvert(_) => match inputs {
            [input] => converts(*input, *output),
            _ => true,
        },
        XNodeUnion::XNNSoftmax(_) => all(&[Type::FP32, Type::FP16]),
        // XNNPACK checks each of these types by itself.
        XNodeUnion::XNNGlobalAvgPooling2d(_) => match inputs {
            [input] => QUANTIZED_OR_PLAIN.contains(input) && ![Type::QDINT8, Type::QPINT8].contains(output),
            _ => true,
        },
        XNodeUnion::XNNAvgPooling2d(_) => {
            let plain = [Type::FP32, Type::FP16];
            inputs.iter().chain([output]).all(|datatype| plain.contains(datatype))
        }
        XNodeUnion::XNNStaticResizeBilinear2D(_) => same(&[]) || resizes(inputs, *output),
        XNodeUnion::XNNMaxPooling2d(_) => same(&[]),
        XNodeUnion::XNNArgMaxPooling2d(_) => inputs == [Type::FP32] && *output == Type::FP32,
        // Another rule reports this.
        XNodeUnion::XNNScaledDotProductAttention(_) => true,
        XNodeUnion::XNNStaticTranspose(_)
        | XNodeUnion::XNNStaticReshape(_)
        | XNodeUnion::XNNStaticSlice(_)
        | XNodeUnion::XNNStaticConstantPad(_)
        | XNodeUnion::XNNCopy(_) => same(&[Type::BF16, Type::INT32, Type::QINT32]),
        XNodeUnion::XNNConcatenate2(_)
        | XNodeUnion::XNNConcatenate3(_)
        | XNodeUnion::XNNConcatenate4(_)
        | XNodeUnion::XNNConcatenate5(_)
        | XNodeUnion::XNNAdd(_)
        | XNodeUnion::XNNSubtract(_)
        | XNodeUnion::XNNMultiply(_)
        | XNodeUnion::XNNDiv(_)
        | XNodeUnion::XNNMinimum(_)
        | XNodeUnion::XNNMaximum(_) => same(&[Type::BF16, Type::INT32]),
        XNodeUnion::XNNPReLU(_) => same(&[Type::BF16]),
        // The others are elementwise.
        _ => {
            let integers = matches!(
                node,
                XNodeUnion::XNNAbs(_) | XNodeUnion::XNNClamp(_) | XNodeUnion::XNNNegate(_) | XNodeUnion::XNNSquare(_)
            );
            let wide = matches!((inputs, *output), ([Type::FP32 | Type::BF16], Type::FP32 | Type::BF16));
            same(&[]) || wide || (integers && all(&[Type::INT32]))
        }
    }
}

const QUANTIZED_OR_PLAIN: &[Type] = &[Type::FP32, Type::FP16, Type::QINT8, Type::QUINT8];

fn resizes(inputs: &[Type], output: Type) -> bool {
    match inputs {
        [Type::FP32] => output == Type::FP16,
        [Type::FP16] => output == Type::FP32,
        // A resize to the other 8-bit type is accepted, too; `reinterprets` detects the fault.
        [Type::QINT8 | Type::QUINT8] => QUANTIZED_OR_PLAIN.contains(&output),
        _ => false,
    }
}

/// Returns `true` for a resize between signed and unsigned 8-bit values: XNNPACK checks each type by itself.
fn reinterprets(node: &XNodeUnion<'_>, inputs: &[Type], outputs: &[Type]) -> bool {
    matches!(node, XNodeUnion::XNNStaticResizeBilinear2D(_))
        && matches!((inputs, outputs), ([Type::QINT8], [Type::QUINT8]) | ([Type::QUINT8], [Type::QINT8]))
}

fn converts(input: Type, output: Type) -> bool {
    let numbers = [Type::FP32, Type::FP16, Type::BF16, Type::INT32, Type::QINT8, Type::QUINT8];
    match (input, output) {
        (Type::FP32, Type::QDINT8 | Type::QPINT8) | (Type::FP16, Type::QDINT8) | (Type::QINT8, Type::QCINT8) => true,
        _ => numbers.contains(&input) && numbers.contains(&output),
    }
}

/// Returns `true` if XNNPACK multiplies these inputs (input, filter and an optional bias) to that output. `dense` is `false` for a
/// convolution.
fn multiplies(inputs: &[Type], output: Type, dense: bool) -> bool {
    let (input, filter, bias) = match inputs {
        [input, filter] => (*input, *filter, None),
        [input, filter, bias] => (*input, *filter, Some(*bias)),
        _ => return true,
    };
    let with = |expected: &[Type]| bias.is_none_or(|bias| expected.contains(&bias));
    let float = [Type::FP32, Type::FP16].contains(&output);
    match (input, filter) {
        (Type::FP32, Type::FP32) => output == Type::FP32 && with(&[Type::FP32]),
        (Type::FP16, Type::FP32) => output == Type::FP16 && with(&[Type::FP32]),
        (Type::FP16, Type::FP16) => output == Type::FP16 && with(&[Type::FP16, Type::FP32]),
        (Type::FP32, Type::FP16) => output == Type::FP32 && with(&[Type::FP16, Type::FP32]),
        (Type::BF16, Type::BF16) => dense && [Type::FP32, Type::BF16].contains(&output) && with(&[Type::FP32]),
        (Type::FP32, Type::QCINT4 | Type::QCINT8) => dense && output == Type::FP32 && with(&[Type::FP32]),
        (Type::QDINT8, Type::QCINT8) => float && with(&[Type::FP32]),
        (Type::QDINT8, Type::QCINT4) => dense && float && with(&[Type::FP32]),
        (Type::QDINT8, Type::QBINT4) => dense && (float || output == Type::BF16) && with(&[Type::FP32]),
        (Type::QPINT8, Type::QCINT8 | Type::QCINT4 | Type::QBINT4) => {
            dense && output == Type::FP32 && with(&[Type::FP32])
        }
        (Type::QINT8, Type::QCINT8 | Type::QCINT4) => {
            let biases: &[Type] = if dense { &[Type::QCINT32, Type::QINT32] } else { &[Type::QCINT32] };
            (dense || filter == Type::QCINT8) && output == Type::QINT8 && with(biases)
        }
        (Type::QINT8, Type::QINT8) => output == Type::QINT8 && with(&[Type::QINT32]),
        (Type::QUINT8, Type::QUINT8) => output == Type::QUINT8 && with(&[Type::QINT32]),
        _ => false,
    }
}

/// Returns `true` for nodes that move values without changing them.
fn keeps_scale(node: &XNodeUnion<'_>) -> bool {
    matches!(
        node,
        XNodeUnion::XNNStaticTranspose(_)
            | XNodeUnion::XNNStaticReshape(_)
            | XNodeUnion::XNNStaticSlice(_)
            | XNodeUnion::XNNStaticResizeBilinear2D(_)
            | XNodeUnion::XNNStaticConstantPad(_)
            | XNodeUnion::XNNMaxPooling2d(_)
            | XNodeUnion::XNNCopy(_)
            | XNodeUnion::XNNConcatenate2(_)
            | XNodeUnion::XNNConcatenate3(_)
            | XNodeUnion::XNNConcatenate4(_)
            | XNodeUnion::XNNConcatenate5(_)
    )
}

fn same_scale(
    graph: &Graph<'_>,
    inputs: &[(&'static str, u32)],
    outputs: &[(&'static str, u32)],
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let scale = |id: u32| match graph.value(id)?.0.quant_params()? {
        XNNQuantParams::PerTensorQuant(quantization) => Some((quantization.scale, quantization.zero_point)),
        _ => None,
    };
    let Some(output) = outputs.first().and_then(|(_, id)| scale(*id)) else {
        return;
    };
    for (field, id) in inputs {
        if let Some(input) = scale(*id).filter(|input| *input != output) {
            let found = format!(
                "scale {:e} and zero point {}, expected those of the output, {:e} and {}",
                input.0, input.1, output.0, output.1
            );
            report.add(rule::XNNPACK_NODE_DATATYPES, &path.field(field), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_types_that_kernels_support() {
        for (input, filter, bias, output, dense, expected) in [
            (Type::QDINT8, Type::QBINT4, Type::FP32, Type::BF16, true, true),
            (Type::QDINT8, Type::QBINT4, Type::FP32, Type::FP16, true, true),
            (Type::QDINT8, Type::QBINT4, Type::FP32, Type::QINT8, true, false),
            (Type::QDINT8, Type::QBINT4, Type::FP32, Type::FP32, false, false),
            (Type::QDINT8, Type::QCINT4, Type::FP32, Type::QINT8, true, false),
            (Type::QDINT8, Type::QCINT4, Type::FP32, Type::FP32, false, false),
            (Type::QPINT8, Type::QBINT4, Type::FP32, Type::FP32, true, true),
            (Type::QPINT8, Type::QBINT4, Type::FP32, Type::FP16, true, false),
            (Type::BF16, Type::BF16, Type::FP32, Type::BF16, true, true),
            (Type::BF16, Type::BF16, Type::BF16, Type::BF16, true, false),
            (Type::FP32, Type::FP16, Type::FP16, Type::FP32, false, true),
            (Type::FP32, Type::FP16, Type::FP16, Type::FP16, false, false),
        ] {
            let found = multiplies(&[input, filter, bias], output, dense);
            assert_eq!(found, expected, "{input} and {filter} with {bias} to {output}, dense: {dense}");
        }
    }
}
