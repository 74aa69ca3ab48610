//! Compares writing a `.ptd` of 1 GiB from 300 tensors in memory with copying the same bytes. Prints a Markdown table.
//!
//! Usage: cargo bench --bench save [-- FOLDER]. The default folder is `/dev/shm`, or the temporary folder.
//! KEEP=FILE only writes the `.ptd` to FILE.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod counting;
mod turns;

use counting::heap;
use executorch_format::schema::ScalarType;
use executorch_format::{NewEntry, Ptd, PtdOptions};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use turns::{ELEMENTS, ROUNDS, TENSORS, folder, in_turn, random};

const HEAP_TARGET: usize = 16 << 20;

fn main() {
    let tensors: Vec<Vec<u8>> = (0..TENSORS as u64).map(random).collect();
    if let Some(file) = std::env::var_os("KEEP") {
        return build(&tensors).image().unwrap().save(file).unwrap();
    }
    let folder = folder();
    let file = folder.join(format!("executorch-format-{}-save.ptd", std::process::id()));

    let write = || {
        let ptd = build(&tensors);
        ptd.image().unwrap().write_to(File::create_new(&file).unwrap()).unwrap();
    };
    let save = || build(&tensors).image().unwrap().save(&file).unwrap();
    let copy = || {
        let mut target = File::create_new(&file).unwrap();
        for tensor in &tensors {
            io::copy(&mut tensor.as_slice(), &mut target).unwrap();
        }
        target
    };
    let copy_and_sync = || copy().sync_all().unwrap();
    println!("{ROUNDS} alternating rounds in {}", folder.display());

    write();
    compare(&file, &tensors);
    fs::remove_file(&file).unwrap();
    let write_heap = heap(write).peak;
    let save_heap = heap(save).peak;

    let [copy, write] = in_turn(&file, || drop(copy()), write);
    let [copy_and_sync, save] = in_turn(&file, copy_and_sync, save);
    fs::remove_file(&file).unwrap();

    turns::head();
    let targets = |heap: usize| format!("≤ 1.15 | {} | < {}", heap >> 10, HEAP_TARGET >> 10);
    copy.line("std::io::copy of each", &copy, " | | ");
    write.line("build, image, write_to", &copy, &targets(write_heap));
    copy_and_sync.line("std::io::copy of each, sync", &copy_and_sync, " | | ");
    save.line("build, image, save", &copy_and_sync, &targets(save_heap));
    assert!(write_heap.max(save_heap) < HEAP_TARGET, "the heap grows with the data");
}

fn build(tensors: &[Vec<u8>]) -> Ptd<'_> {
    let entries = tensors.iter().enumerate().map(|(index, bytes)| {
        let sizes = vec![ELEMENTS as i32];
        NewEntry::tensor(format!("layers.{index}.weight"), ScalarType::FLOAT, sizes, bytes.as_slice())
            .with_alignment(16)
    });
    Ptd::build(entries, &PtdOptions::default()).unwrap()
}

/// Checks that the file contains the tensors.
fn compare(file: &Path, tensors: &[Vec<u8>]) {
    let bytes = fs::read(file).unwrap();
    let ptd = Ptd::parse(&bytes).unwrap();
    assert_eq!(ptd.entries().count(), TENSORS);
    for (entry, tensor) in ptd.entries().zip(tensors) {
        assert!(ptd.entry_bytes(&entry).unwrap() == tensor.as_slice());
    }
}
