//! Equal blobs are stored once.

use crate::edit::{contents, no_worse, programs, text, with_constants, written};
use executorch_format::edit::{Action, NewData, SavingKind, Selector, Subject, copies};
use executorch_format::schema::program::{EValue, KernelTypes, Program};
use executorch_format::{DataCollector, Model, NewEntry, Ptd, PtdOptions, Pte, PteOptions};
use executorch_format_support::edits::new_errors;
use executorch_format_support::fixtures::{equal, fixture, for_each};

#[test]
fn equal_blobs_are_stored_once() {
    for_each(&programs(), |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        let mut pte = original.clone();
        let report = pte.dedup().map_err(text)?;
        equal("contents", contents(&pte, &[])? == contents(&original, &[])?, true)?;
        no_worse(fixture, &pte)?;
        equal("shared", report.changes.iter().all(|change| change.action == Action::Shared), true)?;
        equal("again", pte.dedup().map_err(text)?.changes, vec![])?;
        equal(
            "copies",
            copies(&[Model::Pte(pte)]).map_err(text)?.iter().filter(|copies| copies.places > 1).count() == 0,
            true,
        )
    });
    let options = PtdOptions::default();
    let entries = [("a", 1u8), ("b", 2)].map(|(key, byte)| NewEntry::blob(key, vec![byte; 100]));
    let mut ptd = Ptd::build(entries, &options).unwrap();
    assert_eq!(ptd.dedup().unwrap().changes, []);
    ptd.replace("b", &NewData::bytes("ones", vec![1; 100])).unwrap();
    let report = ptd.dedup().unwrap();
    assert_eq!((report.bytes_saved(), ptd.segments.len()), (100, 1));
    assert_eq!(ptd.entry_bytes(&ptd.get("b").unwrap()).unwrap(), [1; 100]);
}

#[test]
fn the_remaining_copy_of_equal_blobs_has_the_alignments_of_all() {
    let alignments = [16, 1024, 3, 16];
    let same = NewData::bytes("sevens", vec![7; 100]);

    let mut data = DataCollector::new();
    for (key, alignment) in ["a", "b", "c", "d"].into_iter().zip(alignments) {
        data.named(key, key.repeat(100).into_bytes(), alignment).unwrap();
    }
    let mut pte = data.finish(Program::default(), &PteOptions::default().with_segment_alignment(1)).unwrap();
    // Inserts a blob at the front, so that the offset of the shared blobs is not 0.
    pte.replace(&Selector::Name("a"), &NewData::bytes("front", vec![1; 100])).unwrap();
    for key in ["b", "c", "d"] {
        pte.replace(&Selector::Name(key), &same).unwrap();
    }
    assert_eq!(pte.dedup().unwrap().changes.len(), 2);
    let [_constants, front, shared] = pte.program.segments() else { panic!("{:?}", pte.program.segments()) };
    assert!(front.offset % 16 == 0 && shared.offset % (1024 * 3) == 0, "{front:?} {shared:?}");

    let entries = ["a", "b", "c", "d"].into_iter().zip(alignments);
    let entries =
        entries.map(|(key, alignment)| NewEntry::blob(key, key.repeat(100).into_bytes()).with_alignment(alignment));
    let mut ptd = Ptd::build(entries, &PtdOptions::default().with_segment_alignment(1)).unwrap();
    for key in ["b", "c", "d"] {
        ptd.replace(key, &same).unwrap();
    }
    assert_eq!(ptd.dedup().unwrap().changes.len(), 2);
    let [front, shared] = ptd.flat_tensor.segments() else { panic!("{:?}", ptd.flat_tensor.segments()) };
    assert!(front.offset % 16 == 0 && shared.offset % (1024 * 3) == 0, "{front:?} {shared:?}");
}

#[test]
fn a_constant_that_is_also_named_data_is_stored_once() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let key = pte.named_data()[0].key().to_owned();
    let weight = pte.named_data_bytes(&key).unwrap().to_vec();

    let tied = with_constants(std::slice::from_ref(&weight));
    let before = Model::parse(&tied).unwrap();
    let saving = before.savings().into_iter().find(|saving| saving.kind == SavingKind::EqualBlobs).unwrap();
    // The saving is less than the size of the weight, since a segment shared by two kinds of data keeps both alignments.
    assert!(saving.size > 0, "{saving:?}");
    let mut pte = Pte::parse(&tied).unwrap();
    let report = pte.dedup().unwrap();
    assert_eq!(report.changes.len(), 1, "{report:?}");
    assert_eq!((report.changes[0].subject, report.changes[0].action), (Subject::NamedData, Action::Shared));
    assert!(report.notes.is_empty(), "{report:?}");
    let smaller = written(&pte).unwrap();
    assert_eq!(smaller.len() as u64 + saving.size, tied.len() as u64);
    let after = Pte::parse(&smaller).unwrap();
    assert_eq!(contents(&after, &[]).unwrap(), contents(&Pte::parse(&tied).unwrap(), &[]).unwrap());
    assert_eq!(new_errors(&before, &Model::Pte(after)).unwrap(), []);

    // With a second constant, the segment differs from the key's bytes.
    let tied = with_constants(&[weight.clone(), vec![7; 32]]);
    let mut pte = Pte::parse(&tied).unwrap();
    let report = pte.dedup().unwrap();
    assert!(report.changes.is_empty(), "{report:?}");
    assert!(report.notes[0].contains(&key) && report.notes[0].contains("stay in the file twice"), "{report:?}");
    assert_eq!(written(&pte).unwrap(), tied);

    // The note names a constant that no tensor uses by its index.
    let mut pte = Pte::parse(&tied).unwrap();
    for value in pte.program.execution_plan.iter_mut().flatten().flat_map(|plan| plan.values.iter_mut().flatten()) {
        if matches!(&value.val, KernelTypes::Tensor(tensor) if tensor.data_buffer_idx == 1) {
            *value = EValue::null();
        }
    }
    let report = pte.dedup().unwrap();
    assert!(report.notes[0].starts_with("constant 1, which is not used, and key "), "{report:?}");
}
