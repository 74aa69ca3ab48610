//! Elementwise operators of one tensor.

use super::super::KnownOperator;
use super::super::argument::{Argument, boolean, double, elementwise, int, number, output, over_first, string, tensor};
use super::super::kernel::{
    Alpha, Cast, Check,
    Check::{Between, Broadcast, If, Like, MemoryFormat, NumberFits, OfType, OneOf, Promotes, SameType, Word},
    Common, Complex, Condition, Kernel, Layouts, Often, Only, OrderCheck,
    Orders::Same,
    OtherNumbers, Promotion,
};
use super::super::releases::{
    Libraries, Span, optimized, portable, portable_in_wheels,
    versions::{V0_1, V0_2, V0_6, V0_7, V1_2, V1_4},
};
use super::super::types::Types;
use crate::schema::ScalarType;

const UNARY: &[Argument] = &[tensor("self"), elementwise("out")];

/// Types of an elementwise kernel of one tensor and numbers.
const ONE: Promotion = Promotion {
    tensors: &["self"],
    numbers: &[],
    common: Common::Promoted,
    out: "out",
    cast: Cast::Can,
    computes: Types::REAL_OR_BOOL,
    inputs: Types::REAL_OR_BOOL,
    outs: Types::NONE,
    alpha: Alpha::None,
    complex: Complex::Refused,
};

/// Numbers to floating-point numbers.
const TO_FLOAT: &[Check] =
    &[OfType(&["out"], Types::FLOAT), Like("self", &["out"]), OfType(&["self"], Types::REAL_OR_BOOL)];
const SAME_REAL: &[Check] = &[Like("self", &["out"]), SameType(&["self", "out"]), OfType(&["self"], Types::REAL)];
const SAME_FLOAT: &[Check] = &[SameType(&["self", "out"]), Like("self", &["out"]), OfType(&["self"], Types::FLOAT)];
const TO_BOOL: &[Check] =
    &[Like("self", &["out"]), OfType(&["out"], Types::BOOL), OfType(&["self"], Types::REAL_OR_BOOL)];
const COPY: &[Check] = &[Like("self", &["out"]), SameType(&["self", "out"])];

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new("aten::_conj_physical.out", UNARY, portable(V1_2)).kernel(&Kernel {
        source: "portable/cpu/op__conj_physical.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Like("self", &["out"]), SameType(&["self", "out"]), OfType(&["self"], Types::COMPLEX)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::abs.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_abs.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Like("self", &["out"]),
            If(
                Condition::Type("self", Types::COMPLEX),
                &[OfType(&["out"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE]))],
                &[SameType(&["self", "out"]), OfType(&["self"], Types::REAL)],
            ),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::acos.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::acosh.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::alias_copy.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_alias_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: COPY,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::asin.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::asinh.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::atan.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::atanh.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::bitwise_not.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_bitwise_not.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Like("self", &["out"]), SameType(&["self", "out"]), OfType(&["self"], Types::INT.and(Types::BOOL))],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::ceil.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_REAL,
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::clamp.Tensor_out",
        &[tensor("self"), tensor("min").or_null(), tensor("max").or_null(), elementwise("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_clamp.cpp",
        orders: &[OrderCheck::new(Same, &["self", "min", "max", "out"])],
        checks: &[
            OneOf(&["min", "max"]),
            Promotes(&Promotion { tensors: &["self", "min", "max"], outs: Types::REAL_OR_BOOL, ..ONE }),
            Broadcast(&["self", "min", "max"], "out"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Sizes)],
    }),
    KnownOperator::new(
        "aten::clamp.out",
        &[tensor("self"), number("min").or_null(), number("max").or_null(), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_clamp.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            OneOf(&["min", "max"]),
            Promotes(&Promotion { numbers: &["min", "max"], cast: Cast::Same, ..ONE }),
            NumberFits("min", "out"),
            NumberFits("max", "out"),
            Like("self", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::clamp_min.out", &[tensor("self"), number("min"), elementwise("out")], Libraries::NONE),
    KnownOperator::new(
        "aten::clone.out",
        &[tensor("self"), int("memory_format").or_null(), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_clone.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Like("self", &["out"]), SameType(&["self", "out"]), MemoryFormat(1)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::cos.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::cosh.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::detach_copy.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_detach_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: COPY,
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::elu.out",
        &[tensor("self"), number("alpha"), number("scale"), number("input_scale"), elementwise("out")],
        Libraries { portable: V0_6, optimized: V0_7, wheel: V0_6, ..Libraries::NONE },
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_elu.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_FLOAT,
        other_numbers: &[],
    })
    .portable(&Kernel {
        source: "portable/cpu/op_elu.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::erf.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::exp.out", UNARY, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_exp.cpp",
            orders: &[],
            checks: TO_FLOAT,
            other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_exp.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: TO_FLOAT,
            other_numbers: &[],
        }),
    KnownOperator::new("aten::expm1.out", UNARY, portable_in_wheels(V0_2)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::floor.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_REAL,
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::gelu.out",
        &[tensor("self"), string("approximate"), elementwise("out")],
        optimized(V0_1, V0_1),
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_gelu.cpp",
        orders: &[],
        checks: &[
            SameType(&["self", "out"]),
            Word("approximate", &["none", "tanh"]),
            OfType(&["self"], Types::FLOAT),
            Like("self", &["out"]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    })
    .portable(&Kernel {
        source: "portable/cpu/op_gelu.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            Word("approximate", &["none", "tanh"]),
            OfType(&["self"], Types::FLOAT),
            Like("self", &["out"]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::hardtanh.out",
        &[tensor("self"), number("min_val"), number("max_val"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_hardtanh.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Like("self", &["out"]),
            SameType(&["self", "out"]),
            OfType(&["self"], Types::REAL),
            NumberFits("min_val", "self"),
            NumberFits("max_val", "self"),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::isinf.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_isinf.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_BOOL,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::isnan.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_isnan.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_BOOL,
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::leaky_relu.out",
        &[tensor("self"), number("negative_slope"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_leaky_relu.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Like("self", &["out"]),
            SameType(&["self", "out"]),
            OfType(&["self"], Types::FLOAT),
            NumberFits("negative_slope", "self"),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::lift_fresh_copy.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_lift_fresh_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: COPY,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::log.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::log10.out", UNARY, portable_in_wheels(V0_2)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::log1p.out", UNARY, portable_in_wheels(V0_2)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::log2.out", UNARY, portable_in_wheels(V0_2)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::logical_not.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_logical_not.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Like("self", &["out"]), OfType(&["self", "out"], Types::REAL_OR_BOOL)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::logit.out",
        &[tensor("self"), double("eps").or_null(), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_logit.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Like("self", &["out"]),
            OfType(&["out"], Types::of(&[ScalarType::FLOAT, ScalarType::DOUBLE])),
            OfType(&["self"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::native_dropout.out",
        &[tensor("input"), double("p"), boolean("train").or_null(), over_first("out0"), output("out1")],
        portable(V0_7),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_native_dropout.cpp",
        orders: &[OrderCheck::new(Same, &["input", "out0", "out1"])],
        checks: &[
            SameType(&["input", "out0"]),
            Like("input", &["out0", "out1"]),
            OfType(&["out1"], Types::BOOL),
            Between("p", 0.0, 1.0),
            If(Condition::DropsOut, &[OfType(&["input"], Types::FLOAT)], &[]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::neg.out", UNARY, optimized(V0_1, &[Span::since(0, 1).until(0, 6)])).kernel(&Kernel {
        source: "portable/cpu/op_neg.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_REAL,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::reciprocal.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::relu.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_relu.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_REAL,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::round.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_round.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_REAL,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::rsqrt.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::sigmoid.out", UNARY, optimized(V0_1, &[Span::since(0, 5).until(0, 6)])).kernel(&Kernel {
        source: "portable/cpu/op_sigmoid.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::sign.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/op_sign.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Like("self", &["out"]), SameType(&["self", "out"]), OfType(&["self"], Types::REAL_OR_BOOL)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::sin.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::sinh.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::softplus.out",
        &[tensor("self"), number("beta"), number("threshold"), elementwise("out")],
        Libraries::NONE,
    ),
    KnownOperator::new("aten::sqrt.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::tan.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::tanh.out", UNARY, portable_in_wheels(V0_1)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbbf16_to_floathbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: TO_FLOAT,
        other_numbers: &[],
    }),
    KnownOperator::new("aten::trunc.out", UNARY, portable_in_wheels(V0_2)).kernel(&Kernel {
        source: "portable/cpu/pattern/unary_ufunc_realhbf16.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: SAME_REAL,
        other_numbers: &[],
    }),
    KnownOperator::new("et_copy::_d2h_copy.out", UNARY, portable(V1_4)),
    KnownOperator::new("et_copy::_h2d_copy.out", UNARY, portable(V1_4)),
];
