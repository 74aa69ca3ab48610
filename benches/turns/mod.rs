//! Common parts of benchmarks of 1 GiB files: the tensors, the folder for files, and timing two functions in turn.

// Each target that includes this module uses only a part of it.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub const TENSORS: usize = 300;
/// The number of 4-byte elements in a tensor. All tensors together have slightly more than 1 GiB.
pub const ELEMENTS: usize = (1usize << 28).div_ceil(TENSORS);
pub const ROUNDS: usize = 8;

/// Returns the folder for files, which can be given as an argument.
pub fn folder() -> PathBuf {
    // Cargo adds --bench.
    match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(folder) => folder.into(),
        None if Path::new("/dev/shm").is_dir() => "/dev/shm".into(),
        None => std::env::temp_dir(),
    }
}

/// Generates the bytes of a tensor with xorshift64.
pub fn random(seed: u64) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = (0..ELEMENTS.div_ceil(2)).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(ELEMENTS * 4).collect()
}

/// Measures how long `a` and `b` take to write the file, in the order A B B A A B B A, since some disks are slow every other time.
pub fn in_turn(file: &Path, a: impl Fn(), b: impl Fn()) -> [Times; 2] {
    let time = |make: &dyn Fn()| {
        fs::remove_file(file).unwrap();
        let start = Instant::now();
        make();
        start.elapsed().as_secs_f64() * 1e3
    };
    // The first run is a warm-up and is not counted.
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
pub struct Times {
    pub median: f64,
    pub best: f64,
}

impl Times {
    /// Computes the statistics of single times.
    pub fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self { median: times[times.len() / 2], best: times[0] }
    }

    /// Prints a row of the table: the times, and their ratios to those of the copy.
    pub fn line(&self, what: &str, copy: &Self, more: &str) {
        let (median, best) = (self.median / copy.median, self.best / copy.best);
        println!("| {what} | {:.0} | {:.0} | {median:.2} | {best:.2} | {more} |", self.median, self.best);
    }
}

/// Prints the header of the table.
pub fn head() {
    println!();
    println!(
        "| 1 GiB, {TENSORS} tensors | median ms | best ms | ratio of medians | ratio of bests | target | peak heap, KiB | target |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
}
