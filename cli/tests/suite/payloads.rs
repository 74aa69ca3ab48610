//! XNNPACK payloads in the output of the command.

use crate::cli::{TempFile, pte};
use executorch_format_support::fixtures;
use executorch_format_support::flatc_json::quoted;
use serde_json::Value;
use std::path::Path;

fn json(arguments: &[&str], file: &Path) -> Value {
    let output = pte().args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_separate_payload_is_dumped_like_flatc_does() {
    let file = fixtures::fixture("payloads/v0.4.0_conv2d.0.xnn");
    let expected = std::fs::read_to_string(file.path.with_extension("json")).unwrap();
    assert_eq!(json(&["dump"], &file.path), serde_json::from_str::<Value>(&quoted(&expected)).unwrap());
}

#[test]
fn a_separate_payload_is_listed_verified_and_written() {
    let file = fixtures::fixture("payloads/v0.4.0_conv2d.0.xnn");
    let listed = json(&["list", "--json", "--hash"], &file.path);
    let blobs = listed["files"][0]["blobs"].as_array().unwrap();
    let found: Vec<_> =
        blobs.iter().map(|blob| (blob["users"][0]["datatype"].as_str().unwrap(), blob["size"].as_u64())).collect();
    assert_eq!(found, [("xnn_datatype_fp32", Some(432)), ("xnn_datatype_fp32", Some(16))]);
    for blob in blobs {
        let start = blob["offset"].as_u64().unwrap() as usize;
        let bytes = &file.bytes()[start..start + blob["size"].as_u64().unwrap() as usize];
        assert_eq!(blob["sha256"], fixtures::sha256(bytes));
    }
    assert!(pte().arg("verify").arg(&file.path).output().unwrap().status.success());
    let copy = TempFile::new("copy.xnn", b"");
    for options in [&[][..], &["--relayout"]] {
        let output = pte().arg("rewrite").args(options).arg(&file.path).arg(&copy.0).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::read(&copy.0).unwrap() == file.bytes(), "{options:?}");
    }
    let wrong = pte().args(["rewrite", "--header-length", "24"]).arg(&file.path).arg(&copy.0).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_damaged_separate_payload_is_invalid() {
    let file = fixtures::fixture("payloads/v0.4.0_conv2d.0.xnn");
    for length in [5, 29, 40, 200] {
        let cut = TempFile::new("cut.xnn", &file.bytes()[..length]);
        for command in ["verify", "dump", "list"] {
            let output = pte().arg(command).arg(&cut.0).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{command} of {length} bytes");
        }
    }
}

#[test]
fn payloads_are_dumped_with_the_program() {
    let file = fixtures::fixture("payloads/v0.4.0_conv2d.pte");
    let dumped = json(&["dump", "--payloads"], &file.path);
    assert!(dumped["execution_plan"].is_array());
    let [payload] = dumped["payloads"].as_array().unwrap().as_slice() else { panic!("{}", dumped["payloads"]) };
    assert_eq!(payload["payload"]["kind"], "xnnpack");
    let own = fixtures::fixture("payloads/v0.4.0_conv2d.0.xnn");
    assert_eq!(payload["payload"]["content"], json(&["dump"], &own.path));
    assert_eq!(payload["size"].as_u64(), Some(own.bytes().len() as u64));
}

#[test]
fn info_counts_nodes_inside_payloads() {
    let file = fixtures::fixture("payloads/v0.4.0_conv2d.pte");
    let info = json(&["info", "--json"], &file.path);
    let method = &info["files"][0]["methods"][0];
    let text = method["delegates"][0]["operators"].to_string();
    assert!(text.contains(r#""name":"XNNStaticTranspose""#), "{info}");
}
