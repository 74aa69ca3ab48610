//! Operators that only a backend computes. A method that calls one itself, outside of a delegate, has no kernel for it.
//!
//! MLX's are in `backends/mlx/custom_ops.py` and `backends/mlx/custom_kernel_ops`, Metal's in `backends/apple/metal/ops`; those of the
//! namespace `executorch`, which AOTInductor compiles for CUDA and Metal, in `extension/llm/custom_ops/custom_ops.py`.

use super::super::KnownOperator;
use super::super::argument::{Argument, boolean, double, in_place, int, output, string, tensor};

const CUDA: &str = "CudaBackend";
const METAL: &str = "MetalBackend";
const MLX: &str = "MLXBackend";

const fn row(name: &'static str, arguments: &'static [Argument], backend: &'static str) -> KnownOperator {
    KnownOperator::delegated(name, arguments, backend)
}

pub(super) const ROWS: &[KnownOperator] = &[
    row("executorch::alias", &[], CUDA),
    row("executorch::update_cross_attn_cache", &[tensor("value"), in_place("cache"), output("out")], CUDA),
    row(
        "metal::gated_delta_rule",
        &[tensor("q"), tensor("k"), tensor("v"), tensor("g"), tensor("beta"), in_place("state"), output("out")],
        METAL,
    ),
    row(
        "metal::gather_qmv",
        &[
            tensor("x"),
            tensor("w"),
            tensor("scales"),
            tensor("biases"),
            tensor("expert_indices"),
            int("group_size"),
            output("out"),
        ],
        METAL,
    ),
    row(
        "mlx::custom_sdpa",
        &[
            tensor("query"),
            tensor("key"),
            tensor("value"),
            int("start_pos"),
            tensor("attn_mask").or_null(),
            double("dropout_p"),
            boolean("is_causal"),
            double("scale").or_null(),
            output("out"),
        ],
        MLX,
    ),
    row(
        "mlx::gated_delta_rule",
        &[
            tensor("q"),
            tensor("k"),
            tensor("v"),
            tensor("g"),
            tensor("beta"),
            in_place("state"),
            boolean("use_custom_kernel"),
            output("out"),
        ],
        MLX,
    ),
    row(
        "mlx::gather_mm",
        &[
            tensor("a"),
            tensor("b"),
            tensor("rhs_indices").or_null(),
            tensor("lhs_indices").or_null(),
            tensor("sorted_indices").or_null(),
            output("out"),
        ],
        MLX,
    ),
    row(
        "mlx::gather_qmm",
        &[
            tensor("x"),
            tensor("w"),
            tensor("scales"),
            tensor("biases").or_null(),
            tensor("rhs_indices").or_null(),
            tensor("lhs_indices").or_null(),
            boolean("transpose"),
            int("group_size"),
            int("bits"),
            string("mode"),
            tensor("sorted_indices").or_null(),
            output("out"),
        ],
        MLX,
    ),
    row(
        "mlx::kv_cache_update",
        &[in_place("cache"), tensor("new_values"), int("start_pos"), int("ring_size"), output("out")],
        MLX,
    ),
    row("mlx::moe_gather_inputs", &[], MLX),
    row(
        "mlx::moe_scatter_outputs",
        &[tensor("down"), tensor("sort_experts"), tensor("inv_order"), int("top_k"), output("out")],
        MLX,
    ),
    row(
        "mlx::rope",
        &[
            tensor("x"),
            int("dims"),
            int("pos"),
            boolean("traditional"),
            double("base"),
            double("scale"),
            tensor("freqs").or_null(),
            output("out"),
        ],
        MLX,
    ),
    row(
        "mlx::sample",
        &[
            tensor("logits"),
            tensor("temperature"),
            tensor("top_k"),
            tensor("top_p"),
            tensor("seed").or_null(),
            output("out"),
        ],
        MLX,
    ),
    row("mlx::tq4_compress", &[tensor("values"), tensor("boundaries"), output("out")], MLX),
    row("mlx::tq_dequant", &[tensor("packed"), tensor("norms"), tensor("centroids"), output("out")], MLX),
    row("mlx::tq_norm", &[tensor("x"), output("out")], MLX),
];
