//! Bundled programs: the contents of real ones, and writing.

use crate::damage::each;
use executorch_format::edit::NewData;
use executorch_format::inspect::BlobKind;
use executorch_format::schema::bundled::{
    BundledMethodTestCase, BundledMethodTestSuite, Double, Int, Tensor, Value, ValueUnion,
};
use executorch_format::schema::flat_tensor::TensorLayout;
use executorch_format::verify::{Level, Severity};
use executorch_format::{
    Analysis, Bpte, Detected, ErrorKind, Limits, Model, NewEntry, ParseOptions, Pte, TensorView, WriteStyle,
};
use executorch_format_support::fixtures::{Fixture, fixture, for_each, stride, with_extension};

fn bundles() -> Vec<Fixture> {
    let bundles = with_extension("bpte");
    assert!(bundles.len() >= 5);
    bundles
}

fn written(bpte: &Bpte<'_>) -> Vec<u8> {
    bpte.image().unwrap().to_vec().unwrap()
}

#[test]
fn every_official_bundle_is_written_back_byte_for_byte_even_from_its_tree_alone() {
    for_each(&bundles(), |file| {
        let bpte = Bpte::parse(file.bytes()).map_err(|error| error.to_string())?;
        assert!(bpte.image().unwrap().is_from_source());
        assert!(written(&bpte) == file.bytes(), "unchanged");
        let owned = bpte.clone().into_owned();
        assert!(owned == bpte && written(&owned) == file.bytes(), "owned");
        let style = Some(bpte.write_style().and_then(Detected::proven).map_err(|error| error.to_string())?);
        let by_hand = Bpte { style, source: None, ..bpte };
        assert!(written(&by_hand) == file.bytes(), "encoded");
        Ok(())
    });
}

#[test]
fn the_tree_of_a_bundle_agrees_with_flatc() {
    use executorch_format_support::flatc_json::{compare, quoted};

    let with_json: Vec<_> = bundles().into_iter().filter(|file| file.beside("json").is_some()).collect();
    assert!(with_json.len() >= 5);
    for_each(&with_json, |file| {
        let bpte = Bpte::parse(file.bytes()).unwrap();
        let found = serde_json::to_value(&bpte.bundled_program).unwrap();
        let expected = serde_json::from_str(&quoted(&file.beside("json").unwrap())).unwrap();
        let mut differences = Vec::new();
        compare(&mut String::new(), &found, &expected, true, &mut differences);
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    });
}

#[test]
fn good_bundles_have_no_findings_except_for_a_fault_of_the_exporter() {
    for_each(&bundles(), |file| {
        let findings = Model::parse(file.bytes()).unwrap().verify(Level::Strict);
        // Python stores the channels-last tensors of method `zeta` in the natural dim order, and the runtime refuses them.
        let expected = if file.name().ends_with("bundle_methods.bpte") { 2 } else { 0 };
        let known = |finding: &&executorch_format::verify::Finding| {
            finding.rule == "bundle-dim-order" && finding.severity == Severity::Warning
        };
        // A channels-last tensor is multiplied by a scalar one.
        let refused = |finding: &&executorch_format::verify::Finding| {
            finding.rule == "kernel-dim-order" && file.name().ends_with("bundle_methods.bpte")
        };
        let others: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity > Severity::Note && !known(finding) && !refused(finding))
            .collect();
        if findings.iter().filter(known).count() == expected && others.is_empty() {
            Ok(())
        } else {
            Err(format!("{findings:#?}"))
        }
    });
}

#[test]
fn the_program_is_extracted_and_replaced() {
    let (bundled, original) = (fixture("1.5.1/bundled/bundled.bpte"), fixture("1.5.1/add_mul/add_mul.pte"));
    let mut bpte = Bpte::parse(bundled.bytes()).unwrap();
    assert_eq!(bpte.bundled_program.program(), original.bytes());
    assert_eq!(bpte.program().unwrap(), Pte::parse(original.bytes()).unwrap());
    let start = bpte.program_offset().unwrap() as usize;
    assert_eq!(bundled.bytes()[start..][..original.bytes().len()], *original.bytes());

    let other = fixture("1.5.1/multi_method/multi_method.pte");
    bpte.set_program(other.bytes());
    assert_eq!(bpte.program_offset(), None);
    let changed = written(&bpte);
    let again = Bpte::parse(&changed).unwrap();
    assert_eq!(again.bundled_program.program(), other.bytes());
    assert_eq!(again.program_offset().unwrap() % 32, 0);
    assert_eq!(again.bundled_program.method_test_suites, bpte.bundled_program.method_test_suites);
    // Its method `forward` takes a different shape.
    let findings = again.verify(Level::Strict);
    assert!(findings.iter().all(|finding| finding.rule == "bundle-value") && findings.len() == 4, "{findings:?}");
}

#[test]
fn a_new_bundle_is_built() {
    let program = fixture("1.5.1/add/add.pte");
    let plan = Pte::parse(program.bytes()).unwrap();
    let input = plan.methods()[0].tensor(plan.methods()[0].inputs()[0]).unwrap().clone();
    let data = vec![0u8; input.byte_size().unwrap() as usize];
    let tensor = Tensor {
        scalar_type: input.scalar_type,
        sizes: input.sizes.clone(),
        dim_order: input.dim_order.clone(),
        data: Some(data.into()),
    };
    let value = || Value { val: tensor.clone().into() };
    let case = BundledMethodTestCase { inputs: Some(vec![value(), value()]), expected_outputs: Some(vec![value()]) };
    let suite = BundledMethodTestSuite { method_name: Some("forward".into()), test_cases: Some(vec![case]) };
    let mut bpte = Bpte::new(program.bytes());
    bpte.bundled_program.method_test_suites = Some(vec![suite]);
    let file = written(&bpte);
    let again = Bpte::parse(&file).unwrap();
    assert_eq!(again, bpte);
    assert_eq!(again.verify(Level::Strict), []);
    assert_eq!(again.write_style().unwrap().proven().unwrap(), WriteStyle::PYTHON);
}

#[test]
fn every_blob_of_a_bundle_is_at_its_offset() {
    for_each(&bundles(), |file| {
        let bpte = Bpte::parse(file.bytes()).unwrap();
        let program = bpte.program().unwrap();
        let listed = bpte.blobs_with(&Analysis::new(&program)).blobs;
        for blob in listed.iter().filter(|blob| blob.kind != BlobKind::External) {
            let start = blob.offset.unwrap() as usize;
            assert!(file.bytes().get(start..start + blob.size as usize).is_some(), "{blob:?}");
        }
        let own = bpte.blobs().blobs;
        let inside = Analysis::new(&program).blobs().blobs;
        assert_eq!(listed.len(), own.len() + inside.len());
        // Both ways give the same bytes.
        let start = bpte.program_offset().unwrap();
        for (blob, inside) in listed[1..].iter().zip(&inside) {
            assert_eq!(
                (blob.kind, blob.offset, blob.size),
                (inside.kind, inside.offset.map(|at| at + start), inside.size)
            );
        }
        let tensors = bpte.test_cases().flat_map(|(_, _, case)| case.inputs().iter().chain(case.expected_outputs()));
        let tensors: Vec<&Tensor<'_>> = tensors.filter_map(Value::tensor).collect();
        assert_eq!(tensors.len(), own.len() - 1);
        let model = Model::Bpte(bpte.clone());
        for (blob, tensor) in own[1..].iter().zip(tensors) {
            assert_eq!(model.blob_bytes(blob).unwrap().as_deref(), Some(tensor.data()));
            assert_eq!(tensor.view().unwrap().bytes(), tensor.data());
        }
        Ok(())
    });
}

#[test]
fn an_error_inside_the_program_counts_from_the_start_of_the_bundle() {
    let file = fixture("1.5.1/bundled/bundled.bpte");
    let start = Bpte::parse(file.bytes()).unwrap().program_offset().unwrap() as usize;
    let mut bytes = file.bytes().to_vec();
    // Damages the program's root offset.
    bytes[start..start + 4].copy_from_slice(&[0xff; 4]);
    let bpte = Bpte::parse(&bytes).unwrap();
    let error = bpte.program().unwrap_err();
    assert_eq!((error.path().to_string().as_str(), error.offset()), ("program", Some(start as u64)));
    let findings = bpte.verify(Level::Structure);
    assert_eq!((findings.len(), findings[0].rule, findings[0].offset), (1, "offset", Some(start as u64)));
    // The same fault as a finding.
    let mut bpte = Bpte::parse(file.bytes()).unwrap();
    let mut program = bpte.program().unwrap();
    program.program.version = 7;
    let program = program.image_as_is().unwrap().to_vec().unwrap();
    bpte.set_program(program);
    let finding = bpte.verify(Level::Runtime).remove(0);
    assert_eq!((finding.rule, finding.path.to_string().as_str()), ("program-version", "program.version"));
}

#[test]
fn numbers_are_compared_with_those_of_the_program() {
    let file = fixture("payloads/bundle_scalars.bpte");
    let mut bpte = Bpte::parse(file.bytes()).unwrap();
    let suites = bpte.bundled_program.method_test_suites.as_mut().unwrap();
    let inputs = suites[0].test_cases.as_mut().unwrap()[0].inputs.as_mut().unwrap();
    assert_eq!(inputs[1].val, ValueUnion::Int(Int { int_val: 7 }));
    inputs[1].val = Int { int_val: 8 }.into();
    inputs[2].val = Double { double_val: 1.0 }.into();
    let findings = bpte.verify(Level::Strict);
    let shown: Vec<_> = findings.iter().map(|finding| format!("{}: {}", finding.path, finding.message)).collect();
    assert_eq!(
        shown,
        [
            "method_test_suites[0].test_cases[0].inputs[1].val: 8, expected 7, which is part of the program",
            "method_test_suites[0].test_cases[0].inputs[2].val: Double, expected Bool, as the method has it",
        ]
    );
}

/// Reads bytes: the result is a clear error, or a tree that can be visited and written back, never a panic.
fn read(bytes: &[u8]) {
    let parsed = Bpte::parse(bytes);
    assert_eq!(Bpte::verify_structure(bytes).err().as_ref(), parsed.as_ref().err());
    if let Ok(bpte) = parsed {
        assert!(bpte.image().unwrap().to_vec().unwrap() == bytes);
        bpte.verify(Level::Strict).iter().for_each(|finding| assert!(!finding.to_string().is_empty()));
        let _ = (bpte.summary(), bpte.blobs());
    }
}

#[test]
fn damaged_and_truncated_bundles_never_panic() {
    let small = ["payloads/bundle_empty.bpte", "1.5.1/bundled/bundled.bpte"].map(fixture);
    each(&small, |file| {
        let mut bytes = file.bytes().to_vec();
        for index in (0..bytes.len()).step_by(stride()) {
            let byte = bytes[index];
            for value in [0, 1, 4, byte ^ 1, byte.wrapping_add(4), 0x7f, 0x80, 0xff] {
                bytes[index] = value;
                read(&bytes);
            }
            bytes[index] = byte;
            read(&file.bytes()[..index]);
        }
    });
}

/// Returns a bundle to which the test cases of another one were added one by one.
fn rebuilt(bpte: &Bpte<'_>) -> Result<Bpte<'static>, executorch_format::Error> {
    let mut made = Bpte::new(bpte.bundled_program.program().to_vec());
    for (suite, _, case) in bpte.test_cases() {
        let data = |values: &[Value<'_>]| {
            let tensors = values.iter().filter_map(Value::tensor);
            let data = tensors.map(|tensor| {
                let layout = TensorLayout::from(tensor.shape()).into_owned();
                NewData::bytes("data", tensor.data().to_vec()).with_tensor_layout(Some(layout))
            });
            data.collect::<Vec<_>>()
        };
        made.add_case(suite.method_name(), &data(case.inputs()), &data(case.expected_outputs()))?;
    }
    Ok(made)
}

#[test]
fn a_new_bundle_has_the_same_bytes_as_pythons() {
    let names =
        ["1.5.1/bundled/bundled", "payloads/bundle_xnnpack", "payloads/bundle_scalars", "payloads/bundle_methods"];
    for name in names {
        let file = fixture(&format!("{name}.bpte"));
        let bpte = Bpte::parse(file.bytes()).unwrap();
        let mut made = rebuilt(&bpte).unwrap();
        if name.ends_with("methods") {
            // Python stores a channels-last input and output in the natural dim order, and the runtime then refuses them.
            let suites = made.bundled_program.method_test_suites.as_mut().unwrap();
            let zeta = suites.iter_mut().find(|suite| suite.method_name() == "zeta").unwrap();
            let case = &mut zeta.test_cases.as_mut().unwrap()[0];
            let mut changed = 0;
            for value in case.inputs.iter_mut().chain(&mut case.expected_outputs).flatten() {
                let ValueUnion::Tensor(tensor) = &mut value.val else { continue };
                if tensor.dim_order() == [0, 2, 3, 1] {
                    let view = TensorView::new(tensor.shape(), tensor.data()).unwrap();
                    tensor.data = Some(view.in_dim_order(&[0, 1, 2, 3]).unwrap().into());
                    tensor.dim_order = Some(vec![0, 1, 2, 3].into());
                    changed += 1;
                }
            }
            assert_eq!(changed, 2);
        }
        assert!(made == bpte, "{name}");
        assert!(made.image().unwrap().to_vec().unwrap() == file.bytes(), "{name}");
    }
}

#[test]
fn a_test_case_that_does_not_fit_the_method_is_refused() {
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    const ONES: &[f32] = &[1.0; 6];
    let data = |sizes: Vec<i32>| {
        let elements = sizes.iter().product::<i32>() as usize;
        let entry = NewEntry::from_slice("x.npy", sizes, &ONES[..elements]);
        NewData::from(entry)
    };
    let fault = |method: &str, inputs: &[NewData<'static>], expected: &[NewData<'static>]| {
        let mut bpte = Bpte::new(file.bytes());
        let error = bpte.add_case(method, inputs, expected).unwrap_err().to_string();
        assert_eq!(bpte, Bpte::new(file.bytes()), "a refused case changes nothing");
        error
    };
    let good = data(vec![2, 2]);
    assert!(fault("other", std::slice::from_ref(&good), &[]).contains("no method \"other\""));
    let found = fault("forward", &[], &[]);
    assert!(found.contains("0 inputs for \"forward\", expected 1"), "{found}");
    let found = fault("forward", std::slice::from_ref(&good), &[good.clone(), good.clone()]);
    assert!(found.contains("2 outputs for \"forward\", expected 1"), "{found}");
    let found = fault("forward", &[data(vec![2, 3])], &[]);
    assert!(found.contains("forward:%2 is f32[2, 2], x.npy holds f32[2, 3]"), "{found}");
    let found = fault("forward", &[NewData::bytes("x.bin", vec![0; 15])], &[]);
    assert!(found.contains("16 bytes; x.bin holds 15 bytes"), "{found}");
    let mut bpte = Bpte::new(file.bytes());
    bpte.add_case("forward", &[NewData::bytes("x.bin", vec![0; 16])], &[]).unwrap();
    assert_eq!(bpte.verify(Level::Strict), []);
}

#[test]
fn the_program_is_read_with_options_and_outlives_its_bundle() {
    let file = fixture("1.5.1/bundled/bundled.bpte");
    let bpte = Bpte::parse(file.bytes()).unwrap();
    let whole = bpte.program().unwrap();
    let limited = ParseOptions::default().with_limits(Limits::default().with_bytes(Some(8)));
    let error = bpte.program_with(&limited).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    assert!(error.path().to_string().starts_with("program"), "{error}");
    let constants = bpte.delegate_constants_with(&Analysis::new(&whole));
    assert_eq!(constants.constants.len(), Analysis::new(&whole).delegate_constants().constants.len());
    let again = bpte.clone().into_program().unwrap();
    assert_eq!(again.program, whole.program);
    assert!(Bpte::default().into_program().is_err());
}
