//! Compares named blobs and the keys of `.ptd` files by their bytes, in any file.

use super::data::{Comparer, of_key};
use super::{Difference, DifferenceKind, DifferenceSubject, Which};
use crate::delegate::{AotTensor, Payload};
use crate::error::Result;
use crate::file::pte::Pte;
use crate::inspect::weights::numbers::Values;
use crate::parallel::Jobs;
use crate::tensor::TensorShape;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, string::ToString, vec::Vec};

/// The bytes under a key, with the shape of a tensor.
pub(super) struct KeyData<'s> {
    pub(super) bytes: Result<&'s [u8]>,
    pub(super) shape: Option<TensorShape<'s>>,
    /// The place of the bytes.
    pub(super) place: &'static str,
    /// The name of the tensor, if a payload has it.
    pub(super) name: Option<&'s str>,
}

/// A key without a counterpart.
pub(super) struct LonelyKey<'s> {
    name: String,
    bytes: Result<&'s [u8]>,
    /// A hash of the bytes, if it was needed.
    hash: Option<u64>,
}

impl<'s> LonelyKey<'s> {
    fn new(name: &str, found: &KeyData<'s>) -> Self {
        Self { name: name.to_owned(), bytes: found.bytes.clone(), hash: None }
    }
}

/// Formats the number of bytes under a key, or the error from reading them.
fn size_text(bytes: &Result<&[u8]>) -> String {
    bytes.as_ref().map_or_else(ToString::to_string, |bytes| format!("{} bytes", bytes.len()))
}

impl<'s> Comparer<'s> {
    /// Collects the data that the delegates of a program can look up by key: its named data, and the keys of its `.ptd` files that payloads
    /// refer to. If there are payloads whose keys only their backends know, all keys except those of external tensors are included. Returns
    /// the number of references of payloads to data that is in none of the files.
    pub(super) fn looked_up(&self, side: Which, pte: &'s Pte<'s>, found: &mut Vec<(&'s str, KeyData<'s>)>) -> usize {
        for named in pte.named_data() {
            let bytes = pte.named_data_ref(named).and_then(|data| pte.bytes(&data));
            found.push((named.key(), KeyData { bytes, shape: None, place: "named data", name: None }));
        }
        // Named data of the program takes precedence.
        let mut inside: Vec<&str> = found.iter().map(|(key, _)| *key).collect();
        inside.sort();
        let external = side.of(&self.external);
        let mut keys: Vec<&'s str> = Vec::new();
        let mut tensors: BTreeMap<&'s str, &'s AotTensor<'s>> = BTreeMap::new();
        let (mut missing, mut any) = (0, false);
        for open in side.of(self.payloads) {
            let Some(references) = open.payload.as_ref().ok().and_then(Payload::key_references) else {
                any = true;
                continue;
            };
            for reference in references {
                if inside.binary_search(&&*reference.key).is_ok() {
                    continue;
                }
                match of_key(external, &reference.key) {
                    Some((key, _)) => keys.push(*key),
                    None => missing += 1,
                }
            }
            if let Ok(Payload::AotInductor(aot)) = &open.payload {
                for tensor in &aot.tensors {
                    tensors.entry(tensor.key).or_insert(tensor);
                }
            }
        }
        if any {
            let mut tensors: Vec<&str> = Vec::new();
            for plan in pte.methods() {
                let values = (0..plan.values().len()).filter_map(|value| plan.tensor(value));
                tensors.extend(
                    values.filter(|tensor| tensor.is_external()).filter_map(|tensor| tensor.fully_qualified_name()),
                );
            }
            tensors.sort();
            keys.extend(external.iter().map(|(key, _)| *key).filter(|key| tensors.binary_search(key).is_err()));
        }
        keys.sort();
        keys.dedup();
        for key in keys.into_iter().filter(|key| inside.binary_search(key).is_err()) {
            let bytes = Ok(of_key(external, key).map_or(&[][..], |(_, bytes)| bytes));
            found.push((key, KeyData { bytes, shape: None, place: "external", name: None }));
        }
        for (key, data) in found {
            let Some(tensor) = tensors.get(key) else { continue };
            data.name = Some(tensor.name);
            // Other views are compared as the bytes of their storage.
            let whole = data.bytes.as_ref().is_ok_and(|bytes| tensor.range() == Some(0..bytes.len() as u64));
            data.shape = whole.then(|| tensor.shape());
        }
        missing
    }

    /// Compares a named blob or key of one side or both.
    pub(super) fn key(&mut self, name: &str, before: Option<&KeyData<'s>>, after: Option<&KeyData<'s>>) {
        let shape = |found: &KeyData<'_>| found.shape.map_or_else(|| "blob".into(), |shape| shape.to_string());
        let name = before.or(after).and_then(|found| found.name).unwrap_or(name);
        match (before, after) {
            (Some(left), Some(right)) => {
                if left.place != right.place {
                    let (before, after) = (Some(left.place.to_owned()), Some(right.place.to_owned()));
                    let change = Difference::new(DifferenceSubject::Key, DifferenceKind::Moved, None, name);
                    self.storage(Difference { before, after, ..change });
                }
                let (shape, other_shape) = (shape(left), shape(right));
                self.changed(DifferenceSubject::Key, None, name, &shape, &other_shape);
                let (bytes, other_bytes) = match (&left.bytes, &right.bytes) {
                    (Ok(bytes), Ok(other_bytes)) => (*bytes, *other_bytes),
                    (bytes, other_bytes) => {
                        let text = |bytes: &Result<&[u8]>| {
                            bytes.as_ref().map_or_else(ToString::to_string, |_| "present".into())
                        };
                        return self.changed(DifferenceSubject::Key, None, name, &text(bytes), &text(other_bytes));
                    }
                };
                if self.equal(bytes, other_bytes) != Some(true) && shape == other_shape {
                    let mut change = Difference::new(
                        DifferenceSubject::Key,
                        DifferenceKind::Changed,
                        None,
                        format!("{name} {shape}"),
                    );
                    if bytes.len() != other_bytes.len() {
                        let text = |bytes: &[u8]| Some(format!("{} bytes", bytes.len()));
                        (change.before, change.after) = (text(bytes), text(other_bytes));
                    } else if let Some(shape) = left.shape {
                        let values = [bytes, other_bytes].map(|bytes| Values::Stored(shape.scalar_type, bytes));
                        return self.apart(change, values);
                    }
                    self.difference(change);
                }
            }
            (Some(left), None) => self.lonely_keys[0].push(LonelyKey::new(name, left)),
            (None, Some(right)) => self.lonely_keys[1].push(LonelyKey::new(name, right)),
            (None, None) => {}
        }
    }

    /// Matches the keys without a counterpart: equal bytes under a different key.
    pub(super) fn keys(&mut self) {
        let [mut before, mut after] = core::mem::take(&mut self.lonely_keys);
        let mut jobs = Jobs::default();
        for list in [&mut after, &mut before] {
            for key in list {
                if let Ok(bytes) = key.bytes {
                    self.hash(&mut jobs, bytes, &mut key.hash);
                }
            }
        }
        jobs.run();
        let mut alike: BTreeMap<Option<u64>, Vec<LonelyKey<'s>>> = BTreeMap::new();
        for key in after {
            alike.entry(key.hash).or_default().push(key);
        }
        for LonelyKey { name, bytes, hash } in before {
            let same = match (hash, &bytes) {
                (Some(_), Ok(bytes)) if !bytes.is_empty() => alike.get_mut(&hash).and_then(|list| {
                    let at = list.iter().position(|other| matches!(&other.bytes, Ok(other) if other == bytes))?;
                    Some(list.swap_remove(at))
                }),
                _ => None,
            };
            let change = match same {
                Some(other) => {
                    let change = Difference::new(DifferenceSubject::Key, DifferenceKind::Moved, None, "");
                    Difference { before: Some(name), after: Some(other.name), ..change }
                }
                None => Difference {
                    before: Some(size_text(&bytes)),
                    ..Difference::new(DifferenceSubject::Key, DifferenceKind::Removed, None, name)
                },
            };
            self.difference(change);
        }
        let mut after = Vec::new();
        for (_, list) in alike {
            after.extend(list.into_iter().map(|key| (key.name, size_text(&key.bytes))));
        }
        after.sort();
        for (name, size) in after {
            self.difference(Difference {
                after: Some(size),
                ..Difference::new(DifferenceSubject::Key, DifferenceKind::Added, None, name)
            });
        }
    }
}
