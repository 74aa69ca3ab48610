//! Measures encoding the tree with borrowed segments. `read` measures parsing in the same Criterion groups.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod inputs;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use executorch_format::Pte;
use std::hint::black_box;

criterion_group!(benches, programs);
criterion_main!(benches);

fn programs(criterion: &mut Criterion) {
    for input in [inputs::llama48_narrow(), inputs::llama6_external()] {
        let mut pte = Pte::parse(&input.file).unwrap();
        // Setting the style forces encoding, although the tree is unchanged.
        pte.style = Some(pte.write_style().unwrap().style);
        assert!(pte.image().unwrap().to_vec().unwrap() == input.file, "must be written back byte for byte");

        let mut group = criterion.benchmark_group(input.name);
        group.throughput(Throughput::Bytes(input.metadata().len() as u64));
        group.bench_function("encode", |bencher| bencher.iter(|| black_box(&pte).image().unwrap().size()));
        group.finish();
    }
}
