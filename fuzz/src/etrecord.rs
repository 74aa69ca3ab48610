use executorch_format::naming::{NameSource, Names};
use executorch_format::{Analysis, Pte};
use std::hint::black_box;

const PROGRAM: &[u8] = include_bytes!("../../tests/data/etrecord/net_portable.pte");

/// Reads an ETRecord or a state dict, and finds names with it.
pub fn read_etrecord(bytes: &[u8]) {
    let Ok(source) = NameSource::parse(bytes) else { return };
    let pte = Pte::parse(PROGRAM).expect("a good file");
    let sources = [source];
    let _ = black_box(Names::new(&Analysis::new(&pte), &sources));
}
