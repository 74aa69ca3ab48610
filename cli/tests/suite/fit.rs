//! `pte fit` with the memories and the named runtimes of devices.

use crate::cli::{TempFile, pte, run_in};
use executorch_format_support::data;
use serde_json::Value;

/// Runs `pte fit` in the folder of test data.
fn fit(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run_in(&data(), &[&["fit"], arguments].concat());
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Buffer 1 needs 8,224 bytes, buffer 2 8,192.
#[test]
fn each_planned_buffer_is_compared_with_its_own_memory() {
    let target =
        |memories: &str| TempFile::new("banks.toml", format!("runtime = \"1.5\"\nmemories = {memories}\n").as_bytes());
    let large = target("{ 1 = \"26KiB\", 2 = \"8KiB\" }");
    assert_eq!(
        fit(&["answers/banks.pte", "--target", large.0.to_str().unwrap()]),
        (Some(0), "answers/banks.pte: nothing is missing\n".into())
    );
    let small = target("{ 1 = \"26KiB\", 2 = 4096 }");
    let (code, text) = fit(&["answers/banks.pte", "--target", small.0.to_str().unwrap()]);
    let expected = "memory id 2 (span 1): 8192 bytes are needed and 4096 available, 4096 too few";
    assert!(code == Some(1) && text.contains(expected) && !text.contains("memory id 1 "), "{text}");
    let one = target("{ 1 = \"26KiB\" }");
    let (_, text) = fit(&["answers/banks.pte", "--target", one.0.to_str().unwrap()]);
    assert!(text.contains("memory id 2 (span 1): 8192 bytes are needed and 0 available"), "{text}");
    let wrong = target("{ 0 = \"26KiB\" }");
    let output = run_in(&data(), &["fit", "answers/banks.pte", "--target", wrong.0.to_str().unwrap()]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("\"0\" is not a memory id: expected a number from 1"), "{message}");
    let memory = run_in(&data(), &["memory", "--arenas", "answers/banks.pte"]);
    assert_eq!(String::from_utf8(memory.stdout).unwrap(), "1\t0\t8224\tCPU:0\n2\t1\t8192\tCPU:0\n");
}

#[test]
fn all_needs_are_listed_with_the_names_of_inputs_and_outputs() {
    let (_, text) = fit(&["answers/kwargs_dict_outputs.pte", "--target", "portable-1.5", "--json"]);
    let answer: Value = serde_json::from_str(&text).unwrap();
    let needs = &answer["files"][0]["needs"];
    let method = &needs["methods"][0];
    assert_eq!(needs["file_size"], 1664);
    let names = |key: &str| method[key].as_array().unwrap().iter().map(|one| one["name"].as_str()).collect::<Vec<_>>();
    assert_eq!(names("operators"), [Some("aten::add.out"), Some("aten::mul.out"), Some("aten::sub.out")]);
    assert_eq!(method["operators"][0]["kernels"][0]["name"], "v1/6;0|6;0|6;0|6;0");
    assert_eq!(
        (names("inputs"), names("outputs")),
        (vec![None, Some("bias"), Some("mask")], vec![Some("y"), Some("a")])
    );
    assert_eq!((&method["inputs"][1]["shape"], &method["inputs"][1]["size"]), (&"f32[3]".into(), &12.into()));
    assert_eq!((&method["buffers"][0]["memory_id"], &method["buffers"][0]["span"]), (&1.into(), &0.into()));
    // An ETRecord beside the program names the input.
    let (_, text) = fit(&["etrecord/net_portable.pte", "--target", "portable-1.5", "--json"]);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["files"][0]["needs"]["methods"][0]["inputs"][0]["name"], "x");
}

#[test]
fn devices_have_the_kernels_and_backends_of_their_builds() {
    let fits = |model: &str, target: &str| fit(&[model, "--target", target]).0 == Some(0);
    for (model, android, ios, cortex_m, ethos_u) in [
        ("1.5.1/linear_xnnpack/linear_xnnpack.pte", true, true, false, false),
        ("payloads/other/coreml.pte", false, true, false, false),
        ("payloads/other/ethosu.pte", false, false, false, true),
        ("answers/emb4.pte", true, true, true, true),
        ("1.5.1/add/add.pte", true, true, true, true),
    ] {
        let found =
            ["android-1.5", "ios-1.5", "cortex-m55-1.5", "cortex-m85+ethos-u55-1.5"].map(|name| fits(model, name));
        assert_eq!(found, [android, ios, cortex_m, ethos_u], "{model}");
    }
}

#[test]
fn a_target_file_of_a_device_has_the_memory_that_models_need() {
    for name in ["android", "ios", "cortex-m55", "cortex-m85+ethos-u55"] {
        let made =
            pte().current_dir(data()).args(["fit", "--init", "--target", name, "answers/banks.pte"]).output().unwrap();
        let text = String::from_utf8(made.stdout).unwrap();
        assert!(text.contains("\nmemories = { 1 = 8224, 2 = 8192 }\n"), "{text}");
        assert!(text.contains("\narena = 16416\n") && text.contains("\nruntime = \"1.5\"\n"), "{text}");
        assert_eq!(text.contains("\npointer-bits = 32\n"), name.starts_with("cortex"), "{text}");
        assert_eq!(text.contains("\naccelerator = \"ethos-u55\"\n"), name.ends_with("u55"), "{text}");
        assert_eq!(text.contains("llama::update_cache.out"), !name.starts_with("cortex"), "{text}");
        let target = TempFile::new("device.toml", text.as_bytes());
        assert_eq!(fit(&["answers/banks.pte", "--target", target.0.to_str().unwrap()]).0, Some(0), "{name}");
    }
    let output = run_in(&data(), &["fit", "--init", "--target", "zz", "answers/banks.pte"]);
    assert_eq!(output.status.code(), Some(2));
}
