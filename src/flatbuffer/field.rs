//! The Rust types that a table's fields may have, each with how it is read, written, and made independent of its input.

use super::number::Number;
use super::read::{AlignedBytes, Boxed, List, Numbers, Optional, Record, Table, TableParser, Text};
use super::write::{Builder, Encode, Row, Style};
use crate::error::{Error, Result};
use alloc::{borrow::Cow, boxed::Box, vec::Vec};
use nom::Parser;

/// A field of a table: a number, or an optional string, vector or table.
pub(crate) trait Field<'a>: Sized {
    /// The inline sizes of the ids that it takes: one, or two for a union.
    const SIZES: &'static [u8];

    /// Reads it.
    type Parser: for<'s> Parser<Table<'s, 'a>, Output = Self, Error = Error> + Default;

    /// Writes what it leads to, and adds what stands inline to the table's row.
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()>;
}

/// A way for a `T` to lie in a table.
pub(crate) trait Wire<'a, T> {
    const SIZES: &'static [u8];
    type Parser: for<'s> Parser<Table<'s, 'a>, Output = T, Error = Error> + Default;

    fn write<const N: usize>(field: &T, builder: &mut Builder, row: &mut Row<N>) -> Result<()>;
}

/// The way of the type's own [`Field`].
pub(crate) struct Plain;

impl<'a, T: Field<'a>> Wire<'a, T> for Plain {
    const SIZES: &'static [u8] = T::SIZES;
    type Parser = T::Parser;

    #[inline(always)]
    fn write<const N: usize>(field: &T, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        field.write(builder, row)
    }
}

/// A vector of bytes with the schema's `force_align` of 16, which an exporter may have replaced.
pub(crate) struct Aligned<K>(K);

/// Constants: `constant_tensor_alignment` of the exporter.
pub(crate) struct Constant;

/// Delegate payloads: `delegate_alignment` of the exporter.
pub(crate) struct Delegate;

/// What is aligned, and to what.
pub(crate) trait Alignment {
    fn of(style: &Style) -> usize;
}

impl Alignment for Constant {
    fn of(style: &Style) -> usize {
        style.constant_alignment
    }
}

impl Alignment for Delegate {
    fn of(style: &Style) -> usize {
        style.delegate_alignment
    }
}

impl<'a, K: Alignment> Wire<'a, Option<Cow<'a, [u8]>>> for Aligned<K> {
    const SIZES: &'static [u8] = OFFSET;
    type Parser = Optional<AlignedBytes<16>>;

    #[inline(always)]
    fn write<const N: usize>(field: &Option<Cow<'a, [u8]>>, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        let alignment = K::of(&builder.style);
        row.offset(field.as_ref().map(|bytes| builder.numbers(bytes, alignment)).transpose()?);
        Ok(())
    }
}

/// A table in a box of its own, for what is large and rare.
pub(crate) struct InBox;

impl<'a, T: Record<'a> + Encode> Wire<'a, Option<Box<T>>> for InBox {
    const SIZES: &'static [u8] = OFFSET;
    type Parser = Optional<Boxed<TableParser<'a, T>>>;

    #[inline(always)]
    fn write<const N: usize>(field: &Option<Box<T>>, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(field.as_ref().map(|table| table.encode(builder)).transpose()?);
        Ok(())
    }
}

/// What borrows from the input, made independent of it.
pub(crate) trait IntoOwned {
    type Owned: 'static;

    fn into_owned(self) -> Self::Owned;
}

const OFFSET: &[u8] = &[4];

macro_rules! scalar {
    ($($type:ty),*) => {$(
        impl<'a> $crate::flatbuffer::field::Field<'a> for $type {
            const SIZES: &'static [u8] = &[<$type as $crate::flatbuffer::number::Number>::SIZE as u8];
            type Parser = $crate::flatbuffer::read::Scalar<$type>;

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

        impl $crate::flatbuffer::field::IntoOwned for $type {
            type Owned = Self;

            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}
pub(crate) use scalar;

scalar!(bool, i8, u8, i32, u32, i64, u64, f64);

impl<'a> Field<'a> for Option<Cow<'a, str>> {
    const SIZES: &'static [u8] = OFFSET;
    type Parser = Optional<Text>;

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|text| builder.text(text)).transpose()?);
        Ok(())
    }
}

impl<'a, T: Number> Field<'a> for Option<Cow<'a, [T]>> {
    const SIZES: &'static [u8] = OFFSET;
    type Parser = Optional<Numbers<T>>;

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|numbers| builder.numbers(numbers, T::SIZE)).transpose()?);
        Ok(())
    }
}

impl<'a, T: Record<'a> + Encode> Field<'a> for Option<Vec<T>> {
    const SIZES: &'static [u8] = OFFSET;
    type Parser = Optional<List<TableParser<'a, T>>>;

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|items| builder.list(items)).transpose()?);
        Ok(())
    }
}

impl<'a, T: Record<'a> + Encode> Field<'a> for Option<T> {
    const SIZES: &'static [u8] = OFFSET;
    type Parser = Optional<TableParser<'a, T>>;

    #[inline(always)]
    fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
        row.offset(self.as_ref().map(|table| table.encode(builder)).transpose()?);
        Ok(())
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

impl<T: ?Sized + alloc::borrow::ToOwned + 'static> IntoOwned for Cow<'_, T> {
    type Owned = Cow<'static, T>;

    fn into_owned(self) -> Cow<'static, T> {
        Cow::Owned(Cow::into_owned(self))
    }
}
