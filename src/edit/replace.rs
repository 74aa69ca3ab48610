//! Other bytes for a blob.

use super::report::{EditReport, Subject, User};
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::references::{DataList, DataUser, tensor_mut};
use crate::file::segment::{DataRef, Segment};
use crate::schema::DataSegment;
use crate::schema::flat_tensor::TensorLayout;
use crate::tensor::{TensorShape, TensorView};
use crate::write::collect::NewEntry;
use crate::write::relayout::kept_alignments;
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};
use core::ops::Range;

/// What is worth knowing where named data keeps its key.
const SAME_KEY: &str = "a delegate may cache what it made of named data by its key: a process or cache that has seen the old content may \
                        go on with that";

/// Which blob of a program is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selector<'t> {
    /// The data of a method's value.
    Value {
        /// The method's name.
        method: &'t str,
        /// Index into the method's values.
        value: usize,
    },
    /// The data of every tensor with that name, or the named data with that key.
    Name(&'t str),
}

/// The bytes that take the place of others.
///
/// ```
/// use executorch_format::edit::{NewData, Selector};
/// use executorch_format::{NewEntry, Pte, TensorData};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let mut pte = Pte::parse(&file)?;
/// let method = pte.method("forward").unwrap();
/// let constants = method.tensors().filter(|(_, tensor)| matches!(pte.tensor_data(tensor), Ok(TensorData::Constant(_))));
/// let (value, shape) = constants.map(|(value, tensor)| (value, tensor.shape().to_string())).next().unwrap();
/// assert_eq!(shape, "f32[2, 2]");
///
/// let ones = NewEntry::from_slice("ones", vec![2, 2], &[1f32; 4]);
/// let report = pte.replace(&Selector::Value { method: "forward", value }, &NewData::from(ones))?;
/// assert_eq!(report.changes.len(), 1);
///
/// // Another shape is refused, with what was expected.
/// let wrong = NewEntry::from_slice("three", vec![3], &[1f32; 3]).into();
/// let error = pte.replace(&Selector::Value { method: "forward", value }, &wrong).unwrap_err();
/// assert!(error.to_string().contains("is f32[2, 2], three holds f32[3]"), "{error}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewData<'a> {
    /// What errors call it, such as the name of the file that it came from.
    pub source: String,
    /// The type and shape; `None`: just bytes, which are taken for whatever they replace.
    pub tensor_layout: Option<TensorLayout<'a>>,
    /// The bytes.
    pub bytes: Cow<'a, [u8]>,
    /// Whether a tensor in another dim order is put into the one that is needed. Else it is refused.
    pub permute: bool,
    /// The key that named data gets with it where XNNPACK looks it up: the exporter's is the SHA-256 of the bytes, in hex. `None`: such a
    /// replacement is refused, because XNNPACK would find what it packed of the old bytes under the old key. The old key says
    /// that this is no concern.
    pub key: Option<String>,
    /// Whether it is from NumPy, which stores types that it does not have as integers: see
    /// [`ScalarType::numpy_type`](crate::schema::ScalarType::numpy_type).
    pub numpy: bool,
    /// Whether all that share the old bytes get the new ones. Else what was asked for gets its own, and the others keep theirs.
    pub shared: bool,
}

impl<'a> NewData<'a> {
    /// Just bytes.
    pub fn bytes(source: impl Into<String>, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        let (source, bytes) = (source.into(), bytes.into());
        Self { source, tensor_layout: None, bytes, permute: false, key: None, numpy: false, shared: false }
    }

    /// A tensor.
    pub fn tensor(source: impl Into<String>, view: &TensorView<'a>) -> Self {
        Self { tensor_layout: Some(view.shape().into()), ..Self::bytes(source, view.bytes()) }
    }

    /// With that layout; `None`: just bytes.
    pub fn with_tensor_layout(self, tensor_layout: Option<TensorLayout<'a>>) -> Self {
        Self { tensor_layout, ..self }
    }

    /// Put into the dim order that is needed: with [`permute`](Self::permute).
    #[must_use]
    pub fn with_permute(self) -> Self {
        Self { permute: true, ..self }
    }

    /// For all that share the old bytes: with [`shared`](Self::shared).
    #[must_use]
    pub fn with_shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// With that key.
    pub fn with_key(self, key: Option<String>) -> Self {
        Self { key, ..self }
    }

    /// The bytes for a tensor of that type and shape.
    fn bytes_for(&self, user: &User, shape: &TensorShape<'_>) -> Result<Cow<'a, [u8]>> {
        let (source, size) = (&self.source, shape.byte_size()?);
        let Some(layout) = &self.tensor_layout else {
            if self.bytes.len() as u64 != size {
                let found = self.bytes.len();
                return Err(Error::tensor(format!("{user} is {shape}, {size} bytes; {source} holds {found} bytes")));
            }
            return Ok(self.bytes.clone());
        };
        let own = layout.shape();
        let is_its_numpy_type = self.numpy && shape.scalar_type.numpy_type() == Some(own.scalar_type);
        if own.scalar_type != shape.scalar_type && !is_its_numpy_type || own.sizes != shape.sizes {
            return Err(Error::tensor(format!("{user} is {shape}, {source} holds {own}")));
        }
        let view = TensorView::new(own, &self.bytes)
            .map_err(|error| Error::tensor(format!("{source}: {}", error.kind().detail())))?;
        if own.dim_order == shape.dim_order {
            return Ok(self.bytes.clone());
        }
        if !self.permute {
            let reason = "the same elements in another order: ask for a permutation";
            return Err(Error::tensor(format!("{user} is {shape}, {source} holds {own}, {reason}")));
        }
        view.in_dim_order(shape.dim_order).map(Cow::Owned)
    }
}

/// The entry's tensor or bytes, called by its key.
impl<'a> From<NewEntry<'a>> for NewData<'a> {
    fn from(entry: NewEntry<'a>) -> Self {
        let NewEntry { key, tensor_layout, bytes, .. } = entry;
        Self { tensor_layout, ..Self::bytes(key.as_str(), bytes) }
    }
}

/// A blob that gets new bytes.
struct Blob<'a> {
    /// Where the old ones are.
    data: DataRef,
    subject: Subject,
    name: String,
    /// Who gets the new bytes.
    users: Vec<User>,
    /// The tensors among them: the method's index and the value's.
    tensors: Vec<(usize, usize)>,
    /// The named data among them: its indices.
    named: Vec<usize>,
    /// Who shares the old bytes and keeps them.
    others: Vec<User>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Pte<'a> {
    /// Gives a constant, an initial state or named data other bytes. What shares the old ones keeps them, and the report names
    /// it, unless [`NewData::shared`] asks for all.
    ///
    /// A tensor's new data has its scalar type and sizes; its file keeps its layout, byte for byte outside the data, unless the
    /// old bytes stay for others. Named data may change its size.
    ///
    /// ```
    /// use executorch_format::Pte;
    /// use executorch_format::edit::{NewData, Selector};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let mut pte = Pte::parse(&file)?;
    /// let target = Selector::Value { method: "forward", value: 0 };
    /// let zeros = vec![0; pte.methods()[0].tensor(0).unwrap().byte_size()? as usize];
    /// let report = pte.replace(&target, &NewData::bytes("zeros", zeros))?;
    /// println!("{}", report.changes[0]);
    /// assert_eq!(pte.image()?.size(), file.len() as u64);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) where type, sizes or dim order of any tensor that gets the data are
    /// others, with [`ErrorKind::Reference`](crate::ErrorKind::Reference) where the target is not in the file, and with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) where XNNPACK looks the data up and [`NewData::key`] is missing or taken.
    pub fn replace(&mut self, target: &Selector<'_>, new: &NewData<'a>) -> Result<EditReport> {
        let mut report = EditReport::default();
        let mut blobs: Vec<Blob<'a>> = Vec::new();
        let mut keys = Vec::new();
        for data in self.data_of(target)? {
            if blobs.iter().any(|other| other.data == data) {
                continue;
            }
            let mut blob = self.checked(data, target, new)?;
            let size = blob.bytes.len() as u64;
            if let Some((old, key)) = self.new_key(&blob, new)? {
                report
                    .notes
                    .push(format!("the key is now {key}, in the payloads of XNNPACK too; it was {}", old.join(", ")));
                blob.users.retain(|user| !matches!(user, User::Key { key } if old.contains(key)));
                blob.users.insert(0, User::Key { key: key.clone() });
                blob.name.clone_from(&key);
                keys.push((old, key));
            } else if blob.subject == Subject::NamedData && !report.notes.iter().any(|note| note == SAME_KEY) {
                report.notes.push(SAME_KEY.into());
            }
            let users = [blob.users.clone(), blob.others.clone()];
            report.add_replaced(blob.subject, &blob.name, users, [data.size(), size]);
            blobs.push(blob);
        }
        let fits = |blob: &Blob<'a>| blob.others.is_empty() && blob.data.size() == blob.bytes.len() as u64;
        if keys.is_empty() && blobs.iter().all(fits) {
            for blob in blobs {
                self.overwrite(&blob.data, blob.bytes);
            }
            return Ok(report);
        }
        self.change(|pte| {
            // What stays where it is comes first: the rest moves segments.
            let (apart, whole): (Vec<_>, Vec<_>) = blobs.into_iter().partition(|blob| !blob.others.is_empty());
            for blob in whole {
                pte.overwrite(&blob.data, blob.bytes);
            }
            apart.iter().try_for_each(|blob| pte.separate(blob))?;
            keys.iter().try_for_each(|(old, key)| pte.change_keys(old, key))
        })?;
        Ok(report)
    }

    /// Gives those who are to have new bytes a place of their own for them.
    fn separate(&mut self, blob: &Blob<'a>) -> Result<()> {
        for list in DataList::ALL {
            let tensor = |(method, value): &(usize, usize)| self.methods().get(*method)?.tensor(*value);
            let of_list = |place: &&(usize, usize)| tensor(place).and_then(DataList::of) == Some(list);
            let tensors: Vec<(usize, usize)> = blob.tensors.iter().filter(of_list).copied().collect();
            if !tensors.is_empty() {
                self.separate_entry(list, &tensors, blob.bytes.clone())?;
            }
        }
        let before = self.segment_users();
        for index in &blob.named {
            let old = self.named_data().get(*index).map_or(0, |named| named.segment_index);
            let alignment = kept_alignments(self.program.segments()).get(old as usize).copied().unwrap_or(1);
            let segment_index = self.add_segment(blob.bytes.clone());
            self.set_segment_alignment(segment_index, alignment);
            if let Some(named) = self.program.named_data.as_mut().and_then(|named| named.get_mut(*index)) {
                named.segment_index = segment_index;
            }
        }
        self.remove_unused_segments(&before);
        Ok(())
    }

    /// Gives tensors an entry of their list for themselves.
    fn separate_entry(&mut self, list: DataList, tensors: &[(usize, usize)], bytes: Cow<'a, [u8]>) -> Result<()> {
        let mut entries = self.entries(list)?;
        entries.blobs.push(bytes);
        let blob = entries.blobs.len() - 1;
        let mut others = Vec::new();
        for (method, plan) in self.methods().iter().enumerate() {
            for (value, tensor) in plan.tensors() {
                if DataList::of(tensor) == Some(list) && !tensors.contains(&(method, value)) {
                    others.push(tensor.data_buffer_idx);
                }
            }
        }
        let mut added = None;
        for (method, value) in tensors {
            let Some(tensor) = tensor_mut(&mut self.program, *method, *value) else { continue };
            if others.contains(&tensor.data_buffer_idx) {
                tensor.data_buffer_idx = *added.get_or_insert_with(|| {
                    entries.at.push(Some(blob));
                    entries.at.len() as u32
                });
            } else {
                entries.set(tensor.data_buffer_idx, Some(blob));
            }
        }
        let alignment = self.entry_alignment(list);
        self.put_entries(list, entries, alignment.into())
    }

    /// The data that a target names.
    fn data_of(&self, target: &Selector<'_>) -> Result<Vec<DataRef>> {
        let (mut found, mut external) = (Vec::new(), None);
        for (user, data) in self.data_users() {
            if target.is(&user) {
                match data? {
                    TensorData::External(key) => external = Some(key),
                    data => found.extend(data.data_ref()),
                }
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let what = match target {
            Selector::Value { method, value } => format!("{method}:%{value}"),
            Selector::Name(name) => format!("the name {name:?}"),
        };
        Err(Error::reference(match external {
            Some(key) => format!("{what} is in a .ptd, under the key {key:?}: replace it there"),
            None => format!("{what} has no data in the file"),
        }))
    }

    /// Who gets the new bytes in the place of those at `data`, after checking that they suit, and who keeps the old ones.
    fn checked(&self, data: DataRef, target: &Selector<'_>, new: &NewData<'a>) -> Result<Blob<'a>> {
        let bytes = new.bytes.clone();
        let (users, tensors, named, others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let subject = Subject::NamedData;
        let mut blob = Blob { data, subject, name: String::new(), users, tensors, named, others, bytes };
        for (user, other) in self.data_users() {
            let Some(other) = other.ok().filter(|other| other.data_ref().is_some_and(|other| overlap(&data, &other)))
            else {
                continue;
            };
            let who = User::of(&user);
            let same = other.data_ref() == Some(data);
            let asked = new.shared || (same && target.is(&user));
            if !asked {
                blob.others.push(who);
                continue;
            }
            match user {
                DataUser::Tensor { method, value, tensor, .. } => {
                    if !same {
                        return Err(partly_shared(&who));
                    }
                    blob.subject = match other {
                        TensorData::Mutable(_) => Subject::InitialState,
                        _ => Subject::Constant,
                    };
                    if let Some(name) = tensor.fully_qualified_name() {
                        blob.name = name.into();
                    }
                    let own = new.bytes_for(&who, &tensor.shape())?;
                    if blob.tensors.is_empty() {
                        blob.bytes = own;
                    }
                    blob.tensors.push((method, value));
                }
                DataUser::NamedData { index, named } => {
                    blob.name = named.key().into();
                    blob.named.push(index);
                }
                DataUser::Delegate { .. } => {}
            }
            blob.users.push(who);
        }
        let in_no_list = |(method, value): &(usize, usize)| {
            let tensor = self.methods().get(*method).and_then(|plan| plan.tensor(*value));
            tensor.is_some_and(|tensor| DataList::of(tensor).is_none())
        };
        if !blob.others.is_empty() && blob.tensors.iter().any(in_no_list) {
            let reason = "is in a list that the runtime does not use, and shared: it can only be replaced for all";
            return Err(Error::unwritable(format!("the data {reason}")));
        }
        Ok(blob)
    }

    /// The keys of the data that have to change with it, and what they become.
    fn new_key(&self, blob: &Blob<'_>, new: &NewData<'_>) -> Result<Option<(Vec<String>, String)>> {
        let (data, bytes) = (&blob.data, &*blob.bytes);
        let keys = blob.users.iter().filter_map(|user| match user {
            User::Key { key } => Some(key),
            _ => None,
        });
        let mut old: Vec<String> = keys.cloned().collect();
        if old.is_empty() || self.bytes(data)? == bytes {
            return Ok(None);
        }
        let looked_up = self.xnnpack_keys();
        old.retain(|key| looked_up.contains(key));
        let Some(first) = old.first() else { return Ok(None) };
        let (size, found) = (data.size(), bytes.len() as u64);
        if size != found {
            let reason =
                format!("{first:?} is a constant of XNNPACK, {size} bytes; {} holds {found} bytes", new.source);
            return Err(Error::tensor(reason));
        }
        let Some(key) = new.key.clone() else {
            return Err(Error::unwritable(format!(
                "XNNPACK looks {first:?} up and may have packed the old bytes under that key: other bytes need a new key"
            )));
        };
        if old == [key.as_str()] {
            return Ok(None);
        }
        for named in self.named_data().iter().filter(|named| named.key() == key && !old.contains(&key)) {
            if self.bytes(&self.named_data_ref(named)?)? != bytes {
                return Err(Error::unwritable(format!("the key {key:?} is taken by other data: give another one")));
            }
        }
        Ok(Some((old, key)))
    }

    pub(super) fn overwrite(&mut self, data: &DataRef, bytes: Cow<'a, [u8]>) {
        match *data {
            DataRef::Segment { index, offset, size } => {
                let table = self.program.segments.as_mut().and_then(|table| table.get_mut(index as usize));
                if let (Some(segment), Some(entry)) = (self.segments.get_mut(index as usize), table) {
                    segment.overwrite(entry, offset, size, bytes);
                }
            }
            DataRef::ConstantBuffer { index, .. } => {
                let buffers = self.program.constant_buffer.as_mut();
                if let Some(buffer) = buffers.and_then(|buffers| buffers.get_mut(index as usize)) {
                    buffer.storage = Some(bytes);
                }
            }
            DataRef::DelegateData { index, .. } => {
                let payloads = self.program.backend_delegate_data.as_mut();
                if let Some(payload) = payloads.and_then(|payloads| payloads.get_mut(index as usize)) {
                    payload.data = Some(bytes);
                }
            }
        }
    }
}

impl Selector<'_> {
    fn is(&self, user: &DataUser<'_>) -> bool {
        match (self, user) {
            (Selector::Value { method, value }, DataUser::Tensor { plan, value: other, .. }) => {
                plan.name() == *method && value == other
            }
            (Selector::Name(name), DataUser::Tensor { tensor, .. }) => tensor.fully_qualified_name() == Some(*name),
            (Selector::Name(name), DataUser::NamedData { named, .. }) => named.key() == *name,
            _ => false,
        }
    }
}

fn partly_shared(user: &User) -> Error {
    Error::tensor(format!("{user} has a part of the same bytes, expected all or none"))
}

/// Whether two references have bytes in common.
fn overlap(one: &DataRef, other: &DataRef) -> bool {
    match (range(one), range(other)) {
        (Some((segment, range)), Some((other, second))) => {
            let shared = range.start < second.end && second.start < range.end;
            segment == other && (shared || range == second)
        }
        _ => one == other,
    }
}

fn range(data: &DataRef) -> Option<(u32, Range<u64>)> {
    match *data {
        DataRef::Segment { index, offset, size } => Some((index, offset..offset.saturating_add(size))),
        _ => None,
    }
}

impl<'a> Ptd<'a> {
    /// Gives a key other bytes. Keys that share the old ones keep them, and the report names them, unless [`NewData::shared`] asks for all. A tensor's
    /// new data has its scalar type and sizes; a blob may change its size.
    ///
    /// ```
    /// use executorch_format::Ptd;
    /// use executorch_format::edit::NewData;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/add_mul_external/_default_external_constant.ptd")?;
    /// let mut ptd = Ptd::parse(&file)?;
    /// assert_eq!(ptd.get("a").unwrap().shape.unwrap().to_string(), "f32[2, 2]");
    /// ptd.replace("a", &NewData::bytes("zeros", vec![0; 16]))?;
    /// let error = ptd.replace("a", &NewData::bytes("zeros", vec![0; 4])).unwrap_err();
    /// assert!(error.to_string().contains("key a is f32[2, 2], 16 bytes; zeros holds 4 bytes"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`Pte::replace`] does.
    pub fn replace(&mut self, key: &str, new: &NewData<'a>) -> Result<EditReport> {
        let Some(entry) = self.get(key) else {
            return Err(Error::reference(format!("no key {key:?}")));
        };
        let data = self.entry_data(&entry)?;
        let (mut users, mut others, mut bytes) = (Vec::new(), Vec::new(), None);
        for other in self.entries() {
            let there = self.entry_data(&other)?;
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
        let bytes = bytes.unwrap_or_else(|| new.bytes.clone());
        let mut report = EditReport::default();
        if entry.shape.is_none() && *self.entry_bytes(&entry)? != *bytes {
            report.notes.push(SAME_KEY.into());
        }
        let is_alone = others.is_empty();
        report.add_replaced(Subject::Key, key, [users, others], [data.size(), bytes.len() as u64]);
        let old = entry.segment_index as usize;
        match (is_alone, data.size() == bytes.len() as u64) {
            (true, true) => self.overwrite(&data, bytes),
            (true, false) => self.change(|ptd| {
                ptd.overwrite(&data, bytes);
                Ok(())
            })?,
            (false, _) => self.change(|ptd| {
                ptd.separate(key, old, bytes);
                Ok(())
            })?,
        }
        Ok(report)
    }

    /// Gives a key a segment of its own, aligned as the old one.
    fn separate(&mut self, key: &str, old: usize, bytes: Cow<'a, [u8]>) {
        let table = self.flat_tensor.segments.get_or_insert_default();
        let offset = kept_alignments(table).get(old).copied().unwrap_or(1);
        table.push(DataSegment { offset, size: bytes.len() as u64 });
        self.segments.push(Segment::Whole(bytes));
        let index = self.segments.len() as u32 - 1;
        let legacy = self.flat_tensor.legacy.as_mut().and_then(|legacy| legacy.tensors.as_mut());
        for tensor in legacy.map(Vec::as_mut_slice).unwrap_or_default() {
            if tensor.fully_qualified_name.as_deref() == Some(key) {
                (tensor.segment_index, tensor.offset) = (index, 0);
            }
        }
        for named in self.flat_tensor.named_data.as_deref_mut().unwrap_or_default() {
            if named.key.as_deref() == Some(key) {
                named.segment_index = index;
            }
        }
    }

    fn overwrite(&mut self, data: &DataRef, bytes: Cow<'a, [u8]>) {
        if let DataRef::Segment { index, offset, size } = *data {
            let table = self.flat_tensor.segments.as_mut().and_then(|table| table.get_mut(index as usize));
            if let (Some(segment), Some(entry)) = (self.segments.get_mut(index as usize), table) {
                segment.overwrite(entry, offset, size, bytes);
            }
        }
    }
}

impl<'a> Segment<'a> {
    /// Puts bytes in the place of `size` bytes at `offset`; where they are all of the segment, they may be more or fewer.
    fn overwrite(&mut self, entry: &mut DataSegment, offset: u64, size: u64, bytes: Cow<'a, [u8]>) {
        if offset == 0 && size == entry.size {
            entry.size = bytes.len() as u64;
            *self = Self::Whole(bytes);
            return;
        }
        let end = offset.saturating_add(size);
        let parts = match core::mem::take(self) {
            Self::Absent => Vec::new(),
            Self::Whole(whole) => vec![(0, whole)],
            Self::Parts(parts) => parts,
        };
        let mut kept = Vec::with_capacity(parts.len() + 2);
        let mut new = Some((offset, bytes));
        for (start, part) in parts {
            let part_end = start.saturating_add(part.len() as u64);
            // What is before the new bytes, these, what is after them.
            let cut = |from: u64, to: u64| {
                let range = from.checked_sub(start)? as usize..to.checked_sub(start)? as usize;
                let bytes = match &part {
                    Cow::Borrowed(bytes) => bytes.get(range).map(Cow::Borrowed),
                    Cow::Owned(bytes) => bytes.get(range).map(|bytes| Cow::Owned(bytes.to_vec())),
                };
                // A part that was empty before is data without elements, and stays.
                bytes.filter(|bytes| !bytes.is_empty() || part.is_empty()).map(|bytes| (from, bytes))
            };
            kept.extend(cut(start, part_end.min(offset)));
            if part_end >= end || start >= end {
                kept.extend(new.take());
            }
            kept.extend(cut(start.max(end), part_end));
        }
        kept.extend(new);
        *self = Self::Parts(kept);
    }
}
