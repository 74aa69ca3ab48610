//! Payloads of backends other than XNNPACK: the contents of real ones, and the errors of damaged ones.

use executorch_format::delegate::{CoreMl, EthosU, NamedBlobs, Payload, PayloadKind, PayloadSummary, VulkanPlace};
use executorch_format::schema::vulkan::GraphTypes;
use executorch_format::verify::Level;
use executorch_format::{Analysis, ErrorKind, Pte};
use executorch_format_support::fixtures::{fixture, fixtures, for_each, stride};

/// Returns the payload of the only delegate of a program.
fn payload(name: &str) -> Vec<u8> {
    let file = fixture(&format!("payloads/other/{name}.pte"));
    let pte = Pte::parse(file.bytes()).unwrap();
    let [delegate] = pte.methods()[0].delegates() else { panic!("one delegate") };
    pte.bytes(&pte.delegate_data(delegate).unwrap()).unwrap().to_vec()
}

#[test]
fn every_real_payload_matches_the_id_of_its_delegate() {
    let mut known = 0;
    for file in fixtures().iter().filter(|file| file.is_pte()) {
        let pte = Pte::parse(file.bytes()).unwrap();
        for delegate in pte.methods().iter().flat_map(|plan| plan.delegates()) {
            let data = pte.delegate_data(delegate).and_then(|data| pte.bytes(&data));
            let (Some(kind), Ok(bytes)) = (PayloadKind::of_id(delegate.id()), data) else { continue };
            assert_ne!(kind.is_in(bytes), Some(false), "{}: {kind}", file.name());
            assert!(PayloadKind::of_bytes(bytes).is_none_or(|by_bytes| by_bytes == kind), "{}", file.name());
            let summary = PayloadSummary::of(delegate.id(), &pte.delegate(delegate), &NamedBlobs::NONE);
            assert_eq!((summary.kind, summary.error), (Some(kind), None), "{}", file.name());
            for part in summary.parts {
                assert!(part.offset + part.size <= bytes.len() as u64, "{}: {}", file.name(), part.name);
            }
            known += 1;
        }
    }
    assert!(known > 20);
}

#[test]
fn a_vulkan_graph_agrees_with_flatc() {
    use executorch_format_support::flatc_json::{compare, quoted};

    let bytes = payload("vulkan");
    let found = serde_json::to_value(&executorch_format::delegate::Vulkan::parse(&bytes).unwrap().graph).unwrap();
    let expected = executorch_format_support::data().join("payloads/other/vulkan.0.json");
    let expected = serde_json::from_str(&quoted(&std::fs::read_to_string(expected).unwrap())).unwrap();
    let mut differences = Vec::new();
    compare(&mut String::new(), &found, &expected, true, &mut differences);
    assert_eq!(differences, Vec::<String>::new());
}

#[test]
fn the_constants_of_a_vulkan_graph_are_in_named_data() {
    let file = fixture("payloads/other/vulkan.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let Payload::Vulkan(vulkan) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else { panic!("no graph") };
    assert_eq!(vulkan.graph.chain()[0].name(), "aten.linear.default");
    let GraphTypes::VkTensor(weight) = &vulkan.graph.values()[0].value else { panic!("no tensor") };
    let constant = &vulkan.graph.constants()[weight.constant_id as usize];
    let Some(VulkanPlace::Named(key)) = vulkan.place(constant) else { panic!("no key") };
    assert_eq!(pte.named_data_bytes(key).unwrap().len() as u64, constant.length);
    assert_eq!(constant.length, 4 * weight.dims().iter().map(|dim| u64::from(*dim)).product::<u64>());
}

#[test]
fn an_ethos_u_payload_has_its_command_stream_scratch_size_and_accelerator() {
    let bytes = payload("ethosu");
    let ethos_u = EthosU::parse(&bytes).unwrap();
    let names: Vec<_> = ethos_u.blocks.iter().map(|block| String::from_utf8_lossy(block.name)).collect();
    let expected =
        ["vela_bin_stream", "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", "vela_end_stream"];
    assert_eq!(names, expected);
    assert_eq!(ethos_u.command_stream().map(<[u8]>::len), Some(328));
    assert_eq!(ethos_u.weights().map(<[u8]>::len), Some(96));
    assert_eq!(ethos_u.scratch_size(), Some(32));
    let [input] = ethos_u.inputs().unwrap()[..] else { panic!("one input") };
    assert_eq!((input.shape, input.element_size, input.offset, input.region), ([1, 1, 2, 1, 1, 4], 1, 16, 1));
    let [output] = ethos_u.outputs().unwrap()[..] else { panic!("one output") };
    assert_eq!((output.shape, output.element_size, output.offset, output.region), ([1, 1, 1, 1, 2, 3], 1, 0, 1));
    for block in &ethos_u.blocks {
        assert_eq!(bytes[block.offset as usize..][..block.data.len()], *block.data);
    }
}

#[test]
fn the_files_of_a_core_ml_package_have_their_paths() {
    let bytes = payload("coreml");
    let files: Vec<_> = CoreMl::parse(&bytes).unwrap().files().collect();
    let names: Vec<_> = files.iter().map(|(path, _)| path.as_str()).collect();
    let expected = [
        "metadata.json",
        "model.mlpackage/Manifest.json",
        "model.mlpackage/Data/com.apple.CoreML/weights/weight.bin",
        "model.mlpackage/Data/com.apple.CoreML/model.mlmodel",
        "model.mlpackage/executorch_debug_handle_mapping.json",
        "debug_info.json",
    ];
    assert_eq!(names, expected);
    let metadata = &bytes[files[0].1.start as usize..files[0].1.end as usize];
    assert!(metadata.starts_with(b"{\"inputNames\"") && metadata.ends_with(b"}"));
    // The files are contiguous, and the JSON follows the last one.
    assert_eq!(files.windows(2).find(|pair| pair[0].1.end != pair[1].1.start), None);
    assert_eq!(files[5].1.end, 5320);
}

#[test]
fn a_core_ml_package_that_several_methods_share_is_named_by_its_key() {
    let payload = br#"CMJR{"version": 1, "key": "5e5e", "functionName": "forward"}"#;
    let expected = CoreMl::Function { key: "5e5e".into(), function_name: "forward".into() };
    assert_eq!(CoreMl::parse(payload).unwrap(), expected);
    assert!(matches!(CoreMl::parse(b"CMJR{}").unwrap_err().kind(), ErrorKind::Header(_)));
}

#[test]
fn circular_folders_have_finite_paths() {
    let json = r#"{"nodes":[
        {"name":"a","kind":1,"children":{"b":1},"dataRegion":{"offset":0,"size":0}},
        {"name":"b","kind":1,"children":{"a":0,"c":2},"dataRegion":{"offset":0,"size":0}},
        {"name":"c","kind":0,"children":{},"dataRegion":{"offset":0,"size":0}}]}"#;
    let json: String = json.split_whitespace().collect();
    let payload: Vec<u8> = json.bytes().rev().collect();
    let files: Vec<_> = CoreMl::parse(&payload).unwrap().files().collect();
    assert!(files[0].0.ends_with("a/b/c") && files[0].0.len() < 200, "{files:?}");
}

#[test]
fn headers_of_other_backends_are_reported_if_they_match() {
    let parts = |id: &str, bytes: &[u8]| {
        let summary = PayloadSummary::of(id, &Payload::parse(bytes), &NamedBlobs::NONE);
        summary.parts.into_iter().map(|part| (part.name, part.offset, part.size)).collect::<Vec<_>>()
    };
    let mut qnn = vec![0; 300];
    qnn[..4].copy_from_slice(&0x5678_abcd_u32.to_le_bytes());
    qnn[12] = 44;
    assert_eq!(parts("QnnBackend", &qnn), [("context binary".to_owned(), 256, 44)]);
    let mut early = qnn[..64].to_vec();
    assert_eq!(parts("QnnBackend", &early), [("context binary".to_owned(), 20, 44)]);
    early[12] = 43;
    assert_eq!(parts("QnnBackend", &early), []);
    qnn[12] = 45;
    assert_eq!(parts("QnnBackend", &qnn), []);
    let summary = PayloadSummary::of("CudaBackend", &Payload::parse(b"00_so_blob\n00_weights_blob"), &NamedBlobs::NONE);
    assert!(summary.native_code && summary.kind == Some(PayloadKind::Cuda));
    assert_eq!(
        PayloadSummary::of("MyBackend", &Payload::parse(b"anything"), &NamedBlobs::NONE),
        PayloadSummary::default()
    );
}

#[test]
fn damaged_and_truncated_payloads_never_panic() {
    let read = |bytes: &[u8]| {
        let payload = Payload::parse(bytes);
        if let Err(error) = &payload {
            assert!(error.offset().is_some_and(|offset| offset <= bytes.len() as u64), "{error}");
        }
        for part in PayloadSummary::of("", &payload, &NamedBlobs::NONE).parts {
            assert!(part.offset.checked_add(part.size).is_some_and(|end| end <= bytes.len() as u64));
        }
    };
    for name in ["vulkan", "ethosu", "coreml"] {
        let good = payload(name);
        let mut bytes = good.clone();
        for index in (0..bytes.len()).step_by(stride()) {
            for value in [0, 1, good[index] ^ 1, good[index].wrapping_add(4), 0x7f, 0x80, 0xff, b'{', b'}', b'"'] {
                bytes[index] = value;
                read(&bytes);
            }
            bytes[index] = good[index];
            read(&good[..index]);
        }
    }
}

/// The programs of other backends have no findings of their own.
#[test]
fn good_payloads_have_no_findings() {
    let names = ["vulkan", "ethosu", "coreml", "tosa", "native"];
    let files: Vec<_> = names.iter().map(|name| fixture(&format!("payloads/other/{name}.pte"))).collect();
    for_each(&files, |file| {
        let findings = Pte::parse(file.bytes()).unwrap().verify(executorch_format::verify::Level::Strict);
        let payload = |rule: &str| rule.contains("payload") || ["vulkan-graph", "native-code"].contains(&rule);
        let found: Vec<_> = findings.iter().filter(|finding| payload(finding.rule)).collect();
        if found.is_empty() { Ok(()) } else { Err(format!("{found:#?}")) }
    });
}

#[test]
fn braces_in_the_names_of_a_core_ml_package_are_not_syntax() {
    let json = r#"{"nodes":[{"name":"}{[\"]","kind":0,"children":{},"dataRegion":{"offset":0,"size":0}}]}"#;
    let payload: Vec<u8> = json.bytes().rev().collect();
    let files: Vec<_> = CoreMl::parse(&payload).unwrap().files().collect();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "}{[\"]");
}

#[test]
fn every_index_in_a_vulkan_graph_is_checked() {
    let file = fixture("payloads/other/vulkan.pte");
    let start = {
        let pte = Pte::parse(file.bytes()).unwrap();
        pte.range(&pte.delegate_data(&pte.methods()[0].delegates()[0]).unwrap()).unwrap()
    };
    let mut found = Vec::new();
    let mut bytes = file.bytes().to_vec();
    for at in (start.start as usize..start.end as usize - 4).step_by(2) {
        let before: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
        bytes[at..at + 4].copy_from_slice(&9999u32.to_le_bytes());
        if let Ok(pte) = Pte::parse(&bytes) {
            let findings = pte.verify(Level::Strict).into_iter().filter(|finding| finding.rule == "vulkan-graph");
            found.extend(findings.map(|finding| finding.path.to_string()));
        }
        bytes[at..at + 4].copy_from_slice(&before);
    }
    for field in ["input_ids[0]", "output_ids[0]", "chain[0].args[0]", "values[1].value.VkTensor.constant_id"] {
        assert!(found.iter().any(|path| path.ends_with(field)), "{field}: {found:?}");
    }
}

mod unpacked {
    use super::{fixture, payload, stride};
    use executorch_format::delegate::{NamedBlobs, PayloadKind, UnpackedPayload, unpack};
    use executorch_format::{ErrorKind, Model};

    fn files(id: &str, payload: &[u8]) -> Result<Vec<(String, usize)>, executorch_format::Error> {
        let unpacked: Option<UnpackedPayload<'_>> = unpack(id, payload, &NamedBlobs::NONE)?;
        let files = unpacked.map(|unpacked| unpacked.files).unwrap_or_default();
        Ok(files.into_iter().map(|file| (file.name, file.bytes.len())).collect())
    }

    fn bytes<'t>(payload: &'t [u8], id: &str, name: &str) -> std::borrow::Cow<'t, [u8]> {
        let unpacked = unpack(id, payload, &NamedBlobs::NONE).unwrap().unwrap();
        unpacked.files.iter().find(|file| file.name == name).unwrap().bytes.clone()
    }

    #[track_caller]
    fn check(id: &str, payload: &[u8], expected: &[(&str, usize)]) {
        let expected: Vec<_> = expected.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        assert_eq!(files(id, payload).unwrap(), expected);
    }

    #[test]
    fn real_payloads_have_the_files_of_their_backends() {
        let core_ml = payload("coreml");
        let package = "model.mlpackage/Data/com.apple.CoreML";
        check(
            "CoreMLBackend",
            &core_ml,
            &[
                ("metadata.json", 132),
                ("model.mlpackage/Manifest.json", 617),
                (&format!("{package}/weights/weight.bin"), 152),
                (&format!("{package}/model.mlmodel"), 1642),
                ("model.mlpackage/executorch_debug_handle_mapping.json", 1142),
                ("debug_info.json", 1635),
            ],
        );
        let manifest = bytes(&core_ml, "CoreMLBackend", "model.mlpackage/Manifest.json");
        assert!(serde_json::from_slice::<serde_json::Value>(&manifest).unwrap()["rootModelIdentifier"].is_string());
        let vela = [("cmd_data.bin", 328), ("weight_data.bin", 96), ("scratch_size.bin", 4)];
        check("EthosUBackend", &payload("ethosu"), &[&vela[..], &[("inputs.bin", 40), ("outputs.bin", 40)]].concat());
        check("TOSABackend", &payload("tosa"), &[("graph.tosa", 2432)]);
        check("NativeBackend", &payload("native"), &[("graph.bin", 1408)]);
        check("VulkanBackend", &payload("vulkan"), &[("graph.bin", 664)]);
        let vulkan = payload("vulkan");
        assert_eq!(bytes(&vulkan, "VulkanBackend", "graph.bin")[4..8], *b"VK00");
    }

    #[test]
    fn files_of_other_tools_have_their_sections() {
        let folder = executorch_format_support::data().join("payloads/other");
        let vgf = std::fs::read(folder.join("model.vgf")).unwrap();
        let sections = [("modules.bin", 116), ("sequence.bin", 296), ("resources.bin", 240), ("constants.bin", 56)];
        check("VgfBackend", &vgf, &[&sections[..], &[("model.vgf", 840)]].concat());
        assert!(bytes(&vgf, "VgfBackend", "constants.bin").starts_with(b"CONST00\0"));
        let weights: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|number| number.to_le_bytes()).collect();
        assert!(bytes(&vgf, "VgfBackend", "constants.bin").ends_with(&weights));

        let blob = std::fs::read(folder.join("openvino.blob")).unwrap();
        let parts = [("settings.xml", 56), ("constants.bin", 49), ("model.bin", 2406)];
        check("OpenvinoBackend", &blob, &[&parts[..], &[("model.blob", 2559)]].concat());
        assert!(bytes(&blob, "OpenvinoBackend", "settings.xml").starts_with(b"<?xml version=\"1.0\"?>"));
        let text = "meta=1.0;ov=2026.4.1";
        let newer = [b"RR_UPCVO\x01\0\0\0", &(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &blob].concat();
        check("OpenvinoBackend", &newer, &[&parts[..], &[("model.blob", newer.len())]].concat());
        // Models of future releases are kept whole.
        check("OpenvinoBackend", &blob[8..], &[("model.blob", 2551)]);
    }

    #[test]
    fn payloads_known_only_from_sources_have_their_parts() {
        let mut qnn = vec![7; 300];
        qnn[..4].copy_from_slice(&0x5678_abcd_u32.to_le_bytes());
        qnn[12..20].copy_from_slice(&44u64.to_le_bytes());
        check("QnnBackend", &qnn, &[("context_binary.bin", 44)]);
        let mut mlx = vec![7; 64];
        mlx[4..8].copy_from_slice(b"MLX0");
        mlx[8..16].copy_from_slice(&48u64.to_le_bytes());
        mlx[16..24].copy_from_slice(&16u64.to_le_bytes());
        check("MLXBackend", &mlx, &[("graph.bin", 24), ("data.bin", 16)]);
        let mut neuropilot = vec![0; 20];
        neuropilot[0] = 1;
        neuropilot[9] = 7;
        check("NeuropilotBackend", &neuropilot, &[("model.bin", 7)]);
        for (id, payload) in [("QnnBackend", &qnn), ("MLXBackend", &mlx), ("NeuropilotBackend", &neuropilot)] {
            assert!(!unpack(id, payload, &NamedBlobs::NONE).unwrap().unwrap().seen, "{id}");
        }
        assert_eq!(unpack("MyBackend", b"anything", &NamedBlobs::NONE), Ok(None));
        assert_eq!(unpack("EnnBackend", b"anything", &NamedBlobs::NONE), Ok(None));
    }

    #[test]
    fn damage_has_a_place() {
        #[track_caller]
        fn place(id: &str, payload: &[u8], offset: u64) {
            let error = files(id, payload).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Header(_)), "{error}");
            assert_eq!(error.offset(), Some(offset), "{error}");
        }
        place("MLXBackend", b"\0\0\0\0MLX0\x0f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 8);
        place("QnnBackend", &[0xcd, 0xab, 0x78, 0x56, 0], 5);
        place("VgfBackend", b"VGF1", 4);
        place("TOSABackend", b"\0\0\0\0TOSB", 0);
        place("NeuropilotBackend", &[1, 0, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 7], 9);
        let key = br#"CMJR{"version": 1, "key": "5e5e", "functionName": "forward"}"#;
        let error = files("CoreMLBackend", key).unwrap_err();
        assert!(error.to_string().contains("\"5e5e\""), "{error}");
    }

    #[test]
    fn damaged_payloads_are_errors_or_have_files_inside_them() {
        let vgf = std::fs::read(executorch_format_support::data().join("payloads/other/model.vgf")).unwrap();
        let blob = std::fs::read(executorch_format_support::data().join("payloads/other/openvino.blob")).unwrap();
        let cases = [
            ("CoreMLBackend", payload("coreml")),
            ("EthosUBackend", payload("ethosu")),
            ("VgfBackend", vgf),
            ("OpenvinoBackend", blob[..200].to_vec()),
        ];
        for (id, good) in cases {
            let mut bytes = good.clone();
            for index in (0..good.len()).step_by(stride()) {
                for value in [0, 1, good[index] ^ 1, 0x7f, 0xff, b'{', b'/'] {
                    bytes[index] = value;
                    if let Err(error) = files(id, &bytes) {
                        assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
                    }
                }
                bytes[index] = good[index];
                let _ = files(id, &good[..index]);
            }
        }
    }

    /// Returns the program of a fixture with a different payload of the same size.
    fn with_package(json: &str) -> Vec<u8> {
        let file = fixture("payloads/other/coreml.pte");
        let mut file = file.bytes().to_vec();
        let payload = payload("coreml");
        let start = file.windows(payload.len()).position(|bytes| bytes == payload).unwrap();
        let reversed: Vec<u8> = json.bytes().rev().collect();
        let end = start + payload.len();
        file[start..end - reversed.len()].fill(b'x');
        file[end - reversed.len()..end].copy_from_slice(&reversed);
        file
    }

    fn node(name: &str) -> String {
        format!(r#"{{"name":{name:?},"kind":0,"children":{{}},"dataRegion":{{"offset":1,"size":2}}}}"#)
    }

    #[test]
    fn files_of_a_payload_stay_in_the_folder() {
        let names = ["../up", "/etc/passwd", "a/../../b", "nul", "COM1.txt", "C:\\x", "-rf", "a b", ".ssh", "lpt9"];
        let nodes: Vec<String> = names.iter().map(|name| node(name)).collect();
        let file = with_package(&format!(r#"{{"nodes":[{}]}}"#, nodes.join(",")));
        let model = Model::parse(&file).unwrap();
        let mut extraction = model.extraction().unwrap();
        assert_eq!(extraction.unpack(&model, []).unwrap(), 1);
        let parts = &extraction.files[0].unpacked.as_ref().unwrap().files;
        let paths: Vec<_> =
            parts.iter().map(|part| part.file.strip_prefix("forward.delegate0.unpacked/").unwrap()).collect();
        let expected =
            ["_../up", "_/etc/passwd", "a/_../_../b", "_nul", "_COM1.txt", "C__x", "_-rf", "a_b", "_.ssh", "_lpt9"];
        assert_eq!(paths, expected);
        assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), names);
        // A path cannot contain NUL.
        let file = with_package(&format!(r#"{{"nodes":[{}]}}"#, node("a").replace("\"a\"", "\"a\\u0000b\"")));
        let model = Model::parse(&file).unwrap();
        let mut extraction = model.extraction().unwrap();
        extraction.unpack(&model, []).unwrap();
        assert!(extraction.files[0].unpacked.as_ref().unwrap().files[0].file.ends_with("/a_b"));
    }

    #[test]
    fn files_whose_names_collide_on_some_systems_and_overlapping_files_are_refused() {
        let fault = |json: &str| {
            let file = with_package(json);
            let model = Model::parse(&file).unwrap();
            let mut extraction = model.extraction().unwrap();
            extraction.unpack(&model, []).unwrap_err().to_string()
        };
        for names in [["a", "A"], ["a/b", "A"], ["a", "A/b"], ["a b", "a_b"]] {
            let found = fault(&format!(r#"{{"nodes":[{},{}]}}"#, node(names[0]), node(names[1])));
            assert!(found.contains("on some systems"), "{found}");
        }
        let whole = r#"{"name":"N","kind":0,"children":{},"dataRegion":{"offset":0,"size":4000}}"#;
        let nodes: Vec<String> = (0..20).map(|index| whole.replace('N', &index.to_string())).collect();
        assert!(fault(&format!(r#"{{"nodes":[{}]}}"#, nodes.join(","))).contains("overlap"));
        let folder = |index: usize| {
            format!(r#"{{"name":"d","kind":1,"children":{{"d":{}}},"dataRegion":{{"offset":0,"size":0}}}}"#, index + 1)
        };
        let folders: Vec<String> = (0..33).map(folder).collect();
        let found = fault(&format!(r#"{{"nodes":[{},{}]}}"#, folders.join(","), node("f")));
        assert!(found.contains("in more than 32 folders") && found.contains("byte "), "{found}");
    }

    #[test]
    fn a_damaged_payload_is_reported_with_its_offset_in_the_file() {
        let file = with_package(r#"{"nodes":[{}]}"#);
        let model = Model::parse(&file).unwrap();
        let error = model.extraction().unwrap().unpack(&model, []).unwrap_err();
        assert_eq!(error.offset(), Some(1024 + 6471 - 14), "{error}");
        assert!(error.to_string().contains("missing field"), "{error}");
        assert_eq!(PayloadKind::of_id("CoreMLBackend"), Some(PayloadKind::CoreMl));
    }
}

#[test]
fn a_payload_of_aot_inductor_in_lines_has_two_keys() {
    use executorch_format::delegate::AotInductor;
    let aot = AotInductor::parse(b"m_so_blob\nm_weights_blob\0").unwrap();
    assert_eq!((aot.library, aot.weights, aot.lists_tensors), ("m_so_blob", Some("m_weights_blob"), false));
    assert!(AotInductor::parse(b"m_so_blob").unwrap().weights.is_none());
    for other in [&b"m_so_blob\nother\nm_weights_blob"[..], b"m_weights_blob", b"", &[0xff]] {
        assert!(!AotInductor::is_one(other), "{other:?}");
    }
    // Such lines are those of CUDA and of Metal.
    let payload = Payload::parse(b"m_so_blob\nm_weights_blob").unwrap();
    let references: Vec<_> = payload.key_references().unwrap().into_iter().map(|reference| reference.key).collect();
    assert_eq!((payload.kind(), references), (None, vec!["m_so_blob".into(), "m_weights_blob".into()]));
    let with_code = [PayloadKind::Cuda, PayloadKind::Metal, PayloadKind::Xnnpack, PayloadKind::CoreMl]
        .map(PayloadKind::is_native_code);
    assert_eq!(with_code, [true, true, false, false]);
}

#[test]
fn the_facts_of_payloads_have_the_places_and_sizes_of_their_blobs() {
    use executorch_format::inspect::BlobKind;
    for_each(&fixtures(), |file| {
        let Ok(pte) = Pte::parse(file.bytes()) else { return Ok(()) };
        let facts = Analysis::new(&pte).payload_facts();
        let blobs = Analysis::new(&pte).blobs().blobs;
        let of_delegates = blobs.iter().filter(|blob| blob.kind == BlobKind::Delegate);
        let places: Vec<_> = of_delegates.map(|blob| (blob.offset, blob.size)).collect();
        match facts.iter().find(|fact| !places.contains(&(fact.offset, fact.size))) {
            Some(fact) => Err(format!("  {fact:?}: not in {places:?}")),
            None => Ok(()),
        }
    });
}
