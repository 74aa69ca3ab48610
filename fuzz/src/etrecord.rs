use crate::limits::Output;
use executorch_format::naming::{EtRecord, NameSource};
use executorch_format::{Analysis, Pte};

const PROGRAM: &[u8] = include_bytes!("../../tests/data/etrecord/net_portable.pte");

/// Reads an ETRecord or a state dict, and finds names with it.
pub fn read_etrecord(bytes: &[u8]) {
    let source = NameSource::parse(bytes);
    assert!(EtRecord::parse(bytes).is_err() || bytes.starts_with(b"PK"));
    let Ok(source) = source else { return };
    let pte = Pte::parse(PROGRAM).expect("a good file");
    let sources = [source];
    let report = Analysis::new(&pte).with_names(&sources).report();
    Output::of(bytes.len() + PROGRAM.len()).json(&report);
}
