//! What the page answers, without a browser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

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

const PARTS: [&str; 11] = [
    "first",
    "size",
    "memory",
    "operators",
    "findings",
    "weights",
    "graphs",
    "savings",
    "releases",
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
    // Its values are counted when that is asked for, whichever pieces come.
    let offset = weight["offset"].as_u64().unwrap();
    let mut spread = session.spread(0, offset).unwrap();
    weights.chunks(1000).for_each(|piece| spread.add(piece));
    assert!(spread.again());
    weights.chunks(777).for_each(|piece| spread.add(piece));
    let histogram: Value = serde_json::from_str(&spread.finish().unwrap()).unwrap();
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
            && external.clone().all(|weight| weight["file"] == names[1] && !weight["histogram"].is_null())
    );
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
    assert!(!part(&session, "releases").as_array().unwrap().is_empty());
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
