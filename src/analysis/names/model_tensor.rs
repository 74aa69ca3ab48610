//! A tensor of the model, as PyTorch has it, and its places in a program.

use crate::error::{Error, Result};
use alloc::{format, string::String, vec::Vec};

/// A tensor of the model, by the name that its author gave: a parameter or buffer. [`Names::tensor`](super::Names::tensor) finds it.
///
/// New data for it is in PyTorch's layout, and is permuted to that of each place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelTensor {
    /// The name, such as `layers.0.conv.weight`.
    pub name: String,
    /// The size of each dimension in PyTorch, in elements, if it is known.
    pub sizes: Option<Vec<u32>>,
    /// The places in the program. Each is a copy of the tensor.
    pub places: Vec<ModelPlace>,
    /// If the program has no copy of the tensor, only data that the exporter computed from it, the reason.
    pub computed: Option<String>,
}

/// A place of a tensor of the model in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelPlace {
    /// A value of a method.
    Value {
        /// The index of the method.
        method: usize,
        /// The index into the method's values.
        value: usize,
        /// `true` for a matrix that the program has transposed.
        transposed: bool,
    },
    /// A constant inside a payload of XNNPACK.
    Constant {
        /// The index of the method.
        method: usize,
        /// The index into the method's delegates.
        delegate: usize,
        /// The index into the payload's values.
        value: usize,
    },
}

impl ModelTensor {
    /// Fails if the program has no copy of the tensor.
    pub(crate) fn check(&self) -> Result<()> {
        let name = &self.name;
        match &self.computed {
            Some(reason) => Err(Error::unwritable(format!("{name} cannot be replaced: {reason}"))),
            None if self.places.is_empty() => Err(Error::reference(format!("{name} is not in the program"))),
            None => Ok(()),
        }
    }

    /// Returns `true` if a value is a copy of the tensor, with whether it is transposed.
    pub(crate) fn at(&self, method: usize, value: usize) -> Option<bool> {
        self.places.iter().find_map(|place| match *place {
            ModelPlace::Value { method: own, value: index, transposed } if (own, index) == (method, value) => {
                Some(transposed)
            }
            _ => None,
        })
    }
}
