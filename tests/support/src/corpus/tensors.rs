//! Damage to tensors: their shapes, their types, and the places of their bytes.

use super::{ADD, ADD_MUL, Case, MUTABLE, list, pte, tensor};
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{
    Buffer, DeviceType, ExtraTensorInfo, TensorDataLocation, TensorShapeDynamism,
};

fn extra(info: ExtraTensorInfo<'static>) -> Option<Box<ExtraTensorInfo<'static>>> {
    Some(Box::new(info))
}

pub fn cases() -> Vec<Case> {
    [shape(), data()].into_iter().flatten().collect()
}

fn shape() -> Vec<Case> {
    vec![
        pte("tensor-sizes-absent", "tensor-shape", ADD, "the first tensor's sizes are absent", |pte| {
            tensor(pte, 0).sizes = None
        }),
        pte("tensor-dim-order-absent", "tensor-shape", ADD, "the first tensor's dim order is absent", |pte| {
            tensor(pte, 0).dim_order = None;
        }),
        pte("CVE-2025-54951", "tensor-rank", ADD, "the first tensor has 17 dimensions", |pte| {
            let tensor = tensor(pte, 0);
            tensor.sizes = list(&[1; 17]);
            tensor.dim_order = list(&(0..17).collect::<Vec<_>>());
        })
        .history("CVE-2025-54951"),
        pte("tensor-size", "tensor-size", ADD, "the first tensor's second size is −2", |pte| {
            tensor(pte, 0).sizes = list(&[2, -2])
        }),
        pte(
            "CVE-2025-30402",
            "tensor-elements",
            ADD,
            "the product of an input's sizes is 2^64, which wraps to 0",
            |pte| {
                let tensor = tensor(pte, 0);
                tensor.sizes = list(&[1 << 16; 4]);
                tensor.dim_order = list(&[0, 1, 2, 3]);
            },
        )
        .history("CVE-2025-30402"),
        pte(
            "CVE-2025-54952",
            "tensor-bytes",
            ADD,
            "the first tensor's elements, 2^62, take 2^64 bytes, which wrap to 0",
            |pte| {
                let tensor = tensor(pte, 0);
                tensor.sizes = list(&[1 << 30, 1 << 30, 4]);
                tensor.dim_order = list(&[0, 1, 2]);
            },
        )
        .history("CVE-2025-54952"),
        pte("tensor-scalar-type", "tensor-scalar-type", ADD, "the first tensor's elements are of type 99", |pte| {
            tensor(pte, 0).scalar_type = ScalarType(99);
        }),
        pte("tensor-storage-offset", "tensor-storage-offset", ADD, "the first tensor's storage offset is 1", |pte| {
            tensor(pte, 0).storage_offset = 1;
        }),
        pte("tensor-unbounded", "tensor-unbounded", ADD, "the first tensor's shape is DYNAMIC_UNBOUND", |pte| {
            tensor(pte, 0).shape_dynamism = TensorShapeDynamism::DYNAMIC_UNBOUND;
        }),
        pte("shape-dynamism", "unknown-enum", ADD, "the first tensor's shape dynamism is 9", |pte| {
            tensor(pte, 0).shape_dynamism = TensorShapeDynamism(9);
        }),
        pte(
            "dim-order-length",
            "dim-order-length",
            ADD,
            "the first tensor has two sizes, but one dimension in its dim order",
            |pte| {
                tensor(pte, 0).dim_order = list(&[0]);
            },
        )
        .history("audit: dim order shorter than sizes"),
        pte("dim-order-repeated", "dim-order", ADD, "the first tensor's dim order is 0, 0", |pte| {
            tensor(pte, 0).dim_order = list(&[0, 0]);
        }),
        pte("dim-order-range", "dim-order", ADD, "the first tensor's dim order is 0, 200", |pte| {
            tensor(pte, 0).dim_order = list(&[0, 200]);
        }),
        pte("tensor-device", "device-type", ADD, "the first tensor is on a device of kind 77", |pte| {
            tensor(pte, 0).extra_tensor_info =
                extra(ExtraTensorInfo { device_type: DeviceType(77), ..Default::default() });
        }),
    ]
}

fn data() -> Vec<Case> {
    vec![
        pte("constant-index", "constant-index", ADD_MUL, "the first tensor is constant 99", |pte| {
            tensor(pte, 0).data_buffer_idx = 99;
        }),
        pte("constant-bounds", "constant-bounds", ADD_MUL, "the last constant is 1024 times as large", |pte| {
            tensor(pte, 1).sizes = list(&[64, 64]);
        })
        .also("kernel-shape"),
        pte(
            "constant-offset-wraps",
            "constant-bounds",
            ADD_MUL,
            "the sum of offset and size of the last constant overflows",
            |pte| {
                pte.program.constant_segment.as_mut().unwrap().offsets = list(&[0, 0, u64::MAX - 15]);
            },
        )
        .history("audit: sums that wrap"),
        pte("constant-inline", "constant-bounds", ADD, "an inline constant of 4 bytes for a tensor of 16", |pte| {
            // Entry 1 of constant_buffer, which is used because constant_segment has only its placeholder.
            inline_constant(pte);
        })
        .also("constant-buffer")
        .history("audit: inline constants shorter than their tensor"),
        pte(
            "initial-state-index",
            "initial-state-index",
            MUTABLE,
            "the first tensor's initial state is entry 99",
            |pte| {
                tensor(pte, 0).data_buffer_idx = 99;
            },
        ),
        pte(
            "initial-state-list",
            "initial-state-index",
            MUTABLE,
            "the first tensor has an initial state, but there is no list of them",
            |pte| {
                pte.program.mutable_data_segments = None;
                // The initial states become a named blob, so that they are still referred to.
                let named =
                    executorch_format::schema::program::NamedData { key: Some("state".into()), segment_index: 1 };
                pte.program.named_data = Some(vec![named]);
                tensor(pte, 1).data_buffer_idx = 0;
            },
        ),
        pte("initial-state-segment", "initial-state-index", MUTABLE, "the initial states are in segment 9", |pte| {
            let named = executorch_format::schema::program::NamedData { key: Some("state".into()), segment_index: 1 };
            pte.program.named_data = Some(vec![named]);
            pte.program.mutable_data_segments.as_mut().unwrap()[0].segment_index = 9;
        }),
        pte(
            "initial-state-bounds",
            "initial-state-bounds",
            MUTABLE,
            "the last initial state starts one byte before its segment's end",
            |pte| {
                pte.program.mutable_data_segments.as_mut().unwrap()[0].offsets = list(&[0, 0, 27]);
            },
        ),
        pte(
            "initial-state-lists",
            "initial-state-lists",
            MUTABLE,
            "the first tensor's initial state is in list 7",
            |pte| {
                tensor(pte, 0).extra_tensor_info =
                    extra(ExtraTensorInfo { mutable_data_segments_idx: 7, ..Default::default() });
            },
        ),
        pte("external-name", "external-name", ADD, "the first tensor is external, but has no name", |pte| {
            tensor(pte, 0).extra_tensor_info =
                extra(ExtraTensorInfo { location: TensorDataLocation::EXTERNAL, ..Default::default() });
        }),
        pte("data-location", "unknown-enum", ADD, "the first tensor's data is at location 9", |pte| {
            tensor(pte, 0).extra_tensor_info =
                extra(ExtraTensorInfo { location: TensorDataLocation(9), ..Default::default() });
        }),
    ]
}

fn inline_constant(pte: &mut executorch_format::Pte<'_>) {
    pte.program.constant_buffer = Some(vec![Buffer::default(), Buffer { storage: list(&[1, 2, 3, 4]) }]);
    let tensor = tensor(pte, 0);
    tensor.data_buffer_idx = 1;
    tensor.allocation_info = None;
}
