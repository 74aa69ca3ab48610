//! The graphs inside payloads of Vulkan, Ethos-U and Core ML: those of real files, and the errors of damaged ones.

use crate::damage::stride;
use executorch_format::delegate::{DelegateGraph, NamedBlobs, Payload};
use executorch_format::inspect::{DiffOptions, DifferenceSubject, NodeKind, Side, diff};
use executorch_format::{Analysis, ErrorKind, Model, Pte};
use executorch_format_support::fixtures::fixture;

/// Returns a graph as texts, one for each node.
fn texts(graph: &DelegateGraph) -> Vec<String> {
    let text = |node: &executorch_format::delegate::InsideNode| {
        let arguments = node.arguments.iter().map(|argument| {
            let arrow = if argument.output { "-> " } else { "" };
            let constant = if argument.constant { " constant" } else { "" };
            let position = argument.argument.map(|index| format!(" argument {index}")).unwrap_or_default();
            format!("{arrow}{} #{} {}{constant}{position}", argument.name, argument.id, argument.tensor)
        });
        let settings = node.settings.iter().map(|setting| format!("{} = {}", setting.name, setting.value));
        let parts: Vec<String> = arguments.chain(settings).collect();
        format!("{}: {}", node.operator, parts.join("; "))
    };
    graph.nodes.iter().map(text).collect()
}

/// Returns the payload of the only delegate of a program in `tests/data/payloads/other`.
fn payload(name: &str) -> Vec<u8> {
    let file = fixture(&format!("payloads/other/{name}.pte"));
    let pte = Pte::parse(file.bytes()).unwrap();
    let [delegate] = pte.methods()[0].delegates() else { panic!("one delegate") };
    pte.bytes(&pte.delegate_data(delegate).unwrap()).unwrap().to_vec()
}

fn graph(payload: &[u8]) -> executorch_format::Result<DelegateGraph> {
    let parsed = Payload::parse(payload)?;
    Ok(parsed.graph(payload, &NamedBlobs::NONE)?.expect("a graph"))
}

#[test]
fn a_vulkan_graph_has_operators_with_named_arguments() {
    let graph = graph(&payload("vulkan")).unwrap();
    let expected = "aten.linear.default: input #2 f32[2, 4] texture_3d tensor_width_packed argument 0; \
        weight #0 f32[3, 4] constant; bias #1 f32[3] constant; \
        -> out #3 f32[2, 3] texture_3d tensor_width_packed argument 1";
    assert_eq!(texts(&graph), [expected]);
    assert_eq!((graph.nodes[0].macs, graph.nodes[0].profile_id), (Some(24), Some(0)));
}

#[test]
fn an_ethos_u_graph_has_the_operations_of_the_command_stream() {
    let graph = graph(&payload("ethosu")).unwrap();
    let expected = "conv: ifm #0 i8[2, 1, 1, 4] argument 0; weights #1 packed u8[64] constant; \
        scales #2 packed u8[32] constant; -> ofm #3 i8[1, 2, 3] argument 1; \
        ifm = i8[1, 2, 4] in region 1, bytes 16..24, zero point 21; weights = in region 0, bytes 32..96; \
        scales = in region 0, bytes 0..32; kernel = 1x1; stride = 1x1; block = 1x2x8; range = -128..=127; \
        ofm = i8[1, 2, 3] in region 1, bytes 0..6, zero point 64";
    assert_eq!(texts(&graph), [expected]);
    assert_eq!(graph.nodes[0].macs, Some(24));
}

#[test]
fn a_core_ml_graph_has_the_operations_of_its_program() {
    let graph = graph(&payload("coreml")).unwrap();
    let expected = [
        "cast: x #0 f32[2, 4] argument 0; -> output #4 f16[2, 4]; dtype = \"fp16\"",
        "linear: bias #3 f16[3] constant; weight #2 f16[3, 4] constant; x #4 f16[2, 4]; -> output #5 f16[2, 3]",
        "cast: x #5 f16[2, 3]; -> output #7 f32[2, 3] argument 1; dtype = \"fp32\"",
    ];
    assert_eq!(texts(&graph), expected);
    let names: Vec<_> = graph.nodes.iter().map(|node| node.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["cast_1", "linear_0_cast_fp16", "cast_0"]);
    assert_eq!(graph.nodes[1].arguments[1].value_name.as_deref(), Some("p_weight_to_fp16"));
    assert_eq!(graph.nodes[1].macs, Some(24));
}

/// Makes a Core ML payload of files: their bytes, then the list of them as JSON, backwards.
fn package(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut bytes, mut nodes, mut children) = (Vec::new(), Vec::new(), Vec::new());
    for (name, content) in files {
        children.push(format!("\"{name}\":{}", nodes.len()));
        let region = format!("{{\"offset\":{},\"size\":{}}}", bytes.len(), content.len());
        nodes.push(format!("{{\"name\":\"{name}\",\"kind\":0,\"dataRegion\":{region},\"children\":{{}}}}"));
        bytes.extend(content.bytes());
    }
    let root = format!(
        "{{\"name\":\"root\",\"kind\":1,\"dataRegion\":{{\"offset\":0,\"size\":0}},\"children\":{{{}}}}}",
        children.join(",")
    );
    nodes.push(root);
    bytes.extend(format!("{{\"nodes\":[{}]}}", nodes.join(",")).bytes().rev());
    bytes
}

const MIL: &str = r#"program(1.3)
[buildInfo = dict<string, string>({{"coremlc-component-MIL", "3510.2.1"}, {"odd", "}]) {"}})]
{
    func other<ios18>(tensor<fp16, [1]> z) {
        tensor<fp16, [1]> q = relu(x = z)[name = string("q")];
    } -> (q);
    func main<ios18>(tensor<fp16, [1, 3, ?, 8]> x, state<tensor<fp16, [4]>> kept) [Shapes = dict<string, string>({})] {
        string pt = const()[name=string("pt"), val=string("valid")];
        tensor<int32, [2]> st = const()[name=string("st"), val=tensor<int32, [2]>([1,1])];
        tensor<fp16, [4,3,1,1]> W = const()[name=string("W"), val=tensor<fp16, [4,3,1,1]>(BLOBFILE(path=string("@model_path/weights/weight.bin"), offset=uint64(64)))];
        tensor<fp16, [1,4,8,8]> y = conv(pad_type=pt,strides=st,groups=int32(1),weight=W,x=x)[name=string("y")];
        tensor<fp16, [1,2,8,8]> a, tensor<fp16, [1,2,8,8]> b = split(axis = int32(1), x = y)[name = string("split_0")];
        tensor<fp16, [1,4,8,8]> c = concat(axis = int32(1), values = (b, a))[name = string("c")];
    } -> (c);
}
"#;

#[test]
fn a_compiled_core_ml_model_has_its_program_as_text() {
    let metadata = r#"{"inputNames": ["x"], "outputNames": ["c"], "identifier": "i"}"#;
    let graph = graph(&package(&[("metadata.json", metadata), ("model.mil", MIL)])).unwrap();
    let expected = [
        "conv: weight #4 f16[4, 3, 1, 1] constant; x #0 f16[1, 3, ?, 8] argument 0; -> output #5 f16[1, 4, 8, 8]; \
         pad_type = \"valid\"; strides = [1,1]; groups = 1",
        "split: x #5 f16[1, 4, 8, 8]; -> output #6 f16[1, 2, 8, 8]; -> output #7 f16[1, 2, 8, 8]; axis = 1",
        "concat: values #7 f16[1, 2, 8, 8]; values #6 f16[1, 2, 8, 8]; -> output #8 f16[1, 4, 8, 8] argument 1; \
         axis = 1",
    ];
    assert_eq!(texts(&graph), expected);
    // 256 outputs of 3 products each.
    assert_eq!(graph.nodes[0].macs, Some(768));
}

#[test]
fn an_error_in_the_text_of_a_program_names_its_place() {
    let broken = MIL.replace("concat(axis = int32(1)", "concat(axis = = 1");
    let bytes = package(&[("model.mil", &broken)]);
    let error = graph(&bytes).unwrap_err();
    let place = broken.find("= 1, values").unwrap() as u64;
    assert_eq!(error.offset(), Some(place), "{error}");
    assert!(error.to_string().contains("goes on with \"= 1, values = (b, a)"), "{error}");
    // Every prefix of the text is an error or a program without a part, and ends in time.
    for end in (0..MIL.len()).filter(|end| MIL.is_char_boundary(*end)) {
        let bytes = package(&[("model.mil", &MIL[..end])]);
        let _ = Payload::parse(&bytes).unwrap().graph(&bytes, &NamedBlobs::NONE);
    }
}

/// The start of the command stream in the Ethos-U payload, and the number of its words.
const STREAM: usize = 96;

#[test]
fn an_error_in_a_command_stream_names_its_place() {
    let whole = payload("ethosu");
    let count = u16::from_le_bytes([whole[STREAM - 2], whole[STREAM - 1]]);
    assert_eq!(whole[STREAM - 4], 2, "the action of the stream");
    // One word more than there is.
    let mut bytes = whole.clone();
    bytes[STREAM - 2..STREAM].copy_from_slice(&u16::MAX.to_le_bytes());
    let error = graph(&bytes).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated { what: "a command stream", .. }), "{error}");
    // An action that the driver does not have.
    let mut bytes = whole.clone();
    bytes[STREAM - 4] = 9;
    let error = graph(&bytes).unwrap_err();
    assert_eq!(error.offset(), Some(STREAM as u64 - 4), "{error}");
    assert!(error.to_string().contains("the driver has no action 9"), "{error}");
    // A stream that ends inside a command with data, here before its last but one word.
    let with_data = (0..usize::from(count)).rev().find(|word| whole[STREAM + 4 * word + 1] & 0x40 != 0).unwrap();
    let mut bytes = whole;
    bytes[STREAM - 2..STREAM].copy_from_slice(&(with_data as u16 + 1).to_le_bytes());
    let error = graph(&bytes).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated { what: "a command stream", .. }), "{error}");
}

#[test]
fn commands_for_an_ethos_u85_are_not_read() {
    let mut bytes = payload("ethosu");
    let start = bytes.windows(4).position(|word| word == b"COP1").unwrap();
    bytes[start + 3] = b'2';
    assert_eq!(Payload::parse(&bytes).unwrap().graph(&bytes, &NamedBlobs::NONE), Ok(None));
}

#[test]
fn a_graph_takes_no_more_memory_than_its_payload_justifies() {
    // A stream of nothing but convolutions, each of which would be a node with many settings.
    let count = 200_000u32;
    let mut stream = b"COP1".to_vec();
    stream.extend((2 | (count >> 16) << 8 | (count & 0xffff) << 16).to_le_bytes());
    stream.extend((0..count).flat_map(|_| 2u32.to_le_bytes()));
    let block = |name: &str, data: &[u8]| {
        let mut block = name.as_bytes().to_vec();
        block.resize(16, 0);
        block.extend((data.len() as u32).to_le_bytes());
        block.resize(32, 0);
        block.extend(data);
        block.resize(block.len().next_multiple_of(16), 0);
        block
    };
    let payload = [block("vela_bin_stream", &[]), block("cmd_data", &stream), block("vela_end_stream", &[])].concat();
    let error = graph(&payload).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

#[test]
fn damaged_payloads_are_errors_inside_them_or_other_graphs() {
    let mut errors = 0;
    for name in ["vulkan", "ethosu", "coreml"] {
        let whole = payload(name);
        for at in (0..whole.len()).step_by(stride()) {
            for value in [0, 0x7f, 0xff, whole[at] ^ 1] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let Ok(parsed) = Payload::parse(&bytes) else { continue };
                if let Err(error) = parsed.graph(&bytes, &NamedBlobs::NONE) {
                    assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{name} {at}: {error}");
                    errors += 1;
                }
            }
        }
    }
    assert!(errors > 0);
}

#[test]
fn a_damaged_graph_is_an_error_of_the_disassembly_with_its_place_in_the_file() {
    let mut file = fixture("payloads/other/ethosu.pte").bytes().to_vec();
    let start = file.windows(4).position(|word| word == b"COP1").unwrap();
    let action = (start + 4..).step_by(4).find(|at| file[*at] == 5).unwrap();
    file[action] = 0x77;
    let pte = Pte::parse(&file).unwrap();
    let disassembly = Analysis::new(&pte).disassembly();
    let [fault] = &disassembly.errors[..] else { panic!("one error") };
    assert_eq!(fault.path.to_string(), "execution_plan[0].delegates[0].processed");
    assert_eq!(fault.error.offset(), Some(action as u64), "{fault}");
    assert_eq!(disassembly.methods[0].delegates[0].nodes, []);
}

#[test]
fn graphs_and_counts_have_the_nodes_inside() {
    for (name, operators) in
        [("vulkan", &["aten.linear.default"][..]), ("ethosu", &["conv"]), ("coreml", &["cast", "linear", "cast"])]
    {
        let file = fixture(&format!("payloads/other/{name}.pte"));
        let pte = Pte::parse(file.bytes()).unwrap();
        let analysis = Analysis::new(&pte);
        let graphs = analysis.graphs();
        let inside = graphs[0].nodes.iter().filter(|node| node.kind == NodeKind::Inside);
        assert_eq!(inside.map(|node| &*node.label).collect::<Vec<_>>(), operators, "{name}");
        // Each node but the first takes what an earlier one wrote.
        let first = graphs[0].nodes.iter().position(|node| node.kind == NodeKind::Inside).unwrap();
        for node in first + 1..first + operators.len() {
            assert!(graphs[0].edges.iter().any(|edge| edge.from == node - 1 && edge.to == node), "{name} {node}");
        }
        let backends = analysis.operators().backends;
        let counted: usize = backends.values().flat_map(|backend| backend.operators.values()).sum();
        assert_eq!(counted, operators.len(), "{name}");
        let macs = analysis.macs();
        assert_eq!((macs.methods[0].macs, macs.methods[0].is_complete), (Some(24), true), "{name}");
        let delegation = analysis.delegation();
        assert_eq!(delegation.methods[0].delegated_calls, operators.len() as u64, "{name}");
        assert_eq!(delegation.methods[0].delegated_macs, Some(24), "{name}");
    }
}

#[test]
fn a_changed_block_size_is_a_difference_inside_the_delegate() {
    let old = fixture("payloads/other/ethosu.pte").bytes().to_vec();
    // NPU_SET_OFM_BLK_DEPTH_M1, 8 channels.
    let register = old.windows(4).position(|word| word == [0x17, 1, 7, 0]).unwrap();
    let mut new = old.clone();
    new[register + 2] = 15;
    let models = [&old, &new].map(|file| Model::parse(file).unwrap());
    let sides = models.each_ref().map(|model| Side::new(model, &[]));
    let differences = diff(&sides[0], &sides[1], &DiffOptions::default()).differences;
    let inside: Vec<_> =
        differences.iter().filter(|difference| difference.subject == DifferenceSubject::Payload).collect();
    let [difference] = &inside[..] else { panic!("{differences:?}") };
    assert_eq!(difference.name, "0 conv 0 block");
    assert_eq!((difference.before.as_deref(), difference.after.as_deref()), (Some("1x2x8"), Some("1x2x16")));
}
