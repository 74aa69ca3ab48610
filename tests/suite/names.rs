//! Names of values and instructions, from real ETRecords and state dicts, and from damaged ones.

use executorch_format::inspect::NamedBy;
use executorch_format::naming::{EtRecord, NameSource, Names};
use executorch_format::{ErrorKind, Pte};
use executorch_format_support::fixtures::fixture;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn file(name: &str) -> Vec<u8> {
    fixture(&format!("etrecord/{name}")).bytes().to_vec()
}

/// The names of a program's values, and where they are known from.
fn values(pte: &Pte<'_>, sources: &[NameSource<'_>]) -> Vec<(usize, String, NamedBy)> {
    let names = Names::new(pte, &pte.disassembly(), sources).unwrap();
    let values = names.methods[0].values.iter().enumerate();
    values.filter_map(|(index, name)| name.as_ref().map(|name| (index, name.name.to_string(), name.named_by))).collect()
}

#[test]
fn a_record_names_every_constant_that_an_instruction_takes() {
    let (program, record) = (file("net_portable.pte"), file("net_portable.etrecord"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let found = values(&pte, &sources);
    let recorded: Vec<_> = found.iter().filter(|(.., by)| *by == NamedBy::Record).map(|(_, name, _)| &**name).collect();
    let expected = [
        "stem.weight",
        "stem.bias",
        "layers.0.conv.weight",
        "layers.0.conv.bias",
        "layers.0.bn.weight",
        "layers.0.bn.bias",
        "layers.1.conv.weight",
        "layers.1.conv.bias",
        "layers.1.bn.weight",
        "layers.1.bn.bias",
        "head.weight",
        "head.bias",
        "layers.0.bn.running_mean",
        "layers.0.bn.running_var",
        "layers.1.bn.running_mean",
        "layers.1.bn.running_var",
        "x",
    ];
    assert_eq!(recorded, expected);
    let names = Names::new(&pte, &pte.disassembly(), &sources).unwrap();
    let modules: Vec<_> = names.methods[0].chains[0].iter().map(|code| code.module.unwrap()).collect();
    assert_eq!(modules[..4], ["stem", "layers.0.conv", "layers.0.bn", "layers.0"]);
    assert_eq!(modules[9..], ["", "head", "head"]);
    let source = names.methods[0].chains[0][10].source.unwrap();
    assert_eq!((source.file.as_str(), source.line), ("net.py", 18));
}

#[test]
fn a_record_names_the_constants_inside_delegates() {
    let (program, record) = (file("net_xnnpack.pte"), file("net_xnnpack.etrecord"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let names = Names::new(&pte, &pte.disassembly(), &sources).unwrap();
    let mut constants = pte.delegate_constants();
    names.add_to_delegate_constants(&pte, &mut constants);
    let found: Vec<_> = constants.constants.iter().map(|constant| constant.user.name.unwrap()).collect();
    let layers = ["layers.0.conv.weight", "layers.0.conv.bias", "layers.1.conv.weight", "layers.1.conv.bias"];
    assert_eq!(found, [&["stem.weight", "stem.bias"][..], &layers, &["head.weight", "head.bias"]].concat());
    // A delegate's module contains all of its nodes.
    let modules: Vec<_> = names.methods[0].chains[0].iter().map(|code| code.module.unwrap()).collect();
    assert_eq!(modules, ["", "", "head"]);
    // Without a record, nodes name them.
    let names = Names::new(&pte, &pte.disassembly(), &[]).unwrap();
    assert_eq!(names.methods[0].delegates[1].values().next().unwrap().name, "XNNFullyConnected 0 weight");
}

#[test]
fn a_state_dict_names_constants_with_its_bytes() {
    let (program, state) = (file("net_portable.pte"), file("net.safetensors"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&state).unwrap()];
    let found = values(&pte, &sources);
    let named: Vec<_> = found.iter().filter(|(.., by)| *by == NamedBy::StateDict).map(|(_, name, _)| &**name).collect();
    let convolutions =
        ["layers.0.conv.weight", "layers.0.conv.bias", "layers.1.conv.weight", "layers.1.conv.bias"].as_slice();
    // The batch norms have equal weights, which name nothing.
    assert_eq!(named, [&["stem.weight", "stem.bias"], convolutions, &["head.weight", "head.bias"]].concat());
}

#[test]
fn without_other_files_the_instruction_names_a_value() {
    let program = file("net_portable.pte");
    let pte = Pte::parse(&program).unwrap();
    let found = values(&pte, &[]);
    let of = |index: usize| found.iter().find(|(own, ..)| *own == index).map(|(_, name, by)| (&**name, *by));
    assert_eq!(of(2), Some(("convolution.1 weight", NamedBy::Operator)));
    assert_eq!(of(18), Some(("input 0", NamedBy::Input)));
    assert_eq!(of(19), Some(("convolution.0", NamedBy::Operator)));
    assert_eq!(of(49), Some(("_native_batch_norm_legit_no_training.0 out0", NamedBy::Operator)));
}

#[test]
fn a_record_of_another_program_is_refused_with_the_reason() {
    let (portable, xnnpack) = (file("net_portable.pte"), file("net_xnnpack.pte"));
    let refused = |program: &[u8], record: EtRecord| {
        let pte = Pte::parse(program).unwrap();
        let sources = [NameSource::Record(record)];
        let error = Names::new(&pte, &pte.disassembly(), &sources).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Reference(_)), "{error}");
        error.to_string()
    };
    let record = |name: &str| EtRecord::parse(&file(name)).unwrap();
    assert!(refused(&portable, record("net_xnnpack.etrecord")).contains("other operators for 2 of 3 instructions"));
    assert!(
        refused(&xnnpack, record("net_portable.etrecord")).contains("instruction 11 of method forward, which has 3")
    );
    let mut other = record("net_portable.etrecord");
    other.methods[0].nodes[1].parameters.get_mut("weight").unwrap().sizes = Some(vec![4, 8, 3, 3]);
    assert!(
        refused(&portable, other).contains("layers.0.conv.weight has the sizes [4, 8, 3, 3], but %2 of method forward")
    );
    let mut renamed = record("net_portable.etrecord");
    renamed.methods[0].name = "generate".into();
    assert!(refused(&portable, renamed).contains("generate"));
}

/// A ZIP file with these entries.
fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_hostile_record_is_an_error_and_takes_no_more_memory_than_its_size_allows() {
    let message = |entries: &[(&str, &[u8])]| EtRecord::parse(&zip(entries)).unwrap_err().to_string();
    assert!(message(&[("data.pkl", b"")]).contains("without the entry ETRECORD_V0"));
    assert!(message(&[("ETRECORD_V0", b"")]).contains("debug_handle_map"));
    let map = br#"{"forward": {"0": 1}}"#.as_slice();
    assert!(message(&[("ETRECORD_V0", b""), ("debug_handle_map", map)]).contains("edge_dialect_exported_program"));
    assert!(
        message(&[("ETRECORD_V0", b""), ("debug_handle_map", br#"{"forward": {"0": -1}}"#)])
            .contains("debug_handle_map")
    );
    let deep = format!("{{\"forward\": {{\"0\": {}", "[".repeat(2_000));
    assert!(message(&[("ETRECORD_V0", b""), ("debug_handle_map", deep.as_bytes())]).contains("recursion limit"));
    // 64 MiB of white space takes 64 KiB in the file.
    let blank = vec![b' '; 64 << 20];
    assert!(message(&[("ETRECORD_V0", b""), ("debug_handle_map", &blank)]).contains("64 times the file"));
}

#[test]
fn damaged_records_never_panic() {
    let (program, record) = (file("net_portable.pte"), file("net_portable.etrecord"));
    let pte = Pte::parse(&program).unwrap();
    let disassembly = pte.disassembly();
    let try_one = |bytes: &[u8]| {
        let Ok(source) = NameSource::parse(bytes) else { return false };
        Names::new(&pte, &disassembly, &[source]).is_ok()
    };
    assert!(try_one(&record));
    let mut damaged = record.clone();
    let (mut good, mut bad) = (0, 0);
    // Every part of the file, in steps that share no factor with the sizes of its structures.
    for at in (0..record.len()).step_by(101 * crate::damage::stride().max(1)) {
        for value in [0, 0xff, b'"', record[at] ^ 1] {
            damaged[at] = value;
            if try_one(&damaged) { good += 1 } else { bad += 1 }
        }
        damaged[at] = record[at];
        try_one(&record[..at]);
    }
    assert!(good > 0 && bad > 0, "{good} {bad}");
}
