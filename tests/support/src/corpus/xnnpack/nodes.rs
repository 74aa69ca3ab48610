//! Damage to nodes.

use super::{
    CONV, DEPTHWISE, GROUPS, LINEAR, QUANT, SHAPES, SLICES, UPSAMPLE, convolution, dense, graph, node, quantization,
    slice, tensor,
};
use crate::corpus::{Case, Damage, list};
use executorch_format::schema::xnnpack::*;

pub fn cases() -> Vec<Case> {
    vec![
        graph("xnnpack-value-id", "xnnpack-value-id", CONV, "a node that reads value 77 of 6", |payload| {
            match node(payload, 0) {
                XNodeUnion::XNNStaticTranspose(transpose) => transpose.input_id = 77,
                other => panic!("{other:?}"),
            }
        }),
        graph("xnnpack-no-input", "xnnpack-value-id", CONV, "a node without an input", |payload| {
            match node(payload, 0) {
                XNodeUnion::XNNStaticTranspose(transpose) => transpose.input_id = NO_ID,
                other => panic!("{other:?}"),
            }
        }),
        graph("xnnpack-perm", "xnnpack-node", CONV, "a transpose by 0, 0, 2, 3", |payload| match node(payload, 0) {
            XNodeUnion::XNNStaticTranspose(transpose) => transpose.perm = list(&[0, 0, 2, 3]),
            other => panic!("{other:?}"),
        }),
        graph("xnnpack-stride", "xnnpack-node", CONV, "a stride of 0", |payload| {
            convolution(payload, 1).subsampling_height = 0;
        }),
        graph("xnnpack-depthwise", "xnnpack-node", DEPTHWISE, "no input channels in a group", |payload| {
            convolution(payload, 1).group_input_channels = 0;
        })
        .history("a division by zero (SIGILL) in ExecuTorch 1.5.1"),
        graph(
            "xnnpack-same-padding",
            "xnnpack-node",
            CONV,
            "TensorFlow's SAME padding and explicit padding",
            |payload| {
                convolution(payload, 1).flags = 4;
            },
        ),
        graph("xnnpack-slice-uneven", "xnnpack-node", SLICES, "a slice with 2 sizes and 3 offsets", |payload| {
            slice(payload, 0).sizes = list(&[2, 5]);
        }),
        Case::new(
            "xnnpack-paddings",
            "xnnpack-padding",
            SHAPES,
            "a pad of a tensor of 3 dimensions with 1 padding",
            Damage::Payload(1, |payload| match node(payload, 1) {
                XNodeUnion::XNNStaticConstantPad(pad) => pad.post_paddings = list(&[1]),
                other => panic!("{other:?}"),
            }),
        )
        .strict()
        .history("shapes made of memory in ExecuTorch 1.5.1"),
        graph("xnnpack-resize-flags", "xnnpack-node", UPSAMPLE, "a resize in two modes at once", |payload| match node(
            payload, 1,
        ) {
            XNodeUnion::XNNStaticResizeBilinear2D(resize) => resize.flags = 12,
            other => panic!("{other:?}"),
        }),
        graph("xnnpack-attention", "xnnpack-node", LINEAR, "an XNNScaledDotProductAttention", |payload| {
            *node(payload, 0) = XNodeUnion::XNNScaledDotProductAttention(XNNScaledDotProductAttention {
                query_id: 0,
                key_id: 1,
                value_id: 1,
                scale_id: 2,
                mask_id: 2,
                output_id: 3,
                flags: 0,
            });
        }),
        graph(
            "xnnpack-node-datatypes",
            "xnnpack-node-datatypes",
            QUANT,
            "a conversion to qint8 that a copy stands for",
            |payload| {
                *node(payload, 0) =
                    XNodeUnion::XNNCopy(XNNNode1x1 { input_id: 0, output_id: 1, ..XNNNode1x1::default() });
            },
        ),
        graph(
            "xnnpack-clamp-datatypes",
            "xnnpack-clamp-datatypes",
            QUANT,
            "a conversion to qint8 that a clamp without a range stands for",
            |payload| {
                *node(payload, 0) =
                    XNodeUnion::XNNClamp(XNNNode1x1 { input_id: 0, output_id: 1, ..XNNNode1x1::default() });
            },
        ),
        graph(
            "xnnpack-scale-changes",
            "xnnpack-node-datatypes",
            QUANT,
            "a transpose from one scale to another",
            |payload| match quantization(payload, 1) {
                XNNQuantParams::PerTensorQuant(quantization) => quantization.scale *= 2.0,
                other => panic!("{other:?}"),
            },
        ),
        graph("xnnpack-kernel", "xnnpack-weights-shape", CONV, "a kernel of 3x2 with weights of 3x3", |payload| {
            convolution(payload, 1).kernel_width = 2;
        })
        .also("xnnpack-node-shape"),
        graph("xnnpack-bias-shape", "xnnpack-weights-shape", LINEAR, "a bias of two dimensions", |payload| {
            let bias = tensor(payload, 2);
            (bias.dims, bias.num_dims) = (list(&[1, 5]), 2);
        }),
        graph("xnnpack-no-weights", "xnnpack-weights", CONV, "weights without data", |payload| {
            tensor(payload, 2).constant_buffer_idx = 0;
        })
        .also("xnnpack-constants")
        .history("memory becomes weights in ExecuTorch 1.5.1"),
        graph(
            "xnnpack-computed-weights",
            "xnnpack-computed-weights",
            LINEAR,
            "a bias that is the output of an earlier node",
            |payload| {
                let copy = XNodeUnion::XNNCopy(XNNNode1x1 { input_id: 2, output_id: 4, ..XNNNode1x1::default() });
                payload.graph.xnodes.as_mut().unwrap().insert(0, XNode { xnode_union: copy, ..XNode::default() });
                let mut bias = payload.graph.xvalues()[2].clone();
                let tensor = bias.tensor_mut().unwrap();
                (tensor.id_out, tensor.constant_buffer_idx) = (4, 0);
                payload.graph.xvalues.as_mut().unwrap().push(bias);
                dense(payload, 1).bias_id = 4;
            },
        ),
        graph(
            "xnnpack-never-written",
            "xnnpack-dataflow",
            CONV,
            "a convolution of a value that nothing writes",
            |payload| {
                payload.graph.xnodes.as_mut().unwrap().remove(0);
            },
        )
        .history("SIGABRT when run in ExecuTorch 1.5.1"),
        graph("xnnpack-written-late", "xnnpack-dataflow", CONV, "two nodes in the wrong order", |payload| {
            payload.graph.xnodes.as_mut().unwrap().swap(0, 1);
        }),
        graph("xnnpack-written-twice", "xnnpack-dataflow", CONV, "a node twice", |payload| {
            let copy = payload.graph.xnodes()[0].clone();
            payload.graph.xnodes.as_mut().unwrap().insert(0, copy);
        })
        .strict(),
        graph("xnnpack-node-flags", "xnnpack-node-flags", LINEAR, "a multiplication with flag 2", |payload| {
            dense(payload, 0).flags = 2;
        }),
        graph(
            "xnnpack-output-constant",
            "xnnpack-output",
            LINEAR,
            "a multiplication that writes its bias",
            |payload| {
                dense(payload, 0).output_id = 2;
            },
        )
        .also("xnnpack-dataflow")
        .strict(),
        graph("xnnpack-dynamic", "xnnpack-dynamic", GROUPS, "no conversion before a multiplication", |payload| {
            payload.graph.xnodes.as_mut().unwrap().remove(0);
        })
        .also("xnnpack-dataflow")
        .history("SIGSEGV in ExecuTorch 1.5.1"),
        graph("xnnpack-chain", "xnnpack-chain", QUANT, "ten negations in a row", |payload| {
            for number in 0..10 {
                let input_id = if number == 0 { 1 } else { 99 + number };
                let xnode_union = XNodeUnion::XNNNegate(XNNNode1x1 { input_id, output_id: 100 + number, flags: 0 });
                payload
                    .graph
                    .xnodes
                    .as_mut()
                    .unwrap()
                    .insert(1 + number as usize, XNode { xnode_union, ..XNode::default() });
                let mut value = payload.graph.xvalues()[1].clone();
                value.tensor_mut().unwrap().id_out = 100 + number;
                payload.graph.xvalues.as_mut().unwrap().push(value);
            }
            match node(payload, 11) {
                XNodeUnion::XNNStaticTranspose(transpose) => transpose.input_id = 109,
                other => panic!("{other:?}"),
            }
        })
        .also("xnnpack-lists")
        .history("SIGABRT in ExecuTorch 1.5.1"),
        graph(
            "xnnpack-cycle",
            "xnnpack-cycle",
            LINEAR,
            "a copy of its own result before a multiplication",
            |payload| {
                let xnode_union = XNodeUnion::XNNCopy(XNNNode1x1 { input_id: 4, output_id: 4, flags: 0 });
                payload.graph.xnodes.as_mut().unwrap().insert(0, XNode { xnode_union, ..XNode::default() });
                let mut value = payload.graph.xvalues()[3].clone();
                let tensor = value.tensor_mut().unwrap();
                (tensor.id_out, tensor.external_id, tensor.flags) = (4, NO_ID, 0);
                payload.graph.xvalues.as_mut().unwrap().push(value);
            },
        )
        .also("xnnpack-dataflow"),
        graph(
            "xnnpack-empty-output",
            "xnnpack-empty-output",
            CONV,
            "a transposed convolution with a padding of 100 rows",
            |payload| {
                let mut conv = *convolution(payload, 1);
                conv.padding_top = 100;
                *node(payload, 1) = XNodeUnion::XNNConvTranspose2d(conv);
            },
        )
        .also("xnnpack-node-shape")
        .history("SIGFPE when run in ExecuTorch 1.5.1"),
        graph("xnnpack-clamp", "xnnpack-clamp", SHAPES, "an addition that is clamped from 1 to -1", |payload| {
            let range = OutputMinMax { output_min: 1.0, output_max: -1.0 };
            payload.graph.xnodes.as_mut().unwrap()[0].output_min_max = Some(range);
        }),
        graph(
            "xnnpack-clamp-weights",
            "xnnpack-node",
            LINEAR,
            "a multiplication that is clamped from 1 to -1",
            |payload| {
                let range = OutputMinMax { output_min: 1.0, output_max: -1.0 };
                payload.graph.xnodes.as_mut().unwrap()[0].output_min_max = Some(range);
            },
        ),
        graph("xnnpack-slice-outside", "xnnpack-node-shape", SLICES, "a slice past the end of its input", |payload| {
            slice(payload, 0).offsets = list(&[3, 0, 0]);
        }),
        graph("xnnpack-reshape", "xnnpack-node-shape", SHAPES, "a reshape to another number of elements", |payload| {
            match node(payload, 1) {
                XNodeUnion::XNNStaticReshape(reshape) => reshape.new_shape = list(&[4, 7]),
                other => panic!("{other:?}"),
            }
        }),
    ]
}
