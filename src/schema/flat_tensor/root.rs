//! The root table, whose fields differ between the three schemas: reading, writing and naming them.

#[cfg(feature = "serde")]
use super::TensorMetadata;
use super::{FlatTensor, Legacy, LegacySchema, NamedData, TensorLayout};
use crate::error::{Error, Result};
use crate::flatbuffer::any::{AnyField, AnyTable, Sealed, Value, fields};
use crate::flatbuffer::description::TableDescription;
use crate::flatbuffer::field::Field;
use crate::flatbuffer::form::TableLayout;
use crate::flatbuffer::read::{BufferPlace, Record, TableParser, fatal, has_field};
#[cfg(feature = "serde")]
use crate::flatbuffer::serialize::{At, entry};
use crate::flatbuffer::write::{Builder, Encode, InlineFields, Position};
use alloc::vec::Vec;
use nom::{Mode, OutputMode, PResult, Parser};

/// The root table under each schema, as it is in files.
#[allow(dead_code)]
mod tables {
    use super::super::{DataSegment, NamedData, TensorMetadata};
    use crate::flatbuffer::macros::table;
    use alloc::vec::Vec;

    table! {
        /// ExecuTorch 0.7 and later.
        pub struct V0_7<'a> {
            pub version: u32,
            pub segments: Option<Vec<DataSegment>>,
            pub named_data: Option<Vec<NamedData<'a>>>,
        }
    }

    table! {
        /// ExecuTorch 0.6. In files of 0.5, `named_data` is absent.
        pub struct V0_6<'a> {
            pub version: u32,
            pub tensor_alignment: u32,
            pub tensors: Option<Vec<TensorMetadata<'a>>>,
            pub segments: Option<Vec<DataSegment>>,
            pub named_data: Option<Vec<NamedData<'a>>>,
        }
    }
}

/// The root table under any of the schemas.
#[derive(Default)]
pub(crate) struct FlatTensorParser<'a> {
    v0_6: TableParser<'a, tables::V0_6<'a>>,
    v0_7: TableParser<'a, tables::V0_7<'a>>,
}

impl<'s, 'a> Parser<BufferPlace<'s, 'a>> for FlatTensorParser<'a> {
    type Output = FlatTensor<'a>;
    type Error = Error;

    fn process<OM: OutputMode>(
        &mut self,
        place: BufferPlace<'s, 'a>,
    ) -> PResult<OM, BufferPlace<'s, 'a>, FlatTensor<'a>, Error> {
        // Fields 3 and 4 are the segments and named data of the early schemas; the current schema ends before them.
        if has_field(place, 3).map_err(fatal)? || has_field(place, 4).map_err(fatal)? {
            let (place, root) = self.v0_6.process::<OM>(place)?;
            return Ok((place, OM::Output::map(root, FlatTensor::from_v0_6)));
        }
        let (place, root) = self.v0_7.process::<OM>(place)?;
        Ok((place, OM::Output::map(root, FlatTensor::from_v0_7)))
    }
}

impl<'a> FlatTensor<'a> {
    fn from_v0_7(root: tables::V0_7<'a>) -> Self {
        let tables::V0_7 { version, segments, named_data } = root;
        Self { version, segments, named_data, legacy: None }
    }

    fn from_v0_6(root: tables::V0_6<'a>) -> Self {
        let tables::V0_6 { version, tensor_alignment, tensors, segments, named_data } = root;
        let schema = if named_data.is_some() { LegacySchema::V0_6 } else { LegacySchema::V0_5 };
        Self { version, segments, named_data, legacy: Some(Legacy { schema, tensor_alignment, tensors }) }
    }
}

impl FlatTensor<'_> {
    /// Returns the description of the root table.
    pub(crate) fn root(&self) -> &'static TableDescription {
        match self.legacy {
            None => tables::V0_7::DESCRIPTION,
            Some(_) => tables::V0_6::DESCRIPTION,
        }
    }

    /// Writes the root table.
    fn root_table(&self, builder: &mut Builder, row: &InlineFields<'_, 5>) -> Result<Position> {
        // The current schema has fewer fields.
        builder.table(TableLayout::of(self.root().forms), row)
    }

    /// Writes the fields before the segments.
    fn write_first(&self, builder: &mut Builder, row: &mut InlineFields<'_, 5>) -> Result<()> {
        self.version.write(builder, row)?;
        let Some(legacy) = &self.legacy else {
            return Ok(());
        };
        if (legacy.schema == LegacySchema::V0_6) != self.named_data.is_some() {
            return Err(Error::unwritable(
                "named_data must be present in the schema of ExecuTorch 0.6, and absent in that of 0.5",
            ));
        }
        if self.segments.is_none() && self.named_data.is_none() {
            let reason = "segments must be present in the schema of ExecuTorch 0.5, otherwise readers mistake it for the current one";
            return Err(Error::unwritable(reason));
        }
        legacy.tensor_alignment.write(builder, row)?;
        legacy.tensors.write(builder, row).map_err(|error| error.in_field("tensors"))
    }
}

impl Encode for FlatTensor<'_> {
    fn encode(&self, builder: &mut Builder) -> Result<Position> {
        let mut bits = [0; 5];
        let mut row = InlineFields::new(&mut bits);
        self.write_first(builder, &mut row)?;
        self.segments.write(builder, &mut row).map_err(|error| error.in_field("segments"))?;
        self.named_data.write(builder, &mut row).map_err(|error| error.in_field("named_data"))?;
        self.root_table(builder, &row)
    }
}

/// The same tables in the order of C++ `save_ptd`: each key is followed by the segment of the same index, and a dim order comes
/// before the sizes.
pub(crate) struct Interleaved<'t, 'a>(pub(crate) &'t FlatTensor<'a>);

impl Encode for Interleaved<'_, '_> {
    fn encode(&self, builder: &mut Builder) -> Result<Position> {
        let flat_tensor = self.0;
        let mut bits = [0; 5];
        let mut row = InlineFields::new(&mut bits);
        flat_tensor.write_first(builder, &mut row)?;
        let (segments, keys) = (flat_tensor.segments.as_deref(), flat_tensor.named_data.as_deref());
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
        flat_tensor.root_table(builder, &row)
    }
}

impl NamedData<'_> {
    /// Writes the layout as C++ `save_ptd` does.
    fn dim_order_first(&self, builder: &mut Builder) -> Result<Position> {
        let mut bits = [0; 3];
        let mut row = InlineFields::new(&mut bits);
        self.key.write(builder, &mut row)?;
        self.segment_index.write(builder, &mut row)?;
        let layout = self.tensor_layout.as_ref().map(|layout| {
            let (mut last_bits, mut bits) = ([0; 1], [0; 3]);
            let (mut last, mut row) = (InlineFields::new(&mut last_bits), InlineFields::new(&mut bits));
            layout.dim_order.write(builder, &mut last)?;
            layout.scalar_type.write(builder, &mut row)?;
            layout.sizes.write(builder, &mut row)?;
            row.append(&last);
            builder.table(const { TableLayout::of(TensorLayout::FORMS) }, &row)
        });
        row.offset(layout.transpose()?);
        builder.table(const { TableLayout::of(NamedData::FORMS) }, &row)
    }
}

impl Sealed for FlatTensor<'_> {}

/// Exposes the fields of the root table in the file's own schema.
impl AnyTable for FlatTensor<'_> {
    fn description(&self) -> &'static TableDescription {
        self.root()
    }

    fn for_each_field<'t>(&'t self, visit: &mut dyn FnMut(&'static str, Value<'t>)) {
        fields(self, visit)
    }

    fn field(&self, index: usize) -> Option<&dyn AnyField> {
        let legacy = self.legacy.as_ref();
        let today: [&dyn AnyField; 3] = [&self.version, &self.segments, &self.named_data];
        match (index, legacy) {
            (1, Some(legacy)) => Some(&legacy.tensor_alignment),
            (2, Some(legacy)) => Some(&legacy.tensors),
            (3.., Some(_)) => today.get(index - 2).copied(),
            _ => today.get(index).copied(),
        }
    }

    #[cfg(any(test, feature = "write"))]
    fn field_mut(&mut self, index: usize) -> Option<&mut dyn AnyField> {
        let today: [&mut dyn AnyField; 3] = [&mut self.version, &mut self.segments, &mut self.named_data];
        match (index, self.legacy.as_mut()) {
            (1, Some(legacy)) => Some(&mut legacy.tensor_alignment),
            (2, Some(legacy)) => Some(&mut legacy.tensors),
            (3.., Some(_)) => today.into_iter().nth(index - 2),
            _ => today.into_iter().nth(index),
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for FlatTensor<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        self.serialize_at(At::INLINE, serializer)
    }
}

#[cfg(feature = "serde")]
impl FlatTensor<'_> {
    /// Serializes it, with the segments' bytes in files if `at` says so.
    pub(crate) fn serialize_at<S: serde::Serializer>(
        &self,
        at: At<'_>,
        serializer: S,
    ) -> core::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;

        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "version", self.version.value(), at)?;
        if let Some(legacy) = &self.legacy {
            entry(&mut map, "tensor_alignment", legacy.tensor_alignment.value(), at)?;
            match (&legacy.tensors, legacy.schema) {
                (Some(tensors), LegacySchema::V0_5) => {
                    map.serialize_entry("tensors", &tensors.iter().map(DimSizes).collect::<Vec<_>>())?;
                }
                (tensors, _) => entry(&mut map, "tensors", tensors.value(), at)?,
            }
        }
        entry(&mut map, "segments", self.segments.value(), at)?;
        entry(&mut map, "named_data", self.named_data.value(), at)?;
        map.end()
    }
}

crate::json_schema::json_schema!(FlatTensor<'t>, |_| crate::flatbuffer::serialize::schema_of_table("FlatTensor"));

/// The name of a tensor's sizes under the schema of ExecuTorch 0.5.
#[cfg(feature = "serde")]
pub(crate) const DIM_SIZES: &str = "dim_sizes";

/// A tensor under the schema of ExecuTorch 0.5, where the sizes are called `dim_sizes`.
#[cfg(feature = "serde")]
struct DimSizes<'t>(&'t TensorMetadata<'t>);

#[cfg(feature = "serde")]
impl serde::Serialize for DimSizes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;

        let tensor = self.0;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "fully_qualified_name", tensor.fully_qualified_name.value(), At::INLINE)?;
        entry(&mut map, "scalar_type", tensor.scalar_type.value(), At::INLINE)?;
        entry(&mut map, DIM_SIZES, tensor.sizes.value(), At::INLINE)?;
        entry(&mut map, "dim_order", tensor.dim_order.value(), At::INLINE)?;
        entry(&mut map, "segment_index", tensor.segment_index.value(), At::INLINE)?;
        entry(&mut map, "offset", tensor.offset.value(), At::INLINE)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::DataSegment;
    use super::*;
    use alloc::vec;

    #[test]
    fn fields_are_read_and_changed_alike_in_every_schema() {
        let data = || vec![NamedData::default()];
        let segments = || vec![DataSegment::default(); 2];
        let today = FlatTensor { version: 7, segments: Some(segments()), named_data: Some(data()), legacy: None };
        let legacy =
            Legacy { schema: LegacySchema::V0_6, tensor_alignment: 16, tensors: Some(vec![Default::default(); 3]) };
        let old = FlatTensor { legacy: Some(legacy), ..today.clone() };
        for mut flat_tensor in [today, old] {
            let count = flat_tensor.description().fields.len();
            for index in 0..count {
                let read = flat_tensor.field(index).map(|field| core::ptr::from_ref(field).cast::<()>());
                let changed =
                    flat_tensor.field_mut(index).map(|field| core::ptr::from_mut(field).cast::<()>().cast_const());
                assert!(read.is_some());
                assert_eq!(read, changed, "field {index} of {count}");
            }
        }
    }
}
