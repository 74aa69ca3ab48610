//! New bytes for the constants of XNNPACK: those that have a name in the model, and those that have a key.

use super::new_data::NewData;
use super::replace::replace;
use super::report::{Action, EditReport, Subject, User};
use super::segments;
use super::{NewKey, Selector, payload_keys};
use crate::analysis::{ModelPlace, ModelTensor};
use crate::delegate::xnnpack::{Arrangement, ConstantLayout, ConstantPlace, ConstantUse};
use crate::delegate::{NamedBlobs, OpenPayload, Payload, Xnnpack};
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::DataRef;
use crate::names::shortened;
use crate::schema::xnnpack::XNNTensorValue;
use crate::sorted::set;
use crate::tensor::{TensorShape, TensorView};
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};
use core::ops::Range;

/// The most scales that an error lists.
const MAX_SCALES: usize = 8;

/// The place of constants that get new bytes.
#[derive(Clone, PartialEq)]
enum Bytes {
    /// Under a key.
    Named(String),
    /// In a payload, in bytes from its start.
    Payload(DataRef, Range<u64>),
}

/// Constants that get the same new bytes, in one place.
struct Group {
    place: Bytes,
    bytes: Vec<u8>,
    /// The payloads, and the indices of their values.
    values: Vec<(DataRef, usize)>,
    users: Vec<User>,
    /// The other users of the old bytes.
    others: Vec<User>,
}

/// Replaces the constants in payloads that are copies of a tensor of the model.
pub(super) fn replace_tensor<'a>(pte: &mut Pte<'a>, tensor: &ModelTensor, new: &NewData<'a>) -> Result<EditReport> {
    let mut report = EditReport::default();
    let groups = groups(pte, None, tensor, new, &mut report)?;
    for group in groups {
        let own = NewData { bytes: Cow::Owned(group.bytes.clone()), tensor_layout: None, ..new.clone() };
        let more = match &group.place {
            // The key path looks at all users of the key.
            Bytes::Named(key) if group.others.is_empty() || new.shared => replace(pte, &Selector::Name(key), &own)?,
            Bytes::Named(key) => separate(pte, key, &group, new)?,
            Bytes::Payload(data, range) => overwrite(pte, data, range, &group)?,
        };
        report.changes.extend(more.changes);
        report.notes.extend(more.notes);
    }
    Ok(report)
}

/// Returns the keys of a `.ptd` whose constants are copies of a tensor of the model, with their new bytes.
pub(super) fn of_ptd(
    pte: &Pte<'_>,
    ptd: &Ptd<'_>,
    tensor: &ModelTensor,
    new: &NewData<'_>,
    report: &mut EditReport,
) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for group in groups(pte, Some(ptd), tensor, new, report)? {
        let Bytes::Named(key) = group.place else {
            return Err(Error::reference(format!("{} is in the program: replace it there", tensor.name)));
        };
        if let Some(other) = group.others.first().filter(|_| !new.shared) {
            return Err(Error::unwritable(format!("{other} shares the key {key:?}, and would get the new bytes too")));
        }
        found.push((key, group.bytes));
    }
    Ok(found)
}

/// Finds the constants in a program, or those in a `.ptd`, and checks that the new data fits them.
fn groups(
    pte: &Pte<'_>,
    ptd: Option<&Ptd<'_>>,
    tensor: &ModelTensor,
    new: &NewData<'_>,
    report: &mut EditReport,
) -> Result<Vec<Group>> {
    let (payloads, blobs) = (pte.open_payloads(), NamedBlobs::new(pte, ptd));
    let mut groups: Vec<Group> = Vec::new();
    let delegates =
        payloads.iter().enumerate().flat_map(|(index, opened)| opened.delegates.iter().map(move |at| (*at, index)));
    let delegates: BTreeMap<(usize, usize), usize> = delegates.collect();
    let mut layouts: BTreeMap<usize, BTreeMap<usize, Vec<ConstantLayout>>> = BTreeMap::new();
    let mut by_place: BTreeMap<(Option<DataRef>, u64, u64, String), usize> = BTreeMap::new();
    for place in &tensor.places {
        let ModelPlace::Constant { method, delegate, value } = *place else { continue };
        let missing =
            || Error::reference(format!("delegate {delegate} of method {method} has no constant {value} of XNNPACK"));
        let index = *delegates.get(&(method, delegate)).ok_or_else(missing)?;
        let opened = payloads.get(index).ok_or_else(missing)?;
        let Ok(Payload::Xnnpack(xnnpack)) = &opened.payload else { return Err(missing()) };
        let stored = xnnpack.graph.xvalues().get(value).and_then(|own| own.tensor()).ok_or_else(missing)?;
        let place = match xnnpack.constant(stored.constant_buffer_idx).filter(|_| stored.constant_buffer_idx != 0) {
            Some(ConstantPlace::Named { key, .. }) => {
                let name = &tensor.name;
                match (ptd, blobs.get(key)?.map(|blob| blob.file)) {
                    (None, Some(0)) | (Some(_), Some(1)) => {}
                    (Some(_), Some(_)) => {
                        return Err(Error::reference(format!("{name} is in the program: replace it there")));
                    }
                    (None, _) => {
                        return Err(Error::reference(format!(
                            "{name} is in a .ptd, under the key {key:?}: internalize it, or replace it there with this program"
                        )));
                    }
                    (Some(_), None) => {
                        return Err(Error::reference(format!("{name} is not in the .ptd, under the key {key:?}")));
                    }
                }
                Bytes::Named(key.into())
            }
            Some(_) => {
                let range = xnnpack.constant_range(stored.constant_buffer_idx).ok_or_else(missing)?;
                Bytes::Payload(opened.data, range)
            }
            None => return Err(missing()),
        };
        let layouts = layouts.entry(index).or_insert_with(|| xnnpack.constant_layouts());
        let layouts = layouts.get(&value).map(Vec::as_slice);
        let (bytes, done) = bytes_of(xnnpack, (value, layouts), stored, &blobs, tensor, new)?;
        if let Some(done) = done.filter(|done| !report.notes.contains(done)) {
            report.notes.push(done);
        }
        let user = user_of(pte, opened, value);
        let key = match &place {
            Bytes::Named(key) => (None, 0, 0, key.clone()),
            Bytes::Payload(data, range) => (Some(*data), range.start, range.end, String::new()),
        };
        match by_place.get(&key).and_then(|index| groups.get_mut(*index)) {
            Some(group) if group.bytes == bytes => {
                group.values.push((opened.data, value));
                group.users.push(user);
            }
            Some(_) => {
                let reason = "has two layouts in the program, whose bytes were equal: replace them by their keys";
                return Err(Error::unwritable(format!("{} {reason}", tensor.name)));
            }
            None => {
                let (values, users) = (vec![(opened.data, value)], vec![user]);
                by_place.insert(key, groups.len());
                groups.push(Group { place, bytes, values, users, others: Vec::new() });
            }
        }
    }
    others(pte, &payloads, &mut groups);
    Ok(groups)
}

/// Finds the constants that share the bytes of a group and are not in it: all those with its key, or the first ones that overlap its place in
/// a payload.
#[expect(clippy::indexing_slicing, reason = "positions are those of groups, and of constants in the sorted list")]
fn others(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], groups: &mut [Group]) {
    for group in &mut *groups {
        group.values.sort();
    }
    let is_own = |group: &Group, data: DataRef, used: &ConstantUse<'_>| match used {
        ConstantUse::Tensor { value, .. } => group.values.binary_search(&(data, *value)).is_ok(),
        ConstantUse::Scales { .. } => false,
    };
    let (mut by_key, mut by_payload) = (BTreeMap::<String, usize>::new(), BTreeMap::<DataRef, Vec<usize>>::new());
    for (at, group) in groups.iter().enumerate() {
        match &group.place {
            Bytes::Named(key) => _ = by_key.insert(key.clone(), at),
            Bytes::Payload(data, _) => by_payload.entry(*data).or_default().push(at),
        }
    }
    for opened in payloads {
        let Ok(Payload::Xnnpack(xnnpack)) = &opened.payload else { continue };
        let of_payload = by_payload.get(&opened.data).map(Vec::as_slice).unwrap_or_default();
        let constants = xnnpack.constants();
        // The places of constants, sorted, each with the largest end so far and its constant.
        let mut places: Vec<(u64, u64, usize)> = Vec::new();
        for (at, constant) in constants.iter().enumerate() {
            match (&constant.place, xnnpack.constant_range(constant.index)) {
                (ConstantPlace::Named { key, .. }, _) => {
                    let Some(group) = by_key.get(*key).map(|at| &mut groups[*at]) else { continue };
                    let users = constant.uses.iter().filter(|used| !is_own(group, opened.data, used));
                    let users: Vec<User> = users.map(|used| user_of(pte, opened, used.value())).collect();
                    group.others.extend(users);
                }
                (_, Some(range)) if !of_payload.is_empty() && !range.is_empty() => {
                    places.push((range.start, range.end, at));
                }
                _ => {}
            }
        }
        places.sort();
        let mut reach: Vec<(u64, usize)> = Vec::with_capacity(places.len());
        for (_, end, at) in &places {
            let before = reach.last().copied().unwrap_or_default();
            reach.push(if *end > before.0 { (*end, *at) } else { before });
        }
        for at in of_payload {
            let group = &mut groups[*at];
            let Bytes::Payload(_, range) = &group.place else { continue };
            let first = places.partition_point(|(start, ..)| *start < range.start);
            // One that starts before and is not over, or those that start inside, among which are the group's own.
            let over = first.checked_sub(1).map(|last| reach[last]).filter(|(end, _)| *end > range.start);
            let inside = places[first..].iter().take_while(|(start, ..)| *start < range.end);
            let other = over.map(|(_, at)| at).into_iter().chain(inside.map(|(.., at)| *at));
            let used = other.flat_map(|at| &constants[at].uses).find(|used| !is_own(group, opened.data, used));
            group.others.extend(used.map(|used| user_of(pte, opened, used.value())));
        }
    }
}

fn user_of(pte: &Pte<'_>, opened: &OpenPayload<'_>, value: usize) -> User {
    let (method, delegate) = opened.delegates.first().copied().unwrap_or_default();
    let plan = pte.methods().get(method);
    User::Constant { method: shortened(plan.map_or("", |plan| plan.name())).into(), delegate, constant: value }
}

/// Returns the new bytes of a constant, and a sentence about the permutation that was made.
fn bytes_of(
    xnnpack: &Xnnpack<'_>,
    (value, layouts): (usize, Option<&[ConstantLayout]>),
    stored: &XNNTensorValue<'_>,
    blobs: &NamedBlobs<'_>,
    tensor: &ModelTensor,
    new: &NewData<'_>,
) -> Result<(Vec<u8>, Option<String>)> {
    let (name, source) = (&tensor.name, &new.source);
    let refuse = |reason: &str| Error::tensor(format!("{name} cannot be replaced by its name: {reason}"));
    let layout = ConstantLayout::only(layouts.unwrap_or_default())
        .ok_or_else(|| refuse("nodes take it in several layouts, or none does"))?;
    let arrangement = layout.arrange(stored.dims(), tensor.sizes.as_deref()).map_err(|reason| refuse(&reason))?;
    let bits = stored.datatype.element_bits();
    let scalar_type = match bits {
        Some(4) => Some(crate::schema::ScalarType::CHAR),
        _ => stored.datatype.scalar_type(),
    };
    let scalar_type = scalar_type.ok_or_else(|| refuse(&format!("XNNPACK packs {stored}")))?;
    let expected = arrangement.sizes.first().map(Vec::as_slice).unwrap_or_default();
    let expected = TensorShape { scalar_type, sizes: bytemuck::cast_slice(expected), dim_order: &[] };
    let Some(given) = &new.tensor_layout else {
        return Err(Error::tensor(format!(
            "{name} is {expected}, {source} holds {} bytes without a type: a name needs a tensor; raw bytes are only taken for a key",
            new.bytes.len()
        )));
    };
    let given = given.shape();
    let is_numpy = new.numpy && scalar_type.numpy_type() == Some(given.scalar_type);
    if given.scalar_type != scalar_type && !is_numpy {
        let scales = scales_of(xnnpack, value, blobs);
        return Err(Error::tensor(format!(
            "{name} is {expected}, stored as {stored}{scales}; {source} holds {given}{}",
            if scales.is_empty() { "" } else { ": the exporter quantizes, not this" }
        )));
    }
    let sizes: &[u32] = bytemuck::cast_slice(given.sizes);
    if !arrangement.sizes.iter().any(|own| own == sizes) {
        let hint = match sizes == stored.dims() {
            true => ": the payload's own layout is only taken for its key",
            false => "",
        };
        return Err(Error::tensor(format!("{name} is {expected}, stored as {stored}; {source} holds {given}{hint}")));
    }
    let view = TensorView::new(given, &new.bytes)
        .map_err(|error| Error::tensor(format!("{source}: {}", error.kind().detail())))?;
    let natural = in_natural_order(&view, new, &format!("{name} is {expected}"))?;
    permuted(&natural, scalar_type, &arrangement)
        .and_then(|bytes| if bits == Some(4) { packed(&bytes, stored, source) } else { Ok(bytes) })
        .map(|bytes| (bytes, arrangement.letters.map(|(from, to)| format!("{name}: permuted {from} to {to}"))))
}

/// Returns the elements of new data in the natural order.
pub(super) fn in_natural_order<'t>(view: &TensorView<'t>, new: &NewData<'_>, what: &str) -> Result<Cow<'t, [u8]>> {
    if view.shape().is_natural() {
        return Ok(Cow::Borrowed(view.bytes()));
    }
    if !new.permute {
        let reason = "the same elements in another dim order: allow a permutation";
        return Err(Error::tensor(format!("{what}, {} holds {}, {reason}", new.source, view.shape())));
    }
    let natural: Vec<u8> = (0..view.shape().sizes.len() as u8).collect();
    view.in_dim_order(&natural).map(Cow::Owned)
}

fn permuted(natural: &[u8], scalar_type: crate::schema::ScalarType, to: &Arrangement) -> Result<Vec<u8>> {
    let dim_order: Vec<u8> = (0..to.split.len() as u8).collect();
    let shape = TensorShape { scalar_type, sizes: bytemuck::cast_slice(&to.split), dim_order: &dim_order };
    TensorView::new(shape, natural)?.in_dim_order(&to.dim_order)
}

/// Packs integers from -8 to 7 as XNNPACK has them: plus 8, two in a byte, the first in its low half, each row in whole bytes.
fn packed(bytes: &[u8], stored: &XNNTensorValue<'_>, source: &str) -> Result<Vec<u8>> {
    let columns = stored.dims().last().map_or(1, |columns| *columns as usize).max(1);
    let mut packed = Vec::with_capacity(bytes.len() / 2);
    for row in bytes.chunks(columns) {
        for pair in row.chunks(2) {
            let mut byte = 0;
            for (half, element) in [pair.first(), pair.get(1)].into_iter().enumerate() {
                let element = element.map_or(0, |element| *element as i8);
                if !(-8..8).contains(&element) {
                    return Err(Error::tensor(format!("{source} holds {element}, but {stored} takes -8 to 7")));
                }
                byte |= ((element + 8) as u8) << (4 * half);
            }
            packed.push(byte);
        }
    }
    Ok(packed)
}

/// Returns ` with 2 scales (0.5, 0.25)`, or nothing for a tensor that is not quantized.
fn scales_of(xnnpack: &Xnnpack<'_>, value: usize, blobs: &NamedBlobs<'_>) -> String {
    let quantized = xnnpack.graph.xvalues().get(value).is_some_and(|value| value.quant_params().is_some());
    let Ok(Some(numbers)) = xnnpack.dequantized(value, blobs) else { return String::new() };
    if !quantized {
        return String::new();
    }
    let count = numbers.scales().count();
    let mut shown: Vec<String> = numbers.scales().take(MAX_SCALES).map(|scale| format!("{scale}")).collect();
    if count > MAX_SCALES {
        shown.push("…".into());
    }
    format!(" with {} ({})", crate::error::counted(count, "scale"), shown.join(", "))
}

/// Checks new data for a key that payloads of XNNPACK look up: a tensor must have the type and sizes of each constant under that key.
pub(super) fn check_key(pte: &Pte<'_>, key: &str, new: &NewData<'_>) -> Result<()> {
    let payloads = pte.open_payloads();
    check_in(&payloads, &NamedBlobs::new(pte, []), key, new)
}

/// Does the same for payloads that are open.
pub(super) fn check_in(
    payloads: &[OpenPayload<'_>],
    blobs: &NamedBlobs<'_>,
    key: &str,
    new: &NewData<'_>,
) -> Result<()> {
    let source = &new.source;
    let Some(given) = new.tensor_layout.as_ref().map(|layout| layout.shape()) else { return Ok(()) };
    let mut is_known = false;
    for opened in payloads {
        let Ok(Payload::Xnnpack(xnnpack)) = &opened.payload else { continue };
        for constant in xnnpack.constants() {
            if !matches!(&constant.place, ConstantPlace::Named { key: own, .. } if *own == key) {
                continue;
            }
            for used in &constant.uses {
                is_known = true;
                let (scalar_type, sizes, stored) = expected(used);
                let is_numpy =
                    new.numpy && scalar_type.and_then(crate::schema::ScalarType::numpy_type) == Some(given.scalar_type);
                if (scalar_type != Some(given.scalar_type) && !is_numpy)
                    || *bytemuck::cast_slice::<i32, u32>(given.sizes) != *sizes
                {
                    let scales = match used {
                        ConstantUse::Tensor { value, .. } => scales_of(xnnpack, *value, blobs),
                        ConstantUse::Scales { .. } => String::new(),
                    };
                    return Err(Error::tensor(format!(
                        "the key {key:?} is {stored}{scales} in XNNPACK's own layout; {source} holds {given}"
                    )));
                }
            }
        }
    }
    match is_known {
        true => Ok(()),
        false => Err(Error::tensor(format!(
            "the key {key:?} has no type in the program, {source} holds {given}: give its raw bytes"
        ))),
    }
}

/// Returns the type, the sizes and the text of a constant as it is stored. Two elements of 4 bits are one of 8.
fn expected(used: &ConstantUse<'_>) -> (Option<crate::schema::ScalarType>, Vec<u32>, String) {
    use crate::schema::ScalarType;
    match used {
        ConstantUse::Tensor { tensor, .. } => {
            let mut sizes = tensor.dims().to_vec();
            if tensor.datatype.element_bits() == Some(4) {
                if let Some(last) = sizes.last_mut() {
                    *last = last.div_ceil(2);
                }
                return (Some(ScalarType::BYTE), sizes, format!("{tensor}, two elements in a byte,"));
            }
            (tensor.datatype.scalar_type(), sizes, format!("{tensor}"))
        }
        ConstantUse::Scales { count, element_size: 2, .. } => {
            (Some(ScalarType::BFLOAT16), vec![*count], format!("bf16[{count}] (scales)"))
        }
        ConstantUse::Scales { count, .. } => (Some(ScalarType::FLOAT), vec![*count], format!("f32[{count}] (scales)")),
    }
}

/// Gives the constants of a group a key of their own; others keep the old one.
fn separate(pte: &mut Pte<'_>, old: &str, group: &Group, new: &NewData<'_>) -> Result<EditReport> {
    let key = match &new.key {
        NewKey::Same => {
            return Err(Error::unwritable(format!(
                "{} other constants share the key {old:?}: with that key, they would get the new bytes too",
                group.others.len()
            )));
        }
        key => key.of(old, &group.bytes)?,
    };
    let mut report = EditReport::default();
    if key == old {
        return Ok(report);
    }
    let size = group.bytes.len() as u64;
    super::change::change(pte, |pte| {
        let mut payloads = Vec::new();
        for opened in pte.open_payloads() {
            let values: Vec<usize> =
                group.values.iter().filter(|(data, _)| *data == opened.data).map(|(_, value)| *value).collect();
            if let (Ok(Payload::Xnnpack(mut xnnpack)), false) = (opened.payload, values.is_empty()) {
                refer(&mut xnnpack, &set(values), &key);
                payloads.push((opened.data, xnnpack.to_vec()?));
            }
        }
        for (data, bytes) in payloads {
            segments::overwrite(pte, &data, Cow::Owned(bytes));
        }
        payload_keys::add_named(pte, old, &key, &group.bytes)
    })?;
    let mut users = group.users.clone();
    users.insert(0, User::Key { key: key.clone() });
    report.add_replaced(Subject::NamedData, &key, [users, group.others.clone()], [0, size]);
    report.notes.push(format!("the key is now {key}, in the payloads of XNNPACK too; it was {old}, which others keep"));
    Ok(report)
}

/// Makes values, which are sorted, refer to a constant under a new key. A constant that other values use, too, stays as it is.
fn refer(xnnpack: &mut Xnnpack<'_>, values: &[usize], key: &str) {
    let mut indices: Vec<(u32, bool)> = Vec::new();
    let is_among = |value: &usize| values.binary_search(value).is_ok();
    for constant in xnnpack.constants() {
        let is_own = |used: &ConstantUse<'_>| matches!(used, ConstantUse::Tensor { value, .. } if is_among(value));
        if constant.uses.iter().any(is_own) {
            indices.push((constant.index, constant.uses.iter().all(is_own)));
        }
    }
    let mut added = BTreeMap::new();
    for (index, is_alone) in indices {
        let constants = xnnpack.graph.constant_data.get_or_insert_default();
        let Some(entry) = constants.get_mut(index as usize) else { continue };
        if is_alone {
            entry.named_key = Some(String::from(key).into());
            continue;
        }
        let mut entry = entry.clone();
        entry.named_key = Some(String::from(key).into());
        constants.push(entry);
        added.insert(index, constants.len() as u32 - 1);
    }
    let xvalues = xnnpack.graph.xvalues.iter_mut().flatten().enumerate();
    for tensor in xvalues.filter(|(value, _)| is_among(value)).filter_map(|(_, value)| value.tensor_mut()) {
        if let Some(index) = added.get(&tensor.constant_buffer_idx) {
            tensor.constant_buffer_idx = *index;
        }
    }
}

/// Replaces constants that are in a payload.
fn overwrite(pte: &mut Pte<'_>, data: &DataRef, range: &Range<u64>, group: &Group) -> Result<EditReport> {
    if let Some(other) = group.others.first() {
        return Err(Error::unwritable(format!(
            "{other} shares the bytes in the payload, which can only be replaced for all"
        )));
    }
    let mut payload = pte.bytes(data)?.to_vec();
    let range = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    let place =
        range.and_then(|(start, end)| payload.get_mut(start..end)).filter(|place| place.len() == group.bytes.len());
    let Some(place) = place else {
        return Err(Error::tensor(format!(
            "the constant does not have the {} bytes that its shape takes",
            group.bytes.len()
        )));
    };
    place.copy_from_slice(&group.bytes);
    let size = group.bytes.len() as u64;
    segments::overwrite(pte, data, Cow::Owned(payload));
    let mut report = EditReport::default();
    report.add(Action::Replaced, Subject::Constant, "", group.users.clone(), [size, size]);
    Ok(report)
}
