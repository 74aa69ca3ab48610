//! The verdict on a file is the same in every command and form.

use crate::cli::{run, text};
use executorch_format_support::data;
use executorch_format_support::fixtures::{files_below, has_extension};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most files of one run, since the arguments of a process on Windows have at most 32,767 characters.
const MAX_FILES: usize = 100;

/// Returns the verdict on each file in a command's output of one document for each file.
fn verdicts(arguments: &[&str], files: &[&Path], verdict: impl Fn(&Value) -> &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for files in files.chunks(MAX_FILES) {
        for line in text(&run(arguments, files).stdout).lines() {
            let document: Value = serde_json::from_str(line).unwrap();
            found.insert(document["file"].as_str().unwrap().to_owned(), verdict(&document).clone());
        }
    }
    found
}

#[test]
fn all_commands_have_the_same_verdict_on_a_file() {
    let programs = files_below(&data()).into_iter().filter(|path| has_extension(path, &["pte", "bpte"]));
    let programs: Vec<PathBuf> = programs.collect();
    let files: Vec<&Path> = programs.iter().map(PathBuf::as_path).collect();
    let of_verify = verdicts(&["verify", "--jsonl"], &files, |document| &document["verdict"]);
    assert!(of_verify.len() == files.len() && files.len() > 250, "{}", of_verify.len());
    let compare = |name: &str, other: &BTreeMap<String, Value>, least: usize| {
        let known = other.iter().filter(|(_, verdict)| !verdict.is_null());
        let compared = known.map(|(file, verdict)| assert_eq!(of_verify[file], *verdict, "{name}: {file}")).count();
        assert!(compared >= least, "{name}: {compared} of {}", files.len());
    };
    let of_release =
        verdicts(&["verify", "--runtime", "1.5", "--jsonl"], &files, |document| &document["releases"][0]["verdict"]);
    compare("verify --runtime", &of_release, files.len());
    // The other commands need files that can be parsed.
    compare("info", &verdicts(&["info", "--jsonl"], &files, |document| &document["verdict"]), 200);
    let fit = ["fit", "--target", "official", "--jsonl"];
    compare("fit", &verdicts(&fit, &files, |document| &document["verdict"]), 200);
    let is_met = verdicts(&fit, &files, |document| &document["ok"]);
    let bad = ["does-not-load", "missing", "refuses-call", "dies", "miscomputes", "does-not-fit"];
    for (file, ok) in is_met.iter().filter(|(_, ok)| ok.is_boolean()) {
        let outcome = of_verify[file]["outcome"].as_str().unwrap();
        assert_eq!(*ok, !bad.contains(&outcome), "{file}: {outcome}");
    }
    for files in files.chunks(MAX_FILES) {
        let sarif: Value = serde_json::from_slice(&run(&["verify", "--format", "sarif"], files).stdout).unwrap();
        let artifacts = sarif["runs"][0]["artifacts"].as_array().unwrap();
        assert_eq!(artifacts.len(), files.len());
        for (artifact, file) in artifacts.iter().zip(files) {
            assert_eq!(artifact["properties"]["verdict"], of_verify[&file.display().to_string()], "{}", file.display());
        }
    }
}

#[test]
fn a_verdict_is_printed_unless_the_file_runs() {
    let printed = |arguments: &[&str], file: &str| text(&run(arguments, &[&data().join(file)]).stdout);
    let file = "kernels/mul_cl_broadcast.pte";
    let verified = printed(&["verify"], file);
    assert!(verified.contains("\n  in 1.5: computes wrong results\n"), "{verified}");
    let info = printed(&["info"], file);
    assert!(info.contains("\n  in 1.5          computes wrong results: kernel-wrong-values: "), "{info}");
    let release = printed(&["verify", "--runtime", "1.5"], file);
    assert!(release.contains("1.5 loads; computes wrong results: kernel-wrong-values: "), "{release}");
    let custom = printed(&["verify"], "1.5.1/evalue_custom/evalue_custom.pte");
    assert!(custom.contains(": ok\n  in 1.5: not known: custom-operators: "), "{custom}");
    let right = [printed(&["verify"], "1.5.1/add/add.pte"), printed(&["info"], "1.5.1/add/add.pte")];
    assert!(right.iter().all(|text| !text.contains("in 1.5")), "{right:?}");
}

#[test]
fn the_place_of_kernels_outside_the_portable_library_is_named_by_every_command() {
    let file = data().join("flow/llama_update_cache_alone.pte");
    let printed = |arguments: &[&str]| text(&run(arguments, &[&file]).stdout);
    let import = "in Python after `import executorch.extension.llm.custom_ops.custom_ops`";
    let place = format!("in the C++ library custom_ops, and {import}");
    for command in
        [&["verify"][..], &["verify", "--runtime", "1.5"], &["info"], &["ops"], &["fit", "--target", "official"]]
    {
        let shown = printed(command);
        assert!(shown.contains("llm") && shown.contains(&place), "{command:?}: {shown}");
    }
    let python = printed(&["fit", "--target", "python-1.5"]);
    let missing = format!("no llama::update_cache.out ({import}) in its python-wheel kernels");
    assert!(python.contains(&missing), "{python}");
    let field = |arguments: &[&str], pointer: &str| {
        let document: Value = serde_json::from_str(&printed(arguments)).unwrap();
        document.pointer(pointer).unwrap_or_else(|| panic!("{arguments:?}: {document}")).clone()
    };
    let target = Value::from("custom_ops");
    assert_eq!(field(&["verify", "--json"], "/files/0/kernels/0/cmake_target"), target);
    assert_eq!(field(&["verify", "--runtime", "1.5", "--json"], "/files/0/releases/0/kernels/0/cmake_target"), target);
    assert_eq!(field(&["info", "--json"], "/files/0/loads_in/kernels/0/cmake_target"), target);
    assert_eq!(field(&["fit", "--target", "official", "--json"], "/files/0/kernels/0/cmake_target"), target);
    let operators = field(&["ops", "--json"], "/files/0/operators");
    let mut operators = operators.as_array().unwrap().iter();
    let update = operators.find(|operator| operator["name"] == "llama::update_cache.out").unwrap();
    assert_eq!(update["place"]["cmake_target"], target);
}
