//! `union!`: a union as an enum, which lists each member with its tag. All members are tables. A union takes two field ids.
//!
//! Every union has two more variants: `None`, tag 0, and `Unknown`, for a member that the schema does not know, a tag without a
//! value, or a value without a tag. `: From` after the name adds `From` for each member's table; without it, members can share a
//! table.

macro_rules! union_type {
    (
        $(#[$meta:meta])*
        pub enum $name:ident<'a> $(: $from:ident)? {
            $( $(#[$member_meta:meta])* $member:ident($type:ty) = $tag:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub enum $name<'a> {
            /// No value at all: tag 0.
            #[default]
            None,
            $( $(#[$member_meta])* $member($type), )*
            /// A member that this crate does not know, a tag without a value, or a value without a tag.
            Unknown($crate::flatbuffer::unknown::Unknown),
        }

        impl<'a> $name<'a> {
            /// The schema's name of the member: `NONE` for tag 0, `None` for a member that the schema does not know.
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    Self::None => Some("NONE"),
                    $( Self::$member(_) => Some(stringify!($member)), )*
                    Self::Unknown(_) => None,
                }
            }

            /// The union's tag; 0 if it has no value.
            pub fn tag(&self) -> u8 {
                match self {
                    Self::None => 0,
                    $( Self::$member(_) => $tag, )*
                    Self::Unknown(unknown) => unknown.tag,
                }
            }

            /// An owned copy.
            pub fn into_owned(self) -> $name<'static> {
                $crate::flatbuffer::field::IntoOwned::into_owned(self)
            }
        }

        $crate::flatbuffer::macros::from_members! { $name $($from)? { $( $member($type), )* } }

        const _: () = {
            #[cfg(any(test, feature = "visit-mut"))]
            use $crate::flatbuffer::any::FieldChange;
            use $crate::flatbuffer::any::{AnyField, AnyTable, Value};
            use $crate::flatbuffer::description::{FieldKind, MemberDescription, UnionDescription};
            use $crate::flatbuffer::field::{Field, IntoOwned};
            use $crate::flatbuffer::form::FieldForm;
            use $crate::flatbuffer::read::Record;
            use $crate::flatbuffer::unknown::Unknown;

            impl<'a> Field<'a> for $name<'a> {
                const KIND: FieldKind = FieldKind::Union(&UnionDescription::new(
                    stringify!($name),
                    &[$( MemberDescription::new($tag, stringify!($member), <$type as Record<'a>>::DESCRIPTION), )*],
                ));
                const FORMS: &'static [FieldForm] = &[FieldForm::Number1, FieldForm::Offset];

                fn absent() -> Self {
                    Self::None
                }
            }

            impl<'a> $crate::flatbuffer::any::Sealed for $name<'a> {}

            impl<'a> AnyField for $name<'a> {
                fn value(&self) -> Value<'_> {
                    let member = match self {
                        $( Self::$member(member) => Some(member as &dyn AnyTable), )*
                        Self::None | Self::Unknown(_) => None,
                    };
                    Value::Union { name: self.name(), tag: self.tag(), member }
                }

                #[cfg(any(test, feature = "visit-mut"))]
                fn change(&mut self, change: FieldChange<'_>) -> bool {
                    *self = match change {
                        FieldChange::Remove | FieldChange::Tag(0) => Self::None,
                        $( FieldChange::Tag($tag) => Self::$member(Default::default()), )*
                        FieldChange::Tag(tag) => Self::Unknown(Unknown::empty(tag)),
                        _ => return false,
                    };
                    true
                }

                #[cfg(any(test, feature = "visit-mut"))]
                fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
                    match self {
                        $( Self::$member(member) => Some(member), )*
                        Self::None | Self::Unknown(_) => None,
                    }
                }

                fn unknown(&self) -> Option<Unknown> {
                    match self {
                        Self::Unknown(unknown) => Some(*unknown),
                        _ => None,
                    }
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

            impl<'a> core::fmt::Debug for $name<'a> {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    $crate::flatbuffer::any::debug_field(self, f)
                }
            }
        };
    };
}
pub(crate) use union_type;

/// A union in tables that have parsers and writers of their own.
macro_rules! compiled_union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident<'a> $(: $from:ident)? {
            $( $(#[$member_meta:meta])* $member:ident($type:ty) = $tag:literal, )*
        }
    ) => {
        $crate::flatbuffer::macros::union_type! {
            $(#[$meta])*
            pub enum $name<'a> $(: $from)? {
                $( $(#[$member_meta])* $member($type) = $tag, )*
            }
        }

        const _: () = {
            use $crate::error::{Error, Result};
            use $crate::flatbuffer::field::CompiledField;
            use $crate::flatbuffer::read::{Table, TableParser, in_field, union, unknown};
            use $crate::flatbuffer::write::{Builder, Encode, InlineFields};
            use nom::{Mode, OutputMode, PResult, Parser};

            #[derive(Default)]
            #[allow(non_snake_case)]
            pub struct Members<'a> {
                $( $member: TableParser<'a, $type>, )*
            }

            impl<'s, 'a> Parser<Table<'s, 'a>> for Members<'a> {
                type Output = $name<'a>;
                type Error = Error;

                #[inline(always)]
                fn process<OM: OutputMode>(
                    &mut self,
                    table: Table<'s, 'a>,
                ) -> PResult<OM, Table<'s, 'a>, Self::Output, Error> {
                    let (table, tag, place) = match union(table) {
                        Ok((table, tag, Some(place))) => (table, tag, place),
                        Ok((table, _, None)) => return Ok((table, OM::Output::bind(|| $name::None))),
                        Err(error) => return Err($crate::flatbuffer::read::fatal(error)),
                    };
                    let member = match tag {
                        $(
                            $tag => match self.$member.process::<OM>(place) {
                                Ok((_, member)) => OM::Output::map(member, $name::$member),
                                Err(error) => return Err(in_field(error, stringify!($member))),
                            },
                        )*
                        _ => OM::Output::bind(|| $name::Unknown(unknown(tag, place))),
                    };
                    Ok((table, member))
                }
            }

            impl<'a> CompiledField<'a> for $name<'a> {
                type Parser = Members<'a>;

                #[inline(always)]
                fn write<const N: usize>(&self, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
                    let member = match self {
                        Self::None => None,
                        $(
                            Self::$member(member) => Some(
                                $crate::flatbuffer::tried!(member.encode(builder), |error: Error| error.in_field(stringify!($member))),
                            ),
                        )*
                        Self::Unknown(member) => member.encode(builder)?,
                    };
                    row.number(self.tag());
                    row.offset(member);
                    Ok(())
                }
            }
        };
    };
}
pub(crate) use compiled_union;

/// A union in tables that are read and written by their descriptions.
macro_rules! described_union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident<'a> $(: $from:ident)? {
            $( $(#[$member_meta:meta])* $member:ident($type:ty) = $tag:literal, )*
        }
    ) => {
        $crate::flatbuffer::macros::union_type! {
            $(#[$meta])*
            pub enum $name<'a> $(: $from)? {
                $( $(#[$member_meta])* $member($type) = $tag, )*
            }
        }

        const _: () = {
            use $crate::flatbuffer::read::{FoundField, Slot, Target};

            impl<'a> Slot<'a> for $name<'a> {
                fn put(&mut self, found: FoundField<'a>) {
                    match found {
                        $( FoundField::Member($tag) => *self = Self::$member(Default::default()), )*
                        FoundField::Unknown(unknown) => *self = Self::Unknown(unknown),
                        _ => {}
                    }
                }

                fn table(&mut self, _: usize) -> Option<&mut dyn Target<'a>> {
                    match self {
                        $( Self::$member(member) => Some(member), )*
                        Self::None | Self::Unknown(_) => None,
                    }
                }
            }
        };
    };
}
pub(crate) use described_union;

/// `From` for each member's table, if `union!` was given `: From`.
macro_rules! from_members {
    ($name:ident { $($members:tt)* }) => {};
    ($name:ident From { $( $member:ident($type:ty), )* }) => {$(
        impl<'a> From<$type> for $name<'a> {
            fn from(member: $type) -> Self {
                Self::$member(member)
            }
        }
    )*};
}
pub(crate) use from_members;
