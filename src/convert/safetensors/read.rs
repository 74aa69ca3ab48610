//! Reading. The header is checked like in the official reader, and also for duplicate names, which the official reader
//! does not detect.

use super::{DIM_ORDER, Dtype, FORMAT, MAX_HEADER, SafeTensor, Safetensors, dim_order_of};
use crate::error::{Error, ErrorKind, Result, counted};
use crate::file::segment::offset_in;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::{borrow::Cow, format, vec::Vec};
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The size of the header's length field, which comes before the header.
const LENGTH: usize = 8;

/// The most dimensions of a tensor in this crate: the items of a dim order are bytes.
const MAX_RANK: usize = 256;

impl<'a> Safetensors<'a> {
    /// Reads a file. The tensors' bytes are borrowed.
    ///
    /// Fails with [`ErrorKind::Truncated`] or [`ErrorKind::Other`], with the offset, if the header does not follow the
    /// format, a name occurs twice, or the tensors' bytes overlap, leave a gap, or do not cover all data.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else {
            let found = counted(bytes.len(), "byte");
            return Err(bad(0, format!("there are {found}, expected at least 8 for the length of the header")));
        };
        let length = u64::from_le_bytes(*length);
        if length > MAX_HEADER {
            return Err(bad(0, format!("the header's length is {length} bytes, expected at most {MAX_HEADER}")));
        }
        let Some((header, data)) = rest.split_at_checked(length as usize) else {
            let (end, available) = (LENGTH as u64 + length, bytes.len() as u64);
            return Err(Error::at(0, ErrorKind::Truncated { what: "the header", end, available }));
        };
        let text = core::str::from_utf8(header)
            .map_err(|error| bad(LENGTH + error.valid_up_to(), "the header is not UTF-8"))?;
        let file = SafetensorsFile { bytes, data };
        file.read(text)
    }
}

/// A file and its data.
struct SafetensorsFile<'a> {
    bytes: &'a [u8],
    data: &'a [u8],
}

/// A tensor, the range of its bytes in the data, and the position of that range in the header.
struct Described<'a> {
    tensor: SafeTensor<'a>,
    range: [u64; 2],
    offset: usize,
}

impl<'a> SafetensorsFile<'a> {
    fn read(&self, text: &'a str) -> Result<Safetensors<'a>> {
        let Header { metadata, tensors } = from_json(text, LENGTH)?;
        let metadata = metadata.map(|raw| from_json::<Option<Texts>>(raw.get(), self.offset(raw))).transpose()?;
        let mut metadata = metadata.flatten().unwrap_or_default().0;
        self.check_names(&tensors)?;
        let mut described =
            tensors.into_iter().map(|(name, raw)| self.describe(name, raw)).collect::<Result<Vec<_>>>()?;
        described.sort_by_key(|left| left.range);
        self.cut(&mut described)?;
        let mut tensors: Vec<SafeTensor<'a>> = described.into_iter().map(|described| described.tensor).collect();
        take_dim_orders(&mut metadata, &mut tensors);
        Ok(Safetensors { metadata, tensors })
    }

    /// Returns the offset of a part of the header in the file.
    fn offset(&self, raw: &RawValue) -> usize {
        // `raw` is a slice of these bytes.
        offset_in(self.bytes, raw.get().as_bytes()).unwrap_or_default() as usize
    }

    fn describe(&self, name: Cow<'a, str>, raw: &'a RawValue) -> Result<Described<'a>> {
        let offset = self.offset(raw);
        let Info { dtype, shape: Sizes(shape), data_offsets: range } =
            from_json(raw.get(), offset).map_err(|error: Error| about(&name, error))?;
        let bits = shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
        let bits = bits.and_then(|elements| elements.checked_mul(dtype.bits()));
        let fault = |fault: String| Err(bad(offset, format!("tensor {name:?}: {fault}")));
        let size = match bits {
            Some(bits) if bits % 8 == 0 => bits / 8,
            Some(bits) => {
                return fault(format!("{dtype}{shape:?} takes {bits} bits, which is not a number of whole bytes"));
            }
            None => return fault(format!("{dtype}{shape:?} takes more than 2^64 bits")),
        };
        let [start, end] = range;
        if end.checked_sub(start) != Some(size) {
            let takes = counted(size, "byte");
            return fault(format!("{dtype}{shape:?} takes {takes}, but its data_offsets are {start} to {end}"));
        }
        let tensor = SafeTensor { name, dtype, shape, dim_order: None, bytes: Cow::Borrowed(&[]) };
        Ok(Described { tensor, range, offset })
    }

    fn check_names(&self, tensors: &[(Cow<'_, str>, &RawValue)]) -> Result<()> {
        let mut sorted: Vec<_> = tensors.iter().map(|(name, raw)| (name, self.offset(raw))).collect();
        sorted.sort();
        let twice = sorted.windows(2).find_map(|pair| match pair {
            [(first, before), (second, offset)] if first == second => Some((second, before, offset)),
            _ => None,
        });
        match twice {
            Some((name, before, offset)) => {
                Err(bad(*offset, format!("tensor {name:?} occurs twice, first at byte {before}")))
            }
            None => Ok(()),
        }
    }

    /// Sets each tensor's bytes, which are contiguous in this order.
    fn cut(&self, tensors: &mut [Described<'a>]) -> Result<()> {
        let (mut rest, mut end) = (self.data, 0);
        let mut before = None::<&str>;
        for Described { tensor, range: [start, stop], offset } in tensors {
            let fault = |fault: String| bad(*offset, format!("tensor {:?}: {fault}", tensor.name));
            if *start != end {
                let what = if *start < end { "overlap" } else { "leave a gap after" };
                let other = before.map_or_else(|| "the start of the data".into(), |name| format!("those of {name:?}"));
                return Err(fault(format!(
                    "its bytes, at data_offsets {start} to {stop}, {what} {other}, which end at {end}"
                )));
            }
            let size = usize::try_from(*stop - *start).ok();
            let Some((own, others)) = size.and_then(|size| rest.split_at_checked(size)) else {
                let data = counted(self.data.len(), "byte");
                return Err(fault(format!("its bytes end at {stop} of the data, which has {data}")));
            };
            tensor.bytes = Cow::Borrowed(own);
            (rest, end) = (others, *stop);
            before = Some(&tensor.name);
        }
        if !rest.is_empty() {
            let after = counted(rest.len(), "byte");
            return Err(bad(self.bytes.len() - rest.len(), format!("{after} of data belong to no tensor")));
        }
        Ok(())
    }
}

/// Moves dim orders from `metadata` to the tensors.
fn take_dim_orders(metadata: &mut Vec<(String, String)>, tensors: &mut [SafeTensor<'_>]) {
    if !metadata.iter().any(|(key, _)| key.starts_with(DIM_ORDER)) {
        return;
    }
    let mut names: BTreeMap<String, &mut SafeTensor<'_>> =
        tensors.iter_mut().map(|tensor| (tensor.name.to_string(), tensor)).collect();
    metadata.retain(|(key, value)| {
        let named = key.strip_prefix(DIM_ORDER).and_then(|name| names.get_mut(name));
        // An entry for a tensor that does not exist, or has another rank, is ordinary metadata.
        match named.and_then(|tensor| Some((dim_order_of(value, tensor.shape.len())?, tensor))) {
            Some((dim_order, tensor)) => {
                tensor.dim_order = Some(dim_order);
                false
            }
            None => true,
        }
    });
}

fn bad(offset: usize, fault: impl Into<Cow<'static, str>>) -> Error {
    Error::other(FORMAT, offset, fault)
}

/// Adds the tensor's name to an error.
fn about(name: &str, error: Error) -> Error {
    match (error.kind(), error.offset()) {
        (ErrorKind::Other { fault, .. }, Some(offset)) => bad(offset as usize, format!("tensor {name:?}: {fault}")),
        _ => error,
    }
}

/// Parses JSON that starts at byte `start` of the file.
pub(super) fn from_json<'t, T: Deserialize<'t>>(text: &'t str, start: usize) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::of_json(FORMAT, text, start, &error))
}

/// The header: `__metadata__`, and each tensor's entry.
struct Header<'a> {
    metadata: Option<&'a RawValue>,
    tensors: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'de> Deserialize<'de> for Header<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> core::result::Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Header<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a tensor for each name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> core::result::Result<Self::Value, A::Error> {
                let mut header = Header { metadata: None, tensors: Vec::new() };
                while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    if name != "__metadata__" {
                        header.tensors.push((name, value));
                    } else if header.metadata.replace(value).is_some() {
                        return Err(serde::de::Error::custom("__metadata__ occurs twice"));
                    }
                }
                Ok(header)
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// A name, borrowed unless it contains escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The header's entry for a tensor.
#[derive(Deserialize)]
struct Info {
    dtype: Dtype,
    shape: Sizes,
    data_offsets: [u64; 2],
}

/// The sizes of a tensor, limited to its highest rank.
struct Sizes(Vec<u64>);

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> core::result::Result<Self, D::Error> {
        struct Items;

        impl<'de> Visitor<'de> for Items {
            type Value = Sizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of sizes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> core::result::Result<Self::Value, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = items.next_element()? {
                    if sizes.len() == MAX_RANK {
                        return Err(serde::de::Error::custom(format!("a shape of more than {MAX_RANK} dimensions")));
                    }
                    sizes.push(size);
                }
                Ok(Sizes(sizes))
            }
        }

        deserializer.deserialize_seq(Items)
    }
}

/// A JSON object of strings, in order and without duplicate keys.
#[derive(Default)]
pub(super) struct Texts(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> core::result::Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> core::result::Result<Self::Value, A::Error> {
                let mut texts: Vec<(String, String)> = Vec::new();
                let mut seen = BTreeSet::new();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    if !seen.insert(key.clone()) {
                        return Err(serde::de::Error::custom(format!("{key:?} occurs twice")));
                    }
                    texts.push((key, value));
                }
                Ok(Texts(texts))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
