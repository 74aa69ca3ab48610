//! Questions of public reports about ExecuTorch, and jobs, with the right answers: each is answered by one command.

use crate::cli::{TempFile, pte, run, text};
use executorch_format_support::data;

/// A question of public reports.
struct Question {
    /// Numbers of issues and pull requests of pytorch/executorch, unless another repository is named.
    reports: &'static str,
    /// The command, with paths below the test data.
    command: &'static str,
    code: i32,
    answers: &'static [&'static str],
}

const fn question(
    reports: &'static str,
    command: &'static str,
    code: i32,
    answers: &'static [&'static str],
) -> Question {
    Question { reports, command, code, answers }
}

const LLM: &str = "needs kernels of llm: custom_sdpa, update_cache (in the C++ library custom_ops, and in Python after `import executorch.extension.llm.custom_ops.custom_ops`)";

const QUESTIONS: &[Question] = &[
    question(
        "huggingface/optimum-executorch#154, #5669, #8477",
        "verify answers/llama_custom_kv.pte answers/llama_update_cache.pte",
        0,
        &["llama_custom_kv.pte: ok", "llama_update_cache.pte: ok", LLM, "0 errors, 0 warnings"],
    ),
    question(
        "#9021, #10347",
        "verify payloads/dynamic_conv2d.pte answers/dq_two_convs.pte",
        0,
        &["2 files checked (strict), 0 with errors: 0 errors, 0 warnings"],
    ),
    question(
        "#21893",
        "list payloads/ethosu_external/ethosu_external_weights.pte payloads/ethosu_external/ethosu_external_weights.w.ptd",
        0,
        &["42b0fb265c1318eb359e9c7450e02a36aee393a66c88f37bf5d8382e0e06", "144 B"],
    ),
    // Without the file, the size of the data is not known.
    question(
        "#21893",
        "list payloads/ethosu_external/ethosu_external_weights.pte",
        0,
        &["not known  delegate 0  block 2, weight_data"],
    ),
    question(
        "#21893",
        "info payloads/ethosu_external/ethosu_external_weights.pte",
        0,
        &[
            "payloads use    1, size not known, for 1 value",
            "memory of a run at least 6.9 KiB",
            "data of an Ethos-U in .ptd files that were not given",
        ],
    ),
    question(
        "#21893",
        "info --contract payloads/ethosu_external/ethosu_external_weights.pte --data payloads/ethosu_external/ethosu_external_weights.w.ptd",
        0,
        &["- In 1.5: not known: payload-not-checked", "- Backend EthosUBackend: 1 delegate, for ethos-u55-128"],
    ),
    question(
        "#21893",
        "fit --target official payloads/ethosu_external/ethosu_external_weights.pte",
        1,
        &["external data: the data of 1 blob of Ethos-U, such as \"42b0fb26", "none that was given has it"],
    ),
    question(
        "#21893",
        "verify payloads/ethosu_external/ethosu_external_weights.pte payloads/ethosu_external/ethosu_external_weights.w.ptd",
        0,
        &["ethosu_external_weights.pte: ok", "ethosu_external_weights.w.ptd: ok"],
    ),
    question(
        "#21893",
        "info payloads/ethosu_external/ethosu_external_weights.pte",
        0,
        &["loads in        1.5 (1.4 loads, but computes wrong results: newer-payload)"],
    ),
    question(
        "#21828, #21866",
        "verify flow/view_of_channels_last.pte",
        1,
        &[
            "view-layout: ",
            "call `.contiguous()` before the view, or export with contiguous inputs",
            "in 1.5: computes wrong results",
        ],
    ),
    question(
        "#21828, #21866",
        "verify kernels/nonzero_dim_order_1_0.pte",
        0,
        &[
            "kernel-wrong-values: ",
            "aten::nonzero.out",
            "export the model and its inputs contiguous",
            "in 1.5: computes wrong results",
        ],
    ),
    question(
        "#21847, #22237",
        "verify malformed/vulkan-arguments.pte",
        1,
        &["delegate-arguments: ", "1 argument, expected those of the payload: 1 input and 1 output"],
    ),
    question("#21847, #22237", "verify answers/vk_emb64.pte", 0, &["vk_emb64.pte: ok"]),
    question(
        "#21823",
        "list payloads/cuda/cuda_fqn.pte",
        0,
        &[
            "up.weight f32[6, 4] cuda_fqn_weight:cuda:up.weight",
            "up.bias f32[6]",
            "down.weight f32[3, 6]",
            "down.bias f32[3]",
            " 96 B ",
            " 24 B ",
            " 72 B ",
            " 12 B ",
        ],
    ),
    question(
        "#21823",
        "verify --runtime all payloads/cuda/cuda_fqn.pte payloads/cuda/cuda_fqn.ptd",
        1,
        &["1.4 refuses: newer-payload: ", "weights for CUDA with their names, which the backend reads since 1.5"],
    ),
    question(
        "#1176, #4973, #8762, #9637, #21452, #22521, #20619",
        "info answers/qnn.pte",
        0,
        &["for SM8650, HTP V75, 8 MB of VTCM, quantized, compiled ahead of time, SDK v2.37.0"],
    ),
    question("#6984", "info answers/coreml_ios18.pte", 0, &["for iOS 18 or newer, macOS 15 or newer"]),
    question(
        "#4777, #15231, #14192",
        "metadata metadata/llm_metadata.pte --set get_eos_ids=[128009,128001] --dry-run",
        0,
        &["changed get_eos_ids from [2,3] to [128009,128001]"],
    ),
    question(
        "#21821",
        "fit answers/banks.pte --target answers/banks_target.toml",
        1,
        &["1 thing missing", "memory id 2 (span 1): 8192 bytes are needed and 4096 available, 4096 too few"],
    ),
    question("#10325, pytorch/torchchat#1506", "info answers/emb4.pte", 0, &["0 MACs, 4,096 parameters"]),
    question("#10325, pytorch/torchchat#1506", "info answers/emb8.pte", 0, &["0 MACs, 4,096 parameters"]),
    question("#10325, pytorch/torchchat#1506", "info answers/q4llm.pte", 0, &[" MACs, 20,480 parameters"]),
    question(
        "#10325, pytorch/torchchat#1506",
        "fit --target python-1.5 answers/q4llm.pte",
        1,
        &[
            "no quantized_decomposed::embedding_4bit.out (in Python after `import executorch.kernels.quantized`) in its python-wheel kernels",
        ],
    ),
    question(
        "#16704",
        "verify malformed/encoded-output.pte",
        0,
        &["encoded-output: ", "asking for that crashes it before 1.2, and is an error since"],
    ),
    question(
        "#21480",
        "verify --runtime 0.7..1.4 answers/prelu.pte",
        1,
        &["0.7..1.3 loads, but computes wrong results: xnnpack-freed-constants: ", "1.4 loads"],
    ),
    question(
        "#21773",
        "verify --runtime 1.4..1.5 names/dynamic_linear32.pte",
        1,
        &[
            "1.4 loads, but computes wrong results: known-fault: ",
            "zero points of channels of type i32",
            "1.5 loads: needs kernels",
        ],
    ),
    question(
        "software-mansion/react-native-executorch#1323, #1292, #1324, #1327, #1374, LibreYOLO#667",
        "info --contract answers/kwargs_dict_outputs.pte",
        0,
        &["| 1 | bias | f32 | 3 |", "| 2 | mask | f32 | 3 |", "| 0 | y | f32 | 3 |", "| 1 | a | f32 | 3 |"],
    ),
    question(
        "dariyooo/DaKanji-Single-Kanji-Recognition#7",
        "info answers/kanji_xnn.pte",
        0,
        &["planned 64.0 MiB", "XNNPACK workspace 768.0 MiB"],
    ),
    question(
        "#10297, #16779, #20384, #12495",
        "ops --delegated etrecord/net_xnnpack.pte",
        0,
        &[
            "calls    88.9 %  8 of 9 operators, 1 left",
            "MACs    100.0 %",
            "aten::mean.out",
            "f32 4-D contiguous, f32 2-D contiguous",
        ],
    ),
    question(
        "#12495",
        "ops --delegated etrecord/net_xnnpack.pte --trace etrecord/net_xnnpack.etdp",
        0,
        &["MACs    100.0 %  49,288 of 49,288", "time     69.2 %  of instructions, in 1 run"],
    ),
    question(
        "#22333",
        "disasm answers/vk_emb64.pte",
        0,
        &["f32[4, 8] texture_3d tensor_width_packed argument 1 = aten.embedding.default(weight #0 f32[64, 8] constant"],
    ),
    // The jobs that were asked beside the reports. Others are in `docs/jobs.md`; MobileNetV2 and ViT are in `.ci/zoo`.
    question(
        "job: the memory of a run",
        "info answers/kanji_xnn.pte",
        0,
        &["memory of a run at most 3.1 GiB: planned 64.0 MiB, method 608 B, XNNPACK workspace 768.0 MiB"],
    ),
    question(
        "job: the error of quantization by layer",
        "diff --tensors --by module names/cnn.pte names/cnn_tensor.pte",
        1,
        &["47.8 dB", "up.weight", "48.9 dB", "dw.weight"],
    ),
    question(
        "job: a profile by module",
        "profile etrecord/net_xnnpack.etdp --program etrecord/net_xnnpack.pte --by module",
        0,
        &["67.8 % in delegates", "7.0 %", "head"],
    ),
    question(
        "job: a trace beside the wrong program",
        "profile payloads/profile_xnnpack.etdp --program 1.5.1/add/add.pte",
        1,
        &["\"DELEGATE_CALL\" at instruction 0, which is a KernelCall, expected a DelegateCall"],
    ),
    question(
        "job: the weights of an XNNPACK program as safetensors",
        "convert --dry-run etrecord/net_xnnpack.pte weights.safetensors",
        0,
        &["weights.safetensors: would have 6604 bytes", "9 tensors"],
    ),
    question(
        "job: new weights from a state dict",
        "replace names/cnn.pte names/cnn.safetensors --dry-run",
        0,
        &["stem.weight: permuted OIHW to OHWI", "up.weight: permuted IOHW to OHWI", "9 changes"],
    ),
    question(
        "job: what a base model and its adapters share",
        "size --shared names/cnn.pte names/cnn_portable.pte 1.5.1/add/add.pte",
        0,
        &["6 blobs, 424 bytes in 2 files: names/cnn.pte, names/cnn_portable.pte"],
    ),
    question(
        "job: Cortex-M with an Ethos-U55",
        "memory answers/ethosu_inline.pte",
        0,
        &["2.5 KiB planned", "Ethos-U scratch      1.0 KiB  from the temporary allocator"],
    ),
    question(
        "job: a gate in CI that reads JSON",
        "diff 1.5.1/add_mul/add_mul.pte 1.5.1/linear/linear.pte --fail-on memory --json",
        1,
        &["\"exceeded\": [{", "expected a growth of at most 0 bytes"],
    ),
    question(
        "job: ELF appended to an upload",
        "verify --deny trailing-bytes malformed/trailing-elf.pte",
        1,
        &["error: trailing-bytes: 24 bytes after the last", "among them an ELF file"],
    ),
    // Reports that were answered before.
    question("#22118", "verify malformed/root-offset-outside.pte", 1, &["error: offset: "]),
    question("#19285, #19055, #19121, #16706", "verify malformed/segment-wraps.pte", 1, &["error: segment-bounds: "]),
    question("#19453", "verify malformed/vulkan-flatbuffer.pte", 1, &["error: vulkan-payload: "]),
    question("#9534, #10961, #17661", "verify malformed/xnnpack-reshape.pte", 1, &["error: xnnpack-node-shape: "]),
    question(
        "#19593",
        "verify malformed/xnnpack-constant-index.pte",
        1,
        &["error: xnnpack-constant-index: ", "expected an index below 3"],
    ),
    // The caches of a language model: memory id, offset and size of each.
    question(
        "#3518",
        "memory answers/llama_custom_kv.pte --top 100",
        0,
        &[
            "memory id 1",
            "%7  1.0 KiB   10752  always",
            "%8  1.0 KiB    9728  always",
            "f32[1, 16, 2, 8] mutable buffer",
        ],
    ),
    // A state with and without initial values.
    question(
        "#7279",
        "info 1.5.1/mutable_init/mutable_init.pte",
        0,
        &["initial states  2, 28 B, for 2 mutable tensors"],
    ),
    question(
        "#7279",
        "info 1.5.1/mutable_plain/mutable_plain.pte",
        0,
        &["mutable buffers 28 B, without initial values: %0, %1"],
    ),
    // Operators that write the place of an input.
    question("#19067, #19482", "verify answers/reinplaced.pte", 0, &["reinplaced.pte: ok"]),
    question(
        "#7748",
        "verify --runtime 0.4..0.6 answers/layer_norm_half.pte",
        1,
        &["0.4..0.5 ", "known-fault: ", "f16 or bf16, for which the kernels have no code before 0.6", "0.6 loads"],
    ),
    question(
        "#21950, #7459",
        "verify --runtime 1.5 --libraries portable answers/emb4.pte",
        1,
        &["no quantized_decomposed::embedding_4bit.out (in the C++ library quantized_ops_lib)"],
    ),
    question(
        "#14804, #2163, #1350, #3636, #7678",
        "info payloads/profile_xnnpack.pte",
        0,
        &["inputs          0: f32["],
    ),
    question(
        "#3515",
        "info 1.5.1/plan_no_io/plan_no_io.pte",
        0,
        &["outputs         0: f32[", "in the caller's memory"],
    ),
];

#[test]
fn reports_are_answered_by_one_command() {
    let mut wrong = String::new();
    for Question { reports, command, code, answers } in QUESTIONS {
        let output = pte().current_dir(data()).args(command.split(' ')).output().unwrap();
        let told = text(&output.stdout) + &text(&output.stderr);
        for answer in answers.iter().filter(|answer| !told.contains(**answer)) {
            wrong += &format!("{reports}: pte {command}: {answer} is not in\n{told}\n");
        }
        if output.status.code() != Some(*code) {
            wrong += &format!("{reports}: pte {command}: {}, expected {code}\n{told}\n", output.status);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// #22579: sizes, counts and offsets of an Ethos-U's inputs, which the backend does not check.
#[test]
fn blocks_of_an_ethos_u_outside_its_memory_are_errors() {
    let file = std::fs::read(data().join("answers/ethosu_inline.pte")).unwrap();
    assert_eq!(file[3872], 0o200);
    type Case<'c> = (&'c str, &'c [(usize, u8)], &'c str);
    let cases: [Case<'_>; 5] = [
        (
            "offset beyond the end",
            &[(3872, 0), (3874, 0o20)],
            "at offset 1048576, expected a place inside the scratch memory of 1024 bytes",
        ),
        (
            "negative offset",
            &[(3872, 0o300), (3873, 255), (3874, 255), (3875, 255)],
            "at offset -64, expected a place inside",
        ),
        ("no output", &[(3920, 0)], "no outputs, expected at least one"),
        ("elements of no size", &[(3868, 0)], "with elements of 0 bytes"),
        ("huge shape", &[(3844, 0o240), (3845, 0o206), (3846, 1)], "input 0 of sizes [100000, 1, 1, 2, 8, 8]"),
    ];
    for (name, changes, answer) in cases {
        let mut changed = file.clone();
        changes.iter().for_each(|(at, byte)| changed[*at] = *byte);
        let changed = TempFile::new("ethosu.pte", &changed);
        let output = run(&["verify"], &[&changed.0]);
        let told = text(&output.stdout);
        assert!(told.contains("error: ethos-u-payload: ") && told.contains(answer), "{name}: {told}");
        assert!(told.contains("in 1.5: dies or corrupts memory when it runs"), "{name}: {told}");
        assert_eq!(output.status.code(), Some(1), "{name}");
    }
}

/// #2533: the file does not load after the download.
#[test]
fn damage_of_a_download_is_named_with_a_remedy() {
    let file = std::fs::read(data().join("1.5.1/add_mul/add_mul.pte")).unwrap();
    let with_line_feeds = [&file[..file.len() - 64], b"\n\n\n", &file[file.len() - 64..]].concat();
    let line_ends =
        with_line_feeds.iter().flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] });
    let base64 = "AAAAAEVUMTJlaDAwIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".repeat(20);
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("line ends", line_ends.collect(), "a transfer as text has damaged the file; fetch it again as binary"),
        (
            "text",
            String::from_utf8_lossy(&file).into_owned().into_bytes(),
            "decoded as text, and is damaged beyond repair; fetch it again as binary",
        ),
        ("half", file[..file.len() / 2].to_vec(), "the file is incomplete: fetch it again, and compare its size"),
        ("zeros", vec![0; file.len()], "its content was never written; fetch it again"),
        ("base64", base64.into_bytes(), "base64 of a file of ExecuTorch: decode it first"),
    ];
    for (name, bytes, answer) in cases {
        let damaged = TempFile::new("damaged.pte", &bytes);
        let output = run(&["verify"], &[&damaged.0]);
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(told.contains(answer), "{name}: {told}");
        assert_ne!(output.status.code(), Some(0), "{name}");
    }
}

/// #19477: a grammar as named data, added together with other changes.
#[test]
fn metadata_grows_by_what_is_added() {
    let grammar = TempFile::new("grammar.json", &[b'x'; 100]);
    let made = TempFile::new("made.pte", b"");
    std::fs::remove_file(&made.0).unwrap();
    let grammar = format!("metadata.grammar=@{}", grammar.0.display());
    let out = made.0.to_str().unwrap();
    let output = run(
        &["metadata", "--set", "get_eos_ids=5", "--set", &grammar, "-o", out],
        &[&data().join("metadata/llm_metadata.pte")],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sizes = [&data().join("metadata/llm_metadata.pte"), &made.0].map(|path| std::fs::metadata(path).unwrap().len());
    assert!(sizes[1] < sizes[0] + 300, "{sizes:?}");
    let listed = text(&run(&["metadata"], &[&made.0]).stdout);
    assert!(listed.contains("get_eos_ids = 5\n") && listed.contains("metadata.grammar = \"xxx"), "{listed}");
}

#[test]
fn the_soc_and_the_system_of_a_device_are_compared_with_those_of_the_payload() {
    let told = |target: &str, file: &str| {
        let target = TempFile::new("target.toml", target.as_bytes());
        let output = run(&["fit", "--target", target.0.to_str().unwrap()], &[&data().join(file)]);
        (output.status.code(), text(&output.stdout))
    };
    let (code, missing) = told("soc = \"SM8550\"\n", "answers/qnn.pte");
    assert!(missing.contains("the QNN payload of delegate 0 is for SM8650, and the device is \"SM8550\""), "{missing}");
    assert_eq!(code, Some(1));
    let (_, same) = told("soc = \"sm8650\"\n", "answers/qnn.pte");
    assert!(same.contains("nothing is missing"), "{same}");
    let (code, missing) = told("ios = \"17.4\"\n", "answers/coreml_ios18.pte");
    assert!(missing.contains("delegate 0: Core ML needs iOS 18, and the device has 17.4"), "{missing}");
    assert_eq!(code, Some(1));
    let (_, missing) = told("macos = \"14\"\n", "answers/coreml_ios18.pte");
    assert!(missing.contains("Core ML needs macOS 15, and the device has 14"), "{missing}");
    let (_, newer) = told("ios = \"18.1\"\nmacos = \"26\"\n", "answers/coreml_ios18.pte");
    assert!(newer.contains("nothing is missing"), "{newer}");
    let (code, wrong) = told("ios = \"seventeen\"\n", "answers/coreml_ios18.pte");
    assert_eq!((code, wrong.as_str()), (Some(2), ""));
    // The needs of a model are a target that it fits.
    for (file, lines) in [("qnn", "\nsoc = \"SM8650\"\n"), ("coreml_ios18", "\nios = \"18\"\n")] {
        let file = data().join(format!("answers/{file}.pte"));
        let needs = text(&run(&["fit", "--init"], &[&file]).stdout);
        assert!(needs.contains(lines), "{needs}");
    }
}
