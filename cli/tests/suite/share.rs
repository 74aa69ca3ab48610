//! Several files of a model: what they share, and one `.ptd` for it.

use crate::cli::Folder;
use serde_json::Value;
use std::fs;

/// Programs of the same two layers, portable and delegated, and of another model.
const FILES: [(&str, &str); 3] = [
    ("1.5.1/linear/linear.pte", "a.pte"),
    ("1.5.1/linear_xnnpack/linear_xnnpack.pte", "b.pte"),
    ("1.5.1/multi_method/multi_method.pte", "c.pte"),
];

fn read(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.file(name)).unwrap()
}

#[test]
fn common_data_moves_into_one_file_which_all_programs_use() {
    let folder = Folder::with("moved", &FILES);
    let (code, told, _) = folder.run("dedup a.pte b.pte c.pte --data out/all.ptd -o out");
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("note: 2 blobs of a.pte moved, 180 bytes") && told.contains("note: c.pte has nothing"),
        "{told}"
    );
    assert_eq!(read(&folder, "out/c.pte"), read(&folder, "c.pte"));
    let (code, told, _) = folder.run("verify out/a.pte out/b.pte out/c.pte out/all.ptd");
    assert!(code == Some(0) && told.contains("0 errors, 0 warnings"), "{told}");
    assert!(read(&folder, "out/a.pte").len() < read(&folder, "a.pte").len());
    // The same weights, and nothing else, have changed their place.
    for name in ["a", "b"] {
        let line = format!("diff {name}.pte out/{name}.pte --after-data out/all.ptd --tensors");
        let (code, told, _) = folder.run(&line);
        assert!(code == Some(0), "{told}");
    }
    // In place, with a file that has a part of it already: a tensor takes the key that it has there.
    folder.run("externalize a.pte --all --data a.ptd -o x.pte");
    let keys = folder.run("list --json a.ptd").1;
    let before = read(&folder, "c.pte");
    let (code, told, _) = folder.run("dedup a.pte b.pte c.pte a.ptd --data all.ptd -i");
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(read(&folder, "c.pte"), before);
    let (_, listed, _) = folder.run("list all.ptd");
    assert!(keys.contains("forward.0") && listed.contains("forward.0 f32[5, 8]"), "{listed}");
    let (code, told, _) = folder.run("verify a.pte b.pte x.pte all.ptd");
    assert!(code == Some(0) && told.contains("0 errors, 0 warnings"), "{told}");
}

#[test]
fn all_files_are_written_or_none() {
    let folder = Folder::with("none", &FILES);
    let before = ["a.pte", "b.pte"].map(|name| read(&folder, name));
    // The second program cannot be written.
    fs::create_dir_all(folder.0.join("out/b.pte")).unwrap();
    let (code, _, message) = folder.run("dedup a.pte b.pte --data out/all.ptd -o out");
    assert!(code == Some(2) && message.contains("b.pte"), "{message}");
    assert!(!folder.0.join("out/all.ptd").exists() && !folder.0.join("out/a.pte").exists());
    // The data cannot be written.
    let (code, _, message) = folder.run("dedup a.pte b.pte --data out/b.pte -i");
    assert!(code == Some(2), "{message}");
    assert_eq!(before, ["a.pte", "b.pte"].map(|name| read(&folder, name)));
    let names = fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(names, 4, "no temporary file stays");
    for (line, expected) in [
        ("dedup a.pte b.pte --data all.ptd", "nothing to write to: give --output FOLDER or --in-place"),
        ("dedup a.pte c.pte --data all.ptd -o new", "the files share no constant"),
        ("dedup a.pte b.pte --data all.ptd --min-size 1KiB -o new", "the files share no constant"),
        ("dedup a.pte b.pte -o new", "give --data SHARED.ptd for what the files share"),
    ] {
        let (code, _, message) = folder.run(line);
        assert!(code == Some(2) && message.contains(expected), "{line}: {message}");
    }
    let (code, told, _) = folder.run("dedup a.pte b.pte --data all.ptd --dry-run");
    assert!(code == Some(0) && told.contains("4 changes"), "{told}");
    assert!(!folder.0.join("all.ptd").exists());
}

#[test]
fn sizes_of_several_files_have_what_they_share() {
    let folder = Folder::with("sizes", &FILES);
    let (code, told, _) = folder.run("size --shared a.pte b.pte c.pte");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("2 blobs, 180 bytes in 2 files: a.pte, b.pte"), "{told}");
    assert!(told.contains("180 bytes are in more than one file; `pte dedup --data SHARED.ptd`"), "{told}");
    let json: Value = serde_json::from_str(&folder.run("size --shared -r . --json").1).unwrap();
    assert_eq!((&json["repeated"], &json["common"][0]["files"]), (&180.into(), &serde_json::json!([0, 1])));
    assert_eq!(json["files"][2]["shared"], 0);
}
