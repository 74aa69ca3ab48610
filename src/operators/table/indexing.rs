//! Operators that read or write parts of a tensor.

use super::super::KnownOperator;
use super::super::argument::{
    boolean, in_place, int, ints, number, optional_tensors, output, outputs, over_first, tensor,
};
use super::super::kernel::{
    Check::{
        By, Dies, Dim, Dims, FirstOfType, If, Is, Like, MoreRank, NumberFits, OfType, Range, Rank, SameType, Strays,
        StrictDim,
    },
    Condition, Family, Kernel, Layouts, Often, Only, OrderCheck,
    Orders::{Contiguous, Same},
    OtherNumbers,
};
use super::super::releases::{
    Libraries, portable, portable_in_wheels,
    versions::{V0_1, V0_2, V0_4, V0_6, V0_7, V1_5},
};
use super::super::types::Types;
use crate::schema::ScalarType;

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new(
        "aten::as_strided_copy.out",
        &[tensor("self"), ints("size"), ints("stride"), int("storage_offset").or_null(), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_as_strided_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            Range("stride", 0, i64::MAX),
            Range("storage_offset", 0, i64::MAX),
            By(Family::AsStrided),
            If(Condition::Empty("self"), &[], &[OfType(&["self"], Types::ALL)]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::diagonal_copy.out",
        &[tensor("self"), int("offset"), int("dim1"), int("dim2"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_diagonal_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            Rank(&["self"], 0x1fffc),
            Dim("dim1", "self"),
            Dim("dim2", "self"),
            By(Family::Diagonal),
            OfType(&["self"], Types::ALL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::embedding.out",
        &[
            tensor("weight"),
            tensor("indices"),
            int("padding_idx"),
            boolean("scale_grad_by_freq"),
            boolean("sparse"),
            output("out"),
        ],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_embedding.cpp",
        orders: &[OrderCheck::new(Same, &["weight", "indices", "out"])],
        checks: &[
            Rank(&["weight"], 1 << 2),
            MoreRank("indices", "out", 1),
            SameType(&["weight", "out"]),
            By(Family::Embedding),
            Dies(&[OfType(&["indices"], Types::INDEX)]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new("aten::flip.out", &[tensor("self"), ints("dims"), output("out")], portable_in_wheels(V0_2))
        .kernel(&Kernel {
            source: "portable/cpu/op_flip.cpp",
            orders: &[OrderCheck::new(Same, &["self", "out"])],
            checks: &[
                Like("self", &["out"]),
                SameType(&["self", "out"]),
                Dims("dims", "self"),
                OfType(&["self"], Types::REAL_OR_BOOL),
            ],
            other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Dim)],
        }),
    KnownOperator::new(
        "aten::gather.out",
        &[tensor("self"), int("dim"), tensor("index"), boolean("sparse_grad"), output("out")],
        portable(V0_4),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_gather.cpp",
        orders: &[],
        checks: &[
            SameType(&["self", "out"]),
            Dim("dim", "self"),
            OfType(&["index"], Types::LONG),
            By(Family::Gather),
            Like("index", &["out"]),
            OfType(&["self"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::index.Tensor_out",
        &[tensor("self"), optional_tensors("indices"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_index.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            OfType(&["indices"], Types::INDEX.and(Types::of(&[ScalarType::BYTE, ScalarType::BOOL]))),
            By(Family::Index),
            If(
                Condition::OneIndex("indices"),
                &[],
                &[If(Condition::Empty("out"), &[], &[OfType(&["self"], Types::REAL_OR_BOOL)])],
            ),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::index_put.out",
        &[tensor("self"), optional_tensors("indices"), tensor("values"), boolean("accumulate"), over_first("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_index_put.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            SameType(&["self", "values", "out"]),
            OfType(&["indices"], Types::INDEX.and(Types::of(&[ScalarType::BYTE, ScalarType::BOOL]))),
            By(Family::IndexPut),
            Like("self", &["out"]),
            If(Condition::Empty("self"), &[], &[OfType(&["self"], Types::REAL_OR_BOOL)]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::index_put_",
        &[in_place("self"), optional_tensors("indices"), tensor("values"), boolean("accumulate")],
        portable(V0_7),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_index_put.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "values"])],
        checks: &[
            SameType(&["self", "values"]),
            Is("accumulate", false),
            OfType(&["indices"], Types::INDEX),
            By(Family::IndexPutInPlace),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::index_select.out",
        &[tensor("self"), int("dim"), tensor("index"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_index_select.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            Dim("dim", "self"),
            By(Family::DimNotEmpty("dim", "self")),
            SameType(&["self", "out"]),
            OfType(&["index"], Types::INDEX),
            Rank(&["index"], 0b11),
            By(Family::IndexSelect),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::narrow_copy.out",
        &[tensor("self"), int("dim"), int("start"), int("length"), output("out")],
        portable(V0_4),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_narrow_copy.cpp",
        orders: &[],
        checks: &[
            Rank(&["self"], 0x1fffe),
            SameType(&["self", "out"]),
            Dim("dim", "self"),
            Range("length", 0, i64::MAX),
            // The kernel reads the size of this dimension before it counts a negative one from the end.
            Dies(&[Range("dim", 0, i64::MAX)]),
            By(Family::Narrow),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Inner),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::roll.out",
        &[tensor("self"), ints("shifts"), ints("dims"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_roll.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Like("self", &["out"]),
            Rank(&["self"], 0x1fffe),
            By(Family::Roll),
            SameType(&["self", "out"]),
            If(Condition::Empty("self"), &[], &[OfType(&["self"], Types::REAL_OR_BOOL)]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Dim)],
    }),
    KnownOperator::new(
        "aten::scatter.src_out",
        &[tensor("self"), int("dim"), tensor("index"), tensor("src"), over_first("out")],
        portable(V0_4),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_scatter.cpp",
        orders: &[],
        checks: &[
            SameType(&["self", "src", "out"]),
            OfType(&["index"], Types::LONG),
            Dim("dim", "self"),
            By(Family::Scatter(Some("src"))),
            Like("self", &["out"]),
            OfType(&["self"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::scatter.value_out",
        &[tensor("self"), int("dim"), tensor("index"), number("value"), over_first("out")],
        portable(V0_4),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_scatter.cpp",
        orders: &[],
        checks: &[
            SameType(&["self", "out"]),
            Dim("dim", "self"),
            OfType(&["index"], Types::LONG),
            By(Family::Gather),
            Like("self", &["out"]),
            OfType(&["self"], Types::REAL_OR_BOOL),
            NumberFits("value", "self"),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::scatter_add.out",
        &[tensor("self"), int("dim"), tensor("index"), tensor("src"), over_first("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_scatter_add.cpp",
        orders: &[OrderCheck::new(Contiguous, &["index"]), OrderCheck::new(Same, &["self", "src", "out"])],
        checks: &[
            SameType(&["self", "src", "out"]),
            OfType(&["index"], Types::LONG),
            Dim("dim", "self"),
            By(Family::Scatter(Some("src"))),
            Like("self", &["out"]),
            OfType(&["self"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "aten::select_copy.int_out",
        &[tensor("self"), int("dim"), int("index"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/util/select_copy_util.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Rank(&["self"], 0x1fffe), Dim("dim", "self"), By(Family::Select), SameType(&["self", "out"])],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "aten::select_scatter.out",
        &[tensor("self"), tensor("src"), int("dim"), int("index"), over_first("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_select_scatter.cpp",
        orders: &[OrderCheck::new(Same, &["self", "src", "out"])],
        checks: &[
            Like("self", &["out"]),
            StrictDim("dim", "self"),
            SameType(&["self", "out"]),
            By(Family::SelectScatter),
            If(Condition::Empty("self"), &[], &[OfType(&["self", "src"], Types::REAL_OR_BOOL)]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::slice_copy.Tensor_out",
        &[tensor("self"), int("dim"), int("start").or_null(), int("end").or_null(), int("step"), output("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_slice_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Rank(&["self"], 0x1fffe),
            SameType(&["self", "out"]),
            Dim("dim", "self"),
            Range("step", 1, i64::MAX),
            By(Family::Slice),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Inner)],
    }),
    KnownOperator::new(
        "aten::slice_scatter.out",
        &[
            tensor("self"),
            tensor("src"),
            int("dim"),
            int("start").or_null(),
            int("end").or_null(),
            int("step"),
            over_first("out"),
        ],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_slice_scatter.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Like("self", &["out"]),
            If(
                Condition::Empty("self"),
                &[],
                &[
                    StrictDim("dim", "self"),
                    Range("step", 1, i64::MAX),
                    SameType(&["self", "out"]),
                    By(Family::SliceScatter),
                    OfType(&["self", "src"], Types::REAL_OR_BOOL),
                ],
            ),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Inner),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::split_copy.Tensor_out",
        &[tensor("self"), int("split_size"), int("dim"), outputs("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_split_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Rank(&["self"], 0x1fffe),
            StrictDim("dim", "self"),
            Range("split_size", 0, i64::MAX),
            By(Family::Split),
            SameType(&["out"]),
            OfType(&["self", "out"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Inner)],
    }),
    KnownOperator::new(
        "aten::split_with_sizes_copy.out",
        &[tensor("self"), ints("split_sizes"), int("dim"), outputs("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_split_with_sizes_copy.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            Rank(&["self"], 0x1fffe),
            StrictDim("dim", "self"),
            Range("split_sizes", 0, i64::MAX),
            By(Family::SplitSizes),
            OfType(&["self"], Types::REAL_OR_BOOL),
            FirstOfType("out", Types::REAL_OR_BOOL),
            Strays(&[SameType(&["out"])]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Inner)],
    }),
    KnownOperator::new("aten::tril.out", &[tensor("self"), int("diagonal"), output("out")], portable_in_wheels(V0_1))
        .kernel(&Kernel {
            source: "portable/cpu/op_tril.cpp",
            orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
            checks: &[
                SameType(&["self", "out"]),
                Rank(&["self"], 0x1fffc),
                Like("self", &["out"]),
                If(Condition::Empty("self"), &[], &[OfType(&["self"], Types::REAL_OR_BOOL)]),
            ],
            other_numbers: &[],
        }),
    KnownOperator::new(
        "aten::unbind_copy.int_out",
        &[tensor("self"), int("dim"), outputs("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_unbind_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            Rank(&["self"], 0x1fffe),
            StrictDim("dim", "self"),
            By(Family::Unbind),
            SameType(&["out"]),
            If(Condition::Empty("self"), &[], &[OfType(&["self", "out"], Types::REAL_OR_BOOL)]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::unfold_copy.out",
        &[tensor("self"), int("dimension"), int("size"), int("step"), output("out")],
        portable(V0_6),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_unfold_copy.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"]).since(V1_5)],
        checks: &[
            Dies(&[Rank(&["self"], 0x1fffe)]),
            Dim("dimension", "self"),
            Range("size", 0, i64::MAX),
            Range("step", 1, i64::MAX),
            By(Family::Unfold),
            OfType(&["self", "out"], Types::REAL_OR_BOOL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::unsafe_split.Tensor_out",
        &[tensor("self"), int("split_size"), int("dim"), outputs("out")],
        Libraries::NONE,
    ),
];
