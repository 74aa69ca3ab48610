//! The shape of the command line: names of commands, files without a command, manual pages, completions.

use crate::cli::{TempFile, pte, run};
use executorch_format::schema::program::KernelTypes;
use executorch_format::{Model, Pte};
use executorch_format_support::fixtures::fixture;
use executorch_format_support::training;
use executorch_format_support::written::written;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_file_alone_is_summarized_and_commands_have_the_names_that_users_try() {
    let model = fixture("1.5.1/linear/linear.pte").path;
    let info = text(&run(&["info"], &[&model]));
    assert!(info.contains("loads in"), "{info}");
    for other in [&[][..], &["inspect"], &["show"], &["-q"]] {
        assert_eq!(text(&run(other, &[&model])), info, "{other:?}");
    }
    assert_eq!(text(&run(&["--jsonl"], &[&model])), text(&run(&["info", "--jsonl"], &[&model])));
    assert_eq!(text(&run(&["validate"], &[&model])), text(&run(&["verify"], &[&model])));
    let fit = text(&run(&["fit", "--target", "portable-1.5"], &[&model]));
    assert_eq!(text(&run(&["check", "--target", "portable-1.5"], &[&model])), fit);
    let missing = run(&[], &[Path::new("missing.pte")]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("missing.pte: cannot be read"));
    let refused = run(&["verfy"], &[&model]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("'verify'"));
}

#[test]
fn a_file_is_rewritten_in_place() {
    let model = fixture("1.5.1/blob_segments/blob_segments.pte");
    let file = TempFile::new("in-place.pte", model.bytes());
    let done = pte().arg("rewrite").arg(&file.0).args(["-i", "--segment-alignment", "4096"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let other = TempFile::new("other.pte", b"");
    run(&["rewrite", "--segment-alignment", "4096"], &[&model.path, &other.0]);
    assert_eq!(std::fs::read(&file.0).unwrap(), std::fs::read(&other.0).unwrap());
    assert_ne!(std::fs::read(&file.0).unwrap(), model.bytes());
    for arguments in [&["rewrite", "-i", "-"][..], &["rewrite", "-i", "m.pte", "n.pte"], &["rewrite", "m.pte"]] {
        assert_eq!(run(arguments, &[]).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn an_edit_that_keeps_an_early_schema_names_the_command_for_the_current_one() {
    let early = fixture("0.6.0/ptd_direct/ptd_direct.ptd");
    let file = TempFile::new("early.ptd", early.bytes());
    let out = TempFile::new("out.ptd", b"");
    let hint = "`pte ptd merge FILE -o NEW.ptd` writes the current one";
    let told = |output: Output| text(&output) + &String::from_utf8_lossy(&output.stderr);
    let rewritten = told(run(&["rewrite", "--relayout"], &[&file.0, &out.0]));
    assert!(rewritten.contains(hint), "{rewritten}");
    let filtered = told(run(&["ptd", "filter", "--keep", "*", "-o", out.0.to_str().unwrap()], &[&file.0]));
    assert!(filtered.contains(hint), "{filtered}");
    assert!(!told(run(&["rewrite"], &[&file.0, &out.0])).contains(hint));
    // The command in the hint works.
    let merged = run(&["ptd", "merge", "-o", out.0.to_str().unwrap()], &[&file.0]);
    assert!(merged.status.success(), "{}", String::from_utf8_lossy(&merged.stderr));
    assert!(!run(&["verify", "--level", "runtime"], &[&file.0]).status.success());
    assert!(run(&["verify", "--level", "runtime"], &[&out.0]).status.success());
}

#[test]
fn a_reason_that_several_releases_share_is_printed_once() {
    let told = text(&run(&["verify", "--runtime", "all"], &[&fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte").path]));
    let starts: Vec<&str> = told.lines().skip(1).map(|line| line.split(" loads").next().unwrap()).collect();
    assert_eq!(starts.first(), Some(&"  0.2, 0.4..0.5"), "{told}");
    assert_eq!(told.matches("xnnpack-named-constants").count(), 1, "{told}");
    assert!(told.ends_with("\n  0.6..1.5 loads\n"), "{told}");
}

#[test]
fn manual_pages_have_examples_and_exit_codes() {
    let verify = text(&run(&["man", "verify"], &[]));
    let sections: Vec<&str> = verify.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    assert_eq!(sections[..3], ["NAME", "SYNOPSIS", "DESCRIPTION"]);
    assert_eq!(
        sections[sections.len() - 3..],
        ["NOTES", "\"EXIT STATUS\"", "EXAMPLES"].map(|name| name.trim_matches('"'))
    );
    assert!(verify.contains("pte verify \\-\\-explain tensor\\-rank"), "{verify}");
    // A command whose help lists no exit codes has those of all commands.
    assert!(text(&run(&["man", "size"], &[])).contains(".SH EXIT STATUS\n.nf\n0 success, 1 a file is invalid"));
    let all = text(&run(&["man"], &[]));
    let at = |name: &str| all.find(&format!("pte\\-{name}(1)")).unwrap_or_else(|| panic!("{name}: {all}"));
    assert!(
        at("info") < at("size") && at("size") < at("diff") && at("diff") < at("verify") && at("verify") < at("replace")
    );
}

/// Completes the last word as bash does. `None` without bash.
#[cfg(unix)]
fn completed(words: &[&str]) -> Option<Vec<String>> {
    use executorch_format_support::crate_root;
    use std::process::Command;

    let script = text(&run(&["completions", "bash"], &[]));
    let script = TempFile::new("completions.bash", script.as_bytes());
    let path = std::env::join_paths(
        Path::new(env!("CARGO_BIN_EXE_pte"))
            .parent()
            .map(Path::to_owned)
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let line = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))
        _pte_words \"$1\" \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", line, "bash"]).arg(&script.0).args(words).env("PATH", path.unwrap());
    let output = bash.current_dir(crate_root()).output().ok()?;
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(text(&output).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect())
}

#[cfg(unix)]
#[test]
fn bash_completes_names_and_otherwise_files() {
    let model = "tests/data/1.5.1/multi_method/multi_method.pte";
    for (words, expected) in [
        // No words: bash then completes files.
        (&["pte", "info", ""][..], &[][..]),
        (&["pte", "verify", "tests"], &[]),
        (&["pte", "inf"], &["info"]),
        (&["pte", "verify", "--explain", "planned-memory-overf"], &["planned-memory-overflow"]),
        (&["pte", "verify", "--deny", "also-z"], &["also-zip"]),
        (&["pte", "verify", "--runtime", "1.4"], &["1.4"]),
        (&["pte", "verify", "--level", ""], &["structure", "runtime", "strict"]),
        (&["pte", "fit", "--target", "xnnpack-1.4"], &["xnnpack-1.4"]),
        (&["pte", "disasm", model, "--method", "enc"], &["encode"]),
        (&["pte", "man", "ptd-m"], &["ptd-merge"]),
        (&["pte", "info", "--tab"], &["--table"]),
    ] {
        let Some(found) = completed(words) else { return };
        assert_eq!(found, expected, "{words:?}");
    }
}

#[test]
fn a_summary_lists_external_data_and_buffers_without_values() {
    let told = text(&run(&["info"], &[&fixture("1.5.1/mutable_plain/mutable_plain.pte").path]));
    assert!(told.contains("mutable buffers 28 B, without initial values: %0, %1\n"), "{told}");
    let told = text(&run(&["info"], &[&fixture("1.5.1/mutable_init/mutable_init.pte").path]));
    assert!(!told.contains("without initial values"), "{told}");
    // The values of the first buffer are in a .ptd file.
    let file = fixture("1.5.1/mutable_plain/mutable_plain.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    let value = &mut pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap()[0];
    let KernelTypes::Tensor(tensor) = &mut value.val else { panic!("{value:?}") };
    *tensor = tensor.clone().with_external("buffer");
    let mut model = Model::Pte(pte);
    let external = TempFile::new("external.pte", &written(&mut model, [0, 128, 256]).unwrap());
    let told = text(&run(&["info"], &[&external.0]));
    assert!(told.contains("without initial values: %1\n"), "{told}");
    let memory = text(&run(&["memory"], &[&fixture("1.5.1/mutable_plain/mutable_plain.pte").path]));
    assert!(memory.contains("f32[5] mutable buffer\n"), "{memory}");
    let external = fixture("1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte").path;
    let told = text(&run(&["info"], &[&external]));
    assert!(told.contains("   in .ptd files") && told.contains("external data"), "{told}");
    let told = text(&run(&["info"], &[&fixture("1.5.1/plan_no_io/plan_no_io.pte").path]));
    assert!(told.contains("inputs          0: f32[2, 2], in the caller's memory"), "{told}");
}

#[test]
fn a_summary_says_what_the_outputs_of_a_program_for_training_are() {
    let file = TempFile::new("training.pte", &training::program(&training::PARAMETERS));
    let told = text(&run(&["info"], &[&file.0]));
    for line in [
        "outputs         0: f32[1], in the caller's memory, loss\n",
        " 1: f32[1], in the caller's memory\n",
        " 2: f32[4, 2], in the caller's memory, gradient of net.linear.weight\n",
        " 5: f32[4, 3], in the caller's memory, parameter net.linear.bias\n",
    ] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
    let json: Value = serde_json::from_slice(&run(&["info", "--json"], &[&file.0]).stdout).unwrap();
    let outputs = &json["files"][0]["methods"][0]["outputs"];
    assert_eq!(outputs[0]["training"], serde_json::json!({"role": "loss"}));
    assert!(outputs[1].get("training").is_none());
    assert_eq!(outputs[3]["training"], serde_json::json!({"role": "gradient", "parameter": "net.linear.bias"}));
    let table = text(&run(&["info", "--table"], &[&file.0]));
    assert!(table.contains("4, for training"), "{table}");
}

#[test]
fn every_printed_rule_and_reason_is_explained() {
    let known = text(&run(&["completions", "--words", "rules"], &[]));
    let known: Vec<&str> = known.lines().collect();
    let data = executorch_format_support::data();
    let mut found = 0;
    for arguments in [&["verify", "--jsonl", "-r"][..], &["verify", "--runtime", "all", "--jsonl", "-r"]] {
        for line in text(&run(arguments, &[&data])).lines() {
            let document: Value = serde_json::from_str(line).unwrap();
            let answers = document["releases"].as_array().into_iter().flatten();
            let answers =
                answers.flat_map(|release| [release, &release["format"], &release["operators"], &release["delegates"]]);
            let reasons = answers.filter_map(|answer| answer["because"]["name"].as_str());
            let findings = document["findings"].as_array().into_iter().flatten();
            for name in findings.filter_map(|finding| finding["rule"].as_str()).chain(reasons) {
                assert!(known.contains(&name), "{name} in {}", document["file"]);
                found += 1;
            }
        }
    }
    assert!(found > 1000, "{found}");
    assert!(run(&["verify", "--explain", known[0]], &[]).status.success());
}

#[cfg(not(feature = "remote"))]
#[test]
fn a_build_without_stores_explains_how_to_get_them() {
    let hint = "`cargo install --path cli --features remote`";
    let catalog = run(&["catalog", "models", "--output", "tables"], &[]);
    let info = run(&["info", "s3://bucket/model.pte"], &[]);
    for output in [catalog, info] {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains(hint), "{told}");
    }
    assert!(text(&run(&["info", "-h"], &[])).contains("URLs need a build"));
}
