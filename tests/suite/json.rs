//! A file as JSON with its blobs in files, and back.

use executorch_format::json::{Built, JsonDump, JsonTree};
use executorch_format::schema::Program;
use executorch_format::schema::any::AnyTable;
use executorch_format::schema::flat_tensor::Legacy;
use executorch_format::schema::program::{BackendDelegateInlineData, DoubleList, EValue, KernelTypes, Null};
use executorch_format::testing::strategies::{any_flat_tensors, any_programs, styles};
use executorch_format::{Bpte, ErrorKind, FileKind, Model, NewEntry, Ptd, PtdOptions, Pte, Segment};
use executorch_format_support::fixtures::{Fixture, fixture, fixtures};
use executorch_format_support::flatc_json::{differences, quoted};
use executorch_format_support::{data, visit::tree};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// JSON and the files beside it.
struct Dumped {
    text: String,
    files: BTreeMap<String, Vec<u8>>,
}

impl Dumped {
    fn of(file: &[u8]) -> executorch_format::Result<Self> {
        let model = Model::parse(file)?;
        let dump = JsonDump::new(&model)?;
        let files: BTreeMap<_, _> = dump.files().iter().map(|file| (file.name.clone(), file.bytes.to_vec())).collect();
        assert_eq!(files.len(), dump.files().len(), "two files of one name");
        let text = serde_json::to_string_pretty(&dump).unwrap();
        let named = JsonTree::parse(&text)?.files().to_vec();
        assert_eq!(named, files.keys().cloned().collect::<Vec<_>>(), "the JSON names what is there");
        Ok(Self { text, files })
    }

    fn fixture(name: &str) -> Self {
        Self::of(fixture(name).bytes()).unwrap()
    }

    fn build(&self) -> executorch_format::Result<Built<'_>> {
        let file = |name: &str| self.files.get(name).map(Vec::as_slice);
        JsonTree::parse(&self.text)?.build(None, &file)
    }

    /// The JSON, changed as data.
    fn edit(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut value = serde_json::from_str(&self.text).unwrap();
        change(&mut value);
        self.text = value.to_string();
        self
    }

    fn error(&self) -> String {
        self.build().map(|_| ()).expect_err("an error").to_string()
    }
}

fn models(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let is_model =
        |path: &PathBuf| ["pte", "ptd", "bpte", "etdp"].iter().any(|ending| path.extension() == Some(ending.as_ref()));
    files.into_iter().flat_map(|path| if path.is_dir() { models(&path) } else { vec![path] }).filter(is_model).collect()
}

#[test]
fn an_unchanged_tree_gives_the_bytes_of_every_file_that_can_be_read() {
    let (mut same, mut refused) = (0, Vec::new());
    for path in models(&data()) {
        let file = std::fs::read(&path).unwrap();
        if Model::parse(&file).is_err() {
            continue;
        }
        let dumped = match Dumped::of(&file) {
            Ok(dumped) => dumped,
            Err(error) => {
                refused.push(format!("{} {error}", path.file_stem().unwrap().to_str().unwrap()));
                continue;
            }
        };
        let built = dumped.build().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(built.is_unchanged(), "{}", path.display());
        assert!(built.image().unwrap().to_vec().unwrap() == file, "{} differs", path.display());
        same += 1;
    }
    assert!(same > 450, "only {same} files");
    let kept_by_no_json = [
        "instruction-unknown execution_plan[0].chains[0].instructions[1].instr_args: cannot be written: union member 99 is of a newer schema, which JSON does not keep",
        "text-utf8 execution_plan[0].name: cannot be written: a string that is not UTF-8, which JSON does not keep",
        "union-tag execution_plan[0].values[0].val: cannot be written: a union with a value but no type, which JSON does not keep",
        "value-unknown execution_plan[0].values[4].val: cannot be written: union member 99 is of a newer schema, which JSON does not keep",
    ];
    assert_eq!(refused, kept_by_no_json);
}

/// Returns `true` if the bytes of all segments are those of the file. A file without a header has none.
fn given(found: Vec<Segment<'_>>, expected: &[Segment<'_>]) -> bool {
    found.iter().zip(expected).all(|(found, expected)| *expected == Segment::Absent || found == expected)
}

#[test]
fn the_json_of_flatc_is_read_as_its_file_is() {
    let mut count = 0;
    for fixture in fixtures() {
        let Some(text) = fixture.beside("json") else { continue };
        let mut value: Value = serde_json::from_str(&quoted(&text)).unwrap();
        let model = Model::parse(fixture.bytes()).unwrap();
        let dump = JsonDump::new(&model).unwrap();
        // flatc knows no files.
        for (index, segment) in value["segments"].as_array_mut().into_iter().flatten().enumerate() {
            segment["file"] = format!("segments_{index}.bin").into();
        }
        let empty: &[u8] = &[];
        let file =
            |name: &str| Some(dump.files().iter().find(|file| file.name == name).map_or(empty, |file| file.bytes));
        let text = value.to_string();
        let kind = if fixture.is_pte() { FileKind::Pte } else { FileKind::Ptd };
        let built = JsonTree::parse(&text).unwrap().build(Some(kind), &file);
        let built = built.unwrap_or_else(|error| panic!("{}: {error}", fixture.name()));
        let file = built.image().unwrap().to_vec().unwrap();
        let (found, segments) = match (Model::parse(&file).unwrap(), &model) {
            (Model::Pte(mut found), Model::Pte(expected)) => {
                found.program.segments.clone_from(&expected.program.segments);
                (serde_json::to_value(&found.program).unwrap(), given(found.segments, &expected.segments))
            }
            (Model::Ptd(mut found), Model::Ptd(expected)) => {
                found.flat_tensor.segments.clone_from(&expected.flat_tensor.segments);
                (serde_json::to_value(&found.flat_tensor).unwrap(), given(found.segments, &expected.segments))
            }
            _ => panic!("{}: another kind of file", fixture.name()),
        };
        assert_eq!(differences(&fixture, &found), Vec::<String>::new(), "{}", fixture.name());
        assert!(segments, "{}: other bytes", fixture.name());
        count += 1;
    }
    assert!(count > 50, "only {count} files");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_program_is_the_same_from_json(program in any_programs(0..1200), style in styles()) {
        let segments = vec![Segment::Absent; program.segments().len()];
        let pte = Pte { program, segments, style: Some(style), ..Pte::default() };
        same(&pte.image_as_is().unwrap().to_vec().unwrap());
    }

    #[test]
    fn any_ptd_is_the_same_from_json(flat_tensor in any_flat_tensors(0..1200), style in styles()) {
        let segments = vec![Segment::Absent; flat_tensor.segments().len()];
        let ptd = Ptd { flat_tensor, segments, style: Some(style), ..Ptd::default() };
        same(&ptd.image_as_is().unwrap().to_vec().unwrap());
    }
}

/// Fails if a file is not built as it was, unless JSON cannot keep it.
fn same(file: &[u8]) {
    match Dumped::of(file) {
        Ok(dumped) => {
            let built = dumped.build().unwrap();
            assert!(built.is_unchanged() && built.image().unwrap().to_vec().unwrap() == file);
        }
        Err(error) => assert!(error.to_string().contains("which JSON does not keep"), "{error}"),
    }
}

#[test]
fn floats_keep_their_bits() {
    let bits = [
        0x7ff8 << 48,
        0xfff8 << 48,
        0x7ff8_0000_0000_0001,
        0x7ff0 << 48,
        0xfff0 << 48,
        1 << 63,
        1,
        0x3fd5_5555_5555_5555,
    ];
    let numbers: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
    let mut pte = Pte::parse(fixture("1.5.1/add/add.pte").bytes()).unwrap().into_owned();
    let values = pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap();
    values.extend(numbers.iter().map(|number| EValue::from(*number)));
    values.push(EValue { val: KernelTypes::DoubleList(DoubleList { items: Some(numbers.into()) }) });
    values.push(EValue::from(i64::MIN));
    let options = executorch_format::PteOptions::default();
    let file = pte.lay_out(&options).unwrap().image().unwrap().to_vec().unwrap();
    let dumped = Dumped::of(&file).unwrap();
    for text in [
        "\"nan\"",
        "\"nan(0xfff8000000000000)\"",
        "\"nan(0x7ff8000000000001)\"",
        "\"-inf\"",
        "-0.0",
        "-9223372036854775808",
    ] {
        assert!(dumped.text.contains(text), "{text}");
    }
    assert!(dumped.build().unwrap().image().unwrap().to_vec().unwrap() == file);
}

fn program<'b>(built: &'b Built<'_>) -> Pte<'b> {
    match built.model() {
        Model::Pte(pte) => pte.clone(),
        other => panic!("{:?}", other.kind()),
    }
}

#[test]
fn an_edited_tree_is_written_in_the_style_of_its_file() {
    for name in ["1.5.1/linear_xnnpack/linear_xnnpack.pte", "0.4.0/linear_xnnpack/linear_xnnpack.pte"] {
        let original = fixture(name);
        let edited = Dumped::fixture(name).edit(|tree| tree["execution_plan"][0]["name"] = "infer".into());
        let built = edited.build().unwrap();
        assert!(!built.is_unchanged());
        let file = built.image().unwrap().to_vec().unwrap();
        let mut expected = Pte::parse(original.bytes()).unwrap();
        let found = Pte::parse(&file).unwrap();
        assert_eq!(found.write_style().unwrap(), expected.write_style().unwrap(), "{name}");
        expected.program.execution_plan.as_mut().unwrap()[0].name = Some("infer".into());
        // The name has as many bytes, so that nothing else moves.
        assert_eq!(found, expected, "{name}");
        assert_eq!(file.len(), original.bytes().len());
    }
}

#[test]
fn values_are_changed_instructions_removed_and_fields_and_segments_added() {
    let edited = Dumped::fixture("1.5.1/add_mul/add_mul.pte").edit(|tree| {
        let plan = &mut tree["execution_plan"][0];
        let instructions = plan["chains"][0]["instructions"].as_array_mut().unwrap();
        instructions.pop();
        plan["values"][0]["val"]["sizes"][1] = 7.into();
        plan["values"].as_array_mut().unwrap().push(json!({"val": {"int_val": u64::MAX >> 1}, "val_type": "Int"}));
        tree["named_data"] = json!([{"key": "note", "segment_index": 1}]);
        tree["segments"].as_array_mut().unwrap().push(json!({"file": "note.txt"}));
    });
    let edited =
        Dumped { files: edited.files.into_iter().chain([("note.txt".into(), b"hello".into())]).collect(), ..edited };
    let built = edited.build().unwrap();
    let file = built.image().unwrap().to_vec().unwrap();
    let (found, before) =
        (Pte::parse(&file).unwrap(), Pte::parse(fixture("1.5.1/add_mul/add_mul.pte").bytes().to_vec().leak()).unwrap());
    let (plan, old) = (&found.methods()[0], &before.methods()[0]);
    assert_eq!(plan.instructions().count() + 1, old.instructions().count());
    assert_eq!(plan.tensor(0).unwrap().sizes(), [2, 7]);
    assert_eq!(plan.values().len(), old.values().len() + 1);
    assert_eq!(found.named_data_bytes("note").unwrap(), b"hello");
    assert_eq!(found.segment(0).unwrap(), before.segment(0).unwrap());
    assert_eq!(built.before().map(|model| tree(model.root())), Some(tree(&before.program)));
}

#[test]
fn a_blob_is_replaced_by_replacing_its_file() {
    let (name, original) = ("1.5.1/add_mul/add_mul.pte", fixture("1.5.1/add_mul/add_mul.pte"));
    let size = Pte::parse(original.bytes()).unwrap().program.segments()[0].size as usize;
    for new in [vec![7; size], vec![7; size + 100]] {
        let mut dumped = Dumped::fixture(name);
        dumped.files.insert("segments_0.bin".into(), new.clone());
        let built = dumped.build().unwrap();
        assert_eq!(built.is_unchanged(), new.len() == size);
        let file = built.image().unwrap().to_vec().unwrap();
        assert_eq!(*Pte::parse(&file).unwrap().segment(0).unwrap(), new);
        assert_eq!(file.len() == original.bytes().len(), new.len() == size);
    }
}

#[test]
fn a_program_in_a_bundle_is_replaced_and_a_trace_is_not_changed() {
    let mut dumped = Dumped::fixture("1.5.1/bundled/bundled.bpte");
    let other = fixture("1.5.1/add/add.pte");
    dumped.files.insert("program.bin".into(), other.bytes().into());
    let file = dumped.build().unwrap().image().unwrap().to_vec().unwrap();
    assert_eq!(Bpte::parse(&file).unwrap().bundled_program.program(), other.bytes());

    let trace = Dumped::fixture("1.5.1/etdump/etdump.etdp").edit(|tree| tree["version"] = 9.into());
    assert_eq!(trace.error(), "cannot be written: a trace is written only as it was read");
}

#[test]
fn without_source_the_style_and_layout_are_todays() {
    let ptd =
        Ptd::build([NewEntry::blob("a", vec![1; 9]), NewEntry::blob("b", vec![2; 5])], &PtdOptions::default()).unwrap();
    let file = ptd.image().unwrap().to_vec().unwrap();
    let dumped = Dumped::of(&file).unwrap().edit(|tree| {
        tree.as_object_mut().unwrap().remove("source");
        for segment in tree["segments"].as_array_mut().unwrap() {
            *segment = json!({"file": segment["file"]});
        }
    });
    let name = |name: &str| dumped.files.get(name).map(Vec::as_slice);
    let json = JsonTree::parse(&dumped.text).unwrap();
    let built = json.build(Some(FileKind::Ptd), &name).unwrap();
    assert!(built.before().is_none() && built.image().unwrap().to_vec().unwrap() == file);
    let error = json.build(None, &name).err().unwrap().to_string();
    assert_eq!(
        error,
        "cannot be written: JSON without `source` is of an unknown kind of file, expected .pte, .ptd or .bpte"
    );
    // The schemas of early releases are told from the keys.
    let text = r#"{"version": 0, "tensor_alignment": 16, "tensors": [{"fully_qualified_name": "w", "dim_sizes": [2]}], "segments": []}"#;
    let built = JsonTree::parse(text).unwrap().build(Some(FileKind::Ptd), &|_| None).err().unwrap();
    assert!(built.to_string().contains("segment 0 does not exist"), "{built}");
    let text = text.replace("\"segments\": []", "\"segments\": [{\"file\": \"w.bin\"}]");
    let built = JsonTree::parse(&text).unwrap().build(Some(FileKind::Ptd), &|_| Some(&[0; 2])).unwrap();
    let Model::Ptd(Ptd { flat_tensor, .. }) = built.model() else { panic!("a .ptd") };
    assert!(matches!(&flat_tensor.legacy, Some(Legacy { tensors: Some(list), .. }) if list[0].sizes() == [2]));
}

#[test]
fn bytes_that_no_field_describes_are_kept_or_refused() {
    let file = [fixture("1.5.1/add_mul/add_mul.pte").bytes(), b"\0\0\0signature\0"].concat();
    let dumped = Dumped::of(&file).unwrap();
    assert!(dumped.files.keys().any(|name| name.starts_with("rest_")), "{:?}", dumped.files.keys());
    assert!(dumped.build().unwrap().image().unwrap().to_vec().unwrap() == file);
    let edited = dumped.edit(|tree| tree["version"] = 1.into());
    assert!(edited.error().contains("no place for 9 bytes at byte"), "{}", edited.error());
    let dropped = edited.edit(|tree| drop(tree["source"].as_object_mut().unwrap().remove("rest")));
    let built = dropped.build().unwrap();
    assert!(built.image().unwrap().size() < file.len() as u64);
}

/// A program without a header, whose root has a field that no schema has: a vtable with one more field is at the end of the file.
fn newer() -> Vec<u8> {
    let add = fixture("1.5.1/add/add.pte");
    let program = Program { segments: None, ..Pte::parse(add.bytes()).unwrap().program };
    let pte = Pte { program, ..Pte::default() };
    let mut file = pte.image_as_is().unwrap().to_vec().unwrap();
    let word = |file: &[u8], at: usize| i32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let root = word(&file, 0) as usize;
    let old = (root as i32 - word(&file, root)) as usize;
    let size = usize::from(u16::from_le_bytes([file[old], file[old + 1]]));
    file.resize(file.len().next_multiple_of(2), 0);
    let new = file.len();
    file.extend_from_within(old..old + size);
    // As many fields as the schema has, and one more, which is where another one is.
    file.resize(new + 2 * (2 + pte.program.description().fields.len()), 0);
    file.extend(4u16.to_le_bytes());
    let size = (file.len() - new) as u16;
    file[new..new + 2].copy_from_slice(&size.to_le_bytes());
    file[root..root + 4].copy_from_slice(&(root as i32 - new as i32).to_le_bytes());
    file
}

#[test]
fn fields_of_a_newer_schema_are_kept_or_refused() {
    let file = newer();
    assert_eq!(Pte::parse(&file).unwrap().source.unwrap().newer_tables, 1);
    same(&file);
    let edited = Dumped::of(&file).unwrap().edit(|tree| tree["version"] = 1.into());
    let error = edited.build().and_then(|built| built.image().map(|_| ())).err().unwrap();
    assert!(error.to_string().contains("fields of a newer schema"), "{error}");
}

#[test]
fn faults_are_named_with_their_path_and_what_was_expected() {
    let dumped = || Dumped::fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    type Edit = fn(&mut Value);
    let edits: [(Edit, &str); 17] = [
        (
            |tree| tree["execution_plan"][0]["name"] = 7.into(),
            "execution_plan[0].name: bad JSON: line 1: invalid type: integer `7`, expected a string",
        ),
        (
            |tree| tree["execution_plan"][0]["inputs"][0] = (1u64 << 31).into(),
            "execution_plan[0].inputs[0]: bad JSON: line 1: invalid value: integer `2147483648`, expected a whole number from -2147483648 to 2147483647",
        ),
        (
            |tree| tree["execution_plan"][0]["inputs"][0] = 0.5.into(),
            "execution_plan[0].inputs[0]: bad JSON: line 1: invalid value: floating point `0.5`, expected a whole number",
        ),
        (
            |tree| tree["execution_plan"][0]["inputs"] = "0".into(),
            "execution_plan[0].inputs: bad JSON: line 1: invalid type: string \"0\", expected a list of numbers, or {\"file\": NAME}",
        ),
        (
            |tree| tree["execution_plan"][0]["values"][0]["val"]["scalar_type"] = "FLOATY".into(),
            "execution_plan[0].values[0].val.Tensor.scalar_type: bad JSON: line 1: expected a number or one of BYTE, CHAR,",
        ),
        (
            |tree| tree["execution_plan"][0]["values"][0]["val"]["size"] = 1.into(),
            "execution_plan[0].values[0].val.Tensor: bad JSON: line 1: Tensor has no field \"size\", expected one of scalar_type, storage_offset, sizes,",
        ),
        (
            |tree| tree["execution_plan"][0]["values"][0]["val_type"] = "Tensr".into(),
            "execution_plan[0].values[0].val: bad JSON: line 1: val_type: expected one of NONE, Null, Int,",
        ),
        (
            |tree| drop(tree["execution_plan"][0]["values"][0].as_object_mut().unwrap().remove("val_type")),
            "execution_plan[0].values[0].val: bad JSON: line 1: val_type is missing, expected one of NONE, Null, Int,",
        ),
        (
            |tree| drop(tree["execution_plan"][0]["values"][0].as_object_mut().unwrap().remove("val")),
            "the type of a union without its value, expected a table",
        ),
        (
            |tree| tree["execution_plan"][0]["values"][0]["val_type"] = "NONE".into(),
            "a union of type NONE has no value",
        ),
        (
            |tree| tree["execution_plan"][0]["values"][0] = json!([]),
            "execution_plan[0].values[0]: bad JSON: line 1: invalid type: sequence, expected an object, for a table",
        ),
        (
            |tree| tree["execution_plan"] = json!({}),
            "execution_plan: bad JSON: line 1: invalid type: map, expected a sequence",
        ),
        (
            |tree| tree["segments"][1]["file"] = "../x".into(),
            "segments[1].file: bad JSON: line 1: \"../x\" is not the name of a file",
        ),
        (
            |tree| tree["segments"][1]["file"] = "x.bin".into(),
            "segments[1].file: bad JSON: line 1: there is no file x.bin",
        ),
        (
            |tree| drop(tree["segments"][1].as_object_mut().unwrap().remove("file")),
            "segments[1]: cannot be written: 720 bytes without a file, expected \"file\": NAME",
        ),
        (
            |tree| tree["execution_plan"][0]["inputs"] = json!({"file": "segments_1.bin", "other": 1}),
            "execution_plan[0].inputs: bad JSON: line 1: expected a list of numbers, or {\"file\": NAME} alone",
        ),
        (
            |tree| tree["source"]["metadata"] = "none.bin".into(),
            "source.metadata: bad JSON: there is no file \"none.bin\" in the folder of the data",
        ),
    ];
    for (edit, expected) in edits {
        let mut dumped = dumped();
        // A segment without a file is missed only if there has to be a new layout.
        if expected.contains("without a file") {
            dumped = dumped.edit(|tree| tree["version"] = 1.into());
        }
        let error = dumped.edit(edit).error();
        assert!(error.contains(expected), "{error}\n  is not: {expected}");
    }
    let twice = dumped().text.replacen("\"name\":", "\"name\": \"x\", \"name\":", 1);
    let error = Dumped { text: twice, ..dumped() }.error();
    assert!(error.contains("execution_plan[0]: bad JSON: line 10: the key \"name\" occurs twice"), "{error}");
}

#[test]
fn hostile_json_is_refused_without_much_work() {
    let build = |text: &str| {
        let tree = JsonTree::parse(text)?;
        tree.build(Some(FileKind::Pte), &|_| None).map(|built| tree_of(&built))
    };
    for text in [
        "",
        "{",
        "[]",
        "7",
        "{\"execution_plan\": [}",
        "{} {}",
        &"[".repeat(1 << 20),
        &"{\"a\":".repeat(1 << 20),
        &format!("{{\"execution_plan\": {}{}}}", "[".repeat(200), "]".repeat(200)),
        "{\"source\": 7}",
        "{\"source\": {\"kind\": \"exe\", \"size\": 1, \"metadata\": \"x\"}}",
        "{\"version\": 1e400}",
        "{\"version\": \"\\ud800\"}",
    ] {
        let error = build(text).err().unwrap_or_else(|| panic!("{} is taken", &text[..text.len().min(60)]));
        assert!(matches!(error.kind(), ErrorKind::Other { format: "JSON", .. }), "{error}");
    }
    // Two bytes of text for each table, of which some take hundreds.
    let tables = format!("{{\"execution_plan\": [{}{{}}]}}", "{},".repeat(1 << 20));
    assert!(matches!(build(&tables).err().unwrap().kind(), ErrorKind::Limit { what: "bytes of memory", .. }));
    let nulls = format!("{{\"execution_plan\": null, \"version\": {}}}", "1".repeat(1 << 20));
    assert!(build(&nulls).is_err());
    assert_eq!(build("{\"execution_plan\": null, \"version\": 3}").unwrap(), 3);
}

/// The version of a program.
fn tree_of(built: &Built<'_>) -> u32 {
    program(built).program.version
}

#[test]
fn only_whole_files_are_dumped() {
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    let built = Pte { program: Pte::parse(file.bytes()).unwrap().program, ..Pte::default() };
    let error = JsonDump::new(&Model::Pte(built)).err().unwrap();
    assert!(error.to_string().contains("only a file that was read whole"), "{error}");
    let payload = std::fs::read(data().join("payloads/v0.4.0_conv2d.0.xnn")).unwrap();
    let error = Dumped::of(&payload).err().unwrap();
    assert!(error.to_string().contains("expected a .pte, .ptd, .bpte or .etdp"), "{error}");
}

#[test]
fn inline_blobs_are_in_files_or_lists() {
    let file: Fixture = fixture("0.2.1/add_mul_constant_inline/add_mul_constant_inline.pte");
    let dumped = Dumped::of(file.bytes()).unwrap();
    let name = dumped.files.keys().find(|name| name.starts_with("constant_buffer_")).unwrap().clone();
    let value: Value = serde_json::from_str(&dumped.text).unwrap();
    assert_eq!(value["constant_buffer"][1]["storage"]["file"], *name);
    let listed = Dumped::of(file.bytes()).unwrap().edit(|tree| {
        tree["constant_buffer"][1]["storage"] = dumped.files[&name].clone().into();
    });
    assert!(listed.build().unwrap().is_unchanged());
    let mut pte = Pte::parse(file.bytes()).unwrap();
    pte.program.backend_delegate_data = Some(vec![BackendDelegateInlineData { data: Some(vec![1, 2].into()) }]);
    pte.program.execution_plan.as_mut().unwrap()[0]
        .values
        .as_mut()
        .unwrap()
        .push(EValue { val: KernelTypes::Null(Null {}) });
    let file = pte.image().unwrap().to_vec().unwrap();
    assert!(Dumped::of(&file).unwrap().files["backend_delegate_data_0_data.bin"] == [1, 2]);
    same(&file);
}
