//! The answers of the page, without a browser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use executorch_format::{DataCollector, PteOptions};
use executorch_format_page::{Form, Hash, Session, Storage};
use executorch_format_support::fixtures::{fixture, fixtures, with_extension};
use serde_json::Value;
use std::cell::RefCell;

/// A file, and which parts of it were read.
struct Watched<'b> {
    bytes: &'b [u8],
    size: u64,
    read: RefCell<u64>,
}

/// A file with zeros after its bytes.
impl Storage for Watched<'_> {
    fn read(&self, start: u64, size: u64) -> Result<Vec<u8>, String> {
        assert!(start + size <= self.size, "{start} + {size}");
        *self.read.borrow_mut() += size;
        let mut bytes = vec![0; size as usize];
        let from = self.bytes.get(start as usize..).unwrap_or_default();
        let part = &from[..from.len().min(bytes.len())];
        bytes[..part.len()].copy_from_slice(part);
        Ok(bytes)
    }
}

fn session(files: &[&str]) -> Session {
    let mut session = Session::default();
    for name in files {
        let file = fixture(name);
        session.add((*name).into(), file.bytes().len() as u64, file.bytes()).unwrap();
    }
    session
}

fn part(session: &Session, name: &str) -> Value {
    serde_json::from_str(&session.part(name).unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap()
}

const PARTS: [&str; 14] = [
    "names",
    "modules",
    "first",
    "size",
    "memory",
    "operators",
    "macs",
    "findings",
    "weights",
    "graphs",
    "releases",
    "models",
    "cases",
    "profile",
];

#[test]
fn every_file_has_every_part_or_says_why_not() {
    for fixture in fixtures() {
        let mut session = Session::default();
        session.add("file".into(), fixture.bytes().len() as u64, fixture.bytes()).unwrap();
        let first = part(&session, "first");
        assert_eq!(first["error"].is_null(), !first["summary"].is_null(), "{first}");
        PARTS.iter().for_each(|name| drop(part(&session, name)));
    }
}

/// The histogram of a weight, of bytes that are read in small pieces.
fn spread(session: &mut Session, files: &[Watched<'_>], weight: &Value) -> Value {
    let index = weight["data"].as_u64().map_or(session.roles().main, |data| session.roles().data[data as usize]);
    let mut spread = session.spread(index, weight["offset"].as_u64().unwrap()).unwrap();
    for (index, start, size) in spread.parts() {
        let bytes = files[index].read(start, size).unwrap();
        bytes.chunks(777).for_each(|piece| spread.add(piece));
    }
    serde_json::from_str(&session.spread_out(spread).unwrap()).unwrap()
}

/// A program that dequantizes a constant, with scales and zero points of their own.
fn quantized() -> Vec<u8> {
    use executorch_format::schema::ScalarType;
    use executorch_format::schema::program::{EValue, ExecutionPlan, Instruction, Operator, Program, Tensor};
    let mut data = DataCollector::new();
    let mut tensor = |scalar_type, sizes: &[i32], bytes: Vec<u8>| -> EValue<'static> {
        Tensor::new(scalar_type, sizes.to_vec()).with_data(data.constant(bytes)).into()
    };
    let floats = |numbers: [f32; 2]| numbers.into_iter().flat_map(f32::to_le_bytes).collect();
    let values = vec![
        tensor(ScalarType::CHAR, &[2, 3], vec![1, 2, 3, 0xff, 0, 5]),
        tensor(ScalarType::FLOAT, &[2], floats([0.5, 2.0])),
        tensor(ScalarType::FLOAT, &[2], floats([1.0, -1.0])),
        0i64.into(),
        Tensor::new(ScalarType::FLOAT, vec![2, 3]).with_planned(1, 0).into(),
    ];
    let operator = Operator::new("quantized_decomposed::dequantize_per_channel", "out");
    let calls = vec![Instruction::kernel_call(0, vec![0, 1, 2, 3, 4])];
    let plan = ExecutionPlan::new("forward", values, vec![operator], calls, 32).with_outputs(vec![4]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = data.finish(program, &PteOptions::default()).unwrap();
    pte.image().unwrap().to_vec().unwrap()
}

#[test]
fn the_values_of_a_large_file_are_the_same_as_those_of_a_small_one() {
    let pair = "1.5.1/linear_xnnpack_external";
    let read = |name: &str| (name.to_owned(), fixture(name).bytes().to_vec());
    for files in [
        vec![read("1.5.1/quant_xnnpack/quant_xnnpack.pte")],
        vec![read("1.5.1/linear/linear.pte")],
        vec![read(&format!("{pair}/linear_xnnpack_external.pte")), read(&format!("{pair}/xnn_weights.ptd"))],
        vec![("quantized.pte".to_owned(), quantized())],
    ] {
        let (mut small, mut large) = (Session::default(), Session::default());
        let mut storages = Vec::new();
        for (name, bytes) in &files {
            small.add(name.clone(), bytes.len() as u64, bytes.as_slice()).unwrap();
            let file = Watched { bytes, size: 100 << 20, read: RefCell::default() };
            let added: Value = serde_json::from_str(&large.add(name.clone(), file.size, &file).unwrap()).unwrap();
            assert_eq!(added["whole"], false);
            storages.push(file);
        }
        let (expected, found) = (part(&small, "weights"), part(&large, "weights"));
        let (expected, found) = (expected.as_array().unwrap(), found.as_array().unwrap());
        let mut histograms = 0;
        for (expected, found) in expected.iter().zip(found).filter(|(weight, _)| !weight["histogram"].is_null()) {
            assert_eq!((&found["offset"], &found["inside"]), (&expected["offset"], &expected["inside"]));
            assert_eq!(found["dequantized_by"], expected["dequantized_by"]);
            assert_eq!(spread(&mut large, &storages, found), expected["histogram"], "{found}");
            histograms += 1;
        }
        assert!(histograms > 0 && expected.len() == found.len(), "{expected:?}");
    }
    let mut small = Session::default();
    small.add("quantized.pte".into(), quantized().len() as u64, quantized().as_slice()).unwrap();
    let weights = part(&small, "weights");
    let weight = &weights.as_array().unwrap().iter().find(|weight| weight["dequantized_by"].is_string()).unwrap();
    // (5 + 1) * 2 and (3 - 1) * 0.5.
    assert_eq!((&weight["histogram"]["max"], &weight["histogram"]["min"]), (&Value::from(12.0), &Value::from(0.0)));
}

#[test]
fn weights_that_xnnpack_takes_from_a_ptd_have_names() {
    let folder = "1.5.1/linear_xnnpack_external";
    let names = [format!("{folder}/linear_xnnpack_external.pte"), format!("{folder}/xnn_weights.ptd")];
    let pair = session(&[&names[0], &names[1]]);
    let weights = part(&pair, "weights");
    let named = weights.as_array().unwrap().iter().filter(|weight| weight["inside"][0]["operator"].is_string());
    assert!(named.clone().count() > 0, "{weights}");
    assert!(named.clone().all(|weight| weight["data"] == 0 && weight["key"].is_string() && weight["offset"].is_u64()));
    // Without the file, they are known from the payload alone.
    let alone = part(&session(&[&names[0]]), "weights");
    assert_eq!(alone.as_array().unwrap().len(), weights.as_array().unwrap().len());
    assert!(alone.as_array().unwrap().iter().all(|weight| weight["data"].is_null() && weight["offset"].is_null()));
}

#[test]
fn a_large_ptd_is_read_as_far_as_its_metadata() {
    use executorch_format::{NewEntry, Ptd, PtdOptions};
    let weights = vec![0u8; 1 << 20];
    let small = NewEntry::tensor("a", executorch_format::schema::ScalarType::BYTE, vec![1 << 20], &weights[..]);
    let ptd = Ptd::build([small], &PtdOptions::default()).unwrap();
    let bytes = ptd.image().unwrap().to_vec().unwrap();
    // The size in the header is what counts: the file goes on with what nothing refers to.
    let file = Watched { bytes: &bytes, size: 100 << 20, read: RefCell::new(0) };
    let mut session = Session::default();
    let added: Value = serde_json::from_str(&session.add("large.ptd".into(), file.size, &file).unwrap()).unwrap();
    assert_eq!(added["whole"], false);
    assert!(*file.read.borrow() < 4096, "{}", file.read.borrow());
    let first = part(&session, "first");
    assert_eq!(first["file_size"], 100 << 20);
    let size = part(&session, "size");
    let parts = size["parts"].as_array().unwrap();
    assert_eq!(parts.iter().map(|part| part["size"].as_u64().unwrap()).sum::<u64>(), 100 << 20);
    assert_eq!(size["errors"], Value::Array(Vec::new()));
    let weight = &part(&session, "weights")[0];
    assert_eq!((&weight["size"], &weight["histogram"]), (&Value::from(1 << 20), &Value::Null));
    // Its values are counted when that is asked for.
    let histogram = spread(&mut session, &[file], weight);
    assert_eq!(histogram["zeros"], 1 << 20);
}

#[test]
fn a_program_and_its_ptd_are_a_pair() {
    let names =
        ["1.5.1/add_mul_external/add_mul_external.pte", "1.5.1/add_mul_external/_default_external_constant.ptd"];
    let alone = session(&names[..1]);
    let unchecked = |session: &Session| part(session, "findings").to_string().contains("external");
    assert!(unchecked(&alone));
    let pair = session(&[names[1], names[0]]);
    assert_eq!((pair.roles().main, pair.roles().data), (1, vec![0]));
    assert!(!unchecked(&pair));
    let weights = part(&pair, "weights");
    let external = weights.as_array().unwrap().iter().filter(|weight| weight["kind"] == "external");
    assert!(
        external.clone().count() > 0
            && external.clone().all(|weight| weight["data"] == 0 && !weight["histogram"].is_null())
    );
}

#[test]
fn several_programs_have_the_verdicts_that_they_have_alone() {
    let names =
        ["1.5.1/add_mul_external/add_mul_external.pte", "1.5.1/add/add.pte", "1.5.1/multi_method/multi_method.pte"];
    let together = session(&names);
    assert_eq!((together.roles().main, together.roles().others), (0, vec![1, 2]));
    let models = part(&together, "models");
    assert_eq!(models.as_array().unwrap().len(), names.len());
    for (name, model) in names.iter().zip(models.as_array().unwrap()) {
        let alone = session(&[name]);
        let (first, releases) = (part(&alone, "first"), part(&alone, "releases"));
        assert_eq!(
            (&model["methods"], &model["loads_in"]),
            (&first["summary"]["methods"], &releases["loads_in"]),
            "{name}"
        );
        assert_eq!(model["verdict"], releases["releases"].as_array().unwrap().last().unwrap()["verdict"], "{name}");
        assert_eq!(model["macs"], part(&alone, "macs"), "{name}");
    }
}

#[test]
fn two_programs_are_compared() {
    let two = session(&["1.5.1/add/add.pte", "1.5.1/add_mul/add_mul.pte"]);
    let found: Value = serde_json::from_str(&two.compare().unwrap()).unwrap();
    assert_eq!((&found["same"], &found["whole"]), (&Value::Bool(false), &Value::Bool(true)));
    assert!(
        !found["diff"]["differences"].as_array().unwrap().is_empty() && !found["growth"].as_array().unwrap().is_empty()
    );
    assert!(session(&["1.5.1/add/add.pte"]).compare().is_err());
}

#[test]
fn a_bundle_is_its_program_and_its_cases() {
    let bundle = session(&["1.5.1/bundled/bundled.bpte"]);
    assert!(part(&bundle, "first")["program_offset"].is_u64());
    assert!(!part(&bundle, "cases")["test_suites"].as_array().unwrap().is_empty());
    let root: Value = serde_json::from_str(&bundle.branch(0, "", 0, true).unwrap()).unwrap();
    assert_eq!(root["table"], "BundledProgram");
}

#[test]
fn a_damaged_file_tells_what_can_be_followed_and_where_it_breaks() {
    let whole = fixture("1.5.1/add_mul/add_mul.pte");
    let bytes = &whole.bytes()[..whole.bytes().len() / 2];
    let mut session = Session::default();
    session.add("cut.pte".into(), bytes.len() as u64, bytes).unwrap();
    let first = part(&session, "first");
    assert!(first["error"]["message"].as_str().unwrap().len() > 10 && first["error"]["offset"].is_u64(), "{first}");
    assert!(!first["known"]["tables"].as_array().unwrap().is_empty(), "{first}");
    assert!(!part(&session, "releases")["releases"].as_array().unwrap().is_empty());
}

#[test]
fn a_tensor_is_saved_as_other_formats_have_it() {
    let name = "1.5.1/linear/linear.pte";
    let session = session(&[name]);
    let weight = part(&session, "weights")[0].clone();
    let (offset, size) = (weight["offset"].as_u64().unwrap(), weight["size"].as_u64().unwrap());
    let file = fixture(name);
    let bytes = &file.bytes()[offset as usize..][..size as usize];
    let npy = session.export(0, offset, size, Form::Npy).unwrap();
    let joined = [npy.header.clone().unwrap(), bytes.to_vec()].concat();
    assert_eq!(joined, npy.finish(bytes).unwrap());
    let array = executorch_format::convert::Npy::parse(&joined).unwrap();
    assert_eq!(&*array.bytes, bytes);
    let safetensors = session.export(0, offset, size, Form::Safetensors).unwrap();
    assert!(safetensors.header.is_none());
    let saved = safetensors.finish(bytes).unwrap();
    let read = executorch_format::convert::Safetensors::parse(&saved).unwrap();
    assert_eq!(&*read.tensors[0].bytes, bytes);
    assert!(session.export(0, offset + 1, size, Form::Npy).is_err());
}

#[test]
fn a_hash_does_not_depend_on_the_pieces() {
    let mut hash = Hash::default();
    [b"a", b"b", b"c"].iter().for_each(|piece| hash.add(*piece));
    assert_eq!(hash.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[test]
fn a_trace_has_times_alone_and_with_its_program() {
    for trace in with_extension("etdp") {
        let mut session = Session::default();
        session.add("trace.etdp".into(), trace.bytes().len() as u64, trace.bytes()).unwrap();
        if part(&session, "first")["error"].is_null() {
            assert!(part(&session, "profile")["runs"].is_array());
        }
    }
    let both = session(&["payloads/profile_xnnpack.etdp", "payloads/profile_xnnpack.pte"]);
    assert_eq!((both.roles().main, both.roles().trace), (1, Some(0)));
    // The first group of runs is the loading, in which no operator runs.
    let groups = part(&both, "profile")["by_operator"].clone();
    assert!(groups.as_array().unwrap().iter().any(|group| !group.as_array().unwrap().is_empty()), "{groups}");
    let nodes = part(&both, "graphs")[0]["nodes"].clone();
    assert!(nodes.as_array().unwrap().iter().any(|node| node["time"].is_number()), "{nodes}");
}
