//! Commands that would do nothing, or lose data, fail with a message.

use crate::cli::{TempFile, pte, run, text};
use executorch_format_support::fixtures::fixture;
use serde_json::Value;
use std::process::Output;

#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    let told = text(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code != 0), "{told}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    words.iter().for_each(|words| assert!(told.contains(words), "{told}"));
}

#[test]
fn two_files_are_not_grouped() {
    let file = fixture("1.5.1/add_mul/add_mul.pte").path;
    refused(&run(&["size", "--by", "method"], &[&file, &file]), &["--by groups the bytes of one file"]);
    assert!(run(&["size"], &[&file, &file]).status.success());
}

#[test]
fn missing_instructions_are_an_error() {
    let file = fixture("1.5.1/add_mul/add_mul.pte").path;
    let found = "the longest method has 2 instructions, from number 0";
    refused(&run(&["disasm", "--range", "500..600"], &[&file]), &["no instruction in 500..600", found]);
    let both = ["disasm", "--oneline", "--range", "7", "--operator", "aten::*"];
    refused(&run(&both, &[&file]), &["no instruction that matches --operator in 7..7", found]);
    assert!(text(&run(&["disasm", "--range", "1..600"], &[&file]).stdout).contains("aten::"));
}

#[test]
fn a_conversion_without_tensors_is_an_error() {
    let output = TempFile::new("none.safetensors", b"old");
    let file = fixture("1.5.1/add_mul_external/add_mul_external.pte").path;
    let words = ["no tensor to convert: tensor", "it is in a .ptd file: convert that file"];
    refused(&run(&["convert"], &[&file, &output.0]), &words);
    assert_eq!(std::fs::read(&output.0).unwrap(), b"old");
}

#[test]
fn patterns_do_not_create_names_of_unlimited_length() {
    let output = TempFile::new("long.safetensors", b"old");
    let file = fixture("1.5.1/multi_method/multi_method.pte").path;
    let doubled = ["--rename-pattern", "(.+)=$1$1"].repeat(40);
    let converted = pte().arg("convert").arg(&file).arg(&output.0).args(doubled).output().unwrap();
    refused(&converted, &["the new name of", "is longer than 65536 bytes"]);
    let long = format!("(.)={}", "$1".repeat(60_000));
    let converted = pte().arg("convert").arg(&file).arg(&output.0).args(["--rename-pattern", &long]).output().unwrap();
    refused(&converted, &["is longer than 65536 bytes"]);
    assert_eq!(std::fs::read(&output.0).unwrap(), b"old");
}

#[test]
fn a_target_for_a_microcontroller_has_pointers_of_32_bits() {
    for (name, bits) in [("payloads/other/ethosu.pte", 32), ("1.5.1/add/add.pte", 64)] {
        let target = text(&run(&["fit", "--init"], &[&fixture(name).path]).stdout);
        let expected = [format!("pointer-bits = {bits}\n"), format!("{bits}-bit pointers")];
        assert!(expected.iter().all(|expected| target.contains(expected)), "{target}");
    }
}

#[test]
fn metadata_of_eight_bytes_is_shown_by_its_likely_type() {
    let output = TempFile::new("metadata.pte", b"");
    let values = ["--set", "metadata.n=7", "--set", "metadata.f=0.5", "--set", "metadata.who=somebody"];
    let file = fixture("1.5.1/add/add.pte").path;
    let set = pte().arg("metadata").arg(&file).args(values).arg("-o").arg(&output.0).output().unwrap();
    assert!(set.status.success(), "{}", text(&set.stderr));
    let shown = text(&run(&["metadata"], &[&output.0]).stdout);
    for line in
        ["metadata.n = 7", "metadata.f = 0.5, or as an integer 4602678819172646912", "metadata.who = \"somebody\""]
    {
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
    let document: Value = serde_json::from_slice(&run(&["metadata", "--json"], &[&output.0]).stdout).unwrap();
    let entries = document["files"][0]["metadata"].as_array().unwrap();
    let number = entries.iter().find(|entry| entry["name"] == "metadata.n").unwrap();
    let bytes = &number["content"]["bytes"];
    assert!(bytes["int"] == 7 && bytes["text"].is_null(), "{number}");
}

#[test]
fn the_target_file_in_the_help_is_valid() {
    let help = text(&run(&["fit", "--help"], &[]).stdout);
    let start = help.find("  runtime = ").unwrap();
    let example = &help[start..start + help[start..].find("`--init`").unwrap()];
    assert!(example.contains("scratch = ") && example.contains("accelerator = "), "{example}");
    // Long comments take several lines in the help.
    let lines = example.lines().filter(|line| line.contains(" = ") || line.contains("[operators]"));
    let example: String = lines.map(|line| line.split('#').next().unwrap().to_owned() + "\n").collect();
    let target = TempFile::new("target.toml", example.as_bytes());
    let file = fixture("1.5.1/add/add.pte").path;
    let output = pte().arg("fit").arg(&file).arg("--target").arg(&target.0).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn shared_blobs_are_listed_with_their_files() {
    let bytes = fixture("1.5.1/add_mul/add_mul.pte").bytes().to_vec();
    let [left, right] = ["left.pte", "right.pte"].map(|name| TempFile::new(name, &bytes));
    let output = run(&["dedup", "--dry-run"], &[&left.0, &right.0]);
    let shown = text(&output.stdout);
    for file in [&left, &right] {
        assert!(shown.contains(&format!("{} forward:%", file.0.display())), "{shown}");
    }
}

#[test]
fn a_damaged_program_in_a_bundle_is_not_copied() {
    let mut bytes = fixture("1.5.1/bundled/bundled.bpte").bytes().to_vec();
    let program = bytes.windows(4).position(|bytes| bytes == b"ET12").unwrap() - 4;
    bytes[program..program + 4].fill(0xff);
    let (file, output) = (TempFile::new("damaged.bpte", &bytes), TempFile::new("copy.bpte", b"old"));
    refused(&run(&["rewrite"], &[&file.0, &output.0]), &["damaged.bpte"]);
    assert_eq!(std::fs::read(&output.0).unwrap(), b"old");
}

#[test]
fn a_file_with_converted_line_endings_is_recognized() {
    let bytes = fixture("1.5.1/add_mul/add_mul.pte").bytes().to_vec();
    let converted: Vec<u8> =
        bytes.iter().flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] }).collect();
    assert!(converted.len() > bytes.len() + 1);
    let file = TempFile::new("crlf.pte", &converted);
    refused(&run(&["info"], &[&file.0]), &["a transfer as text has damaged the file"]);
}

#[cfg(unix)]
mod unix {
    use super::refused;
    use crate::cli::{TempFile, pte};
    use executorch_format::{NewEntry, Ptd, PtdOptions};
    use executorch_format_support::fixtures::fixture;
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    /// Creates a named pipe, removed at the end.
    fn pipe(name: &str) -> TempFile {
        let file = TempFile::new(name, b"");
        std::fs::remove_file(&file.0).unwrap();
        assert!(Command::new("mkfifo").arg(&file.0).status().unwrap().success());
        file
    }

    #[test]
    fn a_pipe_is_not_changed_in_place() {
        let pipe = pipe("pipe.pte");
        let output = pte().arg("metadata").arg(&pipe.0).args(["--set", "get_n=1", "-i"]).output().unwrap();
        refused(&output, &["only a file can be changed in place"]);
    }

    #[test]
    fn an_edit_in_place_does_not_undo_a_change_by_a_program_without_locks() {
        let model = TempFile::new("model.pte", fixture("1.5.1/add_mul/add_mul.pte").bytes());
        let pipe = pipe("new.bin");
        let mut command = pte();
        command.arg("replace").arg(&model.0).arg(format!("%1={}", pipe.0.display())).arg("-i");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The command opens the pipe after the model.
        let mut data = std::fs::OpenOptions::new().write(true).open(&pipe.0).unwrap();
        let changed = fixture("1.5.1/linear/linear.pte").bytes().to_vec();
        std::fs::write(&model.0, &changed).unwrap();
        data.write_all(&[1; SIZE]).unwrap();
        drop(data);
        refused(&child.wait_with_output().unwrap(), &["another process changed it after it was read"]);
        assert_eq!(std::fs::read(&model.0).unwrap(), changed);
    }

    /// The size in bytes of the constant that is replaced.
    const SIZE: usize = 16;

    #[test]
    fn a_blob_that_does_not_fit_on_the_disk_is_not_left_behind() {
        let data = Ptd::build([NewEntry::blob("long", vec![7; 100_000])], &PtdOptions::default()).unwrap();
        let file = TempFile::new("long.ptd", &data.image().unwrap().to_vec().unwrap());
        let folder: PathBuf = file.0.with_extension("blobs");
        let _ = std::fs::remove_dir_all(&folder);
        // A limit on file sizes fails like a full disk does.
        let limited = "trap '' XFSZ; ulimit -f 20; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited]).arg(pte().get_program()).arg("extract").arg(&file.0).arg("-o").arg(&folder);
        let output = command.output().unwrap();
        refused(&output, &["long"]);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
