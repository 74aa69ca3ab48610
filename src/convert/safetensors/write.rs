//! Writing: the same header as the official writer's, then the tensors' bytes.

use super::{DIM_ORDER, Dtype, MAX_HEADER, SafeTensor, Safetensors, dim_order_of, dim_order_text};
use crate::error::{Error, Result, counted};
use crate::write::image::Image;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{borrow::Cow, format, string::ToString, vec::Vec};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The data starts at a multiple of this many bytes.
const ALIGNMENT: usize = 8;

impl Safetensors<'_> {
    /// Sorts the tensors as the official writer does: by type, the largest elements first, then by name.
    pub fn sort(&mut self) {
        self.tensors.sort_by(|left, right| right.dtype.cmp(&left.dtype).then_with(|| left.name.cmp(&right.name)));
    }

    /// Returns the file, ready to be written.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if two names or keys are equal, an entry of the
    /// metadata would be read as a tensor's dim order, or the header is longer than readers accept, and with
    /// [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if a tensor's shape and bytes differ in size.
    pub fn image(&self) -> Result<Image<'_>> {
        let mut ranks = BTreeMap::<&str, usize>::new();
        let (mut infos, mut end) = (Vec::with_capacity(self.tensors.len()), 0u64);
        for tensor in &self.tensors {
            tensor.check()?;
            let name = tensor.name.as_ref();
            if name == "__metadata__" {
                return Err(Error::unwritable(
                    "a tensor has the name \"__metadata__\", which is reserved in safetensors",
                ));
            }
            if ranks.insert(name, tensor.shape.len()).is_some() {
                return Err(Error::unwritable(format!("two tensors have the name {name:?}")));
            }
            let start = end;
            end += tensor.bytes.len() as u64;
            infos.push((name, Info { dtype: tensor.dtype, shape: &tensor.shape, data_offsets: [start, end] }));
        }
        let metadata = self.all_metadata(&ranks)?;
        let json = serde_json::to_vec(&Header { metadata: Pairs(&metadata), tensors: &infos });
        let mut json = json.map_err(|error| Error::unwritable(error.to_string()))?;
        json.resize(json.len().next_multiple_of(ALIGNMENT), b' ');
        if json.len() as u64 > MAX_HEADER {
            let size = json.len();
            return Err(Error::unwritable(format!(
                "the header takes {size} bytes, expected at most {MAX_HEADER}: shard the file"
            )));
        }
        let mut header = Vec::with_capacity(ALIGNMENT + json.len());
        header.extend_from_slice(&(json.len() as u64).to_le_bytes());
        header.extend_from_slice(&json);
        Ok(Image::of_pieces(header, self.tensors.iter().map(|tensor| tensor.bytes.as_ref())))
    }

    /// Returns the metadata with the tensors' dim orders. `ranks` maps tensor names to ranks.
    fn all_metadata(&self, ranks: &BTreeMap<&str, usize>) -> Result<Vec<(Cow<'_, str>, Cow<'_, str>)>> {
        let (mut all, mut keys) = (Vec::new(), BTreeSet::<&str>::new());
        for (key, value) in &self.metadata {
            let rank = key.strip_prefix(DIM_ORDER).and_then(|name| ranks.get(name));
            if rank.is_some_and(|rank| dim_order_of(value, *rank).is_some()) {
                return Err(Error::unwritable(format!("the metadata {key:?} would be read as a tensor's dim order")));
            }
            all.push((Cow::Borrowed(key.as_str()), Cow::Borrowed(value.as_str())));
        }
        for tensor in &self.tensors {
            if let Some(dim_order) = &tensor.dim_order {
                all.push((format!("{DIM_ORDER}{}", tensor.name).into(), dim_order_text(dim_order).into()));
            }
        }
        let twice = all.iter().find(|(key, _)| !keys.insert(key));
        match twice {
            Some((key, _)) => Err(Error::unwritable(format!("the metadata {key:?} occurs twice"))),
            None => Ok(all),
        }
    }
}

impl SafeTensor<'_> {
    fn check(&self) -> Result<()> {
        let bits = self.shape.iter().try_fold(self.dtype.bits(), |bits, size| bits.checked_mul(*size));
        if bits == (self.bytes.len() as u64).checked_mul(8) {
            return Ok(());
        }
        let Self { name, dtype, shape, bytes, .. } = self;
        let found = counted(bytes.len(), "byte");
        Err(Error::tensor(format!("tensor {name:?} has {found}, which do not match {dtype}{shape:?}")))
    }
}

struct Header<'t> {
    metadata: Pairs<'t>,
    tensors: &'t [(&'t str, Info<'t>)],
}

#[derive(serde::Serialize)]
struct Info<'t> {
    dtype: Dtype,
    shape: &'t [u64],
    data_offsets: [u64; 2],
}

impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.metadata.0.is_empty() {
            map.serialize_entry("__metadata__", &self.metadata)?;
        }
        for (name, info) in self.tensors {
            map.serialize_entry(name, info)?;
        }
        map.end()
    }
}

/// A JSON object with the entries of a list, in order.
struct Pairs<'t>(&'t [(Cow<'t, str>, Cow<'t, str>)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
