//! Operations on finished files, on every fixture that they apply to.

use executorch_format::edit::{Action, Strip, Subject};
use executorch_format::inspect::BlobKind;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{EValue, KernelTypes, SubsegmentOffsets};
use executorch_format::verify::Level;
use executorch_format::{Analysis, Model, NewEntry, Ptd, PtdOptions, Pte, PteOptions, Segment, TensorData};
use executorch_format_support::edits::{new_errors, new_errors_with};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each, some_fixtures};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Returns the programs to change: all, or only some of them.
pub fn programs() -> Vec<Fixture> {
    some_fixtures().into_iter().filter(Fixture::is_pte).collect()
}

pub fn data_files() -> Vec<Fixture> {
    fixtures().into_iter().filter(|fixture| !fixture.is_pte()).collect()
}

pub fn text(error: executorch_format::Error) -> String {
    format!("  {error}")
}

/// Returns the file with a new layout, whatever the old one was.
pub fn anew(pte: Pte<'_>) -> Result<Vec<u8>, String> {
    let options = PteOptions::default().with_constant_alignment(Some(16));
    pte.lay_out(&options).and_then(|pte| pte.image()?.to_vec()).map_err(text)
}

pub fn written(pte: &Pte<'_>) -> Result<Vec<u8>, String> {
    pte.image().and_then(|image| image.to_vec()).map_err(text)
}

/// Returns the bytes of every tensor, payload and named blob, which must not change.
pub fn contents(pte: &Pte<'_>, data: &[Ptd<'_>]) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut contents = BTreeMap::new();
    for (user, place) in pte.data_users() {
        let bytes = match place.map_err(text)? {
            TensorData::External(key) => {
                let found = data.iter().find_map(|ptd| Some((ptd, ptd.get(key)?)));
                match found {
                    Some((ptd, entry)) => ptd.entry_bytes(&entry).map_err(text)?.to_vec(),
                    None => continue,
                }
            }
            place => pte.bytes(&place.data_ref().unwrap()).map_err(text)?.to_vec(),
        };
        let name = match user {
            executorch_format::DataUser::NamedData { named, .. } => named.key().to_owned(),
            user => user.path().to_string(),
        };
        contents.insert(name, bytes);
    }
    for ptd in data {
        let named = |key: &str| {
            let mut tensors = pte.methods().iter().flat_map(|plan| plan.tensors());
            tensors.any(|(_, tensor)| tensor.is_external() && tensor.fully_qualified_name() == Some(key))
        };
        for entry in ptd.entries().filter(|entry| !named(entry.key())) {
            contents.insert(entry.key().to_owned(), ptd.entry_bytes(&entry).map_err(text)?.to_vec());
        }
    }
    Ok(contents)
}

/// Checks that a valid file stays valid.
pub fn no_worse(before: &Fixture, after: &Pte<'_>) -> Result<(), String> {
    let (before, after) = (Model::parse(before.bytes()).map_err(text)?, Model::Pte(after.clone()));
    equal("new errors", new_errors(&before, &after).map_err(text)?, vec![])
}

#[test]
fn externalizing_and_internalizing_gives_the_file_with_a_new_layout() {
    for_each(&programs(), |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        let before = contents(&original, &[])?;
        let mut pte = original.clone();
        let (data, report) = pte.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned())).map_err(text)?;
        let data = [data];
        equal("contents", contents(&pte, &data)? == before, true)?;
        equal(
            "data left",
            Analysis::new(&pte)
                .blobs()
                .blobs
                .iter()
                .filter(|blob| matches!(blob.kind, BlobKind::Constant | BlobKind::InitialState | BlobKind::Named))
                .count(),
            0,
        )?;
        equal("new errors of the pair", new_errors_with(&original, &pte, &data), vec![])?;
        no_worse(fixture, &pte)?;
        // As if parsed from two files.
        let (program, data) = (written(&pte)?, data[0].image().and_then(|image| image.to_vec()).map_err(text)?);
        let (mut pte, data) = (Pte::parse(&program).map_err(text)?, Ptd::parse(&data).map_err(text)?);
        let mut findings = data.verify(Default::default());
        // A library with native code is one in the program, too.
        findings.retain(|finding| finding.rule != "native-code");
        equal("findings in the data", findings, vec![])?;
        if report.changes.is_empty() {
            return Ok(());
        }
        let again = pte.internalize(&[data], |_| true);
        if original.missing_data(&[]).is_some() {
            return equal("refused without all files", again.is_err(), true);
        }
        equal("what came back", again.map_err(text)?.bytes_saved(), -report.bytes_saved())?;
        equal("contents", contents(&pte, &[])? == before, true)?;
        // Constants inside the FlatBuffer are put back into a segment, and the alignment of named data is not stored.
        let exact = original.program.constant_buffer().len() < 2 && original.named_data().is_empty();
        equal("the file laid out anew", !exact || anew(pte)? == anew(original)?, true)
    });
}

#[test]
fn internalizing_an_exporters_pair_gives_one_valid_file() {
    let pairs = Cell::new(0);
    let data_files = data_files();
    let programs: Vec<Fixture> = fixtures().into_iter().filter(Fixture::is_pte).collect();
    for_each(&programs, |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        let folder: Vec<&Fixture> =
            data_files.iter().filter(|data| data.path.parent() == fixture.path.parent()).collect();
        let data: Vec<Ptd<'_>> = folder.iter().map(|data| Ptd::parse(data.bytes()).unwrap()).collect();
        let external =
            original.methods().iter().flat_map(|plan| plan.tensors()).any(|(_, tensor)| tensor.is_external());
        if data.is_empty() || !external {
            return Ok(());
        }
        pairs.set(pairs.get() + 1);
        let mut pte = original.clone();
        let report = pte.internalize(&data, |_| true).map_err(text)?;
        equal("left out", report.notes, Vec::<String>::new())?;
        equal("contents", contents(&pte, &[])? == contents(&original, &data)?, true)?;
        no_worse(fixture, &pte)?;
        equal(
            "external",
            Analysis::new(&pte).blobs().blobs.iter().filter(|blob| blob.kind == BlobKind::External).count(),
            0,
        )
    });
    assert!(pairs.get() > 0);
}

#[test]
fn externalizing_reproduces_the_exporters_own_external_file() {
    let (inside, outside) =
        (fixture("1.5.1/add_mul/add_mul.pte"), fixture("1.5.1/add_mul_external/add_mul_external.pte"));
    let data = fixture("1.5.1/add_mul_external/_default_external_constant.ptd");
    let mut pte = Pte::parse(inside.bytes()).unwrap();
    let (weights, _) = pte
        .externalize(&PtdOptions::default(), |data| Some(if data.index == 0 { "a" } else { "b" }.to_owned()))
        .unwrap();
    assert_eq!(weights.image().unwrap().to_vec().unwrap(), data.bytes());
    // The exporter leaves indices that are never used; here they are 0.
    let mut outside = Pte::parse(outside.bytes()).unwrap().program;
    for value in outside.execution_plan.iter_mut().flatten().flat_map(|plan| plan.values.iter_mut().flatten()) {
        if let KernelTypes::Tensor(tensor) = &mut value.val {
            tensor.data_buffer_idx = 0;
        }
    }
    assert_eq!(pte.program, outside);
}

#[test]
fn externalizing_is_not_blamed_for_existing_faults() {
    let file = fixture("malformed/xnnpack-constant-size.pte");
    let before = Pte::parse(file.bytes()).unwrap();
    let mut after = before.clone();
    let (data, _) = after.externalize(&PtdOptions::default(), |data| Some(data.key.into())).unwrap();
    let errors = after.verify_with([&data], Level::Strict);
    assert!(errors.iter().any(|finding| finding.rule == "xnnpack-constant-size"), "{errors:?}");
    assert_eq!(new_errors_with(&before, &after, &[data]), []);
}

#[test]
fn a_key_has_one_content() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let before = pte.clone();
    let error = pte.externalize(&PtdOptions::default(), |_| Some("weight".into())).unwrap_err();
    assert!(error.to_string().contains("the key \"weight\" of"), "{error}");
    assert_eq!(pte, before);
    // A constant of several methods has one key.
    let (data, report) = pte.externalize(&PtdOptions::default(), |data| Some(data.key.into())).unwrap();
    assert_eq!(data.entries().count(), 5);
    assert_eq!(report.changes.iter().map(|change| change.users.len()).sum::<usize>(), 9);
}

#[test]
fn stripped_data_is_not_needed() {
    for_each(&programs(), |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        let mut pte = original.clone();
        pte.strip(&Strip::ALL).map_err(text)?;
        equal("contents", contents(&pte, &[])? == contents(&original, &[])?, true)?;
        no_worse(fixture, &pte)?;
        equal("not larger", written(&pte)?.len() <= fixture.bytes().len(), true)?;
        let file = written(&pte)?;
        equal("again", pte.strip(&Strip::ALL).map_err(text)?.changes, vec![])?;
        equal("the same again", written(&pte)? == file, true)
    });
}

#[test]
fn a_selected_method_keeps_the_data_that_it_uses() {
    for_each(&programs(), |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        for plan in original.methods() {
            let mut pte = original.clone();
            pte.select(|name| name == plan.name()).map_err(text)?;
            equal("methods", pte.methods().len(), 1)?;
            no_worse(fixture, &pte)?;
            let kept = contents(&pte, &[])?;
            let mut alone = original.clone();
            alone.program.execution_plan = Some(vec![plan.clone()]);
            let mut expected = contents(&alone, &[])?;
            // Named data is removed if only payloads of other methods refer to it.
            let named = |key: &str| alone.named_data().iter().any(|named| named.key() == key);
            let (others, own) = (original.xnnpack_keys(), alone.xnnpack_keys());
            expected
                .retain(|key, _| !named(key) || kept.contains_key(key) || !others.contains(key) || own.contains(key));
            equal("contents", kept == expected, true)?;
        }
        equal("none", original.clone().select(|_| false).is_err(), true)
    });
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let report = pte.select(|name| name == "get_int").unwrap();
    let removed = report.changes.iter().filter(|change| change.subject == Subject::Constant).count();
    assert_eq!((removed, pte.program.constant_segment.unwrap().offsets().len()), (5, 1));
}

pub fn regression(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/fuzz/regressions/edit/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn merging_a_file_of_an_early_schema_adds_no_findings_about_layouts() {
    let file = regression("edit-0.6-dim-order.ptd");
    let before = Ptd::parse(&file).unwrap();
    let found = before.verify(Level::Strict);
    assert!(found.iter().any(|finding| finding.rule == "ptd-schema"), "{found:?}");
    assert!(found.iter().any(|finding| finding.rule.starts_with("layout-dim-order")), "{found:?}");
    let (merged, _) = Ptd::merge(std::slice::from_ref(&before), &PtdOptions::default()).unwrap();
    assert_eq!(new_errors(&Model::Ptd(before), &Model::Ptd(merged)).unwrap(), []);
}

#[test]
fn strip_never_makes_a_file_larger() {
    // The unused constant is in a segment that is also named data: the other constant would need its own segment.
    let file = regression("const_named_same_seg.pte");
    let mut pte = Pte::parse(&file).unwrap();
    let offsets = &mut pte.program.constant_segment.as_mut().unwrap().offsets;
    offsets.as_mut().unwrap().to_mut().push(16);
    let file = written(&pte).unwrap();
    let mut pte = Pte::parse(&file).unwrap();
    let report = pte.strip(&Strip::default().with_unreferenced()).unwrap();
    assert!(report.changes.is_empty() && report.notes[0].contains("bytes larger"), "{report:?}");
    assert!(written(&pte).unwrap() == file);
    for_each(&programs(), |fixture| {
        for what in [Strip::default().with_unreferenced(), Strip::ALL] {
            let mut pte = Pte::parse(fixture.bytes()).map_err(text)?;
            let report = pte.strip(&what).map_err(text)?;
            let (before, after) = (fixture.bytes().len(), written(&pte)?.len());
            equal("not larger", after <= before && (after < before || report.changes.is_empty()), true)?;
        }
        Ok(())
    });
}

#[test]
fn named_data_is_removed_with_the_only_method_that_uses_it() {
    let fixture = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let mut original = Pte::parse(fixture.bytes()).unwrap();
    // Adds a second method that computes nothing, and one with a separate payload.
    let mut second = original.methods()[0].clone();
    second.name = Some("second".into());
    let mut without = second.clone();
    without.name = Some("without".into());
    without.chains = Some(Vec::new());
    without.delegates = Some(Vec::new());
    original.program.execution_plan.as_mut().unwrap().extend([second, without]);
    original.set_metadata("metadata.note", executorch_format::edit::MetadataValue::Int(1)).unwrap();
    assert_eq!(original.named_data().len(), 3);

    let mut shared = original.clone();
    shared.select(|name| name != "forward").unwrap();
    assert_eq!(shared.named_data().len(), 3);
    let mut none = original.clone();
    let report = none.select(|name| name == "without").unwrap();
    let keys: Vec<&str> = none.named_data().iter().map(|named| named.key()).collect();
    // The empty segment of constants, and the segment of the metadata.
    assert_eq!((keys, none.segments.len()), (vec!["metadata.note"], 2), "{report:?}");

    // A payload whose keys are unknown.
    let mut opaque = original;
    let delegate = opaque.program.execution_plan.as_mut().unwrap()[1].delegates.as_mut().unwrap();
    delegate[0].id = Some("Other".into());
    let processed = delegate[0].processed.unwrap();
    let index = opaque.segments.len() as u32;
    opaque.segments.push(executorch_format::Segment::Whole(vec![1; 64].into()));
    opaque.program.segments.as_mut().unwrap().push(executorch_format::schema::DataSegment { offset: 4096, size: 64 });
    let delegate = opaque.program.execution_plan.as_mut().unwrap()[1].delegates.as_mut().unwrap();
    delegate[0].processed =
        Some(executorch_format::schema::program::BackendDelegateDataReference { index, ..processed });
    let report = opaque.select(|name| name != "forward").unwrap();
    assert_eq!(opaque.named_data().len(), 3);
    assert!(report.notes.iter().any(|note| note.contains("all named data stays: payloads of Other")), "{report:?}");
}

#[test]
fn metadata_is_set_and_removed() {
    use executorch_format::edit::{MetadataContent, MetadataValue};
    use executorch_format::inspect::Returned;
    for_each(&programs(), |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        let mut pte = original.clone();
        let before = pte.metadata().len();
        pte.set_metadata("get_answer", MetadataValue::Int(41)).map_err(text)?;
        pte.set_metadata("get_answer", MetadataValue::Float(0.5)).map_err(text)?;
        pte.set_metadata("metadata.note", MetadataValue::String("first".into())).map_err(text)?;
        pte.set_metadata("metadata.note", MetadataValue::String("second".into())).map_err(text)?;
        no_worse(fixture, &pte)?;
        let file = written(&pte)?;
        let again = Pte::parse(&file).map_err(text)?;
        equal("entries", again.metadata().len(), before + 2)?;
        let found = |name| again.metadata().into_iter().find(|entry| entry.name == name).unwrap().content;
        equal("method", found("get_answer"), MetadataContent::Method(Returned::Double(0.5)))?;
        let note = MetadataContent::Bytes { size: 6, text: Some("second"), int: None, float: None };
        equal("named data", found("metadata.note"), note)?;
        pte.remove_metadata("get_answer").map_err(text)?;
        pte.remove_metadata("metadata.note").map_err(text)?;
        equal("an entry that is gone", pte.remove_metadata("metadata.note").is_err(), true)?;
        // An empty list of named data is not written again.
        let mut original = original;
        original.program.named_data.take_if(|named| named.is_empty());
        equal("as before", anew(pte)? == anew(original)?, true)
    });
    let fixture = fixture("1.5.1/add/add.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    assert!(pte.set_metadata("forward", MetadataValue::Int(1)).is_err());
    assert!(pte.set_metadata("metadata.yes", MetadataValue::Bool(true)).is_err());
    assert_eq!(pte.image().unwrap().to_vec().unwrap(), fixture.bytes());
}

#[test]
fn a_list_is_set_as_the_exporter_writes_it() {
    use executorch_format::edit::MetadataValue::{self, Bool, Float, Int, List, String};
    use executorch_format::inspect::Returned;
    let fixture = fixture("metadata/metadata_lists.pte");
    let original = Pte::parse(fixture.bytes()).unwrap();
    let mut pte = original.clone();
    let texts = ["a", "b"].map(|text| String(text.into())).into();
    let lists: [(&str, Vec<MetadataValue>); 4] = [
        ("get_eos_ids", [5, 6, 7].map(Int).into()),
        ("get_d", [0.5, 2.25].map(Float).into()),
        ("get_b", [true, false].map(Bool).into()),
        ("get_s", texts),
    ];
    for (name, items) in lists {
        pte.set_metadata(name, Int(0)).unwrap();
        assert!(pte.program != original.program);
        pte.set_metadata(name, List(items)).unwrap();
        assert!(pte.program.execution_plan == original.program.execution_plan, "{name}");
    }
    assert_eq!(written(&pte).unwrap(), fixture.bytes());
    pte.set_metadata("get_one", List(vec![Int(8)])).unwrap();
    let read = |name: &str| pte.method(name).unwrap().constant().unwrap();
    assert_eq!(read("get_one"), Returned::List(vec![Returned::Int(8)]));
    assert_eq!(read("get_n"), Returned::Int(5));
    for refused in [List(Vec::new()), List(vec![List(vec![Int(1)])])] {
        assert!(pte.set_metadata("get_it", refused).is_err());
    }
    assert!(pte.set_metadata("metadata.ids", List(vec![Int(1)])).is_err());
}

/// After the first change, the constants begin at byte 4,096, which says nothing about the alignment of the file.
#[test]
fn changes_one_after_another_do_not_raise_the_alignment() {
    use executorch_format::edit::MetadataValue::Int;
    let fixture = fixture("metadata/llm_metadata.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    pte.set_metadata("get_eos_ids", Int(5)).unwrap();
    pte.set_metadata("metadata.b", Int(2)).unwrap();
    let size = written(&pte).unwrap().len();
    assert!(size < fixture.bytes().len() + 1024, "{size} bytes");
    assert_eq!(PteOptions::of(&pte).unwrap().segment_alignment, 128);
    // A requested alignment stays.
    let mut wide = pte.lay_out(&PteOptions::default().with_segment_alignment(4096)).unwrap();
    wide.set_metadata("metadata.c", Int(3)).unwrap();
    assert_eq!(PteOptions::of(&wide).unwrap().segment_alignment, 4096);
}

#[test]
fn splitting_and_merging_keeps_keys_and_bytes() {
    for_each(&data_files(), |fixture| {
        let ptd = Ptd::parse(fixture.bytes()).map_err(text)?;
        if ptd.header.is_none() {
            return Ok(());
        }
        let options = PtdOptions::default();
        let before = ptd.verify(Default::default());
        let entries = |ptd: &Ptd<'_>| -> Vec<_> {
            let mut entries: Vec<_> = ptd
                .entries()
                .map(|entry| {
                    let shape = entry.shape.map(|shape| shape.to_string());
                    (entry.key().to_owned(), shape, ptd.entry_bytes(&entry).unwrap().to_vec())
                })
                .collect();
            entries.sort();
            entries
        };
        for most in [1, 100, 1 << 20] {
            let mut part = ptd.parts_by_size(most).map_err(text)?.into_iter();
            let parts = ptd.split(&options, |_| part.next().unwrap()).map_err(text)?;
            for part in &parts {
                let mut found = part.verify(Default::default());
                found.retain(|finding| !before.iter().any(|old| old.rule == finding.rule));
                equal("new findings", found, vec![])?;
                let sizes: Vec<u64> =
                    part.segments.iter().map(|segment| segment.len()).filter(|size| *size > 0).collect();
                equal("size", sizes.iter().sum::<u64>() <= most || sizes.len() == 1, true)?;
            }
            let (merged, _) = Ptd::merge(&parts, &options).map_err(text)?;
            equal("entries", entries(&merged) == entries(&ptd), true)?;
        }
        let (twice, report) = Ptd::merge(&[ptd.clone(), ptd.clone()], &options).map_err(text)?;
        equal("entries of two copies", entries(&twice) == entries(&ptd), true)?;
        equal(
            "shared",
            report.changes.iter().filter(|change| change.action == Action::Shared).count(),
            ptd.entries().count(),
        )?;
        let mut none = ptd.clone();
        none.filter(|_| false).map_err(text)?;
        equal("nothing left", (none.entries().count(), none.segments.len()), (0, 0))?;
        none.image().and_then(|image| image.to_vec()).map_err(text)?;
        let mut half = ptd.clone();
        half.filter(|entry| entry.key().len() % 2 == 0).map_err(text)?;
        let mut expected = entries(&ptd);
        expected.retain(|(key, ..)| key.len() % 2 == 0);
        equal("half", entries(&half) == expected, true)
    });
}

#[test]
fn a_key_with_two_contents_is_not_merged_and_no_name_is_used_twice() {
    let options = PtdOptions::default();
    let file = |bytes: &'static [u8]| {
        Ptd::build([NewEntry::blob("k", bytes), NewEntry::blob("l", &b"x"[..])], &options).unwrap()
    };
    let error = Ptd::merge(&[file(b"1"), file(b"2")], &options).unwrap_err().to_string();
    assert!(error.contains("the key \"k\" is in .ptd files 1 and 2, with different content"), "{error}");
    let mut ptd = file(b"1");
    assert!(ptd.rename(|_| Some("same".into())).is_err());
    assert_eq!(ptd, file(b"1"));
    ptd.rename(|key| (key == "k").then(|| "m".into())).unwrap();
    assert_eq!(ptd.entries().map(|entry| entry.key().to_owned()).collect::<Vec<_>>(), ["m", "l"]);
}

#[test]
fn every_blob_is_extracted_to_its_own_file() {
    for_each(&fixtures(), |fixture| {
        let model = Model::parse(fixture.bytes()).map_err(text)?;
        if model.header().is_none() && !fixture.is_pte() {
            return Ok(());
        }
        let extraction = model.extraction().map_err(text)?;
        let mut names: Vec<_> = extraction.files.iter().map(|file| file.file.to_ascii_lowercase()).collect();
        equal(
            "safe",
            names.iter().all(|name| !name.starts_with('.') && !name.contains(['/', '\\', ' ']) && name.len() < 128),
            true,
        )?;
        names.sort();
        names.dedup();
        equal("names", names.len(), extraction.files.len())?;
        for file in &extraction.files {
            equal(&file.file, model.bytes(&file.data).map_err(text)?.len() as u64, file.size)?;
        }
        Ok(())
    });
}

#[test]
fn externalizing_changes_only_the_place_of_data() {
    for_each(&programs(), |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        let mut pte = original.clone();
        pte.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned())).map_err(text)?;
        for (before, after) in original.methods().iter().zip(pte.methods()) {
            let mut before = before.clone();
            let mut after = after.clone();
            for plan in [&mut before, &mut after] {
                for value in plan.values.iter_mut().flatten() {
                    if let KernelTypes::Tensor(tensor) = &mut value.val {
                        tensor.data_buffer_idx = 0;
                        tensor.extra_tensor_info = None;
                    }
                }
                for delegate in plan.delegates.iter_mut().flatten() {
                    delegate.processed = None;
                }
            }
            // Compared as text, since a NaN does not equal itself.
            equal("method", format!("{before:?}") == format!("{after:?}"), true)?;
        }
        Ok(())
    });
}

#[test]
fn stripped_padding_equals_the_saved_bytes() {
    // Bytes after the last segment.
    let file = [fixture("1.5.1/multi_method/multi_method.pte").bytes(), &[1; 100]].concat();
    let mut pte = Pte::parse(&file).unwrap();
    let before = written(&pte).unwrap().len();
    let report = pte.strip(&Strip::default().with_padding()).unwrap();
    let after = written(&pte).unwrap().len();
    let [change] = &*report.changes else { panic!("{report:?}") };
    assert_eq!((change.action, change.subject), (Action::Removed, Subject::Padding));
    assert!(before > after, "{before} and {after}");
    assert_eq!(change.size_before - change.size_after, (before - after) as u64);
}

#[test]
fn data_collected_for_a_program_can_be_printed() {
    let mut data = executorch_format::DataCollector::new();
    data.constant(vec![1, 2, 3]);
    assert!(format!("{data:?}").contains("[1, 2, 3]"));
}

/// Returns a program with an XNNPACK delegate whose weights are named data, and with a segment of constants with these contents.
pub fn with_constants(blobs: &[Vec<u8>]) -> Vec<u8> {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    let (mut offsets, mut segment) = (vec![0], Vec::new());
    let values = pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap();
    let tensor = values.iter().find_map(|value| match &value.val {
        KernelTypes::Tensor(tensor) => Some(tensor.clone()),
        _ => None,
    });
    for (blob, index) in blobs.iter().zip(1..) {
        let mut constant = tensor.clone().unwrap();
        constant.scalar_type = ScalarType::BYTE;
        constant.sizes = Some(vec![blob.len() as i32].into());
        constant.dim_order = Some(vec![0].into());
        constant.allocation_info = None;
        constant.data_buffer_idx = index;
        values.push(EValue { val: KernelTypes::Tensor(constant) });
        offsets.push(segment.len() as u64);
        segment.extend_from_slice(blob);
        segment.resize(segment.len().next_multiple_of(16), 0);
    }
    segment.truncate(offsets[blobs.len()] as usize + blobs.last().unwrap().len());
    // The exporter wrote an empty segment of constants.
    assert_eq!(pte.program.segments()[0].size, 0);
    pte.program.segments.as_mut().unwrap()[0].size = segment.len() as u64;
    pte.segments[0] = Segment::Whole(segment.into());
    pte.program.constant_segment = Some(SubsegmentOffsets { segment_index: 0, offsets: Some(offsets.into()) });
    written(&pte.lay_out(&PteOptions::default()).unwrap()).unwrap()
}

/// The offset of a single payload may be a multiple of more than its alignment.
#[test]
fn an_edit_does_not_align_more_than_the_exporter_did() {
    let with_filler = |size: usize| {
        let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
        let mut pte = Pte::parse(file.bytes()).unwrap();
        let delegate = &pte.methods()[0].delegates()[0];
        let payload = pte.bytes(&pte.delegate_data(delegate).unwrap()).unwrap().to_vec();
        pte.add_segment(vec![1; size]);
        let index = pte.add_segment(payload);
        let delegates = pte.program.execution_plan.as_mut().unwrap()[0].delegates.as_mut().unwrap();
        delegates[0].processed.as_mut().unwrap().index = index;
        let pte = pte.lay_out(&PteOptions::default()).unwrap();
        (pte.program.segments()[index as usize].offset, written(&pte).unwrap())
    };
    let (offset, _) = with_filler(128);
    let (offset, file) = with_filler((128 + 8192 - offset) as usize);
    assert_eq!(offset, 8192);
    let pte = Pte::parse(&file).unwrap();
    let again = pte.clone().lay_out(&PteOptions::of(&pte).unwrap()).unwrap();
    assert_eq!(written(&again).unwrap(), file);
}
