//! The operators of the runtime itself, and copies between devices.

use super::super::argument::{Argument, any, filled, int, int_output, ints, tensor, unread, view};
use super::super::kernel::{
    Check::{self, By, Dies, Fails, If, Kinds, NotEmpty, OfType, Range, SameType, StrictDim},
    Condition, Family, Kernel,
};
use super::super::releases::{
    Spans, WHEELS, runtime,
    versions::{V0_4, V0_5, V1_0, V1_4},
};
use super::super::types::Types;
use super::super::{KnownOperator, argument::Kind};
use crate::schema::ScalarType;

const NUMBER: &[Argument] = &[any("a")];
const NUMBERS: &[Argument] = &[any("a"), any("b")];

const REAL: &[Kind] = &[Kind::Int, Kind::Double];

/// Types of 16 bits.
const HALVES: Types = Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16]);

/// The error for an argument of a wrong kind, `InvalidType`.
const INVALID_TYPE: u8 = 0x13;

/// Results are numbers.
const ALGEBRA: &[Check] = &[Fails(INVALID_TYPE, &[Kinds(&["a", "b"], REAL)])];
/// Results are Bools.
const COMPARISON: &[Check] = &[If(
    Condition::Bool("a"),
    &[Fails(INVALID_TYPE, &[Kinds(&["b"], &[Kind::Bool])])],
    &[Fails(INVALID_TYPE, &[Kinds(&["a", "b"], REAL)])],
)];
const INTEGERS: &[Check] = &[Fails(INVALID_TYPE, &[Kinds(&["a", "b"], &[Kind::Int])])];
const ROUNDING: &[Check] = &[Fails(INVALID_TYPE, &[Kinds(&["a"], &[Kind::Double])])];
const CONVERSION: &[Check] = &[Fails(INVALID_TYPE, &[Kinds(&["a"], &[Kind::Number])])];

/// An integer by which integers are divided.
const DIVIDES: Check = Dies(&[By(Family::Divisor)]);

/// Returns an operator of the runtime.
const fn prim(name: &'static str, arguments: &'static [Argument], wheel: Spans) -> KnownOperator {
    KnownOperator::new(name, arguments, runtime(wheel))
}

macro_rules! kernel {
    ($checks:expr) => {
        &Kernel { source: "prim_ops/register_prim_ops.cpp", orders: &[], checks: $checks, other_numbers: &[] }
    };
}

pub(super) const ROWS: &[KnownOperator] = &[
    prim("aten::_local_scalar_dense", &[tensor("self")], WHEELS)
        .kernel(kernel!(&[NotEmpty("self"), OfType(&["self"], Types::REAL_OR_BOOL.without(HALVES))])),
    prim("aten::sym_numel", &[unread("self")], WHEELS).kernel(kernel!(&[])),
    prim("aten::sym_size.int", &[unread("self"), int("dim")], WHEELS)
        .kernel(kernel!(&[Dies(&[Range("dim", 0, i64::MAX), StrictDim("dim", "self")])])),
    prim("executorch_prim::add.Scalar", NUMBERS, WHEELS).kernel(kernel!(ALGEBRA)),
    prim("executorch_prim::ceil.Scalar", NUMBER, V0_5).kernel(kernel!(ROUNDING)),
    prim("executorch_prim::eq.Scalar", NUMBERS, WHEELS).kernel(kernel!(COMPARISON)),
    prim("executorch_prim::et_copy_index.tensor", &[filled("copy_to"), tensor("copy_from"), int("index")], WHEELS)
        .exact()
        .kernel(&Kernel {
            source: "prim_ops/et_copy_index.cpp",
            orders: &[],
            checks: &[By(Family::CopyIndex)],
            other_numbers: &[],
        }),
    prim("executorch_prim::et_view.default", &[unread("self"), ints("size"), view("out")], WHEELS).exact().kernel(
        &Kernel {
            source: "prim_ops/et_view.cpp",
            orders: &[],
            checks: &[SameType(&["self", "out"]), By(Family::EtView)],
            other_numbers: &[],
        },
    ),
    prim("executorch_prim::floordiv.Scalar", NUMBERS, WHEELS)
        .kernel(kernel!(&[Fails(INVALID_TYPE, &[Kinds(&["a", "b"], REAL)]), DIVIDES])),
    prim("executorch_prim::floordiv.int", &[int("a"), int("b"), int_output("out")], WHEELS)
        .exact()
        .kernel(kernel!(&[DIVIDES])),
    prim("executorch_prim::ge.Scalar", NUMBERS, WHEELS).kernel(kernel!(COMPARISON)),
    prim("executorch_prim::gt.Scalar", NUMBERS, WHEELS).kernel(kernel!(COMPARISON)),
    prim("executorch_prim::le.Scalar", NUMBERS, WHEELS).kernel(kernel!(COMPARISON)),
    prim("executorch_prim::lt.Scalar", NUMBERS, WHEELS).kernel(kernel!(COMPARISON)),
    prim("executorch_prim::mod.Scalar", NUMBERS, V0_4)
        .kernel(kernel!(&[Fails(INVALID_TYPE, &[Kinds(&["a", "b"], &[Kind::Int])]), DIVIDES])),
    prim("executorch_prim::mod.int", &[int("a"), int("b"), int_output("out")], V0_4)
        .exact()
        .kernel(kernel!(&[DIVIDES])),
    prim("executorch_prim::mul.Scalar", NUMBERS, WHEELS).kernel(kernel!(ALGEBRA)),
    prim("executorch_prim::neg.Scalar", NUMBER, V0_4).kernel(kernel!(&[Fails(INVALID_TYPE, &[Kinds(&["a"], REAL)])])),
    prim("executorch_prim::round.Scalar", NUMBER, V0_5).kernel(kernel!(ROUNDING)),
    prim("executorch_prim::sub.Scalar", NUMBERS, WHEELS).kernel(kernel!(ALGEBRA)),
    prim("executorch_prim::sym_float.Scalar", NUMBER, V0_4).kernel(kernel!(CONVERSION)),
    prim("executorch_prim::sym_int.Scalar", NUMBER, V1_4).kernel(kernel!(CONVERSION)),
    prim("executorch_prim::sym_ite.Scalar", &[any("b"), any("t"), any("f")], V1_4)
        .kernel(kernel!(&[Fails(INVALID_TYPE, &[Kinds(&["b"], &[Kind::Bool])]), By(Family::Choice)])),
    prim("executorch_prim::sym_max.Scalar", NUMBERS, V1_0).kernel(kernel!(INTEGERS)),
    prim("executorch_prim::sym_min.Scalar", NUMBERS, V1_0).kernel(kernel!(INTEGERS)),
    prim("executorch_prim::sym_not.Scalar", NUMBER, V1_4)
        .kernel(kernel!(&[Fails(INVALID_TYPE, &[Kinds(&["a"], &[Kind::Bool])])])),
    prim("executorch_prim::truediv.Scalar", NUMBERS, WHEELS).kernel(kernel!(ALGEBRA)),
    prim("executorch_prim::trunc.Scalar", NUMBER, V0_5).kernel(kernel!(ROUNDING)),
];
