//! The help of each command lists the kinds of files that the command takes.

use crate::cli::pte;
use executorch_format_support::fixtures::fixture;
use std::path::Path;

/// A file of each kind, and its extension.
const FILES: [(&str, &str); 4] = [
    ("1.5.1/multi_method/multi_method.pte", ".pte"),
    ("1.5.1/ptd_names/ptd_names.ptd", ".ptd"),
    ("1.5.1/bundled/bundled.bpte", ".bpte"),
    ("1.5.1/etdump/etdump.etdp", ".etdp"),
];

/// Options without which a command does not read its file. FOLDER stands for an output folder.
const OPTIONS: &[(&str, &[&str])] = &[
    ("bundle", &[]),
    ("fit", &["--target", "portable-1.5"]),
    ("dedup", &["--dry-run"]),
    ("diff", &["FILE"]),
    ("disasm", &[]),
    ("dump", &[]),
    ("externalize", &["--all", "--dry-run", "--data", "FOLDER/all.ptd"]),
    ("extract", &[]),
    ("graph", &["--dot"]),
    ("hash", &[]),
    ("info", &[]),
    ("list", &[]),
    ("memory", &[]),
    ("metadata", &[]),
    ("ops", &[]),
    ("profile", &[]),
    ("report", &["-o", "-"]),
    ("rewrite", &["-o", "-"]),
    ("size", &[]),
    ("strip", &["--all", "--dry-run"]),
    ("to-c", &["-o", "FOLDER"]),
    ("verify", &[]),
];

fn code(command: &str, options: &[&str], file: &Path, folder: &Path) -> Option<i32> {
    let options = options.iter().map(|option| match *option {
        "FILE" => file.display().to_string(),
        option => option.replace("FOLDER", &folder.display().to_string()),
    });
    pte().arg(command).arg(file).args(options).output().unwrap().status.code()
}

/// Returns the help of the command's first file up to the semicolon, which separates other forms.
fn help_of_the_file(command: &str) -> String {
    let output = pte().args([command, "-h"]).env("COLUMNS", "1000").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let arguments = help.split_once("Arguments:\n").unwrap_or_else(|| panic!("{command}: no arguments in {help}")).1;
    let first = arguments.split(';').next().unwrap();
    first.lines().next().unwrap().to_owned()
}

#[test]
fn help_lists_the_kinds_of_files_that_a_command_takes() {
    let folder = std::env::temp_dir().join(format!("executorch-format-{}-kinds", std::process::id()));
    let mut wrong = Vec::new();
    for (command, options) in OPTIONS {
        let help = help_of_the_file(command);
        for (file, extension) in FILES {
            let is_named = help.contains(extension);
            let code = code(command, options, &fixture(file).path, &folder);
            if is_named != (code == Some(0)) {
                wrong.push(format!("{command} {extension}: exit code {code:?}, but its help is: {help}"));
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
