//! Damage to headers and to the FlatBuffer itself.

use super::wire::{PLAN, Step::Field, Step::Item, place, put, shared_tree, target, u16_at, u32_at, vtable};
use super::{ADD, ADD_MUL, Case, TENSORS, bytes};

/// Returns the position of the first value of `add.pte`, which is a tensor.
fn first_tensor(file: &[u8]) -> usize {
    let [plans, plan] = PLAN;
    let value = place(file, &[plans, plan, Field(2), Item(0), Field(1)]);
    target(file, value)
}

pub fn cases() -> Vec<Case> {
    vec![
        bytes("identifier-version", "identifier", ADD, "the identifier is ET11", |file| put(file, 4, b"ET11")),
        bytes("identifier-unknown", "identifier", ADD, "the identifier is ABCD", |file| put(file, 4, b"ABCD")),
        bytes("identifier-ptd-version", "identifier", TENSORS, "the identifier is FT99", |file| put(file, 4, b"FT99")),
        bytes("truncated-head", "truncated", ADD, "only 6 bytes are left", |file| file.truncate(6)),
        bytes("truncated-header", "truncated", ADD_MUL, "only 24 bytes are left", |file| file.truncate(24)),
        bytes(
            "truncated-program",
            "truncated",
            ADD_MUL,
            "the second half of the program and all that follows is missing",
            |file| {
                file.truncate(600);
            },
        ),
        bytes("truncated-segments", "truncated", ADD_MUL, "the last byte is missing", |file| {
            file.pop();
        }),
        bytes("truncated-ptd", "truncated", TENSORS, "the last byte is missing", |file| {
            file.pop();
        }),
        bytes("header-short", "extended-header", ADD_MUL, "the header's length is 23", |file| put(file, 12, &[23])),
        bytes("header-program-size", "extended-header", ADD_MUL, "the program's size is 4", |file| {
            put(file, 16, &4u64.to_le_bytes());
        }),
        bytes(
            "header-base-in-program",
            "segments-in-metadata",
            ADD_MUL,
            "the segments start inside the program",
            |file| {
                put(file, 24, &64u64.to_le_bytes());
            },
        )
        .also("trailing-bytes"),
        bytes(
            "header-sum-wraps",
            "extended-header",
            ADD_MUL,
            "the sum of segment base offset and segment data size wraps around to 16",
            |file| {
                put(file, 24, &(u64::MAX - 15).to_le_bytes());
            },
        )
        .history("audit: header sums that wrap"),
        bytes("header-length", "header-length", ADD_MUL, "the header's length is 5000", |file| {
            put(file, 12, &5000u32.to_le_bytes());
        }),
        bytes("ptd-header-short", "extended-header", TENSORS, "the header's length is 39", |file| put(file, 12, &[39])),
        bytes(
            "ptd-header-flatbuffer-wraps",
            "extended-header",
            TENSORS,
            "the sum of flatbuffer offset and size overflows",
            |file| {
                put(file, 24, &u64::MAX.to_le_bytes());
            },
        )
        .history("audit: header sums that wrap"),
        bytes(
            "ptd-header-segments-wrap",
            "extended-header",
            TENSORS,
            "the sum of segment base offset and segment data size overflows",
            |file| {
                put(file, 32, &(u64::MAX - 15).to_le_bytes());
            },
        )
        .history("audit: header sums that wrap"),
        bytes("root-offset-outside", "offset", ADD, "the root table is 2 GiB away", |file| {
            put(file, 0, &0x7fff_fff0u32.to_le_bytes());
        })
        .history("audit: root offset outside the buffer"),
        bytes("root-offset-zero", "offset", ADD, "the root offset is 0", |file| put(file, 0, &[0; 4])),
        bytes("offset-zero", "offset", ADD, "the offset of execution_plan is 0", |file| {
            let at = place(file, &[Field(1)]);
            put(file, at, &[0; 4]);
        }),
        bytes("offset-outside", "offset", ADD, "the offset of the first method points past the end", |file| {
            let at = place(file, &PLAN);
            put(file, at, &0x00ff_ff00u32.to_le_bytes());
        }),
        bytes("vtable-outside", "vtable", ADD, "the root's vtable is outside the file", |file| {
            let root = target(file, 0);
            put(file, root, &0x4000_0000u32.to_le_bytes());
        }),
        bytes("vtable-odd", "vtable", ADD, "the length of the root's vtable is odd", |file| {
            let at = vtable(file, target(file, 0));
            let odd = u16_at(file, at) as u16 - 1;
            put(file, at, &odd.to_le_bytes());
        }),
        bytes("vtable-field-outside", "table", ADD, "the first tensor's sizes are outside the FlatBuffer", |file| {
            let at = vtable(file, first_tensor(file)) + 4 + 2 * 2;
            put(file, at, &0x7ff0u16.to_le_bytes());
        }),
        bytes(
            "vtable-large-inline-size",
            "table",
            ADD,
            "the first tensor's sizes are outside the FlatBuffer, but inside the inline size in its vtable",
            |file| {
                let at = vtable(file, first_tensor(file));
                put(file, at + 2, &0xfffcu16.to_le_bytes());
                put(file, at + 4 + 2 * 2, &0x7ff0u16.to_le_bytes());
            },
        ),
        bytes(
            "vtable-inline-size-past-end",
            "vtable-shared",
            ADD,
            "a table near the end of the file, with an inline size that extends past the end; readers ignore that size",
            |file| {
                let container = place(file, &[Field(1), Item(0), Field(1)]);
                file.resize(file.len().next_multiple_of(4), 0);
                // A vtable, the table with two offsets, and the empty string to which both point.
                [8u16, 0x100, 4, 8].into_iter().for_each(|word| file.extend(word.to_le_bytes()));
                let table = file.len();
                [8u32, 8, 4, 0, 0].into_iter().for_each(|word| file.extend(word.to_le_bytes()));
                put(file, container, &((table - container) as u32).to_le_bytes());
            },
        ),
        bytes(
            "vtable-entry",
            "vtable-entry",
            ADD,
            "requires_grad of the first tensor overlaps the offset to its vtable",
            |file| {
                let at = vtable(file, first_tensor(file)) + 4 + 2 * 4;
                put(file, at, &2u16.to_le_bytes());
            },
        )
        .also("bool"),
        bytes("vtable-size", "vtable-size", ADD, "the inline size in the first tensor's vtable is 2", |file| {
            let at = vtable(file, first_tensor(file)) + 2;
            put(file, at, &2u16.to_le_bytes());
        }),
        bytes(
            "vector-alignment",
            "vector-alignment",
            ADD,
            "the sizes of the planned buffers, 8 bytes each, start at a multiple of 4, but not of 8",
            |file| {
                let at = place(file, &[Field(1), Item(0), Field(8)]);
                let list = target(file, at);
                let list = file[list..list + 4 + 8 * u32_at(file, list)].to_vec();
                let copy = file.len().next_multiple_of(8);
                put(file, at, &((copy - at) as u32).to_le_bytes());
                file.resize(copy, 0);
                file.extend(list);
            },
        ),
        bytes("table-unaligned-field", "table", ADD, "the field of the first tensor's sizes is misaligned", |file| {
            let at = vtable(file, first_tensor(file)) + 4 + 2 * 2;
            let odd = u16_at(file, at) as u16 + 1;
            put(file, at, &odd.to_le_bytes());
        }),
        bytes("vector-count", "vector", ADD, "the first tensor has 2^30 sizes, whose bytes overflow 32 bits", |file| {
            let at = target(file, place(file, &[Field(1), Item(0), Field(2), Item(0), Field(1), Field(2)]));
            put(file, at, &0x4000_0000u32.to_le_bytes());
        }),
        bytes("text-utf8", "text-utf8", ADD, "the method's name is not UTF-8", |file| {
            let at = target(file, place(file, &[Field(1), Item(0), Field(0)]));
            put(file, at + 4, &[0xff]);
        }),
        bytes("string-end", "string", ADD, "no NUL follows the method's name", |file| {
            let at = target(file, place(file, &[Field(1), Item(0), Field(0)]));
            let end = at + 4 + u32_at(file, at);
            put(file, end, b"x");
        }),
        bytes("union-tag", "value-kind", ADD, "the first value has content, but no kind", |file| {
            let at = place(file, &[Field(1), Item(0), Field(2), Item(0), Field(0)]);
            put(file, at, &[0]);
        }),
        bytes("bool", "bool", ADD_MUL, "requires_grad of the first tensor is 2", |file| {
            let at = place(file, &[Field(1), Item(0), Field(2), Item(0), Field(1), Field(4)]);
            put(file, at, &[2]);
        }),
        bytes(
            "budget",
            "limit",
            ADD,
            "a program of 256 methods, all the same table, with 256 values, all the same table",
            |file| {
                *file = shared_tree();
            },
        )
        .history("style: an exponential tree in a small file"),
    ]
}
