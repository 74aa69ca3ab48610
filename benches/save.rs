//! Compares writing a `.ptd` of 1 GiB from 300 tensors in memory with copying the same bytes. Prints a Markdown table.
//!
//! Usage: cargo bench --bench save [-- FOLDER]. The default folder is `/dev/shm`, or the temporary folder.
//! KEEP=FILE only writes the `.ptd` to FILE.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod counting;

use counting::heap;
use executorch_format::schema::ScalarType;
use executorch_format::{NewEntry, Ptd, PtdOptions};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

const TENSORS: usize = 300;
/// Elements of 4 bytes. All tensors together have slightly more than 1 GiB.
const ELEMENTS: usize = (1usize << 28).div_ceil(TENSORS);
const ROUNDS: usize = 8;
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

    println!();
    println!(
        "| 1 GiB, {TENSORS} tensors | median ms | best ms | ratio of medians | ratio of bests | target | peak heap, KiB | target |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let line = |what: &str, times: &Times, of: &Times, more: &str| {
        let (median, best) = (times.median / of.median, times.best / of.best);
        println!("| {what} | {:.0} | {:.0} | {median:.2} | {best:.2} | {more} |", times.median, times.best);
    };
    let targets = |heap: usize| format!("≤ 1.15 | {} | < {}", heap >> 10, HEAP_TARGET >> 10);
    line("std::io::copy of each", &copy, &copy, " | | ");
    line("build, image, write_to", &write, &copy, &targets(write_heap));
    line("std::io::copy of each, sync", &copy_and_sync, &copy_and_sync, " | | ");
    line("build, image, save", &save, &copy_and_sync, &targets(save_heap));
    assert!(write_heap.max(save_heap) < HEAP_TARGET, "the heap grows with the data");
}

fn folder() -> PathBuf {
    // Cargo adds --bench.
    match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(folder) => folder.into(),
        None if Path::new("/dev/shm").is_dir() => "/dev/shm".into(),
        None => std::env::temp_dir(),
    }
}

/// The bytes of a tensor, from xorshift64.
fn random(seed: u64) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = (0..ELEMENTS.div_ceil(2)).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(ELEMENTS * 4).collect()
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

/// Measures how long `a` and `b` take to write the file, in the order A B B A A B B A: some disks are slow every other time.
fn in_turn(file: &Path, a: impl Fn(), b: impl Fn()) -> [Times; 2] {
    let time = |make: &dyn Fn()| {
        fs::remove_file(file).unwrap();
        let start = Instant::now();
        make();
        start.elapsed().as_secs_f64() * 1e3
    };
    // A warm-up, not counted.
    time(&a);
    let mut times = [const { Vec::new() }; 2];
    for round in 0..ROUNDS {
        let mut order: [(usize, &dyn Fn()); 2] = [(0, &a), (1, &b)];
        order.rotate_left(round % 2);
        for (which, make) in order {
            times[which].push(time(make));
        }
    }
    times.map(Times::new)
}

/// Times in milliseconds.
struct Times {
    median: f64,
    best: f64,
}

impl Times {
    fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self { median: times[times.len() / 2], best: times[0] }
    }
}
