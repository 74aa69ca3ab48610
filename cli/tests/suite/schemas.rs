//! The JSON Schemas in `docs/schema` are those of the types, accept the output of all commands, and refuse other documents.

use crate::cli::pte;
use crate::documents::{DOCUMENTS, document, target};
use boon::{Compiler, SchemaIndex, Schemas};
use executorch_format::testing::{AnyFile, Choices, ValidPair, ValidProgram, ValidTensors, WORD_DAMAGES, damage_word};
use executorch_format_support::fixtures::{files_below, has_extension};
use executorch_format_support::{crate_root, data, official};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[test]
fn schemas_in_docs_are_up_to_date() {
    let folder = crate_root().join("docs/schema");
    let mut names = Vec::new();
    for (document, schema) in pte::schemas() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = folder.join(format!("{}.json", document.name));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let stated = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stated == text, "{} differs from the types: BLESS=1 writes it", path.display());
        names.push(format!("{}.json", document.name));
    }
    let mut found: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    names.sort();
    assert_eq!(found, names);
}

/// The schemas of all documents, and the numbers of documents and entries that each accepted.
struct Validator {
    schemas: Schemas,
    indices: BTreeMap<&'static str, SchemaIndex>,
    counts: Mutex<BTreeMap<&'static str, [usize; 3]>>,
}

impl Validator {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let documents: Vec<_> = pte::schemas().collect();
        let url = |name: &str| format!("https://example.com/{name}.json");
        for (document, schema) in &documents {
            compiler.add_resource(&url(document.name), schema.clone()).unwrap();
        }
        let mut index = |name: &'static str| (name, compiler.compile(&url(name), &mut schemas).unwrap());
        let indices = documents.iter().map(|(document, _)| index(document.name)).collect();
        Self { schemas, indices, counts: Mutex::default() }
    }

    fn accepts(&self, name: &str, document: &Value) -> bool {
        self.schemas.validate(document, self.indices[name]).is_ok()
    }

    /// Checks a document, and each of its entries alone, so that an error points to one file.
    fn check(&self, name: &'static str, document: &Value) -> Result<(), String> {
        let files = document["files"].as_array().map_or(&[][..], Vec::as_slice);
        {
            let mut counts = self.counts.lock().unwrap();
            let [documents, entries, failed] = counts.entry(name).or_default();
            *documents += 1;
            *entries += files.len();
            *failed += files.iter().filter(|file| file["errors"] != json!([])).count();
        }
        let Err(error) = self.schemas.validate(document, self.indices[name]) else { return Ok(()) };
        let one = |file: &Value| json!({"format": 1, "files": [file]});
        let wrong = files.iter().map(one).find(|document| !self.accepts(name, document));
        let wrong = wrong.as_ref().map_or(format!("{error:#}"), |document| {
            self.schemas
                .validate(document, self.indices[name])
                .map_or_else(|error| format!("{error:#}"), |()| String::new())
        });
        let text = document.to_string();
        Err(format!("  {name}: {}\n  {}", text.get(..400).unwrap_or(&text), wrong.get(..4000).unwrap_or(&wrong)))
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes arbitrary generated files, valid ones, and damaged files. They are the same in each run.
fn generated(originals: &[PathBuf]) -> (Folder, Vec<PathBuf>) {
    let folder = Folder(std::env::temp_dir().join(format!("executorch-format-schemas-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut files = Vec::new();
    let mut put = |name: String, bytes: &[u8]| {
        files.push(folder.0.join(name));
        std::fs::write(files.last().unwrap(), bytes).unwrap();
    };
    for number in 0..120 {
        let bytes: Vec<u8> = (0..random() % 2000).map(|_| random() as u8).collect();
        let choices = || Choices::new(&bytes);
        let any = AnyFile::choose(&mut choices());
        let ending = if matches!(any, AnyFile::Program(_)) { "pte" } else { "ptd" };
        put(format!("any-{number}.{ending}"), &any.to_vec().unwrap());
        if number % 4 == 0 {
            let program = ValidProgram::choose(&mut choices()).unwrap().0;
            put(format!("valid-{number}.pte"), &program.image().unwrap().to_vec().unwrap());
            let tensors = ValidTensors::choose(&mut choices()).unwrap().0;
            put(format!("valid-{number}.ptd"), &tensors.image().unwrap().to_vec().unwrap());
            let (program, tensors) = ValidPair::choose(&mut choices()).unwrap().0;
            put(format!("pair-{number}.pte"), &program.image().unwrap().to_vec().unwrap());
            put(format!("pair-{number}.ptd"), &tensors.image().unwrap().to_vec().unwrap());
        }
    }
    for number in 0..240 {
        let original = &originals[random() % originals.len()];
        let bytes = std::fs::read(original).unwrap();
        // Tables are at the start; segments, which follow, are rarely hit.
        let word = random() % (bytes.len().min(8000) / 4).max(1);
        if let Some(damaged) = damage_word(&bytes, word * 4, random() % WORD_DAMAGES) {
            let ending = original.extension().unwrap().to_str().unwrap();
            put(format!("damaged-{number}.{ending}"), &damaged);
        }
    }
    (folder, files)
}

/// Commands that take any number of files, and the document of each.
const MANY: &[(&str, &str)] = &[
    ("info", "info"),
    ("list", "list"),
    ("list", "list --hash --sort size"),
    ("size", "size"),
    ("memory", "memory"),
    ("ops", "ops"),
    ("ops-delegated", "ops --delegated"),
    ("ops-merge", "ops --merge"),
    ("disasm", "disasm"),
    ("graph", "graph"),
    ("report", "report"),
    ("verify", "verify --level strict"),
    ("verify-runtime", "verify --runtime all"),
    ("fit", "fit --target TARGET"),
    ("fit", "fit --target python-1.5"),
    ("profile", "profile"),
    ("profile-operators", "profile --by operator"),
    ("bundle", "bundle"),
    ("metadata", "metadata"),
    ("dump", "dump"),
    ("dump", "dump --payloads"),
    ("dedup-several", "dedup --dry-run"),
    ("hash", "hash"),
    ("size-shared", "size --shared"),
    ("info", "info --no-such-option"),
    ("memory", "memory --method no-such-method"),
    ("disasm", "disasm --method forward"),
    ("graph", "graph --method forward"),
];

/// Commands that take one file.
const ONE: &[(&str, &str)] = &[
    ("debug", "debug FILE"),
    ("extract", "extract FILE"),
    ("extract", "extract --unpack FILE"),
    ("convert", "convert --dry-run FILE out.safetensors"),
    ("convert", "convert --dry-run --skip-unsupported FILE out.safetensors"),
    ("edit", "strip --dry-run --all FILE"),
    ("edit", "dedup --dry-run FILE"),
    ("edit", "externalize --dry-run --all FILE --data out.ptd"),
    ("edit", "internalize --dry-run FILE 1.5.1/add_mul_external/_default_external_constant.ptd"),
    ("edit", "metadata --dry-run --set answer=42 FILE"),
    ("edit", "bundle --dry-run --extract-program FILE"),
    ("edit", "bundle create --dry-run FILE --case FILE"),
    ("edit", "ptd rename --dry-run --prefix x. FILE"),
    ("edit", "ptd create --dry-run key=FILE"),
    ("edit", "select --dry-run --method forward FILE"),
    ("edit", "replace --dry-run FILE no-such-name=FILE"),
];

/// Commands that take two files.
const TWO: &[(&str, &str)] = &[
    ("size-growth", "size FILE OTHER"),
    ("diff", "diff FILE OTHER"),
    ("diff", "diff --tensors --fail-on size,max-abs FILE OTHER"),
    ("edit", "ptd merge --dry-run FILE OTHER"),
    ("profile-before", "profile --before FILE OTHER"),
];

/// Runs a command, and checks its document. `None`: the command line is refused, which is reported only on standard error.
fn run(validator: &Validator, name: &'static str, arguments: &[String]) -> Result<(), String> {
    let output = pte().current_dir(data()).args(arguments).arg("--json").output().unwrap();
    let line = || arguments.join(" ").chars().take(200).collect::<String>();
    if output.stdout.is_empty() {
        let error = String::from_utf8_lossy(&output.stderr);
        return if error.contains("Usage: pte") { Ok(()) } else { Err(format!("  {}: no document: {error}", line())) };
    }
    let document = serde_json::from_slice(&output.stdout).map_err(|error| format!("  {}: {error}", line()))?;
    validator.check(name, &document).map_err(|error| format!("  {}:\n{error}", line()))
}

#[test]
fn every_command_follows_its_schema_on_all_files() {
    let validator = Validator::new();
    let is_model = |path: &PathBuf| has_extension(path, &["pte", "ptd", "bpte", "etdp", "xnn"]);
    let mut files: Vec<_> = files_below(&data()).into_iter().filter(is_model).collect();
    let (folder, made) = generated(&files);
    files.extend(made);
    files.push("no-such-file.pte".into());
    files.push(data());
    let target = target();
    let words = |line: &str, file: &Path, other: &Path| -> Vec<String> {
        let word = |word: &str| {
            let path = |path: &Path| path.to_str().unwrap().to_owned();
            word.replace("TARGET", &path(&target.0)).replace("FILE", &path(file)).replace("OTHER", &path(other))
        };
        line.split(' ').map(word).collect()
    };
    let none = Path::new("");
    let mut runs = Vec::new();
    for (name, line) in MANY {
        for files in files.chunks(60) {
            let mut arguments = words(line, none, none);
            arguments.extend(files.iter().map(|file| file.to_str().unwrap().to_owned()));
            runs.push((*name, arguments));
        }
    }
    for (at, pair) in files.windows(2).enumerate() {
        // Runs only some of the commands for each file, since running all would take minutes.
        runs.extend(ONE.iter().skip(at % 12).step_by(12).map(|(name, line)| (*name, words(line, &pair[0], none))));
        runs.extend(TWO.iter().skip(at % 14).step_by(14).map(|(name, line)| (*name, words(line, &pair[0], &pair[1]))));
    }
    let folders =
        ["diff -r 0.7.0 1.5.1", "diff -r --fail-on size,operators 1.5.1 malformed", "diff -r malformed 1.5.1"];
    runs.extend(folders.iter().map(|line| ("diff-folders", words(line, none, none))));
    runs.extend(DOCUMENTS.iter().flat_map(|(name, lines)| lines.iter().map(|line| (*name, words(line, none, none)))));
    official::for_all(&runs, |(name, arguments)| run(&validator, name, arguments));
    drop(folder);
    let counts = validator.counts.lock().unwrap();
    for (document, _) in pte::schemas() {
        let [documents, entries, failed] = counts.get(document.name).copied().unwrap_or_default();
        println!("{}: {documents} documents, {entries} entries, {failed} of them with errors", document.name);
        assert!(documents > 0, "no document {}", document.name);
        assert!(entries > failed || document.name == "rules", "no {} of a file without errors", document.name);
    }
}

/// Calls a function with the pointer of each value of a document, except in tables of ExecuTorch's schema, whose fields are not described.
fn for_each_value(value: &Value, pointer: &mut String, visit: &mut dyn FnMut(&str)) {
    visit(pointer);
    let length = pointer.len();
    let mut inside = |step: String, value: &Value| {
        *pointer += &step;
        for_each_value(value, pointer, visit);
        pointer.truncate(length);
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| inside(format!("/{at}"), item)),
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| !["tree", "stack"].contains(&name.as_str())) {
                inside(format!("/{}", name.replace('~', "~0").replace('/', "~1")), field);
            }
        }
        _ => {}
    }
}

#[test]
fn wrong_documents_are_refused() {
    let (validator, target) = (Validator::new(), target());
    for (name, lines) in DOCUMENTS {
        for line in *lines {
            let (_, document) = document(line, "--json", &target.0);
            assert!(validator.accepts(name, &document), "{line}");
            let mut places = Vec::new();
            for_each_value(&document, &mut String::new(), &mut |pointer| places.push(pointer.to_owned()));
            // Large documents have many entries of the same kinds.
            let step = (places.len() / 100).max(1);
            for place in places.iter().step_by(step) {
                let mut wrong = document.clone();
                let value = wrong.pointer_mut(place).unwrap();
                match value {
                    Value::Object(fields) => drop(fields.insert("unexpected".into(), json!({"unexpected": true}))),
                    value => *value = json!({"unexpected": true}),
                }
                assert!(!validator.accepts(name, &wrong), "{line}: a wrong value at {place} is accepted");
            }
            let required = ["/format", "/files", "/files/0/errors"];
            for place in required.iter().filter(|place| document.pointer(place).is_some()) {
                let (parent, field) = place.rsplit_once('/').unwrap();
                let mut wrong = document.clone();
                wrong.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field);
                assert!(!validator.accepts(name, &wrong), "{line}: a document without {place} is accepted");
            }
        }
    }
    let info = document("info 1.5.1/add/add.pte", "--json", &target.0).1;
    for (place, value) in [
        ("/format", json!(2)),
        ("/files/0/kind", json!("exe")),
        ("/files/0/file_size", json!(-1)),
        ("/files/0/file_size", json!(1.5)),
        ("/files/0/releases/0/release", json!("0.1")),
        ("/files/0/releases/0/behaviour", json!("works")),
        ("/files/0/methods/0/inputs/0/scalar_type", json!("FLOAT3")),
        ("/files/0/methods/0/inputs/0/sizes/0", json!("2")),
    ] {
        let mut wrong = info.clone();
        *wrong.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value;
        assert!(!validator.accepts("info", &wrong), "a wrong {place} is accepted");
    }
}
