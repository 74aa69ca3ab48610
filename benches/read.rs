//! Compares reading with the `flatbuffers` crate: see `README.md`.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod inputs;
mod look_up;
mod synthetic;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use executorch_format::Pte;
use executorch_format_peer::{self as peer, Walk};
use inputs::Input;
use look_up::{peer_view, view};
use memmap2::Mmap;
use std::{fs::File, hint::black_box, path::PathBuf};

criterion_group!(benches, programs, sizes, look_ups);
criterion_main!(benches);

fn programs(criterion: &mut Criterion) {
    for input in [inputs::llama48_narrow(), inputs::llama6_external()] {
        let (file, metadata) = (input.file.as_slice(), input.metadata());
        let pte = Pte::parse(file).unwrap();
        let program = peer::root_as_program(metadata).unwrap();
        assert_eq!(pte.program.walk(), program.walk(), "both walks must give the same checksum");

        let mut group = criterion.benchmark_group(input.name);
        group.throughput(Throughput::Bytes(metadata.len() as u64));
        group.bench_function("peer/verify", |bencher| bencher.iter(|| peer::verify_program(black_box(metadata))));
        group.bench_function("parse", |bencher| bencher.iter(|| Pte::parse(black_box(file)).map(drop)));
        group.bench_function("check", |bencher| bencher.iter(|| Pte::verify_structure(black_box(file))));
        group.bench_function("peer/walk", |bencher| {
            bencher.iter(|| {
                // SAFETY: accepted by `root_as_program` above.
                let program = unsafe { peer::program::root_as_program_unchecked(black_box(metadata)) };
                program.walk()
            })
        });
        group.bench_function("walk", |bencher| bencher.iter(|| black_box(&pte.program).walk()));
        group.finish();
    }
}

/// Measures the time per byte for programs of different sizes.
fn sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sizes");
    group.sample_size(20);
    for values in [10, 100, 1_000, 10_000, 100_000, 1_000_000] {
        let Input { file, .. } = inputs::input("synthetic", &synthetic::program(values));
        assert_eq!(Pte::parse(&file).unwrap().program.walk(), peer::root_as_program(&file).unwrap().walk());
        group.throughput(Throughput::Bytes(file.len() as u64));
        group.bench_with_input(BenchmarkId::new("peer/verify", values), file.as_slice(), |bencher, file| {
            bencher.iter(|| peer::verify_program(black_box(file)))
        });
        group.bench_with_input(BenchmarkId::new("parse", values), file.as_slice(), |bencher, file| {
            bencher.iter(|| Pte::parse(black_box(file)).map(drop))
        });
        group.bench_with_input(BenchmarkId::new("check", values), file.as_slice(), |bencher, file| {
            bencher.iter(|| Pte::verify_structure(black_box(file)))
        });
    }
    group.finish();
}

/// A sparse file: the metadata, and a hole for the data.
struct Sparse(PathBuf);

impl Sparse {
    fn new(name: &str, metadata: &[u8], size: u64) -> Self {
        let path = std::env::temp_dir().join(format!("executorch-format-{}-{name}.ptd", std::process::id()));
        std::fs::write(&path, metadata).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
        Self(path)
    }

    fn map(&self) -> Mmap {
        // SAFETY: no other process uses the file.
        unsafe { Mmap::map(&File::open(&self.0).unwrap()).unwrap() }
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reads one tensor out of 2,000, with and without opening the file.
fn look_ups(criterion: &mut Criterion) {
    const KEYS: usize = 2_000;
    let key = synthetic::key(1_234);
    for (name, size) in [("ptd_8MB", 4096), ("ptd_1TiB", (1u64 << 40).div_ceil(KEYS as u64).next_multiple_of(4096))] {
        let (metadata, size) = synthetic::tensors(KEYS, size);
        let file = Sparse::new(name, &metadata, size);
        let map = file.map();
        let (ours, theirs) = (view(&map, &key), peer_view(&map, metadata.len(), &key));
        assert_eq!((ours.as_ptr(), ours.len()), (theirs.as_ptr(), theirs.len()), "both must find the same bytes");

        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(KEYS as u64));
        group.bench_function("peer/open_and_get", |bencher| {
            bencher.iter(|| peer_view(&file.map(), metadata.len(), black_box(&key)).len())
        });
        group.bench_function("open_and_get", |bencher| bencher.iter(|| view(&file.map(), black_box(&key)).len()));
        group.bench_function("peer/get", |bencher| {
            bencher.iter(|| peer_view(black_box(&map), metadata.len(), black_box(&key)).len())
        });
        group.bench_function("get", |bencher| bencher.iter(|| view(black_box(&map), black_box(&key)).len()));
        group.finish();
    }
}
