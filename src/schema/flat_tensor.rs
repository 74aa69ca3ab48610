//! The `.ptd` schemas (`flat_tensor.fbs`), file identifier `FT01`.
//!
//! Three schemas have used this identifier. They differ in the number of fields of the root table: four in ExecuTorch 0.5, five
//! in 0.6, three since 0.7.

mod root;

#[cfg(feature = "json")]
pub(crate) use root::DIM_SIZES;
pub(crate) use root::{FlatTensorParser, Interleaved};

use super::{DataSegment, ScalarType};
use crate::flatbuffer::field::IntoOwned;
use crate::flatbuffer::macros::table;
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};

/// The root: blobs with keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatTensor<'a> {
    /// 0 in every file seen.
    pub version: u32,
    /// The segments after the metadata.
    pub segments: Option<Vec<DataSegment>>,
    /// The blobs and tensors with keys.
    pub named_data: Option<Vec<NamedData<'a>>>,
    /// The fields that only the schemas of ExecuTorch 0.5 and 0.6 have, or `None` under the current schema.
    pub legacy: Option<Legacy<'a>>,
}

impl FlatTensor<'_> {
    /// Returns the items of `segments`, or an empty slice if it is absent.
    pub fn segments(&self) -> &[DataSegment] {
        self.segments.as_deref().unwrap_or_default()
    }

    /// Returns the items of `named_data`, or an empty slice if it is absent.
    pub fn named_data(&self) -> &[NamedData<'_>] {
        self.named_data.as_deref().unwrap_or_default()
    }

    /// Converts it into an owned copy.
    pub fn into_owned(self) -> FlatTensor<'static> {
        let legacy = self.legacy.map(|legacy| Legacy {
            schema: legacy.schema,
            tensor_alignment: legacy.tensor_alignment,
            tensors: legacy.tensors.into_owned(),
        });
        FlatTensor { version: self.version, segments: self.segments, named_data: self.named_data.into_owned(), legacy }
    }
}

/// The tensors of a file of ExecuTorch 0.5 or 0.6.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy<'a> {
    /// The schema of the file.
    pub schema: LegacySchema,
    /// The alignment of tensors, in bytes.
    pub tensor_alignment: u32,
    /// The tensors.
    pub tensors: Option<Vec<TensorMetadata<'a>>>,
}

/// One of the two early `.ptd` schemas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacySchema {
    /// ExecuTorch 0.5: no `named_data`; a tensor's sizes are called `dim_sizes`.
    V0_5,
    /// ExecuTorch 0.6: with `named_data`.
    #[default]
    V0_6,
}

table! {
    /// A blob or tensor with a key.
    #[derive(Eq)]
    pub struct NamedData<'a> {
        /// The key.
        pub key: Option<Text<'a>>,
        /// Index into `segments`.
        pub segment_index: u32,
        /// The type and shape, if the bytes are a tensor.
        pub tensor_layout: Option<TensorLayout<'a>>,
    }
}

table! {
    /// The type and shape of a tensor.
    #[derive(Eq)]
    pub struct TensorLayout<'a> {
        /// The type of the elements.
        pub scalar_type: ScalarType,
        /// The size of each dimension, in elements.
        pub sizes: Option<Cow<'a, [i32]>>,
        /// The dimensions, outermost first: a permutation of 0..rank.
        pub dim_order: Option<Cow<'a, [u8]>>,
    }
}

table! {
    /// A tensor of the early schemas.
    #[derive(Eq)]
    pub struct TensorMetadata<'a> {
        /// The key.
        pub fully_qualified_name: Option<Text<'a>>,
        /// The type of the elements.
        pub scalar_type: ScalarType,
        /// The size of each dimension, in elements.
        pub sizes: Option<Cow<'a, [i32]>>,
        /// The dimensions, outermost first.
        pub dim_order: Option<Cow<'a, [u8]>>,
        /// Index into `segments`.
        pub segment_index: u32,
        /// The offset in the segment, in bytes.
        pub offset: u64,
    }
}
