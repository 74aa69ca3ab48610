//! The command on bundled programs, ETDumps and payloads.

use crate::cli::{TempFile, pte};
use executorch_format_support::fixtures::{Fixture, fixture, sha256, with_extension};
use serde_json::Value;
use std::path::Path;

fn output(arguments: &[&str], file: &Path) -> (i32, String, String) {
    let output = pte().args(arguments).arg(file).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str], file: &Fixture) -> Value {
    let (code, out, errors) = output(arguments, &file.path);
    assert_eq!((code, errors.as_str()), (0, ""), "{}", file.name());
    let mut document: Value = serde_json::from_str(&out).unwrap();
    // Commands that take several files print a list.
    document["files"].get_mut(0).map(Value::take).unwrap_or(document)
}

#[test]
fn info_describes_a_bundle_and_the_program_inside() {
    let file = fixture("payloads/bundle_scalars.bpte");
    let info = json(&["info", "--json"], &file);
    assert_eq!((&info["kind"], &info["identifier"]), (&"bpte".into(), &"BP08".into()));
    let case = &info["test_suites"][0]["test_cases"][0];
    assert_eq!((&case["inputs"][1]["value"], &case["inputs"][1]["type"]), (&7.into(), &"Int".into()));
    assert_eq!(info["program"]["methods"][0]["name"], "forward");
    let (_, text, _) = output(&["info"], &file.path);
    assert!(text.contains("0   f32[3], 7, true, 0.25 -> f32[3]\n"), "{text}");
    assert!(text.contains("-> not compared\n") && text.contains("the program inside"), "{text}");
}

#[test]
fn info_counts_runs_of_a_trace_without_loading() {
    let (_, text, _) = output(&["info"], &fixture("payloads/profile_portable.etdp").path);
    assert!(text.contains("  runs            2, and 1 block of events outside runs\n"), "{text}");
}

#[test]
fn commands_for_programs_take_payloads() {
    let file = fixture("payloads/linear_fp16.0.xnn");
    let info = json(&["info", "--json"], &file);
    assert_eq!((&info["kind"], &info["identifier"]), (&"xnnpack".into(), &"XH00".into()));
    assert_eq!(info["operators"][0]["name"], "XNNFullyConnected");
    let (_, text, _) = output(&["info"], &file.path);
    assert!(text.contains("  inputs          argument 0: f16[1, 8]"), "{text}");
    assert!(text.contains("  nodes           XNNFullyConnected 1"), "{text}");
    let file = fixture("payloads/v0.4.0_conv2d.0.xnn");
    let size = json(&["size", "--json"], &file);
    let sum: u64 = size["parts"].as_array().unwrap().iter().map(|part| part["size"].as_u64().unwrap()).sum();
    assert_eq!(sum, file.bytes().len() as u64);
    assert_eq!(size["operators"][0]["name"], "XnnpackBackend.XNNConv2d");
    let page = TempFile::new("payload.html", b"");
    let report = pte().arg("report").arg(&file.path).arg("-o").arg(&page.0).output().unwrap();
    assert!(report.status.success(), "{report:?}");
}

#[test]
fn list_hashes_the_bytes_at_its_offsets_in_a_bundle() {
    for file in with_extension("bpte") {
        let list = json(&["list", "--json", "--hash"], &file);
        let blobs = list["blobs"].as_array().unwrap();
        assert_eq!(blobs[0]["kind"], "program");
        for blob in blobs.iter().filter(|blob| blob["offset"].is_u64()) {
            let number = |field: &str| blob[field].as_u64().unwrap() as usize;
            let bytes = &file.bytes()[number("offset")..][..number("size")];
            assert_eq!(blob["sha256"].as_str(), Some(sha256(bytes).as_str()), "{}: {blob}", file.name());
        }
    }
}

#[test]
fn rewrite_copies_a_bundle_and_refuses_a_new_layout() {
    let file = fixture("payloads/bundle_methods.bpte");
    let made = TempFile::new("bundle.bpte", b"");
    let run = |options: &[&str]| pte().arg("rewrite").args(options).arg(&file.path).arg(&made.0).output().unwrap();
    assert!(run(&[]).status.success());
    assert!(std::fs::read(&made.0).unwrap() == file.bytes());
    assert_eq!(run(&["--relayout"]).status.code(), Some(2));
    assert!(std::fs::read(&made.0).unwrap() == file.bytes());
}

#[test]
fn verify_checks_the_program_inside_a_bundle() {
    let bundle = fixture("payloads/bundle_xnnpack.bpte");
    let (code, text, _) = output(&["verify"], &bundle.path);
    assert_eq!(code, 0, "{text}");
    let mut bytes = bundle.bytes().to_vec();
    let at = bytes.windows(4).position(|bytes| bytes == b"ET12").unwrap();
    bytes[at + 3] = b'9';
    let made = TempFile::new("bad.bpte", &bytes);
    let (code, text, _) = output(&["verify"], &made.0);
    assert!(code == 1 && text.contains("identifier: program: ") && text.contains("ET19"), "{text}");
}

/// Returns a document without fields that only name the file or identify it as a bundle.
fn without_names(mut document: Value) -> Value {
    let fields = document.as_object_mut().unwrap();
    ["file", "program_offset", "findings", "waste"].iter().for_each(|field| drop(fields.remove(*field)));
    document
}

#[test]
fn answers_about_a_bundle_are_about_its_program() {
    for bundle in with_extension("bpte") {
        let parsed = executorch_format::Bpte::parse(bundle.bytes()).unwrap();
        let program = TempFile::new("inside.pte", parsed.bundled_program.program());
        for command in [&["size"][..], &["ops"], &["disasm"], &["memory"], &["report"]] {
            let [one, other] = [&bundle.path, &program.0].map(|path| {
                let (code, out, errors) = output(&[command, &["--json"]].concat(), path);
                assert_eq!((code, errors.as_str()), (0, ""), "{command:?} {}", path.display());
                let mut document: Value = serde_json::from_str(&out).unwrap();
                without_names(document["files"].get_mut(0).map(Value::take).unwrap_or(document))
            });
            assert!(one == other, "{command:?} {}", bundle.name());
        }
        let [one, other] = [&bundle.path, &program.0].map(|path| output(&["graph", "--dot"], path).1);
        assert_eq!(one, other, "{}", bundle.name());
    }
    let bundle = fixture("payloads/bundle_scalars.bpte");
    let size = json(&["size", "--json"], &bundle);
    let program_offset = size["program_offset"].as_u64().unwrap() as usize;
    assert_eq!(&bundle.bytes()[program_offset + 4..][..4], b"ET12");
    let (_, text, _) = output(&["size"], &bundle.path);
    assert!(text.contains("bundle_scalars.bpte, the program inside: "), "{text}");
    let (code, _, text) = output(&["memory"], &fixture("1.5.1/etdump/etdump.etdp").path);
    assert!(code == 2 && text.contains("a .etdp file, which has no program: expected a .pte or .bpte"), "{text}");
}

#[test]
fn dump_prints_the_tree_of_a_bundle_and_of_a_trace() {
    let bundle = json(&["dump"], &fixture("1.5.1/bundled/bundled.bpte"));
    assert_eq!(bundle["method_test_suites"][0]["method_name"], "forward");
    let trace = json(&["dump"], &fixture("1.5.1/etdump/etdump.etdp"));
    assert_eq!(trace["run_data"][0]["events"][0]["profile_event"]["name"], "Method::init");
}

#[test]
fn profile_prints_a_table_with_the_programs_names() {
    let (trace, program) = (fixture("payloads/profile_xnnpack.etdp"), fixture("payloads/profile_xnnpack.pte"));
    let program = program.path.to_str().unwrap();
    let (code, text, errors) = output(&["profile", "--program", program], &trace.path);
    assert_eq!((code, errors.as_str()), (0, ""));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Default: 1 time, 951.33 µs");
    let line =
        |what: &str| lines.iter().find(|line| line.contains(what)).unwrap().split_whitespace().collect::<Vec<_>>();
    let call = [
        "0",
        "1",
        "57.61",
        "µs",
        "57.61",
        "µs",
        "57.61",
        "µs",
        "39.3",
        "%",
        "555.49",
        "k",
        "XnnpackBackend",
        "(delegate",
        "0)",
    ];
    assert_eq!(line("(delegate 0)"), call);
    assert!(line("TanH").ends_with(&["TanH", "(NC)", "#1", "=", "node", "1", "XNNTanh"]));
    let profile = json(&["profile", "--json", "--program", program], &trace);
    assert_eq!(profile["runs"][1]["events"][1]["runs"]["backend"], "XnnpackBackend");
    assert_eq!(profile["runs"][1]["events"][1]["total"], 57607);
}

#[test]
fn profile_reports_a_program_that_does_not_match() {
    let (trace, program) = (fixture("payloads/profile_xnnpack.etdp"), fixture("payloads/profile_portable.pte"));
    let (code, text, errors) = output(&["profile", "--program", program.path.to_str().unwrap()], &trace.path);
    assert!(code == 1 && text.contains("Execute"), "{text}");
    assert!(errors.contains("instruction 0, which is a KernelCall, expected a DelegateCall"), "{errors}");
    let (code, _, errors) = output(&["profile"], &program.path);
    assert!(code == 2 && errors.contains("a .pte file, which has no times"), "{errors}");
}

#[test]
fn info_shows_the_contents_of_an_ethos_u_payload() {
    let file = fixture("payloads/other/ethosu.pte");
    let info = json(&["info", "--json"], &file);
    let payload = &info["payloads"][0];
    assert_eq!((&payload["kind"], &payload["scratch_size"]), (&"EthosU".into(), &32.into()));
    assert_eq!(payload["parts"][0]["name"], "cmd_data");
    let (_, text, _) = output(&["info"], &file.path);
    assert!(text.contains("payload of forward, delegate 0: Ethos-U, 768 B\n"), "{text}");
    assert!(text.contains("328 B  cmd_data\n") && text.contains("32 B  scratch memory of a run\n"), "{text}");
}

fn profiled(arguments: &[&str]) -> String {
    let (trace, program) = (fixture("payloads/profile_xnnpack.etdp"), fixture("payloads/profile_xnnpack.pte"));
    let program = program.path.to_str().unwrap();
    let (code, text, errors) = output(&[&["profile", "--program", program], arguments].concat(), &trace.path);
    assert!(code == 0 && errors.is_empty(), "{errors}");
    text
}

#[test]
fn times_are_added_up_by_operator() {
    let text = profiled(&["--by", "operator"]);
    // The two calls took 57.607 and 37.701 microseconds.
    assert!(text.contains("2  95.31 µs  65.0 %  671.51 k  XnnpackBackend\n"), "{text}");
    assert!(
        text.contains("2  39.00 µs  26.6 %    1.64 M    XnnpackBackend: Fully Connected (NC, F32) GEMM\n"),
        "{text}"
    );
    assert!(text.contains("aten::cumsum.out"), "{text}");
    let top = profiled(&["--by", "operator", "--top", "1"]);
    let (first, rest) = text.split_once("Execute").unwrap();
    assert!(first.lines().count() == 2 && rest.lines().count() == 6, "{text}");
    assert!(top.contains("XnnpackBackend\n") && !top.contains("cumsum") && top.contains("… 3 more"), "{top}");
    // Lines left out by --top are counted in each group of runs.
    let top = profiled(&["--longest", "--top", "2"]);
    assert!(top.contains("… 6 more") && top.contains("Method::execute") && !top.contains("cumsum"), "{top}");
}

#[test]
fn events_inside_a_delegate_are_those_of_its_nodes() {
    let text = profiled(&[]);
    assert!(text.contains("Fully Connected (NC, F32) GEMM #1 = node 0 XNNFullyConnected\n"), "{text}");
    assert!(text.contains("TanH (NC) #1 = node 1 XNNTanh\n"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&profiled(&["--json"])).unwrap();
    let events = document["files"][0]["runs"][1]["events"].as_array().unwrap();
    let nodes: Vec<_> = events.iter().filter_map(|event| event["node"]["index"].as_u64()).collect();
    assert_eq!(nodes, [0, 0, 1]);
}

#[test]
fn a_trace_is_compared_with_itself_and_with_another() {
    let trace = |name: &str| fixture(&format!("payloads/{name}.etdp")).path;
    let old = trace("profile_portable");
    let old = old.to_str().unwrap();
    let (code, text, _) = output(&["profile", "--before", old], &trace("profile_portable"));
    assert!(code == 0 && text.contains("+0.0 %") && !text.contains("+1"), "{text}");
    let (code, text, _) = output(&["profile", "--before", old, "--by", "operator"], &trace("profile_xnnpack"));
    assert!(code == 0 && text.contains("cumsum.out"), "{text}");
    let line = text.lines().find(|line| line.ends_with("cumsum.out")).unwrap();
    assert!(line.contains("  -  "), "the first trace has none: {line}");
    // Steps of a delegate keep their identifiers and the instruction that contains them.
    let xnnpack = trace("profile_xnnpack");
    let (_, text, _) = output(&["profile", "--before", xnnpack.to_str().unwrap()], &xnnpack);
    let step = text.lines().find(|line| line.ends_with("  delegate: TanH (NC) #1")).unwrap();
    assert!(step.starts_with("  2  "), "{text}");
}

#[test]
fn the_timeline_has_every_event_at_its_time() {
    let document: serde_json::Value = serde_json::from_str(&profiled(&["--timeline"])).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    assert_eq!(events.len(), 10);
    let call = events.iter().find(|event| event["name"] == "XnnpackBackend (delegate 0)").unwrap();
    assert_eq!((call["ph"].as_str(), call["args"]["instruction"].as_u64()), (Some("X"), Some(0)));
    assert!((call["dur"].as_f64().unwrap() - 57.607).abs() < 1e-6, "{call}");
    // Relative to the first start, 3689229.
    assert!((call["ts"].as_f64().unwrap() - 958.918).abs() < 1e-6, "{call}");
}

#[test]
fn times_are_added_to_the_graph() {
    let (trace, program) = (fixture("payloads/profile_xnnpack.etdp"), fixture("payloads/profile_xnnpack.pte"));
    let trace = trace.path.to_str().unwrap();
    let (code, text, errors) = output(&["graph", "--json", "--trace", trace], &program.path);
    assert_eq!((code, &*errors), (0, ""));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let nodes = document["files"][0]["graphs"][0]["nodes"].as_array().unwrap();
    let times: Vec<_> =
        nodes.iter().filter_map(|node| Some((node["label"].as_str()?, node["time"].as_f64()?))).collect();
    assert_eq!(
        times,
        [
            ("XNNFullyConnected", 39000.0),
            ("aten::cumsum.out", 47979.0),
            ("XNNFullyConnected", 0.0),
            ("XNNTanh", 26000.0)
        ]
    );
    let (_, dot, _) = output(&["graph", "--dot", "--trace", trace], &program.path);
    assert!(dot.contains("aten::cumsum.out (47.98 µs)"), "{dot}");
    let (code, _, errors) = output(&["graph", "--dot", "--trace", trace], &fixture("1.5.1/add/add.pte").path);
    assert!(code == 1 && errors.contains("run_data"), "{errors}");
}
