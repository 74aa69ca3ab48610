//! Runs the command `pte`.

use executorch_format_support::data;
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each, list, sha256};
use executorch_format_support::flatc_json::differences;
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn pte() -> Command {
    Command::new(env!("CARGO_BIN_EXE_pte"))
}

/// Runs the command with arguments and files.
pub fn run(arguments: &[&str], files: &[&Path]) -> Output {
    pte().args(arguments).args(files).output().unwrap()
}

/// Runs the command in a folder.
pub fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    pte().current_dir(folder).args(arguments).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json_of(arguments: &[&str], fixture: &Fixture) -> Result<Value, String> {
    let output = run(arguments, &[&fixture.path]);
    if !output.status.success() || !output.stderr.is_empty() {
        return Err(format!("  {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    if arguments[0] == "dump" {
        return Ok(document);
    }
    equal("format", document["format"].as_u64(), Some(1))?;
    Ok(document["files"][0].clone())
}

/// Returns output with slashes in paths, as on systems other than Windows.
pub fn slashes(output: &str) -> String {
    if cfg!(windows) { output.replace(r"\\", "/").replace('\\', "/") } else { output.to_owned() }
}

/// A temporary file of a test, removed at the end.
pub struct TempFile(pub PathBuf);

impl TempFile {
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        // Tests run in parallel, and some use the same name.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("executorch-format-{process}-{count}-{name}"));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A folder of a test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("executorch-format-{process}-folder{count}-{test}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Creates a folder with files of the test data, each with its name in the folder.
    pub fn with(test: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self::new(test);
        for (from, to) in files {
            std::fs::copy(data().join(from), folder.file(to)).unwrap();
        }
        folder
    }

    /// Returns a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn copy(&self, fixture: &Fixture, name: &str) -> PathBuf {
        std::fs::write(self.file(name), fixture.bytes()).unwrap();
        self.file(name)
    }

    /// Runs the command with the words of a line. Returns the exit code, and both outputs.
    pub fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = pte().current_dir(&self.0).args(line.split(' ')).output().unwrap();
        (status.code(), text(&stdout), text(&stderr))
    }

    /// Returns the names of the files in it, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn dump_prints_the_same_as_flatc() {
    let fixtures: Vec<_> = fixtures().into_iter().filter(|fixture| fixture.beside("json").is_some()).collect();
    for_each(&fixtures, |fixture| {
        let differences = differences(fixture, &json_of(&["dump"], fixture)?);
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    });
}

#[test]
fn dump_keeps_the_order_of_fields() {
    let output = run(&["dump"], &[&fixture("1.5.1/add/add.pte").path]);
    let text = String::from_utf8(output.stdout).unwrap();
    let positions = ["\"version\"", "\"execution_plan\"", "\"name\"", "\"values\"", "\"inputs\"", "\"segments\""]
        .map(|field| text.find(field).unwrap());
    assert!(positions.is_sorted(), "{positions:?}");
}

#[test]
fn list_finds_the_same_blobs_as_the_official_reader() {
    let fixtures: Vec<_> = fixtures().into_iter().filter(|fixture| fixture.oracle().is_some()).collect();
    for_each(&fixtures, |fixture| {
        let oracle = fixture.oracle().unwrap();
        let listing = json_of(&["list", "--json", "--hash"], fixture)?;
        equal("file size", listing["file_size"].as_u64(), Some(fixture.bytes().len() as u64))?;
        let mut expected = expected_blobs(&oracle);
        // The official reader does not read payloads.
        for blob in with_users(&listing).iter().filter(|blob| blob["kind"] != "delegate_constant") {
            let found = common_fields(blob);
            match expected.iter().position(|expected| *expected == found) {
                Some(at) => expected.remove(at),
                None => return Err(format!("  not expected: {found}")),
            };
        }
        if expected.is_empty() { Ok(()) } else { Err(format!("  missing: {}", json!(expected))) }
    });
}

/// Returns each blob once for each of its users, with the user's fields.
fn with_users(listing: &Value) -> Vec<Value> {
    let rows = list(listing, "blobs").iter().flat_map(|blob| {
        list(blob, "users").iter().map(|user| {
            let mut row = user.clone();
            for field in ["kind", "offset", "size", "sha256"] {
                if let Some(value) = blob.get(field).filter(|value| !value.is_null()) {
                    row[field] = value.clone();
                }
            }
            row
        })
    });
    rows.collect()
}

/// Returns the fields of a blob that the official reader also reports.
fn common_fields(blob: &Value) -> Value {
    let kept = ["method", "value", "key", "id", "location", "data_buffer_idx", "sizes", "dim_order"];
    let kept = kept.into_iter().chain(["segment_index", "offset", "size", "sha256", "kind"]);
    kept.filter_map(|field| Some((field.to_owned(), blob.get(field)?.clone())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Returns the blobs that `list` should print, from an oracle file.
fn expected_blobs(oracle: &Value) -> Vec<Value> {
    let with = |blob: &Value, kind: &str, more: Value| {
        let mut blob = common_fields(blob);
        blob["kind"] = kind.into();
        let more = more.as_object().unwrap().clone().into_iter();
        more.filter(|(_, value)| !value.is_null()).for_each(|(field, value)| blob[&field] = value);
        blob
    };
    let mut blobs = Vec::new();
    for segment in list(oracle, "segments") {
        blobs.push(with(segment, "segment", json!({})));
    }
    for named in list(oracle, "named_data") {
        let layout = &named["tensor_layout"];
        blobs.push(with(named, "named", json!({"sizes": layout["sizes"], "dim_order": layout["dim_order"]})));
    }
    for plan in list(oracle, "methods") {
        for delegate in list(plan, "delegates") {
            blobs.push(with(delegate, "delegate", json!({"method": plan["name"]})));
        }
        for tensor in list(plan, "tensors").iter().filter(|tensor| tensor["data"].is_object()) {
            let data = &tensor["data"];
            let external = data["from"] == "external";
            let more = json!({
                "method": plan["name"],
                "value": tensor["value"],
                "sizes": tensor["sizes"],
                "dim_order": tensor["dim_order"],
                "data_buffer_idx": if external { Value::Null } else { tensor["data_buffer_idx"].clone() },
                "size": tensor["nbytes"],
            });
            let kind = match data["from"].as_str().unwrap() {
                "mutable" => "initial_state",
                from => from,
            };
            blobs.push(with(data, kind, more));
        }
    }
    blobs
}

#[test]
fn list_uses_the_schemas_names_of_scalar_types() {
    let listing = json_of(&["list", "--json"], &fixture("1.5.1/const_dtypes/const_dtypes.pte")).unwrap();
    let constants: Vec<_> = with_users(&listing).into_iter().filter(|blob| blob["kind"] == "constant").collect();
    assert_eq!(constants.len(), 10);
    assert_eq!(constants[0]["scalar_type"], "FLOAT");
    assert!(constants.iter().all(|blob| blob.get("sha256").is_none()));
    let complex = json_of(&["list", "--json"], &fixture("1.5.1/ptd_dtypes/ptd_complex.ptd")).unwrap();
    let types: Vec<_> = with_users(&complex).iter().filter_map(|blob| blob["scalar_type"].as_i64()).collect();
    assert_eq!(types, [8, 9, 10]);
}

#[test]
fn the_table_of_list_has_one_line_per_blob() {
    let output = run(&["list", "--hash"], &[&fixture("1.5.1/add_mul/add_mul.pte").path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    // The header, one segment, two constants, the total.
    assert_eq!(text.lines().count(), 5, "{text}");
    let oracle = fixture("1.5.1/add_mul/add_mul.pte").oracle().unwrap();
    let hash = oracle["segments"][0]["sha256"].as_str().unwrap();
    assert!(text.lines().any(|line| line.trim_start().starts_with("segment") && line.contains(hash)), "{text}");
    assert!(text.contains("%1") && text.contains("f32[2, 2]"), "{text}");
}

#[test]
fn list_folds_users_and_sorts_by_size() {
    let file = fixture("1.5.1/multi_method/multi_method.pte");
    let listed = |arguments: &[&str]| String::from_utf8(run(arguments, &[&file.path]).stdout).unwrap();
    let text = listed(&["list"]);
    assert!(text.contains("decode:%0, forward:%2") && text.contains("6 blobs with 10 users"), "{text}");
    let lines: Vec<String> = listed(&["list", "--sort", "size", "--top", "2"]).lines().map(str::to_owned).collect();
    assert!(lines[1].contains("segment") && lines[2].contains("32 B"), "{lines:?}");
    assert!(lines[3].contains("… 4 more, 80 B"), "{lines:?}");
}

#[test]
fn info_summarizes_a_program() {
    let info = json_of(&["info", "--json"], &fixture("1.5.1/multi_method/multi_method.pte")).unwrap();
    assert_eq!(info["kind"], "pte");
    assert_eq!(info["identifier"], "ET12");
    assert_eq!(info["file_size"], 8312);
    assert_eq!(info["header"]["segment_base_offset"], 8192);
    let names: Vec<_> = list(&info, "methods").iter().map(|method| method["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["decode", "encode", "forward"]);
    let forward = &info["methods"][2];
    assert_eq!(forward["values"], 19);
    assert_eq!(forward["inputs"][0]["sizes"], json!([1, 4]));
    assert_eq!(forward["instructions"], json!({"total": 4, "by_kind": {"KernelCall": 4}}));
    assert_eq!(forward["operators"][0], json!({"name": "aten::permute_copy.out", "calls": 2}));
    assert_eq!(forward["planned_memory"]["size"], 64);
    assert_eq!(info["constants"], json!({"count": 5, "size": 112, "users": 9}));
    let metadata: Vec<_> = list(&info, "metadata").iter().map(|constant| &constant["value"]).collect();
    let tensor = json!({
        "scalar_type": "INT", "sizes": [2, 3], "dim_order": [0, 1], "shape_dynamism": "STATIC"
    });
    let expected =
        json!([7, i64::MIN, 1.5, "inf", true, false, "plain", "", [1, 2, 3], [1, 2.0, false, "x"], 5, 0, tensor]);
    assert_eq!(json!(metadata), expected);
}

#[test]
fn info_succeeds_on_valid_files() {
    // The only file without a header, and therefore without data.
    let fixtures: Vec<_> =
        fixtures().into_iter().filter(|fixture| !fixture.name().ends_with("flatc_only.ptd")).collect();
    for_each(&fixtures, |fixture| {
        let info = json_of(&["info", "--json"], fixture)?;
        let expected = if fixture.is_pte() { "pte" } else { "ptd" };
        equal("kind", info["kind"].as_str(), Some(expected))?;
        let plans = list(&info, "methods").len() + list(&info, "metadata").len();
        let oracle = fixture.oracle().unwrap_or_default();
        if oracle["methods"].is_array() {
            equal("methods", plans, list(&oracle, "methods").len())?;
        }
        equal("output", run(&["info"], &[&fixture.path]).status.success(), true)
    });
    let output = run(&["list"], &[&fixture("0.5.0/handmade/flatc_only.ptd").path]);
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && listed.contains("0 blobs"), "{listed}");
}

#[test]
fn info_prints_readable_text() {
    let text = |name: &str| {
        let output = run(&["info"], &[&fixture(name).path]);
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let program = text("1.5.1/multi_method/multi_method.pte");
    assert!(program.contains("method forward"), "{program}");
    assert!(program.contains("get_neg = -9223372036854775808"), "{program}");
    assert!(program.contains("get_nested = [1, 2.0, false, \"x\"]"), "{program}");
    assert!(program.contains("get_tensor = i32[2, 3]"), "{program}");
    let dynamic = text("1.5.1/dynamic_bounded/dynamic_bounded.pte");
    assert!(dynamic.contains("f32[<="), "{dynamic}");
    let delegates = text("1.5.1/blob_segments/blob_segments.pte");
    assert!(delegates.contains("FxBlobBackend: 3, payload 1000 B"), "{delegates}");
    let devices = text("1.5.1/device_cuda/device_cuda_1.pte");
    assert!(devices.contains("CUDA:1"), "{devices}");
    let keys = text("1.5.1/ptd_dtypes/ptd_dtypes.ptd");
    assert!(keys.contains("BFLOAT16        bf16[2, 3]"), "{keys}");
    // The output is not a terminal, so nothing is cut.
    assert_eq!(keys.matches("  bf16[2, 3]").count(), 1, "{keys}");
    assert!(!keys.contains('…'), "{keys}");
    assert!(text("0.6.0/add_mul_external/_default_external_constant.ptd").contains("ExecuTorch 0.6"));
}

#[test]
fn info_continues_after_an_invalid_file_and_fails_at_the_end() {
    let good = fixture("1.5.1/add/add.pte");
    let bad = TempFile::new("bad.pte", &good.bytes()[..100]);
    let output = pte().args(["info", "--jsonl"]).arg(&bad.0).arg(&good.path).arg(&good.path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["errors"][0].as_str().unwrap().contains("(byte 48)"), "{}", lines[0]);
    assert_eq!(lines[1..].iter().map(|line| line["file_size"].as_u64()).collect::<Vec<_>>(), [Some(1072); 2]);
    assert!(lines.iter().all(|line| line["format"] == 1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("error: ") && told.contains("bad.pte"), "{told}");
}

#[test]
fn an_invalid_file_is_reported_with_field_and_offset_and_nothing_is_printed() {
    let good = fixture("1.5.1/add_mul/add_mul.pte");
    let mut bytes = good.bytes().to_vec();
    // Makes the root offset point past the end.
    bytes[..4].copy_from_slice(&0x7fff_0000u32.to_le_bytes());
    let bad = TempFile::new("root.pte", &bytes);
    for subcommand in ["info", "dump", "list"] {
        let output = run(&[subcommand], &[&bad.0]);
        assert_eq!(output.status.code(), Some(1), "{subcommand}");
        assert!(output.stdout.is_empty(), "{subcommand}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("root.pte") && stderr.contains("(byte "), "{stderr}");
    }
    let cut = TempFile::new("cut.pte", &good.bytes()[..good.bytes().len() - 1]);
    let stderr = String::from_utf8(run(&["list"], &[&cut.0]).stderr).unwrap();
    assert!(stderr.contains("1 byte missing") && stderr.contains("the segment data"), "{stderr}");
    let empty = TempFile::new("empty.pte", b"");
    assert_eq!(run(&["dump"], &[&empty.0]).status.code(), Some(1));
}

#[test]
fn list_names_the_blob_whose_reference_is_out_of_range() {
    let good = fixture("1.5.1/add_mul/add_mul.pte");
    let pte = executorch_format::Pte::parse(good.bytes()).unwrap();
    let offsets = pte.program.constant_segment.as_ref().unwrap().offsets.as_deref().unwrap();
    let at = executorch_format::offset_in(good.bytes(), bytemuck::cast_slice(offsets)).unwrap() as usize;
    let mut bytes = good.bytes().to_vec();
    // Changes the offset of constant 2 inside the constant segment.
    bytes[at + 16..at + 24].copy_from_slice(&1_000_000u64.to_le_bytes());
    let bad = TempFile::new("dangling.pte", &bytes);
    let output = run(&["list", "--hash"], &[&bad.0]);
    assert_eq!(output.status.code(), Some(1));
    // The other blobs are listed.
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed.matches("constant").count(), 1, "{listed}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("execution_plan[0].values[") && stderr.contains("1000000"), "{stderr}");
    // `info` still prints the rest.
    let output = run(&["info"], &[&bad.0]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("method forward"));
}

#[test]
fn list_shows_the_other_blobs_if_a_payload_cannot_be_read() {
    let file = fixture("malformed/xnnpack-flatbuffer.pte");
    let output = run(&["list"], &[&file.path]);
    let (listed, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(listed.contains("delegate") && listed.contains("segment 0"), "{listed}");
    assert!(told.contains("delegates[0].processed: bad extended header"), "{told}");
    assert_eq!(output.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&run(&["list", "--json"], &[&file.path]).stdout).unwrap();
    let listing = &json["files"][0];
    assert!(!listing["blobs"].as_array().unwrap().is_empty());
    let fault = listing["errors"][0].as_str().unwrap();
    assert!(fault.contains("bad extended header"), "{fault}");
    assert_eq!(json["files"].as_array().unwrap().len(), 1);
}

#[test]
fn wrong_usage_and_unreadable_files_exit_with_code_2() {
    assert_eq!(pte().output().unwrap().status.code(), Some(2));
    assert_eq!(pte().args(["info"]).output().unwrap().status.code(), Some(2));
    assert_eq!(pte().args(["list", "--no-such-option", "x"]).output().unwrap().status.code(), Some(2));
    let output = run(&["dump"], &[Path::new("no such file.pte")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot be read"));
    assert_eq!(run(&["info"], &[&std::env::temp_dir()]).status.code(), Some(2));
    assert_eq!(pte().arg("--help").output().unwrap().status.code(), Some(0));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    // The output is larger than a pipe's buffer, so the command is still writing when the pipe is closed.
    let file = fixture("bench/llama6_external.pte").path;
    for arguments in [&["dump"][..], &["list"], &["list", "--json"], &["info"]] {
        let mut child = pte().args(arguments).arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn hashes_are_those_of_the_bytes_in_the_file() {
    let fixture = fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte");
    let listing = json_of(&["list", "--json", "--hash"], &fixture).unwrap();
    let blobs = list(&listing, "blobs");
    assert!(blobs.len() > 20);
    for blob in blobs {
        let [start, size] = ["offset", "size"].map(|field| blob[field].as_u64().unwrap() as usize);
        assert_eq!(blob["sha256"], sha256(&fixture.bytes()[start..start + size]), "{blob}");
    }
}

#[test]
fn verify_prints_findings_grouped_by_file() {
    let (good, bad) = (fixture("1.5.1/add/add.pte").path, fixture("malformed/CVE-2025-54951.pte").path);
    let output = pte().arg("verify").args([&good, &bad]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[0], format!("{}: ok", good.display()));
    assert_eq!(lines[1], format!("{}: 1 error, 0 warnings", bad.display()));
    assert!(lines[2].starts_with("  error: tensor-rank: execution_plan[0].values[0].val.Tensor.sizes: 17 "), "{text}");
    assert_eq!(lines[3], "  in 1.5: does not load");
    assert_eq!(lines[4], "2 files checked (strict), 1 with errors: 1 error, 0 warnings");
}

#[test]
fn verify_prints_json() {
    let bad = fixture("malformed/CVE-2025-54951.pte").path;
    let output = run(&["verify", "--json", "--level", "runtime"], &[&bad]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = &report["files"][0];
    assert_eq!((&file["file"], &file["level"], &file["ok"]), (&json!(bad), &json!("runtime"), &json!(false)));
    let finding = &file["findings"][0];
    assert_eq!(finding["rule"], "tensor-rank");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["path"], "execution_plan[0].values[0].val.Tensor.sizes");
    assert_eq!(finding["cve"], "CVE-2025-54951");
    let offset = finding["offset"].as_u64().unwrap() as usize;
    assert_eq!(std::fs::read(&bad).unwrap()[offset..offset + 4], 1i32.to_le_bytes());
    assert_eq!(file["findings"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_ptd_is_the_same_as_an_option_and_as_a_file() {
    let program = fixture("payloads/ethosu_external/ethosu_external_weights.pte").path.display().to_string();
    let data = fixture("payloads/ethosu_external/ethosu_external_weights.w.ptd").path.display().to_string();
    for command in [&["fit", "--target", "official"][..], &["info", "--json"], &["list", "--json"]] {
        let told = |more: &[&str]| {
            let output = pte().args(command).arg(&program).args(more).output().unwrap();
            (text(&output.stdout), output.status.code())
        };
        let start = |told: &str| told.find("weights.pte").and_then(|at| told.get(at..at + 600)).map(str::to_owned);
        let (option, code) = told(&["--data", &data]);
        assert_eq!((start(&option), code), (start(&told(&[&data]).0), Some(0)), "{command:?}");
        assert_ne!(option, told(&[]).0, "{command:?}");
        assert_eq!(told(&["--data", &program]).1, Some(2), "{command:?}: a program is no data");
    }
}

#[test]
fn the_exit_code_of_verify_depends_on_the_level_and_the_data() {
    let code = |arguments: &[&str], name: &str| run(arguments, &[&fixture(name).path]).status.code();
    assert_eq!(code(&["verify", "--level", "structure"], "malformed/CVE-2025-54951.pte"), Some(0));
    assert_eq!(code(&["verify", "--level", "runtime"], "malformed/jump-itself.pte"), Some(0));
    assert_eq!(code(&["verify"], "malformed/jump-itself.pte"), Some(1));
    let data = |name: &str| fixture(name).path.display().to_string();
    let good = data("1.5.1/add_mul_external/_default_external_constant.ptd");
    assert_eq!(code(&["verify", "--data", &good], "1.5.1/add_mul_external/add_mul_external.pte"), Some(0));
    let wrong = data("1.5.1/external_tied/_default_external_constant.ptd");
    assert_eq!(code(&["verify", "--data", &wrong], "1.5.1/add_mul_external/add_mul_external.pte"), Some(1));
    assert_eq!(run(&["verify"], &[Path::new("no such file")]).status.code(), Some(2));
    assert_eq!(pte().arg("verify").output().unwrap().status.code(), Some(2));
}

#[test]
fn verify_lists_its_rules() {
    let output = pte().args(["verify", "--rules", "--json"]).output().unwrap();
    let rules: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> = list(&rules, "rules").iter().map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert!(names.len() > 100 && names.contains(&"vtable") && names.contains(&"planned-memory-overlap"), "{names:?}");
    let text = String::from_utf8(pte().args(["verify", "--rules"]).output().unwrap().stdout).unwrap();
    assert_eq!(text.lines().count(), names.len());
}
