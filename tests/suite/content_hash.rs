//! The hash of a file's content: the same in every layout, another after any change.

use crate::edit::{data_files, programs, text};
use executorch_format::edit::{Candidate, ContentHash, MetadataValue, NewData, Selector, Strip};
use executorch_format::inspect::BlobKind;
use executorch_format::schema::program::{DataLocation, EValue, InstructionArguments, KernelTypes};
use executorch_format::{Analysis, ErrorKind, Model, NewEntry, Ptd, PtdOptions, Pte, PteOptions, WriteStyle};
use executorch_format_support::fixtures::{Fixture, equal, fixture, for_each, scaled};
use executorch_format_support::sharing::{Scale, files};
use std::sync::atomic::{AtomicUsize, Ordering};

fn hash(pte: &Pte<'_>, data: &[Ptd<'_>]) -> Result<ContentHash, String> {
    Analysis::new(pte).with_data(data).content_hash().map_err(text)
}

/// Returns the hash of a program as a file.
fn hash_of_file(pte: &Pte<'_>, data: &[Ptd<'_>]) -> Result<ContentHash, String> {
    let bytes = pte.image().and_then(|image| image.to_vec()).map_err(text)?;
    hash(&Pte::parse(&bytes).map_err(text)?, data)
}

#[test]
fn layout_order_place_of_data_and_metadata_do_not_change_it() {
    let [count, moved_count] = [0, 0].map(AtomicUsize::new);
    for_each(&programs(), |fixture| {
        let pte = Pte::parse(fixture.bytes()).map_err(text)?;
        // Programs whose data is in another file have none without it.
        let Ok(before) = hash(&pte, &[]) else { return Ok(()) };
        count.fetch_add(1, Ordering::Relaxed);
        let same = |what: &str, after: Result<ContentHash, String>| {
            let after = after?;
            equal(what, (&after.sha256, &after.methods), (&before.sha256, &before.methods))
        };
        for (alignment, delegates, style) in [
            (1, None, WriteStyle::PYTHON),
            (4096, Some(DataLocation::INLINE), WriteStyle::FLATC),
            (128, Some(DataLocation::SEGMENT), WriteStyle::PYTHON_OLD_FLATBUFFERS),
        ] {
            let options = PteOptions::default()
                .with_segment_alignment(alignment)
                .with_constant_alignment(Some(64))
                .with_delegates(delegates)
                .with_style(Some(style));
            same("layout", hash_of_file(&pte.clone().lay_out(&options).map_err(text)?, &[]))?;
        }
        let mut moved = pte.clone();
        if let Ok((data, _)) = moved.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned())) {
            let data = [data];
            let moved_hash = hash_of_file(&moved, &data)?;
            equal("weights of the moved", &moved_hash.weights, &before.weights)?;
            same("externalize", Ok(moved_hash))?;
            let mut back = moved.clone();
            back.internalize(&data, |_| true).map_err(text)?;
            same("internalize", hash_of_file(&back, &[]))?;
        }
        let mut renamed = pte.clone();
        let mut number = 0;
        let key = |_: &Candidate<'_>| {
            number += 1;
            Some(format!("k{number:04}"))
        };
        if let Ok((data, _)) = renamed.externalize(&PtdOptions::default(), key) {
            same("other keys", hash_of_file(&renamed, &[data]))?;
            moved_count.fetch_add(1, Ordering::Relaxed);
        }
        let mut small = pte.clone();
        small.strip(&Strip::ALL).map_err(text)?;
        same("strip", hash_of_file(&small, &[]))?;
        let mut once = pte.clone();
        once.dedup().map_err(text)?;
        same("dedup", hash_of_file(&once, &[]))?;
        let mut described = pte.clone();
        if described.set_metadata("get_answer", MetadataValue::Int(42)).is_ok() {
            same("metadata", hash_of_file(&described, &[]))?;
        }
        Ok(())
    });
    assert!(count.into_inner() > scaled(100) && moved_count.into_inner() > scaled(80));
}

/// Returns every program that differs from this one in one value, instruction, list or setting.
fn changed<'a>(pte: &Pte<'a>) -> Vec<(String, Pte<'a>)> {
    let mut all = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Pte<'a>)| {
        let mut changed = pte.clone();
        change(&mut changed);
        all.push((what, changed));
    };
    for (method, plan) in pte.methods().iter().enumerate().filter(|(_, plan)| !plan.is_constant()) {
        macro_rules! plan {
            ($pte:ident) => {
                $pte.program.execution_plan.as_mut().unwrap()[method]
            };
        }
        add(format!("{method} name"), &|pte| plan!(pte).name = Some("renamed".into()));
        for (index, value) in plan.values().iter().enumerate() {
            let what = format!("{method} %{index}");
            let other: KernelTypes<'a> = match &value.val {
                KernelTypes::Tensor(tensor) => {
                    let mut other = tensor.clone();
                    let mut sizes = tensor.sizes().to_vec();
                    sizes.push(1);
                    other.shape_dynamism.0 ^= 1;
                    add(what.clone(), &|pte| plan!(pte).values.as_mut().unwrap()[index].val = other.clone().into());
                    let mut longer = tensor.clone();
                    longer.storage_offset += 1;
                    longer.into()
                }
                KernelTypes::Int(number) => {
                    let mut other = *number;
                    other.int_val ^= 1;
                    other.into()
                }
                KernelTypes::Double(number) => {
                    let mut other = *number;
                    other.double_val = f64::from_bits(other.double_val.to_bits() ^ 1);
                    other.into()
                }
                KernelTypes::Bool(flag) => {
                    let mut other = *flag;
                    other.bool_val = !other.bool_val;
                    other.into()
                }
                _ => KernelTypes::Null(Default::default()),
            };
            if other != value.val {
                add(what, &|pte| plan!(pte).values.as_mut().unwrap()[index] = EValue { val: other.clone() });
            }
        }
        for input in 0..plan.inputs().len() {
            add(format!("{method} input {input}"), &|pte| plan!(pte).inputs.as_mut().unwrap().to_mut()[input] += 1);
        }
        for output in 0..plan.outputs().len() {
            add(format!("{method} output {output}"), &|pte| plan!(pte).outputs.as_mut().unwrap().to_mut()[output] += 1);
        }
        for (index, _) in plan.operators.iter().flatten().enumerate() {
            add(format!("{method} operator {index}"), &|pte| {
                plan!(pte).operators.as_mut().unwrap()[index].overload = Some("other".into());
            });
        }
        for (index, delegate) in plan.delegates().iter().enumerate() {
            add(format!("{method} delegate {index}"), &|pte| {
                plan!(pte).delegates.as_mut().unwrap()[index].id = Some("Other".into());
            });
            for spec in 0..delegate.compile_specs.iter().flatten().count() {
                add(format!("{method} delegate {index} spec {spec}"), &|pte| {
                    let specs = &mut plan!(pte).delegates.as_mut().unwrap()[index].compile_specs;
                    specs.as_mut().unwrap()[spec].key = Some("other".into());
                });
            }
        }
        let instructions = plan.chains.iter().flatten().next().and_then(|chain| chain.instructions.as_ref());
        for index in 0..instructions.map_or(0, Vec::len) {
            add(format!("{method} instruction {index}"), &|pte| {
                let instruction = &mut plan!(pte).chains.as_mut().unwrap()[0].instructions.as_mut().unwrap()[index];
                match &mut instruction.instr_args {
                    InstructionArguments::KernelCall(call) => call.args.get_or_insert_default().to_mut().push(0),
                    InstructionArguments::DelegateCall(call) => call.args.get_or_insert_default().to_mut().push(0),
                    InstructionArguments::MoveCall(call) => call.move_to += 1,
                    InstructionArguments::JumpFalseCall(call) => call.destination_instruction += 1,
                    InstructionArguments::FreeCall(call) => call.value_index += 1,
                    _ => panic!("an instruction of a new kind"),
                }
            });
            add(format!("{method} without instruction {index}"), &|pte| {
                plan!(pte).chains.as_mut().unwrap()[0].instructions.as_mut().unwrap().remove(index);
            });
        }
    }
    all
}

#[test]
fn any_change_of_a_method_changes_it() {
    let count = AtomicUsize::new(0);
    let files: Vec<Fixture> = programs().into_iter().filter(|fixture| fixture.bytes().len() < 20_000).collect();
    for_each(&files, |fixture| {
        let pte = Pte::parse(fixture.bytes()).map_err(text)?;
        let Ok(before) = hash(&pte, &[]) else { return Ok(()) };
        let used = |what: &str| {
            // Operators that no instruction calls are not content.
            let Some((method, index)) = what.split_once(" operator ") else { return true };
            let plan = &pte.methods()[method.parse::<usize>().unwrap()];
            plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten()).any(|instruction| {
                matches!(&instruction.instr_args, InstructionArguments::KernelCall(call) if call.op_index.to_string() == index)
            })
        };
        for (what, changed) in changed(&pte) {
            // Changes may leave data without a size.
            let Ok(after) = hash(&changed, &[]) else { continue };
            count.fetch_add(1, Ordering::Relaxed);
            let calls_delegate =
                !what.contains(" delegate ") || pte.open_payloads().len() == pte.methods()[0].delegates().len();
            if used(&what) && calls_delegate && after.sha256 == before.sha256 {
                return Err(format!("{what} does not change the hash"));
            }
        }
        Ok(())
    });
    assert!(count.into_inner() > scaled(1000));
}

#[test]
fn each_byte_of_a_weight_and_of_a_payload_changes_it() {
    for name in [
        "1.5.1/linear/linear.pte",
        "1.5.1/linear_xnnpack/linear_xnnpack.pte",
        "1.5.1/mutable_init/mutable_init.pte",
        "0.7.0/linear_xnnpack_inline/linear_xnnpack_inline.pte",
    ] {
        let file = fixture(name);
        let pte = Pte::parse(file.bytes()).unwrap();
        let before = hash(&pte, &[]).unwrap();
        assert!(!before.weights.is_empty(), "{name}");
        let model = Model::Pte(pte.clone());
        let blobs = model.blobs().blobs;
        let used =
            blobs.iter().filter(|blob| blob.kind != BlobKind::Segment && !blob.users.is_empty() && blob.size > 0);
        let ranges: Vec<_> = used.filter_map(|blob| Some((blob.offset?, blob.size))).collect();
        for (start, size) in ranges {
            for at in [start, start + size / 2, start + size - 1] {
                let mut changed = file.bytes().to_vec();
                changed[at as usize] ^= 0x11;
                let Ok(pte) = Pte::parse(&changed) else { continue };
                // A payload that cannot be read any more may not say which data it looks up.
                let after = hash(&pte, &[]);
                assert!(after.is_err() || after.unwrap().sha256 != before.sha256, "{name}: byte {at}");
            }
        }
    }
}

#[test]
fn weights_are_named_and_the_changed_one_is_found() {
    let file = fixture("1.5.1/add_mul_external/add_mul_external.pte");
    let data = fixture("1.5.1/add_mul_external/_default_external_constant.ptd");
    let (pte, ptd) = (Pte::parse(file.bytes()).unwrap(), Ptd::parse(data.bytes()).unwrap());
    let error = Analysis::new(&pte).content_hash().unwrap_err();
    assert_eq!(
        error.to_string(),
        "dangling reference: the data \"a\", which the program uses, is in none of the files: give the .ptd too"
    );
    let before = hash(&pte, std::slice::from_ref(&ptd)).unwrap();
    let names = |hash: &ContentHash| hash.weights.iter().map(|weight| weight.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&before), before.methods[0].name.as_str()), (vec!["a".to_owned(), "b".to_owned()], "forward"));
    assert_eq!(ptd.content_hash().unwrap().weights, before.weights);
    let mut other = ptd.clone();
    other.replace("b", &NewData::bytes("zeros", vec![0; 16])).unwrap();
    let after = hash(&pte, std::slice::from_ref(&other)).unwrap();
    assert_eq!(before.weights[0], after.weights[0]);
    assert!(before.weights[1] != after.weights[1] && before.methods != after.methods && before.sha256 != after.sha256);
    assert_ne!(ptd.content_hash().unwrap().sha256, other.content_hash().unwrap().sha256);
    let mut replaced = Pte::parse(file.bytes()).unwrap();
    replaced.internalize(std::slice::from_ref(&ptd), |_| true).unwrap();
    assert_eq!(hash(&replaced, &[]).unwrap(), before);
    let zeros = NewEntry::from_slice("zeros", vec![2, 2], &[0f32; 4]);
    replaced.replace(&Selector::Name("b"), &NewData::from(zeros)).unwrap();
    assert_eq!(hash(&replaced, &[]).unwrap(), after);
}

#[test]
fn the_hash_of_a_ptd_is_that_of_its_keys() {
    for_each(&data_files(), |fixture| {
        let Ok(ptd) = Ptd::parse(fixture.bytes()) else { return Ok(()) };
        // One file has no data.
        let Ok(before) = ptd.content_hash() else { return equal("file", fixture.name().contains("flatc_only"), true) };
        equal("weights", before.weights.len(), ptd.entries().count())?;
        let options = PtdOptions::default().with_segment_alignment(4096).with_style(Some(WriteStyle::FLATC));
        let moved = ptd.clone().lay_out(&options).and_then(|ptd| ptd.image()?.to_vec()).map_err(text)?;
        equal("layout", &Ptd::parse(&moved).and_then(|ptd| ptd.content_hash()).map_err(text)?, &before)?;
        let (merged, _) = Ptd::merge(std::slice::from_ref(&ptd), &PtdOptions::default()).map_err(text)?;
        equal("order and schema", &merged.content_hash().map_err(text)?, &before)?;
        let mut renamed = ptd.clone();
        renamed.rename(|key| Some(format!("x{key}"))).map_err(text)?;
        equal("renamed", renamed.content_hash().map_err(text)?.sha256 == before.sha256, before.weights.is_empty())
    });
}

/// The definition does not change between versions of this crate: manifests stay valid.
#[test]
fn known_hashes_stay() {
    for (name, expected) in [
        ("1.5.1/linear/linear.pte", "932f1d64db223b51f152c116890c353cc58af235f30de8cc7083193b19f9e097"),
        ("1.5.1/ptd_shared/ptd_shared.ptd", "f535417f1d62b001fdcd097a0c3cf15dd61024d71cfcf7a1d5043d61367d74f5"),
    ] {
        let file = fixture(name);
        let hash = match name.ends_with(".pte") {
            true => hash(&Pte::parse(file.bytes()).unwrap(), &[]).unwrap(),
            false => Ptd::parse(file.bytes()).unwrap().content_hash().unwrap(),
        };
        assert_eq!(hash.sha256, expected, "{name}");
    }
}

#[test]
fn bytes_that_many_blobs_share_in_part_are_hashed_a_limited_number_of_times() {
    let all = files(Scale { length: 100_000, count: 100 });
    let of_kind = |kind: &str| &all.iter().find(|file| file.kind == kind).unwrap().bytes;
    let program = Pte::parse(of_kind("ranges")).unwrap();
    let data = Ptd::parse(of_kind("overlap")).unwrap();
    for error in [Analysis::new(&program).content_hash().unwrap_err(), data.content_hash().unwrap_err()] {
        let is_limit = matches!(error.kind(), ErrorKind::Limit { what: "bytes of data to hash", .. });
        assert!(is_limit, "{error}");
    }
}
