//! Damage to the root's lists, to the segments, and to a method as a whole.

use super::wire::{Step::Field, Step::Item, place, put};
use super::{ADD, ADD_MUL, Case, DELEGATE, MUTABLE, bytes, list, plan, pte, tensor};
use executorch_format::schema::DataSegment;
use executorch_format::schema::program::{Buffer, DeviceType, NamedData, NonConstBufferDevice, SubsegmentOffsets};
use executorch_format::{Pte, Segment};
use std::borrow::Cow;

fn named(pte: &mut Pte<'_>, index: usize, key: Option<&'static str>) {
    pte.program.named_data.as_mut().unwrap()[index].key = key.map(Into::into);
}

/// Changes a field of a segment of `linear_xnnpack.pte`: id 0 is the offset, 1 the size.
fn segment(file: &mut [u8], index: usize, field: usize, number: u64) {
    let at = place(file, &[Field(4), Item(index), Field(field)]);
    put(file, at, &number.to_le_bytes());
}

/// Adds a segment of `bytes` after the others.
fn add_segment(pte: &mut Pte<'_>, bytes: &'static [u8]) {
    let header = pte.header.as_mut().unwrap();
    let end = header.segment_data_size.unwrap().next_multiple_of(128);
    header.segment_data_size = Some(end + bytes.len() as u64);
    pte.program.segments.as_mut().unwrap().push(DataSegment { offset: end, size: bytes.len() as u64 });
    pte.segments.push(Segment::Whole(Cow::Borrowed(bytes)));
}

pub fn cases() -> Vec<Case> {
    [root(), segments(), names(), method()].into_iter().flatten().collect()
}

fn root() -> Vec<Case> {
    vec![
        pte("program-version", "program-version", ADD, "the schema version is 1", |pte| pte.program.version = 1),
        pte("execution-plan", "execution-plan", ADD, "execution_plan is absent", |pte| {
            pte.program.execution_plan = None
        })
        .history("audit: null execution plan"),
        pte("constant-buffer", "constant-buffer", ADD, "constant_segment is absent", |pte| {
            pte.program.constant_segment = None;
        }),
        pte(
            "constants-twice",
            "constants-twice",
            ADD_MUL,
            "constant_buffer has an entry in addition to the constant segment",
            |pte| {
                pte.program.constant_buffer = Some(vec![Buffer::default()]);
            },
        ),
        pte("constant-segment", "constant-segment", ADD_MUL, "the constants are in segment 9", |pte| {
            pte.program.constant_segment.as_mut().unwrap().segment_index = 9;
            // Keeps a reference to segment 0.
            pte.program.mutable_data_segments = Some(vec![SubsegmentOffsets { segment_index: 0, offsets: list(&[0]) }]);
        }),
        pte(
            "named-data-without-segments",
            "named-data-segment",
            ADD,
            "named_data is present, but segments is absent",
            |pte| {
                pte.program.named_data = Some(vec![NamedData { key: Some("weight".into()), segment_index: 0 }]);
                pte.program.segments = None;
                pte.segments.clear();
            },
        )
        .history("audit: null segments"),
        pte("named-data-segment", "named-data-segment", ADD, "a named blob is in segment 9", |pte| {
            pte.program.named_data = Some(vec![NamedData { key: Some("weight".into()), segment_index: 9 }]);
        })
        .strict(),
        pte("named-data-key", "named-data-key", DELEGATE, "the first key is absent", |pte| named(pte, 0, None))
            .also("xnnpack-unchecked"),
        pte("constant-placeholder", "constant-placeholder", ADD_MUL, "the first constant offset is 16", |pte| {
            pte.program.constant_segment.as_mut().unwrap().offsets = list(&[16, 0, 16]);
        }),
        pte(
            "constant-alignment",
            "constant-alignment",
            ADD_MUL,
            "the first constant starts at offset 8, and is half as long",
            |pte| {
                pte.program.constant_segment.as_mut().unwrap().offsets = list(&[0, 8, 16]);
                tensor(pte, 0).sizes = list(&[1, 2]);
            },
        )
        .also("kernel-shape"),
        pte("constant-overlap", "constant-overlap", MUTABLE, "the second constant starts inside the first", |pte| {
            pte.program.constant_segment.as_mut().unwrap().offsets = list(&[0, 0, 16]);
        }),
        pte(
            "initial-state-lists-shared",
            "initial-state-lists-shared",
            MUTABLE,
            "a second list of initial states is in the same segment",
            |pte| {
                let lists = pte.program.mutable_data_segments.as_mut().unwrap();
                lists.push(SubsegmentOffsets { segment_index: 1, offsets: list(&[0]) });
            },
        ),
    ]
}

fn segments() -> Vec<Case> {
    vec![
        bytes("segment-bounds", "segment-bounds", DELEGATE, "the last segment is 2^32 bytes long", |file| {
            segment(file, 3, 1, 1 << 32);
        }),
        bytes(
            "segment-wraps",
            "segment-bounds",
            DELEGATE,
            "the sum of offset and size of the last segment overflows",
            |file| {
                segment(file, 3, 1, u64::MAX - 100);
            },
        )
        .history("audit: sums that wrap"),
        bytes(
            "segment-bounds-no-header",
            "segment-bounds",
            ADD_MUL,
            "the header's magic is overwritten, so that segments are read from byte 0, and one is 2^40 bytes long",
            |file| {
                segment(file, 0, 1, 1 << 40);
                put(file, 8, &[0; 4]);
            },
        )
        .also("segment-base"),
        bytes(
            "segment-base",
            "segment-base",
            ADD_MUL,
            "the header's magic is overwritten, so nothing says where the segments start",
            |file| {
                put(file, 8, &[0; 4]);
            },
        )
        .strict(),
        bytes(
            "segment-data-size",
            "segment-data-size",
            DELEGATE,
            "the segments take 1040 bytes according to the header, but end at 1044",
            |file| {
                put(file, 32, &1040u64.to_le_bytes());
            },
        )
        .strict(),
        bytes("segment-overlap", "segment-overlap", DELEGATE, "the third segment starts inside the second", |file| {
            segment(file, 2, 0, 640);
        })
        // The old place of the segment is empty.
        .also("padding"),
        pte("segment-order", "segment-order", DELEGATE, "the last two segments are swapped", |pte| {
            pte.program.segments.as_mut().unwrap().swap(2, 3);
            pte.segments.swap(2, 3);
            for named in pte.program.named_data.as_mut().unwrap() {
                named.segment_index = 5 - named.segment_index;
            }
        }),
        pte(
            "segment-unreferenced",
            "segment-unreferenced",
            ADD_MUL,
            "one more segment, to which nothing refers",
            |pte| {
                add_segment(pte, b"what is this for");
            },
        ),
        bytes("trailing-bytes", "trailing-bytes", ADD_MUL, "seven bytes after the last segment", |file| {
            file.extend(b"surplus");
        }),
    ]
}

fn names() -> Vec<Case> {
    vec![
        pte("method-name-unique", "method-name-unique", ADD, "the method occurs twice", |pte| {
            let twin = plan(pte).clone();
            pte.program.execution_plan.as_mut().unwrap().push(twin);
        }),
        pte("name-nul", "name-nul", ADD, "the method's name has a NUL inside", |pte| {
            plan(pte).name = Some("for\0ward".into());
        }),
        pte("name-escape", "name-deceptive", ADD, "the method's name clears a terminal", |pte| {
            plan(pte).name = Some("for\u{1b}[2Jward".into());
        }),
        pte("name-direction", "name-deceptive", DELEGATE, "the first key is shown backwards", |pte| {
            named(pte, 0, Some("\u{202e}thgiew"));
        })
        .also("xnnpack-unchecked"),
        pte("name-alike", "name-alike", DELEGATE, "the keys differ in a Cyrillic letter", |pte| {
            named(pte, 0, Some("scale"));
            named(pte, 1, Some("sc\u{430}le"));
        })
        .also("xnnpack-unchecked"),
        pte("key-unique", "key-unique", DELEGATE, "both keys are equal", |pte| {
            named(pte, 0, Some("weight"));
            named(pte, 1, Some("weight"));
        })
        .also("xnnpack-unchecked"),
        pte("key-empty", "key-empty", DELEGATE, "the first key is empty", |pte| named(pte, 0, Some("")))
            .also("xnnpack-unchecked"),
        pte("key-prefix", "key-prefix", DELEGATE, "the first key is a prefix of the second", |pte| {
            named(pte, 0, Some("weight"));
            named(pte, 1, Some("weight.scale"));
        })
        .also("xnnpack-unchecked"),
    ]
}

fn method() -> Vec<Case> {
    vec![
        pte("plan-name", "plan-name", ADD, "the method has no name", |pte| plan(pte).name = None)
            .history("audit: null plan name"),
        pte("plan-values", "plan-field", ADD, "values and everything that refers to it are absent", |pte| {
            let plan = plan(pte);
            plan.values = None;
            (plan.inputs, plan.outputs) = (list(&[]), list(&[]));
            plan.chains.as_mut().unwrap()[0].instructions = Some(Vec::new());
        })
        .history("audit: null values"),
        pte("plan-inputs", "plan-field", ADD, "inputs is absent", |pte| plan(pte).inputs = None),
        pte("plan-outputs", "plan-field", ADD, "outputs is absent", |pte| plan(pte).outputs = None),
        pte("plan-delegates", "plan-field", ADD, "delegates is absent", |pte| plan(pte).delegates = None),
        pte("encoded-output", "encoded-output", ADD, "container_meta_type is absent", |pte| {
            plan(pte).container_meta_type = None;
        }),
        pte("planned-buffer-size", "planned-buffer-size", ADD, "the planned buffer has −48 bytes", |pte| {
            plan(pte).non_const_buffer_sizes = list(&[0, -48]);
        })
        .history("audit: negative planned sizes"),
        pte("planned-buffer-zero", "planned-buffer-zero", ADD, "planned buffer 0 has 16 bytes", |pte| {
            plan(pte).non_const_buffer_sizes = list(&[16, 48]);
        }),
        pte("chains-absent", "chains", ADD, "chains is absent", |pte| plan(pte).chains = None),
        pte("chains-empty", "chains", ADD, "chains is empty", |pte| plan(pte).chains = Some(Vec::new())),
        pte("instructions", "instructions", ADD, "the chain's instructions are absent", |pte| {
            plan(pte).chains.as_mut().unwrap()[0].instructions = None;
        }),
        pte("input-index", "input-output-index", ADD, "the second input is value 99", |pte| {
            plan(pte).inputs = list(&[0, 99]);
        }),
        pte("output-index", "input-output-index", ADD, "the output is value −1", |pte| {
            plan(pte).outputs = list(&[-1])
        }),
        pte("output-kind", "input-output-kind", super::STACK_TRACE, "the output is a list of integers", |pte| {
            plan(pte).outputs = list(&[6]);
        }),
        pte("device-type", "device-type", ADD, "the planned buffer is on a device of kind 77", |pte| {
            plan(pte).non_const_buffer_device = Some(vec![device(1, DeviceType(77), 0)]);
        }),
        pte("device-index", "device-index", ADD, "the planned buffer is on CUDA device −2", |pte| {
            plan(pte).non_const_buffer_device = Some(vec![device(1, DeviceType::CUDA, -2)]);
        }),
        pte("buffer-device-index", "buffer-device-index", ADD, "a device for planned buffer 2 of 1", |pte| {
            plan(pte).non_const_buffer_device = Some(vec![device(2, DeviceType::CUDA, 0)]);
        }),
        pte("buffer-device-unique", "buffer-device-unique", ADD, "two devices for planned buffer 1", |pte| {
            let devices = vec![device(1, DeviceType::CPU, 0), device(1, DeviceType::CUDA, 0)];
            plan(pte).non_const_buffer_device = Some(devices);
        }),
    ]
}

fn device(buffer_idx: i32, device_type: DeviceType, device_index: i8) -> NonConstBufferDevice {
    NonConstBufferDevice { buffer_idx, device_type, device_index }
}
