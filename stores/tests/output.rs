//! The folder of a catalogue: a run replaces and removes only what earlier runs wrote.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use executorch_format_stores::catalog::{Options, write};
use executorch_format_stores::{Error, Stores, wait};
use executorch_format_support::data;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("executorch-format-output-{process}-{count}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(out: &Path) -> Result<u64, Error> {
    let from = data().join("1.5.1/linear/linear.pte").to_str().unwrap().to_owned();
    wait(write(&Stores::default(), &[from], out, &Options::default(), |_| ())).map(|report| report.files)
}

/// Returns the files in a folder with their contents; links with their targets; folders.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let content = if kind.is_symlink() {
                fs::read_link(&path).unwrap().to_str().unwrap().as_bytes().to_vec()
            } else if kind.is_dir() {
                folders.push(path.clone());
                b"a folder".to_vec()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path, content);
        }
    }
    found
}

const MARKER: &str = ".executorch-format-catalog";
const MARK: &str = "executorch-format.catalog 1\n";

/// Something that a user puts into the folder.
#[derive(Clone, Debug)]
enum Thing {
    File(Vec<u8>),
    Folder,
    Link,
}

/// Returns paths that a run uses, and others.
fn places() -> impl Strategy<Value = String> {
    let first = prop::sample::select(vec![
        "files",
        "methods",
        "findings",
        "catalog.json",
        ".lock",
        ".unfinished-000001",
        ".unfinished-000002",
        "notes",
        MARKER,
    ]);
    let next = prop::sample::select(vec![
        "",
        "files",
        "files.old",
        "catalog.json",
        "part-000001-000001.parquet",
        ".part-000001-000001.parquet.unfinished",
        "part-7-7.parquet",
        "weights.pte",
        "data",
        MARKER,
    ]);
    (first, next.clone(), next).prop_map(|(first, second, third)| {
        let parts = [first, second, third];
        parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/")
    })
}

fn things() -> impl Strategy<Value = Thing> {
    prop_oneof![
        4 => prop_oneof![
            prop::collection::vec(any::<u8>(), 5..20),
            Just(MARK.as_bytes().to_vec()),
            Just(b"{\"format\": 1, \"run\": 3}".to_vec()),
            Just(b"PAR1 and no more than that".to_vec()),
        ].prop_map(Thing::File),
        1 => Just(Thing::Folder),
        1 => Just(Thing::Link),
    ]
}

/// Puts things into a folder wherever possible.
fn put(out: &Path, outside: &Path, things: &[(String, Thing)]) -> Vec<PathBuf> {
    let mut made = Vec::new();
    for (place, thing) in things {
        let path = out.join(place);
        // Not through a link: another test covers paths outside.
        let through = path.ancestors().skip(1).take_while(|above| *above != out).any(Path::is_symlink);
        if through || fs::create_dir_all(path.parent().unwrap()).is_err() {
            continue;
        }
        made.extend(path.ancestors().skip(1).take_while(|above| *above != out).map(Path::to_owned));
        let done = match thing {
            Thing::File(_) if path.is_symlink() => continue,
            Thing::File(bytes) => fs::write(&path, bytes),
            Thing::Folder => fs::create_dir(&path),
            #[cfg(unix)]
            Thing::Link => std::os::unix::fs::symlink(outside, &path),
            #[cfg(not(unix))]
            Thing::Link => continue,
        };
        if done.is_ok() {
            made.push(path);
        }
    }
    made
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_there_is_there_after_a_run_unless_an_earlier_run_wrote_it(
        earlier in any::<bool>(),
        things in prop::collection::vec((places(), things()), 0..6),
    ) {
        let (out, outside) = (Folder::new(), Folder::new());
        fs::write(outside.0.join("kept"), b"of the user").unwrap();
        if earlier {
            run(&out.0).unwrap();
        }
        let own = contents(&out.0);
        put(&out.0, &outside.0, &things);
        let before = contents(&out.0);
        let outcome = run(&out.0);
        let after = contents(&out.0);
        for (path, content) in &before {
            let is_own = own.get(path) == Some(content)
                || path.ends_with(MARKER) && content == MARK.as_bytes()
                // The start of a part, in a folder with a marker.
                || path.extension().is_some_and(|end| end == "unfinished") && content.starts_with(b"PAR1")
                || content == b"a folder";
            prop_assert!(
                is_own || after.get(path) == Some(content),
                "{}: before {content:?}, after {:?}; {outcome:?}", path.display(), after.get(path)
            );
        }
        prop_assert_eq!(fs::read(outside.0.join("kept")).unwrap(), b"of the user");
        prop_assert_eq!(contents(&outside.0).len(), 1);
        if things.is_empty() {
            prop_assert_eq!(outcome, Ok(1));
        }
    }
}

#[test]
fn a_foreign_folder_or_file_in_place_of_output_is_an_error_with_its_name() {
    for (place, named) in [
        ("files/weights.bin", "files"),
        ("catalog.json", "catalog.json"),
        ("operators", "operators"),
        ("nodes/part-000001-000001.parquet", "nodes"),
    ] {
        let out = Folder::new();
        put(&out.0, &out.0, &[(place.into(), Thing::File(b"of the user".to_vec()))]);
        let error = run(&out.0).unwrap_err().to_string();
        let (path, fault) = (out.0.join(named), "was not written by `pte catalog`");
        assert!(error.starts_with(&format!("{} {fault}", path.display())), "{error}");
        assert_eq!(fs::read(out.0.join(place)).unwrap(), b"of the user");
    }
    // Beside the tables, and in a table of an earlier run.
    let out = Folder::new();
    put(&out.0, &out.0, &[("queries.sql".into(), Thing::File(b"SELECT 1".to_vec()))]);
    assert_eq!((run(&out.0), run(&out.0)), (Ok(1), Ok(1)));
    put(&out.0, &out.0, &[("files/notes.txt".into(), Thing::File(b"of the user".to_vec()))]);
    let error = run(&out.0).unwrap_err().to_string();
    assert!(error.contains("notes.txt was not written by"), "{error}");
    assert!(out.0.join("files/notes.txt").exists() && out.0.join("queries.sql").exists());
}

#[test]
fn inputs_inside_the_output_are_an_error() {
    let out = Folder::new();
    fs::create_dir(out.0.join("files")).unwrap();
    let model = out.0.join("files/linear.pte");
    fs::copy(data().join("1.5.1/linear/linear.pte"), &model).unwrap();
    let folder = out.0.to_str().unwrap().to_owned();
    for input in [
        folder.clone(),
        format!("{folder}/files"),
        format!("{folder}/files/linear.pte"),
        format!("file://{folder}/files"),
    ] {
        let error = wait(write(&Stores::default(), &[input], &out.0, &Options::default(), |_| ())).unwrap_err();
        assert!(error.to_string().contains("is inside the output folder"), "{error}");
    }
    assert!(model.exists() && fs::read_dir(&out.0).unwrap().count() == 1);
    // An output folder inside an input is allowed.
    let inside = out.0.join("catalog");
    assert_eq!(wait(write(&Stores::default(), &[folder], &inside, &Options::default(), |_| ())).unwrap().files, 1);
}

#[test]
fn a_url_is_not_a_folder() {
    let error = run(Path::new("s3://bucket/catalog")).unwrap_err().to_string();
    assert!(error.contains("expected a path, found a URL"), "{error}");
    assert!(!Path::new("s3:").exists());
}
