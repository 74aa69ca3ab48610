//! Foreign content in a file: other formats in data, an archive at its end, bytes that no field describes.

use super::{ADD, BUNDLE, Case, DELEGATE_INLINE, MUTABLE, TENSORS, TRACE, bytes, plan, pte};

const LINEAR: &[&str] = &["1.5.1/linear/linear.pte"];

/// The position of that file's weight, which has 160 bytes.
const WEIGHT: usize = 1536;

/// A pickle that imports `posix.system` and calls it with the text `id`.
const PICKLE: &[u8] = b"\x80\x02cposix\nsystem\nq\0X\x02\0\0\0idq\x01\x85q\x02Rq\x03.";

const ELF: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0";

const MACH_O: &[u8] = b"\xcf\xfa\xed\xfe\x0c\0\0\x01\0\0\0\0\x06\0\0\0\x10\0\0\0";

const ZIP_ENTRY: &[u8] = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0a";

/// The directory of an archive with this entry, and the end record.
const ZIP_END: &[u8] =
    b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0a\
PK\x05\x06\0\0\0\0\x01\0\x01\0\x2f\0\0\0\x1f\0\0\0\0\0";

fn weight(file: &mut [u8], at: usize, start: &[u8]) {
    file[WEIGHT + at..][..start.len()].copy_from_slice(start);
}

fn archive(file: &mut Vec<u8>) {
    file.extend_from_slice(ZIP_ENTRY);
    file.extend_from_slice(ZIP_END);
}

pub fn cases() -> Vec<Case> {
    const RULE: &str = "foreign-format";
    vec![
        bytes("foreign-pickle", RULE, LINEAR, "a weight that begins as a pickle with a call", |file| {
            weight(file, 0, PICKLE);
        }),
        bytes(
            "foreign-pickle-broken",
            RULE,
            LINEAR,
            "a weight that begins as a pickle, broken after its call",
            |file| {
                weight(file, 0, &PICKLE[..PICKLE.len() - 3]);
                weight(file, PICKLE.len() - 3, b"\xff");
            },
        ),
        bytes("foreign-pickle-text", RULE, LINEAR, "a weight that begins as a pickle of protocol 0", |file| {
            weight(file, 0, b"cos\nsystem\n(S'id'\ntR.");
        }),
        bytes("foreign-checkpoint", RULE, LINEAR, "a weight that begins as PyTorch's old checkpoints do", |file| {
            weight(file, 0, b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.");
        }),
        bytes("foreign-elf", RULE, LINEAR, "a weight that begins as an ELF library", |file| weight(file, 0, ELF)),
        bytes("foreign-mach-o", RULE, LINEAR, "a weight that begins as a Mach-O library", |file| {
            weight(file, 0, MACH_O);
        }),
        bytes("foreign-pe", RULE, LINEAR, "a weight that begins as a program for Windows", |file| {
            weight(file, 0, b"MZ");
            weight(file, 60, b"\x50\0\0\0");
            weight(file, 80, b"PE\0\0");
        }),
        bytes("foreign-zip", RULE, LINEAR, "a weight that begins as a ZIP archive", |file| weight(file, 0, ZIP_ENTRY)),
        bytes("foreign-gzip", RULE, LINEAR, "a weight that begins as a file of gzip", |file| {
            weight(file, 0, b"\x1f\x8b\x08\x08\0\0\0\0\0\x03a\0\x4b\x04\0");
        }),
        bytes("foreign-script", RULE, LINEAR, "a weight that begins as a script", |file| {
            weight(file, 0, b"#!/bin/sh\nid\n");
        }),
        bytes("foreign-in-ptd", RULE, TENSORS, "a tensor of a .ptd that begins as a script", |file| {
            file[304..][..16].copy_from_slice(b"#!/bin/sh\nid -u\n");
        }),
        pte("foreign-in-payload", RULE, DELEGATE_INLINE, "a library in a payload for an unknown backend", |pte| {
            plan(pte).delegates.as_mut().unwrap()[0].id = Some("NobodysBackend".into());
            pte.program.backend_delegate_data.as_mut().unwrap()[0].data = Some(ELF.into());
        }),
        bytes("also-zip", "also-zip", LINEAR, "a program with a ZIP archive after its end", archive)
            .also("trailing-bytes"),
        bytes("also-zip-ptd", "also-zip", TENSORS, "a .ptd with a ZIP archive after its end", archive)
            .also("trailing-bytes"),
        bytes("also-zip-inside", "also-zip", LINEAR, "a program whose last weight ends as a ZIP archive", |file| {
            let end = file.len();
            file[end - ZIP_END.len()..].copy_from_slice(ZIP_END);
        }),
        bytes("trailing-elf", "trailing-bytes", ADD, "a library after a program without an extended header", |file| {
            file.extend(ELF);
        }),
        bytes("trailing-mach-o", "trailing-bytes", TENSORS, "a library after the last segment of a .ptd", |file| {
            file.extend(MACH_O);
        }),
        bytes("trailing-script", "trailing-bytes", BUNDLE, "a script after a bundle", |file| {
            file.extend(b"#!/bin/sh\nid\n");
        }),
        bytes("trailing-pe", "trailing-bytes", TRACE, "a program for Windows after a trace", |file| {
            let start = file.len();
            file.extend(b"MZ");
            file.resize(start + 60, 0);
            file.extend(b"\x50\0\0\0");
            file.resize(start + 80, 0);
            file.extend(b"PE\0\0");
        }),
        bytes(
            "trailing-inside",
            "trailing-bytes",
            LINEAR,
            "text in the padding after the program's FlatBuffer",
            |file| {
                // The header counts it as part of the FlatBuffer.
                let end = u64::from_le_bytes(file[16..24].try_into().unwrap());
                file[end as usize..][..6].copy_from_slice(b"hidden");
                file[16..24].copy_from_slice(&(end + 6).to_le_bytes());
            },
        ),
        pte(
            "trailing-payload",
            "trailing-bytes",
            DELEGATE_INLINE,
            "text after the parts of an XNNPACK payload",
            |pte| {
                let payload = &mut pte.program.backend_delegate_data.as_mut().unwrap()[0];
                payload.data.as_mut().unwrap().to_mut().extend(b"hidden");
            },
        ),
        bytes("padding", "padding", MUTABLE, "text in the padding between two segments", |file| {
            file[2360..2366].copy_from_slice(b"hidden");
        }),
    ]
}
