//! Hostile listings of stores: the command ends with an error after few requests.

use crate::cli::pte;
use executorch_format_support::data;
use executorch_format_support::hostile_server::{HostileServer, Mode};
use std::process::{Command, Output};

fn server(mode: Mode) -> HostileServer {
    HostileServer::start(mode, std::fs::read(data().join("1.5.1/linear/linear.pte")).unwrap())
}

fn command(server: &HostileServer) -> Command {
    let mut command = pte();
    command.envs(server.bucket_variables()).envs([
        ("PTE_RETRIES", "1"),
        ("PTE_TIMEOUT", "20"),
        ("PTE_MAX_KEYS", "20000"),
    ]);
    command
}

fn message(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn an_endless_listing_is_an_error() {
    let more = "its listing has more than 20000 keys";
    for (mode, said, requests) in [
        (Mode::SameToken, "it repeats a continuation token", 2),
        (Mode::SameTokenWithoutKeys, "it repeats a continuation token", 2),
        (Mode::EmptyPages, more, 21),
        (Mode::NewTokens, more, 21),
        (Mode::EndlessPage, "more than 32 MiB", 2),
    ] {
        let server = server(mode);
        // The second listing of the prefix looks for data files; the names are not those of files.
        let output = command(&server).args(["verify", "-r", "s3://bucket/models"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{mode:?}: {}", message(&output));
        assert!(message(&output).contains(said), "{mode:?}: {}", message(&output));
        assert!(server.requests() <= requests, "{mode:?}: {} requests", server.requests());
    }
}

#[test]
fn a_listing_has_a_time_limit() {
    let server = server(Mode::SlowPage);
    let output = command(&server).args(["info", "--list-timeout", "1", "-r", "s3://bucket/models"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert!(message(&output).contains("its listing takes longer than 1 seconds"), "{}", message(&output));
}

#[test]
fn a_bad_key_fails_alone() {
    let server = server(Mode::BadKeys);
    let output = command(&server).args(["info", "--jsonl", "-r", "s3://bucket/models"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    let said = message(&output);
    assert_eq!(said.matches("a key must not have").count(), 5, "{said}");
    assert!(said.contains("s3://bucket/../../x.pte") && said.contains("s3://bucket/models//x.pte"), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.lines().any(|line| line.contains("models/good.pte") && line.contains("methods")), "{lines}");
    let out = std::env::temp_dir().join(format!("executorch-format-{}-bad-keys", std::process::id()));
    let _ = std::fs::remove_dir_all(&out);
    let output = command(&server).args(["catalog", "s3://bucket/models", "--output"]).arg(&out).output().unwrap();
    assert!(output.status.success() && message(&output).contains("6 files"), "{}", message(&output));
    std::fs::remove_dir_all(&out).unwrap();
}

#[test]
fn without_credentials_no_request_is_sent() {
    let server = server(Mode::BadKeys);
    let endpoint = format!("http://127.0.0.1:{}", server.port());
    let run = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = pte();
        for (name, _) in std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            ["AWS_", "GOOGLE_", "GCE_", "AZURE_"].iter().any(|start| name.starts_with(start))
        }) {
            command.env_remove(name);
        }
        command.envs([
            ("AWS_ENDPOINT", &*endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "a"),
            ("HOME", "/nothing"),
        ]);
        command.envs(variables.iter().copied()).args(options).output().unwrap()
    };
    for url in ["s3://bucket/good.pte", "gs://bucket/good.pte", "az://bucket/good.pte"] {
        let output = run(&["info", url], &[]);
        assert!(
            message(&output).contains("no credentials: set the variables of the store"),
            "{url}: {}",
            message(&output)
        );
        assert_eq!((output.status.code(), server.requests()), (Some(2), 0));
    }
    // A metadata service given by the user is queried: here it is this server, which has no credentials.
    let output = run(&["info", "s3://bucket/good.pte"], &[("AWS_METADATA_ENDPOINT", &endpoint), ("PTE_RETRIES", "0")]);
    assert!(!output.status.success() && server.requests() > 0, "{}", message(&output));
    let output = run(&["info", "s3://bucket/good.pte", "--anonymous"], &[]);
    assert!(output.status.success(), "{}", message(&output));
}
