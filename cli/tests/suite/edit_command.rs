//! The commands that change a file, run as a user runs them.

use crate::cli::{Folder, TempFile, run_in};
use executorch_format::{Ptd, Pte};
use executorch_format_support::fixtures::fixture;
use serde_json::Value;
use std::path::Path;

#[track_caller]
pub fn good(arguments: &[&str], folder: &Folder) -> String {
    let output = run_in(&folder.0, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the exit code and the message.
pub fn refused(arguments: &[&str], folder: &Folder) -> (Option<i32>, String) {
    let output = run_in(&folder.0, arguments);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

pub fn keys(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    Ptd::parse(&bytes).unwrap().entries().map(|entry| entry.key().to_owned()).collect()
}

#[test]
fn data_is_externalized_and_internalized() {
    let folder = Folder::new("out-and-back");
    let original = fixture("1.5.1/multi_method/multi_method.pte");
    folder.copy(&original, "m.pte");
    let told = good(&["externalize", "m.pte", "--all", "-o", "p.pte", "--data", "w.ptd"], &folder);
    assert!(
        told.contains("moved constant decode.0 (decode:%0, forward:%2) to a .ptd file: 32 bytes\n")
            && told.contains("5 changes: "),
        "{told}"
    );
    assert_eq!(keys(&folder.file("w.ptd")).len(), 5);
    good(&["verify", "p.pte", "--data", "w.ptd"], &folder);
    good(&["internalize", "p.pte", "--data", "w.ptd", "-o", "again.pte"], &folder);
    good(&["rewrite", "again.pte", "again.pte", "--constant-alignment", "16"], &folder);
    good(&["rewrite", "m.pte", "anew.pte", "--constant-alignment", "16"], &folder);
    assert_eq!(std::fs::read(folder.file("again.pte")).unwrap(), std::fs::read(folder.file("anew.pte")).unwrap());

    std::fs::write(folder.file("names.json"), r#"{"forward.0": "my.weight"}"#).unwrap();
    let some = ["externalize", "m.pte", "--method", "forward", "--min-size", "1", "--type", "f32"];
    let options = ["--names", "names.json", "--data", "some.ptd", "--dry-run", "--json"];
    let told: Value = serde_json::from_str(&good(&[&some[..], &options].concat(), &folder)).unwrap();
    assert_eq!((&told["changes"][0]["action"], &told["dry_run"]), (&"externalized".into(), &true.into()));
    assert!(told.to_string().contains("my.weight"), "{told}");
    assert!(!folder.file("some.ptd").exists());
    // A table that names no data of the file.
    assert_eq!(refused(&["externalize", "m.pte", "-i", "--data", "w.ptd"], &folder).0, Some(2));
}

#[test]
fn a_dry_run_writes_nothing_and_in_place_replaces_the_file() {
    let folder = Folder::new("in-place");
    let original = fixture("1.5.1/stacktrace/stacktrace.pte");
    let file = folder.copy(&original, "m.pte");
    let told = good(&["strip", "m.pte", "--all", "--dry-run"], &folder);
    assert!(told.contains("removed stack traces forward"), "{told}");
    assert_eq!((folder.names(), std::fs::read(&file).unwrap()), (vec!["m.pte".to_owned()], original.bytes().to_vec()));
    good(&["strip", "m.pte", "--all", "-i"], &folder);
    assert_eq!(folder.names(), ["m.pte"]);
    let stripped = std::fs::read(&file).unwrap();
    assert!(stripped.len() < original.bytes().len());
    let pte = Pte::parse(&stripped).unwrap();
    assert!(pte.methods().iter().flat_map(|plan| plan.chains()).all(|chain| chain.stacktrace.is_none()));
    // Without a destination, or with two, the usage is wrong.
    assert_eq!(refused(&["strip", "m.pte", "--all"], &folder).0, Some(2));
    assert_eq!(refused(&["strip", "m.pte", "--all", "-i", "-o", "x.pte"], &folder).0, Some(2));
    assert_eq!(refused(&["strip", "m.pte", "-i"], &folder).0, Some(2));
}

#[test]
fn a_bad_request_states_expected_and_found_and_changes_nothing() {
    let folder = Folder::new("bad-request");
    let original = fixture("1.5.1/linear/linear.pte");
    let file = folder.copy(&original, "m.pte");
    std::fs::write(folder.file("short.bin"), [0; 3]).unwrap();
    let (code, told) = refused(&["replace", "m.pte", "%0=short.bin", "-i"], &folder);
    assert_eq!(code, Some(2));
    assert!(told.contains("m.pte: tensor: forward:%0 is f32[") && told.contains("short.bin holds 3 bytes"), "{told}");
    let (_, told) = refused(&["replace", "m.pte", "nothing=short.bin", "-i"], &folder);
    assert!(told.contains("no data with the name or key \"nothing\", the file has none"), "{told}");
    let (_, told) = refused(&["select", "m.pte", "--keep", "other", "-i"], &folder);
    assert!(told.contains("no method like \"other\", there are: forward"), "{told}");
    let (_, told) = refused(&["strip", "w.ptd", "--all", "-i"], &folder);
    assert!(told.contains("cannot be read"), "{told}");
    assert_eq!(
        (folder.names(), std::fs::read(&file).unwrap()),
        (vec!["m.pte".into(), "short.bin".into()], original.bytes().to_vec())
    );
    // A program without its data file.
    let external = fixture("1.5.1/add_mul_external/add_mul_external.pte");
    folder.copy(&external, "p.pte");
    let other = fixture("1.5.1/ptd_blobs/ptd_blobs_4.ptd");
    folder.copy(&other, "other.ptd");
    let (code, told) = refused(&["internalize", "p.pte", "--data", "other.ptd", "-i"], &folder);
    assert!(code == Some(2) && told.contains("\"a\" is in none of the .ptd files"), "{told}");
    assert_eq!(std::fs::read(folder.file("p.pte")).unwrap(), external.bytes());
}

#[test]
fn new_data_comes_from_bytes_or_a_ptd() {
    let folder = Folder::new("new-data");
    let original = fixture("1.5.1/linear/linear.pte");
    folder.copy(&original, "m.pte");
    good(&["externalize", "m.pte", "--all", "--data", "w.ptd", "-o", "p.pte"], &folder);
    let key = keys(&folder.file("w.ptd")).remove(0);
    let method_and_value = key.replacen('.', ":", 1);
    good(&["extract", "m.pte", "-o", "blobs", "--name", &format!("{key}*")], &folder);
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.file("blobs/manifest.json")).unwrap()).unwrap();
    let blob = folder.file("blobs").join(manifest["files"][0]["blobs"][0]["file"].as_str().unwrap());
    let zeros = vec![0; std::fs::read(&blob).unwrap().len()];
    std::fs::write(&blob, &zeros).unwrap();
    let told = good(&["replace", "m.pte", &format!("{method_and_value}={}", blob.display()), "-i"], &folder);
    assert!(told.contains("replaced constant ("), "{told}");
    assert_ne!(std::fs::read(folder.file("m.pte")).unwrap(), original.bytes());
    // Restores the bytes from the .ptd.
    good(&["replace", "m.pte", &format!("{method_and_value}=w.ptd:{key}"), "-i"], &folder);
    assert_eq!(std::fs::read(folder.file("m.pte")).unwrap(), original.bytes());
    good(&["replace", "w.ptd", &format!("{key}={}", blob.display()), "-o", "zeros.ptd"], &folder);
    let bytes = std::fs::read(folder.file("zeros.ptd")).unwrap();
    let ptd = Ptd::parse(&bytes).unwrap();
    assert_eq!(ptd.entry_bytes(&ptd.get(&key).unwrap()).unwrap(), zeros);
}

#[test]
fn metadata_is_listed_set_and_removed() {
    let folder = Folder::new("metadata");
    folder.copy(&fixture("1.5.1/add/add.pte"), "m.pte");
    assert_eq!(good(&["metadata", "m.pte"], &folder), "");
    let set = ["--set", "get_n=3", "--set", "metadata.f=0.5", "--set-string", "metadata.s=7", "-i"];
    good(&[&["metadata", "m.pte"][..], &set].concat(), &folder);
    let listed = good(&["metadata", "m.pte"], &folder);
    assert!(
        listed.contains("get_n = 3\n")
            && listed.contains("metadata.f = 0.5, or as an integer")
            && listed.contains("metadata.s = \"7\"\n"),
        "{listed}"
    );
    let told: Value = serde_json::from_str(&good(&["metadata", "m.pte", "--json"], &folder)).unwrap();
    assert_eq!(told["files"][0]["metadata"].as_array().unwrap().len(), 3);
    good(&["metadata", "m.pte", "--remove", "get_n", "--remove", "metadata.s", "-i"], &folder);
    assert_eq!(good(&["metadata", "m.pte"], &folder).lines().count(), 1);
    assert_eq!(refused(&["metadata", "m.pte", "--remove", "get_n", "-i"], &folder).0, Some(2));
    std::fs::write(folder.file("chat.txt"), "{{ user }}\n").unwrap();
    good(&["metadata", "m.pte", "--set", "get_eos_ids=[5, 6]", "--set", "get_chat=@chat.txt", "-i"], &folder);
    let listed = good(&["metadata", "m.pte"], &folder);
    assert!(listed.contains("get_eos_ids = [5,6]\n") && listed.contains(r#"get_chat = "{{ user }}\n""#), "{listed}");
    for bad in ["get_x=[5", "get_x=[]", "get_x=[null]", "metadata.x=[1]"] {
        assert_eq!(refused(&["metadata", "m.pte", "--set", bad, "-i"], &folder).0, Some(2), "{bad}");
    }
    assert_eq!(refused(&["metadata", "m.pte", "--set", "get_x=@missing.txt", "-i"], &folder).0, Some(2));
    good(&["metadata", "m.pte", "--set-string", "get_at=@home", "--set-string", "get_list=[5", "-i"], &folder);
}

#[test]
fn ptd_files_are_created_merged_split_renamed_and_filtered() {
    let folder = Folder::new("ptd");
    std::fs::write(folder.file("a.bin"), [1; 24]).unwrap();
    std::fs::write(folder.file("b.bin"), [2; 100]).unwrap();
    good(&["ptd", "create", "-o", "one.ptd", "layer.w:f32:2x3=a.bin", "blob=b.bin"], &folder);
    let bytes = std::fs::read(folder.file("one.ptd")).unwrap();
    let ptd = Ptd::parse(&bytes).unwrap();
    assert_eq!(ptd.get("layer.w").unwrap().shape.unwrap().to_string(), "f32[2, 3]");
    assert_eq!(ptd.entry_bytes(&ptd.get("blob").unwrap()).unwrap(), [2; 100]);
    let (_, told) = refused(&["ptd", "create", "-o", "x.ptd", "w:f32:2x4=a.bin"], &folder);
    assert!(told.contains("\"w\" has 24 bytes, but f32[2, 4] takes 32"), "{told}");

    good(&["ptd", "split", "one.ptd", "--max-size", "50", "-o", "part.ptd"], &folder);
    assert_eq!(keys(&folder.file("part-00001-of-00002.ptd")), ["layer.w"]);
    assert_eq!(keys(&folder.file("part-00002-of-00002.ptd")), ["blob"]);
    good(&["ptd", "merge", "part-00001-of-00002.ptd", "part-00002-of-00002.ptd", "-o", "both.ptd"], &folder);
    assert_eq!(std::fs::read(folder.file("both.ptd")).unwrap(), bytes);
    good(&["ptd", "split", "one.ptd", "--name", "blob", "-o", "by.ptd"], &folder);
    assert_eq!(keys(&folder.file("by-00001-of-00002.ptd")), ["blob"]);

    good(&["ptd", "rename", "one.ptd", "blob=data", "--prefix", "m.", "-o", "renamed.ptd"], &folder);
    assert_eq!(keys(&folder.file("renamed.ptd")), ["m.layer.w", "data"]);
    assert_eq!(refused(&["ptd", "rename", "one.ptd", "no=yes", "-i"], &folder).0, Some(2));
    good(&["ptd", "filter", "one.ptd", "--remove", "lay*", "-i"], &folder);
    assert_eq!(keys(&folder.file("one.ptd")), ["blob"]);
    std::fs::write(folder.file("b.bin"), [3; 100]).unwrap();
    good(&["ptd", "create", "-o", "two.ptd", "blob=b.bin"], &folder);
    let (code, told) = refused(&["ptd", "merge", "one.ptd", "two.ptd", "-o", "x.ptd"], &folder);
    assert!(code == Some(2) && told.contains("\"blob\" has another content in one.ptd than in two.ptd"), "{told}");
    good(&["ptd", "merge", "one.ptd", "two.ptd", "--prefer", "last", "-o", "last.ptd"], &folder);
    assert_eq!(
        std::fs::metadata(folder.file("last.ptd")).unwrap().len(),
        std::fs::metadata(folder.file("two.ptd")).unwrap().len()
    );
    assert!(!folder.file("x.ptd").exists());
}

#[test]
fn merge_takes_the_preferred_content_of_a_shared_key() {
    let folder = Folder::new("prefer");
    for (file, content) in [("a", "of a"), ("b", "of b"), ("c", "of c")] {
        std::fs::write(folder.file(&format!("{file}.bin")), content).unwrap();
    }
    good(&["ptd", "create", "-o", "a.ptd", "shared=a.bin", "only.a=a.bin"], &folder);
    good(&["ptd", "create", "-o", "b.ptd", "shared=b.bin", "late=b.bin"], &folder);
    good(&["ptd", "create", "-o", "c.ptd", "late=c.bin"], &folder);
    for (preferred, shared, late) in [("first", "of a", "of b"), ("last", "of b", "of c")] {
        good(&["ptd", "merge", "a.ptd", "b.ptd", "c.ptd", "--prefer", preferred, "-o", "merged.ptd"], &folder);
        let bytes = std::fs::read(folder.file("merged.ptd")).unwrap();
        let ptd = Ptd::parse(&bytes).unwrap();
        let mut found: Vec<_> =
            ptd.entries().map(|entry| (entry.key().to_owned(), ptd.entry_bytes(&entry).unwrap().to_vec())).collect();
        found.sort();
        let expected = [("late", late), ("only.a", "of a"), ("shared", shared)];
        assert_eq!(found, expected.map(|(key, content)| (key.to_owned(), content.as_bytes().to_vec())), "{preferred}");
    }
}

#[test]
fn dedup_lists_blobs_shared_by_several_files() {
    let folder = Folder::new("dedup");
    folder.copy(&fixture("1.5.1/add_mul/add_mul.pte"), "a.pte");
    folder.copy(&fixture("1.5.1/add_mul_external/_default_external_constant.ptd"), "b.ptd");
    let told = good(&["dedup", "a.pte", "b.ptd", "--dry-run"], &folder);
    assert!(told.contains("2 blobs stored more than once: 32 bytes too many"), "{told}");
    let told: Value =
        serde_json::from_str(&good(&["dedup", "a.pte", "b.ptd", "--dry-run", "--json"], &folder)).unwrap();
    assert_eq!(told["copies"][0]["places"], 2);
    assert_eq!(refused(&["dedup", "a.pte", "b.ptd", "-i"], &folder).0, Some(2));
    assert!(good(&["dedup", "a.pte", "-o", "c.pte"], &folder).contains("nothing to change"));
}

#[test]
fn a_name_that_could_act_on_a_terminal_is_escaped() {
    let folder = Folder::new("names");
    std::fs::write(folder.file("x.bin"), [1; 4]).unwrap();
    good(&["ptd", "create", "-o", "k.ptd", "a\u{1b}[2J=x.bin"], &folder);
    let told = good(&["ptd", "filter", "k.ptd", "--remove", "a*", "--dry-run"], &folder);
    assert!(!told.contains('\u{1b}') && told.contains("removed key a"), "{told:?}");
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_a_link() {
    let folder = Folder::new("link");
    let original = fixture("1.5.1/stacktrace/stacktrace.pte");
    let target = folder.copy(&original, "target.pte");
    std::os::unix::fs::symlink(&target, folder.file("link.pte")).unwrap();
    good(&["strip", "link.pte", "--stack-traces", "-i"], &folder);
    assert!(std::fs::symlink_metadata(folder.file("link.pte")).unwrap().is_symlink());
    assert!(std::fs::read(&target).unwrap().len() < original.bytes().len());
}

#[test]
fn a_folder_that_cannot_be_created_keeps_the_file_and_a_file_can_be_its_own_output() {
    let folder = Folder::new("own");
    let original = fixture("1.5.1/stacktrace/stacktrace.pte");
    folder.copy(&original, "target.pte");
    let (code, told) = refused(&["strip", "target.pte", "--all", "-o", "target.pte/no-folder.pte"], &folder);
    assert!(code == Some(2) && told.contains("cannot be written"), "{told}");
    let made = TempFile::new("same.pte", original.bytes());
    let same = made.0.display().to_string();
    good(&["strip", &same, "--stack-traces", "-o", &same], &folder);
    assert!(std::fs::read(&made.0).unwrap().len() < original.bytes().len());
}

#[test]
fn a_constant_of_xnnpack_gets_the_hash_of_its_new_content_as_key() {
    let folder = Folder::new("xnnpack-key");
    let original = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    folder.copy(&original, "m.pte");
    let pte = Pte::parse(original.bytes()).unwrap();
    let key = pte.named_data()[0].key();
    let size = pte.named_data_ref(&pte.named_data()[0]).unwrap().size();
    std::fs::write(folder.file("new.bin"), vec![0; size as usize]).unwrap();
    let told = good(&["replace", "m.pte", &format!("{key}=new.bin"), "-o", "n.pte"], &folder);
    assert!(told.contains(&format!("it was {key}")), "{told}");
    let listed: Value = serde_json::from_str(&good(&["list", "--hash", "--json", "n.pte"], &folder)).unwrap();
    let blobs = listed["files"][0]["blobs"].as_array().unwrap();
    let named: Vec<&Value> = blobs.iter().filter(|blob| blob["kind"] == "named").collect();
    assert!(named.len() == 2 && named.iter().all(|blob| blob["users"][0]["key"] == blob["sha256"]), "{listed}");
    let told = good(&["replace", "m.pte", &format!("{key}=new.bin"), "--keep-key", "-i"], &folder);
    assert!(told.contains(&format!("replaced named data {key}")) && told.contains("note: "), "{told}");
}

#[test]
fn if_the_program_cannot_be_written_its_data_is_not_written_either() {
    let folder = Folder::new("both-or-none");
    let original = fixture("1.5.1/multi_method/multi_method.pte");
    let file = folder.copy(&original, "m.pte");
    std::fs::write(folder.file("old.ptd"), "old").unwrap();
    std::fs::create_dir(folder.file("folder")).unwrap();
    for data in ["new.ptd", "old.ptd"] {
        for output in ["m.pte/no-folder.pte", "folder"] {
            let (code, told) = refused(&["externalize", "m.pte", "--all", "--data", data, "-o", output], &folder);
            assert!(code == Some(2) && told.contains("cannot be written"), "{told}");
        }
    }
    let (code, told) = refused(&["externalize", "m.pte", "--all", "--data", "m.pte", "-i"], &folder);
    assert!(code == Some(2) && told.contains("two results cannot be the same file"), "{told}");
    assert_eq!(folder.names(), ["folder", "m.pte", "old.ptd"]);
    assert_eq!(std::fs::read(&file).unwrap(), original.bytes());
    assert_eq!(std::fs::read(folder.file("old.ptd")).unwrap(), b"old");
}

#[test]
fn a_name_that_matches_nothing_is_an_error_with_similar_names() {
    let folder = Folder::new("nothing");
    folder.copy(&fixture("1.5.1/linear/linear.pte"), "m.pte");
    std::fs::write(folder.file("a.bin"), [1; 48]).unwrap();
    good(&["ptd", "create", "-o", "w.ptd", "layers.0.w:float32:3x4=a.bin", "head:torch.int64:6=a.bin"], &folder);
    good(&["convert", "w.ptd", "w.safetensors"], &folder);
    let files = folder.names();
    let before: Vec<Vec<u8>> = files.iter().map(|name| std::fs::read(folder.file(name)).unwrap()).collect();
    let near = "did you mean \"layers.0.w\"";
    let requests: &[(&[&str], &str)] = &[
        (&["ptd", "filter", "w.ptd", "--keep", "layres.*", "-i"], near),
        (&["ptd", "filter", "w.ptd", "--keep", "layers.*", "--remove", "haed", "-i"], "did you mean \"head\""),
        (&["ptd", "split", "w.ptd", "--name", "layres*", "-o", "x.ptd"], near),
        (&["ptd", "rename", "w.ptd", "layer.0.w=a", "-i"], near),
        (&["ptd", "create", "-o", "x.ptd", "c:f33:3x4=a.bin"], "no scalar type \"f33\", did you mean \"f32\""),
        (&["ptd", "create", "-o", "x.ptd", "c:float32=a.bin"], "c:float32:3x4"),
        (&["ptd", "create", "-o", "x.ptd", "c:f32:3xx4=a.bin"], "c:f32:3xx4: expected sizes such as 3x4"),
        (&["ptd", "create", "-o", "x.ptd", "c:f32:3,4=a.bin"], "c:f32:3,4: expected sizes such as 3x4"),
        (&["ptd", "create", "-o", "x.ptd", "c:f33:3,4=a.bin"], "no scalar type \"f33\""),
        (&["ptd", "create", "-o", "x.ptd", "c=w.ptd:layer"], near),
        (
            &["externalize", "m.pte", "--name", "nothing", "--data", "x.ptd", "-i"],
            "no data with a key like \"nothing\"",
        ),
        (&["externalize", "m.pte", "--method", "foward", "--data", "x.ptd", "-i"], "did you mean \"forward\""),
        (&["externalize", "m.pte", "--type", "i8", "--data", "x.ptd", "-i"], "there are: f32"),
        (&["externalize", "m.pte", "--kind", "state", "--data", "x.ptd", "-i"], "select none of 2 blobs"),
        (&["externalize", "m.pte", "--min-size", "9999", "--data", "x.ptd", "-i"], "select none of 2 blobs"),
        (&["internalize", "m.pte", "--data", "w.ptd", "--name", "layres", "-i"], near),
        (&["internalize", "m.pte", "--data", "w.ptd", "-i"], "nothing to copy"),
        (&["select", "m.pte", "--remove", "foward", "-i"], "did you mean \"forward\""),
        (&["metadata", "m.pte", "--remove", "get_n", "-i"], "no metadata \"get_n\", the file has none"),
        (&["extract", "m.pte", "--name", "forward.99999", "-o", "x"], "no blob like \"forward.99999\""),
        (&["replace", "w.ptd", "layer.0.w=a.bin", "-i"], near),
        (&["convert", "w.safetensors", "x.ptd", "--rename", "layer.0.w=a"], near),
        (&["convert", "w.safetensors", "x.ptd", "--rename-pattern", "^layres=a"], near),
    ];
    for (request, expected) in requests {
        let (code, told) = refused(request, &folder);
        assert!(code == Some(2) && told.contains(expected), "{request:?}: {code:?} {told}");
        assert_eq!(folder.names(), files, "{request:?}");
    }
    for (name, before) in files.iter().zip(before) {
        assert_eq!(std::fs::read(folder.file(name)).unwrap(), before, "{name}");
    }
}

#[test]
fn a_quiet_edit_prints_only_requested_output() {
    let folder = Folder::new("quiet");
    folder.copy(&fixture("1.5.1/linear/linear.pte"), "m.pte");
    let silent = |arguments: &[&str]| {
        let output = run_in(&folder.0, arguments);
        assert!(output.status.success(), "{arguments:?}");
        (output.stdout.len(), output.stderr.len())
    };
    assert_eq!(silent(&["-q", "externalize", "m.pte", "--all", "--data", "w.ptd", "-o", "p.pte"]), (0, 0));
    assert_eq!(silent(&["ptd", "rename", "w.ptd", "--prefix", "m.", "-q", "-i"]), (0, 0));
    assert_eq!(silent(&["-q", "strip", "m.pte", "--all", "--dry-run"]), (0, 0));
    assert_ne!(silent(&["-q", "strip", "m.pte", "--names", "-o", "n.pte", "--json"]).0, 0);
}

#[test]
fn many_changes_are_counted_and_listed_on_request() {
    let folder = Folder::new("many-changes");
    let keys: Vec<String> = (0..12).map(|index| format!("k{index:02}")).collect();
    std::fs::write(folder.file("f.bin"), [1, 2, 3, 4]).unwrap();
    let entries: Vec<String> = keys.iter().map(|key| format!("{key}=f.bin")).collect();
    let create =
        [&["ptd", "create", "-o", "new/w.ptd"][..], &entries.iter().map(String::as_str).collect::<Vec<_>>()].concat();
    let told = good(&create, &folder);
    assert!(told.contains("added 12 keys: 48 bytes") && told.contains("12 changes") && !told.contains("k03"), "{told}");
    // Each change is listed only with -v.
    let told = good(&[&create[..], &["-v"]].concat(), &folder);
    assert!(keys.iter().all(|key| told.contains(&format!("added key {key}: 4 bytes"))), "{told}");
    for entry in ["=f.bin", ":f32:1=f.bin"] {
        let (code, told) = refused(&["ptd", "create", entry, "-o", "x.ptd"], &folder);
        assert!(code == Some(2) && told.contains("an empty key"), "{told}");
    }
}

#[test]
fn an_edit_without_changes_does_not_write_the_file() {
    let folder = Folder::new("no-change");
    let original = fixture("1.5.1/linear/linear.pte");
    let file = folder.copy(&original, "m.pte");
    let written = || std::fs::metadata(&file).unwrap().modified().unwrap();
    let before = written();
    let output = run_in(&folder.0, &["dedup", "m.pte", "-i"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.starts_with("nothing to change: the file is the same") && output.stderr.is_empty(), "{told}");
    assert_eq!(written(), before);
    // A separate output is written all the same.
    good(&["dedup", "m.pte", "-o", "copy.pte"], &folder);
    assert_eq!(std::fs::read(folder.file("copy.pte")).unwrap(), original.bytes());
    let made = good(&["ptd", "create", "-o", "w.ptd", "m=m.pte"], &folder);
    assert!(made.contains("added key m:") && !made.contains("nothing to change"), "{made}");
    let split = good(&["ptd", "split", "w.ptd", "--name", "m", "-o", "part.ptd"], &folder);
    assert!(split.contains("1 key") && !split.contains("nothing to change"), "{split}");
}

#[test]
fn only_the_named_user_is_replaced_and_the_others_are_listed() {
    let folder = Folder::new("shared");
    for (file, byte) in [("ones.bin", 1), ("threes.bin", 3), ("fives.bin", 5)] {
        std::fs::write(folder.file(file), [byte; 16]).unwrap();
    }
    good(&["ptd", "create", "-o", "w.ptd", "ln1:f32:4=ones.bin", "ln2:f32:4=ones.bin"], &folder);
    good(&["replace", "w.ptd", "ln1=threes.bin", "ln2=fives.bin", "-o", "two.ptd"], &folder);
    let content = |file: &str, key: &str| {
        let bytes = std::fs::read(folder.file(file)).unwrap();
        let ptd = Ptd::parse(&bytes).unwrap();
        ptd.entry_bytes(&ptd.get(key).unwrap()).unwrap()[0]
    };
    assert_eq!([content("two.ptd", "ln1"), content("two.ptd", "ln2")], [3, 5]);
    // In the end, no user keeps the old bytes.
    let told = good(&["replace", "w.ptd", "ln1=threes.bin", "ln2=fives.bin", "-o", "two.ptd"], &folder);
    assert!(!told.contains("keep"), "{told}");
    // Two different contents for one key are an error.
    for request in [&["ln1=threes.bin", "ln1=fives.bin"][..], &["ln1=threes.bin", "ln2=fives.bin", "--shared"]] {
        let (code, told) = refused(&[&["replace", "w.ptd", "-i"], request].concat(), &folder);
        assert!(code == Some(2) && told.contains("have different bytes for key ln1"), "{code:?} {told}");
        assert_eq!(content("w.ptd", "ln1"), 1);
    }
    good(&["replace", "w.ptd", "ln1=threes.bin", "ln2=threes.bin", "--shared", "-o", "same.ptd"], &folder);
    assert_eq!([content("same.ptd", "ln1"), content("same.ptd", "ln2")], [3, 3]);
    let told = good(&["replace", "w.ptd", "ln1=threes.bin", "-o", "one.ptd"], &folder);
    assert!(
        told.contains("replaced key ln1 (key ln1): 16 bytes; key ln2 shared the old bytes and keeps them"),
        "{told}"
    );
    let told = good(&["replace", "w.ptd", "ln1=threes.bin", "--shared", "-o", "all.ptd"], &folder);
    assert!(told.contains("replaced key ln1 (key ln1, key ln2)"), "{told}");
    assert_eq!([content("all.ptd", "ln1"), content("all.ptd", "ln2")], [3, 3]);
}

#[test]
fn payloads_are_unpacked_into_the_files_of_their_backends() {
    let folder = Folder::new("unpacked");
    folder.copy(&fixture("payloads/other/coreml.pte"), "m.pte");
    let listed = good(&["extract", "m.pte", "--unpack"], &folder);
    assert!(listed.contains("forward.delegate0.unpacked/model.mlpackage/Manifest.json"), "{listed}");
    for _ in 0..2 {
        let manifest = good(&["extract", "m.pte", "--unpack", "-o", "out", "--json"], &folder);
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let blob = &manifest["files"][0]["blobs"][0];
        assert_eq!(blob["file"], "forward.delegate0.unpacked");
        assert_eq!(
            (&blob["unpacked"]["kind"], &blob["unpacked"]["seen"]),
            (&Value::from("CoreMl"), &Value::from(true))
        );
        for part in blob["unpacked"]["files"].as_array().unwrap() {
            let bytes = std::fs::read(folder.file("out").join(part["file"].as_str().unwrap())).unwrap();
            assert_eq!(bytes.len() as u64, part["size"].as_u64().unwrap());
        }
    }
    let package = folder.file("out/forward.delegate0.unpacked/model.mlpackage");
    let manifest: Value = serde_json::from_slice(&std::fs::read(package.join("Manifest.json")).unwrap()).unwrap();
    let items = manifest["itemInfoEntries"].as_object().unwrap();
    assert_eq!(items.len(), 2);
    for item in items.values() {
        assert!(package.join("Data").join(item["path"].as_str().unwrap()).exists(), "{item}");
    }

    // A folder that the command did not create is unchanged.
    std::fs::create_dir_all(folder.file("own/forward.delegate0.unpacked/mine")).unwrap();
    std::fs::write(folder.file("own/forward.delegate0.unpacked/mine/notes.txt"), "mine").unwrap();
    let (code, message) = refused(&["extract", "m.pte", "--unpack", "-o", "own"], &folder);
    assert!(code == Some(2) && message.contains("exists"), "{message}");
    // An interrupted command leaves some of its files, without the manifest.
    std::fs::remove_file(folder.file("out/manifest.json")).unwrap();
    std::fs::remove_file(package.join("Manifest.json")).unwrap();
    good(&["extract", "m.pte", "--unpack", "-o", "out"], &folder);
    assert!(package.join("Manifest.json").exists() && folder.file("out/manifest.json").exists());

    folder.copy(&fixture("1.5.1/linear/linear.pte"), "p.pte");
    let (code, message) = refused(&["extract", "p.pte", "--unpack", "-o", "none"], &folder);
    assert!(code == Some(2) && message.contains("no payload can be unpacked"), "{message}");
    assert!(!folder.file("none").exists());
}

#[test]
fn weights_of_xnnpack_are_replaced_by_name_and_the_permutation_is_said() {
    let folder = Folder::new("xnnpack_names");
    let data = executorch_format_support::data().join("replace");
    for file in ["conv2d.old.pte", "conv2d.etrecord", "conv2d.safetensors", "external.old.pte", "external.old.ptd"] {
        std::fs::copy(data.join(file), folder.file(file)).unwrap();
    }
    for file in ["external.etrecord", "external.safetensors"] {
        std::fs::copy(data.join(file), folder.file(file)).unwrap();
    }
    let (weight, bias) = ("weight=conv2d.safetensors", "bias=conv2d.safetensors");
    let names = ["--names", "conv2d.etrecord"];
    let told = good(&[&["replace", "conv2d.old.pte", weight, bias, "-o", "n.pte"], &names[..]].concat(), &folder);
    assert!(told.contains("weight: permuted OIHW to OHWI"), "{told}");
    assert_eq!(std::fs::read(folder.file("n.pte")).unwrap(), std::fs::read(data.join("conv2d.new.pte")).unwrap());
    let twice = [&["replace", "conv2d.old.pte", "weight=external.safetensors:weight", "-i"], &names[..]].concat();
    let (code, told) = refused(&twice, &folder);
    assert!(code == Some(2) && told.contains("f32[8, 3, 3, 2]") && told.contains("f32[4, 3, 3, 2]"), "{told}");

    let external = ["replace", "external.old.ptd", "weight=external.safetensors", "-o", "n.ptd"];
    let program = ["--program", "external.old.pte", "--names", "external.etrecord"];
    let told = good(&[&external[..], &program].concat(), &folder);
    assert!(told.contains("weight: permuted OIHW to OHWI"), "{told}");
    let (code, told) = refused(&["replace", "conv2d.old.pte", weight, "--program", "conv2d.old.pte", "-i"], &folder);
    assert!(code == Some(2) && told.contains("--program is for a .ptd"), "{told}");
}
