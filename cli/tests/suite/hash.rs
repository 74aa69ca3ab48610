//! `pte hash`.

use crate::cli::Folder;
use serde_json::Value;
use std::fs;

const FILES: [(&str, &str); 3] = [
    ("1.5.1/linear/linear.pte", "linear.pte"),
    ("1.5.1/multi_method/multi_method.pte", "multi_method.pte"),
    ("1.5.1/bundled/bundled.bpte", "bundled.bpte"),
];

/// Runs the command. Returns the exit code, and both outputs together.
fn run(folder: &Folder, line: &str) -> (Option<i32>, String) {
    let (code, out, errors) = folder.run(line);
    (code, out + &errors)
}

fn good(folder: &Folder, line: &str) -> String {
    let (code, told) = run(folder, line);
    assert_eq!(code, Some(0), "{line}: {told}");
    told
}

#[test]
fn the_hash_is_that_of_the_content() {
    let folder = Folder::with("content", &FILES);
    let first = |line: &str| good(&folder, line).lines().next().unwrap().split(' ').next().unwrap().to_owned();
    let hash = first("hash linear.pte");
    assert_eq!(hash.len(), 64);
    good(&folder, "rewrite linear.pte other.pte --segment-alignment 4096 --order by-size");
    good(&folder, "externalize linear.pte --all -o program.pte --data weights.ptd");
    assert_eq!(first("hash other.pte"), hash);
    assert_eq!(first("hash program.pte weights.ptd"), hash);
    assert_eq!(first("hash program.pte --data weights.ptd"), hash);
    good(&folder, "bundle bundled.bpte --extract-program -o inside.pte");
    assert_eq!(first("hash bundled.bpte"), first("hash inside.pte"));
    let (code, told) = run(&folder, "hash program.pte");
    assert!(
        code == Some(1) && told.contains("\"forward.0\", which the program uses, is in none of the files"),
        "{told}"
    );
}

#[test]
fn a_manifest_names_what_changed() {
    let folder = Folder::with("manifest", &FILES);
    fs::write(folder.0.join("models.json"), good(&folder, "hash linear.pte multi_method.pte --json")).unwrap();
    assert_eq!(good(&folder, "hash --check models.json"), "linear.pte: ok\nmulti_method.pte: ok\n");
    good(&folder, "metadata multi_method.pte --set get_int=8 -i");
    good(&folder, "strip --all multi_method.pte -i");
    assert_eq!(good(&folder, "hash --check models.json multi_method.pte"), "multi_method.pte: ok\n");
    fs::write(folder.0.join("zeros.bin"), [0; 20]).unwrap();
    good(&folder, "replace linear.pte %1=zeros.bin -i");
    good(&folder, "select multi_method.pte --remove encode -i");
    let (code, told) = run(&folder, "hash --check models.json");
    assert_eq!(code, Some(1));
    let linear =
        "linear.pte: changed\n  method \"forward\" has other content\n  weight \"forward.1\" has other content\n";
    assert!(told.starts_with(linear) && told.contains("method \"encode\" is missing"), "{told}");
    let (_, json) = run(&folder, "hash --check models.json linear.pte --json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["files"][0]["ok"], json["files"][0]["changes"].as_array().unwrap().len()), (&false.into(), 2));
    fs::write(folder.0.join("other.json"), "{}").unwrap();
    for (line, expected) in [
        ("hash --check models.json bundled.bpte", "the manifest has no hash of this file"),
        ("hash --check other.json", "expected the output of `pte hash --json`"),
        ("hash", "required"),
    ] {
        let (code, told) = run(&folder, line);
        assert!(code == Some(2) && told.contains(expected), "{line}: {told}");
    }
    fs::remove_file(folder.0.join("linear.pte")).unwrap();
    let (code, told) = run(&folder, "hash --check models.json");
    assert!(code == Some(2) && told.contains("linear.pte: cannot be read"), "{told}");
}
