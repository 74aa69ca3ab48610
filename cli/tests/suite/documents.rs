//! The JSON of all commands has one shape, described in `docs/schema`.

use crate::cli::{TempFile, pte};
use executorch_format_support::data;
use serde_json::Value;
use std::path::Path;

/// The name of each document, and the commands that print it, run in the folder of test files.
pub const DOCUMENTS: &[(&str, &[&str])] = &[
    (
        "info",
        &[
            "info 1.5.1/multi_method/multi_method.pte 1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte",
            "info 1.5.1/evalue_kinds/evalue_kinds.pte 1.5.1/bundled/bundled.bpte 1.5.1/ptd_shared/ptd_shared.ptd",
            "info payloads/profile_xnnpack.etdp payloads/other/ethosu.pte 0.2.1/add_mul/add_mul.pte",
            "info 1.5.1/bundled/bundled.bpte payloads/v0.4.0_conv2d.0.xnn no-such-file",
        ],
    ),
    (
        "list",
        &[
            "list --hash 1.5.1/multi_method/multi_method.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte",
            "list 1.5.1/add_mul_external/add_mul_external.pte 1.5.1/bundled/bundled.bpte 1.5.1/ptd_shared/ptd_shared.ptd",
        ],
    ),
    (
        "size",
        &[
            "size 1.5.1/quant_xnnpack/quant_xnnpack.pte 1.5.1/ptd_shared/ptd_shared.ptd 1.5.1/linear/linear.pte",
            "size 1.5.1/bundled/bundled.bpte payloads/v0.4.0_conv2d.0.xnn 1.5.1/stacktrace/stacktrace.pte 1.5.1/named_data/named_data.pte",
        ],
    ),
    (
        "contract",
        &[
            "info --contract 1.5.1/multi_method/multi_method.pte payloads/other/ethosu.pte answers/kwargs_dict_outputs.pte",
            "info --contract 1.5.1/dynamic_bounded/dynamic_bounded.pte metadata/llm_metadata.pte 1.5.1/bundled/bundled.bpte",
        ],
    ),
    ("contract-changes", &["diff --contract 1.5.1/add_mul/add_mul.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte"]),
    ("size-shared", &["size --shared 1.5.1/linear/linear.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte"]),
    ("size-growth", &["size 1.5.1/linear/linear.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte"]),
    (
        "memory",
        &[
            "memory 1.5.1/multi_method/multi_method.pte 1.5.1/mutable_init/mutable_init.pte 1.5.1/cond/cond.pte",
            "memory payloads/other/ethosu.pte 1.5.1/dynamic_bounded/dynamic_bounded.pte",
        ],
    ),
    ("ops", &["ops 1.5.1/linear_xnnpack/linear_xnnpack.pte 1.5.1/tensor_lists/tensor_lists.pte"]),
    ("ops-delegated", &["ops --delegated zoo/nn_tcn.xnnpack_dynamic.pte 1.5.1/tensor_lists/tensor_lists.pte"]),
    ("ops-merge", &["ops --merge 1.5.1/linear_xnnpack/linear_xnnpack.pte 1.5.1/tensor_lists/tensor_lists.pte"]),
    (
        "disasm",
        &[
            "disasm 1.5.1/cond/cond.pte 1.5.1/stacktrace/stacktrace.pte 1.5.1/evalue_kinds/evalue_kinds.pte",
            "disasm 1.5.1/linear_xnnpack/linear_xnnpack.pte 1.5.1/mutable_init/mutable_init.pte 0.2.1/add_mul/add_mul.pte",
            "disasm 1.5.1/add_mul_external/add_mul_external.pte",
        ],
    ),
    (
        "graph",
        &["graph 1.5.1/cond/cond.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte 1.5.1/mutable_init/mutable_init.pte"],
    ),
    (
        "report",
        &[
            "report 1.5.1/linear_xnnpack/linear_xnnpack.pte 1.5.1/multi_method/multi_method.pte",
            "report 1.5.1/ptd_shared/ptd_shared.ptd 1.5.1/quant_xnnpack/quant_xnnpack.pte bench/llama6_external.pte",
        ],
    ),
    (
        "hash",
        &[
            "hash 1.5.1/multi_method/multi_method.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte",
            "hash 1.5.1/ptd_shared/ptd_shared.ptd 1.5.1/bundled/bundled.bpte 1.5.1/add_mul_external/add_mul_external.pte",
        ],
    ),
    ("hash-check", &["hash --check answers/manifest.json"]),
    ("verify", &["verify 1.5.1/add_mul_external/add_mul_external.pte malformed/xnnpack-flatbuffer.pte"]),
    ("verify-runtime", &["verify --runtime all 1.5.1/evalue_kinds/evalue_kinds.pte 1.5.1/add/add.pte"]),
    ("rules", &["verify --rules"]),
    ("fit", &["fit 1.5.1/multi_method/multi_method.pte payloads/other/ethosu.pte --target TARGET"]),
    (
        "diff",
        &[
            "diff --tensors 1.5.1/add/add.pte 1.5.1/add_mul/add_mul.pte",
            "diff --tensors 1.5.1/linear/linear.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte",
            "diff --fail-on size,max-abs 1.5.1/linear/linear.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte",
            "diff 1.5.1/add/add.pte 1.5.1/add_mul_external/add_mul_external.pte",
        ],
    ),
    ("diff-folders", &["diff -r --fail-on size,operators 0.7.0/add_mul_external 1.5.1/add_mul_external"]),
    (
        "profile-operators",
        &["profile --by operator payloads/profile_xnnpack.etdp --program payloads/profile_xnnpack.pte"],
    ),
    (
        "profile-before",
        &[
            "profile --before payloads/profile_xnnpack.etdp payloads/profile_portable.etdp",
            "profile --by operator --before payloads/profile_xnnpack.etdp payloads/profile_portable.etdp",
        ],
    ),
    (
        "debug",
        &[
            "debug etrecord/net_portable.etdp --debug-buffer etrecord/net_portable.debug.bin --program etrecord/net_portable.pte",
            "debug payloads/profile_lists.etdp --debug-buffer payloads/profile_lists.debug.bin",
        ],
    ),
    (
        "debug-gaps",
        &[
            "debug etrecord/net_xnnpack.etdp --debug-buffer etrecord/net_xnnpack.debug.bin --program etrecord/net_xnnpack.pte --before etrecord/net_portable.etdp --before-debug-buffer etrecord/net_portable.debug.bin --before-program etrecord/net_portable.pte",
        ],
    ),
    ("profile", &["profile payloads/profile_xnnpack.etdp --program payloads/profile_xnnpack.pte"]),
    ("bundle", &["bundle 1.5.1/bundled/bundled.bpte payloads/bundle_scalars.bpte"]),
    ("metadata", &["metadata 1.5.1/evalue_kinds/evalue_kinds.pte 1.5.1/multi_method/multi_method.pte"]),
    (
        "extract",
        &[
            "extract 1.5.1/linear_xnnpack/linear_xnnpack.pte",
            "extract 1.5.1/ptd_shared/ptd_shared.ptd",
            "extract --unpack payloads/other/coreml.pte",
        ],
    ),
    (
        "edit",
        &[
            "strip --dry-run --all 1.5.1/stacktrace/stacktrace.pte",
            "externalize --dry-run --all 1.5.1/multi_method/multi_method.pte --data w.ptd",
            "dedup --dry-run 1.5.1/multi_method/multi_method.pte",
            "rewrite --dry-run --relayout 1.5.1/multi_method/multi_method.pte",
        ],
    ),
    ("dedup-several", &["dedup --dry-run 1.5.1/linear/linear.pte 1.5.1/linear_xnnpack/linear_xnnpack.pte"]),
    ("convert", &["convert --dry-run 1.5.1/linear/linear.pte x.safetensors"]),
    ("dump", &["dump 1.5.1/add/add.pte 1.5.1/ptd_shared/ptd_shared.ptd"]),
];

/// Returns the document printed by a command line without spaces in its arguments.
pub fn document(line: &str, form: &str, target: &Path) -> (String, Value) {
    let arguments = line.split(' ').map(|word| if word == "TARGET" { target.to_str().unwrap() } else { word });
    let output = pte().current_dir(data()).args(arguments).arg(form).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let first = if form == "--jsonl" { text.lines().next().unwrap_or_default() } else { &text };
    let document = serde_json::from_str(first);
    let document = document.unwrap_or_else(|error| {
        panic!("{line} {form}: {error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    (text, document)
}

pub fn target() -> TempFile {
    let text = "runtime = \"1.0\"\nbackends = []\narena = \"1 B\"\nmethod-allocator = 1\nlargest-file = \"0.5KiB\"\nscalar-types = [\"i8\"]\n";
    TempFile::new("target.toml", text.as_bytes())
}

#[test]
fn every_document_has_a_format_and_files_with_their_errors() {
    let target = target();
    for (_, lines) in DOCUMENTS.iter().filter(|(name, _)| *name != "rules") {
        for line in *lines {
            let (_, document) = document(line, "--json", &target.0);
            assert_eq!(document["format"], 1, "{line}");
            let files = document["files"].as_array().unwrap_or_else(|| panic!("{line}: {document}"));
            assert!(!files.is_empty(), "{line}");
            for file in files {
                assert!(file["file"].is_string() && file["errors"].is_array(), "{line}: {file}");
                assert!(file["errors"].as_array().unwrap().iter().all(Value::is_string), "{line}: {file}");
            }
        }
    }
}

#[test]
fn jsonl_has_the_same_fields_as_json() {
    let target = target();
    for (_, lines) in DOCUMENTS {
        for line in *lines {
            let (_, whole) = document(line, "--json", &target.0);
            let (text, first) = document(line, "--jsonl", &target.0);
            assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{line}");
            assert_eq!(first["format"], 1, "{line}");
            // A line has the fields of an entry in a document's files, or is the whole document.
            if first != whole {
                let mut entry = whole["files"][0].clone();
                entry["format"] = 1.into();
                assert_eq!(first, entry, "{line}");
                assert_eq!(Some(text.lines().count()), whole["files"].as_array().map(Vec::len), "{line}");
            }
        }
    }
}
