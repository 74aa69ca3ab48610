//! `pte size`, `memory`, `ops` and `disasm`, run as a user runs them.

use crate::cli::{TempFile, pte, run_in};
use executorch_format::{Pte, PteOptions};
use executorch_format_support::fixtures::{equal, fixture, fixtures, for_each, list};
use executorch_format_support::{crate_root, data};
use quick_xml::events::Event;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Returns the output of a command for files of `tests/data`.
fn text(arguments: &[&str], files: &[&str]) -> String {
    let output = run_in(&data(), &[arguments, files].concat());
    assert!(output.status.success(), "{arguments:?} {files:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compares with a file of `tests/golden`; `BLESS=1` writes it.
pub fn golden(name: &str, found: &str) -> Result<(), String> {
    let path = crate_root().join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(found.lines()).position(|(one, other)| one != other);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(its end)").to_owned();
    equal(&format!("{name}, line {}", line + 1), (at(found), found == expected), (at(&expected), true))
}

#[test]
fn the_output_is_the_golden_one() {
    let cases: [(&str, &[&str], &[&str]); 16] = [
        ("size/multi_method.txt", &["size"], &["1.5.1/multi_method/multi_method.pte"]),
        ("size/stacktrace.txt", &["size"], &["1.5.1/stacktrace/stacktrace.pte"]),
        ("size/blob.txt", &["size", "--by", "blob"], &["1.5.1/multi_method/multi_method.pte"]),
        ("size/method.txt", &["size", "--by", "method"], &["1.5.1/multi_method/multi_method.pte"]),
        ("size/type.txt", &["size", "--by", "type"], &["1.5.1/const_dtypes/const_dtypes.pte"]),
        ("size/operator.txt", &["size", "--by", "operator"], &["bench/llama6_external.pte"]),
        ("size/ptd.txt", &["size", "--by", "blob", "--top", "3"], &["1.5.1/ptd_shared/ptd_shared.ptd"]),
        (
            "size/growth.txt",
            &["size", "--top", "5"],
            &["1.5.1/linear/linear.pte", "1.5.1/linear_xnnpack/linear_xnnpack.pte"],
        ),
        ("memory/multi_method.txt", &["memory"], &["1.5.1/multi_method/multi_method.pte"]),
        ("memory/mutable_init.txt", &["memory"], &["1.5.1/mutable_init/mutable_init.pte"]),
        ("memory/arenas.txt", &["memory", "--arenas"], &["1.5.1/device_cuda/device_cuda_1.pte"]),
        (
            "memory/multi_method.svg",
            &["memory", "--svg", "--method", "forward"],
            &["1.5.1/multi_method/multi_method.pte"],
        ),
        ("ops/tensor_lists.txt", &["ops"], &["1.5.1/tensor_lists/tensor_lists.pte"]),
        ("ops/merged.yaml", &["ops", "--yaml"], &["1.5.1/cond/cond.pte", "1.5.1/linear/linear.pte"]),
        ("disasm/cond.txt", &["disasm"], &["1.5.1/cond/cond.pte"]),
        ("disasm/stacktrace.txt", &["disasm"], &["1.5.1/stacktrace/stacktrace.pte"]),
    ];
    let failed: Vec<String> =
        cases.into_iter().filter_map(|(name, arguments, files)| golden(name, &text(arguments, files)).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn size_as_json_has_parts_that_sum_up_to_the_file() {
    let fixtures: Vec<_> =
        fixtures().into_iter().filter(|fixture| !fixture.name().ends_with("flatc_only.ptd")).collect();
    for_each(&fixtures, |fixture| {
        let output = pte().args(["size", "--json"]).arg(&fixture.path).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        let file = &document["files"][0];
        let parts = list(file, "parts").iter().map(|part| part["size"].as_u64().unwrap());
        equal("file size", file["file_size"].as_u64(), Some(fixture.bytes().len() as u64))?;
        equal("sum", parts.sum::<u64>(), fixture.bytes().len() as u64)
    });
}

#[test]
fn two_files_as_json_are_one_document_with_the_growth() {
    let files = ["1.5.1/linear/linear.pte", "1.5.1/linear_xnnpack/linear_xnnpack.pte"];
    let document: Value = serde_json::from_str(&text(&["size", "--json"], &files)).unwrap();
    let size = |name: usize| document["files"][name]["file_size"].as_i64().unwrap();
    let sum: i64 = list(&document, "growth")
        .iter()
        .map(|one| one["after"].as_i64().unwrap() - one["before"].as_i64().unwrap())
        .sum();
    assert_eq!(sum, size(1) - size(0));
    assert_eq!(document["format"], 1);
}

#[test]
fn values_written_by_an_instruction_are_marked() {
    let marked = |name: &str| -> Vec<String> {
        let text = text(&["disasm"], &[name]);
        let marks = text.lines().filter(|line| line.trim_start().starts_with(['*', '!']));
        marks.map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect()
    };
    let outs = ["* out %6", "* out %8", "* out %10", "* out %13", "* out %14"];
    assert_eq!(marked("1.5.1/mutable_plain/mutable_plain.pte"), [&outs[..], &["! self %0", "! self %1"]].concat());
    // A delegate whose payload states its outputs.
    assert_eq!(marked("1.5.1/linear_xnnpack/linear_xnnpack.pte"), ["* 1 %1"]);
}

#[test]
fn a_target_that_lacks_something_gives_exit_code_1() {
    let model = "1.5.1/multi_method/multi_method.pte";
    // The official form of the model's own needs is a sufficient target.
    let enough = TempFile::new("target.yaml", text(&["ops", "--yaml"], &[model]).as_bytes());
    let target = enough.0.to_str().unwrap();
    assert_eq!(text(&["fit", "--target", target], &[model]), format!("{model}: nothing is missing\n"));
    let lacking =
        TempFile::new("target.yaml", b"operators: [aten::addmm.out]\nscalar_types: [f32]\nbackends: [CoreMLBackend]\n");
    let target = lacking.0.to_str().unwrap();
    let output = run_in(&data(), &["fit", "--target", target, model, "1.5.1/linear_xnnpack/linear_xnnpack.pte"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("method \"forward\": no operator \"aten::permute_copy.out\" (2 calls)\n"), "{text}");
    assert!(text.contains("method \"forward\": no backend \"XnnpackBackend\" (1 delegate)\n"), "{text}");
    for bad in ["operators: {", "scalar_types: [f31]", "operators: 7"] {
        let made = TempFile::new("target.yaml", bad.as_bytes());
        let output = run_in(&data(), &["fit", "--target", made.0.to_str().unwrap(), model]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("target.yaml"), "{bad}");
    }
}

/// Text that could act on a terminal, close a tag, or end a string in any of the formats.
const HOSTILE: &str = "a\u{1b}[2J\r\n</text></svg><script>alert(1)</script>&\"'\\: - #{}\u{202e}";

/// Returns a program in which every name is hostile.
fn hostile() -> TempFile {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let name = || Some(HOSTILE.to_owned().into());
    let plan = pte.program.execution_plan.as_mut().unwrap().iter_mut().find(|plan| plan.name() == "forward").unwrap();
    plan.name = name();
    plan.operators.as_mut().unwrap().iter_mut().for_each(|operator| operator.name = name());
    for value in plan.values.as_mut().unwrap() {
        if let executorch_format::schema::program::KernelTypes::Tensor(tensor) = &mut value.val {
            tensor.extra_tensor_info.get_or_insert_default().fully_qualified_name = name();
        }
    }
    let file = pte.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap();
    TempFile::new("hostile.pte", &file)
}

fn harmless(text: &str) {
    let acts =
        |character: char| (character.is_control() && character != '\n' && character != '\t') || character == '\u{202e}';
    assert_eq!(text.find(acts), None, "{text}");
}

fn output(arguments: &[&str], file: &Path) -> String {
    let output = pte().args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hostile_names_are_harmless_on_a_terminal_and_exact_in_json() {
    let file = hostile();
    for arguments in
        [&["size", "--by", "method"][..], &["size", "--by", "operator"], &["memory"], &["ops"], &["disasm"]]
    {
        let text = output(arguments, &file.0);
        harmless(&text);
        assert!(text.contains("a\\u{1b}[2J"), "{arguments:?}: {text}");
    }
    let disassembly: Value = serde_json::from_str(&output(&["disasm", "--json"], &file.0)).unwrap();
    assert!(list(&disassembly["files"][0], "methods").iter().any(|method| method["name"] == HOSTILE));
}

#[test]
fn incomplete_output_is_reported_as_incomplete() {
    let output = crate::cli::TempFile::new("memory.svg", b"");
    let file = data().join("malformed/planned-memory-index.pte");
    let run = pte().args(["memory", "--svg", "-o"]).arg(&output.0).arg(&file).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(std::fs::read(&output.0).unwrap().starts_with(b"<svg"));
    let text = String::from_utf8(run.stderr).unwrap();
    // On Windows, the second line is about what the replaced file does not keep.
    let is_lost = |line: &str| cfg!(windows) && line.contains("the new file does not keep");
    let lines: Vec<_> = text.lines().filter(|line| !is_lost(line)).collect();
    assert!(lines[0].ends_with(" bytes"), "{text}");
    assert!(
        lines[1].ends_with("planned-memory-index.pte: the picture is incomplete because of 1 error in the file:"),
        "{text}"
    );
    assert!(lines[2].contains("planned buffer 9, but there are 1"), "{text}");
}

#[test]
fn hostile_names_are_text_in_svg_and_refused_in_yaml() {
    let file = hostile();
    let svg = output(&["memory", "--svg"], &file.0);
    harmless(&svg);
    let mut reader = quick_xml::Reader::from_str(&svg);
    let mut tags = std::collections::BTreeSet::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => {
                tags.insert(String::from_utf8_lossy(tag.name().as_ref()).into_owned())
            }
            Event::Eof => break,
            _ => true,
        };
    }
    assert_eq!(Vec::from_iter(tags), ["g", "path", "rect", "style", "svg", "text", "title"]);
    let refused = pte().args(["ops", "--yaml"]).arg(&file.0).output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr);
    harmless(&error);
    assert!(refused.status.code() == Some(2) && error.contains("cannot be registered"), "{error}");
    assert!(refused.stdout.is_empty());
}

#[test]
fn other_kinds_of_files_and_missing_files_are_reported() {
    let ptd = "1.5.1/ptd_shared/ptd_shared.ptd";
    for command in ["memory", "ops", "disasm"] {
        let output = run_in(&data(), &[command, ptd]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{command}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("a .ptd file, which has no program"));
    }
    let output = run_in(&data(), &["disasm", "--method", "nothing", "1.5.1/cond/cond.pte"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no method is called \"nothing\", there are: forward"));
}

#[test]
fn a_shared_payload_is_described_where_its_first_method_has_it() {
    let fixture = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let plans = pte.program.execution_plan.as_mut().unwrap();
    plans.push(plans[0].clone());
    plans[1].name = Some("second".into());
    let file =
        TempFile::new("shared.pte", &pte.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap());
    for arguments in [&["disasm"][..], &["disasm", "--method", "second"]] {
        let text = output(arguments, &file.0);
        assert!(text.contains("the nodes of forward delegate 0\n"), "{text}");
    }
}

#[test]
fn a_file_with_dangling_references_is_still_described() {
    let fixture = fixture("1.5.1/add_mul/add_mul.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let chains = pte.program.execution_plan.as_mut().unwrap()[0].chains.as_mut().unwrap();
    let last = chains[0].instructions.as_mut().unwrap().last_mut().unwrap();
    let executorch_format::schema::program::InstructionArguments::KernelCall(call) = &mut last.instr_args else {
        unreachable!()
    };
    call.op_index = 99;
    let made = TempFile::new("dangling.pte", &pte.image_as_is().unwrap().to_vec().unwrap());
    for command in ["ops", "disasm"] {
        let output = pte_output(command, &made.0);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(!output.stdout.is_empty());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("operator 99, but there are"), "{command}: {told}");
    }
}

fn pte_output(command: &str, file: &Path) -> Output {
    pte().arg(command).arg(file).output().unwrap()
}

#[test]
fn figures_based_on_assumptions_are_marked() {
    let mut pte = Pte::parse(fixture("1.5.1/add/add.pte").bytes()).unwrap().into_owned();
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    plan.operators.as_mut().unwrap()[0].name = Some("my::op".into());
    let file = TempFile::new("unknown.pte", &pte.image().unwrap().to_vec().unwrap());
    let memory = |arguments: &[&str]| pte_of(arguments, &file);
    let text = memory(&["memory"]);
    assert!(text.contains("about ") && text.contains("not known, assumed: my::op.out"), "{text}");
    let json: Value = serde_json::from_str(&memory(&["memory", "--json"])).unwrap();
    assert_eq!(json["files"][0]["methods"][0]["assumed"][0]["name"], "my::op.out");
}

fn pte_of(arguments: &[&str], file: &TempFile) -> String {
    let output = crate::cli::pte().args(arguments).arg(&file.0).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn oneline_prints_one_line_per_instruction_selected_by_operator_and_number() {
    let model = ["bench/llama6_external.pte"];
    let whole = text(&["disasm", "--oneline"], &model);
    let count = run_in(&data(), &["disasm", "--json", model[0]]);
    let document: Value = serde_json::from_slice(&count.stdout).unwrap();
    let instructions = list(&list(&document["files"][0]["methods"][0], "chains")[0], "instructions").len();
    assert_eq!(whole.lines().count(), 1 + instructions);
    // A value that no instruction writes has the bytes written at its place.
    assert!(whole.lines().any(|line| line.contains(" is %")), "{whole}");
    let some = text(&["disasm", "--oneline", "--operator", "aten::mm*"], &model);
    assert_eq!(some.lines().count(), 1 + whole.matches(" = aten::mm.out(").count());
    let range = text(&["disasm", "--oneline", "--range", "3..5"], &model);
    let numbers: Vec<_> = range.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(numbers, ["3", "4", "5"]);
    let refused = run_in(&data(), &["disasm", "--operator", "aten::nn*", model[0]]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && told.contains("no operator like \"aten::nn*\""), "{told}");
    assert_eq!(run_in(&data(), &["disasm", "--range", "a..b", model[0]]).status.code(), Some(2));
}

#[test]
fn nodes_inside_delegates_are_listed_like_instructions() {
    let told = text(&["disasm"], &["1.5.1/linear_xnnpack/linear_xnnpack.pte"]);
    let node = "#3 f32[1, 5] argument 1 = XNNFullyConnected(input1 #0 f32[1, 8] argument 0, filter #1 f32[5, 8] constant, bias #2 f32[5] constant)";
    assert!(told.contains(node) && told.contains("* 1  %1"), "{told}");
    let told = text(&["disasm", "--oneline"], &["1.5.1/linear_xnnpack/linear_xnnpack.pte"]);
    assert!(told.contains("%1 f32[1, 5] = XnnpackBackend[0](%0 f32[1, 8])") && told.contains(node), "{told}");
    let told = text(&["disasm", "--operator", "XNN*"], &["1.5.1/linear_xnnpack/linear_xnnpack.pte"]);
    assert!(told.contains(node) && !told.contains("%0"), "{told}");
    let told = text(&["disasm"], &["payloads/other/ethosu.pte"]);
    assert!(told.contains("compile_flags = --accelerator-config=ethos-u55-128"), "{told}");
}

#[test]
fn a_profile_for_spreadsheets_has_a_line_for_each_event_or_operator() {
    let file = |name: &str| executorch_format_support::data().join("payloads").join(name).display().to_string();
    let (trace, program) = (file("profile_xnnpack.etdp"), file("profile_xnnpack.pte"));
    let run = |more: &[&str]| {
        let output = pte().args(["profile", &trace, "--program", &program]).args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text, message) = run(&["--format", "csv"]);
    assert_eq!(code, Some(0), "{message}");
    let lines: Vec<_> = text.lines().collect();
    let columns = "file,run,method,test_case,runs,run_total,kind,chain,instruction,name,operator,count,total,median,mean,min,max,share,macs";
    assert_eq!(lines[0], columns);
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"]).1).unwrap();
    let runs = json["files"][0]["runs"].as_array().unwrap();
    let events: usize = runs.iter().map(|run| run["events"].as_array().unwrap().len()).sum();
    assert_eq!(lines.len(), 1 + events);
    let gemm = lines.iter().find(|line| line.contains("\"Fully Connected (NC, F32) GEMM #1\"")).unwrap();
    assert!(gemm.contains(",Execute,forward,,1,") && gemm.contains(",delegate,0,0,"), "{gemm}");

    let (_, text, _) = run(&["--format", "csv", "--by", "operator"]);
    assert!(
        text.starts_with("file,run,method,test_case,runs,run_total,name,inside,count,total,share,macs\r\n"),
        "{text}"
    );
    assert!(text.contains(",XnnpackBackend,false,2,"), "{text}");
    let (code, _, message) = run(&["--format", "csv", "--by", "module"]);
    assert!(code == Some(2) && message.contains("--format csv has events or operators"), "{message}");
    let (code, ..) = run(&["--format", "csv", "--json"]);
    assert_eq!(code, Some(2));
    let (_, text, _) = run(&[]);
    assert!(text.contains(" % in delegates, ") && text.contains(" % in other instructions"), "{text}");
}
