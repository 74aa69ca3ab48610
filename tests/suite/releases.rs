//! The predicted behaviour of ExecuTorch's releases, compared with that of their runtimes: `tests/data/releases`.

use executorch_format::delegate::Xnnpack;
use executorch_format::schema::program::{DataLocation, ExecutionPlan, Instruction, Operator};
use executorch_format::schema::xnnpack::{
    PerChannelGroupQuant, PerChannelQuant, XNNDatatype, XNNGraph, XNNNode1x1, XNNNode2x1, XNNQuantizedTensorValue,
    XNNTensorValue, XNode, XNodeUnion, XValue, XValueUnion,
};
use executorch_format::verify::{
    BACKENDS, Behaviour, FEATURES, HISTORIES, Library, Outcome, REASONS, RULES, Release, ReleaseVerdict, Releases,
    Target, known_faults, releases_of_error,
};
use executorch_format::{Analysis, Model, Ptd, Pte, PteOptions};
use executorch_format_support::{corpus, data, fixtures};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The releases whose runtimes were run, by their names in the tables.
const RUN: [&str; 13] = [
    "0.2.0", "0.2.1", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.0", "1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.0", "1.4.1",
];

/// Returns the behaviour that a verdict must have, by the result of a runtime, or the reason why the result does not apply to the file.
fn observed(file: &str, result: &str) -> Result<Behaviour, &'static str> {
    if result == "ok" {
        return Ok(Behaviour::Loads);
    }
    // These died while Python converted the result of a method that had run during loading.
    if result.starts_with("signal")
        && ["multi_method", "const_complex", "const_methods"].iter().any(|name| file.contains(name))
    {
        return Err("Python's conversion of a result");
    }
    let backends = ["is not registered", "runtime not found"];
    if backends.iter().any(|backend| result.contains(backend)) {
        return Err("a backend that the wheel does not have");
    }
    if result.starts_with("ValueError") {
        return Err("Python's own check");
    }
    Ok(if result.starts_with("signal") { Behaviour::Dies } else { Behaviour::Refuses })
}

/// The accepted differences: part of a file's name, the first and the last release, and the reason.
const DIFFERENT: &[(&str, &str, &str, &str)] = &[
    ("buffer-device-unique", "1.4", "1.4", "it loads all the same: what it does with the second device is not known"),
    ("buffer-device-index", "1.4", "1.4", "the device is that of a planned buffer which does not exist"),
    (
        "CVE-2025-30402",
        "1.0",
        "1.4",
        "the portable build refuses it, the ATen build of the wheels loads it (1.1 aborts)",
    ),
    (
        "CVE-2025-54952",
        "1.0",
        "1.4",
        "the portable build refuses it, the ATen build of the wheels loads it (1.1 aborts)",
    ),
    ("key-", "0.6", "1.4", "the damage takes the name of a weight that the payload needs"),
    ("constant-inline", "1.2", "1.2", "1.2 alone checks it: the rule has it as unknown"),
];

struct Table {
    file: PathBuf,
    /// The folder of the files in the table.
    folder: PathBuf,
}

impl Table {
    fn rows(&self) -> Vec<(String, Map<String, Value>)> {
        let text = std::fs::read_to_string(&self.file).unwrap();
        let rows: BTreeMap<String, Map<String, Value>> = serde_json::from_str(&text).unwrap();
        rows.into_iter().collect()
    }

    /// Compares each verdict with the behaviour of each release. A row gives the result of a runtime from a release on, until the next row.
    fn compare(&self) {
        let (mut counts, mut wrong) = (BTreeMap::<String, usize>::new(), String::new());
        for (file, row) in self.rows() {
            let bytes = std::fs::read(self.folder.join(&file)).expect(&file);
            let verdicts = verdicts(&bytes);
            let mut result = "";
            for run in RUN {
                result = row.get(run).and_then(Value::as_str).unwrap_or(result);
                let release: Release = run.parse().unwrap();
                let verdict = verdicts.iter().find(|verdict| verdict.release == release).unwrap();
                let what = match observed(&file, result) {
                    Err(reason) => {
                        // Nothing is promised for payloads that XNNPACK does not recognize.
                        let promised = verdict.behaviour == Behaviour::Loads && verdict.not_checked().is_none();
                        assert!(!(result.contains("Backend") && promised), "{file}: {run}: {result}");
                        format!("aside: {reason}")
                    }
                    Ok(behaviour) if behaviour == verdict.behaviour => format!("agree: {behaviour}"),
                    // Loading does not show wrong results.
                    Ok(Behaviour::Loads) if verdict.behaviour == Behaviour::Miscomputes => {
                        format!("agree: {}", verdict.behaviour)
                    }
                    Ok(behaviour) => match difference(&file, release) {
                        Some(reason) => format!("differ: {reason}"),
                        None if verdict.behaviour == Behaviour::Unknown => format!("unknown here: {behaviour}"),
                        None => {
                            wrong += &format!("{file}: {run} {behaviour}: {result}\n  but {verdict:?}\n");
                            continue;
                        }
                    },
                };
                *counts.entry(what).or_default() += 1;
            }
        }
        println!("{}: {counts:#?}", self.file.display());
        assert!(wrong.is_empty(), "{wrong}");
    }
}

/// Returns verdicts for the conditions of the runs: with the kernels of the wheels, and without a `.ptd` file.
fn verdicts(bytes: &[u8]) -> Vec<ReleaseVerdict> {
    let target = linked(&[Library::PythonWheel]);
    let releases =
        Model::parse(bytes).map_or_else(|error| releases_of_error(&error), |model| model.releases(&target, Some(&[])));
    releases.releases
}

/// Returns a target with these libraries.
fn linked(libraries: &[Library]) -> Target {
    Target::default().with_libraries(Some(libraries.to_vec()))
}

/// Returns the releases for a target that has everything.
fn releases(pte: &Pte<'_>) -> Releases {
    Analysis::new(pte).releases(&Target::default())
}

fn difference(file: &str, release: Release) -> Option<&'static str> {
    let covers = |first: &str, last: &str| (first.parse().unwrap()..=last.parse().unwrap()).contains(&release);
    let found = DIFFERENT.iter().find(|(name, first, last, _)| file.contains(name) && covers(first, last));
    found.map(|(.., reason)| *reason)
}

#[test]
fn verdicts_on_real_programs_agree_with_the_releases() {
    Table { file: data().join("releases/programs.json"), folder: data() }.compare();
}

#[test]
fn verdicts_on_other_fixtures_agree_with_the_releases() {
    let Some(folder) = std::env::var_os("EXECUTORCH_FIXTURES").map(PathBuf::from) else { return };
    let file = folder.join("releases.json");
    if file.is_file() {
        Table { file, folder }.compare();
    }
}

#[test]
fn verdicts_on_malformed_programs_agree_with_the_releases() {
    Table { file: data().join("releases/malformed.json"), folder: data().join("malformed") }.compare();
}

#[test]
fn every_history_names_a_rule_and_the_files_that_show_it() {
    let cases = corpus::cases();
    for history in HISTORIES {
        assert!(RULES.iter().any(|rule| rule.name == history.rule), "{}", history.rule);
        assert!(!history.seen.is_empty() && history.since.is_sorted(), "{history:?}");
        for name in history.seen {
            let case = cases.iter().find(|case| case.name == *name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(case.rule, history.rule, "{name}");
        }
    }
    for feature in FEATURES {
        assert!(feature.since.is_sorted());
        for file in feature.seen {
            assert!(data().join(file).is_file(), "{file}");
        }
    }
}

#[test]
fn constants_moved_into_a_segment_make_an_old_program_load_in_the_latest_release() {
    let latest = |pte: &Pte<'_>| releases(pte).releases.pop().unwrap();
    let mut moved = 0;
    for fixture in fixtures::fixtures().iter().filter(|fixture| fixture.is_pte()) {
        let pte = Pte::parse(fixture.bytes()).unwrap();
        let before = latest(&pte);
        if before.because.as_ref().is_none_or(|reason| reason.name != "constant-buffer") {
            continue;
        }
        let options = PteOptions::default().with_constants(Some(DataLocation::SEGMENT));
        let file = pte.lay_out(&options).unwrap().image().unwrap().to_vec().unwrap();
        let after = latest(&Pte::parse(&file).unwrap());
        assert_eq!(after.behaviour, Behaviour::Loads, "{}: {after:?}", fixture.name());
        moved += 1;
    }
    assert!(moved > 0, "no program with constants inside the FlatBuffer");
}

fn release(name: &str) -> Release {
    name.parse().unwrap()
}

/// Returns the verdict about one release with a fixture.
fn verdict(name: &str, release_name: &str, target: &Target, data: Option<&[&Ptd<'_>]>) -> ReleaseVerdict {
    let fixture = fixtures::fixture(name);
    let verdicts = Model::parse(fixture.bytes()).unwrap().releases(target, data);
    verdicts.releases.into_iter().find(|verdict| verdict.release == release(release_name)).unwrap()
}

#[test]
fn a_release_whose_library_lacks_an_operator_refuses_and_names_it() {
    let name = "1.5.1/evalue_kinds/evalue_kinds.pte";
    let portable = linked(&[Library::Portable]);
    let old = verdict(name, "0.5", &portable, None);
    assert_eq!((old.behaviour, old.format.behaviour), (Behaviour::Refuses, Behaviour::Loads));
    let reason = old.operators.because.unwrap();
    assert_eq!(reason.name, "missing-operators");
    assert!(reason.path.to_string().starts_with("execution_plan[0].operators["), "{reason}");
    assert_eq!(reason.message, "no aten::upsample_bilinear2d.vec_out (since 0.6) in its portable kernels");
    assert_eq!(verdict(name, "0.6", &portable, None).behaviour, Behaviour::Loads);
    // With custom kernels.
    let upsample = [("aten::upsample_bilinear2d.vec_out".to_owned(), vec![])];
    let kernels = portable.clone().with_operators(Some(upsample.into()));
    assert_eq!(verdict(name, "0.5", &kernels, None).behaviour, Behaviour::Loads);
    // The optimized library alone has few operators.
    assert_eq!(verdict(name, "1.5", &linked(&[Library::Optimized]), None).operators.behaviour, Behaviour::Refuses);
    // Custom kernels are listed, unless the target states all libraries and kernels that it has.
    let name = "1.5.1/evalue_custom/evalue_custom.pte";
    let custom = verdict(name, "1.5", &Target::default(), None);
    let needed = "1.5 loads: needs kernels outside the portable library: custom: fx::probe.out";
    assert_eq!((custom.behaviour, custom.to_string().as_str()), (Behaviour::Loads, needed));
    let without = verdict(name, "1.5", &portable, None);
    assert_eq!(without.because.unwrap().message, "no fx::probe.out (in no release) in its portable kernels");
}

/// Returns a program that calls each of these operators once.
fn calling(operators: &[(&'static str, &'static str)]) -> Pte<'static> {
    let calls = (0..operators.len()).map(|index| Instruction::kernel_call(index as i32, vec![])).collect();
    let operators = operators.iter().map(|(name, overload)| Operator::new(*name, *overload)).collect();
    let plan = ExecutionPlan::new("forward", vec![], operators, calls, 0);
    let mut pte = Pte::default();
    pte.program.execution_plan = Some(vec![plan]);
    pte
}

#[test]
fn kernels_of_other_libraries_are_named_and_bound_the_releases() {
    let pte = calling(&[
        ("aten::add", "out"),
        ("cortex_m::quantize_per_tensor", "out"),
        ("cortex_m::pad", "out"),
        ("quantized_decomposed::dequantize_per_channel", "out"),
        ("my::kernel", "out"),
    ]);
    let operators = |target| {
        let verdicts = Analysis::new(&pte).releases(&target).releases;
        verdicts.into_iter().map(|verdict| (verdict.release.name(), verdict.operators.behaviour)).collect::<Vec<_>>()
    };
    let takes = |verdicts: Vec<(&'static str, Behaviour)>| {
        verdicts.into_iter().find(|(_, behaviour)| *behaviour == Behaviour::Loads).map(|(release, _)| release)
    };
    // `pad` was added in 1.2.
    assert_eq!(takes(operators(Target::default())), Some("1.2"));
    assert_eq!(takes(operators(linked(&[Library::Portable]))), None);
    let all = linked(&[Library::Portable, Library::Quantized, Library::CortexM]);
    let custom = [("my::kernel.out".to_owned(), vec![])];
    assert_eq!(takes(operators(all.with_operators(Some(custom.into())))), Some("1.2"));
    let latest = Analysis::new(&pte).releases(&linked(&[Library::Portable]));
    let message = latest.releases.last().unwrap().operators.because.clone().unwrap().message;
    let first = "no cortex_m::quantize_per_tensor.out (in the C++ library cortex_m_ops_lib), ";
    assert!(message.starts_with(first), "{message}");
    let kernels = releases(&pte).loads_in;
    let needs = "needs kernels outside the portable library: quantized: dequantize_per_channel (in the C++ library \
                 quantized_ops_lib, and in Python after `import executorch.kernels.quantized`); cortex_m: pad, \
                 quantize_per_tensor (in the C++ library cortex_m_ops_lib); custom: my::kernel.out";
    assert_eq!(kernels.needs_kernels().as_deref(), Some(needs));
    assert_eq!(kernels.kernels[1].operators, ["cortex_m::pad.out", "cortex_m::quantize_per_tensor.out"]);
    // Operators of ExecuTorch's own namespaces that are in no library are refused.
    let nowhere = releases(&calling(&[("aten::bucketize", "Tensor_out")]));
    assert!(nowhere.loads_in.kernels.is_empty());
    let reason = nowhere.releases.last().unwrap().operators.because.clone().unwrap();
    assert_eq!(reason.message, "no aten::bucketize.Tensor_out (in no release) in its kernel libraries");
    // A long list is shortened, with the number of left-out names.
    let names = "abcdefghijklmnopqrstuvwxyz".split_inclusive(|_| true).map(|letter| (letter, "x"));
    let names: Vec<_> =
        names.flat_map(|(name, _)| [(name, "1"), (name, "2"), (name, "3"), (name, "4"), (name, "5")]).collect();
    let many = releases(&calling(&names)).loads_in.kernels;
    assert_eq!((many.len(), many[0].count, many[0].operators.len()), (1, 130, 100));
    assert_eq!(many[0].to_string(), "custom: a.1, a.2, a.3, a.4, … (130)");
}

#[test]
fn an_operator_that_needs_an_import_in_python_says_so() {
    let pte = calling(&[("llama::update_cache", "out"), ("quantized_decomposed::add", "out")]);
    let because = |libraries: &[Library], release: &str| {
        let verdicts = Analysis::new(&pte).releases(&linked(libraries)).releases;
        let verdict = verdicts.into_iter().find(|verdict| verdict.release.name() == release).unwrap();
        verdict.operators.because.map(|reason| reason.message)
    };
    let python = [Library::PythonWheel];
    let llm = "in Python after `import executorch.extension.llm.custom_ops.custom_ops`";
    let quantized = "quantized_decomposed::add.out (in Python after `import executorch.kernels.quantized`)";
    for release in ["1.2", "1.5"] {
        let message = because(&python, release).unwrap();
        assert!(
            message.starts_with(&format!("no llama::update_cache.out ({llm}), {quantized}")),
            "{release}: {message}"
        );
    }
    assert_eq!(because(&[Library::PythonWheel, Library::Llm, Library::Quantized], "1.5"), None);
    let message = because(&[Library::Llm, Library::Quantized], "0.4").unwrap();
    assert_eq!(message, "no llama::update_cache.out (since 0.5) in its llm + quantized kernels");
    let message = because(&[Library::Portable], "1.5").unwrap();
    assert!(message.contains("update_cache.out (in the C++ library custom_ops)"), "{message}");
    // An operator of a backend's exporter has no kernel.
    let pte = calling(&[("mlx::rope", "")]);
    let newest = releases(&pte).releases.pop().unwrap();
    let message = newest.operators.because.unwrap().message;
    assert_eq!(message, "no mlx::rope (only in delegates of MLXBackend) in its kernel libraries");
    assert!(
        pte.verify(executorch_format::verify::Level::Strict)
            .iter()
            .any(|finding| finding.rule == "operator-without-kernel")
    );
}

#[test]
fn every_reason_of_a_verdict_is_documented() {
    let known: BTreeSet<&str> = RULES
        .iter()
        .map(|rule| rule.name)
        .chain(FEATURES.iter().map(|feature| feature.name))
        .chain(REASONS.iter().map(|reason| reason.name))
        .collect();
    let mut found = BTreeSet::new();
    let files = fixtures::fixtures();
    let malformed = corpus::files();
    let bytes =
        files.iter().map(|fixture| fixture.bytes().to_vec()).chain(malformed.into_iter().map(|(_, bytes)| bytes));
    for bytes in bytes {
        for (target, data) in [(Target::default(), None), (linked(&[]).with_arena(Some(0)), Some(&[][..]))] {
            let (releases, verdict) = match Model::parse(&bytes) {
                Ok(model) => (model.releases(&target, data), model.verdict(&target, &[])),
                Err(error) => (releases_of_error(&error), releases_of_error(&error).into_verdict()),
            };
            found.extend(verdict.into_iter().flat_map(|verdict| verdict.because).map(|cause| cause.name));
            for verdict in releases.releases {
                let reasons =
                    [verdict.because, verdict.format.because, verdict.operators.because, verdict.delegates.because];
                found.extend(reasons.into_iter().flatten().map(|reason| reason.name));
                found.extend(verdict.verdict.because.into_iter().map(|cause| cause.name));
            }
        }
    }
    assert_eq!(found.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new());
    let unseen: Vec<_> =
        REASONS.iter().filter(|reason| !found.contains(reason.name)).map(|reason| reason.name).collect();
    assert!(unseen.len() < 6, "reasons that no file gives: {unseen:?}");
}

#[test]
fn prim_operators_are_part_of_every_runtime() {
    let name = "1.5.1/dynamic_bounded/dynamic_bounded.pte";
    for library in Library::ALL {
        let target = linked(&[Library::Portable, *library]);
        assert_eq!(verdict(name, "1.5", &target, None).operators.behaviour, Behaviour::Loads, "{library}");
    }
}

#[test]
fn untested_releases_and_other_backends_are_unknown() {
    let name = "1.5.1/blob_inline/blob_inline.pte";
    let unseen = verdict(name, "0.3", &Target::default(), None);
    let parts = [&unseen.format, &unseen.operators, &unseen.delegates];
    assert!(parts.iter().all(|answer| answer.behaviour == Behaviour::Unknown), "{unseen}");
    let latest = verdict(name, "1.5", &Target::default(), None);
    assert_eq!((latest.format.behaviour, latest.delegates.behaviour), (Behaviour::Loads, Behaviour::Unknown));
    assert_eq!(latest.to_string(), "1.5 loads: not checked: payloads of FxBlobBackend");
}

#[test]
fn a_release_without_a_backend_refuses_its_delegates() {
    let fixture = fixtures::fixture("1.5.1/blob_inline/blob_inline.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    for (id, expected) in [("ArmBackend", "0.2 to 0.5"), ("EthosUBackend", "0.6 to 1.5"), ("VgfBackend", "1.0 to 1.5")]
    {
        pte.program.execution_plan.as_mut().unwrap()[0].delegates.as_mut().unwrap()[0].id = Some(id.into());
        let releases = releases(&pte);
        assert_eq!(releases.loads_in.to_string(), expected, "{id}");
        for verdict in releases.releases.iter().filter(|verdict| verdict.behaviour == Behaviour::Refuses) {
            assert_eq!(verdict.verdict.outcome, Outcome::Missing, "{id}");
            assert_eq!(verdict.because.as_ref().unwrap().name, "missing-backend", "{id}");
        }
    }
}

#[test]
fn missing_external_data_is_reported() {
    let (tensors, weights) =
        ("1.5.1/add_mul_external/add_mul_external.pte", "1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte");
    let given = fixtures::fixture("1.5.1/add_mul_external/_default_external_constant.ptd");
    let ptd = executorch_format::Ptd::parse(given.bytes()).unwrap();
    let list = [&ptd];
    let behaviours = |name, release| {
        [None, Some(&[][..]), Some(&list[..])].map(|data| verdict(name, release, &Target::default(), data).behaviour)
    };
    use Behaviour::{Dies, Loads, Miscomputes, Refuses, Unknown};
    assert_eq!(behaviours(tensors, "1.5"), [Loads, Refuses, Loads]);
    assert_eq!(behaviours(tensors, "0.6"), [Unknown, Dies, Unknown]);
    // The keys of another program's file.
    assert_eq!(behaviours(weights, "1.5"), [Loads, Dies, Refuses]);
    assert_eq!(behaviours(weights, "0.6")[..2], [Unknown, Dies]);
    assert_eq!(behaviours(weights, "0.5")[..2], [Miscomputes, Miscomputes]);
    let program = fixtures::fixture(tensors);
    let pte = Pte::parse(program.bytes()).unwrap();
    let missing = pte.missing_data(&[]).unwrap();
    assert!((missing.tensors, missing.constants) == (2, 0) && missing.path == "execution_plan[0].values[0]");
    assert_eq!(pte.missing_data(&list), None);
}

/// Returns a program with one XNNPACK payload that has this graph.
fn with_graph(graph: XNNGraph<'static>) -> Vec<(Release, Behaviour, Option<String>)> {
    let fixture = fixtures::fixture("payloads/conv2d.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let opened = pte.open_payloads();
    let executorch_format::delegate::Payload::Xnnpack(payload) = opened[0].payload.clone().unwrap() else {
        unreachable!()
    };
    let graph = XNNGraph { constant_data: payload.graph.constant_data.clone(), ..graph };
    let bytes = Xnnpack { graph, source: None, ..payload }.to_vec().unwrap();
    let processed = pte.methods()[0].delegates()[0].processed.unwrap();
    let index = processed.index as usize;
    pte.program.segments.as_mut().unwrap()[index].size = bytes.len() as u64;
    pte.segments[index] = executorch_format::Segment::Whole(bytes.into());
    let told = |verdict: ReleaseVerdict| {
        let reason = verdict.delegates.because.map(|reason| format!("{}: {}", reason.name, reason.message));
        (verdict.release, verdict.delegates.behaviour, reason)
    };
    releases(&pte).releases.into_iter().map(told).collect()
}

/// Returns the last release with this behaviour for that reason.
fn last(told: &[(Release, Behaviour, Option<String>)], behaviour: Behaviour, reason: &str) -> Option<String> {
    let holds = |(_, found, why): &&(Release, Behaviour, Option<String>)| {
        *found == behaviour && why.as_ref().is_some_and(|why| why.contains(reason))
    };
    told.iter().rfind(holds).map(|(release, ..)| release.to_string())
}

#[test]
fn xnnpack_nodes_datatypes_and_scales_newer_than_a_release_are_refused_by_it() {
    let tensor = |datatype| XNNTensorValue { datatype, ..XNNTensorValue::default() };
    let plain = |datatype| XValue { xvalue_union: XValueUnion::XNNTensorValue(tensor(datatype)) };
    let node = |xnode_union| XNode { xnode_union, ..XNode::default() };
    let graph = |nodes: Vec<XNode<'static>>, values: Vec<XValue<'static>>| {
        with_graph(XNNGraph { xnodes: Some(nodes), xvalues: Some(values), ..XNNGraph::default() })
    };
    let found = graph(vec![node(XNodeUnion::XNNTanh(XNNNode1x1::default()))], vec![]);
    assert_eq!(last(&found, Behaviour::Refuses, "newer-node: XNNTanh").as_deref(), Some("0.6"), "{found:?}");
    let found = graph(vec![node(XNodeUnion::XNNSin(XNNNode1x1::default()))], vec![]);
    assert_eq!(last(&found, Behaviour::Refuses, "newer-node: XNNSin").as_deref(), Some("1.0"), "{found:?}");
    let found = graph(vec![], vec![plain(XNNDatatype::INT32)]);
    assert_eq!(last(&found, Behaviour::Refuses, "xnn_datatype_int32").as_deref(), Some("0.6"), "{found:?}");
    let found = graph(vec![], vec![plain(XNNDatatype::FP16)]);
    assert_eq!(last(&found, Behaviour::Refuses, "half"), None, "{found:?}");
    let prelu = node(XNodeUnion::XNNPReLU(XNNNode2x1::default()));
    let found = graph(vec![prelu], vec![plain(XNNDatatype::FP16)]);
    assert_eq!(last(&found, Behaviour::Refuses, "half precision").as_deref(), Some("0.4"), "{found:?}");
    let quantized = |quant_params| {
        let tensor_value = Some(tensor(XNNDatatype::QCINT8));
        let value = XNNQuantizedTensorValue { tensor_value, quant_params };
        vec![XValue { xvalue_union: XValueUnion::XNNQuantizedTensorValue(value) }]
    };
    let channels = PerChannelQuant { scale_buffer_idx: 1, ..PerChannelQuant::default() };
    let found = graph(vec![], quantized(channels.into()));
    assert_eq!(last(&found, Behaviour::Refuses, "scales of channels").as_deref(), Some("0.6"), "{found:?}");
    let groups = PerChannelGroupQuant { scale_buffer_idx: 1, ..PerChannelGroupQuant::default() };
    let found = graph(vec![], quantized(groups.into()));
    assert_eq!(last(&found, Behaviour::Refuses, "scales of"), None, "{found:?}");
    // Since 0.6, constants are looked up by name.
    let named = XNNTensorValue { constant_buffer_idx: 1, ..tensor(XNNDatatype::FP32) };
    let found = graph(vec![], vec![XValue { xvalue_union: XValueUnion::XNNTensorValue(named) }]);
    assert_eq!(last(&found, Behaviour::Miscomputes, "named_key").as_deref(), Some("0.5"), "{found:?}");
}

/// Formats the histories and features as a page of the documentation.
fn page() -> String {
    let mut page = String::from(
        "# What releases of ExecuTorch do\n\n\
         `pte verify --runtime all FILE` gives three answers about a file for each release:\n\n\
         | answer | from | not known |\n|---|---|---|\n\
         | format | the features and rules below: the runtimes of the Python wheels of 0.2.0 to 1.4.1 (13 of them; not 0.3 and 1.5.0; ATen builds) loaded real \
         and damaged programs. 1.5 follows the rule's level: it refuses files that break a rule of the levels `structure` and `runtime` | what \
         is `unknown` below; `.ptd` files before 1.5 |\n\
         | operators | which kernels the release's libraries have: portable, optimized, quantized, those for Cortex-M, language models and Cadence, and its Python wheel \
         (`src/operators`). The portable library is assumed, and those others that the file needs, which are named with the operators; \
         or those that `--libraries` or a target names. Custom operators are named | whether a build includes all of them |\n\
         | delegates | which nodes, datatypes and fields the schema of the release's XNNPACK runtime has (`src/verify/releases/xnnpack.rs`). A runtime without \
         `named_key` (before 0.6) reads constants from another place: it loads the program, but computes wrong results | payloads of other backends; \
         scales of groups before 0.7; half precision before 0.5 |\n\n\
         All backends that the release has are assumed to be in the application.\n\n",
    );
    let since = |since: &[(Release, Behaviour)]| {
        let parts: Vec<_> = since.iter().map(|(release, behaviour)| format!("{behaviour} since {release}")).collect();
        match since {
            [(_, behaviour)] => format!("{behaviour} in all"),
            _ => parts.join(", "),
        }
    };
    page += "## Features of valid programs\n\n| feature | releases | |\n|---|---|---|\n";
    for feature in FEATURES {
        page += &format!("| {} | {} | {} |\n", feature.name, since(feature.since), feature.what);
    }
    page += "\n## Backends\n\nWith everything in a release's repository linked. A wheel or an application has some of them.\n\n\
        | backend | releases | registered in |\n|---|---|---|\n";
    for backend in BACKENDS {
        page += &format!("| {} | {} | `{}` |\n", backend.id, since(backend.since), backend.source);
    }
    page += "\n## Faults of kernels\n\nCalls that a release refuses or computes wrong, and a later one does not. Verdicts give them as `known-fault`.\n\n\
        | fault | releases | kernels | mended by | |\n|---|---|---|---|---|\n";
    for fault in known_faults() {
        let since = fault.since.iter().map(|(release, outcome)| format!("{outcome} since {release}"));
        let kernels = if fault.is_optimized { "optimized" } else { "all" };
        let since = since.collect::<Vec<_>>().join(", ");
        page += &format!("| {} | {since} | {kernels} | {} | {} |\n", fault.name, fault.source, fault.what);
    }
    page += "\n## Other reasons\n\n| reason | |\n|---|---|\n";
    for reason in REASONS {
        page += &format!("| {} | {} |\n", reason.name, reason.what);
    }
    page += "\n## Broken rules\n\n| rule | field | releases | tested with |\n|---|---|---|---|\n";
    for history in HISTORIES {
        let run = history.refused_when_run_since.map(|since| format!("; refuses to run since {since}"));
        let (since, seen) = (since(history.since), history.seen.join(", "));
        page += &format!("| {} | {} | {since}{} | {seen} |\n", history.rule, history.field, run.unwrap_or_default());
    }
    page
}

#[test]
fn the_page_of_releases_is_up_to_date() {
    let path = data().join("../../docs/releases.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page(), "BLESS=1 writes it");
}

#[test]
fn a_rule_is_refused_since_the_first_release_of_its_history() {
    let tested = Release::ALL.iter().filter(|release| release.was_seen());
    assert_eq!(tested.count() + 1, Release::ALL.len(), "all but 0.3");
    for rule in RULES {
        let Some(since) = rule.refused_since() else { continue };
        let history = rule.histories().next().unwrap();
        for release in Release::ALL.iter().filter(|release| **release >= since && release.was_seen()) {
            let refuses = history.behaviour(*release) == Behaviour::Refuses;
            assert!(refuses || history.refused_when_run_since == Some(since), "{} in {release}", rule.name);
        }
    }
}
