//! Limits and folders of `pte diff`.

use crate::cli::{TempFile, pte, slashes};
use executorch_format::Model;
use executorch_format::inspect::{DiffLimits, DiffOptions, Side, diff};
use executorch_format::schema::program::KernelTypes;
use executorch_format_support::fixtures::fixture;
use serde_json::Value;

#[test]
fn limits_come_before_many_differences_which_are_counted() {
    let [before, after] = ["bench/llama6_external.pte", "1.5.1/linear/linear.pte"].map(|name| fixture(name).path);
    let told = |more: &[&str]| {
        let output =
            pte().arg("diff").args([&before, &after]).args(["--fail-on", "operators=0"]).args(more).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let brief = told(&[]);
    assert!(brief.lines().nth(2).unwrap().starts_with("over a limit: operators: "), "{brief}");
    assert!(brief.lines().count() < 40 && brief.ends_with("differences (-v lists each)\n"), "{brief}");
    assert!(told(&["-v"]).lines().count() > 100);
}

#[test]
fn limits_decide_the_exit_code() {
    let file = |name: &str| fixture(&format!("1.5.1/{name}/{name}.pte")).path;
    let told = |arguments: &[&str], one: &str, other: &str| {
        let output = pte().arg("diff").args([file(one), file(other)]).args(arguments).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    // From 1440 bytes to 1716; two more operators, different constants.
    for (limit, code, words) in [
        ("size=20%", 0, ""),
        ("memory=1KiB", 0, ""),
        ("operators=2", 0, ""),
        ("any", 1, "over a limit: any: "),
        (
            "operators=0",
            1,
            "over a limit: operators: 2 new: aten::addmm.out, aten::permute_copy.out, expected at most 0",
        ),
        ("max-abs=1e9", 1, "over a limit: max-abs: "),
    ] {
        let (found, told) = told(&["--fail-on", limit], "add_mul", "linear");
        assert!(
            found == code && told.contains(words) && told.contains("over a limit") == (code == 1),
            "{limit}: {told}"
        );
    }
    let (code, text) = told(&["--fail-on", "size=10%,memory"], "linear", "linear_xnnpack");
    assert!(code == 1 && text.contains("over a limit: size: "), "{text}");
    assert_eq!(told(&["--fail-on", "size=500%"], "linear", "linear_xnnpack").0, 0);
    assert_eq!(told(&["--fail-on", "any"], "linear", "linear").0, 0);
    let (code, text) = told(&["--fail-on", "speed"], "linear", "linear");
    assert!(code == 2 && text.contains("no limit \"speed\""), "{text}");
    // The same limits in a file, which verify accepts too.
    let policy = TempFile::new("gate.toml", b"deny = [\"warnings\"]\n[diff]\noperators = 0\nsize = \"1%\"\n");
    let policy = policy.0.to_str().unwrap();
    let (code, text) = told(&["--policy", policy, "--json"], "add_mul", "linear");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(code == 1 && document["exceeded"][1]["limit"] == "operators", "{text}");
    assert!(pte().args(["verify", "--policy", policy]).arg(file("linear")).status().unwrap().success());
    let bad = TempFile::new("bad-gate.toml", b"[diff]\noperators = \"many\"\n");
    let (code, text) = told(&["--policy", bad.0.to_str().unwrap()], "add_mul", "linear");
    assert!(code == 2 && text.contains("diff.operators: expected a number"), "{text}");
}

#[test]
fn weights_with_distances_above_a_limit_fail() {
    let file = fixture("1.5.1/linear/linear.pte");
    let apart = |change: &dyn Fn(f32) -> f32, most: f64| {
        let before = Model::parse(file.bytes()).unwrap();
        let Model::Pte(pte) = &before else { unreachable!() };
        let (method, value) = (
            "forward",
            pte.methods()[0]
                .values()
                .iter()
                .position(|value| matches!(&value.val, KernelTypes::Tensor(tensor) if tensor.data_buffer_idx > 0))
                .unwrap(),
        );
        let tensor = pte.method(method).unwrap().tensor(value).unwrap();
        let old = pte.tensor_view(tensor).unwrap().unwrap().to_vec::<f32>().unwrap();
        let new: Vec<u8> = old
            .iter()
            .enumerate()
            .flat_map(|(at, old)| if at == 0 { change(*old) } else { *old }.to_le_bytes())
            .collect();
        let mut after = pte.clone();
        let selector = executorch_format::edit::Selector::Value { method, value };
        after.replace(&selector, &executorch_format::edit::NewData::bytes("new", &new)).unwrap();
        let after = after.image().unwrap().to_vec().unwrap();
        let after = Model::parse(&after).unwrap();
        let options = DiffOptions::default().with_tensors();
        let diff = diff(&Side::new(&before, &[]), &Side::new(&after, &[]), &options);
        let limits = DiffLimits::default().with_max_abs(Some(most));
        limits.exceeded(&before, &after, &diff).into_iter().map(|excess| excess.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(apart(&|old| old + 0.5, 0.75), Vec::<String>::new());
    let told = apart(&|old| old + 0.5, 0.25);
    assert!(told.len() == 1 && told[0].contains("apart, expected at most 2.5e-1"), "{told:?}");
    let told = apart(&|_| f32::NAN, 1e9);
    assert!(told.len() == 1 && told[0].contains("infinite or NaN"), "{told:?}");
}

#[test]
fn files_of_two_folders_are_compared_by_name() {
    let root = std::env::temp_dir().join(format!("executorch-format-{}-diff-folders", std::process::id()));
    let copy = |from: &str, to: &str| {
        let to = root.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(fixture(from).path, to).unwrap();
    };
    for side in ["a", "b"] {
        copy("1.5.1/add/add.pte", &format!("{side}/same.pte"));
        copy("1.5.1/add_mul_external/add_mul_external.pte", &format!("{side}/in/x.pte"));
        copy("1.5.1/add_mul_external/_default_external_constant.ptd", &format!("{side}/in/x.ptd"));
    }
    let run = |arguments: &[&str]| {
        let output = pte().current_dir(&root).args(["diff", "a", "b"]).args(arguments).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, told, _) = run(&["-r"]);
    // The data beside a program is used: no differences are missed.
    assert_eq!((code, &*told), (0, "3 the same, 0 different, 0 in one folder only\n"));
    assert!(run(&[]).2.contains("--recursive"));
    copy("1.5.1/linear/linear.pte", "b/same.pte");
    copy("1.5.1/linear/linear.pte", "a/gone.pte");
    let (code, told, _) = run(&["-r", "--stat"]);
    assert_eq!(code, 1);
    assert!(told.contains("- gone.pte: only in a\n") && slashes(&told).contains("+++ b/same.pte"), "{told}");
    assert!(told.ends_with("2 the same, 1 different, 1 in one folder only\n"), "{told}");
    assert_eq!(run(&["-r", "--fail-on", "size=1MiB"]).0, 0);
    std::fs::write(root.join("b/in/x.pte"), b"no model").unwrap();
    let (code, told, errors) = run(&["-r", "--jsonl"]);
    assert!(code == 2 && errors.contains("x.pte"), "{errors}");
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let same: Vec<_> =
        lines.iter().map(|line| (slashes(line["file"].as_str().unwrap()), line["same"].as_bool())).collect();
    let expected = [("gone.pte", None), ("in/x.ptd", Some(true)), ("in/x.pte", None), ("same.pte", Some(false))];
    assert_eq!(same, expected.map(|(file, same)| (file.to_owned(), same)));
    assert!(lines[2]["errors"][0].is_string() && lines[0]["after"].is_null());
    let _ = std::fs::remove_dir_all(&root);
}

#[cfg(unix)]
#[test]
fn closing_the_pipe_early_keeps_the_exit_code() {
    use std::process::Stdio;
    let file = |name: &str| fixture(&format!("1.5.1/{name}/{name}.pte")).path;
    for (one, other, code) in [("add", "multi_method", 1), ("add", "add", 0)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            pte().arg("diff").args([file(one), file(other)]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(code), &b""[..]), "{one} {other}");
    }
}
