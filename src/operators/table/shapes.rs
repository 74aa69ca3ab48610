//! Operators that change the shape of a tensor, or join several.

use super::super::KnownOperator;
use super::super::argument::{Argument, boolean, elementwise, int, ints, number, output, tensor, tensors};
use super::super::kernel::{
    Check::{
        self, By, Dim, Dims, If, Is, Like, MemoryFormat, MoreRank, NumberFits, OfType, Rank, SameType, Since, Sizes,
    },
    Condition, Family, Kernel, Layouts, Often, Only, OrderCheck,
    Orders::{Contiguous, Same},
    OtherNumbers, Size,
};
use super::super::releases::{
    Libraries, portable, portable_in_wheels,
    versions::{V0_1, V0_2, V0_3, V0_4, V0_5, V0_7, V1_0, V1_1, V1_2},
};
use super::super::types::Types;
use crate::schema::ScalarType;

const UNARY: &[Argument] = &[tensor("self"), elementwise("out")];

/// Casts to and from complex numbers.
const CASTS_COMPLEX: &[Check] = &[If(
    Condition::Type("self", Types::COMPLEX),
    &[],
    &[If(
        Condition::Type("out", Types::COMPLEX),
        &[OfType(&["self"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE]))],
        &[OfType(&["self", "out"], Types::REAL_OR_BOOL)],
    )],
)];

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new(
        "aten::_reshape_alias_copy.out",
        &[tensor("self"), ints("size"), ints("stride"), elementwise("out")],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::_to_copy.out",
        &[tensor("self"), boolean("non_blocking"), int("memory_format").or_null(), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_to_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            Is("non_blocking", false),
            MemoryFormat(1),
            Like("self", &["out"]),
            OfType(&["self", "out"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::cat.out", &[tensors("tensors"), int("dim"), output("out")], portable_in_wheels(V0_1))
        .kernel(&Kernel {
            source: "portable/cpu/op_cat.cpp",
            orders: &[OrderCheck::new(Same, &["tensors", "out"])],
            checks: &[By(Family::Cat)],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Inner)],
        }),
    KnownOperator::new(
        "aten::constant_pad_nd.out",
        &[tensor("self"), ints("pad"), number("value"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_constant_pad_nd.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            MoreRank("self", "out", 0),
            By(Family::ConstantPad),
            OfType(&["self"], Types::REAL_OR_BOOL),
            NumberFits("value", "self"),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Inner)],
    }),
    KnownOperator::new("aten::dequantize.self_out", &[tensor("self"), output("out")], Libraries::NONE),
    KnownOperator::new(
        "aten::expand_copy.out",
        &[tensor("self"), ints("size"), boolean("implicit"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_expand_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[Is("implicit", false), SameType(&["self", "out"]), By(Family::Expand)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::permute_copy.out",
        &[tensor("self"), ints("dims"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_permute_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[SameType(&["self", "out"]), By(Family::Permute), OfType(&["out"], Types::ALL)],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Always)],
    }),
    KnownOperator::new(
        "aten::pixel_shuffle.out",
        &[tensor("self"), int("upscale_factor"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_pixel_shuffle.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[SameType(&["self", "out"]), Rank(&["self", "out"], 0x1fff8), By(Family::PixelShuffle)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::pixel_unshuffle.out",
        &[tensor("self"), int("downscale_factor"), output("out")],
        portable(V0_4),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_pixel_unshuffle.cpp",
        orders: &[],
        checks: &[SameType(&["self", "out"]), Rank(&["self", "out"], 0x1fff8), By(Family::PixelUnshuffle)],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::reflection_pad1d.out",
        &[tensor("self"), ints("padding"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_reflection_pad1d.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[By(Family::Pad(1, true)), SameType(&["self", "out"]), OfType(&["self"], Types::ALL)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::reflection_pad2d.out",
        &[tensor("self"), ints("padding"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_reflection_pad2d.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[By(Family::Pad(2, true)), SameType(&["self", "out"]), OfType(&["self"], Types::ALL)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::reflection_pad3d.out",
        &[tensor("self"), ints("padding"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_reflection_pad3d.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[By(Family::Pad(3, true)), SameType(&["self", "out"]), OfType(&["self"], Types::ALL)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::repeat.out", &[tensor("self"), ints("repeats"), output("out")], portable_in_wheels(V0_1))
        .kernel(&Kernel {
            source: "portable/cpu/op_repeat.cpp",
            orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
            checks: &[By(Family::Repeat), SameType(&["self", "out"])],
            other_numbers: &[],
        }),
    KnownOperator::new(
        "aten::repeat_interleave.Tensor_out",
        &[tensor("repeats"), int("output_size").or_null(), output("out")],
        portable(V0_5),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_repeat_interleave.cpp",
        orders: &[],
        checks: &[
            OfType(&["repeats"], Types::INDEX),
            Rank(&["repeats"], 1 << 1),
            SameType(&["repeats", "out"]),
            If(
                Condition::Null("output_size"),
                &[Rank(&["out"], 1 << 1)],
                &[Sizes("out", &[Size::Setting("output_size")])],
            ),
            By(Family::RepeatInterleave),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::replication_pad1d.out",
        &[tensor("self"), ints("padding"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_replication_pad1d.cpp",
        orders: &[],
        checks: &[By(Family::Pad(1, false)), SameType(&["self", "out"]), OfType(&["self"], Types::ALL)],
        other_numbers: &[
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::replication_pad2d.out",
        &[tensor("self"), ints("padding"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_replication_pad2d.cpp",
        orders: &[],
        checks: &[By(Family::Pad(2, false)), SameType(&["self", "out"]), OfType(&["self"], Types::ALL)],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::replication_pad3d.out",
        &[tensor("self"), ints("padding"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_replication_pad3d.cpp",
        orders: &[],
        checks: &[By(Family::Pad(3, false)), SameType(&["self", "out"]), OfType(&["self"], Types::ALL)],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::squeeze_copy.dim_out",
        &[tensor("self"), int("dim"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_squeeze_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[SameType(&["self", "out"]), Dim("dim", "self"), By(Family::Squeeze)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::squeeze_copy.dims_out",
        &[tensor("self"), ints("dim"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_squeeze_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[SameType(&["self", "out"]), Dims("dim", "self"), By(Family::Squeeze)],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::squeeze_copy.out", UNARY, Libraries::NONE),
    KnownOperator::new("aten::stack.out", &[tensors("tensors"), int("dim"), output("out")], portable_in_wheels(V0_1))
        .kernel(&Kernel {
            source: "portable/cpu/op_stack.cpp",
            orders: &[OrderCheck::new(Contiguous, &["tensors", "out"])],
            checks: &[By(Family::Stack), OfType(&["tensors", "out"], Types::REAL_OR_BOOL)],
            other_numbers: &[],
        }),
    KnownOperator::new("aten::t_copy.out", &[tensor("self"), output("out")], portable_in_wheels(V0_1)).kernel(
        &Kernel {
            source: "portable/cpu/op_t_copy.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                SameType(&["self", "out"]),
                Rank(&["self"], 0b111),
                By(Family::TransposeMatrix),
                If(Condition::Empty("self"), &[], &[OfType(&["self"], Types::ALL)]),
            ],
            other_numbers: &[],
        },
    ),
    KnownOperator::new(
        "aten::transpose_copy.int_out",
        &[tensor("self"), int("dim0"), int("dim1"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_transpose_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            Dim("dim0", "self"),
            Dim("dim1", "self"),
            By(Family::Transpose("dim0", "dim1")),
            OfType(&["self"], Types::ALL),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Sometimes, Only::Always)],
    }),
    KnownOperator::new(
        "aten::unsqueeze_copy.out",
        &[tensor("self"), int("dim"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_unsqueeze_copy.cpp",
        orders: &[],
        checks: &[MoreRank("self", "out", 1), By(Family::Unsqueeze), SameType(&["self", "out"])],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new("aten::view_as_real_copy.out", &[tensor("self"), output("out")], portable(V0_7)).kernel(
        &Kernel {
            source: "portable/cpu/op_view_as_real_copy.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                By(Family::ViewAsReal),
                OfType(&["self"], Types::COMPLEX),
                OfType(&["out"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always)],
        },
    ),
    KnownOperator::new(
        "aten::view_copy.out",
        &[tensor("self"), ints("size"), elementwise("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_view_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[By(Family::View), SameType(&["self", "out"])],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "dim_order_ops::_clone_dim_order.out",
        &[tensor("self"), boolean("non_blocking"), ints("dim_order").or_null(), elementwise("out")],
        portable(V1_0),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op__clone_dim_order.cpp",
        orders: &[],
        checks: &[
            SameType(&["self", "out"]),
            Is("non_blocking", false),
            By(Family::DimOrder),
            Like("self", &["out"]),
            Since(
                V1_1,
                &[If(
                    Condition::Empty("self"),
                    &[],
                    &[If(Condition::KeepsOrder, &[], &[OfType(&["self"], Types::REAL_OR_BOOL)])],
                )],
                &[OfType(&["self"], Types::REAL_OR_BOOL)],
            ),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "dim_order_ops::_to_dim_order_copy.out",
        &[tensor("self"), boolean("non_blocking"), ints("dim_order").or_null(), elementwise("out")],
        Libraries { portable: V0_3, wheel: V0_4, ..Libraries::NONE },
    )
    .kernel(&Kernel {
        source: "portable/cpu/op__to_dim_order_copy.cpp",
        orders: &[],
        checks: &[
            Is("non_blocking", false),
            By(Family::DimOrder),
            Like("self", &["out"]),
            If(
                Condition::Empty("self"),
                &[],
                &[Since(V1_2, CASTS_COMPLEX, &[OfType(&["self", "out"], Types::REAL_OR_BOOL)])],
            ),
        ],
        other_numbers: &[],
    }),
];
