//! Operators that look at windows of tensors: convolution, pooling, interpolation.

use super::super::KnownOperator;
use super::super::argument::{boolean, booleans, double, doubles, int, ints, output, tensor};
use super::super::kernel::{
    Check,
    Check::{By, Count, If, Is, Like, Mode, OfType, Range, Rank, SameSize, SameType, SizeIs, Sizes, Strays},
    Condition, Family, Kernel, Layouts, Often, Only, OrderCheck,
    Orders::{Contiguous, Either, Same},
    OtherNumbers, Size,
};
use super::super::releases::{
    Libraries, portable, portable_in_wheels,
    versions::{V0_1, V0_4, V0_6, V1_0, V1_1, V1_3},
};
use super::super::types::Types;

const UPSAMPLE: &[Check] = &[
    SameType(&["input", "out"]),
    Rank(&["input", "out"], 1 << 4),
    By(Family::Upsample),
    OfType(&["input"], Types::REAL),
];

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new(
        "aten::_adaptive_avg_pool2d.out",
        &[tensor("self"), ints("output_size"), output("out")],
        portable(V1_3),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op__adaptive_avg_pool2d.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            By(Family::AdaptivePool),
            OfType(&["self"], Types::FLOAT.and(Types::LONG)),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::_upsample_bilinear2d_aa.out",
        &[
            tensor("self"),
            ints("output_size"),
            boolean("align_corners"),
            double("scales_h").or_null(),
            double("scales_w").or_null(),
            output("out"),
        ],
        portable(V1_0),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_upsample_bilinear2d_aa.cpp",
        orders: &[],
        checks: &[
            Rank(&["self", "out"], 1 << 4),
            SameType(&["self", "out"]),
            Count("output_size", 2),
            Range("output_size", 1, i64::MAX),
            By(Family::UpsampleAntialias),
            OfType(&["self"], Types::REAL),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::avg_pool2d.out",
        &[
            tensor("self"),
            ints("kernel_size"),
            ints("stride"),
            ints("padding"),
            boolean("ceil_mode"),
            boolean("count_include_pad"),
            int("divisor_override").or_null(),
            output("out"),
        ],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_avg_pool2d.cpp",
        orders: &[OrderCheck::new(Contiguous, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            By(Family::AveragePool),
            OfType(&["self"], Types::FLOAT.and(Types::LONG)),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::convolution.out",
        &[
            tensor("input"),
            tensor("weight"),
            tensor("bias").or_null(),
            ints("stride"),
            ints("padding"),
            ints("dilation"),
            boolean("transposed"),
            ints("output_padding"),
            int("groups"),
            output("out"),
        ],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_convolution.cpp",
        orders: &[OrderCheck::new(Either, &["weight"]).unless("transposed"), OrderCheck::new(Same, &["input", "out"])],
        checks: &[
            SameType(&["input", "weight", "out"]),
            By(Family::Convolution),
            If(Condition::Empty("out"), &[], &[OfType(&["input", "bias"], Types::REAL)]),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::convolution_backward.out",
        &[
            tensor("grad_output"),
            tensor("input"),
            tensor("weight"),
            ints("bias_sizes").or_null(),
            ints("stride"),
            ints("padding"),
            ints("dilation"),
            boolean("transposed"),
            ints("output_padding"),
            int("groups"),
            booleans("output_mask"),
            output("out0"),
            output("out1"),
            output("out2"),
        ],
        portable(V0_4),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_convolution_backward.cpp",
        orders: &[OrderCheck::new(Either, &["grad_output", "input", "weight"])],
        checks: &[
            Is("transposed", false),
            Rank(&["weight"], 1 << 4),
            SameType(&["grad_output", "input", "weight"]),
            If(Condition::Mask("output_mask", 0), &[SameType(&["out0", "input"])], &[]),
            If(Condition::Mask("output_mask", 1), &[SameType(&["out1", "input"])], &[]),
            If(Condition::Mask("output_mask", 2), &[SameType(&["out2", "input"])], &[]),
            By(Family::ConvolutionBackward),
            OfType(&["input"], Types::FLOAT),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always)],
    }),
    KnownOperator::new(
        "aten::grid_sampler_2d.out",
        &[
            tensor("input"),
            tensor("grid"),
            int("interpolation_mode"),
            int("padding_mode"),
            boolean("align_corners"),
            output("out"),
        ],
        Libraries { portable: V1_1, optimized: V1_3, wheel: V1_1, ..Libraries::NONE },
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_grid_sampler_2d.cpp",
        orders: &[OrderCheck::new(Contiguous, &["input"])],
        checks: &[
            Rank(&["input", "grid"], 1 << 4),
            SizeIs("grid", 3, 2),
            SameSize("input", 0, "grid", 0),
            SameType(&["input", "grid", "out"]),
            Sizes("out", &[Size::Of("input", 0), Size::Of("input", 1), Size::Of("grid", 1), Size::Of("grid", 2)]),
            Mode("interpolation_mode", 3),
            Mode("padding_mode", 3),
            OfType(&["input"], Types::REAL),
        ],
        other_numbers: &[],
    })
    .portable(&Kernel {
        source: "portable/cpu/op_grid_sampler_2d.cpp",
        orders: &[OrderCheck::new(Contiguous, &["input"])],
        checks: &[
            Rank(&["input", "grid"], 1 << 4),
            SizeIs("grid", 3, 2),
            SameSize("input", 0, "grid", 0),
            SameType(&["input", "grid", "out"]),
            Sizes("out", &[Size::Of("input", 0), Size::Of("input", 1), Size::Of("grid", 1), Size::Of("grid", 2)]),
            Mode("interpolation_mode", 3),
            Mode("padding_mode", 3),
            OfType(&["input"], Types::REAL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::max_pool2d_with_indices.out",
        &[
            tensor("self"),
            ints("kernel_size"),
            ints("stride"),
            ints("padding"),
            ints("dilation"),
            boolean("ceil_mode"),
            output("out"),
            output("indices"),
        ],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_max_pool2d_with_indices.cpp",
        orders: &[OrderCheck::new(Either, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            OfType(&["indices"], Types::LONG),
            By(Family::MaxPool("self", &["out", "indices"])),
            OfType(&["self"], Types::REAL),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always)],
    }),
    KnownOperator::new(
        "aten::max_pool2d_with_indices_backward.grad_input",
        &[
            tensor("grad_output"),
            tensor("self"),
            ints("kernel_size"),
            ints("stride"),
            ints("padding"),
            ints("dilation"),
            boolean("ceil_mode"),
            tensor("indices"),
            output("grad_input"),
        ],
        portable(V0_6),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_max_pool2d_with_indices_backward.cpp",
        orders: &[OrderCheck::new(Either, &["grad_output", "self"])],
        checks: &[
            SameType(&["grad_output", "self", "grad_input"]),
            OfType(&["indices"], Types::LONG),
            By(Family::MaxPool("self", &[])),
            Strays(&[By(Family::PooledIndices)]),
            Like("self", &["grad_input"]),
            OfType(&["self"], Types::FLOAT),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new(
        "aten::upsample_bilinear2d.vec_out",
        &[
            tensor("input"),
            ints("output_size").or_null(),
            boolean("align_corners"),
            doubles("scale_factors").or_null(),
            output("out"),
        ],
        portable(V0_6),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_upsample_bilinear2d.cpp",
        orders: &[OrderCheck::new(Same, &["input", "out"])],
        checks: UPSAMPLE,
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::upsample_nearest2d.vec_out",
        &[tensor("input"), ints("output_size").or_null(), doubles("scale_factors").or_null(), output("out")],
        portable(V0_6),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_upsample_nearest2d.cpp",
        orders: &[OrderCheck::new(Same, &["input", "out"])],
        checks: UPSAMPLE,
        other_numbers: &[],
    }),
];
