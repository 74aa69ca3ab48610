//! Damage to XNNPACK payloads, and to the calls of their delegates.

mod nodes;

use super::{Case, Damage, bytes, instructions, list, pte};
use executorch_format::delegate::{Payload, Xnnpack};
use executorch_format::schema::program::{DataLocation, InstructionArguments, Int};
use executorch_format::schema::xnnpack::*;
use executorch_format::schema::{ScalarType, Unknown};
use executorch_format::{Pte, PteOptions, Segment};

const LINEAR: &[&str] = &["1.5.1/linear_xnnpack_inline/linear_xnnpack_inline.pte"];
const INLINE_CONSTANTS: &[&str] = &["payloads/v0.4.0_linear.pte"];
const CONV: &[&str] = &["payloads/conv2d.pte"];
const DEPTHWISE: &[&str] = &["payloads/depthwise.pte"];
const GROUPS: &[&str] = &["payloads/int4_group.pte"];
const INLINE_GROUPS: &[&str] = &["payloads/v0.6.0_int4_group_old.pte"];
const CHANNELS: &[&str] = &["payloads/v0.4.0_quant_per_channel.pte"];
const QUANT: &[&str] = &["payloads/quant_per_tensor.pte"];
const SLICES: &[&str] = &["payloads/slice_copy.pte"];
const SHAPES: &[&str] = &["payloads/shape_ops.pte"];
const UPSAMPLE: &[&str] = &["payloads/upsample.pte"];
const UNWRAPPED: &[&str] = &["payloads/handmade_xn00.pte"];
const EXTERNAL: &[&str] =
    &["1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte", "1.5.1/linear_xnnpack_external/xnn_weights.ptd"];

/// Damages the payload of the first delegate.
fn graph(
    name: &'static str,
    rule: &'static str,
    base: &'static [&'static str],
    what: &'static str,
    damage: fn(&mut Xnnpack<'_>),
) -> Case {
    Case::new(name, rule, base, what, Damage::Payload(0, damage))
}

/// Returns the file with the payload of delegate `index` damaged, and a new layout.
pub fn damaged(file: &[u8], index: usize, damage: fn(&mut Xnnpack<'_>)) -> Vec<u8> {
    let mut pte = Pte::parse(file).unwrap();
    let place = pte.methods()[0].delegates()[index].processed.unwrap();
    let bytes = {
        let delegate = &pte.methods()[0].delegates()[index];
        let Payload::Xnnpack(mut payload) = pte.delegate(delegate).unwrap() else { panic!("another kind of payload") };
        damage(&mut payload);
        payload.source = None;
        payload.to_vec().unwrap()
    };
    let at = place.index as usize;
    match place.location {
        DataLocation::SEGMENT => {
            pte.program.segments.as_mut().unwrap()[at].size = bytes.len() as u64;
            pte.segments[at] = Segment::Whole(bytes.into());
        }
        _ => pte.program.backend_delegate_data.as_mut().unwrap()[at].data = Some(bytes.into()),
    }
    pte.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap()
}

fn tensor<'p, 'a>(payload: &'p mut Xnnpack<'a>, index: usize) -> &'p mut XNNTensorValue<'a> {
    payload.graph.xvalues.as_mut().unwrap()[index].tensor_mut().unwrap()
}

fn quantization<'p, 'a>(payload: &'p mut Xnnpack<'a>, index: usize) -> &'p mut XNNQuantParams<'a> {
    match &mut payload.graph.xvalues.as_mut().unwrap()[index].xvalue_union {
        XValueUnion::XNNQuantizedTensorValue(value) => &mut value.quant_params,
        other => panic!("value {index} is {other:?}"),
    }
}

fn channels<'p, 'a>(payload: &'p mut Xnnpack<'a>, index: usize) -> &'p mut PerChannelQuant<'a> {
    match quantization(payload, index) {
        XNNQuantParams::PerChannelQuant(channels) => channels,
        other => panic!("value {index} is {other:?}"),
    }
}

fn groups<'p, 'a>(payload: &'p mut Xnnpack<'a>, index: usize) -> &'p mut PerChannelGroupQuant<'a> {
    match quantization(payload, index) {
        XNNQuantParams::PerChannelGroupQuant(groups) => groups,
        other => panic!("value {index} is {other:?}"),
    }
}

fn node<'p, 'a>(payload: &'p mut Xnnpack<'a>, index: usize) -> &'p mut XNodeUnion<'a> {
    &mut payload.graph.xnodes.as_mut().unwrap()[index].xnode_union
}

fn dense<'p>(payload: &'p mut Xnnpack<'_>, index: usize) -> &'p mut XNNFullyConnected {
    match node(payload, index) {
        XNodeUnion::XNNFullyConnected(dense) => dense,
        other => panic!("node {index} is {other:?}"),
    }
}

fn convolution<'p>(payload: &'p mut Xnnpack<'_>, index: usize) -> &'p mut XNNNodeConv {
    match node(payload, index) {
        XNodeUnion::XNNConv2d(conv) | XNodeUnion::XNNDepthwiseConv2d(conv) => conv,
        other => panic!("node {index} is {other:?}"),
    }
}

fn slice<'p, 'a>(payload: &'p mut Xnnpack<'a>, index: usize) -> &'p mut XNNStaticSlice<'a> {
    match node(payload, index) {
        XNodeUnion::XNNStaticSlice(slice) => slice,
        other => panic!("node {index} is {other:?}"),
    }
}

fn entry<'p, 'a>(payload: &'p mut Xnnpack<'a>, index: usize) -> &'p mut ConstantDataOffset<'a> {
    &mut payload.graph.constant_data.as_mut().unwrap()[index]
}

fn args<'p>(pte: &'p mut Pte<'_>) -> &'p mut Vec<i32> {
    match &mut instructions(pte)[0].instr_args {
        InstructionArguments::DelegateCall(call) => call.args.as_mut().unwrap().to_mut(),
        other => panic!("{other:?}"),
    }
}

/// Returns the start of the payload in the file.
fn start(file: &[u8]) -> usize {
    file.windows(4).position(|bytes| bytes == b"XH00").unwrap() - 4
}

pub fn cases() -> Vec<Case> {
    [wrapper(), values(), constants(), quantizations(), nodes::cases(), calls()].into_iter().flatten().collect()
}

fn wrapper() -> Vec<Case> {
    vec![
        bytes("xnnpack-magic", "xnnpack-payload", LINEAR, "the payload's magic is XH09", |file| {
            let start = start(file);
            file[start + 7] = b'9';
        }),
        bytes("xnnpack-vulkan", "xnnpack-payload", LINEAR, "the payload's magic is Vulkan's, VH00", |file| {
            let start = start(file);
            file[start + 4..start + 8].copy_from_slice(b"VH00");
        })
        .also("payload-kind"),
        bytes(
            "xnnpack-constant-data",
            "xnnpack-payload",
            LINEAR,
            "constant data that starts before the FlatBuffer's end",
            |file| {
                let start = start(file);
                file[start + 18..start + 22].copy_from_slice(&33u32.to_le_bytes());
            },
        ),
        bytes("xnnpack-identifier", "xnnpack-payload", LINEAR, "the FlatBuffer's identifier is XN09", |file| {
            let start = start(file);
            file[start + 39] = b'9';
        }),
        bytes("xnnpack-root", "offset", LINEAR, "the FlatBuffer's root is outside it", |file| {
            let start = start(file);
            file[start + 32..start + 36].copy_from_slice(&0x10_0000u32.to_le_bytes());
        })
        .at_runtime(),
        bytes(
            "xnnpack-header-length",
            "xnnpack-header",
            LINEAR,
            "the payload's header says that it has 40 bytes",
            |file| {
                let start = start(file);
                file[start + 8] = 40;
            },
        ),
        bytes(
            "xnnpack-padding",
            "xnnpack-header",
            LINEAR,
            "the padding after the payload's header is not zero",
            |file| {
                let start = start(file);
                file[start + 31] = 1;
            },
        ),
        graph("xnnpack-no-nodes", "xnnpack-graph", LINEAR, "xnodes is absent", |payload| payload.graph.xnodes = None)
            .also("xnnpack-dataflow"),
        graph("xnnpack-num-externs", "xnnpack-graph", LINEAR, "5000 externals", |payload| {
            payload.graph.num_externs = 5000
        })
        .also("xnnpack-externals"),
    ]
}

fn values() -> Vec<Case> {
    vec![
        graph(
            "xnnpack-value-none",
            "xnnpack-union",
            LINEAR,
            "a value without a tensor, which nothing uses",
            |payload| {
                payload.graph.xvalues.as_mut().unwrap().push(XValue::default());
            },
        ),
        graph(
            "xnnpack-quantization-none",
            "xnnpack-union",
            QUANT,
            "a quantized value without its quantization",
            |payload| {
                *quantization(payload, 7) = XNNQuantParams::None;
            },
        ),
        graph("xnnpack-node-unknown", "xnnpack-union", LINEAR, "a node of kind 99, after all others", |payload| {
            let xnode_union = XNodeUnion::Unknown(Unknown { tag: 99, ..Unknown::default() });
            payload.graph.xnodes.as_mut().unwrap().push(XNode { xnode_union, ..XNode::default() });
        })
        .history("tag without a value: SIGSEGV in ExecuTorch 1.5.1"),
        graph(
            "xnnpack-datatype",
            "xnnpack-datatype",
            GROUPS,
            "a plain value of type qbint4, which nothing uses",
            |payload| {
                let tensor = XNNTensorValue {
                    datatype: XNNDatatype::QBINT4,
                    external_id: NO_ID,
                    id_out: 4,
                    num_dims: 1,
                    dims: list(&[2]),
                    ..XNNTensorValue::default()
                };
                payload.graph.xvalues.as_mut().unwrap().push(XValue { xvalue_union: tensor.into() });
            },
        ),
        graph("xnnpack-rank", "xnnpack-shape", LINEAR, "a value of 7 dimensions, which nothing uses", |payload| {
            let tensor = XNNTensorValue {
                datatype: XNNDatatype::FP32,
                external_id: NO_ID,
                id_out: 4,
                num_dims: 7,
                dims: list(&[1; 7]),
                ..XNNTensorValue::default()
            };
            payload.graph.xvalues.as_mut().unwrap().push(XValue { xvalue_union: tensor.into() });
        }),
        graph("xnnpack-size", "xnnpack-shape", LINEAR, "a value of 2^96 elements, which nothing uses", |payload| {
            let tensor = XNNTensorValue {
                datatype: XNNDatatype::FP32,
                external_id: NO_ID,
                id_out: 4,
                num_dims: 3,
                dims: list(&[u32::MAX; 3]),
                ..XNNTensorValue::default()
            };
            payload.graph.xvalues.as_mut().unwrap().push(XValue { xvalue_union: tensor.into() });
        }),
        graph("xnnpack-flags", "xnnpack-flags", CONV, "a value inside the graph with flag 4", |payload| {
            tensor(payload, 1).flags = 4;
        }),
        graph(
            "xnnpack-external-out-of-range",
            "xnnpack-external-id",
            CONV,
            "an input that is argument 7 of 2",
            |payload| {
                tensor(payload, 0).external_id = 7;
            },
        )
        .also("xnnpack-externals"),
        graph("xnnpack-external-none", "xnnpack-external-id", CONV, "an input that is no argument", |payload| {
            tensor(payload, 0).external_id = NO_ID;
            payload.graph.input_ids = list(&[]);
        })
        .also("xnnpack-externals")
        .history("SIGSEGV when run in ExecuTorch 1.5.1"),
        graph(
            "xnnpack-external-twice",
            "xnnpack-externals",
            LINEAR,
            "two values that are both argument 0",
            |payload| {
                let copy = payload.graph.xvalues()[0].clone();
                payload.graph.xvalues.as_mut().unwrap().push(copy);
                tensor(payload, 4).id_out = 4;
            },
        )
        .also("xnnpack-lists"),
        graph("xnnpack-id-twice", "xnnpack-id", LINEAR, "an unused value with the id of another", |payload| {
            let tensor = XNNTensorValue {
                datatype: XNNDatatype::FP32,
                external_id: NO_ID,
                id_out: 3,
                num_dims: 1,
                dims: list(&[2]),
                ..XNNTensorValue::default()
            };
            payload.graph.xvalues.as_mut().unwrap().push(XValue { xvalue_union: tensor.into() });
        }),
        graph(
            "xnnpack-num-dims",
            "xnnpack-lists",
            LINEAR,
            "num_dims of a value is not the number of its dims",
            |payload| {
                tensor(payload, 3).num_dims = 5;
            },
        ),
        graph("xnnpack-input-ids", "xnnpack-lists", LINEAR, "input_ids names the output", |payload| {
            payload.graph.input_ids = list(&[3]);
        }),
    ]
}

fn constants() -> Vec<Case> {
    vec![
        graph(
            "xnnpack-constant-index",
            "xnnpack-constant-index",
            LINEAR,
            "a bias that is constant 9 of 3",
            |payload| {
                tensor(payload, 2).constant_buffer_idx = 9;
            },
        )
        .also("xnnpack-constants"),
        graph(
            "xnnpack-no-storage",
            "xnnpack-constant-index",
            UNWRAPPED,
            "a constant inside the FlatBuffer without storage",
            |payload| {
                payload.graph.constant_buffer.as_mut().unwrap()[1].storage = None;
            },
        )
        .also("vtable-shared"),
        graph(
            "xnnpack-constant-past-end",
            "xnnpack-constant-bounds",
            INLINE_CONSTANTS,
            "a bias that starts after the end of the constant data",
            |payload| {
                entry(payload, 2).offset = 1 << 20;
            },
        ),
        graph(
            "xnnpack-constant-short",
            "xnnpack-constant-size",
            INLINE_CONSTANTS,
            "a bias of 4 bytes that needs 20",
            |payload| {
                entry(payload, 2).size = 4;
            },
        ),
        graph(
            "xnnpack-blob-short",
            "xnnpack-constant-bounds",
            LINEAR,
            "weights whose key is that of the bias",
            |payload| {
                entry(payload, 1).named_key = entry(payload, 2).named_key.clone();
                entry(payload, 1).size = 20;
            },
        )
        .history("SIGSEGV, or memory becomes weights, in ExecuTorch 1.5.1"),
        Case::new(
            "xnnpack-constant-key",
            "xnnpack-constant-key",
            EXTERNAL,
            "the key of a bias is in no file",
            Damage::Payload(0, |payload| entry(payload, 2).named_key = Some("bias".into())),
        ),
        graph(
            "xnnpack-constant-unchecked",
            "xnnpack-unchecked",
            EXTERNAL_PROGRAM,
            "no .ptd file is given",
            |payload| {
                payload.graph.version = Some("1".into());
            },
        ),
        graph(
            "xnnpack-constant-size",
            "xnnpack-constant-size",
            LINEAR,
            "an entry that says 24 bytes of a blob of 20",
            |payload| {
                entry(payload, 2).size = 24;
            },
        ),
        graph(
            "xnnpack-constant-misaligned",
            "xnnpack-constant-form",
            INLINE_CONSTANTS,
            "a bias that starts 4 bytes late",
            |payload| {
                entry(payload, 2).offset += 4;
                payload.constant_data.to_mut().extend([0; 4]);
            },
        ),
        graph(
            "xnnpack-constant-two-places",
            "xnnpack-constant-form",
            LINEAR,
            "a constant with a key and an offset",
            |payload| {
                entry(payload, 2).offset = 16;
            },
        ),
        graph("xnnpack-constant-unused", "xnnpack-constants", LINEAR, "a constant that no value uses", |payload| {
            let copy = entry(payload, 2).clone();
            payload.graph.constant_data.as_mut().unwrap().push(copy);
        }),
        graph(
            "xnnpack-constant-placeholder",
            "xnnpack-constants",
            LINEAR,
            "entry 0 of the constants is 4 bytes long",
            |payload| {
                entry(payload, 0).size = 4;
            },
        ),
    ]
}

const EXTERNAL_PROGRAM: &[&str] = &["1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte"];

fn quantizations() -> Vec<Case> {
    vec![
        graph(
            "xnnpack-channel-dim",
            "xnnpack-quantization",
            CHANNELS,
            "a bias with a scale for each item of dimension 3 of 1",
            |payload| {
                channels(payload, 5).channel_dim = 3;
            },
        ),
        graph("xnnpack-zero-point", "xnnpack-quantization", QUANT, "a bias with a zero point", |payload| {
            match quantization(payload, 9) {
                XNNQuantParams::PerTensorQuant(quantization) => quantization.zero_point = 1,
                other => panic!("{other:?}"),
            }
        }),
        graph(
            "xnnpack-nonbatch-dims",
            "xnnpack-quantization",
            GROUPS,
            "5 dimensions of a value of 2 share a scale",
            |payload| match quantization(payload, 1) {
                XNNQuantParams::PerTokenDynamicQuant(quantization) => quantization.num_nonbatch_dims = 5,
                other => panic!("{other:?}"),
            },
        ),
        graph(
            "xnnpack-group-rank",
            "xnnpack-quantization",
            GROUPS,
            "groups of a value of 1 dimension, which nothing uses",
            |payload| {
                let mut value = payload.graph.xvalues()[2].clone();
                let tensor = value.tensor_mut().unwrap();
                (tensor.dims, tensor.num_dims, tensor.id_out) = (list(&[64]), 1, 4);
                tensor.constant_buffer_idx = 0;
                if let XValueUnion::XNNQuantizedTensorValue(quantized) = &mut value.xvalue_union {
                    quantized.quant_params =
                        PerChannelGroupQuant { scale: list(&[1.0]), group_size: 32, ..Default::default() }.into();
                }
                payload.graph.xvalues.as_mut().unwrap().push(value);
            },
        )
        .history("reads past a vector in ExecuTorch 1.5.1"),
        graph("xnnpack-group-size", "xnnpack-quantization", GROUPS, "groups of 0 numbers", |payload| {
            groups(payload, 2).group_size = 0;
        })
        .history("SIGFPE in ExecuTorch 1.5.1"),
        graph("xnnpack-scales-absent", "xnnpack-scales", CHANNELS, "no scales at all", |payload| {
            channels(payload, 3).scale = None;
        })
        .history("SIGSEGV in ExecuTorch 1.5.1"),
        graph("xnnpack-scales-few", "xnnpack-constant-bounds", CHANNELS, "3 scales for 4 channels", |payload| {
            channels(payload, 3).scale.as_mut().unwrap().to_mut().pop();
        }),
        graph("xnnpack-scale-negative", "xnnpack-scales", CHANNELS, "a negative scale", |payload| {
            channels(payload, 5).scale.as_mut().unwrap().to_mut()[2] = -1.0;
        }),
        graph("xnnpack-scale-subnormal", "xnnpack-scales", QUANT, "a scale that is not a normal number", |payload| {
            match quantization(payload, 9) {
                XNNQuantParams::PerTensorQuant(quantization) => quantization.scale = f32::from_bits(1),
                other => panic!("{other:?}"),
            }
        }),
        graph("xnnpack-scales-bf16", "xnnpack-scales", INLINE_GROUPS, "scales in scale_bf16 alone", |payload| {
            let groups = groups(payload, 2);
            let scales = groups.scale.take().unwrap();
            groups.scale_bf16 = Some(scales.iter().map(|scale| (scale.to_bits() >> 16) as u16).collect());
        })
        .history("ExecuTorch 0.4 to 0.6 read them; SIGSEGV in 1.5.1"),
        graph("xnnpack-num-scales", "xnnpack-scales", GROUPS, "7 scales for 16 groups", |payload| {
            groups(payload, 2).num_scales = 7;
        })
        .also("xnnpack-constant-size"),
        graph(
            "xnnpack-requantization",
            "xnnpack-scales",
            CHANNELS,
            "scales whose product is 256 times that of the output",
            |payload| {
                channels(payload, 3).scale.as_mut().unwrap().to_mut()[0] = 1e4;
            },
        ),
    ]
}

fn calls() -> Vec<Case> {
    vec![
        pte(
            "xnnpack-arguments",
            "xnnpack-arguments",
            LINEAR,
            "a call with 1 argument of a graph that reads 2",
            |pte| {
                args(pte).pop();
            },
        )
        .also("xnnpack-externals")
        .history("SIGSEGV when run in ExecuTorch 1.5.1"),
        pte("xnnpack-argument-kind", "xnnpack-arguments", LINEAR, "an argument that is an integer", |pte| {
            let value = super::push(pte, Int { int_val: 1 });
            args(pte)[0] = value;
        }),
        pte("xnnpack-argument-size", "xnnpack-argument-size", LINEAR, "an argument of 16-bit numbers", |pte| {
            super::tensor(pte, 0).scalar_type = ScalarType::HALF;
        })
        .history("memory after the argument is read or written in ExecuTorch 1.5.1"),
        pte("xnnpack-argument-type", "xnnpack-argument-type", LINEAR, "an argument of 32-bit integers", |pte| {
            super::tensor(pte, 0).scalar_type = ScalarType::INT;
        }),
        pte("xnnpack-argument-shape", "xnnpack-argument-shape", LINEAR, "an argument of another shape", |pte| {
            super::tensor(pte, 0).sizes = list(&[2, 4]);
        }),
    ]
}
