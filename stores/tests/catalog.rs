//! Catalogues of the test files, and of files that change.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use executorch_format::inspect::Content;
use executorch_format::{Analysis, Model, verify::Level};
use executorch_format_stores::catalog::{Limit, Options, Overview, Report, TABLES, batch, page, write};
use executorch_format_stores::{Access, Error, Stores, wait};
use executorch_format_support::server::{Fault, Server};
use executorch_format_support::{crate_root, data};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("executorch-format-stores-{}-{name}", std::process::id()));
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

/// Returns the rows of a table.
fn table(catalog: &Path, name: &str) -> RecordBatch {
    let mut parts: Vec<_> = fs::read_dir(catalog.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Leaves out the marker.
    parts.retain(|part| !part.file_name().unwrap().to_str().unwrap().starts_with('.'));
    parts.sort();
    let schema = TABLES.iter().find(|table| table.name == name).unwrap().schema();
    let mut batches = Vec::new();
    for part in parts {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(part).unwrap()).unwrap().build().unwrap();
        batches.extend(reader.map(|batch| batch.unwrap()));
    }
    concat_batches(&schema, &batches).unwrap()
}

/// Returns rows without columns that only runs into the same folder have.
fn without_history(rows: &RecordBatch) -> RecordBatch {
    let schema = rows.schema();
    let kept =
        (0..rows.num_columns()).filter(|at| !["run", "size_before"].contains(&schema.field(*at).name().as_str()));
    rows.project(&kept.collect::<Vec<_>>()).unwrap()
}

fn texts(rows: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let column = rows.column_by_name(column).unwrap().as_string::<i32>();
    column.iter().map(|text| text.map(str::to_owned)).collect()
}

fn catalog(stores: &Stores, from: &[String], to: &Path, options: &Options) -> Result<Report, Error> {
    wait(write(stores, from, to, options, |_| ()))
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_tables_agree_with_the_library() {
    let (stores, out) = (Stores::default(), Folder::new("library"));
    let options = Options::default().with_hash(true).with_part_files(100);
    let report = catalog(&stores, &[path(&data())], &out.0, &options).unwrap();
    let files = texts(&table(&out.0, "files"), "file");
    assert_eq!(report.files, files.len() as u64);
    assert!(files.is_sorted(), "sorted, so that engines leave parts out");
    assert!(fs::read_dir(out.0.join("files")).unwrap().count() > 3);
    let kept = |entry: &str| !entry.starts_with('.') || entry == ".lock";
    assert!(fs::read_dir(&out.0).unwrap().all(|entry| kept(entry.unwrap().file_name().to_str().unwrap())));
    let (mut methods, mut operators, mut findings, mut blobs, mut invalid) = (0, 0, 0, 0, 0);
    for file in files.iter().flatten() {
        let bytes = fs::read(file).unwrap();
        let Ok(model) = Model::parse(&bytes) else {
            invalid += 1;
            findings += 1;
            continue;
        };
        findings += model.verify(Level::Runtime).len();
        let program = match &model {
            Model::Bpte(bpte) => bpte.program().ok(),
            _ => None,
        };
        blobs += match (&model, &program) {
            (Model::Bpte(bpte), Some(program)) => bpte.blobs_with(&Analysis::new(program)).blobs.len(),
            _ => model.blobs().blobs.len(),
        };
        let summary = program.as_ref().map_or_else(|| model.summary(), |program| Analysis::new(program).summary());
        if let Content::Program(program) = &summary.content {
            methods += program.methods.len();
            operators += program.methods.iter().map(|method| method.operators.len()).sum::<usize>();
        }
    }
    let rows = |name| table(&out.0, name).num_rows();
    let counted = (rows("methods"), rows("operators"), rows("findings"), rows("blobs"));
    assert_eq!(counted, (methods, operators, findings, blobs));
    let kinds = texts(&table(&out.0, "files"), "error_kind");
    assert_eq!(kinds.iter().flatten().filter(|kind| *kind == "invalid").count(), invalid);
    assert!(invalid > 10 && methods > 100 && blobs > 1000);
    let hashes = table(&out.0, "blobs");
    let hashed = hashes.column_by_name("sha256").unwrap();
    let offsets = hashes.column_by_name("offset").unwrap();
    // Every blob that is in its file.
    assert!(offsets.len() - offsets.null_count() - (hashed.len() - hashed.null_count()) < 20);
}

#[test]
fn blobs_have_the_names_that_programs_have() {
    let (stores, out) = (Stores::default(), Folder::new("names"));
    catalog(&stores, &[path(&data().join("etrecord"))], &out.0, &Options::default()).unwrap();
    let blobs = table(&out.0, "blobs");
    let [names, named_by, kinds] = ["name", "named_by", "kind"].map(|column| texts(&blobs, column));
    let at = names.iter().position(|name| name.as_deref() == Some("convolution.1 weight")).unwrap();
    assert_eq!((kinds[at].as_deref(), named_by[at].as_deref()), (Some("constant"), Some("operator")));
    assert!(names.iter().zip(&named_by).all(|(name, by)| name.is_some() == by.is_some()));
}

#[test]
fn a_batch_has_the_rows_of_the_tables() {
    let (stores, out) = (Stores::default(), Folder::new("batch"));
    let folder = data().join("1.5.1");
    catalog(&stores, &[path(&folder)], &out.0, &Options::default()).unwrap();
    let files: Vec<String> = texts(&table(&out.0, "files"), "file").into_iter().flatten().collect();
    assert!(files.len() > 30);
    let rows = wait(batch(&stores, &files, false, 8)).unwrap();
    assert_eq!(rows.num_rows(), files.len());
    for (at, known) in TABLES.iter().enumerate() {
        let expected = table(&out.0, known.name);
        let columns = match at {
            0 => rows.columns()[..known.columns.len()].to_vec(),
            _ => rows.column_by_name(known.name).unwrap().as_list::<i32>().values().as_struct().columns().to_vec(),
        };
        let found = RecordBatch::try_new(known.schema(), columns).unwrap();
        assert_eq!(without_history(&found), without_history(&expected), "{}", known.name);
    }
}

#[test]
fn unchanged_files_are_not_read_again_and_have_the_same_rows() {
    let (stores, from, out, fresh) =
        (Stores::default(), Folder::new("from"), Folder::new("again"), Folder::new("fresh"));
    let copy = |fixture: &str, to: &str| {
        fs::copy(data().join("1.5.1").join(fixture), from.0.join(to)).unwrap();
    };
    for index in 0..40 {
        copy("multi_method/multi_method.pte", &format!("{index:02}.pte"));
    }
    let options = Options::default().with_part_files(7);
    let run = || catalog(&stores, &[path(&from.0)], &out.0, &options).unwrap();
    assert_eq!((run().files, run().unchanged), (40, 40));
    // One file is replaced, one removed, one new, and one is not a model.
    copy("linear/linear.pte", "11.pte");
    fs::remove_file(from.0.join("20.pte")).unwrap();
    copy("linear_xnnpack/linear_xnnpack.pte", "205.pte");
    fs::write(from.0.join("30.pte"), b"no model").unwrap();
    let report = run();
    assert_eq!((report.files, report.unchanged), (40, 37));
    catalog(&stores, &[path(&from.0)], &fresh.0, &Options::default()).unwrap();
    for known in TABLES {
        let tables = [&out.0, &fresh.0].map(|folder| without_history(&table(folder, known.name)));
        assert_eq!(tables[0], tables[1], "{}", known.name);
    }
    // Rows without hashes cannot be reused if hashes are requested.
    assert_eq!(catalog(&stores, &[path(&from.0)], &out.0, &options.with_hash(true)).unwrap().unchanged, 0);
}

#[test]
fn a_file_that_cannot_be_read_is_a_row_and_is_retried() {
    let (server, out) = (Server::start(), Folder::new("unreadable"));
    let mut access = Access::default();
    (access.retries, access.first_read) = (0, 64);
    let stores = Stores::new(access);
    let program = fs::read(data().join("1.5.1/multi_method/multi_method.pte")).unwrap();
    server.put("changes.pte", program.clone());
    server.put("good.pte", program);
    let names = ["changes.pte", "good.pte", "missing.pte"].map(|name| server.url(name));
    server.fault(Fault::ChangesAndIgnoresIfMatch);
    let report = catalog(&stores, &names, &out.0, &Options::default()).unwrap();
    assert_eq!(report.files, 3);
    let files = table(&out.0, "files");
    assert_eq!(
        texts(&files, "error_kind"),
        [Some("unreadable".into()), Some("unreadable".into()), Some("unreadable".into())]
    );
    assert_eq!(texts(&files, "error")[0].as_deref(), Some("the file changed while it was being read: try again"));
    assert_eq!(texts(&files, "error")[2].as_deref(), Some("there is no such file"));
    assert_eq!(table(&out.0, "methods").num_rows(), 0);
    server.fault(Fault::None);
    let report = catalog(&stores, &names, &out.0, &Options::default()).unwrap();
    assert_eq!((report.files, report.unchanged), (3, 0));
    assert_eq!(texts(&table(&out.0, "files"), "error_kind"), [None, None, Some("unreadable".into())]);
    assert_eq!(catalog(&stores, &names, &out.0, &Options::default()).unwrap().unchanged, 2);
    assert!(catalog(&stores, &[path(&out.0)], &out.0, &Options::default()).is_err(), "there is no model");
}

#[test]
fn an_overview_has_changes_and_duplicates_and_checks_limits() {
    let (stores, from, out) = (Stores::default(), Folder::new("overview"), Folder::new("overview-out"));
    let copy = |fixture: &str, to: &str| {
        fs::copy(data().join("1.5.1").join(fixture), from.0.join(to)).unwrap();
    };
    copy("multi_method/multi_method.pte", "a.pte");
    copy("multi_method/multi_method.pte", "b.pte");
    copy("add/add.pte", "c.pte");
    fs::write(from.0.join("d.pte"), b"no model").unwrap();
    let options = Options::default().with_hash(true);
    catalog(&stores, &[path(&from.0)], &out.0, &options).unwrap();
    let first = Overview::read(&out.0).unwrap();
    assert_eq!((first.files, first.errors, first.added, first.changed.len()), (4, 1, 4, 0));
    assert_eq!(first.failed[0].file, path(&fs::canonicalize(from.0.join("d.pte")).unwrap()));
    // Both models have the same five constants, some of which are equal to each other, too.
    assert!(first.duplicate_bytes.unwrap() >= 112, "{:?}", first.duplicates);
    assert!(first.duplicates.iter().all(|known| known.wasted == known.size * (known.copies - 1)));
    assert_eq!(first.operators.iter().find(|known| known.name == "aten::add.out").unwrap().files, 1);
    assert_eq!(first.releases["1.5"].loads, 3);

    copy("linear_xnnpack/linear_xnnpack.pte", "c.pte");
    copy("add/add.pte", "e.pte");
    catalog(&stores, &[path(&from.0)], &out.0, &options).unwrap();
    let second = Overview::read(&out.0).unwrap();
    assert_eq!((second.run, second.files, second.added), (first.run + 1, 5, 1));
    let [grown] = &second.changed[..] else { panic!("{:?}", second.changed) };
    assert!(grown.file.ends_with("/c.pte") && grown.before == 1072 && grown.after == 2324);

    let exceeded = |limits: &str| {
        let limits: Vec<Limit> = limits.split(',').map(|limit| limit.parse().unwrap()).collect();
        second.exceeded(&limits).map(|found| found.len())
    };
    assert_eq!(exceeded("growth=200%,native-code,duplicates=1000000").unwrap(), 0);
    assert_eq!(exceeded("errors,growth=100%,findings,duplicates=100,release=1.5").unwrap(), 5);
    assert!(exceeded("release=9.9").is_err(), "nothing is known of that release");
    assert!("growth=-1%".parse::<Limit>().is_err() && "size".parse::<Limit>().is_err());
    // No file changed before the third run.
    catalog(&stores, &[path(&from.0)], &out.0, &options).unwrap();
    let third = Overview::read(&out.0).unwrap();
    assert_eq!((third.added, third.changed.len()), (0, 0));
    assert!(Overview::read(&from.0).is_err(), "no catalogue is there");
    let about = out.0.join("catalog.json");
    fs::write(&about, fs::read_to_string(&about).unwrap().replace("\"run\"", "\"\"")).unwrap();
    assert!(Overview::read(&out.0).unwrap_err().to_string().ends_with("catalog.json has no run"));
}

#[test]
#[cfg(unix)]
fn a_file_has_the_same_name_for_every_path_to_it() {
    let (stores, from, out) = (Stores::default(), Folder::new("paths"), Folder::new("paths-out"));
    fs::create_dir(from.0.join("models")).unwrap();
    fs::copy(data().join("1.5.1/add/add.pte"), from.0.join("models/add.pte")).unwrap();
    std::os::unix::fs::symlink("models", from.0.join("link")).unwrap();
    let prefixes = ["models", "models/", "./models", "link", "models/add.pte", "link/add.pte"];
    let prefixes = prefixes.map(|prefix| path(&from.0.join(prefix)));
    let report = catalog(&stores, &prefixes, &out.0, &Options::default()).unwrap();
    assert_eq!((report.files, report.unchanged), (1, 0));
    for prefix in prefixes {
        assert_eq!(catalog(&stores, &[prefix], &out.0, &Options::default()).unwrap().unchanged, 1);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_name_that_is_not_utf_8_is_a_row_and_extensions_may_be_upper_case() {
    use std::os::unix::ffi::OsStrExt;

    let (stores, from, out) = (Stores::default(), Folder::new("names"), Folder::new("names-out"));
    let model = data().join("1.5.1/linear/linear.pte");
    for name in [&b"bad\xff.pte"[..], b"UPPER.PTE", b"z.pte"] {
        fs::copy(&model, from.0.join(std::ffi::OsStr::from_bytes(name))).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(catalog(&stores, &[path(&from.0)], &out.0, &Options::default()).unwrap().files, 3);
        let files = table(&out.0, "files");
        let names: Vec<_> = texts(&files, "file").into_iter().flatten().collect();
        let ends = |name: &String, end: &str| name.ends_with(end);
        assert!(
            ends(&names[0], "/UPPER.PTE") && ends(&names[1], "/bad\\xFF.pte") && ends(&names[2], "/z.pte"),
            "{names:?}"
        );
        assert_eq!(texts(&files, "error_kind"), [None, Some("unreadable".into()), None]);
        assert_eq!(texts(&files, "error")[1].as_deref(), Some("its path is not UTF-8: rename it"));
        assert_eq!(table(&out.0, "methods").num_rows(), 2);
    }
}

#[test]
fn the_page_has_every_table() {
    let path = crate_root().join("docs/catalog.md");
    let text = fs::read_to_string(&path).unwrap();
    let (start, _) = text.split_once("## Tables\n").unwrap();
    let expected = format!("{start}## Tables\n\n{}", page().trim_end().to_owned() + "\n");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == expected, "BLESS=1 writes {}", path.display());
}
