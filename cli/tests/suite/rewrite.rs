//! `pte rewrite`.

use crate::cli::{TempFile, pte, run};
use executorch_format::schema::program::DataLocation;
use executorch_format::verify::{Finding, Level};
use executorch_format::{Detected, FieldOrder, Model, Ptd, Pte, WriteStyle};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each};
use std::path::Path;
use std::process::Output;

fn rewrite(input: &Path, output: &Path, options: &[&str]) -> Output {
    pte().arg("rewrite").arg(input).arg(output).args(options).output().unwrap()
}

fn rewritten(input: &Fixture, options: &[&str]) -> Vec<u8> {
    let made = TempFile::new(&format!("rewritten-{}", options.join("")), b"");
    let output = rewrite(&input.path, &made.0, options);
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&made.0).unwrap()
}

fn refused(input: &Path, options: &[&str]) -> (Option<i32>, String) {
    let made = TempFile::new("refused", b"unchanged");
    let output = rewrite(input, &made.0, options);
    assert!(output.stdout.is_empty());
    assert_eq!(std::fs::read(&made.0).unwrap(), b"unchanged", "{options:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn without_options_the_file_is_the_same() {
    for_each(&fixtures(), |fixture| {
        let made = TempFile::new("same", b"");
        // Windows says what is lost if a file is replaced.
        std::fs::remove_file(&made.0).map_err(|error| error.to_string())?;
        let output = rewrite(&fixture.path, &made.0, &[]);
        let same = format!("nothing to change: the file is the same, {} bytes\n", fixture.bytes().len());
        equal("stdout", String::from_utf8_lossy(&output.stdout).as_ref(), same.as_str())?;
        equal("same", std::fs::read(&made.0).unwrap() == fixture.bytes(), true)?;
        let expected = format!("{}: {} bytes\n", made.0.display(), fixture.bytes().len());
        equal("stderr", String::from_utf8_lossy(&output.stderr).as_ref(), expected.as_str())
    });
}

#[test]
fn a_dry_run_shows_the_new_size_and_writes_nothing() {
    let input = fixture("1.5.1/add_mul/add_mul.pte");
    let run = |options: &[&str]| {
        let output = pte().arg("rewrite").arg(&input.path).args(options).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let size = rewritten(&input, &["--segment-alignment=4096"]).len();
    let before = input.bytes().len();
    let told = run(&["--segment-alignment=4096", "--dry-run"]);
    assert_eq!(
        told,
        format!("replaced layout: {before} bytes to {size}\n1 change: {before} bytes before, {size} bytes after\n")
    );
    let kept = std::env::temp_dir().join(format!("executorch-format-{}-dry", std::process::id()));
    let json: serde_json::Value =
        serde_json::from_str(&run(&["--relayout", "--dry-run", "--json", "-o", kept.to_str().unwrap()])).unwrap();
    assert_eq!((&json["dry_run"], &json["changes"][0]["subject"]), (&true.into(), &"layout".into()));
    assert_eq!(json["outputs"][0]["file"], kept.to_str().unwrap());
    assert!(!kept.exists());
    let unchanged: serde_json::Value = serde_json::from_str(&run(&["--dry-run", "--json"])).unwrap();
    assert_eq!((unchanged["changes"].as_array().unwrap().len(), &unchanged["outputs"][0]["size"]), (0, &before.into()));
}

#[test]
fn the_options_set_the_layout_of_a_program() {
    let input = fixture("1.5.1/blob_segments/blob_segments.pte");
    let options = ["--segment-alignment=4096", "--delegate-alignment=512", "--header-length=24", "--order=by-size"];
    let file = rewritten(&input, &options);
    let pte = Pte::parse(&file).unwrap();
    assert_eq!(pte.header.unwrap().length, 24);
    assert!(pte.program.segments.iter().flatten().all(|segment| segment.offset % 4096 == 0));
    assert_eq!(pte.write_style().unwrap().style.field_order, FieldOrder::BySize);

    let inline = rewritten(&input, &["--delegate=inline", "--delegate-alignment=1024"]);
    let pte = Pte::parse(&inline).unwrap();
    let delegates = pte.methods()[0].delegates.as_ref().unwrap();
    assert!(delegates.iter().all(|delegate| delegate.processed.unwrap().location == DataLocation::INLINE));
    let data = pte.program.backend_delegate_data.as_deref().unwrap().iter().flat_map(|data| data.data.as_deref());
    let filled: Vec<_> = data.filter(|data| !data.is_empty()).collect();
    assert_eq!(filled.len(), 1);
    assert!(filled.iter().all(|data| executorch_format::offset_in(&inline, data).unwrap() % 1024 == 0));
    assert_eq!(pte.write_style().unwrap().style.delegate_alignment, 1024);

    let constants = rewritten(&fixture("1.5.1/add_mul/add_mul.pte"), &["--constant-alignment=64"]);
    let pte = Pte::parse(&constants).unwrap();
    assert_eq!(pte.program.constant_segment.unwrap().offsets.as_deref(), Some(&[0, 0, 64][..]));
}

#[test]
fn a_file_keeps_its_style_when_its_layout_is_recomputed() {
    for (name, expected) in [
        ("1.5.1/add_mul/add_mul.pte", WriteStyle::PYTHON),
        ("0.4.0/add_mul/add_mul.pte", WriteStyle::FLATC),
        ("1.5.1/ptd_dtypes/ptd_dtypes.ptd", WriteStyle::FLATC),
        ("1.5.1/ptd_save_cpp/save_ptd_64.ptd", WriteStyle::SAVE_PTD),
    ] {
        let file = rewritten(&fixture(name), &["--relayout"]);
        let found = match name.ends_with(".pte") {
            true => Pte::parse(&file).unwrap().write_style().and_then(Detected::proven),
            false => Ptd::parse(&file).unwrap().write_style().and_then(Detected::proven),
        };
        let mut found = found.unwrap();
        found.header_gap = None;
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_options_set_the_layout_of_a_ptd() {
    let input = fixture("1.5.1/ptd_dtypes/ptd_dtypes.ptd");
    let file = rewritten(&input, &["--segment-alignment=1024", "--order=by-id"]);
    let (before, after) = (Ptd::parse(input.bytes()).unwrap(), Ptd::parse(&file).unwrap());
    assert_eq!(after.write_style().unwrap().style.field_order, FieldOrder::ById);
    assert!(after.flat_tensor.segments.iter().flatten().all(|segment| segment.offset % 1024 == 0));
    for (before_entry, after_entry) in before.entries().zip(after.entries()) {
        assert_eq!(before_entry.key, after_entry.key);
        assert_eq!(before.entry_bytes(&before_entry).unwrap(), after.entry_bytes(&after_entry).unwrap());
    }
}

#[test]
fn a_file_of_the_current_exporter_is_the_same_after_a_relayout() {
    for name in ["linear_xnnpack/linear_xnnpack.pte", "named_data/named_data.pte", "ptd_shared/ptd_shared.ptd"] {
        let input = fixture(&format!("1.5.1/{name}"));
        assert!(rewritten(&input, &["--relayout"]) == input.bytes(), "{name}");
    }
}

#[test]
fn a_file_may_replace_itself() {
    let input = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let made = TempFile::new("itself.pte", input.bytes());
    assert!(rewrite(&made.0, &made.0, &["--segment-alignment=4096"]).status.success());
    let file = std::fs::read(&made.0).unwrap();
    assert!(file.len() > input.bytes().len() && Pte::parse(&file).is_ok());
    assert!(rewrite(&made.0, &made.0, &[]).status.success());
    assert!(std::fs::read(&made.0).unwrap() == file);
}

#[test]
fn a_file_of_an_unofficial_writer_is_written_unchanged() {
    let input = fixture("1.5.1/align_segment_4096/align_segment_4096.pte");
    let base = Pte::parse(input.bytes()).unwrap().segment_base_offset() as usize;
    let mut bytes = input.bytes().to_vec();
    // Bytes in the padding between the program and the segments, and after the last segment.
    bytes[base - 1] = 1;
    bytes.extend_from_slice(b"trailing");
    let unusual = TempFile::new("unusual.pte", &bytes);
    let same = TempFile::new("same.pte", b"");
    assert!(rewrite(&unusual.0, &same.0, &[]).status.success());
    assert!(std::fs::read(&same.0).unwrap() == bytes);
    let clean = TempFile::new("clean.pte", b"");
    assert!(rewrite(&unusual.0, &clean.0, &["--drop-trailing", "--segment-alignment=4096"]).status.success());
    assert!(std::fs::read(&clean.0).unwrap() == input.bytes());
}

#[test]
fn wrong_options_leave_the_output_unchanged() {
    let program = fixture("1.5.1/add_mul/add_mul.pte").path;
    for option in ["--segment-alignment=3", "--segment-alignment=0", "--constant-alignment=-1", "--header-length=25"] {
        assert_eq!(refused(&program, &[option]).0, Some(2), "{option}");
    }
    assert_eq!(refused(&program, &["--delegate=elsewhere"]).0, Some(2));
    assert_eq!(refused(&program, &["--order=by-name"]).0, Some(2));
    let data = fixture("1.5.1/ptd_dtypes/ptd_dtypes.ptd").path;
    for option in ["--constant-alignment=16", "--delegate-alignment=16", "--delegate=inline", "--header-length=32"] {
        let (code, stderr) = refused(&data, &[option]);
        assert_eq!(code, Some(2), "{option}");
        assert!(stderr.contains(option.split('=').next().unwrap()) && stderr.contains(".ptd"), "{stderr}");
    }
    assert_eq!(refused(Path::new("no such file.pte"), &[]).0, Some(2));
}

#[test]
fn an_output_that_cannot_be_written_is_reported_with_its_name() {
    let program = fixture("1.5.1/add_mul/add_mul.pte").path;
    let output = rewrite(&program, &program.join("out.pte"), &[]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("out.pte") && stderr.contains("cannot be written"), "{stderr}");
}

/// A limit on file sizes simulates a full disk: a write fails after some bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_file_unchanged() {
    use crate::cli::Folder;
    use executorch_format::{NewEntry, PtdOptions};

    let folder = Folder::new("full");
    let (large, path) = (folder.file("large.ptd"), folder.file("model.ptd"));
    let ptd = Ptd::build([NewEntry::blob("blob", vec![7; 1 << 20])], &PtdOptions::default()).unwrap();
    ptd.image().unwrap().save(&large).unwrap();
    std::fs::write(&path, "old").unwrap();
    // 600 blocks of 512 bytes. With the signal ignored, the write itself fails.
    let script = "trap '' XFSZ; ulimit -f 600; exec \"$0\" rewrite \"$1\" \"$2\"";
    let done = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_pte")])
        .args([&large, &path])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.names(), ["large.ptd", "model.ptd"], "no other file is left");
}

#[test]
fn trailing_bytes_of_files_of_all_kinds_are_dropped_only_if_asked_for() {
    let program = fixture("0.2.1/add_mul_constant_inline/add_mul_constant_inline.pte");
    let xnnpack = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(xnnpack.bytes()).unwrap();
    let payload = pte.bytes(&pte.delegate_data(&pte.methods()[0].delegates()[0]).unwrap()).unwrap();
    let (bundle, trace) = (fixture("1.5.1/bundled/bundled.bpte"), fixture("1.5.1/etdump/etdump.etdp"));
    let files = [("pte", program.bytes()), ("bpte", bundle.bytes()), ("etdp", trace.bytes()), ("xnn", payload)];
    for (ending, file) in files {
        let longer = [file, &b"\x7fELF and more"[..]].concat();
        let input = TempFile::new(&format!("longer.{ending}"), &longer);
        let model = Model::parse(&longer).unwrap();
        let trailing = model.trailing_bytes();
        assert_eq!(trailing.end, longer.len() as u64, "{ending}");
        assert!(longer[trailing.start as usize..file.len()].iter().all(|byte| *byte == 0), "{ending}: {trailing:?}");
        assert!(Model::parse(file).unwrap().trailing_bytes().is_empty(), "{ending}");
        let output = TempFile::new(&format!("shorter.{ending}"), b"");
        assert!(rewrite(&input.0, &output.0, &[]).status.success(), "{ending}");
        assert!(std::fs::read(&output.0).unwrap() == longer, "{ending}");
        assert!(rewrite(&input.0, &output.0, &["--drop-trailing"]).status.success(), "{ending}");
        let shorter = std::fs::read(&output.0).unwrap();
        let shorter = Model::parse(&shorter).unwrap();
        assert!(shorter.trailing_bytes().is_empty(), "{ending}");
        assert_eq!(shorter, Model::parse(file).unwrap(), "{ending}");
        let is_about_them = |finding: &Finding| finding.rule == "trailing-bytes";
        assert!(model.verify(Level::Strict).iter().any(is_about_them), "{ending}");
        assert!(!shorter.verify(Level::Strict).iter().any(is_about_them), "{ending}");
    }
    // An edit would lose them.
    let longer = TempFile::new("longer-edit.pte", &[program.bytes(), b"more"].concat());
    let output = run(&["metadata", "--set", "get_n=7", longer.0.to_str().unwrap(), "-i"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--drop-trailing"));
}
