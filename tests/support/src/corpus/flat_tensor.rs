//! Damage to `.ptd` files, and contradictions between a `.pte` and its `.ptd`.

use super::wire::{Step::Field, Step::Item, place, put, u32_at};
use super::{Case, PROGRAM_OF_PAIR, TENSORS, bytes, list, pair, ptd, pte, tensor};
use executorch_format::schema::ScalarType;
use executorch_format::schema::flat_tensor::{Legacy, LegacySchema, NamedData, TensorLayout};
use executorch_format::schema::program::{ExtraTensorInfo, KernelTypes};
use executorch_format::{Ptd, Pte};

fn entry<'p, 'a>(ptd: &'p mut Ptd<'a>) -> &'p mut NamedData<'a> {
    &mut ptd.flat_tensor.named_data.as_mut().unwrap()[0]
}

fn layout<'p, 'a>(ptd: &'p mut Ptd<'a>) -> &'p mut TensorLayout<'a> {
    entry(ptd).tensor_layout.as_mut().unwrap()
}

/// Returns the extra information of the first external tensor.
fn external<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut ExtraTensorInfo<'a> {
    let is_external =
        |value: &KernelTypes<'_>| matches!(value, KernelTypes::Tensor(tensor) if tensor.extra_tensor_info.is_some());
    let index = super::values(pte).iter().position(|value| is_external(&value.val)).unwrap();
    tensor(pte, index).extra_tensor_info.as_mut().unwrap()
}

pub fn cases() -> Vec<Case> {
    [alone(), pairs()].into_iter().flatten().collect()
}

fn alone() -> Vec<Case> {
    vec![
        bytes(
            "ptd-header",
            "ptd-header",
            TENSORS,
            "the header's magic is overwritten, so there is no header",
            |file| {
                put(file, 8, &[0; 4]);
            },
        ),
        ptd("ptd-version", "ptd-version", "the schema version is 1", |ptd| ptd.flat_tensor.version = 1),
        bytes(
            "ptd-data-size",
            "segment-data-size",
            TENSORS,
            "the last segment ends after the data according to the header, but inside the file",
            |file| {
                let size = place(file, &[Field(1), Item(1), Field(1)]);
                let offset = place(file, &[Field(1), Item(1), Field(0)]);
                let start = u32_at(file, 32) + u32_at(file, offset);
                file.resize(file.len() + 4096, 0);
                let whole = (file.len() - start) as u64;
                put(file, size, &whole.to_le_bytes());
            },
        )
        .also("layout-blob-size"),
        ptd("ptd-schema", "ptd-schema", "the schema is that of ExecuTorch 0.6", |ptd| {
            let legacy = Legacy { schema: LegacySchema::V0_6, tensor_alignment: 16, tensors: Some(Vec::new()) };
            ptd.flat_tensor.legacy = Some(legacy);
        }),
        ptd("ptd-named-data", "ptd-field", "named_data is absent", |ptd| {
            ptd.flat_tensor.named_data = None;
            for segment in ptd.flat_tensor.segments.as_mut().unwrap() {
                *segment = Default::default();
            }
            ptd.segments.fill(executorch_format::Segment::Whole((&[]).into()));
        }),
        ptd("ptd-segments", "ptd-field", "segments is absent", |ptd| {
            ptd.flat_tensor.segments = None;
            ptd.segments.clear();
        })
        .history("audit: null segments"),
        ptd("ptd-key", "named-data-key", "the first key is absent", |ptd| entry(ptd).key = None),
        ptd("ptd-segment-index", "named-data-segment", "one more key, in segment 99", |ptd| {
            let mut more = entry(ptd).clone();
            (more.key, more.segment_index) = (Some("more".into()), 99);
            ptd.flat_tensor.named_data.as_mut().unwrap().push(more);
        }),
        ptd("ptd-key-unique", "key-unique", "the first key occurs twice", |ptd| {
            let twin = entry(ptd).clone();
            ptd.flat_tensor.named_data.as_mut().unwrap().push(twin);
        }),
        ptd("layout-sizes", "layout-shape", "the first layout's sizes are absent", |ptd| layout(ptd).sizes = None),
        ptd("layout-size", "layout-size", "the first layout has a negative size", |ptd| {
            layout(ptd).sizes = list(&[2, -2])
        }),
        ptd("layout-bytes", "layout-bytes", "the first layout's size in bytes overflows", |ptd| {
            let layout = layout(ptd);
            layout.sizes = list(&[1 << 30, 1 << 30, 4]);
            layout.dim_order = list(&[0, 1, 2]);
        }),
        ptd(
            "layout-dim-order-length",
            "layout-dim-order-length",
            "the first layout has two sizes, but one dimension in its dim order",
            |ptd| {
                layout(ptd).dim_order = list(&[0]);
            },
        )
        .history("audit: dim order shorter than sizes"),
        ptd("layout-dim-order-range", "layout-dim-order-range", "the first layout's dim order is 0, 9", |ptd| {
            layout(ptd).dim_order = list(&[0, 9]);
        }),
        ptd("layout-dim-order", "layout-dim-order", "the first layout's dim order is 1, 1", |ptd| {
            layout(ptd).dim_order = list(&[1, 1]);
        }),
        ptd("layout-scalar-type", "layout-scalar-type", "the first layout's elements are of type 99", |ptd| {
            layout(ptd).scalar_type = ScalarType(99);
        }),
        ptd("layout-blob-size", "layout-blob-size", "the first layout is larger than its blob", |ptd| {
            layout(ptd).sizes = list(&[2, 3]);
        }),
    ]
}

fn pairs() -> Vec<Case> {
    vec![
        pair(
            "external-missing",
            "external-missing",
            "the first external tensor has a name that is not in the .ptd",
            |pte, _| {
                external(pte).fully_qualified_name = Some("nowhere".into());
            },
        ),
        pair(
            "external-layout",
            "external-layout",
            "the first tensor of the .ptd has integers, not floats",
            |_, ptd| {
                layout(ptd).scalar_type = ScalarType::INT;
            },
        ),
        pair("external-opaque", "external-layout", "the first tensor of the .ptd has no layout", |_, ptd| {
            entry(ptd).tensor_layout = None;
        }),
        pair(
            "external-size",
            "layout-blob-size",
            "both say that the first external tensor is twice as large as its blob",
            |pte, ptd| {
                layout(ptd).sizes = list(&[2, 4]);
                let key = entry(ptd).key.clone();
                for value in super::values(pte) {
                    match &mut value.val {
                        KernelTypes::Tensor(tensor)
                            if tensor
                                .extra_tensor_info
                                .as_ref()
                                .is_some_and(|extra| extra.fully_qualified_name == key) =>
                        {
                            tensor.sizes = list(&[2, 4]);
                        }
                        _ => (),
                    }
                }
            },
        )
        .also("kernel-shape"),
        pair("key-in-two-files", "key-in-two-files", "the .pte has a blob under a key of the .ptd", |pte, ptd| {
            let key = entry(ptd).key.as_ref().map(|key| key.to_string().into());
            let named = executorch_format::schema::program::NamedData { key, segment_index: 0 };
            pte.program.named_data = Some(vec![named]);
        }),
        pte(
            "external-unchecked",
            "external-unchecked",
            PROGRAM_OF_PAIR,
            "the first external tensor has another name, and the .ptd is not given",
            |pte| {
                external(pte).fully_qualified_name = Some("nowhere".into());
            },
        ),
    ]
}
