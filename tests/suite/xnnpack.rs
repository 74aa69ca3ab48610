//! XNNPACK payloads: the graphs in real ones, and writing.

use executorch_format::delegate::xnnpack::{ConstantPlace, ConstantUse};
use executorch_format::delegate::{NamedBlobs, Payload, Xnnpack};
use executorch_format::inspect::{BlobUser, Content, SizeKind};
use executorch_format::schema::xnnpack::{
    XNNArgMaxPooling2d, XNNDatatype, XNNGraph, XNNNode1x1, XNNNode2x1, XNNQuantParams, XNNQuantizedTensorValue, XNode,
    XNodeUnion, XValueUnion,
};
use executorch_format::verify::Level;
use executorch_format::{FileKind, Model, Ptd, Pte};
use executorch_format_support::corpus::damaged;
use executorch_format_support::fixtures::{self, Fixture, equal, fixtures, stride};
use executorch_format_support::xnnpack_programs;

/// Returns every payload of the programs, and those in separate files.
pub fn payloads() -> Vec<(String, Vec<u8>)> {
    let mut payloads = Vec::new();
    for fixture in fixtures().iter().filter(|fixture| fixture.is_pte()) {
        let pte = Pte::parse(fixture.bytes()).unwrap();
        for (index, delegate) in pte.methods().iter().flat_map(|plan| plan.delegates()).enumerate() {
            let data = pte.delegate_data(delegate).and_then(|data| pte.bytes(&data));
            if let Some(bytes) = data.ok().filter(|bytes| Xnnpack::is_one(bytes)) {
                payloads.push((format!("{}, delegate {index}", fixture.name()), bytes.to_vec()));
            }
        }
    }
    payloads.extend(cut_out().into_iter().map(|file| (file.name(), file.bytes().to_vec())));
    assert!(payloads.len() > 20);
    payloads
}

fn cut_out() -> Vec<Fixture> {
    fixtures::with_extension("xnn")
}

#[test]
fn every_official_payload_is_written_back_byte_for_byte_from_its_graph_alone() {
    for (name, bytes) in payloads() {
        let payload = Xnnpack::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(payload.to_vec().unwrap() == bytes, "{name}: unchanged");
        let by_hand = Xnnpack { source: None, ..payload };
        let encoded = by_hand.to_vec().unwrap();
        // flatc wrote the handmade payload in the form of ExecuTorch 0.1, with a different order of fields.
        match &by_hand.identifier {
            b"XN00" => assert_eq!(Xnnpack::parse(&encoded).unwrap().graph, by_hand.graph, "{name}"),
            _ => assert!(encoded == bytes, "{name}: encoded"),
        }
        assert!(by_hand.clone().into_owned() == by_hand, "{name}: owned");
    }
}

#[test]
fn a_payload_is_a_model_with_the_same_functions() {
    let mut seen = (0, 0);
    for (name, bytes) in payloads() {
        let payload = Xnnpack::parse(&bytes).unwrap();
        Model::verify_structure(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let model = Model::parse(&bytes).unwrap();
        assert_eq!(model.kind(), FileKind::Xnnpack, "{name}");
        assert_eq!(model.root().description().name, "XNNGraph");
        assert!(model.image().unwrap().to_vec().unwrap() == bytes, "{name}");
        assert_eq!(model.verify(Level::Strict), payload.verify(Level::Strict), "{name}");
        let size = model.size_report().unwrap();
        let blobs = model.blobs();
        for blob in &blobs.blobs {
            let BlobUser::Constant { constant, .. } = blob.users[0] else { panic!("{name}: {blob:?}") };
            let expected = payload.constant_bytes(constant, &NamedBlobs::NONE).unwrap();
            assert_eq!(model.blob_bytes(blob).unwrap().as_deref(), Some(expected), "{name}");
        }
        let constants = size.parts.iter().filter(|part| part.kind == SizeKind::Constant).map(|part| part.size);
        assert_eq!(constants.sum::<u64>(), blobs.blobs.iter().map(|blob| blob.size).sum::<u64>(), "{name}");
        let summary = model.summary();
        let Content::Xnnpack(content) = &summary.content else { panic!("{name}: {summary:?}") };
        assert_eq!(summary.identifier.as_bytes(), &bytes[4..8], "{name}");
        assert_eq!(content.inputs.len() + content.outputs.len(), payload.graph.externals().len(), "{name}");
        assert_eq!(
            content.operators.iter().map(|one| one.calls).sum::<usize>(),
            payload.graph.xnodes().len(),
            "{name}"
        );
        assert_eq!(content.constants.count - content.keyed.count, blobs.blobs.len(), "{name}");
        seen = (seen.0 + blobs.blobs.len(), seen.1 + content.keyed.count);
    }
    assert!(seen.0 > 10 && seen.1 > 10, "{seen:?}");
    // Damage is reported by the same rule, whether the graph is built or not.
    let (_, bytes) = payloads().swap_remove(0);
    for at in (0..bytes.len()).step_by(stride()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        assert_eq!(Model::verify_structure(&damaged).err(), Model::parse(&damaged).err(), "byte {at}");
    }
}

#[test]
fn the_graph_agrees_with_flatc() {
    use executorch_format_support::flatc_json::{compare, quoted};

    let files: Vec<_> = cut_out().into_iter().filter(|file| file.path.with_extension("json").exists()).collect();
    assert!(files.len() >= 20);
    fixtures::for_each(&files, |file| {
        let payload = Xnnpack::parse(file.bytes()).map_err(|error| error.to_string())?;
        let found = serde_json::to_value(&payload).unwrap();
        let expected = std::fs::read_to_string(file.path.with_extension("json")).unwrap();
        let mut differences = Vec::new();
        compare(
            &mut String::new(),
            &rounded(found),
            &rounded(serde_json::from_str(&quoted(&expected)).unwrap()),
            true,
            &mut differences,
        );
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    });
}

/// Rounds to six digits, as flatc prints 32-bit floats.
fn rounded(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap();
            serde_json::json!((number * 1e6).round() / 1e6)
        }
        Value::Array(items) => items.into_iter().map(rounded).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, rounded(value))).collect(),
        other => other,
    }
}

#[test]
fn a_changed_graph_is_encoded_and_read_back() {
    let file = fixtures::fixture("payloads/v0.4.0_conv2d.0.xnn");
    let mut payload = Xnnpack::parse(file.bytes()).unwrap();
    let constants = payload.constant_data.to_vec();
    payload.graph.xnodes.as_mut().unwrap()[0].debug_handle = 7;
    payload.graph.version = Some("a longer version".into());
    let bytes = payload.to_vec().unwrap();
    let again = Xnnpack::parse(&bytes).unwrap();
    assert_eq!(again.graph, payload.graph);
    assert_eq!(again.constant_data, constants);
    assert_eq!(again.header.unwrap().constant_data_offset % 16, 0);
}

#[test]
fn constants_are_found_wherever_they_are() {
    let count = |name: &str, ptd: Option<&str>| {
        let file = fixtures::fixture(name);
        let pte = Pte::parse(file.bytes()).unwrap();
        let data = ptd.map(fixtures::fixture);
        let ptds: Vec<_> = data.iter().map(|data| Ptd::parse(data.bytes()).unwrap()).collect();
        let blobs = NamedBlobs::new(&pte, &ptds);
        let mut found = Vec::new();
        for delegate in pte.methods().iter().flat_map(|plan| plan.delegates()) {
            let Payload::Xnnpack(payload) = pte.delegate(delegate).unwrap() else { panic!("{name}") };
            for constant in payload.constants() {
                let bytes = payload.constant_bytes(constant.index, &blobs).unwrap();
                assert_eq!(bytes.len() as u64, constant.place.size());
                if let ConstantPlace::Named { key, .. } = constant.place {
                    assert_eq!(key.trim_start_matches("scale_"), fixtures::sha256(bytes), "a key is a hash");
                }
                for user in &constant.uses {
                    if let ConstantUse::Tensor { tensor, .. } = user {
                        assert_eq!(tensor.byte_size(), Some(bytes.len() as u64));
                    }
                }
                found.push((constant.uses.len(), bytes.len()));
            }
        }
        found
    };
    assert_eq!(count("1.5.1/linear_xnnpack/linear_xnnpack.pte", None).len(), 2);
    assert_eq!(
        count(
            "1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte",
            Some("1.5.1/linear_xnnpack_external/xnn_weights.ptd")
        )
        .len(),
        2
    );
    assert_eq!(count("0.4.0/linear_xnnpack/linear_xnnpack.pte", None).len(), 2);
}

#[test]
fn every_node_names_its_values() {
    let file = fixtures::fixture("payloads/handmade_every_node.0.xnn");
    let payload = Xnnpack::parse(file.bytes()).unwrap();
    let kinds = payload.graph.count_nodes();
    assert_eq!(kinds.len(), 47);
    for node in payload.graph.xnodes() {
        let ids = node.xnode_union.ids();
        assert!(!ids.inputs.is_empty() && !ids.outputs.is_empty(), "{node:?}");
        let inputs = match &node.xnode_union {
            XNodeUnion::XNNConcatenate2(_) => 2,
            XNodeUnion::XNNConcatenate4(_) => 4,
            XNodeUnion::XNNConcatenate5(_) => 5,
            XNodeUnion::XNNConv2d(_) => 3,
            _ => continue,
        };
        assert_eq!(ids.inputs.len(), inputs, "{node:?}");
    }
}

#[test]
fn a_call_passes_its_arguments_to_the_graph_in_order() {
    let file = fixtures::fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let delegate = &pte.methods()[0].delegates()[0];
    let Payload::Xnnpack(payload) = pte.delegate(delegate).unwrap() else { panic!("another kind") };
    let externals = payload.graph.externals();
    equal("arguments", externals.len() as u32, payload.graph.num_externs).unwrap();
    for ((_, tensor), index) in externals.iter().zip(0..) {
        equal("argument", tensor.external_id, index).unwrap();
    }
}

/// Reads a payload, verifies it, reads each constant, and writes it back.
fn read(bytes: &[u8]) {
    let payload = match Xnnpack::parse(bytes) {
        Ok(payload) => payload,
        Err(error) => {
            assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
            return;
        }
    };
    assert!(payload.verify(Level::Runtime).len() <= payload.verify(Level::Strict).len());
    for constant in payload.constants() {
        if let Some(range) = payload.constant_range(constant.index) {
            assert!(range.start <= range.end && range.end <= bytes.len() as u64);
        }
        let _ = payload.constant_bytes(constant.index, &NamedBlobs::NONE);
    }
    assert_eq!(payload.to_vec().unwrap(), bytes);
}

#[test]
fn damaged_and_truncated_payloads_never_panic() {
    for file in cut_out() {
        let mut bytes = file.bytes().to_vec();
        for index in (0..bytes.len()).step_by(stride()) {
            let good = bytes[index];
            for value in [0, 1, good ^ 1, good.wrapping_add(4), 0x7f, 0x80, 0xff] {
                bytes[index] = value;
                read(&bytes);
            }
            bytes[index] = good;
            read(&bytes[..index]);
        }
    }
}

#[test]
fn payloads_of_other_backends_are_not_verified_as_xnnpack() {
    let rules = |file: &[u8]| -> Vec<&str> {
        let findings = Pte::parse(file).unwrap().verify(Level::Strict);
        let rules = findings.into_iter().map(|finding| finding.rule);
        rules.filter(|rule| rule.starts_with("xnnpack-")).collect()
    };
    for name in ["xnnpack-datatype", "xnnpack-flatbuffer", "xnnpack-arguments"] {
        let malformed = fixtures::fixture(&format!("malformed/{name}.pte"));
        let mut pte = Pte::parse(malformed.bytes()).unwrap();
        for plan in pte.program.execution_plan.iter_mut().flatten() {
            plan.delegates.iter_mut().flatten().for_each(|delegate| delegate.id = Some("Other".into()));
        }
        let other = pte.lay_out(&Default::default()).unwrap().image().unwrap().to_vec().unwrap();
        assert!(!rules(malformed.bytes()).is_empty(), "{name}");
        assert_eq!(rules(&other), [""; 0], "{name}");
    }
}

/// Returns the rules that the graph of a generated program breaks at a level after a change.
fn broken(name: &str, level: Level, change: impl FnOnce(&mut XNNGraph<'_>)) -> Vec<&'static str> {
    let programs = xnnpack_programs::all();
    let (_, file) = programs.iter().find(|(other, _)| other == name).expect(name);
    let pte = Pte::parse(file).unwrap();
    let Payload::Xnnpack(mut payload) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else {
        panic!("another kind of payload");
    };
    assert!(payload.verify(Level::Runtime).is_empty(), "{name}");
    change(&mut payload.graph);
    payload.verify(level).into_iter().map(|finding| finding.rule).collect()
}

fn typed(graph: &mut XNNGraph<'_>, value: usize, datatype: XNNDatatype) {
    graph.xvalues.as_mut().unwrap()[value].tensor_mut().unwrap().datatype = datatype;
}

#[test]
fn a_cycle_after_a_node_that_writes_one_value_twice_is_found_and_ends() {
    // The sum waits for the value and for its own result, but is notified twice about the value.
    let broken = broken("add-fp32", Level::Strict, |graph| {
        let pool = XNodeUnion::XNNArgMaxPooling2d(XNNArgMaxPooling2d {
            pooling_height: 2,
            pooling_width: 2,
            input_id: 0,
            output_value_id: 1,
            output_index_id: 1,
            ..Default::default()
        });
        let sum = XNodeUnion::XNNAdd(XNNNode2x1 { input1_id: 1, input2_id: 2, output_id: 2, flags: 0 });
        let values = graph.xvalues.as_mut().unwrap();
        values[1].tensor_mut().unwrap().flags = 0;
        graph.xnodes = Some([pool, sum].map(|xnode_union| XNode { xnode_union, ..XNode::default() }).into());
    });
    assert!(broken.contains(&"xnnpack-dataflow"), "{broken:?}");
}

#[test]
fn a_resize_to_the_other_type_of_8_bits_runs_and_is_strictly_an_error() {
    // XNNPACK checks each type separately, and that the scales are equal.
    let change = |graph: &mut XNNGraph<'_>| typed(graph, 1, XNNDatatype::QUINT8);
    assert_eq!(broken("resize-qint8", Level::Runtime, change), [""; 0]);
    assert!(broken("resize-qint8", Level::Strict, change).contains(&"xnnpack-node-datatypes"));
}

#[test]
fn a_type_with_many_scales_may_have_one_if_it_is_unused() {
    let unread = |graph: &mut XNNGraph<'_>| {
        typed(graph, 2, XNNDatatype::QBINT4);
        match &mut graph.xnodes.as_mut().unwrap()[2].xnode_union {
            XNodeUnion::XNNConvert(convert) => convert.input_id = 1,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(broken("square-qint8", Level::Runtime, unread), [""; 0]);
    assert!(broken("square-qint8", Level::Strict, unread).contains(&"xnnpack-datatype"));
    let read = broken("square-qint8", Level::Runtime, |graph| typed(graph, 2, XNNDatatype::QBINT4));
    assert!(read.contains(&"xnnpack-datatype"), "{read:?}");
}

#[test]
fn a_batch_of_matrices_is_multiplied_with_no_zero_point() {
    let multiply = |zero_point: i32| {
        move |graph: &mut XNNGraph<'_>| {
            let node = &mut graph.xnodes.as_mut().unwrap()[1].xnode_union;
            let XNodeUnion::XNNFullyConnected(dense) = node else { panic!("{node:?}") };
            let (input1_id, input2_id, output_id) = (dense.input1_id, dense.filter_id, dense.output_id);
            *node = XNodeUnion::XNNBatchMatrixMultiply(XNNNode2x1 { input1_id, input2_id, output_id, flags: 0 });
            let value = &mut graph.xvalues.as_mut().unwrap()[input2_id as usize].xvalue_union;
            let XValueUnion::XNNQuantizedTensorValue(value) = value else { panic!("{value:?}") };
            match &mut value.quant_params {
                XNNQuantParams::PerTensorQuant(quantization) => quantization.zero_point = zero_point,
                other => panic!("{other:?}"),
            }
        }
    };
    let name = "dense-qint8-qint8-qint8-no-bias";
    assert_eq!(broken(name, Level::Runtime, multiply(0)), [""; 0]);
    assert_eq!(broken(name, Level::Runtime, multiply(8)), ["xnnpack-weights"]);
}

#[test]
fn an_8_bit_transposed_convolution_takes_no_packed_input() {
    let packed = |graph: &mut XNNGraph<'_>| {
        let nodes = graph.xnodes.iter_mut().flatten();
        nodes.for_each(|node| {
            if let XNodeUnion::XNNConvTranspose2d(conv) = &mut node.xnode_union {
                conv.flags = 0x200;
            }
        });
    };
    for (name, rules) in [
        ("transposed-convolution-qint8-qint8-qint8", &["xnnpack-node"][..]),
        ("transposed-convolution-qint8-qcint8-qint8", &["xnnpack-node"]),
        ("transposed-convolution-qdint8-qcint8-fp32", &["xnnpack-node"]),
        ("transposed-convolution-fp32-fp32-fp32", &[]),
    ] {
        assert_eq!(broken(name, Level::Runtime, packed), rules, "{name}");
    }
}

#[test]
fn a_bias_of_grouped_weights_that_is_the_result_is_refused_although_the_node_waits_for_itself() {
    let own_result = |graph: &mut XNNGraph<'_>| {
        let node = &mut graph.xnodes.as_mut().unwrap()[1].xnode_union;
        let XNodeUnion::XNNFullyConnected(dense) = node else { panic!("{node:?}") };
        dense.bias_id = dense.output_id;
    };
    for (name, rules) in [
        ("dense-qdint8-qbint4-fp32", &["xnnpack-weights"][..]),
        ("dense-qdint8-qbint4-fp32-no-bias", &["xnnpack-weights"]),
    ] {
        assert_eq!(broken(name, Level::Runtime, own_result), rules, "{name}");
    }
}

#[test]
fn a_multiplication_that_never_runs_takes_any_input() {
    let in_a_circle = |graph: &mut XNNGraph<'_>| {
        let nodes = graph.xnodes.as_mut().unwrap();
        let (input_id, output_id) = (nodes[1].xnode_union.ids().outputs[0].1, nodes[0].xnode_union.ids().outputs[0].1);
        nodes[0].xnode_union = XNodeUnion::XNNFloor(XNNNode1x1 { input_id, output_id, flags: 0 });
    };
    assert!(!broken("dense-qdint8-qbint4-fp32", Level::Runtime, in_a_circle).contains(&"xnnpack-dynamic"));
}

#[test]
fn an_unwritten_bias_of_grouped_weights_is_ignored_by_the_runtime() {
    let without_data = |graph: &mut XNNGraph<'_>| {
        let value = &mut graph.xvalues.as_mut().unwrap()[3].xvalue_union;
        let XValueUnion::XNNTensorValue(value) = value else { panic!("{value:?}") };
        value.constant_buffer_idx = 0;
    };
    assert_eq!(broken("dense-qdint8-qbint4-fp32", Level::Runtime, without_data), [""; 0]);
    assert!(broken("dense-qdint8-qbint4-fp32", Level::Strict, without_data).contains(&"xnnpack-dataflow"));
    assert_eq!(broken("dense-qdint8-qcint4-fp32", Level::Runtime, without_data), ["xnnpack-weights"]);
}

#[test]
fn an_empty_output_is_found_in_any_order_of_nodes() {
    fn pad(payload: &mut Xnnpack<'_>) {
        let node = &mut payload.graph.xnodes.as_mut().unwrap()[1].xnode_union;
        let XNodeUnion::XNNConv2d(mut conv) = *node else { panic!("{node:?}") };
        conv.padding_top = 100;
        *node = XNodeUnion::XNNConvTranspose2d(conv);
    }
    fn pad_and_swap(payload: &mut Xnnpack<'_>) {
        pad(payload);
        payload.graph.xnodes.as_mut().unwrap().swap(0, 2);
    }
    let file = fixtures::fixture("payloads/conv2d.pte");
    for damage in [pad, pad_and_swap] {
        let file = damaged(file.bytes(), 0, damage);
        let rules: Vec<_> = Pte::parse(&file).unwrap().verify(Level::Runtime);
        assert_eq!(rules.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["xnnpack-empty-output"]);
    }
}

#[test]
fn weights_of_four_bits_are_not_transposed_for_plain_numbers() {
    let transposed = |graph: &mut XNNGraph<'_>| {
        for node in graph.xnodes.iter_mut().flatten() {
            if let XNodeUnion::XNNFullyConnected(dense) = &mut node.xnode_union {
                dense.flags = 1;
            }
        }
    };
    assert!(broken("dense-fp32-qcint4-fp32", Level::Runtime, transposed).contains(&"xnnpack-node"));
    assert!(!broken("dense-qdint8-qcint4-fp32", Level::Runtime, transposed).contains(&"xnnpack-node"));
}

#[test]
fn groups_that_do_not_divide_the_columns_are_refused_where_weights_are_packed() {
    let uneven = |graph: &mut XNNGraph<'_>| {
        let value = &mut graph.xvalues.as_mut().unwrap()[2].xvalue_union;
        let XValueUnion::XNNQuantizedTensorValue(value) = value else { panic!("{value:?}") };
        value.tensor_value.as_mut().unwrap().dims = Some(vec![64, 5].into());
    };
    let name = "dense-qdint8-qbint4-fp32";
    assert!(broken(name, Level::Runtime, uneven).contains(&"xnnpack-quantization"));
    let alone = broken(name, Level::Runtime, |graph| {
        uneven(graph);
        graph.xnodes.as_mut().unwrap().remove(1);
    });
    assert!(!alone.contains(&"xnnpack-quantization"), "{alone:?}");
}

#[test]
fn channels_of_a_depthwise_convolution_are_divided_by_the_runtime() {
    let channels = |input: u32, output: u32| {
        move |graph: &mut XNNGraph<'_>| {
            let node = &mut graph.xnodes.as_mut().unwrap()[0].xnode_union;
            let XNodeUnion::XNNDepthwiseConv2d(conv) = node else { panic!("{node:?}") };
            (conv.group_input_channels, conv.group_output_channels) = (input, output);
        }
    };
    let name = "depthwise-convolution-fp32-fp32-fp32";
    assert!(broken(name, Level::Runtime, channels(3, 2)).contains(&"xnnpack-node"));
    assert!(!broken(name, Level::Runtime, channels(2, 5)).contains(&"xnnpack-node"));
    assert!(broken(name, Level::Strict, channels(2, 5)).contains(&"xnnpack-node-shape"));
}

#[test]
fn a_filter_for_channels_of_a_depthwise_convolution_has_four_dimensions() {
    let name = "depthwise-convolution-fp32-fp32-fp32";
    let of_dims = |dims: Vec<u32>, quantized: bool| {
        move |graph: &mut XNNGraph<'_>| {
            let XNodeUnion::XNNDepthwiseConv2d(conv) = &graph.xnodes()[0].xnode_union else { panic!() };
            let filter = conv.filter_id as usize;
            let value = &mut graph.xvalues.as_mut().unwrap()[filter];
            value.tensor_mut().unwrap().dims = Some(dims.into());
            if quantized {
                let tensor_value = Some(value.tensor_mut().unwrap().clone().into_owned());
                let quant_params = XNNQuantParams::PerChannelQuant(Default::default());
                let quantized = XNNQuantizedTensorValue { tensor_value, quant_params };
                value.xvalue_union = XValueUnion::XNNQuantizedTensorValue(quantized);
            }
        }
    };
    assert!(broken(name, Level::Runtime, of_dims(vec![1, 3, 3], true)).contains(&"xnnpack-weights"));
    assert!(!broken(name, Level::Runtime, of_dims(vec![1, 3, 3], false)).contains(&"xnnpack-weights"));
    assert!(broken(name, Level::Strict, of_dims(vec![1, 3, 3], false)).contains(&"xnnpack-weights-shape"));
}

#[test]
fn a_payload_with_a_changed_graph_is_written_again() {
    let file = fixtures::fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let Payload::Xnnpack(mut payload) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else { panic!() };
    let before = payload.image().unwrap().to_vec().unwrap();
    let unchanged = payload.clone();
    payload.graph.version = Some("another".into());
    assert_ne!(payload, unchanged);
    let after = payload.image().unwrap().to_vec().unwrap();
    assert_ne!(before, after);
    assert_eq!(Xnnpack::parse(&after).unwrap().graph, payload.graph);
}

#[test]
fn an_unused_output_may_be_written_twice() {
    let twice = |graph: &mut XNNGraph<'_>| {
        let nodes = graph.xnodes.as_mut().unwrap();
        nodes.push(nodes[0].clone());
    };
    assert_eq!(broken("add-fp32", Level::Runtime, twice), [""; 0]);
    assert!(broken("add-fp32", Level::Strict, twice).contains(&"xnnpack-dataflow"));
}

#[test]
fn a_changed_payload_with_fields_of_a_newer_schema_is_not_written() {
    let file = fixtures::fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let Payload::Xnnpack(mut payload) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else { panic!() };
    payload.source.as_mut().unwrap().newer_tables = 1;
    payload.image().unwrap();
    payload.graph.version = Some("another".into());
    let error = payload.image().unwrap_err().to_string();
    assert!(error.contains("fields of a newer schema"), "{error}");
}

#[test]
fn a_payload_is_written_as_a_segment_with_the_same_bytes() {
    let file = fixtures::fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let Payload::Xnnpack(mut payload) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else { panic!() };
    for version in [None, Some("another")] {
        if let Some(version) = version {
            payload.graph.version = Some(version.into());
        }
        let segment = payload.to_segment().unwrap();
        let parts: Vec<u8> = segment.parts().flat_map(|(_, bytes)| bytes.to_vec()).collect();
        assert_eq!(parts, payload.to_vec().unwrap());
        assert_eq!(segment.len(), parts.len() as u64);
    }
}

#[test]
fn elements_have_the_bits_of_their_datatypes() {
    let bits =
        [XNNDatatype::QCINT4, XNNDatatype::QCINT8, XNNDatatype::FP16, XNNDatatype::FP32].map(XNNDatatype::element_bits);
    assert_eq!(bits, [4, 8, 16, 32].map(Some));
    assert_eq!(XNNDatatype::INVALID.element_bits(), None);
}

#[test]
fn the_stored_shape_of_a_value_that_is_quantized_at_run_time_may_have_its_channels_first() {
    for name in ["dynamic_sigmoid", "dynamic_conv2d"] {
        let fixture = fixtures::fixture(&format!("payloads/{name}.pte"));
        let findings = Pte::parse(fixture.bytes()).unwrap().verify(Level::Strict);
        assert!(findings.is_empty(), "{name}: {findings:#?}");
    }
    let fixture = fixtures::fixture("payloads/dynamic_conv2d.pte");
    // The dims of the value, of which the exporter stores [1, 3, 8, 8].
    let stored: Vec<u8> = [4_u32, 1, 3, 8, 8].iter().flat_map(|number| number.to_le_bytes()).collect();
    let places = fixture.bytes().windows(stored.len()).enumerate().filter(|(_, bytes)| *bytes == stored);
    let value = places.map(|(at, _)| at).nth(1).unwrap();
    for (dims, is_right) in [([1_u8, 8, 8, 3], true), ([1, 3, 8, 9], false), ([1, 8, 3, 8], false)] {
        let mut bytes = fixture.bytes().to_vec();
        for (at, size) in dims.into_iter().enumerate() {
            bytes[value + 4 + 4 * at] = size;
        }
        let findings = Pte::parse(&bytes).unwrap().verify(Level::Strict);
        assert_eq!(findings.iter().all(|finding| finding.rule != "xnnpack-node-shape"), is_right, "{dims:?}");
    }
}
