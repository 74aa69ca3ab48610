//! Conversion from safetensors to `.ptd`, and from `.ptd` and `.pte` to safetensors.

use super::{Dtype, SafeTensor, Safetensors};
use crate::delegate::{AotTensor, NamedBlobs, Payload};
use crate::edit::{METADATA_PREFIX, NewData, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::file::ptd::{Entry, Ptd};
use crate::file::pte::Pte;
use crate::flatbuffer::text::Text;
use crate::names::shortened;
use crate::schema::ScalarType;
use crate::schema::flat_tensor::TensorLayout;
use crate::sorted::set;
use crate::tensor::{TensorShape, TensorView};
use crate::write::collect::NewEntry;
use crate::write::options::PtdOptions;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::{borrow::Cow, format, vec::Vec};
use core::fmt;

/// PyTorch's complex64, which has no name in the schema.
const COMPLEX64: ScalarType = ScalarType(9);

/// The types that both formats support.
const TYPES: &[(ScalarType, Dtype)] = &[
    (ScalarType::BOOL, Dtype::BOOL),
    (ScalarType::BYTE, Dtype::U8),
    (ScalarType::CHAR, Dtype::I8),
    (ScalarType::SHORT, Dtype::I16),
    (ScalarType::INT, Dtype::I32),
    (ScalarType::LONG, Dtype::I64),
    (ScalarType::UINT16, Dtype::U16),
    (ScalarType::UINT32, Dtype::U32),
    (ScalarType::UINT64, Dtype::U64),
    (ScalarType::HALF, Dtype::F16),
    (ScalarType::BFLOAT16, Dtype::BF16),
    (ScalarType::FLOAT, Dtype::F32),
    (ScalarType::DOUBLE, Dtype::F64),
    (COMPLEX64, Dtype::C64),
    (ScalarType::FLOAT8E5M2, Dtype::F8_E5M2),
    (ScalarType::FLOAT8E4M3FN, Dtype::F8_E4M3),
    (ScalarType::FLOAT8E5M2FNUZ, Dtype::F8_E5M2FNUZ),
    (ScalarType::FLOAT8E4M3FNUZ, Dtype::F8_E4M3FNUZ),
];

impl Dtype {
    /// Returns the type of the same elements in ExecuTorch, if there is one.
    pub(crate) fn scalar_type(self) -> Option<ScalarType> {
        TYPES.iter().find(|(_, own)| *own == self).map(|(scalar_type, _)| *scalar_type)
    }
}

/// An item that was left out because the other format cannot store it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Skipped {
    /// The kind of item: `tensor`, `blob`, `metadata` or `payload`.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// The reason why the other format cannot store it.
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {}", self.kind, self.name, self.reason)
    }
}

/// The treatment of items that the other format cannot store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unsupported {
    /// Fail.
    #[default]
    Refuse,
    /// Leave the item out and list it.
    Skip,
}

impl Unsupported {
    /// Adds the item to the list, or fails.
    pub(super) fn add(self, list: &mut Vec<Skipped>, kind: &'static str, name: &str, reason: String) -> Result<()> {
        let skipped = Skipped { kind, name: name.to_string(), reason };
        match self {
            Self::Refuse => Err(Error::unwritable(format!("{skipped}: it can only be left out"))),
            Self::Skip => {
                list.push(skipped);
                Ok(())
            }
        }
    }
}

impl<'a> Safetensors<'a> {
    /// Converts a `.ptd` to tensors in the order of the official safetensors writer. With [`Unsupported::Skip`], also returns a list of
    /// the items that were left out.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) on an unsupported item with [`Unsupported::Refuse`], and as
    /// [`Ptd::entry_bytes`] and [`TensorView::in_dim_order`] do.
    pub fn of_ptd(ptd: &'a Ptd<'_>, unsupported: Unsupported) -> Result<(Self, Vec<Skipped>)> {
        let (mut file, mut skipped) = (Self::default(), Vec::new());
        for entry in ptd.entries() {
            let found = file.add(ptd, &entry).map_err(|error| name_it(error, entry.key()))?;
            if let Some((kind, reason)) = found {
                unsupported.add(&mut skipped, kind, entry.key(), reason)?;
            }
        }
        file.sort();
        Ok((file, skipped))
    }

    /// Adds an entry, or returns its kind and the reason why it cannot be added.
    fn add(&mut self, ptd: &'a Ptd<'_>, entry: &Entry<'a>) -> Result<Option<(&'static str, String)>> {
        let utf8 = entry.key.is_none_or(Text::is_utf8);
        let Some(view) = ptd.tensor_view(entry)? else {
            let text = entry.key().strip_prefix(METADATA_PREFIX).filter(|_| utf8);
            let Some(key) = text else {
                return Ok(Some(("blob", "safetensors has only tensors".into())));
            };
            return Ok(match core::str::from_utf8(ptd.entry_bytes(entry)?) {
                Ok(value) => {
                    self.metadata.push((key.into(), value.into()));
                    None
                }
                Err(_) => Some(("metadata", "metadata in safetensors is UTF-8".into())),
            });
        };
        if !utf8 {
            return Ok(Some(("tensor", "names in safetensors are UTF-8".into())));
        }
        if let Err(reason) = dtype(view.shape().scalar_type) {
            return Ok(Some(("tensor", reason)));
        }
        self.tensors.push(SafeTensor::of(entry.key(), &view)?);
        Ok(None)
    }

    /// Converts the tensors to a `.ptd`, each in its original dim order. With [`Unsupported::Skip`], also returns a list of the items
    /// that were left out.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) on an unsupported item with [`Unsupported::Refuse`], and as
    /// [`Ptd::build`] does.
    pub fn into_ptd(self, options: &PtdOptions, unsupported: Unsupported) -> Result<(Ptd<'a>, Vec<Skipped>)> {
        let (mut entries, mut skipped) = (Vec::new(), Vec::new());
        for tensor in self.tensors {
            match new_layout(&tensor) {
                Ok(layout) => entries.push(tensor.with_layout(layout)?),
                Err(reason) => unsupported.add(&mut skipped, "tensor", &tensor.name, reason)?,
            }
        }
        for (key, value) in self.metadata {
            match without_nul(&key) {
                Ok(()) => entries.push(NewEntry::blob(format!("{METADATA_PREFIX}{key}"), value.into_bytes())),
                Err(reason) => unsupported.add(&mut skipped, "metadata", &key, reason)?,
            }
        }
        Ok((Ptd::build(entries, options)?, skipped))
    }
}

/// Rejects a name that would be truncated as the key of a `.ptd`.
fn without_nul(name: &str) -> core::result::Result<(), String> {
    match name.contains('\0') {
        true => Err("its name contains NUL, after which the runtime reads no more of a key".into()),
        false => Ok(()),
    }
}

/// Returns the layout of a tensor's bytes in a `.ptd`, or the reason why it cannot be stored there.
fn new_layout(tensor: &SafeTensor<'_>) -> core::result::Result<TensorLayout<'static>, String> {
    without_nul(&tensor.name)?;
    let Some(scalar_type) = tensor.dtype.scalar_type() else {
        return Err(format!("a .ptd does not have the type {}", tensor.dtype));
    };
    let size = |size: &u64| {
        i32::try_from(*size).map_err(|_| format!("a .ptd has sizes up to {}, but one is {size}", i32::MAX))
    };
    let sizes = tensor.shape.iter().map(size).collect::<core::result::Result<Vec<i32>, String>>()?;
    let dim_order = (0..sizes.len()).map(|dim| dim as u8).collect();
    Ok(TensorLayout { scalar_type, sizes: Some(sizes.into()), dim_order: Some(dim_order) })
}

/// Converts a tensor to new data with the same name. Fails as [`SafeTensor::into_entry`] does.
impl<'a> TryFrom<SafeTensor<'a>> for NewData<'a> {
    type Error = Error;

    fn try_from(tensor: SafeTensor<'a>) -> Result<Self> {
        tensor.into_entry().map(Self::from)
    }
}

/// Returns the name of a type in safetensors, or the reason why there is no name.
fn dtype(scalar_type: ScalarType) -> core::result::Result<Dtype, String> {
    let found = TYPES.iter().find(|(own, _)| *own == scalar_type);
    found.map(|(_, dtype)| *dtype).ok_or_else(|| {
        let name = scalar_type.short_name().map_or_else(|| scalar_type.to_string(), String::from);
        format!("safetensors does not have the scalar type {name}")
    })
}

impl<'a> SafeTensor<'a> {
    /// Converts a tensor with any dim order.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if safetensors does not support its type, and as
    /// [`TensorView::in_dim_order`] does.
    pub fn of(name: impl Into<Cow<'a, str>>, view: &TensorView<'a>) -> Result<Self> {
        let TensorShape { scalar_type, sizes, dim_order } = view.shape();
        let natural: Vec<u8> = (0..sizes.len()).map(|dim| dim as u8).collect();
        let is_natural = view.shape().is_natural();
        Ok(Self {
            name: name.into(),
            dtype: dtype(scalar_type).map_err(Error::unwritable)?,
            shape: sizes.iter().map(|size| u64::from(size.unsigned_abs())).collect(),
            dim_order: (!is_natural).then(|| dim_order.into()),
            bytes: match is_natural {
                true => Cow::Borrowed(view.bytes()),
                false => Cow::Owned(view.in_dim_order(&natural)?),
            },
        })
    }

    /// Converts the tensor to an entry of a `.ptd`, in its original dim order.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if a `.ptd` cannot store its type or size, or if
    /// its name contains NUL.
    pub fn into_entry(self) -> Result<NewEntry<'a>> {
        let layout =
            new_layout(&self).map_err(|reason| Error::unwritable(format!("tensor {:?}: {reason}", self.name)))?;
        self.with_layout(layout)
    }

    /// Returns an entry with `layout`, which is in the natural dim order.
    fn with_layout(self, layout: TensorLayout<'static>) -> Result<NewEntry<'a>> {
        let Self { name, dim_order, bytes, .. } = self;
        let (bytes, layout) = match dim_order {
            None => (bytes, layout),
            Some(dim_order) => {
                let permuted = TensorView::new(layout.shape(), &bytes)
                    .and_then(|view| view.in_dim_order(&dim_order))
                    .map_err(|error| name_it(error, &name))?;
                (Cow::Owned(permuted), TensorLayout { dim_order: Some(dim_order.into()), ..layout })
            }
        };
        Ok(NewEntry { key: name.into(), tensor_layout: Some(layout), bytes, alignment: 1 })
    }
}

/// Adds the tensor's name to an error.
fn name_it(error: Error, name: &str) -> Error {
    match error.kind() {
        ErrorKind::Tensor(fault) => Error::tensor(format!("{name:?}: {fault}")),
        _ => error,
    }
}

impl<'a> Pte<'a> {
    /// Returns the constants, initial states and metadata of a program as a `.ptd` that borrows from it, with the keys that
    /// [`externalize`](Self::externalize) gives, and the tensors that payloads name. The list contains the items that were left out: tensors
    /// whose data is in a `.ptd` file, and the payloads of delegates, which may contain weights.
    ///
    /// Fails as [`externalize`](Self::externalize) does.
    pub fn weights(&self) -> Result<(Ptd<'_>, Vec<Skipped>)> {
        self.weights_with(&[])
    }

    /// Returns the same as [`weights`](Self::weights) for a program with its `.ptd` files, including the tensors whose data is in them.
    ///
    /// Fails as [`externalize`](Self::externalize) and [`AotTensor::elements`](crate::delegate::AotTensor::elements) do.
    pub fn weights_with<'t>(&'t self, data: &'t [Ptd<'_>]) -> Result<(Ptd<'t>, Vec<Skipped>)> {
        let mut blobs = Vec::new();
        let (weights, _) = self.clone().externalize(&PtdOptions::default(), |data| {
            if data.subject == Subject::NamedData && !data.key.starts_with(METADATA_PREFIX) {
                blobs.push(String::from(data.key));
                return None;
            }
            Some(data.key.into())
        })?;
        let mut skipped = Vec::new();
        let mut tensors =
            NamedTensors { blobs: NamedBlobs::new(self, data), entries: Vec::new(), names: BTreeMap::new() };
        for entry in weights.entries() {
            tensors.names.insert(entry.key().into(), None);
        }
        let files: Vec<_> = data.iter().map(|ptd| (ptd, ptd.index())).collect();
        let external = self.methods().iter().flat_map(|plan| plan.tensors());
        let external = external.filter(|(_, tensor)| tensor.is_external());
        for key in set(external.filter_map(|(_, tensor)| tensor.fully_qualified_name()).collect()) {
            let found = files.iter().find_map(|(ptd, index)| Some((*ptd, ptd.entry(index.get(key)?)?)));
            match found.map(|(ptd, entry)| ptd.tensor_view(&entry)).transpose()?.flatten() {
                Some(view) => tensors.add(NewEntry::view(String::from(key), &view)),
                None => {
                    let reason = "it is in a .ptd file: convert that file, or give it too".into();
                    skipped.push(Skipped { kind: "tensor", name: key.into(), reason });
                }
            }
        }
        let (mut named, mut payloads) = (BTreeSet::new(), Vec::new());
        for opened in self.open_payloads() {
            let (bytes, is_tensors) = match opened.payload {
                Ok(Payload::AotInductor(aot)) => {
                    aot.check_sizes(&tensors.blobs)?;
                    for tensor in &aot.tensors {
                        named.insert(String::from(tensor.key));
                        if !tensors.add_tensor(tensor)? {
                            let reason = "it is in a .ptd file: give that too".into();
                            skipped.push(Skipped { kind: "tensor", name: tensor.name.into(), reason });
                        }
                    }
                    (opened.data.size(), aot.lists_tensors)
                }
                _ => (opened.data.size(), false),
            };
            for (plan, index) in
                opened.delegates.iter().filter_map(|(method, index)| Some((self.methods().get(*method)?, index)))
            {
                if bytes > 0 && !is_tensors {
                    let (name, reason) =
                        (format!("{}.delegate{index}", shortened(plan.name())), "only its backend can read it".into());
                    payloads.push(Skipped { kind: "payload", name, reason });
                }
            }
        }
        for name in blobs.into_iter().filter(|key| !named.contains(key)) {
            skipped.push(Skipped { kind: "blob", name, reason: "it is a blob for a delegate".into() });
        }
        skipped.extend(payloads);
        let NamedTensors { entries, .. } = tensors;
        if entries.is_empty() {
            return Ok((weights, skipped));
        }
        let tensors = Ptd::build(entries, &PtdOptions::default())?;
        Ok((Ptd::merge(&[weights, tensors], &PtdOptions::default())?.0, skipped))
    }
}

/// Tensors whose data is looked up by key.
struct NamedTensors<'t> {
    blobs: NamedBlobs<'t>,
    entries: Vec<NewEntry<'t>>,
    /// The names in use, each with the index of its entry if it is among these.
    names: BTreeMap<String, Option<usize>>,
}

impl<'t> NamedTensors<'t> {
    /// Adds an entry unless its name is in use.
    fn add(&mut self, entry: NewEntry<'t>) {
        let next = self.entries.len();
        if *self.names.entry(entry.key.as_str().into()).or_insert(Some(next)) == Some(next) {
            self.entries.push(entry);
        }
    }

    /// Adds a tensor of a payload; returns `false` if its data is in none of the files. If its name is in use for other data, the tensor gets
    /// its key.
    fn add_tensor(&mut self, tensor: &AotTensor<'_>) -> Result<bool> {
        let Some(blob) = self.blobs.get(tensor.key)? else { return Ok(false) };
        let bytes = tensor.elements(blob.bytes).map_err(|error| name_it(error, tensor.name))?;
        let layout = TensorLayout {
            scalar_type: tensor.scalar_type,
            sizes: Some(tensor.sizes.clone().into()),
            dim_order: Some((0..=u8::MAX).take(tensor.sizes.len()).collect()),
        };
        let own = self.names.get(tensor.name).map(|index| index.and_then(|index| self.entries.get(index)));
        let name = match own {
            None => tensor.name,
            Some(Some(own)) if own.bytes == bytes => return Ok(true),
            Some(_) => tensor.key,
        };
        let key = Text::from(String::from(name));
        self.add(NewEntry { key, tensor_layout: Some(layout), bytes, alignment: 1 });
        Ok(true)
    }
}
