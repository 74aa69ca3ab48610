//! Operators along dimensions: reductions, sums, orders, softmax.

use super::super::KnownOperator;
use super::super::argument::{boolean, int, ints, number, output, over_first, tensor};
use super::super::kernel::{
    Alpha, Cast,
    Check::{
        self, By, Dies, Dim, Dims, If, Is, Like, NotEmpty, OfType, Promotes, Rank, SameShape, SameType, Since, Sizes,
        StrictDim, TypeSetting,
    },
    Common, Complex, Condition, Family, Kernel, Layouts, Often, Only, OrderCheck,
    Orders::{Contiguous, Either, Same},
    OtherNumbers, Promotion,
};
use super::super::releases::{
    Libraries, optimized, portable, portable_in_wheels,
    versions::{V0_1, V0_2, V0_4, V0_5, V0_6, V1_1, V1_3, V1_4},
};
use super::super::types::Types;
use crate::schema::ScalarType;

/// A type that is cast.
const CAST: Promotion = Promotion {
    tensors: &["self"],
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

/// The division of work by the size of the reduced dimension.
const DIVIDES_BY_DIM: Check = Since(V1_1, &[], &[Dies(&[By(Family::DimNotEmpty("dim", "self"))])]);

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new(
        "aten::_log_softmax.out",
        &[tensor("self"), int("dim"), boolean("half_to_float"), over_first("out")],
        optimized(V0_1, V0_1),
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_log_softmax.cpp",
        orders: &[OrderCheck::new(Either, &["self", "out"])],
        checks: &[
            Is("half_to_float", false),
            SameType(&["self", "out"]),
            Dim("dim", "self"),
            Like("self", &["out"]),
            Since(
                V1_4,
                &[OfType(&["self"], Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT]))],
                &[OfType(&["self"], Types::FLOAT32)],
            ),
            Dies(&[By(Family::EndNotEmpty("dim", "self"))]),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Dim),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    })
    .portable(&Kernel {
        source: "portable/cpu/op_log_softmax.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Is("half_to_float", false),
            SameType(&["self", "out"]),
            Dim("dim", "self"),
            Like("self", &["out"]),
            OfType(&["self"], Types::FLOAT),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Crash, Only::Dim)],
    }),
    KnownOperator::new(
        "aten::_softmax.out",
        &[tensor("self"), int("dim"), boolean("half_to_float"), over_first("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_softmax.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Is("half_to_float", false),
            SameType(&["self", "out"]),
            Dim("dim", "self"),
            Like("self", &["out"]),
            OfType(&["self"], Types::FLOAT),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Crash, Only::Dim)],
    }),
    KnownOperator::new(
        "aten::_unique2.out",
        &[
            tensor("self"),
            boolean("sorted"),
            boolean("return_inverse"),
            boolean("return_counts"),
            output("out0"),
            output("out1"),
            output("out2"),
        ],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::amax.out",
        &[tensor("self"), ints("dim"), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_amax.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Dims("dim", "self"),
            SameType(&["self", "out"]),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            OfType(&["self"], Types::REAL_OR_BOOL),
            Dies(&[NotEmpty("self")]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result)],
    }),
    KnownOperator::new(
        "aten::amin.out",
        &[tensor("self"), ints("dim"), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_amin.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Dims("dim", "self"),
            SameType(&["self", "out"]),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            OfType(&["self"], Types::REAL_OR_BOOL),
            Dies(&[NotEmpty("self")]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result)],
    }),
    KnownOperator::new("aten::any.all_out", &[tensor("self"), output("out")], portable_in_wheels(V0_1)).kernel(
        &Kernel {
            source: "portable/cpu/op_any.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Sizes("out", &[]),
                OfType(&["self"], Types::REAL_OR_BOOL),
                OfType(&["out"], Types::of(&[ScalarType::BYTE, ScalarType::BOOL])),
            ],
            other_numbers: &[],
        },
    ),
    KnownOperator::new(
        "aten::any.dims_out",
        &[tensor("self"), ints("dim").or_null(), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_any.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Dims("dim", "self"),
            If(
                Condition::EmptyList("dim"),
                &[Like("self", &["out"])],
                &[By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"]))],
            ),
            OfType(&["self"], Types::REAL_OR_BOOL),
            OfType(&["out"], Types::of(&[ScalarType::BYTE, ScalarType::BOOL])),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result)],
    }),
    KnownOperator::new(
        "aten::any.out",
        &[tensor("self"), int("dim"), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_any.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Dim("dim", "self"),
            DIVIDES_BY_DIM,
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            OfType(&["self"], Types::REAL_OR_BOOL),
            OfType(&["out"], Types::of(&[ScalarType::BYTE, ScalarType::BOOL])),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result)],
    }),
    KnownOperator::new(
        "aten::argmax.out",
        &[tensor("self"), int("dim").or_null(), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_argmax.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Dim("dim", "self"),
            By(Family::DimNotEmpty("dim", "self")),
            OfType(&["out"], Types::LONG),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            OfType(&["self"], Types::REAL),
            If(Condition::Null("dim"), &[Dies(&[NotEmpty("self")])], &[]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result)],
    }),
    KnownOperator::new(
        "aten::argmin.out",
        &[tensor("self"), int("dim").or_null(), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_argmin.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Dim("dim", "self"),
            By(Family::DimNotEmpty("dim", "self")),
            OfType(&["out"], Types::LONG),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            OfType(&["self"], Types::REAL),
            If(Condition::Null("dim"), &[Dies(&[NotEmpty("self")])], &[]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result)],
    }),
    KnownOperator::new(
        "aten::cumsum.out",
        &[tensor("self"), int("dim"), int("dtype").or_null(), over_first("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_cumsum.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            StrictDim("dim", "self"),
            TypeSetting("dtype", "out"),
            Like("self", &["out"]),
            OfType(&["self", "out"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Dim)],
    }),
    KnownOperator::new("aten::glu.out", &[tensor("self"), int("dim"), output("out")], portable_in_wheels(V0_1)).kernel(
        &Kernel {
            source: "portable/cpu/op_glu.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[By(Family::Glu), OfType(&["self", "out"], Types::FLOAT)],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Always)],
        },
    ),
    KnownOperator::new(
        "aten::linalg_vector_norm.out",
        &[
            tensor("self"),
            number("ord"),
            ints("dim").or_null(),
            boolean("keepdim"),
            int("dtype").or_null(),
            output("out"),
        ],
        Libraries::NONE,
    ),
    KnownOperator::new("aten::masked_select.out", &[tensor("self"), tensor("mask"), output("out")], portable(V0_5))
        .kernel(&Kernel {
            source: "portable/cpu/op_masked_select.cpp",
            orders: &[OrderCheck::new(Same, &["self", "mask", "out"])],
            checks: &[
                OfType(&["self"], Types::REAL_OR_BOOL),
                OfType(&["mask"], Types::BOOL),
                SameType(&["self", "out"]),
                Rank(&["out"], 1 << 1),
                By(Family::MaskedSelect),
            ],
            other_numbers: &[],
        }),
    KnownOperator::new(
        "aten::max.dim_max",
        &[tensor("self"), int("dim"), boolean("keepdim"), output("max"), output("max_values")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_max.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "max", "max_values"])],
        checks: &[
            Dim("dim", "self"),
            By(Family::DimNotEmpty("dim", "self")),
            SameType(&["self", "max"]),
            SameShape("max_values", "max"),
            OfType(&["max_values"], Types::LONG),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["max", "max_values"])),
            OfType(&["self"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::max.unary_out", &[tensor("self"), output("out")], portable(V0_5)).kernel(&Kernel {
        source: "portable/cpu/op_max.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Sizes("out", &[]), Promotes(&Promotion { tensors: &["self"], ..CAST })],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::mean.dtype_out",
        &[tensor("self"), int("dtype").or_null(), output("out")],
        portable(V0_6),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_mean.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            If(
                Condition::Null("dtype"),
                &[OfType(&["self", "out"], Types::FLOAT)],
                &[TypeSetting("dtype", "out"), OfType(&["out"], Types::FLOAT), OfType(&["self"], Types::REAL_OR_BOOL)],
            ),
            Sizes("out", &[]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::mean.out",
        &[tensor("self"), ints("dim").or_null(), boolean("keepdim"), int("dtype").or_null(), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_mean.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            Dims("dim", "self"),
            If(
                Condition::Null("dtype"),
                &[OfType(&["self", "out"], Types::FLOAT)],
                &[TypeSetting("dtype", "out"), OfType(&["out"], Types::FLOAT), OfType(&["self"], Types::REAL_OR_BOOL)],
            ),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::min.dim_min",
        &[tensor("self"), int("dim"), boolean("keepdim"), output("min"), output("min_indices")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_min.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "min", "min_indices"])],
        checks: &[
            Dim("dim", "self"),
            By(Family::DimNotEmpty("dim", "self")),
            SameType(&["self", "min"]),
            SameShape("min_indices", "min"),
            OfType(&["min_indices"], Types::LONG),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["min", "min_indices"])),
            OfType(&["self"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::min.unary_out", &[tensor("self"), output("out")], portable(V0_5)).kernel(&Kernel {
        source: "portable/cpu/op_min.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Sizes("out", &[]), Promotes(&Promotion { tensors: &["self"], ..CAST })],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::nonzero.out", &[tensor("self"), output("out")], portable_in_wheels(V0_1)).kernel(
        &Kernel {
            source: "portable/cpu/op_nonzero.cpp",
            orders: &[],
            checks: &[
                OfType(&["out"], Types::LONG),
                Rank(&["out"], 1 << 2),
                By(Family::Nonzero),
                OfType(&["self"], Types::REAL_OR_BOOL),
            ],
            other_numbers: &[
                OtherNumbers::new(Layouts::Other, Often::Always, Only::Result),
                OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Result),
            ],
        },
    ),
    KnownOperator::new(
        "aten::prod.int_out",
        &[tensor("self"), int("dim"), boolean("keepdim"), int("dtype").or_null(), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_prod.cpp",
        orders: &[OrderCheck::new(Either, &["self", "out"])],
        checks: &[
            TypeSetting("dtype", "out"),
            Dim("dim", "self"),
            DIVIDES_BY_DIM,
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            OfType(&["self", "out"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result)],
    }),
    KnownOperator::new(
        "aten::prod.out",
        &[tensor("self"), int("dtype").or_null(), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_prod.cpp",
        orders: &[],
        checks: &[
            If(
                Condition::Null("dtype"),
                &[If(
                    Condition::Type("self", Types::INT.and(Types::BOOL)),
                    &[OfType(&["out"], Types::LONG)],
                    &[SameType(&["self", "out"])],
                )],
                &[TypeSetting("dtype", "out")],
            ),
            Sizes("out", &[]),
            OfType(&["self", "out"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::sort.values",
        &[tensor("self"), int("dim"), boolean("descending"), output("values"), output("indices")],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::sum.IntList_out",
        &[tensor("self"), ints("dim").or_null(), boolean("keepdim"), int("dtype").or_null(), output("out")],
        optimized(V0_1, V1_3),
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_sum.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            TypeSetting("dtype", "out"),
            Dims("dim", "self"),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            If(
                Condition::Empty("self"),
                &[],
                &[If(
                    Condition::Type("self", Types::COMPLEX),
                    &[SameType(&["self", "out"])],
                    &[OfType(&["self", "out"], Types::REAL_OR_BOOL)],
                )],
            ),
            // The size of dimension 0 or -1 is read, also of a scalar.
            If(Condition::SumsOneDimension, &[Dies(&[Rank(&["self"], 0x1fffe)])], &[]),
        ],
        other_numbers: &[],
    })
    .portable(&Kernel {
        source: "portable/cpu/op_sum.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            TypeSetting("dtype", "out"),
            Dims("dim", "self"),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            If(
                Condition::Type("self", Types::COMPLEX),
                &[SameType(&["self", "out"])],
                &[OfType(&["self", "out"], Types::REAL_OR_BOOL)],
            ),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::topk.values",
        &[
            tensor("self"),
            int("k"),
            int("dim"),
            boolean("largest"),
            boolean("sorted"),
            output("values"),
            output("indices"),
        ],
        portable(V0_4),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_topk.cpp",
        orders: &[],
        checks: &[
            SameType(&["self", "values"]),
            OfType(&["indices"], Types::LONG),
            Dim("dim", "self"),
            By(Family::TopK),
            If(Condition::Empty("self"), &[], &[OfType(&["self"], Types::REAL)]),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Crash, Only::Dim),
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::var.correction_out",
        &[tensor("self"), ints("dim").or_null(), number("correction").or_null(), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_var.cpp",
        orders: &[OrderCheck::new(Either, &["self", "out"])],
        checks: &[
            Dims("dim", "self"),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
            OfType(&["self", "out"], Types::FLOAT),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::var.out",
        &[tensor("self"), ints("dim").or_null(), boolean("unbiased"), boolean("keepdim"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_var.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            Dims("dim", "self"),
            OfType(&["self", "out"], Types::FLOAT),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out"])),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::var_mean.correction_out",
        &[
            tensor("self"),
            ints("dim").or_null(),
            number("correction").or_null(),
            boolean("keepdim"),
            output("out0"),
            output("out1"),
        ],
        portable(V1_3),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_var_mean.cpp",
        orders: &[OrderCheck::new(Either, &["self", "out0", "out1"])],
        checks: &[
            Dims("dim", "self"),
            By(Family::Reduction("self", Some("dim"), Some("keepdim"), &["out0", "out1"])),
            OfType(&["self", "out0"], Types::FLOAT),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Result),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
];
