//! The behaviour of the command in scripts, in pipes, and with common mistakes.

use crate::cli::{TempFile, pte, run, slashes, text};
use executorch_format::{NewEntry, Ptd, PtdOptions};
use executorch_format_support::fixtures::{fixture, list};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

/// Runs the command with bytes on its standard input.
fn piped(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut child =
        pte().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // The command may end before it has read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn document(output: &Output) -> Value {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["format"], 1);
    document
}

/// Returns a `.ptd` with deceptive keys, and the keys.
fn deceptive() -> (Vec<u8>, [&'static str; 4]) {
    let keys = ["a\u{1b}[31m", "b\u{202e}c\u{200b}", "back\\slash", "fо"];
    let entries = keys.iter().chain(&["fo"]).map(|key| NewEntry::blob(*key, &b"x"[..]));
    (Ptd::build(entries, &PtdOptions::default()).unwrap().image().unwrap().to_vec().unwrap(), keys)
}

#[test]
fn deceptive_names_are_escaped_in_text_exact_in_json_and_reported() {
    let (bytes, keys) = deceptive();
    // The file has a deceptive name too; Windows allows no control characters in names.
    let file = TempFile::new(if cfg!(windows) { "esc\u{202e}.ptd" } else { "esc\u{1b}\n.ptd" }, &bytes);
    for arguments in [&["info"][..], &["list"], &["verify"], &["dump"], &["info", "--json"]] {
        let output = run(arguments, &[&file.0]);
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(
            !shown.chars().any(|character| character != '\n' && executorch_format::text::is_deceptive(character)),
            "{shown}"
        );
    }
    let listed = text(&run(&["list"], &[&file.0]).stdout);
    assert!(listed.contains("back\\\\slash") && listed.contains("a\\u{1b}[31m"), "{listed}");
    let info = document(&run(&["info", "--json"], &[&file.0]));
    let found: Vec<_> = list(&info["files"][0], "keys").iter().map(|key| key["key"].as_str().unwrap()).collect();
    assert!(keys.iter().all(|key| found.contains(key)), "{found:?}");
    let verdict = document(&run(&["verify", "--json"], &[&file.0]));
    let findings = list(&verdict["files"][0], "findings");
    let of = |rule: &str| findings.iter().filter(|finding| finding["rule"] == rule).count();
    assert_eq!((of("name-deceptive"), of("name-alike")), (2, 1), "{findings:?}");
    assert_eq!(verdict["files"][0]["ok"], true);
}

#[test]
fn a_minus_is_standard_input_and_output() {
    let good = fixture("1.5.1/add_mul/add_mul.pte");
    let output = piped(&["rewrite", "-", "-"], good.bytes());
    assert!(output.status.success() && output.stdout == good.bytes(), "{}", text(&output.stderr));
    // Also by an edit that changes nothing.
    let output = piped(&["dedup", "-", "-o", "-"], good.bytes());
    assert!(output.status.success() && output.stdout == good.bytes(), "{}", text(&output.stderr));
    assert!(text(&piped(&["info", "-"], good.bytes()).stdout).starts_with("standard input: ExecuTorch program"));
    assert_eq!(piped(&["verify", "-q", "-"], good.bytes()).stdout, b"");
    // With the file on standard output, no message is printed there. Windows has no such device.
    if cfg!(unix) {
        let output = run(&["rewrite"], &[&good.path, Path::new("/dev/stdout")]);
        assert!(output.stdout == good.bytes() && text(&output.stderr).contains("1440 bytes"));
    }
}

#[cfg(unix)]
#[test]
fn an_endless_device_is_refused_immediately() {
    let output = run(&["verify"], &[Path::new("/dev/zero")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("identifier"), "{}", text(&output.stdout));
}

#[test]
fn folders_are_searched_with_recursive() {
    let folder = fixture("1.5.1/add_mul_external/add_mul_external.pte").path;
    let folder = folder.parent().unwrap();
    let refused = run(&["info"], &[folder]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--recursive"));
    let verdict = document(&run(&["verify", "-r", "--json"], &[folder]));
    let files = list(&verdict, "files");
    assert!(files.len() > 1 && files.iter().all(|file| file["findings"] == json!([])), "{files:?}");
    let dumps = text(&run(&["dump", "-r", "--jsonl"], &[folder]).stdout);
    assert_eq!(dumps.lines().count(), files.len());
}

/// Runs a command on two hundred files, with programs of each kind of verdict in turn.
#[cfg(unix)]
fn many(command: &str) -> Output {
    let [good, other] = ["add_mul", "linear"].map(|name| fixture(&format!("1.5.1/{name}/{name}.pte")).path);
    let bad = TempFile::new("bad.pte", b"no model");
    let kinds = [good.as_path(), &bad.0, &other, Path::new("missing.pte")];
    let mut shell = std::process::Command::new("sh");
    // The limit on open files is lower than the number of files.
    shell.args(["-c", &format!("ulimit -n 64; exec \"$0\" {command} \"$@\" 2>&1")]).arg(pte().get_program());
    shell.args(kinds.iter().cycle().take(200)).output().unwrap()
}

#[cfg(unix)]
#[test]
fn many_files_are_reported_in_order_and_are_not_open_at_the_same_time() {
    for command in ["verify", "verify --runtime all", "fit --target portable-1.5"] {
        let output = many(command);
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{command}: {told}");
        assert!(!told.contains("open files"), "{command}: {told}");
        let told: Vec<&str> = told.lines().filter(|line| line.contains(".pte: ") || line.ends_with(".pte:")).collect();
        assert_eq!(told.len(), 200, "{command}: {told:?}");
        assert!(told.iter().zip(told.iter().skip(4)).all(|(line, next)| line == next), "{command}: {told:?}");
        for (line, name) in told.iter().zip(["add_mul.pte:", "bad.pte:", "linear.pte:", "missing.pte:"]) {
            assert!(line.contains(name), "{command}: {line}");
        }
    }
}

#[test]
fn a_command_that_fails_prints_json_if_requested() {
    let good = fixture("1.5.1/add/add.pte").path;
    let commands: &[&[&str]] = &[
        &["size", "--json"],
        &["memory", "--json"],
        &["ops", "--json"],
        &["disasm", "--json"],
        &["graph", "--json"],
        &["profile", "--json"],
        &["debug", "--json"],
        &["metadata", "--json"],
        &["strip", "--all", "--dry-run", "--json"],
        &["diff", "--json", good.to_str().unwrap()],
    ];
    for command in commands {
        let output = run(command, &[Path::new("missing.pte")]);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let errors = told.pointer("/files/0/errors").unwrap_or(&told["errors"]);
        assert!(told["format"] == 1 && errors[0].as_str().unwrap().contains("cannot be read"), "{command:?}: {told}");
    }
}

#[test]
fn programs_use_the_data_files_given_with_them() {
    let program = fixture("1.5.1/add_mul_external/add_mul_external.pte").path;
    let data = fixture("1.5.1/add_mul_external/_default_external_constant.ptd").path;
    let alone = text(&run(&["verify"], &[&program]).stdout);
    assert!(
        alone.contains("external-unchecked: no .ptd file was given, so the data of 2 external tensors")
            && alone.contains("--data")
    );
    assert!(!text(&run(&["verify"], &[&program, &data]).stdout).contains("external-unchecked"));
    let other = fixture("1.5.1/external_tied/_default_external_constant.ptd").path;
    assert_eq!(run(&["verify"], &[&other, &program]).status.code(), Some(1));
}

#[test]
fn every_file_is_in_the_json_including_bad_and_missing_ones() {
    let good = fixture("1.5.1/add/add.pte").path;
    let missing = Path::new("no such file");
    for subcommand in ["info", "list", "verify", "dump"] {
        let output = run(&[subcommand, "--json"], &[missing, &good]);
        assert_eq!(output.status.code(), Some(2), "{subcommand}");
        let document = document(&output);
        let files = list(&document, "files");
        assert_eq!(files.len(), 2, "{subcommand}");
        assert!(files[0]["errors"][0].as_str().unwrap().contains("cannot be read"), "{subcommand}");
        assert_eq!(files[1]["file"], json!(good), "{subcommand}");
    }
    let lines = text(&run(&["verify", "--jsonl"], &[missing, &good]).stdout);
    assert!(lines.lines().count() == 2 && lines.lines().all(|line| line.starts_with("{\"format\":1,")), "{lines}");
}

#[test]
fn a_policy_decides_which_findings_count() {
    let warned = fixture("1.5.1/add_mul_external/add_mul_external.pte").path;
    let code = |arguments: &[&str]| run(&[&["verify"], arguments].concat(), &[&warned]).status.code();
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--deny", "warnings"]), Some(1));
    assert_eq!(code(&["--deny", "external-unchecked"]), Some(1));
    assert_eq!(code(&["--deny", "warnings", "--allow", "external-unchecked"]), Some(0));
    for (word, near) in [
        ("warning", "did you mean \"warnings\""),
        ("traling-bytes", "did you mean \"trailing-bytes\""),
        ("zzzz", "there are: "),
    ] {
        let output = run(&["verify", "--deny", word], &[&warned]);
        let told = text(&output.stderr);
        let expected = format!("error: no rule \"{word}\", {near}");
        assert!(output.status.code() == Some(2) && told.starts_with(&expected), "{told}");
    }
    let policy = TempFile::new("policy.toml", b"level = \"strict\"\ndeny = [\"warnings\"]\n");
    let policy_path = policy.0.to_str().unwrap();
    assert_eq!(code(&["--policy", policy_path]), Some(1));
    assert_eq!(code(&["--policy", policy_path, "--level", "structure"]), Some(0));
    let bad = TempFile::new("bad.toml", b"levle = \"strict\"\n");
    let output = run(&["verify", "--policy", bad.0.to_str().unwrap()], &[&warned]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("levle"));
}

#[test]
fn sarif_has_each_finding_with_its_place() {
    let bad = fixture("malformed/CVE-2025-54951.pte").path;
    let output = run(&["verify", "--format", "sarif"], &[&bad, Path::new("no such file")]);
    assert_eq!(output.status.code(), Some(2));
    let sarif: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "tensor-rank");
    let location = &result["locations"][0];
    assert!(location["physicalLocation"]["region"]["byteOffset"].is_u64(), "{location}");
    let field = &location["logicalLocations"][0]["fullyQualifiedName"];
    assert_eq!(field, "execution_plan[0].values[0].val.Tensor.sizes");
    let rules = list(&run["tool"]["driver"], "rules");
    let rule = rules.iter().find(|rule| rule["id"] == "tensor-rank").unwrap();
    assert!(rule["help"]["markdown"].as_str().unwrap().contains("Published as CVE-2025-54951"), "{rule}");
    assert_eq!(list(&run["invocations"][0], "toolExecutionNotifications").len(), 1);
}

#[test]
fn a_rule_is_explained_by_its_page() {
    let told = text(&run(&["verify", "--explain", "tensor-rank"], &[]).stdout);
    assert!(told.starts_with("tensor-rank\n\nProtects from ") && told.contains("since 1.0"), "{told}");
    let refused = run(&["verify", "--explain", "tensor-rang"], &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("did you mean \"tensor-rank\""));
}

/// GitHub and pre-commit read these files, but no other test does: the commands in them must exist.
#[test]
fn commands_used_by_ci_systems_exist() {
    let read = |name: &str| std::fs::read_to_string(executorch_format_support::crate_root().join(name)).unwrap();
    let hooks: yaml_serde::Value = yaml_serde::from_str(&read(".pre-commit-hooks.yaml")).unwrap();
    for hook in hooks.as_sequence().unwrap() {
        let entry: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
        assert_eq!(entry[0], "pte");
        let good = fixture("1.5.1/add/add.pte").path;
        let bad = fixture("malformed/CVE-2025-54951.pte").path;
        let code = |file: &Path| run(&entry[1..], &[file]).status.code();
        assert_eq!((code(&good), code(&bad)), (Some(0), Some(1)));
    }
    let action: yaml_serde::Value = yaml_serde::from_str(&read("action.yml")).unwrap();
    let steps = action["runs"]["steps"].as_sequence().unwrap();
    let script =
        steps.iter().filter_map(|step| step["run"].as_str()).find(|script| script.contains("pte verify")).unwrap();
    // The action passes only options of the command, and uses each of its inputs.
    let help = text(&run(&["verify", "--help"], &[]).stdout);
    for option in ["--recursive", "--format", "--output", "--policy", "--quiet"] {
        assert!(script.contains(option) && help.contains(option), "{option}");
    }
    let whole = read("action.yml");
    for (input, _) in action["inputs"].as_mapping().unwrap() {
        let input = input.as_str().unwrap();
        assert!(whole.contains(&format!("inputs.{input}")), "{input}");
    }
}

#[test]
fn fit_lists_everything_that_a_device_lacks() {
    let model = fixture("1.5.1/add_mul/add_mul.pte").path;
    let check = |target: &str| {
        let target = TempFile::new("target.toml", target.as_bytes());
        run(&["fit", "--json", "--target", target.0.to_str().unwrap()], &[&model])
    };
    let enough = check(
        "arena = 1000\nmethod-allocator = 10000\nruntime = \"1.5\"\n[operators]\n'aten::add.out' = []\n'aten::mm.out' = ['FLOAT']\n",
    );
    assert_eq!(enough.status.code(), Some(0), "{}", text(&enough.stdout));
    let output = check("arena = 1\nlargest-file = 1000\n[operators]\n'aten::mm.out' = ['INT']\n");
    assert_eq!(output.status.code(), Some(1));
    let found = document(&output);
    let missing: Vec<_> =
        list(&found["files"][0], "missing").iter().map(|lack| lack["missing"].as_str().unwrap()).collect();
    assert_eq!(missing, ["file-size", "operator", "operator-type", "arena"]);
    assert_eq!(found["files"][0]["missing"][0]["needed"], 1440);
    assert_eq!(check("operators = 3").status.code(), Some(2));
    assert_eq!(check("runtime = \"new\"").status.code(), Some(2));
    let data = fixture("1.5.1/ptd_names/ptd_names.ptd").path;
    let target = TempFile::new("empty.toml", b"");
    let output = run(&["fit", "--target", target.0.to_str().unwrap()], &[&data]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn fit_and_ops_use_the_data_files_of_a_program() {
    let target = TempFile::new("target.toml", b"runtime = \"1.5\"\n");
    let target = target.0.to_str().unwrap();
    let program = fixture("1.5.1/add_mul_external/add_mul_external.pte").path;
    let data = fixture("1.5.1/add_mul_external/_default_external_constant.ptd").path;
    let folder = program.parent().unwrap();
    let code = |arguments: &[&str], files: &[&Path]| {
        let output = run(arguments, files);
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (bad, out, _) = code(&["fit", "--target", target], &[&program]);
    assert!(bad == 1 && out.contains("external data: the data of 2 tensors"), "{out}");
    for (options, files) in
        [(&["fit", "--target", target][..], &[&*program, &*data][..]), (&["fit", "-r", "--target", target], &[folder])]
    {
        let (good, out, errors) = code(options, files);
        assert!(good == 0 && out.contains("nothing is missing") && errors.is_empty(), "{out}{errors}");
    }
    let (good, out, errors) = code(&["ops", "-r"], &[folder]);
    assert!(good == 0 && out.contains("aten::mm.out") && errors.is_empty(), "{out}{errors}");
    // A file with only data is not a program.
    for options in [&["ops"][..], &["fit", "--target", target]] {
        let (bad, _, errors) = code(options, &[&data]);
        assert!(bad == 2 && errors.contains("a .ptd file, which has no program"), "{errors}");
    }
}

#[test]
fn a_target_with_the_needs_of_a_model_fits_and_a_smaller_one_does_not() {
    let out = std::env::temp_dir().join(format!("executorch-format-{}-init.toml", std::process::id()));
    let target = out.to_str().unwrap();
    let init = |files: &[&Path]| {
        let output = run(&["fit", "--init", "-o", target], files);
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::read_to_string(&out).unwrap()
    };
    let check = |file: &Path| {
        let output = run(&["fit", "--target", target], &[file]);
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    };
    let models = executorch_format_support::fixtures::with_extension("pte");
    let (mut tried, mut refused) = (0, 0);
    for model in models.iter().step_by(7) {
        if !run(&["verify", "-q", "--level", "runtime"], &[&model.path]).status.success() {
            continue;
        }
        let made = init(&[&model.path]);
        // A model that no known release loads gets no runtime.
        refused += usize::from(made.contains("# runtime ="));
        let (code, told) = check(&model.path);
        assert!(code == 0 || told.contains("external data"), "{}: {told}{made}", model.path.display());
        tried += 1;
    }
    assert!(tried > 10 && refused < tried, "{tried} {refused}");
    let ethos_u = fixture("payloads/other/ethosu.pte").path;
    let made = init(&[&ethos_u]);
    assert!(
        made.contains("accelerator = \"ethos-u55-128\"") && made.contains("backends = [\"EthosUBackend\"]"),
        "{made}"
    );
    let less = made.replace("u55-128\"", "u55-256\"").replace("scratch = ", "scratch = 0 #");
    std::fs::write(&out, less).unwrap();
    let (code, told) = check(&ethos_u);
    assert!(
        code == 1 && told.contains("was compiled for \"ethos-u55-128\", and the device has \"ethos-u55-256\""),
        "{told}"
    );
    assert!(told.contains("scratch memory of delegate 0: "), "{told}");
    let _ = std::fs::remove_file(&out);
}

#[test]
fn runtimes_are_targets_by_name() {
    let add = fixture("1.5.1/add/add.pte").path;
    let delegated = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte").path;
    let check = |target: &str, file: &Path| {
        let output = run(&["fit", "--target", target], &[file]);
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    };
    assert_eq!(check("portable-1.5", &add).0, 0);
    assert_eq!(check("xnnpack-1.5", &delegated).0, 0);
    assert_eq!(check("python-1.5", &delegated).0, 0);
    let (code, told) = check("portable-1.5", &delegated);
    assert!(code == 1 && told.contains("no backend \"XnnpackBackend\""), "{told}");
    let (code, told) = check("portable-0.8", &add);
    assert!(code == 2 && told.contains("is not a release"), "{told}");
    let (code, told) = check("portible-1.0", &add);
    assert!(code == 2 && told.contains("did you mean \"portable-1.0\""), "{told}");
    // A file with that name takes precedence, and a path is never a runtime.
    let (code, told) = check("./portable-x", &add);
    assert!(code == 2 && told.contains("cannot be read"), "{told}");
}

#[test]
fn settings_of_delegates_are_shown_as_text() {
    let told = text(&run(&["info"], &[&fixture("payloads/other/ethosu.pte").path]).stdout);
    assert!(told.contains("compile_flags = --accelerator-config=ethos-u55-128 --config=Arm/vela.ini"), "{told}");
}

#[test]
fn fit_checks_the_program_in_a_bundle() {
    let target = TempFile::new("target.toml", b"method-allocator = 1\n");
    let bundle = fixture("payloads/bundle_scalars.bpte").path;
    let output = run(&["fit", "--json", "--target", target.0.to_str().unwrap()], &[&bundle]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(document(&output)["files"][0]["missing"][0]["missing"], "method-allocator");
}

#[test]
fn bytes_after_the_last_segment_are_not_dropped_silently() {
    let mut bytes = fixture("1.5.1/add_mul/add_mul.pte").bytes().to_vec();
    bytes.extend_from_slice(b"behind");
    let (file, out) = (TempFile::new("trailing.pte", &bytes), TempFile::new("out.pte", b""));
    let refused = run(&["rewrite", "--relayout"], &[&file.0, &out.0]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("6 trailing bytes"));
    assert_eq!(std::fs::read(&out.0).unwrap(), b"");
    assert!(run(&["rewrite"], &[&file.0, &out.0]).status.success());
    assert_eq!(std::fs::read(&out.0).unwrap(), bytes);
    // An edit that moves data also refuses such bytes.
    for edit in [&["metadata", "--set", "get_n=5"][..], &["externalize", "--all", "--data", "trailing.ptd"]] {
        let output = run(&[edit, &["--dry-run"]].concat(), &[&file.0]);
        let told = text(&output.stderr);
        assert!(
            output.status.code() == Some(1)
                && told.contains("would be lost in a new layout: `pte rewrite --drop-trailing`"),
            "{told}"
        );
    }
    assert!(run(&["strip", "--padding", "--dry-run"], &[&file.0]).status.success());
    assert!(run(&["rewrite", "--relayout", "--drop-trailing"], &[&file.0, &out.0]).status.success());
    assert!(std::fs::read(&out.0).unwrap().len() < bytes.len());
}

#[test]
fn common_other_formats_are_recognized() {
    let cases: [(&[u8], &str); 9] = [
        (b"", "an empty file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"PK\x03\x04\x14\0\0\0\0\0\0\0", "zip archive"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip"),
        (b"<!DOCTYPE html>\n<html><head>", "a web page: the download failed"),
        (b"\n<html lang=\"en\">", "a web page: the download failed"),
        (b"<?xml version=\"1.0\"?><Error>", "an XML document"),
        (b"{\"error\": \"not found\"}", "JSON, such as a server's message"),
        (b"\x80\x02}q\0(X\x01\0\0\0", "save its weights as safetensors"),
    ];
    for (bytes, words) in cases {
        let told = text(&run(&["info"], &[&TempFile::new("foreign.pte", bytes).0]).stderr);
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn faults_are_reported_once() {
    let good = fixture("1.5.1/add_mul/add_mul.pte");
    let cut = TempFile::new("cut.pte", &good.bytes()[..good.bytes().len() - 1]);
    let told = text(&run(&["verify"], &[&cut.0]).stdout);
    assert!(
        told.contains("error: truncated: the segment data should end at byte 1440") && told.contains("1 byte missing"),
        "{told}"
    );
    // A fault in the options is not a fault of the input.
    let output = run(&["rewrite", "--header-length", "24"], &[&good.path, &good.path.join("out.pte")]);
    let told = slashes(&text(&output.stderr));
    assert!(
        told.contains("add_mul.pte/out.pte: cannot be written: ")
            && told.contains("add_mul.pte is not a directory")
            && told.lines().count() == 1,
        "{told}"
    );
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&run(&["completions", shell], &[]).stdout);
        assert!(script.contains("verify") && script.contains("recursive"), "{shell}");
    }
    assert!(text(&run(&["man"], &[]).stdout).contains(".TH pte 1"));
    assert!(text(&run(&["man", "verify"], &[]).stdout).contains("\\-\\-policy"));
    for page in [&["man", "ptd", "create"][..], &["man", "ptd-create"], &["man", "pte-ptd-create"]] {
        assert!(text(&run(page, &[]).stdout).contains(".TH pte-ptd-create 1"), "{page:?}");
    }
    let refused = run(&["man", "verfy"], &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("did you mean \"verify\""));
    let refused = run(&["help", "verfy"], &[]);
    assert!(
        refused.status.code() == Some(2) && text(&refused.stderr).contains("'verify'"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn output_goes_to_the_given_path_and_folders_are_created() {
    let folder = std::env::temp_dir().join(format!("executorch-format-{}-outputs", std::process::id()));
    let model = fixture("1.5.1/linear/linear.pte").path;
    let model = model.to_str().unwrap();
    let tree = folder.join("l/again.json");
    let tree = tree.to_str().unwrap();
    let is_edit = |command| ["rewrite", "strip"].contains(&command);
    for (arguments, output) in [
        (&["rewrite", model, "-o"][..], "a/copy.pte"),
        (&["convert", model, "-o"], "b/weights.safetensors"),
        (&["memory", "--arenas", model, "-o"], "c/arenas.tsv"),
        (&["ops", "--yaml", model, "-o"], "d/operators.yaml"),
        (&["completions", "bash", "-o"], "e/pte.bash"),
        (&["graph", "--dot", model, "-o"], "f/graph.dot"),
        (&["strip", "--names", model, "-o"], "g/small.pte"),
        (&["report", model, "-o"], "h/page.html"),
        (&["extract", model, "-o"], "i/blobs"),
        (&["to-c", model, "-o"], "j/firmware"),
        (&["dump", model, "-o"], "l/tree.json"),
        (&["dump", model, "-o", tree, "--blobs"], "m/blobs"),
        (&["man", "-o"], "k/man1"),
    ] {
        let path = folder.join(output);
        let output = pte().args(arguments).arg(&path).output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty() | is_edit(arguments[0]), "{arguments:?}");
        let made = path.metadata().unwrap();
        assert!(made.is_dir() || made.len() > 0, "{arguments:?}");
    }
    let copied = std::fs::read(folder.join("a/copy.pte")).unwrap();
    assert_eq!(copied, fixture("1.5.1/linear/linear.pte").bytes());
    for both in [&["rewrite", model, "x", "-o", "y"][..], &["rewrite", model], &["ops", model, "-o", "y"]] {
        assert_eq!(run(both, &[]).status.code(), Some(2), "{both:?}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn fields_in_the_examples_of_dump_exist() {
    let model = fixture("1.5.1/multi_method/multi_method.pte").path;
    let help = text(&run(&["dump", "--help"], &[]).stdout);
    assert!(
        help.contains("jq '.execution_plan[].name'") && help.contains("[.file, .tree.execution_plan[].name]"),
        "{help}"
    );
    let names = |tree: &Value| list(tree, "execution_plan").iter().map(|plan| plan["name"].clone()).collect::<Vec<_>>();
    let tree: Value = serde_json::from_slice(&run(&["dump"], &[&model]).stdout).unwrap();
    let line: Value = serde_json::from_slice(&run(&["dump", "--jsonl"], &[&model]).stdout).unwrap();
    assert_eq!(names(&tree)[..4], ["decode", "encode", "forward", "get_int"]);
    assert_eq!((names(&line["tree"]), &line["file"]), (names(&tree), &json!(model)));
}

#[test]
fn a_dry_conversion_lists_its_output() {
    let (model, out) = (fixture("1.5.1/linear/linear.pte").path, Path::new("dry/w.safetensors"));
    let output = run(&["convert", "--dry-run"], &[&model, out]);
    let told = text(&output.stderr);
    assert!(output.status.success() && told.contains("w.safetensors: would have ") && !out.exists(), "{told}");
    let document = document(&run(&["convert", "--dry-run", "--json"], &[&model, out]));
    assert!(document["dry_run"] == true && document["outputs"][0]["size"].is_u64() && !out.exists(), "{document}");
}

#[test]
fn a_target_with_a_wrong_name_gets_a_suggestion() {
    let target = TempFile::new("typo.toml", b"backends = [\"XnpackBackend\"]\n[operators]\n'aten::ad.out' = []\n");
    let target = target.0.to_str().unwrap();
    let add = fixture("1.5.1/add/add.pte").path;
    let told = text(&run(&["fit", "--target", target], &[&add]).stdout);
    assert!(told.contains("no operator \"aten::add.out\" (1 call); the target has \"aten::ad.out\""), "{told}");
    let delegated = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte").path;
    let told = text(&run(&["fit", "--target", target], &[&delegated]).stdout);
    assert!(told.contains("the target has \"XnpackBackend\""), "{told}");
}

#[test]
fn help_has_groups_and_its_short_form_has_no_examples() {
    let help = text(&run(&["--help"], &[]).stdout);
    for group in ["Look:\n  info ", "Check:\n  verify ", "Change:\n  replace ", "Convert:\n  convert "] {
        assert!(help.contains(group), "{help}");
    }
    let (short, long) = (text(&run(&["size", "-h"], &[]).stdout), text(&run(&["size", "--help"], &[]).stdout));
    assert!(!short.contains("pte size old.pte new.pte") && long.contains("pte size old.pte new.pte"), "{short}");
}

#[test]
fn info_shows_the_program_of_a_truncated_file() {
    let whole = fixture("1.5.1/add_mul/add_mul.pte");
    let cut = TempFile::new("no-end.pte", &whole.bytes()[..whole.bytes().len() - 20]);
    let output = run(&["info"], &[&cut.0]);
    assert_eq!(output.status.code(), Some(1));
    let (shown, told) = (text(&output.stdout), text(&output.stderr));
    assert!(shown.contains("method forward") && shown.contains("no release: the file is truncated"), "{shown}");
    assert!(told.contains("20 bytes missing"), "{told}");
}
