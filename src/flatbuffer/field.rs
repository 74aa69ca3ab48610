//! The Rust types that a table's fields may have. For each type: how a field is described, read, written, inspected and changed
//! without knowing its type, compared, and made an owned copy.

use super::any::{AnyField, AnyNumber, AnyNumbers, AnyTable, AnyTables, Change, Value};
use super::description::{FieldKind, NumberKind};
use super::form::FieldForm;
use super::number::Number;
use super::read::{Boxed, List, Numbers, Optional, PresentScalar, Record, Scalar, Table, TableParser, TextParser};
use super::text::Text;
use super::write::{Builder, Encode, Row};
use crate::error::{Error, Result};
use alloc::{borrow::Cow, borrow::ToOwned, boxed::Box, vec::Vec};
use nom::Parser;

/// A field of a table: a number, or an optional string, vector or table.
pub(crate) trait Field<'a>: Sized {
    /// What the schema says about it.
    const KIND: FieldKind;

    /// How it is stored inline, for each id that it takes: one, or two for a union.
    const FORMS: &'static [FieldForm];

    /// Reads it.
    type Parser: for<'s> Parser<Table<'s, 'a>, Output = Self, Error = Error> + Default;

    /// Its value if it is absent in the file.
    fn absent() -> Self;

    /// Writes what it points to, and adds what is stored inline to the table's row.
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()>;
}

/// How a `T` is stored in a table, where its type alone does not determine it: `as` in `table!`.
pub(crate) trait Wire<'a, T> {
    const KIND: FieldKind;
    const FORMS: &'static [FieldForm];
    type Parser: for<'s> Parser<Table<'s, 'a>, Output = T, Error = Error> + Default;

    fn absent() -> T;

    fn write<const N: usize>(field: &T, builder: &mut Builder, row: &mut Row<N>) -> Result<()>;
}

/// Stored as the type's own [`Field`] says.
pub(crate) struct Plain;

impl<'a, T: Field<'a>> Wire<'a, T> for Plain {
    const KIND: FieldKind = T::KIND;
    const FORMS: &'static [FieldForm] = T::FORMS;
    type Parser = T::Parser;

    fn absent() -> T {
        T::absent()
    }

    #[inline(always)]
    fn write<const N: usize>(field: &T, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        field.write(builder, row)
    }
}

/// A number whose default in the schema is not 0: `= -1` in `table!`.
pub(crate) struct DefaultOf<const DEFAULT: i64>;

impl<'a, T: Number + Field<'a>, const DEFAULT: i64> Wire<'a, T> for DefaultOf<DEFAULT> {
    const KIND: FieldKind = T::KIND;
    const FORMS: &'static [FieldForm] = T::FORMS;
    type Parser = Scalar<T, DEFAULT>;

    fn absent() -> T {
        T::from_bits(DEFAULT as u64)
    }

    #[inline(always)]
    fn write<const N: usize>(field: &T, _: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.number_unless(*field, T::from_bits(DEFAULT as u64).bits());
        Ok(())
    }
}

/// A number that is written wherever the tree has one, its default too: for a deprecated field, which no file should have.
pub(crate) struct Present;

impl<'a, T: Number + Field<'a>> Wire<'a, Option<T>> for Present {
    const KIND: FieldKind = T::KIND;
    const FORMS: &'static [FieldForm] = T::FORMS;
    type Parser = PresentScalar<T>;

    fn absent() -> Option<T> {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(field: &Option<T>, _: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.optional_number(*field);
        Ok(())
    }
}

/// A vector of bytes with the schema's `force_align`, in bytes.
pub(crate) struct ForceAlign<const ALIGNMENT: usize>;

impl<'a, const ALIGNMENT: usize> Wire<'a, Option<Cow<'a, [u8]>>> for ForceAlign<ALIGNMENT> {
    const KIND: FieldKind = FieldKind::Numbers { number: NumberKind::U8, alignment: ALIGNMENT as u32 };
    const FORMS: &'static [FieldForm] = OFFSET;
    type Parser = Optional<Numbers<u8>>;

    fn absent() -> Option<Cow<'a, [u8]>> {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(field: &Option<Cow<'a, [u8]>>, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(field.as_ref().map(|bytes| builder.numbers(bytes, ALIGNMENT)).transpose()?);
        Ok(())
    }
}

/// The same, where an exporter can replace the schema's `force_align`: `CLASS` is an index into
/// [`Style::alignments`](super::write::Style::alignments).
pub(crate) struct AlignmentClass<const CLASS: usize, const FORCE_ALIGN: usize>;

impl<'a, const CLASS: usize, const FORCE_ALIGN: usize> Wire<'a, Option<Cow<'a, [u8]>>>
    for AlignmentClass<CLASS, FORCE_ALIGN>
{
    const KIND: FieldKind = FieldKind::Numbers { number: NumberKind::U8, alignment: FORCE_ALIGN as u32 };
    const FORMS: &'static [FieldForm] = OFFSET;
    type Parser = Optional<Numbers<u8>>;

    fn absent() -> Option<Cow<'a, [u8]>> {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(field: &Option<Cow<'a, [u8]>>, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        let alignment = builder.style.alignments.get(CLASS).copied().unwrap_or(FORCE_ALIGN);
        row.offset(field.as_ref().map(|bytes| builder.numbers(bytes, alignment)).transpose()?);
        Ok(())
    }
}

/// A table in a `Box`, for one that is large and rare.
pub(crate) struct InBox;

impl<'a, T: Record<'a> + Encode> Wire<'a, Option<Box<T>>> for InBox {
    const KIND: FieldKind = FieldKind::Table(T::DESCRIPTION);
    const FORMS: &'static [FieldForm] = OFFSET;
    type Parser = Optional<Boxed<TableParser<'a, T>>>;

    fn absent() -> Option<Box<T>> {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(field: &Option<Box<T>>, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(field.as_ref().map(|table| table.encode(builder)).transpose()?);
        Ok(())
    }
}

const OFFSET: &[FieldForm] = &[FieldForm::Offset];

/// A type of number, and how it is inspected without knowing the type.
pub(crate) trait Kind: Number + bytemuck::NoUninit {
    const KIND: NumberKind;

    fn any(self) -> AnyNumber;

    fn any_list(numbers: &[Self]) -> AnyNumbers<'_>;
}

macro_rules! kinds {
    ($($type:ty: $kind:ident, $any:ident;)*) => {$(
        impl Kind for $type {
            const KIND: NumberKind = NumberKind::$kind;

            fn any(self) -> AnyNumber {
                AnyNumber::$any(self.into())
            }

            fn any_list(numbers: &[Self]) -> AnyNumbers<'_> {
                AnyNumbers::$kind(numbers)
            }
        }
    )*};
}

kinds! {
    bool: Bool, Bool;
    i8: I8, Signed;
    u8: U8, Unsigned;
    i16: I16, Signed;
    u16: U16, Unsigned;
    i32: I32, Signed;
    u32: U32, Unsigned;
    i64: I64, Signed;
    u64: U64, Unsigned;
    f32: F32, Float;
    f64: F64, Double;
}

/// A number as a field. `$base` is its type in the file; `$value` is the field as a `Value`.
macro_rules! scalar {
    ($type:ty, $base:ty, |$field:ident| $value:expr) => {
        impl<'a> $crate::flatbuffer::field::Field<'a> for $type {
            const KIND: $crate::flatbuffer::description::FieldKind =
                $crate::flatbuffer::description::FieldKind::Number(<$base as $crate::flatbuffer::field::Kind>::KIND);
            const FORMS: &'static [$crate::flatbuffer::form::FieldForm] =
                &[$crate::flatbuffer::form::FieldForm::number(<$base as $crate::flatbuffer::number::Number>::SIZE)];
            type Parser = $crate::flatbuffer::read::Scalar<$type>;

            fn absent() -> Self {
                Default::default()
            }

            #[inline(always)]
            fn write<const N: usize>(
                &self,
                _: &mut $crate::flatbuffer::write::Builder,
                row: &mut $crate::flatbuffer::write::Row<N>,
            ) -> $crate::error::Result<()> {
                row.number(*self);
                Ok(())
            }
        }

        impl $crate::flatbuffer::any::AnyField for $type {
            fn value(&self) -> $crate::flatbuffer::any::Value<'_> {
                let $field = self;
                $value
            }

            fn change(&mut self, change: $crate::flatbuffer::any::Change<'_>) -> bool {
                use $crate::flatbuffer::{any::Change, number::Number};
                match change {
                    Change::Remove => *self = Number::from_bits(0),
                    Change::Bits(bits) => *self = Number::from_bits(bits),
                    _ => return false,
                }
                true
            }

            fn table_mut(&mut self, _: usize) -> Option<&mut dyn $crate::flatbuffer::any::AnyTable> {
                None
            }
        }

        impl $crate::flatbuffer::any::AnyField for Option<$type> {
            fn value(&self) -> $crate::flatbuffer::any::Value<'_> {
                self.as_ref().map_or($crate::flatbuffer::any::Value::Absent, $crate::flatbuffer::any::AnyField::value)
            }

            fn change(&mut self, change: $crate::flatbuffer::any::Change<'_>) -> bool {
                use $crate::flatbuffer::{any::Change, number::Number};
                *self = match change {
                    Change::Remove => None,
                    Change::Insert => Some(self.unwrap_or_default()),
                    Change::Bits(bits) => Some(Number::from_bits(bits)),
                    _ => return false,
                };
                true
            }

            fn table_mut(&mut self, _: usize) -> Option<&mut dyn $crate::flatbuffer::any::AnyTable> {
                None
            }
        }

        impl $crate::flatbuffer::field::Same for $type {
            fn same(&self, other: &Self) -> bool {
                $crate::flatbuffer::number::Number::bits(*self) == $crate::flatbuffer::number::Number::bits(*other)
            }
        }

        impl $crate::flatbuffer::field::IntoOwned for $type {
            type Owned = Self;

            fn into_owned(self) -> Self {
                self
            }
        }
    };
}
pub(crate) use scalar;

macro_rules! scalars {
    ($($type:ty),*) => {$(
        scalar!($type, $type, |field| Value::Number(Kind::any(*field)));
    )*};
}

scalars!(bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl<'a> Field<'a> for Option<Text<'a>> {
    const KIND: FieldKind = FieldKind::Text;
    const FORMS: &'static [FieldForm] = OFFSET;
    type Parser = Optional<TextParser>;

    fn absent() -> Self {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|text| builder.text(text.as_bytes())).transpose()?);
        Ok(())
    }
}

impl<'a, T: Kind> Field<'a> for Option<Cow<'a, [T]>> {
    const KIND: FieldKind = FieldKind::Numbers { number: T::KIND, alignment: T::SIZE as u32 };
    const FORMS: &'static [FieldForm] = OFFSET;
    type Parser = Optional<Numbers<T>>;

    fn absent() -> Self {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|numbers| builder.numbers(numbers, T::SIZE)).transpose()?);
        Ok(())
    }
}

impl<'a, T: Record<'a> + Encode> Field<'a> for Option<Vec<T>> {
    const KIND: FieldKind = FieldKind::Tables(T::DESCRIPTION);
    const FORMS: &'static [FieldForm] = OFFSET;
    type Parser = Optional<List<TableParser<'a, T>>>;

    fn absent() -> Self {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|items| builder.list(items)).transpose()?);
        Ok(())
    }
}

impl<'a, T: Record<'a> + Encode> Field<'a> for Option<T> {
    const KIND: FieldKind = FieldKind::Table(T::DESCRIPTION);
    const FORMS: &'static [FieldForm] = OFFSET;
    type Parser = Optional<TableParser<'a, T>>;

    fn absent() -> Self {
        None
    }

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|table| table.encode(builder)).transpose()?);
        Ok(())
    }
}

impl AnyField for Option<Text<'_>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, Value::Text)
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_default();
            }
            Change::Text(bytes) => *self = Some(Text::from_bytes(bytes.to_vec())),
            Change::Length(length) => {
                let mut bytes = self.take().unwrap_or_default().as_bytes().to_vec();
                bytes.resize(length, 0);
                *self = Some(Text::from_bytes(bytes));
            }
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
        None
    }
}

impl<T: Kind> AnyField for Option<Cow<'_, [T]>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, |numbers| Value::Numbers(T::any_list(numbers)))
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_with(|| Cow::Borrowed(&[]));
            }
            Change::Item(index, bits) => {
                let item = self.as_mut().and_then(|numbers| numbers.to_mut().get_mut(index));
                return item.map(|item| *item = T::from_bits(bits)).is_some();
            }
            Change::Length(length) => {
                self.get_or_insert_with(|| Cow::Borrowed(&[])).to_mut().resize(length, T::default());
            }
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
        None
    }
}

impl<T: AnyTable> AnyTables for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Option<&dyn AnyTable> {
        (**self).get(index).map(|table| table as &dyn AnyTable)
    }
}

impl<T: AnyTable + Default> AnyField for Option<Vec<T>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, |tables| Value::Tables(tables))
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_default();
            }
            Change::Length(length) => self.get_or_insert_default().resize_with(length, T::default),
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, index: usize) -> Option<&mut dyn AnyTable> {
        self.as_mut()?.get_mut(index).map(|table| table as &mut dyn AnyTable)
    }
}

impl<T: AnyTable + Default> AnyField for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, |table| Value::Table(table))
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_default();
            }
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
        self.as_mut().map(|table| table as &mut dyn AnyTable)
    }
}

impl<T: AnyTable> AnyTable for Box<T> {
    fn description(&self) -> &'static super::description::TableDescription {
        (**self).description()
    }

    fn for_each_field<'t>(&'t self, visit: &mut dyn FnMut(&'static str, Value<'t>)) {
        (**self).for_each_field(visit)
    }

    fn field(&self, index: usize) -> Option<&dyn AnyField> {
        (**self).field(index)
    }

    fn field_mut(&mut self, index: usize) -> Option<&mut dyn AnyField> {
        (**self).field_mut(index)
    }
}

/// Bitwise equality: unlike with `==`, a NaN is the same as itself, and −0.0 is not the same as 0.0.
pub(crate) trait Same {
    fn same(&self, other: &Self) -> bool;
}

impl Same for Text<'_> {
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl<T: Kind> Same for Cow<'_, [T]> {
    fn same(&self, other: &Self) -> bool {
        // The program in a bundle is as large as its file: bytes that were not changed are not compared.
        core::ptr::eq::<[T]>(&**self, &**other)
            || bytemuck::cast_slice::<T, u8>(self) == bytemuck::cast_slice::<T, u8>(other)
    }
}

impl<T: Same> Same for Vec<T> {
    fn same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, other)| one.same(other))
    }
}

impl<T: Same> Same for Box<T> {
    fn same(&self, other: &Self) -> bool {
        (**self).same(other)
    }
}

impl<T: Same> Same for Option<T> {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(one), Some(other)) => one.same(other),
            (None, None) => true,
            _ => false,
        }
    }
}

/// Makes an owned copy of a value that borrows from the input.
pub(crate) trait IntoOwned {
    type Owned: 'static;

    fn into_owned(self) -> Self::Owned;
}

impl IntoOwned for Text<'_> {
    type Owned = Text<'static>;

    fn into_owned(self) -> Self::Owned {
        self.into_owned()
    }
}

impl<T: IntoOwned> IntoOwned for Option<T> {
    type Owned = Option<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        self.map(T::into_owned)
    }
}

impl<T: IntoOwned> IntoOwned for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        self.into_iter().map(T::into_owned).collect()
    }
}

impl<T: IntoOwned> IntoOwned for Box<T> {
    type Owned = Box<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        Box::new((*self).into_owned())
    }
}

impl<T: ?Sized + ToOwned + 'static> IntoOwned for Cow<'_, T> {
    type Owned = Cow<'static, T>;

    fn into_owned(self) -> Cow<'static, T> {
        Cow::Owned(Cow::into_owned(self))
    }
}
