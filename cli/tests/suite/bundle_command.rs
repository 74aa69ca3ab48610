//! Bundles: `pte bundle`, and edits of the programs inside them.

use crate::cli::Folder;
use crate::edit_command::{good, refused};
use executorch_format::convert::Npy;
use executorch_format::{Bpte, TensorView};
use executorch_format_support::fixtures::fixture;
use serde_json::Value;

#[test]
fn a_bundle_is_listed_and_its_program_extracted_and_replaced() {
    let folder = Folder::new("bundle");
    let (bundle, program) = (fixture("1.5.1/bundled/bundled.bpte"), fixture("1.5.1/add_mul/add_mul.pte"));
    let file = folder.copy(&bundle, "m.bpte");
    let listed = good(&["bundle", "m.bpte"], &folder);
    assert!(
        listed.contains("forward") && listed.contains("expected output 0") && listed.contains("f32[2, 2]"),
        "{listed}"
    );
    let listed: Value = serde_json::from_str(&good(&["bundle", "m.bpte", "--json"], &folder)).unwrap();
    let input = &listed["files"][0]["test_suites"][0]["test_cases"][0]["inputs"][0];
    assert_eq!((&input["type"], &input["size"]), (&"Tensor".into(), &16.into()), "{listed}");

    let told = good(&["bundle", "m.bpte", "--extract-program", "-o", "m.pte"], &folder);
    assert!(told.contains("extracted program"), "{told}");
    assert_eq!(std::fs::read(folder.file("m.pte")).unwrap(), program.bytes());
    // Replacing the program by itself changes nothing.
    good(&["bundle", "m.bpte", "--program", "m.pte", "-o", "same.bpte"], &folder);
    assert_eq!(std::fs::read(folder.file("same.bpte")).unwrap(), bundle.bytes());
    // A different program with the same computation.
    good(&["rewrite", "m.pte", "wide.pte", "--segment-alignment", "4096"], &folder);
    let options = ["bundle", "m.bpte", "--program", "wide.pte"];
    good(&[&options[..], &["--dry-run"]].concat(), &folder);
    assert_eq!(std::fs::read(&file).unwrap(), bundle.bytes());
    let told = good(&[&options[..], &["-i"]].concat(), &folder);
    assert!(told.contains("replaced program"), "{told}");
    good(&["verify", "m.bpte"], &folder);
    good(&["bundle", "m.bpte", "--extract-program", "-o", "again.pte"], &folder);
    assert_eq!(std::fs::read(folder.file("again.pte")).unwrap(), std::fs::read(folder.file("wide.pte")).unwrap());
}

#[test]
fn a_program_that_does_not_fit_the_test_cases_is_refused() {
    let folder = Folder::new("bad-bundle");
    let bundle = fixture("1.5.1/bundled/bundled.bpte");
    let file = folder.copy(&bundle, "m.bpte");
    folder.copy(&fixture("1.5.1/multi_method/multi_method.pte"), "other.pte");
    folder.copy(&fixture("1.5.1/linear/linear.pte"), "linear.pte");
    std::fs::write(folder.file("noise.pte"), [7; 100]).unwrap();
    let (code, told) = refused(&["bundle", "m.bpte", "--program", "linear.pte", "-i"], &folder);
    assert!(code == Some(1) && told.contains("the result has a new fault and was not written"), "{told}");
    let (code, told) = refused(&["bundle", "m.bpte", "--program", "noise.pte", "-i"], &folder);
    assert!(code == Some(1) && told.contains("noise.pte"), "{told}");
    for usage in [
        &["bundle", "linear.pte"][..],
        &["bundle", "m.bpte", "--extract-program"],
        &["bundle", "m.bpte", "--program", "linear.pte"],
        &["bundle", "m.bpte", "-o", "x.bpte"],
        &["bundle", "m.bpte", "--extract-program", "-i"],
    ] {
        assert_eq!(refused(usage, &folder).0, Some(2), "{usage:?}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), bundle.bytes());
    assert!(!folder.file("x.bpte").exists());
}

#[test]
fn a_bundle_is_created_from_a_program_and_arrays() {
    let folder = Folder::new("new-bundle");
    folder.copy(&fixture("1.5.1/bundled/bundled.bpte"), "theirs.bpte");
    good(&["bundle", "theirs.bpte", "--extract-program", "-o", "m.pte"], &folder);
    let theirs = std::fs::read(folder.file("theirs.bpte")).unwrap();
    let bundle = Bpte::parse(&theirs).unwrap();
    let mut line = vec!["bundle".to_owned(), "create".to_owned(), "m.pte".to_owned()];
    for (number, (_, _, case)) in bundle.test_cases().enumerate() {
        for (option, values) in [("case", case.inputs()), ("expect", case.expected_outputs())] {
            for (index, value) in values.iter().enumerate() {
                let tensor = value.tensor().unwrap();
                let view = TensorView::new(tensor.shape(), tensor.data()).unwrap();
                let name = format!("{option}{number}-{index}.npy");
                Npy::of(&view).unwrap().image().unwrap().save(folder.file(&name)).unwrap();
                line.extend([format!("--{option}"), name]);
            }
        }
    }
    let words =
        |more: &[&str]| line.iter().cloned().chain(more.iter().map(|&word| word.to_owned())).collect::<Vec<_>>();
    let told = good(&words(&["-o", "ours.bpte"]).iter().map(String::as_str).collect::<Vec<_>>(), &folder);
    assert!(told.contains("added test case forward 0"), "{told}");
    assert!(std::fs::read(folder.file("ours.bpte")).unwrap() == theirs);
    good(&["verify", "--level", "strict", "ours.bpte"], &folder);
    good(&["bundle", "create", "ours.bpte", "--case", "case0-0.npy", "-i"], &folder);
    let listed = good(&["bundle", "ours.bpte"], &folder);
    assert!(listed.contains("none: nothing is compared"), "{listed}");

    folder.copy(&fixture("1.5.1/multi_method/multi_method.pte"), "methods.pte");
    for (line, fault) in [
        (&["bundle", "create", "m.pte", "--case", "case0-0.npy", "-i"][..], "a bundle cannot replace its program"),
        (
            &["bundle", "create", "m.pte", "--case", "case0-0.npy", "--method", "fwd", "-o", "x.bpte"],
            "no method is called",
        ),
        (&["bundle", "create", "methods.pte", "--case", "case0-0.npy", "-o", "x.bpte"], "name one with --method"),
        (&["bundle", "create", "m.pte", "--case", "m.pte", "-o", "x.bpte"], "m.pte holds"),
        (&["bundle", "create", "m.pte", "-o", "x.bpte"], "--case"),
        (
            &[
                "bundle",
                "create",
                "m.pte",
                "--case",
                "case0-0.npy",
                "--expect",
                "expect0-0.npy",
                "expect0-0.npy",
                "-o",
                "x.bpte",
            ],
            "1 case with inputs, 2 cases with outputs",
        ),
    ] {
        let (code, message) = refused(line, &folder);
        assert!(code == Some(2) && message.contains(fault), "{line:?}: {message}");
        assert!(!folder.file("x.bpte").exists());
    }
}
