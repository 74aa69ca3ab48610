//! The `.ptd` schemas (`flat_tensor.fbs`), file identifier `FT01`.
//!
//! Three schemas have carried that identifier. They are told apart by the root table's fields: the first two, of
//! ExecuTorch 0.5 and 0.6, have four and five, today's has three.

use super::macros::table;
use super::{DataSegment, ScalarType};
use crate::error::{Error, Result};
use crate::flatbuffer::field::{Field, IntoOwned};
use crate::flatbuffer::read::{Place, TableParser, UnknownTable};
use crate::flatbuffer::write::{Builder, Encode, Position, Row, TableOrder};
use alloc::{borrow::Cow, vec::Vec};
use nom::{Mode, OutputMode, PResult, Parser};

/// The root: blobs with keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatTensor<'a> {
    /// 0 in every file seen.
    pub version: u32,
    /// The segments behind the metadata.
    pub segments: Option<Vec<DataSegment>>,
    /// The keys.
    pub named_data: Option<Vec<NamedData<'a>>>,
    /// What only the schemas of ExecuTorch 0.5 and 0.6 have. `None`: the file has today's schema.
    pub legacy: Option<Legacy<'a>>,
}

/// Tensors as ExecuTorch 0.5 and 0.6 stored them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy<'a> {
    /// Which of the two schemas.
    pub schema: LegacySchema,
    /// Bytes.
    pub tensor_alignment: u32,
    /// The tensors.
    pub tensors: Option<Vec<TensorMetadata<'a>>>,
}

/// One of the two early `.ptd` schemas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacySchema {
    /// No `named_data`; a tensor's sizes are called `dim_sizes`.
    V0_5,
    /// With `named_data`.
    #[default]
    V0_6,
}

table! {
    /// A blob or tensor with a key.
    #[derive(Eq)]
    pub struct NamedData<'a> {
        /// Its name.
        pub key: Option<Cow<'a, str>>,
        /// Index into `segments`.
        pub segment_index: u32,
        /// What the bytes are, if they are a tensor.
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
        /// Its key.
        pub fully_qualified_name: Option<Cow<'a, str>>,
        /// The type of the elements.
        pub scalar_type: ScalarType,
        /// The size of each dimension, in elements.
        pub sizes: Option<Cow<'a, [i32]>>,
        /// The dimensions, outermost first.
        pub dim_order: Option<Cow<'a, [u8]>>,
        /// Index into `segments`.
        pub segment_index: u32,
        /// Bytes from the segment's start.
        pub offset: u64,
    }
}

/// The root table under each schema, as it lies in the file.
mod root {
    use super::*;

    table! {
        /// ExecuTorch 0.7 and later.
        pub struct V0_7<'a> {
            pub version: u32,
            pub segments: Option<Vec<DataSegment>>,
            pub named_data: Option<Vec<NamedData<'a>>>,
        }
    }

    table! {
        /// ExecuTorch 0.6. A file of 0.5 is one without `named_data`.
        pub struct V0_6<'a> {
            pub version: u32,
            pub tensor_alignment: u32,
            pub tensors: Option<Vec<TensorMetadata<'a>>>,
            pub segments: Option<Vec<DataSegment>>,
            pub named_data: Option<Vec<NamedData<'a>>>,
        }
    }
}

/// The root table under whichever schema it has.
#[derive(Default)]
pub(crate) struct FlatTensorParser<'a> {
    shape: UnknownTable,
    v0_6: TableParser<'a, root::V0_6<'a>>,
    v0_7: TableParser<'a, root::V0_7<'a>>,
}

impl<'s, 'a> Parser<Place<'s, 'a>> for FlatTensorParser<'a> {
    type Output = FlatTensor<'a>;
    type Error = Error;

    fn process<OM: OutputMode>(&mut self, place: Place<'s, 'a>) -> PResult<OM, Place<'s, 'a>, FlatTensor<'a>, Error> {
        // Fields 3 and 4 are the segments and named data of the early schemas; today's ends before them.
        if self.shape.has_field(place, 3)? || self.shape.has_field(place, 4)? {
            let (place, root) = self.v0_6.process::<OM>(place)?;
            return Ok((place, OM::Output::map(root, FlatTensor::from_v0_6)));
        }
        let (place, root) = self.v0_7.process::<OM>(place)?;
        Ok((place, OM::Output::map(root, FlatTensor::from_v0_7)))
    }
}

impl<'a> FlatTensor<'a> {
    fn from_v0_7(root: root::V0_7<'a>) -> Self {
        let root::V0_7 { version, segments, named_data } = root;
        Self { version, segments, named_data, legacy: None }
    }

    fn from_v0_6(root: root::V0_6<'a>) -> Self {
        let root::V0_6 { version, tensor_alignment, tensors, segments, named_data } = root;
        let schema = if named_data.is_some() { LegacySchema::V0_6 } else { LegacySchema::V0_5 };
        Self { version, segments, named_data, legacy: Some(Legacy { schema, tensor_alignment, tensors }) }
    }

    /// The same, independent of the input.
    pub fn into_owned(self) -> FlatTensor<'static> {
        let legacy = self.legacy.map(|legacy| Legacy {
            schema: legacy.schema,
            tensor_alignment: legacy.tensor_alignment,
            tensors: legacy.tensors.into_owned(),
        });
        FlatTensor { version: self.version, segments: self.segments, named_data: self.named_data.into_owned(), legacy }
    }
}

impl Encode for FlatTensor<'_> {
    fn encode(&self, builder: &mut Builder) -> Result<Position> {
        let mut row = Row::<5>::new();
        self.version.write(builder, &mut row)?;
        if let Some(legacy) = &self.legacy {
            if (legacy.schema == LegacySchema::V0_6) != self.named_data.is_some() {
                return Err(Error::unwritable(
                    "named_data is what tells the schema of ExecuTorch 0.6 from that of 0.5",
                ));
            }
            if self.segments.is_none() && self.named_data.is_none() {
                return Err(Error::unwritable(
                    "without segments, nothing tells the schema of ExecuTorch 0.5 from today's",
                ));
            }
            legacy.tensor_alignment.write(builder, &mut row)?;
            legacy.tensors.write(builder, &mut row).map_err(|error| error.in_field("tensors"))?;
        }
        if builder.style.order == TableOrder::Interleaved {
            self.interleaved(builder, &mut row)?;
        } else {
            self.segments.write(builder, &mut row).map_err(|error| error.in_field("segments"))?;
            self.named_data.write(builder, &mut row).map_err(|error| error.in_field("named_data"))?;
        }
        builder.table(&row)
    }
}

impl FlatTensor<'_> {
    /// Segments and keys as C++ `save_ptd` puts them down: each key followed by the segment of the same index.
    fn interleaved<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        let (segments, keys) = (self.segments.as_deref(), self.named_data.as_deref());
        let (mut segment_positions, mut key_positions) = (Vec::new(), Vec::new());
        let (segments_len, keys_len) = (segments.map_or(0, <[_]>::len), keys.map_or(0, <[_]>::len));
        for index in 0..segments_len.max(keys_len) {
            if let Some(named) = keys.and_then(|keys| keys.get(index)) {
                key_positions.push(named.dim_order_first(builder)?);
            }
            if let Some(segment) = segments.and_then(|segments| segments.get(index)) {
                segment_positions.push(segment.encode(builder)?);
            }
        }
        let keys = keys.map(|_| builder.offsets(&key_positions)).transpose()?;
        row.offset(segments.map(|_| builder.offsets(&segment_positions)).transpose()?);
        row.offset(keys);
        Ok(())
    }
}

impl NamedData<'_> {
    /// As C++ `save_ptd` puts it down.
    fn dim_order_first(&self, builder: &mut Builder) -> Result<Position> {
        let mut row = Row::<3>::new();
        self.key.write(builder, &mut row)?;
        self.segment_index.write(builder, &mut row)?;
        let layout = self.tensor_layout.as_ref().map(|layout| {
            let (mut last, mut row) = (Row::<1>::new(), Row::<3>::new());
            layout.dim_order.write(builder, &mut last)?;
            layout.scalar_type.write(builder, &mut row)?;
            layout.sizes.write(builder, &mut row)?;
            row.append(&last);
            builder.table(&row)
        });
        row.offset(layout.transpose()?);
        builder.table(&row)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for FlatTensor<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        use super::serialize::Entry;
        use serde::ser::SerializeMap;

        let mut map = serializer.serialize_map(None)?;
        self.version.entry("version", &mut map)?;
        if let Some(legacy) = &self.legacy {
            legacy.tensor_alignment.entry("tensor_alignment", &mut map)?;
            match (&legacy.tensors, legacy.schema) {
                (Some(tensors), LegacySchema::V0_5) => {
                    map.serialize_entry("tensors", &tensors.iter().map(DimSizes).collect::<Vec<_>>())?;
                }
                (tensors, _) => tensors.entry("tensors", &mut map)?,
            }
        }
        self.segments.entry("segments", &mut map)?;
        self.named_data.entry("named_data", &mut map)?;
        map.end()
    }
}

/// A tensor under the schema of ExecuTorch 0.5, which calls its sizes `dim_sizes`.
#[cfg(feature = "serde")]
struct DimSizes<'t>(&'t TensorMetadata<'t>);

#[cfg(feature = "serde")]
impl serde::Serialize for DimSizes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        use super::serialize::Entry;
        use serde::ser::SerializeMap;

        let tensor = self.0;
        let mut map = serializer.serialize_map(None)?;
        tensor.fully_qualified_name.entry("fully_qualified_name", &mut map)?;
        tensor.scalar_type.entry("scalar_type", &mut map)?;
        tensor.sizes.entry("dim_sizes", &mut map)?;
        tensor.dim_order.entry("dim_order", &mut map)?;
        tensor.segment_index.entry("segment_index", &mut map)?;
        tensor.offset.entry("offset", &mut map)?;
        map.end()
    }
}
