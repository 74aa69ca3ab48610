//! `pte debug`: recorded values as text, as arrays, and compared.

use crate::cli::pte;
use executorch_format_support::data;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Runs a command in the folder of test data. FOLDER is a folder of its own.
fn run(line: &str, folder: &str) -> (i32, String, String) {
    let words = line.split(' ').map(|word| word.replace("FOLDER", folder));
    let output = pte().current_dir(data()).arg("debug").args(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("executorch-format-{}-debug-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const PORTABLE: &str = "etrecord/net_portable.etdp --debug-buffer etrecord/net_portable.debug.bin";
const NAMED: &str = "--program etrecord/net_portable.pte";

#[test]
fn values_are_listed_with_and_without_their_names() {
    let (code, text, errors) = run(&format!("{PORTABLE} {NAMED}"), "");
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(text.starts_with("Execute (run 1) of method forward: 17 values\n"), "{text}");
    let line = text.lines().find(|line| line.contains("relu.1")).unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["8", "f32[1,", "8,", "6,", "6]", "0", "1.1919", "0.2195", "relu.1", "layers.1"]
    );
    let (_, text, _) = run(PORTABLE, "");
    assert!(text.contains("  relu.out\n") && text.contains("_native_batch_norm_legit_no_training.out 2\n"), "{text}");
    let (code, text, errors) = run("etrecord/net_portable.etdp", "");
    assert!(code == 0 && text.contains("f32[1, 8, 6, 6]") && errors.contains("without --debug-buffer"), "{errors}");
}

#[test]
fn arrays_are_written_and_do_not_replace_others() {
    let folder = Folder::new("arrays");
    let line = format!("{PORTABLE} {NAMED} -o FOLDER --json");
    let (code, text, errors) = run(&line, folder.path());
    assert_eq!((code, errors.as_str()), (0, ""), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let written: Vec<&str> =
        document["files"][0]["written"][0].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert_eq!((written.len(), written[12], written[16]), (17, "012-relu.1.npy", "016-output.0.npy"));
    let array = fs::read(folder.0.join(written[12])).unwrap();
    let array = executorch_format::convert::Npy::parse(&array).unwrap();
    let buffer = fs::read(data().join("etrecord/net_portable.debug.bin")).unwrap();
    let offset = document["files"][0]["runs"][0]["values"][12]["tensor"]["offset"].as_u64().unwrap() as usize;
    assert_eq!(array.tensor_layout.sizes(), [1, 8, 6, 6]);
    assert_eq!(array.bytes[..], buffer[offset..offset + 4 * 288]);
    // Files of an interrupted run are not in the way, but others are.
    assert_eq!(run(&line, folder.path()).0, 0);
    fs::write(folder.0.join(written[12]), "other").unwrap();
    let (code, _, errors) = run(&line, folder.path());
    assert!(code == 2 && errors.contains("--overwrite"), "{errors}");
    assert_eq!(run(&format!("{line} --overwrite"), folder.path()).0, 0);
    // The written files are references for another run.
    let (code, text, _) = run(&format!("{PORTABLE} {NAMED} --reference FOLDER --min-snr 40"), folder.path());
    assert!(code == 0 && text.starts_with("run 1 of method forward: 17 equal, 0 different\n"), "{text}");
    fs::copy(folder.0.join("006-relu.0.npy"), folder.0.join("012-relu.1.npy")).unwrap();
    let line = format!("{PORTABLE} {NAMED} --reference FOLDER --worst --top 1 --min-snr 40");
    let (code, text, errors) = run(&line, folder.path());
    assert!(code == 1 && errors.contains("1 value below 40 dB"), "{errors}");
    assert!(text.lines().nth(2).unwrap().contains("relu.1") && text.contains("… 16 more"), "{text}");
}

#[test]
fn two_lowerings_are_compared() {
    let line = "etrecord/net_xnnpack.etdp --debug-buffer etrecord/net_xnnpack.debug.bin --program etrecord/net_xnnpack.pte \
                --before etrecord/net_portable.etdp --before-debug-buffer etrecord/net_portable.debug.bin";
    let (code, text, errors) = run(&format!("{line} --before-program etrecord/net_portable.pte --min-snr 100"), "");
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(text.starts_with("runs 1 and 1 of method forward: 0 equal, 4 different, 13 not compared\n"), "{text}");
    assert!(text.contains("XnnpackBackend.0  from relu.1\n"), "{text}");
    // Without the other program, its trace does not fit.
    let (code, _, errors) = run(line, "");
    assert!(code == 1 && errors.contains("instruction 0, which is a DelegateCall"), "{errors}");
}

#[test]
fn faults_are_told_with_their_place() {
    let short = Folder::new("short");
    fs::create_dir_all(&short.0).unwrap();
    fs::write(short.0.join("short.bin"), [0; 1000]).unwrap();
    let (code, text, errors) = run("etrecord/net_portable.etdp --debug-buffer FOLDER/short.bin", short.path());
    assert!(code == 1 && text.contains("relu.out"), "{text}");
    let place =
        "run_data[1].events[0].debug_event.debug_entry.tensor: 1152 bytes at 48, but the debug buffer has 1000 bytes";
    assert!(errors.contains(place), "{errors}");
    for (line, message) in [
        ("payloads/profile_xnnpack.etdp", "no run recorded values"),
        ("1.5.1/add/add.pte", "a .pte file, which has no recorded values: expected a .etdp"),
        ("etrecord/net_portable.etdp --worst", "--worst and --min-snr require --before or --reference"),
        ("etrecord/net_portable.etdp -o FOLDER/arrays", "--debug-buffer takes the file"),
        (
            "etrecord/net_portable.etdp --debug-buffer etrecord/net_portable.debug.bin --reference FOLDER",
            "no .npy file",
        ),
    ] {
        let (code, _, errors) = run(line, short.path());
        assert!(code == 2 && errors.contains(message), "{line}: {errors}");
    }
}

/// The tests of multiply-accumulates in `info` and `profile` use the same traces.
#[test]
fn info_and_profile_have_multiply_accumulates() {
    let output = |line: &str| {
        let output = pte().current_dir(data()).args(line.split(' ')).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = output("info etrecord/net_xnnpack.pte");
    assert!(text.contains("    compute         49,288 MACs, 1,469 parameters\n"), "{text}");
    let document: Value = serde_json::from_str(&output("info --json etrecord/net_xnnpack.pte")).unwrap();
    let macs = &document["files"][0]["macs"][0];
    assert_eq!((&macs["macs"], &macs["operators"][0]["operator"]), (&49_288.into(), &"XNNConv2d".into()));
    let profile = "profile etrecord/net_portable.etdp --program etrecord/net_portable.pte";
    let text = output(profile);
    assert!(text.contains("  SHARE    MACS/S  WHAT\n"), "{text}");
    let line = text.lines().find(|line| line.contains("aten::convolution.out  stem")).unwrap();
    assert!(line.contains(" M  aten"), "{line}");
    let (loading, _) = text.split_once("Execute").unwrap();
    assert!(!loading.contains("MACS/S"), "{loading}");
    assert!(!output("profile etrecord/net_portable.etdp").contains("MACS/S"));
    let text = output(&format!("{profile} --by operator"));
    assert!(text.contains("MACS/S") && text.contains(" M  aten::addmm.out\n"), "{text}");
    let csv = output(&format!("{profile} --format csv"));
    assert!(csv.starts_with("file,run,") && csv.contains("share,macs\r\n") && csv.contains(",7776\r\n"), "{csv}");
}
