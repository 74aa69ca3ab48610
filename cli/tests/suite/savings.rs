//! The savings that `pte size` lists are those of its commands.

use crate::cli::Folder;
use crate::cli::pte;
use executorch_format::Model;
use executorch_format_support::fixtures::{fixture, fixtures, for_each};
use pte::saving_command;
use serde_json::Value;
use std::cell::Cell;
use std::process::{Command, Stdio};

#[test]
fn every_saving_equals_that_of_its_command() {
    let folder = Folder::new("savings");
    let (input, output) = (folder.file("in"), folder.file("out"));
    let counted = Cell::new(0);
    for_each(&fixtures(), |fixture| {
        let savings = Model::parse(fixture.bytes()).map_err(|error| error.to_string())?.savings();
        for saving in savings {
            std::fs::write(&input, fixture.bytes()).unwrap();
            let mut command = pte();
            let (subcommand, flags) = saving_command(&saving).ok_or_else(|| format!("  no command for {saving:?}"))?;
            command.arg("-q").arg(subcommand).args(flags.split_whitespace()).arg(&input);
            if subcommand != "rewrite" {
                command.arg("-o");
            }
            let done = command.arg(&output).stdout(Stdio::null()).output().unwrap();
            let told = String::from_utf8_lossy(&done.stderr).into_owned();
            let saved = fixture.bytes().len() as u64 - std::fs::metadata(&output).map_or(0, |file| file.len());
            if !done.status.success() || saved != saving.size {
                return Err(format!("  {saving:?}: {saved} bytes, {told}"));
            }
            counted.set(counted.get() + 1);
        }
        Ok(())
    });
    assert!(counted.get() > 40, "{}", counted.get());
}

#[test]
fn bytes_after_the_last_segment_are_listed_and_can_be_dropped() {
    let folder = Folder::new("trailing");
    for (name, ending) in [("1.5.1/linear/linear.pte", "pte"), ("1.5.1/ptd_shared/ptd_shared.ptd", "ptd")] {
        let (file, smaller) = (format!("model.{ending}"), format!("smaller.{ending}"));
        let mut bytes = fixture(name).bytes().to_vec();
        bytes.resize(bytes.len() + 4000, 0);
        std::fs::write(folder.file(&file), &bytes).unwrap();
        let pte = |arguments: &[&str]| {
            let output = pte().current_dir(folder.file("")).args(arguments).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let (_, size) = pte(&["size", &file]);
        assert!(size.contains("unreferenced: after the last segment") && !size.contains("padding: after"), "{size}");
        let offer = format!("trailing bytes  pte rewrite --drop-trailing {file} {smaller}");
        assert!(size.contains(&offer), "{size}");
        assert_eq!(pte(&["rewrite", "--drop-trailing", &file, &smaller]).0, Some(0));
        let (code, difference) = pte(&["diff", &file, &smaller]);
        assert_eq!(code, Some(0), "{difference}");
        assert!(difference.contains("file trailing bytes: 4000 bytes -> 0 bytes"), "{difference}");
    }
    let stacktrace = fixture("1.5.1/stacktrace/stacktrace.pte").path;
    let size = String::from_utf8(pte().arg("size").arg(stacktrace).output().unwrap().stdout).unwrap();
    assert!(size.contains("stack traces  pte strip"), "{size}");
}

#[test]
fn an_offer_is_a_complete_shell_command_and_worthwhile() {
    let folder = Folder::new("offer");
    let linear = fixture("1.5.1/linear/linear.pte");
    let text = "x".repeat(5000);
    let pte = |arguments: &[&str]| pte().current_dir(folder.file("")).args(arguments).output().unwrap();
    let offers = || -> Vec<Value> {
        let output = pte(&["size", "--json", "it's a model.pte"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["files"][0]["savings"].as_array().unwrap().clone()
    };
    // The possible saving is too small to be offered.
    let trailing = [linear.bytes(), &[0; 3]].concat();
    std::fs::write(folder.file("it's a model.pte"), &trailing).unwrap();
    assert_eq!(Model::parse(&trailing).unwrap().savings().len(), 1);
    assert!(offers().is_empty());
    folder.copy(&linear, "it's a model.pte");
    for key in ["metadata.a", "metadata.b"] {
        let done = pte(&["metadata", "it's a model.pte", "--set-string", &format!("{key}={text}"), "-i"]);
        assert!(done.status.success());
    }
    let offers = offers();
    assert_eq!(offers.len(), 1, "{offers:?}");
    let command = offers[0]["command"].as_str().unwrap();
    if cfg!(windows) {
        assert_eq!(command, "pte dedup \"it's a model.pte\" -o smaller.pte");
        assert!(pte(&["dedup", "it's a model.pte", "-o", "smaller.pte"]).status.success());
    } else {
        assert_eq!(command, "pte dedup 'it'\\''s a model.pte' -o smaller.pte");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command.replacen("pte ", "\"$PTE\" ", 1)).env("PTE", env!("CARGO_BIN_EXE_pte"));
        assert!(shell.current_dir(folder.file("")).output().unwrap().status.success());
    }
    let size = |name: &str| std::fs::metadata(folder.file(name)).unwrap().len();
    assert_eq!(Some(size("it's a model.pte") - size("smaller.pte")), offers[0]["size"].as_u64());
    let table = String::from_utf8(pte(&["size", "it's a model.pte"]).stdout).unwrap();
    assert!(table.contains("equal blobs") && table.contains(command), "{table}");
}
