//! Operations of `edit`, chosen by bytes, and the conditions that must hold after each.

use crate::visit::tree;
use executorch_format::edit::{EditReport, MetadataValue, NewData, Selector, Strip};
use executorch_format::testing::Choices;
use executorch_format::verify::{Finding, Level};
use executorch_format::{Image, Model, Ptd, PtdOptions, Pte, Result};
use std::collections::BTreeMap;

/// The size of the largest file that is written to memory: a damaged file can refer to the same bytes many times.
const LARGEST: u64 = 1 << 22;

/// Decodes a file, if it is valid, applies operations, and writes it. The written file must read back equal, without findings of severity
/// error that the old file did not have.
pub fn edit_file(bytes: &[u8], choices: &mut Choices<'_>) {
    let Ok(before) = Model::parse(bytes) else { return };
    let after = match before.clone() {
        Model::Pte(mut pte) => {
            edit_program(&mut pte, choices);
            let Some(file) = written(pte.image()) else { return };
            let again = Pte::parse(&file).expect("what we write, we read");
            assert_eq!(tree(&pte.program), tree(&again.program));
            Model::Pte(pte)
        }
        Model::Ptd(mut ptd) => {
            edit_data(&mut ptd, choices);
            let Some(file) = written(ptd.image()) else { return };
            let again = Ptd::parse(&file).expect("what we write, we read");
            assert_eq!(ptd.flat_tensor, again.flat_tensor);
            Model::Ptd(ptd)
        }
        _ => return,
    };
    let found = new_errors(&before, &after).expect("it was written");
    assert!(found.is_empty(), "{found:?}");
}

/// Returns the errors that an edit added. Fails if the result cannot be written.
pub fn new_errors(before: &Model<'_>, after: &Model<'_>) -> Result<Vec<Finding>> {
    after.new_errors(&before.verify(Level::Strict), &after.image()?)
}

/// Returns the errors that moving data out of a program into `data` added.
pub fn new_errors_with(before: &Pte<'_>, after: &Pte<'_>, data: &[Ptd<'_>]) -> Vec<Finding> {
    let mut found = before.verify(Level::Strict);
    found.extend(before.verify_with(&[], Level::Strict));
    after.new_errors_with(data, &found)
}

fn written(image: Result<Image<'_>>) -> Option<Vec<u8>> {
    image.ok().filter(|image| image.size() <= LARGEST).map(|image| image.to_vec().expect("an image can be written"))
}

/// Applies a few operations to a program. Checks that each succeeds or changes nothing, and that operations which must keep data do so.
pub fn edit_program(pte: &mut Pte<'_>, choices: &mut Choices<'_>) {
    for _ in 0..4 {
        let (before, data) = (pte.clone(), contents(pte));
        let operation = choices.below(9);
        if apply(pte, operation, choices).is_err() {
            let same = tree(&pte.program) == tree(&before.program) && pte.segments == before.segments;
            assert!(same && pte.header == before.header, "operation {operation} failed and changed the tree");
            continue;
        }
        let keeps = operation < 6;
        let after = contents(pte);
        for (path, bytes) in data.iter().filter(|_| keeps) {
            assert!(after.get(path).is_none_or(|after| after == bytes), "operation {operation} changed {path}");
        }
        assert!(!keeps || operation == 1 || after.len() == data.len(), "operation {operation} lost data");
    }
}

fn apply(pte: &mut Pte<'_>, operation: u8, choices: &mut Choices<'_>) -> Result<EditReport> {
    let options = PtdOptions::default();
    match operation {
        0 => {
            let before = pte.clone();
            let (data, _) = pte.externalize(&options, |data| Some(data.key.to_owned()))?;
            // If other external tensors have no data, internalizing fails.
            pte.internalize(&[data], |_| true).inspect_err(|_| *pte = before)
        }
        1 => {
            let some = choices.below(3);
            let chosen = |index: usize| index % 3 == usize::from(some);
            Ok(pte.externalize(&options, |data| chosen(data.index).then(|| data.key.to_owned()))?.1)
        }
        2 => pte.strip(&Strip::ALL),
        3 => pte.dedup(),
        4 => pte.set_metadata("metadata.note", MetadataValue::Int(choices.below(255).into())),
        5 => pte.set_metadata("get_note", MetadataValue::Bool(true)),
        6 => pte.remove_metadata("metadata.note"),
        7 => {
            let kept = choices.below(3);
            let mut index = 0;
            pte.select(|_| {
                index += 1;
                index % 3 != kept
            })
        }
        _ => {
            let (method, value) = (choices.below(3), choices.below(255));
            let Some(plan) = pte.methods().get(usize::from(method)) else { return pte.dedup() };
            let (name, size) = (plan.name().to_owned(), plan.tensor(value).and_then(|tensor| tensor.byte_size().ok()));
            let target = Selector::Value { method: &name, value: value.into() };
            // A tensor of a hostile file may need more bytes than the available memory.
            let size = size.filter(|size| *size < 1 << 16).unwrap_or_default();
            let methods = pte.methods().iter().filter(|plan| plan.name() == name).count();
            let before = contents(pte);
            let report = pte.replace(&target, &NewData::bytes("new", vec![choices.below(255); size as usize]))?;
            let after = contents(pte);
            let changed: Vec<_> = before.iter().filter(|(path, bytes)| after.get(*path) != Some(bytes)).collect();
            assert!(changed.len() <= methods, "{target:?}: {changed:?} became {after:?}");
            Ok(report)
        }
    }
}

/// Returns the bytes of every tensor and payload in the file, by path. The metadata is left out, since operations change it.
fn contents(pte: &Pte<'_>) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for (user, place) in pte.data_users() {
        let named = matches!(user, executorch_format::DataUser::NamedData { .. });
        let data = place.ok().and_then(|place| place.data_ref()).filter(|_| !named);
        if let Some(bytes) = data.and_then(|data| pte.bytes(&data).ok()) {
            contents.insert(user.path().to_string(), bytes.to_vec());
        }
    }
    contents
}

/// Applies a few operations to a `.ptd`. Splitting and merging must keep the bytes of every entry.
pub fn edit_data(ptd: &mut Ptd<'_>, choices: &mut Choices<'_>) {
    for _ in 0..4 {
        let before = ptd.clone();
        let done = match choices.below(5) {
            0 => ptd.dedup(),
            1 => ptd.rename(|key| Some(format!("{key}.new"))),
            2 => {
                let kept = usize::from(choices.below(3));
                ptd.filter(|entry| entry.key().len() % 3 != kept)
            }
            3 => {
                let most = u64::from(choices.below(255));
                let split = ptd.parts_by_size(most).and_then(|parts| {
                    let mut parts = parts.into_iter();
                    ptd.split(&PtdOptions::default(), |_| parts.next().unwrap_or_default())
                });
                split.and_then(|parts| Ptd::merge(&parts, &PtdOptions::default())).map(|(merged, report)| {
                    let entries = |ptd: &Ptd<'_>| -> BTreeMap<String, Vec<u8>> {
                        ptd.entries()
                            .map(|entry| (entry.key().into(), ptd.entry_bytes(&entry).unwrap().into()))
                            .collect()
                    };
                    assert_eq!(entries(&merged), entries(ptd));
                    *ptd = merged;
                    report
                })
            }
            _ => {
                let key = ptd.entry(choices.below(9).into()).map(|entry| entry.key().to_owned()).unwrap_or_default();
                let bytes = vec![choices.below(255); choices.below(99).into()];
                ptd.replace(&key, &NewData::bytes("new", bytes))
            }
        };
        if done.is_err() {
            assert_eq!(*ptd, before);
        }
    }
}
