//! Structured changes of an XNNPACK graph: one to three changes, each of one kind, to values that are meaningful in that graph.

use executorch_format::schema::any::{AnyField, FieldChange, Value};
use executorch_format::schema::xnnpack::*;
use executorch_format_support::random::Random;
use executorch_format_support::xnnpack_programs::{BINARY, UNARY};

/// The changed part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The dimensions of values.
    Dims,
    /// The values that nodes refer to, and the ids of values.
    Ids,
    /// The flags of nodes and values.
    Flags,
    /// The numbers and lists of nodes: kernels, strides, paddings, groups, permutations, axes, limits of clamps.
    Settings,
    /// The operators of nodes.
    Nodes,
    /// The types of values.
    Types,
    /// Scales, zero points, channels, groups, and the kind of quantization.
    Quantization,
    /// The constants of values, and the places of constants.
    Constants,
    /// Counts, and the lists of inputs and outputs.
    Counts,
    /// The nodes and values, and their order.
    Order,
}

pub const KINDS: [(&str, Kind); 10] = [
    ("dims", Kind::Dims),
    ("ids", Kind::Ids),
    ("flags", Kind::Flags),
    ("settings", Kind::Settings),
    ("nodes", Kind::Nodes),
    ("types", Kind::Types),
    ("quantization", Kind::Quantization),
    ("constants", Kind::Constants),
    ("counts", Kind::Counts),
    ("order", Kind::Order),
];

/// Changes a graph and describes the change. Returns `None` if the graph could not be changed.
pub fn change(graph: &mut XNNGraph<'_>, kinds: &[Kind], random: &mut Random) -> Option<String> {
    let count = [1, 1, 1, 1, 2, 2, 3][random.below(7)];
    let mut how = Vec::new();
    for _ in 0..count {
        let kind = kinds[random.below(kinds.len())];
        how.extend(match kind {
            Kind::Dims => dims(graph, random),
            Kind::Ids => ids(graph, random),
            Kind::Flags => flags(graph, random),
            Kind::Settings => settings(graph, random),
            Kind::Nodes => nodes(graph, random),
            Kind::Types => types(graph, random),
            Kind::Quantization => quantization(graph, random),
            Kind::Constants => constants(graph, random),
            Kind::Counts => counts(graph, random),
            Kind::Order => order(graph, random),
        });
    }
    (!how.is_empty()).then(|| how.join(", "))
}

/// Returns another number: mostly a small number, or one near the old number.
fn number(before: u32, random: &mut Random) -> u32 {
    const SMALL: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32, 33, 64];
    const LARGE: [u32; 12] =
        [100, 255, 256, 1000, 4096, 65535, 65536, 1 << 24, i32::MAX as u32, 1 << 31, u32::MAX - 1, u32::MAX];
    match random.below(10) {
        0 => LARGE[random.below(LARGE.len())],
        1 => before.wrapping_add(1),
        2 => before.wrapping_sub(1),
        3 => before.wrapping_mul(2),
        4 => before / 2,
        _ => SMALL[random.below(SMALL.len())],
    }
}

/// Picks an item of a list, and returns it with its index.
fn any<'l, T>(list: &'l mut Option<Vec<T>>, random: &mut Random) -> Option<(usize, &'l mut T)> {
    let list = list.as_mut()?;
    let index = random.below(list.len());
    Some((index, list.get_mut(index)?))
}

fn any_tensor<'g, 'a>(graph: &'g mut XNNGraph<'a>, random: &mut Random) -> Option<(usize, &'g mut XNNTensorValue<'a>)> {
    let (index, value) = any(&mut graph.xvalues, random)?;
    Some((index, value.tensor_mut()?))
}

/// Changes a list of numbers: an item, its length, or its order.
fn list(list: &mut Vec<u32>, random: &mut Random) {
    let at = random.below(list.len());
    match (random.below(8), list.get(at).copied()) {
        (0, _) => list.insert(at, number(1, random)),
        (1, Some(_)) => drop(list.remove(at)),
        (2, Some(_)) => list.rotate_left(1),
        (3, Some(first)) => {
            let other = random.below(list.len());
            list[at] = list[other];
            list[other] = first;
        }
        (_, Some(before)) => list[at] = number(before, random),
        (_, None) => list.push(number(1, random)),
    }
}

fn dims(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let (index, tensor) = any_tensor(graph, random)?;
    let dims = tensor.dims.as_mut()?.to_mut();
    list(dims, random);
    Some(format!("value {index} has dims {dims:?}"))
}

fn ids(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let count = graph.xvalues().len();
    let id = match random.below(12) {
        0 => NO_ID,
        1 => count as u32,
        _ => random.below(count) as u32,
    };
    match random.below(6) {
        0 => {
            let (index, tensor) = any_tensor(graph, random)?;
            tensor.id_out = id;
            Some(format!("value {index} has id {id}"))
        }
        1 => {
            let (index, tensor) = any_tensor(graph, random)?;
            tensor.external_id = id;
            Some(format!("value {index} has external id {id}"))
        }
        _ => field(graph, random, |name| name.ends_with("_id"), |_, _| id),
    }
}

/// Changes a number of a node's member whose name matches.
fn field(
    graph: &mut XNNGraph<'_>,
    random: &mut Random,
    fits: impl Fn(&str) -> bool,
    other: impl FnOnce(u32, &mut Random) -> u32,
) -> Option<String> {
    let (index, node) = any(&mut graph.xnodes, random)?;
    let kind = node.name();
    let member = AnyField::table_mut(&mut node.xnode_union, 0)?;
    let mut fields = Vec::new();
    for (at, description) in member.description().fields.iter().enumerate() {
        let number = match member.field(at).map(AnyField::value) {
            Some(Value::Number(number)) => number,
            _ => continue,
        };
        if fits(description.name) {
            fields.push((at, description.name, number.bits()));
        }
    }
    let (at, name, before) = *fields.get(random.below(fields.len()))?;
    let number = other(before as u32, random);
    member
        .field_mut(at)?
        .change(FieldChange::Bits(number.into()))
        .then(|| format!("{name} of {kind} {index} is {number}"))
}

fn flags(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let bits = [0, 1, 2, 3, 4, 8, 0x40, 0x80, 0x100, 0x1000, 1 << 31, u32::MAX];
    let bits = bits[random.below(bits.len())];
    if random.below(3) > 0 {
        let single = 1 << random.below(32);
        let bits = if random.below(2) > 0 { bits } else { single };
        return field(graph, random, |name| name == "flags", |_, _| bits);
    }
    let (index, tensor) = any_tensor(graph, random)?;
    tensor.flags = bits;
    Some(format!("value {index} has flags {bits:#x}"))
}

fn settings(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    if random.below(8) == 0 {
        let (index, node) = any(&mut graph.xnodes, random)?;
        let floats = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, 1.0, -1.0, 6.0, 1e30, -1e30];
        let mut float = || floats[random.below(floats.len())];
        let range = OutputMinMax { output_min: float(), output_max: float() };
        node.output_min_max = Some(range).filter(|range| range.output_min != 6.0);
        return Some(format!("node {index} clamps to {:?}", node.output_min_max));
    }
    if random.below(2) == 0 {
        let (index, node) = any(&mut graph.xnodes, random)?;
        let (lists, what) = match &mut node.xnode_union {
            XNodeUnion::XNNStaticTranspose(node) => (vec![&mut node.perm], "perm"),
            XNodeUnion::XNNStaticReshape(node) => (vec![&mut node.new_shape], "new_shape"),
            XNodeUnion::XNNStaticSlice(node) => (vec![&mut node.offsets, &mut node.sizes], "offsets or sizes"),
            XNodeUnion::XNNStaticConstantPad(node) => {
                (vec![&mut node.pre_paddings, &mut node.post_paddings], "paddings")
            }
            _ => (Vec::new(), ""),
        };
        if !lists.is_empty() {
            let which = random.below(lists.len());
            let changed = lists.into_iter().nth(which)?.get_or_insert_default();
            list(changed.to_mut(), random);
            return Some(format!("{what} of node {index} is {changed:?}"));
        }
    }
    field(
        graph,
        random,
        |name| !name.ends_with("_id") && name != "flags",
        |before, random| {
            // Floats are read as their bits.
            if before > 0x3000_0000 && before < u32::MAX - 8 {
                [0.0, -1.0, 2.0, f32::NAN, f32::INFINITY, 1e30, 1e-40].map(f32::to_bits)[random.below(7)]
            } else {
                number(before, random)
            }
        },
    )
}

fn nodes(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let (index, node) = any(&mut graph.xnodes, random)?;
    let before = node.name();
    let unary = |input_id, output_id, flags, random: &mut Random| {
        UNARY[random.below(UNARY.len())].1(XNNNode1x1 { input_id, output_id, flags })
    };
    let way = random.below(3);
    let other = match &node.xnode_union {
        XNodeUnion::XNNConv2d(conv) => match way {
            0 => XNodeUnion::XNNDepthwiseConv2d(*conv),
            1 => XNodeUnion::XNNConvTranspose2d(*conv),
            _ => dense(conv),
        },
        XNodeUnion::XNNDepthwiseConv2d(conv) => match way {
            0 => XNodeUnion::XNNConv2d(*conv),
            1 => XNodeUnion::XNNConvTranspose2d(*conv),
            _ => dense(conv),
        },
        XNodeUnion::XNNConvTranspose2d(conv) => match way {
            0 => XNodeUnion::XNNConv2d(*conv),
            1 => XNodeUnion::XNNDepthwiseConv2d(*conv),
            _ => dense(conv),
        },
        XNodeUnion::XNNAvgPooling2d(pool) if way < 2 => XNodeUnion::XNNMaxPooling2d(*pool),
        XNodeUnion::XNNMaxPooling2d(pool) if way < 2 => XNodeUnion::XNNAvgPooling2d(*pool),
        XNodeUnion::XNNConcatenate2(cat)
        | XNodeUnion::XNNConcatenate3(cat)
        | XNodeUnion::XNNConcatenate4(cat)
        | XNodeUnion::XNNConcatenate5(cat) => match random.below(4) {
            0 => XNodeUnion::XNNConcatenate2(*cat),
            1 => XNodeUnion::XNNConcatenate3(*cat),
            2 => XNodeUnion::XNNConcatenate4(*cat),
            _ => XNodeUnion::XNNConcatenate5(*cat),
        },
        XNodeUnion::XNNFullyConnected(dense) if way < 2 => XNodeUnion::XNNBatchMatrixMultiply(XNNNode2x1 {
            input1_id: dense.input1_id,
            input2_id: dense.filter_id,
            output_id: dense.output_id,
            flags: 0,
        }),
        other => {
            let ids = other.ids();
            let output_id = ids.outputs.first()?.1;
            match ids.inputs.as_slice() {
                [(_, input_id)] => match way {
                    0 => XNodeUnion::XNNMaxPooling2d(XNNPooling2D {
                        pooling_height: 2,
                        pooling_width: 2,
                        stride_height: 1,
                        stride_width: 1,
                        dilation_height: 1,
                        dilation_width: 1,
                        input_id: *input_id,
                        output_id,
                        ..XNNPooling2D::default()
                    }),
                    _ => unary(*input_id, output_id, 0, random),
                },
                [(_, input1_id), (_, input2_id), ..] => {
                    let (input1_id, input2_id) = (*input1_id, *input2_id);
                    match way {
                        0 => unary(input1_id, output_id, 0, random),
                        1 if random.below(2) == 0 => XNodeUnion::XNNFullyConnected(XNNFullyConnected {
                            input1_id,
                            filter_id: input2_id,
                            bias_id: NO_ID,
                            output_id,
                            flags: 0,
                        }),
                        _ => BINARY[random.below(BINARY.len())].1(XNNNode2x1 {
                            input1_id,
                            input2_id,
                            output_id,
                            flags: 0,
                        }),
                    }
                }
                [] => return None,
            }
        }
    };
    node.xnode_union = other;
    Some(format!("node {index} is {}, not {before}", node.name()))
}

fn dense(conv: &XNNNodeConv) -> XNodeUnion<'static> {
    let XNNNodeConv { input1_id, filter_id, bias_id, output_id, .. } = *conv;
    XNodeUnion::XNNFullyConnected(XNNFullyConnected { input1_id, filter_id, bias_id, output_id, flags: 0 })
}

fn types(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let datatype = XNNDatatype(random.below(17) as i16);
    let (index, tensor) = any_tensor(graph, random)?;
    if random.below(12) == 0 {
        tensor.dq_datatype = Some(datatype);
        return Some(format!("value {index} has dq_datatype {datatype}"));
    }
    tensor.datatype = datatype;
    if random.below(2) == 0 {
        return Some(format!("value {index} is {datatype}"));
    }
    // Uses a matching quantization.
    let value = &mut graph.xvalues.as_mut()?[index];
    let tensor = value.tensor()?.clone();
    let quant_params = quantized(datatype, tensor.dims(), random);
    let plain = matches!(quant_params, XNNQuantParams::None);
    value.xvalue_union = match plain {
        true => tensor.into(),
        false => XNNQuantizedTensorValue { tensor_value: Some(tensor), quant_params }.into(),
    };
    Some(format!("value {index} is {datatype}, quantized to fit"))
}

/// Returns a quantization that the type accepts.
fn quantized(datatype: XNNDatatype, dims: &[u32], random: &mut Random) -> XNNQuantParams<'static> {
    let dim = random.below(dims.len());
    let scales = |count: u64| Some(vec![0.05f32; count.min(4096) as usize].into());
    match datatype {
        XNNDatatype::QINT8 | XNNDatatype::QUINT8 | XNNDatatype::QINT32 => {
            PerTensorQuant { scale: 0.05, zero_point: 0 }.into()
        }
        XNNDatatype::QCINT8 | XNNDatatype::QCINT32 | XNNDatatype::QCINT4 => PerChannelQuant {
            scale: scales(dims.get(dim).copied().unwrap_or(1).into()),
            channel_dim: dim as i32,
            ..PerChannelQuant::default()
        }
        .into(),
        XNNDatatype::QBINT4 => {
            let group_size = [32, 64, 1, 16][random.below(4)];
            let all = dims.iter().fold(1u64, |all, size| all.saturating_mul((*size).into()));
            let scale = scales(all / group_size as u64);
            PerChannelGroupQuant { scale, group_size, ..PerChannelGroupQuant::default() }.into()
        }
        XNNDatatype::QDINT8 | XNNDatatype::QPINT8 => PerTokenDynamicQuant { num_nonbatch_dims: dim as i32 }.into(),
        _ => XNNQuantParams::None,
    }
}

fn quantization(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let scales = [0.0f32, -1.0, f32::NAN, f32::INFINITY, 1.0, 0.1, 0.001, 100.0, 1e-30, 1e30, 1e-40];
    let scale = scales[random.below(scales.len())];
    let values = graph.xvalues.as_mut()?;
    let quantized: Vec<usize> = (0..values.len()).filter(|index| values[*index].quant_params().is_some()).collect();
    let index = *quantized.get(random.below(quantized.len()))?;
    let XValueUnion::XNNQuantizedTensorValue(value) = &mut values[index].xvalue_union else { return None };
    let mut other = |before: i32| number(before as u32, random) as i32;
    let list = |scales: &mut Option<std::borrow::Cow<'_, [f32]>>, way: usize| {
        let Some(scales) = scales.as_mut().map(|scales| scales.to_mut()) else { return };
        match way {
            0 => drop(scales.pop()),
            1 => scales.push(0.1),
            2 => scales.clear(),
            _ => scales.iter_mut().take(way - 2).for_each(|old| *old = scale),
        }
    };
    let way = other(0).unsigned_abs() as usize % 7;
    match (&mut value.quant_params, way) {
        (XNNQuantParams::PerTensorQuant(params), 0..=2) => params.zero_point = other(params.zero_point),
        (XNNQuantParams::PerTensorQuant(params), 3..) => params.scale = scale,
        (XNNQuantParams::PerChannelQuant(params), 0) => params.channel_dim = other(params.channel_dim),
        (XNNQuantParams::PerChannelQuant(params), 1) => {
            params.scale_buffer_idx = other(params.scale_buffer_idx as i32) as u32
        }
        (XNNQuantParams::PerChannelQuant(params), 2) => params.num_scales = other(params.num_scales as i32) as u32,
        (XNNQuantParams::PerChannelQuant(params), 3..) => list(&mut params.scale, other(0) as usize % 7),
        (XNNQuantParams::PerTokenDynamicQuant(params), _) => params.num_nonbatch_dims = other(params.num_nonbatch_dims),
        (XNNQuantParams::PerChannelGroupQuant(params), 0) => params.channel_dim = other(params.channel_dim),
        (XNNQuantParams::PerChannelGroupQuant(params), 1) => {
            params.scale_buffer_idx = other(params.scale_buffer_idx as i32) as u32
        }
        (XNNQuantParams::PerChannelGroupQuant(params), 2) => params.num_scales = other(params.num_scales as i32) as u32,
        (XNNQuantParams::PerChannelGroupQuant(params), 3..=4) => params.group_size = other(params.group_size),
        (XNNQuantParams::PerChannelGroupQuant(params), 5..) => list(&mut params.scale, other(0) as usize % 7),
        _ => return None,
    }
    Some(format!("value {index} is quantized as {:?}", value.quant_params))
}

fn constants(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let entries = graph.constant_data().len().max(graph.constant_buffer().len());
    if random.below(2) == 0 {
        let (index, tensor) = any_tensor(graph, random)?;
        tensor.constant_buffer_idx = random.below(entries + 1) as u32;
        return Some(format!("value {index} is constant {}", tensor.constant_buffer_idx));
    }
    let (index, entry) = any(&mut graph.constant_data, random)?;
    match random.below(5) {
        0 => entry.offset = number(entry.offset as u32, random).into(),
        1 => entry.named_key = if entry.named_key.is_some() { None } else { Some("key".into()) },
        2 => entry.offset = entry.offset.wrapping_add(16),
        _ => entry.size = number(entry.size as u32, random).into(),
    }
    Some(format!("constant {index} is {entry:?}"))
}

fn counts(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    Some(match random.below(4) {
        0 => {
            graph.num_externs = number(graph.num_externs, random);
            format!("num_externs is {}", graph.num_externs)
        }
        1 => {
            let (index, tensor) = any_tensor(graph, random)?;
            tensor.num_dims = number(tensor.num_dims, random);
            format!("num_dims of value {index} is {}", tensor.num_dims)
        }
        2 => {
            list(graph.input_ids.as_mut()?.to_mut(), random);
            format!("input_ids is {:?}", graph.input_ids)
        }
        _ => {
            list(graph.output_ids.as_mut()?.to_mut(), random);
            format!("output_ids is {:?}", graph.output_ids)
        }
    })
}

fn order(graph: &mut XNNGraph<'_>, random: &mut Random) -> Option<String> {
    let (nodes, values) = (graph.xnodes.as_mut()?, graph.xvalues.as_mut()?);
    let (node, value) = (random.below(nodes.len()), random.below(values.len()));
    let (other_node, other_value) = (random.below(nodes.len()), random.below(values.len()));
    Some(match random.below(7) {
        0 if !nodes.is_empty() => {
            nodes.remove(node);
            format!("node {node} is removed")
        }
        1 if !nodes.is_empty() => {
            nodes.push(nodes[node].clone());
            format!("node {node} comes twice")
        }
        2 if !nodes.is_empty() => {
            nodes.swap(node, other_node);
            format!("nodes {node} and {other_node} change places")
        }
        3 if !values.is_empty() => {
            values.remove(value);
            format!("value {value} is removed")
        }
        4 if !values.is_empty() => {
            values.push(values[value].clone());
            format!("value {value} comes twice")
        }
        5 if !values.is_empty() => {
            let mut copy = values[value].clone();
            copy.tensor_mut()?.id_out = values.len() as u32;
            values.push(copy);
            format!("value {value} comes again with an id of its own")
        }
        _ if !values.is_empty() => {
            values.swap(value, other_value);
            format!("values {value} and {other_value} change places")
        }
        _ => return None,
    })
}
