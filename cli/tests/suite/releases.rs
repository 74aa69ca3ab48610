//! The releases that load a file: the same answer in each form, with reasons that can be explained. Also targets.

use crate::cli::{TempFile, run, text};
use executorch_format_support::fixtures::fixture;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_printed_reason_can_be_explained() {
    let printed = |arguments: &[&str], file: &str| text(&run(arguments, &[&fixture(file).path]).stdout);
    let mut reasons = BTreeSet::new();
    for file in [
        "1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte",
        "1.5.1/evalue_kinds/evalue_kinds.pte",
        "1.5.1/const_dtypes/const_dtypes.pte",
        "0.2.1/add/add.pte",
        "1.5.1/add_mul_external/add_mul_external.pte",
    ] {
        for line in printed(&["verify", "--runtime", "all"], file).lines().skip(1) {
            reasons.extend(line.split_once(": ").and_then(|(_, why)| why.split(": ").next()).map(str::to_owned));
        }
        let info = printed(&["info"], file);
        let line = info.lines().find(|line| line.contains("loads in")).unwrap_or_default();
        reasons.extend(
            line.trim_end_matches(')')
                .split(": ")
                .skip(1)
                .map(|why| why.split(", ").next().unwrap_or_default().to_owned()),
        );
    }
    assert!(
        ["external-data", "missing-operators", "release", "xnnpack-named-constants", "constant-buffer", "bfloat16"]
            .iter()
            .all(|name| reasons.contains(*name)),
        "{reasons:?}"
    );
    for reason in &reasons {
        let output = run(&["verify", "--explain", reason], &[]);
        assert_eq!(output.status.code(), Some(0), "{reason}: {}", text(&output.stderr));
        assert!(text(&output.stdout).starts_with(&format!("{reason}\n\n")), "{reason}");
    }
    let output = run(&["verify", "--explain", "missing-operator"], &[]);
    let hint = text(&output.stderr);
    assert!(
        hint.contains("no rule, CVE or reason \"missing-operator\", did you mean ")
            && hint.contains("\"missing-operators\""),
        "{hint}"
    );
}

#[test]
fn an_empty_target_or_policy_is_an_error() {
    let program = fixture("1.5.1/add/add.pte").path;
    for (option, command) in [("--target", "fit"), ("--policy", "verify"), ("--policy", "diff")] {
        for (ending, content) in [("toml", "# nothing\n"), ("yaml", "{}\n")] {
            if option == "--policy" && ending == "yaml" {
                continue;
            }
            let file = TempFile::new(&format!("empty.{ending}"), content.as_bytes());
            let files: &[&Path] = if command == "diff" { &[&program, &program] } else { &[&program] };
            let output = run(&[command, option, file.0.to_str().unwrap()], files);
            assert_eq!(output.status.code(), Some(2), "{command} {ending}: {}", text(&output.stdout));
            assert!(text(&output.stderr).contains("is empty: expected"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_target_without_a_release_gets_the_newest() {
    let program = fixture("1.5.1/add/add.pte").path;
    let output = run(&["fit", "--target", "portable"], &[&program]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("portable is portable-1.5, the newest release"), "{}", text(&output.stderr));
}

#[test]
fn all_forms_agree_on_the_releases_that_load_a_file() {
    for (file, place, kernels, not_checked) in [
        ("1.5.1/evalue_custom/evalue_custom.pte", "0.2 to 1.5", "custom: fx::probe.out", ""),
        ("1.5.1/blob_inline/blob_inline.pte", "0.2 to 1.5", "", "payloads of FxBlobBackend"),
        ("malformed/tensor-storage-offset.pte", "none", "", ""),
    ] {
        let path = &fixture(file).path;
        let told = text(&run(&["info"], &[path]).stdout);
        let words = if place == "none" { "no release of ExecuTorch" } else { place };
        assert!(told.contains(&format!("  loads in        {words}")), "{told}");
        assert_eq!(told.contains("needs kernels outside the portable library"), !kernels.is_empty(), "{told}");
        assert!(
            told.contains(kernels) && told.contains(&format!("not checked: {not_checked}")) != not_checked.is_empty(),
            "{told}"
        );
        let table = text(&run(&["info", "--table"], &[path]).stdout);
        assert!(table.contains(place), "{table}");
        let found = document(&run(&["info", "--json"], &[path]));
        let loads_in = &found["files"][0]["loads_in"];
        assert_eq!(loads_in["outcome"], if place == "none" { "none" } else { "loads" });
        assert_eq!(loads_in["ranges"].as_array().map(Vec::len), Some(usize::from(place != "none")));
        assert_eq!(loads_in["not_checked"].as_str().unwrap_or_default(), not_checked);
        let latest =
            found["files"][0]["releases"].as_array().and_then(|releases| releases.last()).cloned().unwrap_or_default();
        assert_eq!(latest["behaviour"], if place == "none" { "refuses" } else { "loads" });
        assert_eq!(latest["kernels"], loads_in["kernels"]);
        let line = text(&run(&["verify", "--runtime", "1.5"], &[path]).stdout);
        assert!(line.contains(if place == "none" { "1.5 refuses" } else { "1.5 loads" }), "{line}");
        assert!(line.contains(kernels) && line.contains(not_checked), "{line}");
    }
}

#[test]
fn info_and_verify_state_the_scope_of_a_verdict_on_releases() {
    let kinds = fixture("1.5.1/evalue_kinds/evalue_kinds.pte").path;
    let told = text(&run(&["info"], &[&kinds]).stdout);
    let line = "loads in        0.6 to 1.5 (0.5 refuses: missing-operators)\n                  checked: format, portable operators\n";
    assert!(told.contains(line), "{told}");
    let blobs = fixture("1.5.1/blob_inline/blob_inline.pte").path;
    let told = text(&run(&["info"], &[&blobs]).stdout);
    assert!(told.contains("not checked: payloads of FxBlobBackend"), "{told}");
    let external = fixture("1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte").path;
    let told = text(&run(&["info"], &[&external]).stdout);
    assert!(told.contains("XNNPACK payloads\n  external data   the data of 2 XNNPACK constants"), "{told}");
    let output = run(&["verify", "--runtime", "0.5", "--libraries", "portable,quantized"], &[&kinds]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("in its portable + quantized kernels"), "{}", text(&output.stdout));
    let quiet = run(&["verify", "--quiet", "--runtime", "1.0"], &[&kinds]);
    assert_eq!((quiet.status.code(), text(&quiet.stdout)), (Some(0), String::new()));
    let found = document(&run(&["verify", "--json", "--runtime", "0.5"], &[&kinds]));
    let verdict = &found["files"][0]["releases"][0];
    assert_eq!((&verdict["behaviour"], &verdict["format"]["behaviour"]), (&"refuses".into(), &"loads".into()));
    assert_eq!(verdict["operators"]["because"]["name"], "missing-operators");
}

/// A CVE is described by the rules that find its faults.
#[test]
fn every_cve_and_every_rule_is_explained() {
    for rule in executorch_format::verify::RULES {
        for name in [rule.name].into_iter().chain(rule.cve.into_iter().flat_map(|cves| cves.split(", "))) {
            let output = run(&["verify", "--explain", name], &[]);
            let page = text(&output.stdout).to_owned();
            assert!(output.status.success() && page.starts_with(&format!("{name}\n\n")), "{name}");
            assert!(page.contains(rule.protects_from), "{name}: {page}");
        }
    }
    let page = text(&run(&["verify", "--explain", "CVE-2025-30405"], &[]).stdout).to_owned();
    assert!(page.contains("Rule planned-memory-overflow\n"), "{page}");
}
