//! Each public function that takes bytes has a fuzz target.

use std::collections::{BTreeMap, BTreeSet};

const API: &str = include_str!("../../.ci/public-api.txt");

/// The files with the bodies of targets.
const BODIES: &[(&str, &str)] = &[
    ("answers", include_str!("answers.rs")),
    ("convert", include_str!("convert.rs")),
    ("etrecord", include_str!("etrecord.rs")),
    ("pair", include_str!("pair.rs")),
    ("payloads", include_str!("payloads.rs")),
    ("prefix", include_str!("prefix.rs")),
    ("read", include_str!("read.rs")),
    ("traces", include_str!("traces.rs")),
    ("verify_agrees", include_str!("verify_agrees.rs")),
    ("write", include_str!("write.rs")),
];

/// The functions that take bytes, without their module, each with the file of a target that calls it.
const TARGETS: &[(&str, &str)] = &[
    ("AotInductor::is_one", "payloads"),
    ("AotInductor::parse", "payloads"),
    ("AotTensor::elements", "payloads"),
    ("Bpte::new", "write"),
    ("Bpte::parse", "read"),
    ("Bpte::replace_program", "write"),
    ("Bpte::set_program", "write"),
    ("Bpte::verify_structure", "read"),
    ("CArray::new", "answers"),
    ("CoreMl::is_one", "payloads"),
    ("CoreMl::parse", "payloads"),
    ("EtRecord::parse", "etrecord"),
    ("Etdp::debug_values", "traces"),
    ("Etdp::parse", "read"),
    ("Etdp::verify_structure", "read"),
    ("EthosU::is_one", "payloads"),
    ("EthosU::parse", "payloads"),
    ("Model::parse", "answers"),
    ("NameSource::parse", "etrecord"),
    ("NewData::bytes", "write"),
    ("NewEntry::tensor", "write"),
    ("Npy::parse", "convert"),
    ("Payload::graph", "payloads"),
    ("Payload::parse", "read"),
    ("PayloadKind::is_in", "payloads"),
    ("PayloadKind::of_bytes", "payloads"),
    ("Ptd::parse", "read"),
    ("Ptd::parse_with", "verify_agrees"),
    ("Ptd::verify_structure", "verify_agrees"),
    ("Ptd::verify_structure_with", "verify_agrees"),
    ("Pte::parse", "read"),
    ("Pte::parse_with", "verify_agrees"),
    ("Pte::verify_structure", "verify_agrees"),
    ("Pte::verify_structure_with", "verify_agrees"),
    ("Safetensors::parse", "convert"),
    ("ShardIndex::parse", "write"),
    ("Vulkan::is_one", "payloads"),
    ("Vulkan::parse", "payloads"),
    ("Xnnpack::is_one", "payloads"),
    ("Xnnpack::parse", "read"),
    ("Xnnpack::parse_with", "read"),
    ("Xnnpack::verify_structure", "read"),
    ("Xnnpack::verify_structure_with", "read"),
    ("damage_word", "pair"),
    ("probe", "prefix"),
    ("salvage", "answers"),
    ("unpack", "payloads"),
];

/// Functions that need no target of their own, with the function that does their work on bytes from a file.
const WITHOUT: &[(&str, &str)] = &[
    // With the default options, these are called for every input.
    ("Bpte::parse_with", "Bpte::parse"),
    ("Bpte::verify_structure_with", "Bpte::verify_structure"),
    ("Etdp::parse_with", "Etdp::parse"),
    ("Etdp::verify_structure_with", "Etdp::verify_structure"),
    ("Model::parse_with", "Model::parse"),
    ("Payload::parse_with", "Payload::parse"),
    ("Vulkan::parse_with", "Vulkan::parse"),
    // They only choose one of the functions above by the kind of file.
    ("Model::verify_structure", "Pte::verify_structure"),
    // They keep bytes, which are read when the file is written and read again.
    ("CompileSpec::new", "Model::parse"),
    ("DataCollector::constant", "Model::parse"),
    ("DataCollector::delegate", "Model::parse"),
    ("DataCollector::initial_state", "Model::parse"),
    ("DataCollector::named", "Model::parse"),
    ("Image::copy_from", "Model::parse"),
    ("NewEntry::blob", "NewEntry::tensor"),
    ("Pte::add_segment", "Model::parse"),
    ("Segment::from", "Model::parse"),
    ("Text::from_bytes", "Model::parse"),
    // Answers about weights use them.
    ("TensorView::in_dim_order", "Npy::parse"),
    ("TensorView::new", "Npy::parse"),
    // They are arithmetic, or for tests.
    ("Choices::new", "damage_word"),
    ("offset_in", "probe"),
];

/// Returns the names of the public functions that have a slice of bytes, or bytes that are borrowed or owned, among their arguments.
fn functions_that_take_bytes() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in API.lines().filter_map(|line| line.strip_prefix("pub fn ")) {
        let arguments = line.split(" -> ").next().unwrap();
        let takes_bytes = arguments.contains("[u8]");
        // Functions of a type with `Fn(…) -> …` among their arguments end at another arrow.
        let Some((name, _)) = line.split_once('(').filter(|_| takes_bytes) else { continue };
        let mut plain = String::new();
        let mut depth = 0;
        for character in name.chars() {
            match character {
                '<' => depth += 1,
                '>' => depth -= 1,
                character if depth == 0 => plain.push(character),
                _ => (),
            }
        }
        let parts: Vec<&str> = plain.split("::").collect();
        let is_method = parts.iter().rev().nth(1).is_some_and(|part| part.starts_with(char::is_uppercase));
        found.insert(parts[parts.len() - if is_method { 2 } else { 1 }..].join("::"));
    }
    found
}

#[test]
fn every_public_function_that_takes_bytes_has_a_target() {
    let listed: BTreeMap<&str, &str> = TARGETS.iter().copied().collect();
    let bodies: BTreeMap<&str, &str> = BODIES.iter().copied().collect();
    let functions = functions_that_take_bytes();
    let known = |name: &str| listed.contains_key(name) || WITHOUT.iter().any(|(other, _)| *other == name);
    let missing: Vec<_> = functions.iter().filter(|name| !known(name)).collect();
    assert!(missing.is_empty(), "no target calls {missing:#?}");
    let names = listed.keys().chain(WITHOUT.iter().map(|(name, _)| name));
    let gone: Vec<_> = names.filter(|name| !functions.contains(**name)).collect();
    assert!(gone.is_empty(), "not among the public functions: {gone:#?}");
    for (name, other) in WITHOUT {
        assert!(listed.contains_key(other), "{name}: {other} has no target");
    }
    for (name, body) in listed {
        let method = name.rsplit("::").next().unwrap();
        let text = bodies[body];
        // A method is called on a value, an associated function by the name of its type.
        let is_called = [format!("{name}("), format!(".{method}("), format!(" {method} as ")];
        assert!(is_called.iter().any(|call| text.contains(call)), "{body} does not call {name}");
    }
}
