//! The rows, in files by subject.

mod binary;
mod cadence;
mod comparisons;
mod cortex_m;
mod delegated;
mod filling;
mod indexing;
mod llama;
mod prims;
mod products;
mod quantized;
mod reductions;
mod shapes;
mod unary;
mod windows;

use super::KnownOperator;

/// The rows of each file, sorted by name.
pub(super) const TABLES: &[&[KnownOperator]] = &[
    binary::ROWS,
    cadence::ROWS,
    comparisons::ROWS,
    cortex_m::ROWS,
    delegated::ROWS,
    filling::ROWS,
    indexing::ROWS,
    llama::ROWS,
    prims::ROWS,
    products::ROWS,
    quantized::ROWS,
    reductions::ROWS,
    shapes::ROWS,
    unary::ROWS,
    windows::ROWS,
];
