//! The peer's walk, over our tree: the same checksum.

use crate::peer::{Walk, walk_list};
use executorch_format::schema::program::{self, *};
use executorch_format::schema::{DataSegment, FlatTensor, Program, ScalarType, flat_tensor};
use std::borrow::Cow;

#[macro_use]
#[path = "../../tests/suite/every_type.rs"]
mod every_type;

impl<T: Walk> Walk for &T {
    #[inline]
    fn walk(&self) -> u64 {
        (**self).walk()
    }
}

impl<T: Walk> Walk for Box<T> {
    #[inline]
    fn walk(&self) -> u64 {
        (**self).walk()
    }
}

impl<T: Walk> Walk for Vec<T> {
    #[inline]
    fn walk(&self) -> u64 {
        walk_list(self.len(), self.iter())
    }
}

impl<T: Walk + Clone> Walk for Cow<'_, [T]> {
    #[inline]
    fn walk(&self) -> u64 {
        walk_list(self.len(), self.iter())
    }
}

impl Walk for Cow<'_, str> {
    #[inline]
    fn walk(&self) -> u64 {
        self.len() as u64
    }
}

/// Structs with all their fields: one that is left out does not compile.
macro_rules! structs {
    ($( $name:path { $($field:ident),* } )*) => {$(
        impl Walk for $name {
            #[inline]
            fn walk(&self) -> u64 {
                let Self { $($field),* } = self;
                0u64 $( .wrapping_add($field.walk()) )*
            }
        }
    )*};
}

every_table!(structs);

/// Without what only the early schemas have: the peer does not know them.
impl Walk for FlatTensor<'_> {
    #[inline]
    fn walk(&self) -> u64 {
        let Self { version, segments, named_data, legacy: _ } = self;
        version.walk().wrapping_add(segments.walk()).wrapping_add(named_data.walk())
    }
}

macro_rules! enums {
    ($($name:ident)*) => {$(
        impl Walk for $name {
            #[inline]
            fn walk(&self) -> u64 {
                self.0.walk()
            }
        }
    )*};
}

every_enum!(enums);

macro_rules! unions {
    ($( $name:ident { $( $tag:literal $member:ident )* } )*) => {$(
        impl Walk for $name<'_> {
            #[inline]
            fn walk(&self) -> u64 {
                match self {
                    $( Self::$member(member) => member.walk().wrapping_add($tag), )*
                    other => other.tag().walk(),
                }
            }
        }
    )*};
}

every_union!(unions);
