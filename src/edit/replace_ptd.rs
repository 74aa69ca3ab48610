//! Replaces the bytes of a key in a `.ptd`.

use super::change::change_ptd;
use super::constants;
use super::new_data::{NewData, Selector};
use super::replace::{SAME_KEY, overlap, partly_shared};
use super::report::{EditReport, Subject, User};
use super::segments;
use crate::delegate::{NamedBlobs, Payload};
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::references::DataUser;
use crate::file::segment::Segment;
use crate::schema::DataSegment;
use crate::tensor::TensorShape;
use crate::write::alignment;
use alloc::collections::BTreeSet;
use alloc::{borrow::Cow, format, string::String, vec::Vec};

/// Replaces data that a program uses, whose types and layouts the program states. Keys stay as they are.
pub(super) fn replace_for<'a>(
    ptd: &mut Ptd<'a>,
    program: &Pte<'_>,
    target: &Selector<'_>,
    new: &NewData<'a>,
) -> Result<EditReport> {
    let mut report = EditReport::default();
    let mut blobs: Vec<(String, NewData<'a>)> = Vec::new();
    if let Selector::Tensor(tensor) = target {
        tensor.check()?;
        for (key, bytes) in constants::of_ptd(program, ptd, tensor, new, &mut report)? {
            blobs.push((key, NewData { tensor_layout: None, bytes: bytes.into(), ..new.clone() }));
        }
    }
    let mut keys: BTreeSet<String> = BTreeSet::new();
    for (key, _) in &blobs {
        keys.insert(key.clone());
    }
    for (user, data) in program.data_users() {
        let (DataUser::Tensor { method, value, tensor, .. }, Ok(TensorData::External(key)), true) =
            (&user, data, target.is(&user))
        else {
            continue;
        };
        let (who, mut own) = (User::of(&user), new.clone());
        if !matches!(target, Selector::Value { .. }) {
            new.expect_type(&who, &tensor.shape())?;
        }
        if let Selector::Tensor(model) = target {
            let transposed = model.at(*method, *value).unwrap_or_default();
            let (bytes, done) = new.bytes_for_model(model, &who, &tensor.shape(), transposed)?;
            (own.tensor_layout, own.bytes) = (None, bytes);
            report.notes.extend(done);
        }
        if keys.insert(String::from(key)) {
            blobs.push((key.into(), own));
        }
    }
    if let (Selector::Name(name), true) = (target, blobs.is_empty()) {
        blobs.extend(for_cuda(ptd, program, name, new)?);
    }
    if let (Selector::Name(key), true) = (target, blobs.is_empty()) {
        let mut own = new.clone();
        if ptd.get(key).is_some_and(|entry| entry.shape.is_none()) {
            let files = [&*ptd];
            constants::check_in(&program.open_payloads(), &NamedBlobs::new(program, files), key, new)?;
            own.tensor_layout = None;
        }
        blobs.push(((*key).into(), own));
    }
    if blobs.is_empty() {
        return Err(Error::reference("the program has this data itself, or none: replace it there"));
    }
    let mut changed = ptd.clone();
    for (key, new) in &blobs {
        let more = replace(&mut changed, key, new)?;
        report.changes.extend(more.changes);
        report.notes.extend(more.notes);
    }
    *ptd = changed;
    Ok(report)
}

/// Returns new data for the tensor that a payload for CUDA gives a name, with its key.
fn for_cuda<'a>(
    ptd: &Ptd<'_>,
    program: &Pte<'_>,
    name: &str,
    new: &NewData<'a>,
) -> Result<Option<(String, NewData<'a>)>> {
    let payloads = program.open_payloads();
    let tensors = payloads.iter().flat_map(|opened| match &opened.payload {
        Ok(Payload::AotInductor(aot)) => aot.tensors.as_slice(),
        _ => &[],
    });
    for tensor in tensors.filter(|tensor| tensor.name == name) {
        let Some(entry) = ptd.get(tensor.key) else { continue };
        let dim_order: Vec<u8> = (0..=u8::MAX).take(tensor.sizes.len()).collect();
        let shape = TensorShape { scalar_type: tensor.scalar_type, sizes: &tensor.sizes, dim_order: &dim_order };
        let user = User::Key { key: tensor.key.into() };
        new.expect_type(&user, &shape)?;
        let bytes = tensor.with_elements(ptd.entry_bytes(&entry)?, &new.bytes_for(&user, &shape)?)?;
        return Ok(Some((tensor.key.into(), NewData { tensor_layout: None, bytes: bytes.into(), ..new.clone() })));
    }
    Ok(None)
}

pub(super) fn replace<'a>(ptd: &mut Ptd<'a>, key: &str, new: &NewData<'a>) -> Result<EditReport> {
    let Some(entry) = ptd.get(key) else {
        return Err(Error::reference(format!("no key {key:?}")));
    };
    let data = ptd.entry_data(&entry)?;
    let (mut users, mut others, mut bytes) = (Vec::new(), Vec::new(), None);
    for other in ptd.entries() {
        let there = ptd.entry_data(&other)?;
        if !overlap(&data, &there) {
            continue;
        }
        let user = User::Key { key: other.key().into() };
        if !new.shared && other.key() != key {
            others.push(user);
            continue;
        }
        if there != data {
            return Err(partly_shared(&user));
        }
        if let Some(shape) = &other.shape {
            bytes.get_or_insert(new.bytes_for(&user, shape)?);
        }
        users.push(user);
    }
    if let (None, Some(layout)) = (&bytes, &new.tensor_layout) {
        return Err(Error::tensor(format!(
            "the key {key:?} has no type in this file, {} holds {}: give its raw bytes, or the program that uses the key",
            new.source,
            layout.shape()
        )));
    }
    let bytes = bytes.unwrap_or_else(|| new.bytes.clone());
    let mut report = EditReport::default();
    report.notes.extend(entry.shape.and_then(|shape| new.permutation(&User::Key { key: key.into() }, &shape)));
    if *ptd.entry_bytes(&entry)? == *bytes {
        report.add_replaced(Subject::Key, key, [users, Vec::new()], [data.size(), data.size()]);
        return Ok(report);
    }
    if entry.shape.is_none() {
        report.notes.push(SAME_KEY.into());
    }
    let is_alone = others.is_empty();
    report.add_replaced(Subject::Key, key, [users, others], [data.size(), bytes.len() as u64]);
    let old = entry.segment_index as usize;
    match (is_alone, data.size() == bytes.len() as u64) {
        (true, true) => segments::overwrite_ptd(ptd, &data, bytes),
        (true, false) => change_ptd(ptd, |ptd| {
            segments::overwrite_ptd(ptd, &data, bytes);
            Ok(())
        })?,
        (false, _) => change_ptd(ptd, |ptd| {
            separate_key(ptd, key, old, bytes);
            Ok(())
        })?,
    }
    Ok(report)
}

/// Gives a key a separate segment, with the alignment of the old one.
#[expect(clippy::indexing_slicing, reason = "the key's bytes are in a segment of the table")]
fn separate_key<'a>(ptd: &mut Ptd<'a>, key: &str, old: usize, bytes: Cow<'a, [u8]>) {
    let table = ptd.flat_tensor.segments.get_or_insert_default();
    let offset = alignment::kept(table)[old];
    table.push(DataSegment { offset, size: bytes.len() as u64 });
    ptd.segments.push(Segment::Whole(bytes));
    let index = ptd.segments.len() as u32 - 1;
    let legacy = ptd.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut());
    for tensor in legacy.map(Vec::as_mut_slice).unwrap_or_default() {
        if tensor.fully_qualified_name.as_deref() == Some(key) {
            (tensor.segment_index, tensor.offset) = (index, 0);
        }
    }
    for named in ptd.flat_tensor.named_data.as_deref_mut().unwrap_or_default() {
        if named.key.as_deref() == Some(key) {
            named.segment_index = index;
        }
    }
}
