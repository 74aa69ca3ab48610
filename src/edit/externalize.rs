//! Moves data from a program into a `.ptd`.

use super::change::change;
use super::report::{Action, EditReport, Subject, User};
use super::segments;
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::references::{DataList, tensor_mut};
use crate::flatbuffer::text::Text;
use crate::names::shortened;
use crate::schema::flat_tensor::TensorLayout;
use crate::schema::program::{ExecutionPlan, NamedData, Tensor, TensorDataLocation};
use crate::tensor::TensorShape;
use crate::write::alignment;
use crate::write::collect::NewEntry;
use crate::write::entries::{self, Entries};
use crate::write::options::PtdOptions;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, string::String, vec::Vec};

/// Data that can be moved into a `.ptd`: a tensor's data, or named data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate<'t> {
    /// The kind: a constant, an initial state or named data.
    pub subject: Subject,
    /// The method's name; empty for named data.
    pub method: &'t str,
    /// The index into the method's values, or into the named data.
    pub index: usize,
    /// The name in the file.
    pub name: Option<&'t str>,
    /// The default key: the name or, without a name, `method.index`, such as `forward.012`. The index has as many
    /// digits as that of the method's last value, so that no such key is a prefix of another. Users of the same data
    /// with the same shape get the same key.
    pub key: &'t str,
    /// The type and shape of a tensor; `None` for named data.
    pub shape: Option<TensorShape<'t>>,
    /// The size, in bytes.
    pub size: u64,
}

/// A function that chooses the key of a candidate, or `None` to leave it in the program.
type Choose<'c> = &'c mut dyn FnMut(&Candidate<'_>) -> Option<String>;

/// An entry of a list. All its users move together.
type Group = (DataList, u32);

/// A tensor with data in the file.
pub(super) struct TensorPlace<'t> {
    pub(super) method: usize,
    pub(super) value: usize,
    plan: &'t ExecutionPlan<'t>,
    pub(super) tensor: &'t Tensor<'t>,
    group: Group,
    pub(super) size: u64,
    pub(super) key: String,
}

impl TensorPlace<'_> {
    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            subject: self.group.0.into(),
            method: self.plan.name(),
            index: self.value,
            name: own_name(self.tensor),
            key: &self.key,
            shape: Some(self.tensor.shape()),
            size: self.size,
        }
    }

    pub(super) fn user(&self) -> User {
        User::Value { method: shortened(self.plan.name()).into(), value: self.value }
    }
}

/// Returns the key that [`Pte::externalize`] gives to the data of a value without a name: `forward.012`. All numbers of a
/// method have the same length, because runtimes before 1.0 confuse a key with a longer key that starts with it
/// (`key-prefix`).
///
/// A method name of more than 200 bytes is shortened to its start, its length and a hash of its end, because the file
/// stores the name once but a key for each value.
pub fn default_key(plan: &ExecutionPlan<'_>, value: usize) -> String {
    let most = plan.values().len().saturating_sub(1).max(1);
    let width = most.ilog10() as usize + 1;
    format!("{}.{value:0width$}", key_of_method(plan.name()))
}

/// Returns the prefix of the keys of a method's values.
pub(super) fn key_of_method(method: &str) -> Cow<'_, str> {
    const LONGEST: usize = 200;
    if method.len() <= LONGEST {
        return Cow::Borrowed(method);
    }
    let start: String = method.chars().take(64).collect();
    // FNV-1a of the last 1,000 bytes. Keys must be the same on every machine and in every version.
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = method.as_bytes().iter().rev().take(1000).fold(0xcbf2_9ce4_8422_2325, step);
    Cow::Owned(format!("{start}-{}-{hash:016x}", method.len()))
}

fn own_name<'t>(tensor: &'t Tensor<'_>) -> Option<&'t str> {
    tensor.fully_qualified_name().filter(|name| !name.is_empty())
}

/// A shape as a sort key.
pub(super) type ShapeKey<'t> = (i8, &'t [i32], &'t [u8]);

pub(super) fn shape_key<'t>(tensor: &'t Tensor<'_>) -> ShapeKey<'t> {
    (tensor.scalar_type.0, tensor.sizes(), tensor.dim_order())
}

/// The meaning of a key: two tensors can share a key if this is equal.
type Meaning<'t> = (Group, ShapeKey<'t>);

/// The moves to make, decided before any change.
struct Moves<'a> {
    /// The method and value index of each tensor, with its key.
    tensors: Vec<(usize, usize, String)>,
    groups: Vec<Group>,
    /// The indices of named data.
    named: Vec<usize>,
    entries: Vec<NewEntry<'a>>,
    report: EditReport,
}

pub(super) fn externalize<'a>(
    pte: &mut Pte<'a>,
    options: &PtdOptions,
    choose: Choose<'_>,
) -> Result<(Ptd<'a>, EditReport)> {
    let Moves { tensors, groups, named, entries, report } = moves(pte, choose)?;
    let data = Ptd::build(entries, options)?;
    change(pte, |pte| {
        // The lists are taken first, because renumbering needs the current indices of tensors.
        let mut lists = DataList::ALL.map(|list| (list, Entries::of(pte, list)));
        for (method, value, key) in tensors {
            if let Some(tensor) = tensor_mut(&mut pte.program, method, value) {
                let extra = tensor.extra_tensor_info.get_or_insert_default();
                extra.fully_qualified_name = Some(key.into());
                extra.location = TensorDataLocation::EXTERNAL;
                tensor.data_buffer_idx = 0;
            }
        }
        for (list, entries) in &mut lists {
            let moved: Vec<u32> = groups.iter().filter(|group| group.0 == *list).map(|group| group.1).collect();
            if !moved.is_empty() {
                let mut entries = core::mem::replace(entries, Ok(Default::default()))?;
                for index in moved {
                    entries.remove(index);
                }
                entries.put(pte, *list, entries::alignment(pte, *list).into())?;
            }
        }
        segments::remove_named_data(pte, &named);
        Ok(())
    })?;
    Ok((data, report))
}

pub(super) fn candidates(pte: &Pte<'_>, mut visit: impl FnMut(&Candidate<'_>)) -> Result<()> {
    for place in proposed(pte)? {
        visit(&place.candidate());
    }
    chosen_named_data(pte, &mut |candidate| {
        visit(candidate);
        None
    });
    Ok(())
}

#[expect(clippy::indexing_slicing, reason = "`keys` has indices of the changes, and `named` those of named data")]
fn moves<'a>(pte: &Pte<'a>, choose: Choose<'_>) -> Result<Moves<'a>> {
    let places = proposed(pte)?;
    let chosen: Vec<Option<String>> = places.iter().map(|place| choose(&place.candidate())).collect();
    let mut groups = BTreeMap::<Group, BTreeMap<ShapeKey<'_>, &str>>::new();
    for (place, key) in places.iter().zip(&chosen) {
        if let Some(key) = key {
            groups.entry(place.group).or_default().entry(shape_key(place.tensor)).or_insert(key);
        }
    }
    let mut moves = Moves {
        tensors: Vec::new(),
        groups: groups.keys().copied().collect(),
        named: chosen_named_data(pte, choose),
        entries: Vec::new(),
        report: EditReport::default(),
    };
    let mut taken = keys_that_stay(pte, &moves.named);
    let mut keys = BTreeMap::<(Group, &str), usize>::new();
    // In the order of the lists, so that `internalize` can restore the same indices.
    let mut in_order: Vec<(&TensorPlace<'_>, &Option<String>)> = places.iter().zip(&chosen).collect();
    in_order.sort_by_key(|(place, _)| place.group);
    let list = |list| Entries::of(pte, list).map(|entries| (entries, entries::alignment(pte, list)));
    let (constants, states) = (list(DataList::Constants)?, list(DataList::InitialStates)?);
    for (place, own) in in_order {
        let Some(shapes) = groups.get(&place.group) else { continue };
        let shared = || shapes.get(&shape_key(place.tensor)).copied();
        let key = own.as_deref().or_else(shared).unwrap_or(&place.key);
        moves.tensors.push((place.method, place.value, key.into()));
        if let Some(at) = keys.get(&(place.group, key)) {
            moves.report.changes[*at].users.push(place.user());
            if taken.get(key) == Some(&Some((place.group, shape_key(place.tensor)))) {
                continue;
            }
        }
        if taken.insert(key.into(), Some((place.group, shape_key(place.tensor)))).is_some() {
            return Err(two_meanings(key, &place.user()));
        }
        keys.insert((place.group, key), moves.report.changes.len());
        let (entries, alignment) = if place.group.0 == DataList::Constants { &constants } else { &states };
        let bytes = entries
            .bytes(place.group.1)
            .and_then(|bytes| cut(bytes, place.size))
            .ok_or_else(|| Error::reference(format!("the data of {} is not in the file", place.user())))?;
        let layout = TensorLayout::from(place.tensor.shape()).into_owned();
        let (key_text, alignment) = (Text::from(String::from(key)), *alignment);
        let entry = NewEntry { key: key_text, tensor_layout: Some(layout), bytes, alignment };
        moves.entries.push(entry);
        let (subject, users) = (place.group.0.into(), alloc::vec![place.user()]);
        moves.report.add(Action::Externalized, subject, key, users, [place.size, 0]);
    }
    let alignments = alignment::kept(pte.program.segments());
    for index in &moves.named {
        let named = &pte.named_data()[*index];
        // Only candidates with a key were chosen.
        let key = named.key.clone().unwrap_or_default();
        if taken.insert(key.as_str().into(), None).is_some() {
            return Err(two_meanings(&key, &User::Key { key: key.as_str().into() }));
        }
        let index = named.segment_index as usize;
        let bytes = pte.segments.get(index).and_then(|segment| segment.joined(segment.len()));
        let bytes = bytes.ok_or_else(|| Error::reference(format!("the bytes of segment {index} are absent")))?;
        let alignment = alignments.get(index).map_or(1, |alignment| *alignment as u32);
        moves.report.add(Action::Externalized, Subject::NamedData, key.as_str(), Vec::new(), [bytes.len() as u64, 0]);
        moves.entries.push(NewEntry { key, tensor_layout: None, bytes, alignment });
    }
    Ok(moves)
}

/// Returns every tensor with data in the file, with its default key.
pub(super) fn proposed<'t>(pte: &'t Pte<'_>) -> Result<Vec<TensorPlace<'t>>> {
    let mut places = Vec::new();
    for (method, plan) in pte.methods().iter().enumerate() {
        for (value, tensor) in plan.tensors() {
            let Some(list) = DataList::of(tensor) else { continue };
            let size = tensor.byte_size()?;
            let group = (list, tensor.data_buffer_idx);
            places.push(TensorPlace { method, value, plan, tensor, group, size, key: String::new() });
        }
    }
    let mut meanings = BTreeMap::<String, Meaning<'_>>::new();
    let mut shared = BTreeMap::<Meaning<'_>, String>::new();
    // The file's own names come first: if two different tensors have the same name, the first gets it.
    for place in &mut places {
        let meaning = (place.group, shape_key(place.tensor));
        let Some(name) = own_name(place.tensor) else { continue };
        if *meanings.entry(name.into()).or_insert(meaning) == meaning {
            place.key = name.into();
            shared.entry(meaning).or_insert(name.into());
        }
    }
    for place in places.iter_mut().filter(|place| place.key.is_empty()) {
        let meaning = (place.group, shape_key(place.tensor));
        let default = default_key(place.plan, place.value);
        place.key = shared.entry(meaning).or_insert(default).clone();
    }
    Ok(places)
}

/// Returns the named data that can be looked up: that with a key.
pub(super) fn keyed<'t, 'a>(pte: &'t Pte<'a>) -> impl Iterator<Item = (usize, &'t NamedData<'a>)> {
    pte.named_data().iter().enumerate().filter(|(_, named)| named.key.is_some())
}

fn chosen_named_data(pte: &Pte<'_>, choose: Choose<'_>) -> Vec<usize> {
    let mut chosen = Vec::new();
    for (index, named) in keyed(pte) {
        let size = pte.named_data_ref(named).map_or(0, |data| data.size());
        let (subject, key) = (Subject::NamedData, named.key());
        let candidate = Candidate { subject, method: "", index, name: Some(key), key, shape: None, size };
        if choose(&candidate).is_some() {
            chosen.push(index);
        }
    }
    chosen
}

/// Returns the keys in use: those of external tensors, and of named data that is not in `moved`.
fn keys_that_stay<'t>(pte: &Pte<'_>, moved: &[usize]) -> BTreeMap<String, Option<Meaning<'t>>> {
    let mut keys = BTreeMap::new();
    for plan in pte.methods() {
        for (_, tensor) in plan.tensors().filter(|(_, tensor)| tensor.is_external()) {
            if let Some(name) = tensor.fully_qualified_name() {
                keys.entry(name.into()).or_insert(None);
            }
        }
    }
    for (index, named) in pte.named_data().iter().enumerate() {
        if moved.binary_search(&index).is_err() {
            keys.entry(named.key().into()).or_insert(None);
        }
    }
    keys
}

/// Returns the first `size` bytes, borrowed if `bytes` are.
fn cut<'a>(bytes: &Cow<'a, [u8]>, size: u64) -> Option<Cow<'a, [u8]>> {
    let size = usize::try_from(size).ok()?;
    match bytes {
        Cow::Borrowed(bytes) => bytes.get(..size).map(Cow::Borrowed),
        Cow::Owned(bytes) => bytes.get(..size).map(|bytes| Cow::Owned(bytes.to_vec())),
    }
}

fn two_meanings(key: &str, user: &User) -> Error {
    Error::unwritable(format!("the key {key:?} of {user} is used for other data: choose another key"))
}
