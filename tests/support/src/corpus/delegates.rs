//! Damage to delegates and their payloads.

use super::{Case, DELEGATE, DELEGATE_INLINE, pte};
use executorch_format::Pte;
use executorch_format::schema::program::{
    BackendDelegate, BackendDelegateDataReference, CompileSpec, DataLocation, NamedData,
};

fn delegate<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut BackendDelegate<'a> {
    &mut super::plan(pte).delegates.as_mut().unwrap()[0]
}

/// Makes the payload a named blob, so that it is still referred to.
fn keep_payload(pte: &mut Pte<'_>) {
    let named = NamedData { key: Some("payload".into()), segment_index: 1 };
    pte.program.named_data.as_mut().unwrap().push(named);
}

fn processed(location: DataLocation, index: u32) -> Option<BackendDelegateDataReference> {
    Some(BackendDelegateDataReference { location, index })
}

fn payload<'p>(pte: &'p mut Pte<'_>) -> &'p mut Vec<u8> {
    pte.program.backend_delegate_data.as_mut().unwrap()[0].data.as_mut().unwrap().to_mut()
}

fn number(pte: &mut Pte<'_>, at: usize, number: u32) {
    payload(pte)[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

pub fn cases() -> Vec<Case> {
    vec![
        pte("delegate-id", "delegate-id", DELEGATE, "the delegate's id is absent", |pte| delegate(pte).id = None),
        pte("delegate-location", "delegate-location", DELEGATE, "the delegate's payload is at location 9", |pte| {
            delegate(pte).processed = processed(DataLocation(9), 1);
            keep_payload(pte);
        }),
        pte("delegate-segment", "delegate-index", DELEGATE, "the delegate's payload is in segment 99", |pte| {
            delegate(pte).processed = processed(DataLocation::SEGMENT, 99);
            keep_payload(pte);
        }),
        pte(
            "delegate-inline",
            "delegate-index",
            DELEGATE_INLINE,
            "the delegate's payload is entry 99 of backend_delegate_data",
            |pte| {
                delegate(pte).processed = processed(DataLocation::INLINE, 99);
            },
        ),
        pte(
            "delegate-without-header",
            "segment-base",
            DELEGATE_INLINE,
            "the delegate's payload is in the empty segment of a file without a header",
            |pte| {
                delegate(pte).processed = processed(DataLocation::SEGMENT, 0);
            },
        )
        .also("xnnpack-payload"),
        pte("delegate-processed", "delegate-processed", DELEGATE_INLINE, "processed is absent", |pte| {
            delegate(pte).processed = None;
        }),
        pte(
            "delegate-inline-list",
            "delegate-inline-data",
            DELEGATE_INLINE,
            "backend_delegate_data is absent",
            |pte| {
                pte.program.backend_delegate_data = None;
            },
        ),
        pte("delegate-inline-data", "delegate-inline-data", DELEGATE_INLINE, "the payload's data is absent", |pte| {
            pte.program.backend_delegate_data.as_mut().unwrap()[0].data = None;
        })
        .also("xnnpack-payload"),
        pte("compile-specs", "compile-specs", DELEGATE_INLINE, "compile_specs is absent", |pte| {
            delegate(pte).compile_specs = None
        })
        .history("audit: null compile specs"),
        pte("compile-spec-key", "compile-specs", DELEGATE_INLINE, "a setting without a key", |pte| {
            delegate(pte).compile_specs = Some(vec![CompileSpec { key: None, value: super::list(b"on") }]);
        })
        .history("audit: null compile specs"),
        pte("compile-spec-value", "compile-spec", DELEGATE_INLINE, "a setting without a value", |pte| {
            delegate(pte).compile_specs = Some(vec![CompileSpec { key: Some("profile".into()), value: None }]);
        })
        .history("audit: null compile specs"),
        pte(
            "xnnpack-flatbuffer",
            "xnnpack-payload",
            DELEGATE_INLINE,
            "the XNNPACK payload's FlatBuffer starts after the payload's end",
            |pte| {
                number(pte, 10, 0x10_0000);
            },
        ),
        pte(
            "xnnpack-constants",
            "xnnpack-payload",
            DELEGATE_INLINE,
            "the XNNPACK payload's constants take at least 2^32 bytes",
            |pte| {
                number(pte, 26, 1);
            },
        ),
        pte(
            "vulkan-flatbuffer",
            "vulkan-payload",
            DELEGATE_INLINE,
            "a Vulkan payload whose FlatBuffer is 4 GiB long",
            |pte| {
                delegate(pte).id = Some("VulkanBackend".into());
                payload(pte)[4..8].copy_from_slice(b"VH00");
                number(pte, 14, u32::MAX);
            },
        ),
    ]
}
