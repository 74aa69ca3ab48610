//! Differences matched by the names that the model's author gave, and differences inside delegates.

use crate::cli::{TempFile, pte};
use executorch_format::delegate::{NamedBlobs, Payload};
use executorch_format::inspect::{Diff, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Side, diff};
use executorch_format::naming::{EtRecord, NameSource};
use executorch_format::schema::ScalarType;
use executorch_format::{Analysis, Model, NewEntry, Ptd, PtdOptions, Pte, PteOptions};
use executorch_format_support::data;
use executorch_format_support::fixtures::fixture;
use serde_json::Value;

/// Returns the differences between two programs with their ETRecords.
fn compare(before: (&[u8], &[u8]), after: (&[u8], &[u8])) -> Diff {
    let programs = [before.0, after.0].map(|bytes| Pte::parse(bytes).unwrap());
    let sources = [before.1, after.1].map(|bytes| [NameSource::parse(bytes).unwrap()]);
    let analyses = [0, 1].map(|side| Analysis::new(&programs[side]).with_names(&sources[side]));
    let models = [before.0, after.0].map(|bytes| Model::parse(bytes).unwrap());
    let (one, other) = (Side::new(&models[0], &[]), Side::new(&models[1], &[]));
    let (one, other) = (one.with_names(analyses[0].names()), other.with_names(analyses[1].names()));
    diff(&one, &other, &DiffOptions::default().with_tensors())
}

fn record(name: &str) -> (Vec<u8>, Vec<u8>) {
    let read = |ending: &str| std::fs::read(data().join("etrecord").join(format!("{name}.{ending}"))).unwrap();
    (read("pte"), read("etrecord"))
}

fn lines(differences: &[Difference]) -> Vec<String> {
    differences.iter().map(Difference::to_string).collect()
}

#[test]
fn weights_of_two_exports_are_matched_by_name() {
    let (portable, xnnpack) = (record("net_portable"), record("net_xnnpack"));
    let found = compare((&portable.0, &portable.1), (&xnnpack.0, &xnnpack.1));
    let of = |list: &[Difference]| {
        let weights = list.iter().filter(|change| change.subject == DifferenceSubject::Weight);
        weights.map(|change| (change.kind, change.tensor_name.clone().unwrap())).collect::<Vec<_>>()
    };
    let changed = |name: &str| (DifferenceKind::Changed, name.to_owned());
    let removed = |name: &str| (DifferenceKind::Removed, name.to_owned());
    // XNNPACK's export folds the normalization into the preceding convolution.
    let expected = [
        changed("layers.0.conv.weight"),
        changed("layers.0.conv.bias"),
        removed("layers.0.bn.weight"),
        removed("layers.0.bn.bias"),
        changed("layers.1.conv.weight"),
        changed("layers.1.conv.bias"),
    ];
    assert_eq!(of(&found.differences), expected);
    let moved: Vec<String> = of(&found.storage).into_iter().map(|(_, name)| name).collect();
    assert_eq!(moved, ["stem.weight", "stem.bias", "head.weight", "head.bias"]);
    // Keys of constants that were compared by name are not listed again.
    assert!(!found.differences.iter().any(|change| change.subject == DifferenceSubject::Key));
    let input = found.differences.iter().find(|change| change.tensor_name.as_deref() == Some("x")).unwrap();
    assert_eq!((input.subject, &*input.name), (DifferenceSubject::Plan, "%18 f32[1, 3, 8, 8]"));
    let again = compare((&xnnpack.0, &xnnpack.1), (&portable.0, &portable.1));
    assert_eq!(again.differences.len(), found.differences.len(), "{:?}", lines(&again.differences));
}

/// Two equal layers are swapped: by operators and bytes alone, only the weights would differ.
#[test]
fn values_are_matched_by_name_before_their_place() {
    let (file, record) = record("net_portable");
    let mut pte = Pte::parse(&file).unwrap();
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    let (one, other) = (plan.values()[2].clone(), plan.values()[6].clone());
    let values = plan.values.as_mut().unwrap();
    (values[2], values[6]) = (other, one);
    let swapped = pte.image().unwrap().to_vec().unwrap();
    let found = compare((&file, &record), (&swapped, &record));
    let names = |diff: &Diff| diff.differences.iter().map(|change| change.tensor_name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found), [Some("layers.0.conv.weight".into()), Some("layers.1.conv.weight".into())]);
    assert!(found.differences.iter().all(|change| change.distance.is_some()), "{found:?}");
}

#[test]
fn one_changed_weight_inside_a_delegate_is_named_and_measured() {
    let (file, record) = record("net_xnnpack");
    let program = Pte::parse(&file).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(&program).with_names(&sources);
    let inside = analysis.delegate_constants();
    let weight = inside.constants.iter().find(|constant| constant.user.name.as_deref() == Some("head.weight")).unwrap();
    let at = weight.offset.unwrap() as usize;
    let mut other = file.clone();
    let value = f32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    other[at..at + 4].copy_from_slice(&(value + 0.5).to_le_bytes());
    let found = compare((&file, &record), (&other, &record));
    assert_eq!(
        lines(&found.differences),
        ["forward weight head.weight delegate 1: XNNFullyConnected 0 weight f32[5, 8]"]
    );
    let distance = found.differences[0].distance.unwrap();
    assert_eq!((distance.elements, distance.changed), (40, 1));
    assert!((distance.absolute - 0.5).abs() < 1e-6);
    // Without names, the node and the argument identify it. A replaced weight has a new key.
    let layout = NewEntry::tensor("new", ScalarType::FLOAT, vec![5, 8], &other[at..at + 160]);
    let ptd = Ptd::build([layout], &PtdOptions::default()).unwrap().image().unwrap().to_vec().unwrap();
    let (before, new) = (TempFile::new("before.pte", &file), TempFile::new("new.ptd", &ptd));
    let after = TempFile::new("after.pte", b"");
    let names = data().join("etrecord/net_xnnpack.etrecord");
    let status = pte_in_place(&before, &after, &format!("head.weight={}", new.0.display()), &names);
    assert!(status.success());
    let output = pte().arg("diff").args([&before.0, &after.0]).args(["--tensors", "--json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let differences = found["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{found}");
    assert_eq!(
        (&differences[0]["tensor_name"], &differences[0]["named_by"], &differences[0]["distance"]["changed"]),
        (&"XNNFullyConnected 0 weight".into(), &"operator".into(), &1.into())
    );
}

fn pte_in_place(
    before: &TempFile,
    after: &TempFile,
    target: &str,
    names: &std::path::Path,
) -> std::process::ExitStatus {
    let mut command = pte();
    command.arg("replace").arg(&before.0).arg(target).arg("-o").arg(&after.0).arg("--names").arg(names);
    command.output().unwrap().status
}

/// The number of a quantized weight is its element times its scale.
#[test]
fn quantized_weights_are_measured_by_their_dequantized_numbers() {
    let file = fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let blobs = NamedBlobs::new(&pte, []);
    let opened = pte.open_payloads();
    let Ok(Payload::Xnnpack(payload)) = &opened[0].payload else { panic!() };
    let constants = Analysis::new(&pte).delegate_constants().constants;
    let weight =
        constants.iter().find(|constant| constant.user.delegate == Some(0) && constant.user.sizes.len() == 4).unwrap();
    let numbers = payload.dequantized(weight.user.value.unwrap(), &blobs).unwrap().unwrap();
    let at = weight.offset.unwrap() as usize;
    let mut other = file.bytes().to_vec();
    let element = other[at] as i8;
    other[at] = if element > 0 { element - 3 } else { element + 3 } as u8;
    let (before, after) = (Model::parse(file.bytes()).unwrap(), Model::parse(&other).unwrap());
    let found = diff(&Side::new(&before, &[]), &Side::new(&after, &[]), &DiffOptions::default().with_tensors());
    let [change] = &found.differences[..] else { panic!("{:?}", lines(&found.differences)) };
    let distance = change.distance.unwrap();
    let scale = f64::from(numbers.scales().next().unwrap());
    assert_eq!((distance.elements, distance.changed), (numbers.elements() as u64, 1));
    assert!((distance.absolute / scale - 3.0).abs() < 1e-4, "{} {scale}", distance.absolute);
}

#[test]
fn outputs_in_a_new_order_are_swapped() {
    let file = fixture("1.5.1/const_dtypes/const_dtypes.pte");
    let reordered = |order: &[usize]| {
        let mut pte = Pte::parse(file.bytes()).unwrap();
        let outputs = pte.program.execution_plan.as_mut().unwrap()[0].outputs.as_mut().unwrap().to_mut();
        let old = outputs.clone();
        for (new, old) in outputs.iter_mut().zip(order.iter().map(|index| old[*index])) {
            *new = old;
        }
        let after = pte.image().unwrap().to_vec().unwrap();
        let (before, after) = (Model::parse(file.bytes()).unwrap(), Model::parse(&after).unwrap());
        lines(&diff(&Side::new(&before, &[]), &Side::new(&after, &[]), &DiffOptions::default()).differences)
    };
    assert_eq!(reordered(&[1, 0]), ["forward outputs 0 and 1 are swapped"]);
    assert_eq!(
        reordered(&[2, 0, 1]),
        [
            "forward output 0 is 1 of the second file",
            "forward output 1 is 2 of the second file",
            "forward output 2 is 0 of the second file"
        ]
    );
}

#[test]
fn a_bundle_and_its_program_differ_only_in_test_cases() {
    let bundle = fixture("1.5.1/bundled/bundled.bpte");
    let program = executorch_format::Bpte::parse(bundle.bytes()).unwrap();
    let copy = TempFile::new("bundled.pte", program.bundled_program.program());
    let (bundle, program) = (bundle.path.clone(), copy.0.clone());
    for (files, mark) in [([&bundle, &program], '-'), ([&program, &bundle], '+')] {
        let output = pte().arg("diff").args(files).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(&format!("method forward\n  {mark} test case 0\n  {mark} test case 1\n")), "{text}");
        assert!(!text.contains("header") && text.ends_with("2 differences\n"), "{text}");
    }
}

#[test]
fn unused_values_are_folded_into_a_line_at_the_end() {
    let file = fixture("1.5.1/linear/linear.pte");
    let mut pte_file = Pte::parse(file.bytes()).unwrap();
    let plan = &mut pte_file.program.execution_plan.as_mut().unwrap()[0];
    let unused = plan.values()[0].clone();
    plan.values.as_mut().unwrap().extend(vec![unused; 20]);
    plan.non_const_buffer_sizes.as_mut().unwrap().to_mut()[1] += 16;
    let [before, after] =
        [file.bytes().to_vec(), pte_file.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap()]
            .map(|bytes| TempFile::new("a.pte", &bytes));
    let run = |more: &[&str]| {
        let output = pte().arg("diff").args([&before.0, &after.0]).args(more).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]);
    let end: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("method")).take(3).collect();
    assert!(end[1].starts_with("  ~ planned memory of buffer 1"), "{text}");
    assert_eq!(end[2], "  + 20 values without users (-v)");
    assert_eq!(run(&["-v"]).matches("+ unused value").count(), 20);
}

#[test]
fn each_side_can_have_its_own_names() {
    let [portable, other] =
        ["net_portable.pte", "net_xnnpack.pte"].map(|name| TempFile::new(name, &record(&name[..name.len() - 4]).0));
    let folder = data().join("etrecord");
    let run = |more: &[&std::ffi::OsStr]| {
        let output = pte().arg("diff").args([&portable.0, &other.0]).args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(!run(&[]).1.contains("layers.0.conv.weight"));
    let (before, after) = (folder.join("net_portable.etrecord"), folder.join("net_xnnpack.etrecord"));
    let (code, text) = run(&["--before-names".as_ref(), before.as_ref(), "--after-names".as_ref(), after.as_ref()]);
    assert_eq!(code, Some(1));
    assert!(text.contains("~ weight layers.0.conv.weight %2 f32[8, 8, 3, 3]"), "{text}");
    assert!(text.contains("- instruction 1 (layers.0.conv): aten::convolution.out("), "{text}");
    // A record of the other program was given.
    assert_eq!(run(&["--before-names".as_ref(), after.as_ref()]).0, Some(2));
}

/// Returns the distance of each weight with that name in both programs: its elements, and the largest difference.
fn distances(found: &Diff) -> Vec<(String, u64, f64)> {
    let weights = found.differences.iter().filter(|change| change.subject == DifferenceSubject::Weight);
    let mut distances: Vec<_> = weights
        .filter_map(|change| {
            let distance = change.distance?;
            Some((change.tensor_name.clone().unwrap(), distance.elements, distance.absolute))
        })
        // A parameter that a function of the model takes is called after its operator.
        .filter(|(name, ..)| !name.starts_with("XNN"))
        .collect();
    distances.sort_by(|left, right| left.0.cmp(&right.0));
    distances
}

#[test]
fn weights_in_two_forms_are_compared_as_numbers_in_the_layout_of_pytorch() {
    let file = |name: &str| {
        let read = |ending: &str| std::fs::read(data().join("names").join(format!("{name}.{ending}"))).unwrap();
        (read("pte"), read("etrecord"))
    };
    let elements = [
        ("dw.bias", 8),
        ("dw.weight", 72),
        ("head.bias", 7),
        ("head.weight", 42),
        ("stem.bias", 8),
        ("stem.weight", 216),
        ("up.bias", 6),
        ("up.weight", 192),
    ];
    for (before, after) in
        [("cnn", "cnn_tensor"), ("cnn", "cnn_channel"), ("cnn_portable", "cnn_channel"), ("cnn_channel", "cnn_tensor")]
    {
        for [before, after] in [[before, after], [after, before]] {
            let (before, after) = (file(before), file(after));
            let found = compare((&before.0, &before.1), (&after.0, &after.1));
            let distances = distances(&found);
            let counts: Vec<_> = distances.iter().map(|(name, elements, _)| (&**name, *elements)).collect();
            assert_eq!(counts, elements, "{:?}", lines(&found.differences));
            assert_eq!(found.not_compared, [""; 0]);
            // Half a scale, or a whole one between two that are quantized: in another layout, the largest difference would be about 0.3.
            assert!(distances.iter().all(|(.., absolute)| *absolute < 0.005), "{distances:?}");
        }
    }
    // Biases are not quantized without a delegate.
    let (before, after) = (file("cnn"), file("cnn_channel_portable"));
    let found = compare((&before.0, &before.1), (&after.0, &after.1));
    let names: Vec<_> = distances(&found).into_iter().map(|(name, elements, _)| (name, elements)).collect();
    let expected = [("dw.weight", 72), ("head.weight", 42), ("stem.weight", 216), ("up.weight", 192)];
    assert_eq!(names, expected.map(|(name, elements)| (name.to_owned(), elements)));
}

#[test]
fn what_cannot_be_compared_is_listed_with_the_reason() {
    let (before, after) = (record("net_portable"), record("net_xnnpack"));
    let mut other = EtRecord::parse(&after.1).unwrap();
    // The bias of the stem has 8 elements, that of the head 5.
    for parameter in other.methods[0].nodes.iter_mut().flat_map(|node| &mut node.parameters) {
        if parameter.name == "head.bias" {
            parameter.name = "stem.bias".into();
        } else if parameter.name == "stem.bias" {
            parameter.name = "other.bias".into();
        }
    }
    let programs = [&before.0, &after.0].map(|bytes| Pte::parse(bytes).unwrap());
    let sources = [[NameSource::parse(&before.1).unwrap()], [NameSource::Record(other)]];
    let analyses = [0, 1].map(|side| Analysis::new(&programs[side]).with_names(&sources[side]));
    let models = [&before.0, &after.0].map(|bytes| Model::parse(bytes).unwrap());
    let sides = [0, 1].map(|side| Side::new(&models[side], &[]).with_names(analyses[side].names()));
    let found = diff(&sides[0], &sides[1], &DiffOptions::default().with_tensors());
    assert_eq!(found.not_compared, ["stem.bias: the sizes are [8] and [5]"]);
    assert_eq!(diff(&sides[0], &sides[1], &DiffOptions::default()).not_compared, [""; 0]);
}
