//! Several runs of the command in one process, as from Python.

use executorch_format_support::data;
use std::process::Command;
use std::thread;

const RUNS: usize = 20;

/// Runs the command in this process.
fn run(line: &str) -> u8 {
    pte::run(["pte"].into_iter().chain(line.split(' ')).map(Into::into))
}

#[test]
fn runs_in_one_process_share_no_settings() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "runs::runs_for_the_other_test", "--ignored", "--nocapture", "--quiet"])
        .current_dir(data())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    // Each run without --quiet prints one line, and the others print none.
    assert_eq!(told.lines().filter(|line| *line == "the same").count(), RUNS, "{told}");
    // The second JSON document is that of a failure, although the first run has begun one.
    assert_eq!(told.matches("\"format\": 1").count(), 2, "{told}");
    assert!(told.contains("\"file\": \"missing.pte\""), "{told}");
}

#[test]
#[ignore = "the test above runs it in a process of its own, since libtest does not capture what the command prints"]
fn runs_for_the_other_test() {
    let file = "1.5.1/add_mul/add_mul.pte";
    let repeat = |line: String| (0..RUNS).for_each(|_| assert_eq!(run(&line), 0));
    thread::scope(|scope| {
        scope.spawn(|| repeat(format!("--quiet diff {file} {file}")));
        scope.spawn(|| repeat(format!("diff {file} {file}")));
    });
    assert_eq!(run(&format!("info --json {file}")), 0);
    assert_eq!(run("diff --json missing.pte missing.pte"), 2);
}
