//! Comparisons, and logical and bitwise operators, of elements of two tensors, or of a tensor and a number.

use super::super::KnownOperator;
use super::super::kernel::{
    Cast,
    Check::{Broadcast, Like, OfType, Promotes},
    Kernel, Layouts, Often, Only, OrderCheck,
    Orders::Same,
    OtherNumbers, Promotion,
};
use super::super::releases::{
    optimized, portable, portable_in_wheels,
    versions::{V0_1, V0_2, V1_1},
};
use super::super::types::Types;
use super::binary::{BESIDE_NUMBER, BINARY, TWO, WITH_NUMBER};

const BITWISE_WITH_NUMBER: Kernel = Kernel {
    source: "portable/cpu/pattern/bitwise_op.h",
    orders: &[OrderCheck::new(Same, &["self", "out"])],
    checks: &[
        Promotes(&Promotion {
            computes: Types::INT.and(Types::BOOL),
            inputs: Types::INT.and(Types::BOOL),
            cast: Cast::Can,
            outs: Types::REAL_OR_BOOL,
            ..BESIDE_NUMBER
        }),
        Like("self", &["out"]),
    ],
    other_numbers: &[],
};

const BITWISE: Kernel = Kernel {
    source: "portable/cpu/pattern/bitwise_op.h",
    orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
    checks: &[
        Promotes(&Promotion { computes: Types::INT.and(Types::BOOL), inputs: Types::INT.and(Types::BOOL), ..TWO }),
        Broadcast(&["self", "other"], "out"),
    ],
    other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
};

const COMPARISON_WITH_NUMBER: Kernel = Kernel {
    source: "portable/cpu/pattern/comparison_op.h",
    orders: &[OrderCheck::new(Same, &["self", "out"])],
    checks: &[
        Promotes(&Promotion { cast: Cast::Any, outs: Types::REAL_OR_BOOL, ..BESIDE_NUMBER }),
        Like("self", &["out"]),
    ],
    other_numbers: &[],
};

const COMPARISON: Kernel = Kernel {
    source: "portable/cpu/pattern/comparison_op.h",
    orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
    checks: &[Promotes(&Promotion { cast: Cast::Any, ..TWO }), Broadcast(&["self", "other"], "out")],
    other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
};

const LOGICAL: Kernel = Kernel {
    source: "portable/cpu/pattern/logical_op.h",
    orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
    checks: &[OfType(&["self", "other", "out"], Types::REAL_OR_BOOL), Broadcast(&["self", "other"], "out")],
    other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
};

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new("aten::bitwise_and.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1))
        .kernel(&BITWISE_WITH_NUMBER),
    KnownOperator::new("aten::bitwise_and.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&BITWISE),
    KnownOperator::new("aten::bitwise_left_shift.Tensor_Scalar_out", WITH_NUMBER, portable(V1_1))
        .kernel(&BITWISE_WITH_NUMBER),
    KnownOperator::new("aten::bitwise_left_shift.Tensor_out", BINARY, portable(V1_1)).kernel(&BITWISE),
    KnownOperator::new("aten::bitwise_or.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1))
        .kernel(&BITWISE_WITH_NUMBER),
    KnownOperator::new("aten::bitwise_or.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&BITWISE),
    KnownOperator::new("aten::bitwise_right_shift.Tensor_Scalar_out", WITH_NUMBER, portable(V1_1))
        .kernel(&BITWISE_WITH_NUMBER),
    KnownOperator::new("aten::bitwise_right_shift.Tensor_out", BINARY, portable(V1_1)).kernel(&BITWISE),
    KnownOperator::new("aten::bitwise_xor.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1))
        .kernel(&BITWISE_WITH_NUMBER),
    KnownOperator::new("aten::bitwise_xor.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&BITWISE),
    KnownOperator::new("aten::eq.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1)).kernel(&COMPARISON_WITH_NUMBER),
    KnownOperator::new("aten::eq.Tensor_out", BINARY, portable_in_wheels(V0_2)).kernel(&COMPARISON),
    KnownOperator::new("aten::ge.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1)).kernel(&COMPARISON_WITH_NUMBER),
    KnownOperator::new("aten::ge.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&COMPARISON),
    KnownOperator::new("aten::gt.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1)).kernel(&COMPARISON_WITH_NUMBER),
    KnownOperator::new("aten::gt.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&COMPARISON),
    KnownOperator::new("aten::le.Scalar_out", WITH_NUMBER, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_le.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Promotes(&Promotion { cast: Cast::Any, outs: Types::REAL_OR_BOOL, ..BESIDE_NUMBER }),
                Like("self", &["out"]),
            ],
            other_numbers: &[],
        })
        .portable(&COMPARISON_WITH_NUMBER),
    KnownOperator::new("aten::le.Tensor_out", BINARY, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_le.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[Promotes(&Promotion { cast: Cast::Any, ..TWO }), Broadcast(&["self", "other"], "out")],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
        })
        .portable(&COMPARISON),
    KnownOperator::new("aten::logical_and.out", BINARY, portable_in_wheels(V0_1)).kernel(&LOGICAL),
    KnownOperator::new("aten::logical_or.out", BINARY, portable_in_wheels(V0_1)).kernel(&LOGICAL),
    KnownOperator::new("aten::logical_xor.out", BINARY, portable_in_wheels(V0_1)).kernel(&LOGICAL),
    KnownOperator::new("aten::lt.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1)).kernel(&COMPARISON_WITH_NUMBER),
    KnownOperator::new("aten::lt.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&COMPARISON),
    KnownOperator::new("aten::ne.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1)).kernel(&COMPARISON_WITH_NUMBER),
    KnownOperator::new("aten::ne.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&COMPARISON),
];
