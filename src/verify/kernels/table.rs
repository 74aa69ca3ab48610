//! The tables of kernels.
//!
//! Each line consists of an operator and columns, separated by tabs. `-` stands for an empty column.
//!
//! 1. The dim orders that a kernel takes: `contiguous`, `either` (contiguous or channels-last) or `same` (all contiguous, or
//!    all channels-last), with the arguments. `unless X`: if the argument X is `true`, the condition does not apply. A kernel
//!    refuses a call that violates one of its conditions.
//! 2. Dim orders for which it computes other numbers: if all tensors are `channels-last`, or in an `other` order, or if
//!    orders are `mixed`. `?` means that this depends on other arguments, `!` that the kernel can end the process.
//!    A further condition may follow these marks, or a `:`: tensors differ in their `sizes`, or in sizes of dimensions other
//!    than the first (`inner`), or tensors with more than one element do (`broadcast`); `dim` is not the first dimension; the
//!    `result` is not stored as a contiguous one.
//! 3. The ranks that it refuses, from 0 to 6.
//! 4. The types with which it ran in tests, for arguments that do not take all types.

use super::operator::Argument;
use super::tensors::{BROADCAST, CHANNELS_LAST, INNER, OTHER, SIZES, type_bit};
use crate::schema::ScalarType;
use alloc::{vec, vec::Vec};

/// The kernels of the Python wheel: portable kernels and those of quantized operators, replaced with optimized kernels where possible.
pub(super) const KERNELS: &str = include_str!("kernels.tsv");
/// The portable kernels of operators for which the wheel has optimized kernels.
pub(super) const PORTABLE: &str = include_str!("portable.tsv");

/// A line of a table.
pub(super) struct Kernel {
    pub(super) conditions: Vec<Condition>,
    pub(super) other_numbers: Vec<OtherNumbers>,
    /// The ranks that are refused, for each argument.
    pub(super) refused_ranks: Vec<u8>,
    /// The types that ran, for each argument; 0 for any type.
    pub(super) types: Vec<u32>,
}

/// A condition on dim orders.
pub(super) struct Condition {
    pub(super) orders: Orders,
    /// The indices of the arguments.
    pub(super) arguments: Vec<usize>,
    /// The index of a Bool that lifts the condition.
    pub(super) unless: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orders {
    Contiguous,
    Either,
    Same,
}

/// Dim orders for which a kernel computes other numbers.
#[derive(Clone, Copy)]
pub(super) struct OtherNumbers {
    orders: &'static str,
    pub(super) often: Often,
    pub(super) only: Only,
}

/// A further condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Only {
    Always,
    /// Sizes differ in one of these ways.
    Differences(u8),
    /// The dimension is not the first.
    Dim,
    Result,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Often {
    Always,
    Sometimes,
    /// It can also end the process.
    Crash,
}

impl OtherNumbers {
    /// Returns `true` if the entry applies to calls whose tensors have these dim orders in total.
    pub(super) fn is_about(&self, layouts: u8) -> bool {
        match self.orders {
            "channels-last" => layouts == CHANNELS_LAST,
            "other" => layouts == OTHER,
            _ => layouts.count_ones() > 1,
        }
    }
}

impl Kernel {
    /// Parses a line; `None` if it refers to an argument that the operator does not have.
    #[expect(clippy::indexing_slicing, reason = "both lists have an item for each argument, which `index` finds")]
    pub(super) fn read(line: &'static str, arguments: &[Argument]) -> Option<Self> {
        let index = |name: &str| arguments.iter().position(|argument| argument.name == name);
        let mut columns = line.split('\t').map(|column| if column == "-" { "" } else { column });
        let mut column = || columns.next();

        let mut conditions = Vec::new();
        for text in parts(column()?, ';') {
            let (text, unless) = match text.split_once(" unless ") {
                Some((text, name)) => (text, Some(index(name)?)),
                None => (text, None),
            };
            let (orders, names) = text.split_once(' ')?;
            let orders = match orders {
                "contiguous" => Orders::Contiguous,
                "either" => Orders::Either,
                "same" => Orders::Same,
                _ => return None,
            };
            let arguments = names.split(',').map(index).collect::<Option<_>>()?;
            conditions.push(Condition { orders, arguments, unless });
        }
        let mut other_numbers = Vec::new();
        for text in parts(column()?, ' ') {
            let at = text.find(['?', '!', ':']);
            let (orders, rest) = text.split_at(at.unwrap_or(text.len()));
            let mut rest = rest.chars();
            let often = match rest.next() {
                Some('?') => Often::Sometimes,
                Some('!') => Often::Crash,
                _ => Often::Always,
            };
            let only = match rest.as_str() {
                "" => Only::Always,
                "sizes" => Only::Differences(SIZES),
                "inner" => Only::Differences(INNER),
                "broadcast" => Only::Differences(BROADCAST),
                "dim" => Only::Dim,
                "result" => Only::Result,
                _ => return None,
            };
            other_numbers.push(OtherNumbers { orders, often, only });
        }
        let mut refused_ranks = vec![0; arguments.len()];
        for text in parts(column()?, ';') {
            let (names, ranks) = text.split_once(' ')?;
            for name in names.split(',') {
                refused_ranks[index(name)?] = ranks_of(ranks)?;
            }
        }
        let mut types = vec![0; arguments.len()];
        for text in parts(column()?, ';') {
            let (names, set) = text.split_once(' ')?;
            for name in names.split(',') {
                types[index(name)?] = types_of(set)?;
            }
        }
        Some(Self { conditions, other_numbers, refused_ranks, types })
    }
}

/// Returns the parts of a column, none if it is empty.
fn parts(column: &'static str, separator: char) -> impl Iterator<Item = &'static str> {
    column.split(separator).filter(|part| !part.is_empty())
}

/// Parses a set of ranks, such as `0-2,5`.
fn ranks_of(text: &str) -> Option<u8> {
    let mut ranks = 0;
    for text in text.split(',') {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        for rank in first.parse::<u32>().ok()?..=last.parse().ok()? {
            ranks |= 1_u8.checked_shl(rank)?;
        }
    }
    Some(ranks)
}

/// Parses a set of types, such as `real+bool`.
fn types_of(text: &str) -> Option<u32> {
    let set = |types: &[ScalarType]| types.iter().fold(0, |set, found| set | type_bit(found.0));
    let mut types = 0;
    for name in text.split('+') {
        types |= match name {
            "int" => set(INT),
            "float" => set(FLOAT),
            "real" => set(INT) | set(FLOAT),
            name => set(&[ScalarType::from_short_name(name)?]),
        };
    }
    Some(types)
}

const INT: &[ScalarType] = &[ScalarType::BYTE, ScalarType::CHAR, ScalarType::SHORT, ScalarType::INT, ScalarType::LONG];
const FLOAT: &[ScalarType] = &[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT, ScalarType::DOUBLE];
