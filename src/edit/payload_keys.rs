//! The keys of named data that delegates' payloads refer to.

use super::segments;
use crate::delegate::xnnpack::ConstantPlace;
use crate::delegate::{OpenPayload, Payload, Xnnpack};
use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::file::segment::DataRef;
use crate::schema::program::NamedData;
use crate::sorted::set;
use crate::write::alignment;
use alloc::{borrow::Cow, collections::BTreeSet, format, string::String, vec::Vec};

/// The keys that the payloads of some methods refer to.
#[derive(Debug, Default)]
pub(super) struct PayloadKeys {
    /// The keys that payloads refer to.
    pub(super) named: BTreeSet<String>,
    /// The backends whose payloads do not list the keys that they look up.
    pub(super) unknown: BTreeSet<String>,
}

pub(super) fn of_xnnpack(pte: &Pte<'_>) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for open in pte.open_payloads() {
        if let Ok(Payload::Xnnpack(xnnpack)) = open.payload {
            keys.extend(keys_of(&xnnpack));
        }
    }
    keys
}

/// Returns the keys that the payloads of some methods refer to. `of` gets a method's index and returns `true` to select
/// the method.
pub(super) fn of_methods(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], of: &dyn Fn(usize) -> bool) -> PayloadKeys {
    let mut keys = PayloadKeys::default();
    for open in payloads {
        let delegates = open.delegates.iter().zip(open.delegates_of(pte)).filter(|((method, _), _)| of(*method));
        let ids: BTreeSet<String> = delegates.map(|(_, (_, delegate))| delegate.id().into()).collect();
        if ids.is_empty() {
            continue;
        }
        match open.payload.as_ref().ok().and_then(Payload::key_references) {
            Some(references) => keys.named.extend(references.into_iter().map(|reference| reference.key.into_owned())),
            None => keys.unknown.extend(ids),
        }
    }
    keys
}

/// Changes the key of named data, including references in payloads of XNNPACK. Several old keys become one.
pub(super) fn change(pte: &mut Pte<'_>, old: &[String], new: &str) -> Result<()> {
    let sorted = set(old.iter().map(String::as_str).collect());
    let is_old = |key: &str| sorted.binary_search(&key).is_ok();
    let mut payloads: Vec<(DataRef, Vec<u8>)> = Vec::new();
    for open in pte.open_payloads() {
        let Ok(Payload::Xnnpack(mut xnnpack)) = open.payload else { continue };
        let constants = xnnpack.graph.constant_data.iter_mut().flatten();
        let keys = constants.filter_map(|constant| constant.named_key.as_mut());
        let mut changed = false;
        for key in keys.filter(|key| is_old(key)) {
            *key = String::from(new).into();
            changed = true;
        }
        if changed {
            payloads.push((open.data, xnnpack.to_vec()?));
        }
    }
    for (data, bytes) in payloads {
        segments::overwrite(pte, &data, Cow::Owned(bytes));
    }
    // The first entry keeps its place; the others, and data that already had the key, have the same bytes.
    let named = pte.named_data().iter().enumerate();
    let mut same = named.filter(|(_, named)| is_old(named.key()) || named.key() == new).map(|(index, _)| index);
    let first = same.next();
    let others: Vec<usize> = same.collect();
    let place = first.and_then(|first| pte.program.named_data.as_mut()?.get_mut(first));
    let named = place.ok_or_else(|| Error::reference(format!("no named data has the key {old:?}")))?;
    named.key = Some(String::from(new).into());
    if !others.is_empty() {
        segments::remove_named_data(pte, &others);
    }
    Ok(())
}

/// Adds named data with a new key behind that with an old one, in a segment with the same alignment, unless the new key exists with these
/// bytes.
pub(super) fn add_named(pte: &mut Pte<'_>, old: &str, new: &str, bytes: &[u8]) -> Result<()> {
    if let Some(named) = pte.named_data().iter().find(|named| named.key() == new) {
        if pte.bytes(&pte.named_data_ref(named)?)? != bytes {
            return Err(used_for_other_data(new));
        }
        return Ok(());
    }
    let of_old = pte.named_data().iter().enumerate().find(|(_, named)| named.key() == old);
    let (place, segment) = of_old
        .map(|(index, named)| (index + 1, named.segment_index))
        .ok_or_else(|| Error::reference(format!("no named data has the key {old:?}")))?;
    let alignment = alignment::kept(pte.program.segments()).get(segment as usize).copied();
    let segment_index = pte.add_segment(Cow::Owned(bytes.to_vec()));
    segments::set_alignment(pte, segment_index, alignment.unwrap_or(1));
    let named = NamedData { key: Some(String::from(new).into()), segment_index };
    pte.program.named_data.get_or_insert_default().insert(place, named);
    Ok(())
}

pub(super) fn used_for_other_data(key: &str) -> Error {
    Error::unwritable(format!("the key {key:?} is used for other data: choose another key"))
}

fn keys_of(xnnpack: &Xnnpack<'_>) -> Vec<String> {
    let count = xnnpack.graph.constant_data().len() as u32;
    let key = |index| match xnnpack.constant(index) {
        Some(ConstantPlace::Named { key, .. }) => Some(String::from(key)),
        _ => None,
    };
    // The first entry is a placeholder.
    (1..count).filter_map(key).collect()
}
