//! Operators on quantized tensors.

use super::super::KnownOperator;
use super::super::argument::{Argument, double, elementwise, int, output, tensor};
use super::super::kernel::{
    Check::{
        self, Absent, By, Dies, Dim, Elements, If, Like, MoreRank, OfType, Ordered, QuantRange, Range, Rank,
        SameShapeOrSingle, SameSize, SameType, Sizes, Strays, TypeSetting,
    },
    Condition, Family, Kernel, Layouts, Often, Only, OtherNumbers, Size,
};
use super::super::releases::{
    quantized,
    versions::{V0_1, V0_2, V0_3, V0_5},
};
use super::super::types::Types;
use crate::schema::ScalarType;

/// The scales of channels, and the results. Scales of bytes are read only if there are any.
const DEQUANTIZED: Check = If(
    Condition::DequantizesBytes,
    &[
        Strays(&[OfType(&["out"], Types::FLOAT32)]),
        By(Family::ZeroPoints),
        If(Condition::Empty("input"), &[], &[SCALES]),
    ],
    &[OfType(&["out"], Types::FLOAT.without(Types::of(&[ScalarType::BFLOAT16]))), SCALES],
);

const SCALES: Check = OfType(&["scales"], Types::of(&[ScalarType::FLOAT, ScalarType::DOUBLE]));

const EMBEDDING_WITH_TYPE: &[Argument] = &[
    tensor("weight"),
    tensor("weight_scales"),
    tensor("weight_zero_points").or_null(),
    int("weight_quant_min"),
    int("weight_quant_max"),
    tensor("indices"),
    int("dtype").or_null(),
    output("out"),
];

const EMBEDDING: &[Argument] = &[
    tensor("weight"),
    tensor("weight_scales"),
    tensor("weight_zero_points").or_null(),
    int("weight_quant_min"),
    int("weight_quant_max"),
    tensor("indices"),
    output("out"),
];

pub(super) const ROWS: &[KnownOperator] = &[
    KnownOperator::new(
        "quantized_decomposed::add.out",
        &[
            tensor("a"),
            double("a_scale"),
            int("a_zero_point"),
            int("a_quant_min"),
            int("a_quant_max"),
            tensor("b"),
            double("b_scale"),
            int("b_zero_point"),
            int("b_quant_min"),
            int("b_quant_max"),
            double("out_scale"),
            int("out_zero_point"),
            int("out_quant_min"),
            int("out_quant_max"),
            elementwise("out"),
        ],
        quantized(V0_1),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_add.cpp",
        orders: &[],
        checks: &[Dies(&[
            SameShapeOrSingle(&["a", "b", "out"]),
            SameType(&["a", "b", "out"]),
            Range("a_quant_min", 0, i64::MAX),
            Range("a_quant_max", i64::MIN, 255),
            Ordered("a_quant_min", "a_quant_max", false),
            Range("b_quant_min", 0, i64::MAX),
            Range("b_quant_max", i64::MIN, 255),
            Ordered("b_quant_min", "b_quant_max", false),
            Range("out_quant_min", 0, i64::MAX),
            Range("out_quant_max", i64::MIN, 255),
            Ordered("out_quant_min", "out_quant_max", false),
            OfType(&["a"], Types::INT),
        ])],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "quantized_decomposed::choose_qparams.Tensor_out",
        &[
            tensor("input"),
            int("quant_min"),
            int("quant_max"),
            double("eps"),
            int("dtype"),
            output("scale_out"),
            output("zero_point_out"),
        ],
        quantized(V0_1),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_choose_qparams.cpp",
        orders: &[],
        checks: &[Dies(&[
            Ordered("quant_min", "quant_max", true),
            OfType(&["input"], Types::FLOAT32),
            OfType(&["scale_out"], Types::DOUBLE),
            OfType(&["zero_point_out"], Types::LONG),
            Elements("scale_out", 1),
            Elements("zero_point_out", 1),
        ])],
        other_numbers: &[],
    }),
    KnownOperator::new(
        "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
        &[tensor("input"), int("dtype"), output("scale_out"), output("zero_point_out")],
        quantized(V0_5),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_choose_qparams.cpp",
        orders: &[],
        checks: &[Dies(&[
            Rank(&["input"], 0x1fffe),
            By(Family::ChooseQparams),
            OfType(&["input"], Types::FLOAT32),
            OfType(&["scale_out"], Types::DOUBLE),
            OfType(&["zero_point_out"], Types::LONG),
        ])],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new(
        "quantized_decomposed::dequantize_per_channel.out",
        &[
            tensor("input"),
            tensor("scales"),
            tensor("zero_points").or_null(),
            int("axis"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            int("out_dtype").or_null(),
            output("out"),
        ],
        quantized(V0_2),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_dequantize.cpp",
        orders: &[],
        checks: &[Dies(&[
            Like("input", &["out"]),
            Dim("axis", "input"),
            By(Family::PerChannel("axis")),
            If(Condition::Null("zero_points"), &[], &[OfType(&["zero_points"], Types::INDEX)]),
            OfType(&["input"], Types::QUANTIZED),
            TypeSetting("dtype", "input"),
            TypeSetting("out_dtype", "out"),
            Ordered("quant_min", "quant_max", false),
            DEQUANTIZED,
        ])],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "quantized_decomposed::dequantize_per_tensor.Tensor_out",
        &[
            tensor("input"),
            tensor("scale"),
            tensor("zero_point"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            int("out_dtype").or_null(),
            elementwise("out"),
        ],
        quantized(V0_1),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_dequantize.cpp",
        orders: &[],
        checks: &[Dies(&[
            OfType(&["scale"], Types::DOUBLE),
            OfType(&["zero_point"], Types::LONG),
            Elements("scale", 1),
            Elements("zero_point", 1),
            Like("input", &["out"]),
            OfType(&["input"], Types::QUANTIZED),
            TypeSetting("dtype", "input"),
            TypeSetting("out_dtype", "out"),
            Ordered("quant_min", "quant_max", false),
            OfType(&["out"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
        ])],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "quantized_decomposed::dequantize_per_tensor.out",
        &[
            tensor("input"),
            double("scale"),
            int("zero_point"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            int("out_dtype").or_null(),
            elementwise("out"),
        ],
        quantized(V0_1),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_dequantize.cpp",
        orders: &[],
        checks: &[Dies(&[
            Like("input", &["out"]),
            OfType(&["input"], Types::QUANTIZED),
            TypeSetting("dtype", "input"),
            TypeSetting("out_dtype", "out"),
            Ordered("quant_min", "quant_max", false),
            OfType(&["out"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
        ])],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "quantized_decomposed::dequantize_per_token.out",
        &[
            tensor("input"),
            tensor("scales"),
            tensor("zero_points"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            int("output_dtype"),
            output("out"),
        ],
        quantized(V0_5),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_dequantize.cpp",
        orders: &[],
        checks: &[Dies(&[
            Like("input", &["out"]),
            By(Family::PerToken),
            OfType(&["zero_points"], Types::INDEX),
            OfType(&["input"], Types::QUANTIZED),
            TypeSetting("dtype", "input"),
            TypeSetting("output_dtype", "out"),
            Ordered("quant_min", "quant_max", false),
            DEQUANTIZED,
        ])],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
    KnownOperator::new("quantized_decomposed::embedding_2bit.dtype_out", EMBEDDING_WITH_TYPE, quantized(V0_5)).kernel(
        &Kernel {
            source: "quantized/cpu/embeddingxb.cpp",
            orders: &[],
            checks: &[Dies(&[
                Rank(&["weight"], 1 << 2),
                Rank(&["weight_scales"], 0b110),
                Strays(&[MoreRank("indices", "out", 1)]),
                By(Family::QuantizedEmbedding(2)),
                OfType(&["weight"], Types::of(&[ScalarType::BYTE])),
                OfType(
                    &["out", "weight_scales"],
                    Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT]),
                ),
                SameType(&["weight_zero_points", "out"]),
                OfType(&["indices"], Types::INDEX),
                Ordered("weight_quant_min", "weight_quant_max", false),
                TypeSetting("dtype", "out"),
            ])],
            other_numbers: &[
                OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
                OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
            ],
        },
    ),
    KnownOperator::new("quantized_decomposed::embedding_2bit.out", EMBEDDING, quantized(V0_5)).kernel(&Kernel {
        source: "quantized/cpu/embeddingxb.cpp",
        orders: &[],
        checks: &[Dies(&[
            Rank(&["weight"], 1 << 2),
            Rank(&["weight_scales"], 0b110),
            Strays(&[MoreRank("indices", "out", 1)]),
            By(Family::QuantizedEmbedding(2)),
            OfType(&["weight"], Types::of(&[ScalarType::BYTE])),
            OfType(&["out", "weight_scales"], Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT])),
            SameType(&["weight_zero_points", "out"]),
            OfType(&["indices"], Types::INDEX),
            Ordered("weight_quant_min", "weight_quant_max", false),
        ])],
        other_numbers: &[
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new("quantized_decomposed::embedding_4bit.dtype_out", EMBEDDING_WITH_TYPE, quantized(V0_3)).kernel(
        &Kernel {
            source: "quantized/cpu/embeddingxb.cpp",
            orders: &[],
            checks: &[Dies(&[
                Rank(&["weight"], 1 << 2),
                Rank(&["weight_scales"], 0b110),
                Strays(&[MoreRank("indices", "out", 1)]),
                By(Family::QuantizedEmbedding(4)),
                OfType(&["weight"], Types::of(&[ScalarType::BYTE])),
                OfType(
                    &["out", "weight_scales"],
                    Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT]),
                ),
                SameType(&["weight_zero_points", "out"]),
                OfType(&["indices"], Types::INDEX),
                Ordered("weight_quant_min", "weight_quant_max", false),
                TypeSetting("dtype", "out"),
            ])],
            other_numbers: &[
                OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
                OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
            ],
        },
    ),
    KnownOperator::new("quantized_decomposed::embedding_4bit.out", EMBEDDING, quantized(V0_3)).kernel(&Kernel {
        source: "quantized/cpu/embeddingxb.cpp",
        orders: &[],
        checks: &[Dies(&[
            Rank(&["weight"], 1 << 2),
            Rank(&["weight_scales"], 0b110),
            Strays(&[MoreRank("indices", "out", 1)]),
            By(Family::QuantizedEmbedding(4)),
            OfType(&["weight"], Types::of(&[ScalarType::BYTE])),
            OfType(&["out", "weight_scales"], Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT])),
            SameType(&["weight_zero_points", "out"]),
            OfType(&["indices"], Types::INDEX),
            Ordered("weight_quant_min", "weight_quant_max", false),
        ])],
        other_numbers: &[
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new("quantized_decomposed::embedding_byte.dtype_out", EMBEDDING_WITH_TYPE, quantized(V0_2)).kernel(
        &Kernel {
            source: "quantized/cpu/op_embedding.cpp",
            orders: &[],
            checks: &[Dies(&[
                Rank(&["weight"], 1 << 2),
                Rank(&["weight_scales"], 0b110),
                Strays(&[MoreRank("indices", "out", 1)]),
                By(Family::QuantizedEmbedding(8)),
                OfType(&["weight"], Types::of(&[ScalarType::BYTE, ScalarType::CHAR])),
                OfType(
                    &["out", "weight_scales"],
                    Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT]),
                ),
                SameType(&["weight_zero_points", "out"]),
                OfType(&["indices"], Types::LONG),
                Ordered("weight_quant_min", "weight_quant_max", false),
                TypeSetting("dtype", "out"),
            ])],
            other_numbers: &[
                OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
                OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
            ],
        },
    ),
    KnownOperator::new("quantized_decomposed::embedding_byte.out", EMBEDDING, quantized(V0_1)).kernel(&Kernel {
        source: "quantized/cpu/op_embedding.cpp",
        orders: &[],
        checks: &[Dies(&[
            Rank(&["weight"], 1 << 2),
            Rank(&["weight_scales"], 0b110),
            Strays(&[MoreRank("indices", "out", 1)]),
            By(Family::QuantizedEmbedding(8)),
            OfType(&["weight"], Types::of(&[ScalarType::BYTE, ScalarType::CHAR])),
            OfType(&["out", "weight_scales"], Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT])),
            SameType(&["weight_zero_points", "out"]),
            OfType(&["indices"], Types::LONG),
            Ordered("weight_quant_min", "weight_quant_max", false),
        ])],
        other_numbers: &[
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "quantized_decomposed::mixed_linear.out",
        &[
            tensor("input"),
            tensor("weight"),
            tensor("weight_scales"),
            tensor("weight_zero_points").or_null(),
            int("dtype").or_null(),
            output("out"),
        ],
        quantized(V0_2),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_mixed_linear.cpp",
        orders: &[],
        checks: &[
            Rank(&["input", "weight", "out"], 1 << 2),
            Rank(&["weight_scales"], 0b110),
            SameSize("input", 1, "weight", 1),
            SameSize("weight_scales", 0, "weight", 0),
            TypeSetting("dtype", "out"),
            SameType(&["input", "weight_scales"]),
            OfType(&["weight"], Types::of(&[ScalarType::CHAR])),
            OfType(&["input"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT])),
            Absent("weight_zero_points"),
            Sizes("out", &[Size::Of("input", 0), Size::Of("weight", 0)]),
            OfType(&["out"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "quantized_decomposed::mixed_mm.out",
        &[
            tensor("input"),
            tensor("weight"),
            tensor("weight_scales"),
            tensor("weight_zero_points").or_null(),
            output("out"),
        ],
        quantized(V0_2),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_mixed_mm.cpp",
        orders: &[],
        checks: &[
            Rank(&["input", "weight", "out"], 1 << 2),
            Rank(&["weight_scales"], 1 << 1),
            SameSize("input", 1, "weight", 0),
            SameSize("weight_scales", 0, "weight", 0),
            SameType(&["input", "weight_scales", "out"]),
            OfType(&["weight"], Types::of(&[ScalarType::CHAR])),
            OfType(&["input"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT])),
            Absent("weight_zero_points"),
            Sizes("out", &[Size::Of("input", 0), Size::Of("weight", 1)]),
        ],
        other_numbers: &[
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "quantized_decomposed::quantize_per_channel.out",
        &[
            tensor("input"),
            tensor("scales"),
            tensor("zero_points"),
            int("axis"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            output("out"),
        ],
        quantized(V0_2),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_quantize.cpp",
        orders: &[],
        checks: &[Dies(&[
            Like("input", &["out"]),
            Dim("axis", "input"),
            OfType(&["scales"], Types::DOUBLE),
            By(Family::PerChannel("axis")),
            OfType(&["zero_points"], Types::LONG),
            OfType(&["input"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
            TypeSetting("dtype", "out"),
            OfType(&["out"], Types::QUANTIZED),
            QuantRange("quant_min", "quant_max", "out"),
        ])],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always),
        ],
    }),
    KnownOperator::new(
        "quantized_decomposed::quantize_per_tensor.Tensor_out",
        &[
            tensor("input"),
            tensor("scale"),
            tensor("zero_point"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            elementwise("out"),
        ],
        quantized(V0_1),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_quantize.cpp",
        orders: &[],
        checks: &[
            OfType(&["scale"], Types::DOUBLE),
            Dies(&[
                OfType(&["zero_point"], Types::LONG),
                Elements("scale", 1),
                Elements("zero_point", 1),
                Like("input", &["out"]),
                OfType(&["input"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
                TypeSetting("dtype", "out"),
                OfType(&["out"], Types::QUANTIZED),
                QuantRange("quant_min", "quant_max", "out"),
            ]),
        ],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "quantized_decomposed::quantize_per_tensor.out",
        &[
            tensor("input"),
            double("scale"),
            int("zero_point"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            elementwise("out"),
        ],
        quantized(V0_1),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_quantize.cpp",
        orders: &[],
        checks: &[Dies(&[
            Like("input", &["out"]),
            OfType(&["input"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
            TypeSetting("dtype", "out"),
            OfType(&["out"], Types::QUANTIZED),
            QuantRange("quant_min", "quant_max", "out"),
        ])],
        other_numbers: &[OtherNumbers::new(Layouts::Mixed, Often::Always, Only::Always)],
    }),
    KnownOperator::new(
        "quantized_decomposed::quantize_per_token.out",
        &[
            tensor("input"),
            tensor("scales"),
            tensor("zero_points"),
            int("quant_min"),
            int("quant_max"),
            int("dtype"),
            output("out"),
        ],
        quantized(V0_5),
    )
    .kernel(&Kernel {
        source: "quantized/cpu/op_quantize.cpp",
        orders: &[],
        checks: &[Dies(&[
            Like("input", &["out"]),
            OfType(&["scales"], Types::DOUBLE),
            By(Family::PerToken),
            OfType(&["zero_points"], Types::LONG),
            OfType(&["input"], Types::of(&[ScalarType::HALF, ScalarType::FLOAT, ScalarType::DOUBLE])),
            TypeSetting("dtype", "out"),
            OfType(&["out"], Types::QUANTIZED),
            QuantRange("quant_min", "quant_max", "out"),
        ])],
        other_numbers: &[
            OtherNumbers::new(Layouts::ChannelsLast, Often::Always, Only::Always),
            OtherNumbers::new(Layouts::Other, Often::Sometimes, Only::Always),
            OtherNumbers::new(Layouts::Mixed, Often::Sometimes, Only::Always),
        ],
    }),
];
