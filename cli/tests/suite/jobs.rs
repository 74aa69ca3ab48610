//! Runs each job of `docs/jobs.md`, and compares the output with the page.

use crate::cli::{pte, slashes};
use executorch_format_support::fixtures::files_below;
use executorch_format_support::{crate_root, data};
use std::path::{Path, PathBuf};

/// Returns words separated by single spaces, since the page does not repeat columns.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text of a file, or of all files in a folder.
fn contents(path: &Path) -> String {
    let files = if path.is_dir() { files_below(path) } else { vec![path.to_owned()] };
    let text = |file: &PathBuf| String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
    files.iter().map(text).collect()
}

#[test]
fn each_job_prints_the_output_on_the_page() {
    let page = std::fs::read_to_string(crate_root().join("docs/jobs.md")).unwrap();
    let out = std::env::temp_dir().join(format!("executorch-format-{}-jobs", std::process::id()));
    let mut lines = page.lines().peekable();
    let mut jobs = 0;
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("pte ") else { continue };
        let answers: Vec<&str> =
            std::iter::from_fn(|| lines.next_if(|line| line.starts_with("# "))).map(|line| &line[2..]).collect();
        let (code, answers): (Vec<&str>, Vec<&str>) =
            answers.into_iter().partition(|line| line.starts_with("exit code "));
        let code = code.first().map_or(0, |code| code.trim_start_matches("exit code ").parse().unwrap());
        let place = |word: &str| word.replace("OUT", out.to_str().unwrap());
        let output = pte().current_dir(data()).args(command.split(' ').map(place)).output().unwrap();
        let mut told =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert_eq!(output.status.code(), Some(code), "{line}: {told}");
        // Files that the command writes exist, except in a dry run.
        for made in command.split(' ').filter(|word| word.starts_with("OUT/")) {
            let path = out.join(made.trim_start_matches("OUT/"));
            assert_eq!(path.exists(), !command.contains("--dry-run"), "{line}");
            told += &contents(&path);
        }
        let told = words(&slashes(&told));
        assert!(!answers.is_empty(), "{line} has no answer: {told}");
        for answer in answers {
            assert!(told.contains(&words(answer)), "{line}: {answer} is not in {told}");
        }
        jobs += 1;
    }
    assert_eq!(jobs, 35);
    let _ = std::fs::remove_dir_all(&out);
}
