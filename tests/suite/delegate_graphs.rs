//! The graphs inside payloads of Vulkan, Ethos-U and Core ML: those of real files, and the errors of damaged ones.

use executorch_format::delegate::{DelegateGraph, NamedBlobs, Payload};
use executorch_format::inspect::{DiffOptions, DifferenceSubject, NodeKind, Side, diff};
use executorch_format::{Analysis, ErrorKind, Model, Pte};
use executorch_format_support::fixtures::{fixture, stride};

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
    payload_of(&format!("other/{name}"))
}

/// Returns the payload of the only delegate of a program in `tests/data/payloads`.
fn payload_of(name: &str) -> Vec<u8> {
    let file = fixture(&format!("payloads/{name}.pte"));
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

/// The operator, the block and the multiply-accumulates of each operation of `payloads/ethos_u85/conv.pte`, and its output, which is in region 1
/// or in a buffer between two operations. Vela 5.2.0 prints the same with `--verbose-register-command-stream`,
/// `--verbose-high-level-command-stream` and `--verbose-performance`; the products of convolutions are 22,688 there too.
const VELA_CONV: [(&str, &str, u64, &str); 8] = [
    ("pool_sum", "16x16x16", 0, "i8[16, 16, 3] in region 1, bytes 1024..5120, channels in blocks of 16"),
    ("conv", "8x8x16", 13_824, "i8[8, 8, 8] in region 1, bytes 0..1024, channels in blocks of 16, zero point -128"),
    (
        "depthwise",
        "8x8x16",
        4608,
        "i8[8, 8, 8] in region 1, bytes 1024..2048, channels in blocks of 16, zero point -128",
    ),
    ("conv", "8x8x16", 4096, "i8[8, 8, 8] in chain buffer 0, channels in blocks of 16, zero point 5"),
    (
        "elementwise_add",
        "8x8x16",
        0,
        "i8[8, 8, 8] in region 1, bytes 2048..3072, channels in blocks of 16, zero point -88",
    ),
    ("pool_max", "4x4x16", 0, "i8[4, 4, 8] in region 1, bytes 0..256, channels in blocks of 16"),
    ("pool_average", "2x2x16", 0, "i8[8, 2, 2] in region 1, bytes 256..288, zero point -128"),
    ("conv", "1x4x16", 160, "i8[1, 1, 5] in region 1, bytes 0..5, zero point -19"),
];

#[test]
fn operations_for_an_ethos_u85_are_those_that_vela_prints() {
    let graph = graph(&payload_of("ethos_u85/conv")).unwrap();
    let found = graph.nodes.iter().map(|node| {
        let setting = |name: &str| &*node.settings.iter().find(|setting| setting.name == name).unwrap().value;
        (&*node.operator, setting("block"), node.macs.unwrap(), setting("ofm"))
    });
    assert_eq!(found.collect::<Vec<_>>(), VELA_CONV);
    let texts = texts(&graph);
    // A transposition is a part of an operation.
    assert_eq!(
        texts[6],
        "pool_average: ifm #12 i8[4, 4, 8]; -> ofm #13 i8[8, 2, 2]; ifm = i8[4, 4, 8] in region 1, bytes 0..256, \
         channels in blocks of 16, zero point -128; kernel = 2x2; stride = 2x2; block = 2x2x16; range = -128..=127; \
         transpose = CHW; ofm = i8[8, 2, 2] in region 1, bytes 256..288, zero point -128"
    );
    // The convolution before passes its result on inside the accelerator.
    let chained = "elementwise_add: ifm #4 i8[8, 8, 8]; ifm2 #10 i8[8, 8, 8]; -> ofm #11 i8[8, 8, 8]; ";
    assert!(texts[4].starts_with(chained), "{}", texts[4]);
    let weights = "weights = in region 0, bytes 1296..1568; scales = in region 0, bytes 1136..1296; ";
    assert!(texts[7].contains(weights), "{}", texts[7]);
    // Vela's "Encoded Weights", which include the scales.
    let sizes = graph.nodes.iter().map(|node| {
        let constants = node.arguments.iter().filter(|argument| argument.constant);
        constants.filter_map(|argument| argument.tensor.byte_size()).sum::<u64>()
    });
    assert_eq!(sizes.filter(|size| *size > 0).collect::<Vec<_>>(), [512, 288, 336, 432]);
}

#[test]
fn an_ethos_u85_resizes_multiplies_matrices_and_starts_from_accumulators() {
    let graph = graph(&payload_of("ethos_u85/up")).unwrap();
    let texts = texts(&graph);
    let starting = |name: &str| {
        let found = texts.iter().filter(|text| text.starts_with(name)).collect::<Vec<_>>();
        let [text] = found[..] else { panic!("{found:?}") };
        &**text
    };
    // Each of four convolutions writes every second column of every second row.
    assert_eq!(
        starting("pool_none"),
        "pool_none: accumulators #4 i32[3, 4, 4]; accumulators #7 i32[3, 4, 4]; accumulators #10 i32[3, 4, 4]; \
         accumulators #13 i32[3, 4, 4]; scales #14 packed u8[160] constant; -> ofm #15 i8[6, 8, 4]; \
         accumulators = i32[6, 8, 4] in region 1, bytes 768..1536; scales = in region 0, bytes 1408..1568; \
         kernel = 1x1; stride = 1x1; block = 6x8x16; range = -128..=127; \
         ofm = i8[6, 8, 4] in region 1, bytes 0..768, channels in blocks of 16, zero point 39"
    );
    assert_eq!(
        starting("resize"),
        "resize_bilinear: ifm #15 i8[6, 8, 4]; -> ofm #16 i8[12, 16, 4]; ifm = i8[6, 8, 4] in region 1, bytes 0..768, \
         channels in blocks of 16; scale = 4/2x4/2; offset = -1, -1; block = 1x28x16; range = -128..=127; \
         ofm = i8[12, 16, 4] in region 1, bytes 768..3840, channels in blocks of 16"
    );
    assert!(starting("pool_sum: ifm #19").contains("; activation = table 0; range = -128..=127; "));
    // The weights of the last convolution are the result of another operation.
    assert_eq!(
        texts[14],
        "conv: ifm #24 i8[3, 12, 16]; weights #26 i8[1, 3, 192]; -> ofm #27 i8[1, 3, 3] argument 1; \
         ifm = i8[1, 3, 192] in region 1, bytes 0..576, zero point -7; \
         weights = i8[1, 3, 192] in region 1, bytes 3648..4224, channels in blocks of 16, zero point -7; \
         kernel = 1x1; stride = 1x1; block = 1x4x16; range = -128..=127; \
         ofm = i8[1, 3, 3] in region 1, bytes 576..585, zero point -58"
    );
    let macs: Vec<u64> = graph.nodes.iter().filter_map(|node| node.macs.filter(|macs| *macs > 0)).collect();
    assert_eq!(macs, [96, 96, 96, 96, 20_736, 1728]);
}

#[test]
fn the_second_format_of_commands_and_rows_by_index_are_read() {
    let payload = payload_of("ethos_u85/gather");
    let graph = graph(&payload).unwrap();
    let texts = texts(&graph);
    assert_eq!(
        texts[0],
        "dma: from #1 u8[640] constant; indices #0 i32[7] argument 0; -> to #2 u8[112]; \
         from = region 0, bytes 0..640, rows by index; to = region 1, bytes 0..112; \
         indices = in region 1, bytes 112..140"
    );
    assert!(texts[1].starts_with("conv: ifm #2 u8[112]; "), "{}", texts[1]);
    assert_eq!(graph.nodes.iter().map(|node| node.macs).collect::<Vec<_>>(), [Some(0), Some(896)]);
    // The kind of the entry, its size, and the size of its metadata.
    let start = payload.windows(4).position(|word| word == b"COP2").unwrap();
    for (word, value, place) in [(4, 2, start + 16), (5, u32::MAX, 0), (6, u32::MAX, 0)] {
        let mut bytes = payload.clone();
        bytes[start + 4 * word..][..4].copy_from_slice(&u32::to_le_bytes(value));
        let error = self::graph(&bytes).unwrap_err();
        match place {
            0 => assert!(matches!(error.kind(), ErrorKind::Truncated { .. }), "{error}"),
            place => assert_eq!(error.offset(), Some(place as u64), "{error}"),
        }
    }
}

#[test]
fn a_jump_between_commands_is_a_node_and_its_products_are_not_known() {
    let mut bytes = payload_of("ethos_u85/conv");
    // A jump of two words in place of the second convolution and the word before it.
    let start = bytes.windows(4).position(|word| word == b"COP1").unwrap() + 32;
    let conv = (start..).step_by(4).filter(|at| bytes[*at..*at + 4] == [2, 0, 0, 0]).nth(1).unwrap();
    bytes[conv - 4..conv + 4].copy_from_slice(&[0, 0x41, 1, 0, 64, 0, 0, 0]);
    let graph = graph(&bytes).unwrap();
    assert_eq!(texts(&graph)[3], "branch: condition = if true; target = byte 64 of the commands");
    assert_eq!(graph.nodes[3].macs, None);
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
fn commands_for_an_unknown_accelerator_are_not_read() {
    for name in ["other/ethosu", "ethos_u85/conv", "ethos_u85/gather"] {
        let whole = payload_of(name);
        let start = whole.windows(3).position(|word| word == b"COP").unwrap();
        let configuration = start + if whole[start + 3] == b'1' { 8 } else { 40 };
        // Another version of the commands, and a product that there is not yet.
        for (at, bits) in [(configuration, 0x20), (configuration + 3, 0x70)] {
            let mut bytes = whole.clone();
            bytes[at] |= bits;
            assert_eq!(Payload::parse(&bytes).unwrap().graph(&bytes, &NamedBlobs::NONE), Ok(None), "{name} {at}");
        }
    }
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
    let names = ["other/vulkan", "other/ethosu", "other/coreml", "ethos_u85/conv", "ethos_u85/up", "ethos_u85/gather"];
    for name in names {
        let whole = payload_of(name);
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
