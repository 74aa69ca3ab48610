//! A small valid program for each kind of node in XNNPACK, in the types that it accepts, including nodes that exporters seldom or never
//! write.

use executorch_format::delegate::Xnnpack;
use executorch_format::delegate::xnnpack::{XnnpackHeader, tensor_bytes};
use executorch_format::schema::program::{BackendDelegate, EValue, ExecutionPlan, Instruction, Tensor};
use executorch_format::schema::xnnpack::*;
use executorch_format::schema::{Program, ScalarType};
use executorch_format::{DataCollector, PteOptions};

use XNNDatatype as Type;

/// A graph under construction.
#[derive(Default)]
struct Sketch {
    graph: XNNGraph<'static>,
    constants: Vec<u8>,
}

/// Returns a quantization with scales and zero points that match each other.
fn quantized(datatype: Type, dims: &[u32]) -> Option<XNNQuantParams<'static>> {
    let channels = |dim: i32| {
        let scale = vec![0.05; dims[dim as usize] as usize];
        PerChannelQuant { scale: Some(scale.into()), channel_dim: dim, ..PerChannelQuant::default() }
    };
    Some(match datatype {
        Type::QINT8 => PerTensorQuant { scale: 0.05, zero_point: 0 }.into(),
        Type::QUINT8 => PerTensorQuant { scale: 0.05, zero_point: 128 }.into(),
        Type::QINT32 => PerTensorQuant { scale: 0.0025, zero_point: 0 }.into(),
        Type::QCINT8 if dims.len() == 4 && dims[0] == 1 => channels(3).into(),
        Type::QCINT8 | Type::QCINT32 | Type::QCINT4 => channels(0).into(),
        Type::QDINT8 => PerTokenDynamicQuant { num_nonbatch_dims: 1 }.into(),
        Type::QBINT4 => PerChannelGroupQuant {
            scale: Some(vec![0.05; (dims[0] * dims[1] / 32) as usize].into()),
            group_size: 32,
            ..PerChannelGroupQuant::default()
        }
        .into(),
        _ => return None,
    })
}

impl Sketch {
    fn new() -> Self {
        let mut sketch = Self::default();
        sketch.graph.version = Some("0".into());
        sketch.graph.constant_data = Some(vec![ConstantDataOffset::default()]);
        sketch
    }

    fn value(&mut self, datatype: Type, dims: &[u32], flags: u32, constant: u32) -> u32 {
        let values = self.graph.xvalues.get_or_insert_default();
        let id_out = values.len() as u32;
        let external_id = if flags == 0 { NO_ID } else { self.graph.num_externs };
        self.graph.num_externs += u32::from(flags != 0);
        let tensor = XNNTensorValue {
            datatype,
            num_dims: dims.len() as u32,
            dims: Some(dims.to_vec().into()),
            constant_buffer_idx: constant,
            external_id,
            flags,
            id_out,
            dq_datatype: None,
        };
        let xvalue_union = match quantized(datatype, dims) {
            Some(quant_params) => XNNQuantizedTensorValue { tensor_value: Some(tensor), quant_params }.into(),
            None => tensor.into(),
        };
        values.push(XValue { xvalue_union });
        match flags {
            EXTERNAL_INPUT => self.graph.input_ids.get_or_insert_default().to_mut().push(id_out),
            EXTERNAL_OUTPUT => self.graph.output_ids.get_or_insert_default().to_mut().push(id_out),
            _ => (),
        }
        id_out
    }

    fn input(&mut self, datatype: Type, dims: &[u32]) -> u32 {
        self.value(datatype, dims, EXTERNAL_INPUT, 0)
    }

    fn output(&mut self, datatype: Type, dims: &[u32]) -> u32 {
        self.value(datatype, dims, EXTERNAL_OUTPUT, 0)
    }

    fn inside(&mut self, datatype: Type, dims: &[u32]) -> u32 {
        self.value(datatype, dims, 0, 0)
    }

    /// Adds a constant of zeros. Its bytes are 0, except for 4-bit numbers, whose zero is 8.
    fn constant(&mut self, datatype: Type, dims: &[u32]) -> u32 {
        let entries = self.graph.constant_data.get_or_insert_default();
        let size = tensor_bytes(datatype, dims).unwrap();
        entries.push(ConstantDataOffset { offset: self.constants.len() as u64, size, named_key: None });
        let index = entries.len() as u32 - 1;
        self.constants.resize(self.constants.len() + (size as usize).next_multiple_of(16), 0x88);
        self.value(datatype, dims, 0, index)
    }

    fn node(&mut self, node: XNodeUnion<'static>) {
        self.clamped(node, None);
    }

    fn clamped(&mut self, xnode_union: XNodeUnion<'static>, output_min_max: Option<OutputMinMax>) {
        let nodes = self.graph.xnodes.get_or_insert_default();
        nodes.push(XNode { xnode_union, debug_handle: nodes.len() as u32, output_min_max });
    }

    fn convert(&mut self, input_id: u32, output_id: u32) {
        self.node(XNodeUnion::XNNConvert(XNNNode1x1 { input_id, output_id, flags: 0 }));
    }

    /// Adds an input of this type. Arguments of the payload are floats, which are converted to other types.
    fn input_as(&mut self, datatype: Type, dims: &[u32]) -> u32 {
        if [Type::FP32, Type::FP16].contains(&datatype) {
            return self.input(datatype, dims);
        }
        let (plain, id) = (self.input(Type::FP32, dims), self.inside(datatype, dims));
        self.convert(plain, id);
        id
    }

    /// Adds an output of this type, which `finish` converts to floats.
    fn output_as(&mut self, datatype: Type, dims: &[u32]) -> (u32, Option<u32>) {
        if [Type::FP32, Type::FP16].contains(&datatype) {
            return (self.output(datatype, dims), None);
        }
        (self.inside(datatype, dims), Some(self.output(Type::FP32, dims)))
    }

    /// Returns a program that calls the graph once, with the bytes of its constants in its payload.
    fn program(self) -> Vec<u8> {
        let payload = Xnnpack {
            header: Some(XnnpackHeader::default()),
            identifier: *b"XN01",
            graph: self.graph,
            constant_data: self.constants.into(),
            source: None,
        };
        let (mut values, mut inputs, mut outputs): (Vec<EValue<'_>>, Vec<i32>, Vec<i32>) = Default::default();
        let mut planned = 0u64;
        for (_, external) in payload.graph.externals() {
            let scalar_type = if external.datatype == Type::FP16 { ScalarType::HALF } else { ScalarType::FLOAT };
            let sizes: Vec<i32> = external.dims().iter().map(|size| *size as i32).collect();
            let tensor = Tensor::new(scalar_type, sizes).with_planned(1, planned);
            planned += tensor.byte_size().unwrap().next_multiple_of(16);
            let list = if external.flags == EXTERNAL_INPUT { &mut inputs } else { &mut outputs };
            list.push(values.len() as i32);
            values.push(tensor.into());
        }
        let args: Vec<i32> = (0..values.len() as i32).collect();
        let mut data = DataCollector::new();
        let processed = Some(data.delegate(payload.to_vec().unwrap()));
        let calls = vec![Instruction::delegate_call(0, args)];
        let mut plan = ExecutionPlan::new("forward", values, Vec::new(), calls, planned as i64)
            .with_inputs(inputs)
            .with_outputs(outputs);
        let compile_specs = Some(Vec::new());
        plan.delegates = Some(vec![BackendDelegate { id: Some("XnnpackBackend".into()), processed, compile_specs }]);
        let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
        data.finish(program, &PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap()
    }
}

fn short(datatype: Type) -> String {
    datatype.to_string().replace("xnn_datatype_", "")
}

/// Returns names and programs. Each name starts with that of the node.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let mut programs = Vec::new();
    elementwise(&mut programs);
    of_one_input(&mut programs);
    joined(&mut programs);
    windows(&mut programs);
    dense(&mut programs);
    convolutions(&mut programs);
    several(&mut programs);
    programs
}

type Programs = Vec<(String, Vec<u8>)>;

/// Adds a program of one node with these inputs and this output.
fn one(
    programs: &mut Programs,
    name: &str,
    datatype: Type,
    inputs: &[&[u32]],
    output: &[u32],
    node: impl FnOnce(&[u32], u32) -> XNodeUnion<'static>,
) {
    let mut sketch = Sketch::new();
    let ids: Vec<u32> = inputs.iter().map(|dims| sketch.input_as(datatype, dims)).collect();
    let (output, plain) = sketch.output_as(datatype, output);
    let clamp = OutputMinMax { output_min: -1.0, output_max: 1.0 };
    sketch.clamped(node(&ids, output), (name == "clamp").then_some(clamp));
    plain.into_iter().for_each(|plain| sketch.convert(output, plain));
    programs.push((format!("{name}-{}", short(datatype)), sketch.program()));
}

const ALL: &[Type] = &[Type::FP32, Type::FP16, Type::QINT8, Type::QUINT8];
const PLAIN: &[Type] = &[Type::FP32, Type::FP16];

type Unary = fn(XNNNode1x1) -> XNodeUnion<'static>;
type Binary = fn(XNNNode2x1) -> XNodeUnion<'static>;

/// The nodes with one input and no settings.
pub const UNARY: [(&str, Unary); 21] = [
    ("softmax", XNodeUnion::XNNSoftmax),
    ("sigmoid", XNodeUnion::XNNSigmoid),
    ("clamp", XNodeUnion::XNNClamp),
    ("floor", XNodeUnion::XNNFloor),
    ("convert", XNodeUnion::XNNConvert),
    ("global-average", XNodeUnion::XNNGlobalAvgPooling2d),
    ("square-root", XNodeUnion::XNNSquareRoot),
    ("ceiling", XNodeUnion::XNNCeiling),
    ("hardswish", XNodeUnion::XNNHardswish),
    ("negate", XNodeUnion::XNNNegate),
    ("square", XNodeUnion::XNNSquare),
    ("abs", XNodeUnion::XNNAbs),
    ("reciprocal-square-root", XNodeUnion::XNNReciprocalSquareRoot),
    ("log", XNodeUnion::XNNLog),
    ("gelu", XNodeUnion::XNNGelu),
    ("tanh", XNodeUnion::XNNTanh),
    ("exp", XNodeUnion::XNNExp),
    ("sin", XNodeUnion::XNNSin),
    ("copy", XNodeUnion::XNNCopy),
    ("cos", XNodeUnion::XNNCos),
    ("clamp", XNodeUnion::XNNClamp),
];

/// The nodes with two inputs and no settings.
pub const BINARY: [(&str, Binary); 8] = [
    ("add", XNodeUnion::XNNAdd),
    ("divide", XNodeUnion::XNNDiv),
    ("minimum", XNodeUnion::XNNMinimum),
    ("multiply", XNodeUnion::XNNMultiply),
    ("subtract", XNodeUnion::XNNSubtract),
    ("maximum", XNodeUnion::XNNMaximum),
    ("prelu", XNodeUnion::XNNPReLU),
    ("matrix-multiply", XNodeUnion::XNNBatchMatrixMultiply),
];

fn elementwise(programs: &mut Programs) {
    const IMAGE: &[u32] = &[1, 3, 4, 5];
    for (name, node) in UNARY.into_iter().take(UNARY.len() - 1) {
        let (types, output): (&[Type], &[u32]) = match name {
            "softmax" | "log" | "exp" | "sin" => (PLAIN, IMAGE),
            "global-average" => (PLAIN, &[1, 1, 1, 5]),
            _ if name.len() % 2 == 0 => (ALL, IMAGE),
            _ => (&[Type::FP32, Type::QINT8], IMAGE),
        };
        for datatype in types {
            one(programs, name, *datatype, &[IMAGE], output, |ids, output_id| {
                // With flag 64, a mean keeps its dimensions.
                let flags = if name == "global-average" { 64 } else { 0 };
                node(XNNNode1x1 { input_id: ids[0], output_id, flags })
            });
        }
    }
    for (name, node) in BINARY {
        let (types, inputs, output): (_, [&[u32]; 2], &[u32]) = match name {
            "prelu" => (PLAIN, [IMAGE, &[5]], IMAGE),
            "matrix-multiply" => (PLAIN, [&[2, 3, 4], &[2, 4, 5]], &[2, 3, 5]),
            "add" | "multiply" => (ALL, [IMAGE, &[4, 1]], IMAGE),
            _ => (PLAIN, [IMAGE, IMAGE], IMAGE),
        };
        for datatype in types {
            one(programs, name, *datatype, &inputs, output, |ids, output_id| {
                node(XNNNode2x1 { input1_id: ids[0], input2_id: ids[1], output_id, flags: 0 })
            });
        }
    }
    one(programs, "elu", Type::FP32, &[IMAGE], IMAGE, |ids, output_id| {
        XNodeUnion::XNNELU(XNNELU { alpha: 1.0, input_id: ids[0], output_id, flags: 0 })
    });
    for datatype in ALL {
        one(programs, "leaky-relu", *datatype, &[IMAGE], IMAGE, |ids, output_id| {
            XNodeUnion::XNNLeakyReLU(XNNLeakyReLU { negative_slope: 0.1, input_id: ids[0], output_id, flags: 0 })
        });
    }
}

fn numbers(list: &[u32]) -> Option<std::borrow::Cow<'static, [u32]>> {
    Some(list.to_vec().into())
}

fn of_one_input(programs: &mut Programs) {
    for datatype in [Type::FP32, Type::FP16, Type::QINT8] {
        one(programs, "transpose", datatype, &[&[2, 3, 4]], &[4, 2, 3], |ids, output_id| {
            let (perm, input_id) = (numbers(&[2, 0, 1]), ids[0]);
            XNodeUnion::XNNStaticTranspose(XNNStaticTranspose { num_dims: 3, perm, input_id, output_id, flags: 0 })
        });
        one(programs, "reshape", datatype, &[&[2, 3, 4]], &[6, 4], |ids, output_id| {
            let (new_shape, input_id) = (numbers(&[6, 4]), ids[0]);
            XNodeUnion::XNNStaticReshape(XNNStaticReshape { num_dims: 2, new_shape, input_id, output_id, flags: 0 })
        });
        one(programs, "slice", datatype, &[&[2, 3, 4]], &[1, 2, 4], |ids, output_id| {
            let (offsets, sizes, input_id) = (numbers(&[1, 0, 0]), numbers(&[1, 2, 4]), ids[0]);
            XNodeUnion::XNNStaticSlice(XNNStaticSlice { num_dims: 3, offsets, sizes, input_id, output_id, flags: 0 })
        });
        one(programs, "pad", datatype, &[&[2, 3, 4]], &[2, 4, 7], |ids, output_id| {
            XNodeUnion::XNNStaticConstantPad(XNNStaticConstantPad {
                pre_paddings: numbers(&[0, 1, 1]),
                post_paddings: numbers(&[0, 0, 2]),
                padding_value: 0.0,
                input_id: ids[0],
                output_id,
                flags: 0,
            })
        });
        one(programs, "resize", datatype, &[&[1, 3, 4, 5]], &[1, 6, 8, 5], |ids, output_id| {
            XNodeUnion::XNNStaticResizeBilinear2D(XNNStaticResizeBilinear2D {
                new_height: 6,
                new_width: 8,
                input_id: ids[0],
                output_id,
                flags: 0,
            })
        });
    }
}

fn joined(programs: &mut Programs) {
    type Cat = fn(XNNCat) -> XNodeUnion<'static>;
    let kinds: [(usize, Cat); 4] = [
        (2, XNodeUnion::XNNConcatenate2),
        (3, XNodeUnion::XNNConcatenate3),
        (4, XNodeUnion::XNNConcatenate4),
        (5, XNodeUnion::XNNConcatenate5),
    ];
    for (count, node) in kinds {
        for datatype in [Type::FP32, Type::QINT8] {
            let inputs: Vec<&[u32]> = vec![&[2, 3, 4]; count];
            let output = [2, 3 * count as u32, 4];
            one(programs, &format!("concatenate{count}"), datatype, &inputs, &output, |ids, output_id| {
                let id = |index: usize| ids.get(index).copied().unwrap_or(NO_ID);
                node(XNNCat {
                    axis: 1,
                    input1_id: id(0),
                    input2_id: id(1),
                    input3_id: id(2),
                    input4_id: id(3),
                    output_id,
                    flags: 0,
                    input5_id: id(4),
                })
            });
        }
    }
}

fn windows(programs: &mut Programs) {
    let pool = |ids: &[u32], output_id| XNNPooling2D {
        padding_top: 1,
        padding_right: 0,
        padding_bottom: 0,
        padding_left: 1,
        pooling_height: 2,
        pooling_width: 3,
        stride_height: 2,
        stride_width: 1,
        dilation_height: 1,
        dilation_width: 1,
        input_id: ids[0],
        output_id,
        flags: 0,
    };
    const IMAGE: &[u32] = &[1, 5, 6, 3];
    for datatype in PLAIN {
        one(programs, "average-pool", *datatype, &[IMAGE], &[1, 3, 5, 3], |ids, output| {
            XNodeUnion::XNNAvgPooling2d(pool(ids, output))
        });
    }
    for datatype in ALL {
        one(programs, "max-pool", *datatype, &[IMAGE], &[1, 3, 5, 3], |ids, output| {
            XNodeUnion::XNNMaxPooling2d(pool(ids, output))
        });
    }
    let mut sketch = Sketch::new();
    let input_id = sketch.input(Type::FP32, &[1, 4, 6, 3]);
    let output_value_id = sketch.output(Type::FP32, &[1, 2, 2, 3]);
    let output_index_id = sketch.output(Type::FP32, &[1, 2, 2, 3]);
    sketch.node(XNodeUnion::XNNArgMaxPooling2d(XNNArgMaxPooling2d {
        pooling_height: 2,
        pooling_width: 3,
        input_id,
        output_value_id,
        output_index_id,
        ..XNNArgMaxPooling2d::default()
    }));
    programs.push(("argmax-pool".into(), sketch.program()));
}

/// The types of input, filter, bias and output.
type Types = (Type, Type, Type, Type);

fn named(name: &str, (input, filter, _, output): Types) -> String {
    format!("{name}-{}-{}-{}", short(input), short(filter), short(output))
}

fn dense(programs: &mut Programs) {
    let types = [
        (Type::FP32, Type::FP32, Type::FP32, Type::FP32),
        (Type::FP32, Type::FP16, Type::FP32, Type::FP32),
        (Type::FP16, Type::FP16, Type::FP16, Type::FP16),
        (Type::FP16, Type::FP32, Type::FP32, Type::FP16),
        (Type::FP32, Type::QCINT8, Type::FP32, Type::FP32),
        (Type::FP32, Type::QCINT4, Type::FP32, Type::FP32),
        (Type::QDINT8, Type::QCINT8, Type::FP32, Type::FP32),
        (Type::QDINT8, Type::QCINT4, Type::FP32, Type::FP32),
        (Type::QDINT8, Type::QBINT4, Type::FP32, Type::FP32),
        (Type::QDINT8, Type::QCINT8, Type::FP32, Type::FP16),
        (Type::QINT8, Type::QCINT8, Type::QCINT32, Type::QINT8),
        (Type::QINT8, Type::QINT8, Type::QINT32, Type::QINT8),
        (Type::QUINT8, Type::QUINT8, Type::QINT32, Type::QUINT8),
    ];
    for (input, filter, bias, output) in types {
        for (biased, flags) in [(true, 0), (false, 0), (true, 1)] {
            if flags == 1 && ![Type::FP32, Type::FP16].contains(&filter) || !biased && filter == Type::FP16 {
                continue;
            }
            let columns = if filter == Type::QBINT4 { 64 } else { 6 };
            let mut sketch = Sketch::new();
            let input1_id = sketch.input_as(input, &[3, columns]);
            let dims = if flags == 1 { [columns, 5] } else { [5, columns] };
            let filter_id = sketch.constant(filter, &dims);
            let bias_id = if biased { sketch.constant(bias, &[5]) } else { NO_ID };
            let (output_id, plain) = sketch.output_as(output, &[3, 5]);
            let node = XNNFullyConnected { input1_id, filter_id, bias_id, output_id, flags };
            sketch.node(XNodeUnion::XNNFullyConnected(node));
            plain.into_iter().for_each(|plain| sketch.convert(output_id, plain));
            let suffix = if flags == 1 {
                "-transposed"
            } else if biased {
                ""
            } else {
                "-no-bias"
            };
            programs.push((named("dense", (input, filter, bias, output)) + suffix, sketch.program()));
        }
    }
    // Weights that another node computes.
    let mut sketch = Sketch::new();
    let input1_id = sketch.input(Type::FP32, &[3, 6]);
    let filter_id = sketch.input(Type::FP32, &[5, 6]);
    let output_id = sketch.output(Type::FP32, &[3, 5]);
    let node = XNNFullyConnected { input1_id, filter_id, bias_id: NO_ID, output_id, flags: 0 };
    sketch.node(XNodeUnion::XNNFullyConnected(node));
    programs.push(("dense-computed".into(), sketch.program()));
}

fn convolutions(programs: &mut Programs) {
    type Convolution = fn(XNNNodeConv) -> XNodeUnion<'static>;
    let plain = [(Type::FP32, Type::FP32, Type::FP32, Type::FP32), (Type::FP16, Type::FP16, Type::FP16, Type::FP16)];
    let quantized = [
        (Type::QINT8, Type::QCINT8, Type::QCINT32, Type::QINT8),
        (Type::QINT8, Type::QINT8, Type::QINT32, Type::QINT8),
        (Type::QUINT8, Type::QUINT8, Type::QINT32, Type::QUINT8),
    ];
    let dynamic = (Type::QDINT8, Type::QCINT8, Type::FP32, Type::FP32);
    // Name, node, groups, input and output channels of a group, sizes of the filter, whether it widens.
    type Kind = (&'static str, Convolution, [u32; 3], [u32; 4], bool);
    let kinds: [Kind; 5] = [
        ("convolution", XNodeUnion::XNNConv2d, [1, 4, 6], [6, 3, 2, 4], false),
        ("grouped-convolution", XNodeUnion::XNNConv2d, [2, 2, 3], [6, 3, 2, 2], false),
        ("depthwise-convolution", XNodeUnion::XNNDepthwiseConv2d, [4, 1, 2], [1, 3, 2, 8], false),
        ("transposed-convolution", XNodeUnion::XNNConvTranspose2d, [1, 4, 6], [6, 3, 2, 4], true),
        ("grouped-transposed-convolution", XNodeUnion::XNNConvTranspose2d, [2, 2, 3], [6, 3, 2, 2], true),
    ];
    for (name, node, [groups, group_input_channels, group_output_channels], filter_dims, widens) in kinds {
        for types in plain.into_iter().chain(quantized).chain([dynamic]) {
            let (input, filter, bias, output) = types;
            let widened = name.ends_with("transposed-convolution");
            if input == Type::QDINT8 && name.starts_with("depthwise") || input == Type::FP16 && widened {
                continue;
            }
            let mut sketch = Sketch::new();
            let input1_id = sketch.input_as(input, &[1, 5, 6, 4]);
            if let Some(XValue { xvalue_union: XValueUnion::XNNQuantizedTensorValue(value) }) =
                sketch.graph.xvalues.get_or_insert_default().last_mut().filter(|_| input == Type::QDINT8)
            {
                value.quant_params = PerTokenDynamicQuant { num_nonbatch_dims: 3 }.into();
            }
            let filter_id = sketch.constant(filter, &filter_dims);
            let out = groups * group_output_channels;
            let bias_id = sketch.constant(bias, &[out]);
            let output_dims = if widens { [1, 11, 6, out] } else { [1, 3, 6, out] };
            let (output_id, plain) = sketch.output_as(output, &output_dims);
            let conv = XNNNodeConv {
                padding_top: 1,
                padding_right: 1,
                padding_bottom: if widens { 0 } else { 1 },
                padding_left: 0,
                kernel_height: 3,
                kernel_width: 2,
                subsampling_height: 2,
                subsampling_width: 1,
                dilation_height: 1,
                dilation_width: 1,
                group_input_channels,
                group_output_channels,
                groups,
                adjustment_height: if widens { 1 } else { 0 },
                adjustment_width: 0,
                input1_id,
                filter_id,
                bias_id,
                output_id,
                flags: 0,
            };
            sketch.node(node(conv));
            plain.into_iter().for_each(|plain| sketch.convert(output_id, plain));
            programs.push((named(name, types), sketch.program()));
        }
    }
}

/// Adds programs with several nodes, and more than one output.
fn several(programs: &mut Programs) {
    let mut sketch = Sketch::new();
    let dims: &[u32] = &[2, 3, 4];
    let (first, second) = (sketch.input(Type::FP32, dims), sketch.input(Type::FP32, dims));
    let (sum, active) = (sketch.inside(Type::FP32, dims), sketch.inside(Type::FP32, dims));
    let (product, turned) = (sketch.output(Type::FP32, dims), sketch.output(Type::FP32, &[4, 3, 2]));
    let flags = 0;
    sketch.node(XNodeUnion::XNNAdd(XNNNode2x1 { input1_id: first, input2_id: second, output_id: sum, flags }));
    sketch.node(XNodeUnion::XNNSigmoid(XNNNode1x1 { input_id: sum, output_id: active, flags }));
    sketch.node(XNodeUnion::XNNMultiply(XNNNode2x1 { input1_id: active, input2_id: first, output_id: product, flags }));
    let perm = numbers(&[2, 1, 0]);
    let transpose = XNNStaticTranspose { num_dims: 3, perm, input_id: active, output_id: turned, flags };
    sketch.node(XNodeUnion::XNNStaticTranspose(transpose));
    programs.push(("several".into(), sketch.program()));
    // XNNPACK merges up to nine nodes after 8-bit numbers into a lookup table.
    let mut sketch = Sketch::new();
    let mut last = sketch.input_as(Type::QINT8, dims);
    for _ in 0..9 {
        let next = sketch.inside(Type::QINT8, dims);
        sketch.node(XNodeUnion::XNNTanh(XNNNode1x1 { input_id: last, output_id: next, flags }));
        last = next;
    }
    let output = sketch.output(Type::FP32, dims);
    sketch.convert(last, output);
    programs.push(("chain".into(), sketch.program()));
}
