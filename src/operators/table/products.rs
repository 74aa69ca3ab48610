//! Matrix products, norms, distances, transforms.

use super::super::KnownOperator;
use super::super::argument::{
    Argument, boolean, double, in_place, int, ints, number, output, over_first, string, tensor,
};
use super::super::kernel::{
    Check,
    Check::{
        Between, BroadcastToSizes, By, If, Is, Like, MoreRank, OfType, Range, Rank, SameSize, SameType, Since, Sizes,
        Strays,
    },
    Condition, Family, Kernel, Layouts, Often, Only, OrderCheck,
    Orders::{Contiguous, Same},
    OtherNumbers, Size,
};
use super::super::releases::{
    Libraries, optimized, portable_in_wheels,
    versions::{V0_1, V0_2, V0_4, V0_5, V0_6, V0_7, V1_2},
};
use super::super::types::Types;

const MM: &[Check] = &[
    Rank(&["self", "mat2", "out"], 1 << 2),
    SameType(&["self", "mat2", "out"]),
    SameSize("self", 1, "mat2", 0),
    Sizes("out", &[Size::Of("self", 0), Size::Of("mat2", 1)]),
    OfType(&["self"], Types::REAL),
];

const MATRICES: &[Argument] = &[tensor("self"), tensor("mat2"), output("out")];

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new(
        "aten::_cdist_forward.out",
        &[tensor("x1"), tensor("x2"), double("p"), int("compute_mode").or_null(), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_cdist_forward.cpp",
        orders: &[OrderCheck::new(Contiguous, &["x1", "x2", "out"])],
        checks: &[
            SameType(&["x1", "x2", "out"]),
            Rank(&["x1", "x2"], 0x1fffc),
            SameSize("x1", -1, "x2", -1),
            Between("p", 0.0, f64::INFINITY),
            Range("compute_mode", 0, 2),
            By(Family::Cdist),
            OfType(&["out"], Types::FLOAT),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out",
        &[
            tensor("self"),
            tensor("scale"),
            tensor("zero_point"),
            tensor("fake_quant_enabled"),
            int("quant_min"),
            int("quant_max"),
            output("out0"),
            output("out1"),
        ],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::_fft_c2r.out",
        &[tensor("self"), ints("dim"), int("normalization"), int("last_dim_size"), output("out")],
        Libraries { optimized: V0_7, wheel: V0_7, ..Libraries::NONE },
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_fft_c2r.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Range("last_dim_size", 1, i64::MAX), By(Family::ComplexFft)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::_fft_r2c.out",
        &[tensor("self"), ints("dim"), int("normalization"), boolean("onesided"), output("out")],
        Libraries { optimized: V0_6, wheel: V0_6, ..Libraries::NONE },
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_fft_r2c.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[Is("onesided", true), By(Family::RealFft)],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::_linalg_det.result",
        &[tensor("A"), output("result"), output("LU"), output("pivots")],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::_linalg_svd.U",
        &[
            tensor("A"),
            boolean("full_matrices"),
            boolean("compute_uv"),
            string("driver").or_null(),
            output("U"),
            output("S"),
            output("Vh"),
        ],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::_native_batch_norm_legit.no_stats_out",
        &[
            tensor("input"),
            tensor("weight").or_null(),
            tensor("bias").or_null(),
            boolean("training"),
            double("momentum"),
            double("eps"),
            over_first("out"),
            output("save_mean"),
            output("save_invstd"),
        ],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_native_batch_norm.cpp",
        orders: &[OrderCheck::new(Contiguous, &["input", "out"])],
        checks: &[
            Rank(&["input"], 0x1fffc),
            Like("input", &["out"]),
            Sizes("save_mean", &[Size::Of("input", 1)]),
            Sizes("save_invstd", &[Size::Of("input", 1)]),
            SameType(&["input", "weight", "bias", "out", "save_mean", "save_invstd"]),
            By(Family::BatchNorm("input", false)),
            OfType(&["input"], Types::FLOAT),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::_native_batch_norm_legit.out",
        &[
            tensor("input"),
            tensor("weight").or_null(),
            tensor("bias").or_null(),
            in_place("running_mean"),
            in_place("running_var"),
            boolean("training"),
            double("momentum"),
            double("eps"),
            over_first("out"),
            output("save_mean"),
            output("save_invstd"),
        ],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_native_batch_norm.cpp",
        orders: &[OrderCheck::new(Contiguous, &["input", "out"])],
        checks: &[
            Is("training", false),
            Like("input", &["out"]),
            Sizes("save_mean", &[Size::Is(0)]),
            Sizes("save_invstd", &[Size::Is(0)]),
            SameType(&["input", "weight", "bias", "running_mean", "running_var", "out", "save_mean", "save_invstd"]),
            By(Family::BatchNorm("input", true)),
            OfType(&["input"], Types::FLOAT),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::_native_batch_norm_legit_no_training.out",
        &[
            tensor("input"),
            tensor("weight").or_null(),
            tensor("bias").or_null(),
            tensor("running_mean"),
            tensor("running_var"),
            double("momentum"),
            double("eps"),
            over_first("out0"),
            output("out1"),
            output("out2"),
        ],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_native_batch_norm.cpp",
        orders: &[OrderCheck::new(Contiguous, &["input", "out0"])],
        checks: &[
            Like("input", &["out0"]),
            Sizes("out1", &[Size::Is(0)]),
            Sizes("out2", &[Size::Is(0)]),
            SameType(&["input", "weight", "bias", "running_mean", "running_var", "out0", "out1", "out2"]),
            By(Family::BatchNorm("input", true)),
            OfType(&["input"], Types::FLOAT),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::_pdist_forward.out",
        &[tensor("self"), double("p"), output("out")],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_pdist_forward.cpp",
        orders: &[OrderCheck::new(Same, &["self", "out"])],
        checks: &[
            SameType(&["self", "out"]),
            Rank(&["self"], 1 << 2),
            Between("p", 0.0, f64::INFINITY),
            By(Family::Pdist),
            OfType(&["self"], Types::FLOAT),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::addmm.out",
        &[tensor("self"), tensor("mat1"), tensor("mat2"), number("beta"), number("alpha"), over_first("out")],
        portable_in_wheels(V0_1),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_addmm.cpp",
        orders: &[OrderCheck::new(Same, &["self", "mat1", "mat2", "out"])],
        checks: &[
            Rank(&["mat1", "mat2", "out"], 1 << 2),
            SameType(&["self", "mat1", "mat2", "out"]),
            SameSize("mat1", 1, "mat2", 0),
            Sizes("out", &[Size::Of("mat1", 0), Size::Of("mat2", 1)]),
            BroadcastToSizes("self", &[Size::Of("mat1", 0), Size::Of("mat2", 1)]),
            OfType(&["self"], Types::REAL),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::baddbmm.out",
        &[tensor("self"), tensor("batch1"), tensor("batch2"), number("beta"), number("alpha"), output("out")],
        Libraries::NONE,
    ),
    KnownOperator::new("aten::bmm.out", MATRICES, optimized(V0_1, V0_1))
        .kernel(&Kernel {
            source: "optimized/cpu/op_bmm.cpp",
            orders: &[],
            checks: &[
                Rank(&["self", "mat2", "out"], 1 << 3),
                SameSize("self", 0, "mat2", 0),
                Sizes("out", &[Size::Of("self", 0), Size::Of("self", 1), Size::Of("mat2", 2)]),
                SameType(&["self", "mat2", "out"]),
                OfType(&["self"], Types::REAL.and(Types::COMPLEX)),
                If(
                    Condition::Empty("self"),
                    &[],
                    &[If(Condition::Empty("mat2"), &[], &[Strays(&[SameSize("self", 2, "mat2", 1)])])],
                ),
            ],
            other_numbers: &[
                OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
                OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
            ],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_bmm.cpp",
            orders: &[OrderCheck::new(Same, &["self", "mat2", "out"])],
            checks: &[
                Rank(&["self", "mat2", "out"], 1 << 3),
                SameType(&["self", "mat2", "out"]),
                SameSize("self", 0, "mat2", 0),
                SameSize("self", 2, "mat2", 1),
                Sizes("out", &[Size::Of("self", 0), Size::Of("self", 1), Size::Of("mat2", 2)]),
                OfType(&["self"], Types::REAL.and(Types::COMPLEX)),
            ],
            other_numbers: &[],
        }),
    KnownOperator::new(
        "aten::linalg_inv_ex.inverse",
        &[tensor("A"), boolean("check_errors"), output("inverse"), output("info")],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::linear.out",
        &[tensor("input"), tensor("weight"), tensor("bias").or_null(), output("out")],
        Libraries { optimized: V0_4, wheel: V0_5, ..Libraries::NONE },
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_linear.cpp",
        orders: &[],
        checks: &[
            MoreRank("input", "out", 0),
            Rank(&["input"], 0x1fffc),
            Rank(&["weight"], 1 << 2),
            SameType(&["input", "weight", "out"]),
            SameSize("input", -1, "weight", 1),
            By(Family::Linear),
            If(Condition::Empty("out"), &[], &[SameType(&["bias", "out"]), OfType(&["out"], Types::REAL)]),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new("aten::mm.out", MATRICES, optimized(V0_1, V0_4))
        .kernel(&Kernel {
            source: "optimized/cpu/op_mm.cpp",
            orders: &[],
            checks: MM,
            other_numbers: &[
                OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
                OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
            ],
        })
        .portable(&Kernel {
            source: "portable/cpu/op_mm.cpp",
            orders: &[OrderCheck::new(Same, &["self", "mat2", "out"])],
            checks: MM,
            other_numbers: &[],
        }),
    KnownOperator::new(
        "aten::native_batch_norm.out",
        &[
            tensor("input"),
            tensor("weight").or_null(),
            tensor("bias").or_null(),
            tensor("running_mean").or_null(),
            tensor("running_var").or_null(),
            boolean("training"),
            double("momentum"),
            double("eps"),
            output("out"),
            output("save_mean"),
            output("save_invstd"),
        ],
        Libraries::NONE,
    ),
    KnownOperator::new(
        "aten::native_group_norm.out",
        &[
            tensor("input"),
            tensor("weight").or_null(),
            tensor("bias").or_null(),
            int("N"),
            int("C"),
            int("HxW"),
            int("group"),
            double("eps"),
            over_first("out0"),
            output("out1"),
            output("out2"),
        ],
        portable_in_wheels(V0_2),
    )
    .kernel(&Kernel {
        source: "portable/cpu/op_native_group_norm.cpp",
        orders: &[OrderCheck::new(Contiguous, &["input", "out0", "out1", "out2"])],
        checks: &[
            By(Family::GroupNorm),
            SameType(&["input", "weight", "bias", "out0", "out1", "out2"]),
            OfType(&["input"], Types::FLOAT),
        ],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "aten::native_layer_norm.out",
        &[
            tensor("input"),
            ints("normalized_shape"),
            tensor("weight").or_null(),
            tensor("bias").or_null(),
            double("eps"),
            over_first("out0"),
            output("out1"),
            output("out2"),
        ],
        optimized(V0_1, V0_1),
    )
    .kernel(&Kernel {
        source: "optimized/cpu/op_native_layer_norm.cpp",
        orders: &[],
        checks: &[
            By(Family::LayerNorm),
            SameType(&["input", "weight", "bias", "out0", "out1", "out2"]),
            OfType(&["input"], Types::FLOAT),
            Since(V1_2, &[By(Family::HalfMoments)], &[]),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    })
    .portable(&Kernel {
        source: "portable/cpu/op_native_layer_norm.cpp",
        orders: &[OrderCheck::new(Contiguous, &["input", "out0", "out1", "out2"])],
        checks: &[
            By(Family::LayerNorm),
            SameType(&["input", "weight", "bias", "out0", "out1", "out2"]),
            OfType(&["input"], Types::FLOAT),
        ],
        other_numbers: &[],
    }),
];
