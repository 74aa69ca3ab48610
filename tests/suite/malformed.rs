//! The malformed files of `tests/data/malformed`, which the program `malformed` of `tests/support` makes: each gives exactly its rule.

use executorch_format::validate::{Finding, Level, RULES};
use executorch_format_support::corpus;
use executorch_format_support::verdict;
use std::collections::BTreeSet;

fn findings(files: &[Vec<u8>], level: Level) -> Vec<Finding> {
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    verdict::findings(&files, level)
}

/// The files of a case. `BLESS=1` writes them all before the first is read.
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
fn the_corpus_is_what_its_program_makes() {
    let (folder, files) = (corpus::folder(), corpus::files());
    bless();
    for (name, bytes) in &files {
        let there = std::fs::read(folder.join(name)).unwrap_or_default();
        assert!(there == *bytes, "{name} is not what `cargo run -p executorch-format-support --bin malformed` makes");
    }
    let there = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(there, files.len() + 1, "files in the corpus, its README included");
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
        // Each is found from its own level on.
        for level in [Level::Structure, Level::Runtime] {
            let found = findings(&files, level);
            if found.is_empty() == (case.level <= level) {
                wrong += &format!("{}: at the {level} level, found {found:#?}\n", case.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_rule_has_a_malformed_file() {
    let cases = corpus::cases();
    // More than a million tables take more than 8 MB: see `validate`.
    let without = RULES.iter().filter(|rule| cases.iter().all(|case| case.rule != rule.name)).map(|rule| rule.name);
    assert_eq!(without.collect::<Vec<_>>(), ["table-limit"]);
}

#[test]
fn every_cve_has_a_file_of_its_name() {
    let names: BTreeSet<_> = corpus::cases().iter().map(|case| case.name).collect();
    for cve in RULES.iter().filter_map(|rule| rule.cve).flat_map(|cve| cve.id.split(", ")) {
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
