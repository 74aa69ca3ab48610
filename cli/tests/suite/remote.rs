//! Files on a server, read by ranges: the output is the same as for local copies.

use crate::cli::{pte, slashes};
use executorch_format_support::data;
use executorch_format_support::fixtures::{files_below, has_extension};
use executorch_format_support::server::{Fault, Server};
use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

/// Returns the fixtures, malformed ones too, by their paths from the data folder.
fn files() -> Vec<PathBuf> {
    let mut files = files_below(&data());
    files.retain(|path| has_extension(path, &["pte", "ptd", "bpte", "etdp"]));
    let mut files: Vec<_> = files.iter().map(|path| path.strip_prefix(data()).unwrap().to_owned()).collect();
    // Only some of the malformed files.
    let mut count = 0;
    files.retain(|path| {
        count += usize::from(path.starts_with("malformed"));
        !path.starts_with("malformed") || count % 5 == 0
    });
    assert!(files.len() > 100, "{}", files.len());
    files
}

fn run(arguments: &[&str], files: &[String]) -> Output {
    // With small requests, small files are read in parts too.
    pte().current_dir(data()).env("PTE_FIRST_READ", "64").args(arguments).args(files).output().unwrap()
}

/// Puts files on a server. Returns the server, the URLs and the paths.
fn served(files: &[PathBuf]) -> (Server, Vec<String>, Vec<String>) {
    let server = Server::start();
    let name = |path: &PathBuf| slashes(path.to_str().unwrap());
    for path in files {
        server.put(&name(path), std::fs::read(data().join(path)).unwrap());
    }
    let local = files.iter().map(name).collect::<Vec<_>>();
    let distant = local.iter().map(|name| server.url(name)).collect();
    (server, local, distant)
}

#[test]
fn a_url_gives_the_same_output_as_the_file() {
    let mut files = files();
    // If only ranges are read, the end of a file is not searched for the directory of a ZIP archive.
    // ETRecords are looked for only beside local files.
    let has_record = |path: &PathBuf| data().join(path).with_extension("etrecord").exists();
    files.retain(|path| {
        let is_like = |part| path.to_string_lossy().contains(part);
        !is_like("also-zip") && !is_like("etrecord") && !has_record(path)
    });
    let (server, local, distant) = served(&files);
    let root = server.url("");
    for arguments in [
        &["info", "--jsonl"][..],
        &["info"],
        &["list", "--jsonl", "--hash"],
        &["list", "--jsonl"],
        &["ops", "--jsonl"],
        &["verify", "--format", "jsonl"],
        &["verify", "--format", "jsonl", "--level", "runtime"],
        &["verify", "--runtime", "all", "--jsonl"],
        &["fit", "--target", "portable-1.0", "--jsonl"],
    ] {
        let (one, other) = (run(arguments, &local), run(arguments, &distant));
        let said = String::from_utf8(other.stdout).unwrap().replace(&root, "");
        let expected = String::from_utf8(one.stdout).unwrap();
        for (expected, said) in expected.lines().zip(said.lines()) {
            assert_eq!(expected, said, "{arguments:?}");
        }
        assert_eq!(expected.len(), said.len(), "{arguments:?}");
        assert_eq!(one.status.code(), other.status.code(), "{arguments:?}");
    }
}

/// A program that the first request gets only a part of.
const PROGRAM: &str = "1.5.1/multi_method/multi_method.pte";

#[test]
fn metadata_takes_two_or_three_requests_and_no_constants() {
    let server = Server::start();
    // A program with 14 MB of constants.
    let mut file = std::fs::read(data().join("1.5.1/linear/linear.pte")).unwrap();
    let size = 14 << 20;
    file.resize(size, 7);
    server.put("large.pte", file);
    let spent = |first: &str, arguments: &[&str]| {
        let output = pte().env("PTE_FIRST_READ", first).args(arguments).arg(server.url("large.pte")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        server.spent()
    };
    assert_eq!(spent("65536", &["info"]), (1, 65536));
    assert_eq!(spent("64", &["info"]), (2, 1464));
    assert_eq!(spent("64", &["ops"]).0, 2);
    assert_eq!(spent("65536", &["verify", "-q"]), (3, size as u64));
}

#[test]
fn a_faulty_server_is_an_error_in_bounded_time() {
    for (fault, command, said) in [
        (Fault::IgnoresRange, "info", "does not support range requests"),
        (Fault::Larger, "verify", ""),
        (Fault::Smaller, "info", ""),
        (Fault::Closes, "info", ""),
        (Fault::SendsMore, "info", "more than the"),
        (Fault::Silent, "info", ""),
        (Fault::Stalls, "info", ""),
        (Fault::Drips, "info", ""),
        (Fault::Changes, "info", "the file changed while it was being read"),
        (Fault::ChangesAndIgnoresIfMatch, "info", "the file changed while it was being read"),
        (Fault::NoEtagAndChanges, "info", "the file changed while it was being read"),
        (Fault::Fails, "info", "500"),
        (Fault::Nonsense, "info", ""),
    ] {
        let server = Server::start();
        server.put("x.pte", std::fs::read(data().join(PROGRAM)).unwrap());
        server.fault(fault);
        let start = Instant::now();
        let mut run = pte();
        run.envs([("PTE_FIRST_READ", "64"), ("PTE_TIMEOUT", "1"), ("PTE_RETRIES", "1")]);
        let output = run.args([command, &server.url("x.pte")]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(start.elapsed() < Duration::from_secs(20), "{fault:?}: {:?}", start.elapsed());
        assert!(matches!(output.status.code(), Some(1 | 2)), "{fault:?}: {:?} {message}", output.status);
        assert!(message.contains(said) && message.starts_with("error: "), "{fault:?}: {message}");
    }
}

#[test]
fn a_missing_file_is_reported_as_missing() {
    let server = Server::start();
    server.put("empty.pte", Vec::new());
    for (name, said) in [("x.pte", "there is no such file"), ("empty.pte", "an empty file")] {
        let output = pte().args(["info", &server.url(name)]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(said), "{name}: {message}");
        assert!(!output.status.success());
    }
    let output = pte().args(["info", "ftp://host/x.pte"]).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("expected s3, gs, az, https or http"));
}

#[test]
fn a_prefix_of_a_bucket_is_a_folder() {
    let server = Server::start();
    let folder = data().join("1.5.1");
    let mut count = 0;
    for path in files().into_iter().filter_map(|path| Some(path.strip_prefix("1.5.1").ok()?.to_owned())) {
        server.put(
            &format!("bucket/models/{}", slashes(path.to_str().unwrap())),
            std::fs::read(folder.join(path)).unwrap(),
        );
        count += 1;
    }
    server.put("bucket/models/readme.txt", b"no model".to_vec());
    server.put("bucket/modelsother/x.pte", b"no model".to_vec());
    // More entries than a page of a listing has.
    for index in 0..120 {
        server.put(&format!("bucket/many/{index:03}.pte"), std::fs::read(data().join(PROGRAM)).unwrap());
    }
    let run = |arguments: &[&str]| {
        pte().envs(server.bucket_variables()).current_dir(data()).args(arguments).output().unwrap()
    };
    for command in ["info", "ops", "size"] {
        let (one, other) =
            (run(&[command, "--jsonl", "-r", "1.5.1"]), run(&[command, "--jsonl", "-r", "s3://bucket/models"]));
        let said = String::from_utf8(other.stdout).unwrap().replace("s3://bucket/models/", "1.5.1/");
        let expected = String::from_utf8(one.stdout).unwrap();
        assert!(expected.lines().count() > 30, "{command}");
        for (expected, said) in expected.lines().zip(said.lines()) {
            let (expected, said) = (slashes(expected), slashes(said));
            // For large files, savings are not computed.
            if said.contains("\"savings\"") || !expected.contains("\"savings\"") {
                assert_eq!(expected, said, "{command}");
            }
        }
    }
    let listed = run(&["info", "--jsonl", "-r", "s3://bucket/models"]).stdout;
    assert_eq!(listed.iter().filter(|byte| **byte == b'\n').count(), count);
    let listed = run(&["info", "--jsonl", "-r", "s3://bucket/many/"]).stdout;
    assert_eq!(listed.iter().filter(|byte| **byte == b'\n').count(), 120);
    let none = run(&["info", "-r", "s3://bucket/nothing"]);
    assert_eq!(none.status.code(), Some(2), "{}", String::from_utf8_lossy(&none.stderr));
    let same = run(&["diff", "-r", "1.5.1", "s3://bucket/models"]);
    assert_eq!(same.status.code(), Some(0), "{}", String::from_utf8_lossy(&same.stdout));
}
