//! Names from ETRecords and state dicts in the input and output of commands.

use crate::cli::{TempFile, run_in};
use executorch_format::Analysis;
use executorch_format::convert::Safetensors;
use executorch_format::{NewEntry, Ptd, PtdOptions};
use executorch_format_support::data;
use serde_json::Value;
use std::path::PathBuf;

fn folder() -> PathBuf {
    data().join("etrecord")
}

/// Returns the standard output of a command that succeeds.
fn text(arguments: &[&str]) -> String {
    let output = run_in(&folder(), arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the message of a command that fails with the given code.
fn error(arguments: &[&str], code: i32) -> String {
    let output = run_in(&folder(), arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Returns a copy of a program without an ETRecord beside it.
fn alone(name: &str) -> TempFile {
    TempFile::new(name, &std::fs::read(data().join("etrecord").join(name)).unwrap())
}

#[test]
fn an_etrecord_beside_the_program_names_its_weights() {
    let listed = text(&["list", "net_portable.pte"]);
    assert!(listed.contains("%2                layers.0.conv.weight f32[8, 8, 3, 3]"), "{listed}");
    let listed = text(&["list", "net_xnnpack.pte"]);
    assert!(listed.contains("constant 1, stem.weight f32[8, 3, 3, 3]"), "{listed}");
    let code = text(&["disasm", "net_portable.pte"]);
    assert!(code.contains("     1  aten::convolution.out  layers.0.conv\n"), "{code}");
    assert!(code.contains("weight          %2  f32[8, 8, 3, 3] \"layers.0.conv.weight\"  constant 3"), "{code}");
    assert!(code.contains("from net.py:16 in forward: x = s.stem(x)"), "{code}");
    let code: Value = serde_json::from_str(&text(&["disasm", "--json", "net_portable.pte"])).unwrap();
    let method = &code["files"][0]["methods"][0];
    assert_eq!(
        (&method["values"][2]["name"], &method["values"][2]["named_by"]),
        (&"layers.0.conv.weight".into(), &"record".into())
    );
    assert_eq!(
        (&method["values"][19]["name"], &method["values"][19]["named_by"]),
        (&"convolution.0".into(), &"operator".into())
    );
    let first = &method["chains"][0]["instructions"][0];
    assert_eq!(
        (&first["label"], &first["module"], &first["source"]["line"]),
        (&"convolution.0".into(), &"stem".into(), &16.into())
    );
}

#[test]
fn commands_group_by_module() {
    let sizes = text(&["size", "net_portable.pte", "--by", "module"]);
    assert!(sizes.contains("2.3 KiB        layers.0.conv"), "{sizes}");
    assert!(text(&["size", "net_xnnpack.pte", "--by", "blob"]).contains("layers.0.conv.weight, key 36403f4b"));
    let memory = text(&["memory", "net_portable.pte", "--by", "module"]);
    assert!(memory.contains("layers.0.bn"), "{memory}");
    let calls = text(&["ops", "net_portable.pte", "--by", "module", "--top", "2"]);
    assert!(calls.contains("8   66.7 %  ████████        0    layers\n  … 8 more, which take less"), "{calls}");
    for command in ["size", "memory", "ops"] {
        let answer = text(&[command, "net_portable.pte", "--by", "module", "--json"]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let modules = match command {
            "memory" => &answer["files"][0]["modules"][0]["modules"],
            _ => &answer["files"][0]["modules"],
        };
        assert_eq!((&modules[0]["path"], &modules[0]["depth"]), (&"".into(), &0.into()), "{command}");
        let alone = alone("net_portable.pte");
        let message = error(&[command, alone.0.to_str().unwrap(), "--by", "module"], 2);
        assert!(message.contains("no module is known: --names takes an ETRecord"), "{message}");
    }
}

#[test]
fn the_peak_of_memory_names_writers_and_last_users() {
    let memory = text(&["memory", "net_portable.pte"]);
    let line = "%34  1.1 KiB       0  1 to 2                     _native_batch_norm_legit_no_training.0  f32[1, 8, 6, 6] convolution.1";
    assert!(memory.contains(line), "{memory}");
    let memory = text(&["memory", "net_xnnpack.pte"]);
    assert!(memory.contains("XNNPACK workspace    2.3 KiB  values needed at once"), "{memory}");
}

#[test]
fn a_report_and_a_graph_have_names() {
    let report: Value = serde_json::from_str(&text(&["report", "net_xnnpack.pte", "--json"])).unwrap();
    let weights = report["files"][0]["weights"].as_array().unwrap();
    assert!(weights.iter().any(|weight| weight["name"] == "layers.0.conv.weight"), "{weights:?}");
    let graph = text(&["graph", "net_portable.pte", "--model-explorer"]);
    assert!(graph.contains(r#""namespace": "layers/0/conv""#), "{graph}");
    assert!(text(&["graph", "net_portable.pte", "--svg"]).contains("layers.0.conv.weight"));
}

#[test]
fn the_program_in_a_bundle_has_names() {
    let bundle = data().join("1.5.1/bundled/bundled.bpte");
    let listed = text(&["list", bundle.to_str().unwrap(), "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let users =
        listed["files"][0]["blobs"].as_array().unwrap().iter().flat_map(|blob| blob["users"].as_array().unwrap());
    let named = users.filter(|user| user["named_by"] == "operator").count();
    assert!(named > 0, "{listed}");
}

#[test]
fn names_come_from_the_given_file() {
    let program = alone("net_portable.pte");
    let path = program.0.to_str().unwrap();
    assert!(text(&["list", path]).contains("convolution.1 weight f32[8, 8, 3, 3]"));
    assert!(!text(&["disasm", path]).contains("convolution.1"));
    assert!(text(&["list", path, "--names", "net.safetensors"]).contains("layers.0.conv.weight f32[8, 8, 3, 3]"));
    assert!(text(&["list", path, "--names", "net_portable.etrecord"]).contains("layers.0.bn.running_var f32[8]"));
    let message = error(&["list", path, "--names", "net_xnnpack.etrecord"], 2);
    assert!(message.contains("net_xnnpack.etrecord") && message.contains("not that of this program"), "{message}");
    assert!(error(&["list", path, "--names", "net.py"], 2).contains("net.py"));
    // A record of another program that was only found beside this one is reported, and is not an error.
    let record = PathBuf::from(path).with_extension("etrecord");
    std::fs::copy(data().join("etrecord/net_xnnpack.etrecord"), &record).unwrap();
    let output = run_in(&folder(), &["list", path]);
    std::fs::remove_file(&record).unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("is not used for names"));
    assert!(String::from_utf8(output.stdout).unwrap().contains("convolution.1 weight"));
}

#[test]
fn a_weight_is_replaced_and_extracted_by_its_name() {
    let bytes: Vec<u8> = [1f32, 2.0, 3.0, 4.0, 5.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    let ptd = Ptd::build([NewEntry::from_slice("new", vec![5], &[1f32, 2.0, 3.0, 4.0, 5.0])], &PtdOptions::default());
    let new = TempFile::new("bias.ptd", &ptd.unwrap().image().unwrap().to_vec().unwrap());
    let out = TempFile::new("out.pte", b"");
    let (target, out) = (format!("head.bias={}", new.0.display()), out.0.to_str().unwrap());
    let raw = TempFile::new("bias.bin", &bytes);
    let message = error(&["replace", "net_xnnpack.pte", &format!("head.bias={}", raw.0.display()), "-o", out], 2);
    assert!(message.contains("head.bias is f32[5]") && message.contains("20 bytes without a type"), "{message}");
    for program in ["net_portable.pte", "net_xnnpack.pte"] {
        text(&["replace", program, &target, "-o", out]);
        let extracted =
            text(&["extract", out, "--names", &program.replace(".pte", ".etrecord"), "--name", "head.bias", "--json"]);
        let extracted: Value = serde_json::from_str(&extracted).unwrap();
        let blob = &extracted["files"][0]["blobs"][0];
        let start = blob["offset"].as_u64().unwrap() as usize;
        assert_eq!(std::fs::read(out).unwrap()[start..start + 20], bytes);
    }
    let message = error(&["replace", "net_portable.pte", &target.replace("bias=", "bia="), "-o", out], 2);
    assert!(message.contains("did you mean \"head.bias\""), "{message}");
}

#[test]
fn externalized_weights_have_the_names_of_the_state_dict() {
    let (program, weights) = (TempFile::new("out.pte", b""), TempFile::new("out.ptd", b""));
    let paths = [&program, &weights].map(|file| file.0.to_str().unwrap());
    let all = ["externalize", "net_portable.pte", "--all", "-o", paths[0], "--data", paths[1], "--names"];
    for (names, count) in [("net_portable.etrecord", 10), ("net.safetensors", 8)] {
        text(&[&all[..], &[names]].concat());
        let bytes = std::fs::read(paths[1]).unwrap();
        let ptd = Ptd::parse(&bytes).unwrap();
        let named = ptd.entries().filter(|entry| !entry.key().starts_with("forward.")).count();
        assert_eq!(named, count, "{names}");
        assert!(ptd.get("layers.0.conv.weight").is_some());
        assert!(text(&["verify", paths[0], paths[1]]).contains("ok"));
    }
    let other = data().join("1.5.1/linear/linear.pte");
    let message = error(
        &[
            "externalize",
            other.to_str().unwrap(),
            "--all",
            "-o",
            paths[0],
            "--data",
            paths[1],
            "--names",
            "net.safetensors",
        ],
        2,
    );
    assert!(message.contains("it names no data of"), "{message}");
}

#[test]
fn data_is_selected_and_converted_by_the_names_of_the_model() {
    let (program, weights) = (TempFile::new("out.pte", b""), TempFile::new("out.ptd", b""));
    let paths = [&program, &weights].map(|file| file.0.to_str().unwrap());
    let some = [
        "externalize",
        "net_portable.pte",
        "-o",
        paths[0],
        "--data",
        paths[1],
        "--names",
        "net_portable.etrecord",
        "--name",
    ];
    text(&[&some[..], &["layers.*.conv.weight"]].concat());
    let bytes = std::fs::read(paths[1]).unwrap();
    let keys: Vec<String> = Ptd::parse(&bytes).unwrap().entries().map(|entry| entry.key().to_owned()).collect();
    assert_eq!(keys, ["layers.0.conv.weight", "layers.1.conv.weight"]);
    let message = error(&[&some[..], &["layers.0.conv.weigth"]].concat(), 2);
    assert!(message.contains("layers.0.conv.weight"), "{message}");
    // The record beside the program supplies the names for a state dict.
    let state = TempFile::new("state.safetensors", b"");
    text(&["convert", "net_portable.pte", state.0.to_str().unwrap()]);
    let bytes = std::fs::read(&state.0).unwrap();
    let tensors = Safetensors::parse(&bytes).unwrap().tensors;
    assert!(tensors.iter().any(|tensor| tensor.name == "layers.0.conv.weight"), "{tensors:?}");
}

#[test]
fn a_value_needs_its_method_only_if_several_compute_something() {
    let several = data().join("1.5.1/multi_method/multi_method.pte");
    let message = error(&["replace", several.to_str().unwrap(), "%3=net.py", "-o", "out.pte"], 2);
    assert!(message.contains("%3 is a value of each of 3 methods") && message.contains(":%3"), "{message}");
}

/// The numbers are `(element - zero point) * scale`, with the scales that the operator takes.
#[test]
fn quantized_weights_are_extracted_as_their_numbers() {
    let program = data().join("1.5.1/quant_xnnpack/quant_xnnpack.pte");
    let folder = TempFile::new("weights", b"");
    std::fs::remove_file(&folder.0).unwrap();
    let arguments = ["extract", program.to_str().unwrap(), "--as", "npy", "--dequantized", "-o"];
    let manifest = text(&[&arguments[..], &[folder.0.to_str().unwrap(), "--json"]].concat());
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let bytes = std::fs::read(&program).unwrap();
    let pte = executorch_format::Pte::parse(&bytes).unwrap();
    let mut checked = 0;
    Analysis::new(&pte).visit_numbers(&mut |constant| {
        let blobs = manifest["files"][0]["blobs"].as_array().unwrap();
        let blob = blobs.iter().find(|blob| blob["name"].as_str() == constant.key).unwrap();
        let file = std::fs::read(folder.0.join(blob["file"].as_str().unwrap())).unwrap();
        let numbers = constant.numbers.as_ref().unwrap();
        let expected: Vec<u8> = numbers.values().flat_map(f32::to_le_bytes).collect();
        assert!(file.starts_with(b"\x93NUMPY") && file.ends_with(&expected), "{blob}");
        assert!(String::from_utf8_lossy(&file[..128]).contains("'<f4'"));
        checked += 1;
    });
    std::fs::remove_dir_all(&folder.0).unwrap();
    assert_eq!(checked, 6);
    let message = error(&["extract", "net_portable.pte", "--dequantized", "-o", folder.0.to_str().unwrap()], 2);
    assert!(message.contains("none of the selected blobs is a quantized tensor"), "{message}");
    assert!(!folder.0.exists());
}

#[test]
fn multiply_accumulates_are_counted_by_operator_and_by_module() {
    let counted = text(&["ops", "--macs", "net_xnnpack.pte"]);
    assert!(counted.contains("method forward: 49,288 MACs, 1,469 parameters\n"), "{counted}");
    assert!(counted.contains("1,392       864      3  XNNConv2d"), "{counted}");
    let modules = text(&["ops", "--macs", "--by", "module", "net_portable.pte"]);
    assert!(modules.contains("20,736        layers.0.conv\n"), "{modules}");
    let answer: Value = serde_json::from_str(&text(&["ops", "--macs", "--json", "net_portable.pte"])).unwrap();
    let method = &answer["files"][0]["macs"]["methods"][0];
    assert_eq!((&method["macs"], &method["parameters"]), (&49288.into(), &1469.into()));
    assert_eq!(
        (&method["calls"][0]["operator"], &method["calls"][0]["macs"]),
        (&"aten::convolution".into(), &7776.into())
    );
    let opaque = data().join("payloads/other/tosa.pte");
    let counted = text(&["ops", "--macs", opaque.to_str().unwrap()]);
    assert!(counted.contains("method forward: MACs not known, parameters not known\n"), "{counted}");
    assert!(counted.contains("not counted: 1 call of TOSABackend"), "{counted}");
}

#[test]
fn inputs_and_outputs_have_the_names_of_the_caller() {
    let file = data().join("answers/kwargs_dict_outputs.pte");
    let file = file.to_str().unwrap();
    let info = text(&["info", file]);
    assert!(
        info.contains("0: f32[3]\n                    1: f32[3] bias\n                    2: f32[3] mask\n"),
        "{info}"
    );
    assert!(info.contains("0: f32[3] y\n                    1: f32[3] a\n"), "{info}");
    let code = text(&["disasm", file]);
    assert!(code.contains("  input 0: %0 ") && code.contains("  input 1 bias: %1 "), "{code}");
    assert!(code.contains("  output 0 y: %4 ") && code.contains("  output 1 a: %6 "), "{code}");
    let memory = text(&["memory", file]);
    assert!(memory.contains("f32[3] mask\n") && memory.contains("f32[3] input 0\n"), "{memory}");
    let answer: Value = serde_json::from_str(&text(&["info", "--json", file])).unwrap();
    let method = &answer["files"][0]["methods"][0];
    let names =
        |key: &str| method[key].as_array().unwrap().iter().map(|value| value["name"].as_str()).collect::<Vec<_>>();
    assert_eq!(
        (names("inputs"), names("outputs")),
        (vec![None, Some("bias"), Some("mask")], vec![Some("y"), Some("a")])
    );
    // An ETRecord beside the program has the name of an input that is given by position.
    let info = text(&["info", "net_portable.pte"]);
    assert!(info.contains("0: f32[1, 3, 8, 8] x\n"), "{info}");
    let folder = TempFile::new("c", b"");
    std::fs::remove_file(&folder.0).unwrap();
    text(&["to-c", "net_portable.pte", "-o", folder.0.to_str().unwrap()]);
    let header = std::fs::read_to_string(folder.0.join("net_portable.h")).unwrap();
    assert!(header.contains("_FORWARD_INPUT_0_NAME \"x\"\n"), "{header}");
    std::fs::remove_dir_all(&folder.0).unwrap();
}
