//! The safetensors format: a JSON header, then the bytes of the tensors.

mod dtype;
mod index;
mod ptd;
mod read;
mod shards;
mod write;

use crate::flatbuffer::number::parsed;
pub use dtype::Dtype;
pub use index::ShardIndex;
pub use ptd::{Skipped, Unsupported};

use alloc::{borrow::Cow, string::String, vec::Vec};

/// The longest header that the official reader accepts, in bytes.
const MAX_HEADER: u64 = 100_000_000;

/// The prefix of keys in `__metadata__` that store a tensor's dim order. The tensor's name follows it.
const DIM_ORDER: &str = "executorch.dim_order.";

const FORMAT: &str = "safetensors";

/// The content of a safetensors file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Safetensors<'a> {
    /// The entries of `__metadata__`, in the file's order, except dim orders, which are in
    /// [`dim_order`](SafeTensor::dim_order).
    pub metadata: Vec<(String, String)>,
    /// The tensors, in the order of their bytes.
    pub tensors: Vec<SafeTensor<'a>>,
}

/// A tensor of a safetensors file.
#[derive(Clone, Debug, PartialEq)]
pub struct SafeTensor<'a> {
    /// The name, unique in the file.
    pub name: Cow<'a, str>,
    /// The type of the elements.
    pub dtype: Dtype,
    /// The size of each dimension, in elements.
    pub shape: Vec<u64>,
    /// The dim order before the conversion to safetensors, if it was not the natural one. `bytes` are in the natural one.
    pub dim_order: Option<Vec<u8>>,
    /// The elements, little-endian, the last dimension innermost.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Safetensors<'a> {
    /// Renames tensors: `name` maps each name to the new one, or to `None` to keep it.
    pub fn rename(&mut self, mut name: impl FnMut(&str) -> Option<String>) {
        for tensor in &mut self.tensors {
            if let Some(new) = name(&tensor.name) {
                tensor.name = Cow::Owned(new);
            }
        }
    }
}

/// Returns a dim order as text for `__metadata__`.
fn dim_order_text(dim_order: &[u8]) -> String {
    let dims: Vec<String> = dim_order.iter().map(|dim| alloc::format!("{dim}")).collect();
    dims.join(",")
}

/// Parses [`dim_order_text`]; `None` if the text is not a dim order of that many dimensions, or is the natural one.
fn dim_order_of(text: &str, rank: usize) -> Option<Vec<u8>> {
    let dims = text.split(',').map(parsed).collect::<Option<Vec<u8>>>()?;
    let mut sorted = dims.clone();
    sorted.sort();
    let natural = |dims: &[u8]| dims.iter().enumerate().all(|(index, dim)| usize::from(*dim) == index);
    (dims.len() == rank && natural(&sorted) && !natural(&dims)).then_some(dims)
}
