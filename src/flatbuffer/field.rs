//! The Rust types that a table's fields may have. For each type: how it is described, read, written, inspected and changed
//! without knowing its type, and made an owned copy.

mod any;
mod owned;

pub(crate) use owned::IntoOwned;

use super::any::{AnyNumber, AnyNumbers, Value};
use super::description::{FieldKind, NumberKind};
use super::form::FieldForm;
use super::number::Number;
use super::read::{Boxed, List, Numbers, Optional, OptionalScalar, Record, Scalar, Table, TableParser, TextParser};
use super::text::Text;
use super::write::{Builder, InlineFields};
use crate::error::{Error, Result};
use alloc::{borrow::Cow, boxed::Box, vec::Vec};
use nom::Parser;

/// A field of a table: a number, or an optional string, vector or table.
pub(crate) trait Field<'a>: Sized {
    /// Its kind in the schema.
    const KIND: FieldKind;

    /// Its inline form for each id that it takes: one, or two for a union.
    const FORMS: &'static [FieldForm];

    /// Returns its value in a table that does not have it.
    fn absent() -> Self;

    /// Reads it.
    type Parser: for<'s> Parser<Table<'s, 'a>, Output = Self, Error = Error> + Default;

    /// Writes what it points to, and adds what is stored inline to the table's row.
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()>;
}

/// A way to store a `T` in a table that is not the one of [`Field`]: `as` in `table!`.
pub(crate) trait Wire<'a, T> {
    const KIND: FieldKind;
    const FORMS: &'static [FieldForm];

    fn absent() -> T;

    type Parser: for<'s> Parser<Table<'s, 'a>, Output = T, Error = Error> + Default;

    fn write<const N: usize>(field: &T, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()>;
}

/// Stored as the type's own [`Field`] states.
pub(crate) struct Plain;

impl<'a, T: Field<'a>> Wire<'a, T> for Plain {
    const KIND: FieldKind = T::KIND;
    const FORMS: &'static [FieldForm] = T::FORMS;

    fn absent() -> T {
        T::absent()
    }

    type Parser = T::Parser;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn write<const N: usize>(field: &T, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
        field.write(builder, row)
    }
}

/// A number whose default in the schema is not 0: `= -1` in `table!`.
pub(crate) struct DefaultOf<const DEFAULT: i64>;

impl<'a, T: Number + Field<'a>, const DEFAULT: i64> Wire<'a, T> for DefaultOf<DEFAULT> {
    const KIND: FieldKind = T::KIND;
    const FORMS: &'static [FieldForm] = T::FORMS;

    fn absent() -> T {
        T::from_bits(DEFAULT as u64)
    }

    type Parser = Scalar<T, DEFAULT>;

    fn write<const N: usize>(field: &T, _: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
        row.optional_number((field.bits() != T::from_bits(DEFAULT as u64).bits()).then_some(*field));
        Ok(())
    }
}

/// A number that is written whenever the tree has it, even if it is the default: for a deprecated field, which files
/// should not have.
pub(crate) struct Present;

impl<'a, T: Number + Field<'a>> Wire<'a, Option<T>> for Present {
    const KIND: FieldKind = T::KIND;
    const FORMS: &'static [FieldForm] = T::FORMS;

    fn absent() -> Option<T> {
        None
    }

    type Parser = OptionalScalar<T>;

    fn write<const N: usize>(field: &Option<T>, _: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
        row.optional_number(*field);
        Ok(())
    }
}

/// A vector of bytes with the schema's `force_align`, in bytes.
pub(crate) struct ForceAlign<const ALIGNMENT: usize>;

impl<'a, const ALIGNMENT: usize> Wire<'a, Option<Cow<'a, [u8]>>> for ForceAlign<ALIGNMENT> {
    const KIND: FieldKind = FieldKind::Numbers { number: NumberKind::U8, alignment: ALIGNMENT as u32 };
    const FORMS: &'static [FieldForm] = OFFSET;

    fn absent() -> Option<Cow<'a, [u8]>> {
        None
    }

    type Parser = Optional<Numbers<u8, ALIGNMENT>>;

    fn write<const N: usize>(
        field: &Option<Cow<'a, [u8]>>,
        builder: &mut Builder,
        row: &mut InlineFields<'_, N>,
    ) -> Result<()> {
        write_bytes(field, ALIGNMENT, builder, row)
    }
}

/// A vector of bytes with the schema's `force_align`, which an exporter can replace: `CLASS` is an index into
/// [`Style::alignments`](super::write::Style::alignments).
pub(crate) struct AlignmentClass<const CLASS: usize, const FORCE_ALIGN: usize>;

impl<'a, const CLASS: usize, const FORCE_ALIGN: usize> Wire<'a, Option<Cow<'a, [u8]>>>
    for AlignmentClass<CLASS, FORCE_ALIGN>
{
    const KIND: FieldKind = FieldKind::Numbers { number: NumberKind::U8, alignment: FORCE_ALIGN as u32 };
    const FORMS: &'static [FieldForm] = OFFSET;

    fn absent() -> Option<Cow<'a, [u8]>> {
        None
    }

    type Parser = Optional<Numbers<u8, FORCE_ALIGN>>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn write<const N: usize>(
        field: &Option<Cow<'a, [u8]>>,
        builder: &mut Builder,
        row: &mut InlineFields<'_, N>,
    ) -> Result<()> {
        let alignment = builder.style.alignments.get(CLASS).copied().unwrap_or(FORCE_ALIGN);
        write_bytes(field, alignment, builder, row)
    }
}

#[cfg_attr(not(target_family = "wasm"), inline(always))]
fn write_bytes<const N: usize>(
    field: &Option<Cow<'_, [u8]>>,
    alignment: usize,
    builder: &mut Builder,
    row: &mut InlineFields<'_, N>,
) -> Result<()> {
    let position = match field {
        Some(bytes) => Some(builder.numbers::<u8>(bytes, alignment)?),
        None => None,
    };
    row.offset(position);
    Ok(())
}

/// A table in a `Box`, for one that is large and rare.
pub(crate) struct InBox;

impl<'a, T: Record<'a>> Wire<'a, Option<Box<T>>> for InBox {
    const KIND: FieldKind = FieldKind::Table(T::DESCRIPTION);
    const FORMS: &'static [FieldForm] = OFFSET;

    fn absent() -> Option<Box<T>> {
        None
    }

    type Parser = Optional<Boxed<TableParser<'a, T>>>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn write<const N: usize>(
        field: &Option<Box<T>>,
        builder: &mut Builder,
        row: &mut InlineFields<'_, N>,
    ) -> Result<()> {
        let position = match field {
            Some(table) => Some(table.encode(builder)?),
            None => None,
        };
        row.offset(position);
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

            fn absent() -> Self {
                Default::default()
            }

            type Parser = $crate::flatbuffer::read::Scalar<$type>;

            #[cfg_attr(not(target_family = "wasm"), inline(always))]
            fn write<const N: usize>(
                &self,
                _: &mut $crate::flatbuffer::write::Builder,
                row: &mut $crate::flatbuffer::write::InlineFields<'_, N>,
            ) -> $crate::error::Result<()> {
                row.number(*self);
                Ok(())
            }
        }

        impl $crate::flatbuffer::any::Sealed for $type {}

        impl $crate::flatbuffer::any::AnyField for $type {
            fn value(&self) -> $crate::flatbuffer::any::Value<'_> {
                let $field = self;
                $value
            }

            fn debug_number(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(self, f)
            }

            #[cfg(any(test, feature = "write"))]
            fn change(&mut self, change: $crate::flatbuffer::any::FieldChange<'_>) -> bool {
                use $crate::flatbuffer::{any::FieldChange, number::Number};
                match change {
                    FieldChange::Remove => *self = Number::from_bits(0),
                    FieldChange::Bits(bits) => *self = Number::from_bits(bits),
                    FieldChange::Text(name) => match Number::named(name) {
                        Some(number) => *self = number,
                        None => return false,
                    },
                    _ => return false,
                }
                true
            }

            #[cfg(feature = "json")]
            fn names(&self) -> &'static [&'static str] {
                <Self as $crate::flatbuffer::number::Number>::NAMES
            }
        }

        impl $crate::flatbuffer::any::AnyField for Option<$type> {
            fn value(&self) -> $crate::flatbuffer::any::Value<'_> {
                match self {
                    Some(number) => $crate::flatbuffer::any::AnyField::value(number),
                    None => $crate::flatbuffer::any::Value::Absent,
                }
            }

            fn debug_number(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(self, f)
            }

            #[cfg(any(test, feature = "write"))]
            fn change(&mut self, change: $crate::flatbuffer::any::FieldChange<'_>) -> bool {
                use $crate::flatbuffer::{any::FieldChange, number::Number};
                *self = match change {
                    FieldChange::Remove => None,
                    FieldChange::Insert => Some(self.unwrap_or_default()),
                    FieldChange::Bits(bits) => Some(Number::from_bits(bits)),
                    FieldChange::Text(name) => match Number::named(name) {
                        Some(number) => Some(number),
                        None => return false,
                    },
                    _ => return false,
                };
                true
            }

            #[cfg(feature = "json")]
            fn names(&self) -> &'static [&'static str] {
                <$type as $crate::flatbuffer::number::Number>::NAMES
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

    fn absent() -> Self {
        None
    }

    type Parser = Optional<TextParser>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
        let position = match self {
            Some(value) => Some(builder.text(value.as_bytes())?),
            None => None,
        };
        row.offset(position);
        Ok(())
    }
}

impl<'a, T: Kind> Field<'a> for Option<Cow<'a, [T]>> {
    const KIND: FieldKind = FieldKind::Numbers { number: T::KIND, alignment: T::SIZE as u32 };
    const FORMS: &'static [FieldForm] = OFFSET;

    fn absent() -> Self {
        None
    }

    type Parser = Optional<Numbers<T>>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
        let position = match self {
            Some(value) => Some(builder.numbers::<T>(value, T::SIZE)?),
            None => None,
        };
        row.offset(position);
        Ok(())
    }
}

impl<'a, T: Record<'a>> Field<'a> for Option<Vec<T>> {
    const KIND: FieldKind = FieldKind::Tables(T::DESCRIPTION);
    const FORMS: &'static [FieldForm] = OFFSET;

    fn absent() -> Self {
        None
    }

    type Parser = Optional<List<TableParser<'a, T>>>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
        let position = match self {
            Some(value) => Some(builder.list(value)?),
            None => None,
        };
        row.offset(position);
        Ok(())
    }
}

impl<'a, T: Record<'a>> Field<'a> for Option<T> {
    const KIND: FieldKind = FieldKind::Table(T::DESCRIPTION);
    const FORMS: &'static [FieldForm] = OFFSET;

    fn absent() -> Self {
        None
    }

    type Parser = Optional<TableParser<'a, T>>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
        let position = match self {
            Some(value) => Some(value.encode(builder)?),
            None => None,
        };
        row.offset(position);
        Ok(())
    }
}
