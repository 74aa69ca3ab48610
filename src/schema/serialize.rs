//! The tree as serde sees it, which is as flatc prints it: a table is a map, an absent field is left out, an enum
//! is its name, a union is its member's name under `x_type` and the member under `x`. Numbers that JSON has no form for
//! are the strings `"nan"`, `"inf"` and `"-inf"`.

use alloc::{borrow::Cow, boxed::Box, format, vec::Vec};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A field of a table as an entry of its map.
pub(super) trait Entry {
    fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error>;
}

/// The entry that says which member a union holds.
pub(super) fn tag<M: SerializeMap>(
    name: Option<&'static str>,
    tag: u8,
    field: &'static str,
    map: &mut M,
) -> Result<(), M::Error> {
    let key = format!("{field}_type");
    match name {
        Some(name) => map.serialize_entry(&key, name),
        None => map.serialize_entry(&key, &tag),
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Entry for $type {
            fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error> {
                map.serialize_entry(field, self)
            }
        }

        impl Entry for Option<Cow<'_, [$type]>> {
            fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error> {
                self.as_ref().map_or(Ok(()), |numbers| map.serialize_entry(field, numbers))
            }
        }
    )*};
}

plain!(bool, i8, u8, i32, u32, i64, u64);

/// A double, also one that JSON has no form for.
struct Double(f64);

impl Serialize for Double {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_nan() => serializer.serialize_str("nan"),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            number => serializer.serialize_f64(number),
        }
    }
}

impl Entry for f64 {
    fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(field, &Double(*self))
    }
}

impl Entry for Option<Cow<'_, [f64]>> {
    fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error> {
        let doubles = |numbers: &Cow<'_, [f64]>| numbers.iter().copied().map(Double).collect::<Vec<_>>();
        self.as_ref().map_or(Ok(()), |numbers| map.serialize_entry(field, &doubles(numbers)))
    }
}

impl Entry for Option<Cow<'_, str>> {
    fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |text| map.serialize_entry(field, text))
    }
}

impl<T: Serialize> Entry for Option<Vec<T>> {
    fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |items| map.serialize_entry(field, items))
    }
}

impl<T: Serialize> Entry for Option<Box<T>> {
    fn entry<M: SerializeMap>(&self, field: &'static str, map: &mut M) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |table| map.serialize_entry(field, table))
    }
}
