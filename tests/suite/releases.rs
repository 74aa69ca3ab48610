//! What the releases of ExecuTorch do with a file, compared with what their runtimes did: `tests/data/releases`.

use executorch_format::schema::program::DataLocation;
use executorch_format::validate::{
    Behaviour, Deployment, FEATURES, HISTORIES, Library, RULES, Release, ReleaseVerdict, releases_of_error,
};
use executorch_format::{Model, Pte, PteOptions};
use executorch_format_support::{corpus, data, fixtures};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The releases whose runtimes were run, as the tables name them.
const RUN: [&str; 13] = [
    "0.2.0", "0.2.1", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.0", "1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.0", "1.4.1",
];

/// What a runtime did: the behaviour that a verdict must have, or why it says nothing about the file.
fn observed(file: &str, result: &str) -> Result<Behaviour, &'static str> {
    if result == "ok" {
        return Ok(Behaviour::Loads);
    }
    // They died while Python took the result of a method that the loading had run.
    if result.starts_with("signal")
        && ["multi_method", "const_complex", "const_methods"].iter().any(|name| file.contains(name))
    {
        return Err("Python's conversion of a result");
    }
    let backends = ["is not registered", "runtime not found"];
    if backends.iter().any(|backend| result.contains(backend)) {
        return Err("a backend that the wheel does not have");
    }
    if result.starts_with("ValueError") {
        return Err("Python's own check");
    }
    Ok(if result.starts_with("signal") { Behaviour::Dies } else { Behaviour::Refuses })
}

/// The differences that are right: part of a file's name, the first and the last release, and why.
const DIFFERENT: &[(&str, &str, &str, &str)] = &[
    ("buffer-device-unique", "1.4", "1.4", "it loads all the same: what it does with the second device is not known"),
    ("buffer-device-index", "1.4", "1.4", "the device is that of a planned buffer which does not exist"),
    (
        "CVE-2025-30402",
        "1.0",
        "1.4",
        "the portable build refuses it, the ATen build of the wheels loads it (1.1 aborts)",
    ),
    (
        "CVE-2025-54952",
        "1.0",
        "1.4",
        "the portable build refuses it, the ATen build of the wheels loads it (1.1 aborts)",
    ),
    ("key-", "0.6", "1.4", "the damage takes the name of a weight that the payload needs"),
    ("constant-inline", "1.2", "1.2", "1.2 alone checks it: the rule has it as unknown"),
];

struct Table {
    file: PathBuf,
    /// Where the files are that it names.
    folder: PathBuf,
}

impl Table {
    fn rows(&self) -> Vec<(String, Map<String, Value>)> {
        let text = std::fs::read_to_string(&self.file).unwrap();
        let rows: BTreeMap<String, Map<String, Value>> = serde_json::from_str(&text).unwrap();
        rows.into_iter().collect()
    }

    /// Compares each verdict with what each release did. A row says what a runtime did from a release on until the next one.
    fn compare(&self) {
        let (mut counts, mut wrong) = (BTreeMap::<String, usize>::new(), String::new());
        for (file, row) in self.rows() {
            let bytes = std::fs::read(self.folder.join(&file)).expect(&file);
            let verdicts = verdicts(&bytes);
            let mut result = "";
            for run in RUN {
                result = row.get(run).and_then(Value::as_str).unwrap_or(result);
                let release: Release = run.parse().unwrap();
                let verdict = verdicts.iter().find(|verdict| verdict.release == release).unwrap();
                let what = match observed(&file, result) {
                    Err(reason) => {
                        // Of payloads that no XNNPACK understands nothing is promised.
                        let other = result.contains("Backend") && verdict.behaviour == Behaviour::Loads;
                        assert!(!other, "{file}: {run}: {result}");
                        format!("aside: {reason}")
                    }
                    Ok(behaviour) if behaviour == verdict.behaviour => format!("agree: {behaviour}"),
                    // What it computes, loading does not show.
                    Ok(Behaviour::Loads) if verdict.behaviour == Behaviour::Miscomputes => {
                        format!("agree: {}", verdict.behaviour)
                    }
                    Ok(behaviour) => match difference(&file, release) {
                        Some(reason) => format!("differ: {reason}"),
                        None if verdict.behaviour == Behaviour::Unknown => format!("unknown here: {behaviour}"),
                        None => {
                            wrong += &format!("{file}: {run} {behaviour}: {result}\n  but {verdict:?}\n");
                            continue;
                        }
                    },
                };
                *counts.entry(what).or_default() += 1;
            }
        }
        println!("{}: {counts:#?}", self.file.display());
        assert!(wrong.is_empty(), "{wrong}");
    }
}

/// As the runtimes were run: with the kernels of their wheels, and without a `.ptd` file.
fn verdicts(bytes: &[u8]) -> Vec<ReleaseVerdict> {
    let deployment = Deployment { libraries: &[Library::PythonWheel], data: Some(&[]), ..Deployment::default() };
    Model::parse(bytes).map_or_else(|error| releases_of_error(&error), |model| model.releases_with(&deployment))
}

fn difference(file: &str, release: Release) -> Option<&'static str> {
    let covers = |first: &str, last: &str| (first.parse().unwrap()..=last.parse().unwrap()).contains(&release);
    let found = DIFFERENT.iter().find(|(name, first, last, _)| file.contains(name) && covers(first, last));
    found.map(|(.., reason)| *reason)
}

#[test]
fn verdicts_on_real_programs_are_what_the_releases_did() {
    Table { file: data().join("releases/programs.json"), folder: data() }.compare();
}

#[test]
fn verdicts_on_other_fixtures_are_what_the_releases_did() {
    let Some(folder) = std::env::var_os("EXECUTORCH_FIXTURES").map(PathBuf::from) else { return };
    let file = folder.join("releases.json");
    if file.is_file() {
        Table { file, folder }.compare();
    }
}

#[test]
fn verdicts_on_malformed_programs_are_what_the_releases_did() {
    Table { file: data().join("releases/malformed.json"), folder: data().join("malformed") }.compare();
}

#[test]
fn every_history_names_a_rule_and_files_by_which_it_was_seen() {
    let cases = corpus::cases();
    for history in HISTORIES {
        assert!(RULES.iter().any(|rule| rule.name == history.rule), "{}", history.rule);
        assert!(!history.seen.is_empty() && history.since.is_sorted(), "{history:?}");
        for name in history.seen {
            let case = cases.iter().find(|case| case.name == *name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(case.rule, history.rule, "{name}");
        }
    }
    for feature in FEATURES {
        assert!(feature.since.is_sorted());
        for file in feature.seen {
            assert!(data().join(file).is_file(), "{file}");
        }
    }
}

#[test]
fn constants_moved_into_a_segment_make_an_old_program_load_in_the_latest_release() {
    let latest = |pte: &Pte<'_>| pte.releases().pop().unwrap();
    let mut moved = 0;
    for fixture in fixtures::fixtures().iter().filter(|fixture| fixture.is_pte()) {
        let pte = Pte::parse(fixture.bytes()).unwrap();
        let before = latest(&pte);
        if before.because.as_ref().is_none_or(|reason| reason.name != "constant-buffer") {
            continue;
        }
        let options = PteOptions { constants: Some(DataLocation::SEGMENT), ..PteOptions::default() };
        let file = pte.lay_out(&options).unwrap().image().unwrap().to_vec().unwrap();
        let after = latest(&Pte::parse(&file).unwrap());
        assert_eq!(after.behaviour, Behaviour::Loads, "{}: {after:?}", fixture.name());
        moved += 1;
    }
    assert!(moved > 0, "no program with constants inside the FlatBuffer");
}

/// The histories and features as a page of the documentation.
fn page() -> String {
    let mut page = String::from(
        "# What releases of ExecuTorch do\n\n\
         Made from `validate::FEATURES` and `validate::HISTORIES` by `BLESS=1 cargo test --all-features --test suite releases`.\n\n\
         The runtimes of the Python wheels of 0.2.0 to 1.4.1 (13 of them; not 0.3 and 1.5.0) loaded real and damaged programs. They are ATen builds; \
         kernels and backends are not considered. What 1.5 does, the rule's level says: it refuses what breaks a rule of the levels `structure` and `runtime`. \
         `pte verify --runtime all FILE` applies this to a file.\n\n",
    );
    let since = |since: &[(Release, Behaviour)]| {
        let parts: Vec<_> = since.iter().map(|(release, behaviour)| format!("{behaviour} since {release}")).collect();
        match since {
            [(_, behaviour)] => format!("{behaviour} in all"),
            _ => parts.join(", "),
        }
    };
    page += "## What a good program may use\n\n| feature | releases | |\n|---|---|---|\n";
    for feature in FEATURES {
        page += &format!("| {} | {} | {} |\n", feature.name, since(feature.since), feature.what);
    }
    page += "\n## What a damaged one does\n\n| rule | field | releases | seen with |\n|---|---|---|---|\n";
    for history in HISTORIES {
        let run = history.refused_when_run_since.map(|since| format!("; refuses to run since {since}"));
        let (since, seen) = (since(history.since), history.seen.join(", "));
        page += &format!("| {} | {} | {since}{} | {seen} |\n", history.rule, history.field, run.unwrap_or_default());
    }
    page
}

#[test]
fn the_page_of_releases_is_made_of_the_histories() {
    let path = data().join("../../docs/releases.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page(), "BLESS=1 writes it");
}
