//! Equality of what would be written.

use super::Kind;
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, boxed::Box, vec::Vec};

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
        if self.len() != other.len() {
            return false;
        }
        for (index, one) in self.iter().enumerate() {
            if !other.get(index).is_some_and(|other| one.same(other)) {
                return false;
            }
        }
        true
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
