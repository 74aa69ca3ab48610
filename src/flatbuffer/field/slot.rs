//! Fields that are read by the description of their table.

use super::Kind;
use crate::flatbuffer::read::{FoundField, Slot, Target};
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};

/// A number.
macro_rules! slot {
    ($type:ty) => {
        impl<'a> $crate::flatbuffer::read::Slot<'a> for $type {
            fn put(&mut self, found: $crate::flatbuffer::read::FoundField<'a>) {
                if let $crate::flatbuffer::read::FoundField::Number(bits) = found {
                    *self = $crate::flatbuffer::number::Number::from_bits(bits);
                }
            }
        }

        impl<'a> $crate::flatbuffer::read::Slot<'a> for Option<$type> {
            fn put(&mut self, found: $crate::flatbuffer::read::FoundField<'a>) {
                if let $crate::flatbuffer::read::FoundField::Number(bits) = found {
                    *self = Some($crate::flatbuffer::number::Number::from_bits(bits));
                }
            }
        }
    };
}
pub(crate) use slot;

impl<'a> Slot<'a> for Option<Text<'a>> {
    fn put(&mut self, found: FoundField<'a>) {
        if let FoundField::Text(bytes) = found {
            *self = Some(Text::borrowed(bytes));
        }
    }
}

impl<'a, T: Kind> Slot<'a> for Option<Cow<'a, [T]>> {
    fn put(&mut self, found: FoundField<'a>) {
        if let FoundField::Numbers(bytes) = found {
            *self = Some(T::slice(bytes));
        }
    }
}

impl<'a, T: Target<'a> + Default> Slot<'a> for Option<Vec<T>> {
    fn put(&mut self, found: FoundField<'a>) {
        if let FoundField::Tables(count) = found {
            let mut tables = Vec::with_capacity(count);
            for _ in 0..count {
                tables.push(T::default());
            }
            *self = Some(tables);
        }
    }

    fn table(&mut self, item: usize) -> Option<&mut dyn Target<'a>> {
        match self.as_mut()?.get_mut(item) {
            Some(table) => Some(table),
            None => None,
        }
    }
}

impl<'a, T: Target<'a> + Default> Slot<'a> for Option<T> {
    fn put(&mut self, found: FoundField<'a>) {
        if let FoundField::Table = found {
            *self = Some(T::default());
        }
    }

    fn table(&mut self, _: usize) -> Option<&mut dyn Target<'a>> {
        match self {
            Some(table) => Some(table),
            None => None,
        }
    }
}
