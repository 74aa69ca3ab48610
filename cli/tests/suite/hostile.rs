//! Hostile files: limits on memory and time, and on the text that reaches other tools.

use crate::cli::{TempFile, run, text};
use executorch_format::{NewEntry, Ptd, PtdOptions};
use executorch_format_support::fixtures::fixture;

#[test]
fn invalid_operator_names_do_not_reach_a_build() {
    let file = fixture("attacks/cmake.pte");
    let path = file.path.to_str().unwrap();
    for arguments in [&["ops", "--yaml", path][..], &["to-c", path, "--operators", "--name", "model"]] {
        let output = run(arguments, &[]);
        let (shown, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(
            error.contains("aten::relu.out;OPS_SCHEMA_YAML;/tmp/evil.yaml$ENV{HOME} cannot be registered"),
            "{error}"
        );
        assert!(!shown.contains("evil"), "{shown}");
    }
    // Commands that only show the name succeed.
    assert_eq!(run(&["ops", path], &[]).status.code(), Some(0));
}

#[test]
fn noncharacters_are_never_printed() {
    let file = fixture("attacks/fffe.pte");
    let path = file.path.to_str().unwrap();
    for arguments in [
        &["info", path][..],
        &["dump", path],
        &["ops", path],
        &["ops", "--json", path],
        &["disasm", path],
        &["graph", "--svg", path],
        &["graph", "--dot", path],
        &["memory", "--svg", path],
        &["verify", path],
    ] {
        let output = run(arguments, &[]);
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(shown.contains("fffe") && !shown.contains('\u{fffe}'), "{arguments:?}: {shown}");
    }
    let error = text(&run(&["ops", "--yaml", path], &[]).stderr);
    assert!(error.contains("aten::a\\u{fffe}b.out cannot be registered"), "{error}");
}

#[test]
fn a_name_of_any_length_is_shown_with_its_length() {
    let keys = [NewEntry::blob("k".repeat(70_000), &b"x"[..]), NewEntry::blob("short", &b"y"[..])];
    let bytes = Ptd::build(keys, &PtdOptions::default()).unwrap().image().unwrap().to_vec().unwrap();
    let file = TempFile::new("long.ptd", &bytes);
    for command in ["info", "list"] {
        let output = run(&[command, file.0.to_str().unwrap()], &[]);
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(shown.contains("kkk…(70000 bytes)") && shown.len() < 2000, "{} bytes", shown.len());
    }
}

/// Each of the delegates shares one payload, which is opened only as often as the limit for the file permits.
#[test]
fn thousands_of_errors_are_counted_on_stderr_and_listed_in_json() {
    use executorch_format_support::sharing::{Scale, files};

    let nodes = files(Scale { length: 30_000, count: 2_000 }).into_iter().find(|file| file.kind == "nodes").unwrap();
    let file = TempFile::new("errors.pte", &nodes.bytes);
    let path = file.0.to_str().unwrap();
    let shown = run(&["list", path], &[]);
    let error = text(&shown.stderr);
    let more = error.lines().last().and_then(|line| line.strip_suffix(" more errors not listed here")).unwrap();
    let more: usize = more.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!((shown.status.code(), error.lines().count()), (Some(1), 101), "{error}");
    let json: serde_json::Value = serde_json::from_slice(&run(&["list", "--json", path], &[]).stdout).unwrap();
    assert_eq!(json["files"][0]["errors"].as_array().unwrap().len(), 100 + more);
}

/// Runs every command within 64 MiB plus 32 times the file, on files in which many references share one target: all, or some of them
/// (see `step`).
#[cfg(target_os = "linux")]
#[test]
fn shared_data_takes_memory_and_time_only_once() {
    use executorch_format_support::fixtures::step;
    use executorch_format_support::sharing::{Scale, files};

    // 240 MB if something were copied for each reference.
    let scale = Scale { length: 120_000, count: 2_000 };
    let failed = std::thread::scope(|scope| {
        let pairs = files(scale).into_iter().zip(files(scale.smaller())).step_by(step());
        let runs: Vec<_> = pairs.map(|(file, other)| scope.spawn(move || beyond_limits(&file, &other))).collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect::<Vec<String>>()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Every command is measured, here and by the example `growth`, or has a reason not to be.
#[test]
fn every_command_is_run_on_files_with_shared_data() {
    use executorch_format_support::sharing::{OTHER_COMMANDS, commands, different_commands};
    use std::collections::BTreeSet;

    let help = text(&run(&["--help"], &[]).stdout);
    let entries = help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with([' ', '-']));
    let mut there: BTreeSet<&str> = entries.filter_map(|line| line.split_once("  ").map(|(name, _)| name)).collect();
    there.extend(["completions", "man"]);
    let others: BTreeSet<&str> = OTHER_COMMANDS.iter().map(|(name, _)| *name).collect();
    let all = ["pte", "ptd"].into_iter().flat_map(|ending| commands(ending).iter().map(|command| command[0]));
    let different = ["pte", "ptd"].into_iter().flat_map(|ending| different_commands(ending)).map(|command| command[0]);
    for listed in [all.collect::<BTreeSet<_>>(), different.collect()] {
        assert!(listed.is_disjoint(&others));
        assert_eq!(listed.union(&others).copied().collect::<BTreeSet<_>>(), there);
    }
}

/// Runs every command within 64 MiB plus 32 times the file, code included, on programs of many small parts. What they print may be as long
/// as its text needs, but files that they write have the same limit.
#[cfg(target_os = "linux")]
#[test]
fn many_small_instructions_and_tensors_take_memory_in_proportion() {
    use executorch_format_support::fixtures::step;
    use executorch_format_support::sharing::{Scale, Shared, code_files, commands};

    let scale = Scale { length: 10_000, count: 1 };
    let failed = std::thread::scope(|scope| {
        let pairs = code_files(scale).into_iter().zip(code_files(scale.smaller())).step_by(step());
        let run =
            |(file, other): (Shared, Shared)| beyond_promise(&file, &other, commands(file.ending).iter().copied());
        let runs: Vec<_> = pairs.map(|pair| scope.spawn(move || run(pair))).collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect::<Vec<String>>()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // So many empty instructions that the 64 MiB hardly count.
    let scale = Scale { length: 100_000, count: 1 };
    let [empty, other] = [scale, scale.smaller()].map(|scale| code_files(scale).swap_remove(0));
    let costly = ["info", "memory", "report", "replace", "diff"];
    let costly = commands(empty.ending)
        .iter()
        .copied()
        .filter(|command| costly.contains(&command[0]) && !command.contains(&"--svg"));
    let failed = beyond_promise(&empty, &other, costly);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Returns the commands that take or write more than 64 MiB plus 32 times a file. Memory is read each millisecond.
#[cfg(target_os = "linux")]
fn beyond_promise<'c>(
    file: &executorch_format_support::sharing::Shared,
    other: &executorch_format_support::sharing::Shared,
    commands: impl Iterator<Item = &'c [&'c str]>,
) -> Vec<String> {
    use crate::cli::pte;
    use executorch_format_support::sharing::arguments;
    use std::process::Stdio;

    let (kind, mut failed) = (file.kind, Vec::new());
    let input = TempFile::new(&format!("code-{kind}.pte"), &file.bytes);
    let other = TempFile::new(&format!("code-other-{kind}.pte"), &other.bytes);
    let out = input.0.with_extension("out");
    let bytes = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    for command in commands {
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir(&out).unwrap();
        let read = bytes(&input.0) + if command.contains(&"{other}") { bytes(&other.0) } else { 0 };
        let most = (64 << 10) + 32 * read / 1024;
        let arguments = arguments(command, [&input.0, &other.0], &out);
        let mut child = pte().args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        let code = loop {
            let now = std::fs::read_to_string(&status).unwrap_or_default();
            let line = now.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = peak.max(line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0));
            match child.try_wait().unwrap() {
                Some(code) => break code,
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        };
        let written = std::fs::read_dir(&out).unwrap().map(|entry| bytes(&entry.unwrap().path())).sum::<u64>() / 1024;
        if !matches!(code.code(), Some(0..=2)) || peak > most || written > most {
            failed.push(format!("{kind}: {command:?}: {code}, {peak} KiB, {written} KiB written, of {most}"));
        }
    }
    let _ = std::fs::remove_dir_all(&out);
    failed
}

/// Returns the commands that exceed the limit of memory or time for a file.
#[cfg(target_os = "linux")]
fn beyond_limits(
    file: &executorch_format_support::sharing::Shared,
    other: &executorch_format_support::sharing::Shared,
) -> Vec<String> {
    use crate::cli::pte;
    use executorch_format_support::sharing::{TARGET, arguments, commands};
    use std::process::{Command, Stdio};

    /// KiB that a process of an unoptimized build may reserve before it reads a file: code, and stacks of threads.
    const BEFORE: u64 = 96 << 10;
    let (kind, mut failed) = (file.kind, Vec::new());
    let input = TempFile::new(&format!("sharing-{kind}.{}", file.ending), &file.bytes);
    let other = TempFile::new(&format!("other-{kind}.{}", file.ending), &other.bytes);
    let memory = BEFORE + (64 << 10) + 32 * (file.bytes.len() as u64).div_ceil(1024);
    for command in commands(file.ending) {
        let out = std::env::temp_dir().join(format!("sharing-out-{kind}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join(TARGET.0), TARGET.1).unwrap();
        let limits = format!("ulimit -v {memory}; ulimit -t 60; exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &limits])
            .arg(pte().get_program())
            .args(arguments(command, [&input.0, &other.0], &out))
            .stdout(Stdio::null())
            .output()
            .unwrap();
        // Codes 0 to 2: the command succeeded, found faults, or refused the file. Wrong usage is a fault of this test.
        let usage = String::from_utf8_lossy(&output.stderr).contains("Usage: pte");
        if usage || !matches!(output.status.code(), Some(0..=2)) {
            failed.push(format!("{kind}: {command:?}: {}", output.status));
        }
        let _ = std::fs::remove_dir_all(&out);
    }
    failed
}

/// Returns a program that calls an operator of this name once.
fn calling(operator: String) -> Vec<u8> {
    use executorch_format::schema::program::{ExecutionPlan, Instruction, Operator, Program, Tensor};
    use executorch_format::{DataCollector, PteOptions, schema::ScalarType};

    let value = Tensor::new(ScalarType::FLOAT, vec![1]).with_planned(1, 0).into();
    let call = Instruction::kernel_call(0, vec![0, 0]);
    let method = ExecutionPlan::new("forward", vec![value], vec![Operator::new(operator, "out")], vec![call], 64);
    let program = Program { execution_plan: Some(vec![method]), ..Program::default() };
    DataCollector::new().finish(program, &PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap()
}

#[test]
fn a_name_too_long_for_other_readers_is_written_in_a_readable_form() {
    let name = format!("aten::{}", "x".repeat(17_000));
    let file = TempFile::new("long-operator.pte", &calling(name.clone()));
    let yaml = text(&run(&["ops", "--yaml", file.0.to_str().unwrap()], &[]).stdout);
    let read: yaml_serde::Value = yaml_serde::from_str(&yaml).unwrap();
    let key = format!("{name}.out");
    for map in ["operators", "et_kernel_metadata"] {
        assert!(read.get(map).unwrap().get(&key).is_some(), "{map}");
    }
    let dot = text(&run(&["graph", "--dot", file.0.to_str().unwrap()], &[]).stdout);
    assert!(dot.contains("label=\"aten::xxx") && dot.lines().all(|line| line.len() < 1000), "{} bytes", dot.len());
}

#[test]
fn a_target_of_nested_brackets_is_refused_before_it_is_scanned() {
    let target = TempFile::new("nested.yaml", "[".repeat(200_000).as_bytes());
    let model = fixture("1.5.1/linear/linear.pte");
    let output = run(&["fit", "--target", target.0.to_str().unwrap(), model.path.to_str().unwrap()], &[]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("more than 128 brackets are open in line 1: expected lists of names"), "{error}");
}

/// An endless device is read up to the maximum size of such a file.
#[cfg(unix)]
#[test]
fn files_with_settings_are_read_up_to_a_limit() {
    let model = fixture("1.5.1/linear/linear.pte");
    let model = model.path.to_str().unwrap();
    for arguments in [&["verify", "--policy", "/dev/zero", model][..], &["fit", "--target", "/dev/zero", model]] {
        let output = run(arguments, &[]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains("more than 16777216 bytes"), "{error}");
    }
}

/// `source.size` of a tree is up to its author.
#[test]
fn a_stated_size_is_not_believed() {
    let folder = TempFile::new("build.json", b"{}");
    let model = fixture("1.5.1/add_mul/add_mul.pte");
    let blobs = folder.0.with_extension("blobs");
    let _ = std::fs::remove_dir_all(&blobs);
    let dump = run(&["dump", model.path.to_str().unwrap(), "--blobs", blobs.to_str().unwrap()], &[]);
    let json = text(&dump.stdout);
    let start = json.find("\"size\": ").unwrap() + 8;
    let end = start + json[start..].find(',').unwrap();
    let endless = format!("{}4611686018427387904{}", &json[..start], &json[end..]);
    std::fs::write(&folder.0, endless).unwrap();
    let out = blobs.join("out.pte");
    let arguments =
        ["build", folder.0.to_str().unwrap(), "--blobs", blobs.to_str().unwrap(), "-o", out.to_str().unwrap()];
    let output = run(&arguments, &[]);
    let error = text(&output.stderr);
    let _ = std::fs::remove_dir_all(&blobs);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("source.size") && error.contains("64 MiB plus 32 times"), "{error}");
}

/// Each of the overlapping segments would be written whole.
#[test]
fn overlapping_segments_are_not_written_one_by_one_unless_asked_for() {
    use executorch_format_support::sharing::{Scale, files, overlapping_tensors};

    let scale = Scale { length: 400_000, count: 400 };
    let of_kind = |kind: &str| files(scale).into_iter().find(|file| file.kind == kind).unwrap();
    let file = TempFile::new("overlap.ptd", &of_kind("overlap").bytes);
    let path = file.0.to_str().unwrap();
    let tensors = TempFile::new("overlap-tensors.ptd", &overlapping_tensors(scale));
    let program = TempFile::new("overlap.pte", &of_kind("ranges").bytes);
    let out = file.0.with_extension("out");
    let _ = std::fs::remove_dir_all(&out);
    let to = |name: &str| out.join(name).to_str().unwrap().to_owned();
    let command = |words: &[&str], name: &str| -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).chain([to(name)]).collect()
    };
    let commands = [
        command(&["ptd", "split", path, "--max-size", "4", "-o"], "split.ptd"),
        command(&["ptd", "merge", path, path, "-o"], "merged.ptd"),
        command(&["dump", path, "--blobs"], "blobs"),
        command(&["convert", tensors.0.to_str().unwrap()], "tensors.safetensors"),
        [
            command(&["externalize", program.0.to_str().unwrap(), "--all", "--data"], "all.ptd"),
            command(&["-o"], "without.pte"),
        ]
        .concat(),
    ];
    for command in &commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = run(&words, &[]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        // A program is never written with such segments.
        assert!(error.contains("--any-size") || error.contains("the segments overlap"), "{words:?}: {error}");
        assert!(!out.exists() || std::fs::read_dir(&out).unwrap().next().is_none(), "{words:?}");
    }
    let mut words: Vec<&str> = commands[1].iter().map(String::as_str).collect();
    words.push("--any-size");
    let output = run(&words, &[]);
    let _ = std::fs::remove_dir_all(&out);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
