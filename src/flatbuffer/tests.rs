//! Tests of the wire format alone, with a schema that combines features which no real schema has together.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]

use super::read::{self, Compiled, Limits, Record, TableParser, Target};
use super::write::{Builder, Encode, Style};
use crate::error::Result;
use alloc::{boxed::Box, vec::Vec};

fn written(tree: &impl Encode, style: Style) -> Vec<u8> {
    let mut builder = Builder::new(style, 0);
    let root = tree.encode(&mut builder).unwrap();
    let finished = builder.finish(root).unwrap();
    let mut bytes = finished.head(b"TEST", 0).unwrap();
    finished.parts().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

fn style() -> Style {
    Style { alignments: [16, 64], ..Style::default() }
}

mod compiled;

mod described;

#[test]
fn compiled_and_described_tables_are_written_alike() {
    let one = written(&compiled::tables::node(), style());
    assert_eq!(one, written(&described::tables::node(), style()));
}

#[test]
fn compiled_and_described_tables_find_the_same_first_fault() {
    let good = written(&compiled::tables::node(), style());
    let mut faults = 0;
    for place in 0..good.len() {
        for value in [0, 1, 2, 3, 5, 8, 0x7f, 0x80, 0xfd, 0xff] {
            let mut bytes = good.clone();
            bytes[place] = value;
            let found = [
                compiled::read::<compiled::tables::Node>(&bytes).err(),
                compiled::check::<compiled::tables::Node>(&bytes).err(),
                described::read::<described::tables::Node>(&bytes).err(),
                described::check::<described::tables::Node>(&bytes).err(),
            ];
            faults += usize::from(found[0].is_some());
            assert!(found.iter().all(|error| *error == found[0]), "byte {place} is {value}: {found:?}");
            let trees = (
                compiled::read::<compiled::tables::Node>(&bytes).ok(),
                described::read::<described::tables::Node>(&bytes).ok(),
            );
            assert_eq!(alloc::format!("{:?}", trees.0), alloc::format!("{:?}", trees.1), "byte {place} is {value}");
        }
    }
    assert!(faults > 100, "{faults} faults");
}
