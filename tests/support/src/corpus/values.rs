//! Damage to values other than tensors.

use super::{ADD, Case, list, pte, push, values};
use executorch_format::schema::Unknown;
use executorch_format::schema::program::{
    BoolList, DoubleList, IntList, KernelTypes, OptionalTensorList, String, TensorList,
};

pub fn cases() -> Vec<Case> {
    vec![
        pte("value-none", "value-kind", ADD, "one more value, with neither kind nor content", |pte| {
            push(pte, KernelTypes::None);
        })
        .history("audit: null values"),
        pte("value-unknown", "value-kind", ADD, "one more value, of kind 99", |pte| {
            push(pte, KernelTypes::Unknown(unknown(99)));
        }),
        pte("value-string", "value-content", ADD, "one more value, a String without text", |pte| {
            push(pte, String { string_val: None });
        }),
        pte("value-int-list", "value-content", ADD, "one more value, an IntList without items", |pte| {
            push(pte, IntList { items: None });
        }),
        pte("value-double-list", "value-content", ADD, "one more value, a DoubleList without items", |pte| {
            push(pte, DoubleList { items: None });
        }),
        pte("value-bool-list", "value-content", ADD, "one more value, a BoolList without items", |pte| {
            push(pte, BoolList { items: None });
        }),
        pte("value-tensor-list", "value-content", ADD, "one more value, a TensorList without items", |pte| {
            push(pte, TensorList { items: None });
        }),
        pte("tensor-list-index", "list-item-index", ADD, "a TensorList that contains value 99", |pte| {
            push(pte, TensorList { items: list(&[0, 99]) });
        }),
        pte(
            "tensor-list-negative",
            "list-item-index",
            ADD,
            "a TensorList that contains value −1, which only an OptionalTensorList may",
            |pte| {
                push(pte, TensorList { items: list(&[0, -1]) });
            },
        ),
        pte(
            "optional-tensor-list-index",
            "list-item-index",
            ADD,
            "an OptionalTensorList that contains value −2",
            |pte| {
                push(pte, OptionalTensorList { items: list(&[-1, -2]) });
            },
        ),
        pte("int-list-index", "list-item-index", ADD, "an IntList that contains value 2^40", |pte| {
            push(pte, IntList { items: list(&[3, 1 << 40]) });
        }),
        pte("tensor-list-kind", "list-item-kind", ADD, "a TensorList that contains an Int", |pte| {
            push(pte, TensorList { items: list(&[3]) });
        }),
        pte("tensor-list-itself", "list-item-kind", ADD, "a TensorList that contains itself", |pte| {
            push(pte, TensorList { items: list(&[4]) });
        }),
        pte("optional-tensor-list-kind", "list-item-kind", ADD, "an OptionalTensorList that contains an Int", |pte| {
            push(pte, OptionalTensorList { items: list(&[-1, 3]) });
        }),
        pte("tensor-list-order", "list-item-order", ADD, "a TensorList that contains a tensor after it", |pte| {
            push(pte, TensorList { items: list(&[5]) });
            let tensor = values(pte)[0].val.clone();
            push(pte, tensor);
        }),
        pte("int-list-kind", "int-list-item-kind", ADD, "an IntList that contains a tensor", |pte| {
            push(pte, IntList { items: list(&[3, 0]) });
        }),
    ]
}

pub fn unknown(tag: u8) -> Unknown {
    Unknown { tag, ..Default::default() }
}
