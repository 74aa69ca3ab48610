//! The macros that state a table, a union and an enum once. They write nothing but what one would write by hand.

/// A table: a struct whose fields stand in the order of their ids. Their types say how they lie in the file, see
/// `flatbuffer::field`; where a type can lie in more than one way, `as` says which.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(<$lt:lifetime>)? {
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty $(as $wire:ty)?, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name $(<$lt>)? {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        const _: () = {
            use $crate::error::Error;
            #[allow(unused_imports)]
            use $crate::flatbuffer::field::{IntoOwned, Wire};
            #[allow(unused_imports)]
            use $crate::flatbuffer::read::{Record, Sizes, Table, in_field};
            use $crate::flatbuffer::write::{Builder, Encode, Position, Row};
            use core::marker::PhantomData;
            use nom::{Mode, OutputMode, PResult, Parser};

            #[derive(Default)]
            pub struct Fields<'a> {
                $( $field: <$crate::schema::macros::wire!($($wire)?) as Wire<'a, $type>>::Parser, )*
                _input: PhantomData<&'a ()>,
            }

            impl<'a> Record<'a> for $name $(<$lt>)? {
                const SIZES: Sizes = Sizes::NONE $( .and(<$crate::schema::macros::wire!($($wire)?) as Wire<'a, $type>>::SIZES) )*;
                type Fields = Fields<'a>;
            }

            impl<'s, 'a> Parser<Table<'s, 'a>> for Fields<'a> {
                type Output = $name $(<$lt>)?;
                type Error = Error;

                #[inline(always)]
                fn process<OM: OutputMode>(
                    &mut self,
                    table: Table<'s, 'a>,
                ) -> PResult<OM, Table<'s, 'a>, Self::Output, Error> {
                    $(
                        let (table, $field) = match self.$field.process::<OM>(table) {
                            Ok(done) => done,
                            Err(error) => return Err(in_field(error, stringify!($field))),
                        };
                    )*
                    let fields = OM::Output::bind(|| ());
                    $( let fields = OM::Output::combine(fields, $field, |fields, field| (fields, field)); )*
                    let build = |$crate::schema::macros::nested!($($field)*): $crate::schema::macros::nested_type!($($type,)*)| $name { $($field),* };
                    Ok((table, OM::Output::map(fields, build)))
                }
            }

            impl $(<$lt>)? Encode for $name $(<$lt>)? {
                #[allow(unused_mut)]
                fn encode(&self, builder: &mut Builder) -> $crate::error::Result<Position> {
                    type Owned = $crate::schema::macros::owned!($name $($lt)?);
                    let mut row = Row::<{ <Owned as Record<'static>>::SIZES.len() }>::new();
                    $(
                        if let Err(error) =
                            <$crate::schema::macros::wire!($($wire)?) as Wire<'_, $type>>::write(&self.$field, builder, &mut row)
                        {
                            return Err(error.in_field(stringify!($field)));
                        }
                    )*
                    builder.table(&row)
                }
            }

            impl $(<$lt>)? $name $(<$lt>)? {
                /// The same, independent of the input.
                pub fn into_owned(self) -> $crate::schema::macros::owned!($name $($lt)?) {
                    $name { $( $field: IntoOwned::into_owned(self.$field), )* }
                }
            }

            impl $(<$lt>)? IntoOwned for $name $(<$lt>)? {
                type Owned = $crate::schema::macros::owned!($name $($lt)?);

                fn into_owned(self) -> Self::Owned {
                    self.into_owned()
                }
            }

            #[cfg(feature = "serde")]
            impl $(<$lt>)? serde::Serialize for $name $(<$lt>)? {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
                    #[allow(unused_mut)]
                    let mut map = serde::Serializer::serialize_map(serializer, None)?;
                    $( $crate::schema::serialize::Entry::entry(&self.$field, stringify!($field), &mut map)?; )*
                    serde::ser::SerializeMap::end(map)
                }
            }

            #[cfg(feature = "serde")]
            impl $(<$lt>)? $crate::schema::serialize::Entry for Option<$name $(<$lt>)?> {
                fn entry<M: serde::ser::SerializeMap>(
                    &self,
                    field: &'static str,
                    map: &mut M,
                ) -> core::result::Result<(), M::Error> {
                    self.as_ref().map_or(Ok(()), |table| map.serialize_entry(field, table))
                }
            }
        };
    };
}
pub(crate) use table;

macro_rules! wire {
    () => {
        $crate::flatbuffer::field::Plain
    };
    ($wire:ty) => {
        $wire
    };
}
pub(crate) use wire;

/// `((((), a), b), c)`, the shape in which a table's fields are put together.
macro_rules! nested {
    (@ $done:tt) => { $done };
    (@ $done:tt $next:ident $($rest:ident)*) => { $crate::schema::macros::nested!(@ ($done, $next) $($rest)*) };
    ($($all:ident)*) => { $crate::schema::macros::nested!(@ () $($all)*) };
}
pub(crate) use nested;

macro_rules! nested_type {
    (@ $done:ty,) => { $done };
    (@ $done:ty, $next:ty, $($rest:ty,)*) => { $crate::schema::macros::nested_type!(@ ($done, $next), $($rest,)*) };
    ($($all:ty,)*) => { $crate::schema::macros::nested_type!(@ (), $($all,)*) };
}
pub(crate) use nested_type;

macro_rules! owned {
    ($name:ident $lt:lifetime) => { $name<'static> };
    ($name:ident) => { $name };
}
pub(crate) use owned;

/// A union: an enum whose members stand with their tags, all of them tables. It takes two field ids.
macro_rules! union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident<'a> {
            $( $(#[$member_meta:meta])* $member:ident($type:ty) = $tag:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub enum $name<'a> {
            /// No value at all: tag 0.
            #[default]
            None,
            $( $(#[$member_meta])* $member($type), )*
            /// A member that this crate does not know.
            Unknown($crate::schema::Unknown),
        }

        impl<'a> $name<'a> {
            /// The schema's name of the member, `NONE` for none; `None` for one that the schema does not know.
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    Self::None => Some("NONE"),
                    $( Self::$member(_) => Some(stringify!($member)), )*
                    Self::Unknown(_) => None,
                }
            }

            /// The union's tag, 0 for none.
            pub fn tag(&self) -> u8 {
                match self {
                    Self::None => 0,
                    $( Self::$member(_) => $tag, )*
                    Self::Unknown(unknown) => unknown.tag,
                }
            }
        }

        $(
            impl<'a> From<$type> for $name<'a> {
                fn from(member: $type) -> Self {
                    Self::$member(member)
                }
            }
        )*

        const _: () = {
            use $crate::error::{Error, Result};
            use $crate::flatbuffer::field::{Field, IntoOwned};
            use $crate::flatbuffer::read::{Table, TableParser, in_field, union};
            use $crate::flatbuffer::write::{Builder, Encode, Row};
            use nom::{Mode, OutputMode, PResult, Parser};

            #[derive(Default)]
            #[allow(non_snake_case)]
            pub struct Members<'a> {
                $( $member: TableParser<'a, $type>, )*
                unknown: $crate::schema::UnknownParser,
            }

            impl<'s, 'a> Parser<Table<'s, 'a>> for Members<'a> {
                type Output = $name<'a>;
                type Error = Error;

                #[inline(always)]
                fn process<OM: OutputMode>(
                    &mut self,
                    table: Table<'s, 'a>,
                ) -> PResult<OM, Table<'s, 'a>, Self::Output, Error> {
                    let (table, tag, place) = union(table)?;
                    let Some(place) = place else {
                        return Ok((table, OM::Output::bind(|| $name::None)));
                    };
                    let member = match tag {
                        $(
                            $tag => match self.$member.process::<OM>(place) {
                                Ok((_, member)) => OM::Output::map(member, $name::$member),
                                Err(error) => return Err(in_field(error, stringify!($member))),
                            },
                        )*
                        _ => {
                            self.unknown.tag = tag;
                            let (_, member) = self.unknown.process::<OM>(place)?;
                            OM::Output::map(member, $name::Unknown)
                        }
                    };
                    Ok((table, member))
                }
            }

            impl<'a> Field<'a> for $name<'a> {
                const SIZES: &'static [u8] = &[1, 4];
                type Parser = Members<'a>;

                #[inline(always)]
                fn write<const N: usize>(&self, builder: &mut Builder, row: &mut Row<N>) -> Result<()> {
                    let member = match self {
                        Self::None => None,
                        $(
                            Self::$member(member) => Some(
                                member.encode(builder).map_err(|error| error.in_field(stringify!($member)))?,
                            ),
                        )*
                        Self::Unknown(member) => Some(member.encode(builder)?),
                    };
                    row.number(self.tag());
                    row.offset(member);
                    Ok(())
                }
            }

            impl<'a> IntoOwned for $name<'a> {
                type Owned = $name<'static>;

                fn into_owned(self) -> Self::Owned {
                    match self {
                        Self::None => $name::None,
                        $( Self::$member(member) => $name::$member(IntoOwned::into_owned(member)), )*
                        Self::Unknown(member) => $name::Unknown(member),
                    }
                }
            }

            impl<'a> $name<'a> {
                /// The same, independent of the input.
                pub fn into_owned(self) -> $name<'static> {
                    IntoOwned::into_owned(self)
                }
            }

            #[cfg(feature = "serde")]
            impl<'a> $crate::schema::serialize::Entry for $name<'a> {
                fn entry<M: serde::ser::SerializeMap>(
                    &self,
                    field: &'static str,
                    map: &mut M,
                ) -> core::result::Result<(), M::Error> {
                    $crate::schema::serialize::tag(self.name(), self.tag(), field, map)?;
                    match self {
                        Self::None => Ok(()),
                        $( Self::$member(member) => map.serialize_entry(field, member), )*
                        Self::Unknown(_) => map.serialize_entry(field, &$crate::schema::program::Null {}),
                    }
                }
            }
        };
    };
}
pub(crate) use union;

/// An enum: a number with names for the values that the schema knows. Any other value is kept.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($base:ty) {
            $( $(#[$value_meta:meta])* $value:ident = $number:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(
            /// The number as it is stored.
            pub $base,
        );

        impl $name {
            $( $(#[$value_meta])* pub const $value: Self = Self($number); )*

            /// The schema's name, if it has one for this value.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $( Self::$value => Some(stringify!($value)), )*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => core::fmt::Display::fmt(&self.0, f),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!(stringify!($name), "({})"), self.0),
                }
            }
        }

        impl $crate::flatbuffer::number::Number for $name {
            const SIZE: usize = size_of::<$base>();

            #[inline(always)]
            fn read(bytes: &[u8]) -> Option<Self> {
                <$base as $crate::flatbuffer::number::Number>::read(bytes).map(Self)
            }

            fn bits(self) -> u64 {
                $crate::flatbuffer::number::Number::bits(self.0)
            }

            fn slice(bytes: &[u8]) -> alloc::borrow::Cow<'_, [Self]> {
                bytes.chunks_exact(Self::SIZE).filter_map(Self::read).collect()
            }
        }

        $crate::flatbuffer::field::scalar!($name);

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
                match self.name() {
                    Some(name) => serializer.serialize_str(name),
                    None => self.0.serialize(serializer),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl $crate::schema::serialize::Entry for $name {
            fn entry<M: serde::ser::SerializeMap>(
                &self,
                field: &'static str,
                map: &mut M,
            ) -> core::result::Result<(), M::Error> {
                map.serialize_entry(field, self)
            }
        }
    };
}
pub(crate) use named;
