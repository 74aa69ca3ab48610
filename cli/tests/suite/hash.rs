//! `pte hash`.

use crate::cli::{pte, text};
use executorch_format_support::data;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("executorch-format-{}-hash-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        for name in ["linear", "multi_method"] {
            fs::copy(data().join(format!("1.5.1/{name}/{name}.pte")), path.join(format!("{name}.pte"))).unwrap();
        }
        fs::copy(data().join("1.5.1/bundled/bundled.bpte"), path.join("bundled.bpte")).unwrap();
        Self(path)
    }

    fn run(&self, line: &str) -> (Option<i32>, String) {
        let output = pte().current_dir(&self.0).args(line.split(' ')).output().unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }

    fn good(&self, line: &str) -> String {
        let (code, told) = self.run(line);
        assert_eq!(code, Some(0), "{line}: {told}");
        told
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_hash_is_that_of_the_content() {
    let folder = Folder::new("content");
    let first = |line: &str| folder.good(line).lines().next().unwrap().split(' ').next().unwrap().to_owned();
    let hash = first("hash linear.pte");
    assert_eq!(hash.len(), 64);
    folder.good("rewrite linear.pte other.pte --segment-alignment 4096 --order by-size");
    folder.good("externalize linear.pte --all -o program.pte --data weights.ptd");
    assert_eq!(first("hash other.pte"), hash);
    assert_eq!(first("hash program.pte weights.ptd"), hash);
    assert_eq!(first("hash program.pte --data weights.ptd"), hash);
    folder.good("bundle bundled.bpte --extract-program -o inside.pte");
    assert_eq!(first("hash bundled.bpte"), first("hash inside.pte"));
    let (code, told) = folder.run("hash program.pte");
    assert!(
        code == Some(1) && told.contains("\"forward.0\", which the program uses, is in none of the files"),
        "{told}"
    );
}

#[test]
fn a_manifest_names_what_changed() {
    let folder = Folder::new("manifest");
    fs::write(folder.0.join("models.json"), folder.good("hash linear.pte multi_method.pte --json")).unwrap();
    assert_eq!(folder.good("hash --check models.json"), "linear.pte: ok\nmulti_method.pte: ok\n");
    folder.good("metadata multi_method.pte --set get_int=8 -i");
    folder.good("strip --all multi_method.pte -i");
    assert_eq!(folder.good("hash --check models.json multi_method.pte"), "multi_method.pte: ok\n");
    fs::write(folder.0.join("zeros.bin"), [0; 20]).unwrap();
    folder.good("replace linear.pte %1=zeros.bin -i");
    folder.good("select multi_method.pte --remove encode -i");
    let (code, told) = folder.run("hash --check models.json");
    assert_eq!(code, Some(1));
    let linear =
        "linear.pte: changed\n  method \"forward\" has other content\n  weight \"forward.1\" has other content\n";
    assert!(told.starts_with(linear) && told.contains("method \"encode\" is missing"), "{told}");
    let (_, json) = folder.run("hash --check models.json linear.pte --json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["files"][0]["ok"], json["files"][0]["changes"].as_array().unwrap().len()), (&false.into(), 2));
    fs::write(folder.0.join("other.json"), "{}").unwrap();
    for (line, expected) in [
        ("hash --check models.json bundled.bpte", "the manifest has no hash of this file"),
        ("hash --check other.json", "expected the output of `pte hash --json`"),
        ("hash", "required"),
    ] {
        let (code, told) = folder.run(line);
        assert!(code == Some(2) && told.contains(expected), "{line}: {told}");
    }
    fs::remove_file(folder.0.join("linear.pte")).unwrap();
    let (code, told) = folder.run("hash --check models.json");
    assert!(code == Some(2) && told.contains("linear.pte: cannot be read"), "{told}");
}
