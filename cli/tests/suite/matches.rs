//! A request that matches nothing exits with 2 and says so. An answer that is empty because the file has nothing exits with 0, and
//! says that it is empty.

use crate::cli::{run_in, slashes};
use executorch_format_support::data;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The outcome of a command line.
enum Outcome {
    /// Exit code 2, these words on standard error, and nothing on standard output.
    NoMatch(&'static str),
    /// Exit code 0, and these words on standard output or standard error.
    Empty(&'static str),
    /// The command selects nothing, and its answer is never empty.
    Whole,
}

use Outcome::{Empty, NoMatch, Whole};

/// Command lines, each with the page of its command in the manual. Each page has at least one.
const LINES: &[(&str, &str, Outcome)] = &[
    ("build", "", Whole),
    ("bundle", "bundle empty.bpte", Empty("0 test cases")),
    ("bundle", "bundle -r nothing", NoMatch("no model files found")),
    ("bundle-create", "", Whole),
    ("hash", "hash -r nothing", NoMatch("no model files found")),
    #[cfg(feature = "remote")]
    ("catalog", "catalog nothing --output tables", NoMatch("no model files found")),
    #[cfg(feature = "remote")]
    ("catalog-report", "catalog report nothing -o page.html", NoMatch("no catalogue found")),
    #[cfg(not(feature = "remote"))]
    ("catalog", "", Whole),
    ("completions", "completions no-shell", NoMatch("possible values")),
    ("convert", "convert empty.ptd out.safetensors", Empty("0 tensors")),
    ("convert", "convert empty.ptd out.safetensors --rename zz=y", NoMatch("no tensor to rename is called \"zz\"")),
    ("convert", "convert empty.ptd out.safetensors --rename-pattern zz=y", NoMatch("has a name like \"zz\"")),
    ("convert", "convert add.pte out.safetensors", NoMatch("no tensor to convert")),
    ("debug", "debug none.etdp", NoMatch("no run recorded values")),
    (
        "debug",
        "debug debug.etdp --debug-buffer debug.bin --reference zz.npy",
        NoMatch("no recorded value is called \"zz\""),
    ),
    ("debug", "debug debug.etdp --program add.pte --method zz", NoMatch("no method is called \"zz\"")),
    ("dedup", "dedup add.pte --dry-run", Empty("nothing to change")),
    ("diff", "diff -r nothing nothing", NoMatch("no model files found")),
    ("diff", "diff add.pte add.pte", Empty("the same")),
    ("diff", "diff add.pte add.pte --fail-on zz", NoMatch("zz")),
    ("disasm", "disasm add.pte --method zz", NoMatch("no method is called \"zz\"")),
    ("disasm", "disasm add.pte --operator zz*", NoMatch("no operator like \"zz*\"")),
    ("disasm", "disasm add.pte --range 500", NoMatch("no instruction in 500..500")),
    ("disasm", "disasm --oneline constants.pte", Empty("no instructions")),
    ("dump", "dump -r nothing", NoMatch("no model files found")),
    ("externalize", "externalize add.pte --all --data out.ptd -o out.pte", NoMatch("there is no data to move")),
    ("externalize", "externalize multi.pte --name zz --data out.ptd -o out.pte", NoMatch("like \"zz\"")),
    ("externalize", "externalize multi.pte --method zz --data out.ptd -o out.pte", NoMatch("no method like \"zz\"")),
    ("extract", "extract add.pte", Empty("0 blobs")),
    ("extract", "extract multi.pte --name zz*", NoMatch("no blob like \"zz*\"")),
    ("extract", "extract add.pte --unpack", NoMatch("no payload can be unpacked")),
    ("extract", "extract multi.pte --dequantized -o out", NoMatch("none of the selected blobs is a quantized tensor")),
    ("fit", "fit add.pte --target zz", NoMatch("no target file or runtime \"zz\"")),
    ("fit", "fit add.pte --target portable-1.5", Empty("nothing is missing")),
    ("graph", "graph constants.pte --dot", Empty("no method computes anything")),
    ("graph", "graph constants.pte --model-explorer", Empty("no method computes anything")),
    ("graph", "graph constants.pte --svg", NoMatch("no method computes anything")),
    ("graph", "graph multi.pte --dot --method zz", NoMatch("is called \"zz\"")),
    ("info", "info -r nothing", NoMatch("no model files found")),
    (
        "internalize",
        "internalize add.pte --data empty.ptd -o out.pte",
        NoMatch("nothing to copy from these .ptd files\n"),
    ),
    ("internalize", "internalize add.pte --data names.ptd --name zz -o out.pte", NoMatch("like \"zz\"")),
    ("list", "list empty.ptd", Empty("0 blobs")),
    ("list", "list -r nothing", NoMatch("no model files found")),
    ("man", "man zz", NoMatch("no subcommand \"zz\"")),
    ("memory", "memory constants.pte", Empty("without planned memory")),
    ("memory", "memory constants.pte --arenas", Empty("no method has planned memory")),
    ("memory", "memory add.pte --method zz", NoMatch("no method is called \"zz\"")),
    ("memory", "memory add.pte --by module", NoMatch("no module is known")),
    ("metadata", "metadata add.pte", Empty("no metadata")),
    ("metadata", "metadata add.pte --remove zz -o out.pte", NoMatch("no metadata \"zz\"")),
    ("ops", "ops delegated.pte", Empty("0 operators, 1 backend")),
    ("ops", "ops constants.pte", Empty("0 operators, 0 backends")),
    ("ops", "ops --merge delegated.pte constants.pte", Empty("2 files: 0 operators, 1 backend")),
    ("ops", "ops --merge empty.ptd", NoMatch("which has no program")),
    ("ops", "ops --yaml -r nothing", NoMatch("no model files found")),
    ("ops", "ops constants.pte --macs", Empty("no method computes anything")),
    ("ops", "ops add.pte --by module", NoMatch("no module is known")),
    ("profile", "profile none.etdp", NoMatch("no run with an event")),
    ("profile", "profile none.etdp --by operator", NoMatch("no run with an event")),
    ("profile", "profile none.etdp --format csv", NoMatch("no run with an event")),
    ("profile", "profile none.etdp --timeline", NoMatch("no run with an event")),
    ("profile", "profile debug.etdp --before none.etdp", NoMatch("no run with an event")),
    ("profile", "profile debug.etdp --program add.pte --method zz", NoMatch("no method is called \"zz\"")),
    ("ptd", "ptd zz", NoMatch("unrecognized subcommand")),
    ("ptd-create", "", Whole),
    ("ptd-filter", "ptd filter names.ptd --keep zz -o out.ptd", NoMatch("no key like \"zz\"")),
    ("ptd-filter", "ptd filter empty.ptd --remove zz -o out.ptd", NoMatch("no key like \"zz\"")),
    ("ptd-merge", "ptd merge empty.ptd empty.ptd -o out.ptd", Empty("nothing to change")),
    ("ptd-rename", "ptd rename names.ptd zz=y -o out.ptd", NoMatch("no key \"zz\"")),
    ("ptd-rename", "ptd rename empty.ptd --prefix zz. -o out.ptd", NoMatch("the file has no keys")),
    ("ptd-split", "ptd split empty.ptd --max-size 1KiB -o out.ptd", NoMatch("the file has no keys")),
    ("ptd-split", "ptd split names.ptd --name zz -o out.ptd", NoMatch("no key like \"zz\"")),
    ("replace", "replace multi.pte zz=zz.npy -o out.pte", NoMatch("\"zz\"")),
    ("report", "report -r nothing -o out.html", NoMatch("no model files found")),
    ("rewrite", "", Whole),
    ("select", "select multi.pte --keep zz -o out.pte", NoMatch("no method like \"zz\"")),
    ("select", "select multi.pte --remove zz -o out.pte", NoMatch("no method like \"zz\"")),
    ("size", "size empty.ptd --by type", Empty("no weights")),
    ("size", "size empty.ptd --by operator", Empty("no weights")),
    ("size", "size empty.ptd --by method", Empty("no methods")),
    ("size", "size empty.ptd --by blob", Empty("no blobs")),
    ("size", "size add.pte --by module", NoMatch("no module is known")),
    ("strip", "strip add.pte --names --dry-run", Empty("nothing to change")),
    ("to-c", "", Whole),
    ("verify", "verify -r nothing", NoMatch("no model files found")),
    ("verify", "verify add.pte --allow zz", NoMatch("no rule \"zz\"")),
    ("verify", "verify --explain zz", NoMatch("no rule, CVE or reason \"zz\"")),
    ("verify", "verify add.pte", Empty("add.pte: ok")),
];

/// An ETDump without runs.
const NO_RUNS: &[u8] = b"\x10\0\0\0\x0c\0\0\0ED00\x04\0\x04\0\x04\0\0\0";

/// A folder with the files of the command lines, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("executorch-format-{}-{count}-matches", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("nothing")).unwrap();
        for (from, to) in [
            ("1.5.1/add/add.pte", "add.pte"),
            ("1.5.1/linear_xnnpack/linear_xnnpack.pte", "delegated.pte"),
            ("1.5.1/multi_method/multi_method.pte", "multi.pte"),
            ("1.5.1/ptd_empty/ptd_empty.ptd", "empty.ptd"),
            ("1.5.1/ptd_shared/ptd_shared.ptd", "names.ptd"),
            ("payloads/bundle_empty.bpte", "empty.bpte"),
            ("payloads/profile_debug.etdp", "debug.etdp"),
            ("payloads/profile_debug.debug.bin", "debug.bin"),
        ] {
            fs::copy(data().join(from), path.join(to)).unwrap();
        }
        fs::write(path.join("none.etdp"), NO_RUNS).unwrap();
        let folder = Self(path);
        for line in
            ["select multi.pte --keep get_* -o constants.pte", "debug debug.etdp --debug-buffer debug.bin -o blobs"]
        {
            assert!(folder.run(line).status.success(), "{line}");
        }
        let blobs = fs::read_dir(folder.0.join("blobs")).unwrap().map(|entry| entry.unwrap().path());
        let array = blobs.filter(|path| path.extension().is_some_and(|ending| ending == "npy")).min().unwrap();
        fs::copy(array, folder.0.join("zz.npy")).unwrap();
        folder
    }

    fn run(&self, line: &str) -> std::process::Output {
        run_in(&self.0, &line.split(' ').collect::<Vec<_>>())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_request_that_matches_nothing_fails_and_an_empty_answer_says_that_it_is_empty() {
    let folder = Folder::new();
    let mut wrong = Vec::new();
    for (_, line, expected) in LINES {
        if let Whole = expected {
            continue;
        }
        let output = folder.run(line);
        let [shown, told] = [&output.stdout, &output.stderr].map(|bytes| slashes(&String::from_utf8_lossy(bytes)));
        let is_right = match expected {
            NoMatch(words) => output.status.code() == Some(2) && shown.is_empty() && told.contains(words),
            Empty(words) => output.status.success() && (shown.contains(words) || told.contains(words)),
            Whole => true,
        };
        if !is_right {
            wrong.push(format!("{line}: {:?}\n{shown}{told}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_has_a_line() {
    let folder = Folder::new();
    assert!(folder.run("man -o pages").status.success());
    let pages = fs::read_dir(folder.0.join("pages")).unwrap().map(|entry| entry.unwrap().file_name());
    let pages = pages.filter_map(|name| Some(name.to_str()?.strip_prefix("pte-")?.strip_suffix(".1")?.to_owned()));
    let listed: BTreeSet<String> = LINES.iter().map(|(command, ..)| (*command).to_owned()).collect();
    assert_eq!(pages.collect::<BTreeSet<_>>(), listed);
}
