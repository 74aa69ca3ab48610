//! Arithmetic, copies and choices of elements of several tensors, or of a tensor and a number.

use super::super::KnownOperator;
use super::super::argument::{Argument, boolean, elementwise, number, over_first, replaced, string, tensor, unread};
use super::super::kernel::{
    Alpha, Cast,
    Check::{
        self, Broadcast, BroadcastTo, By, Dies, If, Is, Like, NotZero, NotZeroConverted, OfType, Promotes, SameShape,
        SameType, Since, Strays, Word,
    },
    Common, Complex, Condition, Family, Kernel, Layouts, Often, Only, OrderCheck,
    Orders::Same,
    OtherNumbers, Promotion,
};
use super::super::releases::{
    optimized, portable, portable_in_wheels,
    versions::{V0_1, V0_2, V0_5, V0_6, V1_1, V1_2},
};
use super::super::types::Types;
use crate::schema::ScalarType;

pub(super) const BINARY: &[Argument] = &[tensor("self"), tensor("other"), elementwise("out")];
pub(super) const WITH_NUMBER: &[Argument] = &[tensor("self"), number("other"), elementwise("out")];

/// Types of an elementwise kernel of two tensors.
pub(super) const TWO: Promotion = Promotion {
    tensors: &["self", "other"],
    numbers: &[],
    common: Common::Promoted,
    out: "out",
    cast: Cast::Can,
    computes: Types::REAL_OR_BOOL,
    inputs: Types::REAL_OR_BOOL,
    outs: Types::REAL_OR_BOOL,
    alpha: Alpha::None,
    complex: Complex::Refused,
};

/// Types of an elementwise kernel of a tensor and a number, whose result has the common type.
pub(super) const BESIDE_NUMBER: Promotion =
    Promotion { tensors: &["self"], numbers: &["other"], cast: Cast::Same, outs: Types::NONE, ..TWO };

const WITH_NUMBER_AND_ALPHA: &[Argument] = &[tensor("self"), number("other"), number("alpha"), elementwise("out")];

const WITH_ALPHA: &[Argument] = &[tensor("self"), tensor("other"), number("alpha"), elementwise("out")];

/// The types of a copy that converts them, if it has to.
const CONVERTS: &[Check] =
    &[If(Condition::SameTypes(&["self", "src"]), &[If(Condition::SameEnd("self", "src"), &[], CONVERTED)], CONVERTED)];

const CONVERTED: &[Check] = &[OfType(&["self", "src"], Types::REAL_OR_BOOL)];

/// A copy that does not look at types if sizes are the same.
const COPIES_BYTES: &[Check] =
    &[If(Condition::SameEnd("self", "src"), &[Strays(&[SameType(&["self", "src"])])], CONVERTED)];

/// A quotient of real numbers.
const QUOTIENT: Promotion =
    Promotion { common: Common::Float, cast: Cast::Any, computes: Types::FLOAT, outs: Types::FLOAT, ..TWO };

/// A quotient of complex numbers: the kernel neither converts nor broadcasts them.
const COMPLEX_QUOTIENT: &[Check] = &[Since(V1_2, SAME_ELEMENTS, &[Dies(REAL)])];

/// The same in the optimized library.
const OPTIMIZED_COMPLEX_QUOTIENT: &[Check] =
    &[Since(V1_2, SAME_ELEMENTS, &[If(Condition::SameTypes(&["self", "other", "out"]), REAL, &[Dies(REAL)])])];

const SAME_ELEMENTS: &[Check] =
    &[Strays(&[SameType(&["self", "other", "out"]), SameShape("other", "self")]), OfType(&["self"], Types::COMPLEX)];

const REAL: &[Check] = &[OfType(&["self", "other"], Types::REAL_OR_BOOL)];

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new("aten::add.Scalar_out", WITH_NUMBER_AND_ALPHA, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_add.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Promotes(&Promotion { cast: Cast::Any, alpha: Alpha::Add, ..BESIDE_NUMBER }),
                Like("self", &["out"]),
            ],
            other_numbers: &[],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_add.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[Promotes(&Promotion { alpha: Alpha::Add, ..BESIDE_NUMBER }), Like("self", &["out"])],
            other_numbers: &[],
        }),
    KnownOperator::new("aten::add.out", WITH_ALPHA, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_add.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[
                Promotes(&Promotion { alpha: Alpha::Add, complex: Complex::SameSizes, ..TWO }),
                Broadcast(&["self", "other"], "out"),
                By(Family::FirstOfOne),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Broadcast)],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_add.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[
                Promotes(&Promotion { alpha: Alpha::Add, complex: Complex::Same, ..TWO }),
                Broadcast(&["self", "other"], "out"),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
        }),
    KnownOperator::new("aten::atan2.out", BINARY, portable_in_wheels(V0_2)).kernel(&Kernel {
        source: "portable/cpu/op_atan2.cpp",
        orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
        checks: &[
            Promotes(&Promotion {
                common: Common::Float,
                cast: Cast::Any,
                computes: Types::FLOAT,
                outs: Types::FLOAT,
                ..TWO
            }),
            Broadcast(&["self", "other"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new(
        "aten::copy.out",
        &[unread("self"), tensor("src"), boolean("non_blocking"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Is("non_blocking", false),
            SameType(&["self", "out"]),
            BroadcastTo("src", "self"),
            Like("self", &["out"]),
            Since(V1_1, CONVERTS, COPIES_BYTES),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Broadcast),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::copy_",
        &[replaced("self"), tensor("src"), boolean("non_blocking")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "src"])],
        checks: &[Is("non_blocking", false), BroadcastTo("src", "self"), Since(V1_1, CONVERTS, COPIES_BYTES)],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Broadcast)],
    }),
    KnownOperator::new(
        "aten::div.Scalar_mode_out",
        &[tensor("self"), number("other"), string("rounding_mode").or_null(), elementwise("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_div.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            If(
                Condition::Null("rounding_mode"),
                &[Promotes(&Promotion {
                    common: Common::Float,
                    computes: Types::FLOAT,
                    numbers: &[],
                    ..BESIDE_NUMBER
                })],
                &[
                    Word("rounding_mode", &["trunc", "floor"]),
                    Promotes(&Promotion { cast: Cast::Can, computes: Types::REAL, outs: Types::REAL, ..BESIDE_NUMBER }),
                    NotZero("other", "self"),
                    Dies(&[NotZeroConverted("other", "self")]),
                ],
            ),
            Like("self", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::div.Scalar_out", WITH_NUMBER, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_div.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Promotes(&Promotion { common: Common::Float, computes: Types::FLOAT, numbers: &[], ..BESIDE_NUMBER }),
                Like("self", &["out"]),
            ],
            other_numbers: &[],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_div.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Promotes(&Promotion { common: Common::Float, computes: Types::FLOAT, numbers: &[], ..BESIDE_NUMBER }),
                Like("self", &["out"]),
            ],
            other_numbers: &[],
        }),
    KnownOperator::new("aten::div.out", BINARY, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_div.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[
                If(
                    Condition::AnyType(&["self", "other"], Types::COMPLEX),
                    OPTIMIZED_COMPLEX_QUOTIENT,
                    &[If(Condition::SameTypes(&["self", "other", "out"]), REAL, &[Promotes(&QUOTIENT)])],
                ),
                Broadcast(&["self", "other"], "out"),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Broadcast)],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_div.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[
                If(Condition::AnyType(&["self", "other"], Types::COMPLEX), COMPLEX_QUOTIENT, &[Promotes(&QUOTIENT)]),
                Broadcast(&["self", "other"], "out"),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
        }),
    KnownOperator::new(
        "aten::div.out_mode",
        &[tensor("self"), tensor("other"), string("rounding_mode").or_null(), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_div.cpp",
        orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
        checks: &[
            If(
                Condition::Null("rounding_mode"),
                &[If(Condition::AnyType(&["self", "other"], Types::COMPLEX), COMPLEX_QUOTIENT, &[Promotes(&QUOTIENT)])],
                &[
                    Word("rounding_mode", &["trunc", "floor"]),
                    Promotes(&Promotion { computes: Types::REAL, outs: Types::REAL, ..TWO }),
                    NotZero("other", "self"),
                ],
            ),
            Broadcast(&["self", "other"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new("aten::floor_divide.out", BINARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_floor_divide.cpp",
        orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
        checks: &[
            Promotes(&Promotion { computes: Types::REAL, outs: Types::REAL, ..TWO }),
            NotZero("other", "self"),
            Broadcast(&["self", "other"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new("aten::fmod.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_fmod.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Promotes(&Promotion { cast: Cast::Can, computes: Types::REAL, outs: Types::REAL, ..BESIDE_NUMBER }),
            NotZero("other", "self"),
            Like("self", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::fmod.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_fmod.cpp",
        orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
        checks: &[
            Promotes(&Promotion { computes: Types::REAL, outs: Types::REAL, ..TWO }),
            NotZero("other", "self"),
            Broadcast(&["self", "other"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new(
        "aten::masked_fill.Scalar_out",
        &[tensor("self"), tensor("mask"), number("value"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_masked_fill.cpp",
        orders: &[OrderCheck::new(Same, &["self", "mask", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            OfType(&["mask"], Types::BOOL),
            Broadcast(&["self", "mask"], "out"),
            OfType(&["self"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Broadcast)],
    }),
    KnownOperator::new(
        "aten::masked_scatter.out",
        &[tensor("self"), tensor("mask"), tensor("source"), over_first("out")],
        portable(V0_5),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_masked_scatter.cpp",
        orders: &[OrderCheck::new(Same, &["self", "mask", "out"])],
        checks: &[
            OfType(&["self"], Types::REAL_OR_BOOL),
            OfType(&["mask"], Types::BOOL),
            SameType(&["self", "source", "out"]),
            Broadcast(&["self", "mask"], "out"),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new("aten::maximum.out", BINARY, portable_in_wheels(V0_2)).kernel(&Kernel {
        source: "portable/cpu/op_maximum.cpp",
        orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
        checks: &[Promotes(&Promotion { ..TWO }), Broadcast(&["self", "other"], "out")],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new("aten::minimum.out", BINARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_minimum.cpp",
        orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
        checks: &[Promotes(&Promotion { ..TWO }), Broadcast(&["self", "other"], "out")],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new("aten::mul.Scalar_out", WITH_NUMBER, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_mul.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[Promotes(&Promotion { ..BESIDE_NUMBER }), Like("self", &["out"])],
            other_numbers: &[],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_mul.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[Promotes(&Promotion { ..BESIDE_NUMBER }), Like("self", &["out"])],
            other_numbers: &[],
        }),
    KnownOperator::new("aten::mul.out", BINARY, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_mul.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[Promotes(&Promotion { complex: Complex::Same, ..TWO }), Broadcast(&["self", "other"], "out")],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Broadcast)],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_mul.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[Promotes(&Promotion { complex: Complex::Same, ..TWO }), Broadcast(&["self", "other"], "out")],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
        }),
    KnownOperator::new(
        "aten::pow.Scalar_out",
        &[number("self"), tensor("exponent"), elementwise("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_pow.cpp",
        orders: &[OrderCheck::new(Same, &["exponent", "out"])],
        checks: &[
            Promotes(&Promotion {
                tensors: &["exponent"],
                numbers: &["self"],
                cast: Cast::Can,
                computes: Types::REAL,
                outs: Types::REAL,
                ..BESIDE_NUMBER
            }),
            Like("exponent", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::pow.Tensor_Scalar_out",
        &[tensor("self"), number("exponent"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_pow.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Promotes(&Promotion {
                numbers: &["exponent"],
                cast: Cast::Can,
                computes: Types::REAL,
                outs: Types::REAL,
                ..BESIDE_NUMBER
            }),
            Like("self", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::pow.Tensor_Tensor_out",
        &[tensor("self"), tensor("exponent"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_pow.cpp",
        orders: &[OrderCheck::new(Same, &["self", "exponent", "out"])],
        checks: &[
            Promotes(&Promotion { tensors: &["self", "exponent"], computes: Types::REAL, outs: Types::REAL, ..TWO }),
            Broadcast(&["self", "exponent"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new("aten::remainder.Scalar_out", WITH_NUMBER, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_remainder.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Promotes(&Promotion { cast: Cast::Can, computes: Types::REAL, outs: Types::REAL, ..BESIDE_NUMBER }),
            NotZero("other", "self"),
            Dies(&[NotZeroConverted("other", "self")]),
            Like("self", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::remainder.Tensor_out", BINARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_remainder.cpp",
        orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
        checks: &[
            Promotes(&Promotion { computes: Types::REAL, outs: Types::REAL, ..TWO }),
            NotZero("other", "self"),
            Broadcast(&["self", "other"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new("aten::rsub.Scalar_out", WITH_NUMBER_AND_ALPHA, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_rsub.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Promotes(&Promotion {
                alpha: Alpha::SubtractFrom,
                computes: Types::REAL,
                inputs: Types::REAL,
                ..BESIDE_NUMBER
            }),
            Like("self", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::sub.Scalar_out", WITH_NUMBER_AND_ALPHA, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_sub.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Promotes(&Promotion {
                    alpha: Alpha::Subtract,
                    computes: Types::REAL,
                    inputs: Types::REAL,
                    ..BESIDE_NUMBER
                }),
                Like("self", &["out"]),
            ],
            other_numbers: &[],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_sub.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Promotes(&Promotion {
                    alpha: Alpha::Subtract,
                    computes: Types::REAL,
                    inputs: Types::REAL,
                    ..BESIDE_NUMBER
                }),
                Like("self", &["out"]),
            ],
            other_numbers: &[],
        }),
    KnownOperator::new("aten::sub.out", WITH_ALPHA, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_sub.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[
                Promotes(&Promotion { alpha: Alpha::Subtract, complex: Complex::SameSizes, ..TWO }),
                Broadcast(&["self", "other"], "out"),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Broadcast)],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_sub.cpp",
            orders: &[OrderCheck::new(Same, &["self", "other", "out"])],
            checks: &[
                Promotes(&Promotion {
                    alpha: Alpha::Subtract,
                    computes: Types::REAL,
                    inputs: Types::REAL,
                    outs: Types::REAL,
                    ..TWO
                }),
                Broadcast(&["self", "other"], "out"),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
        }),
    KnownOperator::new(
        "aten::where.self_out",
        &[tensor("condition"), tensor("self"), tensor("other"), elementwise("out")],
        optimized(V0_1, V0_6),
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_where.cpp",
        orders: &[OrderCheck::new(Same, &["condition", "self", "other", "out"])],
        checks: &[
            Promotes(&Promotion { cast: Cast::Same, outs: Types::NONE, ..TWO }),
            OfType(&["condition"], Types::of(&[ScalarType::BYTE, ScalarType::BOOL])),
            Broadcast(&["self", "other", "condition"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    })
    .portable(&Kernel {
        source: "portable/cpu/op_where.cpp",
        orders: &[OrderCheck::new(Same, &["condition", "self", "other", "out"])],
        checks: &[
            Promotes(&Promotion { cast: Cast::Same, outs: Types::NONE, ..TWO }),
            OfType(&["condition"], Types::of(&[ScalarType::BYTE, ScalarType::BOOL])),
            Broadcast(&["self", "other", "condition"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
];
