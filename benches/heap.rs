//! Measures the tree's heap memory, and asserts that a check does not allocate. Prints a Markdown table.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod counting;
mod inputs;

use counting::{Heap, heap};
use executorch_format::Pte;

fn main() {
    println!("| heap of | allocations | bytes held | peak bytes | held per byte of program |");
    println!("|---|---:|---:|---:|---:|");
    for input in [inputs::llama48_narrow(), inputs::llama6_external()] {
        let program = input.metadata().len() as f64;
        let line = |what: &str, Heap { allocations, held, peak }| {
            let ratio = held as f64 / program;
            println!("| {} of {} | {allocations} | {held} | {peak} | {ratio:.2} |", what, input.name);
        };
        line("parse", heap(|| Pte::parse(&input.file).unwrap()));
        let check = heap(|| Pte::verify_structure(&input.file).unwrap());
        assert_eq!(check.allocations, 0, "a check must not allocate");
        line("check", check);
    }
}
