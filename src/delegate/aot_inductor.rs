//! Payloads of AOTInductor, for CUDA and Metal: the keys of a library with native code and of the weights, which are named data.
//!
//! ExecuTorch 1.5 writes weights for CUDA one by one (`backends/cuda/cuda_weight_collector.py`). All numbers are little-endian, and a text is a u32
//! length with as many bytes of UTF-8:
//!
//! | bytes | content |
//! |---|---|
//! | 10 | `ETCUDAFQN3` |
//! | text | key of the library |
//! | u32 | number of tensors |
//! | text, text | of each tensor: its name, the key of its storage |
//! | u64, i32, i32, i64, u32 | bytes of the storage, scalar type, device (0: CPU, 1: CUDA), offset in elements, rank |
//! | i64 × rank, i64 × rank | sizes, strides in elements |
//!
//! Other releases, and Metal, have two lines of text: the keys of the library and of all weights in one blob.

use crate::error::{Error, ErrorKind, Result, counted};
use crate::file::named_blobs::NamedBlobs;
use crate::schema::ScalarType;
use crate::tensor::TensorShape;
use alloc::collections::BTreeSet;
use alloc::{borrow::Cow, format, vec::Vec};
use core::ops::Range;

const MAGIC: &[u8] = b"ETCUDAFQN3";
const LIBRARY: &str = "_so_blob";
const WEIGHTS: &str = "_weights_blob";

/// The most bytes of tensors or elements that share memory, in multiples of their storage: broadcast buffers are small, hostile ones are not.
const MAX_SHARED: u64 = 32;

/// A payload of AOTInductor.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AotInductor<'a> {
    /// The key of the library with the native code.
    pub library: &'a str,
    /// The key of the blob with all weights; `None` if `tensors` lists them.
    pub weights: Option<&'a str>,
    /// `true` in the form that lists weights one by one. Only ExecuTorch 1.5 reads it.
    pub lists_tensors: bool,
    /// The weights, one by one.
    pub tensors: Vec<AotTensor<'a>>,
}

/// A weight: a view of a storage under a key.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AotTensor<'a> {
    /// The model's name of the parameter or buffer.
    pub name: &'a str,
    /// The key of the storage.
    pub key: &'a str,
    /// The size of the storage, in bytes.
    pub storage_size: u64,
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The device: 0 is the CPU, 1 is CUDA.
    pub device: i32,
    /// The first element, counted in elements of the storage.
    pub offset: u64,
    /// The size of each dimension, in elements.
    pub sizes: Vec<i32>,
    /// The distance between neighbours in each dimension, in elements.
    pub strides: Vec<u64>,
    /// The dimensions in storage order, outermost first.
    #[serde(skip)]
    pub dim_order: Vec<u8>,
    /// The place of the entry, in bytes from the payload's start.
    #[serde(skip)]
    pub entry: Range<u64>,
}

impl<'a> AotInductor<'a> {
    /// Returns `true` if the bytes are a payload of AOTInductor.
    pub fn is_one(payload: &[u8]) -> bool {
        payload.starts_with(MAGIC) || lines(payload).is_some()
    }

    /// Reads a payload.
    ///
    /// Fails with [`ErrorKind::Truncated`] if it ends too early, and with [`ErrorKind::Header`] if a number in it is out of range or bytes follow
    /// the last tensor. Offsets count from the payload's start.
    pub fn parse(payload: &'a [u8]) -> Result<Self> {
        if !payload.starts_with(MAGIC) {
            if let Some((library, weights)) = lines(payload) {
                return Ok(Self { library, weights, lists_tensors: false, tensors: Vec::new() });
            }
            let found = "another payload";
            return Err(Error::at(0, ErrorKind::foreign("AOTInductor payload", found)));
        }
        let mut reader = Reader { payload, at: MAGIC.len() };
        let library = reader.text("the key of the library")?;
        let count = u32::from_le_bytes(reader.take("the number of tensors")?);
        let mut tensors = Vec::new();
        for _ in 0..count {
            tensors.push(reader.tensor()?);
        }
        if reader.at < payload.len() {
            return Err(
                reader.bad(reader.at, format!("{} after its last tensor", counted(payload.len() - reader.at, "byte")))
            );
        }
        Ok(Self { library, weights: None, lists_tensors: true, tensors })
    }

    /// Checks that all tensors together have about as many bytes as their storages, as far as these are among the blobs: many can share one.
    ///
    /// Fails with [`ErrorKind::Tensor`] if not.
    pub(crate) fn check_sizes(&self, blobs: &NamedBlobs<'_>) -> Result<()> {
        let (mut keys, mut stored, mut all) = (BTreeSet::new(), 0u64, 0u64);
        for tensor in &self.tensors {
            let Some(blob) = blobs.get(tensor.key)? else { continue };
            if keys.insert(tensor.key) {
                stored = stored.saturating_add(blob.bytes.len() as u64);
            }
            all = all.saturating_add(tensor.shape().byte_size()?);
        }
        match all / MAX_SHARED <= stored {
            true => Ok(()),
            false => Err(Error::tensor(format!(
                "the tensors of a CUDA payload share memory: separately they would take {all} bytes, but their storages have {stored}"
            ))),
        }
    }

    /// Returns the memory of the lists, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let of_dims = |tensor: &AotTensor<'_>| tensor.sizes.len() * (size_of::<i32>() + size_of::<u64>() + 1);
        let lists: usize = self.tensors.iter().map(of_dims).sum();
        (lists + self.tensors.len() * size_of::<AotTensor<'_>>()) as u64
    }
}

/// The most bytes of the key of a library. Those of exporters are a hash or the name of a method, and an ending.
const LONGEST_KEY: usize = 1 << 16;

/// Returns the keys in a payload of lines: of the library, and of the weights.
fn lines(payload: &[u8]) -> Option<(&str, Option<&str>)> {
    // Keys have no control characters, so most other payloads, which can overlap, are not read further than their first bytes.
    let first = payload.get(..LONGEST_KEY).unwrap_or(payload);
    let end = first.iter().position(u8::is_ascii_control).unwrap_or(first.len());
    if !first.get(..end)?.ends_with(LIBRARY.as_bytes()) {
        return None;
    }
    let text = core::str::from_utf8(payload).ok()?.trim_end_matches(['\0', '\n']);
    let (library, weights) = match text.split_once('\n') {
        Some((library, weights)) => (library, Some(weights)),
        None => (text, None),
    };
    let is_key = |key: &str, ending| key.ends_with(ending) && !key.contains('\n');
    (is_key(library, LIBRARY) && weights.is_none_or(|key| is_key(key, WEIGHTS))).then_some((library, weights))
}

impl AotTensor<'_> {
    /// Returns the type and sizes with the dim order of the strides. Its elements follow each other exactly if [`range`](Self::range) is known.
    pub fn shape(&self) -> TensorShape<'_> {
        TensorShape { scalar_type: self.scalar_type, sizes: &self.sizes, dim_order: &self.dim_order }
    }

    /// Returns `true` if the elements follow each other in the natural order.
    pub fn is_natural(&self) -> bool {
        self.shape().is_natural() && self.range().is_some()
    }

    /// Returns the number of bytes of the storage up to the last element; `None` if it overflows or the scalar type is unknown.
    pub fn needed_bytes(&self) -> Option<u64> {
        let width = self.scalar_type.element_size()? as u64;
        if self.sizes.contains(&0) {
            return Some(0);
        }
        let mut last = self.offset;
        for (size, stride) in self.sizes.iter().zip(&self.strides) {
            last = last.checked_add(stride.checked_mul(u64::from(size.unsigned_abs()) - 1)?)?;
        }
        last.checked_add(1)?.checked_mul(width)
    }

    /// Returns the range of its elements in the storage, in bytes; `None` unless they fill it without gaps, each at a place of its own.
    pub fn range(&self) -> Option<Range<u64>> {
        let strides = self.shape().strides().ok()?;
        let places = self.sizes.iter().zip(&self.strides).zip(strides);
        // The stride of a single row means nothing.
        let is_dense = places.into_iter().all(|((size, own), dense)| *size == 1 || i64::try_from(*own) == Ok(dense));
        let start = self.offset.checked_mul(self.scalar_type.element_size()? as u64)?;
        let end = start.checked_add(self.shape().byte_size().ok()?)?;
        (is_dense || self.sizes.contains(&0)).then_some(start..end)
    }

    /// Returns the elements in the natural order, from the bytes of its storage: borrowed if they are stored so.
    ///
    /// Fails with [`ErrorKind::Tensor`] if an element is outside the storage, or if the elements share memory and would take more than
    /// 32 times its size.
    pub fn elements<'s>(&self, storage: &'s [u8]) -> Result<Cow<'s, [u8]>> {
        let outside = || {
            let (needed, available) = (self.needed_bytes(), storage.len());
            let needed = needed.map_or_else(|| "more than 2^64".into(), |needed| format!("{needed}"));
            Error::tensor(format!("{} needs {needed} bytes of its storage, which has {available}", self.shape()))
        };
        let size = self.shape().byte_size()?;
        let needed = self.needed_bytes().filter(|needed| *needed <= storage.len() as u64).ok_or_else(outside)?;
        if let Some(range) = self.range().filter(|_| self.is_natural()) {
            let part = storage.get(range.start as usize..range.end as usize);
            return part.map(Cow::Borrowed).filter(|_| needed > 0 || size == 0).ok_or_else(outside);
        }
        if size / MAX_SHARED > storage.len() as u64 {
            return Err(Error::tensor(format!(
                "the elements of {} share memory: {size} bytes of a storage of {}",
                self.shape(),
                storage.len()
            )));
        }
        let width = self.scalar_type.element_size().unwrap_or(1);
        let mut elements = Vec::with_capacity(size as usize);
        for place in self.places().take(size as usize / width.max(1)) {
            elements.extend_from_slice(storage.get(place * width..(place + 1) * width).ok_or_else(outside)?);
        }
        Ok(Cow::Owned(elements))
    }

    /// Returns the places of the elements in the storage, in the natural order, in elements; endless for a tensor with elements.
    fn places(&self) -> impl Iterator<Item = usize> {
        let mut index = alloc::vec![0; self.sizes.len()];
        core::iter::successors(Some(self.offset as usize), move |place| {
            let mut place = *place;
            for ((at, size), stride) in index.iter_mut().zip(&self.sizes).zip(&self.strides).rev() {
                *at += 1;
                place = place.wrapping_add(*stride as usize);
                if *at < *size {
                    break;
                }
                place = place.wrapping_sub((*stride as usize).wrapping_mul(*at as usize));
                *at = 0;
            }
            Some(place)
        })
    }

    /// Returns the bytes of its storage with new elements, which are in the natural order.
    ///
    /// Fails as [`elements`](Self::elements) does, and with [`ErrorKind::Tensor`] for another number of bytes.
    #[cfg(feature = "edit")]
    pub(crate) fn with_elements(&self, storage: &[u8], new: &[u8]) -> Result<Vec<u8>> {
        if self.elements(storage)?.len() != new.len() {
            return Err(Error::tensor(format!(
                "{} takes {} bytes, not {}",
                self.shape(),
                self.shape().byte_size()?,
                new.len()
            )));
        }
        let width = self.scalar_type.element_size().unwrap_or(1).max(1);
        let mut storage = storage.to_vec();
        for (place, element) in self.places().zip(new.chunks(width)) {
            if let Some(old) = storage.get_mut(place * width..(place + 1) * width) {
                old.copy_from_slice(element);
            }
        }
        Ok(storage)
    }
}

/// A reader of a payload with tensors.
struct Reader<'a> {
    payload: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, what: &'static str, size: usize) -> Result<&'a [u8]> {
        let (end, available) = (self.at.saturating_add(size), self.payload.len());
        let bytes = self.payload.get(self.at..end).ok_or_else(|| {
            Error::at(self.at, ErrorKind::Truncated { what, end: end as u64, available: available as u64 })
        })?;
        self.at = end;
        Ok(bytes)
    }

    fn take<const SIZE: usize>(&mut self, what: &'static str) -> Result<[u8; SIZE]> {
        let bytes = self.bytes(what, SIZE)?;
        Ok(bytes.first_chunk().copied().unwrap_or([0; SIZE]))
    }

    fn text(&mut self, what: &'static str) -> Result<&'a str> {
        let at = self.at;
        let size = u32::from_le_bytes(self.take(what)?) as usize;
        let text = core::str::from_utf8(self.bytes(what, size)?);
        text.map_err(|_| self.bad(at, format!("{what} is not UTF-8")))
    }

    /// Reads numbers of 64 bits that are not negative and at most `most`.
    fn numbers(&mut self, what: &'static str, count: usize, most: i64) -> Result<Vec<u64>> {
        let at = self.at;
        let bytes = self.bytes(what, count.saturating_mul(8))?;
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        let numbers = bytes.chunks_exact(8).enumerate().map(|(index, bytes)| {
            let number = number(bytes);
            let fits = u64::try_from(number).ok().filter(|_| number <= most);
            fits.ok_or_else(|| self.bad(at + 8 * index, format!("{what} of {number}, expected 0 to {most}")))
        });
        numbers.collect()
    }

    fn tensor(&mut self) -> Result<AotTensor<'a>> {
        let start = self.at as u64;
        let (name, key) = (self.text("the name of a tensor")?, self.text("the key of a storage")?);
        let storage_size = u64::from_le_bytes(self.take("the size of a storage")?);
        let at = self.at;
        let scalar_type = i32::from_le_bytes(self.take("a scalar type")?);
        let scalar_type = i8::try_from(scalar_type).map(ScalarType);
        let scalar_type = scalar_type.map_err(|_| self.bad(at, "a scalar type over 127".into()))?;
        let device = i32::from_le_bytes(self.take("a device")?);
        let offset = self.numbers("an offset", 1, i64::MAX)?.first().copied().unwrap_or_default();
        let at = self.at;
        let rank = u32::from_le_bytes(self.take("a rank")?) as usize;
        if rank > 1 << 8 {
            return Err(self.bad(at, format!("a tensor of {rank} dimensions, expected at most 256")));
        }
        let sizes = self.numbers("a size", rank, i32::MAX.into())?;
        let strides = self.numbers("a stride", rank, i64::MAX)?;
        let sizes: Vec<i32> = sizes.into_iter().map(|size| size as i32).collect();
        let dim_order = (0..=u8::MAX).take(rank).collect();
        let entry = start..self.at as u64;
        let mut tensor =
            AotTensor { name, key, storage_size, scalar_type, device, offset, sizes, strides, dim_order, entry };
        if tensor.range().is_none() {
            let strides = &tensor.strides;
            tensor.dim_order.sort_by_key(|dim| core::cmp::Reverse(strides.get(usize::from(*dim))));
        }
        Ok(tensor)
    }

    #[cold]
    fn bad(&self, at: usize, found: alloc::string::String) -> Error {
        Error::at(at, ErrorKind::Header(format!("a CUDA payload: {found}").into()))
    }
}
