//! `pte diff`: differences between two files.

use crate::cli::{TempFile, pte, slashes};
use crate::see::golden;
use executorch_format::inspect::{Diff, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Side, diff};
use executorch_format::schema::program::{Instruction, InstructionArguments, KernelTypes};
use executorch_format::testing::{Damage, damage_word};
use executorch_format::{Analysis, Bpte, Etdp, Model, Ptd, PtdOptions, Pte, PteOptions};
use executorch_format_support::fixtures::{Fixture, fixture, fixtures, for_each, with_extension};
use serde_json::Value;

pub fn compare(before: &[u8], after: &[u8]) -> Diff {
    let (before, after) = (Model::parse(before).unwrap(), Model::parse(after).unwrap());
    let options = DiffOptions::default().with_tensors();
    diff(&Side::new(&before, &[]), &Side::new(&after, &[]), &options)
}

/// Returns the differences after a change to a program, which is written again.
pub fn changed(name: &str, change: impl FnOnce(&mut Pte<'_>)) -> Diff {
    let file = fixture(name);
    let mut pte = Pte::parse(file.bytes()).unwrap();
    change(&mut pte);
    let other = pte.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap();
    compare(file.bytes(), &other)
}

fn lines(diff: &Diff) -> Vec<String> {
    diff.differences.iter().map(Difference::to_string).collect()
}

#[test]
fn differences_inside_delegates_are_listed() {
    let [one, other] = ["linear_xnnpack", "quant_xnnpack"].map(|name| fixture(&format!("1.5.1/{name}/{name}.pte")));
    let found = lines(&compare(one.bytes(), other.bytes()));
    for expected in ["payload 0 XNNConv2d: none -> 2 nodes", "payload 0 XNNFullyConnected: 1 node -> none"] {
        assert!(found.iter().any(|line| line.contains(expected)), "{expected}: {found:?}");
    }
}

#[test]
fn a_renamed_method_is_one_difference() {
    let found = changed("1.5.1/linear/linear.pte", |pte| {
        pte.program.execution_plan.as_mut().unwrap()[0].name = Some("run".into());
    });
    assert_eq!(lines(&found), ["method: forward -> run"]);
    assert_eq!(found.differences[0].kind, DifferenceKind::Moved);
    // A method whose content also changed is not just renamed.
    let found = changed("1.5.1/linear/linear.pte", |pte| {
        let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
        plan.name = Some("run".into());
        plan.outputs.as_mut().unwrap().to_mut()[0] = 0;
    });
    assert_eq!(lines(&found)[..2], ["method forward: 2 instructions", "method run: 2 instructions"]);
}

#[test]
fn changed_compile_specs_are_shown_with_their_values() {
    let found = changed("payloads/other/ethosu.pte", |pte| {
        let specs =
            pte.program.execution_plan.as_mut().unwrap()[0].delegates.as_mut().unwrap()[0].compile_specs.as_mut();
        let specs = specs.unwrap();
        specs[0].value = Some(vec![5, 0, 0, 0xff].into());
        specs[1].value = Some(vec![b'x'; 3].into());
    });
    let told = lines(&found);
    assert!(told.len() == 1 && told[0].contains(" = 05 00 00 ff, ") && told[0].ends_with(" = xxx"), "{told:?}");
}

/// A program does not load with the data of the other one.
#[test]
fn changed_keys_of_external_data_are_a_difference_with_and_without_the_data() {
    let file = fixture("1.5.1/linear/linear.pte");
    let [left, right] = ["a", "q"].map(|prefix| {
        let mut pte = Pte::parse(file.bytes()).unwrap();
        let key = |data: &executorch_format::edit::Candidate<'_>| Some(format!("{prefix}.{}", data.key));
        let (ptd, _) = pte.externalize(&PtdOptions::default(), key).unwrap();
        let bytes = |image: executorch_format::Result<executorch_format::Image<'_>>| image.unwrap().to_vec().unwrap();
        (bytes(pte.image()), bytes(ptd.image()))
    });
    let [before, after] =
        [&left, &right].map(|(program, data)| (Model::parse(program).unwrap(), Ptd::parse(data).unwrap()));
    let keys = |with_data: bool| {
        let [one, other] = [&before.1, &after.1].map(|ptd| if with_data { vec![ptd.clone()] } else { Vec::new() });
        let found = diff(&Side::new(&before.0, &one), &Side::new(&after.0, &other), &DiffOptions::default());
        lines(&found).into_iter().filter(|line| line.contains("key of %")).collect::<Vec<_>>()
    };
    assert_eq!(keys(false).len(), 2);
    assert_eq!(keys(true), keys(false));
}

#[test]
fn a_file_equals_itself_and_itself_with_a_new_layout() {
    let good: Vec<_> = fixtures().into_iter().filter(|fixture| Model::parse(fixture.bytes()).is_ok()).collect();
    for_each(&good, |fixture| {
        let file = fixture.bytes();
        if compare(file, file) != Diff::default() {
            return Err("  differs from itself".into());
        }
        let Model::Pte(pte) = Model::parse(file).unwrap() else { return Ok(()) };
        // Some files cannot get a new layout; other tests cover this.
        let options = PteOptions::default().with_segment_alignment(4096);
        let Ok(other) = pte.lay_out(&options).and_then(|pte| pte.image()?.to_vec()) else { return Ok(()) };
        let diff = compare(file, &other);
        match diff.differences.first() {
            Some(change) => Err(format!("  laid out anew: {change}")),
            None if diff.storage.is_empty() && file != &other[..] => Err("  nothing told".into()),
            None => Ok(()),
        }
    });
}

/// Each field of small programs is changed in turn. Every change is a difference, except to fields that only state a place in the file.
#[test]
fn every_change_of_a_program_is_a_difference() {
    // Indices and lists of places are compared by the data that they lead to.
    let storage =
        ["segments", "constant_segment", "mutable_data_segments", "segment_index", "data_buffer_idx", "op_index"];
    let more = ["processed", "delegate_index", "constant_buffer", "backend_delegate_data", "operators"];
    // No reader uses the first buffer; an empty list or table is equal to an absent one.
    let unused = ["non_const_buffer_sizes: item 0", "delegates: Remove", "puts: Remove", ": Insert"];
    let ignored: Vec<&str> = storage.into_iter().chain(more).chain(unused).collect();
    for name in ["add_mul", "cond", "evalue_kinds", "stacktrace", "dynamic_bounded"] {
        let file = fixture(&format!("1.5.1/{name}/{name}.pte"));
        let mut pte = Pte::parse(file.bytes()).unwrap().into_owned();
        pte.source = None;
        let before = Model::Pte(pte.clone());
        let (mut seen, mut unseen) = (0, Vec::new());
        for damage in Damage::all(&pte.program) {
            let what = damage.describe(&pte.program);
            let mut other = pte.clone();
            let ignored = ignored.iter().any(|name| what.contains(name));
            if ignored || !damage.apply(&mut other.program) || other.program == pte.program {
                continue;
            }
            let after = Model::Pte(other);
            let found = diff(&Side::new(&before, &[]), &Side::new(&after, &[]), &DiffOptions::default());
            if found.is_same() {
                unseen.push(format!("{name}: {what}"));
            }
            seen += 1;
        }
        assert!(seen > 100, "{name}: {seen}");
        assert_eq!(unseen, Vec::<String>::new());
    }
}

fn same(before: Model<'_>, after: Model<'_>) -> bool {
    let (before, after) = (Side::new(&before, &[]), Side::new(&after, &[]));
    diff(&before, &after, &DiffOptions::default()).is_same()
}

/// Changes each field of a test case, of an event, and of the tables around them in turn.
#[test]
fn every_change_of_a_test_case_or_an_event_is_a_difference() {
    let file = fixture("payloads/bundle_scalars.bpte");
    let before = Bpte { source: None, ..Bpte::parse(file.bytes()).unwrap().into_owned() };
    let (mut seen, mut unseen) = (0, Vec::new());
    for damage in Damage::all(&before.bundled_program) {
        let what = damage.describe(&before.bundled_program);
        let mut after = before.clone();
        let changed = damage.apply(&mut after.bundled_program) && after != before;
        // A bundle without a program is refused; an empty list equals an absent one.
        if changed && !what.starts_with("program") && !what.contains(": Insert") {
            seen += 1;
            unseen.extend(same(Model::Bpte(before.clone()), Model::Bpte(after)).then_some(what));
        }
    }
    assert!(seen > 40 && unseen.is_empty(), "{seen}: {unseen:?}");
    let file = fixture("payloads/profile_debug.etdp");
    let before = Etdp { source: None, ..Etdp::parse(file.bytes()).unwrap().into_owned() };
    let (mut seen, mut unseen) = (0, Vec::new());
    for damage in Damage::all(&before.etdump) {
        let what = damage.describe(&before.etdump);
        let mut after = before.clone();
        if damage.apply(&mut after.etdump) && after != before && !what.contains(": Insert") {
            seen += 1;
            unseen.extend(same(Model::Etdp(before.clone()), Model::Etdp(after)).then_some(what));
        }
    }
    assert!(seen > 100 && unseen.is_empty(), "{seen}: {unseen:?}");
}

#[test]
fn bundles_and_traces_are_compared_and_all_differ() {
    for extension in ["bpte", "etdp"] {
        let files = with_extension(extension);
        for (index, one) in files.iter().enumerate() {
            for (second, other) in files.iter().enumerate() {
                let found = compare(one.bytes(), other.bytes());
                assert_eq!(found.is_same(), index == second, "{} {}: {found:?}", one.name(), other.name());
            }
        }
    }
    let told = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|name| fixture(&format!("payloads/{name}")));
        lines(&compare(one.bytes(), other.bytes()))
    };
    let cases = told("bundle_scalars.bpte", "bundle_empty.bpte");
    assert!(cases.iter().any(|line| line == "forward test_case 0"), "{cases:?}");
    let events = told("profile_portable.etdp", "profile_control.etdp");
    assert!(events.iter().any(|line| line.starts_with("event 0 of run 0 (")), "{events:?}");
}

#[test]
fn a_bundle_whose_program_cannot_be_read_is_refused() {
    let file = fixture("payloads/bundle_scalars.bpte");
    let mut bundle = Bpte::parse(file.bytes()).unwrap();
    bundle.set_program(&b"no program"[..]);
    let bad = TempFile::new("bad.bpte", &bundle.image().unwrap().to_vec().unwrap());
    for paths in [[&bad.0, &file.path], [&file.path, &bad.0], [&bad.0, &bad.0]] {
        let output = pte().args(["diff", "--json"]).args(paths).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(json["files"][0]["errors"][0].as_str().unwrap().starts_with("program: "), "{json}");
    }
}

#[test]
fn keys_moved_to_a_ptd_are_looked_up_there() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    let (ptd, _) = pte.externalize(&PtdOptions::default(), |data| Some(data.key.into())).unwrap();
    let (written, mut data) = (pte.image().unwrap().to_vec().unwrap(), ptd.image().unwrap().to_vec().unwrap());
    let (before, after) = (Model::parse(file.bytes()).unwrap(), Model::parse(&written).unwrap());
    let find = |data: &[Ptd<'_>]| {
        let sides = (Side::new(&before, &[]), Side::new(&after, data));
        diff(&sides.0, &sides.1, &DiffOptions::default())
    };
    let read = Ptd::parse(&data).unwrap();
    let found = find(std::slice::from_ref(&read));
    assert!(found.is_same(), "{:?}", lines(&found));
    let moved = found.storage.iter().filter(|change| change.subject == DifferenceSubject::Key).count();
    assert!(moved > 0 && moved == Pte::parse(file.bytes()).unwrap().named_data().len(), "{moved}");
    assert_eq!(find(&[]).differences.len(), moved);
    // The last byte belongs to the last key.
    *data.last_mut().unwrap() ^= 1;
    assert_eq!(find(&[Ptd::parse(&data).unwrap()]).differences.len(), 1);
}

#[test]
fn data_in_a_ptd_that_was_not_given_is_not_called_the_same() {
    let weights = fixture("1.5.1/add_mul_external/add_mul_external.pte");
    let keys = fixture("1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte");
    for (file, what) in [(weights, "2 external tensors"), (keys, "2 payload constants")] {
        let pte = Pte::parse(file.bytes()).unwrap();
        let other = pte.lay_out(&PteOptions::default().with_segment_alignment(4096));
        // A version of the file with a different layout, or with different bytes.
        let mut bytes = other.and_then(|pte| pte.image()?.to_vec()).unwrap();
        bytes.extend_from_slice(&[0; 16]);
        let found = compare(file.bytes(), &bytes);
        assert!(found.is_same(), "{:?}", lines(&found));
        let [told] = &found.not_compared[..] else { panic!("{:?}", found.not_compared) };
        assert!(told.starts_with(what), "{told}");
        let made = TempFile::new("other.pte", &bytes);
        let output = pte_diff(&file.path, &made.0);
        assert!(output.ends_with("stored differently, as far as it was compared\n"), "{output}");
    }
}

fn pte_diff(before: &std::path::Path, after: &std::path::Path) -> String {
    let output = pte().arg("diff").args([before, after]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn quiet_prints_nothing_and_stat_prints_only_counts() {
    let run = |before: &str, after: &str| {
        let output = pte().args(["diff", "-q"]).arg(fixture(before).path).arg(fixture(after).path).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (one, other) = ("1.5.1/add/add.pte", "1.5.1/add_mul/add_mul.pte");
    assert_eq!(run("0.2.1/add_mul/add_mul.pte", other), (Some(0), String::new()));
    assert_eq!(run(one, other), (Some(1), String::new()));
    let counts = pte().args(["diff", "--stat"]).arg(fixture(one).path).arg(fixture(other).path).output().unwrap();
    let counts = String::from_utf8(counts.stdout).unwrap();
    assert!(counts.contains("forward  operator") && !counts.contains("aten::mm.out"), "{counts}");
}

#[test]
fn an_added_instruction_is_one_difference_although_later_values_have_new_indices() {
    let diff = changed("1.5.1/multi_method/multi_method.pte", |pte| {
        let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
        // Inserts a value at the front: all others move by one.
        plan.values.as_mut().unwrap().insert(0, 7i64.into());
        let up = |list: &mut Option<std::borrow::Cow<'_, [i32]>>| {
            list.as_mut().unwrap().to_mut().iter_mut().for_each(|value| *value += 1)
        };
        up(&mut plan.inputs);
        up(&mut plan.outputs);
        for value in plan.values.as_mut().unwrap() {
            match &mut value.val {
                KernelTypes::TensorList(list) => up(&mut list.items),
                KernelTypes::IntList(list) => {
                    list.items.as_mut().unwrap().to_mut().iter_mut().for_each(|value| *value += 1)
                }
                _ => {}
            }
        }
        let instructions = plan.chains.as_mut().unwrap()[0].instructions.as_mut().unwrap();
        for instruction in instructions.iter_mut() {
            match &mut instruction.instr_args {
                InstructionArguments::KernelCall(call) => up(&mut call.args),
                InstructionArguments::DelegateCall(call) => up(&mut call.args),
                _ => {}
            }
        }
        let again = instructions[0].clone();
        instructions.insert(0, again);
    });
    let kinds: Vec<_> = diff.differences.iter().map(|change| (change.subject, change.kind)).collect();
    assert_eq!(
        kinds.iter().filter(|kind| **kind == (DifferenceSubject::Instruction, DifferenceKind::Added)).count(),
        1,
        "{kinds:?}"
    );
    assert_eq!(
        kinds.iter().filter(|(subject, _)| *subject == DifferenceSubject::Instruction).count(),
        1,
        "{:?}",
        lines(&diff)
    );
    assert!(diff.storage.iter().any(|change| change.subject == DifferenceSubject::Value), "{:?}", diff.storage);
}

#[test]
fn instructions_in_a_new_order_are_moved() {
    let diff = changed("1.5.1/multi_method/multi_method.pte", |pte| {
        let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
        let instructions = plan.chains.as_mut().unwrap()[0].instructions.as_mut().unwrap();
        let first: Instruction<'_> = instructions.remove(0);
        instructions.push(first);
    });
    let moved: Vec<_> =
        diff.differences.iter().filter(|change| change.subject == DifferenceSubject::Instruction).collect();
    assert_eq!(moved.len(), 1, "{:?}", lines(&diff));
    assert_eq!(moved[0].kind, DifferenceKind::Moved);
}

#[test]
fn a_changed_weight_is_shown_with_its_distance() {
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let (_, tensor) = pte.methods()[0].tensors().find(|(_, tensor)| tensor.data_buffer_idx > 0).unwrap();
    let view = pte.tensor_view(tensor).unwrap().unwrap();
    let values = view.to_vec::<f32>().unwrap();
    let start = executorch_format::offset_in(file.bytes(), view.bytes()).unwrap() as usize;
    let mut other = file.bytes().to_vec();
    other[start..start + 4].copy_from_slice(&(values[0] + 0.5).to_le_bytes());
    let diff = compare(file.bytes(), &other);
    let [change] = &diff.differences[..] else { panic!("{:?}", lines(&diff)) };
    assert_eq!((change.subject, change.kind), (DifferenceSubject::Weight, DifferenceKind::Changed));
    let distance = change.distance.unwrap();
    assert_eq!((distance.elements, distance.changed), (4, 1));
    assert!((distance.absolute - 0.5).abs() < 1e-6);
    let dot = |one: &[f32], other: &[f32]| {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
    };
    let mut moved = values.clone();
    moved[0] += 0.5;
    let cosine = dot(&values, &moved) / (dot(&values, &values) * dot(&moved, &moved)).sqrt();
    assert!((distance.cosine.unwrap() - cosine).abs() < 1e-9);
}

#[test]
fn weights_in_a_ptd_are_the_same_weights() {
    let (inside, outside) =
        (fixture("1.5.1/add_mul/add_mul.pte"), fixture("1.5.1/add_mul_external/add_mul_external.pte"));
    let data = fixture("1.5.1/add_mul_external/_default_external_constant.ptd");
    let data = [Ptd::parse(data.bytes()).unwrap()];
    let (before, after) = (Model::parse(inside.bytes()).unwrap(), Model::parse(outside.bytes()).unwrap());
    let (before, with, without) = (Side::new(&before, &[]), Side::new(&after, &data), Side::new(&after, &[]));
    let found = diff(&before, &with, &DiffOptions::default());
    assert!(found.is_same(), "{:?}", lines(&found));
    assert_eq!(
        found
            .storage
            .iter()
            .filter(|change| change.kind == DifferenceKind::Moved && change.subject == DifferenceSubject::Weight)
            .count(),
        2
    );
    assert!(!diff(&before, &without, &DiffOptions::default()).is_same());
}

#[test]
fn keys_of_a_ptd_are_added_renamed_and_changed() {
    let file = fixture("1.5.1/ptd_names/ptd_names.ptd");
    let mut ptd = Ptd::parse(file.bytes()).unwrap();
    let named = ptd.flat_tensor.named_data.as_mut().unwrap();
    assert!(named.len() > 1);
    named[0].key = Some("another key".into());
    let other = ptd.image().unwrap().to_vec().unwrap();
    let diff = compare(file.bytes(), &other);
    let [change] = &diff.differences[..] else { panic!("{:?}", lines(&diff)) };
    assert_eq!(
        (change.subject, change.kind, change.after.as_deref()),
        (DifferenceSubject::Key, DifferenceKind::Moved, Some("another key"))
    );
}

#[test]
fn exports_by_two_releases_differ_only_in_changes_of_the_exporter() {
    let (old, new) = (fixture("0.2.1/add_mul/add_mul.pte"), fixture("1.5.1/add_mul/add_mul.pte"));
    assert!(compare(old.bytes(), new.bytes()).is_same());
}

#[test]
fn damaged_files_are_compared_without_a_panic() {
    let files: Vec<Fixture> = fixtures().into_iter().filter(|fixture| fixture.bytes().len() < 8000).collect();
    for pair in files.windows(2).take(60) {
        let other = Model::parse(pair[1].bytes()).unwrap();
        for at in (0..pair[0].bytes().len()).step_by(68) {
            let Some(damaged) = damage_word(pair[0].bytes(), at, at / 68 % 3) else { continue };
            if let Ok(one) = Model::parse(&damaged) {
                let (one, other) = (Side::new(&one, &[]), Side::new(&other, &[]));
                diff(&one, &other, &DiffOptions::default().with_tensors());
                diff(&other, &one, &DiffOptions::default().with_tensors());
            }
        }
    }
}

#[test]
fn exit_codes_distinguish_equal_different_and_invalid_files() {
    let run = |before: &str, after: &str| {
        let path = |name: &str| fixture(name).path;
        pte().arg("diff").arg(path(before)).arg(path(after)).output().unwrap()
    };
    let (one, other) = ("1.5.1/add/add.pte", "1.5.1/add_mul/add_mul.pte");
    assert_eq!(run(one, one).status.code(), Some(0));
    assert_eq!(run("0.2.1/add_mul/add_mul.pte", other).status.code(), Some(0));
    let different = run(one, other);
    assert_eq!(different.status.code(), Some(1));
    golden("diff/add_add_mul.txt", &normal(&different.stdout)).unwrap();
    let delegated = run("1.5.1/linear/linear.pte", "1.5.1/linear_xnnpack/linear_xnnpack.pte");
    golden("diff/linear_xnnpack.txt", &normal(&delegated.stdout)).unwrap();
    let bad = TempFile::new("bad.pte", b"not a model");
    let output = pte().arg("diff").arg(&bad.0).arg(fixture(one).path).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stderr.is_empty());
}

/// Returns output without the folder of the files.
fn normal(output: &[u8]) -> String {
    let folder = slashes(&format!("{}/", executorch_format_support::data().display()));
    slashes(&String::from_utf8_lossy(output)).replace(&folder, "")
}

#[test]
fn json_agrees_with_the_library() {
    let (one, other) = (fixture("1.5.1/add/add.pte"), fixture("1.5.1/add_mul/add_mul.pte"));
    let output = pte().args(["diff", "--json", "--tensors"]).arg(&one.path).arg(&other.path).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let programs = [&one, &other].map(|file| Pte::parse(file.bytes()).unwrap());
    let analyses = programs.each_ref().map(Analysis::new);
    let (before, after) = (Model::parse(one.bytes()).unwrap(), Model::parse(other.bytes()).unwrap());
    let (before, after) = (Side::new(&before, &[]), Side::new(&after, &[]));
    let diff =
        diff(&before.with_names(analyses[0].names()), &after.with_names(analyses[1].names()), &DiffOptions::default());
    assert_eq!(json["same"], false);
    assert_eq!(json["sizes"], serde_json::json!([one.bytes().len(), other.bytes().len()]));
    assert_eq!(json["differences"], serde_json::to_value(&diff.differences).unwrap());
    assert_eq!(json["storage"], serde_json::to_value(&diff.storage).unwrap());
}
