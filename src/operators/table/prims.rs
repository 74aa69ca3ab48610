//! The operators of the runtime itself, and copies between devices.

use super::super::KnownOperator;
use super::super::argument::{Argument, filled, int, int_output, ints, number, tensor, unread, view};
use super::super::releases::{
    WHEELS, runtime,
    versions::{V0_4, V0_5, V1_0, V1_4},
};

const NUMBER: &[Argument] = &[number("a")];
const NUMBERS: &[Argument] = &[number("a"), number("b")];

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new("aten::_local_scalar_dense", &[tensor("self")], runtime(WHEELS)),
    KnownOperator::new("aten::sym_numel", &[unread("self")], runtime(WHEELS)),
    KnownOperator::new("aten::sym_size.int", &[unread("self"), int("dim")], runtime(WHEELS)),
    KnownOperator::new("executorch_prim::add.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::ceil.Scalar", NUMBER, runtime(V0_5)),
    KnownOperator::new("executorch_prim::eq.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new(
        "executorch_prim::et_copy_index.tensor",
        &[filled("copy_to"), tensor("copy_from"), int("index")],
        runtime(WHEELS),
    ),
    KnownOperator::new(
        "executorch_prim::et_view.default",
        &[unread("self"), ints("size"), view("out")],
        runtime(WHEELS),
    ),
    KnownOperator::new("executorch_prim::floordiv.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::floordiv.int", &[int("a"), int("b"), int_output("out")], runtime(WHEELS)),
    KnownOperator::new("executorch_prim::ge.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::gt.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::le.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::lt.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::mod.Scalar", &[int("a"), int("b")], runtime(V0_4)),
    KnownOperator::new("executorch_prim::mod.int", &[int("a"), int("b"), int_output("out")], runtime(V0_4)),
    KnownOperator::new("executorch_prim::mul.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::neg.Scalar", NUMBER, runtime(V0_4)),
    KnownOperator::new("executorch_prim::round.Scalar", NUMBER, runtime(V0_5)),
    KnownOperator::new("executorch_prim::sub.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::sym_float.Scalar", NUMBER, runtime(V0_4)),
    KnownOperator::new("executorch_prim::sym_int.Scalar", NUMBER, runtime(V1_4)),
    KnownOperator::new("executorch_prim::sym_ite.Scalar", &[number("b"), number("t"), number("f")], runtime(V1_4)),
    KnownOperator::new("executorch_prim::sym_max.Scalar", NUMBERS, runtime(V1_0)),
    KnownOperator::new("executorch_prim::sym_min.Scalar", NUMBERS, runtime(V1_0)),
    KnownOperator::new("executorch_prim::sym_not.Scalar", NUMBER, runtime(V1_4)),
    KnownOperator::new("executorch_prim::truediv.Scalar", NUMBERS, runtime(WHEELS)),
    KnownOperator::new("executorch_prim::trunc.Scalar", NUMBER, runtime(V0_5)),
];
