//! `pte dump --blobs` and `pte build`: a file as JSON with its blobs in files, and back.

use crate::cli::{Folder, pte};
use crate::edit_command::{good, refused};
use executorch_format::Pte;
use executorch_format_support::fixtures::fixture;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// A folder with a file and its dump.
fn dumped(test: &str, name: &str) -> Folder {
    let folder = Folder::new(test);
    let fixture = fixture(name);
    let file = format!("m.{}", fixture.extension());
    folder.copy(&fixture, &file);
    assert_eq!(good(&["dump", &file, "--blobs", "blobs", "-o", "tree.json"], &folder), "");
    folder
}

/// Changes the tree of a dump.
fn edit(folder: &Folder, change: impl FnOnce(&mut Value)) {
    let path = folder.file("tree.json");
    let mut tree: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut tree);
    std::fs::write(path, tree.to_string()).unwrap();
}

const BUILD: [&str; 6] = ["build", "tree.json", "--blobs", "blobs", "-o", "new.pte"];

#[test]
fn a_file_of_each_kind_is_built_as_it_was() {
    for name in
        ["1.5.1/linear_xnnpack/linear_xnnpack.pte", "1.5.1/ptd_shared/ptd_shared.ptd", "0.2.1/add_mul/add_mul.pte"]
    {
        let folder = dumped("build-same", name);
        let (code, told) = refused(&BUILD, &folder);
        assert!(code == Some(0) && told.contains("the tree is as it was dumped"), "{told}");
        assert!(std::fs::read(folder.file("new.pte")).unwrap() == fixture(name).bytes(), "{name}");
    }
    for (name, file) in [("1.5.1/bundled/bundled.bpte", "m.bpte"), ("1.5.1/etdump/etdump.etdp", "m.etdp")] {
        let folder = Folder::new("build-other");
        folder.copy(&fixture(name), file);
        good(&["dump", file, "--blobs", "blobs", "-o", "tree.json"], &folder);
        good(&BUILD, &folder);
        assert!(std::fs::read(folder.file("new.pte")).unwrap() == fixture(name).bytes(), "{name}");
    }
}

#[test]
fn a_tree_goes_through_pipes() {
    let folder = dumped("build-pipe", "1.5.1/linear/linear.pte");
    let run = |arguments: &[&str], input: &[u8]| {
        let mut command = pte();
        command.args(arguments).current_dir(folder.file("")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    };
    let tree = run(&["dump", "m.pte", "--blobs", "others"], b"").stdout;
    assert!(tree == std::fs::read(folder.file("tree.json")).unwrap());
    let built = run(&["build", "-", "--blobs", "blobs", "-o", "-"], &tree);
    assert!(built.stdout == fixture("1.5.1/linear/linear.pte").bytes(), "{built:?}");
    let refused = run(&["build", "-", "-o", "-"], &[0; 1 << 20]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && told.contains("it is not JSON"), "{told}");
}

#[test]
fn an_edited_tree_is_built_and_verified() {
    let folder = dumped("build-edited", "1.5.1/add_mul/add_mul.pte");
    edit(&folder, |tree| {
        let plan = &mut tree["execution_plan"][0];
        plan["name"] = "infer".into();
        plan["chains"][0]["instructions"].as_array_mut().unwrap().pop();
        plan["values"].as_array_mut().unwrap().push(json!({"val_type": "Int", "val": {"int_val": 42}}));
    });
    let (code, told) = refused(&BUILD, &folder);
    assert!(code == Some(0) && told.contains("the tree was changed"), "{told}");
    let file = std::fs::read(folder.file("new.pte")).unwrap();
    assert_eq!(Pte::parse(&file).unwrap().methods()[0].name(), "infer");
    good(&["verify", "new.pte"], &folder);

    // An index that no value has.
    edit(&folder, |tree| tree["execution_plan"][0]["inputs"][0] = 99.into());
    let (code, told) = refused(&[&BUILD[..5], &["bad.pte"]].concat(), &folder);
    assert!(code == Some(1) && told.contains("the result has a new fault and was not written"), "{told}");
    assert!(told.contains("execution_plan[0].inputs[0]") && !folder.file("bad.pte").exists(), "{told}");
    edit(&folder, |tree| tree["execution_plan"][0]["inputs"][0] = "x".into());
    let (code, told) = refused(&BUILD, &folder);
    let expected = "tree.json: execution_plan[0].inputs[0]: bad JSON: line 1: invalid value: string \"x\", expected a whole number";
    assert!(code == Some(1) && told.contains(expected), "{told}");
}

#[test]
fn what_is_missing_or_in_the_way_is_named() {
    let folder = dumped("build-missing", "1.5.1/linear_xnnpack/linear_xnnpack.pte");
    // Files of an interrupted dump, which have the content to be written, are not in the way.
    good(&["dump", "m.pte", "--blobs", "blobs"], &folder);
    std::fs::write(folder.file("blobs/metadata.bin"), "other").unwrap();
    let (code, told) = refused(&["dump", "m.pte", "--blobs", "blobs"], &folder);
    assert!(code == Some(2) && told.contains("metadata.bin: cannot be written: it exists: add --overwrite"), "{told}");
    good(&["dump", "m.pte", "--blobs", "blobs", "--overwrite"], &folder);
    let (code, told) = refused(&["build", "tree.json", "-o", "new.pte"], &folder);
    assert!(code == Some(2) && told.contains("the JSON names files, such as metadata.bin: expected --blobs"), "{told}");
    std::fs::remove_file(folder.file("blobs/segments_1.bin")).unwrap();
    let (code, told) = refused(&BUILD, &folder);
    assert!(code == Some(1) && told.contains("segments[1].file: bad JSON: line"), "{told}");
    assert!(told.contains("there is no file segments_1.bin"), "{told}");
    let (code, told) = refused(&["dump", "m.pte", "m.pte", "--blobs", "other"], &folder);
    assert!(code == Some(2) && told.contains("--blobs takes one file"), "{told}");
    let (code, told) = refused(&["build", "m.pte", "-o", "new.pte"], &folder);
    assert!(code == Some(2) && told.contains("it is not JSON as `pte dump` prints it"), "{told}");
    edit(&folder, |tree| tree["execution_plan"][0]["name"] = "infer".into());
    good(&["dump", "m.pte", "--blobs", "blobs", "--overwrite", "-o", "other.json"], &folder);
    // A blob is an input, which is not replaced while it is read.
    good(&BUILD, &folder);
}

#[test]
fn json_without_files_is_built_by_the_name_of_its_output() {
    let folder = Folder::new("build-flatc");
    let file = fixture("1.5.1/add/add.pte");
    let mut tree: Value = serde_json::from_str(&file.beside("json").unwrap()).unwrap();
    // The segment of the constants, of which there are none.
    tree["segments"] = json!([{}]);
    std::fs::write(folder.file("tree.json"), tree.to_string()).unwrap();
    good(&["build", "tree.json", "-o", "new.pte"], &folder);
    good(&["verify", "new.pte"], &folder);
    let (code, told) = refused(&["build", "tree.json", "-o", "new.bin"], &folder);
    assert!(code == Some(1) && told.contains("unknown kind of file, expected .pte, .ptd or .bpte"), "{told}");
}

#[test]
fn a_file_that_json_does_not_keep_is_refused_with_the_reason() {
    let folder = Folder::new("build-refused");
    for (name, reason) in [
        ("malformed/text-utf8.pte", "execution_plan[0].name: cannot be written: a string that is not UTF-8"),
        ("malformed/value-unknown.pte", "union member 99 is of a newer schema"),
    ] {
        folder.copy(&fixture(name), "m.pte");
        let (code, told) = refused(&["dump", "m.pte", "--blobs", "blobs"], &folder);
        assert!(code == Some(1) && told.contains(reason), "{told}");
        assert!(!folder.file("blobs").exists());
    }
}
