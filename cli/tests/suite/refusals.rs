//! Commands that would do nothing: they fail and say why.

use crate::cli::pte;
use executorch_format_support::fixtures::fixture;
use std::path::Path;
use std::process::Output;

fn run(arguments: &[&str], files: &[&Path]) -> Output {
    pte().args(arguments).args(files).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

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
fn instructions_that_are_not_there_are_an_error() {
    let file = fixture("1.5.1/add_mul/add_mul.pte").path;
    let found = "the longest method has 2 instructions, from number 0";
    refused(&run(&["disasm", "--range", "500..600"], &[&file]), &["no instruction in 500..600", found]);
    let both = ["disasm", "--oneline", "--range", "7", "--operator", "aten::*"];
    refused(&run(&both, &[&file]), &["no instruction that matches --operator in 7..7", found]);
    assert!(text(&run(&["disasm", "--range", "1..600"], &[&file]).stdout).contains("aten::"));
}
