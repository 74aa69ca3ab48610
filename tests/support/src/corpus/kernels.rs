//! Calls that kernels refuse, that crash them, or for which they compute different numbers.

use super::instructions::{built_in, kernel};
use super::{ADD, Case, list, plan, pte, push, tensor};
use executorch_format::Pte;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{Bool, Double, Int, IntList, TensorList};

/// Gives the three tensors four dimensions, and those in `last` channels-last memory.
fn four_dimensions(pte: &mut Pte<'_>, last: &[usize]) {
    for index in 0..3 {
        let tensor = tensor(pte, index);
        tensor.sizes = list(&[1, 2, 1, 2]);
        tensor.dim_order = list(if last.contains(&index) { &[0, 2, 3, 1] } else { &[0, 1, 2, 3] });
    }
}

pub fn cases() -> Vec<Case> {
    vec![
        pte("kernel-dim-order", "kernel-dim-order", ADD, "the second operand alone is channels-last", |pte| {
            four_dimensions(pte, &[1]);
        }),
        pte(
            "kernel-dim-order-portable",
            "kernel-dim-order",
            ADD,
            "aten::exp from a channels-last tensor to a contiguous one",
            |pte| {
                built_in(pte, "aten::exp", "out");
                kernel(pte, 0).args = list(&[0, 2, 2]);
                four_dimensions(pte, &[0]);
            },
        )
        .also("kernel-wrong-values"),
        pte("kernel-wrong-values", "kernel-wrong-values", ADD, "aten::flip of a channels-last tensor", |pte| {
            built_in(pte, "aten::flip", "out");
            let dims = push(pte, IntList { items: list(&[3]) });
            kernel(pte, 0).args = list(&[0, dims, 2, 2]);
            four_dimensions(pte, &[0, 2]);
        }),
        pte(
            "operator-without-kernel",
            "operator-without-kernel",
            ADD,
            "aten::_upsample_bicubic2d_aa, which no library has",
            |pte| built_in(pte, "aten::_upsample_bicubic2d_aa", "out"),
        ),
        pte("training-mode", "training-mode", ADD, "aten::native_dropout that trains", |pte| {
            built_in(pte, "aten::native_dropout", "out");
            let mut mask = tensor(pte, 1).clone();
            mask.scalar_type = ScalarType::BOOL;
            let (p, train) = (push(pte, Double { double_val: 0.5 }), push(pte, Bool { bool_val: true }));
            let mask = push(pte, mask);
            let results = push(pte, TensorList { items: list(&[2, mask]) });
            plan(pte).inputs = list(&[0]);
            kernel(pte, 0).args = list(&[0, p, train, 2, mask, results]);
        }),
        pte("kernel-argument-kind", "kernel-argument-kind", ADD, "the second operand is an integer", |pte| {
            kernel(pte, 0).args = list(&[0, 3, 3, 2, 2]);
        }),
        pte("kernel-argument-count", "kernel-argument-count", ADD, "the result is not given again", |pte| {
            kernel(pte, 0).args = list(&[0, 1, 3, 2]);
        }),
        pte("kernel-rank", "kernel-rank", ADD, "aten::mm of tensors of one dimension", |pte| {
            built_in(pte, "aten::mm", "out");
            kernel(pte, 0).args = list(&[0, 1, 2, 2]);
            for index in 0..3 {
                let tensor = tensor(pte, index);
                (tensor.sizes, tensor.dim_order) = (list(&[4]), list(&[0]));
            }
        }),
        pte("kernel-shape", "kernel-shape", ADD, "operands whose sizes do not broadcast", |pte| {
            let tensor = tensor(pte, 1);
            (tensor.sizes, tensor.dim_order) = (list(&[3]), list(&[0]));
        }),
        pte(
            "kernel-setting",
            "kernel-setting",
            ADD,
            "aten::flip along a dimension that the tensor does not have",
            |pte| {
                built_in(pte, "aten::flip", "out");
                let dim = push(pte, Int { int_val: 7 });
                let dims = push(pte, IntList { items: list(&[i64::from(dim)]) });
                kernel(pte, 0).args = list(&[0, dims, 2, 2]);
            },
        ),
        pte("kernel-type", "kernel-type", ADD, "aten::neg of bools", |pte| {
            built_in(pte, "aten::neg", "out");
            kernel(pte, 0).args = list(&[0, 2, 2]);
            for index in [0, 2] {
                tensor(pte, index).scalar_type = ScalarType::BOOL;
            }
        }),
    ]
}
