//! Names of values and instructions, from real ETRecords and state dicts, and from damaged ones.

use executorch_format::convert::{CArray, COptions};
use executorch_format::inspect::{
    BlobUser, Content, DiffOptions, EventKind, Graph, ModuleTotal, NamedBy, Node, Side, TimesBy, Value, diff,
};
use executorch_format::naming::{EtRecord, NameSource, RecordedMethod, RecordedNode};
use executorch_format::pictures::model_explorer;
use executorch_format::{Analysis, ErrorKind, Etdp, Model, Pte};
use executorch_format_support::data;
use executorch_format_support::fixtures::fixture;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn file(name: &str) -> Vec<u8> {
    fixture(&format!("etrecord/{name}")).bytes().to_vec()
}

/// Returns the names of a program's values, and their sources.
fn values(pte: &Pte<'_>, sources: &[NameSource<'_>]) -> Vec<(usize, String, NamedBy)> {
    let analysis = Analysis::new(pte).with_names(sources);
    let names = analysis.names();
    let values = names.methods[0].values.iter().enumerate();
    values.filter_map(|(index, name)| name.as_ref().map(|name| (index, name.name.to_string(), name.named_by))).collect()
}

#[test]
fn an_etrecord_names_every_constant_that_an_instruction_takes() {
    let (program, record) = (file("net_portable.pte"), file("net_portable.etrecord"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let found = values(&pte, &sources);
    let recorded: Vec<_> = found.iter().filter(|(.., by)| *by == NamedBy::Record).map(|(_, name, _)| &**name).collect();
    let expected = [
        "stem.weight",
        "stem.bias",
        "layers.0.conv.weight",
        "layers.0.conv.bias",
        "layers.0.bn.weight",
        "layers.0.bn.bias",
        "layers.1.conv.weight",
        "layers.1.conv.bias",
        "layers.1.bn.weight",
        "layers.1.bn.bias",
        "head.weight",
        "head.bias",
        "layers.0.bn.running_mean",
        "layers.0.bn.running_var",
        "layers.1.bn.running_mean",
        "layers.1.bn.running_var",
        "x",
    ];
    assert_eq!(recorded, expected);
    let analysis = Analysis::new(&pte).with_names(&sources);
    let names = analysis.names();
    let modules: Vec<_> =
        names.methods[0].chains[0].iter().map(|code| code.as_ref().unwrap().module.unwrap()).collect();
    assert_eq!(modules[..4], ["stem", "layers.0.conv", "layers.0.bn", "layers.0"]);
    assert_eq!(modules[9..], ["", "head", "head"]);
    let source = names.methods[0].chains[0][10].as_ref().unwrap().source.unwrap();
    assert_eq!((source.file.as_str(), source.line), ("net.py", 18));
}

#[test]
fn an_etrecord_names_the_constants_inside_delegates() {
    let (program, record) = (file("net_xnnpack.pte"), file("net_xnnpack.etrecord"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let names = analysis.names();
    let constants = analysis.delegate_constants();
    let found: Vec<_> = constants.constants.iter().map(|constant| constant.user.name.as_deref().unwrap()).collect();
    let layers = ["layers.0.conv.weight", "layers.0.conv.bias", "layers.1.conv.weight", "layers.1.conv.bias"];
    assert_eq!(found, [&["stem.weight", "stem.bias"][..], &layers, &["head.weight", "head.bias"]].concat());
    // A delegate's module contains all of its nodes.
    let modules: Vec<_> =
        names.methods[0].chains[0].iter().map(|code| code.as_ref().unwrap().module.unwrap()).collect();
    assert_eq!(modules, ["", "", "head"]);
    // Without an ETRecord, names come from nodes.
    let analysis = Analysis::new(&pte).with_names([]);
    let names = analysis.names();
    assert_eq!(
        names.methods[0].delegates[1].constants.iter().flatten().next().unwrap().name,
        "XNNFullyConnected 0 weight"
    );
}

#[test]
fn a_state_dict_names_constants_with_its_bytes() {
    let (program, state) = (file("net_portable.pte"), file("net.safetensors"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&state).unwrap()];
    let found = values(&pte, &sources);
    let named: Vec<_> = found.iter().filter(|(.., by)| *by == NamedBy::StateDict).map(|(_, name, _)| &**name).collect();
    let convolutions =
        ["layers.0.conv.weight", "layers.0.conv.bias", "layers.1.conv.weight", "layers.1.conv.bias"].as_slice();
    // The batch norms have equal weights, which identify no name.
    assert_eq!(named, [&["stem.weight", "stem.bias"], convolutions, &["head.weight", "head.bias"]].concat());
    let analysis = Analysis::new(&pte).with_names(&sources);
    let reason = analysis.names().tensor("layers.0.bn.weight").unwrap().computed.unwrap();
    assert!(reason.starts_with("it has the same bytes as layers.") && reason.contains("or an ETRecord"), "{reason}");
}

#[test]
fn without_other_files_the_instruction_names_a_value() {
    let program = file("net_portable.pte");
    let pte = Pte::parse(&program).unwrap();
    let found = values(&pte, &[]);
    let of = |index: usize| found.iter().find(|(own, ..)| *own == index).map(|(_, name, by)| (&**name, *by));
    assert_eq!(of(2), Some(("convolution.1 weight", NamedBy::Operator)));
    assert_eq!(of(18), Some(("input 0", NamedBy::Input)));
    assert_eq!(of(19), Some(("convolution.0", NamedBy::Operator)));
    assert_eq!(of(49), Some(("_native_batch_norm_legit_no_training.0 out0", NamedBy::Operator)));
}

#[test]
fn callers_name_inputs_and_outputs() {
    let program = std::fs::read(data().join("answers/kwargs_dict_outputs.pte")).unwrap();
    let pte = Pte::parse(&program).unwrap();
    let found = values(&pte, &[]);
    let of = |index: usize| found.iter().find(|(own, ..)| *own == index).map(|(_, name, by)| (&**name, *by));
    let names = [0, 1, 2, 4, 6].map(of);
    let caller = |name| Some((name, NamedBy::Caller));
    assert_eq!(names, [Some(("input 0", NamedBy::Input)), caller("bias"), caller("mask"), caller("y"), caller("a")]);
    let Content::Program(program) = Analysis::new(&pte).summary().content else { panic!("no program") };
    let name = |value: &Value<'_>| value.name.as_deref().map(str::to_owned);
    assert_eq!(
        program.methods[0].inputs.iter().map(name).collect::<Vec<_>>(),
        [None, Some("bias".into()), Some("mask".into())]
    );
    let options = COptions::default().with_name("m".into());
    let model = Model::Pte(pte);
    let header: String = CArray::new(&model, b"x", &options).unwrap().header("m.pte").collect();
    assert!(
        header.contains("M_FORWARD_INPUT_1_NAME \"bias\"") && header.contains("M_FORWARD_OUTPUT_0_NAME \"y\""),
        "{header}"
    );
    assert!(!header.contains("INPUT_0_NAME"), "{header}");
}

#[test]
fn an_etrecord_of_another_program_is_refused_with_the_reason() {
    let (portable, xnnpack) = (file("net_portable.pte"), file("net_xnnpack.pte"));
    let refused = |program: &[u8], record: EtRecord| {
        let pte = Pte::parse(program).unwrap();
        let sources = [NameSource::Record(record)];
        let analysis = Analysis::new(&pte).with_names(&sources);
        let [(0, error)] = &*analysis.names().rejected else { panic!("{:?}", analysis.names().rejected) };
        assert!(matches!(error.kind(), ErrorKind::Reference(_)), "{error}");
        // The names in the file itself are used.
        assert_eq!(analysis.names().methods, Analysis::new(&pte).names().methods);
        error.to_string()
    };
    let record = |name: &str| EtRecord::parse(&file(name)).unwrap();
    assert!(refused(&portable, record("net_xnnpack.etrecord")).contains("other operators for 2 of 3 instructions"));
    assert!(
        refused(&xnnpack, record("net_portable.etrecord")).contains("instruction 11 of method forward, which has 3")
    );
    let mut other = record("net_portable.etrecord");
    other.methods[0].nodes[1].parameters.iter_mut().find(|own| own.argument == "weight").unwrap().sizes =
        Some(vec![4, 8, 3, 3]);
    assert!(
        refused(&portable, other).contains("layers.0.conv.weight has the sizes [4, 8, 3, 3], but %2 of method forward")
    );
    let mut renamed = record("net_portable.etrecord");
    renamed.methods[0].name = "generate".into();
    assert!(refused(&portable, renamed).contains("generate"));
}

/// Returns a ZIP file with these entries.
fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_hostile_etrecord_is_an_error_and_takes_memory_in_proportion_to_its_size() {
    let message = |entries: &[(&str, &[u8])]| EtRecord::parse(&zip(entries)).unwrap_err().to_string();
    assert!(message(&[("data.pkl", b"")]).contains("without the entry ETRECORD_V0"));
    assert!(message(&[("ETRECORD_V0", b"")]).contains("debug_handle_map"));
    let map = br#"{"forward": {"0": 1}}"#.as_slice();
    assert!(message(&[("ETRECORD_V0", b""), ("debug_handle_map", map)]).contains("edge_dialect_exported_program"));
    assert!(
        message(&[("ETRECORD_V0", b""), ("debug_handle_map", br#"{"forward": {"0": -1}}"#)])
            .contains("debug_handle_map")
    );
    let deep = format!("{{\"forward\": {{\"0\": {}", "[".repeat(2_000));
    assert!(message(&[("ETRECORD_V0", b""), ("debug_handle_map", deep.as_bytes())]).contains("bad JSON"));
    // 64 MiB of white space takes 64 KiB in the file.
    let blank = vec![b' '; 64 << 20];
    assert!(message(&[("ETRECORD_V0", b""), ("debug_handle_map", &blank)]).contains("10 times the file"));
}

#[test]
fn the_words_of_python_are_numbers_where_json_has_numbers() {
    let record = |metadata: &str| {
        let node =
            format!(r#"{{"name":"n","target":"t","inputs":[],"metadata":{{"stack_trace":"NaN","x":{metadata}}}}}"#);
        let graph = format!(r#"{{"nodes":[{node}]}}"#);
        let program = format!(r#"{{"graph_module":{{"graph":{graph},"signature":{{"input_specs":[]}}}}}}"#);
        EtRecord::parse(&zip(&[
            ("ETRECORD_V0", b""),
            ("debug_handle_map", br#"{"forward":{"0":1}}"#),
            ("edge_dialect_exported_program", program.as_bytes()),
        ]))
    };
    for good in ["NaN", "Infinity", "-Infinity", "[NaN,-Infinity , 1]", r#""\\" , "y": NaN"#, r#""a \" NaN""#] {
        assert_eq!(record(good).unwrap().methods[0].nodes[0].name, "n", "{good}");
    }
    for bad in ["NaN1", "1NaN", "+NaN", "nan", "--Infinity", "NaNNaN", "Infinity.0"] {
        let error = record(bad).unwrap_err().to_string();
        assert!(error.contains("bad JSON"), "{bad}: {error}");
    }
    let handle = EtRecord::parse(&zip(&[("ETRECORD_V0", b""), ("debug_handle_map", br#"{"forward":{"0":NaN}}"#)]));
    assert!(handle.unwrap_err().to_string().contains("bad JSON"));
}

/// An exported program with a parameter of this many sizes, which each of this many nodes takes.
fn exported(sizes: usize, nodes: usize) -> Vec<u8> {
    let sizes = vec![r#"{"as_int":1}"#; sizes].join(",");
    let node = r#"{"target":"t","inputs":[{"name":"w","arg":{"as_tensor":{"name":"p"}}}]}"#;
    let nodes = vec![node; nodes].join(",");
    let specs = r#"[{"parameter":{"arg":{"name":"p"},"parameter_name":"p"}}]"#;
    format!(
        r#"{{"graph_module":{{"graph":{{"nodes":[{nodes}],"tensor_values":{{"p":{{"sizes":[{sizes}]}}}}}},"signature":{{"input_specs":{specs}}}}}}}"#
    )
    .into_bytes()
}

#[test]
fn a_small_etrecord_takes_a_limited_amount_of_memory() {
    let named =
        |count: usize| (0..count).map(|index| format!("\"m{index}\":{{\"0\":1}}")).collect::<Vec<_>>().join(",");
    let repeated = format!("{{{}}}", vec![r#""forward":{"0":1}"#; 9_000].join(","));
    let methods = format!("{{{}}}", named(9_000));
    let instructions = format!("{{\"forward\":{{{}}}}}", vec![r#""0":1"#; 9_000].join(","));
    let one = r#"{"forward":{"0":1}}"#.to_owned();
    let cases = [
        (&repeated, exported(0, 900), "occurs twice"),
        (&instructions, exported(0, 900), "occurs twice"),
        // The program without a name is of one method.
        (&methods, exported(0, 900), ""),
        (&one, exported(20_000, 20_000), "10 times the file"),
        (&one, exported(0, 900_000), "10 times the file"),
    ];
    for (map, program, expected) in cases {
        let record = zip(&[
            ("ETRECORD_V0", b""),
            ("debug_handle_map", map.as_bytes()),
            ("edge_dialect_exported_program", &program),
        ]);
        let mut fault = String::new();
        let measured = allocation_counter::measure(|| {
            fault = EtRecord::parse(&record).err().map(|error| error.to_string()).unwrap_or_default();
        });
        assert!(fault.contains(expected) && fault.is_empty() == expected.is_empty(), "{expected}: {fault}");
        let most = (64 << 20) + 32 * record.len() as u64;
        assert!(measured.bytes_max <= most, "{expected}: {} bytes for {}", measured.bytes_max, record.len());
    }
}

#[test]
fn entries_of_an_etrecord_that_overlap_or_have_one_name_are_refused() {
    let map = br#"{"forward":{"0":1}}"#.as_slice();
    let record = zip(&[("ETRECORD_V0", b""), ("debug_handle_map", map), ("debug_handle_maq", map)]);
    let directory = record.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let names: Vec<usize> =
        (directory..record.len() - 16).filter(|at| record[*at..].starts_with(b"debug_handle_ma")).collect();
    let message = |bytes: &[u8]| EtRecord::parse(bytes).unwrap_err().to_string();
    // The third entry is where the second one is: the offset is 4 bytes before the name.
    let mut overlap = record.clone();
    let offset: [u8; 4] = record[names[0] - 4..names[0]].try_into().unwrap();
    overlap[names[1] - 4..names[1]].copy_from_slice(&offset);
    assert!(message(&overlap).contains("overlaps the one before it"), "{}", message(&overlap));
    let mut twice = record.clone();
    twice[names[1] + 15] = b'p';
    assert!(message(&twice).contains("have the same name"), "{}", message(&twice));
    // Behind a program, which it is for other readers.
    let behind = [file("net_portable.pte"), record].concat();
    assert!(message(&behind).contains("the first entry is not at byte 0"), "{}", message(&behind));
}

#[test]
fn damaged_etrecords_never_panic() {
    let (program, record) = (file("net_portable.pte"), file("net_portable.etrecord"));
    let pte = Pte::parse(&program).unwrap();
    let try_one = |bytes: &[u8]| {
        let Ok(source) = NameSource::parse(bytes) else { return false };
        Analysis::new(&pte).with_names([&source]).names().rejected.is_empty()
    };
    assert!(try_one(&record));
    let mut damaged = record.clone();
    let (mut good, mut bad) = (0, 0);
    // Every part of the file, in steps that share no factor with the sizes of its structures.
    for at in (0..record.len()).step_by(101 * executorch_format_support::fixtures::stride().max(1)) {
        for value in [0, 0xff, b'"', record[at] ^ 1] {
            damaged[at] = value;
            if try_one(&damaged) { good += 1 } else { bad += 1 }
        }
        damaged[at] = record[at];
        try_one(&record[..at]);
    }
    assert!(good > 0 && bad > 0, "{good} {bad}");
}

/// Returns the rows of a tree of modules: path, depth, own and total amount.
fn rows<'t>(modules: &[ModuleTotal<'t>]) -> Vec<(Option<&'t str>, usize, u64, u64)> {
    modules.iter().map(|module| (module.path, module.depth, module.own, module.total)).collect()
}

/// Calls a function with the analysis of a program that has the names in its ETRecord.
fn with_record(name: &str, call: impl FnOnce(&Analysis<'_>)) {
    let (program, record) = (file(&format!("{name}.pte")), file(&format!("{name}.etrecord")));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    call(&Analysis::new(&pte).with_names(&sources));
}

#[test]
fn each_byte_of_a_file_is_counted_for_one_module() {
    with_record("net_portable", |analysis| {
        let report = analysis.size_report().unwrap();
        let modules = analysis.size_by_module(&report);
        let found = rows(&modules);
        assert_eq!(found.iter().map(|(.., own, _)| own).sum::<u64>(), report.file_size);
        assert!(found.contains(&(Some("layers.0.bn"), 3, 64, 64)), "{found:?}");
        assert!(found.contains(&(Some("head"), 1, 180, 180)), "{found:?}");
        assert_eq!(found[1].0, Some("layers"), "the largest comes first");
    });
    // The weights are named data; the rest of a payload belongs to the module that contains the delegate.
    with_record("net_xnnpack", |analysis| {
        let report = analysis.size_report().unwrap();
        let modules = analysis.size_by_module(&report);
        let found = rows(&modules);
        assert_eq!(found.iter().map(|(.., own, _)| own).sum::<u64>(), report.file_size);
        assert!(found.contains(&(Some("layers.0.conv"), 3, 2336, 2336)), "{found:?}");
        let (.., payload, _) = found[0];
        assert!(payload > 2000, "{found:?}");
    });
}

#[test]
fn tensors_in_memory_have_the_instructions_that_write_and_need_them() {
    with_record("net_portable", |analysis| {
        let memory = analysis.memory();
        let buffer = &memory.methods[0].buffers[0];
        let of = |value: usize| buffer.tensors.iter().find(|tensor| tensor.value == value).unwrap();
        assert_eq!(
            (of(34).made_by.as_deref(), of(34).last_used_by.as_deref()),
            (Some("convolution.1"), Some("_native_batch_norm_legit_no_training.0"))
        );
        assert_eq!((of(34).module, of(34).shape.name.as_deref()), (Some("layers.0.conv"), Some("convolution.1")));
        assert_eq!((of(18).made_by.as_deref(), of(18).shape.name.as_deref()), (None, Some("x")));
        let modules = buffer.by_module();
        assert_eq!(modules.iter().map(|module| module.own).sum::<u64>(), buffer.needed);
        assert!(rows(&modules).contains(&(Some("stem"), 1, 1152, 1152)), "{modules:?}");
    });
}

/// Returns Model Explorer's layers of the nodes of the first graph.
fn namespaces(graphs: &[Graph<'_>]) -> Vec<String> {
    let explorer = serde_json::to_value(model_explorer("net", graphs)).unwrap();
    let nodes = explorer["graphs"][0]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["namespace"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nodes_of_graphs_have_modules_and_the_names_of_their_weights() {
    with_record("net_portable", |analysis| {
        let graphs = analysis.graphs();
        let node = graphs[0].nodes.iter().find(|node| node.name.as_deref() == Some("convolution.1")).unwrap();
        assert_eq!(node.module, Some("layers.0.conv"));
        assert!(node.source.as_ref().unwrap().starts_with("net.py:"));
        let weight = node.arguments.iter().find(|argument| argument.name.as_deref() == Some("weight")).unwrap();
        assert_eq!(
            (weight.tensor_name.as_deref(), weight.named_by),
            (Some("layers.0.conv.weight"), Some(NamedBy::Record))
        );
        assert_eq!(graphs[0].nodes[0].name.as_deref(), Some("x"));
        let namespaces = namespaces(&graphs);
        assert!(namespaces.contains(&"layers/0/conv".to_owned()), "{namespaces:?}");
    });
    with_record("net_xnnpack", |analysis| {
        let graphs = analysis.graphs();
        let takes = |node: &&Node<'_>| {
            node.arguments.iter().any(|argument| argument.tensor_name.as_deref() == Some("layers.0.conv.weight"))
        };
        let node = graphs[0].nodes.iter().find(takes).unwrap();
        assert_eq!((node.label.as_str(), node.module), ("XNNConv2d", Some("layers.0.conv")));
        assert!(node.name.as_ref().unwrap().starts_with("XNNConv2d "));
        let namespaces = namespaces(&graphs);
        assert!(namespaces.contains(&"layers/0/conv/XnnpackBackend 0.0".to_owned()), "{namespaces:?}");
    });
}

#[test]
fn a_report_has_the_names_in_all_its_answers() {
    let (program, record) = (file("net_xnnpack.pte"), file("net_xnnpack.etrecord"));
    let model = Model::parse(&program).unwrap();
    let Model::Pte(pte) = &model else { panic!("{}", model.kind()) };
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(pte).with_names(&sources);
    let report = analysis.report();
    let weight = report.weights.iter().find(|weight| weight.name.as_deref() == Some("layers.1.conv.weight")).unwrap();
    assert_eq!((weight.module, weight.named_by), (Some("layers.1.conv"), Some(NamedBy::Record)));
    assert!(report.modules.iter().any(|module| module.path == Some("layers.1.conv")));
    assert_eq!(report.memory.unwrap().methods[0].buffers[0].tensors[0].shape.name.as_deref(), Some("x"));
    let outline = report.graphs[0].outline.as_ref().unwrap();
    assert!(outline.graph.nodes.iter().any(|node| node.module.is_some()));
}

#[test]
fn ticks_are_counted_for_the_modules_of_instructions_and_of_steps_inside_delegates() {
    let (trace, program) = (fixture("payloads/profile_xnnpack.etdp"), fixture("payloads/profile_xnnpack.pte"));
    let (etdp, pte) = (Etdp::parse(trace.bytes()).unwrap(), Pte::parse(program.bytes()).unwrap());
    // No ETRecord of this program is available: it is created here, with the handles in the payload.
    let mut method = RecordedMethod::default();
    method.name = "forward".into();
    for (handle, module) in [(1, "head.linear"), (2, "cumsum"), (3, "head")] {
        let mut node = RecordedNode::default();
        (node.handle, node.module) = (Some(handle), module.into());
        method.nodes.push(node);
    }
    method.nodes[1].operator = "aten::cumsum".into();
    method.handles.extend([(0, vec![1]), (1, vec![2]), (2, vec![3])]);
    let mut record = EtRecord::default();
    record.methods.push(method);
    let sources = [NameSource::Record(record)];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let profile = etdp.profile(Some(&analysis), None);
    let run = profile.runs.iter().find(|run| run.method == Some("forward")).unwrap();
    let instructions = run.events.iter().filter(|event| event.kind == EventKind::Instruction);
    let modules = run.by_module();
    assert_eq!(
        modules.iter().map(|module| module.own).sum::<u64>(),
        instructions.map(|event| event.total).sum::<u64>()
    );
    let found = rows(&modules);
    assert!(found.iter().any(|(path, ..)| *path == Some("cumsum")), "{found:?}");
    assert!(found.iter().any(|(path, depth, ..)| (*path, *depth) == (Some("head"), 1)), "{found:?}");
    let calls = analysis.calls_by_module();
    assert_eq!(calls[0].path, Some(""));
}

#[test]
fn every_answer_has_names() {
    let (program, record) = (file("net_portable.pte"), file("net_portable.etrecord"));
    let model = Model::parse(&program).unwrap();
    let Model::Pte(pte) = &model else { panic!("{model:?}") };
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(pte).with_names(&sources);
    let (code, blobs, size, weights) =
        (analysis.disassembly(), analysis.blobs(), analysis.size_report().unwrap(), analysis.weights());
    assert_eq!(Analysis::new(pte).with_names(&sources).into_disassembly(), code);
    // Without a source, a tensor is named by its place only if names are asked for.
    let is_named = |analysis: Analysis<'_>| analysis.weights().iter().any(|weight| weight.name.is_some());
    assert!(!is_named(Analysis::new(pte)) && is_named(Analysis::new(pte).with_names([])));
    let stem = Some("stem.weight");
    let given = |user: &BlobUser<'_>| matches!(user, BlobUser::Tensor { name, named_by: Some(NamedBy::Record), .. } if name.as_deref() == stem);
    assert_eq!(code.methods[0].chains[0].instructions[0].name.as_ref().unwrap().module, Some("stem"));
    assert!(
        code.methods[0]
            .values
            .iter()
            .any(|value| value.tensor.as_ref().is_some_and(|tensor| tensor.name.as_deref() == stem))
    );
    assert!(blobs.blobs.iter().flat_map(|blob| &blob.users).any(given));
    assert!(size.parts.iter().flat_map(|part| &part.users).any(given));
    assert!(
        weights.iter().any(|weight| weight.name.as_deref() == stem && weight.named_by.is_some_and(NamedBy::is_given))
    );
    assert!(!NamedBy::Operator.is_given());
}

#[test]
fn a_record_is_read_from_its_entries() {
    let record = file("net_portable.etrecord");
    let mut archive = zip::ZipArchive::new(Cursor::new(&record)).unwrap();
    let mut asked = Vec::new();
    let read = EtRecord::from_entries(record.len() as u64, &mut |name| {
        let Some(index) = archive.index_for_name(name) else { return Ok(None) };
        asked.push(name.to_owned());
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut archive.by_index(index).unwrap(), &mut content).unwrap();
        Ok(Some(content.into()))
    });
    assert_eq!(read.unwrap(), EtRecord::parse(&record).unwrap());
    let takes = |name: &str, size| EtRecord::takes_entry(name, size, 1 << 20);
    assert!(asked.iter().all(|name| takes(name, 1).unwrap()), "{asked:?}");
    assert!(!takes("state_dict.pkl", 1).unwrap());
    assert!(matches!(takes(&asked[0], 1 << 40).unwrap_err().kind(), ErrorKind::Other { .. }));
    let missing = EtRecord::from_entries(0, &mut |_| Ok(None)).unwrap_err().to_string();
    assert!(missing.contains("ETRECORD_V0"), "{missing}");
}

#[test]
fn a_source_of_another_program_is_rejected_and_the_others_are_used() {
    let (portable, other) = (file("net_portable.etrecord"), file("net_xnnpack.etrecord"));
    let sources = [&other, &portable].map(|bytes| NameSource::parse(bytes).unwrap());
    let program = file("net_portable.pte");
    let pte = Pte::parse(&program).unwrap();
    let analysis = Analysis::new(&pte).with_names(&sources);
    let [(0, error)] = &*analysis.names().rejected else { panic!("{:?}", analysis.names().rejected) };
    assert!(error.to_string().contains("other operators"), "{error}");
    assert_eq!(analysis.names().value(0, 2).unwrap().name, "layers.0.conv.weight");
    assert!(analysis.names().constant(0, 0, 0).is_none(), "the program has no delegate");
}

#[test]
fn answers_outlive_the_analysis_and_are_shared_by_threads() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let (program, record) = (file("net_portable.pte"), file("net_portable.etrecord"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let memory = {
        let analysis = Analysis::new(&pte).with_names(&sources);
        is_shared(&analysis);
        analysis.memory()
    };
    let names: Vec<_> =
        memory.methods[0].buffers[0].tensors.iter().filter_map(|tensor| tensor.shape.name.clone()).collect();
    assert!(names.iter().any(|name| *name == "convolution.1"), "{names:?}");
    assert!(names.iter().any(|name| format!("{name:>3}") == "  x"), "{names:?}");
}

#[test]
fn weights_are_compared_by_module() {
    let [portable, xnnpack] =
        ["net_portable", "net_xnnpack"].map(|name| ["pte", "etrecord"].map(|ending| file(&format!("{name}.{ending}"))));
    let sources = [&portable[1], &xnnpack[1]].map(|record| [NameSource::parse(record).unwrap()]);
    let programs = [&portable[0], &xnnpack[0]].map(|file| Pte::parse(file).unwrap());
    let [before, after] = [0, 1].map(|side| Analysis::new(&programs[side]).with_names(&sources[side]));
    let models = [&portable[0], &xnnpack[0]].map(|file| Model::parse(file).unwrap());
    let sides =
        [Side::new(&models[0], &[]).with_names(before.names()), Side::new(&models[1], &[]).with_names(after.names())];
    let modules = diff(&sides[0], &sides[1], &DiffOptions::default().with_tensors()).weights_by_module();
    let found = modules.iter().find(|module| module.module.as_deref() == Some("layers.0.conv"));
    let found = found.unwrap_or_else(|| panic!("{modules:?}"));
    // The exporter folded the batch norm into the weight and the bias.
    assert_eq!((found.values, found.different), (2, 2));
    assert!(found.worst.as_ref().is_some_and(|worst| worst.starts_with("layers.0.conv.")), "{modules:?}");
}

#[test]
fn times_are_compared_by_module() {
    let [trace, program, record] =
        ["etdp", "pte", "etrecord"].map(|kind| fixture(&format!("etrecord/net_xnnpack.{kind}")));
    let (etdp, pte) = (Etdp::parse(trace.bytes()).unwrap(), Pte::parse(program.bytes()).unwrap());
    let sources = [NameSource::parse(record.bytes()).unwrap()];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let before = etdp.profile(Some(&analysis), None);
    let mut after = before.clone();
    for event in &mut after.runs[1].events {
        event.total *= 3;
    }
    let changes = &before.compare(&after, TimesBy::Module)[1].changes;
    let head = changes.iter().find(|change| change.name == "head").unwrap();
    assert!(head.inside && head.chain.is_none());
    assert_eq!(head.after.unwrap(), 3.0 * head.before.unwrap());
    // The model itself has the largest change.
    assert_eq!(changes[0].name, "");
}
