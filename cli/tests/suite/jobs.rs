//! The jobs of `docs/jobs.md`, each run as it stands there.

use crate::cli::pte;
use executorch_format_support::{crate_root, data};

#[test]
fn each_job_is_done_by_its_line() {
    let page = std::fs::read_to_string(crate_root().join("docs/jobs.md")).unwrap();
    let out = std::env::temp_dir().join(format!("executorch-format-{}-jobs", std::process::id()));
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("pte ")).collect();
    assert_eq!(lines.len(), 24);
    for line in lines {
        let (command, code) =
            line.split_once(" # ").map_or((line, 0), |(command, code)| (command, code.parse().unwrap()));
        let words = command.split(' ').skip(1).map(|word| word.replace("OUT", out.to_str().unwrap()));
        let output = pte().current_dir(data()).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        // What a command makes is there, and nothing of what it would make.
        for made in command.split(' ').filter(|word| word.starts_with("OUT/")) {
            let path = out.join(made.trim_start_matches("OUT/"));
            assert_eq!(path.exists(), !command.contains("--dry-run"), "{line}");
        }
    }
    let _ = std::fs::remove_dir_all(&out);
}
