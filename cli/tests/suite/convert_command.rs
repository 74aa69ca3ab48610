//! `pte convert`, `pte to-c`, and NumPy arrays in the commands that change files.

use crate::cli::Folder;
use crate::edit_command::{good, keys, refused};
use executorch_format::Ptd;
use executorch_format::convert::Safetensors;
use executorch_format_support::fixtures::{Fixture, fixture};
use serde_json::Value;
use std::path::Path;

fn python(folder: &Folder) -> Vec<u8> {
    let bytes = std::fs::read(executorch_format_support::data().join("convert/python.safetensors")).unwrap();
    std::fs::write(folder.file("m.safetensors"), &bytes).unwrap();
    bytes
}

fn shards(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.file(name)).unwrap()).unwrap()
}

#[test]
fn weights_go_from_safetensors_to_ptd_and_back() {
    let folder = Folder::new("convert");
    let bytes = python(&folder);
    good(&["convert", "m.safetensors", "w.ptd"], &folder);
    good(&["verify", "w.ptd", "--level", "strict"], &folder);
    let told: Value =
        serde_json::from_str(&good(&["convert", "w.ptd", "back.safetensors", "--json"], &folder)).unwrap();
    assert_eq!((&told["tensors"], &told["outputs"][0]["size"]), (&5.into(), &bytes.len().into()));
    assert_eq!(std::fs::read(folder.file("back.safetensors")).unwrap(), bytes);

    // In shards, and back by their index.
    good(&["convert", "w.ptd", "s.safetensors", "--max-shard-size", "30B"], &folder);
    let index = shards(&folder, "s.safetensors.index.json");
    assert_eq!(index["metadata"]["total_size"], 40);
    assert_eq!(index["weight_map"]["layer.weight"], "s-00002-of-00003.safetensors");
    good(&["convert", "s.safetensors.index.json", "joined.ptd"], &folder);
    assert_eq!(std::fs::read(folder.file("joined.ptd")).unwrap(), std::fs::read(folder.file("w.ptd")).unwrap());
    std::fs::remove_file(folder.file("s-00002-of-00003.safetensors")).unwrap();
    let (code, told) = refused(&["convert", "s.safetensors.index.json", "x.ptd"], &folder);
    assert!(code == Some(2) && told.contains("s-00002-of-00003.safetensors"), "{told}");
    // A single shard is an ordinary file.
    good(&["convert", "w.ptd", "one.safetensors", "--max-shard-size", "1GiB"], &folder);
    assert_eq!(std::fs::read(folder.file("one.safetensors")).unwrap(), bytes);
}

#[test]
fn convert_renames_tensors() {
    let folder = Folder::new("convert-names");
    python(&folder);
    std::fs::write(folder.file("names.json"), r#"{"none": "nothing"}"#).unwrap();
    let table =
        ["--rename", "mask=the mask", "--rename-table", "names.json", "--rename-pattern", r"^layer\.(\w+)$=model.$1.0"];
    good(&[&["convert", "m.safetensors", "w.ptd"][..], &table].concat(), &folder);
    let mut found = keys(&folder.file("w.ptd"));
    found.sort();
    let expected = [
        "a name with é, 語 and \"quotes\"",
        "metadata.format",
        "model.bias.0",
        "model.weight.0",
        "nothing",
        "the mask",
    ];
    assert_eq!(found, expected);
    let (code, told) = refused(&["convert", "m.safetensors", "x.ptd", "--rename", "nobody=x"], &folder);
    assert!(code == Some(2) && told.contains("no tensor to rename is called \"nobody\""), "{told}");
    let (code, told) = refused(&["convert", "m.safetensors", "x.ptd", "--rename", "mask=none"], &folder);
    assert!(code == Some(2) && told.contains("none"), "{told}");
    let (code, told) = refused(&["convert", "m.safetensors", "x.ptd", "--rename-pattern", "(=x"], &folder);
    assert!(code == Some(2) && told.contains("open group"), "{told}");
    assert!(!folder.file("x.ptd").exists());
}

#[test]
fn convert_writes_constants_of_a_program_and_lists_the_rest() {
    let folder = Folder::new("convert-pte");
    folder.copy(&fixture("1.5.1/multi_method/multi_method.pte"), "m.pte");
    good(&["convert", "m.pte", "m.safetensors"], &folder);
    let bytes = std::fs::read(folder.file("m.safetensors")).unwrap();
    let mut found: Vec<String> =
        Safetensors::parse(&bytes).unwrap().tensors.iter().map(|tensor| tensor.name.to_string()).collect();
    good(&["externalize", "m.pte", "--all", "-o", "p.pte", "--data", "w.ptd"], &folder);
    let mut expected = keys(&folder.file("w.ptd"));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);

    folder.copy(&fixture("1.5.1/align_const_64/align_const_64.pte"), "d.pte");
    let told: Value = serde_json::from_str(&good(&["convert", "d.pte", "d.safetensors", "--json"], &folder)).unwrap();
    let kinds: Vec<&str> = told["skipped"].as_array().unwrap().iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, [""; 0]);
    folder.copy(&fixture("1.5.1/blob_segments/blob_segments.pte"), "blobs.pte");
    let (code, told) = refused(&["convert", "blobs.pte", "blobs.safetensors"], &folder);
    assert!(code == Some(2) && told.contains("only its backend can read it"), "{told}");
    // A program is not converted to a .ptd.
    let (code, told) = refused(&["convert", "m.pte", "x.ptd"], &folder);
    assert!(code == Some(2) && told.contains("pte externalize"), "{told}");
}

#[test]
fn unsupported_conversions_are_refused_and_keep_the_old_file() {
    let folder = Folder::new("convert-refused");
    folder.copy(&fixture("1.5.1/ptd_blobs/ptd_blobs_4.ptd"), "b.ptd");
    std::fs::write(folder.file("old.safetensors"), "old").unwrap();
    let (code, told) = refused(&["convert", "b.ptd", "old.safetensors"], &folder);
    assert!(code == Some(2) && told.contains("blob") && told.contains("only be left out"), "{told}");
    assert_eq!(std::fs::read(folder.file("old.safetensors")).unwrap(), b"old");
    good(&["convert", "b.ptd", "new.safetensors", "--skip-unsupported"], &folder);

    std::fs::write(folder.file("bad.safetensors"), b"\x04\0\0\0\0\0\0\0{]}}").unwrap();
    let (code, told) = refused(&["convert", "bad.safetensors", "x.ptd"], &folder);
    assert!(code == Some(1) && told.contains("(byte 9)"), "{told}");
    let (code, told) = refused(&["convert", "b.ptd", "x.bin"], &folder);
    assert!(code == Some(2) && told.contains(".safetensors"), "{told}");
    assert_eq!(folder.names(), ["b.ptd", "bad.safetensors", "new.safetensors", "old.safetensors"]);
}

/// Returns the bytes of the only float constant.
fn constant(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let ptd = Ptd::parse(&bytes).unwrap();
    let entry = ptd.entry(0).unwrap();
    ptd.entry_bytes(&entry).unwrap().to_vec()
}

#[test]
fn numpy_arrays_are_extracted_replaced_and_stored_in_a_ptd() {
    let folder = Folder::new("npy");
    let files = ["const_dtypes", "const_complex", "channels_last", "odd_shapes"];
    for name in files {
        let original: Fixture = fixture(&format!("1.5.1/{name}/{name}.pte"));
        folder.copy(&original, "m.pte");
        good(&["extract", "m.pte", "--as", "npy", "-o", "blobs"], &folder);
        let manifest: Value = shards(&folder, "blobs/manifest.json");
        for file in manifest["files"].as_array().unwrap() {
            let Some(array) = file["file"].as_str().filter(|file| file.ends_with(".npy")) else { continue };
            let user = &file["users"][0];
            let target = format!("{}:{}=blobs/{array}", user["method"].as_str().unwrap(), user["value"]);
            good(&["replace", "m.pte", &target, "--permute", "-o", "same.pte"], &folder);
            assert_eq!(std::fs::read(folder.file("same.pte")).unwrap(), original.bytes(), "{name}: {target}");
        }
        std::fs::remove_dir_all(folder.file("blobs")).unwrap();
    }
    let array = executorch_format_support::data().join("convert/uint16.npy");
    std::fs::copy(array, folder.file("a.npy")).unwrap();
    good(&["ptd", "create", "-o", "w.ptd", "plain=a.npy", "half:bf16:2x3=a.npy"], &folder);
    let info = good(&["info", "w.ptd"], &folder);
    assert!(info.contains("u16[2, 3]") && info.contains("bf16[2, 3]"), "{info}");
    assert_eq!(constant(&folder.file("w.ptd")), [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    let (code, told) = refused(&["ptd", "create", "-o", "x.ptd", "a:f32:2x3=a.npy"], &folder);
    assert!(code == Some(2) && told.contains("holds u16[2, 3], expected f32[2, 3]"), "{told}");
}

#[test]
fn weights_of_another_file_are_put_into_a_program_or_a_ptd() {
    let folder = Folder::new("sources");
    folder.copy(&fixture("1.5.1/add_mul_external/add_mul_external.pte"), "p.pte");
    folder.copy(&fixture("1.5.1/add_mul_external/_default_external_constant.ptd"), "w.ptd");
    good(&["internalize", "p.pte", "--data", "w.ptd", "-o", "m.pte"], &folder);
    good(&["convert", "w.ptd", "w.safetensors"], &folder);
    let original = std::fs::read(folder.file("m.pte")).unwrap();
    let name = "a";
    for source in ["w.safetensors", "w.ptd"] {
        for source in [source, &format!("{source}:{name}")] {
            good(&["replace", "m.pte", &format!("{name}={source}"), "-o", "same.pte"], &folder);
            assert_eq!(std::fs::read(folder.file("same.pte")).unwrap(), original, "{source}");
        }
        let (code, told) = refused(&["replace", "m.pte", &format!("{name}={source}:other"), "-i"], &folder);
        assert!(code == Some(2) && told.contains("no key \"other\""), "{told}");
        good(&["ptd", "create", "-o", "new.ptd", &format!("{name}={source}")], &folder);
        good(&["ptd", "create", "-o", "other.ptd", &format!("w={source}:{name}")], &folder);
        assert_eq!(constant(&folder.file("new.ptd")), constant(&folder.file("w.ptd")));
        assert_eq!(constant(&folder.file("other.ptd")), constant(&folder.file("w.ptd")));
        assert_eq!(keys(&folder.file("other.ptd")), ["w"]);
        let (code, told) = refused(&["ptd", "create", "-o", "x.ptd", &format!("{name}:i32:1={source}")], &folder);
        assert!(code == Some(2) && told.contains("expected i32[1]"), "{told}");
    }
}

#[test]
fn a_file_is_converted_to_c() {
    let folder = Folder::new("to-c");
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    folder.copy(&file, "3 my-model.pte");
    good(&["to-c", "3 my-model.pte"], &folder);
    assert_eq!(folder.names(), ["3 my-model.pte", "model_3_my_model.c", "model_3_my_model.h"]);
    good(&["convert", "3 my-model.pte", "other.c"], &folder);
    let header = std::fs::read_to_string(folder.file("other.h")).unwrap();
    assert!(
        header.contains("#define OTHER_FORWARD_PLANNED_0_SIZE ") && header.contains("X(\"aten::add.out\")"),
        "{header}"
    );
    let operators = good(&["to-c", "3 my-model.pte", "--operators", "--name", "m"], &folder);
    assert_eq!(operators, "gen_selected_ops(LIB_NAME \"m_ops\" ROOT_OPS \"aten::add.out,aten::mm.out\")\n");
    let (code, told) = refused(&["to-c", "3 my-model.pte", "--name", "class"], &folder);
    assert!(code == Some(2) && told.contains("\"class\" cannot be the name of an array"), "{told}");
}

#[test]
fn a_c_header_has_the_sizes_of_the_runtimes_allocators() {
    let folder = Folder::new("c-allocators");
    folder.copy(&fixture("payloads/other/ethosu.pte"), "m.pte");
    good(&["to-c", "m.pte", "-o", "new/folder"], &folder);
    let header = std::fs::read_to_string(folder.file("new/folder/m.h")).unwrap();
    let info: serde_json::Value = serde_json::from_str(&good(&["info", "--json", "m.pte"], &folder)).unwrap();
    let file = &info["files"][0];
    let memory = &file["methods"][0]["method_allocator"];
    for bits in ["32", "64"] {
        let known = memory[format!("bits_{bits}")].as_u64().unwrap() + memory["xnnpack"].as_u64().unwrap();
        assert!(header.contains(&format!("#define M_FORWARD_METHOD_ALLOCATOR_SIZE_{bits} {known}u\n")), "{header}");
    }
    let scratch = file["payloads"][0]["scratch_size"].as_u64().unwrap();
    assert!(header.contains(&format!("#define M_ETHOS_U_SCRATCH_SIZE {scratch}u\n")), "{header}");
}
