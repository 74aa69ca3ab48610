//! Operators that create tensors.

use super::super::KnownOperator;
use super::super::argument::{elementwise, int, ints, number, output, tensor, unread};
use super::super::kernel::{
    Check::{By, Like, MemoryFormat, NumberFits, OfType, Rank, SameType, Sizes},
    Family, Kernel, OrderCheck,
    Orders::{Contiguous, Same},
};
use super::super::releases::{
    Libraries, portable, portable_in_wheels,
    versions::{V0_1, V0_5, V0_7},
};
use super::super::types::Types;

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new("aten::arange.out", &[number("end"), output("out")], portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_arange.cpp",
        orders: &[],
        checks: &[By(Family::Arange), OfType(&["out"], Types::REAL)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::arange.start_out",
        &[number("start"), number("end"), number("step"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_arange.cpp",
        orders: &[],
        checks: &[By(Family::Arange), OfType(&["out"], Types::REAL)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::empty.out",
        &[ints("size"), int("memory_format").or_null(), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_empty.cpp",
        orders: &[],
        checks: &[By(Family::SizeList("size"))],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::eye.out", &[int("n"), output("out")], Libraries::NONE),
    KnownOperator::new(
        "aten::fill.Scalar_out",
        &[unread("self"), number("value"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_fill.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            Like("self", &["out"]),
            OfType(&["self"], Types::REAL_OR_BOOL),
            NumberFits("value", "self"),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::fill.Tensor_out",
        &[unread("self"), tensor("value"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_fill.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Rank(&["value"], 1),
            SameType(&["self", "out"]),
            Like("self", &["out"]),
            OfType(&["self", "value"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::full.out",
        &[ints("size"), number("fill_value"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_full.cpp",
        orders: &[],
        checks: &[By(Family::SizeList("size")), OfType(&["out"], Types::REAL_OR_BOOL), NumberFits("fill_value", "out")],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::full_like.out",
        &[unread("self"), number("fill_value"), int("memory_format").or_null(), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_full_like.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            MemoryFormat(2),
            Like("self", &["out"]),
            OfType(&["out"], Types::REAL_OR_BOOL),
            NumberFits("fill_value", "out"),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::ones.out", &[ints("size"), output("out")], portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_ones.cpp",
        orders: &[],
        checks: &[By(Family::SizeList("size")), OfType(&["out"], Types::REAL_OR_BOOL)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::rand.out", &[ints("size"), output("out")], portable(V0_7)).kernel(&Kernel {
        source: "portable/cpu/op_rand.cpp",
        orders: &[],
        checks: &[By(Family::SizeList("size")), OfType(&["out"], Types::FLOAT)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::randn.out", &[ints("size"), output("out")], portable(V0_7)).kernel(&Kernel {
        source: "portable/cpu/op_randn.cpp",
        orders: &[],
        checks: &[By(Family::SizeList("size")), OfType(&["out"], Types::FLOAT)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::scalar_tensor.out", &[number("s"), output("out")], portable_in_wheels(V0_1)).kernel(
        &Kernel {
            source: "portable/cpu/op_scalar_tensor.cpp",
            orders: &[],
            checks: &[Sizes("out", &[]), OfType(&["out"], Types::REAL_OR_BOOL), NumberFits("s", "out")],
            other_numbers: &[],
        },
    ),
    KnownOperator::new("aten::zeros.out", &[ints("size"), output("out")], portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_zeros.cpp",
        orders: &[],
        checks: &[By(Family::SizeList("size"))],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::zeros_like.out",
        &[unread("self"), int("memory_format").or_null(), elementwise("out")],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "dim_order_ops::_empty_dim_order.out",
        &[ints("size"), ints("dim_order").or_null(), output("out")],
        portable(V0_5),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op__empty_dim_order.cpp",
        orders: &[],
        checks: &[By(Family::SizeList("size"))],
        other_numbers: &[],
    }),
];
