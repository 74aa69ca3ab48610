//! Checks that each file of `tests/data/malformed`, written by the program `malformed` of `tests/support`, breaks exactly its rule.

use executorch_format::verify::{Finding, Level, RULES};
use executorch_format_support::corpus;
use executorch_format_support::verdict;
use std::collections::BTreeSet;

fn findings(files: &[Vec<u8>], level: Level) -> Vec<Finding> {
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    verdict::findings(&files, level)
}

/// Returns the files of a case. `BLESS=1` first writes the files of all cases.
fn read(case: &corpus::Case) -> Vec<Vec<u8>> {
    bless();
    case.names().iter().map(|name| std::fs::read(corpus::folder().join(name)).expect(name)).collect()
}

fn bless() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("BLESS").is_some() {
            corpus::write(&corpus::folder(), &corpus::files());
        }
    });
}

#[test]
fn the_corpus_matches_its_program() {
    let (folder, files) = (corpus::folder(), corpus::files());
    bless();
    for (name, bytes) in &files {
        let found = std::fs::read(folder.join(name)).unwrap_or_default();
        let program = "cargo run -p executorch-format-support --bin malformed";
        assert!(found == *bytes, "{name} differs from the output of `{program}`");
    }
    let found = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(found, files.len() + 1, "the number of files in the corpus, including its README");
}

#[test]
fn each_malformed_file_breaks_its_rule_and_no_other() {
    let mut wrong = String::new();
    for case in corpus::cases() {
        let files = read(&case);
        let found = findings(&files, Level::Strict);
        let rules: BTreeSet<_> = found.iter().map(|finding| finding.rule).collect();
        if rules != [Some(case.rule), case.also].into_iter().flatten().collect() {
            wrong += &format!("{}: expected {}, found {found:#?}\n", case.name, case.rule);
        }
        // It is found at its own level and the levels above.
        for level in [Level::Structure, Level::Runtime] {
            let found = findings(&files, level);
            if found.iter().any(|finding| finding.rule == case.rule) != (case.level <= level) {
                wrong += &format!("{}: at the {level} level, found {found:#?}\n", case.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_rule_has_a_malformed_file() {
    let cases = corpus::cases();
    // Such a file has more than a million tables, over 8 MB. The module `verify` tests it.
    let without = RULES.iter().filter(|rule| cases.iter().all(|case| case.rule != rule.name)).map(|rule| rule.name);
    assert_eq!(without.collect::<Vec<_>>(), ["table-limit"]);
}

#[test]
fn every_cve_has_a_file_with_its_name() {
    let names: BTreeSet<_> = corpus::cases().iter().map(|case| case.name).collect();
    for cve in RULES.iter().filter_map(|rule| rule.cve).flat_map(|cve| cve.split(", ")) {
        assert!(names.contains(cve), "{cve}");
    }
    let files = corpus::cases().into_iter().filter(|case| case.name.starts_with("CVE-"));
    for case in files {
        for finding in findings(&read(&case), Level::Strict) {
            assert!(finding.cve.is_some_and(|cve| cve.contains(case.name)), "{}: {finding}", case.name);
            assert!(finding.message.contains(case.name), "{finding}");
        }
    }
}
