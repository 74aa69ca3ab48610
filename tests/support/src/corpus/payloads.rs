//! Damage to payloads of backends other than XNNPACK.

use super::{
    CORE_ML, CUDA_PAIR, Case, DELEGATE_INLINE, ETHOS_U, ETHOS_U_PAIR, ETHOS_U_PROGRAM, VULKAN, bytes, instructions,
    pair_of, plan, pte,
};
use executorch_format::schema::program::{DelegateCall, InstructionArguments};
use executorch_format::{Pte, Segment};

pub fn cases() -> Vec<Case> {
    // Their base files share vtables between tables of different sizes, since an older `flatbuffers` wrote them.
    let shared = [
        pte("payload-of-another-backend", "payload-kind", VULKAN, "a Vulkan payload for Ethos-U", |pte| {
            plan(pte).delegates.as_mut().unwrap()[0].id = Some("EthosUBackend".into());
        }),
        bytes("payload-of-no-backend", "payload-unknown", VULKAN, "a Vulkan payload without its identifier", |bytes| {
            let start = payload(bytes, b"VH00");
            bytes[start..start + 4].fill(0);
        }),
        bytes(
            "vulkan-identifier",
            "vulkan-payload",
            VULKAN,
            "another identifier of a Vulkan payload's FlatBuffer",
            |bytes| {
                let start = payload(bytes, b"VK00");
                bytes[start + 3] = b'1';
            },
        ),
        bytes("vulkan-output", "vulkan-graph", VULKAN, "an output of a Vulkan graph that is no value", |bytes| {
            bytes[VULKAN_OUTPUT] = 4;
        }),
        bytes(
            "ethos-u-block-size",
            "ethos-u-payload",
            ETHOS_U,
            "a block of an Ethos-U payload that ends past it",
            |bytes| {
                let start = payload(bytes, b"cmd_data");
                bytes[start + 18] = 1;
            },
        ),
        bytes("ethos-u-commands", "ethos-u-payload", ETHOS_U, "a command stream without its first bytes", |bytes| {
            let start = payload(bytes, b"COP1");
            bytes[start] = b'X';
        }),
        bytes(
            "ethos-u-no-scratch-size",
            "ethos-u-payload",
            ETHOS_U,
            "an Ethos-U payload without its scratch size",
            |bytes| {
                let start = payload(bytes, b"scratch_size");
                bytes[start] = b'S';
            },
        ),
        bytes(
            "ethos-u-outside",
            "ethos-u-payload",
            ETHOS_U,
            "an input behind the scratch memory of an Ethos-U",
            |bytes| {
                // The block's header of 32 bytes, the count, the shape and the element size.
                let start = payload(bytes, b"inputs\0") + 32 + 4 + 7 * 4;
                bytes[start + 2] = 1;
            },
        ),
        pte("ethos-u-arguments", "delegate-arguments", ETHOS_U, "a call of an Ethos-U without its output", |pte| {
            call(pte).args.as_mut().unwrap().to_mut().pop();
        }),
        pte("vulkan-arguments", "delegate-arguments", VULKAN, "a call of a Vulkan graph without its output", |pte| {
            call(pte).args.as_mut().unwrap().to_mut().pop();
        }),
        bytes(
            "core-ml-file-list",
            "core-ml-payload",
            CORE_ML,
            "a list of files of a Core ML payload that is cut off",
            |bytes| {
                let start = payload(bytes, b"noigeR");
                bytes[start..start + 2].copy_from_slice(b"}}");
            },
        ),
    ];
    let machine_code = pte("payload-with-machine-code", "native-code", DELEGATE_INLINE, "a delegate for CUDA", |pte| {
        plan(pte).delegates.as_mut().unwrap()[0].id = Some("CudaBackend".into());
        let data = format!("{0}_so_blob\n{0}_weights_blob", "5e".repeat(32));
        pte.program.backend_delegate_data.as_mut().unwrap()[0].data = Some(data.into_bytes().into());
    })
    .also("payload-unchecked");
    shared.map(|case| case.also("vtable-shared")).into_iter().chain([machine_code]).chain(keyed()).collect()
}

/// Returns damage to data that payloads look up by key.
fn keyed() -> Vec<Case> {
    vec![
        pair_of(ETHOS_U_PAIR, "payload-key", "payload-key", "weights of an Ethos-U under another key", |_, ptd| {
            ptd.flat_tensor.named_data.as_mut().unwrap()[0].key = Some("nowhere".into());
        }),
        pair_of(ETHOS_U_PAIR, "payload-data", "payload-data", "other weights of an Ethos-U", |_, ptd| {
            let mut bytes = ptd.segment(0).unwrap().into_owned();
            bytes[0] ^= 1;
            ptd.segments[0] = Segment::Whole(bytes.into());
        }),
        pte(
            "payload-unchecked",
            "payload-unchecked",
            ETHOS_U_PROGRAM,
            "a compile spec is missing, and the .ptd is not given",
            |pte| {
                plan(pte).delegates.as_mut().unwrap()[0].compile_specs.as_mut().unwrap().pop();
            },
        ),
        pair_of(
            CUDA_PAIR,
            "aot-inductor-payload",
            "aot-inductor-payload",
            "the first tensor for CUDA starts at the second element of its storage",
            |pte, _| {
                let mut bytes = pte.segment(1).unwrap().into_owned();
                let key = b"cuda_fqn_weight:cuda:up.weight";
                // After the size of the storage, the type and the device.
                let start = payload(&bytes, key) + key.len() + 8 + 4 + 4;
                bytes[start] = 1;
                pte.segments[1] = Segment::Whole(bytes.into());
            },
        )
        .also("native-code"),
    ]
}

/// Returns the first call of a delegate.
fn call<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut DelegateCall<'a> {
    let mut arguments = instructions(pte).iter_mut().map(|instruction| &mut instruction.instr_args);
    let call = arguments.find_map(|arguments| match arguments {
        InstructionArguments::DelegateCall(call) => Some(call),
        _ => None,
    });
    call.unwrap()
}

/// Returns the position of the bytes `part`.
fn payload(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).position(|bytes| bytes == part).unwrap()
}

/// The position of the graph's first output.
const VULKAN_OUTPUT: usize = 1608;
