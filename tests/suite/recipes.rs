//! The recipes of CONTRIBUTING.md name the files that an addition changes: recent additions are followed through the repository.

use crate::pages::{files, quoted, read, section};
use executorch_format_support::crate_root;
use std::collections::{BTreeMap, BTreeSet};

/// A recipe, the additions that are followed, each as words that nothing else has, and the files of the recipe in which they leave no word:
/// with the reason.
struct Recipe {
    heading: &'static str,
    additions: &'static [&'static [&'static str]],
    without_traces: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    Recipe {
        heading: "Adding a field or a table",
        additions: &[&["non_const_buffer_device"]],
        // Forms of fields, and tables with code of their own.
        without_traces: &["src/flatbuffer", "src/flatbuffer/tests.rs", "src/schema/flat_tensor/root.rs"],
    },
    Recipe {
        heading: "Adding a rule",
        additions: &[
            &["operator-without-kernel", "OPERATOR_WITHOUT_KERNEL"],
            &["copy-index", "COPY_INDEX"],
            &["argument-index", "ARGUMENT_INDEX"],
        ],
        // The number of rules, the call of a function, and checks that have the name of their argument.
        without_traces: &["README.md", "src/verify/program.rs", "src/operators/table"],
    },
    Recipe {
        heading: "Adding an operator",
        additions: &[&["masked_scatter"]],
        // A row names its family; only products are counted.
        without_traces: &["src/verify/kernels/families", "src/inspect/operators/macs.rs"],
    },
    Recipe {
        heading: "Adding a subcommand",
        additions: &[&["disasm"], &["\"to-c\"", "`to-c`", "pte to-c"]],
        // A command without changes, and without a page of its own.
        without_traces: &["src/edit", "docs/README.md"],
    },
    Recipe {
        heading: "Changing an answer",
        additions: &[&["delegated_unknown"], &["cmake_target"], &["KernelPlace"]],
        // A new document.
        without_traces: &["cli/src/schemas.rs"],
    },
    Recipe {
        heading: "Adding a fuzz target",
        additions: &[&["read_etrecord", "etrecord.rs"]],
        // The promise of memory, and inputs that found a fault.
        without_traces: &["SECURITY.md", "fuzz/regressions"],
    },
];

/// Folders in which additions leave traces, except what builds and runs leave there.
const FOLDERS: [&str; 11] =
    [".ci", "benches", "cli", "data", "docs", "examples", "fuzz", "python", "src", "stores", "tests"];
const UNTRACKED: [&str; 6] =
    ["fuzz/target/", "fuzz/corpus/", "fuzz/artifacts/", "__pycache__", "node_modules/", "tests/proptest-regressions/"];

/// Returns the texts of the repository by path, except CONTRIBUTING.md and this file, which name the additions. Exported programs are no texts.
fn texts() -> BTreeMap<String, String> {
    let pages = ["ARCHITECTURE.md", "CHANGELOG.md", "README.md", "SECURITY.md"].map(str::to_owned);
    let all = FOLDERS.iter().flat_map(|folder| files(folder)).chain(pages);
    let kept = all.filter(|path| {
        let is_exported = path.starts_with("tests/data/") && path.contains(".pte.") || path.contains("/seen/");
        !is_exported && path != "tests/suite/recipes.rs" && !UNTRACKED.iter().any(|part| path.contains(part))
    });
    let text = |path: String| Some((std::fs::read_to_string(crate_root().join(&path)).ok()?, path));
    kept.filter_map(text).map(|(text, path)| (path, text)).collect()
}

/// Returns `true` if a text has the words, and not as a part of a longer word.
fn has(text: &str, words: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    text.match_indices(words).any(|(at, found)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + found.len()..].chars().next());
        !before.is_some_and(|letter| is_part(letter) && found.starts_with(is_part))
            && !after.is_some_and(|letter| is_part(letter) && found.ends_with(is_part))
    })
}

/// Returns the files and folders that a part of CONTRIBUTING.md names, except scripts, which are run.
fn named(page: &str, heading: &str) -> BTreeSet<String> {
    let words = quoted(section(page, heading)).filter(|words| !words.contains(' '));
    let is_changed = |path: &&str| {
        let full = crate_root().join(path);
        let is_script = std::fs::read(&full).is_ok_and(|bytes| bytes.starts_with(b"#!"));
        full.exists() && (!is_script || *path == "benches/run")
    };
    words.filter(is_changed).map(str::to_owned).collect()
}

/// Returns `true` if a path is that of a file, or of a folder around it.
fn is_at(file: &str, path: &str) -> bool {
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[test]
fn recent_additions_left_traces_in_the_files_that_their_recipes_name_and_in_no_others() {
    let (page, texts) = (read("CONTRIBUTING.md"), texts());
    let always = named(&page, "With every addition");
    assert!(always.contains(".ci/public-api.txt") && always.contains("CHANGELOG.md"), "{always:?}");
    let mut wrong = Vec::new();
    for Recipe { heading, additions, without_traces } in RECIPES {
        let paths = named(&page, heading);
        let mut reached = BTreeSet::new();
        for words in *additions {
            let traces: Vec<&String> = texts
                .iter()
                .filter(|(_, text)| words.iter().any(|word| has(text, word)))
                .map(|(path, _)| path)
                .collect();
            assert!(traces.len() > 2, "{words:?} is only in {traces:?}");
            for file in traces {
                let mut around = paths.iter().filter(|path| is_at(file, path)).peekable();
                if around.peek().is_none() && !always.iter().any(|path| is_at(file, path)) {
                    wrong.push(format!("{heading}: leaves out {file}, which has {}", words[0]));
                }
                reached.extend(around);
            }
        }
        for path in &paths {
            if reached.contains(path) == without_traces.contains(&path.as_str()) {
                wrong.push(format!("{heading}: names {path}, which is not as without_traces has it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
