//! Files and folders that commands write: existing files of a user are not lost, and a URL is not a folder.

use crate::cli::{Folder, pte, slashes};
use executorch_format::{NewEntry, Ptd, PtdOptions};
use executorch_format_support::data;
use std::fs;

const FILES: [(&str, &str); 3] = [
    ("1.5.1/linear/linear.pte", "m.pte"),
    ("1.5.1/ptd_shared/ptd_shared.ptd", "w.ptd"),
    ("1.5.1/bundled/bundled.bpte", "b.bpte"),
];

/// Runs the command. Returns the exit code and the message.
fn run(folder: &Folder, line: &str) -> (Option<i32>, String) {
    let (code, _, message) = folder.run(line);
    (code, slashes(&message))
}

fn good(folder: &Folder, line: &str) {
    let (code, message) = run(folder, line);
    assert_eq!(code, Some(0), "{line}: {message}");
}

#[test]
fn a_url_as_output_is_refused_and_no_folder_is_created() {
    let folder = Folder::with("url", &FILES);
    let before = folder.names();
    for url in ["s3://bucket/x", "https://example.com/x", "gs://bucket/x"] {
        for line in [
            "rewrite m.pte URL.pte",
            "strip m.pte --all -o URL.pte",
            "select m.pte --keep forward -o URL.pte",
            "externalize m.pte --all -o URL.pte --data w2.ptd",
            "externalize m.pte --all -o x.pte --data URL.ptd",
            "bundle b.bpte --extract-program -o URL.pte",
            "ptd merge w.ptd w.ptd -o URL.ptd",
            "ptd split w.ptd --max-size 8 -o URL.ptd",
            "extract m.pte -o URL",
            "dump m.pte --blobs URL",
            "dump m.pte -o URL.json",
            "report m.pte -o URL.html",
            "report m.pte w.ptd -o URL",
            "convert m.pte URL.safetensors",
            "convert m.pte URL.safetensors --max-shard-size 40",
            "convert m.pte URL.c",
            "to-c m.pte -o URL",
            "man -o URL",
            "completions bash -o URL",
            "graph m.pte --svg -o URL.svg",
            "memory m.pte --svg -o URL.svg",
            #[cfg(feature = "remote")]
            "catalog m.pte --output URL",
        ] {
            let (code, message) = run(&folder, &line.replace("URL", url));
            assert!(code == Some(2) && message.contains("found a URL"), "{line}: {code:?} {message}");
            assert_eq!(folder.names(), before, "{line}");
        }
    }
}

#[test]
fn standard_output_is_not_a_folder() {
    let folder = Folder::with("standard", &FILES);
    let before = folder.names();
    for line in [
        "extract m.pte -o -",
        "report m.pte w.ptd -o -",
        "report -r . -o -",
        "to-c m.pte -o -",
        "man -o -",
        #[cfg(feature = "remote")]
        "catalog ../nothing --output -",
    ] {
        let (code, message) = run(&folder, line);
        assert!(code == Some(2) && message.contains("expected a folder"), "{line}: {code:?} {message}");
        assert_eq!(folder.names(), before, "{line}");
    }
}

/// Runs a command that chooses names, and checks that it replaces its own files but none of the user's.
fn keeps(name: &str, line: &str, files: &[&str]) {
    for file in files {
        let folder = Folder::with(&format!("{name}-{}", file.replace(['/', '%'], "-")), &FILES);
        let path = folder.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "of the user").unwrap();
        let (code, message) = run(&folder, line);
        assert_eq!(code, Some(2), "{line}: {message}");
        assert!(message.contains(file) && message.contains("exists"), "{line}: {message}");
        assert_eq!(fs::read(&path).unwrap(), b"of the user", "{line}");
        fs::remove_file(&path).unwrap();
        good(&folder, line);
        assert!(path.exists(), "{line} did not write {file}");
        // Its own files, and those of an interrupted run, are not in the way.
        good(&folder, line);
        if line.contains("safetensors") || line.starts_with("ptd split") {
            fs::write(&path, "of the user").unwrap();
            assert!(run(&folder, line).1.contains("--overwrite"));
            good(&folder, &format!("{line} --overwrite"));
        }
    }
}

#[test]
fn files_of_a_user_are_not_replaced_if_a_command_chooses_names() {
    keeps("report", "report m.pte w.ptd -o pages", &["pages/m.pte.html", "pages/w.ptd.html"]);
    keeps("to-c", "to-c m.pte --name model -o c", &["c/model.c", "c/model.h"]);
    keeps("man", "man -o man", &["man/pte.1", "man/pte-info.1"]);
    keeps("split", "ptd split w.ptd --max-size 8 -o part.ptd", &["part-00001-of-00002.ptd", "part-00002-of-00002.ptd"]);
    let shards = ["s-00001-of-00002.safetensors", "s-00002-of-00002.safetensors", "s.safetensors.index.json"];
    keeps("shards", "convert m.pte s.safetensors --max-shard-size 40", &shards);
    let folder = Folder::with("extracted", &FILES);
    good(&folder, "extract m.pte -o blobs");
    let blobs: Vec<String> = fs::read_dir(folder.0.join("blobs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(blobs.len() > 2 && blobs.iter().any(|name| name == "manifest.json"), "{blobs:?}");
    for blob in &blobs {
        keeps("extract", "extract m.pte -o blobs", &[&format!("blobs/{blob}")]);
    }
}

#[test]
fn extract_writes_the_blobs_of_each_file_into_a_folder_of_its_own() {
    let folder = Folder::with("several", &FILES);
    good(&folder, "extract m.pte -o alone");
    good(&folder, "extract -r . -o blobs");
    let names = |path: &str| -> Vec<String> {
        let entries = fs::read_dir(folder.0.join(path)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("blobs"), ["b.bpte", "m.pte", "w.ptd"]);
    assert_eq!(names("blobs/m.pte"), names("alone"));
    for name in names("alone").iter().filter(|name| *name != "manifest.json") {
        let [one, other] = ["alone", "blobs/m.pte"].map(|path| fs::read(folder.0.join(path).join(name)).unwrap());
        assert_eq!(one, other, "{name}");
    }
    fs::create_dir(folder.0.join("inner")).unwrap();
    fs::copy(folder.0.join("m.pte"), folder.0.join("inner/m.pte")).unwrap();
    let (code, message) = run(&folder, "extract m.pte inner/m.pte -o twice");
    assert!(
        code == Some(2) && message.contains("m.pte has the blobs of m.pte: extract this file into another folder"),
        "{message}"
    );
}

/// On Windows, a mapped file cannot be replaced. Elsewhere the model would be lost.
#[test]
fn a_model_is_not_replaced_by_a_file_of_another_kind() {
    let folder = Folder::with("model", &FILES);
    fs::copy(folder.0.join("m.pte"), folder.0.join("m.c")).unwrap();
    fs::copy(data().join("bench/llama6_external.pte"), folder.0.join("large.pte")).unwrap();
    fs::copy(data().join("payloads/profile_portable.etdp"), folder.0.join("t.etdp")).unwrap();
    let content = |name: &String| fs::read(folder.0.join(name)).unwrap();
    let names = folder.names();
    let before: Vec<_> = names.iter().map(content).collect();
    for line in [
        "report m.pte -o m.pte",
        "report --compare m.pte large.pte -o m.pte",
        "report large.pte -o large.pte",
        "report large.pte -o ./w.ptd",
        "graph large.pte --svg -o large.pte",
        "graph m.pte --model-explorer -o b.bpte",
        "memory m.pte --svg -o m.pte",
        "dump m.pte -o m.pte",
        "memory m.pte --arenas -o m.pte",
        "ops m.pte --yaml -o m.pte",
        "verify large.pte --format sarif -o large.pte",
        "verify -r . --format sarif -o m.pte",
        "fit m.pte --init -o m.pte",
        "profile t.etdp --timeline -o t.etdp",
        "completions bash -o m.pte",
        "convert m.pte m.c",
    ] {
        let (code, message) = run(&folder, line);
        let is_told = ["it is a model", "it is being read"].iter().any(|reason| message.contains(reason));
        assert!(code == Some(2) && is_told, "{line}: {code:?} {message}");
        assert!(names == folder.names() && before == names.iter().map(content).collect::<Vec<_>>(), "{line}");
    }
}

#[test]
fn a_blob_does_not_replace_the_file_that_it_comes_from() {
    let folder = Folder::with("same", &FILES);
    let data = Ptd::build([NewEntry::blob("long", vec![7; 100_000])], &PtdOptions::default()).unwrap();
    let blobs = folder.0.join("blobs");
    fs::write(folder.0.join("w.ptd"), data.image().unwrap().to_vec().unwrap()).unwrap();
    good(&folder, "extract w.ptd -o blobs");
    fs::copy(folder.0.join("w.ptd"), blobs.join("long.bin")).unwrap();
    let (code, message) = run(&folder, "extract blobs/long.bin -o blobs");
    assert!(code == Some(2) && message.contains("long.bin: cannot be written: it is being read"), "{message}");
    assert!(fs::read(blobs.join("long.bin")).unwrap() == fs::read(folder.0.join("w.ptd")).unwrap());
    good(&folder, "extract w.ptd -o blobs");
    assert_eq!(fs::read(blobs.join("long.bin")).unwrap(), vec![7; 100_000]);
}

#[test]
fn two_pages_with_the_same_name_are_an_error() {
    let folder = Folder::with("pages", &FILES);
    for name in ["a", "b"] {
        fs::create_dir(folder.0.join(name)).unwrap();
        fs::copy(folder.0.join("m.pte"), folder.0.join(name).join("x.pte")).unwrap();
    }
    let (code, message) = run(&folder, "report -r a b -o pages");
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("pages/x.pte.html has the page of a/x.pte"), "{message}");
    assert!(folder.0.join("pages/x.pte.html").exists());
}

#[test]
fn a_folder_without_model_files_is_an_error_everywhere() {
    let folder = Folder::with("nothing", &FILES);
    fs::create_dir(folder.0.join("none")).unwrap();
    fs::write(folder.0.join("none/readme.txt"), b"no model").unwrap();
    for line in [
        "verify -r none",
        "fit --target portable-1.0 -r none",
        "info -r none",
        "list -r none",
        "ops -r none",
        "size -r none",
        "memory -r none",
        "dump -r none",
        "disasm -r none",
        "graph --dot -r none",
        "report -r none -o pages",
        "diff -r none none",
        "verify --json -r none",
        #[cfg(feature = "remote")]
        "catalog none --output catalog",
    ] {
        let (code, message) = run(&folder, line);
        assert!(code == Some(2) && message.contains("no model file"), "{line}: {code:?} {message}");
    }
}

#[test]
fn extensions_in_upper_case_are_found() {
    let folder = Folder::with("upper", &FILES);
    fs::create_dir(folder.0.join("models")).unwrap();
    fs::rename(folder.0.join("m.pte"), folder.0.join("models/M.PTE")).unwrap();
    let output = pte().current_dir(&folder.0).args(["info", "-r", "models"]).output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("M.PTE"));
}

#[test]
#[cfg(feature = "remote")]
fn a_catalogue_replaces_no_folder_of_a_user() {
    let folder = Folder::with("catalog", &FILES);
    let files = folder.0.join("files");
    fs::create_dir(&files).unwrap();
    fs::rename(folder.0.join("m.pte"), files.join("m.pte")).unwrap();
    let is_there = |path: &std::path::Path| path.join("m.pte").exists();
    let (code, message) = run(&folder, "catalog files --output .");
    assert!(code == Some(2) && message.contains("files is inside the output folder"), "{message}");
    let model = data().join("1.5.1/linear/linear.pte");
    let (code, message) = run(&folder, &format!("catalog {} --output .", model.display()));
    assert!(code == Some(2) && message.contains("was not written by `pte catalog`"), "{message}");
    assert!(is_there(&files));
}
